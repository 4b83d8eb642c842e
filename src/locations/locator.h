/*
 * locations/locator.h - locations that the first question opens: programs of which nobody asks
 * cost nothing.
 */
#ifndef WHAMMC_LOCATIONS_LOCATOR_H
#define WHAMMC_LOCATIONS_LOCATOR_H

#include "locations/locations.h"

/* What the names `file`, `line`, `column`, `src_function` and `inlined` are at a place; texts are
 * empty and numbers 0 where nothing is known. */
typedef struct LocatorPlace {
    Str file;
    uint32_t line, column;
    Str function;     /* the innermost one, as in the source */
    uint32_t inlined; /* how many calls around it were inlined */
} LocatorPlace;

typedef struct Locator {
    /* Called before the first question; what is given must live until locator_close. */
    void (*prepare)(void *ctx, LocationOptions *options);
    void *ctx;
    Diags *diags;
    const char *without; /* as in LocationOptions, if locator_place asks first */
    /* Zeroed at first: */
    LocationOptions options;
    Locations *locations;
    uint32_t func, pc; /* the last question about a place, if there was one */
    bool asked, prepared;
    LocatorPlace place;
    Map demangled; /* symbol -> Str * */
    Arena names;
} Locator;

/* The frames of locations_at; all questions must be about the same program. */
uint32_t locator_at(Locator *l, const WasmModule *m, uint32_t func, uint32_t pc,
                    const LocationFrame **frames);

/* Whether there is a file beside the program that may know locations. */
bool locator_has_file(Locator *l);

/* What answers all of them, for who has many; until locator_close. */
Locations *locator_open(Locator *l, const WasmModule *m);

/* Valid until the next question; the texts until locator_close. */
const LocatorPlace *locator_place(Locator *l, const WasmModule *m, uint32_t func, uint32_t pc);

/* The name of a frame's function in the source: without a name of its own, what the linker's stands
 * for. Empty = unknown. */
Str locator_function(Locator *l, const LocationFrame *frame);

/* Frees it, after warnings about what could not be read. */
void locator_close(Locator *l);

#endif
