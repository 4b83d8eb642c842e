/*
 * format/firefox.c - the processed profile format of profiler.firefox.com: JSON, with tables as
 * arrays of columns. Each value is a thread, because all samples of a thread have the same kind of
 * weight; or one in each thread, if these are kept apart.
 *
 * A sample is a node with a value. Its time is the sum of the times of all samples before it or,
 * for values other than times, their number in milliseconds.
 */
#include "base/escape.h"
#include "format/format.h"

#include <assert.h>
#include <inttypes.h>

/* Version of the format; newer profilers (versions 61 and later) upgrade it. */
#define FIREFOX_VERSION "61"

enum { OTHER, PROGRAM, OUTSIDE }; /* categories */
enum { RESOURCE_LIBRARY = 1 };    /* a type of resources */

typedef struct Writer {
    const Stacks *s;
    Buf *out;
    Map texts;          /* -> index in stringArray */
    Map files;          /* -> index in sources */
    Vec(uint32_t) leaf; /* of each node: its index in stackTable */
} Writer;

/* ---- columns ---- */

/* A column, and the function that writes its value in each row. */
typedef struct Column {
    const char *name;
    void (*put)(Writer *w, uint32_t row);
} Column;

static void put_column_of(Writer *w, const Column *c, uint32_t n) {
    buf_printf(w->out, "\"%s\":[", c->name);
    for (uint32_t i = 0; i < n; i++) {
        if (i)
            buf_u8(w->out, ',');
        c->put(w, i);
    }
    buf_u8(w->out, ']');
}

/* The last member of a table. */
static void end_table(Writer *w, uint32_t n) {
    buf_printf(w->out, "\"length\":%u}", n);
}

/* A table of `n` rows; the last of its columns has no name. */
static void firefox_put_table(Writer *w, const char *name, const Column *columns, uint32_t n) {
    buf_printf(w->out, "\"%s\":{", name);
    for (; columns->name; columns++) {
        put_column_of(w, columns, n);
        buf_str(w->out, STR(",\n"));
    }
    end_table(w, n);
    buf_str(w->out, STR(",\n"));
}

static void put_null(Writer *w, uint32_t row) {
    (void)row;
    buf_str(w->out, STR("null"));
}

static void put_zero(Writer *w, uint32_t row) {
    (void)row;
    buf_u8(w->out, '0');
}

static void put_one(Writer *w, uint32_t row) {
    (void)row;
    buf_u8(w->out, '1');
}

static void put_false(Writer *w, uint32_t row) {
    (void)row;
    buf_str(w->out, STR("false"));
}

static void firefox_put_text(Writer *w, Str text) {
    buf_printf(w->out, "%" PRIu64, *map_put(&w->texts, text, w->texts.len, NULL));
}

/* A number from 1, or null for 0 (unknown). */
static void firefox_put_known(Writer *w, uint32_t n) {
    if (n)
        buf_printf(w->out, "%u", n);
    else
        put_null(w, 0);
}

/* ---- frames: one for each line of a place ---- */

static const StacksPlace *firefox_place_of(const Writer *w, uint32_t line) {
    const Stacks *s = w->s;
    uint32_t low = 0, high = s->places.len;
    while (high - low > 1) { /* the last one that begins at or before it */
        uint32_t middle = low + (high - low) / 2;
        if (s->places.at[middle].first <= line)
            low = middle;
        else
            high = middle;
    }
    return &s->places.at[low];
}

static void firefox_put_address(Writer *w, uint32_t row) {
    const StacksPlace *p = firefox_place_of(w, row);
    if (p->in_program)
        buf_printf(w->out, "%u", p->address);
    else
        buf_str(w->out, STR("-1"));
}

static void put_depth(Writer *w, uint32_t row) {
    const StacksPlace *p = firefox_place_of(w, row);
    buf_printf(w->out, "%u", p->first + p->count - 1 - row);
}

static bool firefox_is_inside(const Writer *w, const StacksFunc *f) {
    return f->inlined || (f->fid != PROFILE_NOBODY && w->s->modules.at[f->module].size);
}

static void put_category(Writer *w, uint32_t row) {
    const StacksPlace *p = firefox_place_of(w, row);
    bool inside = p->in_program || !w->s->modules.at[p->module].size;
    buf_printf(w->out, "%d", inside ? PROGRAM : OUTSIDE);
}

