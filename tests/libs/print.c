/*
 * print.c - a library for tests: prints, and asks the host, through WASI.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define EXPORT(name) __attribute__((export_name(name)))

static int32_t lines;

/* Prints a line with two numbers; how many lines there are now. */
EXPORT("print_pair") int32_t print_pair(int32_t a, int64_t b) {
    printf("%d: %08x %lld\n", ++lines, (unsigned)a, (long long)b);
    fflush(stdout);
    return lines;
}

/* Prints a line of `n` letters, which may be longer than any buffer; how many bytes were written.
 */
EXPORT("print_long") int32_t print_long(int32_t n) {
    char *text = malloc((size_t)n + 1);
    for (int32_t i = 0; i < n; i++)
        text[i] = (char)('a' + i % 26);
    text[n] = '\n';
    int32_t written = (int32_t)fwrite(text, 1, (size_t)n + 1, stdout);
    fflush(stdout);
    free(text);
    lines++;
    return written;
}

/* Writes to standard error, unbuffered. */
EXPORT("warn") void warn(int32_t code) {
    fprintf(stderr, "warning %d\n", (int)code);
}

/* 1 if the clock runs and does not run backwards. */
EXPORT("clock_runs") int32_t clock_runs(void) {
    struct timespec a, b, step;
    return clock_gettime(CLOCK_MONOTONIC, &a) == 0 && clock_gettime(CLOCK_MONOTONIC, &b) == 0 &&
           clock_getres(CLOCK_MONOTONIC, &step) == 0 &&
           (b.tv_sec > a.tv_sec || (b.tv_sec == a.tv_sec && b.tv_nsec >= a.tv_nsec));
}

/* 1 if two random numbers of 64 bytes differ. */
EXPORT("is_random") int32_t is_random(void) {
    char a[64] = {0}, b[64] = {0};
    return getentropy(a, sizeof a) == 0 && getentropy(b, sizeof b) == 0 &&
           memcmp(a, b, sizeof a) != 0;
}

/* The length of the environment variable WHAMM_TEST, or -1. */
EXPORT("environment") int32_t environment(void) {
    const char *value = getenv("WHAMM_TEST");
    return value ? (int32_t)strlen(value) : -1;
}

/* Writes a number to the file print.txt and reads it back; -1 = there is no such directory. */
EXPORT("through_file") int32_t through_file(int32_t n) {
    FILE *f = fopen("print.txt", "w+");
    int back = -1;
    if (!f)
        return -1;
    fprintf(f, "the number is %d\n", (int)n);
    rewind(f);
    if (fscanf(f, "the number is %d", &back) != 1)
        back = -2;
    if (ftell(f) < 14)
        back = -3;
    fclose(f);
    return back;
}

/* Reads a line of standard input; its length without the newline, -1 = there is none. */
EXPORT("read_line") int32_t read_line(void) {
    char line[256];
    if (!fgets(line, sizeof line, stdin))
        return -1;
    return (int32_t)strcspn(line, "\n");
}
