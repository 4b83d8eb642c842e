/*
 * target/splice.c - templates become code: filling holes, saving and restoring operands and
 * results.
 */
#include "target/splice.h"

/* ---- locals ---- */

void pool_reset(LocalPool *p, uint32_t first) {
    p->first = first;
    p->types.len = p->taken.len = 0;
}

enum { FREE, TAKEN, KEPT };

static uint32_t pool_get(LocalPool *p, WasmType type, uint8_t state) {
    for (uint32_t i = 0; i < p->types.len && state == TAKEN; i++) {
        if (p->types.at[i] == type && p->taken.at[i] == FREE) {
            p->taken.at[i] = state;
            return p->first + i;
        }
    }
    vec_push(&p->types, type);
    vec_push(&p->taken, state);
    return p->first + p->types.len - 1;
}

uint32_t pool_take(LocalPool *p, WasmType type) {
    return pool_get(p, type, TAKEN);
}

/* A kept local is always a new one: it must still be zero at function entry. */
uint32_t pool_keep(LocalPool *p, WasmType type) {
    return pool_get(p, type, KEPT);
}

void pool_release(LocalPool *p) {
    for (uint32_t i = 0; i < p->taken.len; i++)
        if (p->taken.at[i] == TAKEN)
            p->taken.at[i] = FREE;
}

void pool_free(LocalPool *p) {
    vec_free(&p->types);
    vec_free(&p->taken);
}

/* ---- the splicer ---- */

void splicer_init(Splicer *s, const WasmModule *m, const Plan *plan, const Store *store,
                  const uint32_t *helpers, const uint32_t *fns) {
    *s = (Splicer){
        .m = m, .plan = plan, .store = store, .helpers = helpers, .fns = fns, .grow = UINT32_MAX};
    s->frame.local = mem_alloc(sizeof *s->frame.local * (plan->vars.len + 1u));
    memset(s->frame.local, 0xff, sizeof *s->frame.local * (plan->vars.len + 1u));
}

static void free_saved(Saved *v) {
    vec_free(&v->local);
    vec_free(&v->narrow);
    vec_free(&v->type);
}

void splicer_free(Splicer *s) {
    pool_free(&s->pool);
    free(s->frame.local);
    vec_free(&s->frame.used);
    free_saved(&s->args);
    free_saved(&s->results);
    vec_free(&s->cursor.next);
    vec_free(&s->got);
    vec_free(&s->gives);
    vec_free(&s->site_slots);
    vec_free(&s->slot_at);
    vec_free(&s->temps);
    vec_free(&s->wrapped);
}

void splicer_begin(Splicer *s, uint32_t locals) {
    pool_reset(&s->pool, locals);
    for (uint32_t i = 0; i < s->frame.used.len; i++)
        s->frame.local[s->frame.used.at[i]] = UINT32_MAX;
    s->frame.used.len = 0;
    s->wrapped.len = 0;
}

void splice_slots(Splicer *s, const Match *matches, uint32_t n) {
    s->site_slots.len = s->slot_at.len = 0;
    vec_reserve(&s->site_slots, 1);
    for (uint32_t m = 0; m < n; m++) {
        const Variant *v = matches[m].action->variant;
        uint32_t at = s->site_slots.len;
        vec_push(&s->slot_at, at);
        for (uint32_t i = 0; i < v->probe->nvars; i++) {
            const Var *var = v->probe->vars[i];
            uint64_t slot = 0;
            if (var->storage == STORAGE_UNSHARED)
                slot = store_slot(s->store, &s->cursor, &s->plan->vars.at[v->vars[var->index]]);
            vec_push(&s->site_slots, slot); /* vars are in the order of Var.index */
        }
    }
}

/* ---- instructions ---- */

static void put_op_index(Splicer *s, WasmOp op, uint64_t index) {
    wasm_put_op(s->out, op);
    buf_uleb(s->out, index);
}

static void put_local(Splicer *s, uint8_t access, uint32_t local) {
    put_op_index(s,
                 access == HOLE_GET   ? WASM_OP_LOCAL_GET
                 : access == HOLE_SET ? WASM_OP_LOCAL_SET
                                      : WASM_OP_LOCAL_TEE,
                 local);
}

static void put_global(Splicer *s, uint8_t access, uint64_t global) {
    put_op_index(s, access == HOLE_GET ? WASM_OP_GLOBAL_GET : WASM_OP_GLOBAL_SET, global);
}

static void put_i32(Splicer *s, int32_t v) {
    wasm_put_op(s->out, WASM_OP_I32_CONST);
    buf_sleb(s->out, v);
}

static void put_constant(Splicer *s, WasmType type, const Expr *e, const Site *site) {
    Value v = {.kind = e->type->kind};
    fold(e, site, &v); /* plan_shape leaves out sites at which it has no value */
    if (v.kind == TYPE_STR)
        store_push_str(s->store, s->m, v.text, s->out);
    else
        wasm_put_const(s->out, type, value_wasm_bits(v));
}

/* The local of the first leaf; those of the others follow. */
static uint32_t frame_local(Splicer *s, uint32_t var) {
    uint32_t id = s->store->frame_of[var];
    if (s->frame.local[id] == UINT32_MAX) {
        const Type *type = s->plan->vars.at[id].decl->type;
        s->frame.local[id] = s->pool.first + s->pool.types.len; /* kept ones are new */
        for (uint32_t leaf = 0; leaf < type_leaves(type); leaf++)
            pool_keep(&s->pool, type_wasm(type_leaf(type, leaf)));
        vec_push(&s->frame.used, id);
    }
    return s->frame.local[id];
}