static void firefox_put_func(Writer *w, uint32_t row) {
    buf_printf(w->out, "%u", w->s->lines.at[row].func);
}

static void firefox_put_line(Writer *w, uint32_t row) {
    firefox_put_known(w, w->s->lines.at[row].line);
}

static void firefox_put_column(Writer *w, uint32_t row) {
    firefox_put_known(w, w->s->lines.at[row].column);
}

static void put_frames(Writer *w) {
    static const Column columns[] = {
        {"address", firefox_put_address}, {"inlineDepth", put_depth},
        {"category", put_category},       {"subcategory", put_zero},
        {"func", firefox_put_func},       {"nativeSymbol", put_null},
        {"innerWindowID", put_null},      {"line", firefox_put_line},
        {"column", firefox_put_column},   {NULL, NULL},
    };
    firefox_put_table(w, "frameTable", columns, w->s->lines.len);
}

/* ---- functions ---- */

static void put_func_name(Writer *w, uint32_t row) {
    firefox_put_text(w, w->s->funcs.at[row].name);
}

static void put_func_resource(Writer *w, uint32_t row) {
    const StacksFunc *f = &w->s->funcs.at[row];
    if (firefox_is_inside(w, f))
        buf_printf(w->out, "%u", f->module);
    else
        buf_str(w->out, STR("-1"));
}

static void put_func_source(Writer *w, uint32_t row) {
    Str file = w->s->funcs.at[row].file;
    if (file.len)
        buf_printf(w->out, "%" PRIu64, *map_put(&w->files, file, w->files.len, NULL));
    else
        put_null(w, row);
}

static void put_func_line(Writer *w, uint32_t row) {
    firefox_put_known(w, w->s->funcs.at[row].line);
}

static void put_funcs(Writer *w) {
    static const Column columns[] = {
        {"name", put_func_name},      {"isJS", put_false},
        {"relevantForJS", put_false}, {"resource", put_func_resource},
        {"source", put_func_source},  {"lineNumber", put_func_line},
        {"columnNumber", put_null},   {NULL, NULL},
    };
    firefox_put_table(w, "funcTable", columns, w->s->funcs.len);
}

static void firefox_put_file(Writer *w, uint32_t row) {
    firefox_put_text(w, w->files.entries[row].key);
}

static void firefox_put_sources(Writer *w) {
    static const Column columns[] = {
        {"id", put_null},         {"filename", firefox_put_file}, {"startLine", put_one},
        {"startColumn", put_one}, {"sourceMapURL", put_null},     {NULL, NULL},
    };
    firefox_put_table(w, "sources", columns, w->files.len);
}

/* ---- stacks ---- */

/* A node becomes one frame for each line of its location. */
static void put_stacks(Writer *w) {
    const Stacks *s = w->s;
    Buf prefixes = {0};
    uint32_t n = 0;
    buf_str(w->out, STR("\"stackTable\":{\"frame\":["));
    for (uint32_t i = 0; i < s->nodes.len; i++) {
        const StacksNode *node = &s->nodes.at[i];
        const StacksPlace *p = &s->places.at[node->place];
        for (uint32_t k = p->count; k-- > 0; n++) {
            buf_printf(w->out, "%s%u", n ? "," : "", p->first + k);
            if (n)
                buf_u8(&prefixes, ',');
            if (k + 1 < p->count)
                buf_printf(&prefixes, "%u", n - 1);
            else if (node->parent != STACKS_NONE)
                buf_printf(&prefixes, "%u", w->leaf.at[node->parent]);
            else
                buf_str(&prefixes, STR("null"));
        }
        vec_push(&w->leaf, n - 1);
    }
    buf_str(w->out, STR("],\n\"prefix\":["));
    buf_bytes(w->out, prefixes.data, prefixes.len);
    buf_str(w->out, STR("],\n"));
    end_table(w, n);
    buf_str(w->out, STR(",\n"));
    buf_free(&prefixes);
}

static void put_shared_string(Writer *w, uint32_t row) {
    escape_json_string(w->out, w->texts.entries[row].key);
}

static void firefox_put_index(Writer *w, uint32_t row) {
    buf_printf(w->out, "%u", row);
}

static void put_module_name(Writer *w, uint32_t row) {
    firefox_put_text(w, w->s->modules.at[row].program);
}

static void firefox_put_library(Writer *w, uint32_t row) {
    (void)row;
    buf_printf(w->out, "%d", RESOURCE_LIBRARY);
}

