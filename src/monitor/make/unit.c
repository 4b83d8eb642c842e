/*
 * monitor/make/unit.c - the actions that may happen at each kind of location, in order: the parts
 * of units and their conditions.
 */
#include "monitor/make/unit.h"

#include "analysis/flow.h"
#include "monitor/make/engine_limits.h"
#include "monitor/make/known.h"
#include "monitor/make/unit_split.h"
#include "monitor/make/unit_text.h"
#include "plan/cut.h"

#include <assert.h>

typedef struct Maker {
    Plan *plan;
    Units *units;
    Diags *diags;
    bool ok;
    bool blocks;           /* there are block:start or block:end actions */
    bool exits;            /* something happens at func:exit */
    bool at_function_exit; /* returns and last ends have nothing else: the engine's own event */
    /* The current unit. */
    Vec(UnitAtom) atoms;
    Map atom_ids; /* by text, kind and place */
    Map subjects; /* of comparisons with literals, by place and text */
    Vec(UnitPart) parts;
    MonitorEvent event;
    WasmOp op;
} Maker;

enum { MAX_GATES = 10 };

/* Gates of the part that is being made. */
typedef struct Gates {
    UnitGate at[MAX_GATES];
    uint32_t n;
} Gates;

static Gates with(Gates g, uint32_t atom, bool value) {
    if (atom != UNIT_KNOWN)
        g.at[g.n++] = (UnitGate){atom, value};
    return g;
}

static UnitGate *keep_gates(Maker *m, Gates gates) {
    UnitGate *kept = arena_array(&m->plan->arena, UnitGate, gates.n + 1);
    memcpy(kept, gates.at, gates.n * sizeof *gates.at);
    return kept;
}

/* ---- atoms ---- */

/* The index of an atom; equal texts are equal atoms. */
static uint32_t add_atom(Maker *m, UnitAtom atom, const Buf *text) {
    Buf key = {0};
    if (atom.kind != ATOM_CONDITION)
        atom.guard = UNIT_KNOWN;
    buf_u8(&key, (uint8_t)atom.kind);
    buf_u8(&key, atom.at_end);
    buf_u32le(&key, atom.guard);
    if (atom.source)
        buf_bytes(&key, &atom.source, sizeof atom.source);
    buf_bytes(&key, text->data, text->len);
    bool added;
    uint64_t id = *map_put(&m->atom_ids, buf_view(&key), m->atoms.len, &added);
    buf_free(&key);
    if (added) {
        atom.text = (Str){arena_strndup(&m->plan->arena, (char *)text->data, text->len),
                          (uint32_t)text->len};
        vec_push(&m->atoms, atom);
    }
    return (uint32_t)id;
}

static uint32_t simple_atom(Maker *m, UnitAtomKind kind) {
    static const char *const texts[] = {
        [ATOM_LIVE] = "live",
        [ATOM_LAST] = "last",
        [ATOM_BLOCK_FIRST] = "block first",
        [ATOM_BLOCK_LAST] = "block last",
        [ATOM_ENDS_PROGRAM] = "ends program",
        [ATOM_TO_LOOP] = "to loop",
        [ATOM_IN_TRY] = "in try",
        [ATOM_TYPED_SELECT] = "typed select",
    };
    Buf text = {0};
    buf_printf(&text, "%s", texts[kind]);
    uint32_t id = add_atom(m, (UnitAtom){.kind = kind}, &text);
    buf_free(&text);
    return id;
}

static uint32_t wide_atom(Maker *m, uint32_t n) {
    Buf text = {0};
    buf_printf(&text, "wide arg%u", n);
    uint32_t id = add_atom(m, (UnitAtom){.kind = ATOM_WIDE, .n = n}, &text);
    buf_free(&text);
    return id;
}

static bool is_literal(const Expr *e) {
    return e->kind == EXPR_INT || e->kind == EXPR_STR;
}

/* A condition without its negation; *value is the value of the original where the rest is true. */
static const Expr *strip_negation(Expr *e, bool *value) {
    *value = true;
    while (e->kind == EXPR_UNARY && e->op == OP_NOT) {
        *value = !*value;
        e = e->args[0];
    }
    if (e->kind != EXPR_BINARY || (e->op != OP_EQ && e->op != OP_NE))
        return e;
    *value ^= e->op == OP_NE;
    e->op = OP_EQ; /* its own copy */
    if (is_literal(e->args[0])) {
        Expr *literal = e->args[0];
        e->args[0] = e->args[1];
        e->args[1] = literal;
    }
    return e;
}

