/*
 * report/maps.h - tuples and maps that were read from JSON lines, for people.
 */
#ifndef WHAMMC_REPORT_MAPS_H
#define WHAMMC_REPORT_MAPS_H

#include "report/report_read.h"

typedef Vec(size_t) MapsEnds;

/*
 * Appends a tuple or map in JSON in the form of CSV: "(1; a)", "1->2;3->4". False if it is neither;
 * then some of it may have been appended. `ends` (NULL, or empty) gets where in *out each entry of
 * the map ends. The entries with the largest values come first.
 */
bool maps_show(Str json, Buf *out, MapsEnds *ends);

/* Whether the row's value is a map in JSON that is not empty. */
bool maps_is_table(const ReportRow *row);

/*
 * Reads such a map: a row for each entry, whose fname is the key and whose value and type are those
 * of the map's values. `entries` must be empty; release it with report_free. The rows point into
 * the text of the row. False if it is damaged.
 */
bool maps_read(const ReportRow *row, Report *entries);

#endif
