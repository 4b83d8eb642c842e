/*
 * instrument.c - using libwhammc from a program: instruments a module with a script, both from
 * files.
 *
 *     instrument SCRIPT APP.wasm OUT.wasm
 *
 * Build: cc instrument.c $(pkg-config --cflags --libs whammc)
 */
#include <stdio.h>
#include <stdlib.h>
#include <whammc/whammc.h>

/* The whole file; *size without the NUL after it. NULL if it cannot be read. */
static char *slurp(const char *path, size_t *size) {
    FILE *f = fopen(path, "rb");
    char *bytes = NULL;
    if (f && fseek(f, 0, SEEK_END) == 0) {
        long end = ftell(f);
        rewind(f);
        bytes = end >= 0 ? malloc((size_t)end + 1) : NULL;
        *size = bytes ? fread(bytes, 1, (size_t)end, f) : 0;
        if (bytes)
            bytes[*size] = 0;
    }
    if (f)
        fclose(f);
    if (!bytes)
        fprintf(stderr, "instrument: cannot read %s\n", path);
    return bytes;
}

int main(int argc, char **argv) {
    if (argc != 4) {
        fprintf(stderr, "usage: instrument SCRIPT APP.wasm OUT.wasm\n");
        return 2;
    }
    size_t script_len, app_len, out_len, nprobes;
    char *script = slurp(argv[1], &script_len), *app = slurp(argv[2], &app_len);
    if (!script || !app)
        return 1;

    whammc *w = whammc_new();
    uint8_t *out;
    whammc_options options = {.host = WHAMMC_HOST_AUTO, .report = "stderr"};
    whammc_add_script(w, argv[1], script, script_len);
    whammc_status status = whammc_instrument(w, argv[2], app, app_len, &options, &out, &out_len);
    fputs(whammc_messages(w, 0), stderr);
    if (status == WHAMMC_OK) {
        const whammc_probe_stats *probes = whammc_probes(w, &nprobes);
        for (size_t i = 0; i < nprobes; i++)
            printf("%s: %llu sites\n", probes[i].rule, (unsigned long long)probes[i].sites);
        FILE *f = fopen(argv[3], "wb");
        if (!f || fwrite(out, 1, out_len, f) != out_len)
            status = WHAMMC_ERROR;
        if (f && fclose(f) != 0)
            status = WHAMMC_ERROR;
    }
    whammc_release(out);
    whammc_free(w);
    free(script);
    free(app);
    return status == WHAMMC_OK ? 0 : 1;
}
