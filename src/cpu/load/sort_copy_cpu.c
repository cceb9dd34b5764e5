/* Sort copy on CPU cores. First numbers are grouped by output row, unless the caller has grouped
 * them. This is a counting sort by all threads, which leaves the order within a row undefined. Then
 * neighbouring groups form pieces. Each piece is sorted by row, key and number, which restores the
 * order. */
#include "cpu/load/sort_copy_cpu.h"

#include <omp.h>
#include <string.h>

#include "base/mem.h"
#include "base/sort.h"

/* Nonzeros of a piece: PIECE_OF_THREAD per thread, which stay in its cache, but at most PIECE_MOST.
 * A single group may have more. */
#define PIECE_OF_THREAD (UINT64_C(1) << 16)
#define PIECE_MOST (UINT64_C(1) << 20)

/* Bytes per nonzero of a piece: for the sort, and for each word of the key. */
#define SORT_BYTES 24
#define WORD_BYTES sizeof(uint64_t)

typedef struct sorter {
  const amped_sort_copy *c;
  uint64_t piece;       /* nonzeros of a piece */
  uint64_t groups;      /* number of groups: rows, unless the caller has groups */
  const uint64_t *ends; /* [groups] end of each group among the numbers */
  uint64_t *own_ends;   /* the same array, allocated if the caller has no groups */
  uint64_t *numbers;    /* numbers of the shard; of one piece if the caller has grouped them */
  uint64_t *keys[AMPED_MAX_ORDER];
  amped_sort_copy_arrays batch;
  uint64_t last[AMPED_MAX_ORDER]; /* last key before the piece */
  uint64_t repeats;
} sorter;

static uint64_t piece_nnz(void) {
  uint64_t piece = (uint64_t)omp_get_max_threads() * PIECE_OF_THREAD;
  return piece < PIECE_MOST ? piece : PIECE_MOST;
}

/* own_ends[row] = number of nonzeros of the row. Returns their total. */
static uint64_t count_rows(const sorter *s) {
  const amped_sort_copy *c = s->c;
  uint64_t count = 0;
#pragma omp parallel for schedule(static) reduction(+ : count)
  for (uint64_t k = 0; k < c->total; k++) {
    uint64_t row = 0;
    if (c->row(c->from, k, &row)) {
      count++;
#pragma omp atomic
      s->own_ends[row]++;
    }
  }
  return count;
}

/* Replace own_ends[row] by the number of nonzeros before the row. Then each number takes the next
 * place of its row. */
static void place_numbers(const sorter *s) {
  const amped_sort_copy *c = s->c;
  uint64_t sum = 0;
  for (uint64_t row = 0; row < s->groups; row++) {
    uint64_t n = s->own_ends[row];
    s->own_ends[row] = sum;
    sum += n;
  }
#pragma omp parallel for schedule(static)
  for (uint64_t k = 0; k < c->total; k++) {
    uint64_t row = 0;
    uint64_t place = 0;
    if (c->row(c->from, k, &row)) {
#pragma omp atomic capture
      place = s->own_ends[row]++;
      s->numbers[place] = k;
    }
  }
}

/* Choose the next piece: groups first .. *end, at least one, while they fit. Returns its number of
 * nonzeros. */
static uint64_t next_piece(const sorter *s, uint64_t first, uint64_t *end) {
  uint64_t begin = first > 0 ? s->ends[first - 1] : 0;
  *end = first + 1;
  while (*end < s->groups && s->ends[*end] - begin <= s->piece)
    (*end)++;
  return s->ends[*end - 1] - begin;
}

static uint64_t largest_piece(const sorter *s) {
  uint64_t most = 0;
  uint64_t end = 0;
  for (uint64_t first = 0; first < s->groups; first = end) {
    uint64_t count = next_piece(s, first, &end);
    most = count > most ? count : most;
  }
  return most;
}

/* Numbers of the piece at `offset`. */
static uint64_t *numbers_of(const sorter *s, uint64_t offset, uint64_t count) {
  if (s->c->ends == NULL)
    return s->numbers + offset;
  for (uint64_t i = 0; i < count; i++)
    s->numbers[i] = offset + i;
  return s->numbers;
}

