/*
 * eval/wasi.c - WASI (preview 1) for modules that run at compile time.
 */
#include "eval/wasi.h"

#include <time.h>
#include <unistd.h>

enum { SUCCESS = 0, BADF = 8, FAULT = 21, INVAL = 28, IO = 29, NOSYS = 52, SPIPE = 70 };
enum { CHARACTER_DEVICE = 2, STREAMS = 3 };
enum { RANDOM_COST = 64 }; /* a random byte takes as long as so many bytes that are copied */

/* One call: its arguments and the memory of the module that calls. */
typedef struct Call {
    const EvalWasi *wasi;
    EvalMemory *memory;
    const EvalValue *args;
    EvalCall *call;
} Call;

static uint32_t wasi_arg(const Call *c, uint32_t n) {
    return (uint32_t)c->args[n].bits;
}

static bool wasi_put(const Call *c, uint32_t at, uint64_t value, uint32_t bytes) {
    uint8_t le[8];
    for (uint32_t i = 0; i < bytes; i++)
        le[i] = (uint8_t)(value >> 8 * i);
    return eval_memory_write(c->memory, at, le, bytes);
}

static bool get_u32(const Call *c, uint64_t at, uint32_t *value) {
    uint8_t le[4];
    if (!eval_memory_read(c->memory, at, le, sizeof le))
        return false;
    *value = le[0] | (uint32_t)le[1] << 8 | (uint32_t)le[2] << 16 | (uint32_t)le[3] << 24;
    return true;
}

/* ---- arguments and environment ---- */

/* (count*, size*) */
static int list_sizes(const Call *c, const char *const *list) {
    uint32_t n = 0, size = 0;
    for (; list && list[n]; n++)
        size += (uint32_t)strlen(list[n]) + 1;
    return wasi_put(c, wasi_arg(c, 0), n, 4) && wasi_put(c, wasi_arg(c, 1), size, 4) ? SUCCESS
                                                                                     : FAULT;
}

/* (pointers*, texts*) */
static int list_get(const Call *c, const char *const *list) {
    uint32_t at = wasi_arg(c, 1);
    for (uint32_t n = 0; list && list[n]; n++) {
        uint32_t len = (uint32_t)strlen(list[n]) + 1;
        if (!wasi_put(c, wasi_arg(c, 0) + 4 * n, at, 4) ||
            !eval_memory_write(c->memory, at, list[n], len))
            return FAULT;
        at += len;
    }
    return SUCCESS;
}

static int args_sizes_get(const Call *c) {
    return list_sizes(c, c->wasi->args);
}

static int args_get(const Call *c) {
    return list_get(c, c->wasi->args);
}

static int environ_sizes_get(const Call *c) {
    return list_sizes(c, c->wasi->environment);
}

static int environ_get(const Call *c) {
    return list_get(c, c->wasi->environment);
}

/* ---- clocks, random numbers ---- */

/* The host's clock for WASI's number; false if there is none. */
static bool find_clock(uint32_t number, clockid_t *clock) {
    static const clockid_t clocks[] = {CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_PROCESS_CPUTIME_ID,
                                       CLOCK_THREAD_CPUTIME_ID};
    if (number >= sizeof clocks / sizeof *clocks)
        return false;
    *clock = clocks[number];
    return true;
}

