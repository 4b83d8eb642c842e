/*
 * lsp/server.c - the language server: its life, and messages to the functions that answer them.
 */
#include "lsp/server.h"

#include "base/escape.h"
#include "base/json.h"

/* ---- JSON ---- */

bool server_members(whammc_server *s, Str object, const char *const *names, uint32_t n,
                    Str *values) {
    for (uint32_t i = 0; i < n; i++)
        values[i] = (Str){0};
    Json j = {&s->arena, object.ptr, object.ptr ? object.ptr + object.len : NULL};
    return object.ptr && json_object(&j, names, n, values);
}

void server_elements(whammc_server *s, Str array, Elements *out) {
    Json j = {&s->arena, array.ptr, array.ptr ? array.ptr + array.len : NULL};
    Str value;
    if (!array.ptr || !json_char(&j, '['))
        return;
    while (json_value(&j, &value)) {
        vec_push(out, value);
        if (!json_char(&j, ','))
            break;
    }
}

void out_next(Buf *b) {
    if (b->len && !strchr("[{:", b->data[b->len - 1]))
        buf_u8(b, ',');
}

void out_key(Buf *b, const char *key) {
    out_next(b);
    if (key)
        buf_printf(b, "\"%s\":", key);
}

void out_string(Buf *b, const char *key, Str value) {
    out_key(b, key);
    escape_json_string(b, value);
}

void out_number(Buf *b, const char *key, uint64_t value) {
    out_key(b, key);
    buf_printf(b, "%llu", (unsigned long long)value);
}

/* ---- sending ---- */

static void server_send(whammc_server *s) {
    s->host.send(s->host.ctx, (const char *)s->out.data, s->out.len);
    s->out.len = 0;
}

void server_begin(whammc_server *s, const char *method, bool request) {
    s->out.len = 0;
    buf_str(&s->out, STR("{\"jsonrpc\":\"2.0\""));
    if (request)
        buf_printf(&s->out, ",\"id\":\"whammc-%llu\"", (unsigned long long)s->next_id++);
    buf_printf(&s->out, ",\"method\":\"%s\",\"params\":", method);
}

void server_end(whammc_server *s) {
    buf_u8(&s->out, '}');
    server_send(s);
}

void server_log(whammc_server *s, Str text) {
    server_begin(s, "window/logMessage", false);
    buf_str(&s->out, STR("{\"type\":4"));
    out_string(&s->out, "message", text);
    buf_u8(&s->out, '}');
    server_end(s);
}

/* Codes of the protocol. */
enum {
    PARSE_ERROR = -32700,
    INVALID_REQUEST = -32600,
    METHOD_NOT_FOUND = -32601,
    INVALID_PARAMS = -32602,
    NOT_INITIALIZED = -32002,
    REQUEST_FAILED = -32803
};

static void answer_error(whammc_server *s, Str id, int code, const char *message) {
    s->out.len = 0;
    buf_printf(&s->out, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"error\":{\"code\":%d",
               STR_ARG(id.len ? id : STR("null")), code);
    out_string(&s->out, "message", str_of(message));
    buf_str(&s->out, STR("}}"));
    server_send(s);
}

/* ---- the server's life ---- */

static const char capabilities[] =
    "\"textDocumentSync\":{\"openClose\":true,\"change\":2,\"save\":true},"
    "\"completionProvider\":{\"triggerCharacters\":[\":\",\".\",\"@\",\"\\\"\",\"{\"]},"
    "\"signatureHelpProvider\":{\"triggerCharacters\":[\"(\",\",\"]},"
    "\"hoverProvider\":true,\"definitionProvider\":true,\"referencesProvider\":true,"
    "\"documentHighlightProvider\":true,\"renameProvider\":{\"prepareProvider\":true},"
    "\"documentSymbolProvider\":true,\"foldingRangeProvider\":true,"
    "\"documentFormattingProvider\":true,\"codeActionProvider\":{\"codeActionKinds\":[\"quickfix\"]"
    "},"
    "\"documentLinkProvider\":{},\"inlayHintProvider\":true,\"codeLensProvider\":{},"
    "\"executeCommandProvider\":{\"commands\":[\"whammc.run\",\"whammc.stop\",\"whammc.list\","
    "\"whammc.forget\"]}";

/* A member of a member ...: the path's names have dots between them. */
static Str member_at(whammc_server *s, Str object, const char *path) {
    while (*path) {
        size_t n = strcspn(path, ".");
        const char *name = arena_strndup(&s->arena, path, n);
        Str inner;
        server_members(s, object, &name, 1, &inner);
        object = inner;
        path += n + (path[n] == '.');
    }
    return object;
}

