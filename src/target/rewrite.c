/*
 * target/rewrite.c - a program and a plan go in, an instrumented program comes out.
 *
 *   1. read the program
 *   2. pass 1: find the sites; each gets its storage and its row of the report (store.c)
 *   3. decide where storage and runtime live, add them to the module (flush.c)
 *   4. compile the shapes that occurred to templates (gen/)
 *   5. lay out the module; add the start and the flush function (flush.c)
 *   6. pass 2: find the sites again, splice templates in (splice.c), write the module
 *   7. read back what was written and validate it
 */
#include "target/rewrite.h"

#include "target/flush.h"
#include "target/helper.h"
#include "target/library.h"
#include "wasm/valid.h"

/* What pass 1 found in a function. */
enum {
    TOUCHED = 1,
    TOUCHED_END = 2, /* code before the body's `end`, which branches reach */
};

typedef struct Rewrite {
    Plan *plan;
    WasmModule m;
    DiagFileId file;
    const RewriteOptions *options;
    RewriteOptions decided; /* the options without LINK_AUTO */
    Diags *diags;
    Store store;
    Flush flush;
    Shadow shadow;
    Targets targets;
    MemoryOps memories;
    uint32_t helpers[HELPER_COUNT];
    uint32_t *fns; /* handles of the script's functions */
    Matcher matcher;
    uint8_t *touched; /* by function: TOUCHED ... */
    uint32_t *added;  /* by function: locals that pass 2 added */
    bool *seen_alt;   /* for the message about two alt probes */

    /* Pass 2, for the function at hand. */
    Splicer splicer;
    Buf code;
    Vec(WasmPatch) patches;
    Vec(WasmPatch) around; /* entry and exit pieces */
    Vec(uint32_t) exits;   /* offsets of calls that end the program */
    size_t exit_from, exit_to;
    bool unsorted; /* patches are not in their order */
} Rewrite;

static Span whole(const Rewrite *r) {
    return (Span){r->file, 0, 0};
}

/* ---- pass 1 ---- */

static void check_alts(Rewrite *r, const Site *site, const Match *matches, uint32_t n) {
    const Match *first = NULL;
    for (uint32_t i = 0; i < n; i++) {
        if (!matches[i].action->variant->is_alt)
            continue;
        if (first && !r->seen_alt[matches[i].action->variant->source]) {
            r->seen_alt[matches[i].action->variant->source] = true;
            Diag *d = diag(r->diags, DIAG_ALT_CLASH, matches[i].action->variant->probe->rule.span,
                           "two alt probes replace the %s at offset %u of function %u",
                           wasm_ops[site->instr->op].mnemonic, site->pc, site->func);
            diag_label(r->diags, d, first->action->variant->probe->rule.span,
                       "the first one is here");
        }
        first = &matches[i];
    }
}

static bool same_list(const WasmTypes *a, const WasmType *b, uint32_t n) {
    return a->len == n && (n == 0 || memcmp(a->at, b, n * sizeof *b) == 0);
}

/* The function that an alt call means is there and has the type of the one that is called. */
static void check_alt_calls(Rewrite *r, const Site *site, const SiteTypes *types,
                            const Variant *v) {
    for (uint32_t i = 0; i < v->alt_calls.len; i++) {
        const AltCall *call = &v->alt_calls.at[i];
        int64_t target = alt_call_target(&r->m, call);
        if (target < 0) {
            diag(r->diags, DIAG_ALT_RESULT, call->span, "the program has no function %s",
                 call->by_name ? "of this name" : "of this index");
            return;
        }
        const WasmTypeDef *t = wasm_func_type(&r->m, (uint32_t)target);
        if (!same_list(&types->operands, t->params, t->nparams) ||
            !same_list(&types->results, t->results, t->nresults))
            diag(r->diags, DIAG_ALT_RESULT, call->span,
                 "function %u has not the type of the one called at offset %u of function %u",
                 (uint32_t)target, site->pc, site->func);
    }
    for (uint32_t i = 0; i < types->results.len && v->gives; i++) {
        WasmType type = types->results.at[i];
        if (WASM_IS_REF(type) && !(type & WASM_NULL_BIT)) {
            diag(r->diags, DIAG_ALT_RESULT, v->alt_calls.at[0].span,
                 "the call at offset %u of function %u gives a reference that cannot be null: its "
                 "alt body must be one call that no condition leaves out",
                 site->pc, site->func);
            return;
        }
    }
}

