/* Input: the file that a tensor is loaded from.
 *
 * An HDF5 file, with ordered copies or with one coordinate list alone, is read slab by slab. Any
 * other format of io.h is read whole into the host memory of rank 0, where it is one list; it is
 * sorted and merged there, as read->duplicates says, only where a coordinate comes twice.
 *
 * Ranks that read hold the file open: rank 0, or with `parallel` all ranks. Functions that are not
 * marked collective are called on ranks that read, by one thread at a time, unless they say
 * otherwise.
 */
#ifndef AMPED_INPUT_H
#define AMPED_INPUT_H

#include "mpi/comm.h"
#include "hdf5/tensor_file.h"
#include "text/read_options.h"

typedef struct amped_input amped_input;

/* Collective; the status is agreed. `path` is borrowed until the input is closed. `read` says how a
 * text or table is read. AMPED_USAGE: with `parallel`, the file is not HDF5; or `read` has options
 * that do not apply to its format. AMPED_BAD_INPUT: the file is damaged, or (parallel) a rank sees
 * another file than rank 0. *out is NULL on failure. */
amped_status amped_input_open(const amped_comm *comm, const char *path,
                              const amped_read_options *read, bool parallel, amped_input **out);

/* Rank 0, or any one process; not collective. Read a whole file of any format into memory, with
 * labels. Repeated coordinates of a text or a table are treated as read->duplicates says.
 * AMPED_FAILED where memory does not hold it. The caller frees the list. */
amped_status amped_input_read_list(const char *path, const amped_read_options *read,
                                   amped_sptensor *out);

/* Collective; the status is agreed. The input of a list that rank 0 has in memory, of at least one
 * nonzero, which is handed over, even on failure; on other ranks `list` is NULL. What is known of
 * repeated coordinates is list->duplicates. `name`, for messages, is borrowed until the input is
 * closed. */
amped_status amped_input_of_list(const amped_comm *comm, const char *name, amped_sptensor *list,
                                 amped_input **out);

/* A rank's part of a list, in memory: indices of amped_itype_for(dim). */
typedef struct amped_input_part {
  uint64_t count;
  void *indices[AMPED_MAX_ORDER];
  const double *values; /* borrowed until the input is closed */
} amped_input_part;

/* Collective; the status is agreed. The input of a list of at least one nonzero, of which every
 * rank has a part: rank 0's nonzeros are the first. No coordinate comes twice. The part's indices,
 * from amped_alloc, are handed over, even on failure; `name` is as above. */
amped_status amped_input_of_parts(const amped_comm *comm, const char *name, int order,
                                  const uint64_t *dims, amped_input_part *part, amped_input **out);
/* This rank's part, or NULL; and how many nonzeros each rank has. */
const amped_input_part *amped_input_own_part(const amped_input *input);
const uint64_t *amped_input_part_counts(const amped_input *input);

/* On ranks that read: what was done with repeated coordinates, or was to be done; SUM where an HDF5
 * file does not tell. Not of a list from memory. */
amped_duplicates amped_input_duplicates(const amped_input *input);

/* Frees the input; NULL is allowed. Not collective; on every rank. */
void amped_input_close(amped_input *input);

/* Records the error that this rank sees another file than rank 0, and returns AMPED_BAD_INPUT. Not
 * collective. */
amped_status amped_input_differs(const amped_comm *comm, const amped_input *input);

/* The file's name. On every rank. */
const char *amped_input_path(const amped_input *input);

/* On every rank; owned by the input. has_copies is false for one list: its tables are counted by
 * list_stats.h, and load_list.h loads it. */
const amped_tensor_info *amped_input_info(const amped_input *input);

/* In place of a mode: the one list of a file without copies. */
#define AMPED_INPUT_LIST (-1)

/* Does this rank hold the whole list in host memory? */
bool amped_input_in_memory(const amped_input *input);

/* This list, which stays the input's; NULL elsewhere. */
const amped_sptensor *amped_input_list(const amped_input *input);

/* The work of amped_tensor_file_read, _read_part and _check: nonzeros first .. first+count of
 * mode's copy, or of the list, into host memory of the caller. A list from memory has nothing to
 * check. */
amped_status amped_input_read(amped_input *input, int mode, uint64_t first, uint64_t count,
                              void *const *indices, void *values);
amped_status amped_input_read_part(amped_input *input, int mode, uint64_t first, uint64_t count,
                                   void *const *indices, void *values);
amped_status amped_input_check(amped_input *input, int mode);

/* On every rank, off at first: does amped_input_count_values count? negative: the sum of squares of
 * the negative ones so far that this rank got. */
void amped_input_watch_negative(amped_input *input, bool on);
void amped_input_count_values(amped_input *input, amped_vtype type, uint64_t count,
                              const void *values);
double amped_input_negative(const amped_input *input);

/* Rank 0 alone, at most once a mode. As amped_tensor_file_labels; freed with amped_labels_free. */
amped_status amped_input_labels(amped_input *input, int mode, amped_labels *out);

#endif
