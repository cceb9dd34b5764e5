/* Plans: positions are a bijection, blocks hold their rows, sizes are checked. */
#include "base/mem.h"
#include "plan/overlap.h"
#include "plan/plan.h"
#include "base/random.h"
#include "tests/lib/testing.h"
#include "tests/lib/testing_rates.h"

/* A tensor's tables from random, partly empty row counts. Freed by free_info. */
static void make_info(amped_tensor_info *info, int order, uint64_t trial) {
  memset(info, 0, sizeof *info);
  info->order = order;
  info->nnz = 5000;
  info->norm_squared = 1.0;
  info->has_copies = true;
  uint64_t *rows = NULL;
  check_ok(amped_alloc(&rows, info->nnz, sizeof *rows, "rows"));
  for (int m = 0; m < order; m++) {
    uint64_t dim = m == 0 ? 200000 : 1 + amped_random_u64(trial, 7, (uint64_t)m) % 300;
    info->dims[m] = dim;
    for (uint64_t k = 0; k < info->nnz; k++) /* ascending */
      rows[k] = dim * k / info->nnz / 2 * 2 % dim;
    for (uint64_t k = 1; k < info->nnz; k++)
      rows[k] = rows[k] < rows[k - 1] ? rows[k - 1] : rows[k];
    check_ok(amped_partition_create(&info->partitions[m], dim, rows, info->nnz));
  }
  amped_free(rows);
}

static void free_info(amped_tensor_info *info) {
  for (int m = 0; m < info->order; m++)
    amped_partition_free(&info->partitions[m]);
}

START_TEST(positions_are_a_bijection_onto_the_blocks_of_the_owners) {
  for (uint64_t trial = 0; trial < 5; trial++)
    for (int nranks = 1; nranks <= 5; nranks++) {
      amped_tensor_info info;
      amped_plan plan;
      make_info(&info, 4, trial);
      check_ok(amped_plan_create(&plan, &info,
                                 &(amped_plan_request){.ncomps = 5,
                                                       .value_type = AMPED_F32,
                                                       .placement = AMPED_PLACEMENT_GREEDY,
                                                       .rank = 0,
                                                       .nranks = nranks}));
      ck_assert_uint_eq(plan.ld, 8); /* 5 floats padded to 32 bytes */
      for (int m = 0; m < 4; m++) {
        uint64_t rows = amped_plan_factor_rows(&plan, m);
        char *seen = NULL;
        uint64_t sum = 0;
        check_ok(amped_calloc(&seen, rows, 1, "marks"));
        for (uint64_t i = 0; i < plan.dims[m]; i++) {
          const amped_mode_plan *mode = &plan.modes[m];
          uint64_t at = amped_plan_position(&plan, m, i);
          int owner = mode->rows.owner[i / mode->rows.width];
          /* One assertion for all: Check's cost a message each. */
          if (at >= rows || seen[at] != 0 || at / mode->rows.block_rows != (uint64_t)owner ||
              at % mode->rows.block_rows >= mode->rows.rank_rows[owner])
            ck_abort_msg("mode %d: index %" PRIu64 " at %" PRIu64, m, i, at);
          seen[at] = 1;
        }
        for (int p = 0; p < nranks; p++)
          sum += plan.modes[m].copy.rank_nnz[p];
        ck_assert_uint_eq(sum, info.nnz);
        amped_free(seen);
      }
      amped_plan_destroy(&plan);
      free_info(&info);
    }
  check_no_leak();
}

/* Row 7 of mode 1 and iDps of many rows in mode 0 have too many nonzeros; all ranks make the same
 * plan. */
static void make_heavy_info(amped_tensor_info *info) {
  uint64_t *rows = NULL;
  uint64_t nnz = 100000;
  static const uint64_t dims[] = {200000, 46, 3};
  memset(info, 0, sizeof *info);
  info->order = 3;
  info->nnz = nnz;
  info->norm_squared = 1.0;
  info->has_copies = true;
  check_ok(amped_alloc(&rows, nnz, sizeof *rows, "rows"));
  for (int m = 0; m < 3; m++) {
    info->dims[m] = dims[m];
    for (uint64_t k = 0; k < nnz; k++) /* 40 % in a few rows of two iDps */
      rows[k] = k < nnz * 2 / 5 ? 7 * k / nnz : dims[m] * k / nnz;
    for (uint64_t k = 1; k < nnz; k++)
      rows[k] = rows[k] < rows[k - 1] ? rows[k - 1] : rows[k];
    check_ok(amped_partition_create(&info->partitions[m], dims[m], rows, nnz));
  }
  amped_free(rows);
}

