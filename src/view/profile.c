/*
 * view/profile.c - what a report tells about calls.
 */
#include "view/profile.h"
#include "base/demangle.h"
#include "base/json.h"
#include "view/profile_untimed.h"
#include "report/value.h"

enum { FIELDS_MAX = 4 };

int64_t profile_add_ns(int64_t a, int64_t b) {
    int64_t sum;
    return !__builtin_add_overflow(a, b, &sum) ? sum : a < 0 ? INT64_MIN : INT64_MAX;
}

int64_t profile_sub_ns(int64_t a, int64_t b) {
    int64_t difference;
    return !__builtin_sub_overflow(a, b, &difference) ? difference : b > 0 ? INT64_MIN : INT64_MAX;
}

static int64_t to_ns(uint64_t ns) {
    return ns > INT64_MAX ? INT64_MAX : (int64_t)ns;
}

/* ---- types ---- */

static bool is_integer(Str type) {
    return str_is(type, "u32") || str_is(type, "i32") || str_is(type, "u64") || str_is(type, "i64");
}

/* How many numbers the type is: 1 for an integer, n for a tuple of n; 0 if it is anything else. */
static uint32_t count_numbers(Str type) {
    if (is_integer(type))
        return 1;
    if (!value_is_tuple(type))
        return 0;
    Str types = value_tuple_types(type), part;
    uint32_t n = 0;
    while (value_next_type(&types, &part))
        if (!is_integer(part) || n++ == FIELDS_MAX)
            return 0;
    return n;
}

/* What a map has numbers for. */
typedef struct Shape {
    uint32_t keys, values;
} Shape;

static Shape shape_of(Str type) {
    Str key, value;
    if (!value_map_types(type, &key, &value))
        return (Shape){0, 0};
    return (Shape){count_numbers(key), count_numbers(value)};
}

static bool is_arcs(Str type) {
    Shape s = shape_of(type);
    return s.keys == 2 && s.values >= 1 && s.values <= 3;
}

/* With the number of calls that have not returned, whose beginning is taken away from the time. */
static bool is_open_arcs(Str type) {
    Shape s = shape_of(type);
    return s.keys == 2 && s.values == 3;
}

static bool is_tree(Str type) {
    Shape s = shape_of(type);
    return s.keys == 1 && (s.values == 3 || s.values == 4);
}

static const ReportRow *find_row(const Report *r, bool (*fits)(Str type), const char *variable) {
    for (uint32_t i = 0; i < r->rows.len; i++) {
        const ReportRow *row = &r->rows.at[i];
        if (fits(row->var->type) && (!variable || str_is(row->var->name, variable)))
            return row;
    }
    return NULL;
}

/* ---- entries of maps ---- */

static bool read_numbers(Json *j, uint32_t n, uint64_t *v) {
    if (n == 1)
        return json_integer(j, v);
    if (!json_char(j, '['))
        return false;
    for (uint32_t i = 0; i < n; i++)
        if ((i && !json_char(j, ',')) || !json_integer(j, &v[i]))
            return false;
    return json_char(j, ']');
}

typedef struct Entries {
    Json json;
    Shape shape;
    bool begun, broken;
} Entries;

static Entries entries_of(const ReportRow *row, Arena *arena) {
    Entries e = {.json = {arena, row->value.ptr, row->value.ptr + row->value.len},
                 .shape = shape_of(row->var->type)};
    e.broken = !json_char(&e.json, '[');
    return e;
}

/* The next entry; false after the last, or if e->broken. */
static bool next_entry(Entries *e, uint64_t *key, uint64_t *value) {
    Json *j = &e->json;
    if (e->broken || json_char(j, ']'))
        return false;
    e->broken = (e->begun && !json_char(j, ',')) || !json_char(j, '{') || !json_member(j, "key") ||
                !read_numbers(j, e->shape.keys, key) || !json_char(j, ',') ||
                !json_member(j, "value") || !read_numbers(j, e->shape.values, value) ||
                !json_char(j, '}');
    e->begun = true;
    return !e->broken;
}

/* ---- functions ---- */

