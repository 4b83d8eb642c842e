/*
 * event/bound_name.c - which bound names an event has, and their types: read from event.def and
 * from the names column of wasm/opcode.def; operands with a fixed type follow from the operands
 * column.
 */
#include "event/event.h"

#include <assert.h>
#include <stdio.h>

enum {
    U8 = TYPE_U8,
    U16 = TYPE_U16,
    U32 = TYPE_U32,
    I32 = TYPE_I32,
    U64 = TYPE_U64,
};
enum {
    BOOL = TYPE_BOOL,
    STR = TYPE_STR,
    FUNCREF = TYPE_FUNCREF,
    MAP = TYPE_MAP,
    OPEN = TYPE_ERROR
};
#define T(KIND) (&type_scalar[TYPE_##KIND])
typedef enum Where { EVERYWHERE, ALWAYS, OPCODE, LISTED } Where;
typedef enum Life { STATIC, DYNAMIC } Life;

static const struct {
    const char *text, *doc;
    uint32_t len; /* of text */
    int type;
    Life life;
    Where where;
} names[NAME_COUNT] = {
#define NAME(id, text, type, life, where, doc) {text, doc, sizeof text - 1, type, life, where},
#include "event/event.def"
};

const NameInfo name_infos[NAME_COUNT] = {
#define NAME(id, text, type, life, where, doc) {text, doc, life == STATIC, (int)type == (int)OPEN},
#include "event/event.def"
};

bool event_name_is_numbered(NameId id) {
    return id == NAME_ARG || id == NAME_RES || id == NAME_LOCAL || id == NAME_GLOBAL ||
           id == NAME_IMM;
}

/* Splits "arg12" into the family ("arg") and 12. */
static bool bound_name_numbered(Str name, NameId *id, uint32_t *n) {
    static const struct {
        const char *prefix;
        uint32_t len;
        NameId id;
    } families[] = {{"arg", 3, NAME_ARG},
                    {"res", 3, NAME_RES},
                    {"local", 5, NAME_LOCAL},
                    {"global", 6, NAME_GLOBAL},
                    {"imm", 3, NAME_IMM}};
    for (uint32_t f = 0; f < sizeof families / sizeof *families; f++) {
        uint32_t len = families[f].len;
        if (name.len <= len || name.len > len + 7 || memcmp(name.ptr, families[f].prefix, len) != 0)
            continue;
        if (name.ptr[len] == '0' && name.len > len + 1)
            return false;
        *n = 0;
        for (uint32_t i = len; i < name.len; i++) {
            if (name.ptr[i] < '0' || name.ptr[i] > '9')
                return false;
            *n = *n * 10 + (uint32_t)(name.ptr[i] - '0');
        }
        *id = families[f].id;
        return true;
    }
    return false;
}

/* The rest of the item `name` in a names column: the text after the name ("u32:d=arg0", "" or
 * "()"), or NULL. */
static const char *column_item(const char *column, const char *name, size_t len) {
    for (const char *p = column; *p;) {
        size_t item = strcspn(p, " ");
        size_t word = strcspn(p, ":( ");
        if (word == len && memcmp(p, name, len) == 0)
            return p + word;
        p += item;
        p += strspn(p, " ");
        /* expressions have blanks only around "as": skip the rest of such an item */
        while (strncmp(p, "as ", 3) == 0) {
            p += 3;
            p += strcspn(p, " ");
            p += strspn(p, " ");
        }
    }
    return NULL;
}

static const Type *type_word(const char *s) {
    size_t n = strcspn(s, ": ");
    for (uint32_t k = 0; k <= TYPE_FUNCREF; k++)
        if (strlen(type_scalar[k].text) == n && memcmp(type_scalar[k].text, s, n) == 0)
            return &type_scalar[k];
    return NULL;
}

