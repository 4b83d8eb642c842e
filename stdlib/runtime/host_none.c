/*
 * runtime/host_none.c - the report stays in memory; whammc_report_ptr() and whammc_report_len()
 * tell where.
 *
 * Each report replaces the one before. The text grows in fresh pages at the end of the memory; if
 * somebody else has taken the pages behind it, it is moved. If the memory cannot grow the report is
 * cut.
 */
#include "host.h"

enum { PAGE = 65536 };

/* Wasm globals. */
#define GLOBAL __attribute__((address_space(1))) static
GLOBAL uint32_t text, text_len, text_cap;

static uint8_t *address(uint32_t at) {
    return (uint8_t *)(uintptr_t)at;
}

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

void format_flush(FormatOut *o) {
    uint32_t len = o->used;
    o->used = 0;
    if (len > text_cap - text_len && !grow(text_len + len))
        return;
    __builtin_memcpy(address(text + text_len), o->data, len);
    text_len += len;
}

EXPORT("whammc_report")
void whammc_report(const uint8_t *image, uint32_t len, const uint8_t *values) {
    FormatOut out;
    out.used = 0;
    text_len = 0;
    format_report(&out, image, len, values);
}

EXPORT("whammc_report_ptr") uint32_t whammc_report_ptr(void);
uint32_t whammc_report_ptr(void) {
    return text;
}

EXPORT("whammc_report_len") uint32_t whammc_report_len(void);
uint32_t whammc_report_len(void) {
    return text_len;
}