/* `caller`: the function is one that calls, which matters if it is none of the program's. */
static uint32_t func_index(Profile *p, uint64_t number, bool caller) {
    uint32_t id = (uint32_t)number;
    struct {
        uint32_t id, role;
    } key = {id, id == PROFILE_NOBODY && caller};
    bool added;
    uint64_t *kept =
        map_put(&p->index, (Str){(const char *)&key, sizeof key}, p->funcs.len, &added);
    if (added) {
        bool outside = id == PROFILE_NOBODY;
        Str name = !outside ? (Str){NULL, 0} : caller ? STR("<spontaneous>") : STR("<unknown>");
        vec_push(&p->funcs, ((ProfileFunc){.id = id, .outside = outside, .name = name}));
    }
    return (uint32_t)*kept;
}

/* ---- the tree ---- */

/* An entry of the map that is the tree. */
typedef struct Raw {
    uint64_t id, parent;
    uint32_t func;
    uint32_t first, last, next; /* children and brother: indices, or PROFILE_NONE */
    uint32_t node;              /* its index in the profile */
    uint64_t calls, self;
} Raw;

typedef Vec(Raw) Raws;

static int compare_raw(const void *a, const void *b) {
    uint64_t x = ((const Raw *)a)->id, y = ((const Raw *)b)->id;
    return x < y ? -1 : x > y;
}

static uint32_t find_raw(const Raws *raws, uint64_t id) {
    if (id && id <= raws->len && raws->at[id - 1].id == id)
        return (uint32_t)(id - 1); /* as they mostly are */
    const Raw key = {.id = id};
    const Raw *found =
        raws->len ? bsearch(&key, raws->at, raws->len, sizeof key, compare_raw) : NULL;
    return found ? (uint32_t)(found - raws->at) : PROFILE_NONE;
}

static bool read_raws(Profile *p, const ReportRow *row, Raws *raws) {
    Arena arena = {0};
    Entries e = entries_of(row, &arena);
    uint64_t key[FIELDS_MAX], v[FIELDS_MAX];
    bool times = e.shape.values == 4;
    while (next_entry(&e, key, v)) {
        Raw raw = {.id = key[0],
                   .parent = v[0],
                   .func = func_index(p, v[1], false),
                   .first = PROFILE_NONE,
                   .last = PROFILE_NONE,
                   .next = PROFILE_NONE,
                   .calls = v[2],
                   .self = times ? v[3] : 0};
        p->timed |= raw.self != 0;
        vec_push(raws, raw);
    }
    for (uint32_t i = 0; i < raws->len && !p->timed; i++)
        raws->at[i].self = raws->at[i].calls;
    arena_free(&arena);
    if (e.broken)
        p->problem = "the map cannot be read";
    return !e.broken;
}

/* Links each to its parent; those without are linked to *roots. */
static void link_raws(Raws *raws, Raw *roots) {
    if (raws->len)
        qsort(raws->at, raws->len, sizeof *raws->at, compare_raw);
    for (uint32_t i = 0; i < raws->len; i++) {
        uint32_t at = raws->at[i].parent ? find_raw(raws, raws->at[i].parent) : PROFILE_NONE;
        Raw *parent = at == PROFILE_NONE ? roots : &raws->at[at];
        if (parent->last == PROFILE_NONE)
            parent->first = i;
        else
            raws->at[parent->last].next = i;
        parent->last = i;
    }
}

static void add_node(Profile *p, Raw *raw, uint32_t parent) {
    raw->node = p->nodes.len;
    ProfileNode n = {.parent = parent,
                     .depth = parent == PROFILE_NONE ? 0 : p->nodes.at[parent].depth + 1,
                     .func = raw->func,
                     .calls = raw->calls,
                     .self = raw->self,
                     .total = raw->self};
    vec_push(&p->nodes, n);
}

/* Depth first, without recursion: trees can be as deep as the program's stack was. */
static void order_nodes(Profile *p, Raws *raws, const Raw *roots) {
    uint32_t at = roots->first, parent = PROFILE_NONE; /* of Raws */
    while (at != PROFILE_NONE || parent != PROFILE_NONE) {
        if (at == PROFILE_NONE) { /* all children are done: the next brother */
            const Raw *done = &raws->at[parent];
            p->nodes.at[done->node].end = p->nodes.len;
            uint32_t up = p->nodes.at[done->node].parent;
            at = done->next;
            /* The parent's entry is found by what it is called, not by where it is. */
            parent = up == PROFILE_NONE ? PROFILE_NONE : find_raw(raws, done->parent);
            continue;
        }
        Raw *raw = &raws->at[at];
        add_node(p, raw, parent == PROFILE_NONE ? PROFILE_NONE : raws->at[parent].node);
        parent = at;
        at = raw->first;
    }
}

