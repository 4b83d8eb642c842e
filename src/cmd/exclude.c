/*
 * cmd/exclude.c - functions whose calls a profile counts but does not time, because timing them
 * would cost more than they do.
 *
 * The bundled scripts have a constant for them, a list of function indices.
 */
#include "base/capped.h"
#include "base/demangle.h"
#include "cmd/cmd.h"

#include <fnmatch.h>

/* The name of the constant. */
#define UNTIMED "untimed"

/* The limits for many calls and tiny functions, of --auto-exclude and --exclude-from. */
enum {
    MANY_CALLS = 10000, /* the minimum of calls ... */
    MANY_SHARE = 1000,  /* ... and as a fraction of all calls, 1/1000 */
    RARELY = 1000,      /* at most one call in 1000 */
    TINY_BODY = 128,    /* bytes */
};

/* ---- tiny functions ---- */

/* Returns whether a function is short and has no loop. */
static bool is_short(const WhammcModule *m, uint32_t func) {
    WhammcWalk *walk =
        whammc_module_func_size(m, func) <= TINY_BODY ? whammc_walk_new(m, func) : NULL;
    WhammcInstr i;
    bool loops = false;
    while (walk && !loops && whammc_walk_next(walk, &i))
        loops = strcmp(i.mnemonic, "loop") == 0;
    whammc_walk_free(walk);
    return walk && !loops;
}

/* The state of each function of the profile. */
typedef struct Counted {
    uint64_t calls;       /* of the function */
    uint64_t large, over; /* its calls of functions that are not tiny; over: times 2^64 */
    bool is_short, tiny;
} Counted;

static void add_large(Counted *c, uint64_t calls) {
    c->large += calls;
    c->over += c->large < calls;
}

static void remove_large(Counted *c, uint64_t calls) {
    c->over -= c->large < calls;
    c->large -= calls;
}

/* The arcs of a profile by callee; function f has arcs[first[f]] to arcs[first[f + 1] - 1]. */
typedef struct Callers {
    uint32_t *first;
    const WhammcProfileArc **arcs;
} Callers;

static Callers callers_of(const WhammcProfile *p) {
    Callers c = {mem_zalloc((p->nfunctions + 2) * sizeof *c.first),
                 mem_zalloc((p->narcs + 1) * sizeof *c.arcs)};
    for (size_t i = 0; i < p->narcs; i++)
        c.first[p->arcs[i].callee + 2]++;
    for (size_t f = 2; f < p->nfunctions + 2; f++)
        c.first[f] += c.first[f - 1];
    for (size_t i = 0; i < p->narcs; i++)
        c.arcs[c.first[p->arcs[i].callee + 1]++] = &p->arcs[i];
    return c;
}

typedef Vec(uint32_t) Functions;

static void note_if_tiny(Counted *c, uint32_t f, Functions *found) {
    bool tiny = c->is_short && !c->over && c->large <= c->calls / RARELY;
    if (tiny && !c->tiny)
        vec_push(found, f);
    c->tiny |= tiny;
}

/* Finds the tiny functions: short ones that hardly ever call a function that is not tiny. As none
 * is tiny initially, functions in a cycle of calls never become so. */
static void find_tiny(const WhammcProfile *p, Counted *of) {
    Callers callers = callers_of(p);
    Functions found = {0};
    for (size_t i = 0; i < p->narcs; i++)
        add_large(&of[p->arcs[i].caller], p->arcs[i].calls);
    for (uint32_t f = 0; f < p->nfunctions; f++)
        note_if_tiny(&of[f], f, &found);
    while (found.len) {
        uint32_t f = found.at[--found.len];
        for (uint32_t i = callers.first[f]; i < callers.first[f + 1]; i++) {
            uint32_t caller = callers.arcs[i]->caller;
            remove_large(&of[caller], callers.arcs[i]->calls);
            note_if_tiny(&of[caller], caller, &found);
        }
    }
    vec_free(&found);
    free(callers.first);
    free(callers.arcs);
}

/* Marks the functions that are tiny and have many calls, by number. */
static void mark_tiny(const WhammcModule *m, const WhammcProfile *p, bool *marked) {
    Counted *of = mem_zalloc((p->nfunctions + 1) * sizeof *of);
    uint64_t all = 0;
    for (size_t i = 0; i < p->narcs; i++) {
        Counted *callee = &of[p->arcs[i].callee];
        callee->calls = capped_add(callee->calls, p->arcs[i].calls);
        all = capped_add(all, p->arcs[i].calls);
    }
    for (size_t f = 0; f < p->nfunctions; f++)
        of[f].is_short = is_short(m, p->functions[f].fid);
    find_tiny(p, of);
    for (size_t f = 0; f < p->nfunctions; f++)
        if (of[f].tiny && of[f].calls >= MANY_CALLS && of[f].calls >= all / MANY_SHARE)
            marked[p->functions[f].fid] = true;
    free(of);
}

