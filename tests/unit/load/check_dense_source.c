/* Dense sources: ranges of slabs of files of both kinds are the cells that an index gives. */
#include "load/dense_source.h"
#include "load/dense_list.h"
#include "load/dense_output.h"
#include "tests/lib/testing_dense.h"

static void write_file(const char *path, const amped_dense_info *info, const void *cells) {
  amped_dense_output *o = NULL;
  check_ok(amped_dense_output_create(path, info, &o));
  check_ok(amped_dense_output_append(o, info->cells / 3, cells));
  check_ok(amped_dense_output_append(o, info->cells - info->cells / 3,
                                     (const char *)cells +
                                         info->cells / 3 * amped_cell_bytes(info->type)));
  check_ok(amped_dense_output_publish(o));
}

/* A .npy file in Fortran's order: numpy's own dims reversed, which C's order of the others is. */
static void write_fortran(const char *path, const amped_dense_info *info, const void *cells) {
  char text[256];
  int n = snprintf(text, sizeof text, "{'descr': '<f8', 'fortran_order': True, 'shape': (");
  for (int m = 0; m < info->order; m++)
    n += snprintf(text + n, sizeof text - (size_t)n, "%" PRIu64 ",", info->dims[m]);
  n += snprintf(text + n, sizeof text - (size_t)n, ")}");
  FILE *file = fopen(path, "w");
  ck_assert_ptr_nonnull(file);
  ck_assert_uint_eq(fwrite("\x93NUMPY\x01", 1, 8, file), 8);
  ck_assert_int_eq(fputc(n, file), n);
  ck_assert_int_eq(fputc(0, file), 0);
  ck_assert_uint_eq(fwrite(text, 1, (size_t)n, file), (size_t)n);
  ck_assert_uint_eq(fwrite(cells, 8, info->cells, file), info->cells);
  ck_assert_int_eq(fclose(file), 0);
}

/* Cell number `cell` of the slab, by its index in the whole tensor. */
static double slab_cell(const amped_dense_info *info, int mode, uint64_t from, uint64_t count,
                        uint64_t cell) {
  uint64_t dims[AMPED_MAX_ORDER], index[AMPED_MAX_ORDER];
  memcpy(dims, info->dims, sizeof dims);
  dims[mode] = count;
  amped_dense_index(info->order, dims, info->layout, cell, index);
  index[mode] += from;
  return testing_cell(info->type, testing_cell_at(info, index));
}

static void check_ranges(amped_dense_source *s, const amped_dense_info *info, uint64_t lots) {
  double *cells = malloc(info->cells * 8);
  ck_assert_ptr_nonnull(cells);
  for (uint64_t lot = 0; lot < lots; lot++) {
    const int mode = (int)(lot % (uint64_t)info->order);
    const uint64_t from = amped_random_u64(1, lot, 0) % info->dims[mode];
    const uint64_t count = 1 + amped_random_u64(1, lot, 1) % (info->dims[mode] - from);
    const uint64_t all = info->cells / info->dims[mode] * count;
    const uint64_t first = lot % 3 == 0 ? 0 : amped_random_u64(1, lot, 2) % all;
    const uint64_t n = lot % 5 == 0 ? all - first : amped_random_u64(1, lot, 3) % (all - first + 1);
    check_ok(amped_dense_source_read(s, mode, from, count, first, n, cells));
    for (uint64_t i = 0; i < n; i++) {
      double found = 0.0;
      amped_cells_get(cells, info->type, i, 1, &found);
      ck_assert(found == slab_cell(info, mode, from, count, first + i));
    }
  }
  free(cells);
}

static void check_kinds(int order, const uint64_t *dims) {
  amped_dense_info info = testing_dense_info(AMPED_CELL_F64, order, dims);
  const char *paths[3] = {testing_path("a.h5"), testing_path("b.npy"), testing_path("c.npy")};
  void *cells = testing_cells(&info);
  write_file(paths[0], &info, cells);
  write_file(paths[1], &info, cells);
  write_fortran(paths[2], &info, cells);
  free(cells);
  for (int k = 0; k < 3; k++) {
    amped_dense_source *s = NULL;
    bool is = false;
    check_ok(amped_dense_source_is(paths[k], NULL, &is));
    ck_assert(is);
    check_ok(amped_dense_source_open(paths[k], NULL, &s));
    for (int m = 0; m < order; m++) {
      info.layout[m] = k == 2 ? order - 1 - m : m;
      ck_assert_int_eq(amped_dense_source_info(s)->layout[m], info.layout[m]);
    }
    check_ranges(s, &info, 300);
    amped_dense_source_close(s);
    (void)remove(paths[k]);
  }
}

START_TEST(ranges_of_slabs_are_the_cells_of_their_indices) {
  static const uint64_t shapes[][6] = {
      {5, 6, 7}, {1, 13, 2}, {3, 1, 4, 5}, {2, 3, 2, 3, 5}, {2, 1, 3, 2, 2, 3}};
  static const int orders[] = {3, 3, 4, 5, 6};
  for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++)
    check_kinds(orders[i], shapes[i]);
  check_no_leak();
}

