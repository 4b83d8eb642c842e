/*
 * code/code_share.c - locals that are not in use at the same time share a slot.
 *
 * A local is in use from its first set to its last read, provided that each read comes after a set,
 * however control got there. Others keep a slot for themselves, which must be zero when the
 * function begins. A local that is first set before a loop and last read in it is in use until the
 * loop ends, as the loop may be repeated.
 */
#include "code/code.h"

#include <assert.h>

typedef Vec(uint32_t) Numbers;

typedef struct Use {
    uint32_t left; /* reads and sets that were not yet met */
    bool set;      /* on the way to where the walk is */
    bool zero;     /* a read may find the initial value */
    bool met;
    uint32_t opened; /* loops that began before it was met */
    uint32_t slot;
} Use;

/* Where ways meet: the end of an `if`, or of a block with a label. */
typedef struct Joint {
    uint32_t label;
    uint32_t from; /* so many sets came before (Sharer.set) */
    bool reached;
    bool begins; /* the beginning of a loop instead, where nothing meets */
    Numbers set; /* locals that were set on each way that reached it */
} Joint;

typedef struct Sharer {
    CodeFn *f;
    Use *uses;   /* by local, after the parameters */
    Numbers set; /* locals that are set here */
    Vec(Joint) blocks;
    Numbers unused[4]; /* slots by type */
    uint32_t opened;   /* loops that have begun, which number them */
    uint32_t loop;     /* the number of the innermost one that is open; 0 = none */
    Numbers late;      /* locals that are in use until a loop ends */
    bool renames;      /* the second walk */
    Vec(WasmType) slots;
    Vec(bool) zeros; /* by slot */
} Sharer;

static Use *use_of(Sharer *s, const CodeNode *e) {
    return &s->uses[e->n - s->f->nparams];
}

/* ---- which locals are set ---- */

static void unset(Sharer *s, uint32_t from) {
    while (s->set.len > from)
        s->uses[s->set.at[--s->set.len]].set = false;
}

static void code_share_set(Sharer *s, uint32_t local) {
    if (s->uses[local].set)
        return;
    s->uses[local].set = true;
    vec_push(&s->set, local);
}

/* A way reaches the joint. */
static void code_share_reach(Sharer *s, Joint *j) {
    uint32_t n = 0;
    if (!j->reached)
        for (uint32_t i = j->from; i < s->set.len; i++)
            vec_push(&j->set, s->set.at[i]);
    for (uint32_t i = 0; j->reached && i < j->set.len; i++)
        if (s->uses[j->set.at[i]].set)
            j->set.at[n++] = j->set.at[i];
    j->set.len = j->reached ? n : j->set.len;
    j->reached = true;
}

/* After the joint, which is freed. Whether something reaches it. */
static bool code_share_join(Sharer *s, Joint *j) {
    unset(s, j->from);
    for (uint32_t i = 0; i < j->set.len; i++)
        code_share_set(s, j->set.at[i]);
    vec_free(&j->set);
    return j->reached;
}

/* ---- the walks ---- */

static bool code_share_walk(Sharer *s, CodeNode *e);

static bool code_share_walk_if(Sharer *s, CodeNode *e) {
    if (!code_share_walk(s, e->kids[0]))
        return false;
    Joint end = {.from = s->set.len};
    if (code_share_walk(s, e->kids[1]))
        code_share_reach(s, &end);
    unset(s, end.from);
    if (e->nkids < 3 || code_share_walk(s, e->kids[2]))
        code_share_reach(s, &end);
    return code_share_join(s, &end);
}

static bool walk_kids(Sharer *s, CodeNode *e) {
    for (uint32_t i = 0; i < e->nkids; i++)
        if (!code_share_walk(s, e->kids[i]))
            return false;
    return true;
}

static bool code_share_walk_block(Sharer *s, CodeNode *e) {
    vec_push(&s->blocks, ((Joint){.label = e->n, .from = s->set.len}));
    if (walk_kids(s, e))
        code_share_reach(s, &vec_last(&s->blocks));
    Joint end = s->blocks.at[--s->blocks.len];
    code_share_join(s, &end);
    return true; /* what follows is written, even if no way leads to it */
}

