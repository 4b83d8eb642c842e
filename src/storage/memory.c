/*
 * storage/memory.c - functions for memory operations of scripts.
 *
 * The functions, with i32 parameters and, unless noted, results; A and B are memories, s is a str
 * (an address in the runtime's memory):
 *
 *   clip A       (at, len) -> how many of these bytes exist
 *   same A       (at, from, len) -> whether the bytes equal those in the runtime's memory
 *   move A B     (from, to, len) copies bytes that exist; a loop where the runtime's memory is
 *                reached by calls, else memory.copy is used instead
 *
 *   mem_size A   () -> pages
 *   memcpy A B   (from, to, len)
 *   read_u8 A ...  (at) -> the number, possibly an i64; 0 if it is not all in bounds
 *   read_str A   (at, len) -> s
 *   write_str A  (at, s)
 *   strcmp A     (at, len, s) -> bool
 *   strcontains  likewise
 *
 * Where memories are known by number only, each number is one more argument, before the address;
 * the function dispatches on it, or traps.
 */
#include "storage/memory.h"

#include "gen/template.h"
#include "library/builtin.h"
#include "wasm/emit.h"

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

/* The format of the number that read_u8 or the like reads. */
typedef struct Number {
    uint32_t bytes;
    bool is_signed;
    bool is_float;
} Number;

static bool reads_number(uint32_t op, Number *out) {
    if (op < FN_READ_U8 || op > FN_READ_F64)
        return false;
    uint32_t k = op - FN_READ_U8;
    bool is_float = op >= FN_READ_F32;
    *out = is_float ? (Number){op == FN_READ_F32 ? 4 : 8, false, true}
                    : (Number){1u << k / 2, k % 2, false};
    return true;
}

/* ---- the list of operations ---- */

static uint32_t memory_find_op(const MemoryOps *x, uint32_t op, MemoryRef a, MemoryRef b) {
    uint32_t key[] = {op, a.kind, a.n, b.kind, b.n};
    uint64_t *id = map_get(&x->ids, (Str){(const char *)key, sizeof key});
    return id ? (uint32_t)*id : UINT32_MAX;
}

/* Returns the index of an operation in the list, to which it is added if new. */
static uint32_t add_op(MemoryOps *x, uint32_t op, MemoryRef a, MemoryRef b) {
    uint32_t key[] = {op, a.kind, a.n, b.kind, b.n};
    bool added;
    uint64_t *id = map_put(&x->ids, (Str){(const char *)key, sizeof key}, x->list.len, &added);
    uint32_t result = (uint32_t)*id;
    if (added)
        vec_push(&x->list, ((MemoryOp){op, a, b, UINT32_MAX}));
    return result;
}

/* Resolves the number after the program's memories to the runtime's memory, if there is one:
 * scripts use it for addresses from addr() of a str. In a monitor, with none before it, it is 0.
 */
static MemoryRef memory_resolve(const MemoryOps *x, MemoryRef r) {
    bool after_last = r.kind == MEMORY_PROGRAM && r.n == x->m->input_count[WASM_SPACE_MEMORY];
    return after_last && (x->plan->asks.values || x->monitor) ? (MemoryRef){MEMORY_RUNTIME, 0} : r;
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
    of[0] = memory_resolve(x, of[0]);
    of[1] = c->fn == FN_MEMCPY ? memory_resolve(x, of[1]) : of[0];
}

/* Whether a memory of the program exists. Memories of libraries were checked before. */
static bool storage_memory_exists(const MemoryOps *x, MemoryRef r) {
    return r.kind != MEMORY_PROGRAM || r.n < x->m->input_count[WASM_SPACE_MEMORY];
}

