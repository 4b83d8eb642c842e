/*
 * tests/unit/site.c - what the decoder of monitors (stdlib/runtime/site/site.h) says about every
 * instruction of the modules given as arguments is what the compiler itself says. Prints "N
 * instructions of N modules, N differ, N kinds of instructions"; fails if any differ. With
 * --checksum, prints for each file a number made of what tests/fixtures/monitor/site.c asks; with
 * --table, the table of instructions as C. With --break, changes bytes of the modules and asks
 * about all that is decodable then: the decoder traps, or says something.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "event/fold.h"
#include "file.h"
#include "stdlib/runtime/site/site_state.h"
#include "valid/frame.h"
#include "valid/op_table.h"
#include "valid/typer.h"
#include "valid/valid.h"

/* ---- the engine's side ---- */

static const WasmModule *program;
static uint8_t *memory;
static bool quiet; /* no messages */
#define PROGRAM_PATH "folder/program.wasm"
enum { MEMORY = 1u << 30, SMALL_MEMORY = 1u << 22 };

static uint32_t give(uint32_t to, uint32_t len, const void *bytes, size_t size) {
    size_t n = len < size ? len : size;
    if (n)
        memcpy(memory + to, bytes, n);
    return (uint32_t)size;
}

static uint32_t give_str(uint32_t to, uint32_t len, Str s) {
    return give(to, len, s.ptr, s.len);
}

uint32_t reflect_read_section(uint32_t id, uint32_t to, uint32_t len, uint32_t unused);
uint32_t reflect_read_section(uint32_t id, uint32_t to, uint32_t len, uint32_t unused) {
    (void)unused;
    for (uint32_t k = 0; k < program->sections.len; k++) {
        const WasmSection *s = &program->sections.at[k];
        if (s->id == id)
            return give(to, len, program->bytes + s->payload, s->end - s->payload);
    }
    return 0;
}

uint32_t reflect_read_function_body(uint32_t fid, uint32_t to, uint32_t len);
uint32_t reflect_read_function_body(uint32_t fid, uint32_t to, uint32_t len) {
    const WasmFunc *f = &program->funcs.at[fid];
    return f->import >= 0 ? 0 : give(to, len, program->bytes + f->body, f->body_size);
}

uint32_t reflect_read_function_name(uint32_t fid, uint32_t to, uint32_t len);
uint32_t reflect_read_function_name(uint32_t fid, uint32_t to, uint32_t len) {
    return give_str(to, len, program->funcs.at[fid].name);
}

uint32_t reflect_read_module_path(uint32_t to, uint32_t len);
uint32_t reflect_read_module_path(uint32_t to, uint32_t len) {
    return give_str(to, len, STR(PROGRAM_PATH));
}

uint32_t reflect_read_module_name(uint32_t to, uint32_t len);
uint32_t reflect_read_module_name(uint32_t to, uint32_t len) {
    return give_str(to, len, program->name);
}

void host_message(const uint8_t *text, uint32_t len);
void host_message(const uint8_t *text, uint32_t len) {
    if (quiet)
        return;
    fwrite(text, 1, len, stdout);
    fflush(stdout);
}

SiteState site_state;

/* A fresh memory. Element and data segments, which the decoder does not read, are the program's. */
static void lay_out(uint32_t bytes) {
    memory = values_native_memory(bytes);
    if (!memory)
        abort();
    values_native_set(VALUES_HEAP, VALUES_START);
    WasmModule *m = &site_model()->m;
    m->elems = program->elems;
    m->has_data_count = true;
    m->data_count = UINT32_MAX;
}

/* ---- what the compiler says ---- */

enum { MAX_ARGS = 12, MAX_IMMS = 20 };

typedef struct Answers {
    uint32_t pc, op, opidx, live, last;
    uint32_t first_of_block, last_of_block, count, in_try, to_loop;
    uint64_t loops; /* of the first 64 targets */
    uint32_t args[MAX_ARGS];
    uint32_t has_imm; /* bits */
    uint64_t imms[MAX_IMMS];
    uint64_t offset;
    uint32_t num_targets, memory, item_size, resolved;
    bool is_call;
    uint32_t callee;
} Answers;

