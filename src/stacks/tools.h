/*
 * stacks/tools.h - what the tools of other profilers read; one file each.
 *
 * All of them append to a Buf. Names are of any bytes; each format replaces what it cannot have.
 */
#ifndef WHAMMC_STACKS_TOOLS_H
#define WHAMMC_STACKS_TOOLS_H

#include "stacks/stacks.h"
#include "view/view.h"

/* For pprof: profile.proto, compressed. */
void stacks_pprof(const Stacks *s, Buf *out);

/* For the profiler of Firefox. */
void stacks_firefox(const Stacks *s, Buf *out);
/* For KCachegrind and callgrind_annotate. */
void stacks_callgrind(const Stacks *s, Buf *out);
/* For Perfetto, and all that reads Chrome's trace events: one slice for each node of a call tree,
 * as long as its total. */
void stacks_perfetto(const ProfileView *v, Buf *out);

#endif