static void put_variable(Splicer *s, const Hole *h) {
    uint32_t id = h->n / HOLE_LEAVES, leaf = h->n % HOLE_LEAVES;
    const PlanVar *var = &s->plan->vars.at[id];
    switch (var->decl->storage) {
    case STORAGE_FRAME: put_local(s, h->access, frame_local(s, id) + leaf); break;
    case STORAGE_UNSHARED: put_global(s, h->access, s->slots[var->decl->index] + leaf); break;
    default:
        put_global(s, h->access, wasm_final(s->m, WASM_SPACE_GLOBAL, s->store->global[id] + leaf));
        break;
    }
}

/* A local of the template for leaf n of a tuple that a call gave, or that it gives. */
static uint32_t leaf_local(Splicer *s, LeafLocals *list, uint32_t n, WasmType type) {
    for (uint32_t i = 0; i < list->len; i++)
        if (list->at[i].n == n && list->at[i].type == type)
            return list->at[i].local;
    vec_push(list, ((LeafLocal){n, type, pool_take(&s->pool, type)}));
    return vec_last(list).local;
}

/* The local of result i of the instruction that an alt body stands for (Variant.gives). */
static uint32_t given_local(Splicer *s, uint32_t i) {
    return leaf_local(s, &s->gives, i, s->types->results.at[i]);
}

/* Results of ways through the body that supply none are zero. */
static void clear_given(Splicer *s) {
    for (uint32_t i = 0; i < s->types->results.len; i++) {
        WasmType type = s->types->results.at[i];
        if (WASM_IS_REF(type)) {
            wasm_put_op(s->out, WASM_OP_REF_NULL);
            wasm_put_heap(s->out, type);
        } else if (type == WASM_V128) {
            static const uint8_t zeros[16];
            wasm_put_op(s->out, WASM_OP_V128_CONST);
            buf_bytes(s->out, zeros, sizeof zeros);
        } else {
            wasm_put_const(s->out, type, 0);
        }
        put_local(s, HOLE_SET, given_local(s, i));
    }
}

/* A call that gives a tuple leaves it on the stack: its leaves go to locals. */
static void take_leaves(Splicer *s, const Type *result) {
    uint32_t n = type_leaves(result);
    for (uint32_t i = n; i > 0 && n > 1; i--) {
        WasmType type = type_wasm(type_leaf(result, i - 1));
        put_local(s, HOLE_SET, leaf_local(s, &s->got, i - 1, type));
    }
}

/* memory.size or table.size of what the instruction accesses, as i64. */
static void put_size(Splicer *s, const Hole *h, const WasmInstr *i) {
    bool wide;
    if (h->kind == HOLE_PAGES) {
        uint32_t memory = accessed_memory(i, h->n);
        put_op_index(s, WASM_OP_MEMORY_SIZE, wasm_final(s->m, WASM_SPACE_MEMORY, memory));
        wide = s->m->memories.at[memory].limits.is64;
    } else {
        /* table.init names the segment first; table.copy's source is second */
        uint32_t table = i->op == WASM_OP_TABLE_INIT || h->n ? i->b : i->a;
        put_op_index(s, WASM_OP_TABLE_SIZE, wasm_final(s->m, WASM_SPACE_TABLE, table));
        wide = s->m->tables.at[table].limits.is64;
    }
    if (!wide)
        wasm_put_op(s->out, WASM_OP_I64_EXTEND_I32_U);
}

static void put_test(Splicer *s, WasmType type) {
    wasm_put_op(s->out, type & WASM_NULL_BIT ? WASM_OP_REF_TEST_NULL : WASM_OP_REF_TEST);
    wasm_put_heap(s->out, type);
}

/* Whether an indirect call of the entry will trap. The type need not be tested where the table
 * holds nothing else. */
static void put_entry_fails(Splicer *s, const WasmInstr *i) {
    const WasmTable *t = &s->m->tables.at[i->b];
    uint64_t table = wasm_final(s->m, WASM_SPACE_TABLE, i->b);
    put_local(s, HOLE_GET, s->args.local.at[0]);
    put_op_index(s, WASM_OP_TABLE_SIZE, table);
    wasm_put_op(s->out, t->limits.is64 ? WASM_OP_I64_LT_U : WASM_OP_I32_LT_U);
    wasm_put_op(s->out, WASM_OP_IF);
    buf_u8(s->out, WASM_I32);
    put_local(s, HOLE_GET, s->args.local.at[0]);
    put_op_index(s, WASM_OP_TABLE_GET, table);
    if (wasm_subtype(s->m, t->type, WASM_REF(1, i->a))) {
        wasm_put_op(s->out, WASM_OP_REF_IS_NULL);
    } else {
        put_test(s, WASM_REF(0, i->a));
        wasm_put_op(s->out, WASM_OP_I32_EQZ);
    }
    wasm_put_op(s->out, WASM_OP_ELSE);
    put_i32(s, 1);
    wasm_put_op(s->out, WASM_OP_END);
}

