/*
 * edit/edit.c - inserts pieces of code into function bodies.
 *
 * The body is copied in runs of bytes, interrupted where a piece is inserted or an index changes.
 * If no index changes and there are no EXIT pieces, only the instructions with patches are decoded;
 * otherwise all are.
 *
 * Exits (WASM_EXIT): the body is wrapped in a block of the function's result type, so that branches
 * to the function's label arrive before the exit code, and the depths of labels inside stay the
 * same:
 *
 *     block T  ...body...  end  <exit code>  end
 *
 * Before `return` and the like the exit code is copied.
 *
 * Exceptions that leave the body (WASM_UNWIND) are caught around it, in the block's place, and
 * rethrown:
 *
 *     try T  ...body...  catch_all  <unwind code>  rethrow 0  end  <exit code>  end
 *
 *     block exnref
 *       try_table T (catch_all_ref 0)  ...body...  end  <exit code>  return
 *     end  <unwind code>  throw_ref  end
 */
#include "edit/handlers.h"

#include "edit/edit.h"
#include "edit/new_param.h"
#include "wasm/leb.h"
#include "wasm/remap.h"

#include <assert.h>

/* An open WRAP piece. */
typedef struct Wrap {
    uint32_t until;
    uint32_t depth; /* constructs open around the wrapped one */
} Wrap;

/* The kinds of pieces. */
typedef struct EditHas {
    bool exit, unwind, wraps;
    bool nullable; /* some locals are made nullable */
} EditHas;

typedef struct Edit {
    const WasmModule *m;
    const WasmFunc *f;
    const WasmBodyEdit *edit;
    Buf *out;
    size_t base; /* where the body begins in out */
    WasmRemap map;
    uint32_t mask;
    WasmCode c;
    const uint8_t *run;  /* first byte not yet copied */
    uint32_t first;      /* of the patches that are not ENTRY, EXIT or UNWIND */
    uint32_t next;       /* the next patch */
    uint32_t code_start; /* offset of the first instruction */
    bool head_done;      /* put_head has done its BEFORE pieces */
    uint32_t exits;      /* exits that some EXIT piece covers */
    EditHas has;
    bool wrap;       /* the body is wrapped in a block */
    bool skipped;    /* the current instruction began a replaced region */
    uint32_t depth;  /* open constructs of the program, if there are WRAP pieces */
    Vec(Wrap) wraps; /* outermost first */
    WasmHint *hints_start, *hint, *hints_end;
    uint32_t mark; /* the next one */
    WasmHandlers handlers;
} Edit;

/* Notes where the `if`s of the piece that are rarely executed go. */
static void note_rare(Edit *e, const WasmPatch *p) {
    const WasmBodyEdit *edit = e->edit;
    uint32_t low = 0, high = edit->nrare, at = (uint32_t)(e->out->len - e->base);
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if (edit->rare[mid] < p->code)
            low = mid + 1;
        else
            high = mid;
    }
    for (; low < edit->nrare && edit->rare[low] < p->code + p->len; low++)
        vec_push(edit->rare_at, at + (edit->rare[low] - p->code));
}

static inline void edit_put_piece(Edit *e, const WasmPatch *p) {
    if (!p->len) /* there may be no code at all */
        return;
    if (e->edit->nrare)
        note_rare(e, p);
    buf_short(e->out, e->edit->code + p->code, p->len);
}

/* The marks before `to`, from `run` on: the code there is copied unchanged. */
static void move_marks(Edit *e, const uint8_t *to) {
    uint32_t run = (uint32_t)(e->run - e->c.start), end = (uint32_t)(to - e->c.start);
    for (; e->mark < e->edit->nmarks && e->edit->marks[e->mark] < end; e->mark++)
        e->edit->moved[e->mark] =
            (uint32_t)(e->out->len - e->base) + (e->edit->marks[e->mark] - run);
}

