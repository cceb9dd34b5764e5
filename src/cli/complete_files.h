/* Complete files: the files beside INPUT that `complete` reads, and the entries in them: weights,
 * entries that validate, entries that test. They also hold the held-out entries of rows that have
 * learnt nothing, and the sets that implicit fits rank.
 *
 * Functions are collective, and their statuses are agreed, unless a comment says otherwise. */
#ifndef AMPED_COMPLETE_FILES_H
#define AMPED_COMPLETE_FILES_H

#include "cli/options.h"
#include "session/entry_file.h"
#include "solver/complete/complete_problem.h"
#include "solver/complete/row_counts.h"

typedef struct amped_complete_files {
  const amped_options *o;
  amped_read_options read;       /* the user's options, with the column of weights */
  amped_read_options of_input;   /* options for reading INPUT */
  amped_read_options of_weights; /* options for reading the weights: a file or a column */
  const char *weights;           /* file of weights; INPUT for a column of it; NULL: none */
  amped_entry_weights *weighing; /* the open weights, until they are applied; NULL: none */
  amped_entry_set validate, test;
  amped_entry_set unlearnt; /* held-out entries with a row without training entries */
  amped_row_counts counts;  /* empty: neither --validate nor --test */
  amped_rank_set *validate_ranks, *test_ranks;
} amped_complete_files;

/* Not collective. Find out which files there are, and how each is read. o, which is borrowed, may
 * change later in what does not concern reading. free accepts a zeroed struct. */
amped_status amped_complete_files_begin(amped_complete_files *f, const amped_options *o);
void amped_complete_files_free(amped_complete_files *f);

/* Not collective; before MPI starts. Probe the files that are HDF5. */
amped_status amped_complete_files_probe(const amped_complete_files *f);

/* Open the weights, which exist, and take values of entries that have one, if others have weight 0:
 * entry_file.h. labels: the tensor's, on rank 0. */
amped_status amped_complete_files_sample(amped_complete_files *f, const amped_session *session,
                                         const amped_labels *labels, double *values,
                                         uint64_t *count);

/* Not collective. Bytes of host memory that the weights take on this rank; the part of them that is
 * in memory already is *held. With --plan they are not read; each entry has one. */
uint64_t amped_complete_files_weight_bytes(const amped_complete_files *f, const amped_plan *plan,
                                           uint64_t *held);

/* Give the tensor's nonzeros their weights, if there are some; the hash goes to the problem. */
amped_status amped_complete_files_weigh(amped_complete_files *f, amped_complete_problem *p);

/* Load the entries of --validate and --test, and hand them to the problem, which borrows them until
 * free. Its hold-out, scale and range are set. gaps: also find rows without training entries that
 * these entries have. */
amped_status amped_complete_files_load(amped_complete_files *f, const amped_session *session,
                                       const amped_labels *labels, bool gaps,
                                       amped_complete_problem *p);

#endif
