/*
 * profile/profile_join.h - profiles of several modules and threads as one.
 */
#ifndef WHAMMC_PROFILE_PROFILE_JOIN_H
#define WHAMMC_PROFILE_PROFILE_JOIN_H

#include "profile/profile.h"

/* Whose a profile is. */
typedef struct ProfilePart {
    uint32_t module;    /* its number, from 1 */
    uint32_t module_id; /* by which others know it, as in ProfileHome */
    Str only_thread;    /* others in this thread, if each thread has functions of its own */
    const Str *title;   /* behind the names of its functions: "f (app.wasm)"; NULL: not there */
    const Str *thread;  /* its name: its tree is below a node of this name; NULL: it is not */
} ProfilePart;

/*
 * Adds a profile whose functions have names. Profiles of one thread must follow each other. Callers
 * outside are the same for all modules; a function of another module is the one in its own module's
 * profile. `from` gets times, 0, if `into` has some. False, and nothing is added, if the values of
 * the trees are not the same.
 */
bool profile_join(Profile *into, Profile *from, const ProfilePart *part);
/* To be called when all are added. */
void profile_join_end(Profile *into);

#endif
