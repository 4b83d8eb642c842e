/*
 * lang/stack_value.c - the value `stack`, and name_of(function).
 *
 * The stack is a node of the calling-context tree (stdlib/runtime/tree.h), which exists only in
 * scripts that use the value: functions enter and leave their nodes, before and after all other
 * probes. Its text is made once for each node. Names of functions are in a map that is filled when
 * the program starts. For later layers all this is part of the script.
 */
#include "lang/parse.h"

static const char names_text[] = "var names_: map<u32, str>;\n"
                                 "wasm:func:entry { @init { names_[fid] = fname; } }\n";

static const char imports_text[] = "wasm:opcode:call:before / target_fn_type == \"import\" / {\n"
                                   "    @init { names_[imm0] = target_fn_name; }\n"
                                   "}\n"
                                   "fn name_of_(function_: u32) -> str {\n"
                                   "    if (function_ in names_) { return names_[function_]; }\n"
                                   "    return \"\";\n"
                                   "}\n";

static const char stack_text[] =
    "var texts_: map<u32, str>;\n"
    "wasm:func:entry {\n"
    "    frame var place_: i32;\n"
    "    place_ = calltree.enter_untimed(fid as i32);\n"
    "}\n"
    "wasm:func:exit|unwind { frame var place_: i32; calltree.leave_untimed(place_); }\n"
    "fn stack_() -> str {\n"
    "    var node_: u32 = calltree.current() as u32;\n"
    "    if (node_ == 0) { return \"\"; }\n"
    "    if (!(node_ in texts_)) { texts_[node_] = calltree.text(names_); }\n"
    "    return texts_[node_];\n"
    "}\n";

typedef struct Found {
    Parse *p;
    Span stack, name_of; /* where they are used first; NO_SPAN = they are not */
    bool own_stack, own_name_of;
    const Use *tree; /* where the script uses 'calltree', or NULL */
} Found;

static Expr *stack_call(const Found *f, Span span) {
    return build_call(f->p, span, (Word){STR("(stack)"), span}, NULL);
}

static bool is_str_method(Str name) {
#define METHOD(id, text, argument, result, reserved, doc)                                          \
    if (str_is(name, text))                                                                        \
        return true;
#include "lang/function.def"
    return false;
}

static void stack_replace(void *ctx, Expr *e) {
    Found *f = ctx;
    Span span = e->span;
    if (e->kind == EXPR_NAME && str_is(e->name, "stack") && !f->own_stack) {
        *e = *stack_call(f, span);
        f->stack = f->stack.file ? f->stack : span;
    } else if (e->kind == EXPR_METHOD && str_is(e->recv, "stack") && !f->own_stack &&
               !e->received && is_str_method(e->name)) {
        List *args = NULL;
        for (uint32_t i = 0; i < e->nargs; i++)
            args = list_add(f->p, args, e->args[i], e->args[i]->span);
        *e = *build_element_method(f->p, span, stack_call(f, e->recv_span),
                                   (Word){e->name, e->name_span}, args);
        f->stack = f->stack.file ? f->stack : span;
    } else if (e->kind == EXPR_CALL && str_is(e->name, "name_of") && e->nargs == 1 &&
               !f->own_name_of) {
        e->name = STR("(name_of)");
        e->args[0] = build_cast(f->p, e->args[0]->span, e->args[0], &type_scalar[TYPE_U32]);
        f->name_of = f->name_of.file ? f->name_of : span;
    }
}

static void note_names(Found *f, Block b) {
    for (const Stmt *s = b.first; s; s = s->next) {
        const Expr *target = s->target; /* which must be a variable */
        f->own_stack |= s->kind == STMT_DECL && str_is(s->var->name, "stack");
        f->own_stack |= target && target->kind == EXPR_NAME && str_is(target->name, "stack");
        for (uint32_t i = 0; i < s->narms; i++)
            note_names(f, s->arms[i].body);
    }
}

/* Names that the script declares are its own. */
static void note_own(Found *f, const Script *s) {
    for (uint32_t i = 0; i < s->uses.len; i++) {
        const Use *use = &s->uses.at[i];
        f->tree = str_is(use->name, "calltree") ? use : f->tree;
        f->own_stack |= str_is(use->name, "stack");
    }
    note_names(f, s->init);
    for (uint32_t i = 0; i < s->fns.len; i++) {
        const Fn *fn = s->fns.at[i];
        f->own_stack |= str_is(fn->name, "stack");
        f->own_name_of |= str_is(fn->name, "name_of");
        for (uint32_t k = 0; k < fn->nparams; k++)
            f->own_stack |= str_is(fn->params[k]->name, "stack");
        note_names(f, fn->body);
    }
    for (uint32_t i = 0; i < s->probes.len; i++)
        note_names(f, s->probes.at[i]->body);
}

/* Puts a probe before all others. */
static void stack_move_first(Script *s, uint32_t probe) {
    Probe *first = s->probes.at[probe];
    memmove(s->probes.at + 1, s->probes.at, sizeof *s->probes.at * probe);
    s->probes.at[0] = first;
    for (uint32_t i = 0; i <= probe; i++)
        s->probes.at[i]->index = i;
}

void build_stack(Parse *p) {
    Script *s = p->script;
    Found f = {.p = p};
    note_own(&f, s);
    ast_walk_probe(&(Probe){.body = s->init}, stack_replace, &f);
    for (uint32_t i = 0; i < s->fns.len; i++)
        ast_walk_probe(&(Probe){.body = s->fns.at[i]->body}, stack_replace, &f);
    for (uint32_t i = 0; i < s->probes.len; i++)
        ast_walk_probe(s->probes.at[i], stack_replace, &f);
    if ((!f.stack.file && !f.name_of.file) || p->failed)
        return;
    build_made(p, f.stack.file ? f.stack : f.name_of, names_text);
    if (f.name_of.file)
        build_made(p, f.name_of, imports_text);
    if (!f.stack.file)
        return;
    if (!f.tree)
        vec_push(&s->uses, ((Use){STR("calltree"), f.stack}));
    uint32_t entry = s->probes.len;
    build_made(p, f.stack, stack_text);
    stack_move_first(s, entry);
    if (f.tree) {
        Diag *g = parse_error(p, DIAG_ONE_TREE, f.stack,
                              "'stack' uses the tree of the program, as the script does itself");
        diag_label(p->diags, g, f.tree->span, "with this library");
    }
}