static bool storage_memory_note_call(MemoryOps *x, const MemoryCall *c, const Site *site,
                                     Diags *diags) {
    MemoryRef of[2];
    bool first;
    memories_of(x, c, site, of);
    bool many = c->by_number && x->m->input_count[WASM_SPACE_MEMORY] > MAX_NUMBERED;
    if (!many && storage_memory_exists(x, of[0]) && storage_memory_exists(x, of[1])) {
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
    MemoryRef r = memory_resolve(x, builtin_memory(x->plan->libraries, memory, site));
    return storage_memory_exists(x, r) && !(imported && r.kind == MEMORY_RUNTIME);
}

bool memory_note_call(MemoryOps *x, const Site *site, uint32_t call, Diags *diags) {
    assert(call < x->plan->memory_calls.len);
    return storage_memory_note_call(x, &x->plan->memory_calls.at[call], site, diags);
}

bool memory_note(MemoryOps *x, const Site *site, const Variant *v, Diags *diags) {
    bool ok = true;
    for (uint32_t i = 0; i < v->calls.memory.len; i++)
        ok &= memory_note_call(x, site, v->calls.memory.at[i], diags);
    return ok;
}

bool memory_uses_library(const MemoryOps *x, uint32_t library) {
    assert(library < x->plan->libraries->list.len);
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
        used[HELPER_STR_NEW] |= o->op == FN_READ_STR || o->op == FN_READ_CSTR;
        used[HELPER_STR_INTERN] |= o->op == FN_READ_STR || o->op == FN_READ_CSTR;
        bool text = o->op >= FN_READ_STR && o->op <= FN_STRCONTAINS;
        Number number;
        text |= reads_number(o->op, &number);
        bool runtime = o->a.kind >= MEMORY_RUNTIME || o->b.kind >= MEMORY_RUNTIME;
        for (uint32_t k = 0; k < 6 && imported && x->plan->asks.values && (text || runtime); k++)
            used[access[k]] = true;
    }
}

static const MemoryRef runtime = {MEMORY_RUNTIME, 0};

/* Memories that a number can denote: the program's, and those for which the script calls memid. */
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

static Place memory_place(const MemoryOps *x, MemoryRef r) {
    if (r.kind == MEMORY_RUNTIME && x->at.runtime < 0)
        return (Place){.calls = true, .page_log2 = 16};
    uint32_t handle = r.kind == MEMORY_RUNTIME   ? (uint32_t)x->at.runtime
                      : r.kind == MEMORY_LIBRARY ? x->plan->libraries->list.at[r.n]->memory
                                                 : r.n;
    const WasmLimits *limits = &x->m->memories.at[handle].limits;
    return (Place){false, handle, limits->is64, limits->page_log2};
}

uint32_t memory_handle(const MemoryOps *x, const Expr *memory, const Site *site) {
    return memory_place(x, memory_resolve(x, builtin_memory(x->plan->libraries, memory, site)))
        .handle;
}

static uint32_t memory_number_of(const MemoryOps *x, MemoryRef r) {
    Place p = memory_place(x, r);
    return p.calls ? x->m->memories.len : p.handle;
}

/* ---- code in pieces; indices are handles ---- */

static uint32_t func_of(MemoryOps *x, uint32_t op, MemoryRef a, MemoryRef b);

/* The instruction that converts an i32 to an address, or none. */
static const char *widen(const Place *p) {
    return emit_resized(WASM_I32, p->wide ? WASM_I64 : WASM_I32);
}

/* Code that replaces an address, an i32, by the number of 1, 4 or 8 bytes there. */
static const char *memory_load(const MemoryOps *x, const Place *p, uint32_t bytes) {
    Helper helper = bytes == 8 ? HELPER_LOAD64 : bytes == 4 ? HELPER_LOAD32 : HELPER_LOAD8;
    if (p->calls)
        return arena_printf(&x->m->arena, "call %u", x->at.helpers[helper]);
    return arena_printf(&x->m->arena, "%s %s %u 0", widen(p),
                        bytes == 8   ? "i64.load"
                        : bytes == 4 ? "i32.load"
                                     : "i32.load8_u",
                        p->handle);
}

static const char *load_runtime(const MemoryOps *x, uint32_t bytes) {
    Place p = memory_place(x, runtime);
    return memory_load(x, &p, bytes);
}

/* Consumes an address and a number of 1 or 8 bytes. */
static const char *memory_store(const MemoryOps *x, const Place *p, uint32_t bytes) {
    if (p->calls)
        return arena_printf(&x->m->arena, "call %u",
                            x->at.helpers[bytes == 8 ? HELPER_STORE64 : HELPER_STORE8]);
    return arena_printf(&x->m->arena, "%s %u 0", bytes == 8 ? "i64.store" : "i32.store8",
                        p->handle);
}

