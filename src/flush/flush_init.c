/*
 * flush/flush_init.c - code that runs once per site: at start-up, after the script-scope
 * statements, '@init' calls and the initial values of per-site variables that depend on script
 * variables; before a report, '@exit' calls.
 */
#include "flush/flush_code.h"
#include "gen/template.h"

typedef struct Sites {
    Splicer *s;
    Chunks chunks;
    bool at_exit;
    Map made;    /* '@exit' calls that need not be made again: their code */
    Arena arena; /* of it */
} Sites;

/* Whether the code after `from` was already appended. */
static bool is_repeated(Sites *x, const Variant *v, size_t from) {
    const Buf *b = &x->chunks.body;
    if (!x->at_exit || v->exits_count)
        return false;
    Str code = {(char *)b->data + from, (uint32_t)(b->len - from)};
    if (map_get(&x->made, code))
        return true;
    map_put(&x->made, (Str){arena_strndup(&x->arena, code.ptr, code.len), code.len}, 0, NULL);
    return false;
}

/* Returns a shape's code for each of its sites at start-up, or before a report; NULL = none. */
static const Template *site_code(const Shape *shape, bool at_exit) {
    const Template *t = at_exit ? shape->exit : shape->init;
    return t && (t->len || t->nholes) ? t : NULL;
}

static bool has_site_code(const Plan *plan, bool at_exit) {
    for (uint32_t i = 0; i < plan->shapes.len; i++)
        if (site_code(plan->shapes.at[i], at_exit))
            return true;
    return false;
}

static void do_site(void *ctx, const Site *site, const SiteTypes *types, const Match *matches,
                    uint32_t n) {
    (void)types;
    Sites *x = ctx;
    splice_words(x->s, site, matches, n);
    for (uint32_t i = 0; i < n; i++) {
        const Shape *shape = matches[i].shape;
        const Template *t = site_code(shape, x->at_exit);
        if (!t)
            continue;
        x->s->out = &x->chunks.body;
        x->s->site.words = x->s->site.all_words.at + x->s->site.words_at.at[i];
        size_t from = x->chunks.body.len;
        splice_template(x->s, t, shape->variant, site);
        pool_release(&x->s->pool);
        if (is_repeated(x, shape->variant, from))
            x->chunks.body.len = from;
        else
            chunks_item(&x->chunks);
    }
}

bool flush_sites(Flush *f, Splicer *s, bool at_exit, Buf *out) {
    if (!has_site_code(f->plan, at_exit))
        return true;
    Sites x = {.s = s, .at_exit = at_exit};
    x.chunks = (Chunks){.f = f, .s = s, .name = at_exit ? "whammc.exit" : "whammc.init"};
    Matcher walk = {.plan = f->matcher->plan,
                    .m = f->matcher->m,
                    .watch_funcs = {-1, -1},
                    .hooks.at = do_site,
                    .hooks.ctx = &x};
    splicer_begin(s, 0);
    fill_restart(s->ctx);
    bool ok = true;
    for (uint32_t i = 0; ok && i < f->m->input_count[WASM_SPACE_FUNC]; i++)
        ok = f->m->funcs.at[i].import >= 0 || match_func(&walk, i);
    chunks_call(&x.chunks, "", out);
    matcher_free(&walk);
    map_free(&x.made);
    arena_free(&x.arena);
    return ok;
}
