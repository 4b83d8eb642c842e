/*
 * analysis/survey.c - facts about the whole program.
 *
 * One walk over the code records the call graph; then exceptions are propagated from callees to
 * callers.
 */
#include "analysis/survey.h"

#include "edit/catch_all.h"
#include "edit/handlers.h"

#include <assert.h>

enum {
    ESCAPES = 1,
    LETS_OUT = 2, /* an exception may come out of it */
    UNWINDS = 4,
    THROWS = 8,
    TAIL_CALLS = 16,
    RESUMABLE = 32,
    RESUMES = 64,
    CALLS = 128,
    LOOPS = 256,
    REFERRED = 512,
    CALLED = 1024,
};

/* A construct that is open while the instructions of a function are looked at. */
typedef struct OpenConstruct {
    uint32_t loop;  /* its number + 1; 0 = it is no loop */
    uint32_t calls; /* in the function before it */
} OpenConstruct;

typedef struct Survey {
    WasmSurvey *s;
    const WasmModule *m;
    uint32_t n;        /* input functions; the node of indirect calls */
    bool legacy, refs; /* instructions for exceptions of either kind */
    /* Of the current function: */
    Vec(OpenConstruct) open;
    uint32_t inner; /* the innermost open loop: its number + 1 */
    uint32_t calls;
} Survey;

/* ---- looking ---- */

static void survey_open_construct(Survey *v, const WasmInstr *i) {
    WasmSurvey *s = v->s;
    bool loop = i->op == WASM_OP_LOOP;
    if (loop) {
        vec_push(&s->loops, ((WasmSurveyLoop){.at = i->offset, .outer = v->inner & INT32_MAX}));
        v->inner = s->loops.len;
    }
    vec_push(&v->open, ((OpenConstruct){loop ? v->inner : 0, v->calls}));
}

static void survey_close_construct(Survey *v) {
    OpenConstruct *closed = &v->open.at[--v->open.len];
    if (!closed->loop)
        return;
    WasmSurveyLoop *loop = &v->s->loops.at[closed->loop - 1];
    loop->calls = closed->calls < v->calls;
    v->inner = loop->outer;
}

static void add_call(Survey *v, uint32_t from, uint32_t to, bool tail) {
    v->s->tail_calls |= tail;
    v->s->funcs[from] |= tail ? TAIL_CALLS : 0;
    if (to > v->n)
        return;
    if (to < v->n)
        v->s->funcs[to] |= tail ? ESCAPES | REFERRED : CALLED;
    WasmCallEdge *last = v->s->calls.len ? &vec_last(&v->s->calls) : NULL;
    if (last && last->from == from && last->to == to && last->tail == tail)
        return;
    vec_push(&v->s->calls, ((WasmCallEdge){from, to, tail}));
}

/* A stack may be resumed with an exception. */
static bool may_be_thrown_at(uint16_t op) {
    return op == WASM_OP_SUSPEND || op == WASM_OP_SWITCH || op == WASM_OP_RESUME_THROW ||
           op == WASM_OP_RESUME_THROW_REF;
}

static void survey_look_at(Survey *v, uint32_t func, const WasmInstr *i) {
    WasmFlow flow = wasm_flow(i->op);
    bool direct = i->op == WASM_OP_CALL || i->op == WASM_OP_RETURN_CALL;
    if (i->op == WASM_OP_REF_FUNC && i->a < v->n)
        v->s->funcs[i->a] |= ESCAPES | REFERRED;
    if (flow == WASM_FLOW_CALL || flow == WASM_FLOW_TAIL_CALL) {
        add_call(v, func, direct ? i->a : v->n, flow == WASM_FLOW_TAIL_CALL);
        v->s->funcs[func] |= CALLS;
        v->calls++;
    }
    if (i->op == WASM_OP_LOOP)
        v->s->funcs[func] |= LOOPS;
    if (wasm_flow_opens(flow))
        survey_open_construct(v, i);
    else if ((i->op == WASM_OP_END || i->op == WASM_OP_DELEGATE) && v->open.len)
        survey_close_construct(v);
    if (flow == WASM_FLOW_THROW)
        v->s->funcs[func] |= THROWS | LETS_OUT;
    if (may_be_thrown_at(i->op)) /* by others, too: like any indirect call */
        v->s->funcs[v->n] |= LETS_OUT;
    v->legacy |= i->op == WASM_OP_TRY || i->op == WASM_OP_DELEGATE;
    v->refs |= i->op == WASM_OP_TRY_TABLE || i->op == WASM_OP_THROW_REF || wasm_is_of_stacks(i->op);
}

