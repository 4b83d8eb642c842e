/*
 * rewrite/rewrite.h - compiles a plan into a program.
 */
#ifndef WHAMMC_REWRITE_REWRITE_H
#define WHAMMC_REWRITE_REWRITE_H

#include "link/options.h"
#include "plan/plan.h"

/* Instruments `bytes` with the plan (made by plan_make, not used before). `file` is the module's
 * name in diags. The output is validated before it is returned. False if there were errors; then
 * out is empty. The actions' site counts are filled in either way, as far as matching got. */
bool rewrite_module(Plan *plan, const uint8_t *bytes, size_t size, DiagFileId file,
                    const RewriteOptions *options, Buf *out, Diags *diags);

/* Finds the sites only: calls `at` as Matcher does. False if the module is malformed. */
bool rewrite_list(Plan *plan, const uint8_t *bytes, size_t size, DiagFileId file,
                  void (*at)(void *ctx, const Site *site, const SiteTypes *types,
                             const Match *matches, uint32_t n),
                  void *ctx, Diags *diags);

#endif
