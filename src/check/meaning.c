/*
 * check/meaning.c - what the names of a script mean.
 */
#include "check/meaning.h"

static bool lists(const char *list, const char *text) {
    size_t n = strlen(text);
    for (const char *at = strstr(list, text); at; at = strstr(at + 1, text)) {
        bool begins = at == list || at[-1] == ' ', ends = !at[n] || at[n] == ' ';
        if (begins && ends)
            return true;
    }
    return false;
}

void meaning_note(Meanings *to, Meaning m) {
    if (!to || !m.span.file || m.span.start == m.span.end)
        return;
    bool added;
    const uint32_t place[] = {m.span.file, m.span.start};
    uint64_t *at =
        map_put(&to->places, (Str){(const char *)place, sizeof place}, to->list.len, &added);
    if (m.text)
        m.text = arena_strndup(&to->arena, m.text, strlen(m.text));
    if (added) {
        vec_push(&to->list, m);
        return;
    }
    Meaning *known = &to->list.at[*at];
    if (known->kind != MEANING_BOUND || m.kind != MEANING_BOUND || !m.text)
        return;
    if (!known->text)
        known->text = m.text;
    else if (!lists(known->text, m.text))
        known->text = arena_printf(&to->arena, "%s or %s", known->text, m.text);
}

const Meaning *meaning_at(const Meanings *m, DiagFileId file, uint32_t offset) {
    const Meaning *best = NULL;
    for (uint32_t i = 0; i < m->list.len; i++) {
        const Meaning *one = &m->list.at[i];
        bool inside =
            one->span.file == file && one->span.start <= offset && offset <= one->span.end;
        /* between two names, the one that begins there */
        if (inside && (!best || one->span.start > best->span.start))
            best = one;
    }
    return best;
}

bool meaning_is_same(const Meaning *a, const Meaning *b) {
    bool framed = a->var && b->var && a->var->storage == STORAGE_FRAME &&
                  b->var->storage == STORAGE_FRAME && str_eq(a->var->name, b->var->name);
    return framed || (a->kind == b->kind && a->declaration.file &&
                      a->declaration.file == b->declaration.file &&
                      a->declaration.start == b->declaration.start);
}

void meanings_free(Meanings *m) {
    arena_free(&m->arena);
    vec_free(&m->list);
    map_free(&m->places);
    *m = (Meanings){0};
}
