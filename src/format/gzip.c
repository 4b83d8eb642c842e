/*
 * format/gzip.c - gzip, by zlib.
 */
#include "format/gzip.h"

#include <assert.h>
#include <zlib.h>

struct Gzip {
    z_stream stream;
    Buf *out;
};

static void *allocate(void *ctx, uInt n, uInt size) {
    (void)ctx;
    return mem_alloc((size_t)n * size);
}

static void release(void *ctx, void *p) {
    (void)ctx;
    free(p);
}

Gzip *gzip_begin(Buf *out) {
    enum { GZIP = 16, MEMORY = 8 };
    static gz_header head = {.os = 255}; /* unknown */
    Gzip *g = mem_zalloc(sizeof *g);
    *g = (Gzip){.stream = {.zalloc = allocate, .zfree = release}, .out = out};
    int status = deflateInit2(&g->stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + GZIP,
                              MEMORY, Z_DEFAULT_STRATEGY);
    assert(status == Z_OK);
    (void)status;
    deflateSetHeader(&g->stream, &head);
    return g;
}

/* Compresses more data; `flush` is Z_FINISH for the last part. */
static void compress_more(Gzip *g, const uint8_t *bytes, size_t size, int flush) {
    enum { ROOM = 1 << 14, MOST = 1 << 30 };
    int status = Z_OK;
    do {
        uInt some = size < MOST ? (uInt)size : MOST;
        g->stream.next_in = (Bytef *)bytes;
        g->stream.avail_in = some;
        do {
            buf_reserve(g->out, ROOM);
            g->stream.next_out = g->out->data + g->out->len;
            g->stream.avail_out = ROOM;
            status = deflate(&g->stream, size > some ? Z_NO_FLUSH : flush);
            assert(status != Z_STREAM_ERROR);
            g->out->len += ROOM - g->stream.avail_out;
        } while (g->stream.avail_out == 0);
        bytes += some;
        size -= some;
    } while (size);
    assert(flush != Z_FINISH || status == Z_STREAM_END);
    (void)status;
}

void gzip_add(Gzip *g, const void *bytes, size_t size) {
    compress_more(g, bytes, size, Z_NO_FLUSH);
}

void gzip_end(Gzip *g) {
    compress_more(g, (const uint8_t *)"", 0, Z_FINISH);
    deflateEnd(&g->stream);
    free(g);
}
