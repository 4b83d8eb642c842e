/*
 * monitor/make/record.c - the records that a monitor keeps for locations.
 *
 * The parts of a probe share a record at each location, so that the engine passes one address. But
 * func:exit has one for all exits of a function, and where it is only known at the location which
 * parts can happen (units that are not split) each has its own.
 */
#include "monitor/make/record.h"
#include "monitor/make/monitor_input.h"

#include <assert.h>

static uint32_t value_bytes(const Type *type) {
    WasmType w = type_wasm(type);
    if (type->kind == TYPE_TUPLE)
        return 8 * type_leaves(type);
    return w == WASM_I64 || w == WASM_F64 ? 8 : 4;
}

/* Rows of probes at the instruction come first, then those of block:start and block:end. */
static uint32_t part_rank(const UnitPart *part) {
    switch (part->action->event.kind) {
    case EVENT_BLOCK_START: return 1;
    case EVENT_BLOCK_END: return 2;
    default: return 0;
    }
}

/* Orders parts of a list as their rows: parts are in firing order, rows in the order of actions. */
static int by_row(const void *x, const void *y) {
    const UnitPart *a = *(const UnitPart *const *)x, *b = *(const UnitPart *const *)y;
    if (part_rank(a) != part_rank(b))
        return part_rank(a) < part_rank(b) ? -1 : 1;
    if (a->action != b->action)
        return a->action < b->action ? -1 : 1;
    return (a > b) - (a < b);
}

/* A record that is being made. */
typedef struct Making {
    Records *r;
    MonitorRecord *record;
    Vec(ImageField) fields;
    bool link;
} Making;

static void record_add_part(Making *m, const UnitPart *part, bool own) {
    const Variant *v = part->action->variant;
    const Store *s = m->r->store;
    m->link |= v->exits;
    for (uint32_t i = 0; i < v->probe->nvars; i++) {
        const Var *var = v->probe->vars[i];
        if (var->storage != STORAGE_UNSHARED)
            continue;
        uint32_t id = v->vars[var->index];
        ImageField f = {.var = IMAGE_HIDDEN, .bytes = value_bytes(var->type)};
        if (var->report) {
            f.var = s->rows.of_var[id];
            f.probe = store_action_row(m->r->store, part->action, WAY_BOTH);
            m->r->rows = true;
        }
        vec_push(&m->fields, f);
        monitor_add_field(m->record, (MonitorField){own ? NULL : part, var, id, 0});
    }
}

/* Describes the record; NULL if nothing is kept or done for the location. */
static MonitorRecord *record_finish(Making *m, RowsRank rank, bool starts, uint32_t at,
                                    Buf *classes) {
    MonitorRecord *record = m->record;
    uint32_t n = record->fields.len;
    record->link = -1;
    if (!n && !m->link && !starts)
        return NULL;
    if (m->link || !n)
        vec_push(&m->fields, ((ImageField){.var = IMAGE_HIDDEN, .bytes = MONITOR_LINK}));
    while (classes->len % 4)
        buf_u8(classes, 0);
    record->class_at = at + (uint32_t)classes->len;
    image_class(m->r->store->rows.image, rank, m->fields.at, m->fields.len, classes);
    for (uint32_t i = 0; i < n; i++)
        record->fields.at[i].offset = m->fields.at[i].offset;
    if (m->link)
        record->link = m->fields.at[n].offset;
    return record;
}

static Making record_begin(Records *r) {
    MonitorRecord *record = arena_new(&r->plan->arena, MonitorRecord);
    vec_push(&r->all, record);
    return (Making){.r = r, .record = record};
}

static RowsRank rank_of(const Unit *u, const UnitPart *part) {
    RowsRank rank = part->at_end                     ? ROWS_EXIT
                    : u->event == MONITOR_FUNC_ENTRY ? ROWS_ENTRY
                                                     : ROWS_INSTR;
    return part->kind == PART_COUNT ? rank | ROWS_COUNTED : rank;
}

static MonitorRecord *make_own(Records *r, const Unit *u, const UnitPart *part, uint32_t at,
                               Buf *classes) {
    Making m = record_begin(r);
    record_add_part(&m, part, true);
    MonitorRecord *record =
        record_finish(&m, rank_of(u, part), part->action->variant->starts_dynamic, at, classes);
    vec_free(&m.fields);
    return record;
}

static MonitorRecord *make_shared(Records *r, const Unit *u, const Residue *residue, uint32_t at,
                                  Buf *classes) {
    Making m = record_begin(r);
    bool starts = false;
    RowsRank rank = ROWS_INSTR;
    Vec(const UnitPart *) parts = {0};
    for (uint32_t i = 0; i < residue->nparts; i++)
        if (part_has_record(&residue->parts[i]) && !residue->parts[i].at_end)
            vec_push(&parts, &residue->parts[i]);
    if (parts.len)
        qsort(parts.at, parts.len, sizeof *parts.at, by_row);
    for (uint32_t i = 0; i < parts.len; i++) {
        record_add_part(&m, parts.at[i], false);
        starts |= parts.at[i]->action->variant->starts_dynamic;
        rank = rank_of(u, parts.at[i]);
    }
    vec_free(&parts);
    MonitorRecord *record = record_finish(&m, rank, starts, at, classes);
    vec_free(&m.fields);
    return record;
}

/* An action that has a record of its own. */
typedef struct Own {
    const Unit *unit;
    const UnitPart *part; /* NULL: it has none */
} Own;

void records_make(Records *r, Plan *plan, const Units *units, Store *store, uint32_t at,
                  Buf *classes) {
    assert(plan == store->plan);
    uint32_t n = 0, number = 0;
    for (uint32_t i = 0; i < units->list.len; i++)
        n += units->list.at[i].nresidues;
    *r = (Records){.plan = plan, .store = store};
    r->of_residue = arena_array(&plan->arena, MonitorRecord *, n + 1);
    uint32_t nown = monitor_own(plan->actions.len, false);
    r->own = arena_array(&plan->arena, MonitorRecord *, nown);
    Own *own = mem_zalloc(sizeof *own * (nown + 1u));
    for (uint32_t i = 0; i < units->list.len; i++) {
        const Unit *u = &units->list.at[i];
        for (uint32_t k = 0; k < u->nresidues; k++, number++) {
            const Residue *residue = &u->residues[k];
            if (!u->dynamic && !residue->apart)
                r->of_residue[number] = make_shared(r, u, residue, at, classes);
            for (uint32_t p = 0; p < residue->nparts; p++) {
                const UnitPart *part = &residue->parts[p];
                if (!part_has_record(part) || !(part->at_end || u->dynamic || residue->apart))
                    continue;
                Own *o = &own[monitor_own((uint32_t)(part->action - plan->actions.at),
                                          part->kind == PART_COUNT)];
                if (!o->part)
                    *o = (Own){u, part};
            }
        }
    }
    /* Where several are made for a location, their rows are in the order of their classes. */
    for (uint32_t rank = 0; rank < 3; rank++)
        for (uint32_t i = 0; i < nown; i++)
            if (own[i].part && part_rank(own[i].part) == rank)
                r->own[i] = make_own(r, own[i].unit, own[i].part, at, classes);
    free(own);
}

void records_free(Records *r) {
    for (uint32_t i = 0; i < r->all.len; i++) {
        vec_free(&r->all.at[i]->fields);
        map_free(&r->all.at[i]->field_of);
    }
    vec_free(&r->all);
}
