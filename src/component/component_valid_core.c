/*
 * component/component_valid_core.c - validating what is of core WebAssembly in a component:
 * modules, their types, instances of modules.
 *
 * Types of all modules are compared by structure: each recursion group is added to
 * ComponentChecker.core, with indices that lead to types there, unless an equal one is there.
 */
#include "component/component_valid.h"
#include "valid/valid.h"

/* ---- one list of core types ---- */

/* Where indices in a recursion group lead: to types before the group, and into the group. */
typedef struct GroupMap {
    const uint32_t *before; /* UINT32_MAX: no core type */
    uint32_t nbefore;
    uint32_t first; /* of the group, in ComponentChecker.core */
    bool bad;       /* an index has led to no core type */
} GroupMap;

static uint32_t map_index(GroupMap *map, uint32_t index) {
    if (index >= map->nbefore)
        return map->first + (index - map->nbefore);
    map->bad |= map->before[index] == UINT32_MAX;
    return map->before[index] == UINT32_MAX ? 0 : map->before[index];
}

static WasmType map_type(GroupMap *map, WasmType t) {
    if (!WASM_IS_REF(t) || (t & WASM_ABSTRACT_BIT))
        return t;
    return wasm_with_index(t, map_index(map, WASM_HEAP_OF(t)));
}

static const WasmType *map_core_types(ComponentChecker *k, GroupMap *map, const WasmType *types,
                                      uint32_t n) {
    WasmType *out = arena_array(&k->core.arena, WasmType, n);
    for (uint32_t i = 0; i < n; i++)
        out[i] = map_type(map, types[i]);
    return out;
}

static WasmTypeDef map_def(ComponentChecker *k, GroupMap *map, WasmTypeDef def) {
    WasmField *fields = arena_array(&k->core.arena, WasmField, def.nfields);
    for (uint32_t i = 0; i < def.nfields; i++)
        fields[i] = (WasmField){map_type(map, def.fields[i].type), def.fields[i].mutable};
    def.fields = fields;
    def.params = map_core_types(k, map, def.params, def.nparams);
    def.results = map_core_types(k, map, def.results, def.nresults);
    if (def.has_super)
        def.super = map_index(map, def.super);
    if (def.has_descriptor)
        def.descriptor = map_index(map, def.descriptor);
    if (def.is_descriptor)
        def.describes = map_index(map, def.describes);
    return def;
}

/* The group is at the end of the list: it goes if an equal one is there. Returns its first type. */
static uint32_t close_group(ComponentChecker *k, uint32_t first) {
    WasmModule *core = &k->core;
    wasm_close_group(&k->groups, core, first);
    uint32_t known = first < core->types.len ? core->types.at[first].canonical : first;
    if (known != first)
        core->types.len = first;
    return known;
}

/* Adds a recursion group; *first is its first type there. */
static bool add_core_group(ComponentChecker *k, const WasmTypeDef *defs, uint32_t n, GroupMap map,
                           uint32_t *first) {
    uint64_t parts = n;
    map.first = k->core.types.len;
    if (n > WASM_MAX_TYPE_INDEX - map.first)
        return component_refuse(k, "there are too many core types");
    for (uint32_t i = 0; i < n; i++) {
        WasmTypeDef def = map_def(k, &map, defs[i]);
        vec_push(&k->core.types, def);
        parts += def.nfields + def.nparams + def.nresults;
    }
    if (map.bad)
        return component_refuse(k,
                                "expected a core type that values can have, found a module type");
    *first = close_group(k, map.first);
    return component_spend(k, parts);
}

const CoreExtern *component_core_func(ComponentChecker *k, WasmTypeList params,
                                      WasmTypeList results) {
    GroupMap none = {0};
    WasmTypeDef def = {.kind = WASM_TYPE_FUNC,
                       .final = true,
                       .params = params.at,
                       .nparams = params.len,
                       .results = results.at,
                       .nresults = results.len};
    CoreExtern *func = arena_new(&k->arena, CoreExtern);
    *func = (CoreExtern){.space = WASM_SPACE_FUNC, .exact = true};
    return add_core_group(k, &def, 1, none, &func->type) ? func : NULL;
}

