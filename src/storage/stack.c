/*
 * storage/stack.c - the shadow stack of the bundled library `stack`.
 */
#include "storage/stack.h"

#include "../../stdlib/runtime/stack.h"
#include "../../stdlib/runtime/tree.h" /* TREE_ANY */
#include "library/library.h"
#include "wasm/emit.h"

/* A function of the library that code calls at run time. */
static bool storage_stack_calls(const Plan *plan, const char *name) {
    for (uint32_t i = 0; i < plan->library_fns.len; i++) {
        const LibraryFn *f = &plan->library_fns.at[i];
        if (f->runs && f->bundled && bundled_kind(f->bundled) == BUNDLED_STACK &&
            (!name || str_is(f->name, name)))
            return true;
    }
    return false;
}

bool stack_is_engines(const Plan *plan) {
    return storage_stack_calls(plan, "engine");
}

bool stack_is_read(const Plan *plan) {
    return stack_is_engines(plan) || storage_stack_calls(plan, "share") ||
           storage_stack_calls(plan, "collect") || storage_stack_calls(plan, "tell");
}

bool stack_is_in_program(const Plan *plan, bool imported) {
    return storage_stack_calls(plan, NULL) && (!imported || stack_is_read(plan));
}

bool stack_switches(const Plan *plan) {
    return (storage_stack_calls(plan, "suspend") || storage_stack_calls(plan, "resume")) &&
           !stack_is_engines(plan);
}

void stack_helpers(const Plan *plan, bool imported, bool switches, bool *used) {
    bool inside = stack_is_in_program(plan, imported);
    if (switches)
        used[HELPER_FRAME_PUSH] = used[HELPER_FRAME_POP] = true;
    if (storage_stack_calls(plan, NULL) && !inside)
        used[HELPER_STACK_TOP] = used[HELPER_STACK_SET_TOP] = used[HELPER_STACK_PUT] = true;
    if (!inside || (!storage_stack_calls(plan, "sample") && !storage_stack_calls(plan, "collect")))
        return;
    used[HELPER_TREE_GO_UNTIMED] = used[HELPER_TREE_DESCEND] = used[HELPER_TREE_ADD] = true;
    used[HELPER_TREE_HERE] |= storage_stack_calls(plan, "collect");
}

/* Adds the stack as it is to the calling-context tree. */
static uint32_t add_sample(const StackPlaces *at, WasmModule *m, const uint32_t *helpers) {
    return emit_function(
        m, "whammc.stack_sample",
        "param $samples i64 $ns i64 local $at i32 $end i32"
        " $memory=%u $go=%u $descend=%u $add=%u"
        " $frames=%d $outer=%d $inner=%d $both=%d $left_out=%d"
        " i32.const 0 call $go"
        " loop"
        "   local.get $end i32.const $frames i32.add i32.load $memory 0"
        "   if local.get $end i32.const 4 i32.add local.set $end br 1 end"
        " end"
        " block loop"
        "   local.get $at local.get $end i32.ge_u br_if 1"
        "   local.get $at i32.const $outer i32.eq local.get $end i32.const $both i32.gt_u i32.and"
        "   if"
        "     i32.const $left_out call $descend"
        "     local.get $end i32.const $inner i32.sub local.set $at"
        "   end"
        "   local.get $at i32.const $frames i32.add i32.load $memory 0"
        "   i32.const 1 i32.sub call $descend"
        "   local.get $at i32.const 4 i32.add local.set $at"
        "   br 0"
        " end end"
        " local.get $samples local.get $ns call $add"
        " i32.const 0 call $go",
        at->memory, helpers[HELPER_TREE_GO_UNTIMED], helpers[HELPER_TREE_DESCEND],
        helpers[HELPER_TREE_ADD], STACK_FRAMES, STACK_STEP * STACK_OUTER, STACK_STEP * STACK_INNER,
        STACK_STEP * (STACK_OUTER + STACK_INNER), (int)TREE_ANY);
}