static void sum_up(Profile *p) {
    for (uint32_t i = p->nodes.len; i-- > 0;) {
        const ProfileNode *n = &p->nodes.at[i];
        uint64_t *sum = n->parent == PROFILE_NONE ? &p->total : &p->nodes.at[n->parent].total;
        *sum = capped_add(*sum, n->total);
    }
}

/* The name to look for; NULL = any. */
static const char *wanted(ProfileVariables v, uint32_t i) {
    return i < v.count ? v.names[i] : NULL;
}

bool profile_read_tree(Profile *p, const Report *r, ProfileVariables variables) {
    const ReportRow *row = find_row(r, is_tree, wanted(variables, 0));
    Raws raws = {0};
    Raw roots = {.first = PROFILE_NONE, .last = PROFILE_NONE};
    bool ok = row && read_raws(p, row, &raws);
    if (ok) {
        link_raws(&raws, &roots);
        order_nodes(p, &raws, &roots);
        ok = p->nodes.len == raws.len; /* else some are their own ancestors */
        if (!ok)
            p->problem = "a node is its own ancestor";
        sum_up(p);
    }
    vec_free(&raws);
    return ok;
}

/* ---- arcs ---- */

static void add_arc(Profile *p, Map *known, ProfileArc arc) {
    struct {
        uint32_t caller, callee;
    } key = {arc.caller, arc.callee};
    bool added;
    uint64_t *at = map_put(known, (Str){(const char *)&key, sizeof key}, p->arcs.len, &added);
    if (added) {
        vec_push(&p->arcs, arc);
        return;
    }
    ProfileArc *to = &p->arcs.at[*at];
    to->calls = capped_add(to->calls, arc.calls);
    to->ns = profile_add_ns(to->ns, arc.ns);
}

static void arcs_of_tree(Profile *p) {
    Map known = {0};
    for (uint32_t i = 0; i < p->nodes.len; i++) {
        const ProfileNode n = p->nodes.at[i];
        ProfileArc arc = {.callee = n.func, .calls = n.calls, .ns = p->timed ? to_ns(n.total) : 0};
        arc.caller = n.parent == PROFILE_NONE ? func_index(p, PROFILE_NOBODY, true)
                                              : p->nodes.at[n.parent].func;
        add_arc(p, &known, arc);
    }
    map_free(&known);
}

/* The time of the report, where there is a script variable that has it. */
static bool find_end(const Report *r, uint64_t *ended) {
    for (uint32_t i = 0; i < r->rows.len; i++) {
        const ReportRow *row = &r->rows.at[i];
        if (str_is(row->var->name, "ended") && is_integer(row->var->type)) {
            *ended = row->number.u;
            return true;
        }
    }
    return false;
}

/* The time of calls that may be open still at the time `ended`. */
static int64_t close_calls(const uint64_t *value, uint64_t ended) {
    return (int64_t)(value[1] + value[2] * ended);
}

static bool read_arcs(Profile *p, const Report *r, const ReportRow *row, Map *known) {
    Arena arena = {0};
    Entries e = entries_of(row, &arena);
    uint64_t key[FIELDS_MAX], v[FIELDS_MAX], ended = 0;
    bool open = e.shape.values == 3, has_end = open && find_end(r, &ended);
    p->timed = p->timed || e.shape.values == 2;
    while (next_entry(&e, key, v)) {
        ProfileArc arc = {.calls = v[0], .ns = e.shape.values == 2 ? to_ns(v[1]) : 0};
        if (open) {
            arc.ns = close_calls(v, ended);
            p->timed = p->timed || v[1] || v[2];
            if (v[2] && !has_end)
                p->problem = "calls are open, but the report has no variable 'ended'";
        }
        arc.caller = func_index(p, key[0], true);
        arc.callee = func_index(p, key[1], false);
        add_arc(p, known, arc);
    }
    arena_free(&arena);
    if (e.broken)
        p->problem = "the map cannot be read";
    return !p->problem;
}

/* All that have open calls, but the first, which has been read. */
static bool read_others(Profile *p, const Report *r, const ReportRow *first, Map *known) {
    bool ok = true;
    for (uint32_t i = 0; ok && i < r->rows.len; i++) {
        const ReportRow *row = &r->rows.at[i];
        if (row != first && is_open_arcs(row->var->type))
            ok = read_arcs(p, r, row, known);
    }
    return ok;
}

