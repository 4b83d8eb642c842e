/*
 * rewrite/move_tags.c - tags of values, for scripts with a `shadow value`: each local and each
 * operand of a function has a local with its tag, which is moved when the value is.
 *
 *   instruction   the tag of a result has the bits of the operands' tags; constants have none
 *   memory        each byte has a tag, in a shadow memory of the runtime (memory 0 only)
 *   calls         tags of arguments and results pass through globals. A callee takes the arguments'
 *                 and leaves zeros, so that there are zeros when the host calls
 *   branches      the tags of values go where the values do
 *   exceptions    payloads pass through globals, too. Where a try_table's handler leads, a local
 *                 says whether control came by a branch, which has moved the tags already
 *
 * Tags move before an instruction, after the code of `before` probes, or after it, before that of
 * `after` probes: where the instruction must have succeeded, and where a call has given results.
 * Alt probes pop the operands: there, operands that are needed are copied before.
 */
#include "rewrite/pass.h"

#include "event/fold.h"
#include "valid/typer.h"
#include "wasm/emit.h"

#include <assert.h>

enum { NO_LOCAL = UINT32_MAX };

/* An instruction that an alt probe may replace. */
typedef struct TagAlt {
    uint32_t func, offset;
} TagAlt;

/* Handles, each of the first global of its kind. */
typedef struct TagPass {
    uint32_t var; /* PlanVar.id of the declaration */
    uint32_t arg, result, payload, global;
    bool shadows; /* the program has a memory */
    WasmTyper typer;
    Vec(TagAlt) alts; /* in order */
} TagPass;

static bool tags_begin(Rewrite *r, void *self) {
    TagPass *p = self;
    const Plan *plan = r->p.plan;
    p->var = UINT32_MAX;
    for (uint32_t i = 0; i < plan->vars.len && p->var == UINT32_MAX; i++)
        if (plan->vars.at[i].decl->tags)
            p->var = i;
    p->shadows = r->p.m.memories.len > 0;
    return p->var != UINT32_MAX;
}

static void tags_end(Rewrite *r, void *self) {
    (void)r;
    TagPass *p = self;
    wasm_typer_free(&p->typer);
    vec_free(&p->alts);
}

/* ---- pass 1 ---- */

static void tags_note(Rewrite *r, void *self, const Site *site, const SiteTypes *types,
                      const Match *matches, uint32_t n, bool code) {
    (void)r, (void)types, (void)code;
    TagPass *p = self;
    for (uint32_t k = 0; k < n; k++) {
        if (matches[k].action->event.mode != MODE_ALT)
            continue;
        vec_push(&p->alts, ((TagAlt){site->func, site->instr->offset}));
        return;
    }
}

/* Whether a handler of a try_table returns from the function, at whose label are `depth` constructs
 * in between. */
static bool handler_returns(const WasmInstr *i, uint32_t depth) {
    const uint8_t *at = i->vec;
    bool returns = false;
    for (uint32_t k = 0; k < i->count; k++)
        returns |= wasm_vec_catch(&at).label == depth;
    return returns;
}

static void refuse(Rewrite *r, const TagPass *p, uint32_t func, const WasmInstr *i) {
    Str name = wasm_shown_name(&r->p.m, func);
    Diag *d = diag(r->p.diags, DIAG_INSTR_CANNOT, r->p.plan->vars.at[p->var].decl->span,
                   "tags of values cannot follow %s, in function %u (%.*s) at offset %u",
                   wasm_ops[i->op].mnemonic, func, STR_ARG(name), i->offset);
    diag_hint(r->p.diags, d, "a shadow memory, 'shadow var', is for all programs");
}

/* Marks a function as changed. Returns whether the tags of its values can be followed. */
static bool touch_tagged(Rewrite *r, const TagPass *p, uint32_t func) {
    WasmCode code;
    WasmInstr i;
    uint32_t depth = 0;
    r->p.touched[func] |= TOUCHED | TOUCHED_LOCALS;
    wasm_func_code(&r->p.m, func, &code);
    while (wasm_next(&code, &i)) {
        WasmFlow flow = wasm_flow(i.op);
        if (wasm_is_of_stacks(i.op)) {
            refuse(r, p, func, &i);
            return false;
        }
        if (i.op == WASM_OP_TRY_TABLE && handler_returns(&i, depth))
            r->p.touched[func] |= TOUCHED_END;
        depth += wasm_flow_opens(flow);
        depth -= flow == WASM_FLOW_END && depth;
    }
    return true;
}

