/*
 * profile/profile.c - calls and call trees from a report.
 */
#include "profile/profile.h"
#include "base/demangle.h"
#include "base/json.h"
#include "profile/profile_homes.h"
#include "profile/profile_untimed.h"
#include "report/value.h"

#include <assert.h>

enum { FIELDS_MAX = 16 };

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

/* The meaning of the numbers of a map's entries. */
typedef struct Shape {
    uint32_t keys, values;
} Shape;

static Shape profile_shape_of(Str type) {
    Str key, value;
    if (!value_map_types(type, &key, &value))
        return (Shape){0, 0};
    return (Shape){count_numbers(key), count_numbers(value)};
}

/* The row of a variable with further data of a tree, whose name is the tree's with this suffix. */
static const ReportRow *find_more(const Report *r, Str tree, const char *suffix) {
    for (uint32_t i = 0; i < r->rows.len; i++) {
        Str name = r->rows.at[i].var->name;
        if (name.len > tree.len && memcmp(name.ptr, tree.ptr, tree.len) == 0 &&
            str_is((Str){name.ptr + tree.len, name.len - tree.len}, suffix))
            return &r->rows.at[i];
    }
    return NULL;
}

/* The text row that names the values of a tree: `tree_values` for `tree`. */
static const ReportRow *find_values(const Report *r, Str tree) {
    const ReportRow *row = find_more(r, tree, "_values");
    return row && str_is(row->var->type, "str") ? row : NULL;
}

enum { PARENT_AND_FUNCTION = 2, PLAIN = 4 }; /* fields of trees */

static bool is_arcs(const Report *r, const ReportVar *var) {
    (void)r;
    return profile_type_fits(var->type) && profile_shape_of(var->type).keys == 2;
}

/* With the number of calls that have not returned; their start times are subtracted from the
 * time. */
static bool is_open_arcs(const ReportVar *var) {
    Shape s = profile_shape_of(var->type);
    return s.keys == 2 && s.values == 3;
}

/* The same from functions of other modules: (module_id, caller, callee). */
static bool is_crossing_arcs(const ReportVar *var) {
    Shape s = profile_shape_of(var->type);
    return s.keys == 3 && s.values == 3;
}

static bool is_tree(const Report *r, const ReportVar *var) {
    Shape s = profile_shape_of(var->type);
    return s.keys == 1 && s.values > PARENT_AND_FUNCTION &&
           (s.values <= PLAIN || find_values(r, var->name));
}

bool profile_type_fits(Str type) {
    Shape s = profile_shape_of(type);
    return (s.keys == 2 && s.values >= 1 && s.values <= 3) ||
           (s.keys == 1 && s.values > PARENT_AND_FUNCTION);
}

typedef bool Fits(const Report *r, const ReportVar *var);

static const ReportRow *profile_find_row(const Report *r, Fits *fits, const char *variable) {
    for (uint32_t i = 0; i < r->rows.len; i++) {
        const ReportRow *row = &r->rows.at[i];
        if ((!variable || str_is(row->var->name, variable)) && fits(r, row->var))
            return row;
    }
    return NULL;
}

bool profile_fits(const Report *r, bool tree, const char *variable) {
    return profile_find_row(r, tree ? is_tree : is_arcs, variable) != NULL;
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
                 .shape = profile_shape_of(row->var->type)};
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

/* The key of functions in Profile.index. `role`: 1 for callers outside. */
typedef struct FuncKey {
    uint32_t id, role, module_id;
} FuncKey;

#define FUNC_KEY(key) ((Str){(const char *)&(key), sizeof(key)})

/* `caller`: the function is a caller, which makes a difference if it is none of the program's. */
static uint32_t profile_add_func(Profile *p, uint64_t number, bool caller, uint32_t module_id) {
    uint32_t id = (uint32_t)number;
    bool added, outside = id == PROFILE_NOBODY;
    FuncKey key = {id, outside && caller, outside ? 0 : module_id};
    uint64_t *kept = map_put(&p->index, FUNC_KEY(key), p->funcs.len, &added);
    if (added) {
        Str name = !outside ? (Str){NULL, 0} : caller ? STR("<spontaneous>") : STR("<unknown>");
        ProfileFunc f = {.id = id, .outside = outside, .name = name};
        if (key.module_id) {
            f.id = PROFILE_NOBODY;
            f.home = (ProfileHome){key.module_id, id};
        }
        vec_push(&p->funcs, f);
    }
    return (uint32_t)*kept;
}

