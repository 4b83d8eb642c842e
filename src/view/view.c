/*
 * view/view.c - views by their formats, and what several of them need.
 */
#include "view/view.h"
#include "report/escape.h"
#include "report/table.h"

bool view_named(const char *name, ViewFormat *format) {
    static const struct {
        ViewFormat format;
        const char *name;
    } names[] = {
#define VIEW(NAME, name, tree, lines) {VIEW_##NAME, name},
#define ALIAS(NAME, name)             {VIEW_##NAME, name},
#include "view/view.def"
    };
    for (uint32_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i].name, name) == 0) {
            *format = names[i].format;
            return true;
        }
    return false;
}

static const struct {
    bool tree, lines;
} formats[] = {
#define VIEW(NAME, name, tree, lines) {tree, lines},
#include "view/view.def"
};

bool view_needs_tree(ViewFormat format) {
    return formats[format].tree;
}

bool view_has_lines(ViewFormat format) {
    return formats[format].lines;
}

void view_format(ViewFormat format, const Profile *p, uint32_t top, Str title, Buf *out) {
    switch (format) {
    case VIEW_GPROF: view_gprof(p, top, out); break;
    case VIEW_DOT: view_dot(p, top, out); break;
    case VIEW_FOLDED: view_folded(p, out); break;
    case VIEW_SVG: view_svg(p, NULL, title, out); break;
    case VIEW_SPEEDSCOPE: view_speedscope(p, title, out); break;
    case VIEW_CPUPROFILE: view_cpuprofile(p, out); break;
    default: view_flat(p, top, out); break;
    }
}

/* "1 call", "12 bytes", "3 alloc_objects" */
static void put_plain(const Profile *p, uint64_t weight, Buf *out) {
    uint32_t at = p->weight ? p->weight : p->values.len;
    const ProfileValue *v = at ? &p->values.at[at - 1] : NULL;
    table_number(out, weight);
    buf_u8(out, ' ');
    if (!v || str_is(v->name, "calls"))
        buf_str(out, weight == 1 ? STR("call") : STR("calls"));
    else if (str_is(v->unit, "bytes"))
        buf_str(out, weight == 1 ? STR("byte") : STR("bytes"));
    else
        buf_str(out, v->name);
}

void view_weight(const Profile *p, uint64_t weight, Buf *out) {
    static const struct {
        uint64_t least;
        const char *unit;
    } units[] = {{1000000000, "s"}, {1000000, "ms"}, {1000, "µs"}};
    if (!p->timed) {
        put_plain(p, weight, out);
        return;
    }
    for (uint32_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (weight < units[i].least)
            continue;
        buf_printf(out, "%.3g %s", (double)weight / (double)units[i].least, units[i].unit);
        return;
    }
    buf_printf(out, "%u ns", (uint32_t)weight);
}

void view_xml(Str s, Buf *out) {
    Buf text = {0};
    escape_shown(&text, s);
    for (size_t i = 0; i < text.len; i++) {
        uint8_t c = text.data[i];
        if (c == '&')
            buf_str(out, STR("&amp;"));
        else if (c == '<')
            buf_str(out, STR("&lt;"));
        else if (c == '>')
            buf_str(out, STR("&gt;"));
        else if (c == '"')
            buf_str(out, STR("&quot;"));
        else
            buf_u8(out, c);
    }
    buf_free(&text);
}

uint32_t view_hash(Str s) {
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (uint32_t i = 0; i < s.len; i++)
        hash = (hash ^ (uint8_t)s.ptr[i]) * 16777619u;
    return hash;
}
