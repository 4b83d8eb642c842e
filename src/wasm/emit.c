/*
 * wasm/emit.c - instructions from their text.
 */
#include "wasm/emit.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <threads.h>

/* ---- mnemonics ---- */

enum { SLOTS = 2048 }; /* a power of two, several times the number of instructions */

/* WasmOp + 1 by the hash of its mnemonic, or in one of the slots after; 0 = empty. */
static uint16_t slots[SLOTS];
static once_flag filled = ONCE_FLAG_INIT;

static uint32_t hash(const char *s, size_t n) {
    uint32_t h = 2166136261u; /* FNV-1a */
    for (size_t i = 0; i < n; i++)
        h = (h ^ (uint8_t)s[i]) * 16777619u;
    return h & (SLOTS - 1);
}

static void emit_fill(void) {
    for (uint32_t op = 0; op < WASM_OP_COUNT; op++) {
        const char *name = wasm_ops[op].mnemonic;
        uint32_t at = hash(name, strlen(name));
        while (slots[at])
            at = (at + 1) & (SLOTS - 1);
        slots[at] = (uint16_t)(op + 1);
    }
}

static WasmOp emit_find_op(const char *s, size_t n) {
    call_once(&filled, emit_fill);
    uint32_t at = hash(s, n);
    for (; slots[at]; at = (at + 1) & (SLOTS - 1)) {
        const char *name = wasm_ops[slots[at] - 1].mnemonic;
        if (strncmp(name, s, n) == 0 && !name[n])
            return (WasmOp)(slots[at] - 1);
    }
    assert(!"a mnemonic");
    return WASM_OP_UNREACHABLE;
}

/* ---- words ---- */

enum { MAX_NAMES = 24, MAX_TYPES = 16 };

typedef struct Name {
    const char *at; /* after its $ */
    size_t len;
    uint64_t value;
} Name;

typedef struct Emit {
    Buf *out;
    const char *at;    /* the next word, or the white space before it */
    const char *after; /* the rest after a %s, while inside its text; else NULL */
    va_list ap;
    uint32_t nnames;
    Name names[MAX_NAMES];
} Emit;

static void emit_begin(Emit *e, Buf *out, const char *code) {
    e->out = out;
    e->at = code;
    e->after = NULL;
    e->nnames = 0;
}

static bool emit_is_blank(char c) {
    return c == ' ' || c == '\n';
}

/* Words are so short that strcspn would take longer. */
static size_t word_length(const char *at) {
    size_t n = 0;
    while (at[n] && !emit_is_blank(at[n]))
        n++;
    return n;
}

/* Moves to the next word, which may be in a %s; its length, 0 at the end. */
static size_t emit_next_word(Emit *e) {
    for (;;) {
        while (emit_is_blank(*e->at))
            e->at++;
        size_t n = word_length(e->at);
        if (n == 2 && memcmp(e->at, "%s", 2) == 0) {
            assert(!e->after);
            e->after = e->at + 2;
            e->at = va_arg(e->ap, const char *);
        } else if (n == 0 && e->after) {
            e->at = e->after;
            e->after = NULL;
        } else {
            return n;
        }
    }
}

static bool take_word(Emit *e, const char *word) {
    size_t n = emit_next_word(e);
    bool is = n == strlen(word) && memcmp(e->at, word, n) == 0;
    e->at += is ? n : 0;
    return is;
}

/* The value of a name. */
static uint64_t emit_named(const Emit *e, const char *name, size_t n) {
    for (uint32_t i = 0; i < e->nnames; i++)
        if (e->names[i].len == n && memcmp(e->names[i].at, name, n) == 0)
            return e->names[i].value;
    assert(!"a name");
    return 0;
}

/* A number, or a name for one. */
static uint64_t emit_number(Emit *e) {
    size_t n = emit_next_word(e);
    const char *word = e->at;
    e->at += n;
    if (*word == '$')
        return emit_named(e, word + 1, n - 1);
    if (*word != '%') {
        assert(n && strspn(word, "-0123456789") == n);
        return (uint64_t)strtoll(word, NULL, 10);
    }
    if (word[1] == 'u')
        return va_arg(e->ap, unsigned);
    if (word[1] == 'd')
        return (uint64_t)(int64_t)va_arg(e->ap, int);
    assert(word[1] == 'l');
    return word[2] == 'l' ? va_arg(e->ap, unsigned long long) : va_arg(e->ap, unsigned long);
}

