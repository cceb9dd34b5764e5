/* Exchange and link test, on as many ranks as mpirun starts (tests/cli/exchange.sh).
 *
 * A backend whose factors are host memory plays the device where the backend under test has none:
 * its stage copies with memcpy. Nodes are made up by splitting the ranks. The clock is the test's:
 * only messages and copies take time. */
#include "factor/exchange.h"
#include "factor/link_rate.h"
#include "factor/row_reduce.h"
#include "mpi/large_sum.h"
#include "tests/lib/testing_backend.h"
#include "base/timer.h"

static amped_comm comm;
static double now;
static double send_sec, copy_sec, pair_sec;

double amped_time(void) {
  return now;
}

int MPI_Isend(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm mpi,
              MPI_Request *request) {
  now += send_sec;
  return PMPI_Isend(data, count, type, to, tag, mpi, request);
}

int MPI_Sendrecv(const void *data, int count, MPI_Datatype type, int to, int tag, void *in,
                 int in_count, MPI_Datatype in_type, int from, int in_tag, MPI_Comm mpi,
                 MPI_Status *status) {
  now += pair_sec;
  return PMPI_Sendrecv(data, count, type, to, tag, in, in_count, in_type, from, in_tag, mpi,
                       status);
}

static amped_status stage(amped_factor_set *factors, int mode, const amped_host_copy *copies,
                          int count) {
  for (int i = 0; i < count; i++) {
    char *row = (char *)amped_backend_cpu.factors->rows(factors, mode) + copies[i].offset;
    memcpy(copies[i].in ? row : copies[i].host, copies[i].in ? copies[i].host : row,
           copies[i].bytes);
  }
  now += copy_sec;
  return AMPED_OK;
}

static amped_status host_register(amped_device *device, void *block, uint64_t bytes) {
  ck_assert_ptr_nonnull(device);
  ck_assert_ptr_nonnull(block);
  ck_assert_uint_gt(bytes, 0);
  return AMPED_OK;
}

static void host_unregister(amped_device *device, void *block) {
  (void)device;
  ck_assert_ptr_nonnull(block);
}

/* The backend under test, made to look like a device. */
static amped_backend device(void) {
  static amped_device_ops devices;
  static amped_factor_ops factors;
  amped_backend b = *backend();
  if (!b.device_pointers) {
    devices = *b.device;
    devices.host_register = host_register;
    devices.host_unregister = host_unregister;
    factors = *b.factors;
    factors.stage = stage;
    b.device_pointers = true;
    b.device = &devices;
    b.factors = &factors;
  }
  return b;
}

/* --- made-up nodes -----------------------------------------------------------------------------*/

typedef enum nodes { ONE_NODE, ALTERNATING, ALL_BUT_LAST, A_NODE_EACH, NODES } nodes;

static void split_nodes(nodes how) {
  int last = comm.rank == comm.nranks - 1;
  int colours[NODES] = {0, comm.rank % 2, last, comm.rank};
  MPI_Comm node = MPI_COMM_NULL;
  ck_assert_int_eq(MPI_Comm_split(comm.mpi, colours[how], comm.rank, &node), MPI_SUCCESS);
  amped_comm_set_node(&comm, node);
}

START_TEST(ring_goes_node_by_node) {
  for (nodes how = ONE_NODE; how < NODES; how++) {
    int place = 0;
    int expected = comm.rank;
    split_nodes(how);
    ck_assert_int_eq(MPI_Comm_rank(comm.ring, &place), MPI_SUCCESS);
    if (how == ALTERNATING)
      expected = comm.rank % 2 == 0 ? comm.rank / 2 : (comm.nranks + 1) / 2 + comm.rank / 2;
    ck_assert_int_eq(place, expected);
    ck_assert_int_eq(comm.rail != MPI_COMM_NULL, comm.local_rank < comm.rails);
    ck_assert_int_eq(comm.nodes, how == ONE_NODE      ? 1
                                 : how == A_NODE_EACH ? comm.nranks
                                 : comm.nranks == 1   ? 1
                                                      : 2);
  }
}

/* --- exchange ----------------------------------------------------------------------------------*/

