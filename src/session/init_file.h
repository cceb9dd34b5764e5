/* Init file: the factors of --init=FILE, from which a run starts. */
#ifndef AMPED_INIT_FILE_H
#define AMPED_INIT_FILE_H

#include "plan/plan.h"
#include "mpi/comm.h"
#include "session/session_options.h"
#include "tensor/completion.h"

/* --fix: the file's factors of some modes stay as they are. The tensor may have new rows in other
 * modes: they begin from random numbers. The file may have rows in fixed modes that the tensor does
 * not have. */
typedef struct amped_init_fix {
  uint64_t modes;       /* bit m: mode m is fixed */
  uint64_t nonnegative; /* bit m: random rows of mode m have no negative entry */
  uint64_t seed;        /* seed of random rows: the same numbers on any number of ranks */
  bool whole;           /* the tensor must have all rows of fixed modes, because it is dense */
  const bool *context;  /* completion: context modes (amped_completion_stretch) */
  /* Set by the reader. kept: fixed factors and their labels as the file has them; order 0: not
   * read. places: [dims of the tensor] the row of `kept` for each row of a fixed mode; NULL: the
   * same rows. fresh: number of random rows in each free mode. */
  amped_ktensor kept;
  amped_completion kept_model; /* the same of a completion: biases and observed rows */
  double
      *by; /* [order][ncomps] completion: multipliers of columns in *start, whose weights are 1 */
  uint64_t *places[AMPED_MAX_ORDER];
  uint8_t *unlearnt[AMPED_MAX_ORDER]; /* completion: [dims of the tensor] 1: a row of a fixed mode
                                         that has learnt nothing; NULL: all have */
  uint64_t fresh[AMPED_MAX_ORDER];
} amped_init_fix;

/* Frees what the reader has set. Accepts a zeroed or freed object. */
void amped_init_fix_free(amped_init_fix *fix);

/* Before MPI starts. AMPED_BAD_INPUT if the file cannot be a start: it cannot be read, or is the
 * state of a stream or a checkpoint of complete. */
amped_status amped_init_file_check(const char *path);

/* Collective, before the plan is made; the status is agreed. Unless the user gave --rank, sets it
 * to the number of components of the file. */
amped_status amped_init_file_set_ncomps(const amped_comm *comm, bool is_given,
                                        amped_session_options *options);

/* Rank 0. Reads the file and brings its rows into the tensor's order. Rows are matched by label if
 * both have labels, and by the rules of text/index_match.h if only one has. A file without labels
 * is matched by index, with a warning, if the tensor has labels: files of other programs have none.
 *
 * labels: [order], the tensor's. model: gets the other parts of a completion model, with rows in
 * the same order; its order is 0 if the file is a plain decomposition. NULL: not wanted, and a
 * model with a mean or biases gets a warning; with `fix` it is AMPED_BAD_INPUT. fix NULL:
 * no mode is fixed; otherwise the columns of a completion have the lengths from which sweeps
 * continue. Rows of fixed modes that have learnt nothing become the mean of the mode's other
 * rows, unless the model is one of --implicit. The caller frees *start, *model and *fix, even after
 * a failure.
 *
 * AMPED_BAD_INPUT: the file has another order, or not `ncomps` components; or it does not have all
 * rows of the tensor (with `fix`: of fixed modes); or a dataset does not match its content hash and
 * the user does not force it. */
amped_status amped_init_file_read(const amped_session_options *options, const amped_plan *plan,
                                  const amped_labels *labels, int ncomps, amped_init_fix *fix,
                                  amped_ktensor *start, amped_completion *model);

#endif
