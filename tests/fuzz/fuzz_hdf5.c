/* HDF5 files: our tensors, dense ones, lists of other programs, results, checkpoints. The target
 * reads each as info --verify, convert, top, --init and --resume do. The probe's child meets the
 * files that crash HDF5 itself.
 *
 * HDF5's checksums of metadata would refuse nearly every mutation. Here they always match, as in
 * files of an attacker, who can compute checksums. */
#include <math.h>
#include <sys/resource.h>

#include "session/checkpoint_file.h"
#include "tests/fuzz/fuzz_file.h"
#include "base/log.h"
#include "formats/dense_file.h"
#include "formats/result_file.h"
#include "formats/tensor_file.h"

/* Replaces the library's function. Where a release of HDF5 has no such function, or does not let it
 * be replaced, checksums count as usual. */
int H5F_get_checksums(const uint8_t *buffer, size_t bytes, uint32_t *stored, uint32_t *computed);
int H5F_get_checksums(const uint8_t *buffer, size_t bytes, uint32_t *stored, uint32_t *computed) {
  (void)buffer;
  (void)bytes;
  if (stored != NULL)
    *stored = 1;
  if (computed != NULL)
    *computed = 1;
  return 0;
}

/* The most memory of this process, whatever the files claim. */
#define MOST_BYTES (UINT64_C(3) << 30)

static void confine(void) {
#ifndef __SANITIZE_ADDRESS__ /* AddressSanitizer reserves all addresses */
  (void)setrlimit(RLIMIT_AS, &(struct rlimit){MOST_BYTES, MOST_BYTES});
#endif
  amped_log_verbosity(AMPED_QUIET);
}

static void check_model(const amped_ktensor *k) {
  fuzz_require(k->order >= AMPED_MIN_ORDER && k->order <= AMPED_MAX_ORDER);
  fuzz_require(k->ncomps >= 1 && k->ncomps <= AMPED_MAX_NCOMPS);
  for (int m = 0; m < k->order; m++)
    for (uint64_t i = 0; i < k->dims[m] * (uint64_t)k->ncomps; i++)
      fuzz_require(isfinite(k->factors[m][i]));
}

static amped_status read_result(const char *path) {
  amped_ktensor k;
  char text[64];
  amped_result_metric metric;
  double corcondia = 0.0;
  AMPED_TRY(amped_result_file_metric(path, true, &metric));
  for (uint64_t i = 0; i < metric.sweeps.count; i++)
    fuzz_require(isfinite(metric.sweeps.values[i]));
  amped_result_metric_free(&metric);
  AMPED_TRY(amped_result_file_number(path, "corcondia", &corcondia));
  AMPED_TRY(amped_result_file_text(path, "options", text, sizeof text));
  AMPED_TRY(amped_result_file_read(path, &k));
  check_model(&k);
  amped_ktensor_free(&k);
  return AMPED_OK;
}

/* The key is the corpus's key: tests/fuzz/make-hdf5. */
static amped_status read_checkpoint(const char *path) {
  const amped_checkpoint_key key = {.order = 3,
                                    .dims = {5, 4, 3},
                                    .nnz = 12,
                                    .hash = UINT64_C(0x71b4f19294b14a28),
                                    .ncomps = 2,
                                    .precision = AMPED_F32,
                                    .seed = 1,
                                    .init = "random",
                                    .metric = "fit",
                                    .has_grams = true};
  amped_ktensor k;
  amped_solver_state state;
  amped_generation generation = AMPED_GENERATION_NONE;
  AMPED_TRY(amped_checkpoint_file_read(path, &key, &k, &state, &generation));
  check_model(&k);
  for (uint64_t i = 0; i < state.sweeps; i++)
    fuzz_require(isfinite(state.history[i]));
  amped_ktensor_free(&k);
  amped_solver_state_free(&state);
  return AMPED_OK;
}

static amped_status read_tensor(const char *path) {
  amped_tensor_file *file = NULL;
  amped_sptensor t;
  amped_status status = amped_tensor_file_open(path, &file);
  if (status == AMPED_OK)
    status = amped_tensor_file_verify(file);
  amped_tensor_file_close(file);
  AMPED_TRY(status);
  AMPED_TRY(amped_tensor_file_load(path, false, NULL, &t));
  fuzz_require(amped_sptensor_validate(&t, path) == AMPED_OK);
  amped_sptensor_free(&t);
  return AMPED_OK;
}

static amped_status read_dense(const char *path) {
  amped_dense_file *file = NULL;
  const uint64_t first[AMPED_MAX_ORDER] = {0};
  AMPED_TRY(amped_dense_file_open(path, NULL, &file));
  const amped_dense_info *info = amped_dense_file_info(file);
  fuzz_require(info->order >= AMPED_MIN_ORDER && info->order <= AMPED_MAX_ORDER);
  void *cells = malloc(info->cells * amped_cell_bytes(info->type));
  amped_status status = AMPED_OK;
  if (cells != NULL) /* what the file claims need not fit */
    status = amped_dense_file_read(file, first, info->dims, cells);
  free(cells);
  amped_dense_file_close(file);
  return status;
}

/* A tensor of either form. */
static amped_status read_any(const char *path) {
  bool is_dense = false;
  AMPED_TRY(amped_dense_file_is(path, NULL, &is_dense));
  return is_dense ? read_dense(path) : read_tensor(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  static bool confined;
  const char *path = fuzz_file(bytes, count);
  bool is_result = false;
  if (!confined)
    confine();
  confined = true;
  amped_status status = amped_result_file_is(path, &is_result);
  if (status == AMPED_OK && is_result)
    status = fuzz_variant(bytes, count, 2) == 0 ? read_result(path) : read_checkpoint(path);
  else if (status == AMPED_OK)
    status = read_any(path);
  if (status != AMPED_OK)
    fuzz_check_line(status, path);
  fuzz_require(amped_mem_live() == 0);
  return 0;
}
