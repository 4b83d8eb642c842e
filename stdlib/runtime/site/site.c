/*
 * runtime/site/site.c - instructions: the decoder, the cursor that knows one, and questions about
 * it.
 */
#include "site_state.h"

/* ---- the table of instructions ---- */

enum { FIRST_PREFIX = 0xfb, LAST_PREFIX = 0xfe };

INLINE uint32_t half(uint32_t address) {
    uint16_t v;
    __builtin_memcpy(&v, at(address), sizeof v);
    return v;
}

/* The four bytes of an encoding; 0 = unknown. Page 0 has no prefix. */
INLINE uint32_t look_up(uint32_t page, uint32_t code) {
    uint32_t pages = S->table + 2 * page, from = half(pages), to = half(pages + 2);
    return code < to - from ? get32(S->table + SITE_TABLE_CODES + 4 * (from + code)) : 0;
}

uint32_t site_signature(const SiteInstr *i) {
    uint32_t codes = half(S->table + 2 * SITE_TABLE_PAGES);
    return S->table + SITE_TABLE_CODES + 4 * codes + SITE_TABLE_SIGNATURE * (i->signature - 1u);
}

/* ---- the decoder ---- */

static WasmType block_type(SiteReader *r) {
    if (r->at != r->end && *r->at >= 0x40 && *r->at < 0x80) {
        if (*r->at != WASM_NONE)
            return site_type(r);
        r->at++;
        return WASM_NONE;
    }
    return WASM_FUNC_TYPE_BIT | (uint32_t)(site_sleb(r) & WASM_MAX_TYPE_INDEX);
}

static void memarg(SiteReader *r, SiteInstr *i) {
    enum { WITH_MEMORY = 0x40 };
    i->a = site_u32(r);
    if (i->a & WITH_MEMORY) {
        i->a &= WITH_MEMORY - 1;
        i->b = site_u32(r);
    }
    i->c = site_uleb(r);
}

static void fixed(SiteReader *r, SiteInstr *i, uint32_t n) {
    for (uint32_t k = 0; k < n; k++)
        i->c |= (uint64_t)site_u8(r) << 8 * k;
}

static void catches(SiteReader *r, SiteInstr *i) {
    i->type = block_type(r);
    i->count = site_u32(r);
    i->vec = (uint32_t)(r->at - r->start);
    for (uint32_t n = 0; n < i->count; n++) {
        if (site_u8(r) < 2)
            site_u32(r);
        site_u32(r);
    }
}

static void handlers(SiteReader *r, SiteInstr *i) {
    i->a = site_u32(r);
    if (i->imm == WASM_IMM_RESUME_TAG)
        i->b = site_u32(r);
    i->count = site_u32(r);
    i->vec = (uint32_t)(r->at - r->start);
    for (uint32_t n = 0; n < i->count; n++) {
        bool switches = site_u8(r) != 0;
        site_u32(r);
        if (!switches)
            site_u32(r);
    }
}

static void cast(SiteReader *r, SiteInstr *i) {
    uint8_t flags = site_u8(r);
    i->a = site_u32(r);
    i->type = site_heap(r);
    i->type2 = site_heap(r);
    if (!(flags & 1))
        i->type &= ~WASM_NULL_BIT;
    if (!(flags & 2))
        i->type2 &= ~WASM_NULL_BIT;
}

/* Lists that are read again later. */
static void lists(SiteReader *r, SiteInstr *i) {
    WasmImm imm = i->imm;
    if (imm == WASM_IMM_TRY_TABLE) {
        catches(r, i);
        return;
    }
    if (imm == WASM_IMM_LANES16 || imm == WASM_IMM_V128) {
        i->vec = (uint32_t)(r->at - r->start);
        site_skip(r, 16);
        return;
    }
    i->count = site_u32(r);
    i->vec = (uint32_t)(r->at - r->start);
    for (uint32_t n = 0; n < i->count; n++) {
        if (imm == WASM_IMM_BR_TABLE) {
            site_u32(r);
        } else {
            WasmType t = site_type(r);
            i->type = n ? i->type : t;
        }
    }
    if (imm == WASM_IMM_BR_TABLE)
        i->a = site_u32(r);
}

