/*
 * locations/source_map.c - source maps: JSON, mappings in base 64, paths of sources.
 */
#include "locations/source_map.h"
#include "base/json.h"
#include "base/path_pool.h"
#include "locations/url.h"

enum { NONE = UINT32_MAX };

typedef struct Source {
    Str root, name; /* as the map has them */
    Str path;
    bool known;
} Source;

/* The texts of a map's own sources, or of those of a section. */
typedef struct Contents {
    uint32_t first; /* of the sources */
    Str list;       /* in JSON */
    bool known;
    Vec(Str) texts; /* filled on demand; without ptr: none */
} Contents;

struct SourceMap {
    Arena arena;
    Str url;
    Vec(Source) sources;
    Vec(Contents) contents;
    Vec(SourceMapping) mappings;
    PathPool paths;
    const char *problem;
};

static void source_map_note(SourceMap *map, const char *problem) {
    if (!map->problem)
        map->problem = problem;
}

/* ---- mappings ---- */

/* A number in base 64, five bits a digit, the sign in the lowest. */
static bool read_vlq(const char **at, const char *end, int64_t *value) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint64_t v = 0;
    for (uint32_t shift = 0; *at < end && shift < 35; shift += 5) {
        const char *digit = **at ? strchr(digits, **at) : NULL;
        if (!digit)
            return false;
        uint32_t bits = (uint32_t)(digit - digits);
        ++*at;
        v |= (uint64_t)(bits & 31) << shift;
        if (bits < 32) {
            *value = v & 1 ? -(int64_t)(v >> 1) : (int64_t)(v >> 1);
            return true;
        }
    }
    return false;
}

/* The base of the next segment's numbers. */
typedef struct Position {
    int64_t column, source, line, source_column;
} Position;

static bool source_map_in_range(int64_t v) {
    return v >= 0 && v < INT32_MAX;
}

/* A segment of one, four or five numbers; the fifth is a name, but not the function's. */
static bool read_segment(const char **at, const char *end, Position *p, uint32_t *fields) {
    int64_t *const into[] = {&p->column, &p->source, &p->line, &p->source_column};
    int64_t delta;
    for (*fields = 0; *at < end && **at != ',' && **at != ';'; ++*fields) {
        if (!read_vlq(at, end, &delta) || *fields == 5)
            return false;
        if (*fields < 4)
            *into[*fields] += delta;
    }
    return *fields != 2 && *fields != 3;
}

/* Where mappings go that a map, or a section of an index map, has. */
typedef struct Place {
    uint32_t first_source, nsources;
    uint32_t column; /* the base of columns */
} Place;

static void read_mappings(SourceMap *map, Str text, const Place *place) {
    const char *at = text.ptr, *end = text.ptr + text.len;
    Position p = {0};
    uint32_t fields;
    while (at < end && *at != ';') { /* a module is one line */
        if (*at == ',') {
            at++;
            continue;
        }
        if (!read_segment(&at, end, &p, &fields)) {
            source_map_note(map, "a mapping is malformed");
            return;
        }
        SourceMapping m = {.source = NONE};
        bool fits = source_map_in_range(p.column) && source_map_in_range(p.column + place->column);
        if (fields > 1) {
            fits = fits && source_map_in_range(p.source) && p.source < place->nsources &&
                   source_map_in_range(p.line) && source_map_in_range(p.source_column);
            m.source = place->first_source + (uint32_t)p.source;
            m.line = (uint32_t)p.line + 1;
            m.source_column = (uint32_t)p.source_column + 1;
        }
        m.column = (uint32_t)(p.column + place->column);
        if (fits)
            vec_push(&map->mappings, m);
        else
            source_map_note(map, "a mapping has a column, a source or a line that does not exist");
    }
}

static int by_column(const void *pa, const void *pb) {
    const SourceMapping *a = *(const SourceMapping *const *)pa,
                        *b = *(const SourceMapping *const *)pb;
    if (a->column != b->column)
        return a->column < b->column ? -1 : 1;
    return a < b ? -1 : a > b;
}

static void sort_mappings(SourceMap *map) {
    uint32_t n = map->mappings.len;
    const SourceMapping **order = mem_alloc((n + 1) * sizeof(*order));
    SourceMapping *sorted = mem_alloc((n + 1) * sizeof *sorted);
    for (uint32_t i = 0; i < n; i++)
        order[i] = &map->mappings.at[i];
    qsort(order, n, sizeof(*order), by_column);
    for (uint32_t i = 0; i < n; i++)
        sorted[i] = *order[i];
    if (n)
        memcpy(map->mappings.at, sorted, n * sizeof *sorted);
    free(order);
    free(sorted);
}

