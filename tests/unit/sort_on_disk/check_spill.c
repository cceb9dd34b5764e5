/* Sorting on disk compared with sorting in memory; stats of pieces compared with stats of the
 * whole. */
#include "tensor/stream_stats.h"
#include "tensor/partition.h"
#include "base/random.h"
#include "sort_on_disk/spill.h"
#include "tests/lib/testing.h"

#define NNZ 20000

/* Few distinct coordinates, so that equal coordinates fill whole windows; the values differ. */
static void make_tensor(amped_sptensor *t, int order, uint64_t nnz, uint64_t spread) {
  check_ok(amped_sptensor_create(t, order, nnz));
  for (int m = 0; m < order; m++) {
    t->dims[m] = spread << (9 * m);
    for (uint64_t k = 0; k < nnz; k++)
      t->indices[m][k] = amped_random_u64(3, (uint64_t)m, k) % spread << (9 * m);
  }
  for (uint64_t k = 0; k < nnz; k++)
    t->values[k] = (double)k + (k > nnz / 2 ? 0.1 : 0.0);
}

/* Nonzeros first .. first+n of t as a tensor of its own. */
static void cut(const amped_sptensor *t, uint64_t first, uint64_t n, amped_sptensor *out) {
  check_ok(amped_sptensor_create(out, t->order, n));
  for (int m = 0; m < t->order; m++) {
    out->dims[m] = t->dims[m];
    memcpy(out->indices[m], t->indices[m] + first, n * sizeof(uint64_t));
  }
  memcpy(out->values, t->values + first, n * sizeof(double));
}

static bool same_nonzero(const amped_sptensor *a, uint64_t i, const amped_sptensor *b, uint64_t j) {
  bool same = a->values[i] == b->values[j];
  for (int m = 0; m < a->order; m++)
    same = same && a->indices[m][i] == b->indices[m][j];
  return same;
}

/* A sink that compares the pieces with the expected nonzeros, and leaves the last nonzero over
 * where it may. */
typedef struct checker {
  const amped_sptensor *expected;
  uint64_t done;
  uint64_t pieces;
  bool carries;
} checker;

static amped_status check_piece(void *context, amped_sptensor *t, bool last) {
  checker *c = context;
  uint64_t n = t->nnz - (c->carries && !last ? 1 : 0);
  for (uint64_t k = 0; k < n; k++)
    ck_assert_msg(same_nonzero(t, k, c->expected, c->done + k), "nonzero %" PRIu64 " differs",
                  c->done + k);
  c->done += n;
  c->pieces++;
  for (int m = 0; m < t->order; m++)
    t->indices[m][0] = t->indices[m][t->nnz - 1];
  t->values[0] = t->values[t->nnz - 1];
  t->nnz -= n;
  return AMPED_OK;
}

/* Fragments of different sizes of t, each sorted for `mode`, merged by `modes`. */
static void check_merge(const amped_sptensor *t, int mode, const int *modes, int nmodes,
                        uint64_t memory, bool carries) {
  amped_sptensor expected, fragment;
  amped_spill *s = NULL;
  cut(t, 0, t->nnz, &expected);
  check_ok(amped_sptensor_sort(&expected, mode));
  check_ok(amped_spill_create(".", t->order, &s));
  for (uint64_t first = 0, n = 0; first < t->nnz; first += n) {
    n = 700 + first % 1000;
    n = n < t->nnz - first ? n : t->nnz - first;
    cut(t, first, n, &fragment);
    check_ok(amped_sptensor_sort(&fragment, mode));
    check_ok(amped_spill_add(s, &fragment));
    amped_sptensor_free(&fragment);
  }
  ck_assert_uint_eq(amped_spill_nnz(s), t->nnz);
  checker c = {.expected = &expected, .carries = carries};
  check_ok(amped_spill_merge(s, modes, nmodes, memory, check_piece, &c));
  ck_assert_uint_eq(c.done, t->nnz);
  ck_assert(memory > (1 << 24) || c.pieces > 3);
  amped_spill_free(s);
  amped_sptensor_free(&expected);
}

