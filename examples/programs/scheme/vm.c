/*
 * vm.c - the virtual machine.
 *
 * The stack holds, for each active function, the callee, its arguments and its locals. Built-in
 * functions are called with their arguments in place and never call back: those that have to
 * (apply, call/cc ...) tell the VM what to call next. So the C stack does not grow with the
 * program's recursion, and a continuation is a copy of the two stacks.
 */
#include "vm.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    FIRST_STACK = 4096,
    MAX_STACK = 16 * 1024 * 1024,
    FIRST_FRAMES = 1024,
    MAX_FRAMES = 2 * 1024 * 1024
};

static void *reallocate(void *p, size_t size) {
    p = realloc(p, size);
    if (!p) {
        fprintf(stderr, "scheme: out of memory\n");
        exit(70);
    }
    return p;
}

Value vm_fail(Vm *vm, const char *message, Value first, Value second) {
    Heap *h = &vm->heap;
    Value irritants = second == UNBOUND ? NIL : cons(h, second, NIL);
    if (first != UNBOUND)
        irritants = cons(h, first, irritants);
    Value text = string_new(h, message, strlen(message));
    Condition *c = heap_new(h, TYPE_CONDITION, sizeof *c);
    c->message = text;
    c->irritants = irritants;
    vm->condition = from_object(c);
    return FAILED;
}

static void add_builtins(Vm *vm, const BuiltinRow *rows) {
    for (; rows->name; rows++) {
        Builtin *b = heap_new(&vm->heap, TYPE_BUILTIN, sizeof *b);
        b->name = rows->name;
        b->call = rows->call;
        b->min = rows->min;
        b->max = rows->max;
        AS(Symbol, intern(&vm->heap, rows->name, strlen(rows->name)))->global = from_object(b);
    }
}

void vm_init(Vm *vm) {
    memset(vm, 0, sizeof *vm);
    heap_init(&vm->heap);
    vm->stack_cap = FIRST_STACK;
    vm->stack = reallocate(NULL, vm->stack_cap * sizeof *vm->stack);
    vm->frame_cap = FIRST_FRAMES;
    vm->frames = reallocate(NULL, vm->frame_cap * sizeof *vm->frames);
    vm->handlers = NIL;
    vm->condition = vm->next_function = vm->next_arguments = FALSE;
    add_builtins(vm, number_builtins);
    add_builtins(vm, data_builtins);
    add_builtins(vm, string_builtins);
    add_builtins(vm, control_builtins);
}

void vm_free(Vm *vm) {
    heap_free(&vm->heap);
    free(vm->stack);
    free(vm->frames);
}

static void mark_roots(Heap *h, void *context) {
    Vm *vm = context;
    for (uint32_t i = 0; i < vm->sp; i++)
        heap_mark(h, vm->stack[i]);
    for (uint32_t i = 0; i < vm->frame_count; i++)
        heap_mark(h, from_object(vm->frames[i].closure));
    heap_mark(h, vm->handlers);
    heap_mark(h, vm->condition);
    heap_mark(h, vm->next_function);
    heap_mark(h, vm->next_arguments);
}

/* --- Continuations: a vector of frame count, handlers, the frames, the stack --- */

enum { PER_FRAME = 3, BEFORE_FRAMES = 2 };

static Value capture(Vm *vm, uint32_t sp) {
    uint32_t frames = vm->frame_count;
    Value v = vector_new(&vm->heap, BEFORE_FRAMES + frames * PER_FRAME + sp, FALSE);
    Value *at = AS(Vector, v)->at;
    as_object(v)->type = TYPE_CONTINUATION;
    *at++ = from_int((int32_t)frames);
    *at++ = vm->handlers;
    for (uint32_t i = 0; i < frames; i++) {
        *at++ = from_object(vm->frames[i].closure);
        *at++ = from_int((int32_t)vm->frames[i].ip);
        *at++ = from_int((int32_t)vm->frames[i].base);
    }
    memcpy(at, vm->stack, sp * sizeof *at);
    return v;
}

