/* Sealed: damage that checksums of chunks miss is found by hashes of the content. Mutants of all
 * files that AMPED writes are refused, or every value that is read is unchanged.
 *
 * AMPED_SEALED_COUNT=N in the environment: mutants of every kind and file. */
#include "base/random.h"
#include "hdf5/hdf5_chunks.h"
#include "formats/completion_file.h"
#include "formats/result_file.h"
#include "formats/tensor_file.h"
#include "session/checkpoint_file.h"
#include "tests/lib/testing_hostile.h"

#define COUNT 20

static void digest(uint64_t *sum, const void *bytes, uint64_t count) {
  const unsigned char *p = bytes;
  for (uint64_t i = 0; i < count; i++)
    *sum = (*sum ^ p[i]) * UINT64_C(0x100000001B3);
}

static void digest_text(uint64_t *sum, const char *text) {
  digest(sum, text, strlen(text) + 1);
}

static void digest_labels(uint64_t *sum, const amped_labels *l) {
  digest(sum, &l->count, sizeof l->count);
  if (l->count == 0)
    return;
  digest(sum, l->offsets, (l->count + 1) * sizeof *l->offsets);
  digest(sum, l->bytes, l->offsets[l->count]);
  digest_text(sum, l->name);
}

static void digest_model(uint64_t *sum, const amped_ktensor *k) {
  digest(sum, k->dims, sizeof k->dims);
  digest(sum, k->weights, (uint64_t)k->ncomps * sizeof *k->weights);
  for (int m = 0; m < k->order; m++) {
    digest(sum, k->factors[m], k->dims[m] * (uint64_t)k->ncomps * sizeof *k->factors[m]);
    digest_labels(sum, &k->labels[m]);
  }
}

/* --- the files -------------------------------------------------------------------------------- */

static const uint64_t dims[] = {5, 300, 9};

/* Values have words of zeros, which exchange with words of ones. */
static void write_tensor(const char *path, bool copies) {
  amped_sptensor t;
  check_ok(amped_sptensor_create(&t, 3, 400));
  for (uint64_t k = 0; k < 400; k++) {
    for (int m = 0; m < 3; m++)
      t.indices[m][k] = amped_random_u64(5, (uint64_t)m, k) % dims[m];
    t.values[k] = (double)(k % 7) - 2.0;
  }
  memcpy(t.dims, dims, sizeof dims);
  give_labels(&t.labels[1], dims[1]);
  check_ok(amped_sptensor_sort(&t, 0));
  check_ok(amped_tensor_file_write(path, &t, copies));
  amped_sptensor_free(&t);
}

static void write_copies(const char *path) {
  write_tensor(path, true);
}

static void write_list(const char *path) {
  write_tensor(path, false);
}

static void make_model(amped_ktensor *k) {
  check_ok(amped_ktensor_create(k, 3, dims, 4));
  for (int r = 0; r < 4; r++)
    k->weights[r] = 4.0 - r;
  for (int m = 0; m < 3; m++)
    for (uint64_t i = 0; i < dims[m] * 4; i++)
      k->factors[m][i] = (double)(amped_random_u64(1, (uint64_t)m, i) % 64) / 64.0 - 0.5;
}

static void write_result(const char *path) {
  static const double fit[] = {0.25, 0.5};
  static const double match[] = {1.0, 0.75, 0.75, 1.0};
  static const double consistency = 93.5;
  uint64_t seeds[] = {7, 8};
  uint64_t sweeps[] = {2, 2};
  double fits[] = {0.5, 0.25};
  const amped_run_record record = {.input = "x.h5",
                                   .input_norm = 3.5,
                                   .input_hash = UINT64_C(0xFEDCBA9876543210),
                                   .options = "{\"rank\": 4}",
                                   .stop_reason = "tolerance",
                                   .metric = "fit",
                                   .history = fit,
                                   .sweeps = 2,
                                   .starts = {.count = 2,
                                              .seeds = seeds,
                                              .sweeps = sweeps,
                                              .normal = seeds,
                                              .values = fits,
                                              .match = match},
                                   .corcondia = &consistency};
  amped_ktensor k;
  make_model(&k);
  give_labels(&k.labels[1], dims[1]);
  check_ok(amped_result_file_write(path, &k, &record));
  amped_ktensor_free(&k);
}

