/* State file: rows, labels, held-out entries and batches come back after any number of batches; a
 * stream that is killed at any write leaves the state of the batch before or after; damage and
 * hostile bytes are refused; and so is a second stream. */
#include "state/state_file.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <math.h>
#include <omp.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/log.h"
#include "base/random.h"
#include "state/state_base.h"
#include "state/state_journal.h"
#include "tests/lib/testing_hdf5.h"
#include "tests/lib/testing_hostile.h"

/* --- calls that end the process, or fail ------------------------------------------------------ */

static long fault_at = -1; /* the call that does so, from 0 */
static bool fault_fails;   /* it fails, as a full disk's; else the process ends there */
static long calls;

/* Before a call that changes a file; `half` is how the process may leave it. */
static bool meets_fault(void) {
  if (calls++ != fault_at)
    return false;
  if (fault_fails)
    errno = ENOSPC;
  return true;
}

ssize_t pwrite(int fd, const void *bytes, size_t count, off_t at) {
  if (meets_fault()) {
    (void)syscall(SYS_pwrite64, fd, bytes, count / 2, at);
    if (!fault_fails)
      _exit(77);
    errno = ENOSPC;
    return -1;
  }
  return syscall(SYS_pwrite64, fd, bytes, count, at);
}

#define AMPED_FAULTY(name, parameters, call)                                                       \
  int name parameters {                                                                            \
    if (meets_fault()) {                                                                           \
      if (!fault_fails)                                                                            \
        _exit(77);                                                                                 \
      return -1;                                                                                   \
    }                                                                                              \
    return (int)(call);                                                                            \
  }
AMPED_FAULTY(fsync, (int fd), syscall(SYS_fsync, fd))
AMPED_FAULTY(ftruncate, (int fd, off_t length), syscall(SYS_ftruncate, fd, length))
AMPED_FAULTY(rename, (const char *from, const char *to), syscall(SYS_rename, from, to))
AMPED_FAULTY(renameat, (int a, const char *from, int b, const char *to),
             syscall(SYS_renameat2, a, from, b, to, 0))
AMPED_FAULTY(unlink, (const char *path), syscall(SYS_unlink, path))

/* --- a stream whose state is known ------------------------------------------------------------ */

#define ORDER 3
#define LABELLED 1

/* What is under test. */
typedef struct world {
  amped_vtype type;
  int ncomps;
  amped_history history;
  uint64_t history_length;
  uint64_t size; /* rows of mode 0 at first */
} world;

static const world small = {AMPED_F32, 3, AMPED_HISTORY_EQUATIONS, 14, 5};
/* Its journal soon is longer than its STATE. */
static const world large = {AMPED_F64, 40, AMPED_HISTORY_EQUATIONS, 60, 40};

/* With sums. */
static const world model = {AMPED_F32, 3, AMPED_HISTORY_MODEL, 1, 5};

static uint64_t mix(uint64_t a, uint64_t b, uint64_t c, uint64_t d) {
  return amped_mix64(amped_mix64(amped_mix64(amped_mix64(a) ^ b) ^ c) ^ d);
}

/* Of mode after batch b; every fourth batch grows nothing. */
static uint64_t dim_of(const world *w, int mode, uint64_t b) {
  const uint64_t m = (uint64_t)mode;
  return b == 0 ? 0 : w->size + m + (b - b / 4) * (m + 1);
}

static bool touches(const world *w, int mode, uint64_t row, uint64_t b) {
  return row < dim_of(w, mode, b) &&
         (row >= dim_of(w, mode, b - 1) || mix(b, (uint64_t)mode, row, 7) % 3 == 0);
}

static uint64_t last_touch(const world *w, int mode, uint64_t row, uint64_t b) {
  while (!touches(w, mode, row, b))
    b--;
  return b;
}

/* Number k of a row's factor (part 0) or history (part 1), as batch b left it. */
static double number(int mode, uint64_t row, uint64_t b, uint64_t part, uint64_t k) {
  return (double)(mix(b, (uint64_t)mode + 10 * part, row, k) % 100000) / 64.0 - 700.0;
}

static void fill_rows(const world *w, int mode, uint64_t row, uint64_t b, uint64_t at, void *factor,
                      void *history, uint64_t *touched) {
  const uint64_t n = (uint64_t)w->ncomps;
  for (uint64_t k = 0; k < n; k++)
    amped_value_put(factor, w->type, at * n + k, number(mode, row, b, 0, k));
  for (uint64_t k = 0; k < w->history_length; k++)
    amped_value_put(history, w->type, at * w->history_length + k, number(mode, row, b, 1, k));
  touched[at] = b;
}

static amped_state_head head_of(const world *w, uint64_t b) {
  amped_state_head h;
  memset(&h, 0, sizeof h);
  h.order = ORDER;
  h.ncomps = w->ncomps;
  h.type = w->type;
  h.history = w->history;
  h.history_length = w->history_length;
  h.biased = h.zero_based = true;
  h.mean = 3.5;
  h.scale = 1.25;
  h.reg = 0.1;
  h.reg_power = 0.5;
  h.duplicates = AMPED_DUPLICATES_MEAN;
  h.reg_bias = 3.0;
  h.forget = 0.9;
  h.least = -INFINITY;
  h.most = INFINITY;
  h.seed = 11;
  h.split_seed = 13;
  h.holdout = 0.05;
  h.keep = 10;
  h.growing = (int)(b % 4) - 1;
  h.squares = w->history == AMPED_HISTORY_MODEL ? NAN : 2.5 * (double)b; /* NAN: of version 1 */
  h.sample = w->history == AMPED_HISTORY_EQUATIONS ? 7 : 0;              /* 0: of version 2 */
  h.weighted = h.sample > 0;
  for (int m = 0; m < ORDER; m++) {
    h.dims[m] = dim_of(w, m, b);
    h.first[m] = dim_of(w, m, 1);
    h.prior[m] = m == 2 ? 1.0 : 0.0;
    h.pull[m] = m == 2 ? 10.0 : 1.0;
  }
  for (int e = 0; e < AMPED_STATE_ERRORS; e++)
    h.errors[e] = (amped_state_errors){10 * b + (uint64_t)e, (double)b + 0.25, (double)b, 0.5};
  return h;
}

static uint64_t nnz_of(uint64_t b) {
  return 100 + b;
}

