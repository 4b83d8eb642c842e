/*
 * runtime/site/site_typer.c - types of operands: tracks the stack of a function body, instruction
 * by instruction. The engine has validated the program, so only the bounds of lists are checked;
 * types are as in src/valid/signature.c.
 */
#include "site_state.h"

/* A reference of unknown type. */
#define ANY_REF WASM_REF(0, WASM_HEAP(0))

typedef struct Frame {
    uint32_t op; /* as WasmFrame.op */
    WasmType block_type;
    uint32_t height;
} Frame;

typedef struct TypeList {
    const WasmType *at;
    uint32_t len;
} TypeList;

/* ---- constructs ---- */

static Frame *frame(uint32_t depth) {
    if (depth >= S->nframes)
        site_fail(SITE_MALFORMED, S->typer.func, S->typer.i.offset, 0);
    return (Frame *)(void *)at(S->frames.at) + (S->nframes - 1 - depth);
}

static void push_frame(uint32_t op, WasmType block_type) {
    Frame f = {op, block_type, S->nstack};
    uint64_t each = sizeof f;
    site_reserve(&S->frames, (uint32_t)(S->nframes * each), (S->nframes + 1) * each);
    __builtin_memcpy(at(S->frames.at) + S->nframes * each, &f, sizeof f);
    S->nframes++;
}

static bool is_indexed(WasmType block_type) {
    return !(block_type & WASM_REF_BIT) && block_type & WASM_FUNC_TYPE_BIT;
}

static TypeList frame_params(const Frame *f) {
    if (!is_indexed(f->block_type))
        return (TypeList){NULL, 0};
    const SiteType *t = site_type_def(f->block_type & ~WASM_FUNC_TYPE_BIT);
    return (TypeList){site_params(t), t->nparams};
}

static TypeList frame_results(const Frame *f) {
    if (!is_indexed(f->block_type))
        return (TypeList){&f->block_type, f->block_type != WASM_NONE};
    const SiteType *t = site_type_def(f->block_type & ~WASM_FUNC_TYPE_BIT);
    return (TypeList){site_results(t), t->nresults};
}

static TypeList label(uint32_t depth) {
    const Frame *f = frame(depth);
    return f->op == WASM_OP_LOOP ? frame_params(f) : frame_results(f);
}

/* ---- the stack ---- */

/* Operand n from the top. */
static WasmType operand(uint32_t n) {
    const Frame *f = frame(0);
    if (S->nstack - f->height > n)
        return words_at(S->stack.at)[S->nstack - 1 - n];
    return WASM_BOT;
}

static void drop_operands(uint32_t n) {
    uint32_t have = S->nstack - frame(0)->height;
    S->nstack -= have < n ? have : n;
}

static void push_all(TypeList l) {
    for (uint32_t k = 0; k < l.len; k++)
        site_push(&S->stack, &S->nstack, l.at[k]);
}

static void unreachable(void) {
    S->nstack = frame(0)->height;
}

/* ---- the types of an instruction: S->params and S->results ---- */

static void param(WasmType t) {
    site_push(&S->params, &S->nparams, t);
}

static void result(WasmType t) {
    site_push(&S->results, &S->nresults, t);
}

static void params(TypeList l) {
    for (uint32_t k = 0; k < l.len; k++)
        param(l.at[k]);
}

static void results(TypeList l) {
    for (uint32_t k = 0; k < l.len; k++)
        result(l.at[k]);
}

static void one_to_one(WasmType p, WasmType r) {
    param(p);
    result(r);
}

static WasmType unpacked(WasmType t) {
    return t == WASM_I8 || t == WASM_I16 ? WASM_I32 : t;
}

static WasmType address(SiteKind kind, uint32_t n) {
    return site_entry(kind, n)->bits & LIMITS_64 ? WASM_I64 : WASM_I32;
}

static WasmType smaller(WasmType a, WasmType b) {
    return a == WASM_I64 && b == WASM_I64 ? WASM_I64 : WASM_I32;
}

/* Types from the table. */
static void fixed(const SiteInstr *i) {
    uint32_t g = site_signature(i);
    for (uint32_t k = 0; k < *at(g + SIGNATURE_PARAMS); k++) {
        WasmType t = *at(g + SIGNATURE_PARAM + k);
        param(t ? t : address(SITE_MEMORY, i->b));
    }
    if (*at(g + SIGNATURE_RESULTS))
        result(*at(g + SIGNATURE_RESULT));
}

