/* Input: opening, describing and reading the file or list of a tensor. */
#include "load/input.h"

#include <math.h>
#include <string.h>

#include "text/io.h"
#include "base/log.h"
#include "load/dense_list.h"
#include "base/mem.h"
#include "base/system_memory.h"
#include "tensor/repeats.h"

struct amped_input {
  const char *path;
  amped_tensor_info info;
  bool info_owned;         /* the partitions are this struct's own, not the file's */
  amped_tensor_file *file; /* NULL: tensor or part is used */
  amped_sptensor tensor;   /* list in memory, if there is no file and no part */
  amped_input_part part;
  uint64_t *counts; /* [nranks] nonzeros of all parts; NULL: not an input in parts */
  amped_duplicates rule;
  bool watches_negative;
  double negative; /* sum of squares of negative values */
};

void amped_input_watch_negative(amped_input *input, bool on) {
  input->watches_negative = on;
}

void amped_input_count_values(amped_input *input, amped_vtype type, uint64_t count,
                              const void *values) {
  double sum = 0.0;
  if (!input->watches_negative)
    return;
#pragma omp parallel for schedule(static) reduction(+ : sum)
  for (uint64_t i = 0; i < count; i++) {
    const double x = fmin(0.0, amped_value_get(values, type, i));
    sum += x * x;
  }
  input->negative += sum;
}

double amped_input_negative(const amped_input *input) {
  return input->negative;
}

/* Describes a list in memory, in file order or sorted. */
static void describe_memory(amped_input *input) {
  const amped_sptensor *t = &input->tensor;
  input->info.order = t->order;
  input->info.nnz = t->nnz;
  input->info.value_type = AMPED_F64;
  input->info.is_merged = t->duplicates != AMPED_DUPLICATES_KEEP;
  input->info.duplicates = t->duplicates;
  for (int m = 0; m < t->order; m++) {
    input->info.dims[m] = t->dims[m];
    input->info.index_types[m] = amped_itype_for(t->dims[m]);
  }
}

/* The file that is being read into memory. */
typedef struct reading {
  const char *path;
  bool is_dense;
  uint64_t free_bytes; /* free memory */
} reading;

/* Is the input a dense tensor? An HDF5 file must have been probed. */
static amped_status find_dense(const char *path, const amped_read_options *read, bool *is_dense) {
  *is_dense = false;
  return read->format == AMPED_READ_AUTO ? amped_dense_source_is(path, read->dataset, is_dense)
                                         : AMPED_OK;
}

/* Overflow handler: reports an error before the system kills the process. */
static amped_status refuse_more(void *context, amped_sptensor *t, double fraction) {
  const reading *r = context;
  char have[32];
  (void)fraction;
  return amped_error(AMPED_FAILED, r->path,
                     "has more than %" PRIu64
                     " nonzeros, too many for the %s of memory that rank 0 may use; make a tensor "
                     "file of it with amped_mpi convert%s, which sorts on disk",
                     t->nnz, amped_format_bytes(have, r->free_bytes),
                     r->is_dense ? " --sparse --nan=missing" : "");
}

/* Merges repeated coordinates. `counts`: every row of a table counts 1, so that merged values are
 * numbers of equal rows. `advises`: a warning of sums names other rules. */
static amped_status treat_duplicates(const char *path, amped_duplicates policy, bool counts,
                                     bool advises, amped_sptensor *t) {
  uint64_t found = 0;
  if (amped_sptensor_may_repeat(t)) {
    AMPED_TRY(amped_sptensor_sort(t, 0));
    AMPED_TRY(amped_sptensor_merge(t, policy, path, &found));
  }
  t->duplicates = amped_duplicates_after(t->duplicates, policy, found);
  if (found > 0 && counts && policy == AMPED_DUPLICATES_SUM)
    amped_note("%s: %" PRIu64 " rows repeat earlier rows and are added to their counts", path,
               found);
  else if (found > 0)
    amped_warn("%s: %" PRIu64 " duplicate%s of coordinates; %s%s", path, found,
               found == 1 ? "" : "s", amped_duplicates_deed(policy),
               policy == AMPED_DUPLICATES_SUM && advises
                   ? "; for ratings and measurements give --duplicates=mean, or last"
                   : "");
  return AMPED_OK;
}

