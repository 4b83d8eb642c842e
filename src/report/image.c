/*
 * report/image.c - builds the image of a report. The layout is in stdlib/runtime/format.h.
 *
 * Rows are encoded as they come, a stream per kind. That row n + 1 has the pair (variable, probe)
 * which followed n's pair when that was seen first costs nothing; only another pair is written
 * down. So one variable in one probe, or several that always come in the same order, cost one byte
 * a row.
 */
#include "report/image.h"
#include "report/escape.h"

typedef struct ImageVar {
    ReportKind kind;
    Str name, whamm_type, wasm_type, script;
} ImageVar;

typedef struct ImagePair {
    uint32_t var, probe, next;
    bool has_next;
} ImagePair;

typedef struct ImageFunc {
    uint32_t fid, order;
    Str name;
} ImageFunc;

typedef struct ImageTail {
    uint32_t var, probe;
    bool shared;
} ImageTail;

typedef struct ImageGroup {
    Buf rows;
    uint32_t count;
    uint32_t fid, pc, pair; /* of the row before */
} ImageGroup;

enum { RECENT = 1024 }; /* a power of two */

struct Image {
    Arena arena;
    Vec(ImageVar) vars;
    Vec(Str) probes;
    Vec(ImagePair) pairs;
    Map pair_of; /* (var, probe) as 8 bytes -> index in pairs */
    uint32_t
        recent[RECENT]; /* 1 + index of a pair, by a hash of it: spares the map most look-ups */
    Vec(ImageFunc) funcs;
    Vec(uint32_t) fids; /* functions with rows; sorted out at the end */
    Vec(ImageTail) tail;
    ImageGroup groups[REPORT_KINDS];
};

Image *image_new(void) {
    return mem_zalloc(sizeof(Image));
}

void image_free(Image *img) {
    if (!img)
        return;
    arena_free(&img->arena);
    vec_free(&img->vars);
    vec_free(&img->probes);
    vec_free(&img->pairs);
    map_free(&img->pair_of);
    vec_free(&img->funcs);
    vec_free(&img->fids);
    vec_free(&img->tail);
    for (uint32_t k = 0; k < REPORT_KINDS; k++)
        buf_free(&img->groups[k].rows);
    free(img);
}

static Str keep(Image *img, Str s) {
    return (Str){arena_strndup(&img->arena, s.ptr, s.len), s.len};
}

uint32_t image_var(Image *img, ReportKind kind, Str name, Str whamm_type, Str wasm_type,
                   Str script) {
    ImageVar v = {kind, keep(img, name), keep(img, whamm_type), keep(img, wasm_type),
                  keep(img, script)};
    vec_push(&img->vars, v);
    return img->vars.len - 1;
}

uint32_t image_probe(Image *img, Str id) {
    Str copy = keep(img, id);
    vec_push(&img->probes, copy);
    return img->probes.len - 1;
}

void image_func(Image *img, uint32_t fid, Str name) {
    if (name.len == 0)
        return;
    ImageFunc f = {fid, img->funcs.len, keep(img, name)};
    vec_push(&img->funcs, f);
}

/* ---- rows ---- */

static uint32_t pair_index(Image *img, uint32_t var, uint32_t probe) {
    uint32_t *recent = &img->recent[(probe + var * 37) & (RECENT - 1)];
    if (*recent) {
        const ImagePair *p = &img->pairs.at[*recent - 1];
        if (p->var == var && p->probe == probe)
            return *recent - 1;
    }
    uint32_t key[2] = {var, probe};
    bool added;
    uint64_t index =
        *map_put(&img->pair_of, (Str){(const char *)key, sizeof key}, img->pairs.len, &added);
    if (added) {
        ImagePair p = {.var = var, .probe = probe};
        vec_push(&img->pairs, p);
    }
    *recent = (uint32_t)index + 1;
    return (uint32_t)index;
}

/* Makes the pair the group's; true if it is not the one that was to be expected. */
static bool move_pair(Image *img, ImageGroup *g, uint32_t var, uint32_t probe) {
    if (g->count == 0) {
        g->pair = pair_index(img, var, probe);
        return true;
    }
    const ImagePair *last = &img->pairs.at[g->pair], *next = &img->pairs.at[last->next];
    if (last->has_next && next->var == var && next->probe == probe) {
        g->pair = last->next;
        return false;
    }
    uint32_t before = g->pair;
    g->pair = pair_index(img, var, probe);
    if (img->pairs.at[before].has_next)
        return true;
    img->pairs.at[before].next = g->pair;
    img->pairs.at[before].has_next = true;
    return false;
}