/* What can be told from operand 0. */
static void put_condition(Splicer *s, const WasmInstr *i, RefCondition which) {
    if (which == ENTRY_FAILS) {
        put_entry_fails(s, i);
        return;
    }
    put_local(s, HOLE_GET, s->args.local.at[0]);
    if (which == REF_CAST_FAILS) {
        put_test(s, i->op == WASM_OP_REF_CAST_NULL ? i->type : i->type & ~WASM_NULL_BIT);
        wasm_put_op(s->out, WASM_OP_I32_EQZ);
        return;
    }
    if (i->op == WASM_OP_BR_ON_NULL || i->op == WASM_OP_BR_ON_NON_NULL) {
        wasm_put_op(s->out, WASM_OP_REF_IS_NULL);
    } else {
        put_test(s, i->type2);
    }
    if (i->op == WASM_OP_BR_ON_NON_NULL || i->op == WASM_OP_BR_ON_CAST_FAIL)
        wasm_put_op(s->out, WASM_OP_I32_EQZ);
}

/* The entry of a table of functions that operand 0 names; null where there is none. */
static void put_entry(Splicer *s, const WasmInstr *i) {
    uint32_t handle = accessed_table(i);
    const WasmTable *t = &s->m->tables.at[handle];
    uint64_t table = wasm_final(s->m, WASM_SPACE_TABLE, handle);
    bool functions = wasm_subtype(s->m, t->type, WASM_FUNCREF);
    if (functions) {
        put_local(s, HOLE_GET, s->args.local.at[0]);
        put_op_index(s, WASM_OP_TABLE_SIZE, table);
        wasm_put_op(s->out, t->limits.is64 ? WASM_OP_I64_LT_U : WASM_OP_I32_LT_U);
        wasm_put_op(s->out, WASM_OP_IF);
        wasm_put_type(s->out, WASM_FUNCREF);
        put_local(s, HOLE_GET, s->args.local.at[0]);
        put_op_index(s, WASM_OP_TABLE_GET, table);
        wasm_put_op(s->out, WASM_OP_ELSE);
    }
    wasm_put_zero(s->out, WASM_FUNCREF);
    if (functions)
        wasm_put_op(s->out, WASM_OP_END);
}

static bool is_wide(const Splicer *s, uint32_t memory) {
    return s->m->memories.at[memory].limits.is64;
}

/* Saved operand n, extended or wrapped. */
static void put_operand_as(Splicer *s, uint32_t n, bool wide) {
    put_local(s, HOLE_GET, s->args.local.at[n]);
    if (wide != (s->args.type.at[n] == WASM_I64))
        wasm_put_op(s->out, wide ? WASM_OP_I64_EXTEND_I32_U : WASM_OP_I32_WRAP_I64);
}

/* memory.init, memory.copy or memory.fill again, with the address on the stack in another memory.
 */
static void put_dup(Splicer *s, const Expr *to, const Site *site) {
    const WasmInstr *i = site->instr;
    uint32_t memory = memory_handle(s->memories, to, site); /* checked in pass 1 */
    uint64_t index = wasm_final(s->m, WASM_SPACE_MEMORY, memory);
    bool wide = is_wide(s, memory);
    if (wide)
        wasm_put_op(s->out, WASM_OP_I64_EXTEND_I32_U);
    put_local(s, HOLE_GET, s->args.local.at[1]);
    /* the length is 64 bits wide if all addresses are */
    bool wide_length = i->op == WASM_OP_MEMORY_FILL   ? wide
                       : i->op == WASM_OP_MEMORY_COPY ? wide && is_wide(s, i->b)
                                                      : false;
    put_operand_as(s, 0, wide_length);
    switch (i->op) {
    case WASM_OP_MEMORY_FILL: put_op_index(s, WASM_OP_MEMORY_FILL, index); break;
    case WASM_OP_MEMORY_COPY:
        put_op_index(s, WASM_OP_MEMORY_COPY, index);
        buf_uleb(s->out, wasm_final(s->m, WASM_SPACE_MEMORY, i->b));
        break;
    default:
        put_op_index(s, WASM_OP_MEMORY_INIT, wasm_final(s->m, WASM_SPACE_DATA, i->a));
        buf_uleb(s->out, index);
    }
}

/* The length of an array, 0 of null. */
static void put_length(Splicer *s, uint32_t local) {
    put_local(s, HOLE_GET, local);
    wasm_put_op(s->out, WASM_OP_REF_IS_NULL);
    wasm_put_op(s->out, WASM_OP_IF);
    buf_u8(s->out, WASM_I64);
    wasm_put_const(s->out, WASM_I64, 0);
    wasm_put_op(s->out, WASM_OP_ELSE);
    put_local(s, HOLE_GET, local);
    wasm_put_op(s->out, WASM_OP_ARRAY_LEN);
    wasm_put_op(s->out, WASM_OP_I64_EXTEND_I32_U);
    wasm_put_op(s->out, WASM_OP_END);
}

/* Pushes the top `n` saved values back, deepest first. */
static void restore(Splicer *s, const Saved *v, uint32_t n) {
    for (uint32_t k = n; k-- > 0;)
        put_local(s, HOLE_GET, v->local.at[k]);
}

/* The operand count of the replaced instruction. */
static uint32_t operand_count(const Site *site, const SiteTypes *types) {
    return types->known ? types->operands.len
                        : (uint32_t)strlen(wasm_ops[site->instr->op].operands);
}

/* drop_args: an ordinary alt has popped its operands already, as one with a dynamic predicate has;
 * a construct's are still there. */
static void put_drops(Splicer *s, const Variant *v, const Site *site) {
    if (!site->construct || v->guarded_alt)
        return;
    for (uint32_t k = operand_count(site, s->types); k > 0; k--)
        wasm_put_op(s->out, WASM_OP_DROP);
}

