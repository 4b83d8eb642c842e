/*
 * api/api_reference.c - the reference: what the compiler's tables list (whammc_entries), and what
 * the manual says about it (whammc_manual).
 */
#include "api/api.h"
#include "api/bundled_scripts.h"

#include "event/event.h"

#include <strings.h>

typedef enum Topic {
#define TOPIC(ID, name, summary) TOPIC_##ID,
#include "api/topic.def"
    TOPIC_COUNT
} Topic;

static const struct {
    const char *name, *summary;
} topics[] = {
#define TOPIC(ID, name, summary) {name, summary},
#include "api/topic.def"
};

static const struct {
    Topic topic;
    const char *word, *heading;
} sections[] = {
#define SECTION(ID, word, heading) {TOPIC_##ID, word, heading},
#include "api/topic.def"
};
enum { SECTION_COUNT = sizeof sections / sizeof *sections };

/* Entries whose texts a table has. */
static const struct {
    Topic topic;
    const char *word, *form, *summary;
} rows[] = {
#define MADE(package, event, doc) {TOPIC_EVENTS, "wasm:" package event, "", doc},
#include "event/event.def"
#define FUNCTION(id, name, text, parameters, result, is_static, memories, reads, where, monitor,   \
                 doc)                                                                              \
    {TOPIC_FUNCTIONS, name, text, doc},
#include "lang/function.def"
#define METHOD(id, name, argument, result, reserved, doc) {TOPIC_METHODS, name, "of a str", doc},
#define MAP_METHOD(id, name, takes_key, result, changes, doc)                                      \
    {TOPIC_METHODS, name, "of a map", doc},
#include "lang/function.def"
#define AGGREGATE(id, name, text, doc) {TOPIC_AGGREGATIONS, name, text, doc},
#include "lang/type.def"
#define ERROR                            "error"
#define WARNING                          "warning"
#define NOTE                             "note"
#define DIAG(id, severity, tag, summary) {TOPIC_DIAGNOSTICS, tag, severity, summary},
#include "base/diag.def"
#undef ERROR
#undef WARNING
#undef NOTE
#define FORMAT(NAME, number, name, from, write, traits, ending) {TOPIC_FORMATS, name, ending, NULL},
#define ALIAS(NAME, name)                                       {TOPIC_FORMATS, name, "", NULL},
#define COVERAGE(NAME, name, write, ending)                     {TOPIC_FORMATS, name, ending, NULL},
#include "format/formats.def"
};
enum { ROW_COUNT = sizeof rows / sizeof *rows };

static const char LANGUAGE_PAGE[] = "docs/language.md", COST_PAGE[] = "docs/performance.md";

/* ---- entries ---- */

/* A list that is being made. */
typedef struct Listed {
    whammc *w;
    Topic topic;
    void (*entry)(void *ctx, const whammc_entry *e);
    void *ctx;
    Arena arena;
} Listed;

static void reference_list_entry(const Listed *l, const char *word, const char *form,
                                 const char *summary) {
    l->entry(l->ctx, &(whammc_entry){topics[l->topic].name, word, form, summary});
}

static const Manual *manual_of(whammc *w) {
    if (!w->manual.blocks.len)
        manual_load(&w->manual);
    return &w->manual;
}

static const char *heading_of(Topic topic, const char *word) {
    for (uint32_t i = 0; i < SECTION_COUNT; i++)
        if (sections[i].topic == topic && strcmp(sections[i].word, word) == 0)
            return sections[i].heading;
    return NULL;
}

static bool reference_is_word(const void *word, Str found) {
    return str_is(found, word);
}

/* The last cell of the first row about a word, on the pages of formats or in a section of the
 * language's; else the heading of the section about it. */
static const char *summary_of_row(Listed *l, const char *section, const char *word) {
    const Manual *m = manual_of(l->w);
    for (uint32_t i = 1; i < m->blocks.len; i++) {
        const ManualBlock *b = &m->blocks.at[i];
        Str page = m->blocks.at[b->page].text;
        if (section ? str_is(m->blocks.at[b->section].text, section)
                    : str_is(page, "docs/reports.md") || str_is(page, "docs/coverage.md"))
            if (manual_mentions(b, true, reference_is_word, word)) {
                Str cell = manual_last_cell(b);
                return arena_strndup(&l->arena, cell.ptr, cell.len);
            }
    }
    const char *heading = heading_of(l->topic, word);
    return heading ? heading : "";
}