/* Each module is a library, and a resource. */
static void put_resources(Writer *w) {
    static const Column columns[] = {{"lib", firefox_put_index},
                                     {"name", put_module_name},
                                     {"host", put_null},
                                     {"type", firefox_put_library}};
    buf_str(w->out, STR("\"resourceTable\":{"));
    for (uint32_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        put_column_of(w, &columns[i], w->s->modules.len);
        buf_u8(w->out, ',');
    }
    end_table(w, w->s->modules.len);
}

static void put_shared(Writer *w) {
    buf_str(w->out, STR("\"shared\":{"));
    put_frames(w);
    put_funcs(w);
    put_stacks(w);
    firefox_put_sources(w);
    put_resources(w);
    buf_str(w->out, STR(",\n\"nativeSymbols\":{\"libIndex\":[],\"address\":[],\"name\":[],"
                        "\"functionSize\":[],\"length\":0},\n"));
    put_column_of(w, &(Column){"stringArray", put_shared_string}, w->texts.len);
    buf_str(w->out, STR("},\n"));
}

/* ---- samples ---- */

static void put_ms(int64_t ns, Buf *out) {
    uint64_t size = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
    buf_printf(out, "%s%" PRIu64 ".%06u", ns < 0 ? "-" : "", size / 1000000,
               (uint32_t)(size % 1000000));
}

static const StacksNumber *firefox_number_of(const Stacks *s, const StacksNode *n, uint32_t value) {
    for (uint32_t i = n->first; i < n->first + n->count; i++)
        if (s->numbers.at[i].value == value && s->numbers.at[i].n)
            return &s->numbers.at[i];
    return NULL;
}

/* A thread of the output: a value, in a thread of the program if these are kept apart. */
typedef struct Shown {
    uint32_t value, thread;
} Shown;

static void firefox_put_samples(Writer *w, Shown shown) {
    const Stacks *s = w->s;
    bool times = str_is(s->values.at[shown.value].unit, "nanoseconds");
    bool bytes = str_is(s->values.at[shown.value].unit, "bytes");
    Buf stack = {0}, weight = {0};
    int64_t at = 0;
    uint32_t n = 0;
    buf_printf(w->out, "\"samples\":{\"weightType\":\"%s\",\"time\":[",
               times   ? "tracing-ms"
               : bytes ? "bytes"
                       : "samples");
    for (uint32_t i = 0; i < s->nodes.len; i++) {
        const StacksNode *node = &s->nodes.at[i];
        const StacksNumber *number = firefox_number_of(s, node, shown.value);
        if (!number || (s->threads.len && node->thread != shown.thread))
            continue;
        const char *comma = n++ ? "," : "";
        buf_printf(&stack, "%s%u", comma, w->leaf.at[i]);
        buf_str(&weight, str_of(comma));
        buf_str(w->out, str_of(comma));
        if (times) {
            put_ms(number->n, &weight);
            put_ms(at, w->out);
            at = profile_add_ns(at, number->n < 0 ? 0 : number->n);
        } else {
            buf_printf(&weight, "%" PRId64, number->n);
            buf_printf(w->out, "%u", n - 1);
        }
    }
    buf_str(w->out, STR("],\n\"stack\":["));
    buf_bytes(w->out, stack.data, stack.len);
    buf_str(w->out, STR("],\n\"weight\":["));
    buf_bytes(w->out, weight.data, weight.len);
    buf_str(w->out, STR("],\n"));
    end_table(w, n);
    buf_free(&stack);
    buf_free(&weight);
}

/* "time", or "thread 3: time". */
static void put_thread_name(Writer *w, Shown shown) {
    const Stacks *s = w->s;
    Buf name = {0};
    if (s->threads.len && str_is(s->threads.at[shown.thread], "0"))
        buf_str(&name, STR("main thread: "));
    else if (s->threads.len)
        buf_printf(&name, "thread %.*s: ", STR_ARG(s->threads.at[shown.thread]));
    buf_str(&name, s->values.at[shown.value].name);
    escape_json_string(w->out, buf_view(&name));
    buf_free(&name);
}

