/* Sample: shuffles of indices, and the sets of blocks and groups. */
#include "solver/cpd/rbs_sample.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/random.h"
#include "base/sort.h"

static const char what[] = "the sampled indices";

static bool has_sets(const amped_rbs_shape *s, int mode) {
  return !s->slices || mode == s->mode;
}

static uint64_t sets_of(const amped_rbs_shape *s, int mode) {
  if (!has_sets(s, mode))
    return 1;
  return s->slices ? s->count * (uint64_t)s->nranks : s->count;
}

/* First of `count` items in part i of `parts`. With a larger shift, parts with one item more come
 * earlier; shift is less than `parts`. */
static uint64_t cut_shifted(uint64_t count, uint64_t i, uint64_t parts, uint64_t shift) {
  return count / parts * i + (count % parts * i + shift) / parts;
}

static uint64_t cut(uint64_t count, uint64_t i, uint64_t parts) {
  return cut_shifted(count, i, parts, 0);
}

/* First block of a rank. */
static uint64_t first_block(const amped_rbs_shape *s, int rank) {
  return cut(s->count, (uint64_t)rank, (uint64_t)s->nranks);
}

/* Number of indices in the workspace: all indices of the longest mode. */
static uint64_t room_of(const amped_rbs_shape *s) {
  uint64_t most = 0;
  for (int m = 0; m < s->order; m++)
    most = s->dims[m] > most ? s->dims[m] : most;
  return most;
}

uint64_t amped_rbs_sample_bytes(const amped_rbs_shape *s) {
  uint64_t numbers = 0;
  for (int m = 0; m < s->order; m++)
    numbers += s->dims[m] + sets_of(s, m) + 1;
  return (numbers + room_of(s)) * sizeof(uint64_t);
}

amped_status amped_rbs_sample_create(const amped_rbs_shape *shape, amped_rbs_sample *out) {
  amped_status status = AMPED_OK;
  memset(out, 0, sizeof *out);
  out->shape = *shape;
  for (int m = 0; m < shape->order; m++) {
    out->sets[m] = sets_of(shape, m);
    AMPED_GO(fail, amped_alloc(&out->indices[m], shape->dims[m], sizeof(uint64_t), what));
    AMPED_GO(fail, amped_calloc(&out->first[m], out->sets[m] + 1, sizeof(uint64_t), what));
    for (uint64_t i = 0; i < shape->dims[m]; i++)
      out->indices[m][i] = i;
    out->first[m][out->sets[m]] = shape->dims[m];
  }
  AMPED_GO(fail, amped_alloc(&out->room, room_of(shape), sizeof(uint64_t), what));
  return AMPED_OK;
fail:
  amped_rbs_sample_free(out);
  return status;
}

void amped_rbs_sample_free(amped_rbs_sample *sample) {
  for (int m = 0; m < AMPED_MAX_ORDER; m++) {
    amped_free(sample->indices[m]);
    amped_free(sample->first[m]);
  }
  amped_free(sample->room);
  memset(sample, 0, sizeof *sample);
}

/* Shuffle indices first .. first + count (Fisher and Yates) into `to`. */
static void shuffle(uint64_t seed, uint64_t epoch, int mode, uint64_t first, uint64_t count,
                    uint64_t *to) {
  const uint64_t stream = (epoch + 1) * AMPED_MAX_ORDER + (uint64_t)mode;
  for (uint64_t i = 0; i < count; i++) {
    const uint64_t j = amped_random_u64(seed, stream, first + i) % (i + 1);
    to[i] = to[j];
    to[j] = first + i;
  }
}

/* Sort each set of the mode. Every index is in one set; in ascending order, each index is appended
 * to its set. */
static void sort_sets(amped_rbs_sample *s, int mode) {
  uint64_t *indices = s->indices[mode];
  uint64_t *first = s->first[mode];
  uint64_t *set_of = s->room;
  for (uint64_t i = 0; i < s->sets[mode]; i++)
    for (uint64_t k = first[i]; k < first[i + 1]; k++)
      set_of[indices[k]] = i;
  for (uint64_t i = 0; i < s->shape.dims[mode]; i++)
    indices[first[set_of[i]]++] = i;
  memmove(first + 1, first, s->sets[mode] * sizeof *first);
  first[0] = 0;
}

/* Draw blocks begin .. end: shuffle the `count` indices from `first` on, the rank's own or all, and
 * cut them over the blocks. */
static void draw_blocks(amped_rbs_sample *s, uint64_t seed, uint64_t epoch, int mode,
                        uint64_t begin, uint64_t end, uint64_t first, uint64_t count) {
  shuffle(seed, epoch, mode, first, count, s->indices[mode] + first);
  for (uint64_t b = begin; b < end; b++)
    s->first[mode][b] = first + cut(count, b - begin, end - begin);
}

static void draw_mode(amped_rbs_sample *s, uint64_t seed, uint64_t epoch, int mode) {
  const amped_rbs_shape *shape = &s->shape;
  uint64_t first = 0;
  if (mode != shape->mode || shape->rank_rows == NULL) {
    draw_blocks(s, seed, epoch, mode, 0, shape->count, 0, shape->dims[mode]);
    return;
  }
  for (int p = 0; p < shape->nranks; p++) {
    draw_blocks(s, seed, epoch, mode, first_block(shape, p), first_block(shape, p + 1), first,
                shape->rank_rows[p]);
    first += shape->rank_rows[p];
  }
}

