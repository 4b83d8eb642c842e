/*
 * storage/shadow.c - tracks the contents of a program's tables, and dropped segments, at run time.
 *
 * The functions that replace instructions, T a table and S its shadow; a = its address type:
 *
 *   lookup  (a index) -> i32      the entry's function according to S, -1 if T has none
 *   sync    ()                    lets S follow the growth of T
 *   clear   (a start, a count)    these entries become unknown
 *   set     (a, value, funcref)   table.set, then the same in S
 *   fill    (a, value, a)         table.fill, then `clear`
 *
 * table.copy and table.init have a function for each pair of tables, or segment and table.
 *
 * S can be smaller than T: if it cannot grow, or if an imported table is larger than its minimum.
 * All functions keep to the bounds of S.
 */
#include "storage/shadow.h"

#include <inttypes.h>

#include "valid/subtype.h"
#include "wasm/emit.h"

/* Returns the number of the program's segments; the module gets more. */
static uint32_t segments_of(const WasmModule *m, bool data) {
    return m->input_count[data ? WASM_SPACE_DATA : WASM_SPACE_ELEM];
}

/* ---- pass 1 ---- */

/* Whether a variant may change a value between ref.func and table.set. */
static bool interferes(const Variant *v) {
    if (v->event.kind != EVENT_OPCODE)
        return false;
    bool func = v->event.op == WASM_OP_REF_FUNC;
    const Operands *list = func ? &v->operands.results : &v->operands.args;
    bool changes = func && v->alt.is;
    for (uint32_t i = 0; i < list->len; i++)
        changes |= list->at[i].assigned;
    return changes && (func || v->event.op == WASM_OP_TABLE_SET);
}

void shadow_init(Shadow *s, WasmModule *m, const Plan *plan, bool *watch_op) {
    static const WasmOp tables[] = {WASM_OP_TABLE_SET, WASM_OP_TABLE_FILL, WASM_OP_TABLE_COPY,
                                    WASM_OP_TABLE_INIT, WASM_OP_TABLE_GROW};
    *s = (Shadow){.m = m, .tables = plan->asks.tables, .segments = plan->asks.segments};
    s->trusted = true;
    for (uint32_t i = 0; i < plan->variants.len; i++)
        s->trusted &= !interferes(plan->variants.at[i]);
    for (uint32_t i = 0; i < sizeof tables / sizeof *tables && s->tables; i++)
        watch_op[tables[i]] = true;
    watch_op[WASM_OP_DATA_DROP] = watch_op[WASM_OP_ELEM_DROP] = s->segments;
    s->table = mem_zalloc(sizeof *s->table * (m->tables.len + 1u));
    s->known = mem_alloc(sizeof *s->known * (m->funcs.len + 1u));
    memset(s->known, 0xff, sizeof *s->known * (m->funcs.len + 1u));
    for (uint32_t data = 0; data < 2; data++)
        s->segment[data] = mem_zalloc(sizeof(uint32_t) * (segments_of(m, data) + 1u));
}

void shadow_free(Shadow *s) {
    free(s->table);
    free(s->known);
    vec_free(&s->named);
    vec_free(&s->moves);
    vec_free(&s->late);
    free(s->segment[0]);
    free(s->segment[1]);
}

static bool holds_functions(const Shadow *s, uint32_t table) {
    return table < s->m->tables.len &&
           wasm_subtype(s->m, s->m->tables.at[table].type, WASM_FUNCREF);
}

/* The function that table.set puts into the table, UINT32_MAX = not known. */
static uint32_t set_function(const Shadow *s, const Site *site) {
    const WasmInstr *p = site->previous;
    bool known =
        s->trusted && p && p->op == WASM_OP_REF_FUNC && p->a < s->m->input_count[WASM_SPACE_FUNC];
    return known ? p->a : UINT32_MAX;
}

static ShadowMove *find_move(const Shadow *s, bool init, uint32_t to, uint32_t from) {
    for (uint32_t i = 0; i < s->moves.len; i++) {
        ShadowMove *v = &s->moves.at[i];
        if (v->init == init && v->to == to && v->from == from)
            return v;
    }
    return NULL;
}

