/* Chunks with Fletcher-32 checksums: checksums, prefetching, and reading and writing with all
 * threads. */
#include "hdf5/hdf5_chunks.h"

#include <omp.h>
#include <string.h>

#include "base/mem.h"

#define CHECKSUM_BYTES 4

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "files are little-endian, and chunks are written as they lie in memory");

/* Words are added in LANES columns of STEPS rows, so that compilers vectorise the loop. Sums of
 * sums stay below 2^32: 65535 * STEPS * (STEPS + 1) / 2. */
#define LANES 32
#define STEPS 256
#define BLOCK_BYTES (2 * LANES * STEPS)

/* Bytes that a thread checks at a time, while they are in its cache; and the most pieces processed
 * at once, enough for the largest chunk. */
#define PIECE_BYTES ((uint64_t)(16 * BLOCK_BYTES))
#define MAX_PIECES 1024

/* Fletcher's two sums over 16-bit words, each modulo 65535. As in HDF5, a sum is 0 only if all
 * words are 0. */
typedef struct sums {
  uint64_t one; /* sum of the words */
  uint64_t two; /* sum of the partial sums: of n words the first counts n times */
} sums;

static uint64_t fold(uint64_t x) {
  return x == 0 ? 0 : (x - 1) % 65535 + 1;
}

/* Sums of a sequence with sums a, followed by `words` words with sums b. */
static sums append(sums a, sums b, uint64_t words) {
  return (sums){fold(a.one + b.one), fold(a.two + words % 65535 * a.one + b.two)};
}

static sums sum_block(const unsigned char *data) {
  uint32_t one[LANES] = {0};
  uint32_t two[LANES] = {0};
  uint64_t first = 0;
  uint64_t second = 0;
  for (int s = 0; s < STEPS; s++) {
    uint16_t words[LANES];
    memcpy(words, data + (size_t)s * sizeof words, sizeof words);
    for (int j = 0; j < LANES; j++) {
      one[j] += words[j];
      two[j] += one[j];
    }
  }
  /* Word s of column j counts LANES (STEPS - s) - j times; two[j] has it STEPS - s times. */
  for (uint64_t j = 0; j < LANES; j++) {
    first += one[j];
    second += LANES * (uint64_t)two[j] - j * one[j];
  }
  return (sums){fold(first), fold(second)};
}

/* Sums of less than a block. An odd last byte is the first byte of a word whose second byte is
 * 0. */
static sums sum_rest(const unsigned char *data, uint64_t bytes) {
  sums s = {0, 0};
  for (uint64_t i = 0; i < bytes; i += 2) {
    unsigned char pair[2] = {data[i], i + 1 < bytes ? data[i + 1] : 0};
    uint16_t word = 0;
    memcpy(&word, pair, sizeof word);
    s.one += word;
    s.two += s.one;
  }
  return (sums){fold(s.one), fold(s.two)};
}

static sums sum_piece(const unsigned char *data, uint64_t bytes, unsigned char *to,
                      uint64_t copied) {
  sums s = {0, 0};
  for (uint64_t at = 0; at < bytes; at += BLOCK_BYTES) {
    uint64_t n = bytes - at < BLOCK_BYTES ? bytes - at : BLOCK_BYTES;
    sums block = n == BLOCK_BYTES ? sum_block(data + at) : sum_rest(data + at, n);
    s = append(s, block, (n + 1) / 2);
    if (to != NULL && at < copied)
      memcpy(to + at, data + at, copied - at < n ? copied - at : n);
  }
  return s;
}

/* Partition of a chunk's bytes into pieces. */
typedef struct pieces {
  uint64_t count;
  uint64_t bytes; /* bytes of the chunk */
} pieces;

static pieces cut(uint64_t bytes) {
  return (pieces){amped_ceil_div(bytes, PIECE_BYTES), bytes};
}

static uint64_t piece_from(const pieces *c, uint64_t p) {
  return p * PIECE_BYTES < c->bytes ? p * PIECE_BYTES : c->bytes;
}

static uint64_t piece_bytes(const pieces *c, uint64_t p) {
  return piece_from(c, p + 1) - piece_from(c, p);
}

/* Checksum from the sums of all pieces. */
static uint32_t checksum_of(const pieces *c, const sums *parts) {
  sums all = {0, 0};
  for (uint64_t p = 0; p < c->count; p++)
    all = append(all, parts[p], (piece_bytes(c, p) + 1) / 2);
  /* HDF5's words are big-endian. Modulo 65535, swapping the bytes of every word multiplies it by
   * 256. So it multiplies the sums by 256, which swaps the bytes of the sums. */
  return (uint32_t)__builtin_bswap16((uint16_t)all.two) << 16 |
         __builtin_bswap16((uint16_t)all.one);
}

