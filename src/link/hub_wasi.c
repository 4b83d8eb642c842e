/*
 * link/hub_wasi.c - the interfaces of WASI 0.2 that a hub needs, as imports of a component: their
 * types, with no more than the hub uses.
 */
#include "link/hub_parts.h"

#include <stdio.h>

/* Whether the component imports an interface of WASI in this version. */
static bool has_version(const Component *c, const char *version) {
    for (uint32_t i = 0; i < c->items.len; i++)
        if (c->items.at[i].kind == COMPONENT_ITEM_IMPORT &&
            str_begins(c->items.at[i].import->name.name, STR("wasi:")) &&
            str_ends(c->items.at[i].import->name.name, str_of(version)))
            return true;
    return false;
}

const char *hub_free_version(const Component *c) {
    char version[24];
    uint32_t patch = 0;
    do
        snprintf(version, sizeof version, "@0.2.%u", patch++);
    while (has_version(c, version));
    return arena_strndup(c->arena, version, strlen(version));
}

static uint32_t import_interface(HubWasi *w, const char *name, uint32_t type) {
    Arena *arena = component_edit_of(w->e)->arena;
    Str full = str_of(arena_printf(arena, "wasi:%s%s", name, w->version));
    uint32_t instance = component_edit_add(w->e, 0, COMPONENT_ITEM_IMPORT, COMPONENT_SPACE_INSTANCE,
                                           "00 %n 05 %t", full, type);
    vec_push(&w->imported, (ComponentArg){{.name = full}, {COMPONENT_SPACE_INSTANCE, instance}});
    return instance;
}

/* wasi:io/streams, with all that writing needs. */
static void import_streams(HubWasi *w) {
    uint32_t type = hub_instance_type(w->e, "01 04 00 %n 03 01", STR("error"));
    uint32_t errors = import_interface(w, "io/error", type),
             error = hub_alias_type(w->e, 0, errors, "error");
    type =
        hub_instance_type(w->e,
                          "0b 02 03 02 01 %t"              /* 0: error */
                          " 04 00 %n 03 00 00"             /* 1 */
                          " 04 00 %n 03 01"                /* 2: output-stream */
                          " 01 69 01"                      /* 3: own<error> */
                          " 01 71 02 %n 01 03 00 %n 00 00" /* 4, 5: stream-error */
                          " 04 00 %n 03 00 04"
                          " 01 68 02"       /* 6: borrow<output-stream> */
                          " 01 70 7d"       /* 7: list<u8> */
                          " 01 6a 00 01 05" /* 8: result<_, stream-error> */
                          " 01 40 02 %n 06 %n 07 00 08"
                          " 04 00 %n 01 09",
                          error, STR("error"), STR("output-stream"), STR("last-operation-failed"),
                          STR("closed"), STR("stream-error"), STR("self"), STR("contents"),
                          STR("[method]output-stream.blocking-write-and-flush"));
    w->streams = import_interface(w, "io/streams", type);
    w->output_stream = hub_alias_type(w->e, 0, w->streams, "output-stream");
}

/* wasi:cli/NAME, whose function get-NAME returns an output stream. */
static uint32_t import_stream(HubWasi *w, const char *name) {
    Arena *arena = component_edit_of(w->e)->arena;
    const char *get = arena_printf(arena, "get-%s", name);
    uint32_t type = hub_instance_type(w->e,
                                      "05 02 03 02 01 %t" /* 0: output-stream */
                                      " 04 00 %n 03 00 00"
                                      " 01 69 01"
                                      " 01 40 00 00 02"
                                      " 04 00 %n 01 03",
                                      w->output_stream, STR("output-stream"), str_of(get));
    return import_interface(w, arena_printf(arena, "cli/%s", name), type);
}

/* The cases of error-code. */
static void put_error_codes(Buf *b) {
    static const char *const codes[] = {"access",
                                        "would-block",
                                        "already",
                                        "bad-descriptor",
                                        "busy",
                                        "deadlock",
                                        "quota",
                                        "exist",
                                        "file-too-large",
                                        "illegal-byte-sequence",
                                        "in-progress",
                                        "interrupted",
                                        "invalid",
                                        "io",
                                        "is-directory",
                                        "loop",
                                        "too-many-links",
                                        "message-size",
                                        "name-too-long",
                                        "no-device",
                                        "no-entry",
                                        "no-lock",
                                        "insufficient-memory",
                                        "insufficient-space",
                                        "not-directory",
                                        "not-empty",
                                        "not-recoverable",
                                        "unsupported",
                                        "no-tty",
                                        "no-such-device",
                                        "overflow",
                                        "not-permitted",
                                        "pipe",
                                        "read-only",
                                        "invalid-seek",
                                        "text-file-busy",
                                        "cross-device"};
    enum { N = sizeof codes / sizeof *codes };
    buf_uleb(b, N);
    for (uint32_t i = 0; i < N; i++) {
        Str code = str_of(codes[i]);
        buf_uleb(b, code.len);
        buf_bytes(b, code.ptr, code.len);
    }
}