/* Whether some throw is in a handler that may catch it or not. */
static bool may_catch(const WasmModule *m, WasmCode code) {
    WasmHandlers h = {0};
    WasmInstr i;
    bool may = false;
    wasm_handlers_scan(&h, code);
    while (!may && wasm_next(&code, &i)) {
        bool throws = wasm_flow(i.op) == WASM_FLOW_THROW;
        may = throws && wasm_handlers_catch(&h, m, &i) == WASM_MAYBE_CAUGHT;
        wasm_handlers_step(&h, &i);
    }
    wasm_handlers_free(&h);
    return may;
}

/* Malformed code is left to those who walk it. */
static void look_at_code(Survey *v, uint32_t func) {
    WasmInstr i;
    WasmCode code;
    if (!wasm_func_code(v->m, func, &code))
        return;
    WasmCode again = code;
    v->open.len = v->inner = v->calls = 0;
    while (wasm_next(&code, &i))
        survey_look_at(v, func, &i);
    if (!code.error && v->s->funcs[func] & THROWS && may_catch(v->m, again))
        v->s->funcs[func] |= UNWINDS;
}

/* Imports that may throw: functions, and tables, which may have functions of the host. */
static void look_at_imports(Survey *v) {
    const WasmModule *m = v->m;
    for (uint32_t i = 0; i < m->input_import_count && !v->s->in_quiet; i++) {
        const WasmImport *import = &m->imports.at[i];
        bool func = import->space == WASM_SPACE_FUNC;
        if ((!func && import->space != WASM_SPACE_TABLE) || wasm_is_wasi(import->module))
            continue;
        v->s->funcs[v->n] |= LETS_OUT;
        if (func)
            v->s->funcs[import->handle] |= LETS_OUT;
    }
}

/* ---- Go ---- */

/* Functions with the calling convention of Go's compiler have one parameter, which says where they
 * go on, and one result, which says whether they were left in the middle. Exported functions have
 * the usual convention. */
static void look_at_go(Survey *v) {
    const WasmModule *m = v->m;
    if (!wasm_is_go(m))
        return;
    for (uint32_t f = 0; f < v->n; f++) {
        const WasmTypeDef *t = &m->types.at[m->funcs.at[f].type];
        if (m->funcs.at[f].import < 0 && t->nparams == 1 && t->params[0] == WASM_I32 &&
            t->nresults == 1 && t->results[0] == WASM_I32)
            v->s->funcs[f] |= RESUMABLE;
    }
    for (uint32_t i = 0; i < m->exports.len; i++)
        if (m->exports.at[i].space == WASM_SPACE_FUNC && m->exports.at[i].handle < v->n)
            v->s->funcs[m->exports.at[i].handle] &= (uint16_t)~RESUMABLE;
    for (uint32_t i = 0; i < v->s->calls.len; i++) {
        const WasmCallEdge *c = &v->s->calls.at[i];
        if (c->to == v->n && !(v->s->funcs[c->from] & RESUMABLE))
            v->s->funcs[c->from] |= RESUMES;
    }
}

/* ---- spreading ---- */

/* Calls by the function that they name: those of `to` are order[first[to]] ... */
static uint32_t *by_callee(const Survey *v, uint32_t *first) {
    uint32_t *order = mem_alloc(sizeof *order * (v->s->calls.len + 1u));
    for (uint32_t i = 0; i < v->s->calls.len; i++)
        first[v->s->calls.at[i].to + 1]++;
    for (uint32_t f = 0; f <= v->n; f++)
        first[f + 1] += first[f];
    uint32_t *at = mem_alloc(sizeof *at * (v->n + 1u));
    memcpy(at, first, sizeof *at * (v->n + 1u));
    for (uint32_t i = 0; i < v->s->calls.len; i++)
        order[at[v->s->calls.at[i].to]++] = i;
    free(at);
    return order;
}

