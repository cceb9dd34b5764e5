/* Checkpoint files: the state of solvers with and without grams, under a metric of any name. */
#include "session/checkpoint_file.h"
#include "tests/lib/testing_hdf5.h"

#define N 2

static const uint64_t dims[] = {3, 2, 4};

static amped_checkpoint_key a_key(const char *metric, bool has_grams) {
  return (amped_checkpoint_key){.order = 3,
                                .dims = {3, 2, 4},
                                .nnz = 5,
                                .hash = 6,
                                .ncomps = N,
                                .precision = AMPED_F64,
                                .seed = 7,
                                .init = "random",
                                .metric = metric,
                                .has_grams = has_grams};
}

/* The state after two sweeps; gram m holds 10 m, 10 m + 1, ... */
static void make_state(amped_solver_state *state, const amped_checkpoint_key *key) {
  check_ok(amped_solver_state_create(state, 3, N, 2, key->has_grams));
  state->metric = key->metric;
  memcpy(state->history, (double[]){4.5, 2.5}, 2 * sizeof(double));
  memcpy(state->weights, (double[]){3.0, 1.0}, N * sizeof(double));
  for (int m = 0; key->has_grams && m < 3; m++)
    for (int i = 0; i < N * N; i++)
      state->grams[m][i] = 10.0 * m + i;
  if (!key->keeps_second)
    return;
  state->number_count = 3;
  check_ok(amped_alloc(&state->numbers, 3, sizeof(double), "numbers"));
  memcpy(state->numbers, (double[]){0.5, -1.0, 1e300}, 3 * sizeof(double));
}

/* The factors of the best sweep: entry i of mode m is m + i / 8. */
static void make_kept(amped_ktensor *kept) {
  check_ok(amped_ktensor_create(kept, 3, dims, N));
  for (int m = 0; m < 3; m++)
    for (uint64_t i = 0; i < dims[m] * N; i++)
      kept->factors[m][i] = m + (double)i / 8.0;
}

static void check_same(const amped_solver_state *a, const amped_solver_state *b) {
  ck_assert(a->order == b->order && a->ncomps == b->ncomps && a->sweeps == b->sweeps);
  ck_assert_str_eq(a->metric, b->metric);
  ck_assert_mem_eq(a->history, b->history, a->sweeps * sizeof *a->history);
  ck_assert_mem_eq(a->weights, b->weights, N * sizeof *a->weights);
  ck_assert_uint_eq(a->number_count, b->number_count);
  if (a->number_count > 0)
    ck_assert_mem_eq(a->numbers, b->numbers, a->number_count * sizeof *a->numbers);
  for (int m = 0; m < 3; m++) {
    ck_assert((a->grams[m] == NULL) == (b->grams[m] == NULL));
    if (a->grams[m] != NULL)
      ck_assert_mem_eq(a->grams[m], b->grams[m], N * N * sizeof *a->grams[m]);
  }
}

static void write_checkpoint(const char *path, const amped_checkpoint_key *key) {
  amped_ktensor k;
  amped_solver_state state, copy;
  check_ok(amped_ktensor_create(&k, 3, dims, N));
  make_state(&state, key);
  check_ok(amped_solver_state_copy(&copy, &state));
  check_same(&state, &copy);
  if (key->keeps_second)
    make_kept(&copy.kept);
  check_ok(amped_checkpoint_file_write(path, true, key, &k, &copy));
  amped_solver_state_free(&copy);
  amped_solver_state_free(&state);
  amped_ktensor_free(&k);
}

static amped_status read_checkpoint(const char *path, const amped_checkpoint_key *key) {
  amped_ktensor k;
  amped_solver_state want, state;
  amped_generation generation = AMPED_GENERATION_NONE;
  AMPED_TRY(amped_checkpoint_file_read(path, key, &k, &state, &generation));
  ck_assert_int_eq(generation, AMPED_GENERATION_LATEST);
  make_state(&want, key);
  check_same(&want, &state);
  ck_assert(key->keeps_second == (state.kept.order > 0));
  if (key->keeps_second)
    make_kept(&want.kept);
  for (int m = 0; m < want.kept.order; m++)
    ck_assert_mem_eq(want.kept.factors[m], state.kept.factors[m], dims[m] * N * sizeof(double));
  amped_solver_state_free(&want);
  amped_solver_state_free(&state);
  amped_ktensor_free(&k);
  return AMPED_OK;
}

