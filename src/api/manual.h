/*
 * api/manual.h - the manual, as far as it is embedded (scripts/embed-manual): its headings,
 * paragraphs and tables.
 */
#ifndef WHAMMC_API_MANUAL_H
#define WHAMMC_API_MANUAL_H

#include "base/buf.h"

typedef enum ManualKind {
    MANUAL_PAGE,
    MANUAL_HEADING,
    MANUAL_TEXT, /* a paragraph */
    MANUAL_ITEM, /* of a list */
    MANUAL_HEAD, /* of a table: two lines */
    MANUAL_ROW,
    MANUAL_CODE,
} ManualKind;

typedef struct ManualBlock {
    ManualKind kind;
    uint32_t level;   /* MANUAL_HEADING: 1 .. 3 */
    Str text;         /* in Markdown; of a page its file, of a heading its title */
    uint32_t page;    /* the block of its page */
    uint32_t section; /* the block of its heading; that itself for one */
    uint32_t head;    /* MANUAL_ROW: the block of its table's head */
} ManualBlock;

typedef struct Manual {
    Buf text;
    Vec(ManualBlock) blocks; /* the first one is no block: 0 is none */
} Manual;

/* Unpacks the manual. Release with manual_free. */
void manual_load(Manual *m);
void manual_free(Manual *m);

/* Returns the heading with this title, case ignored, on a page such as "docs/language.md"; 0 if
 * there is none. */
uint32_t manual_heading(const Manual *m, const char *page, Str title);

/* Appends what a section has before its first subsection. */
void manual_put_section(const Manual *m, uint32_t heading, Buf *out);

/* Whether a word of code is meant. */
typedef bool ManualMeant(const void *ctx, Str word);

/* Returns whether a word of code in the text, or in the first cell of a row only, is meant. */
bool manual_mentions(const ManualBlock *b, bool first_cell, ManualMeant *meant, const void *ctx);

/* Returns the last cell of a row. */
Str manual_last_cell(const ManualBlock *row);

/* Appends some blocks of the manual, one after the other: with the heading of their section and the
 * head of their table, unless these are those of the block before. */
typedef struct ManualPick {
    const Manual *m;
    Buf *out;
    uint32_t section, head;
} ManualPick;
void manual_pick(ManualPick *p, uint32_t block);

#endif
