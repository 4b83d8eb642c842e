/*
 * wasm/remap.c - copying code while its indices follow a mapping.
 */
#include "wasm/remap.h"

#include "wasm/leb.h"

#define BIT(space) (1u << WASM_SPACE_##space)

/* The index spaces that immediates of a shape can name. */
#define SPACES_NONE          0
#define SPACES_BLOCK         BIT(TYPE)
#define SPACES_TRY_TABLE     (BIT(TYPE) | BIT(TAG))
#define SPACES_RESUME        (BIT(TYPE) | BIT(TAG))
#define SPACES_RESUME_TAG    (BIT(TYPE) | BIT(TAG))
#define SPACES_LABEL         0
#define SPACES_BR_TABLE      0
#define SPACES_FUNC          BIT(FUNC)
#define SPACES_TYPE          BIT(TYPE)
#define SPACES_TYPE_TABLE    (BIT(TYPE) | BIT(TABLE))
#define SPACES_LOCAL         BIT(LOCAL)
#define SPACES_GLOBAL        BIT(GLOBAL)
#define SPACES_TABLE         BIT(TABLE)
#define SPACES_TAG           BIT(TAG)
#define SPACES_MEMORY        BIT(MEMORY)
#define SPACES_DATA          BIT(DATA)
#define SPACES_ELEM          BIT(ELEM)
#define SPACES_MEMARG        BIT(MEMORY)
#define SPACES_MEMARG_LANE   BIT(MEMORY)
#define SPACES_LANE          0
#define SPACES_LANES16       0
#define SPACES_I32           0
#define SPACES_I64           0
#define SPACES_F32           0
#define SPACES_F64           0
#define SPACES_V128          0
#define SPACES_HEAP          BIT(TYPE)
#define SPACES_SELECT        BIT(TYPE)
#define SPACES_DATA_MEMORY   (BIT(DATA) | BIT(MEMORY))
#define SPACES_MEMORY_MEMORY BIT(MEMORY)
#define SPACES_ELEM_TABLE    (BIT(ELEM) | BIT(TABLE))
#define SPACES_TABLE_TABLE   BIT(TABLE)
#define SPACES_TYPE_FIELD    BIT(TYPE)
#define SPACES_TYPE_U32      BIT(TYPE)
#define SPACES_TYPE_DATA     (BIT(TYPE) | BIT(DATA))
#define SPACES_TYPE_ELEM     (BIT(TYPE) | BIT(ELEM))
#define SPACES_TYPE_TYPE     BIT(TYPE)
#define SPACES_TYPE_TAG      (BIT(TYPE) | BIT(TAG))
#define SPACES_CAST          BIT(TYPE)
#define SPACES_ZERO          0

const uint16_t wasm_op_spaces[WASM_OP_COUNT] = {
#define OP(id, mnemonic, prefix, code, category, operands, results, imm, flow, modes, event,       \
           names)                                                                                  \
    SPACES_##imm,
#include "wasm/opcode.def"
};

uint32_t wasm_remap_mask(const WasmRemap *map) {
    uint32_t mask = map->fallback_memory ? BIT(MEMORY) : 0;
    for (uint32_t space = 0; space < WASM_SPACE_COUNT; space++)
        if (map->map[space])
            mask |= 1u << space;
    return mask;
}

WasmRemap wasm_layout_remap(const WasmModule *m) {
    WasmRemap map = {0};
    for (uint32_t space = 0; space < WASM_SPACE_COUNT; space++)
        if (!m->layout.identity[space])
            map.map[space] = m->layout.final[space], map.count[space] = wasm_space_count(m, space);
    return map;
}

WasmRemap wasm_program_remap(const WasmModule *m) {
    WasmRemap map = wasm_layout_remap(m);
    if (m->layout.called) {
        map.map[WASM_SPACE_FUNC] = m->layout.called;
        map.count[WASM_SPACE_FUNC] = m->input_count[WASM_SPACE_FUNC];
    }
    return map;
}

static uint32_t mapped(const WasmRemap *map, WasmSpace space, uint32_t index) {
    if (space == WASM_SPACE_MEMORY && map->fallback_memory)
        return *map->fallback_memory;
    if (!map->map[space] || (map->count[space] && index >= map->count[space]))
        return index;
    return map->map[space][index];
}