static void tags_decide(Rewrite *r, void *self) {
    for (uint32_t f = 0; f < r->p.m.input_count[WASM_SPACE_FUNC]; f++) {
        if (r->p.m.funcs.at[f].import < 0 && !touch_tagged(r, self, f))
            return;
    }
    r->p.matched = true;
}

static void tags_reach(Rewrite *r, void *self, Reach *reach) {
    (void)r;
    static const Helper used[] = {HELPER_SHADOW_OR, HELPER_SHADOW_PUT, HELPER_SHADOW_FILL,
                                  HELPER_SHADOW_COPY, HELPER_SHADOW_UNIT};
    const TagPass *p = self;
    for (uint32_t i = 0; p->shadows && i < sizeof used / sizeof *used; i++)
        reach->helpers[used[i]] = true;
}

/* Adds n globals; the first one's handle. */
static uint32_t add_globals(Rewrite *r, uint32_t n) {
    return wasm_add_globals_zero(&r->p.m, WASM_I32, true, n + 1);
}

static void tags_add(Rewrite *r, void *self, const Reach *reach) {
    (void)reach;
    TagPass *p = self;
    const WasmModule *m = &r->p.m;
    uint32_t params = 0, results = 0, payload = 0;
    for (uint32_t k = 0; k < m->types.len; k++) {
        const WasmTypeDef *t = &m->types.at[k];
        if (t->kind != WASM_TYPE_FUNC)
            continue;
        params = t->nparams > params ? t->nparams : params;
        results = t->nresults > results ? t->nresults : results;
    }
    for (uint32_t k = 0; k < m->tags.len; k++) {
        const WasmTypeDef *t = &m->types.at[m->tags.at[k].type];
        payload = t->nparams > payload ? t->nparams : payload;
    }
    p->arg = add_globals(r, params);
    p->result = add_globals(r, results);
    p->payload = add_globals(r, payload);
    p->global = add_globals(r, m->input_count[WASM_SPACE_GLOBAL]);
}

/* ---- pass 2: code that moves tags ---- */

/* A construct to which handlers of a try_table lead. */
typedef struct TagLanding {
    uint32_t offset;  /* of its opener; UINT32_MAX = it is the function */
    uint32_t moved;   /* a local: 1 = a branch has moved the tags */
    uint32_t payload; /* values that the exception has */
} TagLanding;

typedef struct Walk {
    Rewrite *r;
    TagPass *p;
    TagPlaces *places;
    const WasmModule *m;
    Pieces *pieces;
    Buf *out;
    uint32_t func;
    WasmTyper *t;
    const WasmInstr *i;
    uint32_t height, nparams, nresults; /* of the stack at the instruction; what it takes, gives */
    uint32_t base;                      /* height - nparams */
    uint32_t save[4];                   /* locals in which values are kept, by use */
    uint32_t save_type[4];
    Vec(TagLanding) landings;
    Map landing_of;          /* offset -> its index */
    Vec(uint32_t) set_aside; /* locals for tags of conditional branches */
    WasmTypes params, results;
} Walk;

static void end_piece(const Walk *w, WasmWhere where, uint32_t rank, size_t from) {
    if (w->out->len > from)
        pieces_add(w->pieces, where, w->i->offset, (PieceRank)rank, from, w->out->len);
}

/* Ends code before the instruction, after that of probes. */
static void end_before(const Walk *w, size_t from) {
    end_piece(w, WASM_OPERAND, RANK_REPLACED, from);
}

/* Whether an alt probe may replace the instruction. */
static bool has_alt(const Walk *w) {
    uint32_t low = 0, high = w->p->alts.len;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        const TagAlt *a = &w->p->alts.at[mid];
        if (a->func < w->func || (a->func == w->func && a->offset < w->i->offset))
            low = mid + 1;
        else
            high = mid;
    }
    const TagAlt *a = low < w->p->alts.len ? &w->p->alts.at[low] : NULL;
    return a && a->func == w->func && a->offset == w->i->offset;
}

/* Ends code that copies operands. */
static void end_copy(const Walk *w, size_t from) {
    if (has_alt(w))
        end_piece(w, WASM_BEFORE, RANK_PROBE, from);
    else
        end_before(w, from);
}

