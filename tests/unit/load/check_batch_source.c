/* Batch source: files, slices, boxes and a folder become batches in the indices of a state that
 * grows, and what is no batch of it is refused, on all ranks. As it is on one rank;
 * tests/cli/stream_state.sh starts it on 1 to 4. */
#include "load/batch_source.h"

#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>

#include "base/log.h"
#include "base/signals.h"
#include "hdf5/hdf5_probe.h"
#include "tests/lib/testing.h"

static amped_comm comm;
static char folder[128];
static const amped_read_options any_table = {.index_base = AMPED_BASE_AUTO};

/* "FOLDER/NAME": four static buffers in turn. */
static const char *in_folder(const char *name) {
  static char buffers[4][256];
  static int turn;
  char *buffer = buffers[turn++ % 4];
  (void)snprintf(buffer, sizeof buffers[0], "%s/%s", folder, name);
  return buffer;
}

/* Rank 0 writes; all wait for it. */
static void put_file(const char *name, const char *text) {
  if (comm.rank == 0)
    testing_write_file(in_folder(name), text, strlen(text));
  AMPED_MPI(&comm, MPI_Barrier(comm.mpi));
}

static void remove_file(const char *name) {
  AMPED_MPI(&comm, MPI_Barrier(comm.mpi));
  if (comm.rank == 0)
    ck_assert_int_eq(unlink(in_folder(name)), 0);
}

/* --- the state of a test ---------------------------------------------------------------------- */

/* Labels out of a text, separated by blanks; freed with amped_labels_free. */
static amped_labels labels_of(const char *name, const char *text) {
  amped_labels l = {.count = 0};
  check_ok(amped_alloc(&l.bytes, strlen(text) + 1, 1, "labels"));
  check_ok(amped_calloc(&l.offsets, strlen(text) + 2, sizeof *l.offsets, "labels"));
  if (name != NULL)
    check_ok(amped_strdup(&l.name, name));
  while (*text != '\0') {
    const size_t n = strcspn(text, " ");
    memcpy(l.bytes + l.offsets[l.count], text, n);
    l.offsets[l.count + 1] = l.offsets[l.count] + n;
    l.count++;
    text += n + (text[n] == ' ');
  }
  return l;
}

typedef struct world {
  amped_labels labels[3];
  amped_batch_target target;
  amped_batch_request request;
  const char *paths[4];
  amped_batch_source *source;
  amped_source_batch batch;
} world;

/* 3 x 2 x 2; labels: ann, bob and cid; red and blue; none. */
static void begin(world *w, bool labelled) {
  memset(w, 0, sizeof *w);
  if (labelled) {
    w->labels[0] = labels_of("user", "ann bob cid");
    w->labels[1] = labels_of("colour", "red blue");
  }
  w->target = (amped_batch_target){.path = "state.h5",
                                   .order = 3,
                                   .dims = {3, 2, 2},
                                   .first = {3, 2, 2},
                                   .labels = comm.rank == 0 ? w->labels : NULL};
  w->request = (amped_batch_request){.paths = w->paths, .read = &any_table, .batch = 1};
}

static amped_status open_source(world *w) {
  while (w->request.count < 4 && w->paths[w->request.count] != NULL)
    w->request.count++;
  return amped_batch_source_open(&comm, &w->request, &w->target, &w->source);
}

static amped_status next(world *w) {
  amped_batch_release(&w->batch);
  return amped_batch_source_next(w->source, &w->batch);
}

static void end(world *w) {
  amped_batch_release(&w->batch);
  amped_batch_source_close(w->source);
  for (int m = 0; m < 3; m++)
    amped_labels_free(&w->labels[m]);
  amped_status_clear();
  check_no_leak();
}

/* The batch in hand has these entries, "i j k value", counted from 0, in any order; its input has
 * them, too. */
static void check_entries(world *w, uint64_t count, const double entries[][4]) {
  uint64_t expected = 0;
  for (uint64_t i = 0; i < count; i++) {
    const uint64_t index[3] = {(uint64_t)entries[i][0], (uint64_t)entries[i][1],
                               (uint64_t)entries[i][2]};
    expected += amped_nonzero_hash(3, index, entries[i][3]);
  }
  ck_assert_ptr_nonnull(w->batch.input);
  const amped_tensor_info *info = amped_input_info(w->batch.input);
  ck_assert_uint_eq(w->batch.nnz, count);
  ck_assert_uint_eq(w->batch.hash, expected);
  ck_assert_uint_eq(info->nnz, count);
  ck_assert_int_eq(info->order, 3);
  ck_assert(!info->has_copies);
  ck_assert_mem_eq(info->dims, w->batch.dims, 3 * sizeof info->dims[0]);
  if (comm.rank != 0)
    return;
  uint64_t hash = 0;
  for (uint64_t i = 0; i < count; i++) {
    uint64_t raw[3] = {0, 0, 0};
    void *const to[3] = {&raw[0], &raw[1], &raw[2]};
    uint64_t index[3];
    double value = 0.0;
    check_ok(amped_input_read(w->batch.input, AMPED_INPUT_LIST, i, 1, to, &value));
    for (int m = 0; m < 3; m++)
      index[m] = amped_index_get(&raw[m], info->index_types[m], 0);
    hash += amped_nonzero_hash(3, index, value);
  }
  ck_assert_uint_eq(hash, expected);
}

