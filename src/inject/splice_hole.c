/*
 * inject/splice_hole.c - filling the holes of templates.
 */
#include "inject/splice_hole.h"

#include "gen/template.h"
#include "valid/subtype.h"
#include "wasm/emit.h"

void hole_put_local(Splicer *s, uint8_t access, uint32_t local) {
    put_index(s->out,
              access == HOLE_GET   ? WASM_OP_LOCAL_GET
              : access == HOLE_SET ? WASM_OP_LOCAL_SET
                                   : WASM_OP_LOCAL_TEE,
              local);
}

void hole_put_global(Splicer *s, uint8_t access, uint64_t global) {
    put_index(s->out, access == HOLE_GET ? WASM_OP_GLOBAL_GET : WASM_OP_GLOBAL_SET, global);
}

void hole_put_call(Splicer *s, uint32_t func) {
    emit_calls(s->out, s->m, &func, 1);
}

static void put_constant(Splicer *s, WasmType type, const Expr *e, const Site *site) {
    Value v = {.kind = e->type->kind};
    fold(e, site, &v); /* plan_shape leaves out sites at which it has no value */
    if (v.kind == TYPE_STR)
        s->backend->text(s->ctx, v.text, s->out);
    else
        wasm_put_const(s->out, type, value_wasm_bits(v));
}

static void put_word(Splicer *s, const Hole *h) {
    const uint64_t *words = s->site.words + h->n;
    if (h->type != WASM_V128) {
        wasm_put_const(s->out, h->type, words[0]);
        return;
    }
    wasm_put_op(s->out, WASM_OP_V128_CONST);
    buf_u64le(s->out, words[0]);
    buf_u64le(s->out, words[1]);
}

/* Returns the template's local for leaf n of a tuple that a call returned, or that it returns. */
static uint32_t leaf_local(LocalPool *pool, LeafLocals *list, uint32_t n, WasmType type) {
    for (uint32_t i = 0; i < list->len; i++)
        if (list->at[i].n == n && list->at[i].type == type)
            return list->at[i].local;
    vec_push(list, ((LeafLocal){n, type, pool_take(pool, type)}));
    return vec_last(list).local;
}

/* Returns the local of result i of the instruction that an alt body replaces (Variant.gives). */
static uint32_t given_local(Splicer *s, uint32_t i) {
    return leaf_local(&s->pool, &s->site.gives, i, wasm_nullable(s->site.types->supplies.at[i]));
}

void hole_push_given(Splicer *s) {
    for (uint32_t i = 0; i < s->site.types->supplies.len; i++) {
        hole_put_local(s, HOLE_GET, given_local(s, i));
        if (!wasm_defaultable(s->site.types->supplies.at[i]))
            wasm_put_op(s->out, WASM_OP_REF_AS_NON_NULL);
    }
}

void hole_take_leaves(Splicer *s, const Type *result) {
    uint32_t n = type_leaves(result);
    for (uint32_t i = n; i > 0 && n > 1; i--) {
        WasmType type = type_wasm(type_leaf(result, i - 1));
        hole_put_local(s, HOLE_SET, leaf_local(&s->pool, &s->site.got, i - 1, type));
    }
}

/* Pushes the size of the memory or table that the instruction accesses, as i64. */
static void splice_hole_put_size(Splicer *s, const Hole *h, const WasmInstr *i) {
    WasmType type;
    if (h->kind == HOLE_PAGES) {
        uint32_t memory = accessed_memory(i, h->n);
        put_index(s->out, WASM_OP_MEMORY_SIZE, wasm_final(s->m, WASM_SPACE_MEMORY, memory));
        type = wasm_memory_address(s->m, memory);
    } else {
        /* table.init names the segment first; table.copy's source is second */
        uint32_t table = i->op == WASM_OP_TABLE_INIT || h->n ? i->b : i->a;
        put_index(s->out, WASM_OP_TABLE_SIZE, wasm_final(s->m, WASM_SPACE_TABLE, table));
        type = wasm_table_address(s->m, table);
    }
    emit_resize(s->out, type, WASM_I64);
}

/* Pushes the table entry selected by operand 0, in the arm of an `if` (of that result) that is
 * taken if the entry exists. */
static void put_if_entry(Splicer *s, uint32_t table, WasmType result) {
    emit(s->out,
         "$index=%u $table=%u"
         " local.get $index table.size $table %s.lt_u if %u local.get $index table.get $table",
         s->site.args.local.at[0], wasm_final(s->m, WASM_SPACE_TABLE, table),
         emit_type(wasm_table_address(s->m, table)), result);
}

/* Whether an indirect call of the entry will trap. The type need not be tested where the table
 * holds nothing else. */
