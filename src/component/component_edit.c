/*
 * component/component_edit.c - additions to a component, and writing it: bytes of the input are
 * copied, indices in them are patched where they have changed.
 */
#include "component/component_edit.h"

#include "component/component_names.h"
#include "wasm/leb.h"

#include <assert.h>
#include <ctype.h>
#include <stdarg.h>

/* A place in the bytes of an addition where an index belongs. */
typedef struct EditRef {
    uint32_t at;
    bool is_signed;
    ComponentRef ref; /* by handle */
} EditRef;

typedef struct EditPiece {
    uint32_t before; /* item of the input */
    uint8_t kind, adds;
    uint32_t handle;
    Buf bytes; /* without the indices */
    Vec(EditRef) refs;
} EditPiece;

typedef struct EditArgument {
    uint32_t instance;
    Str name;
    uint32_t next; /* of the same item: its number + 1; 0 = none */
} EditArgument;

typedef struct EditReplacement {
    uint32_t from, to;
    ComponentRef ref;
    uint32_t by;
    uint32_t next; /* of the same item, or of the same index: its number + 1; 0 = none */
} EditReplacement;

struct ComponentEdit {
    const Component *c;
    ComponentEdit *parent;
    Vec(EditPiece) pieces; /* in the order of `before` from component_edit_write on */
    Vec(EditArgument) arguments;
    Vec(EditReplacement) replacements;
    uint32_t count[COMPONENT_SPACE_COUNT];  /* of handles */
    uint32_t *final[COMPONENT_SPACE_COUNT]; /* by handle */
    Buf *modules;                           /* by item: new contents; empty = as they were */
    uint32_t *argument;                     /* by item: 1 + the last argument; 0 = none */
    uint32_t *replaced_at;                  /* by item: 1 + the last replacement there; 0 = none */
    uint32_t *replaced[COMPONENT_SPACE_COUNT]; /* by index: the same for several items */
    ComponentEdit **inner;                     /* by item */
    uint32_t item, use;                        /* while writing: what is written, the next use */
};

ComponentEdit *component_edit_new(const Component *c) {
    ComponentEdit *e = mem_zalloc(sizeof *e);
    e->c = c;
    memcpy(e->count, c->count, sizeof e->count);
    e->modules = mem_zalloc(sizeof *e->modules * (c->items.len + 1u));
    e->argument = mem_zalloc(sizeof *e->argument * (c->items.len + 1u));
    e->replaced_at = mem_zalloc(sizeof *e->replaced_at * (c->items.len + 1u));
    e->inner = mem_zalloc(sizeof(ComponentEdit *) * (c->items.len + 1u));
    for (uint32_t i = 0; i < c->items.len; i++)
        if (c->items.at[i].kind == COMPONENT_ITEM_COMPONENT) {
            e->inner[i] = component_edit_new(c->items.at[i].component);
            e->inner[i]->parent = e;
        }
    return e;
}

void component_edit_free(ComponentEdit *e) {
    if (!e)
        return;
    for (uint32_t i = 0; i < e->c->items.len; i++) {
        component_edit_free(e->inner[i]);
        buf_free(&e->modules[i]);
    }
    for (uint32_t i = 0; i < e->pieces.len; i++) {
        buf_free(&e->pieces.at[i].bytes);
        vec_free(&e->pieces.at[i].refs);
    }
    for (uint32_t s = 0; s < COMPONENT_SPACE_COUNT; s++)
        free(e->final[s]), free(e->replaced[s]);
    vec_free(&e->pieces);
    vec_free(&e->arguments);
    vec_free(&e->replacements);
    free(e->argument);
    free(e->replaced_at);
    free(e->modules);
    free(e->inner);
    free(e);
}

ComponentEdit *component_edit_inner(ComponentEdit *e, uint32_t item) {
    assert(e->inner[item]);
    return e->inner[item];
}