/* What row `row` of a factor holds once it is there, exact in float. */
static double entry(int mode, uint64_t row, uint64_t column) {
  return (double)((row * 31 + column * 7 + (uint64_t)mode) % 65521);
}

/* Own rows as they should be, all others -1. */
static void fill(const bench *s, int mode, double *rows) {
  uint64_t n = (uint64_t)s->p->ncomps;
  uint64_t all = amped_plan_factor_rows(&s->plan, mode);
  uint64_t block = s->plan.modes[mode].rows.block_rows;
  for (uint64_t i = 0; i < all; i++)
    for (uint64_t c = 0; c < n; c++)
      rows[i * n + c] = i / block == (uint64_t)s->plan.rank ? entry(mode, i, c) : -1.0;
  check_ok(s->w.backend->factors->put_rows(s->w.factors, mode, 0, all, rows));
}

/* Rows first .. end of all blocks, and all own rows, are there; no other row was touched. */
static void arrived(const bench *s, int mode, uint64_t first, uint64_t end, double *rows) {
  uint64_t n = (uint64_t)s->p->ncomps;
  uint64_t all = amped_plan_factor_rows(&s->plan, mode);
  uint64_t block = s->plan.modes[mode].rows.block_rows;
  check_ok(s->w.backend->factors->get_rows(s->w.factors, mode, 0, all, rows));
  for (uint64_t i = 0; i < all; i++) {
    bool there = i / block == (uint64_t)s->plan.rank || (i % block >= first && i % block < end);
    for (uint64_t c = 0; c < n; c++)
      near(rows[i * n + c], there ? entry(mode, i, c) : -1.0, 0.0, "exchanged", i, c);
  }
}

static void parts_arrive(const bench *s, amped_exchange *x, int mode) {
  uint64_t block = s->plan.modes[mode].rows.block_rows;
  uint64_t all = amped_plan_factor_rows(&s->plan, mode);
  const uint64_t ends[][2] = {
      {0, block}, {0, 0}, {block / 3, block / 3 * 2}, {block - 1, block}, {0, 1}};
  double *rows = doubles(all * (uint64_t)s->p->ncomps);
  for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
    fill(s, mode, rows);
    amped_exchange_part(x, mode, ends[i][0], ends[i][1]);
    arrived(s, mode, ends[i][0], ends[i][1], rows);
  }
  fill(s, mode, rows);
  for (uint64_t at = 0; at < block; at += amped_ceil_div(block, 3)) {
    uint64_t end = at + amped_ceil_div(block, 3);
    amped_exchange_part(x, mode, at, end < block ? end : block);
  }
  arrived(s, mode, 0, block, rows);
  fill(s, mode, rows);
  amped_exchange_rows(x, mode);
  arrived(s, mode, 0, block, rows);
  amped_free(rows);
}

static setup this_rank(void) {
  setup how = alone();
  how.rank = comm.rank;
  how.nranks = comm.nranks;
  how.options.threads = 1;
  how.options.local_rank = comm.local_rank;
  how.options.local_size = comm.local_size;
  how.options.share_gpus = true;
  return how;
}

/* `b` instead of the backend under test, over all modes. */
static void exchange_is_right(problem *p, const amped_backend *b) {
  bench s;
  amped_exchange *x = NULL;
  setup how = this_rank();
  bench_plan(&s, p, &how);
  s.w.backend = b;
  check_ok(amped_worker_prepare(&s.w, &s.plan));
  check_ok(amped_exchange_create(&comm, &s.w, &s.plan, &x));
  ck_assert_uint_gt(strlen(amped_exchange_describe(&comm, false)), 0);
  for (int m = 0; m < s.plan.order; m++) {
    uint64_t block = s.plan.modes[m].rows.block_rows;
    ck_assert_uint_eq(amped_exchange_bytes(x, block),
                      (amped_plan_factor_rows(&s.plan, m) - block) * s.plan.ld * s.plan.value_type);
    parts_arrive(&s, x, m);
  }
  amped_exchange_destroy(x);
  bench_close(&s);
}

/* On the factors themselves (each way, and as MPI likes), and through the stage (each way, and only
 * what is small). */