uint32_t image_site_row(Image *img, uint32_t var, uint32_t probe, uint32_t fid, uint32_t pc) {
    ImageGroup *g = &img->groups[img->vars.at[var].kind];
    bool other = move_pair(img, g, var, probe);
    bool jump = fid != g->fid || pc < g->pc;
    uint32_t forward = jump ? pc : pc - g->pc;
    buf_uleb(&g->rows, (uint64_t)forward << 2 | (other ? 2 : 0) | (jump ? 1 : 0));
    if (jump) {
        uint32_t by = fid - g->fid;
        buf_uleb(&g->rows, (by << 1) ^ (0 - (by >> 31)));
    }
    if (other)
        buf_uleb(&g->rows, g->pair);
    if (g->count == 0 || fid != g->fid)
        vec_push(&img->fids, fid);
    g->fid = fid;
    g->pc = pc;
    return g->count++;
}

static uint32_t tail_row(Image *img, ImageTail row) {
    vec_push(&img->tail, row);
    return img->tail.len - 1;
}

uint32_t image_shared_row(Image *img, uint32_t var, uint32_t probe) {
    return tail_row(img, (ImageTail){.var = var, .probe = probe, .shared = true});
}

uint32_t image_script_row(Image *img, uint32_t var) {
    return tail_row(img, (ImageTail){.var = var});
}

bool image_is_empty(const Image *img) {
    uint64_t rows = img->tail.len;
    for (uint32_t k = 0; k < REPORT_KINDS; k++)
        rows += img->groups[k].count;
    return rows == 0;
}

/* ---- the value area ---- */

uint32_t image_value_size(ReportKind kind) {
    return kind == REPORT_U64 || kind == REPORT_I64 || kind == REPORT_F64 ? 8 : 4;
}

uint64_t image_group_offset(const Image *img, ReportKind kind) {
    uint64_t at = 0;
    for (uint32_t k = 0; k < (uint32_t)kind; k++) {
        at += (uint64_t)img->groups[k].count * image_value_size((ReportKind)k);
        at = (at + 7) & ~(uint64_t)7;
    }
    return at;
}

uint32_t image_group_rows(const Image *img, ReportKind kind) {
    return img->groups[kind].count;
}

uint64_t image_tail_offset(const Image *img, uint32_t row) {
    return image_group_offset(img, REPORT_KINDS) + (uint64_t)row * 8;
}

uint64_t image_values_size(const Image *img) {
    return image_tail_offset(img, img->tail.len);
}

/* ---- the image ---- */

/* How rows look in a format; what is not here are the names of the columns in JSON. */
typedef struct Layout {
    Str head, row, sep_fid, sep_pc, row_end;
} Layout;

#define TEXT(literal)                                                                              \
    { literal, sizeof literal - 1 }

static const Layout layouts[] = {
    [IMAGE_CSV] =
        {
            TEXT("\n================================= REPORT CSV FLUSH "
                 "====================================\n"
                 "id, id_type, name, whamm_type, wasm_type, script_id, fname, fid, pc, probe_id, "
                 "value(s)\n"),
            TEXT(""),
            TEXT(", "),
            TEXT(", "),
            TEXT("\n"),
        },
    [IMAGE_JSON] =
        {
            TEXT("\n"),
            TEXT("{\"id\":"),
            TEXT("\",\"fid\":"),
            TEXT(",\"pc\":"),
            TEXT("}\n"),
        },
};

typedef struct Writer {
    const Image *img;
    const ImageOptions *options;
    Buf *out;
    size_t start; /* of the image in *out */
    Buf scratch;
} Writer;

/* Distance of two records of the kind in the layout that the ids stand for. */
static uint32_t id_stride(ReportKind kind) {
    switch (kind) {
    case REPORT_U8:
    case REPORT_I8:
    case REPORT_BOOL: return 28 + 1;
    case REPORT_U16:
    case REPORT_I16: return 28 + 2;
    default: return 28 + image_value_size(kind);
    }
}