static void write_completion(const char *path) {
  static const double errors[] = {0.5, 0.25};
  amped_ktensor k;
  amped_completion c;
  const amped_run_record record = {.input = "x.h5",
                                   .options = "{\"rank\": 4}",
                                   .stop_reason = "patience",
                                   .metric = "rmse",
                                   .completion = &c};
  make_model(&k);
  check_ok(amped_completion_create(&c, 3, dims, true));
  for (int m = 0; m < 3; m++)
    for (uint64_t i = 0; i < dims[m]; i++)
      c.bias[m][i] = (double)(i % 7) - 2.0;
  c.mean = 3.5;
  c.scale = 1.25;
  c.context[2] = true;
  c.reg = 0.5;
  c.split_seed = 7;
  c.holdout = 0.05;
  c.best_sweep = 2;
  for (int s = 0; s < AMPED_COMPLETION_SETS; s++)
    check_ok(amped_completion_set_errors(&c, s, errors, 2));
  check_ok(amped_completion_normalise(&c, 0, &k));
  check_ok(amped_result_file_write(path, &k, &record));
  amped_completion_free(&c);
  amped_ktensor_free(&k);
}

static const amped_checkpoint_key key = {.order = 3,
                                         .dims = {5, 300, 9},
                                         .nnz = 400,
                                         .hash = 6,
                                         .ncomps = 4,
                                         .precision = AMPED_F32,
                                         .seed = 7,
                                         .init = "random",
                                         .metric = "fit",
                                         .has_grams = true};

static void write_checkpoint(const char *path) {
  amped_ktensor k;
  amped_solver_state state;
  make_model(&k);
  check_ok(amped_solver_state_create(&state, 3, 4, 2, true));
  state.metric = "fit";
  memcpy(state.history, (double[]){0.25, 0.5}, 2 * sizeof(double));
  for (int r = 0; r < 4; r++)
    state.weights[r] = 4.0 - r;
  for (int m = 0; m < 3; m++)
    for (int i = 0; i < 16; i++)
      state.grams[m][i] = m + i;
  check_ok(amped_checkpoint_file_write(path, true, &key, &k, &state));
  amped_solver_state_free(&state);
  amped_ktensor_free(&k);
}

/* --- reading all that they hold --------------------------------------------------------------- */

/* As info --verify does. */
static amped_status verify_tensor(const char *path, uint64_t *sum) {
  amped_tensor_file *file = NULL;
  AMPED_TRY(amped_tensor_file_open(path, &file));
  const amped_tensor_info *info = amped_tensor_file_info(file);
  amped_status status = amped_tensor_file_verify(file);
  digest(sum, info->dims, sizeof info->dims);
  digest(sum, &info->norm_squared, sizeof info->norm_squared);
  digest(sum, &info->hash, sizeof info->hash);
  for (int m = 0; m < info->order; m++) {
    const amped_partition *p = &info->partitions[m];
    amped_labels labels = {.count = 0};
    digest(sum, &p->width, sizeof p->width);
    digest(sum, p->idp_nnz, p->idp_count * sizeof *p->idp_nnz);
    if (status == AMPED_OK)
      status = amped_tensor_file_labels(file, m, &labels);
    if (status == AMPED_OK)
      digest_labels(sum, &labels);
    amped_labels_free(&labels);
  }
  digest(sum, info->dictionary.values, info->dictionary.count * sizeof(double));
  amped_tensor_file_close(file);
  return status;
}

