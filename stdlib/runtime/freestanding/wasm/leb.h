/*
 * runtime/freestanding/wasm/leb.h - cursors whose errors end the attaching with a message. There is
 * no static data, so the characters of texts become numbers.
 */
#ifndef WHAMMC_FREESTANDING_LEB_H
#define WHAMMC_FREESTANDING_LEB_H

#include_next "wasm/leb.h"

#define TEXT_BYTE(s, i) (uint64_t)(uint8_t)(s)[(i) < sizeof(s) ? (i) : sizeof(s) - 1] << (i) % 8 * 8
#define TEXT_WORD(s, i)                                                                            \
    (TEXT_BYTE(s, i) | TEXT_BYTE(s, i + 1) | TEXT_BYTE(s, i + 2) | TEXT_BYTE(s, i + 3) |           \
     TEXT_BYTE(s, i + 4) | TEXT_BYTE(s, i + 5) | TEXT_BYTE(s, i + 6) | TEXT_BYTE(s, i + 7))

/* Up to 32 characters. `code`: what was found there, SITE_NO_CODE = nothing is said of it. */
#define SITE_NO_CODE UINT64_MAX
_Noreturn void site_code_fail(const WasmCode *c, const uint8_t *at, uint64_t code, uint64_t text,
                              uint64_t text2, uint64_t text3, uint64_t text4);
#define wasm_code_found(c, at, text, code)                                                         \
    (site_code_fail(c, at, code, TEXT_WORD(text, 0), TEXT_WORD(text, 8), TEXT_WORD(text, 16),      \
                    TEXT_WORD(text, 24)),                                                          \
     false)
#define wasm_code_fail(c, at, text) wasm_code_found(c, at, text, SITE_NO_CODE)

#endif
