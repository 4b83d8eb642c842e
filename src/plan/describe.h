/*
 * plan/describe.h - descriptions of types, by which the runtime prints and compares values. The
 * format is in stdlib/runtime/values.h.
 */
#ifndef WHAMMC_PLAN_DESCRIBE_H
#define WHAMMC_PLAN_DESCRIBE_H

#include "base/buf.h"
#include "lang/ast.h"

/* Appends the description of a type. */
void describe_type(const Type *t, Buf *out);

/* Appends the description of a map's type for the functions on maps. */
void describe_map(const Type *map, Buf *out);

#endif