/* Each numbered nonzero has a shared row on its rank; other split iDps have no shared rows
 * there. */
static void shared_rows_are_right(const amped_plan *plan, int mode) {
  const amped_mode_plan *m = &plan->modes[mode];
  uint64_t nnz = 0;
  uint64_t next = m->rows.block_rows;
  for (uint64_t i = 0; i < m->rows.idp_count; i++) {
    uint64_t split = amped_plan_split_of(m, i);
    uint64_t mine = 0;
    if (split == m->copy.split_count) {
      ck_assert(m->copy.row[i] ==
                (m->rows.owner[i] == plan->rank
                     ? m->rows.position[i] - (uint64_t)plan->rank * m->rows.block_rows
                     : AMPED_NO_ROW));
      mine = m->rows.owner[i] == plan->rank ? m->copy.idp_nnz[i] : 0;
    } else {
      for (uint64_t k = 0; k < m->copy.idp_nnz[i]; k++)
        mine +=
            amped_plan_split_rank(m, plan->nranks, m->copy.splits[split].first + k) == plan->rank;
      ck_assert(m->copy.row[i] == (mine > 0 ? next : AMPED_NO_ROW));
      next += mine > 0 ? m->copy.splits[split + 1].row - m->copy.splits[split].row : 0;
    }
    nnz += mine;
    if (m->copy.row[i] != AMPED_NO_ROW) /* rows of the result are the rows of its indices */
      for (uint64_t k = 0; k < m->rows.width && i * m->rows.width + k < m->rows.dim; k++)
        ck_assert_uint_eq(amped_plan_row_position(plan, mode, m->copy.row[i] + k),
                          amped_plan_position(plan, mode, i * m->rows.width + k));
  }
  ck_assert_uint_le(next, m->copy.output_rows);
  ck_assert_uint_eq(nnz, m->copy.rank_nnz[plan->rank]);
}

START_TEST(shared_rows_are_those_of_split_idps) {
  amped_tensor_info info;
  int split = 0;
  make_heavy_info(&info);
  for (int placement = 0; placement < 3; placement++)
    for (int nranks = 1; nranks <= 5; nranks++)
      for (int rank = 0; rank < nranks; rank++) {
        amped_plan plan;
        check_ok(amped_plan_create(&plan, &info,
                                   &(amped_plan_request){.ncomps = 5,
                                                         .value_type = AMPED_F32,
                                                         .placement = (amped_placement)placement,
                                                         .rank = rank,
                                                         .nranks = nranks}));
        for (int m = 0; m < 3; m++) {
          shared_rows_are_right(&plan, m);
          split += plan.modes[m].copy.split_count > 0;
          ck_assert(placement != AMPED_PLACEMENT_GREEDY || nranks == 1 ||
                    amped_plan_imbalance(&plan, m) * (double)info.nnz / nranks <=
                        100.0 * AMPED_SPLIT_LEAST);
        }
        amped_plan_destroy(&plan);
      }
  ck_assert_int_gt(split, 50);
  free_info(&info);
  check_no_leak();
}

/* Parts begin and end with iDps and cover the block; their nonzeros add up to all. Rows of split
 * iDps are in the last one. */
