/*
 * component/component_valid_name.c - names of imports and exports (Explainer.md of the component
 * model, "Import and Export Definitions"): labels, names of interfaces, and so on.
 */
#include "component/component_valid.h"

/* ---- labels ---- */

static bool is_lower_case(char c) {
    return c >= 'a' && c <= 'z';
}
static bool is_upper_case(char c) {
    return c >= 'A' && c <= 'Z';
}
static bool is_decimal(char c) {
    return c >= '0' && c <= '9';
}

bool component_is_label(Str s) {
    bool lower = false, upper = false, begin = true;
    for (uint32_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];
        if (c == '-') {
            if (begin)
                return false;
            lower = upper = false;
            begin = true;
            continue;
        }
        lower |= is_lower_case(c);
        upper |= is_upper_case(c);
        if ((!is_lower_case(c) && !is_upper_case(c) && !is_decimal(c)) || (lower && upper) ||
            (i == 0 && is_decimal(c)))
            return false;
        begin = false;
    }
    return !begin;
}

void component_label_key(Str label, Buf *key) {
    for (uint32_t i = 0; i < label.len; i++)
        buf_u8(key,
               (uint8_t)(is_upper_case(label.ptr[i]) ? label.ptr[i] + ('a' - 'A') : label.ptr[i]));
}

bool component_same_label(Str a, Str b) {
    for (uint32_t i = 0; i < a.len && i < b.len; i++) {
        char x = a.ptr[i], y = b.ptr[i];
        if (x != y &&
            (is_upper_case(x) ? x + ('a' - 'A') : x) != (is_upper_case(y) ? y + ('a' - 'A') : y))
            return false;
    }
    return a.len == b.len;
}

/* ---- versions ---- */

/* An identifier of letters, digits and '-'; one that is a number has no zeros before it, if they
 * matter. */
static bool is_identifier(Str s, bool zeros_matter) {
    bool number = true;
    for (uint32_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];
        number &= is_decimal(c);
        if (!is_lower_case(c) && !is_upper_case(c) && !is_decimal(c) && c != '-')
            return false;
    }
    return s.len && !(zeros_matter && number && s.len > 1 && s.ptr[0] == '0');
}

/* The part of *s up to the first of the characters; *s goes on after the part, at the character. */
static Str cut(Str *s, const char *characters) {
    Str part = {s->ptr, 0};
    while (part.len < s->len && !strchr(characters, s->ptr[part.len]))
        part.len++;
    s->ptr += part.len;
    s->len -= part.len;
    return part;
}

static bool passed(Str *s, char c) {
    if (!s->len || *s->ptr != c)
        return false;
    s->ptr++;
    s->len--;
    return true;
}

static bool identifiers(Str s, bool zeros_matter) {
    do
        if (!is_identifier(cut(&s, "."), zeros_matter))
            return false;
    while (passed(&s, '.'));
    return true;
}

static bool is_number(Str s) {
    uint64_t value;
    return is_identifier(s, true) && str_decimal(s, UINT64_MAX, &value);
}

bool component_is_version(Str s) {
    for (uint32_t i = 0; i < 3; i++)
        if ((i && !passed(&s, '.')) || !is_number(cut(&s, i < 2 ? "." : "-+")))
            return false;
    if (passed(&s, '-') && !identifiers(cut(&s, "+"), true))
        return false;
    return s.len == 0 || (passed(&s, '+') && identifiers(s, false));
}

bool component_is_canonical_version(Str s) {
    for (uint32_t i = 0; i < 3; i++) {
        Str part = cut(&s, ".");
        if (!is_number(part) || (*part.ptr != '0' && s.len))
            return false;
        if (*part.ptr != '0')
            return true;
        if (i < 2 && !passed(&s, '.'))
            return false;
    }
    return s.len == 0;
}

/* ---- forms ---- */

static bool take_text(Str *s, const char *text) {
    if (!str_begins(*s, str_of(text)))
        return false;
    s->ptr += strlen(text);
    s->len -= (uint32_t)strlen(text);
    return true;
}

/* A label at the beginning; in names of packages all of it has to be in lower case. */
static bool take_label(Str *s, bool lower) {
    Str from = *s;
    while (s->len && (is_lower_case(*s->ptr) || is_upper_case(*s->ptr) || is_decimal(*s->ptr) ||
                      *s->ptr == '-'))
        s->ptr++, s->len--;
    Str label = {from.ptr, from.len - s->len};
    for (uint32_t i = 0; lower && i < label.len; i++)
        if (is_upper_case(label.ptr[i]))
            return false;
    return component_is_label(label);
}

/* RESOURCE '.' MEMBER */
static bool read_resource_member(Str s, ExternName *name, const char **why) {
    name->resource = cut(&s, ".");
    *why = "expected '.' between the names of the resource and the function";
    if (!passed(&s, '.'))
        return false;
    name->member = s;
    *why = "expected names in kebab case";
    return component_is_label(name->resource) && component_is_label(s);
}

/* NAMESPACE ':' PACKAGE '/' LABEL ('@' VERSION)? */
static bool read_interface(Str s, ExternName *name, const char **why) {
    name->form = NAME_INTERFACE;
    *why = "expected NAMESPACE:PACKAGE in lower-case kebab case";
    if (!take_label(&s, true) || !take_text(&s, ":") || !take_label(&s, true))
        return false;
    *why = "expected '/' and a name in kebab case after the name of the package";
    if (!take_text(&s, "/") || !take_label(&s, false))
        return false;
    if (take_text(&s, "@"))
        name->version = s;
    *why = "unexpected characters at the end";
    return s.len == 0 || name->version.ptr;
}

bool component_read_name(Str s, ExternName *name, const char **why) {
    *name = (ExternName){.form = NAME_LABEL};
    *why = "it is not in kebab case";
    if (take_text(&s, "[constructor]")) {
        name->form = NAME_CONSTRUCTOR;
        name->resource = s;
        return component_is_label(s);
    }
    bool method = take_text(&s, "[method]");
    if (method || take_text(&s, "[static]")) {
        name->form = method ? NAME_METHOD : NAME_STATIC;
        return read_resource_member(s, name, why);
    }
    return s.len && memchr(s.ptr, ':', s.len) ? read_interface(s, name, why)
                                              : component_is_label(s);
}

void component_name_key(const ExternName *name, Str s, Buf *key) {
    Str before = s; /* a version is not one word in whatever case */
    switch (name->form) {
    case NAME_METHOD:
    case NAME_STATIC:
        component_label_key(name->resource, key);
        if (component_same_label(name->resource, name->member))
            return;
        buf_u8(key, '.');
        component_label_key(name->member, key);
        return;
    case NAME_INTERFACE:
        if (name->version.ptr)
            before.len = (uint32_t)(name->version.ptr - s.ptr);
        component_label_key(before, key);
        buf_str(key, name->version);
        return;
    default: component_label_key(s, key);
    }
}
