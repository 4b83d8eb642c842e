/*
 * base/demangle.h - names of functions as their language writes them.
 */
#ifndef WHAMMC_BASE_DEMANGLE_H
#define WHAMMC_BASE_DEMANGLE_H

#include "base/buf.h"

/* Whether this build can do it (it has libiberty). */
bool demangle_is_there(void);

/*
 * Appends the name that C++ (Itanium ABI) or Rust (both schemes) have made this symbol from. False,
 * and nothing appended, if it is no such symbol or the name would be very long.
 */
bool demangle(Str symbol, Buf *out);

#endif
