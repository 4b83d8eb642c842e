/*
 * probe/plan.c - from checked scripts to a plan.
 */
#include "probe/plan.h"

#include "probe/blame.h"
#include "probe/derive.h"
#include "probe/describe.h"
#include "probe/statics.h"

/* ---- variants: one typed copy of a probe per combination of name types ---- */

typedef struct NameSet {
    Vec(Str) names;
} NameSet;

static void collect_name(void *ctx, Expr *e) {
    NameSet *set = ctx;
    bool named = e->kind == EXPR_NAME || e->kind == EXPR_INDEX || e->kind == EXPR_FIELD;
    Str name = named ? e->name : e->kind == EXPR_METHOD ? e->recv : (Str){0};
    if (!name.len)
        return;
    for (uint32_t i = 0; i < set->names.len; i++)
        if (str_eq(set->names.at[i], name))
            return;
    vec_push(&set->names, name);
}

/* The Wasm type that operand (or result) n of the event's instruction has wherever it occurs;
 * WASM_BOT if that varies. */
static WasmType fixed_type(Event e, bool result, uint32_t n) {
    const char *letters = result ? wasm_ops[e.op].results : wasm_ops[e.op].operands;
    size_t count = strlen(letters);
    if (e.kind != EVENT_OPCODE)
        return WASM_BOT;
    if (*letters != '*') {
        switch (n < count ? letters[count - 1 - n] : 'a') {
        case 'i': return WASM_I32;
        case 'l': return WASM_I64;
        case 'f': return WASM_F32;
        case 'd': return WASM_F64;
        case 'v': return WASM_V128;
        default: return WASM_BOT; /* an address, or no such operand */
        }
    }
    /* conditions and selectors on top of operands that vary */
    bool condition = e.op == WASM_OP_IF || e.op == WASM_OP_BR_IF || e.op == WASM_OP_BR_TABLE ||
                     e.op == WASM_OP_SELECT || e.op == WASM_OP_TYPED_SELECT;
    return condition && !result && n == 0 ? WASM_I32 : WASM_BOT;
}

/* The key under which events share a variant: the type of each used name, and what derived ones
 * derive from. */
static void event_key(Event e, const NameSet *names, Buf *key) {
    key->len = 0;
    buf_u8(key, (uint8_t)e.kind);
    buf_u8(key, (uint8_t)e.mode);
    if (e.mode == MODE_ALT)
        buf_printf(key, "%s|%s|", wasm_ops[e.op].operands, wasm_ops[e.op].results);
    for (uint32_t i = 0; i < names->names.len; i++) {
        Bound b;
        if (!event_name_lookup(e, names->names.at[i], &b)) {
            buf_u8(key, 0xff);
            continue;
        }
        buf_u8(key, b.type ? (uint8_t)b.type->kind : 0xfe);
        if (e.kind == EVENT_OPCODE && (b.id == NAME_ARG || b.id == NAME_RES))
            buf_u8(key, fixed_type(e, b.id == NAME_RES, b.n) != WASM_BOT);
        if (derived_depends_on_op(b.id))
            buf_u32le(key, e.op);
    }
}

typedef struct ScopeCtx {
    Event event;
    Plan *plan;
    uint32_t script;
    Diags *diags;
} ScopeCtx;

static bool scope_name(void *ctx, Str name, Bound *out) {
    ScopeCtx *c = ctx;
    return event_name_lookup(c->event, name, out);
}

/* Parameters with tuples as the script's types are. */
static const Type *const *interned(Script *s, const Type *const *params, uint32_t n) {
    const Type **own = arena_array(&s->arena, const Type *, n + 1);
    for (uint32_t i = 0; i < n; i++)
        own[i] = params[i]->kind == TYPE_TUPLE
                     ? type_tuple(s, params[i]->fields, params[i]->nfields)
                     : params[i];
    return own;
}

static bool scope_function(void *ctx, Str name, Bound *out, const Type *const **params,
                           uint32_t *nparams, const Type **result) {
    ScopeCtx *c = ctx;
    if (!event_function_lookup(c->event, name, out, params, nparams, result))
        return false;
    *params = interned(c->plan->scripts.at[c->script], *params, *nparams);
    return true;
}

typedef struct SuggestCtx {
    void (*add)(void *ctx, Str name);
    void *ctx;
} SuggestCtx;

