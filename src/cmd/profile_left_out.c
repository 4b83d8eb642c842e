/*
 * cmd/profile_left_out.c - the functions that a profile does not show separately: their time is
 * attributed to their callers.
 */
#include "cmd/cmd.h"
#include "lang/list.h"
#include "base/demangle.h"

/* Names of functions in one line. */
typedef struct Names {
    const LeftOut *l;
    const char *head;
    uint32_t n, most;
    Buf *out;
} Names;

static void put_name(Names *names, uint32_t func) {
    if (names->n++ >= names->most)
        return;
    Str name = places_name(names->l->places, func);
    Buf text = {0};
    if (!name.len)
        buf_printf(&text, "#%u", func);
    else if (names->l->mangled || !demangle(name, &text))
        buf_str(&text, name);
    buf_printf(names->out, "%s", names->n == 1 ? names->head : ", ");
    message_clean(names->out, buf_view(&text));
    buf_free(&text);
}

static void end_names(const Names *names) {
    if (names->n > names->most)
        buf_printf(names->out, " and %u more", names->n - names->most);
    if (names->n)
        buf_u8(names->out, '\n');
}

/* The list of those that were not timed; empty if it is none. */
static NumberList untimed_of(const LeftOut *l, Arena *arena) {
    NumberList list = {0};
    uint32_t wrong;
    if (l->len)
        list_parse(arena, (Str){(const char *)l->untimed, l->len}, &list, &wrong);
    return list;
}

void left_out_untimed(const LeftOut *l, Buf *out) {
    Arena arena = {0};
    NumberList list = untimed_of(l, &arena);
    Names names = {l, "\nnot timed, in self of their callers: ", 0, UINT32_MAX, out};
    for (uint32_t f = 0; f < l->places->m->funcs.len; f++)
        if (list_has(&list, f))
            put_name(&names, f);
    end_names(&names);
    arena_free(&arena);
}

/* ---- frames ---- */

/* The functions that have a frame: those with a site of the probe that pushes it. */
typedef struct Frames {
    size_t probe;
    bool *has; /* by function */
} Frames;

static void see_site(void *ctx, const whammc_site *site) {
    const Frames *f = ctx;
    if (site->probe == f->probe)
        f->has[site->fid] = true;
}

/* The first probe at entries of functions. */
static size_t pushing_probe(whammc *w) {
    static const char entry[] = "wasm:func:entry";
    size_t n, i = 0;
    const whammc_probe_stats *probes = whammc_probes(w, &n);
    while (i < n && strncmp(probes[i].rule, entry, sizeof entry - 1) != 0)
        i++;
    return i;
}

void left_out_frames(const LeftOut *l, whammc *w, const Buf *app, Buf *out) {
    const WasmModule *m = l->places->m;
    Arena arena = {0};
    Frames frames = {pushing_probe(w), arena_array(&arena, bool, m->funcs.len + 1u)};
    NumberList untimed = untimed_of(l, &arena);
    Names names = {l, "\nwithout a frame, in self of their callers: ", 0,
                   l->top ? l->top : UINT32_MAX, out};
    if (whammc_list(w, "", app->data, app->len, see_site, &frames) == WHAMMC_OK)
        for (uint32_t f = 0; f < m->funcs.len; f++)
            if (m->funcs.at[f].import < 0 && !frames.has[f] && !list_has(&untimed, f))
                put_name(&names, f);
    end_names(&names);
    arena_free(&arena);
}
