/*
 * storage/memory.c - what scripts do with memories.
 *
 * The functions, all of i32, where A and B are memories and s is a str (an address in the
 * runtime's memory):
 *
 *   clip A       (at, len) -> how many of these bytes are there
 *   same A       (at, from, len) -> whether the bytes are those of the runtime's memory
 *   move A B     (from, to, len) copies bytes that are there; a loop where the runtime's memory is
 *                reached by calls, else memory.copy takes its place
 *
 *   mem_size A   () -> pages
 *   memcpy A B   (from, to, len)
 *   read_str A   (at, len) -> s
 *   write_str A  (at, s)
 *   strcmp A     (at, len, s) -> bool
 *   strcontains  likewise
 *
 * Where memories are known by number alone, each number is an argument more, before the
 * address; the function finds the one that does it, or traps.
 */
#include "storage/memory.h"

#include "wasm/emit.h"
#include "library/builtin.h"
#include "gen/template.h"

#include <assert.h>

/* Engines accept no more memories. It keeps the pairs of memcpy by number few. */
enum { MAX_NUMBERED = 100 };

/* Operations of our own, besides FnId. */
enum { OP_CLIP = FN_COUNT, OP_SAME, OP_MOVE };

void memory_init(MemoryOps *x, const Plan *plan, WasmModule *m) {
    *x = (MemoryOps){.plan = plan, .m = m};
}

void memory_free(MemoryOps *x) {
    vec_free(&x->list);
    vec_free(&x->numbered);
    map_free(&x->ids);
    map_free(&x->wrong);
}

/* ---- which operations there are ---- */

static uint32_t find_op(const MemoryOps *x, uint32_t op, MemoryRef a, MemoryRef b) {
    uint32_t key[] = {op, a.kind, a.n, b.kind, b.n};
    uint64_t *id = map_get(&x->ids, (Str){(const char *)key, sizeof key});
    return id ? (uint32_t)*id : UINT32_MAX;
}

/* Its index in the list. */
static uint32_t add_op(MemoryOps *x, uint32_t op, MemoryRef a, MemoryRef b) {
    uint32_t key[] = {op, a.kind, a.n, b.kind, b.n};
    bool added;
    uint64_t *id = map_put(&x->ids, (Str){(const char *)key, sizeof key}, x->list.len, &added);
    uint32_t result = (uint32_t)*id;
    if (added)
        vec_push(&x->list, ((MemoryOp){op, a, b, UINT32_MAX}));
    return result;
}

/* The number after those of the program is that of the runtime's memory, if there is one: scripts
 * use it with what addr() of a str gives. In a monitor, where there are none before it, that
 * is 0. */
static MemoryRef resolve(const MemoryOps *x, MemoryRef r) {
    bool after_last = r.kind == MEMORY_PROGRAM && r.n == x->m->input_count[WASM_SPACE_MEMORY];
    return after_last && (x->plan->uses_values || x->monitor) ? (MemoryRef){MEMORY_RUNTIME, 0} : r;
}

/* The memories of a call at a site. */
static void memories_of(const MemoryOps *x, const MemoryCall *c, const Site *site,
                        MemoryRef of[2]) {
    uint32_t n = 0;
    of[0] = of[1] = (MemoryRef){MEMORY_PROGRAM, 0};
    for (uint32_t i = 0; i < c->call->nargs && n < 2; i++) {
        if (!function_takes_memory(c->fn, i))
            continue;
        of[n++] = c->by_number ? (MemoryRef){MEMORY_BY_NUMBER, 0}
                               : builtin_memory(x->plan->libraries, c->call->args[i], site);
    }
    if (c->fn == FN_MEMID)
        of[0] = builtin_memory(x->plan->libraries, c->call, site);
    of[0] = resolve(x, of[0]);
    of[1] = c->fn == FN_MEMCPY ? resolve(x, of[1]) : of[0];
}