static void end_after(const Walk *w, size_t from) {
    end_piece(w, WASM_AFTER, RANK_PROBE, from);
}

static void get(const Walk *w, uint32_t local) {
    put_index(w->out, WASM_OP_LOCAL_GET, local);
}

static void set(const Walk *w, uint32_t local) {
    put_index(w->out, WASM_OP_LOCAL_SET, local);
}

/* The local with the tag of the operand at a depth. */
static uint32_t slot(const Walk *w, uint32_t depth) {
    while (w->places->slots.len <= depth)
        vec_push(&w->places->slots, pool_keep(&w->r->p.splicer.pool, WASM_I32));
    return w->places->slots.at[depth];
}

static void get_slot(const Walk *w, uint32_t depth) {
    get(w, slot(w, depth));
}

static void set_slot(const Walk *w, uint32_t depth) {
    set(w, slot(w, depth));
}

static void clear_slot(const Walk *w, uint32_t depth) {
    put_i32(w->out, 0);
    set_slot(w, depth);
}

static void move_slot(const Walk *w, uint32_t to, uint32_t from) {
    if (to == from)
        return;
    get_slot(w, from);
    set_slot(w, to);
}

static void tag_global(const Walk *w, WasmOp op, uint32_t handle) {
    put_index(w->out, op, wasm_final(w->m, WASM_SPACE_GLOBAL, handle));
}

/* Sets n globals to the tags of the operands from a depth on. */
static void to_globals(const Walk *w, uint32_t first, uint32_t from, uint32_t n) {
    for (uint32_t k = 0; k < n; k++) {
        get_slot(w, from + k);
        tag_global(w, WASM_OP_GLOBAL_SET, first + k);
    }
}

static void from_globals(const Walk *w, uint32_t first, uint32_t to, uint32_t n) {
    for (uint32_t k = 0; k < n; k++) {
        tag_global(w, WASM_OP_GLOBAL_GET, first + k);
        set_slot(w, to + k);
    }
}

static void clear_globals(const Walk *w, uint32_t first, uint32_t n) {
    for (uint32_t k = 0; k < n; k++) {
        put_i32(w->out, 0);
        tag_global(w, WASM_OP_GLOBAL_SET, first + k);
    }
}

/* The local in which a value is kept from before the instruction to after it. */
static uint32_t tag_keep(Walk *w, uint32_t k, WasmType type) {
    assert(k < sizeof w->save / sizeof *w->save);
    if (w->save[k] == NO_LOCAL || w->save_type[k] != type) {
        w->save[k] = pool_keep(&w->r->p.splicer.pool, type);
        w->save_type[k] = type;
    }
    return w->save[k];
}

/* ---- plain instructions ---- */

static void put_plain(const Walk *w) {
    if (!w->nresults || (w->nparams == 1 && w->nresults == 1))
        return;
    size_t from = w->out->len;
    if (!w->nparams)
        put_i32(w->out, 0);
    for (uint32_t k = 0; k < w->nparams; k++) {
        get_slot(w, w->base + k);
        if (k)
            wasm_put_op(w->out, WASM_OP_I32_OR);
    }
    set_slot(w, w->base);
    for (uint32_t k = 1; k < w->nresults; k++)
        move_slot(w, w->base + k, w->base);
    end_before(w, from);
}

/* The tag is that of the value which is chosen. */
static void put_select(Walk *w) {
    size_t from = w->out->len;
    uint32_t condition = tag_keep(w, 0, WASM_I32);
    put_index(w->out, WASM_OP_LOCAL_TEE, condition);
    end_copy(w, from);
    from = w->out->len;
    get_slot(w, w->base);
    get_slot(w, w->base + 1);
    get(w, condition);
    wasm_put_op(w->out, WASM_OP_SELECT);
    set_slot(w, w->base);
    end_before(w, from);
}

/* Reads or writes a variable with a local or global for its tag. */
static void put_variable_tag(const Walk *w) {
    size_t from = w->out->len;
    uint32_t local = w->places->local + w->i->a;
    switch (w->i->op) {
    case WASM_OP_LOCAL_GET:
        get(w, local);
        set_slot(w, w->height);
        break;
    case WASM_OP_LOCAL_SET:
    case WASM_OP_LOCAL_TEE:
        get_slot(w, w->height - 1);
        set(w, local);
        break;
    case WASM_OP_GLOBAL_GET:
        tag_global(w, WASM_OP_GLOBAL_GET, w->p->global + w->i->a);
        set_slot(w, w->height);
        break;
    default:
        get_slot(w, w->height - 1);
        tag_global(w, WASM_OP_GLOBAL_SET, w->p->global + w->i->a);
        break;
    }
    end_before(w, from);
}

