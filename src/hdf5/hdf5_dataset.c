/* Datasets and arrays of HDF5 files (hdf5/hdf5_file.h): checks on opening, chunk caches, reading
 * and writing. */
#include <stdio.h>
#include <string.h>

#include "base/system_memory.h"
#include "hdf5/hdf5_chunks.h"
#include "hdf5/hdf5_seal.h"

/* Largest chunk accepted: HDF5 holds a whole chunk in memory to decode any part of it. */
#define MAX_CHUNK_BYTES (UINT64_C(1) << 28)

/* Longest row accepted: readers hold at least one row. None of our matrices has more columns than
 * components or starts. */
#define MAX_COLUMNS (UINT64_C(1) << 20)

/* Limits of an array's cache of decoded chunks: bytes, and share of free memory (1/8). */
#define MAX_LAYER_BYTES (UINT64_C(1) << 30)
#define LAYER_SHARE 8

/* Deflate expands one byte to at most 1032 bytes. */
#define MAX_INFLATION 1040

/* Share of cached chunks among which HDF5 first evicts chunks that were read completely, then the
 * oldest. With 1 it would never evict a chunk that was read in part. */
#define LRU_SHARE 0.75

/* Slots of the chunk cache per cached chunk: a prime far above 1. */
#define CACHE_SLOTS 101

/* Bytes of one chunk, and of the chunk cache; 0 if the dataset is not chunked. */
typedef struct chunk_need {
  uint64_t chunk, cache;
} chunk_need;

/* Is it IEEE half precision, as numpy writes it? The library has no name for this type before
 * 1.14. */
static bool is_half(hid_t type) {
  size_t sign = 0, exponent = 0, exponent_bits = 0, mantissa = 0, mantissa_bits = 0;
  return H5Tget_class(type) == H5T_FLOAT && H5Tget_size(type) == 2 &&
         H5Tget_fields(type, &sign, &exponent, &exponent_bits, &mantissa, &mantissa_bits) >= 0 &&
         sign == 15 && exponent == 10 && exponent_bits == 5 && mantissa == 0 &&
         mantissa_bits == 10 && H5Tget_ebias(type) == 15 && H5Tget_precision(type) == 16 &&
         H5Tget_offset(type) == 0 && H5Tget_norm(type) == H5T_NORM_IMPLIED;
}

/* Classify a standard type. Other types are refused: HDF5 lets a file define floats and integers of
 * any layout. */
static bool classify(hid_t type, amped_hdf5_type *out) {
  const struct {
    hid_t little, big;
    amped_hdf5_type type;
  } known[] = {
      {H5T_STD_U8LE, H5T_STD_U8BE, {AMPED_UNSIGNED, 1}},
      {H5T_STD_U16LE, H5T_STD_U16BE, {AMPED_UNSIGNED, 2}},
      {H5T_STD_U32LE, H5T_STD_U32BE, {AMPED_UNSIGNED, 4}},
      {H5T_STD_U64LE, H5T_STD_U64BE, {AMPED_UNSIGNED, 8}},
      {H5T_STD_I8LE, H5T_STD_I8BE, {AMPED_SIGNED, 1}},
      {H5T_STD_I16LE, H5T_STD_I16BE, {AMPED_SIGNED, 2}},
      {H5T_STD_I32LE, H5T_STD_I32BE, {AMPED_SIGNED, 4}},
      {H5T_STD_I64LE, H5T_STD_I64BE, {AMPED_SIGNED, 8}},
      {H5T_IEEE_F32LE, H5T_IEEE_F32BE, {AMPED_FLOAT, 4}},
      {H5T_IEEE_F64LE, H5T_IEEE_F64BE, {AMPED_FLOAT, 8}},
      {H5T_NATIVE_LDOUBLE, H5T_NATIVE_LDOUBLE, {AMPED_FLOAT, 16}},
  };
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
    if (H5Tequal(type, known[i].little) > 0 || H5Tequal(type, known[i].big) > 0) {
      *out = known[i].type;
      return true;
    }
  *out = (amped_hdf5_type){AMPED_FLOAT, 2};
  return is_half(type);
}

