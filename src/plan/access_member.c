/*
 * plan/access_member.c - values by their names in the source: args.size, locals.i, this.next.x.
 *
 * DWARF says where variables are, but compilers' descriptions of locals are not always right: a
 * local that several variables share can be described as if it belonged to one of them for longer
 * than it does. So a local counts only where nothing assigns it in the range of its description,
 * and the frame's address only if it is assigned once. Rather no value than a wrong one.
 */
#include "plan/access_parts.h"

#include <assert.h>

#define T(K) (&type_scalar[TYPE_##K])

enum { STEPS_MAX = 32, NESTING_MAX = 8 };

/* A value that is being found: of an expression, or (`object`) what is at that address plus
 * `offset`. */
typedef struct Member {
    Finder *f;
    Dwarf *d;
    Access access;
    AccessStep steps[STEPS_MAX];
    uint32_t type; /* of DWARF */
    bool object;
    uint32_t offset;
} Member;

/* Where the event is. */
typedef struct Here {
    uint32_t func, start; /* the address of its body */
    uint32_t address;
    bool entry; /* before its first instruction: parameters are locals, or (`call`) operands */
    bool call;
} Here;

/* ---- assigned locals ---- */

static void find_sets(Finder *f, uint32_t func) {
    WasmCode code;
    WasmInstr i;
    if (f->sets_of == func)
        return;
    f->sets_of = func;
    f->sets.len = 0;
    if (!wasm_func_code(f->m, func, &code))
        return;
    while (wasm_next(&code, &i))
        if (i.op == WASM_OP_LOCAL_SET || i.op == WASM_OP_LOCAL_TEE)
            vec_push(&f->sets, ((LocalSet){i.offset, i.a}));
}

/* How often a local is assigned at offsets [from, to) of the body; *first is where. */
static uint32_t count_sets(Finder *f, uint32_t func, uint32_t local, uint32_t from, uint32_t to,
                           uint32_t *first) {
    uint32_t n = 0;
    find_sets(f, func);
    for (uint32_t i = 0; i < f->sets.len; i++) {
        const LocalSet *s = &f->sets.at[i];
        if (s->local != local || s->pc < from || s->pc >= to)
            continue;
        if (!n++)
            *first = s->pc;
    }
    return n;
}

/* ---- types ---- */

/* The WebAssembly type of a value; *by_address: its address is passed. WASM_NONE: not known. */
static WasmType class_of(Dwarf *d, uint32_t type, bool *by_address) {
    DwarfField only;
    *by_address = false;
    for (uint32_t i = 0; i < NESTING_MAX; i++) {
        DwarfType t = dwarf_type(d, type);
        switch (t.kind) {
        case DWARF_FLOAT: return t.size == 4 ? WASM_F32 : WASM_F64;
        case DWARF_SIGNED:
        case DWARF_UNSIGNED:
        case DWARF_BOOL:
        case DWARF_CHAR:
        case DWARF_POINTER: return t.size == 8 ? WASM_I64 : WASM_I32;
        case DWARF_STRUCT: break;
        default: return WASM_NONE;
        }
        if (!dwarf_only_field(d, t.entry, &only)) {
            *by_address = true;
            return t.size > 1 ? WASM_I32 : WASM_NONE; /* an empty one is not passed */
        }
        type = only.type;
    }
    return WASM_NONE;
}

/* How a number is read from memory, and its type. */
static const char *number_read(const DwarfType *t, const Type **type) {
    static const char *const reads[2][4] = {{"read_u8", "read_u16", "read_u32", "read_u64"},
                                            {"read_i8", "read_i16", "read_i32", "read_i64"}};
    static const TypeKind kinds[2][4] = {{TYPE_U8, TYPE_U16, TYPE_U32, TYPE_U64},
                                         {TYPE_I8, TYPE_I16, TYPE_I32, TYPE_I64}};
    uint32_t size = t->size == 1 ? 0 : t->size == 2 ? 1 : t->size == 4 ? 2 : 3;
    bool is_signed = t->is_signed || t->kind == DWARF_SIGNED;
    if (t->kind == DWARF_FLOAT) {
        *type = t->size == 4 ? T(F32) : T(F64);
        return t->size == 4 ? "read_f32" : "read_f64";
    }
    *type = t->kind == DWARF_BOOL ? T(BOOL) : &type_scalar[kinds[is_signed][size]];
    return reads[is_signed][size];
}

