/*
 * monitor/make/monitor_code.c - the functions of a monitor module: probes, start and end.
 *
 * A probe function does the parts of its residue one after the other. Its parameters are known when
 * its code has been made, but precede its locals: so the code is made twice, the first time to find
 * the parameters.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "monitor/make/monitor_code.h"

#include "base/phase.h"
#include "gen/template.h"
#include "monitor/make/monitor_body.h"
#include "valid/subtype.h"

#include <assert.h>
#include <stdio.h>

/* ---- the flag that branches set ---- */

static Ref arg_is_not_zero(Code *c) {
    return monitor_binary(c, WASM_OP_I32_NE, ask(c, PARAM_ARG, 0, WASM_I32), const_i32(&c->b, 0));
}

/* Bit min(arg0, number of targets) of the runtime's map of a br_table, a str. */
static Ref table_goes_back(Code *c) {
    enum { STR_BYTES = 4 };
    CodeModule *m = c->b.module;
    WasmType i32 = WASM_I32;
    uint32_t target = gen_temp(&c->b, i32);
    Ref map = ask_callback(c, callback_to_loop(c), monitor_back, i32);
    Ref count = ask(c, PARAM_NUM_TARGETS, 0, i32), count_again = ask(c, PARAM_NUM_TARGETS, 0, i32);
    Ref index = ask(c, PARAM_ARG, 0, i32), index_again = ask(c, PARAM_ARG, 0, i32);
    Ref inside = monitor_binary(c, WASM_OP_I32_LT_U, index, count);
    Ref chosen = code_select(m, inside, index_again, count_again);
    Ref byte =
        monitor_binary(c, WASM_OP_I32_SHR_U, code_tee(m, target, chosen), const_i32(&c->b, 3));
    byte = gen_load_byte(&c->b, monitor_binary(c, WASM_OP_I32_ADD, map, byte), STR_BYTES);
    Ref bit = monitor_binary(c, WASM_OP_I32_AND, code_get(m, target, i32), const_i32(&c->b, 7));
    return monitor_binary(c, WASM_OP_I32_AND, monitor_binary(c, WASM_OP_I32_SHR_U, byte, bit),
                          const_i32(&c->b, 1));
}

static Ref monitor_code_set_back(Code *c, UnitBack how) {
    Ref value;
    switch (how) {
    case BACK_ALWAYS: value = const_i32(&c->b, 1); break;
    case BACK_IF_ARG: value = arg_is_not_zero(c); break;
    default: value = table_goes_back(c);
    }
    return own_set(c, monitor_back, value);
}

/* ---- records ---- */

/* The field's key in MonitorRecord.field_of; all of its bytes count, so there is no padding. */
typedef struct FieldKey {
    uint64_t part; /* its address; 0 in records that parts have of their own */
    uint64_t var;
} FieldKey;

void monitor_add_field(MonitorRecord *r, MonitorField f) {
    assert(!monitor_field(r, f.part, f.id));
    FieldKey key = {(uintptr_t)f.part, f.id};
    map_put(&r->field_of, (Str){(const char *)&key, sizeof key}, r->fields.len, NULL);
    vec_push(&r->fields, f);
}

const MonitorField *monitor_field(const MonitorRecord *r, const UnitPart *part, uint32_t var) {
    bool own = r->fields.len && !r->fields.at[0].part;
    FieldKey key = {own ? 0 : (uintptr_t)part, var};
    const uint64_t *i = map_get(&r->field_of, (Str){(const char *)&key, sizeof key});
    return i ? &r->fields.at[*i] : NULL;
}

/* ---- sets of frame variables ---- */

static const char frame[] = "frame", frame_base[] = "frame.base", frame_end[] = "frame.end",
                  frame_grow[] = "frame_grow";
enum { FRAME_MEMORY = 65536 }; /* for the first sets */

static Ref frame_get(Code *c) {
    return own_get(c, frame, WASM_I32);
}