/* The function that replaces table.copy or table.init; UINT32_MAX = none. */
static uint32_t move_func(const Shadow *s, bool init, uint32_t to, uint32_t from) {
    const ShadowMove *v = find_move(s, init, to, from);
    return v ? v->func : UINT32_MAX;
}

static void note_move(Shadow *s, bool init, uint32_t to, uint32_t from) {
    if (!find_move(s, init, to, from))
        vec_push(&s->moves, ((ShadowMove){init, to, from, UINT32_MAX}));
}

void shadow_note(Shadow *s, const Site *site, const Match *matches, uint32_t n) {
    const WasmInstr *i = site->instr;
    if (!i || (!s->tables && !s->segments))
        return;
    for (uint32_t k = 0; k < n; k++)
        if (matches[k].shape->variant->asks.entry && holds_functions(s, accessed_table(i)))
            s->table[accessed_table(i)].asked = true;
    switch (i->op) {
    case WASM_OP_TABLE_SET:
        if (s->tables && set_function(s, site) != UINT32_MAX)
            vec_push(&s->named, site->previous->a);
        break;
    case WASM_OP_TABLE_COPY:
        if (s->tables && holds_functions(s, i->a) && holds_functions(s, i->b))
            note_move(s, false, i->a, i->b);
        break;
    case WASM_OP_TABLE_INIT:
        if (s->tables && holds_functions(s, i->b) && i->a < s->m->elems.len)
            note_move(s, true, i->b, i->a);
        break;
    case WASM_OP_DATA_DROP:
    case WASM_OP_ELEM_DROP: {
        uint32_t k;
        bool data = accessed_segment(i, &k);
        if (s->segments && k < segments_of(s->m, data))
            s->segment[data][k] = 1;
        break;
    }
    default: break;
    }
}

/* ---- writing functions; indices are handles ---- */

static uint32_t add_lookup(Shadow *s, uint32_t t) {
    WasmType at = wasm_table_address(s->m, t);
    return emit_function(s->m, "whammc.resolve",
                         "param $at %u $table=%u $shadow=%u result i32"
                         " block"
                         "   local.get $at table.size $table %s.ge_u br_if 0"
                         "   local.get $at table.get $table ref.is_null br_if 0"
                         "   local.get $at table.size $shadow %s.ge_u br_if 0"
                         "   local.get $at table.get $shadow ref.is_null br_if 0"
                         "   local.get $at call_indirect %u $shadow return"
                         " end"
                         " i32.const -1",
                         at, t, s->table[t].handle, emit_type(at), emit_type(at), s->fid_type);
}

/* Grows the shadow to the size of the table. */
static uint32_t add_sync(Shadow *s, uint32_t t) {
    const char *n = emit_type(wasm_table_address(s->m, t));
    return emit_function(s->m, "whammc.follow",
                         "$table=%u $shadow=%u"
                         " table.size $table table.size $shadow %s.gt_u"
                         " if"
                         "   ref.null func table.size $table table.size $shadow %s.sub"
                         "   table.grow $shadow drop"
                         " end",
                         t, s->table[t].handle, n, n);
}

/* (from, count): marks these entries of the shadow as unknown, as far as they exist. */
static uint32_t add_clear(Shadow *s, uint32_t t) {
    WasmType at = wasm_table_address(s->m, t);
    const char *n = emit_type(at);
    return emit_function(s->m, "whammc.forget",
                         "param $from %u $count %u $shadow=%u"
                         " call %u local.get $from table.size $shadow %s.ge_u i32.eqz"
                         " if"
                         "   local.get $from ref.null func"
                         "   local.get $count"
                         "   table.size $shadow local.get $from %s.sub"
                         "   local.get $count table.size $shadow local.get $from %s.sub %s.lt_u"
                         "   select table.fill $shadow"
                         " end",
                         at, at, s->table[t].handle, s->table[t].sync, n, n, n, n);
}

