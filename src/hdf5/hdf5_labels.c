#include "hdf5/hdf5_labels.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "hdf5/hdf5_seal.h"

static const amped_hdf5_type u8 = {AMPED_UNSIGNED, AMPED_U8};
static const amped_hdf5_type u64 = {AMPED_UNSIGNED, AMPED_U64};

static amped_status read_bytes(amped_hdf5_dataset *bytes, amped_labels *out) {
  AMPED_TRY(amped_hdf5_dataset_expect(bytes, u8, bytes->dims[0], 1));
  AMPED_TRY(amped_alloc(&out->bytes, bytes->dims[0], 1, "labels"));
  return amped_hdf5_dataset_read(bytes, u8, 0, bytes->dims[0], out->bytes);
}

static amped_status read_offsets(amped_hdf5_dataset *offsets, uint64_t dim, uint64_t bytes,
                                 amped_labels *out) {
  AMPED_TRY(amped_hdf5_dataset_expect(offsets, u64, dim + 1, 1));
  AMPED_TRY(amped_alloc(&out->offsets, dim + 1, sizeof *out->offsets, "labels"));
  AMPED_TRY(amped_hdf5_dataset_read(offsets, u64, 0, dim + 1, out->offsets));
  bool fine = out->offsets[0] == 0 && out->offsets[dim] == bytes;
  for (uint64_t i = 0; i < dim && fine; i++)
    fine = out->offsets[i] <= out->offsets[i + 1];
  if (!fine)
    return amped_error(AMPED_BAD_INPUT, offsets->file->path,
                       "dataset %s does not ascend from 0 to the end of the labels; make the file "
                       "again",
                       offsets->name);
  return AMPED_OK;
}

static amped_status read_name(amped_hdf5 *file, const char *folder, amped_labels *out) {
  bool exists = false;
  AMPED_TRY(amped_hdf5_has_attribute(file, folder, "name", &exists));
  return exists ? amped_hdf5_get_text(file, folder, "name", &out->name) : AMPED_OK;
}

amped_status amped_hdf5_labels_read(amped_hdf5 *file, int mode, uint64_t dim, amped_labels *out) {
  char folder[AMPED_HDF5_NAME / 2];
  char name[AMPED_HDF5_NAME];
  bool exists = false;
  amped_hdf5_dataset bytes = {.open = false};
  amped_hdf5_dataset offsets = {.open = false};
  amped_status status = AMPED_OK;
  memset(out, 0, sizeof *out);
  (void)snprintf(folder, sizeof folder, "/labels/mode_%d", mode);
  AMPED_TRY(amped_hdf5_exists(file, folder, &exists));
  if (!exists)
    return AMPED_OK;
  (void)snprintf(name, sizeof name, "%s/bytes", folder);
  AMPED_GO(fail, amped_hdf5_dataset_open(file, name, 1, &bytes));
  AMPED_GO(fail, read_bytes(&bytes, out));
  (void)snprintf(name, sizeof name, "%s/offsets", folder);
  AMPED_GO(fail, amped_hdf5_dataset_open(file, name, 1, &offsets));
  AMPED_GO(fail, read_offsets(&offsets, dim, bytes.dims[0], out));
  AMPED_GO(fail, read_name(file, folder, out));
  out->count = dim;
  goto done;
fail:
  amped_labels_free(out);
done:
  amped_hdf5_dataset_close(&bytes);
  amped_hdf5_dataset_close(&offsets);
  return status;
}

amped_status amped_hdf5_labels_sealed(amped_hdf5 *file, int mode, bool *out) {
  char name[AMPED_HDF5_NAME];
  (void)snprintf(name, sizeof name, "/labels/mode_%d/bytes", mode);
  AMPED_TRY(amped_hdf5_is_sealed(file, name, out));
  if (!*out)
    return AMPED_OK;
  (void)snprintf(name, sizeof name, "/labels/mode_%d/offsets", mode);
  return amped_hdf5_is_sealed(file, name, out);
}

static amped_status write_mode(amped_hdf5 *file, int mode, const amped_labels *labels) {
  char folder[AMPED_HDF5_NAME / 2];
  char name[AMPED_HDF5_NAME];
  const uint64_t count = labels->count + 1;
  (void)snprintf(folder, sizeof folder, "/labels/mode_%d", mode);
  AMPED_TRY(amped_hdf5_make_group(file, folder));
  if (labels->name != NULL)
    AMPED_TRY(amped_hdf5_put_text(file, folder, "name", labels->name));
  (void)snprintf(name, sizeof name, "%s/bytes", folder);
  AMPED_TRY(
      amped_hdf5_dataset_write(file, name, u8, 1, &labels->offsets[labels->count], labels->bytes));
  (void)snprintf(name, sizeof name, "%s/offsets", folder);
  return amped_hdf5_dataset_write(file, name, u64, 1, &count, labels->offsets);
}

amped_status amped_hdf5_labels_write(amped_hdf5 *file, int order, const amped_labels *labels) {
  bool group_made = false;
  for (int m = 0; m < order; m++) {
    if (labels[m].count == 0)
      continue;
    if (!group_made)
      AMPED_TRY(amped_hdf5_make_group(file, "/labels"));
    group_made = true;
    AMPED_TRY(write_mode(file, m, &labels[m]));
  }
  return AMPED_OK;
}