static void check_dims(const world *w, uint64_t a, uint64_t b, uint64_t c, uint64_t new_a,
                       uint64_t new_b, uint64_t new_c) {
  const uint64_t dims[3] = {a, b, c};
  const uint64_t new_rows[3] = {new_a, new_b, new_c};
  ck_assert_mem_eq(w->batch.dims, dims, sizeof dims);
  ck_assert_mem_eq(w->batch.new_rows, new_rows, sizeof new_rows);
}

static void check_added(const world *w, int mode, const char *expected) {
  const amped_labels *added = &w->batch.added[mode];
  char text[64] = "";
  if (comm.rank != 0)
    return;
  for (uint64_t i = 0; i < added->count; i++) {
    uint64_t length = 0;
    const char *label = amped_label(added, i, &length);
    (void)snprintf(text + strlen(text), sizeof text - strlen(text), "%.*s ", (int)length, label);
  }
  ck_assert_str_eq(text, expected);
}

static void check_end(world *w) {
  check_ok(next(w));
  ck_assert_ptr_null(w->batch.input);
  ck_assert_ptr_null(w->batch.name);
}

/* --- files ------------------------------------------------------------------------------------ */

START_TEST(files_come_one_after_another) {
  world w;
  put_file("a.tns", "1 1 1 5\n4 2 1 6\n");
  put_file("b.csv", "x,y,z,v\n4,1,2,7\n5,1,1,8\n");
  begin(&w, false);
  const amped_read_options read = {.index_base = AMPED_BASE_AUTO, .value = "v"};
  w.request.read = &read;
  w.paths[0] = in_folder("b.csv");
  check_ok(open_source(&w));
  check_ok(next(&w));
  check_entries(&w, 2, (const double[][4]){{3, 0, 1, 7}, {4, 0, 0, 8}});
  check_dims(&w, 5, 2, 2, 2, 0, 0);
  ck_assert_ptr_nonnull(strstr(w.batch.name, "b.csv"));
  check_end(&w);
  end(&w);
  begin(&w, false);
  w.paths[0] = in_folder("a.tns");
  w.paths[1] = in_folder("a.tns");
  w.paths[2] = in_folder("a.tns");
  check_ok(open_source(&w));
  check_ok(next(&w));
  check_entries(&w, 2, (const double[][4]){{0, 0, 0, 5}, {3, 1, 0, 6}});
  check_dims(&w, 4, 2, 2, 1, 0, 0);
  check_ok(next(&w)); /* it was not learnt: nothing has grown */
  check_dims(&w, 4, 2, 2, 1, 0, 0);
  check_ok(amped_batch_source_accept(w.source, &w.batch));
  check_ok(next(&w));
  check_dims(&w, 4, 2, 2, 0, 0, 0);
  check_end(&w);
  check_end(&w);
  end(&w);
  remove_file("a.tns");
  remove_file("b.csv");
}
END_TEST

START_TEST(the_state_says_where_indices_begin) {
  world w;
  put_file("a.tns", "0 1 1 5\n4 2 1 6\n");
  begin(&w, false);
  w.paths[0] = in_folder("a.tns");
  for (int m = 0; m < 3; m++)
    w.labels[m].from_zero = true;
  check_ok(open_source(&w));
  check_ok(next(&w));
  check_entries(&w, 2, (const double[][4]){{0, 1, 1, 5}, {4, 2, 1, 6}});
  check_dims(&w, 5, 3, 2, 2, 1, 0);
  end(&w);
  remove_file("a.tns");
}
END_TEST