typedef struct Checker {
    const WasmModule *m;
    WasmSurvey survey;
    WasmTyper typer;
    WasmTypes operands, results;
    Flow flow;
    Vec(Answers) expected; /* of a function */
    bool seen[WASM_OP_COUNT];
    uint64_t checksum;
    uint32_t instructions, modules, skipped, differ;
} Checker;

static uint32_t type_byte(WasmType t) {
    if (t == WASM_BOT)
        return SITE_ANY;
    if (!WASM_IS_REF(t))
        return t;
    return t & WASM_NULL_BIT && t & WASM_ABSTRACT_BIT ? t & 0xff : (uint32_t)SITE_REF;
}

static uint64_t number(const Site *s, NameId id, uint32_t n, bool *has) {
    Bound name = {.id = id, .n = n, .type = &type_scalar[TYPE_U64]};
    Value v = {0};
    *has = site_value(s, &name, &v);
    return *has ? v.bits : 0;
}

static uint32_t word(const Site *s, NameId id, uint32_t n) {
    bool has;
    return (uint32_t)number(s, id, n, &has);
}

static bool is_loop(const Flow *f, uint32_t depth) {
    return depth < f->frames.len && f->frames.at[f->frames.len - 1 - depth].op == WASM_OP_LOOP;
}

/* Before the step. */
static void branch_targets(const Flow *f, const WasmInstr *i, Answers *a) {
    const uint8_t *at = i->vec;
    switch (i->op) {
    case WASM_OP_BR:
    case WASM_OP_BR_IF:
    case WASM_OP_BR_ON_NULL:
    case WASM_OP_BR_ON_NON_NULL:
    case WASM_OP_BR_ON_CAST:
    case WASM_OP_BR_ON_CAST_FAIL:
    case WASM_OP_BR_ON_CAST_DESC_EQ:
    case WASM_OP_BR_ON_CAST_DESC_EQ_FAIL: a->loops = is_loop(f, i->a); break;
    case WASM_OP_BR_TABLE:
        for (uint32_t k = 0; k <= i->count; k++) {
            bool loop = is_loop(f, k < i->count ? wasm_vec_u32(&at) : i->a);
            a->to_loop |= loop;
            a->loops |= k < 64 ? (uint64_t)loop << k : 0;
        }
        break;
    case WASM_OP_TRY_TABLE:
        for (uint32_t k = 0; k < i->count; k++)
            a->loops |= is_loop(f, wasm_vec_catch(&at).label);
        break;
    case WASM_OP_RESUME:
    case WASM_OP_RESUME_THROW:
    case WASM_OP_RESUME_THROW_REF:
        for (uint32_t k = 0; k < i->count; k++) {
            WasmHandler h = wasm_vec_handler(&at);
            a->loops |= !h.switches && is_loop(f, h.label);
        }
        break;
    default: break;
    }
    a->to_loop |= a->loops != 0;
}

static uint32_t in_try(const Flow *f) {
    for (uint32_t k = 0; k < f->frames.len; k++)
        if (f->frames.at[k].op == WASM_OP_TRY || f->frames.at[k].op == WASM_OP_TRY_TABLE)
            return 1;
    return 0;
}

static void expect_values(const Site *s, Answers *a) {
    const WasmInstr *i = s->instr;
    bool has;
    for (uint32_t n = 0; n < MAX_IMMS; n++) {
        a->imms[n] = number(s, NAME_IMM, n, &has);
        a->has_imm |= (uint32_t)has << n;
    }
    uint8_t imm = wasm_ops[i->op].imm;
    a->offset = i->c;
    a->memory = accessed_memory(i, 0);
    a->num_targets = imm == WASM_IMM_BR_TABLE ? i->count : 0;
    bool of_type = i->op >= WASM_OP_ARRAY_NEW && i->op <= WASM_OP_ARRAY_INIT_ELEM &&
                   i->op != WASM_OP_ARRAY_LEN;
    a->item_size = of_type ? word(s, NAME_ITEM_SIZE, 0) : 0;
    a->resolved = word(s, NAME_RESOLVED_FID, 0);
    a->is_call = i->op == WASM_OP_CALL || i->op == WASM_OP_RETURN_CALL;
    a->callee = i->a;
}

