/*
 * event/event.h - events, modes and bound names of the language, and how rules expand into events.
 */
#ifndef WHAMMC_EVENT_EVENT_H
#define WHAMMC_EVENT_EVENT_H

#include "check/check.h"
#include "wasm/op.h"

typedef enum EventKind {
#define EVENT(id, package, event, has_modes, doc) EVENT_##id,
#include "event/event.def"
    EVENT_KIND_COUNT
} EventKind;

typedef enum Mode {
#define MODE(id, surface, internal) MODE_##id,
#include "event/event.def"
    MODE_COUNT
} Mode;

typedef enum NameId {
#define NAME(id, text, type, life, where, doc) NAME_##id,
#include "event/event.def"
    NAME_COUNT,
    /* Names that only derived names expand to (event/derive.h). */
    NAME_PAGES = NAME_COUNT, /* u64: pages of the accessed memory (n = 1: of a copy's source) */
    NAME_PAGE_SIZE,          /* u64, static: bytes per page of it */
    NAME_TABLE_ELEMS,        /* u64: size of the accessed table (n = 1: of a copy's source) */
    NAME_SEGMENT_SIZE,       /* u64: bytes or items of the data or element segment, 0 = dropped */
    NAME_WIDE_ARG,           /* u64: operand n, an i32 or i64, without sign */
    NAME_ARG_IS_NULL,        /* bool: operand n is a null reference */
    NAME_ARRAY_LEN,          /* u64: length of the array that is operand n, 0 if that is null */
    NAME_ITEM_SIZE,          /* u64, static: bytes of an item of the instruction's array type */
    NAME_MEMORY_SHARED,      /* bool, static: the accessed memory is shared */
    NAME_REF_CONDITION,      /* bool: n = RefCondition, of operand 0 */
    /* argN.tag, resN.tag, localN.tag (bound_name.c): the tags of values (storage/tags.h). */
    NAME_ARG_TAG,
    NAME_RES_TAG,
    NAME_LOCAL_TAG,
} NameId;

/* Conditions on operand 0, a reference or an index of a table. */
typedef enum RefCondition {
    REF_BRANCHES,   /* br_on_* will branch */
    REF_CAST_FAILS, /* ref.cast will trap */
    ENTRY_FAILS,    /* an indirect call of this entry will trap */
} RefCondition;

/* Built-in functions (lang/function.def): Bound.id of a call. Functions that can be called
 * everywhere are in library/builtin.h. */
typedef enum FnId {
#define FUNCTION(id, name, text, params, result, is_static, memories, reads, where, monitor, doc)  \
    FN_##id,
#include "lang/function.def"
    FN_COUNT
} FnId;

/* How a monitor supports it, as in lang/function.def. */
typedef enum FunctionMonitor {
    FUNCTION_YES,
    FUNCTION_OWN,
    FUNCTION_PAGES,
    FUNCTION_NO_TABLES,
    FUNCTION_NO_CHANGE,
    FUNCTION_NO_DATA,
} FunctionMonitor;

enum { WIDE_RESULT = 0x80 };

/* One thing a rule can match: an event in one mode. */
typedef struct Event {
    EventKind kind;
    WasmOp op;    /* EVENT_OPCODE */
    Mode mode;    /* EVENT_OPCODE, else MODE_NONE */
    uint8_t wide; /* bit n: operand n is an address of 64 bits; WIDE_RESULT: so is the result */
} Event;

typedef Vec(Event) Events;

/* It happens at no place of the program: before and after it runs, or where its stack changes. */
static inline bool event_is_nowhere(EventKind kind) {
    return kind == EVENT_BEGIN || kind == EVENT_END || kind == EVENT_REPORT ||
           kind == EVENT_STACK_SUSPEND || kind == EVENT_STACK_RESUME;
}

/* Surface and internal name of a mode. */
const char *mode_surface(Mode mode);
const char *mode_internal(Mode mode);