static void spread(Survey *v) {
    uint16_t *funcs = v->s->funcs;
    uint32_t *first = mem_zalloc(sizeof *first * (v->n + 2u));
    uint32_t *order = by_callee(v, first);
    Vec(uint32_t) open = {0};
    for (uint32_t f = 0; f <= v->n; f++)
        if (funcs[f] & LETS_OUT)
            vec_push(&open, f);
    while (open.len) {
        uint32_t to = open.at[--open.len];
        if (to < v->n && funcs[to] & ESCAPES && !(funcs[v->n] & LETS_OUT)) {
            funcs[v->n] |= LETS_OUT;
            vec_push(&open, v->n);
        }
        for (uint32_t k = first[to]; k < first[to + 1]; k++) {
            const WasmCallEdge *c = &v->s->calls.at[order[k]];
            if (funcs[c->from] & LETS_OUT)
                continue;
            funcs[c->from] |= LETS_OUT;
            vec_push(&open, c->from);
        }
    }
    free(first);
    free(order);
    vec_free(&open);
}

static bool has_source(const Survey *v) {
    bool any = false;
    for (uint32_t f = 0; f <= v->n; f++)
        any |= (v->s->funcs[f] & LETS_OUT) != 0;
    return any;
}

static void survey_make(WasmSurvey *s, const WasmModule *m) {
    Survey v = {.s = s, .m = m, .n = m->input_count[WASM_SPACE_FUNC]};
    s->funcs = mem_zalloc(sizeof *s->funcs * (v.n + 1u));
    for (uint32_t i = 0; i < m->refs.len; i++) /* exports, start, segments, initial values */
        if (m->refs.at[i].space == WASM_SPACE_FUNC && m->refs.at[i].value < v.n)
            s->funcs[m->refs.at[i].value] |= ESCAPES;
    s->first_loop = mem_zalloc(sizeof *s->first_loop * (v.n + 1u));
    for (uint32_t f = 0; f < v.n; f++) {
        if (m->funcs.at[f].import < 0)
            look_at_code(&v, f);
        s->first_loop[f + 1] = s->loops.len;
    }
    vec_free(&v.open);
    look_at_imports(&v);
    look_at_go(&v);
    if (s->any_call && has_source(&v))
        for (uint32_t f = 0; f <= v.n; f++)
            s->funcs[f] |= LETS_OUT;
    else
        spread(&v);
    for (uint32_t i = 0; i < s->calls.len; i++)
        if (!s->calls.at[i].tail && s->funcs[s->calls.at[i].to] & LETS_OUT)
            s->funcs[s->calls.at[i].from] |= UNWINDS;
    bool refs = (v.refs || s->in_component) && !v.legacy;
    s->exceptions = refs ? WASM_EXCEPTIONS_REFS : WASM_EXCEPTIONS_LEGACY;
}

static bool survey_has(WasmSurvey *s, const WasmModule *m, uint32_t func, uint16_t bit) {
    if (!s->funcs)
        survey_make(s, m);
    return func <= m->input_count[WASM_SPACE_FUNC] && s->funcs[func] & bit;
}

bool wasm_survey_escapes(WasmSurvey *s, const WasmModule *m, uint32_t func) {
    return survey_has(s, m, func, ESCAPES);
}

bool wasm_survey_referred(WasmSurvey *s, const WasmModule *m, uint32_t func) {
    return survey_has(s, m, func, REFERRED);
}

bool wasm_survey_called(WasmSurvey *s, const WasmModule *m, uint32_t func) {
    return survey_has(s, m, func, CALLED);
}

bool wasm_survey_tail_calls(WasmSurvey *s, const WasmModule *m) {
    survey_has(s, m, 0, 0);
    return s->tail_calls;
}

bool wasm_survey_has_tail_calls(WasmSurvey *s, const WasmModule *m, uint32_t func) {
    return survey_has(s, m, func, TAIL_CALLS);
}

bool wasm_survey_calls(WasmSurvey *s, const WasmModule *m, uint32_t func) {
    return survey_has(s, m, func, CALLS);
}

bool wasm_survey_loops(WasmSurvey *s, const WasmModule *m, uint32_t func) {
    return survey_has(s, m, func, LOOPS);
}

bool wasm_survey_resumable(WasmSurvey *s, const WasmModule *m, uint32_t func) {
    return survey_has(s, m, func, RESUMABLE);
}

bool wasm_survey_leaves(WasmSurvey *s, const WasmModule *m, uint32_t func) {
    if (!s->looked_for_go)
        s->go = wasm_is_go(m);
    s->looked_for_go = true;
    return s->go && survey_has(s, m, func, RESUMABLE);
}

bool wasm_survey_resumes(WasmSurvey *s, const WasmModule *m, uint32_t func) {
    return survey_has(s, m, func, RESUMES);
}

