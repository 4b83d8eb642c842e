/*
 * cli/names_file.c - names for a program that has lost its own: from the symbol map that Emscripten
 * writes, or from another build of the program. They become its name section, so that everything
 * finds them there.
 */
#include "cli/cli.h"
#include "report/escape.h"
#include "wasm/module.h"
#include "valid/valid.h"

typedef Vec(Str) NameList; /* by function; empty = none is known */

typedef struct Names {
    const Cli *cli;
    const char *path; /* of the file of names */
    const WasmModule *app;
    NameList of;
    Arena arena;
} Names;

static bool wrong(const Names *n, const char *hint, const char *what) {
    message_one(n->cli, DIAG_BAD_NAMES, hint, "%s: %s", file_title(n->path), what);
    return false;
}

/* ---- symbol maps ---- */

static int hex(char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Emscripten writes characters that are no letters as "\28". */
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

static bool is_utf8(Str s) {
    uint32_t code, n = 1;
    for (uint32_t i = 0; i < s.len && n; i += n)
        n = escape_utf8(s.ptr + i, s.len - i, &code);
    return n > 0;
}

/* "12:name". Else gives what is wrong. */
static const char *read_line(Names *n, Str line) {
    uint64_t index = 0;
    uint32_t at = 0;
    for (; at < line.len && line.ptr[at] >= '0' && line.ptr[at] <= '9' && index < UINT32_MAX; at++)
        index = index * 10 + (uint64_t)(line.ptr[at] - '0');
    if (!at || at == line.len || line.ptr[at] != ':')
        return "expected 'NUMBER:NAME', as in a symbol map of Emscripten";
    if (index >= n->of.len)
        return "the program has no function of this number: the map is of another build";
    Str name = unescape(n, (Str){line.ptr + at + 1, line.len - at - 1});
    if (!is_utf8(name))
        return "the name is not UTF-8";
    n->of.at[index] = name;
    return NULL;
}

static bool read_map(Names *n, const Buf *text) {
    const char *problem = NULL;
    uint32_t number = 0;
    for (size_t at = 0; at < text->len && !problem; number++) {
        const char *start = (const char *)text->data + at;
        const char *end = memchr(start, '\n', text->len - at);
        size_t len = end ? (size_t)(end - start) : text->len - at;
        at += len + 1;
        if (len && start[len - 1] == '\r')
            len--;
        problem = len ? read_line(n, (Str){start, (uint32_t)len}) : NULL;
    }
    if (!text->len) {
        number = 1;
        problem = "expected lines 'NUMBER:NAME', found nothing";
    }
    if (problem)
        message_one(n->cli, DIAG_BAD_NAMES,
                    "emcc --emit-symbol-map writes one; another build of the program, with names, "
                    "will do, too",
                    "%s:%u: %s", file_title(n->path), number, problem);
    return !problem;
}

/* ---- another build ---- */

static bool same_type(const WasmTypeDef *a, const WasmTypeDef *b) {
    return a->nparams == b->nparams && a->nresults == b->nresults &&
           (!a->nparams || memcmp(a->params, b->params, a->nparams * sizeof *a->params) == 0) &&
           (!a->nresults || memcmp(a->results, b->results, a->nresults * sizeof *a->results) == 0);
}

static bool take_names(Names *n, const WasmModule *other) {
    const WasmModule *m = n->app;
    static const char hint[] = "both must be builds of one program that differ only in names";
    if (other->funcs.len != m->funcs.len)
        return wrong(n, hint, "that module has another number of functions than the program");
    for (uint32_t f = 0; f < m->funcs.len; f++) {
        if ((other->funcs.at[f].import < 0) != (m->funcs.at[f].import < 0) ||
            !same_type(wasm_func_type(other, f), wasm_func_type(m, f)))
            return wrong(n, hint,
                         "the functions of that module have other types than the program's");
        Str name = wasm_func_name(other, f);
        n->of.at[f] = (Str){arena_strndup(&n->arena, name.ptr, name.len), name.len};
    }
    return true;
}

static bool read_build(Names *n, const Buf *bytes) {
    Diags d = {0};
    WasmModule other = {0};
    DiagFileId file = diag_file(&d, file_title(n->path), bytes->data, bytes->len, true);
    bool ok = wasm_load(&other, bytes->data, bytes->len, file, &d);
    message_diags(n->cli, &d);
    ok = ok && take_names(n, &other);
    wasm_module_free(&other);
    diag_free(&d);
    return ok;
}

/* ---- the program with these names ---- */

static void put_bytes(Buf *out, Str s) {
    buf_uleb(out, s.len);
    buf_str(out, s);
}

/* The names of functions; those that were not given are the program's own. */
static void put_section(const Names *n, Buf *out) {
    Buf map = {0}, payload = {0};
    uint32_t count = 0;
    for (uint32_t f = 0; f < n->of.len; f++) {
        Str name = n->of.at[f].len ? n->of.at[f] : wasm_func_name(n->app, f);
        if (!name.len)
            continue;
        buf_uleb(&map, f);
        put_bytes(&map, name);
        count++;
    }
    Buf head = {0};
    buf_uleb(&head, count);
    put_bytes(&payload, STR("name"));
    buf_u8(&payload, 1); /* functions */
    buf_uleb(&payload, head.len + map.len);
    buf_bytes(&payload, head.data, head.len);
    buf_bytes(&payload, map.data, map.len);
    buf_u8(out, 0);
    buf_uleb(out, payload.len);
    buf_bytes(out, payload.data, payload.len);
    buf_free(&head);
    buf_free(&payload);
    buf_free(&map);
}

static void put_module(const Names *n, Buf *app) {
    enum { HEADER = 8 };
    Buf out = {0};
    buf_bytes(&out, app->data, HEADER);
    for (uint32_t k = 0; k < n->app->sections.len; k++) {
        const WasmSection *s = &n->app->sections.at[k];
        if (s->id != WASM_SEC_CUSTOM || !str_is(s->name, "name"))
            buf_bytes(&out, app->data + s->header, s->end - s->header);
    }
    put_section(n, &out);
    buf_free(app);
    *app = out;
}

static bool read_names(Names *n) {
    Buf given = {0};
    bool ok = file_read(n->cli, n->path, &given);
    bool module = given.len >= 4 && memcmp(given.data, "\0asm", 4) == 0;
    ok = ok && (module ? read_build(n, &given) : read_map(n, &given));
    buf_free(&given);
    return ok;
}

bool names_give(const Cli *cli, const char *path, Buf *app) {
    if (!path)
        return true;
    Diags d = {0};
    WasmModule m = {0};
    DiagFileId file = diag_file(&d, "", app->data, app->len, true);
    bool ok = true;
    if (wasm_load(&m, app->data, app->len, file, &d)) { /* else who needs it says what is wrong */
        Names n = {.cli = cli, .path = path, .app = &m};
        for (uint32_t f = 0; f < m.funcs.len; f++)
            vec_push(&n.of, ((Str){"", 0}));
        ok = read_names(&n);
        if (ok)
            put_module(&n, app);
        vec_free(&n.of);
        arena_free(&n.arena);
    }
    wasm_module_free(&m);
    diag_free(&d);
    return ok;
}
