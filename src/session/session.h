/* Session: all objects that a command on ranks works with. It owns them; close frees them.
 *
 * Life cycle: start, prepare (prepare.h: backend, input, plan, tensor), the command's work on the
 * context (factor/context.h), finish, close. The tensor comes from an input file, or is synthetic
 * if the options name a shape, or is a dense tensor whose cells the ranks make. */
#ifndef AMPED_SESSION_H
#define AMPED_SESSION_H

#include "factor/factors.h"
#include "base/json.h"
#include "session/session_options.h"
#include "generate/generated_cells.h"
#include "load/dense_source.h"
#include "load/list_source.h"
#include "session/trace_file.h"
#include "mpi/watchdog.h"

/* Copies that fit in memory: a copy for each mode, or one for all modes. */
typedef struct amped_kept_copies {
  bool one;
  double bytes, streamed_bytes; /* a rank's copies; bytes that it streams in a sweep: the most */
  double sec;                   /* predicted seconds of a sweep */
} amped_kept_copies;

/* The choice of copies, if a copy for each mode does not fit on the device. */
typedef struct amped_copies_choice {
  uint64_t all_streamed; /* bytes per sweep that all ranks would stream with a copy for each mode */
  double all_sec;        /* seconds per sweep with these copies; 0 if they do not fit at all */
  double sec;            /* seconds per sweep with the chosen copies */
  int count;             /* entries of best: the copies that fit */
  amped_kept_copies best[2]; /* the first is the chosen one */
} amped_copies_choice;

/* The expected time of a run with --plan. */
typedef struct amped_expected {
  double sweep_sec; /* seconds of a sweep of every model; 0: not known */
  uint64_t sweeps;  /* most sweeps of a model */
} amped_expected;

typedef struct amped_session {
  const amped_session_options *options; /* borrowed */
  amped_comm comm;
  amped_worker worker;
  amped_input *input;          /* NULL if the tensor is synthetic or dense */
  bool is_dense;               /* the input is loaded as a dense tensor */
  bool read_parallel;          /* every rank reads its part of the input */
  amped_dense_source *dense;   /* the open dense input, on ranks that read it; else NULL */
  amped_generated_cells cells; /* generator of this rank's slab of options->cells, in memory */
  amped_dense_info dense_info;
  bool outside;              /* cells stay in the file (left_outside in prepare.h) */
  bool is_list;              /* the input is read as one list, still to be ordered */
  amped_list_source *list;   /* the list until it is loaded; else NULL */
  amped_synthetic synthetic; /* the tensor of options->shape.name */
  amped_labels *labels;   /* [order] of a dense tensor, on rank 0 until they are taken; else NULL */
  amped_tensor_info made; /* facts of a synthetic or dense tensor, or of a list */
  amped_plan plan;
  amped_exchange *exchange;
  amped_json *json;           /* on rank 0; NULL elsewhere */
  amped_trace_file *trace;    /* NULL without --trace */
  amped_watchdog *watchdog;   /* NULL without --hang-timeout */
  amped_requirement required; /* memory needs of this rank's backend */
  double opened_at;           /* amped_time() when MPI had started and the device was open */
  amped_groups groups;        /* models side by side; no models: the command does not ask for any */
  amped_copies_choice choice; /* zeros if a copy for each mode fits, or if the user chose */
  double tables_sec;          /* seconds to read or count the iDp tables */
  double plan_sec;
  amped_expected expected;
  bool watches_negative;   /* find negative_squares while the tensor is loaded */
  double negative_squares; /* sum of squares of all values below 0; 0 for a tensor made in memory */
  double distribute_sec;   /* seconds to read, send and pack the tensor, or to make it */
} amped_session;

/* Collective; the status is agreed. Probes HDF5 inputs in a child process, because MPI forbids fork
 * later. Then starts MPI and the JSON lines. status: of the caller's own steps before MPI. The
 * caller calls amped_session_close even after a failure. */
amped_status amped_session_start(amped_session *session, const amped_session_options *options,
                                 amped_status status);

/* Collective; the status is agreed. Opens a backend on this rank's cores or GPU: the one that the
 * options name, or the first backend that every rank has. */
amped_status amped_session_open_backend(amped_session *session);

/* Collective, after prepare; the status is agreed. Sets another number of components, at most the
 * plan's at prepare. The loaded tensor stays; the factors become zero. */
amped_status amped_session_set_ncomps(amped_session *session, int ncomps);

/* Collective; the status is agreed. Ends a run with this status, which is returned. Writes the
 * trace, also after a stop on a signal, but not after a failure. */
amped_status amped_session_finish(amped_session *session, amped_status status);
/* Collective. Frees all objects and stops MPI. */
void amped_session_close(amped_session *session);

/* The facts of the tensor, once its tables are read or counted. Borrowed. */
const amped_tensor_info *amped_session_info(const amped_session *session);

/* Collective, after prepare; the status is agreed. Rank 0 reads the labels of all modes, which the
 * caller frees. A tensor made in memory has none. */
amped_status amped_session_labels(const amped_session *session,
                                  amped_labels labels[AMPED_MAX_ORDER]);

/* The part of the session that solvers borrow. */
amped_context amped_session_context(const amped_session *session);

/* Creates the GPU's context; call before MPI starts. A CUDA-aware MPI switches CUDA off if there is
 * no context yet. backend: a backend's name, or "auto" for all backends. */
void amped_session_before_mpi(const char *backend);

/* Threads of this rank: `wanted`, if not 0; else OMP_NUM_THREADS, if set; else the rank's part of
 * the node's cores. This part is the cores to which the launcher bound the rank, or an equal
 * share. */
int amped_session_threads(const amped_comm *comm, int wanted);

#endif
