/*
 * tests/unit/locations.c - prints the source location of every instruction of a module, for
 * tests/checks/locations. A line for each: the address (an offset in the code section's contents),
 * then for each frame, from the innermost, a tab and FUNCTION|LINKAGE|FILE|LINE|COLUMN.
 *
 *     locations [-d DEBUG_FILE] MODULE
 *     locations -t [-d DEBUG_FILE] MODULE   only asks, and prints how long it took
 */
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "locations/locations.h"
#include "file.h"
#include "valid/valid.h"

static void print_frames(uint32_t address, const LocationFrame *frames, uint32_t n) {
    printf("%u", address);
    for (uint32_t i = 0; i < n; i++) {
        const LocationFrame *f = &frames[i];
        printf("\t%.*s|%.*s|%.*s|%u|%u", STR_ARG(f->function), STR_ARG(f->linkage),
               STR_ARG(f->file), f->line, f->column);
    }
    putchar('\n');
}

/* The file offset of the code section's contents. */
static uint32_t code_start(const WasmModule *m) {
    for (uint32_t i = 0; i < m->sections.len; i++)
        if (m->sections.at[i].id == WASM_SEC_CODE)
            return m->sections.at[i].payload;
    return 0;
}

/* Asks about each function, so that everything is read. */
static void ask_functions(const WasmModule *m, Locations *l) {
    const LocationFrame *frames;
    for (uint32_t f = 0; f < m->funcs.len; f++)
        locations_at(l, f, 0, &frames);
}

/* Asks about each instruction; returns how many have a location. */
static uint32_t ask_all(const WasmModule *m, Locations *l, bool print, uint32_t *asked) {
    uint32_t known = 0, code = code_start(m);
    for (uint32_t f = 0; f < m->funcs.len; f++) {
        WasmCode c;
        WasmInstr i;
        const LocationFrame *frames;
        if (m->funcs.at[f].import >= 0 || !wasm_func_code(m, f, &c))
            continue;
        while (wasm_next(&c, &i)) {
            uint32_t n = locations_at(l, f, i.offset, &frames);
            known += n > 0;
            ++*asked;
            if (print)
                print_frames(m->funcs.at[f].body - code + i.offset, frames, n);
        }
    }
    return known;
}

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* The most memory that the process has had, in MB. */
static long memory(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss >> 10;
}

static void print_time(const double times[4], uint32_t asked, uint32_t known, long before) {
    printf("%u of %u instructions have locations; opened in %.1f ms, read in %.1f ms, asked in "
           "%.1f ms, %ld MB\n",
           known, asked, (times[1] - times[0]) * 1e3, (times[2] - times[1]) * 1e3,
           (times[3] - times[2]) * 1e3, memory() - before);
}

int main(int argc, char **argv) {
    bool timed = false;
    Buf bytes = {0}, debug = {0}, text = {0};
    LocationOptions options = {0};
    int k = 1;
    for (; k < argc - 1; k++) {
        if (strcmp(argv[k], "-t") == 0)
            timed = true;
        else if (strcmp(argv[k], "-d") == 0 && read_file(argv[++k], &debug))
            options.debug =
                (LocationFile){argv[k], str_of(argv[k]), {(char *)debug.data, (uint32_t)debug.len}};
    }
    if (k != argc - 1 || !read_file(argv[k], &bytes)) {
        fprintf(stderr, "usage: locations [-t] [-d DEBUG_FILE] MODULE\n");
        return 2;
    }
    Diags diags = {0};
    WasmModule m;
    options.program = str_of(argv[k]);
    uint32_t asked = 0, known = 0;
    DiagFileId file = diag_file(&diags, argv[k], bytes.data, bytes.len, true);
    if (wasm_load(&m, bytes.data, bytes.len, file, &diags)) {
        long before = memory();
        double times[4] = {seconds()};
        Locations *l = locations_open(&m, &options, &diags);
        times[1] = seconds();
        if (timed)
            ask_functions(&m, l);
        times[2] = seconds();
        known = ask_all(&m, l, !timed, &asked);
        times[3] = seconds();
        if (timed)
            print_time(times, asked, known, before);
        locations_close(l, &diags);
    }
    wasm_module_free(&m);
    diag_render_text(&diags, &text, false);
    fputs(buf_cstr(&text), stderr);
    bool failed = diags.errors > 0;
    diag_free(&diags);
    buf_free(&text);
    buf_free(&bytes);
    buf_free(&debug);
    return failed;
}