static void suggest_one(void *ctx, Str name, const Bound *bound) {
    (void)bound;
    SuggestCtx *s = ctx;
    s->add(s->ctx, name);
}

static void suggest_function(void *ctx, FnId id) {
    SuggestCtx *s = ctx;
    s->add(s->ctx, str_of(function_name(id)));
}

static void scope_suggest(void *ctx, bool functions, void (*add)(void *add_ctx, Str name),
                          void *add_ctx) {
    ScopeCtx *c = ctx;
    SuggestCtx s = {add, add_ctx};
    if (functions)
        event_function_each(c->event, suggest_function, &s);
    else
        event_name_each(c->event, suggest_one, &s);
}

static bool scope_library(void *ctx, const Expr *call, Bound *out, const Type *const **params,
                          uint32_t *nparams, const Type **result) {
    ScopeCtx *c = ctx;
    int64_t id = plan_library_call(c->plan, c->script, call, c->diags);
    if (id < 0)
        return false;
    const LibraryFn *f = &c->plan->library_fns.at[id];
    out->id = (int)id;
    *params = f->params;
    *nparams = f->nparams;
    *result = f->result;
    return true;
}

static bool scope_exported(void *ctx, Str name, Str *library) {
    ScopeCtx *c = ctx;
    return plan_exported(c->plan, c->script, name, library);
}

/* The type of the value that an alt body must supply: known if the instruction's result is fixed.
 */
static const Type *alt_type(Event e) {
    static const struct {
        char letter;
        TypeKind kind;
    } letters[] = {
        {'i', TYPE_I32}, {'l', TYPE_I64}, {'f', TYPE_F32}, {'d', TYPE_F64}, {'a', TYPE_I32}};
    for (uint32_t i = 0; i < 5; i++)
        if (wasm_ops[e.op].results[0] == letters[i].letter)
            return &type_scalar[letters[i].kind];
    return NULL;
}

/* ---- cutting static parts out of a checked variant ---- */

typedef struct Cut {
    Plan *plan;
    Variant *v;
    Diags *diags;
    bool ok;
    uint32_t depth; /* of blocks */
} Cut;

/* The value may differ from site to site. */
static bool has_names(const Expr *e) {
    if (e->is_bound && (e->kind == EXPR_NAME || e->kind == EXPR_INDEX || e->kind == EXPR_CALL))
        return true;
    if (e->kind == EXPR_METHOD && e->annotation == ANN_STATIC)
        return true;
    for (uint32_t i = 0; i < e->nargs; i++)
        if (has_names(e->args[i]))
            return true;
    return false;
}

/* How the variant depends on an operand, result or local: it reads it, writes it, or only asks for
 * its type. */
typedef enum Dependence { ASKED, READ, ASSIGNED } Dependence;

static void use_operand(Variant *v, const Bound *b, const Type *type, Dependence use) {
    bool result = b->id == NAME_RES;
    Operands *list = result ? &v->results : b->id == NAME_ARG ? &v->args : &v->locals;
    bool fixed = b->id != NAME_LOCAL && fixed_type(v->event, result, b->n) == type_wasm(type);
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
    v->look_at_types |= b->id != NAME_LOCAL && !fixed;
}

/* An operand that is taken as it is. */
static void use_any(Variant *v, uint32_t n) {
    v->look_at_types = true;
    for (uint32_t i = 0; i < v->args.len; i++) {
        if (v->args.at[i].n == n) {
            v->args.at[i].used = true;
            return;
        }
    }
    vec_push(&v->args,
             ((Operand){.n = n, .type = &type_scalar[TYPE_U64], .any = true, .used = true}));
}

/* The function in the table entry that operand 0 names. */
static void use_entry(Cut *c) {
    use_any(c->v, 0);
    c->v->asks_entry = c->plan->asks_tables = true;
}

/* Bounds count even if the body never uses the name. */
static void ask_bounds(Variant *v) {
    const Rule *r = &v->probe->rule;
    for (uint32_t i = 0; i < r->nbounds; i++) {
        Bound b;
        if (!event_name_lookup(v->event, r->bounds[i].name, &b) ||
            (r->bounds[i].type->kind > TYPE_BOOL && r->bounds[i].type->kind != TYPE_FUNCREF))
            v->impossible = true;
        else if (b.id == NAME_ARG || b.id == NAME_RES || b.id == NAME_LOCAL)
            use_operand(v, &b, r->bounds[i].type, ASKED);
    }
}