/* Moves the sets to a place of twice the size; traps if there is none. */
static void build_frame_grow(Gen *g) {
    Code c;
    Refs code = {0};
    WasmType i32 = WASM_I32;
    code_begin(&c, g, NULL);
    CodeModule *m = c.b.module;
    uint32_t size = gen_temp(&c.b, i32), to = gen_temp(&c.b, i32);
    Ref have = monitor_binary(&c, WASM_OP_I32_SUB, own_get(&c, frame_end, i32),
                              own_get(&c, frame_base, i32));
    Ref twice = monitor_binary(&c, WASM_OP_I32_SHL, have, const_i32(&c.b, 1));
    vec_push(&code,
             code_set(m, size,
                      monitor_binary(&c, WASM_OP_I32_ADD, twice, const_i32(&c.b, FRAME_MEMORY))));
    Ref bytes = code_get(m, size, i32);
    vec_push(&code, code_set(m, to, helper_call(&c.b, HELPER_MEM_ALLOC, &bytes)));
    vec_push(&code, code_if(m, is_zero(&c, code_get(m, to, i32)), code_trap(m), NULL));
    Ref used = monitor_binary(&c, WASM_OP_I32_SUB, frame_get(&c), own_get(&c, frame_base, i32));
    Ref with_this = monitor_binary(&c, WASM_OP_I32_ADD, used, const_i32(&c.b, g->in->frame_bytes));
    vec_push(&code,
             gen_memory_copy(&c.b, code_get(m, to, i32), own_get(&c, frame_base, i32), with_this));
    Ref used_again =
        monitor_binary(&c, WASM_OP_I32_SUB, frame_get(&c), own_get(&c, frame_base, i32));
    vec_push(&code, own_set(&c, frame,
                            monitor_binary(&c, WASM_OP_I32_ADD, code_get(m, to, i32), used_again)));
    vec_push(&code, own_set(&c, frame_base, code_get(m, to, i32)));
    vec_push(&code, own_set(&c, frame_end,
                            monitor_binary(&c, WASM_OP_I32_ADD, code_get(m, to, i32),
                                           code_get(m, size, i32))));
    Ref body = gen_block_of(&c.b, &code);
    scratch_add(&g->x, &c.b, frame_grow, NULL, WASM_NONE, body);
}

/* frame points to the current set, from base + one set on. */
static Ref monitor_code_push_frame(Code *c) {
    CodeModule *m = c->b.module;
    WasmType i32 = WASM_I32;
    uint32_t bytes = c->g->in->frame_bytes;
    Refs code = {0};
    Ref end = monitor_binary(c, WASM_OP_I32_ADD, frame_get(c), const_i32(&c->b, 3 * bytes));
    Ref full = monitor_binary(c, WASM_OP_I32_GT_U, end, own_get(c, frame_end, i32));
    vec_push(&code, code_if(m, full, code_call(m, frame_grow, NULL, 0, WASM_NONE), NULL));
    vec_push(&code,
             own_set(c, frame,
                     monitor_binary(c, WASM_OP_I32_ADD, frame_get(c), const_i32(&c->b, bytes))));
    for (uint32_t at = 0; at < bytes && bytes <= 64; at += 8)
        vec_push(&code,
                 gen_store_leaf(&c->b, &type_scalar[TYPE_I64], frame_get(c), at, const_i64(c, 0)));
    if (bytes > 64)
        vec_push(&code, gen_memory_fill(&c->b, frame_get(c), const_i32(&c->b, 0),
                                        const_i32(&c->b, bytes)));
    return gen_block_of(&c->b, &code);
}

static Ref pop_frame(Code *c) {
    return own_set(
        c, frame,
        monitor_binary(c, WASM_OP_I32_SUB, frame_get(c), const_i32(&c->b, c->g->in->frame_bytes)));
}

/* ---- parts ---- */

/* The engine need not come here again, if nothing but the probe is there and it has removed itself.
 */
static Ref remove_at_engine(Code *c) {
    const Probe *p = c->b.variant->probe;
    Ref removed = gen_var_get(&c->b, p->removed, 0);
    return code_if(c->b.module, removed, engine_remove(c), NULL);
}

static Ref monitor_code_body_of(Code *c) {
    const Probe *p = c->b.variant->probe;
    Ref body = gen_body(&c->b, &p->body, p->vars, p->nvars);
    if (!p->removed || c->residue->nparts > 1)
        return body;
    return code_block(c->b.module, 0, (Ref[]){body, remove_at_engine(c)}, 2);
}

