/*
 * report/render.c - the runtime's formatter, running in the compiler and writing into a buffer: one
 * more host.
 */
#include "report/image.h"
#include "../../stdlib/runtime/host.h"
#include "../../stdlib/runtime/values.h"

#include <time.h>

static _Thread_local FormatOut text;

void format_flush(FormatOut *o) {
    if (o->sink)
        buf_bytes(o->sink, o->data, o->used);
    o->used = 0;
}

void image_render(const uint8_t *image, uint32_t len, uint8_t *values, Buf *out) {
    FormatOut o;
    o.sink = out;
    o.used = 0;
    if (len >= FORMAT_HEADER)
        values_text_before(image);
    uint8_t none[1];
    format_report(&o, image, len, values ? values : none);
}

void image_text_to(Buf *out) {
    text.sink = out;
}

/* The runtime's name, which is no name of the library. */
__attribute__((visibility("hidden"))) void whammc_report(const uint8_t *image, uint32_t len,
                                                         uint8_t *values) {
    if (text.sink)
        image_render(image, len, values, text.sink);
}

FormatOut *host_text(void) {
    return &text;
}

void host_text_line(void) {}

void values_flush(void) {
    format_flush(&text);
}

uint64_t values_now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
