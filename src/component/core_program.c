/*
 * component/core_program.c - a program as a list of core modules.
 */
#include "component/core_program.h"

#include <fnmatch.h>

static bool core_program_is_named(const char *const *globs, const char *name) {
    bool found = false;
    for (uint32_t i = 0; globs[i] && !found; i++)
        found = fnmatch(globs[i], name, 0) == 0;
    return found;
}

/* ---- messages ---- */

static bool fits_none(const CoreProgram *p, const char *glob) {
    const char *const globs[] = {glob, NULL};
    bool any = false;
    for (uint32_t i = 0; i < p->parts.len && !any; i++)
        any = p->is_component && core_program_is_named(globs, p->parts.at[i].name);
    return !any;
}

/* "'main', 'wit-component:shim' (an adapter)". */
static void put_names(const CoreProgram *p, Buf *out) {
    for (uint32_t i = 0; i < p->parts.len; i++)
        buf_printf(out, "%s'%s'%s", i ? ", " : "", p->parts.at[i].name,
                   p->inside.at[i].adapter ? " (an adapter)" : "");
}

static void report_unknown(const CoreProgram *p, const char *glob, Diags *diags) {
    if (!p->is_component) {
        diag(diags, DIAG_NO_MODULE, NO_SPAN,
             "%s: expected a component, in which '%s' chooses core modules; it is a module itself",
             p->name, glob);
        return;
    }
    Buf names = {0};
    put_names(p, &names);
    Diag *d = diag(diags, DIAG_NO_MODULE, NO_SPAN, "%s: no core module inside is called '%s'",
                   p->name, glob);
    if (names.len)
        diag_hint(diags, d, "there are %s", buf_cstr(&names));
    else
        diag_hint(diags, d, "it has no core modules");
    buf_free(&names);
}

/* ---- the modules ---- */

/* Whether a module can be changed; else says so, if it is used. */
static bool can_choose(const CoreProgram *p, const ComponentModule *m, Diags *diags) {
    const ComponentItem *item = &m->in->items.at[m->item];
    if (item->runs && !item->passed)
        return true;
    Span place = {p->component.file, item->from, item->from};
    if (item->passed && !p->unvalidated) /* it is to be instrumented */
        diag_hint(
            diags,
            diag(diags, DIAG_LEFT_OUT, place,
                 "the core module '%s' is left out: the component exports it, or passes it to "
                 "others, which rely on what it imports",
                 m->name),
            "instrument the component that instantiates it");
    return false;
}

static void add_parts(CoreProgram *p, Diags *diags) {
    const char *slash = strrchr(p->name, '/'), *file = slash ? slash + 1 : p->name;
    bool any = false;
    component_modules(&p->component, &p->inside);
    for (uint32_t i = 0; i < p->inside.len; i++) {
        const ComponentModule *m = &p->inside.at[i];
        bool chosen = p->globs ? core_program_is_named(p->globs, m->name) : !m->adapter;
        vec_push(&p->parts,
                 ((CorePart){.name = m->name,
                             .file = p->name,
                             .title = arena_printf(p->component.arena, "%s:%s", p->name, m->name),
                             .component = *m->component ? m->component : file,
                             .bytes = (const uint8_t *)m->bytes.ptr,
                             .size = m->bytes.len,
                             .chosen = chosen && can_choose(p, m, diags),
                             .further = any,
                             .inside = m}));
        any |= vec_last(&p->parts).chosen;
    }
}

static bool read_component(CoreProgram *p, Diags *diags) {
    DiagFileId file = diag_file(diags, p->name, p->bytes, p->size, true);
    if (!(p->unvalidated
              ? component_read(&p->component, p->bytes, p->size, file, diags)
              : component_load(&p->component, p->bytes, p->size, file, p->threads, diags)))
        return false;
    component_trace(&p->component);
    add_parts(p, diags);
    return true;
}

bool core_program_open(CoreProgram *p, Diags *diags) {
    bool ok = true;
    p->is_component = component_is(p->bytes, p->size);
    if (p->is_component)
        ok = read_component(p, diags);
    else
        vec_push(&p->parts, ((CorePart){.name = "",
                                        .file = p->name,
                                        .title = p->name,
                                        .component = "",
                                        .bytes = p->bytes,
                                        .size = p->size,
                                        .chosen = true}));
    for (uint32_t i = 0; ok && p->globs && p->globs[i]; i++) {
        if (fits_none(p, p->globs[i])) {
            report_unknown(p, p->globs[i], diags);
            ok = false;
        }
    }
    return ok;
}

void core_program_close(CoreProgram *p) {
    if (p->is_component)
        component_free(&p->component);
    vec_free(&p->inside);
    vec_free(&p->parts);
}
