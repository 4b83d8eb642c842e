/*
 * inject/program.c - a program under instrumentation: the code shared by the targets that change
 * a program.
 */
#include "inject/program.h"

#include <assert.h>

#include "base/phase.h"
#include "base/workers.h"
#include "edit/edit.h"
#include "edit/write.h"
#include "inject/debug.h"
#include "inject/trap_section.h"
#include "link/host.h"
#include "valid/limits.h"
#include "valid/valid.h"
#include "wasm/emit.h"

static Span program_whole(const Program *p) {
    return (Span){p->file, 0, 0};
}

/* ---- where it ends ---- */

int64_t program_proc_exit(const WasmModule *m) {
    return wasm_find_import(m, str_of(host_wasi_module(m)), STR("proc_exit"));
}

/* Returns the function of the program under this export, or -1. */
static int64_t exported(const WasmModule *m, const char *name) {
    const WasmExport *e = wasm_find_export(m, WASM_SPACE_FUNC, str_of(name));
    return e && m->funcs.at[e->handle].import < 0 ? (int64_t)e->handle : -1;
}

/* Whether a body calls a function or takes a reference to it. */
static bool body_names(const WasmModule *m, uint32_t body, uint32_t func) {
    WasmCode code;
    WasmInstr i;
    if (m->funcs.at[body].import >= 0 || !wasm_func_code(m, body, &code))
        return false;
    while (wasm_next(&code, &i))
        if (wasm_ops[i.op].imm == WASM_IMM_FUNC && i.a == func)
            return true;
    return false;
}

/* Whether only the host can call a function: only exports, and itself, refer to it. */
static bool only_exported(const WasmModule *m, uint32_t func) {
    uint32_t named = 0, exports = 0;
    for (uint32_t i = 0; i < m->refs.len; i++)
        named += m->refs.at[i].space == WASM_SPACE_FUNC && m->refs.at[i].value == func;
    for (uint32_t i = 0; i < m->input_export_count; i++)
        exports += m->exports.at[i].space == WASM_SPACE_FUNC && m->exports.at[i].handle == func;
    if (named > exports)
        return false;
    for (uint32_t f = 0; f < m->input_count[WASM_SPACE_FUNC]; f++)
        if (f != func && body_names(m, f, func))
            return false;
    return true;
}

int64_t program_main(const WasmModule *m) {
    int64_t main = exported(m, "main"), command = exported(m, "_start");
    /* Hosts run `_start` where there is one. Older versions of rustc export a second entry point
     * as `main`, which `_start` does not call. */
    if (main >= 0 && command >= 0 && only_exported(m, (uint32_t)main))
        return command;
    if (main >= 0 || command >= 0)
        return main >= 0 ? main : command;
    /* A start function is the whole program only if nothing can be called later. Otherwise its end
     * is not the program's, and WASI hosts accept no output before they have the instance. */
    bool callable = false;
    for (uint32_t i = 0; i < m->input_export_count; i++)
        callable |= m->exports.at[i].space == WASM_SPACE_FUNC;
    bool start = !callable && m->start >= 0 && m->funcs.at[m->start].import < 0;
    return start ? m->start : -1;
}

/* Adds a function of the same type, still without code, that is called instead of `func`. */
static uint32_t add_wrapper(Program *p, int64_t func, const char *name) {
    if (func < 0)
        return UINT32_MAX;
    Buf none = {0};
    uint32_t type = p->m.funcs.at[func].type;
    uint32_t wrapper = wasm_add_func(&p->m, type, str_of(name), &none, true);
    wasm_wrap_func(&p->m, (uint32_t)func, wrapper);
    return wrapper;
}

void program_wrap_ends(Program *p, int64_t main, int64_t proc_exit) {
    assert(main < (int64_t)p->m.funcs.len && proc_exit < (int64_t)p->m.funcs.len);
    p->ends.main = main;
    p->ends.proc_exit = proc_exit;
    p->ends.main_wrapper = add_wrapper(p, main, "whammc.main");
    p->ends.exit_wrapper = add_wrapper(p, proc_exit, "whammc.proc_exit");
}

