/*
 * valid/signature_cont.c - operand and result types of the instructions on continuations.
 */
#include "valid/signature.h"
#include "valid/subtype.h"

static WasmTypeList params_of(const WasmTypeDef *d) {
    return (WasmTypeList){d->params, d->nparams};
}

static WasmTypeList results_of(const WasmTypeDef *d) {
    return (WasmTypeList){d->results, d->nresults};
}

static void signature_cont_put_list(WasmTypes *to, WasmTypeList l) {
    wasm_sig_put(to, l.at, l.len);
}

/* The type of the function of a continuation of type `index`, else NULL with a message. */
static const WasmTypeDef *continued(WasmSig *s, uint32_t index) {
    const WasmTypeDef *d = wasm_sig_def(s, index, WASM_TYPE_CONT);
    return d ? &s->t->m->types.at[WASM_HEAP_OF(d->fields[0].type)] : NULL;
}

/* The same for the continuation at the end of a list, `what` in a message. */
static const WasmTypeDef *continued_last(WasmSig *s, WasmTypeList types, const char *what) {
    uint32_t index;
    if (types.len && wasm_heap_index(types.at[types.len - 1], &index))
        return continued(s, index);
    wasm_sig_fail(s, "expected a reference to a continuation last in %s", what);
    return NULL;
}

static bool cont_new(WasmSig *s) {
    const WasmTypeDef *d = wasm_sig_def(s, s->i->a, WASM_TYPE_CONT);
    if (!d)
        return false;
    wasm_sig_param(s, wasm_nullable(d->fields[0].type));
    wasm_sig_result(s, WASM_REF(0, s->i->a));
    return true;
}

/* The first arguments are bound, so the rest has fewer parameters. */
static bool cont_bind(WasmSig *s) {
    const WasmModule *m = s->t->m;
    const WasmTypeDef *from = continued(s, s->i->a), *to = from ? continued(s, s->i->b) : NULL;
    if (!to)
        return false;
    if (to->nparams > from->nparams)
        return wasm_sig_fail(s, "type %u has %u parameters, of the %u that type %u has", s->i->b,
                             to->nparams, from->nparams, s->i->a);
    WasmTypeList rest = params_of(from);
    rest.len = from->nparams - to->nparams;
    signature_cont_put_list(s->params, rest);
    rest = (WasmTypeList){rest.at + rest.len, to->nparams};
    wasm_sig_param(s, WASM_REF(1, s->i->a));
    wasm_sig_result(s, WASM_REF(0, s->i->b));
    return (wasm_subtypes(m, params_of(to), rest) &&
            wasm_subtypes(m, results_of(from), results_of(to))) ||
           wasm_sig_fail(s, "the types of continuations %u and %u do not fit", s->i->a, s->i->b);
}

static bool suspend(WasmSig *s) {
    const WasmTypeDef *d = wasm_sig_tag(s, s->i->a);
    if (!d)
        return false;
    signature_cont_put_list(s->params, params_of(d));
    signature_cont_put_list(s->results, results_of(d));
    return true;
}

/* (on TAG LABEL): the label gets the tag's parameters and the continuation, which expects the tag's
 * results and leaves those of the resume. */
static bool on_label(WasmSig *s, const WasmHandler *h, const WasmTypeDef *tag,
                     WasmTypeList results) {
    const WasmModule *m = s->t->m;
    WasmTypeList label;
    if (!wasm_sig_label(s, h->label, &label))
        return false;
    const WasmTypeDef *rest = continued_last(s, label, "the types of a handler's label");
    if (!rest)
        return false;
    label.len--;
    if (!wasm_subtypes(m, params_of(tag), label))
        return wasm_sig_fail(s, "the types of tag %u do not fit label %u", h->tag, h->label);
    return (wasm_subtypes(m, params_of(rest), results_of(tag)) &&
            wasm_subtypes(m, results, results_of(rest))) ||
           wasm_sig_fail(s, "the continuation that label %u expects does not fit tag %u", h->label,
                         h->tag);
}

static bool signature_cont_handlers(WasmSig *s, WasmTypeList results) {
    const uint8_t *at = s->i->vec;
    for (uint32_t k = 0; k < s->i->count; k++) {
        WasmHandler h = wasm_vec_handler(&at);
        const WasmTypeDef *tag = wasm_sig_tag(s, h.tag);
        if (!tag || (!h.switches && !on_label(s, &h, tag, results)))
            return false;
        if (h.switches && tag->nparams)
            return wasm_sig_fail(s, "a tag to switch has no parameters, tag %u has %u", h.tag,
                                 tag->nparams);
        if (h.switches && !(wasm_subtypes(s->t->m, results, results_of(tag)) &&
                            wasm_subtypes(s->t->m, results_of(tag), results)))
            return wasm_sig_fail(s, "the results of continuation %u are not those of tag %u",
                                 s->i->a, h.tag);
    }
    return true;
}

static bool resume(WasmSig *s) {
    const WasmTypeDef *d = continued(s, s->i->a), *tag;
    if (!d)
        return false;
    switch (s->i->op) {
    case WASM_OP_RESUME: signature_cont_put_list(s->params, params_of(d)); break;
    case WASM_OP_RESUME_THROW:
        if (!(tag = wasm_sig_tag(s, s->i->b)))
            return false;
        signature_cont_put_list(s->params, params_of(tag));
        break;
    default: wasm_sig_param(s, WASM_EXNREF); break;
    }
    wasm_sig_param(s, WASM_REF(1, s->i->a));
    signature_cont_put_list(s->results, results_of(d));
    return signature_cont_handlers(s, results_of(d));
}

/* The other continuation gets this one as its last argument. */
static bool switch_to(WasmSig *s) {
    const WasmModule *m = s->t->m;
    const WasmTypeDef *to = continued(s, s->i->a), *own, *tag;
    if (!to || !(own = continued_last(s, params_of(to), "the parameters of a continuation")) ||
        !(tag = wasm_sig_tag(s, s->i->b)))
        return false;
    WasmTypeList passed = params_of(to);
    passed.len--;
    signature_cont_put_list(s->params, passed);
    wasm_sig_param(s, WASM_REF(1, s->i->a));
    signature_cont_put_list(s->results, params_of(own));
    if (tag->nparams)
        return wasm_sig_fail(s, "a tag to switch has no parameters, tag %u has %u", s->i->b,
                             tag->nparams);
    return (wasm_subtypes(m, results_of(to), results_of(tag)) &&
            wasm_subtypes(m, results_of(tag), results_of(own))) ||
           wasm_sig_fail(s, "the results of the continuations do not fit tag %u", s->i->b);
}

bool wasm_sig_cont(WasmSig *s) {
    switch (s->i->op) {
    case WASM_OP_CONT_NEW: return cont_new(s);
    case WASM_OP_CONT_BIND: return cont_bind(s);
    case WASM_OP_SUSPEND: return suspend(s);
    case WASM_OP_SWITCH: return switch_to(s);
    default: return resume(s);
    }
}
