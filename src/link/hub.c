/*
 * link/hub.c - what a component gets for the reports of its core modules, and how it is connected.
 */
#include "link/hub_parts.h"

#include "edit/write.h"
#include "report/embedded.h"

#include <assert.h>

/* The hub's functions, as components import them. */
#define HUB_IMPORT "whammc-hub"
/* The function of a component inside that flushes it, and of one that serves. */
#define HUB_FLUSH "whammc-flush"

/* The function that flushes the components that were instantiated before, in an instance. */
#define HUB_OTHERS "whammc-others"

/* Functions of the hub: names as exports of components and of core modules. */
typedef enum HubFunc {
    HUB_BEGIN,
    HUB_PUT,
    HUB_END,
    HUB_LOST,
    HUB_PUT_LINE,
    HUB_END_LINES,
    HUB_DUE,
    HUB_CORE_FUNCS, /* so many are the core module's, the others WASI's */
    HUB_NOW = HUB_CORE_FUNCS,
    HUB_EXIT,
    HUB_FUNCS
} HubFunc;

static const struct {
    const char *name, *core_name;
} hub_funcs[HUB_FUNCS] = {
    [HUB_BEGIN] = {"begin", "begin"},
    [HUB_PUT] = {"put", "put"},
    [HUB_END] = {"end", "end"},
    [HUB_LOST] = {"lost", "lost"},
    [HUB_PUT_LINE] = {"put-line", "put_line"},
    [HUB_END_LINES] = {"end-lines", "end_lines"},
    [HUB_DUE] = {"due", "due"},
    [HUB_NOW] = {"now", "now"},
    [HUB_EXIT] = {"exit", "exit"},
};

bool hub_serves(const WasmModule *m) {
    for (uint32_t i = 0; i < m->imports.len; i++)
        if (str_is(m->imports.at[i].module, HUB_HOST))
            return true;
    return wasm_find_export(m, WASM_SPACE_FUNC, STR("whammc:flush")) != NULL;
}

void hub_count(HubNode *node) {
    node->slots = node->instances.len;
    for (uint32_t i = 0; i < node->children.len && node->slots <= HUB_MAX_SLOTS; i++)
        node->slots += node->children.at[i].node->slots;
    if (node->slots > HUB_MAX_SLOTS)
        node->slots = HUB_MAX_SLOTS + 1;
}

/* What a component needs, with all inside of it. There are not many instances, so it does not
 * matter if some are looked at more than once. */
static HubNeeds needs_of(const HubNode *node) {
    HubNeeds needs = {0};
    for (uint32_t i = 0; i < node->instances.len; i++) {
        const WasmModule *m = node->instances.at[i].module;
        needs.now |= wasm_find_import(m, STR(HUB_HOST), STR("now")) >= 0;
        needs.exit |= wasm_find_import(m, STR(HUB_HOST), STR("exit")) >= 0;
        needs.print |= wasm_find_import(m, STR(HUB_HOST), STR("print")) >= 0;
    }
    for (uint32_t i = 0; i < node->children.len; i++) {
        HubNeeds more = needs_of(node->children.at[i].node);
        needs.now |= more.now;
        needs.exit |= more.exit;
        needs.print |= more.print;
    }
    return needs;
}

static bool is_needed(HubNeeds needs, HubFunc func) {
    return func == HUB_NOW    ? needs.now
           : func == HUB_EXIT ? needs.exit
           : func == HUB_DUE  ? needs.serves
                              : true;
}

/* ---- additions ---- */

uint32_t hub_add_module(ComponentEdit *e, uint32_t before, WasmModule *m) {
    Buf bytes = {0};
    bool ok = wasm_write(m, &(WasmWriter){0}, &bytes);
    assert(ok);
    (void)ok;
    uint32_t module = component_edit_add(e, before, COMPONENT_ITEM_CORE_MODULE,
                                         COMPONENT_SPACE_CORE_MODULE, "%b", &bytes);
    buf_free(&bytes);
    wasm_module_free(m);
    return module;
}

uint32_t hub_core_alias(ComponentEdit *e, uint32_t before, uint32_t instance, const char *name) {
    return component_edit_add(e, before, COMPONENT_ITEM_ALIAS, COMPONENT_SPACE_CORE_FUNC,
                              "00 00 01 %i %n", instance, str_of(name));
}

uint32_t hub_alias(ComponentEdit *e, uint32_t before, uint32_t instance, Str name) {
    return component_edit_add(e, before, COMPONENT_ITEM_ALIAS, COMPONENT_SPACE_FUNC, "01 00 %I %n",
                              instance, name);
}

uint32_t hub_alias_type(ComponentEdit *e, uint32_t before, uint32_t instance, const char *name) {
    return component_edit_add(e, before, COMPONENT_ITEM_ALIAS, COMPONENT_SPACE_TYPE, "03 00 %I %n",
                              instance, str_of(name));
}

uint32_t hub_lower(ComponentEdit *e, uint32_t before, uint32_t func) {
    return component_edit_add(e, before, COMPONENT_ITEM_CANON, COMPONENT_SPACE_CORE_FUNC,
                              "01 00 %f 00", func);
}

