/*
 * lsp/complete.c - the language server: completion, and the parameters of calls.
 */
#include "lsp/server.h"

#include "api/bundled_scripts.h"
#include "event/event.h"
#include "lang/lang.h"
#include "library/library.h"

/* Kinds of the protocol. */
typedef enum ItemKind {
    ITEM_METHOD = 2,
    ITEM_FUNCTION = 3,
    ITEM_FIELD = 5,
    ITEM_VARIABLE = 6,
    ITEM_CLASS = 7,
    ITEM_MODULE = 9,
    ITEM_KEYWORD = 14,
    ITEM_FILE = 17,
    ITEM_CONSTANT = 21,
    ITEM_EVENT = 23,
} ItemKind;

typedef struct Completion {
    Request *r;
    TextPlace place;
    Str text;
    uint32_t from; /* where what an item replaces begins */
    Map added;     /* labels */
} Completion;

/* The events of the language. */
static const struct {
    const char *package, *event, *doc;
} events[] = {
#define EVENT(id, package, event, has_modes, doc) {package, event, doc},
#include "event/event.def"
};

static bool is_name_char(char c) {
    return context_is_word(c) || c == '.';
}

/* An item replaces a name with the dots before it, too: one of a package. */
static void replace_dotted(Completion *c) {
    while (c->from && is_name_char(c->text.ptr[c->from - 1]))
        c->from--;
}

/* An item; those of a lower rank come first. */
static void complete_add(Completion *c, Str label, ItemKind kind, const char *detail,
                         const char *doc, int rank) {
    bool added;
    Buf *out = c->r->out, sorted = {0};
    map_put(&c->added, label, 0, &added);
    if (!added || !label.len)
        return;
    out_next(out);
    buf_u8(out, '{');
    out_string(out, "label", label);
    out_number(out, "kind", kind);
    if (detail && *detail)
        out_string(out, "detail", str_of(detail));
    if (doc && *doc)
        out_string(out, "documentation", str_of(doc));
    buf_printf(&sorted, "%d%.*s", rank, STR_ARG(label));
    out_string(out, "sortText", buf_view(&sorted));
    buf_free(&sorted);
    out_key(out, "textEdit");
    buf_str(out, STR("{\"range\":"));
    document_put_range(c->r->s, c->r->d, c->from, c->r->offset, out);
    out_string(out, "newText", label);
    buf_str(out, STR("}}"));
}

/* ---- rules ---- */

/* The beginning of a rule as complete parts, without bounds: "wasm:func:" of "wasm:func:en". */
static uint32_t rule_prefix(Str rule, Buf *out) {
    uint32_t colons = 0, end = 0, depth = 0;
    for (uint32_t i = 0; i < rule.len; i++) {
        depth += rule.ptr[i] == '(';
        if (rule.ptr[i] == ':' && !depth) {
            colons++;
            end = i + 1;
        }
        depth -= rule.ptr[i] == ')' && depth;
    }
    for (uint32_t i = 0; i < end; i++) {
        depth += rule.ptr[i] == '(';
        if (!depth)
            buf_u8(out, (uint8_t)rule.ptr[i]);
        depth -= rule.ptr[i] == ')' && depth;
    }
    return colons;
}

static void add_instructions(Completion *c) {
    complete_add(c, STR("*"), ITEM_EVENT, "every instruction", NULL, 0);
    for (int op = 0; op < WASM_OP_COUNT; op++)
        complete_add(c, str_of(wasm_ops[op].mnemonic), ITEM_EVENT, NULL, NULL, 1);
}

/* The last part of each event that the prefix and any last part match. */
static void add_last_parts(Completion *c, const Buf *prefix) {
    Buf rule = {0};
    buf_str(&rule, buf_view(prefix));
    buf_u8(&rule, '*');
    const RuleNames *n = rule_names(c->r->s, buf_view(&rule));
    for (uint32_t i = 0; n && i < n->events.len; i++) {
        const char *last = strrchr(n->events.at[i].text, ':');
        complete_add(c, str_of(last + 1), ITEM_EVENT, NULL, n->events.at[i].doc, 0);
    }
    buf_free(&rule);
}

static void add_packages(Completion *c) {
    for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
        complete_add(c, str_of(events[i].package), ITEM_EVENT, NULL,
                     *events[i].event ? NULL : events[i].doc, 0);
    }
#define MADE(package, time, what) complete_add(c, STR(package), ITEM_EVENT, NULL, what, 0);
#include "event/event.def"
}

static void complete_rule(Completion *c) {
    Buf prefix = {0};
    uint32_t colons = rule_prefix(c->place.rule, &prefix);
    replace_dotted(c);
    if (colons == 1)
        add_packages(c);
    else if (strcmp(buf_cstr(&prefix), "wasm:opcode:") == 0)
        add_instructions(c);
    else if (colons)
        add_last_parts(c, &prefix);
    buf_free(&prefix);
}

