/*
 * locations/section.h - finds sections of modules that have not been validated: a module with only
 * debug information need not be valid. Malformed sections are not found.
 */
#ifndef WHAMMC_LOCATIONS_SECTION_H
#define WHAMMC_LOCATIONS_SECTION_H

#include "dwarf/dwarf.h"

/* The contents of the first custom section with this name, or with NULL of the code section; empty
 * if there is none. */
Str section_find(Str module, const char *name);

/* Calls `found` for each custom section, in their order. */
typedef void SectionFound(void *ctx, Str name, Str content);
void section_each(Str module, SectionFound *found, void *ctx);

/* The string that is the contents of a custom section. */
Str section_string(Str module, const char *name);

/* The sections with DWARF. */
DwarfSections section_dwarf(Str module);

#endif