static uint32_t lift(ComponentEdit *e, uint32_t before, uint32_t func, uint32_t type) {
    return component_edit_add(e, before, COMPONENT_ITEM_CANON, COMPONENT_SPACE_FUNC,
                              "00 00 %F 00 %t", func, type);
}

static void hub_export(ComponentEdit *e, uint32_t before, const char *name, uint32_t func) {
    component_edit_add(e, before, COMPONENT_ITEM_EXPORT, COMPONENT_SPACE_FUNC, "00 %n 01 %f 00",
                       str_of(name), func);
}

uint32_t hub_core_functions(ComponentEdit *e, uint32_t before, const ComponentArg *args,
                            uint32_t n) {
    return component_edit_add(e, before, COMPONENT_ITEM_CORE_INSTANCE,
                              COMPONENT_SPACE_CORE_INSTANCE, "01 %a", args, n);
}

uint32_t hub_core_instance(ComponentEdit *e, uint32_t before, uint32_t module,
                           const ComponentArg *args, uint32_t n) {
    return component_edit_add(e, before, COMPONENT_ITEM_CORE_INSTANCE,
                              COMPONENT_SPACE_CORE_INSTANCE, "00 %M %a", module, args, n);
}

static uint32_t instance(ComponentEdit *e, uint32_t before, uint32_t component,
                         const ComponentArg *args, uint32_t n) {
    return component_edit_add(e, before, COMPONENT_ITEM_INSTANCE, COMPONENT_SPACE_INSTANCE,
                              "00 %C %a", component, args, n);
}

ComponentArg hub_core_arg(const char *name, uint32_t instance) {
    return (ComponentArg){{.name = str_of(name)}, {COMPONENT_SPACE_CORE_INSTANCE, instance}};
}

ComponentArg hub_func_arg(const char *name, uint32_t core_func) {
    return (ComponentArg){{.name = str_of(name)}, {COMPONENT_SPACE_CORE_FUNC, core_func}};
}

/* ---- types of functions ---- */

/* () -> () and () -> result. */
static uint32_t flush_type(ComponentEdit *e, uint32_t before) {
    return component_edit_add(e, before, COMPONENT_ITEM_TYPE, COMPONENT_SPACE_TYPE, "40 00 01 00");
}

static uint32_t run_type(ComponentEdit *e, uint32_t before) {
    uint32_t result =
        component_edit_add(e, before, COMPONENT_ITEM_TYPE, COMPONENT_SPACE_TYPE, "6a 00 00");
    return component_edit_add(e, before, COMPONENT_ITEM_TYPE, COMPONENT_SPACE_TYPE, "40 00 00 %v",
                              result);
}

/* Adds the types of the hub's functions that its core module has. */
static void func_types(ComponentEdit *e, uint32_t types[HUB_CORE_FUNCS]) {
    uint32_t slot = component_edit_add(e, 0, COMPONENT_ITEM_TYPE, COMPONENT_SPACE_TYPE,
                                       "40 01 %n 79 01 00", STR("slot"));
    uint32_t word = component_edit_add(e, 0, COMPONENT_ITEM_TYPE, COMPONENT_SPACE_TYPE,
                                       "40 02 %n 77 %n 79 01 00", STR("word"), STR("count"));
    types[HUB_BEGIN] = types[HUB_END] = slot;
    types[HUB_PUT] = types[HUB_PUT_LINE] = word;
    types[HUB_LOST] = types[HUB_END_LINES] = flush_type(e, 0);
    types[HUB_DUE] =
        component_edit_add(e, 0, COMPONENT_ITEM_TYPE, COMPONENT_SPACE_TYPE, "40 00 00 79");
}

/* Imports an instance with the hub's functions. */
static uint32_t import_hub(ComponentEdit *e, HubNeeds needs) {
    Buf more = {0};
    uint32_t next = 3;
    uint32_t n = 9u + (needs.serves ? 2u : 0) + (needs.now ? 2u : 0) + (needs.exit ? 3u : 0);
    if (needs.serves) {
        buf_bytes(&more,
                  "\x01\x40\0\0\x79\x04\0\x03"
                  "due\x01",
                  12);
        buf_u8(&more, (uint8_t)next++);
    }
    if (needs.now) {
        buf_bytes(&more, "\x01\x40\0\0\x77\x04\0\x03now\x01", 12);
        buf_u8(&more, (uint8_t)next++);
    }
    if (needs.exit) {
        buf_bytes(&more, "\x01\x6a\0\0\x01\x40\x01\x06status", 14);
        buf_u8(&more, (uint8_t)next++);
        buf_bytes(&more,
                  "\x01\0\x04\0\x04"
                  "exit\x01",
                  10);
        buf_u8(&more, (uint8_t)next);
    }
    uint32_t type = hub_instance_type(
        e,
        "%u 01 40 01 %n 79 01 00 01 40 02 %n 77 %n 79 01 00 01 40 00 01 00"
        " 04 00 %n 01 00 04 00 %n 01 01 04 00 %n 01 00 04 00 %n 01 02 04 00 %n 01 01"
        " 04 00 %n 01 02 %b",
        n, STR("slot"), STR("word"), STR("count"), STR("begin"), STR("put"), STR("end"),
        STR("lost"), STR("put-line"), STR("end-lines"), &more);
    buf_free(&more);
    return component_edit_add(e, 0, COMPONENT_ITEM_IMPORT, COMPONENT_SPACE_INSTANCE, "00 %n 05 %t",
                              STR(HUB_IMPORT), type);
}

