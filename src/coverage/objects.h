/*
 * coverage/objects.h - object files, alone or in archives, with the functions that the linker took
 * for a program or left out.
 */
#ifndef WHAMMC_COVERAGE_OBJECTS_H
#define WHAMMC_COVERAGE_OBJECTS_H

#include "locations/locations.h"

/* A module with DWARF sections. */
typedef struct CoverageObject {
    char *title; /* "lib.o", "lib.a(one.o)" */
    WasmModule m;
} CoverageObject;

/* A zeroed one is valid and empty. Release with objects_free. */
typedef struct CoverageObjects {
    Vec(CoverageObject) all;
    const PathMap *maps;
    uint32_t nmaps;
    Diags *diags;
} CoverageObjects;

/*
 * Adds an object file, or those in an archive; the bytes are borrowed. Errors: malformed data, or
 * no member is an object file. Warning: there is no DWARF.
 */
void objects_add(CoverageObjects *o, const char *name, Str bytes, Diags *diags);
/* Prepares coverage_make: how paths change, and where warnings about DWARF that cannot be read go.
 */
void objects_register(CoverageObjects *o, const PathMap *maps, uint32_t nmaps, Diags *diags);
void objects_free(CoverageObjects *o);

#endif