/* The host's function that is called with each sample. */
static uint32_t add_tell(WasmModule *m) {
    uint32_t type = wasm_add_func_type(m, NULL, 0, NULL, 0);
    uint32_t tell = wasm_add_import_func(m, STR("whammc"), STR(STACK_TELL_IMPORT), type);
    m->funcs.at[tell].name = STR("whammc." STACK_TELL_IMPORT);
    return tell;
}

/* Adds the nodes of the host's sampler to the calling-context tree. */
static uint32_t add_collect(const StackPlaces *at, WasmModule *m, const uint32_t *helpers) {
    WasmType i32 = WASM_I32;
    uint32_t type = wasm_add_func_type(m, &i32, 1, &i32, 1);
    uint32_t next = wasm_add_import_func(m, STR("whammc"), STR(STACK_IMPORT), type);
    m->funcs.at[next].name = STR("whammc." STACK_IMPORT);
    return emit_function(
        m, "whammc.stack_collect",
        "local $place i32 $next=%u $memory=%u $go=%u $descend=%u $add=%u $here=%u"
        " block loop"
        "   local.get $place call $next i32.eqz br_if 1"
        "   i32.const 0 i32.load $memory 0 call $go"
        "   i32.const 0 i32.load $memory 4 call $descend"
        "   i32.const 0 i64.load $memory 8 i32.const 0 i64.load $memory 16 call $add"
        "   call $here local.set $place"
        "   br 0"
        " end end"
        " i32.const 0 call $go",
        next, at->memory, helpers[HELPER_TREE_GO_UNTIMED], helpers[HELPER_TREE_DESCEND],
        helpers[HELPER_TREE_ADD], helpers[HELPER_TREE_HERE]);
}

/* The same where the engine's profiler takes them. */
static void add_engine(StackPlaces *at, const Plan *plan, WasmModule *m, const uint32_t *helpers) {
    WasmType i64 = WASM_I64;
    uint32_t none = wasm_add_func_type(m, NULL, 0, NULL, 0);
    uint32_t one = wasm_add_func_type(m, &i64, 1, NULL, 0);
    at->engine = true;
    at->every = wasm_add_import_func(m, STR("whammc"), STR(STACK_EVERY_IMPORT), one);
    m->funcs.at[at->every].name = STR("whammc." STACK_EVERY_IMPORT);
    if (!storage_stack_calls(plan, "collect"))
        return;
    at->collect = wasm_add_import_func(m, STR("whammc"), STR(STACK_SAMPLES_IMPORT), none);
    m->funcs.at[at->collect].name = STR("whammc." STACK_SAMPLES_IMPORT);
    uint32_t add = emit_function(
        m, "whammc.add_samples",
        "param $parent i32 $function i32 $samples i64 $ns i64 result i32 local $here i32"
        " local.get $parent call %u local.get $function call %u"
        " local.get $samples local.get $ns call %u"
        " call %u local.set $here i32.const 0 call %u local.get $here",
        helpers[HELPER_TREE_GO_UNTIMED], helpers[HELPER_TREE_DESCEND], helpers[HELPER_TREE_ADD],
        helpers[HELPER_TREE_HERE], helpers[HELPER_TREE_GO_UNTIMED]);
    wasm_add_export(m, STR(STACK_ADD_EXPORT), WASM_SPACE_FUNC, add);
}

/* Adds the functions for stacks that the host says are left or resumed: they set aside the frames,
 * the outermost first, their size in bytes, and the top. */