static void put_thread(Writer *w, Shown shown, uint32_t index) {
    buf_str(w->out, index ? STR(",\n{\"name\":") : STR("{\"name\":"));
    put_thread_name(w, shown);
    buf_str(w->out, STR(",\"processName\":"));
    escape_json_string(w->out, w->s->program);
    buf_printf(w->out,
               ",\"processType\":\"default\",\"processStartupTime\":0,\"processShutdownTime\":null,"
               "\"registerTime\":0,\"unregisterTime\":null,\"pausedRanges\":[],"
               "\"isMainThread\":%s,\"pid\":\"1\",\"tid\":%u,\n"
               "\"markers\":{\"data\":[],\"name\":[],\"startTime\":[],\"endTime\":[],\"phase\":[],"
               "\"category\":[],\"length\":0},\n",
               index ? "false" : "true", index + 1);
    firefox_put_samples(w, shown);
    buf_u8(w->out, '}');
}

/* Skips inclusive values: samples are added up. */
static void firefox_put_threads(Writer *w) {
    const Stacks *s = w->s;
    uint32_t n = 0;
    buf_str(w->out, STR("\"threads\":["));
    for (uint32_t thread = 0; thread < s->threads.len + !s->threads.len; thread++)
        for (uint32_t i = 0; i < s->values.len; i++)
            if (!s->values.at[i].inclusive)
                put_thread(w, (Shown){i, thread}, n++);
    buf_str(w->out, STR("]}\n"));
}

/* ---- the rest ---- */

static void put_extra(Writer *w) {
    const Stacks *s = w->s;
    if (!s->comments.len)
        return;
    buf_str(w->out, STR(",\n\"extra\":[{\"label\":\"Report\",\"entries\":["));
    for (uint32_t i = 0; i < s->comments.len; i++) {
        Str text = s->comments.at[i];
        buf_str(w->out, i ? STR(",\n{\"label\":") : STR("{\"label\":"));
        escape_json_string(w->out, text);
        buf_str(w->out, STR(",\"format\":\"string\",\"value\":\"\"}"));
    }
    buf_str(w->out, STR("]}]"));
}

/* The thread of the default value. */
static uint32_t shown_thread(const Stacks *s) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->shown; i++)
        n += !s->values.at[i].inclusive;
    return n;
}

static void put_lib(Writer *w, uint32_t row) {
    static const char *const names[] = {"name", "path", "debugName", "debugPath"};
    const StacksModule *m = &w->s->modules.at[row];
    buf_str(w->out, STR("{\"arch\":\"wasm32\",\"breakpadId\":\"\",\"codeId\":"));
    if (m->build.len)
        escape_json_string(w->out, m->build);
    else
        put_null(w, 0);
    for (uint32_t i = 0; i < sizeof names / sizeof *names; i++) {
        buf_printf(w->out, ",\"%s\":", names[i]);
        escape_json_string(w->out, m->program);
    }
    buf_u8(w->out, '}');
}

static void put_meta(Writer *w) {
    const Stacks *s = w->s;
    buf_str(w->out, STR("{\"meta\":{\"product\":"));
    escape_json_string(w->out, s->program);
    buf_str(w->out, STR(",\"importedFrom\":\"whammc\",\"interval\":1,\"startTime\":"));
    put_ms(s->time, w->out);
    buf_printf(w->out,
               ",\"processType\":0,\"stackwalk\":0,\"version\":30,"
               "\"preprocessedProfileVersion\":" FIREFOX_VERSION
               ",\"symbolicated\":true,\"symbolicationNotSupported\":true,"
               "\"usesOnlyOneStackType\":true,\"sourceCodeIsNotOnSearchfox\":true,"
               "\"keepProfileThreadOrder\":true,\"initialSelectedThreads\":[%u],\n"
               "\"markerSchema\":[],\"categories\":["
               "{\"name\":\"Other\",\"color\":\"grey\",\"subcategories\":[\"Other\"]},"
               "{\"name\":\"WebAssembly\",\"color\":\"blue\",\"subcategories\":[\"Other\"]},"
               "{\"name\":\"Imported\",\"color\":\"orange\",\"subcategories\":[\"Other\"]}]",
               shown_thread(s));
    put_extra(w);
    buf_str(w->out, STR("},\n"));
    put_column_of(w, &(Column){"libs", put_lib}, s->modules.len);
    buf_str(w->out, STR(",\n"));
}

void format_firefox(const Stacks *s, Buf *out) {
    assert(stacks_check(s));
    Writer w = {.s = s, .out = out};
    put_meta(&w);
    put_shared(&w);
    firefox_put_threads(&w);
    map_free(&w.texts);
    map_free(&w.files);
    vec_free(&w.leaf);
}
