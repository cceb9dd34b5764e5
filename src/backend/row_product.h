/* Row product: rows of a factor times the same rows of the output, entry by entry: the update of a
 * model of counts (backend/ratio.h). The operation `multiply` of amped_factor_ops. */
#ifndef AMPED_ROW_PRODUCT_H
#define AMPED_ROW_PRODUCT_H

#include "base/types.h"

/* Entry a of column r, with t = by[r] * (the same entry of the output), becomes a t. If a is below
 * least[r] and t is above 1, it becomes raised[r] instead: the entry went to 0 too early. All
 * arrays are [ncomps], in host memory. */
typedef struct amped_row_product {
  const double *by;
  const double *least;  /* NULL: no entry is raised */
  const double *raised; /* needed if least is not NULL */
  const double *weight; /* factor of column r's entries in `violation` */
  bool measures;        /* leave the rows unchanged; sums are about the old ones */
} amped_row_product;

/* Sums over the rows; the caller has set the start values. */
typedef struct amped_row_product_sums {
  double *sums;     /* [ncomps] += the new entries of each column */
  double *squares;  /* [ncomps] += their squares */
  double violation; /* raised to the largest |min(weight a, 1 - t)| of the old entries: 0 at the
                       optimum (Karush, Kuhn, Tucker) */
  uint64_t raised;  /* += number of raised entries */
} amped_row_product_sums;

/* Returns the new entry of column r, before it is rounded. Adds to *violation and *raised. */
AMPED_BOTH static inline double amped_row_product_entry(const amped_row_product *p, uint64_t r,
                                                        double entry, double output,
                                                        double *violation, uint64_t *raised) {
  const double t = p->by[r] * output;
  const double slack = 1.0 - t;
  const double size = p->weight[r] * entry;
  const double off = slack < size ? slack : size;
  const double wrong = off < 0.0 ? -off : off;
  *violation = wrong > *violation ? wrong : *violation;
  if (p->least != NULL && entry < p->least[r] && t > 1.0) {
    *raised += 1;
    return p->raised[r];
  }
  return entry > 0.0 ? entry * t : 0.0; /* t of an entry 0 may be infinite */
}

#endif