/* ---- components ---- */

/* A component that is made here. */
typedef struct Made {
    Component c;
    ComponentEdit *e;
} Made;

static void make_begin(Made *made) {
    static const uint8_t preamble[] = {0, 'a', 's', 'm', 0x0d, 0, 1, 0};
    Diags none = {0};
    bool ok = component_read(&made->c, preamble, sizeof preamble, 0, &none);
    assert(ok);
    (void)ok;
    made->e = component_edit_new(&made->c);
}

/* Adds it to another one. */
static uint32_t make_end(Made *made, ComponentEdit *to, uint32_t before) {
    Buf bytes = {0};
    component_edit_write(made->e, &bytes);
    uint32_t component = component_edit_add(to, before, COMPONENT_ITEM_COMPONENT,
                                            COMPONENT_SPACE_COMPONENT, "%b", &bytes);
    buf_free(&bytes);
    component_edit_free(made->e);
    component_free(&made->c);
    return component;
}

/* Lowers a function of an interface that reads and writes the hub's memory. */
static uint32_t lower_wasi(const Made *made, uint32_t from, const char *name, uint32_t memory,
                           uint32_t realloc) {
    return component_edit_add(made->e, 0, COMPONENT_ITEM_CANON, COMPONENT_SPACE_CORE_FUNC,
                              "01 00 %f 02 03 %m 04 %F", hub_alias(made->e, 0, from, str_of(name)),
                              memory, realloc);
}

/* The core instance from which the hub's core module imports WASI. */
static uint32_t hub_wasi(const Made *made, const HubWasi *w, ReportDest report, uint32_t memory,
                         uint32_t realloc) {
    ComponentEdit *e = made->e;
    ComponentArg args[7];
    uint32_t n = 0;
    if (w->random != UINT32_MAX) {
        args[n++] = hub_func_arg("now", hub_lower(e, 0, hub_alias(e, 0, w->clock, STR("now"))));
        args[n++] = hub_func_arg(
            "random", hub_lower(e, 0, hub_alias(e, 0, w->random, STR("get-random-u64"))));
    }
    args[n++] = hub_func_arg("write", lower_wasi(made, w->streams,
                                                 "[method]output-stream.blocking-write-and-flush",
                                                 memory, realloc));
    args[n++] =
        hub_func_arg("stderr", hub_lower(e, 0, hub_alias(e, 0, w->errors, STR("get-stderr"))));
    if (report == REPORT_FILE) {
        args[n++] = hub_func_arg("folders",
                                 lower_wasi(made, w->folders, "get-directories", memory, realloc));
        args[n++] = hub_func_arg(
            "open", lower_wasi(made, w->files, "[method]descriptor.open-at", memory, realloc));
        args[n++] = hub_func_arg(
            "write_at", lower_wasi(made, w->files, "[method]descriptor.write", memory, realloc));
    } else {
        Str get = report == REPORT_STDERR ? STR("get-stderr") : STR("get-stdout");
        args[n++] = hub_func_arg("report", hub_lower(e, 0, hub_alias(e, 0, w->report, get)));
    }
    return hub_core_functions(e, 0, args, n);
}

/* Adds the heads of all slots in order. */
static void list_heads(const HubNode *node, Str *heads, uint32_t *n) {
    for (uint32_t i = 0; i < node->instances.len; i++)
        heads[(*n)++] = node->instances.at[i].head;
    for (uint32_t i = 0; i < node->children.len; i++)
        list_heads(node->children.at[i].node, heads, n);
}

static void make_memory(const Hub *hub, bool serves, WasmModule *m) {
    uint32_t nslots = hub->root->slots, n = 0;
    Str *heads = mem_zalloc(sizeof *heads * nslots);
    list_heads(hub->root, heads, &n);
    if (nslots == 1 && !serves)
        heads[0] = (Str){0};
    hub_make_memory(hub, heads, nslots, m);
    free(heads);
}

/* Exports the hub's functions: of the core instance `core`, and WASI's. */
static void export_hub(const Made *made, const HubWasi *w, HubNeeds needs, uint32_t core) {
    ComponentEdit *e = made->e;
    uint32_t types[HUB_CORE_FUNCS];
    func_types(e, types);
    for (HubFunc f = 0; f < HUB_CORE_FUNCS; f++)
        if (is_needed(needs, f))
            hub_export(e, 0, hub_funcs[f].name,
                       lift(e, 0, hub_core_alias(e, 0, core, hub_funcs[f].core_name), types[f]));
    if (needs.now)
        hub_export(e, 0, "now", hub_alias(e, 0, w->clock, STR("now")));
    if (needs.exit)
        hub_export(e, 0, "exit", hub_alias(e, 0, w->exit, STR("exit")));
}