static const WasmTypeDef *func_def(const ComponentChecker *k, const CoreExtern *func) {
    return &k->core.types.at[func->type];
}

static bool equal_types(const WasmType *types, uint32_t n, WasmTypeList list) {
    return n == list.len && (n == 0 || memcmp(types, list.at, n * sizeof *types) == 0);
}

bool component_core_matches(const ComponentChecker *k, const CoreExtern *func, WasmTypeList params,
                            WasmTypeList results) {
    const WasmTypeDef *def = func_def(k, func);
    return equal_types(def->params, def->nparams, params) &&
           equal_types(def->results, def->nresults, results);
}

/* ---- imports and exports of modules ---- */

static int compare_items(const void *a, const void *b) {
    const CoreItem *x = a, *y = b;
    int order = str_order(x->module, y->module);
    return order ? order : str_order(x->name, y->name);
}

/* Sorts the list. False with a message if two items have one name. */
static bool sort_core_items(ComponentChecker *k, CoreList list, const char *what) {
    if (list.len)
        qsort(list.at, list.len, sizeof *list.at, compare_items);
    for (uint32_t i = 1; i < list.len; i++)
        if (compare_items(&list.at[i - 1], &list.at[i]) == 0)
            return component_refuse(k, "two %s have the name \"%.*s\"", what,
                                    SHOWN(list.at[i].name));
    return component_spend(k, list.len);
}

static const CoreExtern *find_core_item(const CoreList *list, Str module, Str name) {
    CoreItem key = {.module = module, .name = name};
    const CoreItem *item =
        list->len ? bsearch(&key, list->at, list->len, sizeof key, compare_items) : NULL;
    return item ? &item->is : NULL;
}

const CoreExtern *component_core_export(const CoreList *list, Str name) {
    return find_core_item(list, (Str){0}, name);
}

/* The types of a module: `map` has where its types are. */
static CoreExtern extern_of(const WasmModule *m, const uint32_t *map, uint8_t space,
                            uint32_t handle) {
    GroupMap types = {.before = map, .nbefore = m->types.len};
    CoreExtern is = {.space = space};
    switch (space) {
    case WASM_SPACE_FUNC:
        is.type = map[m->funcs.at[handle].type];
        is.exact = wasm_is_exact_func(&m->funcs.at[handle]);
        break;
    case WASM_SPACE_TAG: is.type = map[m->tags.at[handle].type]; break;
    case WASM_SPACE_MEMORY: is.limits = m->memories.at[handle].limits; break;
    case WASM_SPACE_TABLE:
        is.limits = m->tables.at[handle].limits;
        is.value = map_type(&types, m->tables.at[handle].type);
        break;
    default:
        is.value = map_type(&types, m->globals.at[handle].type);
        is.mutable = m->globals.at[handle].mutable;
    }
    return is;
}

static void count_extern(const ComponentChecker *k, TypeNode *node, const CoreExtern *is) {
    node->size += 1;
    if (is->space == WASM_SPACE_FUNC || is->space == WASM_SPACE_TAG)
        node->size += func_def(k, is)->nparams + func_def(k, is)->nresults;
}

/* The type of a module: adds it to the scope, as the type of a module that is there or not. */
static bool add_module(ComponentChecker *k, const WasmModule *m, const uint32_t *map,
                       ComponentSpace space) {
    TypeNode *node = arena_new(&k->arena, TypeNode);
    *node = (TypeNode){.kind = TYPE_CORE_MODULE, .size = 1, .depth = 1};
    CoreList *imports = &node->core_imports, *exports = &node->core_exports;
    imports->len = m->imports.len;
    exports->len = m->exports.len;
    imports->at = arena_array(&k->arena, CoreItem, imports->len);
    exports->at = arena_array(&k->arena, CoreItem, exports->len);
    for (uint32_t i = 0; i < imports->len; i++) {
        const WasmImport *from = &m->imports.at[i];
        imports->at[i] =
            (CoreItem){from->module, from->name, extern_of(m, map, from->space, from->handle)};
        count_extern(k, node, &imports->at[i].is);
    }
    for (uint32_t i = 0; i < exports->len; i++) {
        const WasmExport *from = &m->exports.at[i];
        exports->at[i] =
            (CoreItem){(Str){0}, from->name, extern_of(m, map, from->space, from->handle)};
        count_extern(k, node, &exports->at[i].is);
    }
    if (!sort_core_items(k, *imports, "imports of a core module") ||
        !sort_core_items(k, *exports, "exports of a core module"))
        return false;
    component_push(k, space, node);
    return true;
}

