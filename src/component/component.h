/*
 * component/component.h - the lossless model of components (component model, Binary.md).
 *
 * The model keeps the input's bytes, as that of modules does (wasm/module.h). Reading makes a list
 * of items, in the order of the file, with the place of each index in the bytes; writing
 * (component/component_edit.h) copies the bytes and patches only indices that moved, so that an
 * unchanged component comes back byte for byte.
 *
 * SCOPES. A component has one of each index space (ComponentSpace), to which its items add in
 * order. Components inside of it have their own, and so do the types of components, instances and
 * core modules. `alias outer` names an item of an enclosing scope.
 *
 * VALID. component_load reads and validates: all core modules inside are valid then, too. What
 * component_read returns is only well-formed.
 */
#ifndef WHAMMC_COMPONENT_COMPONENT_H
#define WHAMMC_COMPONENT_COMPONENT_H

#include "wasm/module.h"

/* Components and types inside of each other, as in other implementations. */
enum { COMPONENT_MAX_DEPTH = 100 };

/* Kinds of items: the ids of their sections. */
typedef enum ComponentItemKind {
#define SECTION(id, code, name) COMPONENT_ITEM_##id = code,
#include "component/component.def"
    COMPONENT_ITEM_COUNT
} ComponentItemKind;

/* Index spaces. */
typedef enum ComponentSpace {
#define SPACE(id, core, code, name) COMPONENT_SPACE_##id,
#include "component/component.def"
    COMPONENT_SPACE_COUNT
} ComponentSpace;

/* Codes of types. */
typedef enum ComponentTypeCode {
#define PRIMITIVE(id, code, name) COMPONENT_##id = code,
#define COMPOUND(id, code, name)  COMPONENT_TYPE_##id = code,
#include "component/component.def"
} ComponentTypeCode;

/* Canonical definitions. */
typedef enum ComponentCanonCode {
#define CANON(id, code, name, items) CANON_##id = code,
#include "component/component.def"
} ComponentCanonCode;

/* Options of canonical definitions. */
typedef enum ComponentOptionCode {
#define OPTION(id, code, name, item) CANON_OPTION_##id = code,
#include "component/component.def"
    CANON_OPTION_COUNT
} ComponentOptionCode;

/* An item of some index space. */
typedef struct ComponentRef {
    uint8_t space; /* ComponentSpace */
    uint32_t index;
} ComponentRef;

/* A value type: a primitive one, or a type of the scope. */
typedef struct ComponentVal {
    bool none;         /* an optional type that is not there */
    uint8_t primitive; /* ComponentTypeCode; 0 = it is `type` */
    uint32_t type;     /* index */
} ComponentVal;

/* What an import or export is declared to be. */
typedef struct ComponentExtern {
    uint8_t space;      /* CORE_MODULE, FUNC, VALUE, TYPE, COMPONENT or INSTANCE */
    bool fresh;         /* TYPE: (sub resource); VALUE: of the type `value` */
    uint32_t index;     /* of its type, or of what it equals */
    ComponentVal value; /* VALUE, if fresh */
} ComponentExtern;

/* A name of an import or export, with attributes (empty = it has none). */
typedef struct ComponentName {
    Str name;
    Str implements, version_suffix, external_id;
} ComponentName;

/* A field, case, label or parameter: its name, empty in tuples, and type, none where it has none.
 */
typedef struct ComponentField {
    Str name;
    ComponentVal type;
} ComponentField;

/* An argument of an instantiation, or an export of an instance that consists of exports. */
typedef struct ComponentArg {
    ComponentName name; /* of core instances only `name.name` */
    ComponentRef ref;
} ComponentArg;

typedef struct ComponentOption {
    uint8_t code;   /* ComponentOptionCode */
    uint32_t index; /* if it has one */
    uint32_t at;    /* the file offset of `code` */
} ComponentOption;

struct ComponentItem;