static void use_name(Cut *c, const Expr *e, bool assigned) {
    Variant *v = c->v;
    int id = e->bound.id;
    if (id == NAME_ARG || id == NAME_RES || id == NAME_LOCAL)
        use_operand(v, &e->bound, e->type, assigned ? ASSIGNED : READ);
    else if (id == NAME_WIDE_ARG || id == NAME_ARG_IS_NULL || id == NAME_ARRAY_LEN)
        use_any(v, e->bound.n);
    else if (id == NAME_RESOLVED_FID)
        use_entry(c);
    else if (id == NAME_TARGET_FUNCREF)
        use_any(v, 0);
    else if (id == NAME_SEGMENT_SIZE)
        c->plan->asks_segments = true;
    else if (id == NAME_REF_CONDITION)
        v->look_at_types = v->needs_reference = true;
}

/* True if there may be sites at which a static expression has no value: an immediate that only some
 * instances of the instruction have, a division by zero, a float out of range. */
static bool may_lack(const Expr *e) {
    if (e->kind == EXPR_NAME)
        return e->is_bound && e->bound.id == NAME_IMM;
    if (e->kind == EXPR_CALL || (e->kind == EXPR_BINARY && (e->op == OP_DIV || e->op == OP_REM)))
        return true;
    if (e->kind == EXPR_CAST && type_is_float(e->args[0]->type) && !type_is_float(e->cast))
        return true;
    for (uint32_t i = 0; i < e->nargs; i++)
        if (may_lack(e->args[i]))
            return true;
    return false;
}

/* The number + 1 of a string that exists at run time. */
static uint32_t text_slot(Cut *c, Str text) {
    Plan *plan = c->plan;
    bool added;
    uint64_t id = *map_put(&plan->text_ids, text, plan->texts.len, &added);
    if (added)
        vec_push(&plan->texts, ((Str){arena_strndup(&plan->arena, text.ptr, text.len), text.len}));
    plan->uses_values = true;
    return (uint32_t)id + 1;
}

static void cut_expr(Cut *c, Expr **slot);

/* m[k], as a value or as what is assigned to. */
static void cut_index(Cut *c, Expr *e) {
    Buf text = {0};
    describe_map(e->var->type, &text);
    e->slot = text_slot(c, (Str){(char *)text.data, (uint32_t)text.len});
    buf_free(&text);
    cut_expr(c, &e->args[0]);
}

/* A static part that differs from site to site becomes an atom or a constant. */
static bool cut_static(Cut *c, Expr *e) {
    Variant *v = c->v;
    if (!e->is_static || !has_names(e) || e->type->kind > TYPE_STR)
        return false;
    if (e->type->kind == TYPE_BOOL && v->probe && v->atoms.len < MAX_ATOMS) {
        vec_push(&v->atoms, e);
        e->slot = v->atoms.len;
        return true;
    }
    vec_push(&v->consts, e);
    e->slot = v->consts.len;
    v->may_lack_consts |= may_lack(e);
    v->has_texts |= e->type->kind == TYPE_STR;
    c->plan->uses_values |= v->has_texts;
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
    plan->uses_values |= builtin_uses_runtime(plan->libraries, e);
    vec_push(&c->v->memory_calls, plan->memory_calls.len);
    vec_push(&plan->memory_calls, call);
    e->slot = plan->memory_calls.len;
}

