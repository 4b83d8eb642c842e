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
#define VIEW(NAME, number, name, from, write, traits, ending) {VIEW_##NAME, name},
#define ALIAS(NAME, name)                                     {VIEW_##NAME, name},
#include "view/formats.def"
    };
    for (uint32_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i].name, name) == 0) {
            *format = names[i].format;
            return true;
        }
    return false;
}

static const struct {
    ViewSource source;
    unsigned traits;
    const char *ending;
} formats[] = {
#define VIEW(NAME, number, name, from, write, traits, ending)                                      \
    [VIEW_##NAME] = {VIEW_OF_##from, traits, ending},
#include "view/formats.def"
};

ViewSource view_source(ViewFormat format) {
    return formats[format].source;
}

bool view_is(ViewFormat format, ViewTrait trait) {
    return formats[format].traits & trait;
}

bool view_needs_tree(ViewFormat format) {
    return view_source(format) == VIEW_OF_TREE || view_source(format) == VIEW_OF_HEAP;
}

void view_of_output(const char *path, ViewFormat *format) {
    size_t len = path ? strlen(path) : 0;
    for (ViewFormat f = 0; f < sizeof formats / sizeof *formats; f++) {
        size_t n = strlen(formats[f].ending);
        if (view_is(f, VIEW_IS_BINARY) && len > n && strcmp(path + len - n, formats[f].ending) == 0)
            *format = f;
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
