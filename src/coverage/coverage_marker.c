/*
 * coverage/coverage_marker.c - lcov's markers in sources, which exclude lines and branches.
 */
#include "coverage/coverage_parts.h"

#include <assert.h>

/* The words after "LCOV_EXCL_" in a line. */
typedef enum Marker {
    MARKER_NONE = 0,
    MARKER_LINE = 1,
    MARKER_START = 2,
    MARKER_STOP = 4,
    MARKER_BR_LINE = 8,
    MARKER_BR_START = 16,
    MARKER_BR_STOP = 32,
} Marker;

/* Markers are words: "LCOV_EXCL_LINE" is none in "NO_LCOV_EXCL_LINES". */
static bool is_word(char c) {
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static Marker marker_at(const char *at, const char *end) {
    static const struct {
        const char *word;
        Marker marker;
    } words[] = {{"LINE", MARKER_LINE},         {"START", MARKER_START},
                 {"STOP", MARKER_STOP},         {"BR_LINE", MARKER_BR_LINE},
                 {"BR_START", MARKER_BR_START}, {"BR_STOP", MARKER_BR_STOP}};
    size_t len = 0;
    while (at + len < end && is_word(at[len]))
        len++;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i].word) == len && memcmp(words[i].word, at, len) == 0)
            return words[i].marker;
    return MARKER_NONE;
}

/* All markers of a line. */
static uint32_t markers_in(Str line) {
    static const char prefix[] = "LCOV_EXCL_";
    const char *at = line.ptr, *end = line.ptr + line.len;
    uint32_t found = 0;
    while (line.len && (at = memmem(at, (size_t)(end - at), prefix, sizeof prefix - 1)) != NULL) {
        bool begins_word = at == line.ptr || !is_word(at[-1]);
        at += sizeof prefix - 1;
        if (begins_word)
            found |= marker_at(at, end);
    }
    return found;
}

enum { LINE_EXCLUDED = 1, WAYS_EXCLUDED = 2 };

/* The exclusions, by line from 1; on the heap. Lines of START and STOP are excluded, too, lines
 * beyond the end of the text never. */
static uint8_t *excluded_lines(const SourceText *text) {
    uint8_t *excluded = mem_zalloc(text->lines.len + (size_t)1);
    bool lines = false, ways = false;
    for (uint32_t i = 0; i < text->lines.len; i++) {
        uint32_t m = markers_in(text->lines.at[i]);
        lines |= (m & MARKER_START) != 0;
        ways |= (m & MARKER_BR_START) != 0;
        if (lines || m & MARKER_LINE)
            excluded[i + 1] |= LINE_EXCLUDED | WAYS_EXCLUDED;
        if (ways || m & MARKER_BR_LINE)
            excluded[i + 1] |= WAYS_EXCLUDED;
        lines &= !(m & MARKER_STOP);
        ways &= !(m & MARKER_BR_STOP);
    }
    return excluded;
}

/* Keeps the items whose line is not excluded as `what`. */
#define KEEP(list, what)                                                                           \
    do {                                                                                           \
        uint32_t n = 0;                                                                            \
        for (uint32_t i = 0; i < (list)->len; i++)                                                 \
            if ((list)->at[i].line > last || !(excluded[(list)->at[i].line] & (what)))             \
                (list)->at[n++] = (list)->at[i];                                                   \
        (list)->len = n;                                                                           \
    } while (0)

void coverage_exclude(CoverageFile *f) {
    assert(f->text);
    uint32_t last = f->text->lines.len;
    uint8_t *excluded = excluded_lines(f->text);
    KEEP(&f->lines, LINE_EXCLUDED);
    KEEP(&f->functions, LINE_EXCLUDED);
    KEEP(&f->ways, WAYS_EXCLUDED);
    free(excluded);
}