/* The results of an '@static' call are constants one behind the other. */
static void cut_static_tuple(Cut *c, Expr *e) {
    uint32_t n = type_leaves(e->type);
    if (!e->known)
        e->known = arena_array(&c->plan->arena, Value, n + 1);
    e->slot = c->v->consts.len + 1;
    for (uint32_t i = 0; i < n; i++) {
        Expr *part = arena_new(&c->plan->arena, Expr);
        *part = (Expr){.kind = EXPR_METHOD,
                       .span = e->span,
                       .type = type_leaf(e->type, i),
                       .annotation = ANN_STATIC,
                       .is_static = true,
                       .known = e->known + i};
        vec_push(&c->v->consts, part);
    }
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
        if (e->annotation == ANN_STATIC && e->type->kind == TYPE_TUPLE) {
            cut_static_tuple(c, e);
            return;
        }
        if (e->annotation == ANN_STATIC && (!c->v->probe || e->type->kind == TYPE_UNIT))
            return; /* statics.h knows its value */
        break;
    case EXPR_INDEX:
        if (!e->is_bound) {
            cut_index(c, e);
            return;
        }
        c->v->asks_targets |= !e->is_static;
        break;
    default: break;
    }
    e = *slot = derive_expr(&c->plan->arena, e, c->v->event);
    if (cut_static(c, e) || cut_text(c, e))
        return;
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
             "the memory must be known when the program is instrumented");
        c->ok = false;
    } else if (!call->args[0]->is_static) {
        cut_expr(c, &call->args[0]); /* memid: what it names must be there */
    }
    vec_push(&c->v->dups, ((DupAt){call->args[0]}));
    call->slot = c->v->dups.len;
    for (uint32_t n = 0; n < 3; n++)
        use_any(c->v, n);
    cut_expr(c, &call->args[1]);
}

/* alt_call_by_id(3), alt_call_by_name("f"): the argument is a constant. */
static void cut_alt_call(Cut *c, Expr *call) {
    Value v;
    if (call->nargs != 1 || !fold(call->args[0], NULL, &v)) {
        Diag *d = diag(c->diags, DIAG_EARLY_VALUE, call->span,
                       "the function to call is chosen when the program is compiled");
        diag_hint(c->diags, d, "the argument must be a constant; choose between several with if");
        c->ok = false;
        return;
    }
    bool by_name = call->bound.id == FN_ALT_CALL_BY_NAME;
    vec_push(&c->v->alt_calls, ((AltCall){by_name, (uint32_t)v.bits, v.text, call->span}));
    call->slot = c->v->alt_calls.len;
}

/* drop_args(): in an `if` one way would leave the operands of a construct and the other not. */
static void cut_drop(Cut *c, const Expr *call) {
    if (c->depth == 1 || c->v->event.mode != MODE_BLOCK_ALT)
        return;
    diag(c->diags, DIAG_ALT_RESULT, call->span,
         "drop_args() cannot stand in an if: the other way would leave the operands");
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
    case FN_ALT_CALL_BY_NAME:
        c->v->gives |= c->depth > 1;
        cut_alt_call(c, call);
        break;
    default: cut_expr(c, slot);
    }
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
    if (v->type->kind == TYPE_MAP || (v->report && v->type->kind > TYPE_BOOL))
        c->plan->uses_values = true;
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
    } else if (may_lack(v->init)) { /* sites without a value do not match */
        vec_push(&c->v->consts, v->init);
        c->v->may_lack_consts = true;
    }
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
            c->v->returns = s->value->type;
        }
        break;
    case STMT_IF:
        if (s->narms > MAX_ARMS) {
            diag(c->diags, DIAG_NESTING, s->span, "this if has %u arms; at most %u are possible",
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
    case STMT_CALL:
        c->v->starts_dynamic |= s->value->annotation == ANN_INIT;
        if (s->value->annotation == ANN_EXIT)
            c->v->exits = c->plan->has_exits = true;
        cut_call(c, &s->value);
        break;
    }
}

static void cut_block(Cut *c, Block *b) {
    c->depth++;
    for (Stmt *s = b->first; s; s = s->next)
        cut_stmt(c, s);
    c->depth--;
}

/* An alt body stands for the instruction: it must supply what the instruction would have left. */
static void check_alt(Cut *c) {
    Variant *v = c->v;
    v->gives |= v->alt_calls.len && v->returns;
    const WasmOpInfo *op = &wasm_ops[v->event.op];
    v->look_at_types |=
        *op->operands == '*' || *op->results == '*' || *op->results == 'a' || v->guarded_alt;
    if (*op->results && *op->results != '*' && !v->returns && !v->alt_calls.len &&
        !v->probe->body.incomplete) {
        Diag *d = diag(c->diags, DIAG_ALT_RESULT, v->probe->rule.span,
                       "%s leaves a value, the alt body does not", op->mnemonic);
        diag_hint(c->diags, d, "end the body with 'return <value>;'");
        c->ok = false;
    }
    if (!*op->results && v->returns) {
        diag(c->diags, DIAG_ALT_RESULT, v->probe->rule.span,
             "%s leaves no value, but the alt body returns one", op->mnemonic);
        c->ok = false;
    }
}

