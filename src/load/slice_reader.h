/* Slice reader: slices of a dense tensor that stays in its file, group by group. A slice has one
 * index of the slowest mode in the file, so its cells are consecutive. A thread reads a group while
 * the caller computes with the previous one: there are two buffers. Not collective.
 *
 * While a group is read, the caller must not use HDF5. */
#ifndef AMPED_SLICE_READER_H
#define AMPED_SLICE_READER_H

#include "backend/backend.h"
#include "load/dense_source.h"
#include "plan/plan.h"

typedef struct amped_slice_reader amped_slice_reader;

/* Bytes of host memory for groups of `slices` slices of a plan's tensor. */
uint64_t amped_slice_reader_bytes(const amped_plan *plan, uint64_t slices);

/* Buffers are host memory that transfers fast to the worker's device. Source and worker outlive the
 * reader. destroy waits for the thread; it accepts NULL. */
amped_status amped_slice_reader_create(amped_dense_source *source, const amped_worker *worker,
                                       uint64_t slices, amped_slice_reader **out);
void amped_slice_reader_destroy(amped_slice_reader *reader);

/* Begin to read the slices at these indices; count is at most `slices` of create. One group is read
 * at a time. The indices must stay valid until wait. */
void amped_slice_reader_begin(amped_slice_reader *reader, const uint64_t *indices, uint64_t count);
/* *cells = cells of the group, slice after slice, in the file's type; valid until the second begin
 * after this call. AMPED_BAD_INPUT if a cell is not finite. */
amped_status amped_slice_reader_wait(amped_slice_reader *reader, const void **cells);

/* Bytes read so far. seconds: spent reading. waited: spent reading while wait held the caller, at
 * most `seconds`. */
uint64_t amped_slice_reader_total(const amped_slice_reader *reader, double *seconds,
                                  double *waited);

#endif