static void all_ways_are_right(problem *p) {
  amped_backend staged = device();
  bool aware = comm.cuda_aware;
  int ring_ranks = comm.ring_ranks;
  for (comm.way = AMPED_WAY_RAILS; amped_way_names[comm.way] != NULL; comm.way++) {
    if (!backend()->device_pointers || aware)
      exchange_is_right(p, backend());
    comm.cuda_aware = false;
    exchange_is_right(p, &staged);
    comm.cuda_aware = aware;
  }
  comm.way = AMPED_WAY_AUTO;
  if (!backend()->device_pointers || aware) {
    exchange_is_right(p, backend());
    (void)snprintf(comm.chosen, sizeof comm.chosen, "CHOSEN");
    exchange_is_right(p, backend());
    comm.chosen[0] = '\0';
  }
  comm.cuda_aware = false;
  exchange_is_right(p, &staged);
  comm.ring_ranks = 0;
  exchange_is_right(p, &staged);
  if (!backend()->device_pointers) {
    exchange_is_right(p, backend());
    comm.cuda_aware = true;
    exchange_is_right(p, &staged);
  }
  comm.ring_ranks = ring_ranks;
  comm.cuda_aware = aware;
}

/* --- row reduce --------------------------------------------------------------------------------*/

/* A result of long rows, as normal equations of a row are: own rows, then shared rows. */
typedef struct long_rows {
  const amped_plan *plan;
  uint64_t length;
  double *rows;
} long_rows;

static amped_status get_long(void *self, int mode, uint64_t row, uint64_t count, double *rows) {
  const long_rows *x = self;
  (void)mode;
  memcpy(rows, x->rows + row * x->length, count * x->length * sizeof *rows);
  return AMPED_OK;
}

static amped_status put_long(void *self, int mode, uint64_t row, uint64_t count,
                             const double *rows) {
  const long_rows *x = self;
  (void)mode;
  memcpy(x->rows + row * x->length, rows, count * x->length * sizeof *rows);
  return AMPED_OK;
}

/* Rank p's part of element c of the shared row with this number among the splits' rows. */
static double part_of(int p, uint64_t row, uint64_t c) {
  return (double)((uint64_t)(p + 1) * (row * 3 + c + 1));
}

/* Own rows of split iDps hold the parts of all ranks that share them; other rows hold -1. */
static void long_sums_are_right(const long_rows *x, int mode) {
  const amped_plan *plan = x->plan;
  const amped_mode_plan *m = &plan->modes[mode];
  for (uint64_t s = 0; s < m->copy.split_count; s++) {
    const uint64_t idp = m->copy.splits[s].idp;
    if (m->rows.owner[idp] != plan->rank)
      continue;
    for (uint64_t row = m->copy.splits[s].row; row < m->copy.splits[s + 1].row; row++)
      for (uint64_t c = 0; c < x->length; c++) {
        double want = 0.0;
        for (int p = 0; p < plan->nranks; p++)
          want += amped_plan_idp_nnz(m, p, idp) > 0 ? part_of(p, row, c) : 0.0;
        const uint64_t at = m->rows.position[idp] - (uint64_t)plan->rank * m->rows.block_rows +
                            row - m->copy.splits[s].row;
        near(x->rows[at * x->length + c], want, 0.0, "shared row", row, c);
      }
  }
}

static void reduce_long_rows(const amped_plan *plan, int mode, uint64_t length) {
  const amped_mode_plan *m = &plan->modes[mode];
  const uint64_t output_rows = m->copy.output_rows;
  long_rows x = {plan, length, doubles(output_rows * length)};
  const amped_result_rows rows = {.length = length, .get = get_long, .put = put_long, .self = &x};
  amped_row_reduce *reduce = NULL;
  uint64_t first = 0;
  uint64_t end = 0;
  amped_plan_shared_idps(m, plan->rank, &first, &end);
  for (uint64_t i = 0; i < output_rows; i++)
    for (uint64_t c = 0; c < length; c++)
      x.rows[i * length + c] =
          i < m->rows.block_rows
              ? -1.0
              : part_of(plan->rank, m->copy.splits[first].row + i - m->rows.block_rows, c);
  check_ok(amped_row_reduce_create(&comm, plan, &rows, &reduce));
  check_ok(amped_row_reduce_sum(reduce, mode));
  long_sums_are_right(&x, mode);
  amped_row_reduce_destroy(reduce);
  amped_free(x.rows);
}

