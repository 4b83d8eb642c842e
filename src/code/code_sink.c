/*
 * code/code_sink.c - values are moved to where they are used.
 *
 * The tree is walked in the order of evaluation. A set whose value nothing since has disturbed is
 * *pending*: a read that meets it takes over the value, and, if there are other reads, keeps it in
 * the local for them.
 */
#include "code/code.h"

#include <assert.h>

/* The results of walking over an expression. */
typedef struct Walked {
    CodeEffects fx;
    uint32_t nodes;
} Walked;

/* A set that may still be moved. */
typedef struct Pending {
    CodeNode **at;
    Walked value, set; /* without and with the set itself */
    uint32_t depth;    /* blocks with labels around it */
} Pending;

enum {
    MAX_PENDING = 24, /* older ones are not moved any more, */
    MAX_MOVED = 200   /* nor are larger ones: so walks are linear, and trees are not too deep */
};

typedef struct Sinker {
    CodeModule *c;
    uint32_t *reads; /* by local: how many there are in the function */
    uint32_t depth;
    Pending pending[MAX_PENDING];
    uint32_t n;
} Sinker;

static void forget(Sinker *s, uint32_t i) {
    memmove(&s->pending[i], &s->pending[i + 1], (s->n - i - 1) * sizeof *s->pending);
    s->n--;
}

/* Something is evaluated now. */
static void code_sink_pass(Sinker *s, const CodeEffects *fx) {
    for (uint32_t i = s->n; i-- > 0;)
        if (code_conflict(&s->pending[i].set.fx, fx))
            forget(s, i);
}

static CodeNode *set_at(const Pending *p) {
    return *p->at;
}

/* The pending set of a local, or s->n. */
static uint32_t pending_of(const Sinker *s, uint32_t local) {
    uint32_t i = 0;
    while (i < s->n && set_at(&s->pending[i])->n != local)
        i++;
    return i;
}

static Walked code_sink_walk(Sinker *s, CodeNode **at);

/* An arm, which is evaluated only sometimes, or a loop, which may be evaluated several times:
 * nothing is moved into it, and nothing out of it. */
static Walked walk_arm(Sinker *s, CodeNode **at) {
    Sinker inner = {.c = s->c, .reads = s->reads};
    Walked w = code_sink_walk(&inner, at);
    code_sink_pass(s, &w.fx);
    return w;
}

/* A set, whose value has been walked. */
static Walked walk_set(Sinker *s, CodeNode **at, Walked value) {
    CodeNode *e = *at;
    uint32_t old = pending_of(s, e->n);
    if (old < s->n) { /* nothing has read it */
        CodeNode *set = set_at(&s->pending[old]);
        *s->pending[old].at = code_node(s->c, CODE_DROP, WASM_NONE, set->kids, 1);
        forget(s, old);
    }
    CodeEffects own = {0};
    code_add_effects(s->c, e, &own);
    code_sink_pass(s, &own);
    Walked set = {value.fx, value.nodes + 1};
    code_add_effects(s->c, e, &set.fx);
    if (e->leaves || set.nodes > MAX_MOVED)
        return set;
    if (s->n == MAX_PENDING)
        forget(s, 0);
    s->pending[s->n++] = (Pending){at, value, set, s->depth};
    return set;
}

static Walked walk_get(Sinker *s, CodeNode **at) {
    CodeNode *e = *at;
    uint32_t i = pending_of(s, e->n);
    Walked w = {.nodes = 1};
    if (i < s->n) {
        CodeNode *set = set_at(&s->pending[i]);
        *s->pending[i].at = code_node(s->c, CODE_NOP, WASM_NONE, NULL, 0);
        if (--s->reads[e->n] == 0) {
            *at = set->kids[0];
            w = s->pending[i].value;
        } else {
            set->kind = CODE_LOCAL_TEE;
            set->type = e->type;
            *at = set;
            w = s->pending[i].set;
        }
        forget(s, i);
    } else {
        code_add_effects(s->c, e, &w.fx);
    }
    code_sink_pass(s, &w.fx);
    return w;
}

static Walked code_sink_walk(Sinker *s, CodeNode **at) {
    CodeNode *e = *at;
    bool labelled = e->kind == CODE_BLOCK && e->n;
    Walked all = {.nodes = 1};
    s->depth += labelled;
    for (uint32_t i = 0; i < e->nkids; i++) {
        bool apart = (e->kind == CODE_IF && i > 0) || e->kind == CODE_LOOP;
        Walked w = apart ? walk_arm(s, &e->kids[i]) : code_sink_walk(s, &e->kids[i]);
        code_join_effects(&all.fx, &w.fx);
        all.nodes += w.nodes;
    }
    s->depth -= labelled;
    for (uint32_t i = s->n; labelled && i-- > 0;)
        if (s->pending[i].depth > s->depth) /* a branch may have left it out */
            forget(s, i);
    if (e->kind == CODE_LOCAL_GET)
        return walk_get(s, at);
    if (e->kind == CODE_LOCAL_SET)
        return walk_set(s, at, all);
    CodeEffects own = {0};
    code_add_effects(s->c, e, &own);
    code_sink_pass(s, &own);
    code_join_effects(&all.fx, &own);
    return all;
}

static void count_reads(const CodeNode *e, uint32_t *reads) {
    if (e->kind == CODE_LOCAL_GET)
        reads[e->n]++;
    for (uint32_t i = 0; i < e->nkids; i++)
        count_reads(e->kids[i], reads);
}

/* Sets of locals that nobody reads. */
static void drop_unread(CodeModule *c, CodeNode **at, const uint32_t *reads) {
    CodeNode *e = *at;
    for (uint32_t i = 0; i < e->nkids; i++)
        drop_unread(c, &e->kids[i], reads);
    if (e->kind == CODE_LOCAL_SET && !reads[e->n])
        *at = code_node(c, CODE_DROP, WASM_NONE, e->kids, 1);
    else if (e->kind == CODE_LOCAL_TEE && !reads[e->n])
        *at = e->kids[0];
}

void code_sink(CodeModule *c, CodeFn *f) {
    assert(code_is_sound(c, f));
    uint32_t n = f->nparams + f->locals.len;
    Sinker s = {.c = c, .reads = mem_zalloc((n + 1u) * sizeof *s.reads)};
    count_reads(f->body, s.reads);
    code_sink_walk(&s, &f->body);
    drop_unread(c, &f->body, s.reads);
    free(s.reads);
}