/* The memories that dup_at writes to are there. */
static void check_dups(Rewrite *r, const Site *site, const Variant *v) {
    for (uint32_t i = 0; i < v->dups.len; i++) {
        const Expr *memory = v->dups.at[i].memory;
        bool imported = r->options->link == LINK_IMPORT;
        if (memory_named(&r->memories, memory, site, imported))
            continue;
        Diag *d = diag(r->diags, DIAG_NO_MEMORY, memory->span, "the program has no such memory");
        if (imported && memory_named(&r->memories, memory, site, false))
            diag_hint(r->diags, d, "with --link=import it is in another module");
    }
}

static void count_site(void *ctx, const Site *site, const SiteTypes *types, const Match *matches,
                       uint32_t n) {
    Rewrite *r = ctx;
    bool branched = site->at_func_end && site->before_end;
    r->touched[site->func] |= branched ? TOUCHED | TOUCHED_END : TOUCHED;
    for (uint32_t i = 0; i < n; i++) {
        store_count(&r->store, site, &matches[i]);
        check_alt_calls(r, site, types, matches[i].action->variant);
        check_dups(r, site, matches[i].action->variant);
        if (matches[i].action->variant->asks_targets)
            targets_note(&r->targets, site->instr);
        memory_note(&r->memories, site, matches[i].action->variant, r->diags);
        if (matches[i].action->event.mode == MODE_AT_TARGET)
            r->touched[site->func] |= TOUCHED_END; /* the target may be the function's end */
        if (matches[i].action->variant->guarded_alt && types->known)
            splice_result_type(&r->m, &types->results);
    }
    shadow_note(&r->shadow, site, matches, n);
    if (n > 1)
        check_alts(r, site, matches, n);
}

static bool walk_failed(const Matcher *w, uint32_t func, DiagFileId file, Diags *diags) {
    const WasmFunc *f = &w->m->funcs.at[func];
    uint32_t at = f->body + w->error_offset;
    diag(diags, DIAG_MALFORMED, (Span){file, at, at + 1}, "function %u%s%.*s%s: %s", func,
         f->name.len ? " (" : "", STR_ARG(f->name), f->name.len ? ")" : "", w->error);
    return false;
}

/* What asks for memories without a site. */
static void note_scopes(Rewrite *r) {
    Plan *plan = r->plan;
    Site nowhere = {.m = &r->m};
    Value value;
    for (uint32_t i = 0; i < plan->scopes.len; i++) {
        const Variant *v = plan->scopes.at[i];
        memory_note(&r->memories, &nowhere, v, r->diags);
        for (uint32_t k = 0; k < v->consts.len && !plan->lack.call; k++)
            if (!fold(v->consts.at[k], &nowhere, &value))
                builtin_lacks(v->consts.at[k], &nowhere, &plan->lack);
    }
    for (uint32_t i = 0; i < plan->probes.len; i++)
        if (plan->probes.at[i].shared_from)
            memory_note(&r->memories, &nowhere, plan->probes.at[i].shared_from, r->diags);
}

static bool find_sites(Rewrite *r) {
    for (uint32_t f = 0; f < r->m.funcs.len; f++)
        if (r->m.funcs.at[f].import < 0 && !match_func(&r->matcher, f))
            return walk_failed(&r->matcher, f, r->file, r->diags);
    store_close(&r->store, &r->m);
    note_scopes(r);
    return true;
}