static const Type *letter_type(char letter) {
    switch (letter) {
    case 'i': return &type_scalar[TYPE_I32];
    case 'l': return &type_scalar[TYPE_I64];
    case 'f': return &type_scalar[TYPE_F32];
    case 'd': return &type_scalar[TYPE_F64];
    case 'a': return &type_scalar[TYPE_U32];
    default: return NULL;
    }
}

/* argN or resN: a fixed type from the names column, else from the signature letters, else open
 * where the instruction's types depend on the site. */
static bool narrow_operand(WasmOp op, bool result, uint32_t n, const Type **type) {
    const WasmOpInfo *info = &wasm_ops[op];
    char word[16];
    snprintf(word, sizeof word, "%s%u", result ? "res" : "arg", n);
    const char *item = column_item(info->names, word, strlen(word));
    if (item) {
        *type = type_word(item + 1);
        return true;
    }
    const char *letters = result ? info->results : info->operands;
    *type = NULL;
    if (*letters == '*')
        return op != WASM_OP_END && op != WASM_OP_ELSE && op != WASM_OP_BR &&
               op != WASM_OP_DELEGATE;
    size_t count = strlen(letters);
    if (n >= count || letters[count - 1 - n] == 'v')
        return false;
    *type = letter_type(letters[count - 1 - n]);
    return true;
}

bool operand_is_address(WasmOp op, bool result, uint32_t n) {
    assert(op < WASM_OP_COUNT);
    const char *letters = result ? wasm_ops[op].results : wasm_ops[op].operands;
    size_t count = strlen(letters);
    if (*letters == '*') /* the table index on top of the arguments */
        return !result && n == 0 &&
               (op == WASM_OP_CALL_INDIRECT || op == WASM_OP_RETURN_CALL_INDIRECT);
    return n < count && letters[count - 1 - n] == 'a';
}

bool event_is_wide(Event e, bool result, uint32_t n) {
    assert(e.kind == EVENT_OPCODE);
    unsigned bit = result ? WIDE_RESULT : n < 7 ? 1u << n : 0;
    return e.wide & bit && operand_is_address(e.op, result, n);
}

/* The type of an address at an event: 32 bits, or Event.wide. */
static const Type *address_type(Event e, bool result, uint32_t n, const Type *narrow) {
    if (!narrow || !event_is_wide(e, result, n))
        return narrow;
    return type_is_signed(narrow) ? T(I64) : T(U64);
}

static bool operand_lookup(Event e, bool result, uint32_t n, const Type **type) {
    if (!narrow_operand(e.op, result, n, type))
        return false;
    *type = address_type(e, result, n, *type);
    return true;
}

/* Names of the LISTED kind that follow from the instruction rather than from its names column. Some
 * are static or not by that column. */
static bool listed(WasmOp op, NameId id, const Type **type, bool *is_static) {
    const WasmOpInfo *info = &wasm_ops[op];
    uint32_t addr_arg;
    bool writes;
    bool access = column_item(info->names, "mem", 3) != NULL;
    switch (id) {
    case NAME_ADDR:
    case NAME_EFFECTIVE_ADDR:
    case NAME_OFFSET:
    case NAME_ALIGN:
    case NAME_MEMORY:
    case NAME_IS_WRITE: *type = &type_scalar[names[id].type]; return access;
    case NAME_DATA_SIZE:
        *type = &type_scalar[names[id].type];
        return access && op_access(op, &addr_arg, &writes) > 0;
    case NAME_TAKEN:
        *type = &type_scalar[TYPE_BOOL];
        return op == WASM_OP_BR || op == WASM_OP_BR_IF || op == WASM_OP_IF ||
               op == WASM_OP_BR_ON_NULL || op == WASM_OP_BR_ON_NON_NULL ||
               op == WASM_OP_BR_ON_CAST || op == WASM_OP_BR_ON_CAST_FAIL ||
               op == WASM_OP_BR_ON_CAST_DESC_EQ || op == WASM_OP_BR_ON_CAST_DESC_EQ_FAIL;
    case NAME_TRAP: *type = &type_scalar[TYPE_BOOL]; return op_can_trap(op);
    default: break;
    }
    const char *item = column_item(info->names, names[id].text, strlen(names[id].text));
    if (!item || *item != ':')
        return false;
    static const Type targets = {.kind = TYPE_MAP,
                                 .text = "map<u32,u32>",
                                 .key = &type_scalar[TYPE_U32],
                                 .value = &type_scalar[TYPE_U32],
                                 .depth = 1};
    *type = id == NAME_TARGETS               ? &targets
            : names[id].type <= TYPE_FUNCREF ? &type_scalar[names[id].type]
                                             : type_word(item + 1);
    const char *life = item + 1 + strcspn(item + 1, ": ");
    *is_static = *life == ':' && life[1] == 's';
    return true;
}

