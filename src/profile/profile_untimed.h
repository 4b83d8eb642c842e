/*
 * profile/profile_untimed.h - functions whose calls were counted, but not timed.
 */
#ifndef WHAMMC_PROFILE_PROFILE_UNTIMED_H
#define WHAMMC_PROFILE_PROFILE_UNTIMED_H

#include "profile/profile.h"

/* The report's list of functions that were not timed; empty if it has none. */
Str untimed_list(const Report *r);

/* Marks the functions that the report's variable `not_timed`, a str with a list of numbers ("3,
 * 17-20"), says were not timed. */
void untimed_mark(Profile *p, const Report *r);

#endif