/* ---- names ---- */

/* What the script declares at script scope; names of packages have dots, hidden ones begin with no
 * letter. */
static bool is_at_script_scope(Str name) {
    return !memchr(name.ptr, '.', name.len) && context_is_word(name.ptr[0]);
}

static void add_script(Completion *c) {
    const Script *script = document_script(c->r->d);
    for (uint32_t i = 0; i < script->vars.len + script->constants.len; i++) {
        const Var *v =
            i < script->vars.len ? script->vars.at[i] : script->constants.at[i - script->vars.len];
        if (is_at_script_scope(v->name))
            complete_add(c, v->name, v->constant ? ITEM_CONSTANT : ITEM_VARIABLE, v->type->text,
                         NULL, 1);
    }
    for (uint32_t i = 0; i < script->fns.len; i++)
        if (is_at_script_scope(script->fns.at[i]->name))
            complete_add(c, script->fns.at[i]->name, ITEM_FUNCTION, "fn", NULL, 1);
    for (uint32_t i = 0; i < script->uses.len; i++)
        complete_add(c, script->uses.at[i].name, ITEM_MODULE, "library", NULL, 2);
    for (uint32_t i = 0; i < script->files.package_uses.len; i++)
        if (!script->files.package_uses.at[i].within)
            complete_add(c, script->files.package_uses.at[i].alias, ITEM_MODULE, "package", NULL,
                         2);
}

/* Variables of the body, as far as they are declared before the position. */
static void add_locals(Completion *c) {
    const Meanings *all = &c->r->d->w->meanings;
    for (uint32_t i = 0; i < all->list.len; i++) {
        const Meaning *m = &all->list.at[i];
        if (m->declares && m->var && m->span.file == c->r->d->file &&
            m->span.start >= c->place.item && m->span.end < c->r->offset &&
            m->var->storage != STORAGE_SCRIPT)
            complete_add(c, (Str){c->text.ptr + m->span.start, m->span.end - m->span.start},
                         ITEM_VARIABLE, m->var->type->text, NULL, 0);
    }
}

static void add_bound(Completion *c) {
    const RuleNames *n = c->place.rule.len ? rule_names(c->r->s, c->place.rule) : NULL;
    for (uint32_t i = 0; n && i < n->names.len; i++)
        complete_add(c, str_of(n->names.at[i].name), ITEM_FIELD,
                     n->names.at[i].type ? n->names.at[i].type : "any", n->names.at[i].doc, 1);
    for (uint32_t i = 0; n && i < n->functions.len; i++) {
        const char *text = n->functions.at[i].text;
        complete_add(c, (Str){text, (uint32_t)strcspn(text, "(")}, ITEM_FUNCTION, text,
                     n->functions.at[i].doc, 2);
    }
    for (int id = 0; id < FN_COUNT; id++)
        if (function_is_everywhere((FnId)id))
            complete_add(c, str_of(function_name((FnId)id)), ITEM_FUNCTION, function_text((FnId)id),
                         function_doc((FnId)id), 2);
}

static void add_words(Completion *c) {
    static const struct {
        const char *name, *text, *doc;
    } aggregates[] = {
#define AGGREGATE(id, name, text, doc) {name, text, doc},
#include "lang/type.def"
    };
    for (uint32_t i = 0;; i++) {
        const char *word = lang_keyword(i);
        if (!word)
            break;
        complete_add(c, str_of(word), ITEM_KEYWORD, NULL, NULL, 3);
    }
    for (int kind = 0; kind <= TYPE_FUNCREF; kind++)
        complete_add(c, str_of(type_scalar[kind].text), ITEM_CLASS, NULL, NULL, 3);
    for (size_t i = 0; i < sizeof aggregates / sizeof *aggregates; i++)
        complete_add(c, str_of(aggregates[i].name), ITEM_CLASS, aggregates[i].text,
                     aggregates[i].doc, 3);
}

/* ---- after a dot ---- */

/* A function that a library exports, if scripts can write its name. */
static void add_named(void *ctx, Str name) {
    for (uint32_t i = 0; i < name.len; i++)
        if (!context_is_word(name.ptr[i]))
            return;
    complete_add(ctx, name, ITEM_FUNCTION, NULL, NULL, 0);
}

static void add_methods(Completion *c, const Type *t) {
    static const struct {
        bool map;
        const char *name, *doc;
        bool written; /* as a method */
    } methods[] = {
#define METHOD(id, name, argument, result, reserved, doc)     {false, name, doc, true},
#define MAP_METHOD(id, name, takes_key, result, changes, doc) {true, name, doc, !(takes_key)},
#include "lang/function.def"
    };
    if (t->aggregate) {
        complete_add(c, STR("add"), ITEM_METHOD, t->text, "adds a value", 0);
        complete_add(c, STR("clear"), ITEM_METHOD, t->text, "begins anew", 0);
        return;
    }
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (methods[i].written && methods[i].map == (t->kind == TYPE_MAP) &&
            (t->kind == TYPE_MAP || t->kind == TYPE_STR))
            complete_add(c, str_of(methods[i].name), ITEM_METHOD, t->text, methods[i].doc, 0);
}

