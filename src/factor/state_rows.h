/* State rows: rows of a stream's state on their way between the ranks that own them and rank 0,
 * which has the file (hdf5/state_file.h). They travel in pieces of amped_state_piece_rows, so no
 * rank holds more than a piece beside its own rows.
 *
 * All functions are collective and their statuses agreed. `file` is rank 0's; NULL elsewhere. */
#ifndef AMPED_STATE_ROWS_H
#define AMPED_STATE_ROWS_H

#include "hdf5/state_file.h"
#include "mpi/comm.h"

/* Own rows that a rank hands over: no row is another rank's, too. Borrowed. */
typedef struct amped_state_rows {
  uint64_t count[AMPED_MAX_ORDER];
  const uint64_t *indices[AMPED_MAX_ORDER]; /* [count] of the file, ascending */
  /* Rows indices[mode][first .. first + count], into arrays as those of amped_state_file_read;
   * history NULL where the state has none. Its status is this rank's own. */
  amped_status (*get)(void *context, int mode, uint64_t first, uint64_t count, void *factor,
                      void *history, uint64_t *touched);
  void *context;
} amped_state_rows;

/* Put rows of all ranks into the file: of a new state every row, else those of a batch. The caller
 * commits. head: on every rank, that of the state with these rows. */
amped_status amped_state_rows_put(const amped_comm *comm, amped_state_file *file,
                                  const amped_state_head *head, bool is_new,
                                  const amped_state_rows *mine);

/* All rows of the file, to every rank: `take` is called with rows first .. first + count of a mode,
 * in order, mode after mode; a rank keeps what it owns. Its status is this rank's own. history NULL
 * where the state has none. */
typedef amped_status amped_state_take(void *context, int mode, uint64_t first, uint64_t count,
                                      const void *factor, const void *history,
                                      const uint64_t *touched);
amped_status amped_state_rows_read(const amped_comm *comm, amped_state_file *file,
                                   const amped_state_head *head, amped_state_take *take,
                                   void *context);

/* The sums of a model history, [width][width] a mode, to every rank. */
amped_status amped_state_sums_read(const amped_comm *comm, amped_state_file *file,
                                   const amped_state_head *head, double *const *sums);

/* Rank 0's head, to every rank. */
amped_status amped_state_head_share(const amped_comm *comm, const amped_state_file *file,
                                    amped_state_head *out);

#endif
