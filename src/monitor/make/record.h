/*
 * monitor/make/record.h - the records that a monitor keeps for locations, and their descriptions in
 * its memory.
 */
#ifndef WHAMMC_EMIT_MONITOR_RECORD_H
#define WHAMMC_EMIT_MONITOR_RECORD_H

#include "monitor/make/monitor_input.h"
#include "storage/storage.h"

typedef struct Records {
    Plan *plan;
    Store *store;
    MonitorRecord **of_residue; /* by running number; NULL = none */
    MonitorRecord **own;        /* by monitor_own: of parts that have one of their own */
    Vec(MonitorRecord *) all;
    bool rows; /* some variable in them is reported */
} Records;

/* Makes the records of all units. Appends their descriptions (RowsClass) to `classes`, which will
 * be at address `at` of the monitor's memory. */
void records_make(Records *r, Plan *plan, const Units *units, Store *store, uint32_t at,
                  Buf *classes);
void records_free(Records *r);

#endif