static uint32_t add_set(Shadow *s, uint32_t t) {
    WasmType at = wasm_table_address(s->m, t);
    return emit_function(s->m, "whammc.set",
                         "param $at %u $value %u $known funcref $shadow=%u"
                         " local.get $at local.get $value table.set %u call %u"
                         " local.get $at table.size $shadow %s.ge_u i32.eqz"
                         " if local.get $at local.get $known table.set $shadow end",
                         at, s->m->tables.at[t].type, s->table[t].handle, t, s->table[t].sync,
                         emit_type(at));
}

/* ---- initial contents of tables ---- */

static uint32_t shadow_known(Shadow *s, uint32_t func) {
    if (func == UINT32_MAX)
        return s->unknown;
    if (s->known[func] == UINT32_MAX)
        s->known[func] = emit_function(s->m, "whammc.fid", "result i32 i32.const %u", func);
    return s->known[func];
}

/* Reads a constant expression up to its `end`: a function, UINT32_MAX = anything else. */
static uint32_t shadow_read_function(WasmCode *c) {
    WasmInstr i;
    uint32_t func = UINT32_MAX, n = 0;
    while (wasm_next(c, &i) && i.op != WASM_OP_END) {
        func = i.op == WASM_OP_REF_FUNC && n == 0 ? i.a : UINT32_MAX;
        n++;
    }
    return func;
}

typedef Vec(uint32_t) Handles;

/* The functions that return the indices of a segment's items. */
static void known_items(Shadow *s, const WasmElem *e, Handles *out) {
    const uint8_t *at = s->m->bytes + e->items;
    WasmCode c = wasm_code(s->m->bytes, s->m->size, e->items);
    for (uint32_t k = 0; k < e->count; k++) {
        uint32_t func = e->exprs ? shadow_read_function(&c) : wasm_vec_u32(&at);
        vec_push(out,
                 shadow_known(s, func < s->m->input_count[WASM_SPACE_FUNC] ? func : UINT32_MAX));
    }
}

/* The offset of an active segment, if it is a plain constant. */
static bool constant_offset(const WasmModule *m, const WasmElem *e, uint64_t *at) {
    WasmCode c = wasm_code(m->bytes, (size_t)e->offset + e->offset_len, e->offset);
    WasmInstr i, end;
    if (!wasm_next(&c, &i) || !wasm_next(&c, &end) || end.op != WASM_OP_END)
        return false;
    *at = i.op == WASM_OP_I32_CONST ? (uint32_t)i.c : i.c;
    return i.op == WASM_OP_I32_CONST || i.op == WASM_OP_I64_CONST;
}

static bool fills(const WasmModule *m, const WasmElem *e, uint32_t table) {
    return e->mode == WASM_ACTIVE && e->table == table &&
           e < m->elems.at + m->input_count[WASM_SPACE_ELEM];
}

/* Whether a table starts with functions, or has segments whose offsets are only known at the
 * start: then the start function puts them into the shadow, in order. */
static bool starts_late(const Shadow *s, uint32_t t) {
    uint64_t at;
    for (uint32_t k = 0; k < s->m->input_count[WASM_SPACE_ELEM]; k++)
        if (fills(s->m, &s->m->elems.at[k], t) && !constant_offset(s->m, &s->m->elems.at[k], &at))
            return true;
    return s->m->tables.at[t].init_len > 0;
}

/* Whether entries beginning at a local, $count of them, are in the shadow of a table: a
 * condition. */
static const char *shadow_fits(const Shadow *s, const char *start, uint32_t t, WasmType count) {
    WasmType at = wasm_table_address(s->m, t);
    return arena_printf(&s->m->arena,
                        "local.get %s %s local.get $count %s i64.add table.size %u %s i64.le_u",
                        start, emit_resized(at, WASM_I64), emit_resized(count, WASM_I64),
                        s->table[t].handle, emit_resized(at, WASM_I64));
}

