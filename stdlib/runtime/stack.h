/*
 * runtime/stack.h - the memory of the shadow stack: the active functions of the program, for
 * samplers to read while it runs, also from other threads.
 *
 * At STACK_FRAMES the frames begin, outermost first, 32 bits each, up to the first that is 0. There
 * is room for four million frames, more than engines have stack for; further ones wrap around, at
 * one of the calls of each cycle of calls: so as many more fit in as the program has functions.
 *
 * At STACK_NODE the host stores the nodes of its sampler's tree, one per request, parents first:
 * the handle of the parent (0: none) and the function, 32 bits each; samples and nanoseconds, 64
 * bits each. STACK_INTERVAL has the requested interval between samples in nanoseconds; 0: the
 * sampler's default.
 */
#ifndef WHAMMC_RUNTIME_STACK_H
#define WHAMMC_RUNTIME_STACK_H

enum {
    STACK_NODE = 0,
    STACK_INTERVAL = 24,
    STACK_FRAMES = 64,
    STACK_STEP = 4,        /* bytes of a frame */
    STACK_MASK = 0xfffffc, /* of their offsets */
    STACK_PAGES = 257,     /* of the memory, which does not grow; and those for such frames */
};

/* Of a stack that is deeper than both, samples have the outermost and the innermost frames, with
 * TREE_ANY between them. */
enum { STACK_OUTER = 256, STACK_INNER = 256 };

#endif
