/* Outputs of cpd and complete: the result files that a run writes, or may write; what lies in their
 * places; the room that they take, with checkpoint and trace.
 *
 * All but names exist on rank 0 alone, and are empty where nothing is written. Life: check_names,
 * look, lock, compare, room, and free. No call is collective. */
#ifndef AMPED_CPD_OUTPUTS_H
#define AMPED_CPD_OUTPUTS_H

#include "base/file_lock.h"
#include "cli/options.h"
#include "hdf5/result_file.h"
#include "plan/plan.h"
#include "session/output_guard.h"

typedef struct amped_cpd_output {
  char *path;
  amped_output found; /* in its place */
  amped_file_lock lock;
} amped_cpd_output;

typedef struct amped_cpd_outputs {
  int count;
  amped_cpd_output results[AMPED_MAX_NCOMPS_COUNT]; /* one for each number of components */
  amped_cpd_output partial;                         /* of --on-signal=result; path NULL: none */
} amped_cpd_outputs;

/* On every rank, before any file is opened: has each output a file of its own? */
amped_status amped_cpd_outputs_check_names(const amped_options *o);

/* Before MPI starts: can the results be written, and may they replace what is there? So for the
 * checkpoint of a run that does not resume. */
amped_status amped_cpd_outputs_look(const amped_options *o, amped_cpd_outputs *outputs);

/* Instead, for a run whose result is written beside that place and removed again: whatever lies
 * there stays. AMPED_USAGE: a pipe or a device. */
amped_status amped_cpd_outputs_place(const amped_options *o, amped_cpd_outputs *outputs);

/* No other run writes these files until they are freed. */
amped_status amped_cpd_outputs_lock(amped_cpd_outputs *outputs);

/* hash: of the tensor. Refuses to replace results of another one. */
amped_status amped_cpd_outputs_compare(const amped_options *o, const amped_cpd_outputs *outputs,
                                       uint64_t hash);

/* Have the disks room for results, checkpoint, trace and the state of a stream? */
amped_status amped_cpd_outputs_room(const amped_options *o, const amped_cpd_outputs *outputs,
                                    const amped_plan *plan, const amped_labels *labels);

/* Write a result. Where `path` cannot be written, it goes to "STEM.partial.cpd.h5" in the folder of
 * temporary files, or to another name where that one is taken: the error's line tells it. */
amped_status amped_cpd_outputs_write(const char *path, const amped_ktensor *k,
                                     const amped_run_record *record);

void amped_cpd_outputs_free(amped_cpd_outputs *outputs);

#endif