/* Writes the code of a wrapper, if there is one. */
static void fill_wrapper(Program *p, int64_t func, uint32_t wrapper) {
    Buf flush = {0};
    if (func < 0)
        return;
    assert(p->ends.flush >= 0);
    emit_calls(&flush, &p->m, &(uint32_t){(uint32_t)p->ends.flush}, 1);
    emit_wrapper_body(&p->m.funcs.at[wrapper].code, &p->m, (uint32_t)func,
                      func == p->ends.proc_exit ? &flush : NULL,
                      func == p->ends.main ? &flush : NULL);
    buf_free(&flush);
}

/* Whether there is an instruction that throws. */
static bool throws(const WasmModule *m, uint32_t func) {
    WasmCode code;
    WasmInstr i;
    wasm_func_code(m, func, &code); /* the walk has found it well formed */
    while (wasm_next(&code, &i))
        if (wasm_flow(i.op) == WASM_FLOW_THROW)
            return true;
    return false;
}

void program_splice_site(Program *p, const Site *site, const SiteTypes *types, const Match *matches,
                         uint32_t n) {
    Splicer *s = &p->splicer;
    bool call = site->instr->op == WASM_OP_CALL || site->instr->op == WASM_OP_RETURN_CALL;
    bool replaced = false;
    for (uint32_t i = 0; i < n; i++)
        replaced |= matches[i].action->event.mode == MODE_ALT;
    s->proc_exit = p->ends.proc_exit;
    s->site.ends = call && (int64_t)site->instr->a == p->ends.proc_exit;
    if (s->site.ends && !replaced)
        vec_push(&p->pieces.ends, ((ProgramEnd){site->pc, WASM_BEFORE, RANK_END}));
    if (!n && !splice_leaves_stack(s, site))
        return;
    splice_site(s, site, types, matches, n, pieces_add, pieces_add_region, &p->pieces);
    for (uint32_t i = 0; i < s->site.ends_after.len; i++)
        vec_push(&p->pieces.ends,
                 ((ProgramEnd){site->pc, WASM_REPLACE, s->site.ends_after.at[i] + 1}));
}

/* ---- pass 1 ---- */

bool walk_failed(const Matcher *w, uint32_t func, DiagFileId file, Diags *diags) {
    const WasmFunc *f = &w->m->funcs.at[func];
    uint32_t at = f->body + w->error_offset;
    diag(diags, DIAG_MALFORMED, (Span){file, at, at + 1}, "function %u%s%.*s%s: %s", func,
         f->name.len ? " (" : "", STR_ARG(f->name), f->name.len ? ")" : "", w->error);
    return false;
}

bool program_walk(Program *p) {
    for (uint32_t f = 0; f < p->m.funcs.len; f++)
        if (p->m.funcs.at[f].import < 0 && !(p->target->count && p->target->count(p->self, f)) &&
            !match_func(&p->matcher, f))
            return walk_failed(&p->matcher, f, p->file, p->diags);
    return true;
}

/* Whether the instruction names a function that may be wrapped. */
static bool names_end(const Program *p, const WasmInstr *i) {
    bool names = i->op == WASM_OP_CALL || i->op == WASM_OP_RETURN_CALL || i->op == WASM_OP_REF_FUNC;
    return names && matcher_watches(&p->matcher, i);
}

void program_touch(Program *p, const Site *site, bool code) {
    assert(site->func < p->m.input_count[WASM_SPACE_FUNC]);
    bool branched = site->at_func_end && site->at_label;
    bool ends = site->instr && names_end(p, site->instr);
    p->touched[site->func] |= (uint8_t)(TOUCHED | (branched && code ? TOUCHED_END : 0) |
                                        (code ? TOUCHED_SITE : 0) | (ends ? TOUCHED_ENDS : 0));
}