/* Type for IEEE half precision, little-endian; it exists until the process ends. */
static hid_t half_type(void) {
  static hid_t half = H5I_INVALID_HID;
  if (half >= 0)
    return half;
  half = H5Tcopy(H5T_IEEE_F32LE);
  if (half < 0 || H5Tset_fields(half, 15, 10, 5, 0, 10) < 0 || H5Tset_size(half, 2) < 0 ||
      H5Tset_ebias(half, 15) < 0) {
    if (half >= 0)
      (void)H5Tclose(half);
    half = H5I_INVALID_HID;
  }
  return half;
}

hid_t amped_hdf5_native(amped_hdf5_type type) {
  switch (type.number) {
  case AMPED_UNSIGNED:
    return type.bytes == 1   ? H5T_NATIVE_UINT8
           : type.bytes == 2 ? H5T_NATIVE_UINT16
           : type.bytes == 4 ? H5T_NATIVE_UINT32
                             : H5T_NATIVE_UINT64;
  case AMPED_SIGNED:
    return type.bytes == 1   ? H5T_NATIVE_INT8
           : type.bytes == 2 ? H5T_NATIVE_INT16
           : type.bytes == 4 ? H5T_NATIVE_INT32
                             : H5T_NATIVE_INT64;
  case AMPED_FLOAT:
    break;
  }
  return type.bytes == 2 ? half_type() : type.bytes == 4 ? H5T_NATIVE_FLOAT : H5T_NATIVE_DOUBLE;
}

/* Element type in files that we write: little-endian, like this machine (hdf5_chunks.c). */
static hid_t stored_type(amped_hdf5_type type) {
  return amped_hdf5_native(type);
}

static const char *class_name(hid_t type) {
  switch (H5Tget_class(type)) {
  case H5T_STRING:
    return "text";
  case H5T_COMPOUND:
    return "compounds or complex numbers";
  case H5T_ENUM:
    return "booleans or another enumeration";
  case H5T_INTEGER:
  case H5T_FLOAT:
    return "numbers of an unusual layout";
  default:
    return "no numbers";
  }
}

/* Is it an array, of which boxes are read (a dense tensor)? */
static bool is_array(const amped_hdf5_dataset *d) {
  return d->ndims > 2;
}

static amped_status refuse(const amped_hdf5_dataset *d, const char *what, const char *remedy) {
  return amped_error(AMPED_BAD_INPUT, d->file->path, "dataset %s %s; %s", d->name, what, remedy);
}

static amped_status failed(amped_hdf5_dataset *d) {
  return amped_hdf5_failed(d->file, "dataset", d->name);
}

static amped_status check_type(amped_hdf5_dataset *d) {
  char line[96];
  amped_status status = AMPED_OK;
  hid_t type = H5Dget_type(d->id);
  if (type < 0)
    return failed(d);
  if (!classify(type, &d->type)) {
    (void)snprintf(line, sizeof line, "holds %s", class_name(type));
    status = refuse(d, line, "store integers or floats");
  }
  (void)H5Tclose(type);
  return status;
}

static amped_status wrong_ndims(const amped_hdf5_dataset *d, int found, int least, int most) {
  char line[96];
  (void)snprintf(line, sizeof line,
                 least == most ? "has %d dimensions, not %d" : "has %d dimensions, not %d to %d",
                 found, least, most);
  return refuse(d, line, least == most ? "make the file again" : "name another one");
}

static amped_status check_extent(amped_hdf5_dataset *d, int least, int most) {
  hsize_t dims[AMPED_MAX_ORDER];
  amped_status status = AMPED_OK;
  hid_t space = H5Dget_space(d->id);
  if (space < 0)
    return failed(d);
  int found =
      H5Sget_simple_extent_type(space) == H5S_SIMPLE ? H5Sget_simple_extent_ndims(space) : 0;
  if (found < least || found > most)
    status = wrong_ndims(d, found, least, most);
  else if (H5Sget_simple_extent_dims(space, dims, NULL) != found)
    status = failed(d);
  (void)H5Sclose(space);
  AMPED_TRY(status);
  d->ndims = found;
  for (int m = 0; m < AMPED_MAX_ORDER; m++)
    d->dims[m] = m < found ? dims[m] : 1;
  return is_array(d) || d->dims[1] <= MAX_COLUMNS
             ? AMPED_OK
             : refuse(d, "has rows of more than 2^20 elements", "make the file again");
}

