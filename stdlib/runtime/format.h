/*
 * runtime/format.h - makes the text of a report from its image and values.
 *
 * This code is compiled twice: by clang to wasm32, where it becomes part of instrumented programs,
 * and into the compiler itself (tests and tools). So it must not use libc, function pointers or
 * initialised data: its output comes from the image and from character constants in the code.
 *
 * THE IMAGE. All integers are little endian; "text" is an unsigned LEB128 length and the bytes,
 * already escaped for the wanted format, so nothing here knows CSV from JSON. Offsets count from
 * the image's start.
 *
 *   u8 version, u8 style (FormatStyle), u8 destination, u8 0
 *   u32 offsets: see FormatField; the fixed part has FORMAT_HEADER bytes
 *   pairs:   per (variable, probe): u32 text printed between a row's id and its function name,
 *            u32 text printed between its pc and its value, u32 pair that is expected to follow,
 *            u32 what a row's key is above twice its pc (may be -1)
 *   names:   per named function, ascending: ULEB distance from the one before, text
 *   groups:  u8 kind, u8 1 if it has counts, u16 stride of ids, u32 rows, u32 text: the
 *            description, of tuples
 *   rows:    per row: ULEB (pc << 3 | same << 2 | other_pair << 1 | jump); pc is relative to the
 *            row before, or absolute after a jump. jump: SLEB-like zigzag ULEB distance of the
 *            function index. other_pair: ULEB pair index (else it is the pair expected after the
 *            last one). same: the row has the value of the row before (not in a group's first
 *            row). A group starts as if after function 0, pc 0, pair 0.
 *   counts:  of groups that have some, in order, until all rows are covered except those with the
 *            value of the previous row: ULEB (number of rows << 2 | flag << 1 | counted), ULEB
 *            amount. Counted values are not among the values: they are the amount times a word of
 *            sums.h; flag: the amount if that word is not 0
 *   words:   of these rows, in order, if their amount is not 0: ULEB (zigzag distance << 2 |
 *            derived << 1 | run), the distance of the word from the one after the last of its
 *            kind; run: ULEB how many rows follow with the next words of this kind
 *   sums:    the table of derived words (sums.h)
 *   tail:    per row: u8 kind, perhaps with FORMAT_TAIL_ID; of tuples, text: the description; text
 *            of the row up to the value. With FORMAT_TAIL_ID the value is the row's id too, printed
 *            between FORMAT_ROW and the text. With FORMAT_TAIL_CELLS (kind: map) the row is a map
 *            whose keys are known; after its text: u8 FORMAT_CELLS_MARKED if there is a mark for
 *            each entry, FORMAT_CELLS_GUARDED if the texts of keys begin with a byte that is
 *            printed if it is not 0 and its entry is the first; texts: what an empty map looks
 *            like, what begins the first entry, the others, what ends the last one
 *              ULEB leaves of a value; per leaf: u8 kind, perhaps with FORMAT_LEAF_COUNTS; text
 *              before it
 *              ULEB entries; per entry, ascending: text of the key
 *
 * A skeleton (rows.h) is an image without names and rows but with all groups; no pair is expected
 * to follow another: UINT32_MAX.
 *
 * A description (see values.h) is the kind of each leaf and how they are nested.
 *
 * THE VALUES. Per group in order, from a multiple of 8, for each row that does not have the value
 * of the previous row and is not counted: 4 bytes, 8 for 64-bit kinds; 8 for each leaf of a tuple;
 * for a str its address, for a map its number, 4 bytes each. Then, from a multiple of 8, each tail
 * row: 8 bytes, or 8 for each leaf of a tuple. Of FORMAT_TAIL_CELLS, for each entry: 8 bytes for
 * each leaf of the value, then, if there are marks, 8 more. An entry is in the map if its mark, or
 * a leaf with FORMAT_LEAF_COUNTS, is not zero. After everything, from a multiple of 8: room for
 * FORMAT_TRAPS records of traps, then the words of sums.h: FORMAT_COUNTERS counters, and
 * FORMAT_DERIVED words that are computed here.
 */
