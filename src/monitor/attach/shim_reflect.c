/*
 * monitor/attach/shim_reflect.c - whamm:reflect in a program. The answers are in a memory of its
 * own: for each function a table of addresses and sizes, and the bytes.
 */
#include "monitor/attach/shim_imports.h"

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

static BindReflect *shim_reflect_begin(BindShim *s) {
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

static void align(Buf *b) {
    while (b->len % 4)
        buf_u8(b, 0);
}

/* The table of a function's answers; made on first use. */
static Table shim_reflect_add_table(BindReflect *a, const Reflect *r, const ReflectFn *fn) {
    for (uint32_t k = 0; k < a->tables.len; k++)
        if (a->tables.at[k].fn == fn)
            return a->tables.at[k];
    align(&a->content);
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

/* Pushes the number of the entry in the table, from the function's first parameter. */
static const char *entry_number(Arena *arena, const Table *t) {
    switch (t->fn->kind) {
    case REFLECT_ITEM: /* traps if there is no such item */
        return arena_printf(
            arena, "local.get 0 i32.const %u i32.ge_u if unreachable end local.get 0", t->count);
    case REFLECT_SECTION: /* the last entry, which is empty, for all others */
        return arena_printf(arena,
                            "local.get 0 i32.const %u local.get 0 i32.const %u i32.lt_u select",
                            t->count - 1, t->count - 1);
    default: return "i32.const 0";
    }
}

/* Copies min(length, size) bytes to a memory, and returns the size. */
static void emit_read(Buf *code, WasmModule *m, const BindReflect *a, const Table *t,
                      uint32_t memory) {
    emit_body(code,
              "param %s $address i32 $len i32 local $entry i32 $size i32"
              " $table=%u $place_at=%u $size_at=%u $to=%u"
              " %s i32.const %u i32.mul local.set $entry"
              " %s"
              " local.get $entry i32.load $table $size_at align=4 local.tee $size"
              " local.get $len i32.lt_u"
              " if local.get $size local.set $len end"
              " local.get $address %s local.get $entry i32.load $table $place_at align=4"
              " local.get $len memory.copy $to $table"
              " local.get $size",
              t->fn->kind == REFLECT_WHOLE ? "" : "i32", a->memory, t->at, t->at + 4, memory,
              entry_number(&m->arena, t), ENTRY, bind_check(m, memory, "$address", "$len"),
              emit_resized(WASM_I32, wasm_memory_address(m, memory)));
}

/* get_import_index (section, index): numbers of imports are in the memory, by index. */
static void emit_import_index(Buf *code, BindReflect *a, const Reflect *r) {
    static const uint8_t sections[][2] = {{WASM_SEC_FUNCTION, WASM_SPACE_FUNC},
                                          {WASM_SEC_TABLE, WASM_SPACE_TABLE},
                                          {WASM_SEC_MEMORY, WASM_SPACE_MEMORY},
                                          {WASM_SEC_GLOBAL, WASM_SPACE_GLOBAL},
                                          {WASM_SEC_TAG, WASM_SPACE_TAG}};
    Buf cases = {0};
    align(&a->content);
    for (size_t k = 0; k < sizeof sections / sizeof *sections; k++) {
        uint32_t imported = r->m->input_imports[sections[k][1]];
        int32_t import = -1;
        emit(&cases,
             "$section $index $wanted=%u $count=%u $imported=%u $memory=%u $at=%u"
             " local.get $section i32.const $wanted i32.eq"
             " if"
             "   local.get $index i32.const $count i32.ge_u if unreachable end"
             "   local.get $index i32.const $imported i32.ge_u if i32.const -1 return end"
             "   local.get $index i32.const 4 i32.mul i32.load $memory $at align=4 return"
             " end",
             (unsigned)sections[k][0], r->m->input_count[sections[k][1]], imported, a->memory,
             (uint32_t)a->content.len);
        for (uint32_t n = 0; n < imported; n++) {
            reflect_import(r, sections[k][0], n, &import);
            buf_u32le(&a->content, (uint32_t)import);
        }
    }
    emit_body(code, "%p unreachable", &cases);
    buf_free(&cases);
}

int64_t bind_answer(BindShim *s, const Frozen *module, const Reflect *r, const WasmImport *im) {
    const ReflectFn *fn = reflect_find(im->name);
    int64_t memory = bind_memory(module);
    Buf code = {0};
    if (!fn)
        return -1;
    if (fn->kind == REFLECT_NUMBER) {
        emit_body(&code, "i32.const %u", (unsigned)reflect_number(r, fn));
    } else if (fn->kind == REFLECT_IMPORT) {
        emit_import_index(&code, shim_reflect_begin(s), r);
    } else if (memory < 0) {
        emit_body(&code, "unreachable");
    } else {
        Table t = shim_reflect_add_table(shim_reflect_begin(s), r, fn);
        emit_read(&code, s->to, s->reflect, &t, (uint32_t)memory);
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
