/* Copy orders: a sorting thread, one mode ahead of the caller. */
#include "tensor/copy_orders.h"

#include <omp.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/mem.h"

/* Least nonzeros for sorting the next order in a background thread. With fewer nonzeros, an order
 * is sorted when it is requested. */
#define WORTH_THREAD (UINT64_C(1) << 20)

struct amped_copy_orders {
  const amped_sptensor *t;
  int mode; /* mode of the next order */
  /* The last block holds the order given to the caller; the others are for the search. */
  uint64_t *blocks[3];
  amped_order order;
  amped_status status;
  int threads;
  pthread_t thread;
  bool running;
  atomic_bool sorting;
};

_Static_assert(AMPED_COPY_ORDER_BYTES == 3 * sizeof(uint64_t), "three blocks");

/* Threads of the caller's team and of the sorting team, which work at the same time. One core is
 * left to the thread that writes the caller's buffers. */
static int caller_threads(int threads) {
  return threads > 1 ? threads / 2 : 1;
}

static int sorter_threads(int threads) {
  return threads > 2 ? (threads - 1) / 2 : 1;
}

static void find(amped_copy_orders *o) {
  o->status = amped_sptensor_order(o->t, o->mode, o->blocks[0], o->blocks[1], &o->order);
}

static void *find_behind(void *argument) {
  amped_copy_orders *o = argument;
  omp_set_num_threads(sorter_threads(o->threads));
  find(o);
  atomic_store(&o->sorting, false);
  return NULL;
}

static amped_status start(amped_copy_orders *o) {
  if (o->mode == o->t->order || o->t->nnz < WORTH_THREAD)
    return AMPED_OK;
  atomic_store(&o->sorting, true);
  const int failed = pthread_create(&o->thread, NULL, find_behind, o);
  o->running = failed == 0;
  if (o->running)
    return AMPED_OK;
  atomic_store(&o->sorting, false);
  return amped_error_errno(AMPED_FAILED, failed, NULL,
                           "no thread for sorting; allow more threads (ulimit -u)");
}

static void wait(amped_copy_orders *o) {
  if (o->running)
    (void)pthread_join(o->thread, NULL);
  o->running = false;
}

amped_status amped_copy_orders_begin(const amped_sptensor *t, amped_copy_orders **out) {
  amped_copy_orders *o = NULL;
  amped_status status = AMPED_OK;
  *out = NULL;
  AMPED_TRY(amped_calloc(&o, 1, sizeof *o, "the order of nonzeros"));
  o->t = t;
  o->mode = 1;
  o->threads = omp_get_max_threads();
  for (int i = 0; i < 3; i++)
    AMPED_GO(fail, amped_alloc(&o->blocks[i], t->nnz, sizeof *o->blocks[i], "sorting nonzeros"));
  AMPED_GO(fail, start(o));
  *out = o;
  return AMPED_OK;
fail:
  amped_copy_orders_end(o);
  return status;
}

amped_status amped_copy_orders_next(amped_copy_orders *o, amped_order *out) {
  if (o->running)
    wait(o);
  else
    find(o);
  AMPED_TRY(o->status);
  const int found = o->order.entries == o->blocks[0] ? 0 : 1;
  uint64_t *block = o->blocks[found];
  o->blocks[found] = o->blocks[2];
  o->blocks[2] = block;
  *out = o->order;
  o->mode++;
  return start(o);
}

void amped_copy_orders_share(amped_copy_orders *o) {
  omp_set_num_threads(atomic_load(&o->sorting) ? caller_threads(o->threads) : o->threads);
}

void amped_copy_orders_end(amped_copy_orders *o) {
  if (o == NULL)
    return;
  wait(o);
  omp_set_num_threads(o->threads);
  for (int i = 0; i < 3; i++)
    amped_free(o->blocks[i]);
  amped_free(o);
}