/* Code that replaces an address, an i32, by the number there: an i64 of 8 bytes, else an i32. */
static const char *load_number(const MemoryOps *x, const Place *p, Number n) {
    uint32_t unused = 32 - 8 * n.bytes;
    if (!p->calls)
        return arena_printf(&x->m->arena, "%s %s%s %u 0", widen(p),
                            n.bytes == 8   ? "i64.load"
                            : n.bytes == 4 ? "i32.load"
                            : n.bytes == 2 ? "i32.load16"
                                           : "i32.load8",
                            n.bytes > 2   ? ""
                            : n.is_signed ? "_s"
                                          : "_u",
                            p->handle);
    const char *raw = memory_load(x, p, n.bytes == 2 ? 1 : n.bytes);
    if (n.bytes == 2)
        raw = arena_printf(&x->m->arena,
                           "%s local.get $at i32.const 1 i32.add %s i32.const 8 i32.shl i32.or",
                           raw, raw);
    if (n.bytes > 2 || !n.is_signed)
        return raw;
    return arena_printf(&x->m->arena, "%s i32.const %u i32.shl i32.const %u i32.shr_s", raw, unused,
                        unused);
}

/* ---- bytes ---- */

static uint32_t build_clip(MemoryOps *x, MemoryRef a) {
    Place p = memory_place(x, a);
    const char *pages = p.calls ? "call" : "memory.size";
    return emit_function(x->m, "whammc.clip",
                         "param $at i32 $len i32 result i32 local $left i64"
                         /* left: bytes from `at` to the end; below zero if it is beyond */
                         " %s %u %s i64.const %u i64.shl"
                         " local.get $at i64.extend_i32_u i64.sub local.set $left"
                         " local.get $left i32.wrap_i64 local.get $len"
                         " local.get $left local.get $len i64.extend_i32_u i64.lt_u select"
                         " i32.const 0 local.get $left i64.const 0 i64.gt_s select",
                         pages, p.calls ? x->at.helpers[HELPER_MEM_PAGES] : p.handle,
                         p.wide ? "" : "i64.extend_i32_u", p.page_log2);
}

static uint32_t build_same(MemoryOps *x, MemoryRef a) {
    Place p = memory_place(x, a);
    return emit_function(x->m, "whammc.same",
                         "param $at i32 $from i32 $len i32 result i32 local $i i32"
                         " block loop"
                         "   local.get $i local.get $len i32.ge_u br_if 1"
                         "   local.get $at local.get $i i32.add %s"
                         "   local.get $from local.get $i i32.add %s"
                         "   i32.ne if i32.const 0 return end"
                         "   local.get $i i32.const 1 i32.add local.set $i br 0"
                         " end end"
                         " i32.const 1",
                         memory_load(x, &p, 1), load_runtime(x, 1));
}

/* to[index] = from[index], this many bytes; index: a local */
static const char *memory_moved(const MemoryOps *x, const Place *from, const Place *to,
                                const char *index, uint32_t bytes) {
    return arena_printf(&x->m->arena,
                        "local.get $to local.get %s i32.add %s"
                        " local.get $from local.get %s i32.add %s %s",
                        index, widen(to), index, memory_load(x, from, bytes),
                        memory_store(x, to, bytes));
}

/* Within one memory: from the end if the destination is after the source. */
static const char *backward(const MemoryOps *x, const Place *p) {
    return arena_printf(&x->m->arena,
                        "local.get $from local.get $to i32.lt_u if"
                        " block loop"
                        "   local.get $len i32.eqz br_if 1"
                        "   local.get $len i32.const -1 i32.add local.set $len"
                        "   %s br 0"
                        " end end end",
                        memory_moved(x, p, p, "$len", 1));
}

/* While this many bytes are left. */
static const char *forward(const MemoryOps *x, const Place *from, const Place *to, uint32_t bytes) {
    return arena_printf(&x->m->arena,
                        "block loop"
                        "   local.get $len local.get $i i32.sub i32.const %u i32.lt_u br_if 1"
                        "   %s"
                        "   local.get $i i32.const %u i32.add local.set $i br 0"
                        " end end",
                        bytes, memory_moved(x, from, to, "$i", bytes), bytes);
}

static uint32_t build_move(MemoryOps *x, MemoryRef from, MemoryRef to) {
    Place source = memory_place(x, from), target = memory_place(x, to);
    return emit_function(x->m, "whammc.move",
                         "param $from i32 $to i32 $len i32 local $i i32 %s %s %s",
                         source.calls && target.calls ? backward(x, &source) : "",
                         forward(x, &source, &target, 8), forward(x, &source, &target, 1));
}

