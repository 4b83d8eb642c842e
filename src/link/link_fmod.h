/*
 * link/link_fmod.h - arithmetic that templates call.
 */
#ifndef WHAMMC_LINK_LINK_FMOD_H
#define WHAMMC_LINK_LINK_FMOD_H

#include "wasm/module.h"

/* Adds C's fmod to the module, which is not laid out. False on an internal error (reported). */
bool link_add_fmod(WasmModule *m, uint32_t *handle, Diags *diags);

#endif