static uint64_t nanoseconds(struct timespec t) {
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* (clock, resolution*) */
static int clock_res_get(const Call *c) {
    clockid_t clock;
    struct timespec t;
    if (!find_clock(wasi_arg(c, 0), &clock) || clock_getres(clock, &t) != 0)
        return INVAL;
    return wasi_put(c, wasi_arg(c, 1), nanoseconds(t), 8) ? SUCCESS : FAULT;
}

/* (clock, precision, time*) */
static int clock_time_get(const Call *c) {
    clockid_t clock;
    struct timespec t;
    if (!find_clock(wasi_arg(c, 0), &clock) || clock_gettime(clock, &t) != 0)
        return INVAL;
    return wasi_put(c, wasi_arg(c, 2), nanoseconds(t), 8) ? SUCCESS : FAULT;
}

/* (bytes*, count) */
static int random_get(const Call *c) {
    uint8_t chunk[256]; /* getentropy gives no more at once */
    uint32_t at = wasi_arg(c, 0), left = wasi_arg(c, 1);
    if (!eval_burn(c->call, (uint64_t)left * RANDOM_COST))
        return FAULT;
    while (left) {
        uint32_t n = left < sizeof chunk ? left : (uint32_t)sizeof chunk;
        if (getentropy(chunk, n) != 0)
            return IO;
        if (!eval_memory_write(c->memory, at, chunk, n))
            return FAULT;
        at += n;
        left -= n;
    }
    return SUCCESS;
}

/* ---- streams ---- */

/* (fd, vectors*, count, written*) */
static int fd_write(const Call *c) {
    uint32_t fd = wasi_arg(c, 0), total = 0;
    if (fd != 1 && fd != 2)
        return BADF;
    const uint8_t *memory = eval_memory_data(c->memory);
    uint64_t size = eval_memory_size(c->memory), vector = wasi_arg(c, 1);
    if ((uint64_t)wasi_arg(c, 2) * 8 > size)
        return FAULT;
    for (uint32_t i = 0; i < wasi_arg(c, 2); i++, vector += 8) {
        uint32_t at, len;
        if (!get_u32(c, vector, &at) || !get_u32(c, vector + 4, &len) || (uint64_t)at + len > size)
            return FAULT;
        if (total + len < total)
            return INVAL;
        if (!eval_burn(c->call, EVAL_WRITE_COST + (uint64_t)len))
            return FAULT;
        if (len && c->wasi->write)
            c->wasi->write(c->wasi->ctx, (int)fd, memory + at, len);
        total += len;
    }
    return wasi_put(c, wasi_arg(c, 3), total, 4) ? SUCCESS : FAULT;
}

/* (fd, vectors*, count, read*): standard input is empty */
static int fd_read(const Call *c) {
    if (wasi_arg(c, 0) != 0)
        return BADF;
    return wasi_put(c, wasi_arg(c, 3), 0, 4) ? SUCCESS : FAULT;
}

/* (fd, ...) */
static int stream_only(const Call *c) {
    return wasi_arg(c, 0) < STREAMS ? SUCCESS : BADF;
}

static int not_seekable(const Call *c) {
    return wasi_arg(c, 0) < STREAMS ? SPIPE : BADF;
}

static int no_descriptor(const Call *c) {
    (void)c;
    return BADF;
}

/* (fd, stat*): type, flags, rights */
static int fd_fdstat_get(const Call *c) {
    static const uint8_t zeros[24];
    if (wasi_arg(c, 0) >= STREAMS)
        return BADF;
    bool ok = eval_memory_write(c->memory, wasi_arg(c, 1), zeros, sizeof zeros) &&
              wasi_put(c, wasi_arg(c, 1), CHARACTER_DEVICE, 1) &&
              wasi_put(c, wasi_arg(c, 1) + 8, UINT64_MAX, 8);
    return ok ? SUCCESS : FAULT;
}

static int nothing(const Call *c) {
    (void)c;
    return SUCCESS;
}

/* ---- all ---- */

static const struct {
    const char *name;
    const char *params; /* i = i32, l = i64; the result is an i32 */
    int (*run)(const Call *c);
} functions[] = {
    {"args_get", "ii", args_get},
    {"args_sizes_get", "ii", args_sizes_get},
    {"clock_res_get", "ii", clock_res_get},
    {"clock_time_get", "ili", clock_time_get},
    {"environ_get", "ii", environ_get},
    {"environ_sizes_get", "ii", environ_sizes_get},
    {"fd_close", "i", stream_only},
    {"fd_fdstat_get", "ii", fd_fdstat_get},
    {"fd_fdstat_set_flags", "ii", stream_only},
    {"fd_prestat_get", "ii", no_descriptor},
    {"fd_prestat_dir_name", "iii", no_descriptor},
    {"fd_read", "iiii", fd_read},
    {"fd_seek", "ilii", not_seekable},
    {"fd_tell", "ii", not_seekable},
    {"fd_write", "iiii", fd_write},
    {"random_get", "ii", random_get},
    {"sched_yield", "", nothing},
};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

/* A function with its world. */
typedef struct Binding {
    const EvalWasi *wasi;
    int (*run)(const Call *c); /* NULL = there is no such function */
} Binding;

/* The memory of the module that calls; NULL if it shows none. */
static EvalMemory *wasi_find_memory(const EvalWasi *wasi, EvalCall *call) {
    const EvalInstance *caller = call->caller;
    if (!caller)
        return NULL;
    const WasmModule *m = eval_module(caller);
    eval_burn(call, m->exports.len * sizeof *m->exports.at);
    for (uint32_t i = 0; i < m->exports.len; i++) {
        const WasmExport *e = &m->exports.at[i];
        if (e->space == WASM_SPACE_MEMORY && (wasi->first_memory || str_is(e->name, "memory")))
            return eval_memory(caller, e->handle);
    }
    return NULL;
}

static bool call_function(void *ctx, EvalCall *call) {
    const Binding *b = ctx;
    Call c = {b->wasi, wasi_find_memory(b->wasi, call), call->args, call};
    call->results[0].bits = (uint64_t)(!b->run ? NOSYS : c.memory ? b->run(&c) : FAULT);
    return call->error->status == EVAL_OK; /* else its fuel is used up */
}

static bool proc_exit(void *ctx, EvalCall *call) {
    (void)ctx;
    return eval_fail(call->error, EVAL_HOST, "it ended the program with status %u",
                     (unsigned)call->args[0].bits);
}

static bool wasi_no_function(void *ctx, EvalCall *call) {
    (void)ctx;
    return eval_fail(call->error, EVAL_HOST, "a function of WASI that is not there");
}

static bool wasi_has_type(const WasmTypeDef *t, const char *params) {
    if (strlen(params) != t->nparams)
        return false;
    for (uint32_t i = 0; i < t->nparams; i++)
        if (t->params[i] != (params[i] == 'l' ? WASM_I64 : WASM_I32))
            return false;
    return true;
}

EvalFunc *eval_wasi_func(EvalStore *s, Arena *arena, const EvalWasi *wasi, Str name,
                         const WasmTypeDef *t) {
    EvalHost host = wasi_no_function;
    Binding *b = arena_new(arena, Binding);
    b->wasi = wasi;
    if (str_is(name, "proc_exit") && t->nresults == 0 && wasi_has_type(t, "i"))
        host = proc_exit;
    else if (t->nresults == 1 && t->results[0] == WASM_I32)
        host = call_function;
    for (uint32_t i = 0; i < FUNCTIONS && host == call_function; i++)
        if (str_is(name, functions[i].name) && wasi_has_type(t, functions[i].params))
            b->run = functions[i].run;
    return eval_host_func(s, t->params, t->nparams, t->results, t->nresults, host, b);
}
