/* Result verification: reads the datasets of a result or checkpoint, to compare content hashes. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "formats/completion_file.h"
#include "hdf5/hdf5_labels.h"
#include "hdf5/hdf5_probe.h"
#include "hdf5/hdf5_seal.h"
#include "formats/result_file.h"

/* Read a dataset in slabs, as elements of 8 bytes: a slab has the size of AMPED's chunks. */
static amped_status read_slabs(amped_hdf5_dataset *d, void *buffer) {
  const amped_hdf5_type type = {d->type.number,
                                d->type.number == AMPED_FLOAT ? AMPED_F64 : d->type.bytes};
  const uint64_t slab = amped_hdf5_slab_rows(d->dims[1]);
  for (uint64_t first = 0; first < d->dims[0]; first += slab) {
    uint64_t rows = d->dims[0] - first < slab ? d->dims[0] - first : slab;
    AMPED_TRY(amped_hdf5_dataset_read(d, type, first, rows, buffer));
  }
  return AMPED_OK;
}

/* Read a dataset whole, if it exists. *sealed becomes false if it has no content hash. */
static amped_status verify_dataset(amped_hdf5 *file, const char *name, int ndims, bool *sealed) {
  amped_hdf5_dataset d;
  void *buffer = NULL;
  bool exists = false;
  amped_status status = AMPED_OK;
  AMPED_TRY(amped_hdf5_exists(file, name, &exists));
  if (!exists)
    return AMPED_OK;
  AMPED_TRY(amped_hdf5_dataset_open(file, name, ndims, &d));
  const uint64_t slab = amped_hdf5_slab_rows(d.dims[1]);
  const uint64_t rows = d.dims[0] < slab ? d.dims[0] : slab;
  AMPED_GO(done, amped_alloc(&buffer, rows * d.dims[1], 8, "a slab of a dataset"));
  status = read_slabs(&d, buffer);
  *sealed = *sealed && d.seal.on;
done:
  amped_free(buffer);
  amped_hdf5_dataset_close(&d);
  return status;
}

static amped_status verify_labels(amped_hdf5 *file, int mode, uint64_t dim, bool *sealed) {
  amped_labels labels;
  bool all = false;
  AMPED_TRY(amped_hdf5_labels_edges(file, mode, dim, &labels));
  amped_labels_free(&labels);
  AMPED_TRY(amped_hdf5_labels_sealed(file, mode, &all));
  *sealed = *sealed && all;
  return AMPED_OK;
}

/* Read the additional datasets of a completion model. Their values are checked only when the model
 * is used. */
static amped_status verify_completion(amped_hdf5 *file, const amped_hdf5_metric *metric,
                                      bool *sealed) {
  char name[AMPED_HDF5_NAME];
  for (int s = 0; s < AMPED_COMPLETION_SETS; s++) {
    (void)snprintf(name, sizeof name, "/%s/%s", metric->name, amped_completion_set_names[s]);
    AMPED_TRY(verify_dataset(file, name, 1, sealed));
  }
  for (int m = 0; m < AMPED_MAX_ORDER; m++) {
    (void)snprintf(name, sizeof name, "/bias/%d", m);
    AMPED_TRY(verify_dataset(file, name, 1, sealed));
    (void)snprintf(name, sizeof name, "/observed/%d", m);
    AMPED_TRY(verify_dataset(file, name, 1, sealed));
    (void)snprintf(name, sizeof name, "/gap_rmse/%d", m);
    AMPED_TRY(verify_dataset(file, name, 1, sealed));
  }
  return verify_dataset(file, "/lengths", 2, sealed);
}

/* Read the additional datasets of a checkpoint: factors that the run kept, and its numbers. */
static amped_status verify_checkpoint(amped_hdf5 *file, bool *sealed) {
  char name[AMPED_HDF5_NAME];
  for (int m = 0; m < AMPED_MAX_ORDER; m++) {
    (void)snprintf(name, sizeof name, "/kept/%d", m);
    AMPED_TRY(verify_dataset(file, name, 2, sealed));
  }
  return verify_dataset(file, "/numbers", 1, sealed);
}

static amped_status verify_factor(amped_hdf5 *file, int mode, bool *exists, bool *sealed) {
  char name[AMPED_HDF5_NAME];
  amped_hdf5_dataset d;
  (void)snprintf(name, sizeof name, "/factors/%d", mode);
  AMPED_TRY(amped_hdf5_exists(file, name, exists));
  if (!*exists)
    return AMPED_OK;
  AMPED_TRY(verify_dataset(file, name, 2, sealed));
  AMPED_TRY(amped_hdf5_dataset_open(file, name, 2, &d));
  const uint64_t dim = d.dims[0];
  amped_hdf5_dataset_close(&d);
  return verify_labels(file, mode, dim, sealed);
}

static amped_status verify_all(amped_hdf5 *file, bool *sealed) {
  static const char *const lists[] = {"/weights", "/starts/seed", "/starts/normal",
                                      "/starts/sweeps"};
  static const char *const matrices[] = {"/starts/match", "/grams"};
  amped_hdf5_metric metric;
  bool exists = true, completion = false;
  for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
    AMPED_TRY(verify_dataset(file, lists[i], 1, sealed));
  for (size_t i = 0; i < sizeof matrices / sizeof matrices[0]; i++)
    AMPED_TRY(verify_dataset(file, matrices[i], 2, sealed));
  AMPED_TRY(amped_hdf5_metric_get(file, &metric));
  AMPED_TRY(amped_completion_is(file, &completion));
  AMPED_TRY(completion ? verify_completion(file, &metric, sealed)
                       : verify_dataset(file, metric.history, 1, sealed));
  AMPED_TRY(verify_dataset(file, metric.starts, 1, sealed));
  AMPED_TRY(verify_checkpoint(file, sealed));
  for (int m = 0; exists && m < AMPED_MAX_ORDER; m++)
    AMPED_TRY(verify_factor(file, m, &exists, sealed));
  return AMPED_OK;
}

amped_status amped_result_file_verify(const char *path, bool *sealed) {
  amped_hdf5 file;
  *sealed = true;
  amped_status status = amped_hdf5_open(path, &file);
  if (status == AMPED_OK)
    status = verify_all(&file, sealed);
  amped_hdf5_close(&file);
  return status;
}
