/*
 * report/image.c - builds the image of a report. The layout is in stdlib/runtime/format.h.
 *
 * Rows are encoded as they come, a stream per kind. That row n + 1 has the pair (variable, probe)
 * which followed n's pair when that was seen first costs nothing; only another pair is written
 * down. So one variable in one probe, or several that always come in the same order, cost one byte
 * a row.
 */
#include "report/image.h"
#include "base/escape.h"
#include "base/workers.h"

#include <assert.h>

/* Bytes of rows that are worth a thread. */
#ifdef NDEBUG
enum { MUCH = 256 << 10 };
#else
enum { MUCH = 256 };
#endif

_Static_assert((int)IMAGE_CSV == (int)FORMAT_STYLE_CSV &&
                   (int)IMAGE_JSON == (int)FORMAT_STYLE_JSON &&
                   (int)IMAGE_CSV_RFC4180 == (int)FORMAT_STYLE_QUOTED,
               "formats are in the order of styles");

typedef struct ImageVar {
    ReportKind kind;
    uint32_t group;
    Str name, whamm_type, wasm_type, script;
} ImageVar;

typedef struct ImageProbe {
    Str id;
    int32_t place;
} ImageProbe;

typedef struct ImagePair {
    uint32_t var, probe;
} ImagePair;

typedef struct ImageFunc {
    uint32_t fid, order;
    Str name;
} ImageFunc;

typedef struct ImageTail {
    uint32_t var, probe;
    bool shared;
    bool derived;            /* without a value: readers compute it */
    const ImageCells *cells; /* NULL = none */
    uint64_t offset;         /* of its value after those of the site rows */
} ImageTail;

/* Consecutive rows that are all counted in the same way, or not counted. */
typedef struct ImageRun {
    uint64_t rows, amount;
    bool counted, flag;
} ImageRun;

typedef struct ImageGroup {
    ReportKind kind;
    Str type, description; /* of tuples */
    uint32_t row_bytes;    /* of a value */
    uint32_t id_stride;    /* distance of two records in the layout that the ids stand for */
    ImageRows rows;
    uint32_t values;       /* rows with a value of their own in the value area */
    Buf counts;            /* as in the image, but for the last run */
    ImageRun run;          /* which is this */
    Vec(uint32_t) counted; /* by row in `words` of the image: a number of image_set_counts */
} ImageGroup;

enum { RECENT = 1024 }; /* a power of two */

struct Image {
    Arena arena;
    Vec(ImageVar) vars;
    Vec(ImageProbe) probes;
    Vec(ImagePair) pairs;
    Vec(uint32_t) next; /* by pair: as image_next_pairs */
    Map pair_of;        /* (var, probe) as 8 bytes -> index in pairs */
    uint32_t
        recent[RECENT]; /* 1 + index of a pair, by a hash of it: spares the map most look-ups */
    Vec(ImageFunc) funcs;
    Vec(uint32_t) fids; /* functions with rows; sorted out at the end */
    Vec(ImageTail) tail;
    uint64_t tail_bytes;
    ImageCounts counts;
    Vec(ImageGroup) groups; /* the kinds, then types of tuples */
    Map tuple_groups;       /* type -> index in groups */
};

/* Bytes of a value in the layout that the ids stand for. */
static uint32_t field_size(ReportKind kind) {
    switch (kind) {
    case REPORT_U8:
    case REPORT_I8:
    case REPORT_BOOL: return 1;
    case REPORT_U16:
    case REPORT_I16: return 2;
    case REPORT_STR: return 8;
    default: return image_value_size(kind);
    }
}

enum { RECORD_HEAD = 28 };

Image *image_new(void) {
    Image *img = mem_zalloc(sizeof(Image));
    for (uint32_t k = 0; k < REPORT_KINDS; k++) {
        ImageGroup g = {.kind = (ReportKind)k,
                        .row_bytes = image_value_size((ReportKind)k),
                        .id_stride = RECORD_HEAD + field_size((ReportKind)k)};
        vec_push(&img->groups, g);
    }
    return img;
}

void image_free(Image *img) {
    if (!img)
        return;
    arena_free(&img->arena);
    vec_free(&img->vars);
    vec_free(&img->probes);
    vec_free(&img->pairs);
    vec_free(&img->next);
    map_free(&img->pair_of);
    vec_free(&img->funcs);
    vec_free(&img->tail);
    image_finished(img);
    vec_free(&img->groups);
    map_free(&img->tuple_groups);
    free(img);
}

