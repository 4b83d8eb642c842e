/*
 * runtime/hosts/host_import.c - the runtime as a module of its own, which instrumented programs
 * import as "whammc_runtime" (--link=import). It has its own memory and writes through WASI; the
 * embedder instantiates it before the program.
 *
 * At each flush the program hands over the report, as numbers since no memory is shared:
 *
 *   open(image bytes, value bytes)   begins a report and forgets one that was not closed
 *   put32(i32), put64(i64)           the next 4 or 8 bytes, little endian: first the image, filled
 *                                    up to a multiple of 8, then the values. More than announced is
 *                                    ignored
 *   skip(bytes)                      the next bytes are zeros
 *   close()                          writes the report
 *
 * Between reports nothing is kept but the memory in which they were built, so several programs can
 * import the same instance.
 *
 * What runtime/values.h declares is there for programs whose scripts have strings, maps or text;
 * those need an instance each. At start they call
 *
 *   setup(maps)                      makes maps with numbers from 0, which live for the whole run
 *   open, put64 ..., setup_text()    text goes where this image says; no report is written
 *
 * Linked with host_wasi.c, compiled with HOST_IMPORT.
 */
#include "../memory.h"

static uint8_t *image, *next, *end;
static uint32_t image_len;
static uint32_t block, block_size; /* the memory in which a report is built */

#define SAY(text) host_message((const uint8_t *)(text), sizeof(text) - 1)

static uint64_t align8(uint64_t n) {
    return (n + 7) & ~(uint64_t)7;
}

/* Makes the block hold n bytes. */
static bool reach(uint64_t n) {
    if (n <= block_size)
        return true;
    if (block)
        values_mem_free(block);
    block = n <= UINT32_MAX ? values_mem_alloc((uint32_t)n) : 0;
    block_size = block ? (uint32_t)n : 0;
    return block;
}

EXPORT("open") void import_open(uint32_t image_bytes, uint32_t value_bytes);
void import_open(uint32_t image_bytes, uint32_t value_bytes) {
    uint64_t bytes = align8(image_bytes) + value_bytes;
    image = next = end = NULL;
    image_len = image_bytes;
    if (!reach(bytes ? bytes : 1)) {
        SAY("whammc: not enough memory for the report\n");
        return;
    }
    image = next = at(block);
    end = image + bytes;
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

EXPORT("skip") void import_skip(uint32_t bytes);
void import_skip(uint32_t bytes) {
    if (!room(bytes))
        return;
    __builtin_memset(next, 0, bytes);
    next += bytes;
}

/* Whether the image is complete and one of ours; says what is wrong. */
static bool is_good(void) {
    if (next != end)
        SAY("whammc: the report is incomplete and is left out\n");
    else if (image_len < FORMAT_HEADER || image[0] != FORMAT_VERSION)
        SAY("whammc: the program was instrumented for another version of the runtime module\n");
    else
        return true;
    return false;
}

EXPORT("close") void import_close(void);
void import_close(void) {
    if (image && is_good())
        whammc_report(image, image_len, image + align8(image_len));
    image = next = end = NULL;
}

EXPORT("setup_text") void import_setup_text(void);
void import_setup_text(void) {
    if (image && is_good()) {
        V->image = block;
        V->image_len = image_len;
        block = block_size = 0; /* it stays */
    }
    image = next = end = NULL;
}

EXPORT("setup") void import_setup(uint32_t maps);
void import_setup(uint32_t maps) {
    uint64_t bytes = (uint64_t)maps * VALUES_MAP_HEADER;
    V->maps = values_block(bytes);
    V->nmaps = maps;
    __builtin_memset(at(V->maps), 0, (size_t)bytes);
}