#ifndef WHAMMC_RUNTIME_FORMAT_H
#define WHAMMC_RUNTIME_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FORMAT_VERSION = 8, FORMAT_OUT_SIZE = 4096 };

/* Kinds of values, in the order of the groups. */
typedef enum ReportKind {
    REPORT_U8,
    REPORT_I8,
    REPORT_U16,
    REPORT_I16,
    REPORT_U32,
    REPORT_I32,
    REPORT_F32,
    REPORT_U64,
    REPORT_I64,
    REPORT_F64,
    REPORT_BOOL,
    REPORT_STR,
    REPORT_FUNCREF,
    REPORT_TUPLE,
    REPORT_MAP,
    REPORT_KINDS,
} ReportKind;

/* How values are written. */
typedef enum FormatStyle {
    FORMAT_STYLE_CSV,
    FORMAT_STYLE_JSON,   /* numbers without '+', infinities and NaN in quotes */
    FORMAT_STYLE_QUOTED, /* CSV as in RFC 4180: strings in quotes if needed, tuples and maps always
                          */
} FormatStyle;

enum { FORMAT_TAIL_ID = 128, FORMAT_TAIL_CELLS = 64, FORMAT_TAIL_KIND = 63 };
enum { FORMAT_CELLS_MARKED = 1, FORMAT_CELLS_GUARDED = 2 };
enum { FORMAT_LEAF_COUNTS = 128, FORMAT_LEAF_KIND = 127 };

typedef enum ReportDest { REPORT_FILE = 0, REPORT_STDOUT = 1, REPORT_STDERR = 2 } ReportDest;

/* Offsets of the u32 fields in the fixed part. */
typedef enum FormatField {
    FORMAT_HEAD = 4,     /* text: printed first */
    FORMAT_PATH = 8,     /* text: the file of REPORT_FILE */
    FORMAT_FAILED = 12,  /* text: printed on stderr if that file cannot be opened */
    FORMAT_ROW = 16,     /* text: before a row's id */
    FORMAT_SEP_FID = 20, /* text: between function name and function index */
    FORMAT_SEP_PC = 24,  /* text: between function index and pc */
    FORMAT_ROW_END = 28, /* text: after the value, also of tail rows */
    FORMAT_PAIRS = 32,
    FORMAT_NPAIRS = 36, /* a count */
    FORMAT_NAMES = 40,  /* end where the groups start */
    FORMAT_GROUPS = 44, /* FORMAT_GROUP bytes each */
    FORMAT_ROWS = 48,
    FORMAT_TAIL = 52,
    FORMAT_NTAIL = 56,   /* a count */
    FORMAT_NGROUPS = 60, /* a count */
    FORMAT_VALUES = 64,  /* bytes of the values */
    FORMAT_COUNTS = 68,
    FORMAT_WORDS = 72,
    FORMAT_SUMS = 76,  /* up to the tail */
    FORMAT_TRAPS = 80, /* a count, as the following */
    FORMAT_COUNTERS = 84,
    FORMAT_DERIVED = 88,
    FORMAT_HEADER = 92,
} FormatField;

enum { FORMAT_PAIR = 16, FORMAT_GROUP = 12 };
enum { FORMAT_COUNTED = 1, FORMAT_FLAG = 2, FORMAT_RUN_SHIFT = 2 };

/* Buffered output. Set `sink` and `used = 0` before use; format_report leaves the buffer flushed.
 */
typedef struct FormatOut {
    void *sink;
    uint32_t used;
    uint8_t data[FORMAT_OUT_SIZE];
} FormatOut;

/* Writes data[0..used) somewhere. Each host (and the compiler) has its own. */
void format_flush(FormatOut *o);

/* Appends a byte, or several; flushes when the buffer is full. */
void format_byte(FormatOut *o, uint8_t byte);
void format_bytes(FormatOut *o, const uint8_t *p, uint32_t len);
/* The text at the offset in the field; *len is its length. Never exceeds the image. */
const uint8_t *format_text(const uint8_t *image, uint32_t size, FormatField field, uint32_t *len);