void wasm_put_index(Buf *out, const uint8_t *old, uint32_t width, uint32_t was, uint32_t index) {
    if (was == index)
        buf_bytes(out, old, width);
    else if (uleb_size(index) <= width)
        buf_uleb_padded(out, index, width);
    else
        buf_uleb(out, index);
}

/* Copies the index at *at. */
static void remap_put(const WasmRemap *map, WasmSpace space, const uint8_t **at, Buf *out) {
    const uint8_t *from = *at;
    uint32_t v = (uint32_t)wasm_uleb(at);
    wasm_put_index(out, from, (uint32_t)(*at - from), v, mapped(map, space, v));
}

static WasmType mapped_type(const WasmRemap *map, WasmType t) {
    if (!map->map[WASM_SPACE_TYPE])
        return t;
    if (!WASM_IS_REF(t)) {
        if (!(t & WASM_FUNC_TYPE_BIT))
            return t;
        return WASM_FUNC_TYPE_BIT | mapped(map, WASM_SPACE_TYPE, t & WASM_MAX_TYPE_INDEX);
    }
    if (t & WASM_ABSTRACT_BIT)
        return t;
    return wasm_with_index(t, mapped(map, WASM_SPACE_TYPE, WASM_HEAP_OF(t)));
}

static void remap_put_heap(const WasmRemap *map, WasmType t, Buf *out) {
    wasm_put_heap(out, mapped_type(map, t));
}

static void remap_put_memarg(const WasmRemap *map, const WasmInstr *i, const uint8_t *p,
                             const uint8_t *end, Buf *out) {
    uint32_t memory = mapped(map, WASM_SPACE_MEMORY, i->b);
    if (memory == i->b) {
        buf_bytes(out, p, (size_t)(end - p));
        return;
    }
    uint32_t flags = (uint32_t)wasm_uleb(&p);
    if (flags & 0x40)
        wasm_uleb(&p);
    buf_u8(out, (uint8_t)(i->a | (memory ? 0x40 : 0)));
    if (memory)
        buf_uleb(out, memory);
    buf_bytes(out, p, (size_t)(end - p)); /* offset and lane */
}

static void put_try_table(const WasmRemap *map, const WasmInstr *i, Buf *out) {
    const uint8_t *p = i->vec;
    wasm_put_type(out, mapped_type(map, i->type));
    buf_uleb(out, i->count);
    for (uint32_t k = 0; k < i->count; k++) {
        uint8_t kind = *p++;
        buf_u8(out, kind);
        if (kind < 2)
            remap_put(map, WASM_SPACE_TAG, &p, out);
        const uint8_t *label = p;
        wasm_uleb(&p);
        buf_bytes(out, label, (size_t)(p - label));
    }
}

static uint32_t same_label(void *ctx, uint32_t depth) {
    (void)ctx;
    return depth;
}

static void put_resume(const WasmRemap *map, const WasmInstr *i, WasmLabel *label, void *ctx,
                       Buf *out) {
    const uint8_t *at = i->vec;
    buf_uleb(out, mapped(map, WASM_SPACE_TYPE, i->a));
    if (wasm_ops[i->op].imm == WASM_IMM_RESUME_TAG)
        buf_uleb(out, mapped(map, WASM_SPACE_TAG, i->b));
    buf_uleb(out, i->count);
    for (uint32_t k = 0; k < i->count; k++) {
        WasmHandler h = wasm_vec_handler(&at);
        buf_u8(out, h.switches);
        buf_uleb(out, mapped(map, WASM_SPACE_TAG, h.tag));
        if (!h.switches)
            buf_uleb(out, label(ctx, h.label));
    }
}

