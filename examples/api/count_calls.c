/*
 * count_calls.c - instruments a module without a script: counts how often each function is called.
 *
 *     count_calls in.wasm out.wasm
 *
 * Each function gets a counter, a global that is exported as "calls:<number>:<name>". Read them
 * from outside, for example with `instance.exports["calls:3:main"].value` in JavaScript.
 */
#include <stdio.h>
#include <stdlib.h>
#include <whammc/module.h>

static uint8_t *read_file(const char *path, size_t *size) {
    FILE *f = fopen(path, "rb");
    if (!f)
        return NULL;
    fseek(f, 0, SEEK_END);
    long end = ftell(f);
    rewind(f);
    uint8_t *bytes = end < 0 ? NULL : malloc((size_t)end + 1);
    *size = bytes ? fread(bytes, 1, (size_t)end, f) : 0;
    fclose(f);
    return bytes;
}

static bool write_file(const char *path, const uint8_t *bytes, size_t size) {
    FILE *f = fopen(path, "wb");
    if (!f)
        return false;
    bool ok = fwrite(bytes, 1, size, f) == size;
    return fclose(f) == 0 && ok;
}

/* counter = counter + 1, at the entry of the function. */
static bool count_calls(WhammcModule *m, uint32_t func, WhammcCode *code) {
    char name[300];
    snprintf(name, sizeof name, "calls:%u:%s", func, whammc_module_func_name(m, func));
    uint32_t counter = whammc_module_add_global(m, WHAMMC_I64, true, name, 0);
    whammc_code_clear(code);
    whammc_code_global_get(code, counter);
    whammc_code_i64_const(code, 1);
    whammc_code_op(code, "i64.add", NULL, 0);
    whammc_code_global_set(code, counter);
    return whammc_module_add_export(m, name, WHAMMC_GLOBAL, counter) &&
           whammc_module_attach(m, func, 0, WHAMMC_ENTRY, code);
}

static bool instrument(WhammcModule *m, const char *path) {
    WhammcCode *code = whammc_code_new();
    uint32_t first = whammc_module_imports(m, WHAMMC_FUNC);
    uint32_t end = whammc_module_count(m, WHAMMC_FUNC);
    bool ok = true;
    for (uint32_t func = first; ok && func < end; func++)
        ok = count_calls(m, func, code);
    uint8_t *out = NULL;
    size_t size = 0;
    ok = ok && whammc_module_write(m, &out, &size);
    if (!ok)
        fprintf(stderr, "count_calls: %s\n", whammc_module_error(m));
    else if (!(ok = write_file(path, out, size)))
        perror(path);
    whammc_release(out);
    whammc_code_free(code);
    return ok;
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: count_calls in.wasm out.wasm\n");
        return 2;
    }
    size_t size = 0;
    uint8_t *bytes = read_file(argv[1], &size);
    if (!bytes) {
        perror(argv[1]);
        return 1;
    }
    char *error = NULL;
    WhammcModule *m = whammc_module_read(bytes, size, &error);
    free(bytes);
    if (!m) {
        fprintf(stderr, "count_calls: %s: %s\n", argv[1], error);
        whammc_release(error);
        return 1;
    }
    bool ok = instrument(m, argv[2]);
    whammc_module_free(m);
    return !ok;
}
