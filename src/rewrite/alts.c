/*
 * rewrite/alts.c - functions and memories of the program that `alt` probes and `dup_at` name.
 */
#include "plan/alt.h"
#include "rewrite/pass.h"
#include "valid/subtype.h"

typedef struct Alts {
    bool *seen; /* by source of a variant: two probes that replace one instruction were reported */
} Alts;

static bool alts_begin(Rewrite *r, void *self) {
    Alts *a = self;
    bool any = false;
    for (uint32_t i = 0; i < r->p.plan->variants.len; i++) {
        const Variant *v = r->p.plan->variants.at[i];
        any |= v->alt.is || v->calls.alts.len || v->calls.dups.len;
    }
    a->seen = mem_zalloc(r->p.plan->probes.len + 1u);
    return any;
}

/* Checks that only one probe replaces an instruction. */
static void alts_check_alts(Rewrite *r, Alts *a, const Site *site, const Match *matches,
                            uint32_t n) {
    const Match *first = NULL;
    for (uint32_t i = 0; i < n; i++) {
        if (!matches[i].shape->variant->alt.is)
            continue;
        if (first && !a->seen[matches[i].shape->variant->source]) {
            a->seen[matches[i].shape->variant->source] = true;
            Diag *d = diag(r->p.diags, DIAG_ALT_CLASH, matches[i].shape->variant->probe->rule.span,
                           "two alt probes replace the %s at offset %u of function %u",
                           wasm_ops[site->instr->op].mnemonic, site->pc, site->func);
            diag_label(r->p.diags, d, first->shape->variant->probe->rule.span,
                       "the first one is here");
        }
        first = &matches[i];
    }
}

static bool subtypes(const WasmModule *m, const WasmType *a, uint32_t na, const WasmType *b,
                     uint32_t nb) {
    bool ok = na == nb;
    for (uint32_t i = 0; ok && i < na; i++)
        ok = wasm_subtype(m, a[i], b[i]);
    return ok;
}

/* Checks that the function of an alt call exists, and has the callee's parameters and the results
 * that are needed. */
static void check_alt_calls(Rewrite *r, const Site *site, const SiteTypes *types,
                            const Variant *v) {
    const WasmTypes *given = &types->operands, *needed = &types->supplies;
    for (uint32_t i = 0; i < v->calls.alts.len; i++) {
        const AltCall *call = &v->calls.alts.at[i];
        int64_t target = alt_call_target(&r->p.m, call);
        if (target < 0) {
            diag(r->p.diags, DIAG_ALT_RESULT, call->span, "the program has no function %s",
                 call->by_name ? "of this name" : "of this index");
            return;
        }
        const WasmTypeDef *t = wasm_func_type(&r->p.m, (uint32_t)target);
        if (!subtypes(&r->p.m, given->at, given->len, t->params, t->nparams) ||
            !subtypes(&r->p.m, t->results, t->nresults, needed->at, needed->len))
            diag(r->p.diags, DIAG_ALT_RESULT, call->span,
                 "function %u does not have the type of the callee at offset %u of function %u",
                 (uint32_t)target, site->pc, site->func);
    }
}

/* Checks that the memories that dup_at writes to exist. */
static void check_dups(Rewrite *r, const Site *site, const Variant *v) {
    for (uint32_t i = 0; i < v->calls.dups.len; i++) {
        const Expr *memory = v->calls.dups.at[i].memory;
        bool imported = r->options->link == LINK_IMPORT;
        if (memory_named(&r->memories, memory, site, imported))
            continue;
        Diag *d = diag(r->p.diags, DIAG_NO_MEMORY, memory->span, "the program has no such memory");
        if (imported && memory_named(&r->memories, memory, site, false))
            diag_hint(r->p.diags, d, "with --link=import it is in another module");
    }
}

static void alts_note(Rewrite *r, void *self, const Site *site, const SiteTypes *types,
                      const Match *matches, uint32_t n, bool code) {
    (void)code;
    for (uint32_t i = 0; i < n; i++) {
        check_alt_calls(r, site, types, matches[i].shape->variant);
        check_dups(r, site, matches[i].shape->variant);
    }
    if (n > 1)
        alts_check_alts(r, self, site, matches, n);
}

static void alts_free(Rewrite *r, void *self) {
    (void)r;
    Alts *a = self;
    free(a->seen);
}

const RewritePass alts_pass = {
    .name = "alts",
    .size = sizeof(Alts),
    .begin = alts_begin,
    .note = alts_note,
    .free = alts_free,
};
