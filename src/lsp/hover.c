/*
 * lsp/hover.c - the language server: what something is: names, rules.
 */
#include "lsp/server.h"

#include "event/event.h"
#include "lang/lang.h"
#include "plan/counter.h"

/* ---- what all events of a rule have ---- */

enum { MAX_RULES = 16, SHOWN_EVENTS = 12 };

static void rule_free(RuleNames *n) {
    free(n->rule);
    arena_free(&n->arena);
    vec_free(&n->events);
    vec_free(&n->names);
    vec_free(&n->functions);
    free(n);
}

void rule_names_free(whammc_server *s) {
    for (uint32_t i = 0; i < s->rules.len; i++)
        rule_free(s->rules.at[i]);
    vec_free(&s->rules);
}

static const char *rule_keep(RuleNames *n, const char *text) {
    return text ? arena_strndup(&n->arena, text, strlen(text)) : NULL;
}

static void take_first(RuleNames *n, const whammc_event *e) {
    for (size_t i = 0; i < e->nnames; i++) {
        whammc_name name = e->names[i];
        name.name = rule_keep(n, name.name);
        name.type = rule_keep(n, name.type);
        vec_push(&n->names, name);
    }
    for (size_t i = 0; i < e->nfunctions; i++)
        vec_push(&n->functions, e->functions[i]);
}

/* Leaves out what another event does not have; a type that differs is not known. */
static void take_common(RuleNames *n, const whammc_event *e) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n->names.len; i++) {
        size_t k = 0;
        while (k < e->nnames && strcmp(e->names[k].name, n->names.at[i].name) != 0)
            k++;
        if (k == e->nnames)
            continue;
        n->names.at[kept] = n->names.at[i];
        const char *type = n->names.at[kept].type;
        if (!type || !e->names[k].type || strcmp(type, e->names[k].type) != 0)
            n->names.at[kept].type = NULL;
        kept++;
    }
    n->names.len = kept;
    kept = 0;
    for (uint32_t i = 0; i < n->functions.len; i++) {
        size_t k = 0;
        while (k < e->nfunctions && strcmp(e->functions[k].text, n->functions.at[i].text) != 0)
            k++;
        if (k < e->nfunctions)
            n->functions.at[kept++] = n->functions.at[i];
    }
    n->functions.len = kept;
}

static void take_event(void *ctx, const whammc_event *e) {
    RuleNames *n = ctx;
    if (n->nevents++)
        take_common(n, e);
    else
        take_first(n, e);
    vec_push(&n->events, ((whammc_event){.text = rule_keep(n, e->text), .doc = e->doc}));
}

const RuleNames *rule_names(whammc_server *s, Str rule) {
    RuleNames *n = NULL;
    uint32_t at = 0;
    while (at < s->rules.len && !str_is(rule, s->rules.at[at]->rule))
        at++;
    if (at < s->rules.len) {
        n = s->rules.at[at];
    } else {
        n = mem_zalloc(sizeof *n);
        n->rule = api_copy(rule.ptr, rule.len);
        whammc *w = whammc_new();
        whammc_explain(w, n->rule, take_event, n);
        whammc_free(w);
        if (s->rules.len == MAX_RULES)
            rule_free(s->rules.at[at = MAX_RULES - 1]);
        else
            vec_push(&s->rules, n);
    }
    for (; at; at--) /* the one asked for last is the first */
        s->rules.at[at] = s->rules.at[at - 1];
    s->rules.at[0] = n;
    return n->nevents ? n : NULL;
}

/* ---- the descriptions of names ---- */

/* The comment above a declaration. */
static void put_comment_above(const Document *d, Span span, Buf *out) {
    const DiagFile *f = &d->w->diags.files.at[span.file - 1];
    buf_u8(out, '\n');
    api_comment_above((Str){f->text, (uint32_t)f->len}, span.start, "", out);
}

/* The text of a link at `at`, "[text](target)", whose end is *past; empty if there is none. */
static Str link_at(Str text, uint32_t at, uint32_t *past) {
    uint32_t end = at, close;
    while (end < text.len && !strchr("]\n", text.ptr[end]))
        end++;
    if (text.ptr[at] != '[' || text.len - end < 2 || text.ptr[end + 1] != '(')
        return (Str){0};
    for (close = end; close < text.len && text.ptr[close] != ')' && text.ptr[close] != '\n';)
        close++;
    *past = close + 1;
    return close < text.len && text.ptr[close] == ')' ? (Str){text.ptr + at + 1, end - at - 1}
                                                      : (Str){0};
}

