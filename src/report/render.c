/*
 * report/render.c - the runtime's formatter, running in the compiler and writing into a buffer.
 */
#include "report/image.h"

void format_flush(FormatOut *o) {
    buf_bytes(o->sink, o->data, o->used);
    o->used = 0;
}

void image_render(const uint8_t *image, uint32_t len, const uint8_t *values, Buf *out) {
    FormatOut o;
    o.sink = out;
    o.used = 0;
    format_report(&o, image, len, values);
}
