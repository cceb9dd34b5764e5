/* Metric of a result or checkpoint file: the number that sweeps improve, such as "fit".
 *
 * The root's attribute "metric" names it. A file without the attribute is older, and its metric is
 * "fit". Datasets are named after the metric, as only hdf5_metric.c knows. */
#ifndef AMPED_HDF5_METRIC_H
#define AMPED_HDF5_METRIC_H

#include "hdf5/hdf5_file.h"

/* Bytes for a name: lower-case letters, digits and _; the first is a letter. */
#define AMPED_METRIC_NAME 32

/* Metric of a file that names none. */
#define AMPED_METRIC_UNNAMED "fit"

typedef struct amped_hdf5_metric {
  char name[AMPED_METRIC_NAME];
  char group[AMPED_HDF5_NAME];   /* "/NAME"; a completion model has one list per set of entries in
                                    it */
  char history[AMPED_HDF5_NAME]; /* [sweeps]: "/NAME", or in a completion model's group "validate",
                                    otherwise "train" */
  char starts[AMPED_HDF5_NAME];  /* "/starts/NAME": [starts], each after its last sweep */
} amped_hdf5_metric;

/* Names of a metric's datasets. */
amped_hdf5_metric amped_hdf5_metric_of(const char *name);

/* Set the history to the dataset of `set` in the metric's group. */
void amped_hdf5_metric_in_group(amped_hdf5_metric *metric, const char *set);

/* put writes the attribute. get reads it and finds the history; AMPED_BAD_INPUT if the attribute is
 * no valid name. */
amped_status amped_hdf5_metric_put(amped_hdf5 *file, const amped_hdf5_metric *metric);
amped_status amped_hdf5_metric_get(amped_hdf5 *file, amped_hdf5_metric *out);

#endif
