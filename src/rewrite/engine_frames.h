/*
 * rewrite/engine_frames.h - what the samples of the engine's own profiler need (`stack.engine()`):
 * the custom section whammc.functions, by which the host finds the functions that have frames, and
 * functions through which imports are called.
 *
 *   u8 version: 2
 *   ULEB  file offset of the first body that is not the program's
 *   per function of the program, and per import that is called through one, by place in the file:
 *     ULEB  body: file offset of its first byte after its size, as distance
 *     ULEB  its index in the original program, as distance from the one before, zigzag, times 8,
 *           with bits: 1 it has no frame; 2 it may be called other than by a call that names it;
 *           4 it may call such functions
 *     ULEB  bytes of the following list
 *     ULEB  the functions that its calls name, ascending: distance of the first from its own index,
 *           zigzag, and of others from the one before
 *
 * V8's profiler tells that offset for each frame. Of imported functions it tells nothing, so a
 * program calls them through functions of their own, which are in the section instead. V8 does not
 * inline functions as large as these. By who calls whom the host finds out where V8 has missed a
 * caller.
 */
#ifndef WHAMMC_REWRITE_ENGINE_FRAMES_H
#define WHAMMC_REWRITE_ENGINE_FRAMES_H

#include "rewrite/frames.h"

typedef struct EngineFrames {
    const Frames *frames;
    uint32_t *through; /* by imported function: the function that calls it; 0 = none */
    uint32_t imports;
} EngineFrames;

/* Adds the functions through which imports are called, after the layout. */
void engine_frames_add(EngineFrames *e, const Frames *frames, WasmModule *m);
void engine_frames_free(EngineFrames *e);
/* Appends the section; `written` is the program `m` as it has been written and read again. */
void engine_frames_put_section(const EngineFrames *e, const WasmModule *m,
                               const WasmModule *written, Buf *out);

#endif
