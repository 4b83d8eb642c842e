/*
 * report/run_model.c - whose the reports of a text are.
 */
#include "report/run_model.h"

#include "base/escape.h"
#include "base/json.h"

/* ---- lines ---- */

bool run_is_line(Str line) {
    return str_begins(line, STR("{\"whammc\":"));
}

static RunLine read_threads(Str began, Str complete, RunThreads *t) {
    bool ok = str_decimal(began, UINT32_MAX, &t->began) &&
              str_decimal(complete, UINT32_MAX, &t->complete) && t->complete <= t->began;
    return ok ? RUN_THREADS : RUN_WRONG;
}

RunLine run_read_line(Str line, Arena *arena, RunOrigin *origin, RunThreads *threads) {
    enum { MARK, LESS, THREADS, COMPLETE, TEXTS };
    RunOrigin o = {.told = true, .format = RUN_FORMAT};
    Str *const texts[] = {&o.module.id, &o.module.name, &o.module.hash, &o.module.names,
                          &o.run,       &o.thread,      &o.instance};
    static const char *const names[] = {"whammc", "less",  "threads", "complete", "module",  "name",
                                        "hash",   "names", "run",     "thread",   "instance"};
    enum { COLUMNS = sizeof names / sizeof *names };
    Str v[COLUMNS] = {0};
    uint64_t format;
    Json j = {arena, line.ptr, line.ptr + line.len};
    if (!run_is_line(line) || !json_object(&j, names, COLUMNS, v) || !v[MARK].ptr)
        return RUN_NO_LINE;
    if (str_is(v[MARK], "end"))
        return RUN_END;
    if (str_is(v[MARK], "run"))
        return read_threads(v[THREADS], v[COMPLETE], threads);
    for (uint32_t i = TEXTS; i < COLUMNS; i++)
        *texts[i - TEXTS] = v[i];
    o.less = str_is(v[LESS], "true");
    if (str_decimal(v[MARK], UINT32_MAX, &format))
        o.format = (uint32_t)format;
    *origin = o;
    return RUN_ORIGIN;
}

static void run_model_put_text(Buf *out, const char *key, Str value) {
    if (!value.ptr)
        return;
    buf_printf(out, ",\"%s\":", key);
    escape_json_string(out, value);
}

void run_put_origin(const RunOrigin *o, Buf *out) {
    buf_printf(out, "{\"whammc\":%d", RUN_FORMAT);
    run_model_put_text(out, "module", o->module.id);
    run_model_put_text(out, "name", o->module.name);
    run_model_put_text(out, "hash", o->module.hash);
    run_model_put_text(out, "run", o->run);
    run_model_put_text(out, "thread", o->thread);
    if (o->instance.ptr)
        buf_printf(out, ",\"instance\":%.*s", STR_ARG(o->instance));
    buf_printf(out, "}\n");
}

void run_put_threads(const RunThreads *t, Buf *out) {
    buf_printf(out, "{\"whammc\":\"run\",\"threads\":%llu,\"complete\":%llu}\n",
               (unsigned long long)t->began, (unsigned long long)t->complete);
}

/* ---- which origins are of the same module ---- */

Str run_thread(const RunOrigin *o) {
    return o->thread.len && !str_is(o->thread, "main") ? o->thread : STR("0");
}

/* The text, after the thread where these are told apart; in `room`. */
static Str run_model_key_of(const RunIndex *all, const RunOrigin *o, Str text, Buf *room) {
    if (!all->by_thread)
        return text;
    room->len = 0;
    buf_name(room, run_thread(o));
    buf_str(room, text);
    return buf_view(room);
}

void run_index_add(RunIndex *all, const RunOrigin *o, uint32_t number) {
    Buf room = {0};
    if (o->told && o->module.id.len)
        map_put(&all->modules, run_model_key_of(all, o, o->module.id, &room), number, NULL);
    if (o->told && o->module.name.ptr)
        map_put(&all->names, run_model_key_of(all, o, o->module.name, &room), number, NULL);
    if (o->told && o->module.name.ptr && !o->module.id.len)
        map_put(&all->bare, run_model_key_of(all, o, o->module.name, &room), number, NULL);
    buf_free(&room);
}

static uint32_t first(const RunIndex *all, const Map *m, const RunOrigin *o, Str text) {
    Buf room = {0};
    const uint64_t *number = text.ptr ? map_get(m, run_model_key_of(all, o, text, &room)) : NULL;
    buf_free(&room);
    return number ? (uint32_t)*number : RUN_NONE;
}

uint32_t run_index_find(const RunIndex *all, const RunOrigin *o) {
    if (!o->told)
        return RUN_NONE;
    if (!o->module.id.len)
        return first(all, &all->names, o, o->module.name);
    uint32_t same = first(all, &all->modules, o, o->module.id);
    uint32_t bare = first(all, &all->bare, o, o->module.name);
    return same < bare ? same : bare;
}

void run_index_free(RunIndex *all) {
    map_free(&all->modules);
    map_free(&all->names);
    map_free(&all->bare);
}
