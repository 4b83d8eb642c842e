/*
 * gen/binaryen.c - the table of functions that build code: Binaryen's, from the library that is
 * loaded or linked, or those of code/code.h.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "gen/binaryen.h"

#include "base/dynamic.h"
#include "code/code.h"
#include "wasm/emit.h"

Binaryen binaryen;

/* ---- Binaryen ---- */

#ifdef BINARYEN_FILE

bool binaryen_load(Diags *diags) {
    static Binaryen library;
    static bool loaded;
    if (!loaded) {
        Buf why = {0};
        void *file = dynamic_load(BINARYEN_FILE, &why);
        loaded = file != NULL;
#define FUNCTION(name) loaded = dynamic_find(file, "Binaryen" #name, &library.name) && loaded;
#include "gen/binaryen.def"
        if (!loaded) {
            dynamic_explain(BINARYEN_FILE, file, &why);
            diag(diags, DIAG_CANNOT_READ, NO_SPAN, "cannot load Binaryen: %.*s", (int)why.len,
                 (const char *)why.data);
        }
        buf_free(&why);
    }
    binaryen = library;
    return loaded;
}

#else

bool binaryen_load(Diags *diags) {
    (void)diags;
#define FUNCTION(name) binaryen.name = Binaryen##name;
#include "gen/binaryen.def"
    return true;
}

#endif

/* ---- the same, as trees of code/ ---- */

typedef BinaryenExpressionRef Ref;

static CodeModule *module_of(BinaryenModuleRef m) {
    return (CodeModule *)m;
}

static CodeNode *node_of(Ref e) {
    return (CodeNode *)e;
}

static Ref ref_of(CodeNode *e) {
    return (Ref)e;
}

/* Types are those of wasm/, operators instructions. Types of parameters are not asked for. */
#define OWN_TYPE(name, type)                                                                       \
    static BinaryenType own_##name(void) {                                                         \
        return type;                                                                               \
    }
OWN_TYPE(TypeNone, WASM_NONE)
OWN_TYPE(TypeAuto, WASM_BOT)
OWN_TYPE(TypeInt32, WASM_I32)
OWN_TYPE(TypeInt64, WASM_I64)
OWN_TYPE(TypeFloat32, WASM_F32)
OWN_TYPE(TypeFloat64, WASM_F64)
OWN_TYPE(TypeFuncref, WASM_FUNCREF)

static BinaryenType own_TypeCreate(BinaryenType *types, BinaryenIndex n) {
    return n ? types[0] : WASM_NONE;
}

#define OPERATOR(name, op)                                                                         \
    static BinaryenOp own_##name(void) {                                                           \
        return WASM_OP_##op;                                                                       \
    }
#include "gen/binaryen.def"

#define OWN_LITERAL(name, code_type, number, field, c_type)                                        \
    static struct BinaryenLiteral own_Literal##name(number x) {                                    \
        union {                                                                                    \
            number from;                                                                           \
            c_type bits;                                                                           \
        } u = {.from = x};                                                                         \
        return (struct BinaryenLiteral){.type = code_type, {.field = u.bits}};                     \
    }
OWN_LITERAL(Int32, WASM_I32, int32_t, i32, int32_t)
OWN_LITERAL(Int64, WASM_I64, int64_t, i64, int64_t)
OWN_LITERAL(Float32Bits, WASM_F32, int32_t, i32, int32_t)
OWN_LITERAL(Float64Bits, WASM_F64, int64_t, i64, int64_t)
OWN_LITERAL(Float64, WASM_F64, double, i64, int64_t)

static Ref own_Const(BinaryenModuleRef m, struct BinaryenLiteral v) {
    bool wide = v.type == WASM_I64 || v.type == WASM_F64;
    uint64_t bits = wide ? (uint64_t)v.i64 : (uint32_t)v.i32;
    return ref_of(code_const(module_of(m), (WasmType)v.type, bits));
}

static Ref own_RefNull(BinaryenModuleRef m, BinaryenType type) {
    return ref_of(code_node(module_of(m), CODE_NULL, (WasmType)type, NULL, 0));
}

