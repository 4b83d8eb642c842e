/*
 * report/parts.h - the parts of a text with reports: one for each instance of each module.
 *
 * An instance can report more than once (flushes). Each report has all counts until then, so the
 * last one counts, or, if that is cut off, the one before. A line before a report names its
 * instance. Without such a line, reports with the same rows are flushes of one instance; one with
 * other rows is of another program, or of other scripts.
 */
#ifndef WHAMMC_REPORT_PARTS_H
#define WHAMMC_REPORT_PARTS_H

#include "report/report_read.h"

enum { FORMS_ROOT = 0, FORMS_NONE = UINT32_MAX };

/* Tells reports apart by their rows: a tree in which equal beginnings share nodes. A zeroed one is
 * valid and has the root. Release with forms_free. */
typedef struct Forms {
    Map steps; /* node and row -> node; nodes have the numbers 1, 2 … */
} Forms;

/* The node after a row; FORMS_NONE = no report with it was added. */
uint32_t forms_find(const Forms *f, uint32_t node, const ReportRow *row);
/* The same, added if it was not there. */
uint32_t forms_add(Forms *f, uint32_t node, const ReportRow *row);
void forms_free(Forms *f);

typedef struct ReportPart {
    RunOrigin origin;
    Report report;    /* of the flush that counts */
    uint32_t flushes; /* how many there are */
    bool lost;        /* a later flush is cut off */
} ReportPart;

/* Of a node of the forms: numbers of parts, from 1; 0 = none. */
typedef struct PartMark {
    uint32_t through; /* the last one whose rows begin so */
    uint32_t cut;     /* the last one that is cut off here */
} PartMark;

/* A zeroed one is valid and empty. Release with parts_free. */
typedef struct ReportParts {
    Vec(ReportPart) all;
    Arena arena; /* texts that had to be decoded */
    Map vars;    /* columns -> ReportVar: equal variables are the same pointer in all parts */
    Map index;   /* origin -> part */
    Forms forms; /* of parts without an origin */
    Vec(PartMark) marks;
    uint32_t last_untold; /* the last of these, by its number from 1; 0 = none */
    RunThreads threads;
    Buf rest; /* the lines that belong to no report */
    uint32_t which;
    uint32_t flushes; /* of the instance with the most */
    bool torn;        /* the text ends before a report that was announced */
} ReportParts;

/*
 * Reads a text, which must live as long as the parts. `which`: the number of the flush that counts
 * in each part, from 1; of parts with fewer of them it is the last one. 0 = the last. False if
 * there is no such flush.
 */
bool parts_read(ReportParts *p, Str text, uint32_t which);
void parts_free(ReportParts *p);

#endif