static void flush(Edit *e, const uint8_t *to) {
    if (e->edit && e->mark < e->edit->nmarks)
        move_marks(e, to);
    buf_short(e->out, e->run, (size_t)(to - e->run));
    e->run = to;
}

/* The pieces of one kind among patches [from, to). */
static bool put_pieces(Edit *e, uint32_t from, uint32_t to, WasmWhere where) {
    bool any = false;
    for (uint32_t k = from; k < to; k++) {
        if (e->edit->patches[k].where != where)
            continue;
        edit_put_piece(e, &e->edit->patches[k]);
        any = true;
    }
    return any;
}

static bool has_piece(const Edit *e, uint32_t from, uint32_t to, WasmWhere where) {
    for (uint32_t k = from; k < to; k++)
        if (e->edit->patches[k].where == where)
            return true;
    return false;
}

/* The EXIT pieces that cover an exit (0 = the end and `return`: all). */
static void put_exits(Edit *e, uint32_t way) {
    for (uint32_t k = 0; k < e->first; k++) {
        const WasmPatch *p = &e->edit->patches[k];
        if (p->where == WASM_EXIT && (way ? (p->exits & way) : !(p->exits & WASM_EXIT_ONLY)))
            edit_put_piece(e, p);
    }
}

/* Whether the edit makes the local nullable. */
static bool is_nullable(const WasmBodyEdit *edit, uint32_t local) {
    uint32_t low = 0, high = edit ? edit->nnullable : 0;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if (edit->nullable[mid] == local)
            return true;
        if (edit->nullable[mid] < local)
            low = mid + 1;
        else
            high = mid;
    }
    return false;
}

/* Locals of one type one after the other. */
typedef struct LocalRun {
    uint32_t n;
    WasmType type;
} LocalRun;
typedef Vec(LocalRun) LocalRuns;

static void add_local(LocalRuns *runs, uint32_t n, WasmType type, bool joins) {
    if (joins && runs->len && vec_last(runs).type == type)
        vec_last(runs).n += n;
    else
        vec_push(runs, ((LocalRun){n, type}));
}

/* The locals of a group, beginning with `local`; some may be made nullable. */
static void add_group(const Edit *e, LocalRuns *runs, uint32_t local, LocalRun group) {
    if (!e->edit->nnullable || wasm_defaultable(group.type)) {
        add_local(runs, group.n, group.type, false);
        return;
    }
    for (uint32_t k = 0; k < group.n; k++) {
        bool nullable = is_nullable(e->edit, local + k);
        add_local(runs, 1, nullable ? wasm_nullable(group.type) : group.type, k > 0);
    }
}

static bool edit_put_locals(Edit *e) {
    uint32_t groups, local = e->m->types.at[e->f->type].nparams;
    const WasmBodyEdit *edit = e->edit;
    bool changes = edit && (edit->nlocals || edit->nnullable);
    LocalRuns runs = {0};
    bool ok = wasm_get_u32(&e->c, &groups);
    for (uint32_t k = 0; ok && k < groups; k++) {
        LocalRun group;
        ok = wasm_get_u32(&e->c, &group.n) && wasm_get_type(&e->c, false, &group.type);
        if (ok && changes)
            add_group(e, &runs, local, group);
        local += ok ? group.n : 0;
    }
    for (uint32_t k = 0; ok && changes && k < edit->nlocals; k++)
        add_local(&runs, 1, edit->locals[k], k > 0);
    if (ok && changes) {
        buf_uleb(e->out, runs.len);
        for (uint32_t k = 0; k < runs.len; k++) {
            buf_uleb(e->out, runs.at[k].n);
            wasm_put_type(e->out, runs.at[k].type);
        }
        e->run = e->c.at;
    } /* else the run continues */
    vec_free(&runs);
    return ok;
}

bool wasm_reads_nullable(const WasmBodyEdit *edit, const WasmInstr *i) {
    return (i->op == WASM_OP_LOCAL_GET || i->op == WASM_OP_LOCAL_TEE) && is_nullable(edit, i->a);
}

