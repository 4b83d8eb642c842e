/*
 * testing/test_file.c - reads test files, and writes them with other expectations.
 */
#include "testing/testing.h"

#include <stdio.h>
#include <sys/stat.h>

typedef enum Need { NONE, NEEDED, ALLOWED } Need;

static const struct SectionRow {
    const char *name;
    Need argument;
    bool text;
} section_rows[] = {
#define SECTION(NAME, name, argument, text) {name, argument, text},
#include "testing/sections.def"
};

enum { INCLUDES_MAX = 20 };

typedef struct Parsing {
    const Cli *cli;
    TestFile *file;
    Vec(const Section *) setup;
    bool in_case;
} Parsing;

void test_put_place(Buf *out, const char *file, uint32_t line) {
    buf_printf(out, "%s:%u: ", file, line);
}

static bool test_wrong(Parsing *p, const char *file, uint32_t line, const char *message,
                       const char *detail) {
    if (!p->file->wrong)
        p->file->wrong = arena_printf(&p->file->arena, "%s:%u: %s%s", file, line, message, detail);
    return false;
}

/* ---- lines ---- */

/* Returns the line at `at`, without its end, and sets *next. */
static Str test_line(Str text, uint32_t at, uint32_t *next) {
    const char *end = memchr(text.ptr + at, '\n', text.len - at);
    uint32_t to = end ? (uint32_t)(end - text.ptr) : text.len;
    *next = end ? to + 1 : to;
    uint32_t len = to - at;
    if (len && text.ptr[at + len - 1] == '\r')
        len--;
    return (Str){text.ptr + at, len};
}

static bool is_header(Str line) {
    return str_begins(line, STR("--- ")) || str_is(line, "---");
}

/* Returns whether a line is a header with backslashes before it: it stands for one with one less.
 */
static bool is_escaped(Str line) {
    uint32_t n = 0;
    while (n < line.len && line.ptr[n] == '\\')
        n++;
    Str rest = {line.ptr + n, line.len - n};
    return n && is_header(rest);
}

static Str trim(Str s) {
    while (s.len && (*s.ptr == ' ' || *s.ptr == '\t'))
        s.ptr++, s.len--;
    while (s.len && (s.ptr[s.len - 1] == ' ' || s.ptr[s.len - 1] == '\t'))
        s.len--;
    return s;
}

static const char no_newline[] = "\\ no newline at end\n";

/* Returns the text of a section: one empty line at the end is not part of it. */
static Str read_section_text(Arena *arena, Str lines) {
    Buf out = {0};
    if (lines.len == 1 || str_ends(lines, STR("\n\n")))
        lines.len -= *(lines.ptr + lines.len - 1) == '\n';
    for (uint32_t at = 0, next; at < lines.len; at = next) {
        Str line = test_line(lines, at, &next);
        uint32_t skip = is_escaped(line);
        buf_bytes(&out, lines.ptr + at + skip, next - at - skip);
    }
    if (out.len && out.data[out.len - 1] != '\n')
        buf_u8(&out, '\n');
    Str text = buf_view(&out);
    if (str_ends(text, (Str){no_newline, sizeof no_newline - 1}))
        text.len -= (uint32_t)sizeof no_newline; /* and the line feed before it */
    text.ptr = arena_strndup(arena, text.len ? text.ptr : "", text.len);
    buf_free(&out);
    return text;
}

/* Appends a section as it is in a file. */
static void put_section(Buf *out, SectionKind kind, const char *argument, Str text) {
    buf_printf(out, "--- %s%s%s\n", section_rows[kind].name, *argument ? " " : "", argument);
    for (uint32_t at = 0, next; at < text.len; at = next) {
        Str line = test_line(text, at, &next);
        if (is_header(line) || is_escaped(line))
            buf_u8(out, '\\');
        buf_bytes(out, text.ptr + at, next - at);
    }
    if (text.len && text.ptr[text.len - 1] != '\n')
        buf_printf(out, "\n%s", no_newline);
}