/* The number of the expression that is compared for equality with a literal; 0 = it is no such
 * comparison. */
static uint32_t subject_of(Maker *m, Event event, const Expr *e, bool at_end) {
    if (e->kind != EXPR_BINARY || e->op != OP_EQ || !is_literal(e->args[1]))
        return 0;
    Buf text = {0};
    buf_u8(&text, at_end);
    unit_text_expr(&(Decided){.event = event}, e->args[0], &text);
    uint32_t id = (uint32_t)*map_put(&m->subjects, buf_view(&text), m->subjects.len + 1, NULL);
    buf_free(&text);
    return id;
}

static bool calls_library(const Expr *e) {
    bool calls = e->kind == EXPR_METHOD && e->annotation == ANN_STATIC;
    for (uint32_t i = 0; i < e->nargs && !calls; i++)
        calls = calls_library(e->args[i]);
    return calls;
}

/* `consts`: the atom that tells whether the variant's static expressions have values; `gates`: must
 * hold where it makes '@static' calls. */
static UnitBit condition_bit(Maker *m, const Variant *v, Event event, const Expr *condition,
                             bool at_end, uint32_t consts, Gates gates) {
    bool value;
    Expr *simple = known_simplify(&m->plan->arena, event, condition);
    if (simple->kind == EXPR_BOOL)
        return (UnitBit){UNIT_KNOWN, simple->boolean};
    const Expr *e = strip_negation(simple, &value);
    if (e->kind == EXPR_NAME && e->is_bound && e->bound.id == NAME_AT_FUNC_END &&
        m->op == WASM_OP_END)
        return (UnitBit){simple_atom(m, ATOM_LAST), value};
    if (e->kind == EXPR_NAME && e->is_bound && e->bound.id == NAME_AT_FUNC_END)
        return (UnitBit){UNIT_KNOWN, !value}; /* a block event elsewhere */
    Buf text = {0};
    unit_text_expr(&(Decided){.event = event}, e, &text);
    UnitAtom atom = {.kind = ATOM_CONDITION,
                     .variant = v,
                     .expr = e,
                     .at_end = at_end && known_has_place(e),
                     .guard = known_exists(event, e) == TRI_YES ? UNIT_KNOWN : consts};
    if (calls_library(e)) {
        atom.source = condition;
        atom.gates = keep_gates(m, gates);
        atom.ngates = gates.n;
        atom.once = at_end;
    }
    uint32_t subject = subject_of(m, event, e, atom.at_end);
    uint32_t id = add_atom(m, atom, &text);
    m->atoms.at[id].subject = subject;
    buf_free(&text);
    return (UnitBit){id, value};
}

/* Whether an operand of the event has the type that the variant wants. */
static Tri operand_fits(Event event, const Operand *o) {
    const char *letters = wasm_ops[event.op].operands;
    WasmType type = cut_fixed_type(event, false, o->n), want = type_wasm(o->type);
    if (o->fixed || type != WASM_BOT)
        return o->fixed || type == want ? TRI_YES : TRI_NO;
    if (operand_is_address(event.op, false, o->n) && want == WASM_I32 && !o->bound)
        return *letters == '*' ? TRI_UNKNOWN : TRI_YES;
    if (*letters != '*' && o->n >= strlen(letters))
        return TRI_NO;
    return TRI_UNKNOWN;
}

/* Types that differ from site to site, as one atom; false if they are impossible. */
static bool types_atom(Maker *m, const Variant *v, Event event, uint32_t *atom) {
    UnitType *types =
        arena_array(&m->plan->arena, UnitType, v->operands.args.len + v->operands.locals.len + 1u);
    uint32_t n = 0;
    *atom = UNIT_KNOWN;
    for (uint32_t i = 0; i < v->operands.args.len; i++) {
        const Operand *o = &v->operands.args.at[i];
        Tri fits = event.kind == EVENT_OPCODE ? operand_fits(event, o) : TRI_NO;
        if (fits == TRI_NO)
            return false;
        if (fits == TRI_UNKNOWN)
            types[n++] = (UnitType){false, o->n, type_wasm(o->type)};
    }
    for (uint32_t i = 0; i < v->operands.locals.len; i++)
        types[n++] =
            (UnitType){true, v->operands.locals.at[i].n, type_wasm(v->operands.locals.at[i].type)};
    if (!n)
        return true;
    Buf text = {0};
    for (uint32_t i = 0; i < n; i++) {
        char name[32];
        buf_printf(&text, "%s%s%u: %s", i ? ", " : "", types[i].local ? "local" : "arg", types[i].n,
                   wasm_type_text(types[i].type, name));
    }
    *atom =
        add_atom(m, (UnitAtom){.kind = ATOM_TYPES, .variant = v, .types = types, .n = n}, &text);
    buf_free(&text);
    return true;
}