/* The two index spaces of immediates that are one or two plain indices; COUNT = none. */
static const uint8_t index_spaces[][2] = {
    [WASM_IMM_LABEL] = {WASM_SPACE_COUNT, WASM_SPACE_COUNT},
    [WASM_IMM_FUNC] = {WASM_SPACE_FUNC, WASM_SPACE_COUNT},
    [WASM_IMM_TYPE] = {WASM_SPACE_TYPE, WASM_SPACE_COUNT},
    [WASM_IMM_TYPE_TABLE] = {WASM_SPACE_TYPE, WASM_SPACE_TABLE},
    [WASM_IMM_LOCAL] = {WASM_SPACE_LOCAL, WASM_SPACE_COUNT},
    [WASM_IMM_GLOBAL] = {WASM_SPACE_GLOBAL, WASM_SPACE_COUNT},
    [WASM_IMM_TABLE] = {WASM_SPACE_TABLE, WASM_SPACE_COUNT},
    [WASM_IMM_TAG] = {WASM_SPACE_TAG, WASM_SPACE_COUNT},
    [WASM_IMM_MEMORY] = {WASM_SPACE_MEMORY, WASM_SPACE_COUNT},
    [WASM_IMM_DATA] = {WASM_SPACE_DATA, WASM_SPACE_COUNT},
    [WASM_IMM_ELEM] = {WASM_SPACE_ELEM, WASM_SPACE_COUNT},
    [WASM_IMM_DATA_MEMORY] = {WASM_SPACE_DATA, WASM_SPACE_MEMORY},
    [WASM_IMM_MEMORY_MEMORY] = {WASM_SPACE_MEMORY, WASM_SPACE_MEMORY},
    [WASM_IMM_ELEM_TABLE] = {WASM_SPACE_ELEM, WASM_SPACE_TABLE},
    [WASM_IMM_TABLE_TABLE] = {WASM_SPACE_TABLE, WASM_SPACE_TABLE},
    [WASM_IMM_TYPE_FIELD] = {WASM_SPACE_TYPE, WASM_SPACE_COUNT},
    [WASM_IMM_TYPE_U32] = {WASM_SPACE_TYPE, WASM_SPACE_COUNT},
    [WASM_IMM_TYPE_DATA] = {WASM_SPACE_TYPE, WASM_SPACE_DATA},
    [WASM_IMM_TYPE_ELEM] = {WASM_SPACE_TYPE, WASM_SPACE_ELEM},
    [WASM_IMM_TYPE_TYPE] = {WASM_SPACE_TYPE, WASM_SPACE_TYPE},
    [WASM_IMM_TYPE_TAG] = {WASM_SPACE_TYPE, WASM_SPACE_TAG},
};

uint32_t wasm_instr_names(const WasmInstr *i, WasmEntity out[2]) {
    uint8_t imm = wasm_ops[i->op].imm;
    if (imm == WASM_IMM_MEMARG || imm == WASM_IMM_MEMARG_LANE) {
        out[0] = (WasmEntity){WASM_SPACE_MEMORY, i->b};
        return 1;
    }
    uint32_t k = 0, n = wasm_imm_indices((WasmImm)imm);
    for (; k < n && index_spaces[imm][k] != WASM_SPACE_COUNT; k++)
        out[k] = (WasmEntity){(WasmSpace)index_spaces[imm][k], k ? i->b : i->a};
    return k;
}

void wasm_copy_instr(const uint8_t *bytes, const WasmInstr *i, const WasmRemap *map, Buf *out) {
    if (!(wasm_op_spaces[i->op] & wasm_remap_mask(map))) {
        buf_bytes(out, bytes, i->size);
        return;
    }
    uint8_t imm = wasm_ops[i->op].imm;
    const uint8_t *p = bytes + i->opcode_size, *end = bytes + i->size;
    buf_bytes(out, bytes, i->opcode_size);
    switch (imm) {
    case WASM_IMM_BLOCK: wasm_put_type(out, mapped_type(map, i->type)); break;
    case WASM_IMM_TRY_TABLE: put_try_table(map, i, out); break;
    case WASM_IMM_RESUME:
    case WASM_IMM_RESUME_TAG: put_resume(map, i, same_label, NULL, out); break;
    case WASM_IMM_MEMARG:
    case WASM_IMM_MEMARG_LANE: remap_put_memarg(map, i, p, end, out); break;
    case WASM_IMM_HEAP: remap_put_heap(map, i->type, out); break;
    case WASM_IMM_SELECT: {
        const uint8_t *at = i->vec;
        buf_uleb(out, i->count);
        for (uint32_t k = 0; k < i->count; k++)
            wasm_put_type(out, mapped_type(map, wasm_vec_type(&at)));
        break;
    }
    case WASM_IMM_CAST:
        buf_u8(out, *p++);
        buf_uleb(out, i->a);
        remap_put_heap(map, i->type, out);
        remap_put_heap(map, i->type2, out);
        break;
    default:
        remap_put(map, index_spaces[imm][0], &p, out);
        if (p < end && index_spaces[imm][1] != WASM_SPACE_COUNT)
            remap_put(map, index_spaces[imm][1], &p, out);
        buf_bytes(out, p, (size_t)(end - p));
    }
}

