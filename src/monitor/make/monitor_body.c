/*
 * monitor/make/monitor_body.c - how code of monitors gets values that are known when a monitor is
 * attached.
 *
 * Values that the event decides are constants. Values that the engine supplies are parameters of
 * the probe. Callbacks compute the others, with functions of the runtime (runtime/site/site.h).
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "monitor/make/monitor_body.h"

#include "../../../stdlib/runtime/values.h" /* values_kept_page */
#include "monitor/make/known.h"
#include "plan/removal.h"

#include <assert.h>
#include <stdio.h>

/* ---- imports and globals ---- */

/* Calls the function imported as `name` of a module, which is `internal` here. */
static Ref call_import(Body *b, const char *module, const char *name, const char *internal,
                       const Ref *args, const WasmType *params, uint32_t nargs, WasmType result) {
    WasmTypeDef type = {.params = params, .nparams = nargs, .results = &result};
    type.nresults = result != WASM_NONE;
    code_import_func(b->module, internal, module, name, &type);
    return code_call(b->module, internal, args, nargs, result);
}

Ref runtime_call(Code *c, const char *name, const char *params, const char *result,
                 const Ref *args) {
    WasmType types[8];
    uint32_t n = 0;
    for (; params[n]; n++)
        types[n] = gen_letter_type(params[n]);
    return call_import(&c->b, "rt", name, name, args, types, n, gen_letter_type(result[0]));
}

Ref own_get(Code *c, const char *name, WasmType type) {
    return code_global(c->b.module, name, type);
}

const char monitor_back[] = "back";

Ref own_set(Code *c, const char *name, Ref value) {
    return code_set_global(c->b.module, name, value);
}

/* ---- functions ---- */

void code_begin(Code *c, Gen *g, const Variant *v) {
    static const Variant none;
    *c = (Code){.b = scratch_body(&g->x, v ? v : &none, 0), .g = g, .record = -1};
    c->b.ctx = c;
}

void code_part(Code *c, const UnitPart *part) {
    const Variant *v = part->action->variant;
    c->part = part;
    c->event = part->action->event;
    c->at_end = part->at_end;
    c->b.variant = v;
    c->b.atoms = part->shape ? part->shape->atoms : 0;
    c->b.undecided = !part->shape;
    c->b.part = true;
    c->b.end_label = code_label(c->b.module);
    free(c->b.local_of);
    gen_declare_locals(&c->b, v->probe->vars, v->probe->nvars);
}

const MonitorRecord *code_record(const Code *c) {
    const MonitorInput *in = c->g->in;
    if (c->part && (c->part->at_end || c->unit->dynamic || c->residue->apart))
        return in->own_records[monitor_own((uint32_t)(c->part->action - in->plan->actions.at),
                                           c->part->kind == PART_COUNT)];
    return in->records[c->number];
}

/* ---- parameters ---- */

static bool same_param(const MonitorParam *a, const MonitorParam *b) {
    return a->kind == b->kind && a->n == b->n &&
           (a->kind != PARAM_CALL || str_eq(a->call->name, b->call->name));
}

static Ref ask_param(Code *c, MonitorParam param, const void *what, WasmType type) {
    uint32_t i = 0;
    while (i < c->asks->len && !same_param(&c->asks->at[i].param, &param))
        i++;
    if (i == c->asks->len)
        vec_push(c->asks, ((Ask){param, what, type}));
    c->g->clash |= c->asks->at[i].type != type;
    return code_get(c->b.module, i, c->asks->at[i].type);
}

Ref ask(Code *c, ParamKind kind, uint32_t n, WasmType type) {
    return ask_param(c, (MonitorParam){.kind = kind, .n = n}, NULL, type);
}

MonitorCall *callback_call(Gen *g, Str name) {
    MonitorCall *call = arena_new(g->arena, MonitorCall);
    MonitorParam *params = arena_array(g->arena, MonitorParam, 2);
    params[0] = (MonitorParam){.kind = PARAM_FID};
    params[1] = (MonitorParam){.kind = PARAM_PC};
    *call = (MonitorCall){.name = name, .params = params, .nparams = 2};
    return call;
}

Ref ask_callback(Code *c, Str name, const void *what, WasmType type) {
    MonitorParam param = {.kind = PARAM_CALL, .call = callback_call(c->g, name)};
    return ask_param(c, param, what, type);
}

