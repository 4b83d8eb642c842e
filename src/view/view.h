/*
 * view/view.h - formats of other tools for profiles, and pictures; one file each.
 *
 * All of them append text. Names may have any bytes; each view replaces what its format cannot
 * have. Weights are nanoseconds, or calls if the profile has no times.
 */
#ifndef WHAMMC_VIEW_VIEW_H
#define WHAMMC_VIEW_VIEW_H

#include "view/profile.h"

/* What is shown, and how; all but p may be zero. */
typedef struct ProfileView {
    const Profile *p;
    const Profile *base; /* of an earlier run, for differences; NULL = none */
    uint32_t top;        /* functions that are shown; 0 = all */
    Str title;
} ProfileView;

/* ---- made from arcs ---- */

/* A flat profile of the first `top` functions. */
void view_flat(const ProfileView *v, Buf *out);
/* A flat profile and a call graph as gprof prints them, of the first `top` functions. */
void view_gprof(const ProfileView *v, Buf *out);
/* The call graph of the first `top` functions, for Graphviz. */
void view_dot(const ProfileView *v, Buf *out);

/* ---- made from a tree ---- */

enum { VIEW_DEPTH = 1000 }; /* deeper frames count as a part of the last one that is shown */

/* Folded stacks: "a;b;c 12", a line for each node with a weight. */
void view_folded(const ProfileView *v, Buf *out);
/* A flame graph. With a `base`, colours show how its weights differ from those of stacks with the
 * same names there. */
void view_svg(const ProfileView *v, Buf *out);
/* For speedscope, https://www.speedscope.app. */
void view_speedscope(const ProfileView *v, Buf *out);
/* For Chrome's developer tools and other readers of .cpuprofile. */
void view_cpuprofile(const ProfileView *v, Buf *out);

/* ---- formats ---- */

/* Those of formats.def, with the values of WhammcReportFormat. */
typedef enum ViewFormat {
#define VIEW(NAME, number, name, from, write, traits, ending) VIEW_##NAME = number,
#include "view/formats.def"
} ViewFormat;

/* What a format is made of. */
typedef enum ViewSource {
    VIEW_OF_ROWS,   /* the rows of the report */
    VIEW_OF_CALLS,  /* a Profile */
    VIEW_OF_TREE,   /* a Profile that is a call tree */
    VIEW_OF_STACKS, /* Stacks */
    VIEW_OF_HEAP,   /* the call tree of the script heap, and the report */
} ViewSource;

/* What else there is to know of a format. */
typedef enum ViewTrait {
    VIEW_HAS_LINES = 1, /* it has fields for files and lines, so that names need not have them */
    VIEW_HAS_PAIRS = 2, /* it has the calls of each pair of caller and callee, which samples lack */
    VIEW_IS_BINARY = 4, /* it is not text */
    VIEW_COMPARES = 8,  /* it can show differences from another report */
    VIEW_SPLITS = 16,   /* it has no threads: those that are kept apart become modules */
} ViewTrait;

/* The format with this name; false if there is none. */
bool view_named(const char *name, ViewFormat *format);
/* The format that is not text and whose ending this path has; otherwise unchanged. */
void view_of_output(const char *path, ViewFormat *format);

ViewSource view_source(ViewFormat format);
bool view_is(ViewFormat format, ViewTrait trait);
bool view_needs_tree(ViewFormat format);

/* ---- for views ---- */

/* "12.3 ms", "1,234 calls" or "80 bytes": a weight for people. */
void view_weight(const Profile *p, uint64_t weight, Buf *out);
/* Text in XML: markup is escaped, what XML cannot have becomes '?'. */
void view_xml(Str s, Buf *out);
/* A hash of a name, the same in every run. */
uint32_t view_hash(Str s);

#endif
