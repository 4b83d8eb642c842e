/*
 * monitor/make/count.c - counting by segments in a monitor (runtime/site/site_count.h).
 *
 * The first question about a function makes the monitor walk through it: for each instruction
 * `count.match` records the amounts that the parts that only count add there. When the walk is over
 * the runtime knows where it needs counters, and the rules of this file attach these: one function
 * adds 1 to the i64 at an address.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "monitor/make/monitor_body.h"

#include "../../../stdlib/runtime/site/site_count.h" /* SITE_COUNT_FRONT */
#include "gen/template.h"
#include "monitor/make/known.h"
#include "monitor/make/monitor_input.h"

#include <stdio.h>

static const char predicate[] = "$count", falls[] = "$falls";

/* A function of fid, pc and the WasmOp, WASM_OP_COUNT at the function's entry. */
static const char match[] = "count.match";
enum { MATCH_OP = 2, MATCH_PARAMS };

/* ---- additions at a location ---- */

static const Sum *count_sum_of(const Code *c, const Addition *a) {
    return &c->g->in->units->counters->sums.at[a->sum];
}

/* As addition_amount of plan/counter.h: a number that is added to a variable, modulo 2^64; the
 * value of an unshared flag. */
static Ref addition(Code *c, const Addition *a) {
    CodeModule *m = c->b.module;
    const Sum *sum = count_sum_of(c, a);
    Value v = {.bits = 1};
    if (!a->by || (sum->flag && !sum->of_sites) || known_value(c->event, a->by, &v))
        return const_i64(c, a->minus ? 0 - v.bits : v.bits);
    Ref by = gen_known(&c->b, a->by);
    if (gen_type(a->by->type) == WASM_I32)
        by = code_op1(m, WASM_OP_I64_EXTEND_I32_S, by);
    return a->minus ? monitor_binary(c, WASM_OP_I64_SUB, const_i64(c, 0), by) : by;
}

/* All that a counter adds to a variable, from its first addition on. */
static Ref additions(Code *c, const Addition *first) {
    const Counters *counters = c->g->in->units->counters;
    bool flag = count_sum_of(c, first)->flag;
    Ref sum = addition(c, first);
    for (const Addition *a = first; (a = counters_next(counters, a));)
        sum = flag ? addition(c, a) : monitor_binary(c, WASM_OP_I64_ADD, sum, addition(c, a));
    return sum;
}

static uint32_t sum_number(Gen *g, uint32_t var) {
    bool added;
    uint32_t n = (uint32_t)*map_put(&g->sum_numbers, (Str){(const char *)&var, sizeof var},
                                    g->sums.len, &added);
    if (added)
        vec_push(&g->sums, var);
    return n;
}

/* The offset of a variable in the record of the current part; -1: it is in none. */
static int64_t field_of(const Code *c, uint32_t var) {
    const MonitorRecord *r = code_record(c);
    const MonitorField *f = r ? monitor_field(r, c->part, var) : NULL;
    return f ? (int64_t)f->offset : -1;
}

static void put_additions(Code *c, Refs *code) {
    const Plan *plan = c->g->in->plan;
    Counters *counters = c->g->in->units->counters;
    Counting k = *counters_shape(counters, c->part->shape);
    uint32_t front = c->part->action->variant->asks.entering ? SITE_COUNT_FRONT : 0;
    for (uint32_t i = 0; i < k.n; i++) {
        const Addition *first = &counters->additions.at[k.first + i];
        uint32_t var = first->sum;
        const Sum *sum = &counters->sums.at[var];
        bool asked = plan->vars.at[var].decl->report || (sum->late && !sum->of_sites);
        if (!asked || first->again)
            continue;
        Ref amount = additions(c, first);
        Ref how = const_i32(&c->b, sum->flag && sum->of_sites ? front | SITE_COUNT_FLAG : front);
        if (!sum->of_sites) {
            Ref args[] = {const_i32(&c->b, sum_number(c->g, var)), amount, how};
            vec_push(code, runtime_call(c, "site_count_sum", "ili", "", args));
            continue;
        }
        int64_t offset = field_of(c, var);
        Ref record = code_get(c->b.module, (uint32_t)c->record, WASM_I32);
        Ref slot = monitor_binary(c, WASM_OP_I32_ADD, record, const_i32(&c->b, (uint32_t)offset));
        vec_push(code, runtime_call(c, "site_count_row", "ili", "", (Ref[]){slot, amount, how}));
    }
}