/* Accept each of the three filters at most once: a file may request any number, in any order. */
static amped_status check_filters(amped_hdf5_dataset *d, hid_t list, bool *deflated,
                                  bool *checksum_alone) {
  bool seen[3] = {false, false, false};
  int count = H5Pget_nfilters(list);
  if (count < 0)
    return failed(d);
  for (int i = 0; i < count; i++) {
    unsigned flags = 0, config = 0;
    size_t values = 0;
    char name[64] = "";
    char line[128];
    H5Z_filter_t id =
        H5Pget_filter2(list, (unsigned)i, &flags, &values, NULL, sizeof name, name, &config);
    int known = id == H5Z_FILTER_DEFLATE ? 0 : id == H5Z_FILTER_SHUFFLE ? 1 : 2;
    if ((known == 2 && id != H5Z_FILTER_FLETCHER32) || seen[known]) {
      (void)snprintf(line, sizeof line, "uses the filter %d (%.60s)", (int)id, name);
      return refuse(d, line, "store it with h5repack -f GZIP=1 or -f NONE");
    }
    seen[known] = true;
  }
  *deflated = seen[0];
  *checksum_alone = seen[2] && count == 1;
  return AMPED_OK;
}

static amped_status refuse_unwritten(const amped_hdf5_dataset *d) {
  return refuse(d, "has parts that were never written", "write all of its elements");
}

static amped_status check_contiguous(amped_hdf5_dataset *d, uint64_t bytes) {
  haddr_t offset = H5Dget_offset(d->id);
  if (d->stored_bytes == 0 && offset == HADDR_UNDEF && bytes > 0)
    return refuse_unwritten(d);
  if (d->stored_bytes != bytes || offset == HADDR_UNDEF || offset > d->file->bytes ||
      bytes > d->file->bytes - offset)
    return refuse(d, "is larger than what the file stores", "the file is damaged, make it again");
  return AMPED_OK;
}

static amped_status count_chunks(amped_hdf5_dataset *d, hsize_t *count) {
  hid_t space = H5Dget_space(d->id);
  if (space < 0)
    return failed(d);
  herr_t result = H5Dget_num_chunks(d->id, space, count);
  amped_status status = result < 0 ? failed(d) : AMPED_OK;
  (void)H5Sclose(space);
  return status;
}

/* Do elements have the same format in the file as in memory? */
static bool is_native(amped_hdf5_dataset *d) {
  hid_t type = H5Dget_type(d->id);
  bool native = type >= 0 && H5Tequal(type, amped_hdf5_native(d->type)) > 0;
  if (type >= 0)
    (void)H5Tclose(type);
  return native;
}

/* Set rows to lie along this dimension. Returns false if the number of rows or columns exceeds 64
 * bits. */
static bool set_axis(amped_hdf5_dataset *d, int axis) {
  bool fits = true;
  d->axis = axis;
  d->rows = d->columns = 1;
  for (int m = 0; m < d->ndims; m++)
    fits = amped_mul(m <= axis ? d->rows : d->columns, d->dims[m],
                     m <= axis ? &d->rows : &d->columns) &&
           fits;
  return fits;
}

/* Do chunks consist of rows: one index in each dimension before some axis, all indices after it?
 * Returns that axis. */
static bool has_row_chunks(const amped_hdf5_dataset *d, const hsize_t *chunk, int *axis) {
  *axis = d->ndims - 1;
  while (*axis > 0 && chunk[*axis] == d->dims[*axis])
    (*axis)--;
  bool fine = *axis == 0 || is_array(d);
  for (int m = 0; m < *axis; m++)
    fine = fine && chunk[m] == 1;
  return fine;
}

/* Compute the bytes of a chunk, and the number of chunks expected: in all, and in one layer of
 * chunks along the first dimension. Returns false if a chunk is empty or too large. */
static bool measure_chunks(const amped_hdf5_dataset *d, const hsize_t *chunk, uint64_t *bytes,
                           uint64_t *layer, uint64_t *count) {
  bool fits = true;
  *bytes = d->type.bytes;
  *layer = 1;
  for (int m = 0; m < d->ndims; m++) {
    if (chunk[m] == 0 || !amped_mul(*bytes, chunk[m], bytes) || *bytes > MAX_CHUNK_BYTES)
      return false;
    if (m > 0)
      fits = amped_mul(*layer, amped_ceil_div(d->dims[m], chunk[m]), layer) && fits;
  }
  fits = amped_mul(*layer, amped_ceil_div(d->dims[0], chunk[0]), count) && fits;
  if (!fits)
    *layer = *count = UINT64_MAX; /* more chunks than any file has */
  return true;
}

