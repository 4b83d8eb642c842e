/*
 * api/api_names.c - the public library: names for a program without a name section: from the symbol
 * map that Emscripten writes, or from another build of the program. They become its name section,
 * where everything finds them.
 */
#include "api/api.h"

#include "base/escape.h"
#include "component/component_edit.h"
#include "valid/valid.h"

typedef Vec(Str) NameList; /* by function; empty = none is known */

typedef struct Names {
    Diags *diags;
    const char *title; /* of the names, in messages */
    const WasmModule *app;
    NameList of;
    Arena arena;
} Names;

static bool wrong(const Names *n, const char *hint, const char *what) {
    Diag *g = diag(n->diags, DIAG_BAD_NAMES, NO_SPAN, "%s: %s", n->title, what);
    diag_hint(n->diags, g, "%s", hint);
    return false;
}

/* ---- symbol maps ---- */

static int hex(char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Emscripten escapes characters other than letters, as "\28". */
static Str unescape(Names *n, Str s) {
    char *text = arena_strndup(&n->arena, s.ptr, s.len);
    uint32_t len = 0;
    for (uint32_t i = 0; i < s.len; i++) {
        bool escaped =
            text[i] == '\\' && i + 2 < s.len && hex(text[i + 1]) >= 0 && hex(text[i + 2]) >= 0;
        text[len++] = escaped ? (char)(hex(text[i + 1]) * 16 + hex(text[i + 2])) : text[i];
        i += escaped ? 2 : 0;
    }
    return (Str){text, len};
}

static bool api_names_is_utf8(Str s) {
    uint32_t code, n = 1;
    for (uint32_t i = 0; i < s.len && n; i += n)
        n = escape_utf8(s.ptr + i, s.len - i, &code);
    return n > 0;
}

/* Parses "12:name". Returns the error, or NULL. */
static const char *api_names_read_line(Names *n, Str line) {
    uint64_t index = 0;
    uint32_t at = 0;
    for (; at < line.len && line.ptr[at] >= '0' && line.ptr[at] <= '9' && index < UINT32_MAX; at++)
        index = index * 10 + (uint64_t)(line.ptr[at] - '0');
    if (!at || at == line.len || line.ptr[at] != ':')
        return "expected 'NUMBER:NAME', as in a symbol map of Emscripten";
    if (index >= n->of.len)
        return "the program has no function of this number: the map is of another build";
    Str name = unescape(n, (Str){line.ptr + at + 1, line.len - at - 1});
    if (!api_names_is_utf8(name))
        return "the name is not UTF-8";
    n->of.at[index] = name;
    return NULL;
}

static bool api_names_read_map(Names *n, Str text) {
    const char *problem = NULL;
    uint32_t number = 0;
    for (size_t at = 0; at < text.len && !problem; number++) {
        const char *start = text.ptr + at;
        const char *end = memchr(start, '\n', text.len - at);
        size_t len = end ? (size_t)(end - start) : text.len - at;
        at += len + 1;
        if (len && start[len - 1] == '\r')
            len--;
        problem = len ? api_names_read_line(n, (Str){start, (uint32_t)len}) : NULL;
    }
    if (!text.len) {
        number = 1;
        problem = "expected lines 'NUMBER:NAME', found nothing";
    }
    if (problem) {
        Diag *g = diag(n->diags, DIAG_BAD_NAMES, NO_SPAN, "%s:%u: %s", n->title, number, problem);
        diag_hint(n->diags, g,
                  "emcc --emit-symbol-map writes one; another build of the program, with names, "
                  "will do, too");
    }
    return !problem;
}

/* ---- another build ---- */

static bool api_names_same_type(const WasmTypeDef *a, const WasmTypeDef *b) {
    return a->nparams == b->nparams && a->nresults == b->nresults &&
           (!a->nparams || memcmp(a->params, b->params, a->nparams * sizeof *a->params) == 0) &&
           (!a->nresults || memcmp(a->results, b->results, a->nresults * sizeof *a->results) == 0);
}

static bool api_names_take_names(Names *n, const WasmModule *other) {
    const WasmModule *m = n->app;
    static const char hint[] = "both must be builds of one program that differ only in names";
    if (other->funcs.len != m->funcs.len)
        return wrong(n, hint, "that module has another number of functions than the program");
    for (uint32_t f = 0; f < m->funcs.len; f++) {
        if ((other->funcs.at[f].import < 0) != (m->funcs.at[f].import < 0) ||
            !api_names_same_type(wasm_func_type(other, f), wasm_func_type(m, f)))
            return wrong(n, hint,
                         "the functions of that module have other types than the program's");
        Str name = wasm_func_name(other, f);
        n->of.at[f] = (Str){arena_strndup(&n->arena, name.ptr, name.len), name.len};
    }
    return true;
}

static bool read_build(Names *n, Str bytes) {
    WasmModule other = {0};
    const uint8_t *p = (const uint8_t *)bytes.ptr;
    DiagFileId file = diag_file(n->diags, n->title, p, bytes.len, true);
    bool ok = wasm_load(&other, p, bytes.len, file, n->diags) && api_names_take_names(n, &other);
    wasm_module_free(&other);
    return ok;
}

/* ---- the program with these names ---- */

static void api_names_put_bytes(Buf *out, Str s) {
    buf_uleb(out, s.len);
    buf_str(out, s);
}

/* The names of functions: the given ones, else the program's own. */
static void api_names_put_section(const Names *n, Buf *out) {
    Buf map = {0}, payload = {0};
    uint32_t count = 0;
    for (uint32_t f = 0; f < n->of.len; f++) {
        Str name = n->of.at[f].len ? n->of.at[f] : wasm_func_name(n->app, f);
        if (!name.len)
            continue;
        buf_uleb(&map, f);
        api_names_put_bytes(&map, name);
        count++;
    }
    Buf head = {0};
    buf_uleb(&head, count);
    api_names_put_bytes(&payload, STR("name"));
    buf_u8(&payload, 1); /* functions */
    buf_uleb(&payload, head.len + map.len);
    buf_bytes(&payload, head.data, head.len);
    buf_bytes(&payload, map.data, map.len);
    buf_u8(out, 0);
    buf_vec(out, &payload);
    buf_free(&head);
    buf_free(&payload);
    buf_free(&map);
}

static void api_names_put_module(const Names *n, const uint8_t *app, Buf *out) {
    enum { HEADER = 8 };
    buf_bytes(out, app, HEADER);
    for (uint32_t k = 0; k < n->app->sections.len; k++) {
        const WasmSection *s = &n->app->sections.at[k];
        if (s->id != WASM_SEC_CUSTOM || !str_is(s->name, "name"))
            buf_bytes(out, app + s->header, s->end - s->header);
    }
    api_names_put_section(n, out);
}

static bool read_names(Names *n, Str given) {
    for (uint32_t f = 0; f < n->app->funcs.len; f++)
        vec_push(&n->of, ((Str){"", 0}));
    bool module = given.len >= 4 && memcmp(given.ptr, "\0asm", 4) == 0;
    return module ? read_build(n, given) : api_names_read_map(n, given);
}

/* Appends a module with these names. */
static bool api_names_put_part(whammc *w, const CorePart *part, const char *title, Str given,
                               Buf *out) {
    WasmModule m = {0};
    Names n = {.diags = &w->diags, .title = title, .app = &m};
    DiagFileId file = diag_file(&w->diags, part->title, part->bytes, part->size, true);
    bool ok = wasm_load(&m, part->bytes, part->size, file, &w->diags) && read_names(&n, given);
    if (ok)
        api_names_put_module(&n, part->bytes, out);
    wasm_module_free(&m);
    vec_free(&n.of);
    arena_free(&n.arena);
    return ok;
}

/* The names for a core module of a component: another build of the component has one of the same
 * name, or they are for the only module. */
static bool names_of_part(const CoreProgram *app, const CorePart *part, const CoreProgram *names,
                          Str *given) {
    uint32_t found = 0;
    const CoreProgram *among = names->is_component ? names : app;
    for (uint32_t i = 0; i < among->parts.len; i++) {
        const CorePart *p = &among->parts.at[i];
        if (!p->chosen || (names->is_component && strcmp(p->name, part->name) != 0))
            continue;
        found++;
        *given = names->is_component ? (Str){(const char *)p->bytes, (uint32_t)p->size}
                                     : (Str){(const char *)names->bytes, (uint32_t)names->size};
    }
    return part->chosen && found == 1;
}

static bool name_component(whammc *w, const CoreProgram *app, const CoreProgram *names, Buf *out) {
    ComponentEdit *edit = component_edit_new(&app->component);
    bool ok = true, any = false;
    for (uint32_t i = 0; ok && i < app->parts.len; i++) {
        const CorePart *part = &app->parts.at[i];
        Buf named = {0};
        Str given = {0};
        if (!names_of_part(app, part, names, &given))
            continue;
        any = true;
        ok = api_names_put_part(w, part, names->name, given, &named);
        if (ok)
            component_edit_module(component_edit_within(edit, part->inside->in), part->inside->item,
                                  &named);
        buf_free(&named);
    }
    if (!any) {
        Names n = {.diags = &w->diags, .title = names->name};
        ok = wrong(&n, "another build of the component names the functions of all core modules",
                   "expected names of one core module each, found several or none in the program");
    }
    if (ok)
        component_edit_write(edit, out);
    component_edit_free(edit);
    return ok;
}

whammc_status whammc_name_functions(whammc *w, const char *name, const void *bytes, size_t size,
                                    const char *names_name, const void *names, size_t names_size,
                                    uint8_t **out, size_t *out_size) {
    *out = NULL;
    *out_size = 0;
    api_reset(w);
    Buf buf = {0};
    CoreProgram app = {.name = name, .bytes = bytes, .size = size};
    CoreProgram given = {.name = names_name, .bytes = names, .size = names_size};
    bool ok = core_program_open(&app, &w->diags) && core_program_open(&given, &w->diags);
    if (ok && names_size > UINT32_MAX) {
        Names n = {.diags = &w->diags, .title = names_name};
        ok = wrong(&n, "a map of a program's functions is smaller", "it has 4 GiB or more");
    } else if (ok && app.is_component) {
        ok = name_component(w, &app, &given, &buf);
    } else if (ok) {
        ok = api_names_put_part(w, &app.parts.at[0], names_name, (Str){names, (uint32_t)names_size},
                                &buf);
    }
    core_program_close(&app);
    core_program_close(&given);
    return api_output(w, ok, &buf, out, out_size);
}