/* ---- steps ---- */

static bool add_step(Member *m, uint32_t offset, const char *read) {
    if (m->access.nsteps == STEPS_MAX)
        return access_fail(m->f, "it is nested too deeply");
    m->steps[m->access.nsteps++] = (AccessStep){offset, read};
    return true;
}

/* From a pointer to what it points to. */
static bool follow(Member *m, const DwarfType *pointer) {
    if (m->object && !add_step(m, m->offset, pointer->size == 8 ? "read_u64" : "read_u32"))
        return false;
    m->object = true;
    m->offset = 0;
    m->type = pointer->target;
    return true;
}

/* To a field, through a pointer if it is one. */
static bool step_field(Member *m, Str name) {
    DwarfType t = dwarf_type(m->d, m->type);
    DwarfField field;
    if (t.kind == DWARF_POINTER) {
        if (!follow(m, &t))
            return false;
        t = dwarf_type(m->d, m->type);
    }
    if (t.kind != DWARF_STRUCT)
        return access_fail(m->f, "what is before '%.*s' is no struct, or only declared here",
                           STR_ARG(name));
    if (!m->object)
        return access_fail(m->f, "the struct is not in memory there");
    if (!dwarf_field(m->d, t.entry, name, &field))
        return access_fail(m->f, "the struct has no member '%.*s'", STR_ARG(name));
    if (field.bits)
        return access_fail(m->f, "'%.*s' is a bit field", STR_ARG(name));
    m->offset += (uint32_t)field.offset;
    m->type = field.type;
    return true;
}

static bool step_item(Member *m, uint64_t index) {
    DwarfType t = dwarf_type(m->d, m->type);
    if (t.kind == DWARF_POINTER) {
        if (!follow(m, &t))
            return false;
    } else if (t.kind != DWARF_ARRAY || !m->object) {
        return access_fail(m->f, "what is before the index is no array");
    } else if (t.count && index >= t.count) {
        return access_fail(m->f, "the array has %llu elements", (unsigned long long)t.count);
    } else {
        m->type = t.target;
    }
    DwarfType element = dwarf_type(m->d, m->type);
    if (!element.size || element.size > UINT32_MAX || index > UINT32_MAX)
        return access_fail(m->f, "the size of the elements is not known");
    m->offset += (uint32_t)(index * element.size);
    return true;
}

/* The value at the end of the steps. */
static bool finish(Member *m) {
    DwarfType t = dwarf_type(m->d, m->type);
    Access *a = &m->access;
    DwarfType target = t.kind == DWARF_POINTER || t.kind == DWARF_ARRAY ? dwarf_type(m->d, t.target)
                                                                        : (DwarfType){0};
    a->of_text = target.kind == DWARF_CHAR || (t.kind == DWARF_POINTER && !t.target);
    if (t.kind == DWARF_UNKNOWN)
        return access_fail(m->f, "its type has no counterpart in scripts");
    if (t.kind == DWARF_STRUCT || t.kind == DWARF_ARRAY) {
        a->what = t.kind == DWARF_STRUCT ? "a struct" : "an array";
        a->type = T(U32);
        if (!m->object)
            return access_fail(m->f, "the struct is not in memory there");
        return !m->offset || add_step(m, m->offset, NULL);
    }
    const char *read = number_read(&t, &a->type);
    return !m->object || add_step(m, m->offset, read);
}

/* ---- variables ---- */

/* Begins with a local, which has this type; at a call with the operand that becomes it. */
static bool start_local(Member *m, const Here *here, uint32_t local, WasmType type) {
    uint32_t nparams = wasm_func_type(m->f->m, here->func)->nparams;
    const Type *t = access_type(type);
    assert(t);
    m->access.start = (Bound){.id = NAME_LOCAL, .n = local, .type = t};
    if (!here->call)
        return true;
    if (local >= nparams)
        return access_fail(m->f, "it is no parameter");
    m->access.start = (Bound){.id = NAME_ARG, .n = nparams - 1 - local, .type = t};
    return true;
}

