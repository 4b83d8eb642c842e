/*
 * link/hub.h - how the reports of the core modules inside of a component leave it.
 *
 * An instrumented core module is written for HOST_COMPONENT: it imports from the module "whammc"
 * what a program imports of a host in JavaScript, and exports whammc:flush. What is added to the
 * component supplies these imports:
 *
 *   hub      a component that writes reports through WASI 0.2 (stdlib/runtime/hosts/hub.c). Its
 *            functions have only numbers as parameters. Components inside import them
 *   switch   what an instance imports. It exists before the instance's memory, so its functions
 *            go through a table; those that need no memory are the hub's
 *   tap      comes after an instance: it reads its memory for the hub, and puts its functions
 *            into the tables of the switch and of the roll
 *   roll     one in each component: all that has to be flushed there, core instances and
 *            instances of components inside
 *
 * All are flushed when the program ends, which is when its function wasi:cli/run does, and before
 * it calls wasi:cli/exit. A component without that function serves calls of its host, and nobody
 * tells which is the last one: it is flushed after the first call, and after others when some time
 * has gone by. If the function is one of a component inside, that one does so, and asks those that
 * were instantiated before it. The outermost one exports a function, whammc-flush, for hosts that
 * know more.
 *
 * REENTRANCE. A function of a component traps if it is called while the component calls out
 * (Canonical ABI). So nothing here calls into a component that may be active: the hub is called by
 * all, and calls nobody; after wasi:cli/run no function of the program is active; before
 * wasi:cli/exit only core instances of the component that calls it are flushed; and components
 * that were instantiated before another one know none of its functions.
 */
#ifndef WHAMMC_LINK_HUB_H
#define WHAMMC_LINK_HUB_H

#include "component/component_edit.h"
#include "report/image.h"

/* A core instance of an instrumented module. */
typedef struct HubInstance {
    uint32_t item;            /* its instantiation */
    const WasmModule *module; /* as it is instrumented */
    Str head;                 /* the line before its reports, up to the member `instance` */
} HubInstance;

/* An instance of a component inside. */
typedef struct HubChild {
    uint32_t item; /* its instantiation */
    struct HubNode *node;
} HubChild;

/* A component with instrumented core modules, perhaps only further inside. */
typedef struct HubNode {
    ComponentEdit *edit;
    Vec(HubInstance) instances;
    Vec(HubChild) children;
    uint32_t slots; /* hub_count */
    /* By hub_add: */
    bool connected;
    bool exported; /* the outermost component, which serves, exports functions of it */
} HubNode;

typedef struct Hub {
    HubNode *root;
    ReportDest report;
    Str file;          /* REPORT_FILE */
    uint64_t every_ns; /* of a component without a command: between two reports */
} Hub;

/* Whether an instrumented module needs a hub: it imports something of the host, or reports. */
bool hub_serves(const WasmModule *m);
/* Sets HubNode.slots: how many core instances a component has, with all components inside, which
 * have been counted already; not more than HUB_MAX_SLOTS + 1. */
enum { HUB_MAX_SLOTS = 10000 };
void hub_count(HubNode *node);

/* Adds all that, and connects it. The root has at least one slot, and HUB_MAX_SLOTS at most. False:
 * reports are only made when the host calls whammc-flush, as the component exports no function of
 * an instrumented module. */
bool hub_add(const Hub *hub);

#endif
