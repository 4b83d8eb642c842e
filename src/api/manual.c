/*
 * api/manual.c - the manual, unpacked and divided into blocks.
 */
#include "api/manual.h"

#include <assert.h>
#include <strings.h>
#include <zlib.h>

/* Made by scripts/embed-manual. */
extern const unsigned char manual_pages[];
extern const unsigned long manual_pages_size;

static void manual_unpack(Buf *out) {
    enum { GZIP = 16, SIZE = 4 }; /* a gzip file ends with its size */
    const unsigned char *end = manual_pages + manual_pages_size;
    size_t size = (size_t)end[-4] | (size_t)end[-3] << 8 | (size_t)end[-2] << 16;
    buf_reserve(out, size + SIZE);
    z_stream z = {.next_in = (Bytef *)manual_pages,
                  .avail_in = (uInt)manual_pages_size,
                  .next_out = out->data,
                  .avail_out = (uInt)(size + SIZE)};
    int status = inflateInit2(&z, MAX_WBITS + GZIP);
    if (status == Z_OK)
        status = inflate(&z, Z_FINISH);
    assert(status == Z_STREAM_END && z.total_out == size);
    inflateEnd(&z);
    (void)status;
    out->len = z.total_out;
}

/* ---- blocks ---- */

typedef struct Reader {
    Manual *m;
    uint32_t page, section, head;
    bool in_fence, after_blank;
} Reader;

static ManualBlock *last_block(Reader *r) {
    return &r->m->blocks.at[r->m->blocks.len - 1];
}

static void manual_add_block(Reader *r, ManualKind kind, Str text) {
    uint32_t here = r->m->blocks.len;
    if (kind == MANUAL_PAGE)
        r->page = here;
    if (kind == MANUAL_PAGE || kind == MANUAL_HEADING)
        r->section = here;
    if (kind == MANUAL_HEAD)
        r->head = here;
    vec_push(&r->m->blocks, ((ManualBlock){.kind = kind,
                                           .text = text,
                                           .page = r->page,
                                           .section = r->section,
                                           .head = kind == MANUAL_ROW ? r->head : 0}));
}

static void add_heading(Reader *r, Str line) {
    uint32_t level = 0;
    while (level < line.len && line.ptr[level] == '#')
        level++;
    manual_add_block(r, MANUAL_HEADING, (Str){line.ptr + level + 1, line.len - level - 1});
    last_block(r)->level = level;
}

/* The kind of a block that begins with this line. */
static ManualKind kind_of(Str line, ManualKind before) {
    if (line.ptr[0] == '|')
        return before == MANUAL_HEAD || before == MANUAL_ROW ? MANUAL_ROW : MANUAL_HEAD;
    uint32_t digits = 0;
    while (digits < line.len && line.ptr[digits] >= '0' && line.ptr[digits] <= '9')
        digits++;
    if (str_begins(line, STR("* ")) ||
        (digits && str_begins((Str){line.ptr + digits, line.len - digits}, STR(". "))))
        return MANUAL_ITEM;
    return str_begins(line, STR("    ")) ? MANUAL_CODE : MANUAL_TEXT;
}

/* Whether the line goes on with the block before it. */
static bool manual_continues(const Reader *r, Str line, ManualKind before) {
    if (r->in_fence)
        return true;
    if (r->after_blank) /* indented code may have blank lines */
        return before == MANUAL_CODE && str_begins(line, STR("    "));
    switch (before) {
    case MANUAL_TEXT:
    case MANUAL_CODE: return kind_of(line, before) == before;
    case MANUAL_ITEM: return kind_of(line, before) != MANUAL_ITEM;
    case MANUAL_HEAD: return str_begins(line, STR("|---"));
    default: return false;
    }
}

static void read_line(Reader *r, Str line) {
    ManualBlock *last = last_block(r);
    bool fence = str_begins(line, STR("```"));
    if (!line.len && !r->in_fence) {
        r->after_blank = true;
        return;
    }
    if (!r->in_fence && line.len && line.ptr[0] == '\f')
        manual_add_block(r, MANUAL_PAGE, (Str){line.ptr + 1, line.len - 1});
    else if (!r->in_fence && line.ptr[0] == '#')
        add_heading(r, line);
    else if (fence && !r->in_fence)
        manual_add_block(r, MANUAL_CODE, line);
    else if (manual_continues(r, line, last->kind))
        last->text.len = (uint32_t)(line.ptr + line.len - last->text.ptr);
    else
        manual_add_block(r, kind_of(line, r->after_blank ? MANUAL_TEXT : last->kind), line);
    r->in_fence ^= fence;
    r->after_blank = false;
}