static uint32_t profile_func_index(Profile *p, uint64_t number, bool caller) {
    return profile_add_func(p, number, caller, 0);
}

uint32_t profile_func(Profile *p, uint32_t fid) {
    return profile_func_index(p, fid, false);
}

/* ---- the tree ---- */

/* An entry of the map that is the tree. */
typedef struct Raw {
    uint64_t id, parent;
    uint32_t func, pc;          /* its number in the map, then in the profile */
    uint32_t first, last, next; /* children and brother: indices, or PROFILE_NONE */
    uint32_t node;              /* its index in the profile */
    uint32_t numbers;           /* in the profile */
} Raw;

typedef Vec(Raw) Raws;

static int compare_raw(const void *a, const void *b) {
    uint64_t x = ((const Raw *)a)->id, y = ((const Raw *)b)->id;
    return x < y ? -1 : x > y;
}

static uint32_t find_raw(const Raws *raws, uint64_t id) {
    if (id && id <= raws->len && raws->at[id - 1].id == id)
        return (uint32_t)(id - 1); /* the usual case */
    const Raw key = {.id = id};
    const Raw *found =
        raws->len ? bsearch(&key, raws->at, raws->len, sizeof key, compare_raw) : NULL;
    return found ? (uint32_t)(found - raws->at) : PROFILE_NONE;
}

/* ---- values of the tree ---- */

Str profile_unit(Str name) {
    static const struct {
        const char *end, *unit;
    } ends[] = {{"bytes", "bytes"},
                {"space", "bytes"},
                {"nanoseconds", "nanoseconds"},
                {"time", "nanoseconds"},
                {"ns", "nanoseconds"}};
    for (uint32_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        Str end = str_of(ends[i].end);
        if (end.len > name.len)
            continue;
        uint32_t before = name.len - end.len;
        if (memcmp(name.ptr + before, end.ptr, end.len) == 0 &&
            (!before || name.ptr[before - 1] == '_'))
            return str_of(ends[i].unit);
    }
    return STR("count");
}

static void profile_add_value(Profile *p, Str text) {
    const char *slash = memchr(text.ptr, '/', text.len);
    ProfileValue v = {.name = {text.ptr, slash ? (uint32_t)(slash - text.ptr) : text.len}};
    v.unit = slash ? (Str){slash + 1, text.len - v.name.len - 1} : profile_unit(v.name);
    vec_push(&p->values, v);
}

/* A list: "alloc_objects, alloc_space/bytes". */
static void add_values(Profile *p, Str list) {
    for (uint32_t i = 0, from; i < list.len;) {
        for (; i < list.len && (list.ptr[i] == ' ' || list.ptr[i] == ',');)
            i++;
        for (from = i; i < list.len && list.ptr[i] != ' ' && list.ptr[i] != ',';)
            i++;
        if (i > from)
            profile_add_value(p, (Str){list.ptr + from, i - from});
    }
}

/* Which of the fields, the last ones, can be more than INT64_MAX. */
static void mark_unsigned(Profile *p, Str type, uint32_t fields) {
    Str key, value, part;
    value_map_types(type, &key, &value);
    Str types = value_tuple_types(value);
    for (uint32_t i = 0; value_next_type(&types, &part); i++)
        if (i + p->values.len >= fields)
            p->values.at[i + p->values.len - fields].is_unsigned = part.ptr[0] == 'u';
}

/* Which fields of the entries are which: parent and function, the place of the call if `*pc`, then
 * the values. False: the report names other values than there are. */