/* The address of the record of the current part. */
static Ref record_of(Code *c, const MonitorRecord *record) {
    Ref place[] = {place_fid(c), place_pc(c)};
    if (c->b.variant->starts_dynamic || record->link >= 0)
        return code_call(c->b.module, callback_record(c, record).ptr, place, 2, WASM_I32);
    Ref args[] = {const_i32(&c->b, record->class_at), place[0], place[1]};
    return runtime_call(c, "rows_site", "iii", "i", args);
}

/* The additions of the current residue. Its parts have one record, or one each. */
static Ref count_put_residue(Code *c) {
    Refs code = {0};
    const MonitorRecord *last = NULL;
    for (uint32_t i = 0; i < c->residue->nparts; i++) {
        const UnitPart *part = &c->residue->parts[i];
        if (part->kind != PART_COUNT)
            continue;
        code_part(c, part);
        const MonitorRecord *record = code_record(c);
        if (record && record != last) {
            c->record = gen_temp(&c->b, WASM_I32);
            vec_push(&code, code_set(c->b.module, (uint32_t)c->record, record_of(c, record)));
            last = record;
        }
        put_additions(c, &code);
    }
    return gen_block_of(&c->b, &code);
}

/* The additions of a unit; NULL = none. */
static Ref put_unit(Code *c, uint32_t first_number) {
    Refs code = {0};
    for (uint32_t k = 0; k < c->unit->nresidues; k++) {
        c->residue = &c->unit->residues[k];
        c->number = first_number + k;
        if (!c->residue->counts)
            continue;
        Ref holds = atoms_hold(c);
        if (holds && !code.len)
            vec_push(&code, atoms_update(c));
        Ref body = count_put_residue(c);
        vec_push(&code, holds ? code_if(c->b.module, holds, body, NULL) : body);
    }
    return code.len ? gen_block_of(&c->b, &code) : NULL;
}

/* ---- the walk ---- */

/* Strs of bits, by WasmOp; SITE_COUNT_EXACT and so on. */
typedef struct Places {
    uint32_t busy, traps, how;
} Places;
enum { BITS = WASM_OP_COUNT / 8 + 1 };

static void count_begin(Code *c, Gen *g) {
    static const Variant none;
    Code from = {.g = g};
    from.b.variant = &none;
    callback_begin(c, &from);
}

/* The additions at an instruction. */
typedef struct Case {
    uint32_t op; /* WASM_OP_COUNT: at the function's entry */
    Ref code;
} Case;

/* The code of one of the cases, which are in order of `op`, found by binary search: interpreters,
 * which run this too, would step through the hundreds of blocks of a br_table. */
static Ref count_choose(Code *c, const Case *cases, uint32_t n) {
    CodeModule *m = c->b.module;
    Ref op = code_get(m, MATCH_OP, WASM_I32);
    if (n == 1)
        return code_if(m, monitor_binary(c, WASM_OP_I32_EQ, op, const_i32(&c->b, cases->op)),
                       cases->code, NULL);
    uint32_t half = n / 2;
    Ref below = monitor_binary(c, WASM_OP_I32_LT_U, op, const_i32(&c->b, cases[half].op));
    return code_if(m, below, count_choose(c, cases, half), count_choose(c, cases + half, n - half));
}

static bool build_match(Gen *g) {
    const Units *units = g->in->units;
    Ref by_op[WASM_OP_COUNT + 1] = {0};
    Vec(Case) cases = {0};
    Code c;
    count_begin(&c, g);
    c.b.nparams = MATCH_PARAMS;
    for (uint32_t i = 0, number = 0; i < units->list.len; number += units->list.at[i++].nresidues) {
        c.unit = &units->list.at[i];
        Ref code = put_unit(&c, number);
        by_op[c.unit->op] = code ? code : by_op[c.unit->op];
    }
    for (uint32_t op = 0; op <= WASM_OP_COUNT; op++)
        if (by_op[op])
            vec_push(&cases, ((Case){op, by_op[op]}));
    bool any = cases.len > 0;
    WasmType params[] = {WASM_I32, WASM_I32, WASM_I32};
    scratch_add(&g->x, &c.b, match, params, WASM_NONE,
                any ? count_choose(&c, cases.at, cases.len) : code_nop(c.b.module));
    vec_free(&cases);
    return any;
}