/* Reads a name at the beginning, if there is one: its number, or `local`, one more than the last
 * local, which it then names. */
static bool take_name(Emit *e, uint32_t *local) {
    if (emit_next_word(e) == 0 || *e->at != '$')
        return false;
    assert(e->nnames < MAX_NAMES);
    Name *name = &e->names[e->nnames++];
    name->at = e->at + 1;
    name->len = strcspn(name->at, "= \n");
    e->at = name->at + name->len;
    if (*e->at == '=') {
        e->at++;
        name->value = emit_number(e);
    } else {
        name->value = (*local)++;
    }
    return true;
}

/* A type by its name, or %u. */
static bool take_type(Emit *e, WasmType *type) {
    static const struct {
        const char *name;
        WasmType type;
    } types[] = {{"i32", WASM_I32},
                 {"i64", WASM_I64},
                 {"f32", WASM_F32},
                 {"f64", WASM_F64},
                 {"funcref", WASM_FUNCREF}};
    if (take_word(e, "%u")) {
        *type = va_arg(e->ap, WasmType);
        return true;
    }
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (take_word(e, types[i].name)) {
            *type = types[i].type;
            return true;
        }
    }
    return false;
}

static void emit_put_number(Emit *e) {
    buf_uleb(e->out, emit_number(e));
}

/* A result of a construct, if one is given. */
static void put_block_type(Emit *e) {
    WasmType type = WASM_NONE;
    take_type(e, &type);
    wasm_put_type(e->out, type);
}

/* A memory, an offset, and maybe align=N. */
static void emit_put_access(Emit *e) {
    uint64_t memory = emit_number(e), offset = emit_number(e), align = 1;
    uint32_t log2 = 0;
    emit_next_word(e);
    if (strncmp(e->at, "align=", 6) == 0) {
        e->at += 6;
        align = emit_number(e);
    }
    while (1u << log2 < align)
        log2++;
    emit_memarg(e->out, log2, memory, offset);
}

/* The heap type of a reference type: of `func`, or of %u. */
static void emit_put_heap(Emit *e) {
    WasmType type = WASM_FUNCREF;
    bool known = take_word(e, "func") || take_type(e, &type);
    assert(known);
    (void)known;
    wasm_put_heap(e->out, type);
}

static void put_immediates(Emit *e, WasmImm imm) {
    switch (imm) {
    case WASM_IMM_NONE: break;
    case WASM_IMM_BLOCK: put_block_type(e); break;
    case WASM_IMM_I32: buf_sleb(e->out, (int32_t)(uint32_t)emit_number(e)); break;
    case WASM_IMM_I64: buf_sleb(e->out, (int64_t)emit_number(e)); break;
    case WASM_IMM_F32: buf_u32le(e->out, (uint32_t)emit_number(e)); break;
    case WASM_IMM_F64: buf_u64le(e->out, emit_number(e)); break;
    case WASM_IMM_MEMARG: emit_put_access(e); break;
    case WASM_IMM_HEAP: emit_put_heap(e); break;
    default:
        assert(wasm_imm_indices(imm));
        for (uint32_t i = 0; i < wasm_imm_indices(imm); i++)
            emit_put_number(e);
    }
}

/* The instruction that a word names, which may begin with %s; false: that is empty. */
static bool take_op(Emit *e, size_t n, WasmOp *op) {
    char name[40];
    const char *word = e->at;
    e->at += n;
    if (word[0] == '%') {
        assert(word[1] == 's');
        int len = snprintf(name, sizeof name, "%s%.*s", va_arg(e->ap, const char *), (int)n - 2,
                           word + 2);
        assert(len < (int)sizeof name);
        word = name;
        n = (size_t)len;
    }
    if (n)
        *op = emit_find_op(word, n);
    return n > 0;
}

