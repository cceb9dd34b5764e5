/* Slice reader: slices of a dense tensor's file, which is not in memory, group by group. A slice
 * has one index of the mode that is slowest in the file, so its cells lie together. A thread reads
 * a group while the caller computes with the one before: there are two buffers. Not collective.
 *
 * While a group is read, the caller uses no HDF5. */
#ifndef AMPED_SLICE_READER_H
#define AMPED_SLICE_READER_H

#include "backend/backend.h"
#include "load/dense_source.h"
#include "plan/plan.h"

typedef struct amped_slice_reader amped_slice_reader;

/* Bytes of host memory for groups of so many slices of a plan's tensor. */
uint64_t amped_slice_reader_bytes(const amped_plan *plan, uint64_t slices);

/* Buffers are host memory that transfers fast to the worker's device. Source and worker outlive the
 * reader. destroy waits for the thread; it takes NULL, too. */
amped_status amped_slice_reader_create(amped_dense_source *source, const amped_worker *worker,
                                       uint64_t slices, amped_slice_reader **out);
void amped_slice_reader_destroy(amped_slice_reader *reader);

/* Begin to read the slices of these indices, at most as many as at create. One group is read at a
 * time. The indices stay until wait. */
void amped_slice_reader_begin(amped_slice_reader *reader, const uint64_t *indices, uint64_t count);
/* *cells = the group's, slice after slice, in the file's type; valid until the second begin from
 * now. AMPED_BAD_INPUT where one is not finite. */
amped_status amped_slice_reader_wait(amped_slice_reader *reader, const void **cells);

/* Bytes that were read, and the seconds that the thread took. */
uint64_t amped_slice_reader_total(const amped_slice_reader *reader, double *seconds);

#endif
