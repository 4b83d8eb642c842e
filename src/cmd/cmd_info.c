/*
 * cmd/cmd_info.c - `whammc info`: the events that a rule matches and the names that they bind;
 * packages of scripts; for monitors see monitor_info.c, for words of the language reference.c.
 */
#include "cmd/cmd.h"

typedef struct Event {
    const char *text, *doc;
    uint32_t group; /* of events that bind the same names; 0 unless names are shown */
} Event;

typedef struct Info {
    bool verbose, functions, scripts, json;
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

/* ---- JSON ---- */

static void put_names_json(const whammc_event *e, Buf *out) {
    buf_str(out, STR(",\"names\":["));
    for (size_t i = 0; i < e->nnames; i++) {
        const whammc_name *n = &e->names[i];
        buf_str(out, i ? STR(",{") : STR("{"));
        reference_put_member(out, "name", n->name);
        if (n->type)
            reference_put_member(out, "type", n->type);
        buf_printf(out, ",\"static\":%s,\"assignable\":%s", n->is_static ? "true" : "false",
                   n->assignable ? "true" : "false");
        reference_put_member(out, "summary", n->doc);
        buf_u8(out, '}');
    }
    buf_str(out, STR("],\"functions\":["));
    for (size_t i = 0; i < e->nfunctions; i++) {
        buf_str(out, i ? STR(",{") : STR("{"));
        reference_put_member(out, "form", e->functions[i].text);
        reference_put_member(out, "summary", e->functions[i].doc);
        buf_u8(out, '}');
    }
    buf_u8(out, ']');
}

static void put_event_json(void *ctx, const whammc_event *e) {
    Buf *out = ctx;
    buf_str(out, out->len ? STR(",\n{") : STR("[\n{"));
    reference_put_member(out, "event", e->text);
    reference_put_member(out, "summary", e->doc);
    put_names_json(e, out);
    buf_u8(out, '}');
}

static int info_rule_json(const Cli *cli) {
    whammc *w = whammc_new();
    Buf out = {0};
    int status = message_library(cli, w, whammc_explain(w, cli->operands[0], put_event_json, &out));
    if (status == STATUS_OK) {
        buf_str(&out, STR("\n]\n"));
        message_stdout(&out);
    }
    buf_free(&out);
    whammc_free(w);
    return status;
}

/* ---- operands ---- */

/* Rejects operands that nothing is known of, perhaps a script. */
static int no_entry(const Cli *cli) {
    Buf shown = {0}, hint = {0};
    const char *first = cli->operands[0], *dot = strrchr(first, '.');
    for (int i = 0; i < cli->noperands; i++) {
        if (i)
            buf_u8(&shown, ' ');
        message_clean(&shown, str_of(cli->operands[i]));
    }
    char *guess = reference_guess(cli->operands[cli->noperands - 1]);
    if (dot && strcmp(dot, ".whamm") == 0)
        buf_printf(&hint,
                   "it looks like a script: 'whammc list -s %s APP' shows where its probes "
                   "match in a program",
                   buf_cstr(&shown));
    else if (guess)
        buf_printf(&hint, "did you mean '%s'?", guess);
    else
        buf_str(&hint, STR("'whammc info' lists the topics"));
    message_one(cli, DIAG_NO_ENTRY, buf_cstr(&hint), "there is no topic, word or rule '%s'",
                buf_cstr(&shown));
    free(guess);
    buf_free(&shown);
    buf_free(&hint);
    return STATUS_ERROR;
}

static int info_rule(const Cli *cli, Info *x) {
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

/* Whether it has the form of a package's name, "std.alloc", and none of a file's. */
static bool names_package(const char *operand) {
    const char *ending = strrchr(operand, '.');
    return ending && !strpbrk(operand, ":/") && strcmp(ending, ".whamm") != 0 &&
           strcmp(ending, ".wasm") != 0 && strcmp(ending, ".wat") != 0;
}

static int info_package(const Cli *cli, const Info *x, const char *name) {
    IncludeOptions include = {0};
    const char *text;
    whammc *w = whammc_new();
    include_give(&include, NULL, w);
    whammc_status result = whammc_explain_package(w, name, &text);
    Buf out = {0};
    if (x->json) {
        buf_str(&out, STR("[\n{"));
        reference_put_member(&out, "topic", "packages");
        reference_put_member(&out, "word", name);
        reference_put_member(&out, "text", text);
        buf_str(&out, STR("}\n]\n"));
    } else {
        buf_str(&out, str_of(text));
    }
    int status = message_library(cli, w, result);
    if (status == STATUS_OK)
        message_stdout(&out);
    buf_free(&out);
    whammc_free(w);
    include_free(&include);
    return status;
}

/* Shows what a single operand names that has a form of its own. Returns -1 if it has none. */
static int info_form(const Cli *cli, Info *x) {
    const char *operand = cli->operands[0];
    if (monitor_is_file(operand)) {
        if (x->json)
            return cli_usage(cli, "--json is not for monitors");
        return monitor_show(cli, operand, x->verbose);
    }
    if (!strchr(operand, ':'))
        return -1;
    return x->json ? info_rule_json(cli) : info_rule(cli, x);
}

static int info_scripts(const Cli *cli, const Info *x) {
    static const char *const topic[] = {"scripts"};
    if (cli->noperands)
        return cli_usage(cli, "--scripts takes no operand, found '%s'", cli->operands[0]);
    reference_show(topic, 1, x->json);
    return STATUS_OK;
}

/* `info cost SCRIPT APP`, or with a rule in place of the script. */
static int info_cost(const Cli *cli, const Info *x) {
    if (x->json)
        return cli_usage(cli, "--json is not for the costs of scripts");
    if (cli->noperands != 3)
        return cli_usage(cli, "expected a script or a rule, and a program that has the sites");
    int status = list_costs(cli, cli->operands[1], cli->operands[2]);
    if (status == STATUS_OK) {
        Buf out = {0};
        buf_str(&out, STR("\n'whammc info cost what is cheap' and 'whammc info cost code at sites' "
                          "say what this costs.\n"));
        message_stdout(&out);
        buf_free(&out);
    }
    return status;
}

static int info_operands(const Cli *cli, Info *x) {
    if (!cli->noperands)
        return reference_topics(x->json);
    int status = cli->noperands == 1 ? info_form(cli, x) : -1;
    if (status >= 0)
        return status;
    if (reference_show((const char *const *)cli->operands, (uint32_t)cli->noperands, x->json))
        return STATUS_OK;
    const char *first = cli->operands[0];
    if (strcmp(first, "cost") == 0)
        return info_cost(cli, x);
    if (cli->noperands == 1 && names_package(first))
        return info_package(cli, x, first);
    if (cli->noperands > 1 && (strchr(first, ':') || monitor_is_file(first)))
        return cli_usage(cli, "expected only one RULE or MONITOR, found also '%s'",
                         cli->operands[1]);
    return no_entry(cli);
}

static bool cmd_info_set(const Cli *cli, void *settings, int key, const char *value) {
    (void)cli, (void)value;
    Info *x = settings;
    switch (key) {
    case OPTION_VERBOSE: x->verbose = true; break;
    case OPTION_EVENT_FUNCTIONS: x->functions = true; break;
    case OPTION_SCRIPTS: x->scripts = true; break;
    default: x->json = true; break;
    }
    return true;
}

int cmd_info(Cli *cli) {
    Info x = {0};
    int status = cli_options(cli, cmd_info_set, &x);
    if (status == STATUS_OK)
        status = x.scripts ? info_scripts(cli, &x) : info_operands(cli, &x);
    vec_free(&x.events);
    map_free(&x.names);
    arena_free(&x.arena);
    return status;
}
