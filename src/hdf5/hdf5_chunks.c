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

/* The least bytes for one more thread, and the most threads. */
#define PIECE_BYTES (UINT64_C(256) << 10)
#define MAX_PIECES 64

/* Fletcher's two sums over 16-bit words, each modulo 65535. A sum is 0 only where all words are 0,
 * as in HDF5. */
typedef struct sums {
  uint64_t one; /* sum of the words */
  uint64_t two; /* sum of the sums so far: n words count the first word n times */
} sums;

static uint64_t fold(uint64_t x) {
  return x == 0 ? 0 : (x - 1) % 65535 + 1;
}

/* Sums of the words of a followed by `words` words with sums b. */
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

/* Sums of less than a block; an odd last byte is the first byte of a word whose second byte is
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

/* The bytes of a chunk, in one piece a thread. */
typedef struct pieces {
  uint64_t count;
  uint64_t each;  /* bytes of all but the last */
  uint64_t bytes; /* of the chunk */
} pieces;

static pieces cut(uint64_t bytes) {
  const uint64_t threads = (uint64_t)omp_get_max_threads();
  uint64_t count = bytes / PIECE_BYTES + 1;
  count = count < threads ? count : threads;
  count = count < MAX_PIECES ? count : MAX_PIECES;
  return (pieces){count, amped_ceil_div(bytes, count * BLOCK_BYTES) * BLOCK_BYTES, bytes};
}

static uint64_t piece_from(const pieces *c, uint64_t p) {
  return p * c->each < c->bytes ? p * c->each : c->bytes;
}

static uint64_t piece_bytes(const pieces *c, uint64_t p) {
  return piece_from(c, p + 1) - piece_from(c, p);
}

/* The checksum from the sums of all pieces. */
static uint32_t checksum_of(const pieces *c, const sums *parts) {
  sums all = {0, 0};
  for (uint64_t p = 0; p < c->count; p++)
    all = append(all, parts[p], (piece_bytes(c, p) + 1) / 2);
  /* HDF5's words are big-endian. Modulo 65535, swapping the bytes of every word multiplies it by
   * 256. So it multiplies the sums by 256, which swaps the bytes of the sums. */
  return (uint32_t)__builtin_bswap16((uint16_t)all.two) << 16 |
         __builtin_bswap16((uint16_t)all.one);
}

uint32_t amped_hdf5_checksum(const void *data, uint64_t bytes, void *to, uint64_t copied) {
  sums parts[MAX_PIECES];
  const pieces c = cut(bytes);
#pragma omp parallel for schedule(static, 1) num_threads((int)c.count) if (c.count > 1)
  for (uint64_t p = 0; p < c.count; p++) {
    const uint64_t from = piece_from(&c, p);
    parts[p] = sum_piece((const unsigned char *)data + from, piece_bytes(&c, p),
                         to != NULL ? (unsigned char *)to + from : NULL,
                         copied > from ? copied - from : 0);
  }
  return checksum_of(&c, parts);
}

/* sum_piece of bytes of a file, which pass through `window` of WINDOW_BYTES at most. */
#define WINDOW_BYTES ((uint64_t)(16 * BLOCK_BYTES))
static bool sum_file_piece(const amped_hdf5_io *io, uint64_t place, uint64_t bytes,
                           unsigned char *window, unsigned char *to, uint64_t copied, sums *out) {
  *out = (sums){0, 0};
  for (uint64_t at = 0; at < bytes; at += WINDOW_BYTES) {
    const uint64_t n = bytes - at < WINDOW_BYTES ? bytes - at : WINDOW_BYTES;
    if (!amped_hdf5_io_read(io, place + at, n, window))
      return false;
    *out = append(*out, sum_piece(window, n, to + at, copied > at ? copied - at : 0), (n + 1) / 2);
  }
  return true;
}

