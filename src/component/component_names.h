/*
 * component/component_names.h - the custom section component-name: names of a component and of its
 * items, for people. It may be damaged: what cannot be read is left out.
 */
#ifndef WHAMMC_COMPONENT_NAMES_H
#define WHAMMC_COMPONENT_NAMES_H

#include "component/component.h"

/* Whether an item is the section. */
bool component_has_names(const ComponentItem *item);

/* Reads the names of core modules and of components inside (part of component_read). */
void component_names_read(Component *c);

/* The name of the component itself; of a core module or a component inside. Empty = it has none. */
Str component_own_name(const Component *c);
Str component_name_of(const Component *c, ComponentRef ref);

/* Appends the contents of the section that is item `item` with other indices: final(ctx, ref). */
void component_names_write(const Component *c, uint32_t item,
                           uint32_t (*final)(void *ctx, ComponentRef ref), void *ctx, Buf *out);

#endif
