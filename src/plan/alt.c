/*
 * plan/alt.c - whether the body of an alt probe fits the sites of its instruction.
 *
 * The results of an instruction may differ from site to site (global.get, calls, blocks). A literal
 * takes the required type, so the body is checked once for each list of result types that occurs.
 */
#include "plan/alt.h"
#include "valid/frame.h"

#include <assert.h>
#include <stdio.h>

bool alt_diverges(WasmOp op) {
    return wasm_flow_stops(wasm_flow(op));
}

static bool is_tail_call(WasmOp op) {
    return wasm_flow(op) == WASM_FLOW_TAIL_CALL;
}

bool alt_returns(const Variant *v, WasmOp op) {
    assert(v->alt.is);
    return is_tail_call(op) || (op == WASM_OP_RETURN && v->alt.returns);
}

uint32_t alt_carries(const Variant *v, WasmOp op, const SiteTypes *types) {
    assert(v->alt.is);
    bool carries = v->alt.supply == SUPPLY_NEVER && types->known &&
                   (op == WASM_OP_BR_IF || op == WASM_OP_BR_ON_NON_NULL);
    return carries ? types->supplies.len : 0;
}

/* ---- ways through a body ---- */

enum { WITHOUT = 1, WITH = 2 }; /* sets of ways: without results, with results */

static bool is_alt_call(const Stmt *s) {
    const Expr *e = s->kind == STMT_CALL ? s->value : NULL;
    return e && e->kind == EXPR_CALL && e->is_bound &&
           (e->bound.id == FN_ALT_CALL_BY_ID || e->bound.id == FN_ALT_CALL_BY_NAME);
}

/* The ways that lead to the end of a block, if those in `ways` lead to it; adds to *ended those
 * that end inside. */
static unsigned ways_through(const Block *b, unsigned ways, unsigned *ended) {
    for (const Stmt *s = b->first; s && ways; s = s->next) {
        if (s->kind == STMT_RETURN) {
            *ended |= s->value ? WITH : ways;
            return 0;
        }
        if (s->kind == STMT_BREAK || s->kind == STMT_CONTINUE)
            return ways; /* no call of alt is in a loop, so these are those of its end, too */
        if (is_alt_call(s))
            ways = WITH;
        if (s->kind == STMT_LOOP)
            ways |= ways_through(&s->arms[LOOP_BODY].body, ways, ended);
        if (s->kind != STMT_IF)
            continue;
        unsigned after = s->arms[s->narms - 1].cond ? ways : 0;
        for (uint32_t i = 0; i < s->narms; i++)
            after |= ways_through(&s->arms[i].body, ways, ended);
        ways = after;
    }
    return ways;
}

Supply alt_supply(const Block *body) {
    unsigned ended = 0;
    ended |= ways_through(body, WITHOUT, &ended);
    return ended == WITH ? SUPPLY_ALWAYS : ended == WITHOUT ? SUPPLY_NEVER : SUPPLY_SOMETIMES;
}

/* ---- required types ---- */

void alt_find_supplies(const WasmTyper *t, const WasmInstr *i, const SiteTypes *types,
                       WasmTypes *out) {
    assert(!out->len && t->frames.len);
    WasmOp op = (WasmOp)i->op;
    uint32_t n = types->results.len;
    const WasmType *list = types->results.at;
    bool construct = is_arm(op) || op == WASM_OP_BLOCK || op == WASM_OP_LOOP || op == WASM_OP_IF ||
                     op == WASM_OP_TRY || op == WASM_OP_TRY_TABLE;
    if (construct)
        list = block_results(t->m, is_arm(op) ? &vec_last(&t->frames).block_type : &i->type, &n);
    else if (op == WASM_OP_RETURN || is_tail_call(op))
        list = block_results(t->m, &t->frames.at[0].block_type, &n);
    for (uint32_t k = 0; k < n; k++)
        vec_push(out, list[k]);
}

static bool alt_fits(const Type *returns, const WasmTypes *needed, bool is_address) {
    if (type_leaves(returns) != needed->len)
        return false;
    for (uint32_t k = 0; k < needed->len; k++) {
        WasmType given = type_wasm(type_leaf(returns, k)), want = needed->at[k];
        if (given != want && !(is_address && want == WASM_I64 && given == WASM_I32))
            return false;
    }
    return true;
}

/* The type of scripts that such values have; NULL = none. */
static const Type *script_type(WasmType t) {
    switch (t) {
    case WASM_I32: return &type_scalar[TYPE_I32];
    case WASM_I64: return &type_scalar[TYPE_I64];
    case WASM_F32: return &type_scalar[TYPE_F32];
    case WASM_F64: return &type_scalar[TYPE_F64];
    case WASM_FUNCREF: return &type_scalar[TYPE_FUNCREF];
    default: return NULL;
    }
}

