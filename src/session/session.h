/* Session: all objects that a command on ranks works with. It owns them; close frees them.
 *
 * Life cycle: start, prepare (prepare.h: backend, input, plan, tensor), the command's work on the
 * context (factor/context.h), finish, close. A session has an input file, a synthetic tensor
 * where the options name a shape, or one of cells that ranks make. */
#ifndef AMPED_SESSION_H
#define AMPED_SESSION_H

#include "factor/factors.h"
#include "base/json.h"
#include "session/session_options.h"
#include "generate/generated_cells.h"
#include "load/dense_source.h"
#include "load/list_source.h"
#include "plan/format_choice.h"
#include "session/trace_file.h"
#include "mpi/watchdog.h"

/* The best choices that session/prepare tells of. */
#define AMPED_CHOICES_TOLD 3

/* How copies were chosen, where a copy for each mode does not fit on the device. */
typedef struct amped_copies_choice {
  uint64_t all_streamed; /* bytes of a copy for each mode that all ranks would stream in a sweep, */
  double all_sec;        /* and its seconds; 0 where these do not fit at all */
  double sec;            /* of the copies that are kept */
  int count;             /* of best */
  amped_choice best[AMPED_CHOICES_TOLD]; /* the first is kept */
} amped_copies_choice;

typedef struct amped_session {
  const amped_session_options *options; /* borrowed */
  amped_comm comm;
  amped_worker worker;
  amped_input *input;          /* NULL where the tensor is synthetic or dense */
  bool is_dense;               /* the input is a dense tensor */
  bool read_parallel;          /* every rank reads its part of the input */
  amped_dense_source *dense;   /* on ranks that read such an input; else NULL */
  amped_generated_cells cells; /* of options->cells, of ranks that make their slab of it */
  amped_dense_info dense_info;
  bool outside;              /* its cells stay in the file: a demand's left_outside */
  unsigned own;              /* of a mixture: modes with copies of their own (plan.h) */
  bool is_list;              /* one list of the input is read, which is yet to be ordered */
  amped_list_source *list;   /* until it is loaded; else NULL */
  amped_synthetic synthetic; /* of options->shape.name */
  amped_tensor_info made;    /* of the synthetic or dense tensor, or of a list */
  amped_plan plan;
  amped_exchange *exchange;
  amped_json *json;           /* on rank 0; NULL elsewhere */
  amped_trace_file *trace;    /* NULL without --trace */
  amped_watchdog *watchdog;   /* NULL without --hang-timeout */
  amped_requirement required; /* of this rank's backend */
  double opened_at;           /* amped_time() when MPI had started and the device was open */
  amped_copies_choice choice; /* zeros where a copy for each mode fits, or is not to be chosen */
  double tables_sec;          /* reading or counting the iDp tables */
  double plan_sec;
  bool watches_negative;   /* negative_squares is found while the tensor is loaded */
  double negative_squares; /* of all values below 0; 0 of what is made */
  double distribute_sec;   /* reading, sending and packing; or making */
} amped_session;

/* Collective; the status is agreed. `status` is that of the caller's own steps before MPI. Probes
 * HDF5 inputs in a child process, because MPI forbids fork
 * later. Then starts MPI and the JSON lines. The caller calls amped_session_close after a failure,
 * too. */
amped_status amped_session_start(amped_session *session, const amped_session_options *options,
                                 amped_status status);

/* Collective; the status is agreed. Opens the backend that the options name, or the first backend
 * that every rank has, on this rank's cores or GPU. */
amped_status amped_session_open_backend(amped_session *session);

/* Collective, after prepare; the status is agreed. Sets another number of components, at most that
 * of the options. The loaded tensor stays; the factors become zero. */
amped_status amped_session_set_ncomps(amped_session *session, int ncomps);

/* Collective; the status is agreed. At the end of a run with this status, which is returned: writes
 * the trace, unless the run failed. After a stop on a signal, too. */
amped_status amped_session_finish(amped_session *session, amped_status status);
/* Collective. Frees all objects and stops MPI. */
void amped_session_close(amped_session *session);

/* The facts of the tensor, after its tables are read or counted. Borrowed. */
const amped_tensor_info *amped_session_info(const amped_session *session);

/* Collective, after prepare; the status is agreed. Rank 0 reads the labels of all modes, which the
 * caller frees; a tensor made in memory has none. */
amped_status amped_session_labels(const amped_session *session,
                                  amped_labels labels[AMPED_MAX_ORDER]);

/* The part of the session that solvers borrow. */
amped_context amped_session_context(const amped_session *session);

/* Before MPI starts: creates the GPU's context, without which a CUDA-aware MPI switches CUDA off.
 * `backend` is the name of a backend, or "auto" for all. */
void amped_session_before_mpi(const char *backend);

/* Threads of this rank: `wanted`, or where that is 0, OMP_NUM_THREADS, or its part of the node's
 * cores. The part is the cores to which the launcher bound the rank, else an even part. */
int amped_session_threads(const amped_comm *comm, int wanted);

#endif
