/*
 * plan/cut.c - cuts the static parts of a variant out of its tree, and records what the rest
 * depends on at a site.
 */
#include "plan/cut.h"

#include "event/derive.h"
#include "library/builtin.h"
#include "plan/alt.h"
#include "plan/cell.h"
#include "plan/describe.h"
#include "plan/static_part.h"

#include <assert.h>

WasmType cut_fixed_type(Event e, bool result, uint32_t n) {
    const char *letters = result ? wasm_ops[e.op].results : wasm_ops[e.op].operands;
    size_t count = strlen(letters);
    if (e.kind != EVENT_OPCODE)
        return WASM_BOT;
    if (*letters != '*')
        return n < count ? wasm_letter_type(letters[count - 1 - n]) : WASM_BOT;
    /* conditions and selectors on top of operands that vary */
    bool condition = e.op == WASM_OP_IF || e.op == WASM_OP_BR_IF || e.op == WASM_OP_BR_TABLE ||
                     e.op == WASM_OP_SELECT || e.op == WASM_OP_TYPED_SELECT;
    return condition && !result && n == 0 ? WASM_I32 : WASM_BOT;
}

typedef struct Cut {
    Plan *plan;
    Variant *v;
    Diags *diags;
    bool ok;
    uint32_t depth; /* of blocks */
    uint32_t loops; /* around the statement */
} Cut;

/* How the variant uses an operand, result, local or global: reads it, writes it, or depends only on
 * its type. */
typedef enum Dependence { ASKED, READ, ASSIGNED } Dependence;

static Operands *list_of(Variant *v, int id) {
    return id == NAME_ARG     ? &v->operands.args
           : id == NAME_RES   ? &v->operands.results
           : id == NAME_LOCAL ? &v->operands.locals
                              : &v->operands.globals;
}

/* Of an instruction: results at a function's exits are known by its type. */
static bool cut_is_operand(Event e, int id) {
    return id == NAME_ARG || (id == NAME_RES && e.kind == EVENT_OPCODE);
}

static bool has_list(int id) {
    return id == NAME_ARG || id == NAME_RES || id == NAME_LOCAL || id == NAME_GLOBAL;
}

static void use_operand(Variant *v, const Bound *b, const Type *type, Dependence use) {
    bool result = b->id == NAME_RES, operand = cut_is_operand(v->event, b->id);
    Operands *list = list_of(v, b->id);
    bool fixed = operand && cut_fixed_type(v->event, result, b->n) == type_wasm(type);
    Operand *o = NULL;
    for (uint32_t i = 0; i < list->len && !o; i++)
        if (list->at[i].n == b->n)
            o = &list->at[i];
    if (o && o->any)
        *o = (Operand){.n = b->n, .type = type, .fixed = fixed, .used = true};
    if (!o) {
        o = vec_add(list);
        *o = (Operand){.n = b->n, .type = type, .fixed = fixed};
    }
    o->used |= use != ASKED;
    o->assigned |= use == ASSIGNED;
    o->bound |= use == ASKED;
    v->asks.types |= operand && !fixed;
    v->asks.addresses |= operand && operand_is_address(v->event.op, result, b->n);
}

/* An operand that is taken as it is. */
static void use_any(Variant *v, uint32_t n) {
    v->asks.types = true;
    for (uint32_t i = 0; i < v->operands.args.len; i++) {
        if (v->operands.args.at[i].n == n) {
            v->operands.args.at[i].used = true;
            return;
        }
    }
    vec_push(&v->operands.args,
             ((Operand){.n = n, .type = &type_scalar[TYPE_U64], .any = true, .used = true}));
}

/* The function in the table entry that operand 0 names. */
static void use_entry(Cut *c) {
    use_any(c->v, 0);
    c->v->asks.entry = c->plan->asks.tables = true;
}

/* Bounds count even if the body never uses the name. */
static void ask_bounds(Variant *v) {
    const Rule *r = &v->probe->rule;
    for (uint32_t i = 0; i < r->nbounds; i++) {
        Bound b;
        if (!event_name_lookup(v->event, r->bounds[i].name, &b) ||
            (r->bounds[i].type->kind > TYPE_BOOL && r->bounds[i].type->kind != TYPE_FUNCREF))
            v->impossible = true;
        else if (has_list(b.id))
            use_operand(v, &b, r->bounds[i].type, ASKED);
    }
}

