/*
 * cli/script_files.c - scripts of the command line: files, or bundled scripts; and the files that
 * they include: beside the including one, in the folders of --include-dir, then in those of
 * WHAMMC_PATH.
 */
#include "cli/cli.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Returns the bundled script that was probably meant by this name, or NULL. */
static const char *guess(const char *word) {
    Vec(const char *) names = {0};
    const char *name;
    for (size_t i = 0; (name = whammc_bundled_name(i)); i++)
        vec_push(&names, name);
    name = cli_guess(word, names.at, names.len);
    vec_free(&names);
    return name;
}

/* Reports a missing script; a name, unlike a path, may be meant as a bundled script. */
static void missing(const Cli *cli, const char *path) {
    const char *ending = strrchr(path, '.');
    bool is_name = !ending;
    Buf word = {0}, hint = {0};
    buf_bytes(&word, path,
              is_name || strcmp(ending, ".whamm") != 0 ? strlen(path) : (size_t)(ending - path));
    const char *meant = guess(buf_cstr(&word));
    if (meant)
        buf_printf(&hint, "did you mean '%s', which comes with whammc?%s", meant,
                   is_name ? " " : "");
    if (is_name)
        buf_str(&hint, STR("'whammc info --scripts' lists the scripts that come with whammc"));
    message_one(cli, DIAG_CANNOT_READ, hint.len ? buf_cstr(&hint) : NULL, "%s: %s", path,
                strerror(ENOENT));
    buf_free(&word);
    buf_free(&hint);
}

/* Returns false for the possible name of a bundled script: there is no file of that name, at most a
 * folder. */
static bool is_file(const char *path) {
    struct stat s;
    if (strchr(path, '/') || strcmp(path, "-") == 0)
        return true;
    if (stat(path, &s) < 0)
        return errno != ENOENT;
    size_t len;
    return !S_ISDIR(s.st_mode) || !whammc_bundled_script(path, &len);
}

bool script_add(const Cli *cli, whammc *w, const char *path) {
    Buf text = {0};
    if (is_file(path)) {
        bool ok = file_read(cli, path, &text);
        if (ok)
            whammc_add_script(w, file_title(path), (const char *)text.data, text.len);
        buf_free(&text);
        return ok;
    }
    size_t len;
    const char *bundled = whammc_bundled_script(path, &len);
    if (bundled) {
        buf_printf(&text, "%s.whamm", path);
        whammc_add_script(w, buf_cstr(&text), bundled, len);
    } else {
        missing(cli, path);
    }
    buf_free(&text);
    return bundled != NULL;
}

/* ---- included files ---- */

enum { LARGEST = 1 << 25 }; /* bytes; the library allows half of it */

static bool script_is_there(const char *path) {
    struct stat s;
    return stat(path, &s) == 0 && !S_ISDIR(s.st_mode);
}

/* Returns the path of a file in a folder, "" being the current one; NULL if there is none. */
static const char *in_folder(IncludeOptions *o, Str folder, const char *path) {
    bool slash = folder.len && folder.ptr[folder.len - 1] != '/';
    const char *at = arena_printf(&o->texts, "%.*s%s%s", STR_ARG(folder), slash ? "/" : "", path);
    return script_is_there(at) ? at : NULL;
}

static const char *in_path(IncludeOptions *o, const char *path) {
    const char *found = NULL, *folders = getenv("WHAMMC_PATH");
    while (folders && !found) {
        Str folder = {folders, (uint32_t)strcspn(folders, ":")};
        if (folder.len)
            found = in_folder(o, folder, path);
        folders = folders[folder.len] ? folders + folder.len + 1 : NULL;
    }
    return found;
}

/* The name by which the file is known, if it is a script or was included before. */
static const char *known_name(IncludeOptions *o, const char *path) {
    for (uint32_t i = 0; i < o->known.len; i++)
        if (file_same(o->known.at[i], path))
            return o->known.at[i];
    vec_push(&o->known, path);
    return path;
}

int include_find_file(void *ctx, const char *from, const char *path, whammc_file *file) {
    IncludeOptions *o = ctx;
    Str folder = {from, (uint32_t)(file_base(from) - from)};
    const char *found =
        *path == '/' ? (script_is_there(path) ? path : NULL) : in_folder(o, folder, path);
    for (uint32_t i = 0; i < o->folders.len && !found && *path != '/'; i++)
        found = in_folder(o, str_of(o->folders.at[i]), path);
    if (!found && *path != '/')
        found = in_path(o, path);
    if (!found)
        return 0;
    file->name = known_name(o, found);
    o->text.len = 0;
    errno = 0;
    if (!file_read_source(found, LARGEST, &o->text)) {
        file->problem = errno ? strerror(errno) : "it is no regular file, or too large";
        return 0;
    }
    file->text = buf_cstr(&o->text);
    file->len = o->text.len;
    return 1;
}

void include_give(IncludeOptions *o, const char *script, whammc *w) {
    if (script && strcmp(script, "-") != 0 && script_is_there(script))
        vec_push(&o->known, script);
    whammc_set_files(w, include_find_file, o,
                     "files are looked for beside the including one, then in the folders of "
                     "--include-dir and WHAMMC_PATH, then among the scripts that come with whammc");
}

const char *include_path(const IncludeOptions *o, bool here, Arena *arena) {
    const char *before = getenv("WHAMMC_PATH");
    char current[PATH_MAX] = "";
    if (!getcwd(current, sizeof current))
        return NULL;
    const char *path = here ? current : "";
    for (uint32_t i = 0; i < o->folders.len; i++) {
        const char *folder = o->folders.at[i];
        path = arena_printf(arena, "%s%s%s%s%s", path, *path ? ":" : "",
                            *folder == '/' ? "" : current, *folder == '/' ? "" : "/", folder);
    }
    return arena_printf(arena, "%s%s%s", path, before && *path ? ":" : "", before ? before : "");
}

void include_free(IncludeOptions *o) {
    vec_free(&o->folders);
    vec_free(&o->known);
    buf_free(&o->text);
    arena_free(&o->texts);
}