/* Sort a piece's numbers. with_keys: sort the keys as well, because repeats are counted. */
static amped_status sort_piece(const sorter *s, uint64_t *numbers, uint64_t count, bool with_keys) {
  const amped_sort_copy *c = s->c;
  amped_sort_field fields[AMPED_MAX_ORDER + 1];
  void *arrays[AMPED_MAX_ORDER + 1];
#pragma omp parallel for schedule(static)
  for (uint64_t i = 0; i < count; i++) {
    uint64_t row = 0;
    (void)c->row(c->from, numbers[i], &row);
    for (int w = 0; w < c->words; w++)
      s->keys[w][i] = c->word(c->from, w, row, numbers[i]);
  }
  for (int w = 0; w < c->words; w++) {
    fields[w] = (amped_sort_field){s->keys[w], c->word_bits[w]};
    arrays[w + 1] = s->keys[w];
  }
  fields[c->words] = (amped_sort_field){numbers, amped_sort_bits(numbers, count)};
  arrays[0] = numbers;
  return amped_sort(count, fields, c->words + 1, 0, arrays, with_keys ? c->words + 1 : 1);
}

/* Count equal neighbours among the sorted keys of a piece. s->last is the key before the piece,
 * unless it is the first piece. */
static void count_repeats(sorter *s, uint64_t count, bool first) {
  const int words = s->c->words;
  uint64_t repeats = 0;
#pragma omp parallel for schedule(static) reduction(+ : repeats)
  for (uint64_t i = first ? 1 : 0; i < count; i++) {
    bool same = true;
    for (int w = 0; w < words; w++)
      same = same && s->keys[w][i] == (i > 0 ? s->keys[w][i - 1] : s->last[w]);
    repeats += same;
  }
  for (int w = 0; w < words; w++)
    s->last[w] = s->keys[w][count - 1];
  s->repeats += repeats;
}

static amped_batch make_batch(const sorter *s, const uint64_t *numbers, uint64_t count) {
  const amped_sort_copy *c = s->c;
#pragma omp parallel for schedule(static)
  for (uint64_t i = 0; i < count; i++) {
    uint64_t row = 0;
    (void)c->row(c->from, numbers[i], &row);
    c->store(c->from, numbers[i], row, i, &s->batch);
  }
  amped_batch batch = {.count = count, .rows = s->batch.rows, .values = s->batch.values};
  for (int i = 0; i < c->plan->order - 1; i++)
    batch.inputs[i] = s->batch.inputs[i];
  return batch;
}

static amped_status upload_piece(const sorter *s, const uint64_t *numbers, uint64_t offset,
                                 uint64_t count) {
  const amped_sort_copy *c = s->c;
  uint64_t n = 0;
  for (uint64_t done = 0; done < count; done += n) {
    n = count - done < s->piece ? count - done : s->piece;
    amped_batch batch = make_batch(s, numbers + done, n);
    AMPED_TRY(c->insert(c->part, c->mode, offset + done, &batch));
  }
  return AMPED_OK;
}

static amped_status alloc_piece(sorter *s) {
  static const char what[] = "a piece of the tensor";
  const amped_sort_copy *c = s->c;
  const amped_plan *plan = c->plan;
  uint64_t piece = largest_piece(s);
  uint64_t batch = piece < s->piece ? piece : s->piece;
  if (c->ends != NULL)
    AMPED_TRY(amped_alloc(&s->numbers, piece, sizeof *s->numbers, what));
  for (int w = 0; w < c->words; w++)
    AMPED_TRY(amped_alloc(&s->keys[w], piece, sizeof *s->keys[w], what));
  AMPED_TRY(amped_alloc(&s->batch.rows, batch, plan->index_type, what));
  for (int i = 0; i < plan->order - 1; i++)
    AMPED_TRY(amped_alloc(&s->batch.inputs[i], batch, plan->index_type, what));
  return amped_alloc(&s->batch.values, batch, plan->value_type, what);
}