/* Static expressions that have a value only at some sites, as one atom; false if one never has. */
static bool consts_atom(Maker *m, const Variant *v, Event event, bool at_end, uint32_t *atom) {
    uint32_t total = v->consts.len + v->atoms.len, n = 0;
    const Expr **exprs = arena_array(&m->plan->arena, const Expr *, total + 1);
    Buf text = {0};
    bool place = false, ok = true;
    *atom = UNIT_KNOWN;
    for (uint32_t i = 0; i < total && ok; i++) {
        const Expr *e = i < v->consts.len ? v->consts.at[i] : v->atoms.at[i - v->consts.len];
        Tri exists = known_exists(event, e);
        ok = exists != TRI_NO;
        if (exists != TRI_UNKNOWN)
            continue;
        exprs[n] = known_simplify(&m->plan->arena, event, e);
        place |= known_has_place(exprs[n]);
        buf_printf(&text, n ? ", " : "");
        unit_text_expr(&(Decided){.event = event}, exprs[n++], &text);
    }
    if (ok && n)
        *atom = add_atom(m,
                         (UnitAtom){.kind = ATOM_CONSTS,
                                    .variant = v,
                                    .exprs = exprs,
                                    .n = n,
                                    .at_end = at_end && place},
                         &text);
    buf_free(&text);
    return ok;
}

/* ---- parts ---- */

static UnitPart *unit_add_part(Maker *m, UnitPart part, Gates gates) {
    part.ngates = gates.n;
    part.gates = keep_gates(m, gates);
    vec_push(&m->parts, part);
    return &vec_last(&m->parts);
}

static void add_refuse(Maker *m, Gates gates, const char *why) {
    unit_add_part(m, (UnitPart){.kind = PART_REFUSE, .why = why}, gates);
}

/* Whether an action can happen anywhere, as far as its event tells. */
static bool unit_happens(const Action *a) {
    const Variant *v = a->variant;
    uint64_t known = 0, atoms = 0;
    Arena scratch = {0};
    if (v->impossible)
        return false;
    for (uint32_t k = 0; k < v->atoms.len; k++) {
        const Expr *e = known_simplify(&scratch, a->event, v->atoms.at[k]);
        if (e->kind != EXPR_BOOL)
            continue;
        known |= (uint64_t)1 << k;
        atoms |= (uint64_t)e->boolean << k;
    }
    arena_free(&scratch);
    return !v->probe->predicate || shape_decide(v, known, atoms, v->probe->predicate) != TRI_NO;
}

/* Whether code uses some of these operands or locals. */
static bool unit_asks(const Operands *list) {
    for (uint32_t i = 0; i < list->len; i++)
        if (list->at[i].used)
            return true;
    return false;
}

/* A site shows though the location cannot be reached. */
static bool leaves_row(const Variant *v) {
    bool row = v->starts_dynamic || v->exits;
    for (uint32_t i = 0; i < v->probe->nvars; i++)
        row |= v->probe->vars[i]->storage == STORAGE_UNSHARED && v->probe->vars[i]->report;
    return row;
}

static void unit_add_row(Maker *m, UnitPart how, Gates gates) {
    how.kind = PART_ROW;
    if (leaves_row(how.action->variant))
        unit_add_part(m, how, gates);
}

/* An action that runs at locations where the atom has a value; the others have rows. */
static void add_running(Maker *m, UnitPart how, Gates gates, uint32_t atom, bool value) {
    unit_add_part(m, how, with(gates, atom, value));
    unit_add_row(m, how, with(gates, atom, !value));
}

/* Whether a predicate is false where this part of it is. */
static bool is_conjunct(const Expr *predicate, const Expr *e) {
    if (predicate && predicate != e && predicate->kind == EXPR_BINARY && predicate->op == OP_AND)
        return is_conjunct(predicate->args[0], e) || is_conjunct(predicate->args[1], e);
    return predicate == e;
}