/* (a start, i32 first, i32 count): items of a segment of `items` into the shadow. */
static uint32_t shadow_add_place(Shadow *s, uint32_t t, const Handles *items) {
    WasmType at = wasm_table_address(s->m, t);
    uint32_t segment = wasm_add_elem_passive(s->m, items->at, items->len);
    return emit_function(s->m, "whammc.place",
                         "param $start %u $first i32 $count i32"
                         " call %u %s"
                         " if local.get $start local.get $first local.get $count table.init %u %u"
                         " else local.get $start local.get $count %s call %u end",
                         at, s->table[t].sync, shadow_fits(s, "$start", t, WASM_I32), segment,
                         s->table[t].handle, emit_resized(WASM_I32, at), s->table[t].clear);
}

static uint32_t add_init(Shadow *s, uint32_t t, uint32_t segment) {
    Handles items = {0};
    known_items(s, &s->m->elems.at[segment], &items);
    uint32_t place = shadow_add_place(s, t, &items);
    vec_free(&items);
    return emit_function(s->m, "whammc.init",
                         "param $start %u $first i32 $count i32"
                         " local.get $start local.get $first local.get $count table.init %u %u"
                         " local.get $start local.get $first local.get $count call %u",
                         wasm_table_address(s->m, t), segment, t, place);
}

static uint32_t shadow_add_copy(Shadow *s, uint32_t to, uint32_t from) {
    WasmType a = wasm_table_address(s->m, to), b = wasm_table_address(s->m, from);
    WasmType count = a == WASM_I64 && b == WASM_I64 ? WASM_I64 : WASM_I32;
    return emit_function(s->m, "whammc.copy",
                         "param $to %u $from %u $count %u"
                         " local.get $to local.get $from local.get $count table.copy %u %u"
                         " call %u call %u %s %s i32.and"
                         " if local.get $to local.get $from local.get $count table.copy %u %u"
                         " else local.get $to local.get $count %s call %u end",
                         a, b, count, to, from, s->table[to].sync, s->table[from].sync,
                         shadow_fits(s, "$to", to, count), shadow_fits(s, "$from", from, count),
                         s->table[to].handle, s->table[from].handle, emit_resized(count, a),
                         s->table[to].clear);
}

static uint32_t add_fill(Shadow *s, uint32_t t) {
    WasmType at = wasm_table_address(s->m, t);
    return emit_function(s->m, "whammc.fill",
                         "param $start %u $value %u $count %u"
                         " local.get $start local.get $value local.get $count table.fill %u"
                         " local.get $start local.get $count call %u",
                         at, s->m->tables.at[t].type, at, t, s->table[t].clear);
}

/* More entries than engines allow in a table. */
enum { MAX_ENTRIES = 10000000 };

/* Adds the second table: as large as the first, and as active segments need it. */
static void shadow_add_table(Shadow *s, uint32_t t) {
    const WasmModule *m = s->m;
    uint64_t at;
    WasmLimits limits = {.min = m->tables.at[t].limits.min, .is64 = m->tables.at[t].limits.is64};
    for (uint32_t k = 0; k < m->input_count[WASM_SPACE_ELEM]; k++) {
        const WasmElem *e = &m->elems.at[k];
        if (fills(m, e, t) && constant_offset(m, e, &at) && at <= MAX_ENTRIES &&
            at + e->count <= MAX_ENTRIES && at + e->count > limits.min)
            limits.min = at + e->count;
    }
    s->table[t].handle = wasm_add_table(s->m, WASM_FUNCREF, limits, str_of("whammc.functions"));
}

/* The program's active segments, in the shadow. */
static void add_segments(Shadow *s, uint32_t t) {
    bool late = starts_late(s, t);
    uint64_t at = 0;
    for (uint32_t k = 0; k < s->m->input_count[WASM_SPACE_ELEM]; k++) {
        if (!fills(s->m, &s->m->elems.at[k], t))
            continue;
        Handles items = {0};
        known_items(s, &s->m->elems.at[k], &items);
        if (late)
            vec_push(&s->late, ((ShadowLate){t, k, shadow_add_place(s, t, &items)}));
        else if (constant_offset(s->m, &s->m->elems.at[k], &at) &&
                 at + items.len <= s->m->tables.at[s->table[t].handle].limits.min)
            wasm_add_elem_active(s->m, s->table[t].handle, at, items.at, items.len);
        vec_free(&items);
    }
}

