/*
 * profile/stacks_builder.h - builds the parts of Stacks, each only once.
 */
#ifndef WHAMMC_PROFILE_STACKS_BUILDER_H
#define WHAMMC_PROFILE_STACKS_BUILDER_H

#include "analysis/call_sites.h"
#include "profile/stacks.h"

/* Release with builder_free; the Stacks stay. */
typedef struct Builder {
    Stacks *s;
    const StacksSource *from;
    uint32_t module;  /* index into Stacks.modules */
    uint32_t thread;  /* of the nodes that follow: index into Stacks.threads */
    const Profile *p; /* whose functions they are */
    CallSites sites;
    Map texts;   /* -> in the arena */
    Map funcs;   /* by identity -> index */
    Map begun;   /* functions of the profile -> index */
    Map places;  /* address and lines -> index */
    Map at;      /* function, pc -> place */
    Map between; /* caller, callee -> place */
    Map nodes;   /* parent, place, thread, labels -> index */
    Map values;  /* by name and unit -> index */
    Buf key;
} Builder;

/* Begins to fill stacks, whose last module has been added, from its source. */
void builder_open(Builder *b, Stacks *s, const StacksSource *from);

/* From now on nodes are of this thread; NULL: of all of them. */
void builder_thread(Builder *b, const Str *thread);

/* From now on functions are those of this profile, which has names for them. */
void builder_use(Builder *b, const Profile *p);

/* A copy of the text that lives as long as the stacks; equal texts are the same. */
Str builder_keep(Builder *b, Str s);

/* The place of a function, an index into Profile.funcs, at an offset in its body, or PROFILE_NONE:
 * its beginning, for the whole of it. */
uint32_t builder_place(Builder *b, uint32_t func, uint32_t pc);

/* The place in the caller of the calls of the callee: the only one, or the common part of all. */
uint32_t builder_call_place(Builder *b, uint32_t caller, uint32_t callee);

/* The place of a row, which may have a location of its own. */
uint32_t builder_row_place(Builder *b, uint32_t func, const ReportRow *row);

/* The node for a place below a parent, or STACKS_NONE, with these labels. */
uint32_t builder_node(Builder *b, uint32_t parent, uint32_t place, const StacksLabel *labels,
                      uint32_t nlabels);

/* The value with this name, which is added if it was not there. */
uint32_t builder_value(Builder *b, Str name, Str unit);

/* Frees the maps; the stacks stay. */
void builder_free(Builder *b);

#endif
