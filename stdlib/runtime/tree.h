/*
 * runtime/tree.h - the calling-context tree of the bundled library calltree.
 *
 * A node stands for a function in the context of its callers up to the root, which is not a node.
 * Scripts report when a function is entered and left; the tree records the current node, how often
 * each node was entered, and how long it was current, which is the function's self time.
 *
 * Nodes are numbered from 1 in the order in which they were made, so parents come before their
 * children, and never move. A program has one tree. Its state is all zeros at start.
 */
#ifndef WHAMMC_RUNTIME_TREE_H
#define WHAMMC_RUNTIME_TREE_H

#include <stdint.h>

enum {
    TREE_STATE = 2560, /* where the state is in the memory of values.h, up to VALUES_ROWS */
    TREE_LIST = 8,     /* a node with more children than this finds them by hashing */
};
#define TREE_ANY 4294967295u /* the function of a node for everything deeper than the limit */

/*
 * Enters a function at the time `now`, in nanoseconds: counts the call, and makes its node below
 * the current one the current one. Returns a handle of this activation, never 0, for tree_leave.
 *
 * Without memory for a new node the current node stays, also for calls inside that would need new
 * nodes: such calls are lost, and their time is added to the current node.
 */
uint32_t tree_enter(uint32_t function, uint64_t now);
/*
 * Leaves the activation, and all that were entered in it and not left: the node that was current
 * when it was entered becomes the current one. With handle 0, only adds the time.
 */
void tree_leave(uint32_t handle, uint64_t now);
/* The same with a number that says where the function was called: each call site has a node of its
 * own. tree_enter enters from site 0, which is unknown. */
uint32_t tree_enter_at(uint32_t function, uint32_t site, uint64_t now);
/* The same without time. Use either these calls or those above for a tree. */
uint32_t tree_enter_untimed(uint32_t function);
uint32_t tree_enter_untimed_at(uint32_t function, uint32_t site);
void tree_leave_untimed(uint32_t handle);

/*
 * For programs that switch between stacks. tree_here returns the current node, to which tree_go
 * returns; 0 is the root; tree_resume enters a function again that was entered and has not been
 * left: its node is the nearest one on the way from the current node to the root that stands for
 * the function, or a new one below it if there is none. That is no call. Returns a handle, as
 * tree_enter does.
 */
uint32_t tree_here(void);
void tree_go(uint32_t place, uint64_t now);
uint32_t tree_resume(uint32_t function, uint64_t now);
void tree_go_untimed(uint32_t place);
uint32_t tree_resume_untimed(uint32_t function);

/* To record anything other than entering and leaving functions: makes a child of the current node
 * the current one, which is no call; adds to the current node's calls and time. */
void tree_descend(uint32_t function);
void tree_descend_at(uint32_t function, uint32_t site);
void tree_add(uint64_t calls, uint64_t ns);

/* From now on new nodes are at most this deep (those without a parent have depth 1; 0 = no limit).
 * What is called from nodes at the limit, directly or not, has one child of these together, with
 * the function TREE_ANY, which counts all these calls. */
void tree_limit(uint32_t depth);

/* This function, and those with lower numbers, are the host's: their time is not shown. */
void tree_host(uint32_t function);

/*
 * From now on the tree is printed as the contents of a map, node -> (parent, function, calls,
 * nanoseconds), instead of the map's own; its type must be map<u32, (u32, u32, u64, u64)>. Adds the
 * time until `now` to the current node. Changes nothing else, so it can be called at any time and
 * repeatedly.
 */
void tree_store(uint32_t map, uint64_t now);
/* From now on a map, which must be a map<u32, u32>, shows node -> site. */
void tree_store_sites(uint32_t map);
/* The number of the current node, its key in these maps; 0 = the root. */
uint32_t tree_current(void);
/* Of a node that tree_here returned: its number, its parent (as tree_here), its function and site;
 * 0 for the root. */
uint32_t tree_number(uint32_t place);
uint32_t tree_parent(uint32_t place);
uint32_t tree_function(uint32_t place);
uint32_t tree_site(uint32_t place);
/* A str: the functions on the way from the root to the current node, "main;f;g", by their names in
 * a map<u32, str>, which has them all. Of more than TREE_TEXT_FRAMES, "...;" stands for the outer
 * ones. */
enum { TREE_TEXT_FRAMES = 128 };
uint32_t tree_text(uint32_t names);
/* The number of lost calls. */
uint64_t tree_lost(void);

/* ---- for print.c ---- */

/* What is printed for a map instead of its own entries. */
typedef enum TreeShown { TREE_NOT_SHOWN, TREE_SHOWN, TREE_SITES_SHOWN } TreeShown;
TreeShown tree_is_shown(uint32_t map);
/* An iterator over the nodes; a zeroed one is before the first. */
typedef struct TreeCursor {
    uint32_t number; /* of the last node that was returned */
    uint32_t block, node;
} TreeCursor;
enum { TREE_LEAVES = 6 };
/* The next node as the leaves of the key and value of the map that shows the tree, and its site; 0
 * after the last. */
uint32_t tree_next(TreeCursor *c, uint64_t leaves[TREE_LEAVES]);

#endif
