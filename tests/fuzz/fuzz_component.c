/*
 * tests/fuzz/fuzz_component.c - reads and validates any bytes as a component. Of what is valid every
 * index that the reader has noted names something, and reads back as it was noted.
 */
#include "component/component.h"

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Diags diags = {0};
    Component c;
    if (component_load(&c, data, size, 0, 1, &diags))
        check_uses(&c);
    else if (!diags.errors)
        abort();
    component_free(&c);
    diag_free(&diags);
    return 0;
}