START_TEST(labels_grow_when_a_batch_was_learnt) {
  const amped_read_options read = {.index_base = AMPED_BASE_AUTO, .value = "v"};
  world w;
  put_file("a.csv", "user,colour,day,v\neve,blue,3,1\nbob,green,1,2\nann,green,1,3\ndan,red,1,4\n");
  put_file("b.csv", "user,colour,day,v\nfay,green,1,5\neve,red,2,6\n");
  begin(&w, true);
  w.request.read = &read;
  w.paths[0] = in_folder("a.csv");
  w.paths[1] = in_folder("a.csv");
  w.paths[2] = in_folder("b.csv");
  w.paths[3] = in_folder("a.csv");
  check_ok(open_source(&w));
  for (int i = 0; i < 2; i++) { /* the first one is not learnt */
    check_ok(next(&w));
    check_entries(&w, 4,
                  (const double[][4]){{3, 1, 2, 1}, {1, 2, 0, 2}, {0, 2, 0, 3}, {4, 0, 0, 4}});
    check_dims(&w, 5, 3, 3, 2, 1, 1);
    check_added(&w, 0, "eve dan ");
    check_added(&w, 1, "green ");
    check_added(&w, 2, "");
  }
  const uint64_t hash = w.batch.hash;
  check_ok(amped_batch_source_accept(w.source, &w.batch));
  check_ok(next(&w));
  check_entries(&w, 2, (const double[][4]){{5, 2, 0, 5}, {3, 0, 1, 6}});
  check_dims(&w, 6, 3, 3, 1, 0, 0);
  check_added(&w, 0, "fay ");
  check_ok(amped_batch_source_accept(w.source, &w.batch));
  if (comm.rank == 0) {
    const amped_labels all = amped_batch_source_labels(w.source, 0);
    uint64_t length = 0;
    ck_assert_uint_eq(all.count, 6);
    ck_assert_str_eq(all.name, "user");
    ck_assert_int_eq(memcmp(amped_label(&all, 5, &length), "fay", 3), 0);
    ck_assert_uint_eq(amped_batch_source_labels(w.source, 2).count, 0);
  }
  check_ok(next(&w)); /* the same batch again is known by its hash */
  ck_assert_uint_eq(w.batch.hash, hash);
  check_dims(&w, 6, 3, 3, 0, 0, 0);
  end(&w);
  remove_file("a.csv");
  remove_file("b.csv");
}
END_TEST

START_TEST(the_same_contents_have_the_same_hash) {
  world w;
  uint64_t hash = 0;
  put_file("a.tns", "1 1 1 5\n2 2 1 6\n3 1 2 0.5\n");
  put_file("b.tns", "# again\n3 1 2 0.5\n1 1 1 5\n2 2 1 6\n");
  put_file("c.tns", "3 1 2 0.5\n1 1 1 5\n2 2 1 6.5\n");
  begin(&w, false);
  w.paths[0] = in_folder("a.tns");
  w.paths[1] = in_folder("b.tns");
  w.paths[2] = in_folder("c.tns");
  check_ok(open_source(&w));
  check_ok(next(&w));
  hash = w.batch.hash;
  check_ok(next(&w));
  ck_assert_uint_eq(w.batch.hash, hash);
  check_ok(next(&w));
  ck_assert_uint_ne(w.batch.hash, hash);
  end(&w);
  remove_file("a.tns");
  remove_file("b.tns");
  remove_file("c.tns");
}
END_TEST

/* A state of two batches, {1 1 1 5} and {2 2 1 6}, and files that do or do not hold them. */
START_TEST(only_the_rest_of_a_snapshot_is_a_batch) {
  world w;
  amped_batch_sums sums = {.count = 0};
  put_file("later.tns", "4 1 1 8\n2 2 1 6\n1 1 3 7\n1 1 1 5\n");
  put_file("same.tns", "2 2 1 6\n1 1 1 5\n");
  put_file("less.tns", "1 1 1 5\n4 1 1 8\n");
  put_file("other.tns", "1 1 1 5\n2 2 1 6.5\n4 1 1 8\n");
  for (int snapshots = 0; snapshots < 2; snapshots++) {
    begin(&w, false);
    w.request.snapshots = snapshots > 0;
    w.target.sums = &sums;
    if (comm.rank == 0) {
      check_ok(amped_batch_sums_add(&sums, amped_nonzero_hash(3, (uint64_t[]){0, 0, 0}, 5.0), 1));
      check_ok(amped_batch_sums_add(&sums, amped_nonzero_hash(3, (uint64_t[]){1, 1, 0}, 6.0), 1));
    }
    w.paths[0] = in_folder("same.tns");
    w.paths[1] = in_folder("later.tns");
    w.paths[2] = in_folder("later.tns");
    w.paths[3] = in_folder("other.tns");
    check_ok(open_source(&w));
    check_ok(next(&w));
    ck_assert_uint_eq(w.batch.same_as, 2);
    ck_assert_uint_eq(w.batch.known, 0);
    check_ok(next(&w));
    check_entries(&w, 2, (const double[][4]){{3, 0, 0, 8}, {0, 0, 2, 7}});
    check_dims(&w, 4, 2, 3, 1, 0, 1);
    ck_assert_uint_eq(w.batch.same_as, 0);
    ck_assert_uint_eq(w.batch.known, 2);
    ck_assert_double_eq(w.batch.squares, 113.0);
    check_ok(amped_batch_source_accept(w.source, &w.batch));
    check_ok(next(&w));
    ck_assert_uint_eq(w.batch.same_as, 3);
    if (snapshots > 0)
      ck_assert_int_eq(next(&w), AMPED_BAD_INPUT);
    else {
      check_ok(next(&w));
      ck_assert_uint_eq(w.batch.nnz, 3);
      ck_assert_uint_eq(w.batch.known, 0);
    }
    amped_batch_sums_free(&sums);
    end(&w);
  }
  begin(&w, false);
  w.request.snapshots = true;
  w.target.sums = &sums;
  if (comm.rank == 0)
    check_ok(amped_batch_sums_add(&sums, 0, 1));
  w.paths[0] = in_folder("less.tns");
  check_ok(open_source(&w));
  ck_assert_int_eq(next(&w), AMPED_BAD_INPUT);
  amped_batch_sums_free(&sums);
  end(&w);
  remove_file("later.tns");
  remove_file("same.tns");
  remove_file("less.tns");
  remove_file("other.tns");
}
END_TEST

