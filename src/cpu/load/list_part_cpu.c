/* List part: a rank's part of a list of nonzeros in host memory. Twin of
 * cuda/load/list_part_cuda.cu. */
#include <omp.h>
#include <string.h>

#include "backend/scatter.h"
#include "base/buffers.h"
#include "base/mem.h"
#include "cpu/device/device_cpu.h"

struct amped_list_part {
  amped_list_shape shape;
  int threads;
  uint64_t held;
  void *indices[AMPED_MAX_ORDER]; /* [capacity] in type amped_itype_for(dim) */
  void *values;                   /* [capacity] */
  /* The mode by which windows are distributed: */
  const amped_plan *plan;
  int mode;
  uint64_t splits;
  int *idp_receivers;      /* [iDps] rank that receives an iDp; for a split iDp nranks + its
                              number */
  uint64_t *thread_splits; /* [threads][splits] nonzeros of each split iDp in a thread's range */
  uint64_t *thread_counts; /* [threads][nranks] nonzeros for each rank in a thread's range */
  /* The current window: */
  uint64_t first, count;
  int *receivers;   /* [window] rank that receives a nonzero; before that, see find_receivers */
  uint32_t *places; /* [window] its place in `sent` */
  void *sent;       /* [window] one array of the window */
  void *arriving[AMPED_MAX_ORDER + 1]; /* [arriving] indices per mode, then values */
};

static bool deals(const amped_list_shape *shape) {
  return shape->nranks > 1;
}

/* --- memory ---------------------------------------------------------------------------------- */

static amped_buffers buffers(amped_list_part *p, const amped_list_shape *shape, int threads) {
  amped_buffers b = {.what = "the nonzeros of a list"};
  const uint64_t arriving = deals(shape) ? shape->arriving : 0;
  const uint64_t window = deals(shape) ? shape->window : 0;
  for (int m = 0; m < shape->order; m++) {
    const uint64_t bytes = amped_list_index_bytes(shape, m);
    AMPED_BUFFER_OF(&b, HOST, p->indices[m], shape->capacity, bytes);
    AMPED_BUFFER_OF(&b, HOST, p->arriving[m], arriving, bytes);
  }
  AMPED_BUFFER_OF(&b, HOST, p->values, shape->capacity, shape->value_type);
  AMPED_BUFFER_OF(&b, HOST, p->arriving[AMPED_MAX_ORDER], arriving, shape->value_type);
  AMPED_BUFFER(&b, HOST, p->receivers, window);
  AMPED_BUFFER(&b, HOST, p->places, window);
  AMPED_BUFFER_OF(&b, HOST, p->sent, window, sizeof(uint64_t));
  AMPED_BUFFER(&b, HOST, p->thread_counts,
               deals(shape) ? (uint64_t)shape->nranks * (uint64_t)threads : 0);
  return b;
}

static void require(const amped_device *device, const amped_list_shape *shape,
                    uint64_t *device_bytes, uint64_t *host_bytes) {
  *device_bytes = 0;
  *host_bytes = 0;
  amped_buffers_require(buffers(&(amped_list_part){0}, shape, device->threads), device_bytes,
                        host_bytes);
}

static void destroy(amped_list_part *p) {
  if (p == NULL)
    return;
  amped_buffers_free(buffers(p, &p->shape, 0));
  amped_free(p->idp_receivers);
  amped_free(p->thread_splits);
  amped_free(p);
}

static amped_status create(amped_device *device, const amped_list_shape *shape,
                           amped_list_part **out) {
  amped_list_part *p = NULL;
  *out = NULL;
  AMPED_TRY(amped_calloc(&p, 1, sizeof *p, "the nonzeros of a list"));
  p->shape = *shape;
  p->threads = device->threads;
  amped_status status = amped_buffers_allocate(buffers(p, &p->shape, p->threads));
  if (status == AMPED_OK)
    *out = p;
  else
    destroy(p);
  return status;
}

/* --- nonzeros -------------------------------------------------------------------------------- */

static char *element(void *array, uint64_t bytes, uint64_t i) {
  return (char *)array + i * bytes;
}