/* Shapes of events that happen once (begin, end, report). The array is the plan's. */
static ShapeList once_shapes(Rewrite *r, EventKind kind) {
    const ActionList *list = &r->plan->by_kind[kind];
    ShapeList shapes = {arena_array(&r->plan->arena, const Shape *, list->len + 1), 0};
    Site nowhere = {.m = &r->m};
    for (uint32_t i = 0; i < list->len; i++) {
        Action *a = &r->plan->actions.at[list->at[i]];
        const Shape *s = plan_shape(r->plan, a->variant, &nowhere);
        if (s) {
            shapes.at[shapes.len++] = s;
            memory_note(&r->memories, &nowhere, a->variant, r->diags);
            a->sites++;
        }
    }
    return shapes;
}

/* ---- pass 2 ---- */

/* Pieces carry their rank where exit pieces have their kinds of exits. */
static int patch_order(const WasmPatch *a, const WasmPatch *b) {
    if (a->at != b->at)
        return a->at < b->at ? -1 : 1;
    return a->where != b->where ? a->where - b->where : a->exits - b->exits;
}

/* Stable merge sort, bottom up: equal pieces stay in the order in which they were made. */
static void sort_patches(Rewrite *r) {
    uint32_t n = r->patches.len;
    WasmPatch *from = r->patches.at, *to = mem_alloc(n * sizeof *to + 1), *spare = to;
    for (uint32_t width = 1; width < n; width *= 2) {
        for (uint32_t low = 0; low < n; low += 2 * width) {
            uint32_t mid = low + width < n ? low + width : n,
                     high = low + 2 * width < n ? low + 2 * width : n;
            for (uint32_t a = low, b = mid, k = low; k < high; k++)
                to[k] = a < mid && (b == high || patch_order(&from[a], &from[b]) <= 0) ? from[a++]
                                                                                       : from[b++];
        }
        WasmPatch *swap = from;
        from = to;
        to = swap;
    }
    if (from != r->patches.at)
        memcpy(r->patches.at, from, n * sizeof *from);
    free(spare);
}

static void add_piece(void *ctx, WasmWhere where, uint32_t at, PieceRank rank, size_t from,
                      size_t to) {
    Rewrite *r = ctx;
    WasmPatch p = {at, (uint8_t)where, (uint8_t)rank, (uint32_t)from, (uint32_t)(to - from), 0};
    r->unsorted |= r->patches.len && patch_order(&vec_last(&r->patches), &p) > 0;
    vec_push(&r->patches, p);
}

static void add_region(void *ctx, WasmWhere where, uint32_t at, uint32_t until, size_t from,
                       size_t to) {
    Rewrite *r = ctx;
    add_piece(r, where, at, RANK_CONSTRUCT, from, to);
    vec_last(&r->patches).until = until;
}

static void add_around(Rewrite *r, WasmWhere where, size_t from) {
    uint8_t exits = where == WASM_EXIT ? WASM_EXIT_ALL : 0;
    vec_push(&r->around, ((WasmPatch){.where = (uint8_t)where,
                                      .exits = exits,
                                      .code = (uint32_t)from,
                                      .len = (uint32_t)(r->code.len - from)}));
}

/* The matches of an event that is no instruction, one behind the other. */
static void splice_all(Rewrite *r, const Site *site, const Match *matches, uint32_t n) {
    splice_slots(&r->splicer, matches, n);
    for (uint32_t i = 0; i < n; i++) {
        splice_match(&r->splicer, site, matches, i);
        pool_release(&r->splicer.pool);
    }
}

static void splice_function_event(Rewrite *r, const Site *site, const Match *matches, uint32_t n,
                                  WasmWhere where) {
    size_t from = r->code.len;
    splice_all(r, site, matches, n);
    add_around(r, where, from);
}

/* memory.grow of a memory whose maximum was raised keeps to the old one. What changes a table or
 * drops a segment keeps the shadow in step. */
static void guard(Rewrite *r, const Site *site, const Match *matches, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        if (matches[i].action->event.mode == MODE_ALT)
            return;
    size_t from = r->code.len;
    if (r->flush.guard_grow && site->instr->op == WASM_OP_MEMORY_GROW && site->instr->a == 0) {
        wasm_put_op(&r->code, WASM_OP_CALL);
        buf_uleb(&r->code, wasm_final(&r->m, WASM_SPACE_FUNC, r->flush.grow));
    } else if (!shadow_put_instr(&r->shadow, site, &r->code)) {
        return;
    }
    add_piece(r, WASM_REPLACE, site->pc, RANK_PROBE, from, r->code.len);
}

