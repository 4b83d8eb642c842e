/*
 * run/world.c - the directories and environment variables that a program has access to.
 */
#include "run/run.h"

#include <errno.h>
#include <sys/stat.h>

void words_put(Words *words, const char *name, const char *value) {
    Buf word = {0};
    buf_printf(&word, "%s%s", name, value);
    buf_cstr(&word);
    vec_push(words, (const char *)word.data);
}

const char *world_report(Place *p) {
    Buf directory = {0};
    buf_printf(&directory, "%.*s", (int)(strchr(RUN_REPORT, '/') - RUN_REPORT), RUN_REPORT);
    bool made = place_directory(p, buf_cstr(&directory));
    buf_free(&directory);
    return made ? place_path(p, RUN_REPORT) : NULL;
}

/* Checks "HOST::GUEST", or a directory for both. If it does not exist, prints a message and returns
 * false. */
static bool check_directory(const Cli *cli, const char *value) {
    const char *guest = strstr(value, "::");
    struct stat s;
    Buf host = {0};
    buf_printf(&host, "%.*s", (int)(guest ? (size_t)(guest - value) : strlen(value)), value);
    bool found = stat(buf_cstr(&host), &s) == 0;
    if (found && !S_ISDIR(s.st_mode)) {
        found = false;
        errno = ENOTDIR;
    }
    if (!found)
        cli_usage(cli, "--dir=%s: %s", value, strerror(errno));
    buf_free(&host);
    return found;
}

bool world_option(const Cli *cli, Words *world, int key, const char *value) {
    if (key == OPTION_ENV && (*value == '=' || !strchr(value, '='))) {
        cli_usage(cli, "--env=%s: expected NAME=VALUE", value);
        return false;
    }
    if (key == OPTION_DIR && !check_directory(cli, value))
        return false;
    words_put(world, key == OPTION_DIR ? "--dir=" : "--env=", value);
    return true;
}

int world_check(const Cli *cli, const Words *world, const Engine *e) {
    for (uint32_t i = 0; e->kind == ENGINE_WIZARD && i < world->len; i++) {
        const char *word = world->at[i];
        if (strncmp(word, "--dir=", 6) == 0 && strstr(word, "::"))
            return cli_usage(cli, "%s: Wizard opens directories only under their own names", word);
        if (strchr(word, ','))
            return cli_usage(cli, "%s: Wizard does not accept commas there", word);
    }
    return STATUS_OK;
}

void world_free(Words *world) {
    for (uint32_t i = 0; i < world->len; i++)
        free((char *)world->at[i]);
    vec_free(world);
}
