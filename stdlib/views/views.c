/*
 * views.c - the part of whammc in OUT.views.js, compiled to WebAssembly: shows reports as profiles
 * and in other formats, in pages and Node. stdlib/host/views.js calls the exports.
 *
 * An instance serves one view: JavaScript makes it, copies the text of a report to views_room(),
 * calls one of the functions that return whether they have made something, and copies that, or a
 * message, from views_made().
 */
#include "api/api_report.h"
#include "base/escape.h"
#include "profile/graph.h"
#include "report/report_write.h"

#include <inttypes.h>

#define EXPORT(name) __attribute__((export_name(#name))) name

static Buf text, made;

uint8_t *EXPORT(views_room)(uint32_t size);
uint8_t *EXPORT(views_made)(void);
uint32_t EXPORT(views_size)(void);
bool EXPORT(views_convert)(uint32_t top, double milliseconds);
bool EXPORT(views_gprof)(uint32_t top, bool flat, bool graph);
bool EXPORT(views_functions)(void);
bool EXPORT(views_calls)(void);
bool EXPORT(views_nameless)(void);

/* Room for a text of this size. For views_convert the name of a format and a title, each with a
 * NUL, are before the report. */
uint8_t *views_room(uint32_t size) {
    text.len = 0;
    buf_reserve(&text, size + 1u);
    text.len = size;
    return text.data;
}

uint8_t *views_made(void) {
    return made.data;
}

uint32_t views_size(void) {
    return (uint32_t)made.len;
}

/* ---- reports ---- */

/* Says what is wrong. Returns false. */
static bool fail(WhammcReport *r) {
    made.len = 0;
    buf_str(&made, str_of(whammc_report_messages(r, 0)));
    return false;
}

/* Reads the text from an offset on. False after a message; a text without reports is empty. */
static bool read_text(WhammcReport *r, size_t from) {
    static const char nothing[] = "\n";
    bool empty = text.len == from;
    whammc_report_read(r, "report", empty ? nothing : (const char *)text.data + from,
                       empty ? 1 : text.len - from, 0);
    return !whammc_report_error_count(r) || fail(r);
}

/* Whether a part of the report is subtracted. */
static bool is_difference(const WhammcReport *r) {
    bool less = false;
    for (uint32_t i = 0; i < r->modules.parts.all.len; i++)
        less |= r->modules.parts.all.at[i].origin.less;
    return less;
}

/* Removes arcs without calls, and functions without arcs. */
static void drop_nothing(Profile *p) {
    uint32_t *to = mem_zalloc((p->funcs.len + 1u) * sizeof *to), arcs = 0, funcs = 0;
    for (uint32_t i = 0; i < p->arcs.len; i++) {
        const ProfileArc arc = p->arcs.at[i];
        if (!arc.calls && !arc.ns)
            continue;
        to[arc.caller] = to[arc.callee] = 1;
        p->arcs.at[arcs++] = arc;
    }
    for (uint32_t i = 0; i < p->funcs.len; i++) {
        bool kept = to[i] || p->funcs.at[i].called;
        to[i] = funcs;
        if (kept)
            p->funcs.at[funcs++] = p->funcs.at[i];
    }
    p->arcs.len = arcs;
    p->funcs.len = funcs;
    for (uint32_t i = 0; i < arcs; i++) {
        p->arcs.at[i].caller = to[p->arcs.at[i].caller];
        p->arcs.at[i].callee = to[p->arcs.at[i].callee];
    }
    free(to);
}

/* The calls of all modules; none if the report has none. False after a message. */
static bool read_calls(WhammcReport *r, bool mangled, Profile *p) {
    WhammcReportOptions options = {.mangled = mangled};
    if (!read_text(r, 0))
        return false;
    bool ok = api_read_profile(r, false, FORMAT_TABLE, &options, p);
    if (!ok && p->problem)
        return fail(r);
    if (!ok) {
        profile_free(p);
        *p = (Profile){0};
    }
    if (is_difference(r))
        drop_nothing(p);
    return true;
}

