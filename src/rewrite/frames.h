/*
 * rewrite/frames.h - frames of functions on the shadow stack, where scripts ask for them
 * (`stack.frame()`, `stack.callee()`).
 *
 * A function knows its *place*: the offset of its frame. It puts its frame there when it begins,
 * and calls others with the place above its own; after a call it takes off what that has left
 * (a zero above its frame), only on ways that do not soon call again or end. So nothing is done at
 * the end of a function, however it ends; after a call, or in a handler, the stack is right again.
 *
 *   PARAM   The place is one more parameter, if all calls of the function are known.
 *   ENTRY   It is, too: tables and hosts have another function, which finds the place as others do,
 *           and calls this one.
 *   others  find it in a global, where whoever calls them has put it. Those
 *           that the host can call put it back, by `stack.leave()` at their ends: the host calls
 *           the next one with what is there.
 *
 * Places are kept within the memory where functions take them from the top, and where a call passes
 * one that may close a cycle of calls: as many frames as there are functions fit in beyond.
 *
 * If the script cuts the stack itself before it looks at it (`stack.cut()`), and nobody else does
 * look, nothing is taken off after calls.
 *
 * A function without a frame of its own hands its place on. Functions without frames that call
 * nothing know no place.
 */
#ifndef WHAMMC_REWRITE_FRAMES_H
#define WHAMMC_REWRITE_FRAMES_H

#include "analysis/survey.h"
#include "inject/pieces.h"
#include "plan/plan.h"
#include "storage/stack.h"

typedef struct Frames {
    WasmModule *m;
    WasmSurvey *survey;
    StackPlaces *stack;
    uint8_t *funcs;  /* by input function: bits (frames.c) */
    uint32_t *order; /* wasm_survey_order; NULL if no function has a frame */
    bool asked;      /* some function has a frame, for which code is added */
    bool engine;     /* frames are those of the engine's own stack: none is */
    bool keeps;      /* parameters stay as they are */
    bool cuts;       /* the script cuts the stack */
    bool watched;    /* the stack is looked at while other code runs */
    bool tables;     /* functions that are called indirectly have frames, or are short */
} Frames;

/* No function has a frame at first. Release with frames_free. */
void frames_init(Frames *f, WasmModule *m, WasmSurvey *survey, StackPlaces *stack);
void frames_free(Frames *f);

/* Whether the function has one; an import: while it runs. */
bool frames_has(const Frames *f, uint32_t func);

/* Pass 1: notes who is to have a frame. `code`: the matches have code at the site. */
void frames_note(Frames *f, const Site *site, const Match *matches, uint32_t n, bool code);
/* After it: decides how each function knows its place, and marks in `touched` the functions that
 * are changed. */
void frames_decide(Frames *f, uint8_t *touched);
/* Adds the types of functions with one more parameter; before the layout. */
void frames_add_types(Frames *f);
/* Adds what is called instead of such functions other than by `call`; after the layout. */
void frames_add_entries(Frames *f);

/* Pass 2, before the sites of a function: adds what it does to its pieces. */
void frames_put(Frames *f, uint32_t func, LocalPool *pool, Pieces *pieces);

#endif
