/*
 * lsp/context.c - the language server: where in a script a position is, by its text alone, since
 * what is being written cannot be parsed yet.
 */
#include "lsp/server.h"

bool context_is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static bool context_is_pattern(char c) {
    return context_is_word(c) || (c && strchr(".*+?|![]\\", c));
}

static bool at_is(Str text, uint32_t at, const char *what) {
    uint32_t n = (uint32_t)strlen(what);
    return text.len - at >= n && memcmp(text.ptr + at, what, n) == 0;
}

uint32_t context_skip(Str text, uint32_t at) {
    if (at_is(text, at, "//")) {
        while (at < text.len && text.ptr[at] != '\n')
            at++;
    } else if (at_is(text, at, "/*")) {
        uint32_t depth = 0;
        do {
            bool open = at_is(text, at, "/*"), close = at_is(text, at, "*/");
            at += open || close ? 2 : 1;
            depth = depth + open - close;
        } while (at < text.len && depth);
    } else if (text.ptr[at] == '"') {
        for (at++; at < text.len && text.ptr[at] != '"'; at++)
            at += text.ptr[at] == '\\' && at + 1 < text.len;
        at += at < text.len;
    }
    return at;
}

/* Whether the text or comment from `at` to `end` goes on at its end: what is written there belongs
 * to it. */
static bool is_open(Str text, uint32_t at, uint32_t end) {
    if (at_is(text, at, "//"))
        return true;
    if (at_is(text, at, "/*"))
        return end - at < 4 || !at_is(text, end - 2, "*/");
    return end - at < 2 || text.ptr[end - 1] != '"';
}

/* The rule with which an item begins, up to `end`: patterns, colons and bounds; empty if it is no
 * rule. */
static Str rule_at(Str text, uint32_t at, uint32_t end) {
    uint32_t start = at, colons = 0;
    while (at < end &&
           (context_is_pattern(text.ptr[at]) || text.ptr[at] == ':' || text.ptr[at] == '(')) {
        colons += text.ptr[at] == ':';
        if (text.ptr[at] == '(' && !colons && at == start)
            break;
        if (text.ptr[at] == '(')
            while (at < end && text.ptr[at] != ')')
                at++;
        at += at < end;
    }
    return colons ? (Str){text.ptr + start, at - start} : (Str){0};
}

/* What is known while the text is read from its start. */
typedef struct Reading {
    uint32_t depth, item, header; /* open braces; where the last item begins; that of the braces */
    bool begun;                   /* the item has a first character */
} Reading;

static void read_char(Reading *r, char c, uint32_t at) {
    if (!r->begun && !strchr(" \t\r\n", c)) {
        r->item = at;
        r->begun = true;
    }
    if (c == '{' && r->depth++ == 0)
        r->header = r->item;
    if (c == '}' && r->depth && --r->depth == 0)
        r->begun = false;
    if (c == ';' && !r->depth)
        r->begun = false;
}

/* The end of the item whose braces are open at `at`. */
static uint32_t item_end(Str text, uint32_t at, uint32_t depth) {
    while (at < text.len && depth) {
        uint32_t past = context_skip(text, at);
        if (past != at) {
            at = past;
            continue;
        }
        depth = depth + (text.ptr[at] == '{') - (text.ptr[at] == '}');
        at++;
    }
    return at;
}

/* Whether the offset is in braces of the text that begins at `at`: `"{siz"`. */
static bool in_braces(Str text, uint32_t at, uint32_t offset) {
    while (offset > at && !strchr("{}", text.ptr[offset - 1]))
        offset--;
    return text.ptr[at] == '"' && offset > at && text.ptr[offset - 1] == '{';
}

/* The word before a text is `include`. */
static bool follows_include(Str text, uint32_t at) {
    while (at && strchr(" \t\r\n", text.ptr[at - 1]))
        at--;
    return at >= 7 && at_is(text, at - 7, "include") &&
           (at == 7 || !context_is_word(text.ptr[at - 8]));
}

TextPlace context_at(Str text, uint32_t offset) {
    Reading r = {0};
    TextPlace place = {.word = offset};
    for (uint32_t at = 0; at < offset;) {
        uint32_t past = context_skip(text, at);
        if (past != at && (past > offset || (past == offset && is_open(text, at, past)))) {
            if (r.depth && in_braces(text, at, offset))
                break;
            bool path = text.ptr[at] == '"' && follows_include(text, at);
            return (TextPlace){.kind = PLACE_SKIPPED, .word = offset, .path = path ? at + 1 : 0};
        }
        if (past == at)
            read_char(&r, text.ptr[at], at);
        at = past == at ? at + 1 : past;
    }
    while (place.word && context_is_word(text.ptr[place.word - 1]))
        place.word--;
    if (r.depth) {
        place.kind = PLACE_BODY;
        place.item = r.header;
        place.end = item_end(text, offset, r.depth);
        place.rule = rule_at(text, r.header, offset);
        return place;
    }
    place.kind = PLACE_OUTSIDE;
    if (!r.begun)
        return place;
    place.rule = rule_at(text, r.item, offset);
    place.item = r.item;
    place.end = offset;
    uint32_t end = r.item + place.rule.len;
    if (place.rule.len)
        place.kind = end == offset ? PLACE_HEAD : PLACE_BODY; /* else in the predicate */
    return place;
}

bool context_call(Str text, uint32_t offset, uint32_t *name_end, uint32_t *argument) {
    enum { MAX_CALLS = 100 };
    struct {
        uint32_t at, commas;
    } open[MAX_CALLS];
    uint32_t n = 0;
    for (uint32_t at = 0; at < offset;) {
        uint32_t past = context_skip(text, at);
        if (past > at) {
            at = past;
            continue;
        }
        char c = text.ptr[at++];
        if ((c == '(' || c == '[') && n < MAX_CALLS) {
            open[n].at = c == '(' ? at - 1 : 0;
            open[n++].commas = 0;
        } else if ((c == ')' || c == ']') && n) {
            n--;
        } else if (c == ',' && n) {
            open[n - 1].commas++;
        } else if (strchr(";{}", c)) {
            n = 0;
        }
    }
    while (n && (!open[n - 1].at || !context_is_word(text.ptr[open[n - 1].at - 1])))
        n--;
    if (!n)
        return false;
    *name_end = open[n - 1].at;
    *argument = open[n - 1].commas;
    return true;
}
