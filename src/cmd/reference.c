/*
 * cmd/reference.c - `whammc info` about the language: topics, their entries, and what the manual
 * says about one.
 */
#include "base/escape.h"
#include "cmd/cmd.h"

#include <unistd.h>

/* Lists go to other programs a line each; texts do not get wide on terminals. */
enum { USUAL_WIDTH = 80, MOST_WIDTH = 100, LEAST_WIDTH = 40, ANY_WIDTH = 1 << 20 };

static uint32_t output_width(bool list) {
    uint32_t width = show_width(STDOUT_FILENO);
    if (!width)
        return list ? ANY_WIDTH : USUAL_WIDTH;
    if (width < LEAST_WIDTH)
        return LEAST_WIDTH;
    return list || width < MOST_WIDTH ? width : MOST_WIDTH;
}

/* ---- JSON ---- */

void reference_put_member(Buf *out, const char *name, const char *text) {
    if (out->len && out->data[out->len - 1] != '{')
        buf_u8(out, ',');
    buf_printf(out, "\"%s\":", name);
    escape_json_string(out, str_of(text));
}

/* ---- entries ---- */

/* Entries that are listed or described. */
typedef struct Listing {
    whammc *w;
    bool json;
    const char *title; /* the only word that is shown; NULL = all are */
    uint32_t n;        /* entries so far */
    Buf out;
} Listing;

static void begin_object(Listing *l) {
    buf_str(&l->out, l->n++ ? STR(",\n{") : STR("[\n{"));
}

static void put_object(Listing *l, const whammc_entry *e) {
    const char *text;
    whammc_manual(l->w, e->topic, e->word, &text);
    begin_object(l);
    reference_put_member(&l->out, "topic", e->topic);
    reference_put_member(&l->out, "word", e->word);
    reference_put_member(&l->out, "form", e->form);
    reference_put_member(&l->out, "summary", e->summary);
    reference_put_member(&l->out, "text", text);
    buf_u8(&l->out, '}');
}

/* Appends a text for a cell of a table. */
static void put_cell(Buf *out, const char *text, bool code) {
    const char *sign = code && *text ? "`" : "";
    buf_printf(out, "| %s", sign);
    for (; *text; text++) {
        if (*text == '|')
            buf_u8(out, '\\');
        buf_u8(out, (uint8_t)*text);
    }
    buf_printf(out, "%s ", sign);
}

static void begin_table(Listing *l) {
    if (!l->n++)
        buf_str(&l->out, STR("| | | |\n|---|---|---|\n"));
}

static void reference_take_entry(void *ctx, const whammc_entry *e) {
    Listing *l = ctx;
    if (l->title && strcmp(l->title, e->word) != 0)
        return;
    if (l->json) {
        put_object(l, e);
        return;
    }
    begin_table(l);
    bool whole = str_begins(str_of(e->form), str_of(e->word)); /* it contains the word */
    put_cell(&l->out, whole ? e->form : e->word, true);
    put_cell(&l->out, whole ? "" : e->form, false);
    put_cell(&l->out, e->summary, false);
    buf_str(&l->out, STR("|\n"));
}

/* Prints what was made; `list`: tables of entries. */
static void reference_finish(Listing *l, bool list) {
    Buf out = {0};
    if (l->json)
        buf_str(&l->out, STR("\n]\n"));
    else
        markdown_put(buf_view(&l->out), output_width(list), &out);
    message_stdout(l->json ? &l->out : &out);
    buf_free(&out);
    buf_free(&l->out);
}

/* ---- descriptions ---- */

static bool is_topic(const char *word) {
    const char *name;
    for (size_t i = 0; (name = whammc_topic(i, NULL)); i++)
        if (strcmp(name, word) == 0)
            return true;
    return false;
}

static char *join(const char *const *words, uint32_t n) {
    Buf out = {0};
    for (uint32_t i = 0; i < n; i++)
        buf_printf(&out, "%s%s", i ? " " : "", words[i]);
    buf_u8(&out, 0);
    return (char *)out.data;
}

/* The entry that a text describes: its title. */
static char *title_of(const char *text) {
    Buf title = {0};
    buf_bytes(&title, text + 2, strcspn(text + 2, "\n")); /* "# WORD" */
    buf_u8(&title, 0);
    return (char *)title.data;
}

