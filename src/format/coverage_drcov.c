/*
 * format/coverage_drcov.c - executed basic blocks as a log of DynamoRIO's tool drcov, version 2
 * with module table version 2, which Lighthouse, bncov and others read.
 *
 * Addresses are offsets in the program's file, which begins at 0.
 */
#include "format/coverage_format.h"

#include <inttypes.h>

enum { MAX_SIZE = UINT16_MAX }; /* of a block */

/* The entries that a block needs. */
static uint32_t drcov_entries_of(CoverageBlock b) {
    return b.size / MAX_SIZE + (b.size % MAX_SIZE != 0);
}

static void drcov_put_u16(uint32_t n, Buf *out) {
    buf_u8(out, (uint8_t)n);
    buf_u8(out, (uint8_t)(n >> 8));
}

static void drcov_put_block(CoverageBlock b, uint32_t module, Buf *out) {
    for (uint32_t done = 0, size; done < b.size; done += size) {
        size = b.size - done < MAX_SIZE ? b.size - done : MAX_SIZE;
        buf_u32le(out, b.offset + done);
        drcov_put_u16(size, out);
        drcov_put_u16(module, out);
    }
}

/* The columns end at ", ", and the lines at their ends. */
static void drcov_put_path(Str path, Buf *out) {
    for (uint32_t i = 0; i < path.len; i++) {
        uint8_t c = (uint8_t)path.ptr[i];
        buf_u8(out, c < ' ' || c == ',' ? '_' : c);
    }
}

void format_drcov(const CoverageView *v, Buf *out) {
    const Coverage *c = v->c;
    uint64_t entries = 0;
    buf_printf(out,
               "DRCOV VERSION: 2\nDRCOV FLAVOR: drcov\nModule Table: version 2, count %u\n"
               "Columns: id, base, end, entry, path\n",
               c->code.len);
    for (uint32_t i = 0; i < c->code.len; i++) {
        const CoverageCode *code = &c->code.at[i];
        buf_printf(out, "%3u, 0x%016x, 0x%016x, 0x%016x, ", i, 0, code->size, 0);
        drcov_put_path(code->path, out);
        buf_u8(out, '\n');
        for (uint32_t k = 0; k < code->blocks.len; k++)
            entries += drcov_entries_of(code->blocks.at[k]);
    }
    buf_printf(out, "BB Table: %" PRIu64 " bbs\n", entries);
    for (uint32_t i = 0; i < c->code.len; i++)
        for (uint32_t k = 0; k < c->code.at[i].blocks.len; k++)
            drcov_put_block(c->code.at[i].blocks.at[k], i, out);
}