static void splice_at(void *ctx, const Site *site, const SiteTypes *types, const Match *matches,
                      uint32_t n) {
    Rewrite *r = ctx;
    if (n && matches[0].action->event.kind == EVENT_FUNC_ENTRY) {
        splice_function_event(r, site, matches, n, WASM_ENTRY);
        return;
    }
    if (n && matches[0].action->event.kind == EVENT_FUNC_EXIT) {
        r->exit_from = r->code.len;
        splice_function_event(r, site, matches, n, WASM_EXIT);
        r->exit_to = r->code.len;
        return;
    }
    if (n && matches[0].action->event.kind != EVENT_OPCODE) { /* block:start, block:end */
        size_t from = r->code.len;
        splice_all(r, site, matches, n);
        add_piece(r, WASM_BEFORE, site->pc, RANK_CONSTRUCT, from, r->code.len);
        return;
    }
    if (n)
        splice_site(&r->splicer, site, types, matches, n, add_piece, add_region, r);
    guard(r, site, matches, n);
    bool call = site->instr->op == WASM_OP_CALL || site->instr->op == WASM_OP_RETURN_CALL;
    if (call && (int64_t)site->instr->a == r->flush.proc_exit)
        vec_push(&r->exits, site->pc);
}

static void put_flush(Rewrite *r) {
    if (r->flush.flush == UINT32_MAX)
        return;
    wasm_put_op(&r->code, WASM_OP_CALL);
    buf_uleb(&r->code, wasm_final(&r->m, WASM_SPACE_FUNC, r->flush.flush));
}

/* Calls that end the program: what func:exit would do, then the report, behind the probes before
 * the call. */
static void end_of_program(Rewrite *r) {
    for (uint32_t i = 0; i < r->exits.len; i++) {
        size_t from = r->code.len, len = r->exit_to - r->exit_from;
        buf_reserve(&r->code, len);
        buf_bytes(&r->code, r->code.data + r->exit_from, len);
        put_flush(r);
        if (r->code.len > from)
            add_piece(r, WASM_BEFORE, r->exits.at[i], RANK_END, from, r->code.len);
    }
}

static bool rewrite_body(void *ctx, uint32_t func, Buf *out) {
    Rewrite *r = ctx;
    const char *error = NULL;
    uint32_t offset = 0;
    bool flushes = (int64_t)func == r->flush.main && r->flush.flush != UINT32_MAX;
    WasmBodyEdit edit = {0};
    if (r->touched[func] || flushes) {
        r->code.len = r->exit_from = r->exit_to = 0;
        r->patches.len = r->around.len = r->exits.len = 0;
        r->unsorted = false;
        WasmTypes locals = {0};
        wasm_func_locals(&r->m, func, &locals, &error);
        splicer_begin(&r->splicer, locals.len);
        vec_free(&locals);
        r->splicer.out = &r->code;
        if (!match_func(&r->matcher, func))
            return walk_failed(&r->matcher, func, r->file, r->diags);
        end_of_program(r);
        if (r->unsorted)
            sort_patches(r);
        if (flushes) {
            size_t from = r->code.len;
            put_flush(r);
            add_around(r, WASM_EXIT, from);
        }
        for (uint32_t i = 0; i < r->patches.len && r->around.len; i++)
            vec_push(&r->around, r->patches.at[i]);
        bool around = r->around.len > 0;
        edit = (WasmBodyEdit){.patches = around ? r->around.at : r->patches.at,
                              .npatches = around ? r->around.len : r->patches.len,
                              .code = r->code.data,
                              .locals = r->splicer.pool.types.at,
                              .nlocals = r->splicer.pool.types.len};
    }
    r->added[func] = edit.nlocals;
    if (wasm_edit_body(&r->m, func, &edit, out, &error, &offset))
        return true;
    r->matcher.error = error;
    r->matcher.error_offset = offset;
    return walk_failed(&r->matcher, func, r->file, r->diags);
}