START_TEST(shared_rows_of_any_length_add_up) {
  static const uint64_t sizes[] = {40, 3, 301};
  static const uint64_t lengths[] = {1, 5, 1190};
  uint64_t splits = 0;
  problem p;
  problem_create(&p, 3, sizes, 6000, 5, AMPED_F64);
  setup how = this_rank();
  how.placement = AMPED_PLACEMENT_EQUAL;
  bench s;
  bench_plan(&s, &p, &how);
  for (int m = 0; m < 3; m++)
    for (int i = 0; i < 3; i++) {
      splits += s.plan.modes[m].copy.split_count;
      reduce_long_rows(&s.plan, m, lengths[i]);
    }
  ck_assert(comm.nranks == 1 || splits > 0);
  bench_close(&s);
  problem_free(&p);
  check_no_leak();
}

/* As if MPI's counts were small: everything goes in pieces, one and two at a time, and no count is
 * larger. */
START_TEST(counts_that_mpi_does_not_hold_are_split) {
  static const uint64_t dims[] = {1001, 3, 64, 7};
  const amped_comm before = comm;
  problem p;
  problem_create(&p, 4, dims, 500, 5, AMPED_F32);
  for (uint64_t rows = 1; rows <= 64; rows *= 8) {
    split_nodes(rows == 64 ? ALTERNATING : ONE_NODE);
    comm.message_bytes = rows * 8 * sizeof(float); /* a row of 5 is padded to 8 */
    comm.most_count = 64;
    all_ways_are_right(&p);
    comm.piece_bytes = 1;
    all_ways_are_right(&p);
    comm.message_bytes = before.message_bytes;
    comm.most_count = before.most_count;
    comm.piece_bytes = before.piece_bytes;
  }
  comm.piece_bytes = 1;
  for (nodes how = ONE_NODE; how < NODES; how++) {
    split_nodes(how);
    all_ways_are_right(&p);
  }
  comm.piece_bytes = before.piece_bytes;
  split_nodes(ONE_NODE);
  problem_free(&p);
  check_no_leak();
}

START_TEST(broadcasts_of_any_length_arrive) {
  char text[101];
  const uint64_t before = comm.message_bytes;
  comm.message_bytes = 7;
  for (uint64_t n = 0; n <= 100; n += 10) {
    for (uint64_t i = 0; i < sizeof text; i++)
      text[i] = comm.rank == 0 && i < n ? (char)('a' + i % 26) : '-';
    amped_comm_broadcast(&comm, text, n);
    for (uint64_t i = 0; i < sizeof text; i++)
      ck_assert_int_eq(text[i], i < n ? (char)('a' + i % 26) : '-');
  }
  comm.message_bytes = before;
}

/* Whole numbers, whose sums are exact in any order; messages of all numbers, and of 3. */
START_TEST(large_sums_are_of_all_ranks) {
  double values[50];
  const amped_comm before = comm;
  for (nodes how = ONE_NODE; how < NODES; how++)
    for (amped_way way = AMPED_WAY_AUTO; way <= AMPED_WAY_ALLGATHERV; way++)
      for (uint64_t count = 0; count <= 50; count += count < 5 ? 1 : 45) {
        split_nodes(how);
        comm.way = way;
        comm.message_bytes = count % 2 == 0 ? before.message_bytes : 3 * sizeof *values;
        double all = 0.0;
        for (int p = 0; p < comm.nranks; p++)
          all += (double)(p * p + 1);
        for (uint64_t i = 0; i < 50; i++)
          values[i] = (double)(comm.rank * comm.rank + 1) * (double)(i + 1);
        amped_large_sum(&comm, values, count);
        for (uint64_t i = 0; i < 50; i++)
          ck_assert_double_eq(values[i], (i < count ? all : (double)(comm.rank * comm.rank + 1)) *
                                             (double)(i + 1));
      }
  comm.way = before.way;
  comm.message_bytes = before.message_bytes;
}

