/*
 * tests/fuzz/fuzz_wat.c - libFuzzer target for how the command line reads modules in the text
 * format: what is one, and what becomes of wat2wasm's messages. The input is the text, two zero
 * bytes, and what wat2wasm said.
 */
#include <stdlib.h>

#include "wasm/wat.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const uint8_t end[2];
    const uint8_t *behind = size ? memmem(data, size, end, sizeof end) : NULL;
    size_t len = behind ? (size_t)(behind - data) : size;
    Diags diags = {0};
    Buf text = {0}, said = {0}, out = {0};
    buf_bytes(&text, data, len);
    if (behind)
        buf_bytes(&said, behind + sizeof end, size - len - sizeof end);
    wat_is_module("module", &text);
    DiagFileId file = diag_file(&diags, "module.wat", text.data, text.len, false);
    if (wat_messages(&diags, file, &text, buf_cstr(&said)) != (diags.list.len > 0))
        abort();
    for (uint32_t i = 0; i < diags.list.len; i++)
        if (diags.list.at[i]->span.end > text.len)
            abort();
    diag_render_text(&diags, &out, true);
    diag_render_json(&diags, &out);
    buf_free(&out);
    buf_free(&said);
    buf_free(&text);
    diag_free(&diags);
    return 0;
}
