/* List source: the nonzeros of a file's one list, in turns, as often as they are needed.
 *
 * The list's slabs, some at a time, go round: in turn t, rank p of `readers` has share
 * t * readers + p. A rank's share of the turn is a window of its list part (backend.h).
 *
 * Where the backends of all ranks have room, the list is held: the first pass reads the file once,
 * and rank p keeps its slabs. With rank 0 reading alone it sends every slab to its rank. Later
 * passes read nothing. Else every pass reads the file, slab by slab; the readers are rank 0, or all
 * ranks with `parallel`.
 *
 * Of an input in parts (input.h) a rank's shares are its own part: all of it in one turn where the
 * list is held, else a slab's nonzeros in each. */
#ifndef AMPED_LIST_SOURCE_H
#define AMPED_LIST_SOURCE_H

#include "backend/backend.h"
#include "load/slab_reader.h"

typedef struct amped_list_source amped_list_source;

/* Collective; the status is agreed. Arguments are borrowed until close. The worker's device is
 * open. */
amped_status amped_list_source_open(const amped_comm *comm, amped_input *input, bool parallel,
                                    const amped_worker *worker, amped_list_source **out);

/* NULL is allowed. Not collective. */
void amped_list_source_close(amped_list_source *source);

/* Collective; the status is agreed. From now on the list is not held. */
amped_status amped_list_source_release(amped_list_source *source);

/* Is the list held? The same answer on every rank. */
bool amped_list_source_held(const amped_list_source *source);

/* The rank's list part. */
amped_list_part *amped_list_source_part(const amped_list_source *source);

/* Bytes of the device that the source holds; and of host memory that it will take in later passes.
 */
uint64_t amped_list_source_device_bytes(const amped_list_source *source);
uint64_t amped_list_source_host_bytes(const amped_list_source *source);

/* Nonzeros that are dealt at a time, and that arrive at a rank at a time. */
uint64_t amped_list_source_window(const amped_list_source *source);
uint64_t amped_list_source_arriving(const amped_list_source *source);

/* Turns of a pass; the most nonzeros that a rank has in a turn. */
uint64_t amped_list_source_turns(const amped_list_source *source);
uint64_t amped_list_source_turn_nnz(const amped_list_source *source);

/* A pass: begin, then next for each turn, then end. Collective, all of them; their statuses are
 * this rank's own. next: this rank's share of the turn is the window *first .. *first + *count;
 * *count is 0 where the rank has none, or failed. A rank that failed still takes part in every
 * turn. end repeats the pass's first failure on this rank. */
amped_status amped_list_source_begin(amped_list_source *source);
amped_status amped_list_source_next(amped_list_source *source, uint64_t *first, uint64_t *count);
amped_status amped_list_source_end(amped_list_source *source);

#endif
