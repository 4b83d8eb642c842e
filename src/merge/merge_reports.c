/*
 * merge/merge_reports.c - rows, rules and trees.
 */
#include "merge/merge_reports.h"

#include "profile/profile.h"
#include "report/merge_value.h"
#include "report/value.h"

#include <assert.h>
#include <stdio.h>

/* Identifies a node of a tree: its parent and the fields that do not count anything. */
typedef struct NodeKey {
    uint64_t parent, func, place;
} NodeKey;

typedef struct Tree {
    uint32_t row;
    uint32_t identity; /* leading fields that identify a node: 2, or 3 with a call site */
    Map nodes;         /* NodeKey -> index of the entry */
    uint64_t last;     /* the largest number of a node */
    Map renumbered;    /* node numbers of the report that is being added -> ours */
} Tree;

typedef struct MergeRow {
    MergeRule rule;
    uint32_t tree;  /* index + 1 of the row's tree, or of the tree of its keys; 0 = none */
    bool composite; /* value is used */
    bool names;     /* of functions */
    bool is_end;    /* the variable `ended`: 0 in sums, whose calls have been closed */
    MergeValue value;
    Buf text;
} MergeRow;

struct Merge {
    Report *report;
    MergeRow *rows; /* and one that may be added (names of functions); derived columns come later */
    uint32_t n;
    Vec(Tree) trees;
    Arena arena; /* texts of values */
};

/* ---- rules ---- */

static const char *const rule_names[] = {[MERGE_SUM] = "sum",
                                         [MERGE_MAX] = "max",
                                         [MERGE_MIN] = "min",
                                         [MERGE_FIRST] = "first",
                                         [MERGE_SAME] = "same"};

static const ReportRow *find_rules(const Report *r) {
    for (uint32_t i = 0; i < r->rows.len; i++)
        if (str_is(r->rows.at[i].var->name, "merge") && str_is(r->rows.at[i].var->type, "str"))
            return &r->rows.at[i];
    return NULL;
}

static Str merge_reports_next_word(Str *text) {
    uint32_t i = 0, from;
    while (i < text->len && text->ptr[i] == ' ')
        i++;
    from = i;
    while (i < text->len && text->ptr[i] != ' ')
        i++;
    Str word = {text->ptr + from, i - from};
    *text = (Str){text->ptr + i, text->len - i};
    return word;
}

/* The tree with this name, + 1; 0 = there is none. */
static uint32_t tree_named(const Merge *m, Str name) {
    for (uint32_t i = 0; i < m->trees.len; i++)
        if (str_eq(m->report->rows.at[m->trees.at[i].row].var->name, name))
            return i + 1;
    return 0;
}

/* "NAME RULE" or "NAME nodes TREE". */
static bool set_rule(Merge *m, Str text) {
    Str name = merge_reports_next_word(&text), rule = merge_reports_next_word(&text),
        tree = merge_reports_next_word(&text);
    uint32_t nodes = str_is(rule, "nodes") ? tree_named(m, tree) : 0, which = 0;
    bool known = nodes != 0;
    for (uint32_t i = 0; i < sizeof rule_names / sizeof *rule_names && !known; i++)
        if (rule_names[i] && str_is(rule, rule_names[i]) && !tree.len)
            known = true, which = i;
    bool found = false;
    for (uint32_t i = 0; i < m->report->rows.len && known; i++)
        if (str_eq(m->report->rows.at[i].var->name, name)) {
            found = true;
            m->rows[i].rule = (MergeRule)which;
            m->rows[i].names = false; /* the script says how to merge it */
            m->rows[i].tree = nodes ? nodes : m->rows[i].tree;
        }
    return found && !merge_reports_next_word(&text).len;
}

/* The hash of program and scripts (whammc_options.build_id). */
static bool is_build_id(const ReportRow *row) {
    return !row->has_place && str_is(row->var->name, "build_id") && str_is(row->var->type, "str");
}

