/*
 * rewrite/frames.c - frames of functions on the shadow stack, for scripts that use them
 * (`stack.frame()`, `stack.callee()`).
 *
 * A function knows its *place*: the offset of its frame. It puts its frame there when it begins,
 * and calls others with the place above its own; after a call it removes the callee's frames (by a
 * zero above its own), only on ways that do not soon call again or end. So functions need no code
 * at their ends, however they end; after a call, or in a handler, the stack is right again.
 *
 *   PARAM   The place is one more parameter, if all calls of the function are known.
 *   ENTRY   The same, but tables and hosts get another function, which finds the place as others
 *           do, and calls this one.
 *   others  find it in a global, set by their callers. Functions that the host can call restore
 *           it, by `stack.leave()` at their ends: the host leaves it as it is for its next call.
 *
 * Places are kept within the memory where functions take them from the top, and where a call passes
 * one that may close a cycle of calls: as many frames as there are functions fit in beyond.
 *
 * If the script cuts the stack itself before it reads it (`stack.cut()`), and there is no other
 * reader, nothing is removed after calls.
 *
 * A function without a frame of its own passes its place on. Functions without frames and calls
 * know no place.
 */
#include "rewrite/frames.h"

#include "../../stdlib/runtime/stack.h"
#include "rewrite/frame_liveness.h"
#include "rewrite/pass.h"
#include "wasm/emit.h"

#include <assert.h>

enum {
    FRAME = 1, /* it has a frame; an import: while it runs */
    PLACE = 2, /* it knows its place */
    PARAM = 4, /* by a parameter */
    ENTRY = 8, /* ... and has an entry for other calls than by `call` */
    HOST = 16, /* the host can call it */
    EXACT = 32 /* code may read the stack after it has begun */
};

static bool asks_for_frames(const Plan *plan) {
    bool asks = false;
    for (uint32_t i = 0; i < plan->variants.len; i++)
        asks |= plan->variants.at[i]->asks.frame || plan->variants.at[i]->asks.callee;
    return asks;
}

/* Sets up the state, in which no function has a frame. */
static bool frames_begin(Rewrite *r, void *self) {
    Frames *f = r->frames = self;
    const Plan *plan = r->p.plan;
    *f = (Frames){.m = &r->p.m, .survey = &r->p.matcher.survey, .stack = &r->stack};
    f->funcs = mem_zalloc(r->p.m.funcs.len + 1u);
    f->keeps = r->p.output.keep_debug; /* DWARF has the numbers of locals */
    f->engine = stack_is_engines(plan);
    f->watched = r->given->polls || stack_is_read(plan);
    return f->engine || asks_for_frames(plan);
}

static void frames_free(Rewrite *r, void *self) {
    (void)r;
    Frames *f = self;
    free(f->funcs);
    free(f->order);
}

/* ---- pass 1 ---- */

bool frames_has(const Frames *f, uint32_t func) {
    assert(func < f->m->input_count[WASM_SPACE_FUNC]);
    return f->funcs[func] & FRAME;
}

static bool frames_is_import(const Frames *f, uint32_t func) {
    return f->m->funcs.at[func].import >= 0;
}

/* Notes the functions that get frames. */
static void frames_note(Rewrite *r, void *self, const Site *site, const SiteTypes *types,
                        const Match *matches, uint32_t n, bool code) {
    (void)r, (void)types;
    Frames *f = self;
    const WasmInstr *i = site->instr;
    bool direct = i && (i->op == WASM_OP_CALL || i->op == WASM_OP_RETURN_CALL), looks = false;
    for (uint32_t k = 0; k < n; k++) {
        const Variant *v = matches[k].shape->variant;
        looks |= code && !v->asks.leaves && !v->asks.declares;
        Mode mode = matches[k].action->event.mode;
        if (v->asks.frame)
            f->funcs[site->func] |= FRAME;
        if (v->asks.callee && direct && frames_is_import(f, i->a))
            f->funcs[i->a] |= FRAME;
        f->asked |= !f->engine && (v->asks.frame || v->asks.callee);
        f->cuts |= v->asks.cuts;
        f->keeps |= v->alt.is || (mode == MODE_UNWIND && !(direct && frames_is_import(f, i->a)));
    }
    if (looks && i)
        f->funcs[site->func] |= EXACT;
}

