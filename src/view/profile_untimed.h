/*
 * view/profile_untimed.h - functions whose calls were counted, but not timed.
 */
#ifndef WHAMMC_VIEW_PROFILE_UNTIMED_H
#define WHAMMC_VIEW_PROFILE_UNTIMED_H

#include "view/profile.h"

/* Marks the functions that the report's variable `not_timed`, a str with a list of numbers ("3,
 * 17-20"), says were not timed. */
void untimed_mark(Profile *p, const Report *r);

#endif