uint32_t op_access(WasmOp op, uint32_t *addr_arg, bool *writes) {
    const char *item = column_item(wasm_ops[op].names, "mem", 3);
    if (!item)
        return 0;
    const char *arg = strchr(item, ',') + sizeof ",arg" - 1; /* "(4,arg0,r)" */
    *addr_arg = (uint32_t)(*arg - '0');
    *writes = arg[2] == 'w';
    return wasm_access_bytes(op);
}

bool op_constant(WasmOp op, NameId id, uint64_t *value) {
    const WasmOpInfo *info = &wasm_ops[op];
    uint32_t addr_arg;
    bool writes;
    switch (id) {
    case NAME_BYTECODE: *value = (uint32_t)info->prefix << 8 | info->code; return true;
    case NAME_CATEGORY_ID: *value = info->category; return true;
    case NAME_DATA_SIZE: *value = op_access(op, &addr_arg, &writes); return true;
    default: return false;
    }
}

/* Names that were once others. Like new names they may be declared. */
static bool is_old_name(Str *name) {
    if (str_is(*name, "op_name"))
        *name = STR("opname");
    else if (str_is(*name, "is_func_end"))
        *name = STR("at_func_end");
    else
        return false;
    return true;
}

/* The tag of an operand, a result or a local. Those of operands are gone after the instruction. */
static bool tag_lookup(Event e, Str name, Bound *out) {
    NameId id;
    uint32_t n;
    const Type *type;
    Str suffix = STR(".tag");
    uint32_t len = name.len > suffix.len ? name.len - suffix.len : 0;
    if (!str_eq((Str){name.ptr + len, name.len - len}, suffix) ||
        !bound_name_numbered((Str){name.ptr, len}, &id, &n) || event_is_nowhere(e.kind))
        return false;
    bool code = e.kind == EVENT_OPCODE, after = e.mode == MODE_AFTER;
    bool has = id == NAME_LOCAL ||
               (id == NAME_ARG && code && (e.mode == MODE_BEFORE || e.mode == MODE_ALT) &&
                operand_lookup(e, false, n, &type)) ||
               (id == NAME_RES && (e.kind == EVENT_FUNC_EXIT ||
                                   (code && after && operand_lookup(e, true, n, &type))));
    *out = (Bound){.id = id == NAME_ARG   ? NAME_ARG_TAG
                         : id == NAME_RES ? NAME_RES_TAG
                                          : NAME_LOCAL_TAG,
                   .n = n,
                   .assignable = true,
                   .type = T(U32)};
    return has;
}

/* After an exception has left a call there are no operands, nor names derived from them. */
static bool lookup(Event e, Str name, Bound *out);
bool event_name_lookup(Event e, Str name, Bound *out) {
    if (memchr(name.ptr, '.', name.len))
        return tag_lookup(e, name, out);
    if (!lookup(e, name, out))
        return false;
    bool listed = names[out->id].where == LISTED;
    return e.kind != EVENT_OPCODE || e.mode != MODE_UNWIND || !listed || out->is_static;
}

