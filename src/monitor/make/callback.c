/*
 * monitor/make/callback.c - the functions that an engine calls while it attaches a monitor: static
 * predicates, values, records. All take the function index and the pc of the location.
 *
 * The atoms of a unit are computed once per location, by a function that remembers the location
 * that it was called for last: an engine tries the rules of a location one after the other.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "monitor/make/monitor_body.h"

#include "../../../stdlib/runtime/site/site.h" /* SITE_ANY */
#include "monitor/make/known.h"
#include "monitor/make/monitor_input.h"
#include "monitor/make/unit_text.h"

#include <assert.h>

enum { BITS = 64 }; /* of a word of atoms */

/* Lazy: y is evaluated if x holds. */
static Ref then(Code *c, Ref x, Ref y) {
    return !x ? y : !y ? x : code_if(c->b.module, x, y, const_i32(&c->b, 0));
}

static Ref at_place(Code *c, const char *function) {
    return runtime_call(c, function, "ii", "i", (Ref[]){place_fid(c), place_pc(c)});
}

/* ---- making and naming them ---- */

void callback_begin(Code *c, const Code *from) {
    code_begin(c, from->g, from->b.variant);
    c->at_match = true;
    c->event = from->event;
    c->at_end = from->at_end;
    c->unit = from->unit;
    c->residue = from->residue;
    c->number = from->number;
    c->part = from->part;
    c->b.atoms = from->b.atoms;
    c->b.nparams = 2;
}

static void callback_end(Code *c, const char *name, WasmType result, Ref body) {
    WasmType params[] = {WASM_I32, WASM_I32};
    scratch_add(&c->g->x, &c->b, name, params, result, body);
}

/* The name of the callback of this key; *made if it was there before. Names are numbered by kind.
 */
static Str name_for(Gen *g, Buf *key, char kind, bool *made) {
    bool added;
    uint64_t *index = map_put(&g->callbacks, buf_view(key), g->out->callbacks.len, &added);
    buf_free(key);
    *made = !added;
    if (added) {
        char *name = arena_printf(g->arena, "$%c%u", kind, g->named[(uint8_t)kind]++);
        vec_push(&g->out->callbacks, str_of(name));
    }
    return g->out->callbacks.at[*index];
}

static void key_pointer(Buf *key, const void *p) {
    buf_bytes(key, &p, sizeof p);
}

/* In a unit that is not split, the result of a callback depends on its conditions. */
static void key_conditions(Buf *key, const Code *c) {
    key_pointer(key, c->unit->dynamic ? c->unit : NULL);
    key_pointer(key, c->unit->dynamic ? c->part->gates : NULL);
}

static void key_event(Buf *key, const Code *c) {
    buf_u32le(key, c->event.kind);
    buf_u32le(key, c->event.kind == EVENT_OPCODE ? c->event.op : 0);
    buf_u8(key, c->at_end);
    key_conditions(key, c);
}

/* ---- whether static expressions have a value ---- */

static Ref callback_exists(Code *c, const Expr *e);

/* A truncation that is in range (event/fold.c). */
static Ref callback_in_range(Code *c, const Expr *e) {
    CodeModule *m = c->b.module;
    bool wide = type_wasm(e->cast) == WASM_I64, is_signed = type_is_signed(e->cast);
    double high = is_signed ? (wide ? 0x1p63 : 0x1p31) : (wide ? 0x1p64 : 0x1p32);
    double low = is_signed ? -high : 0;
    uint32_t local = gen_temp(&c->b, WASM_F64);
    Ref x = gen_known(&c->b, e->args[0]);
    if (e->args[0]->type->kind == TYPE_F32)
        x = code_op1(m, WASM_OP_F64_PROMOTE_F32, x);
    x = code_op1(m, WASM_OP_F64_TRUNC, x);
    Ref again = code_get(m, local, WASM_F64);
    Ref above = monitor_binary(c, WASM_OP_F64_GE, code_tee(m, local, x), code_f64(m, low));
    Ref below = monitor_binary(c, WASM_OP_F64_LT, again, code_f64(m, high));
    return both(c, above, below);
}