/* ---- views ---- */

/* The report in a format. `milliseconds`: when it was made, since 1970. */
bool views_convert(uint32_t top, double milliseconds) {
    WhammcReport *r = whammc_report_new();
    const char *name = (const char *)text.data, *title = name + strlen(name) + 1;
    WhammcReportOptions options = {
        .top = top, .title = title, .time = (int64_t)milliseconds * 1000000};
    WhammcReportFormat format;
    if (!whammc_report_format(name, &format)) {
        buf_printf(&made, "there is no format '%s'", name);
        return false;
    }
    if (!read_text(r, (size_t)(title - name) + strlen(title) + 1))
        return false;
    return whammc_report_write(r, format, &options, &made.data, &made.len) == WHAMMC_OK || fail(r);
}

/* As gprof shows it: a flat profile, a call graph, or both, with an empty line between them. */
bool views_gprof(uint32_t top, bool flat, bool graph) {
    Profile p = {0};
    ProfileView view = {.p = &p, .top = top};
    Buf all = {0};
    if (!read_calls(whammc_report_new(), false, &p))
        return false;
    format_flat(&view, &made);
    if (!graph)
        return true;
    format_gprof(&view, &all);
    size_t from = flat ? 0 : made.len + 1;
    made.len = 0;
    buf_bytes(&made, all.data + from, all.len - from);
    return true;
}

static void put_number(const char *name, uint64_t n) {
    buf_printf(&made, ",\"%s\":%" PRIu64, name, n);
}

static void put_time(const char *name, int64_t ns) {
    buf_printf(&made, ",\"%s\":%.17g", name, (double)ns / 1e6);
}

/* The functions in the order of the call graph, then those outside, as { name, selfTime,
 * cumulativeTime, called } in JSON; then their arcs as { from, to, count, time }. */
bool views_functions(void) {
    Profile p = {0};
    Graph g;
    if (!read_calls(whammc_report_new(), false, &p))
        return false;
    graph_make(&g, &p);
    uint32_t *place = mem_zalloc((p.funcs.len + 1u) * sizeof *place), n = g.norder;
    for (uint32_t i = 0; i < p.funcs.len; i++)
        place[i] = g.funcs[i].index ? g.funcs[i].index - 1 : n++;
    uint32_t *order = mem_zalloc((p.funcs.len + 1u) * sizeof *order);
    for (uint32_t i = 0; i < p.funcs.len; i++)
        order[place[i]] = i;
    buf_printf(&made, "{\"shown\":%u,\"functions\":[", g.norder);
    for (uint32_t i = 0; i < p.funcs.len; i++) {
        const GraphFunc *f = &g.funcs[order[i]];
        buf_str(&made, i ? STR(",{\"name\":") : STR("{\"name\":"));
        escape_json_string(&made, p.funcs.at[order[i]].name);
        put_time("selfTime", f->self);
        put_time("cumulativeTime", f->total);
        put_number("called", capped_add(f->calls, f->self_calls));
        buf_str(&made, STR("}"));
    }
    buf_str(&made, STR("],\"arcs\":["));
    for (uint32_t i = 0; i < p.arcs.len; i++) {
        const ProfileArc *arc = &p.arcs.at[i];
        buf_printf(&made, "%s{\"from\":%u,\"to\":%u", i ? "," : "", place[arc->caller],
                   place[arc->callee]);
        put_number("count", arc->calls);
        put_time("time", arc->ns);
        buf_str(&made, STR("}"));
    }
    buf_str(&made, STR("]}"));
    return true;
}

/* Adds a row of the report, or one like it. */
static void add_row(Report *calls, ReportRow row) {
    row.id = str_of(arena_printf(&calls->arena, "%u", calls->rows.len));
    vec_push(&calls->rows, row);
}