/* The program has it. What a library has was seen before. */
static bool exists(const MemoryOps *x, MemoryRef r) {
    return r.kind != MEMORY_PROGRAM || r.n < x->m->input_count[WASM_SPACE_MEMORY];
}

static bool note_call(MemoryOps *x, const MemoryCall *c, const Site *site, Diags *diags) {
    MemoryRef of[2];
    bool first;
    memories_of(x, c, site, of);
    bool many = c->by_number && x->m->input_count[WASM_SPACE_MEMORY] > MAX_NUMBERED;
    if (!many && exists(x, of[0]) && exists(x, of[1])) {
        add_op(x, c->fn, of[0], of[1]);
        return true;
    }
    map_put(&x->wrong, (Str){(const char *)&c->call, sizeof c->call}, 0, &first);
    if (first && many)
        diag(diags, DIAG_NO_MEMORY, c->call->span,
             "the program has more than %d memories: name the one that is meant by a constant",
             MAX_NUMBERED);
    Lack lack = builtin_lack(c->call, site);
    if (first && !many)
        builtin_report(&lack, x->m, diags);
    return false;
}

bool memory_named(const MemoryOps *x, const Expr *memory, const Site *site, bool imported) {
    MemoryRef r = resolve(x, builtin_memory(x->plan->libraries, memory, site));
    return exists(x, r) && !(imported && r.kind == MEMORY_RUNTIME);
}

bool memory_note_call(MemoryOps *x, const Site *site, uint32_t call, Diags *diags) {
    return note_call(x, &x->plan->memory_calls.at[call], site, diags);
}

bool memory_note(MemoryOps *x, const Site *site, const Variant *v, Diags *diags) {
    bool ok = true;
    for (uint32_t i = 0; i < v->memory_calls.len; i++)
        ok &= memory_note_call(x, site, v->memory_calls.at[i], diags);
    return ok;
}

bool memory_uses_library(const MemoryOps *x, uint32_t library) {
    for (uint32_t i = 0; i < x->list.len; i++) {
        const MemoryOp *o = &x->list.at[i];
        if ((o->a.kind == MEMORY_LIBRARY && o->a.n == library) ||
            (o->b.kind == MEMORY_LIBRARY && o->b.n == library))
            return true;
    }
    return false;
}

/* ---- linking ---- */

void memory_helpers(const MemoryOps *x, bool imported, bool *used) {
    static const Helper access[] = {HELPER_LOAD8,  HELPER_LOAD32,  HELPER_LOAD64,
                                    HELPER_STORE8, HELPER_STORE64, HELPER_MEM_PAGES};
    for (uint32_t i = 0; i < x->list.len; i++) {
        const MemoryOp *o = &x->list.at[i];
        used[HELPER_STR_NEW] |= o->op == FN_READ_STR;
        used[HELPER_STR_INTERN] |= o->op == FN_READ_STR;
        bool text = o->op >= FN_READ_STR && o->op <= FN_STRCONTAINS;
        bool runtime = o->a.kind >= MEMORY_RUNTIME || o->b.kind >= MEMORY_RUNTIME;
        for (uint32_t k = 0; k < 6 && imported && x->plan->uses_values && (text || runtime); k++)
            used[access[k]] = true;
    }
}

static const MemoryRef runtime = {MEMORY_RUNTIME, 0};

/* Memories that a number can mean: the program's, and what the script asks memid for. */
static void list_numbered(MemoryOps *x) {
    for (uint32_t i = 0; i < x->m->input_count[WASM_SPACE_MEMORY] && i < MAX_NUMBERED; i++)
        vec_push(&x->numbered, ((MemoryRef){MEMORY_PROGRAM, i}));
    if (x->monitor)
        vec_push(&x->numbered, runtime);
    for (uint32_t i = 0; i < x->list.len; i++) {
        const MemoryOp *o = &x->list.at[i];
        if (o->op == FN_MEMID && !(x->monitor && o->a.kind == MEMORY_RUNTIME))
            vec_push(&x->numbered, o->a);
    }
}

