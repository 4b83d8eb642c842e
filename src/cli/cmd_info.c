/*
 * cli/cmd_info.c - `whammc info`: what a rule matches and which names it binds.
 */
#include "cli/cli.h"

static const Option options[] = {
    {'v', "verbose", NULL,
     "show the names that the events bind; events with the same names together"},
    {'f', "functions", NULL, "show the functions that the events bind"},
    {0},
};

/* Events that bind the same names. */
typedef struct Group {
    Buf events; /* one a line */
    uint32_t count;
} Group;

typedef struct Info {
    bool verbose, functions;
    Map names; /* table of names -> index of its group */
    Vec(Group) groups;
    Buf events; /* without groups: one a line */
} Info;

static const char *type_text(const whammc_name *n) {
    return n->type ? n->type : "(by bound)";
}

static const char *kind_text(const whammc_name *n) {
    if (n->is_static)
        return "static";
    return n->assignable ? "dynamic, assignable" : "dynamic";
}

/* The names as a table, a line each. */
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

static void add_event(void *ctx, const whammc_event *e) {
    Info *x = ctx;
    if (!x->verbose && !x->functions) {
        buf_printf(&x->events, "%-32s %s\n", e->text, e->doc);
        return;
    }
    Buf table = {0};
    if (x->verbose)
        names_table(e, &table);
    Str key = {(const char *)table.data, (uint32_t)table.len};
    bool added;
    uint64_t index = *map_put(&x->names, key, x->groups.len, &added);
    if (added)
        vec_add(&x->groups);
    Group *g = &x->groups.at[index];
    buf_printf(&g->events, "%-32s %s\n", e->text, e->doc);
    g->count++;
    buf_free(&table);
}

static void show(const Info *x, Buf *out) {
    buf_bytes(out, x->events.data, x->events.len);
    for (uint32_t i = 0; i < x->groups.len; i++) {
        if (i)
            buf_u8(out, '\n');
        buf_bytes(out, x->groups.at[i].events.data, x->groups.at[i].events.len);
        buf_str(out, x->names.entries[i].key);
        if (x->functions)
            buf_str(out, STR("  (binds no functions)\n"));
    }
}

static int info(const Cli *cli, Info *x) {
    whammc *w = whammc_new();
    whammc_status result = whammc_explain(w, cli->operands[0], add_event, x);
    int status = message_library(cli, w, result);
    if (status == STATUS_OK) {
        Buf out = {0};
        show(x, &out);
        message_stdout(&out);
        buf_free(&out);
    }
    whammc_free(w);
    return status;
}

static int run(Cli *cli) {
    Info x = {0};
    const char *value;
    int key;
    while ((key = cli_option(cli, &value)) >= 0)
        if (key == 'v')
            x.verbose = true;
        else
            x.functions = true;
    int status = cli_option_status(key);
    if (key == ARGS_END && cli->noperands == 1)
        status = info(cli, &x);
    else if (key == ARGS_END)
        status = cli->noperands
                     ? cli_usage(cli, "one RULE at a time: what is '%s'?", cli->operands[1])
                     : cli_usage(cli, "which RULE? For example 'wasm:opcode:br_if:before'");
    for (uint32_t i = 0; i < x.groups.len; i++)
        buf_free(&x.groups.at[i].events);
    vec_free(&x.groups);
    map_free(&x.names);
    buf_free(&x.events);
    return status;
}

const Command cmd_info = {
    .name = "info",
    .usage = "RULE",
    .summary = "show what a match rule matches and the names it binds",
    .about = "Show every event that the match RULE matches, in the order of the probe numbers that "
             "it gives them. Quote rules with globs: the shell knows them too.",
    .options = options,
    .examples = "  whammc info 'wasm:opcode:*load*|*store*:before'\n"
                "  whammc info -v wasm:opcode:br_if:before\n",
    .run = run,
};
