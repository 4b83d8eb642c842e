/*
 * flush/flush_code.c - what the flush*.c files write functions with.
 */
#include "flush/flush_code.h"

#include <inttypes.h>

enum { CHUNK_ITEMS = 1000, HELD_ITEMS = 8 * CHUNK_ITEMS };

/* Local declarations in front, `end` after. */
static Buf finish(const Splicer *s, const Buf *body) {
    Buf code = {0};
    buf_uleb(&code, s->pool.types.len);
    for (uint32_t i = 0; i < s->pool.types.len; i++) {
        buf_uleb(&code, 1);
        wasm_put_type(&code, s->pool.types.at[i]);
    }
    buf_bytes(&code, body->data, body->len);
    wasm_put_op(&code, WASM_OP_END);
    return code;
}

void flush_fill(Flush *f, Splicer *s, uint32_t func, const Buf *body) {
    f->m->funcs.at[func].code = finish(s, body);
}

uint32_t flush_add_code(Flush *f, Splicer *s, uint32_t type, const char *name, const Buf *body) {
    Buf code = finish(s, body);
    return wasm_add_func(f->m, type, text(name), &code, true);
}

/* ---- chunks ---- */

static void close_chunk(Chunks *c) {
    if (c->wide)
        pool_reset(&c->s->pool, c->nparams);
    for (uint32_t i = 0; i < c->wide; i++)
        pool_take(&c->s->pool, WASM_I64);
    if (c->count) {
        uint32_t type = wasm_add_func_type(c->f->m, c->params, c->nparams, NULL, 0);
        vec_push(&c->funcs, flush_add_code(c->f, c->s, type, c->name, &c->body));
    }
    if (c->wide)
        pool_reset(&c->s->pool, 0);
    c->wide = c->count = 0;
    c->body.len = 0;
}

void chunks_item(Chunks *c) {
    if (++c->count >= CHUNK_ITEMS && !c->hold)
        close_chunk(c);
}

void chunks_end(Chunks *c) {
    close_chunk(c);
}

void chunks_free(Chunks *c) {
    buf_free(&c->body);
    vec_free(&c->funcs);
}

/* ---- the report ---- */

bool flush_make_image(Flush *f, const Image *image, Buf *bytes) {
    ImageOptions options = {f->options->format, f->options->report,
                            str_of(f->options->report_file)};
    if (image_finish(image, &options, bytes)) {
        f->image.len = (uint32_t)bytes->len;
        return true;
    }
    Span whole = {f->file, 0, 0};
    if (options.path.len > IMAGE_PATH_MAX)
        diag(f->diags, DIAG_CANNOT_HOST, whole, "the report's path is longer than %d bytes",
             IMAGE_PATH_MAX);
    else
        diag(f->diags, DIAG_CANNOT_STORE, whole, "the report would be larger than 4 GiB");
    return false;
}

/* ---- values ---- */

static void push_ref(const Flush *f, CountRef ref, uint32_t locals, Buf *out) {
    if (ref.derived)
        emit(out, "local.get %u", locals + ref.index);
    else
        store_push_counter(f->store, f->m, ref.index, out);
}

/* How often a flag was set, as the image says it is told. */
static void push_often(const Flush *f, const FlushSource *source, Buf *out) {
    uint64_t most = UINT64_C(1) << 31;
    emit(out, "i64.const %" PRIu64, most);
    push_ref(f, source->count->ref, source->locals, out);
    emit(out, "i64.const %" PRIu64, most);
    push_ref(f, source->count->ref, source->locals, out);
    emit(out, "i64.lt_u select %s", type_wasm(source->type) == WASM_I32 ? "i32.wrap_i64" : "");
}

static void push_count(const Flush *f, const FlushSource *source, Buf *out) {
    const CountValue *v = source->count;
    WasmType type = type_wasm(source->type);
    if (v->func == COUNT_NONE) {
        wasm_put_const(out, type, 0);
    } else if (v->flag && flush_has_traps(f)) {
        push_often(f, source, out);
    } else if (v->flag) {
        wasm_put_const(out, type, 0);
        wasm_put_const(out, type, v->amount);
        push_ref(f, v->ref, source->locals, out);
        emit(out, "i64.eqz select");
    } else {
        push_ref(f, v->ref, source->locals, out);
        flush_multiply(v->amount, out);
        flush_wrap(source->type, out);
    }
}

void flush_push(const Flush *f, const FlushSource *source, Buf *out) {
    if (source->count) {
        push_count(f, source, out);
        return;
    }
    emit(out, "global.get %u", source->global);
    if (!source->parts.len && !source->nsums)
        return;
    Buf counted = {0};
    flush_push_sum(f, source, &counted);
    flush_combine(source->sum, &counted, out);
    buf_free(&counted);
}

FlushSource flush_variable(const Flush *f, const PlanVar *v, uint32_t leaf) {
    FlushSource source = {.global = global_index(f, f->store->global[v->id]) + leaf};
    flush_counted(f, v->id, store_sum(f->store, v->id), false, &source);
    return source;
}

FlushSource flush_cell(const Flush *f, const MapCell *cell, uint32_t n) {
    FlushSource source = {.global = global_index(f, cell->first_global) + n};
    flush_counted(f, f->plan->vars.len + cell->first_sum + n, store_cell_sum(f->store, cell, n),
                  true, &source);
    return source;
}