static void immediates(SiteReader *r, SiteInstr *i) {
    switch ((WasmImm)i->imm) {
    case WASM_IMM_NONE: break;
    case WASM_IMM_BLOCK: i->type = block_type(r); break;
    case WASM_IMM_I32:
    case WASM_IMM_I64: i->c = (uint64_t)site_sleb(r); break;
    case WASM_IMM_F32: fixed(r, i, 4); break;
    case WASM_IMM_F64: fixed(r, i, 8); break;
    case WASM_IMM_HEAP: i->type = site_heap(r); break;
    case WASM_IMM_CAST: cast(r, i); break;
    case WASM_IMM_RESUME:
    case WASM_IMM_RESUME_TAG: handlers(r, i); break;
    case WASM_IMM_MEMARG: memarg(r, i); break;
    case WASM_IMM_MEMARG_LANE:
        memarg(r, i);
        i->count = site_u8(r);
        break;
    case WASM_IMM_LANE:
    case WASM_IMM_ZERO: i->a = site_u8(r); break;
    case WASM_IMM_TRY_TABLE:
    case WASM_IMM_BR_TABLE:
    case WASM_IMM_SELECT:
    case WASM_IMM_LANES16:
    case WASM_IMM_V128: lists(r, i); break;
    default:
        i->a = site_u32(r);
        if (wasm_imm_indices((WasmImm)i->imm) == 2)
            i->b = site_u32(r);
        break;
    }
}

void site_decode(SiteReader *r, SiteInstr *i) {
    *i = (SiteInstr){.offset = (uint32_t)(r->at - r->start)};
    uint32_t byte = site_u8(r), prefix = 0, about;
    if (byte >= FIRST_PREFIX && byte <= LAST_PREFIX) {
        prefix = byte;
        byte = site_u32(r);
        about = look_up(prefix - FIRST_PREFIX + 1, byte);
    } else {
        about = look_up(0, byte);
    }
    if (!about) {
        r->at = r->start + i->offset;
        site_read_fail(r, SITE_UNKNOWN, prefix << 16 | (byte & 0xffff));
    }
    i->op = (uint16_t)(about - 1);
    i->imm = (uint8_t)(about >> 16);
    i->signature = (uint8_t)(about >> 24);
    immediates(r, i);
    i->size = (uint32_t)(r->at - r->start) - i->offset;
}

/* ---- cursors ---- */

bool site_restart(SiteCursor *c, uint32_t fid, uint32_t pc) {
    if (c->func == fid + 1 && (c->index == 0 || c->i.offset <= pc))
        return false;
    *c = (SiteCursor){.func = fid + 1};
    return true;
}

void site_next(SiteCursor *c, SiteReader *r) {
    r->at = r->start + (c->index ? c->i.offset + c->i.size : S->code);
    if (r->at == r->end)
        site_fail(SITE_NO_INSTRUCTION, c->func, (uint32_t)(r->at - r->start), 0);
    site_decode(r, &c->i);
    c->index++;
}

void site_arrived(const SiteCursor *c, uint32_t pc) {
    if (c->i.offset != pc)
        site_fail(SITE_NO_INSTRUCTION, c->func, pc, 0);
}

SiteReader site_vec(const SiteInstr *i, uint32_t fid) {
    SiteReader r = site_body(fid);
    r.at = r.start + i->vec;
    return r;
}

/* The cursor with the shortest way to the location; if all are after it, one that is not needed. */
static SiteCursor *nearest(uint32_t fid, uint32_t pc) {
    SiteCursor *best = NULL, *spare = NULL;
    for (uint32_t k = 0; k < 2; k++) {
        SiteCursor *c = &S->plain[k];
        bool here = c->func == fid + 1;
        if (here && c->i.offset <= pc && (!best || c->i.offset > best->i.offset))
            best = c;
        if (!spare || (spare->func == fid + 1 && (!here || c->i.offset < spare->i.offset)))
            spare = c;
    }
    return best ? best : spare;
}

const SiteCursor *site_plain(uint32_t fid, uint32_t pc) {
    SiteCursor *c = nearest(fid, pc);
    site_restart(c, fid, pc);
    if (site_before(c, pc)) {
        SiteReader r = site_body(fid);
        while (site_before(c, pc)) {
            c->previous = c->index ? c->i.op + 1u : 0;
            c->previous_a = c->i.a;
            site_next(c, &r);
        }
    }
    site_arrived(c, pc);
    return c;
}

const SiteInstr *site_at(uint32_t fid, uint32_t pc) {
    return &site_plain(fid, pc)->i;
}

/* ---- questions ---- */

SITE_EXPORT(op)
uint32_t site_op(uint32_t fid, uint32_t pc) {
    return site_at(fid, pc)->op;
}

SITE_EXPORT(opidx)
uint32_t site_opidx(uint32_t fid, uint32_t pc) {
    if (pc == 0) /* the function's entry */
        return 0;
    return site_plain(fid, pc)->index - 1;
}

SITE_EXPORT(fn_size)
uint32_t site_fn_size(uint32_t fid) {
    uint32_t size = reflect_read_function_body(fid, 0, 0);
    if (!size)
        site_fail(SITE_NO_BODY, fid + 1, 0, 0);
    return size;
}

