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
    const char *value; /* what rows are ordered by */
    uint32_t top;      /* rows of a table; 0 = all */
} HeapView;

/* Whether objects were allocated, or, unless `report` is NULL, some were freed that are not known
 * to have been. */
bool heap_has_objects(const Profile *p, const Report *report);

/* Appends the totals, what each function allocates, where what is still in use comes from, and the
 * sizes. The profile has been read from the tree of the report and has names. False if it has not
 * the values of the script. */
bool view_heap(const Profile *p, const HeapView *view, Buf *out);

#endif
