/*
 * edit/new_param.c - a local of an edited body becomes a parameter of its function: the locals
 * after the parameters have other numbers then.
 */
#include "edit/new_param.h"

#include "wasm/leb.h"

#include <assert.h>

/* Writes the declarations, without the local's. */
static void new_param_put_locals(const WasmNewParam *p, WasmCode *c, Buf *out) {
    Buf groups = {0};
    uint32_t n = 0, local = p->nparams, count = 0, size = 0;
    WasmType type;
    wasm_get_u32(c, &n);
    for (; n && wasm_get_u32(c, &size) && wasm_get_type(c, false, &type); n--) {
        uint32_t left = size - (p->local >= local && p->local - local < size);
        local += size;
        if (!left)
            continue;
        buf_uleb(&groups, left);
        wasm_put_type(&groups, type);
        count++;
    }
    buf_uleb(out, count);
    buf_bytes(out, groups.data, groups.len);
    buf_free(&groups);
}

static uint32_t new_param_renumber(const WasmNewParam *p, uint32_t local) {
    if (local < p->nparams || local > p->local)
        return local;
    return local == p->local ? p->nparams : local + 1;
}

/* Moves the records of one instruction. */
typedef struct Notes {
    uint32_t *moved, *moved_end, *rare, *rare_end;
    WasmHint *hint, *hints_end;
} Notes;

static void move_notes(Notes *n, uint32_t from, uint32_t to) {
    for (; n->moved < n->moved_end; n->moved++) {
        if (*n->moved != UINT32_MAX && *n->moved > from)
            break;
        if (*n->moved == from)
            *n->moved = to;
    }
    for (; n->rare < n->rare_end && *n->rare <= from; n->rare++)
        if (*n->rare == from)
            *n->rare = to;
    for (; n->hint < n->hints_end; n->hint++) {
        if (n->hint->moved != UINT32_MAX && n->hint->moved > from)
            break;
        if (n->hint->moved == from)
            n->hint->moved = to;
    }
}

void wasm_new_param(const WasmNewParam *p, size_t base, Buf *out) {
    assert(base <= out->len);
    Buf old = {0};
    buf_bytes(&old, out->data + base, out->len - base);
    out->len = base;
    WasmCode c = wasm_code(old.data, (uint32_t)old.len, 0);
    uint32_t *moved_end = p->nmoved ? p->moved + p->nmoved : p->moved;
    uint32_t *rare_end = p->nrare ? p->rare + p->nrare : p->rare;
    Notes notes = {p->moved, moved_end, p->rare, rare_end, p->hints, p->hints_end};
    WasmInstr i;
    new_param_put_locals(p, &c, out);
    while (wasm_next(&c, &i)) {
        move_notes(&notes, i.offset, (uint32_t)(out->len - base));
        if (wasm_ops[i.op].category == WASM_CAT_LOCAL) {
            wasm_put_op(out, (WasmOp)i.op);
            buf_uleb(out, new_param_renumber(p, i.a));
        } else {
            buf_bytes(out, old.data + i.offset, i.size);
        }
    }
    buf_free(&old);
}
