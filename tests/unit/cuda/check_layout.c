/* Where copies lie, and in what order: budgets are kept and used up, every nonzero lies in one
 * span, resident spans and pieces take turns. Plans are made up: layouts look at counts only, so
 * these may be billions. */
#include "cuda/sorted/layout_cuda.h"
#include "base/random.h"
#include "cuda/sorted/schedule_cuda.h"
#include "cuda/sorted/tile_choice_cuda.h"
#include "plan/overlap.h"
#include "tests/lib/testing.h"

#define OTHER_BYTES 1000

static const amped_caches_cuda h200 = {
    .multiprocessors = 132, .l2_bytes = UINT64_C(60) << 20, .shared_bytes = UINT64_C(227) << 10};

#define IDPS 16

typedef struct made_up {
  amped_plan plan;
  uint64_t nnz[AMPED_MAX_ORDER];
  uint64_t rows[AMPED_MAX_ORDER];
  uint64_t position[IDPS]; /* of mode 2's iDps, where a test needs some */
  uint64_t idp_nnz[IDPS];
} made_up;

/* `largest` nonzeros in mode 0; in the others about as many, or hardly any. */
static void make_up(made_up *u, uint64_t trial, uint64_t largest) {
  static const uint64_t few[] = {0, 1, 255, 256, 257};
  amped_plan *plan = &u->plan;
  memset(u, 0, sizeof *u);
  plan->order = AMPED_MIN_ORDER + (int)(amped_random_u64(trial, 0, 0) % 6);
  plan->sorted = true;
  plan->boxed = -1;
  plan->nranks = 1;
  plan->value_type = trial % 2 == 0 ? AMPED_F32 : AMPED_F64;
  plan->index_type = trial % 3 == 0 ? AMPED_U64 : AMPED_U32;
  for (int m = 0; m < plan->order; m++) {
    uint64_t draw = amped_random_u64(trial, 1, (uint64_t)m);
    uint64_t positions[AMPED_MAX_ORDER];
    u->nnz[m] = m == 0 || draw % 3 > 0 ? largest - draw % (largest / 9 + 1) : few[draw / 3 % 5];
    u->rows[m] = 1 + draw % 1000000;
    for (int i = 0; i < plan->order; i++)
      positions[i] = 1 + (draw >> i) % 3000000;
    plan->modes[m].copy.rank_nnz = &u->nnz[m];
    plan->modes[m].rows.rank_rows = &u->rows[m];
    amped_packing_make(&plan->modes[m].copy.packing, plan->order - 1, positions,
                       trial % 5 == 0 ? 200 : 0, plan->value_type, u->nnz[m]);
  }
}

static amped_status make_layout(amped_layout_cuda *l, const amped_plan *plan,
                                const amped_storage_cuda *storage, amped_residency residency,
                                uint64_t budget_bytes, uint64_t other_bytes) {
  amped_layout_wish_cuda wish = {.storage = storage,
                                 .residency = residency,
                                 .budget_bytes = budget_bytes,
                                 .other_bytes = other_bytes,
                                 .tile_bytes = AMPED_TILES_OFF,
                                 .caches = h200};
  return amped_layout_cuda_make(l, plan, &wish);
}

static uint64_t pack_bytes(const amped_layout_cuda *l, int mode) {
  uint64_t bytes = 0;
  for (int i = 0; i < l->copies[mode].arrays; i++)
    bytes += l->copies[mode].element_bytes[i];
  return bytes * AMPED_LONG_PACK;
}

/* What a layout says it takes is what its blocks take. */
static void bytes_add_up(const amped_layout_cuda *l, int order) {
  uint64_t device = OTHER_BYTES + 2 * l->piece_bytes;
  uint64_t host = 0;
  for (int m = 0; m < order; m++) {
    device += l->index_bytes[m] + l->device[m].bytes;
    host += amped_layout_cuda_streamed(l, m);
  }
  ck_assert(device == l->device_bytes && host == l->host_bytes);
}

/* Assertions cost a message each: one is made only where it fails. */
static amped_span_cuda span_at(const amped_layout_cuda *l, const amped_plan *plan, int m,
                               uint64_t k) {
  amped_span_cuda span;
  if (amped_layout_cuda_span(l, plan, m, k, &span) != AMPED_OK)
    ck_abort_msg("%s", amped_status_message());
  return span;
}

