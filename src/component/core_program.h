/*
 * component/core_program.h - a program as a list of core modules: those of a component, or the only
 * one.
 */
#ifndef WHAMMC_COMPONENT_CORE_PROGRAM_H
#define WHAMMC_COMPONENT_CORE_PROGRAM_H

#include "component/component_modules.h"

typedef struct CorePart {
    const char *name;      /* in the component; "" = it is the whole program */
    const char *file;      /* the name of the program */
    const char *title;     /* for messages: "app.wasm:main", or the program's name */
    const char *component; /* the name of the component that has it, else its file's; "" as above */
    const uint8_t *bytes;
    size_t size;
    bool chosen;                   /* to be instrumented */
    bool further;                  /* another one is chosen before it */
    const ComponentModule *inside; /* of a component; NULL = it is the program */
} CorePart;

typedef struct CoreProgram {
    /* Given to core_program_open; they must live as long. */
    const char *name;
    const uint8_t *bytes;
    size_t size;
    const char *const *globs; /* choose among the core modules of a component, by name; they end
                                 with NULL. NULL: all but adapters */
    uint32_t threads;         /* to validate a component on (base/workers.h) */
    bool unvalidated;         /* it is only read */

    bool is_component;
    Component component;
    ComponentModules inside;
    Vec(CorePart) parts;
} CoreProgram;

/* Finds the core modules. False after a message: the component is invalid, or a glob matches
 * nothing. A module is not looked at. core_program_close is needed in both cases. */
bool core_program_open(CoreProgram *p, Diags *diags);
void core_program_close(CoreProgram *p);

#endif