/* ---- memory ---- */

static void call_helper(const Walk *w, Helper h) {
    emit_calls(w->out, w->m, &w->r->helpers[h], 1);
}

/* Pushes the shadow memory's number. */
static void push_shadow(const Walk *w) {
    const Store *s = &w->r->store;
    uint32_t id = w->p->var;
    if (!s->var_in_memory || !s->var_in_memory[id]) {
        tag_global(w, WASM_OP_GLOBAL_GET, s->global[id]);
        return;
    }
    put_i32(w->out, s->address[id]);
    wasm_put_op(w->out, WASM_OP_I32_LOAD);
    emit_memarg(w->out, 2, wasm_final(w->m, WASM_SPACE_MEMORY, s->memory), 0);
}

/* Copies the operands of the instruction to locals, operand k to tag_keep(k). */
static void keep_operands(Walk *w) {
    for (uint32_t k = w->nparams; k-- > 0;)
        put_index(w->out, k ? WASM_OP_LOCAL_SET : WASM_OP_LOCAL_TEE,
                  tag_keep(w, k, w->params.at[k]));
    for (uint32_t k = 1; k < w->nparams; k++)
        get(w, tag_keep(w, k, w->params.at[k]));
}

/* Pushes the unit of the accessed address. */
static void push_unit(Walk *w, WasmType type) {
    get(w, tag_keep(w, 0, type));
    if (type == WASM_I64) {
        wasm_put_const(w->out, WASM_I64, w->i->c);
        wasm_put_op(w->out, WASM_OP_I64_ADD);
        put_i32(w->out, 0);
        call_helper(w, HELPER_SHADOW_UNIT);
    } else if (w->i->c) {
        put_i32(w->out, w->i->c);
        wasm_put_op(w->out, WASM_OP_I32_ADD);
    }
}

/* Loads, stores and atomic instructions. The address is the first operand, the value stored the
 * last one. */
static void put_access(Walk *w, uint32_t bytes, bool writes) {
    WasmType type = w->params.at[0];
    bool lane = !writes && w->nparams == 2 && w->params.at[1] == WASM_V128;
    size_t from = w->out->len;
    if (w->i->b != 0) { /* another memory */
        if (w->nresults && lane)
            move_slot(w, w->base, w->base + 1);
        else if (w->nresults)
            clear_slot(w, w->base);
        end_before(w, from);
        return;
    }
    keep_operands(w);
    end_copy(w, from);
    from = w->out->len;
    if (w->nresults) {
        push_shadow(w);
        push_unit(w, type);
        put_i32(w->out, bytes);
        call_helper(w, HELPER_SHADOW_OR);
        if (lane) {
            get_slot(w, w->base + 1);
            wasm_put_op(w->out, WASM_OP_I32_OR);
        }
        set_slot(w, w->base);
    }
    if (writes) {
        push_shadow(w);
        get_slot(w, w->height - 1);
        if (w->nresults && w->nparams > 1) { /* read, changed and written */
            get_slot(w, w->base);
            wasm_put_op(w->out, WASM_OP_I32_OR);
        }
        push_unit(w, type);
        put_i32(w->out, bytes);
        call_helper(w, HELPER_SHADOW_PUT);
    }
    end_after(w, from);
}

static void push_wide(Walk *w, uint32_t k) {
    get(w, tag_keep(w, k, w->params.at[k]));
    emit_resize(w->out, w->params.at[k], WASM_I64);
}

/* memory.fill, memory.copy, memory.init. */
static void put_bulk(Walk *w) {
    bool copies = w->i->op == WASM_OP_MEMORY_COPY && w->i->b == 0;
    size_t from = w->out->len;
    if (accessed_memory(w->i, 0) != 0)
        return;
    keep_operands(w);
    end_copy(w, from);
    from = w->out->len;
    push_shadow(w);
    push_wide(w, 0);
    if (copies)
        push_wide(w, 1);
    push_wide(w, 2);
    if (w->i->op == WASM_OP_MEMORY_FILL) {
        get_slot(w, w->base + 1);
        wasm_put_op(w->out, WASM_OP_I64_EXTEND_I32_U);
    } else if (!copies) {
        wasm_put_const(w->out, WASM_I64, 0);
    }
    call_helper(w, copies ? HELPER_SHADOW_COPY : HELPER_SHADOW_FILL);
    end_after(w, from);
}