static bool read_values(Profile *p, const Report *r, const ReportRow *row, uint32_t fields,
                        bool *pc) {
    const ReportRow *named = find_values(r, row->var->name);
    if (named) {
        add_values(p, named->value);
        *pc = fields - PARENT_AND_FUNCTION > p->values.len;
        if (p->values.len && p->values.len + PARENT_AND_FUNCTION + *pc == fields)
            return true;
        p->problem = "the tree has another number of values than the report names";
        return false;
    }
    *pc = false;
    profile_add_value(p, STR("calls"));
    if (fields == PLAIN)
        profile_add_value(p, STR("time"));
    return true;
}

uint32_t profile_tree_identity(const Report *r, const ReportVar *var) {
    const ReportRow *named = find_values(r, var->name);
    Profile p = {0};
    if (!is_tree(r, var))
        return 0;
    if (named)
        add_values(&p, named->value);
    uint32_t values = p.values.len;
    profile_free(&p);
    return named && profile_shape_of(var->type).values > PARENT_AND_FUNCTION + values
               ? PARENT_AND_FUNCTION + 1
               : PARENT_AND_FUNCTION;
}

/* A time that is 0 everywhere has not been measured. */
static void drop_no_time(Profile *p) {
    uint32_t n = p->values.len;
    if (n < 2 || !str_is(p->values.at[n - 1].unit, "nanoseconds"))
        return;
    for (uint32_t i = n - 1; i < p->numbers.len; i += n)
        if (p->numbers.at[i])
            return;
    uint32_t to = 0;
    for (uint32_t i = 0; i < p->numbers.len; i++)
        if (i % n != n - 1)
            p->numbers.at[to++] = p->numbers.at[i];
    p->numbers.len = to;
    p->values.len--;
}

/* How often functions were called, in a map beside a tree of samples. */
static void read_called(Profile *p, const ReportRow *row) {
    Shape shape = row ? profile_shape_of(row->var->type) : (Shape){0, 0};
    if (shape.keys != 1 || shape.values != 1)
        return;
    Arena arena = {0};
    Entries e = entries_of(row, &arena);
    uint64_t function, calls;
    while (next_entry(&e, &function, &calls)) {
        uint32_t f = profile_func_index(p, function, false);
        p->funcs.at[f].called = calls;
        p->counted = true;
    }
    arena_free(&arena);
    if (e.broken)
        p->problem = "the map of calls cannot be read";
}

static bool read_raws(Profile *p, const Report *r, const ReportRow *row, Raws *raws) {
    Arena arena = {0};
    Entries e = entries_of(row, &arena);
    uint64_t key[FIELDS_MAX], v[FIELDS_MAX];
    bool pc;
    if (!read_values(p, r, row, e.shape.values, &pc))
        return false;
    mark_unsigned(p, row->var->type, e.shape.values);
    uint32_t first = PARENT_AND_FUNCTION + pc;
    while (next_entry(&e, key, v)) {
        Raw raw = {.id = key[0],
                   .parent = v[0],
                   .func = (uint32_t)v[1],
                   .pc = pc ? (uint32_t)v[PARENT_AND_FUNCTION] : PROFILE_NONE,
                   .first = PROFILE_NONE,
                   .last = PROFILE_NONE,
                   .next = PROFILE_NONE,
                   .numbers = raws->len};
        for (uint32_t i = first; i < e.shape.values; i++)
            vec_push(&p->numbers, (int64_t)v[i]);
        vec_push(raws, raw);
    }
    arena_free(&arena);
    if (e.broken)
        p->problem = "the map cannot be read";
    drop_no_time(p);
    p->timed = p->values.len && str_is(vec_last(&p->values).unit, "nanoseconds");
    p->sampled = p->values.len && str_is(p->values.at[0].name, "samples");
    if (p->sampled)
        read_called(p, find_more(r, row->var->name, "_calls"));
    return !e.broken && !p->problem;
}

/* ---- the tree, in order ---- */

static void sort_raws(Raws *raws) {
    if (raws->len)
        qsort(raws->at, raws->len, sizeof *raws->at, compare_raw);
}