/* Where a memory is. */
typedef struct Place {
    bool calls; /* it is read and written by calls */
    uint32_t handle;
    bool wide; /* 64-bit addresses */
    uint8_t page_log2;
} Place;

static Place place(const MemoryOps *x, MemoryRef r) {
    if (r.kind == MEMORY_RUNTIME && x->at.runtime < 0)
        return (Place){.calls = true, .page_log2 = 16};
    uint32_t handle = r.kind == MEMORY_RUNTIME   ? (uint32_t)x->at.runtime
                      : r.kind == MEMORY_LIBRARY ? x->plan->libraries->list.at[r.n]->memory
                                                 : r.n;
    const WasmLimits *limits = &x->m->memories.at[handle].limits;
    return (Place){false, handle, limits->is64, limits->page_log2};
}

uint32_t memory_handle(const MemoryOps *x, const Expr *memory, const Site *site) {
    return place(x, resolve(x, builtin_memory(x->plan->libraries, memory, site))).handle;
}

static uint32_t number_of(const MemoryOps *x, MemoryRef r) {
    Place p = place(x, r);
    return p.calls ? x->m->memories.len : p.handle;
}

/* ---- writing functions; indices are handles ---- */

static uint32_t func_of(MemoryOps *x, uint32_t op, MemoryRef a, MemoryRef b);

/* Takes the body over. Locals after the parameters: i32, then i64. */
static uint32_t add_func(MemoryOps *x, const char *name, uint32_t nparams, uint32_t n32,
                         uint32_t n64, bool result, Buf *body) {
    WasmType params[8] = {WASM_I32, WASM_I32, WASM_I32, WASM_I32, WASM_I32};
    uint32_t type = wasm_add_func_type(x->m, params, nparams, params, result);
    Buf code = {0};
    emit_locals(&code, n32, n64);
    buf_bytes(&code, body->data, body->len);
    emit(&code, "end");
    buf_free(body);
    return wasm_add_func(x->m, type, str_of(name), &code, false);
}

static void call_helper(const MemoryOps *x, Buf *b, Helper h) {
    emit(b, "call %u", x->at.helpers[h]);
}

/* What makes an address of an i32: an instruction or none. */
static const char *widen(const Place *p) {
    return p->wide ? "i64.extend_i32_u" : "";
}

/* An i32 is on the stack: leaves the number of `bytes` (1, 4 or 8) there. */
static void put_load(const MemoryOps *x, Buf *b, const Place *p, uint32_t bytes) {
    if (p->calls)
        call_helper(x, b, bytes == 8 ? HELPER_LOAD64 : bytes == 4 ? HELPER_LOAD32 : HELPER_LOAD8);
    else
        emit(b, "%s %s %u 0", widen(p),
             bytes == 8   ? "i64.load"
             : bytes == 4 ? "i32.load"
                          : "i32.load8_u",
             p->handle);
}

/* Consumes an address and a number of 1 or 8 bytes. */
static void put_store(const MemoryOps *x, Buf *b, const Place *p, uint32_t bytes) {
    if (p->calls)
        call_helper(x, b, bytes == 8 ? HELPER_STORE64 : HELPER_STORE8);
    else
        emit(b, bytes == 8 ? "i64.store %u 0" : "i32.store8 %u 0", p->handle);
}

static void put_load_runtime(const MemoryOps *x, Buf *b, uint32_t bytes) {
    Place p = place(x, runtime);
    put_load(x, b, &p, bytes);
}

/* If the condition on the stack holds: returns, with a number if it is not negative. */
static void return_if(Buf *b, int32_t result) {
    if (result >= 0)
        emit(b, "if i32.const %d return end", result);
    else
        emit(b, "if return end");
}

/* ---- bytes ---- */

