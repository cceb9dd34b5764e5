/* External sort: spilling, merging by mode 0, and writing every copy from the sorted sequence. */
#include "sort_on_disk/external_sort.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "text/io_table_write.h"
#include "text/io_tns.h"
#include "base/log.h"
#include "tensor/stream_stats.h"
#include "base/mem.h"
#include "sort_on_disk/spill.h"
#include "formats/tensor_write.h"

/* Quarters of the allowed memory for nonzeros; the rest is for buffers. */
#define NONZEROS_OF_4 3

/* Bytes of a number in a text file, with its blank: an estimate used until the size is known. */
#define TEXT_FIELD_BYTES 8

struct amped_external_sort {
  amped_external_sort_spec spec;
  amped_overflow overflow;
  char *folder;          /* folder of temporary files */
  uint64_t most;         /* most nonzeros in a fragment */
  amped_spill *unsorted; /* nonzeros as read, in sorted fragments */
  amped_spill *ordered;  /* all nonzeros, sorted by mode 0 */
  amped_tensor_info info;
  amped_stream_stats stats;
  uint64_t nnz_read, duplicates, zeros;
  amped_sptensor_group group; /* group of the nonzero that waits for the next piece */
  uint64_t temporary_bytes;
  /* for --duplicates=error: the first duplicate */
  bool refused;
  uint64_t first_duplicate[AMPED_MAX_ORDER];
};

/* --- disk space ------------------------------------------------------------------------------- */

static amped_status check_room(const amped_external_sort *x, uint64_t temporary, uint64_t final) {
  const amped_file_need needs[] = {
      {x->spec.output, final, "name another file"},
      {x->folder, temporary, "name another folder with --temporary, or allow more --memory"}};
  return x->spec.output != NULL ? amped_file_check_room(needs, 2)
                                : amped_file_check_room(&needs[1], 1);
}

/* Temporary bytes for `bytes` of nonzeros: at most two sequences of all nonzeros are on disk, the
 * input of a sort and its result. */
static uint64_t temporary_need(uint64_t bytes) {
  return 2 * bytes;
}

/* Average bytes of a row of text or of a table. labels NULL: not known yet. */
static uint64_t row_bytes(const amped_tensor_info *info, const amped_labels *labels) {
  uint64_t bytes = TEXT_FIELD_BYTES;
  for (int m = 0; m < info->order; m++)
    bytes += labels == NULL || labels[m].count == 0
                 ? TEXT_FIELD_BYTES
                 : amped_ceil_div(labels[m].offsets[labels[m].count], labels[m].count) + 1;
  return bytes;
}

static uint64_t final_need(const amped_external_sort *x, const amped_tensor_info *info,
                           const amped_labels *labels) {
  if (x->spec.output == NULL)
    return 0;
  if (x->spec.format == AMPED_FORMAT_HDF5)
    return amped_tensor_file_bytes(info, labels);
  return info->nnz * row_bytes(info, x->spec.format == AMPED_FORMAT_TABLE ? labels : NULL);
}

/* Check that memory suffices for merging: fail now rather than after hours of reading. */
static amped_status check_memory(const amped_external_sort *x, const amped_tensor_info *info) {
  uint64_t fragments = amped_ceil_div(info->nnz, x->most);
  char memory[32];
  if (amped_spill_merge_memory(info->order, fragments) <= x->overflow.memory)
    return AMPED_OK;
  return amped_error(AMPED_USAGE, x->spec.input,
                     "has about %" PRIu64 " nonzeros, too many to be sorted with %s of memory; "
                     "give more with --memory",
                     info->nnz, amped_format_bytes(memory, x->spec.memory));
}

/* Print the expected size and check the free disk space, after the first fragment is on disk and
 * `fraction` of the input is read. */