void program_note_replaced(Program *p, const Site *site) {
    const WasmInstr *i = site->instr;
    if (i->op != WASM_OP_LOCAL_SET && i->op != WASM_OP_LOCAL_TEE)
        return;
    const WasmTypes *locals = &p->matcher.locals;
    if (i->a >= locals->len || wasm_defaultable(locals->at[i->a]) ||
        i->a < wasm_func_type(&p->m, site->func)->nparams)
        return;
    UnsetLocal new = {site->func, i->a};
    uint32_t at = p->unset.len;
    while (at && p->unset.at[at - 1].func == new.func && p->unset.at[at - 1].local > new.local)
        at--;
    if (at && p->unset.at[at - 1].func == new.func && p->unset.at[at - 1].local == new.local)
        return;
    vec_push(&p->unset, new);
    memmove(p->unset.at + at + 1, p->unset.at + at, (p->unset.len - 1 - at) * sizeof new);
    p->unset.at[at] = new;
}

/* Finds the locals of a function that are made nullable; the walk goes by functions. */
static void find_unset(Program *p, uint32_t func) {
    p->splicer.func.nullable.len = 0;
    while (p->next_unset < p->unset.len && p->unset.at[p->next_unset].func < func)
        p->next_unset++;
    for (uint32_t k = p->next_unset; k < p->unset.len && p->unset.at[k].func == func; k++)
        vec_push(&p->splicer.func.nullable, p->unset.at[k].local);
}

/* ---- pass 2 ---- */

void program_splice_all(Program *p, const Site *site, const Match *matches, uint32_t n) {
    splice_words(&p->splicer, site, matches, n);
    for (uint32_t i = 0; i < n; i++) {
        splice_match(&p->splicer, site, matches, i);
        pool_release(&p->splicer.pool);
    }
}

static bool program_check_locals(Program *p, uint32_t func, uint32_t own) {
    uint32_t added = p->splicer.pool.types.len;
    if (own + added <= WASM_MAX_LOCALS || !added)
        return true;
    Diag *d = diag(p->diags, DIAG_CANNOT_STORE, program_whole(p),
                   "function %u would have %u locals, but engines allow at most %d", func,
                   own + added, WASM_MAX_LOCALS);
    diag_hint(p->diags, d, "it has %u; the others are frame variables and saved operands", own);
    return false;
}

/* Makes the pieces of a function. */
static bool edit_func(Program *p, uint32_t func, bool ends, WasmBodyEdit *edit) {
    const char *error = NULL;
    WasmTypes locals = {0};
    pieces_begin(&p->pieces);
    wasm_func_locals(&p->m, func, &locals, &error);
    uint32_t own = locals.len;
    splicer_begin(&p->splicer, own);
    vec_free(&locals);
    p->splicer.out = &p->pieces.code;
    find_unset(p, func);
    if (p->target->enter)
        p->target->enter(p->self, func, &p->pieces);
    if (p->touched[func] & TOUCHED_SITE && !match_func(&p->matcher, func))
        return walk_failed(&p->matcher, func, p->file, p->diags);
    if (p->target->leave)
        p->target->leave(p->self, func, &p->pieces);
    pieces_end_program(&p->pieces);
    if (ends)
        pieces_call_at_throws(&p->pieces,
                              wasm_final(&p->m, WASM_SPACE_FUNC, (uint32_t)p->ends.flush));
    pieces_finish(&p->pieces, edit);
    edit->exceptions = p->exceptions;
    edit->locals = p->splicer.pool.types.at;
    edit->nlocals = p->splicer.pool.types.len;
    edit->param = p->pieces.param + 1;
    edit->nullable = p->splicer.func.nullable.at;
    edit->nnullable = p->splicer.func.nullable.len;
    edit->rare = p->splicer.rare.at;
    edit->nrare = p->splicer.rare.len;
    return program_check_locals(p, func, own);
}

/* Whether only counters go into the body. */
static bool is_apart(const void *ctx, uint32_t func) {
    const Program *p = ctx;
    return p->target->enters_apart && !(p->touched[func] & (TOUCHED_SITE | TOUCHED_LOCALS)) &&
           (int64_t)func != p->ends.main && !p->unset.len;
}