static uint32_t build_clip(MemoryOps *x, MemoryRef a) {
    enum { AT, LEN, LEFT };
    Buf b = {0};
    Place p = place(x, a);
    if (p.calls)
        call_helper(x, &b, HELPER_MEM_PAGES);
    else
        emit(&b, "memory.size %u", p.handle);
    /* LEFT: bytes from AT to the end; below zero if it is beyond */
    emit(&b,
         "%s i64.const %u i64.shl local.get %u i64.extend_i32_u i64.sub local.set %u"
         " local.get %u i32.wrap_i64 local.get %u"
         " local.get %u local.get %u i64.extend_i32_u i64.lt_u select"
         " i32.const 0 local.get %u i64.const 0 i64.gt_s select",
         p.wide ? "" : "i64.extend_i32_u", p.page_log2, AT, LEFT, LEFT, LEN, LEFT, LEN, LEFT);
    return add_func(x, "whammc.clip", 2, 0, 1, true, &b);
}

/* Leaves how many of the bytes at a local are there. */
static void put_clip(MemoryOps *x, Buf *b, MemoryRef a, uint32_t at, uint32_t len) {
    uint32_t clip = func_of(x, OP_CLIP, a, a);
    emit(b, "local.get %u local.get %u call %u", at, len, clip);
}

/* Returns unless all of the bytes are there. */
static void need_all(MemoryOps *x, Buf *b, MemoryRef a, uint32_t at, uint32_t len, int32_t result) {
    put_clip(x, b, a, at, len);
    emit(b, "local.get %u i32.ne", len);
    return_if(b, result);
}

static uint32_t build_same(MemoryOps *x, MemoryRef a) {
    enum { AT, FROM, LEN, I };
    Buf b = {0};
    Place p = place(x, a);
    emit(&b, "block loop local.get %u local.get %u i32.ge_u br_if 1", I, LEN);
    emit(&b, "local.get %u local.get %u i32.add", AT, I);
    put_load(x, &b, &p, 1);
    emit(&b, "local.get %u local.get %u i32.add", FROM, I);
    put_load_runtime(x, &b, 1);
    emit(&b, "i32.ne");
    return_if(&b, 0);
    emit(&b, "local.get %u i32.const 1 i32.add local.set %u br 0 end end i32.const 1", I, I);
    return add_func(x, "whammc.same", 3, 1, 0, true, &b);
}

enum { MOVE_FROM, MOVE_TO, MOVE_LEN, MOVE_I };

static void put_moved(MemoryOps *x, Buf *b, const Place *from, const Place *to, uint32_t i,
                      uint32_t bytes) {
    emit(b, "local.get %u local.get %u i32.add %s", MOVE_TO, i, widen(to));
    emit(b, "local.get %u local.get %u i32.add", MOVE_FROM, i);
    put_load(x, b, from, bytes);
    put_store(x, b, to, bytes);
}

/* Within one memory: from the end if the destination is after the source. */
static void move_backward(MemoryOps *x, Buf *b, const Place *p) {
    emit(b,
         "local.get %u local.get %u i32.lt_u if"
         " block loop"
         "  local.get %u i32.eqz br_if 1"
         "  local.get %u i32.const -1 i32.add local.set %u",
         MOVE_FROM, MOVE_TO, MOVE_LEN, MOVE_LEN, MOVE_LEN);
    put_moved(x, b, p, p, MOVE_LEN, 1);
    emit(b, "br 0 end end end");
}

static uint32_t build_move(MemoryOps *x, MemoryRef from, MemoryRef to) {
    static const uint32_t widths[] = {8, 1};
    Buf b = {0};
    Place source = place(x, from), target = place(x, to);
    if (source.calls && target.calls)
        move_backward(x, &b, &source);
    for (uint32_t k = 0; k < 2; k++) {
        emit(&b,
             "block loop local.get %u local.get %u i32.sub"
             " i32.const %u i32.lt_u br_if 1",
             MOVE_LEN, MOVE_I, widths[k]);
        put_moved(x, &b, &source, &target, MOVE_I, widths[k]);
        emit(&b, "local.get %u i32.const %u i32.add local.set %u br 0 end end", MOVE_I, widths[k],
             MOVE_I);
    }
    return add_func(x, "whammc.move", 3, 1, 0, false, &b);
}

