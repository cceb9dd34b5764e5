/* Files of a few MB that declare tens of GiB, and a look at what a command takes of them.
 *
 *   bombs make MIB    in the current folder, for tests/faults/bounds.sh, which says what each is
 *   bombs run COMMAND [ARGUMENT]...
 *                     prints the most memory that the command and its children held at a time, in
 *                     MiB, to file descriptor 3; its status is the command's
 *
 * Deflate makes a thousandth of zeros. One compressed chunk is made and written for all. */
#include <hdf5.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#define CHUNK_BYTES (UINT64_C(1) << 20)
#define LARGE_BYTES (UINT64_C(1) << 28)

static uint64_t declared; /* bytes of what is large */

static void require(bool fine, const char *what) {
  if (fine)
    return;
  (void)fprintf(stderr, "bombs: %s failed\n", what);
  exit(1);
}

static hid_t h5(hid_t id) {
  require(id >= 0, "HDF5");
  return id;
}

/* --- datasets and attributes ----------------------------------------------------------------- */

static hid_t create(hid_t file, const char *name, hid_t type, int ndims, const hsize_t *dims,
                    uint64_t chunk_rows) {
  const hsize_t chunk[2] = {chunk_rows, ndims > 1 ? dims[1] : 1};
  hid_t links = h5(H5Pcreate(H5P_LINK_CREATE));
  hid_t list = h5(H5Pcreate(H5P_DATASET_CREATE));
  hid_t space = h5(H5Screate_simple(ndims, dims, NULL));
  h5(H5Pset_create_intermediate_group(links, 1));
  if (chunk_rows > 0) {
    h5(H5Pset_chunk(list, ndims, chunk));
    h5(H5Pset_deflate(list, 9));
  }
  hid_t dataset = h5(H5Dcreate2(file, name, type, space, links, list, H5P_DEFAULT));
  h5(H5Sclose(space));
  h5(H5Pclose(list));
  h5(H5Pclose(links));
  return dataset;
}

/* A deflated chunk: zeros but for its last element, of 8 bytes. */
static unsigned char *deflated(uint64_t bytes, uint64_t last, uLongf *count) {
  unsigned char *plain = calloc(1, bytes);
  *count = compressBound(bytes);
  unsigned char *out = malloc(*count);
  require(plain != NULL && out != NULL, "malloc");
  memcpy(plain + bytes - sizeof last, &last, sizeof last);
  require(compress2(out, count, plain, bytes, 9) == Z_OK, "compress2");
  free(plain);
  return out;
}

/* `bytes` of zeros, rounded up to chunks, as rows of `columns` elements; the last element is
 * `last`, of 8 bytes. Returns the rows. */
static uint64_t zeros(hid_t file, const char *name, hid_t type, uint64_t columns, uint64_t bytes,
                      uint64_t chunk_bytes, uint64_t last) {
  const uint64_t row = columns * H5Tget_size(type);
  const uint64_t chunk_rows = chunk_bytes / row;
  const uint64_t chunks = bytes / chunk_bytes > 0 ? bytes / chunk_bytes : 1;
  const hsize_t dims[2] = {chunks * chunk_rows, columns};
  uLongf count = 0;
  uLongf last_count = 0;
  unsigned char *chunk = deflated(chunk_bytes, 0, &count);
  unsigned char *last_chunk = deflated(chunk_bytes, last, &last_count);
  hid_t dataset = create(file, name, type, columns > 1 ? 2 : 1, dims, chunk_rows);
  for (uint64_t i = 0; i < chunks; i++) {
    const hsize_t at[2] = {i * chunk_rows, 0};
    const bool ends = i + 1 == chunks;
    h5(H5Dwrite_chunk(dataset, H5P_DEFAULT, 0, at, ends ? last_count : count,
                      ends ? last_chunk : chunk));
  }
  h5(H5Dclose(dataset));
  free(chunk);
  free(last_chunk);
  return dims[0];
}

static void small(hid_t file, const char *name, hid_t type, int ndims, const hsize_t *dims,
                  const void *values) {
  hid_t dataset = create(file, name, type, ndims, dims, 0);
  h5(H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
  h5(H5Dclose(dataset));
}

static void text(hid_t file, const char *name, const char *value) {
  hid_t type = h5(H5Tcopy(H5T_C_S1));
  hid_t space = h5(H5Screate(H5S_SCALAR));
  h5(H5Tset_size(type, strlen(value) + 1));
  hid_t id = h5(H5Acreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT));
  h5(H5Awrite(id, type, value));
  h5(H5Aclose(id));
  h5(H5Sclose(space));
  h5(H5Tclose(type));
}

