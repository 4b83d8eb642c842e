/*
 * report/value.h - tuples and maps in reports, from the form of CSV to JSON and back.
 *
 * Types are as reports name them: "(u32,str)", "map<str,u64>".
 */
#ifndef WHAMMC_REPORT_VALUE_H
#define WHAMMC_REPORT_VALUE_H

#include "report/aggregate.h"
#include "report/report_read.h"

/* Whether values of the type have parts. */
bool value_is_tuple(Str type);
bool value_is_map(Str type);
/* The K and V of "map<K,V>"; false if it is another type. */
bool value_map_types(Str type, Str *key, Str *value);
/* The part between the parentheses of a tuple's type. */
Str value_tuple_types(Str type);

/*
 * Appends a tuple or map, written as in CSV, as JSON. Strings in it are not quoted in CSV: each
 * ends at the first occurrence of the text that must follow. False if the text is not of the type;
 * then some of it may have been appended.
 */
bool value_to_json(Str type, Str text, Buf *out);

/*
 * Appends a tuple or map in JSON in the form of CSV; `plain`: control characters in strings of
 * tuples and maps become blanks. False as above.
 */
bool value_to_csv(Str type, Str json, bool plain, Buf *out);

/* Appends a number in JSON's syntax: no '+' in front, and in quotes if it is no JSON number. */
void value_number_to_json(Str text, Buf *out);

/* Makes all tuples and maps of a report JSON, as JSON reports have them, whatever the report was
 * read from. Values that are not of their type stay, and are marked. */
void value_unify(Report *r);

#endif