/* Bytes of the chunk cache. A box of an array crosses a layer of chunks; they stay decoded unless
 * there are too many. */
static uint64_t cache_for(const amped_hdf5_dataset *d, uint64_t chunk_bytes, uint64_t layer) {
  if (!is_array(d) || d->chunk_rows > 0)
    return chunk_bytes;
  const uint64_t most = amped_mem_available() / LAYER_SHARE;
  const uint64_t limit = most < MAX_LAYER_BYTES ? most : MAX_LAYER_BYTES;
  return layer <= limit / chunk_bytes ? layer * chunk_bytes : chunk_bytes;
}

/* Check that all chunks exist and are large enough: a missing chunk would read as zeros. */
static amped_status check_chunked(amped_hdf5_dataset *d, hid_t list, uint64_t bytes,
                                  chunk_need *need) {
  hsize_t chunk[AMPED_MAX_ORDER];
  hsize_t found = 0;
  uint64_t layer = 0;
  uint64_t expected = 0;
  int axis = 0;
  bool deflated = false;
  bool checksum_alone = false;
  if (H5Pget_chunk(list, d->ndims, chunk) != d->ndims)
    return failed(d);
  if (!measure_chunks(d, chunk, &need->chunk, &layer, &expected))
    return refuse(d, "has chunks above 256 MiB", "store it in smaller ones (h5repack -l)");
  AMPED_TRY(check_filters(d, list, &deflated, &checksum_alone));
  if (checksum_alone && has_row_chunks(d, chunk, &axis) && is_native(d)) {
    (void)set_axis(d, axis);
    d->chunk_rows = chunk[axis];
  }
  need->cache = cache_for(d, need->chunk, layer);
  if (bytes == 0)
    return AMPED_OK;
  AMPED_TRY(count_chunks(d, &found));
  if (found < expected)
    return refuse_unwritten(d);
  uint64_t limit = deflated ? MAX_INFLATION : 1;
  if (found != expected || d->stored_bytes > d->file->bytes || bytes / limit > d->stored_bytes)
    return refuse(d, "is larger than what the file stores", "the file is damaged, make it again");
  return AMPED_OK;
}

static amped_status check_storage(amped_hdf5_dataset *d, chunk_need *need) {
  uint64_t elements = 0;
  uint64_t bytes = 0;
  if (!set_axis(d, 0) || !amped_mul(d->rows, d->columns, &elements) ||
      !amped_mul(elements, d->type.bytes, &bytes))
    return refuse(d, "is larger than what the file stores", "the file is damaged, make it again");
  hid_t list = H5Dget_create_plist(d->id);
  if (list < 0)
    return failed(d);
  amped_status status = AMPED_OK;
  H5D_layout_t layout = H5Pget_layout(list);
  if (H5Pget_external_count(list) != 0)
    status = refuse(d, "lies in another file", "copy it into this one");
  else if (layout == H5D_CHUNKED || layout == H5D_CONTIGUOUS) {
    d->stored_bytes = H5Dget_storage_size(d->id);
    if (layout == H5D_CHUNKED)
      status = check_chunked(d, list, bytes, need);
    else if (bytes > 0)
      status = check_contiguous(d, bytes);
  } else
    status = refuse(d, "is neither contiguous nor chunked", "store it so (h5repack -l)");
  (void)H5Pclose(list);
  return status;
}

/* Open with a cache of one chunk, or one layer of an array. So a read that ends within a chunk does
 * not decode the chunk again. */
static amped_status open_cached(amped_hdf5_dataset *d, const chunk_need *need) {
  const uint64_t chunks = need->chunk > 0 ? need->cache / need->chunk : 1;
  hid_t list = H5Pcreate(H5P_DATASET_ACCESS);
  if (list < 0 || H5Pset_chunk_cache(list, (size_t)(CACHE_SLOTS * chunks), (size_t)need->cache,
                                     LRU_SHARE) < 0) {
    if (list >= 0)
      (void)H5Pclose(list);
    return failed(d);
  }
  d->id = H5Dopen2(d->file->id, d->name, list);
  d->open = d->id >= 0;
  d->cached_bytes = d->open ? need->cache : 0;
  d->file->cached_bytes += d->cached_bytes;
  amped_status status = d->open ? AMPED_OK : failed(d);
  (void)H5Pclose(list);
  return status;
}