/* ---- functions that know their place, and how ---- */

/* Whether the function leaves nothing above its caller's frame, and restores the top. */
static bool puts_back(const Frames *f, uint32_t func) {
    return (f->funcs[func] & (HOST | ENTRY)) == HOST;
}

static bool may_be_function(WasmType t) {
    return t != WASM_I32 && t != WASM_I64 && t != WASM_F32 && t != WASM_F64 && t != WASM_V128;
}

static bool passes_references(const WasmModule *m, uint32_t type) {
    const WasmTypeDef *t = &m->types.at[type];
    bool any = false;
    for (uint32_t k = 0; k < t->nparams; k++)
        any |= may_be_function(t->params[k]);
    for (uint32_t k = 0; k < t->nresults; k++)
        any |= may_be_function(t->results[k]);
    return any;
}

static bool passes_functions(const WasmModule *m, WasmSpace space, uint32_t handle) {
    switch (space) {
    case WASM_SPACE_TABLE: return true;
    case WASM_SPACE_FUNC: return passes_references(m, m->funcs.at[handle].type);
    case WASM_SPACE_GLOBAL: return may_be_function(m->globals.at[handle].type);
    case WASM_SPACE_TAG: return passes_references(m, m->tags.at[handle].type);
    default: return false;
    }
}

/* Whether the host may obtain references to the program's functions. */
static bool host_has_references(const WasmModule *m) {
    bool has = false;
    for (uint32_t k = 0; k < m->input_import_count; k++)
        has |= passes_functions(m, m->imports.at[k].space, m->imports.at[k].handle);
    for (uint32_t k = 0; k < m->input_export_count; k++)
        has |= passes_functions(m, m->exports.at[k].space, m->exports.at[k].handle);
    return has;
}

/* Marks the functions that the host can call. Those reached by tail calls end in place of one that
 * the host may have called. */
static void find_host(Frames *f) {
    const WasmModule *m = f->m;
    bool all = wasm_survey_tail_calls(f->survey, m) || host_has_references(m);
    for (uint32_t func = 0; all && func < m->input_count[WASM_SPACE_FUNC]; func++)
        f->funcs[func] |= wasm_survey_escapes(f->survey, m, func) ? HOST : 0;
    for (uint32_t k = 0; k < m->input_export_count; k++)
        if (m->exports.at[k].space == WASM_SPACE_FUNC)
            f->funcs[m->exports.at[k].handle] |= HOST;
    if (m->start >= 0)
        f->funcs[m->start] |= HOST;
}

/* Whether indirect calls put a frame above their caller's, or do not take long. */
static bool tables_cover(const Frames *f) {
    const WasmModule *m = f->m;
    bool all = !host_has_references(m);
    for (uint32_t func = 0; all && func < m->input_count[WASM_SPACE_FUNC]; func++) {
        bool is_short =
            !wasm_survey_calls(f->survey, m, func) && !wasm_survey_loops(f->survey, m, func);
        bool covers = !frames_is_import(f, func) && (is_short || f->funcs[func] & FRAME);
        all = covers || !wasm_survey_escapes(f->survey, m, func);
    }
    return all;
}

/* Returns bits for how a function knows its place. */
static uint8_t place_bits(const Frames *f, uint32_t func) {
    enum { MAX_PARAMS = 1000 }; /* of engines */
    const WasmModule *m = f->m;
    if (f->keeps || wasm_func_type(m, func)->nparams >= MAX_PARAMS)
        return PLACE;
    if (!wasm_survey_escapes(f->survey, m, func))
        return PLACE | PARAM;
    bool own = wasm_survey_tail_calls(f->survey, m) || wasm_survey_referred(f->survey, m, func) ||
               func == program_main(m) || (int64_t)func == m->start;
    return own || !wasm_survey_called(f->survey, m, func) ? PLACE : PLACE | PARAM | ENTRY;
}