static bool expect_function(Checker *c, uint32_t func) {
    const WasmFunc *f = &c->m->funcs.at[func];
    WasmCode code;
    c->expected.len = 0;
    if (!wasm_typer_begin(&c->typer, c->m, func, &code))
        return false;
    flow_begin(&c->flow);
    Site s = {.m = c->m, .func = func};
    WasmInstr buffer[2];
    uint32_t first = 0; /* of the block */
    for (uint32_t index = 0; wasm_next(&code, &buffer[index & 1]); index++) {
        const WasmInstr *i = &buffer[index & 1];
        Answers a = {.pc = i->offset, .op = i->op, .opidx = index};
        a.in_try = in_try(&c->flow);
        branch_targets(&c->flow, i, &a);
        FlowStep step = flow_step(&c->flow, i, code.at == code.end ? 0 : *code.at);
        a.first_of_block = step.first;
        a.last_of_block = step.last;
        a.count = step.last ? step.count : 0;
        a.last = i->offset + i->size == f->body_size;
        a.live = !wasm_typer_dead(&c->typer);
        c->operands.len = c->results.len = 0;
        wasm_instr_types(&c->typer, i, &c->operands, &c->results);
        for (uint32_t n = 0; n < MAX_ARGS && n < c->operands.len; n++)
            a.args[n] = type_byte(c->operands.at[c->operands.len - 1 - n]);
        s.instr = i;
        s.previous = index ? &buffer[(index + 1) & 1] : NULL;
        expect_values(&s, &a);
        vec_push(&c->expected, a);
        if (step.first)
            first = index;
        if (step.last)
            c->expected.at[first].count = step.count;
        c->seen[i->op] = true;
        if (!wasm_typer_step(&c->typer, i))
            return false;
    }
    return !code.error;
}

/* ---- what the decoder says ---- */

static bool same_str(uint32_t s, Str want) {
    return values_load32(s) == want.len &&
           (!want.len || memcmp(memory + s + 4, want.ptr, want.len) == 0);
}

static bool map_fits(uint32_t map, uint64_t loops) {
    uint64_t have = 0;
    for (uint32_t k = 0; k < values_load32(map) && k < 8; k++)
        have |= (uint64_t)memory[map + 4 + k] << 8 * k;
    return have == loops;
}

static Str called(const WasmModule *m, uint32_t callee, NameId id) {
    WasmInstr i = {.a = callee, .op = WASM_OP_CALL};
    Site s = {.m = m, .instr = &i};
    Bound name = {.id = id, .type = &type_scalar[TYPE_STR]};
    Value v = {0};
    site_value(&s, &name, &v);
    return v.text;
}

#define SAME(what, have, want)                                                                     \
    do {                                                                                           \
        uint64_t have_ = (have), want_ = (want);                                                   \
        if (have_ != want_)                                                                        \
            return differs(c, func, a, what, have_, want_);                                        \
    } while (0)

static void differs(Checker *c, uint32_t func, const Answers *a, const char *what, uint64_t have,
                    uint64_t want) {
    if (c->differ++ < 20)
        printf("function %u, offset %u, %s: %s is %" PRIu64 ", should be %" PRIu64 "\n", func,
               a->pc, wasm_ops[a->op].mnemonic, what, have, want);
}

