/*
 * lsp/server.h - interfaces between the parts of the language server. Private to it.
 *
 *   server.c      messages: requests to the functions that answer them
 *   document.c    texts, their edits, positions in them; what is wrong with them
 *   context.c     where in a script a position is, by its text alone
 *   complete.c    completion, and the parameters of calls
 *   hover.c       what something is
 *   symbol.c      where names are: definition, references, rename, outline, colours
 *   workspace.c   the programs of a workspace: sites, runs and their values
 *
 * A document is checked as `whammc check` does it, from the start, when it has changed and somebody
 * asks; checking ten thousand lines takes some milliseconds. Positions in the protocol are lines
 * and, as clients wish, UTF-16 code units or bytes; here they are offsets.
 */
#ifndef WHAMMC_LSP_SERVER_H
#define WHAMMC_LSP_SERVER_H

#include "whammc/lsp.h"

#include "api/api.h"

typedef struct Document {
    char *uri;
    char *path; /* of a file; else the URI */
    Buf text;
    Vec(uint32_t) lines; /* where they start */
    int64_t version;     /* the client's */
    bool changed;        /* since it was checked */
    bool told;           /* what is wrong with it has been sent */
    whammc *w;           /* checked, or NULL */
    DiagFileId file;     /* in the messages of w */
    struct Programs *programs;
} Document;

/* The names and functions that all events of a rule have. */
typedef struct RuleNames {
    char *rule;
    Arena arena;
    uint32_t nevents;         /* that it matches; 0 = it matches none */
    Vec(whammc_event) events; /* the first ones, without names and functions */
    Vec(whammc_name) names;
    Vec(whammc_function) functions;
} RuleNames;

struct whammc_server {
    whammc_server_host host;
    bool initialized, shutdown, exited;
    bool bytes;     /* positions count bytes, not UTF-16 */
    bool refreshes; /* the client takes requests to ask for hints again */
    bool profiles;  /* it has the command whammc.profile */
    char *root;     /* the workspace's folder, or NULL */
    Vec(Document *) documents;
    Vec(RuleNames *) rules; /* asked for last */
    Arena arena;            /* of the message being answered */
    Buf out;                /* the message being written */
    whammc *manual;         /* which has read the manual; NULL = not needed yet */
    struct Workspace *workspace;
    uint64_t next_id; /* of requests to the client */
};

/* ---- messages (server.c) ---- */

/* The values of an object's members by their names, as json_object has them. */
bool server_members(whammc_server *s, Str object, const char *const *names, uint32_t n,
                    Str *values);
/* The elements of an array, as json_value has them. */
typedef Vec(Str) Elements;
void server_elements(whammc_server *s, Str array, Elements *out); /* freed by the caller */

/* JSON that is written: a comma, unless the next value is the first one. */
void out_next(Buf *b);
/* A member's name and colon, after a comma if there must be one. */
void out_key(Buf *b, const char *key);
void out_string(Buf *b, const char *key, Str value); /* key may be NULL: an element */
void out_number(Buf *b, const char *key, uint64_t value);

/* Begins and ends a notification, or a request to the client; between the two s->out takes the
 * parameters. */
void server_begin(whammc_server *s, const char *method, bool request);
void server_end(whammc_server *s);
/* Shows a text in the client's log. */
void server_log(whammc_server *s, Str text);

/* ---- documents (document.c) ---- */

Document *document_find(const whammc_server *s, Str uri);
Document *document_open(whammc_server *s, Str uri, int64_t version, Str text);
void document_close(whammc_server *s, Document *d);
/* One of the changes of textDocument/didChange. */
void document_edit(whammc_server *s, Document *d, Str change);
/* Checks it if it has changed. */
void document_check(whammc_server *s, Document *d);
/* A compiler with the text as its script, and the libraries of the workspace. */
whammc *document_compiler(whammc_server *s, Document *d);
/* Sends what is wrong with it. */
void document_tell(whammc_server *s, Document *d);
/* The script, after document_check. */
const Script *document_script(const Document *d);
/* The offset of a position, an object; false if it is none. */
bool document_offset(whammc_server *s, const Document *d, Str position, uint32_t *offset);
/* Writes a position, or a range, as objects. */
void document_put_position(const whammc_server *s, const Document *d, uint32_t offset, Buf *out);
void document_put_range(const whammc_server *s, const Document *d, uint32_t start, uint32_t end,
                        Buf *out);