/* The name that ends at `end`, whose element is meant if it is followed by brackets. */
static Str owner(Str text, uint32_t end, bool *element) {
    *element = end && text.ptr[end - 1] == ']';
    for (uint32_t depth = 0; *element && end;) {
        char c = text.ptr[--end];
        depth = depth + (c == ']') - (c == '[');
        if (!depth)
            break;
    }
    uint32_t start = end;
    while (start && context_is_word(text.ptr[start - 1]))
        start--;
    return (Str){text.ptr + start, end - start};
}

/* A variable of this name: one of the body before those of script scope. */
static const Var *variable_named(const Completion *c, Str name) {
    const Meanings *all = &c->r->d->w->meanings;
    const Var *found = NULL;
    for (uint32_t i = 0; i < all->list.len; i++) {
        const Meaning *m = &all->list.at[i];
        if (!m->declares || !m->var || m->span.file != c->r->d->file ||
            !str_eq(name, (Str){c->text.ptr + m->span.start, m->span.end - m->span.start}))
            continue;
        bool here = m->span.start >= c->place.item && m->span.start < c->place.end;
        if (here || (!found && m->var->storage == STORAGE_SCRIPT))
            found = m->var;
    }
    return found;
}

/* What a package declares, after the name by which the script calls it. */
static void add_package(Completion *c, Str name) {
    const Script *script = document_script(c->r->d);
    const PackageUse *use = script_package_use(script, 0, name);
    if (!use)
        return;
    Str prefix = script->files.packages.at[use->package - 1].name;
    for (uint32_t i = 0; i < script->vars.len + script->fns.len; i++) {
        bool var = i < script->vars.len;
        Str full = var ? script->vars.at[i]->name : script->fns.at[i - script->vars.len]->name;
        if (full.len > prefix.len + 1 && memcmp(full.ptr, prefix.ptr, prefix.len) == 0 &&
            full.ptr[prefix.len] == '.' && full.ptr[prefix.len + 1] != '_')
            complete_add(c, (Str){full.ptr + prefix.len + 1, full.len - prefix.len - 1},
                         var ? ITEM_VARIABLE : ITEM_FUNCTION,
                         var ? script->vars.at[i]->type->text : "fn", NULL, 0);
    }
}

static void complete_member(Completion *c) {
    bool element;
    Str name = owner(c->text, c->place.word - 1, &element);
    const Var *v = variable_named(c, name);
    const RuleNames *n = c->place.rule.len ? rule_names(c->r->s, c->place.rule) : NULL;
    if (v && element && v->type->kind == TYPE_MAP)
        add_methods(c, v->type->value);
    else if (v && !element)
        add_methods(c, v->type);
    for (uint32_t i = 0; n && !v && i < n->names.len; i++)
        if (str_is(name, n->names.at[i].name) && n->names.at[i].type &&
            strcmp(n->names.at[i].type, "str") == 0)
            add_methods(c, &type_scalar[TYPE_STR]);
    if (v)
        return;
    add_package(c, name);
    const Libraries *libraries = &c->r->d->w->libraries;
    const Library *l = library_find(libraries, name);
    if (l)
        library_each(l, add_named, c);
    bundled_each(name, add_named, c);
}

/* ---- after `use`, `@`, and in the path of a file ---- */

static void add_library(void *ctx, Str name) {
    complete_add(ctx, name, ITEM_MODULE, "library", NULL, 1);
}

static void complete_use(Completion *c) {
    replace_dotted(c);
    for (const BundledScript *p = bundled_packages; p->name; p++) {
        Buf name = {0};
        for (const char *at = p->name; *at; at++)
            buf_u8(&name, *at == '/' ? '.' : (uint8_t)*at);
        complete_add(c, buf_view(&name), ITEM_MODULE, "package", NULL, 0);
        buf_free(&name);
    }
    const Libraries *libraries = &c->r->d->w->libraries;
    for (uint32_t i = 0; i < libraries->list.len; i++)
        complete_add(c, libraries->list.at[i]->name, ITEM_MODULE, "library", NULL, 0);
    bundled_libraries(add_library, c);
}

static void complete_path(Completion *c) {
    c->from = c->place.path;
    for (const BundledScript *p = bundled_scripts; p->name; p++) {
        Buf name = {0};
        buf_printf(&name, "%s.whamm", p->name);
        complete_add(c, buf_view(&name), ITEM_FILE, NULL, NULL, 0);
        buf_free(&name);
    }
}

