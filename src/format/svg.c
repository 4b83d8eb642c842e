/*
 * format/svg.c - a flame graph as one SVG file.
 *
 * Each frame is an inner <svg>, which clips its text; positions and widths are in percent, so the
 * picture fills the available width. Everything can be read without JavaScript: browsers show a
 * frame's title when the pointer is on it. With JavaScript (flame.js) frames can be searched, and
 * clicked to zoom.
 */
#include "base/escape.h"
#include "format/format.h"

#include <assert.h>

extern const unsigned char host_flame_js[];
extern const unsigned long host_flame_js_size;

enum {
    FRAME = 17, /* the height of a frame and the gap below it */
    HEAD = 44,  /* above the frames */
    FOOT = 10,
    TEXT_AT = 12,    /* the base line of text in a frame */
    WIDTH = 1200,    /* the usual width, to which other sizes are relative */
    LEAST_TEXT = 24, /* narrower frames have no text */
};
/* Frames narrower than this part of the picture are left out. */
static const double least = 0.2 / WIDTH;

typedef struct Picture {
    const Profile *p;
    Buf *out;
    const uint64_t *before; /* of each node: its weight in the profile that it is compared with */
    uint64_t most;          /* the largest change of a node */
    uint32_t levels;        /* of the shown part */
    uint32_t left_out;
} Picture;

static double svg_part_of(const Picture *s, uint64_t weight) {
    return s->p->total ? (double)weight / (double)s->p->total : 0;
}

/* A warm colour that depends on the name only. */
static void svg_put_colour(Str name, Buf *out) {
    uint32_t hash = format_hash(name);
    buf_printf(out, "#%02x%02x%02x", 205 + hash % 51, 80 + (hash >> 8) % 130, (hash >> 16) % 60);
}

/* Red: more than before; blue: less; the more, the darker. */
static void put_change_colour(const Picture *s, const ProfileNode *n, Buf *out) {
    uint64_t old = s->before[n - s->p->nodes.at];
    bool grown = n->total > old;
    double change = (double)(grown ? n->total - old : old - n->total);
    int pale = 240 - (int)(s->most ? 190 * change / (double)s->most : 0);
    buf_printf(out, "#%02x%02x%02x", grown ? 250 : pale, pale, grown ? pale : 250);
}

/* The node with the same functions on its stack, by number; and their weights. */
static uint64_t *weights_before(const Profile *p, const Profile *base) {
    Map nodes = {0}; /* node above + 1, name -> node */
    Buf key = {0};
    uint64_t *weights = mem_zalloc((p->nodes.len + 1u) * sizeof *weights);
    uint32_t *same = mem_zalloc((p->nodes.len + 1u) * sizeof *same); /* + 1; 0 = there is none */
    for (uint32_t side = 0; side < 2; side++) {
        const Profile *of = side ? p : base;
        for (uint32_t i = 0; i < of->nodes.len; i++) {
            const ProfileNode *n = &of->nodes.at[i];
            bool root = n->parent == PROFILE_NONE;
            uint32_t above = root ? 0 : side ? same[n->parent] : n->parent + 1;
            key.len = 0;
            buf_u32le(&key, above);
            buf_str(&key, of->funcs.at[n->func].name);
            Str text = buf_view(&key);
            uint64_t *at = side ? map_get(&nodes, text) : map_put(&nodes, text, i, NULL);
            if (side && at && (root || above)) {
                same[i] = (uint32_t)*at + 1;
                weights[i] = base->nodes.at[*at].total;
            }
        }
    }
    free(same);
    buf_free(&key);
    map_free(&nodes);
    return weights;
}

static uint64_t most_change(const Profile *p, const uint64_t *before) {
    uint64_t most = 0;
    for (uint32_t i = 0; i < p->nodes.len; i++) {
        uint64_t now = p->nodes.at[i].total;
        uint64_t change = now > before[i] ? now - before[i] : before[i] - now;
        most = change > most ? change : most;
    }
    return most;
}

/* "name (12.3 ms, 4.5%, 7 calls)", or samples. */
static void put_title(const Picture *s, const ProfileNode *n, Buf *out) {
    const Profile *p = s->p;
    escape_xml(out, p->funcs.at[n->func].name);
    buf_str(out, STR(" ("));
    format_weight(p, n->total, out);
    buf_printf(out, ", %.2f%%", 100 * svg_part_of(s, n->total));
    if (n->self != n->total) {
        buf_str(out, STR(", itself "));
        format_weight(p, n->self, out);
    }
    if (p->timed && !profile_is_thread(p, n))
        buf_printf(out, ", %llu %s%s", (unsigned long long)n->calls, p->sampled ? "sample" : "call",
                   n->calls == 1 ? "" : "s");
    if (s->before) {
        buf_str(out, STR(", before "));
        format_weight(p, s->before[n - p->nodes.at], out);
    }
    buf_u8(out, ')');
}

