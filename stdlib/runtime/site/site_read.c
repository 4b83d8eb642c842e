/*
 * runtime/site/site_read.c - reads bytes from whamm:reflect; messages about malformed ones.
 */
#include "site_state.h"

/* ---- messages ---- */

typedef struct Message {
    uint32_t len;
    uint8_t text[128];
} Message;

static void put_char(Message *m, uint8_t c) {
    if (m->len < sizeof m->text)
        m->text[m->len++] = c;
}

/* Characters of a WORD. */
static void put(Message *m, uint64_t word) {
    for (; word; word >>= 8)
        put_char(m, (uint8_t)word);
}

static void put_number(Message *m, uint32_t v) {
    if (v >= 10)
        put_number(m, v / 10);
    put_char(m, (uint8_t)('0' + v % 10));
}

static void put_hex(Message *m, uint32_t v) {
    put(m, WORD(" 0x"));
    for (uint32_t shift = v > 0xff ? 16 : 8; shift;) {
        shift -= 4;
        uint32_t digit = v >> shift & 15;
        put_char(m, (uint8_t)(digit + (digit < 10 ? '0' : 'a' - 10)));
    }
}

static void put_error(Message *m, SiteError error, uint32_t detail) {
    switch (error) {
    case SITE_NO_INSTRUCTION:
        put(m, WORD("no instr"));
        put(m, WORD("uction b"));
        put(m, WORD("egins he"));
        put(m, WORD("re"));
        break;
    case SITE_UNKNOWN:
    case SITE_UNKNOWN_TYPE:
        put(m, WORD("unknown "));
        put(m, error == SITE_UNKNOWN ? WORD("instruc") : WORD("type"));
        put(m, error == SITE_UNKNOWN ? WORD("tion") : 0);
        if (detail >> 16)
            put_hex(m, detail >> 16);
        put_hex(m, detail & 0xffff);
        break;
    case SITE_SHORT:
        put(m, WORD("unexpect"));
        put(m, WORD("ed end"));
        break;
    case SITE_NO_BODY:
        put(m, WORD("there is"));
        put(m, WORD(" no body"));
        break;
    case SITE_UNCOUNTED:
        put(m, WORD("not coun"));
        put(m, WORD("table by"));
        put(m, WORD(" segment"));
        put(m, WORD("s; compi"));
        put(m, WORD("le the m"));
        put(m, WORD("onitor w"));
        put(m, WORD("ith --no"));
        put(m, WORD("-coalesc"));
        put(m, WORD("e"));
        break;
    default:
        put(m, WORD("malforme"));
        put(m, WORD("d"));
        break;
    }
}

/* Appends the location: `func` is a function + 1, or 0; `offset` in it, or a section. */
static void put_where(Message *m, uint32_t func, uint32_t offset) {
    put(m, WORD("monitor:"));
    put(m, func ? WORD(" functio") : WORD(" section"));
    put(m, func ? WORD("n ") : WORD(" "));
    put_number(m, func ? func - 1 : offset);
    if (func) {
        put(m, WORD(", offset"));
        put(m, WORD(" "));
        put_number(m, offset);
    }
    put(m, WORD(": "));
}

SITE_EXPORT(refuse)
void site_refuse(uint32_t fid, uint32_t pc, uint32_t why) {
    Message m;
    m.len = 0;
    put_where(&m, fid + 1, pc);
    host_message(m.text, m.len);
    host_message(at(why + 4), get32(why));
    m.len = 0;
    put(&m, WORD("\n"));
    host_message(m.text, m.len);
    __builtin_trap();
}

void site_fail(SiteError error, uint32_t func, uint32_t offset, uint32_t detail) {
    Message m;
    m.len = 0;
    put_where(&m, func, offset);
    put_error(&m, error, detail);
    put(&m, WORD("\n"));
    host_message(m.text, m.len);
    __builtin_trap();
}

void site_read_fail(const SiteReader *r, SiteError error, uint32_t detail) {
    site_fail(error, r->func, r->func ? (uint32_t)(r->at - r->start) : r->section, detail);
}

/* ---- memory ---- */