static bool walk_branch(Sharer *s, CodeNode *e) {
    uint32_t i = s->blocks.len - 1;
    if (!walk_kids(s, e))
        return false;
    while (s->blocks.at[i].label != e->n)
        i--;
    if (!s->blocks.at[i].begins)
        code_share_reach(s, &s->blocks.at[i]);
    return e->nkids > 0;
}

/* The first walk counts accesses, and finds reads that may precede a write. */
static void see(Sharer *s, const CodeNode *e) {
    Use *u = use_of(s, e);
    u->left++;
    if (e->kind != CODE_LOCAL_GET)
        code_share_set(s, e->n - s->f->nparams);
    else
        u->zero |= !u->set;
}

static Numbers *unused_slots(Sharer *s, WasmType type) {
    return type >= WASM_F64 && type <= WASM_I32 ? &s->unused[type - WASM_F64] : NULL;
}

/* The second one hands out slots. */
static void rename(Sharer *s, CodeNode *e) {
    Use *u = use_of(s, e);
    WasmType type = s->f->locals.at[e->n - s->f->nparams];
    Numbers *unused = u->zero ? NULL : unused_slots(s, type);
    if (!u->met && unused && unused->len) {
        u->slot = unused->at[--unused->len];
    } else if (!u->met) {
        u->slot = s->slots.len;
        vec_push(&s->slots, type);
        vec_push(&s->zeros, u->zero);
    }
    if (!u->met)
        u->opened = s->opened;
    u->met = true;
    if (!--u->left && unused) {
        if (s->loop <= u->opened)
            vec_push(unused, u->slot);
        else
            vec_push(&s->late, e->n - s->f->nparams);
    }
    e->n = s->f->nparams + u->slot;
}

/* Gives back the slots of locals that were in use until the loop that ended now. */
static void release_late(Sharer *s) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->late.len; i++) {
        const Use *u = &s->uses[s->late.at[i]];
        if (s->loop <= u->opened)
            vec_push(unused_slots(s, s->slots.at[u->slot]), u->slot);
        else
            s->late.at[n++] = s->late.at[i];
    }
    s->late.len = n;
}

static void use(Sharer *s, CodeNode *e) {
    if (s->renames)
        rename(s, e);
    else
        see(s, e);
}

static bool walk_loop(Sharer *s, CodeNode *e) {
    vec_push(&s->blocks, ((Joint){.label = e->n, .begins = true}));
    uint32_t outer = s->loop;
    s->loop = ++s->opened;
    bool ends = code_share_walk(s, e->kids[0]);
    s->loop = outer;
    s->blocks.len--;
    release_late(s);
    return ends;
}

/* False if control does not go on after it. */
static bool code_share_walk(Sharer *s, CodeNode *e) {
    if (e->kind == CODE_IF)
        return code_share_walk_if(s, e);
    if (e->kind == CODE_LOOP)
        return walk_loop(s, e);
    if (e->kind == CODE_BLOCK && e->n)
        return code_share_walk_block(s, e);
    if (e->kind == CODE_BRANCH)
        return walk_branch(s, e);
    if (!walk_kids(s, e))
        return false;
    bool local = e->kind >= CODE_LOCAL_GET && e->kind <= CODE_LOCAL_TEE;
    if (local && e->n >= s->f->nparams)
        use(s, e);
    return e->kind != CODE_TRAP && e->kind != CODE_RETURN;
}

void code_share_locals(CodeModule *c, CodeFn *f) {
    Sharer s = {.f = f, .uses = mem_zalloc((f->locals.len + 1u) * sizeof *s.uses)};
    code_share_walk(&s, f->body);
    unset(&s, 0);
    s.renames = true;
    s.opened = 0;
    code_share_walk(&s, f->body);
    f->locals.len = 0;
    for (uint32_t i = 0; i < s.slots.len; i++)
        vec_push(&f->locals, s.slots.at[i]);
    f->zeros = memcpy(arena_array(&c->arena, bool, s.zeros.len + 1),
                      s.zeros.at ? s.zeros.at : &(bool){false}, s.zeros.len);
    assert(code_is_sound(c, f));
    free(s.uses);
    vec_free(&s.set);
    vec_free(&s.blocks);
    vec_free(&s.late);
    vec_free(&s.slots);
    vec_free(&s.zeros);
    for (uint32_t i = 0; i < 4; i++)
        vec_free(&s.unused[i]);
}
