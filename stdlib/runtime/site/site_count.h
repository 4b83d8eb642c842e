/*
 * runtime/site/site_count.h - probes of a monitor that only count, counted by segments.
 *
 * The monitor's code drives it (monitor/make/count.c). In the predicate of its counters:
 *
 *     if (site_count_begin(fid, busy, traps, how)) {
 *         what is counted at the function's entry: site_count_row, site_count_sum
 *         while ((op = site_count_next()) != -1)
 *             what is counted at the instruction at site_count_pc()
 *         site_count_close();
 *     }
 *     return site_count_at(pc);
 *
 * The engine increments the i64 at the addresses that site_count_at and site_count_falls return:
 * how often control reached the location, or did not branch there.
 */
#ifndef WHAMMC_RUNTIME_SITE_COUNT_H
#define WHAMMC_RUNTIME_SITE_COUNT_H

#include <stdint.h>

/* The state is at this address, zeros at start. */
enum { SITE_COUNT = 3840 };

/* Returns 1 if the function is not the current one: then a walk through it begins, at its entry.
 * `busy` is a str: bit k of byte k / 8 says that the monitor may have other probes at WasmOp k;
 * the last bit: at entries of functions. `traps`: such bits of instructions that can trap. */
enum {
    SITE_COUNT_EXACT = 1, /* segments end after these, as if site_count_exact had been called */
    SITE_COUNT_FALLS = 2, /* counters of site_count_falls will be asked for */
};
uint32_t site_count_begin(uint32_t fid, uint32_t busy, uint32_t traps, uint32_t how);
/* Before the first site_count_begin: the tool that attaches the monitor turns its counters into
 * segments again, and corrects their counts after traps. */
void site_count_exact(void);
/* Steps to the next instruction and returns its WasmOp; -1 = there is none. */
uint32_t site_count_next(void);
uint32_t site_count_pc(void);
/* What is counted at the current location. */
enum {
    SITE_COUNT_FRONT = 1, /* of a `loop`: entries from the code before it, without branches back */
    SITE_COUNT_FLAG = 2,  /* `amount` is the value, unless it is never executed */
};
/* Each execution adds `amount` to the i32 or i64 at `slot` in a record (runtime/rows.h) of a
 * counted class; at most one call for each slot. Until the end the slot's contents have no meaning.
 */
void site_count_row(uint32_t slot, uint64_t amount, uint32_t how);
/* ... and to variable number `var`. */
void site_count_sum(uint32_t var, uint64_t amount, uint32_t how);
/* The function is over: chooses the counters. If that is not possible, the monitor is refused. */
void site_count_close(void);

/* The counter that belongs before the instruction at `pc`, or at the entry (0); 0 = none. */
uint32_t site_count_at(uint32_t pc);
/* The counter of how often a br_if does not branch, or an `if` enters its first arm; 0 = none. */
uint32_t site_count_falls(uint32_t pc);

/* Calls site_done, and frees what is needed only until everything is attached. */
void site_count_done(void);

/* The program is over: sets the values of rows. Returns the address of the sums of `nvars`
 * variables, u64 each. Call it once. */
uint32_t site_count_finish(uint32_t nvars);

#endif