/* Makes the pieces of such a body: its counters. */
static void edit_counts(const Program *p, Pieces *pieces, uint32_t func, WasmBodyEdit *edit) {
    pieces_begin(pieces);
    p->target->enter(p->self, func, pieces);
    pieces_finish(pieces, edit);
}

static bool program_put_body(const Program *p, uint32_t func, WasmBodyEdit *edit, Buf *out,
                             const char **error, uint32_t *error_offset) {
    edit->calls_wrapped = p->touched[func] & TOUCHED_ENDS;
    if (p->moves)
        moves_mark(p->moves, func, edit);
    else if (p->counts)
        trap_section_mark(p->counts, func, edit);
    if (!wasm_edit_body(&p->m, func, edit, out, error, error_offset))
        return false;
    if (p->moves && p->counts)
        trap_section_find(p->counts, func, p->moves);
    return true;
}

/* Makes such a body; called on several threads. */
static bool make_apart(void *ctx, Pieces *pieces, uint32_t func, Buf *out) {
    const Program *p = ctx;
    WasmBodyEdit edit = {0};
    const char *error;
    uint32_t offset;
    if (p->touched[func])
        edit_counts(p, pieces, func, &edit);
    return program_put_body(p, func, &edit, out, &error, &offset);
}

/* Makes the pieces of a function that is edited. */
static bool edit_touched(Program *p, uint32_t func, bool ends, WasmBodyEdit *edit) {
    if (!is_apart(p, func))
        return edit_func(p, func, ends, edit);
    edit_counts(p, &p->pieces, func, edit);
    return true;
}

static bool write_body(void *ctx, uint32_t func, Buf *out) {
    Program *p = ctx;
    bool *kept = &p->kept[func - p->m.input_imports[WASM_SPACE_FUNC]];
    bool wrapped = p->touched[func] & TOUCHED_END; /* in a block: that is more than counters */
    if (p->threads > 1 && !p->moves && parallel_put(&p->apart, func, out)) {
        *kept = !wrapped;
        return true;
    }
    bool ends = (int64_t)func == p->ends.main && throws(&p->m, func);
    WasmBodyEdit edit = {0};
    p->pieces.only_counts = true;
    if ((p->touched[func] || ends) && !edit_touched(p, func, ends, &edit))
        return false;
    p->added[func] = edit.nlocals;
    *kept = p->pieces.only_counts && !wrapped && !edit.nlocals && !edit.nnullable && !edit.param;
    p->rare_at.len = 0;
    edit.rare_at = &p->rare_at;
    if (program_put_body(p, func, &edit, out, &p->matcher.error, &p->matcher.error_offset)) {
        for (uint32_t k = 0; k < p->rare_at.len; k++)
            vec_push(&p->m.rare, ((WasmRare){func, p->rare_at.at[k]}));
        return true;
    }
    return walk_failed(&p->matcher, func, p->file, p->diags);
}

static uint32_t program_locals_added(void *ctx, uint32_t func) {
    Program *p = ctx;
    return p->added[func];
}

static Str added_local_name(void *ctx, uint32_t func, uint32_t n) {
    (void)func;
    Program *p = ctx;
    const char *name = arena_printf(&p->m.arena, "whammc.%u", n);
    return str_of(name);
}

/* Adds the type of the block that wraps a body with exit code: before pass 2, while the module may
 * still change. */
static void add_exit_types(Program *p) {
    const ActionList *kinds = p->plan->by_kind;
    bool exits =
        kinds[EVENT_FUNC_EXIT].len || kinds[EVENT_FUNC_UNWIND].len || p->plan->asks.unwinds;
    for (uint32_t f = 0; f < p->m.input_count[WASM_SPACE_FUNC]; f++)
        if (p->m.funcs.at[f].import < 0 &&
            ((exits && p->touched[f]) || p->touched[f] & TOUCHED_END ||
             ((int64_t)f == p->ends.main && throws(&p->m, f))))
            wasm_exit_block_type(&p->m, f);
}

