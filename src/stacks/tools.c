/*
 * stacks/tools.c - formats by their names in other folders, and what several of them need.
 */
#include "stacks/tools.h"

void stacks_write(ViewFormat format, const Stacks *s, bool inlined, Buf *out) {
    switch (format) {
    case VIEW_PPROF: stacks_pprof(s, out); break;
    case VIEW_FIREFOX: stacks_firefox(s, out); break;
    default: stacks_callgrind(s, inlined, out); break;
    }
}
