/*
 * report/embedded.c - the compiled runtimes, as scripts/embed put them into this program.
 */
#include "report/embedded.h"

#define EMBEDDED(name)                                                                             \
    extern const unsigned char runtime_##name[];                                                   \
    extern const unsigned long runtime_##name##_size

#define MODULE(name)                                                                               \
    (RuntimeModule) {                                                                              \
#name, runtime_##name, runtime_##name##_size                                               \
    }
#define EITHER(name) (values ? MODULE(name##_values) : MODULE(name))

EMBEDDED(js);
EMBEDDED(js_values);
EMBEDDED(none);
EMBEDDED(none_values);
EMBEDDED(wasi);
EMBEDDED(wasi_values);
EMBEDDED(wasi_file);
EMBEDDED(wasi_file_values);
EMBEDDED(borrow);
EMBEDDED(borrow_values);
EMBEDDED(borrow_file);
EMBEDDED(borrow_file_values);
EMBEDDED(monitor);
EMBEDDED(monitor_file);
EMBEDDED(import);
EMBEDDED(math);
EMBEDDED(sums_bound);
EMBEDDED(bridge);
EMBEDDED(hub);
EMBEDDED(hub_file);
EMBEDDED(hub_serves);
EMBEDDED(hub_serves_file);

RuntimeModule runtime_module(RuntimeHost host, bool values) {
    switch (host) {
    case RUNTIME_JS: return EITHER(js);
    case RUNTIME_NONE: return EITHER(none);
    case RUNTIME_WASI: return EITHER(wasi);
    case RUNTIME_WASI_FILE: return EITHER(wasi_file);
    case RUNTIME_BORROW: return EITHER(borrow);
    case RUNTIME_BORROW_FILE: return EITHER(borrow_file);
    case RUNTIME_MONITOR: return MODULE(monitor);
    case RUNTIME_MONITOR_FILE: return MODULE(monitor_file);
    default: return MODULE(import);
    }
}

RuntimeModule runtime_arithmetic(void) {
    return MODULE(math);
}

RuntimeModule runtime_sums(void) {
    return MODULE(sums_bound);
}

RuntimeModule runtime_adapters(void) {
    return MODULE(bridge);
}

RuntimeModule runtime_component(bool file, bool serves) {
    if (serves)
        return file ? MODULE(hub_serves_file) : MODULE(hub_serves);
    return file ? MODULE(hub_file) : MODULE(hub);
}