static void put_field(Writer *w, FormatField field, uint64_t v) {
    for (uint32_t i = 0; i < 4; i++)
        w->out->data[w->start + field + i] = (uint8_t)(v >> 8 * i);
}

static size_t here(const Writer *w) {
    return w->out->len - w->start;
}

static void put_text(Writer *w, FormatField field, Str text) {
    put_field(w, field, here(w));
    buf_name(w->out, text);
}

/* The scratch buffer's contents as text; gives its offset and empties the buffer. */
static size_t put_scratch(Writer *w) {
    size_t at = here(w);
    buf_uleb(w->out, w->scratch.len);
    buf_bytes(w->out, w->scratch.data, w->scratch.len);
    w->scratch.len = 0;
    return at;
}

static bool is_json(const Writer *w) {
    return w->options->format == IMAGE_JSON;
}

/* One column with a string in it, and what stands before it. */
static void column(Writer *w, const char *json_name, Str s) {
    if (is_json(w)) {
        buf_printf(&w->scratch, ",\"%s\":\"", json_name);
        escape_json(&w->scratch, s);
        buf_u8(&w->scratch, '"');
    } else {
        buf_str(&w->scratch, STR(", "));
        escape_csv(&w->scratch, s);
    }
}

static void var_columns(Writer *w, const ImageVar *v, Str id_type) {
    column(w, "id_type", id_type);
    column(w, "name", v->name);
    column(w, "type", v->whamm_type);
    column(w, "wasm_type", v->wasm_type);
    column(w, "script", v->script);
}

/* What follows the last column but the value. */
static void before_value(Writer *w) {
    buf_str(&w->scratch, is_json(w) ? STR(",\"value\":") : STR(", "));
}

static void put_message(Writer *w) {
    buf_str(&w->scratch, STR("whammc: cannot open '"));
    escape_csv(&w->scratch, w->options->path);
    buf_str(&w->scratch, STR("' for the report; it follows\n"));
    put_field(w, FORMAT_FAILED, put_scratch(w));
}

static void put_fixed_part(Writer *w) {
    uint8_t header[FORMAT_HEADER] = {FORMAT_VERSION, is_json(w) ? FORMAT_FLAG_JSON : 0,
                                     (uint8_t)w->options->dest};
    buf_bytes(w->out, header, sizeof header);
    const Layout *l = &layouts[w->options->format];
    bool glued = is_json(w) && w->options->dest == REPORT_FILE; /* no program output before it */
    put_text(w, FORMAT_HEAD, glued ? (Str){"", 0} : l->head);
    put_text(w, FORMAT_PATH, w->options->path);
    put_message(w);
    put_text(w, FORMAT_ROW, l->row);
    put_text(w, FORMAT_SEP_FID, l->sep_fid);
    put_text(w, FORMAT_SEP_PC, l->sep_pc);
    put_text(w, FORMAT_ROW_END, l->row_end);
}

static void put_pairs(Writer *w) {
    const Image *img = w->img;
    Vec(uint32_t) vars = {0}, probes = {0};
    for (uint32_t i = 0; i < img->vars.len; i++) {
        var_columns(w, &img->vars.at[i], STR("memaddr"));
        buf_str(&w->scratch, is_json(w) ? STR(",\"fname\":\"") : STR(", "));
        vec_push(&vars, (uint32_t)put_scratch(w));
    }
    for (uint32_t i = 0; i < img->probes.len; i++) {
        column(w, "probe", img->probes.at[i]);
        before_value(w);
        vec_push(&probes, (uint32_t)put_scratch(w));
    }
    put_field(w, FORMAT_PAIRS, here(w));
    put_field(w, FORMAT_NPAIRS, img->pairs.len);
    for (uint32_t i = 0; i < img->pairs.len; i++) {
        const ImagePair *p = &img->pairs.at[i];
        buf_u32le(w->out, vars.at[p->var]);
        buf_u32le(w->out, probes.at[p->probe]);
        buf_u32le(w->out, p->next);
    }
    vec_free(&vars);
    vec_free(&probes);
}

