/*
 * storage/storage_atomics.c - atomic variables of programs with threads.
 *
 * They are in a shared memory that the host gives to all threads (stdlib/host/node/atomics.js).
 * Other programs of the process have the same memory: it consists of blocks, each beginning with
 * the number of the program that has taken it, or 0. A program looks for its block on first use.
 * The block has, for each variable, its value and the amount reported so far.
 *
 * Each instance reports the amount that no other one has reported, and adds it to the variable's
 * place in its own memory, which sums up its own reports. So the sum of all reports is the value.
 */
#include "storage/storage.h"

#include <inttypes.h>
#include <stdio.h>

static bool storage_atomics_is_wide(const PlanVar *v) {
    return type_wasm(v->decl->type) == WASM_I64;
}

void atomics_note(AtomicUse *use, const Plan *plan, uint32_t hole) {
    const PlanVar *v = &plan->vars.at[hole / ATOMIC_OPS];
    use->ops[hole % ATOMIC_OPS][storage_atomics_is_wide(v)] = true;
}

/* Returns a variable's place in the block: value, reported. */
static uint32_t storage_atomics_place_of(const Plan *plan, uint32_t var) {
    uint32_t before = 0;
    for (uint32_t i = 0; i < var; i++)
        before += plan->vars.at[i].decl->atomic;
    return before * 16;
}

/* Adds the function that finds the program's block or takes a free one. If other programs have
 * taken all, it is the last one that was looked at. */
static uint32_t add_find(WasmModule *m, uint32_t memory, uint32_t block, uint64_t number) {
    enum { SIZE = ATOMICS_PAGES * 65536 };
    return emit_function(
        m, "whammc.atomics",
        "local $at i32 $left i32 $owner i64 $memory=%u $block=%u $number=%" PRIu64
        " $first=%u $blocks=%u"
        " i32.const $first local.set $at i32.const $blocks local.set $left"
        " loop"
        "  local.get $at i64.const 0 i64.const $number i64.atomic.rmw.cmpxchg $memory 0 align=8"
        "  local.tee $owner i64.eqz local.get $owner i64.const $number i64.eq i32.or i32.eqz"
        "  local.get $left i32.const 1 i32.sub local.tee $left i32.const 0 i32.ne i32.and if"
        "   local.get $at i32.const %u i32.add i32.const %u i32.and local.set $at br 1"
        "  end"
        " end"
        " local.get $at i32.const 16 i32.add global.set $block",
        memory, block, number, (unsigned)(number % (SIZE / ATOMICS_BLOCK) * ATOMICS_BLOCK),
        (unsigned)(SIZE / ATOMICS_BLOCK), (unsigned)ATOMICS_BLOCK, SIZE - 1u);
}

/* Appends code that pushes the address of the place in a local. */
static void storage_atomics_put_address(Buf *out, uint32_t block, uint32_t find, uint32_t local) {
    emit(out, "global.get %u i32.eqz if call %u end global.get %u local.get %u i32.add", block,
         find, block, local);
}

void atomics_import(Atomics *a, WasmModule *m) {
    WasmLimits limits = {.min = ATOMICS_PAGES,
                         .max = ATOMICS_PAGES,
                         .has_max = true,
                         .shared = true,
                         .page_log2 = 16};
    a->any = true;
    a->memory = wasm_add_import_memory(m, STR("whammc"), STR("atomics"), limits);
}

