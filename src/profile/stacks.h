/*
 * profile/stacks.h - a report as weighted stacks of locations, the form that other profilers' tools
 * use.
 *
 * Stacks are paths in a forest: a node is a location below its callers, and has values if something
 * was counted there. So common prefixes of stacks are stored once, also in formats with trees.
 */
#ifndef WHAMMC_PROFILE_STACKS_H
#define WHAMMC_PROFILE_STACKS_H

#include "profile/profile.h"

enum { STACKS_NONE = UINT32_MAX };
/* Frames of a stack; deeper frames count as a part of the last one. */
enum { STACKS_DEPTH = 1000 };

/* Values that there can be: more columns than anybody looks at. */
enum { STACKS_VALUES = 1000 };

/* Units of numbers. */
typedef struct StacksValue {
    Str name, unit; /* "calls", "count"; "time", "nanoseconds"; "alloc_space", "bytes" */
    bool inclusive; /* with callees: for formats that do not add up stacks */
} StacksValue;

/* A module with functions. */
typedef struct StacksModule {
    Str program;   /* its name; empty = unknown */
    Str build;     /* its section build_id; empty = none */
    uint32_t size; /* of its file; 0 = unknown */
} StacksModule;

typedef struct StacksFunc {
    uint32_t module;
    uint32_t fid;  /* PROFILE_NOBODY: it was inlined everywhere, or is none of the program's */
    bool inlined;  /* it is a part of others */
    bool away;     /* it is of another module, whose own function has the same name */
    Str name;      /* for people; never empty */
    Str symbol;    /* as the linker knows it; never empty */
    Str file;      /* empty = unknown */
    uint32_t line; /* where it begins; 0 = unknown */
} StacksFunc;

/* Where one of the functions at a place is; the file is the function's. */
typedef struct StacksLine {
    uint32_t func;         /* index into funcs */
    uint32_t line, column; /* 0 = unknown */
} StacksLine;

typedef struct StacksPlace {
    uint32_t module;
    bool in_program;       /* address is set */
    uint32_t address;      /* offset in the program's file */
    uint32_t first, count; /* lines: the innermost inlined function first; at least one */
} StacksPlace;

typedef struct StacksNumber {
    uint32_t value; /* index into values */
    int64_t n;
} StacksNumber;

typedef struct StacksLabel {
    Str key, text;
} StacksLabel;

/* Parents stand before their children; counters at sites, which have none, come last. */
typedef struct StacksNode {
    uint32_t parent; /* STACKS_NONE: the outermost */
    uint32_t place;
    uint32_t thread;               /* index into threads, if there are any */
    uint32_t depth;                /* 0 = no parent */
    uint32_t first, count;         /* numbers; with one of each value at most */
    uint32_t first_label, nlabels; /* labels */
} StacksNode;

/* A zeroed Stacks is empty. Release with stacks_free. */
typedef struct Stacks {
    Vec(StacksValue) values; /* those of trees and calls first */
    uint32_t shown;          /* the value that is of interest first */
    Vec(StacksFunc) funcs;
    Vec(StacksLine) lines;
    Vec(StacksPlace) places;
    Vec(StacksNode) nodes;
    Vec(StacksNumber) numbers;
    Vec(StacksLabel) labels;
    Vec(Str) comments;
    Vec(StacksModule) modules;      /* that were read */
    Vec(Str) threads;               /* their numbers; none = all of them are together */
    Str program;                    /* the name of all together; empty = unknown */
    bool located;                   /* there was something that knows source locations */
    bool inlined;                   /* inlined functions are shown, where a format can choose */
    int64_t time, duration, period; /* nanoseconds since 1970, nanoseconds; 0 = unknown */
    Arena arena;
} Stacks;

/* The reports of a module, or of a thread of it. */
typedef struct StacksPart {
    const Report *report;
    const Str *thread; /* its number; NULL: threads are not kept apart */
} StacksPart;

/* Where stacks come from. All is borrowed. */
typedef struct StacksSource {
    const StacksPart *parts; /* of one module; at least one */
    uint32_t nparts;
    const Places *places;      /* of the program, which need not be there */
    const Str *module;         /* its title, after names of functions; NULL = there is only one */
    const ProfileHomes *homes; /* as for profile_name */
    Locator *locator;          /* NULL: source locations are not known */
    bool demangled;
    ProfileVariables variables;
    const StacksLabel *labels; /* of all stacks */
    uint32_t nlabels;
} StacksSource;

/* Why there are no stacks. */
typedef struct StacksProblem {
    const char *text;     /* the mistake in the data; or NULL */
    const char *variable; /* that does not fit; or NULL */
} StacksProblem;

/*
 * Reads the reports of a module besides those that were read before: the requested variables, or
 * else the first call tree, or else all calls, and all counters at sites. Returns false if there
 * are none, or they are inconsistent.
 */
bool stacks_read(Stacks *s, const StacksSource *from, StacksProblem *why);

/* Whether the file of a module is known, so that there are addresses. */
bool stacks_have_addresses(const Stacks *s);

/* Asserts that all indices exist, and that parents come before their children. In builds with
 * assertions only. */
bool stacks_check(const Stacks *s);

/* Frees the stacks with all their texts. */
void stacks_free(Stacks *s);

#endif