/* Check that the caches fit in memory. Every open dataset has its cache; while HDF5 decodes a
 * chunk, it holds the chunk once more. */
static amped_status check_cache(const amped_hdf5_dataset *d, const chunk_need *need) {
  char what[AMPED_HDF5_NAME + 64];
  (void)snprintf(what, sizeof what, "chunks of %s and of other open datasets", d->name);
  return amped_mem_check(d->file->path, what, d->file->cached_bytes + need->cache + need->chunk);
}

static amped_status check_all(amped_hdf5_dataset *d, int least, int most, chunk_need *need) {
  AMPED_TRY(check_type(d));
  AMPED_TRY(check_extent(d, least, most));
  return check_storage(d, need);
}

static amped_status open_checked(amped_hdf5 *file, const char *name, int least, int most,
                                 amped_hdf5_dataset *out) {
  amped_status status = AMPED_OK;
  bool exists = false;
  chunk_need need = {0, 0};
  memset(out, 0, sizeof *out);
  out->file = file;
  (void)snprintf(out->name, sizeof out->name, "%s", name);
  AMPED_TRY(amped_hdf5_exists(file, name, &exists));
  if (!exists)
    return refuse(out, "is missing", "make the file again");
  AMPED_GO(fail, open_cached(out, &need));
  AMPED_GO(fail, check_all(out, least, most, &need));
  if (need.cache > 0) {
    amped_hdf5_dataset_close(out);
    AMPED_GO(fail, check_cache(out, &need));
    AMPED_GO(fail, open_cached(out, &need));
  }
  return AMPED_OK;
fail:
  amped_hdf5_dataset_close(out);
  return status;
}

amped_status amped_hdf5_dataset_open(amped_hdf5 *file, const char *name, int ndims,
                                     amped_hdf5_dataset *out) {
  AMPED_TRY(open_checked(file, name, ndims, ndims, out));
  amped_status status = amped_hdf5_seal_read(out);
  if (status != AMPED_OK)
    amped_hdf5_dataset_close(out);
  return status;
}

amped_status amped_hdf5_array_open(amped_hdf5 *file, const char *name, amped_hdf5_dataset *out) {
  return open_checked(file, name, AMPED_MIN_ORDER, AMPED_MAX_ORDER, out);
}

static const char *type_name(char *buffer, size_t size, amped_hdf5_type type) {
  static const char *const numbers[] = {"uint", "int", "float"};
  (void)snprintf(buffer, size, "%s%" PRIu64, numbers[type.number], 8 * type.bytes);
  return buffer;
}

amped_status amped_hdf5_dataset_expect(const amped_hdf5_dataset *d, amped_hdf5_type type,
                                       uint64_t rows, uint64_t columns) {
  char found[16], wanted[16];
  if (d->type.number == type.number && d->type.bytes == type.bytes && d->dims[0] == rows &&
      d->dims[1] == columns)
    return AMPED_OK;
  return amped_error(AMPED_BAD_INPUT, d->file->path,
                     "dataset %s is %s %" PRIu64 " x %" PRIu64 ", not %s %" PRIu64 " x %" PRIu64
                     "; make the file again",
                     d->name, type_name(found, sizeof found, d->type), d->dims[0], d->dims[1],
                     type_name(wanted, sizeof wanted, type), rows, columns);
}

/* Select a box of the dataset and the matching space in memory. */
static amped_status select_box(amped_hdf5_dataset *d, const hsize_t *first, const hsize_t *count,
                               hid_t *file, hid_t *memory) {
  *memory = H5I_INVALID_HID;
  *file = H5Dget_space(d->id);
  if (*file < 0 || H5Sselect_hyperslab(*file, H5S_SELECT_SET, first, NULL, count, NULL) < 0)
    return failed(d);
  *memory = H5Screate_simple(d->ndims, count, NULL);
  return *memory < 0 ? failed(d) : AMPED_OK;
}

static amped_status wrong_rows(const amped_hdf5_dataset *d, uint64_t first, uint64_t count) {
  return amped_error(AMPED_FAILED, d->file->path,
                     "dataset %s has no rows %" PRIu64 " + %" PRIu64 "; this is a mistake of "
                     "amped_mpi, please report it",
                     d->name, first, count);
}

