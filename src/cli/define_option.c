/*
 * cli/define_option.c - the option --define: values for constants of scripts.
 */
#include "cli/cli.h"

bool define_option(const Cli *cli, DefineOptions *definitions, const char *value) {
    const char *equals = strchr(value, '=');
    if (!equals || equals == value) {
        cli_usage(cli, "--define=%s: expected NAME=VALUE", value);
        return false;
    }
    vec_push(definitions, value);
    return true;
}

bool define_is_known(whammc *w, const char *definition) {
    size_t n, len = strcspn(definition, "=");
    const whammc_constant *constants = whammc_constants(w, &n);
    for (size_t i = 0; i < n; i++)
        if (strncmp(constants[i].name, definition, len) == 0 && !constants[i].name[len])
            return true;
    return false;
}

void define_unknown(const Cli *cli, const char *definition) {
    message_one(cli, DIAG_BAD_DEFINITION, NULL, "no script has a constant '%.*s'",
                (int)strcspn(definition, "="), definition);
}

void define_give(const DefineOptions *definitions, whammc *w, bool known_only) {
    for (uint32_t i = 0; i < definitions->len; i++) {
        const char *value = definitions->at[i];
        if (known_only && !define_is_known(w, value))
            continue;
        char *name = strndup(value, strcspn(value, "="));
        whammc_define(w, name, strchr(value, '=') + 1);
        free(name);
    }
}