static void check_call(Checker *c, uint32_t func, const Answers *a, int64_t proc_exit) {
    uint32_t pc = a->pc;
    SAME("ends_program", site_ends_program(func, pc), (int64_t)a->callee == proc_exit);
    SAME("target_fn_name",
         same_str(site_target_fn_name(func, pc), called(c->m, a->callee, NAME_TARGET_FN_NAME)), 1);
    SAME("target_fn_type",
         same_str(site_target_fn_type(func, pc), called(c->m, a->callee, NAME_TARGET_FN_TYPE)), 1);
    SAME(
        "target_imp_module",
        same_str(site_target_imp_module(func, pc), called(c->m, a->callee, NAME_TARGET_IMP_MODULE)),
        1);
}

static void check_values(Checker *c, uint32_t func, const Answers *a) {
    uint32_t pc = a->pc;
    for (uint32_t n = 0; n < MAX_IMMS; n++) {
        SAME("has_imm", site_has_imm(func, pc, n), a->has_imm >> n & 1);
        SAME("imm", site_imm(func, pc, n), a->imms[n]);
    }
    SAME("offset", site_offset(func, pc), a->offset);
    SAME("memory", site_memory(func, pc), a->memory);
    if (wasm_ops[a->op].imm == WASM_IMM_BR_TABLE)
        SAME("num_targets", site_num_targets(func, pc), a->num_targets);
    for (uint32_t n = 0; wasm_ops[a->op].imm == WASM_IMM_BR_TABLE && n < MAX_IMMS; n++)
        SAME("table_target", site_table_target(func, pc, n), n < a->num_targets ? a->imms[n] : 0);
    if (a->item_size)
        SAME("item_size", site_item_size(func, pc), a->item_size);
    SAME("resolved_fid", site_resolved_fid(func, pc), a->resolved);
}

static void check_instruction(Checker *c, uint32_t func, const Answers *a, int64_t proc_exit) {
    uint32_t pc = a->pc;
    SAME("op", site_op(func, pc), a->op);
    SAME("opidx", site_opidx(func, pc), a->opidx);
    SAME("live", site_live(func, pc), a->live);
    SAME("last", site_last(func, pc), a->last);
    SAME("block_first", site_block_first(func, pc), a->first_of_block);
    SAME("block_last", site_block_last(func, pc), a->last_of_block);
    if (a->first_of_block || a->last_of_block)
        SAME("instr_count", site_instr_count(func, pc), a->count);
    SAME("in_try", site_in_try(func, pc), a->in_try);
    SAME("goes_to_loop", site_goes_to_loop(func, pc), a->to_loop);
    if (a->op == WASM_OP_BR_TABLE)
        SAME("loop_map", map_fits(site_loop_map(func, pc), a->loops), 1);
    for (uint32_t n = 0; n < MAX_ARGS; n++)
        SAME("arg", site_arg(func, pc, n), a->args[n]);
    check_values(c, func, a);
    if (a->is_call)
        check_call(c, func, a, proc_exit);
}

static void check_locals(Checker *c, uint32_t func) {
    Answers here = {0}, *a = &here;
    const WasmTypes *locals = &c->typer.locals;
    for (uint32_t n = 0; n < locals->len; n++)
        SAME("local", site_local(func, n), type_byte(locals->at[n]));
    SAME("local", site_local(func, locals->len), SITE_NONE);
    SAME("fname", same_str(site_fname(func), wasm_shown_name(c->m, func)), 1);
    SAME("func_end", site_func_end(func), c->m->funcs.at[func].body_size - 1);
    SAME("fn_size", site_fn_size(func), c->m->funcs.at[func].body_size);
    SAME("fn_params", site_fn_params(func), wasm_func_type(c->m, func)->nparams);
    SAME("fn_calls", site_fn_has(func, SITE_HAS_CALLS), wasm_survey_calls(&c->survey, c->m, func));
    SAME("fn_loops", site_fn_has(func, SITE_HAS_LOOPS), wasm_survey_loops(&c->survey, c->m, func));
    SAME("fn_tail_calls", site_fn_has(func, SITE_HAS_TAIL_CALLS),
         wasm_survey_has_tail_calls(&c->survey, c->m, func));
}