/* Adds the arcs of a profile as one variable. */
static void add_arcs(Report *calls, const Profile *p) {
    static const ReportVar types[] = {
        {{"map_id", 6}, {"arcs", 4}, {"map<(u32,u32),u64>", 18}, {"i32", 3}, {"script0", 7}, {0}},
        {{"map_id", 6},
         {"arcs", 4},
         {"map<(u32,u32),(u64,u64)>", 24},
         {"i32", 3},
         {"script0", 7},
         {0}},
        {{"map_id", 6},
         {"arcs", 4},
         {"map<(u32,u32),(u64,i64,u64)>", 28},
         {"i32", 3},
         {"script0", 7},
         {0}},
    };
    uint32_t type = p->timed; /* times below 0 are those of calls that could be open */
    Buf value = {0};
    for (uint32_t i = 0; i < p->arcs.len; i++)
        type = p->arcs.at[i].ns < 0 ? 2 : type;
    for (uint32_t i = 0; i < p->arcs.len; i++) {
        const ProfileArc *arc = &p->arcs.at[i];
        buf_printf(&value, "%s{\"key\":[%u,%u],\"value\":", i ? "," : "[",
                   p->funcs.at[arc->caller].id, p->funcs.at[arc->callee].id);
        buf_printf(&value, type ? "[%" PRIu64 : "%" PRIu64, arc->calls);
        if (type)
            buf_printf(&value, ",%" PRId64 "%s", arc->ns, type > 1 ? ",0]" : "]");
        buf_str(&value, STR("}"));
    }
    buf_str(&value, p->arcs.len ? STR("]") : STR("[]"));
    add_row(calls, (ReportRow){
                       .var = &types[type], .class = REPORT_CLASS_TEXT, .value = buf_view(&value)});
}

/* Whether the row is about arcs, and of use beside them. */
static bool is_told(const ReportRow *row, const Profile *p) {
    return str_is(row->var->name, "calibrated") ||
           (str_is(row->var->name, "not_timed") && !p->nodes.len);
}

/* The calls of one module as JSON lines: the names of functions, variables about the calls, and the
 * call tree, or arcs if there is none or the report is a difference. */
bool views_calls(void) {
    static const ReportVar no_names = {{"map_id", 6}, {"names", 5},   {"map<u32,str>", 12},
                                       {"i32", 3},    {"script0", 7}, {0}};
    WhammcReport *r = whammc_report_new();
    Profile p = {0};
    Report calls = {.json = true};
    if (!read_calls(r, true, &p))
        return false;
    uint32_t n = r->report ? r->report->rows.len : 0;
    bool tree = p.nodes.len && !is_difference(r);
    for (uint32_t i = 0; i < n; i++)
        if (profile_is_names(r->report->rows.at[i].var))
            add_row(&calls, r->report->rows.at[i]);
    if (!calls.rows.len)
        add_row(&calls,
                (ReportRow){.var = &no_names, .class = REPORT_CLASS_TEXT, .value = STR("[]")});
    for (uint32_t i = 0; i < n; i++) {
        const ReportRow *row = &r->report->rows.at[i];
        bool names = profile_is_names(row->var);
        if (!names && !row->has_place && (tree || is_told(row, &p)))
            add_row(&calls, *row);
    }
    if (!tree)
        add_arcs(&calls, &p);
    write_report(&calls, WRITE_JSON, false, &made);
    return true;
}

/* The numbers of the called functions without names, as "1,2,3,"; nothing if there are no calls. */
bool views_nameless(void) {
    Profile p = {0};
    if (!read_calls(whammc_report_new(), true, &p))
        return false;
    for (uint32_t i = 0; p.arcs.len && i < p.funcs.len; i++) {
        const ProfileFunc *f = &p.funcs.at[i];
        if (!f->outside && !f->home.module_id && f->name.ptr[0] == '#')
            buf_printf(&made, "%u,", f->id);
    }
    return true;
}
