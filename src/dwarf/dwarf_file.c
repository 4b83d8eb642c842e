/*
 * dwarf/dwarf_file.c - the tables of directories and files of line programs, and paths.
 */
#include "dwarf/dwarf_parts.h"

/* Attributes of an entry. */
enum { FORMATS_MAX = 16 };

/* Members of entries in version 5. */
enum { LNCT_PATH = 1, LNCT_DIRECTORY_INDEX = 2 };

/* ---- tables ---- */

/* Up to version 4: strings up to an empty one, then files up to an empty name. */
static void read_old_tables(DwarfLines *l, DwarfCursor *c) {
    for (Str s; (s = dwarf_string(c)).len;)
        vec_push(&l->directories, s);
    for (Str s; (s = dwarf_string(c)).len;) {
        DwarfFileEntry file = {.name = s};
        file.directory = (uint32_t)dwarf_uleb(c);
        dwarf_uleb(c); /* time */
        dwarf_uleb(c); /* size */
        vec_push(&l->files, file);
    }
}

typedef struct Format {
    uint32_t content;
    DwarfFormInfo form;
} Format;

static uint32_t read_formats(DwarfCursor *c, Format formats[FORMATS_MAX]) {
    uint32_t n = dwarf_u8(c);
    if (n > FORMATS_MAX)
        dwarf_fail_read(c);
    for (uint32_t i = 0; i < n && !c->failed; i++) {
        formats[i].content = (uint32_t)dwarf_uleb(c);
        formats[i].form = dwarf_form_info((uint32_t)dwarf_uleb(c));
    }
    return n;
}

/* An entry of version 5: a directory, or a file. */
static DwarfFileEntry dwarf_file_read_entry(const Dwarf *d, const DwarfLines *l, DwarfCursor *c,
                                            const Format *formats, uint32_t n) {
    const DwarfUnit *u = &d->units.at[l->unit];
    DwarfFileEntry file = {0};
    for (uint32_t i = 0; i < n; i++) {
        DwarfValue v = dwarf_value(c, formats[i].form, 0, l->address_size, l->offset_size);
        if (formats[i].content == LNCT_PATH)
            file.name = dwarf_text(d, u, v);
        else if (formats[i].content == LNCT_DIRECTORY_INDEX)
            file.directory = dwarf_small(v);
    }
    return file;
}

static void read_new_tables(const Dwarf *d, DwarfLines *l, DwarfCursor *c) {
    for (int files = 0; files < 2; files++) {
        Format formats[FORMATS_MAX];
        uint32_t nformats = read_formats(c, formats);
        uint64_t n = dwarf_uleb(c);
        for (uint64_t i = 0; i < n && !c->failed; i++) {
            const uint8_t *before = c->at;
            DwarfFileEntry entry = dwarf_file_read_entry(d, l, c, formats, nformats);
            if (c->failed || c->at == before) /* entries without bytes could be any number */
                return;
            if (files)
                vec_push(&l->files, entry);
            else
                vec_push(&l->directories, entry.name);
        }
    }
}

static void read_tables(const Dwarf *d, DwarfLines *l) {
    DwarfCursor c = dwarf_cursor(d->s.line, l->tables, l->program);
    l->tables_read = true;
    if (l->version < 5)
        read_old_tables(l, &c);
    else
        read_new_tables(d, l, &c);
}

/* ---- paths ---- */

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* "/...", "\...", "C:/...", "C:\...", "scheme:/...". */
static bool is_absolute(Str path) {
    uint32_t n = 0;
    if (path.len && (*path.ptr == '/' || *path.ptr == '\\'))
        return true;
    while (n < path.len && is_letter(path.ptr[n]))
        n++;
    return n && n + 1 < path.len && path.ptr[n] == ':' &&
           (path.ptr[n + 1] == '/' || (n == 1 && path.ptr[n + 1] == '\\'));
}

static void dwarf_file_append(Buf *path, Str part) {
    if (!part.len)
        return;
    if (path->len && path->data[path->len - 1] != '/')
        buf_u8(path, '/');
    buf_str(path, part);
}

/* The length of the root, which ".." cannot leave: "/", "C:/", "scheme://", or nothing. */
static size_t dwarf_file_root_length(Str path) {
    uint32_t n = 0;
    if (is_absolute(path))
        while (n < path.len && path.ptr[n] != '/')
            n++;
    while (n < path.len && path.ptr[n] == '/')
        n++;
    return path.len && (*path.ptr == '/' || is_absolute(path)) ? n : 0;
}

static bool is_up(const uint8_t *part, size_t len) {
    return len == 2 && part[0] == '.' && part[1] == '.';
}

/* The length of the path without its last folder, or `root`; the path ends with a slash. */
static size_t dwarf_file_leave_folder(const Buf *path, size_t root, size_t len) {
    for (len -= len > root; len > root && path->data[len - 1] != '/';)
        len--;
    return len;
}

/* Removes "." and empty parts, and folders that ".." leaves: "/src/./lib.h" and "/src/sub/../lib.h"
 * are "/src/lib.h", which other units may call it. True if there was a "..". */
static bool make_plain(Buf *path) {
    size_t root = dwarf_file_root_length(buf_view(path)), out = root;
    bool any_up = false;
    for (size_t i = root; i < path->len;) {
        const uint8_t *part = path->data + i, *slash = memchr(part, '/', path->len - i);
        size_t len = slash ? (size_t)(slash - part) : path->len - i, kept = len + (slash != NULL);
        size_t before = dwarf_file_leave_folder(path, root, out);
        bool up = is_up(part, len);
        any_up |= up;
        i += kept;
        if (up && (root || (out && !is_up(path->data + before, out - before - 1)))) {
            out = before;
        } else if (len && !(len == 1 && *part == '.')) {
            memmove(path->data + out, part, kept);
            out += kept;
        }
    }
    path->len = out;
    return any_up;
}

static Str directory_of(const DwarfLines *l, uint32_t index) {
    if (l->version < 5)
        index--; /* 0 is the compilation directory */
    return index < l->directories.len ? l->directories.at[index] : (Str){0};
}

static Str make_path(Dwarf *d, const DwarfLines *l, const DwarfFileEntry *file) {
    Buf path = {0};
    Str directory = directory_of(l, file->directory);
    bool absolute = is_absolute(file->name);
    if (!absolute && !is_absolute(directory))
        dwarf_file_append(&path, d->units.at[l->unit].directory);
    if (!absolute)
        dwarf_file_append(&path, directory);
    dwarf_file_append(&path, file->name);
    Buf recorded = {0};
    buf_bytes(&recorded, path.data, path.len);
    bool left = make_plain(&path);
    Str kept = path_pool_keep(&d->paths, buf_view(&path));
    if (left && kept.len)
        vec_push(&d->changed, ((DwarfPath){kept, path_pool_keep(&d->paths, buf_view(&recorded))}));
    buf_free(&recorded);
    buf_free(&path);
    return kept;
}

Str dwarf_path(Dwarf *d, uint32_t lines, uint32_t file) {
    if (lines == NONE)
        return (Str){0};
    DwarfLines *l = &d->lines.at[lines];
    if (!l->tables_read)
        read_tables(d, l);
    if (l->version < 5)
        file--; /* 0 is none */
    if (file >= l->files.len)
        return (Str){0};
    DwarfFileEntry *entry = &l->files.at[file];
    if (!entry->known)
        entry->path = make_path(d, l, entry);
    entry->known = true;
    return entry->path;
}

uint32_t dwarf_changed_paths(const Dwarf *d, const DwarfPath **paths) {
    *paths = d->changed.at;
    return d->changed.len;
}
