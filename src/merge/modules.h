/*
 * merge/modules.h - the reports of a text, by module, and on request by thread: those of instances
 * are added up.
 */
#ifndef WHAMMC_MERGE_MODULES_H
#define WHAMMC_MERGE_MODULES_H

#include "merge/merge_reports.h"
#include "report/parts.h"
#include "report/places.h"
#include "report/run_model.h"

/* The sum of the reports of all instances of a module, or of a thread. */
typedef struct ModuleReport {
    RunOrigin origin;   /* of one of them */
    Str thread;         /* its number, if threads are kept apart */
    uint32_t module;    /* the first ModuleReport of this module; its own number if threads are not
                           kept apart */
    Str title;          /* its name in output with several modules */
    Report *report;     /* the sum; its tuples and maps are JSON */
    Merge *merge;       /* NULL = nothing was added */
    uint32_t instances; /* in the sum */
    uint32_t left_out;  /* reports of instances that are cut off, and are not in the sum */
} ModuleReport;

/* A zeroed one is valid and empty. Release with modules_free. */
typedef struct Modules {
    bool by_thread; /* threads are kept apart; set before anything is read */
    bool several;   /* they are of more than one module */
    ReportParts parts;
    Vec(ModuleReport) all; /* in the order of the threads, and of the text */
    RunIndex origins;      /* of them */
    RunIndex modules;      /* whatever their threads are, if these are kept apart */
    Arena arena;           /* titles */
} Modules;

/*
 * Reads a text, which must live as long as the modules; `which` as for parts_read. False if there
 * is no such report. If the reports of one module cannot be added up, `why` has a message.
 *
 * A report that is cut off counts only if it is the only one of its module.
 */
bool modules_read(Modules *m, Str text, uint32_t which, Buf *why);
/* A report without rows, of a text that is empty. */
void modules_read_nothing(Modules *m);

/* Prepares the modules for modules_add; false if that is not possible, as `why` says. */
bool modules_open(Modules *m, Buf *why);

/*
 * Adds the reports of another text, module by module, or subtracts them. Modules that `m` lacks
 * stand beside its own if both texts identify their modules; then `other` must live as long as `m`.
 * False if the reports do not belong together: `why` has a message, and the sums are invalid.
 */
bool modules_add(Modules *m, Modules *other, bool less, Buf *why);

/* Which reports, by module, can be of this program: those with its hash; else those whose names it
 * has all; else those that fit it. If there is none, `why` says what was expected. */
void modules_fit(const Modules *m, const Places *places, bool *fits, Buf *why);
/* The report of this program: the only one, or the one that fits. NULL if none does; then `why`
 * says what was expected. */
ModuleReport *modules_of_program(const Modules *m, const Places *places, Buf *why);

/* The module with this title or name, or whose title, name or hash begins so; NULL = there is
 * none. */
ModuleReport *modules_named(const Modules *m, Str name);
/* Leaves out all other modules. */
void modules_select(Modules *m, const ModuleReport *one);

/* Warns of problems with the reports; `name`: the name of their text. */
void modules_warn(const Modules *m, const char *name, Str text, Diags *diags);

void modules_free(Modules *m);

#endif
