/*
 * runtime/stack.h - the memory of the shadow stack: which functions of the program are active, for
 * samplers to read while it runs, from other threads too.
 *
 * At STACK_FRAMES begin the frames, outermost first: numbers of 32 bits, none of them 0, up to a 0.
 * Pushing a frame stores its number and the 0 behind it at once; popping stores a 0 in its place.
 * So a reader finds where the stack ends without knowing the global that says it. Frames deeper
 * than that share the last place.
 *
 * At STACK_NODE the host leaves what its sampler has found, node by node, parents first, when the
 * program asks for it: the place of the parent (0: none) and the function, 32 bits each; samples
 * and nanoseconds, 64 bits each. At STACK_INTERVAL is the time wanted between two samples, in
 * nanoseconds; 0: whatever the sampler does.
 */
#ifndef WHAMMC_RUNTIME_STACK_H
#define WHAMMC_RUNTIME_STACK_H

enum {
    STACK_NODE = 0,
    STACK_INTERVAL = 24,
    STACK_FRAMES = 64,
    STACK_STEP = 4,                         /* bytes of a frame */
    STACK_PAGES = 64,                       /* of the memory, which does not grow */
    STACK_LAST = STACK_PAGES * 65536 - 256, /* the last place */
};

#endif
