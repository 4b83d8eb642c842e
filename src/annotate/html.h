/*
 * annotate/html.h - self-contained HTML pages: one file, without scripts, fonts or pictures from
 * elsewhere. Text of programs goes through html_text only, so that it cannot become markup.
 */
#ifndef WHAMMC_ANNOTATE_HTML_H
#define WHAMMC_ANNOTATE_HTML_H

#include "base/buf.h"

/* The page's beginning up to <body>, in light and dark; `style` is further CSS of this page. */
void html_begin(Buf *out, Str title, Str style);
void html_end(Buf *out);

/* Text, also in attributes in double quotes: markup is escaped, and control characters are shown as
 * '?', but for tabs. */
void html_text(Buf *out, Str s);

/* An element with this text; `element` is its name, and may have attributes: "td class=n". */
void html_element(Buf *out, const char *element, Str s);

#endif
