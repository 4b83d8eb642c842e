/*
 * probe/describe.c - descriptions of types for the runtime.
 */
#include "probe/describe.h"

void describe_type(const Type *t, Buf *out) {
    buf_u8(out, (uint8_t)t->kind);
    if (t->kind == TYPE_TUPLE)
        buf_u8(out, (uint8_t)t->nfields);
    for (uint32_t i = 0; i < t->nfields; i++)
        describe_type(t->fields[i], out);
    if (t->kind == TYPE_MAP) {
        describe_type(t->key, out);
        describe_type(t->value, out);
    }
}

void describe_map(const Type *map, Buf *out) {
    buf_u8(out, (uint8_t)type_leaves(map->key));
    buf_u8(out, (uint8_t)type_leaves(map->value));
    describe_type(map->key, out);
    describe_type(map->value, out);
    buf_name(out, str_of(map->key->text));
    buf_name(out, str_of(map->value->text));
}