static Str image_keep(Image *img, Str s) {
    return (Str){arena_strndup(&img->arena, s.ptr, s.len), s.len};
}

/* The group of tuples of this type. */
static uint32_t tuple_group(Image *img, Str description, Str type) {
    bool added;
    uint64_t *index = map_put(&img->tuple_groups, type, img->groups.len, &added);
    if (!added)
        return (uint32_t)*index;
    const uint8_t *d = (const uint8_t *)description.ptr;
    ImageGroup g = {
        .kind = REPORT_TUPLE, .type = type, .description = image_keep(img, description)};
    g.row_bytes = 8 * format_leaves(d, description.len);
    g.id_stride = RECORD_HEAD;
    for (uint32_t i = 0; i < description.len; i++) {
        if (d[i] == REPORT_TUPLE)
            i++; /* the number of fields */
        else
            g.id_stride += field_size((ReportKind)d[i]);
    }
    vec_push(&img->groups, g);
    return img->groups.len - 1;
}

uint32_t image_var(Image *img, ReportKind kind, Str description, Str name, Str whamm_type,
                   Str wasm_type, Str script) {
    ImageVar v = {kind,
                  kind,
                  image_keep(img, name),
                  image_keep(img, whamm_type),
                  image_keep(img, wasm_type),
                  image_keep(img, script)};
    if (kind == REPORT_TUPLE)
        v.group = tuple_group(img, description, v.whamm_type);
    vec_push(&img->vars, v);
    return img->vars.len - 1;
}

uint32_t image_group(const Image *img, uint32_t var) {
    assert(var < img->vars.len);
    return img->vars.at[var].group;
}

uint32_t image_probe(Image *img, Str id) {
    ImageProbe p = {.id = image_keep(img, id)};
    vec_push(&img->probes, p);
    return img->probes.len - 1;
}

void image_place(Image *img, uint32_t probe, int32_t place) {
    assert(probe < img->probes.len);
    img->probes.at[probe].place = place;
}

void image_func(Image *img, uint32_t fid, Str name) {
    if (name.len == 0)
        return;
    ImageFunc f = {fid, img->funcs.len, image_keep(img, name)};
    vec_push(&img->funcs, f);
}

/* ---- rows ---- */

const uint32_t *image_next_pairs(const Image *img, uint32_t *n) {
    *n = img->next.len;
    return img->next.at;
}

uint32_t image_pair(Image *img, uint32_t var, uint32_t probe) {
    assert(var < img->vars.len && probe < img->probes.len);
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
        vec_push(&img->next, 0);
    }
    *recent = (uint32_t)index + 1;
    return (uint32_t)index;
}

/* Whether the pair differs from the one expected after the last row; if none is expected, this one
 * is from now on. */
static bool is_other_pair(Image *img, const ImageRows *rows, uint32_t pair) {
    if (!rows->n)
        return true;
    uint32_t *next = &img->next.at[rows->pair];
    *next = *next ? *next : pair + 1;
    return *next != pair + 1;
}

static ImageGroup *group_of(Image *img, uint32_t var) {
    return &img->groups.at[img->vars.at[var].group];
}

/* Puts down one more row; of a group's first one the pair is `other`. */
static void image_put_row(ImageRows *rows, uint32_t pair, bool other, uint32_t fid, uint32_t pc,
                          bool same) {
    bool jump = fid != rows->fid || pc < rows->pc;
    uint32_t forward = jump ? pc : pc - rows->pc;
    buf_uleb(&rows->bytes,
             (uint64_t)forward << 3 | (same ? 4 : 0) | (other ? 2 : 0) | (jump ? 1 : 0));
    if (jump) {
        uint32_t by = fid - rows->fid;
        buf_uleb(&rows->bytes, (by << 1) ^ (0 - (by >> 31)));
    }
    if (other)
        buf_uleb(&rows->bytes, pair);
    rows->fid = fid;
    rows->pc = pc;
    rows->pair = pair;
    rows->n++;
}

bool image_encode_row(const uint32_t *next, ImageRows *rows, uint32_t pair, uint32_t fid,
                      uint32_t pc, bool same) {
    uint32_t expected = next[rows->pair];
    if (expected)
        image_put_row(rows, pair, expected != pair + 1, fid, pc, same);
    return expected;
}

void image_append_rows(Image *img, uint32_t group, const ImageRows *rows) {
    assert(group < img->groups.len);
    ImageRows *to = &img->groups.at[group].rows;
    buf_bytes(&to->bytes, rows->bytes.data, rows->bytes.len);
    to->n += rows->n;
    to->pair = rows->pair;
    to->fid = rows->fid;
    to->pc = rows->pc;
}