int64_t alt_call_target(const WasmModule *m, const AltCall *call) {
    uint32_t n = m->input_count[WASM_SPACE_FUNC];
    if (!call->by_name)
        return call->id < n ? (int64_t)call->id : -1;
    for (uint32_t i = 0; i < n; i++)
        if (m->funcs.at[i].import < 0 && str_eq(m->funcs.at[i].name, call->name))
            return i;
    return -1;
}

static void put_saved(Splicer *s, const Hole *h, const Saved *v) {
    bool whole = h->type == v->type.at[h->n];
    put_local(s, h->access, whole ? v->local.at[h->n] : v->narrow.at[h->n]);
}

static void put_hole(Splicer *s, const Hole *h, const Variant *v, const Site *site) {
    switch ((HoleKind)h->kind) {
    case HOLE_CONST: put_constant(s, h->type, v->consts.at[h->n], site); break;
    case HOLE_ARG: put_saved(s, h, &s->args); break;
    case HOLE_RESULT: put_saved(s, h, &s->results); break;
    case HOLE_LOCAL: put_local(s, h->access, h->n); break;
    case HOLE_VAR: put_variable(s, h); break;
    case HOLE_VAR_ADDR: put_i32(s, (int32_t)s->slots[s->plan->vars.at[h->n].decl->index]); break;
    case HOLE_TEMP: put_local(s, h->access, s->temps.at[h->n]); break;
    case HOLE_PAGES:
    case HOLE_ELEMS: put_size(s, h, site->instr); break;
    case HOLE_HELPER:
        put_op_index(s, WASM_OP_CALL, wasm_final(s->m, WASM_SPACE_FUNC, s->helpers[h->n]));
        break;
    case HOLE_FN:
        put_op_index(s, WASM_OP_CALL, wasm_final(s->m, WASM_SPACE_FUNC, s->fns[h->n]));
        take_leaves(s, s->plan->fns.at[h->n].fn->result);
        break;
    case HOLE_WIDE:
        put_local(s, HOLE_GET, s->args.local.at[h->n]);
        if (s->args.type.at[h->n] == WASM_I32)
            wasm_put_op(s->out, WASM_OP_I64_EXTEND_I32_U);
        break;
    case HOLE_NULL:
        put_local(s, HOLE_GET, s->args.local.at[h->n]);
        wasm_put_op(s->out, WASM_OP_REF_IS_NULL);
        break;
    case HOLE_DROP: put_drops(s, v, site); break;
    case HOLE_ALT_CALL:
        restore(s, &s->args, s->args.local.len);
        put_op_index(s, WASM_OP_CALL,
                     wasm_final(s->m, WASM_SPACE_FUNC,
                                (uint32_t)alt_call_target(s->m, &v->alt_calls.at[h->n])));
        for (uint32_t i = s->types->results.len; i > 0 && v->gives; i--)
            put_local(s, HOLE_SET, given_local(s, i - 1));
        break;
    case HOLE_CONDITION: put_condition(s, site->instr, (RefCondition)h->n); break;
    case HOLE_LIBRARY:
        put_op_index(s, WASM_OP_CALL,
                     wasm_final(s->m, WASM_SPACE_FUNC, s->plan->library_fns.at[h->n].handle));
        if (s->plan->library_fns.at[h->n].result)
            take_leaves(s, s->plan->library_fns.at[h->n].result);
        break;
    case HOLE_LENGTH: put_length(s, s->args.local.at[h->n]); break;
    case HOLE_SEGMENT: shadow_put_segment(s->shadow, site->instr, s->out); break;
    case HOLE_ENTRY_FID:
        put_local(s, HOLE_GET, s->args.local.at[0]);
        shadow_put_lookup(s->shadow, site->instr, s->out);
        break;
    case HOLE_ENTRY: put_entry(s, site->instr); break;
    case HOLE_RESOLVE:
        if (s->m->tables.at[accessed_table(site->instr)].limits.is64)
            wasm_put_op(s->out, WASM_OP_I64_EXTEND_I32_U);
        shadow_put_lookup(s->shadow, site->instr, s->out);
        break;
    case HOLE_DEPTH:
        put_op_index(s, WASM_OP_CALL,
                     wasm_final(s->m, WASM_SPACE_FUNC, targets_function(s->targets, site->instr)));
        break;
    case HOLE_DUP: put_dup(s, v->dups.at[h->n].memory, site); break;
    case HOLE_TEXT: store_push_text(s->store, s->m, h->n, s->out); break;
    case HOLE_GOT: put_local(s, h->access, leaf_local(s, &s->got, h->n, h->type)); break;
    case HOLE_GIVE: put_local(s, h->access, leaf_local(s, &s->gives, h->n, h->type)); break;
    case HOLE_MEMORY: memory_put_call(s->memories, h->n, site, s->out); break;
    case HOLE_KINDS: break;
    }
}

void splice_template(Splicer *s, const Template *t, const Variant *v, const Site *site) {
    s->temps.len = s->got.len = 0;
    if (!v || !v->gives)
        s->gives.len = 0;
    for (uint32_t i = 0; i < t->ntemps; i++) {
        uint32_t local = pool_take(&s->pool, t->temps[i]);
        vec_push(&s->temps, local);
    }
    uint32_t at = 0;
    for (uint32_t i = 0; i < t->nholes; i++) {
        buf_bytes(s->out, t->code + at, t->holes[i].at - at);
        at = t->holes[i].at;
        put_hole(s, &t->holes[i], v, site);
    }
    buf_bytes(s->out, t->code + at, t->len - at);
    bool by_site = v && v->gives;
    for (uint32_t i = 0; i < t->ngives && !by_site; i++)
        put_local(s, HOLE_GET, leaf_local(s, &s->gives, i, t->gives[i]));
}

