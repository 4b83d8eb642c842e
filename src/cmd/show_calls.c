/*
 * cmd/show_calls.c - the formats that `report` and `profile` make of calls.
 */
#include "cmd/cmd.h"
#include "view/view.h"

void view_format(ViewFormat format, const Profile *p, uint32_t top, const char *path, Buf *out) {
    Str title = str_of(file_base(file_title(path)));
    switch (format) {
    case VIEW_GPROF: view_gprof(p, top, out); break;
    case VIEW_DOT: view_dot(p, top, out); break;
    case VIEW_FOLDED: view_folded(p, out); break;
    case VIEW_SVG: view_svg(p, title, out); break;
    case VIEW_SPEEDSCOPE: view_speedscope(p, title, out); break;
    case VIEW_CPUPROFILE: view_cpuprofile(p, out); break;
    default: view_flat(p, top, out); break;
    }
}
