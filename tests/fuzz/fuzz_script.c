/*
 * tests/fuzz/fuzz_script.c - libFuzzer target: parses and checks a script, renders the tree and all
 * messages; checks it again with the events and names that there are; formats it twice.
 */
#include "tests/unit/fake_scope.h"
#include "whammc/whammc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_whole(const char *text, size_t size) {
    whammc *w = whammc_new();
    whammc_add_script(w, "fuzz.whamm", text, size);
    whammc_status status = whammc_check(w);
    if (status == WHAMMC_INTERNAL || (status == WHAMMC_OK) != (whammc_error_count(w) == 0))
        abort();
    whammc_messages(w, 0);
    whammc_free(w);
}

static void format_twice(const char *text, size_t size) {
    char *first = NULL, *second = NULL;
    size_t len = 0, again = 0;
    whammc *w = whammc_new();
    whammc_status status = whammc_format_script(w, "fuzz.whamm", text, size, &first, &len);
    if (status == WHAMMC_INTERNAL || (status == WHAMMC_OK) != (whammc_error_count(w) == 0))
        abort();
    if (status == WHAMMC_OK &&
        (whammc_format_script(w, "fuzz.whamm", first, len, &second, &again) != WHAMMC_OK ||
         len != again || memcmp(first, second, len) != 0))
        abort();
    whammc_release(first);
    whammc_release(second);
    whammc_free(w);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    check_whole((const char *)data, size);
    format_twice((const char *)data, size);
    Diags diags = {0};
    Script script = {0};
    Buf out = {0};
    DiagFileId file = diag_file(&diags, "fuzz.whamm", data, size, false);
    bool ok = lang_parse(&script, (const char *)data, size, file, &diags);
    /* broken trees must not crash the checker either */
    if (fake_check(&script, &diags) && ok && diags.errors)
        abort();
    lang_dump(&script, &out);
    diag_render_text(&diags, &out, true);
    diag_render_json(&diags, &out);
    if (!ok && !diags.errors)
        abort();
    buf_free(&out);
    script_free(&script);
    diag_free(&diags);
    return 0;
}
