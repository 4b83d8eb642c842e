/*
 * target/store.c - where the variables of a plan live in a rewritten program.
 */
#include "target/store.h"

#include <stdio.h>

_Static_assert((int)TYPE_U8 == (int)REPORT_U8 && (int)TYPE_BOOL == (int)REPORT_BOOL &&
                   (int)TYPE_F32 == (int)REPORT_F32 && (int)TYPE_I64 == (int)REPORT_I64,
               "report kinds are in the order of types");

static ReportKind kind_of(const PlanVar *v) {
    return (ReportKind)v->decl->type->kind;
}

static const char *wasm_type_of(const PlanVar *v) {
    switch (type_wasm(v->decl->type)) {
    case WASM_I64: return "i64";
    case WASM_F32: return "f32";
    case WASM_F64: return "f64";
    default: return "i32";
    }
}

void store_init(Store *s, const Plan *plan) {
    *s = (Store){.plan = plan, .image = image_new(), .last_func = UINT32_MAX, .memory = UINT32_MAX};
    uint32_t n = plan->vars.len;
    s->image_var = mem_zalloc(sizeof *s->image_var * (n + 1u));
    s->var_in_memory = mem_zalloc(sizeof *s->var_in_memory * (n + 1u));
    s->frame_of = mem_zalloc(sizeof *s->frame_of * (n + 1u));
    s->global = mem_zalloc(sizeof *s->global * (n + 1u));
    s->image_probe = mem_zalloc(sizeof *s->image_probe * (plan->actions.len + 1u));
    for (uint32_t i = 0; i < n; i++) {
        const PlanVar *v = &plan->vars.at[i];
        char script[32];
        snprintf(script, sizeof script, "script%u", v->script);
        s->frame_of[i] = i;
        for (uint32_t k = 0; k < i && v->decl->storage == STORAGE_FRAME; k++) {
            const PlanVar *o = &plan->vars.at[k];
            if (o->decl->storage == STORAGE_FRAME && o->script == v->script &&
                str_eq(o->decl->name, v->decl->name)) {
                s->frame_of[i] = k;
                break;
            }
        }
        if (!v->decl->report)
            continue;
        s->reports = !plan->by_kind[EVENT_REPORT].len;
        s->image_var[i] =
            image_var(s->image, kind_of(v), STR(""), v->decl->name, str_of(v->decl->type->text),
                      str_of(wasm_type_of(v)), str_of(script));
    }
}

void store_free(Store *s) {
    image_free(s->image);
    free(s->image_var);
    free(s->image_probe);
    free(s->var_in_memory);
    free(s->frame_of);
    free(s->global);
    vec_free(&s->inits);
    vec_free(&s->tail);
}

static uint32_t action_row_id(Store *s, const Action *a) {
    uint32_t *id = &s->image_probe[a - s->plan->actions.at];
    if (!*id) {
        Buf text = {0};
        action_text(s->plan, a, &text);
        *id = 1 + image_probe(s->image, (Str){(char *)text.data, (uint32_t)text.len});
        buf_free(&text);
    }
    return *id - 1;
}

static void note_init(Store *s, const Site *site, const Var *var, bool hidden, uint32_t slot) {
    Value v;
    if (!var->init || !fold(var->init, site, &v))
        return; /* initialisers that do not fold were refused by the plan */
    uint64_t bits = value_wasm_bits(v);
    if (bits)
        vec_push(&s->inits, ((SlotInit){hidden, (uint8_t)var->type->kind, slot, bits}));
}

void store_count(Store *s, const Site *site, const Match *match) {
    const Variant *v = match->action->variant;
    match->action->sites++;
    s->sites++;
    for (uint32_t i = 0; i < v->probe->nvars; i++) {
        const Var *var = v->probe->vars[i];
        if (var->storage != STORAGE_UNSHARED)
            continue;
        uint32_t slot;
        if (var->report) {
            if (s->last_func != site->func) {
                s->last_func = site->func;
                image_func(s->image, site->func, wasm_func_name(site->m, site->func));
            }
            slot = image_site_row(s->image, s->image_var[v->vars[var->index]],
                                  action_row_id(s, match->action), site->func, site->pc);
        } else {
            slot = s->hidden[var->type->kind]++;
        }
        s->slots++;
        note_init(s, site, var, !var->report, slot);
    }
}