/* Puts the stacks back; the value is what the captured call gives. The stacks were this large once,
 * so they fit. */
static void resume(Vm *vm, const Vector *k, Value value) {
    const Value *at = k->at;
    vm->frame_count = (uint32_t)as_int(*at++);
    vm->handlers = *at++;
    for (uint32_t i = 0; i < vm->frame_count; i++) {
        vm->frames[i].closure = AS(Closure, *at++);
        vm->frames[i].ip = (uint32_t)as_int(*at++);
        vm->frames[i].base = (uint32_t)as_int(*at++);
    }
    vm->sp = k->len - BEFORE_FRAMES - vm->frame_count * PER_FRAME;
    memcpy(vm->stack, at, vm->sp * sizeof *at);
    vm->stack[vm->sp++] = value;
}

/* --- Calls --- */

static Value wrong_count(Vm *vm, Value callee, uint32_t argc) {
    return vm_fail(vm, "wrong number of arguments:", callee, from_int((int32_t)argc));
}

static bool grow(Vm *vm, uint32_t need) {
    if (vm->frame_count + 1 >= vm->frame_cap) {
        if (vm->frame_cap >= MAX_FRAMES)
            return false;
        vm->frame_cap *= 2;
        vm->frames = reallocate(vm->frames, vm->frame_cap * sizeof *vm->frames);
    }
    if (vm->sp + need >= vm->stack_cap) {
        while (vm->sp + need >= vm->stack_cap)
            vm->stack_cap *= 2;
        if (vm->stack_cap > MAX_STACK)
            return false;
        vm->stack = reallocate(vm->stack, vm->stack_cap * sizeof *vm->stack);
    }
    return true;
}

/* Begins a closure whose arguments are on the stack. */
static Value enter(Vm *vm, Closure *closure, uint32_t argc) {
    const Code *code = closure->code;
    vm->calls++;
    heap_collect_if_due(&vm->heap, mark_roots, vm);
    if (argc < code->required || (argc > code->required && !code->rest))
        return wrong_count(vm, from_object(closure), argc);
    if (!grow(vm, code->locals + 2u))
        return vm_fail(vm, "recursion is too deep", from_object(closure), UNBOUND);
    if (code->rest) {
        Value rest = NIL;
        while (argc > code->required) {
            rest = cons(&vm->heap, vm->stack[--vm->sp], rest);
            argc--;
        }
        vm->stack[vm->sp++] = rest;
        argc++;
    }
    vm->frames[vm->frame_count++] = (Frame){closure, 0, vm->sp - argc};
    return TRUE;
}

/* Replaces the callee and arguments by those in next_function and next_arguments. */
static bool push_next(Vm *vm, uint32_t callee_at, uint32_t *argc) {
    vm->sp = callee_at;
    vm->stack[vm->sp++] = vm->next_function;
    *argc = 0;
    for (Value v = vm->next_arguments; is_pair(v); v = cdr(v), ++*argc) {
        if (!grow(vm, 8))
            return false;
        vm->stack[vm->sp++] = car(v);
    }
    vm->next_function = vm->next_arguments = FALSE;
    return true;
}

/* Calls what is on the stack below argc arguments. TRUE: a closure was entered, or the result is on
 * the stack. */
static Value call(Vm *vm, uint32_t argc) {
    for (;;) {
        uint32_t callee_at = vm->sp - argc - 1;
        Value callee = vm->stack[callee_at];
        if (is_type(callee, TYPE_CLOSURE))
            return enter(vm, AS(Closure, callee), argc);
        if (is_type(callee, TYPE_CONTINUATION)) {
            if (argc != 1)
                return wrong_count(vm, callee, argc);
            resume(vm, AS(Vector, callee), vm->stack[vm->sp - 1]);
            return TRUE;
        }
        if (!is_type(callee, TYPE_BUILTIN))
            return vm_fail(vm, "not a procedure:", callee, UNBOUND);
        Builtin *b = AS(Builtin, callee);
        if (argc < b->min || (argc > b->max && b->max != MANY))
            return wrong_count(vm, callee, argc);
        Value result = b->call(vm, argc, &vm->stack[callee_at + 1]);
        if (result == FAILED)
            return FAILED;
        if (result == CALL_NEXT) {
            if (!push_next(vm, callee_at, &argc))
                return vm_fail(vm, "too many arguments", callee, UNBOUND);
            continue;
        }
        vm->sp = callee_at;
        vm->stack[vm->sp++] = result;
        return TRUE;
    }
}

