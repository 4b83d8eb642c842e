/*
 * monitor/make/monitor_input.h - the input and output of generating a monitor's code.
 */
#ifndef WHAMMC_GEN_MONITOR_INPUT_H
#define WHAMMC_GEN_MONITOR_INPUT_H

#include "gen/compile_options.h"
#include "monitor/make/unit.h"

/* A per-site variable of a part in the record that a probe function has at each location. */
typedef struct MonitorField {
    const UnitPart *part; /* NULL in records that parts have of their own */
    const Var *var;
    uint32_t id; /* PlanVar */
    uint32_t offset;
} MonitorField;

/* The layout of such a record: a class of runtime/rows.h. */
typedef struct MonitorRecord {
    Vec(MonitorField) fields;
    Map field_of;      /* ... their indices, by part and variable */
    uint32_t class_at; /* address of the class in the monitor's memory */
    int64_t link;      /* offset of MONITOR_LINK bytes, if there is something to do at the end
                          ('@exit' calls); else -1 */
} MonitorRecord;

/* The field of a variable of the part; NULL = it has none in the record. */
const MonitorField *monitor_field(const MonitorRecord *r, const UnitPart *part, uint32_t var);
void monitor_add_field(MonitorRecord *r, MonitorField f);

/* The index of the record that a part has of its own: of an action, as PART_COUNT or not. */
static inline uint32_t monitor_own(uint32_t action, bool counted) {
    return 2 * action + counted;
}

/* The link of the next such record; function, pc, number of the code to run; u32 each. */
enum { MONITOR_LINK = 16 };

/* A reported shared or script variable: where its first leaf goes for the report. */
typedef struct MonitorTail {
    uint32_t id; /* PlanVar */
    uint32_t at; /* address */
} MonitorTail;

typedef struct MonitorInput {
    Plan *plan;
    const Units *units;
    const GenOptions *options;
    /* Records by running number of residues. Parts with `at_end`, those of units that are not split
     * and of residues whose parts are `apart` have their own, by monitor_own. NULL = none is
     * needed.
     */
    MonitorRecord *const *records, *const *own_records;
    const uint32_t *frame_at; /* by PlanVar.id, of frame variables: offset in a set of them */
    uint32_t frame_bytes;     /* of such a set, a multiple of 8 */
    uint32_t (*text_at)(void *ctx, Str text); /* the address of a string, which may be new */
    void *ctx;
    OnceShapes once;
    bool exact_traps; /* instructions that can trap end segments */
    /* The report: an image (with site rows to be added if `rows`), the values of the tail. */
    bool reports, rows;
    uint32_t image_at, image_len, tail_at, tail_bytes;
    const MonitorTail *tail;
    uint32_t ntail;
} MonitorInput;

/* A probe: the function that the module exports as `function` gets `rule` as its export name. */
typedef struct MonitorExport {
    MonitorRule rule;
    Str function;
} MonitorExport;

/* Texts live in the plan's arena. */
typedef struct MonitorCode {
    Buf module;
    Vec(MonitorExport) probes; /* in the order in which engines shall see them */
    Vec(Str) callbacks;        /* exported under these names */
    bool starts, ends;         /* there are functions `start` and `exit` */
} MonitorCode;

#endif
