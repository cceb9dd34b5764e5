/* The metric of a result or checkpoint file: the number that sweeps improve, such as "fit".
 *
 * The attribute "metric" of the root names it. A file without the attribute is older and means
 * "fit". Datasets have the metric's name; only this file knows how. */
#ifndef AMPED_HDF5_METRIC_H
#define AMPED_HDF5_METRIC_H

#include "hdf5/hdf5_file.h"

/* Room for a name: lower-case letters, digits and _, a letter first. */
#define AMPED_METRIC_NAME 32

/* The metric where none is named. */
#define AMPED_METRIC_UNNAMED "fit"

typedef struct amped_hdf5_metric {
  char name[AMPED_METRIC_NAME];
  char group[AMPED_HDF5_NAME]; /* "/NAME": of a completion model, lists of its sets of entries */
  char
      history[AMPED_HDF5_NAME]; /* "/NAME", or in such a group "validate", else "train": [sweeps] */
  char starts[AMPED_HDF5_NAME]; /* "/starts/NAME": [starts], after the last sweep of each */
} amped_hdf5_metric;

/* The names of a metric's datasets. */
amped_hdf5_metric amped_hdf5_metric_of(const char *name);

/* The history is that of a set in the metric's group. */
void amped_hdf5_metric_in_group(amped_hdf5_metric *metric, const char *set);

/* Write the attribute; read it, and find the history. AMPED_BAD_INPUT where it holds no such name.
 */
amped_status amped_hdf5_metric_put(amped_hdf5 *file, const amped_hdf5_metric *metric);
amped_status amped_hdf5_metric_get(amped_hdf5 *file, amped_hdf5_metric *out);

#endif
