/* Schedules of made-up copies: blocks cover the segments, predecessors and links say which blocks
 * share a row, and blocks that may work on the same rows of an output are done one after the other.
 */
#include "base/mem.h"
#include "base/random.h"
#include "cuda/sorted/schedule_cuda.h"
#include "tests/lib/testing.h"

#define MOST_BLOCKS 4000
#define MOST_SEGMENTS 40
#define PACK 32
#define ROWS 50

/* Every nonzero's row, and whether one begins there. */
typedef struct made_up {
  uint64_t segments;
  amped_segment_cuda segment[MOST_SEGMENTS];
  uint64_t unit;
  uint64_t outputs;
  uint64_t room;
  uint64_t *rows;
  uint64_t *entries;
  bool *begins;
  uint64_t blocks;
  amped_block_cuda block[MOST_BLOCKS];
  amped_block_start_cuda start[MOST_BLOCKS];
} made_up;

static uint64_t draw(uint64_t trial, uint64_t k) {
  return amped_random_u64(trial, k, 0);
}

static void make_segments(made_up *u, uint64_t trial, bool tiled) {
  u->segments = 1 + draw(trial, 1) % (MOST_SEGMENTS - 1);
  for (uint64_t i = 0; i < u->segments; i++) {
    amped_segment_cuda *s = &u->segment[i];
    s->first = u->room;
    s->count = draw(trial, 100 + i) % 2000;
    if (draw(trial, 200 + i) % 4 == 0)
      s->count = tiled ? 0 : PACK;
    if (!tiled && i + 1 < u->segments)
      s->count = s->count / PACK * PACK;
    s->new_tile = tiled;
    u->room += amped_ceil_div(s->count, PACK) * PACK;
  }
}

static void allocate_rows(made_up *u) {
  check_ok(amped_calloc(&u->rows, u->room + 1, sizeof *u->rows, "a test"));
  check_ok(amped_calloc(&u->entries, u->room + 1, sizeof *u->entries, "a test"));
  check_ok(amped_calloc(&u->begins, u->room + 1, sizeof *u->begins, "a test"));
}

/* Rows ascend within a tile, by steps that may be zero for long. */
static void make_rows(made_up *u, uint64_t trial, bool tiled) {
  uint64_t row = 0;
  uint64_t entry = 0;
  bool any = false;
  uint64_t length = 1 + draw(trial, 2) % 300;
  for (uint64_t i = 0; i < u->segments; i++)
    for (uint64_t k = 0; k < u->segment[i].count; k++) {
      uint64_t n = u->segment[i].first + k;
      bool new_tile = tiled && k == 0;
      uint64_t d = draw(trial, 10000 + n);
      bool steps = row + 1 < ROWS && d % length == 0;
      if (new_tile)
        row = d / length % 5;
      else if (steps && any)
        row += 1 + d / length % 3;
      u->begins[n] = new_tile || !any || (steps && any);
      entry += u->begins[n] && any ? 1 : 0;
      any = true;
      u->rows[n] = row;
      u->entries[n] = entry;
    }
}

/* Blocks of the segments, with what they begin with. */
static void cut_blocks(made_up *u) {
  check_ok(amped_schedule_cuda_count(u->segment, u->segments, u->unit, &u->blocks));
  ck_assert(u->blocks <= MOST_BLOCKS);
  amped_schedule_cuda_cut(u->segment, u->segments, u->unit, u->block);
  for (uint64_t b = 0; b < u->blocks; b++) {
    uint64_t n = u->block[b].first;
    u->start[b] = (amped_block_start_cuda){u->entries[n], u->rows[n], u->begins[n]};
  }
}

static made_up *make(uint64_t trial) {
  made_up *u = NULL;
  bool tiled = trial % 2 == 0;
  check_ok(amped_calloc(&u, 1, sizeof *u, "a test"));
  make_segments(u, trial, tiled);
  allocate_rows(u);
  make_rows(u, trial, tiled);
  u->unit = PACK * (1 + draw(trial, 3) % 8);
  u->outputs = tiled ? 1 + draw(trial, 4) % 3 : 1;
  cut_blocks(u);
  amped_schedule_cuda_link(u->block, u->blocks, u->outputs, u->start, 0, NULL, 1);
  return u;
}

