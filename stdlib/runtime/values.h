/*
 * runtime/values.h - strings, maps and text output of scripts at run time.
 *
 * Like format.c this is compiled to wasm32 (with -DVALUES into each host) and into the compiler
 * itself (tests). It has no static data: its state is at VALUES_STATE in the runtime's own memory,
 * whose first bytes the compiler lays out:
 *
 *   0..15                      zero: address 0 is the empty string
 *   VALUES_STATE..             struct Values; the compiler writes its first fields as initial data
 *   VALUES_STACK_END..VALUES_STACK   the stack, downwards
 *   VALUES_KEPT..VALUES_START  where compiled code keeps addresses of pages of maps; zero at start
 *   VALUES_START..             values of the report, image, literals, headers of maps
 *   Values.heap..              the heap: only tables of maps are freed, and what values_str_drop
 *                              drops
 *
 * Addresses are offsets in that memory. In the compiler itself it is a block of host memory
 * (values_native_memory).
 *
 * A str is the address of an object: u32 length, then the bytes. It never changes.
 *
 * A map is a number, its id. Ids below Values.nmaps are those of variables that live for the whole
 * run: their headers are zero at start, which is an empty map. values_map_new returns further ones.
 *
 * The type of a map is the address of a str whose bytes are
 *     u8 leaves of a key, u8 leaves of a value, description of the key, description of the value,
 *     text of the key's type (ULEB length, bytes), text of the value's type
 * and a description is one byte, a ReportKind; after REPORT_TUPLE the number of fields and their
 * descriptions; after REPORT_MAP those of key and value. A tuple has as many leaves as its fields
 * have together, everything else has one. A leaf takes 8 bytes: i32, u32, f32, bool, narrow
 * integers, str and map in the low four (the others zero in keys; narrow ones extended by their
 * sign to 32 bits), the rest all eight.
 *
 * Keys are equal if their leaves are: strings by content, floats by bits, except that -0.0 is 0.0.
 */
#ifndef WHAMMC_RUNTIME_VALUES_H
#define WHAMMC_RUNTIME_VALUES_H

#include "format.h"

enum { VALUES_STATE = 16, VALUES_STACK_END = 16384, VALUES_STACK = 49152 };
enum { VALUES_KEPT = VALUES_STACK, VALUES_KEPT_PAGES = 16384, VALUES_START = 114688 };
_Static_assert(VALUES_START == VALUES_KEPT + 4 * VALUES_KEPT_PAGES, "they are u32 addresses");
enum { VALUES_ROWS = 3072, VALUES_ROWS_END = 3136 }; /* the part of rows.c */
enum { VALUES_TEXT = 4096 };                         /* the host's part of the state, for text */
enum { VALUES_MAP_HEADER = 40 };                     /* bytes of a map's header; a multiple of 8 */
enum { VALUES_MAX_LEAVES = 255 };

/*
 * A map whose keys are words (below), and whose values are numbers or bool, has pages (word_map.c).
 * Compiled code reads their headers, at the address that VALUES_PAGE tells after a look-up and that
 * it keeps: a word that is
 *     base + (n << shift), n < slots
 * has slot n of the page, if the page is the map's; slots take 4 bytes, or 8 for values of 64 bits.
 * The key may yet be in another page if there is zero in the slot. Address 0 is like a page without
 * slots. The header begins with the lower half of the base and slots << 5 | shift, 32 bits each.
 */
enum { VALUES_PAGE_LOW = 0, VALUES_PAGE_HIGH = 8, VALUES_PAGE_MAP = 12, VALUES_PAGE_VALUES = 16 };
enum { VALUES_PAGE = 36 }; /* address of the address of the last page that was looked up */

/* The nth address at which compiled code keeps a page; they repeat after VALUES_KEPT_PAGES. */
static inline uint32_t values_kept_page(uint32_t n) {
    return VALUES_KEPT + 4 * (n % VALUES_KEPT_PAGES);
}

/* Bits of a leaf in a word of n leaves, which has 64 at most; more = the key is not a word. */
static inline uint32_t values_word_bits(uint8_t kind, uint32_t n) {
    switch (kind) {
    case REPORT_U64:
    case REPORT_I64: return 64;
    case REPORT_U8:
    case REPORT_I8: return n == 1 ? 32 : 8;
    case REPORT_U16:
    case REPORT_I16: return n == 1 ? 32 : 16;
    case REPORT_BOOL: return n == 1 ? 32 : 1;
    case REPORT_U32:
    case REPORT_I32: return 32;
    default: return 65;
    }
}