/* A divisor that is not zero, and a quotient that does not overflow. */
static Ref divides(Code *c, const Expr *e) {
    CodeModule *m = c->b.module;
    bool wide = type_wasm(e->type) == WASM_I64;
    if (type_is_float(e->type))
        return NULL;
    Ref zero = gen_known(&c->b, e->args[1]);
    Ref some = is_zero(c, code_op1(m, wide ? WASM_OP_I64_EQZ : WASM_OP_I32_EQZ, zero));
    if (e->op == OP_REM || !type_is_signed(e->type))
        return some;
    Value min = {.kind = e->type->kind, .bits = wide ? (uint64_t)INT64_MIN : 0x80000000u};
    Value minus = {.kind = e->type->kind, .bits = (uint64_t)-1};
    WasmOp eq = wide ? WASM_OP_I64_EQ : WASM_OP_I32_EQ;
    Ref lowest =
        monitor_binary(c, eq, gen_known(&c->b, e->args[0]), gen_number(&c->b, e->type, min));
    Ref minus_one =
        monitor_binary(c, eq, gen_known(&c->b, e->args[1]), gen_number(&c->b, e->type, minus));
    return both(c, some, is_zero(c, both(c, lowest, minus_one)));
}

static Ref exists_logic(Code *c, const Expr *e) {
    Ref second = callback_exists(c, e->args[1]);
    if (!second)
        return callback_exists(c, e->args[0]);
    Ref decides = gen_known(&c->b, e->args[0]);
    if (e->op == OP_AND)
        decides = is_zero(c, decides);
    return then(c, callback_exists(c, e->args[0]),
                code_if(c->b.module, decides, const_i32(&c->b, 1), second));
}

/* Whether a static expression has a value at the location; NULL = it has one everywhere. */
static Ref callback_exists(Code *c, const Expr *e) {
    Value v;
    if (known_value(c->event, e, &v))
        return NULL;
    if (e->kind == EXPR_NAME && e->is_bound && e->bound.id == NAME_IMM) {
        Ref args[] = {place_fid(c), place_pc(c), const_i32(&c->b, e->bound.n)};
        return runtime_call(c, "site_has_imm", "iii", "i", args);
    }
    if (e->kind == EXPR_BINARY && (e->op == OP_AND || e->op == OP_OR))
        return exists_logic(c, e);
    if (e->kind == EXPR_COND) {
        Ref x = callback_exists(c, e->args[1]), y = callback_exists(c, e->args[2]);
        Ref arm = x || y ? code_if(c->b.module, gen_known(&c->b, e->args[0]),
                                   x ? x : const_i32(&c->b, 1), y ? y : const_i32(&c->b, 1))
                         : NULL;
        return then(c, callback_exists(c, e->args[0]), arm);
    }
    Ref all = NULL;
    for (uint32_t i = 0; i < e->nargs; i++)
        all = then(c, all, callback_exists(c, e->args[i]));
    if (e->kind == EXPR_BINARY && (e->op == OP_DIV || e->op == OP_REM))
        return then(c, all, divides(c, e));
    if (e->kind == EXPR_CAST && type_is_float(e->args[0]->type) && !type_is_float(e->cast) &&
        e->cast->kind != TYPE_BOOL)
        return then(c, all, callback_in_range(c, e));
    return all;
}

static Ref all_exist(Code *c, const UnitAtom *a) {
    Ref all = NULL;
    for (uint32_t i = 0; i < a->n; i++)
        all = then(c, all, callback_exists(c, a->exprs[i]));
    return all ? all : const_i32(&c->b, 1);
}

/* ---- operand types ---- */

static Ref callback_operand_type(Code *c, bool local, uint32_t n) {
    Ref args[] = {place_fid(c), place_pc(c), const_i32(&c->b, n)};
    if (!local)
        return runtime_call(c, "site_arg", "iii", "i", args);
    args[1] = args[2];
    return runtime_call(c, "site_local", "ii", "i", args);
}

/* A type that is as wanted, or not known. */
static Ref callback_type_fits(Code *c, const UnitType *t) {
    enum { FUNCREF_BYTE = 0x70 };
    CodeModule *m = c->b.module;
    WasmType i32 = WASM_I32;
    uint32_t local = gen_temp(&c->b, i32);
    uint32_t want = t->type == WASM_FUNCREF ? FUNCREF_BYTE : t->type;
    Ref tee = code_tee(m, local, callback_operand_type(c, t->local, t->n));
    Ref is = monitor_binary(c, WASM_OP_I32_EQ, tee, const_i32(&c->b, want));
    Ref any =
        monitor_binary(c, WASM_OP_I32_EQ, code_get(m, local, i32), const_i32(&c->b, SITE_ANY));
    return monitor_binary(c, WASM_OP_I32_OR, is, any);
}

