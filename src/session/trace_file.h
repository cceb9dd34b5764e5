/* Trace file: the traces of all ranks as one JSON file that Perfetto (ui.perfetto.dev) and
 * chrome://tracing show: a process row for every rank, in it a row for every lane.
 *
 * Times are microseconds since the first event of any rank. The clocks of other ranks are compared
 * with rank 0's once, at the start, by messages to and fro: the shortest of some round trips bounds
 * the error, and the file holds that bound. Drift after that is not corrected. */
#ifndef AMPED_TRACE_FILE_H
#define AMPED_TRACE_FILE_H

#include "mpi/comm.h"

typedef struct amped_trace_file amped_trace_file;

/* Collective; the status is agreed. Can `path` be written? And compares clocks. */
amped_status amped_trace_file_open(const amped_comm *comm, const char *path,
                                   amped_trace_file **out);

/* Collective; the status is agreed. Takes the events that amped_trace recorded, one rank after the
 * other to rank 0, which writes them under a temporary name and renames the file. `place` is what
 * this rank computes on, for its row's name. Says what it wrote. */
amped_status amped_trace_file_write(amped_trace_file *file, const char *place);
void amped_trace_file_close(amped_trace_file *file);

#endif