/* Adds the hub to the outermost component. Returns its instance. */
static uint32_t add_hub(const Hub *hub, HubNeeds needs) {
    ComponentEdit *e = hub->root->edit;
    const char *version = hub_free_version(component_edit_of(e));
    HubWasi outside = {.e = e, .version = version, .random = UINT32_MAX};
    RuntimeModule runtime = runtime_component(hub->report == REPORT_FILE, needs.serves);
    Buf code = {0};
    Made made;
    WasmModule m;
    make_begin(&made);
    HubWasi w = {.e = made.e, .version = version, .random = UINT32_MAX};
    hub_import_wasi(&w, hub->report, needs);
    make_memory(hub, needs.serves, &m);
    uint32_t owner = hub_core_instance(made.e, 0, hub_add_module(made.e, 0, &m), NULL, 0);
    uint32_t memory =
        component_edit_add(made.e, 0, COMPONENT_ITEM_ALIAS, COMPONENT_SPACE_CORE_MEMORY,
                           "00 02 01 %i %n", owner, STR("memory"));
    uint32_t realloc = hub_core_alias(made.e, 0, owner, "realloc");
    ComponentArg args[] = {hub_core_arg("env", owner),
                           hub_core_arg("wasi", hub_wasi(&made, &w, hub->report, memory, realloc))};
    buf_bytes(&code, runtime.bytes, runtime.len);
    uint32_t module = component_edit_add(made.e, 0, COMPONENT_ITEM_CORE_MODULE,
                                         COMPONENT_SPACE_CORE_MODULE, "%b", &code);
    export_hub(&made, &w, needs, hub_core_instance(made.e, 0, module, args, 2));
    hub_import_wasi(&outside, hub->report, needs);
    uint32_t component = make_end(&made, e, 0);
    uint32_t result = instance(e, 0, component, outside.imported.at, outside.imported.len);
    buf_free(&code);
    vec_free(&w.imported);
    vec_free(&outside.imported);
    return result;
}

/* Adds the hub for a child whose slots begin at `base`. */
static uint32_t add_front(const HubConnection *con, uint32_t before, uint32_t base) {
    Made made;
    WasmModule m;
    uint32_t types[HUB_CORE_FUNCS];
    make_begin(&made);
    ComponentEdit *e = made.e;
    uint32_t hub = import_hub(e, con->needs);
    ComponentArg funcs[] = {
        hub_func_arg("begin", hub_lower(e, 0, hub_alias(e, 0, hub, STR("begin")))),
        hub_func_arg("end", hub_lower(e, 0, hub_alias(e, 0, hub, STR("end"))))};
    ComponentArg arg = hub_core_arg("hub", hub_core_functions(e, 0, funcs, 2));
    hub_make_front(base, &m);
    uint32_t core = hub_core_instance(e, 0, hub_add_module(e, 0, &m), &arg, 1);
    func_types(e, types);
    for (HubFunc f = 0; f < HUB_FUNCS; f++) {
        if (!is_needed(con->needs, f))
            continue;
        bool own = f == HUB_BEGIN || f == HUB_END;
        uint32_t func =
            own ? lift(e, 0, hub_core_alias(e, 0, core, hub_funcs[f].core_name), types[f])
                : hub_alias(e, 0, hub, str_of(hub_funcs[f].name));
        hub_export(e, 0, hub_funcs[f].name, func);
    }
    ComponentArg given = {{.name = STR(HUB_IMPORT)}, {COMPONENT_SPACE_INSTANCE, con->hub}};
    return instance(con->e, before, make_end(&made, con->e, before), &given, 1);
}

/* ---- where the program ends ---- */

/* Adds a core instance of a finisher of `func` (and `post`). */
static uint32_t add_finisher(const HubConnection *con, uint32_t at, WasmModule *m,
                             const char *flush, const ComponentArg *funcs, uint32_t nfuncs) {
    ComponentArg roll = hub_func_arg("flush", hub_core_alias(con->e, at, con->roll, flush));
    ComponentArg args[] = {hub_core_arg("program", hub_core_functions(con->e, at, funcs, nfuncs)),
                           hub_core_arg("roll", hub_core_functions(con->e, at, &roll, 1))};
    return hub_core_instance(con->e, at, hub_add_module(con->e, at, m), args, 2);
}

/* The export of an instance that an alias names, if the item is one. */
const ComponentAlias *hub_alias_of(const Component *c, ComponentRef ref) {
    const ComponentItem *item = component_item(c, ref);
    bool exported = item && item->kind == COMPONENT_ITEM_ALIAS && item->alias->kind != ALIAS_OUTER;
    return exported ? item->alias : NULL;
}

/* A type of the scope of an instance's type; NULL = it comes from elsewhere. */
static const ComponentType *declared_type(const ComponentDecls *decls, uint32_t index) {
    uint32_t i = 0;
    for (uint32_t left = index; i < decls->len; i++) {
        ComponentSpace space = COMPONENT_SPACE_COUNT;
        component_adds(&decls->at[i], &space);
        if (space == COMPONENT_SPACE_TYPE && left-- == 0)
            break;
    }
    bool defined = i < decls->len && decls->at[i].kind == COMPONENT_ITEM_TYPE;
    return defined ? decls->at[i].type : NULL;
}