/* What the compiler writes at VALUES_STATE, as u32 each. */
typedef enum ValuesField {
    VALUES_HEAP = 0,   /* first free address, a multiple of 8 */
    VALUES_MAPS = 4,   /* address of the headers of the static maps */
    VALUES_NMAPS = 8,  /* the number of these maps */
    VALUES_IMAGE = 12, /* address of the report's image (its flags say CSV or JSON, its destination
                          is that of text too), 0 = none */
    VALUES_IMAGE_LEN = 16,
    VALUES_FIELDS = 20
} ValuesField;

/* ---- strings ---- */

/* A string object of `len` bytes with undefined contents, after which nothing else may be
 * allocated until it is passed to values_str_intern or values_str_drop. Traps if there is no
 * memory. */
uint32_t values_str_new(uint32_t len);
/* The object with this content: an existing one (then s is freed), or s itself. s is the last
 * result of values_str_new. */
uint32_t values_str_intern(uint32_t s);
/* Frees the last result of values_str_new. */
void values_str_drop(uint32_t s);
uint32_t values_str_eq(uint32_t a, uint32_t b);
uint32_t values_str_starts(uint32_t s, uint32_t prefix);
uint32_t values_str_ends(uint32_t s, uint32_t suffix);
uint32_t values_str_contains(uint32_t s, uint32_t part);

/* ---- maps ---- */

/* A new empty map. */
uint32_t values_map_new(void);
/* Frees it; its id may be used again. Static maps become empty. */
void values_map_free(uint32_t map);
/* Makes it empty, as if it had never been used. Traps if there is no such map. */
void values_map_clear(uint32_t map);

/*
 * The address of the value's leaves, for a key of one, two, three or any number of leaves (which
 * were put with values_key). ..._at inserts a missing key with a value of zeros; the address is
 * valid until the next insertion. ..._find returns an address of zeros for numbers and bool if the
 * key is missing, and traps for other values.
 */
uint32_t values_map_at1(uint32_t map, uint32_t type, uint64_t k0);
uint32_t values_map_at2(uint32_t map, uint32_t type, uint64_t k0, uint64_t k1);
uint32_t values_map_at3(uint32_t map, uint32_t type, uint64_t k0, uint64_t k1, uint64_t k2);
uint32_t values_map_at(uint32_t map, uint32_t type);
uint32_t values_map_find1(uint32_t map, uint32_t type, uint64_t k0);
uint32_t values_map_find2(uint32_t map, uint32_t type, uint64_t k0, uint64_t k1);
uint32_t values_map_find3(uint32_t map, uint32_t type, uint64_t k0, uint64_t k1, uint64_t k2);
uint32_t values_map_find(uint32_t map, uint32_t type);
/* Adds n numbers of 64 bits, at `counts`, which become zero, to what the keys 0, 1 ... n - 1 have;
 * values are integers of 32 or 64 bits. A number that is zero adds no key; if they are marked (1),
 * each has another one after it, which tells that instead. With 2 in `marked` they are those of the
 * buckets of a histogram, whose keys are their lower bounds. So many times, with the numbers that
 * follow and the map whose number is larger by `step`. */
void values_map_tally(uint32_t map, uint32_t step, uint32_t times, uint32_t type, uint32_t counts,
                      uint32_t n, uint32_t marked);
/* Whether the map has a key. */
uint32_t values_map_has(uint32_t map);
/* Deletes a key, if it is there. */
void values_map_delete(uint32_t map);
/* The number of keys. */
uint32_t values_map_len(uint32_t map);
/*
 * The keys that a map has now, for a loop, in the order of reports: an address, where the address
 * of the current key's leaves is. values_keys_next makes the next key that the map still has the
 * current one; false at the end. To be freed by values_keys_free.
 */
uint32_t values_map_keys(uint32_t map);
uint32_t values_keys_next(uint32_t map, uint32_t keys);
void values_keys_free(uint32_t keys);
/* Leaf n of the key for values_map_at, values_map_find, values_map_has and values_map_delete. */
void values_key(uint32_t n, uint64_t leaf);

/*
 * Maps whose types are made here (core.c), by names of the library whamm_core. A map keeps the type
 * of its first use; other kinds than those of its type trap, as do numbers that are no map. A
 * string is bytes of our memory. get_... returns 0 if the key is missing, but traps for strings;
 * get_i32_string returns a str.
 */