/* The type of the block around the body. */
static bool put_wrapper(Edit *e) {
    const WasmTypeDef *d = &e->m->types.at[e->f->type];
    WasmType type = d->nresults ? d->results[0] : WASM_NONE;
    if (d->nresults > 1) {
        int64_t index = wasm_find_func_type(e->m, NULL, 0, d->results, d->nresults);
        if (index < 0)
            return wasm_code_fail(&e->c, e->c.at, "there is no type for the exit block");
        type = WASM_FUNC_TYPE_BIT | (uint32_t)index;
    }
    if (e->has.unwind) {
        wasm_put_catch(e->out, e->edit->exceptions, type, WASM_EXNREF);
        return true;
    }
    wasm_put_op(e->out, WASM_OP_BLOCK);
    wasm_put_type(e->out, type);
    return true;
}

/* After the body's code; with legacy exceptions, the handler before the region's `end`. */
static void put_handler(Edit *e, WasmExceptions form) {
    if (!e->has.unwind || e->edit->exceptions != form)
        return;
    if (form == WASM_EXCEPTIONS_REFS)
        wasm_put_op(e->out, WASM_OP_RETURN);
    wasm_put_caught(e->out, form);
    put_pieces(e, 0, e->first, WASM_UNWIND);
    wasm_put_rethrow(e->out, form);
}

/* Everything before the first instruction. */
static bool edit_put_head(Edit *e) {
    const WasmBodyEdit *edit = e->edit;
    e->code_start = (uint32_t)(e->c.at - e->c.start);
    e->head_done = e->wrap || e->first;
    if (!e->head_done)
        return true;
    flush(e, e->c.at);
    uint32_t to = e->first;
    while (to < edit->npatches && edit->patches[to].at == e->code_start)
        to++;
    put_pieces(e, 0, e->first, WASM_HEAD);
    put_pieces(e, e->first, to, WASM_BEFORE);
    put_pieces(e, 0, e->first, WASM_ENTRY);
    return !e->wrap || put_wrapper(e);
}

/* Records the new offsets of instructions with hints. The current one begins after the bytes in
 * `out` and the run. */
static void move_hints(Edit *e, const WasmInstr *i) {
    for (; e->hint < e->hints_end && e->hint->offset <= i->offset; e->hint++) {
        size_t pending = (size_t)(e->c.start + i->offset - e->run);
        if (e->hint->offset == i->offset)
            e->hint->moved = (uint32_t)(e->out->len - e->base + pending);
    }
}

/* The hints of this instruction go with it. */
static void drop_hints(Edit *e, const WasmInstr *i) {
    for (WasmHint *h = e->hint; h > e->hints_start && h[-1].offset == i->offset; h--)
        h[-1].moved = UINT32_MAX;
}

/* The bit of WASM_EXIT_* for an instruction, 0 for return, -1 if it is not an exit. */
static int way_out(Edit *e, const WasmInstr *i) {
    if (!e->has.exit)
        return -1;
    switch (wasm_flow(i->op)) {
    case WASM_FLOW_RETURN: return 0;
    case WASM_FLOW_TAIL_CALL: return e->exits & WASM_EXIT_TAIL_CALL ? WASM_EXIT_TAIL_CALL : -1;
    case WASM_FLOW_TRAP: return e->exits & WASM_EXIT_UNREACHABLE ? WASM_EXIT_UNREACHABLE : -1;
    case WASM_FLOW_THROW:
        if (!(e->exits & WASM_EXIT_THROW) || wasm_handlers_catch(&e->handlers, e->m, i))
            return -1;
        return WASM_EXIT_THROW;
    default: return -1;
    }
}

/* Puts the replacement of the instruction, if it has one; code that runs at exits is put before
 * the points at which it leaves the function. */