/* wasi:filesystem/types, with what opening and writing a file needs. */
static uint32_t import_files(HubWasi *w) {
    Buf codes = {0};
    put_error_codes(&codes);
    uint32_t type = hub_instance_type(
        w->e,
        "14 04 00 %n 03 01" /* 0: descriptor */
        " 01 6e 01 %n"      /* 1, 2: path-flags */
        " 04 00 %n 03 00 01"
        " 01 6e 04 %n %n %n %n" /* 3, 4: open-flags */
        " 04 00 %n 03 00 03"
        " 01 6e 06 %n %n %n %n %n %n" /* 5, 6: descriptor-flags */
        " 04 00 %n 03 00 05"
        " 01 6d %b" /* 7, 8: error-code */
        " 04 00 %n 03 00 07"
        " 01 77" /* 9, 10: filesize */
        " 04 00 %n 03 00 09"
        " 01 68 00 01 69 00" /* 11, 12: handles of descriptors */
        " 01 6a 01 0c 01 08" /* 13: of open-at */
        " 01 40 05 %n 0b %n 02 %n 73 %n 04 %n 06 00 0d"
        " 04 00 %n 01 0e"
        " 01 70 7d 01 6a 01 0a 01 08" /* 15: list<u8>, 16: of write */
        " 01 40 03 %n 0b %n 0f %n 0a 00 10"
        " 04 00 %n 01 11",
        STR("descriptor"), STR("symlink-follow"), STR("path-flags"), STR("create"),
        STR("directory"), STR("exclusive"), STR("truncate"), STR("open-flags"), STR("read"),
        STR("write"), STR("file-integrity-sync"), STR("data-integrity-sync"),
        STR("requested-write-sync"), STR("mutate-directory"), STR("descriptor-flags"), &codes,
        STR("error-code"), STR("filesize"), STR("self"), STR("path-flags"), STR("path"),
        STR("open-flags"), STR("flags"), STR("[method]descriptor.open-at"), STR("self"),
        STR("buffer"), STR("offset"), STR("[method]descriptor.write"));
    buf_free(&codes);
    uint32_t files = import_interface(w, "filesystem/types", type);
    w->descriptor = hub_alias_type(w->e, 0, files, "descriptor");
    return files;
}

static uint32_t import_folders(HubWasi *w) {
    uint32_t type =
        hub_instance_type(w->e,
                          "07 02 03 02 01 %t" /* 0: descriptor */
                          " 04 00 %n 03 00 00"
                          " 01 69 01 01 6f 02 02 73 01 70 03" /* 4: list<tuple<own, string>> */
                          " 01 40 00 00 04"
                          " 04 00 %n 01 05",
                          w->descriptor, STR("descriptor"), STR("get-directories"));
    return import_interface(w, "filesystem/preopens", type);
}

static uint32_t import_clock(HubWasi *w) {
    uint32_t type =
        hub_instance_type(w->e, "04 01 77 04 00 %n 03 00 00 01 40 00 00 01 04 00 %n 01 02",
                          STR("instant"), STR("now"));
    return import_interface(w, "clocks/monotonic-clock", type);
}

static uint32_t import_exit(HubWasi *w) {
    uint32_t type = hub_instance_type(w->e, "03 01 6a 00 00 01 40 01 %n 00 01 00 04 00 %n 01 01",
                                      STR("status"), STR("exit"));
    return import_interface(w, "cli/exit", type);
}

static uint32_t import_random(HubWasi *w) {
    uint32_t type =
        hub_instance_type(w->e, "02 01 40 00 00 77 04 00 %n 01 00", STR("get-random-u64"));
    return import_interface(w, "random/random", type);
}

void hub_import_wasi(HubWasi *w, ReportDest report, HubNeeds needs) {
    import_streams(w);
    w->errors = import_stream(w, "stderr");
    w->report = report == REPORT_STDOUT ? import_stream(w, "stdout") : w->errors;
    if (report == REPORT_FILE) {
        w->files = import_files(w);
        w->folders = import_folders(w);
    }
    if (needs.now || needs.serves)
        w->clock = import_clock(w);
    if (needs.serves)
        w->random = import_random(w);
    if (needs.exit)
        w->exit = import_exit(w);
}
