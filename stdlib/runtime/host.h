/*
 * runtime/host.h - shared by all hosts when compiled to wasm32.
 *
 * Each host is a module that can be placed anywhere: it imports env.memory and env.__stack_pointer
 * (and what its host offers), exports `whammc_report` and `whammc_sum` (sums.h), and keeps nothing
 * in memory: no data, no table, no start function. All it needs is the stack, HOST_STACK bytes
 * below __stack_pointer; state that outlives a call is in Wasm globals. tests/checks/runtime checks
 * this.
 *
 * Compiled with VALUES it also contains everything that values.h declares, and keeps its state in a
 * memory of its own. hosts/host_import.c is different: a module with a memory of its own, with
 * values.
 */
#ifndef WHAMMC_RUNTIME_HOST_H
#define WHAMMC_RUNTIME_HOST_H

#include "format.h"

enum { HOST_STACK = 16384 };

#define EXPORT(name)         __attribute__((export_name(name), visibility("default")))
#define IMPORT(module, name) __attribute__((import_module(module), import_name(name)))

/* Formats the report of the image at `image`, `len` bytes, with the values, and writes it. */
void whammc_report(const uint8_t *image, uint32_t len, uint8_t *values);

/* Says that there is no memory for a report: nothing is in memory, not even a stack. (JavaScript
 * and WASI without values; hosts/host_none.c has its length for that.) */
void whammc_no_memory(void);

/* With values, a host has text too. */

/* The text that scripts print: a structure of the host that begins with a FormatOut; zero at
 * start. */
FormatOut *host_text(void);
/* Shows complete lines that scripts print (lines.c). False if the host cannot take them yet. */
bool host_print(const uint8_t *text, uint32_t len);
/* Ends the program with a status, if the host can. */
void host_exit(uint32_t status);
/* A line is complete: shows it, if somebody is waiting. */
void host_text_line(void);
/* Sends the remaining text before a report, which begins on a line of its own (print.c). */
void values_text_before(const uint8_t *image);
/* The image that says where text goes, or NULL (values.c). */
const uint8_t *values_image(uint32_t *len);

#if defined HOST_IMPORT || defined MONITOR || !defined __wasm__
/* Writes to standard error; a monitor to standard output, where the engine's messages are. */
void host_message(const uint8_t *text, uint32_t len);
#endif

#endif
