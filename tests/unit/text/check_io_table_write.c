/* Tables out: where memory or a label fails, nothing leaks and no file stays. */
#include <string.h>
#include <unistd.h>

#include "tests/lib/testing.h"
#include "text/io_table_write.h"

static const char text[] = "ann\"bob\tx";
static const uint64_t offsets[] = {0, 4, 9};

/* Two labels, whose memory is the static one. */
static amped_labels make_labels(char *name) {
  return (amped_labels){.count = 2,
                        .name = name,
                        .bytes = (char *)(uintptr_t)text,
                        .offsets = (uint64_t *)(uintptr_t)offsets};
}

static void make_tensor(amped_sptensor *t) {
  static const uint64_t dims[] = {2, 2, 1};
  check_ok(amped_sptensor_create(t, 3, 2));
  for (int m = 0; m < 3; m++) {
    t->dims[m] = dims[m];
    for (uint64_t k = 0; k < 2; k++)
      t->indices[m][k] = m < 2 ? k : 0;
  }
  t->nnz = 2;
  t->values[0] = 1.0;
  t->values[1] = 0.5;
}

static void read_all(const char *path, char *buffer, size_t size) {
  FILE *file = fopen(path, "re");
  ck_assert_ptr_nonnull(file);
  buffer[fread(buffer, 1, size - 1, file)] = '\0';
  (void)fclose(file);
  (void)remove(path);
}

START_TEST(names_of_columns_are_distinct) {
  static char same[] = "x";
  const char *path = testing_path("names.csv");
  char got[256];
  amped_sptensor t;
  make_tensor(&t);
  t.labels[0] = make_labels(same);
  t.labels[1] = make_labels(same);
  check_ok(amped_table_write_tensor(path, &t));
  read_all(path, got, sizeof got);
  ck_assert_str_eq(got, "x,x_2,mode3,value\n\"ann\"\"\",\"ann\"\"\",1,1\nbob\tx,bob\tx,1,0.5\n");
  memset(t.labels, 0, sizeof t.labels);
  amped_sptensor_free(&t);
  check_no_leak();
}

START_TEST(labels_that_tsv_cannot_hold_are_refused) {
  const char *path = testing_path("labels.tsv");
  amped_sptensor t;
  make_tensor(&t);
  t.labels[1] = make_labels(NULL);
  check_fails(AMPED_BAD_INPUT, "the label 'bob\\u0009x' holds a tab",
              amped_table_write_tensor(path, &t));
  ck_assert_int_ne(access(path, F_OK), 0);
  memset(t.labels, 0, sizeof t.labels);
  amped_sptensor_free(&t);
  check_no_leak();
}

START_TEST(a_result_has_two_tables) {
  static const uint64_t dims[] = {2, 1, 1};
  const char *path = testing_path("result.csv");
  char *weights = NULL;
  char got[512];
  amped_ktensor k;
  check_ok(amped_ktensor_create(&k, 3, dims, 2));
  k.labels[0] = make_labels(NULL);
  k.weights[0] = 1.0;
  k.weights[1] = 2.0; /* the first component of users */
  for (int m = 0; m < 3; m++)
    for (uint64_t i = 0; i < 2 * dims[m]; i++)
      k.factors[m][i] = 10.0 * (m + 1) + (double)i;
  check_ok(amped_table_weights_name(path, &weights));
  check_ok(amped_table_write_result(path, &k, NULL));
  read_all(path, got, sizeof got);
  ck_assert_str_eq(got, "component,mode,label,weight\n"
                        "1,1,\"ann\"\"\",11\n1,1,bob\tx,13\n1,2,1,21\n1,3,1,31\n"
                        "2,1,\"ann\"\"\",10\n2,1,bob\tx,12\n2,2,1,20\n2,3,1,30\n");
  read_all(weights, got, sizeof got);
  ck_assert_str_eq(got, "component,weight\n1,2\n2,1\n");

  int64_t live = amped_mem_live();
  amped_status status = AMPED_FAILED;
  for (int64_t n = 0; status != AMPED_OK; n++) {
    ck_assert_int_le(n, 100);
    amped_mem_fail_at(n);
    status = amped_table_write_result(path, &k, NULL);
    amped_mem_fail_at(-1);
    amped_status_clear();
    ck_assert_int_eq(amped_mem_live(), live);
    ck_assert(status == AMPED_OK || access(path, F_OK) != 0);
  }
  (void)remove(path);
  (void)remove(weights);
  amped_free(weights);
  memset(k.labels, 0, sizeof k.labels);
  amped_ktensor_free(&k);
  check_no_leak();
}

START_TEST(failing_memory_leaves_no_table) {
  const char *path = testing_path("memory.csv");
  amped_sptensor t;
  amped_status status = AMPED_FAILED;
  make_tensor(&t);
  int64_t live = amped_mem_live();
  for (int64_t n = 0; status != AMPED_OK; n++) {
    ck_assert_int_le(n, 100);
    amped_mem_fail_at(n);
    status = amped_table_write_tensor(path, &t);
    amped_mem_fail_at(-1);
    amped_status_clear();
    ck_assert_int_eq(amped_mem_live(), live);
    ck_assert(status == AMPED_OK || access(path, F_OK) != 0);
  }
  (void)remove(path);
  amped_sptensor_free(&t);
  check_no_leak();
}

TESTING_MAIN("io_table_write", names_of_columns_are_distinct,
             labels_that_tsv_cannot_hold_are_refused, a_result_has_two_tables,
             failing_memory_leaves_no_table)