/* Whether an instance's type has this function, with one parameter, a small number or `result`, and
 * without a result: one that is lowered to (i32) -> (). */
static bool declares_exit(const ComponentType *type, Str name) {
    const ComponentType *func = NULL;
    for (uint32_t i = 0; i < type->decls.len; i++) {
        const ComponentItem *item = &type->decls.at[i];
        if (item->kind == COMPONENT_ITEM_EXPORT && str_eq(item->export->name.name, name) &&
            item->export->type.space == COMPONENT_SPACE_FUNC)
            func = declared_type(&type->decls, item->export->type.index);
    }
    if (!func || func->code != COMPONENT_TYPE_FUNC || func->nfields != 1 || !func->element.none)
        return false;
    ComponentVal param = func->fields[0].type;
    const ComponentType *status = param.primitive ? NULL : declared_type(&type->decls, param.type);
    return param.primitive == COMPONENT_U8 || (status && status->code == COMPONENT_TYPE_RESULT &&
                                               status->element.none && status->other.none);
}

/* Whether a function is one of wasi:cli/exit. */
static bool ends_program(const Component *c, uint32_t func) {
    const ComponentAlias *alias = hub_alias_of(c, (ComponentRef){COMPONENT_SPACE_FUNC, func});
    if (!alias)
        return false;
    const ComponentItem *from =
        component_item(c, (ComponentRef){COMPONENT_SPACE_INSTANCE, alias->instance});
    if (!from || from->kind != COMPONENT_ITEM_IMPORT ||
        !str_begins(from->import->name.name, STR("wasi:cli/exit@")))
        return false;
    const ComponentItem *type =
        component_item(c, (ComponentRef){COMPONENT_SPACE_TYPE, from->import->type.index});
    return type && type->kind == COMPONENT_ITEM_TYPE &&
           type->type->code == COMPONENT_TYPE_INSTANCE && declares_exit(type->type, alias->name);
}

static const ComponentOption *option_of(const ComponentCanon *canon, ComponentOptionCode code) {
    for (uint32_t i = 0; i < canon->noptions; i++)
        if (canon->options[i].code == code)
            return &canon->options[i];
    return NULL;
}

#define RUN "wasi:cli/run@"

/* Whether what is lifted is the function of a command, which has no parameters and returns
 * `result`.
 */
static bool is_run(const Component *c, const ComponentCanon *canon) {
    const ComponentAlias *alias =
        hub_alias_of(c, (ComponentRef){COMPONENT_SPACE_CORE_FUNC, canon->func});
    const ComponentItem *item =
        component_item(c, (ComponentRef){COMPONENT_SPACE_TYPE, canon->type});
    if (!alias || !item || item->kind != COMPONENT_ITEM_TYPE)
        return false;
    const ComponentType *type = item->type;
    bool named = str_begins(alias->name, STR(RUN)) ||
                 str_begins(alias->name, STR("[async-lift]" RUN)) ||
                 str_begins(alias->name, STR("[async-lift-stackful]" RUN));
    bool func = type->code == COMPONENT_TYPE_FUNC || type->code == COMPONENT_TYPE_ASYNC_FUNC;
    bool result = !type->element.none && !type->element.primitive;
    return named && func && result && type->nfields == 0;
}

void hub_replace(const HubConnection *con, uint32_t from, uint32_t to, uint32_t func, uint32_t by) {
    component_edit_replace(con->e, from, to, (ComponentRef){COMPONENT_SPACE_CORE_FUNC, func}, by);
}

/* Types of functions that are wrapped. */
static const WasmType i32s[] = {WASM_I32, WASM_I32, WASM_I32};
static const WasmTypeDef no_result,
    a_result = {.nresults = 1, .results = i32s}, a_param = {.nparams = 1, .params = i32s},
    a_callback = {.nparams = 3, .params = i32s, .nresults = 1, .results = i32s};

/* Item `at` lifts a function of this type: `flush`, a function of the roll, is called when it has
 * ended, and it does not wait any more if it is asynchronous. `post`: also after its post-return
 * function, in which no function may be called. */
static void connect_lift(const HubConnection *con, uint32_t at, const WasmTypeDef *type,
                         const char *flush, const ComponentOption *post) {
    const ComponentCanon *canon = con->c->items.at[at].canon;
    const ComponentOption *callback = option_of(canon, CANON_OPTION_CALLBACK);
    HubWhen when = callback ? HUB_ENDED : post ? HUB_AFTER_POST : HUB_AFTER;
    WasmModule m;
    ComponentArg funcs[] = {hub_func_arg("func", canon->func),
                            hub_func_arg("post", post ? post->index : 0)};
    hub_make_finisher(when, type, &m);
    uint32_t made = add_finisher(con, at, &m, flush, funcs, post ? 2 : 1);
    hub_replace(con, at, at + 1, canon->func, hub_core_alias(con->e, at, made, "func"));
    if (post)
        hub_replace(con, at, at + 1, post->index, hub_core_alias(con->e, at, made, "post"));
    if (!callback)
        return;
    funcs[0] = hub_func_arg("func", callback->index);
    hub_make_finisher(HUB_ENDED, &a_callback, &m);
    made = add_finisher(con, at, &m, flush, funcs, 1);
    hub_replace(con, at, at + 1, callback->index, hub_core_alias(con->e, at, made, "func"));
}

