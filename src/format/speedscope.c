/*
 * format/speedscope.c - a profile for speedscope: an evented one, in which functions are opened and
 * closed; or one for each thread. In each node self time comes first, then the children in the
 * order of the report.
 */
#include "base/escape.h"
#include "format/format.h"

#include <assert.h>
#include <inttypes.h>

/* Where the function is in the source, if that is known. */
static void speedscope_put_place(const ProfileFunc *f, Buf *out) {
    if (f->file.len) {
        buf_str(out, STR(",\"file\":"));
        escape_json_string(out, f->file);
    }
    if (f->file.len && f->line)
        buf_printf(out, ",\"line\":%u", f->line);
}

typedef struct Events {
    Buf *out;
    bool any;
} Events;

static void speedscope_put_event(Events *e, char type, uint32_t frame, uint64_t at) {
    buf_printf(e->out, "%s{\"type\":\"%c\",\"frame\":%u,\"at\":%" PRIu64 "}", e->any ? ",\n" : "",
               type, frame, at);
    e->any = true;
}

/* The nodes from `from` on, up to `end`. */
static void put_profile(const Profile *p, Str name, uint32_t from, uint32_t end, Buf *out) {
    uint64_t at = 0, total = 0;
    for (uint32_t i = from; i < end; i = p->nodes.at[i].end)
        total = capped_add(total, p->nodes.at[i].total);
    buf_str(out, STR("{\"type\":\"evented\",\"name\":"));
    escape_json_string(out, name);
    buf_printf(out, ",\"unit\":\"%s\",\"startValue\":0,\"endValue\":%" PRIu64 ",\"events\":[\n",
               p->timed ? "nanoseconds" : "none", total);
    Events e = {.out = out};
    for (uint32_t i = from; i < end; i++) {
        const ProfileNode *n = &p->nodes.at[i];
        speedscope_put_event(&e, 'O', n->func, at);
        at = capped_add(at, n->self);
        for (uint32_t up = i; up != PROFILE_NONE && up >= from && p->nodes.at[up].end == i + 1;
             up = p->nodes.at[up].parent)
            speedscope_put_event(&e, 'C', p->nodes.at[up].func, at);
    }
    buf_str(out, STR("]}"));
}

/* One for each thread, without the node that stands for it. */
static void speedscope_put_threads(const Profile *p, Buf *out) {
    for (uint32_t i = 0; i < p->nodes.len; i = p->nodes.at[i].end) {
        const ProfileNode *thread = &p->nodes.at[i];
        buf_str(out, i ? STR(",\n") : STR(""));
        put_profile(p, p->funcs.at[thread->func].name, i + 1, thread->end, out);
    }
}

void format_speedscope(const ProfileView *v, Buf *out) {
    assert(profile_check(v->p));
    const Profile *p = v->p;
    buf_str(out, STR("{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n"
                     "\"exporter\":\"whammc\",\n\"name\":"));
    escape_json_string(out, v->title);
    buf_str(out, STR(",\n\"shared\":{\"frames\":["));
    for (uint32_t i = 0; i < p->funcs.len; i++) {
        buf_str(out, i ? STR(",\n{\"name\":") : STR("\n{\"name\":"));
        escape_json_string(out, p->funcs.at[i].name);
        speedscope_put_place(&p->funcs.at[i], out);
        buf_u8(out, '}');
    }
    buf_str(out, STR("]},\n\"profiles\":["));
    if (p->by_thread)
        speedscope_put_threads(p, out);
    else
        put_profile(p, v->title, 0, p->nodes.len, out);
    buf_str(out, STR("]}\n"));
}