static amped_status plan(amped_external_sort *x, const amped_sptensor *t, double fraction) {
  amped_tensor_info info = {.order = t->order, .value_type = AMPED_F64};
  char temporary[32], final[32], memory[32];
  char output[64] = "";
  info.has_copies = x->spec.copies;
  info.nnz = fraction > 0.0 ? (uint64_t)((double)x->nnz_read / fraction) : x->nnz_read;
  for (int m = 0; m < t->order; m++) {
    int bits = amped_sort_bits(t->indices[m], t->nnz);
    info.dims[m] = bits < 63 ? UINT64_C(1) << bits : AMPED_MAX_DIM;
  }
  if (amped_sptensor_fits_float(t))
    info.value_type = AMPED_F32;
  AMPED_TRY(check_memory(x, &info));
  uint64_t bytes =
      (uint64_t)((double)amped_spill_bytes(x->unsorted) * ((double)info.nnz / (double)x->nnz_read));
  const char *about = fraction > 0.0 ? "about" : "more than";
  if (x->spec.output != NULL)
    (void)snprintf(output, sizeof output, ", %s %s of output", about,
                   amped_format_bytes(final, final_need(x, &info, NULL)));
  amped_say("sorting on disk, because nonzeros need more than the %s allowed (--memory): %s %s of "
            "temporary files in %s%s",
            amped_format_bytes(memory, x->spec.memory), about,
            amped_format_bytes(temporary, temporary_need(bytes)), x->folder, output);
  return check_room(x, temporary_need(bytes), final_need(x, &info, NULL));
}

/* --- reading ---------------------------------------------------------------------------------- */

static void note_temporary(amped_external_sort *x) {
  uint64_t bytes = 0;
  bytes += x->unsorted != NULL ? amped_spill_bytes(x->unsorted) : 0;
  bytes += x->ordered != NULL ? amped_spill_bytes(x->ordered) : 0;
  x->temporary_bytes = bytes > x->temporary_bytes ? bytes : x->temporary_bytes;
}

/* Sort the nonzeros in memory and add them to the disk. */
static amped_status spill(amped_external_sort *x, amped_sptensor *t) {
  x->nnz_read += t->nnz;
  AMPED_TRY(amped_sptensor_sort(t, 0));
  AMPED_TRY(amped_spill_add(x->unsorted, t));
  note_temporary(x);
  return AMPED_OK;
}

static amped_status take(void *context, amped_sptensor *t, double fraction) {
  amped_external_sort *x = context;
  bool first = x->unsorted == NULL;
  if (first) {
    x->info.order = t->order;
    x->most = amped_overflow_most(x->overflow.memory, t->order);
    AMPED_TRY(amped_spill_create(x->folder, t->order, &x->unsorted));
  }
  AMPED_TRY(spill(x, t));
  if (first)
    AMPED_TRY(plan(x, t, fraction));
  t->nnz = 0;
  return AMPED_OK;
}

static amped_status choose_folder(amped_external_sort *x) {
  if (x->spec.temporary != NULL)
    return amped_strdup(&x->folder, x->spec.temporary);
  if (x->spec.output != NULL && !amped_file_is_special(x->spec.output))
    return amped_file_folder(x->spec.output, &x->folder);
  return amped_strdup(&x->folder, amped_file_scratch());
}

amped_status amped_external_sort_create(const amped_external_sort_spec *spec,
                                        amped_external_sort **out) {
  amped_external_sort *x = NULL;
  *out = NULL;
  AMPED_TRY(amped_calloc(&x, 1, sizeof *x, "the order on disk"));
  x->spec = *spec;
  x->overflow =
      (amped_overflow){.memory = spec->memory / 4 * NONZEROS_OF_4, .take = take, .context = x};
  amped_status status = choose_folder(x);
  if (status != AMPED_OK) {
    amped_external_sort_free(x);
    return status;
  }
  *out = x;
  return AMPED_OK;
}

void amped_external_sort_free(amped_external_sort *x) {
  if (x == NULL)
    return;
  amped_stream_stats_drop(&x->stats);
  amped_dictionary_free(&x->info.dictionary);
  amped_spill_free(x->unsorted);
  amped_spill_free(x->ordered);
  amped_free(x->folder);
  amped_free(x);
}

const amped_overflow *amped_external_sort_overflow(const amped_external_sort *x) {
  return &x->overflow;
}

bool amped_external_sort_used(const amped_external_sort *x) {
  return x->unsorted != NULL || x->ordered != NULL;
}

/* --- ordering by mode 0 ----------------------------------------------------------------------- */

static void note_duplicate(amped_external_sort *x, const amped_sptensor *t, uint64_t k) {
  for (int m = 0; m < t->order && !x->refused; m++)
    x->first_duplicate[m] = t->indices[m][k];
  x->refused = true;
}