static void list_events(const Listed *l) {
    for (EventKind kind = 0; kind <= EVENT_OPCODE; kind++) {
        const char *event = event_name(kind);
        Buf word = {0};
        buf_printf(&word, "wasm:%s%s%s", event_package(kind), *event ? ":" : "", event);
        reference_list_entry(l, buf_cstr(&word), "", event_doc(kind));
        buf_free(&word);
    }
}

static void list_modes(Listed *l) {
    for (Mode mode = 0; mode < MODE_COUNT; mode++) {
        const char *word = mode_surface(mode);
        bool again = !*word;
        for (Mode other = 0; other < mode; other++)
            again |= strcmp(mode_surface(other), word) == 0;
        if (!again)
            reference_list_entry(l, word, "", summary_of_row(l, "Events", word));
    }
}

static void list_instructions(const Listed *l) {
    for (WasmOp op = 0; op < WASM_OP_COUNT; op++) {
        Buf text = {0};
        Mode modes[MODE_COUNT];
        uint32_t n = op_modes(op, modes);
        for (uint32_t i = 0; i < n; i++)
            buf_printf(&text, "%s%s", i ? ", " : "", mode_surface(modes[i]));
        reference_list_entry(l, wasm_ops[op].mnemonic, wasm_category_names[wasm_ops[op].category],
                             buf_cstr(&text));
        buf_free(&text);
    }
}

static void list_names(const Listed *l) {
    static const char *const types[] = {
#define NAME(id, text, type, life, where, doc) #type,
#include "event/event.def"
    };
    for (NameId id = 0; id < NAME_COUNT; id++) {
        Buf form = {0};
        buf_printf(&form, "%s, %s", types[id], name_infos[id].is_static ? "static" : "dynamic");
        for (size_t i = 0; i < form.len; i++)
            form.data[i] |= 0x20; /* letters are made small */
        reference_list_entry(l, name_infos[id].text,
                             strcmp(types[id], "OPEN") == 0
                                 ? name_infos[id].is_static ? "static" : "dynamic"
                                 : buf_cstr(&form),
                             name_infos[id].doc);
        buf_free(&form);
    }
}

static const char *const library_functions[][2] = {
#define BUNDLED(library, name, parameters, result, helper) {library, name},
#include "library/bundled.def"
};
enum { LIBRARY_FUNCTIONS = sizeof library_functions / sizeof *library_functions };

static void list_libraries(const Listed *l) {
    for (uint32_t i = 0, next; i < LIBRARY_FUNCTIONS; i = next) {
        enum { SHOWN = 6 };
        const char *library = library_functions[i][0];
        Buf names = {0};
        for (next = i; next < LIBRARY_FUNCTIONS && strcmp(library_functions[next][0], library) == 0;
             next++)
            if (next - i < SHOWN)
                buf_printf(&names, "%s%s", next > i ? ", " : "", library_functions[next][1]);
        if (next - i > SHOWN)
            buf_printf(&names, " and %u more", next - i - SHOWN);
        if (*library != '.') /* scripts cannot name it */
            reference_list_entry(l, library, "", buf_cstr(&names));
        buf_free(&names);
    }
}

/* The comment at the start of a script, without the signs of comments. */
static void put_head_comment(Str text, Buf *out) {
    while (str_begins(text, STR("//"))) {
        uint32_t end = 0;
        while (end < text.len && text.ptr[end] != '\n')
            end++;
        uint32_t from = end > 2 && text.ptr[2] == ' ' ? 3 : 2;
        buf_printf(out, "%.*s\n", (int)(end - from), text.ptr + from);
        uint32_t over = end < text.len ? end + 1 : end;
        text = (Str){text.ptr + over, text.len - over};
    }
}