/* ---- control ---- */

static void block(const SiteInstr *i) {
    Frame f = {i->op, i->type, 0};
    TypeList l = frame_params(&f);
    params(l);
    results(l);
    if (i->op == WASM_OP_IF)
        param(WASM_I32);
}

static void branch(const SiteInstr *i) {
    TypeList l = label(i->a);
    params(l);
    if (i->op != WASM_OP_BR)
        param(WASM_I32);
    if (i->op == WASM_OP_BR_IF)
        results(l);
}

/* A call; `extra` is what it pops besides arguments. */
static void call(const SiteInstr *i, uint32_t type, WasmType extra) {
    const SiteType *t = site_type_def(type);
    params((TypeList){site_params(t), t->nparams});
    if (extra != WASM_NONE)
        param(extra);
    if (i->op == WASM_OP_CALL || i->op == WASM_OP_CALL_INDIRECT || i->op == WASM_OP_CALL_REF)
        results((TypeList){site_results(t), t->nresults});
}

static const SiteType *tag_type(uint32_t n) {
    return site_type_def(site_entry(SITE_TAG, n)->type);
}

static TypeList params_of(const SiteType *t) {
    return (TypeList){site_params(t), t->nparams};
}

static TypeList results_of(const SiteType *t) {
    return (TypeList){site_results(t), t->nresults};
}

static TypeList tag(const SiteInstr *i) {
    return params_of(tag_type(i->a));
}

/* ---- continuations ---- */

/* The type of the function of a continuation. */
static const SiteType *continued(uint32_t type) {
    return site_type_def(WASM_HEAP_OF(site_params(site_type_def(type))[0]));
}

/* The other continuation gets this one as its last argument. */
static void switch_to(const SiteInstr *i) {
    TypeList l = params_of(continued(i->a));
    if (!l.len)
        site_fail(SITE_MALFORMED, S->typer.func, i->offset, 0);
    l.len--;
    params(l);
    param(WASM_REF(1, i->a));
    results(params_of(continued(WASM_HEAP_OF(l.at[l.len]))));
}

static bool continuation(const SiteInstr *i) {
    TypeList l;
    switch ((WasmOp)i->op) {
    case WASM_OP_CONT_NEW:
        one_to_one(site_params(site_type_def(i->a))[0] | WASM_NULL_BIT, WASM_REF(0, i->a));
        return true;
    case WASM_OP_CONT_BIND:
        l = params_of(continued(i->a));
        l.len -= continued(i->b)->nparams;
        params(l);
        one_to_one(WASM_REF(1, i->a), WASM_REF(0, i->b));
        return true;
    case WASM_OP_SUSPEND:
        params(tag(i));
        results(results_of(tag_type(i->a)));
        return true;
    case WASM_OP_SWITCH: switch_to(i); return true;
    case WASM_OP_RESUME: params(params_of(continued(i->a))); break;
    case WASM_OP_RESUME_THROW: params(params_of(tag_type(i->b))); break;
    case WASM_OP_RESUME_THROW_REF: param(WASM_EXNREF); break;
    default: return false;
    }
    param(WASM_REF(1, i->a));
    results(results_of(continued(i->a)));
    return true;
}

static bool control(const SiteInstr *i) {
    switch ((WasmOp)i->op) {
    case WASM_OP_BLOCK:
    case WASM_OP_LOOP:
    case WASM_OP_IF:
    case WASM_OP_TRY:
    case WASM_OP_TRY_TABLE: block(i); break;
    case WASM_OP_CATCH: results(tag(i)); break;
    case WASM_OP_THROW: params(tag(i)); break;
    case WASM_OP_THROW_REF: param(WASM_REF(1, WASM_HEAP(WASM_HEAP_EXN))); break;
    case WASM_OP_BR:
    case WASM_OP_BR_IF:
    case WASM_OP_BR_TABLE: branch(i); break;
    case WASM_OP_RETURN: params(frame_results(frame(S->nframes - 1))); break;
    case WASM_OP_CALL:
    case WASM_OP_RETURN_CALL: call(i, site_entry(SITE_FUNC, i->a)->type, WASM_NONE); break;
    case WASM_OP_CALL_INDIRECT:
    case WASM_OP_RETURN_CALL_INDIRECT: call(i, i->a, address(SITE_TABLE, i->b)); break;
    case WASM_OP_CALL_REF:
    case WASM_OP_RETURN_CALL_REF: call(i, i->a, WASM_REF(1, i->a)); break;
    case WASM_OP_END:
    case WASM_OP_ELSE:
    case WASM_OP_UNREACHABLE:
    case WASM_OP_CATCH_ALL:
    case WASM_OP_DELEGATE:
    case WASM_OP_RETHROW: break;
    default: return false;
    }
    return true;
}