static amped_status merge_duplicates(amped_external_sort *x, amped_sptensor *t) {
  uint64_t found = 0;
  uint64_t first = 0;
  if (x->spec.duplicates != AMPED_DUPLICATES_ERROR)
    AMPED_TRY(amped_sptensor_merge_piece(t, x->spec.duplicates, &x->group, x->spec.input, &found));
  else {
    found = amped_sptensor_duplicates(t, &first);
    if (found > 0)
      note_duplicate(x, t, first);
  }
  x->duplicates += found;
  return AMPED_OK;
}

/* Merge duplicates and drop zeros in the next piece of sorted nonzeros. Its last nonzero waits for
 * the next piece, which may begin with the same coordinate. */
static amped_status refine(void *context, amped_sptensor *t, bool last) {
  amped_external_sort *x = context;
  uint64_t index[AMPED_MAX_ORDER];
  AMPED_TRY(merge_duplicates(x, t));
  if (!last && t->nnz < 2)
    return AMPED_OK;
  t->nnz -= last ? 0 : 1;
  uint64_t kept = t->nnz;
  double value = t->values[last ? kept - 1 : kept];
  for (int m = 0; m < t->order; m++)
    index[m] = t->indices[m][last ? kept - 1 : kept];
  x->zeros += amped_sptensor_zeros(t);
  if (x->spec.drop_zeros)
    amped_sptensor_drop_zeros(t, &kept);
  if (!x->refused) {
    amped_stream_stats_add(&x->stats, t);
    AMPED_TRY(amped_spill_add(x->ordered, t));
    note_temporary(x);
  }
  t->nnz = last ? 0 : 1;
  for (int m = 0; m < t->order; m++)
    t->indices[m][0] = index[m];
  t->values[0] = value;
  return AMPED_OK;
}

static amped_status merge_fragments(amped_external_sort *x) {
  int modes[AMPED_MAX_ORDER];
  for (int m = 0; m < x->info.order; m++)
    modes[m] = m;
  AMPED_TRY(amped_spill_create(x->folder, x->info.order, &x->ordered));
  AMPED_TRY(amped_stream_stats_begin(&x->stats));
  return amped_spill_merge(x->unsorted, modes, x->info.order, x->overflow.memory, refine, x);
}

amped_status amped_external_sort_order(amped_external_sort *x, amped_sptensor *t) {
  amped_tensor_info *info = &x->info;
  info->order = t->order;
  memcpy(info->dims, t->dims, sizeof info->dims);
  info->has_copies = x->spec.copies;
  AMPED_TRY(spill(x, t));
  /* Free the arrays, because merging needs the memory. */
  for (int m = 0; m < t->order; m++) {
    amped_free(t->indices[m]);
    t->indices[m] = NULL;
  }
  amped_free(t->values);
  t->values = NULL;
  t->nnz = 0;
  info->nnz = x->nnz_read;
  info->value_type = AMPED_F32;
  AMPED_TRY(
      check_room(x, temporary_need(amped_spill_bytes(x->unsorted)) - amped_spill_bytes(x->unsorted),
                 final_need(x, info, NULL)));
  amped_progress_begin("ordering", x->nnz_read, "nonzeros");
  amped_status status = merge_fragments(x);
  amped_progress_end();
  AMPED_TRY(status);
  amped_spill_free(x->unsorted);
  x->unsorted = NULL;
  info->nnz = x->refused ? 0 : amped_spill_nnz(x->ordered);
  info->duplicates = amped_duplicates_after(t->duplicates, x->spec.duplicates, x->duplicates);
  if (info->nnz == 0) /* the caller reports why */
    return AMPED_OK;
  return amped_stream_stats_end(&x->stats, info);
}

amped_external_sort_found amped_external_sort_tell(const amped_external_sort *x) {
  return (amped_external_sort_found){.info = &x->info,
                                     .nnz_read = x->nnz_read,
                                     .duplicates = x->duplicates,
                                     .refused = x->refused ? x->first_duplicate : NULL,
                                     .zeros = x->zeros,
                                     .temporary_bytes = x->temporary_bytes};
}

/* --- all nonzeros once more ------------------------------------------------------------------- */

static uint64_t min(uint64_t a, uint64_t b) {
  return a < b ? a : b;
}

