/*
 * wasm/wat.c - modules in the text format, which wabt's wat2wasm assembles.
 */
#include "wasm/wat.h"

#include <stdio.h>

/* Whether the content begins as text modules do, after blanks: "(", ";;". */
static bool begins_as_text(const Buf *b) {
    size_t i = 0;
    while (i < b->len && strchr(" \t\r\n", b->data[i]) && b->data[i])
        i++;
    return i < b->len &&
           (b->data[i] == '(' || (b->data[i] == ';' && i + 1 < b->len && b->data[i + 1] == ';'));
}

bool wat_is_module(const char *path, const Buf *content) {
    size_t n = strlen(path);
    bool binary = content->len >= 4 && memcmp(content->data, "\0asm", 4) == 0;
    return !binary && ((n > 4 && strcmp(path + n - 4, ".wat") == 0) || begins_as_text(content));
}

/* The offset of a line and column, both from 1. */
static uint32_t wat_offset_of(const Buf *text, uint32_t line, uint32_t column) {
    size_t at = 0;
    while (line > 1 && at < text->len)
        line -= text->data[at++] == '\n';
    for (; column > 1 && at < text->len && text->data[at] != '\n'; column--)
        at++;
    return (uint32_t)at;
}

/* Messages are "-:LINE:COLUMN: error: WHAT", then the source line and "   ^^^" below. */
static bool add_message(Diags *d, DiagFileId file, const Buf *text, const char *line) {
    unsigned row, column;
    int used = 0;
    if (sscanf(line, "-:%u:%u: error: %n", &row, &column, &used) != 2 || !used)
        return false;
    const char *what = line + used;
    uint32_t at = wat_offset_of(text, row, column), width = 0;
    const char *carets = strchr(what, '\n');
    if (carets && (carets = strchr(carets + 1, '\n')))
        width = (uint32_t)strspn(carets + 1 + strspn(carets + 1, " "), "^");
    if (width > text->len - at)
        width = (uint32_t)(text->len - at);
    diag(d, DIAG_TEXT_FORMAT, (Span){file, at, at + width}, "%.*s", (int)strcspn(what, "\n"), what);
    return true;
}

bool wat_messages(Diags *d, DiagFileId file, const Buf *text, const char *said) {
    bool any = false;
    for (const char *line = said;; line++) {
        any |= add_message(d, file, text, line);
        line = strchr(line, '\n');
        if (!line)
            return any;
    }
}