/* Refuses locations where an operand that the action reads as 32 bits is a 64-bit address. Returns
 * the gates of the others. */
static Gates refuse_wide(Maker *m, const UnitPart *how, Gates gates) {
    static const char *const wide = "the script asks for a 64-bit address without a bound such as "
                                    "(arg0: u64)";
    const Action *a = how->action;
    UnitPart refuse = {.kind = PART_REFUSE, .action = how->action, .bits = how->bits, .why = wide};
    for (uint32_t i = 0; i < a->variant->operands.args.len; i++) {
        const Operand *o = &a->variant->operands.args.at[i];
        if (!o->used || o->bound || !operand_is_address(a->event.op, false, o->n) ||
            type_wasm(o->type) != WASM_I32)
            continue;
        uint32_t atom = wide_atom(m, o->n);
        unit_add_part(m, refuse, with(with(gates, atom, true), simple_atom(m, ATOM_LIVE), true));
        gates = with(gates, atom, false);
    }
    return gates;
}

/* An action with everything that it depends on. `how` has the flags. */
static void add_action(Maker *m, Action *a, UnitPart how, Gates gates) {
    static const char *const locals = "the script reads locals at a function's last end, where "
                                      "engines that compile have overwritten them";
    static const char *const reference = "what the script asks for depends on a reference operand, "
                                         "and engines pass only numbers to probes";
    const Variant *v = a->variant;
    uint32_t types, consts;
    if (!unit_happens(a) || !types_atom(m, v, a->event, &types) ||
        !consts_atom(m, v, a->event, how.at_end, &consts))
        return;
    gates = with(with(gates, types, true), consts, true);
    how.kind = PART_ACTION;
    how.action = a;
    how.bits = arena_array(&m->plan->arena, UnitBit, v->atoms.len + 1);
    Gates before = gates; /* of '@static' calls: the predicate's conditions before them, too */
    for (uint32_t k = 0; k < v->atoms.len; k++) {
        how.bits[k] = condition_bit(m, v, a->event, v->atoms.at[k], how.at_end, consts, before);
        if (before.n < MAX_GATES && is_conjunct(v->probe->predicate, v->atoms.at[k]))
            before = with(before, how.bits[k].atom, how.bits[k].value);
    }
    if (a->unseen) {
        how.kind = PART_REFUSE;
        how.why = reference;
        add_running(m, how, gates, simple_atom(m, ATOM_LIVE), true);
        return;
    }
    if (a->event.mode == MODE_AFTER) { /* of an `end` */
        add_running(m, how, gates, simple_atom(m, ATOM_LAST), false);
        return;
    }
    if (unit_asks(&v->operands.locals) && m->op == WASM_OP_END) {
        uint32_t last = simple_atom(m, ATOM_LAST);
        UnitPart refuse = {.kind = PART_REFUSE, .action = a, .bits = how.bits, .why = locals};
        unit_add_part(m, refuse, with(gates, last, true));
        gates = with(gates, last, false);
    }
    if (!unit_asks(&v->operands.args) &&
        !how.if_taken) { /* else it needs to be reached: there are operands */
        unit_add_part(m, how, gates);
        return;
    }
    Gates narrow = refuse_wide(m, &how, gates);
    uint32_t live = simple_atom(m, ATOM_LIVE);
    unit_add_part(m, how, with(narrow, live, true));
    unit_add_row(m, how, with(gates, live, false));
}

static void add_list(Maker *m, const ActionList *list, Mode mode, UnitPart how, Gates gates) {
    for (uint32_t i = 0; i < list->len; i++) {
        Action *a = &m->plan->actions.at[list->at[i]];
        if (a->event.mode == mode)
            add_action(m, a, how, gates);
    }
}

static bool list_happens(const Plan *plan, const ActionList *list, Mode mode) {
    for (uint32_t i = 0; i < list->len; i++) {
        const Action *a = &plan->actions.at[list->at[i]];
        if (a->event.mode == mode && unit_happens(a))
            return true;
    }
    return false;
}