/* Says what is wrong with a module: `inner` has offsets in the module, which begins at `from`. */
static void relay(ComponentChecker *k, const Diags *inner, uint32_t from, uint32_t index) {
    for (uint32_t i = 0; i < inner->list.len; i++) {
        const Diag *g = inner->list.at[i];
        Span span = {k->root->file, g->span.start + from, g->span.end + from};
        Diag *to = diag(k->diags, g->tag, span, "core module %u: %s", index, g->message);
        for (uint32_t j = 0; j < g->hints.len; j++)
            diag_hint(k->diags, to, "%s", g->hints.at[j]);
    }
}

bool component_check_module(ComponentChecker *k, const ComponentItem *item) {
    WasmModule m;
    Diags inner = {0};
    bool ok = true;
    if (k->threads)
        ok = wasm_load_program(&m, k->root->bytes + item->from, item->to - item->from,
                               k->root->file, k->threads, &inner);
    else
        wasm_load_again(&m, k->root->bytes + item->from, item->to - item->from);
    relay(k, &inner, item->from, k->scope->space[COMPONENT_SPACE_CORE_MODULE].len);
    diag_free(&inner);
    uint32_t *map = mem_alloc((m.types.len + 1) * sizeof *map), n = 0;
    for (uint32_t i = 0; ok && i < m.types.len; i += n) {
        uint32_t first;
        n = m.types.at[i].group_len;
        ok = add_core_group(k, &m.types.at[i], n, (GroupMap){.before = map, .nbefore = i}, &first);
        for (uint32_t j = 0; ok && j < n; j++)
            map[i + j] = first + j;
    }
    ok = ok && add_module(k, &m, map, COMPONENT_SPACE_CORE_MODULE);
    free(map);
    wasm_module_free(&m);
    return ok;
}

/* ---- core types ---- */

/* A reader of a part of the file, whose types go to `m`. */
static WasmReader reader_of(const ComponentChecker *k, WasmModule *m, const char *from,
                            const char *to) {
    const uint8_t *bytes = k->root->bytes;
    return (WasmReader){.m = m,
                        .diags = k->diags,
                        .c = wasm_code(bytes, (size_t)((const uint8_t *)to - bytes),
                                       (uint32_t)((const uint8_t *)from - bytes))};
}

void component_begin_core(const ComponentChecker *k, WasmModule *m) {
    wasm_module_init(m);
    m->bytes = k->root->bytes;
    m->size = k->root->size;
    m->file = k->root->file;
    vec_push(&m->sections, (WasmSection){.id = WASM_SEC_IMPORT, .payload = k->at});
}

/* Reads a group whose types follow the `nbefore` ones of an index space; *first, *n are those in
 * ComponentChecker.core. */
static bool read_group(ComponentChecker *k, WasmModule *m, const ComponentCoreType *type,
                       GroupMap map, uint32_t *first, uint32_t *n) {
    WasmReader r = reader_of(k, m, type->bytes.ptr, type->bytes.ptr + type->bytes.len);
    uint32_t from = m->types.len, before = k->core.types.len;
    if (!wasm_read_group(&r, map.nbefore))
        return false;
    *n = m->types.len - from;
    if (!add_core_group(k, *n ? &m->types.at[from] : NULL, *n, map, first))
        return false;
    k->core.sections.at[0].payload = k->at;
    return *first < before || wasm_check_types(&k->core, before, k->diags);
}