/* ---- calls and exceptions ---- */

static bool is_import(const Walk *w) {
    bool direct = w->i->op == WASM_OP_CALL || w->i->op == WASM_OP_RETURN_CALL;
    return direct && w->m->funcs.at[w->i->a].import >= 0;
}

/* Imports give results without tags, and take none. What an indirect call calls is not known: its
 * results have no tags unless the callee says so. */
static void put_call_tags(const Walk *w) {
    bool tail = wasm_flow(w->i->op) == WASM_FLOW_TAIL_CALL, import = is_import(w);
    bool direct = w->i->op == WASM_OP_CALL || w->i->op == WASM_OP_RETURN_CALL;
    const WasmTypeDef *type = direct ? wasm_func_type(w->m, w->i->a) : &w->m->types.at[w->i->a];
    size_t from = w->out->len;
    if (!import)
        to_globals(w, w->p->arg, w->base, type->nparams);
    if (!direct || has_alt(w) || (tail && import))
        clear_globals(w, w->places->result, type->nresults);
    for (uint32_t k = 0; import && !tail && k < type->nresults; k++)
        clear_slot(w, w->base + k);
    if (tail)
        end_piece(w, WASM_BEFORE, RANK_REPLACED, from);
    else
        end_before(w, from);
    from = w->out->len;
    if (has_alt(w))
        clear_globals(w, w->p->arg, type->nparams);
    if (!import && !tail)
        from_globals(w, w->places->result, w->base, type->nresults);
    end_after(w, from);
}

static void put_throw(const Walk *w) {
    size_t from = w->out->len;
    to_globals(w, w->p->payload, w->base, w->nparams);
    end_piece(w, WASM_BEFORE, RANK_REPLACED, from);
}

static void put_catch(const Walk *w) {
    size_t from = w->out->len;
    const WasmTypeDef *type = &w->m->types.at[w->m->tags.at[w->i->a].type];
    from_globals(w, w->p->payload, vec_last(&w->t->frames).height, type->nparams);
    end_after(w, from);
}

static bool is_function(const WasmFrame *f) {
    return f->op == WASM_OP_COUNT;
}

static TagLanding *find_landing(const Walk *w, uint32_t offset) {
    const uint64_t *at = map_get(&w->landing_of, (Str){(const char *)&offset, sizeof offset});
    return at ? &w->landings.at[*at] : NULL;
}

/* Says at a landing whether the tags have been moved. */
static void set_moved(const Walk *w, const WasmFrame *f, bool moved) {
    const TagLanding *l = find_landing(w, is_function(f) ? UINT32_MAX : f->offset);
    if (!l)
        return;
    put_i32(w->out, moved);
    set(w, l->moved);
}

/* Where handlers lead: takes the payload's tags if an exception did. */
static void land_tags(const Walk *w, const TagLanding *l, uint32_t base, uint32_t n) {
    size_t from = w->out->len;
    get(w, l->moved);
    emit(w->out, "i32.eqz if");
    from_globals(w, w->p->payload, base, l->payload);
    for (uint32_t k = l->payload; k < n; k++)
        clear_slot(w, base + k);
    emit(w->out, "end i32.const 0 local.set %u", l->moved);
    end_after(w, from);
}

/* ---- branches ---- */

/* Moves the tags of the last n of `height` operands to where a label expects the values. */
static void move_to_label(const Walk *w, const WasmFrame *f, uint32_t height, uint32_t n) {
    if (is_function(f))
        to_globals(w, w->places->result, height - n, n);
    for (uint32_t k = 0; k < n && !is_function(f); k++)
        move_slot(w, f->height + k, height - n + k);
    set_moved(w, f, true);
}

static uint32_t set_aside(Walk *w, uint32_t k) {
    while (w->set_aside.len <= k)
        vec_push(&w->set_aside, pool_keep(&w->r->p.splicer.pool, WASM_I32));
    return w->set_aside.at[k];
}

