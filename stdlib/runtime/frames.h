/*
 * runtime/frames.h - the values of frame variables while the functions that have them are left, to
 * be called again later (Asyncify).
 */
#ifndef WHAMMC_RUNTIME_FRAMES_H
#define WHAMMC_RUNTIME_FRAMES_H

#include <stdint.h>

/* Puts a value on the stack of this number. */
void frame_push(uint32_t id, uint64_t value);
/* Takes the last one from it; 0 if there is none. */
uint64_t frame_pop(uint32_t id);

#endif
