/*
 * base/escape.h - arbitrary bytes as text in reports and messages.
 */
#ifndef WHAMMC_BASE_ESCAPE_H
#define WHAMMC_BASE_ESCAPE_H

#include "base/buf.h"

/* Text for a terminal or a text format: invalid UTF-8 and control characters, including
 * bidirectional ones, become '?'. Returns the number of characters. */
uint32_t escape_shown(Buf *out, Str s);

/* The contents of a JSON string (without the quotes); bytes that are not UTF-8 become U+FFFD. */
void escape_json(Buf *out, Str s);

/* A JSON string, in its quotes. */
void escape_json_string(Buf *out, Str s);

/* Text in XML: markup is escaped, characters that XML excludes become '?'. */
void escape_xml(Buf *out, Str s);

/* A field of plain CSV, which has no quoting: control characters become blanks, so that a row stays
 * on one line. */
void escape_csv(Buf *out, Str s);

/* A text as a field of CSV as in RFC 4180: in quotes if it has a comma, a quote, or the end of a
 * line; after an apostrophe if it is guarded. */
void escape_quoted(Buf *out, Str s);

/* The same for a name, in which control characters become blanks as in plain CSV: they could have
 * been chosen to deceive who reads them. */
void escape_quoted_name(Buf *out, Str s);

/* Whether the apostrophe is there so that a spreadsheet does not take the text for a formula.
 * `next`: the character that follows it in its field, or 0. */
bool escape_is_guarded(Str s, char next);

/* The text between such quotes. */
void escape_in_quotes(Buf *out, Str s);

/*
 * The length of the well-formed UTF-8 sequence at p (1 to 4 bytes, `n` there), or 0. No surrogates,
 * no overlong forms. *code is its code point.
 */
uint32_t escape_utf8(const char *p, size_t n, uint32_t *code);

#endif
