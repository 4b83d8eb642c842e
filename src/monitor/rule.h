/*
 * monitor/rule.h - the export names of monitor modules: match rules with predicates, callbacks and
 * requested values.
 *
 *     wasm:opcode:br_if / $is_hot(fid) / ($alloc(fid, pc), arg0)
 *
 * The grammar is in grammar/rule.l and rule.y; what a name may ask for is in param.def.
 */
#ifndef WHAMMC_MONITOR_RULE_H
#define WHAMMC_MONITOR_RULE_H

#include "base/diag.h"
#include "wasm/op.h"

/* Where a probe is attached. */
typedef enum MonitorEvent {
    MONITOR_OPCODE, /* an instruction: MonitorRule.op */
    MONITOR_ANY,    /* every instruction: wasm:opcode:* */
    MONITOR_FUNC_ENTRY,
    MONITOR_FUNC_EXIT,
    MONITOR_BLOCK_START,
    MONITOR_BLOCK_END,
} MonitorEvent;

/* What can be asked for. */
typedef enum ParamKind {
#define PARAM(id, text, type, life, doc) PARAM_##id,
#include "monitor/param.def"
    PARAM_CALL, /* the result of a callback */
    PARAM_KINDS
} ParamKind;

struct MonitorCall;

typedef struct MonitorParam {
    ParamKind kind;
    uint32_t n;                     /* of argN, immN, localN */
    const struct MonitorCall *call; /* PARAM_CALL */
    uint32_t start, end;            /* offsets in the name */
} MonitorParam;

/* A predicate or callback: a function that the monitor exports under `name`. */
typedef struct MonitorCall {
    Str name;
    const MonitorParam *params; /* never calls: one level only */
    uint32_t nparams;
    uint32_t start, end;
} MonitorCall;

typedef struct MonitorRule {
    MonitorEvent event;
    WasmOp op;                    /* MONITOR_OPCODE */
    const MonitorCall *predicate; /* NULL = none */
    const MonitorParam *params;
    uint32_t nparams; /* 0: no list, or an empty one */
} MonitorRule;

typedef enum RuleStatus {
    RULE_OK,
    RULE_OTHER,   /* no rule: does not begin with an event's words; means nothing by itself */
    RULE_UNKNOWN, /* a rule of an event or instruction that does not exist: engines ignore it */
    RULE_BAD,     /* a known event, but the rest cannot be understood: engines warn and ignore it */
} RuleStatus;

/* What is wrong with a name, and where in it. */
typedef struct RuleError {
    uint32_t start, end;
    char text[160]; /* "expected ')' or ',', found '/'" */
} RuleError;

/*
 * Parses an export name. With RULE_OK fills *rule (in the arena; texts point into `name`); *rest is
 * where the rule ends: engines ignore what follows. Else *error, but for RULE_OTHER.
 */
RuleStatus rule_parse(Str name, Arena *arena, MonitorRule *rule, uint32_t *rest, RuleError *error);

/* The rule as an export name, in the one spelling that whammc writes. */
void rule_print(const MonitorRule *rule, Buf *out);

/* The instruction's name as engines spell it; `older`: that of engines from 2025, where it differs
 * (else NULL). */
const char *rule_mnemonic(WasmOp op, bool older);

#endif
