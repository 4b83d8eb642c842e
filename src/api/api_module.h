/*
 * api/api_module.h - shared by the files of the public interface to modules (api_module.c,
 * api_code.c).
 */
#ifndef WHAMMC_API_API_MODULE_H
#define WHAMMC_API_API_MODULE_H

#include "wasm/op.h"
#include "whammc/module.h"

struct WhammcCode {
    Buf bytes;
};

#endif