/* A state of the batches {1 1 1 5, 2 2 1 6} and {1 2 1 7}: a file that begins with both gives the
 * rest, and two entries may have come again. */
START_TEST(only_what_comes_behind_batches_is_a_batch) {
  world w;
  amped_batch_sums sums = {.count = 0};
  put_file("log.tns", "2 2 1 6\n1 1 1 5\n1 2 1 7\n1 1 2 9\n");
  put_file("turned.tns", "1 1 2 9\n2 2 1 6\n1 1 1 5\n1 2 1 7\n");
  put_file("pair.tns", "1 1 1 5\n2 2 1 6\n1 1 2 8\n");
  begin(&w, false);
  w.target.sums = &sums;
  if (comm.rank == 0) {
    const uint64_t hash = amped_nonzero_hash(3, (uint64_t[]){0, 0, 0}, 5.0) +
                          amped_nonzero_hash(3, (uint64_t[]){1, 1, 0}, 6.0);
    check_ok(amped_batch_sums_add(&sums, hash, 2));
    check_ok(amped_batch_sums_add(&sums, amped_nonzero_hash(3, (uint64_t[]){0, 1, 0}, 7.0), 1));
  }
  w.paths[0] = in_folder("turned.tns");
  w.paths[1] = in_folder("pair.tns");
  w.paths[2] = in_folder("log.tns");
  w.paths[3] = in_folder("log.tns");
  check_ok(open_source(&w));
  check_ok(next(&w));
  ck_assert_uint_eq(w.batch.nnz, 4);
  ck_assert(!w.batch.begins);
  check_ok(next(&w));
  ck_assert_uint_eq(w.batch.nnz, 3);
  ck_assert_uint_eq(w.batch.known, 0);
  check_ok(next(&w));
  check_entries(&w, 1, (const double[][4]){{0, 0, 1, 9}});
  ck_assert(w.batch.begins);
  ck_assert_uint_eq(w.batch.known, 3);
  ck_assert_uint_eq(w.batch.same_as, 0);
  check_ok(amped_batch_source_accept(w.source, &w.batch));
  check_ok(next(&w));
  ck_assert_uint_eq(w.batch.nnz, 4);
  ck_assert_uint_eq(w.batch.same_as, 3);
  amped_batch_sums_free(&sums);
  end(&w);
  remove_file("log.tns");
  remove_file("turned.tns");
  remove_file("pair.tns");
}
END_TEST

START_TEST(empty_batches_are_passed_over) {
  world w;
  put_file("a.tns", "");
  put_file("b.tns", "# nothing\n\n");
  put_file("c.csv", "x,y,z\n");
  put_file("d.tns", "1 1 1 1\n");
  begin(&w, false);
  w.paths[0] = in_folder("a.tns");
  w.paths[1] = in_folder("b.tns");
  w.paths[2] = in_folder("c.csv");
  w.paths[3] = in_folder("d.tns");
  check_ok(open_source(&w));
  check_ok(next(&w));
  ck_assert_ptr_nonnull(strstr(w.batch.name, "d.tns"));
  check_end(&w);
  end(&w);
  begin(&w, false);
  w.paths[0] = in_folder("a.tns");
  check_ok(open_source(&w));
  check_end(&w);
  end(&w);
  remove_file("a.tns");
  remove_file("b.tns");
  remove_file("c.csv");
  remove_file("d.tns");
}
END_TEST

