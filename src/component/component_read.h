/*
 * component/component_read.h - interfaces between the files of the reader of components
 * (component_read.c, component_read_type.c).
 */
#ifndef WHAMMC_COMPONENT_READ_H
#define WHAMMC_COMPONENT_READ_H

#include "component/component.h"
#include "wasm/read.h"

/* A scope of index spaces: a component, or the type of a component, an instance or a core module.
 */
typedef struct ComponentScope {
    const struct ComponentScope *up;
    Component *component; /* of the item that is read; a scope of a type is inside of it */
    bool of_type;
} ComponentScope;

typedef struct ComponentReader {
    WasmReader r; /* its module has nothing but the bytes */
    const ComponentScope *scope;
    Arena *arena;
    uint32_t depth; /* of components and types inside of each other */
} ComponentReader;

/* Reads an index of an index space. It is noted as a use if the scope is a component. */
bool component_get_index(ComponentReader *r, ComponentSpace space, uint32_t *index);
/* The same, of a scope so far outward. */
bool component_get_outer(ComponentReader *r, ComponentSpace space, uint32_t up, uint32_t *index);
/* Reads a vector's length and allocates `*items`, each of `size` bytes. */
bool component_get_items(ComponentReader *r, size_t size, void *items, uint32_t *n);
/* The byte at the cursor, 0 at the end. */
uint8_t component_peek(const ComponentReader *r);
/* Reports the byte before the cursor: "malformed WHAT 0x12". Returns false. */
bool component_bad_byte(ComponentReader *r, const char *what);

/* The contents of items that declarations in types have, too. `item` gets the contents. */
bool component_get_alias(ComponentReader *r, ComponentItem *item);
bool component_get_import(ComponentReader *r, ComponentItem *item);
bool component_get_export(ComponentReader *r, ComponentItem *item); /* a declaration */

/* What imports and exports are named and declared to be. */
bool component_get_name(ComponentReader *r, ComponentName *name);
bool component_get_extern(ComponentReader *r, ComponentExtern *type);
bool component_get_sort(ComponentReader *r, uint8_t *space);

/* Types. */
bool component_get_type(ComponentReader *r, ComponentItem *item);
bool component_get_val(ComponentReader *r, ComponentVal *val);
bool component_get_result(ComponentReader *r, ComponentVal *val); /* a list of results */
bool component_get_core_type(ComponentReader *r, ComponentItem *item);

#endif
