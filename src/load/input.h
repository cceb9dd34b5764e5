/* Input: the file that a tensor is loaded from.
 *
 * An HDF5 file, with ordered copies or with one coordinate list, is read slab by slab. Any other
 * format of io.h is read whole, as one list, into the host memory of rank 0. So is a dense tensor:
 * the list has its cells that are not missing, also zeros (dense_list.h). Only a list with
 * repeated coordinates is sorted and merged there, by the rule read->duplicates.
 *
 * Ranks that read hold the file open: rank 0, or with `parallel` all ranks. Unless marked
 * otherwise, functions are not collective and are called on ranks that read, by one thread at a
 * time. */
#ifndef AMPED_INPUT_H
#define AMPED_INPUT_H

#include "mpi/comm.h"
#include "formats/tensor_file.h"
#include "text/read_options.h"

typedef struct amped_input amped_input;

/* Collective; the status is agreed. `path` is borrowed until the input is closed. `read`: how to
 * read a text or table. AMPED_USAGE: with `parallel`, the file is not HDF5; or `read` has options
 * that do not apply to its format. AMPED_BAD_INPUT: the file is damaged, or (parallel) a rank sees
 * another file than rank 0. *out is NULL on failure. */
amped_status amped_input_open(const amped_comm *comm, const char *path,
                              const amped_read_options *read, bool parallel, amped_input **out);

/* Read a whole file of any format into memory, with labels. Rank 0, or any one process; not
 * collective. Repeated coordinates of a text or a table are merged by read->duplicates.
 * AMPED_FAILED if the memory is too small. The caller frees the list. */
amped_status amped_input_read_list(const char *path, const amped_read_options *read,
                                   amped_sptensor *out);

/* Collective; the status is agreed. Make an input of a list in rank 0's memory with at least one
 * nonzero. The list is handed over, even on failure; NULL on other ranks. list->duplicates
 * describes its repeated coordinates. `name`, for messages, is borrowed until the input is
 * closed. */
amped_status amped_input_of_list(const amped_comm *comm, const char *name, amped_sptensor *list,
                                 amped_input **out);

/* A rank's part of a list, in host memory: indices of amped_itype_for(dim). */
typedef struct amped_input_part {
  uint64_t count;
  void *indices[AMPED_MAX_ORDER];
  const double *values; /* borrowed until the input is closed */
} amped_input_part;

/* Collective; the status is agreed. Make an input of a list with at least one nonzero, divided into
 * one part per rank, in rank order. No coordinate is repeated. The part's indices, from
 * amped_alloc, are handed over, even on failure; `name` is as above. */
amped_status amped_input_of_parts(const amped_comm *comm, const char *name, int order,
                                  const uint64_t *dims, amped_input_part *part, amped_input **out);
/* This rank's part, or NULL; and [nranks] the number of nonzeros of each rank. */
const amped_input_part *amped_input_own_part(const amped_input *input);
const uint64_t *amped_input_part_counts(const amped_input *input);

/* On ranks that read: the rule for repeated coordinates, applied or to be applied; SUM if an HDF5
 * file states none. Not for a list from memory. */
amped_duplicates amped_input_duplicates(const amped_input *input);

/* Free the input; NULL is allowed. Not collective; on every rank. */
void amped_input_close(amped_input *input);

/* Record the error that this rank sees another file than rank 0, and return AMPED_BAD_INPUT. Not
 * collective. */
amped_status amped_input_differs(const amped_comm *comm, const amped_input *input);

/* The file's name. On every rank. */
const char *amped_input_path(const amped_input *input);

/* On every rank; owned by the input. has_copies is false for one list: list_stats.h counts its
 * tables, and load_list.h loads it. */
const amped_tensor_info *amped_input_info(const amped_input *input);

/* In place of a mode: the one list of a file without copies. */
#define AMPED_INPUT_LIST (-1)

/* Does this rank hold the whole list, or a part of it, in host memory? */
bool amped_input_in_memory(const amped_input *input);

/* Bytes of host memory of what this rank has of the list; 0: none. */
uint64_t amped_input_list_bytes(const amped_input *input);

/* The list in this rank's memory, which stays the input's; NULL: not in memory, or in parts. */
const amped_sptensor *amped_input_list(const amped_input *input);

/* Read or check nonzeros first .. first+count of mode's copy, or of the list, into host memory of
 * the caller, as amped_tensor_file_read, _read_part and _check do. A list from memory needs no
 * check. */
amped_status amped_input_read(amped_input *input, int mode, uint64_t first, uint64_t count,
                              void *const *indices, void *values);
amped_status amped_input_read_part(amped_input *input, int mode, uint64_t first, uint64_t count,
                                   void *const *indices, void *values);
amped_status amped_input_check(amped_input *input, int mode);

/* This rank's, as amped_tensor_file_take_cut does; count 0 if the list is in memory. */
amped_cut_integers amped_input_take_cut(amped_input *input);

/* On every rank: sum the squares of negative values that pass amped_input_count_values, if switched
 * on (at first off). amped_input_negative: this rank's sum so far. */
void amped_input_watch_negative(amped_input *input, bool on);
void amped_input_count_values(amped_input *input, amped_vtype type, uint64_t count,
                              const void *values);
double amped_input_negative(const amped_input *input);

/* Take the labels of a mode, as amped_tensor_file_labels does. Rank 0 only, at most once per mode.
 * Free with amped_labels_free. */
amped_status amped_input_labels(amped_input *input, int mode, amped_labels *out);

#endif
