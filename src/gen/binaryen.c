/*
 * gen/binaryen.c - the table of Binaryen's functions, from the library that is loaded or
 * linked.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "gen/binaryen.h"

#include "base/dynamic.h"

Binaryen binaryen;

#ifdef BINARYEN_FILE

bool binaryen_load(Diags *diags) {
    static bool loaded;
    if (loaded)
        return true;
    Buf why = {0};
    void *library = dynamic_load(BINARYEN_FILE, &why);
    loaded = library != NULL;
#define FUNCTION(name) loaded = dynamic_find(library, "Binaryen" #name, &binaryen.name) && loaded;
#include "gen/binaryen.def"
    if (!loaded) {
        dynamic_explain(BINARYEN_FILE, library, &why);
        diag(diags, DIAG_CANNOT_READ, NO_SPAN, "cannot load Binaryen: %.*s", (int)why.len,
             (const char *)why.data);
    }
    buf_free(&why);
    return loaded;
}

#else

bool binaryen_load(Diags *diags) {
    (void)diags;
#define FUNCTION(name) binaryen.name = Binaryen##name;
#include "gen/binaryen.def"
    return true;
}

#endif
