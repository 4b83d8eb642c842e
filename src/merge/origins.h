/*
 * merge/origins.h - finds origins of reports by the module that they name.
 *
 * Two origins are of the same module if their modules are equal, or, where one of them tells only
 * a name, if their names are. Threads can be told apart, too.
 */
#ifndef WHAMMC_MERGE_ORIGINS_H
#define WHAMMC_MERGE_ORIGINS_H

#include "report/report_read.h"

enum { ORIGINS_NONE = UINT32_MAX };

/* A zeroed one is valid and empty. Release with origins_free. */
typedef struct Origins {
    bool by_thread; /* origins of different threads are different; set before the first is added */
    Map modules;    /* module -> the first number with it */
    Map names;      /* name -> " */
    Map bare;       /* name -> the first number of those that tell no module */
} Origins;

/* The number of its thread; "0" is the main thread, of which an origin need not tell it. */
Str origins_thread(const ReportOrigin *o);

/* Adds an origin under a number, which is larger than those before; nothing if it is not told. */
void origins_add(Origins *all, const ReportOrigin *o, uint32_t number);
/* The smallest number of an origin of the same module, or ORIGINS_NONE. */
uint32_t origins_find(const Origins *all, const ReportOrigin *o);
void origins_free(Origins *all);

#endif