static void list_scripts(const Listed *l, const BundledScript *s) {
    for (; s->name; s++) {
        Buf word = {0}, head = {0};
        put_head_comment((Str){(const char *)s->text, (uint32_t)*s->size}, &head);
        buf_str(&word, str_of(s->name));
        for (size_t i = 0; i < word.len; i++)
            if (word.data[i] == '/') /* of packages */
                word.data[i] = '.';
        char *summary = (char *)buf_cstr(&head), *colon = strstr(summary, ": ");
        summary[strcspn(summary, "\n")] = 0;
        if (colon && (size_t)(colon - summary) <= strlen(s->name)) /* NAME: WHAT */
            summary = colon + 2;
        reference_list_entry(l, buf_cstr(&word), "", summary);
        buf_free(&word);
        buf_free(&head);
    }
}

static void list_keywords(const Listed *l) {
    const char *word;
    for (uint32_t i = 0; (word = lang_keyword(i)); i++) {
        const char *heading = heading_of(TOPIC_KEYWORDS, word);
        reference_list_entry(l, word, "", heading ? heading : "");
    }
}

static void list_types(Listed *l) {
    for (uint32_t i = 0; i < SECTION_COUNT; i++)
        if (sections[i].topic == TOPIC_TYPES)
            reference_list_entry(l, sections[i].word, "",
                                 summary_of_row(l, "Types", sections[i].word));
}

static void list_headings(const Listed *l, const char *page) {
    const Manual *m = manual_of(l->w);
    Str above = {0};
    for (uint32_t i = 1; i < m->blocks.len; i++) {
        const ManualBlock *b = &m->blocks.at[i];
        if (b->kind != MANUAL_HEADING || b->level == 1 || !str_is(m->blocks.at[b->page].text, page))
            continue;
        if (b->level == 2)
            above = b->text;
        Buf word = {0}, under = {0};
        buf_str(&word, b->text);
        if (b->level > 2)
            buf_printf(&under, "under %.*s", STR_ARG(above));
        reference_list_entry(l, buf_cstr(&word), "", buf_cstr(&under));
        buf_free(&word);
        buf_free(&under);
    }
}

/* Entries of a table; a format of reports may be one of coverage, too. */
static void list_rows(Listed *l) {
    for (uint32_t i = 0; i < ROW_COUNT; i++) {
        bool again = rows[i].topic != l->topic;
        for (uint32_t k = 0; k < i && l->topic == TOPIC_FORMATS; k++)
            again |= rows[k].topic == l->topic && strcmp(rows[k].word, rows[i].word) == 0;
        if (again)
            continue;
        const char *summary = rows[i].summary;
        reference_list_entry(l, rows[i].word, rows[i].form,
                             summary ? summary : summary_of_row(l, NULL, rows[i].word));
    }
}

static void list_topic(Listed *l) {
    switch (l->topic) {
    case TOPIC_EVENTS: list_events(l); break;
    case TOPIC_MODES: list_modes(l); break;
    case TOPIC_INSTRUCTIONS: list_instructions(l); break;
    case TOPIC_NAMES: list_names(l); break;
    case TOPIC_TYPES: list_types(l); break;
    case TOPIC_KEYWORDS: list_keywords(l); break;
    case TOPIC_LIBRARIES: list_libraries(l); break;
    case TOPIC_PACKAGES: list_scripts(l, bundled_packages); break;
    case TOPIC_SCRIPTS: list_scripts(l, bundled_scripts); break;
    case TOPIC_LANGUAGE: list_headings(l, LANGUAGE_PAGE); break;
    case TOPIC_COST: list_headings(l, COST_PAGE); break;
    case TOPIC_FUNCTIONS:
    case TOPIC_METHODS:
    case TOPIC_AGGREGATIONS:
    case TOPIC_FORMATS:
    case TOPIC_DIAGNOSTICS:
    case TOPIC_COUNT: break;
    }
    list_rows(l);
}

const char *whammc_topic(size_t n, const char **summary) {
    if (n >= TOPIC_COUNT)
        return NULL;
    if (summary)
        *summary = topics[n].summary;
    return topics[n].name;
}

whammc_status whammc_entries(whammc *w, const char *topic,
                             void (*entry)(void *ctx, const whammc_entry *e), void *ctx) {
    Listed l = {.w = w, .entry = entry, .ctx = ctx};
    bool any = false;
    for (l.topic = 0; l.topic < TOPIC_COUNT; l.topic++) {
        if (topic && strcmp(topics[l.topic].name, topic) != 0)
            continue;
        list_topic(&l);
        any = true;
    }
    arena_free(&l.arena);
    return any ? WHAMMC_OK : WHAMMC_ERROR;
}

