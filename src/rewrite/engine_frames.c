/*
 * rewrite/engine_frames.c - support for samples of the engine's own profiler (`stack.engine()`):
 * the custom section whammc.functions, by which the host finds the functions that have frames, and
 * functions through which imports are called.
 *
 *   u8 version: 2
 *   ULEB  file offset of the first body that is not the program's
 *   per function of the program, and per import that is called through one, by place in the file:
 *     ULEB  body: file offset of its first byte after its size, as distance
 *     ULEB  its index in the original program, as distance from the one before, zigzag, times 8,
 *           with bits: 1 it has no frame; 2 it may be called other than by a call that names it;
 *           4 it may call such functions
 *     ULEB  bytes of the following list
 *     ULEB  the functions that its calls name, ascending: distance of the first from its own index,
 *           zigzag, and of others from the one before
 *
 * V8's profiler reports that offset for each frame. It does not report imported functions, so a
 * program calls them through functions of its own, which are in the section instead. V8 does not
 * inline functions as large as these. From the call graph the host detects where V8 has missed a
 * caller.
 */
#include "rewrite/frames.h"
#include "rewrite/pass.h"

#include "wasm/emit.h"

enum { VERSION = 2 };
enum { NO_FRAME = 1, OPEN = 2, CALLS_OPEN = 4, FLAGS = 3 };

typedef struct EngineFrames {
    const Frames *frames;
    uint32_t *through; /* by imported function: the function that calls it; 0 = none */
    uint32_t imports;
} EngineFrames;

static bool engine_frames_begin(Rewrite *r, void *self) {
    EngineFrames *e = self;
    e->frames = r->frames;
    return e->frames->engine;
}

static bool engine_frames_is_import(const WasmModule *m, uint32_t func) {
    return m->funcs.at[func].import >= 0;
}

/* Adds a function that only calls the import, and is too large to be inlined. */
static uint32_t add_through(WasmModule *m, uint32_t import) {
    enum { SIZE = 512 }; /* V8 inlines up to 500 bytes */
    uint32_t type = m->funcs.at[import].type;
    Buf body = {0};
    buf_uleb(&body, 0); /* locals */
    for (uint32_t k = 0; k < m->types.at[type].nparams; k++)
        emit(&body, "local.get %u", k);
    emit(&body, "call %u return", wasm_final(m, WASM_SPACE_FUNC, import));
    while (body.len < SIZE)
        emit(&body, "unreachable");
    emit(&body, "end");
    return wasm_add_func(m, type, STR("whammc.through"), &body, true);
}

/* Adds the functions through which imports are called. */
static void engine_frames_fill(Rewrite *r, void *self) {
    EngineFrames *e = self;
    WasmModule *m = &r->p.m;
    uint32_t n = m->input_count[WASM_SPACE_FUNC];
    while (e->imports < n && engine_frames_is_import(m, e->imports))
        e->imports++;
    e->through = mem_zalloc(sizeof *e->through * (e->imports + 1u));
    for (uint32_t k = 0; k < e->imports; k++) {
        if (!frames_has(e->frames, k))
            continue;
        e->through[k] = add_through(m, k);
        wasm_wrap_func(m, k, e->through[k]);
    }
}

static void engine_frames_free(Rewrite *r, void *self) {
    (void)r;
    EngineFrames *e = self;
    free(e->through);
}

typedef struct Putter {
    const EngineFrames *e;
    const WasmModule *m, *written;
    uint32_t body, func; /* the last ones */
    Buf callees;         /* of one function */
    Vec(uint32_t) named;
    Buf *out;
} Putter;

static uint32_t zigzag(uint32_t to, uint32_t from) {
    int32_t distance = (int32_t)(to - from);
    return (uint32_t)distance << 1 ^ (distance < 0 ? UINT32_MAX : 0);
}

