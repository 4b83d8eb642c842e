/*
 * cli/wat_file.c - modules in the text format, assembled by wabt's wat2wasm.
 */
#include "cli/cli.h"
#include "cli/process.h"
#include "wasm/wat.h"

#include <errno.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static void wat_file_report(const Cli *cli, const char *name, const Buf *text, const char *said) {
    Diags d = {0};
    DiagFileId file = diag_file(&d, name, text->data, text->len, false);
    if (!wat_messages(&d, file, text, said))
        diag(&d, DIAG_TEXT_FORMAT, NO_SPAN, "%s: wat2wasm cannot assemble it: %.*s", name,
             (int)strcspn(said, "\n"), said);
    message_diags(cli, &d);
    diag_free(&d);
}

/* ---- running it ---- */

/* Reads the whole content of a temporary file. */
static bool slurp(FILE *f, Buf *out) {
    rewind(f);
    for (size_t n = 1; n;) {
        buf_reserve(out, 1 << 16);
        n = fread(out->data + out->len, 1, 1 << 16, f);
        out->len += n;
    }
    return !ferror(f);
}

/* Returns the CPU time that wat2wasm may take; it needs less than a second for several
 * megabytes. */
static unsigned seconds_for(const Buf *text) {
    return 5 + (unsigned)(text->len >> 20);
}

/* Returns false, with errno set, if wat2wasm could not be run. */
static bool wat_file_run(const char *program, unsigned seconds, FILE *in, FILE *out, FILE *err,
                         int *status) {
    const char *argv[] = {program, "--enable-all", "--debug-names", "--output=-", "-", NULL};
    ProcessStreams streams = {
        .in = fileno(in), .out = fileno(out), .err = fileno(err), .seconds = seconds};
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
    ok = ok && wat_file_run(program, seconds_for(text), in, out, err, &status) &&
         slurp(out, binary) && slurp(err, &said);
    if (!ok) {
        message_one(cli, DIAG_TEXT_FORMAT, NULL, "%s: %s", program, strerror(errno));
    } else if (process_took_long(status)) {
        message_one(cli, DIAG_TEXT_FORMAT, "assemble it with another program, such as wasm-as",
                    "%s: wat2wasm did not end: it was stopped after %u seconds", name,
                    seconds_for(text));
        ok = false;
    } else if (WIFSIGNALED(status)) {
        message_one(cli, DIAG_TEXT_FORMAT,
                    WTERMSIG(status) == SIGKILL ? "systems that are short of memory end programs so"
                                                : NULL,
                    "%s: wat2wasm was ended by signal %d", name, WTERMSIG(status));
        ok = false;
    } else if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        wat_file_report(cli, name, text, buf_cstr(&said));
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