static uint32_t locals_added(void *ctx, uint32_t func) {
    Rewrite *r = ctx;
    return r->added[func];
}

static Str added_local_name(void *ctx, uint32_t func, uint32_t n) {
    (void)func;
    Rewrite *r = ctx;
    const char *name = arena_printf(&r->m.arena, "whammc.%u", n);
    return str_of(name);
}

/* The block that wraps a body with exit code has a type: adds it before pass 2 while the module may
 * still change. */
static void add_exit_types(Rewrite *r) {
    bool exits = r->plan->by_kind[EVENT_FUNC_EXIT].len > 0;
    for (uint32_t f = 0; f < r->m.input_count[WASM_SPACE_FUNC]; f++)
        if (r->m.funcs.at[f].import < 0 &&
            ((exits && r->touched[f]) || r->touched[f] & TOUCHED_END ||
             (int64_t)f == r->flush.main))
            wasm_exit_block_type(&r->m, f);
}

/* ---- sections that instrumentation makes stale ---- */

static bool starts(Str s, const char *prefix) {
    size_t n = strlen(prefix);
    return s.len >= n && memcmp(s.ptr, prefix, n) == 0;
}

static bool is_stale(const WasmSection *s) {
    if (s->id != WASM_SEC_CUSTOM)
        return false;
    if (starts(s->name, "metadata.code."))
        return !str_is(s->name, "metadata.code.branch_hint");
    return starts(s->name, ".debug_") || starts(s->name, "reloc.") || str_is(s->name, "linking") ||
           str_is(s->name, "sourceMappingURL") || str_is(s->name, "external_debug_info");
}

static void drop_stale(Rewrite *r) {
    Buf names = {0};
    if (r->options->keep_debug)
        return;
    for (uint32_t i = 0; i < r->m.sections.len; i++) {
        WasmSection *s = &r->m.sections.at[i];
        if (!is_stale(s))
            continue;
        s->drop = true;
        buf_printf(&names, "%s%.*s", names.len ? ", " : "", STR_ARG(s->name));
    }
    if (names.len) {
        Diag *d = diag(r->diags, DIAG_STALE_SECTION, whole(r),
                       "dropped custom sections that describe the old code: %s", buf_cstr(&names));
        diag_hint(r->diags, d, "--keep-debug keeps them as they are");
    }
    buf_free(&names);
}

/* ---- checking what was written ---- */

/* Says whose fault an invalid output is: the input's, if that is invalid too. */
static bool blame(Rewrite *r, Diags *found) {
    WasmModule input;
    bool valid = wasm_read(&input, r->m.bytes, r->m.size, r->file, r->diags) &&
                 wasm_validate(&input, r->diags);
    wasm_module_free(&input);
    if (!valid)
        return false;
    const char *why = found->list.len ? found->list.at[0]->message : "unknown";
    Diag *d = diag(r->diags, DIAG_INTERNAL, whole(r),
                   "the instrumented module would be invalid; nothing was written: %s", why);
    for (uint32_t i = 0; i < r->plan->probes.len; i++) {
        const PlanProbe *p = &r->plan->probes.at[i];
        uint32_t sites = 0;
        for (uint32_t k = 0; k < p->nactions; k++)
            sites += r->plan->actions.at[p->first_action + k].sites;
        if (sites)
            diag_label(r->diags, d, p->probe->rule.span, "this probe matched %u sites", sites);
    }
    diag_hint(r->diags, d,
              "this is a fault of whammc; please report it with the script and the program");
    return false;
}

static bool check_output(Rewrite *r, const Buf *out) {
    Diags found = {0};
    WasmModule m;
    bool ok = wasm_read(&m, out->data, out->len, 0, &found) && wasm_validate(&m, &found);
    if (!ok)
        blame(r, &found);
    wasm_module_free(&m);
    diag_free(&found);
    return ok;
}

/* ---- */