/* An address: a local and a constant. */
typedef struct At {
    MemoryRef memory;
    uint32_t local, plus;
} At;

static void put_at(Buf *b, At at) {
    emit(b, "local.get %u", at.local);
    if (at.plus)
        emit(b, "i32.const %u i32.add", at.plus);
}

/* Copies as many bytes as local `len` says, which are there. */
static void put_move(MemoryOps *x, Buf *b, At from, At to, uint32_t len) {
    Place source = place(x, from.memory), target = place(x, to.memory);
    if (source.calls || target.calls) {
        uint32_t move = func_of(x, OP_MOVE, from.memory, to.memory);
        put_at(b, from);
        put_at(b, to);
        emit(b, "local.get %u call %u", len, move);
        return;
    }
    emit(b, "local.get %u if", len); /* no bytes could be beyond the end */
    put_at(b, to);
    emit(b, "%s", widen(&target));
    put_at(b, from);
    emit(b, "%s local.get %u %s memory.copy %u %u end", widen(&source), len,
         source.wide && target.wide ? "i64.extend_i32_u" : "", target.handle, source.handle);
}

/* ---- the operations of scripts ---- */

static uint32_t build_memcpy(MemoryOps *x, MemoryRef from, MemoryRef to) {
    enum { FROM, TO, LEN };
    Buf b = {0};
    need_all(x, &b, from, FROM, LEN, -1);
    need_all(x, &b, to, TO, LEN, -1);
    put_move(x, &b, (At){from, FROM, 0}, (At){to, TO, 0}, LEN);
    return add_func(x, "whammc.memcpy", 3, 0, 0, false, &b);
}

/* A str is the address of its length, the bytes after that. */
enum { STR_BYTES = 4 };

static uint32_t build_read(MemoryOps *x, MemoryRef a) {
    enum { AT, LEN, S };
    Buf b = {0};
    put_clip(x, &b, a, AT, LEN);
    emit(&b, "local.tee %u", LEN);
    call_helper(x, &b, HELPER_STR_NEW);
    emit(&b, "local.set %u", S);
    put_move(x, &b, (At){a, AT, 0}, (At){runtime, S, STR_BYTES}, LEN);
    emit(&b, "local.get %u", S);
    call_helper(x, &b, HELPER_STR_INTERN);
    return add_func(x, "whammc.read_str", 2, 1, 0, true, &b);
}

static uint32_t build_write(MemoryOps *x, MemoryRef a) {
    enum { AT, S, LEN };
    Buf b = {0};
    emit(&b, "local.get %u", S);
    put_load_runtime(x, &b, 4);
    emit(&b, "local.set %u", LEN);
    need_all(x, &b, a, AT, LEN, -1);
    put_move(x, &b, (At){runtime, S, STR_BYTES}, (At){a, AT, 0}, LEN);
    return add_func(x, "whammc.write_str", 2, 1, 0, false, &b);
}

static uint32_t build_strcmp(MemoryOps *x, MemoryRef a) {
    enum { AT, LEN, S };
    Buf b = {0};
    emit(&b, "local.get %u", S);
    put_load_runtime(x, &b, 4);
    emit(&b, "local.get %u i32.ne", LEN);
    return_if(&b, 0);
    need_all(x, &b, a, AT, LEN, 0);
    emit(&b, "local.get %u local.get %u i32.const %u i32.add local.get %u call %u", AT, S,
         STR_BYTES, LEN, func_of(x, OP_SAME, a, a));
    return add_func(x, "whammc.strcmp", 3, 0, 0, true, &b);
}

