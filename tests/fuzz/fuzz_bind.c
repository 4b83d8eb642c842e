/*
 * tests/fuzz/fuzz_bind.c - libFuzzer target for bind: any bytes as a monitor, and as a program that
 * it is attached to. No crash, and never the status that says that the output would have been
 * invalid; all calls of the monitor end.
 *
 * The input is a byte of options, the monitor and the program; where "\0asm" stands for the second
 * time the program begins.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "whammc/whammc.h"

static const unsigned char magic[] = {0, 'a', 's', 'm'};

static size_t find_program(const uint8_t *bytes, size_t size) {
    for (size_t at = 1; at + sizeof magic <= size; at++)
        if (memcmp(bytes + at, magic, sizeof magic) == 0)
            return at;
    return size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 1)
        return 0;
    whammc_options options = {.host = (whammc_host)(data[0] % 4),
                              .no_optimise = data[0] >> 5 & 1,
                              .exact_traps = data[0] >> 6 & 1,
                              .no_coalesce = data[0] >> 7};
    size_t at = 1 + find_program(data + 1, size - 1), out_size;
    whammc *w = whammc_new();
    uint8_t *out;
    whammc_add_monitor(w, "monitor.wasm", data + 1, at - 1);
    whammc_status status =
        whammc_bind(w, "program.wasm", data + at, size - at, &options, &out, &out_size);
    const char *messages = whammc_messages(w, 0);
    if (status == WHAMMC_INTERNAL || (status == WHAMMC_ERROR && !whammc_error_count(w))) {
        fputs(messages, stderr);
        abort();
    }
    whammc_release(out);
    whammc_free(w);
    return 0;
}
