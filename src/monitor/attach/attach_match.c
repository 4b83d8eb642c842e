/*
 * monitor/attach/attach_match.c - attaching: for a location and a rule, evaluates the predicate,
 * then binds values, then calls callbacks, as engines do (engine interface, sections 4 and 5).
 */
#include "monitor/attach/attach_code.h"
#include "valid/typer.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

enum {
    MAX_FAULTS = 20,
    MAX_STRINGS = 8,
};

/* The result of a step. */
typedef enum Outcome {
    BOUND,
    UNMATCHED, /* the probe does not go there */
    LEFT_OUT,  /* an operand is not there, or of another type: engines give up, we do not */
    FAULT,     /* engines give up */
} Outcome;

/* One attempt. */
typedef struct Attempt {
    Bind *b;
    BindState *s;
    const BindRule *r;
    uint32_t rule;
    const Matcher *w;
    const Site *site;
    char text[400]; /* of the fault */
} Attempt;

/* Ends the attempt: says why. */
static Outcome because(Attempt *a, Outcome outcome, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static Outcome because(Attempt *a, Outcome outcome, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(a->text, sizeof a->text, format, args);
    va_end(args);
    return outcome;
}

/* ---- faults ---- */

static void note_fault(const Attempt *a, bool fatal) {
    Bind *b = a->b;
    b->failed |= fatal;
    for (uint32_t i = 0; i < b->faults.len; i++) {
        BindFault *f = &b->faults.at[i];
        if (f->rule == a->rule && f->fatal == fatal && (!fatal || strcmp(f->text, a->text) == 0)) {
            f->places++;
            return;
        }
    }
    if (b->faults.len == MAX_FAULTS) {
        b->more_faults += fatal;
        return;
    }
    const char *text = arena_strndup(&b->plan.arena, a->text, strlen(a->text));
    vec_push(&b->faults, ((BindFault){a->rule, a->site->func, a->site->pc, 1, fatal, text}));
}

bool bind_faults(Bind *b) {
    Diags *diags = b->p.diags;
    for (uint32_t i = 0; i < b->faults.len; i++) {
        const BindFault *f = &b->faults.at[i];
        const BindState *s = &b->states[b->rules.at[f->rule].monitor];
        Str name = b->rules.at[f->rule].probe->name;
        uint32_t at = (uint32_t)((const uint8_t *)name.ptr - s->monitor.m.bytes);
        Str func = wasm_known_name(&b->p.m, f->func);
        Diag *d =
            diag(diags, f->fatal ? DIAG_CANNOT_BIND : DIAG_MONITOR_MATCH,
                 (Span){s->monitor.file, at, at + name.len},
                 "export \"%.*s\": %s, at offset %u of function %u%s%.*s%s", STR_ARG(name), f->text,
                 f->pc, f->func, func.len ? " (" : "", STR_ARG(func), func.len ? ")" : "");
        diag_quote(diags, d, at, name);
        if (f->places > 1)
            diag_hint(diags, d,
                      f->fatal ? "the same error occurs at %u more %s" : "and at %u more %s",
                      f->places - 1, f->places == 2 ? "place" : "places");
        if (!f->fatal)
            diag_hint(diags, d, "it is not attached there; engines abort");
    }
    if (b->more_faults)
        diag(diags, DIAG_CANNOT_BIND, (Span){b->p.file, 0, 0},
             "%u more attempts to attach a probe failed", b->more_faults);
    return !b->failed;
}

/* ---- strings ---- */

static bool attach_match_read_global(const BindState *s, const char *name, uint64_t *v) {
    EvalExtern e;
    if (!eval_export(bind_host_monitor(s->host), str_of(name), &e) || e.space != WASM_SPACE_GLOBAL)
        return false;
    EvalValue value = eval_global_get(e.global);
    *v = value.bits;
    return value.type == WASM_I32;
}

static EvalMemory *attach_match_find_memory(const BindState *s, const char *name) {
    EvalExtern e;
    bool found = eval_export(bind_host_monitor(s->host), str_of(name), &e);
    return found && e.space == WASM_SPACE_MEMORY ? e.memory : NULL;
}

/* Where the monitor wants strings; asked at the first use. */
static void find_strings(BindState *s) {
    BindStrings *x = &s->strings;
    if (x->found)
        return;
    x->found = true;
    x->memory = attach_match_find_memory(s, "whamm_buffer");
    if (x->memory && attach_match_read_global(s, "whamm_buffer:start", &x->start) &&
        attach_match_read_global(s, "whamm_buffer:max", &x->size))
        return;
    x->older = true;
    x->memory = attach_match_find_memory(s, "engine:data");
}

/* Returns address and length of a string, which is cut where there is no room. */
static Outcome attach_match_put_string(Attempt *a, const char *text, size_t len,
                                       MonitorValue out[2]) {
    BindStrings *x = &a->s->strings;
    if (!x->memory)
        return because(a, FAULT,
                       "names need a memory for their text: exports whamm_buffer, "
                       "whamm_buffer:start and whamm_buffer:max");
    uint64_t at = x->older ? 0 : x->start + x->used;
    uint64_t room = x->older ? eval_memory_size(x->memory) : x->size - x->used;
    if (len > room)
        len = (size_t)room;
    bind_host_spend(a->s->host, len);
    if (!eval_memory_write(x->memory, at, text, len))
        return because(a, FAULT, "the memory for names ends at byte %llu",
                       (unsigned long long)eval_memory_size(x->memory));
    if (!x->older)
        x->used += len;
    out[0] = (MonitorValue){WASM_I32, {(uint32_t)at, 0}};
    out[1] = (MonitorValue){WASM_I32, {(uint32_t)len, 0}};
    return BOUND;
}

static Outcome func_name(Attempt *a, MonitorValue out[2]) {
    Str name = wasm_func_name(&a->b->p.m, a->site->func);
    if (!a->s->strings.older)
        return attach_match_put_string(a, name.ptr, name.len, out);
    Buf text = {0};
    if (name.len)
        buf_printf(&text, "\"%.*s\"", STR_ARG(name));
    else
        buf_printf(&text, "#%u", a->site->func);
    Outcome o = attach_match_put_string(a, buf_cstr(&text), text.len, out);
    buf_free(&text);
    return o;
}

static Outcome op_name(Attempt *a, MonitorValue out[2]) {
    MonitorEvent event = a->r->probe->rule.event;
    const char *text = "<invalid>";
    if (event == MONITOR_OPCODE || event == MONITOR_ANY) {
        WasmOp op = (WasmOp)a->site->instr->op;
        const char *older = rule_mnemonic(op, true);
        text = a->s->strings.older && older ? older : rule_mnemonic(op, false);
    }
    return attach_match_put_string(a, text, strlen(text), out);
}

/* ---- static values ---- */

/* The location has the last number that was given. */
static bool is_numbered(const BindState *s, const Site *site) {
    return s->ids.n && s->ids.func == site->func && s->ids.pc == site->pc;
}

/* The location's number: one for all rules there. */
static uint32_t place_id(Attempt *a) {
    BindState *s = a->s;
    if (!is_numbered(s, a->site)) {
        s->ids.func = a->site->func;
        s->ids.pc = a->site->pc;
        s->ids.n++;
    }
    return s->ids.n - 1;
}

static Outcome attach_match_number(MonitorValue *out, WasmType type, uint64_t v) {
    *out = (MonitorValue){type, {v, 0}};
    return BOUND;
}

static bool attach_match_at_instr(const Attempt *a) {
    MonitorEvent event = a->r->probe->rule.event;
    return event == MONITOR_OPCODE || event == MONITOR_ANY;
}

static const char *event_words(const Attempt *a) {
    switch (a->r->probe->rule.event) {
    case MONITOR_FUNC_ENTRY: return "func:entry";
    case MONITOR_FUNC_EXIT: return "func:exit";
    case MONITOR_BLOCK_START: return "block:start";
    case MONITOR_BLOCK_END: return "block:end";
    default: return rule_mnemonic((WasmOp)a->site->instr->op, false);
    }
}

static Outcome attach_match_immediate(Attempt *a, uint32_t n, MonitorValue *out) {
    if (attach_match_at_instr(a) && monitor_imm(a->site->instr, n, out))
        return BOUND;
    uint16_t op = attach_match_at_instr(a) ? a->site->instr->op : (uint16_t)WASM_OP_COUNT;
    if (op == WASM_OP_BR_TABLE || op == WASM_OP_TRY_TABLE)
        return UNMATCHED;
    return because(a, FAULT, "%s has no imm%u", event_words(a), n);
}

static Outcome attach_match_static_value(Attempt *a, const MonitorParam *p, MonitorValue *out) {
    const WasmInstr *i = attach_match_at_instr(a) ? a->site->instr : NULL;
    uint8_t imm = i ? wasm_ops[i->op].imm : WASM_IMM_NONE;
    switch (p->kind) {
    case PARAM_PC: return attach_match_number(out, WASM_I32, a->site->pc);
    case PARAM_FID: return attach_match_number(out, WASM_I32, a->site->func);
    case PARAM_PROBE_ID: return attach_match_number(out, WASM_I32, place_id(a));
    case PARAM_AT_FUNC_END:
    case PARAM_IS_FUNC_END: return attach_match_number(out, WASM_I32, a->site->at_func_end);
    case PARAM_IMM: return attach_match_immediate(a, p->n, out);
    case PARAM_NUM_TARGETS:
        if (!i || i->op != WASM_OP_BR_TABLE)
            return because(a, FAULT, "%s has no num_targets", event_words(a));
        return attach_match_number(out, WASM_I32, i->count);
    case PARAM_OFFSET:
        if (imm != WASM_IMM_MEMARG && imm != WASM_IMM_MEMARG_LANE)
            return because(a, FAULT, "%s has no offset", event_words(a));
        return attach_match_number(out, WASM_I64, i->c);
    case PARAM_INSTR_COUNT:
        if (a->r->probe->rule.event != MONITOR_BLOCK_END)
            return because(a, FAULT, "instr_count is known only at block:end");
        return attach_match_number(out, WASM_I32, a->site->instr_count);
    default:
        return because(a, FAULT,
                       "a callback cannot receive a value that is known only at run time");
    }
}

/* ---- predicates and callbacks ---- */

static Outcome call_arguments(Attempt *a, const MonitorCall *call, MonitorValue *args,
                              uint32_t *n) {
    *n = 0;
    for (uint32_t i = 0; i < call->nparams; i++) {
        const MonitorParam *p = &call->params[i];
        bool two = p->kind == PARAM_FNAME || p->kind == PARAM_OPNAME || p->kind == PARAM_OP_NAME;
        if (two)
            find_strings(a->s);
        Outcome o = p->kind == PARAM_FNAME ? func_name(a, args + *n)
                    : two                  ? op_name(a, args + *n)
                                           : attach_match_static_value(a, p, args + *n);
        if (o != BOUND)
            return o;
        *n += two ? 2 : 1;
    }
    return BOUND;
}

static Outcome attach_match_check_call(Attempt *a, const MonitorFunc *f, const MonitorValue *args,
                                       uint32_t n) {
    char want[32], have[32];
    const WasmTypeDef *type = wasm_func_type(&a->s->monitor.m, f->func);
    Str name = f->call->name;
    if (type->nparams != n || type->nresults != 1)
        return because(a, FAULT, "%.*s has %u parameters and %u results; expected %u and 1",
                       STR_ARG(name), type->nparams, type->nresults, n);
    for (uint32_t i = 0; i < n; i++) {
        if (args[i].type != type->params[i])
            return because(a, FAULT, "%.*s expects an %s, but receives an %s", STR_ARG(name),
                           wasm_type_text(type->params[i], want),
                           wasm_type_text(args[i].type, have));
        if (args[i].type == WASM_V128)
            return because(a, FAULT,
                           "%.*s expects a vector, which cannot be computed ahead of time",
                           STR_ARG(name));
    }
    return BOUND;
}

static Outcome attach_match_call(Attempt *a, const MonitorFunc *f, WasmType wanted,
                                 uint64_t *result) {
    char want[32], have[32];
    MonitorValue *args = mem_alloc(sizeof *args * (2 * (size_t)f->call->nparams + 1));
    uint32_t n;
    Outcome o = call_arguments(a, f->call, args, &n);
    if (o == BOUND)
        o = attach_match_check_call(a, f, args, n);
    WasmType type = o == BOUND ? wasm_func_type(&a->s->monitor.m, f->func)->results[0] : wanted;
    if (type != wanted)
        o = because(a, FAULT, "%.*s returns an %s; expected an %s", STR_ARG(f->call->name),
                    wasm_type_text(type, have), wasm_type_text(wanted, want));
    if (o == BOUND && (type == WASM_V128 || WASM_IS_REF(type)))
        o = because(a, FAULT, "%.*s returns a %s, which cannot be computed ahead of time",
                    STR_ARG(f->call->name), type == WASM_V128 ? "vector" : "reference");
    EvalValue *values = mem_alloc(sizeof *values * (n + 1)), value = {type, 0};
    EvalError error;
    for (uint32_t i = 0; i < n; i++)
        values[i] = (EvalValue){args[i].type, args[i].bits[0]};
    a->s->said.len = 0;
    if (o == BOUND && !bind_host_call(a->s->host, f->func, values, n, &value, 1, &error)) {
        o = because(a, FAULT, "%.*s: %s%s%s", STR_ARG(f->call->name), error.text,
                    a->s->said.len ? "; it said: " : "", buf_cstr(&a->s->said));
        a->s->spent = error.status == EVAL_FUEL;
    }
    *result = value.bits;
    free(values);
    free(args);
    return o;
}

/* ---- values of the run ---- */

/* Types of different modules: those with indices cannot be compared. */
static bool attach_match_same_type(WasmType a, WasmType b) {
    return a == b && !(WASM_IS_REF(a) && !(a & WASM_ABSTRACT_BIT));
}

/* How many operands of an instruction engines show. */
static uint32_t shown_operands(const WasmInstr *i, uint32_t n) {
    switch (wasm_flow(i->op)) {
    case WASM_FLOW_BRANCH: return 0;
    case WASM_FLOW_BRANCH_IF:
    case WASM_FLOW_BRANCH_TABLE: return n ? 1 : 0;
    default: return n;
    }
}

/* Operand n exists and has the type. In unreachable code it may not exist. */
static Outcome bind_arg(Attempt *a, uint32_t n, WasmType wanted) {
    char want[32], have[32];
    if (!attach_match_at_instr(a))
        return because(a, FAULT, "%s has no arg%u", event_words(a), n);
    const WasmInstr *i = a->site->instr;
    const WasmTypes *list = &a->w->types.operands;
    bool lenient = i->op == WASM_OP_CALL || i->op == WASM_OP_CALL_INDIRECT;
    if (a->w->types.dead && wasm_typer_operand(&a->w->typer, n) == WASM_BOT)
        return UNMATCHED;
    if (n >= shown_operands(i, list->len))
        return lenient ? UNMATCHED : because(a, LEFT_OUT, "%s has no arg%u", event_words(a), n);
    WasmType type = list->at[list->len - 1 - n];
    if (attach_match_same_type(type, wanted))
        return BOUND;
    return lenient || type == WASM_BOT
               ? UNMATCHED
               : because(a, LEFT_OUT, "arg%u of %s is an %s, but the function expects an %s", n,
                         event_words(a), wasm_type_text(type, have), wasm_type_text(wanted, want));
}

static Outcome bind_local(const Attempt *a, uint32_t n, WasmType wanted) {
    const WasmTypes *locals = &a->w->locals;
    return n < locals->len && attach_match_same_type(locals->at[n], wanted) ? BOUND : UNMATCHED;
}

/* ---- attaching ---- */

static void record(Attempt *a, const BindFormal *f, const MonitorValue *v) {
    uint64_t *words = a->b->scratch.at;
    words[f->word] = v->bits[0];
    if (v->type == WASM_V128)
        words[f->word + 1] = v->bits[1];
}

static Outcome bind_param(Attempt *a, uint32_t k) {
    char want[32], have[32];
    const MonitorParam *p = &a->r->probe->rule.params[k];
    const BindFormal *f = &a->r->formals[k];
    MonitorValue v = {0};
    switch (p->kind) {
    case PARAM_CALL: return BOUND; /* later */
    case PARAM_ARG: return bind_arg(a, p->n, f->type);
    case PARAM_LOCAL: return bind_local(a, p->n, f->type);
    case PARAM_FRAME:
        if (f->type != EVAL_EXTERNREF)
            return because(a, FAULT, "frame is an externref, but the function expects an %s",
                           wasm_type_text(f->type, want));
        return BOUND;
    default: break;
    }
    Outcome o = attach_match_static_value(a, p, &v);
    if (o == BOUND && v.type != f->type)
        return because(a, FAULT, "value %u is an %s, but the function expects an %s", k + 1,
                       wasm_type_text(v.type, have), wasm_type_text(f->type, want));
    if (o == BOUND)
        record(a, f, &v);
    return o;
}

static Outcome call_back(Attempt *a, uint32_t k) {
    const BindFormal *f = &a->r->formals[k];
    MonitorValue v = {.type = f->type};
    if (f->kind != PARAM_CALL)
        return BOUND;
    Outcome o = attach_match_call(a, &a->r->probe->callbacks[k], f->type, &v.bits[0]);
    if (o == BOUND)
        record(a, f, &v);
    return o;
}

static Outcome attach_match_attach(Attempt *a) {
    const MonitorProbe *probe = a->r->probe;
    uint32_t n = probe->rule.nparams;
    uint64_t yes = 1;
    Outcome o = BOUND;
    if (probe->predicate.call)
        o = attach_match_call(a, &probe->predicate, WASM_I32, &yes);
    if (o == BOUND && !(uint32_t)yes)
        return UNMATCHED;
    if (o == BOUND && a->r->fault)
        o = because(a, FAULT, "%s", a->r->fault);
    for (uint32_t k = 0; k < n && o == BOUND; k++)
        o = bind_param(a, k);
    for (uint32_t k = n; k-- > 0 && o == BOUND;)
        o = call_back(a, k);
    return o;
}

static void add_hit(const Attempt *a) {
    BindState *s = a->s;
    const uint64_t *words = a->b->scratch.at;
    while (s->ids.hits.len < s->ids.n) /* numbers may have been given to locations without probes */
        vec_push(&s->ids.hits, UINT32_MAX);
    if (s->ids.n && s->ids.hits.at[s->ids.n - 1] == UINT32_MAX && is_numbered(s, a->site))
        s->ids.hits.at[s->ids.n - 1] = s->hits.len;
    vec_push(
        &s->hits,
        ((BindHit){
            .func = a->site->func, .pc = a->site->pc, .rule = a->rule, .words = s->words.len}));
    vec_reserve(&s->words, a->r->nwords + 1); /* so that hits without words have a place, too */
    for (uint32_t k = 0; k < a->r->nwords; k++)
        vec_push(&s->words, words[k]);
}

static bool begins_with_loop(const Site *site) {
    WasmCode code;
    WasmInstr i;
    wasm_func_code(site->m, site->func, &code);
    return wasm_next(&code, &i) && i.op == WASM_OP_LOOP;
}

/* A function's first block starts at its entry, unless that is a loop, to which branches lead. */
static bool starts_block(const Site *site) {
    if (!site->instr)
        return !begins_with_loop(site);
    return site->block_first && (site->opidx > 0 || site->instr->op == WASM_OP_LOOP);
}

/* The event happens at the location, which is in its list. */
static bool attach_match_happens(const BindRule *r, const Site *site) {
    switch (r->probe->rule.event) {
    case MONITOR_BLOCK_START: return starts_block(site);
    case MONITOR_BLOCK_END: return site->block_last;
    case MONITOR_FUNC_EXIT: return site->instr->op == WASM_OP_RETURN || site->at_func_end;
    default: return true;
    }
}

const BindHit *bind_next(const BindState *s, uint32_t *at) {
    while (*at < s->hits.len && !bind_has_code(&s->hits.at[*at]))
        ++*at;
    return *at < s->hits.len ? &s->hits.at[(*at)++] : NULL;
}

static bool take_hit(BindState *s, uint32_t rule, const Site *site) {
    const BindHit *h = bind_next(s, &s->accepted);
    bool taken = h && h->func == site->func && h->pc == site->pc && h->rule == rule;
    if (h && !taken)
        s->accepted--; /* it is still to come */
    return taken;
}

void bind_remove(BindState *s, const BindRule *rules, uint32_t id) {
    if (id >= s->ids.hits.len)
        return;
    uint32_t first = s->ids.hits.at[id];
    for (uint32_t i = first; i < s->hits.len; i++) {
        BindHit *h = &s->hits.at[i];
        if (h->func != s->hits.at[first].func || h->pc != s->hits.at[first].pc)
            break;
        h->gone |= rules[h->rule].id_word != UINT32_MAX;
    }
}

bool bind_accept(void *self, const Matcher *w, const Action *action, const Site *site) {
    assert((uint32_t)(action - ((Bind *)self)->plan.actions.at) < ((Bind *)self)->rules.len);
    Bind *b = self;
    uint32_t rule = (uint32_t)(action - b->plan.actions.at);
    const BindRule *r = &b->rules.at[rule];
    BindState *s = &b->states[r->monitor];
    if (b->current == b->nstates)
        return take_hit(s, rule, site);
    if (b->current != r->monitor || s->spent || !attach_match_happens(r, site))
        return false;
    if (s->place_func != site->func || s->place_pc != site->pc)
        s->strings.used = 0;
    s->place_func = site->func;
    s->place_pc = site->pc;
    Attempt a = {.b = b, .s = s, .r = r, .rule = rule, .w = w, .site = site};
    vec_reserve(&b->scratch, r->nwords + 1);
    Outcome o = attach_match_attach(&a);
    if (o >= LEFT_OUT)
        note_fault(&a, o == FAULT);
    if (o != BOUND)
        return false;
    if (r->id_word != UINT32_MAX)
        b->scratch.at[r->id_word] = place_id(&a);
    add_hit(&a);
    return true;
}
