/*
 * gen/gen.h - from shapes of a plan to code templates with holes.
 *
 * Each shape becomes a function of a code module (code/code.h), which is optimised. Values that
 * differ from site to site, or are known only when the output is laid out, are names there; the
 * function is then decoded into bytes and a list of holes. Shapes that only count have no code.
 */
#ifndef WHAMMC_GEN_GEN_H
#define WHAMMC_GEN_GEN_H

#include "gen/compile_options.h"
#include "gen/template.h"

/*
 * Compiles the functions of the scripts (PlanFn.template), every shape of the plan that has no
 * template yet (Shape.template), the '@exit' calls at script scope (Plan.exits), and the statements
 * of each script's scope: init[i] for plan->scripts.at[i], NULL if there are none. False on an
 * internal error (reported).
 */
bool gen_templates(Plan *plan, const GenOptions *options, const Template **init, Diags *diags);

#endif