static bool cut_variant(Plan *plan, Variant *v, Diags *diags) {
    Cut c = {plan, v, diags, true, 0};
    if (v->probe->predicate)
        cut_expr(&c, &v->probe->predicate);
    v->guarded_alt = v->is_alt && v->probe->predicate && !v->probe->predicate->is_static;
    cut_block(&c, &v->probe->body);
    ask_bounds(v);
    if (v->is_alt)
        check_alt(&c);
    return c.ok;
}

/* ---- variables ---- */

/* Registers the long-lived variables of a probe, once per probe; frame variables once per name and
 * script. */
static void plan_vars(Plan *plan, Variant *v) {
    PlanProbe *p = &plan->probes.at[v->source];
    bool first = p->nvars == UINT32_MAX;
    if (first) {
        p->first_var = plan->vars.len;
        p->nvars = 0;
    }
    v->vars = arena_array(&plan->arena, uint32_t, v->probe->nvars + 1);
    uint32_t nth = 0;
    for (uint32_t i = 0; i < v->probe->nvars; i++) {
        const Var *var = v->probe->vars[i];
        uint32_t id = UINT32_MAX;
        if (var->storage == STORAGE_UNSHARED || var->storage == STORAGE_SHARED ||
            var->storage == STORAGE_FRAME) {
            id = p->first_var + nth++;
            if (first) {
                vec_push(&plan->vars, ((PlanVar){var, v->script, v->source, id}));
                p->nvars++;
            }
        }
        v->vars[var->index] = id;
    }
}

/* ---- making the plan ---- */

static void note_static(void *ctx, Expr *e) {
    Variant *v = ctx;
    if (e->kind == EXPR_METHOD && e->annotation == ANN_STATIC)
        vec_push(&v->statics, e);
}

static void forget_static(void *ctx, Expr *e) {
    Variant *v = ctx;
    uint32_t n = 0;
    for (uint32_t i = 0; i < v->statics.len; i++)
        if (v->statics.at[i] != e)
            v->statics.at[n++] = v->statics.at[i];
    v->statics.len = n;
}

/* Collects the '@static' calls that are made at each site: not those of shared variables. */
static void note_statics(Variant *v) {
    ast_walk_probe(v->probe, note_static, v);
    for (uint32_t i = 0; v->statics.len && i < v->probe->nvars; i++)
        if (v->probe->vars[i]->storage == STORAGE_SHARED && v->probe->vars[i]->init)
            ast_walk_probe(&(Probe){.predicate = v->probe->vars[i]->init}, forget_static, v);
}

static Variant *add_variant(Plan *plan, Script *script, uint32_t source, Event e) {
    const PlanProbe *p = &plan->probes.at[source];
    Variant *v = arena_new(&plan->arena, Variant);
    v->probe = ast_clone_probe(script, p->probe);
    v->source = source;
    v->script = p->script;
    v->event = e;
    v->is_alt = e.mode == MODE_ALT || e.mode == MODE_BLOCK_ALT;
    vec_push(&plan->variants, v);
    return v;
}

/* Checks a variant and makes it ready; `all` describes all events of the probe. */
static bool make_variant(Plan *plan, Variant *v, const char *all, Diags *diags) {
    Script *script = plan->scripts.at[v->script];
    Event e = v->event;
    Buf text = {0};
    event_text(&text, e, false);
    ScopeCtx ctx = {e, plan, v->script, diags};
    Scope scope = {.ctx = &ctx,
                   .name = scope_name,
                   .function = scope_function,
                   .suggest = scope_suggest,
                   .library = scope_library,
                   .exported = scope_exported,
                   .can_return_value = v->is_alt,
                   .return_type = v->is_alt ? alt_type(e) : NULL,
                   .describe = buf_cstr(&text),
                   .describe_all = all};
    bool ok = lang_check_probe(script, v->probe, &scope, diags);
    note_statics(v);
    buf_free(&text);
    if (!ok || script->broken || !cut_variant(plan, v, diags))
        return false;
    plan_vars(plan, v);
    return true;
}

