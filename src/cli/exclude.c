/*
 * cli/exclude.c - functions whose calls a profile counts but does not time, as timing costs more
 * than they do.
 *
 * The bundled scripts have a constant for them, a list of numbers of functions.
 */
#include "cli/cli.h"
#include "report/demangle.h"
#include "wasm/op.h"

#include <fnmatch.h>

/* What --auto-exclude takes for many and tiny. */
enum {
    MANY_CALLS = 10000, /* a function has been called so often ... */
    MANY_SHARE = 1000,  /* ... and not less than this part of all calls */
    TINY_BODY = 128,    /* bytes */
};

/* ---- tiny functions ---- */

typedef enum Size { SIZE_UNKNOWN, SIZE_LOOKING, SIZE_TINY, SIZE_LARGE } Size;

/* Functions whose body is short and has no loop, and which call none but such. Calls are followed
 * only as deep as a few small functions go. */
typedef struct Sizes {
    const WasmModule *m;
    uint8_t *of; /* a Size, by function */
} Sizes;

enum { DEPTH_MAX = 16 };

static bool is_tiny(Sizes *s, uint32_t func, uint32_t depth);

static bool look(Sizes *s, uint32_t func, uint32_t depth) {
    const WasmFunc *f = &s->m->funcs.at[func];
    if (f->import >= 0 || f->body_size > TINY_BODY || depth == DEPTH_MAX)
        return false;
    WasmTypes locals = {0};
    const char *error;
    uint32_t first = wasm_func_locals(s->m, func, &locals, &error);
    vec_free(&locals);
    WasmCode code = wasm_code(wasm_func_body(s->m, func), f->body_size, first);
    WasmInstr i;
    while (first && wasm_next(&code, &i)) {
        bool calls = i.op == WASM_OP_CALL || i.op == WASM_OP_RETURN_CALL;
        if (i.op == WASM_OP_LOOP || i.op == WASM_OP_CALL_INDIRECT || i.op == WASM_OP_CALL_REF ||
            i.op == WASM_OP_RETURN_CALL_INDIRECT || i.op == WASM_OP_RETURN_CALL_REF)
            return false;
        if (calls && (i.a >= s->m->funcs.len || !is_tiny(s, i.a, depth + 1)))
            return false;
    }
    return first && !code.error;
}

static bool is_tiny(Sizes *s, uint32_t func, uint32_t depth) {
    if (s->of[func] == SIZE_UNKNOWN) {
        s->of[func] = SIZE_LOOKING; /* recursion is not tiny */
        s->of[func] = look(s, func, depth) ? SIZE_TINY : SIZE_LARGE;
    }
    return s->of[func] == SIZE_TINY;
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

void exclude_list(const Exclusion *x, const WasmModule *m, const Places *places,
                  const uint64_t *calls, Buf *out) {
    Sizes sizes = {m, mem_zalloc(m->funcs.len + 1u)};
    uint64_t all = 0;
    for (uint32_t f = 0; calls && f < m->funcs.len; f++)
        all = profile_add(all, calls[f]);
    uint32_t from = UINT32_MAX;
    for (uint32_t f = 0; f <= m->funcs.len; f++) {
        bool in = false;
        if (f < m->funcs.len) {
            const WasmFunc *func = &m->funcs.at[f];
            in = (x->globs.len && is_named(x, places_name(places, f))) ||
                 (func->import < 0 && func->body_size < x->min_size) ||
                 (calls && calls[f] >= MANY_CALLS && calls[f] >= all / MANY_SHARE &&
                  is_tiny(&sizes, f, 0));
        }
        if (in && from == UINT32_MAX)
            from = f;
        if (!in && from != UINT32_MAX) {
            put_range(out, from, f - 1);
            from = UINT32_MAX;
        }
    }
    free(sizes.of);
}