/* ---- checking the output ---- */

/* Reports that the output is invalid: since the input is valid, an internal error. */
static void program_blame(Program *p, const Diags *found) {
    const char *why = found->list.len ? found->list.at[0]->message : "unknown";
    Diag *d = diag(p->diags, DIAG_INTERNAL, program_whole(p),
                   "the instrumented module would be invalid; nothing was written: %s", why);
    p->target->blame(p->self, d);
}

static bool program_check_output(Program *p, DebugInfo *debug, Buf *out) {
    Diags found = {0};
    WasmModule m;
    WasmKept kept = {&p->m, p->kept, wasm_writes_datas_as_read(&p->m)};
    bool ok = wasm_load_output(&m, out->data, out->len, &kept, p->threads, &found);
    if (!ok)
        program_blame(p, &found);
    ok = ok && limits_check(&m, out->len, &p->m, program_whole(p), p->diags);
    Buf sections = {0}; /* m is in `out` */
    if (ok && debug->dwarf.len)
        debug_put(debug, p->moves, &m, &sections);
    if (ok && p->output.map_url.len)
        moves_source_map(p->moves, &m, locator_open(p->plan->program.locator, &p->m),
                         p->output.map_root, p->output.map);
    if (ok && p->counts)
        trap_section_put(p->counts, &p->m, &m, p->threads, out);
    if (ok && p->target->append)
        p->target->append(p->self, &m, out);
    if (ok && p->output.map_url.len)
        moves_put_url(p->output.map_url, out);
    buf_bytes(out, sections.data, sections.len);
    buf_free(&sections);
    wasm_module_free(&m);
    diag_free(&found);
    return ok;
}

/* ---- */

static bool already_instrumented(Program *p) {
    if (!wasm_find_export(&p->m, WASM_SPACE_FUNC, STR("whammc:flush")))
        return false;
    Diag *d = diag(p->diags, DIAG_INSTRUMENTED, program_whole(p),
                   "the program is already instrumented (it exports 'whammc:flush')");
    diag_hint(p->diags, d,
              "instrument the original program: several scripts (-s one -s two) or several "
              "monitors can be applied at once");
    return true;
}

/* Frees data needed only for writing. */
static void free_written(void *ctx, uint32_t worker, uint32_t item) {
    Program *p = ctx;
    (void)worker;
    (void)item;
    parallel_free(&p->apart);
    wasm_module_written(&p->m);
    if (p->target->written)
        p->target->written(p->self);
}

/* Gives the sink the remaining bytes of the output, or takes all back if there is no output. */
static void end_sink(const Sink *sink, bool ok, size_t given, const Buf *out) {
    if (ok)
        sink->put(sink->ctx, out->data, given, out->len);
    else
        sink->hold(sink->ctx);
    buf_watch(NULL, NULL, NULL);
}

static bool program_write(Program *p, Buf *out) {
    Moves moves = {0};
    DebugInfo debug = {.m = &p->m,
                       .diags = p->diags,
                       .keep = p->output.keep_debug,
                       .has_map = p->output.map_url.len > 0,
                       .locator = p->plan->program.locator};
    fill_wrapper(p, p->ends.main, p->ends.main_wrapper);
    fill_wrapper(p, p->ends.proc_exit, p->ends.exit_wrapper);
    bool adjust = debug_begin(&debug, &p->m);
    add_exit_types(p);
    p->matcher.hooks.at = p->target->splice;
    p->matcher.hooks.at_body = NULL; /* all has been counted in pass 1 */
    p->apart = (ParallelBodies){.make = make_apart, .is_apart = is_apart, .ctx = p};
    if (p->threads > 1)
        parallel_init(&p->apart, &p->m, p->threads);
    if (p->counts)
        trap_section_begin(p->counts);
    if (p->output.map_url.len || adjust) {
        p->moves = &moves;
        moves_begin(&moves, &p->m);
    }
    WasmWriter writer = {.body = write_body,
                         .ctx = p,
                         .local_name = added_local_name,
                         .locals_added = program_locals_added,
                         .threads = p->threads,
                         .sink = p->output.sink};
    if (p->output.sink)
        buf_watch(out, p->output.sink->hold, p->output.sink->ctx);
    bool ok = wasm_write(&p->m, &writer, out);
    size_t given = out->len;
    Workers *freeing = NULL;
    if (p->threads > 1)
        freeing = workers_begin(2, 1, free_written, p);
    else
        free_written(p, 0, 0); /* before more is needed */
    ok = ok && program_check_output(p, &debug, out);
    if (p->output.sink)
        end_sink(p->output.sink, ok, given, out);
    if (freeing)
        workers_finish(freeing);
    debug_end(&debug);
    moves_free(&moves);
    p->moves = NULL;
    return ok;
}

