/*
 * tests/fuzz/fuzz_source_map.c - libFuzzer target for source maps, the URLs of sources, and
 * changed paths. The input is the map's URL and, after a line feed, the map, or a data URL of it.
 * Mappings must be sorted, and found.
 */
#include <stdlib.h>

#include "locations/source_map.h"
#include "locations/url.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_mappings(SourceMap *map) {
    uint32_t n;
    const SourceMapping *all = source_map_all(map, &n);
    for (uint32_t i = 0; i < n; i++) {
        const SourceMapping *m = &all[i];
        if ((i && m->column <= all[i - 1].column) || source_map_at(map, 0, m->column) != m ||
            source_map_at(map, m->column + 1, m->column) ||
            (m->source != UINT32_MAX && (!m->line || !m->source_column)))
            abort();
        Str path = source_map_path(map, m->source), again = source_map_path(map, m->source), rest;
        if (path.ptr != again.ptr || (path.len && !url_begins_with(path, path, &rest)))
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const uint8_t *end = size ? memchr(data, '\n', size) : NULL;
    uint32_t head = end ? (uint32_t)(end - data) : (uint32_t)size;
    Str url = {(const char *)data, head};
    Str text = {(const char *)data + head + (end != NULL), (uint32_t)size - head - (end != NULL)};
    Buf decoded = {0};
    const char *error;
    if (url_is_data(text)) {
        url_decode_data(text, &decoded);
        text = (Str){(const char *)decoded.data, (uint32_t)decoded.len};
    }
    SourceMap *map = source_map_read(text, url, &error);
    if (!map != (error != NULL))
        abort();
    if (map)
        check_mappings(map);
    source_map_free(map);
    buf_free(&decoded);
    return 0;
}
