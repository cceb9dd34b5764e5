/* FROSTT text: writing nonzeros (io_tns.h), formatted by all threads. */
#include "text/io_tns.h"

#include <omp.h>
#include <string.h>

#include "text/io_number.h"
#include "text/io_stream.h"
#include "base/log.h"
#include "base/mem.h"

/* Nonzeros that a thread formats at a time: at most a few MiB of text. */
#define ROWS_PER_PIECE (UINT64_C(1) << 14)

struct amped_tns_writer {
  amped_stream *stream;
  uint64_t first; /* number of the first index, 0 or 1 */
  uint64_t done;  /* nonzeros written */
  int npieces;
  char *text; /* npieces pieces of piece_bytes bytes */
  uint64_t piece_bytes;
  uint64_t *lengths;
};

/* Format nonzeros first .. end as lines; returns the length of the text. */
static uint64_t format_rows(const amped_tns_writer *w, const amped_sptensor *t, uint64_t first,
                            uint64_t end, char *text) {
  char *p = text;
  for (uint64_t k = first; k < end; k++) {
    for (int m = 0; m < t->order; m++) {
      p += amped_number_print_u64(p, t->indices[m][k] + w->first);
      *p++ = ' ';
    }
    p += amped_number_print(p, t->values[k]);
    *p++ = '\n';
  }
  return (uint64_t)(p - text);
}

static amped_status write_header(const amped_tns_writer *w, int order, const uint64_t *dims,
                                 uint64_t nnz, bool from_zero) {
  char text[64 + AMPED_MAX_ORDER * AMPED_NUMBER_BYTES + AMPED_NUMBER_BYTES];
  char *p = stpcpy(text, "# dims:");
  for (int m = 0; m < order; m++) {
    *p++ = ' ';
    p += amped_number_print_u64(p, dims[m]);
  }
  p = stpcpy(p, "\n# nnz: ");
  p += amped_number_print_u64(p, nnz);
  *p++ = '\n';
  p = stpcpy(p, from_zero ? "# base: 0\n" : "# base: 1\n");
  return amped_stream_write(w->stream, text, (uint64_t)(p - text));
}

amped_status amped_tns_writer_create(const char *path, int order, const uint64_t *dims,
                                     uint64_t nnz, bool from_zero, amped_tns_writer **out) {
  amped_tns_writer *w = NULL;
  amped_status status = AMPED_OK;
  *out = NULL;
  AMPED_TRY(amped_calloc(&w, 1, sizeof *w, "a text file"));
  amped_progress_begin("writing", nnz, "nonzeros");
  w->first = from_zero ? 0 : 1;
  w->npieces = omp_get_max_threads();
  w->piece_bytes = ROWS_PER_PIECE * ((uint64_t)order + 1) * AMPED_NUMBER_BYTES;
  AMPED_GO(fail, amped_alloc(&w->text, (uint64_t)w->npieces, w->piece_bytes, "text"));
  AMPED_GO(fail, amped_alloc(&w->lengths, (uint64_t)w->npieces, sizeof *w->lengths, "text"));
  AMPED_GO(fail, amped_stream_create(path, &w->stream));
  AMPED_GO(fail, write_header(w, order, dims, nnz, from_zero));
  *out = w;
  return AMPED_OK;
fail:
  amped_tns_writer_discard(w);
  return status;
}

amped_status amped_tns_writer_append(amped_tns_writer *w, const amped_sptensor *t) {
  uint64_t nnz = t->nnz;
  uint64_t step = (uint64_t)w->npieces * ROWS_PER_PIECE;
  for (uint64_t first = 0; first < nnz; first += step) {
#pragma omp parallel for schedule(dynamic, 1)
    for (int i = 0; i < w->npieces; i++) {
      uint64_t left = nnz - first;
      uint64_t from = (uint64_t)i * ROWS_PER_PIECE;
      uint64_t to = from + ROWS_PER_PIECE;
      from = from < left ? from : left;
      to = to < left ? to : left;
      w->lengths[i] =
          format_rows(w, t, first + from, first + to, w->text + (uint64_t)i * w->piece_bytes);
    }
    for (int i = 0; i < w->npieces; i++)
      AMPED_TRY(
          amped_stream_write(w->stream, w->text + (uint64_t)i * w->piece_bytes, w->lengths[i]));
    amped_progress_update(w->done + (first + step < nnz ? first + step : nnz));
  }
  w->done += nnz;
  return AMPED_OK;
}

amped_status amped_tns_writer_finish(amped_tns_writer *w) {
  amped_status status = amped_stream_finish(w->stream);
  w->stream = NULL;
  amped_tns_writer_discard(w);
  return status;
}

void amped_tns_writer_discard(amped_tns_writer *w) {
  if (w == NULL)
    return;
  if (w->stream != NULL)
    amped_stream_discard(w->stream);
  amped_free(w->lengths);
  amped_free(w->text);
  amped_free(w);
  amped_progress_end();
}

amped_status amped_tns_write(const char *path, const amped_sptensor *t, bool from_zero) {
  amped_tns_writer *w = NULL;
  amped_status status = AMPED_OK;
  AMPED_TRY(amped_tns_writer_create(path, t->order, t->dims, t->nnz, from_zero, &w));
  AMPED_GO(fail, amped_tns_writer_append(w, t));
  return amped_tns_writer_finish(w);
fail:
  amped_tns_writer_discard(w);
  return status;
}