/* Decides how each function knows its place. */
static void frames_decide(Rewrite *r, void *self) {
    Frames *f = self;
    uint8_t *touched = r->p.touched;
    const WasmModule *m = f->m;
    if (f->engine)
        wasm_survey_tail_calls(f->survey, m); /* now, as it looks at the input */
    for (uint32_t func = 0; f->engine && func < m->input_count[WASM_SPACE_FUNC]; func++)
        touched[func] |=
            frames_is_import(f, func) ? 0 : TOUCHED_ENDS; /* wrapped: see engine_frames.c */
    if (!f->asked)
        return;
    f->order = wasm_survey_order(f->survey, m);
    find_host(f);
    f->tables = tables_cover(f);
    for (uint32_t func = 0; func < m->input_count[WASM_SPACE_FUNC]; func++) {
        uint8_t *bits = &f->funcs[func];
        bool calls = wasm_survey_calls(f->survey, m, func);
        if (frames_is_import(f, func) || (!(*bits & FRAME) && !calls))
            continue;
        *bits |= place_bits(f, func);
        touched[func] |= TOUCHED | TOUCHED_LOCALS;
    }
}

/* Adds the types of functions with one more parameter. */
static void frames_add(Rewrite *r, void *self, const Reach *reach) {
    (void)reach;
    (void)r;
    Frames *f = self;
    for (uint32_t func = 0; f->asked && func < f->m->input_count[WASM_SPACE_FUNC]; func++) {
        if (!(f->funcs[func] & PARAM))
            continue;
        const WasmTypeDef *t = wasm_func_type(f->m, func);
        WasmTypes params = {0}, results = {0};
        for (uint32_t k = 0; k < t->nparams; k++)
            vec_push(&params, t->params[k]);
        for (uint32_t k = 0; k < t->nresults; k++)
            vec_push(&results, t->results[k]);
        vec_push(&params, WASM_I32);
        uint32_t type = wasm_add_func_type(f->m, params.at, params.len, results.at, results.len);
        f->m->funcs.at[func].new_type = type + 1;
        vec_free(&params);
        vec_free(&results);
    }
}

/* ---- entries ---- */

/* Appends the call of a function by its entry, whose local `place` has the place; then restores the
 * host's, also if an exception leaves the call. */
static void put_call_inside(const Frames *f, uint32_t func, uint32_t place, Buf *out) {
    const WasmTypeDef *t = wasm_func_type(f->m, func);
    WasmExceptions form = wasm_survey_exceptions(f->survey, f->m);
    bool host = f->funcs[func] & HOST;
    bool unwinds = host && wasm_survey_unwinds(f->survey, f->m, func);
    WasmType region = t->nresults ? t->results[0] : WASM_NONE;
    if (t->nresults > 1)
        region = WASM_FUNC_TYPE_BIT | wasm_add_func_type(f->m, NULL, 0, t->results, t->nresults);
    t = wasm_func_type(f->m, func); /* the types may have moved */
    if (unwinds)
        wasm_put_catch(out, form, region, WASM_EXNREF);
    for (uint32_t k = 0; k < t->nparams; k++)
        emit(out, "local.get %u", k);
    emit(out, "local.get %u call %u", place, wasm_final(f->m, WASM_SPACE_FUNC, func));
    if (unwinds && form == WASM_EXCEPTIONS_REFS) {
        emit(out, "end");
        stack_put_leave(f->stack, f->m, place, out);
        emit(out, "return");
    }
    if (unwinds) {
        wasm_put_caught(out, form);
        stack_put_leave(f->stack, f->m, place, out);
        wasm_put_rethrow(out, form);
    }
    if (unwinds && form == WASM_EXCEPTIONS_LEGACY)
        emit(out, "end");
    if (host && (!unwinds || form == WASM_EXCEPTIONS_LEGACY))
        stack_put_leave(f->stack, f->m, place, out);
}

static void frames_add_entry(Frames *f, uint32_t func) {
    Buf call = {0}, top = {0}, body = {0};
    uint32_t place = wasm_func_type(f->m, func)->nparams;
    stack_put_top(f->stack, f->m, &top);
    put_call_inside(f, func, place, &call);
    emit_body(&body, "local $place i32 %p local.set %u %p", &top, place, &call);
    uint32_t type = f->m->funcs.at[func].type;
    wasm_enter_func(f->m, func, wasm_add_func(f->m, type, STR(""), &body, true));
    buf_free(&call);
    buf_free(&top);
}

/* Adds the entries, called instead of such functions other than by `call`. */
static void frames_fill(Rewrite *r, void *self) {
    (void)r;
    Frames *f = self;
    for (uint32_t func = 0; f->asked && func < f->m->input_count[WASM_SPACE_FUNC]; func++)
        if (f->funcs[func] & ENTRY)
            frames_add_entry(f, func);
}