/* Writes the whole report; fills in the derived words of the values. An image of another version
 * writes nothing; a damaged one ends early. */
void format_report(FormatOut *o, const uint8_t *image, uint32_t size, uint8_t *values);

/* A value of a kind up to REPORT_BOOL; small ones are in the low bits, the bits above are
 * ignored. */
void format_scalar(FormatOut *o, FormatStyle style, uint8_t kind, const uint8_t *at);

/* A leaf of a key, other than a string, as a number with the same order. */
static inline uint64_t format_key_order(uint8_t kind, uint64_t leaf) {
    const uint64_t sign = (uint64_t)1 << 63;
    switch (kind) {
    case REPORT_I8:
    case REPORT_I16:
    case REPORT_I32: return (uint64_t)(int64_t)(int32_t)leaf ^ sign;
    case REPORT_I64: return leaf ^ sign;
    case REPORT_F32: leaf <<= 32; return leaf & sign ? ~leaf : leaf | sign;
    case REPORT_F64: return leaf & sign ? ~leaf : leaf | sign;
    default: return leaf;
    }
}

/* Text (escape.c). */
/* Whether a character is shown as it is: not if it is a control character (C0, C1, text direction)
 * or no character at all. */
bool format_shown(uint32_t code);
/* Characters that are not shown become blanks. */
void format_csv(FormatOut *o, const uint8_t *p, uint32_t n);
/* A text as a field of CSV, guarded and in quotes if necessary. */
void format_quoted(FormatOut *o, const uint8_t *p, uint32_t len);
/* Whether it must be in quotes. */
bool format_wants_quotes(const uint8_t *p, uint32_t len);
/*
 * Whether it must be guarded. Spreadsheets read a text that begins with =, +, -, @, a tab or a
 * carriage return as a formula; an apostrophe before it prevents that. A text that begins with
 * apostrophes before such a byte gets one more, so that removing one always restores the text.
 * `next`: the byte that follows the text in its field, or 0.
 */
bool format_is_guarded(const uint8_t *p, uint32_t len, uint8_t next);
/* Writes the apostrophe if the text must be guarded. */
void format_guard(FormatOut *o, const uint8_t *p, uint32_t len, uint8_t next);
/* The contents of a field in quotes. */
void format_in_quotes(FormatOut *o, const uint8_t *p, uint32_t len);
/* The contents of a JSON string; bytes that are not UTF-8 become U+FFFD. */
void format_json(FormatOut *o, const uint8_t *p, uint32_t len);
/* The length of the well-formed UTF-8 sequence at p, 1 to 4 bytes of `len`, or 0; *code is its
 * code point. No surrogates, no overlong forms. */
uint32_t format_utf8(const uint8_t *p, size_t len, uint32_t *code);

/* Numbers (number.c). */
void format_u64(FormatOut *o, uint64_t v);
void format_i64(FormatOut *o, int64_t v);
/*
 * A float of 32 or 64 bits with the fewest digits that read back as the same value, and of these
 * the nearest; one digit, '.', the rest, 'e', exponent: +2.5e0 -0e0 +inf NaN.
 */
void format_float(FormatOut *o, uint64_t bits, bool is_f64, bool json);
/*
 * The same number as people write it: 2.5, 1e-7, -inf, nan. With so many digits after the point, if
 * `precision` is not -1: correctly rounded, of ties to even. `exponent`: as one digit before the
 * point and an exponent. Writes to `text`, returns the length.
 */
enum { FORMAT_MAX_PRECISION = 40, FORMAT_DECIMAL = 360 };
uint32_t format_decimal(uint8_t *text, uint64_t bits, bool is_f64, int precision, bool exponent);

/* Any value (print.c) with this description, whose leaves are at `leaves`, 8 bytes each. Reads
 * nothing from `end` on. */
void format_value(FormatOut *o, FormatStyle style, const uint8_t *description, uint32_t len,
                  const uint8_t *leaves, const uint8_t *end);
/* The number of leaves of a description. */
uint32_t format_leaves(const uint8_t *description, uint32_t len);

#endif
