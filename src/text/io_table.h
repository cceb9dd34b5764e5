/* CSV and TSV tables: key columns hold any strings and become labelled modes.
 *
 * In .csv, quoting follows RFC 4180 (doubled quotes; separators and line ends inside quotes). In
 * .tsv, rows are split at tabs, and quotes are data. A byte-order mark and CRLF are accepted. The
 * labels of a mode are its distinct key strings in order of first appearance, for any number of
 * threads. Modes that share labels (--same-labels) have one common order of first appearance: by
 * row, and within a row by mode. The caller frees the tensor. */
#ifndef AMPED_IO_TABLE_H
#define AMPED_IO_TABLE_H

#include "text/io_format.h"

amped_status amped_table_read(const char *path, const amped_read_options *options,
                              amped_sptensor *out);

/* Find the lines of the first two rows whose keys are the labels of t at `index`, for messages; 0
 * if there are fewer. Reads the file again; amped_table_read must have accepted it. */
amped_status amped_table_lines(const char *path, const amped_read_options *options,
                               const amped_sptensor *t, const uint64_t *index, uint64_t lines[2]);

#endif