/* A list of items: declarations in a type. In the arena. */
typedef struct ComponentDecls {
    struct ComponentItem *at;
    uint32_t len;
} ComponentDecls;

/* A type. */
typedef struct ComponentType {
    uint8_t code;           /* ComponentTypeCode; a primitive one is a type, too */
    ComponentField *fields; /* RECORD, VARIANT, TUPLE, FLAGS, ENUM; parameters of functions */
    uint32_t nfields;
    ComponentVal element; /* LIST, FIXED_LIST, OPTION, STREAM, FUTURE, `ok` of RESULT, key of MAP;
                             of functions the result */
    ComponentVal other;   /* the error of RESULT, value of MAP */
    uint32_t index;       /* OWN, BORROW: the type; RESOURCE: the destructor, a core function;
                             FIXED_LIST: the length */
    bool has_index;       /* RESOURCE: there is a destructor */
    WasmType rep;         /* RESOURCE */
    ComponentDecls decls; /* COMPONENT, INSTANCE */
} ComponentType;

/* A core type: a group of types, or the type of a module, which consists of declarations:
 * CORE_TYPE, ALIAS (outer), IMPORT, EXPORT of core externs. */
typedef struct ComponentCoreType {
    bool module;
    uint32_t types;       /* how many the group has; each is one of the index space */
    Str bytes;            /* of the group, without the byte 0x00 before `sub` */
    ComponentDecls decls; /* of a module */
} ComponentCoreType;

/* Of a declaration in a core module type: an import (of `module`) or export. */
typedef struct ComponentCoreExtern {
    Str module, name;
    uint8_t space; /* WasmSpace */
    Str type;      /* the bytes of its type: a type index, limits ... */
} ComponentCoreExtern;

/* A canonical definition. */
typedef struct ComponentCanon {
    uint8_t code;        /* ComponentCanonCode */
    uint32_t func;       /* LIFT: core function, LOWER: function */
    uint32_t type;       /* component type, or core type of threads */
    uint32_t memory;     /* WAITABLE_SET_WAIT, _POLL */
    uint32_t table;      /* of threads */
    uint32_t slot;       /* CONTEXT_GET, _SET */
    bool flag;           /* async, cancellable, shared */
    WasmType value;      /* CONTEXT_GET, _SET */
    ComponentVal result; /* TASK_RETURN */
    ComponentOption *options;
    uint32_t noptions;
} ComponentCanon;

typedef struct ComponentAlias {
    enum { ALIAS_EXPORT, ALIAS_CORE_EXPORT, ALIAS_OUTER } kind;
    uint8_t space;     /* of what it names */
    uint32_t instance; /* EXPORT, CORE_EXPORT */
    Str name;
    uint32_t up, index; /* OUTER: scopes outward, and the index there */
} ComponentAlias;

/* An instance, or a core instance: of a component or module, or made of exports. */
typedef struct ComponentInstance {
    bool instantiates;
    uint32_t of; /* index of the component or module */
    ComponentArg *args;
    uint32_t nargs;
} ComponentInstance;

typedef struct ComponentImport {
    ComponentName name;
    ComponentExtern type;
} ComponentImport;

typedef struct ComponentExport {
    ComponentName name;
    ComponentRef ref; /* in declarations of types: not used */
    bool typed;       /* `type` is there, as it is in declarations */
    ComponentExtern type;
} ComponentExport;

typedef struct ComponentStart {
    uint32_t func;
    uint32_t *args; /* values */
    uint32_t nargs, results;
} ComponentStart;

