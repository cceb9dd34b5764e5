/* Trace file: the traces of all ranks as one JSON file for Perfetto (ui.perfetto.dev) and
 * chrome://tracing. Each rank is a process row, with a row for each lane.
 *
 * Times are microseconds since the first event of any rank. At the start, messages between rank 0
 * and each other rank compare the clocks. The shortest of several round trips bounds the error, and
 * the file holds this bound. Later drift is not corrected. */
#ifndef AMPED_TRACE_FILE_H
#define AMPED_TRACE_FILE_H

#include "mpi/comm.h"

typedef struct amped_trace_file amped_trace_file;

/* Collective; the status is agreed. Compares the ranks' clocks. Fails if `path` cannot be
 * written. */
amped_status amped_trace_file_open(const amped_comm *comm, const char *path,
                                   amped_trace_file **out);

/* Collective; the status is agreed. Sends the events that amped_trace recorded to rank 0, one rank
 * after the other. Rank 0 writes them under a temporary name, renames the file, and prints its
 * name. place: the rank's device, for the name of its row. */
amped_status amped_trace_file_write(amped_trace_file *file, const char *place);
void amped_trace_file_close(amped_trace_file *file);

/* The most bytes that a trace of `nranks` ranks can have. */
uint64_t amped_trace_file_bytes(int nranks);

#endif