void site_reserve(SiteBlock *b, uint32_t keep, uint64_t n) {
    if (n <= b->size)
        return;
    enum { LEAST = 256, MOST = INT32_MAX };
    uint64_t size = b->size ? 2 * (uint64_t)b->size : LEAST;
    if (size < n)
        size = (n + 7) & ~(uint64_t)7;
    if (size > MOST)
        __builtin_trap();
    uint32_t block = values_block(size);
    if (keep)
        __builtin_memcpy(at(block), at(b->at), keep);
    site_drop(b);
    b->at = block;
    b->size = (uint32_t)size;
}

void site_drop(SiteBlock *b) {
    if (b->size)
        __builtin_memset(at(b->at), 0, b->size);
    values_block_free(b->at, b->size);
    b->at = b->size = 0;
}

/* ---- numbers and types ---- */

uint64_t site_uleb_slow(SiteReader *r) {
    uint64_t v = 0;
    for (uint32_t shift = 0; shift < 64; shift += 7) {
        uint8_t byte = site_u8(r);
        v |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return v;
    }
    site_read_fail(r, SITE_SHORT, 0);
}

int64_t site_sleb(SiteReader *r) {
    uint64_t v = 0;
    for (uint32_t shift = 0; shift < 64;) {
        uint8_t byte = site_u8(r);
        v |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
        if (byte >= 0x80)
            continue;
        if (byte & 0x40 && shift < 64)
            v |= ~(uint64_t)0 << shift;
        return (int64_t)v;
    }
    site_read_fail(r, SITE_SHORT, 0);
}

void site_skip(SiteReader *r, uint64_t n) {
    if ((uint64_t)(r->end - r->at) < n)
        site_read_fail(r, SITE_SHORT, 0);
    r->at += n;
}

WasmType site_heap(SiteReader *r) {
    int64_t v = site_sleb(r);
    return WASM_REF(1, v < 0 ? WASM_HEAP((uint32_t)v & 0x7f) : (uint32_t)v & WASM_MAX_TYPE_INDEX);
}

WasmType site_type(SiteReader *r) {
    enum { REF_NULL = 0x63, REF = 0x64 };
    uint8_t byte = site_u8(r);
    if ((byte >= WASM_V128 && byte <= WASM_I32) || byte == WASM_I8 || byte == WASM_I16)
        return byte;
    if (byte >= WASM_HEAP_FIRST && byte <= WASM_HEAP_LAST)
        return WASM_REF(1, WASM_HEAP(byte));
    if (byte != REF_NULL && byte != REF)
        site_read_fail(r, SITE_UNKNOWN_TYPE, byte);
    WasmType t = site_heap(r);
    return byte == REF ? t & ~WASM_NULL_BIT : t;
}

/* ---- bodies and sections ---- */

static SiteReader body_reader(void) {
    const uint8_t *start = at(S->body.at);
    return (SiteReader){start, start, start + S->body_size, S->func, 0};
}

SiteReader site_body(uint32_t fid) {
    if (S->func == fid + 1)
        return body_reader();
    uint32_t size = reflect_read_function_body(fid, S->body.at, S->body.size);
    if (size > S->body.size) {
        site_reserve(&S->body, 0, size);
        size = reflect_read_function_body(fid, S->body.at, S->body.size);
    }
    if (size == 0 || size > S->body.size)
        site_fail(SITE_NO_BODY, fid + 1, 0, 0);
    S->func = fid + 1;
    S->body_size = size;
    SiteReader r = body_reader();
    for (uint32_t groups = site_u32(&r); groups; groups--) {
        site_u32(&r);
        site_type(&r);
    }
    S->code = (uint32_t)(r.at - r.start);
    r.at = r.start;
    return r;
}

SiteReader site_section(uint32_t id, SiteBlock *b) {
    uint32_t size = reflect_read_section(id, 0, 0, 0);
    *b = (SiteBlock){0, 0};
    site_reserve(b, 0, size);
    if (size)
        reflect_read_section(id, b->at, size, 0);
    const uint8_t *start = at(b->at);
    return (SiteReader){start, start, start + size, 0, id};
}