/* Each cell in turn is bad; the message has its index, from 1, for every slab that holds it. */
START_TEST(the_first_cell_that_is_not_finite_is_named) {
  const uint64_t dims[3] = {3, 4, 5};
  const char *path = testing_path("nan.npy");
  const amped_dense_info info = testing_dense_info(AMPED_CELL_F64, 3, dims);
  double *cells = testing_cells(&info);
  double read[60];
  for (uint64_t bad = 0; bad < 60; bad += 7) {
    char expected[64];
    amped_dense_source *s = NULL;
    const double kept = cells[bad];
    cells[bad] = bad % 2 == 0 ? (double)NAN : (double)INFINITY;
    write_fortran(path, &info, cells); /* indices are read the other way round */
    (void)snprintf(expected, sizeof expected, "the cell at (%d, %d, %d) is %s", (int)(bad % 3 + 1),
                   (int)(bad / 3 % 4 + 1), (int)(bad / 12 + 1),
                   bad % 2 == 0 ? "not a number" : "infinite");
    check_ok(amped_dense_source_open(path, NULL, &s));
    check_fails(AMPED_BAD_INPUT, expected, amped_dense_source_read(s, 0, 0, 3, 0, 60, read));
    check_fails(AMPED_BAD_INPUT, expected,
                amped_dense_source_read(s, 2, bad / 12, 1, 1 - (bad % 12 == 0), 11, read));
    amped_dense_source_close(s);
    cells[bad] = kept;
  }
  free(cells);
  (void)remove(path);
  check_no_leak();
}

START_TEST(a_dataset_needs_a_dense_hdf5_file) {
  const uint64_t dims[3] = {3, 4, 5};
  const char *path = testing_path("d.npy");
  const char *text = testing_path("d.tns");
  amped_dense_info info = testing_dense_info(AMPED_CELL_F64, 3, dims);
  amped_dense_source *s = NULL;
  bool is = false;
  void *cells = testing_cells(&info);
  write_file(path, &info, cells);
  free(cells);
  check_fails(AMPED_USAGE, "--dataset=x needs", amped_dense_source_is(path, "x", &is));
  check_fails(AMPED_USAGE, "--dataset=x needs", amped_dense_source_open(path, "x", &s));
  ck_assert_ptr_null(s);
  (void)remove(path);
  testing_write_file(text, "1 1 1 2\n", 8);
  check_ok(amped_dense_source_is(text, NULL, &is));
  ck_assert(!is);
  check_fails(AMPED_USAGE, "--dataset=x needs", amped_dense_source_is(text, "x", &is));
  check_fails(AMPED_BAD_INPUT, "not an HDF5 file", amped_dense_source_open(text, NULL, &s));
  ck_assert_ptr_null(s);
  (void)remove(text);
  check_no_leak();
}

/* The whole tensor in C's order, in ranges by lot. */
static void check_c_order(amped_dense_source *s, const amped_dense_info *info) {
  uint64_t index[AMPED_MAX_ORDER];
  static const int layout[AMPED_MAX_ORDER] = {0, 1, 2, 3, 4, 5, 6, 7};
  double *cells = malloc(info->cells * 8);
  ck_assert_ptr_nonnull(cells);
  for (uint64_t lot = 0; lot < 100; lot++) {
    const uint64_t first = amped_random_u64(2, lot, 0) % info->cells;
    const uint64_t n = amped_random_u64(2, lot, 1) % (info->cells - first + 1);
    check_ok(amped_dense_source_read_c(s, first, n, cells));
    for (uint64_t i = 0; i < n; i++) {
      amped_dense_index(info->order, info->dims, layout, first + i, index);
      ck_assert(cells[i] == testing_cell(info->type, testing_cell_at(info, index)));
    }
  }
  free(cells);
}

/* Nonzeros that go to a sink. */
typedef struct sink {
  const amped_dense_info *info;
  uint64_t nnz, taken;
} sink;

static void check_nonzeros(sink *s, const amped_sptensor *t) {
  for (uint64_t k = 0; k < t->nnz; k++) {
    uint64_t index[AMPED_MAX_ORDER];
    for (int m = 0; m < t->order; m++)
      index[m] = t->indices[m][k];
    ck_assert(t->values[k] != 0.0);
    ck_assert(t->values[k] == testing_cell(s->info->type, testing_cell_at(s->info, index)));
  }
  s->nnz += t->nnz;
}

static amped_status take(void *context, amped_sptensor *t, double fraction) {
  sink *s = context;
  ck_assert(fraction > 0.0 && fraction <= 1.0);
  check_nonzeros(s, t);
  s->taken++;
  t->nnz = 0;
  return AMPED_OK;
}

/* As a list, with room for all nonzeros and for few. Cells are read in order, so that so many
 * different ones are all. */
