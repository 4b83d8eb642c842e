/*
 * cli/script.c - scripts of the command line: files, or scripts that come with whammc.
 */
#include "cli/cli.h"

#include <errno.h>
#include <unistd.h>

/* A script that is not there. What looks like a name, not like a file, may be one of ours. */
static void missing(const Cli *cli, const char *path) {
    Buf names = {0}, stem = {0};
    const char *name;
    size_t len;
    buf_bytes(&stem, path, strcspn(path, "."));
    for (size_t i = 0; (name = whammc_bundled_name(i)); i++)
        buf_printf(&names, "%s%s", i ? ", " : "scripts that come with whammc: ", name);
    bool meant = !strchr(path, '.') || whammc_bundled_script(buf_cstr(&stem), &len);
    message_one(cli, DIAG_CANNOT_READ, meant ? buf_cstr(&names) : NULL, "%s: %s", path,
                strerror(ENOENT));
    buf_free(&names);
    buf_free(&stem);
}

bool script_add(const Cli *cli, whammc *w, const char *path) {
    Buf text = {0};
    bool name = !strchr(path, '/') && strcmp(path, "-") != 0;
    if (!name || access(path, F_OK) == 0 || errno != ENOENT) {
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
