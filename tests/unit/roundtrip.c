/*
 * tests/unit/roundtrip.c - reads each file given as argument, writes it back and compares the
 * bytes; modules then again with every body decoded and put together instruction by instruction,
 * components with every component inside open for edits. Prints "N identical, N differ, N
 * unreadable"; fails if any differ.
 */
#include <stdio.h>

#include "component/component_edit.h"
#include "edit/write.h"
#include "file.h"
#include "wasm/read.h"

typedef struct Counts {
    uint32_t identical, differ, unreadable;
} Counts;

/* Every instruction, copied one by one. */
typedef struct Copier {
    WasmModule *m;
} Copier;

static bool copy_body(void *ctx, uint32_t func, Buf *out) {
    const WasmModule *m = ((Copier *)ctx)->m;
    const WasmFunc *f = &m->funcs.at[func];
    WasmRemap none = {0};
    WasmCode c = wasm_code(m->bytes + f->body, f->body_size, 0);
    buf_bytes(out, m->bytes + f->body - f->size_width, f->size_width);
    if (!wasm_copy_locals(&c, &none, out))
        return false;
    for (WasmInstr i; wasm_next(&c, &i);)
        wasm_copy_instr(c.start + i.offset, &i, &none, out);
    if (c.error)
        printf("function %u: %s at %u\n", func, c.error, c.error_offset);
    return !c.error;
}

static bool same(const Buf *in, const Buf *out) {
    return in->len == out->len && memcmp(in->data, out->data, in->len) == 0;
}

static void open_inner(ComponentEdit *e) {
    const Component *c = component_edit_of(e);
    for (uint32_t i = 0; i < c->items.len; i++)
        if (c->items.at[i].kind == COMPONENT_ITEM_COMPONENT)
            open_inner(component_edit_inner(e, i));
}

static void check_component(const char *path, const Buf *in, Counts *counts) {
    Component c;
    Diags diags = {0};
    Buf plain = {0}, opened = {0};
    DiagFileId file = diag_file(&diags, path, in->data, in->len, true);
    if (!component_read(&c, in->data, in->len, file, &diags)) {
        counts->unreadable++;
    } else {
        ComponentEdit *e = component_edit_new(&c);
        component_edit_write(e, &plain);
        open_inner(e);
        component_edit_write(e, &opened);
        component_edit_free(e);
        bool good = same(in, &plain) && same(in, &opened);
        counts->identical += good;
        counts->differ += !good;
        if (!good)
            printf("%s: differs\n", path);
    }
    component_free(&c);
    diag_free(&diags);
    buf_free(&plain);
    buf_free(&opened);
}

static void check_module(const char *path, const Buf *in, Counts *counts) {
    Buf plain = {0}, decoded = {0};
    Diags diags = {0};
    WasmUnvalidated read = {0};
    WasmModule *m = &read.m;
    DiagFileId file = diag_file(&diags, path, in->data, in->len, true);
    bool ok = wasm_read(&read, in->data, in->len, file, NULL, &diags);
    Copier copier = {m};
    WasmWriter w = {.body = copy_body, .ctx = &copier};
    if (!ok) {
        Buf text = {0};
        diag_render_text(&diags, &text, false);
        printf("%s", buf_cstr(&text));
        buf_free(&text);
        counts->unreadable++;
    } else if (wasm_write(m, NULL, &plain) && wasm_write(m, &w, &decoded) && same(in, &plain) &&
               same(in, &decoded)) {
        counts->identical++;
    } else {
        printf("%s: differs\n", path);
        counts->differ++;
    }
    wasm_module_free(m);
    diag_free(&diags);
    buf_free(&plain);
    buf_free(&decoded);
}

static void check(const char *path, Counts *counts) {
    Buf in = {0};
    if (!read_file(path, &in))
        counts->unreadable++;
    else if (component_is(in.data, in.len))
        check_component(path, &in, counts);
    else
        check_module(path, &in, counts);
    buf_free(&in);
}

int main(int argc, char **argv) {
    Counts counts = {0};
    for (int k = 1; k < argc; k++)
        check(argv[k], &counts);
    printf("%u identical, %u differ, %u unreadable\n", counts.identical, counts.differ,
           counts.unreadable);
    return counts.differ > 0;
}