void manual_load(Manual *m) {
    manual_unpack(&m->text);
    Reader r = {.m = m};
    vec_push(&m->blocks, ((ManualBlock){.kind = MANUAL_PAGE}));
    const char *at = (const char *)m->text.data, *end = at + m->text.len;
    while (at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        read_line(&r, (Str){at, (uint32_t)(stop - at)});
        at = stop + 1;
    }
}

void manual_free(Manual *m) {
    buf_free(&m->text);
    vec_free(&m->blocks);
    *m = (Manual){0};
}

/* ---- finding ---- */

uint32_t manual_heading(const Manual *m, const char *page, Str title) {
    for (uint32_t i = 1; i < m->blocks.len; i++) {
        const ManualBlock *b = &m->blocks.at[i];
        if (b->kind == MANUAL_HEADING && b->text.len == title.len &&
            str_is(m->blocks.at[b->page].text, page) &&
            strncasecmp(b->text.ptr, title.ptr, title.len) == 0)
            return i;
    }
    return 0;
}

/* The end of a row's first cell. */
static uint32_t first_cell_end(Str row) {
    for (uint32_t i = 1; i < row.len; i++)
        if (row.ptr[i] == '|' && row.ptr[i - 1] != '\\')
            return i;
    return row.len;
}

Str manual_last_cell(const ManualBlock *row) {
    uint32_t end = row->text.len - 1, start;
    while (end && row->text.ptr[end - 1] == ' ')
        end--;
    start = end;
    while (row->text.ptr[start - 1] != '|' || row->text.ptr[start - 2] == '\\')
        start--;
    while (start < end && row->text.ptr[start] == ' ')
        start++;
    return (Str){row->text.ptr + start, end - start};
}

/* The words of code are separated by blanks and by the signs of the language, but not by those of
 * names, rules and patterns. */
static bool is_of_word(char c) {
    return c == '_' || c == '.' || c == ':' || c == '*' || (c >= '0' && c <= '9') ||
           (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool manual_mentions(const ManualBlock *b, bool first_cell, ManualMeant *meant, const void *ctx) {
    if (b->kind != MANUAL_TEXT && b->kind != MANUAL_ITEM && b->kind != MANUAL_ROW)
        return false;
    if (first_cell && b->kind != MANUAL_ROW)
        return false;
    uint32_t end = first_cell ? first_cell_end(b->text) : b->text.len;
    bool code = false;
    for (uint32_t i = 0; i < end;) {
        uint32_t start = i;
        while (code && i < end && is_of_word(b->text.ptr[i]))
            i++;
        if (i > start && meant(ctx, (Str){b->text.ptr + start, i - start}))
            return true;
        if (i == start)
            code ^= b->text.ptr[i++] == '`';
    }
    return false;
}

/* ---- appending ---- */

static void manual_put_block(const ManualBlock *b, Buf *out) {
    static const char *const levels[] = {"", "# ", "## ", "### "};
    buf_printf(out, "%s%.*s\n", levels[b->level], STR_ARG(b->text));
}

void manual_put_section(const Manual *m, uint32_t heading, Buf *out) {
    for (uint32_t i = heading + 1; i < m->blocks.len; i++) {
        const ManualBlock *b = &m->blocks.at[i], *before = b - 1;
        if (b->section != heading)
            break;
        bool together =
            (b->kind == MANUAL_ITEM && before->kind == MANUAL_ITEM) || b->kind == MANUAL_ROW;
        buf_str(out, together ? STR("") : STR("\n"));
        manual_put_block(b, out);
    }
}

void manual_pick(ManualPick *p, uint32_t block) {
    const ManualBlock *b = &p->m->blocks.at[block];
    if (b->section != p->section) {
        buf_printf(p->out, "\n## %.*s\n", STR_ARG(p->m->blocks.at[b->section].text));
        p->head = 0;
    }
    if (b->head && b->head != p->head) {
        buf_u8(p->out, '\n');
        manual_put_block(&p->m->blocks.at[b->head], p->out);
    }
    if (!b->head)
        buf_u8(p->out, '\n');
    manual_put_block(b, p->out);
    p->section = b->section;
    p->head = b->head;
}