static bool immediate_lookup(WasmOp op, uint32_t n, Bound *out) {
    const WasmOpInfo *info = &wasm_ops[op];
    char word[16];
    snprintf(word, sizeof word, "imm%u", n);
    const char *item = column_item(info->names, word, strlen(word));
    if (item)
        out->type = type_word(item + 1);
    out->widens = item && out->type && strstr(info->mnemonic, ".const");
    if (!item && op == WASM_OP_BR_TABLE) {
        out->type = &type_scalar[TYPE_U32]; /* labels */
        out->boundable = true;
    }
    return item || column_item(info->names, "immN", 4);
}

/* Scripts from before the name was there may have variables that are called so. */
static bool is_newer(uint32_t id) {
    switch ((NameId)id) {
    case NAME_TAKEN:
    case NAME_TRAP:
    case NAME_BACK_EDGE:
    case NAME_ESCAPES:
    case NAME_TAIL_CALLS:
    case NAME_FN_TAIL_CALLS:
    case NAME_FN_CALLS:
    case NAME_FN_LOOPS:
    case NAME_LOOP_CALLS:
    case NAME_LOOP_NESTED:
    case NAME_FN_SIZE:
    case NAME_FN_PARAMS:
    case NAME_RESUMABLE:
    case NAME_RESUMES:
    case NAME_TARGET_FN_ESCAPES:
    case NAME_TARGET_FN_TAIL_CALLS:
    case NAME_TARGET_FN_RESUMABLE:
    case NAME_GLOBAL:
    case NAME_PROBE_ID:
    case NAME_STACK_ID:
    case NAME_FILE:
    case NAME_LINE:
    case NAME_COLUMN:
    case NAME_SRC_FUNCTION:
    case NAME_INLINED: return true;
    default: return false;
    }
}

/* The name's number, and of a family which of them; false if no event has such a name. */
static bool bound_name_find_name(Str name, NameId *id, uint32_t *n) {
    *n = 0;
    if (bound_name_numbered(name, id, n))
        return true;
    for (uint32_t i = 0; i < NAME_COUNT; i++)
        if (name.len == names[i].len && memcmp(name.ptr, names[i].text, name.len) == 0) {
            *id = (NameId)i;
            return !event_name_is_numbered((NameId)i);
        }
    return false;
}

bool event_name_exists(Str name) {
    NameId id;
    uint32_t n;
    is_old_name(&name);
    return bound_name_find_name(name, &id, &n);
}

const char *event_name_like(Str name) {
    uint32_t nearest = (name.len + 1) / 3 + 1;
    const char *like = NULL;
    for (uint32_t i = 0; i < NAME_COUNT; i++) {
        if (event_name_is_numbered((NameId)i))
            continue;
        uint32_t distance = str_distance(name, str_of(names[i].text), nearest);
        if (distance && distance < nearest) {
            nearest = distance;
            like = names[i].text;
        }
    }
    return like;
}

/* Names that are made of an address have its type. */
static bool widen_address(Event e, NameId id, const Type **type) {
    uint32_t n = 0;
    bool writes;
    if (id == NAME_ADDR || id == NAME_EFFECTIVE_ADDR)
        op_access(e.op, &n, &writes);
    if (id == NAME_ADDR || id == NAME_EFFECTIVE_ADDR || id == NAME_TABLE_ENTRY_IDX)
        *type = address_type(e, false, n, *type);
    return true;
}

