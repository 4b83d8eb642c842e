/*
 * plan/describe.c - descriptions of types for the runtime.
 */
#include "plan/describe.h"

#include <assert.h>
#include <string.h>

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

/* The type as print_map_as_csv() says it: the format writes u32 as i32. */
static void put_csv_type(const Type *t, Buf *out) {
    Buf text = {0};
    buf_bytes(&text, t->text, strlen(t->text));
    for (uint32_t i = 0; i + 3 <= text.len; i++)
        if (memcmp(text.data + i, "u32", 3) == 0)
            text.data[i] = 'i';
    buf_name(out, buf_view(&text));
    buf_free(&text);
}

void describe_map(const Type *map, Buf *out) {
    assert(map->kind == TYPE_MAP);
    buf_u8(out, (uint8_t)type_leaves(map->key));
    buf_u8(out, (uint8_t)type_leaves(map->value));
    describe_type(map->key, out);
    describe_type(map->value, out);
    put_csv_type(map->key, out);
    put_csv_type(map->value, out);
    if (map->aggregate == AGG_HIST || map->aggregate == AGG_LHIST) { /* values_map_tally() */
        bool from_zero = map->aggregate == AGG_HIST && !type_is_signed(map->added);
        uint64_t least = from_zero ? 64 : (uint64_t)map->steps[0];
        buf_u64le(out, least);
        buf_u64le(out, (uint64_t)map->steps[1]);
        buf_u64le(out, (uint64_t)map->steps[2]);
    }
}
