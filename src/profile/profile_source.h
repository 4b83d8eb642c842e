/*
 * profile/profile_source.h - adds debug information to a profile: source locations of functions,
 * and functions that were inlined.
 */
#ifndef WHAMMC_PROFILE_PROFILE_SOURCE_H
#define WHAMMC_PROFILE_PROFILE_SOURCE_H

#include "profile/profile.h"

/*
 * Puts inlined functions between callers and callees: those that contain all calls of the callee in
 * the caller's code. Their own time stays with the function that contains them, and their calls are
 * the calls through them. A call that is not in the caller's code, or that may be one of several
 * without a common function, has none. After profile_name; demangled as there.
 */
void profile_inline(Profile *p, const Report *r, const Places *places, Locator *l, bool demangled);

/* Sets file and line of the functions; `in_names`: appends them to the names, too: "f (a.rs:12)". */
void profile_locate(Profile *p, const Places *places, Locator *l, bool in_names);

#endif
