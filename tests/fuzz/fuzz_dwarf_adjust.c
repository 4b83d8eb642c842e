/*
 * tests/fuzz/fuzz_dwarf_adjust.c - libFuzzer target for DWARF of moved code. The input is a
 * module, of which only the sections are looked for. Its bodies move in a way that depends on their
 * bytes: some of them stay together, some get code between them, some are replaced. What is written
 * must not be larger than sections and moves explain, says the same when it is written again, and
 * can be read.
 */
#include <stdlib.h>

#include "bodies.h"
#include "dwarf/adjust.h"
#include "locations/section.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { RUNS_MAX = 4096, SECTIONS_MAX = 64, ROW_MAX = 48, GLOBALS = 3 };

typedef struct Input {
    DwarfBody from[BODIES_MAX], to[BODIES_MAX];
    DwarfRun runs[RUNS_MAX];
    DwarfMoves moves;
    DwarfSection sections[SECTIONS_MAX];
    uint32_t nsections;
} Input;

static uint32_t next(uint32_t *state) {
    return *state = *state * 1103515245 + 12345;
}

/* The runs of a body; the last one gets the rest if there are too many. */
static uint32_t move_body(Input *in, uint32_t nruns, DwarfBody from, uint32_t to,
                          uint32_t *chance) {
    for (uint32_t at = from.start; at < from.end;) {
        uint32_t dice = next(chance) >> 16, length = 1 + dice % 7, room = from.end - at;
        bool first = at == from.start, last = nruns + 1 >= RUNS_MAX;
        if (length > room || last)
            length = room;
        uint32_t grown = length == 1 && dice & 0x400 ? 2 : length;
        if (first || last || dice & 0x300) {
            in->runs[nruns++] = (DwarfRun){at, at + length, to, to + grown};
            to += grown;
        }
        to += dice & 0x800 ? dice % 5 : 0;
        at += length;
    }
    return nruns;
}

static void move_code(Input *in, uint32_t n, uint32_t seed) {
    static const uint32_t globals[GLOBALS] = {0, 2, 200};
    uint32_t nruns = 0, moved = 0;
    for (uint32_t i = 0; i < n && nruns + 1 < RUNS_MAX; i++, moved++) {
        uint32_t start = (i ? in->to[i - 1].end + 2 : in->from[0].start + 1);
        nruns = move_body(in, nruns, in->from[i], start, &seed);
        bool any = nruns && in->runs[nruns - 1].at >= in->from[i].start;
        in->to[i] = (DwarfBody){start, (any ? in->runs[nruns - 1].to_end : start) + 1};
    }
    in->moves = (DwarfMoves){in->from, in->to, moved, in->runs, nruns, globals, GLOBALS};
}

static void add_section(void *ctx, Str name, Str content) {
    Input *in = ctx;
    if (in->nsections < SECTIONS_MAX && name.len > 7 && memcmp(name.ptr, ".debug_", 7) == 0)
        in->sections[in->nsections++] = (DwarfSection){.name = name, .content = content};
}

/* A module with the sections as they are now. */
static void put_sections(const Input *in, Buf *module) {
    buf_str(module, STR("\0asm\1\0\0\0"));
    for (uint32_t i = 0; i < in->nsections; i++) {
        const DwarfSection *s = &in->sections[i];
        Str now = s->fate == DWARF_KEPT
                      ? s->content
                      : (Str){(const char *)s->changed.data, (uint32_t)s->changed.len};
        if (s->fate == DWARF_DROPPED)
            continue;
        buf_u8(module, 0);
        buf_uleb(module, uleb_size(s->name.len) + (uint64_t)s->name.len + now.len);
        buf_name(module, s->name);
        buf_str(module, now);
    }
}

/* Asks about the new code. */
static void read_back(const Input *in) {
    Buf module = {0};
    put_sections(in, &module);
    DwarfSections s = section_dwarf((Str){(const char *)module.data, (uint32_t)module.len});
    Dwarf *d = dwarf_open(&s, in->to, in->moves.nbodies);
    const DwarfFrame *frames;
    for (uint32_t i = 0; i < in->moves.nruns; i += 5)
        dwarf_at(d, in->runs[i].to, &frames);
    dwarf_free(d);
    buf_free(&module);
}

/* Addresses never change their order. */
static void check_order(const DwarfMoves *m) {
    uint32_t end = m->nbodies ? m->from[m->nbodies - 1].end + 3 : 3;
    uint64_t last = 0;
    for (uint32_t address = 0; address < end; address++) {
        uint64_t moved = dwarf_moved(m, address);
        if (moved < last)
            abort();
        last = moved;
    }
}

static void adjust(Input *in) {
    DwarfAdjusted done;
    bool ok = dwarf_adjust(in->sections, in->nsections, &in->moves, &done);
    size_t most = 64 + (size_t)in->moves.nruns * 4 * ROW_MAX, all = 0;
    if (!ok && !done.problem.what)
        abort();
    for (uint32_t i = 0; i < in->nsections; i++) {
        most += (size_t)in->sections[i].content.len * ROW_MAX;
        all += in->sections[i].changed.len;
        if (!ok && in->sections[i].fate != DWARF_DROPPED)
            abort();
    }
    if (all > most)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Str module = {(const char *)data, (uint32_t)size}, code = section_find(module, NULL);
    Input *in = mem_zalloc(sizeof *in);
    uint32_t n = find_bodies(code, in->from);
    move_code(in, n, code.len ? (uint8_t)code.ptr[code.len / 2] : 1);
    check_order(&in->moves);
    section_each(module, add_section, in);
    adjust(in);
    read_back(in);
    for (uint32_t i = 0; i < in->nsections; i++)
        buf_free(&in->sections[i].changed);
    free(in);
    return 0;
}