void atomics_add(Atomics *a, const AtomicUse *use, WasmModule *m, const Plan *plan,
                 uint64_t number) {
    static const char *const names[ATOMIC_OPS] = {
        "atomic.load",    "atomic.store",  "atomic.rmw.add", "atomic.rmw.sub",
        "atomic.rmw.and", "atomic.rmw.or", "atomic.rmw.xor"};
    uint32_t memory = a->memory;
    uint32_t block = wasm_add_global_i32(m, true, STR("whammc.atomics"), 0);
    uint32_t find = add_find(m, memory, block, number);
    for (uint32_t wide = 0; wide < 2; wide++) {
        const char *type = wide ? "i64" : "i32";
        WasmType w = wide ? WASM_I64 : WASM_I32;
        uint32_t align = wide ? 8 : 4;
        Buf at0 = {0}, at1 = {0};
        storage_atomics_put_address(&at0, block, find, 0);
        storage_atomics_put_address(&at1, block, find, 1);
        bool exists = false, reports = false;
        for (uint32_t i = 0; i < plan->vars.len; i++) {
            const PlanVar *v = &plan->vars.at[i];
            exists |= v->decl->atomic && storage_atomics_is_wide(v) == wide;
            reports |= v->decl->atomic && storage_atomics_is_wide(v) == wide && v->decl->report;
        }
        if (exists) /* there are exports that tell the values */
            a->ops[ATOMIC_LOAD][wide] = emit_function(
                m, "whammc.atomic.load", "param $at i32 result %u %p %s.atomic.load %u 0 align=%u",
                w, &at0, type, memory, align);
        if (use->ops[ATOMIC_STORE][wide])
            a->ops[ATOMIC_STORE][wide] = emit_function(
                m, "whammc.atomic.store",
                "param $value %u $at i32 %p local.get $value %s.atomic.store %u 0 align=%u", w,
                &at1, type, memory, align);
        for (uint32_t op = ATOMIC_ADD; op < ATOMIC_OPS; op++) {
            char name[24];
            snprintf(name, sizeof name, "%s.%s", type, names[op]);
            if (use->ops[op][wide])
                a->ops[op][wide] = emit_function(
                    m, "whammc.atomic",
                    "param $value %u $at i32 result %u %p local.get $value %s %u 0 align=%u", w, w,
                    &at1, name, memory, align);
        }
        if (reports)
            a->unreported[wide] =
                emit_function(m, "whammc.unreported",
                              "param $at i32 result %u local $value %u"
                              " %p %s.atomic.load %u 0 align=%u local.tee $value"
                              " %p local.get $value %s.atomic.rmw.xchg %u 8 align=%u %s.sub",
                              w, w, &at0, type, memory, align, &at0, type, memory, align, type);
        buf_free(&at0);
        buf_free(&at1);
    }
}

void atomics_put(const Atomics *a, const WasmModule *m, const Plan *plan, uint32_t hole, Buf *out) {
    uint32_t var = hole / ATOMIC_OPS;
    emit_call_on(
        out,
        wasm_final(m, WASM_SPACE_FUNC,
                   a->ops[hole % ATOMIC_OPS][storage_atomics_is_wide(&plan->vars.at[var])]),
        (int32_t)storage_atomics_place_of(plan, var));
}

void atomics_put_load(const Atomics *a, const WasmModule *m, const Plan *plan, uint32_t var,
                      Buf *out) {
    atomics_put(a, m, plan, var * ATOMIC_OPS + ATOMIC_LOAD, out);
}

void atomics_put_report(const Atomics *a, const Store *s, const WasmModule *m, const PlanVar *v,
                        Buf *out) {
    EmitNumber own = store_variable(s, m, v, 0);
    emit_begin_set(out, own);
    emit_get(out, own);
    emit_call_on(out, wasm_final(m, WASM_SPACE_FUNC, a->unreported[storage_atomics_is_wide(v)]),
                 (int32_t)storage_atomics_place_of(s->plan, v->id));
    emit(out, "%s.add", storage_atomics_is_wide(v) ? "i64" : "i32");
    emit_set(out, own);
}

void atomics_put_section(const Atomics *a, const Store *s, Buf *out) {
    static const char name[] = "whammc.atomics";
    Buf places = {0};
    for (uint32_t i = 0; a->any && i < s->plan->vars.len; i++) {
        const Var *v = s->plan->vars.at[i].decl;
        if (v->atomic && v->report && s->var_in_memory[i])
            buf_u32le(&places, (uint32_t)s->address[i]);
    }
    if (places.len) {
        buf_u8(out, 0);
        buf_uleb(out, 1 + (sizeof name - 1) + places.len);
        buf_uleb(out, sizeof name - 1);
        buf_bytes(out, name, sizeof name - 1);
        buf_bytes(out, places.data, places.len);
    }
    buf_free(&places);
}