/* A conditional branch, whose n values are the last of `height` operands. If it is not taken the
 * tags that were overwritten are put back. */
static void put_branch_if(Walk *w, uint32_t label, uint32_t height) {
    const WasmFrame *f = wasm_label(w->t, label);
    uint32_t n = wasm_frame_label(w->m, f).len;
    bool moves = !is_function(f) && height - n != f->height;
    size_t from = w->out->len;
    for (uint32_t k = 0; moves && k < n; k++) {
        get_slot(w, f->height + k);
        set(w, set_aside(w, k));
    }
    move_to_label(w, f, height, n);
    if (is_function(f))
        end_piece(w, WASM_BEFORE, RANK_REPLACED, from);
    else
        end_before(w, from);
    from = w->out->len;
    for (uint32_t k = 0; moves && k < n; k++) {
        get(w, set_aside(w, k));
        set_slot(w, f->height + k);
    }
    set_moved(w, f, false);
    end_after(w, from);
}

static void put_branch(const Walk *w, uint32_t label) {
    const WasmFrame *f = wasm_label(w->t, label);
    size_t from = w->out->len;
    move_to_label(w, f, w->height, wasm_frame_label(w->m, f).len);
    end_piece(w, WASM_BEFORE, RANK_REPLACED, from);
}

/* Whether all labels of a br_table expect the tags at the same places. */
static bool has_one_way(const Walk *w) {
    const uint8_t *at = w->i->vec;
    for (uint32_t k = 0; k < w->i->count; k++)
        if (wasm_vec_u32(&at) != w->i->a)
            return false;
    return true;
}

/* Moves the tags by a br_table of its own, with an arm for each label. */
static void put_branch_table(Walk *w) {
    uint32_t n = wasm_frame_label(w->m, wasm_label(w->t, w->i->a)).len, count = w->i->count;
    if (!n)
        return;
    if (has_one_way(w)) {
        const WasmFrame *f = wasm_label(w->t, w->i->a);
        size_t from = w->out->len;
        move_to_label(w, f, w->height - 1, n);
        end_piece(w, WASM_BEFORE, RANK_REPLACED, from);
        return;
    }
    size_t from = w->out->len;
    uint32_t index = tag_keep(w, 0, WASM_I32), depth = w->t->frames.len;
    uint32_t *arm = mem_alloc(sizeof *arm * depth),
             *labels = mem_alloc(sizeof *labels * (count + 1));
    Vec(uint32_t) arms = {0};
    memset(arm, 0xff, sizeof *arm * depth);
    const uint8_t *at = w->i->vec;
    for (uint32_t k = 0; k <= count; k++) {
        uint32_t label = k < count ? wasm_vec_u32(&at) : w->i->a;
        if (arm[label] == UINT32_MAX) {
            arm[label] = arms.len;
            vec_push(&arms, label);
        }
        labels[k] = arm[label];
    }
    put_index(w->out, WASM_OP_LOCAL_TEE, index);
    end_piece(w, WASM_BEFORE, has_alt(w) ? RANK_PROBE : RANK_REPLACED, from);
    from = w->out->len;
    for (uint32_t k = 0; k <= arms.len; k++)
        emit(w->out, "block");
    get(w, index);
    emit_br_table(w->out, labels, count, labels[count]);
    for (uint32_t k = 0; k < arms.len; k++) {
        emit(w->out, "end");
        move_to_label(w, wasm_label(w->t, arms.at[k]), w->height - 1, n);
        put_index(w->out, WASM_OP_BR, arms.len - 1 - k);
    }
    emit(w->out, "end");
    end_piece(w, WASM_BEFORE, RANK_REPLACED, from);
    vec_free(&arms);
    free(arm);
    free(labels);
}

/* ---- constructs ---- */

/* An `end`, where control goes on from the instruction before. */
static void put_end(const Walk *w) {
    const WasmFrame *f = &vec_last(&w->t->frames);
    size_t from = w->out->len;
    if (wasm_typer_dead(w->t))
        return;
    if (is_function(f))
        to_globals(w, w->places->result, 0, w->places->nresults);
    set_moved(w, f, true);
    end_piece(w, WASM_BEFORE, RANK_REPLACED, from);
}

/* ---- the function ---- */

