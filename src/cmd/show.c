/*
 * cmd/show.c - what tables of reports must know of terminals.
 */
#include "cmd/cmd.h"

#include <langinfo.h>
#include <sys/ioctl.h>

uint32_t show_width(int fd) {
    struct winsize size;
    if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col)
        return size.ws_col;
    return 0;
}

bool show_is_ascii(void) {
    return strcmp(nl_langinfo(CODESET), "UTF-8") != 0;
}