/* Both functions copy with all threads. */
static void copy_array(void *to, const void *from, uint64_t bytes) {
  const uint64_t piece = UINT64_C(1) << 20;
#pragma omp parallel for schedule(static)
  for (uint64_t at = 0; at < bytes; at += piece)
    memcpy((char *)to + at, (const char *)from + at, bytes - at < piece ? bytes - at : piece);
}

static void narrow_array(void *to, amped_itype to_type, uint64_t first, const void *from,
                         amped_itype from_type, uint64_t count) {
#pragma omp parallel for schedule(static)
  for (uint64_t k = 0; k < count; k++)
    amped_index_put(to, to_type, first + k, amped_index_get(from, from_type, k));
}

static amped_status append(amped_list_part *p, uint64_t count, void *const *indices,
                           const void *values) {
  const amped_list_shape *shape = &p->shape;
  for (int m = 0; m < shape->order; m++) {
    const amped_itype type = amped_itype_for(shape->dims[m]);
    if (shape->index_types[m] == type)
      copy_array(element(p->indices[m], type, p->held), indices[m], count * type);
    else
      narrow_array(p->indices[m], type, p->held, indices[m], shape->index_types[m], count);
  }
  copy_array(element(p->values, shape->value_type, p->held), values, count * shape->value_type);
  p->held += count;
  return AMPED_OK;
}

static void clear(amped_list_part *p) {
  p->held = 0;
}

static void view(amped_list_part *p, uint64_t first, uint64_t count, amped_nonzeros *out) {
  memset(out, 0, sizeof *out);
  out->count = count;
  for (int m = 0; m < p->shape.order; m++)
    out->indices[m] = element(p->indices[m], amped_list_index_bytes(&p->shape, m), first);
  out->values = element(p->values, p->shape.value_type, first);
  out->value_type = p->shape.value_type;
}

static amped_status fetch(amped_list_part *p, const void *from, uint64_t bytes, void *to) {
  (void)p;
  memcpy(to, from, bytes);
  return AMPED_OK;
}

/* --- counting -------------------------------------------------------------------------------- */

static void count_mode(const amped_list_part *p, int mode, uint64_t first, uint64_t count,
                       amped_partition *out) {
  const amped_itype type = amped_itype_for(p->shape.dims[mode]);
  for (uint64_t k = first; k < first + count; k++)
    out->idp_nnz[amped_index_get(p->indices[mode], type, k) / out->width]++;
}

static void add_squares(const amped_list_part *p, uint64_t first, uint64_t count,
                        amped_kahan *squares) {
  for (uint64_t k = first; k < first + count; k++) {
    long double value = (long double)amped_value_get(p->values, p->shape.value_type, k);
    amped_kahan_add(squares, value * value);
  }
}

/* One thread counts each array, so that threads share no sum. */
static amped_status count_window(amped_list_part *p, uint64_t first, uint64_t count,
                                 amped_list_counts *out) {
  const int order = p->shape.order;
#pragma omp parallel for schedule(dynamic, 1)
  for (int a = 0; a < order + 2; a++)
    if (a < order)
      count_mode(p, a, first, count, &out->partitions[a]);
    else if (a == order)
      add_squares(p, first, count, &out->squares);
    else
      amped_dictionary_search_add(&out->distinct, element(p->values, p->shape.value_type, first),
                                  p->shape.value_type, count);
  return AMPED_OK;
}

static uint64_t hash_of(const amped_list_part *p, uint64_t k, bool with_value) {
  const amped_list_shape *shape = &p->shape;
  uint64_t index[AMPED_MAX_ORDER];
  for (int m = 0; m < shape->order; m++)
    index[m] = amped_index_get(p->indices[m], amped_itype_for(shape->dims[m]), k);
  return amped_nonzero_hash(shape->order, index,
                            with_value ? amped_value_get(p->values, shape->value_type, k) : 0.0);
}

static amped_status add_hash(amped_list_part *p, uint64_t first, uint64_t count, uint64_t *hash) {
  uint64_t sum = 0;
#pragma omp parallel for schedule(static) reduction(+ : sum)
  for (uint64_t k = first; k < first + count; k++)
    sum += hash_of(p, k, true);
  *hash += sum;
  return AMPED_OK;
}