/* Labels of rows first .. end of a mode. */
static void make_labels(uint64_t first, uint64_t end, amped_labels *out) {
  char text[32];
  memset(out, 0, sizeof *out);
  if (first == end)
    return;
  check_ok(amped_strdup(&out->name, "words"));
  check_ok(amped_alloc(&out->bytes, 24 * (end - first), 1, "labels"));
  check_ok(amped_calloc(&out->offsets, end - first + 1, sizeof *out->offsets, "labels"));
  for (uint64_t i = first; i < end; i++) {
    const int n = snprintf(text, sizeof text, "label %" PRIu64, i * i);
    memcpy(out->bytes + out->offsets[out->count], text, (size_t)n);
    out->offsets[out->count + 1] = out->offsets[out->count] + (uint64_t)n;
    out->count++;
  }
}

/* Entries of a batch for a list: one of them is of a cell that the batch before had, too. */
static void make_entries(const world *w, uint64_t b, uint64_t list, amped_sptensor *t) {
  check_ok(amped_sptensor_create(t, ORDER, 4));
  for (uint64_t i = 0; i < t->nnz; i++) {
    for (int m = 0; m < ORDER; m++)
      t->indices[m][i] =
          mix(i == 0 ? b / 2 : b, (uint64_t)m, i, 3 + list) % dim_of(w, m, i == 0 ? 1 : b);
    t->values[i] = (double)(b * 10 + i);
  }
}

static const char *name_of_batch(uint64_t b) {
  static char name[64];
  (void)snprintf(name, sizeof name, "batch %" PRIu64 ".csv", b);
  return name;
}

/* Room for all rows of a mode. */
typedef struct rows {
  uint64_t *indices, *touched;
  void *factor, *history;
} rows;

static rows make_rows(const world *w, uint64_t count) {
  rows r;
  check_ok(amped_alloc(&r.indices, count, 8, "rows"));
  check_ok(amped_alloc(&r.touched, count, 8, "rows"));
  check_ok(amped_calloc(&r.factor, count * (uint64_t)w->ncomps, 8, "rows"));
  check_ok(amped_calloc(&r.history, count * w->history_length, 8, "rows"));
  return r;
}

/* A mode's sums, as batch b left them; none where the world has none. */
static double *make_sums(const world *w, int mode, uint64_t b) {
  const uint64_t n = w->history == AMPED_HISTORY_MODEL ? (uint64_t)w->ncomps + 1 : 0;
  double *sums = NULL;
  check_ok(amped_alloc(&sums, n * n, sizeof *sums, "sums"));
  for (uint64_t k = 0; k < n * n; k++)
    sums[k] = number(mode, 0, b, 2, k);
  return sums;
}

static void free_rows(rows *r) {
  amped_free(r->indices);
  amped_free(r->touched);
  amped_free(r->factor);
  amped_free(r->history);
}

/* Learn batch b; returns the first failure. */
static amped_status learn(const world *w, amped_state_file *file, uint64_t b) {
  const amped_state_head head = head_of(w, b);
  amped_labels added[ORDER];
  amped_sptensor entries[AMPED_STATE_LISTS];
  amped_status status = AMPED_OK;
  for (int m = 0; m < ORDER && status == AMPED_OK; m++) {
    rows r = make_rows(w, dim_of(w, m, b));
    uint64_t n = 0;
    for (uint64_t i = dim_of(w, m, b); i-- > 0;) { /* a new state's rows ascend, others need not */
      const uint64_t row = b == 1 ? dim_of(w, m, b) - 1 - i : i;
      if (!touches(w, m, row, b))
        continue;
      r.indices[n] = row;
      fill_rows(w, m, row, b, n++, r.factor, r.history, r.touched);
    }
    status = amped_state_file_put(file, m, n, r.indices, r.factor, r.history, r.touched);
    free_rows(&r);
  }
  memset(added, 0, sizeof added);
  make_labels(dim_of(w, LABELLED, b - 1), dim_of(w, LABELLED, b), &added[LABELLED]);
  for (uint64_t l = 0; l < AMPED_STATE_LISTS; l++)
    make_entries(w, b, l, &entries[l]);
  double *sums[ORDER];
  for (int m = 0; m < ORDER; m++)
    sums[m] = make_sums(w, m, b);
  const amped_state_change change = {.head = &head,
                                     .added = added,
                                     .entries = {&entries[0], head.sample > 0 ? &entries[1] : NULL},
                                     .batch = {name_of_batch(b), mix(b, 1, 2, 3), nnz_of(b)},
                                     .sums = sums[0] != NULL ? (const double *const *)sums : NULL};
  if (status == AMPED_OK)
    status = amped_state_file_commit(file, &change);
  amped_labels_free(&added[LABELLED]);
  for (uint64_t l = 0; l < AMPED_STATE_LISTS; l++)
    amped_sptensor_free(&entries[l]);
  for (int m = 0; m < ORDER; m++)
    amped_free(sums[m]);
  return status;
}

static void check_sums(const world *w, amped_state_file *file, uint64_t b) {
  const uint64_t width = amped_state_sums_width(amped_state_file_head(file));
  ck_assert_uint_eq(width, w->history == AMPED_HISTORY_MODEL ? (uint64_t)w->ncomps + 1 : 0);
  for (int m = 0; m < ORDER && width > 0; m++) {
    double *expected = make_sums(w, m, b);
    double *found = make_sums(w, m, b + 1);
    check_ok(amped_state_file_sums(file, m, found));
    ck_assert_mem_eq(found, expected, width * width * sizeof *found);
    amped_free(expected);
    amped_free(found);
  }
}

static void check_rows(const world *w, amped_state_file *file, uint64_t b) {
  for (int m = 0; m < ORDER; m++) {
    const uint64_t dim = dim_of(w, m, b);
    rows found = make_rows(w, dim);
    rows expected = make_rows(w, dim);
    const uint64_t half = dim / 2;
    const uint64_t size = (uint64_t)w->type;
    for (uint64_t i = 0; i < dim; i++)
      fill_rows(w, m, i, last_touch(w, m, i, b), i, expected.factor, expected.history,
                expected.touched);
    /* In two pieces, and once more in one. */
    check_ok(amped_state_file_read(file, m, 0, half, found.factor, found.history, found.touched));
    check_ok(amped_state_file_read(
        file, m, half, dim - half,
        (unsigned char *)found.factor + half * (uint64_t)w->ncomps * size,
        (unsigned char *)found.history + half * w->history_length * size, found.touched + half));
    ck_assert_mem_eq(found.factor, expected.factor, dim * (uint64_t)w->ncomps * size);
    if (w->history_length > 0)
      ck_assert_mem_eq(found.history, expected.history, dim * w->history_length * size);
    ck_assert_mem_eq(found.touched, expected.touched, dim * 8);
    check_ok(amped_state_file_read(file, m, 0, dim, NULL, NULL, found.touched));
    ck_assert_mem_eq(found.touched, expected.touched, dim * 8);
    free_rows(&found);
    free_rows(&expected);
  }
}