/* The types of a module that consists of declarations: indices lead from its types to those of
 * ComponentChecker.core. */
typedef struct ModuleScope {
    WasmModule m;
    Vec(uint32_t) map;
} ModuleScope;

static void scope_type(ComponentChecker *k, ModuleScope *s, uint32_t index, bool add) {
    vec_push(&s->map, index);
    if (add)
        vec_push(&s->m.types, k->core.types.at[index]);
}

static bool declare_type(ComponentChecker *k, ModuleScope *s, const ComponentCoreType *type) {
    uint32_t first, n;
    GroupMap map = {.before = s->map.at, .nbefore = s->map.len};
    if (!read_group(k, &s->m, type, map, &first, &n))
        return false;
    for (uint32_t i = 0; i < n; i++)
        scope_type(k, s, first + i, false);
    return true;
}

static bool declare_alias(ComponentChecker *k, ModuleScope *s, const ComponentAlias *alias) {
    const Scope *scope = alias->up ? component_outer(k, alias->up - 1) : NULL;
    if (alias->up && !scope)
        return false;
    const uint32_t *map = scope ? scope->core_types.at : s->map.at;
    uint32_t n = scope ? scope->core_types.len : s->map.len;
    if (alias->index >= n)
        return component_refuse(k, "unknown core type %u", alias->index);
    if (map[alias->index] == UINT32_MAX)
        return component_refuse(k, "a core module type cannot have a module type");
    scope_type(k, s, map[alias->index], true);
    return true;
}

static bool declare_extern(ComponentChecker *k, ModuleScope *s, const ComponentCoreExtern *e,
                           bool export) {
    WasmReader r = reader_of(k, &s->m, e->type.ptr - 1, e->type.ptr + e->type.len);
    if (!wasm_read_import_type(&r, (WasmImport){.module = e->module, .name = e->name}))
        return false;
    WasmImport is = vec_last(&s->m.imports);
    if (export) {
        s->m.imports.len--;
        vec_push(&s->m.exports, (WasmExport){e->name, is.space, is.handle});
    }
    return true;
}

static bool declare(ComponentChecker *k, ModuleScope *s, const ComponentItem *item) {
    k->at = item->from;
    k->end = item->to;
    switch (item->kind) {
    case COMPONENT_ITEM_CORE_TYPE: return declare_type(k, s, item->core_type);
    case COMPONENT_ITEM_ALIAS: return declare_alias(k, s, item->alias);
    default: return declare_extern(k, s, item->core_extern, item->kind == COMPONENT_ITEM_EXPORT);
    }
}

static bool check_module_type(ComponentChecker *k, const ComponentDecls *decls) {
    ModuleScope s = {0};
    component_begin_core(k, &s.m);
    bool ok = true;
    for (uint32_t i = 0; ok && i < decls->len; i++)
        ok = declare(k, &s, &decls->at[i]);
    ok = ok && wasm_check_types(&s.m, s.m.types.len, k->diags) &&
         add_module(k, &s.m, s.map.at, COMPONENT_SPACE_CORE_TYPE);
    if (ok)
        vec_push(&k->scope->core_types, UINT32_MAX);
    vec_free(&s.map);
    wasm_module_free(&s.m);
    return ok;
}

bool component_check_core_type(ComponentChecker *k, const ComponentCoreType *type) {
    Scope *scope = k->scope;
    WasmModule m;
    uint32_t first, n;
    if (type->module)
        return check_module_type(k, &type->decls);
    component_begin_core(k, &m);
    bool ok = read_group(
        k, &m, type, (GroupMap){.before = scope->core_types.at, .nbefore = scope->core_types.len},
        &first, &n);
    for (uint32_t i = 0; ok && i < n; i++) {
        component_push(k, COMPONENT_SPACE_CORE_TYPE, NULL);
        vec_push(&scope->core_types, first + i);
    }
    wasm_module_free(&m);
    return ok;
}

/* ---- subtypes ---- */

