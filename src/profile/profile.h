/*
 * profile/profile.h - calls in a report: which function calls which, and the tree of calling
 * contexts.
 *
 * Scripts provide it in maps; their form is in docs/reports.md ("What views look for").
 */
#ifndef WHAMMC_PROFILE_PROFILE_H
#define WHAMMC_PROFILE_PROFILE_H

#include "base/capped.h"
#include "report/places.h"

enum {
    PROFILE_NONE = UINT32_MAX,   /* no parent */
    PROFILE_NOBODY = UINT32_MAX, /* as the id of a function: none of the program's */
    /* In a tree's entries: the function of a node whose child has the number of another module
     * (module_id) as its function; the children of that one are functions of that module. */
    PROFILE_ELSEWHERE = 4294967290,
};

/* Of a function of another module: id is PROFILE_NOBODY. */
typedef struct ProfileHome {
    uint32_t module_id; /* 0 = it is a function of this one */
    uint32_t func;
} ProfileHome;

typedef struct ProfileFunc {
    uint32_t id;
    ProfileHome home;
    uint32_t module; /* of profiles of several (profile_join): its number, from 1 */
    bool outside;    /* id is PROFILE_NOBODY: who calls from outside, or is called and not known */
    bool untimed;    /* its calls were only counted; see profile_untimed.h */
    bool inlined; /* id is PROFILE_NOBODY: a function that is a part of others (profile_inline) */
    uint64_t called; /* how often it was called, if a profile of samples has that */
    Str name;        /* of profile_name; never empty */
    Str symbol;      /* its mangled name; empty: none other than `name` */
    Str file;        /* where it is in the source (profile_locate); empty = unknown */
    uint32_t line;
} ProfileFunc;

/* The modules whose functions can be in trees of others. */
typedef struct ProfileModule {
    uint32_t module_id;
    Str title;
    const Report *report;
    const Places *places;
    Str thread;
} ProfileModule;

typedef struct ProfileHomes {
    Vec(ProfileModule) all;
} ProfileHomes;

/* Each pair of functions at most once. */
typedef struct ProfileArc {
    uint32_t caller, callee; /* indices into funcs */
    uint64_t calls;
    int64_t ns; /* from the calls to their returns; 0 unless timed */
} ProfileArc;

/* A function in a calling context. Parents come before their children. */
typedef struct ProfileNode {
    uint32_t parent; /* an index into nodes, or PROFILE_NONE */
    uint32_t end;    /* the index after its last descendant: its next sibling, if it has one */
    uint32_t depth;  /* 0 = no parent */
    uint32_t func;
    uint32_t pc; /* of the call in the parent's function; PROFILE_NONE = not known */
    uint64_t calls;
    uint64_t self;  /* nanoseconds in the function itself; calls unless timed */
    uint64_t total; /* the same with all that it called */
    uint32_t first; /* index into numbers: its values, as many as the profile has; inlined functions
                       have none: PROFILE_NONE */
} ProfileNode;

/* A kind of number that nodes of a tree have. */
typedef struct ProfileValue {
    Str name; /* "calls", "time", "alloc_space" */
    Str unit; /* "count", "nanoseconds", "bytes" */
    bool is_unsigned;
} ProfileValue;

/* A zeroed Profile is valid and empty. Release with profile_free. */
typedef struct Profile {
    Vec(ProfileFunc) funcs;
    Vec(ProfileArc) arcs;
    Vec(ProfileNode) nodes;
    Vec(ProfileValue) values; /* of a tree; `self` and `total` are of the last one */
    uint32_t weight;          /* index + 1 of the value that they are of instead (profile_weigh) */
    Vec(int64_t) numbers;     /* of the nodes, by ProfileNode.first */
    bool timed;               /* there are nanoseconds */
    uint64_t
        calibrated; /* measuring overhead in ns, which was subtracted from the times; 0 = unknown */
    bool sampled;   /* calls of nodes are samples in the function itself */
    bool counted;   /* ... but ProfileFunc.called are calls */
    uint64_t total; /* of all nodes without parent */
    const char *problem; /* why it could not be read; NULL: nothing fits */
    Str untimed;         /* the functions whose calls were not timed, as a list of numbers */
    bool crosses;        /* of profile_join: modules call each other */
    bool by_thread;      /* nodes without parent are threads (profile_join) */
    Map index;           /* id, role and module_id -> index into funcs */
    Map paths;           /* of profile_join: parent and function -> node */
    uint32_t pathed;     /* how many nodes are in it */
    Arena arena;
} Profile;

