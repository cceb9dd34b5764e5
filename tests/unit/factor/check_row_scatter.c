/* Row scatter, on as many ranks as mpirun starts (tests/cli/exchange.sh). A made-up format holds
 * parts of the sums of all rows in host memory. */
#include "base/mem.h"
#include "factor/row_scatter.h"
#include "tests/lib/testing.h"

#define ORDER 3

static amped_comm comm;

/* The "tensor part": parts of the mode in hand, and what the owner added up. */
typedef struct parts {
  const amped_plan *plan;
  double *sums, *arriving, *output;
} parts;

static parts all;

/* A whole number that no two ranks, rows or columns share the pattern of: sums are exact. */
static double part_of(int rank, int mode, uint64_t position, uint64_t column) {
  return (double)((position * 37 + column * 5 + (uint64_t)mode) % 1009 * (uint64_t)(rank + 1));
}

static amped_partial_rows partial_rows(amped_tensor_part *part, int mode) {
  (void)part;
  if (mode == ORDER - 1) /* whole without other ranks */
    return (amped_partial_rows){NULL, NULL};
  return (amped_partial_rows){all.sums, all.arriving};
}

static amped_status add_incoming(amped_tensor_part *part, int mode, amped_row_sum sum) {
  const uint64_t elements = all.plan->modes[mode].rows.block_rows * all.plan->ld;
  double *to = sum.to == AMPED_TO_OUTPUT ? all.output : all.sums + (uint64_t)sum.to * elements;
  (void)part;
  for (uint64_t e = 0; e < elements; e++) {
    to[e] = 0.0;
    for (int k = 0; k < sum.count; k++)
      to[e] += all.arriving[(uint64_t)(sum.first + k) * elements + e];
  }
  return AMPED_OK;
}

static amped_status stage_partial(amped_tensor_part *part, int mode, const amped_host_copy *copies,
                                  int count) {
  (void)part;
  (void)mode;
  for (int i = 0; i < count; i++) {
    char *at = (char *)(copies[i].in ? all.arriving : all.sums) + copies[i].offset;
    memcpy(copies[i].in ? at : copies[i].host, copies[i].in ? copies[i].host : at, copies[i].bytes);
  }
  return AMPED_OK;
}

static void sums_are_right(amped_row_scatter *scatter, int mode) {
  const amped_plan *plan = all.plan;
  const uint64_t rows = amped_plan_factor_rows(plan, mode);
  const uint64_t block = plan->modes[mode].rows.block_rows;
  for (uint64_t i = 0; i < rows; i++)
    for (uint64_t c = 0; c < plan->ld; c++)
      all.sums[i * plan->ld + c] = part_of(comm.rank, mode, i, c);
  memset(all.output, 0, block * plan->ld * sizeof *all.output);
  check_ok(amped_row_scatter_sum(scatter, mode));
  for (uint64_t i = 0; i < block; i++)
    for (uint64_t c = 0; c < plan->ld; c++) {
      double expected = 0.0;
      for (int p = 0; p < comm.nranks && mode < ORDER - 1; p++)
        expected += part_of(p, mode, (uint64_t)comm.rank * block + i, c);
      ck_assert_double_eq(all.output[i * plan->ld + c], comm.nranks > 1 ? expected : 0.0);
    }
}

static void make(const uint64_t *dims, amped_dense_info *info, amped_tensor_info *tables,
                 amped_plan *plan) {
  uint64_t most = 0;
  memset(info, 0, sizeof *info);
  info->order = ORDER;
  info->type = AMPED_CELL_F32;
  info->cells = 1;
  for (int m = 0; m < ORDER; m++) {
    info->dims[m] = dims[m];
    info->layout[m] = m;
    info->cells *= dims[m];
  }
  check_ok(amped_tensor_info_of_cells(info, tables));
  check_ok(amped_plan_create(plan, tables,
                             &(amped_plan_request){.ncomps = 5,
                                                   .value_type = AMPED_F64,
                                                   .rank = comm.rank,
                                                   .nranks = comm.nranks,
                                                   .needs = {.cells = true}}));
  for (int m = 0; m < ORDER; m++)
    most = amped_plan_factor_rows(plan, m) > most ? amped_plan_factor_rows(plan, m) : most;
  all.plan = plan;
  check_ok(amped_alloc(&all.sums, most * plan->ld, sizeof(double), "parts"));
  check_ok(amped_alloc(&all.arriving, most * plan->ld, sizeof(double), "parts"));
  check_ok(amped_alloc(&all.output, most * plan->ld, sizeof(double), "sums"));
}

