/* List statistics: one counting pass over a coordinate list, and the sums over ranks. */
#include "load/list_stats.h"

#include <string.h>

#include "load/slab_reader.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/trace.h"

/* Counts of this rank; after join, of all ranks. */
typedef struct stats {
  amped_tensor_info *info;
  amped_list_source *source;
  amped_list_counts counts; /* its partitions are the info's */
} stats;

static amped_status check_shape(const amped_tensor_info *info, const char *path) {
  if (info->nnz == 0)
    return amped_error(AMPED_BAD_INPUT, path, "has no nonzeros; give a tensor that has some");
  for (int m = 0; m < info->order; m++)
    if (info->dims[m] == 0 || info->dims[m] > AMPED_MAX_DIM)
      return amped_error(AMPED_BAD_INPUT, path,
                         "mode %d has dimension %" PRIu64 "; dimensions are 1 to 2^63", m + 1,
                         info->dims[m]);
  return AMPED_OK;
}

static amped_status create(stats *s) {
  amped_tensor_info *info = s->info;
  for (int m = 0; m < info->order; m++) {
    amped_partition *p = &info->partitions[m];
    p->dim = info->dims[m];
    p->width = amped_partition_width(p->dim);
    p->idp_count = amped_ceil_div(p->dim, p->width);
    AMPED_TRY(amped_calloc(&p->idp_nnz, p->idp_count, sizeof *p->idp_nnz, "the iDp tables"));
  }
  memcpy(s->counts.partitions, info->partitions, sizeof s->counts.partitions);
  return amped_dictionary_search_begin(&s->counts.distinct);
}

/* --- a slab ---------------------------------------------------------------------------------- */

static uint64_t hash_of(const amped_tensor_info *info, const amped_slab *slab) {
  uint64_t hash = 0;
#pragma omp parallel for schedule(static) reduction(+ : hash)
  for (uint64_t i = 0; i < slab->count; i++) {
    uint64_t index[AMPED_MAX_ORDER];
    for (int m = 0; m < info->order; m++)
      index[m] = amped_index_get(slab->indices[m], info->index_types[m], i);
    hash +=
        amped_nonzero_hash(info->order, index, amped_value_get(slab->values, info->value_type, i));
  }
  return hash;
}

/* Hashes the first slab, the one that rank 0 counts. */
static amped_status hash_first(const amped_tensor_info *info, amped_input *input, uint64_t *hash) {
  amped_slab_reader *reader = NULL;
  const amped_slab *slab = NULL;
  bool *wanted = NULL;
  amped_status status = AMPED_OK;
  AMPED_TRY(amped_calloc(&wanted, amped_ceil_div(info->nnz, AMPED_SLAB_NNZ), sizeof *wanted,
                         "the list of slabs"));
  wanted[0] = true;
  AMPED_GO(done, amped_slab_reader_open(input, AMPED_INPUT_LIST, wanted, NULL, &reader));
  AMPED_GO(done, amped_slab_reader_next(reader, &slab));
  *hash = slab != NULL ? hash_of(info, slab) : 0;
done:
  amped_slab_reader_close(reader);
  amped_free(wanted);
  return status;
}

/* Collective. Compares the first slab of all readers. amped_input_open compares shapes and hashes,
 * but this file stores no hash. */
static amped_status compare_first(const amped_comm *comm, amped_input *input,
                                  const amped_tensor_info *info) {
  uint64_t own = 0;
  AMPED_TRY(amped_comm_agree(comm, hash_first(info, input, &own)));
  uint64_t hash = own;
  amped_comm_broadcast(comm, &hash, sizeof hash);
  return amped_comm_agree(comm, hash == own ? AMPED_OK : amped_input_differs(comm, input));
}

/* Counts a window of this rank's list part. */
static amped_status count_window(const amped_worker *worker, stats *s, uint64_t first,
                                 uint64_t count) {
  const amped_list_ops *lists = worker->backend->lists;
  amped_list_part *part = amped_list_source_part(s->source);
  amped_trace_begin(AMPED_PHASE_COUNT, AMPED_NO_NUMBER);
  amped_status status = lists->count(part, first, count, &s->counts);
  if (status == AMPED_OK)
    status = lists->hash(part, first, count, &s->info->hash);
  amped_trace_end();
  return status;
}

/* Collective: one pass over the list. A held list is counted as a whole after the pass. The status
 * is this rank's own. */
static amped_status count_own(const amped_worker *worker, stats *s) {
  const bool held = amped_list_source_held(s->source);
  const uint64_t turns = amped_list_source_turns(s->source);
  uint64_t own = 0;
  amped_status status = create(s);
  amped_status begun = amped_list_source_begin(s->source);
  status = status == AMPED_OK ? begun : status;
  for (uint64_t i = 0; i < turns; i++) {
    uint64_t first = 0;
    uint64_t count = 0;
    amped_status read = amped_list_source_next(s->source, &first, &count);
    status = status == AMPED_OK ? read : status;
    own += count;
    if (status == AMPED_OK && count > 0 && !held)
      status = count_window(worker, s, first, count);
    amped_progress_update((uint64_t)((double)s->info->nnz * (double)(i + 1) / (double)turns));
  }
  amped_status ended = amped_list_source_end(s->source);
  status = status == AMPED_OK ? ended : status;
  return status == AMPED_OK && held && own > 0 ? count_window(worker, s, 0, own) : status;
}

