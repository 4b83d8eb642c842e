/*
 * api/api_module.h - what the files after the public interface share (api.c, api_code.c).
 */
#ifndef WHAMMC_API_API_MODULE_H
#define WHAMMC_API_API_MODULE_H

#include "wasm/op.h"
#include "whammc/module.h"

struct WhammcCode {
    Buf bytes;
};

#endif