static void use_name(Cut *c, const Expr *e, bool assigned) {
    Variant *v = c->v;
    int id = e->bound.id;
    if (has_list(id))
        use_operand(v, &e->bound, e->type, assigned ? ASSIGNED : READ);
    else if (id == NAME_WIDE_ARG || id == NAME_ARG_IS_NULL || id == NAME_ARRAY_LEN)
        use_any(v, e->bound.n);
    else if (id == NAME_RESOLVED_FID)
        use_entry(c);
    else if (id == NAME_TARGET_FUNCREF)
        use_any(v, 0);
    else if (id == NAME_BACK_EDGE)
        v->asks.back = true;
    else if (id == NAME_PROBE_ID)
        c->plan->asks.number = e;
    else if (id == NAME_THREAD)
        c->plan->asks.thread = e;
    else if (id == NAME_SEGMENT_SIZE)
        c->plan->asks.segments = true;
    else if (id == NAME_REF_CONDITION)
        v->asks.types = v->asks.reference = true;
}

/* The number + 1 of a string that exists at run time. */
static uint32_t text_slot(Cut *c, Str text) {
    Plan *plan = c->plan;
    bool added;
    uint64_t id = *map_put(&plan->texts.ids, text, plan->texts.list.len, &added);
    if (added)
        vec_push(&plan->texts.list,
                 ((Str){arena_strndup(&plan->arena, text.ptr, text.len), text.len}));
    plan->asks.values = true;
    return (uint32_t)id + 1;
}

static void cut_expr(Cut *c, Expr **slot);

static bool cut_is_target(const Expr *e) {
    return e->kind == EXPR_NAME && e->is_bound && e->bound.id == NAME_TARGET;
}

/* m[k], as a value or as the target of an assignment. */
static void cut_real_element(Cut *c, Expr *e) {
    Buf text = {0};
    describe_map(e->var->type, &text);
    e->slot = text_slot(c, buf_view(&text));
    buf_free(&text);
    e->targets = cut_is_target(e->args[0]);
    c->v->nelements++;
    c->plan->asks.elements = true;
    cut_expr(c, &e->args[0]);
}

static void cut_index(Cut *c, Expr *e) {
    if (!cells_defer(c->plan, c->v, e))
        cut_real_element(c, e);
}

/* A static part that differs from site to site becomes an atom or a constant. */
static bool cut_static(Cut *c, Expr *e) {
    Variant *v = c->v;
    if (!e->is_static || !static_has_names(e) || e->type->kind > TYPE_STR)
        return false;
    if (e->type->kind == TYPE_BOOL && v->probe && v->atoms.len < MAX_ATOMS) {
        vec_push(&v->atoms, e);
        e->slot = v->atoms.len;
        return true;
    }
    vec_push(&v->consts, e);
    e->slot = v->consts.len;
    v->may_lack_consts |= static_may_lack(e);
    v->has_texts |= e->type->kind == TYPE_STR;
    c->plan->asks.values |= v->has_texts;
    return true;
}

/* A string that is the same everywhere. */
static bool cut_text(Cut *c, Expr *e) {
    Value v;
    if (e->type->kind != TYPE_STR || !e->is_static || !fold(e, NULL, &v))
        return false;
    e->kind = EXPR_STR;
    e->text = v.text;
    e->slot = text_slot(c, v.text);
    return true;
}

/* A call of a built-in function that is not decided when the program is instrumented. Memories that
 * are known then are no arguments of the code. */