/* The probe's body under a condition; without branches if it only counts. */
static Ref guarded_body(Code *c, Ref condition, Ref predicate) {
    const Probe *p = c->b.variant->probe;
    CodeModule *m = c->b.module;
    if (!condition && !predicate)
        return monitor_code_body_of(c);
    if (predicate && condition && !gen_is_plain(p->predicate)) {
        Ref inner = code_if(m, predicate, monitor_code_body_of(c), NULL);
        return code_if(m, condition, inner, NULL);
    }
    condition = both(c, condition, predicate);
    if (!gen_only_counts(&p->body))
        return code_if(m, condition, monitor_code_body_of(c), NULL);
    uint32_t local = gen_temp(&c->b, WASM_I32);
    Ref steps[] = {code_set(m, local, condition), gen_counts(&c->b, &p->body, local, false)};
    return code_block(m, 0, steps, 2);
}

/* Whether a part must request its record although its code may not. */
static void ask_for_record(Code *c) {
    const MonitorRecord *r = code_record(c);
    if (r)
        ask_record(c, r);
}

static void monitor_code_put_action(Code *c, const UnitPart *part, Refs *code) {
    code_part(c, part);
    ask_for_record(c);
    const Expr *p = c->b.variant->probe->predicate;
    if (part->kind == PART_ROW)
        return;
    Ref condition = c->unit->dynamic ? gates_hold(c, part) : NULL;
    if (part->entering)
        condition = both(c, condition, is_zero(c, own_get(c, monitor_back, WASM_I32)));
    if (part->if_taken)
        condition = both(c, condition, arg_is_not_zero(c));
    bool decided = p && !c->unit->dynamic && part->shape &&
                   shape_decide(c->b.variant, UINT64_MAX, part->shape->atoms, p) == TRI_YES;
    vec_push(code, guarded_body(c, condition, p && !decided ? gen_truth(&c->b, p) : NULL));
}

/* A part that is no action, in a unit that is not split. */
static Ref if_gates(Code *c, const UnitPart *part, Ref code) {
    Ref gates = c->unit->dynamic ? gates_hold(c, part) : NULL;
    return gates ? code_if(c->b.module, gates, code, NULL) : code;
}

static void monitor_code_put_part(Code *c, const UnitPart *part, Refs *code) {
    switch (part->kind) {
    case PART_ACTION:
    case PART_ROW: monitor_code_put_action(c, part, code); break;
    case PART_SET_BACK:
        vec_push(code, if_gates(c, part, monitor_code_set_back(c, part->back)));
        break;
    case PART_CLEAR_BACK:
        vec_push(code, if_gates(c, part, own_set(c, monitor_back, const_i32(&c->b, 0))));
        break;
    case PART_PUSH_FRAME: vec_push(code, if_gates(c, part, monitor_code_push_frame(c))); break;
    case PART_POP_FRAME: vec_push(code, if_gates(c, part, pop_frame(c))); break;
    case PART_REFUSE:
    case PART_COUNT: break;
    }
}

/* ---- probe functions ---- */

static bool refuses(const Residue *r) {
    for (uint32_t i = 0; i < r->nparts; i++)
        if (r->parts[i].kind == PART_REFUSE)
            return true;
    return false;
}

/* The parts of a residue; none if nothing is attached at its locations. */
static Ref probe_body(Code *c, const Code *from, Asks *asks) {
    Refs code = {0};
    const Residue *r = from->residue;
    /* Where it is known at the location only, the predicate has not stopped for the others. */
    bool stops = refuses(r) && !from->unit->dynamic;
    *c = *from;
    c->b.ctx = c;
    c->asks = asks;
    c->b.nparams = asks->len;
    for (uint32_t i = 0; i < r->nparts && !stops; i++) {
        c->event = (Event){.kind = EVENT_OPCODE, .op = from->unit->op};
        c->at_end = false;
        c->part = NULL;
        monitor_code_put_part(c, &r->parts[i], &code);
    }
    return gen_block_of(&c->b, &code);
}

static uint32_t ask_rank(const Ask *a) {
    return a->param.kind == PARAM_CALL ? 0 : a->param.kind == PARAM_ARG ? 2 : 1;
}

static void swap_asks(Ask *a, Ask *b) {
    Ask swap = *a;
    *a = *b;
    *b = swap;
}

/* Values of callbacks first, the last request first, since engines call them from right to left.
 * Operands come last; otherwise in the order of requests. */
static void sort_asks(Asks *asks) {
    uint32_t calls = 0;
    for (uint32_t i = 1; i < asks->len; i++)
        for (uint32_t k = i; k > 0 && ask_rank(&asks->at[k]) < ask_rank(&asks->at[k - 1]); k--)
            swap_asks(&asks->at[k], &asks->at[k - 1]);
    while (calls < asks->len && asks->at[calls].param.kind == PARAM_CALL)
        calls++;
    for (uint32_t i = 0; i < calls / 2; i++)
        swap_asks(&asks->at[i], &asks->at[calls - 1 - i]);
}