static void add_switches(StackPlaces *at, WasmModule *m, const uint32_t *helpers) {
    at->suspend = emit_function(
        m, "whammc.stack_suspend",
        "param $id i32 local $end i32 $frame i32 $memory=%u $top=%u $push=%u $frames=%d"
        " loop"
        "   local.get $end i32.const $frames i32.add i32.load $memory 0 local.tee $frame"
        "   if"
        "     local.get $id local.get $frame i64.extend_i32_u call $push"
        "     local.get $end i32.const 4 i32.add local.set $end br 1"
        "   end"
        " end"
        " local.get $id local.get $end i64.extend_i32_u call $push"
        " local.get $id global.get $top i64.extend_i32_u call $push"
        " i32.const 0 global.set $top i32.const 0 i32.const 0 i32.store $memory $frames",
        at->memory, at->top, helpers[HELPER_FRAME_PUSH], STACK_FRAMES);
    at->resume = emit_function(
        m, "whammc.stack_resume",
        "param $id i32 result i32 local $end i32 $at i32 $memory=%u $top=%u $pop=%u $frames=%d"
        " local.get $id call $pop i32.wrap_i64 global.set $top"
        " local.get $id call $pop i32.wrap_i64 local.tee $end local.tee $at"
        " i32.const 0 i32.store $memory $frames"
        " block loop"
        "   local.get $at i32.eqz br_if 1"
        "   local.get $at i32.const 4 i32.sub local.tee $at"
        "   local.get $id call $pop i32.wrap_i64 i32.store $memory $frames"
        "   br 0"
        " end end"
        " local.get $end",
        at->memory, at->top, helpers[HELPER_FRAME_POP], STACK_FRAMES);
}

static uint32_t add_reset(const StackPlaces *at, WasmModule *m) {
    return emit_function(m, "whammc.stack_reset",
                         "i32.const 0 global.set %u i32.const 0 i32.const 0 i32.store %u %d",
                         at->top, at->memory, STACK_FRAMES);
}

void stack_add(StackPlaces *at, const Plan *plan, WasmModule *m, bool switches,
               const uint32_t *helpers) {
    *at = (StackPlaces){
        .sample = UINT32_MAX, .tell = UINT32_MAX, .collect = UINT32_MAX, .place = UINT32_MAX};
    if (stack_is_engines(plan)) {
        add_engine(at, plan, m, helpers);
        return;
    }
    at->switches = switches;
    uint32_t beyond = (m->funcs.len + STACK_FRAMES) * STACK_STEP; /* bytes: see runtime/stack.h */
    uint32_t pages = STACK_PAGES + (beyond >> 16);
    WasmLimits limits = {.min = pages,
                         .max = pages,
                         .has_max = true,
                         .shared = storage_stack_calls(plan, "share"),
                         .page_log2 = 16};
    at->memory = wasm_add_memory(m, limits, STR("whammc.stack"));
    at->top = wasm_add_global_zero(m, WASM_I32, true, STR("whammc.stack_top"));
    wasm_add_export(m, STR(STACK_EXPORT), WASM_SPACE_MEMORY, at->memory);
    wasm_add_export(m, STR(STACK_RESET_EXPORT), WASM_SPACE_FUNC, add_reset(at, m));
    if (storage_stack_calls(plan, "sample"))
        at->sample = add_sample(at, m, helpers);
    if (storage_stack_calls(plan, "tell"))
        at->tell = add_tell(m);
    if (storage_stack_calls(plan, "collect"))
        at->collect = add_collect(at, m, helpers);
    if (switches)
        add_switches(at, m, helpers);
}

void stack_import(StackPlaces *at, const uint32_t *helpers) {
    *at = (StackPlaces){.helpers = helpers, .runtime = true, .place = UINT32_MAX};
}

static uint32_t stack_memory_of(const StackPlaces *at, const WasmModule *m) {
    return wasm_final(m, WASM_SPACE_MEMORY, at->memory);
}

static uint32_t top_of(const StackPlaces *at, const WasmModule *m) {
    return wasm_final(m, WASM_SPACE_GLOBAL, at->top);
}

static uint32_t helper(const StackPlaces *at, const WasmModule *m, uint32_t which) {
    return wasm_final(m, WASM_SPACE_FUNC, at->helpers[which]);
}

void stack_put_top(const StackPlaces *at, const WasmModule *m, Buf *out) {
    if (at->runtime)
        emit(out, "call %u", helper(at, m, HELPER_STACK_TOP));
    else
        emit(out, "global.get %u i32.const %d i32.and", top_of(at, m), STACK_MASK);
}

void stack_put_set_top(const StackPlaces *at, const WasmModule *m, uint32_t local, uint32_t step,
                       Buf *out) {
    emit(out, "local.get %u", local);
    if (step)
        emit(out, "i32.const %u i32.add", step);
    if (at->runtime)
        emit(out, "call %u", helper(at, m, HELPER_STACK_SET_TOP));
    else
        emit(out, "global.set %u", top_of(at, m));
}