static void parts_are_right(const amped_plan *plan, int mode, int wanted) {
  const amped_mode_plan *m = &plan->modes[mode];
  uint64_t before = 0;
  ck_assert_int_ge(m->rows.parts, 1);
  ck_assert_int_le(m->rows.parts, wanted);
  ck_assert_uint_eq(m->rows.part_rows[0], 0);
  ck_assert_uint_eq(m->rows.part_rows[m->rows.parts], m->rows.block_rows);
  for (uint64_t s = 0; s < m->copy.split_count; s++)
    ck_assert_uint_ge(m->rows.position[m->copy.splits[s].idp] % m->rows.block_rows,
                      m->rows.part_rows[m->rows.parts - 1]);
  for (int part = 0; part < m->rows.parts; part++) {
    ck_assert_uint_lt(m->rows.part_rows[part], m->rows.part_rows[part + 1]);
    ck_assert(part + 1 == m->rows.parts || m->rows.part_rows[part + 1] % m->rows.width == 0);
    for (uint64_t i = 0; i < m->rows.idp_count; i++)
      if (m->copy.row[i] >= m->rows.part_rows[part] && m->copy.row[i] < m->rows.part_rows[part + 1])
        before += m->copy.idp_nnz[i];
    if (part + 1 < m->rows.parts)
      ck_assert_uint_eq(amped_plan_part_nnz(plan, mode, part), before);
  }
  ck_assert_uint_eq(amped_plan_part_nnz(plan, mode, m->rows.parts - 1),
                    m->copy.rank_nnz[plan->rank]);
}

/* Cut plans of all numbers of ranks and parts; *cut counts the modes with as many parts as wanted,
 * *split those of them with split iDps. */
static void cut_all(const amped_tensor_info *info, amped_placement placement, int *cut,
                    int *split) {
  for (int nranks = 1; nranks <= 5; nranks++)
    for (int wanted = 1; wanted <= AMPED_MAX_PARTS; wanted++) {
      amped_plan plan;
      check_ok(amped_plan_create(&plan, info,
                                 &(amped_plan_request){.ncomps = 5,
                                                       .value_type = AMPED_F32,
                                                       .placement = placement,
                                                       .rank = nranks - 1,
                                                       .nranks = nranks}));
      check_ok(amped_plan_cut(&plan, wanted, &h200_rates));
      for (int m = 0; m < info->order; m++) {
        const bool as_wanted = plan.modes[m].rows.parts == wanted && wanted > 1;
        parts_are_right(&plan, m, wanted);
        *cut += as_wanted;
        *split += as_wanted && plan.modes[m].copy.split_count > 0;
      }
      amped_plan_destroy(&plan);
    }
}

START_TEST(blocks_are_cut_into_parts) {
  amped_tensor_info info;
  int cut = 0;
  int split = 0;
  for (uint64_t trial = 0; trial < 5; trial++) {
    make_info(&info, 4, trial);
    cut_all(&info, AMPED_PLACEMENT_GREEDY, &cut, &split);
    free_info(&info);
  }
  ck_assert_int_gt(cut, 100);
  make_heavy_info(&info);
  for (int placement = 0; placement < 3; placement++)
    cut_all(&info, (amped_placement)placement, &cut, &split);
  free_info(&info);
  ck_assert_int_gt(split, 25);
  check_no_leak();
}

START_TEST(rows_of_a_rank_ascend_with_their_file_indices) {
  amped_tensor_info info;
  amped_plan plan;
  make_info(&info, 3, 9);
  check_ok(amped_plan_create(&plan, &info,
                             &(amped_plan_request){.ncomps = 4,
                                                   .value_type = AMPED_F64,
                                                   .placement = AMPED_PLACEMENT_GREEDY,
                                                   .rank = 1,
                                                   .nranks = 3}));
  uint64_t last[3] = {0, 0, 0};
  for (uint64_t i = 0; i < plan.dims[0]; i++) {
    uint64_t at = amped_plan_position(&plan, 0, i);
    uint64_t p = at / plan.modes[0].rows.block_rows;
    if (last[p] != 0 && at != last[p] + 1)
      ck_abort_msg("row %" PRIu64 " is at %" PRIu64 " behind %" PRIu64, i, at, last[p]);
    last[p] = at;
  }
  amped_plan_destroy(&plan);
  free_info(&info);
}

START_TEST(wide_modes_get_wide_idps) {
  amped_tensor_info info;
  make_info(&info, 3, 1);
  ck_assert_uint_eq(info.partitions[0].width, 4); /* ceil(200000 / 65536) */
  ck_assert_uint_eq(info.partitions[0].idp_count, 50000);
  free_info(&info);
}