/* Pass all nonzeros of a spill to `use`, in their order, in pieces of at most x->most. */
static amped_status for_all(const amped_external_sort *x, const amped_spill *from,
                            amped_spill_sink use, void *context) {
  const uint64_t nnz = amped_spill_nnz(from);
  amped_sptensor t;
  amped_status status = AMPED_OK;
  AMPED_TRY(amped_sptensor_create(&t, x->info.order, min(nnz, x->most)));
  for (uint64_t first = 0, n = 0; first < nnz && status == AMPED_OK; first += n) {
    n = min(nnz - first, x->most);
    status = amped_spill_read(from, first, n, &t);
    if (status == AMPED_OK)
      status = use(context, &t, first + n == nnz);
  }
  amped_sptensor_free(&t);
  return status;
}

/* Rewriting of nonzeros with new indices. */
typedef struct rewrite {
  amped_external_sort *x;
  amped_spill *from, *to;
  amped_external_sort_changer change;
  const void *context;
} rewrite;

static amped_status add_changed(void *context, amped_sptensor *t, bool last) {
  rewrite *r = context;
  (void)last;
  r->change(r->context, t);
  if (r->x->ordered == NULL)
    AMPED_TRY(amped_sptensor_sort(t, 0));
  else
    amped_stream_stats_add(&r->x->stats, t);
  AMPED_TRY(amped_spill_add(r->to, t));
  const uint64_t bytes = amped_spill_bytes(r->from) + amped_spill_bytes(r->to);
  r->x->temporary_bytes = bytes > r->x->temporary_bytes ? bytes : r->x->temporary_bytes;
  return AMPED_OK;
}

/* Reset the facts of the ordered nonzeros, which are then computed again. */
static amped_status forget_facts(amped_external_sort *x, const uint64_t *dims) {
  memcpy(x->info.dims, dims, sizeof x->info.dims);
  amped_dictionary_free(&x->info.dictionary);
  return amped_stream_stats_begin(&x->stats);
}

amped_status amped_external_sort_change(amped_external_sort *x, const uint64_t *dims,
                                        amped_external_sort_changer change, const void *context) {
  const bool ordered = x->ordered != NULL;
  amped_spill **spill = ordered ? &x->ordered : &x->unsorted;
  rewrite r = {.x = x, .from = *spill, .change = change, .context = context};
  amped_status status = AMPED_OK;
  if (r.from == NULL)
    return AMPED_OK;
  AMPED_TRY(check_room(x, amped_spill_bytes(r.from), ordered ? final_need(x, &x->info, NULL) : 0));
  AMPED_TRY(amped_spill_create(x->folder, x->info.order, &r.to));
  if (ordered)
    AMPED_GO(fail, forget_facts(x, dims));
  AMPED_GO(fail, for_all(x, r.from, add_changed, &r));
  amped_spill_free(r.from);
  *spill = r.to;
  return ordered ? amped_stream_stats_end(&x->stats, &x->info) : AMPED_OK;
fail:
  amped_spill_free(r.to);
  return status;
}

typedef struct viewer {
  amped_external_sort_looker look;
  void *context;
} viewer;

static amped_status show(void *context, amped_sptensor *t, bool last) {
  const viewer *v = context;
  (void)last;
  return v->look(v->context, t);
}

amped_status amped_external_sort_look(const amped_external_sort *x, amped_external_sort_looker look,
                                      void *context) {
  viewer v = {.look = look, .context = context};
  return for_all(x, x->ordered, show, &v);
}

/* --- writing ---------------------------------------------------------------------------------- */

/* Data of the merge of one copy. */
typedef struct copy {
  amped_tensor_writer *writer;
  uint64_t hash;
} copy;

static amped_status append(void *context, amped_sptensor *t, bool last) {
  copy *c = context;
  (void)last;
  c->hash += amped_sptensor_hash(t);
  AMPED_TRY(amped_tensor_writer_append(c->writer, t));
  t->nnz = 0;
  return AMPED_OK;
}

/* Fragments on disk, sorted by another mode. */
typedef struct resort {
  amped_external_sort *x;
  amped_spill *fragments;
  int mode;
} resort;