/* As convert does. */
static amped_status load_tensor(const char *path, uint64_t *sum) {
  amped_sptensor t;
  AMPED_TRY(amped_tensor_file_load(path, false, NULL, &t));
  digest(sum, t.dims, sizeof t.dims);
  for (int m = 0; m < t.order; m++) {
    digest(sum, t.indices[m], t.nnz * sizeof *t.indices[m]);
    digest_labels(sum, &t.labels[m]);
  }
  digest(sum, t.values, t.nnz * sizeof *t.values);
  amped_sptensor_free(&t);
  return AMPED_OK;
}

static amped_status verify_result(const char *path, uint64_t *sum) {
  bool sealed = false;
  (void)sum;
  return amped_result_file_verify(path, &sealed);
}

/* As info, top, plot and --init do. */
static amped_status read_result(const char *path, uint64_t *sum) {
  static const char *const texts[] = {"amped_format", "options", "version", "input", "stop_reason"};
  amped_ktensor k;
  amped_result_metric metric;
  char text[256];
  double number = 0.0;
  AMPED_TRY(amped_result_file_metric(path, true, &metric));
  digest_text(sum, metric.name);
  digest(sum, metric.sweeps.values, metric.sweeps.count * sizeof(double));
  digest(sum, metric.starts.values, metric.starts.count * sizeof(double));
  amped_result_metric_free(&metric);
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    AMPED_TRY(amped_result_file_text(path, texts[i], text, sizeof text));
    digest_text(sum, text);
  }
  AMPED_TRY(amped_result_file_number(path, "corcondia", &number));
  digest(sum, &number, sizeof number);
  AMPED_TRY(amped_result_file_read(path, &k));
  digest_model(sum, &k);
  amped_ktensor_free(&k);
  return AMPED_OK;
}

/* As info and predict do. */
static amped_status read_completion(const char *path, uint64_t *sum) {
  amped_ktensor k;
  amped_completion c = {.order = 0};
  amped_status status = amped_result_file_read(path, &k);
  if (status == AMPED_OK)
    status = amped_completion_file_read(path, k.order, k.dims, true, &c);
  if (status == AMPED_OK) {
    digest_model(sum, &k);
    digest(sum, &c.mean, sizeof c.mean);
    digest(sum, &c.scale, sizeof c.scale);
    digest(sum, c.context, sizeof c.context);
    digest(sum, &c.reg, sizeof c.reg);
    digest(sum, &c.split_seed, sizeof c.split_seed);
    digest(sum, &c.holdout, sizeof c.holdout);
    digest(sum, &c.best_sweep, sizeof c.best_sweep);
    for (int m = 0; m < c.order; m++)
      digest(sum, c.bias[m], c.dims[m] * sizeof(double));
    for (int s = 0; s < AMPED_COMPLETION_SETS; s++)
      digest(sum, c.errors[s].values, c.errors[s].count * sizeof(double));
  }
  amped_completion_free(&c);
  amped_ktensor_free(&k);
  return status;
}

/* As --resume does. */
static amped_status read_checkpoint(const char *path, uint64_t *sum) {
  amped_ktensor k;
  amped_solver_state state;
  amped_generation generation = AMPED_GENERATION_NONE;
  AMPED_TRY(amped_checkpoint_file_read(path, &key, &k, &state, &generation));
  digest_model(sum, &k);
  digest(sum, state.history, state.sweeps * sizeof *state.history);
  digest(sum, state.weights, 4 * sizeof *state.weights);
  for (int m = 0; m < 3; m++)
    digest(sum, state.grams[m], 16 * sizeof *state.grams[m]);
  amped_ktensor_free(&k);
  amped_solver_state_free(&state);
  return AMPED_OK;
}

#define READERS 2
static const struct file_kind {
  const char *name;
  void (*write)(const char *path);
  amped_status (*read[READERS])(const char *path, uint64_t *sum);
} file_kinds[] = {
    {.name = "tensor", .write = write_copies, .read = {verify_tensor, load_tensor}},
    {.name = "list", .write = write_list, .read = {verify_tensor, load_tensor}},
    {.name = "result", .write = write_result, .read = {verify_result, read_result}},
    {.name = "completion", .write = write_completion, .read = {verify_result, read_completion}},
    {.name = "checkpoint", .write = write_checkpoint, .read = {verify_result, read_checkpoint}}};
