/*
 * valid/limits.c - comparing an output with the limits of engines.
 */
#include "valid/limits.h"

#include <stdio.h>

typedef struct Limits {
    const WasmModule *m, *from;
    uint64_t now[WASM_LIMIT_COUNT], before[WASM_LIMIT_COUNT];
    uint32_t func; /* of the output: has the largest body */
} Limits;

static const struct {
    uint64_t most;
    const char *what, *advice;
} limits[WASM_LIMIT_COUNT] = {
#define LIMIT(id, most, what, advice) {most, what, advice},
#include "wasm/limit.def"
#undef LIMIT
};

static void at_least(uint64_t *most, uint64_t n) {
    if (n > *most)
        *most = n;
}

static void measure_names(const WasmModule *m, uint64_t *sizes) {
    for (uint32_t i = 0; i < m->imports.len; i++) {
        at_least(&sizes[WASM_LIMIT_NAME], m->imports.at[i].module.len);
        at_least(&sizes[WASM_LIMIT_NAME], m->imports.at[i].name.len);
    }
    for (uint32_t i = 0; i < m->exports.len; i++)
        at_least(&sizes[WASM_LIMIT_NAME], m->exports.at[i].name.len);
}

static void measure_bodies(const WasmModule *m, uint64_t *sizes, uint32_t *largest) {
    for (uint32_t f = 0; f < m->funcs.len; f++)
        if (m->funcs.at[f].import < 0 && m->funcs.at[f].body_size > sizes[WASM_LIMIT_BODY]) {
            sizes[WASM_LIMIT_BODY] = m->funcs.at[f].body_size;
            *largest = f;
        }
}

/* The functions from `first` on. */
static void measure_code(const WasmModule *m, uint32_t first, uint64_t *sizes) {
    WasmInstr i;
    for (uint32_t f = first; f < m->funcs.len; f++) {
        WasmCode code;
        if (m->funcs.at[f].import >= 0 || !wasm_func_code(m, f, &code))
            continue;
        while (wasm_next(&code, &i))
            if (i.op == WASM_OP_BR_TABLE)
                at_least(&sizes[WASM_LIMIT_LABELS], i.count);
    }
}

/* The first function of an output that its program does not have: they are behind the program's,
 * in which no br_table becomes longer. */
static uint32_t first_added(const WasmModule *m, const WasmModule *from) {
    uint32_t own =
        from ? from->input_count[WASM_SPACE_FUNC] - from->input_imports[WASM_SPACE_FUNC] : 0;
    return m->input_imports[WASM_SPACE_FUNC] + own;
}

/* Only the input counts. */
static void limits_measure(const WasmModule *m, uint64_t *sizes, uint32_t *largest) {
    static const WasmLimit of_space[WASM_SPACE_COUNT] = {
        [WASM_SPACE_TYPE] = WASM_LIMIT_TYPES,     [WASM_SPACE_FUNC] = WASM_LIMIT_FUNCS,
        [WASM_SPACE_TABLE] = WASM_LIMIT_TABLES,   [WASM_SPACE_MEMORY] = WASM_LIMIT_MEMORIES,
        [WASM_SPACE_GLOBAL] = WASM_LIMIT_GLOBALS, [WASM_SPACE_TAG] = WASM_LIMIT_TAGS,
        [WASM_SPACE_ELEM] = WASM_LIMIT_ELEMS,     [WASM_SPACE_DATA] = WASM_LIMIT_DATAS,
    };
    for (uint32_t space = 0; space < WASM_SPACE_LOCAL; space++)
        sizes[of_space[space]] = m->input_count[space];
    sizes[WASM_LIMIT_IMPORTS] = m->input_import_count;
    sizes[WASM_LIMIT_EXPORTS] = m->input_export_count;
    for (uint32_t t = 0; t < m->input_count[WASM_SPACE_TYPE]; t++) {
        at_least(&sizes[WASM_LIMIT_PARAMS], m->types.at[t].nparams);
        at_least(&sizes[WASM_LIMIT_RESULTS], m->types.at[t].nresults);
    }
    for (uint32_t t = 0; t < m->input_count[WASM_SPACE_TABLE]; t++)
        at_least(&sizes[WASM_LIMIT_ELEMENTS], m->tables.at[t].limits.min);
    measure_bodies(m, sizes, largest);
    measure_names(m, sizes);
}

static void limits_report(const Limits *x, WasmLimit k, Span place, Diags *diags) {
    char func[160] = "";
    if (k == WASM_LIMIT_BODY) {
        Str name = wasm_func_name(x->m, x->func);
        snprintf(func, sizeof func, " in function %u%s%.*s", x->func, name.len ? " " : "",
                 name.len > 100 ? 100 : (int)name.len, name.len ? name.ptr : "");
    }
    Diag *d = diag(diags, DIAG_ENGINE_LIMIT, place,
                   "the output would have %llu %s%s, but engines allow at most %llu; nothing was "
                   "written",
                   (unsigned long long)x->now[k], limits[k].what, func,
                   (unsigned long long)limits[k].most);
    if (x->from)
        diag_hint(diags, d, "the program has %llu; %s", (unsigned long long)x->before[k],
                  limits[k].advice);
}

bool limits_check(const WasmModule *m, size_t size, const WasmModule *from, Span place,
                  Diags *diags) {
    Limits x = {.m = m, .from = from};
    bool ok = true;
    uint32_t ignored;
    limits_measure(m, x.now, &x.func);
    x.now[WASM_LIMIT_SIZE] = size;
    measure_code(m, first_added(m, from), x.now);
    if (from) {
        limits_measure(from, x.before, &ignored);
        x.before[WASM_LIMIT_SIZE] = from->size;
    }
    if (from && x.now[WASM_LIMIT_LABELS] > limits[WASM_LIMIT_LABELS].most)
        measure_code(from, 0, x.before);
    for (uint32_t k = 0; k < WASM_LIMIT_COUNT; k++) {
        if (x.now[k] <= limits[k].most || x.before[k] > limits[k].most)
            continue;
        limits_report(&x, (WasmLimit)k, place, diags);
        ok = false;
    }
    return ok;
}