static void same_span(const amped_layout_cuda *l, const amped_plan *plan, int m, uint64_t k,
                      const amped_span_cuda *want) {
  amped_span_cuda span = span_at(l, plan, m, k);
  if (span.resident != want->resident || span.first != want->first || span.at != want->at ||
      span.count != want->count || span.block != want->block)
    ck_abort_msg("nonzero %" PRIu64 " is in another span than %" PRIu64, k, want->first);
}

static bool is_aligned(const amped_arrays_cuda *arrays) {
  for (int i = 0; i < arrays->arrays; i++)
    if (arrays->offsets[i] % AMPED_CUDA_ALIGNMENT != 0)
      return false;
  return true;
}

/* Every nonzero of mode's copy is in one span, every span in its own place of one block. */
static void parts_cover_the_copy(const amped_layout_cuda *l, const amped_plan *plan, int m) {
  uint64_t pieces = l->first_block[m + 1] - l->first_block[m];
  uint64_t k = 0;
  uint64_t block = l->first_block[m];
  uint64_t resident = 0;
  uint64_t host_bytes = 0;
  bool turns = pieces > 0 && l->resident[m] >= pieces * AMPED_LONG_PACK;
  for (bool wanted = true; k < l->nnz[m]; wanted = !wanted) {
    amped_span_cuda span = span_at(l, plan, m, k);
    if (span.first != k || span.count == 0 || k % AMPED_LONG_PACK != 0 ||
        span.at != (span.resident ? resident : 0) || (!span.resident && span.block != block) ||
        (!span.resident && span.arrays.bytes > l->piece_bytes) || !is_aligned(&span.arrays) ||
        (turns && span.resident != wanted))
      ck_abort_msg("mode %d: span %" PRIu64 " + %" PRIu64 " is wrong", m, k, span.count);
    same_span(l, plan, m, k + span.count - 1, &span);
    same_span(l, plan, m, k + span.count / 2, &span);
    k += span.count;
    block += span.resident ? 0 : 1;
    resident += span.resident ? span.count : 0;
    host_bytes += span.resident ? 0 : span.arrays.bytes;
  }
  ck_assert(k == l->nnz[m] && block == l->first_block[m + 1] && resident == l->resident[m] &&
            host_bytes == amped_layout_cuda_streamed(l, m));
}

static void layout_is_sound(const amped_layout_cuda *l, const amped_plan *plan) {
  bytes_add_up(l, plan->order);
  for (int m = 0; m < plan->order; m++)
    parts_cover_the_copy(l, plan, m);
}

/* The rest of the budget is less than a pack of any copy that is not wholly resident. All copies
 * have the same resident share, but for some packs. */
static void budget_is_used(const amped_layout_cuda *l, int order, uint64_t budget) {
  double device = 0.0;
  double all = 0.0;
  double slack = 0.0;
  for (int m = 0; m < order; m++) {
    if (l->device_bytes > budget ||
        (l->resident[m] < l->nnz[m] && budget - l->device_bytes >= pack_bytes(l, m)))
      ck_abort_msg("%" PRIu64 " bytes of %" PRIu64 " are used", l->device_bytes, budget);
    device += (double)l->device[m].bytes;
    all += (double)l->copies[m].bytes;
    slack += 2.0 * (double)pack_bytes(l, m);
  }
  for (int m = 0; m < order; m++) {
    double even = device / all * (double)l->copies[m].bytes;
    if (!((double)l->device[m].bytes < even + slack && (double)l->device[m].bytes > even - slack))
      ck_abort_msg("mode %d has %" PRIu64 " bytes, not %.17g", m, l->device[m].bytes, even);
  }
}