typedef struct ComponentItem {
    uint8_t kind; /* ComponentItemKind */
    /* Of core modules and components (component_trace): */
    bool runs;   /* a component that is instantiated itself, perhaps the outermost one, does that */
    bool passed; /* it is passed to a component or exported, as it is */
    uint32_t note;     /* free for the user of the component; 0 at first */
    uint32_t first;    /* in a component: the index of the first item of a space that it defines */
    uint32_t from, to; /* file range; of a module, component or custom section the contents */
    union {
        struct Component *component;
        const ComponentInstance *instance; /* INSTANCE and CORE_INSTANCE */
        const ComponentAlias *alias;
        const ComponentType *type;
        const ComponentCoreType *core_type;
        const ComponentCoreExtern *core_extern; /* IMPORT, EXPORT in core module types */
        const ComponentCanon *canon;
        const ComponentStart *start;
        const ComponentImport *import;
        const ComponentExport *export;
        Str name;           /* CUSTOM */
        ComponentVal value; /* VALUE: its type; the value is the rest of the item */
    };
} ComponentItem;

/* Places of indices in the bytes that name items of a component, in the order of the file. Those
 * of the scopes of types are not among them. */
typedef struct ComponentUse {
    uint32_t at; /* file offset */
    uint8_t width;
    uint8_t space;
    uint32_t index;
    uint32_t up;    /* components outward: 0 = the component of the item */
    bool is_signed; /* it is a signed number: of a value type */
} ComponentUse;

/* A section; it has the items [first, last). */
typedef struct ComponentSection {
    uint8_t id;
    uint32_t header, payload, end; /* file offsets */
    uint32_t first, last;
} ComponentSection;

typedef struct Component {
    const uint8_t *bytes; /* of the whole file, which must outlive the component */
    size_t size;
    uint32_t from, to; /* file range of this component: its preamble, its end */
    DiagFileId file;
    const struct Component *parent; /* NULL: the outermost */
    Arena *arena;                   /* that of the outermost */
    Vec(ComponentSection) sections;
    Vec(ComponentItem) items; /* of the component, not of those inside */
    Vec(ComponentUse) uses;
    uint32_t count[COMPONENT_SPACE_COUNT];        /* items of each index space */
    Vec(uint32_t) defined[COMPONENT_SPACE_COUNT]; /* by index: the item that defines it */
    Str *module_names, *component_names;          /* by index; NULL = it has none */
    Arena own;                                    /* of the outermost */
} Component;

/* Whether the bytes begin as a component does. */
bool component_is(const uint8_t *bytes, size_t size);

/* Finds out which core modules and components inside of a component run and are passed. */
void component_trace(Component *c);

/* Reads a component. False with a message if it is malformed. component_free is needed in both
 * cases. */
bool component_read(Component *c, const uint8_t *bytes, size_t size, DiagFileId file, Diags *diags);
void component_free(Component *c);

/* Reads and validates an output of ours, whose core modules have been validated already (builds
 * with assertions do that again). Errors are internal ones. */
bool component_load_output(Component *c, const uint8_t *bytes, size_t size, DiagFileId file,
                           Diags *diags);

/* Reads and validates a component, with all modules inside, on so many threads. */
bool component_load(Component *c, const uint8_t *bytes, size_t size, DiagFileId file,
                    uint32_t threads, Diags *diags);

/* The name of an index space, for messages: "core function". */
const char *component_space_name(ComponentSpace space);

/* The index space of a sort, by its code; COMPONENT_SPACE_COUNT = there is none. */
uint8_t component_space_of(bool core, uint8_t code);
/* Appends a sort; `core`: where only sorts of core WebAssembly are possible. */
void component_put_sort(Buf *b, uint8_t space, bool core);

/* The index space to which an item adds, and how many; COMPONENT_SPACE_COUNT, 0: to none. */
uint32_t component_adds(const ComponentItem *item, ComponentSpace *space);

/* The item that an index denotes; NULL = there is none. And what item `item` defines (the first, if
 * there are more). Both count from the first item. */
const ComponentItem *component_item(const Component *c, ComponentRef ref);
/* The same; aliases of items of enclosing components, and exports, are followed. NULL also for what
 * comes from an instance or an import. *in is the component that has the item. */
const ComponentItem *component_resolve(const Component *c, ComponentRef ref, const Component **in);
ComponentRef component_defines(const Component *c, uint32_t item);

#endif