static void cut_builtin(Cut *c, Expr *e) {
    Plan *plan = c->plan;
    MemoryCall call = {.fn = (FnId)e->bound.id, .call = e};
    if (!builtin_fits(plan->libraries, e, c->diags)) {
        c->ok = false;
        return;
    }
    uint64_t value;
    if (builtin_library_value(plan->libraries, e, &value)) {
        e->kind = EXPR_INT;
        e->integer = value;
        return;
    }
    for (uint32_t i = 0; i < e->nargs; i++)
        call.by_number |= function_takes_memory(call.fn, i) && !builtin_names_memory(e->args[i]);
    for (uint32_t i = 0; i < e->nargs && call.fn != FN_MEMID; i++)
        if (call.by_number || !function_takes_memory(call.fn, i))
            cut_expr(c, &e->args[i]);
    plan->asks.values |= builtin_uses_runtime(plan->libraries, e);
    vec_push(&c->v->calls.memory, plan->memory_calls.len);
    vec_push(&plan->memory_calls, call);
    e->slot = plan->memory_calls.len;
}

/* The results of an '@static' call are constants one after the other. */
static void cut_static_tuple(Cut *c, Expr *e) {
    e->slot = c->v->consts.len + 1;
    for (uint32_t i = 0; i < type_leaves(e->type); i++)
        vec_push(&c->v->consts, static_call_part(c->plan, e, i));
}

/* A function of a library that is called at run time must be there. */
static void use_library(Cut *c, const Expr *e) {
    if (e->method || e->annotation == ANN_STATIC)
        return;
    LibraryFn *f = &c->plan->library_fns.at[e->bound.id];
    f->runs = true;
    c->plan->asks.values |= f->bundled && (bundled_kind(f->bundled) == BUNDLED_HELPER ||
                                           bundled_kind(f->bundled) == BUNDLED_STACK);
    if (f->bundled && bundled_kind(f->bundled) == BUNDLED_STACK) {
        c->v->asks.frame |= str_is(f->name, "frame");
        c->v->asks.callee |= str_is(f->name, "callee");
        c->v->asks.cuts |= str_is(f->name, "cut");
    }
}

/* Whether there are strings in its values. */
static bool has_strings(const Type *t) {
    for (uint32_t i = 0; i < type_leaves(t); i++)
        if (type_leaf(t, i)->kind == TYPE_STR)
            return true;
    return false;
}

/* A method of a map, which has to exist as a whole. */
static void cut_map_method(Cut *c, Expr *e) {
    Expr *map = e->args[0];
    c->plan->asks.values = true;
    if (map->kind == EXPR_NAME && map->var && map->type->kind == TYPE_MAP)
        map->var->computed = true;
    else
        cut_expr(c, &e->args[0]);
    if (e->nargs > 1)
        cut_expr(c, &e->args[1]);
}

static void cut_expr(Cut *c, Expr **slot) {
    Expr *e = *slot;
    switch (e->kind) {
    case EXPR_CALL:
        if (e->fn || e->is_static)
            break;
        if (e->is_bound && e->bound.id == FN_RESOLVE_FUNCREF) {
            use_entry(c);
            break;
        }
        if (e->is_bound && function_is_everywhere((FnId)e->bound.id))
            cut_builtin(c, e); /* others have no value, they are statements (cut_call) */
        return;
    case EXPR_METHOD:
        if (ast_is_map_method(e)) {
            cut_map_method(c, e);
            return;
        }
        if (e->annotation == ANN_STATIC && e->type->kind == TYPE_TUPLE) {
            cut_static_tuple(c, e);
            return;
        }
        if (e->annotation == ANN_STATIC && (!c->v->probe || e->type->kind == TYPE_UNIT))
            return; /* statics.h knows its value */
        use_library(c, e);
        break;
    case EXPR_INDEX:
        if (!e->is_bound) {
            cut_index(c, e);
            return;
        }
        c->v->asks.targets |= !e->is_static;
        break;
    default: break;
    }
    e = *slot = derive_expr(&c->plan->arena, e, c->v->event);
    if (cut_static(c, e) || cut_text(c, e))
        return;
    c->plan->asks.values |= has_strings(e->type); /* also where nothing but "" is known of them */
    if (e->kind == EXPR_NAME && e->is_bound)
        use_name(c, e, false);
    if (e->kind == EXPR_NAME && e->var)
        e->var->escapes |= e->type->kind == TYPE_MAP;
    for (uint32_t i = 0; i < e->nargs; i++)
        cut_expr(c, &e->args[i]);
}