static void check_labels(const world *w, amped_state_file *file, uint64_t b) {
  for (int m = 0; m < ORDER; m++) {
    amped_labels found;
    amped_labels expected;
    make_labels(0, m == LABELLED ? dim_of(w, m, b) : 0, &expected);
    check_ok(amped_state_file_labels(file, m, &found));
    ck_assert_uint_eq(found.count, expected.count);
    if (m == LABELLED) {
      ck_assert_str_eq(found.name, "words");
      ck_assert_mem_eq(found.offsets, expected.offsets, (found.count + 1) * 8);
      ck_assert_mem_eq(found.bytes, expected.bytes, found.offsets[found.count]);
    }
    amped_labels_free(&found);
    amped_labels_free(&expected);
  }
}

static void check_entries(const world *w, amped_state_file *file, amped_state_list list,
                          uint64_t b) {
  const amped_state_head head = head_of(w, b);
  const uint64_t most = amped_state_list_most(&head, list);
  amped_sptensor expected = {.order = ORDER};
  amped_sptensor found;
  for (uint64_t i = 1; i <= b && most > 0; i++) {
    amped_sptensor more;
    make_entries(w, i, list, &more);
    check_ok(amped_entry_sample_add(&expected, &more, head.split_seed, most));
    amped_sptensor_free(&more);
  }
  check_ok(amped_state_file_entries(file, list, &found));
  ck_assert_uint_eq(found.nnz, expected.nnz);
  for (int m = 0; m < ORDER; m++) {
    ck_assert_uint_eq(found.dims[m], dim_of(w, m, b));
    ck_assert(found.nnz == 0 || memcmp(found.indices[m], expected.indices[m], found.nnz * 8) == 0);
  }
  ck_assert(found.nnz == 0 || memcmp(found.values, expected.values, found.nnz * 8) == 0);
  amped_sptensor_free(&found);
  amped_sptensor_free(&expected);
}

static void check_lists(const world *w, amped_state_file *file, uint64_t b) {
  const char *name = NULL;
  for (uint64_t i = 1; i <= b; i++) {
    const amped_state_batch batch = amped_state_file_batch(file, i);
    ck_assert_str_eq(batch.name, name_of_batch(i));
    ck_assert_uint_eq(batch.nnz, nnz_of(i));
    ck_assert_uint_eq(amped_state_file_find(file, batch.hash, &name), i);
    ck_assert_str_eq(name, name_of_batch(i));
  }
  ck_assert_uint_eq(amped_state_file_find(file, 12345, &name), 0);
  ck_assert_ptr_null(name);
  check_entries(w, file, AMPED_STATE_HELD_OUT, b);
  check_entries(w, file, AMPED_STATE_SAMPLE, b);
}

/* Is it the state after batch b? */
static void check_world(const world *w, amped_state_file *file, uint64_t b) {
  amped_state_head expected = head_of(w, b);
  uint64_t words[AMPED_STATE_WORDS];
  uint64_t found[AMPED_STATE_WORDS];
  expected.batches = b;
  for (uint64_t i = 1; i <= b; i++)
    expected.nnz += nnz_of(i);
  amped_state_head_pack(&expected, words);
  amped_state_head_pack(amped_state_file_head(file), found);
  ck_assert_mem_eq(found, words, sizeof words);
  check_rows(w, file, b);
  check_sums(w, file, b);
  check_labels(w, file, b);
  check_lists(w, file, b);
}

/* --- files ------------------------------------------------------------------------------------ */

static char path[256];
static const char *const suffixes[] = {"",      ".prev",        ".journal", ".journal.prev",
                                       ".lock", ".journal.lock"};
#define FILES (sizeof suffixes / sizeof suffixes[0])

static const char *file_name(size_t i) {
  static char names[FILES][300];
  (void)snprintf(names[i], sizeof names[i], "%s%s", path, suffixes[i]);
  return names[i];
}

static void remove_all(void) {
  for (size_t i = 0; i < FILES; i++)
    (void)syscall(SYS_unlink, file_name(i));
}

static void begin_files(void) {
  amped_log_verbosity(AMPED_QUIET);
  (void)snprintf(path, sizeof path, "%s", testing_path("state.h5"));
  remove_all();
}

/* The bytes of all files, to be put back. */
typedef struct copies {
  unsigned char *bytes[FILES];
  size_t counts[FILES];
} copies;

static copies take_copies(void) {
  copies c;
  memset(&c, 0, sizeof c);
  for (size_t i = 0; i < 4; i++)
    if (access(file_name(i), F_OK) == 0)
      c.bytes[i] = testing_bytes(file_name(i), &c.counts[i]);
  return c;
}

static void put_copies(const copies *c) {
  remove_all();
  for (size_t i = 0; i < FILES; i++)
    if (c->bytes[i] != NULL)
      testing_write_file(file_name(i), c->bytes[i], c->counts[i]);
}

static void free_copies(copies *c) {
  for (size_t i = 0; i < FILES; i++)
    free(c->bytes[i]);
}

/* Batches first .. last, in one stream. */
static amped_status stream(const world *w, uint64_t first, uint64_t last) {
  const amped_state_head head = head_of(w, 1);
  amped_state_file *file = NULL;
  amped_status status = first == 1 ? amped_state_file_create(path, &head, &file)
                                   : amped_state_file_open(path, true, &file);
  for (uint64_t b = first; b <= last && status == AMPED_OK; b++)
    status = learn(w, file, b);
  amped_state_file_close(file);
  return status;
}

/* The number of batches of the state on disk, which is whole. */
static uint64_t check_disk(const world *w, bool writes) {
  amped_state_file *file = NULL;
  check_ok(amped_state_file_open(path, writes, &file));
  const uint64_t b = amped_state_file_head(file)->batches;
  check_world(w, file, b);
  amped_state_file_close(file);
  return b;
}

/* --- cases ------------------------------------------------------------------------------------ */