/* A probe whose events are not known: checks what can be said without them. */
static bool check_without_events(Plan *plan, uint32_t script, const Probe *probe, Diags *diags) {
    ScopeCtx ctx = {.plan = plan, .script = script, .diags = diags};
    Scope unknown = {.ctx = &ctx, .library = scope_library, .unknown = true};
    Script *s = plan->scripts.at[script];
    lang_check_probe(s, ast_clone_probe(s, probe), &unknown, diags);
    return false;
}

/* The event has every name that the rule's bounds speak of. Without one of them nothing matches. */
static bool has_bound_names(const Rule *rule, Event e) {
    Bound b;
    for (uint32_t i = 0; i < rule->nbounds; i++)
        if (rule->bounds[i].part < 3 && !event_name_lookup(e, rule->bounds[i].name, &b))
            return false;
    return true;
}

/* The events of a probe in groups; each group gets a variant, which is checked. */
static bool plan_events(Plan *plan, uint32_t source, const Events *events, uint32_t *number,
                        Diags *diags) {
    const Probe *probe = plan->probes.at[source].probe;
    uint32_t script = plan->probes.at[source].script, first = plan->variants.len;
    NameSet names = {0};
    Map groups = {0};
    Buf key = {0}, all = {0};
    Blame blame = {0};
    bool ok = true, possible = false;
    for (uint32_t i = 0; i < events->len; i++)
        possible |= has_bound_names(&probe->rule, events->at[i]);
    ast_walk_probe(probe, collect_name, &names);
    blame_describe(events->at, events->len, &all);
    for (uint32_t i = 0; i < events->len; i++) {
        Event e = events->at[i];
        bool added, impossible = possible && !has_bound_names(&probe->rule, e);
        event_key(e, &names, &key);
        buf_u8(&key, impossible);
        uint64_t *group = map_put(&groups, (Str){(char *)key.data, (uint32_t)key.len},
                                  plan->variants.len, &added);
        if (added) {
            Variant *v = add_variant(plan, plan->scripts.at[script], source, e);
            Diags *messages = blame_group(&blame);
            v->impossible = impossible;
            ok &= impossible || make_variant(plan, v, buf_cstr(&all), messages);
        }
        blame_event(&blame, e, (uint32_t)*group - first);
        vec_push(&plan->actions, ((Action){plan->variants.at[*group], e, (*number)++, 0}));
    }
    blame_report(&blame, &probe->rule, diags);
    blame_free(&blame);
    vec_free(&names.names);
    map_free(&groups);
    buf_free(&key);
    buf_free(&all);
    return ok;
}

static bool plan_probe(Plan *plan, uint32_t script, Probe *probe, uint32_t *number, Diags *diags) {
    if (probe->rule.broken)
        return check_without_events(plan, script, probe, diags);
    Events events = {0};
    uint32_t source = plan->probes.len;
    vec_push(&plan->probes, ((PlanProbe){.probe = probe,
                                         .script = script,
                                         .first_action = plan->actions.len,
                                         .nvars = UINT32_MAX}));
    bool ok = rule_expand(&probe->rule, &events, diags)
                  ? plan_events(plan, source, &events, number, diags)
                  : check_without_events(plan, script, probe, diags);
    PlanProbe *p = &plan->probes.at[source];
    p->nactions = plan->actions.len - p->first_action;
    if (p->nvars == UINT32_MAX)
        p->nvars = 0;
    vec_free(&events);
    return ok;
}

/* Sorts the actions into lists by instruction and by event kind. */
static void index_actions(Plan *plan) {
    for (int fill = 0; fill < 2; fill++) {
        for (uint32_t i = 0; i < plan->actions.len; i++) {
            Event e = plan->actions.at[i].event;
            ActionList *list = e.kind == EVENT_OPCODE ? &plan->by_op[e.op] : &plan->by_kind[e.kind];
            if (fill)
                list->at[list->len] = i;
            list->len++;
        }
        for (uint32_t k = 0; !fill && k < WASM_OP_COUNT + EVENT_KIND_COUNT; k++) {
            ActionList *list =
                k < WASM_OP_COUNT ? &plan->by_op[k] : &plan->by_kind[k - WASM_OP_COUNT];
            list->at = arena_array(&plan->arena, uint32_t, list->len + 1);
            list->len = 0;
        }
    }
}

/* Two alt probes cannot both replace an instruction: found as soon as their events overlap and no
 * predicate tells them apart. (With static predicates it is found when matching.) */
