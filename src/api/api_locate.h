/*
 * api/api_locate.h - source locations for scripts and callers of the public library; texts of
 * sources from these callers.
 */
#ifndef WHAMMC_API_API_LOCATE_H
#define WHAMMC_API_API_LOCATE_H

#include "annotate/source.h"
#include "locations/locator.h"
#include "whammc/whammc.h"

/* Locations of one program during one call. */
typedef struct ApiLocator {
    Locator locator;
    const whammc_debug_info *info; /* NULL = the program's own sections */
    const char *program;           /* its path */
    const char *part; /* the core module inside; "" = it is no component. To be set after
                         api_locator_begin, which sets "" */
    Vec(PathMap) maps;
    Arena texts; /* of `frames` */
    Vec(whammc_frame) frames;
} ApiLocator;

/* Prepares queries about the program with this name. `l` must not move until api_locator_end, which
 * warns about unreadable parts and frees it. */
void api_locator_begin(ApiLocator *l, const whammc_debug_info *info, const char *name,
                       Diags *diags);
void api_locator_end(ApiLocator *l);

/* The frames at a location; valid until the next query. Sets *n. */
const whammc_frame *api_locator_at(ApiLocator *l, const WasmModule *m, uint32_t func, uint32_t pc,
                                   size_t *n);

/* Who has the texts of sources: members of WhammcCoverageOptions and WhammcAnnotateOptions. */
typedef struct ApiTexts {
    const void *(*source)(void *ctx, const char *path, size_t *size); /* NULL = nobody */
    void *ctx;
} ApiTexts;

/* The sources of the program with this name, which are read from `texts`; both are borrowed. */
Sources api_sources(const ApiTexts *texts, const char *program);

#endif
