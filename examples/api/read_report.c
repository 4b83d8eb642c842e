/*
 * read_report.c - reads the report of an instrumented program: prints all values, and what it knows
 * of calls as a profile or a picture.
 *
 *     read_report REPORT [FLAME.svg]
 *
 * Build: cc read_report.c $(pkg-config --cflags --libs whammc)
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <whammc/report.h>

static char *read_file(const char *path, size_t *size) {
    FILE *f = fopen(path, "rb");
    char *bytes = NULL;
    if (f && fseek(f, 0, SEEK_END) == 0) {
        long end = ftell(f);
        rewind(f);
        bytes = end >= 0 ? malloc((size_t)end + 1) : NULL;
        *size = bytes ? fread(bytes, 1, (size_t)end, f) : 0;
    }
    if (f)
        fclose(f);
    return bytes;
}

/* Values of any type, those inside of tuples and maps as well. */
static void print_value(const WhammcValue *v) {
    switch (v->kind) {
    case WHAMMC_VALUE_UNSIGNED: printf("%" PRIu64, v->as.u); break;
    case WHAMMC_VALUE_SIGNED: printf("%" PRId64, v->as.i); break;
    case WHAMMC_VALUE_FLOAT: printf("%.17g", v->as.f); break;
    case WHAMMC_VALUE_BOOL: printf("%s", v->as.u ? "true" : "false"); break;
    case WHAMMC_VALUE_NONE: printf("none"); break;
    case WHAMMC_VALUE_TUPLE:
    case WHAMMC_VALUE_MAP:
    case WHAMMC_VALUE_RECORD:
    case WHAMMC_VALUE_BUCKETS:
        printf("[");
        for (size_t i = 0; i < v->size; i++) {
            bool pairs = v->kind == WHAMMC_VALUE_MAP || v->kind == WHAMMC_VALUE_RECORD;
            printf("%s", !i ? "" : pairs && i % 2 ? " -> " : ", ");
            print_value(&v->as.parts[i]);
        }
        printf("]");
        break;
    default: printf("\"%s\"", v->as.text); break;
    }
}

static void print_rows(WhammcReport *r) {
    size_t nvariables, nrows;
    const WhammcVariable *variables = whammc_report_variables(r, &nvariables);
    const WhammcRow *rows = whammc_report_rows(r, &nrows);
    for (size_t i = 0; i < nrows; i++) {
        const WhammcVariable *variable = &variables[rows[i].variable];
        printf("%s: %s", variable->name, variable->type);
        if (rows[i].has_place)
            printf(" at %s+%" PRIu32, rows[i].shown_fname, rows[i].pc);
        printf(" = ");
        print_value(whammc_report_value(r, i));
        printf("\n");
    }
}

static void write_file(void *file, const void *bytes, size_t size) {
    fwrite(bytes, 1, size, file);
}

int main(int argc, char **argv) {
    if (argc < 2 || argc > 3) {
        fprintf(stderr, "usage: read_report REPORT [FLAME.svg]\n");
        return 2;
    }
    size_t size;
    char *text = read_file(argv[1], &size);
    if (!text) {
        fprintf(stderr, "read_report: cannot read %s\n", argv[1]);
        return 1;
    }
    WhammcReport *r = whammc_report_new();
    whammc_status status = whammc_report_read(r, argv[1], text, size, 0);
    free(text);
    fputs(whammc_report_messages(r, 0), stderr);
    if (status == WHAMMC_OK)
        print_rows(r);
    if (status == WHAMMC_OK && argc == 3) {
        FILE *f = fopen(argv[2], "wb");
        status =
            f ? whammc_report_write_to(r, WHAMMC_REPORT_SVG, NULL, write_file, f) : WHAMMC_ERROR;
        fputs(whammc_report_messages(r, 0), stderr);
        if (f && fclose(f) != 0)
            status = WHAMMC_ERROR;
    }
    whammc_report_free(r);
    return status == WHAMMC_OK ? 0 : 1;
}
