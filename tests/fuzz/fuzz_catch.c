/*
 * tests/fuzz/fuzz_catch.c - fuzz target: reports of monitors in what a program
 * prints (run/report_catch.c). The input is a byte and what is printed, in
 * pieces whose sizes depend on the byte. Nothing gets lost or changes places;
 * how it came in pieces decides about nothing but the line feed before a
 * report, which passes if it comes alone.
 */
#include <stdlib.h>

#include "run/run.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static Buf passed;

/* In place of that of cli/file.c: what the terminal gets. */
bool file_write_fd(int fd, const void *bytes, size_t n) {
    (void)fd;
    buf_bytes(&passed, bytes, n);
    return true;
}

/* What passed, then the report, of the pieces; `out` is empty. */
static size_t take(const uint8_t *data, size_t size, uint32_t step, Buf *out) {
    Catch c = {0};
    passed.len = 0;
    for (size_t at = 0; at < size;) {
        size_t n = 1 + (step * (at + 7)) % (step + 1);
        n = n < size - at ? n : size - at;
        catch_take(&c, data + at, n);
        at += n;
    }
    catch_end(&c);
    buf_bytes(out, passed.data, passed.len);
    size_t before = out->len;
    buf_bytes(out, c.report.data, c.report.len);
    buf_free(&c.report);
    return before;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2)
        return 0;
    Buf whole = {0}, pieces = {0};
    size_t at = take(data + 1, size - 1, 1 << 20, &whole),
           again = take(data + 1, size - 1, *data, &pieces);
    bool alike = again == at || (again == at + 1 && at < whole.len && whole.data[at] == '\n') ||
                 (at == again + 1 && whole.data[again] == '\n');
    if (!alike || whole.len != size - 1 || memcmp(whole.data, data + 1, size - 1) != 0 ||
        pieces.len != size - 1 || memcmp(pieces.data, data + 1, size - 1) != 0)
        abort();
    buf_free(&whole);
    buf_free(&pieces);
    return 0;
}