/* Budgets from none at all to all, each as auto sees it. */
static void budgets_of(made_up *u, const amped_storage_cuda *storage) {
  amped_layout_cuda l;
  int streamed = 0;
  check_ok(make_layout(&l, &u->plan, storage, AMPED_RESIDENCY_RESIDENT, UINT64_MAX, OTHER_BYTES));
  layout_is_sound(&l, &u->plan);
  uint64_t all = l.device_bytes;
  ck_assert_uint_eq(l.host_bytes, 0);
  for (uint64_t i = 0; i < 24; i++) {
    uint64_t budget = i == 23 ? all - 1 : all / 24 * i + amped_random_u64(all, i, 0) % 5000;
    if (budget >= all)
      continue;
    if (make_layout(&l, &u->plan, storage, AMPED_RESIDENCY_AUTO, budget, OTHER_BYTES) != AMPED_OK) {
      amped_status_clear();
      continue;
    }
    streamed++;
    ck_assert_uint_gt(l.host_bytes, 0);
    budget_is_used(&l, u->plan.order, budget);
    layout_is_sound(&l, &u->plan);
  }
  ck_assert_int_gt(streamed, 10);
  for (uint64_t more = 0; more < 2; more++) {
    check_ok(make_layout(&l, &u->plan, storage, AMPED_RESIDENCY_AUTO, all + more, OTHER_BYTES));
    ck_assert_uint_eq(l.device_bytes, all);
    ck_assert_uint_eq(l.host_bytes, 0);
  }
}

START_TEST(auto_fills_every_budget) {
  static const uint64_t largest[] = {100000, 700000, UINT64_C(20000000000)};
  for (uint64_t trial = 0; trial < 15; trial++) {
    made_up u;
    make_up(&u, trial, largest[trial % 3]);
    budgets_of(&u, &amped_storage_packed_cuda);
    budgets_of(&u, &amped_storage_plain_cuda);
  }
}

START_TEST(stream_keeps_nothing) {
  for (uint64_t trial = 0; trial < 10; trial++) {
    amped_layout_cuda l;
    made_up u;
    make_up(&u, trial, trial % 2 == 0 ? 50000 : UINT64_C(5000000000));
    check_ok(make_layout(&l, &u.plan,
                         trial % 3 == 0 ? &amped_storage_plain_cuda : &amped_storage_packed_cuda,
                         AMPED_RESIDENCY_STREAM, UINT64_C(1) << 50, OTHER_BYTES));
    for (int m = 0; m < u.plan.order; m++)
      ck_assert_uint_eq(l.resident[m], 0);
    layout_is_sound(&l, &u.plan);
    uint64_t least = l.device_bytes - 2 * l.piece_bytes;
    check_fails(AMPED_FAILED, "--device-memory",
                make_layout(&l, &u.plan,
                            trial % 3 == 0 ? &amped_storage_plain_cuda : &amped_storage_packed_cuda,
                            AMPED_RESIDENCY_STREAM, least, OTHER_BYTES));
  }
}

/* Every number of packs of a small copy can be resident: from none to all but the packs of two
 * buffers, of four packs each. */
START_TEST(every_fraction_can_be_had) {
  amped_layout_cuda l;
  made_up u;
  uint64_t seen = 0;
  make_up(&u, 3, 40 * AMPED_LONG_PACK);
  u.nnz[0] = 40 * AMPED_LONG_PACK;
  for (int m = 1; m < u.plan.order; m++) {
    u.nnz[m] = 0;
    u.plan.modes[m].copy.packing = u.plan.modes[0].copy.packing;
  }
  check_ok(make_layout(&l, &u.plan, &amped_storage_packed_cuda, AMPED_RESIDENCY_RESIDENT,
                       UINT64_MAX, OTHER_BYTES));
  uint64_t pack = pack_bytes(&l, 0);
  uint64_t all = l.device_bytes;
  check_ok(make_layout(&l, &u.plan, &amped_storage_packed_cuda, AMPED_RESIDENCY_AUTO, all - 1,
                       OTHER_BYTES));
  uint64_t base = l.device_bytes - l.device[0].bytes - 2 * l.piece_bytes;
  for (uint64_t packs = 8; packs < 40 && base + packs * pack < all; packs++) {
    check_ok(make_layout(&l, &u.plan, &amped_storage_packed_cuda, AMPED_RESIDENCY_AUTO,
                         base + packs * pack, OTHER_BYTES));
    ck_assert_uint_eq(l.resident[0], (packs - 8) * AMPED_LONG_PACK);
    layout_is_sound(&l, &u.plan);
    seen++;
  }
  ck_assert_uint_ge(seen, 30);
  check_fails(AMPED_FAILED, "--rank",
              make_layout(&l, &u.plan, &amped_storage_packed_cuda, AMPED_RESIDENCY_AUTO,
                          base + 8 * pack - 1, OTHER_BYTES));
}