/* ---- sections ---- */

static bool read_test_sections(Parsing *p, const char *path, const char *folder, Str text,
                               uint32_t depth);

/* Makes a path that is relative to a folder one that is not. */
static const char *path_from(Arena *arena, const char *folder, const char *path) {
    const char *joined = *path == '/' ? path : arena_printf(arena, "%s/%s", folder, path);
    char *real = realpath(joined, NULL);
    const char *kept = arena_strndup(arena, real ? real : joined, strlen(real ? real : joined));
    free(real);
    return kept;
}

static const char *test_folder_of(Arena *arena, const char *path) {
    size_t n = (size_t)(file_base(path) - path);
    return n ? arena_strndup(arena, path, n - 1) : "";
}

static bool include_sections(Parsing *p, const Section *s, const char *folder, uint32_t depth) {
    const char *path = path_from(&p->file->arena, folder, s->argument);
    Buf contents = {0};
    if (depth == INCLUDES_MAX)
        return test_wrong(p, s->file, s->line, "too many files include each other", "");
    if (!file_read_source(path, UINT32_MAX / 2, &contents))
        return test_wrong(p, s->file, s->line, "cannot read the included file ", path);
    Str text = {arena_strndup(&p->file->arena, (char *)contents.data, contents.len),
                (uint32_t)contents.len};
    buf_free(&contents);
    return read_test_sections(p, path, test_folder_of(&p->file->arena, path), text, depth + 1);
}

/* Begins a case with the sections of the setup. */
static void begin_case(Parsing *p, const char *name, uint32_t line) {
    TestCase *c = vec_add(&p->file->cases);
    c->name = name;
    c->line = line;
    for (uint32_t i = 0; i < p->setup.len; i++)
        vec_push(&c->sections, p->setup.at[i]);
    c->setup = p->setup.len;
    p->in_case = true;
}

static bool check_section(Parsing *p, const Section *s) {
    const struct SectionRow *row = &section_rows[s->kind];
    const char *name = row->name;
    if (row->argument == NEEDED && !*s->argument)
        return test_wrong(p, s->file, s->line, "nothing follows the name of the section --- ",
                          name);
    if (row->argument == NONE && *s->argument)
        return test_wrong(p, s->file, s->line, "expected the end of the line after --- ", name);
    if (!row->text && s->text.len)
        return test_wrong(p, s->file, s->line + 1, "expected no lines in the section --- ", name);
    bool program = s->kind == SECTION_APP || s->kind == SECTION_SCRIPT;
    if (program && !*s->argument && !s->text.len)
        return test_wrong(p, s->file, s->line, "expected a path or lines in the section --- ",
                          name);
    return true;
}

static bool test_add_section(Parsing *p, Section *s, const char *folder, uint32_t depth) {
    TestFile *f = p->file;
    if (!check_section(p, s))
        return false;
    if (s->kind == SECTION_INCLUDE)
        return include_sections(p, s, folder, depth);
    if (s->kind == SECTION_CASE) {
        begin_case(p, s->argument, s->line);
    } else if (p->in_case) {
        vec_push(&vec_last(&f->cases).sections, s);
    } else {
        vec_push(&p->setup, s);
    }
    if (f->cases.len && s->own)
        vec_last(&f->cases).end = s->to;
    bool path =
        (s->kind == SECTION_APP || s->kind == SECTION_SCRIPT) && *s->argument && !s->text.len;
    if (path)
        s->argument = path_from(&f->arena, folder, s->argument);
    return true;
}

static int section_kind(Str name) {
    for (int i = 0; i < NSECTIONS; i++)
        if (str_is(name, section_rows[i].name))
            return i;
    return -1;
}