/* A part of the manual without its links, which lead nowhere from here. */
static void put_without_links(Str text, Buf *out) {
    for (uint32_t at = 0; at < text.len;) {
        uint32_t past = 0;
        Str link = link_at(text, at, &past);
        if (link.len)
            buf_str(out, link);
        else
            buf_u8(out, (uint8_t)text.ptr[at]);
        at = link.len ? past : at + 1;
    }
}

/* What the manual says about an entry of a topic. */
static void put_manual(whammc_server *s, const char *topic, Str word, Buf *out) {
    const char *text;
    char *name = api_copy(word.ptr, word.len);
    if (!s->manual)
        s->manual = whammc_new();
    if (whammc_manual(s->manual, topic, name, &text) == WHAMMC_OK)
        put_without_links(str_of(text), out);
    free(name);
}

static const char *storage_text(const Var *v) {
    if (v->constant)
        return "A constant; `--define` gives it another value.";
    if (v->element)
        return "Shadow memory: what it has for each address of the program's memory.";
    if (v->derived)
        return "A derived column, computed when a report is read.";
    if (v->param)
        return "A parameter.";
    switch (v->storage) {
    case STORAGE_SCRIPT: return v->atomic ? "One for all threads." : "One for the whole run.";
    case STORAGE_UNSHARED: return "One for each site.";
    case STORAGE_SHARED: return "One for all sites of the probe.";
    case STORAGE_FRAME: return "One for each activation of the function.";
    case STORAGE_LOCAL:
        return v->loop         ? "A variable of the loop."
               : v->decorators ? "A variable of a probe." /* that has not been checked */
                               : "One for each execution.";
    }
    return "";
}

static void hover_var(const Document *d, const Var *v, Str name, Buf *out) {
    const DiagFile *f = &d->w->diags.files.at[v->span.file - 1];
    Span as = v->decorator_span;
    buf_str(out, STR("```whamm\n"));
    if (v->decorators)
        buf_printf(out, "%.*s ", (int)(as.end - as.start), f->text + as.start);
    if (v->element)
        buf_printf(out, "var %.*s: %s[per %u]\n```\n", STR_ARG(name), v->element->text,
                   1u << v->unit_log);
    else
        buf_printf(out, "%s%.*s: %s\n```\n",
                   v->constant              ? "const "
                   : v->param || v->derived ? ""
                                            : "var ",
                   STR_ARG(name), v->type->text);
    buf_printf(out, "%s%s", storage_text(v), v->report ? " It is reported." : "");
    buf_u8(out, '\n');
    if (!v->param && !v->loop)
        put_comment_above(d, v->span, out);
}

void put_signature_of(const Fn *fn, Str name, Buf *out) {
    buf_printf(out, "%.*s(", STR_ARG(name));
    for (uint32_t i = 0; i < fn->nparams; i++)
        buf_printf(out, "%s%.*s: %s", i ? ", " : "", STR_ARG(fn->params[i]->name),
                   fn->params[i]->type->text);
    buf_u8(out, ')');
    if (fn->result && fn->result->kind != TYPE_UNIT)
        buf_printf(out, " -> %s", fn->result->text);
}

static void describe_fn(const Document *d, const Fn *fn, Str name, Buf *out) {
    buf_str(out, STR("```whamm\nfn "));
    put_signature_of(fn, name, out);
    buf_str(out, STR("\n```\n"));
    put_comment_above(d, fn->span, out);
}

static void describe_bound(const Meaning *m, Str name, Buf *out) {
    buf_printf(out, "```whamm\n%.*s%s%s\n```\n%s%s%s\n", STR_ARG(name), m->text ? ": " : "",
               m->text ? m->text : "", name_infos[m->number].doc,
               m->is_static ? "\n\nStatic: it is known at each site, and costs nothing." : "",
               m->assignable ? "\n\nThe script may assign to it, which changes the program." : "");
}

/* A method: of an aggregation, what that is. */
static void describe_method(whammc_server *s, const char *of, Str name, Buf *out) {
    Str type = {of, (uint32_t)strcspn(of, "(<")};
    buf_printf(out, "```whamm\n%s.%.*s\n```\n", of, STR_ARG(name));
    put_manual(s, "methods", name, out);
    if (aggregate_by_name(type) != AGG_NONE)
        put_manual(s, "aggregations", type, out);
}