/* ---- variables, memories and tables ---- */

static void three(WasmType a, WasmType b, WasmType c) {
    param(a);
    param(b);
    param(c);
}

static void select_(WasmType t) {
    three(t, t, WASM_I32);
    result(t);
}

static WasmType local(uint32_t n) {
    site_locals(S->typer.func - 1);
    if (n >= S->nlocals)
        site_fail(SITE_MALFORMED, S->typer.func, S->typer.i.offset, 0);
    return words_at(S->locals.at)[n];
}

static bool variable(const SiteInstr *i) {
    WasmType b;
    switch ((WasmOp)i->op) {
    case WASM_OP_DROP: param(operand(0)); break;
    case WASM_OP_SELECT:
        b = operand(1);
        select_(b == WASM_BOT ? operand(2) : b);
        break;
    case WASM_OP_TYPED_SELECT: select_(i->type); break;
    case WASM_OP_LOCAL_GET: result(local(i->a)); break;
    case WASM_OP_LOCAL_SET: param(local(i->a)); break;
    case WASM_OP_LOCAL_TEE: one_to_one(local(i->a), local(i->a)); break;
    case WASM_OP_GLOBAL_GET: result(site_entry(SITE_GLOBAL, i->a)->type); break;
    case WASM_OP_GLOBAL_SET: param(site_entry(SITE_GLOBAL, i->a)->type); break;
    default: return false;
    }
    return true;
}

static bool memory(const SiteInstr *i) {
    WasmType a, b;
    switch ((WasmOp)i->op) {
    case WASM_OP_DATA_DROP: break;
    case WASM_OP_MEMORY_SIZE: result(address(SITE_MEMORY, i->a)); break;
    case WASM_OP_MEMORY_GROW:
        a = address(SITE_MEMORY, i->a);
        one_to_one(a, a);
        break;
    case WASM_OP_MEMORY_FILL:
        a = address(SITE_MEMORY, i->a);
        three(a, WASM_I32, a);
        break;
    case WASM_OP_MEMORY_INIT: three(address(SITE_MEMORY, i->b), WASM_I32, WASM_I32); break;
    case WASM_OP_MEMORY_COPY:
        a = address(SITE_MEMORY, i->a);
        b = address(SITE_MEMORY, i->b);
        three(a, b, smaller(a, b));
        break;
    default: return false;
    }
    return true;
}

static bool wide_arithmetic(const SiteInstr *i) {
    switch ((WasmOp)i->op) {
    case WASM_OP_I64_ADD128:
    case WASM_OP_I64_SUB128: param(WASM_I64); param(WASM_I64); /* fall through */
    case WASM_OP_I64_MUL_WIDE_S:
    case WASM_OP_I64_MUL_WIDE_U: break;
    default: return false;
    }
    one_to_one(WASM_I64, WASM_I64);
    one_to_one(WASM_I64, WASM_I64);
    return true;
}