static int compare_u32(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static int compare_func(const void *a, const void *b) {
    const ImageFunc *x = a, *y = b;
    int by_fid = compare_u32(&x->fid, &y->fid);
    return by_fid ? by_fid : compare_u32(&x->order, &y->order);
}

/* The names of the functions that have rows, ascending. */
static void put_names(Writer *w) {
    const Image *img = w->img;
    put_field(w, FORMAT_NAMES, here(w));
    if (img->fids.len == 0 || img->funcs.len == 0)
        return;
    uint32_t *fids = mem_alloc(img->fids.len * sizeof *fids);
    ImageFunc *funcs = mem_alloc(img->funcs.len * sizeof *funcs);
    memcpy(fids, img->fids.at, img->fids.len * sizeof *fids);
    memcpy(funcs, img->funcs.at, img->funcs.len * sizeof *funcs);
    qsort(fids, img->fids.len, sizeof *fids, compare_u32);
    qsort(funcs, img->funcs.len, sizeof *funcs, compare_func);
    uint32_t last = 0;
    for (uint32_t i = 0, f = 0; i < img->fids.len; i++) {
        if (i && fids[i] == fids[i - 1])
            continue;
        while (f < img->funcs.len && funcs[f].fid < fids[i])
            f++;
        if (f == img->funcs.len || funcs[f].fid != fids[i])
            continue;
        (is_json(w) ? escape_json : escape_csv)(&w->scratch, funcs[f].name);
        buf_uleb(w->out, fids[i] - last);
        put_scratch(w);
        last = fids[i];
    }
    free(fids);
    free(funcs);
}

static void put_rows(Writer *w) {
    const Image *img = w->img;
    put_field(w, FORMAT_GROUPS, here(w));
    for (uint32_t k = 0; k < REPORT_KINDS; k++) {
        if (img->groups[k].count == 0)
            continue;
        w->out->data[w->start + 3]++;
        buf_u32le(w->out, k | id_stride((ReportKind)k) << 8);
        buf_u32le(w->out, img->groups[k].count);
    }
    put_field(w, FORMAT_ROWS, here(w));
    for (uint32_t k = 0; k < REPORT_KINDS; k++)
        buf_bytes(w->out, img->groups[k].rows.data, img->groups[k].rows.len);
}

static void tail_text(Writer *w, const ImageTail *row, uint64_t id) {
    const Image *img = w->img;
    buf_str(&w->scratch, layouts[w->options->format].row);
    buf_printf(&w->scratch, "%llu", (unsigned long long)id);
    var_columns(w, &img->vars.at[row->var], row->shared ? STR("memaddr") : STR("global_id"));
    if (is_json(w))
        buf_str(&w->scratch, STR(",\"fname\":null,\"fid\":null,\"pc\":null"));
    else
        buf_str(&w->scratch, STR(", , , "));
    if (row->shared)
        column(w, "probe", img->probes.at[row->probe]);
    else
        buf_str(&w->scratch, is_json(w) ? STR(",\"probe\":null") : STR(", "));
    before_value(w);
}

static void put_tail(Writer *w) {
    const Image *img = w->img;
    put_field(w, FORMAT_TAIL, here(w));
    put_field(w, FORMAT_NTAIL, img->tail.len);
    uint64_t address = 4, global = 0;
    for (uint32_t k = 0; k < REPORT_KINDS; k++)
        address += (uint64_t)img->groups[k].count * id_stride((ReportKind)k);
    for (uint32_t i = 0; i < img->tail.len; i++) {
        const ImageTail *row = &img->tail.at[i];
        ReportKind kind = img->vars.at[row->var].kind;
        tail_text(w, row, row->shared ? address : global);
        buf_u8(w->out, (uint8_t)kind);
        put_scratch(w);
        if (row->shared)
            address += id_stride(kind);
        else
            global++;
    }
}

bool image_finish(const Image *img, const ImageOptions *options, Buf *out) {
    if (options->path.len > IMAGE_PATH_MAX || image_values_size(img) > UINT32_MAX)
        return false;
    Writer w = {.img = img, .options = options, .out = out, .start = out->len};
    put_fixed_part(&w);
    put_pairs(&w);
    put_names(&w);
    put_rows(&w);
    put_tail(&w);
    buf_free(&w.scratch);
    if (here(&w) > UINT32_MAX) {
        out->len = w.start;
        return false;
    }
    return true;
}
