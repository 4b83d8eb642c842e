/*
 * format/cpuprofile.c - a profile as Chrome's developer tools read it: one sample a node. A sample
 * lasts until the next one, the last until the end. Times are in microseconds; without times, one
 * microsecond stands for one call.
 */
#include "base/escape.h"
#include "format/format.h"

#include <assert.h>
#include <inttypes.h>

/* Lines count from 0 there; -1 = unknown. */
static void cpuprofile_put_frame(Str name, Str file, uint32_t line, Buf *out) {
    buf_str(out, STR("\"callFrame\":{\"functionName\":\""));
    escape_json(out, name);
    buf_str(out, STR("\",\"scriptId\":\"0\",\"url\":\""));
    escape_json(out, file);
    buf_printf(out, "\",\"lineNumber\":%" PRId64 ",\"columnNumber\":-1}", (int64_t)line - 1);
}

/* The numbers of the nodes between two indices that have the same parent. */
static void put_children(const Profile *p, uint32_t from, uint32_t end, Buf *out) {
    buf_str(out, STR(",\"children\":["));
    for (uint32_t i = from; i < end; i = p->nodes.at[i].end)
        buf_printf(out, "%s%u", i == from ? "" : ",", i + 2);
    buf_str(out, STR("]}"));
}

static uint64_t microseconds(const Profile *p, uint64_t weight) {
    return p->timed ? weight / 1000 : weight;
}

void format_cpuprofile(const ProfileView *v, Buf *out) {
    assert(profile_check(v->p));
    const Profile *p = v->p;
    buf_str(out, STR("{\"nodes\":[\n{\"id\":1,"));
    cpuprofile_put_frame(STR("(root)"), STR(""), 0, out);
    buf_str(out, STR(",\"hitCount\":0"));
    put_children(p, 0, p->nodes.len, out);
    for (uint32_t i = 0; i < p->nodes.len; i++) {
        buf_printf(out, ",\n{\"id\":%u,", i + 2);
        const ProfileFunc *f = &p->funcs.at[p->nodes.at[i].func];
        cpuprofile_put_frame(f->name, f->file, f->line, out);
        buf_printf(out, ",\"hitCount\":%u", p->nodes.at[i].self > 0);
        put_children(p, i + 1, p->nodes.at[i].end, out);
    }
    buf_printf(out, "],\n\"startTime\":0,\n\"endTime\":%" PRIu64 ",\n\"samples\":[",
               microseconds(p, p->total));
    for (uint32_t i = 0; i < p->nodes.len; i++)
        buf_printf(out, "%s%u", i ? "," : "", i + 2);
    buf_str(out, STR("],\n\"timeDeltas\":["));
    uint64_t before = 0, at = 0;
    for (uint32_t i = 0; i < p->nodes.len; i++) {
        /* The difference of rounded positions, so that rounding errors do not add up. */
        uint64_t delta = microseconds(p, at) - microseconds(p, before);
        buf_printf(out, "%s%" PRIu64, i ? "," : "", delta);
        before = at;
        at = capped_add(at, p->nodes.at[i].self);
    }
    buf_str(out, STR("]}\n"));
}