/* The function of a command. */
static void connect_run(const HubConnection *con, uint32_t at) {
    const ComponentCanon *canon = con->c->items.at[at].canon;
    bool callback = option_of(canon, CANON_OPTION_CALLBACK);
    bool result = callback || !option_of(canon, CANON_OPTION_ASYNC);
    connect_lift(con, at, result ? &a_result : &no_result, "flush",
                 option_of(canon, CANON_OPTION_POST_RETURN));
}

/* A function of a component that serves. False if it is none of an instrumented instance. */
static bool connect_service(const HubConnection *con, uint32_t at) {
    const ComponentCanon *canon = con->c->items.at[at].canon;
    ComponentRef ref = {COMPONENT_SPACE_CORE_FUNC, canon->func};
    const ComponentAlias *alias = hub_alias_of(con->c, ref);
    for (uint32_t i = 0; alias && i < con->node->instances.len; i++) {
        const HubInstance *of = &con->node->instances.at[i];
        if (component_defines(con->c, of->item).index != alias->instance)
            continue;
        const WasmExport *e = wasm_find_export(of->module, WASM_SPACE_FUNC, alias->name);
        if (e)
            connect_lift(con, at, wasm_func_type(of->module, e->handle), "flush_due", NULL);
        return e != NULL;
    }
    return false;
}

/* What ends the program, item `at`, a core function: what can be is flushed before. */
static void connect_exit(const HubConnection *con, uint32_t at) {
    uint32_t func = component_defines(con->c, at).index;
    ComponentArg arg = hub_func_arg("func", func);
    WasmModule m;
    hub_make_finisher(HUB_BEFORE, &a_param, &m);
    uint32_t made = add_finisher(con, at + 1, &m, "flush_own", &arg, 1);
    hub_replace(con, at + 1, UINT32_MAX, func, hub_core_alias(con->e, at + 1, made, "func"));
}

/* A component that calls run and then flush, both of which it imports. */
static uint32_t add_runner(ComponentEdit *to, uint32_t before, uint32_t run, uint32_t flush) {
    Made made;
    WasmModule m;
    make_begin(&made);
    ComponentEdit *e = made.e;
    uint32_t runs = run_type(e, 0), flushes = flush_type(e, 0);
    uint32_t inner_run = component_edit_add(e, 0, COMPONENT_ITEM_IMPORT, COMPONENT_SPACE_FUNC,
                                            "00 %n 01 %t", STR("run"), runs);
    uint32_t inner_flush = component_edit_add(e, 0, COMPONENT_ITEM_IMPORT, COMPONENT_SPACE_FUNC,
                                              "00 %n 01 %t", STR("flush"), flushes);
    ComponentArg funcs[] = {hub_func_arg("func", hub_lower(e, 0, inner_run)),
                            hub_func_arg("flush", hub_lower(e, 0, inner_flush))};
    ComponentArg args[] = {hub_core_arg("program", hub_core_functions(e, 0, funcs, 1)),
                           hub_core_arg("roll", hub_core_functions(e, 0, funcs + 1, 1))};
    hub_make_finisher(HUB_AFTER, &a_result, &m);
    uint32_t core = hub_core_instance(e, 0, hub_add_module(e, 0, &m), args, 2);
    hub_export(e, 0, "run", lift(e, 0, hub_core_alias(e, 0, core, "func"), runs));
    ComponentArg given[] = {{{.name = STR("run")}, {COMPONENT_SPACE_FUNC, run}},
                            {{.name = STR("flush")}, {COMPONENT_SPACE_FUNC, flush}}};
    return instance(to, before, make_end(&made, to, before), given, 2);
}

/* The outermost component exports a command, item `at`, of one inside. */
static void connect_inner_run(const HubConnection *con, uint32_t at) {
    ComponentRef ref = con->c->items.at[at].export->ref;
    uint32_t run = hub_alias(con->e, at, ref.index, STR("run"));
    uint32_t flush = lift(con->e, at, con->flush, flush_type(con->e, at));
    uint32_t runner = add_runner(con->e, at, run, flush);
    uint32_t by = component_edit_add(con->e, at, COMPONENT_ITEM_INSTANCE, COMPONENT_SPACE_INSTANCE,
                                     "01 01 00 %n 01 %f", STR("run"),
                                     hub_alias(con->e, at, runner, STR("run")));
    component_edit_replace(con->e, at, at + 1, ref, by);
}

/* Whether an item of the outermost component exports a command of a component inside. */
static bool is_inner_run(const ComponentItem *item) {
    return item->kind == COMPONENT_ITEM_EXPORT &&
           item->export->ref.space == COMPONENT_SPACE_INSTANCE &&
           str_begins(item->export->name.name, STR(RUN "0.2."));
}

/* Whether the component has no command. */
static bool serves(const Component *c) {
    for (uint32_t i = 0; i < c->items.len; i++) {
        const ComponentItem *item = &c->items.at[i];
        bool lifts = item->kind == COMPONENT_ITEM_CANON && item->canon->code == CANON_LIFT;
        if (is_inner_run(item) || (lifts && is_run(c, item->canon)))
            return false;
    }
    return true;
}