static Ref own_Nop(BinaryenModuleRef m) {
    return ref_of(code_node(module_of(m), CODE_NOP, WASM_NONE, NULL, 0));
}

static Ref own_Unreachable(BinaryenModuleRef m) {
    return ref_of(code_node(module_of(m), CODE_TRAP, WASM_NONE, NULL, 0));
}

/* A node with a number and at most one kid, which may be NULL. */
static CodeNode *numbered(BinaryenModuleRef m, CodeKind kind, WasmType type, uint32_t n, Ref kid) {
    CodeNode *node = node_of(kid), *e = code_node(module_of(m), kind, type, &node, kid ? 1 : 0);
    e->n = n;
    return e;
}

static Ref own_LocalGet(BinaryenModuleRef m, BinaryenIndex i, BinaryenType type) {
    return ref_of(numbered(m, CODE_LOCAL_GET, (WasmType)type, i, NULL));
}

static Ref own_LocalSet(BinaryenModuleRef m, BinaryenIndex i, Ref value) {
    return ref_of(numbered(m, CODE_LOCAL_SET, WASM_NONE, i, value));
}

static Ref own_LocalTee(BinaryenModuleRef m, BinaryenIndex i, Ref value, BinaryenType type) {
    return ref_of(numbered(m, CODE_LOCAL_TEE, (WasmType)type, i, value));
}

static void own_AddGlobalImport(BinaryenModuleRef m, const char *name, const char *module,
                                const char *base, BinaryenType type, bool mutable) {
    (void)module, (void)base;
    code_name(module_of(m), name, (WasmType)type, mutable);
}

static Ref own_GlobalGet(BinaryenModuleRef m, const char *name, BinaryenType type) {
    uint32_t n = code_name(module_of(m), name, (WasmType)type, true);
    return ref_of(numbered(m, CODE_NAME_GET, (WasmType)type, n, NULL));
}

static Ref own_GlobalSet(BinaryenModuleRef m, const char *name, Ref value) {
    uint32_t n = code_name(module_of(m), name, node_of(value)->type, true);
    return ref_of(numbered(m, CODE_NAME_SET, WASM_NONE, n, value));
}

static void own_AddFunctionImport(BinaryenModuleRef m, const char *name, const char *module,
                                  const char *base, BinaryenType params, BinaryenType result) {
    (void)module, (void)base, (void)params;
    code_name(module_of(m), name, (WasmType)result, false);
}

static Ref own_Call(BinaryenModuleRef m, const char *name, Ref *args, BinaryenIndex n,
                    BinaryenType result) {
    CodeNode *e = code_node(module_of(m), CODE_CALL, (WasmType)result, (CodeNode **)args, n);
    e->n = code_name(module_of(m), name, (WasmType)result, false);
    return ref_of(e);
}

static Ref own_Unary(BinaryenModuleRef m, BinaryenOp op, Ref x) {
    return ref_of(code_plain(module_of(m), (WasmOp)op, node_of(x), NULL));
}

static Ref own_Binary(BinaryenModuleRef m, BinaryenOp op, Ref x, Ref y) {
    return ref_of(code_plain(module_of(m), (WasmOp)op, node_of(x), node_of(y)));
}

static Ref access_of(BinaryenModuleRef m, CodeKind kind, WasmType type, WasmOp op, uint32_t offset,
                     CodeNode *const *kids, uint32_t n) {
    CodeNode *e = code_node(module_of(m), kind, type, kids, n);
    e->op = (uint16_t)op;
    e->bits = offset;
    return ref_of(e);
}

#ifdef BINARYEN_HAS_MEMORY_NAMES
#define MEMORY_NAME        , const char *memory
#define IGNORE_MEMORY_NAME (void)memory
#else
#define MEMORY_NAME
#define IGNORE_MEMORY_NAME (void)0
#endif

