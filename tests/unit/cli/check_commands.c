/* The serial commands that write: convert, generate and top, called as the program calls them. */
#include <fcntl.h>
#include <jansson.h>
#include <math.h>

#include "cli/commands.h"
#include "tensor/format.h"
#include "text/io_result.h"
#include "base/random.h"
#include "hdf5/hdf5_probe.h"
#include "formats/result_file.h"
#include "formats/tensor_file.h"
#include "tests/lib/testing.h"

/* Names used by one test; removed at its end. */
static char paths[16][512];
static int npaths;

static const char *scratch(const char *name) {
  (void)snprintf(paths[npaths], sizeof paths[0], "%s", testing_path(name));
  return paths[npaths++];
}

static void clean(void) {
  while (npaths > 0)
    (void)unlink(paths[--npaths]);
  check_no_leak();
}

static amped_options options(const char *in, const char *out) {
  amped_options o = {.command = amped_command_find(out != NULL ? "convert" : "info"),
                     .nargs = out != NULL ? 2 : 1,
                     .args = {in, out},
                     .session.shape.scale = 1.0,
                     .seed = 1,
                     .top = 10};
  o.read.index_base = AMPED_BASE_AUTO;
  o.threads = 2;
  amped_log_verbosity(AMPED_QUIET);
  o.overwrite = true; /* a case writes a file several times */
  return o;
}

static void load(const char *path, amped_sptensor *t) {
  check_ok(amped_tensor_file_load(path, false, NULL, t));
}

static bool exists(const char *path) {
  return access(path, F_OK) == 0;
}

START_TEST(convert_adds_up_duplicates_and_drops_zeros_on_request) {
  static const char text[] = "2 1 1 5\n1 1 1 1\n1 1 1 2\n1 2 1 3\n1 2 1 -3\n1 1 3 0\n";
  const char *in = scratch("a.tns");
  const char *out = scratch("a.h5");
  amped_options o = options(in, out);
  amped_sptensor t;
  testing_write_file(in, text, sizeof text - 1);
  check_ok(amped_cmd_convert(&o));
  load(out, &t);
  ck_assert_uint_eq(t.nnz, 4);
  ck_assert(t.values[0] == 3.0 && t.values[1] == 0.0 && t.values[2] == 0.0 && t.values[3] == 5.0);
  amped_sptensor_free(&t);
  o.convert.drop_zeros = true;
  check_ok(amped_cmd_convert(&o));
  load(out, &t);
  ck_assert_uint_eq(t.nnz, 2);
  ck_assert_uint_eq(t.dims[2], 3);
  amped_sptensor_free(&t);
  o.convert.drop_zeros = false;
  o.read.duplicates = AMPED_DUPLICATES_KEEP;
  check_ok(amped_cmd_convert(&o));
  load(out, &t);
  ck_assert_uint_eq(t.nnz, 6);
  amped_sptensor_free(&t);
  clean();
}

START_TEST(convert_refuses_without_leaving_a_file) {
  static const char twice[] = "1 1 1 3\n1 1 1 2\n";
  static const char zeros[] = "1 1 1 0\n1 1 2 0\n";
  const char *in = scratch("b.tns");
  const char *out = scratch("b.h5");
  amped_options o = options(in, out);
  testing_write_file(in, twice, sizeof twice - 1);
  o.read.duplicates = AMPED_DUPLICATES_ERROR;
  check_fails(AMPED_BAD_INPUT, "the first is (1, 1, 1)", amped_cmd_convert(&o));
  testing_write_file(in, zeros, sizeof zeros - 1);
  o.convert.drop_zeros = true;
  check_fails(AMPED_BAD_INPUT, "nothing remains", amped_cmd_convert(&o));
  ck_assert(!exists(out));
  o = options(in, in);
  check_fails(AMPED_USAGE, "is an input of this run", amped_cmd_convert(&o));
  o = options(in, "no/such/folder/b.h5");
  check_fails(AMPED_FAILED, "cannot be written", amped_cmd_convert(&o));
  o = options("no-such-file.tns", out);
  check_fails(AMPED_BAD_INPUT, "cannot be read", amped_cmd_convert(&o));
  o = options(in, "-");
  o.json = "-";
  check_fails(AMPED_USAGE, "would mix", amped_cmd_convert(&o));
  ck_assert(!exists(out));
  clean();
}

