/*
 * tests/unit/file.h - whole files, for the programs that the tests call.
 */
#ifndef WHAMMC_TESTS_FILE_H
#define WHAMMC_TESTS_FILE_H

#include <stdio.h>

#include "base/buf.h"

/* Appends what is in the file. False if it cannot be opened. */
static inline bool read_file(const char *path, Buf *b) {
    FILE *f = fopen(path, "rb");
    if (!f)
        return false;
    for (size_t n = 1; n; b->len += n) {
        buf_reserve(b, 1 << 16);
        n = fread(b->data + b->len, 1, b->cap - b->len, f);
    }
    fclose(f);
    return true;
}

static inline bool write_file(const char *path, const Buf *b) {
    FILE *f = fopen(path, "wb");
    bool ok = f && fwrite(b->data, 1, b->len, f) == b->len;
    return f && fclose(f) == 0 && ok;
}

#endif