/* Where bytes are: a memory, and code that pushes the address. */
typedef struct At {
    MemoryRef memory;
    const char *address;
} At;

/* Copies $len bytes (a local), which all exist. */
static const char *memory_move(MemoryOps *x, At from, At to) {
    Place source = memory_place(x, from.memory), target = memory_place(x, to.memory);
    if (source.calls || target.calls)
        return arena_printf(&x->m->arena, "%s %s local.get $len call %u", from.address, to.address,
                            func_of(x, OP_MOVE, from.memory, to.memory));
    return arena_printf(&x->m->arena,
                        "local.get $len if" /* without bytes the address may be beyond the end */
                        " %s %s %s %s local.get $len %s memory.copy %u %u end",
                        to.address, widen(&target), from.address, widen(&source),
                        source.wide && target.wide ? "i64.extend_i32_u" : "", target.handle,
                        source.handle);
}

/* ---- the operations of scripts ---- */

static const char *read_result(Number n) {
    return n.is_float ? n.bytes == 8 ? "f64" : "f32" : n.bytes == 8 ? "i64" : "i32";
}

static uint32_t build_number(MemoryOps *x, MemoryRef a, Number n) {
    Place p = memory_place(x, a);
    const char *type = read_result(n);
    const char *bits = !n.is_float    ? ""
                       : n.bytes == 8 ? "f64.reinterpret_i64"
                                      : "f32.reinterpret_i32";
    return emit_function(x->m, "whammc.read",
                         "param $at i32 result %s"
                         " %s %u %s i64.const %u i64.shl"
                         " local.get $at i64.extend_i32_u i64.const %u i64.add i64.lt_u"
                         " if %s.const 0 return end"
                         " local.get $at %s %s",
                         type, p.calls ? "call" : "memory.size",
                         p.calls ? x->at.helpers[HELPER_MEM_PAGES] : p.handle,
                         p.wide ? "" : "i64.extend_i32_u", p.page_log2, n.bytes, type,
                         load_number(x, &p, n), bits);
}

static uint32_t build_memcpy(MemoryOps *x, MemoryRef from, MemoryRef to) {
    uint32_t clip_from = func_of(x, OP_CLIP, from, from), clip_to = func_of(x, OP_CLIP, to, to);
    return emit_function(
        x->m, "whammc.memcpy",
        "param $from i32 $to i32 $len i32"
        " local.get $from local.get $len call %u local.get $len i32.ne if return end"
        " local.get $to local.get $len call %u local.get $len i32.ne if return end"
        " %s",
        clip_from, clip_to,
        memory_move(x, (At){from, "local.get $from"}, (At){to, "local.get $to"}));
}

/* A str is the address of its length, the bytes after that. */
static const At str_bytes = {{MEMORY_RUNTIME, 0}, "local.get $s i32.const 4 i32.add"};

static uint32_t build_read(MemoryOps *x, MemoryRef a) {
    uint32_t clip = func_of(x, OP_CLIP, a, a);
    return emit_function(x->m, "whammc.read_str",
                         "param $at i32 $len i32 result i32 local $s i32"
                         " local.get $at local.get $len call %u local.tee $len"
                         " call %u local.set $s"
                         " %s"
                         " local.get $s call %u",
                         clip, x->at.helpers[HELPER_STR_NEW],
                         memory_move(x, (At){a, "local.get $at"}, str_bytes),
                         x->at.helpers[HELPER_STR_INTERN]);
}

/* As long as the text is, that much of it is read. */
static uint32_t build_read_text(MemoryOps *x, MemoryRef a) {
    uint32_t clip = func_of(x, OP_CLIP, a, a), read = func_of(x, FN_READ_STR, a, a);
    Place p = memory_place(x, a);
    return emit_function(x->m, "whammc.read_cstr",
                         "param $at i32 $len i32 result i32 local $i i32"
                         " local.get $at local.get $len call %u local.set $len"
                         " block loop"
                         "   local.get $i local.get $len i32.ge_u br_if 1"
                         "   local.get $at local.get $i i32.add %s i32.eqz br_if 1"
                         "   local.get $i i32.const 1 i32.add local.set $i br 0"
                         " end end"
                         " local.get $at local.get $i call %u",
                         clip, memory_load(x, &p, 1), read);
}

