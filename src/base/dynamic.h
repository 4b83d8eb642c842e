/*
 * base/dynamic.h - lazy loading of shared libraries that many commands do not need.
 */
#ifndef WHAMMC_BASE_DYNAMIC_H
#define WHAMMC_BASE_DYNAMIC_H

#include "base/buf.h"

/* Loads a library, which stays loaded. NULL: a message is appended to `why`. */
void *dynamic_load(const char *file, Buf *why);
/* Sets a pointer to the function; false if there is none, or no library. */
bool dynamic_find(void *library, const char *function, void *pointer);
/* Appends to `why` that a library that was loaded does not have all functions. */
void dynamic_explain(const char *file, void *library, Buf *why);

#endif