bool wasm_survey_call_throws(WasmSurvey *s, const WasmModule *m, const WasmInstr *call) {
    return survey_has(s, m, call->op == WASM_OP_CALL ? call->a : m->input_count[WASM_SPACE_FUNC],
                      LETS_OUT);
}

bool wasm_survey_unwinds(WasmSurvey *s, const WasmModule *m, uint32_t func) {
    return survey_has(s, m, func, UNWINDS);
}

bool wasm_survey_throws(WasmSurvey *s, const WasmModule *m, uint32_t func) {
    return survey_has(s, m, func, THROWS);
}

const WasmCallEdge *wasm_survey_edges(WasmSurvey *s, const WasmModule *m, uint32_t func,
                                      uint32_t *n) {
    assert(func < m->input_count[WASM_SPACE_FUNC]);
    survey_has(s, m, 0, 0);
    uint32_t first = vec_first(&s->calls, from, func), end = first;
    while (end < s->calls.len && s->calls.at[end].from == func)
        end++;
    *n = end - first;
    return *n ? &s->calls.at[first] : NULL;
}

WasmExceptions wasm_survey_exceptions(WasmSurvey *s, const WasmModule *m) {
    survey_has(s, m, 0, 0);
    return s->exceptions;
}

/* ---- loops ---- */

static const WasmSurveyLoop *survey_loop_at(WasmSurvey *s, const WasmModule *m, uint32_t func,
                                            uint32_t at) {
    survey_has(s, m, 0, 0);
    uint32_t first = s->first_loop[func], end = s->first_loop[func + 1];
    uint32_t k = vec_first_in(&s->loops, at, at, first, end);
    return k < end && s->loops.at[k].at == at ? &s->loops.at[k] : NULL;
}

bool wasm_survey_loop_calls(WasmSurvey *s, const WasmModule *m, uint32_t func, uint32_t at) {
    const WasmSurveyLoop *loop = survey_loop_at(s, m, func, at);
    return loop && loop->calls;
}

bool wasm_survey_loop_nested(WasmSurvey *s, const WasmModule *m, uint32_t func, uint32_t at) {
    const WasmSurveyLoop *loop = survey_loop_at(s, m, func, at);
    return loop && loop->outer && !s->loops.at[loop->outer - 1].calls;
}

/* ---- the order of functions ---- */

typedef struct Order {
    const WasmSurvey *s;
    uint32_t *first; /* by function: the first of its calls */
    uint32_t *order; /* UINT32_MAX = it is being walked */
    uint32_t count;
    Vec(uint32_t) open; /* the functions that are being walked, each called by the one before */
    uint32_t *next;     /* by function: the next call to look at */
} Order;

static void survey_begin(Order *o, uint32_t func) {
    if (o->order[func])
        return;
    o->order[func] = UINT32_MAX;
    vec_push(&o->open, func);
}

/* Numbers functions in the order in which a depth-first walk leaves them. */
static void survey_walk(Order *o, uint32_t root) {
    survey_begin(o, root);
    while (o->open.len) {
        uint32_t func = vec_last(&o->open);
        if (o->next[func] < o->first[func + 1]) {
            survey_begin(o, o->s->calls.at[o->next[func]++].to);
        } else {
            o->order[func] = ++o->count;
            o->open.len--;
        }
    }
}

uint32_t *wasm_survey_order(WasmSurvey *s, const WasmModule *m) {
    uint32_t n = m->input_count[WASM_SPACE_FUNC];
    survey_has(s, m, 0, 0);
    Order o = {.s = s};
    o.order = mem_zalloc(sizeof *o.order * (n + 1u));
    o.first = mem_zalloc(sizeof *o.first * (n + 2u));
    o.next = mem_alloc(sizeof *o.next * (n + 2u));
    for (uint32_t i = 0; i < s->calls.len; i++)
        o.first[s->calls.at[i].from + 1]++;
    for (uint32_t f = 0; f <= n; f++)
        o.first[f + 1] += o.first[f];
    memcpy(o.next, o.first, sizeof *o.next * (n + 2u));
    for (uint32_t f = 0; f < n; f++)
        survey_walk(&o, f);
    vec_free(&o.open);
    free(o.first);
    free(o.next);
    return o.order;
}

void wasm_survey_free(WasmSurvey *s) {
    free(s->funcs);
    s->funcs = NULL;
    vec_free(&s->calls);
    vec_free(&s->loops);
    free(s->first_loop);
    s->first_loop = NULL;
    wasm_asyncify_free(&s->asyncify);
}