/* What the schedule of mode's copy takes, cut as work_cuda.cu cuts it. */
static uint64_t schedule_takes(const amped_layout_cuda *l, const amped_plan *plan, int m) {
  uint64_t count = 0;
  uint64_t largest = 0;
  uint64_t blocks = 0;
  amped_cut_cuda cut;
  amped_segment_cuda *segments =
      calloc(2 * (l->first_block[m + 1] - l->first_block[m]) + 1, sizeof *segments);
  ck_assert_ptr_nonnull(segments);
  for (uint64_t k = 0; k < l->nnz[m]; k += segments[count++].count) {
    segments[count].count = span_at(l, plan, m, k).count;
    largest = segments[count].count > largest ? segments[count].count : largest;
  }
  amped_schedule_cuda_shape(&cut, plan, m, largest, &l->tiles[m], h200.multiprocessors);
  check_ok(amped_schedule_cuda_count(segments, count, cut.unit, &blocks));
  amped_schedule_memory_cuda memory = amped_schedule_cuda_memory(plan, m, &cut, blocks);
  free(segments);
  return memory.outputs + memory.carries + memory.blocks + memory.flags;
}

/* Of what a layout counts beside the copy of a mode, what is the schedule's. */
static uint64_t schedule_counted(const amped_layout_cuda *l, const amped_plan *plan, int m) {
  uint64_t listed =
      amped_tiles_cuda_list_rows(&l->tiles[m], l->nnz[m], amped_plan_copy_rows(plan, m));
  uint64_t room = amped_tiles_cuda_room(&l->tiles[m], l->nnz[m], plan->modes[m].copy.packing.pack);
  uint64_t packs = amped_packing_packs(&plan->modes[m].copy.packing, room);
  return l->index_bytes[m] - amped_packing_bit_words(room) * sizeof(uint32_t) -
         (listed + packs) * plan->index_type - 3 * AMPED_CUDA_ALIGNMENT;
}

/* Wide rows make schedules large: all that they take is counted, and little more where all of a
 * copy is resident. */
START_TEST(schedules_take_what_was_counted) {
  static const uint64_t ld[] = {4, 32, 100, 256, 1024};
  static const uint64_t largest[] = {3000000, UINT64_C(1000000000)};
  int streamed = 0;
  for (uint64_t trial = 0; trial < 60; trial++) {
    amped_layout_cuda l;
    made_up u;
    make_up(&u, trial, largest[trial % 2]);
    u.plan.ld = ld[trial % 5];
    const uint64_t row_bytes = u.plan.ld * u.plan.value_type;
    check_ok(make_layout(&l, &u.plan, &amped_storage_packed_cuda, AMPED_RESIDENCY_RESIDENT,
                         UINT64_MAX, OTHER_BYTES));
    for (int m = 0; m < u.plan.order; m++) {
      uint64_t taken = l.nnz[m] > 0 ? schedule_takes(&l, &u.plan, m) : 0;
      ck_assert_uint_le(taken, schedule_counted(&l, &u.plan, m));
      ck_assert_uint_ge(taken + 2 * row_bytes + 1000, schedule_counted(&l, &u.plan, m));
    }
    for (uint64_t i = 1; i < 12; i++) {
      amped_residency residency = i % 2 == 0 ? AMPED_RESIDENCY_AUTO : AMPED_RESIDENCY_STREAM;
      uint64_t budget = OTHER_BYTES + l.device_bytes / 2 / (trial % 7 + 1) * i / 6;
      amped_layout_cuda some;
      if (make_layout(&some, &u.plan, &amped_storage_packed_cuda, residency, budget, OTHER_BYTES) !=
          AMPED_OK) {
        amped_status_clear();
        continue;
      }
      ck_assert_uint_le(some.device_bytes, budget);
      if (some.first_block[u.plan.order] > 100000)
        continue;
      streamed++;
      for (int m = 0; m < u.plan.order; m++)
        if (some.nnz[m] > 0)
          ck_assert_uint_le(schedule_takes(&some, &u.plan, m), schedule_counted(&some, &u.plan, m));
    }
  }
  ck_assert_int_gt(streamed, 100);
}