START_TEST(sizes_that_no_machine_has_are_refused) {
  amped_tensor_info info;
  amped_plan plan;
  make_info(&info, 3, 1);
  /* A mode of 2^62 indices in two iDps. */
  amped_partition *p = &info.partitions[1];
  amped_partition_free(p);
  p->dim = UINT64_C(1) << 62;
  p->width = UINT64_C(1) << 61;
  p->idp_count = 2;
  check_ok(amped_calloc(&p->idp_nnz, 2, sizeof *p->idp_nnz, "a table"));
  p->idp_nnz[0] = info.nnz;
  info.dims[1] = p->dim;
  check_fails(AMPED_FAILED, "too",
              amped_plan_create(&plan, &info,
                                &(amped_plan_request){.ncomps = 1024,
                                                      .value_type = AMPED_F64,
                                                      .placement = AMPED_PLACEMENT_BLOCK,
                                                      .rank = 0,
                                                      .nranks = 2}));
  free_info(&info);
  make_info(&info, 3, 1);
  info.nnz = UINT64_C(1) << 60; /* times 16 bytes overflows to 0 */
  check_fails(AMPED_FAILED, "too many",
              amped_plan_create(&plan, &info,
                                &(amped_plan_request){.ncomps = 4,
                                                      .value_type = AMPED_F64,
                                                      .placement = AMPED_PLACEMENT_EQUAL,
                                                      .rank = 0,
                                                      .nranks = 2}));
  free_info(&info);
  check_no_leak();
}

/* Make tables alone, for more nonzeros and rows than 32 bits hold. */
static void make_vast(amped_tensor_info *info, uint64_t dim, uint64_t idp_nnz) {
  memset(info, 0, sizeof *info);
  info->order = 3;
  info->norm_squared = 1.0;
  info->has_copies = true;
  for (int m = 0; m < 3; m++) {
    amped_partition *p = &info->partitions[m];
    p->dim = info->dims[m] = m == 0 ? dim : 1000;
    p->width = amped_partition_width(p->dim);
    p->idp_count = amped_ceil_div(p->dim, p->width);
    check_ok(amped_calloc(&p->idp_nnz, p->idp_count, sizeof *p->idp_nnz, "a table"));
  }
  info->nnz = idp_nnz * info->partitions[0].idp_count;
  for (int m = 0; m < 3;
       m++) { /* the first iDp has the remainder of the division, and half of all */
    amped_partition *p = &info->partitions[m];
    uint64_t each = info->nnz / 2 / p->idp_count;
    for (uint64_t i = 0; i < p->idp_count; i++)
      p->idp_nnz[i] = each;
    p->idp_nnz[0] = info->nnz - each * (p->idp_count - 1);
  }
}

static void vast_plan_adds_up(const amped_plan *plan, int mode) {
  const amped_mode_plan *m = &plan->modes[mode];
  uint64_t nnz = 0;
  uint64_t rows = 0;
  uint64_t last = 0;
  for (int p = 0; p < plan->nranks; p++) {
    uint64_t own = 0;
    for (uint64_t i = 0; i < m->rows.idp_count; i++)
      own += amped_plan_idp_nnz(m, p, i);
    ck_assert_uint_eq(own, m->copy.rank_nnz[p]);
    nnz += own;
    rows += m->rows.rank_rows[p];
  }
  ck_assert_uint_eq(nnz, plan->nnz);
  ck_assert_uint_eq(rows, m->rows.dim);
  for (uint64_t i = 0; i < m->rows.dim; i += m->rows.width) {
    uint64_t at = amped_plan_position(plan, mode, i);
    ck_assert_uint_eq(at / m->rows.block_rows, (uint64_t)m->rows.owner[i / m->rows.width]);
    last = at > last ? at : last;
  }
  ck_assert_uint_ge(m->rows.positions, last);
  ck_assert_uint_ge(amped_plan_factor_rows(plan, mode), m->rows.dim);
  if (m->copy.split_count > 0) { /* the last number of the split nonzeros */
    uint64_t end = m->copy.splits[m->copy.split_count].first;
    ck_assert_uint_eq(m->copy.cuts[plan->nranks], end);
    for (int p = 0; p < plan->nranks; p++)
      if (m->copy.cuts[p + 1] > m->copy.cuts[p]) {
        ck_assert_int_eq(amped_plan_split_rank(m, plan->nranks, m->copy.cuts[p]), p);
        ck_assert_int_eq(amped_plan_split_rank(m, plan->nranks, m->copy.cuts[p + 1] - 1), p);
      }
  }
}