#define FILE_KINDS (sizeof file_kinds / sizeof file_kinds[0])

/* --- chunks ----------------------------------------------------------------------------------- */

#define MOST_CHUNKS 64

/* A chunk as stored: `bytes` with its checksum of 4 bytes. */
typedef struct place {
  uint64_t at, bytes;
} place;

typedef struct subject {
  const struct file_kind *kind;
  unsigned char *bytes, *whole;
  size_t count;
  uint64_t right[READERS];
  place chunks[MOST_CHUNKS];
  uint64_t nchunks;
  int mutation;
} subject;

static herr_t note_link(hid_t file, const char *link, const H5L_info_t *info, void *out) {
  subject *s = out;
  hsize_t chunks = 0;
  (void)info;
  hid_t id = h5(H5Oopen(file, link, H5P_DEFAULT));
  if (H5Iget_type(id) == H5I_DATASET) {
    hid_t space = h5(H5Dget_space(id));
    h5(H5Dget_num_chunks(id, space, &chunks));
    for (hsize_t i = 0; i < chunks; i++) {
      hsize_t offset[2], size = 0;
      unsigned mask = 0;
      haddr_t at = 0;
      h5(H5Dget_chunk_info(id, space, i, offset, &mask, &at, &size));
      ck_assert_uint_lt(s->nchunks, MOST_CHUNKS);
      s->chunks[s->nchunks++] = (place){at, size};
    }
    h5(H5Sclose(space));
  }
  h5(H5Oclose(id));
  return 0;
}

static void open_subject(subject *s, const struct file_kind *kind) {
  const char *path = testing_path("whole.h5");
  memset(s, 0, sizeof *s);
  s->kind = kind;
  kind->write(path);
  for (int r = 0; r < READERS; r++)
    check_ok(kind->read[r](path, &s->right[r]));
  hid_t file = h5(H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT));
  ck_assert_int_ge(H5Lvisit(file, H5_INDEX_NAME, H5_ITER_INC, note_link, s), 0);
  h5(H5Fclose(file));
  s->bytes = testing_bytes(path, &s->count);
  s->whole = testing_bytes(path, &s->count);
  (void)remove(path);
}

static void close_subject(subject *s) {
  free(s->bytes);
  free(s->whole);
}

/* --- mutations -------------------------------------------------------------------------------- */

typedef struct dice {
  uint64_t seed, throws;
} dice;

static uint64_t throw_dice(dice *d, uint64_t sides) {
  return amped_random_u64(d->seed, 77, d->throws++) % sides;
}

static void set_checksum(unsigned char *chunk, uint64_t bytes) {
  uint32_t sum = amped_hdf5_checksum(chunk, bytes - 4, NULL, 0);
  for (int i = 0; i < 4; i++)
    chunk[bytes - 4 + (uint64_t)i] = (unsigned char)(sum >> (8 * i));
}

static void fill_run(subject *s, dice *d, int value) {
  uint64_t most = throw_dice(d, 4) == 0 ? s->count : 64;
  uint64_t length = 1 + throw_dice(d, most);
  uint64_t at = throw_dice(d, s->count);
  memset(s->bytes + at, value, length < s->count - at ? length : s->count - at);
}

static void flip_bits(subject *s, dice *d) {
  for (uint64_t n = 1 + throw_dice(d, 3); n > 0; n--)
    s->bytes[throw_dice(d, s->count)] ^= (unsigned char)(1 << throw_dice(d, 8));
}