Ref engine_remove(Code *c) {
    WasmType i32 = WASM_I32;
    Ref id = ask(c, PARAM_PROBE_ID, 0, i32);
    return call_import(&c->b, REMOVAL_MODULE, "remove_probe", "remove_probe", &id, &i32, 1,
                       WASM_NONE);
}

/* Parts share a record, unless they have their own. */
Ref ask_record(Code *c, const MonitorRecord *record) {
    bool own = record != c->g->in->records[c->number];
    return ask_callback(c, callback_record(c, record), own ? c->b.variant : NULL, WASM_I32);
}

/* ---- static names ---- */

typedef struct Known {
    NameId name;
    ParamKind param;
    const char *function, *args;
    char result;
} Known;

#define PARAM_NONE PARAM_KINDS

static const Known known_table[] = {
#define KNOWN(name, param, function, args, result)                                                 \
    {NAME_##name, PARAM_##param, function, args, result},
#include "gen/template.h"
#include "monitor/make/static_source.def"
};

static const Known *find_known(int name) {
    for (uint32_t i = 0; i < sizeof known_table / sizeof *known_table; i++)
        if ((int)known_table[i].name == name)
            return &known_table[i];
    return NULL;
}

Ref place_fid(Code *c) {
    assert(c->at_match);
    return code_get(c->b.module, 0, WASM_I32);
}

Ref place_pc(Code *c) {
    if (!c->at_end)
        return code_get(c->b.module, 1, WASM_I32);
    return runtime_call(c, "site_func_end", "i", "i", (Ref[]){place_fid(c)});
}

/* Bits of a number in an i64, or an i32, as a value of the type. */
static Ref from_bits(Code *c, const Type *type, Ref bits, char letter) {
    CodeModule *m = c->b.module;
    WasmType w = type_wasm(type);
    if (letter == 'i')
        return w == WASM_I64 ? code_op1(m, WASM_OP_I64_EXTEND_I32_U, bits) : bits;
    switch (w) {
    case WASM_I64: return bits;
    case WASM_F64: return code_op1(m, WASM_OP_F64_REINTERPRET_I64, bits);
    case WASM_F32:
        return code_op1(m, WASM_OP_F32_REINTERPRET_I32, code_op1(m, WASM_OP_I32_WRAP_I64, bits));
    default: return code_op1(m, WASM_OP_I32_WRAP_I64, bits);
    }
}

/* Asks the runtime; in a callback, or where there is no location. */
static Ref ask_runtime(Code *c, const Known *k, const Expr *e) {
    Ref args[4];
    char params[5] = {0};
    uint32_t n = 0;
    for (const char *a = k->args; *a; a++, n++) {
        params[n] = 'i';
        args[n] = *a == 'f'   ? place_fid(c)
                  : *a == 'p' ? place_pc(c)
                  : *a == 't' ? runtime_call(c, "site_num_targets", "ii", "i",
                                             (Ref[]){place_fid(c), place_pc(c)})
                              : const_i32(&c->b, *a == 'n' ? e->bound.n : (uint32_t)(*a - '0'));
    }
    if (!k->function)
        return args[0];
    return from_bits(c, e->type, runtime_call(c, k->function, params, (char[]){k->result, 0}, args),
                     k->result);
}

/* Immediates that the engine counts and types as the language does (engine-interface, section 4).
 */
static bool engine_has_immediate(Event event) {
    if (event.kind != EVENT_OPCODE)
        return false;
    switch (wasm_ops[event.op].imm) {
    case WASM_IMM_FUNC:
    case WASM_IMM_LOCAL:
    case WASM_IMM_GLOBAL:
    case WASM_IMM_I32:
    case WASM_IMM_I64:
    case WASM_IMM_F32:
    case WASM_IMM_F64: return true;
    case WASM_IMM_LABEL: return event.op == WASM_OP_BR || event.op == WASM_OP_BR_IF;
    case WASM_IMM_MEMORY: return event.op != WASM_OP_MEMORY_FILL;
    default: return false;
    }
}

static bool engine_gives(const Code *c, const Expr *e) {
    const Known *k = e->kind == EXPR_NAME ? find_known(e->bound.id) : NULL;
    if (!k || k->param == PARAM_NONE || (k->param == PARAM_PC && c->at_end))
        return false;
    return k->param != PARAM_IMM || engine_has_immediate(c->event);
}

/* A number that the engine supplies, perhaps converted. */
static bool monitor_body_is_direct(const Code *c, const Expr *e) {
    if (e->kind == EXPR_CAST)
        return e->type->kind <= TYPE_BOOL && monitor_body_is_direct(c, e->args[0]) &&
               gen_is_plain(e);
    return e->type->kind <= TYPE_BOOL && engine_gives(c, e);
}

/* Whether it is the same wherever the event happens; then its value. */
static bool is_fixed(const Code *c, const Expr *e, Value *v) {
    return known_value(c->event, e, v);
}

static Ref monitor_body_put_value(Code *c, const Type *type, Value v) {
    if (v.kind == TYPE_STR)
        return const_i32(&c->b, c->g->in->text_at(c->g->in->ctx, v.text));
    return gen_number(&c->b, type, v);
}

static Ref monitor_body_fail(Code *c, const char *what) {
    c->g->failed = what;
    return code_trap(c->b.module);
}

/* At script scope there is more that is static than an engine tells. */
static Ref fail_known(Code *c, const Expr *e) {
    Diag *d = diag(c->g->diags, DIAG_MONITOR_CANNOT, e->span,
                   "the value of '%.*s' is not known to a monitor", STR_ARG(e->name));
    diag_hint(c->g->diags, d, "compile with `whammc instr`");
    return code_trap(c->b.module);
}

static Ref get_known(Body *b, const Expr *e) {
    Code *c = b->ctx;
    Value v;
    if (is_fixed(c, e, &v))
        return monitor_body_put_value(c, e->type, v);
    if (e->kind == EXPR_INDEX) {
        Ref args[] = {place_fid(c), place_pc(c), gen_known(b, e->args[0])};
        return from_bits(c, e->type, runtime_call(c, "site_table_target", "iii", "l", args), 'l');
    }
    if (e->kind == EXPR_CALL && e->bound.id == FN_PAGE_SIZE)
        return from_bits(
            c, e->type,
            runtime_call(c, "site_page_size", "i", "l", (Ref[]){gen_known(b, e->args[0])}), 'l');
    const Known *k = e->kind == EXPR_NAME ? find_known(e->bound.id) : NULL;
    if (!k)
        return fail_known(c, e);
    if (!c->asks)
        return ask_runtime(c, k, e);
    if (k->param == PARAM_OFFSET)
        return from_bits(c, e->type, ask(c, PARAM_OFFSET, 0, WASM_I64), 'l');
    return ask(c, k->param, k->param == PARAM_IMM ? e->bound.n : 0, gen_type(e->type));
}

/* The value of a constant of the variant. */
static Ref get_const(Body *b, uint32_t n) {
    Code *c = b->ctx;
    const Expr *e = b->variant->consts.at[n];
    Value v;
    if (is_fixed(c, e, &v))
        return monitor_body_put_value(c, e->type, v);
    if (!c->asks || monitor_body_is_direct(c, e))
        return gen_known(b, e);
    return ask_callback(c, callback_value(c, e), e, gen_type(e->type));
}

/* ---- holes ---- */

/* A leaf of a script or shared variable. */
static const char *variable_name(Code *c, uint32_t n, WasmType type) {
    char name[16];
    snprintf(name, sizeof name, "%u", n);
    const char *kept = arena_strndup(c->g->arena, name, strlen(name));
    code_import_global(c->b.module, kept, "var", kept, type);
    return kept;
}

/* A leaf of a tuple that a function returns goes through a global. */
static const char *leaf_name(Code *c, uint32_t n, WasmType type) {
    return arena_printf(c->g->arena, "leaf.%u%c", n, gen_type_letter(type));
}

/* A built-in function on memories (Plan.memory_calls). */
static Ref call_memory(Body *b, uint32_t n, const Refs *args, const WasmType *params,
                       WasmType result) {
    Code *c = b->ctx;
    uint32_t nargs = args ? args->len : 0;
    const char *name = arena_printf(c->g->arena, "mem%u", n);
    return call_import(b, "mem", name + 3, name, args ? args->at : NULL, params, nargs, result);
}

static Ref get_hole(Body *b, HoleKind kind, uint32_t n, WasmType type) {
    Code *c = b->ctx;
    switch (kind) {
    case HOLE_CONST: return get_const(b, n);
    case HOLE_ARG: return ask(c, PARAM_ARG, n, type);
    case HOLE_LOCAL: return ask(c, PARAM_LOCAL, n, type);
    case HOLE_BACK: return own_get(c, monitor_back, type);
    case HOLE_NUMBER: return ask(c, PARAM_PROBE_ID, 0, type);
    case HOLE_WIDE:
        return code_op1(b->module, WASM_OP_I64_EXTEND_I32_U, ask(c, PARAM_ARG, n, WASM_I32));
    case HOLE_VAR: return code_global(b->module, variable_name(c, n, type), type);
    case HOLE_TEXT:
        return const_i32(b, c->g->in->text_at(c->g->in->ctx, c->g->in->plan->texts.list.at[n]));
    case HOLE_PAGE: return const_i32(b, values_kept_page(n));
    case HOLE_GOT: return own_get(c, leaf_name(c, n, type), type);
    case HOLE_MEMORY: return call_memory(b, n, NULL, NULL, type);
    default: return monitor_body_fail(c, "a hole");
    }
}

static Ref set_hole(Body *b, HoleKind kind, uint32_t n, WasmType type, Ref value) {
    Code *c = b->ctx;
    switch (kind) {
    case HOLE_VAR: return code_set_global(b->module, variable_name(c, n, type), value);
    case HOLE_GIVE: return own_set(c, leaf_name(c, n, type), value);
    default: return monitor_body_fail(c, "a hole that is set");
    }
}

/* A call of a library's function; the leaves of a tuple that it returns go to globals. */
static Ref call_library(Body *b, uint32_t n, const Refs *args, const WasmType *params,
                        WasmType result) {
    Code *c = b->ctx;
    const Type *type = c->g->in->plan->library_fns.at[n].result;
    uint32_t leaves = type ? type_leaves(type) : 0, nargs = args ? args->len : 0;
    Ref *operands = args ? args->at : NULL;
    const char *name = arena_printf(c->g->arena, "lib%u", n);
    if (leaves < 2)
        return call_import(b, "lib", name + 3, name, operands, params, nargs, result);
    WasmType *types = arena_array(c->g->arena, WasmType, leaves);
    const char **globals = arena_array(c->g->arena, const char *, leaves);
    for (uint32_t i = 0; i < leaves; i++) {
        types[i] = gen_type(type_leaf(type, i));
        globals[i] = leaf_name(c, i, types[i]);
    }
    WasmTypeDef def = {.params = params, .nparams = nargs, .results = types, .nresults = leaves};
    code_import_func(b->module, name, "lib", name + 3, &def);
    return code_call_into(b->module, name, operands, nargs, globals, types, leaves);
}

/* The data of a report is collected once, when the program has ended. */
static Ref fail_flush(Code *c, uint32_t n) {
    const LibraryFn *f = &c->g->in->plan->library_fns.at[n];
    bool ends = f->bundled && strcmp(f->bundled->library, ".print") == 0; /* check/print.c */
    Diag *d =
        diag(c->g->diags, DIAG_MONITOR_CANNOT, f->called,
             ends ? "a monitor cannot end the program"
                  : "a monitor reports only once, when the engine signals the end of the program");
    diag_hint(c->g->diags, d, "compile with `whammc instr`");
    return code_trap(c->b.module);
}

/* Monitors are modules of their own: state for each activation would cost a call. */
static Ref fail_stack(Code *c) {
    const Plan *plan = c->g->in->plan;
    Span called = {0};
    for (uint32_t i = plan->library_fns.len; i-- > 0;) {
        const LibraryFn *f = &plan->library_fns.at[i];
        if (f->bundled && bundled_kind(f->bundled) == BUNDLED_STACK)
            called = f->called;
    }
    Diag *d = diag(c->g->diags, DIAG_MONITOR_CANNOT, called,
                   "a monitor has no library 'stack', which becomes code of the program");
    diag_hint(c->g->diags, d, "compile with `whammc instr`");
    return code_trap(c->b.module);
}

/* Word min(index, number of targets) of the list that a callback makes for the location. */
static Ref target_depth(Body *b, Ref index) {
    enum { STR_BYTES = 4 };
    Code *c = b->ctx;
    CodeModule *m = b->module;
    WasmType i32 = WASM_I32;
    uint32_t n = gen_temp(b, i32);
    Ref list = ask_callback(c, callback_targets(c), NULL, i32);
    Ref count = ask(c, PARAM_NUM_TARGETS, 0, i32), count_again = ask(c, PARAM_NUM_TARGETS, 0, i32);
    Ref inside = code_op2(m, WASM_OP_I32_LT_U, code_get(m, n, i32), count);
    Ref chosen = /* its condition is evaluated last */
        code_select(m, inside, code_tee(m, n, index), count_again);
    Ref at = code_op2(m, WASM_OP_I32_SHL, chosen, const_i32(b, 2));
    return gen_load_word(b, code_op2(m, WASM_OP_I32_ADD, list, at), STR_BYTES);
}

static Ref call_hole(Body *b, HoleKind kind, uint32_t n, const Refs *args, const WasmType *params,
                     WasmType result) {
    Code *c = b->ctx;
    uint32_t nargs = args ? args->len : 0;
    switch (kind) {
    case HOLE_HELPER:
        c->g->text |= n >= HELPER_PUTC && n <= HELPER_FLUSH;
        return call_import(b, "rt", helper_infos[n].name, helper_infos[n].name,
                           args ? args->at : NULL, params, nargs, result);
    case HOLE_LIBRARY: return call_library(b, n, args, params, result);
    case HOLE_FLUSH: return fail_flush(c, n);
    case HOLE_STACK: return fail_stack(c);
    case HOLE_MEMORY: return call_memory(b, n, args, params, result);
    case HOLE_DEPTH: return target_depth(b, args->at[0]);
    default: return monitor_body_fail(c, "a function");
    }
}

static Ref get_atom(Body *b, uint32_t n) {
    Code *c = b->ctx;
    if (!c->unit || !c->unit->dynamic)
        return const_i32(b, b->atoms >> n & 1);
    const UnitBit *bit = &c->part->bits[n];
    if (bit->atom == UNIT_KNOWN)
        return const_i32(b, bit->value);
    return atom_bit(c, bit->atom, bit->value);
}

static Ref monitor_body_get_text(Body *b, Str s) {
    Code *c = b->ctx;
    return const_i32(b, c->g->in->text_at(c->g->in->ctx, s));
}

static const char *static_name(Code *c, const Expr *e) {
    uint64_t *n = map_get(&c->g->statics, (Str){(char *)&e, sizeof e});
    return n ? arena_printf(c->g->arena, "static%u", (uint32_t)*n) : NULL;
}

/* '@static' calls in functions of scripts are made once, at start. */
static Ref get_called(Body *b, const Expr *e) {
    Code *c = b->ctx;
    const char *name = static_name(c, e);
    return name ? own_get(c, name, gen_type(e->type)) : NULL;
}

Ref set_static(Code *c, const Expr *e) {
    uint64_t n = c->g->nstatics++;
    Ref value = gen_library_call(&c->b, e);
    bool added;
    map_put(&c->g->statics, (Str){arena_strndup(c->g->arena, (char *)&e, sizeof e), sizeof e}, n,
            &added);
    return own_set(c, static_name(c, e), value);
}

static Ref get_address(Body *b, uint32_t var, uint32_t *offset) {
    Code *c = b->ctx;
    const MonitorInput *in = c->g->in;
    if (in->plan->vars.at[var].decl->storage == STORAGE_FRAME) {
        *offset = in->frame_at[var];
        return own_get(c, "frame", WASM_I32);
    }
    const MonitorRecord *r = code_record(c);
    const MonitorField *f = r ? monitor_field(r, c->part, var) : NULL;
    if (f) {
        *offset = f->offset;
        return c->record >= 0 ? code_get(b->module, (uint32_t)c->record, WASM_I32)
                              : ask_record(c, r);
    }
    return monitor_body_fail(c, "a variable");
}

static bool get_decided(const Expr *e, Value *v) {
    return known_value((Event){.kind = EVENT_BEGIN}, e, v);
}

const HoleOps attach_ops = {.get = get_hole,
                            .set = set_hole,
                            .call = call_hole,
                            .atom = get_atom,
                            .known = get_known,
                            .decided = get_decided,
                            .text = monitor_body_get_text,
                            .called = get_called,
                            .address = get_address};
