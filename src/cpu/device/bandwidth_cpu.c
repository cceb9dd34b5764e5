/* Bandwidth of CPU cores. The gather does only the memory work of every MTTKRP: it draws a batch of
 * rows, prefetches the next batch, and reads rows of a known length in vectors. It does not
 * multiply, decode or store. */
#include "cpu/device/bandwidth_cpu.h"

#include "base/system_memory.h"
#include "base/huge_pages.h"
#include "base/cpu_dispatch.h"
#include "backend/synthetic.h"
#include "base/timer.h"

/* Bytes gathered per timing, bytes read per timing, and most timings. The fastest counts; ENOUGH in
 * a row that are not 1 % faster are the last. */
#define GATHER_BYTES (UINT64_C(128) << 20)
#define READ_BYTES (UINT64_C(256) << 20)
#define REPEATS 12
#define ENOUGH 3

/* Rows that are prefetched at a time. */
#define BATCH 32

/* TILE: words that are added together. PART: the same for the rest of a row. LINE: words of a cache
 * line. Rows are padded to 16 bytes. */
#define TILE 16
#define PART 2
#define LINE 8

/* A table of rows, or memory to read in order. */
typedef struct table {
  const uint64_t *data;
  uint64_t rows;
  uint64_t words; /* words per row */
  bool fetch;     /* rows are prefetched: the table is too large for a core's caches */
} table;

typedef uint64_t tile[TILE];

/* One thread's work. Its sum is not used, but keeps the compiler from removing the loads. */
typedef uint64_t worker(const table *t, uint64_t first, uint64_t count);

/* at[j] = a random row. Drawing must cost less than reading the row: few instructions, in
 * vectors. */
AMPED_INLINE void draw(const table *t, uint64_t first, uint64_t *at) {
  for (int j = 0; j < BATCH; j++) {
    uint32_t h = ((uint32_t)first + (uint32_t)j) * UINT32_C(0x9E3779B1);
    h = (h ^ h >> 15) * UINT32_C(0x85EBCA77);
    h ^= h >> 13;
    at[j] = h * t->rows >> 32;
  }
}

/* Add a row to acc and rest. Loops are unrolled so that the sums stay in registers. */
AMPED_INLINE void add_row(const uint64_t *restrict row, uint64_t words, tile acc, tile rest) {
  uint64_t w = 0;
#pragma GCC unroll 8
  for (; w + TILE <= words; w += TILE)
    for (int c = 0; c < TILE; c++)
      acc[c] += row[w + (uint64_t)c];
#pragma GCC unroll 8
  for (; w + PART <= words; w += PART)
    for (int c = 0; c < PART; c++)
      rest[c] += row[w + (uint64_t)c];
}

AMPED_INLINE uint64_t sum_of(const tile acc) {
  uint64_t sum = 0;
  for (int c = 0; c < TILE; c++)
    sum += acc[c];
  return sum;
}

/* Gather `count` rows. fetch and words are compile-time constants of the caller; words may also be
 * t->words. */
AMPED_INLINE uint64_t gather_words(const table *t, bool fetch, uint64_t words, uint64_t first,
                                   uint64_t count) {
  uint64_t at[2][BATCH];
  tile acc = {0};
  tile rest = {0};
  int turn = 0;
  draw(t, first, at[0]);
  for (uint64_t k = 0; k < count; k += BATCH, turn = !turn) {
    draw(t, first + k + BATCH, at[!turn]);
    for (int j = 0; j < BATCH; j++) {
      for (uint64_t w = 0; fetch && w < words; w += LINE)
        __builtin_prefetch(t->data + at[!turn][j] * words + w);
      add_row(t->data + at[turn][j] * words, words, acc, rest);
    }
  }
  return sum_of(acc) + sum_of(rest);
}

AMPED_INLINE uint64_t gather_rows(const table *t, bool fetch, uint64_t first, uint64_t count) {
  switch (t->words) { /* 20, 36, 68: 32, 64 or 128 components in float, plus a column of biases */
  case 8:
    return gather_words(t, fetch, 8, first, count);
  case 16:
    return gather_words(t, fetch, 16, first, count);
  case 20:
    return gather_words(t, fetch, 20, first, count);
  case 32:
    return gather_words(t, fetch, 32, first, count);
  case 36:
    return gather_words(t, fetch, 36, first, count);
  case 64:
    return gather_words(t, fetch, 64, first, count);
  case 68:
    return gather_words(t, fetch, 68, first, count);
  default:
    return gather_words(t, fetch, t->words, first, count);
  }
}

