/*
 * flush/reach.h - what the compiled code of a plan calls: functions of the runtime, of libraries
 * and of the scripts. Unreachable functions do not become part of the program.
 */
#ifndef WHAMMC_FLUSH_REACH_H
#define WHAMMC_FLUSH_REACH_H

#include "gen/gen.h"
#include "storage/storage.h"

typedef struct Reach {
    bool helpers[HELPER_COUNT]; /* by Helper */
    bool *fns;                  /* by index into Plan.fns */
    bool flushes;               /* a report may be due at any time: whamm_core.flush() */
    bool thread;                /* the number of the thread is wanted */
    AtomicUse atomics;
    bool values; /* strings or maps are looked at */
    bool exits;  /* there is an '@exit' call at some site or at script scope */
} Reach;

/*
 * Goes through the templates, from those at sites and at script scope on; `init`: of each script's
 * scope, NULL = none. Clears LibraryFn.runs of functions from elsewhere that are not reached. The
 * arrays are the plan's.
 */
Reach reach_find(Plan *plan, const Template *const *init);

#endif
