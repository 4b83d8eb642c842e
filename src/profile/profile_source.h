/*
 * profile/profile_source.h - what debug information adds to a profile: where functions are in the
 * source, and functions that were inlined.
 */
#ifndef WHAMMC_PROFILE_PROFILE_SOURCE_H
#define WHAMMC_PROFILE_PROFILE_SOURCE_H

#include "profile/profile.h"

/*
 * Puts inlined functions between callers and callees: those that all calls of the callee in the
 * caller's code come from. Their own time stays that of the function that they are a part of, and
 * their calls are those that go through them. A call that is not in the caller's code, or that may
 * be one of several without a common function, has none. After profile_name; demangled as there.
 */
void profile_inline(Profile *p, const Report *r, const Places *places, Locator *l, bool demangled);

/* Sets file and line of the functions; `in_names`: appends them to the names, too: "f (a.c:12)". */
void profile_locate(Profile *p, const Places *places, Locator *l, bool in_names);

#endif
