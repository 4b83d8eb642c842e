/*
 * format/format.h - the formats in which profiles are shown, or given to other tools; one file
 * each.
 *
 * All of them append to a Buf. Names may have any bytes; each format replaces bytes that it
 * excludes. Weights are nanoseconds, or calls if the profile has no times.
 */
#ifndef WHAMMC_FORMAT_FORMAT_H
#define WHAMMC_FORMAT_FORMAT_H

#include "profile/profile.h"
#include "profile/stacks.h"

/* The data to show, and options; all but p may be zero. */
typedef struct ProfileView {
    const Profile *p;
    const Profile *base; /* of an earlier run, for differences; NULL = none */
    uint32_t top;        /* functions that are shown; 0 = all */
    Str title;
} ProfileView;

/* ---- made from arcs ---- */

/* A flat profile of the first `top` functions. */
void format_flat(const ProfileView *v, Buf *out);
/* A flat profile and a call graph as gprof prints them, of the first `top` functions. */
void format_gprof(const ProfileView *v, Buf *out);
/* The call graph of the first `top` functions, for Graphviz. */
void format_dot(const ProfileView *v, Buf *out);

/* ---- made from a tree ---- */

enum { FORMAT_DEPTH = 1000 }; /* deeper frames count as a part of the last one that is shown */

/* Folded stacks: "a;b;c 12", a line for each node with a weight. */
void format_folded(const ProfileView *v, Buf *out);
/* A flame graph. With a `base`, colours show how its weights differ from those of stacks with the
 * same names there. */
void format_svg(const ProfileView *v, Buf *out);
/* For speedscope, https://www.speedscope.app. */
void format_speedscope(const ProfileView *v, Buf *out);
/* For Chrome's developer tools and other readers of .cpuprofile. */
void format_cpuprofile(const ProfileView *v, Buf *out);
/* For Perfetto, and all that reads Chrome's trace events: one slice for each node of a call tree,
 * as long as its total. */
void format_perfetto(const ProfileView *v, Buf *out);

/* ---- made from stacks ---- */

/* For pprof: profile.proto, compressed. */
void format_pprof(const Stacks *s, Buf *out);
/* For the profiler of Firefox. */
void format_firefox(const Stacks *s, Buf *out);
/* For KCachegrind and callgrind_annotate. */
void format_callgrind(const Stacks *s, Buf *out);
/* For cg_annotate: costs of lines, without calls. */
void format_cachegrind(const Stacks *s, Buf *out);

/* ---- made from rows ---- */

/* For Prometheus: the numbers of all variables. */
void format_prometheus(const Report *r, Buf *out);

/* Histograms, for charts; all but the report may be zero. */
typedef struct ChartView {
    const Report *report;
    const char *const *variables; /* their names, up to a NULL; none: all */
    uint32_t top;                 /* of each variable; 0 = all */
    Str title;
} ChartView;

/* Bar charts of the histograms; false if there are none with values. */
bool format_charts(const ChartView *v, Buf *out);

/* ---- formats ---- */

/* Those of formats.def, with the values of WhammcReportFormat. */
typedef enum Format {
#define FORMAT(NAME, number, name, from, write, traits, ending) FORMAT_##NAME = number,
#include "format/formats.def"
} Format;

/* The input of a format. */
typedef enum FormatSource {
    FORMAT_OF_ROWS,   /* the rows of the report */
    FORMAT_OF_CALLS,  /* a Profile */
    FORMAT_OF_TREE,   /* a Profile that is a call tree */
    FORMAT_OF_STACKS, /* Stacks */
    FORMAT_OF_HEAP,   /* the call tree of the script heap, and the report */
} FormatSource;

/* Properties of a format. */
typedef enum FormatTrait {
    FORMAT_HAS_LINES = 1, /* it has fields for files and lines, so that names need not have them */
    FORMAT_HAS_PAIRS =
        2, /* it has the calls of each pair of caller and callee, which samples lack */
    FORMAT_IS_BINARY = 4, /* it is not text */
    FORMAT_COMPARES = 8,  /* it can show differences from another report */
    FORMAT_SPLITS = 16,   /* it has no threads: threads that are kept apart become modules */
} FormatTrait;

/* The format with this name; false if there is none. */
bool format_named(const char *name, Format *format);
/* The format whose ending this path has, of several the first one; false if there is none. */
bool format_of_file(const char *path, Format *format);

FormatSource format_source(Format format);
bool format_is(Format format, FormatTrait trait);
bool format_needs_tree(Format format);

/* ---- for several of them ---- */

/* "12.3 ms", "1,234 calls" or "80 bytes": a weight for people. */
void format_weight(const Profile *p, uint64_t weight, Buf *out);
/* A hash of a name, the same in every run. */
uint32_t format_hash(Str s);

#endif
