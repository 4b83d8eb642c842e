/*
 * component/component_modules.h - the core modules inside of a component.
 */
#ifndef WHAMMC_COMPONENT_COMPONENT_MODULES_H
#define WHAMMC_COMPONENT_COMPONENT_MODULES_H

#include "component/component.h"

typedef struct ComponentModule {
    const Component *in;
    uint32_t item;
    const char *name;      /* "main", "module 0", "composed.main"; in the arena of the component */
    const char *component; /* the name of `in`, "" = the outermost has none */
    Str bytes;             /* part of the component's */
    bool adapter;          /* tools have made it to connect others */
    bool tags;             /* it has tags of exceptions */
} ComponentModule;

typedef Vec(ComponentModule) ComponentModules;

/* Appends all core modules, those of components inside, too, in the order of the file. */
void component_modules(const Component *c, ComponentModules *out);

#endif
