/*
 * tests/fuzz/fuzz_script.c - libFuzzer target: parses and checks a script, renders the tree and all messages.
 */
#include "tests/unit/fake_scope.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
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