amped_status amped_input_read_list(const char *path, const amped_read_options *read,
                                   amped_sptensor *out) {
  reading r = {.path = path, .free_bytes = amped_mem_available() / 4 * 3}; /* rest: buffers */
  const amped_overflow overflow = {.memory = r.free_bytes, .take = refuse_more, .context = &r};
  amped_read_options options = *read;
  amped_format format = AMPED_FORMAT_HDF5;
  memset(out, 0, sizeof *out);
  options.overflow = r.free_bytes > 0 ? &overflow : NULL;
  AMPED_TRY(amped_io_input_format(path, read, &format));
  AMPED_TRY(find_dense(path, read, &r.is_dense));
  if (r.is_dense)
    return amped_dense_list_load(path, read->dataset, read->axes, options.overflow, out);
  AMPED_TRY(amped_axes_refuse(read->axes, path));
  amped_status status = amped_io_read(path, &options, out);
  if (status == AMPED_OK && format != AMPED_FORMAT_HDF5 && out->nnz > 0)
    status = treat_duplicates(path, amped_read_duplicates(read),
                              format == AMPED_FORMAT_TABLE && read->value == NULL &&
                                  !read->reads_weights,
                              !read->are_weights, out);
  if (status != AMPED_OK)
    amped_sptensor_free(out);
  return status;
}

/* Refuse what does not apply to a dense tensor. */
static amped_status check_dense(const char *path, const amped_read_options *read, bool parallel) {
  if (read->duplicates > AMPED_DUPLICATES_SUM)
    return amped_error(AMPED_USAGE, path,
                       "is a dense tensor, whose cells do not repeat; leave out --duplicates");
  if (parallel)
    return amped_error(AMPED_USAGE, path,
                       "is a dense tensor, whose observed cells rank 0 reads; leave out "
                       "--read=parallel, or make a list with amped_mpi convert --sparse "
                       "--nan=missing");
  return AMPED_OK;
}

static amped_status open_here(amped_input *input, const amped_read_options *read, bool parallel) {
  amped_format format = AMPED_FORMAT_HDF5;
  bool is_dense = false;
  AMPED_TRY(amped_io_input_format(input->path, read, &format));
  AMPED_TRY(amped_io_check(input->path, format, read));
  AMPED_TRY(find_dense(input->path, read, &is_dense));
  AMPED_TRY(is_dense ? check_dense(input->path, read, parallel)
                     : amped_axes_refuse(read->axes, input->path));
  input->rule = amped_read_duplicates(read);
  if (format == AMPED_FORMAT_HDF5 && !is_dense) {
    if (read->duplicates > AMPED_DUPLICATES_SUM)
      return amped_error(AMPED_USAGE, input->path,
                         "is read without a search for repeated coordinates; give --duplicates to "
                         "amped_mpi convert, which makes a tensor file");
    AMPED_TRY(amped_tensor_file_open(input->path, &input->file));
    AMPED_TRY(amped_tensor_file_tables(input->file));
    input->info = *amped_tensor_file_info(input->file);
    if (input->info.duplicates >= AMPED_DUPLICATES_SUM)
      input->rule = input->info.duplicates;
    return AMPED_OK;
  }
  if (parallel)
    return amped_error(AMPED_USAGE, input->path,
                       "--read=parallel needs an HDF5 file; make one with amped_mpi convert");
  AMPED_TRY(amped_input_read_list(input->path, read, &input->tensor));
  describe_memory(input);
  return AMPED_OK;
}

/* Collective: copies info and tables to ranks that do not read. */
static amped_status broadcast_info(const amped_comm *comm, amped_input *input, bool have) {
  amped_status status = AMPED_OK;
  amped_tensor_info shared = input->info;
  amped_comm_broadcast(comm, &shared, sizeof shared);
  if (!have) {
    input->info = shared;
    input->info_owned = true;
    for (int m = 0; m < AMPED_MAX_ORDER; m++)
      input->info.partitions[m].idp_nnz = NULL;
    amped_dictionary *d = &input->info.dictionary;
    d->values = NULL;
    status = amped_alloc(&d->values, d->count, sizeof *d->values, "the dictionary of values");
    for (int m = 0; m < input->info.order && status == AMPED_OK; m++) {
      amped_partition *p = &input->info.partitions[m];
      status = amped_alloc(&p->idp_nnz, p->idp_count, sizeof *p->idp_nnz, "the iDp table");
    }
  }
  AMPED_TRY(amped_comm_agree(comm, status));
  amped_dictionary *d = &input->info.dictionary;
  amped_comm_broadcast(comm, d->values, d->count * sizeof *d->values);
  for (int m = 0; m < input->info.order; m++) {
    amped_partition *p = &input->info.partitions[m];
    amped_comm_broadcast(comm, p->idp_nnz, p->idp_count * sizeof *p->idp_nnz);
  }
  return AMPED_OK;
}

