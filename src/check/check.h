/*
 * check/check.h - the checker: resolves the names of a parsed script, and finds its types.
 */
#ifndef WHAMMC_CHECK_CHECK_H
#define WHAMMC_CHECK_CHECK_H

#include "lang/lang.h"

/* A step from a value of the program to the next one: what is at an address in memory 0. */
typedef struct AccessStep {
    uint32_t offset;  /* added to the value, an address */
    const char *read; /* the function that reads what is there; NULL = the sum is the value */
} AccessStep;

/* A value of the program that a script names by where it comes from (`args[0]`), as an expression
 * of bound names and steps. */
typedef struct Access {
    bool constant;    /* it begins with a number, start.value; else with the name */
    Bound start;      /* with its type */
    const char *name; /* of the start: "local0" */
    uint32_t nsteps;
    const AccessStep *steps;
    const Type *type; /* of the value */
    bool of_text;     /* the value is the address of characters */
    const char *what; /* without a value as a whole: what it is; NULL = it has one */
} Access;

/*
 * The names that a probe's surroundings define; implemented by event/. The checker calls it for
 * each name that is not a variable, and for each called function that is not a fn of the script.
 */
typedef struct Scope {
    void *ctx;
    /* A bound name or constant; false = unknown. */
    bool (*name)(void *ctx, Str name, Bound *out);
    /* A bound or built-in function `name`: its id, parameter types and result (NULL = none); false
     * = unknown. A parameter of type &type_unit is the name of a library in use. */
    bool (*function)(void *ctx, Str name, Bound *out, const Type *const **params, uint32_t *nparams,
                     const Type **result);
    /* The value that an expression of members means here (check_access.c). False: there are none of
     * that kind; *out is NULL where the place in the program is not known. */
    bool (*access)(void *ctx, const Expr *e, const Access **out);
    /* Calls add() for every name that could be meant, for "did you mean". */
    void (*suggest)(void *ctx, bool functions, void (*add)(void *add_ctx, Str name), void *add_ctx);
    /* A library function; false = the library or the function is unknown (reported by the scope
     * itself). May be NULL. */
    bool (*library)(void *ctx, const Expr *call, Bound *out, const Type *const **params,
                    uint32_t *nparams, const Type **result);
    bool can_return_value;    /* `return e;` is allowed: an alt probe */
    const Type *return_type;  /* its type, NULL = numbers, as many as there are */
    const char *describe;     /* "wasm:opcode:call:before" for messages */
    const char *describe_all; /* all places that a name must exist at; NULL = `describe` */
    bool unknown;             /* the defined names are unknown, so unknown names are no errors */
    /* Whether a library in use exports a function of this name; which one. May be NULL. */
    bool (*exported)(void *ctx, Str name, Str *library);
} Scope;

/* Resolves and types script-scope statements and functions (in any order of definition). `scope`
 * has the names of script scope. False if there were errors. */
bool check_script(Script *s, const Scope *scope, Diags *diags);

/* Resolves and types one probe (a clone) in place: fills vars, types, is_static. */
bool check_probe(Script *s, Probe *p, const Scope *scope, Diags *diags);

/* Whether an expression, as parsed, names a value of the program by members, or one that `args`
 * has; the name with which it begins. */
bool access_root(const Expr *e, Str *root);
/* The expression as text, the same for the same value: "args.p->next". */
void access_text(const Expr *e, Buf *out);

/* How the names of variables begin that report which probes took too many steps (check_steps.c);
 * then comes the rule, and where it is: "(stopped) wasm:func:entry 12:1". Of statements at script
 * scope, "(stopped) script scope". No script can declare such a name. */
#define STOPPED "(stopped) "

#endif
