/*
 * tests/fuzz/fuzz_compare.c - fuzz target: two reports compared, in tables and as a flame graph,
 * and conditions on their numbers (--fail-if). The input is a byte of options, then the condition,
 * the old report and the new one, with two bytes 0 after each of the first two.
 */
#include <stdlib.h>

#include "base/diag.h"
#include "testing/condition.h"
#include "whammc/report.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { PARTS = 3 };

static void split(const char *at, size_t size, Str parts[PARTS]) {
    const char *end = at + size;
    for (uint32_t i = 0; i < PARTS; i++) {
        const char *stop =
            i + 1 < PARTS && at < end ? memmem(at, (size_t)(end - at), "\0\0", 2) : NULL;
        parts[i] = (Str){at, (uint32_t)((stop ? stop : end) - at)};
        at = stop ? stop + 2 : end;
    }
}

static WhammcReport *read_report(const char *name, Str text) {
    WhammcReport *r = whammc_report_new();
    whammc_report_read(r, name, text.ptr, text.len, 0);
    return r;
}

/* Tables are for terminals: no control characters but the ends of lines. */
static void check_table(const uint8_t *text, size_t size) {
    for (size_t i = 0; i < size; i++)
        if ((text[i] < ' ' && text[i] != '\n') || text[i] == 0x7f)
            abort();
}

static void compare(WhammcReport *old, WhammcReport *new, uint8_t bits) {
    static const WhammcReportFormat formats[] = {WHAMMC_REPORT_TABLE, WHAMMC_REPORT_SVG};
    WhammcReportOptions look = {
        .base = old, .top = bits & 3, .mangled = bits & 4, .nonzero = bits & 8, .width = 80};
    for (uint32_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        uint8_t *out;
        size_t size;
        if (whammc_report_write(new, formats[i], &look, &out, &size) != WHAMMC_OK)
            whammc_report_messages(new, 0);
        else if (formats[i] == WHAMMC_REPORT_TABLE)
            check_table(out, size);
        whammc_release(out);
    }
}

/* It is false whenever something is wrong with it. */
static void judge(Str condition, WhammcReport *new, WhammcReport *old) {
    Diags diags = {0};
    Buf used = {0}, text = {0}, shown = {0};
    buf_str(&text, condition);
    bool holds = condition_holds("--fail-if", buf_cstr(&text), new, old, &used, &diags);
    diag_render_text(&diags, &shown, true);
    diag_render_json(&diags, &shown);
    if (holds && diags.errors)
        abort();
    buf_free(&shown);
    buf_free(&text);
    buf_free(&used);
    diag_free(&diags);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Str parts[PARTS];
    if (!size)
        return 0;
    split((const char *)data + 1, size - 1, parts);
    WhammcReport *old = read_report("old", parts[1]), *new = read_report("new", parts[2]);
    compare(old, new, *data);
    compare(new, new, *data);
    judge(parts[0], new, *data & 16 ? old : NULL);
    whammc_report_free(old);
    whammc_report_free(new);
    return 0;
}