void stack_put_frame(const StackPlaces *at, const WasmModule *m, uint32_t local, uint32_t step,
                     uint32_t frame, Buf *out) {
    emit(out, "local.get %u", local);
    if (at->runtime)
        emit(out, "i32.const %u i32.add i32.const %u call %u", step, frame,
             helper(at, m, HELPER_STACK_PUT));
    else if (frame)
        emit(out, "i64.const %u i64.store %u %u", frame, stack_memory_of(at, m),
             STACK_FRAMES + step);
    else
        emit(out, "i32.const 0 i32.store %u %u", stack_memory_of(at, m), STACK_FRAMES + step);
}

void stack_put_leave(const StackPlaces *at, const WasmModule *m, uint32_t local, Buf *out) {
    stack_put_set_top(at, m, local, 0, out);
    stack_put_frame(at, m, local, 0, 0, out);
}

static void put_leave(const StackPlaces *at, const WasmModule *m, Buf *out) {
    if (at->place != UINT32_MAX && at->host)
        stack_put_leave(at, m, at->place, out);
}

static void stack_put_cut(const StackPlaces *at, const WasmModule *m, Buf *out) {
    if (at->place != UINT32_MAX && at->left)
        stack_put_frame(at, m, at->place, at->step, 0, out);
}

/* Pushes whether the function's frame is the outermost; 0 if its address is not known, or if the
 * host cannot call it. */
static void put_outermost(const StackPlaces *at, Buf *out) {
    if (at->place == UINT32_MAX || !at->may_begin)
        emit(out, "i32.const 0");
    else
        emit(out, "local.get %u i32.eqz", at->place);
}

/* Where functions return when a stack is left, and are called again, they take care of their frames
 * themselves; some are active then. */
static void put_switch(const StackPlaces *at, const WasmModule *m, StackOp op, Buf *out) {
    uint32_t func = op == STACK_SUSPEND ? at->suspend : at->resume;
    if (at->switches)
        emit(out, "call %u", wasm_final(m, WASM_SPACE_FUNC, func));
    else
        emit(out, op == STACK_SUSPEND ? "drop" : "drop i32.const 1");
}

/* An operation where the engine's stack is the only one. */
static void put_of_engine(const StackPlaces *at, const WasmModule *m, StackOp op, Buf *out) {
    switch (op) {
    case STACK_OUTERMOST: emit(out, "i32.const 0"); break;
    case STACK_SET_INTERVAL:
        emit(out, "call %u drop", wasm_final(m, WASM_SPACE_FUNC, at->every));
        break;
    case STACK_SAMPLE: emit(out, "drop drop"); break;
    case STACK_SUSPEND: emit(out, "drop"); break;
    case STACK_RESUME: emit(out, "drop i32.const 0"); break;
    case STACK_COLLECT: emit(out, "call %u", wasm_final(m, WASM_SPACE_FUNC, at->collect)); break;
    case STACK_LEAVE:
    case STACK_CUT:
    case STACK_TELL: break;
    }
}

void stack_put(const StackPlaces *at, const WasmModule *m, StackOp op, Buf *out) {
    if (at->engine) {
        put_of_engine(at, m, op, out);
        return;
    }
    switch (op) {
    case STACK_LEAVE: put_leave(at, m, out); break;
    case STACK_OUTERMOST: put_outermost(at, out); break;
    case STACK_CUT: stack_put_cut(at, m, out); break;
    case STACK_SET_INTERVAL:
        emit(out, "i64.store %u %d", stack_memory_of(at, m), STACK_INTERVAL);
        break;
    case STACK_SAMPLE: emit(out, "call %u", wasm_final(m, WASM_SPACE_FUNC, at->sample)); break;
    case STACK_TELL: emit(out, "call %u", wasm_final(m, WASM_SPACE_FUNC, at->tell)); break;
    case STACK_COLLECT: emit(out, "call %u", wasm_final(m, WASM_SPACE_FUNC, at->collect)); break;
    case STACK_SUSPEND:
    case STACK_RESUME: put_switch(at, m, op, out); break;
    }
}
