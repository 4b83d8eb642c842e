/*
 * runtime/hosts/host_none.c - the report stays in memory; whammc_report_ptr() and
 * whammc_report_len() tell where.
 *
 * Each report replaces the one before. The text grows in fresh pages at the end of the memory; if
 * the program has added pages after it, it is moved. If the memory cannot grow, there is none: its
 * length is 0.
 *
 * With values, what scripts print is appended and stays: a report replaces the one before if
 * nothing was printed since. The text is a block of the heap.
 */
#include "../host.h"

enum { PAGE = 65536 };

/* Wasm globals. */
#define GLOBAL __attribute__((address_space(1))) static
GLOBAL uint32_t text, text_len, text_cap;
GLOBAL uint32_t lost; /* something of the text is */

static uint8_t *address(uint32_t at) {
    return (uint8_t *)(uintptr_t)at;
}

#ifdef VALUES
#include "../values.h"

GLOBAL uint32_t kept; /* bytes that the next report does not replace */

static bool grow(uint32_t need) {
    uint32_t cap = need > 2 * text_cap ? need : 2 * text_cap, to = values_mem_alloc(cap);
    if (!to)
        to = values_mem_alloc(cap = need);
    if (!to)
        return false;
    __builtin_memcpy(address(to), address(text), text_len);
    if (text)
        values_mem_free(text);
    text = to;
    text_cap = cap;
    return true;
}
#else
static bool grow(uint32_t need) {
    uint32_t pages = __builtin_wasm_memory_size(0), more = (need - text_cap + PAGE - 1) / PAGE;
    uint32_t end = pages * PAGE;
    bool joined = text_cap && text + text_cap == end;
    if (!joined)
        more = (need + PAGE - 1) / PAGE;
    if (__builtin_wasm_memory_grow(0, more) == (size_t)-1)
        return false;
    if (joined) {
        text_cap += more * PAGE;
        return true;
    }
    __builtin_memcpy(address(end), address(text), text_len);
    text = end;
    text_cap = more * PAGE;
    return true;
}
#endif

void format_flush(FormatOut *o) {
    uint32_t len = o->used;
    o->used = 0;
    if (!len)
        return;
    lost |= len > text_cap - text_len && !grow(text_len + len);
    if (lost)
        return;
    __builtin_memcpy(address(text + text_len), o->data, len);
    text_len += len;
#ifdef VALUES
    if (o == host_text())
        kept = text_len;
#endif
}

EXPORT("whammc_report")
void whammc_report(const uint8_t *image, uint32_t len, uint8_t *values) {
    FormatOut out;
    out.used = 0;
#ifdef VALUES
    values_text_before(image);
    text_len = kept;
#else
    text_len = lost = 0;
#endif
    format_report(&out, image, len, values);
}

EXPORT("whammc_report_ptr") uint32_t whammc_report_ptr(void);
uint32_t whammc_report_ptr(void) {
    return text;
}

EXPORT("whammc_report_len") uint32_t whammc_report_len(void);
uint32_t whammc_report_len(void) {
    return lost ? 0 : text_len;
}

#ifdef VALUES
FormatOut *host_text(void) {
    return (FormatOut *)VALUES_TEXT;
}

void host_text_line(void) {}

/* The compiler refuses `print` and `exit` for this host. */
void host_exit(uint32_t status) {
    (void)status;
}

bool host_print(const uint8_t *text, uint32_t len) {
    (void)text, (void)len;
    return true;
}

EXPORT("whammc_flush")
void values_flush(void) {
    format_flush(host_text());
}

EXPORT("whammc_now_ns")
uint64_t values_now_ns(void) {
    return 0;
}
#endif
