/*
 * profile/profile_homes.h - functions of other modules in the profile of one: where a program's
 * modules call each other, the tree of each has the functions of others that its own were called
 * from (PROFILE_ELSEWHERE).
 */
#ifndef WHAMMC_PROFILE_PROFILE_HOMES_H
#define WHAMMC_PROFILE_PROFILE_HOMES_H

#include "profile/profile.h"

/* Names them, as profile_name says. */
void homes_name(Profile *p, const ProfileHomes *homes, bool demangled);

/* The number by which other modules know the one with this hash (fit_hash), as the compiler makes
 * it of the program (module_id); 0 = the hash is none. */
uint32_t homes_module_id(Str hash);

#endif