/* ---- pass 2 ---- */

typedef struct Put {
    const Frames *f;
    Pieces *pieces;
    uint32_t func;
    uint32_t place; /* the local */
    uint32_t step;  /* size of its own frame */
    uint8_t bits;
    bool *cut; /* by instruction: frames left by calls have been removed after it */
} Put;

static void frames_put_piece(const Put *p, WasmWhere where, uint32_t at, PieceRank rank,
                             size_t from) {
    if (p->pieces->code.len > from)
        pieces_add(p->pieces, where, at, rank, from, p->pieces->code.len);
}

static void frames_put_entry(const Put *p, uint32_t at) {
    Buf *out = &p->pieces->code;
    size_t from = out->len;
    if (!(p->bits & PARAM)) {
        stack_put_top(p->f->stack, p->f->m, out);
        emit(out, "local.set %u", p->place);
    }
    if (p->bits & FRAME)
        stack_put_frame(p->f->stack, p->f->m, p->place, 0, p->func + 1, out);
    frames_put_piece(p, WASM_BEFORE, at, RANK_PROBE, from);
}

/* Whether frames left by calls stay until the script removes them. */
static bool is_lazy(const Frames *f) {
    return f->cuts && !f->watched;
}

/* Removes everything above the function's own frame. */
static void frames_put_cut(const Put *p, uint32_t at, PieceRank rank) {
    if (is_lazy(p->f))
        return;
    size_t from = p->pieces->code.len;
    stack_put_frame(p->f->stack, p->f->m, p->place, p->step, 0, &p->pieces->code);
    frames_put_piece(p, WASM_AFTER, at, rank, from);
}

/* Pushes the place that is `step` above the function's own, as an operand. */
static void frames_put_place(const Put *p, uint32_t step, uint32_t callee, Buf *out) {
    assert(p->place != UINT32_MAX && p->f->order);
    emit(out, "local.get %u", p->place);
    if (step)
        emit(out, "i32.const %u i32.add", step);
    if (p->f->order[callee] >= p->f->order[p->func])
        emit(out, "i32.const %u i32.and", STACK_MASK);
}

/* Passes a call the callee's place: as its last operand, or at the top. */
static void frames_put_call(const Put *p, const WasmInstr *i) {
    const Frames *f = p->f;
    Buf *out = &p->pieces->code;
    size_t from = out->len;
    WasmWhere where = WASM_BEFORE;
    bool direct = i->op == WASM_OP_CALL || i->op == WASM_OP_RETURN_CALL;
    bool tail = wasm_flow(i->op) == WASM_FLOW_TAIL_CALL;
    uint8_t callee = direct ? f->funcs[i->a] : PLACE;
    uint32_t step = tail ? 0 : p->step;
    if (direct && frames_is_import(f, i->a)) {
        if (callee & FRAME && !tail) {
            stack_put_frame(f->stack, f->m, p->place, step, i->a + 1, out);
            step += STACK_STEP;
        } else if (!tail && is_lazy(f)) {
            stack_put_frame(f->stack, f->m, p->place, step, 0, out); /* it may end the program */
        }
        callee = PLACE;
    }
    if (callee & PARAM) {
        where = WASM_OPERAND;
        frames_put_place(p, step, i->a, out);
    } else if (callee & PLACE) {
        stack_put_set_top(f->stack, f->m, p->place, step, out);
    }
    if (tail && !(callee & PARAM))
        stack_put_frame(f->stack, f->m, p->place, 0, 0, out);
    frames_put_piece(p, where, i->offset, RANK_REPLACED, from);
}

/* Whether a call leaves something above the frame of its caller. */
static bool frames_leaves(const Frames *f, const WasmInstr *i) {
    if (wasm_flow(i->op) != WASM_FLOW_CALL)
        return false;
    if (i->op != WASM_OP_CALL)
        return true;
    if (frames_is_import(f, i->a))
        return f->funcs[i->a] & FRAME;
    return f->funcs[i->a] & PLACE && !puts_back(f, i->a);
}

/* Whether a call puts a frame above that of its caller in any case. */
static bool covers(const void *ctx, const WasmInstr *i) {
    const Frames *f = ctx;
    if (i->op != WASM_OP_CALL)
        return f->tables && wasm_flow(i->op) == WASM_FLOW_CALL;
    return !frames_is_import(f, i->a) && f->funcs[i->a] & FRAME;
}

