/*
 * monitor/make/engine_limits.c - the limits of engines that run monitors.
 *
 * An engine runs functions of the monitor before instructions and passes them copies of operands
 * and locals. It has nothing after or instead of instructions, and does not show the program's
 * memories, tables and references.
 */
#include "monitor/make/engine_limits.h"

#include "library/builtin.h"
#include "monitor/read/operand.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

/* Why something is not possible: one message for each in a probe. */
typedef enum Reason {
    REASON_MODE,
    REASON_ENTRY,
    REASON_EXIT_LOCALS,
    REASON_EXIT_RESULTS,
    REASON_GLOBALS,
    REASON_ASSIGN,
    REASON_TABLES,
    REASON_MEMORY_SIZE,
    REASON_TABLE_SIZE,
    REASON_SEGMENT,
    REASON_REFERENCE,
    REASON_MEMORY,
    REASON_DATA,
    REASON_INSTRUCTION,
    REASON_STATIC,
    REASON_ESCAPES,
    REASON_THREAD,
    REASON_UNWIND,
    REASON_STACKS,
    REASON_OPERAND,
    REASON_SOURCE,
    WARN_ZERO, /* memory 0 is the monitor's own */
    WARN_NUMBER,
    WARN_COMPARED,
} Reason;

typedef struct Engine {
    Plan *plan;
    Diags *diags;
    uint32_t *told; /* by probe, then by script: bit set of reasons */
    uint32_t at;    /* index into told */
    const Variant *v;
    const Expr *unseen; /* the first thing in v that depends on a reference operand */
    bool ok;
} Engine;

/* Whether it is the first time in the probe, or the script. */
static bool is_new(Engine *g, Reason reason) {
    bool told = g->told[g->at] >> reason & 1;
    g->told[g->at] |= 1u << reason;
    return !told;
}

