/*
 * monitor/read/monitor.h - a monitor module: its probes and the values that they request, checked
 * as far as that is possible without a program.
 */
#ifndef WHAMMC_MONITOR_MONITOR_H
#define WHAMMC_MONITOR_MONITOR_H

#include "monitor/read/rule.h"
#include "wasm/module.h"

/* A callback or predicate, resolved. */
typedef struct MonitorFunc {
    const MonitorCall *call;
    uint32_t func; /* handle in the monitor */
} MonitorFunc;

typedef struct MonitorProbe {
    Str name; /* of the export */
    MonitorRule rule;
    uint32_t func;          /* handle in the monitor */
    MonitorFunc predicate;  /* call NULL = none */
    MonitorFunc *callbacks; /* by index into rule.params; call NULL for other parameters */
} MonitorProbe;

typedef Vec(MonitorProbe) MonitorProbes;

/* A function () -> () that `whammc bind` calls when all probes are attached: the monitor can free
 * memory that it no longer needs, before its memory becomes a part of the program. Engines do not
 * call it. */
#define MONITOR_ATTACHED "whammc:attached"

/* A function () -> () that `whammc bind` calls before it calls anything else of the monitor: its
 * probes will be counted by segments, and corrected after traps. So a monitor that has segments of
 * its own can end them after all instructions that can trap. (It is called with --no-coalesce, too:
 * counts must be exact then as well.) Engines do not call it. */
#define MONITOR_COALESCED "whammc:coalesced"

/* A memory: the monitor has probes of wasm:interval, which need a clock. */
#define MONITOR_INTERVALS "whammc:intervals"

typedef struct Monitor {
    WasmModule m;
    DiagFileId file;
    Arena arena;
    MonitorProbes probes; /* in the order of exports */
    /* Probes whose names only engines from 2025 know, in a monitor that has others only for engines
     * from 2026: the same probes once more, for the other engines. */
    MonitorProbes older;
    int64_t exit;      /* handle of wasm:exit, -1 = none */
    int64_t attached;  /* ... of MONITOR_ATTACHED */
    int64_t coalesced; /* ... of MONITOR_COALESCED */
    bool intervals;    /* it exports MONITOR_INTERVALS */
} Monitor;

/*
 * Reads and validates a module and its export names. `bytes` are borrowed. Messages name the export
 * and its mistake: errors if engines give up (a callback that does not exist, wrong types),
 * warnings for names that engines ignore, and for mistakes that matter only where an instruction
 * occurs. False if there were errors; monitor_free is needed either way.
 */
bool monitor_read(Monitor *monitor, const uint8_t *bytes, size_t size, DiagFileId file,
                  Diags *diags);
void monitor_free(Monitor *monitor);

#endif
