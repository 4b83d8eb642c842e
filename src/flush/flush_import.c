/*
 * flush/flush_import.c - --link=import: the runtime is another module, imported by the program.
 *
 * Nothing of the program's is touched and it needs no second memory: at a flush, the image and the
 * values go over as arguments, 4 or 8 bytes a call. The protocol is in
 * stdlib/runtime/hosts/host_import.c.
 */
#include "flush/flush_code.h"

#include <inttypes.h>

#include "gen/template.h"
#include "report/embedded.h"

static bool check_options(Flush *f) {
    Span whole = {f->file, 0, 0};
    const RewriteOptions *o = f->options;
    if (o->host != HOST_AUTO && o->host != HOST_WASI) {
        Diag *d =
            diag(f->diags, DIAG_CANNOT_HOST, whole,
                 "--link=import cannot be combined with --host=%.*s: the runtime module writes "
                 "through WASI",
                 STR_ARG(host_name(o->host)));
        diag_hint(f->diags, d, "leave --host out, or use --link=merge");
        return false;
    }
    if (o->storage == STORAGE_MEMORY) {
        Diag *d =
            diag(f->diags, DIAG_CANNOT_STORE, whole,
                 "--link=import cannot be combined with --storage=memory: no memory is added to "
                 "the program");
        diag_hint(f->diags, d, "leave --storage out, or use --link=merge");
        return false;
    }
    return flush_fits_globals(f, "--link=merge");
}

static uint32_t flush_import_import(WasmModule *m, const char *name, const char *params,
                                    const char *result) {
    WasmType types[8], gives = wasm_letter_type(result[0]);
    uint32_t n = 0;
    for (; params[n]; n++)
        types[n] = wasm_letter_type(params[n]);
    uint32_t type = wasm_add_func_type(m, types, n, &gives, *result != 0);
    uint32_t func = wasm_add_import_func(m, text(RUNTIME_IMPORT_MODULE), text(name), type);
    m->funcs.at[func].name = text(arena_printf(&m->arena, "whammc.%s", name));
    return func;
}

bool flush_import_plan(Flush *f) {
    if (!check_options(f))
        return false;
    store_chosen(f->store);
    store_add(f->store, f->m);
    Store *s = f->store;
    s->texts.in_globals = true;
    for (uint32_t i = 0; f->plan->asks.values && i < s->texts.list.len; i++)
        vec_push(&s->texts.at, wasm_add_global_i32(f->m, true, text("whammc.text"), 0));
    return true;
}

bool flush_import_link(Flush *f, const bool *used) {
    /* needed by flush_import_start */
    static const Helper start[] = {HELPER_STR_NEW, HELPER_STR_INTERN, HELPER_STORE64,
                                   HELPER_STORE8};
    bool wanted[HELPER_COUNT] = {false};
    for (uint32_t h = 0; h < HELPER_COUNT; h++)
        wanted[h] = used[h] && h != HELPER_FMOD;
    for (uint32_t i = 0; i < 4 && f->plan->asks.values && f->store->texts.list.len; i++)
        wanted[start[i]] = true;
    for (uint32_t h = 0; h < HELPER_COUNT; h++)
        if (wanted[h])
            f->helpers[h] = flush_import_import(f->m, helper_infos[h].name, helper_infos[h].params,
                                                helper_infos[h].result);
    if (f->plan->asks.values && f->store->maps.count)
        f->rt.setup = flush_import_import(f->m, "setup", "i", "");
    if (!f->writes.text && !f->store->rows.reports)
        return true;
    f->rt.open = flush_import_import(f->m, "open", "ii", "");
    f->rt.put64 = flush_import_import(f->m, "put64", "l", "");
    if (f->writes.text)
        f->rt.setup_text = flush_import_import(f->m, "setup_text", "", "");
    if (!f->store->rows.reports)
        return true;
    f->rt.put32 = flush_import_import(f->m, "put32", "i", "");
    f->rt.skip = flush_import_import(f->m, "skip", "i", "");
    f->rt.close = flush_import_import(f->m, "close", "", "");
    return true;
}

/* ---- handing over images ---- */

static void put_image(Chunks *c, const Buf *image) {
    for (size_t at = 0; at < image->len; at += 8) {
        uint64_t word = 0;
        for (size_t i = 0; i < 8 && at + i < image->len; i++)
            word |= (uint64_t)image->data[at + i] << 8 * i;
        emit(&c->body, "i64.const %" PRIu64 " call %u", word, func_index(c->f, c->f->rt.put64));
        chunks_item(c);
    }
}

/* Begins a report: passes the image, to be followed by so many bytes of values. */
static void open_report(Flush *f, Splicer *s, const Buf *image, uint64_t values_size, Buf *body) {
    Chunks words = {.f = f, .s = s, .name = "whammc.image"};
    emit(body, "i32.const %u i32.const %u call %u", (uint32_t)image->len, (uint32_t)values_size,
         func_index(f, f->rt.open));
    put_image(&words, image);
    chunks_call(&words, "", body);
}