static void engine_limits_refuse(Engine *g, Reason reason, Span span, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static void engine_limits_refuse(Engine *g, Reason reason, Span span, const char *format, ...) {
    char text[256];
    va_list args;
    g->ok = false;
    if (!is_new(g, reason))
        return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    Diag *d = diag(g->diags, DIAG_MONITOR_CANNOT, span, "%s", text);
    diag_hint(g->diags, d, "compile with `whammc instr`");
}

/* ---- modes ---- */

/* Modes that a probe has and an engine has not, each once. */
static void check_modes(Engine *g, const PlanProbe *p, bool (*happens)(const Action *a)) {
    const Rule *rule = &p->probe->rule;
    Span span = rule->nparts > 3 ? rule->parts[3].span : rule->span;
    Buf list = {0};
    bool seen[MODE_COUNT] = {0};
    for (uint32_t i = 0; i < p->nactions; i++) {
        const Action *a = &g->plan->actions.at[p->first_action + i];
        Mode mode = a->event.mode;
        bool passes = mode == MODE_AFTER && a->event.op == WASM_OP_END; /* nothing is between */
        if (mode == MODE_NONE || mode == MODE_BEFORE || mode == MODE_ENTRY || passes ||
            seen[mode] || !happens(a))
            continue;
        seen[mode] = true;
        if (!strstr(buf_cstr(&list), mode_surface(mode)))
            buf_printf(&list, "%s%s", list.len ? ", " : "", mode_surface(mode));
    }
    if (list.len)
        engine_limits_refuse(g, REASON_MODE, span,
                             "an engine runs probes only before instructions; it has no '%s'",
                             buf_cstr(&list));
    buf_free(&list);
}

/* Its condition is known at the `if`, but engines do not tell there whether it has an `else`. */
static void refuse_else(Engine *g, Span span) {
    g->ok = false;
    if (!is_new(g, REASON_ENTRY))
        return;
    Diag *d = diag(g->diags, DIAG_MONITOR_CANNOT, span,
                   "engines run the probes of an 'else' where the arm before it ends, and have no "
                   "event for the start of its own arm: the 'if' jumps there");
    diag_hint(g->diags, d,
              "compile with `whammc instr`, or use wasm:opcode:if:before / arg0 == 0 /, which "
              "counts each 'if' with a false condition, also without an 'else'");
}

/* The top of a construct's body, if that is where the construct begins. */
static void check_entry(Engine *g, const Action *a) {
    WasmOp op = a->event.op;
    const Rule *rule = &g->plan->probes.at[a->variant->source].probe->rule;
    Span span = rule->nparts > 3 ? rule->parts[3].span : rule->span;
    if (a->event.mode != MODE_ENTRY)
        return;
    if (op == WASM_OP_ELSE) {
        refuse_else(g, span);
        return;
    }
    if (op != WASM_OP_BLOCK && op != WASM_OP_LOOP && op != WASM_OP_IF && op != WASM_OP_TRY &&
        op != WASM_OP_TRY_TABLE)
        engine_limits_refuse(
            g, REASON_ENTRY, span,
            "engines have no event for the start of the body of '%s': a jump leads there, past "
            "the instruction",
            wasm_ops[op].mnemonic);
}

/* Without a default: the compiler asks about each new event. */
static void check_event(Engine *g, const Action *a) {
    switch (a->event.kind) {
    case EVENT_FUNC_UNWIND:
        if (a->variant->probe->made) /* what it does, the function does that catches the exception */
            break;
        engine_limits_refuse(g, REASON_UNWIND, a->variant->probe->rule.span,
                             "engines have no event for an exception that leaves a function");
        break;
    case EVENT_STACK_SUSPEND:
    case EVENT_STACK_RESUME:
        engine_limits_refuse(g, REASON_STACKS, a->variant->probe->rule.span,
                             "engines have no event for a stack that is left or resumed");
        break;
    case EVENT_BEGIN:
    case EVENT_END:
    case EVENT_REPORT:
    case EVENT_FUNC_ENTRY:
    case EVENT_FUNC_EXIT:
    case EVENT_BLOCK_START:
    case EVENT_BLOCK_END:
    case EVENT_OPCODE:
    case EVENT_KIND_COUNT: break; /* monitor/make/unit.c has them */
    }
}

/* Compiled code has lost the locals where a function ends; no engine passes the results. */
static void check_exit(Engine *g, const Action *a) {
    const Variant *v = a->variant;
    for (uint32_t i = 0; i < v->operands.locals.len && a->event.kind == EVENT_FUNC_EXIT; i++)
        if (v->operands.locals.at[i].used)
            engine_limits_refuse(
                g, REASON_EXIT_LOCALS, v->probe->rule.span,
                "'local%u' is not available at the end of a function: engines that compile have "
                "overwritten it there",
                v->operands.locals.at[i].n);
    if (v->operands.results.len && a->event.kind == EVENT_FUNC_EXIT)
        engine_limits_refuse(
            g, REASON_EXIT_RESULTS, v->probe->rule.span,
            "'res%u' is not available at the end of a function: engines do not pass results to "
            "probes there",
            v->operands.results.at[0].n);
}

static void engine_limits_check_globals(Engine *g, const Action *a) {
    const Variant *v = a->variant;
    if (v->operands.globals.len)
        engine_limits_refuse(
            g, REASON_GLOBALS, v->probe->rule.span,
            "'global%u' is a global of the program, and engines do not show those to monitors",
            v->operands.globals.at[0].n);
}

/* Of branches an engine shows only the condition or index, at `catch` nothing. */
static void engine_limits_check_operands(Engine *g, const Action *a) {
    const Variant *v = a->variant;
    WasmType type;
    if (a->event.kind != EVENT_OPCODE)
        return;
    for (uint32_t i = 0; i < v->operands.args.len; i++) {
        const Operand *o = &v->operands.args.at[i];
        if (o->used && value_arg(a->event.op, o->n, &type) == VALUE_NONE)
            engine_limits_refuse(g, REASON_OPERAND, v->probe->rule.span,
                                 "engines do not pass arg%u of '%s' to probes", o->n,
                                 wasm_ops[a->event.op].mnemonic);
    }
}

/* ---- names and functions ---- */

static void refuse_source(Engine *g, const Expr *e) {
    g->ok = false;
    if (!is_new(g, REASON_SOURCE))
        return;
    Diag *d = diag(g->diags, DIAG_MONITOR_SOURCE, e->span,
                   "'%s' comes from the program's debug information, which monitors do not read",
                   name_infos[e->bound.id].text);
    diag_hint(g->diags, d, "compile with `whammc instr`");
}

static void engine_limits_check_name(Engine *g, const Expr *e) {
    const char *op =
        g->v->event.kind == EVENT_OPCODE ? wasm_ops[g->v->event.op].mnemonic : "this event";
    if (!e->is_bound)
        return;
    switch (e->bound.id) {
    case NAME_RESOLVED_FID:
    case NAME_TARGET_FUNCREF:
        if (e->is_static)
            break;
        engine_limits_refuse(g, REASON_TABLES, e->span,
                             "'%s' needs the program's tables, which an engine does not show",
                             name_infos[e->bound.id].text);
        break;
    case NAME_ESCAPES:
    case NAME_TAIL_CALLS:
    case NAME_RESUMABLE:
    case NAME_RESUMES:
    case NAME_TARGET_FN_ESCAPES:
    case NAME_TARGET_FN_TAIL_CALLS:
    case NAME_TARGET_FN_RESUMABLE:
        engine_limits_refuse(
            g, REASON_ESCAPES, e->span,
            "'%s' depends on the whole program; a monitor sees only the function that it is "
            "attached to",
            name_infos[e->bound.id].text);
        break;
    case NAME_THREAD:
        engine_limits_refuse(g, REASON_THREAD, e->span,
                             "engines do not tell a monitor the number of the thread");
        break;
    case NAME_LOOP_CALLS:
    case NAME_LOOP_NESTED:
        engine_limits_refuse(g, REASON_ESCAPES, e->span,
                             "'%s' depends on the whole loop; a monitor sees only the instruction",
                             name_infos[e->bound.id].text);
        break;
    case NAME_FILE:
    case NAME_LINE:
    case NAME_COLUMN:
    case NAME_SRC_FUNCTION:
    case NAME_INLINED: refuse_source(g, e); break;
    case NAME_PAGES:
        engine_limits_refuse(
            g, REASON_MEMORY_SIZE, e->span,
            "whether %s traps depends on the size of the program's memory, which an engine does "
            "not tell",
            op);
        break;
    case NAME_TABLE_ELEMS:
        engine_limits_refuse(
            g, REASON_TABLE_SIZE, e->span,
            "whether %s traps depends on the size of the program's table, which an engine does "
            "not tell",
            op);
        break;
    case NAME_SEGMENT_SIZE:
        engine_limits_refuse(
            g, REASON_SEGMENT, e->span,
            "whether %s traps depends on the rest of a segment, which an engine does not tell", op);
        break;
    case NAME_REF_CONDITION:
        if (e->bound.n == ENTRY_FAILS) {
            engine_limits_refuse(
                g, REASON_TABLES, e->span,
                "whether %s traps depends on the program's tables, which an engine does not show",
                op);
            break;
        } /* fall through */
    case NAME_ARG_IS_NULL:
    case NAME_ARRAY_LEN:
        if (!g->unseen)
            g->unseen = e;
        break;
    case NAME_ARG:
    case NAME_LOCAL:
        if (e->type->kind == TYPE_FUNCREF)
            engine_limits_refuse(g, REASON_REFERENCE, e->span,
                                 "engines pass only numbers to probes, no references");
        break;
    default: break;
    }
}

/* In a probe that has no location in the program, and is not script scope either. */
static bool runs_once(const Engine *g) {
    EventKind kind = g->v->event.kind;
    return g->at < g->plan->probes.len && event_is_nowhere(kind);
}

static void engine_limits_check_call(Engine *g, const Expr *e) {
    if (!e->is_bound)
        return;
    const char *name = function_name((FnId)e->bound.id);
    switch (function_monitor((FnId)e->bound.id)) {
    case FUNCTION_NO_TABLES:
        engine_limits_refuse(g, REASON_TABLES, e->span,
                             "'%s' needs the program's tables, which an engine does not show",
                             name);
        break;
    case FUNCTION_NO_CHANGE:
        engine_limits_refuse(g, REASON_INSTRUCTION, e->span,
                             "'%s' changes what the program does, which a monitor cannot do", name);
        break;
    case FUNCTION_NO_DATA:
        engine_limits_refuse(
            g, REASON_DATA, e->span,
            "'%s' needs the program's data segments, which a monitor does not look at", name);
        break;
    case FUNCTION_PAGES:
        if (runs_once(g) && !builtin_library_value(g->plan->libraries, e, &(uint64_t){0}))
            engine_limits_refuse(
                g, REASON_MEMORY, e->span,
                "'%s' of the program's memory is not known to a monitor here: call it at script "
                "scope and keep the result in a variable",
                name);
        break;
    case FUNCTION_YES:
    case FUNCTION_OWN: break; /* check_memories */
    }
}

static void engine_limits_check_expr(Engine *g, const Expr *e) {
    if (e->kind == EXPR_NAME)
        engine_limits_check_name(g, e);
    else if (e->kind == EXPR_CALL)
        engine_limits_check_call(g, e);
    else if (e->kind == EXPR_METHOD && e->annotation == ANN_STATIC && e->type->kind == TYPE_TUPLE)
        engine_limits_refuse(
            g, REASON_STATIC, e->span,
            "an '@static' call in a monitor can return only one value, not a tuple");
    for (uint32_t i = 0; i < e->nargs; i++)
        engine_limits_check_expr(g, e->args[i]);
}

static void engine_limits_check_block(Engine *g, const Block *b) {
    for (const Stmt *s = b->first; s; s = s->next) {
        if (s->kind == STMT_DECL && s->var->tags)
            engine_limits_refuse(g, REASON_INSTRUCTION, s->var->span,
                                 "tags of values are moved by code of the program, to which a "
                                 "monitor adds none");
        if (s->kind == STMT_DECL && s->var->init)
            engine_limits_check_expr(g, s->var->init);
        if (s->kind == STMT_CALL && s->value->annotation == ANN_STATIC)
            engine_limits_refuse(
                g, REASON_STATIC, s->value->span,
                "engines request values when they attach a probe; an '@static' call without a "
                "result is never made");
        if (s->target && s->target->is_bound)
            engine_limits_refuse(g, REASON_ASSIGN, s->target->span,
                                 "engines pass copies to probes: assignments to them are lost");
        else if (s->target)
            engine_limits_check_expr(g, s->target);
        if (s->value)
            engine_limits_check_expr(g, s->value);
        for (uint32_t i = 0; i < s->narms; i++) {
            if (s->arms[i].cond)
                engine_limits_check_expr(g, s->arms[i].cond);
            engine_limits_check_block(g, &s->arms[i].body);
        }
    }
}

/* Numbers are those of the monitor's memories: its own is 0, as scripts for other compilers have
 * it. */
static void engine_limits_check_memory(Engine *g, const MemoryCall *m, const Expr *memory) {
    Value v;
    Diag *d = NULL;
    if (memory->is_static && !(fold(memory, NULL, &v) && v.bits == 0))
        engine_limits_refuse(g, REASON_MEMORY, memory->span,
                             "'%s' cannot reach the program's memory from a monitor",
                             function_name(m->fn));
    else if (memory->is_static && is_new(g, WARN_ZERO))
        d = diag(g->diags, DIAG_MONITOR_MEMORY, memory->span,
                 "memory 0 is the monitor's own here: it cannot reach the program's");
    else if (!memory->is_static && m->by_number && !builtin_names_memory(memory) &&
             is_new(g, WARN_NUMBER))
        d = diag(g->diags, DIAG_MONITOR_MEMORY, memory->span,
                 "in a monitor this is the number of one of its memories; 0 is its own");
    if (d)
        diag_hint(g->diags, d, "the memory of the script's strings is SCRIPT_MEMID everywhere");
}

static void engine_limits_check_memories(Engine *g, const Variant *v) {
    for (uint32_t i = 0; i < v->calls.memory.len; i++) {
        const MemoryCall *m = &g->plan->memory_calls.at[v->calls.memory.at[i]];
        bool compares = m->fn == FN_STRCMP || m->fn == FN_STRCONTAINS;
        if (compares && is_new(g, WARN_COMPARED)) {
            Diag *d = diag(g->diags, DIAG_MONITOR_MEMORY, m->call->span,
                           "'%s' compares bytes of the monitor's own memory here: it cannot reach "
                           "the program's",
                           function_name(m->fn));
            diag_hint(g->diags, d,
                      "the memory of the script's strings is SCRIPT_MEMID everywhere, as in "
                      "read_str(SCRIPT_MEMID, address, length) == s");
        }
        for (uint32_t k = 0; k < m->call->nargs; k++)
            if (function_takes_memory(m->fn, k))
                engine_limits_check_memory(g, m, m->call->args[k]);
    }
}

static void engine_limits_check_variant(Engine *g, const Variant *v) {
    g->v = v;
    if (v->probe->predicate)
        engine_limits_check_expr(g, v->probe->predicate);
    engine_limits_check_block(g, &v->probe->body);
    engine_limits_check_memories(g, v);
}

/* The requirements of the events of a probe. If some events depend on references and others do not,
 * as with `wasm:opcode:*:before / taken /`, only programs with the former are refused. */
static void check_actions(Engine *g, const PlanProbe *probe, bool (*happens)(const Action *a)) {
    const Variant *last = NULL;
    const Action *unseen = NULL;
    bool seen = false;
    for (uint32_t i = 0; i < probe->nactions; i++) {
        Action *a = &g->plan->actions.at[probe->first_action + i];
        if (!happens(a))
            continue;
        if (a->variant->access.base)
            engine_limits_refuse(g, REASON_OPERAND, a->variant->access.wanted.at[0]->span,
                                 "a monitor does not know the program whose values this names");
        check_entry(g, a);
        check_exit(g, a);
        engine_limits_check_globals(g, a);
        check_event(g, a);
        engine_limits_check_operands(g, a);
        if (a->variant != last) {
            g->unseen = NULL;
            engine_limits_check_variant(g, a->variant);
        }
        last = a->variant;
        a->unseen = g->unseen;
        seen |= !a->unseen;
        unseen = unseen || !a->unseen ? unseen : a;
    }
    if (unseen && !seen)
        engine_limits_refuse(
            g, REASON_REFERENCE, unseen->unseen->span,
            "this depends on a reference operand of %s; engines pass only numbers to probes",
            unseen->event.kind == EVENT_OPCODE ? wasm_ops[unseen->event.op].mnemonic
                                               : "this event");
}

bool engine_can(Plan *plan, bool (*happens)(const Action *a), Diags *diags) {
    assert(plan->scopes.len == plan->scripts.len);
    uint32_t n = plan->probes.len + plan->scopes.len;
    Engine g = {plan, diags, mem_zalloc(sizeof(uint32_t) * (n + 1u)), 0, NULL, NULL, true};
    for (uint32_t p = 0; p < plan->probes.len; p++) {
        g.at = p;
        const PlanProbe *probe = &plan->probes.at[p];
        check_modes(&g, probe, happens);
        check_actions(&g, probe, happens);
    }
    for (uint32_t i = 0; i < plan->scopes.len; i++) {
        const Script *script = plan->scripts.at[i];
        g.at = plan->probes.len + i;
        g.v = plan->scopes.at[i];
        engine_limits_check_memories(&g, plan->scopes.at[i]);
        engine_limits_check_block(&g, &script->init);
        for (uint32_t k = 0; k < script->fns.len; k++)
            engine_limits_check_block(&g, &script->fns.at[k]->body);
    }
    free(g.told);
    return g.ok;
}
