/*
 * runtime/stack.c - the shadow stack of programs that import the runtime, which keeps it in its
 * memory.
 */
#include "stack.h"
#include "memory.h"
#include "tree.h"
#include "values.h"

enum { MASK = 0x3ffffc }; /* of offsets; a quarter of what STACK_MASK has room for */

static uint32_t frames, top; /* address of the first one, 0 = there is no memory; as at STACK_TOP */

/* Puts a frame on the stack and returns its place, for stack_pop. */
VALUES_EXPORT(stack_push)
uint32_t stack_push(uint32_t frame) {
    if (!frames)
        frames = values_mem_alloc(MASK + STACK_STEP);
    uint32_t place = top & MASK;
    if (frames)
        set32(frames + place, frame);
    top = place + STACK_STEP;
    return place;
}

/* Takes the frame at this place off the stack, and all that are above it. */
VALUES_EXPORT(stack_pop)
void stack_pop(uint32_t place) {
    top = place;
}

/* Adds to the node of the calling-context tree that the functions on the stack are. */
VALUES_EXPORT(stack_sample)
void stack_sample(uint64_t samples, uint64_t ns) {
    enum { OUTER = STACK_STEP * STACK_OUTER, INNER = STACK_STEP * STACK_INNER };
    tree_go_untimed(0);
    for (uint32_t at = 0; frames && at < top; at += STACK_STEP) {
        if (at == OUTER && top > OUTER + INNER) {
            tree_descend(TREE_ANY);
            at = top - INNER;
        }
        tree_descend(get32(frames + at) - 1);
    }
    tree_add(samples, ns);
    tree_go_untimed(0);
}
