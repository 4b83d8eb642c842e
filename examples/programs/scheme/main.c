/*
 * main.c - a small Scheme: reader, macros, compiler to byte code, virtual machine, garbage
 * collector.
 *
 * usage: scheme [SIZE]   runs the bundled workload; SIZE from 1 to 200 scales it, 100 if not given
 *        scheme -        runs a program from standard input and shows the value of each form
 *        scheme -e TEXT  the same with a program in the argument
 *
 * The files: value.h (what a value is), heap.c (memory, symbols, tables), text.c (reader and
 * printer), macro.c (syntax-rules), analyse.c and emit.c (compiler), vm.c (virtual machine),
 * lib_*.c (built-in functions), prelude.scm (functions written in Scheme), workload.scm.
 */
#include "vm.h"

#include <stdio.h>
#include <stdlib.h>

extern const unsigned char prelude_scm[], workload_scm[];
extern const unsigned long prelude_scm_size, workload_scm_size;

static void show(Value v) {
    Text t = {0};
    print_value(&t, v, true);
    fwrite(t.bytes, 1, t.len, stdout);
    putchar('\n');
    free(t.bytes);
}

static void show_error(Vm *vm) {
    Text t = {0};
    print_value(&t, vm->condition, false);
    fflush(stdout);
    fprintf(stderr, "error: %.*s\n", (int)t.len, t.bytes);
    free(t.bytes);
}

static bool run_stdin(Vm *vm) {
    Text t = {0};
    char part[4096];
    for (size_t n; (n = fread(part, 1, sizeof part, stdin)) > 0;)
        text_add(&t, part, n);
    bool good = vm_run_text(vm, t.bytes ? t.bytes : "", t.len, show);
    free(t.bytes);
    return good;
}

static bool run_workload(Vm *vm, int size) {
    AS(Symbol, intern(&vm->heap, "size", 4))->global = from_int(size);
    return vm_run_text(vm, (const char *)workload_scm, workload_scm_size, NULL);
}

static bool run(Vm *vm, int argc, char **argv) {
    if (!vm_run_text(vm, (const char *)prelude_scm, prelude_scm_size, NULL))
        return false;
    if (argc > 1 && strcmp(argv[1], "-") == 0)
        return run_stdin(vm);
    if (argc > 2 && strcmp(argv[1], "-e") == 0)
        return vm_run_text(vm, argv[2], strlen(argv[2]), show);
    int size = argc > 1 ? atoi(argv[1]) : 100;
    if (size < 1 || size > 200) {
        fprintf(stderr, "usage: scheme [SIZE | - | -e TEXT]\n");
        vm->exited = true;
        vm->exit_status = 2;
        return false;
    }
    return run_workload(vm, size);
}

int main(int argc, char **argv) {
    Vm vm;
    vm_init(&vm);
    int status = 0;
    if (!run(&vm, argc, argv)) {
        if (!vm.exited)
            show_error(&vm);
        status = vm.exited ? vm.exit_status : 1;
    }
    vm_free(&vm);
    return status;
}