START_TEST(states_of_all_kinds_come_back) {
  static const struct {
    amped_history history;
    uint64_t length;
  } histories[] = {
      {AMPED_HISTORY_EQUATIONS, 14}, {AMPED_HISTORY_MODEL, 1}, {AMPED_HISTORY_PUBLISHED, 0}};
  for (size_t h = 0; h < 3; h++)
    for (int type = AMPED_F32; type <= AMPED_F64; type += 4) {
      const world w = {(amped_vtype)type, 3, histories[h].history, histories[h].length, 5};
      begin_files();
      check_ok(stream(&w, 1, 1));
      ck_assert_uint_eq(check_disk(&w, false), 1);
      for (uint64_t b = 2; b <= 9; b++) { /* a stream of each batch alone */
        check_ok(stream(&w, b, b));
        ck_assert_uint_eq(check_disk(&w, false), b);
      }
      remove_all();
    }
  check_no_leak();
}
END_TEST

START_TEST(batches_are_seen_at_once) {
  amped_state_file *file = NULL;
  begin_files();
  check_ok(stream(&small, 1, 1));
  check_ok(amped_state_file_open(path, true, &file));
  for (uint64_t b = 2; b <= 20; b++) {
    check_ok(learn(&small, file, b));
    check_world(&small, file, b);
  }
  amped_state_file_close(file);
  ck_assert_uint_eq(check_disk(&small, true), 20);
  remove_all();
  check_no_leak();
}
END_TEST

START_TEST(a_long_journal_becomes_a_new_state) {
  uint64_t state = 0;
  uint64_t journal = 0;
  uint64_t before = 0;
  int compacted = 0;
  amped_state_file *file = NULL;
  begin_files();
  check_ok(stream(&large, 1, 1));
  check_ok(amped_state_file_open(path, true, &file));
  for (uint64_t b = 2; b <= 20; b++) {
    check_ok(learn(&large, file, b));
    amped_state_file_sizes(file, &state, &journal);
    ck_assert_uint_le(journal, state);
    compacted += journal < before;
    before = journal;
    check_world(&large, file, b);
  }
  amped_state_file_close(file);
  ck_assert_int_ge(compacted, 2);
  ck_assert_int_le(compacted, 9);
  ck_assert_int_eq(access(file_name(1), F_OK), 0);
  ck_assert_uint_eq(check_disk(&large, false), 20);
  remove_all();
  check_no_leak();
}
END_TEST

/* In one run, or one batch a run: the same bytes but for those of the journal's places. */
START_TEST(one_run_and_many_leave_the_same_state) {
  begin_files();
  check_ok(stream(&large, 1, 1));
  check_ok(stream(&large, 2, 11));
  copies one = take_copies();
  remove_all();
  for (uint64_t b = 1; b <= 11; b++)
    check_ok(stream(&large, b, b));
  copies many = take_copies();
  for (size_t i = 0; i < FILES; i++) {
    ck_assert_uint_eq(one.counts[i], many.counts[i]);
    if (one.bytes[i] != NULL)
      ck_assert_mem_eq(one.bytes[i], many.bytes[i], one.counts[i]);
  }
  free_copies(&one);
  free_copies(&many);
  remove_all();
  check_no_leak();
}
END_TEST

/* Run batches first .. last in a child that ends, or fails, at call k. *ended: did it meet that? */
static void stream_with_fault(const world *w, uint64_t first, uint64_t last, long k, bool fails,
                              bool *met) {
  const pid_t pid = check_fork();
  int how = 0;
  if (pid == 0) {
    omp_set_num_threads(1);
    fault_at = k;
    fault_fails = fails;
    calls = 0;
    const amped_status status = stream(w, first, last);
    if (fails && calls > k && status == AMPED_OK)
      _exit(3); /* unlink, or cutting at the end, may fail without harm: told apart below */
    _exit(status == AMPED_OK ? 0 : status == AMPED_FAILED ? 76 : 2);
  }
  ck_assert_int_eq(waitpid(pid, &how, 0), pid);
  ck_assert_msg(WIFEXITED(how), "call %ld: signal %d", k, WTERMSIG(how));
  const int code = WEXITSTATUS(how);
  ck_assert_msg(code == 0 || code == 3 || code == 76 || code == 77, "call %ld: exit %d", k, code);
  *met = code != 0;
}

static int count_drafts(void) {
  int count = 0;
  for (size_t i = 0; i < 4; i++) {
    char pattern[400];
    glob_t found;
    (void)snprintf(pattern, sizeof pattern, "%.300s.tmp.*", file_name(i));
    if (glob(pattern, 0, NULL, &found) == 0)
      count += (int)found.gl_pathc;
    globfree(&found);
  }
  return count;
}

static void check_every_fault(const world *w, uint64_t first, uint64_t last, bool fails) {
  copies c = take_copies();
  bool met = true;
  long k = 0;
  uint64_t least = UINT64_MAX;
  uint64_t most = 0;
  for (; met; k += (long)hostile_stride(5)) {
    put_copies(&c);
    stream_with_fault(w, first, last, k, fails, &met);
    const uint64_t b = check_disk(w, false);
    ck_assert_uint_ge(b, first - 1);
    ck_assert_uint_le(b, last);
    least = b < least ? b : least;
    most = b > most ? b : most;
    ck_assert_uint_eq(check_disk(w, true), b); /* put in order */
    ck_assert_uint_eq(check_disk(w, false), b);
    if (b < last)
      check_ok(stream(w, b + 1, last));
    ck_assert_uint_eq(check_disk(w, false), last);
    ck_assert_int_eq(count_drafts(), 0);
  }
  ck_assert_uint_eq(least, first - 1);
  ck_assert_uint_eq(most, last);
  ck_assert_int_gt(k, 5);
  free_copies(&c);
}

/* Batches 2 .. 4 of the small one append; among those of the large one is a new STATE. */
START_TEST(a_killed_stream_leaves_the_state_of_a_batch) {
  begin_files();
  check_ok(stream(&small, 1, 1));
  check_every_fault(&small, 2, 4, false);
  remove_all();
  check_ok(stream(&model, 1, 1));
  check_every_fault(&model, 2, 3, false);
  remove_all();
  check_ok(stream(&large, 1, 3));
  check_every_fault(&large, 4, 7, false);
  remove_all();
  check_no_leak();
}
END_TEST

START_TEST(a_full_disk_leaves_the_state_of_a_batch) {
  begin_files();
  check_ok(stream(&small, 1, 1));
  check_every_fault(&small, 2, 4, true);
  remove_all();
  check_ok(stream(&large, 1, 3));
  check_every_fault(&large, 4, 7, true);
  remove_all();
  check_no_leak();
}
END_TEST

