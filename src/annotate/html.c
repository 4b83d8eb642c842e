/*
 * annotate/html.c - common parts of HTML pages.
 */
#include "annotate/html.h"
#include "base/escape.h"

/* Colours are variables, so that pages have both looks without naming any colour twice. */
static const char sheet[] =
    ":root{color-scheme:light dark;--back:#fff;--text:#1d2127;--faint:#68707c;--line:#d9dee5;"
    "--shade:#f4f6f9;--good:#d7f2dd;--bad:#fbdcdc;--part:#fdf0c8;--heat:224,92,30;--link:#0b5fbd}"
    "@media(prefers-color-scheme:dark){:root{--back:#15181d;--text:#dfe3e9;--faint:#8d96a3;"
    "--line:#333a44;--shade:#1d2229;--good:#173d22;--bad:#4a1d20;--part:#463a12;--heat:240,110,40;"
    "--link:#78b4f5}}"
    "body{margin:1.5em;background:var(--back);color:var(--text);font:14px/1.45 "
    "system-ui,sans-serif}"
    "h1{font-size:1.4em}h2{font-size:1.1em;margin-top:2em}a{color:var(--link)}"
    "table{border-collapse:collapse}th{text-align:left;font-weight:600}"
    "th,td{padding:1px .7em;vertical-align:top}td.n,th.n{text-align:right;white-space:nowrap;"
    "font-variant-numeric:tabular-nums}.faint{color:var(--faint)}"
    ".code,.code td{font-family:ui-monospace,monospace;font-size:12.5px}"
    ".code td.t{white-space:pre;tab-size:4}.code tr:target{outline:2px solid var(--link)}";

void html_begin(Buf *out, Str title, Str style) {
    buf_str(out, STR("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                     "<meta name=\"viewport\" content=\"width=device-width\">\n<title>"));
    html_text(out, title);
    buf_str(out, STR("</title>\n<style>\n"));
    buf_str(out, str_of(sheet));
    buf_str(out, style);
    buf_str(out, STR("\n</style>\n</head>\n<body>\n"));
}

void html_end(Buf *out) {
    buf_str(out, STR("</body>\n</html>\n"));
}

void html_text(Buf *out, Str s) {
    uint32_t start = 0;
    for (uint32_t i = 0; s.len && i <= s.len; i++) {
        if (i < s.len && s.ptr[i] != '\t')
            continue;
        escape_xml(out, (Str){s.ptr + start, i - start});
        if (i < s.len)
            buf_u8(out, '\t');
        start = i + 1;
    }
}

void html_element(Buf *out, const char *element, Str s) {
    buf_printf(out, "<%s>", element);
    html_text(out, s);
    buf_printf(out, "</%.*s>", (int)strcspn(element, " "), element);
}