/* Names of variables; none = the first that fits. */
typedef struct ProfileVariables {
    const char *const *names;
    uint32_t count;
} ProfileVariables;

/*
 * Reads the tree, or the arcs (of several variables: their sum; or makes them of a tree). Without
 * names, all variables with calls, times and open calls are arcs. The report must have gone through
 * value_unify. False if one of the variables does not fit, none fits, or the values are
 * inconsistent: see `problem`. `p` must be empty.
 */
bool profile_read_tree(Profile *p, const Report *r, ProfileVariables variables);
bool profile_read_arcs(Profile *p, const Report *r, ProfileVariables variables);

/* Makes the arcs of a tree; `outside`: the function that has called those without parent. */
void profile_arcs_of_tree(Profile *p, uint32_t outside);

/* Whether variables of this type could be arcs or a tree. */
bool profile_type_fits(Str type);

/* Which of the values has this name; false if none has. */
bool profile_find_value(const Profile *p, const char *name, uint32_t *index);
/* Sets `self` and `total` to the value with this name; false if there is none. */
bool profile_weigh(Profile *p, const char *value);

/* Adds the totals of descendants to `total` of each node, which is its own value before. */
void profile_sum_up(Profile *p);

/* Whether a node is no function, but a thread with all that runs in it. */
bool profile_is_thread(const Profile *p, const ProfileNode *n);

/* The unit of a variable or value with this name: "bytes" and "nanoseconds" if the name says so
 * ("alloc_space", "read_bytes", "wait_ns"), else "count". */
Str profile_unit(Str name);

/* Whether the variable has calls that may be open, (calls, nanoseconds, open calls), whose times
 * count up to the end that the report has (`ended`): false if it has none. */
bool profile_is_open(const Report *r, const ReportVar *var, uint64_t *ended);
/* Whether the variable has names of functions. */
bool profile_is_names(const ReportVar *var);

/* How many fields of a tree's entries say which node it is: 2 (parent and function), 3 (and the
 * location of the call), or 0 if the variable is not a tree. */
uint32_t profile_tree_identity(const Report *r, const ReportVar *var);

/* Whether the variable, or with NULL any, is a tree, or has calls. */
bool profile_fits(const Report *r, bool tree, const char *variable);

/* Another variable than the first that fits in the same way, or NULL. */
const ReportVar *profile_other(const Report *r, bool tree);

/* The function with this index, for a Profile that the caller fills. Returns its index in funcs.
 */
uint32_t profile_func(Profile *p, uint32_t fid);

/*
 * Names the functions: by a map from numbers to strings in the report, else as rows of the report
 * do, else as the program does (`places` may know nothing), else "#9". Those of other modules in
 * the same way, with the title of their module behind them: "f (app.wasm)". `homes` may be NULL.
 */
void profile_name(Profile *p, const Report *r, const Places *places, const ProfileHomes *homes,
                  bool demangled);

/* The sum or difference; saturates. */
int64_t profile_add_ns(int64_t a, int64_t b);
int64_t profile_sub_ns(int64_t a, int64_t b);

/* Asserts that the tree is one: parents come before their children, subtrees are contiguous, totals
 * include their parts, and all indices exist. In builds with assertions only. */
bool profile_check(const Profile *p);

/* Frees the profile with its names. */
void profile_free(Profile *p);

#endif
