/*
 * check/check.h - the checker: resolves the names of a parsed script, and finds its types.
 */
#ifndef WHAMMC_CHECK_CHECK_H
#define WHAMMC_CHECK_CHECK_H

#include "lang/lang.h"

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

/* How the names of variables begin that report which probes took too many steps (check_steps.c);
 * then comes the rule, and where it is: "(stopped) wasm:func:entry 12:1". Of statements at script
 * scope, "(stopped) script scope". No script can declare such a name. */
#define STOPPED "(stopped) "

#endif