static Ref callback_types_fit(Code *c, const UnitAtom *a) {
    Ref all = NULL;
    for (uint32_t i = 0; i < a->n; i++)
        all = then(c, all, callback_type_fits(c, &a->types[i]));
    return all ? all : const_i32(&c->b, 1);
}

/* ---- atoms ---- */

static Ref compute_atom(Code *c, const UnitAtom *a) {
    switch (a->kind) {
    case ATOM_CONDITION: return gen_known(&c->b, a->expr);
    case ATOM_TYPES: return callback_types_fit(c, a);
    case ATOM_CONSTS: return all_exist(c, a);
    case ATOM_LIVE: return at_place(c, "site_live");
    case ATOM_WIDE:
        return monitor_binary(c, WASM_OP_I32_EQ, callback_operand_type(c, false, a->n),
                              const_i32(&c->b, WASM_I64));
    case ATOM_LAST: return at_place(c, "site_last");
    case ATOM_BLOCK_FIRST: return at_place(c, "site_block_first");
    case ATOM_BLOCK_LAST: return at_place(c, "site_block_last");
    case ATOM_ENDS_PROGRAM: return at_place(c, "site_ends_program");
    case ATOM_TO_LOOP: return at_place(c, "site_goes_to_loop");
    case ATOM_IN_TRY: return at_place(c, "site_in_try");
    case ATOM_TYPED_SELECT:
        return monitor_binary(c, WASM_OP_I32_EQ, at_place(c, "site_op"),
                              const_i32(&c->b, WASM_OP_TYPED_SELECT));
    }
    return const_i32(&c->b, 0);
}

/* A value that is computed once per function, on first use; `what` selects the value. */
static Ref once_a_function(Code *c, const void *what, Ref value, WasmType type) {
    CodeModule *m = c->b.module;
    uint64_t n = *map_put(
        &c->g->onces, (Str){arena_strndup(c->g->arena, (char *)&what, sizeof what), sizeof what},
        c->g->onces.len, NULL);
    const char *kept = arena_printf(c->g->arena, "once%u", (uint32_t)n);
    const char *func = arena_printf(c->g->arena, "once%u.of", (uint32_t)n);
    WasmType i32 = WASM_I32;
    Ref number = monitor_binary(c, WASM_OP_I32_ADD, place_fid(c), const_i32(&c->b, 1));
    Ref again = monitor_binary(c, WASM_OP_I32_ADD, place_fid(c), const_i32(&c->b, 1));
    Ref made[] = {own_set(c, func, again), own_set(c, kept, value)};
    Ref stale = monitor_binary(c, WASM_OP_I32_NE, own_get(c, func, i32), number);
    Ref code[] = {code_if(m, stale, code_block(m, 0, made, 2), NULL), own_get(c, kept, type)};
    return code_block(m, 0, code, 2);
}

static void set_atom(Code *c, const UnitAtom *a, uint32_t local, uint32_t first_local, Refs *code) {
    const Unit *u = c->unit;
    CodeModule *m = c->b.module;
    c->b.variant = a->variant ? a->variant : c->b.variant;
    c->at_end = a->at_end;
    c->event = a->variant ? a->variant->event : (Event){.kind = EVENT_OPCODE, .op = u->op};
    if (u->event == MONITOR_OPCODE || u->event == MONITOR_ANY)
        c->event.op = u->op;
    Ref value = compute_atom(c, a);
    if (a->once)
        value = once_a_function(c, a->source, value, WASM_I32);
    for (uint32_t i = a->ngates; i-- > 0;) {
        Ref gate = code_get(m, first_local + a->gates[i].atom, WASM_I32);
        value = then(c, a->gates[i].value ? gate : is_zero(c, gate), value);
    }
    if (a->kind == ATOM_CONDITION && a->guard != UNIT_KNOWN)
        value = then(c, code_get(m, first_local + a->guard, WASM_I32), value);
    if (u->atoms[0].kind == ATOM_TYPED_SELECT && local != first_local)
        value = then(c, code_get(m, first_local, WASM_I32), value);
    vec_push(code, code_set(m, local, value));
}

