/*
 * component/component_valid.h - interfaces between the files of the validator of components.
 *
 * TYPES. A type is a TypeNode; types share their parts. Equality is structural, except that a
 * resource type is equal only to itself (Resource), and that names count: importing or exporting a
 * type makes a new node for it, and the types of imports and exports may only consist of such nodes
 * ("named" types). Core types of all modules are in one list, ComponentChecker.core, in which equal
 * types have one index.
 *
 * RESOURCES are type variables. Each belongs to the scope that imports or defines it; a type of a
 * component or instance binds those of its scope (TypeNode.binder). Where the component is
 * instantiated, or the instance imported or exported, the bound ones are replaced.
 *
 * BOUNDS. Sharing lets types be exponentially larger than the input. Their depth and their size
 * without sharing are limited, as in other implementations; and whatever walks or copies types
 * spends from a budget that is linear in the size of the input (component_spend).
 */
#ifndef WHAMMC_COMPONENT_VALID_H
#define WHAMMC_COMPONENT_VALID_H

#include "component/component.h"
#include "valid/subtype.h"
#include "wasm/read.h"

/* ---- core types ---- */

/* What a core module or instance imports or exports. */
typedef struct CoreExtern {
    uint8_t space;  /* WASM_SPACE_FUNC, TABLE, MEMORY, GLOBAL or TAG */
    bool mutable;   /* GLOBAL */
    bool exact;     /* FUNC: of this type, not of a subtype */
    uint32_t type;  /* FUNC, TAG: index into ComponentChecker.core */
    WasmType value; /* TABLE, GLOBAL; its indices are into ComponentChecker.core */
    WasmLimits limits;
} CoreExtern;

typedef struct CoreItem {
    Str module, name; /* exports have no module */
    CoreExtern is;
} CoreItem;

typedef struct CoreList {
    CoreItem *at; /* sorted by name */
    uint32_t len;
} CoreList;

/* ---- types of the component model ---- */

enum { TYPE_CORE_MODULE = 1 }; /* TypeNode.kind: no ComponentTypeCode */

/* What a scope leaves: it binds the resources that the scope imports or defines. */
typedef struct Binder {
    bool open; /* the end of the scope has not come */
} Binder;

typedef struct Resource {
    const Binder *binder;
    bool imported;
    WasmType rep;           /* 0: it is not known in the scope */
    const Binder *exported; /* set while the scope is finished */
} Resource;

typedef struct TypeField {
    Str name;
    const struct TypeNode *type; /* NULL: none */
} TypeField;

/* An import or export: what it is. */
typedef struct ExternType {
    uint8_t space;               /* ComponentSpace */
    const struct TypeNode *type; /* of TYPE the type itself */
    const struct TypeNode *of;   /* TYPE: the one that it is another name of, or `type` */
} ExternType;

typedef struct ExternItem {
    Str name;
    ExternType is;
} ExternItem;

typedef struct NameIndex {
    Str name;
    uint32_t index;
} NameIndex;

typedef struct ExternList {
    ExternItem *at;          /* in their order */
    const NameIndex *sorted; /* by name */
    uint32_t len;
} ExternList;

typedef struct TypeNode {
    uint8_t kind;  /* ComponentTypeCode or TYPE_CORE_MODULE */
    bool borrows;  /* `borrow` is in it */
    bool pointers; /* its values have parts elsewhere in memory: strings, lists */
    bool handles;  /* resources are in it */
    uint8_t depth;
    uint32_t size;   /* nodes, if nothing were shared */
    uint32_t length; /* FIXED_LIST */
    uint32_t nfields;
    TypeField *fields; /* the parts of a type of values, parameters and, last, the result */
    uint32_t bytes;    /* of a value in a memory64 */
    uint8_t align;     /* its logarithm */
    union {
        const struct TypeNode *handle; /* OWN, BORROW: of what */
        Resource *resource;            /* RESOURCE */
        const Binder *binder;          /* COMPONENT, INSTANCE: of resources in it, or NULL */
    };
    union {
        struct {
            ExternList exports, imports;
        }; /* COMPONENT, INSTANCE */
        struct {
            CoreList core_exports, core_imports;
        }; /* TYPE_CORE_MODULE */
    };
} TypeNode;

/* ---- scopes ---- */

typedef enum ScopeKind { SCOPE_COMPONENT, SCOPE_COMPONENT_TYPE, SCOPE_INSTANCE_TYPE } ScopeKind;

