/*
 * monitor/read/spelling.c - how engines spell instructions, and rules as text.
 */
#include "monitor/read/rule.h"

#include <assert.h>

#define STATIC  PARAM_STATIC
#define DYNAMIC PARAM_DYNAMIC
#define NESTED  PARAM_NESTED
#define ANY     ENGINES_ANY
#define Y2025   ENGINES_Y2025
#define Y2026   ENGINES_Y2026
const ParamInfo param_info[PARAM_CALL] = {
#define PARAM(id, text, type, life, engines, doc) {text, type, life, engines, doc},
#include "monitor/read/param.def"
};
#undef STATIC
#undef DYNAMIC
#undef NESTED
#undef ANY
#undef Y2025
#undef Y2026

/* ---- instructions ---- */

typedef struct Spelling {
    WasmOp op;
    const char *name, *older;
} Spelling;

static const Spelling spellings[] = {
#define SPELLING(id, name, older) {WASM_OP_##id, name, older},
#include "monitor/read/mnemonic.def"
};

/* The line of mnemonic.def, or NULL: as the text format has it. */
static const Spelling *find_spelling(WasmOp op) {
    for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++)
        if (spellings[i].op == op)
            return &spellings[i];
    return NULL;
}

const char *rule_mnemonic(WasmOp op, bool older) {
    assert(op < WASM_OP_COUNT);
    const Spelling *s = find_spelling(op);
    if (older)
        return s ? s->older : NULL;
    return s ? s->name : wasm_ops[op].mnemonic;
}

bool rule_op(Str name, WasmOp *op, RuleEngines *engines) {
    for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++) {
        const Spelling *s = &spellings[i];
        *op = s->op;
        *engines = s->older ? ENGINES_Y2026 : ENGINES_ANY;
        if (s->name && str_is(name, s->name))
            return true;
        *engines = ENGINES_Y2025;
        if (s->older && str_is(name, s->older))
            return true;
    }
    *engines = ENGINES_ANY;
    for (uint32_t i = 0; i < WASM_OP_COUNT; i++) {
        *op = (WasmOp)i;
        if (str_is(name, wasm_ops[i].mnemonic))
            return !find_spelling(*op);
    }
    return false;
}

/* ---- rules as text ---- */

void rule_print_event(const MonitorRule *rule, Buf *out) {
    static const char *const texts[] = {
        [MONITOR_ANY] = "opcode:*",        [MONITOR_FUNC_ENTRY] = "func:entry",
        [MONITOR_FUNC_EXIT] = "func:exit", [MONITOR_BLOCK_START] = "block:start",
        [MONITOR_BLOCK_END] = "block:end",
    };
    assert(rule->event == MONITOR_OPCODE || rule->event < sizeof texts / sizeof *texts);
    if (rule->event != MONITOR_OPCODE) {
        buf_printf(out, "wasm:%s", texts[rule->event]);
        return;
    }
    const char *older = rule->older_name ? rule_mnemonic(rule->op, true) : NULL;
    buf_printf(out, "wasm:opcode:%s", older ? older : rule_mnemonic(rule->op, false));
}

static void print_params(const MonitorParam *params, uint32_t n, Buf *out) {
    buf_u8(out, '(');
    for (uint32_t i = 0; i < n; i++) {
        if (i)
            buf_str(out, STR(", "));
        rule_print_param(&params[i], out);
    }
    buf_u8(out, ')');
}

void rule_print_call(const MonitorCall *call, Buf *out) {
    buf_str(out, call->name);
    print_params(call->params, call->nparams, out);
}

void rule_print_param(const MonitorParam *param, Buf *out) {
    if (param->kind == PARAM_CALL) {
        rule_print_call(param->call, out);
        return;
    }
    Str text = str_of(param_info[param->kind].text);
    if (text.ptr[text.len - 1] == 'N')
        buf_printf(out, "%.*s%u", (int)text.len - 1, text.ptr, param->n);
    else
        buf_str(out, text);
}

void rule_print(const MonitorRule *rule, Buf *out) {
    rule_print_event(rule, out);
    if (rule->predicate) {
        buf_str(out, STR(" / "));
        rule_print_call(rule->predicate, out);
        buf_str(out, STR(" /"));
    }
    if (rule->nparams) {
        buf_u8(out, ' ');
        print_params(rule->params, rule->nparams, out);
    }
}