static bool edit_put_replacement(Edit *e, uint32_t to, int way) {
    bool any = false;
    for (uint32_t k = e->next; k < to; k++) {
        const WasmPatch *p = &e->edit->patches[k];
        if (p->where != WASM_REPLACE)
            continue;
        any = true;
        edit_put_piece(e, p);
        if (way >= 0 && !p->exits)
            put_exits(e, (uint32_t)way);
    }
    return any;
}

/* A replaced region: skips its instructions; *after is its end. Returns the first patch that is not
 * in it. */
static uint32_t skip_region(Edit *e, uint32_t to, const uint8_t **after) {
    uint32_t until = 0;
    for (uint32_t k = e->next; k < to; k++)
        if (e->edit->patches[k].where == WASM_REPLACE && e->edit->patches[k].until > until)
            until = e->edit->patches[k].until;
    WasmInstr i;
    while (e->c.at < e->c.start + until && e->c.at < e->c.end && wasm_next(&e->c, &i)) {
        move_hints(e, &i);
        drop_hints(e, &i);
        if (e->exits & WASM_EXIT_THROW)
            wasm_handlers_step(&e->handlers, &i);
        *after = e->c.at;
    }
    uint32_t end = (uint32_t)(*after - e->c.start);
    for (; e->mark < e->edit->nmarks && e->edit->marks[e->mark] < end; e->mark++)
        e->edit->moved[e->mark] = WASM_NOWHERE;
    e->run = *after;
    while (to < e->edit->npatches && e->edit->patches[to].at < until)
        to++;
    return to;
}

/* The depth of a label of the copied instruction: branches out of a wrapped construct cross one
 * more block. */
static uint32_t wrapped_label(void *ctx, uint32_t label) {
    const Edit *e = ctx;
    uint32_t crossed = 0; /* target: the construct with `depth - 1 - label` open around it */
    for (uint32_t k = 0; k < e->wraps.len; k++)
        crossed += e->wraps.at[k].depth + label >= e->depth;
    return label + crossed;
}

/* The WRAP pieces before the instruction. */
static void open_wraps(Edit *e, uint32_t to) {
    for (uint32_t k = e->next; k < to; k++) {
        const WasmPatch *p = &e->edit->patches[k];
        if (p->where != WASM_WRAP)
            continue;
        edit_put_piece(e, p);
        vec_push(&e->wraps, ((Wrap){p->until, e->depth}));
    }
}

static void close_wraps(Edit *e, const WasmInstr *i) {
    while (e->wraps.len && vec_last(&e->wraps).until == i->offset) {
        wasm_put_op(e->out, WASM_OP_END);
        e->wraps.len--;
    }
}

/* Whether the instruction concerns an open WRAP piece. */
static bool is_wrapped(const Edit *e, const WasmInstr *i) {
    return e->wraps.len && (wasm_has_labels(i) || vec_last(&e->wraps).until == i->offset);
}

/* The same for one instruction, which may get other pieces. */
static void move_mark(Edit *e, const WasmInstr *i) {
    if (e->edit && e->mark < e->edit->nmarks && e->edit->marks[e->mark] == i->offset)
        e->edit->moved[e->mark++] = (uint32_t)(e->out->len - e->base);
}

