/*
 * attach/shim_reflect.c - whamm:reflect in a program. What the functions tell is in a memory of its
 * own: for each function a table of places and sizes, and the bytes.
 */
#include "attach/shim_imports.h"

enum { PAGE = 65536, ENTRY = 8 }; /* an entry of a table: u32 place, u32 size */

/* A table of bytes that is in the memory. */
typedef struct Table {
    const ReflectFn *fn;
    uint32_t at, count;
} Table;

typedef struct BindReflect {
    uint32_t memory;
    Buf content;
    Vec(Table) tables;
} BindReflect;

static BindReflect *begin(BindShim *s) {
    if (!s->reflect) {
        s->reflect = mem_zalloc(sizeof *s->reflect);
        s->reflect->memory =
            wasm_add_memory(s->to, (WasmLimits){.page_log2 = 16}, STR("whammc.reflect"));
    }
    return s->reflect;
}

static void set_u32(Buf *b, size_t at, uint64_t v) {
    for (int k = 0; k < 4; k++)
        b->data[at + (size_t)k] = (uint8_t)(v >> 8 * k);
}

/* The table of what a function tells; made when it is asked for first. */
static Table add_table(BindReflect *a, const Reflect *r, const ReflectFn *fn) {
    for (uint32_t k = 0; k < a->tables.len; k++)
        if (a->tables.at[k].fn == fn)
            return a->tables.at[k];
    while (a->content.len % 4)
        buf_u8(&a->content, 0);
    Table t = {.fn = fn, .at = (uint32_t)a->content.len};
    t.count = fn->kind == REFLECT_WHOLE     ? 1
              : fn->kind == REFLECT_SECTION ? WASM_SEC_COUNT + 1
                                            : reflect_count(r, fn);
    for (uint32_t k = 0; k < t.count; k++)
        buf_u64le(&a->content, 0);
    for (uint32_t k = 0; k < t.count; k++) {
        Str bytes = reflect_bytes(r, fn, k);
        set_u32(&a->content, t.at + (size_t)k * ENTRY, a->content.len);
        set_u32(&a->content, t.at + (size_t)k * ENTRY + 4, bytes.len);
        buf_str(&a->content, bytes);
    }
    vec_push(&a->tables, t);
    return t;
}

/* ---- code ---- */

static void put_load(Buf *code, uint32_t memory, uint32_t offset) {
    wasm_put_op(code, WASM_OP_I32_LOAD);
    buf_u8(code, 2 | 0x40); /* aligned, a memory index follows */
    buf_uleb(code, memory);
    buf_uleb(code, offset);
}

static void put_trap(Buf *code) {
    put_open(code, WASM_OP_IF);
    wasm_put_op(code, WASM_OP_UNREACHABLE);
    wasm_put_op(code, WASM_OP_END);
}

/* The number of the entry, in bytes, from the function's first parameter. */
static void put_entry(Buf *code, const Table *t, uint32_t local) {
    switch (t->fn->kind) {
    case REFLECT_ITEM: /* traps if there is no such item */
        put_local(code, 0, false);
        put_i32(code, t->count);
        wasm_put_op(code, WASM_OP_I32_GE_U);
        put_trap(code);
        put_local(code, 0, false);
        break;
    case REFLECT_SECTION: /* the last entry, which is empty, for all others */
        put_local(code, 0, false);
        put_i32(code, t->count - 1);
        put_local(code, 0, false);
        put_i32(code, t->count - 1);
        wasm_put_op(code, WASM_OP_I32_LT_U);
        wasm_put_op(code, WASM_OP_SELECT);
        break;
    default: put_i32(code, 0);
    }
    put_i32(code, ENTRY);
    wasm_put_op(code, WASM_OP_I32_MUL);
    put_index(code, WASM_OP_LOCAL_SET, local);
}