/* ---- sites at instructions ---- */

/* How many operands (or results) from the top the matches use, and whether one is assigned. */
typedef struct Need {
    uint32_t count;
    bool assigned;
} Need;

static void need(Need *n, const Operands *list, bool may_assign) {
    for (uint32_t i = 0; i < list->len; i++) {
        if (!list->at[i].used)
            continue;
        if (list->at[i].n >= n->count)
            n->count = list->at[i].n + 1;
        n->assigned |= may_assign && list->at[i].assigned;
    }
}

/* Operand (or result) k from the top: from the site's types, else fixed by the opcode. */
static WasmType operand_type(const Site *site, const SiteTypes *types, bool result, uint32_t k) {
    if (types->known) {
        const WasmTypes *list = result ? &types->results : &types->operands;
        WasmType t = k < list->len ? list->at[list->len - 1 - k] : WASM_BOT;
        return t == WASM_BOT ? WASM_I32 : t;
    }
    const char *letters =
        result ? wasm_ops[site->instr->op].results : wasm_ops[site->instr->op].operands;
    size_t count = strlen(letters);
    switch (k < count && *letters != '*' ? letters[count - 1 - k] : 'i') {
    case 'l': return WASM_I64;
    case 'f': return WASM_F32;
    case 'd': return WASM_F64;
    case 'v': return WASM_V128;
    default: return WASM_I32;
    }
}

/* Moves the top n values into new locals, first the top; the deepest stays on the stack too if
 * `tee`. */
static void save(Splicer *s, const Site *site, const SiteTypes *types, bool result, uint32_t n,
                 bool tee, bool keep) {
    Saved *v = result ? &s->results : &s->args;
    v->local.len = v->narrow.len = v->type.len = 0;
    for (uint32_t k = 0; k < n; k++) {
        WasmType type = operand_type(site, types, result, k);
        uint32_t local = keep ? pool_keep(&s->pool, type) : pool_take(&s->pool, type);
        vec_push(&v->local, local);
        vec_push(&v->narrow, local);
        vec_push(&v->type, type);
        put_local(s, k + 1 == n && tee ? HOLE_TEE : HOLE_SET, local);
    }
}

/* A 64-bit address or size that the template takes for 32 bits. */
static bool is_narrowed(const Saved *v, const Operand *o) {
    return o->used && o->n < v->type.len && v->type.at[o->n] == WASM_I64 &&
           type_wasm(o->type) == WASM_I32;
}

/* Makes the narrow copies that the matches ask for. */
static void narrow(Splicer *s, const Match *matches, uint32_t n, bool result, bool keep) {
    Saved *v = result ? &s->results : &s->args;
    for (uint32_t i = 0; i < n; i++) {
        const Variant *variant = matches[i].action->variant;
        const Operands *list = result ? &variant->results : &variant->args;
        for (uint32_t k = 0; k < list->len; k++) {
            uint32_t a = list->at[k].n;
            if (!is_narrowed(v, &list->at[k]) || v->narrow.at[a] != v->local.at[a])
                continue;
            v->narrow.at[a] = keep ? pool_keep(&s->pool, WASM_I32) : pool_take(&s->pool, WASM_I32);
            put_local(s, HOLE_GET, v->local.at[a]);
            wasm_put_op(s->out, WASM_OP_I32_WRAP_I64);
            put_local(s, HOLE_SET, v->narrow.at[a]);
        }
    }
}

/* What templates assigned to narrow copies becomes the value: an address, or a size of which -1
 * means failure. */
static void widen(Splicer *s, const Match *matches, uint32_t n, bool result) {
    Saved *v = result ? &s->results : &s->args;
    for (uint32_t i = 0; i < n; i++) {
        const Variant *variant = matches[i].action->variant;
        const Operands *list = result ? &variant->results : &variant->args;
        for (uint32_t k = 0; k < list->len; k++) {
            if (!list->at[k].assigned || !is_narrowed(v, &list->at[k]))
                continue;
            put_local(s, HOLE_GET, v->narrow.at[list->at[k].n]);
            wasm_put_op(s->out, result ? WASM_OP_I64_EXTEND_I32_S : WASM_OP_I64_EXTEND_I32_U);
            put_local(s, HOLE_SET, v->local.at[list->at[k].n]);
        }
    }
}

static bool in_mode(const Match *m, Mode mode) {
    return m->action->event.mode == mode;
}

void splice_match(Splicer *s, const Site *site, const Match *matches, uint32_t n) {
    s->slots = s->site_slots.at + s->slot_at.at[n];
    splice_template(s, matches[n].shape->template, matches[n].action->variant, site);
}

static void splice_mode(Splicer *s, const Site *site, const Match *matches, uint32_t n, Mode mode) {
    for (uint32_t i = 0; i < n; i++)
        if (in_mode(&matches[i], mode))
            splice_match(s, site, matches, i);
}

/* An instruction behind which nothing runs: what replaces it must not fall into code that was never
 * typed for it. */
