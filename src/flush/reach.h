/*
 * flush/reach.h - finds the functions that the compiled code of a plan calls: of the runtime, of
 * libraries and of the scripts. Unreachable functions do not become part of the program.
 */
#ifndef WHAMMC_FLUSH_REACH_H
#define WHAMMC_FLUSH_REACH_H

#include "gen/gen.h"
#include "storage/storage.h"

typedef struct Reach {
    bool helpers[HELPER_COUNT]; /* by Helper */
    bool *fns;                  /* by index into Plan.fns */
    bool flushes;               /* a report may be due at any time: whamm_core.flush() */
    bool thread;                /* the number of the thread is needed */
    AtomicUse atomics;
    bool values; /* strings or maps are used */
    bool exits;  /* there is an '@exit' call at some site or at script scope */
} Reach;

/*
 * Visits the templates at sites, at script scope, and all templates that these call; `init`: of
 * each script's scope, NULL = none. Clears LibraryFn.runs of functions from elsewhere that are not
 * reached. The plan owns the arrays.
 */
Reach reach_find(Plan *plan, const Template *const *init);

#endif