static int engine_frames_by_number(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Finds the functions that a function's calls name. Returns whether it may call others. A function
 * that is tail-called seems to be called by the caller's caller. */
static bool find_callees(Putter *p, uint32_t func) {
    WasmSurvey *s = p->e->frames->survey;
    uint32_t n, indirect = p->m->input_count[WASM_SPACE_FUNC];
    const WasmCallEdge *calls = wasm_survey_edges(s, p->m, func, &n);
    bool others = s->any_call;
    p->named.len = 0;
    for (uint32_t k = 0; k < n; k++) {
        uint32_t to = calls[k].to;
        bool has_body = to != indirect && (!engine_frames_is_import(p->m, to) || p->e->through[to]);
        others |= !has_body || wasm_survey_has_tail_calls(s, p->m, to);
        if (has_body)
            vec_push(&p->named, to);
    }
    if (p->named.len)
        qsort(p->named.at, p->named.len, sizeof *p->named.at, engine_frames_by_number);
    return others;
}

static void put_callees(Putter *p, uint32_t func) {
    uint32_t last = func;
    p->callees.len = 0;
    for (uint32_t k = 0; k < p->named.len; k++) {
        uint32_t to = p->named.at[k];
        if (k == 0 || to != last)
            buf_uleb(&p->callees, k == 0 ? zigzag(to, func) : to - last);
        last = to;
    }
    buf_uleb(p->out, p->callees.len);
    buf_bytes(p->out, p->callees.data, p->callees.len);
}

/* Appends the function `func`, whose body is that of `handle`. */
static void engine_frames_put_function(Putter *p, uint32_t handle, uint32_t func) {
    WasmSurvey *s = p->e->frames->survey;
    uint32_t body = p->written->funcs.at[wasm_final(p->m, WASM_SPACE_FUNC, handle)].body;
    uint32_t flags = frames_has(p->e->frames, func) ? 0 : NO_FRAME;
    if (s->any_call || wasm_survey_escapes(s, p->m, func))
        flags |= OPEN;
    if (find_callees(p, func) || handle != func)
        flags |= CALLS_OPEN;
    buf_uleb(p->out, body - p->body);
    buf_uleb(p->out, (uint64_t)zigzag(func, p->func) << FLAGS | flags);
    put_callees(p, func);
    p->body = body;
    p->func = func;
}

/* Returns the offset of the end of the program's own bodies. */
static uint32_t end_of_own(const WasmModule *m, const WasmModule *written) {
    uint32_t n = m->input_count[WASM_SPACE_FUNC];
    if (!n || engine_frames_is_import(m, n - 1))
        return 0;
    const WasmFunc *last = &written->funcs.at[wasm_final(m, WASM_SPACE_FUNC, n - 1)];
    return last->body + last->body_size;
}

static void engine_frames_append(Rewrite *r, void *self, const WasmModule *written, Buf *out) {
    const EngineFrames *e = self;
    const WasmModule *m = &r->p.m;
    Buf content = {0};
    Putter p = {.e = e, .m = m, .written = written, .out = &content};
    buf_name(&content, STR("whammc.functions"));
    buf_u8(&content, VERSION);
    buf_uleb(&content, end_of_own(m, written));
    for (uint32_t f = e->imports; f < m->input_count[WASM_SPACE_FUNC]; f++)
        engine_frames_put_function(&p, f, f);
    for (uint32_t k = 0; k < e->imports; k++)
        if (e->through[k])
            engine_frames_put_function(&p, e->through[k], k);
    buf_u8(out, WASM_SEC_CUSTOM);
    buf_uleb(out, content.len);
    buf_bytes(out, content.data, content.len);
    buf_free(&content);
    buf_free(&p.callees);
    vec_free(&p.named);
}

/* After frames_pass. */
const RewritePass engine_frames_pass = {
    .name = "engine_frames",
    .size = sizeof(EngineFrames),
    .begin = engine_frames_begin,
    .fill = engine_frames_fill,
    .append = engine_frames_append,
    .free = engine_frames_free,
};