static uint32_t build_strcontains(MemoryOps *x, MemoryRef a) {
    enum { AT, LEN, S, PART, I };
    Buf b = {0};
    put_clip(x, &b, a, AT, LEN);
    emit(&b, "local.set %u local.get %u", LEN, S);
    put_load_runtime(x, &b, 4);
    emit(&b, "local.tee %u local.get %u i32.gt_u", PART, LEN);
    return_if(&b, 0);
    /* LEN: the last offset at which it can be */
    emit(&b, "local.get %u local.get %u i32.sub local.set %u loop", LEN, PART, LEN);
    emit(&b,
         "local.get %u local.get %u i32.add local.get %u i32.const %u i32.add local.get %u"
         " call %u",
         AT, I, S, STR_BYTES, PART, func_of(x, OP_SAME, a, a));
    return_if(&b, 1);
    emit(&b,
         "local.get %u i32.const 1 i32.add local.set %u"
         " local.get %u local.get %u i32.le_u br_if 0 end i32.const 0",
         I, I, I, LEN);
    return add_func(x, "whammc.strcontains", 3, 2, 0, true, &b);
}

/* Leaves the size of a memory in pages, as i32; `index`: of it. */
static void put_pages(Buf *b, const Place *p, uint32_t index) {
    emit(b, "memory.size %u %s", index, p->wide ? "i32.wrap_i64" : "");
}

static uint32_t build_size(MemoryOps *x, MemoryRef a) {
    Buf b = {0};
    Place p = place(x, a);
    if (p.calls)
        return x->at.helpers[HELPER_MEM_PAGES];
    put_pages(&b, &p, p.handle);
    return add_func(x, "whammc.mem_size", 0, 0, 0, true, &b);
}

static uint32_t build_memid(MemoryOps *x, MemoryRef a) {
    Buf b = {0};
    emit(&b, "i32.const %u", number_of(x, a));
    return add_func(x, "whammc.memid", 0, 0, 0, true, &b);
}

/* ---- memories by number ---- */

/* If argument `local` is the number of a memory: */
static void open_case(const MemoryOps *x, Buf *b, uint32_t local, MemoryRef r) {
    emit(b, "local.get %u i32.const %u i32.eq if", local, number_of(x, r));
}

/* What is static where the memory is known. */
static bool static_value(const MemoryOps *x, uint32_t fn, MemoryRef r, uint64_t *v) {
    switch (r.kind) {
    case MEMORY_PROGRAM: return memory_value((FnId)fn, x->m, r.n, v);
    case MEMORY_LIBRARY: {
        const Library *l = x->plan->libraries->list.at[r.n];
        return memory_value((FnId)fn, &l->module, library_memory(l)->handle, v);
    }
    default: *v = 65536; return fn == FN_PAGE_SIZE;
    }
}

/* One memory, argument 0; `n` arguments follow. */
static uint32_t build_by_number(MemoryOps *x, uint32_t op, uint32_t n, bool result) {
    Buf b = {0};
    bool is_static = op == FN_PAGE_SIZE || op == FN_ACTIVE_DATA_START || op == FN_ACTIVE_DATA_LEN;
    for (uint32_t i = 0; i < x->numbered.len; i++) {
        MemoryRef r = x->numbered.at[i];
        uint64_t v;
        if (is_static && !static_value(x, op, r, &v))
            continue;
        open_case(x, &b, 0, r);
        for (uint32_t k = 1; k <= n; k++)
            emit(&b, "local.get %u", k);
        if (is_static)
            emit(&b, "i32.const %u", (uint32_t)v);
        else
            emit(&b, "call %u", func_of(x, op, r, r));
        emit(&b, "return end");
    }
    emit(&b, "unreachable");
    return add_func(x, "whammc.memory", n + 1, 0, 0, result, &b);
}

