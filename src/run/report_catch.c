/*
 * run/report_catch.c - separates the reports of monitors from the output of a program.
 *
 * Monitors usually print to standard output. Everything from the first line of a report on is kept,
 * and separated from other output when the program has ended (report/report_read.c). The line feed
 * before a report belongs to the report; a line feed alone is passed on at once: it could be an
 * empty line that a reader waits for.
 */
#include "run/run.h"

#include <unistd.h>

static const char marker[] = "\n================================= REPORT CSV FLUSH ";

/* The match of the marker with the input, where a line may begin: all of it, a prefix up to the end
 * of the input (PARTIAL), or none. */
typedef enum Match { MATCH_NONE, MATCH_PARTIAL, MATCH_ALL } Match;

static Match report_catch_match(const uint8_t *p, size_t n, bool line_start) {
    const char *want = marker;
    size_t len = sizeof marker - 1;
    if (line_start && n && *p == '=') {
        want++;
        len--;
    }
    if ((n == 1 && *p == '\n') || memcmp(p, want, n < len ? n : len) != 0)
        return MATCH_NONE;
    return n < len ? MATCH_PARTIAL : MATCH_ALL;
}

static void report_catch_pass(Catch *c, size_t n) {
    if (!n)
        return;
    c->inside = c->held.data[n - 1] != '\n';
    c->closed |= !c->closed && !file_write_fd(STDOUT_FILENO, c->held.data, n);
    memmove(c->held.data, c->held.data + n, c->held.len - n);
    c->held.len -= n;
}

/* Passes on everything but reports; holds back a possible beginning of a report, unless the input
 * has ended. */
static void report_catch_pump(Catch *c, bool end) {
    size_t i = 0;
    while (i < c->held.len) {
        const uint8_t *p = c->held.data + i;
        size_t n = c->held.len - i;
        Match m = report_catch_match(p, n, !i && !c->inside);
        if (m == MATCH_ALL) {
            buf_bytes(&c->report, p, n);
            c->held.len = i;
            c->found = true;
        } else if (m == MATCH_PARTIAL && !end) {
            break;
        } else {
            const uint8_t *eol = memchr(p + 1, '\n', n - 1);
            i = eol ? i + (size_t)(eol - p) : c->held.len;
        }
    }
    report_catch_pass(c, i);
}

bool catch_take(void *ctx, const uint8_t *bytes, size_t n) {
    Catch *c = ctx;
    buf_bytes(c->found ? &c->report : &c->held, bytes, n);
    if (!c->found)
        report_catch_pump(c, false);
    return !c->closed;
}

void catch_end(Catch *c) {
    report_catch_pump(c, true);
    buf_free(&c->held);
}
