/* Run: everything between the command line and the first sweep, for the commands that run on ranks.
 *
 * Opens the backend on every rank, the input on those that read, makes the plan, compares the
 * memory it needs with what there is, and (unless that was all) distributes the tensor. Where the
 * options name a shape there is no input: every rank makes its own share of a synthetic tensor. */
#ifndef AMPED_SESSION_H
#define AMPED_SESSION_H

#include "factor/factors.h"
#include "base/json.h"
#include "session/session_options.h"
#include "load/input.h"
#include "session/trace_file.h"
#include "mpi/watchdog.h"

typedef struct amped_session {
  const amped_session_options *options; /* borrowed */
  amped_comm comm;
  amped_worker worker;
  amped_input *source;       /* NULL where the tensor is synthetic */
  amped_synthetic synthetic; /* of options->shape.name */
  amped_tensor_info made;    /* of the synthetic tensor, or counted */
  amped_plan plan;
  amped_exchange *exchange;
  amped_json *json;           /* NULL but on rank 0 */
  amped_trace_file *trace;    /* NULL without --trace */
  amped_watchdog *watchdog;   /* NULL without --hang-timeout */
  amped_requirement required; /* of this rank's backend */
  double tables_sec;          /* reading or counting the iDp tables */
  double plan_sec;
  double distribute_sec; /* reading, sending and packing; or making */
} amped_session;

/* Collective; the status is agreed. Looks at HDF5 inputs in a child process (which MPI forbids
 * later), starts MPI and the JSON lines. On failure, too, the caller calls amped_session_close. */
amped_status amped_session_start(amped_session *session, const amped_session_options *options);

/* Collective: the backend that the options name, or the first that every rank has, on this rank's
 * cores or GPU. */
amped_status amped_session_open_backend(amped_session *session);

/* Does the input hold one list that is yet to be ordered? */
bool amped_session_is_list(const amped_session *session);

/* Collective, after open; the status is agreed: another number of components, at most that of the
 * options, for the tensor that is loaded. */
amped_status amped_session_set_ncomps(amped_session *session, int ncomps);

/* Collective; the status is agreed. At the end of a run that went well: writes the trace. */
amped_status amped_session_finish(amped_session *session);
void amped_session_close(amped_session *session);

/* What is known of the tensor, once its tables are read. */
const amped_tensor_info *amped_session_info(const amped_session *session);

amped_context amped_session_context(const amped_session *session);

/* Before MPI starts: a GPU's context must exist by then, or a CUDA-aware MPI switches that off. Of
 * the backend of that name, or "auto": of all. */
void amped_session_before_mpi(const char *backend);

/* Threads of this rank: those wanted, or (0) OMP_NUM_THREADS, or its part of the node's cores: all
 * that its launcher left it, where that bound ranks to cores, else an even part. */
int amped_session_threads(const amped_comm *comm, int wanted);

#endif