/* Read a box through the library, which converts types and applies all filters. */
static amped_status read_box(amped_hdf5_dataset *d, amped_hdf5_type type, const hsize_t *first,
                             const hsize_t *count, void *buffer) {
  hid_t file = H5I_INVALID_HID;
  hid_t memory = H5I_INVALID_HID;
  amped_status status = AMPED_OK;
  AMPED_GO(done, select_box(d, first, count, &file, &memory));
  if (H5Dread(d->id, amped_hdf5_native(type), memory, file, H5P_DEFAULT, buffer) < 0)
    status = failed(d);
done:
  if (memory >= 0)
    (void)H5Sclose(memory);
  if (file >= 0)
    (void)H5Sclose(file);
  return status;
}

/* Read rows of one range of dims[axis] through the library. */
static amped_status library_read(amped_hdf5_dataset *d, amped_hdf5_type type, uint64_t first,
                                 uint64_t count, void *buffer) {
  hsize_t start[AMPED_MAX_ORDER];
  hsize_t extent[AMPED_MAX_ORDER];
  if (first > d->rows || count > d->rows - first)
    return wrong_rows(d, first, count);
  if (count == 0 || d->columns == 0)
    return AMPED_OK;
  amped_hdf5_chunk_offset(d, first, start);
  for (int m = 0; m < d->ndims; m++)
    extent[m] = m < d->axis ? 1 : m == d->axis ? count : d->dims[m];
  return read_box(d, type, start, extent, buffer);
}

/* Row's number within its chunk. */
static uint64_t row_in_chunk(const amped_hdf5_dataset *d, uint64_t row) {
  const uint64_t span = d->dims[d->axis];
  return span > 0 ? row % span % d->chunk_rows : 0;
}

/* Count the consecutive whole chunks in `count` rows from row `first` on; 0 if no chunk begins
 * there. *rows: number of rows in them. */
static uint64_t whole_chunks(const amped_hdf5_dataset *d, uint64_t first, uint64_t count,
                             uint64_t *rows) {
  uint64_t chunks = 0;
  *rows = 0;
  if (row_in_chunk(d, first) != 0)
    return 0;
  while (*rows < count) {
    const uint64_t next = amped_hdf5_chunk_rows_at(d, first + *rows);
    if (next > count - *rows)
      break;
    *rows += next;
    chunks++;
  }
  return chunks;
}

static amped_status read_rows(amped_hdf5_dataset *d, amped_hdf5_type type, uint64_t first,
                              uint64_t count, void *buffer) {
  char *at = buffer;
  if (d->chunk_rows == 0 || type.number != d->type.number || type.bytes != d->type.bytes ||
      first > d->rows || count > d->rows - first)
    return library_read(d, type, first, count, buffer);
  while (count > 0) {
    uint64_t rows = 0;
    const uint64_t chunks = whole_chunks(d, first, count, &rows);
    if (chunks > 0)
      AMPED_TRY(amped_hdf5_chunks_read(d, first, chunks, at));
    else {
      rows = amped_hdf5_chunk_rows_at(d, first);
      rows = rows < count ? rows : count;
      AMPED_TRY(library_read(d, type, first, rows, at));
    }
    at += rows * d->columns * type.bytes;
    first += rows;
    count -= rows;
  }
  return AMPED_OK;
}

static amped_status check_unchanged(const amped_hdf5_dataset *d) {
  const amped_hdf5 *file = d->file;
  return file->io.watched ? amped_file_check_unchanged(file->io.fd, file->path, &file->io.stamp)
                          : AMPED_OK;
}

amped_status amped_hdf5_dataset_read(amped_hdf5_dataset *d, amped_hdf5_type type, uint64_t first,
                                     uint64_t count, void *buffer) {
  amped_hdf5_begin();
  amped_status status = read_rows(d, type, first, count, buffer);
  AMPED_TRY(check_unchanged(d));
  AMPED_TRY(status);
  return amped_hdf5_seal_check(d, type, first, count, buffer);
}

/* Does the box have whole rows, and do chunks store elements as in memory? */
static bool has_whole_rows(const amped_hdf5_dataset *d, amped_hdf5_type type,
                           const uint64_t *count) {
  bool whole = d->chunk_rows > 0 && type.number == d->type.number && type.bytes == d->type.bytes;
  for (int m = d->axis + 1; m < d->ndims; m++)
    whole = whole && count[m] == d->dims[m];
  return whole;
}