static bool lookup(Event e, Str name, Bound *out) {
    NameId id;
    uint32_t n;
    bool old = is_old_name(&name);
    if (str_is(name, names[NAME_APP_MEMID].text)) {
        *out = (Bound){.id = NAME_APP_MEMID, .type = T(U32), .is_static = true};
        return true;
    }
    if (str_is(name, names[NAME_SCRIPT_MEMID].text)) {
        *out = (Bound){.id = NAME_SCRIPT_MEMID, .type = T(U32), .is_static = true};
        return true;
    }
    if (str_is(name, names[NAME_HOST].text)) {
        *out = (Bound){.id = NAME_HOST, .type = T(STR), .is_static = true};
        return true;
    }
    if (str_is(name, names[NAME_MODULE_ID].text)) {
        *out = (Bound){.id = NAME_MODULE_ID, .type = T(U32), .is_static = true, .yields = true};
        return true;
    }
    if (str_is(name, names[NAME_ASYNCIFY].text)) {
        *out = (Bound){.id = NAME_ASYNCIFY, .type = T(BOOL), .is_static = true, .yields = true};
        return true;
    }
    if (str_is(name, names[NAME_MODULE_NAME].text)) {
        *out = (Bound){.id = NAME_MODULE_NAME, .type = T(STR), .is_static = true, .yields = true};
        return true;
    }
    if (str_is(name, names[NAME_COMPONENT_NAME].text)) {
        *out =
            (Bound){.id = NAME_COMPONENT_NAME, .type = T(STR), .is_static = true, .yields = true};
        return true;
    }
    if (str_is(name, names[NAME_THREAD].text)) {
        *out = (Bound){.id = NAME_THREAD, .type = T(U32), .yields = true};
        return true;
    }
    if (!bound_name_find_name(name, &id, &n) || (event_is_nowhere(e.kind) && id != NAME_STACK_ID))
        return false;
    *out = (Bound){.id = (int)id, .n = n, .is_static = names[id].life == STATIC};
    /* Scripts may have variables called so, which hide these names. */
    out->yields = old || is_newer(id);
    if (names[id].type <= TYPE_FUNCREF)
        out->type = &type_scalar[names[id].type];
    if (id == NAME_LOCAL) {
        out->assignable = true;
        return true;
    }
    if (names[id].where == ALWAYS)
        return true;
    if (id == NAME_RES && e.kind == EVENT_FUNC_EXIT) {
        out->assignable = out->yields = true;
        return true;
    }
    if (id == NAME_STACK_ID)
        return e.kind == EVENT_STACK_SUSPEND || e.kind == EVENT_STACK_RESUME;
    if (id == NAME_INSTR_COUNT) {
        out->yields = e.kind == EVENT_BLOCK_START; /* which did not have it at first */
        return e.kind == EVENT_BLOCK_START || e.kind == EVENT_BLOCK_END;
    }
    if (e.kind != EVENT_OPCODE)
        return false;
    out->literal = op_constant(e.op, id, &out->value);
    switch (id) {
    case NAME_ARG:
        out->assignable = true;
        out->boundable = operand_is_address(e.op, false, n);
        return operand_lookup(e, false, n, &out->type);
    case NAME_RES:
        out->assignable = true;
        out->boundable = operand_is_address(e.op, true, n);
        out->only_bound =
            e.mode == MODE_ALT || e.mode == MODE_BLOCK_ALT; /* of the values to supply */
        return (e.mode == MODE_AFTER || out->only_bound) && operand_lookup(e, true, n, &out->type);
    case NAME_IMM: return immediate_lookup(e.op, n, out);
    case NAME_BACK_EDGE:
        return e.op == WASM_OP_LOOP && (e.mode == MODE_BEFORE || e.mode == MODE_ENTRY);
    case NAME_LOOP_CALLS:
    case NAME_LOOP_NESTED: return e.op == WASM_OP_LOOP;
    case NAME_FAILED: return e.mode == MODE_AFTER && listed(e.op, id, &out->type, &out->is_static);
    default: break;
    }
    return names[id].where == OPCODE ||
           (listed(e.op, id, &out->type, &out->is_static) && widen_address(e, id, &out->type));
}

void event_name_each(Event e, void (*add)(void *ctx, Str name, const Bound *bound), void *ctx) {
    for (uint32_t id = 0; id < NAME_COUNT; id++) {
        bool family = event_name_is_numbered((NameId)id);
        for (uint32_t n = 0; n < (family ? 4u : 1u); n++) {
            char word[32];
            int len = family ? snprintf(word, sizeof word, "%.*s%u",
                                        (int)strlen(names[id].text) - 1, names[id].text, n)
                             : snprintf(word, sizeof word, "%s", names[id].text);
            Bound bound;
            Str name = {word, (uint32_t)len};
            if (!event_name_lookup(e, name, &bound) || bound.only_bound)
                continue;
            add(ctx, name, &bound);
            if (family && !bound.type)
                break; /* open ones: the first represents all */
        }
    }
}

