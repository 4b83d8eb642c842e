/*
 * format/perfetto.c - a call tree as Chrome trace events, for Perfetto. Each node is a slice whose
 * length is the inclusive time of its function in this context; siblings follow each other. Threads
 * that are kept apart have a track each. The trace shows totals, not a time line, which reports do
 * not have; it contains a note about this.
 *
 * Times are in microseconds with three decimals. Without times, each call is one microsecond.
 */
#include "base/escape.h"
#include "format/format.h"

#include <assert.h>
#include <inttypes.h>

static void perfetto_put_time(const Profile *p, uint64_t weight, Buf *out) {
    if (p->timed)
        buf_printf(out, "%" PRIu64 ".%03u", weight / 1000, (uint32_t)(weight % 1000));
    else
        buf_printf(out, "%" PRIu64, weight);
}

/* The number of the track that a thread has, or that there is. */
static void put_track(const char *phase, uint32_t track, Buf *out) {
    buf_printf(out, ",\n{\"ph\":\"%s\",\"pid\":1,\"tid\":%u", phase, track);
}

static void put_slice(const Profile *p, const ProfileNode *n, uint32_t track, uint64_t begin,
                      Buf *out) {
    const ProfileFunc *f = &p->funcs.at[n->func];
    put_track("X", track, out);
    buf_str(out, STR(",\"cat\":\"wasm\",\"name\":"));
    escape_json_string(out, f->name);
    buf_str(out, STR(",\"ts\":"));
    perfetto_put_time(p, begin, out);
    buf_str(out, STR(",\"dur\":"));
    perfetto_put_time(p, n->total, out);
    buf_printf(out, ",\"args\":{\"calls\":%" PRIu64, n->calls);
    if (f->file.len) {
        buf_str(out, STR(",\"file\":"));
        escape_json_string(out, f->file);
    }
    if (f->line)
        buf_printf(out, ",\"line\":%u", f->line);
    buf_str(out, STR("}}"));
}

/* The name of a track: the thread, if it has one, and the kind of slices. */
static void put_track_name(const Profile *p, const Str *thread, uint32_t track, Buf *out) {
    put_track("M", track, out);
    buf_str(out, STR(",\"name\":\"thread_name\",\"args\":{\"name\":\""));
    if (thread) {
        escape_json(out, *thread);
        buf_str(out, STR(": "));
    }
    if (p->timed) {
        buf_str(out, STR("totals, not a course of time"));
    } else {
        escape_json(out, vec_last(&p->values).name);
        buf_str(out, STR(", as microseconds"));
    }
    buf_str(out, STR("\"}}"));
}

/* A track for each thread, or one for all. */
static void put_tracks(const Profile *p, Buf *out) {
    /* Where the next slice below each open node begins: children come first, self time last. */
    uint64_t *begins = mem_zalloc((p->nodes.len + 1u) * sizeof *begins), top = 0;
    uint32_t track = 1;
    if (!p->by_thread)
        put_track_name(p, NULL, track, out);
    for (uint32_t i = 0; i < p->nodes.len; i++) {
        const ProfileNode *n = &p->nodes.at[i];
        if (profile_is_thread(p, n)) {
            track += i > 0;
            put_track_name(p, &p->funcs.at[n->func].name, track, out);
            continue;
        }
        uint64_t *at = n->parent == PROFILE_NONE ? &top : &begins[n->parent];
        begins[i] = *at;
        *at = capped_add(*at, n->total);
        put_slice(p, n, track, begins[i], out);
    }
    free(begins);
}

void format_perfetto(const ProfileView *v, Buf *out) {
    assert(profile_check(v->p));
    buf_str(out, STR("{\"displayTimeUnit\":\"ns\",\n\"otherData\":{\"program\":"));
    escape_json_string(out, v->title);
    buf_str(out, STR(",\"note\":\"Totals of calling contexts: slices are as long as their calls "
                     "together. When calls were made is not known.\"},\n"
                     "\"traceEvents\":[\n"
                     "{\"ph\":\"M\",\"pid\":1,\"name\":\"process_name\",\"args\":{\"name\":"));
    escape_json_string(out, v->title);
    buf_str(out, STR("}}"));
    put_tracks(v->p, out);
    buf_str(out, STR("]}\n"));
}