void image_func_has_rows(Image *img, uint32_t fid) {
    vec_push(&img->fids, fid);
}

static uint32_t image_add_row(Image *img, uint32_t var, uint32_t probe, uint32_t fid, uint32_t pc,
                              bool same) {
    ImageRows *rows = &group_of(img, var)->rows;
    uint32_t pair = image_pair(img, var, probe);
    bool other = is_other_pair(img, rows, pair);
    if (!rows->n || fid != rows->fid)
        image_func_has_rows(img, fid);
    image_put_row(rows, pair, other, fid, pc, same);
    return rows->n - 1;
}

static void image_put_run(const ImageRun *run, Buf *out) {
    buf_uleb(out, run->rows << FORMAT_RUN_SHIFT | (run->flag ? FORMAT_FLAG : 0) |
                      (run->counted ? FORMAT_COUNTED : 0));
    buf_uleb(out, run->amount);
}

static void add_to_run(ImageGroup *g, bool counted, uint64_t amount, bool flag) {
    ImageRun *run = &g->run;
    if (run->rows && (run->counted != counted || run->amount != amount || run->flag != flag)) {
        image_put_run(run, &g->counts);
        run->rows = 0;
    }
    *run = (ImageRun){run->rows + 1, amount, counted, flag};
}

/* Whether a group has counted rows; then there are runs of all its rows. */
static bool has_counts(const ImageGroup *g) {
    return g->counts.len || g->run.counted;
}

void image_append_value(Image *img, uint32_t group, const ImageCount *count) {
    assert(group < img->groups.len);
    ImageGroup *g = &img->groups.at[group];
    add_to_run(g, true, count->amount, count->flag);
    if (count->amount)
        vec_push(&g->counted, count->number);
}

uint32_t image_count_row(Image *img, uint32_t var, uint32_t probe, uint32_t fid, uint32_t pc,
                         const ImageCount *count) {
    assert(var < img->vars.len && probe < img->probes.len);
    image_append_value(img, img->vars.at[var].group, count);
    return image_add_row(img, var, probe, fid, pc, false);
}

uint32_t image_site_row(Image *img, uint32_t var, uint32_t probe, uint32_t fid, uint32_t pc) {
    assert(var < img->vars.len && probe < img->probes.len);
    ImageGroup *g = group_of(img, var);
    add_to_run(g, false, 0, false);
    g->values++;
    return image_add_row(img, var, probe, fid, pc, false);
}

uint32_t image_same_row(Image *img, uint32_t var, uint32_t probe, uint32_t fid, uint32_t pc) {
    assert(var < img->vars.len && probe < img->probes.len);
    return image_add_row(img, var, probe, fid, pc, true);
}

static uint32_t tail_row(Image *img, ImageTail row) {
    const ImageGroup *g = &img->groups.at[image_group(img, row.var)];
    row.offset = img->tail_bytes;
    img->tail_bytes += row.derived               ? 0
                       : row.cells               ? cells_bytes(row.cells)
                       : g->kind == REPORT_TUPLE ? g->row_bytes
                                                 : 8;
    vec_push(&img->tail, row);
    return img->tail.len - 1;
}

uint32_t image_shared_row(Image *img, uint32_t var, uint32_t probe) {
    assert(var < img->vars.len && probe < img->probes.len);
    return tail_row(img, (ImageTail){.var = var, .probe = probe, .shared = true});
}

uint32_t image_script_row(Image *img, uint32_t var) {
    assert(var < img->vars.len);
    return tail_row(img, (ImageTail){.var = var});
}

uint32_t image_derived_row(Image *img, uint32_t var) {
    assert(var < img->vars.len);
    return tail_row(img, (ImageTail){.var = var, .derived = true});
}

uint32_t image_cells_row(Image *img, uint32_t var, const ImageCells *cells) {
    assert(var < img->vars.len);
    return tail_row(img, (ImageTail){.var = var, .cells = cells_copy(&img->arena, cells)});
}

bool image_is_empty(const Image *img) {
    uint64_t rows = img->tail.len;
    for (uint32_t g = 0; g < img->groups.len; g++)
        rows += img->groups.at[g].rows.n;
    return rows == 0;
}

/* ---- the value area ---- */

uint32_t image_value_size(ReportKind kind) {
    assert(kind < REPORT_KINDS);
    return kind == REPORT_U64 || kind == REPORT_I64 || kind == REPORT_F64 ? 8 : 4;
}