static void add_shadow(Shadow *s, uint32_t t) {
    ShadowTable *table = &s->table[t];
    shadow_add_table(s, t);
    table->sync = add_sync(s, t);
    table->clear = add_clear(s, t);
    table->lookup = add_lookup(s, t);
    table->set = add_set(s, t);
    table->fill = add_fill(s, t);
    add_segments(s, t);
}

/* Tables from which entries are copied to a tracked table are tracked, too. */
static void close_over_copies(Shadow *s) {
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = 0; i < s->moves.len; i++) {
            const ShadowMove *v = &s->moves.at[i];
            if (v->init || !s->table[v->to].asked || s->table[v->from].asked)
                continue;
            s->table[v->from].asked = changed = true;
        }
    }
}

/* The function of a table's initial value. */
static uint32_t initial_function(const Shadow *s, uint32_t t) {
    const WasmTable *table = &s->m->tables.at[t];
    WasmCode c = wasm_code(s->m->bytes, (size_t)table->init + table->init_len, table->init);
    return table->init_len ? shadow_read_function(&c) : UINT32_MAX;
}

/* Declares the functions that ref.func puts into a shadow. */
static void shadow_declare(Shadow *s, uint32_t ntables) {
    Handles funcs = {0};
    for (uint32_t i = 0; i < s->named.len; i++)
        vec_push(&funcs, shadow_known(s, s->named.at[i]));
    for (uint32_t t = 0; t < ntables; t++)
        if (s->table[t].asked && initial_function(s, t) != UINT32_MAX)
            vec_push(&funcs, shadow_known(s, initial_function(s, t)));
    if (funcs.len)
        wasm_add_elem_declared(s->m, funcs.at, funcs.len);
    vec_free(&funcs);
}

void shadow_add(Shadow *s) {
    WasmType i32 = WASM_I32;
    uint32_t ntables = s->m->input_count[WASM_SPACE_TABLE];
    for (uint32_t data = 0; data < 2; data++)
        for (uint32_t k = 0; k < segments_of(s->m, data); k++)
            if (s->segment[data][k])
                s->segment[data][k] = wasm_add_global_i32(s->m, true, str_of("whammc.dropped"), 0);
    close_over_copies(s);
    bool any = false;
    for (uint32_t t = 0; t < ntables; t++)
        any |= s->table[t].asked;
    if (!any)
        return;
    s->fid_type = wasm_add_func_type(s->m, NULL, 0, &i32, 1);
    s->unknown = emit_function(s->m, "whammc.unknown", "result i32 i32.const -1");
    for (uint32_t t = 0; t < ntables; t++)
        if (s->table[t].asked)
            add_shadow(s, t);
    for (uint32_t i = 0; i < s->moves.len; i++) {
        ShadowMove *v = &s->moves.at[i];
        if (s->table[v->to].asked)
            v->func = v->init ? add_init(s, v->to, v->from) : shadow_add_copy(s, v->to, v->from);
    }
    shadow_declare(s, ntables);
}

/* ---- code with final indices ---- */

static uint32_t final_func(const Shadow *s, uint32_t handle) {
    return wasm_final(s->m, WASM_SPACE_FUNC, handle);
}

/* ref.func of the function that returns an index, or null. */
static const char *known_ref(const Shadow *s, uint32_t func) {
    if (func == UINT32_MAX || s->known[func] == UINT32_MAX)
        return "ref.null func";
    return arena_printf(&s->m->arena, "ref.func %u", final_func(s, s->known[func]));
}