/* Reads the header of a section. */
static bool read_section_head(Parsing *p, Str line, Section *s) {
    Str rest = trim((Str){line.ptr + 3, line.len - 3});
    uint32_t n = 0;
    while (n < rest.len && rest.ptr[n] != ' ' && rest.ptr[n] != '\t')
        n++;
    Str name = {rest.ptr, n}, argument = trim((Str){rest.ptr + n, rest.len - n});
    Arena *arena = &p->file->arena;
    int kind = section_kind(name);
    s->argument = arena_strndup(arena, argument.ptr, argument.len);
    if (kind >= 0) {
        s->kind = (SectionKind)kind;
        return true;
    }
    const char *names[NSECTIONS], *word = arena_strndup(arena, name.ptr, name.len);
    for (int i = 0; i < NSECTIONS; i++)
        names[i] = section_rows[i].name;
    const char *guess = cli_guess(word, names, NSECTIONS);
    Buf said = {0};
    buf_printf(&said, "%s; ", word);
    if (guess)
        buf_printf(&said, "did you mean %s?", guess);
    for (int i = 0; i < NSECTIONS && !guess; i++)
        buf_printf(&said, "%s%s", i ? ", " : "there are ", names[i]);
    const char *text = arena_strndup(arena, (const char *)said.data, said.len);
    buf_free(&said);
    return test_wrong(p, s->file, s->line, "there is no section --- ", text);
}

static bool read_test_sections(Parsing *p, const char *path, const char *folder, Str text,
                               uint32_t depth) {
    uint32_t number = 1, at = 0, next;
    for (; at < text.len; at = next, number++) {
        Str line = test_line(text, at, &next);
        if (is_header(line))
            break;
        if (trim(line).len && *line.ptr != '#')
            return test_wrong(p, path, number,
                              "expected a comment, '# ...', or the first section, '--- NAME'", "");
    }
    while (at < text.len) {
        Section *s = arena_new(&p->file->arena, Section);
        s->file = path;
        s->line = number++;
        s->own = depth == 0;
        s->from = at;
        bool good = read_section_head(p, test_line(text, at, &next), s);
        uint32_t lines_from = at = next;
        while (at < text.len && !is_header(test_line(text, at, &next)))
            at = next, number++;
        s->to = at;
        Str lines = {text.ptr + lines_from, at - lines_from};
        s->text = read_section_text(&p->file->arena, lines);
        if (!good || !test_add_section(p, s, folder, depth))
            return false;
    }
    return true;
}

void test_file_read(const Cli *cli, const char *path, TestFile *f) {
    Parsing p = {.cli = cli, .file = f};
    f->path = path;
    char *folder =
        realpath(*test_folder_of(&f->arena, path) ? test_folder_of(&f->arena, path) : ".", NULL);
    f->folder = folder ? arena_strndup(&f->arena, folder, strlen(folder)) : "";
    free(folder);
    if (!file_read_source(path, UINT32_MAX / 2, &f->contents))
        f->wrong = arena_printf(&f->arena, "%s: cannot read it: it is no file, or too large", path);
    else if (memchr(f->contents.data ? f->contents.data : (uint8_t *)"", 0, f->contents.len))
        f->wrong = arena_printf(&f->arena, "%s: it is no text: it has NULs", path);
    else if (read_test_sections(&p, path, f->folder, buf_view(&f->contents), 0) && !f->cases.len) {
        begin_case(&p, "", 1); /* a file without cases is one */
        f->cases.at[0].setup = 0;
    }
    for (uint32_t i = 0; i < f->cases.len && !f->wrong; i++) {
        TestCase *c = &f->cases.at[i];
        if (!c->end)
            c->end = (uint32_t)f->contents.len;
        if (!test_section(c, SECTION_SCRIPT))
            test_wrong(&p, path, c->line, "expected a section --- script", "");
    }
    vec_free(&p.setup);
}

const Section *test_section(const TestCase *c, SectionKind kind) {
    for (uint32_t i = c->sections.len; i > 0; i--)
        if (c->sections.at[i - 1]->kind == kind)
            return c->sections.at[i - 1];
    return NULL;
}

