/*
 * fmt/fmt.h - formats scripts: the same tokens and comments with other blanks between them.
 *
 * The style: four columns for each block, lines of 100 columns, one blank line at most. The author
 * decides which statements share a line, whether a short block stands on one line, and where blank
 * lines are; what does not fit is put on lines of its own. A statement that is too long is broken at
 * its outermost operators or commas, and the head of a probe first before its predicate.
 */
#ifndef WHAMMC_FMT_FMT_H
#define WHAMMC_FMT_FMT_H

#include "base/diag.h"

/* Appends the formatted script to `out`. False, with messages and `out` as it was: there is a
 * syntax error, or the result would not have the same tokens (DIAG_INTERNAL). */
bool fmt_script(const char *text, size_t len, DiagFileId file, Diags *diags, Buf *out);

#endif