/* The imports of a scope, or its exports. */
typedef struct ScopeSide {
    const char *what; /* "import", "export" */
    Vec(ExternItem) items;
    Map names;          /* component_name_key */
    Map types;          /* named types, by their nodes */
    Map resources;      /* nodes of those at the top: index into `items` */
    Map resource_names; /* their names */
} ScopeSide;

typedef struct ScopeValue {
    const TypeNode *type;
    bool used;
} ScopeValue;

typedef struct Scope {
    struct Scope *up;
    ScopeKind kind;
    Binder *binder;
    bool has_start;
    WasmType context; /* of context.get and .set; 0: none yet */
    /* CORE_FUNC ... CORE_TAG: CoreExtern; CORE_MODULE, FUNC, TYPE, COMPONENT, INSTANCE: TypeNode;
     * CORE_TYPE: TypeNode of a module, or NULL; CORE_INSTANCE: CoreList; VALUE: ScopeValue */
    Vec(const void *) space[COMPONENT_SPACE_COUNT];
    Vec(uint32_t) core_types; /* CORE_TYPE: index into ComponentChecker.core, UINT32_MAX = module */
    ScopeSide imports, exports;
    TypeNode sum;     /* of the types of imports and exports: size, depth */
    uint32_t defined; /* resources */
} Scope;

typedef struct ComponentChecker {
    const Component *root;
    Diags *diags;
    Arena arena;
    Scope *scope;
    uint32_t threads;
    uint64_t budget;
    WasmModule core; /* nothing but types */
    WasmTypeGroups groups;
    TypeNode primitives[0x80]; /* by ComponentTypeCode */
    uint32_t at, end;          /* the item that is checked */
    Vec(Str) path;             /* inside of it, for messages */
    Buf text;
} ComponentChecker;

