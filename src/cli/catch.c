/*
 * cli/catch.c - takes the reports of monitors out of what a program prints.
 *
 * Monitors print where they were made to, which is standard output unless somebody said otherwise.
 * From the line on that begins a report all is kept; what of it is none is told apart when the
 * program has ended (report/read.c). The empty line in front of a report passes: it could be one
 * that somebody waits for.
 */
#include "cli/cli.h"

#include <unistd.h>

static const char marker[] = "================================= REPORT CSV FLUSH ";

/* How much of the marker is at p: all of it, as much as there is (PARTIAL), or something else. */
typedef enum Match { MATCH_NONE, MATCH_PARTIAL, MATCH_ALL } Match;

static Match match(const uint8_t *p, size_t n) {
    size_t len = sizeof marker - 1;
    if (memcmp(p, marker, n < len ? n : len) != 0)
        return MATCH_NONE;
    return n < len ? MATCH_PARTIAL : MATCH_ALL;
}

static void pass(Catch *c, size_t n) {
    if (!n)
        return;
    c->inside = c->held.data[n - 1] != '\n';
    c->closed |= !c->closed && !file_write_fd(STDOUT_FILENO, c->held.data, n);
    memmove(c->held.data, c->held.data + n, c->held.len - n);
    c->held.len -= n;
}

/* Passes on what is no report; keeps what may become one unless nothing more comes. */
static void pump(Catch *c, bool end) {
    size_t i = 0;
    bool line_start = !c->inside;
    while (i < c->held.len) {
        const uint8_t *p = c->held.data + i;
        size_t n = c->held.len - i;
        Match m = line_start ? match(p, n) : MATCH_NONE;
        if (m == MATCH_ALL) {
            buf_bytes(&c->report, p, n);
            c->held.len = i;
            c->found = true;
        } else if (m == MATCH_PARTIAL && !end) {
            break;
        } else {
            const uint8_t *eol = memchr(p, '\n', n);
            i = eol ? i + (size_t)(eol - p) + 1 : c->held.len;
            line_start = true;
        }
    }
    pass(c, i);
}

bool catch_take(void *ctx, const uint8_t *bytes, size_t n) {
    Catch *c = ctx;
    buf_bytes(c->found ? &c->report : &c->held, bytes, n);
    if (!c->found)
        pump(c, false);
    return !c->closed;
}

void catch_end(Catch *c) {
    pump(c, true);
    buf_free(&c->held);
}
