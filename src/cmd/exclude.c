/*
 * cmd/exclude.c - functions whose calls a profile counts but does not time, because timing them
 * would cost more than they do.
 *
 * The bundled scripts have a constant for them, a list of function indices.
 */
#include "cmd/cmd.h"
#include "base/demangle.h"
#include "wasm/op.h"
#include "merge/modules.h"
#include "valid/valid.h"

#include <fnmatch.h>

/* What the scripts call it. */
#define UNTIMED "untimed"

/* What --auto-exclude and --exclude-from consider many and tiny. */
enum {
    MANY_CALLS = 10000, /* a function has been called so often ... */
    MANY_SHARE = 1000,  /* ... and not less than this part of all calls */
    RARELY = 1000,      /* less than one call in so many */
    TINY_BODY = 128,    /* bytes */
};

/* ---- tiny functions ---- */

/* Whether a function is short and has no loop. */
static bool is_short(const WasmModule *m, uint32_t func) {
    const WasmFunc *f = &m->funcs.at[func];
    if (f->import >= 0 || f->body_size > TINY_BODY)
        return false;
    WasmCode code;
    WasmInstr i;
    if (!wasm_func_code(m, func, &code))
        return false;
    while (wasm_next(&code, &i))
        if (i.op == WASM_OP_LOOP)
            return false;
    return !code.error;
}