static void release(sorter *s) {
  amped_free(s->own_ends);
  amped_free(s->numbers);
  for (int w = 0; w < AMPED_MAX_ORDER; w++)
    amped_free(s->keys[w]);
  amped_free(s->batch.rows);
  for (int i = 0; i < AMPED_MAX_ORDER - 1; i++)
    amped_free(s->batch.inputs[i]);
  amped_free(s->batch.values);
}

static amped_status sort_all(sorter *s, bool with_keys) {
  uint64_t offset = 0;
  uint64_t end = 0;
  AMPED_TRY(alloc_piece(s));
  for (uint64_t first = 0; first < s->groups; first = end) {
    uint64_t count = next_piece(s, first, &end);
    uint64_t *numbers = numbers_of(s, offset, count);
    if (count == 0)
      continue;
    AMPED_TRY(sort_piece(s, numbers, count, with_keys));
    if (with_keys)
      count_repeats(s, count, offset == 0);
    AMPED_TRY(upload_piece(s, numbers, offset, count));
    offset += count;
  }
  return AMPED_OK;
}

static amped_status miscounted(const amped_sort_copy *c, uint64_t count, uint64_t nnz) {
  return amped_error(AMPED_FAILED, NULL,
                     "mode %d has %" PRIu64 " nonzeros on rank %d, not the %" PRIu64
                     " that were counted; this is a mistake of amped_mpi, please report it",
                     c->mode + 1, count, c->plan->rank, nnz);
}

/* Group the numbers by rows. */
static amped_status group(sorter *s, uint64_t nnz) {
  AMPED_TRY(amped_calloc(&s->own_ends, s->groups, sizeof *s->own_ends, "the tensor's rows"));
  AMPED_TRY(amped_alloc(&s->numbers, nnz, sizeof *s->numbers, "a shard of the tensor"));
  uint64_t count = count_rows(s);
  if (count != nnz)
    return miscounted(s->c, count, nnz);
  place_numbers(s);
  s->ends = s->own_ends;
  return AMPED_OK;
}

amped_status amped_sort_copy_cpu(const amped_sort_copy *c, uint64_t *repeats) {
  const amped_mode_plan *m = &c->plan->modes[c->mode];
  const uint64_t nnz = m->copy.rank_nnz[c->plan->rank];
  sorter s = {.c = c, .piece = piece_nnz(), .groups = c->groups, .ends = c->ends};
  amped_status status = AMPED_OK;
  if (c->ends == NULL) {
    s.groups = m->copy.output_rows;
    status = group(&s, nnz);
  } else if (c->total != nnz) {
    status = miscounted(c, c->total, nnz);
  }
  if (status == AMPED_OK)
    status = sort_all(&s, repeats != NULL);
  if (repeats != NULL)
    *repeats = s.repeats;
  release(&s);
  return status;
}

uint64_t amped_sort_copy_cpu_bytes(const amped_plan *plan, int words, bool grouped) {
  uint64_t most = 0;
  for (int m = 0; m < plan->order; m++) {
    const amped_mode_plan *mode = &plan->modes[m];
    uint64_t nnz = mode->copy.rank_nnz[plan->rank];
    uint64_t batch = piece_nnz() < nnz ? piece_nnz() : nnz;
    uint64_t piece = batch;
    /* A group is an iDp, or a row, which lies in one iDp. So no group has more nonzeros than the
     * fullest iDp. */
    for (uint64_t i = 0; i < mode->rows.idp_count; i++)
      if (mode->copy.row[i] != AMPED_NO_ROW && mode->copy.idp_nnz[i] > piece)
        piece = mode->copy.idp_nnz[i];
    piece = piece < nnz ? piece : nnz;
    uint64_t bytes = piece * (SORT_BYTES + (uint64_t)words * WORD_BYTES) +
                     batch * amped_plan_nonzero_bytes(plan);
    bytes += (grouped ? piece : nnz + mode->copy.output_rows) * sizeof(uint64_t);
    most = bytes > most ? bytes : most;
  }
  return most;
}