/* ---- a report of an earlier run ---- */

/* Reads the calls of functions of the program from the report; returns NULL, or why there are
 * none. */
static const char *exclude_read_calls(WhammcReport *r, const Buf *text, const Buf *app,
                                      const WhammcModule *m, const WhammcProfile **p) {
    bool read = whammc_report_read(r, "", text->data, text->len, 0) == WHAMMC_OK;
    if (text->len > UINT32_MAX)
        return "it has 4 GiB or more";
    if (!whammc_report_count(r))
        return "there is no report in it";
    if (!read || whammc_report_set_module(r, "", app->data, app->len) != WHAMMC_OK ||
        whammc_report_select(r, NULL) != WHAMMC_OK)
        return "it has no report of this program";
    if (whammc_report_profile(r, WHAMMC_PROFILE_CALLS, NULL, p) != WHAMMC_OK)
        return "the report has no calls";
    if ((*p)->sampled)
        return "the report has samples, not calls";
    uint32_t n = whammc_module_count(m, WHAMMC_FUNC);
    for (size_t f = 0; f < (*p)->nfunctions; f++)
        if ((*p)->functions[f].fid != WHAMMC_OUTSIDE && (*p)->functions[f].fid >= n)
            return "the report is of another program, with more functions";
    return NULL;
}

/* Marks the tiny functions with many calls in that report; returns false, after a message, if it
 * cannot be used. */
static bool mark_from(const Cli *cli, const char *path, const Buf *app, const WhammcModule *m,
                      bool *marked) {
    Buf text = {0};
    WhammcReport *r = whammc_report_new();
    const WhammcProfile *counted;
    bool ok = file_read(cli, path, &text);
    const char *wrong = ok ? exclude_read_calls(r, &text, app, m, &counted) : NULL;
    if (wrong)
        message_one(
            cli, DIAG_NOT_A_REPORT,
            "`whammc profile --counts-only --save=REPORT` and `-s profile -D timed=false` make "
            "such reports",
            "%s: %s", file_title(path), wrong);
    else if (ok)
        mark_tiny(m, counted, marked);
    whammc_report_free(r);
    buf_free(&text);
    return ok && !wrong;
}

/* ---- which functions ---- */

static bool exclude_has_name(const Exclusion *x, const char *name) {
    for (uint32_t i = 0; i < x->globs.len; i++)
        if (fnmatch(x->globs.at[i], name, 0) == 0)
            return true;
    return false;
}

/* Returns whether a glob matches the name of the function in the program, or in its source. */
static bool exclude_is_named(const Exclusion *x, const char *name) {
    Buf text = {0};
    bool found = *name && exclude_has_name(x, name);
    if (!found && demangle(str_of(name), &text))
        found = exclude_has_name(x, buf_cstr(&text));
    buf_free(&text);
    return found;
}

/* Appends the range from..to: "3,17-20". */
static void put_range(Buf *out, uint32_t from, uint32_t to) {
    buf_printf(out, from == to ? "%s%u" : "%s%u-%u", out->len ? "," : "", from, to);
}

/* Appends a glob that matches this name alone. */
static void put_glob(Buf *out, Str name) {
    for (uint32_t i = 0; i < name.len; i++) {
        if (memchr("*?[]\\", name.ptr[i], 5))
            buf_u8(out, '\\');
        buf_u8(out, (uint8_t)name.ptr[i]);
    }
}

bool exclude_suggest(const Cli *cli, const char *report, const Buf *app, Buf *out) {
    WhammcModule *m = whammc_module_read(app->data, app->len, NULL);
    uint32_t n = m ? whammc_module_count(m, WHAMMC_FUNC) : 0;
    bool *marked = mem_zalloc(n + 1u);
    bool ok = m && mark_from(cli, report, app, m, marked);
    for (uint32_t f = 0; f < n; f++) {
        if (!marked[f])
            continue;
        buf_str(out, STR("--exclude="));
        put_glob(out, str_of(whammc_module_shown_name(m, f)));
        buf_u8(out, '\n');
    }
    free(marked);
    whammc_module_free(m);
    return ok;
}

/* Marks the functions with a matching name: the shown name, an export name, or for an import its
 * own name, without the module's. Returns whether there are any. */
static bool mark_named(const Exclusion *x, WhammcModule *m, bool *marked) {
    bool any = false;
    uint32_t n = whammc_module_count(m, WHAMMC_FUNC);
    WhammcExtern e;
    for (uint32_t f = 0; f < n; f++)
        if (exclude_is_named(x, whammc_module_shown_name(m, f)))
            marked[f] = any = true;
    for (uint32_t i = 0; whammc_module_import(m, i, &e); i++)
        if (e.kind == WHAMMC_FUNC && exclude_is_named(x, e.name))
            marked[e.handle] = any = true;
    for (uint32_t i = 0; whammc_module_export(m, i, &e); i++)
        if (e.kind == WHAMMC_FUNC && exclude_is_named(x, e.name))
            marked[e.handle] = any = true;
    return any;
}