/* `before`: the weight to the left of it. */
static void svg_put_frame(const Picture *s, const ProfileNode *n, uint64_t before) {
    Buf *out = s->out;
    Str name = s->p->funcs.at[n->func].name;
    double width = svg_part_of(s, n->total);
    uint32_t level = s->levels - 1 - n->depth; /* from above */
    buf_printf(out, "<svg class=\"f\" x=\"%.4f%%\" y=\"%u\" width=\"%.4f%%\" height=\"%u\"><title>",
               100 * svg_part_of(s, before), HEAD + level * FRAME, 100 * width, FRAME - 1);
    put_title(s, n, out);
    buf_str(out, STR("</title><rect width=\"100%\" height=\"100%\" rx=\"2\" fill=\""));
    if (s->before)
        put_change_colour(s, n, out);
    else
        svg_put_colour(name, out);
    buf_str(out, STR("\"/>"));
    if (width * WIDTH >= LEAST_TEXT) {
        buf_printf(out, "<text x=\"3\" y=\"%u\">", TEXT_AT);
        escape_xml(out, name);
        buf_str(out, STR("</text>"));
    }
    buf_str(out, STR("</svg>\n"));
}

/* Calls put_frame for nodes that are wide enough and not too deep, with the weight to their left.
 * Returns the number of levels. */
static uint32_t svg_walk(Picture *s, bool draw) {
    const Profile *p = s->p;
    Vec(uint64_t) free_from = {0}; /* by depth: where the next frame begins */
    uint32_t levels = 0;
    vec_push(&free_from, 0);
    for (uint32_t i = 0; i < p->nodes.len;) {
        const ProfileNode *n = &p->nodes.at[i];
        uint64_t before = free_from.at[n->depth];
        free_from.at[n->depth] = capped_add(before, n->total);
        if (svg_part_of(s, n->total) < least || n->depth >= FORMAT_DEPTH) {
            s->left_out += draw ? n->end - i : 0;
            i = n->end;
            continue;
        }
        if (draw)
            svg_put_frame(s, n, before);
        levels = n->depth + 1 > levels ? n->depth + 1 : levels;
        free_from.len = n->depth + 1;
        vec_push(&free_from, before); /* after the children: self time comes last */
        i++;
    }
    vec_free(&free_from);
    return levels;
}

static void svg_put_head(const Picture *s, Str title, uint32_t height) {
    Buf *out = s->out;
    buf_printf(out,
               "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
               "<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" width=\"100%%\" "
               "height=\"%u\" font-family=\"monospace\" font-size=\"12\">\n"
               "<style>.f{cursor:pointer}.f:hover rect,.f:focus rect{stroke:#000}"
               ".f:focus{outline:none}"
               ".found rect{fill:#d53ae0}text{pointer-events:none}"
               "#reset,#search{pointer-events:auto;cursor:pointer;fill:#06c}"
               "#reset,#search,#matched{display:none}</style>\n"
               "<rect width=\"100%%\" height=\"100%%\" fill=\"#fffdf5\"/>\n"
               "<text x=\"50%%\" y=\"20\" text-anchor=\"middle\" font-size=\"15\">",
               height);
    escape_xml(out, title);
    buf_str(out, STR(": "));
    format_weight(s->p, s->p->total, out);
    buf_str(out, s->before ? STR(" (red: more than before, blue: less)") : STR(""));
    buf_str(out, STR("</text>\n"
                     "<text id=\"reset\" x=\"8\" y=\"20\">Show all</text>\n"
                     "<text id=\"search\" x=\"99%\" y=\"20\" text-anchor=\"end\">Search</text>\n"
                     "<text id=\"matched\" x=\"99%\" y=\"38\" text-anchor=\"end\"></text>\n"));
}

void format_svg(const ProfileView *v, Buf *out) {
    assert(profile_check(v->p) && (!v->base || profile_check(v->base)));
    Picture s = {.p = v->p, .out = out};
    uint64_t *before = v->base ? weights_before(v->p, v->base) : NULL;
    s.before = before;
    s.most = before ? most_change(v->p, before) : 0;
    s.levels = svg_walk(&s, false);
    svg_put_head(&s, v->title, HEAD + s.levels * FRAME + FOOT);
    buf_str(out, STR("<svg id=\"frames\" width=\"100%\" height=\"100%\">\n"));
    svg_walk(&s, true);
    buf_str(out, STR("</svg>\n"));
    if (s.left_out)
        buf_printf(out,
                   "<text id=\"left\" x=\"8\" y=\"38\" fill=\"#777\">"
                   "%u frame%s too small or too deep to show</text>\n",
                   s.left_out, s.left_out == 1 ? " is" : "s are");
    buf_str(out, STR("<script><![CDATA[\n"));
    buf_bytes(out, host_flame_js, host_flame_js_size);
    buf_str(out, STR("]]></script>\n</svg>\n"));
    free(before);
}