/* The calls of a node: its first value that is a number of something. */
static uint64_t profile_calls_of(const Profile *p, const int64_t *numbers) {
    for (uint32_t i = 0; i < p->values.len; i++)
        if (str_is(p->values.at[i].unit, "count"))
            return (uint64_t)numbers[i];
    return 0;
}

static int64_t *profile_numbers_of(const Profile *p, const Raw *raw) {
    return &p->numbers.at[raw->numbers * p->values.len];
}

/* ---- functions of other modules ---- */

/* The kind of an entry: a function of another module is the third one from above. These kinds have
 * no calls of their own, and no time but the counting's. */
typedef enum Step { STEP_HERE, STEP_MARK, STEP_MODULE, STEP_ELSEWHERE } Step;

typedef struct Above {
    uint32_t parent; /* an entry, or PROFILE_NONE */
    uint32_t stays;  /* the nearest ancestor that is no mark and no module, or PROFILE_NONE */
    Step step;
} Above;

static Step step_of(const Profile *p, const Raw *raw, Step parent) {
    bool below = parent == STEP_MARK || parent == STEP_MODULE;
    if (below && raw->func != PROFILE_NOBODY && !profile_calls_of(p, profile_numbers_of(p, raw)))
        return parent == STEP_MARK ? STEP_MODULE : STEP_ELSEWHERE;
    return raw->func == PROFILE_ELSEWHERE ? STEP_MARK : STEP_HERE;
}

/* `all`: of the entries before this one. */
static Above find_above(const Profile *p, const Raws *raws, uint32_t i, const Above *all) {
    const Raw *raw = &raws->at[i];
    uint32_t parent = raw->parent ? find_raw(raws, raw->parent) : PROFILE_NONE;
    bool before = parent < i; /* else link_raws finds the mistake */
    Step step = before ? all[parent].step : STEP_HERE;
    bool goes = step == STEP_MARK || step == STEP_MODULE;
    return (Above){parent, goes ? all[parent].stays : parent, step_of(p, raw, step)};
}

/* Finds the functions of the entries. Entries that only name the module of a function are left
 * out. */
static void find_funcs(Profile *p, Raws *raws) {
    Above *all = mem_alloc((raws->len + 1u) * sizeof *all);
    uint32_t to = 0;
    for (uint32_t i = 0; i < raws->len; i++)
        all[i] = find_above(p, raws, i, all);
    for (uint32_t i = 0; i < raws->len; i++) {
        Raw *raw = &raws->at[i];
        const Above *above = &all[i];
        if (above->step == STEP_MARK || above->step == STEP_MODULE)
            continue;
        if (above->stays != above->parent)
            raw->parent = above->stays == PROFILE_NONE ? 0 : raws->at[above->stays].id;
        bool away = above->step == STEP_ELSEWHERE;
        raw->func = profile_add_func(p, raw->func, false, away ? raws->at[above->parent].func : 0);
        if (away)
            memset(profile_numbers_of(p, raw), 0, p->values.len * sizeof(int64_t));
    }
    for (uint32_t i = 0; i < raws->len; i++)
        if (all[i].step != STEP_MARK && all[i].step != STEP_MODULE)
            raws->at[to++] = raws->at[i];
    raws->len = to;
    free(all);
}

/* Links each to its parent; those without are linked to *roots. */
static void link_raws(Raws *raws, Raw *roots) {
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
    uint32_t first = raw->numbers * p->values.len;
    const int64_t *numbers = &p->numbers.at[first];
    ProfileNode n = {.parent = parent,
                     .depth = parent == PROFILE_NONE ? 0 : p->nodes.at[parent].depth + 1,
                     .func = raw->func,
                     .pc = raw->pc,
                     .calls = profile_calls_of(p, numbers),
                     .self = (uint64_t)numbers[p->values.len - 1],
                     .first = first};
    n.total = n.self;
    vec_push(&p->nodes, n);
}

