/*
 * valid/op_table.h - the instruction table as bytes, for the decoder in the runtime of monitors.
 */
#ifndef WHAMMC_VALID_OP_TABLE_H
#define WHAMMC_VALID_OP_TABLE_H

#include "base/buf.h"

/* Appends the table, in the form that stdlib/runtime/site/site.h describes; nothing in it depends on
 * where it is. */
void wasm_op_table(Buf *out);

#endif