/* Sets locals to the atoms of the unit, in the order of their dependence. Returns the first
 * local. */
static uint32_t set_atoms(Code *c, Refs *code) {
    const Unit *u = c->unit;
    Vec(WasmType) types = {0};
    for (uint32_t i = 0; i < u->natoms; i++)
        vec_push(&types, WASM_I32);
    uint32_t first = gen_temps(&c->b, types.at, types.len);
    vec_free(&types);
    for (uint32_t round = 0; round < 2; round++)
        for (uint32_t i = 0; i < u->natoms; i++)
            if ((u->atoms[i].kind == ATOM_CONDITION) == round)
                set_atom(c, &u->atoms[i], first + i, first, code);
    return first;
}

/* fid and pc as one number, not 0. */
static Ref place_number(Code *c) {
    CodeModule *m = c->b.module;
    Ref fid = code_op1(m, WASM_OP_I64_EXTEND_I32_U, code_get(m, 0, WASM_I32));
    Ref pc = code_op1(m, WASM_OP_I64_EXTEND_I32_U, code_get(m, 1, WASM_I32));
    Ref high = monitor_binary(c, WASM_OP_I64_SHL, fid, const_i64(c, 32));
    Ref number = monitor_binary(c, WASM_OP_I64_OR, high, pc);
    return monitor_binary(c, WASM_OP_I64_ADD, number, const_i64(c, 1));
}

/* The global with atoms from 64 * word on. */
static const char *word_name(Gen *g, const Unit *u, uint32_t word) {
    return arena_printf(g->arena, "atoms%u.%u", (uint32_t)(u - g->in->units->list.at), word);
}

/* Packs the atoms into globals, 64 each. */
static void set_words(Code *c, uint32_t first, Refs *code) {
    const Unit *u = c->unit;
    CodeModule *m = c->b.module;
    for (uint32_t word = 0; word * BITS < u->natoms; word++) {
        Ref bits = const_i64(c, 0);
        for (uint32_t i = word * BITS; i < u->natoms && i < (word + 1) * BITS; i++) {
            Ref bit = code_op1(m, WASM_OP_I64_EXTEND_I32_U, code_get(m, first + i, WASM_I32));
            Ref by = const_i64(c, i % BITS);
            bits = monitor_binary(c, WASM_OP_I64_OR, bits,
                                  monitor_binary(c, WASM_OP_I64_SHL, bit, by));
        }
        vec_push(code, own_set(c, word_name(c->g, u, word), bits));
    }
}

Ref atoms_update(const Code *from) {
    Gen *g = from->g;
    const Unit *u = from->unit;
    uint32_t number = (uint32_t)(u - g->in->units->list.at);
    char *name = arena_printf(g->arena, "update%u", number);
    if (!g->updates[number]) {
        g->updates[number] = true;
        Code c;
        Refs code = {0};
        callback_begin(&c, from);
        const char *seen = arena_printf(g->arena, "seen%u", number);
        Ref stale =
            monitor_binary(&c, WASM_OP_I64_NE, own_get(&c, seen, WASM_I64), place_number(&c));
        vec_push(&code, own_set(&c, seen, place_number(&c)));
        set_words(&c, set_atoms(&c, &code), &code);
        Ref body = gen_block_of(&c.b, &code);
        callback_end(&c, name, WASM_NONE, code_if(c.b.module, stale, body, NULL));
    }
    Ref args[] = {code_get(from->b.module, 0, WASM_I32), code_get(from->b.module, 1, WASM_I32)};
    return code_call(from->b.module, name, args, 2, WASM_NONE);
}

/* Atom bits of a unit that is not split: in a callback the globals, which must be up to date, in a
 * probe a parameter. */
static Ref callback_word_of(Code *c, uint32_t word) {
    return c->at_match ? own_get(c, word_name(c->g, c->unit, word), WASM_I64)
                       : ask_callback(c, callback_bits(c, word * BITS), NULL, WASM_I64);
}