/* Whether nothing was injected, neither into bodies nor beside them. */
static bool is_unchanged(const Program *p) {
    const WasmModule *m = &p->m;
    bool same = !m->start_changed && m->imports.len == m->input_import_count &&
                m->exports.len == m->input_export_count;
    for (uint32_t k = 0; k < WASM_SPACE_COUNT; k++)
        same = same && wasm_space_count(m, (WasmSpace)k) == m->input_count[k];
    return same && !p->matched;
}

/* Writes a source map of the program as it is. */
static void map_kept(const Program *p) {
    Moves moves = {0};
    moves_begin(&moves, &p->m);
    for (uint32_t f = p->m.input_imports[WASM_SPACE_FUNC]; f < p->m.input_count[WASM_SPACE_FUNC];
         f++)
        moves_mark(&moves, f, &(WasmBodyEdit){0});
    moves_source_map(&moves, &p->m, locator_open(p->plan->program.locator, &p->m),
                     p->output.map_root, p->output.map);
    moves_free(&moves);
}

/* Makes the input the output, which then does not name its source map. */
static bool program_keep(const Program *p, const uint8_t *bytes, size_t size, Buf *out) {
    buf_bytes(out, bytes, size);
    if (p->output.map_url.len)
        map_kept(p);
    if (p->target->written)
        p->target->written(p->self);
    if (p->output.sink)
        p->output.sink->put(p->output.sink->ctx, out->data, 0, out->len);
    return true;
}

bool program_instrument(Program *p, const uint8_t *bytes, size_t size, Buf *out) {
    p->ends.main = p->ends.proc_exit = p->ends.flush = -1;
    bool ok = wasm_load_program(&p->m, bytes, size, p->file, p->threads, p->diags) &&
              !already_instrumented(p);
    if (ok) {
        p->touched = mem_zalloc(p->m.funcs.len + 1u);
        p->added = mem_zalloc(sizeof *p->added * (p->m.funcs.len + 1u));
        p->kept = mem_zalloc(sizeof *p->kept * (p->m.funcs.len + 1u));
        p->matcher = (Matcher){.plan = p->plan, .m = &p->m, .hooks.ctx = p->self};
        p->matcher.watch_funcs[0] = program_main(&p->m);
        p->matcher.watch_funcs[1] = program_proc_exit(&p->m);
    }
    Phase before = phase_begin(PHASE_MATCH);
    ok = ok && p->target->match(p->self);
    phase_begin(PHASE_STORAGE);
    ok = ok && p->target->link(p->self);
    phase_begin(PHASE_WRITE);
    ok = ok && (is_unchanged(p) ? program_keep(p, bytes, size, out) : program_write(p, out));
    phase_end(before);
    if (!ok)
        out->len = 0;
    return ok;
}

void program_free(Program *p) {
    matcher_free(&p->matcher);
    splicer_free(&p->splicer);
    pieces_free(&p->pieces);
    vec_free(&p->rare_at);
    vec_free(&p->unset);
    free(p->touched);
    free(p->added);
    free(p->kept);
    wasm_module_free(&p->m);
}