static bool check_alts(const Plan *plan, Diags *diags) {
    for (uint32_t op = 0; op < WASM_OP_COUNT; op++) {
        const Probe *first = NULL;
        for (uint32_t i = 0; i < plan->by_op[op].len; i++) {
            const Action *a = &plan->actions.at[plan->by_op[op].at[i]];
            const Probe *p = a->variant->probe;
            if ((a->event.mode != MODE_ALT && a->event.mode != MODE_BLOCK_ALT) || p->predicate ||
                a->variant->impossible)
                continue;
            if (first && first->rule.span.start != p->rule.span.start) {
                Diag *d = diag(diags, DIAG_ALT_CLASH, p->rule.span,
                               "a second alt probe replaces %s", wasm_ops[op].mnemonic);
                diag_label(diags, d, first->rule.span, "the first one is here");
                return false;
            }
            first = p;
        }
    }
    return true;
}

/* A function of the script: everything in it can be compiled. */
static bool plan_fn(Plan *plan, uint32_t script, Fn *fn, Diags *diags) {
    Cut c = {plan, plan->scopes.at[script], diags, true, 0};
    cut_block(&c, &fn->body);
    vec_push(&plan->fns, ((PlanFn){fn, script, NULL}));
    return c.ok;
}

static bool has_exit(const Block *b) {
    for (const Stmt *s = b->first; s; s = s->next) {
        if (s->kind == STMT_CALL && s->value->annotation == ANN_EXIT)
            return true;
        for (uint32_t i = 0; i < s->narms; i++)
            if (has_exit(&s->arms[i].body))
                return true;
    }
    return false;
}

static bool plan_script(Plan *plan, uint32_t index, Diags *diags) {
    Script *s = plan->scripts.at[index];
    /* has no names of a place either */
    ScopeCtx ctx = {{.kind = EVENT_BEGIN}, plan, index, diags};
    Scope scope = {.ctx = &ctx,
                   .name = scope_name,
                   .function = scope_function,
                   .suggest = scope_suggest,
                   .library = scope_library,
                   .exported = scope_exported,
                   .describe = "script scope"};
    plan->has_exits |= has_exit(&s->init);
    bool ok = plan_uses(plan, index, diags);
    ok &= lang_check_script(s, &scope, diags) && !s->broken;
    for (uint32_t i = 0; i < s->vars.len; i++) {
        Var *var = s->vars.at[i];
        vec_push(&plan->vars, ((PlanVar){var, index, UINT32_MAX, plan->vars.len}));
    }
    Variant *common = arena_new(&plan->arena, Variant);
    common->script = index;
    vec_push(&plan->scopes, common);
    Cut c = {plan, common, diags, true, 0};
    if (ok)
        cut_block(&c, &s->init);
    ok &= c.ok;
    for (uint32_t i = 0; ok && i < s->fns.len; i++)
        ok &= plan_fn(plan, index, s->fns.at[i], diags);
    uint32_t number = 0;
    for (uint32_t i = 0; i < s->probes.len; i++)
        ok &= plan_probe(plan, index, s->probes.at[i], &number, diags);
    return ok;
}

bool plan_make(Plan *plan, Script *const *scripts, uint32_t n, const Libraries *libraries,
               Diags *diags) {
    *plan = (Plan){.libraries = libraries};
    bool ok = true;
    for (uint32_t i = 0; i < n; i++)
        vec_push(&plan->scripts, scripts[i]);
    plan->exits = arena_array(&plan->arena, void *, n + 1);
    for (uint32_t i = 0; i < n; i++)
        ok &= plan_script(plan, i, diags);
    index_actions(plan);
    return ok && check_alts(plan, diags);
}

static void free_variant(Variant *v) {
    vec_free(&v->atoms);
    vec_free(&v->consts);
    vec_free(&v->args);
    vec_free(&v->results);
    vec_free(&v->locals);
    vec_free(&v->alt_calls);
    vec_free(&v->dups);
    vec_free(&v->statics);
    vec_free(&v->memory_calls);
    map_free(&v->shapes);
}

