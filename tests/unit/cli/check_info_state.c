/* info STATE: what it tells, with and without --verify, before and after batches. */
#include <jansson.h>
#include <math.h>

#include "base/log.h"
#include "cli/commands.h"
#include "state/state_file.h"
#include "tests/lib/testing.h"

static char path[256];

/* A state of 4 + b x 3 x 2, whose first mode has labels. */
static amped_state_head head_of(uint64_t b) {
  amped_state_head h;
  memset(&h, 0, sizeof h);
  h.order = 3;
  h.ncomps = 3;
  h.biased = true;
  h.type = AMPED_F64;
  h.history = AMPED_HISTORY_MODEL;
  h.history_length = 1;
  h.scale = 2.0;
  h.forget = 0.5;
  h.least = 0.5;
  h.most = 5.0;
  h.keep = 2;
  h.duplicates = AMPED_DUPLICATES_LAST;
  h.growing = 0;
  h.dims[0] = 4 + b;
  h.dims[1] = 3;
  h.dims[2] = 2;
  for (int m = 0; m < 3; m++)
    h.pull[m] = 1.0;
  h.errors[AMPED_STATE_BEFORE] = (amped_state_errors){4, 16.0, 8.0, 4.0};
  return h;
}

static void learn(amped_state_file *file, uint64_t b) {
  const amped_state_head head = head_of(b);
  char names[] = "user1user2user3user4user5user6user7";
  char name[] = "user";
  uint64_t offsets[9];
  const double zeros[8 * 3] = {0.0};
  const double *const sums[3] = {zeros, zeros, zeros}; /* 4 x 4 */
  const uint64_t touched[8] = {b, b, b, b, b, b, b, b};
  uint64_t indices[8];
  amped_labels added[3];
  amped_sptensor held;
  memset(added, 0, sizeof added);
  for (uint64_t i = 0; i < 8; i++) {
    indices[i] = b == 1 ? i : 3 + b;
    offsets[i] = 5 * i;
  }
  added[0] = (amped_labels){.count = b == 1 ? 5 : 1,
                            .name = name,
                            .bytes = names + (b == 1 ? 0 : 25 + 5 * (b - 2)),
                            .offsets = offsets};
  check_ok(amped_sptensor_create(&held, 3, 2));
  for (uint64_t i = 0; i < 2; i++) {
    for (int m = 0; m < 3; m++)
      held.indices[m][i] = i;
    held.values[i] = 1.0;
  }
  for (int m = 0; m < 3; m++)
    check_ok(amped_state_file_put(file, m,
                                  b == 1   ? head.dims[m]
                                  : m == 0 ? 1
                                           : 0,
                                  indices, zeros, zeros, touched));
  const amped_state_change change = {.head = &head,
                                     .added = added,
                                     .entries = {&held},
                                     .batch = {b == 1 ? "a.csv" : "b.csv", b, 10},
                                     .sums = sums};
  check_ok(amped_state_file_commit(file, &change));
  amped_sptensor_free(&held);
}

static json_t *tell(bool verify) {
  const char *lines = testing_path("info.json");
  amped_options o;
  memset(&o, 0, sizeof o);
  o.args[0] = path;
  o.json = lines;
  o.overwrite = true;
  o.info.verify = verify;
  o.read.index_base = AMPED_BASE_AUTO;
  check_ok(amped_cmd_info(&o));
  json_t *object = json_load_file(lines, 0, NULL);
  ck_assert_ptr_nonnull(object);
  ck_assert_int_eq(unlink(lines), 0);
  return object;
}

static void remove_all(void) {
  char journal[300];
  (void)snprintf(journal, sizeof journal, "%s.journal", path);
  (void)unlink(journal);
  (void)unlink(path);
}

START_TEST(a_state_is_told) {
  const amped_state_head head = head_of(1);
  amped_state_file *file = NULL;
  amped_log_verbosity(AMPED_QUIET);
  (void)snprintf(path, sizeof path, "%s", testing_path("state.h5"));
  check_ok(amped_state_file_create(path, &head, &file));
  learn(file, 1);
  for (int verify = 0; verify < 2; verify++) {
    json_t *o = tell(verify == 1);
    ck_assert_str_eq(json_string_value(json_object_get(o, "kind")), "state");
    ck_assert_str_eq(json_string_value(json_object_get(o, "history")), "model");
    ck_assert_str_eq(json_string_value(json_object_get(o, "input")), "a.csv");
    ck_assert_str_eq(json_string_value(json_object_get(o, "duplicates")), "last");
    ck_assert_int_eq(json_integer_value(json_object_get(o, "batches")), 1);
    ck_assert_int_eq(json_integer_value(json_object_get(o, "ncomps")), 2);
    ck_assert(json_real_value(json_object_get(json_object_get(o, "before"), "rmse")) == 2.0);
    ck_assert(json_is_null(json_object_get(json_object_get(o, "after"), "rmse")));
    ck_assert_int_eq(json_is_true(json_object_get(o, "content_hash")), verify);
    json_decref(o);
  }
  learn(file, 2);
  learn(file, 3);
  json_t *o = tell(true); /* beside the stream that holds it */
  ck_assert_int_eq(json_integer_value(json_object_get(o, "batches")), 3);
  ck_assert_int_eq(json_integer_value(json_object_get(o, "nnz")), 30);
  ck_assert_int_eq(json_integer_value(json_object_get(o, "held")), 2);
  ck_assert_int_eq(json_integer_value(json_array_get(json_object_get(o, "dims"), 0)), 7);
  ck_assert_int_eq(json_integer_value(json_array_get(json_object_get(o, "first_dims"), 0)), 5);
  ck_assert_int_eq(json_integer_value(json_array_get(json_object_get(o, "labels"), 0)), 7);
  ck_assert_str_eq(json_string_value(json_array_get(json_object_get(o, "mode_names"), 0)), "user");
  ck_assert_str_eq(json_string_value(json_object_get(o, "last_batch")), "b.csv");
  json_decref(o);
  amped_state_file_close(file);
  remove_all();
  check_no_leak();
}
END_TEST

TESTING_MAIN("info_state", a_state_is_told)