ComponentEdit *component_edit_within(ComponentEdit *e, const Component *c) {
    const Component *p = c->parent;
    uint32_t item = 0;
    if (!p)
        return e;
    while (p->items.at[item].kind != COMPONENT_ITEM_COMPONENT || p->items.at[item].component != c)
        item++;
    return component_edit_inner(component_edit_within(e, p), item);
}

const Component *component_edit_of(const ComponentEdit *e) {
    return e->c;
}

/* ---- additions ---- */

static ComponentSpace space_of_letter(char letter) {
    switch (letter) {
    case 'F': return COMPONENT_SPACE_CORE_FUNC;
    case 'm': return COMPONENT_SPACE_CORE_MEMORY;
    case 'B': return COMPONENT_SPACE_CORE_TABLE;
    case 'T': return COMPONENT_SPACE_CORE_TYPE;
    case 'M': return COMPONENT_SPACE_CORE_MODULE;
    case 'i': return COMPONENT_SPACE_CORE_INSTANCE;
    case 'f': return COMPONENT_SPACE_FUNC;
    case 'v':
    case 't': return COMPONENT_SPACE_TYPE;
    case 'C': return COMPONENT_SPACE_COMPONENT;
    default: assert(letter == 'I'); return COMPONENT_SPACE_INSTANCE;
    }
}

static void put_name(Buf *b, Str name) {
    buf_uleb(b, name.len);
    buf_bytes(b, name.ptr, name.len);
}

static void put_args(EditPiece *p, const ComponentArg *args, uint32_t n) {
    buf_uleb(&p->bytes, n);
    for (uint32_t i = 0; i < n; i++) {
        put_name(&p->bytes, args[i].name.name);
        component_put_sort(&p->bytes, args[i].ref.space, p->kind == COMPONENT_ITEM_CORE_INSTANCE);
        vec_push(&p->refs, (EditRef){.at = (uint32_t)p->bytes.len, .ref = args[i].ref});
    }
}

/* Appends what follows a '%'. */
static void put_argument(EditPiece *p, char letter, va_list *args) {
    const ComponentArg *list;
    const Buf *contents;
    uint32_t handle;
    switch (letter) {
    case 'n': put_name(&p->bytes, va_arg(*args, Str)); return;
    case 'a':
        list = va_arg(*args, const ComponentArg *);
        put_args(p, list, va_arg(*args, uint32_t));
        return;
    case 'u': buf_uleb(&p->bytes, va_arg(*args, uint32_t)); return;
    case 'b':
        contents = va_arg(*args, const Buf *);
        buf_bytes(&p->bytes, contents->data, contents->len);
        return;
    default:
        handle = va_arg(*args, uint32_t);
        vec_push(&p->refs, (EditRef){.at = (uint32_t)p->bytes.len,
                                     .is_signed = letter == 'v',
                                     .ref = {(uint8_t)space_of_letter(letter), handle}});
    }
}

static uint32_t digit_of(char c) {
    assert(isxdigit((unsigned char)c));
    return c <= '9' ? (uint32_t)(c - '0') : (uint32_t)(c - 'a') + 10;
}

uint32_t component_edit_add(ComponentEdit *e, uint32_t before, ComponentItemKind kind,
                            ComponentSpace adds, const char *format, ...) {
    assert(before <= e->c->items.len);
    EditPiece *p = vec_add(&e->pieces);
    p->before = before;
    p->kind = (uint8_t)kind;
    p->adds = (uint8_t)adds;
    p->handle = adds == COMPONENT_SPACE_COUNT ? 0 : e->count[adds]++;
    va_list args;
    va_start(args, format);
    for (const char *at = format; *at; at++) {
        if (*at == ' ')
            continue;
        if (*at == '%') {
            put_argument(p, *++at, &args);
        } else {
            buf_u8(&p->bytes, (uint8_t)(digit_of(at[0]) << 4 | digit_of(at[1])));
            at++;
        }
    }
    va_end(args);
    return p->handle;
}

