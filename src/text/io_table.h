/* CSV and TSV tables with a header row: key columns hold any strings and become labelled modes.
 *
 * RFC 4180 quoting (doubled quotes, separators and line ends inside quotes) for .csv; .tsv is split
 * at tabs, quotes are data. A byte-order mark and CRLF are accepted. The labels of a mode are its
 * distinct key strings in order of first appearance, whatever the number of threads. */
#ifndef AMPED_IO_TABLE_H
#define AMPED_IO_TABLE_H

#include "text/io_format.h"

amped_status amped_table_read(const char *path, const amped_read_options *options,
                              amped_sptensor *out);

#endif
