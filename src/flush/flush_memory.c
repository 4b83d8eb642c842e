/*
 * flush/flush_memory.c - the runtime's part of memory: a memory of its own, or pages that the
 * program's memory is grown by at the first flush. It has a stack, the value area, and the image
 * with the table of sums.
 */
#include "flush/flush_code.h"

#include "link/runtime.h"
#include "../../stdlib/runtime/values.h" /* the layout of our memory */

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

/* memory.grow, and the image into the new pages; done once. */
static void put_grow(const Flush *f, Buf *b, const char *leave) {
    uint64_t image_at = flush_image_at(f);
    emit(b,
         "$base=%u $image=%u"
         " global.get $base i32.eqz"
         " if"
         "   i32.const %u memory.grow 0 global.set $base"
         "   global.get $base i32.const -1 i32.eq if i32.const 0 global.set $base %s end"
         "   global.get $base i32.const 16 i32.shl global.set $base"
         "   global.get $base i32.const $image i32.add i32.const 0 i32.const %u memory.init %u 0"
         " end",
         global_index(f, f->at.base), (uint32_t)image_at,
         (uint32_t)flush_pages(image_at + f->image.size), leave, f->image.size,
         wasm_final(f->m, WASM_SPACE_DATA, f->image.data));
}

/* Counters that are globals, to the value area. */
static void put_counters(Flush *f, Buf *b) {
    const Store *store = f->store;
    uint32_t n = store->in_memory ? 0 : image_counters(store->rows.image);
    if (!n)
        return;
    emit(b, "%s", flush_address(f, flush_values_at(f) + image_counters_offset(store->rows.image)));
    counter_save(b, f->m, store->counters.global, n, f->at.memory);
}

void flush_put_ready(Flush *f, Buf *b, const char *leave) {
    if (f->at.ready == UINT32_MAX) {
        if (!f->own)
            put_grow(f, b, leave);
        put_counters(f, b);
        return;
    }
    emit(b, "call %u", func_index(f, f->at.ready));
    if (!f->own)
        emit(b, "global.get %u i32.eqz if %s end", global_index(f, f->at.base), leave);
}

void flush_add_ready(Flush *f) {
    Buf code = {0};
    if (!f->sums.table.len)
        return;
    flush_put_ready(f, &code, "return");
    f->at.ready = emit_function(f->m, "whammc.ready", "%p", &code);
    buf_free(&code);
}