/* --- distribution to ranks -------------------------------------------------------------------- */

static amped_status distribute_by(amped_list_part *p, const amped_plan *plan, int mode) {
  static const char what[] = "the split iDps";
  const int nranks = p->shape.nranks;
  uint64_t of_threads = 0;
  p->plan = plan;
  p->mode = mode;
  p->splits = 0;
  if (mode == AMPED_BY_COORDINATE || !deals(&p->shape))
    return AMPED_OK;
  const amped_mode_plan *m = &plan->modes[mode];
  p->splits = m->copy.split_count;
  if (!amped_mul(p->splits, (uint64_t)p->threads, &of_threads))
    return amped_error(AMPED_FAILED, NULL, "too many split iDps: %" PRIu64, p->splits);
  amped_free(p->idp_receivers);
  amped_free(p->thread_splits);
  p->idp_receivers = NULL;
  p->thread_splits = NULL;
  AMPED_TRY(amped_alloc(&p->idp_receivers, m->rows.idp_count, sizeof *p->idp_receivers, what));
  AMPED_TRY(amped_alloc(&p->thread_splits, of_threads, sizeof *p->thread_splits, what));
  for (uint64_t i = 0; i < m->rows.idp_count; i++)
    p->idp_receivers[i] = m->rows.owner[i];
  for (uint64_t k = 0; k < m->copy.split_count; k++)
    p->idp_receivers[m->copy.splits[k].idp] = nranks + (int)k;
  return AMPED_OK;
}

/* Rank that receives nonzero k; if k is in a split iDp, nranks + the number of the split. */
static int receiver_of(const amped_list_part *p, uint64_t k) {
  if (p->mode == AMPED_BY_COORDINATE)
    return (int)(hash_of(p, k, false) % (uint64_t)p->shape.nranks);
  uint64_t index = amped_index_get(p->indices[p->mode], amped_itype_for(p->shape.dims[p->mode]), k);
  return p->idp_receivers[index / p->plan->modes[p->mode].rows.width];
}

static amped_status count_splits(amped_list_part *p, uint64_t first, uint64_t count,
                                 uint64_t *counts) {
  const int nranks = p->shape.nranks;
  const uint64_t splits = p->splits;
  if (splits == 0)
    return AMPED_OK;
#pragma omp parallel for schedule(static) reduction(+ : counts[:splits])
  for (uint64_t k = first; k < first + count; k++) {
    int receiver = receiver_of(p, k);
    if (receiver >= nranks)
      counts[receiver - nranks]++;
  }
  return AMPED_OK;
}

/* Distribution of a window. It is cut into one range per thread. Four steps follow; all except the
 * second run on all threads:
 *
 *   find_receivers   A nonzero of an iDp with one owner goes to that rank. A nonzero of a split iDp
 *                    goes by its number in the split, which is not known yet.
 *   number_threads   From the threads' counts: the number of each range's first nonzero in each
 *                    split.
 *   split_receivers  Every nonzero of a split iDp gets its number, and therefore its rank.
 *   place_nonzeros   Nonzeros for one rank become adjacent, in their order. */

/* Index in the window of the first nonzero of a thread's range. */
static uint64_t range_begin(const amped_list_part *p, int thread) {
  return p->count * (uint64_t)thread / (uint64_t)p->threads;
}

static uint64_t *counts_of(const amped_list_part *p, int thread) {
  return p->thread_counts + (uint64_t)thread * (uint64_t)p->shape.nranks;
}

static uint64_t *splits_of(const amped_list_part *p, int thread) {
  return p->thread_splits + (uint64_t)thread * p->splits;
}

