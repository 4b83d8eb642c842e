/*
 * cli/module_option.c - the option --module, which chooses core modules of components.
 */
#include "cli/cli.h"

void modules_choose(const ModuleGlobs *globs, whammc *w) {
    ModuleGlobs copy = {0};
    for (uint32_t i = 0; i < globs->len; i++)
        vec_push(&copy, globs->at[i]);
    vec_push(&copy, NULL);
    whammc_choose_modules(w, copy.at);
    vec_free(&copy);
}

int modules_check(const Cli *cli, const ModuleGlobs *globs, bool is_component) {
    if (!globs->len || is_component)
        return STATUS_OK;
    return cli_usage(cli, "--module=%s is for core modules of a component, and '%s' is none",
                     globs->at[0], cli->operands[0]);
}

bool modules_refuse(const Cli *cli, const Buf *app, const char *option) {
    static const uint8_t magic[] = {0, 'a', 's', 'm', 0x0d, 0, 1, 0};
    bool is = app->len >= sizeof magic && memcmp(app->data, magic, sizeof magic) == 0;
    if (is)
        message_one(cli, DIAG_COMPONENT, "predicates of scripts leave functions out by `fname`",
                    "%s: expected a core module for %s, found a component",
                    file_title(cli->operands[0]), option);
    return is;
}

static void describe_module(void *ctx, const whammc_core_module *m) {
    if (!*m->name)
        return;
    buf_printf(ctx, "module ");
    message_clean(ctx, str_of(m->name));
    buf_printf(ctx, ": ");
    message_number(ctx, m->size);
    buf_printf(ctx, " bytes%s\n", m->chosen ? "" : ", left as it is");
}

void modules_describe(whammc *w, const Buf *app, Buf *out) {
    whammc_core_modules(w, "", app->data, app->len, describe_module, out);
}
