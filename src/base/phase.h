/*
 * base/phase.h - how long the phases of a compilation take, for --metrics.
 *
 * Phases nest; time is attributed to the innermost one. Nothing is measured unless phases_start was
 * called on the same thread. CPU time includes all threads of the process.
 */
#ifndef WHAMMC_BASE_PHASE_H
#define WHAMMC_BASE_PHASE_H

#include <stdint.h>

#define PHASES(X)                                                                                  \
    X(PLAN, "plan")         /* read and check the scripts, make the plan */                        \
    X(READ, "read")         /* the program, and the output once more */                            \
    X(VALIDATE, "validate") /* both */                                                             \
    X(MATCH, "match")       /* find sites, give each its storage */                                \
    X(STORAGE, "storage")   /* lay out memories and globals, link the runtime and libraries */     \
    X(COMPILE, "compile")   /* bodies of probes to templates */                                    \
    X(OPTIMISE, "optimise") /* the passes over them */                                             \
    X(INJECT, "inject")     /* templates and counters into functions */                            \
    X(WRITE, "write")       /* the other sections */                                               \
    X(RUN, "run")           /* the engine runs the program */                                      \
    X(OTHER, "other")       /* files, messages */

typedef enum Phase {
#define PHASE_ID(id, name) PHASE_##id,
    PHASES(PHASE_ID)
#undef PHASE_ID
        PHASE_COUNT
} Phase;

extern const char *const phase_names[PHASE_COUNT];

/* In nanoseconds. */
typedef struct PhaseTime {
    int64_t wall, cpu;
} PhaseTime;

typedef struct Phases {
    PhaseTime spent[PHASE_COUNT];
    PhaseTime last; /* when `current` began or went on */
    Phase current;
} Phases;

/* Begins with PHASE_OTHER. `p` must live until phases_stop. */
void phases_start(Phases *p);
void phases_stop(void);

/* Changes to a phase; returns the previous one, for phase_end. */
Phase phase_begin(Phase phase);
void phase_end(Phase before);

#endif