/* One instruction, with the patches [next, to) at it. */
static void edit_put_instr(Edit *e, const WasmInstr *i, uint32_t to, int way) {
    const uint8_t *bytes = e->c.start + i->offset;
    uint32_t here = to; /* after the patches at this instruction; `to` may move on */
    flush(e, bytes);
    if (!e->head_done || i->offset != e->code_start)
        put_pieces(e, e->next, to, WASM_BEFORE);
    if (way >= 0 && !has_piece(e, e->next, to, WASM_REPLACE))
        put_exits(e, (uint32_t)way);
    if (e->has.wraps)
        open_wraps(e, to);
    const uint8_t *after = bytes + i->size;
    bool last = e->wrap && after == e->c.end;
    if (last)
        put_handler(e, WASM_EXCEPTIONS_LEGACY);
    put_pieces(e, e->next, to, WASM_OPERAND);
    move_hints(e, i);
    move_mark(e, i);
    if (edit_put_replacement(e, to, way)) {
        drop_hints(e, i);
        to = skip_region(e, to, &after);
        e->skipped = after != bytes + i->size;
    } else if (e->wraps.len && wasm_has_labels(i)) {
        e->depth -= i->op == WASM_OP_DELEGATE; /* it replaces the `end` */
        wasm_copy_branch(bytes, i, &e->map, wrapped_label, e, e->out);
        e->depth += i->op == WASM_OP_DELEGATE;
        e->run = after;
    } else if (e->mask & wasm_op_spaces[i->op]) {
        wasm_copy_instr(bytes, i, &e->map, e->out);
        e->run = after;
    } /* else it begins the next run */
    if (wasm_reads_nullable(e->edit, i) && !has_piece(e, e->next, here, WASM_REPLACE)) {
        flush(e, after);
        wasm_put_op(e->out, WASM_OP_REF_AS_NON_NULL);
    }
    bool wrapped = is_wrapped(e, i);
    if (last || wrapped || has_piece(e, e->next, here, WASM_AFTER))
        flush(e, after);
    put_pieces(e, e->next, here, WASM_AFTER);
    if (wrapped)
        close_wraps(e, i);
    if (last) {
        put_exits(e, 0);
        put_handler(e, WASM_EXCEPTIONS_REFS);
        wasm_put_op(e->out, WASM_OP_END);
    }
    e->next = to;
}

/* Decodes everything, as any instruction may need a change. */
static bool put_all(Edit *e) {
    const WasmPatch *patches = e->edit ? e->edit->patches : NULL;
    uint32_t npatches = e->edit ? e->edit->npatches : 0;
    WasmInstr i;
    while (wasm_next(&e->c, &i)) {
        uint32_t to = e->next;
        while (to < npatches && patches[to].at == i.offset)
            to++;
        int way = way_out(e, &i);
        bool moves = wasm_op_spaces[i.op] & e->mask;
        bool last = e->wrap && e->c.at == e->c.end;
        if (last && i.op != WASM_OP_END)
            return wasm_code_fail(&e->c, e->c.at, "the body does not finish with `end`");
        e->skipped = false;
        if (to != e->next || way >= 0 || moves || last || is_wrapped(e, &i) ||
            (e->has.nullable && wasm_reads_nullable(e->edit, &i)))
            edit_put_instr(e, &i, to, way);
        else
            move_hints(e, &i);
        e->depth += wasm_flow_opens(wasm_flow(i.op)) && !e->skipped;
        e->depth -= i.op == WASM_OP_END || i.op == WASM_OP_DELEGATE;
        if (e->exits & WASM_EXIT_THROW)
            wasm_handlers_step(&e->handlers, &i);
    }
    if (e->c.error)
        return false;
    if (e->next < npatches)
        return wasm_code_fail(&e->c, e->c.start + patches[e->next].at,
                              "there is no instruction at this offset");
    return true;
}

/* ---- bodies in which only functions move ---- */

/* Copies up to offset `to` with the new values of references; those in replaced code are
 * skipped. */
static bool put_refs(Edit *e, WasmRefs *r, uint32_t to) {
    for (; r->next < to; wasm_next_ref(r)) {
        const uint8_t *at = e->c.start + r->next;
        WasmInstr i;
        if (at < e->run)
            continue;
        flush(e, at);
        e->c.at = at;
        if (!wasm_next(&e->c, &i))
            return false;
        move_mark(e, &i);
        wasm_copy_instr(at, &i, &e->map, e->out);
        e->run = e->c.at;
    }
    return true;
}

/* The size of a `loop` or `end` that neither has a type nor is the end of a body that is wrapped;
 * 0: it is another instruction. */
static uint32_t label_size(const Edit *e, const uint8_t *at) {
    WasmOp op = (WasmOp)wasm_short_ops[*at].op;
    return (op == WASM_OP_LOOP || op == WASM_OP_END) && !e->wrap ? wasm_short_size(at, e->c.end)
                                                                 : 0;
}