static void put_entry_fails(Splicer *s, const WasmInstr *i) {
    put_if_entry(s, i->b, WASM_I32);
    if (wasm_subtype(s->m, s->m->tables.at[i->b].type, WASM_REF(1, i->a)))
        emit(s->out, "ref.is_null else i32.const 1 end");
    else
        emit(s->out, "ref.test %u i32.eqz else i32.const 1 end", WASM_REF(0, i->a));
}

/* Whether operand 0 is of a type; or is not, with `negation`. */
static void splice_hole_put_test(Splicer *s, WasmType type, const char *negation) {
    emit(s->out, "local.get %u %s %u %s", s->site.args.local.at[0],
         type & WASM_NULL_BIT ? "ref.test_null" : "ref.test", type, negation);
}

/* Pushes what a comparison of the descriptor of operand 1 with operand 0 leads to: one of three
 * numbers, `null` if operand 0 is, when the instruction traps. */
static void put_comparison(Splicer *s, const WasmInstr *i, uint32_t null, uint32_t same,
                           uint32_t other) {
    bool cast = wasm_imm(i->op) == WASM_IMM_HEAP;
    WasmType to = !cast                                     ? i->type2
                  : i->op == WASM_OP_REF_CAST_DESC_EQ_NULL ? i->type
                                                            : i->type & ~WASM_NULL_BIT;
    emit(s->out,
         "$descriptor=%u $reference=%u"
         " local.get $descriptor ref.is_null if i32 i32.const %u"
         " else block %u local.get $reference local.get $descriptor",
         s->site.args.local.at[0], s->site.args.local.at[1], null, to);
    wasm_put_op(s->out, WASM_OP_BR_ON_CAST_DESC_EQ);
    buf_u8(s->out, to & WASM_NULL_BIT ? 3 : 1);
    buf_uleb(s->out, 0);
    wasm_put_heap(s->out, wasm_top_type(s->m, to));
    wasm_put_heap(s->out, to);
    emit(s->out, "drop i32.const %u br 1 end drop i32.const %u end", other, same);
}

/* Pushes a condition on operand 0. */
static void splice_hole_put_condition(Splicer *s, const WasmInstr *i, RefCondition which) {
    bool negated = i->op == WASM_OP_BR_ON_NON_NULL || i->op == WASM_OP_BR_ON_CAST_FAIL;
    const char *negation = negated ? "i32.eqz" : "";
    if (which == ENTRY_FAILS)
        put_entry_fails(s, i);
    else if (wasm_compares_descriptors(i->op) && which == REF_CAST_FAILS)
        put_comparison(s, i, 1, 0, 1);
    else if (wasm_compares_descriptors(i->op))
        put_comparison(s, i, 0, i->op == WASM_OP_BR_ON_CAST_DESC_EQ,
                       i->op == WASM_OP_BR_ON_CAST_DESC_EQ_FAIL);
    else if (which == REF_CAST_FAILS)
        splice_hole_put_test(s, i->op == WASM_OP_REF_CAST_NULL ? i->type : i->type & ~WASM_NULL_BIT,
                             "i32.eqz");
    else if (i->op == WASM_OP_BR_ON_NULL || i->op == WASM_OP_BR_ON_NON_NULL)
        emit(s->out, "local.get %u ref.is_null %s", s->site.args.local.at[0], negation);
    else
        splice_hole_put_test(s, i->type2, negation);
}

/* Pushes the function table's entry selected by operand 0; null if it does not exist. */
static void splice_hole_put_entry(Splicer *s, const WasmInstr *i) {
    uint32_t table = accessed_table(i);
    bool functions = wasm_subtype(s->m, s->m->tables.at[table].type, WASM_FUNCREF);
    if (functions)
        put_if_entry(s, table, WASM_FUNCREF);
    emit(s->out, functions ? "else ref.null func end" : "ref.null func");
}

void hole_put_operand_as(Splicer *s, uint32_t n, bool wide) {
    hole_put_local(s, HOLE_GET, s->site.args.local.at[n]);
    emit_resize(s->out, s->site.args.type.at[n], wide ? WASM_I64 : WASM_I32);
}

/* Pushes the length of an array, 0 for null. */
static void put_length(Buf *out, uint32_t local) {
    emit(out,
         "$array=%u local.get $array ref.is_null"
         " if i64 i64.const 0 else local.get $array array.len i64.extend_i32_u end",
         local);
}

void hole_restore(Splicer *s, const Saved *v, uint32_t n) {
    for (uint32_t k = n; k-- > 0;)
        hole_put_local(s, HOLE_GET, v->local.at[k]);
}

uint32_t hole_operand_count(const Site *site, const SiteTypes *types) {
    return types->known ? types->operands.len
                        : (uint32_t)strlen(wasm_ops[site->instr->op].operands);
}

