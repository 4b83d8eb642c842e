/*
 * plan/match.c - walking a program's functions and finding the sites of each action.
 *
 * Matching an instruction is one index into the plan's lists by opcode. Operand types are tracked
 * only in functions where some candidate uses operands whose types the opcode does not fix.
 */
#include "plan/plan.h"

#include "plan/access.h"
#include "plan/alt.h"
#include "plan/statics.h"
#include "valid/frame.h"
#include "valid/subtype.h"
#include "valid/typer.h"

#include <assert.h>

/* Whether the types of operands, results, locals or globals decide if the variant matches. */
static bool asks_for_types(const Variant *v) {
    return v->asks.types || v->access.base || v->operands.locals.len || v->operands.globals.len ||
           (v->operands.results.len && v->event.kind == EVENT_FUNC_EXIT);
}

/* Nothing at a site but the kind of its instruction matters to an action. */
static bool is_decided(const Matcher *w, const Action *a, WasmOp op) {
    const Variant *v = a->variant;
    return !w->hooks.accept && !asks_for_types(v) && !v->alt.is && a->event.mode != MODE_UNWIND &&
           plan_is_same_at(w->plan, v, op);
}

static void list_action(Matcher *w, WasmOp op, uint32_t action, bool decided) {
    const Variant *v = w->plan->actions.at[action].variant;
    ListedAction a = {.action = action, .decided = decided, .opidx = UINT32_MAX};
    if (!w->hooks.accept)
        a.opidx = plan_opidx(v);
    if (a.opidx > w->index.may_match[op].last)
        w->index.may_match[op].last = a.opidx;
    vec_push(&w->index.listed, a);
}

/* The actions for each instruction, without actions whose predicate the opcode makes false. */
static void list_actions(Matcher *w) {
    for (uint32_t op = 0; op < WASM_OP_COUNT; op++) {
        const ActionList *list = &w->plan->by_op[op];
        w->index.may_match[op].from = w->index.listed.len;
        w->index.same[op].decided = true;
        for (uint32_t i = 0; i < list->len; i++) {
            const Action *a = &w->plan->actions.at[list->at[i]];
            bool decided = is_decided(w, a, (WasmOp)op);
            if (w->hooks.accept || !plan_never_at(w->plan, a->variant, (WasmOp)op))
                list_action(w, (WasmOp)op, list->at[i], decided);
            w->index.same[op].decided &= decided;
        }
        w->index.may_match[op].to = w->index.listed.len;
        w->index.same[op].found = w->index.may_match[op].to == w->index.may_match[op].from;
    }
}

static void match_prepare(Matcher *w) {
    if (w->prepared)
        return;
    w->prepared = true;
    list_actions(w);
    for (uint32_t op = 0; op < WASM_OP_COUNT; op++) {
        const ActionList *list = &w->plan->by_op[op];
        for (uint32_t i = 0; i < list->len; i++)
            w->index.looks[op] |= w->plan->actions.at[list->at[i]].variant->asks.types;
        w->looks |= w->index.looks[op];
    }
    const ActionList *kinds = w->plan->by_kind;
    for (uint32_t i = 0; i < w->plan->variants.len; i++)
        w->survey.any_call |= w->plan->variants.at[i]->calls.alts.len > 0;
    w->uses_blocks = kinds[EVENT_BLOCK_START].len || kinds[EVENT_BLOCK_END].len;
    w->uses_flow = w->hooks.accept || w->uses_blocks || w->plan->by_op[WASM_OP_END].len;
    for (uint32_t i = 0; i < w->plan->variants.len; i++) {
        Mode mode = w->plan->variants.at[i]->event.mode;
        w->has_alts |= w->plan->variants.at[i]->alt.is;
        w->uses_constructs |= mode == MODE_SEMANTIC_AFTER || mode == MODE_EXIT ||
                              mode == MODE_BLOCK_ALT || mode == MODE_AT_TARGET;
    }
}

/* Representations agree: a language type of 32 bits or less with i32, and so on; anything with an
 * unknown type. */
static bool compatible(WasmType at_site, const Type *wanted) {
    return at_site == WASM_BOT || at_site == type_wasm(wanted);
}