/* Bits of the modes that --overlap=auto cuts; nonzeros are even. */
static int cut_by_itself(const uint64_t *dims, uint64_t nnz, int nranks) {
  amped_tensor_info info;
  amped_plan plan;
  int cut = 0;
  memset(&info, 0, sizeof info);
  info.order = 3;
  info.norm_squared = 1.0;
  info.nnz = nnz;
  for (int m = 0; m < 3; m++) {
    amped_partition *p = &info.partitions[m];
    p->dim = info.dims[m] = dims[m];
    p->width = amped_partition_width(p->dim);
    p->idp_count = amped_ceil_div(p->dim, p->width);
    check_ok(amped_calloc(&p->idp_nnz, p->idp_count, sizeof *p->idp_nnz, "a table"));
    for (uint64_t i = 0; i < p->idp_count; i++)
      p->idp_nnz[i] = nnz / p->idp_count;
    p->idp_nnz[0] += nnz % p->idp_count;
  }
  check_ok(amped_plan_create(&plan, &info,
                             &(amped_plan_request){.ncomps = 32,
                                                   .value_type = AMPED_F32,
                                                   .placement = AMPED_PLACEMENT_GREEDY,
                                                   .rank = nranks - 1,
                                                   .nranks = nranks}));
  check_ok(amped_plan_cut(&plan, AMPED_PARTS_AUTO, &h200_rates));
  for (int m = 0; m < 3; m++) {
    double last = plan.modes[m].copy.travel;
    double all = 1.0; /* sum of the parts, divided by the first */
    for (int part = 1; part < plan.modes[m].rows.parts; part++) {
      last *= AMPED_PART_RATIO;
      all = 1.0 + AMPED_PART_RATIO * all;
    }
    cut |= plan.modes[m].rows.parts > 1 ? 1 << m : 0;
    ck_assert(plan.modes[m].rows.parts == 1 || plan.modes[m].rows.parts >= 4);
    if (plan.modes[m].rows.parts > 1 && plan.modes[m].rows.parts < AMPED_MAX_PARTS)
      ck_assert_double_le(last / all, 0.025); /* part of MTTKRP's time that is not hidden */
  }
  amped_plan_destroy(&plan);
  free_info(&info);
  return cut;
}

START_TEST(parts_are_made_where_rows_travel_long) {
  static const uint64_t amazon[] = {4821207, 1774269, 1805187};
  static const uint64_t small[] = {12092, 9184, 28818};
  static const uint64_t reddit[] = {8211298, 176962, 8116559};
  ck_assert_int_eq(cut_by_itself(amazon, UINT64_C(500000000), 1), 0);
  ck_assert_int_eq(cut_by_itself(amazon, UINT64_C(500000000), 4), 7);
  ck_assert_int_eq(cut_by_itself(amazon, UINT64_C(1700000000), 4), 1); /* its longest mode */
  ck_assert_int_eq(cut_by_itself(amazon, UINT64_C(50000000000), 4), 0);
  ck_assert_int_eq(cut_by_itself(small, UINT64_C(77000000), 4), 0);   /* latency, not rate */
  ck_assert_int_eq(cut_by_itself(reddit, UINT64_C(500000000), 4), 5); /* but the short mode */
  check_no_leak();
}

