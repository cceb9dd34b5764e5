/* Tables out: tensors and results as rows with labels, for programs that read CSV (RFC 4180) or
 * TSV.
 *
 * A tensor gives one row per nonzero. It has one column per mode, with the mode's name or mode1,
 * mode2, ..., then the column "value".
 *
 * A result gives two tables. OUT.csv has one row per factor entry, with the columns component,
 * mode, label and weight. OUT.weights.csv has the columns component and weight. Components are
 * numbered as by `top`; a mode without a name has its number.
 *
 * Modes are counted from 1. So are indices in modes without labels, as in text tensors. Names of
 * columns are made distinct. Numbers are the shortest that read back exactly.
 *
 * A completion model (c; NULL: none) must be in the values' own units. Its biases are rows of
 * component "bias"; its mean is the weight of component "mean". TSV has no quotes, so a label with
 * a tab or a line end, or a blank at an end, is AMPED_BAD_INPUT. */
#ifndef AMPED_IO_TABLE_WRITE_H
#define AMPED_IO_TABLE_WRITE_H

#include <stdbool.h>

#include "tensor/completion.h"
#include "tensor/sptensor.h"

/* Does the name end in .csv or .tsv, perhaps with .gz or .zst? */
bool amped_table_named(const char *path);

/* Name of the weights' table: "OUT.weights.csv" for "OUT.csv". The caller frees it with
 * amped_free. */
amped_status amped_table_weights_name(const char *path, char **out);

amped_status amped_table_write_tensor(const char *path, const amped_sptensor *t);
amped_status amped_table_write_result(const char *path, const amped_ktensor *k,
                                      const amped_completion *c);

/* Writer of recommendations, one per row, with the columns of mode `target`, "rank", mode `of` and
 * "value". Labels, one per mode, are borrowed; rank counts from 1. finish and discard free the
 * writer; discard accepts NULL. */
typedef struct amped_table_ranking amped_table_ranking;
amped_status amped_table_ranking_create(const char *path, const amped_labels *labels, int target,
                                        int of, amped_table_ranking **out);
amped_status amped_table_ranking_row(amped_table_ranking *w, uint64_t target, uint64_t rank,
                                     uint64_t index, double value);
amped_status amped_table_ranking_finish(amped_table_ranking *w);
void amped_table_ranking_discard(amped_table_ranking *w);

/* Writer of errors by label of a mode, one label per row, with the columns of the mode, "cells",
 * "rmse" and "mae". Else as above; labels: of this mode. */
typedef struct amped_table_errors amped_table_errors;
amped_status amped_table_errors_create(const char *path, const amped_labels *labels, int mode,
                                       amped_table_errors **out);
amped_status amped_table_errors_row(amped_table_errors *w, uint64_t index, uint64_t cells,
                                    double rmse, double mae);
amped_status amped_table_errors_finish(amped_table_errors *w);
void amped_table_errors_discard(amped_table_errors *w);

/* Writer of a tensor that arrives in pieces, whose own labels are ignored. `labels`, one per mode,
 * is borrowed. finish and discard free the writer; discard accepts NULL. */
typedef struct amped_table_writer amped_table_writer;
amped_status amped_table_writer_create(const char *path, int order, const amped_labels *labels,
                                       uint64_t nnz, amped_table_writer **out);
amped_status amped_table_writer_append(amped_table_writer *w, const amped_sptensor *t);
amped_status amped_table_writer_finish(amped_table_writer *w);
void amped_table_writer_discard(amped_table_writer *w);

#endif
