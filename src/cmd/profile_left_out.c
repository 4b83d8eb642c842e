/*
 * cmd/profile_left_out.c - functions without entries of their own in profiles: their time is
 * attributed to their callers.
 */
#include "base/demangle.h"
#include "cmd/cmd.h"

/* Names of functions in one line. */
typedef struct Names {
    const LeftOut *l;
    const char *head;
    uint32_t n, most;
    Buf *out;
} Names;

static void profile_left_out_put_name(Names *names, uint32_t func) {
    if (names->n++ >= names->most)
        return;
    Str name = str_of(whammc_module_shown_name(names->l->m, func));
    Buf text = {0};
    if (names->l->mangled || !demangle(name, &text))
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

void left_out_untimed(const LeftOut *l, Buf *out) {
    uint32_t n = whammc_module_count(l->m, WHAMMC_FUNC);
    Names names = {l, "\nnot timed, in self of their callers: ", 0, UINT32_MAX, out};
    for (uint32_t f = 0; f < n; f++)
        if (l->untimed[f])
            profile_left_out_put_name(&names, f);
    end_names(&names);
}

/* ---- frames ---- */

/* The functions with a frame: with a site of the probe that pushes frames. */
typedef struct Frames {
    size_t probe;
    bool *has; /* by function */
} Frames;

static void see_site(void *ctx, const whammc_site *site) {
    const Frames *f = ctx;
    if (site->probe == f->probe)
        f->has[site->fid] = true;
}

/* Returns the first probe at function entries, which pushes frames. */
static size_t pushing_probe(whammc *w) {
    static const char entry[] = "wasm:func:entry";
    size_t n, i = 0;
    const whammc_probe_stats *probes = whammc_probes(w, &n);
    while (i < n && strncmp(probes[i].rule, entry, sizeof entry - 1) != 0)
        i++;
    return i;
}

void left_out_frames(const LeftOut *l, whammc *w, const Buf *app, Buf *out) {
    uint32_t n = whammc_module_count(l->m, WHAMMC_FUNC);
    Frames frames = {pushing_probe(w), mem_zalloc(n + 1u)};
    Names names = {l, "\nwithout a frame, in self of their callers: ", 0,
                   l->top ? l->top : UINT32_MAX, out};
    if (whammc_list(w, "", app->data, app->len, see_site, &frames) == WHAMMC_OK)
        for (uint32_t f = whammc_module_imports(l->m, WHAMMC_FUNC); f < n; f++)
            if (!frames.has[f] && !l->untimed[f])
                profile_left_out_put_name(&names, f);
    end_names(&names);
    free(frames.has);
}