static void cut_block(Cut *c, Block *b);

static void cut_target(Cut *c, Expr *target) {
    if (target->kind == EXPR_INDEX && target->var)
        cut_index(c, target);
    else if (target->is_bound)
        use_name(c, target, true);
    else if (target->kind == EXPR_NAME)
        target->var->escapes |= target->type->kind == TYPE_MAP;
}

/* Arms of one if: they become nested blocks. */
enum { MAX_ARMS = 1000 };

/* dup_at(1, addr): the memory is known at each site. */
static void cut_dup(Cut *c, Expr *call) {
    if (!builtin_names_memory(call->args[0])) {
        diag(c->diags, DIAG_EARLY_VALUE, call->args[0]->span,
             "the memory must be known at compile time");
        c->ok = false;
    } else if (!call->args[0]->is_static) {
        cut_expr(c, &call->args[0]); /* memid: the memory must exist */
    }
    vec_push(&c->v->calls.dups, ((DupAt){call->args[0]}));
    call->slot = c->v->calls.dups.len;
    for (uint32_t n = 0; n < 3; n++)
        use_any(c->v, n);
    cut_expr(c, &call->args[1]);
}

/* alt_call_by_id(3), alt_call_by_name("f"): the argument is a constant. */
static void cut_alt_call(Cut *c, Expr *call) {
    Value v;
    if (c->loops) {
        diag(c->diags, DIAG_ALT_RESULT, call->span,
             "'%.*s' is not allowed in a loop: it would leave results at each iteration",
             STR_ARG(call->name));
        c->ok = false;
    }
    if (call->nargs != 1 || !fold(call->args[0], NULL, &v)) {
        Diag *d = diag(c->diags, DIAG_EARLY_VALUE, call->span,
                       "the function to call must be known at compile time");
        diag_hint(c->diags, d, "the argument must be a constant; choose between several with if");
        c->ok = false;
        return;
    }
    bool by_name = call->bound.id == FN_ALT_CALL_BY_NAME;
    vec_push(&c->v->calls.alts, ((AltCall){by_name, (uint32_t)v.bits, v.text, call->span}));
    c->v->alt.gives = true;
    call->slot = c->v->calls.alts.len;
}

/* drop_args(): in an `if`, one arm would leave the operands of a construct and the other not.
 * Instructions that stay in the program need their operands. */
static void cut_drop(Cut *c, const Expr *call) {
    if (!c->v->alt.is) {
        diag(c->diags, DIAG_NO_EFFECT, call->span,
             "drop_args() does nothing outside 'alt': the instruction needs its operands");
        return;
    }
    c->v->alt.drops = true;
    if (c->depth == 1 || c->v->event.mode != MODE_BLOCK_ALT)
        return;
    diag(c->diags, DIAG_ALT_RESULT, call->span,
         "drop_args() is not allowed in an if: the other branch would leave the operands");
    c->ok = false;
}

/* A call as a statement. */
static void cut_call(Cut *c, Expr **slot) {
    Expr *call = *slot;
    int id = call->kind == EXPR_CALL && call->is_bound ? call->bound.id : -1;
    switch (id) {
    case FN_DUP_AT: cut_dup(c, call); break;
    case FN_DROP_ARGS: cut_drop(c, call); break;
    case FN_ALT_CALL_BY_ID:
    case FN_ALT_CALL_BY_NAME: cut_alt_call(c, call); break;
    default: cut_expr(c, slot);
    }
}

bool expr_calls_at_match(const Expr *e) {
    if (e->kind == EXPR_METHOD && e->annotation == ANN_STATIC && !e->known)
        return true;
    for (uint32_t i = 0; i < e->nargs; i++)
        if (expr_calls_at_match(e->args[i]))
            return true;
    return false;
}

bool var_starts_constant(const Var *v) {
    Value value;
    if (v->init && expr_calls_at_match(v->init))
        return false;
    return !v->init || (v->type->kind <= TYPE_BOOL && fold(v->init, NULL, &value));
}