static const Type *script_types(Plan *plan, uint32_t script, const WasmTypes *needed) {
    const Type **list = arena_array(&plan->arena, const Type *, needed->len + 1);
    for (uint32_t k = 0; k < needed->len; k++) {
        list[k] = script_type(needed->at[k]);
        if (!list[k])
            return NULL;
    }
    return needed->len == 1 ? list[0] : type_tuple(plan->scripts.at[script], list, needed->len);
}

/* The variant of the same probe that returns values of these types. It may be `impossible`. */
static Variant *variant_returning(Plan *plan, Variant *v, const WasmTypes *needed) {
    for (uint32_t i = 0; i < v->alt.others.len; i++)
        if (alt_fits(v->alt.others.at[i]->alt.wanted, needed, false))
            return v->alt.others.at[i];
    const Type *wanted = script_types(plan, v->script, needed);
    if (!wanted)
        return NULL;
    Variant *other = plan_retyped(plan, v, wanted);
    vec_push(&v->alt.others, other);
    return other;
}

/* ---- sites that do not fit ---- */

static void alt_put_types(Buf *out, const WasmTypes *list) {
    char text[32];
    if (!list->len)
        buf_str(out, STR("nothing"));
    else if (list->len > 1)
        buf_u8(out, '(');
    for (uint32_t i = 0; i < list->len; i++)
        buf_printf(out, "%s%s", i ? ", " : "", wasm_type_text(list->at[i], text));
    if (list->len > 1)
        buf_u8(out, ')');
}

static void alt_note(Plan *plan, const Variant *v, AltProblem problem, const Site *s,
                     const WasmTypes *types, const char *reason) {
    for (uint32_t i = 0; i < plan->faults.misfits.len; i++) {
        Misfit *m = &plan->faults.misfits.at[i];
        if (m->variant->source == v->source && m->problem == problem) {
            m->count++;
            return;
        }
    }
    Buf text = {0};
    alt_put_types(&text, types);
    vec_push(&plan->faults.misfits,
             ((Misfit){.variant = v,
                       .problem = problem,
                       .op = (WasmOp)s->instr->op,
                       .func = s->func,
                       .pc = s->pc,
                       .count = 1,
                       .types = arena_printf(&plan->arena, "%s", buf_cstr(&text)),
                       .reason = reason}));
    buf_free(&text);
}

static AltProblem problem_at(const Variant *v, const Site *s, const SiteTypes *types) {
    WasmOp op = (WasmOp)s->instr->op;
    bool construct = v->event.mode == MODE_BLOCK_ALT && !is_arm(op);
    if (construct && types->operands.len && !v->alt.drops && !v->alt.guarded)
        return ALT_LEAVES_OPERANDS;
    if (!types->supplies.len)
        return v->alt.returns ? ALT_RETURNS_TOO_MUCH : ALT_FITS;
    if (alt_carries(v, op, types) || (op == WASM_OP_RETURN && v->alt.supply == SUPPLY_NEVER))
        return ALT_FITS;
    if (v->alt.supply != SUPPLY_ALWAYS)
        return v->alt.supply == SUPPLY_NEVER ? ALT_SUPPLIES_NOTHING : ALT_SUPPLIES_SOMETIMES;
    bool is_address = wasm_ops[op].results[0] == 'a';
    if (v->alt.returns &&
        (v->alt.returns_differ || !alt_fits(v->alt.returns, &types->supplies, is_address)))
        return ALT_RETURNS_OTHERS;
    return ALT_FITS;
}

/* Nothing is typed after the instruction, and the body does not leave the function: a trap. */
static bool traps_after(const Variant *v, const Site *s, const SiteTypes *types) {
    WasmOp op = (WasmOp)s->instr->op;
    return alt_diverges(op) && op != WASM_OP_UNREACHABLE && !types->falls_through &&
           !alt_returns(v, op);
}

Shape *alt_fit(Plan *plan, Shape *shape, const Site *s, const SiteTypes *types) {
    assert(shape->variant->alt.is && s->instr);
    Variant *v = shape->variant;
    if (!types->known || (types->dead && !is_arm((WasmOp)s->instr->op)))
        return shape;
    AltProblem problem = problem_at(v, s, types);
    const char *reason = NULL;
    if (problem == ALT_RETURNS_OTHERS) {
        Variant *other = variant_returning(plan, v, &types->supplies);
        if (other && !other->impossible) {
            shape = plan_shape_retyped(plan, other, v, s);
            problem = ALT_FITS;
        } else if (other) {
            reason = other->alt.reason;
        } else {
            problem = ALT_NO_SUCH_TYPE;
        }
    }
    if (problem != ALT_FITS) {
        alt_note(plan, v, problem, s,
                 problem == ALT_LEAVES_OPERANDS ? &types->operands : &types->supplies, reason);
        return NULL;
    }
    if (traps_after(v, s, types))
        alt_note(plan, v, ALT_TRAPS_AFTER, s, &types->supplies, NULL);
    plan->probes.at[v->source].fits++;
    return shape;
}