/* By kind, then by the type's text. */
static int compare_groups(const void *a, const void *b) {
    const ImageGroup *x = *(const ImageGroup *const *)a, *y = *(const ImageGroup *const *)b;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    uint32_t n = x->type.len < y->type.len ? x->type.len : y->type.len;
    int order = n ? memcmp(x->type.ptr, y->type.ptr, n) : 0;
    return order ? order : (x->type.len > y->type.len) - (x->type.len < y->type.len);
}

static uint64_t group_bytes(const ImageGroup *g) {
    return align8((uint64_t)g->values * g->row_bytes);
}

uint32_t image_row_bytes(const Image *img, uint32_t group) {
    assert(group < img->groups.len);
    return img->groups.at[group].row_bytes;
}

uint64_t image_group_offset(const Image *img, uint32_t group) {
    assert(group < img->groups.len);
    const ImageGroup *g = &img->groups.at[group];
    uint64_t at = 0;
    for (uint32_t i = 0; i < img->groups.len; i++) {
        const ImageGroup *other = &img->groups.at[i];
        if (compare_groups(&other, &g) < 0)
            at += group_bytes(other);
    }
    return at;
}

uint32_t image_group_rows(const Image *img, uint32_t group) {
    assert(group < img->groups.len);
    return img->groups.at[group].rows.n;
}

/* Where the values of shared and script rows begin. */
static uint64_t tail_start(const Image *img) {
    uint64_t at = 0;
    for (uint32_t g = 0; g < img->groups.len; g++)
        at += group_bytes(&img->groups.at[g]);
    return at;
}

uint64_t image_tail_offset(const Image *img, uint32_t row) {
    return tail_start(img) + (row < img->tail.len ? img->tail.at[row].offset : img->tail_bytes);
}

static uint64_t tail_end(const Image *img) {
    return tail_start(img) + img->tail_bytes;
}

void image_set_counts(Image *img, ImageCounts counts) {
    img->counts = counts;
}

uint64_t image_trap_offset(const Image *img, uint32_t n) {
    assert(n <= img->counts.traps);
    return align8(tail_end(img)) + (uint64_t)n * SUMS_TRAP;
}

uint64_t image_counters_offset(const Image *img) {
    return image_trap_offset(img, img->counts.traps);
}

uint32_t image_counters(const Image *img) {
    return img->counts.ncounters;
}

uint64_t image_values_size(const Image *img) {
    const ImageCounts *c = &img->counts;
    if (!c->traps && !c->ncounters && !c->nderived)
        return tail_end(img);
    return image_counters_offset(img) + 8 * ((uint64_t)c->ncounters + c->nderived);
}

/* ---- the image ---- */

/* The syntax of rows in a format, but for the names of the columns in JSON. */
typedef struct Layout {
    Str first; /* before everything if the program may have printed before */
    Str head, row, sep, sep_fid, sep_pc, row_end;
    void (*escape)(Buf *out, Str s);
} Layout;

#define TEXT(literal)                                                                              \
    { literal, sizeof literal - 1 }

static const Layout layouts[] = {
    [IMAGE_CSV] =
        {
            TEXT(""),
            TEXT("\n================================= REPORT CSV FLUSH "
                 "====================================\n"
                 "id, id_type, name, whamm_type, wasm_type, script_id, fname, fid, pc, probe_id, "
                 "value(s)\n"),
            TEXT(""),
            TEXT(", "),
            TEXT(", "),
            TEXT(", "),
            TEXT("\n"),
            escape_csv,
        },
    [IMAGE_JSON] =
        {
            TEXT("\n"),
            TEXT(""),
            TEXT("{\"id\":"),
            TEXT(","),
            TEXT("\",\"fid\":"),
            TEXT(",\"pc\":"),
            TEXT("}\n"),
            escape_json,
        },
    [IMAGE_CSV_RFC4180] =
        {
            TEXT("\r\n"),
            TEXT("id,id_type,name,whamm_type,wasm_type,script_id,fname,fid,pc,probe_id,value(s)"
                 "\r\n"),
            TEXT(""),
            TEXT(","),
            TEXT(","),
            TEXT(","),
            TEXT("\r\n"),
            escape_quoted_name,
        },
};

typedef struct Writer {
    const Image *img;
    const ImageOptions *options;
    Buf *out;
    bool skeleton;
    size_t start; /* of the image in *out */
    Buf scratch;
    uint32_t *descriptions; /* by group: offset */
} Writer;

static void put_field(Writer *w, FormatField field, uint64_t v) {
    for (uint32_t i = 0; i < 4; i++)
        w->out->data[w->start + field + i] = (uint8_t)(v >> 8 * i);
}