START_TEST(rows_reach_all_ranks) {
  static const uint64_t dims[] = {1001, 3, 64, 7};
  problem p;
  problem_create(&p, 4, dims, 500, 5, AMPED_F32);
  for (nodes how = ONE_NODE; how < NODES; how++) {
    split_nodes(how);
    all_ways_are_right(&p);
  }
  problem_free(&p);
  check_no_leak();
}

/* Several pieces through the stage, and on after them. */
START_TEST(many_rows_pass_through_the_stage) {
  static const uint64_t dims[] = {40021, 2, 3};
  amped_backend staged = device();
  bool aware = comm.cuda_aware;
  problem p;
  problem_create(&p, 3, dims, 100, 64, AMPED_F64);
  comm.cuda_aware = false;
  for (nodes how = ONE_NODE; how <= ALTERNATING; how++) {
    split_nodes(how);
    exchange_is_right(&p, &staged);
  }
  comm.cuda_aware = aware;
  problem_free(&p);
  check_no_leak();
}

/* --- link test ---------------------------------------------------------------------------------*/

static amped_link_rate measured(problem *p, const amped_backend *b) {
  bench s;
  amped_exchange *x = NULL;
  amped_link_rate rate;
  setup how = this_rank();
  bench_plan(&s, p, &how);
  s.w.backend = b;
  check_ok(amped_worker_prepare(&s.w, &s.plan));
  check_ok(amped_exchange_create(&comm, &s.w, &s.plan, &x));
  const amped_context parts = {&comm, &s.plan, &s.w, x};
  check_ok(amped_link_rate_measure(&parts, &rate));
  amped_exchange_destroy(x);
  bench_close(&s);
  return rate;
}

/* Blocks, in one piece each, are sent round the ring in nranks - 1 steps. */
static void link_is_told(bool network, double sec) {
  static const uint64_t dims[] = {48000, 2, 3};
  const uint64_t piece_bytes = comm.piece_bytes;
  amped_backend b = device();
  problem p;
  problem_create(&p, 3, dims, 100, 16, AMPED_F32);
  split_nodes(network ? A_NODE_EACH : ONE_NODE);
  comm.cuda_aware = true;
  comm.piece_bytes = UINT64_MAX;
  send_sec = sec;
  copy_sec = 1e-3;
  pair_sec = 4e-3;
  amped_link_rate rate = measured(&p, &b);
  comm.cuda_aware = false;
  comm.piece_bytes = piece_bytes;
  send_sec = copy_sec = pair_sec = 0.0;
  if (comm.nranks == 1) {
    ck_assert_uint_eq(rate.bytes, 0);
  } else {
    double part = (double)rate.bytes / comm.nranks;
    double link = network ? (double)AMPED_RAIL_BYTES / 4e-3 : part / 1e-3;
    ck_assert_uint_ge(rate.bytes, 64 * 48000);
    /* The clock adds up steps: eps a step, and some for the quotient. */
    near(rate.exchange, part / sec, 1e-9 * part / sec, "rate", 0, 0);
    near(rate.link, link, 1e-9 * link, "link", 0, 0);
  }
  ck_assert(amped_link_is_slow(&rate) == (comm.nranks > 1 && sec > (network ? 4e-2 : 1e-2)));
  problem_free(&p);
}

START_TEST(slow_links_are_told) {
  if (backend()->device_pointers)
    return; /* its copies take no time on this clock */
  for (int network = 0; network <= 1; network++) {
    link_is_told(network == 1, 1e-3);
    link_is_told(network == 1, 1.0);
  }
  check_no_leak();
}

/* Where memory is not the host's. */
START_TEST(the_link_to_a_device_is_told) {
  static const uint64_t dims[] = {480, 2, 3};
  problem p;
  problem_create(&p, 3, dims, 100, 16, AMPED_F32);
  split_nodes(ONE_NODE);
  bench s;
  setup how = this_rank();
  double rate = 1.0;
  bench_plan(&s, &p, &how);
  check_ok(amped_worker_prepare(&s.w, &s.plan));
  const amped_context parts = {&comm, &s.plan, &s.w, NULL};
  check_ok(amped_link_rate_device(&parts, &rate));
  if (backend()->device_pointers)
    ck_assert(rate > 0.0);
  else
    ck_assert(rate == 0.0);
  bench_close(&s);
  problem_free(&p);
  check_no_leak();
}

