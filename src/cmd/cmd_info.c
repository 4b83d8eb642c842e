/*
 * cmd/cmd_info.c - `whammc info`: the events that a rule matches and the names that they bind;
 * packages of scripts; for monitors see monitor_info.c.
 */
#include "cmd/cmd.h"

typedef struct Event {
    const char *text, *doc;
    uint32_t group; /* of events that bind the same names; 0 unless names are shown */
} Event;

typedef struct Info {
    bool verbose, functions, scripts;
    Map names; /* table of names -> group */
    Vec(Event) events;
    Arena arena;
} Info;

static const char *type_text(const whammc_name *n) {
    return n->type ? n->type : "(by bound)";
}

static const char *kind_text(const whammc_name *n) {
    if (n->is_static)
        return "static";
    return n->assignable ? "dynamic, assignable" : "dynamic";
}

/* Appends the names as a table, a line each. */
static void names_table(const whammc_event *e, Buf *out) {
    int name = 4, type = 4, kind = 4;
    for (size_t i = 0; i < e->nnames; i++) {
        int a = (int)strlen(e->names[i].name), b = (int)strlen(type_text(&e->names[i]));
        int c = (int)strlen(kind_text(&e->names[i]));
        name = a > name ? a : name;
        type = b > type ? b : type;
        kind = c > kind ? c : kind;
    }
    if (e->nnames)
        buf_printf(out, "  %-*s  %-*s  %-*s  meaning\n", name, "name", type, "type", kind, "kind");
    else
        buf_str(out, STR("  (binds no names)\n"));
    for (size_t i = 0; i < e->nnames; i++)
        buf_printf(out, "  %-*s  %-*s  %-*s  %s\n", name, e->names[i].name, type,
                   type_text(&e->names[i]), kind, kind_text(&e->names[i]), e->names[i].doc);
}

static void functions_table(const whammc_event *e, Buf *out) {
    if (!e->nfunctions)
        buf_str(out, STR("  (binds no functions)\n"));
    int width = 0;
    for (size_t i = 0; i < e->nfunctions; i++) {
        int w = (int)strlen(e->functions[i].text);
        width = w > width ? w : width;
    }
    for (size_t i = 0; i < e->nfunctions; i++)
        buf_printf(out, "  %-*s  %s\n", width, e->functions[i].text, e->functions[i].doc);
}

static void add_event(void *ctx, const whammc_event *e) {
    Info *x = ctx;
    Buf table = {0};
    if (x->verbose)
        names_table(e, &table);
    if (x->functions)
        functions_table(e, &table);
    Str key = buf_view(&table);
    uint32_t group = (uint32_t)*map_put(&x->names, key, x->names.len, NULL);
    vec_push(&x->events, ((Event){arena_strndup(&x->arena, e->text, strlen(e->text)),
                                  arena_strndup(&x->arena, e->doc, strlen(e->doc)), group}));
    buf_free(&table);
}

static void cmd_info_show(const Info *x, Buf *out) {
    int width = 0;
    for (uint32_t i = 0; i < x->events.len; i++) {
        int w = (int)strlen(x->events.at[i].text);
        width = w > width ? w : width;
    }
    for (uint32_t g = 0; g < x->names.len; g++) {
        if (g)
            buf_u8(out, '\n');
        for (uint32_t i = 0; i < x->events.len; i++)
            if (x->events.at[i].group == g)
                buf_printf(out, "%-*s  %s\n", width, x->events.at[i].text, x->events.at[i].doc);
        buf_str(out, x->names.entries[g].key);
    }
}

/* Rejects an operand without a colon, perhaps a script; only rules can be shown. */
static int no_rule(const Cli *cli, const char *operand) {
    Buf shown = {0}, hint = {0};
    size_t len;
    message_clean(&shown, str_of(operand));
    const char *dot = strrchr(operand, '.');
    if (whammc_bundled_script(operand, &len) || (dot && strcmp(dot, ".whamm") == 0))
        buf_printf(&hint,
                   "it looks like a script: 'whammc list -s %s APP' shows where its probes "
                   "match in a program; ",
                   buf_cstr(&shown));
    buf_str(&hint, STR("info takes a match rule, such as wasm:opcode:call:before, or a monitor, "
                       "such as hotness.wasm"));
    message_one(cli, DIAG_RULE_SHAPE, buf_cstr(&hint), "'%s' is not a match rule",
                buf_cstr(&shown));
    buf_free(&shown);
    buf_free(&hint);
    return STATUS_ERROR;
}

static int info_rule(const Cli *cli, Info *x) {
    if (!strchr(cli->operands[0], ':'))
        return no_rule(cli, cli->operands[0]);
    whammc *w = whammc_new();
    whammc_status result = whammc_explain(w, cli->operands[0], add_event, x);
    int status = message_library(cli, w, result);
    if (status == STATUS_OK) {
        Buf out = {0};
        cmd_info_show(x, &out);
        message_stdout(&out);
        buf_free(&out);
    }
    whammc_free(w);
    return status;
}

static int info_scripts(const Cli *cli) {
    if (cli->noperands)
        return cli_usage(cli, "--scripts takes no operand, found '%s'", cli->operands[0]);
    Buf out = {0};
    script_list(&out);
    message_stdout(&out);
    buf_free(&out);
    return STATUS_OK;
}

/* Whether it has the form of a package's name, "std.alloc", and none of a file's. */
static bool names_package(const char *operand) {
    const char *ending = strrchr(operand, '.');
    return ending && !strpbrk(operand, ":/") && strcmp(ending, ".whamm") != 0 &&
           strcmp(ending, ".wasm") != 0 && strcmp(ending, ".wat") != 0;
}

static int info_package(const Cli *cli, const char *name) {
    IncludeOptions include = {0};
    const char *text;
    whammc *w = whammc_new();
    include_give(&include, NULL, w);
    whammc_status result = whammc_explain_package(w, name, &text);
    Buf out = {0};
    buf_str(&out, str_of(text));
    int status = message_library(cli, w, result);
    if (status == STATUS_OK)
        message_stdout(&out);
    buf_free(&out);
    whammc_free(w);
    include_free(&include);
    return status;
}

static int info_operand(const Cli *cli, Info *x) {
    if (!cli->noperands)
        return cli_usage(cli, "expected a RULE, such as 'wasm:opcode:br_if:before'");
    if (cli->noperands > 1)
        return cli_usage(cli, "expected only one RULE, MONITOR or PACKAGE, found also '%s'",
                         cli->operands[1]);
    if (monitor_is_file(cli->operands[0]))
        return monitor_show(cli, cli->operands[0], x->verbose);
    return names_package(cli->operands[0]) ? info_package(cli, cli->operands[0])
                                           : info_rule(cli, x);
}

static bool cmd_info_set(const Cli *cli, void *settings, int key, const char *value) {
    (void)cli, (void)value;
    Info *x = settings;
    switch (key) {
    case OPTION_VERBOSE: x->verbose = true; break;
    case OPTION_EVENT_FUNCTIONS: x->functions = true; break;
    default: x->scripts = true; break;
    }
    return true;
}

int cmd_info(Cli *cli) {
    Info x = {0};
    int status = cli_options(cli, cmd_info_set, &x);
    if (status == STATUS_OK)
        status = x.scripts ? info_scripts(cli) : info_operand(cli, &x);
    vec_free(&x.events);
    map_free(&x.names);
    arena_free(&x.arena);
    return status;
}
