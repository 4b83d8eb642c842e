/*
 * cmd/cmd_fmt.c - `whammc fmt`: formats scripts.
 */
#include "cli/cli.h"

typedef struct Settings {
    bool check, diff;
} Settings;

/* ---- differences ---- */

/* A line of a text, or its end. */
typedef struct Line {
    const char *text;
    size_t solid; /* characters before it that are no blanks */
} Line;
typedef Vec(Line) TextLines;

/* Lines [from, to) of the old (0) and the new text (1) that are not the same. */
typedef struct Change {
    uint32_t from[2], to[2];
} Change;

typedef struct Diff {
    TextLines lines[2]; /* with the end */
    Vec(Change) changes;
} Diff;

static void split_lines(const Buf *text, TextLines *out) {
    const char *at = (const char *)text->data, *end = at + text->len;
    size_t solid = 0;
    for (bool begins = true; at < end; begins = *at++ == '\n') {
        if (begins)
            vec_push(out, ((Line){at, solid}));
        solid += *at != ' ' && *at != '\t' && *at != '\r' && *at != '\n';
    }
    vec_push(out, ((Line){end, solid}));
}

static Str line_text(const Diff *d, int side, uint32_t i) {
    const Line *line = &d->lines[side].at[i];
    return (Str){line->text, (uint32_t)(line[1].text - line->text)};
}

/* Finds the changes. The texts differ only in blanks: after the same number of other characters
 * they are at the same place. */
static void diff_find(Diff *d) {
    uint32_t n = d->lines[0].len - 1, m = d->lines[1].len - 1;
    const Line *old = d->lines[0].at, *new = d->lines[1].at;
    for (uint32_t i = 0, j = 0; i < n || j < m;) {
        if (i < n && j < m && str_eq(line_text(d, 0, i), line_text(d, 1, j))) {
            i++, j++;
            continue;
        }
        Change *last = d->changes.len ? &vec_last(&d->changes) : NULL;
        bool goes_on = last && last->to[0] == i && last->to[1] == j;
        Change *c = goes_on ? last : vec_add(&d->changes);
        if (!goes_on)
            *c = (Change){{i, j}, {i, j}};
        do {
            bool behind = old[i].solid <= new[j].solid;
            if (i < n && (behind || j == m))
                i++;
            else
                j++;
        } while (old[i].solid != new[j].solid && (i < n || j < m));
        c->to[0] = i;
        c->to[1] = j;
    }
}

/* Appends lines of one text, each after `mark`. */
static void put_lines(const Diff *d, int side, uint32_t from, uint32_t to, char mark, Buf *out) {
    for (uint32_t i = from; i < to; i++) {
        Str line = line_text(d, side, i);
        buf_u8(out, (uint8_t)mark);
        buf_str(out, line);
        if (!str_ends(line, STR("\n")))
            buf_str(out, STR("\n\\ No newline at end of file\n"));
    }
}

/* Appends the changes [k, end), which are near each other, with the lines around them. */
static void put_hunk(const Diff *d, uint32_t k, uint32_t end, uint32_t context, Buf *out) {
    const Change *first = &d->changes.at[k], *last = &d->changes.at[end - 1];
    uint32_t n = d->lines[0].len - 1;
    uint32_t before = first->from[0] < context ? first->from[0] : context;
    uint32_t after = n - last->to[0] < context ? n - last->to[0] : context;
    buf_str(out, STR("@@"));
    for (int side = 0; side < 2; side++) {
        uint32_t from = first->from[side] - before, lines = last->to[side] + after - from;
        buf_printf(out, " %c%u,%u", side ? '+' : '-', from + (lines > 0), lines);
    }
    buf_str(out, STR(" @@\n"));
    uint32_t at = first->from[0] - before;
    for (; k < end; k++) {
        const Change *c = &d->changes.at[k];
        put_lines(d, 0, at, c->from[0], ' ', out);
        put_lines(d, 0, c->from[0], c->to[0], '-', out);
        put_lines(d, 1, c->from[1], c->to[1], '+', out);
        at = c->to[0];
    }
    put_lines(d, 0, at, at + after, ' ', out);
}

/* Appends the differences of a file in the unified format. */
static void put_diff(const char *name, const Buf *old, const Buf *new, Buf *out) {
    enum { CONTEXT = 3 };
    Diff d = {0};
    split_lines(old, &d.lines[0]);
    split_lines(new, &d.lines[1]);
    diff_find(&d);
    buf_printf(out, "--- %s\n+++ %s\n", name, name);
    for (uint32_t k = 0, end; k < d.changes.len; k = end) {
        for (end = k + 1; end < d.changes.len; end++)
            if (d.changes.at[end].from[0] - d.changes.at[end - 1].to[0] > 2 * CONTEXT)
                break;
        put_hunk(&d, k, end, CONTEXT, out);
    }
    vec_free(&d.lines[0]);
    vec_free(&d.lines[1]);
    vec_free(&d.changes);
}

/* ---- files ---- */

/* Writes the formatted script, its name or its differences. */
static int fmt_put(const Cli *cli, const Settings *s, const char *path, const Buf *old,
                   const Buf *new) {
    bool same = old->len == new->len && (!old->len || memcmp(old->data, new->data, old->len) == 0);
    bool is_stdin = strcmp(path, "-") == 0;
    Buf out = {0};
    if (s->diff && !same)
        put_diff(file_title(path), old, new, &out);
    else if (s->check && !same)
        buf_printf(&out, "%s\n", file_title(path));
    message_stdout(&out);
    buf_free(&out);
    if (s->diff || s->check)
        return s->check && !same ? STATUS_ERROR : STATUS_OK;
    if (same && !is_stdin)
        return STATUS_OK;
    return file_write(cli, path, new->data, new->len) ? STATUS_OK : STATUS_ERROR;
}

static int format_file(const Cli *cli, const Settings *s, const char *path) {
    Buf old = {0};
    if (!file_read(cli, path, &old))
        return STATUS_ERROR;
    whammc *w = whammc_new();
    char *text = NULL;
    size_t len = 0;
    whammc_status formatted =
        whammc_format_script(w, file_title(path), buf_cstr(&old), old.len, &text, &len);
    int status = message_library(cli, w, formatted);
    if (formatted == WHAMMC_OK)
        status = fmt_put(cli, s, path, &old, &(Buf){.data = (uint8_t *)text, .len = len});
    whammc_release(text);
    whammc_free(w);
    buf_free(&old);
    return status;
}

static bool cmd_fmt_set(const Cli *cli, void *settings, int key, const char *value) {
    Settings *s = settings;
    (void)cli;
    (void)value;
    s->check |= key == OPTION_UNFORMATTED;
    s->diff |= key == OPTION_DIFF;
    return true;
}

int cmd_fmt(Cli *cli) {
    Settings s = {0};
    int status = cli_options(cli, cmd_fmt_set, &s);
    if (status != STATUS_OK)
        return status;
    if (!cli->noperands)
        return format_file(cli, &s, "-");
    for (int i = 0; i < cli->noperands; i++) {
        int one = format_file(cli, &s, cli->operands[i]);
        status = one > status ? one : status;
    }
    return status;
}
