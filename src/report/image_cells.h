/*
 * report/image_cells.h - maps whose keys are known, in images. Private to report/.
 */
#ifndef WHAMMC_REPORT_IMAGE_CELLS_H
#define WHAMMC_REPORT_IMAGE_CELLS_H

#include "report/image.h"

/* A copy in the arena, but for the texts of keys. */
const ImageCells *cells_copy(Arena *arena, const ImageCells *cells);

/* Bytes in the value area. */
uint64_t cells_bytes(const ImageCells *cells);

/* Appends the part of a row after its text in an image (stdlib/runtime/format.h). */
void cells_put(const ImageCells *cells, ImageFormat format, Buf *out);

#endif