static bool set_rules(Merge *m, Buf *why) {
    for (uint32_t i = 0; i < m->report->rows.len; i++)
        if (is_build_id(&m->report->rows.at[i]))
            m->rows[i].rule = MERGE_SAME;
    const ReportRow *row = find_rules(m->report);
    Str rest = row ? row->value : (Str){0}, part;
    while (value_next_type(&rest, &part)) /* a comma-separated list, like lists of types */
        if (!set_rule(m, part)) {
            buf_printf(why,
                       "'%.*s' in its variable 'merge' is no rule: expected a variable, and sum, "
                       "max, min, first, same, or nodes and a tree",
                       STR_ARG(part));
            return false;
        }
    return true;
}

/* ---- trees ---- */

/* The number in a field or key; ~0 if it is not a number. */
static uint64_t merge_reports_number_in(const MergeValue *v) {
    return v->kind == MERGE_UNSIGNED ? v->of.u
           : v->kind == MERGE_SIGNED ? (uint64_t)v->of.i
                                     : UINT64_MAX;
}

static uint64_t merge_reports_number_of(Str key) {
    uint64_t n = 0;
    for (uint32_t i = 0; i < key.len; i++)
        n = 10 * n + (uint64_t)(key.ptr[i] - '0');
    return n;
}

static Str number_text(uint64_t n, char text[24]) {
    return (Str){text, (uint32_t)snprintf(text, 24, "%llu", (unsigned long long)n)};
}

static NodeKey node_key(const Tree *t, const MergeValue *node, uint64_t parent) {
    const MergeValue *fields = node->of.parts;
    uint64_t place = t->identity == 3 ? merge_reports_number_in(&fields[2]) : 0;
    return (NodeKey){parent, merge_reports_number_in(&fields[1]), place};
}

/* Nodes whose parent is not in the map are top-level nodes, too: no later node may get that number.
 */
static void drop_parents(const MergeEntries *e) {
    for (uint32_t i = 0; i < e->values.len; i++) {
        MergeValue *parent = &e->values.at[i].of.parts[0];
        char text[24];
        if (!map_get(&e->index, number_text(merge_reports_number_in(parent), text)))
            parent->of.u = 0;
    }
}

/* Enters the nodes of a map into the index. */
static void enter_nodes(Tree *t, const MergeEntries *e) {
    for (uint32_t i = 0; i < e->values.len; i++) {
        NodeKey key =
            node_key(t, &e->values.at[i], merge_reports_number_in(&e->values.at[i].of.parts[0]));
        uint64_t number = merge_reports_number_of(e->index.entries[i].key);
        map_put(&t->nodes, (Str){(const char *)&key, sizeof key}, i, NULL);
        t->last = number > t->last ? number : t->last;
    }
}

/* Returns our number of a node whose parent is renumbered already. */
static uint64_t enter_node(Merge *m, Tree *t, const MergeValue *node, uint64_t parent,
                           MergeRule rule) {
    MergeEntries *ours = m->rows[t->row].value.of.entries;
    NodeKey key = node_key(t, node, parent);
    bool added;
    uint64_t at =
        *map_put(&t->nodes, (Str){(const char *)&key, sizeof key}, ours->values.len, &added);
    if (added) {
        char text[24];
        MergeValue copy = merge_value_copy(node, &m->arena);
        copy.of.parts[0].of.u = parent;
        map_put(&ours->index, number_text(++t->last, text), ours->values.len, NULL);
        vec_push(&ours->values, copy);
        if (rule == MERGE_LESS)
            for (uint32_t i = t->identity; i < copy.nparts; i++)
                for (uint32_t twice = 0; twice < 2; twice++)
                    merge_value_combine(&copy.of.parts[i], &node->of.parts[i], rule, &m->arena);
    } else {
        MergeValue *known = &ours->values.at[at];
        for (uint32_t i = t->identity; i < known->nparts; i++)
            merge_value_combine(&known->of.parts[i], &node->of.parts[i], rule, &m->arena);
    }
    return merge_reports_number_of(ours->index.entries[at].key);
}