START_TEST(merged_fragments_are_the_sorted_whole) {
  static const uint64_t spreads[] = {1, 3, 200};
  static const int all[] = {0, 1, 2, 3, 4};
  for (int order = AMPED_MIN_ORDER; order <= 5; order++)
    for (size_t i = 0; i < sizeof spreads / sizeof spreads[0]; i++) {
      amped_sptensor t;
      make_tensor(&t, order, NNZ, spreads[i]);
      for (int carries = 0; carries < 2; carries++) {
        check_merge(&t, 0, all, order, 300000, carries != 0);
        check_merge(&t, 0, all, order, UINT64_C(1) << 25, carries != 0);
      }
      /* As for the copies: fragments of a sequence sorted by mode 0, merged by one mode alone. */
      check_ok(amped_sptensor_sort(&t, 0));
      for (int mode = 1; mode < order; mode++)
        check_merge(&t, mode, &mode, 1, 300000, false);
      amped_sptensor_free(&t);
    }
  check_no_leak();
}

START_TEST(any_range_reads_back) {
  amped_sptensor t, fragment, back;
  amped_spill *s = NULL;
  make_tensor(&t, 4, NNZ, 500);
  check_ok(amped_spill_create(".", 4, &s));
  for (uint64_t first = 0; first < NNZ; first += 2500) {
    cut(&t, first, 2500, &fragment);
    check_ok(amped_spill_add(s, &fragment));
    amped_sptensor_free(&fragment);
  }
  check_ok(amped_sptensor_create(&back, 4, NNZ));
  for (uint64_t first = 0; first < NNZ; first += 1777)
    for (uint64_t n = 1; n <= NNZ - first; n = 3 * n + 1) {
      check_ok(amped_spill_read(s, first, n, &back));
      ck_assert_uint_eq(back.nnz, n);
      for (uint64_t k = 0; k < n; k++)
        ck_assert(same_nonzero(&back, k, &t, first + k));
    }
  amped_spill_free(s);
  amped_sptensor_free(&back);
  amped_sptensor_free(&t);
  check_no_leak();
}

START_TEST(the_largest_indices_survive) {
  amped_sptensor t, back;
  amped_spill *s = NULL;
  check_ok(amped_sptensor_create(&t, 3, 2));
  check_ok(amped_sptensor_create(&back, 3, 2));
  for (int m = 0; m < 3; m++) {
    t.indices[m][0] = 0;
    t.indices[m][1] = m == 0 ? AMPED_MAX_DIM - 1 : m == 1 ? 65535 : 65536;
  }
  t.values[0] = -0.0;
  t.values[1] = 1e300;
  check_ok(amped_spill_create(".", 3, &s));
  check_ok(amped_spill_add(s, &t));
  check_ok(amped_spill_read(s, 0, 2, &back));
  ck_assert_mem_eq(back.values, t.values, 16);
  for (int m = 0; m < 3; m++)
    ck_assert_mem_eq(back.indices[m], t.indices[m], 16);
  amped_spill_free(s);
  amped_sptensor_free(&back);
  amped_sptensor_free(&t);
  check_no_leak();
}

START_TEST(what_cannot_be_done_is_refused) {
  amped_sptensor t;
  amped_spill *s = NULL;
  const int mode = 0;
  checker c = {.expected = &t};
  check_fails(AMPED_FAILED, "--temporary", amped_spill_create("no/such/folder", 3, &s));
  make_tensor(&t, 3, 10, 5);
  check_ok(amped_sptensor_sort(&t, 0));
  check_ok(amped_spill_create(".", 3, &s));
  for (int i = 0; i < 50; i++)
    check_ok(amped_spill_add(s, &t));
  check_fails(AMPED_USAGE, "--memory",
              amped_spill_merge(s, &mode, 1, amped_spill_merge_memory(3, 50) - 1, check_piece, &c));
  for (int k = 0; k < 10; k++) {
    amped_mem_fail_at(k);
    amped_status status = amped_spill_merge(s, &mode, 1, 400000, check_piece, &c);
    amped_mem_fail_at(-1);
    ck_assert_int_eq(status, AMPED_FAILED);
    amped_status_clear();
  }
  amped_spill_free(s);
  amped_sptensor_free(&t);
  check_no_leak();
}

