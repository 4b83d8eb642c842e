/*
 * cli/define.c - the option --define: values for constants of scripts.
 */
#include "cli/cli.h"

bool define_option(const Cli *cli, DefineOptions *definitions, const char *value) {
    const char *equals = strchr(value, '=');
    if (!equals || equals == value) {
        cli_usage(cli, "--define=%s: it must be NAME=VALUE", value);
        return false;
    }
    vec_push(definitions, value);
    return true;
}

/* Whether one of the constants has the name that a definition begins with. */
static bool is_known(const whammc_constant *constants, size_t n, const char *definition) {
    size_t len = strcspn(definition, "=");
    for (size_t i = 0; i < n; i++)
        if (strncmp(constants[i].name, definition, len) == 0 && !constants[i].name[len])
            return true;
    return false;
}

void define_give(const DefineOptions *definitions, whammc *w, bool known_only) {
    size_t n;
    const whammc_constant *constants = whammc_constants(w, &n);
    for (uint32_t i = 0; i < definitions->len; i++) {
        const char *value = definitions->at[i];
        if (known_only && !is_known(constants, n, value))
            continue;
        char *name = strndup(value, strcspn(value, "="));
        whammc_define(w, name, strchr(value, '=') + 1);
        free(name);
    }
}

bool define_check(const Cli *cli, const DefineOptions *definitions, whammc *w) {
    bool ok = true;
    size_t n;
    const whammc_constant *constants = whammc_constants(w, &n);
    Buf hint = {0};
    for (size_t i = 0; i < n; i++)
        buf_printf(&hint, "%s%s (%s)", i ? ", " : "there are ", constants[i].name,
                   constants[i].type);
    for (uint32_t i = 0; i < definitions->len; i++) {
        const char *value = definitions->at[i];
        if (is_known(constants, n, value))
            continue;
        ok = false;
        message_one(cli, DIAG_BAD_DEFINITION, n ? buf_cstr(&hint) : "the scripts have no constants",
                    "no script has a constant '%.*s'", (int)strcspn(value, "="), value);
    }
    buf_free(&hint);
    return ok;
}