/* A rank may have no nonzero at all: nothing is kept, nothing streamed. */
START_TEST(nothing_takes_nothing) {
  static const amped_residency ways[] = {AMPED_RESIDENCY_AUTO, AMPED_RESIDENCY_RESIDENT,
                                         AMPED_RESIDENCY_STREAM};
  for (int way = 0; way < 3; way++) {
    amped_layout_cuda l;
    made_up u;
    make_up(&u, 1, 100);
    memset(u.nnz, 0, sizeof u.nnz);
    check_ok(make_layout(&l, &u.plan, &amped_storage_packed_cuda, ways[way], UINT64_C(1) << 30,
                         OTHER_BYTES));
    layout_is_sound(&l, &u.plan);
    ck_assert_uint_eq(l.host_bytes, 0);
    ck_assert_uint_eq(l.first_block[u.plan.order], 0);
  }
}

START_TEST(what_does_not_fit_is_refused_with_a_remedy) {
  amped_layout_cuda l;
  made_up u;
  make_up(&u, 1, 100000);
  check_ok(make_layout(&l, &u.plan, &amped_storage_packed_cuda, AMPED_RESIDENCY_RESIDENT,
                       UINT64_MAX, OTHER_BYTES));
  check_fails(AMPED_FAILED, "--residency=auto",
              make_layout(&l, &u.plan, &amped_storage_packed_cuda, AMPED_RESIDENCY_RESIDENT,
                          l.device_bytes - 1, OTHER_BYTES));
  check_fails(AMPED_FAILED, "--rank",
              make_layout(&l, &u.plan, &amped_storage_packed_cuda, AMPED_RESIDENCY_AUTO,
                          OTHER_BYTES, OTHER_BYTES));
  u.nnz[0] = UINT64_MAX / 2;
  check_fails(AMPED_FAILED, "use more processes",
              make_layout(&l, &u.plan, &amped_storage_packed_cuda, AMPED_RESIDENCY_AUTO, UINT64_MAX,
                          OTHER_BYTES));
}

/* --- tiles -------------------------------------------------------------------------------------*/

/* Modes of so many rows. */
static void set_dims(made_up *u, const uint64_t *dims) {
  amped_plan *plan = &u->plan;
  for (int m = 0; m < plan->order; m++) {
    uint64_t inputs[AMPED_MAX_ORDER];
    for (int i = 0; i < plan->order - 1; i++)
      inputs[i] = dims[amped_tiles_cuda_mode(m, i)];
    u->rows[m] = plan->modes[m].rows.positions = dims[m];
    amped_packing_make(&plan->modes[m].copy.packing, plan->order - 1, inputs, 0, plan->value_type,
                       u->nnz[m]);
  }
}

/* A tensor of order 4 whose second factor is as large as rows are many: each comes about twice. */
static void make_rare(made_up *u) {
  static const uint64_t dims[] = {320000, 28000000, 1600000, 731};
  memset(u, 0, sizeof *u);
  u->plan.order = 4;
  u->plan.sorted = true;
  u->plan.boxed = -1;
  u->plan.nranks = 1;
  u->plan.value_type = AMPED_F32;
  u->plan.ld = 32;
  for (int m = 0; m < 4; m++) {
    amped_mode_plan *mode = &u->plan.modes[m];
    u->nnz[m] = 50000000;
    mode->copy.rank_nnz = &u->nnz[m];
    mode->rows.rank_rows = &u->rows[m];
    mode->rows.parts = 1;
  }
  set_dims(u, dims);
}

/* Tiles pay where output rows are few, and of that factor whose rows come again; rows that do not
 * come again pass through the cache. */
START_TEST(tiles_and_hints_follow_what_comes_again) {
  made_up u;
  amped_tiles_cuda t[4];
  amped_hint_cuda h[AMPED_MAX_ORDER - 1];
  make_rare(&u);
  for (int m = 0; m < 4; m++)
    amped_tiles_cuda_choose(&t[m], &u.plan, m, &h200, AMPED_TILES_AUTO);
  ck_assert(t[0].count > 1 && t[0].input == 1); /* of mode 2 */
  ck_assert_uint_eq(t[1].count, 1);
  ck_assert_uint_eq(t[2].count, 1);
  ck_assert(t[3].count > 1 && t[3].input == 2);
  amped_tiles_cuda_hint(h, &u.plan, 1, &t[1], h200.l2_bytes);
  ck_assert(h[0] == AMPED_HINT_NONE && h[1] == AMPED_HINT_NONE);
  amped_tiles_cuda_hint(h, &u.plan, 2, &t[2], h200.l2_bytes);
  ck_assert(h[0] == AMPED_HINT_EVICT_LAST && h[1] == AMPED_HINT_EVICT_FIRST);
  amped_tiles_cuda_hint(h, &u.plan, 3, &t[3], h200.l2_bytes);
  ck_assert(h[1] == AMPED_HINT_EVICT_FIRST && h[2] == AMPED_HINT_EVICT_LAST);
}

