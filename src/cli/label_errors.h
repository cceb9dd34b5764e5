/* Label errors: a model's errors at given cells, by label of one mode: which users, months or
 * wavelengths are fitted badly.
 *
 * Add cells, then report: labels by descending rmse, of equal ones by index. Labels without cells
 * are left out. Cells whose index the model does not know are in no label's errors: one line has
 * their number and error. */
#ifndef AMPED_LABEL_ERRORS_H
#define AMPED_LABEL_ERRORS_H

#include "base/facts.h"
#include "cli/prediction_errors.h"
#include "tensor/labels.h"

typedef struct amped_label_errors {
  const amped_labels *labels; /* borrowed from the model */
  int mode;
  uint64_t dim;
  amped_prediction_errors *of;     /* [dim] */
  uint64_t *order;                 /* [found] indices in the order of the report */
  uint64_t found;                  /* labels with cells */
  amped_prediction_errors unknown; /* cells of labels that the model does not know, or that have no
                                      learnt entry */
} amped_label_errors;

/* free accepts a zeroed struct. */
amped_status amped_label_errors_create(const amped_labels *labels, int mode, uint64_t dim,
                                       amped_label_errors *out);
void amped_label_errors_free(amped_label_errors *errors);

/* Sort, after all cells were added to errors->of[index]. */
amped_status amped_label_errors_sort(amped_label_errors *errors);

/* Add the first `most` labels: lines of the label, its cells and its rmse, and the member "by". */
void amped_label_errors_facts(const amped_label_errors *errors, uint64_t most, amped_facts *facts);

/* Write a table of all of them. */
amped_status amped_label_errors_write(const amped_label_errors *errors, const char *path);

#endif
