/*
 * runtime/freestanding/assert.h - code that the compiler and the runtime of monitors share has no
 * assertions in the runtime.
 */
#ifndef WHAMMC_RUNTIME_ASSERT_H
#define WHAMMC_RUNTIME_ASSERT_H

#define NDEBUG
#define assert(condition) ((void)0)

#endif