/* What is derived in a function, into the locals of the chunk. */
static void put_derived(Chunks *c, uint32_t func) {
    const Counts *counts = c->f->store->counts;
    const uint32_t *word = counts->words.at + counts->funcs.at[func].at;
    uint32_t n = *word++;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t leak = *word++, plus = *word++, all = *word++;
        if (!plus)
            emit(&c->body, "i64.const 0");
        for (uint32_t k = 0; k < all; k++, word++) {
            push_ref(c->f, (CountRef){*word >> 1 & 0x7fffffff, *word & 1}, c->nparams, &c->body);
            emit(&c->body, "%s", k >= plus ? "i64.sub" : k ? "i64.add" : "");
        }
        if (leak >> 1) {
            flush_push_leaks(c->f, leak >> 1, &c->body);
            emit(&c->body, leak & 1 ? "i64.sub" : "i64.add");
        }
        emit(&c->body, "local.set %u", c->nparams + i);
    }
    c->wide = n > c->wide ? n : c->wide;
    c->hold = n > 0;
}

/* A group with the place of its values in the value area. */
typedef struct PlacedGroup {
    const SlotGroup *group;
    uint64_t at;
} PlacedGroup;

static int by_place(const void *a, const void *b) {
    const PlacedGroup *x = a, *y = b;
    return x->at < y->at ? -1 : x->at > y->at;
}

/* Groups with values that are not in the value area, in its order. */
static uint32_t reported_groups(const Store *s, PlacedGroup *list) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->groups.len; i++) {
        const SlotGroup *g = &s->groups.at[i];
        if (!g->hidden && (!g->in_memory || g->values.len))
            list[n++] = (PlacedGroup){g, image_group_offset(s->image, g->rows)};
    }
    if (n)
        qsort(list, n, sizeof *list, by_place);
    return n;
}

/* The cells of a map, whose values are at `offset`. */
static void each_cell(const Flush *f, uint32_t map, uint64_t offset, FlushValue *value, void *ctx) {
    const MapCells *c = &f->store->cells;
    const Type *type = f->plan->vars.at[f->plan->cell_maps.at[map].var].decl->type->value;
    uint32_t leaves = type_leaves(type);
    for (uint32_t i = 0; i < c->maps[map].n && !f->store->in_memory; i++) {
        const MapCell *cell = &c->list.at[c->maps[map].sorted[i]];
        uint64_t at = offset + i * c->maps[map].step;
        for (uint32_t k = 0; k < leaves + cell->marked; k++) {
            FlushSource source = flush_cell(f, cell, k);
            value(ctx, k < leaves ? type_wasm(type_leaf(type, k)) : WASM_I32, &source,
                  at + 8 * (uint64_t)k);
        }
    }
}

static void each_of_group(Chunks *c, const PlacedGroup *placed, FlushValue *value, void *ctx) {
    const Store *s = c->f->store;
    const SlotGroup *g = placed->group;
    uint32_t bytes = image_row_bytes(s->image, g->rows), func = COUNT_NONE;
    uint32_t n = g->values.len ? g->values.len : g->count;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t v = g->values.len ? g->values.at[i] : i;
        uint64_t at = placed->at + (uint64_t)i * bytes;
        FlushSource source = {.locals = c->nparams, .type = g->type};
        if (v & SLOT_COUNTED) {
            source.count = &s->counts->values.at[v & ~(uint32_t)SLOT_COUNTED];
            if (source.count->ref.derived &&
                (source.count->func != func || c->count >= HELD_ITEMS)) {
                if (c->count >= CHUNK_ITEMS)
                    close_chunk(c);
                c->hold = false;
                func = source.count->func;
                put_derived(c, func);
            }
            value(ctx, type_wasm(g->type), &source, at);
            continue;
        }
        for (uint32_t leaf = 0; leaf < g->leaves && !g->in_memory; leaf++) {
            source.global = g->base + (uint64_t)v * g->step + leaf;
            value(ctx, type_wasm(type_leaf(g->type, leaf)), &source, at + 8 * (uint64_t)leaf);
        }
    }
    c->hold = false;
}

void flush_each_value(Chunks *c, FlushValue *value, void *ctx) {
    const Store *s = c->f->store;
    PlacedGroup *groups = mem_alloc(sizeof *groups * (s->groups.len + 1u));
    uint32_t n = reported_groups(s, groups);
    for (uint32_t k = 0; k < n; k++)
        each_of_group(c, &groups[k], value, ctx);
    free(groups);
    for (uint32_t i = 0; i < s->tail.len; i++) {
        const PlanVar *v = &s->plan->vars.at[s->tail.at[i]];
        if (v->decl->cells) {
            each_cell(c->f, v->decl->cells - 1, image_tail_offset(s->image, i), value, ctx);
            continue;
        }
        for (uint32_t leaf = 0; leaf < type_leaves(v->decl->type); leaf++) {
            FlushSource source = flush_variable(c->f, v, leaf);
            value(ctx, type_wasm(type_leaf(v->decl->type, leaf)), &source,
                  image_tail_offset(s->image, i) + 8 * (uint64_t)leaf);
        }
    }
    flush_each_trap(c->f, value, ctx);
}