/* Whether the word at the position follows this one. */
static bool follows_word(Str text, uint32_t at, const char *word) {
    uint32_t n = (uint32_t)strlen(word);
    while (at && is_name_char(text.ptr[at - 1]))
        at--;
    uint32_t blanks = at;
    while (at && strchr(" \t", text.ptr[at - 1]))
        at--;
    return at < blanks && at >= n && memcmp(text.ptr + at - n, word, n) == 0 &&
           (at == n || !context_is_word(text.ptr[at - n - 1]));
}

static void complete_declaration(Completion *c) {
    for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
        Buf text = {0};
        buf_printf(&text, "wasm:%s%s%s", events[i].package,
                   *events[i].event || !strcmp(events[i].package, "opcode") ? ":" : "",
                   events[i].event);
        complete_add(c, buf_view(&text), ITEM_EVENT, NULL, events[i].doc, 1);
        buf_free(&text);
    }
    add_words(c);
}

void lsp_completion(Request *r) {
    Completion c = {.r = r, .text = buf_view(&r->d->text)};
    c.place = context_at(c.text, r->offset);
    c.from = c.place.word;
    char before = c.from ? c.text.ptr[c.from - 1] : 0;
    buf_str(r->out, STR("{\"isIncomplete\":false,\"items\":["));
    if (c.place.kind == PLACE_SKIPPED) {
        if (c.place.path)
            complete_path(&c);
    } else if (c.place.kind == PLACE_HEAD) {
        complete_rule(&c);
    } else if (follows_word(c.text, r->offset, "use")) {
        complete_use(&c);
    } else if (before == '@') {
        complete_add(&c, STR("static"), ITEM_KEYWORD, NULL, "calls it at compile time", 0);
        complete_add(&c, STR("init"), ITEM_KEYWORD, NULL, "when the program starts", 0);
        complete_add(&c, STR("exit"), ITEM_KEYWORD, NULL, "when the report is written", 0);
    } else if (before == '.') {
        complete_member(&c);
    } else if (c.place.kind == PLACE_OUTSIDE) {
        complete_declaration(&c);
        add_script(&c);
    } else {
        add_locals(&c);
        add_bound(&c);
        add_script(&c);
        add_words(&c);
    }
    buf_str(r->out, STR("]}"));
    map_free(&c.added);
}

/* ---- the parameters of calls ---- */

/* "name(a, b) -> c": the text, with the places of the parameters. */
static void put_signature_help(Request *r, Str text, const char *doc, uint32_t argument) {
    Buf *out = r->out;
    buf_str(out, STR("{\"signatures\":[{"));
    out_string(out, "label", text);
    if (doc && *doc)
        out_string(out, "documentation", str_of(doc));
    out_key(out, "parameters");
    buf_u8(out, '[');
    uint32_t at = 0, depth = 0, start = 0;
    while (at < text.len && text.ptr[at] != '(')
        at++;
    for (start = ++at; at < text.len; at++) {
        char ch = text.ptr[at];
        bool ends = !depth && (ch == ',' || ch == ')');
        if (ends && at > start) {
            out_next(out);
            buf_printf(out, "{\"label\":[%u,%u]}", start, at);
        }
        if (ends && ch == ')')
            break;
        start = ends ? at + 2 : start;
        depth = depth + (ch == '(' || ch == '<') - (ch == ')' || (ch == '>' && depth));
    }
    buf_printf(out, "]}],\"activeSignature\":0,\"activeParameter\":%u}", argument);
}

/* What is called: a function of the script, of a rule, or of a library. */
void lsp_signature(Request *r) {
    uint32_t end, argument;
    Str text = buf_view(&r->d->text);
    if (!context_call(text, r->offset, &end, &argument))
        return;
    bool element;
    Str name = owner(text, end, &element);
    const Script *script = document_script(r->d);
    for (uint32_t i = 0; i < script->fns.len; i++) {
        const Fn *fn = script->fns.at[i];
        if (!str_eq(fn->name, name))
            continue;
        Buf out = {0};
        put_signature_of(fn, name, &out);
        put_signature_help(r, buf_view(&out), NULL, argument);
        buf_free(&out);
        return;
    }
    uint32_t start = (uint32_t)(name.ptr - text.ptr);
    const Meaning *m = meaning_at(&r->d->w->meanings, r->d->file, start);
    if (m && m->kind == MEANING_LIBRARY_FN && m->text) {
        put_signature_help(r, str_of(m->text), NULL, argument);
        return;
    }
    for (int id = 0; id < FN_COUNT; id++)
        if (str_is(name, function_name((FnId)id))) {
            put_signature_help(r, str_of(function_text((FnId)id)), function_doc((FnId)id),
                               argument);
            return;
        }
}