static amped_status add_resorted(void *context, amped_sptensor *t, bool last) {
  resort *r = context;
  (void)last;
  AMPED_TRY(amped_sptensor_sort(t, r->mode));
  AMPED_TRY(amped_spill_add(r->fragments, t));
  uint64_t bytes = amped_spill_bytes(r->fragments) + amped_spill_bytes(r->x->ordered);
  r->x->temporary_bytes = bytes > r->x->temporary_bytes ? bytes : r->x->temporary_bytes;
  return AMPED_OK;
}

/* Copy 0 is the sequence itself. In another copy, nonzeros with the same index in its mode keep the
 * order of this sequence. Sorting each fragment is stable, and fragments follow one another in this
 * order. */
static amped_status put_copy(amped_external_sort *x, int mode, copy *c) {
  resort r = {.x = x, .mode = mode};
  amped_status status = AMPED_OK;
  if (mode == 0)
    return for_all(x, x->ordered, append, c);
  AMPED_TRY(amped_spill_create(x->folder, x->info.order, &r.fragments));
  AMPED_GO(done, for_all(x, x->ordered, add_resorted, &r));
  status = amped_spill_merge(r.fragments, &mode, 1, x->overflow.memory, append, c);
done:
  amped_spill_free(r.fragments);
  return status;
}

static amped_status put_copies(amped_external_sort *x, amped_tensor_writer *w, uint64_t *used) {
  const int copies = x->info.has_copies ? x->info.order : 1;
  for (int mode = 0; mode < copies; mode++) {
    copy c = {.writer = w};
    AMPED_TRY(amped_tensor_writer_begin(w, mode));
    AMPED_TRY(put_copy(x, mode, &c));
    AMPED_TRY(amped_tensor_writer_end(w, &used[mode]));
    if (c.hash != x->info.hash)
      return amped_error(AMPED_FAILED, x->folder,
                         "the temporary files there did not read back as written; check the disk");
  }
  return AMPED_OK;
}

static amped_status write_tensor(amped_external_sort *x, const amped_labels *labels,
                                 uint64_t *used) {
  amped_tensor_writer *w = NULL;
  amped_status status = AMPED_OK;
  AMPED_TRY(amped_tensor_writer_create(x->spec.output, &x->info, labels, &w));
  AMPED_GO(fail, put_copies(x, w, used));
  return amped_tensor_writer_finish(w, labels);
fail:
  amped_tensor_writer_discard(w);
  return status;
}

static amped_status append_text(void *context, amped_sptensor *t, bool last) {
  (void)last;
  return amped_tns_writer_append(context, t);
}

static amped_status write_text(amped_external_sort *x) {
  const char *path = x->spec.output != NULL ? x->spec.output : "-";
  amped_tns_writer *w = NULL;
  amped_status status = AMPED_OK;
  AMPED_TRY(amped_tns_writer_create(path, x->info.order, x->info.dims, x->info.nnz, false, &w));
  AMPED_GO(fail, for_all(x, x->ordered, append_text, w));
  return amped_tns_writer_finish(w);
fail:
  amped_tns_writer_discard(w);
  return status;
}

static amped_status append_table(void *context, amped_sptensor *t, bool last) {
  (void)last;
  return amped_table_writer_append(context, t);
}

static amped_status write_table(amped_external_sort *x, const amped_labels *labels) {
  amped_table_writer *w = NULL;
  amped_status status = AMPED_OK;
  AMPED_TRY(amped_table_writer_create(x->spec.output, x->info.order, labels, x->info.nnz, &w));
  AMPED_GO(fail, for_all(x, x->ordered, append_table, w));
  return amped_table_writer_finish(w);
fail:
  amped_table_writer_discard(w);
  return status;
}

amped_status amped_external_sort_write(amped_external_sort *x, const amped_labels *labels,
                                       uint64_t *used) {
  const amped_tensor_info *info = &x->info;
  const bool tensor_file = x->spec.format == AMPED_FORMAT_HDF5;
  uint64_t fragments = tensor_file && info->has_copies ? amped_spill_bytes(x->ordered) : 0;
  AMPED_TRY(check_room(x, fragments, final_need(x, info, labels)));
  if (tensor_file)
    return write_tensor(x, labels, used);
  return x->spec.format == AMPED_FORMAT_TABLE ? write_table(x, labels) : write_text(x);
}
