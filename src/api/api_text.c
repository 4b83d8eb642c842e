/*
 * api/api_text.c - texts that callers of the public interface give and get.
 */
#include "api/api.h"
#include "whammc/whammc.h"

char *api_copy(const void *s, size_t len) {
    char *p = mem_alloc(len + 1);
    if (len)
        memcpy(p, s, len);
    p[len] = 0;
    return p;
}

const char *api_messages(Diags *diags, Buf *rendered, unsigned flags) {
    rendered->len = 0;
    if (flags & WHAMMC_JSON)
        diag_render_json(diags, rendered);
    else
        diag_render_text(diags, rendered, flags & WHAMMC_COLOUR);
    return buf_cstr(rendered);
}

void whammc_release(void *p) {
    free(p);
}