/* How long a part of the text is, as positions count. */
uint32_t document_units(const whammc_server *s, const Document *d, uint32_t start, uint32_t end);
uint32_t document_line(const Document *d, uint32_t offset);
/* Writes uri and range of a place in the document or a file that it includes; false if the file is
 * none that a client could open. */
bool document_put_location(const whammc_server *s, const Document *d, Span span, Buf *out);
/* A path as URI, a URI as path (else NULL), on the heap. */
void uri_of_path(const char *path, Buf *out);
char *uri_path(Str uri);
void documents_free(whammc_server *s);

/* ---- the place in the text (context.c) ---- */

typedef enum PlaceKind {
    PLACE_SKIPPED, /* in a comment or a text */
    PLACE_OUTSIDE, /* where declarations and rules are */
    PLACE_HEAD,    /* in a match rule */
    PLACE_BODY,    /* in a body or a predicate */
} PlaceKind;

typedef struct TextPlace {
    PlaceKind kind;
    Str rule;            /* HEAD: up to the position; BODY: of the probe; empty = of no probe */
    uint32_t word;       /* where the word that ends at the position begins */
    uint32_t item, end;  /* BODY: where the probe or function begins; its end */
    uint32_t path, open; /* PLACE_SKIPPED, in a text after `include`: where that begins, else 0 */
} TextPlace;

/* Finds it for an offset. */
TextPlace context_at(Str text, uint32_t offset);
/* Past the comment or text that begins at `at`; `at` if none does. */
uint32_t context_skip(Str text, uint32_t at);
/* The call around an offset: where its name ends, and how many commas are before the offset. */
bool context_call(Str text, uint32_t offset, uint32_t *name_end, uint32_t *argument);
bool context_is_word(char c);

/* ---- requests: each appends its result to `out` ---- */

typedef struct Request {
    whammc_server *s;
    Str params;
    Document *d;     /* checked; NULL = the request is about none */
    uint32_t offset; /* of the position, if there is one */
    Buf *out;
    const char *error; /* why there is no answer, set by the function; NULL = there is one */
} Request;

void lsp_completion(Request *r);
void lsp_signature(Request *r);
void lsp_hover(Request *r);
void lsp_definition(Request *r);
void lsp_references(Request *r);
void lsp_highlight(Request *r);
void lsp_prepare_rename(Request *r);
void lsp_rename(Request *r);
void lsp_symbols(Request *r);
void lsp_folding(Request *r);
void lsp_tokens(Request *r);
void lsp_formatting(Request *r);
void lsp_actions(Request *r);
void lsp_links(Request *r);
void lsp_hints(Request *r);
void lsp_lenses(Request *r);
void lsp_command(Request *r);

/* The types and modifiers of lsp_tokens, as two arrays of strings. */
void lsp_token_legend(Buf *out);

/* "name(a: i32) -> u32", of a function of the script. */
void put_signature_of(const Fn *fn, Str name, Buf *out);
/* What all events of a rule have; NULL if it matches none. Valid until the next call. */
const RuleNames *rule_names(whammc_server *s, Str rule);
void rule_names_free(whammc_server *s);

/* ---- programs (workspace.c) ---- */

/* Reads whammc.json of the workspace anew. */
void workspace_read(whammc_server *s);
/* Gives a compiler the libraries of the workspace. */
void workspace_give(whammc_server *s, whammc *w);
/* Finds the sites of the document's probes. */
void workspace_count(whammc_server *s, Document *d);
/* Describes what is known of a probe in the program. */
void workspace_describe(const Document *d, const Probe *probe, Buf *out);
void workspace_free(whammc_server *s);
void document_forget_programs(Document *d);

#endif