static bool table(const SiteInstr *i) {
    WasmType a, b;
    if (i->op == WASM_OP_ELEM_DROP)
        return true;
    switch ((WasmOp)i->op) {
    case WASM_OP_TABLE_INIT: three(address(SITE_TABLE, i->b), WASM_I32, WASM_I32); return true;
    case WASM_OP_TABLE_GET:
    case WASM_OP_TABLE_SET:
    case WASM_OP_TABLE_SIZE:
    case WASM_OP_TABLE_GROW:
    case WASM_OP_TABLE_FILL:
    case WASM_OP_TABLE_COPY: break;
    default: return false;
    }
    a = address(SITE_TABLE, i->a);
    WasmType element = site_entry(SITE_TABLE, i->a)->type;
    switch ((WasmOp)i->op) {
    case WASM_OP_TABLE_GET: one_to_one(a, element); break;
    case WASM_OP_TABLE_SET:
        param(a);
        param(element);
        break;
    case WASM_OP_TABLE_SIZE: result(a); break;
    case WASM_OP_TABLE_GROW:
        param(element);
        one_to_one(a, a);
        break;
    case WASM_OP_TABLE_FILL: three(a, element, a); break;
    default:
        b = address(SITE_TABLE, i->b);
        three(a, b, smaller(a, b));
        break;
    }
    return true;
}

/* ---- references ---- */

/* The reference on top of the stack. */
static WasmType top_reference(void) {
    WasmType t = operand(0);
    return t == WASM_BOT ? ANY_REF : t;
}

static void br_on_null(const SiteInstr *i) {
    WasmType ref = top_reference();
    TypeList l = label(i->a);
    params(l);
    param(ref);
    results(l);
    result(ref & ~WASM_NULL_BIT);
}

/* A branch that takes a reference, which is last among the label's types: `pops` is what it pops
 * there, `leaves` what stays if it is not taken (WASM_NONE: nothing). */
static void br_with_reference(const SiteInstr *i, WasmType pops, WasmType leaves) {
    TypeList l = label(i->a);
    l.len -= l.len ? 1 : 0;
    params(l);
    param(pops);
    results(l);
    if (leaves != WASM_NONE)
        result(leaves);
}

static void br_on_non_null(const SiteInstr *i) {
    TypeList l = label(i->a);
    br_with_reference(i, l.len ? l.at[l.len - 1] | WASM_NULL_BIT : ANY_REF, WASM_NONE);
}

static void br_on_cast(const SiteInstr *i) {
    WasmType from = i->type, to = i->type2;
    WasmType rest = to & WASM_NULL_BIT ? from & ~WASM_NULL_BIT : from;
    br_with_reference(i, from, i->op == WASM_OP_BR_ON_CAST ? rest : to);
}

/* The nullable reference to the top of the hierarchy that a reference is in. */
static WasmType top_type(WasmType t) {
    uint32_t heap = WASM_HEAP_OF(t), top = WASM_HEAP_ANY;
    if (!(heap & WASM_ABSTRACT_BIT)) {
        if (site_type_def(heap)->form == SITE_FORM_FUNC)
            top = WASM_HEAP_FUNC;
        else if (site_type_def(heap)->form == SITE_FORM_CONT)
            top = WASM_HEAP_CONT;
        return WASM_REF(1, WASM_HEAP(top));
    }
    switch (heap & ~WASM_ABSTRACT_BIT) {
    case WASM_HEAP_FUNC:
    case WASM_HEAP_NOFUNC: top = WASM_HEAP_FUNC; break;
    case WASM_HEAP_EXTERN:
    case WASM_HEAP_NOEXTERN: top = WASM_HEAP_EXTERN; break;
    case WASM_HEAP_EXN:
    case WASM_HEAP_NOEXN: top = WASM_HEAP_EXN; break;
    case WASM_HEAP_CONT:
    case WASM_HEAP_NOCONT: top = WASM_HEAP_CONT; break;
    default: break;
    }
    return WASM_REF(1, WASM_HEAP(top));
}

static void convert(uint32_t from, uint32_t to) {
    WasmType t = operand(0);
    bool nullable = !WASM_IS_REF(t) ? t != WASM_BOT : (t & WASM_NULL_BIT) != 0;
    one_to_one(WASM_REF(nullable, WASM_HEAP(from)), WASM_REF(nullable, WASM_HEAP(to)));
}

