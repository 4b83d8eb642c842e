/*
 * storage/tags.h - where the tags of a program's values are (`shadow value`): those of its locals
 * and operands in locals of their own, those of its globals in globals. The tags of arguments,
 * results and payloads of exceptions pass through globals. rewrite/move_tags.c moves them.
 */
#ifndef WHAMMC_STORAGE_TAGS_H
#define WHAMMC_STORAGE_TAGS_H

#include "gen/template.h"

/* The operand stack at an instruction of the function: `height` operands, the instruction takes the
 * last nparams of these. */
typedef struct TagSite {
    uint32_t offset, height, nparams, nresults;
} TagSite;

typedef struct TagPlaces {
    uint32_t result;     /* handle of the global with the tag of the first result; others follow */
    uint32_t nresults;   /* of the function to which code is added */
    uint32_t local;      /* its local with the tag of its first local; others follow */
    uint32_t nlocals;    /* ... that it has */
    Vec(uint32_t) slots; /* ... those of operands, by their depth */
    Vec(TagSite) sites;  /* its reachable instructions, by offset */
} TagPlaces;

/* Reads or sets the tag of a value at a site. One that does not exist there is zero. */
void tags_put(const TagPlaces *t, const WasmModule *m, const Hole *h, const Variant *v,
              const Site *site, Buf *out);
void tags_free(TagPlaces *t);

#endif