/* Returns whether reports are made somewhere. */
static bool connect_ends(const HubConnection *con) {
    if (con->needs.now || con->needs.exit || con->needs.print)
        hub_hold(con);
    bool runs = false, reports = false;
    bool outermost = !con->c->parent, called = outermost || con->node->exported;
    for (uint32_t i = 0; i < con->c->items.len; i++) {
        const ComponentItem *item = &con->c->items.at[i];
        const ComponentCanon *canon = item->kind == COMPONENT_ITEM_CANON ? item->canon : NULL;
        bool lifts = canon && called && canon->code == CANON_LIFT;
        if (canon && canon->code == CANON_LOWER && ends_program(con->c, canon->func))
            connect_exit(con, i);
        if (lifts && outermost && is_run(con->c, canon)) {
            runs = true;
            connect_run(con, i);
        } else if (lifts && con->needs.serves) {
            reports |= connect_service(con, i);
        }
        if (!runs && outermost && is_inner_run(item)) {
            connect_inner_run(con, i);
            reports = true;
        }
    }
    return runs || reports;
}

/* ---- connecting ---- */

/* A core instance of the hub's functions, which switches, taps and the roll import. */
static uint32_t lower_hub(const HubConnection *con) {
    ComponentArg args[HUB_FUNCS];
    uint32_t n = 0;
    for (HubFunc f = 0; f < HUB_FUNCS; f++)
        if (is_needed(con->needs, f)) {
            uint32_t func = hub_alias(con->e, 0, con->hub, str_of(hub_funcs[f].name));
            args[n++] = hub_func_arg(hub_funcs[f].core_name, hub_lower(con->e, 0, func));
        }
    return hub_core_functions(con->e, 0, args, n);
}

/* Gives an instance its switch, and the tap after it. */
static void connect_instance(const HubConnection *con, uint32_t entry) {
    const HubInstance *of = &con->node->instances.at[entry];
    ComponentArg hub = hub_core_arg("hub", con->to_hub);
    WasmModule m;
    hub_make_switch(con->needs, of->module, &m);
    ComponentArg given[] = {hub, hub_core_arg("roll", con->roll)};
    uint32_t switched = hub_core_instance(con->e, 0, hub_add_module(con->e, 0, &m), given, 2);
    component_edit_argument(con->e, of->item, STR(HUB_HOST), switched);
    hub_make_tap(of->module, entry, &m);
    ComponentArg args[] = {hub_core_arg("instance", component_defines(con->c, of->item).index),
                           hub_core_arg("switch", switched), hub_core_arg("roll", con->roll), hub};
    hub_core_instance(con->e, of->item + 1, hub_add_module(con->e, of->item + 1, &m), args, 4);
}

static bool connect(HubConnection *con);

/* Makes a core function, which exists before the item `at`, an entry of the roll. */
static void add_entry(const HubConnection *con, uint32_t at, uint32_t entry, uint32_t func) {
    WasmModule m;
    hub_make_entry(entry, &m);
    ComponentArg arg = hub_func_arg("func", func);
    ComponentArg args[] = {hub_core_arg("roll", con->roll),
                           hub_core_arg("func", hub_core_functions(con->e, at, &arg, 1))};
    hub_core_instance(con->e, at, hub_add_module(con->e, at, &m), args, 2);
}

/* The function of a child that flushes it. */
static uint32_t flush_of(const HubConnection *con, uint32_t at, const HubChild *child) {
    return hub_alias(con->e, at, component_defines(con->c, child->item).index, STR(HUB_FLUSH));
}

/* Adds an instance with a function that flushes the first n children: none of them can be active
 * where a later one has returned to the host. */
static uint32_t add_others(const HubConnection *con, uint32_t at, uint32_t n) {
    Arena *arena = con->c->arena;
    ComponentArg *given = arena_array(arena, ComponentArg, n + 1u);
    ComponentArg *funcs = arena_array(arena, ComponentArg, n + 1u);
    Made made;
    WasmModule m;
    make_begin(&made);
    ComponentEdit *e = made.e;
    uint32_t type = flush_type(e, 0);
    for (uint32_t i = 0; i < n; i++) {
        const char *name = arena_printf(arena, "flush%u", i);
        uint32_t func = component_edit_add(e, 0, COMPONENT_ITEM_IMPORT, COMPONENT_SPACE_FUNC,
                                           "00 %n 01 %t", str_of(name), type);
        funcs[i] = hub_func_arg(arena_printf(arena, "%u", i), hub_lower(e, 0, func));
        given[i] =
            (ComponentArg){{.name = str_of(name)},
                           {COMPONENT_SPACE_FUNC, flush_of(con, at, &con->node->children.at[i])}};
    }
    ComponentArg arg = hub_core_arg("others", hub_core_functions(e, 0, funcs, n));
    hub_make_others(n, &m);
    uint32_t core = hub_core_instance(e, 0, hub_add_module(e, 0, &m), &arg, 1);
    hub_export(e, 0, "others", lift(e, 0, hub_core_alias(e, 0, core, "others"), type));
    return instance(con->e, at, make_end(&made, con->e, at), given, n);
}

