/* CSV and TSV tables with a header row: key columns hold any strings and become labelled modes.
 *
 * In .csv, quoting follows RFC 4180 (doubled quotes; separators and line ends inside quotes). In
 * .tsv, rows are split at tabs, and quotes are data. A byte-order mark and CRLF are accepted. The
 * labels of a mode are its distinct key strings in order of first appearance, for any number of
 * threads. The caller frees the tensor. */
#ifndef AMPED_IO_TABLE_H
#define AMPED_IO_TABLE_H

#include "text/io_format.h"

amped_status amped_table_read(const char *path, const amped_read_options *options,
                              amped_sptensor *out);

#endif