/* The modes of an instruction in table order, at most MODE_COUNT; returns how many. */
uint32_t op_modes(WasmOp op, Mode modes[MODE_COUNT]);

/* "wasm:opcode:call:before"; `internal` uses the internal mode name as report ids do. */
void event_text(Buf *out, Event e, bool internal);

/* Documentation of an event kind. */
const char *event_doc(EventKind kind);

/* The package and event part of an event that is not an instruction ("func", "entry"). */
const char *event_package(EventKind kind);
const char *event_name(EventKind kind);

/*
 * Expands a rule over the tables in the language's order (language reference, "match rules").
 * Appends to out; each gets the next probe number. A part that matches nothing is reported, naming
 * the first such part, and returns false.
 */
bool rule_expand(const Rule *rule, Events *out, Diags *diags);

/* Whether a rule that expands to an event of `op` means it by the name of another encoding:
 * `select` stands for the one with a type, too, unless the pattern matches that by its own name.
 * Such an event has the probe number of the other one. */
bool rule_means_select(const Rule *rule, WasmOp op);

/* Shell-like glob with alternatives, as in rule parts; case-insensitive, whole string. */
bool pattern_matches(Str pattern, const char *text);

/* ---- bound names ---- */

typedef struct NameInfo {
    const char *text;
    const char *doc;
    bool is_static;
    bool open; /* the type depends on the instruction or on a type bound */
} NameInfo;
extern const NameInfo name_infos[NAME_COUNT];

/*
 * Looks `name` up at event `e`; `out` is a Bound with id = NameId. False if the event does not have
 * it. Types are NULL when a type bound is needed.
 */
bool event_name_lookup(Event e, Str name, Bound *out);

/* Whether names are this with a number: argN, resN, localN, globalN, immN. */
bool event_name_is_numbered(NameId id);

/* Whether there are events that have such a name. */
bool event_name_exists(Str name);

/* Another name, of some event, that is most like this one, for "did you mean"; NULL if none is. */
const char *event_name_like(Str name);

/* Calls add() with every name that event e has (argN as arg0, arg1 ...). */
void event_name_each(Event e, void (*add)(void *ctx, Str name, const Bound *bound), void *ctx);

/* Looks a bound function up at event `e`: id = FnId, parameter types and their number, the result's
 * type (NULL = none). &type_unit stands for the name of a library; tuples are not interned. False
 * if the event does not have it. */
bool event_function_lookup(Event e, Str name, Bound *out, const Type *const **params,
                           uint32_t *nparams, const Type **result);

/* "alt_call_by_id(i32)", and a description. */
const char *function_text(FnId id);
const char *function_doc(FnId id);

/* Calls add() with every function that event e has; ids are FnId. */
void event_function_each(Event e, void (*add)(void *ctx, FnId id), void *ctx);
/* "alt_call_by_id". */
const char *function_name(FnId id);

/* Whether an operand (or result) is an address, index or size of a memory or table: i64 if that has
 * 64-bit addresses (Event.wide). */
bool operand_is_address(WasmOp op, bool result, uint32_t n);
/* Whether it has 64 bits at this event. */
bool event_is_wide(Event e, bool result, uint32_t n);

/* Whether monitors have a function, or why not. */
FunctionMonitor function_monitor(FnId id);
/* Whether a function exists in every event, at script scope and in functions. */
bool function_is_everywhere(FnId id);

/* Whether parameter n of a function is a memory. */
bool function_takes_memory(FnId id, uint32_t n);

/* The number of bytes an access of `op` touches (0 = not a memory access), which operand is its
 * address (from the top) and whether it writes. */
uint32_t op_access(WasmOp op, uint32_t *addr_arg, bool *writes);
/* The value of a name that follows from the instruction alone: bytecode, category_id, data_size.
 * False: it is none of them. */
bool op_constant(WasmOp op, NameId id, uint64_t *value);

#endif