/* A new state in the place of an old one, which has a journal: either is there. */
START_TEST(a_killed_beginning_leaves_the_old_state_or_the_new) {
  const world other = {AMPED_F32, 2, AMPED_HISTORY_MODEL, 1, 9};
  bool met = true;
  begin_files();
  check_ok(stream(&small, 1, 4));
  copies c = take_copies();
  for (long k = 0; met; k += (long)hostile_stride(5)) {
    amped_state_file *file = NULL;
    put_copies(&c);
    stream_with_fault(&other, 1, 1, k, false, &met);
    check_ok(amped_state_file_open(path, true, &file));
    const bool is_old = amped_state_file_head(file)->ncomps == small.ncomps;
    check_world(is_old ? &small : &other, file, is_old ? 4 : 1);
    amped_state_file_close(file);
  }
  ck_assert_int_ne(access(file_name(1), F_OK), 0);
  ck_assert_int_ne(access(file_name(2), F_OK), 0);
  ck_assert_int_ne(access(file_name(3), F_OK), 0);
  free_copies(&c);
  remove_all();
  check_no_leak();
}
END_TEST

/* The journals have what STATE had. */
START_TEST(a_state_that_is_lost_is_replaced) {
  begin_files();
  check_ok(stream(&large, 1, 9));
  ck_assert_int_eq(access(file_name(1), F_OK), 0);
  copies c = take_copies();
  for (int damage = 0; damage < 3; damage++) {
    put_copies(&c);
    if (damage == 0)
      ck_assert_int_eq(syscall(SYS_unlink, path), 0);
    else if (damage == 1)
      ck_assert_int_eq(truncate(path, 1000), 0);
    else
      testing_write_file(path, "no state", 8);
    ck_assert_uint_eq(check_disk(&large, false), 9);
    ck_assert_uint_eq(check_disk(&large, true), 9);
    ck_assert_int_eq(syscall(SYS_unlink, file_name(1)), 0);
    ck_assert_int_eq(syscall(SYS_unlink, file_name(3)), 0);
    ck_assert_uint_eq(check_disk(&large, false), 9); /* STATE is whole again */
    check_ok(stream(&large, 10, 12));
    ck_assert_uint_eq(check_disk(&large, false), 12);
  }
  put_copies(&c);
  ck_assert_int_eq(syscall(SYS_unlink, path), 0);
  ck_assert_int_eq(syscall(SYS_unlink, file_name(3)), 0); /* what is between them is missing */
  amped_state_file *file = NULL;
  check_fails(AMPED_BAD_INPUT, "does not belong to", amped_state_file_open(path, true, &file));
  free_copies(&c);
  remove_all();
  check_no_leak();
}
END_TEST

/* The next length at which to cut: far from the end in strides, then byte after byte. */
static size_t longer(size_t length, size_t bytes) {
  const size_t near = bytes - 40;
  const size_t next = length + hostile_stride(185);
  return length >= near ? length + 1 : next < near ? next : near;
}

/* Cut anywhere, it has the batches whose marks are there. */
START_TEST(a_cut_journal_has_whole_batches) {
  begin_files();
  check_ok(stream(&small, 1, 4));
  copies c = take_copies();
  const size_t bytes = c.counts[2];
  uint64_t last = 0;
  amped_state_file *file = NULL;
  for (size_t length = 0; length <= bytes; length = longer(length, bytes)) {
    put_copies(&c);
    ck_assert_int_eq(truncate(file_name(2), (off_t)length), 0);
    if (length < 64) {
      check_fails(AMPED_BAD_INPUT, "is not the journal", amped_state_file_open(path, false, &file));
      continue;
    }
    const uint64_t b = check_disk(&small, false);
    ck_assert_uint_ge(b, last);
    ck_assert_uint_eq(check_disk(&small, true), b);
    last = b;
  }
  ck_assert_uint_eq(last, 4);
  free_copies(&c);
  remove_all();
  check_no_leak();
}
END_TEST

static copies sound;
static const world *damaged; /* the world of `sound` */

/* A byte of the journal, changed in one of two ways: it is refused, or a mark at its end was hit,
 * and the batch before is the last. */
static hostile_end flip_journal(void *context, const char *name, uint64_t n) {
  const size_t at = n / 2;
  amped_state_file *file = NULL;
  (void)context;
  (void)snprintf(path, sizeof path, "%s", name);
  put_copies(&sound);
  FILE *stream_of = fopen(file_name(2), "r+b");
  ck_assert_ptr_nonnull(stream_of);
  const int changed = sound.bytes[2][at] ^ (n % 2 == 0 ? 255 : 1);
  ck_assert_int_eq(fseek(stream_of, (long)at, SEEK_SET), 0);
  ck_assert_int_eq(fputc(changed, stream_of), changed);
  ck_assert_int_eq(fclose(stream_of), 0);
  const amped_status status = amped_state_file_open(path, false, &file);
  if (status == AMPED_OK) {
    ck_assert_uint_eq(amped_state_file_head(file)->batches, 3);
    check_world(damaged, file, 3);
  } else {
    ck_assert_int_eq(status, AMPED_BAD_INPUT);
    ck_assert_ptr_nonnull(strstr(amped_status_message(), ".journal"));
    amped_status_clear();
  }
  amped_state_file_close(file);
  remove_all();
  return status == AMPED_OK ? HOSTILE_EXACT : HOSTILE_REFUSED;
}

START_TEST(a_changed_byte_of_the_journal_is_found) {
  for (int k = 0; k < 2; k++) {
    damaged = k == 0 ? &small : &model;
    begin_files();
    check_ok(stream(damaged, 1, 4));
    sound = take_copies();
    const hostile_tally tally = hostile_run("bytes of a journal", flip_journal, NULL,
                                            2 * sound.counts[2], hostile_stride(67));
    ck_assert_uint_gt(tally.counts[0][HOSTILE_REFUSED], tally.counts[0][HOSTILE_EXACT]);
    free_copies(&sound);
    begin_files();
  }
}
END_TEST

