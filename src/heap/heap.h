/*
 * heap/heap.h - heap profiles, from reports of the bundled script heap.
 */
#ifndef WHAMMC_HEAP_HEAP_H
#define WHAMMC_HEAP_HEAP_H

#include "locations/locator.h"
#include "profile/profile.h"

/* How a heap profile is shown. */
typedef struct HeapView {
    const Report *report;
    const WasmModule *m;
    Locator *locator;  /* NULL: without the lines of calls */
    const char *value; /* the sort key of rows */
    uint32_t top;      /* rows of a table; 0 = all */
} HeapView;

/* Whether objects were allocated, or, unless `report` is NULL, some were freed that are not known
 * to have been. */
bool heap_has_objects(const Profile *p, const Report *report);

/* Appends the totals, the allocations of each function, the contexts of allocations that are still
 * in use, and the sizes. The profile has been read from the tree of the report and has names.
 * Returns false if it lacks the values of the script. */
bool view_heap(const Profile *p, const HeapView *view, Buf *out);

#endif