static uint32_t build_write(MemoryOps *x, MemoryRef a) {
    uint32_t clip = func_of(x, OP_CLIP, a, a);
    return emit_function(x->m, "whammc.write_str",
                         "param $at i32 $s i32 local $len i32"
                         " local.get $s %s local.set $len"
                         " local.get $at local.get $len call %u local.get $len i32.ne if return end"
                         " %s",
                         load_runtime(x, 4), clip,
                         memory_move(x, str_bytes, (At){a, "local.get $at"}));
}

static uint32_t build_strcmp(MemoryOps *x, MemoryRef a) {
    uint32_t clip = func_of(x, OP_CLIP, a, a), same = func_of(x, OP_SAME, a, a);
    return emit_function(
        x->m, "whammc.strcmp",
        "param $at i32 $len i32 $s i32 result i32"
        " local.get $s %s local.get $len i32.ne if i32.const 0 return end"
        " local.get $at local.get $len call %u local.get $len i32.ne if i32.const 0 return end"
        " local.get $at %s local.get $len call %u",
        load_runtime(x, 4), clip, str_bytes.address, same);
}

static uint32_t build_strcontains(MemoryOps *x, MemoryRef a) {
    uint32_t clip = func_of(x, OP_CLIP, a, a), same = func_of(x, OP_SAME, a, a);
    return emit_function(
        x->m, "whammc.strcontains",
        "param $at i32 $len i32 $s i32 result i32 local $part i32 $i i32"
        " local.get $at local.get $len call %u local.set $len"
        " local.get $s %s local.tee $part local.get $len i32.gt_u if i32.const 0 return end"
        /* len: the last offset at which it can be */
        " local.get $len local.get $part i32.sub local.set $len"
        " loop"
        "   local.get $at local.get $i i32.add %s local.get $part call %u"
        "   if i32.const 1 return end"
        "   local.get $i i32.const 1 i32.add local.set $i"
        "   local.get $i local.get $len i32.le_u br_if 0"
        " end"
        " i32.const 0",
        clip, load_runtime(x, 4), str_bytes.address, same);
}

/* The instruction that converts the size of a memory in pages to an i32, or none. */
static const char *memory_narrow(const Place *p) {
    return emit_resized(p->wide ? WASM_I64 : WASM_I32, WASM_I32);
}

static uint32_t build_size(MemoryOps *x, MemoryRef a) {
    Place p = memory_place(x, a);
    if (p.calls)
        return x->at.helpers[HELPER_MEM_PAGES];
    return emit_function(x->m, "whammc.mem_size", "result i32 memory.size %u %s", p.handle,
                         memory_narrow(&p));
}

static uint32_t build_memid(MemoryOps *x, MemoryRef a) {
    return emit_function(x->m, "whammc.memid", "result i32 i32.const %u", memory_number_of(x, a));
}

/* ---- memories by number ---- */

/* The value of a function that is static if the memory is known. */
static bool memory_static_value(const MemoryOps *x, uint32_t fn, MemoryRef r, uint64_t *v) {
    switch (r.kind) {
    case MEMORY_PROGRAM: return memory_value((FnId)fn, x->m, r.n, v);
    case MEMORY_LIBRARY: {
        const Library *l = x->plan->libraries->list.at[r.n];
        return memory_value((FnId)fn, &l->module, library_memory(l)->handle, v);
    }
    default: *v = 65536; return fn == FN_PAGE_SIZE;
    }
}

/* For functions of one memory, argument 0; `more` arguments follow. */
static uint32_t build_by_number(MemoryOps *x, uint32_t op, uint32_t more, const char *result) {
    static const char *const params[] = {"", "i32", "i32 i32"};
    static const char *const args[] = {"", "local.get 1", "local.get 1 local.get 2"};
    assert(more < 3);
    Buf cases = {0};
    bool is_static = op == FN_PAGE_SIZE || op == FN_ACTIVE_DATA_START || op == FN_ACTIVE_DATA_LEN;
    for (uint32_t i = 0; i < x->numbered.len; i++) {
        MemoryRef r = x->numbered.at[i];
        uint64_t v;
        if (is_static && !memory_static_value(x, op, r, &v))
            continue;
        emit(&cases, "local.get 0 i32.const %u i32.eq if %s %s %u return end",
             memory_number_of(x, r), args[more], is_static ? "i32.const" : "call",
             is_static ? (uint32_t)v : func_of(x, op, r, r));
    }
    uint32_t func = emit_function(x->m, "whammc.memory", "param i32 %s %s %p unreachable",
                                  params[more], result, &cases);
    buf_free(&cases);
    return func;
}