void values_insert_i32_i32(uint32_t map, uint32_t k, uint32_t v);
void values_insert_i32_string(uint32_t map, uint32_t k, uint32_t ptr, uint32_t len);
void values_insert_string_i32(uint32_t map, uint32_t ptr, uint32_t len, uint32_t v);
void values_insert_i32i32tuple_i32(uint32_t map, uint32_t a, uint32_t b, uint32_t v);
void values_insert_i32booltuple_i32(uint32_t map, uint32_t a, uint32_t b, uint32_t v);
void values_insert_i32i32i32tuple_i32(uint32_t map, uint32_t a, uint32_t b, uint32_t c, uint32_t v);
uint32_t values_get_i32_i32(uint32_t map, uint32_t k);
uint32_t values_get_i32_string(uint32_t map, uint32_t k);
uint32_t values_get_string_i32(uint32_t map, uint32_t ptr, uint32_t len);
uint32_t values_get_i32i32tuple_i32(uint32_t map, uint32_t a, uint32_t b);
uint32_t values_get_i32booltuple_i32(uint32_t map, uint32_t a, uint32_t b);
uint32_t values_get_i32i32i32tuple_i32(uint32_t map, uint32_t a, uint32_t b, uint32_t c);

/* ---- access, for programs that import the runtime and do not see its memory ---- */

/* A number at an address of our memory. */
uint32_t values_load8(uint32_t at);
uint32_t values_load32(uint32_t at);
uint64_t values_load64(uint32_t at);
void values_store8(uint32_t at, uint32_t v);
void values_store32(uint32_t at, uint32_t v);
void values_store64(uint32_t at, uint64_t v);

/* ---- text ---- */

/* Text goes where the report goes: when a line is complete, before a report, and when values_flush
 * is called. */
void values_putc(uint32_t c);
void values_puts(uint32_t ptr, uint32_t len); /* bytes of our memory, not a str object */
void values_putu8(uint32_t v);
void values_puti8(uint32_t v);
void values_putu16(uint32_t v);
void values_puti16(uint32_t v);
void values_putu32(uint32_t v);
void values_puti32(uint32_t v);
void values_putu64(uint64_t v);
void values_puti64(uint64_t v);
void values_putf32(float v);
void values_putf64(double v);
void values_putbool(uint32_t v);
void values_print_map(uint32_t map);
void values_print_map_as_csv(uint32_t map);
void values_flush(void);

/* ---- lines (lines.c) ---- */

/* How a value is printed: a number of these parts; 0 is the plain form. */
enum {
    LINES_WIDTH = 255, /* the least number of columns */
    LINES_PRECISION_SHIFT =
        8, /* of floats: 1 + the digits after the point; 0 = as many as needed */
    LINES_PRECISION = 255,
    LINES_FORM_SHIFT = 16,
    LINES_FORM = 15,
    LINES_ALIGN_SHIFT = 20,
    LINES_ALIGN = 3,
    LINES_ZERO = 1 << 22,   /* zeros fill up the width */
    LINES_PREFIX = 1 << 23, /* 0x, 0b, 0o */
    LINES_SIGNED = 1 << 24, /* an integer that may be negative */
    LINES_F32 = 1 << 25,    /* a float of 32 bits, made wider */
};
typedef enum LinesForm {
    LINES_PLAIN,
    LINES_HEX,
    LINES_UPPER,
    LINES_BINARY,
    LINES_OCTAL,
    LINES_EXPONENT, /* of floats */
    LINES_QUOTED,   /* of strings: in quotes, with escapes */
} LinesForm;
typedef enum LinesAlign { LINES_OWN, LINES_LEFT, LINES_RIGHT, LINES_CENTRE } LinesAlign;

/* Appends to the line: a str as it is, values in a format. Integers have 64 bits; in other forms
 * than the plain one they are unsigned. */
void values_print_text(uint32_t s);
void values_print_int(uint64_t v, uint32_t format);
void values_print_float(double v, uint32_t format);
void values_print_bool(uint32_t v, uint32_t format);
void values_print_str(uint32_t s, uint32_t format);
/* Appends a str, and ends the line. */
void values_print_end(uint32_t s);
/* Writes the complete lines. */
void values_print_flush(void);
/* End the program, by a trap or with an exit status; the report has been made. */
void values_print_trap(void);
void values_print_exit(uint32_t status);