/* Sorts them if necessary; of several in one column the first counts. */
static void settle_mappings(SourceMap *map) {
    SourceMapping *m = map->mappings.at;
    uint32_t n = 0;
    for (uint32_t i = 1; i < map->mappings.len; i++)
        if (m[i].column < m[i - 1].column) {
            sort_mappings(map);
            break;
        }
    for (uint32_t i = 0; i < map->mappings.len; i++)
        if (!n || m[n - 1].column != m[i].column)
            m[n++] = m[i];
    map->mappings.len = n;
}

/* ---- JSON ---- */

/* The members of an object that matter here, as text. */
typedef struct Members {
    Str version, sources, contents, source_root, mappings, sections; /* ptr NULL = there is none */
    Str offset, map;                                                 /* of a section */
    Str line, column;                                                /* of an offset */
} Members;

static Str *member(Members *m, Str key) {
    const struct {
        const char *name;
        Str *into;
    } known[] = {{"version", &m->version},
                 {"sources", &m->sources},
                 {"sourceRoot", &m->source_root},
                 {"sourcesContent", &m->contents},
                 {"mappings", &m->mappings},
                 {"sections", &m->sections},
                 {"offset", &m->offset},
                 {"map", &m->map},
                 {"line", &m->line},
                 {"column", &m->column}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (str_is(key, known[i].name))
            return known[i].into;
    return NULL;
}

static bool read_object(SourceMap *map, Str text, Members *m) {
    *m = (Members){0};
    if (!text.ptr)
        return false;
    Json j = {&map->arena, text.ptr, text.ptr + text.len};
    if (!json_char(&j, '{'))
        return false;
    if (json_char(&j, '}'))
        return true;
    do {
        Str key, value, *into;
        if (!json_char(&j, '"') || !json_string(&j, &key) || !json_char(&j, ':') ||
            !json_value(&j, &value))
            return false;
        if ((into = member(m, key)))
            *into = value;
    } while (json_char(&j, ','));
    return json_char(&j, '}');
}

static uint32_t source_map_number(Str text) {
    uint64_t v = 0;
    for (uint32_t i = 0; i < text.len && text.ptr[i] >= '0' && text.ptr[i] <= '9'; i++)
        v = v < UINT32_MAX ? v * 10 + (uint64_t)(text.ptr[i] - '0') : v;
    return v < UINT32_MAX ? (uint32_t)v : UINT32_MAX;
}

static bool read_sources(SourceMap *map, const Members *m) {
    if (!m->sources.ptr)
        return false;
    Json j = {&map->arena, m->sources.ptr, m->sources.ptr + m->sources.len};
    if (!json_char(&j, '['))
        return false;
    if (json_char(&j, ']'))
        return true;
    do {
        Source s = {.root = m->source_root};
        if (!json_value(&j, &s.name)) /* null: unknown */
            return false;
        vec_push(&map->sources, s);
    } while (json_char(&j, ','));
    return json_char(&j, ']');
}

/* A map that is not an index map. */
static bool read_plain(SourceMap *map, const Members *m, uint32_t column) {
    Place place = {.first_source = map->sources.len, .column = column};
    if (!m->mappings.ptr || !read_sources(map, m))
        return false;
    place.nsources = map->sources.len - place.first_source;
    if (m->contents.ptr)
        vec_push(&map->contents, ((Contents){.first = place.first_source, .list = m->contents}));
    read_mappings(map, m->mappings, &place);
    return true;
}

/* A section of an index map; those on other lines than the first say nothing about a module. */
static bool source_map_read_section(SourceMap *map, Str text) {
    Members section, offset, plain;
    if (!read_object(map, text, &section) || !read_object(map, section.offset, &offset) ||
        !read_object(map, section.map, &plain))
        return false;
    uint32_t column = source_map_number(offset.column), n = map->mappings.len;
    if (source_map_number(offset.line))
        return true;
    while (n && map->mappings.at[n - 1].column >= column) /* a section ends where the next begins */
        n--;
    map->mappings.len = n;
    return read_plain(map, &plain, column);
}

static bool source_map_read_index(SourceMap *map, Str sections) {
    Json j = {&map->arena, sections.ptr, sections.ptr + sections.len};
    if (!json_char(&j, '['))
        return false;
    if (json_char(&j, ']'))
        return true;
    do {
        Str text;
        json_blanks(&j);
        if (!json_value(&j, &text) || !source_map_read_section(map, text))
            return false;
    } while (json_char(&j, ','));
    return json_char(&j, ']');
}

/* Some servers prepend the line ")]}'" to the JSON, so that it is not a valid script. */
static Str without_guard(Str json) {
    if (json.len < 3 || memcmp(json.ptr, ")]}", 3) != 0)
        return json;
    const char *end = memchr(json.ptr, '\n', json.len);
    uint32_t skipped = end ? (uint32_t)(end + 1 - json.ptr) : json.len;
    return (Str){json.ptr + skipped, json.len - skipped};
}

SourceMap *source_map_read(Str json, Str url, const char **error) {
    SourceMap *map = mem_zalloc(sizeof *map);
    Members m;
    map->url = url;
    *error = NULL;
    if (!read_object(map, without_guard(json), &m))
        *error = "this is no object in JSON";
    else if (!str_is(m.version, "3"))
        *error = "its version is not 3";
    else if (m.sections.ptr ? !source_map_read_index(map, m.sections) : !read_plain(map, &m, 0))
        *error = "its sources or mappings are missing or malformed";
    if (*error) {
        source_map_free(map);
        return NULL;
    }
    settle_mappings(map);
    return map;
}

void source_map_free(SourceMap *map) {
    if (!map)
        return;
    for (uint32_t i = 0; i < map->contents.len; i++)
        vec_free(&map->contents.at[i].texts);
    vec_free(&map->contents);
    vec_free(&map->sources);
    vec_free(&map->mappings);
    path_pool_free(&map->paths);
    arena_free(&map->arena);
    free(map);
}

const char *source_map_problem(const SourceMap *map) {
    return map->problem;
}

/* ---- answers ---- */

const SourceMapping *source_map_all(const SourceMap *map, uint32_t *n) {
    *n = map->mappings.len;
    return map->mappings.at;
}

const SourceMapping *source_map_at(const SourceMap *map, uint32_t first, uint32_t column) {
    uint32_t low = 0, high = map->mappings.len;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (map->mappings.at[middle].column <= column)
            low = middle + 1;
        else
            high = middle;
    }
    return low && map->mappings.at[low - 1].column >= first ? &map->mappings.at[low - 1] : NULL;
}

