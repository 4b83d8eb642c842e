#!/bin/sh
# Compiles the views of pages to WebAssembly: build.sh SOURCE-DIR OUT.wasm FILE.c...
#
# CLANG and WASM_OPT name the tools; there must be wasi-libc. The code does without files and environment: of WASI it imports only what
# prints a message when there is no more memory.
set -e
: "${CLANG:=clang}" "${WASM_OPT:=wasm-opt}"
src=$1 out=$2 objects=
shift 2

# Without __wasm__, which stands for the runtime of programs, and without threads.
flags="--target=wasm32-wasi -std=gnu11 -Os -flto -DNDEBUG -D_GNU_SOURCE -U__wasm__ -D_Thread_local= -fvisibility=hidden
 -mcpu=mvp -mbulk-memory -Wall -Wextra -Werror -I$src/src -I$src/include"

flame=$(dirname "$out")/flame.c
sh "$src/scripts/embed" host_flame_js "$src/stdlib/flame.js" >"$flame"
for file in "$flame" "$@"; do
    object=${out%.wasm}-$(echo "${file%.c}" | tr / -).o
    [ "$file" = "$flame" ] || file=$src/$file
    # shellcheck disable=SC2086
    "$CLANG" $flags -c "$file" -o "$object"
    objects="$objects $object"
done
# shellcheck disable=SC2086
"$CLANG" --target=wasm32-wasi -nostartfiles -Wl,--no-entry,--gc-sections,--strip-debug,--stack-first,-z,stack-size=1048576 $objects -o "$out.tmp"
"$WASM_OPT" -Os --enable-bulk-memory --strip-producers --strip-target-features --strip-debug "$out.tmp" -o "$out"
# shellcheck disable=SC2086
rm -f "$out.tmp" "$flame" $objects