int64_t alt_call_target(const WasmModule *m, const AltCall *call) {
    uint32_t n = m->input_count[WASM_SPACE_FUNC];
    if (!call->by_name)
        return call->id < n ? (int64_t)call->id : -1;
    for (uint32_t i = 0; i < n; i++)
        if (m->funcs.at[i].import < 0 && m->funcs.at[i].named &&
            str_eq(wasm_shown_name(m, i), call->name))
            return i;
    return -1;
}

/* Calls the function with the operands. In place of a tail call, this ends the function; else it
 * leaves the results. */
static void put_alt_call(Splicer *s, const AltCall *call, const Site *site) {
    uint32_t target = (uint32_t)alt_call_target(s->m, call);
    bool ends = target == s->proc_exit;
    hole_restore(s, &s->site.args, s->site.args.local.len);
    if (ends || site->instr->op == WASM_OP_RETURN_CALL)
        hole_put_leave(s, ends);
    if (site->instr->op == WASM_OP_RETURN_CALL) {
        put_index(s->out, WASM_OP_RETURN_CALL, wasm_called(s->m, target));
        return;
    }
    put_index(s->out, WASM_OP_CALL, wasm_called(s->m, target));
    for (uint32_t i = s->site.types->supplies.len; i > 0; i--)
        hole_put_local(s, HOLE_SET, given_local(s, i - 1));
}

void hole_put_leave(Splicer *s, bool ends) {
    vec_push(&s->site.leaves, ((Leave){s->out->len, ends}));
}

/* Accesses the local of a hole; false if the hole has none. */
static bool put_own_local(Splicer *s, const Hole *h) {
    uint32_t local;
    switch ((HoleKind)h->kind) {
    case HOLE_ARG: local = s->site.args.local.at[h->n]; break;
    case HOLE_RESULT: local = s->site.results.local.at[h->n]; break;
    case HOLE_LOCAL: local = h->n; break;
    case HOLE_TEMP: local = s->temps.at[h->n]; break;
    case HOLE_BACK: local = s->func.back; break;
    case HOLE_GOT: local = leaf_local(&s->pool, &s->site.got, h->n, h->type); break;
    case HOLE_GIVE: local = leaf_local(&s->pool, &s->site.gives, h->n, h->type); break;
    default: return false;
    }
    hole_put_local(s, h->access, local);
    return true;
}

static void put_hole(Splicer *s, const Hole *h, const Variant *v, const Site *site) {
    if (put_own_local(s, h))
        return;
    switch ((HoleKind)h->kind) {
    case HOLE_CONST: put_constant(s, h->type, v->consts.at[h->n], site); break;
    case HOLE_WORD: put_word(s, h); break;
    case HOLE_PAGES:
    case HOLE_ELEMS: splice_hole_put_size(s, h, site->instr); break;
    case HOLE_WIDE: hole_put_operand_as(s, h->n, true); break;
    case HOLE_NULL: emit(s->out, "local.get %u ref.is_null", s->site.args.local.at[h->n]); break;
    case HOLE_ALT_CALL: put_alt_call(s, &v->calls.alts.at[h->n], site); break;
    case HOLE_CONDITION: splice_hole_put_condition(s, site->instr, (RefCondition)h->n); break;
    case HOLE_RARE: vec_push(&s->rare, (uint32_t)s->out->len); break;
    case HOLE_LENGTH: put_length(s->out, s->site.args.local.at[h->n]); break;
    case HOLE_ENTRY: splice_hole_put_entry(s, site->instr); break;
    case HOLE_GLOBAL:
        emit(s->out, "global.get %u", wasm_final(s->m, WASM_SPACE_GLOBAL, h->n));
        break;
    default: s->backend->fill(s->ctx, s, h, v, site);
    }
}

void splice_template(Splicer *s, const Template *t, const Variant *v, const Site *site) {
    s->temps.len = s->site.got.len = 0;
    if (!v || !v->alt.gives)
        s->site.gives.len = 0;
    for (uint32_t i = 0; i < t->ntemps; i++) {
        uint32_t local = pool_take(&s->pool, t->temps[i]);
        vec_push(&s->temps, local);
    }
    uint32_t at = 0;
    for (uint32_t i = 0; i < t->nholes; i++) {
        buf_bytes(s->out, t->code + at, t->holes[i].at - at);
        at = t->holes[i].at;
        put_hole(s, &t->holes[i], v, site);
    }
    buf_bytes(s->out, t->code + at, t->len - at);
    bool by_site = v && v->alt.gives;
    for (uint32_t i = 0; i < t->ngives && !by_site; i++)
        hole_put_local(s, HOLE_GET, leaf_local(&s->pool, &s->site.gives, i, t->gives[i]));
    for (uint32_t i = 0; i < s->temps.len; i++)
        pool_free_local(&s->pool, s->temps.at[i]);
    for (uint32_t i = 0; i < s->site.got.len; i++)
        pool_free_local(&s->pool, s->site.got.at[i].local);
}