/* Repeated coordinates of one batch: as the user says, else as the state does. */
START_TEST(duplicates_are_treated) {
  const amped_read_options mean = {.index_base = AMPED_BASE_AUTO,
                                   .duplicates = AMPED_DUPLICATES_MEAN};
  world w;
  put_file("a.tns", "1 1 1 5\n2 2 1 6\n1 1 1 2\n");
  begin(&w, false);
  w.paths[0] = in_folder("a.tns");
  w.request.read = &mean;
  check_ok(open_source(&w));
  check_ok(next(&w));
  check_entries(&w, 2, (const double[][4]){{0, 0, 0, 3.5}, {1, 1, 0, 6}});
  end(&w);
  begin(&w, false);
  w.paths[0] = in_folder("a.tns");
  w.target.duplicates = AMPED_DUPLICATES_LAST;
  check_ok(open_source(&w));
  check_ok(next(&w));
  check_entries(&w, 2, (const double[][4]){{0, 0, 0, 2}, {1, 1, 0, 6}});
  end(&w);
  begin(&w, false);
  w.paths[0] = in_folder("a.tns");
  w.target.duplicates = AMPED_DUPLICATES_LAST;
  w.request.read = &mean;
  check_ok(open_source(&w));
  check_ok(next(&w));
  check_entries(&w, 2, (const double[][4]){{0, 0, 0, 3.5}, {1, 1, 0, 6}});
  end(&w);
  remove_file("a.tns");
}
END_TEST

START_TEST(what_is_no_batch_is_refused_on_all_ranks) {
  static const struct {
    const char *name, *text;
    bool labelled;
    amped_status status;
  } files[] = {
      {.name = "order.tns", .text = "1 1 1 1 5\n", .labelled = false, .status = AMPED_BAD_INPUT},
      {.name = "torn.tns", .text = "1 1 1 5\n2 2\n", .labelled = false, .status = AMPED_BAD_INPUT},
      {.name = "plain.tns", .text = "1 1 1 5\n", .labelled = true, .status = AMPED_BAD_INPUT},
      {.name = "words.csv",
       .text = "x,y,z\n1,2,three\n",
       .labelled = false,
       .status = AMPED_BAD_INPUT},
      {.name = "zero.csv", .text = "x,y,z\n1,2,0\n", .labelled = false, .status = AMPED_BAD_INPUT},
      {.name = "names.csv",
       .text = "colour,user,day\nred,ann,1\n",
       .labelled = true,
       .status = AMPED_BAD_INPUT},
      {.name = "what.bin", .text = "1 1 1 5\n", .labelled = false, .status = AMPED_USAGE},
      {.name = "text.h5", .text = "1 1 1 5\n", .labelled = false, .status = AMPED_BAD_INPUT},
  };
  for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
    world w;
    put_file(files[i].name, files[i].text);
    begin(&w, files[i].labelled);
    w.paths[0] = in_folder(files[i].name);
    check_ok(open_source(&w));
    const amped_status status = next(&w);
    ck_assert_msg(status == files[i].status, "%s: status %d", files[i].name, (int)status);
    ck_assert_ptr_null(w.batch.input);
    end(&w);
    remove_file(files[i].name);
  }
  world w;
  begin(&w, false);
  w.paths[0] = in_folder("missing.tns");
  check_ok(open_source(&w));
  ck_assert_int_eq(next(&w), AMPED_BAD_INPUT);
  end(&w);
  /* Labels of the state that repeat tell no row. */
  begin(&w, true);
  amped_labels_free(&w.labels[1]);
  w.labels[1] = labels_of("colour", "red red");
  ck_assert_int_eq(open_source(&w), AMPED_BAD_INPUT);
  ck_assert_ptr_null(w.source);
  end(&w);
}
END_TEST

/* --- one input -------------------------------------------------------------------------------- */

/* 4 x 4 x 9 in text, as a file with copies, and as a list: entries of day k have the values 10 k +
 * 1 and so on. Days 1 and 2 are known; 6 has none. */
static const char days[] = "1 1 1 11\n2 2 2 21\n3 1 3 31\n4 4 3 32\n1 1 5 51\n2 1 4 41\n"
                           "1 2 7 71\n2 1 8 81\n3 1 9 91\n1 3 9 92\n";
static const char *const day_files[] = {"days.tns", "days.h5", "list.h5"};

static void check_slices(const char *file, uint64_t batch, const char *by, uint64_t first_batch) {
  static const double of[][4] = {{2, 0, 2, 31}, {3, 3, 2, 32}, {1, 0, 3, 41}, {0, 0, 4, 51},
                                 {0, 1, 6, 71}, {1, 0, 7, 81}, {2, 0, 8, 91}, {0, 2, 8, 92}};
  static const uint64_t day_begins[] = {0, 2, 3, 4, 5, 6, 8}; /* days 3, 4, 5, 7, 8, 9 */
  world w;
  begin(&w, false);
  w.paths[0] = in_folder(file);
  w.request.kind = AMPED_BATCH_BY;
  w.request.by = by;
  w.request.batch = batch;
  /* A stream that goes on has grown meanwhile, and cuts the same. */
  if (first_batch > 0) {
    w.target.dims[0] = w.target.dims[1] = 4;
    w.target.dims[2] = 7;
  }
  check_ok(open_source(&w));
  for (uint64_t d = 0; d < 6; d += batch) {
    const uint64_t begins = day_begins[d];
    const uint64_t ends = day_begins[d + batch < 6 ? d + batch : 6];
    check_ok(next(&w));
    check_entries(&w, ends - begins, of + begins);
    if (d == 0 && batch == 4 && first_batch == 0) {
      check_dims(&w, 4, 4, 7, 1, 2, 5);
      ck_assert_ptr_nonnull(strstr(w.batch.name, " (mode 3 3 to 7)"));
    }
    if (d == 0 && batch == 1)
      ck_assert_ptr_nonnull(strstr(w.batch.name, " (mode 3 3)"));
    check_ok(amped_batch_source_accept(w.source, &w.batch));
  }
  check_end(&w);
  end(&w);
}