/* Read the rows of a box, one range of dims[axis] at a time. */
static amped_status read_spans(amped_hdf5_dataset *d, amped_hdf5_type type, const uint64_t *first,
                               const uint64_t *count, char *to) {
  uint64_t spans = 1;
  for (int m = 0; m < d->axis; m++)
    spans *= count[m];
  for (uint64_t s = 0; s < spans; s++) {
    uint64_t rest = s;
    uint64_t row = first[d->axis];
    uint64_t stride = d->dims[d->axis];
    for (int m = d->axis - 1; m >= 0; m--) {
      row += (first[m] + rest % count[m]) * stride;
      rest /= count[m];
      stride *= d->dims[m];
    }
    AMPED_TRY(read_rows(d, type, row, count[d->axis], to));
    to += count[d->axis] * d->columns * type.bytes;
  }
  return AMPED_OK;
}

amped_status amped_hdf5_array_read(amped_hdf5_dataset *d, amped_hdf5_type type,
                                   const uint64_t *first, const uint64_t *count, void *buffer) {
  hsize_t start[AMPED_MAX_ORDER];
  hsize_t extent[AMPED_MAX_ORDER];
  amped_hdf5_begin();
  for (int m = 0; m < d->ndims; m++) {
    if (count[m] == 0)
      return AMPED_OK;
    if (first[m] > d->dims[m] || count[m] > d->dims[m] - first[m])
      return wrong_rows(d, first[m], count[m]);
    start[m] = first[m];
    extent[m] = count[m];
  }
  amped_status status = has_whole_rows(d, type, count) ? read_spans(d, type, first, count, buffer)
                                                       : read_box(d, type, start, extent, buffer);
  AMPED_TRY(check_unchanged(d));
  return status;
}

void amped_hdf5_dataset_close(amped_hdf5_dataset *d) {
  if (d->open) {
    amped_hdf5_begin();
    (void)H5Dclose(d->id);
    d->file->cached_bytes -= d->cached_bytes;
  }
  d->open = false;
  d->cached_bytes = 0;
}

amped_status amped_hdf5_dataset_get(amped_hdf5 *file, const char *name, amped_hdf5_type type,
                                    int ndims, uint64_t rows, uint64_t columns, void *out) {
  amped_hdf5_dataset d;
  AMPED_TRY(amped_hdf5_dataset_open(file, name, ndims, &d));
  amped_status status = amped_hdf5_dataset_expect(&d, type, rows, columns);
  if (status == AMPED_OK)
    status = amped_hdf5_dataset_read(&d, type, 0, rows, out);
  amped_hdf5_dataset_close(&d);
  return status;
}

uint64_t amped_hdf5_slab_rows(uint64_t columns) {
  uint64_t rows = AMPED_HDF5_CHUNK / (columns > 0 ? columns : 1);
  return rows > 0 ? rows : 1;
}

/* Bytes of a dataset's header, and of a chunk's checksum and index entry. */
#define HEADER_BYTES 1024
#define CHUNK_EXTRA_BYTES 32

/* Chunks are stored whole, even the last one. */
uint64_t amped_hdf5_dataset_bytes(uint64_t rows, uint64_t columns, uint64_t element_bytes) {
  const uint64_t slab = amped_hdf5_slab_rows(columns);
  const uint64_t chunk = rows == 0 ? 1 : rows < slab ? rows : slab;
  return amped_ceil_div(rows, chunk) * (chunk * columns * element_bytes + CHUNK_EXTRA_BYTES) +
         HEADER_BYTES;
}

/* Creation list: chunks with checksums; no fill values, since every element is written; no time
 * stamps. */
static hid_t creation_list(const amped_hdf5_dataset *d) {
  hsize_t chunk[AMPED_MAX_ORDER];
  for (int m = 0; m < d->ndims; m++) {
    const uint64_t indices = d->dims[m] > 0 ? d->dims[m] : 1;
    chunk[m] = m < d->axis ? 1 : m == d->axis ? d->chunk_rows : indices;
  }
  hid_t list = H5Pcreate(H5P_DATASET_CREATE);
  if (list < 0)
    return list;
  if (H5Pset_chunk(list, d->ndims, chunk) >= 0 && H5Pset_fletcher32(list) >= 0 &&
      H5Pset_fill_time(list, H5D_FILL_TIME_NEVER) >= 0 && H5Pset_obj_track_times(list, false) >= 0)
    return list;
  (void)H5Pclose(list);
  return H5I_INVALID_HID;
}

