/*
 * cmd/profile_heap.c - options of `whammc profile --memory`, as constants of the bundled script
 * heap.
 */
#include "cmd/cmd.h"

#include <ctype.h>
#include <stdio.h>

/* The roles of arguments of allocators; the script has a constant for each argument. */
typedef enum Role { ROLE_SIZE, ROLE_COUNT, ROLE_OLD, ROLE_OUT, ROLE_FREE, ROLES } Role;
enum { ARGUMENTS = 4 };

static const char *const roles[ROLES] = {"size", "count", "old", "out", "free"};

/* ---- NAME:size@0,count@1 ---- */

/* Reads one "size@0"; false: it is none. Advances *text past it and a comma. */
static bool next_role(const char **text, Role *role, uint32_t *argument) {
    for (uint32_t r = 0; r < ROLES; r++) {
        size_t len = strlen(roles[r]);
        const char *at = *text + len;
        if (strncmp(*text, roles[r], len) != 0 || *at != '@' || !isdigit((unsigned char)at[1]))
            continue;
        *role = (Role)r;
        *argument = (uint32_t)(at[1] - '0');
        *text = at + 2;
        if (**text == ',' && (*text)[1])
            ++*text;
        else if (**text)
            return false;
        return *argument < ARGUMENTS;
    }
    return false;
}

/* Returns where the roles begin; NULL: there is no name before them. Names may have colons. */
static const char *roles_of(const char *value) {
    const char *colon = strrchr(value, ':');
    return colon && colon > value ? colon + 1 : NULL;
}

bool heap_option_alloc(const Cli *cli, HeapOptions *h, const char *value) {
    const char *text = roles_of(value);
    bool sizes = false, frees = false, ok = text && *text;
    Role role;
    uint32_t argument;
    while (ok && *text) {
        ok = next_role(&text, &role, &argument);
        sizes |= ok && role == ROLE_SIZE;
        frees |= ok && role == ROLE_FREE;
    }
    if (!ok || sizes == frees) {
        cli_usage(cli,
                  "--alloc=%s: expected NAME:size@N with the number of an argument, from 0 to 3, "
                  "optionally followed by ,count@N ,old@N and ,out@N; or NAME:free@N",
                  value);
        return false;
    }
    vec_push(&h->allocators, value);
    return true;
}

/* ---- defining ---- */

/* Lists the functions that an option names. */
static void list_named(const Cli *cli, const char *value, WhammcModule *m, Buf *out) {
    Exclusion named = {0};
    char *name = strndup(value, (size_t)(roles_of(value) - 1 - value));
    bool any;
    if (!name)
        abort();
    vec_push(&named.globs, name);
    any = exclude_named(&named, m, out);
    if (!any)
        message_one(cli, DIAG_NO_ALLOCATOR, NULL, "--alloc=%s: no function has such a name", value);
    vec_free(&named.globs);
    free(name);
}

static void profile_heap_append(Buf *list, const Buf *more) {
    if (list->len && more->len)
        buf_u8(list, ',');
    buf_bytes(list, more->data, more->len);
}

void heap_define(const Cli *cli, const HeapOptions *h, WhammcModule *m, whammc *w) {
    Buf lists[ROLES][ARGUMENTS] = {0}, all = {0};
    for (uint32_t i = 0; i < h->allocators.len; i++) {
        const char *text = roles_of(h->allocators.at[i]);
        Buf named = {0};
        Role role;
        uint32_t argument;
        list_named(cli, h->allocators.at[i], m, &named);
        while (*text && next_role(&text, &role, &argument)) {
            profile_heap_append(&lists[role][argument], &named);
            if (role == ROLE_SIZE)
                profile_heap_append(&all, &named);
        }
        buf_free(&named);
    }
    for (uint32_t r = 0; r < ROLES; r++)
        for (uint32_t a = 0; a < ARGUMENTS; a++) {
            char name[16];
            snprintf(name, sizeof name, "%s%u", roles[r], a);
            if (lists[r][a].len)
                whammc_define(w, name, buf_cstr(&lists[r][a]));
            buf_free(&lists[r][a]);
        }
    if (all.len)
        whammc_define(w, "allocators", buf_cstr(&all));
    buf_free(&all);
}