/* ---- the start ---- */

/* Passes the bytes of a string, eight at a time. */
static void flush_import_put_text(Flush *f, Chunks *c, uint32_t id) {
    Str text = f->store->texts.list.at[id];
    Buf *b = &c->body;
    uint32_t global = global_index(f, (uint32_t)f->store->texts.at.at[id]);
    emit(b, "i32.const %u call %u global.set %u", text.len,
         func_index(f, f->helpers[HELPER_STR_NEW]), global);
    for (uint32_t i = 0; i < text.len;) {
        bool whole = text.len - i >= 8;
        uint64_t word = 0;
        for (uint32_t k = 0; k < (whole ? 8u : 1u); k++)
            word |= (uint64_t)(uint8_t)text.ptr[i + k] << 8 * k;
        emit(b, "global.get %u i32.const %u i32.add %s.const %" PRIu64 " call %u", global, 4 + i,
             whole ? "i64" : "i32", word,
             func_index(f, f->helpers[whole ? HELPER_STORE64 : HELPER_STORE8]));
        i += whole ? 8 : 1;
    }
    emit(b, "global.get %u call %u global.set %u", global,
         func_index(f, f->helpers[HELPER_STR_INTERN]), global);
    chunks_item(c);
}

/* Passes an image without rows, which says where text goes. */
static bool set_up_text(Flush *f, Splicer *s, Buf *body) {
    Buf bytes = {0};
    Image *image = image_new();
    bool ok = flush_make_image(f, image, &bytes);
    if (ok) {
        open_report(f, s, &bytes, 0, body);
        emit_calls(body, f->m, &f->rt.setup_text, 1);
    }
    image_free(image);
    buf_free(&bytes);
    return ok;
}

bool flush_import_start(Flush *f, Splicer *s, Buf *body) {
    Chunks c = {.f = f, .s = s, .name = "whammc.texts"};
    if (f->store->maps.count)
        emit(body, "i32.const %u call %u", f->store->maps.count, func_index(f, f->rt.setup));
    for (uint32_t i = 0; i < f->store->texts.list.len; i++)
        if (f->store->texts.list.at[i].len)
            flush_import_put_text(f, &c, i);
    chunks_call(&c, "", body);
    return !f->writes.text || set_up_text(f, s, body);
}

/* ---- the flush ---- */

typedef struct Values {
    Chunks chunks;
    uint64_t at; /* in the value area */
} Values;

/* Passes zeros up to `offset`. */
static void pad(Values *v, uint64_t offset) {
    if (v->at == offset)
        return;
    emit(&v->chunks.body, "i32.const %u call %u", (uint32_t)(offset - v->at),
         func_index(v->chunks.f, v->chunks.f->rt.skip));
    v->at = offset;
    chunks_item(&v->chunks);
}

static void flush_import_put_value(void *ctx, WasmType type, const FlushSource *source,
                                   uint64_t offset) {
    Values *v = ctx;
    Chunks *c = &v->chunks;
    bool wide = type == WASM_I64 || type == WASM_F64;
    pad(v, offset);
    flush_push(c->f, source, &c->body);
    emit(&c->body, "%s call %u",
         type == WASM_F64   ? "i64.reinterpret_f64"
         : type == WASM_F32 ? "i32.reinterpret_f32"
                            : "",
         func_index(c->f, wide ? c->f->rt.put64 : c->f->rt.put32));
    v->at += wide ? 8 : 4;
    chunks_item(c);
}

static void flush_import_put_counters(Values *v) {
    const Flush *f = v->chunks.f;
    uint32_t n = image_counters(f->store->rows.image);
    if (!n)
        return;
    pad(v, image_counters_offset(f->store->rows.image));
    for (uint32_t i = 0; i < n; i++, v->at += 8) {
        emit_get(&v->chunks.body, store_counter(f->store, f->m, i));
        emit(&v->chunks.body, "call %u", func_index(f, f->rt.put64));
        chunks_item(&v->chunks);
    }
}

bool flush_import_put(Flush *f, Splicer *s, Buf *body) {
    Buf image = {0};
    if (!flush_make_image(f, f->store->rows.image, &image))
        return false;
    uint64_t values_size = image_values_size(f->store->rows.image);
    open_report(f, s, &image, values_size, body);
    buf_free(&image);

    Values values = {.chunks = {.f = f, .s = s, .name = "whammc.values"}};
    flush_each_value(f, flush_import_put_value, &values);
    flush_import_put_counters(&values);
    pad(&values, values_size);
    chunks_call(&values.chunks, "", body);
    emit_calls(body, f->m, &f->rt.close, 1);
    return true;
}