/* The parameters of the probe. Returns false if it requests an operand as two types: there is no
 * such location. */
static bool find_asks(Gen *g, const Code *from, Asks *asks) {
    Code c;
    probe_body(&c, from, asks);
    body_free(&c.b);
    bool clash = g->clash;
    g->clash = false;
    sort_asks(asks);
    return !clash;
}

static void build_function(Gen *g, const Code *from, const char *name, Asks *asks) {
    Code c;
    Vec(WasmType) params = {0};
    for (uint32_t i = 0; i < asks->len; i++)
        vec_push(&params, asks->at[i].type);
    Ref body = probe_body(&c, from, asks);
    scratch_add(&g->x, &c.b, name, params.at, WASM_NONE, body);
    vec_free(&params);
}

/* A function that residues of one form share. */
typedef struct Shared {
    bool made;
    Asks asks;
} Shared;

/* Equal forms are equal code, but where instructions decide which code never runs, their requests
 * may differ. */
static bool same_asks(const Asks *a, const Asks *b) {
    if (a->len != b->len)
        return false;
    for (uint32_t i = 0; i < a->len; i++) {
        const Ask *x = &a->at[i], *y = &b->at[i];
        if (x->param.kind != y->param.kind || x->param.n != y->param.n || x->what != y->what ||
            x->type != y->type)
            return false;
    }
    return true;
}

/* Whether a function can take all values that its parts request. */
static bool can_take(Gen *g, const Code *from, const Asks *asks) {
    if (asks->len <= WASM_MAX_ARITY)
        return true;
    const Residue *r = from->residue;
    const Span at = r->parts[r->nparts - 1].action->variant->probe->rule.span;
    Diag *d = diag(g->diags, DIAG_MONITOR_CANNOT, at,
                   "the probes at one location need %u values that depend on it, but the function "
                   "that an engine calls there can have only %d parameters",
                   asks->len, WASM_MAX_ARITY);
    diag_hint(g->diags, d, "compile with `whammc instr`, or make several monitors of the scripts");
    return false;
}

/* One probe: the function of its form (NULL = it has its own), and its rule. */
static void monitor_code_build_probe(Gen *g, const Code *from, Shared *shared) {
    Asks asks = {0};
    if (!find_asks(g, from, &asks) || !can_take(g, from, &asks)) {
        vec_free(&asks);
        return;
    }
    bool alone = !shared || (shared->made && !same_asks(&shared->asks, &asks));
    char *name =
        arena_printf(g->arena, alone ? "r%u" : "f%u", alone ? from->number : from->residue->form);
    if (alone || !shared->made)
        build_function(g, from, name, &asks);
    MonitorParam *params = arena_array(g->arena, MonitorParam, asks.len + 1);
    for (uint32_t i = 0; i < asks.len; i++)
        params[i] = asks.at[i].param;
    const Unit *u = from->unit;
    MonitorExport e = {.rule = {.event = u->event, .op = u->op, .params = params}};
    e.rule.nparams = asks.len;
    e.function = str_of(name);
    Str predicate = callback_predicate(from);
    if (predicate.len)
        e.rule.predicate = callback_call(g, predicate);
    vec_push(&g->out->probes, e);
    if (alone || shared->made)
        vec_free(&asks);
    else
        *shared = (Shared){true, asks};
}

static Code code_for(Gen *g, const Unit *u, const Residue *r, uint32_t number) {
    Code c;
    code_begin(&c, g, NULL);
    c.unit = u;
    c.residue = r;
    c.number = number;
    return c;
}

static void build_probes(Gen *g) {
    const Units *units = g->in->units;
    uint32_t forms = 0, number = 0;
    for (uint32_t i = 0; i < units->list.len; i++)
        for (uint32_t k = 0; k < units->list.at[i].nresidues; k++)
            if (units->list.at[i].residues[k].form >= forms)
                forms = units->list.at[i].residues[k].form + 1;
    Shared *shared = mem_zalloc(sizeof(Shared) * (forms + 1u));
    for (uint32_t i = 0; i < units->list.len; i++) {
        const Unit *u = &units->list.at[i];
        for (uint32_t k = 0; k < u->nresidues; k++, number++) {
            const Residue *r = &u->residues[k];
            if (!r->probes)
                continue;
            Code from = code_for(g, u, r, number);
            monitor_code_build_probe(g, &from, refuses(r) || u->dynamic ? NULL : &shared[r->form]);
        }
    }
    for (uint32_t i = 0; i < forms; i++)
        vec_free(&shared[i].asks);
    free(shared);
}