static void describe_meaning(const Request *r, const Meaning *m, Str name, Buf *out) {
    switch (m->kind) {
    case MEANING_VAR: hover_var(r->d, m->var, name, out); break;
    case MEANING_FN: describe_fn(r->d, m->fn, name, out); break;
    case MEANING_BOUND: describe_bound(m, name, out); break;
    case MEANING_FUNCTION: put_manual(r->s, "functions", name, out); break;
    case MEANING_METHOD: describe_method(r->s, m->text, name, out); break;
    case MEANING_LIBRARY:
        buf_printf(out, "```whamm\nuse %.*s\n```\nA library.\n", STR_ARG(name));
        break;
    case MEANING_LIBRARY_FN: buf_printf(out, "```whamm\n%s\n```\n", m->text); break;
    }
}

/* ---- rules ---- */

static void describe_rule(const RuleNames *n, Buf *out) {
    if (n->nevents == 1)
        buf_printf(out, "```whamm\n%s\n```\n%s\n", n->events.at[0].text, n->events.at[0].doc);
    else
        buf_printf(out, "%u events match:\n", n->nevents);
    for (uint32_t i = 0; n->nevents > 1 && i < n->nevents && i < SHOWN_EVENTS; i++)
        buf_printf(out, "- `%s`\n", n->events.at[i].text);
    if (n->nevents > SHOWN_EVENTS)
        buf_printf(out, "- and %u more\n", n->nevents - SHOWN_EVENTS);
    if (!n->names.len)
        return;
    buf_printf(out, "\nBound names%s: ", n->nevents > 1 ? " of all" : "");
    for (uint32_t i = 0; i < n->names.len; i++)
        buf_printf(out, "%s`%s`", i ? ", " : "", n->names.at[i].name);
    buf_u8(out, '\n');
}

static const Probe *probe_at(const Document *d, uint32_t offset) {
    const Script *script = document_script(d);
    for (uint32_t i = 0; i < script->probes.len; i++) {
        Span span = script->probes.at[i]->rule.span;
        if (span.file == d->file && !script->probes.at[i]->made && span.start <= offset &&
            offset <= span.end)
            return script->probes.at[i];
    }
    return NULL;
}

static void put_hover(Request *r, Span span, const Buf *text) {
    buf_str(r->out, STR("{\"contents\":{\"kind\":\"markdown\""));
    out_string(r->out, "value", buf_view(text));
    buf_str(r->out, STR("},\"range\":"));
    document_put_range(r->s, r->d, span.start, span.end, r->out);
    buf_u8(r->out, '}');
}

/* A keyword or the name of a type. */
static void hover_word(Request *r) {
    static const char *const topics[] = {"types", "aggregations", "keywords"};
    Str text = buf_view(&r->d->text);
    uint32_t start = r->offset, end = r->offset;
    while (start && context_is_word(text.ptr[start - 1]))
        start--;
    while (end < text.len && context_is_word(text.ptr[end]))
        end++;
    Str word = {text.ptr + start, end - start};
    Buf out = {0};
    bool skipped = context_at(text, r->offset).kind == PLACE_SKIPPED;
    for (size_t i = 0; i < 3 && word.len && !skipped && !out.len; i++)
        put_manual(r->s, topics[i], word, &out);
    if (out.len)
        put_hover(r, (Span){r->d->file, start, end}, &out);
    buf_free(&out);
}

void lsp_hover(Request *r) {
    const Document *d = r->d;
    const Meaning *m = meaning_at(&d->w->meanings, d->file, r->offset);
    const Probe *probe = m ? NULL : probe_at(d, r->offset);
    Str text = buf_view(&d->text);
    Buf out = {0};
    if (m) {
        Str name = {text.ptr + m->span.start, m->span.end - m->span.start};
        describe_meaning(r, m, name, &out);
        put_hover(r, m->span, &out);
    } else if (!probe) {
        hover_word(r);
    } else {
        Span span = probe->rule.span;
        const RuleNames *n = rule_names(r->s, (Str){text.ptr + span.start, span.end - span.start});
        if (n)
            describe_rule(n, &out);
        workspace_describe(d, probe, &out);
        if (out.len)
            put_hover(r, span, &out);
    }
    buf_free(&out);
}