static size_t image_here(const Writer *w) {
    return w->out->len - w->start;
}

static void image_put_text(Writer *w, FormatField field, Str text) {
    put_field(w, field, image_here(w));
    buf_name(w->out, text);
}

/* The scratch buffer's contents as text; returns its offset and empties the buffer. */
static size_t put_scratch(Writer *w) {
    size_t at = image_here(w);
    buf_vec(w->out, &w->scratch);
    w->scratch.len = 0;
    return at;
}

static const Layout *layout(const Writer *w) {
    return &layouts[w->options->format];
}

static bool is_json(const Writer *w) {
    return w->options->format == IMAGE_JSON;
}

/* A column with a string, and the text before it. */
static void column(Writer *w, const char *json_name, Str s) {
    buf_str(&w->scratch, layout(w)->sep);
    if (is_json(w))
        buf_printf(&w->scratch, "\"%s\":\"", json_name);
    layout(w)->escape(&w->scratch, s);
    if (is_json(w))
        buf_u8(&w->scratch, '"');
}

/* A column that does not apply. */
static void no_column(Writer *w, const char *json_name) {
    buf_str(&w->scratch, layout(w)->sep);
    if (is_json(w))
        buf_printf(&w->scratch, "\"%s\":null", json_name);
}

static void var_columns(Writer *w, const ImageVar *v, Str id_type) {
    column(w, "id_type", id_type);
    column(w, "name", v->name);
    column(w, "type", v->whamm_type);
    column(w, "wasm_type", v->wasm_type);
    column(w, "script", v->script);
}

/* The text between the last column but the value and the value. */
static void before_value(Writer *w) {
    buf_str(&w->scratch, layout(w)->sep);
    if (is_json(w))
        buf_str(&w->scratch, STR("\"value\":"));
}

static void put_message(Writer *w) {
    buf_str(&w->scratch, STR("whammc: cannot open '"));
    escape_csv(&w->scratch, w->options->path);
    buf_str(&w->scratch, STR("' for the report; it follows\n"));
    put_field(w, FORMAT_FAILED, put_scratch(w));
}

static void put_fixed_part(Writer *w) {
    uint8_t header[FORMAT_HEADER] = {FORMAT_VERSION, (uint8_t)w->options->format,
                                     (uint8_t)w->options->dest};
    buf_bytes(w->out, header, sizeof header);
    const Layout *l = layout(w);
    if (w->options->dest != REPORT_FILE)
        buf_str(&w->scratch, l->first);
    buf_str(&w->scratch, l->head);
    put_field(w, FORMAT_HEAD, put_scratch(w));
    image_put_text(w, FORMAT_PATH, w->options->path);
    put_message(w);
    image_put_text(w, FORMAT_ROW, l->row);
    image_put_text(w, FORMAT_SEP_FID, l->sep_fid);
    image_put_text(w, FORMAT_SEP_PC, l->sep_pc);
    image_put_text(w, FORMAT_ROW_END, l->row_end);
}