START_TEST(an_input_is_cut_along_a_mode) {
  for (size_t i = 0; i < 3; i++)
    for (uint64_t batch = 1; batch <= 6; batch++) {
      check_slices(day_files[i], batch, "3", 0);
      check_slices(day_files[i], batch, "3", 1);
    }
  world w;
  begin(&w, true);
  w.paths[0] = in_folder("days.tns");
  w.request.kind = AMPED_BATCH_BY;
  w.request.by = "week";
  ck_assert_int_eq(open_source(&w), AMPED_USAGE);
  w.request.by = "user"; /* the state has labels, the text has none */
  ck_assert_int_eq(open_source(&w), AMPED_BAD_INPUT);
  end(&w);
}
END_TEST

/* By a mode with labels: what the first fit had is known by them. */
START_TEST(a_table_is_cut_along_its_labels) {
  const amped_read_options read = {.index_base = AMPED_BASE_AUTO, .value = "v"};
  world w;
  put_file("a.csv", "user,colour,day,v\neve,red,1,1\nann,red,1,2\ndan,blue,2,3\neve,pink,2,4\n");
  begin(&w, true);
  w.paths[0] = in_folder("a.csv");
  w.request.kind = AMPED_BATCH_BY;
  w.request.by = "user";
  w.request.read = &read;
  check_ok(open_source(&w));
  check_ok(next(&w));
  check_entries(&w, 1, (const double[][4]){{3, 1, 1, 3}});
  check_added(&w, 0, "dan ");
  check_added(&w, 1, "");
  ck_assert_ptr_nonnull(strstr(w.batch.name, "a.csv (user dan)"));
  check_ok(amped_batch_source_accept(w.source, &w.batch));
  check_ok(next(&w));
  check_entries(&w, 2, (const double[][4]){{4, 0, 0, 1}, {4, 2, 1, 4}});
  check_added(&w, 0, "eve ");
  check_added(&w, 1, "pink ");
  check_end(&w);
  end(&w);
  remove_file("a.csv");
}
END_TEST

START_TEST(an_input_is_cut_into_boxes) {
  for (size_t i = 0; i < 3; i++) {
    world w;
    begin(&w, false);
    w.paths[0] = in_folder(day_files[i]);
    w.request.kind = AMPED_BATCH_BOXES;
    ck_assert(amped_boxes_parse("3x2x3,+1x1x2", &w.request.boxes));
    check_ok(open_source(&w));
    /* Of box 0 the first fit had two entries; 4 4 3 is of box 2, as 1 1 5 and 2 1 4 of box 1. */
    check_ok(next(&w));
    check_entries(&w, 1, (const double[][4]){{2, 0, 2, 31}});
    ck_assert_ptr_nonnull(strstr(w.batch.name, " (box 0)"));
    check_ok(amped_batch_source_accept(w.source, &w.batch));
    check_ok(next(&w));
    check_entries(&w, 2, (const double[][4]){{0, 0, 4, 51}, {1, 0, 3, 41}});
    check_ok(amped_batch_source_accept(w.source, &w.batch));
    check_ok(next(&w));
    check_entries(&w, 2, (const double[][4]){{3, 3, 2, 32}, {0, 1, 6, 71}});
    check_ok(next(&w));
    check_entries(&w, 3, (const double[][4]){{1, 0, 7, 81}, {2, 0, 8, 91}, {0, 2, 8, 92}});
    check_end(&w);
    end(&w);
    /* One mode grows, and others cut off the rest. */
    begin(&w, false);
    w.paths[0] = in_folder(day_files[i]);
    w.request.kind = AMPED_BATCH_BOXES;
    ck_assert(amped_boxes_parse("2x1x2,+0x0x100", &w.request.boxes));
    check_ok(open_source(&w));
    check_ok(next(&w));
    check_entries(&w, 3, (const double[][4]){{0, 0, 4, 51}, {1, 0, 3, 41}, {1, 0, 7, 81}});
    check_end(&w);
    end(&w);
  }
  world w;
  begin(&w, false);
  w.paths[0] = in_folder("days.tns");
  w.request.kind = AMPED_BATCH_BOXES;
  ck_assert(amped_boxes_parse("3x2x3x4,+1x1x2x0", &w.request.boxes));
  ck_assert_int_eq(open_source(&w), AMPED_USAGE);
  end(&w);
}
END_TEST