const char *component_core_words(ComponentChecker *k, const CoreExtern *e) {
    char text[32];
    k->text.len = 0;
    switch (e->space) {
    case WASM_SPACE_FUNC:
    case WASM_SPACE_TAG: {
        const WasmTypeDef *def = func_def(k, e);
        buf_printf(&k->text, "(");
        for (uint32_t i = 0; i < def->nparams && i < 20; i++)
            buf_printf(&k->text, "%s%s", i ? ", " : "", wasm_type_text(def->params[i], text));
        buf_printf(&k->text, ") -> (");
        for (uint32_t i = 0; i < def->nresults && i < 20; i++)
            buf_printf(&k->text, "%s%s", i ? ", " : "", wasm_type_text(def->results[i], text));
        buf_printf(&k->text, ")");
        break;
    }
    case WASM_SPACE_GLOBAL:
    case WASM_SPACE_TABLE:
        buf_printf(&k->text, "%s%s", e->mutable ? "mutable " : "", wasm_type_text(e->value, text));
        break;
    default: break;
    }
    if (e->space == WASM_SPACE_TABLE || e->space == WASM_SPACE_MEMORY) {
        const WasmLimits *l = &e->limits;
        buf_printf(&k->text, "%s%s%s%llu", k->text.len ? ", " : "", l->is64 ? "64-bit " : "",
                   l->shared ? "shared " : "", (unsigned long long)l->min);
        if (l->has_max)
            buf_printf(&k->text, "...%llu", (unsigned long long)l->max);
        if (l->page_log2 != 16)
            buf_printf(&k->text, ", pages of 2^%u bytes", l->page_log2);
    }
    return buf_cstr(&k->text);
}

static bool limits_fit(const WasmLimits *a, const WasmLimits *b) {
    return a->min >= b->min && (!b->has_max || (a->has_max && a->max <= b->max)) &&
           a->shared == b->shared && a->is64 == b->is64 && a->page_log2 == b->page_log2;
}

static bool is_subtype(const ComponentChecker *k, const CoreExtern *a, const CoreExtern *b) {
    const WasmModule *core = &k->core;
    switch (a->space) {
    case WASM_SPACE_FUNC:
        return (a->exact && a->type == b->type) ||
               (!b->exact && wasm_subtype(core, WASM_REF(0, a->type), WASM_REF(0, b->type)));
    case WASM_SPACE_TAG: return a->type == b->type;
    case WASM_SPACE_MEMORY: return limits_fit(&a->limits, &b->limits);
    case WASM_SPACE_TABLE: return a->value == b->value && limits_fit(&a->limits, &b->limits);
    default:
        return a->mutable == b->mutable &&
               (a->value == b->value || (!a->mutable && wasm_subtype(core, a->value, b->value)));
    }
}

bool component_core_extern_fits(ComponentChecker *k, const CoreExtern *a, const CoreExtern *b) {
    if (a->space != b->space)
        return component_refuse(k, "expected a %s, found a %s", wasm_space_name(b->space),
                                wasm_space_name(a->space));
    if (is_subtype(k, a, b))
        return true;
    const char *expected = arena_printf(&k->arena, "%s", component_core_words(k, b));
    return component_refuse(k, "expected a %s of type %s, found %s", wasm_space_name(b->space),
                            expected, component_core_words(k, a));
}

/* Each item of `b` fits the one of this name in `a`. */
static bool list_fits(ComponentChecker *k, const CoreList *a, const CoreList *b, const char *what) {
    if (!component_spend(k, b->len))
        return false;
    for (uint32_t i = 0; i < b->len; i++) {
        const CoreItem *item = &b->at[i];
        const CoreExtern *found = find_core_item(a, item->module, item->name);
        vec_push(&k->path, item->name);
        if (!found)
            return component_refuse(k, "expected an %s of this name", what);
        if (!component_core_extern_fits(k, found, &item->is))
            return false;
        k->path.len--;
    }
    return true;
}

bool component_module_fits(ComponentChecker *k, const TypeNode *a, const TypeNode *b) {
    return a == b || (list_fits(k, &b->core_imports, &a->core_imports, "import") &&
                      list_fits(k, &a->core_exports, &b->core_exports, "export"));
}