/* ---- the text of an entry ---- */

/* The entry that is described. */
typedef struct Described {
    whammc *w;
    Topic topic;
    Str wanted;
    char *word; /* of the entry; NULL = none was found */
    Buf *out;
} Described;

static bool is_heading_topic(Topic topic) {
    return topic == TOPIC_LANGUAGE || topic == TOPIC_COST;
}

/* Whether the word of an entry is meant: of events also without the provider, of a numbered name
 * also with a number, of headings in letters of any case. */
static bool is_meant(const Described *d, const char *word) {
    Str own = str_of(word), wanted = d->wanted;
    if (is_heading_topic(d->topic))
        return own.len == wanted.len && strncasecmp(word, wanted.ptr, own.len) == 0;
    if (d->topic == TOPIC_EVENTS && str_eq((Str){word + 5, own.len - 5}, wanted))
        return true;
    uint64_t n;
    if (d->topic == TOPIC_NAMES && own.len > 1 && word[own.len - 1] == 'N' &&
        str_begins(wanted, (Str){word, own.len - 1}) &&
        str_decimal((Str){wanted.ptr + own.len - 1, wanted.len - own.len + 1}, UINT32_MAX, &n))
        return true;
    return str_eq(own, wanted);
}

static void find_entry(void *ctx, const whammc_entry *e) {
    Described *d = ctx;
    if (d->word || !is_meant(d, e->word))
        return;
    d->word = api_copy(e->word, strlen(e->word));
    buf_printf(d->out, "# %s\n", e->word);
    switch (d->topic) {
    case TOPIC_LANGUAGE:
    case TOPIC_COST:
    case TOPIC_DIAGNOSTICS: return; /* the manual says all */
    case TOPIC_INSTRUCTIONS:
        buf_printf(d->out, "\nAn instruction of the category `%s`. Modes: %s.\n", e->form,
                   e->summary);
        return;
    case TOPIC_EVENTS:
    case TOPIC_NAMES:
    case TOPIC_FUNCTIONS:
    case TOPIC_METHODS:
    case TOPIC_AGGREGATIONS:
    case TOPIC_LIBRARIES:
        buf_printf(d->out, *e->form ? "\n`%s`\n\n%s\n" : "%s\n%s\n", e->form, e->summary);
        return;
    default: /* the summary is from the manual */
        if (*e->form)
            buf_printf(d->out, "\n`%s`\n", e->form);
    }
}

static bool means_instruction(const void *ctx, Str found) {
    const char *mnemonic = ctx;
    if (!memchr(found.ptr, '*', found.len))
        return str_is(found, mnemonic);
    return found.len > 1 && pattern_matches(found, mnemonic);
}

static bool means_method(const void *ctx, Str found) {
    const char *name = ctx;
    size_t len = strlen(name);
    return str_is(found, name) || (str_ends(found, (Str){name, (uint32_t)len}) && found.len > len &&
                                   found.ptr[found.len - len - 1] == '.');
}

static bool means_event(const void *ctx, Str found) {
    size_t len = strlen(ctx);
    return str_is(found, ctx) ||
           (found.len > len && memcmp(found.ptr, ctx, len) == 0 && found.ptr[len] == ':');
}

static bool means_library(const void *ctx, Str found) {
    size_t len = strlen(ctx);
    return str_is(found, ctx) ||
           (found.len > len && memcmp(found.ptr, ctx, len) == 0 && found.ptr[len] == '.');
}

static ManualMeant *meaning_in(Topic topic) {
    switch (topic) {
    case TOPIC_EVENTS: return means_event;
    case TOPIC_INSTRUCTIONS: return means_instruction;
    case TOPIC_METHODS:
    case TOPIC_COUNT: return means_method;
    case TOPIC_LIBRARIES: return means_library;
    default: return reference_is_word;
    }
}

/* Whether a row of a table is about the entry: its first cell names it or, for a library, the head
 * of its table. Instructions are also in other cells. */
