/*
 * runtime/stack.c - the shadow stack of programs that import the runtime, which keeps it in its
 * memory.
 */
#include "stack.h"
#include "memory.h"
#include "tree.h"
#include "values.h"

enum { MASK = 0x3ffffc }; /* of offsets; a quarter of what STACK_MASK has room for */

static uint32_t frames; /* address of the first one, 0 = there is no memory */
static uint32_t top;    /* place of the next function that is called without being passed one */

/* The address of the frame of the next function that is called. */
VALUES_EXPORT(stack_top)
uint32_t stack_top(void) {
    return top & MASK;
}

VALUES_EXPORT(stack_set_top)
void stack_set_top(uint32_t place) {
    top = place;
}

/* Stores a frame at an address; 0: there is none. */
VALUES_EXPORT(stack_put)
void stack_put(uint32_t place, uint32_t frame) {
    if (!frames)
        frames = values_mem_alloc(MASK + 2 * STACK_STEP);
    if (!frames)
        return;
    place &= MASK;
    set32(frames + place, frame);
    set32(frames + place + STACK_STEP, 0);
}

/* Adds a sample to the node of the calling-context tree for the functions on the stack. */
VALUES_EXPORT(stack_sample)
void stack_sample(uint64_t samples, uint64_t ns) {
    enum { OUTER = STACK_STEP * STACK_OUTER, INNER = STACK_STEP * STACK_INNER };
    uint32_t end = 0;
    while (frames && get32(frames + end))
        end += STACK_STEP;
    tree_go_untimed(0);
    for (uint32_t at = 0; at < end; at += STACK_STEP) {
        if (at == OUTER && end > OUTER + INNER) {
            tree_descend(TREE_ANY);
            at = end - INNER;
        }
        tree_descend(get32(frames + at) - 1);
    }
    tree_add(samples, ns);
    tree_go_untimed(0);
}