static bool diverges(WasmOp op) {
    switch (op) {
    case WASM_OP_UNREACHABLE:
    case WASM_OP_BR:
    case WASM_OP_BR_TABLE:
    case WASM_OP_RETURN:
    case WASM_OP_RETURN_CALL:
    case WASM_OP_RETURN_CALL_INDIRECT:
    case WASM_OP_RETURN_CALL_REF:
    case WASM_OP_THROW:
    case WASM_OP_THROW_REF:
    case WASM_OP_RETHROW: return true;
    default: return false;
    }
}

/* What the matches of a site want. */
typedef struct Wanted {
    Need args, results;
    bool before, after, alt;
    bool landing;   /* pieces where the branch lands */
    bool construct; /* pieces inside or behind the construct that the instruction opens */
} Wanted;

static Wanted wanted_by(const Match *matches, uint32_t n) {
    Wanted w = {0};
    for (uint32_t i = 0; i < n; i++) {
        const Variant *v = matches[i].action->variant;
        w.before |= in_mode(&matches[i], MODE_BEFORE);
        w.after |= in_mode(&matches[i], MODE_AFTER);
        w.alt |= in_mode(&matches[i], MODE_ALT);
        w.landing |= in_mode(&matches[i], MODE_AT_TARGET);
        w.construct |= w.landing || in_mode(&matches[i], MODE_ENTRY) ||
                       in_mode(&matches[i], MODE_EXIT) || in_mode(&matches[i], MODE_SEMANTIC_AFTER);
        need(&w.args, &v->args, in_mode(&matches[i], MODE_BEFORE) || v->is_alt);
        need(&w.results, &v->results, true);
        if (v->needs_reference && !w.args.count)
            w.args.count = 1;
    }
    return w;
}

WasmType splice_result_type(WasmModule *m, const WasmTypes *results) {
    if (results->len < 2)
        return results->len ? results->at[0] : WASM_NONE;
    return WASM_FUNC_TYPE_BIT | wasm_add_func_type(m, NULL, 0, results->at, results->len);
}

static void put_block_type(Splicer *s, const Site *site, const SiteTypes *types) {
    const char *letters = wasm_ops[site->instr->op].results;
    if (!types->known) {
        if (*letters)
            wasm_put_type(s->out, operand_type(site, types, true, 0));
        else
            buf_u8(s->out, WASM_NONE);
    } else if (types->results.len > 1) {
        int64_t type = wasm_find_func_type(s->m, NULL, 0, types->results.at, types->results.len);
        buf_sleb(s->out, type); /* added in pass 1 */
    } else if (types->results.len) {
        wasm_put_type(s->out, types->results.at[0]);
    } else {
        buf_u8(s->out, WASM_NONE);
    }
}

typedef struct Relabel {
    const Splicer *s;
    const Site *site;
} Relabel;

/* A label of an instruction that is copied into one more block; wrapped constructs that the branch
 * leaves add theirs. */
static uint32_t label_inside(void *ctx, uint32_t depth) {
    const Relabel *r = ctx;
    const Site *site = r->site;
    uint32_t crossed = 0, end = UINT32_MAX; /* of the target */
    if (depth < site->nopen)
        end = site->constructs[site->open[site->nopen - 1 - depth]].end;
    for (uint32_t k = 0; k < r->s->wrapped.len; k++) {
        const Wrapped *w = &r->s->wrapped.at[k];
        crossed += w->start < site->pc && site->pc < w->end && w->end < end;
    }
    return depth + 1 + crossed;
}

/* The original instruction inside one more block. */
static void put_original(Splicer *s, const Site *site) {
    const WasmInstr *i = site->instr;
    const uint8_t *bytes = wasm_func_body(s->m, site->func) + i->offset;
    if (i->op == WASM_OP_MEMORY_GROW && i->a == 0 && s->grow != UINT32_MAX) {
        put_op_index(s, WASM_OP_CALL, wasm_final(s->m, WASM_SPACE_FUNC, s->grow));
        return;
    }
    if (shadow_put_instr(s->shadow, site, s->out))
        return;
    WasmRemap map = wasm_layout_remap(s->m);
    Relabel relabel = {s, site};
    if (wasm_has_labels(i))
        wasm_copy_branch(bytes, i, &map, label_inside, &relabel, s->out);
    else
        wasm_copy_instr(bytes, i, &map, s->out);
}

static const Match *alt_of(const Match *matches, uint32_t n, Mode mode) {
    for (uint32_t i = 0; i < n; i++)
        if (in_mode(&matches[i], mode))
            return &matches[i];
    return NULL;
}

/* Leaves the value of the dynamic predicate. */
static void splice_predicate(Splicer *s, const Site *site, const Match *matches, const Match *alt) {
    s->slots = s->site_slots.at + s->slot_at.at[alt - matches];
    splice_template(s, alt->shape->predicate, alt->action->variant, site);
}