static void read_client(whammc_server *s, Str params) {
    Elements encodings = {0}, folders = {0};
    server_elements(s, member_at(s, params, "capabilities.general.positionEncodings"), &encodings);
    for (uint32_t i = 0; i < encodings.len; i++)
        s->bytes |= str_is(encodings.at[i], "utf-8");
    s->refreshes =
        str_is(member_at(s, params, "capabilities.workspace.inlayHint.refreshSupport"), "true");
    s->profiles = str_is(member_at(s, params, "initializationOptions.profile"), "true");
    Str root = member_at(s, params, "rootUri");
    server_elements(s, member_at(s, params, "workspaceFolders"), &folders);
    if (folders.len)
        root = member_at(s, folders.at[0], "uri");
    if (root.len)
        s->root = uri_path(root);
    for (size_t n = s->root ? strlen(s->root) : 0; n && s->root[n - 1] == '/'; n--)
        s->root[n - 1] = '\0'; /* a '/' is put between it and a path */
    vec_free(&encodings);
    vec_free(&folders);
}

static void answer_initialize(whammc_server *s, Str params, Buf *out) {
    read_client(s, params);
    workspace_read(s);
    buf_printf(out, "{\"capabilities\":{\"positionEncoding\":\"%s\",%s",
               s->bytes ? "utf-8" : "utf-16", capabilities);
    buf_str(out, STR(",\"semanticTokensProvider\":{\"full\":true,\"legend\":"));
    lsp_token_legend(out);
    buf_printf(out, "}},\"serverInfo\":{\"name\":\"whammc\",\"version\":\"%s\"}}",
               whammc_version());
    s->initialized = true;
}

/* ---- notifications ---- */

static void did_open(whammc_server *s, Str params) {
    static const char *const names[] = {"uri", "version", "text"};
    Str of[3];
    uint64_t version = 0;
    if (!server_members(s, member_at(s, params, "textDocument"), names, 3, of) || !of[0].len)
        return;
    str_decimal(of[1], INT64_MAX, &version);
    document_open(s, of[0], (int64_t)version, of[2]);
}

/* The document of a request or notification. */
static Document *document_of(whammc_server *s, Str params, Str *version) {
    Str uri = member_at(s, params, "textDocument.uri");
    if (version)
        *version = member_at(s, params, "textDocument.version");
    return uri.len ? document_find(s, uri) : NULL;
}

static void did_change(whammc_server *s, Str params) {
    Str text;
    uint64_t version = 0;
    Document *d = document_of(s, params, &text);
    if (!d)
        return;
    if (str_decimal(text, INT64_MAX, &version))
        d->version = (int64_t)version;
    Elements changes = {0};
    server_elements(s, member_at(s, params, "contentChanges"), &changes);
    for (uint32_t i = 0; i < changes.len; i++)
        document_edit(s, d, changes.at[i]);
    vec_free(&changes);
}

static void did_close(whammc_server *s, Str params) {
    Document *d = document_of(s, params, NULL);
    if (d)
        document_close(s, d);
}

/* A file was saved: those that include it, and counts of sites, may be others. */
static void did_save(whammc_server *s, Str params) {
    Document *saved = document_of(s, params, NULL);
    workspace_read(s); /* libraries may be others, too */
    for (uint32_t i = 0; i < s->documents.len; i++) {
        Document *d = s->documents.at[i];
        d->changed = true;
        d->told &= d == saved;
    }
    if (saved)
        workspace_count(s, saved);
}

static void did_change_files(whammc_server *s, Str params) {
    (void)params;
    workspace_read(s);
    for (uint32_t i = 0; i < s->documents.len; i++)
        workspace_count(s, s->documents.at[i]);
}

static void on_exit_message(whammc_server *s, Str params) {
    (void)params;
    s->exited = true;
}

static const struct {
    const char *method;
    void (*act)(whammc_server *s, Str params);
} notifications[] = {
    {"textDocument/didOpen", did_open},
    {"textDocument/didChange", did_change},
    {"textDocument/didClose", did_close},
    {"textDocument/didSave", did_save},
    {"workspace/didChangeWatchedFiles", did_change_files},
    {"exit", on_exit_message},
};

/* ---- requests ---- */

static const struct {
    const char *method;
    void (*answer)(Request *r);
    bool document, position; /* it is about one */
} requests[] = {
    {"textDocument/completion", lsp_completion, true, true},
    {"textDocument/signatureHelp", lsp_signature, true, true},
    {"textDocument/hover", lsp_hover, true, true},
    {"textDocument/definition", lsp_definition, true, true},
    {"textDocument/references", lsp_references, true, true},
    {"textDocument/documentHighlight", lsp_highlight, true, true},
    {"textDocument/prepareRename", lsp_prepare_rename, true, true},
    {"textDocument/rename", lsp_rename, true, true},
    {"textDocument/documentSymbol", lsp_symbols, true, false},
    {"textDocument/foldingRange", lsp_folding, true, false},
    {"textDocument/semanticTokens/full", lsp_tokens, true, false},
    {"textDocument/formatting", lsp_formatting, true, false},
    {"textDocument/codeAction", lsp_actions, true, false},
    {"textDocument/documentLink", lsp_links, true, false},
    {"textDocument/inlayHint", lsp_hints, true, false},
    {"textDocument/codeLens", lsp_lenses, true, false},
    {"workspace/executeCommand", lsp_command, false, false},
};