/* The checksum as it is stored, little-endian. */
static uint32_t stored_checksum(const unsigned char *at) {
  return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static uint64_t row_bytes(const amped_hdf5_dataset *d) {
  return d->columns * d->type.bytes;
}

/* Bytes of a chunk in the file. */
static uint64_t stored_bytes(const amped_hdf5_dataset *d) {
  return d->chunk_rows * row_bytes(d) + CHECKSUM_BYTES;
}

/* Room for one stored chunk. It belongs to the file: only one of its datasets is used at a time. */
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

/* The number of the chunk that has this row, and the first row of a chunk. */
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

/* While a chunk is read, the system is asked for chunks up to this many bytes, or chunks, behind
 * it. Small chunks need no request: the system reads several of them at once by itself. */
#define AHEAD_BYTES (UINT64_C(16) << 20)
#define AHEAD_CHUNKS 16
#define SMALL_BYTES (UINT64_C(64) << 10)

static bool find_chunk(const amped_hdf5_dataset *d, uint64_t chunk, uint64_t *at) {
#if H5_VERSION_GE(1, 10, 5)
  hsize_t offset[AMPED_MAX_ORDER];
  unsigned skipped = 0; /* filters */
  haddr_t place = HADDR_UNDEF;
  hsize_t bytes = 0;
  amped_hdf5_chunk_offset(d, row_of(d, chunk), offset);
  bool found = H5Dget_chunk_info_by_coord(d->id, offset, &skipped, &place, &bytes) >= 0 &&
               place != HADDR_UNDEF && skipped == 0;
  *at = place;
  return found;
#else
  (void)d;
  (void)chunk;
  *at = 0;
  return false;
#endif
}

/* HDF5 searches all chunks before the wanted chunk. So it is asked only when their number has
 * doubled; chunks between two answers are assumed to lie regularly, as in files that this program
 * writes. */
static bool find_places(amped_hdf5_dataset *d, uint64_t chunk) {
  amped_hdf5_places *p = &d->places;
  uint64_t next = 0;
  if (p->hopeless || (p->found && chunk >= p->known && chunk <= 2 * p->known + 1))
    return !p->hopeless;
  p->hopeless = !find_chunk(d, chunk, &p->at) || !find_chunk(d, chunk + 1, &next) || next <= p->at;
  p->found = true;
  p->known = chunk;
  p->stride = next - p->at;
  return !p->hopeless;
}

/* These requests are hints: a wrong hint does no harm. A reader that skips chunks is assumed to go
 * on with the same step. */
static void ask_ahead(amped_hdf5_dataset *d, uint64_t first) {
  amped_hdf5_places *p = &d->places;
  const uint64_t chunk = chunk_of(d, first);
  const uint64_t last = chunk_of(d, d->rows - 1);
  const uint64_t most = AHEAD_BYTES / stored_bytes(d) + 1;
  const uint64_t chunks = most < AHEAD_CHUNKS ? most : AHEAD_CHUNKS;
  const bool goes_on = p->started && chunk > p->last;
  const uint64_t step = goes_on ? chunk - p->last : 1;
  p->started = true;
  p->last = chunk;
  if (stored_bytes(d) < SMALL_BYTES || chunk == last || !find_places(d, chunk))
    return;
  for (uint64_t i = goes_on ? chunks : 1; i <= chunks && i <= (last - chunk) / step; i++)
    amped_file_ask(d->file->io.fd, p->at + (chunk - p->known + i * step) * p->stride,
                   stored_bytes(d) < AHEAD_BYTES ? stored_bytes(d) : AHEAD_BYTES);
}

/* HDF5 reads a chunk with one thread, at the rate of one core's copy; and it searches all chunks
 * before a chunk to tell its place. Up to this number of chunks the search costs less than all
 * threads gain that read their pieces of the chunk themselves. */
#define SEARCHED_CHUNKS 4096

/* Places count from the end of the user block: files that have one are left to the library. */
static bool has_user_block(const amped_hdf5_dataset *d) {
  hsize_t bytes = 1;
  hid_t list = H5Fget_create_plist(d->file->id);
  if (list < 0 || H5Pget_userblock(list, &bytes) < 0)
    bytes = 1;
  if (list >= 0)
    (void)H5Pclose(list);
  return bytes > 0;
}

/* Is the place of the chunk in the file known for certain? */
static bool knows_place(amped_hdf5_dataset *d, uint64_t first, uint64_t *at) {
  const uint64_t chunk = chunk_of(d, first);
  amped_hdf5_places *p = &d->places;
  if (d->file->io.fd < 0 || stored_bytes(d) < PIECE_BYTES || chunk >= SEARCHED_CHUNKS)
    return false;
  if (!p->asked) {
    p->asked = true;
    p->behind_block = has_user_block(d);
  }
  return !p->behind_block && find_chunk(d, chunk, at);
}

/* All threads read and check a chunk, past the library. False where some part cannot be read, or
 * the file changed: the library then tells. */
static bool read_in_pieces(const amped_hdf5_dataset *d, uint64_t place, void *rows, uint64_t wanted,
                           bool *right) {
  const uint64_t bytes = d->chunk_rows * row_bytes(d);
  unsigned char *room = d->file->chunk;
  unsigned char stored[CHECKSUM_BYTES];
  sums parts[MAX_PIECES];
  bool read = true;
  const pieces c = cut(bytes);
#pragma omp parallel for schedule(static, 1) num_threads((int)c.count) reduction(&& : read)
  for (uint64_t p = 0; p < c.count; p++) {
    const uint64_t from = piece_from(&c, p);
    read = read && sum_file_piece(&d->file->io, place + from, piece_bytes(&c, p), room + from,
                                  (unsigned char *)rows + from, wanted > from ? wanted - from : 0,
                                  &parts[p]);
  }
  if (!read || !amped_hdf5_io_read(&d->file->io, place + bytes, sizeof stored, stored) ||
      !amped_hdf5_io_same(&d->file->io))
    return false;
  *right = checksum_of(&c, parts) == stored_checksum(stored);
  return true;
}

amped_status amped_hdf5_chunk_read(amped_hdf5_dataset *d, uint64_t first, void *rows) {
  hsize_t offset[AMPED_MAX_ORDER];
  const uint64_t bytes = d->chunk_rows * row_bytes(d);
  hsize_t stored = 0;
  uint32_t skipped = 0;
  amped_hdf5_chunk_offset(d, first, offset);
  /* H5Dread_chunk does not know the size of the buffer: it reads as many bytes as the file says. */
  if (H5Dget_chunk_storage_size(d->id, offset, &stored) < 0)
    return amped_hdf5_failed(d->file, "dataset", d->name);
  if (stored != stored_bytes(d))
    return mismatch(d, first);
  AMPED_TRY(reserve(d, stored));
  ask_ahead(d, first);
  const uint64_t wanted = amped_hdf5_chunk_rows_at(d, first) * row_bytes(d);
  uint64_t place = 0;
  bool right = false;
  if (knows_place(d, first, &place) && read_in_pieces(d, place, rows, wanted, &right))
    return right ? AMPED_OK : mismatch(d, first);
  if (H5Dread_chunk(d->id, H5P_DEFAULT, offset, &skipped, d->file->chunk) < 0)
    return amped_hdf5_failed(d->file, "dataset", d->name);
  const unsigned char *chunk = d->file->chunk;
  if (skipped != 0 ||
      amped_hdf5_checksum(chunk, bytes, rows, wanted) != stored_checksum(chunk + bytes))
    return mismatch(d, first);
  return AMPED_OK;
}

/* Chunks of so many bytes are written behind. */
#define BEHIND_BYTES (UINT64_C(1) << 20)

/* Room for one chunk that is written. */
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
  if (given < bytes) { /* the last chunk is stored whole */
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
