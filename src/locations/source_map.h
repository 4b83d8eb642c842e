/*
 * locations/source_map.h - reads source maps (ECMA-426) of WebAssembly modules: the whole module is
 * one line, a column is an offset in it.
 *
 * A map is untrusted data: malformed parts are skipped, and everything takes time and memory linear
 * in its size.
 */
#ifndef WHAMMC_LOCATIONS_SOURCE_MAP_H
#define WHAMMC_LOCATIONS_SOURCE_MAP_H

#include "base/buf.h"

typedef struct SourceMap SourceMap;

/* A mapping applies from its column to the next mapping's. */
typedef struct SourceMapping {
    uint32_t column;
    uint32_t source;              /* for source_map_path; UINT32_MAX = unmapped */
    uint32_t line, source_column; /* from 1 */
} SourceMapping;

/* Parses a source map or an index map; `url` is its path or URL. Both are borrowed. On failure
 * returns NULL and sets *error to a static text. */
SourceMap *source_map_read(Str json, Str url, const char **error);
void source_map_free(SourceMap *map);

/* Which part of the map was malformed (static text); NULL = none. */
const char *source_map_problem(const SourceMap *map);

/* The mappings, sorted by column, one for each. */
const SourceMapping *source_map_all(const SourceMap *map, uint32_t *n);

/* The last mapping in columns [first, column], or NULL. */
const SourceMapping *source_map_at(const SourceMap *map, uint32_t first, uint32_t column);

/* The path of a source, resolved against the map's path; empty = unknown. Equal paths have equal
 * pointers. */
Str source_map_path(SourceMap *map, uint32_t source);

/* The number of sources; the text of one, if the map embeds it (sourcesContent). */
uint32_t source_map_sources(const SourceMap *map);
bool source_map_text(SourceMap *map, uint32_t source, Str *text);

#endif
