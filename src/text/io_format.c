/* Formats: by suffix, by options, and by first bytes for unknown suffixes. */
#include "text/io_format.h"

#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/magic.h"

static const struct {
  const char *suffix;
  amped_format format;
} formats[] = {
    {".tns", AMPED_FORMAT_TNS},   {".coo", AMPED_FORMAT_TNS},   {".txt", AMPED_FORMAT_TNS},
    {".csv", AMPED_FORMAT_TABLE}, {".tsv", AMPED_FORMAT_TABLE}, {".h5", AMPED_FORMAT_HDF5},
    {".hdf5", AMPED_FORMAT_HDF5}, {".npy", AMPED_FORMAT_NPY},
};

/* HDF5 files of MATLAB and netCDF are read, and not written. */
static const char *const foreign[] = {".mat", ".nc", ".nc4"};

/* Text of Matrix Market is read, and not written. */
#define MARKET ".mtx"

#define FORMATS (sizeof formats / sizeof formats[0])

/* Does path[0 .. length) end with the suffix, in upper or lower case? */
static bool has_suffix(const char *path, size_t length, const char *suffix) {
  size_t n = strlen(suffix);
  return length > n && strncasecmp(path + length - n, suffix, n) == 0;
}

/* Length of path without the suffix of a compression. */
static size_t without_compression(const char *path) {
  size_t length = strlen(path);
  if (has_suffix(path, length, ".gz"))
    return length - strlen(".gz");
  return has_suffix(path, length, ".zst") ? length - strlen(".zst") : length;
}

/* Index of the format of path[0 .. length); FORMATS: none. */
static size_t find_format(const char *path, size_t length) {
  size_t i = 0;
  while (i < FORMATS && !has_suffix(path, length, formats[i].suffix))
    i++;
  return i;
}

bool amped_io_is_hdf5(const char *path) {
  const size_t length = strlen(path);
  const size_t i = find_format(path, length);
  bool is = i < FORMATS && formats[i].format == AMPED_FORMAT_HDF5;
  for (size_t k = 0; k < sizeof foreign / sizeof foreign[0]; k++)
    is = is || has_suffix(path, length, foreign[k]);
  return is;
}

amped_status amped_io_format(const char *path, amped_format *out) {
  if (strcmp(path, "-") == 0) {
    *out = AMPED_FORMAT_TNS;
    return AMPED_OK;
  }
  size_t length = without_compression(path);
  size_t i = find_format(path, length);
  if (i == FORMATS)
    return amped_error(AMPED_USAGE, path,
                       "unknown suffix; .tns, .coo, .txt, .csv and .tsv (also with .gz or .zst), "
                       ".h5, .hdf5 and .npy are known");
  if (path[length] != '\0' && formats[i].format >= AMPED_FORMAT_HDF5)
    return amped_error(AMPED_USAGE, path, "a compressed %s file; decompress it first",
                       formats[i].format == AMPED_FORMAT_HDF5 ? "HDF5" : "npy");
  *out = formats[i].format;
  return AMPED_OK;
}

/* Is it a name that implies no format: standard input, a device, a pipe? */
static bool is_stream(const char *path) {
  struct stat st;
  const bool device = strncmp(path, "/dev/", 5) == 0 && strncmp(path, "/dev/shm/", 9) != 0;
  if (strcmp(path, "-") == 0 || device || strncmp(path, "/proc/", 6) == 0)
    return true;
  return stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

/* Refuse an unknown suffix. If the contents show another kind of file, the message names it. */
static amped_status refuse_suffix(const char *path) {
  unsigned char bytes[AMPED_MAGIC_BYTES];
  const uint64_t known = amped_magic_read(path, bytes);
  if (amped_magic_is_json(bytes, known))
    return amped_error(AMPED_BAD_INPUT, path, "is JSON; write it as .csv, say with pandas");
  if (!amped_magic_is_gzip(bytes, known) && !amped_magic_is_zstd(bytes, known))
    AMPED_TRY(amped_magic_check(path, bytes, known));
  return amped_error(
      AMPED_USAGE, path,
      "unknown suffix; .tns, .coo, .txt, .mtx, .csv and .tsv (also with .gz or .zst), .h5, .hdf5 "
      "and .npy are known; for another name give --format=tns, csv or tsv");
}

amped_status amped_io_input_format(const char *path, const amped_read_options *options,
                                   amped_format *out) {
  const size_t named = find_format(path, without_compression(path));
  const bool binary = named < FORMATS && formats[named].format >= AMPED_FORMAT_HDF5;
  const bool told = options->format != AMPED_READ_AUTO;
  const bool table =
      told ? options->format != AMPED_READ_TNS : amped_read_options_of_table(options);
  if (binary || (!told && named < FORMATS))
    return amped_io_format(path, out);
  if (amped_io_is_hdf5(path)) {
    *out = AMPED_FORMAT_HDF5;
    return AMPED_OK;
  }
  if (!told && has_suffix(path, without_compression(path), MARKET)) {
    *out = AMPED_FORMAT_TNS;
    return AMPED_OK;
  }
  if (!told && !is_stream(path))
    return refuse_suffix(path);
  *out = table ? AMPED_FORMAT_TABLE : AMPED_FORMAT_TNS;
  return AMPED_OK;
}

bool amped_io_has_format(const char *path, const amped_read_options *options, amped_format wanted) {
  amped_format format = wanted;
  const bool known = amped_io_input_format(path, options, &format) == AMPED_OK;
  amped_status_clear();
  return known && format == wanted;
}

const char *amped_io_name(const char *path) {
  return strcmp(path, "-") == 0 ? "standard input" : path;
}

bool amped_io_is_tsv(const char *path) {
  return strncasecmp(path + amped_io_stem(path), ".tsv", 4) == 0;
}

uint64_t amped_io_stem(const char *path) {
  size_t length = without_compression(path);
  size_t i = find_format(path, length);
  return i < FORMATS ? length - strlen(formats[i].suffix) : length;
}