/* Give the model the signs that a result has. */
static void set_signs(amped_ktensor *k) {
  const uint64_t n = (uint64_t)k->ncomps;
  amped_signs signs;
  amped_signs_find(k, &signs);
  for (int m = 0; m < k->order; m++)
    for (uint64_t i = 0; i < k->dims[m] * n; i++)
      if (signs.negated[m][i % n])
        k->factors[m][i] = 0.0 - k->factors[m][i];
}

/* A result of random entries with ties, zeros, labels in one mode, and weights out of order. */
static void make_result(const char *path, amped_ktensor *k) {
  static const uint64_t dims[] = {30, 4, 7};
  check_ok(amped_ktensor_create(k, 3, dims, 5));
  for (uint64_t r = 0; r < 5; r++)
    k->weights[r] = (double)(10 - r);
  for (int m = 0; m < 3; m++)
    for (uint64_t i = 0; i < dims[m] * 5; i++)
      k->factors[m][i] = (double)(amped_random_u64(4, (uint64_t)m, i) % 11) - 5.0;
  set_signs(k);
  amped_labels *labels = &k->labels[1];
  labels->count = 4;
  check_ok(amped_strdup(&labels->name, "user"));
  check_ok(amped_strdup(&labels->bytes, "ab\xc3\xa4\n"));
  check_ok(amped_calloc(&labels->offsets, 5, sizeof(uint64_t), "labels"));
  for (uint64_t i = 0; i < 4; i++)
    labels->offsets[i + 1] = (uint64_t[]){1, 2, 4, 5}[i];
  amped_run_record record = {
      .input = "x", .options = "{}", .stop_reason = "iterations", .metric = "fit"};
  check_ok(amped_result_file_write(path, k, &record));
}

/* The i-th leading index of a column, by repeated search. */
static uint64_t slow_leading(const amped_ktensor *k, int m, int r, uint64_t place) {
  bool taken[64] = {false};
  uint64_t best = 0;
  for (uint64_t i = 0; i <= place; i++) {
    double most = -1.0;
    for (uint64_t j = 0; j < k->dims[m]; j++) {
      double x = fabs(k->factors[m][j * (uint64_t)k->ncomps + (uint64_t)r]);
      if (!taken[j] && x > most) {
        most = x;
        best = j;
      }
    }
    taken[best] = true;
  }
  return best;
}

static void check_top_line(const json_t *line, const amped_ktensor *k, int place, int n) {
  json_t *modes = json_object_get(line, "modes");
  ck_assert(json_integer_value(json_object_get(line, "component")) == place + 1);
  ck_assert(json_real_value(json_object_get(line, "weight")) == k->weights[place]);
  for (int m = 0; m < 3; m++) {
    json_t *items = json_object_get(json_array_get(modes, (size_t)m), "leading");
    uint64_t nonzeros = 0;
    for (uint64_t j = 0; j < k->dims[m]; j++)
      nonzeros += k->factors[m][j * 5 + (uint64_t)place] != 0.0;
    ck_assert_uint_eq(json_array_size(items), nonzeros < (uint64_t)n ? nonzeros : (uint64_t)n);
    for (size_t i = 0; i < json_array_size(items); i++) {
      json_t *item = json_array_get(items, i);
      uint64_t index = slow_leading(k, m, place, i);
      ck_assert_uint_eq((uint64_t)json_integer_value(json_object_get(item, "index")), index);
      ck_assert(json_real_value(json_object_get(item, "entry")) ==
                k->factors[m][index * 5 + (uint64_t)place]);
      ck_assert(m == 1 ? json_is_string(json_object_get(item, "label"))
                       : json_is_null(json_object_get(item, "label")));
    }
  }
}