/* The variables that were asked for, but the first. */
static bool read_wanted(Profile *p, const Report *r, const ReportRow *first,
                        ProfileVariables variables, Map *known) {
    bool ok = true;
    for (uint32_t i = 1; ok && i < variables.count; i++) {
        const ReportRow *row = find_row(r, is_arcs, variables.names[i]);
        bool fits = row && (shape_of(row->var->type).values == 1) ==
                               (shape_of(first->var->type).values == 1);
        if (row && !fits)
            p->problem = "some of the variables have times, others have not";
        ok = fits && read_arcs(p, r, row, known);
    }
    return ok;
}

bool profile_read_arcs(Profile *p, const Report *r, ProfileVariables variables) {
    const ReportRow *row = find_row(r, is_arcs, wanted(variables, 0));
    if (!row && variables.count < 2) {
        bool ok = profile_read_tree(p, r, variables);
        if (ok)
            arcs_of_tree(p);
        return ok;
    }
    Map known = {0};
    bool ok = row && read_arcs(p, r, row, &known);
    if (ok && !variables.count && is_open_arcs(row->var->type))
        ok = read_others(p, r, row, &known);
    ok = ok && read_wanted(p, r, row, variables, &known);
    map_free(&known);
    if (ok && p->timed)
        untimed_mark(p, r);
    return ok;
}

const ReportVar *profile_other(const Report *r, bool tree) {
    bool (*fits)(Str type) = tree || !find_row(r, is_arcs, NULL) ? is_tree : is_arcs;
    const ReportRow *first = find_row(r, fits, NULL);
    for (uint32_t i = 0; first && i < r->rows.len; i++) {
        const ReportVar *var = r->rows.at[i].var;
        bool added = !tree && is_open_arcs(first->var->type) && is_open_arcs(var->type);
        if (fits(var->type) && !added && !str_eq(var->name, first->var->name))
            return var;
    }
    return NULL;
}

/* ---- names ---- */

static bool is_names(Str type) {
    Str key, value;
    return value_map_types(type, &key, &value) && (str_is(key, "u32") || str_is(key, "i32")) &&
           str_is(value, "str");
}

static void name_func(Profile *p, uint64_t id, Str name) {
    struct {
        uint32_t id, role;
    } key = {(uint32_t)id, 0};
    const uint64_t *at = map_get(&p->index, (Str){(const char *)&key, sizeof key});
    if (!at || !name.len || p->funcs.at[*at].name.ptr)
        return;
    p->funcs.at[*at].name = (Str){arena_strndup(&p->arena, name.ptr, name.len), name.len};
}

static void names_of_map(Profile *p, const ReportRow *row) {
    Arena arena = {0};
    Json j = {&arena, row->value.ptr, row->value.ptr + row->value.len};
    bool more = json_char(&j, '[');
    while (more) {
        uint64_t id;
        Str name;
        if (!json_char(&j, '{') || !json_member(&j, "key") || !json_integer(&j, &id) ||
            !json_char(&j, ',') || !json_member(&j, "value") || !json_value(&j, &name))
            break;
        name_func(p, id, name);
        more = json_char(&j, '}') && json_char(&j, ',');
    }
    arena_free(&arena);
}

void profile_name(Profile *p, const Report *r, const Places *places, bool demangled) {
    Buf text = {0};
    const ReportRow *names = find_row(r, is_names, NULL);
    if (names)
        names_of_map(p, names);
    for (uint32_t i = 0; i < r->rows.len; i++) {
        const ReportRow *row = &r->rows.at[i];
        if (row->has_place && row->fname.len && row->fname.ptr[0] != '#')
            name_func(p, row->fid, row->fname);
    }
    for (uint32_t i = 0; i < p->funcs.len; i++) {
        ProfileFunc *f = &p->funcs.at[i];
        name_func(p, f->id, places_name(places, f->id));
        if (f->outside)
            continue;
        text.len = 0;
        if (!f->name.ptr)
            buf_printf(&text, "#%u", f->id);
        else if (!demangled || !demangle(f->name, &text))
            continue;
        f->name =
            (Str){arena_strndup(&p->arena, (const char *)text.data, text.len), (uint32_t)text.len};
    }
    buf_free(&text);
}

void profile_free(Profile *p) {
    vec_free(&p->funcs);
    vec_free(&p->arcs);
    vec_free(&p->nodes);
    map_free(&p->index);
    arena_free(&p->arena);
    memset(p, 0, sizeof *p);
}
