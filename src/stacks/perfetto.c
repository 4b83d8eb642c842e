/*
 * stacks/perfetto.c - a call tree as Chrome trace events, for Perfetto. Each node is a slice whose
 * length is the inclusive time of its function in this context; siblings follow each other. The
 * trace shows totals, not a time line, which reports do not have; it contains a note about this.
 *
 * Times are in microseconds with three decimals. Without times, each call is one microsecond.
 */
#include "report/escape.h"
#include "stacks/tools.h"

#include <inttypes.h>

static void put_time(const Profile *p, uint64_t weight, Buf *out) {
    if (p->timed)
        buf_printf(out, "%" PRIu64 ".%03u", weight / 1000, (uint32_t)(weight % 1000));
    else
        buf_printf(out, "%" PRIu64, weight);
}

static void put_slice(const Profile *p, const ProfileNode *n, uint64_t begin, Buf *out) {
    const ProfileFunc *f = &p->funcs.at[n->func];
    buf_str(out, STR(",\n{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"cat\":\"wasm\",\"name\":"));
    escape_json_string(out, f->name);
    buf_str(out, STR(",\"ts\":"));
    put_time(p, begin, out);
    buf_str(out, STR(",\"dur\":"));
    put_time(p, n->total, out);
    buf_printf(out, ",\"args\":{\"calls\":%" PRIu64, n->calls);
    if (f->file.len) {
        buf_str(out, STR(",\"file\":"));
        escape_json_string(out, f->file);
    }
    if (f->line)
        buf_printf(out, ",\"line\":%u", f->line);
    buf_str(out, STR("}}"));
}

void stacks_perfetto(const Profile *p, Str title, Buf *out) {
    buf_str(out, STR("{\"displayTimeUnit\":\"ns\",\n\"otherData\":{\"program\":"));
    escape_json_string(out, title);
    buf_str(out, STR(",\"note\":\"Totals of calling contexts: slices are as long as their calls "
                     "together. When calls were made is not known.\"},\n"
                     "\"traceEvents\":[\n"
                     "{\"ph\":\"M\",\"pid\":1,\"name\":\"process_name\",\"args\":{\"name\":"));
    escape_json_string(out, title);
    buf_str(out, STR("}},\n{\"ph\":\"M\",\"pid\":1,\"tid\":1,\"name\":\"thread_name\",\"args\":{"
                     "\"name\":\""));
    if (p->timed) {
        buf_str(out, STR("totals, not a course of time"));
    } else {
        escape_json(out, vec_last(&p->values).name);
        buf_str(out, STR(", as microseconds"));
    }
    buf_str(out, STR("\"}}"));
    /* Where the next slice below each open node begins: children come first, self time last.
     */
    uint64_t *begins = mem_alloc((p->nodes.len + 1u) * sizeof *begins), top = 0;
    for (uint32_t i = 0; i < p->nodes.len; i++) {
        const ProfileNode *n = &p->nodes.at[i];
        uint64_t *at = n->parent == PROFILE_NONE ? &top : &begins[n->parent];
        begins[i] = *at;
        *at = capped_add(*at, n->total);
        put_slice(p, n, begins[i], out);
    }
    free(begins);
    buf_str(out, STR("]}\n"));
}