static bool is_row_about(const Described *d, const ManualBlock *b) {
    ManualMeant *meant = meaning_in(d->topic);
    const Manual *m = &d->w->manual;
    if (b->kind != MANUAL_ROW ||
        (d->topic == TOPIC_MODES && !str_is(m->blocks.at[b->section].text, "Events")))
        return false;
    if (d->topic == TOPIC_LIBRARIES) {
        ManualBlock head = m->blocks.at[b->head];
        head.kind = MANUAL_ROW;
        return manual_mentions(&head, true, meant, d->word);
    }
    return manual_mentions(b, d->topic != TOPIC_INSTRUCTIONS, meant, d->word);
}

/* Whether a section has a row about the entry. */
static bool has_row_about(const Described *d, uint32_t section) {
    const Manual *m = &d->w->manual;
    for (uint32_t i = section + 1; i < m->blocks.len && m->blocks.at[i].section == section; i++)
        if (is_row_about(d, &m->blocks.at[i]))
            return true;
    return false;
}

/* Appends what the manual says about the entry on these pages: rows of tables, and what mentions
 * the entry in sections that have one; if there are no rows, what mentions it anywhere. */
static void put_mentions(Described *d, const char *const *pages) {
    const Manual *m = manual_of(d->w);
    ManualPick pick = {.m = m, .out = d->out};
    bool only_rows = d->topic == TOPIC_METHODS || d->topic == TOPIC_MODES ||
                     d->topic == TOPIC_INSTRUCTIONS || d->topic == TOPIC_FORMATS;
    bool any_row = only_rows;
    for (uint32_t i = 1; i < m->blocks.len && !any_row; i++)
        any_row = is_row_about(d, &m->blocks.at[i]);
    for (uint32_t i = 1; i < m->blocks.len; i++) {
        const ManualBlock *b = &m->blocks.at[i];
        bool on_page = false;
        for (uint32_t p = 0; pages[p]; p++)
            on_page |= str_is(m->blocks.at[b->page].text, pages[p]);
        if (on_page &&
            (is_row_about(d, b) || (!only_rows && (b->kind != MANUAL_ROW || !any_row) &&
                                    manual_mentions(b, false, meaning_in(d->topic), d->word) &&
                                    (!any_row || has_row_about(d, b->section)))))
            manual_pick(&pick, i);
    }
}

/* Appends the section with this heading; `titled`: with the heading. */
static void reference_put_section(Described *d, const char *page, const char *heading,
                                  bool titled) {
    const Manual *m = manual_of(d->w);
    uint32_t at = heading ? manual_heading(m, page, str_of(heading)) : 0;
    if (!at)
        return;
    if (titled)
        buf_printf(d->out, "\n## %.*s\n", STR_ARG(m->blocks.at[at].text));
    manual_put_section(m, at, d->out);
    bool first = true;
    for (uint32_t i = at + 1; i < m->blocks.len; i++) {
        const ManualBlock *b = &m->blocks.at[i];
        if (b->kind != MANUAL_HEADING && b->kind != MANUAL_PAGE)
            continue;
        if (b->kind == MANUAL_PAGE || b->level <= m->blocks.at[at].level)
            break;
        buf_printf(d->out, "%s%.*s", first ? "\nSee also: " : ", ", STR_ARG(b->text));
        first = false;
    }
    if (!first)
        buf_u8(d->out, '\n');
}

/* ---- instructions ---- */

/* The bound names that an instruction has in some mode, but `nop` has not. */
typedef struct OwnNames {
    Buf rows;
    Map seen;
} OwnNames;

static void add_own_name(void *ctx, Str name, const Bound *bound) {
    OwnNames *own = ctx;
    bool added;
    Bound common;
    Event nop = {.kind = EVENT_OPCODE, .op = WASM_OP_NOP, .mode = MODE_BEFORE};
    if (event_name_lookup(nop, name, &common))
        return;
    map_put(&own->seen, name, 0, &added);
    if (added)
        buf_printf(&own->rows, "| `%.*s` | %s | %s%s | %s |\n", STR_ARG(name),
                   bound->type ? bound->type->text : "by a bound",
                   bound->is_static ? "static" : "dynamic", bound->assignable ? ", assignable" : "",
                   name_infos[bound->id].doc);
}