START_TEST(boxes_are_parsed_strictly) {
  static const char *const wrong[] = {"",
                                      "3x2x3",
                                      "3x2x3,",
                                      "3x2x3,1x1x1",
                                      "3,+1",
                                      "3x2x3,+1x1",
                                      "3x2x3,+0x0x0",
                                      "0x2x3,+1x1x1",
                                      "3x2x3,+1x",
                                      "3x2xx,+1x1x1",
                                      "3x2x3,+1x1x1x",
                                      "3x2x3,+1x1x-1",
                                      "3 x2x3,+1x1x1",
                                      "1x1x1x1x1x1x1x1x1,+1x1x1x1x1x1x1x1x1"};
  amped_boxes b;
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
    ck_assert_msg(!amped_boxes_parse(wrong[i], &b), "%s", wrong[i]);
  ck_assert(amped_boxes_parse("71x16x108x1,+0x1x2x3", &b));
  ck_assert_int_eq(b.order, 4);
  ck_assert_uint_eq(b.first[2], 108);
  ck_assert_uint_eq(b.step[3], 3);
}
END_TEST

/* --- a folder --------------------------------------------------------------------------------- */

/* A file is renamed into the folder while the source waits. */
static void *rename_later(void *unused) {
  const struct timespec wait = {0, 300000000};
  (void)unused;
  (void)nanosleep(&wait, NULL);
  ck_assert_int_eq(rename(in_folder("in/a0.part"), in_folder("in/a0.tns")), 0);
  return NULL;
}

static void expect_name(world *w, const char *name) {
  check_ok(next(w));
  ck_assert_ptr_nonnull(w->batch.name);
  ck_assert_msg(strstr(w->batch.name, name) != NULL, "%s, not %s", w->batch.name, name);
}

START_TEST(a_folder_is_followed) {
  world w;
  pthread_t later;
  char moved[256];
  if (comm.rank == 0)
    ck_assert_int_eq(mkdir(in_folder("in"), 0700), 0);
  put_file("in/b.tns", "1 1 1 1\n");
  put_file("in/.c.tns", "wrong\n");
  put_file("in/d.tmp", "wrong\n");
  put_file("in/e.tns.tmp.123.0123456789abcdef", "wrong\n");
  put_file("in/f.tns.lock", "wrong\n");
  put_file("in/readme", "wrong\n");
  put_file("in/g.csv", "x,y,z\n1,1,1\n");
  put_file("in/a0.part", "2 2 2 2\n");
  if (comm.rank == 0) { /* made before MPI started; the prober looks at it now */
    (void)snprintf(moved, sizeof moved, "%s", in_folder("follow.h5"));
    ck_assert_int_eq(rename(moved, in_folder("in/h.h5")), 0);
  }
  begin(&w, false);
  w.request.kind = AMPED_BATCH_FOLLOW;
  w.paths[0] = in_folder("in");
  check_ok(open_source(&w));
  expect_name(&w, "in/b.tns");
  expect_name(&w, "in/g.csv");
  put_file("in/aa.tns", "1 1 1 4\n"); /* late, and first by name */
  expect_name(&w, "in/aa.tns");
  expect_name(&w, "in/h.h5");
  check_entries(&w, 1, (const double[][4]){{1, 1, 1, 8}});
  if (comm.rank == 0)
    ck_assert_int_eq(pthread_create(&later, NULL, rename_later, NULL), 0);
  expect_name(&w, "in/a0.tns");
  if (comm.rank == 0)
    ck_assert_int_eq(pthread_join(later, NULL), 0);
  end(&w);
  if (comm.rank == 0) {
    char command[300];
    (void)snprintf(command, sizeof command, "rm -r %s", in_folder("in"));
    ck_assert_int_eq(system(command), 0);
  }
}
END_TEST

/* A signal to one rank ends all: the last test, as it stays. */
START_TEST(a_signal_ends_all_ranks) {
  world w;
  if (comm.rank == 0)
    ck_assert_int_eq(mkdir(in_folder("in"), 0700), 0);
  AMPED_MPI(&comm, MPI_Barrier(comm.mpi));
  check_ok(amped_signals_watch(false, false));
  check_ok(amped_signals_catch());
  if (comm.rank == comm.nranks - 1)
    ck_assert_int_eq(raise(SIGUSR1), 0);
  begin(&w, false);
  w.request.kind = AMPED_BATCH_FOLLOW;
  w.paths[0] = in_folder("in");
  check_ok(open_source(&w));
  ck_assert_int_eq(next(&w), AMPED_STOPPED);
  end(&w);
  begin(&w, false);
  w.paths[0] = in_folder("days.tns");
  check_ok(open_source(&w));
  ck_assert_int_eq(next(&w), AMPED_STOPPED);
  end(&w);
}
END_TEST