static void emit_put_instructions(Emit *e) {
    WasmOp op;
    for (size_t n; (n = emit_next_word(e)) > 0;) {
        if (n == 2 && memcmp(e->at, "%p", 2) == 0) {
            const Buf *code = va_arg(e->ap, const Buf *);
            buf_bytes(e->out, code->data, code->len);
            e->at += 2;
        } else if (take_op(e, n, &op)) {
            wasm_put_op(e->out, op);
            put_immediates(e, (WasmImm)wasm_ops[op].imm);
        }
    }
}

void emit(Buf *b, const char *code, ...) {
    Emit e;
    emit_begin(&e, b, code);
    uint32_t nlocals = 0;
    va_start(e.ap, code);
    while (take_name(&e, &nlocals)) {
    }
    emit_put_instructions(&e);
    va_end(e.ap);
}

/* ---- functions ---- */

typedef struct Types {
    WasmType at[MAX_TYPES];
    uint32_t n;
} Types;

/* The beginning of a function's code. */
typedef struct Head {
    Types params, results, locals;
} Head;

/* Types, each after its name if it has one. */
static void take_types(Emit *e, Types *types, uint32_t *nlocals) {
    uint32_t end = *nlocals; /* the locals that have a type */
    WasmType type;
    for (;;) {
        if (take_name(e, nlocals))
            continue;
        if (!take_type(e, &type))
            break;
        assert(types->n < MAX_TYPES);
        types->at[types->n++] = type;
        *nlocals = ++end;
    }
    assert(*nlocals == end);
}

static void take_head(Emit *e, Head *head) {
    uint32_t nlocals = 0, none = 0;
    *head = (Head){0};
    for (;;) {
        if (take_word(e, "param"))
            take_types(e, &head->params, &nlocals);
        else if (take_word(e, "result"))
            take_types(e, &head->results, &none);
        else if (take_word(e, "local"))
            take_types(e, &head->locals, &nlocals);
        else if (!take_name(e, &nlocals))
            break;
    }
}

void emit_locals(Buf *b, const WasmType *types, uint32_t n) {
    uint32_t groups = 0;
    for (uint32_t i = 0; i < n; i++)
        groups += i == 0 || types[i] != types[i - 1];
    buf_uleb(b, groups);
    for (uint32_t i = 0, from; (from = i) < n;) {
        while (i < n && types[i] == types[from])
            i++;
        buf_uleb(b, i - from);
        wasm_put_type(b, types[from]);
    }
}

static void emit_put_function(Emit *e, Head *head) {
    take_head(e, head);
    emit_locals(e->out, head->locals.at, head->locals.n);
    emit_put_instructions(e);
    wasm_put_op(e->out, WASM_OP_END);
}

uint32_t emit_function(WasmModule *m, const char *name, const char *code, ...) {
    Buf body = {0};
    Emit e;
    emit_begin(&e, &body, code);
    Head head;
    va_start(e.ap, code);
    emit_put_function(&e, &head);
    va_end(e.ap);
    uint32_t type =
        wasm_add_func_type(m, head.params.at, head.params.n, head.results.at, head.results.n);
    return wasm_add_func(m, type, str_of(name), &body, m->layout.done);
}

void emit_body(Buf *b, const char *code, ...) {
    Emit e;
    emit_begin(&e, b, code);
    Head head;
    va_start(e.ap, code);
    emit_put_function(&e, &head);
    va_end(e.ap);
}

void emit_wrapper_body(Buf *b, const WasmModule *m, uint32_t func, const Buf *before,
                       const Buf *after) {
    assert(func < m->funcs.len);
    static const Buf none;
    Buf arguments = {0};
    for (uint32_t k = 0; k < wasm_func_type(m, func)->nparams; k++)
        put_index(&arguments, WASM_OP_LOCAL_GET, k);
    emit_body(b, "%p %p call %u %p", before ? before : &none, &arguments,
              emit_index(m, WASM_SPACE_FUNC, func), after ? after : &none);
    buf_free(&arguments);
}