amped_status amped_input_differs(const amped_comm *comm, const amped_input *input) {
  return amped_error(AMPED_BAD_INPUT, input->path,
                     "rank %d sees another file than rank 0; put it on a shared file system, or "
                     "leave --read=parallel out",
                     comm->rank);
}

/* A hash of the iDp tables, which give every rank the numbers of nonzeros that others send. */
static uint64_t hash_tables(const amped_tensor_info *info) {
  uint64_t hash = 0;
  for (int m = 0; m < info->order; m++)
    for (uint64_t i = 0; i < info->partitions[m].idp_count; i++)
      hash = amped_hash_index(hash, info->partitions[m].idp_nnz[i]);
  return hash;
}

/* Collective: compares every rank's file with rank 0's. Ranks may see different files under one
 * name. */
static amped_status compare_info(const amped_comm *comm, const amped_input *input) {
  amped_tensor_info first = input->info;
  uint64_t tables = input->info.has_copies ? hash_tables(&input->info) : 0;
  uint64_t first_tables = tables;
  amped_comm_broadcast(comm, &first, sizeof first);
  amped_comm_broadcast(comm, &first_tables, sizeof first_tables);
  bool same = first.order == input->info.order && first.nnz == input->info.nnz &&
              first.value_type == input->info.value_type &&
              first.has_copies == input->info.has_copies &&
              first.has_hash == input->info.has_hash && first.hash == input->info.hash &&
              first.dictionary.count == input->info.dictionary.count && first_tables == tables;
  for (int m = 0; same && m < first.order; m++)
    same = first.dims[m] == input->info.dims[m] &&
           first.index_types[m] == input->info.index_types[m] &&
           first.partitions[m].width == input->info.partitions[m].width;
  return same ? AMPED_OK : amped_input_differs(comm, input);
}

amped_status amped_input_open(const amped_comm *comm, const char *path,
                              const amped_read_options *read, bool parallel, amped_input **out) {
  amped_input *input = NULL;
  bool reads = parallel || comm->rank == 0;
  amped_status status = amped_calloc(&input, 1, sizeof *input, "the input");
  *out = NULL;
  if (status == AMPED_OK) {
    input->path = path;
    if (reads)
      status = open_here(input, read, parallel);
  }
  status = amped_comm_agree(comm, status);
  if (status == AMPED_OK)
    status = parallel ? amped_comm_agree(comm, compare_info(comm, input))
                      : broadcast_info(comm, input, reads);
  if (status != AMPED_OK) {
    amped_input_close(input);
    return status;
  }
  *out = input;
  return AMPED_OK;
}

amped_status amped_input_of_list(const amped_comm *comm, const char *name, amped_sptensor *list,
                                 amped_input **out) {
  amped_input *input = NULL;
  amped_status status = amped_calloc(&input, 1, sizeof *input, "the input");
  *out = NULL;
  if (list != NULL && status == AMPED_OK)
    input->tensor = *list;
  else if (list != NULL)
    amped_sptensor_free(list);
  if (list != NULL)
    memset(list, 0, sizeof *list);
  status = amped_comm_agree(comm, status);
  if (status == AMPED_OK) {
    input->path = name;
    if (comm->rank == 0)
      describe_memory(input);
    status = broadcast_info(comm, input, comm->rank == 0);
  }
  if (status != AMPED_OK) {
    amped_input_close(input);
    return status;
  }
  *out = input;
  return AMPED_OK;
}

static void free_part(amped_input_part *part) {
  for (int m = 0; m < AMPED_MAX_ORDER; m++)
    amped_free(part->indices[m]);
  memset(part, 0, sizeof *part);
}

static void describe_parts(amped_input *input, int nranks, int order, const uint64_t *dims) {
  input->info.order = order;
  input->info.value_type = AMPED_F64;
  input->info.is_merged = true;
  input->info.duplicates = AMPED_DUPLICATES_SUM;
  for (int m = 0; m < order; m++) {
    input->info.dims[m] = dims[m];
    input->info.index_types[m] = amped_itype_for(dims[m]);
  }
  for (int p = 0; p < nranks; p++)
    input->info.nnz += input->counts[p];
}