/* Words of zeros in a chunk become words of ones, and the reverse: the same for Fletcher's sums. */
static void exchange_words(unsigned char *chunk, uint64_t bytes, dice *d) {
  uint64_t words = (bytes - 4) / 2;
  if (words == 0)
    return;
  uint64_t start = throw_dice(d, words);
  uint64_t left = 1 + throw_dice(d, 4);
  for (uint64_t i = 0; i < words && left > 0; i++) {
    unsigned char *w = chunk + (start + i) % words * 2;
    if (w[0] == w[1] && (w[0] == 0 || w[0] == 255)) {
      w[0] = w[1] = (unsigned char)(255 - w[0]);
      left--;
    }
  }
}

/* Random bytes in a run of the chunk, or two elements exchanged, with the right checksum. */
static void rewrite_chunk(unsigned char *chunk, uint64_t bytes, dice *d) {
  uint64_t at = throw_dice(d, bytes - 4);
  uint64_t length = 1 + throw_dice(d, bytes - 4 - at);
  for (uint64_t i = 0; i < length; i++)
    chunk[at + i] = (unsigned char)throw_dice(d, 256);
  set_checksum(chunk, bytes);
}

static void swap_halves(unsigned char *chunk, uint64_t bytes) {
  uint64_t half = (bytes - 4) / 16 * 8;
  for (uint64_t i = 0; i < half; i++) {
    unsigned char kept = chunk[i];
    chunk[i] = chunk[half + i];
    chunk[half + i] = kept;
  }
  set_checksum(chunk, bytes);
}

static const char *const mutations[] = {"bits flipped",
                                        "a run of zeros",
                                        "a run of ones",
                                        "a chunk of zeros with a checksum of zero",
                                        "a chunk of ones with its checksum",
                                        "words of zeros exchanged with words of ones",
                                        "a chunk rewritten with its checksum",
                                        "halves of a chunk exchanged, with its checksum",
                                        "a chunk with the bytes of another one"};
#define MUTATIONS ((int)(sizeof mutations / sizeof mutations[0]))

static void mutate(subject *s, dice *d) {
  const place *c = &s->chunks[throw_dice(d, s->nchunks)];
  const place *other = &s->chunks[throw_dice(d, s->nchunks)];
  unsigned char *chunk = s->bytes + c->at;
  switch (s->mutation) {
  case 0:
    flip_bits(s, d);
    break;
  case 1:
    fill_run(s, d, 0);
    break;
  case 2:
    fill_run(s, d, 0xFF);
    break;
  case 3:
    memset(chunk, 0, c->bytes);
    break;
  case 4:
    memset(chunk, 0xFF, c->bytes);
    set_checksum(chunk, c->bytes);
    break;
  case 5:
    exchange_words(chunk, c->bytes, d);
    break;
  case 6:
    rewrite_chunk(chunk, c->bytes, d);
    break;
  case 7:
    swap_halves(chunk, c->bytes);
    break;
  default: /* misdirected: of the same size with its checksum, else filled up */
    memcpy(chunk, s->whole + other->at, other->bytes < c->bytes ? other->bytes : c->bytes);
    set_checksum(chunk, c->bytes);
  }
}

static hostile_end mutant(void *context, const char *path, uint64_t number) {
  subject *s = context;
  dice d = {.seed = number * 16 + (uint64_t)s->mutation};
  hostile_end end = HOSTILE_EXACT;
  memcpy(s->bytes, s->whole, s->count);
  mutate(s, &d);
  if (memcmp(s->bytes, s->whole, s->count) == 0)
    return HOSTILE_ABSENT;
  testing_write_file(path, s->bytes, s->count);
  for (int r = 0; r < READERS; r++) {
    uint64_t found = 0;
    amped_status status = s->kind->read[r](path, &found);
    if (status == AMPED_OK) {
      ck_assert_msg(found == s->right[r], "%s, %s, mutant %" PRIu64 ": reader %d sees nothing",
                    s->kind->name, mutations[s->mutation], number, r);
      continue;
    }
    ck_assert_msg(status == AMPED_BAD_INPUT, "%s, %s, mutant %" PRIu64 ": status %d (%s)",
                  s->kind->name, mutations[s->mutation], number, (int)status,
                  amped_status_message());
    ck_assert_msg(strstr(amped_status_message(), path) != NULL, "%s", amped_status_message());
    amped_status_clear();
    end = HOSTILE_REFUSED;
  }
  return end;
}

