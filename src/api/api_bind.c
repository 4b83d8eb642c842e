/*
 * api/api_bind.c - the public library: monitor modules.
 */
#include "api/api.h"

#include "monitor/attach/attach.h"

static void api_bind_add(whammc *w, const char *path, const void *bytes, size_t size,
                         bool library) {
    MonitorSource s = {.path = api_copy(path, strlen(path)), .size = size, .library = library};
    s.bytes = (uint8_t *)api_copy(bytes, size);
    vec_push(&w->read.sources, s);
}

void whammc_add_monitor(whammc *w, const char *path, const void *bytes, size_t size) {
    api_bind_add(w, path, bytes, size, false);
}

void whammc_add_monitor_library(whammc *w, const char *path, const void *bytes, size_t size) {
    api_bind_add(w, path, bytes, size, true);
}

void api_free_monitors(whammc *w) {
    for (uint32_t i = 0; i < w->read.sources.len; i++) {
        free(w->read.sources.at[i].path);
        free(w->read.sources.at[i].bytes);
    }
    vec_free(&w->read.sources);
}

/* ---- binding ---- */

typedef struct Binding {
    whammc *w;
    Vec(BindFile) libraries;
    Vec(BindMonitor) monitors;
} Binding;

static BindFile api_bind_file_of(whammc *w, const MonitorSource *s) {
    DiagFileId file = diag_file(&w->diags, s->path, s->bytes, s->size, true);
    return (BindFile){s->path, s->bytes, s->size, file};
}

/* The monitors with their libraries; a library without a monitor before it is left out. */
static void api_bind_collect(Binding *x) {
    whammc *w = x->w;
    vec_reserve(&x->libraries, w->read.sources.len + 1); /* they must not move */
    for (uint32_t i = 0; i < w->read.sources.len; i++) {
        const MonitorSource *s = &w->read.sources.at[i];
        if (!s->library) {
            BindMonitor m = {.module = api_bind_file_of(w, s)};
            m.libraries = x->libraries.at + x->libraries.len;
            vec_push(&x->monitors, m);
        } else if (x->monitors.len) {
            vec_push(&x->libraries, api_bind_file_of(w, s));
            vec_last(&x->monitors).nlibraries++;
        }
    }
}

static void api_bind_note_attached(void *ctx, uint32_t monitor, Str export, uint64_t places) {
    Binding *x = ctx;
    whammc *w = x->w;
    vec_push(&w->read.attached,
             ((whammc_attached){x->monitors.at[monitor].module.path,
                                arena_strndup(&w->read.names, export.ptr, export.len), places}));
}

static void api_bind_print(void *ctx, int stream, const void *bytes, size_t size) {
    const whammc *w = ((Binding *)ctx)->w;
    if (w->world.write)
        w->world.write(w->world.ctx, stream, bytes, size);
}

whammc_status whammc_bind(whammc *w, const char *name, const void *bytes, size_t size,
                          const whammc_options *options, uint8_t **out, size_t *out_size) {
    *out = NULL;
    *out_size = 0;
    api_reset(w);
    w->hosted = (Hosted){0};
    if (component_is(bytes, size)) {
        Diag *d = diag(&w->diags, DIAG_COMPONENT, NO_SPAN,
                       "%s: expected a core module to attach monitors to, found a component", name);
        diag_hint(&w->diags, d,
                  "`whammc instr` compiles scripts into components; a monitor can be attached to a "
                  "core module before a component is made of it");
        return WHAMMC_ERROR;
    }
    Binding x = {.w = w};
    api_bind_collect(&x);
    RewriteOptions r = api_options(options);
    BindOptions o = {.host = r.host,
                     .keep_debug = r.keep_debug,
                     .threads = r.threads,
                     .no_optimise = r.no_optimise,
                     .coalesce = r.coalesce,
                     .exact_traps = r.exact_traps,
                     .empty_bodies = options && options->without & WHAMMC_WITHOUT_BODIES,
                     .write = api_bind_print,
                     .attached = api_bind_note_attached,
                     .ctx = &x,
                     .hosted = &w->hosted.host};
    BindFile app = {name, bytes, size, diag_file(&w->diags, name, bytes, size, true)};
    Buf buf = {0};
    bool ok = bind_program(x.monitors.at, x.monitors.len, &app, &o, &buf, &w->diags);
    vec_free(&x.libraries);
    vec_free(&x.monitors);
    return api_output(w, ok, &buf, out, out_size);
}

const whammc_attached *whammc_attachments(whammc *w, size_t *n) {
    *n = w->read.attached.len;
    return w->read.attached.at;
}