amped_status amped_input_of_parts(const amped_comm *comm, const char *name, int order,
                                  const uint64_t *dims, amped_input_part *part, amped_input **out) {
  amped_input *input = NULL;
  amped_status status = AMPED_OK;
  *out = NULL;
  AMPED_GO(agree, amped_calloc(&input, 1, sizeof *input, "the input"));
  input->path = name;
  AMPED_GO(agree, amped_calloc(&input->counts, (uint64_t)comm->nranks, sizeof *input->counts,
                               "the input"));
  input->part = *part;
  memset(part, 0, sizeof *part);
agree:
  status = amped_comm_agree(comm, status);
  if (status != AMPED_OK) {
    free_part(part);
    amped_input_close(input);
    return status;
  }
  AMPED_MPI(comm, MPI_Allgather(&input->part.count, 1, MPI_UINT64_T, input->counts, 1, MPI_UINT64_T,
                                comm->mpi));
  describe_parts(input, comm->nranks, order, dims);
  *out = input;
  return AMPED_OK;
}

void amped_input_close(amped_input *input) {
  if (input == NULL)
    return;
  if (input->info_owned)
    amped_tensor_info_free(&input->info);
  amped_tensor_file_close(input->file);
  amped_sptensor_free(&input->tensor);
  free_part(&input->part);
  amped_free(input->counts);
  amped_free(input);
}

const char *amped_input_path(const amped_input *input) {
  return input->path;
}

const amped_tensor_info *amped_input_info(const amped_input *input) {
  return &input->info;
}

static void read_memory(const amped_input *input, uint64_t first, uint64_t count,
                        void *const *indices, void *values) {
  const amped_sptensor *t = &input->tensor;
  const uint64_t piece = UINT64_C(1) << 14;
#pragma omp parallel for schedule(static)
  for (uint64_t at = 0; at < count; at += piece) {
    const uint64_t n = count - at < piece ? count - at : piece;
    for (int m = 0; m < t->order; m++)
      amped_indices_put(indices[m], input->info.index_types[m], at, n, t->indices[m] + first + at);
    memcpy((double *)values + at, t->values + first + at, n * sizeof *t->values);
  }
}

amped_duplicates amped_input_duplicates(const amped_input *input) {
  return input->rule;
}

bool amped_input_in_memory(const amped_input *input) {
  return input->file == NULL && (input->tensor.nnz > 0 || input->counts != NULL);
}

const amped_input_part *amped_input_own_part(const amped_input *input) {
  return input->counts != NULL ? &input->part : NULL;
}

const uint64_t *amped_input_part_counts(const amped_input *input) {
  return input->counts;
}

uint64_t amped_input_list_bytes(const amped_input *input) {
  uint64_t bytes = input->tensor.nnz * ((uint64_t)input->tensor.order + 1) * sizeof(uint64_t);
  for (int m = 0; m < input->info.order; m++)
    bytes += input->part.count * (uint64_t)input->info.index_types[m];
  return bytes;
}

const amped_sptensor *amped_input_list(const amped_input *input) {
  return amped_input_in_memory(input) && input->counts == NULL ? &input->tensor : NULL;
}

amped_status amped_input_read(amped_input *input, int mode, uint64_t first, uint64_t count,
                              void *const *indices, void *values) {
  if (input->file != NULL)
    return amped_tensor_file_read(input->file, mode, first, count, indices, values);
  read_memory(input, first, count, indices, values);
  return AMPED_OK;
}

amped_cut_integers amped_input_take_cut(amped_input *input) {
  const amped_cut_integers none = {.count = 0};
  return input->file != NULL ? amped_tensor_file_take_cut(input->file) : none;
}

amped_status amped_input_read_part(amped_input *input, int mode, uint64_t first, uint64_t count,
                                   void *const *indices, void *values) {
  if (input->file != NULL)
    return amped_tensor_file_read_part(input->file, mode, first, count, indices, values);
  read_memory(input, first, count, indices, values);
  return AMPED_OK;
}

amped_status amped_input_check(amped_input *input, int mode) {
  return input->file != NULL ? amped_tensor_file_check(input->file, mode) : AMPED_OK;
}

amped_status amped_input_labels(amped_input *input, int mode, amped_labels *out) {
  memset(out, 0, sizeof *out);
  if (input->file != NULL)
    return amped_tensor_file_labels(input->file, mode, out);
  *out = input->tensor.labels[mode]; /* ownership moves to the caller */
  memset(&input->tensor.labels[mode], 0, sizeof *out);
  return AMPED_OK;
}