static void release(made_up *u) {
  amped_free(u->rows);
  amped_free(u->entries);
  amped_free(u->begins);
  amped_free(u);
}

START_TEST(blocks_cover_the_segments) {
  for (uint64_t trial = 0; trial < 200; trial++) {
    made_up *u = make(trial);
    uint64_t b = 0;
    for (uint64_t i = 0; i < u->segments; i++)
      for (uint64_t k = 0; k < u->segment[i].count; k += u->block[b++].count)
        if (b >= u->blocks || u->block[b].first != u->segment[i].first + k ||
            u->block[b].count == 0 || u->block[b].count > u->unit ||
            k + u->block[b].count > u->segment[i].count)
          ck_abort_msg("trial %" PRIu64 ": block %" PRIu64 " is wrong", trial, b);
    ck_assert_uint_eq(b, u->blocks);
    release(u);
  }
}
END_TEST

static uint64_t last_of(const amped_block_cuda *b) {
  return b->first + b->count - 1;
}

/* The slow obvious predecessor: back from a block while its first row did not begin in it. */
START_TEST(predecessors_and_links_are_those_of_rows) {
  for (uint64_t trial = 0; trial < 200; trial++) {
    made_up *u = make(trial);
    for (uint64_t b = 0; b < u->blocks; b++) {
      uint64_t predecessor = b;
      if (!u->begins[u->block[b].first])
        for (predecessor = b - 1;
             u->entries[u->block[predecessor].first] == u->entries[u->block[b].first] &&
             !u->begins[u->block[predecessor].first];)
          predecessor--;
      uint64_t links = 0;
      uint64_t last = u->entries[last_of(&u->block[b])];
      bool here = u->entries[u->block[b].first] != last || u->begins[u->block[b].first];
      while (here && b + links + 1 < u->blocks && u->entries[u->block[b + links + 1].first] == last)
        links++;
      if (u->block[b].predecessor != predecessor || u->block[b].links != links)
        ck_abort_msg("trial %" PRIu64 ": block %" PRIu64
                     " has predecessor %u and %u links, not %" PRIu64 " and %" PRIu64,
                     trial, b, u->block[b].predecessor, u->block[b].links, predecessor, links);
    }
    release(u);
  }
}
END_TEST

/* waits[b]: every block that is done before b begins, itself included. */
static void close_waits(const made_up *u, bool *waits) {
  for (uint64_t b = 0; b < u->blocks; b++) {
    waits[b * u->blocks + b] = true;
    for (uint64_t i = 0; i < u->block[b].befores; i++)
      for (uint64_t x = 0; x < u->blocks; x++)
        waits[b * u->blocks + x] |= waits[(u->block[b].before + i) * u->blocks + x];
  }
}

static bool share_a_row(const made_up *u, uint64_t a, uint64_t b) {
  return u->rows[u->block[a].first] <= u->rows[last_of(&u->block[b])] &&
         u->rows[u->block[b].first] <= u->rows[last_of(&u->block[a])];
}

START_TEST(tiles_of_an_output_come_one_after_the_other) {
  for (uint64_t trial = 0; trial < 60; trial += 2) {
    made_up *u = make(trial);
    bool *waits = NULL;
    check_ok(amped_calloc(&waits, u->blocks * u->blocks + 1, sizeof *waits, "a test"));
    close_waits(u, waits);
    for (uint64_t b = 0; b < u->blocks; b++)
      for (uint64_t x = 0; x < b; x++) {
        uint32_t apart = u->block[b].tile - u->block[x].tile;
        if (apart > 0 && apart % u->outputs == 0 && share_a_row(u, x, b) &&
            !waits[b * u->blocks + x])
          ck_abort_msg("trial %" PRIu64 ": block %" PRIu64 " does not wait for %" PRIu64, trial, b,
                       x);
        if (waits[b * u->blocks + x] && apart == 0)
          ck_abort_msg("trial %" PRIu64 ": block %" PRIu64 " waits in its own tile", trial, b);
      }
    amped_free(waits);
    release(u);
  }
}
END_TEST