bool wasm_has_labels(const WasmInstr *i) {
    uint8_t imm = wasm_ops[i->op].imm;
    return imm == WASM_IMM_LABEL || imm == WASM_IMM_BR_TABLE || imm == WASM_IMM_CAST ||
           imm == WASM_IMM_TRY_TABLE || wasm_has_handlers(i->op);
}

void wasm_copy_branch(const uint8_t *bytes, const WasmInstr *i, const WasmRemap *map,
                      WasmLabel *label, void *ctx, Buf *out) {
    const uint8_t *at = i->vec, *p = bytes + i->opcode_size;
    buf_bytes(out, bytes, i->opcode_size);
    switch (wasm_ops[i->op].imm) {
    case WASM_IMM_BR_TABLE:
        buf_uleb(out, i->count);
        for (uint32_t k = 0; k < i->count; k++)
            buf_uleb(out, label(ctx, wasm_vec_u32(&at)));
        buf_uleb(out, label(ctx, i->a));
        break;
    case WASM_IMM_CAST:
        buf_u8(out, *p);
        buf_uleb(out, label(ctx, i->a));
        remap_put_heap(map, i->type, out);
        remap_put_heap(map, i->type2, out);
        break;
    case WASM_IMM_TRY_TABLE:
        wasm_put_type(out, mapped_type(map, i->type));
        buf_uleb(out, i->count);
        for (uint32_t k = 0; k < i->count; k++) {
            WasmCatch c = wasm_vec_catch(&at);
            buf_u8(out, c.kind);
            if (c.kind < 2)
                buf_uleb(out, mapped(map, WASM_SPACE_TAG, c.tag));
            buf_uleb(out, label(ctx, c.label));
        }
        break;
    case WASM_IMM_RESUME:
    case WASM_IMM_RESUME_TAG: put_resume(map, i, label, ctx, out); break;
    default: buf_uleb(out, label(ctx, i->a));
    }
}

bool wasm_copy_code(WasmCode *c, const WasmRemap *map, Buf *out) {
    uint32_t mask = wasm_remap_mask(map);
    const uint8_t *run = c->at;
    if (!mask)
        c->at = c->end;
    WasmInstr i;
    while (wasm_next(c, &i)) {
        if (!(wasm_op_spaces[i.op] & mask))
            continue;
        const uint8_t *bytes = c->start + i.offset;
        buf_bytes(out, run, (size_t)(bytes - run));
        wasm_copy_instr(bytes, &i, map, out);
        run = c->at;
    }
    buf_bytes(out, run, (size_t)(c->at - run));
    return !c->error;
}

bool wasm_copy_locals(WasmCode *c, const WasmRemap *map, Buf *out) {
    const uint8_t *from = c->at;
    uint32_t groups, n;
    WasmType t;
    if (!wasm_get_u32(c, &groups))
        return false;
    if (map->map[WASM_SPACE_TYPE])
        buf_uleb(out, groups);
    while (groups--) {
        if (!wasm_get_u32(c, &n) || !wasm_get_type(c, false, &t))
            return false;
        if (!map->map[WASM_SPACE_TYPE])
            continue;
        buf_uleb(out, n);
        wasm_put_type(out, n ? mapped_type(map, t) : WASM_I32); /* no locals use no type */
    }
    if (!map->map[WASM_SPACE_TYPE])
        buf_bytes(out, from, (size_t)(c->at - from));
    return true;
}