Ref atom_bit(Code *c, uint32_t atom, bool value) {
    CodeModule *m = c->b.module;
    Ref by = const_i64(c, atom % BITS);
    Ref bits = monitor_binary(c, WASM_OP_I64_SHR_U, callback_word_of(c, atom / BITS), by);
    Ref bit = monitor_binary(c, WASM_OP_I32_AND, code_op1(m, WASM_OP_I32_WRAP_I64, bits),
                             const_i32(&c->b, 1));
    return value ? bit : is_zero(c, bit);
}

Ref gates_hold(Code *c, const UnitPart *part) {
    assert(c->unit && part->ngates <= c->unit->natoms);
    Ref all = NULL;
    for (uint32_t i = 0; i < part->ngates; i++)
        all = both(c, all, atom_bit(c, part->gates[i].atom, part->gates[i].value));
    return all;
}

Str callback_bits(Code *from, uint32_t first) {
    bool made;
    Buf key = {0};
    buf_u8(&key, 'b');
    key_pointer(&key, from->unit);
    buf_u32le(&key, first);
    Str name = name_for(from->g, &key, 'b', &made);
    if (made)
        return name;
    Code c;
    callback_begin(&c, from);
    Ref code[] = {atoms_update(&c), callback_word_of(&c, first / BITS)};
    callback_end(&c, name.ptr, WASM_I64, code_block(c.b.module, 0, code, 2));
    return name;
}

/* ---- predicates ---- */

/* `&&`, `||` and `!` are more than n deep. */
static bool nests(const Expr *e, uint32_t n) {
    bool logic = e->kind == EXPR_BINARY && (e->op == OP_AND || e->op == OP_OR);
    if (!logic && !(e->kind == EXPR_UNARY && e->op == OP_NOT))
        return false;
    return !n || nests(e->args[0], n - 1) || (logic && nests(e->args[1], n - 1));
}

/* Where conditions are not decided: 1 if a predicate may have the value, as shape_decide has it. */
static Ref may_be(Code *c, const UnitPart *part, const Expr *e, bool value) {
    const Variant *v = part->action->variant;
    Value known;
    if (e->slot && e->type->kind == TYPE_BOOL && e->is_static && e->slot <= v->atoms.len &&
        v->atoms.at[e->slot - 1] == e) {
        const UnitBit *bit = &part->bits[e->slot - 1];
        return bit->atom == UNIT_KNOWN ? const_i32(&c->b, bit->value == value)
                                       : atom_bit(c, bit->atom, bit->value == value);
    }
    if (e->kind == EXPR_BINARY && (e->op == OP_AND || e->op == OP_OR)) {
        Ref x = may_be(c, part, e->args[0], value);
        bool decisive = e->op == OP_OR;
        bool stays = value != decisive && expr_has_effect(e->args[0]);
        if (stays && nests(e->args[0], 12)) /* the code for both values would be too long */
            return x;
        Ref y = may_be(c, part, e->args[1], value);
        if (stays) /* evaluated, whatever the other side, unless it is known */
            y = monitor_binary(c, WASM_OP_I32_OR, y, may_be(c, part, e->args[0], decisive));
        return monitor_binary(c, value == decisive ? WASM_OP_I32_OR : WASM_OP_I32_AND, x, y);
    }
    if (e->kind == EXPR_UNARY && e->op == OP_NOT)
        return may_be(c, part, e->args[0], !value);
    if (e->is_static && !e->slot && fold(e, NULL, &known))
        return const_i32(&c->b, (known.bits != 0) == value);
    return const_i32(&c->b, 1);
}

/* In a unit that is not split: whether a part can happen at the location; the atoms are up to date.
 */
static Ref part_holds(Code *c, const UnitPart *part) {
    Ref gates = gates_hold(c, part);
    const Expr *predicate = part->action ? part->action->variant->probe->predicate : NULL;
    Ref holds = predicate ? may_be(c, part, predicate, true) : NULL;
    Ref all = both(c, gates, holds);
    return all ? all : const_i32(&c->b, 1);
}