/* Operand n of a list that is ordered deepest first. */
static bool has_operand(const WasmTypes *list, const Operand *o) {
    return o->n < list->len && (o->any || compatible(list->at[list->len - 1 - o->n], o->type));
}

uint8_t matcher_wide(const Matcher *w, WasmOp op) {
    const WasmTypes *args = &w->types.operands, *results = &w->types.results;
    unsigned wide = 0;
    for (uint32_t n = 0; n < args->len && n < 7; n++)
        if (operand_is_address(op, false, n) && args->at[args->len - 1 - n] == WASM_I64)
            wide |= 1u << n;
    if (results->len && operand_is_address(op, true, 0) && vec_last(results) == WASM_I64)
        wide |= WIDE_RESULT;
    return (uint8_t)wide;
}

/* Steps to the end of the construct that the typer is in. False: the code does not fit. */
static bool fits_to_end(WasmTyper *t, WasmCode code) {
    uint32_t depth = t->frames.len;
    WasmInstr i;
    while (wasm_next(&code, &i)) {
        WasmFlow flow = wasm_flow(i.op);
        bool closes = flow == WASM_FLOW_ARM || i.op == WASM_OP_END || i.op == WASM_OP_DELEGATE;
        bool last = closes && t->frames.len == depth;
        if (!wasm_typer_step(t, &i))
            return false;
        if (last)
            return true;
    }
    return false;
}

/* Whether the code after the diverging instruction at the typer's position is well typed without
 * it: the rest of the construct fits the stack below its operands. */
static bool falls_through(Matcher *w, const WasmCode *code) {
    WasmTyper *t = &w->ahead;
    if (wasm_typer_dead(&w->typer))
        return false;
    wasm_typer_copy(t, &w->typer);
    t->stack.len -= w->types.operands.len;
    return fits_to_end(t, *code);
}

/* The bounds of results hold at the exits of a function. */
static bool results_fit(const WasmModule *m, uint32_t func, const Operands *results) {
    const WasmTypeDef *t = wasm_func_type(m, func);
    for (uint32_t k = 0; k < results->len; k++) {
        const Operand *o = &results->at[k];
        if (o->n >= t->nresults || !compatible(t->results[t->nresults - 1 - o->n], o->type))
            return false;
    }
    return true;
}

/* The bounds of the variant hold at the current instruction. */
static bool match_types_fit(Matcher *w, const Variant *v, const Site *s) {
    for (uint32_t k = 0; k < v->operands.locals.len; k++) {
        const Operand *o = &v->operands.locals.at[k];
        if (o->n >= w->locals.len || !compatible(w->locals.at[o->n], o->type))
            return false;
    }
    for (uint32_t k = 0; k < v->operands.globals.len; k++) {
        const Operand *o = &v->operands.globals.at[k];
        if (o->n >= w->m->input_count[WASM_SPACE_GLOBAL] ||
            !compatible(w->m->globals.at[o->n].type, o->type))
            return false;
    }
    if (v->event.kind == EVENT_FUNC_EXIT)
        return results_fit(w->m, s->func, &v->operands.results);
    if (!v->asks.types)
        return true;
    for (uint32_t k = 0; k < v->operands.args.len; k++)
        if (!has_operand(&w->types.operands, &v->operands.args.at[k]))
            return false;
    const WasmTypes *results = v->alt.is ? &w->types.supplies : &w->types.results;
    for (uint32_t k = 0; k < v->operands.results.len; k++)
        if (!has_operand(results, &v->operands.results.at[k]))
            return false;
    return true;
}

/* Nothing is thrown to the location: the call cannot throw. */
static bool match_is_quiet(Matcher *w, const Action *a, const Site *s) {
    return a->event.mode == MODE_UNWIND && !wasm_survey_call_throws(&w->survey, w->m, s->instr);
}