static bool reference(const SiteInstr *i) {
    WasmType t;
    switch ((WasmOp)i->op) {
    case WASM_OP_REF_NULL: result(i->type | WASM_NULL_BIT); break;
    case WASM_OP_REF_IS_NULL: one_to_one(top_reference(), WASM_I32); break;
    case WASM_OP_REF_AS_NON_NULL:
        t = top_reference();
        one_to_one(t, t & ~WASM_NULL_BIT);
        break;
    case WASM_OP_REF_FUNC: result(WASM_REF(0, site_entry(SITE_FUNC, i->a)->type)); break;
    case WASM_OP_REF_EQ:
        t = WASM_REF(1, WASM_HEAP(WASM_HEAP_EQ));
        param(t);
        one_to_one(t, WASM_I32);
        break;
    case WASM_OP_BR_ON_NULL: br_on_null(i); break;
    case WASM_OP_BR_ON_NON_NULL: br_on_non_null(i); break;
    case WASM_OP_BR_ON_CAST:
    case WASM_OP_BR_ON_CAST_FAIL: br_on_cast(i); break;
    case WASM_OP_REF_TEST:
    case WASM_OP_REF_TEST_NULL: one_to_one(top_type(i->type), WASM_I32); break;
    case WASM_OP_REF_CAST: one_to_one(top_type(i->type), i->type & ~WASM_NULL_BIT); break;
    case WASM_OP_REF_CAST_NULL: one_to_one(top_type(i->type), i->type | WASM_NULL_BIT); break;
    case WASM_OP_ANY_CONVERT_EXTERN: convert(WASM_HEAP_EXTERN, WASM_HEAP_ANY); break;
    case WASM_OP_EXTERN_CONVERT_ANY: convert(WASM_HEAP_ANY, WASM_HEAP_EXTERN); break;
    case WASM_OP_REF_I31: one_to_one(WASM_I32, WASM_REF(0, WASM_HEAP(WASM_HEAP_I31))); break;
    case WASM_OP_I31_GET_S:
    case WASM_OP_I31_GET_U: one_to_one(WASM_REF(1, WASM_HEAP(WASM_HEAP_I31)), WASM_I32); break;
    case WASM_OP_ARRAY_LEN: one_to_one(WASM_REF(1, WASM_HEAP(WASM_HEAP_ARRAY)), WASM_I32); break;
    default: return false;
    }
    return true;
}

/* ---- structures and arrays ---- */

static WasmType field(const SiteInstr *i, const SiteType *t, uint32_t n) {
    if (n >= t->nparams)
        site_fail(SITE_MALFORMED, S->typer.func, i->offset, 0);
    return unpacked(site_params(t)[n]);
}

static bool structure(const SiteInstr *i) {
    const SiteType *t;
    switch ((WasmOp)i->op) {
    case WASM_OP_STRUCT_NEW:
        t = site_type_def(i->a);
        for (uint32_t k = 0; k < t->nparams; k++)
            param(field(i, t, k));
        result(WASM_REF(0, i->a));
        break;
    case WASM_OP_STRUCT_NEW_DEFAULT: result(WASM_REF(0, i->a)); break;
    case WASM_OP_STRUCT_GET:
    case WASM_OP_STRUCT_GET_S:
    case WASM_OP_STRUCT_GET_U:
        one_to_one(WASM_REF(1, i->a), field(i, site_type_def(i->a), i->b));
        break;
    case WASM_OP_STRUCT_SET:
        param(WASM_REF(1, i->a));
        param(field(i, site_type_def(i->a), i->b));
        break;
    default: return false;
    }
    return true;
}

static void array(const SiteInstr *i) {
    WasmType self = WASM_REF(1, i->a), element = field(i, site_type_def(i->a), 0);
    enum { MOST = 10000 }; /* engines have this limit */
    switch ((WasmOp)i->op) {
    case WASM_OP_ARRAY_NEW: one_to_one(element, self & ~WASM_NULL_BIT); break;
    case WASM_OP_ARRAY_NEW_FIXED:
        for (uint32_t k = 0; k < i->b && k < MOST; k++)
            param(element);
        result(self & ~WASM_NULL_BIT);
        return;
    case WASM_OP_ARRAY_NEW_DEFAULT: result(self & ~WASM_NULL_BIT); break;
    case WASM_OP_ARRAY_NEW_DATA:
    case WASM_OP_ARRAY_NEW_ELEM: one_to_one(WASM_I32, self & ~WASM_NULL_BIT); break;
    case WASM_OP_ARRAY_SET: three(self, WASM_I32, element); return;
    case WASM_OP_ARRAY_FILL: three(self, WASM_I32, element); break;
    case WASM_OP_ARRAY_COPY:
        three(self, WASM_I32, WASM_REF(1, i->b));
        param(WASM_I32);
        break;
    case WASM_OP_ARRAY_INIT_DATA:
    case WASM_OP_ARRAY_INIT_ELEM: three(self, WASM_I32, WASM_I32); break;
    default: /* array.get, _s, _u */ param(self); result(element);
    }
    param(WASM_I32); /* the length, or the index */
}