/* Depth first, without recursion: trees can be as deep as the program's stack was. */
static void profile_order_nodes(Profile *p, Raws *raws, const Raw *roots) {
    uint32_t at = roots->first, parent = PROFILE_NONE; /* of Raws */
    while (at != PROFILE_NONE || parent != PROFILE_NONE) {
        if (at == PROFILE_NONE) { /* all children are done: the next brother */
            const Raw *done = &raws->at[parent];
            p->nodes.at[done->node].end = p->nodes.len;
            uint32_t up = p->nodes.at[done->node].parent;
            at = done->next;
            /* The parent's entry is found by its number in the map, not by its position. */
            parent = up == PROFILE_NONE ? PROFILE_NONE : find_raw(raws, done->parent);
            continue;
        }
        Raw *raw = &raws->at[at];
        add_node(p, raw, parent == PROFILE_NONE ? PROFILE_NONE : raws->at[parent].node);
        parent = at;
        at = raw->first;
    }
}

void profile_sum_up(Profile *p) {
    p->total = 0;
    for (uint32_t i = p->nodes.len; i-- > 0;) {
        const ProfileNode *n = &p->nodes.at[i];
        uint64_t *sum = n->parent == PROFILE_NONE ? &p->total : &p->nodes.at[n->parent].total;
        *sum = capped_add(*sum, n->total);
    }
}

bool profile_find_value(const Profile *p, const char *name, uint32_t *index) {
    for (uint32_t i = 0; i < p->values.len; i++)
        if (str_is(p->values.at[i].name, name)) {
            *index = i;
            return true;
        }
    return false;
}

bool profile_is_thread(const Profile *p, const ProfileNode *n) {
    assert(n >= p->nodes.at && n < p->nodes.at + p->nodes.len);
    return p->by_thread && n->parent == PROFILE_NONE;
}

bool profile_weigh(Profile *p, const char *value) {
    uint32_t v;
    if (!profile_find_value(p, value, &v))
        return false;
    p->weight = v + 1;
    p->timed = str_is(p->values.at[v].unit, "nanoseconds");
    for (uint32_t i = 0; i < p->nodes.len; i++) {
        ProfileNode *n = &p->nodes.at[i];
        int64_t self = n->first == PROFILE_NONE ? 0 : p->numbers.at[n->first + v];
        n->self = n->total = self < 0 && !p->values.at[v].is_unsigned ? 0 : (uint64_t)self;
    }
    profile_sum_up(p);
    assert(profile_check(p));
    return true;
}

/* The name to look for; NULL = any. */
static const char *wanted(ProfileVariables v, uint32_t i) {
    return i < v.count ? v.names[i] : NULL;
}

bool profile_read_tree(Profile *p, const Report *r, ProfileVariables variables) {
    assert(!p->funcs.len && !p->nodes.len);
    const ReportRow *row = profile_find_row(r, is_tree, wanted(variables, 0));
    Raws raws = {0};
    Raw roots = {.first = PROFILE_NONE, .last = PROFILE_NONE};
    bool ok = row && read_raws(p, r, row, &raws);
    if (ok) {
        sort_raws(&raws);
        find_funcs(p, &raws);
        link_raws(&raws, &roots);
        profile_order_nodes(p, &raws, &roots);
        ok = p->nodes.len == raws.len; /* else some are their own ancestors */
        if (!ok)
            p->problem = "a node is its own ancestor";
        profile_sum_up(p);
    }
    vec_free(&raws);
    assert(!ok || profile_check(p));
    return ok;
}

/* ---- arcs ---- */

