/*
 * tests/unit/validate.c - reads and validates the modules and components named on the command line:
 * prints "FILE: valid" or the messages. Exit status 1 if one is not valid. With -t FILE... the time
 * and MB/s instead.
 */
#include <stdio.h>
#include <time.h>

#include "component/component.h"
#include "file.h"
#include "valid/valid.h"

/* Loads a module or component. */
static bool load(const uint8_t *bytes, size_t size, DiagFileId file, Diags *diags) {
    WasmModule m;
    Component c;
    bool component = component_is(bytes, size);
    bool ok = component ? component_load(&c, bytes, size, file, 1, diags)
                        : wasm_load(&m, bytes, size, file, diags);
    if (component)
        component_free(&c);
    else
        wasm_module_free(&m);
    return ok;
}

/* One file; gives whether it is valid, and the messages in *out. */
static bool check(const char *name, const uint8_t *bytes, size_t size, Buf *out) {
    Diags diags = {0};
    DiagFileId file = diag_file(&diags, name, bytes, size, true);
    bool ok = load(bytes, size, file, &diags);
    if (ok)
        buf_printf(out, "%s: valid\n", name);
    else
        diag_render_text(&diags, out, false);
    diag_free(&diags);
    return ok;
}

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv) {
    int status = 0;
    if (argc < 2)
        puts("ok 1 - validate # SKIP it needs the names of modules");
    bool timed = argc > 1 && str_eq(str_of(argv[1]), STR("-t"));
    for (int k = timed ? 2 : 1; k < argc; k++) {
        Buf in = {0}, out = {0};
        if (!read_file(argv[k], &in)) {
            fprintf(stderr, "%s: cannot be read\n", argv[k]);
            return 2;
        }
        double from = seconds();
        if (!check(argv[k], in.data, in.len, &out))
            status = 1;
        double took = seconds() - from;
        fputs(buf_cstr(&out), stdout);
        if (timed)
            printf("%s: %.1f ms, %.0f MB/s\n", argv[k], took * 1e3, (double)in.len / 1e6 / took);
        buf_free(&out);
        buf_free(&in);
    }
    return status;
}
