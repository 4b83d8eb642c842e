/*
 * report/run_model.h - the run model: whose the reports of a text are.
 *
 *   run ─┬─ module               what was instrumented
 *        └─ thread ── instance   of a module, in this thread
 *
 * A *flush* is what one instance hands over: a report of all that it has counted until then. Its
 * parts (report/parts.h), sums over instances, threads and runs (merge/modules.h), and what readers
 * show are made from this. In a text, a line before the flush tells its *origin*, a line after it
 * that it is complete, and one at the end how many threads there were:
 *
 *   {"whammc":1,"module":"3f91","name":"app.wasm","run":"9gfg","thread":2,"instance":0}
 *   ...
 *   {"whammc":"end"}
 *   {"whammc":"run","threads":8,"complete":7}
 *
 * All members but the first of a line may be missing. Stacks have no lines: contexts are rows of
 * their instance.
 */
#ifndef WHAMMC_REPORT_RUN_MODEL_H
#define WHAMMC_REPORT_RUN_MODEL_H

#include "base/buf.h"

/* The format of these lines. Readers take older ones, and the known members of newer ones. */
enum { RUN_FORMAT = 1 };

/* Texts without ptr are not known. */
typedef struct RunModule {
    Str id;    /* tells it apart from others */
    Str name;  /* for people */
    Str hash;  /* of the program before it was instrumented */
    Str names; /* of functions, as a map in JSON */
} RunModule;

/* Whose report it is; texts without ptr are not known. */
typedef struct RunOrigin {
    bool told;       /* there is such a line, or a column `module` or `thread` */
    bool less;       /* it has earlier counts, which are subtracted */
    uint32_t format; /* of the line */
    RunModule module;
    Str run, thread, instance;
} RunOrigin;

/* The threads of the runs, if the text says so: threads that are not complete are missing in the
 * reports. */
typedef struct RunThreads {
    uint64_t began;    /* threads that have run a module */
    uint64_t complete; /* of these, the ones that have reported */
} RunThreads;

#define RUN_THREADS_HINT                                                                           \
    "a thread reports when it ends: not after process.exit() of another one, terminate() or "      \
    "SIGKILL"

/* ---- lines ---- */

typedef enum RunLine {
    RUN_NO_LINE, /* it is not one */
    RUN_ORIGIN,
    RUN_END,
    RUN_THREADS,
    RUN_WRONG, /* of threads, with numbers that cannot be */
} RunLine;

/* Whether a line may be one, or begin one that is cut off. */
bool run_is_line(Str line);
/* Reads a line. Texts that had to be decoded are in the arena. */
RunLine run_read_line(Str line, Arena *arena, RunOrigin *origin, RunThreads *threads);

/* Append a line. `instance` of an origin is a number, as text. */
void run_put_origin(const RunOrigin *o, Buf *out);
void run_put_threads(const RunThreads *t, Buf *out);

/* The number of its thread; "0" is the main thread, which an origin may leave out. */
Str run_thread(const RunOrigin *o);

/* ---- which origins are of the same module ---- */

enum { RUN_NONE = UINT32_MAX };

/* Finds origins by their modules. Two origins are of the same module if its ids are equal, or,
 * where one of them tells only a name, if its names are. A zeroed one is valid and empty. Release
 * with run_index_free. */
typedef struct RunIndex {
    bool by_thread; /* origins of different threads are different; set before the first is added */
    Map modules;    /* id -> the first number with it */
    Map names;      /* name -> " */
    Map bare;       /* name -> the first number of the origins without id */
} RunIndex;

/* Adds an origin under a number, which is larger than those before; nothing if it is not told. */
void run_index_add(RunIndex *all, const RunOrigin *o, uint32_t number);
/* The smallest number of an origin of the same module, or RUN_NONE. */
uint32_t run_index_find(const RunIndex *all, const RunOrigin *o);
void run_index_free(RunIndex *all);

#endif