/* ---- instances ---- */

uint8_t component_core_space(uint8_t space) {
    switch (space) {
    case COMPONENT_SPACE_CORE_FUNC: return WASM_SPACE_FUNC;
    case COMPONENT_SPACE_CORE_TABLE: return WASM_SPACE_TABLE;
    case COMPONENT_SPACE_CORE_MEMORY: return WASM_SPACE_MEMORY;
    case COMPONENT_SPACE_CORE_GLOBAL: return WASM_SPACE_GLOBAL;
    case COMPONENT_SPACE_CORE_TAG: return WASM_SPACE_TAG;
    default: return WASM_SPACE_COUNT;
    }
}

static const CoreList *instance_of_exports(ComponentChecker *k, const ComponentInstance *instance) {
    CoreList *list = arena_new(&k->arena, CoreList);
    list->at = arena_array(&k->arena, CoreItem, instance->nargs);
    list->len = instance->nargs;
    for (uint32_t i = 0; i < list->len; i++) {
        const ComponentArg *arg = &instance->args[i];
        if (component_core_space(arg->ref.space) == WASM_SPACE_COUNT) {
            component_refuse(k, "a core instance cannot export a %s",
                             component_space_name(arg->ref.space));
            return NULL;
        }
        const CoreExtern *is = component_at(k, arg->ref.space, arg->ref.index);
        if (!is)
            return NULL;
        list->at[i] = (CoreItem){.name = arg->name.name, .is = *is};
    }
    return sort_core_items(k, *list, "exports of a core instance") ? list : NULL;
}

enum { COST_OF_IMPORT = 8 }; /* it is searched */

/* An import of a module finds what the arguments have for it. */
static bool satisfy(ComponentChecker *k, const Map *args, const CoreItem *import) {
    const uint64_t *index = map_get(args, import->module);
    if (!index)
        return component_refuse(k,
                                "the core module imports from \"%.*s\": expected an argument of "
                                "this name",
                                SHOWN(import->module));
    const CoreList *instance = component_at(k, COMPONENT_SPACE_CORE_INSTANCE, (uint32_t)*index);
    const CoreExtern *is = component_core_export(instance, import->name);
    if (!is)
        return component_refuse(
            k,
            "the core module imports \"%.*s\" from \"%.*s\": core instance %u does not export it",
            SHOWN(import->name), SHOWN(import->module), (uint32_t)*index);
    vec_push(&k->path, import->module);
    vec_push(&k->path, import->name);
    if (!component_core_extern_fits(k, is, &import->is))
        return false;
    k->path.len -= 2;
    return true;
}

bool component_check_core_instance(ComponentChecker *k, const ComponentInstance *instance) {
    const CoreList *list = NULL;
    if (!instance->instantiates) {
        list = instance_of_exports(k, instance);
        if (list)
            component_push(k, COMPONENT_SPACE_CORE_INSTANCE, list);
        return list != NULL;
    }
    const TypeNode *module = component_at(k, COMPONENT_SPACE_CORE_MODULE, instance->of);
    Map args = {0};
    bool ok = module != NULL;
    for (uint32_t i = 0; ok && i < instance->nargs; i++) {
        const ComponentArg *arg = &instance->args[i];
        bool added;
        ok = component_at(k, COMPONENT_SPACE_CORE_INSTANCE, arg->ref.index) != NULL;
        map_put(&args, arg->name.name, arg->ref.index, &added);
        if (ok && !added)
            ok = component_refuse(k, "two arguments have the name \"%.*s\"", SHOWN(arg->name.name));
    }
    ok = ok && component_spend(k, COST_OF_IMPORT * (uint64_t)module->core_imports.len);
    for (uint32_t i = 0; ok && i < module->core_imports.len; i++)
        ok = satisfy(k, &args, &module->core_imports.at[i]);
    map_free(&args);
    if (ok)
        component_push(k, COMPONENT_SPACE_CORE_INSTANCE, &module->core_exports);
    return ok;
}