static void add_blocks(Maker *m, Gates gates) {
    static const struct {
        EventKind kind;
        UnitAtomKind atom;
    } events[] = {{EVENT_BLOCK_START, ATOM_BLOCK_FIRST}, {EVENT_BLOCK_END, ATOM_BLOCK_LAST}};
    for (uint32_t k = 0; k < 2; k++) {
        const ActionList *list = &m->plan->by_kind[events[k].kind];
        if (!list_happens(m->plan, list, MODE_NONE))
            continue;
        add_list(m, list, MODE_NONE, (UnitPart){0},
                 with(gates, simple_atom(m, events[k].atom), true));
    }
}

static void unit_add_exits(Maker *m, Gates gates) {
    UnitPart how = {.at_end = true};
    add_list(m, &m->plan->by_kind[EVENT_FUNC_EXIT], MODE_NONE, how, gates);
}

static void add_pop(Maker *m, Gates gates) {
    if (m->units->uses_frame)
        unit_add_part(m, (UnitPart){.kind = PART_POP_FRAME}, gates);
}

/* ---- the flag ---- */

static void unit_set_back(Maker *m, UnitBack back) {
    Gates gates = with((Gates){0}, simple_atom(m, ATOM_TO_LOOP), true);
    if (back != BACK_ALWAYS) /* it uses an operand */
        gates = with(gates, simple_atom(m, ATOM_LIVE), true);
    unit_add_part(m, (UnitPart){.kind = PART_SET_BACK, .back = back}, gates);
}

/* Branches to loops, where some probe uses `back_edge`. */
static void unit_add_branch(Maker *m) {
    static const char *const reference =
        "whether it branches depends on a reference, which an engine does not show";
    static const char *const exception =
        "where an exception continues is not known to a monitor that reads 'back_edge'";
    static const char *const suspended =
        "where a suspended stack continues is not known to a monitor that reads 'back_edge'";
    if (!m->units->uses_back)
        return;
    switch (wasm_flow(m->op)) {
    case WASM_FLOW_BRANCH: unit_set_back(m, BACK_ALWAYS); break;
    case WASM_FLOW_BRANCH_TABLE: unit_set_back(m, BACK_TO_LOOP); break;
    case WASM_FLOW_BRANCH_IF:
        if (m->op == WASM_OP_BR_IF)
            unit_set_back(m, BACK_IF_ARG);
        else
            add_refuse(m, with((Gates){0}, simple_atom(m, ATOM_TO_LOOP), true), reference);
        break;
    case WASM_FLOW_OPEN:
        if (m->op == WASM_OP_TRY_TABLE)
            add_refuse(m, with((Gates){0}, simple_atom(m, ATOM_TO_LOOP), true), exception);
        break;
    case WASM_FLOW_CALL:
        if (wasm_has_handlers(m->op))
            add_refuse(m, with((Gates){0}, simple_atom(m, ATOM_TO_LOOP), true), suspended);
        break;
    default: break;
    }
}

/* ---- units ---- */

static void begin_unit(Maker *m, MonitorEvent event, WasmOp op) {
    m->event = event;
    m->op = op;
    m->atoms.len = m->parts.len = 0;
    map_free(&m->atom_ids);
    m->atom_ids = (Map){0};
}

/* Types and the like must be known where a probe is attached. */
static void unit_too_many(Maker *m, const Unit *u) {
    m->ok = false;
    for (uint32_t i = 0; i < u->nparts; i++) {
        if (!u->parts[i].action)
            continue;
        Diag *d =
            diag(m->diags, DIAG_MONITOR_CANNOT, u->parts[i].action->variant->probe->rule.span,
                 "%u different type bounds and other conditions must be known at %s; at most %d "
                 "are possible",
                 u->ntable,
                 u->op < WASM_OP_COUNT ? wasm_ops[u->op].mnemonic : "a function's entry or exit",
                 UNIT_ATOMS);
        diag_hint(m->diags, d, "compile with `whammc instr`, or make several monitors");
        return;
    }
}

/* The parts collected since begin_unit, not split. */
static Unit unit_of(Maker *m) {
    Unit u = {.event = m->event, .op = m->op, .natoms = m->atoms.len, .nparts = m->parts.len};
    u.atoms = arena_array(&m->plan->arena, UnitAtom, u.natoms + 1);
    u.parts = arena_array(&m->plan->arena, UnitPart, u.nparts + 1);
    if (u.natoms)
        memcpy(u.atoms, m->atoms.at, u.natoms * sizeof *u.atoms);
    if (u.nparts)
        memcpy(u.parts, m->parts.at, u.nparts * sizeof *u.parts);
    return u;
}

