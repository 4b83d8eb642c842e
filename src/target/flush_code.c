/*
 * target/flush_code.c - what the flush*.c files write functions with.
 */
#include "target/flush_code.h"

enum { CHUNK_ITEMS = 1000 };

/* Local declarations in front, `end` behind. */
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
    if (c->count)
        vec_push(&c->funcs, flush_add_code(c->f, c->s, c->type, c->name, &c->body));
    c->count = 0;
    c->body.len = 0;
}

void chunks_item(Chunks *c) {
    if (++c->count == CHUNK_ITEMS)
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
        f->image_len = (uint32_t)bytes->len;
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

static void each_leaf(const Type *type, uint64_t global, uint64_t offset, FlushValue *value,
                      void *ctx) {
    for (uint32_t i = 0; i < type_leaves(type); i++)
        value(ctx, type_wasm(type_leaf(type, i)), global + i, offset + 8 * (uint64_t)i);
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

/* Groups whose slots are reported and in globals, in the order of the value area. */
static uint32_t reported_groups(const Store *s, PlacedGroup *list) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->groups.len; i++) {
        const SlotGroup *g = &s->groups.at[i];
        if (!g->hidden && !g->in_memory)
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
        uint64_t global = global_index(f, cell->first_global), at = offset + i * c->maps[map].step;
        each_leaf(type, global, at, value, ctx);
        if (cell->marked)
            value(ctx, WASM_I32, global + leaves, at + 8 * (uint64_t)leaves);
    }
}

void flush_each_value(const Flush *f, FlushValue *value, void *ctx) {
    const Store *s = f->store;
    PlacedGroup *groups = mem_alloc(sizeof *groups * (s->groups.len + 1u));
    uint32_t n = reported_groups(s, groups);
    for (uint32_t k = 0; k < n; k++) {
        const SlotGroup *g = groups[k].group;
        uint32_t bytes = image_row_bytes(s->image, g->rows);
        for (uint32_t i = 0; i < g->count; i++)
            each_leaf(g->type, g->base + (uint64_t)i * g->step, groups[k].at + (uint64_t)i * bytes,
                      value, ctx);
    }
    free(groups);
    for (uint32_t i = 0; i < s->tail.len; i++) {
        const PlanVar *v = &s->plan->vars.at[s->tail.at[i]];
        if (v->decl->cells) {
            each_cell(f, v->decl->cells - 1, image_tail_offset(s->image, i), value, ctx);
            continue;
        }
        each_leaf(v->decl->type, global_index(f, s->global[v->id]), image_tail_offset(s->image, i),
                  value, ctx);
    }
}