void component_edit_argument(ComponentEdit *e, uint32_t item, Str name, uint32_t instance) {
    assert(e->c->items.at[item].instance->instantiates);
    vec_push(&e->arguments, (EditArgument){instance, name, e->argument[item]});
    e->argument[item] = e->arguments.len;
}

void component_edit_module(ComponentEdit *e, uint32_t item, Buf *module) {
    assert(e->c->items.at[item].kind == COMPONENT_ITEM_CORE_MODULE && !e->modules[item].len);
    e->modules[item] = *module;
    *module = (Buf){0};
}

void component_edit_replace(ComponentEdit *e, uint32_t from, uint32_t to, ComponentRef ref,
                            uint32_t by) {
    uint32_t **lists = &e->replaced[ref.space], *list = &e->replaced_at[from];
    if (to != from + 1) {
        if (!*lists)
            *lists = mem_zalloc(sizeof **lists * (e->c->count[ref.space] + 1u));
        list = &(*lists)[ref.index];
    }
    vec_push(&e->replacements, (EditReplacement){from, to, ref, by, *list});
    *list = e->replacements.len;
}

/* ---- indices ---- */

/* Sorts the pieces by their places, stably. */
static void sort_pieces(ComponentEdit *e) {
    uint32_t n = e->pieces.len, *start = mem_zalloc(sizeof *start * (e->c->items.len + 2u));
    EditPiece *sorted = mem_alloc(sizeof *sorted * (n + 1u));
    for (uint32_t i = 0; i < n; i++)
        start[e->pieces.at[i].before + 1]++;
    for (uint32_t i = 0; i < e->c->items.len; i++)
        start[i + 1] += start[i];
    for (uint32_t i = 0; i < n; i++)
        sorted[start[e->pieces.at[i].before]++] = e->pieces.at[i];
    if (n)
        memcpy(e->pieces.at, sorted, sizeof *sorted * n);
    free(sorted);
    free(start);
}

static void lay_out(ComponentEdit *e) {
    uint32_t next[COMPONENT_SPACE_COUNT] = {0}, old[COMPONENT_SPACE_COUNT] = {0}, piece = 0;
    sort_pieces(e);
    for (uint32_t s = 0; s < COMPONENT_SPACE_COUNT; s++)
        e->final[s] = mem_zalloc(sizeof *e->final[s] * (e->count[s] + 1u));
    for (uint32_t i = 0; i <= e->c->items.len; i++) {
        for (; piece < e->pieces.len && e->pieces.at[piece].before == i; piece++) {
            const EditPiece *p = &e->pieces.at[piece];
            if (p->adds != COMPONENT_SPACE_COUNT)
                e->final[p->adds][p->handle] = next[p->adds]++;
        }
        ComponentSpace space;
        uint32_t n = i < e->c->items.len ? component_adds(&e->c->items.at[i], &space) : 0;
        for (uint32_t k = 0; k < n; k++)
            e->final[space][old[space]++] = next[space]++;
    }
}

/* What takes the place of a handle in the item that is written, by a list of replacements, of which
 * the last one counts; UINT32_MAX = nothing does. */
static uint32_t replaced_by(const ComponentEdit *e, uint32_t list, ComponentRef ref) {
    for (; list; list = e->replacements.at[list - 1].next) {
        const EditReplacement *r = &e->replacements.at[list - 1];
        if (r->ref.space == ref.space && r->ref.index == ref.index && e->item >= r->from &&
            e->item < r->to)
            return r->by;
    }
    return UINT32_MAX;
}

/* The final index of what an item of the input names. */
static uint32_t final_of(const ComponentEdit *e, ComponentRef ref, uint32_t up) {
    for (; up; up--)
        e = e->parent;
    uint32_t by = replaced_by(e, e->replaced_at[e->item], ref);
    if (by == UINT32_MAX && e->replaced[ref.space])
        by = replaced_by(e, e->replaced[ref.space][ref.index], ref);
    return e->final[ref.space][by == UINT32_MAX ? ref.index : by];
}