/* Adds what a topic says about a word. */
static void take_topic(Listing *l, const char *topic, const char *word, Buf *text) {
    const char *manual;
    if (whammc_manual(l->w, topic, word, &manual) != WHAMMC_OK)
        return;
    if (l->json) {
        char *title = title_of(manual);
        l->title = title;
        whammc_entries(l->w, topic, reference_take_entry, l);
        free(title);
        return;
    }
    Buf command = {0};
    const char *summary = "", *name;
    for (size_t i = 0; (name = whammc_topic(i, &summary)) && strcmp(name, topic) != 0; i++) {
    }
    text->len = 0;
    buf_str(text, str_of(manual));
    buf_printf(&command, "whammc info %s %s", topic, word);
    begin_table(l);
    put_cell(&l->out, buf_cstr(&command), true);
    put_cell(&l->out, summary, false);
    buf_str(&l->out, STR("|\n"));
    buf_free(&command);
}

/* Adds what the language's reference says about a word that is in no topic. */
static void take_other_word(Listing *l, const char *word, Buf *text) {
    const char *manual;
    if (whammc_manual(l->w, NULL, word, &manual) != WHAMMC_OK)
        return;
    if (l->json) {
        begin_object(l);
        reference_put_member(&l->out, "word", word);
        reference_put_member(&l->out, "text", manual);
        buf_u8(&l->out, '}');
    } else {
        l->n++;
        buf_str(text, str_of(manual));
    }
}

/* Shows a word of one topic, or of any (NULL) but packages, which may also be in files. */
static bool show_word(Listing *l, const char *topic, const char *word) {
    Buf text = {0};
    const char *name;
    for (size_t i = 0; (name = whammc_topic(i, NULL)); i++)
        if (strcmp(topic ? topic : name, name) == 0 && (topic || strcmp(name, "packages") != 0))
            take_topic(l, name, word, &text);
    if (!topic && !l->n && !strchr(word, '.'))
        take_other_word(l, word, &text);
    uint32_t found = l->n;
    if (found == 1 && !l->json) {
        buf_free(&l->out);
        l->out = text;
        text = (Buf){0};
    }
    if (found)
        reference_finish(l, found > 1);
    buf_free(&text);
    return found;
}

bool reference_show(const char *const *operands, uint32_t n, bool json) {
    Listing l = {.w = whammc_new(), .json = json};
    bool of_topic = is_topic(operands[0]), found = true;
    if (of_topic && n == 1) {
        whammc_entries(l.w, operands[0], reference_take_entry, &l);
        reference_finish(&l, true);
    } else {
        char *word = join(operands + of_topic, n - of_topic);
        found = show_word(&l, of_topic ? operands[0] : NULL, word);
        free(word);
    }
    whammc_free(l.w);
    return found;
}

int reference_topics(bool json) {
    Listing l = {.json = json};
    const char *name, *summary;
    for (size_t i = 0; (name = whammc_topic(i, &summary)); i++) {
        if (json) {
            begin_object(&l);
            reference_put_member(&l.out, "topic", name);
            reference_put_member(&l.out, "summary", summary);
            buf_u8(&l.out, '}');
            continue;
        }
        begin_table(&l);
        put_cell(&l.out, name, true);
        put_cell(&l.out, summary, false);
        buf_str(&l.out, STR("|\n"));
    }
    if (!json)
        buf_str(&l.out,
                STR("\n`whammc info TOPIC` lists a topic; `whammc info WORD` or, if several "
                    "topics have the word, `whammc info TOPIC WORD` shows what the manual "
                    "says about it. `whammc info RULE` shows what a match rule matches.\n"));
    reference_finish(&l, false);
    return STATUS_OK;
}

/* ---- guesses ---- */

typedef struct Guess {
    const char *word;
    char *best;
} Guess;

static void take_guess(void *ctx, const whammc_entry *e) {
    Guess *g = ctx;
    const char *both[] = {g->best, e->word};
    const char *better = g->best ? cli_guess(g->word, both, 2) : cli_guess(g->word, both + 1, 1);
    if (better != e->word)
        return;
    free(g->best);
    g->best = strcpy(mem_alloc(strlen(e->word) + 1), e->word);
}

char *reference_guess(const char *word) {
    Guess g = {.word = word};
    const char *name;
    for (size_t i = 0; (name = whammc_topic(i, NULL)); i++)
        take_guess(&g, &(whammc_entry){.word = name});
    whammc *w = whammc_new();
    whammc_entries(w, NULL, take_guess, &g);
    whammc_free(w);
    return g.best;
}