START_TEST(top_finds_the_leading_entries_by_absolute_value) {
  const char *path = scratch("top.h5");
  const char *json = scratch("top.json");
  amped_ktensor k;
  make_result(path, &k);
  for (int n = 1; n <= 40; n += 3) {
    amped_options o = options(path, NULL);
    o.json = json;
    o.top = n;
    check_ok(amped_cmd_top(&o));
    FILE *file = fopen(json, "r");
    ck_assert_ptr_nonnull(file);
    for (int place = 0; place < 5; place++) {
      json_t *line = json_loadf(file, JSON_DISABLE_EOF_CHECK, NULL);
      ck_assert_ptr_nonnull(line);
      check_top_line(line, &k, place, n);
      json_decref(line);
    }
    (void)fclose(file);
  }
  amped_ktensor_free(&k);
  clean();
}

/* The doubles of a .npy file behind its header, which must say what numpy asks for. */
static void check_npy(const char *path, const char *shape, const double *expected, size_t count) {
  unsigned char bytes[4096];
  FILE *file = fopen(path, "r");
  ck_assert_ptr_nonnull(file);
  size_t n = fread(bytes, 1, sizeof bytes, file);
  (void)fclose(file);
  ck_assert(memcmp(bytes, "\x93NUMPY\x01\x00", 8) == 0);
  size_t header = 10 + bytes[8] + 256U * bytes[9];
  ck_assert_uint_eq(header % 64, 0);
  ck_assert_uint_eq(n, header + count * sizeof(double));
  ck_assert_int_eq(bytes[header - 1], '\n');
  bytes[header - 1] = '\0';
  ck_assert(strstr((char *)bytes + 10, shape) != NULL);
  ck_assert(strstr((char *)bytes + 10, "'fortran_order': False") != NULL);
  ck_assert(memcmp(bytes + header, expected, count * sizeof(double)) == 0);
}

START_TEST(results_convert_to_npy_and_text) {
  const char *path = scratch("r.h5");
  const char *weights = scratch("r.weights.npy");
  const char *factor = scratch("r.mode1.npy");
  const char *text = scratch("r.mode1.txt");
  amped_ktensor k;
  scratch("r.mode0.npy");
  scratch("r.mode2.npy");
  scratch("r.weights.txt");
  scratch("r.mode0.txt");
  scratch("r.mode2.txt");
  make_result(path, &k);
  amped_options o = options(path, testing_path("r.npy"));
  check_ok(amped_cmd_convert(&o));
  check_npy(weights, "'shape': (5,)", k.weights, 5);
  check_npy(factor, "'shape': (4, 5)", k.factors[1], 20);
  k.factors[1][7] = 0.1;
  check_ok(amped_io_result_write(testing_path("r.txt"), &k, NULL));
  FILE *file = fopen(text, "r");
  ck_assert_ptr_nonnull(file);
  for (size_t i = 0; i < 20; i++) {
    double x = 0.0;
    char end = 0;
    ck_assert_int_eq(fscanf(file, "%lf%c", &x, &end), 2);
    ck_assert(x == k.factors[1][i] && end == (i % 5 == 4 ? '\n' : ' '));
  }
  ck_assert_int_eq(fgetc(file), EOF);
  (void)fclose(file);
  o = options(path, "r.tns");
  check_fails(AMPED_USAGE, ".npy or .txt", amped_cmd_convert(&o));
  o = options(path, "-");
  check_fails(AMPED_USAGE, ".npy or .txt", amped_cmd_convert(&o));
  o = options(path, "no/folder/r.npy");
  check_fails(AMPED_FAILED, "cannot be written", amped_cmd_convert(&o));
  amped_ktensor_free(&k);
  clean();
}

static void check_has_dataset(const char *path, const char *name) {
  amped_hdf5 file;
  bool exists = false;
  check_ok(amped_hdf5_open(path, &file));
  check_ok(amped_hdf5_exists(&file, name, &exists));
  ck_assert_msg(exists, "%s has no %s", path, name);
  amped_hdf5_close(&file);
}

