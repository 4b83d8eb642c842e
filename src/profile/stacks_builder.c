/*
 * profile/stacks_builder.c - makes the parts of Stacks, each of them once.
 */
#include "profile/stacks_builder.h"

#include "base/demangle.h"
#include "profile/profile_untimed.h"

#include <assert.h>

/* Where the index of a value is kept. */
static uint64_t *value_index(Builder *b, Str name, Str unit, bool *added) {
    b->key.len = 0;
    buf_name(&b->key, name);
    buf_name(&b->key, unit);
    return map_put(&b->values, buf_view(&b->key), b->s->values.len, added);
}

void builder_open(Builder *b, Stacks *s, const StacksSource *from) {
    assert(s->modules.len && from->nparts);
    *b = (Builder){.s = s, .from = from, .module = s->modules.len - 1};
    for (uint32_t i = 0; i < s->values.len; i++)
        *value_index(b, s->values.at[i].name, s->values.at[i].unit, NULL) = i;
    if (from->places->m)
        call_sites_open(&b->sites, from->places->m, untimed_list(from->parts[0].report));
}

void builder_thread(Builder *b, const Str *thread) {
    Stacks *s = b->s;
    if (!thread)
        return;
    for (b->thread = 0; b->thread < s->threads.len; b->thread++)
        if (str_eq(s->threads.at[b->thread], *thread))
            return;
    vec_push(&s->threads, builder_keep(b, *thread));
}

/* Facts about the functions of a profile. */
static void forget_profile(Builder *b) {
    map_free(&b->begun);
    map_free(&b->at);
    map_free(&b->between);
}

void builder_use(Builder *b, const Profile *p) {
    forget_profile(b);
    b->p = p;
}

void builder_free(Builder *b) {
    forget_profile(b);
    call_sites_free(&b->sites);
    map_free(&b->texts);
    map_free(&b->funcs);
    map_free(&b->places);
    map_free(&b->nodes);
    map_free(&b->values);
    buf_free(&b->key);
}

Str builder_keep(Builder *b, Str s) {
    bool added;
    uint64_t *kept = map_put(&b->texts, s, 0, &added);
    if (added)
        *kept = (uintptr_t)arena_strndup(&b->s->arena, s.ptr ? s.ptr : "", s.len);
    return (Str){(const char *)(uintptr_t)*kept, s.len};
}

static Str stacks_builder_key_of(const Builder *b) {
    return buf_view(&b->key);
}

static uint64_t *stacks_builder_indexed(Map *map, uint32_t a, uint32_t b, bool *added) {
    uint32_t key[2] = {a, b};
    return map_put(map, (Str){(const char *)key, sizeof key}, 0, added);
}

/* ---- functions ---- */

static uint32_t stacks_builder_add_func(Builder *b, const StacksFunc *f) {
    bool added;
    b->key.len = 0;
    buf_bytes(&b->key, &f->fid, sizeof f->fid);
    buf_name(&b->key, f->name);
    buf_name(&b->key, f->symbol);
    buf_name(&b->key, f->file);
    uint32_t n = (uint32_t)*map_put(&b->funcs, stacks_builder_key_of(b), b->s->funcs.len, &added);
    if (added) {
        StacksFunc kept = *f;
        const Str *module = b->from->module;
        kept.module = b->module;
        kept.name = builder_keep(b, f->name);
        if (module && f->fid != PROFILE_NOBODY)
            kept.name = str_of(
                arena_printf(&b->s->arena, "%.*s (%.*s)", STR_ARG(f->name), STR_ARG(*module)));
        kept.symbol = builder_keep(b, f->symbol);
        kept.file = builder_keep(b, f->file);
        vec_push(&b->s->funcs, kept);
    }
    return n;
}

static bool stacks_builder_is_inside(const Builder *b, const ProfileFunc *f) {
    const WasmModule *m = b->from->places->m;
    return m && !f->outside && f->id < m->funcs.len && m->funcs.at[f->id].import < 0;
}

/* The frames at an offset in a function, the innermost first. */
static uint32_t frames_at(const Builder *b, const ProfileFunc *f, uint32_t pc,
                          const LocationFrame **frames) {
    const WasmModule *m = b->from->places->m;
    bool known =
        b->from->locator && stacks_builder_is_inside(b, f) && pc < m->funcs.at[f->id].body_size;
    return known ? locator_at(b->from->locator, m, f->id, pc, frames) : 0;
}