/* Copies min(length, size) bytes to a memory, and gives the size. */
static void put_read(Buf *code, const WasmModule *m, const BindReflect *a, const Table *t,
                     uint32_t memory) {
    uint32_t first = t->fn->kind == REFLECT_WHOLE ? 0 : 1, len = first + 1;
    uint32_t entry = reflect_nparams(t->fn), size = entry + 1;
    buf_u8(code, 1);
    buf_u8(code, 2);
    buf_u8(code, WASM_I32);
    put_entry(code, t, entry);
    bind_put_check(code, m, memory, first);
    put_local(code, entry, false);
    put_load(code, a->memory, t->at + 4);
    put_index(code, WASM_OP_LOCAL_TEE, size);
    put_local(code, len, false);
    wasm_put_op(code, WASM_OP_I32_LT_U);
    put_open(code, WASM_OP_IF);
    put_local(code, size, false);
    put_index(code, WASM_OP_LOCAL_SET, len);
    wasm_put_op(code, WASM_OP_END);
    put_local(code, first, m->memories.at[memory].limits.is64);
    put_local(code, entry, false);
    put_load(code, a->memory, t->at);
    put_local(code, len, false);
    wasm_put_op(code, WASM_OP_MEMORY_COPY);
    buf_uleb(code, memory);
    buf_uleb(code, a->memory);
    put_local(code, size, false);
    wasm_put_op(code, WASM_OP_END);
}

/* get_import_index (section, index): numbers of imports are in the memory, by index. */
static void put_import_index(Buf *code, BindReflect *a, const Reflect *r) {
    static const uint8_t sections[][2] = {{WASM_SEC_FUNCTION, WASM_SPACE_FUNC},
                                          {WASM_SEC_TABLE, WASM_SPACE_TABLE},
                                          {WASM_SEC_MEMORY, WASM_SPACE_MEMORY},
                                          {WASM_SEC_GLOBAL, WASM_SPACE_GLOBAL},
                                          {WASM_SEC_TAG, WASM_SPACE_TAG}};
    buf_u8(code, 0);
    while (a->content.len % 4)
        buf_u8(&a->content, 0);
    for (size_t k = 0; k < sizeof sections / sizeof *sections; k++) {
        uint32_t imported = r->m->input_imports[sections[k][1]];
        uint32_t at = (uint32_t)a->content.len;
        int32_t import = -1;
        put_local(code, 0, false);
        put_i32(code, sections[k][0]);
        wasm_put_op(code, WASM_OP_I32_EQ);
        put_open(code, WASM_OP_IF);
        put_local(code, 1, false);
        put_i32(code, r->m->input_count[sections[k][1]]);
        wasm_put_op(code, WASM_OP_I32_GE_U);
        put_trap(code);
        put_local(code, 1, false);
        put_i32(code, imported);
        wasm_put_op(code, WASM_OP_I32_GE_U);
        put_open(code, WASM_OP_IF);
        put_i32(code, (uint64_t)-1);
        wasm_put_op(code, WASM_OP_RETURN);
        wasm_put_op(code, WASM_OP_END);
        put_local(code, 1, false);
        put_i32(code, 4);
        wasm_put_op(code, WASM_OP_I32_MUL);
        put_load(code, a->memory, at);
        wasm_put_op(code, WASM_OP_RETURN);
        wasm_put_op(code, WASM_OP_END);
        for (uint32_t n = 0; n < imported; n++) {
            reflect_import(r, sections[k][0], n, &import);
            buf_u32le(&a->content, (uint32_t)import);
        }
    }
    wasm_put_op(code, WASM_OP_UNREACHABLE);
    wasm_put_op(code, WASM_OP_END);
}

int64_t bind_answer(BindShim *s, const Frozen *module, const Reflect *r, const WasmImport *im) {
    const ReflectFn *fn = reflect_find(im->name);
    int64_t memory = bind_memory(module);
    Buf code = {0};
    if (!fn)
        return -1;
    if (fn->kind == REFLECT_NUMBER) {
        buf_u8(&code, 0);
        put_i32(&code, reflect_number(r, fn));
        wasm_put_op(&code, WASM_OP_END);
    } else if (fn->kind == REFLECT_IMPORT) {
        put_import_index(&code, begin(s), r);
    } else if (memory < 0) {
        buf_u8(&code, 0);
        wasm_put_op(&code, WASM_OP_UNREACHABLE);
        wasm_put_op(&code, WASM_OP_END);
    } else {
        Table t = add_table(begin(s), r, fn);
        put_read(&code, s->to, s->reflect, &t, (uint32_t)memory);
    }
    return bind_add_func(module, im, &code);
}

void bind_answer_finish(BindShim *s) {
    BindReflect *a = s->reflect;
    if (!a)
        return;
    s->to->memories.at[a->memory].limits.min = (a->content.len + PAGE - 1) / PAGE;
    if (a->content.len)
        wasm_add_data_active(s->to, a->memory, 0, &a->content, STR("whammc.reflect"));
}

void bind_answer_free(BindShim *s) {
    if (!s->reflect)
        return;
    buf_free(&s->reflect->content);
    vec_free(&s->reflect->tables);
    free(s->reflect);
}