static Ref match_call(Code *c, Ref pc, Ref op) {
    Ref args[] = {place_fid(c), pc, op};
    return code_call(c->b.module, match, args, MATCH_PARAMS, WASM_NONE);
}

/* Walks through the function if it is another one than before. */
static Ref count_walk(Code *c, Places p) {
    CodeModule *m = c->b.module;
    WasmType i32 = WASM_I32;
    uint32_t op = gen_temp(&c->b, i32), again = code_label(m);
    Ref next = code_tee(m, op, runtime_call(c, "site_count_next", "", "i", NULL));
    Ref more = monitor_binary(c, WASM_OP_I32_NE, next, const_i32(&c->b, UINT32_MAX));
    Ref step[] = {
        match_call(c, runtime_call(c, "site_count_pc", "", "i", NULL), code_get(m, op, i32)),
        code_branch(m, again, NULL)};
    Ref rest = code_if(m, more, code_block(m, 0, step, 2), NULL);
    Ref all[] = {match_call(c, const_i32(&c->b, 0), const_i32(&c->b, WASM_OP_COUNT)),
                 code_loop(m, again, rest), runtime_call(c, "site_count_close", "", "", NULL)};
    Ref args[] = {place_fid(c), const_i32(&c->b, p.busy), const_i32(&c->b, p.traps),
                  const_i32(&c->b, p.how)};
    return code_if(m, runtime_call(c, "site_count_begin", "iiii", "i", args),
                   code_block(m, 0, all, 3), NULL);
}

static uint32_t put_bits(Gen *g, const uint8_t *bits) {
    Str text = {arena_strndup(g->arena, (const char *)bits, BITS), BITS};
    return g->in->text_at(g->in->ctx, text);
}

/* Where there may be other probes; the last bit is for entries of functions. */
static uint32_t busy_places(Gen *g) {
    uint8_t bits[BITS] = {0};
    const Units *units = g->in->units;
    for (uint32_t i = 0; i < units->list.len; i++) {
        const Unit *u = &units->list.at[i];
        bool probes = false;
        for (uint32_t k = 0; k < u->nresidues; k++)
            probes |= u->residues[k].probes;
        WasmOp ops[] = {u->op, WASM_OP_COUNT};
        if (u->event == MONITOR_FUNC_EXIT) {
            ops[0] = WASM_OP_RETURN;
            ops[1] = WASM_OP_END;
        }
        for (uint32_t k = 0; k < (u->event == MONITOR_FUNC_EXIT ? 2 : 1) && probes; k++)
            bits[ops[k] / 8] |= (uint8_t)(1u << ops[k] % 8);
    }
    return put_bits(g, bits);
}

static uint32_t trapping_places(Gen *g) {
    uint8_t bits[BITS] = {0};
    for (uint32_t op = 0; op < WASM_OP_COUNT; op++)
        if (op_can_trap((WasmOp)op))
            bits[op / 8] |= (uint8_t)(1u << op % 8);
    return put_bits(g, bits);
}

/* ---- rules ---- */

/* A callback that is a predicate as well: the address of a counter, or 0. */
static void count_build_predicate(Gen *g, const char *name, const char *runtime, Places p) {
    Code c;
    count_begin(&c, g);
    Ref code[2] = {count_walk(&c, p)};
    code[1] = runtime_call(&c, runtime, "i", "i", (Ref[]){place_pc(&c)});
    WasmType params[] = {WASM_I32, WASM_I32};
    scratch_add(&g->x, &c.b, name, params, WASM_I32, code_block(c.b.module, 0, code, 2));
    vec_push(&g->out->callbacks, str_of(name));
}

/* A probe that counts: 1, or if `op` is not WASM_OP_COUNT whether an operand lets control go on. */
static void build_counter(Gen *g, const char *name, WasmOp op) {
    static const Variant none;
    const Type *count = &type_scalar[TYPE_I64];
    Code c;
    code_begin(&c, g, &none);
    CodeModule *m = c.b.module;
    WasmType i32 = WASM_I32, params[] = {i32, i32};
    c.b.nparams = op == WASM_OP_COUNT ? 1 : 2;
    Ref by = const_i64(&c, 1);
    if (op != WASM_OP_COUNT) {
        Ref arg = is_zero(&c, code_get(m, 1, i32));
        by = code_op1(m, WASM_OP_I64_EXTEND_I32_U, op == WASM_OP_IF ? is_zero(&c, arg) : arg);
    }
    Ref now = gen_load_leaf(&c.b, count, code_get(m, 0, i32), 0);
    Ref body = gen_store_leaf(&c.b, count, code_get(m, 0, i32), 0,
                              monitor_binary(&c, WASM_OP_I64_ADD, now, by));
    scratch_add(&g->x, &c.b, name, params, WASM_NONE, body);
}

