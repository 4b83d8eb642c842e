/*
 * flush/flush_code.c - writes functions for the flush*.c files.
 */
#include "flush/flush_code.h"
#include "base/workers.h"

#include <inttypes.h>

enum { CHUNK_ITEMS = 1000 };

/* The body with its declarations of locals and its `end`. */
static Buf flush_code_finish(const Splicer *s, const Buf *body) {
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
    f->m->funcs.at[func].code = flush_code_finish(s, body);
}

uint32_t flush_add_code(Flush *f, Splicer *s, uint32_t type, const char *name, const Buf *body) {
    Buf code = flush_code_finish(s, body);
    return wasm_add_func(f->m, type, text(name), &code, true);
}

/* ---- chunks ---- */

static void close_chunk(Chunks *c) {
    if (c->wide) {
        pool_reset(&c->s->pool, c->nparams);
        pool_take(&c->s->pool, WASM_I64);
    }
    if (c->count) {
        uint32_t type = wasm_add_func_type(c->f->m, c->params, c->nparams, NULL, 0);
        vec_push(&c->funcs, flush_add_code(c->f, c->s, type, c->name, &c->body));
    }
    if (c->wide)
        pool_reset(&c->s->pool, 0);
    c->wide = false;
    c->count = 0;
    c->body.len = 0;
}

void chunks_item(Chunks *c) {
    if (++c->count >= CHUNK_ITEMS)
        close_chunk(c);
}

void chunks_end(Chunks *c) {
    close_chunk(c);
}

void chunks_call(Chunks *c, const char *arguments, Buf *out) {
    chunks_end(c);
    for (uint32_t i = 0; i < c->funcs.len; i++)
        emit(out, "%s call %u", arguments, func_index(c->f, c->funcs.at[i]));
    chunks_free(c);
}

void chunks_free(Chunks *c) {
    buf_free(&c->body);
    vec_free(&c->funcs);
}

/* ---- the report ---- */

bool flush_make_image(Flush *f, const Image *image, Buf *bytes) {
    ImageOptions options = {f->options->format, f->options->report, str_of(f->options->report_file),
                            workers_threads(f->options->threads)};
    if (image_finish(image, &options, bytes)) {
        f->image.len = (uint32_t)bytes->len;
        buf_bytes(bytes, f->sums.table.data, f->sums.table.len);
        f->image.size = (uint32_t)bytes->len;
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

void flush_push(const Flush *f, const FlushSource *source, Buf *out) {
    emit_get(out, source->place);
    if (!source->tabled && !counter_sum_any(&source->counted))
        return;
    Buf counted = {0};
    flush_push_sum(f, source, &counted);
    flush_combine(source->sum, &counted, out);
    buf_free(&counted);
}

FlushSource flush_variable(const Flush *f, const PlanVar *v, uint32_t leaf) {
    FlushSource source = {.place = store_variable(f->store, f->m, v, leaf)};
    flush_counted(f, v->id, store_sum(f->store, v->id), false, &source);
    return source;
}

FlushSource flush_cell(const Flush *f, const MapCell *cell, uint32_t n) {
    FlushSource source = {.place = emit_global(WASM_I64, global_index(f, cell->first_global) + n)};
    flush_counted(f, f->plan->vars.len + cell->first_sum + n, store_cell_sum(f->store, cell, n),
                  true, &source);
    return source;
}

/* A group with the place of its values in the value area. */
typedef struct PlacedGroup {
    const SlotGroup *group;
    uint64_t at;
} PlacedGroup;

static int flush_code_by_place(const void *a, const void *b) {
    const PlacedGroup *x = a, *y = b;
    return x->at < y->at ? -1 : x->at > y->at;
}

/* Lists the groups with values outside the value area, in its order; returns their number. */
static uint32_t reported_groups(const Store *s, PlacedGroup *list) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->groups.len; i++) {
        const SlotGroup *g = &s->groups.at[i];
        if (!g->hidden && !g->in_memory)
            list[n++] = (PlacedGroup){g, image_group_offset(s->rows.image, g->rows)};
    }
    if (n)
        qsort(list, n, sizeof *list, flush_code_by_place);
    return n;
}

/* Calls `value` for the cells of a map, with values at `offset`. */
static void each_cell(const Flush *f, uint32_t map, uint64_t offset, FlushValue *value, void *ctx) {
    const MapCells *c = &f->store->cells;
    const Type *type = f->plan->vars.at[f->plan->cells.maps.at[map].var].decl->type->value;
    uint32_t leaves = type_leaves(type);
    for (uint32_t i = 0; i < c->maps[map].n && !c->in_memory; i++) {
        const MapCell *cell = &c->list.at[c->maps[map].sorted[i]];
        uint64_t at = offset + i * c->maps[map].step;
        for (uint32_t k = 0; k < leaves + cell->marked; k++) {
            FlushSource source = flush_cell(f, cell, k);
            value(ctx, k < leaves ? type_wasm(type_leaf(type, k)) : WASM_I32, &source,
                  at + 8 * (uint64_t)k);
        }
    }
}

static void each_of_group(const Store *store, const PlacedGroup *placed, FlushValue *value,
                          void *ctx) {
    const SlotGroup *g = placed->group;
    uint32_t bytes = image_row_bytes(store->rows.image, g->rows);
    for (uint32_t i = 0; i < g->count; i++)
        for (uint32_t leaf = 0; leaf < g->leaves; leaf++) {
            WasmType type = type_wasm(type_leaf(g->type, leaf));
            FlushSource source = {
                .place = emit_global(type, (uint32_t)(g->base + (uint64_t)i * g->step + leaf))};
            value(ctx, type, &source, placed->at + (uint64_t)i * bytes + 8 * (uint64_t)leaf);
        }
}

void flush_each_value(const Flush *f, FlushValue *value, void *ctx) {
    const Store *s = f->store;
    PlacedGroup *groups = mem_alloc(sizeof *groups * (s->groups.len + 1u));
    uint32_t n = reported_groups(s, groups);
    for (uint32_t k = 0; k < n; k++)
        each_of_group(f->store, &groups[k], value, ctx);
    free(groups);
    for (uint32_t i = 0; i < s->tail.len; i++) {
        const PlanVar *v = &s->plan->vars.at[s->tail.at[i]];
        if (v->decl->cells) {
            each_cell(f, v->decl->cells - 1, image_tail_offset(s->rows.image, i), value, ctx);
            continue;
        }
        for (uint32_t leaf = 0; leaf < type_leaves(v->decl->type) && !s->var_in_memory[v->id];
             leaf++) {
            FlushSource source = flush_variable(f, v, leaf);
            value(ctx, type_wasm(type_leaf(v->decl->type, leaf)), &source,
                  image_tail_offset(s->rows.image, i) + 8 * (uint64_t)leaf);
        }
    }
    flush_each_trap(f, value, ctx);
}
