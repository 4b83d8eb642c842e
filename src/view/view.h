/*
 * view/view.h - formats of other tools for profiles, and pictures; one file each.
 *
 * All of them append text. Names may have any bytes; each view replaces what its format cannot
 * have. Weights are nanoseconds, or calls if the profile has no times.
 */
#ifndef WHAMMC_VIEW_VIEW_H
#define WHAMMC_VIEW_VIEW_H

#include "view/profile.h"

/* ---- made from arcs ---- */

/* A flat profile of the first `top` functions, 0 = all. */
void view_flat(const Profile *p, uint32_t top, Buf *out);
/* A flat profile and a call graph as gprof prints them, of the first `top` functions, 0 = all. */
void view_gprof(const Profile *p, uint32_t top, Buf *out);
/* The call graph of the first `top` functions, 0 = all, for Graphviz. */
void view_dot(const Profile *p, uint32_t top, Buf *out);

/* ---- made from a tree ---- */

enum { VIEW_DEPTH = 1000 }; /* deeper frames count as a part of the last one that is shown */

/* Folded stacks: "a;b;c 12", a line for each node with a weight. */
void view_folded(const Profile *p, Buf *out);
/* A flame graph. With a `base` (or NULL), colours show how its weights differ from those of stacks
 * with the same names there. */
void view_svg(const Profile *p, const Profile *base, Str title, Buf *out);
/* For speedscope, https://www.speedscope.app. */
void view_speedscope(const Profile *p, Str title, Buf *out);
/* For Chrome's developer tools and other readers of .cpuprofile. */
void view_cpuprofile(const Profile *p, Buf *out);

/* ---- by format ---- */

/* The formats of view.def; the first four are not made of a profile. */
typedef enum ViewFormat {
#define VIEW(NAME, name, tree, lines) VIEW_##NAME,
#include "view/view.def"
} ViewFormat;

/* The format with this name; false if there is none. */
bool view_named(const char *name, ViewFormat *format);

/* Columns of view.def. */
bool view_has_lines(ViewFormat format);
bool view_needs_tree(ViewFormat format);
/* Appends a profile in its format; those that are not made of one are a flat profile. */
void view_format(ViewFormat format, const Profile *p, uint32_t top, Str title, Buf *out);

/* ---- for views ---- */

/* "12.3 ms", "1,234 calls" or "80 bytes": a weight for people. */
void view_weight(const Profile *p, uint64_t weight, Buf *out);
/* Text in XML: markup is escaped, what XML cannot have becomes '?'. */
void view_xml(Str s, Buf *out);
/* A hash of a name, the same in every run. */
uint32_t view_hash(Str s);

#endif
