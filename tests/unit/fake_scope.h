/*
 * tests/unit/fake_scope.h - a small set of bound names and functions to check scripts against,
 * without the layers that know events and programs.
 */
#ifndef WHAMMC_TESTS_FAKE_SCOPE_H
#define WHAMMC_TESTS_FAKE_SCOPE_H

#include "check/check.h"

typedef struct FakeScope {
    Script *script;
    Diags *diags;
    bool nowhere; /* script scope, or an event outside functions: no names */
} FakeScope;

static const struct {
    const char *name;
    int kind; /* -1 = open */
    bool is_static, assignable, literal;
} fake_names[] = {
    {"fid", TYPE_U32, true, false, false},
    {"fname", TYPE_STR, true, false, false},
    {"pc", TYPE_U32, true, false, false},
    {"opname", TYPE_STR, true, false, false},
    {"bytecode", TYPE_U16, true, false, true},
    {"category_id", TYPE_U32, true, false, true},
    {"data_size", TYPE_U32, true, false, true},
    {"at_func_end", TYPE_BOOL, true, false, false},
    {"offset", TYPE_U64, true, false, false},
    {"imm0", TYPE_F32, true, false, false},
    {"arg0", -1, false, true, false},
    {"arg1", TYPE_I32, false, true, false},
    {"local0", -1, false, true, false},
    {"taken", TYPE_BOOL, false, false, false},
    {"effective_addr", TYPE_U32, false, false, false},
};

static bool fake_name(void *ctx, Str name, Bound *out) {
    const FakeScope *f = ctx;
    if (f->nowhere)
        return false;
    for (size_t i = 0; i < sizeof fake_names / sizeof *fake_names; i++) {
        if (!str_is(name, fake_names[i].name))
            continue;
        *out = (Bound){
            .id = (int)i,
            .is_static = fake_names[i].is_static,
            .assignable = fake_names[i].assignable,
            .literal = fake_names[i].literal,
            .type = fake_names[i].kind < 0 ? NULL : &type_scalar[fake_names[i].kind],
        };
        return true;
    }
    if (!str_is(name, "targets"))
        return false;
    *out = (Bound){.id = 99,
                   .is_static = true,
                   .type = type_map(f->script, &type_scalar[TYPE_U32], &type_scalar[TYPE_U32])};
    return true;
}

static const Type *const fake_u32[] = {&type_scalar[TYPE_U32]};
static const Type *const fake_i32[] = {&type_scalar[TYPE_I32]};
static const Type *const fake_library[] = {&type_unit};

static bool fake_function(void *ctx, Str name, Bound *out, const Type *const **params,
                          uint32_t *nparams, const Type **result) {
    (void)ctx;
    *out = (Bound){0};
    if (str_is(name, "drop_args")) {
        *nparams = 0;
        *result = NULL;
    } else if (str_is(name, "page_size") || str_is(name, "mem_size")) {
        out->is_static = name.ptr[0] == 'p';
        *params = fake_u32;
        *nparams = 1;
        *result = fake_u32[0];
    } else if (str_is(name, "memid")) {
        out->is_static = true;
        *params = fake_library;
        *nparams = 1;
        *result = fake_u32[0];
    } else {
        return false;
    }
    return true;
}

static void fake_suggest(void *ctx, bool functions, void (*add)(void *add_ctx, Str name),
                         void *add_ctx) {
    const FakeScope *f = ctx;
    static const char *const fns[] = {"drop_args", "page_size", "mem_size", "memid"};
    for (size_t i = 0; functions && i < sizeof fns / sizeof *fns; i++)
        add(add_ctx, str_of(fns[i]));
    for (size_t i = 0; !functions && !f->nowhere && i < sizeof fake_names / sizeof *fake_names; i++)
        add(add_ctx, str_of(fake_names[i].name));
}

/* The library lib: f(i32) -> i32, g(). */
static bool fake_library_call(void *ctx, const Expr *call, Bound *out, const Type *const **params,
                              uint32_t *nparams, const Type **result) {
    FakeScope *f = ctx;
    *out = (Bound){0};
    if (str_is(call->name, "f")) {
        *params = fake_i32;
        *nparams = 1;
        *result = fake_i32[0];
        return true;
    }
    *nparams = 0;
    *result = NULL;
    if (str_is(call->name, "g"))
        return true;
    diag(f->diags, DIAG_UNKNOWN_FUNCTION, call->name_span,
         "the library '%.*s' has no function '%.*s'", STR_ARG(call->recv), STR_ARG(call->name));
    return false;
}

/* The scope of an event, by the first letters of the rule: alt probes return an i32, wasm:report is
 * nowhere. */
static Scope fake_scope(FakeScope *f, const Probe *p) {
    Scope s = {.ctx = f,
               .name = fake_name,
               .function = fake_function,
               .suggest = fake_suggest,
               .library = fake_library_call,
               .describe = "script scope"};
    f->nowhere = !p || p->rule.nparts == 2;
    if (p) {
        s.can_return_value = p->rule.nparts == 4 && str_is(p->rule.parts[3].pattern, "alt");
        s.return_type = fake_i32[0];
        s.describe = p->rule.nparts == 2  ? "wasm:report"
                     : s.can_return_value ? "wasm:opcode:call:alt"
                                          : "wasm:opcode:call:before";
    }
    return s;
}

/* Checks a parsed script and, in place of its probes, clones of them. */
static bool fake_check(Script *s, Diags *diags) {
    FakeScope f = {s, diags, true};
    Scope scope = fake_scope(&f, NULL);
    bool ok = check_script(s, &scope, diags);
    for (uint32_t i = 0; i < s->probes.len; i++) {
        Probe *clone = ast_clone_probe(s, s->probes.at[i]);
        scope = fake_scope(&f, clone);
        ok &= check_probe(s, clone, &scope, diags);
        s->probes.at[i] = clone;
    }
    return ok;
}

#endif