START_TEST(a_missing_folder_is_refused) {
  world w;
  begin(&w, false);
  w.request.kind = AMPED_BATCH_FOLLOW;
  w.paths[0] = in_folder("nowhere");
  ck_assert_int_eq(open_source(&w), AMPED_BAD_INPUT);
  w.paths[0] = in_folder("days.tns");
  ck_assert_int_eq(open_source(&w), AMPED_BAD_INPUT);
  end(&w);
}
END_TEST

/* On rank 0; all ranks end. */
START_TEST(no_allocation_that_fails_does_harm) {
  const amped_read_options read = {.index_base = AMPED_BASE_AUTO, .value = "v"};
  uint64_t met = 1;
  put_file("a.csv", "user,colour,day,v\neve,blue,3,1\nbob,green,1,2\n");
  for (int64_t k = 0; met > 0; k++) {
    world w;
    amped_status status = AMPED_OK;
    begin(&w, true);
    w.request.read = &read;
    w.paths[0] = in_folder("a.csv");
    amped_mem_fail_at(comm.rank == 0 ? k : -1);
    status = open_source(&w);
    if (status == AMPED_OK)
      status = next(&w);
    if (status == AMPED_OK)
      status = amped_batch_source_accept(w.source, &w.batch);
    amped_mem_fail_at(-1);
    ck_assert(status == AMPED_OK || status == AMPED_FAILED);
    met = status != AMPED_OK;
    end(&w);
  }
  remove_file("a.csv");
}
END_TEST

/* --- before MPI starts ------------------------------------------------------------------------ */

static amped_status write_days(void) {
  amped_sptensor t;
  FILE *file = fopen(in_folder("days.tns"), "w");
  if (file == NULL || fputs(days, file) < 0 || fclose(file) != 0)
    return AMPED_FAILED;
  AMPED_TRY(amped_input_read_list(in_folder("days.tns"), &any_table, &t));
  amped_status status = amped_sptensor_sort(&t, 0);
  if (status == AMPED_OK)
    status = amped_tensor_file_write(in_folder("days.h5"), &t, true);
  if (status == AMPED_OK)
    status = amped_tensor_file_write(in_folder("list.h5"), &t, false);
  amped_sptensor_free(&t);
  AMPED_TRY(status);
  AMPED_TRY(amped_hdf5_probe(in_folder("days.h5")));
  AMPED_TRY(amped_hdf5_probe(in_folder("list.h5")));
  AMPED_TRY(amped_sptensor_create(&t, 3, 1));
  for (int m = 0; m < 3; m++) {
    t.dims[m] = 2;
    t.indices[m][0] = 1;
  }
  t.values[0] = 8.0;
  status = amped_tensor_file_write(in_folder("follow.h5"), &t, true);
  amped_sptensor_free(&t);
  return status;
}

int main(void) {
  const TTest *const tests[] = {a_folder_is_followed,
                                files_come_one_after_another,
                                the_state_says_where_indices_begin,
                                labels_grow_when_a_batch_was_learnt,
                                the_same_contents_have_the_same_hash,
                                only_the_rest_of_a_snapshot_is_a_batch,
                                only_what_comes_behind_batches_is_a_batch,
                                empty_batches_are_passed_over,
                                duplicates_are_treated,
                                what_is_no_batch_is_refused_on_all_ranks,
                                an_input_is_cut_along_a_mode,
                                a_table_is_cut_along_its_labels,
                                an_input_is_cut_into_boxes,
                                boxes_are_parsed_strictly,
                                a_missing_folder_is_refused,
                                no_allocation_that_fails_does_harm,
                                a_signal_ends_all_ranks};
  (void)setenv("CK_FORK", "no", 1);
  omp_set_num_threads(2);
  amped_log_verbosity(AMPED_QUIET);
  (void)snprintf(folder, sizeof folder, "%s", testing_path("batches"));
  bool ready = mkdir(folder, 0700) == 0 && write_days() == AMPED_OK;
  const amped_batch_request follow = {.kind = AMPED_BATCH_FOLLOW};
  ready = amped_batch_source_probe(&follow) == AMPED_OK && ready;
  ready = amped_comm_start(&comm) == AMPED_OK && ready;
  if (!ready)
    amped_comm_abort(&comm, AMPED_FAILED);
  int result = testing_run("batch_source", tests, sizeof tests / sizeof tests[0]);
  char command[300];
  (void)snprintf(command, sizeof command, "rm -r %s", folder);
  if (system(command) != 0)
    result = EXIT_FAILURE;
  amped_comm_stop(&comm);
  return result;
}