/* ---- code that runs once ---- */

/* The body of a probe on `wasm:begin` and so on, or its site's code for start-up or the end. */
typedef enum OnceKind { ONCE_BODY, ONCE_START, ONCE_EXIT } OnceKind;

static void put_once(Code *c, const ShapeList *list, OnceKind kind, Refs *code) {
    for (uint32_t i = 0; i < list->len; i++) {
        const Shape *s = list->at[i];
        const Block *body = &s->variant->probe->body;
        Action once = {.variant = s->variant, .event = s->variant->event};
        UnitPart part = {.kind = PART_ACTION, .action = &once, .shape = s};
        code_part(c, &part);
        c->part = NULL;
        if (kind == ONCE_START && s->variant->starts_dynamic)
            vec_push(code, gen_site_start(&c->b, body));
        const Expr *p = s->variant->probe->predicate;
        if (kind == ONCE_BODY)
            vec_push(code, guarded_body(c, NULL, p ? gen_truth(&c->b, p) : NULL));
        Ref calls = kind == ONCE_EXIT ? gen_exit_calls(&c->b, body) : NULL;
        if (calls)
            vec_push(code, calls);
    }
}

static void monitor_code_put_call(Code *c, const char *name, Refs *code) {
    vec_push(code, code_call(c->b.module, name, NULL, 0, WASM_NONE));
}

typedef struct StaticCalls {
    Code *c;
    Refs *code;
} StaticCalls;

static void put_static(void *ctx, Expr *e) {
    const StaticCalls *s = ctx;
    if (e->kind == EXPR_METHOD && e->annotation == ANN_STATIC && e->type->kind <= TYPE_BOOL)
        vec_push(s->code, set_static(s->c, e));
}

/* '@static' calls in functions of scripts, and the initial values of shared variables that have
 * some. */
static void put_statics(Code *c, Refs *code) {
    const Plan *plan = c->g->in->plan;
    StaticCalls s = {c, code};
    for (uint32_t i = 0; i < plan->fns.len; i++)
        ast_walk_probe(&(Probe){.body = plan->fns.at[i].fn->body}, put_static, &s);
    for (uint32_t i = 0; i < plan->vars.len; i++) {
        const Var *v = plan->vars.at[i].decl;
        if (v->storage != STORAGE_SHARED || !v->init || var_starts_dynamic(v) ||
            !expr_calls_at_match(v->init))
            continue;
        WasmType type = gen_type(v->type);
        vec_push(code, hole_set(&c->b, HOLE_VAR, i * HOLE_LEAVES, type, gen_known(&c->b, v->init)));
    }
}

/* Script-scope statements, shared variables, the start-up code of probes that run once, then
 * `wasm:begin`. */
static void build_start(Gen *g) {
    const Plan *plan = g->in->plan;
    Code c;
    Refs code = {0};
    char name[32];
    code_begin(&c, g, NULL);
    for (uint32_t i = 0; i < plan->scripts.len; i++) {
        snprintf(name, sizeof name, "i%u", i);
        if (scratch_init(&g->x, i, name))
            monitor_code_put_call(&c, name, &code);
    }
    put_statics(&c, &code);
    for (uint32_t i = 0; i < plan->probes.len; i++) {
        if (!plan->probes.at[i].shared_from)
            continue;
        snprintf(name, sizeof name, "o%u", i);
        scratch_shared(&g->x, plan->probes.at[i].shared_from, name);
        monitor_code_put_call(&c, name, &code);
    }
    put_once(&c, &g->in->once.begin, ONCE_START, &code);
    put_once(&c, &g->in->once.end, ONCE_START, &code);
    put_once(&c, &g->in->once.report, ONCE_START, &code);
    put_once(&c, &g->in->once.begin, ONCE_BODY, &code);
    g->out->starts = code.len > 0;
    if (g->out->starts)
        scratch_add(&g->x, &c.b, "start", NULL, WASM_NONE, gen_block_of(&c.b, &code));
    else
        body_free(&c.b);
}

