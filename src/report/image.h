/*
 * report/image.h - builds the image of a report, which describes its rows for the runtime.
 *
 * The rewriter describes variables, probes and functions, adds the rows, and gets the offset of
 * each row's value in the value area. The instrumented program passes the image and the values to
 * whammc_report() of the runtime when it flushes; image_render() does the same in this process.
 *
 *     Image *img = image_new();
 *     uint32_t var = image_var(img, REPORT_I64, STR(""), STR("count"), STR("i64"), STR("i64"),
 *                              STR("script0"));
 *     uint32_t probe = image_probe(img, STR("12_wasm:opcode:call:before"));
 *     image_func(img, 7, STR("main"));
 *     image_site_row(img, var, probe, 7, 3);
 *     image_finish(img, &(ImageOptions){.format = IMAGE_CSV, .dest = REPORT_STDOUT}, &bytes);
 *     image_free(img);
 *
 * ReportKind is in the order of TypeKind in lang/ast.h; who sees both asserts it.
 */
#ifndef WHAMMC_REPORT_IMAGE_H
#define WHAMMC_REPORT_IMAGE_H

#include "../../stdlib/runtime/format.h" /* ReportKind, ReportDest */
#include "../../stdlib/runtime/rows.h"   /* RowsRank */
#include "../../stdlib/runtime/sums.h"   /* SUMS_TRAP */
#include "base/buf.h"

/* In the order of FormatStyle. */
typedef enum ImageFormat { IMAGE_CSV, IMAGE_JSON, IMAGE_CSV_RFC4180 } ImageFormat;

typedef struct ImageOptions {
    ImageFormat format;
    ReportDest dest; /* for hosts that write through WASI; others ignore it */
    Str path; /* REPORT_FILE: relative to a preopened directory; at most IMAGE_PATH_MAX bytes */
    uint32_t threads; /* may copy rows; 0 is 1 */
} ImageOptions;

enum { IMAGE_PATH_MAX = 1000, IMAGE_MAX_LEAVES = 255 };

typedef struct Image Image;

/* An empty image. Release with image_free. */
Image *image_new(void);
void image_free(Image *img); /* NULL is fine */

/*
 * Describe the variables, probes and functions of rows. Texts are copied. Ids count from 0. A tuple
 * has a description (see stdlib/runtime/values.h), with at most IMAGE_MAX_LEAVES leaves; other
 * types do not use it. A variable that takes several WebAssembly types has them as "(i32; i64)".
 */
uint32_t image_var(Image *img, ReportKind kind, Str description, Str name, Str whamm_type,
                   Str wasm_type, Str script);
uint32_t image_probe(Image *img, Str id); /* "12_wasm:opcode:call:before" */
/* Sets the difference between the keys of a probe's rows and twice their pc; 0 by default:
 * FORMAT_TRAPS. */
void image_place(Image *img, uint32_t probe, int32_t place);
/*
 * Sets the name of a function, in any order, used or not. The first name of a function counts; a
 * function without a name, or with an empty one, prints as "#<fid>".
 */
void image_func(Image *img, uint32_t fid, Str name);

/*
 * Site rows are grouped by kind, and tuples by type; the group REPORT_TUPLE itself stays empty.
 * Groups are reported in the order of ReportKind, tuples sorted by type. The group of a kind has
 * the kind's number.
 */
uint32_t image_group(const Image *img, uint32_t var);

/*
 * A row of a per-site variable, after the others of its group; returns its number within that.
 * Cheap: one to three bytes if rows come in the order of sites (function, pc).
 */
uint32_t image_site_row(Image *img, uint32_t var, uint32_t probe, uint32_t fid, uint32_t pc);

/* The value of a row that is counted by segments: `amount` times the executions of a segment or,
 * with `flag`, `amount` if it was executed at all. */
typedef struct ImageCount {
    uint64_t amount; /* 0: the value is 0 */
    bool flag;
    uint32_t number; /* the argument of ImageCounts.word, once the segment's word is known */
} ImageCount;

/* The same for such a row. It is not in the value area; its kind is a number or bool. */
uint32_t image_count_row(Image *img, uint32_t var, uint32_t probe, uint32_t fid, uint32_t pc,
                         const ImageCount *count);

/* The same for a row with the value of the previous row of its group, which exists. */
uint32_t image_same_row(Image *img, uint32_t var, uint32_t probe, uint32_t fid, uint32_t pc);