static Ref own_Load(BinaryenModuleRef m, uint32_t bytes, bool is_signed, uint32_t offset,
                    uint32_t align, BinaryenType type, Ref at MEMORY_NAME) {
    IGNORE_MEMORY_NAME;
    (void)is_signed, (void)align;
    WasmOp op = bytes == 1         ? WASM_OP_I32_LOAD8_U
                : type == WASM_I64 ? WASM_OP_I64_LOAD
                : type == WASM_F32 ? WASM_OP_F32_LOAD
                : type == WASM_F64 ? WASM_OP_F64_LOAD
                                   : WASM_OP_I32_LOAD;
    return access_of(m, CODE_LOAD, (WasmType)type, op, offset, (CodeNode *[]){node_of(at)}, 1);
}

static Ref own_Store(BinaryenModuleRef m, uint32_t bytes, uint32_t offset, uint32_t align, Ref at,
                     Ref value, BinaryenType type MEMORY_NAME) {
    IGNORE_MEMORY_NAME;
    (void)bytes, (void)align;
    CodeNode *both[] = {node_of(at), node_of(value)};
    return access_of(m, CODE_STORE, WASM_NONE, emit_store_op((WasmType)type), offset, both, 2);
}

static Ref own_Drop(BinaryenModuleRef m, Ref x) {
    return ref_of(numbered(m, CODE_DROP, WASM_NONE, 0, x));
}

static Ref own_Return(BinaryenModuleRef m, Ref x) {
    return ref_of(numbered(m, CODE_RETURN, WASM_NONE, 0, x));
}

static Ref own_Block(BinaryenModuleRef m, const char *name, Ref *kids, BinaryenIndex n,
                     BinaryenType type) {
    (void)type; /* that of the last kid */
    CodeModule *c = module_of(m);
    return ref_of(code_block(c, code_label(c, name), (CodeNode **)kids, n));
}

static Ref own_If(BinaryenModuleRef m, Ref condition, Ref yes, Ref no) {
    return ref_of(code_if(module_of(m), node_of(condition), node_of(yes), node_of(no)));
}

static Ref own_Break(BinaryenModuleRef m, const char *label, Ref condition, Ref value) {
    (void)value; /* there is none */
    return ref_of(numbered(m, CODE_BRANCH, WASM_NONE, code_label(module_of(m), label), condition));
}

static BinaryenType own_ExpressionGetType(Ref e) {
    return node_of(e)->type;
}

BinaryenModuleRef binaryen_use_code(CodeModule *module) {
#define OPERATOR(name, op) .name = own_##name,
    binaryen = (Binaryen){
#include "gen/binaryen.def"
        .TypeNone = own_TypeNone,
        .TypeAuto = own_TypeAuto,
        .TypeInt32 = own_TypeInt32,
        .TypeInt64 = own_TypeInt64,
        .TypeFloat32 = own_TypeFloat32,
        .TypeFloat64 = own_TypeFloat64,
        .TypeFuncref = own_TypeFuncref,
        .TypeCreate = own_TypeCreate,
        .LiteralInt32 = own_LiteralInt32,
        .LiteralInt64 = own_LiteralInt64,
        .LiteralFloat32Bits = own_LiteralFloat32Bits,
        .LiteralFloat64Bits = own_LiteralFloat64Bits,
        .LiteralFloat64 = own_LiteralFloat64,
        .Const = own_Const,
        .RefNull = own_RefNull,
        .Nop = own_Nop,
        .Unreachable = own_Unreachable,
        .LocalGet = own_LocalGet,
        .LocalSet = own_LocalSet,
        .LocalTee = own_LocalTee,
        .AddGlobalImport = own_AddGlobalImport,
        .GlobalGet = own_GlobalGet,
        .GlobalSet = own_GlobalSet,
        .AddFunctionImport = own_AddFunctionImport,
        .Call = own_Call,
        .Unary = own_Unary,
        .Binary = own_Binary,
        .Load = own_Load,
        .Store = own_Store,
        .Drop = own_Drop,
        .Return = own_Return,
        .Block = own_Block,
        .If = own_If,
        .Break = own_Break,
        .ExpressionGetType = own_ExpressionGetType,
    };
    return (BinaryenModuleRef)module;
}
