#include "load/input.h"

#include <math.h>
#include <string.h>

#include "text/io.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/system_memory.h"

struct amped_input {
  const char *path;
  amped_tensor_info info;
  bool info_owned;         /* the partitions are this struct's own, not the file's */
  amped_tensor_file *file; /* or, where NULL, */
  amped_sptensor tensor;   /* in memory, sorted by sorted_mode */
  int sorted_mode;
  uint64_t free_bytes; /* of memory when it was opened; 0: not known */
};

static amped_status sort_by(amped_input *s, int mode) {
  if (s->sorted_mode == mode)
    return AMPED_OK;
  AMPED_TRY(amped_sptensor_sort(&s->tensor, mode));
  s->sorted_mode = mode;
  return AMPED_OK;
}

static amped_status describe_memory(amped_input *s) {
  amped_sptensor *t = &s->tensor;
  s->info_owned = true;
  s->info.order = t->order;
  s->info.nnz = t->nnz;
  s->info.value_type = AMPED_F64;
  s->info.has_copies = true;
  s->info.norm_squared = amped_sptensor_norm_squared(t);
  s->info.hash = amped_sptensor_hash(t);
  AMPED_TRY(amped_dictionary_find(&s->info.dictionary, t->values, t->nnz));
  for (int m = t->order - 1; m >= 0; m--) {
    s->info.dims[m] = t->dims[m];
    s->info.index_types[m] = AMPED_U64;
    AMPED_TRY(sort_by(s, m));
    AMPED_TRY(amped_partition_create(&s->info.partitions[m], t->dims[m], t->indices[m], t->nnz));
  }
  return AMPED_OK;
}

/* Called where memory holds no more nonzeros: better than to be killed by the system. */
static amped_status refuse_more(void *context, amped_sptensor *t, double part) {
  const amped_input *s = context;
  char have[32];
  (void)part;
  return amped_error(AMPED_FAILED, s->path,
                     "has more than %" PRIu64 " nonzeros, for which the %s of memory that rank 0 "
                     "may take do not suffice; make a tensor file of it with amped_mpi convert, "
                     "which sorts on disk",
                     t->nnz, amped_format_bytes(have, s->free_bytes));
}

static amped_status load_into_memory(amped_input *s) {
  const amped_overflow overflow = {.memory = s->free_bytes, .take = refuse_more, .context = s};
  amped_read_options options = {.index_base = AMPED_BASE_AUTO,
                                .overflow = s->free_bytes > 0 ? &overflow : NULL};
  uint64_t found = 0;
  amped_say("%s has no ordered copies: ordering it in memory (amped_mpi convert does that once)",
            s->path);
  AMPED_TRY(amped_io_read(s->path, &options, &s->tensor));
  s->sorted_mode = -1;
  AMPED_TRY(sort_by(s, 0));
  AMPED_TRY(amped_sptensor_merge(&s->tensor, AMPED_DUPLICATES_SUM, s->path, &found));
  if (found > 0)
    amped_warn("%s: %" PRIu64 " duplicate nonzeros were summed", s->path, found);
  return describe_memory(s);
}

static amped_status open_here(amped_input *s, bool parallel) {
  amped_format format = AMPED_FORMAT_HDF5;
  AMPED_TRY(amped_io_format(s->path, &format));
  if (format == AMPED_FORMAT_HDF5) {
    AMPED_TRY(amped_tensor_file_open(s->path, &s->file));
    s->info = *amped_tensor_file_info(s->file);
    return AMPED_OK;
  }
  if (parallel)
    return amped_error(AMPED_USAGE, s->path,
                       "--read=parallel needs an HDF5 file; make one with amped_mpi convert");
  return load_into_memory(s);
}

/* Give the ranks that did not read what the tables say. Collective. */
static amped_status share_info(const amped_comm *comm, amped_input *s, bool have) {
  amped_status status = AMPED_OK;
  amped_tensor_info shared = s->info;
  amped_comm_broadcast(comm, &shared, sizeof shared);
  if (!have) {
    s->info = shared;
    s->info_owned = true;
    for (int m = 0; m < AMPED_MAX_ORDER; m++)
      s->info.partitions[m].idp_nnz = NULL;
    amped_dictionary *d = &s->info.dictionary;
    d->values = NULL;
    status = amped_alloc(&d->values, d->count, sizeof *d->values, "the dictionary of values");
    for (int m = 0; m < s->info.order && status == AMPED_OK; m++) {
      amped_partition *p = &s->info.partitions[m];
      status = amped_alloc(&p->idp_nnz, p->idp_count, sizeof *p->idp_nnz, "the iDp table");
    }
  }
  AMPED_TRY(amped_comm_agree(comm, status));
  amped_dictionary *d = &s->info.dictionary;
  amped_comm_broadcast(comm, d->values, d->count * sizeof *d->values);
  for (int m = 0; m < s->info.order; m++) {
    amped_partition *p = &s->info.partitions[m];
    amped_comm_broadcast(comm, p->idp_nnz, p->idp_count * sizeof *p->idp_nnz);
  }
  return AMPED_OK;
}