static void end_unit(Maker *m, Splitter *s) {
    if (!m->parts.len)
        return;
    Unit u = unit_of(m);
    if (!unit_split(s, &u))
        unit_too_many(m, &u);
    if (u.nresidues)
        vec_push(&m->units->list, u);
}

/* Engines fire the probe of an `end` where control passes it, so that there is no difference
 * between before and after; but nothing is after a function's last one. */
static void add_end(Maker *m) {
    const ActionList *list = &m->plan->by_op[WASM_OP_END];
    Gates none = {0};
    add_list(m, list, MODE_BEFORE, (UnitPart){0}, none);
    add_blocks(m, none);
    add_list(m, list, MODE_AFTER, (UnitPart){0}, none);
    if (m->at_function_exit || !m->exits)
        return;
    Gates last = with(none, simple_atom(m, ATOM_LAST), true);
    unit_add_exits(m, last);
    add_pop(m, last);
}

/* func:exit before instructions that leave the function. */
static void add_leaving(Maker *m) {
    static const char *const caught =
        "whether an exception leaves the function is not known to a monitor with func:exit";
    Gates none = {0};
    if (!m->exits)
        return;
    switch (wasm_flow(m->op)) {
    case WASM_FLOW_RETURN:
        if (m->at_function_exit)
            break; /* fall through */
    case WASM_FLOW_TAIL_CALL:
        unit_add_exits(m, none);
        add_pop(m, none);
        break;
    case WASM_FLOW_TRAP: unit_add_exits(m, none); break;
    case WASM_FLOW_THROW:
        if (!list_happens(m->plan, &m->plan->by_kind[EVENT_FUNC_EXIT], MODE_NONE))
            break;
        unit_add_exits(m, with(none, simple_atom(m, ATOM_IN_TRY), false));
        add_refuse(m, with(none, simple_atom(m, ATOM_IN_TRY), true), caught);
        break;
    case WASM_FLOW_CALL:
        if (m->op == WASM_OP_CALL &&
            list_happens(m->plan, &m->plan->by_kind[EVENT_FUNC_EXIT], MODE_NONE))
            unit_add_exits(m, with(none, simple_atom(m, ATOM_ENDS_PROGRAM), true));
        break;
    default: break;
    }
}

static void make_instruction(Maker *m, Splitter *s, WasmOp op) {
    const ActionList *list = &m->plan->by_op[op];
    Gates none = {0};
    bool typed_select = op == WASM_OP_TYPED_SELECT;
    begin_unit(m, typed_select ? MONITOR_ANY : MONITOR_OPCODE, op);
    if (typed_select)
        none = with(none, simple_atom(m, ATOM_TYPED_SELECT), true);
    if (op == WASM_OP_END) {
        add_end(m);
        end_unit(m, s);
        return;
    }
    add_list(m, list, MODE_BEFORE, (UnitPart){0}, none);
    add_blocks(m, none);
    add_leaving(m);
    add_list(m, list, MODE_ENTRY, (UnitPart){.if_taken = op == WASM_OP_IF}, none);
    if (op == WASM_OP_LOOP && m->units->uses_back)
        unit_add_part(m, (UnitPart){.kind = PART_CLEAR_BACK}, none);
    unit_add_branch(m);
    end_unit(m, s);
}

static void make_function(Maker *m, Splitter *s) {
    begin_unit(m, MONITOR_FUNC_ENTRY, WASM_OP_COUNT);
    if (m->units->uses_frame)
        unit_add_part(m, (UnitPart){.kind = PART_PUSH_FRAME}, (Gates){0});
    add_list(m, &m->plan->by_kind[EVENT_FUNC_ENTRY], MODE_NONE, (UnitPart){0}, (Gates){0});
    end_unit(m, s);
    if (!m->at_function_exit)
        return;
    begin_unit(m, MONITOR_FUNC_EXIT, WASM_OP_COUNT);
    unit_add_exits(m, (Gates){0});
    add_pop(m, (Gates){0});
    end_unit(m, s);
}

static bool uses_frame(const Plan *plan) {
    for (uint32_t i = 0; i < plan->variants.len; i++)
        for (uint32_t k = 0; k < plan->variants.at[i]->probe->nvars; k++)
            if (plan->variants.at[i]->probe->vars[k]->storage == STORAGE_FRAME)
                return true;
    return false;
}

