/* Cell filter: cells of a tensor, looked up by their indices in some of the modes.
 *
 * A lookup gives the cells that agree with a cell in all key modes, ordered by their index in one
 * further mode, `of`. Cells are distinct in these modes. Host memory; not collective. */
#ifndef AMPED_CELL_FILTER_H
#define AMPED_CELL_FILTER_H

#include "tensor/sptensor.h"

typedef struct amped_cell_filter {
  int nkeys;
  int keys[AMPED_MAX_ORDER]; /* key modes */
  uint64_t count;
  uint64_t *columns[AMPED_MAX_ORDER]; /* [count] indices of keys[i]; owned */
  uint64_t *of;                       /* [count] indices of mode `of`; owned */
} amped_cell_filter;

/* Take the cells of t: the filter takes its arrays of indices, whose order changes. is_key:
 * [order], false for `of`. free accepts a zeroed or freed filter. */
amped_status amped_cell_filter_create(amped_sptensor *t, const bool *is_key, int of,
                                      amped_cell_filter *out);
void amped_cell_filter_free(amped_cell_filter *filter);

/* Find the cells that agree with cell i of these indices ([order][]) in all key modes. They are
 * *first .. first + the result. AMPED_PREDICTOR_COLD is an index like any other: a filter should
 * have no cell with it. */
uint64_t amped_cell_filter_find(const amped_cell_filter *filter, uint64_t *const *indices,
                                uint64_t i, uint64_t *first);

#endif