/* ---- messages ---- */

static const char *verb(const Misfit *f) {
    return f->op == WASM_OP_RETURN || is_tail_call(f->op) ? "ends a function that returns"
                                                          : "leaves";
}

static void put_problem(Buf *out, const Misfit *f) {
    const Type *returns = f->variant->alt.returns;
    switch (f->problem) {
    case ALT_LEAVES_OPERANDS:
        buf_printf(out, "takes %s from the stack, but the alt body leaves it there", f->types);
        break;
    case ALT_SUPPLIES_NOTHING:
        buf_printf(out, "%s %s, but the alt body supplies nothing", verb(f), f->types);
        break;
    case ALT_SUPPLIES_SOMETIMES:
        buf_printf(out, "%s %s, but the alt body does not always supply it", verb(f), f->types);
        break;
    case ALT_RETURNS_TOO_MUCH:
        buf_printf(out, "%s no value, but the alt body returns %s", verb(f), returns->text);
        break;
    case ALT_NO_SUCH_TYPE:
        buf_printf(out, "%s %s, but scripts have no such values", verb(f), f->types);
        break;
    case ALT_TRAPS_AFTER:
        buf_printf(out, "is replaced, but the program traps there, so nothing can run after it");
        break;
    default:
        buf_printf(out, "%s %s, but the alt body returns %s", verb(f), f->types, returns->text);
    }
}

static void alt_put_hints(const Misfit *f, bool warns, Diags *diags, Diag *d) {
    if (f->reason)
        diag_hint(diags, d, "there: %s", f->reason);
    if (f->problem == ALT_LEAVES_OPERANDS)
        diag_hint(diags, d, "begin the body with 'drop_args();'");
    if (f->problem == ALT_SUPPLIES_NOTHING || f->problem == ALT_SUPPLIES_SOMETIMES)
        diag_hint(diags, d, "end the body with 'return <value>;'");
    if (warns && f->problem != ALT_TRAPS_AFTER)
        diag_hint(diags, d,
                  "a predicate, or a bound such as (res0: i32), selects the sites that fit");
}

/* A misfit is an error if the body fits no site, or if the script can always be corrected. */
static bool is_warning(const Plan *plan, const Misfit *f) {
    return f->problem == ALT_TRAPS_AFTER ||
           (plan->probes.at[f->variant->source].fits && f->problem != ALT_LEAVES_OPERANDS);
}

static void put_misfit(const WasmModule *m, const Misfit *f, bool warns, Buf *out) {
    Str name = wasm_known_name(m, f->func);
    buf_printf(out, "the %s at offset %u of function %u", wasm_ops[f->op].mnemonic, f->pc, f->func);
    if (name.len)
        buf_printf(out, " (%.*s)", name.len > 80 ? 80 : (int)name.len, name.ptr);
    buf_u8(out, ' ');
    put_problem(out, f);
    if (warns && f->problem != ALT_TRAPS_AFTER)
        buf_str(out, STR("; it is not replaced"));
    if (f->count > 1)
        buf_printf(out, " (the same at %u more site%s)", f->count - 1, f->count > 2 ? "s" : "");
}

/* One message for a probe, of each severity; it is about the first problem. */
static void plan_alt_report(const Plan *plan, const WasmModule *m, uint32_t first, Diags *diags) {
    const Misfit *f = &plan->faults.misfits.at[first];
    bool warns = is_warning(plan, f);
    Buf text = {0};
    put_misfit(m, f, warns, &text);
    Diag *d = diag(diags, warns ? DIAG_ALT_SITE : DIAG_ALT_RESULT, f->variant->probe->rule.span,
                   "%s", buf_cstr(&text));
    alt_put_hints(f, warns, diags, d);
    for (uint32_t i = first + 1; i < plan->faults.misfits.len; i++) {
        const Misfit *next = &plan->faults.misfits.at[i];
        if (next->variant->source != f->variant->source || is_warning(plan, next) != warns)
            continue;
        text.len = 0;
        put_misfit(m, next, warns, &text);
        diag_hint(diags, d, "also, %s", buf_cstr(&text));
    }
    buf_free(&text);
}

void alt_report(Plan *plan, const WasmModule *m, Diags *diags) {
    for (uint32_t i = 0; i < plan->faults.misfits.len; i++) {
        const Misfit *f = &plan->faults.misfits.at[i];
        bool told = false;
        for (uint32_t k = 0; k < i && !told; k++)
            told = plan->faults.misfits.at[k].variant->source == f->variant->source &&
                   is_warning(plan, &plan->faults.misfits.at[k]) == is_warning(plan, f);
        if (!told)
            plan_alt_report(plan, m, i, diags);
    }
    plan->faults.misfits.len = 0;
}
