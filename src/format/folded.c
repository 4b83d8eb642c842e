/*
 * format/folded.c - folded stacks, which flame graph tools read: "main;f;g 12".
 */
#include "base/escape.h"
#include "format/format.h"

#include <assert.h>
#include <inttypes.h>

/* A name without separators of names and lines. */
static void folded_put_name(Str name, Buf *out) {
    size_t at = out->len;
    escape_shown(out, name);
    for (; at < out->len; at++)
        if (out->data[at] == ';')
            out->data[at] = ':';
}

void format_folded(const ProfileView *v, Buf *out) {
    assert(profile_check(v->p));
    const Profile *p = v->p;
    Buf path = {0};
    Vec(size_t) starts = {0}; /* where in the path each level's name begins */
    for (uint32_t i = 0; i < p->nodes.len;) {
        const ProfileNode *n = &p->nodes.at[i];
        bool deepest = n->depth == FORMAT_DEPTH - 1;
        if (starts.len > n->depth)
            path.len = starts.at[n->depth];
        starts.len = n->depth;
        vec_push(&starts, path.len);
        if (n->depth)
            buf_u8(&path, ';');
        folded_put_name(p->funcs.at[n->func].name, &path);
        uint64_t weight = deepest ? n->total : n->self;
        if (weight) {
            buf_bytes(out, path.data, path.len);
            buf_printf(out, " %" PRIu64 "\n", weight);
        }
        i = deepest ? n->end : i + 1;
    }
    vec_free(&starts);
    buf_free(&path);
}
