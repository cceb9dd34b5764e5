/* List source: passes over a file's coordinate list, in turns (rounds), as often as needed.
 *
 * Slabs of the list, some at a time, are assigned round-robin: in turn t, rank p of `readers` has
 * share t * readers + p. A rank's share of the turn is a window of its list part (backend.h).
 *
 * If the backends of all ranks have enough memory, the list is held: the first pass reads the file
 * once, and rank p keeps its slabs. If only rank 0 reads, it sends every slab to its rank. Later
 * passes read nothing. Otherwise every pass reads the file, slab by slab; the readers are rank 0,
 * or all ranks with `parallel`.
 *
 * For an input in parts (input.h), a rank's shares are its own part: all of it in one turn if the
 * list is held, else one slab's nonzeros per turn. */
#ifndef AMPED_LIST_SOURCE_H
#define AMPED_LIST_SOURCE_H

#include "backend/backend.h"
#include "load/slab_reader.h"

typedef struct amped_list_source amped_list_source;

/* Collective; the status is agreed. Open the list of an input. parallel: all ranks read it, not
 * rank 0 alone. Arguments are borrowed until close. The worker's device must be open. */
amped_status amped_list_source_open(const amped_comm *comm, amped_input *input, bool parallel,
                                    const amped_worker *worker, amped_list_source **out);

/* NULL is allowed. Not collective. */
void amped_list_source_close(amped_list_source *source);

/* Collective; the status is agreed. Stop holding the list, and free its memory. */
amped_status amped_list_source_release(amped_list_source *source);

/* Is the list held? The same answer on every rank. */
bool amped_list_source_held(const amped_list_source *source);

/* The rank's list part. */
amped_list_part *amped_list_source_part(const amped_list_source *source);

/* Bytes of device memory that the source holds now; bytes of host memory that later passes take. */
uint64_t amped_list_source_device_bytes(const amped_list_source *source);
uint64_t amped_list_source_host_bytes(const amped_list_source *source);

/* Nonzeros distributed at a time, and nonzeros that arrive at a rank at a time; both at most. */
uint64_t amped_list_source_window(const amped_list_source *source);
uint64_t amped_list_source_arriving(const amped_list_source *source);

/* Turns of a pass; most nonzeros of a rank in a turn. */
uint64_t amped_list_source_turns(const amped_list_source *source);
uint64_t amped_list_source_turn_nnz(const amped_list_source *source);

/* A pass: begin, then next for each turn, then end. All are collective; their statuses are this
 * rank's own. next: this rank's share of the turn is the window *first .. *first + *count. *count
 * is 0 if the rank has no share, or has failed. A rank that failed still takes part in every turn.
 * end repeats the pass's first failure on this rank. */
amped_status amped_list_source_begin(amped_list_source *source);
amped_status amped_list_source_next(amped_list_source *source, uint64_t *first, uint64_t *count);
amped_status amped_list_source_end(amped_list_source *source);

#endif