static void numbers(hid_t file, const char *group, const char *name, hsize_t count,
                    const uint64_t *values) {
  hid_t space = h5(count > 0 ? H5Screate_simple(1, &count, NULL) : H5Screate(H5S_SCALAR));
  hid_t id = h5(H5Acreate_by_name(file, group, name, H5T_NATIVE_UINT64, space, H5P_DEFAULT,
                                  H5P_DEFAULT, H5P_DEFAULT));
  h5(H5Awrite(id, H5T_NATIVE_UINT64, values));
  h5(H5Aclose(id));
  h5(H5Sclose(space));
}

static hid_t begin(const char *path) {
  hid_t list = h5(H5Pcreate(H5P_FILE_ACCESS));
  h5(H5Pset_libver_bounds(list, H5F_LIBVER_V110, H5F_LIBVER_V110));
  hid_t file = h5(H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, list));
  h5(H5Pclose(list));
  return file;
}

/* --- results --------------------------------------------------------------------------------- */

#define COMPONENTS 4

static void weights(hid_t file) {
  static const double values[COMPONENTS] = {4.0, 3.0, 2.0, 1.0};
  static const hsize_t dims[] = {COMPONENTS};
  small(file, "/weights", H5T_NATIVE_DOUBLE, 1, dims, values);
}

static void small_factor(hid_t file, int mode) {
  static const double values[3 * COMPONENTS] = {1.0, 0.5, 0.25, 0.125, 0.5, 0.25};
  static const hsize_t dims[] = {3, COMPONENTS};
  char name[32];
  (void)snprintf(name, sizeof name, "/factors/%d", mode);
  small(file, name, H5T_NATIVE_DOUBLE, 2, dims, values);
}

static void factor_bomb(const char *path, uint64_t chunk_bytes) {
  hid_t file = begin(path);
  weights(file);
  (void)zeros(file, "/factors/0", H5T_NATIVE_DOUBLE, COMPONENTS, declared, chunk_bytes, 0);
  h5(H5Lcreate_hard(file, "/factors/0", file, "/factors/1", H5P_DEFAULT, H5P_DEFAULT));
  h5(H5Lcreate_hard(file, "/factors/0", file, "/factors/2", H5P_DEFAULT, H5P_DEFAULT));
  h5(H5Fclose(file));
}

/* Labels of mode 0: of three labels the last one has all of `bytes`. */
static void label_bomb(hid_t file, uint64_t bytes) {
  const uint64_t count = zeros(file, "/labels/mode_0/bytes", H5T_NATIVE_UINT8, 1, bytes,
                               CHUNK_BYTES, UINT64_C(0x7a7a7a7a7a7a7a7a));
  const uint64_t offsets[] = {0, 0, 0, count};
  static const hsize_t dims[] = {4};
  small(file, "/labels/mode_0/offsets", H5T_NATIVE_UINT64, 1, dims, offsets);
}

static void result_labels(const char *path) {
  hid_t file = begin(path);
  weights(file);
  for (int m = 0; m < 3; m++)
    small_factor(file, m);
  label_bomb(file, declared);
  h5(H5Fclose(file));
}

static void result_history(const char *path) {
  hid_t file = begin(path);
  weights(file);
  for (int m = 0; m < 3; m++)
    small_factor(file, m);
  (void)zeros(file, "/fit", H5T_NATIVE_DOUBLE, 1, declared, CHUNK_BYTES, 0);
  h5(H5Fclose(file));
}

/* Larger than the file: refused for that. */
static void beyond_the_end(const char *path) {
  hid_t file = begin(path);
  const hsize_t dims[2] = {declared / 8 / COMPONENTS, COMPONENTS};
  weights(file);
  for (int m = 1; m < 3; m++)
    small_factor(file, m);
  h5(H5Dclose(create(file, "/factors/0", H5T_NATIVE_DOUBLE, 2, dims, 0)));
  h5(H5Fclose(file));
}

/* --- tensors --------------------------------------------------------------------------------- */