/* ---- writing ---- */

/* Appends an index, in as many bytes as there were, or more. */
static void put_final(Buf *out, uint32_t final, bool is_signed, uint32_t width) {
    uint8_t number[10], *end = is_signed ? sleb_put(number, final) : uleb_put(number, final);
    if ((uint32_t)(end - number) < width)
        uleb_put_padded(number, final, width);
    else
        width = (uint32_t)(end - number);
    buf_bytes(out, number, width);
}

/* Copies bytes of the input, with final indices. */
static void copy_bytes(ComponentEdit *e, uint32_t from, uint32_t to, Buf *out) {
    const Component *c = e->c;
    while (e->use < c->uses.len && c->uses.at[e->use].at < from)
        e->use++;
    for (; e->use < c->uses.len && c->uses.at[e->use].at < to; e->use++) {
        const ComponentUse *use = &c->uses.at[e->use];
        buf_bytes(out, c->bytes + from, use->at - from);
        from = use->at + use->width;
        uint32_t final = final_of(e, (ComponentRef){use->space, use->index}, use->up);
        put_final(out, final, use->is_signed, use->width);
    }
    buf_bytes(out, c->bytes + from, to - from);
}

/* An instantiation with more arguments. */
static void write_instantiation(ComponentEdit *e, uint32_t item, Buf *out) {
    const ComponentInstance *instance = e->c->items.at[item].instance;
    uint32_t added = 0;
    for (uint32_t k = e->argument[item]; k; k = e->arguments.at[k - 1].next)
        added++;
    bool core = e->c->items.at[item].kind == COMPONENT_ITEM_CORE_INSTANCE;
    ComponentSpace space = core ? COMPONENT_SPACE_CORE_INSTANCE : COMPONENT_SPACE_INSTANCE;
    ComponentSpace of = core ? COMPONENT_SPACE_CORE_MODULE : COMPONENT_SPACE_COMPONENT;
    buf_u8(out, 0);
    buf_uleb(out, final_of(e, (ComponentRef){(uint8_t)of, instance->of}, 0));
    buf_uleb(out, instance->nargs + added);
    for (uint32_t i = 0; i < instance->nargs; i++) {
        const ComponentArg *arg = &instance->args[i];
        put_name(out, arg->name.name);
        component_put_sort(out, arg->ref.space, core);
        buf_uleb(out, final_of(e, arg->ref, 0));
    }
    for (uint32_t k = e->argument[item]; k; k = e->arguments.at[k - 1].next) {
        const EditArgument *a = &e->arguments.at[k - 1];
        put_name(out, a->name);
        component_put_sort(out, space, core);
        buf_uleb(out, e->final[space][a->instance]);
    }
}

static void write_item(ComponentEdit *e, uint32_t item, Buf *out) {
    const ComponentItem *it = &e->c->items.at[item];
    e->item = item;
    if (e->argument[item])
        write_instantiation(e, item, out);
    else
        copy_bytes(e, it->from, it->to, out);
}

static void write_section(uint8_t id, const Buf *contents, Buf *out) {
    buf_u8(out, id);
    buf_uleb(out, contents->len);
    buf_bytes(out, contents->data, contents->len);
}

/* Writes a section of the input; if its size is the same, as that is written there. */
static void write_contents(const ComponentEdit *e, const ComponentSection *s, const Buf *contents,
                           Buf *out) {
    if (contents->len == s->end - s->payload) {
        buf_bytes(out, e->c->bytes + s->header, s->payload - s->header);
        buf_bytes(out, contents->data, contents->len);
    } else {
        write_section(s->id, contents, out);
    }
}

