/*
 * monitor/make/monitor_code.h - from units to the code of a monitor module.
 *
 * Each residue becomes one function that does all its parts, each static predicate and callback a
 * function too. They use the rest of the monitor through imports of the module that is made, which
 * monitor/make/emit_monitor.c links:
 *
 *     rt.<name>    a function of the runtime (gen/helper.def, runtime/site/site.h, runtime/rows.h)
 *     lib.<n>      library function n of the plan
 *     mem.<n>      a built-in function on memories, Plan.memory_calls
 *     var.<n>      a global, leaf n of a script or shared variable, as HOLE_VAR has it
 *
 * Its memory 0 stands for the monitor's. Exports are the callbacks under the names that rules give
 * them, and the functions that MonitorCode names.
 */
#ifndef WHAMMC_GEN_MONITOR_CODE_H
#define WHAMMC_GEN_MONITOR_CODE_H

#include "monitor/make/monitor_input.h"

/* False with a message if something cannot be compiled. monitor_code_free is needed either way. */
bool gen_monitor(const MonitorInput *in, MonitorCode *out, Diags *diags);
void monitor_code_free(MonitorCode *code);

#endif