static void check_module(Checker *c) {
    Answers here = {0}, *a = &here;
    uint32_t func = 0;
    SAME("module_name", same_str(site_module_name(), wasm_shown_module(c->m, PROGRAM_PATH)), 1);
    SAME("app_memid", site_app_memid(), app_memory(c->m));
    for (uint32_t k = 0; k < c->m->memories.len; k++) {
        const WasmLimits *l = &c->m->memories.at[k].limits;
        SAME("page_size", site_page_size(k), (uint64_t)1 << l->page_log2);
    }
}

static uint64_t mix(uint64_t h, uint64_t v) {
    return (h ^ v) * UINT64_C(0x100000001b3);
}

/* What tests/fixtures/monitor/site.c makes of an instruction. */
static void add_checksum(Checker *c, const Answers *a) {
    uint64_t h = c->checksum;
    h = mix(h, a->op);
    h = mix(h, a->opidx);
    h = mix(h, a->live);
    h = mix(h, a->first_of_block);
    h = mix(h, a->last_of_block);
    h = mix(h, a->to_loop);
    h = mix(h, a->args[0]);
    h = mix(h, a->args[1]);
    h = mix(h, a->imms[0]);
    c->checksum = h;
}

static int64_t proc_exit_of(const WasmModule *m) {
    bool newer = false, older = false;
    for (uint32_t k = 0; k < m->imports.len; k++) {
        newer |= str_is(m->imports.at[k].module, "wasi_snapshot_preview1");
        older |= str_is(m->imports.at[k].module, "wasi_unstable");
    }
    return wasm_find_import(m,
                            older && !newer ? STR("wasi_unstable") : STR("wasi_snapshot_preview1"),
                            STR("proc_exit"));
}

static void check_function(Checker *c, uint32_t func, int64_t proc_exit) {
    enum { BACKWARDS = 60 };
    if (!expect_function(c, func)) {
        printf("function %u is not valid\n", func);
        c->differ++;
        return;
    }
    for (uint32_t k = 0; k < c->expected.len; k++) {
        check_instruction(c, func, &c->expected.at[k], proc_exit);
        if (site_opidx(func, vec_last(&c->expected).pc) != c->expected.len - 1)
            differs(c, func, &c->expected.at[k], "opidx of the end", 0, 0);
        add_checksum(c, &c->expected.at[k]);
    }
    check_locals(c, func);
    for (uint32_t k = c->expected.len; k-- > 0 && c->expected.len <= BACKWARDS;)
        check_instruction(c, func, &c->expected.at[k], proc_exit);
    c->instructions += c->expected.len;
}

/* ---- programs that are wrong ---- */

static sigjmp_buf trapped;

static void on_trap(int number) {
    (void)number;
    siglongjmp(trapped, 1);
}

/* Asks everything about every place that may be one. */
static void ask_all(uint32_t func, uint32_t size) {
    for (volatile uint32_t pc = 0; pc < size; pc++) {
        if (sigsetjmp(trapped, 1)) /* no instruction there, or a wrong one in front */
            continue;
        site_op(func, pc);
        site_live(func, pc);
        site_instr_count(func, pc);
        site_loop_map(func, pc);
        for (uint32_t n = 0; n < MAX_ARGS; n++)
            site_arg(func, pc, n);
        for (uint32_t n = 0; n < MAX_IMMS; n++)
            site_imm(func, pc, n);
        site_resolved_fid(func, pc);
        site_local(func, pc);
        site_ends_program(func, pc);
        site_item_size(func, pc);
        site_target_imp_module(func, pc);
    }
}

static uint32_t next_random(void) {
    static uint64_t seed = 88172645463325252u;
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (uint32_t)(seed >> 32);
}