static void profile_add_arc(Profile *p, Map *known, ProfileArc arc) {
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

void profile_arcs_of_tree(Profile *p, uint32_t outside) {
    assert(profile_check(p) && outside < p->funcs.len);
    Map known = {0};
    p->arcs.len = 0;
    for (uint32_t i = 0; i < p->nodes.len; i++) {
        const ProfileNode n = p->nodes.at[i];
        ProfileArc arc = {.callee = n.func, .calls = n.calls, .ns = p->timed ? to_ns(n.total) : 0};
        arc.caller = n.parent == PROFILE_NONE ? outside : p->nodes.at[n.parent].func;
        profile_add_arc(p, &known, arc);
    }
    map_free(&known);
}

/* The script variable with this name, if it is an integer. */
static bool find_integer(const Report *r, const char *name, uint64_t *value) {
    for (uint32_t i = 0; i < r->rows.len; i++) {
        const ReportRow *row = &r->rows.at[i];
        if (str_is(row->var->name, name) && is_integer(row->var->type)) {
            *value = row->number.u;
            return true;
        }
    }
    return false;
}

/* The mean measuring overhead was subtracted from each call, so short calls can have little
 * time left, or less than nothing. That counts as 1 ns, since no time means that a call was not
 * timed. */
static void read_calibrated(Profile *p, const Report *r) {
    if (!p->timed || !find_integer(r, "calibrated", &p->calibrated) || !p->calibrated)
        return;
    for (uint32_t i = 0; i < p->arcs.len; i++)
        if (p->arcs.at[i].ns < 0)
            p->arcs.at[i].ns = 1;
}

bool profile_is_open(const Report *r, const ReportVar *var, uint64_t *ended) {
    return (is_open_arcs(var) || is_crossing_arcs(var)) && find_integer(r, "ended", ended);
}

/* The time of calls that may not have returned at the time `ended`. */
static int64_t profile_close_calls(const uint64_t *value, uint64_t ended) {
    return (int64_t)(value[1] + value[2] * ended);
}

static bool read_arcs(Profile *p, const Report *r, const ReportRow *row, Map *known) {
    Arena arena = {0};
    Entries e = entries_of(row, &arena);
    uint64_t key[FIELDS_MAX], v[FIELDS_MAX], ended = 0;
    bool open = e.shape.values == 3, has_end = open && find_integer(r, "ended", &ended);
    p->timed = p->timed || e.shape.values == 2;
    while (next_entry(&e, key, v)) {
        ProfileArc arc = {.calls = v[0], .ns = e.shape.values == 2 ? to_ns(v[1]) : 0};
        if (open) {
            arc.ns = profile_close_calls(v, ended);
            p->timed = p->timed || v[1] || v[2];
            if (v[2] && !has_end)
                p->problem = "calls are open, but the report has no variable 'ended'";
        }
        bool crosses = e.shape.keys == 3;
        arc.caller = profile_add_func(p, key[crosses], true, crosses ? (uint32_t)key[0] : 0);
        arc.callee = profile_func_index(p, key[1 + crosses], false);
        profile_add_arc(p, known, arc);
    }
    arena_free(&arena);
    if (e.broken)
        p->problem = "the map cannot be read";
    return !p->problem;
}

/* All variables with open calls but the first, which has been read. */
static bool read_others(Profile *p, const Report *r, const ReportRow *first, Map *known) {
    bool ok = true;
    for (uint32_t i = 0; ok && i < r->rows.len; i++) {
        const ReportRow *row = &r->rows.at[i];
        if (row != first && (is_open_arcs(row->var) || is_crossing_arcs(row->var)))
            ok = read_arcs(p, r, row, known);
    }
    return ok;
}

/* The requested variables, without the first. */
static bool read_wanted(Profile *p, const Report *r, const ReportRow *first,
                        ProfileVariables variables, Map *known) {
    bool ok = true;
    for (uint32_t i = 1; ok && i < variables.count; i++) {
        const ReportRow *row = profile_find_row(r, is_arcs, variables.names[i]);
        bool fits = row && (profile_shape_of(row->var->type).values == 1) ==
                               (profile_shape_of(first->var->type).values == 1);
        if (row && !fits)
            p->problem = "some of the variables have times, others have not";
        ok = fits && read_arcs(p, r, row, known);
    }
    return ok;
}

bool profile_read_arcs(Profile *p, const Report *r, ProfileVariables variables) {
    const ReportRow *row = profile_find_row(r, is_arcs, wanted(variables, 0));
    if (!row && variables.count < 2) {
        bool ok = profile_read_tree(p, r, variables);
        if (ok) {
            profile_arcs_of_tree(p, profile_func_index(p, PROFILE_NOBODY, true));
            read_calibrated(p, r);
        }
        return ok;
    }
    Map known = {0};
    bool ok = row && read_arcs(p, r, row, &known);
    if (ok && !variables.count && is_open_arcs(row->var))
        ok = read_others(p, r, row, &known);
    ok = ok && read_wanted(p, r, row, variables, &known);
    map_free(&known);
    if (ok)
        read_calibrated(p, r);
    if (ok && p->timed)
        untimed_mark(p, r);
    return ok;
}

const ReportVar *profile_other(const Report *r, bool tree) {
    Fits *fits = tree || !profile_find_row(r, is_arcs, NULL) ? is_tree : is_arcs;
    const ReportRow *first = profile_find_row(r, fits, NULL);
    for (uint32_t i = 0; first && i < r->rows.len; i++) {
        const ReportVar *var = r->rows.at[i].var;
        bool added = !tree && is_open_arcs(first->var) && is_open_arcs(var);
        if (fits(r, var) && !added && !str_eq(var->name, first->var->name))
            return var;
    }
    return NULL;
}

/* ---- names ---- */

static bool profile_profile_is_names(const Report *r, const ReportVar *var) {
    (void)r;
    Str key, value;
    return value_map_types(var->type, &key, &value) && (str_is(key, "u32") || str_is(key, "i32")) &&
           str_is(value, "str");
}

bool profile_is_names(const ReportVar *var) {
    return profile_profile_is_names(NULL, var);
}

static void name_func(Profile *p, uint64_t id, Str name) {
    FuncKey key = {.id = (uint32_t)id};
    const uint64_t *at = map_get(&p->index, FUNC_KEY(key));
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

void profile_name(Profile *p, const Report *r, const Places *places, const ProfileHomes *homes,
                  bool demangled) {
    assert(profile_check(p));
    Buf text = {0};
    const ReportRow *names = profile_find_row(r, profile_profile_is_names, NULL);
    if (names)
        names_of_map(p, names);
    for (uint32_t i = 0; i < r->rows.len; i++) {
        const ReportRow *row = &r->rows.at[i];
        if (row->has_place && row->fname.len && row->fname.ptr[0] != '#')
            name_func(p, row->fid, row->fname);
    }
    for (uint32_t i = 0; i < p->funcs.len; i++) {
        ProfileFunc *f = &p->funcs.at[i];
        if (f->outside || f->home.module_id)
            continue;
        name_func(p, f->id, places_name(places, f->id));
        text.len = 0;
        if (!f->name.ptr)
            buf_printf(&text, "#%u", f->id);
        else if (!demangled || !demangle(f->name, &text))
            continue;
        f->symbol = f->name;
        f->name =
            (Str){arena_strndup(&p->arena, (const char *)text.data, text.len), (uint32_t)text.len};
    }
    buf_free(&text);
    homes_name(p, homes, demangled);
}

void profile_free(Profile *p) {
    vec_free(&p->funcs);
    vec_free(&p->arcs);
    vec_free(&p->nodes);
    vec_free(&p->values);
    vec_free(&p->numbers);
    map_free(&p->index);
    map_free(&p->paths);
    arena_free(&p->arena);
    memset(p, 0, sizeof *p);
}

#ifndef NDEBUG
static void check_profile_node(const Profile *p, uint32_t i) {
    const ProfileNode *n = &p->nodes.at[i];
    assert(n->func < p->funcs.len && i < n->end && n->end <= p->nodes.len);
    assert(n->total >= n->self);
    assert(n->first == PROFILE_NONE || n->first + p->values.len <= p->numbers.len);
    if (n->parent == PROFILE_NONE) {
        assert(!n->depth);
        return;
    }
    const ProfileNode *parent = &p->nodes.at[n->parent];
    assert(n->parent < i && n->end <= parent->end && n->depth == parent->depth + 1);
    assert(parent->total >= n->total);
}

bool profile_check(const Profile *p) {
    assert(p->weight <= p->values.len);
    for (uint32_t i = 0; i < p->arcs.len; i++)
        assert(p->arcs.at[i].caller < p->funcs.len && p->arcs.at[i].callee < p->funcs.len);
    for (uint32_t i = 0; i < p->nodes.len; i++)
        check_profile_node(p, i);
    return true;
}
#endif
