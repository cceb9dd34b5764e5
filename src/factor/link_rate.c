/* Link rate: timing of exchanges, messages and copies. */
#include "factor/link_rate.h"

#include <string.h>

#include "base/timer.h"

#define TEST_BYTES (UINT64_C(16) << 20)

/* Shortest exchange that shows the rate; shorter ones measure the latency. */
#define TELLING_BYTES (UINT64_C(1) << 20)

#define SLOW_SHARE 0.1

/* Most repeats; the fastest counts. The first also opens connections. If each of the first two
 * takes PATIENCE_SEC, no other follows. */
#define TIMES 4
#define PATIENCE_SEC 0.02

typedef struct trial {
  const amped_context *context;
  int mode;
  uint64_t rows;  /* rows per rank */
  uint64_t bytes; /* bytes of a rank's rows */
  char *host;     /* host memory for the link test */
  amped_status status;
} trial;

static void exchange(trial *l) {
  AMPED_ALSO(l->status, amped_exchange_part(l->context->exchange, l->mode, 0, l->rows));
}

/* Copy own rows to the host. */
static void copy_out(trial *l) {
  const amped_plan *plan = l->context->plan;
  const amped_worker *worker = l->context->worker;
  const uint64_t first = (uint64_t)plan->rank * plan->modes[l->mode].rows.block_rows;
  const amped_host_copy copy = {
      .offset = first * amped_plan_row_bytes(plan), .bytes = l->bytes, .host = l->host};
  if (l->status == AMPED_OK)
    l->status = worker->backend->factors->stage(worker->factors, l->mode, &copy, 1);
}

/* Seconds of the slowest rank, minimum over the repeats. */
static double time_of(trial *l, void (*work)(trial *l)) {
  const amped_comm *comm = l->context->comm;
  double best = 0.0;
  for (int i = 0; i < TIMES && (i < 2 || best < PATIENCE_SEC); i++) {
    AMPED_MPI(comm, MPI_Barrier(comm->mpi));
    double began = amped_time();
    work(l);
    double seconds = amped_comm_spread(comm, amped_time() - began).max;
    best = i == 0 || seconds < best ? seconds : best;
  }
  return best;
}

static double rate_of(uint64_t bytes, double seconds) {
  return (double)bytes / (seconds > 1e-9 ? seconds : 1e-9);
}

/* Choose the rows: up to TEST_BYTES of the factor with the largest blocks. */
static void choose_rows(trial *l) {
  const amped_plan *plan = l->context->plan;
  uint64_t row_bytes = amped_plan_row_bytes(plan);
  for (int m = 1; m < plan->order; m++)
    if (plan->modes[m].rows.block_rows > plan->modes[l->mode].rows.block_rows)
      l->mode = m;
  l->rows = TEST_BYTES / (row_bytes * (uint64_t)plan->nranks);
  if (l->rows < 1)
    l->rows = 1;
  if (l->rows > plan->modes[l->mode].rows.block_rows)
    l->rows = plan->modes[l->mode].rows.block_rows;
  l->bytes = l->rows * row_bytes;
}

/* Measure the rate of the link, to compare with the exchange, with zeros in host memory. */
static amped_status measure_link(trial *l, amped_link_rate *out) {
  const amped_context *context = l->context;
  const amped_device_ops *device = context->worker->backend->device;
  amped_device *own = context->worker->device;
  const bool network = context->comm->nodes > 1;
  void *host = NULL;
  if (!network && !context->worker->backend->device_pointers)
    return AMPED_OK;
  const uint64_t bytes = network ? 2 * AMPED_RAIL_BYTES : l->bytes;
  amped_status status = amped_comm_agree(context->comm, device->host_alloc(own, bytes, &host));
  if (status == AMPED_OK) {
    memset(host, 0, bytes);
    l->host = host;
    if (network)
      amped_rail_rates_measure(context->comm, host, &out->rails);
    out->link = network ? out->rails.most : rate_of(l->bytes, time_of(l, copy_out));
    status = amped_comm_agree(context->comm, l->status);
  }
  if (host != NULL)
    device->host_free(own, host);
  return status;
}

amped_status amped_link_rate_measure(const amped_context *context, amped_link_rate *out) {
  trial l = {.context = context, .status = AMPED_OK};
  memset(out, 0, sizeof *out);
  if (context->comm->nranks == 1)
    return AMPED_OK;
  choose_rows(&l);
  out->bytes = l.bytes * (uint64_t)context->comm->nranks;
  out->exchange = rate_of(amped_exchange_bytes(context->exchange, l.rows), time_of(&l, exchange));
  return measure_link(&l, out);
}

amped_status amped_link_rate_device(const amped_context *context, double *rate) {
  const amped_worker *worker = context->worker;
  const uint64_t spare = amped_worker_spare(worker);
  *rate = 0.0;
  if (worker->backend->device->link_rate == NULL)
    return AMPED_OK;
  AMPED_MPI(context->comm, MPI_Barrier(context->comm->mpi));
  return amped_comm_agree(context->comm,
                          worker->backend->device->link_rate(worker->device, spare, rate));
}

bool amped_link_is_slow(const amped_link_rate *rate) {
  return rate->bytes >= TELLING_BYTES && rate->exchange < SLOW_SHARE * rate->link;
}