static void monitor_code_put_report(Code *c, Refs *code) {
    const MonitorInput *in = c->g->in;
    for (uint32_t i = 0; i < in->ntail; i++) {
        const Type *type = in->plan->vars.at[in->tail[i].id].decl->type;
        for (uint32_t k = 0; k < type_leaves(type); k++) {
            const Type *leaf = type_leaf(type, k);
            Ref value =
                c->b.ops->get(&c->b, HOLE_VAR, in->tail[i].id * HOLE_LEAVES + k, gen_type(leaf));
            vec_push(code, gen_store_leaf(&c->b, leaf, const_i32(&c->b, 0), in->tail[i].at + 8 * k,
                                          value));
        }
    }
    Ref args[] = {const_i32(&c->b, in->image_at), const_i32(&c->b, in->image_len),
                  const_i32(&c->b, in->tail_at), const_i32(&c->b, in->tail_bytes)};
    vec_push(code, in->rows ? runtime_call(c, "rows_report", "iiii", "", args)
                            : runtime_call(c, "report", "iii", "", args));
}

/* As rewritten programs do at flush points (flush/flush.c). */
static void build_exit(Gen *g) {
    const Plan *plan = g->in->plan;
    Code c;
    Refs code = {0};
    char name[32];
    code_begin(&c, g, NULL);
    count_finish(&c, &code);
    uint32_t finished = code.len;
    put_once(&c, &g->in->once.end, ONCE_BODY, &code);
    put_once(&c, &g->in->once.begin, ONCE_EXIT, &code);
    put_once(&c, &g->in->once.end, ONCE_EXIT, &code);
    put_once(&c, &g->in->once.report, ONCE_EXIT, &code);
    ends_put(g, &c, &code);
    for (uint32_t i = 0; i < plan->scripts.len; i++) {
        snprintf(name, sizeof name, "e%u", i);
        if (scratch_exit(&g->x, i, name))
            monitor_code_put_call(&c, name, &code);
    }
    put_once(&c, &g->in->once.report, ONCE_BODY, &code);
    if (g->in->reports)
        monitor_code_put_report(&c, &code);
    if (g->text)
        vec_push(&code, helper_call(&c.b, HELPER_FLUSH, NULL));
    g->out->ends = code.len > finished; /* else nothing reads the counts */
    if (g->out->ends)
        scratch_add(&g->x, &c.b, "exit", NULL, WASM_NONE, gen_block_of(&c.b, &code));
    else
        body_free(&c.b);
}

static void build_functions(Gen *g) {
    char name[32];
    for (uint32_t i = 0; i < g->in->plan->fns.len; i++) {
        hole_name(name, HOLE_FN, i, WASM_I32);
        scratch_fn(&g->x, &g->in->plan->fns.at[i], name);
    }
}

/* ---- */

bool gen_monitor(const MonitorInput *in, MonitorCode *out, Diags *diags) {
    assert(in->units && in->plan);
    *out = (MonitorCode){0};
    Gen g = {.in = in, .out = out, .arena = &in->plan->arena, .diags = diags};
    uint32_t errors = diags->errors;
    Code scope; /* of functions and script scope: no location */
    g.x = (Scratch){.plan = in->plan, .options = in->options, .ops = &attach_ops, .ctx = &scope};
    g.updates = arena_array(g.arena, bool, in->units->list.len + 1);
    code_begin(&scope, &g, NULL);
    if (in->units->uses_frame)
        build_frame_grow(&g);
    count_build(&g);
    build_probes(&g);
    build_start(&g);
    build_functions(&g); /* when '@static' calls in them have their places */
    build_exit(&g);
    if (g.failed && diags->errors == errors)
        diag(diags, DIAG_INTERNAL, NO_SPAN, "internal error in code generation: %s", g.failed);
    bool ok = diags->errors == errors;
    if (ok) {
        scratch_finish(&g.x);
        code_write_module(&g.x.code, &out->module);
    }
    code_free(&g.x.code);
    map_free(&g.callbacks);
    map_free(&g.statics);
    map_free(&g.onces);
    vec_free(&g.ends);
    vec_free(&g.sums);
    map_free(&g.sum_numbers);
    return ok;
}

void monitor_code_free(MonitorCode *code) {
    buf_free(&code->module);
    vec_free(&code->probes);
    vec_free(&code->callbacks);
}
