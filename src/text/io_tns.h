/* FROSTT text (.tns) and its dialects: reading and writing.
 *
 * Reading: order+1 fields per line, separated by blanks; '#' comments, lines that begin with '%',
 * blank lines. All threads parse, strictly: an error names its line. The caller frees the tensor.
 *
 * These headers are read:
 *
 * - Tensor Toolbox / pyttb: "sptensor", order, dims, nnz, indices from 1; or "tensor", order, dims,
 *   all values, of which the nonzeros are kept.
 * - GenTen: the same, with indices-start-at-zero or -one after the word.
 * - ParTI: a line with the order, a line with the dims, perhaps one with nnz.
 * - Extended FROSTT: order and nnz, then dims.
 * - Order, dims and nnz in one line.
 * - Matrix Market: a banner, then dims and nnz.
 * - dims and nnz alone (io_tns_claim.h).
 * - Our own comments "# dims: 3 4 5" and "# nnz: 4".
 *
 * Writing: "# dims:", "# nnz:" and "# base:" comments, then one line "i j k value" per nonzero.
 * Indices start at 0 or 1; values are the shortest decimals that read back exactly. */
#ifndef AMPED_IO_TNS_H
#define AMPED_IO_TNS_H

#include "text/io_format.h"

amped_status amped_tns_read(const char *path, const amped_read_options *options,
                            amped_sptensor *out);
/* Find the first line of a nonzero with this index (from 0) in a mode, for messages; *line is 0 if
 * there is none. Reads the file again; amped_tns_read must have accepted it. */
amped_status amped_tns_line(const char *path, const amped_read_options *options, int mode,
                            uint64_t index, uint64_t *line);
amped_status amped_tns_write(const char *path, const amped_sptensor *t, bool from_zero);

/* Writer of a tensor that arrives in pieces. finish and discard free it; discard accepts NULL. */
typedef struct amped_tns_writer amped_tns_writer;
amped_status amped_tns_writer_create(const char *path, int order, const uint64_t *dims,
                                     uint64_t nnz, bool from_zero, amped_tns_writer **out);
amped_status amped_tns_writer_append(amped_tns_writer *w, const amped_sptensor *t);
amped_status amped_tns_writer_finish(amped_tns_writer *w);
void amped_tns_writer_discard(amped_tns_writer *w);

#endif