static void add_rule(Gen *g, const char *function, const char *at, MonitorEvent event, WasmOp op) {
    MonitorParam *params = arena_array(g->arena, MonitorParam, 2);
    params[0] = (MonitorParam){.kind = PARAM_CALL, .call = callback_call(g, str_of(at))};
    params[1] = (MonitorParam){.kind = PARAM_ARG};
    MonitorExport e = {.rule = {.event = event, .op = op, .params = params}};
    e.rule.nparams = op == WASM_OP_COUNT ? 1 : 2;
    e.rule.predicate = callback_call(g, str_of(at));
    e.function = str_of(function);
    vec_push(&g->out->probes, e);
}

/* Whether a residue uses the entries of loops from above: segments that may have no instructions to
 * which probes could be attached. */
static bool counts_falling(const Unit *u, const Residue *r) {
    for (uint32_t i = 0; i < r->nparts; i++) {
        const UnitPart *p = &r->parts[i];
        if (p->kind == PART_COUNT && u->op == WASM_OP_LOOP && p->action->variant->asks.entering)
            return true;
    }
    return false;
}

void count_build(Gen *g) {
    bool any = false, falling = false;
    const Units *units = g->in->units;
    for (uint32_t i = 0; i < units->list.len; i++) {
        for (uint32_t k = 0; k < units->list.at[i].nresidues; k++) {
            any |= units->list.at[i].residues[k].counts;
            falling |= counts_falling(&units->list.at[i], &units->list.at[i].residues[k]);
        }
    }
    if (!any || !build_match(g))
        return;
    g->counts = true;
    Places p = {busy_places(g), trapping_places(g), 0};
    p.how = (g->in->exact_traps ? SITE_COUNT_EXACT : 0) | (falling ? SITE_COUNT_FALLS : 0);
    count_build_predicate(g, predicate, "site_count_at", p);
    build_counter(g, "count.1", WASM_OP_COUNT);
    add_rule(g, "count.1", predicate, MONITOR_ANY, WASM_OP_COUNT);
    add_rule(g, "count.1", predicate, MONITOR_FUNC_ENTRY, WASM_OP_COUNT);
    if (!falling)
        return;
    count_build_predicate(g, falls, "site_count_falls", p);
    build_counter(g, "count.br_if", WASM_OP_BR_IF);
    build_counter(g, "count.if", WASM_OP_IF);
    add_rule(g, "count.br_if", falls, MONITOR_OPCODE, WASM_OP_BR_IF);
    add_rule(g, "count.if", falls, MONITOR_OPCODE, WASM_OP_IF);
}

/* ---- the end ---- */

void count_finish(Code *c, Refs *code) {
    Gen *g = c->g;
    CodeModule *m = c->b.module;
    WasmType i32 = WASM_I32;
    if (!g->counts)
        return;
    uint32_t totals = gen_temp(&c->b, i32);
    Ref n = const_i32(&c->b, g->sums.len);
    vec_push(code, code_set(m, totals, runtime_call(c, "site_count_finish", "i", "i", &n)));
    for (uint32_t i = 0; i < g->sums.len; i++) {
        uint32_t var = g->sums.at[i];
        const Sum *sum = &g->in->units->counters->sums.at[var];
        WasmType type = gen_type(sum->type);
        bool wide = type == WASM_I64;
        Ref by = gen_load_leaf(&c->b, &type_scalar[TYPE_I64], code_get(m, totals, i32), 8 * i);
        Ref now = c->b.ops->get(&c->b, HOLE_VAR, var * HOLE_LEAVES, type), value;
        if (sum->flag) {
            Value to = {.kind = sum->type->kind, .bits = sum->to};
            Ref never = code_op1(m, WASM_OP_I64_EQZ, by);
            value = code_select(m, never, now, gen_number(&c->b, sum->type, to));
        } else {
            by = wide ? by : code_op1(m, WASM_OP_I32_WRAP_I64, by);
            value = monitor_binary(c, wide ? WASM_OP_I64_ADD : WASM_OP_I32_ADD, now, by);
        }
        vec_push(code, hole_set(&c->b, HOLE_VAR, var * HOLE_LEAVES, type, value));
    }
}