/* Removes frames left by call k where they would stay for long. The frame of an import is still
 * there when code after the call reads the stack. */
static void put_cut_after(const Put *p, const Liveness *soon, uint32_t k) {
    const WasmInstr *call = &soon->body.at.at[k];
    bool import = call->op == WASM_OP_CALL && frames_is_import(p->f, call->a);
    if (!import && !(p->bits & EXACT) && !p->f->stack->runtime) {
        if (liveness_ends(soon, k))
            return;
        k = liveness_fork(soon, k);
    }
    if (!p->cut[k])
        frames_put_cut(p, soon->body.at.at[k].offset, import ? RANK_REPLACED : RANK_PROBE);
    p->cut[k] = true;
}

/* Adds cuts where the handlers of a try_table begin: after the ends of the blocks that they lead
 * to, or at the heads of loops. */
static void frames_put_handlers(const Put *p, const Liveness *soon, uint32_t k) {
    const WasmInstr *i = &soon->body.at.at[k];
    const uint8_t *at = i->vec;
    for (uint32_t c = 0; c < i->count; c++) {
        uint32_t target = liveness_target(soon, k, wasm_vec_catch(&at).label);
        if (target != LIVENESS_FUNCTION)
            frames_put_cut(p, soon->body.at.at[target].offset, RANK_PROBE);
    }
}

/* Does the same for a resume. */
static void put_resumed(const Put *p, const Liveness *soon, uint32_t k) {
    const WasmInstr *i = &soon->body.at.at[k];
    const uint8_t *at = i->vec;
    for (uint32_t c = 0; c < i->count; c++) {
        WasmHandler h = wasm_vec_handler(&at);
        uint32_t target = h.switches ? LIVENESS_FUNCTION : liveness_target(soon, k, h.label);
        if (target != LIVENESS_FUNCTION)
            frames_put_cut(p, soon->body.at.at[target].offset, RANK_PROBE);
    }
}

static void frames_put_instr(const Put *p, Liveness *soon, uint32_t k) {
    const WasmInstr *i = &soon->body.at.at[k];
    WasmFlow flow = wasm_flow(i->op);
    if (flow == WASM_FLOW_CALL || flow == WASM_FLOW_TAIL_CALL)
        frames_put_call(p, i);
    if (frames_leaves(p->f, i))
        put_cut_after(p, soon, k);
    if (i->op == WASM_OP_CATCH || i->op == WASM_OP_CATCH_ALL)
        frames_put_cut(p, i->offset, RANK_PROBE);
    if (i->op == WASM_OP_TRY_TABLE)
        frames_put_handlers(p, soon, k);
    if (wasm_has_handlers(i->op))
        put_resumed(p, soon, k);
}

static void frames_enter(Rewrite *r, void *self, uint32_t func, Pieces *pieces) {
    Frames *f = self;
    if (!f->asked)
        return;
    f->stack->place = UINT32_MAX;
    f->stack->host = puts_back(f, func);
    f->stack->may_begin = f->funcs[func] & HOST;
    if (!(f->funcs[func] & PLACE))
        return;
    Put p = {.f = f, .pieces = pieces, .func = func, .bits = f->funcs[func]};
    p.place = f->stack->place = pool_keep(&r->p.splicer.pool, WASM_I32);
    p.step = f->stack->step = p.bits & FRAME ? STACK_STEP : 0;
    f->stack->left = wasm_survey_calls(f->survey, f->m, func);
    if (p.bits & PARAM)
        pieces->param = p.place;
    Liveness soon = {.covers = covers, .ctx = f};
    liveness_begin(&soon, f->m, func);
    p.cut = mem_zalloc(soon.n + 1u);
    frames_put_entry(&p, soon.body.at.at[0].offset);
    for (uint32_t k = 0; k < soon.n && f->stack->left; k++)
        frames_put_instr(&p, &soon, k);
    free(p.cut);
    liveness_free(&soon);
}

const RewritePass frames_pass = {
    .name = "frames",
    .size = sizeof(Frames),
    .begin = frames_begin,
    .note = frames_note,
    .decide = frames_decide,
    .add = frames_add,
    .fill = frames_fill,
    .enter = frames_enter,
    .free = frames_free,
};