/* Why the parameters do not say what the request is about; NULL = they do. */
static const char *find_place(Request *r, size_t which) {
    if (!requests[which].document)
        return NULL;
    r->d = document_of(r->s, r->params, NULL);
    if (!r->d)
        return "the document is not open";
    document_check(r->s, r->d);
    if (!requests[which].position)
        return NULL;
    return document_offset(r->s, r->d, member_at(r->s, r->params, "position"), &r->offset)
               ? NULL
               : "expected a position";
}

static void answer(whammc_server *s, Str id, Str method, Str params) {
    Buf result = {0};
    Request r = {.s = s, .params = params, .out = &result};
    const char *wrong = NULL;
    bool known = true;
    if (str_is(method, "initialize")) {
        answer_initialize(s, params, &result);
    } else if (!s->initialized) {
        answer_error(s, id, NOT_INITIALIZED, "expected 'initialize' first");
        return;
    } else if (str_is(method, "shutdown")) {
        s->shutdown = true;
    } else {
        size_t i = 0, n = sizeof requests / sizeof *requests;
        while (i < n && !str_is(method, requests[i].method))
            i++;
        known = i < n;
        wrong = known ? find_place(&r, i) : "there is no such method";
        if (!wrong)
            requests[i].answer(&r);
    }
    if (wrong || r.error) {
        answer_error(s, id,
                     !known  ? METHOD_NOT_FOUND
                     : wrong ? INVALID_PARAMS
                             : REQUEST_FAILED,
                     wrong ? wrong : r.error);
    } else {
        s->out.len = 0;
        buf_printf(&s->out, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":", STR_ARG(id));
        buf_str(&s->out, result.len ? buf_view(&result) : STR("null"));
        buf_u8(&s->out, '}');
        server_send(s);
    }
    buf_free(&result);
}

/* Reads a message: the id as it is written, since the answer repeats it. False if it is no object.
 */
static bool read_message(whammc_server *s, Str message, Str *id, Str *method, Str *params) {
    Json j = {&s->arena, message.ptr, message.ptr + message.len};
    if (!json_char(&j, '{'))
        return false;
    do {
        Str key, value;
        if (!json_char(&j, '"') || !json_string(&j, &key) || !json_char(&j, ':'))
            return false;
        json_blanks(&j);
        const char *start = j.at;
        if (!json_value(&j, &value))
            return false;
        if (str_is(key, "id") && value.ptr)
            *id = (Str){start, (uint32_t)(j.at - start)};
        else if (str_is(key, "method"))
            *method = value;
        else if (str_is(key, "params"))
            *params = value;
    } while (json_char(&j, ','));
    return json_char(&j, '}');
}

/* An id is a number or a string, which the answer has to repeat. */
static bool is_id(Str id) {
    if (id.len >= 2 && id.ptr[0] == '"')
        return id.ptr[id.len - 1] == '"';
    uint64_t number;
    bool negative = id.len && id.ptr[0] == '-';
    return str_decimal((Str){id.ptr + negative, id.len - negative}, INT64_MAX, &number);
}

void whammc_server_receive(whammc_server *s, const char *message, size_t len) {
    Str id = {0}, method = {0}, params = {0};
    bool read =
        len <= INT32_MAX && read_message(s, (Str){message, (uint32_t)len}, &id, &method, &params);
    if (!read || (id.len && !is_id(id))) {
        answer_error(s, (Str){0}, read ? INVALID_REQUEST : PARSE_ERROR,
                     read ? "an id is a number or a string" : "expected a JSON object");
    } else if (method.len && id.len) {
        answer(s, id, method, params);
    } else if (method.len && (s->initialized || str_is(method, "exit"))) {
        for (size_t i = 0; i < sizeof notifications / sizeof *notifications; i++)
            if (str_is(method, notifications[i].method))
                notifications[i].act(s, params);
    } else if (!method.len && !id.len) {
        answer_error(s, (Str){0}, INVALID_REQUEST, "expected a method");
    } /* else an answer of the client */
    arena_free(&s->arena);
}

void whammc_server_idle(whammc_server *s) {
    for (uint32_t i = 0; i < s->documents.len; i++) {
        Document *d = s->documents.at[i];
        document_check(s, d);
        if (!d->told)
            document_tell(s, d);
    }
    arena_free(&s->arena);
}

whammc_server *whammc_server_new(const whammc_server_host *host) {
    whammc_server *s = mem_zalloc(sizeof *s);
    s->host = *host;
    return s;
}

int whammc_server_exits(const whammc_server *s) {
    return !s->exited ? 0 : s->shutdown ? 1 : 2;
}

void whammc_server_free(whammc_server *s) {
    if (!s)
        return;
    documents_free(s);
    rule_names_free(s);
    whammc_free(s->manual);
    workspace_free(s);
    arena_free(&s->arena);
    buf_free(&s->out);
    free(s->root);
    free(s);
}