/* The id of a probe as a whole, for shared variables: that of its only action, else its first
 * number and its rule. */
static uint32_t probe_row_id(Store *s, const PlanProbe *p) {
    if (p->nactions == 1)
        return action_row_id(s, &s->plan->actions.at[p->first_action]);
    Buf text = {0};
    buf_printf(&text, "%u_", p->nactions ? s->plan->actions.at[p->first_action].number : 0);
    const Rule *r = &p->probe->rule;
    for (uint32_t i = 0; i < r->nparts; i++)
        buf_printf(&text, "%s%.*s", i ? ":" : "", STR_ARG(r->parts[i].pattern));
    uint32_t id = image_probe(s->image, (Str){(char *)text.data, (uint32_t)text.len});
    buf_free(&text);
    return id;
}

static int by_name(const void *a, const void *b) {
    const PlanVar *x = *(const PlanVar *const *)a, *y = *(const PlanVar *const *)b;
    if (x->script != y->script)
        return x->script < y->script ? -1 : 1;
    uint32_t n = x->decl->name.len < y->decl->name.len ? x->decl->name.len : y->decl->name.len;
    int order = memcmp(x->decl->name.ptr, y->decl->name.ptr, n);
    return order
               ? order
               : (x->decl->name.len > y->decl->name.len) - (x->decl->name.len < y->decl->name.len);
}

void store_close(Store *s) {
    Vec(const PlanVar *) script = {0};
    for (uint32_t i = 0; i < s->plan->vars.len; i++) {
        const PlanVar *v = &s->plan->vars.at[i];
        if (v->decl->report && v->decl->storage == STORAGE_SHARED) {
            image_shared_row(s->image, s->image_var[i],
                             probe_row_id(s, &s->plan->probes.at[v->probe]));
            vec_push(&s->tail, i);
        } else if (v->decl->report && v->decl->storage == STORAGE_SCRIPT) {
            vec_push(&script, v);
        }
    }
    if (script.len)
        qsort(script.at, script.len, sizeof *script.at, by_name);
    for (uint32_t i = 0; i < script.len; i++) {
        image_script_row(s->image, s->image_var[script.at[i]->id]);
        vec_push(&s->tail, script.at[i]->id);
    }
    vec_free(&script);
}

static uint64_t align8(uint64_t n) {
    return (n + 7) & ~(uint64_t)7;
}

/* Offset of a hidden kind's slots behind the reported values. */
static uint64_t hidden_offset(const Store *s, uint32_t kind) {
    uint64_t at = align8(image_values_size(s->image));
    for (uint32_t k = 0; k < kind; k++)
        at = align8(at + (uint64_t)s->hidden[k] * image_value_size((ReportKind)k));
    return at;
}

uint64_t store_values_size(const Store *s) {
    return hidden_offset(s, STORAGE_KINDS);
}

static WasmType kind_wasm(uint32_t kind) {
    return type_wasm(&type_scalar[kind]);
}

static uint32_t slots_of(const Store *s, uint32_t hidden, uint32_t kind) {
    return hidden ? s->hidden[kind] : image_group_rows(s->image, (ReportKind)kind);
}

/* `init` of a global: its constant and `end`. */
static void put_init(Buf *b, WasmType type, uint64_t bits) {
    wasm_put_const(b, type, bits);
    wasm_put_op(b, WASM_OP_END);
}

