/*
 * plan/access_parts.h - shared by access.c, which makes variants, and access_member.c, which finds
 * values by their names in the source.
 */
#ifndef WHAMMC_PLAN_ACCESS_PARTS_H
#define WHAMMC_PLAN_ACCESS_PARTS_H

#include "plan/access.h"

/* Sites at which a name of a probe has no value: the first one. */
typedef struct AccessFault {
    uint32_t source; /* index into Plan.probes */
    const Expr *access;
    uint32_t func, pc;
    uint32_t count; /* of sites */
    const char *why;
} AccessFault;

/* An instruction that assigns a local. */
typedef struct LocalSet {
    uint32_t pc, local;
} LocalSet;

typedef struct Finder {
    Plan *plan;
    const WasmModule *m;
    Locator *locator;
    AccessMake *make;
    Diags *diags;
    Matcher w;
    Map variants; /* by base and values: index into Plan.variants */
    const Site *site;
    const SiteTypes *types;
    const Expr *unknown; /* a name without a value there */
    char problem[200];   /* why it has none */
    Vec(AccessFault) faults;
    bool failed;
    Vec(LocalSet) sets; /* of the function `sets_of` */
    uint32_t sets_of;
} Finder;

/* Says why a value is not known. Returns false. */
bool access_fail(Finder *f, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The language's type of a WebAssembly value; NULL = it has none. */
const Type *access_type(WasmType t);
/* The arguments of the event: operands of an instruction, else parameters of the function. */
const WasmType *access_args(const Finder *f, const Event *e, uint32_t *n);

/* The value of a variable of the source, or of a part of it, by DWARF. */
bool access_member(Finder *f, const Event *e, const Expr *access, Access *out);

#endif