Ref atoms_hold(Code *c) {
    CodeModule *m = c->b.module;
    Ref any = NULL;
    for (uint32_t i = 0; i < c->residue->nterms; i++) {
        UnitTerm t = c->residue->terms[i];
        if (!t.mask)
            return NULL;
        Ref bits = own_get(c, word_name(c->g, c->unit, 0), WASM_I64);
        bits = monitor_binary(c, WASM_OP_I32_AND, code_op1(m, WASM_OP_I32_WRAP_I64, bits),
                              const_i32(&c->b, t.mask));
        Ref holds = monitor_binary(c, WASM_OP_I32_EQ, bits, const_i32(&c->b, t.bits));
        any = any ? monitor_binary(c, WASM_OP_I32_OR, any, holds) : holds;
    }
    return any ? any : const_i32(&c->b, 0);
}

static const UnitPart *refusing_part(const Code *c, uint32_t *i) {
    for (; *i < c->residue->nparts; ++*i)
        if (c->residue->parts[*i].kind == PART_REFUSE)
            return &c->residue->parts[(*i)++];
    return NULL;
}

/* Says why the monitor cannot be attached, and traps. */
static Ref callback_refuse(Code *c, const UnitPart *part) {
    uint32_t why = c->g->in->text_at(c->g->in->ctx, str_of(part->why));
    Ref args[] = {code_get(c->b.module, 0, WASM_I32), code_get(c->b.module, 1, WASM_I32),
                  const_i32(&c->b, why)};
    Ref code[] = {runtime_call(c, "site_refuse", "iii", "", args), code_trap(c->b.module)};
    return code_block(c->b.module, 0, code, 2);
}

Str callback_predicate(const Code *from) {
    uint32_t at = 0;
    Code c;
    callback_begin(&c, from);
    const UnitPart *refusal = refusing_part(&c, &at);
    Ref holds = atoms_hold(&c);
    if (c.unit->dynamic) {
        Ref any = const_i32(&c.b, 0);
        for (uint32_t i = 0; i < c.residue->nparts; i++)
            any = monitor_binary(&c, WASM_OP_I32_OR, any, part_holds(&c, &c.residue->parts[i]));
        holds = both(&c, holds, any);
    }
    if (!holds && !refusal) {
        vec_free(&c.b.locals);
        return (Str){0};
    }
    Refs code = {0};
    if (holds)
        vec_push(&code, atoms_update(&c));
    for (; refusal; refusal = refusing_part(&c, &at)) {
        Ref when = atoms_hold(&c);
        if (c.unit->dynamic)
            when = both(&c, when, part_holds(&c, refusal));
        Ref stop = callback_refuse(&c, refusal);
        vec_push(&code, when ? code_if(c.b.module, when, stop, NULL) : stop);
    }
    vec_push(&code, holds ? holds : const_i32(&c.b, 1));
    Buf key = {0};
    bool made;
    buf_u8(&key, 'p');
    key_pointer(&key, c.residue);
    Str name = name_for(c.g, &key, 'p', &made);
    callback_end(&c, name.ptr, WASM_I32, gen_block_of(&c.b, &code));
    return name;
}

/* ---- values ---- */

/* A value that is only there if the current part can happen: in units that are not split. */
static Ref if_part_holds(Code *c, Ref value, WasmType type) {
    if (!c->unit->dynamic)
        return value;
    Ref code[] = {atoms_update(c), code_if(c->b.module, part_holds(c, c->part), value,
                                           code_const(c->b.module, type, 0))};
    return code_block(c->b.module, 0, code, 2);
}

/* Equal expressions share one; each '@static' call is one of its own. */
Str callback_value(Code *from, const Expr *e) {
    bool made;
    Buf key = {0};
    buf_u8(&key, 'v');
    buf_printf(&key, "%s ", e->type->text);
    unit_text_expr(&(Decided){.event = from->event}, e, &key);
    key_event(&key, from);
    Str name = name_for(from->g, &key, 'v', &made);
    if (made)
        return name;
    Code c;
    callback_begin(&c, from);
    WasmType type = gen_type(e->type);
    Ref value = gen_known(&c.b, e);
    if (from->at_end && expr_calls_at_match(e))
        value = once_a_function(&c, e, value, type);
    callback_end(&c, name.ptr, type, if_part_holds(&c, value, type));
    return name;
}

/* A callback that returns the runtime's answer for the location; `letter`: of its name. */
static Str callback_at_place(Code *from, char letter, const char *function) {
    bool made;
    Buf key = {0};
    buf_u8(&key, (uint8_t)letter);
    Str name = name_for(from->g, &key, letter, &made);
    if (made)
        return name;
    Code c;
    callback_begin(&c, from);
    callback_end(&c, name.ptr, WASM_I32, at_place(&c, function));
    return name;
}