/* Enters a node after its ancestors. False if the node is its own ancestor. */
static bool enter_path(Merge *m, Tree *t, const MergeEntries *e, uint32_t at, MergeRule rule) {
    Vec(uint32_t) path = {0};
    uint64_t *ours = NULL, zero = 0;
    bool ok = true;
    for (;;) {
        vec_push(&path, at);
        char text[24];
        uint64_t parent = merge_reports_number_in(&e->values.at[at].of.parts[0]);
        ours = parent ? map_get(&t->renumbered, number_text(parent, text)) : &zero;
        const uint64_t *next = ours ? NULL : map_get(&e->index, number_text(parent, text));
        if (!ours && !next)
            ours = &zero;
        if (ours || path.len > e->values.len)
            break;
        at = (uint32_t)*next;
    }
    ok = ours != NULL;
    uint64_t parent = ok ? *ours : 0;
    while (ok && path.len) {
        at = path.at[--path.len];
        parent = enter_node(m, t, &e->values.at[at], parent, rule);
        map_put(&t->renumbered, e->index.entries[at].key, parent, NULL);
    }
    vec_free(&path);
    return ok;
}

static bool merge_reports_add_tree(Merge *m, Tree *t, const MergeEntries *e, MergeRule rule) {
    map_free(&t->renumbered);
    t->renumbered = (Map){0};
    bool ok = true;
    for (uint32_t i = 0; i < e->values.len && ok; i++)
        if (!map_get(&t->renumbered, e->index.entries[i].key))
            ok = enter_path(m, t, e, i, rule);
    return ok;
}

/* Replaces node numbers by ours. */
static bool merge_reports_renumber(const Tree *t, MergeValue *v) {
    MergeEntries *e = v->of.entries;
    Map index = {0};
    bool added = true;
    for (uint32_t i = 0; i < e->values.len && added; i++) {
        const uint64_t *ours = map_get(&t->renumbered, e->index.entries[i].key);
        char text[24];
        added = ours != NULL;
        if (added)
            map_put(&index, number_text(*ours, text), i, &added);
    }
    map_free(&e->index);
    e->index = index;
    return added;
}

/* ---- rows ---- */

static bool is_node(const MergeValue *v, uint32_t identity) {
    bool good = v->kind == MERGE_TUPLE && v->nparts > identity;
    for (uint32_t i = 0; good && i < identity; i++)
        good = v->of.parts[i].kind == MERGE_UNSIGNED || v->of.parts[i].kind == MERGE_SIGNED;
    return good;
}

static bool is_tree_value(const MergeValue *v, uint32_t identity) {
    bool good = v->kind == MERGE_MAP;
    for (uint32_t i = 0; good && i < v->of.entries->values.len; i++)
        good = is_node(&v->of.entries->values.at[i], identity);
    return good;
}

/* ---- calls that had not returned when a report was made ---- */

/* Ends them at the time of the report, which differs between reports, so that `ended` cannot be
 * added up. `row` is a row of `r`. */
static void merge_reports_close_calls(const Report *r, const ReportRow *row, MergeValue *v) {
    uint64_t ended;
    if (v->kind != MERGE_MAP || !profile_is_open(r, row->var, &ended))
        return;
    for (uint32_t i = 0; i < v->of.entries->values.len; i++) {
        MergeValue *entry = &v->of.entries->values.at[i];
        if (entry->kind == MERGE_TUPLE && entry->nparts == 3 && is_node(entry, 2))
            entry->of.parts[1].of.u += entry->of.parts[2].of.u * ended;
    }
}

static bool has_open_calls(const Report *r) {
    uint64_t ended;
    for (uint32_t i = 0; i < r->rows.len; i++)
        if (profile_is_open(r, r->rows.at[i].var, &ended))
            return true;
    return false;
}

/* Sets `ended` to 0: the calls in the sums have been closed. */
static void forget_end(Merge *m) {
    for (uint32_t i = 0; has_open_calls(m->report) && i < m->report->rows.len; i++) {
        ReportRow *row = &m->report->rows.at[i];
        m->rows[i].is_end = str_is(row->var->name, "ended") && row->class <= REPORT_CLASS_SIGNED;
        if (m->rows[i].is_end) {
            row->value = STR("0");
            report_classify(row);
        }
    }
}

