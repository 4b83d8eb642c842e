// Exceptions of C++: through functions with and without destructors, caught by catch (...), thrown again. There is no C++ library
// for WASI yet; the functions that clang calls are at the end.
//
// usage: exceptions     throws ROUNDS times, from depths 0, 1, 2 ...; prints what it has counted
#include <stdio.h>
#include <stdlib.h>

#define APART __attribute__((noinline))

enum { ROUNDS = 20 };

static int cleaned, caught;

struct Guard {
    APART ~Guard() {
        cleaned++;
    }
};

APART static int descend(int depth) {
    if (depth == 0)
        throw 7;
    Guard guard;
    return descend(depth - 1) + 1;
}

APART static int without_guard(int depth) {
    return descend(depth) + 1;
}

APART static int again(int depth) {
    try {
        return without_guard(depth);
    } catch (...) {
        caught++;
        throw;
    }
}

APART static void attempt(int depth) {
    try {
        again(depth);
    } catch (...) {
        caught++;
    }
}

int main() {
    for (int i = 0; i < ROUNDS; i++)
        attempt(i);
    printf("caught %d cleaned %d\n", caught, cleaned);
    return 0;
}

// --- What clang calls --------------------------------------------------------------------------------------

static void *current; // what was caught last

namespace std {
[[noreturn]] void terminate() noexcept {
    abort();
}
} // namespace std

extern "C" {
void *_ZTIi[2]; // type_info of int: only its address is taken

void *__cxa_allocate_exception(size_t size) {
    return malloc(size);
}

[[noreturn]] void __cxa_throw(void *thrown, void *, void (*)(void *)) {
    __builtin_wasm_throw(0, thrown);
}

void *__cxa_begin_catch(void *thrown) {
    return current = thrown;
}

[[noreturn]] void __cxa_rethrow() {
    __builtin_wasm_throw(0, current);
}

void __cxa_end_catch() {
}

// Type tests need both of these; catch (...) does not.
struct {
    unsigned index;
    const void *tables;
    unsigned selector;
} __wasm_lpad_context;

int _Unwind_CallPersonality(void *) {
    return 0;
}

int __gxx_wasm_personality_v0(int, int, unsigned long long, void *, void *) {
    return 0;
}
}