/* spread 1: one coordinate in many sections of the norm's sum; 1000: hardly any repeated
 * coordinate. */
START_TEST(pieces_measure_as_the_whole_does) {
  const uint64_t nnz = 3 * AMPED_NORM_SECTION + 777;
  for (uint64_t spread = 1; spread <= 1000; spread *= 10) {
    amped_sptensor t, piece;
    amped_stream_stats m;
    amped_tensor_info info = {.order = 3};
    amped_dictionary d;
    make_tensor(&t, 3, nnz, spread);
    for (uint64_t k = 0; k < nnz; k++)
      t.values[k] = spread < 1000 ? (double)(k % 100) : 0.1 * (double)k;
    check_ok(amped_sptensor_sort(&t, 0));
    check_ok(amped_stream_stats_begin(&m));
    for (uint64_t first = 0, n = 0; first < nnz; first += n) {
      n = 1 + first / 2 < nnz - first ? 1 + first / 2 : nnz - first;
      cut(&t, first, n, &piece);
      amped_stream_stats_add(&m, &piece);
      amped_sptensor_free(&piece);
    }
    check_ok(amped_stream_stats_end(&m, &info));
    check_ok(amped_dictionary_find(&d, t.values, nnz));
    ck_assert_uint_eq(info.nnz, nnz);
    ck_assert_uint_eq(info.hash, amped_sptensor_hash(&t));
    ck_assert(info.norm_squared == amped_sptensor_norm_squared(&t));
    ck_assert_int_eq(info.value_type, amped_sptensor_fits_float(&t) ? AMPED_F32 : AMPED_F64);
    ck_assert_uint_eq(info.dictionary.count, d.count);
    if (d.count > 0)
      ck_assert_mem_eq(info.dictionary.values, d.values, d.count * sizeof(double));
    amped_dictionary_free(&d);
    amped_dictionary_free(&info.dictionary);
    amped_sptensor_free(&t);
  }
  check_no_leak();
}

START_TEST(partitions_counted_in_pieces_are_the_same) {
  amped_sptensor t;
  amped_partition whole, pieces;
  amped_partition_count c;
  make_tensor(&t, 3, NNZ, 300);
  check_ok(amped_sptensor_sort(&t, 1));
  const uint64_t *rows = t.indices[1];
  check_ok(amped_partition_create(&whole, t.dims[1], rows, NNZ));
  check_ok(amped_partition_begin(&c, &pieces, t.dims[1]));
  for (uint64_t first = 0; first < NNZ; first += 123)
    amped_partition_append(&c, rows + first, AMPED_U64, NNZ - first < 123 ? NNZ - first : 123);
  ck_assert_uint_eq(c.rows, 300);
  ck_assert_uint_eq(whole.idp_count, pieces.idp_count);
  ck_assert_mem_eq(whole.idp_nnz, pieces.idp_nnz, whole.idp_count * sizeof(uint64_t));
  amped_partition_free(&whole);
  amped_partition_free(&pieces);
  amped_sptensor_free(&t);
  check_no_leak();
}

TESTING_MAIN("spill", merged_fragments_are_the_sorted_whole, any_range_reads_back,
             the_largest_indices_survive, what_cannot_be_done_is_refused,
             pieces_measure_as_the_whole_does, partitions_counted_in_pieces_are_the_same)