static bool has_grams(const char *path) {
  hid_t file = h5(H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT));
  bool there = H5Lexists(file, "/grams", H5P_DEFAULT) > 0;
  h5(H5Fclose(file));
  return there;
}

START_TEST(a_state_survives_with_grams_and_without) {
  const char *path = testing_path("state.h5");
  for (int i = 0; i < 2; i++) {
    const amped_checkpoint_key key = a_key(i == 0 ? "fit" : "rmse", i == 0);
    write_checkpoint(path, &key);
    ck_assert(has_grams(path) == key.has_grams);
    check_ok(read_checkpoint(path, &key));
  }
  (void)remove(path);
  check_no_leak();
}

START_TEST(a_checkpoint_of_another_solver_is_refused) {
  const amped_checkpoint_key fit = a_key("fit", true);
  const amped_checkpoint_key rmse = a_key("rmse", false);
  const char *path = testing_path("other.h5");
  write_checkpoint(path, &fit);
  check_fails(AMPED_BAD_INPUT, "metric fit, not rmse", read_checkpoint(path, &rmse));
  write_checkpoint(path, &rmse);
  check_fails(AMPED_BAD_INPUT, "metric rmse, not fit", read_checkpoint(path, &fit));
  (void)remove(path);
  check_no_leak();
}

/* Files of earlier builds name no metric. A file that has lost its grams is damaged. */
START_TEST(a_file_without_a_name_is_of_the_fit) {
  const amped_checkpoint_key key = a_key("fit", true);
  const char *path = testing_path("old.h5");
  write_checkpoint(path, &key);
  hid_t file = testing_h5_modify(path);
  testing_h5_remove_attribute(file, "/", "metric");
  h5(H5Fclose(file));
  check_ok(read_checkpoint(path, &key));
  file = testing_h5_modify(path);
  testing_h5_remove(file, "/grams");
  h5(H5Fclose(file));
  check_fails(AMPED_BAD_INPUT, "/grams", read_checkpoint(path, &key));
  (void)remove(path);
  check_no_leak();
}

START_TEST(the_best_sweep_is_kept_beside_the_last) {
  const char *path = testing_path("best.h5");
  amped_checkpoint_key key = a_key("rmse", false);
  key.has_numbers = key.keeps_second = true;
  for (int bytes = 4; bytes <= 8; bytes += 4) {
    key.precision = (amped_vtype)bytes;
    write_checkpoint(path, &key);
    check_ok(read_checkpoint(path, &key));
  }
  hid_t file = testing_h5_modify(path);
  testing_h5_remove(file, "/kept/1");
  h5(H5Fclose(file));
  check_fails(AMPED_BAD_INPUT, "/kept/1", read_checkpoint(path, &key));
  (void)remove(path);
  check_no_leak();
}

START_TEST(it_goes_on_accelerated_as_it_began) {
  const char *path = testing_path("steps.h5");
  amped_checkpoint_key key = a_key("fit", true);
  write_checkpoint(path, &key);
  key.accelerate = "momentum";
  key.has_numbers = key.keeps_second = true;
  check_fails(AMPED_BAD_INPUT, "--accelerate=none", read_checkpoint(path, &key));
  write_checkpoint(path, &key);
  check_ok(read_checkpoint(path, &key));
  key.accelerate = "linesearch";
  check_fails(AMPED_BAD_INPUT, "--accelerate=momentum", read_checkpoint(path, &key));
  key.accelerate = NULL;
  key.has_numbers = key.keeps_second = false;
  check_fails(AMPED_BAD_INPUT, "--accelerate=momentum", read_checkpoint(path, &key));
  (void)remove(path);
  check_no_leak();
}

TESTING_MAIN("checkpoint_file", it_goes_on_accelerated_as_it_began,
             the_best_sweep_is_kept_beside_the_last, a_state_survives_with_grams_and_without,
             a_checkpoint_of_another_solver_is_refused, a_file_without_a_name_is_of_the_fit)
