/*
 * base/json.h - scans JSON, piece by piece.
 */
#ifndef WHAMMC_BASE_JSON_H
#define WHAMMC_BASE_JSON_H

#include "base/buf.h"

typedef struct Json {
    Arena *arena; /* owns strings that had to be decoded */
    const char *at, *end;
} Json;

/* Passes over blanks. */
void json_blanks(Json *j);

/* Passes over blanks and this character; false if something else is there. */
bool json_char(Json *j, char c);

/* A string, after its opening quote. Without escapes the result is a slice of the text. */
bool json_string(Json *j, Str *s);

/* A value: a string decoded, of all others the text. null has no ptr. */
bool json_value(Json *j, Str *s);

/* A whole number; a negative one in two's complement. False if it is another value, or too large.
 */
bool json_integer(Json *j, uint64_t *v);

/* The beginning of a member of an object, up to its colon; false if it has another name. */
bool json_member(Json *j, const char *name);

/* A whole text that is an object: the values, as of json_value, of its members with these names;
 * those that it lacks stay as they are. False if it is no object. */
bool json_object(Json *j, const char *const *names, uint32_t n, Str *values);

#endif
