/*
 * storage/map_cell.h - the elements of maps that are cells (plan/cell.h): where they live in a
 * rewritten program. Part of storage.h.
 *
 * A cell is made when pass 1 reaches a site with a new key. It has a global for each leaf of its
 * value and one for its mark, if some site sets that; or 8 bytes each in the runtime's memory, by
 * ascending keys.
 */
#ifndef WHAMMC_STORAGE_MAP_CELL_H
#define WHAMMC_STORAGE_MAP_CELL_H

#include "plan/plan.h"
#include "report/image.h"

typedef struct MapCell {
    uint32_t map;          /* index into PlanCells.maps */
    uint32_t key;          /* index of its first leaf in MapCells.leaves */
    bool marked;           /* some site sets its mark */
    uint32_t first_sum;    /* number of its first leaf among the leaves and marks of all cells */
    uint32_t rank;         /* by ascending keys of its map */
    uint32_t first_global; /* handle; the mark follows the leaves */
} MapCell;

/* The cells of a map. */
typedef struct CellRow {
    Str key, value;   /* descriptions */
    uint32_t nleaves; /* of a key */
    uint32_t n;
    uint32_t *sorted;  /* indices into MapCells.list, by ascending keys */
    uint32_t row;      /* of the image, if the map is reported */
    uint64_t at, step; /* in memory: address of the first, distance */
} CellRow;

typedef struct MapCells {
    const Plan *plan;
    bool outlined;  /* code that is the same for many of them should become a function */
    bool in_memory; /* rather than in globals */
    Arena arena;
    CellRow *maps; /* by index into PlanCells.maps */
    Vec(MapCell) list;
    uint32_t nsums;
    Map by_key;
    Vec(ImageKeyLeaf) leaves;
    Buf scratch;
} MapCells;

/* No cells at first. Release with cells_free. */
void cells_init(MapCells *c, const Plan *plan);
void cells_free(MapCells *c);

/* Pass 1: makes the cells that a variant uses at a site. Returns the number of new globals. */
uint32_t cells_count(MapCells *c, const Variant *v, const Site *site);

/* Sorts the cells, once all are known. */
void cells_close(MapCells *c);

/* Adds the row of a reported map with number `id`. */
void cells_add_row(MapCells *c, Image *image, uint32_t image_var, uint32_t map, uint32_t id);

/* Bytes in memory of the maps that are not reported. */
uint64_t cells_hidden_size(const MapCells *c);

/* Sets addresses: of cells in the report's values from `values_at` on, of the others from
 * `hidden_at` on. */
void cells_place(MapCells *c, const Image *image, uint64_t values_at, uint64_t hidden_at);
/* Adds globals. */
void cells_add(MapCells *c, WasmModule *m);

/* The cell of key n of a variant at a site; NULL if there is none. `scratch` is for its use. */
const MapCell *cells_find(const MapCells *c, const Variant *v, uint32_t n, const Site *site,
                          Buf *scratch);

/* The address of a cell in memory. */
uint64_t cells_address(const MapCells *c, const MapCell *cell);

#endif