static void visit(const uint64_t *dims, bool staged, uint64_t message_bytes) {
  const amped_format_ops format = {
      .name = "made up",
      .partial_rows = partial_rows,
      .add_incoming = add_incoming,
      .stage_partial = stage_partial,
  };
  amped_backend backend = amped_backend_cpu;
  amped_worker worker = {.backend = &backend, .format = &format};
  amped_row_scatter *scatter = NULL;
  int *rank_at = NULL;
  amped_dense_info info;
  amped_tensor_info tables;
  amped_plan plan;
  const bool aware = comm.cuda_aware;
  const uint64_t message = comm.message_bytes;
  backend.device_pointers = staged;
  comm.cuda_aware = false;
  comm.message_bytes = message_bytes;
  make(dims, &info, &tables, &plan);
  check_ok(amped_alloc(&rank_at, (uint64_t)comm.nranks, sizeof *rank_at, "ranks"));
  check_ok(amped_row_scatter_create(&comm, &worker, &plan, rank_at, &scatter));
  ck_assert_int_eq(MPI_Allgather(&comm.rank, 1, MPI_INT, rank_at, 1, MPI_INT, comm.ring),
                   MPI_SUCCESS);
  check_ok(amped_row_scatter_find_nodes(scatter));
  ck_assert_int_eq(scatter != NULL, comm.nranks > 1);
  ck_assert_int_eq(amped_row_scatter_host_bytes(&comm, &worker, &plan) > 0,
                   staged && comm.nranks > 1);
  for (int m = 0; m < ORDER; m++)
    sums_are_right(scatter, m);
  amped_row_scatter_destroy(scatter);
  amped_free(rank_at);
  amped_free(all.sums);
  amped_free(all.arriving);
  amped_free(all.output);
  amped_plan_destroy(&plan);
  amped_tensor_info_free(&tables);
  comm.cuda_aware = aware;
  comm.message_bytes = message;
}

/* Nodes are made up: of two neighbours each, of every second rank, all ranks but the last, one.
 * Unless each rank has its own, nodes have sums inside. */
static void split_nodes(int how) {
  const int last = comm.rank == comm.nranks - 1;
  const int colours[] = {0, comm.rank / 2, comm.rank % 2, last, comm.rank};
  MPI_Comm node = MPI_COMM_NULL;
  ck_assert_int_eq(MPI_Comm_split(comm.mpi, colours[how], comm.rank, &node), MPI_SUCCESS);
  amped_comm_set_node(&comm, node);
}

START_TEST(parts_of_all_ranks_meet_on_the_owner) {
  static const uint64_t shapes[][ORDER] = {{37, 5, 16}, {2, 301, 3}, {1, 1, 1}};
  for (int how = 0; how < 5; how++)
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
      for (int staged = 0; staged < 2; staged++) {
        split_nodes(how);
        visit(shapes[s], staged > 0, comm.message_bytes);
        visit(shapes[s], staged > 0, 200); /* pieces of three rows */
        comm.way = AMPED_WAY_RING;
        visit(shapes[s], staged > 0, comm.message_bytes);
        comm.way = AMPED_WAY_AUTO;
        comm.in_order = true;
        visit(shapes[s], staged > 0, comm.message_bytes);
        comm.in_order = false;
      }
  split_nodes(0);
  check_no_leak();
}

/* More rows than the host's pieces hold: 16 MiB. */
START_TEST(many_rows_pass_through_the_host) {
  static const uint64_t dims[] = {300001, 2, 3};
  visit(dims, true, comm.message_bytes);
  check_no_leak();
}

int main(void) {
  const TTest *const tests[] = {parts_of_all_ranks_meet_on_the_owner,
                                many_rows_pass_through_the_host};
  /* MPI allows no forks, as in check_exchange. */
  (void)setenv("CK_FORK", "no", 1);
  if (amped_comm_start(&comm) != AMPED_OK)
    return EXIT_FAILURE;
  int result = testing_run("row_scatter", tests, sizeof tests / sizeof tests[0]);
  if (result != EXIT_SUCCESS)
    (void)MPI_Abort(comm.mpi, result);
  amped_comm_stop(&comm);
  return result;
}