static uint32_t build_memcpy_by_number(MemoryOps *x) {
    enum { A, FROM, B, TO, LEN };
    Buf b = {0};
    for (uint32_t i = 0; i < x->numbered.len; i++) {
        open_case(x, &b, A, x->numbered.at[i]);
        for (uint32_t k = 0; k < x->numbered.len; k++) {
            open_case(x, &b, B, x->numbered.at[k]);
            emit(&b, "local.get %u local.get %u local.get %u call %u return end", FROM, TO, LEN,
                 func_of(x, FN_MEMCPY, x->numbered.at[i], x->numbered.at[k]));
        }
        emit(&b, "end");
    }
    emit(&b, "unreachable");
    return add_func(x, "whammc.memory", 5, 0, 0, false, &b);
}

/* ---- */

static uint32_t build(MemoryOps *x, uint32_t op, MemoryRef a, MemoryRef b) {
    bool by_number = a.kind == MEMORY_BY_NUMBER;
    switch (op) {
    case FN_ACTIVE_DATA_START:
    case FN_ACTIVE_DATA_LEN:
    case FN_PAGE_SIZE: return build_by_number(x, op, 0, true);
    case FN_MEM_SIZE: return by_number ? build_by_number(x, op, 0, true) : build_size(x, a);
    case FN_MEMCPY: return by_number ? build_memcpy_by_number(x) : build_memcpy(x, a, b);
    case FN_READ_STR: return by_number ? build_by_number(x, op, 2, true) : build_read(x, a);
    case FN_WRITE_STR: return by_number ? build_by_number(x, op, 2, false) : build_write(x, a);
    case FN_STRCMP: return build_strcmp(x, a);
    case FN_STRCONTAINS: return build_strcontains(x, a);
    case OP_CLIP: return build_clip(x, a);
    case OP_SAME: return build_same(x, a);
    case OP_MOVE: return build_move(x, a, b);
    default: assert(op == FN_MEMID); return build_memid(x, a);
    }
}

static uint32_t func_of(MemoryOps *x, uint32_t op, MemoryRef a, MemoryRef b) {
    uint32_t id = add_op(x, op, a, b);
    if (x->list.at[id].func == UINT32_MAX) {
        uint32_t func = build(x, op, a, b);
        x->list.at[id].func = func;
    }
    return x->list.at[id].func;
}

/* Its code is one instruction where the memory is known. */
static bool is_direct(const MemoryOps *x, const MemoryOp *o) {
    bool instruction =
        o->op == FN_MEMID ||
        (o->op == FN_MEM_SIZE && o->a.kind != MEMORY_BY_NUMBER && !place(x, o->a).calls);
    return instruction && !x->monitor;
}

void memory_add(MemoryOps *x, const MemoryPlaces *at) {
    uint32_t n = x->list.len;
    x->at = *at;
    list_numbered(x);
    for (uint32_t i = 0; i < n; i++) {
        MemoryOp o = x->list.at[i];
        if (!is_direct(x, &o))
            func_of(x, o.op, o.a, o.b);
    }
}

/* What a call is at a site, as it was noted. */
static const MemoryOp *operation(const MemoryOps *x, uint32_t call, const Site *site) {
    const MemoryCall *c = &x->plan->memory_calls.at[call];
    MemoryRef of[2];
    memories_of(x, c, site, of);
    return &x->list.at[find_op(x, c->fn, of[0], of[1])];
}

uint32_t memory_function(const MemoryOps *x, uint32_t call, const Site *site) {
    return operation(x, call, site)->func;
}

void memory_put_call(const MemoryOps *x, uint32_t call, const Site *site, Buf *out) {
    const MemoryOp *o = operation(x, call, site);
    if (o->op == FN_MEMID) {
        emit(out, "i32.const %u", number_of(x, o->a));
    } else if (is_direct(x, o)) {
        Place p = place(x, o->a);
        put_pages(out, &p, wasm_final(x->m, WASM_SPACE_MEMORY, p.handle));
    } else {
        emit(out, "call %u", wasm_final(x->m, WASM_SPACE_FUNC, o->func));
    }
}