/* The text of a file, in a buffer that the next call overwrites. */
static const char *text_of(const char *path) {
  static char text[1 << 16];
  FILE *file = fopen(path, "r");
  ck_assert_ptr_nonnull(file);
  text[fread(text, 1, sizeof text - 1, file)] = '\0';
  (void)fclose(file);
  return text;
}

static void check_contains(const char *path, const char *what) {
  const char *text = text_of(path);
  ck_assert_msg(strstr(text, what) != NULL, "%s lacks \"%s\": %s", path, what, text);
}

/* A command's lines for the user, in a file. */
static void run_into(const char *path, amped_status (*command)(const amped_options *),
                     const amped_options *o) {
  const int kept = dup(STDOUT_FILENO);
  const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  ck_assert(kept >= 0 && file >= 0 && fflush(stdout) == 0 && dup2(file, STDOUT_FILENO) >= 0);
  amped_log_verbosity(AMPED_NORMAL);
  amped_status status = command(o);
  amped_log_verbosity(AMPED_QUIET);
  ck_assert(fflush(stdout) == 0 && dup2(kept, STDOUT_FILENO) >= 0);
  (void)close(file);
  (void)close(kept);
  check_ok(status);
}

/* No gnuplot in the PATH: there is no picture, but the script is written. */
static void plot_without_gnuplot(const char *in, const char *script) {
  const char *picture = scratch("m.svg");
  amped_options o = options(in, NULL);
  o.output = picture;
  ck_assert_int_eq(setenv("PATH", "/nowhere", 1), 0);
  check_fails(AMPED_FAILED, "gnuplot is not installed", amped_cmd_plot(&o));
  ck_assert(!exists(picture));
  o.output = script;
  check_ok(amped_cmd_plot(&o));
}

/* The result of a solver whose metric falls and has no bound of 1, and the JSON lines of its run.
 * Nothing but the files names the metric. */
START_TEST(results_of_any_metric_are_shown_and_drawn) {
  static const uint64_t dims[] = {3, 2, 2};
  static const double history[] = {7.5, 2.25};
  static const char run[] =
      "{\"event\": \"iteration\", \"sweep\": 1, \"metric\": \"rmse\", \"rmse\": 7.5, \"seconds\": "
      "1, "
      "\"mttkrp_seconds\": {\"min\": 1, \"mean\": 1, \"max\": 1}, \"solve_seconds\": 0, "
      "\"exchange_seconds\": 0}\n";
  const char *path = scratch("m.h5");
  const char *lines = scratch("run.json");
  const char *told = scratch("m.txt");
  const char *json = scratch("m.json");
  const char *script = scratch("m.gp");
  double starts[] = {2.25, 3.5};
  uint64_t seeds[] = {1, 2};
  const double match[] = {1.0, 0.5, 0.5, 1.0};
  amped_ktensor k;
  check_ok(amped_ktensor_create(&k, 3, dims, 1));
  const amped_run_record record = {.input = "x",
                                   .options = "{}",
                                   .stop_reason = "iterations",
                                   .metric = "rmse",
                                   .history = history,
                                   .sweeps = 2,
                                   .starts = {.count = 2,
                                              .seeds = seeds,
                                              .sweeps = seeds,
                                              .normal = seeds,
                                              .values = starts,
                                              .match = match}};
  check_ok(amped_result_file_write(path, &k, &record));
  amped_ktensor_free(&k);

  amped_options o = options(path, NULL);
  o.json = json;
  run_into(told, amped_cmd_info, &o);
  check_contains(told, "\nrmse         2.25 after 2 sweeps\n");
  check_contains(told, "best of      2 starts, rmses 2.25 to 3.5\n");
  json_t *object = json_load_file(json, 0, NULL);
  ck_assert_str_eq(json_string_value(json_object_get(object, "metric")), "rmse");
  ck_assert_double_eq(json_number_value(json_object_get(object, "rmse")), 2.25);
  ck_assert_ptr_null(json_object_get(object, "fit"));
  json_decref(object);
  run_into(told, amped_cmd_top, &o);
  check_contains(told, "rmse 2.25 after 2 sweeps\n");

  plot_without_gnuplot(path, script);
  check_contains(script, "set title 'rmse 2.25 after 2 sweeps'");
  check_contains(script, "$metric << END\n# rmse\n1\t7.5\n2\t2.25\nEND\n");
  testing_write_file(lines, run, sizeof run - 1);
  plot_without_gnuplot(lines, script);
  check_contains(script, "# sweep\trmse\tseconds");
  check_contains(script, "1\t7.5\t1\t");
  check_contains(script, "set title 'rmse over sweeps'");
  check_contains(script, "set title 'rmse over time'");
  clean();
}