bool var_starts_dynamic(const Var *v) {
    Value value;
    if (!v->init || (v->storage != STORAGE_UNSHARED && v->storage != STORAGE_SHARED))
        return false;
    if (v->type->kind > TYPE_BOOL)
        return true;
    return !v->init->is_static || (v->storage == STORAGE_SHARED && !fold(v->init, NULL, &value));
}

static void cut_decl(Cut *c, Var *v) {
    bool values = v->report && v->type->kind > TYPE_BOOL;
    if (v->type->kind == TYPE_MAP ? !cells_possible(c->plan, v) : values)
        c->plan->asks.values = true;
    if (!v->init)
        return;
    v->escapes = true;
    if (v->storage == STORAGE_LOCAL || v->storage == STORAGE_SCRIPT)
        cut_expr(c, &v->init);
    else if (var_starts_dynamic(v)) {
        cut_expr(c, &v->init);
        if (v->storage == STORAGE_UNSHARED)
            c->v->starts_dynamic = true;
        else
            c->plan->probes.at[c->v->source].shared_from = c->v;
    } else {
        static_note_lack(c->v, v->init);
    }
}

static void cut_exit(Cut *c, const Expr *call) {
    const BundledFn *f = c->plan->library_fns.at[call->bound.id].bundled;
    c->v->exits = c->plan->at_exit.any = true;
    c->v->exits_count |= !f || *f->helper != '=';
    for (uint32_t i = 0; i < call->nargs; i++)
        c->v->exits_count |= expr_has_effect(call->args[i]);
}

/* A value that the body returns, of an alt probe. */
static void note_return(Variant *v, const Type *t) {
    uint32_t n = type_leaves(t);
    bool same = v->alt.returns && type_leaves(v->alt.returns) == n;
    for (uint32_t i = 0; same && i < n; i++)
        same = type_wasm(type_leaf(t, i)) == type_wasm(type_leaf(v->alt.returns, i));
    v->alt.returns_differ |= v->alt.returns && !same;
    v->alt.returns = t;
}

static void cut_stmt(Cut *c, Stmt *s) {
    switch (s->kind) {
    case STMT_DECL: cut_decl(c, s->var); break;
    case STMT_ASSIGN:
        cut_target(c, s->target);
        cut_expr(c, &s->value);
        break;
    case STMT_INC:
    case STMT_DEC: cut_target(c, s->target); break;
    case STMT_RETURN:
        if (s->value) {
            cut_expr(c, &s->value);
            note_return(c->v, s->value->type);
        }
        break;
    case STMT_IF:
        if (s->narms > MAX_ARMS) {
            diag(c->diags, DIAG_NESTING, s->span, "this if has %u arms; at most %u are allowed",
                 s->narms, MAX_ARMS);
            c->ok = false;
            return;
        }
        for (uint32_t i = 0; i < s->narms; i++) {
            if (s->arms[i].cond)
                cut_expr(c, &s->arms[i].cond);
            cut_block(c, &s->arms[i].body);
        }
        break;
    case STMT_LOOP:
        cut_block(c, &s->arms[LOOP_INIT].body);
        c->loops++;
        cut_expr(c, &s->arms[LOOP_BODY].cond);
        cut_block(c, &s->arms[LOOP_BODY].body);
        cut_block(c, &s->arms[LOOP_STEP].body);
        c->loops--;
        break;
    case STMT_BREAK:
    case STMT_CONTINUE: break;
    case STMT_CALL:
        c->v->starts_dynamic |= s->value->annotation == ANN_INIT;
        if (s->value->annotation == ANN_EXIT)
            cut_exit(c, s->value);
        cut_call(c, &s->value);
        break;
    case STMT_ANNOTATED:
        c->v->starts_dynamic |= s->annotation == ANN_INIT;
        if (s->annotation == ANN_EXIT)
            c->v->exits = c->v->exits_count = c->plan->at_exit.any = true;
        cut_block(c, &s->arms[0].body);
        break;
    }
}

static void cut_block(Cut *c, Block *b) {
    c->depth++;
    for (Stmt *s = b->first; s; s = s->next)
        cut_stmt(c, s);
    c->depth--;
}