/* The type of a local of the function; WASM_NONE: there is none. */
static WasmType local_type(Finder *f, const Here *here, uint32_t local) {
    const WasmTypeDef *t = wasm_func_type(f->m, here->func);
    if (local < t->nparams)
        return t->params[local];
    if (here->entry)
        return WASM_NONE;
    const char *error;
    WasmTypes locals = {0};
    wasm_func_locals(f->m, here->func, &locals, &error);
    WasmType type = local < locals.len ? locals.at[local] : WASM_NONE;
    vec_free(&locals);
    return type;
}

/* A parameter by the order of parameters, in a function whose parameters are those of the source.
 */
static bool start_by_order(Member *m, const Here *here, Str name) {
    const WasmTypeDef *t = wasm_func_type(m->f->m, here->func);
    DwarfSignature s;
    bool by_address, found = false;
    static const char other[] = "the parameters of the function are not those of the source";
    if (!dwarf_signature(m->d, here->start, &s) || s.changed)
        return access_fail(m->f, other);
    DwarfField only;
    DwarfType result = dwarf_type(m->d, s.result);
    uint32_t extra = result.kind == DWARF_STRUCT && !dwarf_only_field(m->d, result.entry, &only);
    if (t->nparams != s.nparams + extra + s.variadic || (extra && t->params[0] != WASM_I32))
        return access_fail(m->f, other);
    for (uint32_t i = 0; i < s.nparams; i++) {
        WasmType class = class_of(m->d, s.params[i].type, &by_address);
        if (class != t->params[i + extra])
            return access_fail(m->f, other);
        if (found || !str_eq(s.names[i], name))
            continue;
        found = true;
        DwarfType type = dwarf_type(m->d, s.params[i].type);
        if (type.kind == DWARF_STRUCT && !by_address)
            return access_fail(m->f, "whether the struct or its address is passed is not recorded");
        if (!start_local(m, here, i + extra, class))
            return false;
        m->object = by_address;
        m->type = s.params[i].type;
    }
    return found || access_fail(m->f, other);
}

/* A value, or an address, that is in a local. */
static bool start_in_local(Member *m, const Here *here, const DwarfPlace *p) {
    Finder *f = m->f;
    bool by_address, object = p->where != DWARF_IN_LOCAL;
    WasmType type = local_type(f, here, p->local);
    WasmType wanted = object ? WASM_I32 : class_of(m->d, m->type, &by_address);
    uint32_t first, from = p->start > here->start ? p->start - here->start : 0;
    if (type == WASM_NONE || (type != wanted && !(object && type == WASM_I64)))
        return access_fail(f, "the local that it should be in has another type");
    if (!object && (p->offset || by_address))
        return access_fail(f, "the compiler computes it there from other values");
    if (!here->entry && count_sets(f, here->func, p->local, from,
                                   p->end > here->start ? p->end - here->start : 0, &first))
        return access_fail(f, "the local that it is in is used for other values, too");
    m->object = object;
    m->offset = (uint32_t)p->offset;
    return start_local(m, here, p->local, type);
}

/* In the frame, whose address a local has once the prologue has run. */
static bool start_in_frame(Member *m, const Here *here, Str name, const DwarfVariable *v) {
    Finder *f = m->f;
    uint32_t first = 0, pc = here->address - here->start;
    if (here->entry || here->address < dwarf_prologue_end(m->d, here->address)) {
        if (!v->param)
            return access_fail(f, "the function has no frame yet");
        Here entry = *here;
        entry.entry = true;
        return start_by_order(m, &entry, name);
    }
    uint32_t sets = count_sets(f, here->func, v->place.local, 0, UINT32_MAX, &first);
    if (sets != 1 || first >= pc || v->place.local < wasm_func_type(f->m, here->func)->nparams)
        return access_fail(f, "the address of the function's frame is not known there");
    WasmType type = local_type(f, here, v->place.local);
    if (type != WASM_I32 && type != WASM_I64)
        return access_fail(f, "the address of the function's frame is not known there");
    m->object = true;
    m->offset = (uint32_t)v->place.offset;
    return start_local(m, here, v->place.local, type);
}

/* Addresses in a module that is loaded anywhere are not those of DWARF. */
static bool is_relocated(const WasmModule *m) {
    for (uint32_t i = 0; i < m->imports.len; i++)
        if (str_is(m->imports.at[i].name, "__memory_base"))
            return true;
    return false;
}

