/*
 * cli/names_file.c - the file of --names.
 */
#include "cli/cli.h"

bool names_give(const Cli *cli, const char *app_path, const char *path, Buf *app) {
    Buf names = {0};
    if (!path)
        return true;
    if (!file_read(cli, path, &names))
        return false;
    whammc *w = whammc_new();
    uint8_t *out;
    size_t size;
    whammc_status status =
        whammc_name_functions(w, file_title(app_path), app->data, app->len, file_title(path),
                              names.data, names.len, &out, &size);
    bool ok = message_library(cli, w, status) == STATUS_OK;
    if (ok) {
        buf_free(app);
        *app = (Buf){.data = out, .len = size, .cap = size};
    }
    whammc_free(w);
    buf_free(&names);
    return ok;
}
