/*
 * flush/flush_prof.c - --host=prof: the program imports the five functions of module `prof`, all
 * of them and no others, and sends its counts with these. There is no report.
 */
#include "flush/flush_code.h"

#include <inttypes.h>

#include "link/import_library.h"

static void import_named(void *ctx, Str name) {
    const Flush *f = ctx;
    library_import_bundled(f->m, bundled_function(STR("prof"), name));
}

/* The clock in nanoseconds, from that of the host in milliseconds. */
static uint32_t add_now_ns(WasmModule *m) {
    uint32_t clock = library_import_bundled(m, bundled_function(STR("prof"), STR("getTime")));
    return emit_function(m, "whammc.now_ns",
                         "result i64 call %u f64.const %" PRIu64 " f64.mul i64.trunc_sat_f64_u",
                         clock, UINT64_C(0x412e848000000000)); /* 1e6 */
}

bool flush_prof_link(Flush *f, bool *used) {
    bundled_each(STR("prof"), import_named, f);
    if (used[HELPER_NOW_NS])
        f->helpers[HELPER_NOW_NS] = add_now_ns(f->m);
    used[HELPER_NOW_NS] = false;
    if (!f->writes.text)
        return true;
    Diag *d = diag(f->diags, DIAG_CANNOT_HOST, (Span){f->file, 0, 0},
                   "--host=prof cannot transfer text, but a script prints some");
    diag_hint(f->diags, d, "print it only with other hosts: / HOST != \"prof\" /");
    return false;
}