bool test_uses(const TestCase *c, uint32_t section) {
    bool hidden = false;
    for (uint32_t i = c->setup; i < c->sections.len; i++)
        hidden |= c->sections.at[i]->kind == SECTION_SCRIPT;
    return !hidden || section >= c->setup || c->sections.at[section]->kind != SECTION_SCRIPT;
}

const Section *test_script(const TestCase *t, Str file) {
    uint32_t number = 0;
    for (uint32_t i = 0; i < t->sections.len; i++) {
        const Section *s = t->sections.at[i];
        if (s->kind != SECTION_SCRIPT || !test_uses(t, i))
            continue;
        char name[32] = "script.whamm";
        if (number++)
            snprintf(name, sizeof name, "script%u.whamm", number);
        if (str_is(file, *s->argument ? s->argument : name))
            return s;
    }
    return NULL;
}

/* ---- writing ---- */

bool test_owns(const TestCase *c, const Section *s) {
    bool owns = false;
    for (uint32_t i = c->setup; i < c->sections.len; i++)
        owns |= c->sections.at[i] == s && s->own;
    return owns;
}

void test_file_edit(TestFile *f, const TestCase *c, const Section *s, SectionKind kind,
                    const char *argument, Str text) {
    if (s && !test_owns(c, s))
        s = NULL;
    Buf out = {0};
    uint32_t from = s ? s->from : c->end, to = s ? s->to : c->end;
    bool last = to == f->contents.len;
    if (!s && last)
        buf_u8(&out, '\n');
    put_section(&out, kind, argument, text);
    if (!last)
        buf_u8(&out, '\n'); /* before the next section */
    Str copy = {arena_strndup(&f->arena, (char *)out.data, out.len), (uint32_t)out.len};
    buf_free(&out);
    vec_push(&f->edits, (Edit){from, to, f->edits.len, copy});
}

static int by_place(const void *a, const void *b) {
    const Edit *x = a, *y = b;
    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

bool test_file_write(const Cli *cli, TestFile *f) {
    Buf out = {0};
    uint32_t at = 0;
    if (f->edits.len)
        qsort(f->edits.at, f->edits.len, sizeof *f->edits.at, by_place);
    for (uint32_t i = 0; i < f->edits.len; i++) {
        const Edit *e = &f->edits.at[i];
        buf_bytes(&out, f->contents.data + at, e->from - at);
        if (out.len && out.data[out.len - 1] != '\n')
            buf_u8(&out, '\n');
        buf_str(&out, e->text);
        at = e->to;
    }
    buf_bytes(&out, f->contents.data + at, f->contents.len - at);
    bool ok = file_write(cli, f->path, out.data, out.len);
    buf_free(&out);
    return ok;
}

void test_file_free(TestFile *f) {
    for (uint32_t i = 0; i < f->cases.len; i++)
        vec_free(&f->cases.at[i].sections);
    vec_free(&f->cases);
    vec_free(&f->edits);
    buf_free(&f->contents);
    arena_free(&f->arena);
}

/* ---- words ---- */

const char *test_words(Arena *arena, const char *text, Words *words) {
    Buf word = {0};
    const char *wrong = NULL;
    while (!wrong) {
        text += strspn(text, " \t");
        if (!*text)
            break;
        word.len = 0;
        while (*text && *text != ' ' && *text != '\t') {
            char c = *text++;
            if (c == '\\' && *text) {
                buf_u8(&word, (uint8_t)*text++);
            } else if (c == '\'' || c == '"') {
                for (; *text && *text != c; text++) {
                    if (c == '"' && *text == '\\' && (text[1] == '"' || text[1] == '\\'))
                        text++;
                    buf_u8(&word, (uint8_t)*text);
                }
                if (!*text)
                    wrong = "expected a quotation mark at the end of the word";
                else
                    text++;
            } else {
                buf_u8(&word, (uint8_t)c);
            }
        }
        vec_push(words, arena_strndup(arena, word.data ? (char *)word.data : "", word.len));
    }
    buf_free(&word);
    return wrong;
}
