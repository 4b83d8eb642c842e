/*
 * flush/flush_library.h - user libraries become imports or parts of the program.
 */
#ifndef WHAMMC_FLUSH_FLUSH_LIBRARY_H
#define WHAMMC_FLUSH_FLUSH_LIBRARY_H

#include "flush/flush.h"

/*
 * Links the library functions that the plan's scripts call when the program runs: sets
 * LibraryFn.handle, Library.memory and Flush.library_starts. The module is not laid out. False with
 * messages if it cannot be done.
 */
bool libraries_link(Flush *f);

#endif
