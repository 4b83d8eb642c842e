/*
 * runtime/stack.h - the memory of the shadow stack: which functions of the program are active, for
 * samplers to read while it runs, from other threads too.
 *
 * At STACK_TOP is how many bytes the frames take; at STACK_FRAMES they begin, outermost first:
 * numbers of 32 bits. The function at the top of the stack, if it calls nothing, may have put its
 * number behind them without raising the top; then STACK_LEAF is set in it. There is room for four
 * million frames, more than engines have stack for; those above begin again at the bottom.
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
    STACK_TOP = 32,
    STACK_FRAMES = 64,
    STACK_STEP = 4,        /* bytes of a frame */
    STACK_MASK = 0xfffffc, /* of their offsets */
    STACK_PAGES = 257,     /* of the memory, which does not grow */
};
#define STACK_LEAF 0x80000000u

/* Of a stack that is deeper than both, samples have the outermost and the innermost frames, with
 * TREE_ANY between them. */
enum { STACK_OUTER = 256, STACK_INNER = 256 };

#endif
