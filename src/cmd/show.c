/*
 * cmd/show.c - tables of reports for terminals.
 */
#include "cmd/cmd.h"
#include "report/table.h"

#include <langinfo.h>
#include <sys/ioctl.h>

/* 0 if it is no terminal. */
static uint32_t terminal_width(int fd) {
    struct winsize size;
    if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col)
        return size.ws_col;
    return 0;
}

void show_tables(const Report *r, const ShowOptions *options, Buf *out) {
    TableOptions look = {.top = options->top,
                         .width = terminal_width(options->fd),
                         .colour = options->colour,
                         .ascii = strcmp(nl_langinfo(CODESET), "UTF-8") != 0,
                         .instructions = options->instructions};
    table_print(r, &look, out);
    if (out->len > 1 && memcmp(out->data + out->len - 2, "\n\n", 2) == 0)
        out->len--; /* the empty line after the last table */
}