/* Let rows span as many trailing dimensions as fit in one chunk. */
static void choose_chunks(amped_hdf5_dataset *d) {
  int axis = is_array(d) ? d->ndims - 1 : 0;
  for (uint64_t columns = 1; axis > 0; axis--)
    if (!amped_mul(columns, d->dims[axis], &columns) || columns > AMPED_HDF5_CHUNK)
      break;
  (void)set_axis(d, axis);
  const uint64_t slab = amped_hdf5_slab_rows(d->columns);
  const uint64_t span = d->dims[axis];
  d->chunk_rows = span == 0 ? 1 : span < slab ? span : slab;
  if (is_array(d) && span > 0) /* even chunks, because the last chunk of a range is stored whole */
    d->chunk_rows = amped_ceil_div(span, amped_ceil_div(span, slab));
}

amped_status amped_hdf5_dataset_create(amped_hdf5 *file, const char *name, amped_hdf5_type type,
                                       int ndims, const uint64_t *dims, amped_hdf5_dataset *out) {
  hsize_t extent[AMPED_MAX_ORDER];
  memset(out, 0, sizeof *out);
  out->file = file;
  out->type = type;
  out->ndims = ndims;
  for (int m = 0; m < AMPED_MAX_ORDER; m++)
    out->dims[m] = extent[m] = m < ndims ? dims[m] : 1;
  (void)snprintf(out->name, sizeof out->name, "%s", name);
  amped_status status = AMPED_OK;
  choose_chunks(out);
  hid_t list = creation_list(out);
  hid_t space = H5Screate_simple(ndims, extent, NULL);
  if (list >= 0 && space >= 0)
    out->id = H5Dcreate2(file->id, name, stored_type(type), space, H5P_DEFAULT, list, H5P_DEFAULT);
  out->open = list >= 0 && space >= 0 && out->id >= 0;
  if (!out->open)
    status = failed(out);
  if (space >= 0)
    (void)H5Sclose(space);
  if (list >= 0)
    (void)H5Pclose(list);
  return status;
}

uint64_t amped_hdf5_dataset_chunk(const amped_hdf5_dataset *d) {
  return d->written < d->rows ? amped_hdf5_chunk_rows_at(d, d->written) : 0;
}

void amped_hdf5_dataset_seal(amped_hdf5_dataset *d) {
  d->seal.on = true;
}

amped_status amped_hdf5_dataset_append(amped_hdf5_dataset *d, uint64_t count, const void *rows) {
  const char *at = rows;
  if (count > d->rows - d->written || row_in_chunk(d, d->written) != 0 ||
      (row_in_chunk(d, d->written + count) != 0 && d->written + count != d->rows))
    return wrong_rows(d, d->written, count);
  amped_hdf5_begin();
  amped_hdf5_seal_append(d, count, rows);
  while (count > 0 && d->columns > 0) {
    uint64_t n = amped_hdf5_chunk_rows_at(d, d->written);
    AMPED_TRY(amped_hdf5_chunk_write(d, d->written, at));
    at += n * d->columns * d->type.bytes;
    d->written += n;
    count -= n;
  }
  d->written += count;
  return AMPED_OK;
}

amped_status amped_hdf5_dataset_finish(amped_hdf5_dataset *d) {
  if (d->written != d->rows)
    return amped_error(AMPED_FAILED, d->file->path,
                       "dataset %s has %" PRIu64 " of %" PRIu64 " rows; this is a mistake of "
                       "amped_mpi, please report it",
                       d->name, d->written, d->rows);
  AMPED_TRY(amped_hdf5_seal_write(d));
  /* On a full disk, this may be the only call that fails. */
  d->open = false;
  return H5Dclose(d->id) < 0 ? failed(d) : AMPED_OK;
}

amped_status amped_hdf5_dataset_write(amped_hdf5 *file, const char *name, amped_hdf5_type type,
                                      int ndims, const uint64_t *dims, const void *rows) {
  amped_hdf5_dataset d;
  amped_status status = AMPED_OK;
  AMPED_TRY(amped_hdf5_dataset_create(file, name, type, ndims, dims, &d));
  amped_hdf5_dataset_seal(&d);
  AMPED_GO(done, amped_hdf5_dataset_append(&d, dims[0], rows));
  status = amped_hdf5_dataset_finish(&d);
done:
  amped_hdf5_dataset_close(&d);
  return status;
}