/* Set receivers (see receiver_of), and each thread's counts per rank and per split. */
static void find_receivers(const amped_list_part *p) {
  const int nranks = p->shape.nranks;
#pragma omp parallel for schedule(static, 1) num_threads(p->threads)
  for (int thread = 0; thread < p->threads; thread++) {
    uint64_t *counts = counts_of(p, thread);
    uint64_t *splits = splits_of(p, thread);
    uint64_t end = range_begin(p, thread + 1);
    memset(counts, 0, (size_t)nranks * sizeof *counts);
    for (uint64_t k = 0; k < p->splits; k++)
      splits[k] = 0;
    for (uint64_t i = range_begin(p, thread); i < end; i++) {
      int receiver = receiver_of(p, p->first + i);
      p->receivers[i] = receiver;
      if (receiver < nranks)
        counts[receiver]++;
      else
        splits[receiver - nranks]++;
    }
  }
}

/* Replace the counts per split by the numbers of the threads' first nonzeros. */
static void number_threads(const amped_list_part *p, uint64_t *numbers) {
  for (uint64_t k = 0; k < p->splits; k++)
    for (int thread = 0; thread < p->threads; thread++) {
      uint64_t *own = &splits_of(p, thread)[k];
      uint64_t n = *own;
      *own = numbers[k];
      numbers[k] += n;
    }
}

static void split_receivers(const amped_list_part *p) {
  const int nranks = p->shape.nranks;
#pragma omp parallel for schedule(static, 1) num_threads(p->threads)
  for (int thread = 0; thread < p->threads; thread++) {
    uint64_t *counts = counts_of(p, thread);
    uint64_t *numbers = splits_of(p, thread);
    uint64_t end = range_begin(p, thread + 1);
    for (uint64_t i = range_begin(p, thread); i < end; i++) {
      if (p->receivers[i] < nranks)
        continue;
      uint64_t number = numbers[p->receivers[i] - nranks]++;
      p->receivers[i] = amped_plan_split_rank(&p->plan->modes[p->mode], nranks, number);
      counts[p->receivers[i]]++;
    }
  }
}

/* Set counts per rank, and places. Each thread's counts become its next places. */
static void place_nonzeros(const amped_list_part *p, uint64_t *counts) {
  uint64_t next = 0;
  for (int rank = 0; rank < p->shape.nranks; rank++) {
    uint64_t first = next;
    for (int thread = 0; thread < p->threads; thread++) {
      uint64_t *own = &counts_of(p, thread)[rank];
      uint64_t n = *own;
      *own = next;
      next += n;
    }
    counts[rank] = next - first;
  }
#pragma omp parallel for schedule(static, 1) num_threads(p->threads)
  for (int thread = 0; thread < p->threads; thread++) {
    uint64_t *places = counts_of(p, thread);
    uint64_t end = range_begin(p, thread + 1);
    for (uint64_t i = range_begin(p, thread); i < end; i++)
      p->places[i] = (uint32_t)places[p->receivers[i]]++;
  }
}

static amped_status deal(amped_list_part *p, uint64_t first, uint64_t count, uint64_t *numbers,
                         uint64_t *counts) {
  p->first = first;
  p->count = count;
  find_receivers(p);
  if (p->splits > 0) {
    number_threads(p, numbers);
    split_receivers(p);
  }
  place_nonzeros(p, counts);
  return AMPED_OK;
}

AMPED_DEFINE_SCATTER(uint32_t)

static amped_status distributed(amped_list_part *p, int array, void **out) {
  const bool values = array == AMPED_LIST_VALUES;
  const uint64_t bytes =
      values ? (uint64_t)p->shape.value_type : amped_list_index_bytes(&p->shape, array);
  scatter(p->sent, element(values ? p->values : p->indices[array], bytes, p->first), bytes,
          p->places, p->count);
  *out = p->sent;
  return AMPED_OK;
}

static void *arriving(amped_list_part *p, int array) {
  return p->arriving[array == AMPED_LIST_VALUES ? AMPED_MAX_ORDER : array];
}

const amped_list_ops amped_list_part_cpu = {
    .require = require,
    .create = create,
    .destroy = destroy,
    .append = append,
    .clear = clear,
    .count = count_window,
    .hash = add_hash,
    .view = view,
    .distribute_by = distribute_by,
    .count_splits = count_splits,
    .deal = deal,
    .distributed = distributed,
    .arriving = arriving,
    .fetch = fetch,
};