static void check_list(amped_dense_source *s, const amped_dense_info *info) {
  uint64_t nnz = 0;
  for (uint64_t i = 0; i < info->cells; i++)
    nnz += testing_cell(info->type, i) != 0.0;
  for (uint64_t memory = 1; memory < UINT64_MAX / 2000; memory *= 1000) {
    amped_sptensor t;
    sink all = {.info = info};
    const amped_overflow overflow = {.memory = memory, .take = take, .context = &all};
    amped_dense_counts counts;
    check_ok(amped_dense_list_read(s, &overflow, &t, &counts));
    check_nonzeros(&all, &t);
    ck_assert_uint_eq(all.nnz, nnz);
    ck_assert_uint_eq(counts.zeros, info->cells - nnz);
    ck_assert_uint_eq(counts.missing, 0);
    ck_assert(memory > 1 || all.taken == nnz - 1);
    for (int m = 0; m < info->order; m++)
      ck_assert_uint_eq(t.dims[m], info->dims[m]);
    amped_sptensor_free(&t);
  }
}

START_TEST(lists_and_other_orders_have_the_same_cells) {
  const uint64_t dims[4] = {5, 1, 7, 6};
  const char *paths[2] = {testing_path("l.npy"), testing_path("m.npy")};
  amped_dense_info info = testing_dense_info(AMPED_CELL_F64, 4, dims);
  void *cells = testing_cells(&info);
  write_file(paths[0], &info, cells);
  write_fortran(paths[1], &info, cells);
  free(cells);
  for (int k = 0; k < 2; k++) {
    amped_dense_source *s = NULL;
    for (int m = 0; m < 4; m++)
      info.layout[m] = k == 1 ? 3 - m : m;
    check_ok(amped_dense_source_open(paths[k], NULL, &s));
    check_c_order(s, &info);
    check_list(s, &info);
    amped_dense_source_close(s);
    (void)remove(paths[k]);
  }
  check_no_leak();
}

START_TEST(cells_that_are_not_finite_become_zeros_where_that_is_asked_for) {
  const uint64_t dims[3] = {3, 4, 5};
  const char *path = testing_path("zero.npy");
  const amped_dense_info info = testing_dense_info(AMPED_CELL_F64, 3, dims);
  amped_dense_source *s = NULL;
  double *cells = testing_cells(&info);
  double read[60];
  cells[0] = cells[1] = (double)NAN;
  cells[30] = -(double)INFINITY;
  cells[59] = (double)NAN;
  write_fortran(path, &info, cells);
  check_ok(amped_dense_source_open(path, NULL, &s));
  amped_dense_source_set_missing(s, AMPED_MISSING_ZERO);
  check_ok(amped_dense_source_read(s, 0, 0, 3, 0, 60, read));
  ck_assert_uint_eq(amped_dense_source_zeroed(s), 4);
  for (int i = 0; i < 60; i++)
    ck_assert(read[i] == (isfinite(cells[i]) ? cells[i] : 0.0));
  amped_dense_source_close(s);
  free(cells);
  (void)remove(path);
  check_no_leak();
}

START_TEST(observed_cells_are_listed_with_their_zeros) {
  const uint64_t dims[3] = {3, 4, 5};
  const char *path = testing_path("missing.npy");
  const amped_dense_info info = testing_dense_info(AMPED_CELL_F64, 3, dims);
  amped_dense_source *s = NULL;
  double *cells = testing_cells(&info);
  amped_sptensor t;
  for (int i = 0; i < 60; i++)
    cells[i] = i % 3 == 0 ? (double)NAN : i % 3 == 1 ? 0.0 : (double)i;
  for (int infinite = 0; infinite < 2; infinite++) {
    amped_dense_counts counts;
    cells[59] = infinite ? (double)INFINITY : 59.0;
    write_fortran(path, &info, cells);
    if (!infinite) {
      check_ok(amped_dense_source_open(path, NULL, &s));
      amped_dense_source_set_missing(s, AMPED_MISSING_KEEP);
      check_ok(amped_dense_list_read(s, NULL, &t, &counts));
      ck_assert_uint_eq(counts.zeros, 20);
      ck_assert_uint_eq(counts.missing, 20);
      ck_assert_uint_eq(t.nnz, 40);
      for (uint64_t k = 0; k < t.nnz; k++) {
        const uint64_t i = (t.indices[2][k] * 4 + t.indices[1][k]) * 3 + t.indices[0][k];
        ck_assert(t.values[k] == cells[i]);
      }
      amped_dense_source_close(s);
      amped_sptensor_free(&t);
    }
    const amped_status status = amped_dense_list_load(path, NULL, NULL, NULL, &t);
    ck_assert_int_eq(status, infinite ? AMPED_BAD_INPUT : AMPED_OK);
    amped_status_clear();
    ck_assert_uint_eq(t.nnz, infinite ? 0 : 40);
    amped_sptensor_free(&t);
  }
  free(cells);
  (void)remove(path);
  check_no_leak();
}

TESTING_MAIN("dense_source", ranges_of_slabs_are_the_cells_of_their_indices,
             the_first_cell_that_is_not_finite_is_named, a_dataset_needs_a_dense_hdf5_file,
             lists_and_other_orders_have_the_same_cells,
             cells_that_are_not_finite_become_zeros_where_that_is_asked_for,
             observed_cells_are_listed_with_their_zeros)