START_TEST(more_nonzeros_than_32_bits_count) {
  const amped_segment_cuda segments[] = {
      {.first = 0, .count = UINT64_C(5) << 31, .new_tile = false},
      {.first = UINT64_C(5) << 31, .count = (UINT64_C(1) << 32) + 1, .new_tile = true}};
  const amped_segment_cuda vast = {.first = 0, .count = UINT64_C(1) << 62, .new_tile = false};
  amped_block_cuda *blocks = NULL;
  uint64_t unit = UINT64_C(1) << 20;
  uint64_t count = 0;
  uint64_t next = 0;
  check_ok(amped_schedule_cuda_count(segments, 2, unit, &count));
  ck_assert_uint_eq(count, (UINT64_C(5) << 11) + (UINT64_C(1) << 12) + 1);
  check_ok(amped_calloc(&blocks, count, sizeof *blocks, "a test"));
  amped_schedule_cuda_cut(segments, 2, unit, blocks);
  for (uint64_t b = 0; b < count; b++) {
    ck_assert_uint_eq(blocks[b].first, next);
    next += blocks[b].count;
  }
  ck_assert_uint_eq(next, segments[1].first + segments[1].count);
  check_fails(AMPED_FAILED, "", amped_schedule_cuda_count(&vast, 1, 32, &count));
  amped_free(blocks);
  check_no_leak();
}

/* Whoever has waited for a part has waited for all blocks of its rows, and for one in any case:
 * that the output is zeroed is known from the first. */
START_TEST(parts_have_their_blocks) {
  int empty = 0;
  for (uint64_t trial = 0; trial < 200; trial++) {
    made_up *u = make(trial);
    uint64_t nnz = u->blocks > 0 ? u->block[u->blocks - 1].first + 1 : 0;
    int parts = 1 + (int)(draw(trial, 5) % AMPED_MAX_PARTS);
    uint64_t ends[AMPED_MAX_PARTS] = {0};
    uint32_t part_ends[AMPED_MAX_PARTS];
    if (u->blocks > 0) {
      for (int i = 0; i < parts; i++) {
        uint64_t step = draw(trial, 6 + (uint64_t)i) % 3 == 0 ? 0 : nnz / (uint64_t)parts;
        ends[i] = (i > 0 ? ends[i - 1] : 0) + step;
      }
      amped_schedule_cuda_parts(u->block, u->blocks, ends, parts, part_ends);
      ck_assert_uint_gt(part_ends[0], 0);
      ck_assert_uint_eq(part_ends[parts - 1], u->blocks);
      empty += parts > 1 && ends[0] == 0;
      for (int i = 0; i + 1 < parts; i++) {
        ck_assert_uint_le(part_ends[i], part_ends[i + 1]);
        for (uint64_t b = 0; b < u->blocks; b++)
          if (u->block[b].first < ends[i] && b >= part_ends[i])
            ck_abort_msg("trial %" PRIu64 ": block %" PRIu64 " is behind part %d", trial, b, i);
      }
    }
    release(u);
  }
  ck_assert_int_gt(empty, 20);
}

/* Segments as of tiles whose last ones are gone through part by part (tiles_cuda.h), and the rows
 * of each: those of part p lie in ROWS / parts from p on, of the tiles before in any. */