static void check_kind(const char *name) {
  const char *text = getenv("AMPED_SEALED_COUNT");
  uint64_t count = text != NULL ? strtoull(text, NULL, 10) : COUNT;
  char what[128];
  subject s;
  for (size_t i = 0; i < FILE_KINDS; i++) {
    if (strcmp(file_kinds[i].name, name) != 0)
      continue;
    open_subject(&s, &file_kinds[i]);
    for (s.mutation = 0; s.mutation < MUTATIONS; s.mutation++) {
      (void)snprintf(what, sizeof what, "%s: %s", name, mutations[s.mutation]);
      (void)hostile_run(what, mutant, &s, count, 1);
    }
    close_subject(&s);
  }
}

START_TEST(mutants_of_a_tensor_are_refused_or_harmless) {
  check_kind("tensor");
}

START_TEST(mutants_of_a_list_are_refused_or_harmless) {
  check_kind("list");
}

START_TEST(mutants_of_a_result_are_refused_or_harmless) {
  check_kind("result");
}

START_TEST(mutants_of_a_completion_are_refused_or_harmless) {
  check_kind("completion");
}

START_TEST(mutants_of_a_checkpoint_are_refused_or_harmless) {
  check_kind("checkpoint");
}

/* --- seals ------------------------------------------------------------------------------------ */

/* Every dataset but the copies' nonzeros has a seal. */
static herr_t look_for_seal(hid_t file, const char *link, const H5L_info_t *info, void *out) {
  int *sealed = out;
  (void)info;
  hid_t id = h5(H5Oopen(file, link, H5P_DEFAULT));
  bool nonzeros = strstr(link, "indices_") != NULL || strstr(link, "values") == link ||
                  strstr(link, "/values") != NULL;
  if (H5Iget_type(id) == H5I_DATASET) {
    bool has = H5Aexists(id, "amped_hash") > 0;
    ck_assert_msg(has == !nonzeros, "%s", link);
    *sealed += has;
  }
  h5(H5Oclose(id));
  return 0;
}

START_TEST(every_dataset_but_nonzeros_is_sealed) {
  static const int seals[] = {3 + 1 + 2, 2, 1 + 3 + 1 + 4 + 2, 1 + 3 + 3 + 3, 1 + 3 + 1 + 1};
  for (size_t i = 0; i < FILE_KINDS; i++) {
    const char *path = testing_path("seals.h5");
    int sealed = 0;
    file_kinds[i].write(path);
    hid_t file = h5(H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT));
    ck_assert_int_ge(H5Lvisit(file, H5_INDEX_NAME, H5_ITER_INC, look_for_seal, &sealed), 0);
    h5(H5Fclose(file));
    ck_assert_msg(sealed >= seals[i], "%s: %d seals", file_kinds[i].name, sealed);
    (void)remove(path);
  }
}

/* docs/file-format.md, word by word. */
static uint64_t mix(uint64_t x) {
  x += UINT64_C(0x9E3779B97F4A7C15);
  x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
  x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
  return x ^ (x >> 31);
}

START_TEST(the_hash_is_the_one_of_the_manual) {
  const char *path = testing_path("manual.h5");
  double factor[300 * 4];
  uint64_t stored = 0;
  uint64_t hash = 0;
  write_checkpoint(path); /* stored as float32, hashed as double */
  hid_t file = h5(H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT));
  hid_t id = h5(H5Dopen2(file, "/factors/1", H5P_DEFAULT));
  h5(H5Dread(id, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, factor));
  hid_t attribute = h5(H5Aopen(id, "amped_hash", H5P_DEFAULT));
  h5(H5Aread(attribute, H5T_NATIVE_UINT64, &stored));
  for (uint64_t i = 0; i < 300 * 4; i++) {
    uint64_t bits = 0;
    memcpy(&bits, &factor[i], sizeof bits);
    hash += mix(mix(bits) ^ i);
  }
  ck_assert_uint_eq(hash, stored);
  h5(H5Aclose(attribute));
  h5(H5Dclose(id));
  h5(H5Fclose(file));
  (void)remove(path);
}

