#!/bin/sh
# Compiles one host of the report runtime to wasm32: build.sh SOURCE-DIR OUT.wasm HOST-SOURCE [-DSWITCH...]
#
# CLANG, WASM_LD and WASM_OPT name the tools. The code has no static data, so it is position independent
# as it is; --shared makes the linker import memory and stack pointer. wasm-opt removes what the linker adds to
# every shared module (empty constructors, table imports). host_import.c and bridge.c are linked as ordinary modules,
# with memory and data of their own; hub.c has data in a memory that it imports; math.c uses no memory, so that the import of one goes away.
set -e
: "${CLANG:=clang}" "${WASM_LD:=wasm-ld}" "${WASM_OPT:=wasm-opt}"
src=$1 out=$2 host=$3
shift 3

flags="--target=wasm32 -std=c11 -Oz -ffreestanding -nostdlib -fvisibility=hidden
 -mcpu=mvp -mbulk-memory -mmutable-globals -fno-jump-tables -Wall -Wextra -Werror"

files="$host format.c sums.c escape.c number.c" link="--experimental-pic --shared"
case $host in
hosts/host_import.c)
    files="$files hosts/host_wasi.c stack.c" link="--stack-first -z stack-size=16384"
    set -- -DHOST_IMPORT -DHOST_FILE -DVALUES "$@"
    ;;
hosts/hub.c)
    files=$host link="--import-memory --stack-first -z stack-size=16384"
    ;;
sums_bound.c)
    files="$host sums.c"
    ;;
math.c)
    files=$host link=--import-memory
    ;;
bridge.c)
    files=$host link="--stack-first -z stack-size=4096"
    ;;
esac

case " $* " in
*" -DVALUES "*) files="$files values.c map.c word_map.c core.c print.c lines.c tree.c shadow_memory.c" ;;
esac

case " $* " in
*" -DMONITOR "*)
    files="$files rows.c site/site.c site/site_read.c site/site_flow.c site/site_module.c site/site_names.c
     site/site_typer.c site/site_count.c site/site_compiler.c"
    for file in wasm/decode valid/subtype valid/signature valid/signature_gc valid/signature_cont valid/typer \
        analysis/flow analysis/segment; do
        files="$files ../../src/$file.c"
    done
    set -- -I "$src/freestanding" -I "$src" -I "$src/../../src" "$@"
    ;;
esac

objects=
for file in $files; do
    object=${out%.wasm}-$(basename "$file" .c).o
    # shellcheck disable=SC2086
    "$CLANG" $flags "$@" -c "$src/$file" -o "$object"
    objects="$objects $object"
done
# shellcheck disable=SC2086
"$WASM_LD" $link --no-entry --gc-sections --strip-debug $objects -o "$out.tmp"
"$WASM_OPT" -g -Oz --enable-bulk-memory --enable-mutable-globals --strip-producers \
    --strip-target-features --strip-dwarf "$out.tmp" -o "$out"
# shellcheck disable=SC2086
rm -f "$out.tmp" $objects