/* The shape of an action at a site; NULL: it does not match. */
static Shape *match_shape_of(Matcher *w, Action *a, const Site *s) {
    Variant *v = a->variant;
    if (match_is_quiet(w, a, s))
        return NULL;
    if (v->access.base && w->plan->accesses.found)
        v = access_variant(w->plan, a, s);
    if (!v)
        return NULL;
    if (v->asks.addresses && !v->access.values && !w->hooks.accept)
        v = plan_widened(w->plan, v, s, matcher_wide(w, (WasmOp)s->instr->op));
    bool fits = w->hooks.accept ? w->hooks.accept(w->hooks.ctx, w, a, s)
                                : !asks_for_types(v) || match_types_fit(w, v, s);
    Shape *shape = fits ? plan_shape(w->plan, v, s) : NULL;
    return shape && v->alt.is ? alt_fit(w->plan, shape, s, &w->types) : shape;
}

static inline void match_add_match(Matcher *w, Action *a, Shape *shape) {
    if (shape)
        vec_push(&w->matches, ((Match){a, shape}));
}

static void match_kind(Matcher *w, const ActionList *list, const Site *s) {
    w->matches.len = 0;
    for (uint32_t i = 0; i < list->len; i++) {
        Action *a = &w->plan->actions.at[list->at[i]];
        match_add_match(w, a, match_shape_of(w, a, s));
    }
}

static void match_listed(Matcher *w, const Site *s) {
    uint32_t to = w->index.may_match[s->instr->op].to;
    w->matches.len = 0;
    for (uint32_t i = w->index.may_match[s->instr->op].from; i < to; i++) {
        ListedAction *listed = &w->index.listed.at[i];
        if (listed->opidx != UINT32_MAX && listed->opidx != s->opidx)
            continue;
        Action *a = &w->plan->actions.at[listed->action];
        Shape *shape = listed->shape ? listed->shape : match_shape_of(w, a, s);
        if (listed->decided)
            listed->shape = shape;
        match_add_match(w, a, shape);
    }
}

/* The matches that the opcode alone decides; computed at its first instruction. */
static void keep_matches(Matcher *w, WasmOp op) {
    w->index.same[op].found = true;
    w->index.same[op].first = w->index.decided.len;
    w->index.same[op].n = w->matches.len;
    for (uint32_t i = 0; i < w->matches.len; i++)
        vec_push(&w->index.decided, w->matches.at[i]);
}

/* Whether control goes on after an instruction that diverges, as alt replaces it. */
static bool goes_on(const Matcher *w, const Site *s, const Match *matches, uint32_t n) {
    for (uint32_t k = 0; k < n && w->types.falls_through; k++) {
        const Variant *v = matches[k].shape->variant;
        if (v->event.mode == MODE_ALT && !alt_returns(v, (WasmOp)s->instr->op))
            return true;
    }
    return false;
}

/* Matches at an instruction and shows it. Whether code after it can be reached only now. */
static bool match_at_instr(Matcher *w, Site *s, bool watched) {
    const struct SameMatches *same = &w->index.same[s->instr->op];
    s->decided = same->decided;
    if (!same->found) {
        match_listed(w, s);
        if (same->decided)
            keep_matches(w, (WasmOp)s->instr->op);
    }
    uint32_t n = same->found ? same->n : w->matches.len;
    const Match *matches = same->found && n ? &w->index.decided.at[same->first] : w->matches.at;
    if (n || watched)
        w->hooks.at(w->hooks.ctx, s, &w->types, matches, n);
    s->decided = false;
    return goes_on(w, s, matches, n);
}

/* The stack at the beginning of an else-arm. */
static void add_arm_types(Matcher *w) {
    uint32_t n;
    const WasmType *types = block_params(w->m, &vec_last(&w->typer.frames).block_type, &n);
    for (uint32_t k = 0; k < n; k++)
        vec_push(&w->types.results, types[k]);
}

/* Whether some instruction of the function needs operand types. */
static bool needs_types(Matcher *w, WasmCode code) {
    WasmInstr i;
    while (w->looks && wasm_next(&code, &i))
        if (w->index.looks[i.op])
            return true;
    return false;
}

static bool match_fail(Matcher *w, const char *error, uint32_t offset) {
    w->error = error;
    w->error_offset = offset;
    return false;
}

static void at_kind(Matcher *w, EventKind kind, const Site *s) {
    const ActionList *list = &w->plan->by_kind[kind];
    if (!list->len)
        return;
    match_kind(w, list, s);
    if (w->matches.len)
        w->hooks.at(w->hooks.ctx, s, &w->types, w->matches.at, w->matches.len);
}