/* Whether code of libraries runs, which may end the program in the middle of a segment. */
static bool unit_may_end(const Plan *plan, const Counters *counters) {
    for (uint32_t i = 0; i < plan->variants.len; i++)
        if (counters->tells[i])
            return true;
    return false;
}

/* Whether some probe of a loop must know if a branch led to it. */
static bool asks_for_back(const Units *units) {
    for (uint32_t i = 0; i < units->list.len; i++) {
        const Unit *u = &units->list.at[i];
        for (uint32_t k = 0; k < u->nresidues && u->op == WASM_OP_LOOP; k++)
            for (uint32_t p = 0; p < u->residues[k].nparts; p++)
                if (u->residues[k].parts[p].kind == PART_ACTION &&
                    u->residues[k].parts[p].action->variant->asks.back)
                    return true;
    }
    return false;
}

static void make_all(Maker *m, Splitter *s) {
    m->units->list.len = 0;
    s->nresidues = 0;
    m->ok = true;
    make_function(m, s);
    for (uint32_t op = 0; op < WASM_OP_COUNT; op++)
        make_instruction(m, s, (WasmOp)op);
}

#ifndef NDEBUG
static void check_gates(const Unit *u, const UnitPart *p) {
    assert(!part_has_record(p) || p->action);
    for (uint32_t i = 0; i < p->ngates; i++)
        assert(p->gates[i].atom < u->natoms);
}

static void check_residue(const Unit *u, const Residue *r, uint64_t seen[4]) {
    assert(r->nparts && (r->counts || r->probes));
    for (uint32_t i = 0; i < r->nparts; i++)
        check_gates(u, &r->parts[i]);
    for (uint32_t i = 0; i < r->nterms; i++)
        assert(!(r->terms[i].mask >> u->ntable) && !(r->terms[i].bits & ~r->terms[i].mask));
    for (uint32_t i = 0; i < 4; i++) {
        assert(!(seen[i] & r->when[i])); /* an assignment has one residue */
        seen[i] |= r->when[i];
    }
}

/* The invariants of units that were split. */
static bool check_units(const Units *units) {
    for (uint32_t i = 0; i < units->list.len; i++) {
        const Unit *u = &units->list.at[i];
        uint64_t seen[4] = {0};
        assert(u->ntable <= UNIT_ATOMS && u->ntable <= u->natoms);
        assert(u->dynamic || u->ntable == u->natoms);
        for (uint32_t k = 0; k < u->natoms; k++)
            assert(u->atoms[k].guard == UNIT_KNOWN || u->atoms[k].guard < u->natoms);
        for (uint32_t k = 0; k < u->nparts; k++)
            check_gates(u, &u->parts[k]);
        for (uint32_t k = 0; k < u->nresidues; k++)
            check_residue(u, &u->residues[k], seen);
    }
    return true;
}
#endif

bool units_make(Plan *plan, Counters *counters, Units *units, Diags *diags) {
    assert(plan_check(plan));
    Maker m = {.plan = plan, .units = units, .diags = diags, .ok = true};
    if (counters && unit_may_end(plan, counters))
        counters = NULL;
    Splitter s = {.plan = plan, .counters = counters};
    *units = (Units){.counters = counters};
    if (!engine_can(plan, unit_happens, diags))
        return false;
    units->uses_frame = uses_frame(plan);
    m.blocks = list_happens(plan, &plan->by_kind[EVENT_BLOCK_START], MODE_NONE) ||
               list_happens(plan, &plan->by_kind[EVENT_BLOCK_END], MODE_NONE);
    m.exits = units->uses_frame || list_happens(plan, &plan->by_kind[EVENT_FUNC_EXIT], MODE_NONE);
    m.at_function_exit = m.exits && !m.blocks &&
                         !list_happens(plan, &plan->by_op[WASM_OP_RETURN], MODE_BEFORE) &&
                         !list_happens(plan, &plan->by_op[WASM_OP_END], MODE_BEFORE) &&
                         !list_happens(plan, &plan->by_op[WASM_OP_END], MODE_AFTER);
    make_all(&m, &s);
    if (m.ok && asks_for_back(units)) {
        units->uses_back = true;
        make_all(&m, &s);
    }
    vec_free(&m.atoms);
    vec_free(&m.parts);
    map_free(&m.atom_ids);
    map_free(&m.subjects);
    splitter_free(&s);
    assert(!m.ok || check_units(units));
    return m.ok;
}

void units_free(Units *units) {
    vec_free(&units->list);
}