static void add_variable(Store *s, WasmModule *m, const PlanVar *v) {
    Value value = {.kind = v->decl->type->kind};
    Buf init = {0};
    if (v->decl->init)
        fold(v->decl->init, NULL, &value); /* what does not fold is computed at start-up */
    put_init(&init, type_wasm(v->decl->type), value_wasm_bits(value));
    Str name = {arena_printf(&m->arena, "whammc.%.*s", STR_ARG(v->decl->name)),
                v->decl->name.len + 7};
    s->global[v->id] = wasm_add_global(m, type_wasm(v->decl->type), true, name, &init);
}

static void add_slots(Store *s, WasmModule *m) {
    s->first_global = m->globals.len;
    for (uint32_t hidden = 0; hidden < 2; hidden++)
        for (uint32_t k = 0; k < STORAGE_KINDS; k++)
            for (uint32_t i = slots_of(s, hidden, k); i > 0; i--)
                wasm_add_global_zero(m, kind_wasm(k), true, STR(""));
    for (uint32_t i = 0; i < s->inits.len; i++) {
        const SlotInit *init = &s->inits.at[i];
        uint32_t handle = s->first_global + init->slot;
        for (uint32_t h = 0; h <= init->hidden; h++)
            for (uint32_t k = 0; k < (h == init->hidden ? init->kind : STORAGE_KINDS); k++)
                handle += slots_of(s, h, k);
        Buf *code = &m->globals.at[handle].code;
        code->len = 0;
        put_init(code, kind_wasm(init->kind), init->bits);
    }
}

static void set_addresses(Store *s) {
    for (uint32_t k = 0; k < STORAGE_KINDS; k++) {
        s->base[0][k] = s->values_at + image_group_offset(s->image, (ReportKind)k);
        s->base[1][k] = s->values_at + hidden_offset(s, k);
    }
}

/* Slots that do not start at zero, as initial data of our memory. */
static void add_initial_data(Store *s, WasmModule *m) {
    if (!s->inits.len)
        return;
    Buf content = {0};
    uint64_t size = store_values_size(s);
    buf_reserve(&content, size);
    memset(content.data, 0, size);
    content.len = size;
    for (uint32_t i = 0; i < s->inits.len; i++) {
        const SlotInit *init = &s->inits.at[i];
        uint32_t width = image_value_size((ReportKind)init->kind);
        uint64_t at =
            s->base[init->hidden][init->kind] - s->values_at + (uint64_t)init->slot * width;
        for (uint32_t b = 0; b < width; b++)
            content.data[at + b] = (uint8_t)(init->bits >> (8 * b));
    }
    wasm_add_data_active(m, s->memory, s->values_at, &content, STR("whammc.init"));
}

void store_add(Store *s, WasmModule *m) {
    for (uint32_t i = 0; i < s->plan->vars.len; i++) {
        const PlanVar *v = &s->plan->vars.at[i];
        if (v->decl->storage == STORAGE_SCRIPT || v->decl->storage == STORAGE_SHARED)
            add_variable(s, m, v);
        s->var_in_memory[i] = s->in_memory && v->decl->storage == STORAGE_UNSHARED;
    }
    if (s->in_memory) {
        set_addresses(s);
        add_initial_data(s, m);
    } else {
        add_slots(s, m);
    }
}

void store_laid_out(Store *s, const WasmModule *m) {
    for (uint32_t k = 0; k < STORAGE_KINDS; k++)
        s->step[k] = s->in_memory ? image_value_size((ReportKind)k) : 1;
    if (s->in_memory)
        return;
    uint64_t handle = s->first_global;
    for (uint32_t hidden = 0; hidden < 2; hidden++) {
        for (uint32_t k = 0; k < STORAGE_KINDS; k++) {
            uint32_t n = slots_of(s, hidden, k);
            s->base[hidden][k] = n ? wasm_final(m, WASM_SPACE_GLOBAL, (uint32_t)handle) : 0;
            handle += n;
        }
    }
}

uint64_t store_slot(const Store *s, SlotCursor *c, const PlanVar *v) {
    uint32_t hidden = !v->decl->report, kind = v->decl->type->kind;
    uint64_t slot = c->next[hidden][kind]++;
    return s->base[hidden][kind] + slot * s->step[kind];
}
