/*
 * locations/locator.h - locations that are opened by the first query, so that programs without
 * queries cost nothing.
 */
#ifndef WHAMMC_LOCATIONS_LOCATOR_H
#define WHAMMC_LOCATIONS_LOCATOR_H

#include "locations/locations.h"

/* The values of the names `file`, `line`, `column`, `src_function` and `inlined` at a site; empty
 * or 0 if unknown. */
typedef struct LocatorPlace {
    Str file;
    uint32_t line, column;
    Str function;     /* the innermost one, as in the source */
    uint32_t inlined; /* the number of inlined calls around it */
} LocatorPlace;

typedef struct Locator {
    /* Called before the first query; its result must be valid until locator_close. */
    void (*prepare)(void *ctx, LocationOptions *options);
    void *ctx;
    Diags *diags;
    const char *without; /* as in LocationOptions, if locator_place asks first */
    /* Zeroed at first: */
    LocationOptions options;
    Locations *locations;
    uint32_t func, pc; /* the last query, if there was one */
    bool asked, prepared;
    LocatorPlace place;
    Map demangled; /* symbol -> Str * */
    Arena names;
} Locator;

/* As locations_at; all queries must be about the same program. */
uint32_t locator_at(Locator *l, const WasmModule *m, uint32_t func, uint32_t pc,
                    const LocationFrame **frames);

/* Whether a separate file may have debug information. */
bool locator_has_file(Locator *l);

/* The underlying Locations, for many queries; valid until locator_close. */
Locations *locator_open(Locator *l, const WasmModule *m);

/* Valid until the next query; the strings until locator_close. */
const LocatorPlace *locator_place(Locator *l, const WasmModule *m, uint32_t func, uint32_t pc);

/* The source name of a frame's function or, without one, its demangled linkage name. Empty =
 * unknown. */
Str locator_function(Locator *l, const LocationFrame *frame);

/* Warns about unreadable debug information, then frees the locator. */
void locator_close(Locator *l);

#endif