START_TEST(counts_above_32_bits_add_up) {
  static const uint64_t dims[] = {UINT64_C(3) << 31, (UINT64_C(1) << 38) - 1};
  static const uint64_t idp_nnz[] = {(UINT64_C(1) << 24) + 1, UINT64_C(1) << 38};
  for (int i = 0; i < 4; i++)
    for (int nranks = 1; nranks <= 5; nranks += 2) {
      amped_tensor_info info;
      amped_plan plan;
      amped_placement placement = (amped_placement)((nranks + i) % 3);
      make_vast(&info, dims[i % 2], idp_nnz[i / 2]);
      ck_assert_uint_gt(info.nnz, UINT64_C(1) << 32);
      check_ok(amped_plan_create(&plan, &info,
                                 &(amped_plan_request){.ncomps = 33,
                                                       .value_type = AMPED_F64,
                                                       .placement = placement,
                                                       .rank = nranks - 1,
                                                       .nranks = nranks}));
      ck_assert_int_eq(plan.index_type, AMPED_U64);
      for (int m = 0; m < 3; m++)
        vast_plan_adds_up(&plan, m);
      /* R x dims exceeds 2^32 elements, in bytes; copies have at least a byte for each nonzero. */
      ck_assert_uint_ge(amped_plan_factor_bytes(&plan), dims[i % 2] * 34 * sizeof(double));
      for (int m = 0; m < 3; m++)
        ck_assert_uint_ge(amped_plan_copy_bytes(&plan, m), plan.modes[m].copy.rank_nnz[plan.rank]);
      amped_plan_destroy(&plan);
      free_info(&info);
    }
  check_no_leak();
}

/* Modes without a copy have rows alone, which are distributed as consecutive indices, in the file's
 * order, as many a rank; none of them is split or cut into parts. */
static void rows_alone(const amped_plan *plan, int mode) {
  const amped_mode_plan *m = &plan->modes[mode];
  const uint64_t even = amped_ceil_div(m->rows.idp_count, (uint64_t)plan->nranks) * m->rows.width;
  ck_assert(!amped_plan_has_copy(plan, mode));
  ck_assert_uint_eq(m->copy.split_count, 0);
  ck_assert_uint_eq(m->copy.output_rows, m->rows.block_rows);
  ck_assert_uint_eq(m->rows.block_rows, even < plan->dims[mode] ? even : plan->dims[mode]);
  ck_assert_int_eq(m->rows.parts, 1);
  for (uint64_t i = 0; i < plan->dims[mode]; i++)
    if (amped_plan_position(plan, mode, i) != i)
      ck_abort_msg("mode %d: index %" PRIu64 " moved", mode, i);
  ck_assert_mem_eq(m->copy.rank_nnz, plan->modes[plan->boxed].copy.rank_nnz,
                   (uint64_t)plan->nranks * sizeof *m->copy.rank_nnz);
}

START_TEST(one_copy_is_that_of_the_longest_mode) {
  for (int nranks = 1; nranks <= 5; nranks++) {
    amped_tensor_info info;
    amped_plan plan;
    make_heavy_info(&info);
    check_ok(amped_plan_create(&plan, &info,
                               &(amped_plan_request){.ncomps = 5,
                                                     .value_type = AMPED_F32,
                                                     .placement = AMPED_PLACEMENT_GREEDY,
                                                     .rank = nranks - 1,
                                                     .nranks = nranks,
                                                     .needs = {.one_copy = true}}));
    check_ok(amped_plan_cut(&plan, 4, &h200_rates));
    ck_assert_int_eq(amped_plan_copies(&plan), 1);
    ck_assert_int_eq(plan.boxed, 0);
    ck_assert(amped_plan_has_copy(&plan, 0));
    rows_alone(&plan, 1);
    rows_alone(&plan, 2);
    uint64_t sizes[] = {plan.modes[0].copy.output_rows, 46, 3};
    int bits = 0;
    for (int m = 0; m < 3; m++)
      bits += amped_bits_for(sizes[m]);
    ck_assert_int_eq(plan.linear.bits, bits);
    ck_assert_int_gt(plan.linear.prefix, 0);
    amped_plan_destroy(&plan);
    free_info(&info);
  }
  check_no_leak();
}

TESTING_MAIN("plan", one_copy_is_that_of_the_longest_mode,
             positions_are_a_bijection_onto_the_blocks_of_the_owners,
             shared_rows_are_those_of_split_idps, rows_of_a_rank_ascend_with_their_file_indices,
             wide_modes_get_wide_idps, sizes_that_no_machine_has_are_refused,
             counts_above_32_bits_add_up, blocks_are_cut_into_parts,
             parts_are_made_where_rows_travel_long)
