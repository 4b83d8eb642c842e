/*
 * cmd/show.c - properties of terminals for tables; options of formats.
 */
#include "cmd/cmd.h"

#include <langinfo.h>
#include <sys/ioctl.h>

bool format_has(WhammcReportFormat format, unsigned trait) {
    return whammc_report_format_traits(format) & trait;
}

uint32_t show_width(int fd) {
    struct winsize size;
    if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col)
        return size.ws_col;
    return 0;
}

bool show_is_ascii(void) {
    return strcmp(nl_langinfo(CODESET), "UTF-8") != 0;
}

void look_option(const Cli *cli, Look *look, int key, const char *value) {
    switch (key) {
    case OPTION_BY: look->by = (WhammcReportBy)option_choice(cli, key, value); break;
    case OPTION_SORT: look->sort = (WhammcReportSort)option_choice(cli, key, value); break;
    case OPTION_NONZERO: look->nonzero = true; break;
    case OPTION_HEX: look->hex = true; break;
    case OPTION_LINES: look->lines = true; break;
    case OPTION_INLINED: look->inlined = true; break;
    }
}

bool look_asks_lines(const Look *look) {
    return look->lines || look->by == WHAMMC_REPORT_BY_LINE || look->by == WHAMMC_REPORT_BY_FILE;
}

bool label_option(const Cli *cli, Words *labels, const char *value) {
    const char *equals = strchr(value, '=');
    if (equals && equals != value) {
        vec_push(labels, value);
        return true;
    }
    cli_usage(cli, "--label=%s: expected KEY=VALUE", value);
    return false;
}