/* A byte of STATE: what is read is exact, or refused. */
static hostile_end flip_state(void *context, const char *name, uint64_t n) {
  amped_state_file *file = NULL;
  bool sealed = false;
  (void)context;
  (void)snprintf(path, sizeof path, "%s", name);
  put_copies(&sound);
  FILE *stream_of = fopen(path, "r+b");
  ck_assert_ptr_nonnull(stream_of);
  const int changed = sound.bytes[0][n / 2] ^ (n % 2 == 0 ? 255 : 1);
  ck_assert_int_eq(fseek(stream_of, (long)(n / 2), SEEK_SET), 0);
  ck_assert_int_eq(fputc(changed, stream_of), changed);
  ck_assert_int_eq(fclose(stream_of), 0);
  amped_status status = amped_state_file_open(path, false, &file);
  if (status == AMPED_OK)
    status = amped_state_file_verify(file, &sealed);
  if (status == AMPED_OK)
    check_world(damaged, file, 2);
  else
    ck_assert_int_eq(status, AMPED_BAD_INPUT);
  amped_status_clear();
  amped_state_file_close(file);
  remove_all();
  return status == AMPED_OK ? HOSTILE_EXACT : HOSTILE_REFUSED;
}

START_TEST(a_changed_byte_of_the_state_is_found) {
  for (int k = 0; k < 2; k++) {
    damaged = k == 0 ? &small : &model;
    begin_files();
    check_ok(stream(damaged, 1, 2));
    sound = take_copies();
    const hostile_tally tally =
        hostile_run("bytes of a state", flip_state, NULL, 2 * sound.counts[0], hostile_stride(397));
    ck_assert_uint_gt(tally.counts[0][HOSTILE_REFUSED], 0);
    free_copies(&sound);
    begin_files();
  }
}
END_TEST

START_TEST(a_whole_state_is_verified) {
  amped_state_file *file = NULL;
  bool sealed = false;
  bool is = false;
  begin_files();
  check_ok(stream(&large, 1, 8));
  check_ok(amped_state_file_is(path, &is));
  ck_assert(is);
  check_ok(amped_state_file_open(path, false, &file));
  check_ok(amped_state_file_verify(file, &sealed));
  ck_assert(sealed);
  amped_state_file_close(file);
  remove_all();
  check_no_leak();
}
END_TEST

/* Each attribute and dataset of STATE, replaced by something else. */
START_TEST(strange_states_are_refused) {
  static const struct {
    const char *name;
    uint64_t value;
    const char *says;
  } attributes[] = {
      {"order", 1, "order"},
      {"order", 1000, "order"},
      {"ncomps", 0, "ncomps"},
      {"ncomps", UINT64_MAX, "ncomps"},
      {"value_bytes", 3, "value_bytes"},
      {"history", 9, "history"},
      {"history_length", 15, "/history/0 is"},
      {"history_length", UINT64_MAX, "history"},
      {"growing", 4, "growing"},
      {"growing", UINT64_MAX, "growing"},
      {"batches", 0, "0 batches"},
      {"batches", 2, "/batches/"},
      {"keep", 1, "held-out"},
      {"sample", 1, "entries in its sample"},
      {"sample", 0, "sample"},
      {"duplicates", 1, "duplicates"},
      {"duplicates", 7, "duplicates"},
      {"batches", UINT64_MAX, "batches"},
  };
  static const struct {
    const char *name;
    double value;
  } reals[] = {{"scale", 0.0},     {"scale", NAN},    {"mean", INFINITY}, {"reg", -1.0},
               {"forget", 0.0},    {"forget", 1.5},   {"least", NAN},     {"holdout", 1.0},
               {"reg_power", 2.0}, {"reg_bias", NAN}, {"squares", -1.0},  {"squares", NAN}};
  static const char *const datasets[] = {
      "/factors/1",        "/history/2",      "/touched/0",
      "/held/values",      "/held/indices/1", "/sample/values",
      "/sample/indices/2", "/batches/hashes", "/batches/names",
      "/batches/nnz",      "/prior",          "/pull",
      "/errors/sums",      "/errors/counts",  "/labels/mode_1/offsets"};
  amped_state_file *file = NULL;
  begin_files();
  check_ok(stream(&small, 1, 1));
  copies c = take_copies();
  for (size_t i = 0; i < sizeof attributes / sizeof attributes[0]; i++) {
    put_copies(&c);
    hid_t h = testing_h5_modify(path);
    testing_h5_scalar(h, "/", attributes[i].name, H5T_NATIVE_UINT64, &attributes[i].value);
    h5(H5Fclose(h));
    check_fails(AMPED_BAD_INPUT, attributes[i].says, amped_state_file_open(path, false, &file));
  }
  for (size_t i = 0; i < sizeof reals / sizeof reals[0]; i++) {
    put_copies(&c);
    hid_t h = testing_h5_modify(path);
    testing_h5_scalar(h, "/", reals[i].name, H5T_NATIVE_DOUBLE, &reals[i].value);
    h5(H5Fclose(h));
    check_fails(AMPED_BAD_INPUT, reals[i].name, amped_state_file_open(path, false, &file));
  }
  for (size_t i = 0; i < sizeof datasets / sizeof datasets[0]; i++) {
    put_copies(&c);
    hid_t h = testing_h5_modify(path);
    testing_h5_remove(h, datasets[i]);
    h5(H5Fclose(h));
    check_fails(AMPED_BAD_INPUT, datasets[i], amped_state_file_open(path, false, &file));
    put_copies(&c);
    h = testing_h5_modify(path);
    testing_h5_remove(h, datasets[i]);
    const double numbers[7] = {1, 2, 3, 4, 5, 6, 7};
    testing_h5_array(h, datasets[i], H5T_STD_U16LE, H5T_NATIVE_DOUBLE, 7, numbers, H5P_DEFAULT);
    h5(H5Fclose(h));
    check_fails(AMPED_BAD_INPUT, datasets[i], amped_state_file_open(path, false, &file));
  }
  free_copies(&c);
  remove_all();
  check_fails(AMPED_BAD_INPUT, "cannot be opened", amped_state_file_open(path, false, &file));
  testing_write_file(path, "text", 4);
  check_fails(AMPED_BAD_INPUT, "not the state of a stream",
              amped_state_file_open(path, true, &file));
  remove_all();
  check_no_leak();
}
END_TEST

