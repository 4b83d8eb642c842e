/*
 * view/profile_join.h - profiles of several modules as one.
 */
#ifndef WHAMMC_VIEW_PROFILE_JOIN_H
#define WHAMMC_VIEW_PROFILE_JOIN_H

#include "view/profile.h"

/*
 * Adds a profile whose functions have names; they get the title of their module behind them:
 * "f (app.wasm)". Who calls from outside is the same for all modules; a function of another module
 * is that of its own module's profile, by `module_id`, the number by which others know this one.
 * False, and nothing is added, if the values of the trees are not the same.
 */
bool profile_join(Profile *into, const Profile *from, Str module, uint32_t module_id);
/* To be called when all are added. */
void profile_join_end(Profile *into);

#endif