/* An alt body replaces the instruction: it must supply the values that the instruction leaves.
 * Where these vary or are several, alt.c checks each site. */
static void check_alt(Cut *c) {
    Variant *v = c->v;
    const WasmOpInfo *op = &wasm_ops[v->event.op];
    Span rule = v->probe->rule.span;
    bool fixed = *op->results != '*' && strlen(op->results) < 2, leaves = fixed && *op->results;
    v->alt.supply = v->probe->body.incomplete ? SUPPLY_ALWAYS : alt_supply(&v->probe->body);
    v->asks.types |= *op->operands == '*' || !fixed || *op->results == 'a' || v->alt.guarded;
    if (leaves && *op->results == 'v') {
        diag(c->diags, DIAG_ALT_RESULT, rule, "%s leaves a vector, but scripts have no such values",
             op->mnemonic);
        c->ok = false;
    } else if (leaves && v->alt.supply != SUPPLY_ALWAYS) {
        Diag *d = v->alt.supply == SUPPLY_NEVER
                      ? diag(c->diags, DIAG_ALT_RESULT, rule,
                             "%s leaves a value, but the alt body does not", op->mnemonic)
                      : diag(c->diags, DIAG_ALT_RESULT, rule,
                             "%s leaves a value, but the alt body does not always", op->mnemonic);
        diag_hint(c->diags, d, "end the body with 'return <value>;'");
        c->ok = false;
    } else if (fixed && !leaves && v->alt.returns) {
        diag(c->diags, DIAG_ALT_RESULT, rule, "%s leaves no value, but the alt body returns one",
             op->mnemonic);
        c->ok = false;
    }
}

/* Whether this is nothing but a call of this function of `stack`. */
static bool only_calls(const Plan *plan, const Block *b, const char *name) {
    const Stmt *s = b->first;
    if (!s || s->next || s->kind != STMT_CALL || s->value->kind != EXPR_METHOD ||
        s->value->method || s->value->annotation == ANN_STATIC)
        return false;
    const LibraryFn *f = &plan->library_fns.at[s->value->bound.id];
    return f->bundled && bundled_kind(f->bundled) == BUNDLED_STACK && str_is(f->name, name);
}

bool cut_variant(Plan *plan, Variant *v, Diags *diags) {
    assert(!v->atoms.len && !v->consts.len && ast_check_probe(v->probe));
    Cut c = {plan, v, diags, true, 0, 0};
    if (v->probe->predicate)
        cut_expr(&c, &v->probe->predicate);
    v->asks.entering = v->asks.back && v->probe->predicate &&
                       shape_decide(v, 0, SHAPE_BACK, v->probe->predicate) == TRI_NO;
    v->alt.guarded = v->alt.is && v->probe->predicate && !v->probe->predicate->is_static;
    cut_block(&c, &v->probe->body);
    v->asks.leaves = only_calls(plan, &v->probe->body, "leave");
    v->asks.declares =
        only_calls(plan, &v->probe->body, "frame") || only_calls(plan, &v->probe->body, "callee");
    ask_bounds(v);
    if (v->alt.is)
        check_alt(&c);
    return c.ok;
}

bool cut_common(Plan *plan, Variant *scope, Block *block, Diags *diags) {
    assert(!scope->probe);
    Cut c = {plan, scope, diags, true, 0, 0};
    cut_block(&c, block);
    return c.ok;
}

static bool cut_element(Plan *plan, Variant *v, Expr *e, Diags *diags) {
    Cut c = {plan, v, diags, true, 0, 0};
    cut_real_element(&c, e);
    return c.ok;
}

bool cut_elements(Plan *plan, uint32_t first, Diags *diags) {
    assert(first <= plan->cells.elements.len);
    bool ok = true;
    for (uint32_t i = first; i < plan->cells.elements.len; i++) {
        const ElementUse *u = &plan->cells.elements.at[i];
        if (!u->element->var->cells)
            ok &= cut_element(plan, u->variant, u->element, diags);
    }
    return ok;
}
