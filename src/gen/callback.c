/*
 * gen/callback.c - the functions that an engine calls while it attaches a monitor: static
 * predicates, values, records. All take the function index and the pc of the location.
 *
 * The atoms of a unit are computed once per location, by a function that remembers the location
 * that it was called for last: an engine tries the rules of a location one after the other.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "gen/monitor_body.h"

#include "unit/known.h"
#include "unit/unit_text.h"
#include "../../stdlib/runtime/site/site.h" /* SITE_ANY */
#include "gen/monitor_input.h"

enum { BITS = 64 }; /* of a word of atoms */

/* Lazy: y is evaluated if x holds. */
static Ref then(Code *c, Ref x, Ref y) {
    return !x ? y : !y ? x : binaryen.If(c->b.module, x, y, const_i32(&c->b, 0));
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

static void end(Code *c, const char *name, BinaryenType result, Ref body) {
    BinaryenType params[] = {binaryen.TypeInt32(), binaryen.TypeInt32()};
    scratch_add(&c->g->x, &c->b, name, binaryen.TypeCreate(params, 2), result, body);
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

/* In a unit that is not split, what a callback returns depends on its conditions. */
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

static Ref exists(Code *c, const Expr *e);

/* A truncation that is in range (fold.c). */
static Ref in_range(Code *c, const Expr *e) {
    BinaryenModuleRef m = c->b.module;
    bool wide = type_wasm(e->cast) == WASM_I64, is_signed = type_is_signed(e->cast);
    double high = is_signed ? (wide ? 0x1p63 : 0x1p31) : (wide ? 0x1p64 : 0x1p32);
    double low = is_signed ? -high : 0;
    uint32_t local = gen_temp(&c->b, binaryen.TypeFloat64());
    Ref x = gen_known(&c->b, e->args[0]);
    if (e->args[0]->type->kind == TYPE_F32)
        x = binaryen.Unary(m, binaryen.PromoteFloat32(), x);
    x = binaryen.Unary(m, binaryen.TruncFloat64(), x);
    Ref again = binaryen.LocalGet(m, local, binaryen.TypeFloat64());
    Ref above =
        binary(c, binaryen.GeFloat64(), binaryen.LocalTee(m, local, x, binaryen.TypeFloat64()),
               binaryen.Const(m, binaryen.LiteralFloat64(low)));
    Ref below =
        binary(c, binaryen.LtFloat64(), again, binaryen.Const(m, binaryen.LiteralFloat64(high)));
    return both(c, above, below);
}

/* A divisor that is not zero, and a quotient that does not overflow. */
static Ref divides(Code *c, const Expr *e) {
    BinaryenModuleRef m = c->b.module;
    bool wide = type_wasm(e->type) == WASM_I64;
    if (type_is_float(e->type))
        return NULL;
    Ref zero = gen_known(&c->b, e->args[1]);
    Ref some =
        is_zero(c, binaryen.Unary(m, wide ? binaryen.EqZInt64() : binaryen.EqZInt32(), zero));
    if (e->op == OP_REM || !type_is_signed(e->type))
        return some;
    Value min = {.kind = e->type->kind, .bits = wide ? (uint64_t)INT64_MIN : 0x80000000u};
    Value minus = {.kind = e->type->kind, .bits = (uint64_t)-1};
    BinaryenOp eq = wide ? binaryen.EqInt64() : binaryen.EqInt32();
    Ref lowest = binary(c, eq, gen_known(&c->b, e->args[0]), gen_number(&c->b, e->type, min));
    Ref minus_one = binary(c, eq, gen_known(&c->b, e->args[1]), gen_number(&c->b, e->type, minus));
    return both(c, some, is_zero(c, both(c, lowest, minus_one)));
}

static Ref exists_logic(Code *c, const Expr *e) {
    Ref second = exists(c, e->args[1]);
    if (!second)
        return exists(c, e->args[0]);
    Ref decides = gen_known(&c->b, e->args[0]);
    if (e->op == OP_AND)
        decides = is_zero(c, decides);
    return then(c, exists(c, e->args[0]),
                binaryen.If(c->b.module, decides, const_i32(&c->b, 1), second));
}

/* Whether a static expression has a value at the location; NULL = it has one everywhere. */
static Ref exists(Code *c, const Expr *e) {
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
        Ref x = exists(c, e->args[1]), y = exists(c, e->args[2]);
        Ref arm = x || y ? binaryen.If(c->b.module, gen_known(&c->b, e->args[0]),
                                       x ? x : const_i32(&c->b, 1), y ? y : const_i32(&c->b, 1))
                         : NULL;
        return then(c, exists(c, e->args[0]), arm);
    }
    Ref all = NULL;
    for (uint32_t i = 0; i < e->nargs; i++)
        all = then(c, all, exists(c, e->args[i]));
    if (e->kind == EXPR_BINARY && (e->op == OP_DIV || e->op == OP_REM))
        return then(c, all, divides(c, e));
    if (e->kind == EXPR_CAST && type_is_float(e->args[0]->type) && !type_is_float(e->cast) &&
        e->cast->kind != TYPE_BOOL)
        return then(c, all, in_range(c, e));
    return all;
}

static Ref all_exist(Code *c, const UnitAtom *a) {
    Ref all = NULL;
    for (uint32_t i = 0; i < a->n; i++)
        all = then(c, all, exists(c, a->exprs[i]));
    return all ? all : const_i32(&c->b, 1);
}

/* ---- operand types ---- */

static Ref operand_type(Code *c, bool local, uint32_t n) {
    Ref args[] = {place_fid(c), place_pc(c), const_i32(&c->b, n)};
    if (!local)
        return runtime_call(c, "site_arg", "iii", "i", args);
    args[1] = args[2];
    return runtime_call(c, "site_local", "ii", "i", args);
}

/* A type that is as wanted, or not known. */
static Ref type_fits(Code *c, const UnitType *t) {
    enum { FUNCREF_BYTE = 0x70 };
    BinaryenModuleRef m = c->b.module;
    BinaryenType i32 = binaryen.TypeInt32();
    uint32_t local = gen_temp(&c->b, i32);
    uint32_t want = t->type == WASM_FUNCREF ? FUNCREF_BYTE : t->type;
    Ref tee = binaryen.LocalTee(m, local, operand_type(c, t->local, t->n), i32);
    Ref is = binary(c, binaryen.EqInt32(), tee, const_i32(&c->b, want));
    Ref any =
        binary(c, binaryen.EqInt32(), binaryen.LocalGet(m, local, i32), const_i32(&c->b, SITE_ANY));
    return binary(c, binaryen.OrInt32(), is, any);
}

static Ref types_fit(Code *c, const UnitAtom *a) {
    Ref all = NULL;
    for (uint32_t i = 0; i < a->n; i++)
        all = then(c, all, type_fits(c, &a->types[i]));
    return all ? all : const_i32(&c->b, 1);
}

/* ---- atoms ---- */

static Ref compute_atom(Code *c, const UnitAtom *a) {
    switch (a->kind) {
    case ATOM_CONDITION: return gen_known(&c->b, a->expr);
    case ATOM_TYPES: return types_fit(c, a);
    case ATOM_CONSTS: return all_exist(c, a);
    case ATOM_LIVE: return at_place(c, "site_live");
    case ATOM_WIDE:
        return binary(c, binaryen.EqInt32(), operand_type(c, false, a->n),
                      const_i32(&c->b, WASM_I64));
    case ATOM_LAST: return at_place(c, "site_last");
    case ATOM_BLOCK_FIRST: return at_place(c, "site_block_first");
    case ATOM_BLOCK_LAST: return at_place(c, "site_block_last");
    case ATOM_ENDS_PROGRAM: return at_place(c, "site_ends_program");
    case ATOM_TO_LOOP: return at_place(c, "site_goes_to_loop");
    case ATOM_IN_TRY: return at_place(c, "site_in_try");
    case ATOM_TYPED_SELECT:
        return binary(c, binaryen.EqInt32(), at_place(c, "site_op"),
                      const_i32(&c->b, WASM_OP_TYPED_SELECT));
    }
    return const_i32(&c->b, 0);
}

/* What is computed once for a function, at the first place that asks: `what` tells which value. */
static Ref once_a_function(Code *c, const void *what, Ref value, BinaryenType type) {
    BinaryenModuleRef m = c->b.module;
    uint64_t n = *map_put(
        &c->g->onces, (Str){arena_strndup(c->g->arena, (char *)&what, sizeof what), sizeof what},
        c->g->onces.len, NULL);
    const char *kept = arena_printf(c->g->arena, "once%u", (uint32_t)n);
    const char *func = arena_printf(c->g->arena, "once%u.of", (uint32_t)n);
    BinaryenType i32 = binaryen.TypeInt32();
    Ref number = binary(c, binaryen.AddInt32(), place_fid(c), const_i32(&c->b, 1));
    Ref again = binary(c, binaryen.AddInt32(), place_fid(c), const_i32(&c->b, 1));
    Ref made[] = {own_set(c, func, i32, again), own_set(c, kept, type, value)};
    Ref stale = binary(c, binaryen.NeInt32(), own_get(c, func, i32), number);
    Ref code[] = {
        binaryen.If(m, stale, binaryen.Block(m, NULL, made, 2, binaryen.TypeNone()), NULL),
        own_get(c, kept, type)};
    return binaryen.Block(m, NULL, code, 2, type);
}

static void set_atom(Code *c, const UnitAtom *a, uint32_t local, uint32_t first_local, Refs *code) {
    const Unit *u = c->unit;
    BinaryenModuleRef m = c->b.module;
    c->b.variant = a->variant ? a->variant : c->b.variant;
    c->at_end = a->at_end;
    c->event = a->variant ? a->variant->event : (Event){.kind = EVENT_OPCODE, .op = u->op};
    if (u->event == MONITOR_OPCODE || u->event == MONITOR_ANY)
        c->event.op = u->op;
    Ref value = compute_atom(c, a);
    if (a->once)
        value = once_a_function(c, a->source, value, binaryen.TypeInt32());
    for (uint32_t i = a->ngates; i-- > 0;) {
        Ref gate = binaryen.LocalGet(m, first_local + a->gates[i].atom, binaryen.TypeInt32());
        value = then(c, a->gates[i].value ? gate : is_zero(c, gate), value);
    }
    if (a->kind == ATOM_CONDITION && a->guard != UNIT_KNOWN)
        value = then(c, binaryen.LocalGet(m, first_local + a->guard, binaryen.TypeInt32()), value);
    if (u->atoms[0].kind == ATOM_TYPED_SELECT && local != first_local)
        value = then(c, binaryen.LocalGet(m, first_local, binaryen.TypeInt32()), value);
    vec_push(code, binaryen.LocalSet(m, local, value));
}

/* Sets locals to the atoms of the unit; those that others depend on first. Returns the first one.
 */
static uint32_t set_atoms(Code *c, Refs *code) {
    const Unit *u = c->unit;
    Vec(BinaryenType) types = {0};
    for (uint32_t i = 0; i < u->natoms; i++)
        vec_push(&types, binaryen.TypeInt32());
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
    BinaryenModuleRef m = c->b.module;
    Ref fid =
        binaryen.Unary(m, binaryen.ExtendUInt32(), binaryen.LocalGet(m, 0, binaryen.TypeInt32()));
    Ref pc =
        binaryen.Unary(m, binaryen.ExtendUInt32(), binaryen.LocalGet(m, 1, binaryen.TypeInt32()));
    Ref high = binary(c, binaryen.ShlInt64(), fid, const_i64(c, 32));
    Ref number = binary(c, binaryen.OrInt64(), high, pc);
    return binary(c, binaryen.AddInt64(), number, const_i64(c, 1));
}

/* The global with atoms from 64 * word on. */
static const char *word_name(Gen *g, const Unit *u, uint32_t word) {
    return arena_printf(g->arena, "atoms%u.%u", (uint32_t)(u - g->in->units->list.at), word);
}

/* Packs the atoms into globals, 64 each. */
static void set_words(Code *c, uint32_t first, Refs *code) {
    const Unit *u = c->unit;
    BinaryenModuleRef m = c->b.module;
    for (uint32_t word = 0; word * BITS < u->natoms; word++) {
        Ref bits = const_i64(c, 0);
        for (uint32_t i = word * BITS; i < u->natoms && i < (word + 1) * BITS; i++) {
            Ref bit = binaryen.Unary(m, binaryen.ExtendUInt32(),
                                     binaryen.LocalGet(m, first + i, binaryen.TypeInt32()));
            Ref by = const_i64(c, i % BITS);
            bits = binary(c, binaryen.OrInt64(), bits, binary(c, binaryen.ShlInt64(), bit, by));
        }
        vec_push(code, own_set(c, word_name(c->g, u, word), binaryen.TypeInt64(), bits));
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
        Ref stale = binary(&c, binaryen.NeInt64(), own_get(&c, seen, binaryen.TypeInt64()),
                           place_number(&c));
        vec_push(&code, own_set(&c, seen, binaryen.TypeInt64(), place_number(&c)));
        set_words(&c, set_atoms(&c, &code), &code);
        Ref body = gen_block_of(&c.b, &code, binaryen.TypeNone());
        end(&c, name, binaryen.TypeNone(), binaryen.If(c.b.module, stale, body, NULL));
    }
    Ref args[] = {binaryen.LocalGet(from->b.module, 0, binaryen.TypeInt32()),
                  binaryen.LocalGet(from->b.module, 1, binaryen.TypeInt32())};
    return binaryen.Call(from->b.module, name, args, 2, binaryen.TypeNone());
}

/* Atom bits of a unit that is not split: in a callback the globals, which must be up to date, in a
 * probe a parameter. */
static Ref word_of(Code *c, uint32_t word) {
    return c->at_match ? own_get(c, word_name(c->g, c->unit, word), binaryen.TypeInt64())
                       : ask_callback(c, callback_bits(c, word * BITS), NULL, binaryen.TypeInt64());
}

Ref atom_bit(Code *c, uint32_t atom, bool value) {
    BinaryenModuleRef m = c->b.module;
    Ref by = const_i64(c, atom % BITS);
    Ref bits = binary(c, binaryen.ShrUInt64(), word_of(c, atom / BITS), by);
    Ref bit = binary(c, binaryen.AndInt32(), binaryen.Unary(m, binaryen.WrapInt64(), bits),
                     const_i32(&c->b, 1));
    return value ? bit : is_zero(c, bit);
}

Ref gates_hold(Code *c, const UnitPart *part) {
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
    Ref code[] = {atoms_update(&c), word_of(&c, first / BITS)};
    end(&c, name.ptr, binaryen.TypeInt64(),
        binaryen.Block(c.b.module, NULL, code, 2, binaryen.TypeInt64()));
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
            y = binary(c, binaryen.OrInt32(), y, may_be(c, part, e->args[0], decisive));
        return binary(c, value == decisive ? binaryen.OrInt32() : binaryen.AndInt32(), x, y);
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
    BinaryenModuleRef m = c->b.module;
    Ref any = NULL;
    for (uint32_t i = 0; i < c->residue->nterms; i++) {
        UnitTerm t = c->residue->terms[i];
        if (!t.mask)
            return NULL;
        Ref bits = own_get(c, word_name(c->g, c->unit, 0), binaryen.TypeInt64());
        bits = binary(c, binaryen.AndInt32(), binaryen.Unary(m, binaryen.WrapInt64(), bits),
                      const_i32(&c->b, t.mask));
        Ref holds = binary(c, binaryen.EqInt32(), bits, const_i32(&c->b, t.bits));
        any = any ? binary(c, binaryen.OrInt32(), any, holds) : holds;
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
static Ref refuse(Code *c, const UnitPart *part) {
    uint32_t why = c->g->in->text_at(c->g->in->ctx, str_of(part->why));
    Ref args[] = {binaryen.LocalGet(c->b.module, 0, binaryen.TypeInt32()),
                  binaryen.LocalGet(c->b.module, 1, binaryen.TypeInt32()), const_i32(&c->b, why)};
    Ref code[] = {runtime_call(c, "site_refuse", "iii", "", args),
                  binaryen.Unreachable(c->b.module)};
    return binaryen.Block(c->b.module, NULL, code, 2, binaryen.TypeAuto());
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
            any = binary(&c, binaryen.OrInt32(), any, part_holds(&c, &c.residue->parts[i]));
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
        Ref stop = refuse(&c, refusal);
        vec_push(&code, when ? binaryen.If(c.b.module, when, stop, NULL) : stop);
    }
    vec_push(&code, holds ? holds : const_i32(&c.b, 1));
    Buf key = {0};
    bool made;
    buf_u8(&key, 'p');
    key_pointer(&key, c.residue);
    Str name = name_for(c.g, &key, 'p', &made);
    end(&c, name.ptr, binaryen.TypeInt32(), gen_block_of(&c.b, &code, binaryen.TypeInt32()));
    return name;
}

/* ---- values ---- */

/* A value that is only there if the current part can happen: in units that are not split. */
static Ref if_part_holds(Code *c, Ref value, BinaryenType type) {
    if (!c->unit->dynamic)
        return value;
    Ref code[] = {atoms_update(c),
                  binaryen.If(c->b.module, part_holds(c, c->part), value, zero_of(c, type))};
    return binaryen.Block(c->b.module, NULL, code, 2, type);
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
    BinaryenType type = gen_type(e->type);
    Ref value = gen_known(&c.b, e);
    if (from->at_end && calls_at_match(e))
        value = once_a_function(&c, e, value, type);
    end(&c, name.ptr, type, if_part_holds(&c, value, type));
    return name;
}

/* One that returns what the runtime says about the location; `letter`: of its name. */
static Str callback_at_place(Code *from, char letter, const char *function) {
    bool made;
    Buf key = {0};
    buf_u8(&key, (uint8_t)letter);
    Str name = name_for(from->g, &key, letter, &made);
    if (made)
        return name;
    Code c;
    callback_begin(&c, from);
    end(&c, name.ptr, binaryen.TypeInt32(), at_place(&c, function));
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

/* Sets the initial values of the variables of a part, and does what is to be done for each site at
 * start-up. */
static void put_part_start(Code *c, const UnitPart *part, const MonitorRecord *record, Refs *code) {
    code_part(c, part);
    const Variant *v = c->b.variant;
    for (uint32_t i = 0; i < v->probe->nvars; i++) {
        const MonitorField *f = monitor_field(record, part, v->vars[v->probe->vars[i]->index]);
        uint32_t lent = c->b.lent.len;
        if (f)
            put_initial(c, f, code);
        gen_free_temps(&c->b, lent);
    }
    if (c->b.variant->starts_dynamic)
        vec_push(code, gen_site_start(&c->b, &c->b.variant->probe->body));
}

static Ref record_get(Code *c) {
    return binaryen.LocalGet(c->b.module, (BinaryenIndex)c->record, binaryen.TypeInt32());
}

/* Word n of a record's link. */
static Ref set_link(Code *c, const MonitorRecord *record, uint32_t n, Ref value) {
    return gen_store_word(&c->b, record_get(c), (uint32_t)record->link + 4 * n, value);
}

static Ref link_address(Code *c, const MonitorRecord *record) {
    return binary(c, binaryen.AddInt32(), record_get(c), const_i32(&c->b, (uint32_t)record->link));
}

/* Puts the record after the others in the list of those that have something to do at the end. */
static void put_link(Code *c, const MonitorRecord *record, Refs *code) {
    BinaryenModuleRef m = c->b.module;
    BinaryenType i32 = binaryen.TypeInt32();
    vec_push(code, set_link(c, record, 1, place_fid(c)));
    vec_push(code, set_link(c, record, 2, place_pc(c)));
    vec_push(code, set_link(c, record, 3, const_i32(&c->b, ends_add(c, record))));
    Ref append = gen_store_word(&c->b, own_get(c, "last", i32), 0, link_address(c, record));
    Ref alone = own_set(c, "first", i32, link_address(c, record));
    vec_push(code, binaryen.If(m, own_get(c, "last", i32), append, alone));
    vec_push(code, own_set(c, "last", i32, link_address(c, record)));
}

/* What is done once for a record. A record for all exits of a function is asked for at each of
 * them: the last `end` is always one, and the last one. */
static Ref start_once(Code *c, const MonitorRecord *record, Refs *start) {
    if (record->link >= 0)
        put_link(c, record, start);
    Ref code = gen_block_of(&c->b, start, binaryen.TypeNone());
    if (!c->at_end)
        return code;
    Ref pc = binaryen.LocalGet(c->b.module, 1, binaryen.TypeInt32());
    return binaryen.If(c->b.module, binary(c, binaryen.EqInt32(), pc, place_pc(c)), code, NULL);
}

/* Records that parts have of their own belong to several residues: what is done for one may depend
 * on what is decided there. */
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
    BinaryenModuleRef m = c.b.module;
    BinaryenType i32 = binaryen.TypeInt32();
    c.record = gen_temp(&c.b, i32);
    Ref args[] = {const_i32(&c.b, record->class_at), place_fid(&c), place_pc(&c)};
    vec_push(&code, binaryen.LocalSet(m, (BinaryenIndex)c.record,
                                      runtime_call(&c, "rows_site", "iii", "i", args)));
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
    vec_push(&code, binaryen.LocalGet(m, (BinaryenIndex)c.record, i32));
    Ref body = gen_block_of(&c.b, &code, i32);
    end(&c, name.ptr, i32, only ? if_part_holds(&c, body, i32) : body);
    return name;
}

/* ---- '@exit' calls of sites ---- */

uint32_t ends_add(Code *c, const MonitorRecord *record) {
    bool own = record != c->g->in->records[c->number];
    End e = {record, c->unit, c->residue, c->number, own ? c->part : NULL};
    vec_push(&c->g->ends, e);
    return c->g->ends.len - 1;
}

/* A function (address of the record, function, pc) that does what is to do for one record. */
static void build_end(Gen *g, const End *e, const char *name) {
    Code c;
    Refs code = {0};
    BinaryenType i32 = binaryen.TypeInt32();
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
    BinaryenType params[] = {i32, i32, i32};
    Ref body = gen_block_of(&c.b, &code, binaryen.TypeNone());
    scratch_add(&g->x, &c.b, name, binaryen.TypeCreate(params, 3), binaryen.TypeNone(), body);
}

/* Goes through the list of links. */
void ends_put(Gen *g, Code *c, Refs *code) {
    BinaryenModuleRef m = c->b.module;
    BinaryenType i32 = binaryen.TypeInt32();
    if (!g->ends.len)
        return;
    uint32_t link = gen_temp(&c->b, i32);
    Refs loop = {0};
    for (uint32_t i = 0; i < g->ends.len; i++) {
        const End *e = &g->ends.at[i];
        char *name = arena_printf(g->arena, "end%u", i);
        build_end(g, e, name);
        Ref args[] = {gen_load_word(&c->b, binaryen.LocalGet(m, link, i32), 4),
                      gen_load_word(&c->b, binaryen.LocalGet(m, link, i32), 8),
                      binary(c, binaryen.SubInt32(), binaryen.LocalGet(m, link, i32),
                             const_i32(&c->b, (uint32_t)e->record->link))};
        Ref is =
            binary(c, binaryen.EqInt32(), gen_load_word(&c->b, binaryen.LocalGet(m, link, i32), 12),
                   const_i32(&c->b, i));
        vec_push(&loop,
                 binaryen.If(m, is, binaryen.Call(m, name, args, 3, binaryen.TypeNone()), NULL));
    }
    vec_push(&loop,
             binaryen.LocalSet(m, link, gen_load_word(&c->b, binaryen.LocalGet(m, link, i32), 0)));
    vec_push(&loop, binaryen.Break(m, "links", binaryen.LocalGet(m, link, i32), NULL));
    Ref all = binaryen.Loop(m, "links", gen_block_of(&c->b, &loop, binaryen.TypeNone()));
    vec_push(code, binaryen.LocalSet(m, link, own_get(c, "first", i32)));
    vec_push(code, binaryen.If(m, binaryen.LocalGet(m, link, i32), all, NULL));
}
