/*
 * cli/text.c - modules in the text format, assembled by wabt's wat2wasm.
 */
#include "cli/cli.h"

#include <errno.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

/* Whether the content begins as text modules do, behind blanks: "(", ";;". */
static bool begins_as_text(const Buf *b) {
    size_t i = 0;
    while (i < b->len && strchr(" \t\r\n", b->data[i]) && b->data[i])
        i++;
    return i < b->len &&
           (b->data[i] == '(' || (b->data[i] == ';' && i + 1 < b->len && b->data[i + 1] == ';'));
}

bool text_is_module(const char *path, const Buf *content) {
    size_t n = strlen(path);
    bool binary = content->len >= 4 && memcmp(content->data, "\0asm", 4) == 0;
    return !binary && ((n > 4 && strcmp(path + n - 4, ".wat") == 0) || begins_as_text(content));
}

/* ---- what wat2wasm said ---- */

/* The offset of a line and column, both from 1. */
static uint32_t offset_of(const Buf *text, uint32_t line, uint32_t column) {
    size_t at = 0;
    while (line > 1 && at < text->len)
        line -= text->data[at++] == '\n';
    for (; column > 1 && at < text->len && text->data[at] != '\n'; column--)
        at++;
    return (uint32_t)at;
}

/* Messages are "-:LINE:COLUMN: error: WHAT", then the source line and "   ^^^" below. */
static bool add_message(Diags *d, DiagFileId file, const Buf *text, const char *line) {
    unsigned row, column;
    int used = 0;
    if (sscanf(line, "-:%u:%u: error: %n", &row, &column, &used) != 2 || !used)
        return false;
    const char *what = line + used;
    uint32_t at = offset_of(text, row, column), width = 0;
    const char *carets = strchr(what, '\n');
    if (carets && (carets = strchr(carets + 1, '\n')))
        width = (uint32_t)strspn(carets + 1 + strspn(carets + 1, " "), "^");
    if (width > text->len - at)
        width = (uint32_t)(text->len - at);
    diag(d, DIAG_TEXT_FORMAT, (Span){file, at, at + width}, "%.*s", (int)strcspn(what, "\n"), what);
    return true;
}

static void report(const Cli *cli, const char *name, const Buf *text, const char *said) {
    Diags d = {0};
    DiagFileId file = diag_file(&d, name, text->data, text->len, false);
    bool any = false;
    for (const char *line = said; line; line = strchr(line, '\n'), line += line != NULL)
        any |= add_message(&d, file, text, line);
    if (!any)
        diag(&d, DIAG_TEXT_FORMAT, NO_SPAN, "%s: wat2wasm cannot assemble it: %.*s", name,
             (int)strcspn(said, "\n"), said);
    message_diags(cli, &d);
    diag_free(&d);
}

/* ---- running it ---- */

/* The whole content of a temporary file. */
static bool slurp(FILE *f, Buf *out) {
    rewind(f);
    for (size_t n = 1; n;) {
        buf_reserve(out, 1 << 16);
        n = fread(out->data + out->len, 1, 1 << 16, f);
        out->len += n;
    }
    return !ferror(f);
}

/* Gives false, with errno, if wat2wasm could not be run. */
static bool run(const char *program, FILE *in, FILE *out, FILE *err, int *status) {
    const char *argv[] = {program, "--enable-all", "--debug-names", "--output=-", "-", NULL};
    ProcessStreams streams = {fileno(in), fileno(out), fileno(err)};
    *status = process_run(argv, streams);
    return *status >= 0;
}

bool text_assemble(const Cli *cli, const char *name, const Buf *text, Buf *binary) {
    char *program = process_find("WHAMMC_WAT2WASM", "wat2wasm");
    if (!program) {
        message_one(cli, DIAG_TEXT_FORMAT, "install wabt (Debian package: wabt)",
                    "%s: modules in the text format need the program wat2wasm", name);
        return false;
    }
    FILE *in = tmpfile(), *out = tmpfile(), *err = tmpfile();
    Buf said = {0};
    int status = 0;
    bool ok = in && out && err && fwrite(text->data, 1, text->len, in) == text->len &&
              fflush(in) == 0 && fseek(in, 0, SEEK_SET) == 0;
    ok = ok && run(program, in, out, err, &status) && slurp(out, binary) && slurp(err, &said);
    if (!ok) {
        message_one(cli, DIAG_TEXT_FORMAT, NULL, "%s: %s", program, strerror(errno));
    } else if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        report(cli, name, text, buf_cstr(&said));
        ok = false;
    }
    FILE *files[] = {in, out, err};
    for (int i = 0; i < 3; i++)
        if (files[i])
            fclose(files[i]);
    buf_free(&said);
    free(program);
    return ok;
}