/* Cut groups of slices that any rank can take: sort each group, then cut it over ranks. */
static void cut_groups(amped_rbs_sample *s) {
  const amped_rbs_shape *shape = &s->shape;
  const uint64_t ranks = (uint64_t)shape->nranks;
  uint64_t *indices = s->indices[shape->mode];
  uint64_t *first = s->first[shape->mode];
  for (uint64_t g = 0; g < shape->count; g++) {
    const uint64_t begin = cut(shape->dims[shape->mode], g, shape->count);
    const uint64_t rows = cut(shape->dims[shape->mode], g + 1, shape->count) - begin;
    qsort(indices + begin, rows, sizeof *indices, amped_compare_counts);
    for (uint64_t p = 0; p < ranks; p++)
      first[g * ranks + p] = begin + cut(rows, p, ranks);
  }
}

static void draw_groups(amped_rbs_sample *s, uint64_t seed, uint64_t epoch) {
  const int mode = s->shape.mode;
  shuffle(seed, epoch, mode, 0, s->shape.dims[mode], s->indices[mode]);
  cut_groups(s);
}

void amped_rbs_sample_in_order(amped_rbs_sample *s) {
  for (uint64_t i = 0; i < s->shape.dims[s->shape.mode]; i++)
    s->indices[s->shape.mode][i] = i;
  cut_groups(s);
}

/* First slice of a group among a rank's own slices. The shift gives ranks their larger groups at
 * different steps. */
static uint64_t own_slice(const amped_rbs_shape *s, uint64_t group, uint64_t rank) {
  return cut_shifted(s->rank_rows[rank], group, s->count, cut(s->count, rank, (uint64_t)s->nranks));
}

/* Draw groups of each rank's own slices: shuffle them rank by rank, and distribute them over
 * groups. */
static void draw_own_groups(amped_rbs_sample *s, uint64_t seed, uint64_t epoch) {
  const amped_rbs_shape *shape = &s->shape;
  const uint64_t ranks = (uint64_t)shape->nranks;
  uint64_t *first = s->first[shape->mode];
  uint64_t begin = 0;
  for (uint64_t i = 0; i < shape->count * ranks; i++) {
    first[i] = begin;
    begin += own_slice(shape, i / ranks + 1, i % ranks) - own_slice(shape, i / ranks, i % ranks);
  }
  for (uint64_t p = 0, own = 0; p < ranks; own += shape->rank_rows[p++]) {
    shuffle(seed, epoch, shape->mode, own, shape->rank_rows[p], s->room);
    const uint64_t *next = s->room;
    for (uint64_t g = 0; g < shape->count; g++) {
      const uint64_t at = first[g * ranks + p];
      const uint64_t rows = first[g * ranks + p + 1] - at;
      memcpy(s->indices[shape->mode] + at, next, rows * sizeof *next);
      next += rows;
    }
  }
  sort_sets(s, shape->mode);
}

void amped_rbs_sample_draw(amped_rbs_sample *s, uint64_t seed, uint64_t epoch) {
  if (s->shape.slices && s->shape.rank_rows == NULL)
    draw_groups(s, seed, epoch);
  else if (s->shape.slices)
    draw_own_groups(s, seed, epoch);
  for (int m = 0; m < s->shape.order && !s->shape.slices; m++) {
    draw_mode(s, seed, epoch, m);
    sort_sets(s, m);
  }
}

uint64_t amped_rbs_sample_steps(const amped_rbs_shape *shape) {
  return shape->slices ? shape->count : 1;
}

void amped_rbs_sample_sets(const amped_rbs_sample *s, uint64_t step, int rank,
                           amped_block_sets *out) {
  const amped_rbs_shape *shape = &s->shape;
  uint64_t set = step * (uint64_t)shape->nranks + (uint64_t)rank;
  memset(out, 0, sizeof *out);
  out->count = 1;
  if (!shape->slices) {
    set = first_block(shape, rank);
    out->count = first_block(shape, rank + 1) - set;
  }
  for (int m = 0; m < shape->order; m++) {
    out->indices[m] = s->indices[m];
    out->first[m] = s->first[m] + (has_sets(shape, m) ? set : 0);
  }
}

amped_block_shape amped_rbs_sample_most(const amped_rbs_shape *shape) {
  const uint64_t ranks = (uint64_t)shape->nranks;
  amped_block_shape most = {
      .count = 1, .given = shape->slices && shape->rank_rows == NULL, .kept = -1};
  if (shape->slices && shape->order > 2)
    most.kept = shape->mode;
  if (!shape->slices)
    most.count = amped_ceil_div(shape->count, ranks);
  for (int m = 0; m < shape->order; m++) {
    most.dims[m] = shape->dims[m];
    if (!shape->slices)
      most.dims[m] = amped_ceil_div(shape->dims[m], shape->count);
    else if (m == shape->mode && shape->rank_rows == NULL)
      most.dims[m] = amped_ceil_div(amped_ceil_div(shape->dims[m], shape->count), ranks);
  }
  for (int p = 0; p < shape->nranks && shape->rank_rows != NULL; p++) {
    const uint64_t parts =
        shape->slices ? shape->count : first_block(shape, p + 1) - first_block(shape, p);
    const uint64_t rows = amped_ceil_div(shape->rank_rows[p], parts);
    if (p == 0 || rows > most.dims[shape->mode])
      most.dims[shape->mode] = rows;
  }
  return most;
}