/* A function as it is called in a file: where it begins, too, if it is declared there. */
static uint32_t whole_func(Builder *b, const ProfileFunc *f, Str file, uint32_t line) {
    StacksFunc func = {.fid = f->id,
                       .inlined = f->inlined,
                       .away = f->home.module_id != 0,
                       .name = f->name,
                       .symbol = f->symbol.len ? f->symbol : f->name,
                       .file = file,
                       .line = line};
    return stacks_builder_add_func(b, &func);
}

/* The function in the file where it begins. */
static uint32_t beginning(Builder *b, const ProfileFunc *f) {
    bool added;
    uint64_t *func = stacks_builder_indexed(&b->begun, (uint32_t)(f - b->p->funcs.at), 0, &added);
    if (!added)
        return (uint32_t)*func;
    const LocationFrame *frames;
    uint32_t n = frames_at(b, f, 0, &frames), line = 0;
    Str file = {"", 0};
    if (n)
        locations_beginning(&frames[n - 1], &file, &line);
    *func = whole_func(b, f, file, line);
    return (uint32_t)*func;
}

static uint32_t stacks_builder_inlined_func(Builder *b, const LocationFrame *frame) {
    Buf text = {0};
    Str name = locator_function(b->from->locator, frame);
    if (!b->from->demangled && frame->linkage.len)
        name = frame->linkage;
    else if (frame->linkage.len && demangle(frame->linkage, &text))
        name = buf_view(&text);
    if (!name.len)
        name = STR("<unknown>");
    bool declared = str_eq(frame->declared_file, frame->file);
    StacksFunc func = {.fid = PROFILE_NOBODY,
                       .inlined = true,
                       .name = name,
                       .symbol = frame->linkage.len ? frame->linkage : name,
                       .file = frame->file,
                       .line = declared ? frame->declared : 0};
    uint32_t n = stacks_builder_add_func(b, &func);
    buf_free(&text);
    return n;
}

/* ---- places ---- */

typedef Vec(StacksLine) Lines;

static uint32_t stacks_builder_add_place(Builder *b, const ProfileFunc *f, uint32_t pc,
                                         const Lines *lines) {
    bool added;
    StacksPlace place = {
        .module = b->module, .in_program = stacks_builder_is_inside(b, f), .count = lines->len};
    if (place.in_program) {
        const WasmFunc *func = &b->from->places->m->funcs.at[f->id];
        place.address = func->body + (pc < func->body_size ? pc : 0);
    }
    b->key.len = 0;
    buf_bytes(&b->key, &place.address, sizeof place.address);
    for (uint32_t i = 0; i < lines->len; i++)
        buf_bytes(&b->key, &lines->at[i], sizeof lines->at[i]);
    uint32_t n = (uint32_t)*map_put(&b->places, stacks_builder_key_of(b), b->s->places.len, &added);
    if (added) {
        place.first = b->s->lines.len;
        for (uint32_t i = 0; i < lines->len; i++)
            vec_push(&b->s->lines, lines->at[i]);
        vec_push(&b->s->places, place);
    }
    return n;
}

/* The lines for the frames of a function, the innermost first. */
static void lines_of(Builder *b, const ProfileFunc *f, const LocationFrame *frames, uint32_t n,
                     Lines *out) {
    for (uint32_t i = 0; i < n; i++) {
        const LocationFrame *frame = &frames[i];
        bool declared = str_eq(frame->declared_file, frame->file);
        uint32_t func = i + 1 < n ? stacks_builder_inlined_func(b, frame)
                                  : whole_func(b, f, frame->file, declared ? frame->declared : 0);
        vec_push(out, ((StacksLine){func, frame->line, frame->column}));
    }
}

static void read_lines(Builder *b, const ProfileFunc *f, uint32_t pc, Lines *out) {
    const LocationFrame *frames;
    uint32_t begin = beginning(b, f), n = frames_at(b, f, pc, &frames);
    lines_of(b, f, frames, n, out);
    if (!n)
        vec_push(out, ((StacksLine){begin, b->s->funcs.at[begin].line, 0}));
}

uint32_t builder_place(Builder *b, uint32_t func, uint32_t pc) {
    assert(func < b->p->funcs.len);
    bool added;
    uint64_t *place = stacks_builder_indexed(&b->at, func, pc, &added);
    if (!added)
        return (uint32_t)*place;
    const ProfileFunc *f = &b->p->funcs.at[func];
    Lines lines = {0};
    read_lines(b, f, pc, &lines);
    *place = stacks_builder_add_place(b, f, pc, &lines);
    vec_free(&lines);
    return (uint32_t)*place;
}

