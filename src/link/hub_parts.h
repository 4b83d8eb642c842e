/*
 * link/hub_parts.h - shared by the files of link/hub.h: what is added to components (hub.c), the
 * core modules among that (hub_core.c), and the interfaces of WASI (hub_wasi.c).
 */
#ifndef WHAMMC_LINK_HUB_PARTS_H
#define WHAMMC_LINK_HUB_PARTS_H

#include "link/hub.h"

#define HUB_HOST "whammc" /* the module from which instrumented modules import */

/* What instances need of the host besides writing. */
typedef struct HubNeeds {
    bool now, exit, print;
    bool serves; /* the component has no command */
} HubNeeds;

/* ---- core modules; each is made in `m`, which is to be freed ---- */

/* Exports memory and realloc. `heads`: of all slots, in order. */
void hub_make_memory(const Hub *hub, const Str *heads, uint32_t nslots, WasmModule *m);
/* Exports table, with so many entries; flush, which calls all that are set; flush_own, which calls
 * those of the first `own`; if the component serves, flush_due, which calls all if "hub" says that
 * it is time; and a global, held, which is not 0 while nothing may be called outside. */
void hub_make_roll(uint32_t entries, uint32_t own, bool serves, WasmModule *m);
/* Imports what is needed from "hub", and "roll"; exports table, and what instances import: for
 * `of`, a memory if it needs one. */
void hub_make_switch(HubNeeds needs, const WasmModule *of, WasmModule *m);
/* Imports instance, switch (table), roll (table), hub. `of`: the instance's module. */
void hub_make_tap(const WasmModule *of, uint32_t entry, WasmModule *m);
/* Imports roll (table) and "func", a function, which becomes an entry of the roll. */
void hub_make_entry(uint32_t entry, WasmModule *m);
/* Exports others, which calls n functions, "0", "1" ... of "others". */
void hub_make_others(uint32_t n, WasmModule *m);
/* Exports begin and end, which call those of "hub" with higher slots. */
void hub_make_front(uint32_t base, WasmModule *m);

/* When a finisher flushes: before the function; after it; after it, if its result says that a task
 * has ended (EXIT of the Canonical ABI); after it and `post`, which gets its result. */
typedef enum HubWhen { HUB_BEFORE, HUB_AFTER, HUB_ENDED, HUB_AFTER_POST } HubWhen;
/* Imports from "program" func, a function of this type, and post; from "roll" flush. Exports func,
 * and for HUB_AFTER_POST post, which does nothing. */
void hub_make_finisher(HubWhen when, const WasmTypeDef *type, WasmModule *m);

/* Exports func, which calls "func" of "program", a function of this type, and meanwhile adds one to
 * the global "held" of "roll". */
void hub_make_holder(const WasmTypeDef *type, WasmModule *m);

/* ---- additions to components ---- */

/* A component that is connected. */
typedef struct HubConnection {
    const HubNode *node;
    ComponentEdit *e;
    const Component *c;
    HubNeeds needs;
    uint32_t hub;         /* an instance that has the hub's functions */
    uint32_t to_hub;      /* a core instance that has them */
    uint32_t roll, flush; /* a core instance; its function */
    uint32_t front;       /* slots before those of the child that is connected */
} HubConnection;

/* A core instance of functions; of a module. */
uint32_t hub_core_functions(ComponentEdit *e, uint32_t before, const ComponentArg *args,
                            uint32_t n);
uint32_t hub_core_instance(ComponentEdit *e, uint32_t before, uint32_t module,
                           const ComponentArg *args, uint32_t n);
ComponentArg hub_core_arg(const char *name, uint32_t instance);
ComponentArg hub_func_arg(const char *name, uint32_t core_func);
/* In the items [from, to), a core function is replaced by another one. */
void hub_replace(const HubConnection *con, uint32_t from, uint32_t to, uint32_t func, uint32_t by);
/* The export of an instance that an alias names, if that is what the index denotes; else NULL. */
const ComponentAlias *hub_alias_of(const Component *c, ComponentRef ref);

/* Functions that allocate what is passed to the component, and that run when it has returned, must
 * not call out of it (may_leave of the Canonical ABI): tells switches while they run. */
void hub_hold(const HubConnection *con);

/* Adds a module and frees it. Returns its handle. */
uint32_t hub_add_module(ComponentEdit *e, uint32_t before, WasmModule *m);
/* A function that a core instance exports. */
uint32_t hub_core_alias(ComponentEdit *e, uint32_t before, uint32_t instance, const char *name);
/* What an instance exports: a function, or a type. */
uint32_t hub_alias(ComponentEdit *e, uint32_t before, uint32_t instance, Str name);
uint32_t hub_alias_type(ComponentEdit *e, uint32_t before, uint32_t instance, const char *name);
uint32_t hub_lower(ComponentEdit *e, uint32_t before, uint32_t func);

/* Adds the type of an instance at the beginning; the format has its declarations. */
#define hub_instance_type(e, ...)                                                                  \
    component_edit_add(e, 0, COMPONENT_ITEM_TYPE, COMPONENT_SPACE_TYPE, "42 " __VA_ARGS__)

/* ---- WASI ---- */

/* Interfaces that a component imports. */
typedef struct HubWasi {
    ComponentEdit *e;
    const char *version;                /* "@0.2.3" */
    uint32_t output_stream, descriptor; /* types */
    /* Instances: `errors` is wasi:cli/stderr, `report` where reports go. */
    uint32_t streams, files, folders, errors, report, clock, exit, random;
    Vec(ComponentArg) imported; /* all, by name */
} HubWasi;

/* A version of WASI 0.2 of which the component imports nothing. A name may be imported only once,
 * and the component may have imported it with other functions; hosts take all versions of 0.2 for
 * the same. In the component's arena. */
const char *hub_free_version(const Component *c);
/* Adds imports to the beginning of a component. */
void hub_import_wasi(HubWasi *w, ReportDest report, HubNeeds needs);

#endif