Str callback_to_loop(Code *from) {
    return callback_at_place(from, 'l', "site_loop_map");
}

Str callback_targets(Code *from) {
    return callback_at_place(from, 't', "site_table_targets");
}

/* ---- records ---- */

/* The value that a per-site variable starts with. */
static void put_initial(Code *c, const MonitorField *f, Refs *code) {
    const Var *v = f->var;
    Refs leaves = {0};
    if (v->type->kind == TYPE_MAP)
        vec_push(&leaves, helper_call(&c->b, HELPER_MAP_NEW, NULL));
    else if (v->init && !var_starts_dynamic(v))
        vec_push(&leaves, gen_known(&c->b, v->init));
    if (leaves.len)
        vec_push(code, gen_var_set(&c->b, v, &leaves));
    vec_free(&leaves);
}

/* Sets the initial values of the variables of a part, and runs the code for each site at
 * start-up. */
static void put_part_start(Code *c, const UnitPart *part, const MonitorRecord *record, Refs *code) {
    code_part(c, part);
    const Variant *v = c->b.variant;
    for (uint32_t i = 0; i < v->probe->nvars; i++) {
        const MonitorField *f = monitor_field(record, part, v->vars[v->probe->vars[i]->index]);
        if (f)
            put_initial(c, f, code);
    }
    if (c->b.variant->starts_dynamic)
        vec_push(code, gen_site_start(&c->b, &c->b.variant->probe->body));
}

static Ref record_get(Code *c) {
    return code_get(c->b.module, (uint32_t)c->record, WASM_I32);
}

/* Word n of a record's link. */
static Ref set_link(Code *c, const MonitorRecord *record, uint32_t n, Ref value) {
    return gen_store_word(&c->b, record_get(c), (uint32_t)record->link + 4 * n, value);
}

static Ref link_address(Code *c, const MonitorRecord *record) {
    return monitor_binary(c, WASM_OP_I32_ADD, record_get(c),
                          const_i32(&c->b, (uint32_t)record->link));
}

/* Appends the record to the list of records that have code to run at the end. */
static void callback_put_link(Code *c, const MonitorRecord *record, Refs *code) {
    CodeModule *m = c->b.module;
    WasmType i32 = WASM_I32;
    vec_push(code, set_link(c, record, 1, place_fid(c)));
    vec_push(code, set_link(c, record, 2, place_pc(c)));
    vec_push(code, set_link(c, record, 3, const_i32(&c->b, ends_add(c, record))));
    Ref append = gen_store_word(&c->b, own_get(c, "last", i32), 0, link_address(c, record));
    Ref alone = own_set(c, "first", link_address(c, record));
    vec_push(code, code_if(m, own_get(c, "last", i32), append, alone));
    vec_push(code, own_set(c, "last", link_address(c, record)));
}

/* The code that runs once for a record. A record for all exits of a function is requested at each
 * of them: the last `end` is always one, and the last one. */
static Ref start_once(Code *c, const MonitorRecord *record, Refs *start) {
    if (record->link >= 0)
        callback_put_link(c, record, start);
    Ref code = gen_block_of(&c->b, start);
    if (!c->at_end)
        return code;
    Ref pc = code_get(c->b.module, 1, WASM_I32);
    return code_if(c->b.module, monitor_binary(c, WASM_OP_I32_EQ, pc, place_pc(c)), code, NULL);
}

/* Records that parts have of their own belong to several residues, whose decisions the code may
 * depend on. */
static void key_start(Buf *key, const Code *c, const MonitorRecord *record) {
    bool own = record != c->g->in->records[c->number];
    bool starts = own && c->part->action->variant->starts_dynamic;
    buf_u32le(key, starts || (own && record->link >= 0) ? 1 + c->number : 0);
}

