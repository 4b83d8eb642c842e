/*
 * dwarf/dwarf_type.c - types: numbers, pointers, the fields of structs, the elements of arrays.
 */
#include "dwarf/dwarf_parts.h"

/* The most names and qualifiers of a type, unnamed members and base classes around a field. */
enum { HOPS_MAX = 32, NESTING_MAX = 16 };

enum {
    ATE_ADDRESS = 1,
    ATE_BOOLEAN,
    ATE_COMPLEX_FLOAT,
    ATE_FLOAT,
    ATE_SIGNED,
    ATE_SIGNED_CHAR,
    ATE_UNSIGNED,
    ATE_UNSIGNED_CHAR,
    ATE_UTF = 0x10
};

/* The attributes of an entry that are about types. */
typedef struct TypeEntry {
    const DwarfUnit *u;
    const DwarfAbbrev *a;
    DwarfCursor children; /* stands at them, if there are any */
    Str name;
    uint32_t type, specification;
    uint64_t size, count, offset;
    uint32_t encoding;
    bool declaration, bits, placed, counted;
} TypeEntry;

static uint32_t reference_of(const DwarfUnit *u, DwarfValue v) {
    uint64_t entry;
    return dwarf_reference(u, v, &entry) && entry < UINT32_MAX ? (uint32_t)entry : 0;
}

static void take_type_value(Dwarf *d, TypeEntry *t, uint32_t attribute, DwarfValue v) {
    bool number = v.class == CLASS_CONSTANT;
    switch (attribute) {
    case DW_AT_NAME: t->name = dwarf_text(d, t->u, v); break;
    case DW_AT_TYPE: t->type = reference_of(t->u, v); break;
    case DW_AT_SPECIFICATION: t->specification = reference_of(t->u, v); break;
    case DW_AT_BYTE_SIZE: t->size = number ? v.number : 0; break;
    case DW_AT_ENCODING: t->encoding = dwarf_small(v); break;
    case DW_AT_DECLARATION: t->declaration = dwarf_small(v) != 0; break;
    case DW_AT_BIT_SIZE:
    case DW_AT_DATA_BIT_OFFSET: t->bits = true; break;
    case DW_AT_COUNT:
        t->counted = number;
        t->count = number ? v.number : 0;
        break;
    case DW_AT_UPPER_BOUND:
        t->counted = number && v.number < UINT32_MAX;
        t->count = t->counted ? v.number + 1 : 0;
        break;
    case DW_AT_DATA_MEMBER_LOCATION:
        t->placed = number;
        t->offset = v.number;
        if (v.class == CLASS_BLOCK || v.class == CLASS_EXPRESSION) { /* plus_uconst, of version 2 */
            DwarfCursor c = dwarf_cursor(v.string, 0, v.string.len);
            t->placed = dwarf_u8(&c) == 0x23;
            t->offset = dwarf_uleb(&c);
        }
        break;
    }
}

/* Reads the entry at a cursor; false at the end of a list of children. */
static bool dwarf_type_read(Dwarf *d, const DwarfUnit *u, DwarfCursor *c, TypeEntry *t) {
    *t = (TypeEntry){.u = u, .a = dwarf_entry(d, u, c)};
    if (!t->a || !d->budget.entries)
        return false;
    d->budget.entries--;
    const DwarfSpec *specs = dwarf_specs(d, u, t->a);
    for (uint32_t i = 0; i < t->a->count; i++)
        take_type_value(d, t, specs[i].attribute, dwarf_attribute(u, c, &specs[i]));
    t->children = *c;
    return !c->failed;
}

static bool read_type_entry(Dwarf *d, uint32_t entry, TypeEntry *t) {
    const DwarfUnit *u = entry ? dwarf_unit_of(d, entry) : NULL;
    if (!u)
        return false;
    DwarfCursor c = dwarf_unit_cursor(d, u, entry);
    return dwarf_type_read(d, u, &c, t);
}

/* Passes over the children of an entry. */
static void skip_children(Dwarf *d, const DwarfUnit *u, DwarfCursor *c) {
    uint32_t depth = 1;
    while (depth && c->at < c->end && d->budget.entries) {
        d->budget.entries--;
        const DwarfAbbrev *a = dwarf_entry(d, u, c);
        if (!a) {
            depth--;
            continue;
        }
        dwarf_skip_entry(d, u, a, c);
        depth += a->children;
    }
}

/* The next child of an entry, of which `c` stands at the first. */
static bool next_child(Dwarf *d, const DwarfUnit *u, DwarfCursor *c, TypeEntry *child) {
    if (c->at >= c->end || !dwarf_type_read(d, u, c, child))
        return false;
    if (child->a->children)
        skip_children(d, u, c);
    return true;
}

/* The number of elements of an array, all dimensions together if there are several. */
static uint64_t count_elements(Dwarf *d, const TypeEntry *t, uint32_t *dimensions) {
    DwarfCursor c = t->children;
    TypeEntry child;
    uint64_t n = 1;
    *dimensions = 0;
    while (t->a->children && next_child(d, t->u, &c, &child))
        if (child.a->tag == DW_TAG_SUBRANGE_TYPE) {
            n = child.counted && child.count <= UINT32_MAX && n <= UINT32_MAX ? n * child.count : 0;
            ++*dimensions;
        }
    return *dimensions ? n : 0;
}