static bool already_instrumented(Rewrite *r) {
    if (!wasm_find_export(&r->m, WASM_SPACE_FUNC, STR("whammc:flush")))
        return false;
    Diag *d = diag(r->diags, DIAG_INSTRUMENTED, whole(r),
                   "the program is already instrumented (it exports 'whammc:flush')");
    diag_hint(r->diags, d, "instrument the original with several scripts at once: -s one -s two");
    return true;
}

static bool compile(Rewrite *r, const Template **init) {
    GenOptions gen = {.optimise = !r->options->no_optimise, .in_memory = r->store.var_in_memory};
    gen.memory_index = r->store.memory == UINT32_MAX ? 0 : r->store.memory;
    gen.imported = r->options->link == LINK_IMPORT;
    return gen_templates(r->plan, &gen, init, r->diags);
}

static void add_leaves(WasmTypes *list, const Type *t) {
    for (uint32_t i = 0; i < type_leaves(t); i++)
        vec_push(list, type_wasm(type_leaf(t, i)));
}

/* The script's functions, still without code: calls of them need their indices. */
static void add_functions(Rewrite *r) {
    r->flush.fns = r->fns = arena_array(&r->plan->arena, uint32_t, r->plan->fns.len + 1);
    for (uint32_t i = 0; i < r->plan->fns.len; i++) {
        const Fn *fn = r->plan->fns.at[i].fn;
        WasmTypes params = {0}, results = {0};
        for (uint32_t k = 0; k < fn->nparams; k++)
            add_leaves(&params, fn->params[k]->type);
        add_leaves(&results, fn->result);
        uint32_t type = wasm_add_func_type(&r->m, params.at, params.len, results.at, results.len);
        Buf none = {0};
        r->fns[i] = wasm_add_func(&r->m, type, fn->name, &none, true);
        vec_free(&params);
        vec_free(&results);
    }
}

static void add_memory_functions(Rewrite *r) {
    MemoryPlaces at = {.runtime = -1, .helpers = r->helpers};
    if (r->flush.own)
        at.runtime = r->flush.memory;
    memory_add(&r->memories, &at);
}

static bool emit(Rewrite *r, Buf *out) {
    uint32_t errors = r->diags->errors;
    OnceShapes once = {once_shapes(r, EVENT_BEGIN), once_shapes(r, EVENT_END),
                       once_shapes(r, EVENT_REPORT)};
    const Template **init =
        arena_array(&r->plan->arena, const Template *, r->plan->scripts.len + 1);
    r->flush = (Flush){.m = &r->m,
                       .store = &r->store,
                       .plan = r->plan,
                       .options = r->options,
                       .diags = r->diags,
                       .file = r->file};
    r->flush.helpers = r->helpers;
    r->flush.memories = &r->memories;
    r->flush.matcher = &r->matcher;
    r->flush.shadow = &r->shadow;
    bool used[HELPER_COUNT] = {false};
    if (r->plan->lack.call)
        builtin_report(&r->plan->lack, &r->m, r->diags);
    if (r->diags->errors > errors || !flush_plan(&r->flush) || !compile(r, init))
        return false;
    helpers_used(r->plan, init, used);
    memory_helpers(&r->memories, r->options->link == LINK_IMPORT, used);
    if (!flush_link(&r->flush, used) ||
        (used[HELPER_FMOD] && !helpers_add_fmod(&r->m, &r->helpers[HELPER_FMOD], r->diags)) ||
        !libraries_link(&r->flush))
        return false;
    add_memory_functions(r);
    add_functions(r);
    shadow_add(&r->shadow);
    targets_add(&r->targets, &r->m);
    drop_stale(r);
    wasm_layout(&r->m);
    store_laid_out(&r->store, &r->m);
    if (!flush_add(&r->flush, init, &once))
        return false;
    add_exit_types(r);
    splicer_init(&r->splicer, &r->m, r->plan, &r->store, r->helpers, r->fns);
    r->splicer.shadow = &r->shadow;
    r->splicer.targets = &r->targets;
    r->splicer.memories = &r->memories;
    if (r->flush.guard_grow)
        r->splicer.grow = r->flush.grow;
    r->matcher.at = splice_at;
    WasmWriter writer = {.body = rewrite_body,
                         .ctx = r,
                         .local_name = added_local_name,
                         .locals_added = locals_added};
    bool ok = wasm_write(&r->m, &writer, out);
    splicer_free(&r->splicer);
    return ok && check_output(r, out);
}