static void put_own_names(Described *d) {
    WasmOp op = 0;
    while (strcmp(wasm_ops[op].mnemonic, d->word) != 0)
        op++;
    OwnNames own = {0};
    Mode modes[MODE_COUNT];
    uint32_t n = op_modes(op, modes);
    for (uint32_t i = 0; i < n; i++)
        event_name_each((Event){.kind = EVENT_OPCODE, .op = op, .mode = modes[i]}, add_own_name,
                        &own);
    if (own.rows.len) {
        buf_str(d->out, STR("\n| name | type | | meaning |\n|---|---|---|---|\n"));
        buf_bytes(d->out, own.rows.data, own.rows.len);
    }
    buf_free(&own.rows);
    map_free(&own.seen);
}

/* ---- scripts ---- */

static void reference_put_script(Described *d) {
    size_t len;
    const char *text = whammc_bundled_script(d->word, &len);
    buf_str(d->out, STR("\n```\n"));
    put_head_comment((Str){text, (uint32_t)len}, d->out);
    buf_str(d->out, STR("```\n"));
}

static void reference_put_package(Described *d) {
    const char *text;
    whammc *other = whammc_new();
    if (whammc_explain_package(other, d->word, &text) == WHAMMC_OK)
        buf_printf(d->out, "\n```\n%s```\n", text);
    whammc_free(other);
}

static void put_description_of(Described *d) {
    static const char *const language[] = {LANGUAGE_PAGE, NULL};
    static const char *const formats[] = {"docs/reports.md", "docs/coverage.md", NULL};
    switch (d->topic) {
    case TOPIC_INSTRUCTIONS: put_own_names(d); break;
    case TOPIC_TYPES:
    case TOPIC_KEYWORDS:
        reference_put_section(d, LANGUAGE_PAGE, heading_of(d->topic, d->word), true);
        return;
    case TOPIC_AGGREGATIONS: reference_put_section(d, LANGUAGE_PAGE, "Aggregations", true); return;
    case TOPIC_LANGUAGE: reference_put_section(d, LANGUAGE_PAGE, d->word, false); return;
    case TOPIC_COST: reference_put_section(d, COST_PAGE, d->word, false); return;
    case TOPIC_DIAGNOSTICS: {
        Buf heading = {0};
        buf_printf(&heading, "`%s`", d->word);
        reference_put_section(d, "docs/diagnostics.md", buf_cstr(&heading), false);
        buf_free(&heading);
        return;
    }
    case TOPIC_SCRIPTS: reference_put_script(d); return;
    case TOPIC_PACKAGES: reference_put_package(d); return;
    case TOPIC_FORMATS:
        reference_put_section(d, "docs/reports.md", heading_of(d->topic, d->word), true);
        put_mentions(d, formats);
        return;
    case TOPIC_EVENTS:
    case TOPIC_MODES:
    case TOPIC_NAMES:
    case TOPIC_FUNCTIONS:
    case TOPIC_METHODS:
    case TOPIC_LIBRARIES:
    case TOPIC_COUNT: break;
    }
    put_mentions(d, language);
}

/* Appends what the language's page says about a word of code that is in no topic. Returns whether
 * it has any. */
static bool put_other_word(Described *d) {
    static const char *const language[] = {LANGUAGE_PAGE, NULL};
    Str word = d->wanted;
    if (str_begins(word, STR("@")))
        word = (Str){word.ptr + 1, word.len - 1};
    if (!word.len)
        return false;
    d->word = api_copy(word.ptr, word.len);
    manual_of(d->w);
    buf_printf(d->out, "# %.*s\n", STR_ARG(d->wanted));
    size_t title = d->out->len;
    put_mentions(d, language);
    return d->out->len > title;
}

whammc_status whammc_manual(whammc *w, const char *topic, const char *word, const char **text) {
    w->explained.len = 0;
    *text = "";
    Described d = {.w = w, .wanted = str_of(word), .out = &w->explained};
    while (d.topic < TOPIC_COUNT && (!topic || strcmp(topics[d.topic].name, topic) != 0))
        d.topic++;
    bool found = false;
    if (!topic) {
        found = put_other_word(&d);
    } else if (d.topic < TOPIC_COUNT) {
        whammc_entries(w, topic, find_entry, &d);
        found = d.word;
        manual_of(w);
        if (found)
            put_description_of(&d);
    }
    free(d.word);
    if (!found)
        return WHAMMC_ERROR;
    *text = buf_cstr(&w->explained);
    return WHAMMC_OK;
}