static void put_entry(const Walk *w, uint32_t nparams) {
    size_t from = w->out->len;
    for (uint32_t k = 0; k < nparams; k++) {
        tag_global(w, WASM_OP_GLOBAL_GET, w->p->arg + k);
        set(w, w->places->local + k);
    }
    clear_globals(w, w->p->arg, nparams);
    if (w->out->len > from)
        pieces_add_around(w->pieces, WASM_HEAD, from);
}

static void put_instr(Walk *w) {
    uint32_t addr, bytes;
    bool writes;
    switch (w->i->op) {
    case WASM_OP_SELECT:
    case WASM_OP_TYPED_SELECT: put_select(w); return;
    case WASM_OP_LOCAL_GET:
    case WASM_OP_LOCAL_SET:
    case WASM_OP_LOCAL_TEE:
    case WASM_OP_GLOBAL_GET:
    case WASM_OP_GLOBAL_SET: put_variable_tag(w); return;
    case WASM_OP_MEMORY_FILL:
    case WASM_OP_MEMORY_COPY:
    case WASM_OP_MEMORY_INIT: put_bulk(w); return;
    case WASM_OP_THROW: put_throw(w); return;
    case WASM_OP_BR: put_branch(w, w->i->a); return;
    case WASM_OP_RETURN: put_branch(w, w->t->frames.len - 1); return;
    case WASM_OP_BR_IF: put_branch_if(w, w->i->a, w->height - 1); return;
    case WASM_OP_BR_ON_NULL:
    case WASM_OP_BR_ON_CAST_DESC_EQ:
    case WASM_OP_BR_ON_CAST_DESC_EQ_FAIL: put_branch_if(w, w->i->a, w->height - 1); return;
    case WASM_OP_BR_ON_NON_NULL:
    case WASM_OP_BR_ON_CAST:
    case WASM_OP_BR_ON_CAST_FAIL: put_branch_if(w, w->i->a, w->height); return;
    case WASM_OP_BR_TABLE: put_branch_table(w); return;
    default: break;
    }
    WasmFlow flow = wasm_flow(w->i->op);
    if (flow == WASM_FLOW_CALL || flow == WASM_FLOW_TAIL_CALL)
        put_call_tags(w);
    else if (flow == WASM_FLOW_NEXT && (bytes = op_access((WasmOp)w->i->op, &addr, &writes)) > 0)
        put_access(w, bytes, writes);
    else if (flow == WASM_FLOW_NEXT)
        put_plain(w);
}

/* Finds the constructs to which handlers of try_tables lead with values. */
static void find_landings(Walk *w) {
    WasmCode code;
    WasmInstr i;
    Vec(uint32_t) open = {0};
    w->landings.len = 0;
    wasm_func_code(w->m, w->func, &code);
    while (wasm_next(&code, &i)) {
        const uint8_t *at = i.vec;
        for (uint32_t k = 0; i.op == WASM_OP_TRY_TABLE && k < i.count; k++) {
            WasmCatch c = wasm_vec_catch(&at);
            if (c.kind == 2)
                continue;
            uint32_t offset = c.label < open.len ? open.at[open.len - 1 - c.label] : UINT32_MAX;
            uint32_t n = c.kind < 2 ? w->m->types.at[w->m->tags.at[c.tag].type].nparams : 0;
            TagLanding *l = find_landing(w, offset);
            if (!l) {
                map_put(&w->landing_of, (Str){(const char *)&offset, sizeof offset},
                        w->landings.len, NULL);
                l = vec_add(&w->landings);
                *l = (TagLanding){offset, pool_keep(&w->r->p.splicer.pool, WASM_I32), 0};
            }
            l->payload = n > l->payload ? n : l->payload;
        }
        if (wasm_flow_opens(wasm_flow(i.op)))
            vec_push(&open, i.offset);
        else if (wasm_flow(i.op) == WASM_FLOW_END && open.len)
            open.len--;
    }
    vec_free(&open);
}

/* Puts code of a construct that begins or ends, whose handler or label is reached by exceptions. */
static void put_reached(Walk *w, const WasmFrame *ended) {
    WasmFlow flow = wasm_flow(w->i->op);
    const TagLanding *l = NULL;
    if (w->i->op == WASM_OP_LOOP && (l = find_landing(w, w->i->offset)))
        land_tags(w, l, vec_last(&w->t->frames).height,
                  wasm_frame_params(w->m, &vec_last(&w->t->frames)).len);
    else if (flow == WASM_FLOW_END && ended && ended->op != WASM_OP_LOOP && !is_function(ended) &&
             (l = find_landing(w, ended->offset)))
        land_tags(w, l, ended->height, wasm_frame_results(w->m, ended).len);
    else if (w->i->op == WASM_OP_CATCH)
        put_catch(w);
}

