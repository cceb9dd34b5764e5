/* Outputs of cpd and complete: the result files that a run writes, or may write; the files that
 * they would replace; and the disk space that results, checkpoint and trace take.
 *
 * All except the names exist on rank 0 only, and are empty if nothing is written. Life cycle:
 * `check_names`, `look`, `lock`, `compare`, `room`, `free`. No function is collective. */
#ifndef AMPED_CPD_OUTPUTS_H
#define AMPED_CPD_OUTPUTS_H

#include "base/file_lock.h"
#include "cli/options.h"
#include "formats/result_file.h"
#include "plan/plan.h"
#include "session/output_guard.h"

typedef struct amped_cpd_output {
  char *path;
  amped_output found; /* the file that it would replace */
  amped_file_lock lock;
} amped_cpd_output;

typedef struct amped_cpd_outputs {
  int count;
  amped_cpd_output results[AMPED_MAX_NCOMPS_COUNT]; /* one for each number of components */
  amped_cpd_output partial;                         /* for --on-signal=result; path NULL: none */
} amped_cpd_outputs;

/* The file of a model's checkpoint: --checkpoint itself, or FILE.rR.sK.h5 if the run makes several
 * models. ncomps: R; start: K, from 1. The caller frees *out. */
amped_status amped_cpd_outputs_checkpoint(const amped_options *o, int ncomps, int start,
                                          char **out);
/* Call act for the checkpoint of each model, until it fails. No call without --checkpoint. */
amped_status amped_cpd_outputs_checkpoints(const amped_options *o,
                                           amped_status (*act)(const amped_options *o,
                                                               const char *path, void *context),
                                           void *context);
/* Let a child process probe the checkpoints of all models, before MPI starts. */
amped_status amped_cpd_outputs_probe(const amped_options *o);

/* On every rank, before any file is opened: has each output its own file? */
amped_status amped_cpd_outputs_check_names(const amped_options *o);

/* Before MPI starts: can the results be written, and may they replace the files that are there?
 * Checks the checkpoint as well; with resume, its previous generation only. */
amped_status amped_cpd_outputs_look(const amped_options *o, amped_cpd_outputs *outputs);

/* For bench --whole, instead of amped_cpd_outputs_look: the result is written next to the named
 * file and removed after timing. An existing file stays. AMPED_USAGE: the path is a pipe or a
 * device. */
amped_status amped_cpd_outputs_place(const amped_options *o, amped_cpd_outputs *outputs);

/* Lock the files until free, so that no other run writes them. */
amped_status amped_cpd_outputs_lock(amped_cpd_outputs *outputs);

/* Refuses to replace results of another tensor, which `info` describes. With --fix its dimensions
 * may differ from the result's. */
amped_status amped_cpd_outputs_compare(const amped_options *o, const amped_cpd_outputs *outputs,
                                       const amped_tensor_info *info);

/* Is there enough disk space for results, checkpoint, trace and the state of a stream? */
amped_status amped_cpd_outputs_room(const amped_options *o, const amped_cpd_outputs *outputs,
                                    const amped_plan *plan, const amped_labels *labels);

/* Write a result. If `path` cannot be written, the result goes to "STEM.partial.cpd.h5" in the
 * folder of temporary files, or to another name if that file exists. The error then names the
 * file. */
amped_status amped_cpd_outputs_write(const char *path, const amped_ktensor *k,
                                     const amped_run_record *record);

void amped_cpd_outputs_free(amped_cpd_outputs *outputs);

#endif
