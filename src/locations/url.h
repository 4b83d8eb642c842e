/*
 * locations/url.h - paths and URLs of sources: data URLs, relative references, changed prefixes.
 */
#ifndef WHAMMC_LOCATIONS_URL_H
#define WHAMMC_LOCATIONS_URL_H

#include "base/buf.h"

/* Whether it is a data URL; if so, appends its contents, up to the first malformed character. */
bool url_is_data(Str url);
void url_decode_data(Str url, Buf *out);

/* Appends a text with escapes such as "%20" as the bytes that they stand for. */
void url_decode_percent(Str text, Buf *out);

/* Whether it begins with a scheme, such as "http:", or is an absolute path. */
bool url_is_absolute(Str url);

/* Resolves `reference` against `base`, a path or a URL, and removes "." and ".."; `out` must be
 * empty. */
void url_resolve(Str base, Str reference, Buf *out);

/* Whether `prefix` is the path or a folder that contains it; *rest is the remainder. */
bool url_begins_with(Str path, Str prefix, Str *rest);

#endif