/*
 * Counted rows can be encoded apart from the image, on any thread while nothing is added to it, and
 * appended to the group in which they follow the row of a pair (variable, probe) in a function at
 * a pc.
 */
typedef struct ImageRows {
    Buf bytes;
    uint32_t n;
    uint32_t pair, fid, pc; /* of the last one, or of the row that they follow */
} ImageRows;

/* The number of a pair, which gets one if it has none. */
uint32_t image_pair(Image *img, uint32_t var, uint32_t probe);
/* By pair: 1 + the pair that is expected after it, 0 = none has followed it yet. *n of them, valid
 * until something is added. An entry other than 0 never changes. */
const uint32_t *image_next_pairs(const Image *img, uint32_t *n);
/* Encodes one more row in the function of the last one. False: nothing was done, it is none of the
 * many that take a byte or two. */
static inline bool image_encode_short(const uint32_t *next, ImageRows *rows, uint32_t pair,
                                      uint32_t pc, bool same) {
    uint32_t expected = next[rows->pair], forward = pc - rows->pc;
    bool other = expected != pair + 1;
    if (!expected || forward >= 16 || (other && pair >= 128))
        return false;
    buf_reserve(&rows->bytes, 2);
    uint8_t *to = rows->bytes.data + rows->bytes.len;
    to[0] = (uint8_t)(forward << 3 | (same ? 4 : 0) | (other ? 2 : 0));
    to[1] = (uint8_t)pair;
    rows->bytes.len += 1u + other;
    rows->pc = pc;
    rows->pair = pair;
    rows->n++;
    return true;
}
/* Encodes one more row. Returns false, without effect, if only the image can add the row, since no
 * pair has followed the previous row's yet. */
bool image_encode_row(const uint32_t *next, ImageRows *rows, uint32_t pair, uint32_t fid,
                      uint32_t pc, bool same);
/* Appends encoded rows; n, pair, fid and pc are those of `rows`. */
void image_append_rows(Image *img, uint32_t group, const ImageRows *rows);
/* ... and the value of the next one of them that is not the same as the row before. */
void image_append_value(Image *img, uint32_t group, const ImageCount *count);
/* A function has some of them. */
void image_func_has_rows(Image *img, uint32_t fid);

/*
 * A row of a shared variable (probe filled in, place empty), of a script variable (both empty), in
 * this order after the site rows; returns its number among these. The row of a script variable that
 * is a map has its number, which is the value, as id too.
 */
uint32_t image_shared_row(Image *img, uint32_t var, uint32_t probe);
uint32_t image_script_row(Image *img, uint32_t var);

/* A leaf of a key of a map that is known: as in stdlib/runtime/values.h, but strings as text. */
typedef struct ImageKeyLeaf {
    uint64_t word;
    Str text;
} ImageKeyLeaf;

/* A map whose keys are known. */
typedef struct ImageCells {
    uint32_t id;              /* the number of the map */
    Str key, value;           /* descriptions; the leaves of values are numbers and bools */
    bool marked;              /* there is a mark for each entry, which says that it is in the map */
    const bool *counts;       /* by leaf of a value: it is not zero where an entry is in the map */
    uint32_t leaves;          /* of a key */
    uint32_t n;               /* entries */
    const ImageKeyLeaf *keys; /* `leaves` for each entry, by ascending keys, all different */
} ImageCells;

/* Compares two keys: < 0, 0, > 0. */
int image_compare_keys(Str description, const ImageKeyLeaf *a, const ImageKeyLeaf *b);

/*
 * The row of a script variable that is such a map. Its value area has for each entry 8 bytes a leaf
 * and 8 for the mark. `cells` is copied, but not the keys' texts, which must outlive the image.
 */
uint32_t image_cells_row(Image *img, uint32_t var, const ImageCells *cells);

/* The row of a derived column, whose type is followed by '=' and its formula; after all others. */
uint32_t image_derived_row(Image *img, uint32_t var);

/*
 * The value area; its layout is in stdlib/runtime/format.h. Offsets are final when all rows have
 * been added.
 */
uint32_t image_value_size(ReportKind kind); /* bytes of a site row's value: 4, 8; not of tuples */
uint32_t image_row_bytes(const Image *img, uint32_t group);
uint64_t image_group_offset(const Image *img, uint32_t group); /* of the group's row 0 */
uint32_t image_group_rows(const Image *img, uint32_t group);
/* Shared and script rows, 8 bytes a leaf. */
uint64_t image_tail_offset(const Image *img, uint32_t row);
uint64_t image_values_size(const Image *img);