START_TEST(what_cannot_be_told_is_not_slow) {
  const amped_link_rate alone_rank = {.bytes = 0};
  const amped_link_rate no_link = {.bytes = UINT64_C(16) << 20, .exchange = 1.0};
  const amped_link_rate small = {.bytes = 1000, .exchange = 1.0, .link = 1e9};
  const amped_link_rate slow = {.bytes = UINT64_C(16) << 20, .exchange = 1e8, .link = 1.1e9};
  const amped_link_rate fair = {.bytes = UINT64_C(16) << 20, .exchange = 1e8, .link = 0.9e9};
  ck_assert(!amped_link_is_slow(&alone_rank));
  ck_assert(!amped_link_is_slow(&no_link));
  ck_assert(!amped_link_is_slow(&small));
  ck_assert(amped_link_is_slow(&slow));
  ck_assert(!amped_link_is_slow(&fair));
}

/* --- how MPI starts ----------------------------------------------------------------------------*/

static const char *given_scheme; /* before MPI started */
static int real_nodes;           /* before tests make nodes up */

START_TEST(senders_write_on_one_node_unless_the_user_chose) {
  const char *wanted = given_scheme;
  if (wanted == NULL && real_nodes == 1 && getenv("OMPI_COMM_WORLD_SIZE") != NULL)
    wanted = "put_zcopy";
  const char *scheme = getenv("UCX_RNDV_SCHEME");
  ck_assert_int_eq(scheme != NULL, wanted != NULL);
  if (scheme != NULL)
    ck_assert_str_eq(scheme, wanted);
}

/* --- spreads -----------------------------------------------------------------------------------*/

START_TEST(spreads_name_the_slowest) {
  double n = (double)comm.nranks;
  const double values[] = {(double)comm.rank, -(double)comm.rank, 5.0};
  amped_spread s[3];
  amped_comm_spreads(&comm, 3, values, s);
  const double want[3][3] = {
      {0.0, (n - 1.0) / 2.0, n - 1.0}, {1.0 - n, (1.0 - n) / 2.0, 0.0}, {5.0, 5.0, 5.0}};
  for (int i = 0; i < 3; i++) {
    near(s[i].min, want[i][0], 0.0, "least", 0, 0);
    near(s[i].mean, want[i][1], 0.0, "mean", 0, 0);
    near(s[i].max, want[i][2], 0.0, "most", 0, 0);
  }
  ck_assert_int_eq(s[0].max_rank, comm.nranks - 1);
  ck_assert_int_eq(s[1].max_rank, 0);
  ck_assert_int_eq(s[2].max_rank, 0);
}

int main(void) {
  const TTest *const tests[] = {ring_goes_node_by_node,
                                rows_reach_all_ranks,
                                shared_rows_of_any_length_add_up,
                                counts_that_mpi_does_not_hold_are_split,
                                broadcasts_of_any_length_arrive,
                                large_sums_are_of_all_ranks,
                                many_rows_pass_through_the_stage,
                                slow_links_are_told,
                                the_link_to_a_device_is_told,
                                what_cannot_be_told_is_not_slow,
                                senders_write_on_one_node_unless_the_user_chose,
                                spreads_name_the_slowest};
  const char *name = getenv("AMPED_TEST_BACKEND");
  const char *local_rank = getenv("OMPI_COMM_WORLD_LOCAL_RANK");
  const amped_backend *b = amped_backend_find(name != NULL ? name : "cpu");
  if (b != NULL)
    b->device->before_mpi(local_rank != NULL ? atoi(local_rank) : -1);
  /* MPI allows no forks: a failed assertion ends this rank's test and the script's time limit the
   * others. */
  (void)setenv("CK_FORK", "no", 1);
  given_scheme = getenv("UCX_RNDV_SCHEME");
  if (amped_comm_start(&comm) != AMPED_OK)
    return EXIT_FAILURE;
  real_nodes = comm.nodes;
  int result = testing_run("exchange", tests, sizeof tests / sizeof tests[0]);
  if (result != EXIT_SUCCESS)
    (void)MPI_Abort(comm.mpi, result);
  amped_comm_stop(&comm);
  return result;
}