/* After a failure: the stack back to what the function had, and the innermost handler called
 * instead. */
static Value call_handler(Vm *vm) {
    if (vm->handlers == NIL)
        return FAILED;
    if (!grow(vm, 8))
        return FAILED;
    Value handler = car(vm->handlers);
    vm->handlers = cdr(vm->handlers);
    vm->stack[vm->sp++] = handler;
    vm->stack[vm->sp++] = vm->condition;
    return call(vm, 1);
}

/* --- The loop --- */

static bool numbers_compare(Op op, Value a, Value b) {
    double x = to_double(a), y = to_double(b);
    switch (op) {
    case OP_EQUAL: return x == y;
    case OP_LESS: return x < y;
    case OP_GREATER: return x > y;
    case OP_NOT_GREATER: return x <= y;
    default: return x >= y;
    }
}

/* Instructions that stand for built-in functions, in their slow or failing cases too. */
static Value run_inlined(Vm *vm, Op op, Value a, Value b) {
    switch (op) {
    case OP_ADD: return number_add(vm, a, b);
    case OP_SUBTRACT: return number_subtract(vm, a, b);
    case OP_MULTIPLY: return number_multiply(vm, a, b);
    case OP_EQUAL:
    case OP_LESS:
    case OP_GREATER:
    case OP_NOT_GREATER:
    case OP_NOT_LESS:
        if (!is_number(a) || !is_number(b))
            return vm_fail(vm, "a number expected:", is_number(a) ? b : a, UNBOUND);
        return from_bool(numbers_compare(op, a, b));
    case OP_CAR: return is_pair(b) ? car(b) : vm_fail(vm, "car: a pair expected:", b, UNBOUND);
    case OP_CDR: return is_pair(b) ? cdr(b) : vm_fail(vm, "cdr: a pair expected:", b, UNBOUND);
    case OP_CONS: return cons(&vm->heap, a, b);
    case OP_IS_NULL: return from_bool(b == NIL);
    case OP_IS_PAIR: return from_bool(is_pair(b));
    case OP_IS_EQ: return from_bool(a == b);
    case OP_NOT: return from_bool(b == FALSE);
    default:
        if (!is_type(a, TYPE_VECTOR) || !is_int(b))
            return vm_fail(vm, "vector-ref: a vector and an index expected:", a, b);
        if ((uint32_t)as_int(b) >= AS(Vector, a)->len)
            return vm_fail(vm, "vector-ref: index out of range:", b, UNBOUND);
        return AS(Vector, a)->at[as_int(b)];
    }
}

static Value make_closure(Vm *vm, const Frame *f, const Value *stack, Value code,
                          const uint8_t *captures, uint32_t len) {
    Closure *c = heap_new(&vm->heap, TYPE_CLOSURE, sizeof *c + len * sizeof(Value));
    c->code = AS(Code, code);
    c->len = len;
    for (uint32_t i = 0; i < len; i++, captures += 3) {
        uint32_t index = (uint32_t)captures[1] | (uint32_t)captures[2] << 8;
        c->free[i] = captures[0] ? stack[f->base + index] : f->closure->free[index];
    }
    return from_object(c);
}

static Value unbound(Vm *vm, Value name) {
    return vm_fail(vm, "undefined variable:", name, UNBOUND);
}

/* Moves callee and arguments down over those of the function that ends here. */
static void reuse_frame(Vm *vm, uint32_t argc) {
    uint32_t to = vm->frames[vm->frame_count - 1].base - 1, from = vm->sp - argc - 1;
    memmove(&vm->stack[to], &vm->stack[from], (argc + 1) * sizeof *vm->stack);
    vm->sp = to + argc + 1;
    vm->frame_count--;
}

