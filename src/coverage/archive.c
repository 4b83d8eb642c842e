/*
 * coverage/archive.c - the members of an archive.
 */
#include "coverage/archive.h"

static const char MAGIC[] = "!<arch>\n", THIN[] = "!<thin>\n";
enum { MAGIC_SIZE = sizeof MAGIC - 1 };

/* The header of a member: text, each field filled up with spaces. */
enum { HEADER_SIZE = 60, NAME_SIZE = 16, SIZE_AT = 48, SIZE_SIZE = 10, END_AT = 58 };

bool archive_is(Str bytes) {
    return str_begins(bytes, STR(MAGIC)) || str_begins(bytes, STR(THIN));
}

static bool archive_fail(Archive *a, const char *problem) {
    a->problem = problem;
    return false;
}

/* The decimal number that a field begins with; false if it is none. */
static bool archive_number_of(Str field, uint32_t *number) {
    uint64_t n = 0;
    uint32_t i = 0;
    for (; i < field.len && field.ptr[i] >= '0' && field.ptr[i] <= '9'; i++) {
        n = 10 * n + (uint64_t)(field.ptr[i] - '0');
        if (n > UINT32_MAX)
            return false;
    }
    *number = (uint32_t)n;
    return i > 0;
}

/* `s` up to a character, if it is there. */
static Str up_to(Str s, char end) {
    const char *found = s.len ? memchr(s.ptr, end, s.len) : NULL;
    return found ? (Str){s.ptr, (uint32_t)(found - s.ptr)} : s;
}

static Str without_end(Str s, char end) {
    while (s.len && s.ptr[s.len - 1] == end)
        s.len--;
    return s;
}

/* Replaces a reference to a long name: "/NUMBER" by a name in GNU's table, "#1/NUMBER" by so many
 * bytes at the beginning of the content. */
static bool archive_find_name(Archive *a, ArchiveMember *m) {
    uint32_t n;
    if (str_begins(m->name, STR("/")) &&
        archive_number_of((Str){m->name.ptr + 1, m->name.len - 1}, &n)) {
        if (n >= a->names.len)
            return archive_fail(a, "the name of a member is not in the table of names");
        m->name = up_to((Str){a->names.ptr + n, a->names.len - n}, '\n');
    } else if (str_begins(m->name, STR("#1/")) &&
               archive_number_of((Str){m->name.ptr + 3, m->name.len - 3}, &n)) {
        if (n > m->content.len)
            return archive_fail(a, "the name of a member is longer than the member");
        m->name = up_to((Str){m->content.ptr, n}, '\0');
        m->content = (Str){m->content.ptr + n, m->content.len - n};
    }
    m->name = without_end(m->name, '/');
    return true;
}

/* Reads a member, whatever it is, and passes it: the next one is at an even offset. */
static bool read_member(Archive *a, ArchiveMember *m) {
    Str rest = {a->bytes.ptr + a->at, a->bytes.len - a->at};
    uint32_t size;
    if (rest.len < HEADER_SIZE)
        return archive_fail(a, "the header of a member is cut off");
    if (memcmp(rest.ptr + END_AT, "`\n", 2) != 0 ||
        !archive_number_of((Str){rest.ptr + SIZE_AT, SIZE_SIZE}, &size))
        return archive_fail(a, "expected the header of a member");
    if (size > rest.len - HEADER_SIZE)
        return archive_fail(a, "a member is longer than the archive");
    m->name = without_end((Str){rest.ptr, NAME_SIZE}, ' ');
    m->content = (Str){rest.ptr + HEADER_SIZE, size};
    uint32_t all = HEADER_SIZE + size;
    a->at += all + (all % 2 && all < rest.len);
    return true;
}

/* The tables of symbols, of 32 and of 64 bits, of GNU and of BSD. */
static bool is_symbols(Str name) {
    return !name.len || str_is(name, "/SYM64") || str_begins(name, STR("__.SYMDEF"));
}

bool archive_next(Archive *a, ArchiveMember *m) {
    if (str_begins(a->bytes, STR(THIN)))
        return archive_fail(
            a, "a thin archive has only the names of its members: give the members themselves");
    if (!a->at)
        a->at = MAGIC_SIZE;
    while (a->at < a->bytes.len) {
        uint32_t start = a->at;
        if (!read_member(a, m))
            return false;
        if (str_is(m->name, "//")) {
            a->names = m->content;
        } else if (!archive_find_name(a, m)) {
            a->at = start;
            return false;
        } else if (!is_symbols(m->name)) {
            return true;
        }
    }
    return false;
}
