/*
 * target/flush_init.c - initial values of per-site variables that depend on script variables:
 * computed at start-up, once per site, behind the script-scope statements.
 */
#include "target/flush_code.h"

typedef struct SiteInits {
    Splicer *s;
    Chunks chunks;
} SiteInits;

static void init_site(void *ctx, const Site *site, const SiteTypes *types, const Match *matches,
                      uint32_t n) {
    (void)types;
    SiteInits *x = ctx;
    splice_slots(x->s, matches, n);
    for (uint32_t i = 0; i < n; i++) {
        const Shape *shape = matches[i].shape;
        if (!shape->init)
            continue;
        x->s->out = &x->chunks.body;
        x->s->slots = x->s->site_slots.at + x->s->slot_at.at[i];
        splice_template(x->s, shape->init, shape->variant, site);
        pool_release(&x->s->pool);
        chunks_item(&x->chunks);
    }
}

bool flush_site_inits(Flush *f, Splicer *s, Matcher *w, Buf *start) {
    bool any = false;
    for (uint32_t i = 0; i < f->plan->variants.len; i++)
        any |= f->plan->variants.at[i]->starts_dynamic;
    if (!any)
        return true;
    SiteInits x = {.s = s, .chunks = {.f = f, .s = s, .name = "whammc.init"}};
    x.chunks.type = wasm_add_func_type(f->m, NULL, 0, NULL, 0);
    Matcher walk = {.plan = w->plan, .m = w->m, .watch_call = -1, .at = init_site, .ctx = &x};
    splicer_begin(s, 0);
    bool ok = true;
    for (uint32_t i = 0; ok && i < f->m->input_count[WASM_SPACE_FUNC]; i++)
        ok = f->m->funcs.at[i].import >= 0 || match_func(&walk, i);
    chunks_end(&x.chunks);
    for (uint32_t i = 0; i < x.chunks.funcs.len; i++)
        put_call(f, start, x.chunks.funcs.at[i]);
    matcher_free(&walk);
    chunks_free(&x.chunks);
    return ok;
}