Str callback_record(Code *from, const MonitorRecord *record) {
    bool made;
    Buf key = {0};
    buf_u8(&key, 'a');
    key_pointer(&key, record);
    key_start(&key, from, record);
    key_conditions(&key, from);
    Str name = name_for(from->g, &key, 'a', &made);
    if (made)
        return name;
    Code c;
    Refs code = {0}, start = {0};
    callback_begin(&c, from);
    CodeModule *m = c.b.module;
    WasmType i32 = WASM_I32;
    c.record = gen_temp(&c.b, i32);
    Ref args[] = {const_i32(&c.b, record->class_at), place_fid(&c), place_pc(&c)};
    vec_push(&code,
             code_set(m, (uint32_t)c.record, runtime_call(&c, "rows_site", "iii", "i", args)));
    const UnitPart *only =
        from->part && code_record(from) != from->g->in->records[from->number] ? from->part : NULL;
    for (uint32_t i = 0; i < c.residue->nparts; i++) {
        const UnitPart *part = &c.residue->parts[i];
        if (part_has_record(part) && (only ? part == only : !part->at_end))
            put_part_start(&c, part, record, &start);
    }
    c.part = from->part;
    c.at_end = only && only->at_end;
    if (start.len || record->link >= 0)
        vec_push(&code, start_once(&c, record, &start));
    vec_push(&code, code_get(m, (uint32_t)c.record, i32));
    Ref body = gen_block_of(&c.b, &code);
    callback_end(&c, name.ptr, i32, only ? if_part_holds(&c, body, i32) : body);
    return name;
}

/* ---- '@exit' calls of sites ---- */

uint32_t ends_add(Code *c, const MonitorRecord *record) {
    bool own = record != c->g->in->records[c->number];
    End e = {record, c->unit, c->residue, c->number, own ? c->part : NULL};
    vec_push(&c->g->ends, e);
    return c->g->ends.len - 1;
}

/* A function (address of the record, function, pc) with the code for one record. */
static void build_end(Gen *g, const End *e, const char *name) {
    Code c;
    Refs code = {0};
    WasmType i32 = WASM_I32;
    Code from = {.g = g, .unit = e->unit, .residue = e->residue, .number = e->number};
    static const Variant none;
    from.b.variant = &none;
    callback_begin(&c, &from);
    c.record = 2;
    c.b.nparams = 3;
    for (uint32_t i = 0; i < e->residue->nparts; i++) {
        const UnitPart *part = &e->residue->parts[i];
        if (!part_has_record(part) || (e->only ? part != e->only : part->at_end) ||
            !part->action->variant->exits)
            continue;
        code_part(&c, part);
        Ref calls = gen_exit_calls(&c.b, &c.b.variant->probe->body);
        if (calls)
            vec_push(&code, calls);
    }
    WasmType params[] = {i32, i32, i32};
    Ref body = gen_block_of(&c.b, &code);
    scratch_add(&g->x, &c.b, name, params, WASM_NONE, body);
}

/* Goes through the list of links. */
void ends_put(Gen *g, Code *c, Refs *code) {
    CodeModule *m = c->b.module;
    WasmType i32 = WASM_I32;
    if (!g->ends.len)
        return;
    uint32_t link = gen_temp(&c->b, i32);
    Refs loop = {0};
    for (uint32_t i = 0; i < g->ends.len; i++) {
        const End *e = &g->ends.at[i];
        char *name = arena_printf(g->arena, "end%u", i);
        build_end(g, e, name);
        Ref args[] = {gen_load_word(&c->b, code_get(m, link, i32), 4),
                      gen_load_word(&c->b, code_get(m, link, i32), 8),
                      monitor_binary(c, WASM_OP_I32_SUB, code_get(m, link, i32),
                                     const_i32(&c->b, (uint32_t)e->record->link))};
        Ref is = monitor_binary(c, WASM_OP_I32_EQ, gen_load_word(&c->b, code_get(m, link, i32), 12),
                                const_i32(&c->b, i));
        vec_push(&loop, code_if(m, is, code_call(m, name, args, 3, WASM_NONE), NULL));
    }
    vec_push(&loop, code_set(m, link, gen_load_word(&c->b, code_get(m, link, i32), 0)));
    uint32_t links = code_label(m);
    vec_push(&loop, code_branch(m, links, code_get(m, link, i32)));
    Ref all = code_loop(m, links, gen_block_of(&c->b, &loop));
    vec_push(code, code_set(m, link, own_get(c, "first", i32)));
    vec_push(code, code_if(m, code_get(m, link, i32), all, NULL));
}