/* False if its value cannot be added to, which nothing has said yet. */
static bool open_row(Merge *m, uint32_t i) {
    const ReportRow *row = &m->report->rows.at[i];
    MergeRow *r = &m->rows[i];
    if (!value_is_map(row->var->type) && !value_is_tuple(row->var->type))
        return true;
    MergeValue v;
    r->composite = merge_value_read(row->var->type, row->value, &v);
    if (r->composite) {
        merge_reports_close_calls(m->report, row, &v);
        r->value = merge_value_copy(&v, &m->arena);
    }
    r->names = profile_is_names(row->var);
    merge_value_free(&v);
    uint32_t identity = profile_tree_identity(m->report, row->var);
    if (r->composite && identity && is_tree_value(&r->value, identity)) {
        Tree t = {.row = i, .identity = identity};
        drop_parents(r->value.of.entries);
        enter_nodes(&t, r->value.of.entries);
        vec_push(&m->trees, t);
        r->tree = m->trees.len;
    }
    return r->composite || row->unreadable;
}

static void merge_reports_put_place(const ReportRow *row, Buf *out) {
    buf_printf(out, "'%.*s'", STR_ARG(row->var->name));
    if (row->has_place)
        buf_printf(out, " at %.*s:%u", STR_ARG(row->fname), row->pc);
}

static void put_unreadable(const ReportRow *row, Buf *why) {
    buf_str(why, STR("the value of "));
    merge_reports_put_place(row, why);
    buf_str(why, STR(" cannot be read, or has a key twice"));
}

Merge *merge_begin(Report *r, Buf *why) {
    assert(!why->len);
    Merge *m = mem_zalloc(sizeof *m);
    m->report = r;
    m->n = r->rows.len + 1;
    m->rows = mem_zalloc(m->n * sizeof *m->rows);
    for (uint32_t i = 0; i < r->rows.len && !why->len; i++)
        if (!open_row(m, i))
            put_unreadable(&r->rows.at[i], why);
    if (!why->len)
        forget_end(m);
    if (!why->len && set_rules(m, why))
        return m;
    merge_free(m);
    return NULL;
}

static void merge_reports_put_rows(uint32_t n, Buf *out) {
    if (n)
        buf_printf(out, "%u row%s", n, n == 1 ? "" : "s");
    else
        buf_str(out, STR("no rows"));
}

/* Whether the report has the same rows as the first one. */
static bool merge_reports_fits(const Merge *m, const Report *other, Buf *why) {
    uint32_t n = m->report->rows.len, i = 0;
    while (i < n && i < other->rows.len &&
           report_same_row(&m->report->rows.at[i], &other->rows.at[i]))
        i++;
    if (i == n && i == other->rows.len)
        return true;
    bool ends = i == other->rows.len;
    buf_str(why, ends && other->cut ? STR("it is cut off: expected ")
                                    : STR("it is of another program or script: expected "));
    if (i < n)
        merge_reports_put_place(&m->report->rows.at[i], why);
    else
        merge_reports_put_rows(n, why);
    buf_str(why, ends && i ? STR(", found only ") : STR(", found "));
    if (ends)
        merge_reports_put_rows(i, why);
    else
        merge_reports_put_place(&other->rows.at[i], why);
    return false;
}

static MergeValue merge_reports_scalar_of(const ReportRow *row) {
    switch ((ReportClass)row->class) {
    case REPORT_CLASS_UNSIGNED:
        return (MergeValue){.kind = MERGE_UNSIGNED, .of = {.u = row->number.u}};
    case REPORT_CLASS_SIGNED: return (MergeValue){.kind = MERGE_SIGNED, .of = {.i = row->number.i}};
    case REPORT_CLASS_REAL:
        return (MergeValue){.kind = MERGE_REAL, .of = {.real = row->number.real}};
    case REPORT_CLASS_BOOL: return (MergeValue){.kind = MERGE_BOOL, .of = {.u = row->number.u}};
    default: return (MergeValue){.kind = MERGE_TEXT, .of = {.text = row->value}};
    }
}

static void write_row(ReportRow *row, MergeRow *r, const MergeValue *v) {
    r->text.len = 0;
    if (v->kind == MERGE_REAL)
        merge_real_text(v->of.real, &r->text);
    else
        merge_value_put(v, &r->text);
    row->value = buf_view(&r->text);
    report_classify(row);
}

