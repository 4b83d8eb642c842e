/*
 * format/gzip.h - compresses bytes that come one after the other, as gzip does.
 */
#ifndef WHAMMC_FORMAT_GZIP_H
#define WHAMMC_FORMAT_GZIP_H

#include "base/buf.h"

typedef struct Gzip Gzip;

/* What is compressed is appended to a buffer. End with gzip_end, which frees the Gzip. The same
 * bytes have the same result everywhere. */
Gzip *gzip_begin(Buf *out);
void gzip_add(Gzip *g, const void *bytes, size_t size);
void gzip_end(Gzip *g);

#endif