/* Runs until the number of frames is down to `floor`. One table-like switch. */
static Value run(Vm *vm, uint32_t floor) {
    Frame *f = NULL;
    const uint8_t *ip = NULL;
    const Value *constants = NULL;
    Value v;

#define READ16()   (ip += 2, (uint32_t)ip[-2] | (uint32_t)ip[-1] << 8)
#define PUSH(x)    (vm->stack[vm->sp++] = (x))
#define POP()      (vm->stack[--vm->sp])
#define LOCAL(n)   (vm->stack[f->base + (n)])
#define SAVE()     (f->ip = (uint32_t)(ip - f->closure->code->bytes))
#define FAST(a, b) (is_int(a) && is_int(b))

reload:
    if (vm->frame_count == floor)
        return POP();
    f = &vm->frames[vm->frame_count - 1];
    ip = f->closure->code->bytes + f->ip;
    constants = AS(Vector, f->closure->code->constants)->at;
    for (;;) {
        Op op = (Op)*ip++;
        switch (op) {
        case OP_CONST: PUSH(constants[READ16()]); break;
        case OP_INT: PUSH(from_int((int32_t)READ16())); break;
        case OP_UNSPECIFIED: PUSH(UNSPECIFIED); break;
        case OP_UNBOUND: PUSH(UNBOUND); break;
        case OP_LOCAL: PUSH(LOCAL(READ16())); break;
        case OP_LOCAL_BOXED:
            PUSH(v = AS(Box, LOCAL(READ16()))->value);
            if (v == UNBOUND)
                goto used_early;
            break;
        case OP_SET_LOCAL:
            v = POP();
            LOCAL(READ16()) = v;
            break;
        case OP_SET_LOCAL_BOXED:
            v = POP();
            AS(Box, LOCAL(READ16()))->value = v;
            break;
        case OP_FREE: PUSH(f->closure->free[READ16()]); break;
        case OP_FREE_BOXED:
            PUSH(v = AS(Box, f->closure->free[READ16()])->value);
            if (v == UNBOUND)
                goto used_early;
            break;
        case OP_SET_FREE_BOXED:
            v = POP();
            AS(Box, f->closure->free[READ16()])->value = v;
            break;
        case OP_GLOBAL: {
            Value name = constants[READ16()];
            v = AS(Symbol, name)->global;
            if (v == UNBOUND && (unbound(vm, name), true))
                goto failed;
            PUSH(v);
            break;
        }
        case OP_SET_GLOBAL: {
            Value name = constants[READ16()];
            v = POP();
            if (AS(Symbol, name)->global == UNBOUND && (unbound(vm, name), true)) {
                ip++; /* over the UNSPECIFIED that follows, which the handler's value replaces */
                goto failed;
            }
            AS(Symbol, name)->global = v;
            break;
        }
        case OP_DEFINE:
            v = POP();
            AS(Symbol, constants[READ16()])->global = v;
            break;
        case OP_BOX: {
            uint32_t slot = READ16();
            v = box_new(&vm->heap, LOCAL(slot));
            LOCAL(slot) = v;
            break;
        }
        case OP_POP: vm->sp--; break;
        case OP_SLIDE:
            v = POP();
            vm->sp -= READ16();
            PUSH(v);
            break;
        case OP_JUMP: ip = f->closure->code->bytes + READ16(); break;
        case OP_JUMP_IF_FALSE: {
            uint32_t target = READ16();
            if (POP() == FALSE)
                ip = f->closure->code->bytes + target;
            break;
        }
        case OP_JUMP_OR_POP: {
            uint32_t target = READ16();
            if (vm->stack[vm->sp - 1] != FALSE)
                ip = f->closure->code->bytes + target;
            else
                vm->sp--;
            break;
        }
        case OP_CLOSURE: {
            Value code = constants[READ16()];
            uint32_t len = READ16();
            v = make_closure(vm, f, vm->stack, code, ip, len);
            ip += len * 3;
            PUSH(v);
            break;
        }
        case OP_TAIL_CALL: {
            uint32_t argc = READ16();
            uint32_t callee_at = vm->sp - argc - 1;
            SAVE();
            if (is_type(vm->stack[callee_at], TYPE_CLOSURE)) {
                callee_at = f->base - 1;
                reuse_frame(vm, argc);
            }
            if (call(vm, argc) == FAILED) {
                vm->sp = callee_at;
                if (vm->exited || call_handler(vm) == FAILED)
                    return FAILED;
            }
            goto reload;
        }
        case OP_CALL: {
            uint32_t argc = READ16();
            SAVE();
            uint32_t callee_at = vm->sp - argc - 1;
            if (call(vm, argc) == FAILED) {
                vm->sp = callee_at;
                if (vm->exited || call_handler(vm) == FAILED)
                    return FAILED;
            }
            goto reload;
        }
        case OP_RETURN:
            v = POP();
            vm->sp = f->base - 1;
            vm->frame_count--;
            PUSH(v);
            goto reload;
        case OP_ADD:
        case OP_SUBTRACT: {
            Value b = POP(), a = POP();
            if (FAST(a, b)) {
                PUSH(from_int64((int64_t)as_int(a) +
                                (op == OP_ADD ? as_int(b) : -(int64_t)as_int(b))));
                break;
            }
            if ((v = run_inlined(vm, op, a, b)) == FAILED)
                goto failed;
            PUSH(v);
            break;
        }
        case OP_EQUAL:
        case OP_LESS: {
            Value b = POP(), a = POP();
            if (FAST(a, b)) {
                PUSH(from_bool(op == OP_LESS ? as_int(a) < as_int(b) : as_int(a) == as_int(b)));
                break;
            }
            if ((v = run_inlined(vm, op, a, b)) == FAILED)
                goto failed;
            PUSH(v);
            break;
        }
        case OP_CAR:
        case OP_CDR:
        case OP_IS_NULL:
        case OP_IS_PAIR:
        case OP_NOT:
            if ((v = run_inlined(vm, op, FALSE, POP())) == FAILED)
                goto failed;
            PUSH(v);
            break;
        case OP_MULTIPLY:
        case OP_GREATER:
        case OP_NOT_GREATER:
        case OP_NOT_LESS:
        case OP_CONS:
        case OP_IS_EQ:
        case OP_VECTOR_REF: {
            Value b = POP(), a = POP();
            if ((v = run_inlined(vm, op, a, b)) == FAILED)
                goto failed;
            PUSH(v);
            break;
        }
        case OP_COUNT: return FAILED;
        }
        continue;

        /* A handler's value stands for that of the instruction that failed. */
    used_early:
        vm->sp--;
        vm_fail(vm, "a variable is used before its definition", UNBOUND, UNBOUND);
        goto failed;
    failed:
        SAVE();
        if (call_handler(vm) == FAILED)
            return FAILED;
        goto reload;
    }
}