static bool start_variable(Member *m, const Here *here, Str name, bool param) {
    Finder *f = m->f;
    DwarfVariable v;
    if (!dwarf_variable(m->d, here->address, name, &v) || (param && !v.param))
        return access_fail(f, "the source has no %s '%.*s' there", param ? "parameter" : "variable",
                           name.len > 60 ? 60 : (int)name.len, name.ptr);
    m->type = v.type;
    switch (v.place.where) {
    case DWARF_NOWHERE: return access_fail(f, "%s", v.place.why);
    case DWARF_IN_LOCAL:
    case DWARF_AT_LOCAL: return start_in_local(m, here, &v.place);
    case DWARF_IN_FRAME: return start_in_frame(m, here, name, &v);
    case DWARF_IN_MEMORY:
        if (is_relocated(f->m))
            return access_fail(f, "its address is known only when the program is loaded");
        m->access.constant = m->object = true;
        m->access.start = (Bound){.value = (uint32_t)v.place.offset, .type = T(U32)};
        return true;
    case DWARF_NUMBER: {
        DwarfType t = dwarf_type(m->d, v.type);
        if (t.kind == DWARF_FLOAT || t.kind == DWARF_STRUCT || t.kind == DWARF_ARRAY)
            return access_fail(f, "the compiler has replaced it by a constant");
        m->access.constant = true;
        m->access.start = (Bound){.value = (uint64_t)v.place.offset, .type = T(I64)};
        return true;
    }
    }
    return false;
}

/* ---- the whole ---- */

/* Finds the function whose variables are meant, and the address. */
static bool find_here(Finder *f, const Event *e, bool args, Here *out) {
    const Site *s = f->site;
    bool call = e->kind == EVENT_OPCODE && (e->op == WASM_OP_CALL || e->op == WASM_OP_RETURN_CALL);
    *out = (Here){.func = s->func, .entry = e->kind == EVENT_FUNC_ENTRY};
    if (args && e->kind == EVENT_OPCODE) {
        if (!call)
            return access_fail(f, "only direct calls have arguments with names; a parameter of the "
                                  "function is locals.NAME");
        *out = (Here){.func = s->instr->a, .entry = true, .call = true};
        if (f->m->funcs.at[out->func].import >= 0)
            return access_fail(f, "an imported function has no names of parameters");
    }
    return true;
}

bool access_member(Finder *f, const Event *e, const Expr *access, Access *out) {
    const Expr *chain[STEPS_MAX];
    uint32_t n = 0;
    Str root = {0};
    for (const Expr *at = access; at->kind == EXPR_MEMBER; at = at->args[0]) {
        if (n == STEPS_MAX)
            return access_fail(f, "it is nested too deeply");
        chain[n++] = at;
        root = at->args[0]->name;
    }
    bool args = str_is(root, "args"), self = str_is(root, "this");
    if (!n || chain[n - 1]->args[0]->kind != EXPR_NAME || (!self && !chain[n - 1]->name.len))
        return access_fail(f, "expected the name of a variable after '%.*s.'", STR_ARG(root));
    Here here;
    Member m = {.f = f};
    if (!find_here(f, e, args, &here))
        return false;
    m.d = f->locator ? locations_values(locator_open(f->locator, f->m), here.func, &here.start)
                     : NULL;
    if (!m.d)
        return access_fail(f, "the program has no DWARF");
    here.address = here.start;
    if (!here.entry)
        here.address += f->site->pc;
    if (e->mode == MODE_AFTER && !here.call)
        here.address += f->site->instr->size;
    Str name = self ? root : chain[--n]->name;
    if (!start_variable(&m, &here, name, args))
        return false;
    while (n--)
        if (chain[n]->name.len ? !step_field(&m, chain[n]->name)
                               : !step_item(&m, chain[n]->args[1]->integer))
            return false;
    if (!finish(&m))
        return false;
    *out = m.access;
    out->steps = arena_array(&f->plan->arena, AccessStep, m.access.nsteps);
    memcpy((void *)(uintptr_t)out->steps, m.steps, m.access.nsteps * sizeof *m.steps);
    return true;
}