static inline bool may_match(const Matcher *w, const WasmInstr *i, uint32_t index) {
    return w->index.may_match[i->op].from < w->index.may_match[i->op].to &&
           index <= w->index.may_match[i->op].last;
}

bool matcher_watches(const Matcher *w, const WasmInstr *i) {
    if (i->op == WASM_OP_CALL || i->op == WASM_OP_RETURN_CALL || i->op == WASM_OP_REF_FUNC)
        return matcher_watches_func(w, i->a);
    return w->watch_op[i->op];
}

/* Parts of constructs are numbered in the order of the body, as by constructs_find. Returns the one
 * that the instruction opens. The instruction itself is inside the surrounding part: enter_part
 * enters its own, after it. */
static const Construct *match_next_part(Matcher *w, WasmOp op) {
    bool further = wasm_flow(op) == WASM_FLOW_ARM;
    if ((further || op == WASM_OP_END || op == WASM_OP_DELEGATE) && w->open.len)
        w->open.len--;
    return opens_part(op) ? &w->constructs.at[w->part++] : NULL;
}

static void enter_part(Matcher *w, const Construct *part) {
    if (part)
        vec_push(&w->open, w->part - 1);
}

/* Sets the fields of a site that follow from the instruction and its surroundings. */
static void set_site(const Matcher *w, Site *s, const WasmInstr *i, const FlowStep *step) {
    s->instr = i;
    s->pc = i->offset;
    s->constructs = w->constructs.at;
    s->open = w->open.at;
    s->nopen = w->open.len;
    s->at_label = i->op == WASM_OP_LOOP || step->branched_end;
    s->block_first = step->first;
    s->block_last = step->last;
    s->instr_count = step->count;
}

/* The types at an instruction; `code` stands after it. */
static void find_types(Matcher *w, const WasmInstr *i, const WasmCode *code) {
    w->types.operands.len = w->types.results.len = w->types.supplies.len = 0;
    wasm_instr_types(&w->typer, i, &w->types.operands, &w->types.results);
    if (w->has_alts)
        alt_find_supplies(&w->typer, i, &w->types, &w->types.supplies);
    if (i->op == WASM_OP_ELSE)
        add_arm_types(w);
    w->types.dead = wasm_typer_dead(&w->typer);
    w->types.falls_through = w->has_alts && alt_diverges((WasmOp)i->op) && falls_through(w, code);
}

bool matcher_sees_instrs_only(const Matcher *w) {
    for (uint32_t kind = EVENT_FUNC_ENTRY; kind < EVENT_OPCODE; kind++)
        if (w->plan->by_kind[kind].len)
            return false;
    return w->prepared && !w->hooks.accept && !w->uses_constructs;
}

bool matcher_knows(const Matcher *w, WasmOp op) {
    return w->index.same[op].found && !w->index.looks[op] && !w->watch_op[op];
}

/* `at_body` has taken the whole body. */
static bool takes_body(Matcher *w, const Site *site, bool typed) {
    if (!w->hooks.at_body || !w->body.at.len || typed || w->uses_constructs || w->hooks.accept ||
        w->uses_blocks || wasm_asyncify_spans(&w->survey.asyncify, site->func))
        return false;
    for (const WasmInstr *i = w->body.at.at; i->size; i++)
        if (!w->index.same[i->op].found || matcher_watches(w, i))
            return false;
    return w->hooks.at_body(w->hooks.ctx, site, &w->body);
}

/* Puts the last instruction where the walk leaves it; returns how many there are. */
static uint32_t skip_to_end(const Matcher *w, WasmCode *code, WasmInstr buffer[2]) {
    uint32_t n = w->body.at.len - 1;
    code->at = code->end;
    code->decoded = &w->body.at.at[n];
    if (n)
        buffer[(n - 1) & 1] = w->body.at.at[n - 1];
    return n;
}

