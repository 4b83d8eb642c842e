/*
 * link/hub.h - how the reports of the core modules inside of a component leave it.
 *
 * An instrumented core module is written for the host "component": it imports from the module
 * "whammc" what it needs of a host in JavaScript, and exports whammc:flush. In the component, these
 * imports are functions of core modules that are added:
 *
 *   memory     the memory of the hub, with its settings: WASI's functions are lowered with it, so
 * it has to exist before the hub switch     what instances import. They exist before their
 * memories, so its functions go through a table; those that need no memory call WASI directly hub
 * writes reports through WASI (stdlib/runtime/hosts/hub.c) tap        one for each instance, after
 * it: reads its memory for the hub, and puts its functions into the switch's table
 *
 * The host calls the component's functions, and when one ends that is the program (wasi:cli/run),
 * and before the program calls wasi:cli/exit, the hub asks all instances for their reports.
 */
#ifndef WHAMMC_LINK_HUB_H
#define WHAMMC_LINK_HUB_H

#include "component/component_edit.h"
#include "report/image.h"

/* A core instance of an instrumented module. */
typedef struct HubInstance {
    uint32_t item;            /* its instantiation */
    const WasmModule *module; /* as it is instrumented */
    Str line;                 /* before its reports, with a line feed; empty = none */
} HubInstance;

typedef struct Hub {
    ComponentEdit *edit; /* of the component whose instances these are */
    HubInstance *instances;
    uint32_t ninstances;
    ReportDest report;
    Str file; /* REPORT_FILE */
} Hub;

/* Whether the module needs a hub: it imports something of the host, or reports. */
bool hub_serves(const WasmModule *instrumented);

/* Adds all that to the component, before anything else of it, and connects it. */
void hub_add(const Hub *hub);

#endif