/* The body instead of the instruction; with a dynamic predicate, one or the other. */
static void splice_alt(Splicer *s, const Site *site, const SiteTypes *types, const Match *matches,
                       uint32_t n, uint32_t saved) {
    const Match *alt = alt_of(matches, n, MODE_ALT);
    const Variant *v = alt->action->variant;
    for (uint32_t k = saved; k < operand_count(site, types); k++)
        wasm_put_op(s->out, WASM_OP_DROP);
    if (v->guarded_alt) {
        splice_predicate(s, site, matches, alt);
        wasm_put_op(s->out, WASM_OP_IF);
        put_block_type(s, site, types);
    }
    s->gives.len = 0;
    if (v->gives)
        clear_given(s);
    splice_match(s, site, matches, (uint32_t)(alt - matches));
    for (uint32_t i = 0; i < types->results.len && v->gives; i++)
        put_local(s, HOLE_GET, given_local(s, i));
    if (v->returns && v->returns->kind != TYPE_TUPLE && type_wasm(v->returns) == WASM_I32 &&
        operand_type(site, types, true, 0) == WASM_I64)
        wasm_put_op(s->out, WASM_OP_I64_EXTEND_I32_S); /* a size */
    if (v->guarded_alt) {
        wasm_put_op(s->out, WASM_OP_ELSE);
        restore(s, &s->args, s->args.local.len);
        put_original(s, site);
        wasm_put_op(s->out, WASM_OP_END);
    }
    if (diverges((WasmOp)site->instr->op) && !types->falls_through)
        wasm_put_op(s->out, WASM_OP_UNREACHABLE);
}

static void splice_after(Splicer *s, const Site *site, const SiteTypes *types, const Match *matches,
                         uint32_t n, Need results) {
    save(s, site, types, true, results.count, !results.assigned, false);
    narrow(s, matches, n, true, false);
    splice_mode(s, site, matches, n, MODE_AFTER);
    if (results.assigned)
        widen(s, matches, n, true);
    if (results.count)
        restore(s, &s->results, results.assigned ? results.count : results.count - 1);
}

/* The bodies of at_target probes, if the flag says that control comes from the branch. */
static void put_landing(Splicer *s, const Site *site, const Match *matches, uint32_t n,
                        uint32_t flag, uint32_t at, SplicePiece *piece, void *ctx) {
    size_t from = s->out->len;
    put_local(s, HOLE_GET, flag);
    wasm_put_op(s->out, WASM_OP_IF);
    buf_u8(s->out, WASM_NONE);
    put_i32(s, 0);
    put_local(s, HOLE_SET, flag);
    splice_mode(s, site, matches, n, MODE_AT_TARGET);
    wasm_put_op(s->out, WASM_OP_END);
    piece(ctx, WASM_AFTER, at, RANK_CONSTRUCT, from, s->out->len);
}

/* Landing code behind the end of each target (at the head of a loop); a br_if that falls through
 * lands behind itself. */
static void splice_landings(Splicer *s, const Site *site, const Match *matches, uint32_t n,
                            uint32_t flag, SplicePiece *piece, void *ctx) {
    const WasmInstr *i = site->instr;
    Vec(uint32_t) places = {0};
    const uint8_t *at = i->vec;
    vec_push(&places, site_target(site, i->a));
    for (uint32_t k = 0; i->op == WASM_OP_BR_TABLE && k < i->count; k++) {
        uint32_t place = site_target(site, wasm_vec_u32(&at));
        bool known = false;
        for (uint32_t p = 0; p < places.len && !known; p++)
            known = places.at[p] == place;
        if (!known)
            vec_push(&places, place);
    }
    if (i->op == WASM_OP_BR_IF)
        vec_push(&places, site->pc);
    for (uint32_t p = 0; p < places.len; p++)
        put_landing(s, site, matches, n, flag, places.at[p], piece, ctx);
    vec_free(&places);
}

/* Pieces at the top of a construct, before what closes it, and behind its end. */
static void splice_construct(Splicer *s, const Site *site, const Match *matches, uint32_t n,
                             SplicePiece *piece, void *ctx) {
    static const struct {
        Mode mode;
        WasmWhere where;
    } modes[] = {
        {MODE_ENTRY, WASM_AFTER}, {MODE_EXIT, WASM_BEFORE}, {MODE_SEMANTIC_AFTER, WASM_AFTER}};
    for (uint32_t k = 0; k < 3; k++) {
        size_t from = s->out->len;
        splice_mode(s, site, matches, n, modes[k].mode);
        if (s->out->len == from)
            continue;
        uint32_t at = k == 0 ? site->pc : k == 1 ? site->construct->part_end : site->construct->end;
        piece(ctx, modes[k].where, at, RANK_CONSTRUCT, from, s->out->len);
    }
}

/* Runs before the instruction and needs nothing of it. */
static bool is_plain(const Match *m) {
    const Variant *v = m->action->variant;
    return m->action->event.mode == MODE_BEFORE && !v->args.len && !v->needs_reference;
}

/* The offset behind the `end` (or `delegate` and its label) of a construct. */
static uint32_t behind_construct(const Splicer *s, const Site *site) {
    const uint8_t *end = wasm_func_body(s->m, site->func) + site->construct->end, *p = end + 1;
    if (*end == 0x18) /* delegate */
        wasm_vec_u32(&p);
    return site->construct->end + (uint32_t)(p - end);
}

/* The body instead of a whole construct, or instead of what is in an arm; the `else` or `catch`
 * stays, and what it finds on the stack is dropped. */
static void splice_block_alt(Splicer *s, const Site *site, const SiteTypes *types,
                             const Match *matches, uint32_t n, SpliceRegion *region, void *ctx) {
    const WasmInstr *i = site->instr;
    size_t from = s->out->len;
    bool arm = is_arm((WasmOp)i->op);
    if (arm) {
        WasmRemap map = wasm_layout_remap(s->m);
        wasm_copy_instr(wasm_func_body(s->m, site->func) + i->offset, i, &map, s->out);
        for (uint32_t k = 0; k < types->results.len; k++)
            wasm_put_op(s->out, WASM_OP_DROP);
    }
    splice_mode(s, site, matches, n, MODE_BLOCK_ALT);
    region(ctx, WASM_REPLACE, site->pc, arm ? site->construct->part_end : behind_construct(s, site),
           from, s->out->len);
}