START_TEST(generate_writes_the_tensor_and_its_planted_model) {
  const char *path = scratch("g.h5");
  const char *model = scratch("g.planted.h5");
  amped_options o = options(path, NULL);
  amped_sptensor t;
  amped_ktensor k;
  o.read.dims_order = 3;
  memcpy(o.read.dims, (uint64_t[]){40, 30, 20}, 3 * sizeof(uint64_t));
  o.session.shape.nnz = 500;
  o.session.shape.skew_count = 1;
  o.session.shape.skew[0] = 1.0;
  check_ok(amped_cmd_generate(&o));
  load(path, &t);
  ck_assert_uint_eq(t.nnz, 500);
  amped_sptensor_free(&t);
  ck_assert(!exists(model));
  o.session.shape.skew_count = 0;
  o.generate.planted = 3;
  check_ok(amped_cmd_generate(&o));
  check_ok(amped_result_file_read(model, &k));
  check_has_dataset(model, "/fit");
  load(path, &t);
  ck_assert_int_eq(k.ncomps, 3);
  bool equal = true;
  for (uint64_t n = 0; n < t.nnz; n++) {
    double sum = 0.0;
    for (uint64_t r = 0; r < 3; r++)
      sum += k.weights[r] * k.factors[0][t.indices[0][n] * 3 + r] *
             k.factors[1][t.indices[1][n] * 3 + r] * k.factors[2][t.indices[2][n] * 3 + r];
    /* Weights and unit columns: some roundings of positive terms. */
    equal = equal && fabs(sum - t.values[n]) <= 1e-14 * t.values[n];
  }
  ck_assert(equal);
  amped_sptensor_free(&t);
  amped_ktensor_free(&k);
  clean();
}

START_TEST(generate_refuses_what_its_model_cannot_be) {
  amped_options o = options("g.h5", NULL);
  o.read.dims_order = 3;
  o.read.dims[0] = o.read.dims[1] = o.read.dims[2] = 9;
  o.session.shape.nnz = 10;
  o.session.shape.skew_count = 2;
  check_fails(AMPED_USAGE, "2 exponents", amped_cmd_generate(&o));
  o.session.shape.skew_count = 0;
  o.generate.planted = 1;
  o.args[0] = "-";
  check_fails(AMPED_USAGE, "instead of -", amped_cmd_generate(&o));
  check_no_leak();
}

START_TEST(json_takes_text_of_any_bytes) {
  json_t *text = amped_json_text("a\xff\0b", 4);
  ck_assert_str_eq(json_string_value(text), "a\\xff\\u0000b");
  json_decref(text);
  text = amped_json_text(NULL, 0);
  ck_assert_str_eq(json_string_value(text), "");
  json_decref(text);
  text = amped_json_count(UINT64_C(1) << 63);
  ck_assert(json_is_real(text));
  json_decref(text);
}

TESTING_MAIN("commands", convert_adds_up_duplicates_and_drops_zeros_on_request,
             convert_refuses_without_leaving_a_file,
             top_finds_the_leading_entries_by_absolute_value, results_convert_to_npy_and_text,
             results_of_any_metric_are_shown_and_drawn,
             generate_writes_the_tensor_and_its_planted_model,
             generate_refuses_what_its_model_cannot_be, json_takes_text_of_any_bytes)