/* Puts the patches [next, to) at an instruction if they are merely before it, or after a label, as
 * most are: it need not be decoded. */
static bool put_beside(Edit *e, uint32_t to) {
    const WasmPatch *patches = e->edit->patches;
    const uint8_t *at = e->c.start + patches[e->next].at;
    uint32_t size = 0;
    for (uint32_t k = e->next; k < to; k++)
        if (patches[k].where == WASM_AFTER
                ? !(size = label_size(e, at))
                : patches[k].where != WASM_BEFORE || patches[k].at == e->code_start)
            return false;
    for (; e->next < to; e->next++) {
        flush(e, patches[e->next].where == WASM_AFTER ? at + size : at);
        edit_put_piece(e, &patches[e->next]);
    }
    return true;
}

/* Decodes only the instructions that have patches, and instructions that name functions if
 * functions move. */
static bool put_patched(Edit *e) {
    const WasmPatch *patches = e->edit ? e->edit->patches : NULL;
    uint32_t npatches = e->edit ? e->edit->npatches : 0, size = (uint32_t)(e->c.end - e->c.start);
    WasmInstr i;
    WasmRefs refs = e->mask ? wasm_refs(e->m, e->f) : (WasmRefs){.next = UINT32_MAX};
    while (e->next < npatches) {
        uint32_t at = patches[e->next].at, to = e->next;
        const uint8_t *p = e->c.start + at;
        if (at >= size || p < e->run || at < e->code_start)
            return wasm_code_fail(&e->c, e->c.at, "there is no instruction at this offset");
        if (refs.next < at && !put_refs(e, &refs, at))
            return false;
        while (to < npatches && patches[to].at == at)
            to++;
        if (put_beside(e, to))
            continue;
        e->c.at = p;
        if (!wasm_next(&e->c, &i))
            return false;
        edit_put_instr(e, &i, to, -1);
    }
    bool ok = put_refs(e, &refs, size);
    e->c.at = e->c.end;
    return ok;
}

static bool may_throw(const Edit *e) {
    uint32_t func = (uint32_t)(e->f - e->m->funcs.at);
    return wasm_may_have(e->m, func, WASM_OP_THROW) || wasm_may_have(e->m, func, WASM_OP_RETHROW) ||
           wasm_may_have(e->m, func, WASM_OP_THROW_REF);
}

static bool edit_put_body(Edit *e) {
    if (!edit_put_locals(e))
        return false;
    if (e->exits & WASM_EXIT_THROW && !(may_throw(e) && wasm_handlers_scan(&e->handlers, e->c)))
        e->exits &= ~(uint32_t)WASM_EXIT_THROW;
    if (!edit_put_head(e))
        return false;
    e->has.nullable = e->edit && e->edit->nnullable;
    /* indices of other spaces change, or the positions of function indices were not recorded */
    bool others = e->mask & (e->m->has_func_refs ? ~(1u << WASM_SPACE_FUNC) : UINT32_MAX);
    bool all = others || e->has.nullable || e->has.exit || e->has.unwind || e->has.wraps ||
               e->hint < e->hints_end;
    if (all ? !put_all(e) : !put_patched(e))
        return false;
    flush(e, e->c.end);
    return true;
}

/* Which kinds of pieces there are. */
static void edit_survey(Edit *e) {
    const WasmBodyEdit *edit = e->edit;
    if (!edit)
        return;
    uint32_t k = 0;
    for (; k < edit->npatches; k++) {
        const WasmPatch *p = &edit->patches[k];
        if (p->where != WASM_HEAD && p->where != WASM_ENTRY && p->where != WASM_EXIT &&
            p->where != WASM_UNWIND)
            break;
        e->has.unwind |= p->where == WASM_UNWIND;
        if (p->where == WASM_EXIT) {
            e->has.exit = true;
            e->exits |= p->exits;
        }
    }
    e->first = e->next = k;
    e->wrap = e->has.exit || e->has.unwind;
    for (; k < edit->npatches; k++)
        e->has.wraps |= edit->patches[k].where == WASM_WRAP;
    uint32_t end = e->f->body_size - 1;
    for (k = edit->npatches; k > e->first && edit->patches[k - 1].at == end; k--)
        if (edit->patches[k - 1].where == WASM_AFTER)
            e->wrap = true;
}