/* The file's seal, and how many of its hashes were found. */
typedef struct seal {
  uint64_t hashes[AMPED_HDF5_SEALED];
  hsize_t count, found;
  char object[AMPED_HDF5_NAME];
} seal;

static uint64_t hash_bytes(uint64_t hash, const char *text) {
  for (; *text != '\0'; text++)
    hash = mix(hash ^ (unsigned char)*text);
  return hash;
}

static herr_t look_up_attribute(hid_t object, const char *name, const H5A_info_t *info, void *out) {
  seal *s = out;
  char text[4096];
  uint64_t words[AMPED_MAX_ORDER];
  (void)info;
  if (strcmp(name, "amped_seal") == 0)
    return 0;
  hid_t id = h5(H5Aopen(object, name, H5P_DEFAULT));
  hid_t type = h5(H5Aget_type(id));
  hid_t space = h5(H5Aget_space(id));
  hssize_t count = H5Sget_simple_extent_npoints(space);
  uint64_t hash = hash_bytes(hash_bytes(hash_bytes(0, s->object), "@"), name);
  if (H5Tget_class(type) == H5T_STRING) {
    ck_assert_uint_le(H5Tget_size(type), sizeof text);
    h5(H5Aread(id, type, text));
    hash = hash_bytes(hash, text);
  } else {
    ck_assert_int_le(count, AMPED_MAX_ORDER);
    h5(H5Aread(id, H5Tget_class(type) == H5T_FLOAT ? H5T_NATIVE_DOUBLE : H5T_NATIVE_UINT64, words));
    for (hssize_t i = 0; i < count; i++)
      hash = mix(hash ^ words[i]);
  }
  uint64_t same = 0;
  for (hsize_t i = 0; i < s->count; i++)
    same += s->hashes[i] == hash;
  ck_assert_msg(same == 1, "%s of %s is %d times in the seal", name, s->object, (int)same);
  s->found++;
  h5(H5Sclose(space));
  h5(H5Tclose(type));
  h5(H5Aclose(id));
  return 0;
}

static herr_t look_up_object(hid_t file, const char *link, const H5L_info_t *info, void *out) {
  seal *s = out;
  (void)info;
  if (strncmp(link, "indices_", 8) == 0 || strcmp(link, "values") == 0)
    return 0; /* other names of datasets without attributes */
  (void)snprintf(s->object, sizeof s->object, "/%s", link);
  hid_t id = h5(H5Oopen(file, link, H5P_DEFAULT));
  ck_assert_int_ge(H5Aiterate2(id, H5_INDEX_NAME, H5_ITER_INC, NULL, look_up_attribute, s), 0);
  h5(H5Oclose(id));
  return 0;
}

START_TEST(every_attribute_is_in_the_seal_of_the_manual) {
  for (size_t i = 0; i < FILE_KINDS; i++) {
    const char *path = testing_path("attributes.h5");
    seal s = {.object = "/"};
    file_kinds[i].write(path);
    hid_t file = h5(H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT));
    hid_t id = h5(H5Aopen(file, "amped_seal", H5P_DEFAULT));
    hid_t space = h5(H5Aget_space(id));
    ck_assert_int_eq(H5Sget_simple_extent_dims(space, &s.count, NULL), 1);
    ck_assert_uint_le(s.count, AMPED_HDF5_SEALED);
    h5(H5Aread(id, H5T_NATIVE_UINT64, s.hashes));
    ck_assert_int_ge(H5Aiterate2(file, H5_INDEX_NAME, H5_ITER_INC, NULL, look_up_attribute, &s), 0);
    ck_assert_int_ge(H5Lvisit(file, H5_INDEX_NAME, H5_ITER_INC, look_up_object, &s), 0);
    ck_assert_uint_eq(s.found, s.count);
    h5(H5Sclose(space));
    h5(H5Aclose(id));
    h5(H5Fclose(file));
    (void)remove(path);
  }
}