/* Whether the runtime, or a library, makes an engine with multi-memory necessary that the program
 * could do without. dup_at may write to the runtime's memory, which cannot be imported. */
static bool import_helps(const Rewrite *r) {
    const Plan *plan = r->plan;
    bool memory = plan->uses_values;
    for (uint32_t i = 0; plan->libraries && i < plan->libraries->list.len; i++)
        memory |= plan->libraries->list.at[i]->module.memories.len > 0;
    for (uint32_t i = 0; i < plan->variants.len; i++)
        memory &= !plan->variants.at[i]->dups.len;
    return memory && r->m.memories.len == 1;
}

/* Pass 1 must know what LINK_AUTO means; many slots, which it finds, need a memory after all. */
static void decide_link(Rewrite *r, const RewriteOptions *options) {
    r->decided = *options;
    r->options = &r->decided;
    if (options->link != LINK_AUTO)
        return;
    bool import = r->store.slots <= STORAGE_MAX_GLOBALS && import_helps(r);
    r->decided.link = import ? LINK_IMPORT : LINK_MERGE;
    if (import)
        r->decided.host = HOST_WASI;
}

bool rewrite_module(Plan *plan, const uint8_t *bytes, size_t size, DiagFileId file,
                    const RewriteOptions *options, Buf *out, Diags *diags) {
    Rewrite r = {.plan = plan, .file = file, .diags = diags};
    uint32_t errors = diags->errors;
    bool ok = wasm_read(&r.m, bytes, size, file, diags) && !already_instrumented(&r);
    store_init(&r.store, plan);
    memory_init(&r.memories, plan, &r.m);
    r.touched = mem_zalloc(r.m.funcs.len + 1u);
    r.added = mem_zalloc(sizeof *r.added * (r.m.funcs.len + 1u));
    r.seen_alt = mem_zalloc(plan->probes.len + 1u);
    r.matcher = (Matcher){.plan = plan, .m = &r.m, .watch_call = -1, .at = count_site, .ctx = &r};
    r.matcher.watch_op[WASM_OP_MEMORY_GROW] = true;
    shadow_init(&r.shadow, &r.m, plan, r.matcher.watch_op);
    if (ok)
        r.matcher.watch_call = flush_proc_exit(&r.m);
    decide_link(&r, options);
    ok = ok && find_sites(&r);
    decide_link(&r, options);
    if (options->linked)
        *options->linked = r.decided.link;
    ok = ok && diags->errors == errors && emit(&r, out);
    if (!ok)
        out->len = 0;
    matcher_free(&r.matcher);
    store_free(&r.store);
    shadow_free(&r.shadow);
    targets_free(&r.targets);
    memory_free(&r.memories);
    free(r.touched);
    free(r.added);
    free(r.seen_alt);
    buf_free(&r.code);
    vec_free(&r.patches);
    vec_free(&r.around);
    vec_free(&r.exits);
    vec_free(&r.flush.library_starts);
    wasm_module_free(&r.m);
    return ok;
}

bool rewrite_list(Plan *plan, const uint8_t *bytes, size_t size, DiagFileId file,
                  void (*at)(void *ctx, const Site *site, const SiteTypes *types,
                             const Match *matches, uint32_t n),
                  void *ctx, Diags *diags) {
    WasmModule m;
    Matcher w = {.plan = plan, .m = &m, .watch_call = -1, .at = at, .ctx = ctx};
    bool ok = wasm_read(&m, bytes, size, file, diags);
    for (uint32_t f = 0; ok && f < m.funcs.len; f++)
        if (m.funcs.at[f].import < 0 && !match_func(&w, f))
            ok = walk_failed(&w, f, file, diags);
    if (ok && plan->lack.call) {
        builtin_report(&plan->lack, &m, diags);
        ok = false;
    }
    matcher_free(&w);
    wasm_module_free(&m);
    return ok;
}
