/*
 * tests/fuzz/fuzz_lsp.c - libFuzzer target: the language server. A script is opened, asked about at
 * several places, changed and asked about again; then the input is a message itself. What the
 * server sends must be JSON objects.
 */
#include <whammc/lsp.h>

#include "base/escape.h"
#include "base/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void on_send(void *ctx, const char *message, size_t len) {
    static const char *const names[] = {"jsonrpc"};
    Arena *arena = ctx;
    Str version = {0};
    Json j = {arena, message, message + len};
    if (!json_object(&j, names, 1, &version) || !str_is(version, "2.0"))
        abort();
}

static void tell(whammc_server *s, Buf *message) {
    whammc_server_receive(s, (const char *)message->data, message->len);
    message->len = 0;
}

#define URI "\"textDocument\":{\"uri\":\"file:///fuzz.whamm\""

static void ask(whammc_server *s, Buf *out, const char *method, unsigned line, unsigned character) {
    buf_printf(out,
               "{\"id\":2,\"method\":\"textDocument/%s\",\"params\":{" URI
               "},\"position\":{\"line\":%u,\"character\":%u},\"newName\":\"renamed\",\"range\":{"
               "\"start\":{\"line\":0,\"character\":0},\"end\":{\"line\":%u,\"character\":%u}}}}",
               method, line, character, line, character);
    tell(s, out);
}

static void ask_all(whammc_server *s, Buf *out, unsigned line, unsigned character) {
    static const char *const methods[] = {
        "completion",        "signatureHelp",       "hover",
        "definition",        "references",          "rename",
        "documentHighlight", "prepareRename",       "documentSymbol",
        "foldingRange",      "semanticTokens/full", "formatting",
        "codeAction",        "documentLink",        "inlayHint",
        "codeLens"};
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        ask(s, out, methods[i], line, character);
}

static void change(whammc_server *s, Buf *out, unsigned line, unsigned character, Str text) {
    buf_printf(
        out,
        "{\"method\":\"textDocument/didChange\",\"params\":{" URI
        "},\"contentChanges\":[{\"range\":{\"start\":{\"line\":%u,\"character\":%u},\"end\":{"
        "\"line\":%u,\"character\":%u}},\"text\":",
        line, character, line + character % 3, character / 2);
    escape_json_string(out, text);
    buf_str(out, STR("}]}}"));
    tell(s, out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    enum { PLACES = 4, HEAD = 2 * PLACES };
    if (size < HEAD)
        return 0;
    Str text = {(const char *)data + HEAD, (uint32_t)(size - HEAD)};
    Arena arena = {0};
    Buf out = {0};
    whammc_server_host host = {.send = on_send, .ctx = &arena};
    whammc_server *s = whammc_server_new(&host);
    buf_str(&out, STR("{\"id\":1,\"method\":\"initialize\",\"params\":{\"capabilities\":{}}}"));
    tell(s, &out);
    buf_str(&out, STR("{\"method\":\"textDocument/didOpen\",\"params\":{" URI
                      ",\"version\":1,\"text\":"));
    escape_json_string(&out, text);
    buf_str(&out, STR("}}}"));
    tell(s, &out);
    for (unsigned i = 0; i < PLACES; i++) {
        ask_all(s, &out, data[2 * i] % 16, data[2 * i + 1]);
        change(s, &out, data[2 * i] % 16, data[2 * i + 1],
               (Str){text.ptr + text.len / 2, text.len / 2 < 8 ? text.len / 2 : 8});
        whammc_server_idle(s);
    }
    whammc_server_receive(s, text.ptr, text.len);
    whammc_server_free(s);
    arena_free(&arena);
    buf_free(&out);
    return 0;
}
