/*
 * cmd/markdown.c - the manual's Markdown as text for terminals: lines are wrapped, tables have
 * columns, links are their texts.
 */
#include "cmd/cmd.h"

enum { MOST_COLUMNS = 8, GAP = 2, LEAST_CELL = 12 };

typedef struct Plain {
    Buf *out;
    uint32_t width;
} Plain;

/* The columns that a text takes: its code points. */
static uint32_t markdown_columns_of(Str s) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < s.len; i++)
        n += ((uint8_t)s.ptr[i] & 0xc0) != 0x80;
    return n;
}

/* The text of a link at `i`, "[text](address)": appended, and the place after it returned; i if
 * there is none. */
static uint32_t take_link(Str s, uint32_t i, Buf *out, void (*inline_text)(Str, bool, Buf *),
                          bool keep_code) {
    uint32_t depth = 0, end = i;
    for (; end < s.len; end++) {
        depth += s.ptr[end] == '[';
        if (s.ptr[end] == ']' && !--depth)
            break;
    }
    if (end + 1 >= s.len || s.ptr[end + 1] != '(')
        return i;
    const char *close = memchr(s.ptr + end, ')', s.len - end);
    if (!close)
        return i;
    inline_text((Str){s.ptr + i + 1, end - i - 1}, keep_code, out);
    return (uint32_t)(close - s.ptr) + 1;
}

/* Whether a sign has blanks around it, so that it emphasises nothing. */
static bool markdown_is_apart(Str s, uint32_t i) {
    return i && s.ptr[i - 1] == ' ' && i + 1 < s.len && s.ptr[i + 1] == ' ';
}

/* Appends a text without the signs of Markdown; those of code are kept if wanted. */
static void put_inline(Str s, bool keep_code, Buf *out) {
    bool code = false;
    for (uint32_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];
        if (c == '`') {
            code = !code;
            if (keep_code)
                buf_u8(out, (uint8_t)c);
        } else if (c == '\\' && i + 1 < s.len && (s.ptr[i + 1] == '|' || !code)) {
            buf_u8(out, (uint8_t)s.ptr[++i]);
        } else if (!code && c == '[') {
            uint32_t after = take_link(s, i, out, put_inline, keep_code);
            if (after == i)
                buf_u8(out, (uint8_t)c);
            else
                i = after - 1;
        } else if (code || c != '*' || markdown_is_apart(s, i)) {
            buf_u8(out, c == '\n' ? ' ' : (uint8_t)c);
        }
    }
}

/* The next line of at most `width` columns, which ends at a blank; *at moves behind it. */
static Str markdown_next_line(Str s, uint32_t *at, uint32_t width) {
    if (!s.len)
        return s;
    while (*at < s.len && s.ptr[*at] == ' ')
        ++*at;
    uint32_t start = *at, end = start, columns = 0;
    for (uint32_t i = start; i <= s.len; i++) {
        if (i == s.len || s.ptr[i] == ' ') {
            if (columns > width && end > start)
                break;
            end = i;
            if (columns > width)
                break;
        }
        columns += i < s.len && ((uint8_t)s.ptr[i] & 0xc0) != 0x80;
    }
    *at = end;
    return (Str){s.ptr + start, end - start};
}

/* Appends a text in lines, the first after `first`, the others after as many blanks. */
static void put_wrapped(const Plain *p, const char *first, Str text) {
    Buf plain = {0};
    put_inline(text, true, &plain);
    uint32_t at = 0, indent = (uint32_t)strlen(first);
    for (bool any = false; at < plain.len; any = true) {
        Str line = markdown_next_line(buf_view(&plain), &at, p->width - indent);
        if (line.len)
            buf_printf(p->out, "%*s%.*s\n", (int)indent, any ? "" : first, STR_ARG(line));
    }
    buf_free(&plain);
}

/* ---- tables ---- */

typedef struct Row {
    uint32_t n;
    Buf cells[MOST_COLUMNS];
} Row;

typedef struct Table {
    Vec(Row) rows; /* the first one is the head */
    uint32_t widths[MOST_COLUMNS];
    uint32_t n; /* columns */
} Table;

static void markdown_add_row(Table *t, Str line) {
    Row row = {0};
    uint32_t start = 1;
    for (uint32_t i = 1; i < line.len && row.n < MOST_COLUMNS; i++) {
        if (line.ptr[i] != '|' || line.ptr[i - 1] == '\\')
            continue;
        uint32_t end = i;
        while (start < end && line.ptr[start] == ' ')
            start++;
        while (end > start && line.ptr[end - 1] == ' ')
            end--;
        Buf *cell = &row.cells[row.n];
        put_inline((Str){line.ptr + start, end - start}, row.n != 0, cell);
        uint32_t width = markdown_columns_of(buf_view(cell));
        if (width > t->widths[row.n])
            t->widths[row.n] = width;
        start = i + 1;
        row.n++;
    }
    t->n = row.n > t->n ? row.n : t->n;
    vec_push(&t->rows, row);
}