void shadow_put_start(const Shadow *s, Buf *out) {
    const WasmModule *m = s->m;
    WasmRemap map = wasm_layout_remap(m);
    for (uint32_t t = 0; s->tables && t < m->input_count[WASM_SPACE_TABLE]; t++) {
        if (!s->table[t].asked || !m->tables.at[t].init_len)
            continue;
        uint32_t shadow = wasm_final(m, WASM_SPACE_TABLE, s->table[t].handle);
        emit(out, "%s.const 0 %s table.size %u table.fill %u", emit_type(wasm_table_address(m, t)),
             known_ref(s, initial_function(s, t)), shadow, shadow);
    }
    for (uint32_t i = 0; i < s->late.len; i++) {
        const WasmElem *e = &m->elems.at[s->late.at[i].segment];
        WasmCode c = wasm_code(m->bytes, (size_t)e->offset + e->offset_len - 1, e->offset);
        wasm_copy_code(&c, &map, out); /* without its `end` */
        emit(out, "i32.const 0 i32.const %u call %u", e->count, final_func(s, s->late.at[i].place));
    }
}

static void copy_instr(const Shadow *s, const Site *site, Buf *out) {
    WasmRemap map = wasm_layout_remap(s->m);
    const uint8_t *bytes = wasm_func_body(s->m, site->func) + site->instr->offset;
    wasm_copy_instr(bytes, site->instr, &map, out);
}

static bool put_drop(const Shadow *s, const Site *site, Buf *out) {
    uint32_t k;
    bool data = accessed_segment(site->instr, &k);
    if (!s->segments || k >= segments_of(s->m, data))
        return false;
    copy_instr(s, site, out);
    emit(out, "i32.const 1 global.set %u",
         wasm_final(s->m, WASM_SPACE_GLOBAL, s->segment[data][k]));
    return true;
}

bool shadow_put_instr(const Shadow *s, const Site *site, Buf *out) {
    const WasmInstr *i = site->instr;
    if (!s->tables && !s->segments)
        return false;
    if (i->op == WASM_OP_DATA_DROP || i->op == WASM_OP_ELEM_DROP)
        return put_drop(s, site, out);
    if (wasm_ops[i->op].category != WASM_CAT_TABLE || i->op == WASM_OP_TRY_TABLE)
        return false;
    uint32_t t = accessed_table(i);
    if (t >= s->m->input_count[WASM_SPACE_TABLE] || !s->table[t].asked)
        return false;
    const ShadowTable *table = &s->table[t];
    uint32_t func = UINT32_MAX;
    switch (i->op) {
    case WASM_OP_TABLE_SET: func = table->set; break;
    case WASM_OP_TABLE_FILL: func = table->fill; break;
    case WASM_OP_TABLE_GROW: func = table->sync; break;
    case WASM_OP_TABLE_COPY: func = move_func(s, false, i->a, i->b); break;
    case WASM_OP_TABLE_INIT: func = move_func(s, true, i->b, i->a); break;
    default: break;
    }
    if (func == UINT32_MAX)
        return false;
    if (i->op == WASM_OP_TABLE_GROW)
        copy_instr(s, site, out);
    emit(out, "%s call %u", i->op == WASM_OP_TABLE_SET ? known_ref(s, set_function(s, site)) : "",
         final_func(s, func));
    return true;
}

void shadow_put_lookup(const Shadow *s, const WasmInstr *i, Buf *out) {
    uint32_t t = accessed_table(i);
    if (s->table[t].asked)
        emit(out, "call %u", final_func(s, s->table[t].lookup));
    else
        emit(out, "drop i32.const -1"); /* not a table of functions */
}

void shadow_put_segment(const Shadow *s, const WasmInstr *i, Buf *out) {
    uint32_t k;
    bool data = accessed_segment(i, &k);
    bool passive = (data ? s->m->datas.at[k].mode : s->m->elems.at[k].mode) == WASM_PASSIVE;
    uint64_t size = data ? s->m->datas.at[k].size : s->m->elems.at[k].count;
    bool drops = passive && s->segment[data][k];
    if (!passive)
        size = 0; /* others were dropped at the start */
    if (drops)
        emit(out, "i64.const 0 i64.const %" PRIu64 " global.get %u select", size,
             wasm_final(s->m, WASM_SPACE_GLOBAL, s->segment[data][k]));
    else
        emit(out, "i64.const %" PRIu64, size);
}
