/* FROSTT text (.tns) and its dialects, in and out.
 *
 * In: order+1 fields a line, blanks between, '#' comments, blank lines. Headers recognised: Tensor
 * Toolbox / pyttb ("sptensor", order, dims, nnz, 1-based entries; "tensor", order, dims, all
 * values, of which the nonzeros are taken), GenTen (the same, 0-based unless
 * the first line says indices-start-at-one), ParTI (a line with the order, a line with the dims),
 * and our own comments "# dims: 3 4 5" and "# nnz: 4". Parsed strictly by all threads: the message
 * names the line. Out: one "i j k value" line a nonzero from index 1, shortest decimals that read
 * back exactly, after "# dims:" and "# nnz:" comments. */
#ifndef AMPED_IO_TNS_H
#define AMPED_IO_TNS_H

#include "text/io_format.h"

amped_status amped_tns_read(const char *path, const amped_read_options *options,
                            amped_sptensor *out);
amped_status amped_tns_write(const char *path, const amped_sptensor *t);

/* The same of a tensor that comes in pieces. finish and discard (NULL is allowed) free the writer.
 */
typedef struct amped_tns_writer amped_tns_writer;
amped_status amped_tns_writer_create(const char *path, int order, const uint64_t *dims,
                                     uint64_t nnz, amped_tns_writer **out);
amped_status amped_tns_writer_append(amped_tns_writer *w, const amped_sptensor *t);
amped_status amped_tns_writer_finish(amped_tns_writer *w);
void amped_tns_writer_discard(amped_tns_writer *w);

#endif