/* What is known of each function of the profile. */
typedef struct Counted {
    uint64_t calls;       /* of it */
    uint64_t large, over; /* calls by it, of functions that are not tiny; over: times 2^64 */
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

/* The arcs of a profile by callee: those of f are arcs[first[f]] to arcs[first[f + 1] - 1]. */
typedef struct Callers {
    uint32_t *first;
    const ProfileArc **arcs;
} Callers;

static Callers callers_of(const Profile *p) {
    Callers c = {mem_zalloc((p->funcs.len + 2u) * sizeof *c.first),
                 mem_zalloc((p->arcs.len + 1u) * sizeof *c.arcs)};
    for (uint32_t i = 0; i < p->arcs.len; i++)
        c.first[p->arcs.at[i].callee + 2]++;
    for (uint32_t f = 2; f < p->funcs.len + 2; f++)
        c.first[f] += c.first[f - 1];
    for (uint32_t i = 0; i < p->arcs.len; i++)
        c.arcs[c.first[p->arcs.at[i].callee + 1]++] = &p->arcs.at[i];
    return c;
}

typedef Vec(uint32_t) Functions;

static void note_if_tiny(Counted *c, uint32_t f, Functions *found) {
    bool tiny = c->is_short && !c->over && c->large <= c->calls / RARELY;
    if (tiny && !c->tiny)
        vec_push(found, f);
    c->tiny |= tiny;
}

/* Short functions are tiny if they hardly ever call one that is not. As none is to begin with,
 * those that call each other in a circle never are. */
static void find_tiny(const Profile *p, Counted *of) {
    Callers callers = callers_of(p);
    Functions found = {0};
    for (uint32_t i = 0; i < p->arcs.len; i++)
        add_large(&of[p->arcs.at[i].caller], p->arcs.at[i].calls);
    for (uint32_t f = 0; f < p->funcs.len; f++)
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
static void mark_tiny(const WasmModule *m, const Profile *p, bool *marked) {
    Counted *of = mem_zalloc((p->funcs.len + 1u) * sizeof *of);
    uint64_t all = 0;
    for (uint32_t i = 0; i < p->arcs.len; i++) {
        Counted *callee = &of[p->arcs.at[i].callee];
        callee->calls = capped_add(callee->calls, p->arcs.at[i].calls);
        all = capped_add(all, p->arcs.at[i].calls);
    }
    for (uint32_t f = 0; f < p->funcs.len; f++)
        of[f].is_short = p->funcs.at[f].id < m->funcs.len && is_short(m, p->funcs.at[f].id);
    find_tiny(p, of);
    for (uint32_t f = 0; f < p->funcs.len; f++)
        if (of[f].tiny && of[f].calls >= MANY_CALLS && of[f].calls >= all / MANY_SHARE)
            marked[p->funcs.at[f].id] = true;
    free(of);
}

/* ---- a report of an earlier run ---- */

/* The calls in the report, of functions of the program; NULL, or why there are none. */
static const char *read_calls(const Buf *text, const WasmModule *m, Profile *p) {
    Modules modules = {0};
    Buf why = {0};
    const char *wrong = NULL;
    const ModuleReport *of = NULL;
    Places places;
    places_open(&places, m);
    if (text->len > UINT32_MAX)
        wrong = "it has 4 GiB or more";
    else if (!modules_read(&modules, buf_view(text), 0, &why))
        wrong = "there is no report in it";
    else if (why.len || !(of = modules_of_program(&modules, &places, &why)))
        wrong = "it has no report of this program";
    if (of) {
        if (!profile_read_arcs(p, of->report, (ProfileVariables){0}))
            wrong = p->problem ? p->problem : "the report has no calls";
        else if (p->sampled)
            wrong = "the report has samples, not calls";
    }
    for (uint32_t f = 0; f < p->funcs.len && !wrong; f++)
        if (!p->funcs.at[f].outside && p->funcs.at[f].id >= m->funcs.len)
            wrong = "the report is of another program, with more functions";
    modules_free(&modules);
    places_free(&places);
    buf_free(&why);
    return wrong;
}

/* Marks what is tiny and has many calls in that report; false if it cannot be used, which was said.
 */
static bool mark_from(const Cli *cli, const char *path, const WasmModule *m, bool *marked) {
    Buf text = {0};
    Profile counted = {0};
    bool ok = file_read(cli, path, &text);
    const char *wrong = ok ? read_calls(&text, m, &counted) : NULL;
    if (wrong)
        message_one(
            cli, DIAG_NOT_A_REPORT,
            "`whammc profile --counts-only --save=REPORT` and `-s profile -D timed=false` make "
            "such reports",
            "%s: %s", file_title(path), wrong);
    else if (ok)
        mark_tiny(m, &counted, marked);
    profile_free(&counted);
    buf_free(&text);
    return ok && !wrong;
}

/* ---- which functions ---- */

static bool has_name(const Exclusion *x, const char *name) {
    for (uint32_t i = 0; i < x->globs.len; i++)
        if (fnmatch(x->globs.at[i], name, 0) == 0)
            return true;
    return false;
}

/* Whether a glob fits the name that the function has in the program, or in its source. */
static bool is_named(const Exclusion *x, Str name) {
    if (!name.len)
        return false;
    Buf text = {0};
    buf_str(&text, name);
    bool found = has_name(x, buf_cstr(&text));
    text.len = 0;
    if (!found && demangle(name, &text))
        found = has_name(x, buf_cstr(&text));
    buf_free(&text);
    return found;
}

/* "3,17-20": appends those from..to. */
static void put_range(Buf *out, uint32_t from, uint32_t to) {
    buf_printf(out, from == to ? "%s%u" : "%s%u-%u", out->len ? "," : "", from, to);
}

/* A glob that fits this name alone. */
static void put_glob(Buf *out, Str name) {
    for (uint32_t i = 0; i < name.len; i++) {
        if (memchr("*?[]\\", name.ptr[i], 5))
            buf_u8(out, '\\');
        buf_u8(out, (uint8_t)name.ptr[i]);
    }
}

bool exclude_suggest(const Cli *cli, const char *report, const Buf *app, Buf *out) {
    Diags d = {0};
    WasmModule m;
    DiagFileId file = diag_file(&d, "module", app->data, app->len, true);
    bool ok = wasm_load(&m, app->data, app->len, file, &d);
    bool *in = mem_zalloc(m.funcs.len + 1u);
    ok = ok && mark_from(cli, report, &m, in);
    for (uint32_t f = 0; f < m.funcs.len; f++) {
        Str name = wasm_shown_name(&m, f);
        if (!in[f] || !name.len)
            continue;
        buf_str(out, STR("--exclude="));
        put_glob(out, name);
        buf_u8(out, '\n');
    }
    free(in);
    message_diags(cli, &d);
    diag_free(&d);
    wasm_module_free(&m);
    return ok;
}

/* Marks the functions of which some name matches: the one that is shown, their export names, and
 * for an import its own name, without the module's. Returns whether there are any. */
static bool mark_named(const Exclusion *x, const WasmModule *m, bool *in) {
    bool any = false;
    for (uint32_t f = 0; f < m->funcs.len; f++) {
        int32_t import = m->funcs.at[f].import;
        bool fits = is_named(x, wasm_shown_name(m, f)) ||
                    (import >= 0 && is_named(x, m->imports.at[import].name));
        in[f] |= fits;
        any |= fits;
    }
    for (uint32_t i = 0; i < m->exports.len; i++) {
        const WasmExport *e = &m->exports.at[i];
        bool fits = e->space == WASM_SPACE_FUNC && is_named(x, e->name);
        if (fits)
            in[e->handle] = any = true;
    }
    return any;
}

/* Appends the numbers of those that are marked; the last mark, of none, ends a range. */
static void put_marked(const WasmModule *m, const bool *in, Buf *out) {
    for (uint32_t f = 0, from = 0; f <= m->funcs.len; f++) {
        if (in[f] && (!f || !in[f - 1]))
            from = f;
        if (!in[f] && f && in[f - 1])
            put_range(out, from, f - 1);
    }
}

bool exclude_named(const Exclusion *x, const WasmModule *m, Buf *out) {
    bool *in = mem_zalloc(m->funcs.len + 1u);
    bool any = mark_named(x, m, in);
    put_marked(m, in, out);
    free(in);
    return any;
}

/* Marks the functions that the globs fit; warns of those that fit none. */
static void mark_globs(const Cli *cli, const Exclusion *x, const WasmModule *m, bool warn,
                       bool *in) {
    for (uint32_t i = 0; i < x->globs.len; i++) {
        Exclusion one = {0};
        vec_push(&one.globs, x->globs.at[i]);
        if (!mark_named(&one, m, in) && warn)
            message_one(cli, DIAG_NOT_EXCLUDED, NULL, "--exclude=%s: no function has such a name",
                        x->globs.at[i]);
        vec_free(&one.globs);
    }
}

bool exclude_list(const Cli *cli, const Exclusion *x, const WasmModule *m, const Profile *counted,
                  Buf *out) {
    bool *in = mem_zalloc(m->funcs.len + 1u);
    bool ok = !x->from || mark_from(cli, x->from, m, in);
    if (counted)
        mark_tiny(m, counted, in);
    mark_globs(cli, x, m, !counted, in);
    for (uint32_t f = 0; f < m->funcs.len; f++) {
        const WasmFunc *func = &m->funcs.at[f];
        in[f] |= func->import < 0 && func->body_size < x->min_size;
    }
    put_marked(m, in, out);
    free(in);
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

/* A program that cannot be read has no functions: who instruments it says what is wrong. */
static bool put_functions(const Cli *cli, const Exclusion *x, const Buf *app, Buf *out) {
    Diags d = {0};
    WasmModule m = {0};
    DiagFileId file = diag_file(&d, "", app->data, app->len, true);
    bool ok = !wasm_load(&m, app->data, app->len, file, &d) || exclude_list(cli, x, &m, NULL, out);
    wasm_module_free(&m);
    diag_free(&d);
    return ok;
}

static bool is_constant(whammc *w) {
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
    if (!is_constant(w)) {
        message_one(cli, DIAG_BAD_DEFINITION,
                    "those that come with whammc have it: -s profile, -s calltree",
                    "no script has a constant '" UNTIMED
                    ": str' for --exclude, --min-size and --exclude-from");
        return false;
    }
    Buf list = {0};
    bool ok = put_functions(cli, x, app, &list);
    if (ok)
        whammc_define(w, UNTIMED, buf_cstr(&list));
    buf_free(&list);
    return ok;
}
