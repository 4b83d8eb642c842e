/*
 * flush/flush_memory.c - the runtime's part of memory: a memory of its own, or pages that the
 * program's memory is grown by at the first flush. It has a stack, the value area, and the image
 * with the table of sums.
 */
#include "flush/flush_code.h"

#include <inttypes.h>

#include "../../stdlib/runtime/values.h" /* the layout of our memory */
#include "link/runtime.h"

const char *flush_address(const Flush *f, uint64_t offset) {
    if (f->own)
        return arena_printf(&f->m->arena, "i32.const %u", (uint32_t)offset);
    return arena_printf(&f->m->arena, "global.get %u i32.const %u i32.add",
                        global_index(f, f->at.base), (uint32_t)offset);
}

uint64_t flush_values_at(const Flush *f) {
    return f->own ? f->store->values_at : RUNTIME_STACK;
}

uint64_t flush_image_at(const Flush *f) {
    return f->own ? f->image.at : align8(RUNTIME_STACK + store_values_size(f->store));
}

/* ---- pages of the program's memory ---- */

uint64_t flush_grown_pages(const Flush *f) {
    return flush_pages(flush_image_at(f) + f->image.size);
}

static bool has_op(const WasmModule *m, WasmOp op) {
    WasmOpSet wanted = {0};
    bool found = !m->ops;
    op_set_add(&wanted, op);
    for (uint32_t i = 0; !found && i < m->input_count[WASM_SPACE_FUNC]; i++)
        found = op_sets_meet(&wanted, &m->ops[i]);
    return found;
}

/* () -> number of pages at the end not of the program; 0 if the host has grown the memory, too. */
static uint32_t add_above(const Flush *f) {
    return emit_function(f->m, "whammc.above",
                         "result i32 $base=%u $pages=%u"
                         " i32.const $pages i32.const 0 global.get $base i32.const 0 i32.ne"
                         " global.get $base i32.const 16 i32.shr_u i32.const $pages i32.add"
                         " memory.size 0 i32.eq i32.and select",
                         f->at.base, (uint32_t)flush_grown_pages(f));
}

/* (delta) -> old size in pages, or -1. Pages of the report move to the end. */
static uint32_t add_grow(const Flush *f, uint32_t above) {
    const WasmLimits *limits = &f->m->memories.at[0].limits;
    return emit_function(
        f->m, "whammc.grow",
        "param $delta i32 result i32 local $above i32 $old i32 $base=%u $find=%u"
        " call $find local.set $above memory.size 0 local.get $above i32.sub local.set $old"
        " local.get $old i64.extend_i32_u local.get $delta i64.extend_i32_u i64.add"
        " i64.const %" PRIu64 " i64.gt_u if i32.const -1 return end"
        " local.get $delta memory.grow 0 i32.const -1 i32.eq if i32.const -1 return end"
        " local.get $above i32.const 0 i32.ne local.get $delta i32.const 0 i32.ne i32.and if"
        "   global.get $base local.get $delta i32.const 16 i32.shl i32.add global.get $base"
        "   local.get $above i32.const 16 i32.shl memory.copy 0 0"
        "   global.get $base i32.const 0 local.get $delta local.get $above"
        "   local.get $delta local.get $above i32.lt_u select i32.const 16 i32.shl memory.fill 0"
        "   global.get $base local.get $delta i32.const 16 i32.shl i32.add global.set $base"
        " end"
        " local.get $old",
        f->at.base, above, limits->has_max ? limits->max : 65536);
}

void flush_hide_grown(Flush *f) {
    bool grows = has_op(f->m, WASM_OP_MEMORY_GROW), asks = has_op(f->m, WASM_OP_MEMORY_SIZE);
    if (!grows && !asks)
        return;
    uint32_t above = add_above(f);
    if (grows)
        f->at.grow = add_grow(f, above);
    if (asks)
        f->at.size =
            emit_function(f->m, "whammc.size", "result i32 memory.size 0 call %u i32.sub", above);
}

/* Appends code that, once, grows the memory and copies the image to the new pages. Without room,
 * base stays 0. */
static void put_grow(const Flush *f, Buf *b) {
    uint64_t image_at = flush_image_at(f);
    emit(b,
         "$base=%u $image=%u"
         " global.get $base i32.eqz"
         " if"
         "   i32.const %u memory.grow 0 global.set $base"
         "   global.get $base i32.const -1 i32.eq if"
         "     i32.const 0 global.set $base"
         "   else"
         "     global.get $base i32.const 16 i32.shl global.set $base"
         "     global.get $base i32.const $image i32.add i32.const 0 i32.const %u memory.init %u 0"
         "   end"
         " end",
         global_index(f, f->at.base), (uint32_t)image_at, (uint32_t)flush_grown_pages(f),
         f->image.size, wasm_final(f->m, WASM_SPACE_DATA, f->image.data));
}

/* ---- making ready ---- */

/* Appends code that copies counters in globals to the value area. */
static void flush_memory_put_counters(Flush *f, Buf *b) {
    const Store *store = f->store;
    uint32_t n = store->in_memory ? 0 : image_counters(store->rows.image);
    if (!n)
        return;
    emit(b, "%s", flush_address(f, flush_values_at(f) + image_counters_offset(store->rows.image)));
    counter_save(b, f->m, store->counters.global, n, f->at.memory);
}

void flush_put_ready(Flush *f, Buf *b, const char *leave) {
    bool called = f->at.ready != UINT32_MAX;
    if (called)
        emit(b, "call %u", func_index(f, f->at.ready));
    else if (!f->own)
        put_grow(f, b);
    if (!f->own)
        emit(b, "global.get %u i32.eqz %s", global_index(f, f->at.base), leave);
    if (!called)
        flush_memory_put_counters(f, b);
}

void flush_add_ready(Flush *f) {
    Buf code = {0};
    if (!f->sums.table.len)
        return;
    flush_put_ready(f, &code, "if return end");
    f->at.ready = emit_function(f->m, "whammc.ready", "%p", &code);
    buf_free(&code);
}