static void make_parted(made_up *u, uint64_t trial, int parts, uint64_t shared) {
  uint64_t last = 1 + draw(trial, 1) % 4;
  uint64_t entry = 0;
  u->outputs = 1;
  u->unit = PACK * (1 + draw(trial, 2) % 3);
  u->segments = shared + last * (uint64_t)parts;
  for (uint64_t i = 0; i < u->segments; i++) {
    uint64_t count = draw(trial, 10 + i) % 4 == 0 ? 0 : draw(trial, 100 + i) % 500;
    u->segment[i] = (amped_segment_cuda){.first = u->room, .count = count, .new_tile = true};
    u->room += amped_ceil_div(count, PACK) * PACK;
  }
  allocate_rows(u);
  for (uint64_t i = 0; i < u->segments; i++) {
    uint64_t from = i < shared ? 0 : (i - shared) / last * (ROWS / (uint64_t)parts);
    uint64_t rows = i < shared ? ROWS : ROWS / (uint64_t)parts;
    for (uint64_t k = 0; k < u->segment[i].count; k++) {
      uint64_t n = u->segment[i].first + k;
      u->rows[n] = from + k * rows / u->segment[i].count;
      u->begins[n] = k == 0 || u->rows[n] != u->rows[n - 1];
      entry += u->begins[n];
      u->entries[n] = entry;
    }
  }
}

/* The part that a block is of, -1: all. */
static int part_of(uint64_t b, uint64_t shared, const uint32_t *ends) {
  int part = 0;
  if (b < shared)
    return -1;
  while (b >= ends[part])
    part++;
  return part;
}

static void parts_wait_for_what_they_share(const made_up *u, uint64_t trial, uint64_t shared,
                                           const uint32_t *ends) {
  bool *waits = NULL;
  check_ok(amped_calloc(&waits, u->blocks * u->blocks + 1, sizeof *waits, "a test"));
  close_waits(u, waits);
  for (uint64_t b = 0; b < u->blocks; b++)
    for (uint64_t x = 0; x < b; x++) {
      int of_b = part_of(b, shared, ends);
      int of_x = part_of(x, shared, ends);
      bool other = u->block[b].tile != u->block[x].tile;
      if (other && share_a_row(u, x, b) && !waits[b * u->blocks + x])
        ck_abort_msg("trial %" PRIu64 ": block %" PRIu64 " does not wait for %" PRIu64, trial, b,
                     x);
      if (of_x >= 0 && of_x != of_b && waits[b * u->blocks + x])
        ck_abort_msg("trial %" PRIu64 ": block %" PRIu64 " of part %d waits for part %d", trial, b,
                     of_b, of_x);
    }
  amped_free(waits);
}

/* Blocks of a part wait for the tiles that are of all parts, and for no other part. */
START_TEST(parts_go_on_where_all_end) {
  for (uint64_t trial = 0; trial < 200; trial++) {
    made_up *u = NULL;
    int parts = 2 + (int)(draw(trial, 3) % (AMPED_MAX_PARTS - 1));
    uint64_t shared = draw(trial, 4) % 4;
    uint64_t ends[AMPED_MAX_PARTS];
    uint32_t part_ends[AMPED_MAX_PARTS];
    check_ok(amped_calloc(&u, 1, sizeof *u, "a test"));
    make_parted(u, trial, parts, shared);
    uint64_t last = (u->segments - shared) / (uint64_t)parts;
    for (int i = 0; i < parts; i++) {
      const amped_segment_cuda *s = &u->segment[shared + (uint64_t)(i + 1) * last - 1];
      ends[i] = s->first + amped_ceil_div(s->count, PACK) * PACK;
    }
    uint64_t shared_end = u->segment[shared].first;
    cut_blocks(u);
    if (u->blocks > 0) {
      uint64_t first = amped_schedule_cuda_block(u->block, u->blocks, shared_end);
      amped_schedule_cuda_parts(u->block, u->blocks, ends, parts, part_ends);
      amped_schedule_cuda_link(u->block, u->blocks, 1, u->start, first, part_ends, parts);
      parts_wait_for_what_they_share(u, trial, first, part_ends);
    }
    release(u);
  }
  check_no_leak();
}

TESTING_MAIN("schedule", blocks_cover_the_segments, predecessors_and_links_are_those_of_rows,
             tiles_of_an_output_come_one_after_the_other, more_nonzeros_than_32_bits_count,
             parts_have_their_blocks, parts_go_on_where_all_end)
