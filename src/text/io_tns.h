/* FROSTT text (.tns) and its dialects: reading and writing.
 *
 * Reading: order+1 fields a line, blanks between them, '#' comments, lines that begin with '%',
 * blank lines. Headers: Tensor Toolbox / pyttb ("sptensor", order, dims, nnz, indices from 1;
 * "tensor", order, dims, all values, whose nonzeros are read); GenTen (the same, with
 * indices-start-at-zero or -one behind the word); ParTI (a line with the order, a line with the
 * dims, perhaps one with nnz); extended FROSTT (order and nnz, then dims); order, dims and nnz in
 * one line; Matrix Market (a banner, then dims and nnz); dims and nnz alone (io_tns_claim.h); and
 * our own comments "# dims: 3 4 5" and
 * "# nnz: 4". All threads parse, strictly: an error names its line. The caller frees the tensor.
 *
 * Writing: "# dims:" and "# nnz:" comments, then one line "i j k value" for each nonzero. Indices
 * start at 1; values are the shortest decimals that read back exactly. */
#ifndef AMPED_IO_TNS_H
#define AMPED_IO_TNS_H

#include "text/io_format.h"

amped_status amped_tns_read(const char *path, const amped_read_options *options,
                            amped_sptensor *out);
/* *line = the first line of a nonzero that has this index (from 0) in a mode; 0: none has. Reads
 * the file, which amped_tns_read took, again, for messages. */
amped_status amped_tns_line(const char *path, const amped_read_options *options, int mode,
                            uint64_t index, uint64_t *line);
/* How a text counts indices. A comment says so where others of the same user count from 0. */
typedef enum amped_tns_base {
  AMPED_TNS_FROM_1, /* without a comment, as everybody's texts */
  AMPED_TNS_SAYS_1,
  AMPED_TNS_SAYS_0
} amped_tns_base;

amped_status amped_tns_write(const char *path, const amped_sptensor *t, amped_tns_base base);

/* The writer of a tensor that comes in pieces. finish and discard free it; discard takes NULL. */
typedef struct amped_tns_writer amped_tns_writer;
amped_status amped_tns_writer_create(const char *path, int order, const uint64_t *dims,
                                     uint64_t nnz, amped_tns_base base, amped_tns_writer **out);
amped_status amped_tns_writer_append(amped_tns_writer *w, const amped_sptensor *t);
amped_status amped_tns_writer_finish(amped_tns_writer *w);
void amped_tns_writer_discard(amped_tns_writer *w);

#endif
