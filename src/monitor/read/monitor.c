/*
 * monitor/read/monitor.c - reads monitor modules: parses the names of their exports and checks the
 * values that probes request against the types of their functions.
 */
#include "monitor/read/monitor.h"

#include <stdarg.h>
#include <stdio.h>

#include "monitor/read/operand.h"
#include "valid/valid.h"

/* The function exports, and whom to tell. */
typedef struct Reader {
    Monitor *monitor;
    Diags *diags;
    Map funcs; /* name -> handle */
    uint32_t errors, told, unknown;
} Reader;

/* The export whose name is being checked. */
typedef struct Place {
    Reader *r;
    Str name;
    const MonitorRule *rule;
    MonitorProbe *probe;
} Place;

/* ---- messages ---- */

enum {
    SHOWN_NAME = 80,
    MAX_TOLD = 1000, /* messages; far more than are kept */
    MAX_UNKNOWN = 5, /* messages about unknown events and instructions */
};

/* A name as it is shown in a message: control characters replaced, long ones cut. */
static const char *monitor_shown(Arena *arena, Str name) {
    bool cut = name.len > SHOWN_NAME;
    uint32_t len = cut ? SHOWN_NAME : name.len;
    while (cut && len && ((unsigned char)name.ptr[len] & 0xc0) == 0x80) /* between characters */
        len--;
    char *text = arena_printf(arena, "%.*s%s", (int)len, name.ptr, cut ? "..." : "");
    for (char *c = text; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = ' ';
    return text;
}

/* A message about a part of an export's name. */
static Diag *monitor_tell(const Place *p, DiagTag tag, uint32_t start, uint32_t end,
                          const char *format, ...) __attribute__((format(printf, 5, 6)));
static Diag *monitor_tell(const Place *p, DiagTag tag, uint32_t start, uint32_t end,
                          const char *format, ...) {
    const Monitor *mon = p->r->monitor;
    Diags *d = p->r->diags;
    char text[400];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    uint32_t at = (uint32_t)((const uint8_t *)p->name.ptr - mon->m.bytes);
    uint32_t errors = d->errors;
    bool unseen = p->r->told++ > MAX_TOLD;
    Diag *g = diag(d, tag, (Span){mon->file, at + start, at + end}, "export \"%s\": %s",
                   unseen ? "" : monitor_shown(&p->r->monitor->arena, p->name), text);
    diag_quote(d, g, at, p->name);
    p->r->errors += d->errors - errors;
    return g;
}

/* Whether further messages would not be shown anyway. */
static bool monitor_is_quiet(const Reader *r) {
    return r->errors > 100;
}

/* ---- looking functions up ---- */

static bool monitor_find_func(const Reader *r, Str name, uint32_t *func) {
    const uint64_t *found = map_get(&r->funcs, name);
    if (found)
        *func = (uint32_t)*found;
    return found;
}

static const WasmTypeDef *type_of(const Reader *r, uint32_t func) {
    return wasm_func_type(&r->monitor->m, func);
}

/* The exported function whose name is closest, for "did you mean". */
static void suggest_func(const Place *p, Diag *g, Str name) {
    const Map *funcs = &p->r->funcs;
    Str best = {0};
    uint32_t distance = name.len < 4 ? 2 : 3;
    for (uint32_t i = 0; i < funcs->len && i < 1000 && name.len <= 40; i++) {
        Str other = funcs->entries[i].key;
        uint32_t d = other.len <= 40 ? str_distance(name, other, distance) : distance;
        if (d < distance)
            best = other, distance = d;
    }
    if (best.len)
        diag_hint(p->r->diags, g, "did you mean '%.*s'?", STR_ARG(best));
}

/* ---- requested values ---- */

/* The type of a value at the rule's event. */
static ValueIs value_at_event(const Place *p, const MonitorParam *param, WasmType *type) {
    const MonitorRule *rule = p->rule;
    bool asks_op = param->kind == PARAM_ARG || param->kind == PARAM_IMM;
    if (param->kind == PARAM_LOCAL || (asks_op && rule->event == MONITOR_ANY))
        return VALUE_VARIES;
    if (asks_op && rule->event != MONITOR_OPCODE)
        return VALUE_NONE;
    return param->kind == PARAM_ARG ? value_arg(rule->op, param->n, type)
                                    : value_imm(rule->op, param->n, type);
}

/* Whether a value of param.def with a type of its own exists at the event. */
static bool exists_at_event(const Place *p, ParamKind kind) {
    const MonitorRule *rule = p->rule;
    switch (kind) {
    case PARAM_OFFSET:
        return rule->event == MONITOR_ANY ||
               (rule->event == MONITOR_OPCODE && value_has_offset(rule->op));
    case PARAM_NUM_TARGETS:
        return rule->event == MONITOR_ANY ||
               (rule->event == MONITOR_OPCODE && rule->op == WASM_OP_BR_TABLE);
    case PARAM_INSTR_COUNT: return rule->event == MONITOR_BLOCK_END;
    default: return true;
    }
}

static const char *monitor_event_text(const Place *p, Buf *buf) {
    buf->len = 0;
    rule_print_event(p->rule, buf);
    return buf_cstr(buf);
}

static bool has_export(const Reader *r, WasmSpace space, Str name) {
    return wasm_find_export(&r->monitor->m, space, name) != NULL;
}

static bool has_i32_global(const Reader *r, Str name) {
    const WasmExport *e = wasm_find_export(&r->monitor->m, WASM_SPACE_GLOBAL, name);
    return e && r->monitor->m.globals.at[e->handle].type == WASM_I32;
}

/* Texts are put into memory that the monitor sets aside, of one kind or the other. */
static bool has_text_memory(const Reader *r, RuleEngines engines) {
    bool newer = has_export(r, WASM_SPACE_MEMORY, STR("whamm_buffer")) &&
                 has_i32_global(r, STR("whamm_buffer:start")) &&
                 has_i32_global(r, STR("whamm_buffer:max"));
    bool older = has_export(r, WASM_SPACE_MEMORY, STR("engine:data"));
    return (newer && engines != ENGINES_Y2025) || (older && engines != ENGINES_Y2026);
}

/* A message about an operand, an immediate and the like: at an instruction it is wrong only if a
 * program has that. */
static DiagTag value_tag(const Place *p, ParamKind kind, DiagTag otherwise) {
    bool of_op =
        kind == PARAM_ARG || kind == PARAM_IMM || kind == PARAM_OFFSET || kind == PARAM_NUM_TARGETS;
    return of_op && p->rule->event == MONITOR_OPCODE ? DIAG_MONITOR_MATCH : otherwise;
}

/* Checks that a value can be had. `nested`: by a callback or predicate. */
static void check_exists(const Place *p, const MonitorParam *param, bool nested) {
    Buf buf = {0};
    Diags *d = p->r->diags;
    WasmType type;
    if (param->kind == PARAM_CALL)
        return;
    const ParamInfo *info = &param_info[param->kind];
    rule_print_param(param, &buf);
    const char *text = arena_printf(&p->r->monitor->arena, "%s", buf_cstr(&buf));
    if (nested && info->life == PARAM_DYNAMIC) {
        Diag *g = monitor_tell(p, DIAG_MONITOR_VALUE, param->start, param->end,
                               "'%s' is only known when the probe runs", text);
        diag_hint(d, g,
                  "predicates and callbacks are called earlier; they can receive only what is "
                  "static at a location");
    } else if (!nested && info->life == PARAM_NESTED) {
        monitor_tell(p, DIAG_MONITOR_VALUE, param->start, param->end,
                     "'%s' is for predicates and callbacks only", text);
    } else if (*info->type == '*' ? value_at_event(p, param, &type) == VALUE_NONE
                                  : !exists_at_event(p, param->kind)) {
        monitor_tell(p, value_tag(p, param->kind, DIAG_MONITOR_VALUE), param->start, param->end,
                     "there is no '%s' at %s", text, monitor_event_text(p, &buf));
    } else if (info->life == PARAM_NESTED && !has_text_memory(p->r, (RuleEngines)info->engines)) {
        Diag *g = monitor_tell(p, DIAG_MONITOR_VALUE, param->start, param->end,
                               "'%s' needs memory that the monitor reserves for it", text);
        if (info->engines != ENGINES_Y2025)
            diag_hint(d, g,
                      "export a memory 'whamm_buffer' and i32 globals 'whamm_buffer:start' "
                      "and 'whamm_buffer:max'");
        if (info->engines != ENGINES_Y2026)
            diag_hint(d, g,
                      "engines from 2025 require a memory 'engine:data', whose first bytes they "
                      "overwrite");
    }
    buf_free(&buf);
}

/* The type letters of param.def; of a callback's result none. */
static const char *param_letters(const MonitorParam *param) {
    return param->kind == PARAM_CALL ? "" : param_info[param->kind].type;
}

/* The types of the formal parameters that a value occupies: at most two. WASM_BOT = any; *address:
 * i32 or i64. Returns how many. */
static uint32_t param_types(const Place *p, const MonitorParam *param, WasmType types[2],
                            bool *address) {
    *address = false;
    types[0] = types[1] = WASM_BOT;
    if (param->kind == PARAM_CALL) {
        uint32_t func;
        if (monitor_find_func(p->r, param->call->name, &func) && type_of(p->r, func)->nresults == 1)
            types[0] = type_of(p->r, func)->results[0];
        return 1;
    }
    const char *letters = param_letters(param);
    if (*letters == '*') {
        *address = value_at_event(p, param, types) == VALUE_ADDRESS;
        return 1;
    }
    uint32_t n = (uint32_t)strlen(letters);
    for (uint32_t i = 0; i < n; i++)
        types[i] = value_type(letters[i]);
    return n;
}

static bool monitor_type_fits(const Reader *r, WasmType formal, WasmType wanted, bool address) {
    const WasmModule *m = &r->monitor->m;
    if (address)
        return formal == WASM_I32 || formal == WASM_I64;
    return wanted == WASM_BOT || wasm_canonical(m, formal) == wasm_canonical(m, wanted);
}

/* One value against the formal parameters from number `slot` on. Returns how many it occupies. */
static uint32_t check_param(const Place *p, const MonitorParam *param, const WasmTypeDef *t,
                            uint32_t slot, Str callee) {
    WasmType types[2];
    bool address;
    char wanted[32], found[32];
    uint32_t n = param_types(p, param, types, &address);
    for (uint32_t i = 0; i < n && slot + i < t->nparams; i++)
        if (!monitor_type_fits(p->r, t->params[slot + i], types[i], address)) {
            bool of_op = *param_letters(param) == '*';
            monitor_tell(
                p, of_op ? value_tag(p, param->kind, DIAG_MONITOR_TYPE) : DIAG_MONITOR_TYPE,
                param->start, param->end, "parameter %u of %s%.*s%s is %s, but '%.*s' is %s",
                slot + i, callee.len ? "'" : "its function", STR_ARG(callee), callee.len ? "'" : "",
                wasm_type_text(t->params[slot + i], found), (int)(param->end - param->start),
                p->name.ptr + param->start,
                address ? "i32 or i64" : wasm_type_text(types[i], wanted));
            break;
        }
    return n;
}

/* The values of a probe (`call` NULL), a predicate or a callback against the formal parameters of
 * its function. */
static void check_params(const Place *p, const MonitorParam *params, uint32_t nparams,
                         uint32_t func, const MonitorCall *call) {
    const WasmTypeDef *t = type_of(p->r, func);
    uint32_t slot = 0;
    for (uint32_t i = 0; i < nparams && !monitor_is_quiet(p->r); i++) {
        check_exists(p, &params[i], call != NULL);
        slot += check_param(p, &params[i], t, slot, call ? call->name : (Str){0});
    }
    if (slot == t->nparams || monitor_is_quiet(p->r))
        return;
    if (call) {
        monitor_tell(p, DIAG_MONITOR_TYPE, call->start, call->end,
                     "'%.*s' has %u parameter%s, but receives %u value%s", STR_ARG(call->name),
                     t->nparams, t->nparams == 1 ? "" : "s", slot, slot == 1 ? "" : "s");
    } else if (nparams) {
        monitor_tell(p, DIAG_MONITOR_TYPE, params[0].start, params[nparams - 1].end,
                     "its function has %u parameter%s, but %u value%s asked for", t->nparams,
                     t->nparams == 1 ? "" : "s", slot, slot == 1 ? " is" : "s are");
    } else {
        Diag *g = monitor_tell(p, DIAG_MONITOR_TYPE, p->name.len, p->name.len,
                               "its function has %u parameter%s, but nothing is asked for",
                               t->nparams, t->nparams == 1 ? "" : "s");
        diag_hint(p->r->diags, g, "engines do not check this and pass arbitrary values");
    }
}

/* A predicate or callback. */
static MonitorFunc monitor_check_call(const Place *p, const MonitorCall *call, bool predicate) {
    MonitorFunc f = {.call = call};
    char type[32];
    uint32_t end = call->start + call->name.len;
    if (!monitor_find_func(p->r, call->name, &f.func)) {
        Diag *g = monitor_tell(p, DIAG_MONITOR_CALL, call->start, end,
                               "the monitor exports no function '%s'",
                               monitor_shown(&p->r->monitor->arena, call->name));
        suggest_func(p, g, call->name);
        return f;
    }
    const WasmTypeDef *t = type_of(p->r, f.func);
    if (t->nresults != 1)
        monitor_tell(p, DIAG_MONITOR_CALL, call->start, end, "'%.*s' has %u results, not one",
                     STR_ARG(call->name), t->nresults);
    else if (predicate && t->results[0] != WASM_I32)
        monitor_tell(p, DIAG_MONITOR_CALL, call->start, end, "the predicate '%.*s' is %s, not i32",
                     STR_ARG(call->name), wasm_type_text(t->results[0], type));
    check_params(p, call->params, call->nparams, f.func, call);
    return f;
}

/* ---- exports ---- */

static void monitor_check_probe(const Place *p) {
    const MonitorRule *rule = p->rule;
    MonitorProbe *probe = p->probe;
    if (rule->predicate)
        probe->predicate = monitor_check_call(p, rule->predicate, true);
    if (rule->nparams)
        probe->callbacks = arena_array(&p->r->monitor->arena, MonitorFunc, rule->nparams);
    for (uint32_t i = 0; i < rule->nparams && !monitor_is_quiet(p->r); i++)
        if (rule->params[i].kind == PARAM_CALL)
            probe->callbacks[i] = monitor_check_call(p, rule->params[i].call, false);
    check_params(p, rule->params, rule->nparams, probe->func, NULL);
}

static void tell_error(const Place *p, RuleStatus status, const RuleError *e) {
    static const DiagTag tags[] = {
        [RULE_UNKNOWN] = DIAG_MONITOR_EVENT,
        [RULE_BAD] = DIAG_MONITOR_NAME,
        [RULE_FATAL] = DIAG_MONITOR_RULE,
    };
    if (status == RULE_UNKNOWN && ++p->r->unknown > MAX_UNKNOWN)
        return;
    Diag *g = monitor_tell(p, tags[status], e->start, e->end, "%s", e->text);
    if (e->hint[0])
        diag_hint(p->r->diags, g, "%s", e->hint);
}

static void read_probe(Reader *r, const WasmExport *e) {
    Monitor *mon = r->monitor;
    MonitorRule rule;
    RuleError error;
    uint32_t rest;
    RuleStatus status =
        rule_parse(e->name, r->unknown < MAX_UNKNOWN, &mon->arena, &rule, &rest, &error);
    MonitorProbe probe = {.name = e->name, .rule = rule, .func = e->handle};
    Place p = {r, e->name, &probe.rule, &probe};
    if (status > RULE_OTHER)
        tell_error(&p, status, &error);
    if (status != RULE_OK)
        return;
    if (rest < e->name.len) {
        Buf buf = {0};
        rule_print(&rule, &buf);
        Diag *g = monitor_tell(&p, DIAG_MONITOR_REST, rest, e->name.len,
                               "engines stop reading here; what follows has no effect");
        diag_hint(r->diags, g, "it means %s", buf_cstr(&buf));
        buf_free(&buf);
    }
    if (rule.engines == (ENGINES_Y2025 | ENGINES_Y2026)) {
        monitor_tell(
            &p, DIAG_MONITOR_NAME, 0, e->name.len,
            "it mixes names of engines from 2025 with names of engines from 2026; no engine knows "
            "both");
        return;
    }
    if (rule.bare_predicate) {
        const MonitorCall *call = rule.predicate;
        Diag *g = monitor_tell(
            &p, DIAG_MONITOR_NAME, call->start, call->end,
            "engines require parentheses after the name of a predicate and ignore this "
            "probe; 'whammc bind' attaches it");
        diag_hint(r->diags, g, "write %.*s()", STR_ARG(call->name));
    }
    monitor_check_probe(&p);
    vec_push(&mon->probes, probe);
}

/* Functions that bind calls to inform monitors. A function of that name with another type means
 * nothing. */
static void read_told(Reader *r, const WasmExport *e, int64_t *told) {
    const WasmTypeDef *t = wasm_func_type(&r->monitor->m, e->handle);
    if (!t->nparams && !t->nresults)
        *told = e->handle;
}

static void read_exit(Reader *r, const WasmExport *e) {
    Place p = {.r = r, .name = e->name};
    r->monitor->exit = e->handle;
    if (type_of(r, e->handle)->nparams) {
        Diag *g = monitor_tell(&p, DIAG_MONITOR_EXIT, 0, e->name.len,
                               "the function has %u parameter%s", type_of(r, e->handle)->nparams,
                               type_of(r, e->handle)->nparams == 1 ? "" : "s");
        diag_hint(r->diags, g, "no values are passed to it; engines abort");
    }
}

/* A monitor for both generations of engines names some probes twice; an engine knows one name of
 * them. Puts the older names aside. */
static void part_generations(Monitor *mon) {
    uint8_t engines = 0;
    for (uint32_t i = 0; i < mon->probes.len; i++)
        engines |= mon->probes.at[i].rule.engines;
    if (engines != (ENGINES_Y2025 | ENGINES_Y2026))
        return;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < mon->probes.len; i++)
        if (mon->probes.at[i].rule.engines & ENGINES_Y2025)
            vec_push(&mon->older, mon->probes.at[i]);
        else
            mon->probes.at[kept++] = mon->probes.at[i];
    mon->probes.len = kept;
}