uint32_t emit_wrapper(WasmModule *m, Str name, uint32_t func, const Buf *before, const Buf *after) {
    Buf body = {0};
    emit_wrapper_body(&body, m, func, before, after);
    return wasm_add_func(m, m->funcs.at[func].type, name, &body, m->layout.done);
}

/* ---- pieces ---- */

void emit_calls(Buf *b, const WasmModule *m, const uint32_t *funcs, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        put_index(b, WASM_OP_CALL, emit_index(m, WASM_SPACE_FUNC, funcs[i]));
}

const char *emit_resized(WasmType from, WasmType to) {
    assert((from == WASM_I32 || from == WASM_I64) && (to == WASM_I32 || to == WASM_I64));
    return from == to ? "" : to == WASM_I64 ? "i64.extend_i32_u" : "i32.wrap_i64";
}

const char *emit_type(WasmType t) {
    assert(t == WASM_I32 || t == WASM_I64 || t == WASM_F32 || t == WASM_F64);
    return wasm_type_text(t, NULL);
}

WasmOp emit_load_op(WasmType t) {
    switch (t) {
    case WASM_I64: return WASM_OP_I64_LOAD;
    case WASM_F32: return WASM_OP_F32_LOAD;
    case WASM_F64: return WASM_OP_F64_LOAD;
    default: return WASM_OP_I32_LOAD;
    }
}

WasmOp emit_store_op(WasmType t) {
    switch (t) {
    case WASM_I64: return WASM_OP_I64_STORE;
    case WASM_F32: return WASM_OP_F32_STORE;
    case WASM_F64: return WASM_OP_F64_STORE;
    default: return WASM_OP_I32_STORE;
    }
}

void emit_drops(Buf *b, uint32_t n) {
    while (n-- > 0)
        wasm_put_op(b, WASM_OP_DROP);
}

void emit_resize(Buf *b, WasmType from, WasmType to) {
    assert((from == WASM_I32 || from == WASM_I64) && (to == WASM_I32 || to == WASM_I64));
    if (from != to)
        wasm_put_op(b, to == WASM_I64 ? WASM_OP_I64_EXTEND_I32_U : WASM_OP_I32_WRAP_I64);
}

void emit_assign(Buf *b, uint32_t local, int32_t value) {
    put_i32(b, (uint32_t)value);
    put_index(b, WASM_OP_LOCAL_SET, local);
}

/* Programs can have very many of these. */
void emit_call_on(Buf *b, uint32_t func, int32_t argument) {
    enum { LONGEST = 2 * (1 + 10) };
    buf_reserve(b, LONGEST);
    uint8_t *to = b->data + b->len;
    *to++ = (uint8_t)wasm_ops[WASM_OP_I32_CONST].code;
    to = sleb_put(to, argument);
    *to++ = (uint8_t)wasm_ops[WASM_OP_CALL].code;
    b->len = (size_t)(uleb_put(to, func) - b->data);
}

void emit_if(Buf *b, WasmType result) {
    wasm_put_op(b, WASM_OP_IF);
    wasm_put_type(b, result);
}

void emit_if_equal(Buf *b, uint32_t local, int32_t value) {
    put_index(b, WASM_OP_LOCAL_GET, local);
    if (value)
        put_i32(b, (uint32_t)value);
    wasm_put_op(b, value ? WASM_OP_I32_EQ : WASM_OP_I32_EQZ);
    emit_if(b, WASM_NONE);
}

void emit_if_set(Buf *b, uint32_t local) {
    put_index(b, WASM_OP_LOCAL_GET, local);
    emit_if(b, WASM_NONE);
}

/* ---- numbers ---- */