/* Breaks a module that can be read, in several ways. */
static void break_module(WasmModule *m, uint8_t *bytes) {
    enum { WAYS = 12, MOST = 4000 };
    if (m->size > MOST || !m->sections.len)
        return;
    for (uint32_t way = 0; way < WAYS; way++) {
        uint8_t *copy = mem_alloc(m->size);
        memcpy(copy, bytes, m->size);
        for (uint32_t n = way ? 1 + next_random() % 4 : 0; n; n--) {
            const WasmSection *s = &m->sections.at[next_random() % m->sections.len];
            if (s->end > s->payload)
                copy[s->payload + next_random() % (s->end - s->payload)] =
                    (uint8_t)(next_random() >> (next_random() & 7));
        }
        m->bytes = copy;
        lay_out(SMALL_MEMORY);
        for (uint32_t func = 0; func < m->funcs.len; func++)
            ask_all(func, m->funcs.at[func].body_size);
        site_done();
        free(copy);
        m->bytes = bytes;
    }
}

static void break_file(const char *path) {
    Buf in = {0};
    Diags diags = {0};
    WasmModule m = {0};
    if (read_file(path, &in) &&
        wasm_load(&m, in.data, in.len, diag_file(&diags, path, in.data, in.len, true), &diags)) {
        program = &m;
        break_module(&m, in.data);
    }
    wasm_module_free(&m);
    diag_free(&diags);
    buf_free(&in);
}

static int break_files(int n, char **paths) {
    struct sigaction action = {.sa_handler = on_trap};
    sigaction(SIGILL, &action, NULL);
    sigaction(SIGTRAP, &action, NULL);
    quiet = true;
    for (int k = 0; k < n; k++)
        break_file(paths[k]);
    values_native_memory(0);
    return 0;
}

static void check_file(Checker *c, const char *path, bool print) {
    Buf in = {0};
    Diags diags = {0};
    WasmModule m = {0};
    if (read_file(path, &in) &&
        wasm_load(&m, in.data, in.len, diag_file(&diags, path, in.data, in.len, true), &diags)) {
        c->m = program = &m;
        c->survey = (WasmSurvey){0};
        c->checksum = UINT64_C(0xcbf29ce484222325);
        uint32_t before = c->differ;
        lay_out(MEMORY);
        check_module(c);
        for (uint32_t func = 0; func < m.funcs.len; func++)
            if (m.funcs.at[func].import < 0)
                check_function(c, func, proc_exit_of(&m));
        site_done();
        if (c->differ != before)
            printf("%s: differs\n", path);
        if (print)
            printf("%" PRIu64 "\n", c->checksum);
        c->modules++;
    } else {
        c->skipped++;
    }
    wasm_survey_free(&c->survey);
    wasm_module_free(&m);
    diag_free(&diags);
    buf_free(&in);
}

static int print_table(void) {
    Buf table = {0};
    wasm_op_table(&table);
    printf("static const unsigned char table[] = {");
    for (size_t k = 0; k < table.len; k++)
        printf("%s%u,", k % 16 ? "" : "\n", table.data[k]);
    printf("\n};\n");
    buf_free(&table);
    return 0;
}

int main(int argc, char **argv) {
    Checker c = {0};
    if (argc == 2 && strcmp(argv[1], "--table") == 0)
        return print_table();
    if (argc > 1 && strcmp(argv[1], "--break") == 0)
        return break_files(argc - 2, argv + 2);
    bool print = argc > 1 && strcmp(argv[1], "--checksum") == 0;
    for (int k = print ? 2 : 1; k < argc; k++)
        check_file(&c, argv[k], print);
    uint32_t kinds = 0;
    for (uint32_t op = 0; op < WASM_OP_COUNT; op++)
        kinds += c.seen[op];
    if (!print)
        printf("%u instructions of %u modules (%u not valid), %u differ, %u of %d kinds\n",
               c.instructions, c.modules, c.skipped, c.differ, kinds, WASM_OP_COUNT);
    values_native_memory(0);
    wasm_typer_free(&c.typer);
    flow_free(&c.flow);
    vec_free(&c.operands);
    vec_free(&c.results);
    vec_free(&c.expected);
    return c.differ != 0;
}
