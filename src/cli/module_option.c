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