/* Makes columns narrower until the table fits: always the widest one. */
static void fit_columns(Table *t, uint32_t width) {
    uint32_t room = width > t->n * LEAST_CELL ? width : t->n * LEAST_CELL, sum = 0;
    for (uint32_t c = 0; c < t->n; c++)
        sum += t->widths[c] + (t->widths[c] && c ? GAP : 0);
    while (sum > room) {
        uint32_t widest = 0;
        for (uint32_t c = 1; c < t->n; c++)
            if (t->widths[c] >= t->widths[widest])
                widest = c;
        t->widths[widest]--;
        sum--;
    }
}

static void markdown_put_row(const Plain *p, const Table *t, const Row *row) {
    uint32_t at[MOST_COLUMNS] = {0};
    for (bool more = true; more;) {
        more = false;
        uint32_t behind = 0; /* blanks that are due */
        for (uint32_t c = 0; c < row->n; c++) {
            if (!t->widths[c])
                continue;
            Str line = markdown_next_line(buf_view(&row->cells[c]), &at[c], t->widths[c]);
            uint32_t used = markdown_columns_of(line);
            if (line.len)
                buf_printf(p->out, "%*s%.*s", (int)behind, "", STR_ARG(line));
            behind = line.len ? 0 : behind;
            behind += (used < t->widths[c] ? t->widths[c] - used : 0) + GAP;
            more |= at[c] < row->cells[c].len;
        }
        buf_u8(p->out, '\n');
    }
}

static bool is_empty(const Row *row) {
    for (uint32_t c = 0; c < row->n; c++)
        if (row->cells[c].len)
            return false;
    return true;
}

static void put_table(const Plain *p, Table *t) {
    fit_columns(t, p->width);
    for (uint32_t i = 0; i < t->rows.len; i++) {
        Row *row = &t->rows.at[i];
        if (i || !is_empty(row))
            markdown_put_row(p, t, row);
        for (uint32_t c = 0; c < row->n; c++)
            buf_free(&row->cells[c]);
    }
    vec_free(&t->rows);
    *t = (Table){0};
}

/* ---- blocks ---- */

typedef struct Lines {
    Str text;
    uint32_t at;
} Lines;

static Str take_line(Lines *l) {
    uint32_t start = l->at;
    while (l->at < l->text.len && l->text.ptr[l->at] != '\n')
        l->at++;
    Str line = {l->text.ptr + start, l->at - start};
    l->at += l->at < l->text.len;
    return line;
}

static void put_fence(const Plain *p, Lines *l) {
    while (l->at < l->text.len) {
        Str line = take_line(l);
        if (str_begins(line, STR("```")))
            break;
        buf_printf(p->out, line.len ? "    %.*s\n" : "%.*s\n", STR_ARG(line));
    }
}

static void put_rows(const Plain *p, Lines *l, Str line) {
    Table table = {0};
    markdown_add_row(&table, line);
    take_line(l); /* |---| */
    while (l->at < l->text.len && l->text.ptr[l->at] == '|')
        markdown_add_row(&table, take_line(l));
    put_table(p, &table);
}

/* Whether a line goes on with a paragraph or an item of a list. */
static bool markdown_goes_on(const Lines *l) {
    Str rest = {l->text.ptr + l->at, l->text.len - l->at};
    return rest.len && rest.ptr[0] != '\n' && rest.ptr[0] != '|' && rest.ptr[0] != '#' &&
           !str_begins(rest, STR("* ")) && !str_begins(rest, STR("```"));
}

static void put_paragraph(const Plain *p, Lines *l, Str line) {
    bool item = str_begins(line, STR("* "));
    while (markdown_goes_on(l))
        line.len += take_line(l).len + 1;
    if (item)
        put_wrapped(p, "* ", (Str){line.ptr + 2, line.len - 2});
    else
        put_wrapped(p, "", line);
}

static void put_heading(const Plain *p, Str line) {
    uint32_t level = 0;
    while (level < line.len && line.ptr[level] == '#')
        level++;
    put_wrapped(p, "", (Str){line.ptr + level, line.len - level});
}

void markdown_put(Str text, uint32_t width, Buf *out) {
    Plain p = {out, width};
    Lines l = {.text = text};
    while (l.at < text.len) {
        Str line = take_line(&l);
        if (str_begins(line, STR("```")))
            put_fence(&p, &l);
        else if (str_begins(line, STR("    ")))
            buf_printf(out, "%.*s\n", STR_ARG(line));
        else if (str_begins(line, STR("|")))
            put_rows(&p, &l, line);
        else if (str_begins(line, STR("#")))
            put_heading(&p, line);
        else if (line.len)
            put_paragraph(&p, &l, line);
        else
            buf_u8(out, '\n');
    }
}
