/*
 * cli/code_option.c - the options for the code of probes.
 */
#include "cli/cli.h"

void code_option(const Cli *cli, whammc_options *o, int key, const char *value) {
    switch (key) {
    case OPTION_NO_OPTIMISE: o->no_optimise = true; break;
    case OPTION_NO_COALESCE: o->no_coalesce = true; break;
    case OPTION_EXACT_TRAPS: o->exact_traps = true; break;
    case OPTION_BODIES:
        o->without |= option_choice(cli, key, value) ? WHAMMC_WITHOUT_BODIES : 0;
        break;
    case OPTION_NO_PREDICATES: o->without |= WHAMMC_WITHOUT_PREDICATES; break;
    case OPTION_COUNT_STATEMENTS: o->without |= WHAMMC_COUNT_STATEMENTS; break;
    case OPTION_NO_REPORT: o->without |= WHAMMC_WITHOUT_REPORT; break;
    }
}
