/*
 * runtime/hosts/host_js.c - the report goes piece by piece to the imported whammc.write(ptr, len).
 *
 * The pointer is into the memory that the runtime lives in, exported as "whammc:memory". An empty
 * piece ends the report; at the address -1 it says that there was no memory for the report. Text
 * goes the same way: when the buffer is full, before a report, and at values_flush, which ends it
 * with an empty piece. Lines of `print` go to whammc.print(ptr, len).
 */
#include "../host.h"

IMPORT("whammc", "write") void host_write(const uint8_t *p, uint32_t len);

void format_flush(FormatOut *o) {
    if (o->used)
        host_write(o->data, o->used);
    o->used = 0;
}

EXPORT("whammc_report")
void whammc_report(const uint8_t *image, uint32_t len, uint8_t *values) {
    FormatOut out;
    out.used = 0;
#ifdef VALUES
    values_text_before(image);
#endif
    format_report(&out, image, len, values);
    host_write(out.data, 0);
}

#ifndef VALUES
EXPORT("whammc_no_memory")
void whammc_no_memory(void) {
    host_write((const uint8_t *)UINT32_MAX, 0);
}
#else
#include "../values.h"

IMPORT("whammc", "now") double host_now(void); /* milliseconds */

FormatOut *host_text(void) {
    return (FormatOut *)VALUES_TEXT;
}

void host_text_line(void) {}

/* 0 = there is no instance yet whose memory could be read. */
IMPORT("whammc", "print") uint32_t host_print_piece(const uint8_t *p, uint32_t len);

IMPORT("whammc", "exit") void host_exit_with(uint32_t status);

void host_exit(uint32_t status) {
    host_exit_with(status);
}

bool host_print(const uint8_t *text, uint32_t len) {
    return host_print_piece(text, len);
}

EXPORT("whammc_flush")
void values_flush(void) {
    format_flush(host_text());
    host_write(host_text()->data, 0);
}

EXPORT("whammc_now_ns")
uint64_t values_now_ns(void) {
    return (uint64_t)(host_now() * 1e6);
}
#endif