bool monitor_read(Monitor *monitor, const uint8_t *bytes, size_t size, DiagFileId file,
                  Diags *diags) {
    *monitor = (Monitor){.file = file, .exit = -1, .attached = -1, .coalesced = -1};
    if (!wasm_load(&monitor->m, bytes, size, file, diags))
        return false;
    Reader r = {.monitor = monitor, .diags = diags};
    const WasmModule *m = &monitor->m;
    for (uint32_t i = 0; i < m->exports.len; i++)
        if (m->exports.at[i].space == WASM_SPACE_FUNC)
            map_put(&r.funcs, m->exports.at[i].name, m->exports.at[i].handle, NULL);
    for (uint32_t i = 0; i < m->exports.len && !monitor_is_quiet(&r); i++) {
        const WasmExport *e = &m->exports.at[i];
        if (e->space != WASM_SPACE_FUNC)
            continue;
        if (str_is(e->name, "wasm:exit"))
            read_exit(&r, e);
        else if (str_is(e->name, MONITOR_ATTACHED))
            read_told(&r, e, &monitor->attached);
        else if (str_is(e->name, MONITOR_COALESCED))
            read_told(&r, e, &monitor->coalesced);
        else
            read_probe(&r, e);
    }
    monitor->intervals = has_export(&r, WASM_SPACE_MEMORY, STR(MONITOR_INTERVALS));
    if (r.unknown > MAX_UNKNOWN)
        diag(diags, DIAG_MONITOR_EVENT, (Span){file, 0, 0},
             "exports with unknown events or instructions that are not shown: %u",
             r.unknown - MAX_UNKNOWN);
    part_generations(monitor);
    if (!r.errors && !monitor->probes.len && monitor->exit < 0) {
        Diag *g =
            diag(diags, DIAG_MONITOR_EMPTY, (Span){file, 0, 0},
                 "the module has no probes: no function is exported under the name of an event");
        diag_hint(diags, g, "such names look like \"wasm:opcode:call (fid, pc)\"");
    }
    map_free(&r.funcs);
    return !r.errors;
}

void monitor_free(Monitor *monitor) {
    wasm_module_free(&monitor->m);
    vec_free(&monitor->probes);
    vec_free(&monitor->older);
    arena_free(&monitor->arena);
}