/* A load or store. It is said to be aligned if the address is. */
static void put_number_access(Buf *b, const EmitNumber *n, bool store) {
    static const WasmOp ops[2][2][4] = {
        {{WASM_OP_I32_LOAD8_U, WASM_OP_I32_LOAD16_U, WASM_OP_I32_LOAD},
         {WASM_OP_I64_LOAD8_U, WASM_OP_I64_LOAD16_U, WASM_OP_I64_LOAD32_U, WASM_OP_I64_LOAD}},
        {{WASM_OP_I32_STORE8, WASM_OP_I32_STORE16, WASM_OP_I32_STORE},
         {WASM_OP_I64_STORE8, WASM_OP_I64_STORE16, WASM_OP_I64_STORE32, WASM_OP_I64_STORE}}};
    static const WasmOp floats[2][2] = {{WASM_OP_F32_LOAD, WASM_OP_F64_LOAD},
                                        {WASM_OP_F32_STORE, WASM_OP_F64_STORE}};
    bool is_float = n->type == WASM_F32 || n->type == WASM_F64;
    uint32_t align_log2 = 0;
    while (align_log2 < n->size_log2 && !(n->at >> align_log2 & 1))
        align_log2++;
    wasm_put_op(b, is_float ? floats[store][n->type == WASM_F64]
                            : ops[store][n->type == WASM_I64][n->size_log2]);
    emit_memarg(b, align_log2, n->index, n->at);
}

void emit_begin_set(Buf *b, EmitNumber n) {
    if (n.in_memory)
        put_i32(b, 0);
}

void emit_get(Buf *b, EmitNumber n) {
    if (!n.in_memory) {
        put_index(b, WASM_OP_GLOBAL_GET, n.index);
        return;
    }
    put_i32(b, 0);
    put_number_access(b, &n, false);
}

void emit_set(Buf *b, EmitNumber n) {
    if (n.in_memory)
        put_number_access(b, &n, true);
    else
        put_index(b, WASM_OP_GLOBAL_SET, n.index);
}

/* Adds to a global. Programs have very many of these, so the index is encoded once. */
static void increment_global(Buf *b, uint32_t index, uint64_t by) {
    buf_reserve(b, 32);
    uint8_t *start = b->data + b->len, *to = start + 1;
    start[0] = (uint8_t)wasm_ops[WASM_OP_GLOBAL_GET].code;
    to = uleb_put(to, index);
    size_t size = (size_t)(to - start) - 1;
    b->len += size + 1;
    wasm_put_const(b, WASM_I64, by);
    to = b->data + b->len;
    *to++ = (uint8_t)wasm_ops[WASM_OP_I64_ADD].code;
    *to++ = (uint8_t)wasm_ops[WASM_OP_GLOBAL_SET].code;
    for (size_t i = 0; i < size; i++)
        to[i] = start[1 + i];
    b->len += 2 + size;
}

void emit_increment(Buf *b, EmitNumber n, uint64_t by) {
    if (!n.in_memory) {
        increment_global(b, n.index, by);
        return;
    }
    emit_begin_set(b, n);
    emit_get(b, n);
    wasm_put_const(b, WASM_I64, by);
    wasm_put_op(b, WASM_OP_I64_ADD);
    emit_set(b, n);
}

void emit_update(Buf *b, EmitNumber n, const char *code, ...) {
    Emit e;
    emit_begin(&e, b, code);
    emit_begin_set(b, n);
    emit_get(b, n);
    va_start(e.ap, code);
    emit_put_instructions(&e);
    va_end(e.ap);
    emit_set(b, n);
}

void emit_br_table(Buf *b, const uint32_t *labels, uint32_t n, uint32_t otherwise) {
    wasm_put_op(b, WASM_OP_BR_TABLE);
    buf_uleb(b, n);
    for (uint32_t i = 0; i < n; i++)
        buf_uleb(b, labels[i]);
    buf_uleb(b, otherwise);
}

void emit_copy(Buf *b, const WasmModule *m, uint32_t to, uint32_t from) {
    assert(to < m->memories.len && from < m->memories.len);
    WasmType a = wasm_memory_address(m, to), c = wasm_memory_address(m, from);
    emit_body(b, "local.get 0 %s local.get 1 %s local.get 2 %s memory.copy %u %u",
              emit_resized(WASM_I32, a), emit_resized(WASM_I32, c),
              emit_resized(WASM_I32, a == c ? a : WASM_I32), to, from);
}