static const char descriptor[] =
    "{\"binsparse\": {\"version\": \"0.1.0\", \"format\": \"custom\", \"shape\": [%llu, 3, 3], "
    "\"number_of_stored_values\": %llu, \"custom\": {\"level\": {\"level_desc\": \"sparse\", "
    "\"rank\": 3, \"level\": {\"level_desc\": \"element\"}}}}}";

/* A list of as many nonzeros, all at 0. */
static void tensor_nonzeros(const char *path) {
  char line[sizeof descriptor + 64];
  hid_t file = begin(path);
  const uint64_t count = zeros(file, "/values", H5T_NATIVE_UINT64, 1, declared / 4, CHUNK_BYTES, 1);
  (void)zeros(file, "/indices_0", H5T_NATIVE_UINT64, 1, declared / 4, CHUNK_BYTES, 0);
  h5(H5Lcreate_hard(file, "/indices_0", file, "/indices_1", H5P_DEFAULT, H5P_DEFAULT));
  h5(H5Lcreate_hard(file, "/indices_0", file, "/indices_2", H5P_DEFAULT, H5P_DEFAULT));
  (void)snprintf(line, sizeof line, descriptor, 3ULL, (unsigned long long)count);
  text(file, "binsparse", line);
  h5(H5Fclose(file));
}

static void tensor_labels(const char *path) {
  char line[sizeof descriptor + 64];
  static const uint64_t indices[] = {0, 1, 2};
  static const double values[] = {1.0, 2.0, 3.0};
  static const hsize_t dims[] = {3};
  hid_t file = begin(path);
  small(file, "/values", H5T_NATIVE_DOUBLE, 1, dims, values);
  small(file, "/indices_0", H5T_NATIVE_UINT64, 1, dims, indices);
  small(file, "/indices_1", H5T_NATIVE_UINT64, 1, dims, indices);
  small(file, "/indices_2", H5T_NATIVE_UINT64, 1, dims, indices);
  (void)snprintf(line, sizeof line, descriptor, 3ULL, 3ULL);
  text(file, "binsparse", line);
  label_bomb(file, declared);
  h5(H5Fclose(file));
}

/* A tensor of this program, of 3 x 3 x 3 with 3 nonzeros, but for an iDp table of mode 0 that has
 * the declared bytes: a mode of so many indices, of which the last has all nonzeros. */
static void tensor_tables(const char *path) {
  static const double values[] = {1.0, 2.0, 3.0};
  static const uint8_t small_indices[] = {0, 1, 2};
  static const hsize_t three[] = {3};
  static const uint64_t each[] = {1, 1, 1};
  static const uint64_t one = 1;
  const uint64_t hash = 0;
  const uint64_t nnz = 3;
  const double norm = 14.0;
  hid_t file = begin(path);
  hid_t scalar = h5(H5Screate(H5S_SCALAR));
  const uint64_t dim =
      zeros(file, "/amped/mode_0/idp_nnz", H5T_NATIVE_UINT64, 1, declared, CHUNK_BYTES, 3);
  const uint64_t dims[] = {dim, 3, 3};
  const uint64_t order = 3;
  const uint64_t version = 1;
  text(file, "amped_format", "tensor");
  numbers(file, "/", "amped_version", 0, &version);
  numbers(file, "/", "order", 0, &order);
  numbers(file, "/", "dims", 3, dims);
  numbers(file, "/", "nnz", 0, &nnz);
  hid_t id =
      h5(H5Acreate2(file, "norm_squared", H5T_NATIVE_DOUBLE, scalar, H5P_DEFAULT, H5P_DEFAULT));
  h5(H5Awrite(id, H5T_NATIVE_DOUBLE, &norm));
  h5(H5Aclose(id));
  h5(H5Sclose(scalar));
  for (uint64_t m = 0; m < 3; m++) {
    char folder[32];
    char name[64];
    const uint64_t rows[] = {dim - 1, dim - 1, dim - 1};
    (void)snprintf(folder, sizeof folder, "/amped/mode_%d", (int)m);
    if (m > 0) {
      (void)snprintf(name, sizeof name, "%s/idp_nnz", folder);
      small(file, name, H5T_NATIVE_UINT64, 1, three, each);
    }
    numbers(file, folder, "mode", 0, &m);
    numbers(file, folder, "width", 0, &one);
    numbers(file, folder, "idp_count", 0, &dims[m]);
    numbers(file, folder, "hash", 0, &hash);
    (void)snprintf(name, sizeof name, "%s/values", folder);
    small(file, name, H5T_NATIVE_DOUBLE, 1, three, values);
    (void)snprintf(name, sizeof name, "%s/indices_0", folder);
    const hid_t index = dim > UINT64_C(1) << 32 ? H5T_NATIVE_UINT64 : H5T_NATIVE_UINT32;
    const uint32_t narrow[] = {(uint32_t)rows[0], (uint32_t)rows[1], (uint32_t)rows[2]};
    small(file, name, index, 1, three, index == H5T_NATIVE_UINT64 ? (const void *)rows : narrow);
    for (int i = 1; i < 3; i++) {
      (void)snprintf(name, sizeof name, "%s/indices_%d", folder, i);
      small(file, name, H5T_NATIVE_UINT8, 1, three, small_indices);
    }
  }
  for (int i = -1; i < 3; i++) {
    char name[32];
    char target[64];
    (void)snprintf(name, sizeof name, i < 0 ? "/values" : "/indices_%d", i);
    (void)snprintf(target, sizeof target, "/amped/mode_0%s", name);
    h5(H5Lcreate_hard(file, target, file, name, H5P_DEFAULT, H5P_DEFAULT));
  }
  h5(H5Fclose(file));
}

