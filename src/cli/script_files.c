/*
 * cli/script_files.c - scripts of the command line: files, or bundled scripts.
 */
#include "cli/cli.h"

#include <errno.h>
#include <sys/stat.h>

void script_list(Buf *out) {
    int width = 0;
    const char *name;
    for (size_t i = 0; (name = whammc_bundled_name(i)); i++) {
        int w = (int)strlen(name);
        width = w > width ? w : width;
    }
    for (size_t i = 0; (name = whammc_bundled_name(i)); i++) {
        size_t len;
        const char *text = whammc_bundled_script(name, &len);
        const char *what = text + strlen("// : ") + strlen(name); /* "// NAME: WHAT" */
        buf_printf(out, "%-*s  %.*s\n", width, name, (int)strcspn(what, "\n"), what);
    }
}

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
