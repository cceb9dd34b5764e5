/* Tables out: tensors and results as rows with labels, for programs that read CSV (RFC 4180) or
 * TSV.
 *
 * A tensor gives one row a nonzero: a column for each mode, under the mode's name or mode1, mode2,
 * ..., then the column "value". A result gives OUT.csv, one row an entry of a factor, with the
 * columns component, mode, label and weight, and OUT.weights.csv with the columns component and
 * weight. Components have their numbers of `top`; a mode without name has its number. Modes and,
 * where a mode has no labels, indices are counted from 1, as in text tensors. Names of columns are
 * made distinct. A completion model (c; NULL: none) comes in the values' own units: its biases are
 * rows of component "bias", its mean is the weight of component "mean". Numbers are the shortest
 * that read back exactly. TSV has no quotes: a label with a tab or a line end is AMPED_BAD_INPUT
 * there. */
#ifndef AMPED_IO_TABLE_WRITE_H
#define AMPED_IO_TABLE_WRITE_H

#include <stdbool.h>

#include "tensor/completion.h"
#include "tensor/sptensor.h"

/* Does the name end in .csv or .tsv, perhaps with .gz or .zst? */
bool amped_table_named(const char *path);

/* "OUT.weights.csv" for "OUT.csv"; the caller frees it with amped_free. */
amped_status amped_table_weights_name(const char *path, char **out);

amped_status amped_table_write_tensor(const char *path, const amped_sptensor *t);
amped_status amped_table_write_result(const char *path, const amped_ktensor *k,
                                      const amped_completion *c);

/* The writer of recommendations: a row each, with the columns of a mode, "rank", another mode and
 * "value". Labels, one for each mode, are borrowed; rank counts from 1. finish and discard free the
 * writer; discard takes NULL. */
typedef struct amped_table_ranking amped_table_ranking;
amped_status amped_table_ranking_create(const char *path, const amped_labels *labels, int target,
                                        int of, amped_table_ranking **out);
amped_status amped_table_ranking_row(amped_table_ranking *w, uint64_t target, uint64_t rank,
                                     uint64_t index, double value);
amped_status amped_table_ranking_finish(amped_table_ranking *w);
void amped_table_ranking_discard(amped_table_ranking *w);

/* The writer of a tensor that comes in pieces, whose own labels do not count; `labels`, one for
 * each mode, is borrowed. finish and discard free the writer; discard takes NULL. */
typedef struct amped_table_writer amped_table_writer;
amped_status amped_table_writer_create(const char *path, int order, const amped_labels *labels,
                                       uint64_t nnz, amped_table_writer **out);
amped_status amped_table_writer_append(amped_table_writer *w, const amped_sptensor *t);
amped_status amped_table_writer_finish(amped_table_writer *w);
void amped_table_writer_discard(amped_table_writer *w);

#endif
