/*
 * tests/unit/link.c - instruments a program for test_import.mjs, through the public library:
 *
 *     link SCRIPT IN.wasm OUT.wasm [OPTION=VALUE...]    link host storage report format
 *     link --runtime OUT.wasm
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <whammc/whammc.h>

static char *read_file(const char *path, size_t *size) {
    FILE *f = fopen(path, "rb");
    if (!f)
        return NULL;
    fseek(f, 0, SEEK_END);
    long end = ftell(f);
    rewind(f);
    char *bytes = end < 0 ? NULL : malloc((size_t)end + 1);
    *size = bytes ? fread(bytes, 1, (size_t)end, f) : 0;
    fclose(f);
    return bytes;
}

static int write_file(const char *path, const void *bytes, size_t size) {
    FILE *f = fopen(path, "wb");
    int ok = f && fwrite(bytes, 1, size, f) == size;
    if (f && fclose(f) != 0)
        ok = 0;
    if (!ok)
        fprintf(stderr, "cannot write %s\n", path);
    return ok ? 0 : 1;
}

static int option(whammc_options *o, const char *word) {
    static const struct {
        const char *word;
        int link, host, storage, format;
    } words[] = {
        {"link=merge", 0, 0, 0, 0},
        {"link=import", WHAMMC_LINK_IMPORT, 0, 0, 0},
        {"host=auto", 0, 0, 0, 0},
        {"host=wasi", 0, WHAMMC_HOST_WASI, 0, 0},
        {"host=js", 0, WHAMMC_HOST_JS, 0, 0},
        {"host=none", 0, WHAMMC_HOST_NONE, 0, 0},
        {"storage=globals", 0, 0, WHAMMC_STORAGE_GLOBALS, 0},
        {"storage=memory", 0, 0, WHAMMC_STORAGE_MEMORY, 0},
        {"format=csv", 0, 0, 0, 0},
        {"format=json", 0, 0, 0, WHAMMC_FORMAT_JSON},
        {"format=csv-rfc4180", 0, 0, 0, WHAMMC_FORMAT_CSV_RFC4180},
    };
    if (strncmp(word, "report=", 7) == 0) {
        o->report = word + 7;
        return 1;
    }
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcmp(words[i].word, word) != 0)
            continue;
        o->link = (whammc_link)((int)o->link | words[i].link);
        o->host = (whammc_host)((int)o->host | words[i].host);
        o->storage = (whammc_storage)((int)o->storage | words[i].storage);
        o->format = (whammc_format)((int)o->format | words[i].format);
        return 1;
    }
    fprintf(stderr, "link: what is %s?\n", word);
    return 0;
}

static int instrument(char **argv, const whammc_options *options) {
    size_t script_size, size, out_size;
    char *script = read_file(argv[1], &script_size), *bytes = read_file(argv[2], &size);
    uint8_t *out = NULL;
    int status = 1;
    whammc *w = whammc_new();
    if (script && bytes) {
        whammc_add_script(w, argv[1], script, script_size);
        if (whammc_instrument(w, argv[2], bytes, size, options, &out, &out_size) == WHAMMC_OK)
            status = write_file(argv[3], out, out_size);
        fputs(whammc_messages(w, 0), stderr);
    }
    whammc_release(out);
    whammc_free(w);
    free(script);
    free(bytes);
    return status;
}

int main(int argc, char **argv) {
    if (argc == 3 && strcmp(argv[1], "--runtime") == 0) {
        size_t size;
        const void *bytes = whammc_runtime(&size);
        return write_file(argv[2], bytes, size);
    }
    whammc_options options = {0};
    int ok = argc >= 4;
    for (int i = 4; ok && i < argc; i++)
        ok = option(&options, argv[i]);
    return ok ? instrument(argv, &options) : 2;
}