amped_status amped_input_differs(const amped_comm *comm, const amped_input *s) {
  return amped_error(AMPED_BAD_INPUT, s->path,
                     "rank %d sees another file than rank 0; put it on a shared file system, or "
                     "leave --read=parallel out",
                     comm->rank);
}

/* Of the iDp tables, from which ranks know what the others send them. */
static uint64_t hash_tables(const amped_tensor_info *info) {
  uint64_t hash = 0;
  for (int m = 0; m < info->order; m++)
    for (uint64_t i = 0; i < info->partitions[m].idp_count; i++)
      hash = amped_hash_index(hash, info->partitions[m].idp_nnz[i]);
  return hash;
}

/* Every rank opened the file under its own name: it must be rank 0's. Collective. */
static amped_status compare_info(const amped_comm *comm, const amped_input *s) {
  amped_tensor_info first = s->info;
  uint64_t tables = s->info.has_copies ? hash_tables(&s->info) : 0;
  uint64_t first_tables = tables;
  amped_comm_broadcast(comm, &first, sizeof first);
  amped_comm_broadcast(comm, &first_tables, sizeof first_tables);
  bool same = first.order == s->info.order && first.nnz == s->info.nnz &&
              first.value_type == s->info.value_type && first.has_copies == s->info.has_copies &&
              first.has_hash == s->info.has_hash && first.hash == s->info.hash &&
              first.dictionary.count == s->info.dictionary.count && first_tables == tables;
  for (int m = 0; same && m < first.order; m++)
    same = first.dims[m] == s->info.dims[m] && first.index_types[m] == s->info.index_types[m] &&
           first.partitions[m].width == s->info.partitions[m].width;
  return same ? AMPED_OK : amped_input_differs(comm, s);
}

amped_status amped_input_open(const amped_comm *comm, const char *path, bool parallel,
                              amped_input **out) {
  amped_input *s = NULL;
  bool reads = parallel || comm->rank == 0;
  amped_status status = amped_calloc(&s, 1, sizeof *s, "the input");
  *out = NULL;
  if (status == AMPED_OK) {
    s->path = path;
    s->sorted_mode = -1;
    s->free_bytes = amped_mem_available() / 4 * 3; /* the rest for buffers */
    if (reads)
      status = open_here(s, parallel);
  }
  status = amped_comm_agree(comm, status);
  if (status == AMPED_OK)
    status = parallel ? amped_comm_agree(comm, compare_info(comm, s)) : share_info(comm, s, reads);
  if (status != AMPED_OK) {
    amped_input_close(s);
    return status;
  }
  *out = s;
  return AMPED_OK;
}

void amped_input_close(amped_input *s) {
  if (s == NULL)
    return;
  if (s->info_owned)
    amped_tensor_info_free(&s->info);
  amped_tensor_file_close(s->file);
  amped_sptensor_free(&s->tensor);
  amped_free(s);
}

const char *amped_input_path(const amped_input *s) {
  return s->path;
}

const amped_tensor_info *amped_input_info(const amped_input *s) {
  return &s->info;
}

amped_status amped_input_read(amped_input *s, int mode, uint64_t first, uint64_t count,
                              void *const *indices, void *values) {
  if (s->file != NULL)
    return amped_tensor_file_read(s->file, mode, first, count, indices, values);
  AMPED_TRY(sort_by(s, mode));
  for (int m = 0; m < s->tensor.order; m++)
    memcpy(indices[m], s->tensor.indices[m] + first, count * sizeof(uint64_t));
  memcpy(values, s->tensor.values + first, count * sizeof(double));
  return AMPED_OK;
}

amped_status amped_input_labels(amped_input *s, int mode, amped_labels *out) {
  memset(out, 0, sizeof *out);
  if (s->file != NULL)
    return amped_tensor_file_labels(s->file, mode, out);
  *out = s->tensor.labels[mode]; /* handed over */
  memset(&s->tensor.labels[mode], 0, sizeof *out);
  return AMPED_OK;
}
