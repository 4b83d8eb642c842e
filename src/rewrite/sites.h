/*
 * rewrite/sites.h - the two walks over the sites of a program: pass 1 counts them, pass 2 inserts
 * code. The functions are those of Target; `self` is a Rewrite.
 */
#ifndef WHAMMC_REWRITE_SITES_H
#define WHAMMC_REWRITE_SITES_H

#include "rewrite/pass.h"

/* Pass 1: gives a site its storage and its rows of the report. */
void sites_count(void *self, const Site *site, const SiteTypes *types, const Match *matches,
                 uint32_t n);
/* Pass 1: counts a function as a whole. Returns false if it has to be walked. */
bool sites_count_func(void *self, uint32_t func);
/* Pass 1: counts a decoded body as a whole, after its entry or before its exit. */
bool sites_count_body(void *self, const Site *site, const WasmDecoded *body);

/* Pass 2: inserts the code of a site's matches. */
void sites_splice(void *self, const Site *site, const SiteTypes *types, const Match *matches,
                  uint32_t n);

#endif