static void put_pairs(Writer *w) {
    const Image *img = w->img;
    Vec(uint32_t) vars = {0}, probes = {0};
    for (uint32_t i = 0; i < img->vars.len; i++) {
        var_columns(w, &img->vars.at[i], STR("memaddr"));
        buf_str(&w->scratch, layout(w)->sep);
        if (is_json(w))
            buf_str(&w->scratch, STR("\"fname\":\""));
        vec_push(&vars, (uint32_t)put_scratch(w));
    }
    for (uint32_t i = 0; i < img->probes.len; i++) {
        column(w, "probe", img->probes.at[i].id);
        before_value(w);
        vec_push(&probes, (uint32_t)put_scratch(w));
    }
    put_field(w, FORMAT_PAIRS, image_here(w));
    put_field(w, FORMAT_NPAIRS, img->pairs.len);
    for (uint32_t i = 0; i < img->pairs.len; i++) {
        const ImagePair *p = &img->pairs.at[i];
        uint32_t expected = img->next.at[i] ? img->next.at[i] - 1 : 0;
        buf_u32le(w->out, vars.at[p->var]);
        buf_u32le(w->out, probes.at[p->probe]);
        buf_u32le(w->out, w->skeleton ? UINT32_MAX : expected);
        buf_u32le(w->out, (uint32_t)img->probes.at[p->probe].place);
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
static void image_put_names(Writer *w) {
    const Image *img = w->img;
    put_field(w, FORMAT_NAMES, image_here(w));
    if (img->fids.len == 0 || img->funcs.len == 0 || w->skeleton)
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
        layout(w)->escape(&w->scratch, funcs[f].name);
        buf_uleb(w->out, fids[i] - last);
        put_scratch(w);
        last = fids[i];
    }
    free(fids);
    free(funcs);
}

static void put_descriptions(Writer *w) {
    const Image *img = w->img;
    w->descriptions = mem_zalloc(img->groups.len * sizeof *w->descriptions);
    for (uint32_t g = REPORT_KINDS; g < img->groups.len; g++) {
        w->descriptions[g] = (uint32_t)image_here(w);
        buf_name(w->out, img->groups.at[g].description);
    }
}

/* The groups that are in the image, in the order of the report; returns how many. */
static uint32_t list_groups(const Writer *w, const ImageGroup **groups) {
    uint32_t n = 0;
    for (uint32_t g = 0; g < w->img->groups.len; g++)
        if (w->img->groups.at[g].rows.n || w->skeleton)
            groups[n++] = &w->img->groups.at[g];
    qsort(groups, n, sizeof *groups, compare_groups);
    return n;
}

static void put_groups(Writer *w, const ImageGroup **groups, uint32_t n) {
    put_field(w, FORMAT_GROUPS, image_here(w));
    put_field(w, FORMAT_NGROUPS, n);
    for (uint32_t g = 0; g < n; g++) {
        bool counts = has_counts(groups[g]) && !w->skeleton;
        buf_u32le(w->out, groups[g]->kind | (uint32_t)counts << 8 | groups[g]->id_stride << 16);
        buf_u32le(w->out, w->skeleton ? 0 : groups[g]->rows.n);
        buf_u32le(w->out, w->descriptions[groups[g] - w->img->groups.at]);
    }
}

/* A word, and `more` that follow it. */
typedef struct WordRun {
    uint32_t distance; /* from the word after the last one of its kind */
    bool derived;
    uint32_t more;
} WordRun;

static void put_word_run(WordRun run, Buf *out) {
    uint32_t zigzag = run.distance << 1 ^ (0 - (run.distance >> 31));
    buf_uleb(out, (uint64_t)zigzag << 2 | (unsigned)run.derived << 1 | (run.more > 0));
    if (run.more)
        buf_uleb(out, run.more);
}

/* The words that counted rows are made of. */
static void put_words(const Writer *w, const ImageGroup **groups, uint32_t n, Buf *out) {
    const ImageCounts *c = &w->img->counts;
    uint32_t next[2] = {0};
    WordRun run = {0};
    bool any = false;
    for (uint32_t g = 0; g < n; g++) {
        for (uint32_t i = 0; i < groups[g]->counted.len; i++) {
            ImageWord word = c->word(c->ctx, groups[g]->counted.at[i]);
            uint32_t distance = word.index - next[word.derived];
            next[word.derived] = word.index + 1;
            if (any && !distance && word.derived == run.derived) {
                run.more++;
                continue;
            }
            if (any)
                put_word_run(run, out);
            run = (WordRun){distance, word.derived, 0};
            any = true;
        }
    }
    if (any)
        put_word_run(run, out);
}

/* The rows of groups, which are copied. */
typedef struct RowsCopy {
    const ImageGroup **groups;
    uint32_t n;
    uint8_t *to;
} RowsCopy;

static void copy_rows(void *ctx, uint32_t worker, uint32_t item) {
    const RowsCopy *c = ctx;
    uint8_t *to = c->to;
    (void)worker;
    for (uint32_t g = 0; g < item; g++)
        to += c->groups[g]->rows.bytes.len;
    if (c->groups[item]->rows.bytes.len)
        memcpy(to, c->groups[item]->rows.bytes.data, c->groups[item]->rows.bytes.len);
}

/* Copies the rows; makes the words meanwhile. */
static void put_rows_make_words(Writer *w, const ImageGroup **groups, uint32_t n, Buf *words) {
    size_t size = 0;
    for (uint32_t g = 0; g < n; g++)
        size += groups[g]->rows.bytes.len;
    buf_reserve(w->out, size);
    RowsCopy c = {groups, n, w->out->data + w->out->len};
    w->out->len += size;
    bool several = w->options->threads > 1 && size >= MUCH;
    Workers *copying = workers_begin(several ? w->options->threads : 1, n, copy_rows, &c);
    put_words(w, groups, n, words);
    workers_finish(copying);
}

static void image_put_rows(Writer *w) {
    const ImageGroup **groups = mem_alloc(w->img->groups.len * sizeof *groups);
    uint32_t n = list_groups(w, groups);
    Buf words = {0};
    put_groups(w, groups, n);
    n = w->skeleton ? 0 : n;
    put_field(w, FORMAT_ROWS, image_here(w));
    put_rows_make_words(w, groups, n, &words);
    put_field(w, FORMAT_COUNTS, image_here(w));
    for (uint32_t g = 0; g < n; g++) {
        if (!has_counts(groups[g]))
            continue;
        buf_bytes(w->out, groups[g]->counts.data, groups[g]->counts.len);
        image_put_run(&groups[g]->run, w->out);
    }
    put_field(w, FORMAT_WORDS, image_here(w));
    buf_bytes(w->out, words.data, words.len);
    buf_free(&words);
    put_field(w, FORMAT_SUMS, image_here(w));
    if (!w->skeleton && w->img->counts.derived)
        buf_bytes(w->out, w->img->counts.derived->data, w->img->counts.derived->len);
    free(groups);
}

static void put_counts(Writer *w) {
    const ImageCounts *c = &w->img->counts;
    put_field(w, FORMAT_TRAPS, w->skeleton ? 0 : c->traps);
    put_field(w, FORMAT_COUNTERS, w->skeleton ? 0 : c->ncounters);
    put_field(w, FORMAT_DERIVED, w->skeleton ? 0 : c->nderived);
}

/* How many WebAssembly types a variable takes: "i32" or "(i32; i64)". */
static uint32_t image_wasm_types(const ImageVar *v) {
    Str s = v->wasm_type;
    if (s.len < 2 || s.ptr[0] != '(')
        return 1;
    uint32_t n = s.len > 2;
    for (uint32_t i = 0; i < s.len; i++)
        n += s.ptr[i] == ';';
    return n;
}

/* "(a; a + 1; a + 2)", or the same word as often. */
static void put_several(Buf *text, uint32_t n, uint64_t id, const char *word) {
    buf_u8(text, '(');
    for (uint32_t i = 0; i < n; i++) {
        buf_str(text, i ? STR("; ") : STR(""));
        if (word)
            buf_str(text, str_of(word));
        else
            buf_printf(text, "%llu", (unsigned long long)(id + i));
    }
    buf_u8(text, ')');
}

/* The columns id and id_type; the runtime prints a map's id. */
static void tail_id(Writer *w, const ImageTail *row, uint64_t id) {
    const ImageVar *v = &w->img->vars.at[row->var];
    bool map = !row->shared && v->kind == REPORT_MAP, json = is_json(w);
    bool printed = map && !row->cells;
    bool several = !row->shared && !json && v->wasm_type.len && v->wasm_type.ptr[0] == '(';
    Buf types = {0};
    if (several)
        put_several(&types, image_wasm_types(v), 0, "global_id");
    if (!printed)
        buf_str(&w->scratch, layout(w)->row);
    if (several)
        put_several(&w->scratch, image_wasm_types(v), id, NULL);
    else if (!printed)
        buf_printf(&w->scratch, "%llu", (unsigned long long)id);
    Str id_type = row->shared ? STR("memaddr")
                  : map       ? STR("map_id")
                  : several   ? buf_view(&types)
                              : STR("global_id");
    var_columns(w, v, id_type);
    buf_free(&types);
}

static void tail_text(Writer *w, const ImageTail *row, uint64_t id) {
    tail_id(w, row, id);
    no_column(w, "fname");
    no_column(w, "fid");
    no_column(w, "pc");
    if (row->shared)
        column(w, "probe", w->img->probes.at[row->probe].id);
    else
        no_column(w, "probe");
    before_value(w);
}

static void put_tail(Writer *w) {
    const Image *img = w->img;
    put_field(w, FORMAT_TAIL, image_here(w));
    put_field(w, FORMAT_NTAIL, img->tail.len);
    uint64_t address = 4, global = 0;
    for (uint32_t g = 0; g < img->groups.len; g++)
        address += (uint64_t)img->groups.at[g].rows.n * img->groups.at[g].id_stride;
    for (uint32_t i = 0; i < img->tail.len; i++) {
        const ImageTail *row = &img->tail.at[i];
        const ImageVar *v = &img->vars.at[row->var];
        const ImageGroup *g = &img->groups.at[v->group];
        bool own_id = v->kind == REPORT_MAP && !row->shared;
        tail_text(w, row, row->cells ? row->cells->id : row->shared ? address : global);
        bool cells = row->cells || row->derived;
        uint8_t flag = cells ? FORMAT_TAIL_CELLS : own_id ? FORMAT_TAIL_ID : 0;
        buf_u8(w->out, (uint8_t)(v->kind | flag));
        if (v->kind == REPORT_TUPLE)
            buf_name(w->out, g->description);
        put_scratch(w);
        if (row->derived)
            cells_put_derived(v->kind, w->options->format, w->out);
        if (row->cells)
            cells_put(row->cells, w->options->format, w->out);
        if (row->shared)
            address += g->id_stride;
        else if (!own_id)
            global += image_wasm_types(v);
    }
}

#ifndef NDEBUG
/* The invariants of an image to which all rows have been added. */
static bool check_image(const Image *img) {
    assert(img->next.len == img->pairs.len);
    for (uint32_t i = 0; i < img->pairs.len; i++) {
        assert(img->pairs.at[i].var < img->vars.len && img->pairs.at[i].probe < img->probes.len);
        assert(img->next.at[i] <= img->pairs.len);
    }
    for (uint32_t i = 0; i < img->vars.len; i++)
        assert(img->vars.at[i].kind == img->groups.at[img->vars.at[i].group].kind);
    for (uint32_t i = 0; i < img->groups.len; i++)
        assert(img->groups.at[i].values <= img->groups.at[i].rows.n);
    for (uint32_t i = 0; i < img->tail.len; i++) {
        const ImageTail *t = &img->tail.at[i];
        assert(t->var < img->vars.len && t->offset <= img->tail_bytes);
        assert(!t->shared || t->probe < img->probes.len);
    }
    return true;
}
#endif

static bool report_image_finish(const Image *img, const ImageOptions *options, bool skeleton,
                                Buf *out) {
    if (options->path.len > IMAGE_PATH_MAX || image_values_size(img) > UINT32_MAX)
        return false;
    assert(check_image(img));
    Writer w = {
        .img = img, .options = options, .skeleton = skeleton, .out = out, .start = out->len};
    put_fixed_part(&w);
    put_descriptions(&w);
    put_pairs(&w);
    image_put_names(&w);
    image_put_rows(&w);
    put_tail(&w);
    put_field(&w, FORMAT_VALUES, image_values_size(img));
    put_counts(&w);
    buf_free(&w.scratch);
    free(w.descriptions);
    if (image_here(&w) > UINT32_MAX) {
        out->len = w.start;
        return false;
    }
    return true;
}

static void free_rows(ImageGroup *g) {
    buf_free(&g->rows.bytes);
    buf_free(&g->counts);
    vec_free(&g->counted);
}

void image_finished(Image *img) {
    for (uint32_t g = 0; g < img->groups.len; g++)
        free_rows(&img->groups.at[g]);
    vec_free(&img->fids);
}

bool image_finish(const Image *img, const ImageOptions *options, Buf *out) {
    return report_image_finish(img, options, false, out);
}

/* ---- monitors ---- */

bool image_skeleton(const Image *img, const ImageOptions *options, Buf *out) {
    return report_image_finish(img, options, true, out);
}

/* The place of a group among all, in the order of the report. */
static uint32_t group_rank(const Image *img, uint32_t group) {
    const ImageGroup *g = &img->groups.at[group];
    uint32_t n = 0;
    for (uint32_t i = 0; i < img->groups.len; i++) {
        const ImageGroup *other = &img->groups.at[i];
        n += compare_groups(&other, &g) < 0;
    }
    return n;
}

void image_class(Image *img, RowsRank rank, ImageField *fields, uint32_t n, Buf *out) {
    uint32_t bytes = 0, nvars = 0;
    for (uint32_t i = 0; i < n; i++) {
        ImageField *f = &fields[i];
        if (f->var != IMAGE_HIDDEN)
            f->bytes = image_row_bytes(img, image_group(img, f->var));
        f->offset = f->bytes % 8 ? bytes : (bytes + 7) & ~7u;
        bytes = f->offset + f->bytes;
        nvars += f->var != IMAGE_HIDDEN;
    }
    buf_u32le(out, (bytes + 7) & ~7u);
    buf_u32le(out, rank);
    buf_u32le(out, nvars);
    for (uint32_t i = 0; i < n; i++) {
        const ImageField *f = &fields[i];
        if (f->var == IMAGE_HIDDEN)
            continue;
        buf_u32le(out, image_pair(img, f->var, f->probe));
        buf_u32le(out, group_rank(img, image_group(img, f->var)));
        buf_u32le(out, f->offset);
        buf_u32le(out, f->bytes);
    }
}