/* ---- bound functions ---- */

static const Type pair = {.kind = TYPE_TUPLE,
                          .text = "(i32,i32)",
                          .nfields = 2,
                          .fields = (const Type *[]){T(I32), T(I32)},
                          .depth = 1};

#define TAKES_NONE 0, NULL
#define TAKES(...)                                                                                 \
    sizeof((const Type *const[]){__VA_ARGS__}) / sizeof(Type *), (const Type *const[]) {           \
        __VA_ARGS__                                                                                \
    }
#define LIBRARY &type_unit

/* Where a function is, as in lang/function.def. */
typedef enum FunctionPlace {
    WHERE_EVERYWHERE,
    WHERE_YIELDS,
    WHERE_OPCODE,
    WHERE_CALL_ALT,
    WHERE_LISTED,
} FunctionPlace;

static const struct {
    const char *name, *text;
    uint32_t nparams;
    const Type *const *params;
    const Type *result;
    bool is_static;
    uint32_t memories;
    bool reads;
    FunctionPlace where;
    FunctionMonitor monitor;
    const char *doc;
} functions[] = {
#define FUNCTION(id, name, text, params, result, is_static, memories, reads, where, monitor, doc)  \
    [FN_##id] = {                                                                                  \
        name, text, params, result, is_static, memories, reads, WHERE_##where, FUNCTION_##monitor, \
        doc},
#include "lang/function.def"
};

const char *function_name(FnId id) {
    assert((unsigned)id < FN_COUNT);
    return functions[id].name;
}

const char *function_text(FnId id) {
    return functions[id].text;
}

const char *function_doc(FnId id) {
    return functions[id].doc;
}

FunctionMonitor function_monitor(FnId id) {
    assert((unsigned)id < FN_COUNT);
    return functions[id].monitor;
}

bool function_is_everywhere(FnId id) {
    assert((unsigned)id < FN_COUNT);
    return functions[id].where <= WHERE_YIELDS;
}

bool function_takes_memory(FnId id, uint32_t n) {
    return functions[id].memories >> n & 1;
}

static bool bound_name_has_function(Event e, FnId id) {
    const char *name = functions[id].name;
    if (function_is_everywhere(id))
        return true;
    if (e.kind != EVENT_OPCODE)
        return false;
    if (functions[id].where == WHERE_CALL_ALT)
        return e.mode == MODE_ALT && (e.op == WASM_OP_CALL || e.op == WASM_OP_RETURN_CALL);
    return functions[id].where == WHERE_OPCODE ||
           (e.mode != MODE_UNWIND && column_item(wasm_ops[e.op].names, name, strlen(name)) != NULL);
}

bool event_function_lookup(Event e, Str name, Bound *out, const Type *const **params,
                           uint32_t *nparams, const Type **result) {
    for (uint32_t id = 0; id < sizeof functions / sizeof *functions; id++) {
        if (!str_is(name, functions[id].name) || !bound_name_has_function(e, (FnId)id))
            continue;
        *out = (Bound){.id = (int)id,
                       .is_static = functions[id].is_static,
                       .of_code = !function_is_everywhere((FnId)id),
                       .yields = functions[id].where == WHERE_YIELDS,
                       .reads = functions[id].reads};
        *params = functions[id].params;
        *nparams = functions[id].nparams;
        *result = functions[id].result;
        return true;
    }
    return false;
}

void event_function_each(Event e, void (*add)(void *ctx, FnId id), void *ctx) {
    for (uint32_t id = 0; id < sizeof functions / sizeof *functions; id++)
        if (bound_name_has_function(e, (FnId)id))
            add(ctx, (FnId)id);
}