/* The executions of a segment: a counter, or a derived word (stdlib/runtime/sums.h). */
typedef struct ImageWord {
    uint32_t index;
    bool derived;
} ImageWord;

/* The counters of counted rows, and records of traps; both follow the other values. */
typedef struct ImageCounts {
    uint32_t traps; /* records that there is room for */
    uint32_t ncounters, nderived;
    const Buf *derived; /* the table of stdlib/runtime/sums.h; lives as long as the image; NULL or
                           no bytes: none */
    ImageWord (*word)(void *ctx, uint32_t number); /* of ImageCount.number */
    void *ctx;
} ImageCounts;
void image_set_counts(Image *img, ImageCounts counts);
/* Where the nth record of a trap is (SUMS_TRAP bytes), and the first counter, 8 bytes each. */
uint64_t image_trap_offset(const Image *img, uint32_t n);
uint64_t image_counters_offset(const Image *img);
uint32_t image_counters(const Image *img); /* how many */

/* Whether there is any row. */
bool image_is_empty(const Image *img);

/*
 * Appends the image's bytes to *out. May be called several times. False, and nothing appended, if
 * the image or the values would not fit into 4 GiB or the path is too long.
 */
bool image_finish(const Image *img, const ImageOptions *options, Buf *out);
/* Frees the rows, once no more bytes will be made of them. The layout of the values stays. */
void image_finished(Image *img);

/*
 * Monitors do not know the sites: their image is made at run time (stdlib/runtime/rows.h) from a
 * skeleton, which has everything but site rows, and from records, one a site, whose classes say
 * which variable each value belongs to.
 */

/* Appends the skeleton's bytes, like image_finish. Site rows that were added are left out. */
bool image_skeleton(const Image *img, const ImageOptions *options, Buf *out);

enum { IMAGE_HIDDEN = UINT32_MAX };

/* A per-site variable of a class. */
typedef struct ImageField {
    uint32_t var;    /* IMAGE_HIDDEN: it is not reported */
    uint32_t probe;  /* of the row */
    uint32_t bytes;  /* if hidden: of its value, 4 or a multiple of 8 */
    uint32_t offset; /* in the record, set by image_class */
} ImageField;

/*
 * Appends a class (RowsClass and its variables) and says where in a record the fields are. The
 * fields are in the order of rows: those of probes at the instruction, of block:start, of
 * block:end, each in the order of actions. Belongs to the skeleton that is made afterwards, when
 * all variables are known, that is after the last image_var. Has to be put at a multiple of 4.
 */
void image_class(Image *img, RowsRank rank, ImageField *fields, uint32_t n, Buf *out);

/*
 * Prints the report as the runtime does. `values` has image_values_size() bytes, little endian;
 * strings and maps are in this thread's memory (values_native_memory). Damaged images print less,
 * but are safe as long as the values have as many bytes as they say. Derived words among the
 * values are filled in.
 */
void image_render(const uint8_t *image, uint32_t len, uint8_t *values, Buf *out);

/* The same, but returns false if *out would have more than `most` bytes. Rows can share long texts,
 * so that a damaged image prints a thousand times its size. */
bool image_render_within(const uint8_t *image, uint32_t len, uint8_t *values, size_t most,
                         Buf *out);

/* Whether the image has this version, as far as can be seen without its values, and the whole
 * report is in the image and the values: there are no strings, and no maps but those with known
 * keys. */
bool image_is_whole(const uint8_t *image, uint32_t len);
/* The bytes of values that an image of this version has. */
uint32_t image_values_wanted(const uint8_t *image);

/* Where text of scripts, and reports of the runtime (rows_report), go in this thread from now on,
 * when they are flushed; NULL = nowhere. */
void image_text_to(Buf *out);

/* ---- maps whose keys are known (image_cells.c), private to report/ ---- */

/* A copy in the arena, but for the texts of keys. */
const ImageCells *cells_copy(Arena *arena, const ImageCells *cells);

/* Bytes in the value area. */
uint64_t cells_bytes(const ImageCells *cells);

/* Appends the part of a row after its text in an image (stdlib/runtime/format.h). */
void cells_put(const ImageCells *cells, ImageFormat format, Buf *out);

/* The same of a derived column, which has no value yet: an empty map that looks like a number. */
void cells_put_derived(ReportKind kind, ImageFormat format, Buf *out);

#endif
