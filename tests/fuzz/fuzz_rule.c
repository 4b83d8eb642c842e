/*
 * tests/fuzz/fuzz_rule.c - parses any bytes as an export name: places are inside it, and what was
 * understood is printed as a name that means the same.
 */
#include "monitor/read/rule.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_params(const MonitorParam *params, uint32_t n, uint32_t len, bool nested) {
    for (uint32_t i = 0; i < n; i++) {
        const MonitorParam *p = &params[i];
        if (p->start >= p->end || p->end > len || p->kind >= PARAM_KINDS || p->n > INT32_MAX)
            abort();
        if ((p->kind == PARAM_CALL) != (p->call != NULL) || (nested && p->call))
            abort();
        if (p->call)
            check_params(p->call->params, p->call->nparams, len, true);
    }
}

static void check_again(Arena *arena, const MonitorRule *rule) {
    Buf text = {0}, twice = {0};
    rule_print(rule, &text);
    Str name = {(const char *)text.data, (uint32_t)text.len};
    MonitorRule again;
    RuleError error;
    uint32_t rest;
    if (rule_parse(name, true, arena, &again, &rest, &error) != RULE_OK || rest != name.len)
        abort();
    if (again.event != rule->event || again.op != rule->op || again.nparams != rule->nparams ||
        again.engines != rule->engines)
        abort();
    rule_print(&again, &twice);
    if (text.len != twice.len || memcmp(text.data, twice.data, text.len) != 0)
        abort();
    buf_free(&text);
    buf_free(&twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Arena arena = {0};
    MonitorRule rule;
    RuleError error;
    uint32_t rest;
    Str name = {(const char *)data, (uint32_t)size};
    RuleStatus status = rule_parse(name, true, &arena, &rule, &rest, &error);
    if (rest > size || error.start > error.end || error.end > size)
        abort();
    if ((status > RULE_OTHER) != (error.text[0] != 0))
        abort();
    if (status == RULE_OK) {
        if (rule.predicate)
            check_params(rule.predicate->params, rule.predicate->nparams, name.len, true);
        check_params(rule.params, rule.nparams, name.len, false);
        check_again(&arena, &rule);
    }
    arena_free(&arena);
    return 0;
}