SITE_EXPORT(fn_params)
uint32_t site_fn_params(uint32_t fid) {
    return site_type_def(site_entry(SITE_FUNC, fid)->type)->nparams;
}

SITE_EXPORT(func_end)
uint32_t site_func_end(uint32_t fid) {
    return site_fn_size(fid) - 1;
}

SITE_EXPORT(last)
uint32_t site_last(uint32_t fid, uint32_t pc) {
    return pc == site_func_end(fid);
}

/* Label n of a br_table; the default is after the others. */
static uint32_t table_label(const SiteInstr *i, uint32_t fid, uint32_t n) {
    uint32_t label = i->a;
    if (n < i->count) {
        SiteReader r = site_vec(i, fid);
        for (uint32_t k = 0; k <= n; k++)
            label = site_u32(&r);
    }
    return label;
}

/* Immediate n, as the language counts. */
static bool immediate(const SiteInstr *i, uint32_t fid, uint32_t n, uint64_t *out) {
    WasmImm imm = i->imm;
    *out = 0;
    switch (imm) {
    case WASM_IMM_NONE:
    case WASM_IMM_ZERO:
    case WASM_IMM_BLOCK:
    case WASM_IMM_TRY_TABLE:
    case WASM_IMM_SELECT:
    case WASM_IMM_HEAP: return false;
    case WASM_IMM_I32:
    case WASM_IMM_I64:
    case WASM_IMM_F32:
    case WASM_IMM_F64: *out = i->c; return n == 0;
    case WASM_IMM_BR_TABLE: *out = table_label(i, fid, n); return n <= i->count;
    case WASM_IMM_MEMARG:
    case WASM_IMM_MEMARG_LANE:
        *out = n == 0 ? i->a : n == 1 ? i->b : n == 2 ? i->c : i->count;
        return n < (imm == WASM_IMM_MEMARG ? 3u : 4u);
    case WASM_IMM_LANES16:
    case WASM_IMM_V128:
        if (n < 16)
            *out = *(site_vec(i, fid).at + n);
        return n < 16;
    case WASM_IMM_LANE:
    case WASM_IMM_CAST:
    case WASM_IMM_RESUME: *out = i->a; return n == 0;
    case WASM_IMM_RESUME_TAG: *out = n == 0 ? i->a : i->b; return n < 2;
    default: *out = n == 0 ? i->a : i->b; return n < wasm_imm_indices(imm);
    }
}

SITE_EXPORT(imm)
uint64_t site_imm(uint32_t fid, uint32_t pc, uint32_t n) {
    uint64_t v;
    return immediate(site_at(fid, pc), fid, n, &v) ? v : 0;
}

SITE_EXPORT(has_imm)
uint32_t site_has_imm(uint32_t fid, uint32_t pc, uint32_t n) {
    uint64_t v;
    return immediate(site_at(fid, pc), fid, n, &v);
}

SITE_EXPORT(num_targets)
uint32_t site_num_targets(uint32_t fid, uint32_t pc) {
    return site_at(fid, pc)->count;
}

SITE_EXPORT(table_target)
uint64_t site_table_target(uint32_t fid, uint32_t pc, uint32_t n) {
    const SiteInstr *i = site_at(fid, pc);
    return n < i->count ? table_label(i, fid, n) : 0;
}

SITE_EXPORT(table_targets)
uint32_t site_table_targets(uint32_t fid, uint32_t pc) {
    const SiteInstr *i = site_at(fid, pc);
    SiteReader r = site_vec(i, fid);
    uint32_t n = i->count, list = values_str_new(4 * (n + 1));
    for (uint32_t k = 0; k <= n; k++)
        words_at(list + 4)[k] = k < n ? site_u32(&r) : 0;
    return values_str_intern(list);
}

SITE_EXPORT(offset)
uint64_t site_offset(uint32_t fid, uint32_t pc) {
    return site_at(fid, pc)->c;
}

/* As accessed_memory of the compiler (event/fold.c). */
SITE_EXPORT(memory)
uint32_t site_memory(uint32_t fid, uint32_t pc) {
    const SiteInstr *i = site_at(fid, pc);
    return i->imm == WASM_IMM_MEMORY || i->imm == WASM_IMM_MEMORY_MEMORY ? i->a : i->b;
}

SITE_EXPORT(resolved_fid)
uint32_t site_resolved_fid(uint32_t fid, uint32_t pc) {
    const SiteCursor *c = site_plain(fid, pc);
    if (c->i.op == WASM_OP_REF_FUNC)
        return c->i.a;
    return c->previous == WASM_OP_REF_FUNC + 1 ? c->previous_a : UINT32_MAX;
}