/* Reports the item as invalid. Returns false. */
bool component_refuse(ComponentChecker *k, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* For messages: at most 100 bytes of a name, as arguments of "%.*s". */
#define SHOWN(s) ((s).len > 100 ? 100 : (int)(s).len), (s).ptr
/* False with a message if types are too complex. */
bool component_spend(ComponentChecker *k, uint64_t units);

/* A set of addresses. */
static inline Str component_key(const void *const *address) {
    return (Str){(const char *)address, sizeof *address};
}

/* ---- component_valid.c ---- */

/* The item `index` of the scope's index space; NULL with a message if there is none. */
const void *component_at(ComponentChecker *k, ComponentSpace space, uint32_t index);
/* What stands in the index space: of a value, its type. */
bool component_extern_at(ComponentChecker *k, ComponentRef ref, ExternType *is);
void component_push(ComponentChecker *k, ComponentSpace space, const void *item);
/* Adds an import or export to the scope, with its name. */
bool component_add_extern(ComponentChecker *k, bool import, const ComponentName *name,
                          ExternType is);
/* The scope so far outward; NULL with a message if there is none. */
Scope *component_outer(ComponentChecker *k, uint32_t up);
/* What an import or export is declared to be. */
bool component_declared(ComponentChecker *k, const ComponentExtern *e, ExternType *is);
bool component_check_alias(ComponentChecker *k, const ComponentAlias *alias);
void component_open_scope(ComponentChecker *k, ScopeKind kind);
/* Ends the scope: makes the type of its component or instance. NULL if it is invalid. */
TypeNode *component_close_scope(ComponentChecker *k);
void component_free_scope(ComponentChecker *k);

/* ---- component_valid_core.c ---- */

/* Makes an empty module for what stands at the current item of the file. */
void component_begin_core(const ComponentChecker *k, WasmModule *m);
/* Loads the module and adds its type. */
bool component_check_module(ComponentChecker *k, const ComponentItem *item);
bool component_check_core_type(ComponentChecker *k, const ComponentCoreType *type);
bool component_check_core_instance(ComponentChecker *k, const ComponentInstance *instance);
/* The WasmSpace of an index space of core functions, tables ..., else WASM_SPACE_COUNT. */
uint8_t component_core_space(uint8_t space);
/* The export, or NULL. */
const CoreExtern *component_core_export(const CoreList *list, Str name);
/* a <: b, with a message about `k->path` if not. */
bool component_core_extern_fits(ComponentChecker *k, const CoreExtern *a, const CoreExtern *b);
bool component_module_fits(ComponentChecker *k, const TypeNode *a, const TypeNode *b);
/* A core function of this type. NULL with a message if there are too many types. */
const CoreExtern *component_core_func(ComponentChecker *k, WasmTypeList params,
                                      WasmTypeList results);
/* Its type in words, until the next time. */
const char *component_core_words(ComponentChecker *k, const CoreExtern *e);
/* Whether a core function has exactly this type. */
bool component_core_matches(const ComponentChecker *k, const CoreExtern *func, WasmTypeList params,
                            WasmTypeList results);

/* ---- component_valid_type.c ---- */

/* Makes the primitive types. */
void component_begin_types(ComponentChecker *k);
/* Adds the type that an item or declaration defines. */
bool component_check_type(ComponentChecker *k, const ComponentType *type);
/* The type of a value; NULL in *node if there is none. */
bool component_val(ComponentChecker *k, const ComponentVal *val, const TypeNode **node);
/* A type of the scope, of this code; NULL with a message if it is another. */
const TypeNode *component_type_at(ComponentChecker *k, uint32_t index, uint8_t code);
/* Adds a part to the size, depth and properties of a type. */
bool component_combine(ComponentChecker *k, TypeNode *sum, const TypeNode *part);
TypeNode *component_new_resource(ComponentChecker *k, bool imported, WasmType rep);
/* The same type by another name. */
const TypeNode *component_rename(ComponentChecker *k, const TypeNode *type);
/* Sorts a list by name. */
void component_sort(ComponentChecker *k, ExternList *list);
const ExternItem *component_find(const ExternList *list, Str name);
bool component_is_value(uint8_t kind);
const char *component_kind_name(uint8_t kind);
/* Whether all that types of values consist of is named. */
bool component_is_named(ComponentChecker *k, const Map *named, const ExternType *is, bool *result);

/* ---- component_valid_subtype.c ---- */

/* Replaces resources, and types that are named by others: what `to` has, by address. */
typedef struct Substitution {
    Map resources, types;
    bool renames; /* types without resources are replaced, too */
} Substitution;
void component_substitution_free(Substitution *s);
bool component_substitute(ComponentChecker *k, Substitution *s, ExternType *is);
bool component_substitute_list(ComponentChecker *k, Substitution *s, ExternList *list);
/* a <: b, with a message if not. */
bool component_extern_fits(ComponentChecker *k, const ExternType *a, const ExternType *b);
bool component_val_fits(ComponentChecker *k, const TypeNode *a, const TypeNode *b);
/* Checks that the items of `args` fit those of `list`. The resources of `binder` that are imported
 * (or defined) stand for others in `args`: *s gets these, and the types of `args`. */
bool component_open(ComponentChecker *k, const ExternList *args, const ExternList *list,
                    const Binder *binder, bool imports, Substitution *s);
/* Replaces the resources in `list` that `scope` defines by new ones of the current scope. */
bool component_freshen_list(ComponentChecker *k, Substitution *s, ExternList *list,
                            const Binder *binder, bool imported);
/* The same for the type of an instance, which then binds none. */
bool component_freshen(ComponentChecker *k, const TypeNode **instance, bool imported);
/* Called for resources; false = stop. */
typedef bool ResourceFn(ComponentChecker *k, void *ctx, Resource *resource);
/* Calls it for each export that is a resource, of instances inside, too. */
bool component_each_resource(ComponentChecker *k, const ExternList *exports, ResourceFn *found,
                             void *ctx);
/* Calls it for each place in a type that has a resource. */
bool component_walk(ComponentChecker *k, const TypeNode *type, ResourceFn *found, void *ctx);

/* ---- component_valid_canon.c ---- */

bool component_check_canon(ComponentChecker *k, const ComponentCanon *canon);

/* ---- component_valid_name.c ---- */

typedef enum NameForm {
    NAME_LABEL,
    NAME_CONSTRUCTOR,
    NAME_METHOD,
    NAME_STATIC,
    NAME_INTERFACE
} NameForm;

typedef struct ExternName {
    NameForm form;
    Str resource, member; /* CONSTRUCTOR, METHOD, STATIC */
    Str version;          /* INTERFACE: after '@'; .ptr = NULL: none */
} ExternName;

/* Letters and digits in words of one case, with '-' in between. */
bool component_is_label(Str s);
/* Reads the name of an import or export. False if it has no known form: *why says what is wrong. */
bool component_read_name(Str s, ExternName *name, const char **why);
/* MAJOR.MINOR.PATCH, with more after '-' and '+' (semver.org). */
bool component_is_version(Str s);
/* A version up to its first number that is not zero. */
bool component_is_canonical_version(Str s);
/* Appends text that is the same for names that are not strongly unique. */
void component_name_key(const ExternName *name, Str s, Buf *key);
void component_label_key(Str label, Buf *key);
/* Whether two labels differ at most in case. */
bool component_same_label(Str a, Str b);

#endif
