/* Dense info: counting cells, indices of a cell, and errors about cells. */
#include "tensor/dense_info.h"

#include <inttypes.h>
#include <stdio.h>

bool amped_dense_info_count(amped_dense_info *info) {
  uint64_t bytes = amped_cell_bytes(info->type);
  info->cells = 1;
  bool fits = true;
  for (int m = 0; m < info->order; m++) {
    fits = amped_mul(info->cells, info->dims[m], &info->cells) && fits;
    fits = amped_mul(bytes, info->dims[m], &bytes) && fits;
  }
  return fits && bytes <= INT64_MAX;
}

bool amped_dense_info_is_c(const amped_dense_info *info) {
  bool same = true;
  for (int m = 0; m < info->order; m++)
    same = same && info->layout[m] == m;
  return same;
}

amped_status amped_dense_info_check(const amped_dense_info *info, uint64_t nnz, uint64_t hash,
                                    const char *where) {
  if (!info->has_stats || (info->nnz == nnz && info->hash == hash))
    return AMPED_OK;
  return amped_error(AMPED_BAD_INPUT, where,
                     "its cells were changed after they were written: their hash is %016" PRIx64
                     ", not %016" PRIx64 "; make the file again",
                     hash, info->hash);
}

void amped_dense_index(int order, const uint64_t *dims, const int *layout, uint64_t cell,
                       uint64_t *index) {
  for (int i = order - 1; i >= 0; i--) {
    const int m = layout[i];
    index[m] = cell % dims[m];
    cell /= dims[m];
  }
}

const char *amped_dense_place(int order, const uint64_t *index, char *text) {
  int at = 0;
  for (int m = 0; m < order; m++)
    at += snprintf(text + at, AMPED_DENSE_PLACE - (size_t)at, "%s%" PRIu64, m > 0 ? ", " : "",
                   index[m] + 1);
  return text;
}

amped_status amped_dense_missing(int order, const uint64_t *index, double value,
                                 const char *where) {
  char line[AMPED_DENSE_PLACE];
  return amped_error(
      AMPED_BAD_INPUT, where,
      "the cell at (%s) is %g, which means a missing cell there (_FillValue, missing_value or "
      "valid_range); amped_mpi complete takes the other cells; amped_mpi convert --dense "
      "--nan=zero "
      "makes missing cells 0",
      amped_dense_place(order, index, line), value);
}

amped_status amped_dense_not_finite(int order, const uint64_t *index, double value,
                                    const char *where) {
  char line[AMPED_DENSE_PLACE];
  if (value != value)
    return amped_error(
        AMPED_BAD_INPUT, where,
        "the cell at (%s) is not a number; if it is missing, use amped_mpi complete, "
        "for which cells without a value are unknown; if it is 0, amped_mpi convert --dense "
        "--nan=zero",
        amped_dense_place(order, index, line));
  return amped_error(AMPED_BAD_INPUT, where,
                     "the cell at (%s) is infinite; correct it where the file was made, and write "
                     "NaN if it is missing, for amped_mpi complete; amped_mpi convert --dense "
                     "--nan=zero makes it 0",
                     amped_dense_place(order, index, line));
}
