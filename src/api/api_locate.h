/*
 * api/api_locate.h - source locations for callers of the public library.
 */
#ifndef WHAMMC_API_API_LOCATE_H
#define WHAMMC_API_API_LOCATE_H

#include "api/api.h"
#include "locations/locations.h"

/* Locations of one program, as the library's callers get them. A zeroed Locator asks nothing. */
typedef struct Locator {
    const whammc_debug_info *info; /* NULL = nobody wants locations */
    const char *program;           /* its path */
    Locations *locations;          /* opened by the first question */
    LocationOptions options;
    Vec(PathMap) maps;
    Arena texts; /* of `frames` */
    Vec(whammc_frame) frames;
} Locator;

/* The frames at a place; valid until the next question. Sets *n. */
const whammc_frame *locator_at(Locator *l, const WasmModule *m, uint32_t func, uint32_t pc,
                               size_t *n, Diags *diags);
/* Frees it, after warnings about what could not be read. */
void locator_close(Locator *l, Diags *diags);

#endif
