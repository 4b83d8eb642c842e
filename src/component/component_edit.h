/*
 * component/component_edit.h - additions to a component, and writing it.
 *
 * HANDLES. As in modules (wasm/module.h), each item of an index space has a handle that never
 * changes: in the input its index; an addition gets the next free one. Where an addition goes is
 * given by the item of the input before which it is written, so that its final index may be lower
 * than that of others.
 */
#ifndef WHAMMC_COMPONENT_EDIT_H
#define WHAMMC_COMPONENT_EDIT_H

#include "component/component.h"

typedef struct ComponentEdit ComponentEdit;

/* Edits of a component and of all inside of it; the component must outlive them. Release with
 * component_edit_free. */
ComponentEdit *component_edit_new(const Component *c);
void component_edit_free(ComponentEdit *e);
/* The edits of the component that is an item of this one. */
ComponentEdit *component_edit_inner(ComponentEdit *e, uint32_t item);
/* The same of a component anywhere inside; `e` are the edits of the outermost. */
ComponentEdit *component_edit_within(ComponentEdit *e, const Component *c);
/* What is edited. */
const Component *component_edit_of(const ComponentEdit *e);

/*
 * Adds an item of some kind before the item `before` of the input (items.len: at the end), after
 * others that were added there. Returns its handle in the index space `adds`
 * (COMPONENT_SPACE_COUNT: none, 0). `format` has the item's bytes in hexadecimal, and:
 *   %n   a name (Str), without the byte before names of imports and exports
 *   %u   a number (uint32_t)
 *   %b   the contents of a Buf (const Buf *)
 *   %a   names with what they name, by handle, and their number before (const ComponentArg *,
 *        uint32_t): arguments of instantiations, exports of core instances
 *   %F, %m, %B, %T, %M, %i   a handle (uint32_t) of a core function, memory, table, type, module,
 *        instance
 *   %f, %t, %C, %I   of a function, type, component, instance
 *   %v   of a type where a value type is expected
 *
 *     component_edit_add(e, at, COMPONENT_ITEM_CANON, COMPONENT_SPACE_CORE_FUNC,
 *                        "01 00 %f 01 03 %m", func, memory);
 *
 * Of a core module the format is "%b".
 */
uint32_t component_edit_add(ComponentEdit *e, uint32_t before, ComponentItemKind kind,
                            ComponentSpace adds, const char *format, ...);

/* Adds an argument to an instantiation (the item `item`): the core instance, or the instance, with
 * this handle. */
void component_edit_argument(ComponentEdit *e, uint32_t item, Str name, uint32_t instance);

/* Replaces the contents of a core module, which are taken over (emptied). */
void component_edit_module(ComponentEdit *e, uint32_t item, Buf *module);

/* In the items [from, to), what names `ref` names this handle of the same space instead. */
void component_edit_replace(ComponentEdit *e, uint32_t from, uint32_t to, ComponentRef ref,
                            uint32_t by);

/* Writes the component. */
void component_edit_write(ComponentEdit *e, Buf *out);

#endif