/* A text attribute of variable length, in a heap of the file: 64 MiB. */
static void attribute_bomb(const char *path) {
  const size_t bytes = (size_t)64 << 20;
  char *value = malloc(bytes + 1);
  require(value != NULL, "malloc");
  memset(value, 'x', bytes);
  value[bytes] = '\0';
  hid_t file = begin(path);
  hid_t type = h5(H5Tcopy(H5T_C_S1));
  hid_t space = h5(H5Screate(H5S_SCALAR));
  weights(file);
  for (int m = 0; m < 3; m++)
    small_factor(file, m);
  h5(H5Tset_size(type, H5T_VARIABLE));
  hid_t id = h5(H5Acreate2(file, "options", type, space, H5P_DEFAULT, H5P_DEFAULT));
  h5(H5Awrite(id, type, &value));
  h5(H5Aclose(id));
  h5(H5Sclose(space));
  h5(H5Tclose(type));
  h5(H5Fclose(file));
  free(value);
}

/* --- lines of JSON --------------------------------------------------------------------------- */

/* A file without data, of the declared size. */
static void sparse(const char *path) {
  FILE *file = fopen(path, "w");
  require(file != NULL && fputs("{\"event\":\"", file) != EOF && fclose(file) == 0, path);
  require(truncate(path, (off_t)declared) == 0, path);
}

/* One line of 20 MB. */
static void long_line(const char *path) {
  FILE *file = fopen(path, "w");
  require(file != NULL, path);
  (void)fputs("{\"event\":[", file);
  for (int i = 0; i < 1000000; i++)
    (void)fputs("[[]],[[]],[[]],[[]],", file);
  require(fputs("0]}\n", file) != EOF && fclose(file) == 0, path);
}

static int make(void) {
  factor_bomb("factors.h5", CHUNK_BYTES);
  factor_bomb("chunks.h5", LARGE_BYTES);
  result_labels("labels.h5");
  result_history("history.h5");
  beyond_the_end("beyond.h5");
  attribute_bomb("attribute.h5");
  tensor_nonzeros("nonzeros.h5");
  tensor_labels("tensor_labels.h5");
  tensor_tables("tables.h5");
  sparse("sparse.json");
  long_line("line.json");
  return 0;
}

/* --- what a command takes -------------------------------------------------------------------- */

static int run(char **command) {
  struct rusage used;
  int how = 0;
  pid_t child = fork();
  require(child >= 0, "fork");
  if (child == 0) {
    (void)close(3);
    (void)execvp(command[0], command);
    _exit(127);
  }
  require(wait4(child, &how, 0, &used) == child, "wait4");
  (void)dprintf(3, "%ld\n", used.ru_maxrss / 1024);
  return WIFEXITED(how) ? WEXITSTATUS(how) : 128 + WTERMSIG(how);
}

int main(int argc, char **argv) {
  if (argc > 2 && strcmp(argv[1], "run") == 0)
    return run(argv + 2);
  require(argc == 3 && strcmp(argv[1], "make") == 0, "usage");
  declared = strtoull(argv[2], NULL, 10) << 20;
  return make();
}
