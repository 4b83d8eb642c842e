/*
 * vm.h - the virtual machine, the compiler's entry, and what built-in functions need.
 */
#ifndef SCHEME_VM_H
#define SCHEME_VM_H

#include "heap.h"
#include "text.h"

typedef enum Op {
#define OP(name, operands) OP_##name,
#include "op.def"
    OP_COUNT
} Op;

/* A function in execution. */
typedef struct Frame {
    Closure *closure;
    uint32_t ip;   /* where it goes on, in the code's bytes */
    uint32_t base; /* of its arguments and locals on the stack; the callee is below */
} Frame;

typedef struct Vm {
    Heap heap;
    Value *stack;
    uint32_t sp, stack_cap;
    Frame *frames;
    uint32_t frame_count, frame_cap;
    Value handlers;                      /* list of functions that take a Condition */
    Value condition;                     /* what went wrong, when something returned FAILED */
    Value next_function, next_arguments; /* for CALL_NEXT */
    uint64_t calls;
    bool exited;
    int exit_status;
} Vm;

void vm_init(Vm *vm);
void vm_free(Vm *vm);

/* Calls a closure without arguments. FAILED: nobody handled vm->condition. */
Value vm_run(Vm *vm, Value closure);

/* Reads, compiles and runs all of a text. `show` gets each result that is not unspecified (may be
 * NULL). */
bool vm_run_text(Vm *vm, const char *text, size_t len, void (*show)(Value v));

/* Sets vm->condition from a message and up to two irritants (UNBOUND = none). Always FAILED. */
Value vm_fail(Vm *vm, const char *message, Value first, Value second);

/* compile.c: a closure for a top-level form, or FAILED. */
Value compile_form(Vm *vm, Value form);

/* macro.c: makes a Macro of (syntax-rules ...), or FAILED; applies one to a form. */
Value macro_new(Vm *vm, Value rules_form);
Value macro_expand(Vm *vm, const Macro *m, Value form);

/* The tables of built-in functions, each ended by a NULL name. */
typedef struct BuiltinRow {
    const char *name;
    BuiltinFunction *call;
    uint16_t min, max;
} BuiltinRow;
extern const BuiltinRow number_builtins[];  /* lib_number.c */
extern const BuiltinRow data_builtins[];    /* lib_data.c */
extern const BuiltinRow string_builtins[];  /* lib_string.c */
extern const BuiltinRow control_builtins[]; /* vm.c */

/* Arithmetic that the VM and lib_number.c share; FAILED for what is not a number. */
Value number_add(Vm *vm, Value a, Value b);
Value number_subtract(Vm *vm, Value a, Value b);
Value number_multiply(Vm *vm, Value a, Value b);

#endif