static bool add_composite(Merge *m, MergeRow *r, bool is_tree, MergeValue *v, MergeRule rule) {
    Tree *t = r->tree ? &m->trees.at[r->tree - 1] : NULL;
    if (is_tree)
        return is_tree_value(v, t->identity) && merge_reports_add_tree(m, t, v->of.entries, rule);
    if (t && (v->kind != MERGE_MAP || !merge_reports_renumber(t, v)))
        return false;
    return merge_value_combine(&r->value, v, rule, &m->arena);
}

/* Whether functions in both maps have the same names; otherwise the programs differ. */
static bool same_names(const MergeValue *a, const MergeValue *b) {
    bool same = true;
    for (uint32_t i = 0; same && i < b->of.entries->values.len; i++) {
        const uint64_t *at = map_get(&a->of.entries->index, b->of.entries->index.entries[i].key);
        same = !at ||
               str_eq(a->of.entries->values.at[*at].of.text, b->of.entries->values.at[i].of.text);
    }
    return same;
}

static bool merge_reports_add_row(Merge *m, uint32_t i, const Report *from, bool less) {
    const ReportRow *other = &from->rows.at[i];
    ReportRow *row = &m->report->rows.at[i];
    MergeRow *r = &m->rows[i];
    MergeRule rule = less && r->rule == MERGE_SUM ? MERGE_LESS : r->rule;
    MergeValue v;
    bool ok = true;
    if (r->is_end || (r->rule == MERGE_FIRST && r->composite))
        return true;
    if (!r->composite) {
        MergeValue into = merge_reports_scalar_of(row), more = merge_reports_scalar_of(other);
        ok = merge_value_combine(&into, &more, rule, &m->arena);
        if (ok && into.kind != MERGE_TEXT)
            write_row(row, r, &into);
        return ok;
    }
    ok = merge_value_read(row->var->type, other->value, &v);
    if (ok)
        merge_reports_close_calls(from, other, &v);
    ok = ok && (!r->names || same_names(&r->value, &v)) &&
         add_composite(m, r, r->tree && m->trees.at[r->tree - 1].row == i, &v, rule);
    merge_value_free(&v);
    if (ok)
        write_row(row, r, &r->value);
    return ok;
}

bool merge_add(Merge *m, const Report *other, bool less, Buf *why) {
    assert(m->report != other && !why->len && m->report->rows.len <= m->n);
    uint32_t wrong = UINT32_MAX;
    if (!merge_reports_fits(m, other, why))
        return false;
    for (uint32_t pass = 0; pass < 2; pass++) /* trees first: other maps refer to their nodes */
        for (uint32_t i = 0; i < other->rows.len && wrong == UINT32_MAX; i++) {
            bool is_tree = m->rows[i].tree && m->trees.at[m->rows[i].tree - 1].row == i;
            if (is_tree == (pass == 0) && !merge_reports_add_row(m, i, other, less))
                wrong = i;
        }
    if (wrong == UINT32_MAX)
        return true;
    if (is_build_id(&other->rows.at[wrong])) {
        buf_str(why, STR("its build id is not that of the first report: it is of another program, "
                         "or of other scripts"));
        return false;
    }
    if (!m->rows[wrong].names && m->rows[wrong].rule != MERGE_SAME) {
        put_unreadable(&other->rows.at[wrong], why);
        return false;
    }
    buf_str(why, STR("the value of "));
    merge_reports_put_place(&other->rows.at[wrong], why);
    if (m->rows[wrong].names)
        buf_str(why,
                STR(" has other names of functions than the first report, or cannot be read: it "
                    "is of another program"));
    else
        buf_str(why, STR(" is another one than in the first report"));
    return false;
}

void merge_free(Merge *m) {
    if (!m)
        return;
    for (uint32_t i = 0; i < m->n; i++) {
        merge_value_free(&m->rows[i].value);
        buf_free(&m->rows[i].text);
    }
    for (uint32_t i = 0; i < m->trees.len; i++) {
        map_free(&m->trees.at[i].nodes);
        map_free(&m->trees.at[i].renumbered);
    }
    vec_free(&m->trees);
    arena_free(&m->arena);
    free(m->rows);
    free(m);
}