AMPED_INLINE uint64_t gather(const table *t, uint64_t first, uint64_t count) {
  return t->fetch ? gather_rows(t, true, first, count) : gather_rows(t, false, first, count);
}

AMPED_INLINE uint64_t read_in_order(const table *t, uint64_t first, uint64_t count) {
  tile acc = {0};
  for (uint64_t k = first; k < first + count; k++)
    add_row(t->data + k * TILE, TILE, acc, acc);
  return sum_of(acc);
}

#define DEFINE(CPU)                                                                                \
  AMPED_TARGET_##CPU static uint64_t gather_##CPU(const table *t, uint64_t first,                  \
                                                  uint64_t count) {                                \
    return gather(t, first, count);                                                                \
  }                                                                                                \
  AMPED_TARGET_##CPU static uint64_t read_##CPU(const table *t, uint64_t first, uint64_t count) {  \
    return read_in_order(t, first, count);                                                         \
  }
AMPED_CPU_DISPATCH(DEFINE)

static worker *find(bool in_order) {
#define ROW(CPU) {.here = AMPED_HAS_##CPU, .work = {gather_##CPU, read_##CPU}},
  const struct {
    bool here;
    worker *work[2];
  } rows[] = {AMPED_CPU_DISPATCH(ROW)};
  size_t i = 0;
  while (!rows[i].here)
    i++;
  return rows[i].work[in_order];
}

/* Best rate of the timings, in rows per second, if every thread processes `each` rows. */
static double best_rate(const table *t, worker *work, uint64_t each, int threads) {
  double best = 0.0;
  int slower = 0;
  for (int i = 0; i < REPEATS && slower < ENOUGH; i++) {
    uint64_t sum = 0;
    double began = amped_time();
#pragma omp parallel for schedule(static) reduction(+ : sum) num_threads(threads)
    for (int p = 0; p < threads; p++)
      sum += work(t, each * (uint64_t)p, each);
    double rate = (double)each * threads / (amped_time() - began);
    slower = rate > 1.01 * best ? 0 : slower + 1;
    if (sum == 0 && rate > best) /* sum is 0, as the table is */
      best = rate;
  }
  return best;
}

/* True if `rows` rows fit in half of the available memory, or if the available memory is
 * unknown. */
static bool has_room(uint64_t rows, uint64_t row_bytes) {
  uint64_t bytes = 0;
  uint64_t available = amped_mem_available();
  return amped_mul(rows, row_bytes, &bytes) && (available == 0 || bytes <= available / 2);
}

amped_status amped_bandwidth_cpu(const amped_plan *plan, uint64_t rows, int threads,
                                 double *rows_per_sec) {
  uint64_t row_bytes = amped_plan_row_bytes(plan);
  table t = {.rows = rows, .words = row_bytes / sizeof *t.data};
  uint64_t *data = NULL;
  *rows_per_sec = 0.0;
  /* Limit: a row is drawn with 32 random bits. */
  if (rows == 0 || rows > AMPED_SYNTHETIC_MAX_DIM || !has_room(rows, row_bytes))
    return AMPED_OK;
  AMPED_TRY(amped_huge_pages_calloc(&data, rows, row_bytes, threads, "a table to gather from"));
  t.data = data;
  t.fetch = rows * row_bytes > AMPED_CACHED_BYTES;
  uint64_t each = amped_ceil_div(GATHER_BYTES / row_bytes + 1, BATCH * (uint64_t)threads) * BATCH;
  *rows_per_sec = best_rate(&t, find(false), each, threads);
  amped_huge_pages_free(data);
  return AMPED_OK;
}

amped_status amped_read_cpu(int threads, double *bytes_per_sec) {
  uint64_t each = READ_BYTES / sizeof(tile) / (uint64_t)threads;
  table t = {.rows = each * (uint64_t)threads, .words = TILE};
  uint64_t *data = NULL;
  *bytes_per_sec = 0.0;
  if (t.rows == 0 || !has_room(t.rows, sizeof(tile)))
    return AMPED_OK;
  AMPED_TRY(amped_huge_pages_calloc(&data, t.rows, sizeof(tile), threads, "memory to read"));
  t.data = data;
  *bytes_per_sec = best_rate(&t, find(true), each, threads) * (double)sizeof(tile);
  amped_huge_pages_free(data);
  return AMPED_OK;
}