bool match_func(Matcher *w, uint32_t func) {
    assert(func >= w->m->input_imports[WASM_SPACE_FUNC] &&
           func < w->m->input_count[WASM_SPACE_FUNC]);
    const WasmFunc *f = &w->m->funcs.at[func];
    match_prepare(w);
    statics_function(w->plan, w->m, func);
    w->locals.len = w->body.at.len = 0;
    uint32_t first = wasm_func_locals(w->m, func, &w->locals, &w->error);
    if (!first)
        return match_fail(w, w->error, 0);
    WasmCode code = wasm_code(wasm_func_body(w->m, func), f->body_size, first);
    if (f->body_size <= WASM_MAX_DECODED && !wasm_decode(&w->body, func, &code))
        return match_fail(w, code.error, code.error_offset);
    bool typed = needs_types(w, code);
    if (typed && !wasm_typer_begin(&w->typer, w->m, func, &code))
        return match_fail(w, w->typer.error, w->typer.error_offset);
    w->types.known = typed;
    w->types.dead = w->types.falls_through = false;

    Site s = {.m = w->m,
              .host = w->plan->program.host,
              .module_id = w->plan->program.module_id,
              .asyncify = w->plan->program.asyncify,
              .module_name = w->plan->program.module_name,
              .component_name = w->plan->program.component_name,
              .survey = &w->survey,
              .locator = w->plan->program.locator,
              .func = func};
    at_kind(w, EVENT_FUNC_ENTRY, &s);
    WasmInstr buffer[2];
    uint32_t index = 0;
    if (takes_body(w, &s, typed))
        index = skip_to_end(w, &code, buffer);
    flow_begin(&w->flow);
    if (w->uses_constructs)
        constructs_find(code, &w->constructs);
    w->part = w->open.len = 0;
    while (wasm_next(&code, &buffer[index & 1])) {
        const WasmInstr *i = &buffer[index & 1];
        bool matched = may_match(w, i, index), watched = matcher_watches(w, i);
        uint8_t next = code.at == code.end ? 0 : *code.at;
        FlowStep step = w->uses_flow ? flow_step(&w->flow, i, next) : (FlowStep){0};
        const Construct *part = w->uses_constructs ? match_next_part(w, (WasmOp)i->op) : NULL;
        bool revived = false;
        bool block = (step.first && w->plan->by_kind[EVENT_BLOCK_START].len) ||
                     (step.last && w->plan->by_kind[EVENT_BLOCK_END].len);
        if (matched || watched || block) {
            s.opidx = index;
            s.previous = index ? &buffer[(index + 1) & 1] : NULL;
            s.construct = part;
            s.at_func_end = i->offset + i->size == f->body_size;
            set_site(w, &s, i, &step);
            s.flow = &w->flow;
            s.after = code;
            if (typed)
                find_types(w, i, &code);
            revived = match_at_instr(w, &s, watched) && typed;
            if (step.first)
                at_kind(w, EVENT_BLOCK_START, &s);
            if (step.last)
                at_kind(w, EVENT_BLOCK_END, &s);
        }
        enter_part(w, part);
        if (revived)
            w->typer.stack.len -= w->types.operands.len;
        else if (typed && !wasm_typer_step(&w->typer, i))
            return match_fail(w, w->typer.error, w->typer.error_offset);
        index++;
    }
    if (code.error)
        return match_fail(w, code.error, code.error_offset);
    if (!index)
        return match_fail(w, "the body has no instructions", first);
    s.instr = &buffer[(index - 1) & 1];
    s.pc = s.instr->offset;
    s.opidx = index - 1;
    s.previous = NULL;
    s.at_func_end = true;
    at_kind(w, EVENT_FUNC_EXIT, &s);
    if (w->plan->by_kind[EVENT_FUNC_UNWIND].len && wasm_survey_unwinds(&w->survey, w->m, func))
        at_kind(w, EVENT_FUNC_UNWIND, &s);
    return true;
}

void matcher_free(Matcher *w) {
    vec_free(&w->types.operands);
    vec_free(&w->types.results);
    vec_free(&w->types.supplies);
    vec_free(&w->locals);
    vec_free(&w->body.at);
    vec_free(&w->matches);
    vec_free(&w->index.listed);
    vec_free(&w->index.decided);
    flow_free(&w->flow);
    vec_free(&w->constructs);
    vec_free(&w->open);
    wasm_typer_free(&w->typer);
    wasm_typer_free(&w->ahead);
    wasm_survey_free(&w->survey);
}
