/*
 * component/component_names.h - the custom section component-name: names of a component and of its
 * items, for people. It may be damaged: what cannot be read is left out.
 */
#ifndef WHAMMC_COMPONENT_NAMES_H
#define WHAMMC_COMPONENT_NAMES_H

#include "component/component.h"

/* Whether an item is the section. */
bool component_has_names(const ComponentItem *item);

/* The name of the component itself, or of an item of one of its index spaces; empty = none. */
Str component_own_name(const Component *c);
Str component_name_of(const Component *c, ComponentRef ref);

/* Appends the contents of the section that is item `item` with other indices: final(ctx, ref). */
void component_names_write(const Component *c, uint32_t item,
                           uint32_t (*final)(void *ctx, ComponentRef ref), void *ctx, Buf *out);

#endif
