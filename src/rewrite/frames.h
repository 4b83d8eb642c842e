/*
 * rewrite/frames.h - the functions with frames on the shadow stack (frames.c).
 */
#ifndef WHAMMC_REWRITE_FRAMES_H
#define WHAMMC_REWRITE_FRAMES_H

#include "analysis/survey.h"
#include "storage/stack.h"

typedef struct Frames {
    WasmModule *m;
    WasmSurvey *survey;
    StackPlaces *stack;
    uint8_t *funcs;  /* by input function: bits (frames.c) */
    uint32_t *order; /* wasm_survey_order; NULL if no function has a frame */
    bool asked;      /* some function has a frame that needs code */
    bool engine;     /* frames are those of the engine's stack: none is on this one */
    bool keeps;      /* parameters stay as they are */
    bool cuts;       /* the script cuts the stack */
    bool watched;    /* the stack may be read while other code runs */
    bool tables;     /* functions called indirectly have frames, or are short */
} Frames;

/* Whether the function has a frame; an import: while it runs. */
bool frames_has(const Frames *f, uint32_t func);

#endif
