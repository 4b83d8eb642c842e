/*
 * report/render.c - the runtime's formatter, running in the compiler and writing into a buffer: one
 * more host.
 */
#include "../../stdlib/runtime/host.h"
#include "../../stdlib/runtime/values.h"
#include "report/image.h"

#include "wasm/leb.h"

#include <assert.h>
#include <setjmp.h>
#include <time.h>

/* A buffer that may not become too long. */
typedef struct Limit {
    const Buf *out;
    size_t most;
    jmp_buf full;
} Limit;

static _Thread_local Limit *limit; /* NULL = none */
static _Thread_local FormatOut text;

void format_flush(FormatOut *o) {
    Buf *out = o->sink;
    uint32_t used = o->used;
    o->used = 0;
    if (!out)
        return;
    if (limit && limit->out == out && (out->len > limit->most || used > limit->most - out->len))
        longjmp(limit->full, 1); /* the formatter holds nothing */
    buf_bytes(out, o->data, used);
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

bool image_render_within(const uint8_t *image, uint32_t len, uint8_t *values, size_t most,
                         Buf *out) {
    assert(!limit); /* not nested */
    Limit here = {.out = out, .most = most};
    limit = &here;
    if (setjmp(here.full)) {
        limit = NULL;
        return false;
    }
    image_render(image, len, values, out);
    limit = NULL;
    return true;
}

/* ---- reading an image ---- */

enum { MOST_TRAPS = 64 }; /* programs have room for fewer */

static uint32_t render_field(const uint8_t *image, uint32_t at) {
    return load32(image + at);
}

static bool render_get_text(WasmCode *c, const uint8_t **bytes, uint32_t *len) {
    return wasm_get_u32(c, len) && wasm_get_bytes(c, *len, bytes);
}

static bool skip_texts(WasmCode *c, uint32_t n) {
    const uint8_t *bytes;
    uint32_t len;
    bool ok = true;
    for (; ok && n; n--)
        ok = render_get_text(c, &bytes, &len);
    return ok;
}

/* Whether the values of a type are in the value area: none of its leaves is in the memory. */
static bool is_in_values(const uint8_t *description, uint32_t len) {
    for (uint32_t i = 0; i < len; i++) {
        uint8_t kind = description[i];
        if (kind == REPORT_TUPLE)
            i++; /* the number of fields */
        else if (kind > REPORT_BOOL)
            return false;
    }
    return true;
}

/* The same for a value of a kind, of a tuple with the description that comes next. */
static bool is_kind_in_values(uint8_t kind, WasmCode *c) {
    const uint8_t *description = &kind;
    uint32_t len = 1;
    return (kind != REPORT_TUPLE || render_get_text(c, &description, &len)) &&
           is_in_values(description, len);
}

/* Passes over the rows of a group. False unless they come by ascending function: the formatter
 * would read the names again and again. */
static bool skip_rows(WasmCode *c, uint32_t n) {
    uint64_t code, fid = 0;
    uint32_t zigzag = 0, pair;
    for (; n; n--) {
        if (!wasm_get_u64(c, &code) || (code & 1 && !wasm_get_u32(c, &zigzag)) ||
            (code & 2 && !wasm_get_u32(c, &pair)))
            return false;
        fid += code & 1 ? zigzag >> 1 : 0;
        if ((code & 1 && zigzag & 1) || fid > UINT32_MAX)
            return false;
    }
    return true;
}

static bool are_groups_whole(const uint8_t *image, uint32_t size) {
    uint32_t ngroups = render_field(image, FORMAT_NGROUPS), filled = 0;
    WasmCode c = wasm_code(image, size, render_field(image, FORMAT_GROUPS));
    WasmCode all_rows = wasm_code(image, size, render_field(image, FORMAT_ROWS));
    const uint8_t *group;
    for (uint32_t g = 0; g < ngroups; g++) {
        if (!wasm_get_bytes(&c, FORMAT_GROUP, &group))
            return false;
        uint32_t rows = render_field(group, 4), at = render_field(group, 8);
        if (!rows)
            continue;
        WasmCode description = wasm_code(image, size, at < size ? at : size);
        if (!is_kind_in_values(group[0], &description) || !skip_rows(&all_rows, rows))
            return false;
        filled++;
    }
    /* Names are read for each group, records of traps for each row. */
    uint32_t start = render_field(image, FORMAT_NAMES), end = render_field(image, FORMAT_GROUPS);
    uint64_t names = start < end ? end - start : 0;
    return filled * names < UINT32_MAX && render_field(image, FORMAT_TRAPS) <= MOST_TRAPS;
}

/* Passes over a map whose keys are known. */
static bool skip_cells(WasmCode *c) {
    uint8_t byte;
    uint32_t leaves, entries;
    bool ok = wasm_get_u8(c, &byte) && skip_texts(c, 4) && wasm_get_u32(c, &leaves);
    for (; ok && leaves; leaves--)
        ok = wasm_get_u8(c, &byte) && skip_texts(c, 1);
    return ok && wasm_get_u32(c, &entries) && skip_texts(c, entries);
}

static bool is_tail_whole(const uint8_t *image, uint32_t size) {
    WasmCode c = wasm_code(image, size, render_field(image, FORMAT_TAIL));
    bool ok = true;
    for (uint32_t n = render_field(image, FORMAT_NTAIL); ok && n; n--) {
        uint8_t kind;
        if (!wasm_get_u8(&c, &kind))
            return false;
        if (kind & FORMAT_TAIL_CELLS)
            ok = skip_texts(&c, 1) && skip_cells(&c);
        else
            ok = is_kind_in_values(kind & FORMAT_TAIL_KIND, &c) && skip_texts(&c, 1);
    }
    return ok;
}

bool image_is_whole(const uint8_t *image, uint32_t len) {
    return len >= FORMAT_HEADER && image[0] == FORMAT_VERSION &&
           render_field(image, FORMAT_GROUPS) <= len && render_field(image, FORMAT_ROWS) <= len &&
           render_field(image, FORMAT_TAIL) <= len && are_groups_whole(image, len) &&
           is_tail_whole(image, len);
}

uint32_t image_values_wanted(const uint8_t *image) {
    return render_field(image, FORMAT_VALUES);
}

/* ---- the rest of a host ---- */

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