/* Imports that function, and makes it an entry of the roll. */
static void import_others(const HubConnection *con, uint32_t entry) {
    uint32_t type = hub_instance_type(con->e, "02 01 40 00 01 00 04 00 %n 01 00", STR("others"));
    uint32_t from = component_edit_add(con->e, 0, COMPONENT_ITEM_IMPORT, COMPONENT_SPACE_INSTANCE,
                                       "00 %n 05 %t", STR(HUB_OTHERS), type);
    add_entry(con, 0, entry, hub_lower(con->e, 0, hub_alias(con->e, 0, from, STR("others"))));
}

/* Gives child k its hub, and makes its function to flush it an entry of the roll. */
static void connect_child(HubConnection *con, uint32_t k) {
    const HubChild *child = &con->node->children.at[k];
    uint32_t hub = con->front ? add_front(con, child->item, con->front) : con->hub;
    uint32_t after = child->item + 1;
    component_edit_argument(con->e, child->item, STR(HUB_IMPORT), hub);
    if (child->node->exported)
        component_edit_argument(con->e, child->item, STR(HUB_OTHERS),
                                add_others(con, child->item, k));
    add_entry(con, after, con->node->instances.len + k,
              hub_lower(con->e, after, flush_of(con, after, child)));
    con->front += child->node->slots;
}

/* Returns whether the component makes reports. */
static bool connect(HubConnection *con) {
    const HubNode *node = con->node;
    WasmModule m;
    con->to_hub = lower_hub(con);
    uint32_t entries = node->instances.len + node->children.len;
    hub_make_roll(entries + node->exported, node->instances.len, con->needs.serves, &m);
    ComponentArg hub = hub_core_arg("hub", con->to_hub);
    con->roll =
        hub_core_instance(con->e, 0, hub_add_module(con->e, 0, &m), &hub, con->needs.serves);
    con->flush = hub_core_alias(con->e, 0, con->roll, "flush");
    for (uint32_t i = 0; i < node->instances.len; i++)
        connect_instance(con, i);
    con->front = node->instances.len;
    for (uint32_t i = 0; i < node->children.len; i++)
        connect_child(con, i);
    if (node->exported)
        import_others(con, entries);
    return connect_ends(con);
}

/* Exports the function that flushes all. */
static void export_flush(const HubConnection *con) {
    uint32_t end = con->c->items.len;
    hub_export(con->e, end, HUB_FLUSH, lift(con->e, end, con->flush, flush_type(con->e, end)));
}

/* Connects the components inside, each once. */
static void connect_inside(const HubNode *node, HubNeeds needs) {
    for (uint32_t i = 0; i < node->children.len; i++) {
        HubNode *child = node->children.at[i].node;
        if (child->connected)
            continue;
        child->connected = true;
        connect_inside(child, needs);
        const Component *c = component_edit_of(child->edit);
        HubConnection con = {.node = child, .e = child->edit, .c = c, .needs = needs};
        con.hub = import_hub(child->edit, needs);
        connect(&con);
        export_flush(&con);
    }
}

static void want_item(const Component *c, ComponentRef ref, bool *wanted) {
    const ComponentItem *item = component_item(c, ref);
    if (item)
        wanted[item - c->items.at] = true;
}

/* Finds the components inside whose functions the host can call, directly or through instances that
 * are made of them: items name only earlier ones. Returns whether there are any. */
static bool find_exported(const HubNode *root, const Component *c) {
    bool *wanted = mem_zalloc(sizeof *wanted * (c->items.len + 1u)), any = false;
    uint32_t child = root->children.len;
    for (uint32_t i = c->items.len; i-- > 0;) {
        const ComponentItem *item = &c->items.at[i];
        bool is_child = child && root->children.at[child - 1].item == i;
        child -= is_child;
        if (item->kind == COMPONENT_ITEM_EXPORT)
            want_item(c, item->export->ref, wanted);
        if (wanted[i] && item->kind == COMPONENT_ITEM_ALIAS && item->alias->kind == ALIAS_EXPORT)
            want_item(c, (ComponentRef){COMPONENT_SPACE_INSTANCE, item->alias->instance}, wanted);
        if (wanted[i] && is_child)
            any = root->children.at[child].node->exported = true;
        bool made = item->kind == COMPONENT_ITEM_INSTANCE && !is_child;
        for (uint32_t k = 0; wanted[i] && made && k < item->instance->nargs; k++)
            want_item(c, item->instance->args[k].ref, wanted);
    }
    free(wanted);
    return any;
}

bool hub_add(const Hub *hub) {
    const HubNode *root = hub->root;
    assert(root->slots);
    HubNeeds needs = needs_of(root);
    needs.serves = serves(component_edit_of(root->edit));
    bool inner = needs.serves && find_exported(root, component_edit_of(root->edit));
    HubConnection con = {.node = root,
                         .e = root->edit,
                         .c = component_edit_of(root->edit),
                         .needs = needs,
                         .hub = add_hub(hub, needs)};
    bool reports = connect(&con) || inner;
    if (needs.serves)
        export_flush(&con);
    connect_inside(root, needs);
    return reports;
}