START_TEST(strange_sums_are_refused) {
  const double numbers[16] = {1, 2, NAN};
  amped_state_file *file = NULL;
  bool sealed = false;
  begin_files();
  check_ok(stream(&model, 1, 1));
  copies c = take_copies();
  hid_t h = testing_h5_modify(path);
  testing_h5_remove(h, "/sums/1");
  h5(H5Fclose(h));
  check_fails(AMPED_BAD_INPUT, "/sums/1", amped_state_file_open(path, false, &file));
  h = testing_h5_modify(path);
  testing_h5_array(h, "/sums/1", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, 16, numbers, H5P_DEFAULT);
  h5(H5Fclose(h));
  check_fails(AMPED_BAD_INPUT, "/sums/1", amped_state_file_open(path, false, &file));
  put_copies(&c);
  const hsize_t square[2] = {4, 4};
  h = testing_h5_modify(path);
  testing_h5_remove(h, "/sums/1");
  const hid_t space = h5(H5Screate_simple(2, square, NULL));
  const hid_t set =
      h5(H5Dcreate2(h, "/sums/1", H5T_IEEE_F64LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  h5(H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, numbers));
  h5(H5Dclose(set));
  h5(H5Sclose(space));
  h5(H5Fclose(h));
  check_ok(amped_state_file_open(path, false, &file));
  check_fails(AMPED_BAD_INPUT, "not finite", amped_state_file_verify(file, &sealed));
  amped_state_file_close(file);
  free_copies(&c);
  remove_all();
  check_no_leak();
}
END_TEST

/* A journal of sound records that do not make sense: what its batch 2 says. */
typedef enum lie {
  NO_LIE,
  ROW_BEYOND,
  ROW_MISSING,
  LABEL_MISSING,
  LABEL_TOO_MANY,
  DIMS_SHRINK,
  OTHER_SHAPE,
  BATCH_SKIPPED,
  NO_BATCH,
  TWO_BATCHES,
  WRONG_NNZ,
  NOT_FINITE,
  TOUCHED_LATER,
  HEAD_NOT_FINITE,
  SUMS_MISSING, /* of a world with sums, as those behind */
  SUMS_NOT_FINITE,
  SUMS_OF_NO_MODE,
  LIES
} lie;

static void write_lie(const world *w, lie how) {
  amped_state_file *file = NULL;
  amped_journal j;
  amped_state_head head = head_of(w, 2);
  amped_labels labels;
  uint64_t id = 0;
  uint64_t place = 0;
  /* The identity of STATE is in the journal that its own stream makes. */
  check_ok(stream(w, 1, 2));
  FILE *made = fopen(file_name(2), "rb");
  ck_assert_ptr_nonnull(made);
  ck_assert_int_eq(fseek(made, 16, SEEK_SET), 0);
  ck_assert_uint_eq(fread(&id, sizeof id, 1, made), 1);
  ck_assert_int_eq(fclose(made), 0);
  (void)file;
  check_ok(amped_journal_create(file_name(2), &head, id, &j));
  for (int m = 0; m < ORDER; m++)
    for (uint64_t i = dim_of(w, m, 1); i < dim_of(w, m, 2); i++) {
      rows r = make_rows(w, 1);
      r.indices[0] = how == ROW_BEYOND && m == 1 ? i + 1000 : i;
      fill_rows(w, m, i, 2, 0, r.factor, r.history, r.touched);
      if (how == NOT_FINITE)
        amped_value_put(r.history, w->type, 0, NAN);
      if (how == TOUCHED_LATER)
        r.touched[0] = 3;
      if (how != ROW_MISSING || m != 2)
        check_ok(
            amped_journal_put_rows(&j, m, 1, r.indices, r.factor, r.history, r.touched, &place));
      free_rows(&r);
    }
  make_labels(dim_of(w, LABELLED, 1), dim_of(w, LABELLED, 2), &labels);
  if (how != LABEL_MISSING)
    check_ok(amped_journal_put_labels(&j, LABELLED, &labels, &place));
  if (how == LABEL_TOO_MANY)
    check_ok(amped_journal_put_labels(&j, 0, &labels, &place));
  amped_labels_free(&labels);
  for (int m = 0; m < ORDER && w->history == AMPED_HISTORY_MODEL; m++) {
    double *sums = make_sums(w, m, 2);
    if (how == SUMS_NOT_FINITE)
      sums[5] = INFINITY;
    if (how != SUMS_MISSING || m != 1)
      check_ok(
          amped_journal_put_sums(&j, how == SUMS_OF_NO_MODE && m == 2 ? ORDER : m, sums, &place));
    amped_free(sums);
  }
  const amped_state_batch batch = {"b", 5, 7};
  head.batches = how == BATCH_SKIPPED ? 3 : 2;
  head.nnz = nnz_of(1) + 7 + (how == WRONG_NNZ);
  for (int i = 0; i < (how == NO_BATCH ? 0 : how == TWO_BATCHES ? 2 : 1); i++)
    check_ok(amped_journal_put_batch(&j, &batch));
  if (how == DIMS_SHRINK)
    head.dims[0] = 1;
  if (how == OTHER_SHAPE)
    head.ncomps++;
  if (how == HEAD_NOT_FINITE)
    head.mean = NAN;
  check_ok(amped_journal_commit(&j, &head));
  amped_journal_close(&j);
}

START_TEST(journals_that_lie_are_refused) {
  amped_state_file *file = NULL;
  for (int k = 0; k < 2; k++)
    for (lie how = NO_LIE; how < (k == 0 ? SUMS_MISSING : LIES); how++) {
      begin_files();
      write_lie(k == 0 ? &small : &model, how);
      const amped_status status = amped_state_file_open(path, false, &file);
      ck_assert_msg(status == (how == NO_LIE ? AMPED_OK : AMPED_BAD_INPUT), "lie %d: status %d",
                    how, status);
      amped_status_clear();
      amped_state_file_close(file);
      file = NULL;
    }
  remove_all();
  check_no_leak();
}
END_TEST

START_TEST(a_second_stream_is_refused) {
  amped_state_file *one = NULL;
  amped_state_file *two = NULL;
  begin_files();
  check_ok(stream(&small, 1, 2));
  check_ok(amped_state_file_open(path, true, &one));
  const pid_t pid = check_fork();
  if (pid == 0) {
    const amped_status status = amped_state_file_open(path, true, &two);
    const bool told = strstr(amped_status_message(), "another job") != NULL;
    amped_status_clear();
    _exit(status == AMPED_FAILED && told && amped_state_file_open(path, false, &two) == AMPED_OK
              ? 0
              : 1); /* reading is free */
  }
  int how = 0;
  ck_assert_int_eq(waitpid(pid, &how, 0), pid);
  ck_assert(WIFEXITED(how) && WEXITSTATUS(how) == 0);
  amped_state_file_close(one);
  ck_assert_int_ne(access(file_name(4), F_OK), 0);
  remove_all();
  check_no_leak();
}
END_TEST

START_TEST(other_files_are_not_journals) {
  amped_state_file *file = NULL;
  begin_files();
  check_ok(stream(&small, 1, 3));
  copies c = take_copies();
  testing_write_file(file_name(2), "notes of mine\n", 14);
  check_fails(AMPED_BAD_INPUT, "is not the journal", amped_state_file_open(path, true, &file));
  ck_assert_int_eq(syscall(SYS_unlink, file_name(2)), 0);
  ck_assert_int_eq(symlink("/dev/null", file_name(2)), 0);
  check_fails(AMPED_FAILED, ".journal", amped_state_file_open(path, true, &file));
  /* A journal of the same shape, but of another stream. */
  remove_all();
  world other = small;
  other.size++;
  check_ok(stream(&other, 1, 1));
  testing_write_file(file_name(2), c.bytes[2], c.counts[2]);
  check_fails(AMPED_BAD_INPUT, "does not belong to", amped_state_file_open(path, true, &file));
  remove_all();
  const world wide = {AMPED_F32, 9, AMPED_HISTORY_EQUATIONS, 14, 5};
  check_ok(stream(&wide, 1, 1));
  testing_write_file(file_name(2), c.bytes[2], c.counts[2]);
  check_fails(AMPED_BAD_INPUT, "does not belong to", amped_state_file_open(path, true, &file));
  free_copies(&c);
  remove_all();
  check_no_leak();
}
END_TEST

/* Batches that a stream must not write. */
START_TEST(a_bad_batch_changes_nothing) {
  const amped_state_head head = head_of(&small, 2);
  const amped_labels none[ORDER] = {{.count = 0}};
  const amped_state_change change = {.head = &head, .added = none, .batch = {"b", 1, 1}};
  amped_state_file *file = NULL;
  rows r = make_rows(&small, 1);
  begin_files();
  check_ok(stream(&small, 1, 1));
  check_ok(amped_state_file_open(path, true, &file));
  check_fails(AMPED_FAILED, "lacks a row", amped_state_file_commit(file, &change));
  amped_state_file_close(file);
  ck_assert_uint_eq(check_disk(&small, true), 1);
  check_ok(amped_state_file_open(path, true, &file));
  r.indices[0] = 2;
  fill_rows(&small, 1, 2, 2, 0, r.factor, r.history, r.touched);
  amped_value_put(r.factor, AMPED_F32, 1, NAN);
  check_fails(AMPED_FAILED, "row 2 of mode 2 is not finite",
              amped_state_file_put(file, 1, 1, r.indices, r.factor, r.history, r.touched));
  amped_state_file_close(file);
  ck_assert_uint_eq(check_disk(&small, true), 1);
  /* Dropped: the next batch is learnt as if there had been nothing. */
  check_ok(amped_state_file_open(path, true, &file));
  fill_rows(&small, 1, 2, 2, 0, r.factor, r.history, r.touched);
  check_ok(amped_state_file_put(file, 1, 1, r.indices, r.factor, r.history, r.touched));
  check_ok(amped_state_file_drop(file));
  check_ok(learn(&small, file, 2));
  check_world(&small, file, 2);
  /* Put, and closed without a commit. */
  fill_rows(&small, 1, 2, 3, 0, r.factor, r.history, r.touched);
  check_ok(amped_state_file_put(file, 1, 1, r.indices, r.factor, r.history, r.touched));
  amped_state_file_close(file);
  ck_assert_uint_eq(check_disk(&small, false), 2);
  amped_state_head wrong = head;
  wrong.dims[0] = AMPED_MAX_DIM;
  check_fails(AMPED_FAILED, "larger than any file", amped_state_file_create(path, &wrong, &file));
  wrong = head;
  wrong.forget = 0.0;
  check_fails(AMPED_FAILED, "forget", amped_state_file_create(path, &wrong, &file));
  ck_assert_uint_eq(check_disk(&small, false), 2);
  free_rows(&r);
  remove_all();
  check_no_leak();
}
END_TEST

/* A link: its journal lies beside the file, not beside the link. */
START_TEST(a_link_leads_to_the_state) {
  const char *link = testing_path("link.h5");
  char name[sizeof path];
  begin_files();
  check_ok(stream(&small, 1, 1));
  ck_assert_int_eq(symlink(path, link), 0);
  memcpy(name, path, sizeof name);
  (void)snprintf(path, sizeof path, "%s", link);
  check_ok(stream(&small, 2, 3));
  memcpy(path, name, sizeof path);
  ck_assert_int_eq(access(file_name(2), F_OK), 0);
  ck_assert_uint_eq(check_disk(&small, false), 3);
  ck_assert_int_eq(syscall(SYS_unlink, link), 0);
  remove_all();
  check_no_leak();
}
END_TEST

START_TEST(no_allocation_that_fails_does_harm) {
  begin_files();
  check_ok(stream(&small, 1, 3));
  copies c = take_copies();
  amped_status status = AMPED_FAILED;
  for (int64_t k = 0; status != AMPED_OK; k++) {
    amped_state_file *file = NULL;
    put_copies(&c);
    amped_mem_fail_at(k);
    status = amped_state_file_open(path, true, &file);
    amped_mem_fail_at(-1);
    ck_assert(status == AMPED_OK || status == AMPED_FAILED);
    amped_status_clear();
    amped_state_file_close(file);
    check_no_leak();
    ck_assert_uint_eq(check_disk(&small, false), 3);
  }
  free_copies(&c);
  remove_all();
}
END_TEST

TESTING_MAIN("state_file", states_of_all_kinds_come_back, batches_are_seen_at_once,
             a_long_journal_becomes_a_new_state, one_run_and_many_leave_the_same_state,
             a_killed_stream_leaves_the_state_of_a_batch, a_full_disk_leaves_the_state_of_a_batch,
             a_killed_beginning_leaves_the_old_state_or_the_new, a_state_that_is_lost_is_replaced,
             a_cut_journal_has_whole_batches, a_changed_byte_of_the_journal_is_found,
             a_changed_byte_of_the_state_is_found, a_whole_state_is_verified,
             strange_states_are_refused, strange_sums_are_refused, journals_that_lie_are_refused,
             a_second_stream_is_refused, other_files_are_not_journals, a_bad_batch_changes_nothing,
             a_link_leads_to_the_state, no_allocation_that_fails_does_harm)