void exclude_put(const WhammcModule *m, const bool *marked, Buf *out) {
    uint32_t n = whammc_module_count(m, WHAMMC_FUNC);
    for (uint32_t f = 0, end; f < n; f = end + 1) {
        for (end = f; end < n && marked[end];)
            end++;
        if (end > f)
            put_range(out, f, end - 1);
    }
}

bool exclude_named(const Exclusion *x, WhammcModule *m, Buf *out) {
    bool *marked = mem_zalloc(whammc_module_count(m, WHAMMC_FUNC) + 1u);
    bool any = mark_named(x, m, marked);
    exclude_put(m, marked, out);
    free(marked);
    return any;
}

/* Marks the functions that match the globs; warns about globs that match none. */
static void mark_globs(const Cli *cli, const Exclusion *x, WhammcModule *m, bool warn,
                       bool *marked) {
    for (uint32_t i = 0; i < x->globs.len; i++) {
        Exclusion one = {0};
        vec_push(&one.globs, x->globs.at[i]);
        if (!mark_named(&one, m, marked) && warn)
            message_one(cli, DIAG_NOT_EXCLUDED, NULL, "--exclude=%s: no function has such a name",
                        x->globs.at[i]);
        vec_free(&one.globs);
    }
}

bool exclude_mark(const Cli *cli, const Exclusion *x, const Buf *app, WhammcModule *m,
                  const WhammcProfile *counted, bool *marked) {
    uint32_t n = whammc_module_count(m, WHAMMC_FUNC);
    bool ok = !x->from || mark_from(cli, x->from, app, m, marked);
    if (counted)
        mark_tiny(m, counted, marked);
    mark_globs(cli, x, m, !counted, marked);
    for (uint32_t f = whammc_module_imports(m, WHAMMC_FUNC); f < n; f++)
        marked[f] |= whammc_module_func_size(m, f) < x->min_size;
    return ok;
}

/* ---- the options ---- */

bool exclude_given(const Exclusion *x) {
    return x->globs.len || x->min_size || x->from;
}

bool exclude_option(const Cli *cli, Exclusion *x, int key, const char *value) {
    if (key == OPTION_MIN_SIZE)
        return cli_count(cli, "min-size", value, &x->min_size);
    if (key == OPTION_EXCLUDE_FROM)
        x->from = value;
    else
        vec_push(&x->globs, value);
    return true;
}

int exclude_check(const Cli *cli, const Exclusion *x, const DefineOptions *definitions) {
    for (uint32_t i = 0; i < definitions->len && exclude_given(x); i++)
        if (strncmp(definitions->at[i], UNTIMED "=", strlen(UNTIMED "=")) == 0)
            return cli_usage(cli,
                             "--exclude, --min-size and --exclude-from set the constant '" UNTIMED
                             "', so --define=%s cannot",
                             definitions->at[i]);
    return STATUS_OK;
}

/* Appends the functions to leave untimed; none if the program cannot be read, which instrumenting
 * it reports. */
static bool exclude_put_functions(const Cli *cli, const Exclusion *x, const Buf *app, Buf *out) {
    WhammcModule *m = whammc_module_read(app->data, app->len, NULL);
    if (!m)
        return true;
    bool *marked = mem_zalloc(whammc_module_count(m, WHAMMC_FUNC) + 1u);
    bool ok = exclude_mark(cli, x, app, m, NULL, marked);
    exclude_put(m, marked, out);
    free(marked);
    whammc_module_free(m);
    return ok;
}

static bool exclude_is_constant(whammc *w) {
    size_t n;
    const whammc_constant *constants = whammc_constants(w, &n);
    for (size_t i = 0; i < n; i++)
        if (strcmp(constants[i].name, UNTIMED) == 0 && strcmp(constants[i].type, "str") == 0)
            return true;
    return false;
}

bool exclude_give(const Cli *cli, const Exclusion *x, const Buf *app, whammc *w) {
    if (!exclude_given(x) || whammc_check(w) != WHAMMC_OK) /* the next call says why */
        return true;
    if (modules_refuse(cli, app, "--exclude, --min-size and --exclude-from"))
        return false;
    if (!exclude_is_constant(w)) {
        message_one(cli, DIAG_BAD_DEFINITION,
                    "those that come with whammc have it: -s profile, -s calltree",
                    "no script has a constant '" UNTIMED
                    ": str' for --exclude, --min-size and --exclude-from");
        return false;
    }
    Buf list = {0};
    bool ok = exclude_put_functions(cli, x, app, &list);
    if (ok)
        whammc_define(w, UNTIMED, buf_cstr(&list));
    buf_free(&list);
    return ok;
}
