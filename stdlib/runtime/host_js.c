/*
 * runtime/host_js.c - the report goes piece by piece to the imported whammc.write(ptr, len).
 *
 * The pointer is into the memory that the runtime lives in, exported as "whammc:memory". An empty
 * piece ends the report.
 */
#include "host.h"

IMPORT("whammc", "write") void host_write(const uint8_t *p, uint32_t len);

void format_flush(FormatOut *o) {
    if (o->used)
        host_write(o->data, o->used);
    o->used = 0;
}

EXPORT("whammc_report")
void whammc_report(const uint8_t *image, uint32_t len, const uint8_t *values) {
    FormatOut out;
    out.used = 0;
    format_report(&out, image, len, values);
    host_write(out.data, 0);
}
