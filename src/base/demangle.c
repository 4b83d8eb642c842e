/*
 * base/demangle.c - names of functions as their language writes them, by libiberty.
 *
 * Of the library only the files that know one language each are used (their licences allow linking
 * with anything), and only the interfaces that give a name in pieces: a symbol of a few hundred
 * bytes can stand for a name of gigabytes, so there has to be a way to stop.
 */
#include "base/demangle.h"
#include "config.h"

#ifdef HAVE_LIBIBERTY

#ifdef HAVE_LIBIBERTY_DEMANGLE_H
#include <libiberty/demangle.h>
#else
#include <demangle.h>
#endif
#include <setjmp.h>

enum { SYMBOL_MAX = 1 << 14, NAME_MAX_BYTES = 1 << 14 };

typedef struct Name {
    Buf *out;
    size_t start;
    jmp_buf stop;
} Name;

/* Libiberty has no other way to be stopped. It holds no memory of the heap while it calls this,
 * but for a Rust identifier that is not ASCII. */
static void demangle_add(const char *text, size_t len, void *ctx) {
    Name *name = ctx;
    if (name->out->len - name->start + len > NAME_MAX_BYTES)
        longjmp(name->stop, 1);
    buf_bytes(name->out, text, len);
}

static bool is_symbol(const char *s) {
    return strncmp(s, "_Z", 2) == 0 || strncmp(s, "_R", 2) == 0 || strncmp(s, "__Z", 3) == 0;
}

bool demangle_is_there(void) {
    return true;
}

static bool demangle_symbol(Str symbol, Buf *out) {
    char copy[SYMBOL_MAX];
    if (symbol.len < 3 || symbol.len >= SYMBOL_MAX || memchr(symbol.ptr, '\0', symbol.len))
        return false;
    memcpy(copy, symbol.ptr, symbol.len);
    copy[symbol.len] = '\0';
    if (!is_symbol(copy))
        return false;
    Name name = {.out = out, .start = out->len};
    bool ok = false;
    if (setjmp(name.stop) == 0) {
        ok = rust_demangle_callback(copy, DMGL_NO_OPTS, demangle_add, &name) != 0;
        if (!ok) {
            out->len = name.start;
            ok =
                cplus_demangle_v3_callback(copy, DMGL_PARAMS | DMGL_ANSI, demangle_add, &name) != 0;
        }
    } else {
        ok = false;
    }
    if (!ok)
        out->len = name.start;
    return ok;
}

bool demangle(Str symbol, Buf *out) {
    const char *more = symbol.len ? memchr(symbol.ptr, ' ', symbol.len) : NULL;
    uint32_t len = more ? (uint32_t)(more - symbol.ptr) : symbol.len;
    bool ok = demangle_symbol((Str){symbol.ptr, len}, out);
    if (ok && more)
        buf_bytes(out, more, symbol.len - len);
    return ok;
}

#else

bool demangle_is_there(void) {
    return false;
}

bool demangle(Str symbol, Buf *out) {
    (void)symbol, (void)out;
    return false;
}

#endif