Str source_map_path(SourceMap *map, uint32_t source) {
    if (source >= map->sources.len)
        return (Str){0};
    Source *s = &map->sources.at[source];
    if (s->known)
        return s->path;
    s->known = true;
    if (!s->name.len || s->name.len + s->root.len > PATH_LENGTH_MAX)
        return s->path;
    Buf name = {0}, path = {0};
    if (s->root.len && !url_is_absolute(s->name)) {
        buf_str(&name, s->root);
        if (s->root.ptr[s->root.len - 1] != '/')
            buf_u8(&name, '/');
    }
    buf_str(&name, s->name);
    url_resolve(map->url, buf_view(&name), &path);
    s->path = path_pool_keep(&map->paths, buf_view(&path));
    buf_free(&name);
    buf_free(&path);
    return s->path;
}

/* ---- texts ---- */

static void source_map_read_contents(SourceMap *map, Contents *c) {
    Json j = {&map->arena, c->list.ptr, c->list.ptr + c->list.len};
    c->known = true;
    if (!json_char(&j, '[') || json_char(&j, ']'))
        return;
    do {
        Str text;
        json_blanks(&j);
        bool string = j.at < j.end && *j.at == '"';
        if (!json_value(&j, &text))
            return;
        vec_push(&c->texts, string ? text : (Str){0});
    } while (json_char(&j, ','));
}

uint32_t source_map_sources(const SourceMap *map) {
    return map->sources.len;
}

bool source_map_text(SourceMap *map, uint32_t source, Str *text) {
    uint32_t i = map->contents.len;
    while (i && map->contents.at[i - 1].first > source)
        i--;
    if (!i)
        return false;
    Contents *c = &map->contents.at[i - 1];
    if (!c->known)
        source_map_read_contents(map, c);
    *text = source - c->first < c->texts.len ? c->texts.at[source - c->first] : (Str){0};
    return text->ptr != NULL;
}