void plan_free(Plan *plan) {
    statics_free(plan);
    for (uint32_t i = 0; i < plan->variants.len; i++)
        free_variant(plan->variants.at[i]);
    for (uint32_t i = 0; i < plan->scopes.len; i++)
        free_variant(plan->scopes.at[i]);
    vec_free(&plan->scopes);
    vec_free(&plan->scripts);
    vec_free(&plan->probes);
    vec_free(&plan->variants);
    vec_free(&plan->actions);
    vec_free(&plan->vars);
    vec_free(&plan->fns);
    vec_free(&plan->library_fns);
    vec_free(&plan->memory_calls);
    vec_free(&plan->shapes);
    vec_free(&plan->texts);
    map_free(&plan->text_ids);
    arena_free(&plan->arena);
}

void action_text(const Plan *plan, const Action *a, Buf *out) {
    (void)plan;
    buf_printf(out, "%u_", a->number);
    event_text(out, a->event, true);
}

/* ---- shapes ---- */

typedef enum Tri { NO, YES, UNKNOWN } Tri;

/* Evaluating it may do more than give a value: then `dynamic && false` is not just false. */
static bool has_effect(const Expr *e) {
    if (e->kind == EXPR_CALL || (e->kind == EXPR_METHOD && !e->method && !e->is_static))
        return true;
    for (uint32_t i = 0; i < e->nargs; i++)
        if (has_effect(e->args[i]))
            return true;
    return false;
}

/* The value of a condition with the atoms decided. */
static Tri decide(const Variant *v, uint64_t atoms, const Expr *e) {
    Value value;
    if (e->slot && e->type->kind == TYPE_BOOL && e->slot <= v->atoms.len &&
        v->atoms.at[e->slot - 1] == e)
        return atoms >> (e->slot - 1) & 1 ? YES : NO;
    if (e->kind == EXPR_BINARY && (e->op == OP_AND || e->op == OP_OR)) {
        Tri decisive = e->op == OP_AND ? NO : YES;
        Tri a = decide(v, atoms, e->args[0]);
        if (a == decisive)
            return a;
        Tri b = decide(v, atoms, e->args[1]);
        if (a == UNKNOWN)
            return b == decisive && !has_effect(e->args[0]) ? b : a;
        return b;
    }
    if (e->kind == EXPR_UNARY && e->op == OP_NOT) {
        Tri a = decide(v, atoms, e->args[0]);
        return a == UNKNOWN ? a : a == YES ? NO : YES;
    }
    if (e->is_static && !e->slot && fold(e, NULL, &value))
        return value.bits ? YES : NO;
    return UNKNOWN;
}

static Shape *make_shape(Plan *plan, Variant *v, uint64_t atoms) {
    Shape *s = arena_new(&plan->arena, Shape);
    s->variant = v;
    s->atoms = atoms;
    s->index = plan->shapes.len;
    s->never = v->probe->predicate && decide(v, atoms, v->probe->predicate) == NO;
    vec_push(&plan->shapes, s);
    return s;
}

/* An expression has no value at a site: nothing happens there. A call that asks for a memory should
 * have one. */
static Shape *lacks(Plan *plan, const Expr *e, const Site *s) {
    if (!plan->lack.call && !builtin_lacks(e, s, &plan->lack))
        plan->lack.call = NULL;
    return NULL;
}

Shape *plan_shape(Plan *plan, Variant *v, const Site *s) {
    if (v->impossible || (v->statics.len && !statics_site(plan, v, s)))
        return NULL;
    for (uint32_t i = 0; v->may_lack_consts && i < v->consts.len; i++) {
        Value value;
        if (!fold(v->consts.at[i], s, &value))
            return lacks(plan, v->consts.at[i], s);
    }
    if (!v->atoms.len && !v->only)
        v->only = make_shape(plan, v, 0);
    if (v->only)
        return v->only->never ? NULL : v->only;
    uint64_t atoms = 0;
    for (uint32_t i = 0; i < v->atoms.len; i++) {
        Value value;
        if (!fold(v->atoms.at[i], s, &value))
            return lacks(plan, v->atoms.at[i], s);
        atoms |= (value.bits & 1) << i;
    }
    Str key = {(char *)&atoms, sizeof atoms};
    uint64_t *index = map_get(&v->shapes, key);
    Shape *shape = index ? plan->shapes.at[*index] : NULL;
    if (!shape) {
        shape = make_shape(plan, v, atoms);
        map_put(&v->shapes, key, shape->index, NULL);
    }
    return shape->never ? NULL : shape;
}
