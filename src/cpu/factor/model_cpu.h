/* The model's value at a nonzero, as a double-double, on CPU cores. */
#ifndef AMPED_MODEL_CPU_H
#define AMPED_MODEL_CPU_H

#include "backend/backend.h"

typedef struct amped_cpu_model {
  amped_vtype value_type; /* type of the rows */
  int ncomps;
  const double *weights; /* [ncomps] */
} amped_cpu_model;

/* Sum over components r of weights[r] times element r of each of `count` rows, multiplied in the
 * order of rows. */
typedef amped_dd amped_cpu_model_value(const amped_cpu_model *p, const void *const *rows,
                                       int count);

/* Find the best instance for this processor. */
amped_cpu_model_value *amped_cpu_model_find(void);

#endif
