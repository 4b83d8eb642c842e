/*
 * format/format.c - views by their formats, and functions that several of them share.
 */
#include "format/format.h"
#include "base/escape.h"
#include "report/table.h"

#include <assert.h>

bool format_named(const char *name, Format *format) {
    static const struct {
        Format format;
        const char *name;
    } names[] = {
#define FORMAT(NAME, number, name, from, write, traits, ending) {FORMAT_##NAME, name},
#define ALIAS(NAME, name)                                       {FORMAT_##NAME, name},
#include "format/formats.def"
    };
    for (uint32_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i].name, name) == 0) {
            *format = names[i].format;
            return true;
        }
    return false;
}

static const struct {
    FormatSource source;
    unsigned traits;
    const char *ending;
} formats[] = {
#define FORMAT(NAME, number, name, from, write, traits, ending)                                    \
    [FORMAT_##NAME] = {FORMAT_OF_##from, traits, ending},
#include "format/formats.def"
};

FormatSource format_source(Format format) {
    assert(format < sizeof formats / sizeof *formats);
    return formats[format].source;
}

bool format_is(Format format, FormatTrait trait) {
    assert(format < sizeof formats / sizeof *formats);
    return formats[format].traits & trait;
}

bool format_needs_tree(Format format) {
    return format_source(format) == FORMAT_OF_TREE || format_source(format) == FORMAT_OF_HEAP;
}

bool format_of_file(const char *path, Format *format) {
    size_t len = strlen(path), longest = 0;
    for (Format f = 0; f < sizeof formats / sizeof *formats; f++) {
        size_t n = strlen(formats[f].ending);
        if (n > longest && len > n && strcmp(path + len - n, formats[f].ending) == 0) {
            *format = f;
            longest = n;
        }
    }
    return longest;
}

/* "1 call", "12 bytes", "3 alloc_objects" */
static void format_put_plain(const Profile *p, uint64_t weight, Buf *out) {
    uint32_t at = p->weight ? p->weight : p->values.len;
    const ProfileValue *v = at ? &p->values.at[at - 1] : NULL;
    buf_grouped(out, weight);
    buf_u8(out, ' ');
    if (!v || str_is(v->name, "calls"))
        buf_str(out, weight == 1 ? STR("call") : STR("calls"));
    else if (str_is(v->unit, "bytes"))
        buf_str(out, weight == 1 ? STR("byte") : STR("bytes"));
    else
        buf_str(out, v->name);
}

void format_weight(const Profile *p, uint64_t weight, Buf *out) {
    static const struct {
        uint64_t least;
        const char *unit;
    } units[] = {{1000000000, "s"}, {1000000, "ms"}, {1000, "µs"}};
    if (!p->timed) {
        format_put_plain(p, weight, out);
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

uint32_t format_hash(Str s) {
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (uint32_t i = 0; i < s.len; i++)
        hash = (hash ^ (uint8_t)s.ptr[i]) * 16777619u;
    return hash;
}