static void find_hints(Edit *e, uint32_t func) {
    const WasmModule *m = e->m;
    uint32_t low = vec_first(&m->hints, func, func), high = low;
    while (high < m->hints.len && m->hints.at[high].func == func)
        high++;
    if (m->hints.len) {
        e->hints_start = e->hint = &m->hints.at[low];
        e->hints_end = &m->hints.at[high];
    }
}

/* Puts the size before the body at `at`, where there are MAX_SIZE bytes of room. */
enum { MAX_SIZE = 5 };
static void edit_put_size(const WasmFunc *f, Buf *out, size_t at) {
    size_t size = out->len - at - MAX_SIZE;
    uint32_t width = size == f->body_size ? f->size_width : uleb_size(size);
    memmove(out->data + at + width, out->data + at + MAX_SIZE, size);
    out->len = at;
    buf_uleb_padded(out, size, width);
    out->len += size;
}

bool wasm_edit_body(const WasmModule *m, uint32_t func, const WasmBodyEdit *edit, Buf *out,
                    const char **error, uint32_t *error_offset) {
    assert(m->layout.done && func < m->input_count[WASM_SPACE_FUNC]);
    const WasmFunc *f = &m->funcs.at[func];
    Edit e = {.m = m, .f = f, .edit = edit, .out = out, .map = wasm_layout_remap(m)};
    if (edit && edit->calls_wrapped)
        e.map = wasm_program_remap(m);
    e.mask = wasm_remap_mask(&e.map);
    if (edit && !edit->npatches && !edit->param && !edit->nlocals && !edit->nnullable &&
        !edit->nmarks)
        e.edit = NULL;
    const uint8_t *body = m->bytes + f->body;
    if (!e.edit && !e.mask) {
        buf_bytes(out, body - f->size_width, (size_t)f->size_width + f->body_size);
        return true;
    }
    size_t at = out->len;
    uint32_t rare = edit && edit->rare_at ? edit->rare_at->len : 0;
    buf_reserve(out, MAX_SIZE + (size_t)f->body_size);
    out->len += MAX_SIZE;
    e.base = out->len;
    e.c = wasm_code(body, f->body_size, 0);
    e.run = body;
    edit_survey(&e);
    find_hints(&e, func);
    bool ok = edit_put_body(&e);
    wasm_handlers_free(&e.handlers);
    vec_free(&e.wraps);
    uint32_t nrare = edit && edit->rare_at ? edit->rare_at->len - rare : 0;
    if (ok && e.edit && e.edit->param)
        wasm_new_param(&(WasmNewParam){.nparams = wasm_func_type(m, func)->nparams,
                                       .local = edit->param - 1,
                                       .moved = edit->moved,
                                       .nmoved = edit->nmarks,
                                       .rare = nrare ? edit->rare_at->at + rare : NULL,
                                       .nrare = nrare,
                                       .hints = e.hints_start,
                                       .hints_end = e.hints_end},
                       e.base, out);
    if (!ok) {
        out->len = at;
        *error = e.c.error;
        *error_offset = e.c.error_offset;
        return false;
    }
    edit_put_size(f, out, at);
    return true;
}

WasmType wasm_exit_block_type(WasmModule *m, uint32_t func) {
    assert(func < m->funcs.len);
    const WasmTypeDef *d = wasm_func_type(m, func);
    if (d->nresults == 0)
        return WASM_NONE;
    if (d->nresults == 1)
        return d->results[0];
    return WASM_FUNC_TYPE_BIT | wasm_add_func_type(m, NULL, 0, d->results, d->nresults);
}
