/*
 * profile/profile_homes.c - functions of other modules in the profile of one.
 */
#include "profile/profile_homes.h"

static void give_name(Profile *p, ProfileFunc *f, const ProfileFunc *named, Str title) {
    f->name = str_of(arena_printf(&p->arena, "%.*s (%.*s)", STR_ARG(named->name), STR_ARG(title)));
    if (named->symbol.len)
        f->symbol =
            str_of(arena_printf(&p->arena, "%.*s (%.*s)", STR_ARG(named->symbol), STR_ARG(title)));
}

/* Not only by its number. */
static bool profile_homes_is_named(const ProfileFunc *f) {
    return f->name.len && f->name.ptr[0] != '#';
}

/* Names the functions of one module that have none as its own profile does, of some thread. */
static void name_those_of(Profile *p, const ProfileModule *module, bool demangled) {
    Profile own = {0};
    Vec(uint32_t) theirs = {0};
    for (uint32_t i = 0; i < p->funcs.len; i++)
        if (p->funcs.at[i].home.module_id == module->module_id && !p->funcs.at[i].name.ptr) {
            profile_func(&own, p->funcs.at[i].home.func);
            vec_push(&theirs, i);
        }
    if (theirs.len)
        profile_name(&own, module->report, module->places, NULL, demangled);
    for (uint32_t i = 0; i < theirs.len; i++)
        if (profile_homes_is_named(&own.funcs.at[i]))
            give_name(p, &p->funcs.at[theirs.at[i]], &own.funcs.at[i], module->title);
    vec_free(&theirs);
    profile_free(&own);
}

static const char *profile_homes_title_of(Profile *p, const ProfileHomes *homes,
                                          const ProfileFunc *f) {
    for (uint32_t i = 0; homes && i < homes->all.len; i++)
        if (homes->all.at[i].module_id == f->home.module_id)
            return arena_printf(&p->arena, "%.*s", STR_ARG(homes->all.at[i].title));
    return arena_printf(&p->arena, "module %08x", f->home.module_id);
}

void homes_name(Profile *p, const ProfileHomes *homes, bool demangled) {
    bool any = false;
    for (uint32_t i = 0; i < p->funcs.len; i++)
        any |= p->funcs.at[i].home.module_id != 0;
    for (uint32_t i = 0; any && homes && i < homes->all.len; i++)
        if (homes->all.at[i].module_id)
            name_those_of(p, &homes->all.at[i], demangled);
    for (uint32_t i = 0; any && i < p->funcs.len; i++) {
        ProfileFunc *f = &p->funcs.at[i];
        if (f->home.module_id && !f->name.ptr)
            f->name = str_of(arena_printf(&p->arena, "#%u (%s)", f->home.func,
                                          profile_homes_title_of(p, homes, f)));
    }
}

uint32_t homes_module_id(Str hash) {
    enum { DIGITS = 8, BASE = 16 };
    char text[DIGITS + 1] = "";
    if (hash.len < DIGITS)
        return 0;
    memcpy(text, hash.ptr, DIGITS);
    uint32_t id = (uint32_t)strtoul(text, NULL, BASE);
    return id ? id : 1;
}