/* The most attributes: as many modes as there may be, labels in each. */
START_TEST(the_seal_has_room_for_all_modes) {
  const char *path = testing_path("modes.h5");
  amped_sptensor t;
  check_ok(amped_sptensor_create(&t, AMPED_MAX_ORDER, 1));
  for (int m = 0; m < AMPED_MAX_ORDER; m++) {
    t.dims[m] = 5;
    t.indices[m][0] = 1;
    give_labels(&t.labels[m], 5);
  }
  t.values[0] = 3;
  check_ok(amped_tensor_file_write(path, &t, true));
  amped_sptensor_free(&t);
  check_ok(amped_tensor_file_load(path, false, NULL, &t));
  amped_sptensor_free(&t);
  (void)remove(path);
  check_no_leak();
}

static herr_t remove_seal(hid_t file, const char *link, const H5L_info_t *info, void *unused) {
  (void)info;
  (void)unused;
  if (H5Aexists_by_name(file, link, "amped_hash", H5P_DEFAULT) > 0)
    testing_h5_remove_attribute(file, link, "amped_hash");
  return 0;
}

START_TEST(files_of_earlier_builds_are_read) {
  for (size_t i = 0; i < FILE_KINDS; i++) {
    const char *path = testing_path("old.h5");
    bool sealed = true;
    subject s;
    open_subject(&s, &file_kinds[i]);
    testing_write_file(path, s.whole, s.count);
    hid_t file = testing_h5_modify(path);
    ck_assert_int_ge(H5Lvisit(file, H5_INDEX_NAME, H5_ITER_INC, remove_seal, NULL), 0);
    h5(H5Fclose(file));
    for (int r = 0; r < READERS; r++) {
      uint64_t found = 0;
      check_ok(s.kind->read[r](path, &found));
      ck_assert_uint_eq(found, s.right[r]);
    }
    if (s.kind->read[0] == verify_result) {
      check_ok(amped_result_file_verify(path, &sealed));
      ck_assert(!sealed);
    }
    close_subject(&s);
    (void)remove(path);
  }
}

/* A weight that is changed by another program, which leaves the seal as it is. */
START_TEST(a_changed_start_is_named) {
  const char *path = testing_path("start.h5");
  char changed[AMPED_HDF5_NAME];
  amped_ktensor k;
  write_result(path);
  check_ok(amped_result_file_read_start(path, &k, changed));
  ck_assert_str_eq(changed, "");
  amped_ktensor_free(&k);
  hid_t file = testing_h5_modify(path);
  testing_h5_disturb(file, "/weights", 1, false);
  h5(H5Fclose(file));
  check_fails(AMPED_BAD_INPUT, "/weights disagrees with its content hash",
              amped_result_file_read(path, &k));
  check_ok(amped_result_file_read_start(path, &k, changed));
  ck_assert_str_eq(changed, "/weights");
  ck_assert(k.weights[1] == 4.0);
  amped_ktensor_free(&k);
  (void)remove(path);
  check_no_leak();
}

TESTING_MAIN("sealed", mutants_of_a_tensor_are_refused_or_harmless,
             mutants_of_a_list_are_refused_or_harmless, mutants_of_a_result_are_refused_or_harmless,
             mutants_of_a_checkpoint_are_refused_or_harmless,
             mutants_of_a_completion_are_refused_or_harmless, every_dataset_but_nonzeros_is_sealed,
             the_hash_is_the_one_of_the_manual, every_attribute_is_in_the_seal_of_the_manual,
             the_seal_has_room_for_all_modes, files_of_earlier_builds_are_read,
             a_changed_start_is_named)
