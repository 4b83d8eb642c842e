/*
 * library/builtin.c - the built-in functions on memories: their values at the time of
 * instrumentation.
 */
#include "library/builtin.h"

#include <assert.h>

enum { RUNTIME_PAGE = 65536 };

const WasmExport *library_memory(const Library *l) {
    const WasmExport *first = NULL;
    for (uint32_t i = 0; l->usable && i < l->module.exports.len; i++) {
        const WasmExport *e = &l->module.exports.at[i];
        if (e->space != WASM_SPACE_MEMORY)
            continue;
        if (str_is(e->name, "memory"))
            return e;
        if (!first)
            first = e;
    }
    return first;
}

static bool is_memid(const Expr *e) {
    return e->kind == EXPR_CALL && e->is_bound && e->bound.id == FN_MEMID && e->nargs == 1;
}

/* Whether a static number has a value at each site: it divides by nothing, and calls nothing. */
static bool builtin_has_value(const Expr *e) {
    bool has = e->kind == EXPR_INT || e->kind == EXPR_BOOL || e->kind == EXPR_UNARY ||
               e->kind == EXPR_NAME ||
               (e->kind == EXPR_BINARY && e->op != OP_DIV && e->op != OP_REM) ||
               (e->kind == EXPR_CAST && !type_is_float(e->args[0]->type)) || e->kind == EXPR_COND;
    for (uint32_t i = 0; i < e->nargs && has; i++)
        has = builtin_has_value(e->args[i]);
    return has;
}

bool builtin_names_memory(const Expr *memory) {
    return is_memid(memory) || (memory->is_static && builtin_has_value(memory));
}

MemoryRef builtin_memory(const Libraries *libraries, const Expr *memory, const Site *s) {
    Value v;
    if (!is_memid(memory)) {
        bool known = memory->is_static && fold(memory, s, &v);
        return known ? (MemoryRef){MEMORY_PROGRAM, (uint32_t)v.bits}
                     : (MemoryRef){MEMORY_BY_NUMBER, 0};
    }
    for (uint32_t i = 0; i < libraries->list.len; i++)
        if (str_eq(libraries->list.at[i]->name, memory->args[0]->name))
            return (MemoryRef){MEMORY_LIBRARY, i};
    return (MemoryRef){MEMORY_RUNTIME, 0};
}

/* ---- libraries ---- */

static bool asks_value(const Expr *call) {
    int fn = call->bound.id;
    return fn == FN_PAGE_SIZE || fn == FN_ACTIVE_DATA_START || fn == FN_ACTIVE_DATA_LEN;
}

bool builtin_library_value(const Libraries *libraries, const Expr *call, uint64_t *out) {
    assert(call->kind == EXPR_CALL);
    if (!asks_value(call) || call->nargs != 1 || !is_memid(call->args[0]))
        return false;
    MemoryRef r = builtin_memory(libraries, call->args[0], NULL);
    if (r.kind == MEMORY_RUNTIME) {
        *out = RUNTIME_PAGE;
        return call->bound.id == FN_PAGE_SIZE;
    }
    const Library *l = libraries->list.at[r.n];
    return memory_value((FnId)call->bound.id, &l->module, library_memory(l)->handle, out);
}

/* memid(library): it has a memory. `runs`: which must be there at run time. */
static bool has_memory(const Libraries *libraries, const Expr *memid, bool runs, Diags *diags) {
    MemoryRef r = builtin_memory(libraries, memid, NULL);
    Library *l = r.kind == MEMORY_LIBRARY ? libraries->list.at[r.n] : NULL;
    if (l ? library_memory(l) != NULL : str_is(memid->args[0]->name, "whamm_core")) {
        if (l)
            l->memory_runs |= runs;
        return true;
    }
    if (!l || l->usable)
        diag(diags, DIAG_NO_MEMORY, memid->span, "the library '%.*s' exports no memory",
             STR_ARG(memid->args[0]->name));
    return false;
}

bool builtin_fits(const Libraries *libraries, const Expr *call, Diags *diags) {
    uint64_t v;
    bool runs = !asks_value(call);
    bool ok = !is_memid(call) || has_memory(libraries, call, runs, diags);
    for (uint32_t i = 0; i < call->nargs; i++)
        ok &= !is_memid(call->args[i]) || has_memory(libraries, call->args[i], runs, diags);
    if (ok && asks_value(call) && is_memid(call->args[0]) &&
        !builtin_library_value(libraries, call, &v)) {
        diag(diags, DIAG_NO_MEMORY, call->span, "%s is not known for this memory",
             function_name((FnId)call->bound.id));
        ok = false;
    }
    return ok;
}

bool builtin_uses_runtime(const Libraries *libraries, const Expr *call) {
    FnId fn = (FnId)call->bound.id;
    bool uses = fn >= FN_READ_STR && fn <= FN_STRCONTAINS;
    uses |= is_memid(call) && builtin_memory(libraries, call, NULL).kind == MEMORY_RUNTIME;
    for (uint32_t i = 0; i < call->nargs; i++)
        uses |= is_memid(call->args[i]) &&
                builtin_memory(libraries, call->args[i], NULL).kind == MEMORY_RUNTIME;
    return uses;
}

/* ---- missing memories and libraries ---- */

Lack builtin_lack(const Expr *call, const Site *s) {
    assert(s->m);
    Lack l = {.call = call, .placed = s->instr != NULL, .func = s->func, .pc = s->pc};
    l.memory = s->m->input_count[WASM_SPACE_MEMORY] == 0;
    for (uint32_t i = 0; i < call->nargs && !l.memory; i++) {
        const Expr *memory = call->args[i];
        Value v;
        if (!function_takes_memory((FnId)call->bound.id, i) || is_memid(memory) ||
            !memory->is_static || !fold(memory, s, &v) ||
            v.bits < s->m->input_count[WASM_SPACE_MEMORY])
            continue;
        l.memory = true;
        l.n = (uint32_t)v.bits;
    }
    return l;
}

bool builtin_lacks(const Expr *e, const Site *s, Lack *out) {
    Value v;
    for (uint32_t i = 0; i < e->nargs; i++)
        if (builtin_lacks(e->args[i], s, out))
            return true;
    if (e->kind != EXPR_CALL || !e->is_bound || !e->is_static || fold(e, s, &v))
        return false;
    *out = builtin_lack(e, s);
    return fold(e->args[0], s, &v); /* else it is the argument that has no value */
}

void builtin_report(const Lack *l, const WasmModule *m, Diags *diags) {
    assert(l->call);
    const char *name = function_name((FnId)l->call->bound.id);
    Diag *d;
    if (!l->memory)
        d = diag(diags, DIAG_NO_MEMORY, l->call->span,
                 "%s has no value: the start of this memory's data depends on an import, or the "
                 "data extends beyond 4 GiB",
                 name);
    else if (m->input_count[WASM_SPACE_MEMORY])
        d = diag(diags, DIAG_NO_MEMORY, l->call->span,
                 "%s needs memory %u, but the program's last memory is memory %u", name, l->n,
                 m->input_count[WASM_SPACE_MEMORY] - 1);
    else
        d = diag(diags, DIAG_NO_MEMORY, l->call->span, "%s needs a memory; the program has none",
                 name);
    if (l->placed)
        diag_hint(diags, d, "it is used at offset %u of function %u", l->pc, l->func);
}