Value vm_run(Vm *vm, Value closure) {
    uint32_t floor = vm->frame_count, sp = vm->sp;
    vm->stack[vm->sp++] = closure;
    Value result = call(vm, 0) == FAILED ? FAILED : run(vm, floor);
    if (result == FAILED) {
        vm->frame_count = floor;
        vm->sp = sp;
        vm->handlers = NIL;
    }
    return result;
}

bool vm_run_text(Vm *vm, const char *text, size_t len, void (*show)(Value v)) {
    Reader r;
    reader_init(&r, &vm->heap, text, len);
    for (;;) {
        Value form = read_datum(&r);
        if (form == END_OF_FILE)
            return true;
        if (form == FAILED) {
            vm_fail(vm, r.error, UNBOUND, UNBOUND);
            return false;
        }
        Value closure = compile_form(vm, form);
        Value result = closure == FAILED ? FAILED : vm_run(vm, closure);
        if (result == FAILED)
            return false;
        if (show && result != UNSPECIFIED)
            show(result);
    }
}

/* --- Built-in functions that steer the VM --- */

static Value builtin_apply(Vm *vm, uint32_t argc, Value *args) {
    Value list = args[argc - 1];
    if (list_length(list) < 0)
        return vm_fail(vm, "apply: a list expected:", list, UNBOUND);
    for (uint32_t i = argc - 2; i > 0; i--)
        list = cons(&vm->heap, args[i], list);
    vm->next_function = args[0];
    vm->next_arguments = list;
    return CALL_NEXT;
}

