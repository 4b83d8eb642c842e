/*
 * check/meaning.h - what the names of a script mean, noted while they are resolved: for editors.
 */
#ifndef WHAMMC_CHECK_MEANING_H
#define WHAMMC_CHECK_MEANING_H

#include "lang/ast.h"

typedef enum MeaningKind {
    MEANING_VAR,        /* a variable, a constant or a parameter of the script */
    MEANING_FN,         /* a function of the script */
    MEANING_BOUND,      /* a bound name: `number` is the scope's number of it (Bound.id) */
    MEANING_FUNCTION,   /* a built-in function */
    MEANING_METHOD,     /* of a value whose type is `text` */
    MEANING_LIBRARY,    /* a library in use */
    MEANING_LIBRARY_FN, /* a function of it: `text` is its signature */
} MeaningKind;

typedef struct Meaning {
    Span span; /* of the name */
    MeaningKind kind;
    bool declares;    /* it is the name in a declaration */
    Span declaration; /* VAR, FN, LIBRARY: of the name there, which identifies it; else no file */
    const Var *var;
    const Fn *fn;
    int number;
    bool is_static, assignable; /* BOUND */
    const char *text;           /* BOUND: its types, as "i32 or i64"; NULL = none is known */
} Meaning;

/* The meanings of all names of all files of a script. Zeroed it is empty. */
typedef struct Meanings {
    Arena arena;
    Vec(Meaning) list; /* in the order in which the checker met them; one for each place */
    Map places;        /* by file and offset: the index */
} Meanings;

/* Notes what the name at m.span means. A place that is checked several times, once for each group
 * of a probe's events, has one meaning, of which `text` lists all. Nothing if `to` is NULL. */
void meaning_note(Meanings *to, Meaning m);

/* The meaning of the name at this place, its end included, or NULL. */
const Meaning *meaning_at(const Meanings *m, DiagFileId file, uint32_t offset);
/* Whether they are names of the same thing of the script. */
bool meaning_is_same(const Meaning *a, const Meaning *b);

void meanings_free(Meanings *m);

#endif