/* Number of threads for `count` pieces. */
static int threads_for(uint64_t count) {
  const int most = omp_get_max_threads();
  return count < (uint64_t)most ? (int)count : most;
}

uint32_t amped_hdf5_checksum(const void *data, uint64_t bytes, void *to, uint64_t copied) {
  sums parts[MAX_PIECES];
  const pieces c = cut(bytes);
#pragma omp parallel for schedule(static) num_threads(threads_for(c.count)) if (c.count > 1)
  for (uint64_t p = 0; p < c.count; p++) {
    const uint64_t from = piece_from(&c, p);
    parts[p] = sum_piece((const unsigned char *)data + from, piece_bytes(&c, p),
                         to != NULL ? (unsigned char *)to + from : NULL,
                         copied > from ? copied - from : 0);
  }
  return checksum_of(&c, parts);
}

/* Stored checksum, little-endian. */
static uint32_t stored_checksum(const unsigned char *at) {
  return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static uint64_t row_bytes(const amped_hdf5_dataset *d) {
  return d->columns * d->type.bytes;
}

/* Bytes of a chunk in the file, with its checksum. */
static uint64_t stored_bytes(const amped_hdf5_dataset *d) {
  return d->chunk_rows * row_bytes(d) + CHECKSUM_BYTES;
}

/* Make the file's buffer at least `bytes` long. Its datasets share the buffer: only one of them is
 * used at a time. */
static amped_status reserve(amped_hdf5_dataset *d, uint64_t bytes) {
  amped_hdf5 *file = d->file;
  if (file->chunk_bytes >= bytes)
    return AMPED_OK;
  amped_free(file->chunk);
  file->chunk_bytes = 0;
  AMPED_TRY(amped_alloc(&file->chunk, bytes, 1, "a chunk of a file"));
  file->chunk_bytes = bytes;
  return AMPED_OK;
}

static uint64_t span_of(const amped_hdf5_dataset *d) {
  return d->dims[d->axis];
}

uint64_t amped_hdf5_chunk_rows_at(const amped_hdf5_dataset *d, uint64_t first) {
  const uint64_t left = span_of(d) - first % span_of(d);
  const uint64_t rows = d->chunk_rows - first % span_of(d) % d->chunk_rows;
  return left < rows ? left : rows;
}

/* chunk_of: number of the chunk that contains a row. row_of: first row of a chunk. */
static uint64_t chunk_of(const amped_hdf5_dataset *d, uint64_t row) {
  const uint64_t chunks = amped_ceil_div(span_of(d), d->chunk_rows);
  return row / span_of(d) * chunks + row % span_of(d) / d->chunk_rows;
}

static uint64_t row_of(const amped_hdf5_dataset *d, uint64_t chunk) {
  const uint64_t chunks = amped_ceil_div(span_of(d), d->chunk_rows);
  return chunk / chunks * span_of(d) + chunk % chunks * d->chunk_rows;
}

void amped_hdf5_chunk_offset(const amped_hdf5_dataset *d, uint64_t row, hsize_t *offset) {
  for (int m = d->ndims - 1; m > d->axis; m--)
    offset[m] = 0;
  for (int m = d->axis; m >= 0; m--) {
    offset[m] = m > 0 ? row % d->dims[m] : row;
    row /= d->dims[m] > 0 ? d->dims[m] : 1;
  }
}

/* Record the error that HDF5's own filter would cause. */
static amped_status mismatch(amped_hdf5_dataset *d, uint64_t first) {
  d->file->library_failed = true;
  return amped_error(AMPED_BAD_INPUT, d->file->path,
                     "dataset %s cannot be read (the checksum of the chunk at row %" PRIu64
                     " does not match); the file is damaged, make it again",
                     d->name, first);
}

/* Find the offset of a chunk in the file. The library reports it only to its driver; searching our
 * own index from its beginning for each chunk would be slower. Returns false if HDF5 would read
 * anything but one whole chunk. */
static bool find_chunk(const amped_hdf5_dataset *d, uint64_t chunk, uint64_t *at) {
  amped_hdf5_io *io = &d->file->io;
  hsize_t offset[AMPED_MAX_ORDER];
  uint64_t bytes = 0;
  uint32_t skipped = 0; /* mask of filters that were skipped */
  amped_hdf5_chunk_offset(d, row_of(d, chunk), offset);
  amped_hdf5_io_find(io);
  const herr_t result = H5Dread_chunk(d->id, H5P_DEFAULT, offset, &skipped, d->file->chunk);
  return amped_hdf5_io_found(io, at, &bytes) && result >= 0 && bytes == stored_bytes(d) &&
         skipped == 0;
}

/* Limits of prefetching: the most bytes, or chunks, requested beyond the chunk being read. Small
 * chunks need no request: the system reads several of them ahead by itself. */
#define AHEAD_BYTES (UINT64_C(16) << 20)
#define AHEAD_CHUNKS 16
#define SMALL_BYTES (UINT64_C(64) << 10)

/* Predict the step from chunk to chunk of a reader; 0: unknown. */
static uint64_t step_of(amped_hdf5_ahead *a, uint64_t chunk, uint64_t count) {
  const bool goes_on = a->started && chunk > a->last;
  const uint64_t step = goes_on ? chunk - a->last : 1;
  const bool again = !a->started || step == 1 || (step == a->step && count == 1);
  if (!goes_on)
    a->asked = 0;
  a->step = step;
  a->last = chunk + count - 1;
  a->started = true;
  return again ? step : 0;
}

/* Ask the system to prefetch the next chunks. Requests are hints: a wrong one does no harm. */
static void ask_ahead(amped_hdf5_dataset *d, uint64_t chunk, uint64_t count) {
  amped_hdf5_ahead *a = &d->ahead;
  const uint64_t bytes = stored_bytes(d);
  const uint64_t end = chunk_of(d, d->rows - 1);
  const uint64_t most = AHEAD_BYTES / bytes + 1;
  const uint64_t chunks = most < AHEAD_CHUNKS ? most : AHEAD_CHUNKS;
  const uint64_t step = step_of(a, chunk, count);
  if (bytes < SMALL_BYTES || step == 0)
    return;
  for (uint64_t i = 1; i <= chunks && i <= (end - a->last) / step; i++) {
    const uint64_t next = a->last + i * step;
    uint64_t at = 0;
    if (next <= a->asked)
      continue;
    if (!find_chunk(d, next, &at))
      return;
    amped_file_ask(d->file->io.fd, at, bytes < AHEAD_BYTES ? bytes : AHEAD_BYTES);
    a->asked = next;
  }
}

/* Chunks that all threads read and check together, bypassing the library, which uses one thread per
 * chunk. */
typedef struct batch {
  amped_hdf5_dataset *dataset;
  uint64_t first, count; /* chunk numbers */
  pieces cut;            /* partition of each chunk */
  unsigned char *rows;
  unsigned char *windows; /* PIECE_BYTES per thread, for bytes after the last rows, which are not
                             wanted */
  uint64_t places[MAX_PIECES]; /* offsets of chunks in the file */
  uint32_t stored[MAX_PIECES]; /* stored checksums */
  sums parts[MAX_PIECES];      /* sums of all pieces, chunk by chunk */
} batch;

static bool read_piece(batch *b, uint64_t number) {
  const amped_hdf5_dataset *d = b->dataset;
  const amped_hdf5_io *io = &d->file->io;
  const uint64_t i = number / b->cut.count;
  const uint64_t p = number % b->cut.count;
  const uint64_t from = piece_from(&b->cut, p);
  const uint64_t bytes = piece_bytes(&b->cut, p);
  const uint64_t first = row_of(d, b->first + i);
  const uint64_t wanted = amped_hdf5_chunk_rows_at(d, first) * row_bytes(d);
  unsigned char *to = b->rows + (first - row_of(d, b->first)) * row_bytes(d) + from;
  const bool whole = from + bytes <= wanted;
  unsigned char *window = whole ? to : b->windows + (uint64_t)omp_get_thread_num() * PIECE_BYTES;
  unsigned char stored[CHECKSUM_BYTES];
  if (!amped_hdf5_io_read(io, b->places[i] + from, bytes, window))
    return false;
  b->parts[number] = sum_piece(window, bytes, whole || from >= wanted ? NULL : to, wanted - from);
  if (p > 0)
    return true;
  if (!amped_hdf5_io_read(io, b->places[i] + b->cut.bytes, sizeof stored, stored))
    return false;
  b->stored[i] = stored_checksum(stored);
  return true;
}

/* Returns false if some part cannot be read, or if the file changed; the library then reports the
 * error. *wrong: first chunk whose checksum does not match; b->count: none. */
static bool read_batch(batch *b, uint64_t *wrong) {
  const uint64_t items = b->count * b->cut.count;
  bool read = true;
  for (uint64_t i = 0; i < b->count; i++)
    if (!find_chunk(b->dataset, b->first + i, &b->places[i]))
      return false;
#pragma omp parallel for schedule(dynamic) num_threads(threads_for(items)) reduction(&& : read) if (items > 1)
  for (uint64_t j = 0; j < items; j++)
    read = read && read_piece(b, j);
  if (!read || !amped_hdf5_io_same(&b->dataset->file->io))
    return false;
  for (*wrong = 0; *wrong < b->count; ++*wrong)
    if (checksum_of(&b->cut, b->parts + *wrong * b->cut.count) != b->stored[*wrong])
      break;
  return true;
}

/* Read one chunk with the library. */
static amped_status read_by_library(amped_hdf5_dataset *d, uint64_t first, void *rows) {
  hsize_t offset[AMPED_MAX_ORDER];
  const uint64_t bytes = d->chunk_rows * row_bytes(d);
  const uint64_t wanted = amped_hdf5_chunk_rows_at(d, first) * row_bytes(d);
  hsize_t stored = 0;
  uint32_t skipped = 0;
  amped_hdf5_chunk_offset(d, first, offset);
  /* H5Dread_chunk does not know the size of the buffer: it reads the size that the file claims. So
   * compare the sizes first. */
  if (H5Dget_chunk_storage_size(d->id, offset, &stored) < 0)
    return amped_hdf5_failed(d->file, "dataset", d->name);
  if (stored != stored_bytes(d))
    return mismatch(d, first);
  AMPED_TRY(reserve(d, stored));
  if (H5Dread_chunk(d->id, H5P_DEFAULT, offset, &skipped, d->file->chunk) < 0)
    return amped_hdf5_failed(d->file, "dataset", d->name);
  const unsigned char *chunk = d->file->chunk;
  return skipped == 0 &&
                 amped_hdf5_checksum(chunk, bytes, rows, wanted) == stored_checksum(chunk + bytes)
             ? AMPED_OK
             : mismatch(d, first);
}

static amped_status read_chunks(batch *b) {
  amped_hdf5_dataset *d = b->dataset;
  uint64_t wrong = 0;
  if (read_batch(b, &wrong))
    return wrong == b->count ? AMPED_OK : mismatch(d, row_of(d, b->first + wrong));
  for (uint64_t i = 0; i < b->count; i++) {
    const uint64_t first = row_of(d, b->first + i);
    AMPED_TRY(read_by_library(d, first, b->rows + (first - row_of(d, b->first)) * row_bytes(d)));
  }
  return AMPED_OK;
}

amped_status amped_hdf5_chunks_read(amped_hdf5_dataset *d, uint64_t first, uint64_t count,
                                    void *rows) {
  batch b;
  const uint64_t end = chunk_of(d, first) + count;
  b.dataset = d;
  b.cut = cut(d->chunk_rows * row_bytes(d));
  const uint64_t most = MAX_PIECES / b.cut.count;
  AMPED_TRY(reserve(d, (uint64_t)omp_get_max_threads() * PIECE_BYTES));
  b.windows = d->file->chunk;
  for (b.first = chunk_of(d, first); b.first < end; b.first += b.count) {
    b.count = end - b.first < most ? end - b.first : most;
    b.rows = (unsigned char *)rows + (row_of(d, b.first) - first) * row_bytes(d);
    ask_ahead(d, b.first, b.count);
    AMPED_TRY(read_chunks(&b));
    b.windows = d->file->chunk; /* the library may have needed a larger buffer */
  }
  return AMPED_OK;
}

/* Chunks of at least this size are written asynchronously. */
#define BEHIND_BYTES (UINT64_C(1) << 20)

/* Returns a buffer for one chunk to be written. */
static amped_status reserve_written(amped_hdf5_dataset *d, uint64_t bytes, unsigned char **out) {
  amped_hdf5_io *io = &d->file->io;
  if (bytes >= BEHIND_BYTES)
    return amped_write_behind_room(&io->behind, io->fd, bytes, (void **)out);
  AMPED_TRY(reserve(d, bytes));
  *out = d->file->chunk;
  return AMPED_OK;
}

amped_status amped_hdf5_chunk_write(amped_hdf5_dataset *d, uint64_t first, const void *rows) {
  hsize_t offset[AMPED_MAX_ORDER];
  const uint64_t bytes = d->chunk_rows * row_bytes(d);
  const uint64_t given = amped_hdf5_chunk_rows_at(d, first) * row_bytes(d);
  uint32_t checksum = 0;
  unsigned char *chunk = NULL;
  amped_hdf5_chunk_offset(d, first, offset);
  AMPED_TRY(reserve_written(d, bytes + CHECKSUM_BYTES, &chunk));
  if (given < bytes) { /* the last chunk is stored whole, padded with zeros */
    memcpy(chunk, rows, given);
    memset(chunk + given, 0, bytes - given);
    checksum = amped_hdf5_checksum(chunk, bytes, NULL, 0);
  } else
    checksum = amped_hdf5_checksum(rows, bytes, chunk, bytes);
  for (int i = 0; i < CHECKSUM_BYTES; i++)
    chunk[bytes + (uint64_t)i] = (unsigned char)(checksum >> (8 * i));
  if (H5Dwrite_chunk(d->id, H5P_DEFAULT, 0, offset, bytes + CHECKSUM_BYTES, chunk) < 0)
    return amped_hdf5_failed(d->file, "dataset", d->name);
  return AMPED_OK;
}
