/*
 * wasm/api.h - what the files behind the public interface share (api.c, api_code.c).
 */
#ifndef WHAMMC_WASM_API_H
#define WHAMMC_WASM_API_H

#include "wasm/op.h"
#include "whammc/module.h"

struct WhammcCode {
    Buf bytes;
};

#endif
