/*
 * api/api_report.h - shared by the files of the public interface to reports (api_report.c,
 * api_report_modules.c, api_report_values.c).
 */
#ifndef WHAMMC_API_API_REPORT_H
#define WHAMMC_API_API_REPORT_H

#include "api/api_locate.h"
#include "base/diag.h"
#include "format/format.h"
#include "merge/modules.h"
#include "whammc/report.h"

/* The report's contents as in the public interface; made on demand. */
typedef struct ReportContents {
    Arena arena;  /* names and values */
    Report shown; /* with the names that tables show; its rows are those of the report */
    Vec(WhammcVariable) variables;
    Vec(WhammcRow) rows;
    const WhammcValue **values; /* by row; NULL = not parsed yet */
} ReportContents;

/* A program that the report may be about, as it was before it was instrumented. */
typedef struct ReportProgram {
    char *name; /* for messages and titles: "app.wasm", of a component's module "app.wasm:main" */
    char *file; /* as it was given */
    uint32_t given; /* a number that core modules of one component share; 0 = it is a module */
    uint8_t *bytes;
    WasmModule module;
    Places places;
    const whammc_debug_info *debug; /* as for WhammcReport */
    Buf unfit;                      /* why it fits no module of the report; empty = it does */
} ReportProgram;

struct WhammcReport {
    char *name, *text; /* the text that was read */
    bool by_thread;    /* of reports that will be read */
    Modules modules;
    Vec(WhammcReport *) added;      /* whose modules stand beside those of the text */
    Vec(ReportProgram *) programs;  /* in the order in which they were given */
    Vec(ReportProgram *) of;        /* by module: its program; NULL = not known */
    ProfileHomes homes;             /* all modules, and what they are for each other */
    Report joined;                  /* the rows of several modules */
    const Report *report;           /* all rows, of `joined` or the only module; NULL = not made */
    const whammc_debug_info *debug; /* of the next program; NULL = its own sections */
    Diags diags;
    Buf rendered;
    ReportContents *contents; /* or NULL */
    Profile profile;          /* of whammc_report_profile, as are the following */
    WhammcProfile described;
    locale_t numbers; /* whose decimal point is a point */
};

/* ---- api_report_modules.c ---- */

/* Finds the programs of the modules, and makes `report` of all their rows. */
void api_prepare(WhammcReport *r);
/* To be called when the modules, their programs or the locations of their rows have changed. */
void api_forget_joined(WhammcReport *r);
void api_forget_programs(WhammcReport *r);
/* Adds a program, or all core modules of a component. False after a message if it is not valid. */
bool api_add_program(WhammcReport *r, const char *name, const void *bytes, size_t size);
/* Begins queries about the locations of a program; the caller ends them with api_locator_end. */
void api_locate_program(WhammcReport *r, ReportProgram *p, ApiLocator *l);
/* Whether two programs are core modules of one component, or the same. */
bool api_given_together(const ReportProgram *a, const ReportProgram *b);
/* The report of a core module of a component; NULL = it is of none. After api_prepare. */
ModuleReport *api_module_of_part(WhammcReport *r, const ReportProgram *part);
/* What is known of places in a module; nothing if it has no program. */
const Places *api_places(const WhammcReport *r, uint32_t module);
/* Its title, or NULL if there is only one module. */
const Str *api_title(const WhammcReport *r, uint32_t module);
/* The thread that it is of, or NULL if threads are not kept apart. */
const Str *api_thread(const WhammcReport *r, uint32_t module);
/* Warns about programs that fit no module, and rows that their programs do not have. */
void api_check_programs(WhammcReport *r);
/* Notes that functions of a module without a program have only numbers. */
void api_note_nameless(WhammcReport *r, uint32_t module, const Profile *p);
/* The instructions of the rows, of a copy by api_copy_report; NULL = there is no program. */
const Str *api_instructions(const WhammcReport *r, Report *copy);

/* ---- api_report.c ---- */

/* Reads a profile of all modules and names its functions. `format`: with the source locations that
 * it shows and the options request; FORMAT_TABLE: without. Returns false after a message if there
 * is none. */
bool api_read_profile(WhammcReport *r, bool tree, Format format, const WhammcReportOptions *options,
                      Profile *p);
/* The module of a program: the only one, or the one that fits. NULL after a message. */
ModuleReport *api_module_of(WhammcReport *r, ReportProgram *program);
/* A copy of all rows, with readable names for their functions, as far as they are known. The texts
 * are the report's. */
void api_copy_report(const WhammcReport *r, bool mangled, Report *copy);
/* Until api_leave, this thread reads and writes numbers in the format of reports, whatever its
 * locale is. */
locale_t api_enter(const WhammcReport *r);
void api_leave(locale_t before);

/* Frees the messages of the last call, and the data computed from the report: contents, profile. */
void api_forget_messages(WhammcReport *r);
void api_forget_contents(WhammcReport *r);
void api_forget_profile(WhammcReport *r);

#endif