/* With a dynamic predicate: at the top of an arm, the body and then a branch out of the construct;
 * what it leaves is what the construct does. */
static void splice_guarded_arm(Splicer *s, const Site *site, const Match *matches, const Match *alt,
                               SplicePiece *piece, void *ctx) {
    size_t from = s->out->len;
    splice_predicate(s, site, matches, alt);
    wasm_put_op(s->out, WASM_OP_IF);
    buf_u8(s->out, WASM_NONE);
    splice_match(s, site, matches, (uint32_t)(alt - matches));
    put_op_index(s, WASM_OP_BR, 1);
    wasm_put_op(s->out, WASM_OP_END);
    piece(ctx, WASM_AFTER, site->pc, RANK_PROBE, from, s->out->len);
}

/* The body, or else the construct, which is wrapped in the else-arm. Its operands are in locals. */
static void splice_wrap(Splicer *s, const Site *site, const Match *matches, const Match *alt,
                        SpliceRegion *region, void *ctx) {
    uint32_t n;
    const WasmType *results = block_results(s->m, &site->instr->type, &n);
    size_t from = s->out->len;
    splice_predicate(s, site, matches, alt);
    wasm_put_op(s->out, WASM_OP_IF);
    wasm_put_type(s->out, n ? results[0] : WASM_NONE); /* what bodies return is one value */
    splice_match(s, site, matches, (uint32_t)(alt - matches));
    wasm_put_op(s->out, WASM_OP_ELSE);
    restore(s, &s->args, s->args.local.len);
    region(ctx, WASM_WRAP, site->pc, site->construct->end, from, s->out->len);
    vec_push(&s->wrapped, ((Wrapped){site->pc, site->construct->end}));
}

/* Control may come to the instruction, or behind it, other than from the one in front of it. */
static bool entered(WasmOp op) {
    return op == WASM_OP_END || op == WASM_OP_DELEGATE || is_arm(op);
}

void splice_site(Splicer *s, const Site *site, const SiteTypes *types, const Match *matches,
                 uint32_t n, SplicePiece *piece, SpliceRegion *region, void *ctx) {
    splice_slots(s, matches, n);
    s->types = types;
    if (types->known && types->dead && !entered((WasmOp)site->instr->op))
        return; /* counted, but nothing to run */
    if (n == 1 && is_plain(&matches[0])) {
        size_t at = s->out->len;
        splice_match(s, site, matches, 0);
        if (s->pool.types.len)
            pool_release(&s->pool);
        piece(ctx, site->before_end ? WASM_AFTER : WASM_BEFORE, site->pc, RANK_PROBE, at,
              s->out->len);
        return;
    }
    Wanted w = wanted_by(matches, n);
    const Match *alt = alt_of(matches, n, MODE_ALT);
    const Match *block_alt = alt_of(matches, n, MODE_BLOCK_ALT);
    bool guarded = block_alt && block_alt->action->variant->guarded_alt;
    bool wraps = guarded && !is_arm((WasmOp)site->instr->op);
    if (wraps ||
        (alt && (alt->action->variant->guarded_alt || alt->action->variant->alt_calls.len)))
        w.args.count = operand_count(site, types); /* they may be needed again */
    size_t from = s->out->len;
    bool popped = w.alt || wraps;
    bool keep_on_stack = !w.args.assigned && !popped;
    save(s, site, types, false, w.args.count, keep_on_stack, w.construct);
    narrow(s, matches, n, false, w.construct);
    if (w.before)
        splice_mode(s, site, matches, n, MODE_BEFORE);
    uint32_t flag = w.landing ? pool_keep(&s->pool, WASM_I32) : 0;
    if (w.landing) {
        put_i32(s, 1);
        put_local(s, HOLE_SET, flag);
    }
    if (w.args.assigned)
        widen(s, matches, n, false);
    if (!popped && w.args.count)
        restore(s, &s->args, keep_on_stack ? w.args.count - 1 : w.args.count);
    if (s->out->len > from)
        piece(ctx, site->before_end ? WASM_AFTER : WASM_BEFORE, site->pc, RANK_PROBE, from,
              s->out->len);
    if (w.alt) {
        from = s->out->len;
        splice_alt(s, site, types, matches, n, w.args.count);
        /* what certainly does not leave the function is no exit any more */
        PieceRank rank = alt->action->variant->guarded_alt ? RANK_PROBE : RANK_CONSTRUCT;
        piece(ctx, WASM_REPLACE, site->pc, rank, from, s->out->len);
    }
    if (wraps)
        splice_wrap(s, site, matches, block_alt, region, ctx);
    else if (guarded)
        splice_guarded_arm(s, site, matches, block_alt, piece, ctx);
    else if (block_alt)
        splice_block_alt(s, site, types, matches, n, region, ctx);
    if (w.after && !site->at_func_end) {
        from = s->out->len;
        splice_after(s, site, types, matches, n, w.results);
        if (s->out->len > from)
            piece(ctx, WASM_AFTER, site->pc, RANK_PROBE, from, s->out->len);
    }
    if (w.landing)
        splice_landings(s, site, matches, n, flag, piece, ctx);
    if (w.construct)
        splice_construct(s, site, matches, n, piece, ctx);
    if (s->pool.types.len)
        pool_release(&s->pool);
}