/* --- all ranks ------------------------------------------------------------------------------- */

amped_status amped_list_stats_sum(const amped_comm *comm, const amped_kahan *mine, double *out) {
  amped_kahan *all = NULL;
  amped_kahan total = {0.0L, 0.0L};
  amped_status status =
      amped_alloc(&all, (uint64_t)comm->nranks, sizeof *all, "the sums of all ranks");
  status = amped_comm_agree(comm, status);
  if (status == AMPED_OK) {
    const int bytes = (int)sizeof *all;
    AMPED_MPI(comm, MPI_Allgather(mine, bytes, MPI_BYTE, all, bytes, MPI_BYTE, comm->mpi));
    for (int p = 0; p < comm->nranks; p++)
      amped_kahan_join(&total, &all[p]);
    *out = amped_kahan_value(&total);
  }
  amped_free(all);
  return status;
}

/* Collective: (*all)[0 .. *total) = the values of all ranks, in rank order. The caller frees
 * *all. */
static amped_status gather_values(const amped_comm *comm, const amped_dictionary *mine,
                                  double **all, uint64_t *total) {
  int *counts = NULL;
  int *places = NULL;
  int count = amped_comm_count(comm, mine->count);
  uint64_t nranks = (uint64_t)comm->nranks;
  amped_status status = AMPED_OK;
  *total = mine->count;
  amped_comm_sum_u64(comm, total, 1);
  AMPED_GO(agree, amped_alloc(&counts, nranks, sizeof *counts, "the distinct values"));
  AMPED_GO(agree, amped_alloc(&places, nranks, sizeof *places, "the distinct values"));
  AMPED_GO(agree, amped_alloc(all, *total, sizeof **all, "the distinct values"));
agree:
  status = amped_comm_agree(comm, status);
  if (status == AMPED_OK) {
    uint64_t place = 0;
    AMPED_MPI(comm, MPI_Allgather(&count, 1, MPI_INT, counts, 1, MPI_INT, comm->mpi));
    for (int p = 0; p < comm->nranks; p++) {
      places[p] = amped_comm_count(comm, place);
      place += (uint64_t)counts[p];
    }
    AMPED_MPI(comm, MPI_Allgatherv(mine->values, count, MPI_DOUBLE, *all, counts, places,
                                   MPI_DOUBLE, comm->mpi));
  }
  amped_free(places);
  amped_free(counts);
  return status;
}

/* Collective: joins the distinct values of all ranks, if they are few enough. */
static amped_status join_distinct(const amped_comm *comm, stats *s) {
  amped_dictionary mine = {0, NULL};
  double *all = NULL;
  uint64_t total = 0;
  uint64_t too_many = s->counts.distinct.too_many ? 1 : 0;
  amped_comm_sum_u64(comm, &too_many, 1);
  if (too_many > 0)
    return AMPED_OK;
  amped_status status =
      amped_comm_agree(comm, amped_dictionary_search_end(&s->counts.distinct, &mine));
  if (status == AMPED_OK)
    status = gather_values(comm, &mine, &all, &total);
  if (status == AMPED_OK)
    status = amped_comm_agree(comm, amped_dictionary_find(&s->info->dictionary, all, total));
  amped_free(all);
  amped_dictionary_free(&mine);
  return status;
}

/* Collective. Compares the file's stored hash with the hash of its nonzeros. */
static amped_status check_hash(const amped_comm *comm, amped_input *input, const stats *s) {
  amped_status status = AMPED_OK;
  if (s->info->hash != amped_input_info(input)->hash)
    status = amped_error(AMPED_BAD_INPUT, amped_input_path(input),
                         "its nonzeros disagree with the tensor's hash (damaged data); convert the "
                         "tensor again");
  return amped_comm_agree(comm, status);
}

static amped_status join(const amped_comm *comm, amped_input *input, stats *s) {
  amped_tensor_info *info = s->info;
  for (int m = 0; m < info->order; m++) {
    amped_partition *p = &info->partitions[m];
    amped_comm_sum_u64(comm, p->idp_nnz, p->idp_count);
  }
  amped_comm_sum_u64(comm, &info->hash, 1);
  if (info->has_hash)
    AMPED_TRY(check_hash(comm, input, s));
  else
    AMPED_TRY(amped_list_stats_sum(comm, &s->counts.squares, &info->norm_squared));
  return join_distinct(comm, s);
}

amped_status amped_list_stats_take(const amped_comm *comm, amped_input *input, bool parallel,
                                   const amped_worker *worker, amped_list_source *source,
                                   amped_tensor_info *info) {
  stats s = {.info = info, .source = source};
  *info = *amped_input_info(input);
  info->has_copies = true; /* info gets the tables of a file with copies */
  info->hash = 0;
  memset(info->partitions, 0, sizeof info->partitions);
  memset(&info->dictionary, 0, sizeof info->dictionary);
  AMPED_TRY(amped_comm_agree(comm, check_shape(info, amped_input_path(input))));
  if (parallel && comm->nranks > 1 && !info->has_hash)
    AMPED_TRY(compare_first(comm, input, info));
  amped_progress_begin("counting", info->nnz, "nonzeros");
  amped_status status = amped_comm_agree(comm, count_own(worker, &s));
  amped_progress_end();
  if (status == AMPED_OK)
    status = join(comm, input, &s);
  amped_dictionary_search_drop(&s.counts.distinct);
  return status;
}