/* Memory for scripts and libraries: an address in our memory, a multiple of 8; 0 = none left. */
uint32_t values_mem_alloc(uint32_t n);
void values_mem_free(uint32_t at);
/* The size of our memory in pages. */
uint32_t values_mem_pages(void);

/* ---- frame variables of functions that are left, to be called again ---- */

/* Puts a value on the stack of this number. */
void values_frame_push(uint32_t id, uint64_t value);
/* Takes the last one from it; 0 if there is none. */
uint64_t values_frame_pop(uint32_t id);

/* ---- shadow memories (shadow_memory.c) ---- */

/*
 * An element for each unit of 1, 2, 4, 8 or 16 bytes of a memory of the program. The elements of
 * 65,536 units are a page, which exists once one of them is not zero. A directory has the address
 * of each page, 0 if there is none; a shadow memory is the address of its directory. If there is no
 * memory for a page, the elements that were to be written there are lost, and counted.
 *
 * Functions without calls and loops become part of the code that calls them (rewrite/leaf.c), so
 * reading and writing an element of a page that exists takes a few instructions.
 */

/* A new shadow memory: elements of 1 << element_log bytes, units of 1 << unit_log bytes. Traps if
 * there is no memory for the directory. */
uint32_t values_shadow_new(uint32_t element_log, uint32_t unit_log);

/* The unit of an address of a 64-bit memory: addresses from 4 GiB on have the last one together. */
uint32_t values_shadow_unit(uint64_t address, uint32_t unit_log);

/* The element of a unit, by its size in bits. */
uint32_t values_shadow_get8(uint32_t shadow, uint32_t unit);
uint32_t values_shadow_get16(uint32_t shadow, uint32_t unit);
uint32_t values_shadow_get32(uint32_t shadow, uint32_t unit);
uint64_t values_shadow_get64(uint32_t shadow, uint32_t unit);

/* Sets the element of a unit, or adds to it. 1 = there is no page: the caller has to call
 * values_shadow_begin_page next. */
uint32_t values_shadow_set8(uint32_t shadow, uint32_t value, uint32_t unit);
uint32_t values_shadow_set16(uint32_t shadow, uint32_t value, uint32_t unit);
uint32_t values_shadow_set32(uint32_t shadow, uint32_t value, uint32_t unit);
uint32_t values_shadow_set64(uint32_t shadow, uint64_t value, uint32_t unit);
uint32_t values_shadow_add8(uint32_t shadow, uint32_t value, uint32_t unit);
uint32_t values_shadow_add16(uint32_t shadow, uint32_t value, uint32_t unit);
uint32_t values_shadow_add32(uint32_t shadow, uint32_t value, uint32_t unit);
uint32_t values_shadow_add64(uint32_t shadow, uint64_t value, uint32_t unit);
/* The bits that are set in any of n elements of 8 or 32 bits, and setting these; n is 1, 2, 4, 8 or
 * 16. Elements from the last unit on are zero, and stay so. */
uint32_t values_shadow_or(uint32_t shadow, uint32_t unit, uint32_t n);
void values_shadow_put(uint32_t shadow, uint32_t value, uint32_t unit, uint32_t n);
/* Makes the page for which one of these returned 1, with the value in it. */
void values_shadow_begin_page(uint32_t shadow);

/* Sets the elements of n bytes from an address on; whether one of them is not zero; copies them,
 * also where the ranges overlap. They concern each unit that has one of the bytes, below 4 GiB. */
void values_shadow_fill(uint32_t shadow, uint64_t address, uint64_t n, uint64_t value);
uint32_t values_shadow_any(uint32_t shadow, uint64_t address, uint64_t n);
void values_shadow_copy(uint32_t shadow, uint64_t to, uint64_t from, uint64_t n);
/* Sets all elements to zero. */
void values_shadow_clear(uint32_t shadow);

/* The number of elements that were lost; and a line of text that says so, if there are any. */
uint64_t values_shadow_lost(uint32_t shadow);
void values_shadow_tell(uint32_t shadow);

/* ---- clock: monotonic; 0 where the host has none (--host=none) ---- */

/* Nanoseconds since some moment. */
uint64_t values_now_ns(void);

#ifndef __wasm__
/* Gives this thread a fresh memory of `bytes` zeros (0 = none); the previous memory is lost. The
 * heap starts at VALUES_START. NULL if there is no memory. */
uint8_t *values_native_memory(uint32_t bytes);
/* Sets a field that the compiler writes into the memory of programs. */
void values_native_set(ValuesField field, uint32_t v);
#endif

#endif
