/*
 * locations/section.h - finds sections of modules that nobody has read: a module with debug
 * information alone need not be valid. What is malformed is not found.
 */
#ifndef WHAMMC_LOCATIONS_SECTION_H
#define WHAMMC_LOCATIONS_SECTION_H

#include "dwarf/dwarf.h"

/* The contents of the first custom section with this name, or with NULL of the code section; empty
 * if there is none. */
Str section_find(Str module, const char *name);

/* The string that is the contents of a custom section. */
Str section_string(Str module, const char *name);

/* The sections with DWARF. */
DwarfSections section_dwarf(Str module);

#endif