/* Does the same where the function returns. */
static void put_returned(const Walk *w) {
    const TagLanding *l = find_landing(w, UINT32_MAX);
    size_t from = w->out->len;
    if (!l)
        return;
    get(w, l->moved);
    emit(w->out, "i32.eqz if");
    for (uint32_t k = 0; k < w->places->nresults; k++) {
        if (k < l->payload)
            tag_global(w, WASM_OP_GLOBAL_GET, w->p->payload + k);
        else
            put_i32(w->out, 0);
        tag_global(w, WASM_OP_GLOBAL_SET, w->places->result + k);
    }
    emit(w->out, "end");
    pieces_add_exit(w->pieces, from, PIECE_RETURNS);
}

/* Where a loop begins to which handlers lead: control comes from above. */
static void put_loop_tags(const Walk *w) {
    const TagLanding *l = find_landing(w, w->i->offset);
    size_t from = w->out->len;
    if (!l)
        return;
    emit(w->out, "i32.const 1 local.set %u", l->moved);
    end_before(w, from);
}

static void walk_tagged(Walk *w) {
    WasmCode code;
    WasmInstr i;
    if (!wasm_typer_begin(w->t, w->m, w->func, &code))
        return;
    w->places->nlocals = w->t->locals.len;
    for (uint32_t k = 0; k < w->t->locals.len; k++) {
        uint32_t local = pool_keep(&w->r->p.splicer.pool, WASM_I32);
        w->places->local = k ? w->places->local : local;
    }
    find_landings(w);
    put_entry(w, wasm_func_type(w->m, w->func)->nparams);
    put_returned(w);
    w->i = &i;
    while (wasm_next(&code, &i)) {
        WasmFlow flow = wasm_flow(i.op);
        bool dead = wasm_typer_dead(w->t);
        WasmFrame ended = vec_last(&w->t->frames);
        w->params.len = w->results.len = 0;
        wasm_instr_types(w->t, &i, &w->params, &w->results);
        w->height = w->t->stack.len;
        w->nparams = w->params.len;
        w->nresults = w->results.len;
        if (!dead) {
            w->base = w->height - w->nparams;
            for (uint32_t k = 0; k < w->nresults; k++)
                slot(w, w->base + k);
            vec_push(&w->places->sites, ((TagSite){i.offset, w->height, w->nparams, w->nresults}));
        }
        if (flow == WASM_FLOW_END || i.op == WASM_OP_ELSE || i.op == WASM_OP_CATCH ||
            i.op == WASM_OP_CATCH_ALL)
            put_end(w);
        else if (i.op == WASM_OP_LOOP && !dead)
            put_loop_tags(w);
        else if (!dead)
            put_instr(w);
        if (!wasm_typer_step(w->t, &i))
            return;
        if (w->t->frames.len)
            put_reached(w, &ended);
    }
}

static void tags_enter(Rewrite *r, void *self, uint32_t func, Pieces *pieces) {
    TagPass *p = self;
    Walk w = {.r = r,
              .p = p,
              .places = &r->fill.tags,
              .m = &r->p.m,
              .pieces = pieces,
              .out = &pieces->code,
              .func = func,
              .t = &p->typer};
    memset(w.save, 0xff, sizeof w.save);
    r->fill.tags.slots.len = r->fill.tags.sites.len = 0;
    r->fill.tags.result = p->result;
    r->fill.tags.nresults = wasm_func_type(&r->p.m, func)->nresults;
    walk_tagged(&w);
    vec_free(&w.landings);
    map_free(&w.landing_of);
    vec_free(&w.set_aside);
    vec_free(&w.params);
    vec_free(&w.results);
}

const RewritePass tags_pass = {
    .name = "tags",
    .size = sizeof(TagPass),
    .begin = tags_begin,
    .note = tags_note,
    .decide = tags_decide,
    .reach = tags_reach,
    .add = tags_add,
    .enter = tags_enter,
    .free = tags_end,
};