static uint32_t build_memcpy_by_number(MemoryOps *x) {
    Buf sources = {0}, targets = {0};
    for (uint32_t i = 0; i < x->numbered.len; i++) {
        targets.len = 0;
        for (uint32_t k = 0; k < x->numbered.len; k++)
            emit(&targets,
                 "$a $from $b $to $len local.get $b i32.const %u i32.eq"
                 " if local.get $from local.get $to local.get $len call %u return end",
                 memory_number_of(x, x->numbered.at[k]),
                 func_of(x, FN_MEMCPY, x->numbered.at[i], x->numbered.at[k]));
        emit(&sources, "local.get 0 i32.const %u i32.eq if %p end",
             memory_number_of(x, x->numbered.at[i]), &targets);
    }
    uint32_t func =
        emit_function(x->m, "whammc.memory", "param i32 i32 i32 i32 i32 %p unreachable", &sources);
    buf_free(&sources);
    buf_free(&targets);
    return func;
}

/* ---- */

static uint32_t memory_build(MemoryOps *x, uint32_t op, MemoryRef a, MemoryRef b) {
    bool by_number = a.kind == MEMORY_BY_NUMBER;
    const char *i32 = "result i32";
    Number n;
    if (reads_number(op, &n))
        return by_number ? build_by_number(x, op, 1,
                                           arena_printf(&x->m->arena, "result %s", read_result(n)))
                         : build_number(x, a, n);
    switch (op) {
    case FN_ACTIVE_DATA_START:
    case FN_ACTIVE_DATA_LEN:
    case FN_PAGE_SIZE: return build_by_number(x, op, 0, i32);
    case FN_MEM_SIZE: return by_number ? build_by_number(x, op, 0, i32) : build_size(x, a);
    case FN_MEMCPY: return by_number ? build_memcpy_by_number(x) : build_memcpy(x, a, b);
    case FN_READ_STR: return by_number ? build_by_number(x, op, 2, i32) : build_read(x, a);
    case FN_READ_CSTR: return by_number ? build_by_number(x, op, 2, i32) : build_read_text(x, a);
    case FN_WRITE_STR: return by_number ? build_by_number(x, op, 2, "") : build_write(x, a);
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
        uint32_t func = memory_build(x, op, a, b);
        x->list.at[id].func = func;
    }
    return x->list.at[id].func;
}

/* Its code is one instruction where the memory is known. */
static bool memory_is_direct(const MemoryOps *x, const MemoryOp *o) {
    bool instruction =
        o->op == FN_MEMID ||
        (o->op == FN_MEM_SIZE && o->a.kind != MEMORY_BY_NUMBER && !memory_place(x, o->a).calls);
    return instruction && !x->monitor;
}

void memory_add(MemoryOps *x, const MemoryPlaces *at) {
    uint32_t n = x->list.len;
    x->at = *at;
    list_numbered(x);
    for (uint32_t i = 0; i < n; i++) {
        MemoryOp o = x->list.at[i];
        if (!memory_is_direct(x, &o))
            func_of(x, o.op, o.a, o.b);
    }
}

/* The operation of a call at a site, as it was noted. */
static const MemoryOp *operation(const MemoryOps *x, uint32_t call, const Site *site) {
    const MemoryCall *c = &x->plan->memory_calls.at[call];
    MemoryRef of[2];
    memories_of(x, c, site, of);
    return &x->list.at[memory_find_op(x, c->fn, of[0], of[1])];
}

uint32_t memory_function(const MemoryOps *x, uint32_t call, const Site *site) {
    return operation(x, call, site)->func;
}

void memory_put_call(const MemoryOps *x, uint32_t call, const Site *site, Buf *out) {
    assert(call < x->plan->memory_calls.len);
    const MemoryOp *o = operation(x, call, site);
    if (o->op == FN_MEMID) {
        emit(out, "i32.const %u", memory_number_of(x, o->a));
    } else if (memory_is_direct(x, o)) {
        Place p = memory_place(x, o->a);
        emit(out, "memory.size %u %s", wasm_final(x->m, WASM_SPACE_MEMORY, p.handle),
             memory_narrow(&p));
    } else {
        emit(out, "call %u", wasm_final(x->m, WASM_SPACE_FUNC, o->func));
    }
}
