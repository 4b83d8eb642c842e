/*
 * tests/fuzz/fuzz_component.c - reads and validates any bytes as a component. Of what is valid
 * every index that the reader has noted names something, and reads back as it was noted; and it is
 * instrumented: the output is never one that would have been invalid.
 */
#include "component/component.h"
#include "whammc/whammc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_uses(const Component *c) {
    for (uint32_t i = 0; i < c->uses.len; i++) {
        const ComponentUse *use = &c->uses.at[i];
        const uint8_t *at = c->bytes + use->at;
        const Component *of = c;
        for (uint32_t up = use->up; up; up--)
            of = of->parent;
        if (wasm_uleb(&at) != use->index || at != c->bytes + use->at + use->width ||
            use->index >= of->count[use->space])
            abort();
    }
    for (uint32_t i = 0; i < c->items.len; i++)
        if (c->items.at[i].kind == COMPONENT_ITEM_COMPONENT)
            check_uses(c->items.at[i].component);
}

/* With a script that counts, reads the clock and prints. */
static void instrument(const uint8_t *data, size_t size) {
    static const char script[] =
        "use time; var names: map<i32, u64>;\n"
        "wasm:func:entry { report unshared var n: u64; n++; names[fid] = time.now_ns() as u64; }\n"
        "wasm:opcode:*:after { report var all: u64; all++; }\n"
        "wasm:opcode:unreachable:before { print(\"{fid}\"); }\n";
    whammc *w = whammc_new();
    uint8_t *out;
    size_t out_size;
    whammc_add_script(w, "s.whamm", script, sizeof script - 1);
    if (whammc_instrument(w, "c.wasm", data, size, NULL, &out, &out_size) == WHAMMC_INTERNAL)
        abort();
    whammc_release(out);
    whammc_free(w);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Diags diags = {0};
    Component c;
    bool valid = component_load(&c, data, size, 0, 1, &diags);
    if (valid)
        check_uses(&c);
    else if (!diags.errors)
        abort();
    component_free(&c);
    diag_free(&diags);
    if (valid)
        instrument(data, size);
    return 0;
}
