/* State rows: moves rows of a stream's state between the ranks that own them and rank 0, which has
 * the file (state/state_file.h). Rows are sent in pieces of amped_state_piece_rows, so no rank
 * holds more than one piece in addition to its own rows; rank 0 holds two.
 *
 * All functions are collective and their statuses agreed. `file` is rank 0's; NULL elsewhere. */
#ifndef AMPED_STATE_ROWS_H
#define AMPED_STATE_ROWS_H

#include "state/state_file.h"
#include "mpi/comm.h"

/* Own rows that a rank contributes; no other rank contributes the same row. Borrowed. */
typedef struct amped_state_rows {
  uint64_t count[AMPED_MAX_ORDER];
  const uint64_t *indices[AMPED_MAX_ORDER]; /* [count] file indices, ascending */
  /* Get rows indices[mode][first .. first + count], into arrays as in amped_state_file_read;
   * history is NULL if the state has none. The status is this rank's own. */
  amped_status (*get)(void *context, int mode, uint64_t first, uint64_t count, void *factor,
                      void *history, uint64_t *touched);
  void *context;
} amped_state_rows;

/* Put rows of all ranks into the file: every row of a new state, otherwise the rows of a batch. The
 * caller commits. head: the head of the state with these rows, on every rank. */
amped_status amped_state_rows_put(const amped_comm *comm, amped_state_file *file,
                                  const amped_state_head *head, bool is_new,
                                  const amped_state_rows *mine);

/* Read all rows of the file and pass them to every rank: `take` is called with rows first .. first
 * + count of a mode, in order, mode after mode. A rank keeps the rows that it owns. take's status
 * is this rank's own. history is NULL if the state has none. */
typedef amped_status amped_state_take(void *context, int mode, uint64_t first, uint64_t count,
                                      const void *factor, const void *history,
                                      const uint64_t *touched);
amped_status amped_state_rows_read(const amped_comm *comm, amped_state_file *file,
                                   const amped_state_head *head, amped_state_take *take,
                                   void *context);

/* Read the sums of a model history, [width][width] per mode, to every rank. */
amped_status amped_state_sums_read(const amped_comm *comm, amped_state_file *file,
                                   const amped_state_head *head, double *const *sums);

/* Broadcast rank 0's head to every rank. */
amped_status amped_state_head_share(const amped_comm *comm, const amped_state_file *file,
                                    amped_state_head *out);

#endif
