/*
 * report/runtime.c - the compiled runtimes, as scripts/embed put them into this program.
 */
#include "report/runtime.h"

#define EMBEDDED(name)                                                                             \
    extern const unsigned char runtime_##name[];                                                   \
    extern const unsigned long runtime_##name##_size

EMBEDDED(js);
EMBEDDED(none);
EMBEDDED(wasi);
EMBEDDED(wasi_file);
EMBEDDED(borrow);
EMBEDDED(borrow_file);
EMBEDDED(import);
EMBEDDED(math);

RuntimeModule runtime_module(RuntimeHost host) {
    switch (host) {
    case RUNTIME_JS: return (RuntimeModule){"js", runtime_js, runtime_js_size};
    case RUNTIME_NONE: return (RuntimeModule){"none", runtime_none, runtime_none_size};
    case RUNTIME_WASI: return (RuntimeModule){"wasi", runtime_wasi, runtime_wasi_size};
    case RUNTIME_WASI_FILE:
        return (RuntimeModule){"wasi_file", runtime_wasi_file, runtime_wasi_file_size};
    case RUNTIME_BORROW: return (RuntimeModule){"borrow", runtime_borrow, runtime_borrow_size};
    case RUNTIME_BORROW_FILE:
        return (RuntimeModule){"borrow_file", runtime_borrow_file, runtime_borrow_file_size};
    default: return (RuntimeModule){"import", runtime_import, runtime_import_size};
    }
}

RuntimeModule runtime_arithmetic(void) {
    return (RuntimeModule){"math", runtime_math, runtime_math_size};
}
