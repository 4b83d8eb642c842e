/*
 * runtime/host_import.c - the runtime as a module of its own, which instrumented programs import as
 * "whammc_runtime" (--link=import). It has its own memory and writes through WASI; who runs the
 * program instantiates it first.
 *
 * At each flush the program hands over the report, as numbers since no memory is shared:
 *
 *   open(image bytes, value bytes)   begins a report and forgets one that was not closed
 *   put32(i32), put64(i64)           the next 4 or 8 bytes, little endian: first the image, filled
 * up to a multiple of 8, then the values. More than announced is ignored close() writes the report
 *
 * Nothing is kept between reports but the memory they were built in, so that several programs can
 * import the same instance. Linked with host_wasi.c, compiled with HOST_IMPORT.
 */
#include "host.h"

/* One page less than there can be, so that the address behind the end is a 32-bit number too. */
enum { PAGE = 65536, MAX_PAGES = 65535 };

extern uint8_t __heap_base; /* of the linker: our memory is free from here */

static uint8_t *image, *next, *end;
static uint32_t image_len;

#define SAY(text) host_message((const uint8_t *)(text), sizeof(text) - 1)

static uint64_t align8(uint64_t n) {
    return (n + 7) & ~(uint64_t)7;
}

/* Makes the memory reach up to address `to`. */
static bool reach(uint64_t to) {
    uint64_t pages = (to + PAGE - 1) / PAGE, have = __builtin_wasm_memory_size(0);
    if (pages > MAX_PAGES)
        return false;
    return pages <= have || __builtin_wasm_memory_grow(0, pages - have) != (size_t)-1;
}

EXPORT("open") void import_open(uint32_t image_bytes, uint32_t value_bytes);
void import_open(uint32_t image_bytes, uint32_t value_bytes) {
    uint64_t from = align8((uintptr_t)&__heap_base);
    uint64_t to = from + align8(image_bytes) + value_bytes;
    image = next = end = NULL;
    image_len = image_bytes;
    if (!reach(to)) {
        SAY("whammc: not enough memory for the report\n");
        return;
    }
    image = next = (uint8_t *)(uintptr_t)from;
    end = (uint8_t *)(uintptr_t)to;
}

static bool room(uint32_t bytes) {
    return (uintptr_t)end - (uintptr_t)next >= bytes;
}

EXPORT("put32") void import_put32(uint32_t v);
void import_put32(uint32_t v) {
    if (!room(sizeof v))
        return;
    __builtin_memcpy(next, &v, sizeof v);
    next += sizeof v;
}

EXPORT("put64") void import_put64(uint64_t v);
void import_put64(uint64_t v) {
    if (!room(sizeof v))
        return;
    __builtin_memcpy(next, &v, sizeof v);
    next += sizeof v;
}

EXPORT("close") void import_close(void);
void import_close(void) {
    if (!image)
        return;
    if (next != end)
        SAY("whammc: the report is incomplete and is left out\n");
    else if (image_len < FORMAT_HEADER || image[0] != FORMAT_VERSION)
        SAY("whammc: the program was instrumented for another version of the runtime module\n");
    else
        whammc_report(image, image_len, image + align8(image_len));
    image = next = end = NULL;
}
