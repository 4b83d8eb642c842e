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

static void put_error(Message *m, SiteError error) {
    switch (error) {
    case SITE_NO_INSTRUCTION:
        put(m, WORD("no instr"));
        put(m, WORD("uction b"));
        put(m, WORD("egins he"));
        put(m, WORD("re"));
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

_Noreturn static void say(Message *m) {
    put(m, WORD("\n"));
    host_message(m->text, m->len);
    __builtin_trap();
}

void site_fail(SiteError error, uint32_t func, uint32_t offset) {
    Message m;
    m.len = 0;
    put_where(&m, func, offset);
    put_error(&m, error);
    say(&m);
}

static bool is_body(const WasmCode *c) {
    return S->func && c->start == at(S->body.at);
}

void site_read_fail(const WasmCode *c) {
    bool body = is_body(c);
    site_fail(SITE_MALFORMED, body ? S->func : 0, body ? (uint32_t)(c->at - c->start) : S->section);
}

#ifdef __wasm__
static void put_hex(Message *m, uint32_t v) {
    put(m, WORD(" 0x"));
    for (uint32_t shift = v > 0xff ? 16 : 8; shift;) {
        shift -= 4;
        uint32_t digit = v >> shift & 15;
        put_char(m, (uint8_t)(digit + (digit < 10 ? '0' : 'a' - 10)));
    }
}

void site_code_fail(const WasmCode *c, const uint8_t *where, uint64_t code, uint64_t text,
                    uint64_t text2, uint64_t text3, uint64_t text4) {
    bool body = is_body(c);
    Message m;
    m.len = 0;
    put_where(&m, body ? S->func : 0, body ? (uint32_t)(where - c->start) : S->section);
    put(&m, text);
    put(&m, text2);
    put(&m, text3);
    put(&m, text4);
    if (code != SITE_NO_CODE && c->error_prefix)
        put_hex(&m, c->error_prefix);
    if (code != SITE_NO_CODE)
        put_hex(&m, (uint32_t)code);
    say(&m);
}
#endif

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

uint8_t site_u8(WasmCode *c) {
    uint8_t v;
    if (!wasm_get_u8(c, &v))
        site_read_fail(c);
    return v;
}

uint32_t site_u32(WasmCode *c) {
    uint32_t v;
    if (!wasm_get_u32(c, &v))
        site_read_fail(c);
    return v;
}

WasmType site_type(WasmCode *c) {
    WasmType t;
    if (!wasm_get_type(c, true, &t))
        site_read_fail(c);
    return t;
}

void site_skip(WasmCode *c, uint64_t n) {
    const uint8_t *from;
    if (n > UINT32_MAX || !wasm_get_bytes(c, (uint32_t)n, &from))
        site_read_fail(c);
}

/* ---- bodies and sections ---- */

static WasmCode body_reader(void) {
    return wasm_code(at(S->body.at), S->body_size, 0);
}

WasmCode site_body(uint32_t fid) {
    if (S->func == fid + 1)
        return body_reader();
    uint32_t size = reflect_read_function_body(fid, S->body.at, S->body.size);
    if (size > S->body.size) {
        site_reserve(&S->body, 0, size);
        size = reflect_read_function_body(fid, S->body.at, S->body.size);
    }
    if (size == 0 || size > S->body.size)
        site_fail(SITE_NO_BODY, fid + 1, 0);
    S->plain[0].func = S->plain[1].func = S->flow.func = S->typer.func = 0;
    S->func = fid + 1;
    S->body_size = size;
    WasmCode r = body_reader();
    for (uint32_t groups = site_u32(&r); groups; groups--) {
        site_u32(&r);
        site_type(&r);
    }
    S->code = (uint32_t)(r.at - r.start);
    r.at = r.start;
    return r;
}

WasmCode site_section(uint32_t id, SiteBlock *b) {
    uint32_t size = reflect_read_section(id, 0, 0, 0);
    *b = (SiteBlock){0, 0};
    site_reserve(b, 0, size);
    if (size)
        reflect_read_section(id, b->at, size, 0);
    S->section = id;
    return wasm_code(at(b->at), size, 0);
}