/* The same, with mode 0 in tiles of mode 2's factor. The last tiles have that share of the
 * nonzeros, and are ordered by part first. */
static void make_parted(made_up *u, int parts, double share) {
  make_rare(u);
  amped_mode_plan *output = &u->plan.modes[0];
  amped_mode_plan *input = &u->plan.modes[2];
  u->plan.index_type = AMPED_U32;
  output->rows.parts = parts;
  for (int i = 0; i + 1 < parts; i++)
    output->copy.part_nnz[i] = u->nnz[0] / 10 * (uint64_t)(i + 1);
  output->copy.travel = share * AMPED_PART_RATIO;
  output->copy.output_rows = output->rows.block_rows = 800000; /* too many for several outputs */
  input->rows.idp_count = IDPS;
  input->rows.position = u->position;
  input->copy.idp_nnz = u->idp_nnz;
  u->plan.nnz = 0;
  for (uint64_t i = 0; i < IDPS; i++) {
    u->position[i] = input->rows.positions / IDPS * i;
    u->idp_nnz[i] = 1000;
    u->plan.nnz += 1000;
  }
}

/* However nonzeros lie in tiles and parts, their schedule takes no more than is counted. */
START_TEST(schedules_of_parts_take_what_was_counted) {
  for (uint64_t trial = 0; trial < 100; trial++) {
    made_up u;
    amped_layout_cuda l;
    amped_cut_cuda cut;
    amped_segment_cuda segments[AMPED_MAX_TILES * AMPED_MAX_PARTS] = {0};
    const amped_layout_wish_cuda wish = {.storage = &amped_storage_packed_cuda,
                                         .residency = AMPED_RESIDENCY_AUTO,
                                         .budget_bytes = UINT64_C(100) << 30,
                                         .tile_bytes = AMPED_TILES_AUTO,
                                         .caches = h200};
    make_parted(&u, 2 + (int)(trial % 7), (double)(trial % 13) / 10.0);
    check_ok(amped_layout_cuda_make(&l, &u.plan, &wish));
    const amped_tiles_cuda *t = &l.tiles[0];
    ck_assert(t->count > 1 && t->parts == 2 + (int)(trial % 7));
    uint64_t ranges = amped_tiles_cuda_ranges(t);
    uint64_t left = u.nnz[0];
    uint64_t blocks = 0;
    for (uint64_t i = 0; i < ranges; i++) {
      segments[i].count = amped_random_u64(trial, i, 3) % (2 * u.nnz[0] / ranges);
      if (segments[i].count > left || i + 1 == ranges)
        segments[i].count = left;
      left -= segments[i].count;
    }
    amped_schedule_cuda_shape(&cut, &u.plan, 0, amped_tiles_cuda_segment(t, u.nnz[0]), t,
                              h200.multiprocessors);
    ck_assert_uint_eq(cut.outputs, 1);
    check_ok(amped_schedule_cuda_count(segments, ranges, cut.unit, &blocks));
    amped_schedule_memory_cuda m = amped_schedule_cuda_memory(&u.plan, 0, &cut, blocks);
    ck_assert_uint_le(m.outputs + m.carries + m.blocks + m.flags, schedule_counted(&l, &u.plan, 0));
  }
}

/* The last tiles, which are ordered by part first, take as long as the parts need, however few
 * nonzeros some have. */