/* ---- the cursor ---- */

/* Computes the operand and result types of the current instruction, unless that was done. */
static void types(const SiteInstr *i) {
    if (S->typed)
        return;
    S->typed = true;
    S->nparams = S->nresults = 0;
    if (i->signature)
        fixed(i);
    else if (!variable(i) && !control(i) && !continuation(i) && !memory(i) && !wide_arithmetic(i) &&
             !table(i) && !reference(i) && !structure(i))
        array(i);
}

static void next_part(const SiteInstr *i) {
    Frame *f = frame(0);
    S->nstack = f->height;
    f->op = i->op;
    if (i->op == WASM_OP_ELSE)
        push_all(frame_params(f));
}

static void end(void) {
    Frame f = *frame(0);
    S->nstack = f.height;
    S->nframes--;
    if (S->nframes)
        push_all(frame_results(&f));
}

/* Applies the current instruction to the stack. */
static void apply(const SiteInstr *i) {
    WasmFlow flow = wasm_flow(i->op);
    drop_operands(S->nparams);
    if (wasm_flow_opens(flow)) {
        push_frame(i->op, i->type);
    } else if (flow == WASM_FLOW_ARM) {
        next_part(i);
    } else if (flow == WASM_FLOW_END) {
        end();
        return;
    } else if (wasm_flow_stops(flow)) {
        unreachable();
        return;
    }
    push_all((TypeList){words_at(S->results.at), S->nresults});
}

/* The same for instructions whose types are fixed, and the most frequent other ones. */
static bool apply_short(const SiteInstr *i) {
    if (i->op == WASM_OP_LOCAL_GET) {
        site_push(&S->stack, &S->nstack, local(i->a));
        return true;
    }
    if (i->op == WASM_OP_LOCAL_SET) {
        drop_operands(1);
        return true;
    }
    if (!i->signature)
        return false;
    uint32_t g = site_signature(i);
    if (*at(g + SIGNATURE_PARAMS))
        drop_operands(*at(g + SIGNATURE_PARAMS));
    if (*at(g + SIGNATURE_RESULTS))
        site_push(&S->stack, &S->nstack, *at(g + SIGNATURE_RESULT));
    return true;
}

static void start(uint32_t fid) {
    S->nstack = S->nframes = 0;
    push_frame(WASM_OP_COUNT, WASM_FUNC_TYPE_BIT | site_entry(SITE_FUNC, fid)->type);
}

/* Moves the cursor to a location. */
static void stand(uint32_t fid, uint32_t pc) {
    SiteCursor *c = &S->typer;
    if (site_restart(c, fid, pc))
        start(fid);
    if (site_before(c, pc)) {
        SiteReader r = site_body(fid);
        while (site_before(c, pc)) {
            if (c->index && !apply_short(&c->i)) {
                types(&c->i);
                apply(&c->i);
            }
            site_next(c, &r);
            S->typed = false;
        }
    }
    site_arrived(c, pc);
}

/* ---- questions ---- */

static uint32_t type_byte(WasmType t) {
    if (t == WASM_BOT || t == ANY_REF)
        return SITE_ANY;
    if (!WASM_IS_REF(t))
        return t;
    bool one_byte = t & WASM_NULL_BIT && t & WASM_ABSTRACT_BIT;
    return one_byte ? t & 0xff : (uint32_t)SITE_REF;
}

SITE_EXPORT(arg)
uint32_t site_arg(uint32_t fid, uint32_t pc, uint32_t n) {
    stand(fid, pc);
    types(&S->typer.i);
    return n < S->nparams ? type_byte(words_at(S->params.at)[S->nparams - 1 - n])
                          : (uint32_t)SITE_NONE;
}

SITE_EXPORT(local)
uint32_t site_local(uint32_t fid, uint32_t n) {
    site_locals(fid);
    return n < S->nlocals ? type_byte(words_at(S->locals.at)[n]) : (uint32_t)SITE_NONE;
}