/* Truncates `lines` to the common outer frames of both; line numbers that differ become unknown. */
static void keep_common(Lines *lines, const Lines *others) {
    uint32_t same = 0;
    while (same < lines->len && same < others->len) {
        StacksLine *a = &lines->at[lines->len - 1 - same];
        const StacksLine *b = &others->at[others->len - 1 - same];
        if (a->func != b->func)
            break;
        if (a->line != b->line || a->column != b->column)
            a->column = 0;
        if (a->line != b->line)
            a->line = 0;
        same++;
    }
    memmove(lines->at, lines->at + lines->len - same, same * sizeof *lines->at);
    lines->len = same;
}

/* Lines that are not known are where their functions begin. */
static void fill_lines(const Builder *b, Lines *lines) {
    for (uint32_t i = 0; i < lines->len; i++)
        if (!lines->at[i].line)
            lines->at[i].line = b->s->funcs.at[lines->at[i].func].line;
}

uint32_t builder_call_place(Builder *b, uint32_t caller, uint32_t callee) {
    assert(caller < b->p->funcs.len && callee < b->p->funcs.len);
    bool added;
    const ProfileFunc *f = &b->p->funcs.at[caller];
    uint64_t *place = stacks_builder_indexed(&b->between, caller, callee, &added);
    uint32_t pc, at = 0, n = 0;
    if (!added)
        return (uint32_t)*place;
    uint32_t found = PROFILE_NONE; /* the only one */
    Lines common = {0}, lines = {0};
    while (stacks_builder_is_inside(b, f) &&
           (pc = call_sites_next(&b->sites, f->id, b->p->funcs.at[callee].id, &at)) !=
               CALL_SITES_END) {
        found = n ? PROFILE_NONE : pc;
        lines.len = 0;
        read_lines(b, f, pc, n ? &lines : &common);
        if (n++)
            keep_common(&common, &lines);
    }
    fill_lines(b, &common);
    *place = common.len ? stacks_builder_add_place(b, f, found, &common)
                        : builder_place(b, caller, PROFILE_NONE);
    vec_free(&common);
    vec_free(&lines);
    return (uint32_t)*place;
}

uint32_t builder_row_place(Builder *b, uint32_t func, const ReportRow *row) {
    assert(func < b->p->funcs.len && row->has_place);
    const RowLocation *l = row->location;
    const ProfileFunc *f = &b->p->funcs.at[func];
    if (!l || stacks_builder_is_inside(b, f))
        return builder_place(b, func, row->pc);
    Lines lines = {0};
    vec_push(&lines, ((StacksLine){whole_func(b, f, l->file, 0), l->line, l->column}));
    uint32_t place = stacks_builder_add_place(b, f, row->pc, &lines);
    vec_free(&lines);
    return place;
}

/* ---- nodes and values ---- */

uint32_t builder_node(Builder *b, uint32_t parent, uint32_t place, const StacksLabel *labels,
                      uint32_t nlabels) {
    assert((parent == STACKS_NONE || parent < b->s->nodes.len) && place < b->s->places.len);
    bool added;
    uint32_t ends[3] = {parent, place, b->thread};
    b->key.len = 0;
    buf_bytes(&b->key, ends, sizeof ends);
    for (uint32_t i = 0; i < nlabels; i++) {
        buf_name(&b->key, labels[i].key);
        buf_name(&b->key, labels[i].text);
    }
    uint32_t n = (uint32_t)*map_put(&b->nodes, stacks_builder_key_of(b), b->s->nodes.len, &added);
    if (!added)
        return n;
    StacksNode node = {
        .parent = parent, .place = place, .thread = b->thread, .first_label = b->s->labels.len};
    node.nlabels = nlabels;
    node.depth = parent == STACKS_NONE ? 0 : b->s->nodes.at[parent].depth + 1;
    for (uint32_t i = 0; i < nlabels; i++)
        vec_push(&b->s->labels,
                 ((StacksLabel){builder_keep(b, labels[i].key), builder_keep(b, labels[i].text)}));
    vec_push(&b->s->nodes, node);
    return n;
}

uint32_t builder_value(Builder *b, Str name, Str unit) {
    bool added;
    uint32_t n = (uint32_t)*value_index(b, name, unit, &added);
    if (added)
        vec_push(&b->s->values,
                 ((StacksValue){.name = builder_keep(b, name), .unit = builder_keep(b, unit)}));
    return n;
}
