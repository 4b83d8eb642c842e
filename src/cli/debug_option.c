/*
 * cli/debug_option.c - the options --debug-file and --path-map, and the files with debug
 * information that programs name.
 */
#include "cli/cli.h"

bool debug_option(const Cli *cli, DebugOptions *o, int key, const char *value) {
    if (key == OPTION_DEBUG_FILE) {
        o->file = value;
        return true;
    }
    const char *equals = strchr(value, '=');
    if (!equals || equals == value) {
        cli_usage(cli, "--path-map=%s: expected FROM=TO", value);
        return false;
    }
    const char *from = arena_strndup(&o->texts, value, (size_t)(equals - value));
    vec_push(&o->maps, ((whammc_path_map){from, equals + 1}));
    return true;
}

/* Returns the path of a file that the program at `app_path` names: "file:///PATH", or relative to
 * it. NULL: another URL. */
static const char *path_of(Arena *texts, const char *app_path, const char *name) {
    if (strncmp(name, "file://", 7) == 0)
        return name + 7;
    if (strstr(name, "://"))
        return NULL;
    const char *slash = strrchr(app_path, '/');
    if (*name == '/' || !slash)
        return name;
    return arena_printf(texts, "%.*s%s", (int)(slash + 1 - app_path), app_path, name);
}

/* Reads the file that the program names, when locations are first needed. */
static void read_named(void *ctx) {
    DebugOptions *o = ctx;
    const char *name;
    size_t len = whammc_debug_reference(o->app->data, o->app->len, &name);
    if (!len || memchr(name, 0, len))
        return;
    name = arena_strndup(&o->texts, name, len);
    const char *path = path_of(&o->texts, o->app_path, name);
    o->info.named_name = path ? path : name;
    buf_reserve(&o->named, 1);
    if (path && file_read_source(path, INT32_MAX, &o->named)) {
        o->info.named = o->named.data;
        o->info.named_size = o->named.len;
    }
}

bool debug_prepare(const Cli *cli, DebugOptions *o, const char *app_path, const Buf *app) {
    o->info.maps = o->maps.at;
    o->info.nmaps = o->maps.len;
    if (o->file) {
        if (!file_read(cli, o->file, &o->contents))
            return false;
        o->info.file_name = file_title(o->file);
        o->info.file = o->contents.data ? o->contents.data : (const uint8_t *)"";
        o->info.file_size = o->contents.len;
    } else {
        o->app_path = app_path;
        o->app = app;
        o->info.prepare = read_named;
        o->info.ctx = o;
    }
    return true;
}

bool debug_give(const Cli *cli, DebugOptions *o, whammc *w, const char *app_path, const Buf *app,
                bool frames) {
    o->info.no_frames = !frames;
    whammc_locate(w, &o->info);
    return debug_prepare(cli, o, app_path, app);
}

void debug_free(DebugOptions *o) {
    vec_free(&o->maps);
    arena_free(&o->texts);
    buf_free(&o->contents);
    buf_free(&o->named);
}
