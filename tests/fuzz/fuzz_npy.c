/* Files of numpy: headers of all versions, types and orders; and their cells, read whole and slice
 * by slice. */
#include "tests/fuzz/fuzz_file.h"
#include "text/io_npy.h"

/* The slices of the mode whose index changes slowest follow one another in memory. */
static void check_slices(amped_npy *file, const amped_dense_info *info, const char *cells) {
  const int slowest = info->layout[0];
  const uint64_t bytes = info->cells / info->dims[slowest] * amped_cell_bytes(info->type);
  uint64_t first[AMPED_MAX_ORDER] = {0};
  uint64_t count[AMPED_MAX_ORDER];
  char *slice = malloc(bytes);
  fuzz_require(slice != NULL);
  memcpy(count, info->dims, sizeof count);
  count[slowest] = 1;
  for (uint64_t i = 0; i < info->dims[slowest]; i++) {
    first[slowest] = i;
    fuzz_require(amped_npy_read(file, first, count, slice) == AMPED_OK);
    fuzz_require(memcmp(slice, cells + i * bytes, bytes) == 0);
  }
  free(slice);
}

static void check_cells(amped_npy *file) {
  const amped_dense_info *info = amped_npy_info(file);
  const uint64_t first[AMPED_MAX_ORDER] = {0};
  fuzz_require(info->order >= AMPED_MIN_ORDER && info->order <= AMPED_MAX_ORDER);
  fuzz_require(info->cells > 0);
  char *cells = malloc(info->cells * amped_cell_bytes(info->type));
  fuzz_require(cells != NULL);
  fuzz_require(amped_npy_read(file, first, info->dims, cells) == AMPED_OK);
  fuzz_require(amped_cells_not_finite(cells, info->type, info->cells) <= info->cells);
  check_slices(file, info, cells);
  free(cells);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  const char *path = fuzz_file(bytes, count);
  amped_npy *file = NULL;
  const amped_status status = amped_npy_open(path, &file);
  if (status == AMPED_OK)
    check_cells(file);
  else
    fuzz_check_line(status, path);
  amped_npy_close(file);
  fuzz_require(amped_mem_live() == 0);
  return 0;
}