static Value builtin_call_cc(Vm *vm, uint32_t argc, Value *args) {
    (void)argc;
    uint32_t callee_at = (uint32_t)(args - vm->stack) - 1;
    vm->next_function = args[0];
    vm->next_arguments = cons(&vm->heap, capture(vm, callee_at), NIL);
    return CALL_NEXT;
}

static Value builtin_push_handler(Vm *vm, uint32_t argc, Value *args) {
    (void)argc;
    vm->handlers = cons(&vm->heap, args[0], vm->handlers);
    return UNSPECIFIED;
}

static Value builtin_pop_handler(Vm *vm, uint32_t argc, Value *args) {
    (void)argc, (void)args;
    if (is_pair(vm->handlers))
        vm->handlers = cdr(vm->handlers);
    return UNSPECIFIED;
}

static Value builtin_error(Vm *vm, uint32_t argc, Value *args) {
    Value irritants = NIL;
    for (uint32_t i = argc - 1; i > 0; i--)
        irritants = cons(&vm->heap, args[i], irritants);
    Condition *c = heap_new(&vm->heap, TYPE_CONDITION, sizeof *c);
    c->message = args[0];
    c->irritants = irritants;
    vm->condition = from_object(c);
    return FAILED;
}

static Value builtin_raise(Vm *vm, uint32_t argc, Value *args) {
    (void)argc;
    vm->condition = args[0];
    return FAILED;
}

static Value builtin_condition_message(Vm *vm, uint32_t argc, Value *args) {
    (void)argc;
    if (!is_type(args[0], TYPE_CONDITION))
        return vm_fail(vm, "condition-message: a condition expected:", args[0], UNBOUND);
    return AS(Condition, args[0])->message;
}

static Value builtin_condition_irritants(Vm *vm, uint32_t argc, Value *args) {
    (void)argc;
    if (!is_type(args[0], TYPE_CONDITION))
        return vm_fail(vm, "condition-irritants: a condition expected:", args[0], UNBOUND);
    return AS(Condition, args[0])->irritants;
}

static Value builtin_exit(Vm *vm, uint32_t argc, Value *args) {
    vm->exited = true;
    vm->exit_status = argc == 0 || args[0] == TRUE ? 0
                      : is_int(args[0])            ? as_int(args[0]) & 0xff
                                                   : 1;
    return FAILED;
}

static Value builtin_collections(Vm *vm, uint32_t argc, Value *args) {
    (void)argc, (void)args;
    return from_int((int32_t)vm->heap.collections);
}

static Value builtin_calls(Vm *vm, uint32_t argc, Value *args) {
    (void)argc, (void)args;
    return from_double((double)vm->calls);
}

const BuiltinRow control_builtins[] = {
    {"apply", builtin_apply, 2, MANY},
    {"call/cc", builtin_call_cc, 1, 1},
    {"call-with-current-continuation", builtin_call_cc, 1, 1},
    {"push-handler!", builtin_push_handler, 1, 1},
    {"pop-handler!", builtin_pop_handler, 0, 0},
    {"error", builtin_error, 1, MANY},
    {"raise", builtin_raise, 1, 1},
    {"condition-message", builtin_condition_message, 1, 1},
    {"condition-irritants", builtin_condition_irritants, 1, 1},
    {"exit", builtin_exit, 0, 1},
    {"gc-collections", builtin_collections, 0, 0},
    {"vm-calls", builtin_calls, 0, 0},
    {NULL, NULL, 0, 0},
};
