/*
 * monitor/read/rule.h - the export names of monitor modules: match rules with predicates, callbacks
 * and requested values.
 *
 *     wasm:opcode:br_if / $is_hot(fid) / ($alloc(fid, pc), arg0)
 *
 * The grammar is in grammar/rule.l and grammar/rule.y; values that a name may request are in
 * param.def, spellings of instructions are in mnemonic.def.
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

/* Values that can be requested. */
typedef enum ParamKind {
#define PARAM(id, text, type, life, engines, doc) PARAM_##id,
#include "monitor/read/param.def"
    PARAM_CALL, /* the result of a callback */
    PARAM_KINDS
} ParamKind;

/* When a value is known, and for whom. */
typedef enum ParamLife {
    PARAM_STATIC,  /* when the probe is attached; for callbacks and predicates too */
    PARAM_DYNAMIC, /* only for the probe */
    PARAM_NESTED,  /* only for callbacks and predicates */
} ParamLife;

/* Which engines know a name. As a set of bits: names that only these know occur in a rule. */
typedef enum RuleEngines {
    ENGINES_ANY = 0,
    ENGINES_Y2025 = 1,
    ENGINES_Y2026 = 2,
} RuleEngines;

/* A line of param.def. */
typedef struct ParamInfo {
    const char *text, *type;
    uint8_t life;    /* ParamLife */
    uint8_t engines; /* RuleEngines */
    const char *doc;
} ParamInfo;

extern const ParamInfo param_info[PARAM_CALL];

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
    uint32_t nparams;    /* 0: no list, or an empty one */
    uint8_t engines;     /* bits of RuleEngines; ENGINES_ANY: all know the names in it */
    bool older_name;     /* the instruction is spelled as only engines from 2025 do */
    bool bare_predicate; /* written without parentheses: engines do not understand the name */
} MonitorRule;

typedef enum RuleStatus {
    RULE_OK,
    RULE_OTHER,   /* no rule: does not begin with "wasm:"; means nothing by itself */
    RULE_UNKNOWN, /* a rule of an event or instruction that does not exist: engines ignore it */
    RULE_BAD,     /* a known event, but the rest cannot be understood: engines warn and ignore it */
    RULE_FATAL,   /* engines accept it and give up when it matches, or crash */
} RuleStatus;

/* The mistake in a name, and its place. */
typedef struct RuleError {
    uint32_t start, end;
    char text[160]; /* "expected ')' or ',', found '/'" */
    char hint[160]; /* how to mend it; may be empty */
} RuleError;

enum {
    RULE_MAX_BYTES = 1 << 20, /* longer names are RULE_BAD */
};

/*
 * Parses an export name. With RULE_OK fills *rule (in the arena; texts point into `name`); *rest is
 * the end of the rule and the white space after it: engines ignore the rest. Else *error, but for
 * RULE_OTHER; without `hints` it gets none, which saves time.
 */
RuleStatus rule_parse(Str name, bool hints, Arena *arena, MonitorRule *rule, uint32_t *rest,
                      RuleError *error);

/* The rule as an export name, in the one spelling that whammc writes; an instruction that only
 * engines from 2025 know by the name that was read (older_name) keeps that. */
void rule_print(const MonitorRule *rule, Buf *out);
/* Its parts: "wasm:opcode:br_if"; "arg0" or "$alloc(fid, pc)"; "$alloc(fid, pc)". */
void rule_print_event(const MonitorRule *rule, Buf *out);
void rule_print_param(const MonitorParam *param, Buf *out);
void rule_print_call(const MonitorCall *call, Buf *out);

/* The instruction's name as engines spell it, NULL if only wasm:opcode:* matches it; `older`: that
 * of engines from 2025, where it differs (else NULL). */
const char *rule_mnemonic(WasmOp op, bool older);

/* The instruction that engines call `name`; with *engines, who knows it by that name. False if
 * there is none. */
bool rule_op(Str name, WasmOp *op, RuleEngines *engines);

#endif