START_TEST(the_last_tiles_are_not_too_few) {
  made_up u;
  amped_tiles_cuda t;
  make_parted(&u, 3, 0.5);
  uint64_t *idp_nnz = u.idp_nnz;
  const uint64_t *position = u.position;
  for (uint64_t light = 0; light < IDPS; light++) {
    uint64_t last = 0;
    u.plan.nnz = 0;
    for (uint64_t i = 0; i < IDPS; i++) {
      idp_nnz[i] = i < IDPS - light ? 1000 : 1;
      u.plan.nnz += idp_nnz[i];
    }
    amped_tiles_cuda_choose(&t, &u.plan, 0, &h200, AMPED_TILES_AUTO);
    ck_assert_uint_gt(t.count, 2);
    ck_assert_int_eq(t.input, 1);
    ck_assert_int_eq(t.parts, 3);
    ck_assert(t.last >= 1 && t.last <= t.count);
    ck_assert_uint_eq(amped_tiles_cuda_ranges(&t), t.count + 2 * t.last);
    for (uint64_t i = 0; i < IDPS; i++)
      if (position[i] / t.rows >= t.count - t.last)
        last += idp_nnz[i];
    ck_assert_uint_ge(2 * last, u.plan.nnz);
    for (uint64_t i = 0; i < IDPS; i++)
      if (position[i] / t.rows == t.count - t.last)
        last -= idp_nnz[i];
    ck_assert_uint_lt(2 * last, u.plan.nnz);
  }
  u.plan.modes[0].copy.travel = 100.0;
  amped_tiles_cuda_choose(&t, &u.plan, 0, &h200, AMPED_TILES_AUTO);
  ck_assert_uint_eq(t.last, t.count);
}

/* Where the L2 cache holds all factors, tiles of the smallest one that makes several lie in shared
 * memory, as far as there is any and a kernel for it. */
START_TEST(tiles_fit_in_shared_memory) {
  static const uint64_t dims[] = {12092, 9184, 28818};
  static const uint64_t long_dims[] = {12092, 1000000, 1000000};
  static const uint64_t more_dims[] = {12092, 1000000, 1000000, 300, 300, 300};
  made_up u;
  amped_tiles_cuda t;
  amped_caches_cuda small = h200;
  make_rare(&u);
  u.plan.order = 3;
  u.plan.sorted = true;
  u.plan.boxed = -1;
  u.plan.index_type = AMPED_U32;
  set_dims(&u, dims);
  for (int m = 0; m < 3; m++) {
    amped_tiles_cuda_choose(&t, &u.plan, m, &h200, AMPED_TILES_AUTO);
    ck_assert(t.in_smem && t.count > 1 && t.rows * 128 <= h200.shared_bytes);
    ck_assert_int_eq(t.input, m == 2 ? 1 : 0);
    ck_assert(t.count * (t.rows - 1) < dims[t.input]); /* all alike, but for a row */
  }
  amped_tiles_cuda_choose(&t, &u.plan, 2, &h200, UINT64_C(20) << 10);
  ck_assert(t.in_smem && t.count == 58 && t.rows == 159); /* of 9184, 160 at most */
  amped_tiles_cuda_choose(&t, &u.plan, 2, &h200, UINT64_C(220) << 10);
  ck_assert(!t.in_smem && t.count > 1);
  for (small.shared_bytes = 0; small.shared_bytes < 100000; small.shared_bytes += 999) {
    amped_tiles_cuda_choose(&t, &u.plan, 0, &small, AMPED_TILES_AUTO);
    ck_assert(!t.in_smem || t.rows * 128 + (UINT64_C(20) << 10) <= small.shared_bytes);
    ck_assert(t.in_smem == (t.count > 1));
  }
  u.plan.ld = 4;
  set_dims(&u, long_dims); /* 20 bits beside 14 of a tile: too many */
  amped_tiles_cuda_choose(&t, &u.plan, 0, &h200, UINT64_C(140) << 10);
  ck_assert(!t.in_smem && t.count > 1);
  u.plan.index_type = AMPED_U64;
  amped_tiles_cuda_choose(&t, &u.plan, 0, &h200, UINT64_C(20) << 10);
  ck_assert(!t.in_smem && t.count > 1);
  u.plan.index_type = AMPED_U32;
  u.plan.order = 6;
  u.plan.sorted = true;
  u.plan.boxed = -1;
  u.plan.modes[4] = u.plan.modes[5] = u.plan.modes[3];
  set_dims(&u, more_dims);
  amped_tiles_cuda_choose(&t, &u.plan, 0, &h200, UINT64_C(20) << 10);
  ck_assert(!t.in_smem && t.count > 1);
}

TESTING_MAIN("layout", auto_fills_every_budget, stream_keeps_nothing, every_fraction_can_be_had,
             schedules_take_what_was_counted, nothing_takes_nothing,
             what_does_not_fit_is_refused_with_a_remedy, tiles_and_hints_follow_what_comes_again,
             the_last_tiles_are_not_too_few, schedules_of_parts_take_what_was_counted,
             tiles_fit_in_shared_memory)