static void write_pieces(ComponentEdit *e, uint32_t before, uint32_t *piece, Buf *out) {
    for (; *piece < e->pieces.len && e->pieces.at[*piece].before == before; ++*piece) {
        const EditPiece *p = &e->pieces.at[*piece];
        Buf contents = {0};
        if (p->kind != COMPONENT_ITEM_CORE_MODULE && p->kind != COMPONENT_ITEM_COMPONENT)
            buf_u8(&contents, 1);
        uint32_t from = 0;
        for (uint32_t i = 0; i < p->refs.len; i++) {
            const EditRef *r = &p->refs.at[i];
            buf_bytes(&contents, p->bytes.data + from, r->at - from);
            put_final(&contents, e->final[r->ref.space][r->ref.index], r->is_signed, 1);
            from = r->at;
        }
        buf_bytes(&contents, p->bytes.data + from, p->bytes.len - from);
        write_section(p->kind, &contents, out);
        buf_free(&contents);
    }
}

static void write_component(ComponentEdit *e, Buf *out);

static uint32_t final_name(void *edit, ComponentRef ref) {
    const ComponentEdit *e = edit;
    return e->final[ref.space][ref.index];
}

/* A section that is one item. */
static void write_whole(ComponentEdit *e, const ComponentSection *s, Buf *out) {
    uint32_t item = s->first;
    Buf contents = {0};
    e->item = item;
    if (e->inner[item]) {
        write_component(e->inner[item], &contents);
        write_contents(e, s, &contents, out);
    } else if (e->modules[item].len) {
        write_section(s->id, &e->modules[item], out);
    } else if (e->pieces.len && component_has_names(&e->c->items.at[item])) {
        buf_bytes(&contents, e->c->bytes + s->payload, e->c->items.at[item].from - s->payload);
        component_names_write(e->c, item, final_name, e, &contents);
        write_contents(e, s, &contents, out);
    } else {
        buf_bytes(out, e->c->bytes + s->header, s->end - s->header);
    }
    buf_free(&contents);
}

static bool is_whole(uint8_t id) {
    return id <= COMPONENT_ITEM_CORE_MODULE || id == COMPONENT_ITEM_COMPONENT;
}

/* Writes the items [first, last) of a section, all of it or what is between additions. */
static void write_items(ComponentEdit *e, const ComponentSection *s, uint32_t first, uint32_t last,
                        Buf *out) {
    Buf contents = {0};
    bool all = first == s->first && last == s->last;
    if (all) /* with the number as it is written there */
        copy_bytes(e, s->payload, s->first < s->last ? e->c->items.at[first].from : s->end,
                   &contents);
    else
        buf_uleb(&contents, last - first);
    for (uint32_t i = first; i < last; i++)
        write_item(e, i, &contents);
    write_contents(e, s, &contents, out);
    buf_free(&contents);
}

static void write_component(ComponentEdit *e, Buf *out) {
    enum { PREAMBLE = 8 };
    const Component *c = e->c;
    uint32_t piece = 0;
    lay_out(e);
    e->use = 0;
    buf_bytes(out, c->bytes + c->from, PREAMBLE);
    for (uint32_t k = 0; k < c->sections.len; k++) {
        const ComponentSection *s = &c->sections.at[k];
        if (s->first == s->last)
            write_items(e, s, s->first, s->last, out);
        for (uint32_t first = s->first, last; first < s->last; first = last) {
            write_pieces(e, first, &piece, out);
            last = s->last;
            if (piece < e->pieces.len && e->pieces.at[piece].before < last)
                last = e->pieces.at[piece].before;
            if (is_whole(s->id))
                write_whole(e, s, out);
            else
                write_items(e, s, first, last, out);
        }
    }
    write_pieces(e, c->items.len, &piece, out);
    assert(piece == e->pieces.len);
}

void component_edit_write(ComponentEdit *e, Buf *out) {
    assert(!e->parent);
    write_component(e, out);
}