static DwarfType dwarf_type_number(const TypeEntry *t) {
    DwarfType out = {.size = t->size};
    bool integer = t->size == 1 || t->size == 2 || t->size == 4 || t->size == 8;
    switch (t->encoding) {
    case ATE_BOOLEAN: out.kind = t->size == 1 ? DWARF_BOOL : DWARF_UNKNOWN; break;
    case ATE_FLOAT: out.kind = t->size == 4 || t->size == 8 ? DWARF_FLOAT : DWARF_UNKNOWN; break;
    case ATE_SIGNED:
    case ATE_SIGNED_CHAR: out.is_signed = true; /* fall through */
    case ATE_UNSIGNED:
    case ATE_UNSIGNED_CHAR:
    case ATE_ADDRESS:
    case ATE_UTF: {
        bool character = t->size == 1;
        out.kind = !integer        ? DWARF_UNKNOWN
                   : character     ? DWARF_CHAR
                   : out.is_signed ? DWARF_SIGNED
                                   : DWARF_UNSIGNED;
        break;
    }
    }
    return out;
}

DwarfType dwarf_type(Dwarf *d, uint32_t entry) {
    TypeEntry t;
    for (uint32_t i = 0; i < HOPS_MAX && read_type_entry(d, entry, &t); i++) {
        DwarfType out = {.size = t.size, .entry = entry, .target = t.type};
        switch (t.a->tag) {
        case DW_TAG_BASE_TYPE: return dwarf_type_number(&t);
        case DW_TAG_POINTER_TYPE:
        case DW_TAG_REFERENCE_TYPE:
        case DW_TAG_RVALUE_REFERENCE_TYPE:
            out.kind = DWARF_POINTER;
            out.size = t.size ? t.size : t.u->address_size;
            return out;
        case DW_TAG_STRUCTURE_TYPE:
        case DW_TAG_CLASS_TYPE:
        case DW_TAG_UNION_TYPE: out.kind = t.declaration ? DWARF_UNKNOWN : DWARF_STRUCT; return out;
        case DW_TAG_ENUMERATION_TYPE:
            if (t.type)
                break;
            out.kind = t.size == 1 || t.size == 2 || t.size == 4 || t.size == 8 ? DWARF_UNSIGNED
                                                                                : DWARF_UNKNOWN;
            return out;
        case DW_TAG_ARRAY_TYPE: {
            uint32_t dimensions;
            out.kind = DWARF_ARRAY;
            out.count = count_elements(d, &t, &dimensions);
            if (dimensions > 1)
                out.kind = DWARF_UNKNOWN;
            return out;
        }
        case DW_TAG_TYPEDEF:
        case DW_TAG_CONST_TYPE:
        case DW_TAG_VOLATILE_TYPE:
        case DW_TAG_RESTRICT_TYPE:
        case DW_TAG_ATOMIC_TYPE: break;
        default: return (DwarfType){0};
        }
        entry = t.type;
    }
    return (DwarfType){0};
}

/* Looks for a field in a struct and what it contains without a name. */
static bool dwarf_type_find_field(Dwarf *d, uint32_t entry, Str name, uint32_t depth,
                                  DwarfField *out) {
    TypeEntry t, child;
    if (depth == NESTING_MAX || !read_type_entry(d, entry, &t) || !t.a->children)
        return false;
    DwarfCursor c = t.children;
    while (next_child(d, t.u, &c, &child)) {
        bool base = child.a->tag == DW_TAG_INHERITANCE;
        if ((child.a->tag != DW_TAG_MEMBER && !base) || child.declaration)
            continue;
        bool placed = child.placed || t.a->tag == DW_TAG_UNION_TYPE || child.bits;
        if (!base && child.name.len && str_eq(child.name, name)) {
            *out = (DwarfField){child.offset, child.type, child.bits || !placed};
            return true;
        }
        DwarfType inner = base || !child.name.len ? dwarf_type(d, child.type) : (DwarfType){0};
        if (inner.kind != DWARF_STRUCT || !placed)
            continue;
        if (dwarf_type_find_field(d, inner.entry, name, depth + 1, out)) {
            out->offset += child.offset;
            return true;
        }
    }
    return false;
}

bool dwarf_field(Dwarf *d, uint32_t structure, Str name, DwarfField *out) {
    return name.len && dwarf_type_find_field(d, structure, name, 0, out) && out->offset < INT32_MAX;
}

bool dwarf_only_field(Dwarf *d, uint32_t structure, DwarfField *out) {
    TypeEntry t, child;
    uint32_t n = 0;
    if (!read_type_entry(d, structure, &t) || !t.a->children)
        return false;
    DwarfCursor c = t.children;
    while (next_child(d, t.u, &c, &child)) {
        if ((child.a->tag != DW_TAG_MEMBER && child.a->tag != DW_TAG_INHERITANCE) ||
            child.declaration || (!child.placed && t.a->tag != DW_TAG_UNION_TYPE && !child.bits))
            continue; /* static ones are not there */
        *out = (DwarfField){child.offset, child.type, child.bits};
        n++;
    }
    return n == 1 && !out->bits;
}
