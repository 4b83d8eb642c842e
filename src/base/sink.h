/*
 * base/sink.h - somebody who reads a buffer while it grows, on another thread: a file to be.
 */
#ifndef WHAMMC_BASE_SINK_H
#define WHAMMC_BASE_SINK_H

#include <stddef.h>
#include <stdint.h>

/* As whammc_sink. */
typedef struct Sink {
    /* The bytes [from, to) are complete. They may be read until `hold` is called; those that were
     * not read by then, once `put` has been called again. What was put may be put once more, with
     * other bytes. */
    void (*put)(void *ctx, const uint8_t *bytes, size_t from, size_t to);
    /* What was put is about to change or to move. Waits until nobody reads it. */
    void (*hold)(void *ctx);
    void *ctx;
} Sink;

#endif
