/* State base: the HDF5 file STATE, its checks on opening, its reader and its writer. */
#include "state/state_base.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/heartbeat.h"
#include "base/mem.h"
#include "base/system_memory.h"
#include "hdf5/hdf5_labels.h"
#include "hdf5/hdf5_probe.h"
#include "hdf5/hdf5_seal.h"

static const amped_hdf5_type f64 = {AMPED_FLOAT, AMPED_F64};
static const amped_hdf5_type u64 = {AMPED_UNSIGNED, AMPED_U64};
static const amped_hdf5_type u8 = {AMPED_UNSIGNED, AMPED_U8};

static const char *const groups[AMPED_STATE_PARTS] = {"/factors", "/history", "/touched"};

/* Name of a mode's dataset, such as "/factors/2". */
typedef struct part_name {
  char name[AMPED_HDF5_NAME];
} part_name;

static part_name name_of(const char *group, int mode) {
  part_name name;
  (void)snprintf(name.name, sizeof name.name, "%s/%d", group, mode);
  return name;
}

/* A list of entries in the file, and its words. */
static const struct list {
  const char *group, *indices, *values;
  const char *what, *limit;
} lists[AMPED_STATE_LISTS] = {
    [AMPED_STATE_HELD_OUT] = {.group = "/held",
                              .indices = "/held/indices",
                              .values = "/held/values",
                              .what = "held-out entries",
                              .limit = "keep"},
    [AMPED_STATE_SAMPLE] = {.group = "/sample",
                            .indices = "/sample/indices",
                            .values = "/sample/values",
                            .what = "entries in its sample",
                            .limit = "sample"},
};

/* Versions 1 and 2 have no sample. */
static bool has_list(const amped_state_head *head, amped_state_list list) {
  return list == AMPED_STATE_HELD_OUT || amped_state_head_version(head) > 2;
}

uint64_t amped_state_columns(const amped_state_head *head, int part) {
  return part == AMPED_STATE_FACTOR    ? (uint64_t)head->ncomps
         : part == AMPED_STATE_HISTORY ? head->history_length
                                       : 1;
}

amped_hdf5_type amped_state_type(const amped_state_head *head, int part) {
  return part == AMPED_STATE_TOUCHED ? u64 : (amped_hdf5_type){AMPED_FLOAT, (uint64_t)head->type};
}

/* /touched has one dimension, the other parts two. */
static int ndims_of(int part) {
  return part == AMPED_STATE_TOUCHED ? 1 : 2;
}

static uint64_t row_bytes(const amped_state_head *head, int part) {
  return amped_state_columns(head, part) * amped_state_type(head, part).bytes;
}

/* --- batches ---------------------------------------------------------------------------------- */

void amped_state_batches_free(amped_state_batches *b) {
  amped_free(b->hashes);
  amped_free(b->nnz);
  amped_labels_free(&b->names);
  memset(b, 0, sizeof *b);
}

static amped_status make_room(amped_state_batches *b, uint64_t batches, uint64_t bytes) {
  if (batches > b->room) {
    const uint64_t room = 2 * batches;
    AMPED_TRY(amped_realloc(&b->hashes, room, sizeof *b->hashes, "the list of batches"));
    AMPED_TRY(amped_realloc(&b->nnz, room, sizeof *b->nnz, "the list of batches"));
    AMPED_TRY(amped_realloc(&b->names.offsets, room + 1, sizeof *b->names.offsets,
                            "the list of batches"));
    b->room = room;
  }
  if (bytes > b->bytes_room) {
    AMPED_TRY(amped_realloc(&b->names.bytes, 2 * bytes, 1, "the list of batches"));
    b->bytes_room = 2 * bytes;
  }
  return AMPED_OK;
}

/* Names end with a zero byte, so that each is a C string. */
amped_status amped_state_batches_add(amped_state_batches *b, uint64_t hash, uint64_t nnz,
                                     const char *name, uint64_t length) {
  const uint64_t first = b->count > 0 ? b->names.offsets[b->count] : 0;
  AMPED_TRY(make_room(b, b->count + 1, first + length + 1));
  b->hashes[b->count] = hash;
  b->nnz[b->count] = nnz;
  memcpy(b->names.bytes + first, name, length);
  b->names.bytes[first + length] = '\0';
  b->names.offsets[b->count] = first;
  b->names.offsets[++b->count] = first + length + 1;
  b->names.count = b->count;
  return AMPED_OK;
}

/* --- opening ---------------------------------------------------------------------------------- */

static amped_status open_part(amped_state_base *base, int mode, int part, amped_hdf5_dataset *d) {
  const amped_state_head *h = &base->head;
  AMPED_TRY(
      amped_hdf5_dataset_open(&base->file, name_of(groups[part], mode).name, ndims_of(part), d));
  return amped_hdf5_dataset_expect(d, amped_state_type(h, part), h->dims[mode],
                                   amped_state_columns(h, part));
}

/* Open a list with elements of `type`. Its length must be *count; if *count is UINT64_MAX, it
 * becomes the length. */
static amped_status open_list(amped_state_base *base, const char *name, amped_hdf5_type type,
                              uint64_t *count, amped_hdf5_dataset *d) {
  AMPED_TRY(amped_hdf5_dataset_open(&base->file, name, 1, d));
  if (*count == UINT64_MAX)
    *count = d->dims[0];
  return amped_hdf5_dataset_expect(d, type, *count, 1);
}

static amped_status check_list(amped_state_base *base, const char *name, amped_hdf5_type type,
                               uint64_t *count) {
  amped_hdf5_dataset d = {.open = false};
  amped_status status = open_list(base, name, type, count, &d);
  amped_hdf5_dataset_close(&d);
  return status;
}

static amped_status check_entries(amped_state_base *base, amped_state_list list) {
  const struct list *l = &lists[list];
  const uint64_t most = amped_state_list_most(&base->head, list);
  uint64_t *count = &base->entries[list];
  if (!has_list(&base->head, list))
    return AMPED_OK;
  *count = UINT64_MAX;
  AMPED_TRY(check_list(base, l->values, f64, count));
  for (int m = 0; m < base->head.order; m++)
    AMPED_TRY(check_list(base, name_of(l->indices, m).name, u64, count));
  return *count <= most ? AMPED_OK
                        : amped_error(AMPED_BAD_INPUT, base->file.path,
                                      "has %" PRIu64 " %s, more than %s says; make the file again",
                                      *count, l->what, l->limit);
}

/* Open a mode's sums. The head must have sums. */
static amped_status open_sums(amped_state_base *base, int mode, amped_hdf5_dataset *d) {
  const uint64_t width = amped_state_sums_width(&base->head);
  AMPED_TRY(amped_hdf5_dataset_open(&base->file, name_of("/sums", mode).name, 2, d));
  return amped_hdf5_dataset_expect(d, f64, width, width);
}

static amped_status check_sums(amped_state_base *base, int mode) {
  amped_hdf5_dataset d = {.open = false};
  if (amped_state_sums_width(&base->head) == 0)
    return AMPED_OK;
  amped_status status = open_sums(base, mode, &d);
  amped_hdf5_dataset_close(&d);
  return status;
}

static amped_status check_extents(amped_state_base *base) {
  const amped_state_head *h = &base->head;
  uint64_t batches = h->batches;
  if (h->batches < 1 || h->batches > UINT32_MAX)
    return amped_error(AMPED_BAD_INPUT, base->file.path,
                       "has %" PRIu64 " batches; make the file again", h->batches);
  for (int m = 0; m < h->order; m++) {
    uint64_t bytes = 0;
    for (int part = 0; part < AMPED_STATE_PARTS; part++) {
      amped_hdf5_dataset d = {.open = false};
      if (amped_state_columns(h, part) == 0)
        continue;
      amped_status status = open_part(base, m, part, &d);
      amped_hdf5_dataset_close(&d);
      AMPED_TRY(status);
    }
    AMPED_TRY(check_sums(base, m));
    AMPED_TRY(amped_hdf5_labels_bytes(&base->file, m, h->dims[m], &bytes));
    base->labelled[m] = bytes > 0;
  }
  AMPED_TRY(check_list(base, "/batches/hashes", u64, &batches));
  AMPED_TRY(check_list(base, "/batches/nnz", u64, &batches));
  for (int l = 0; l < AMPED_STATE_LISTS; l++)
    AMPED_TRY(check_entries(base, (amped_state_list)l));
  return AMPED_OK;
}

/* Open a file that this process wrote, without a probe. */
static amped_status open_trusted(const char *path, amped_hdf5 *out) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  memset(out, 0, sizeof *out);
  if (fd < 0)
    return amped_error_errno(AMPED_FAILED, errno, path, "cannot be read back");
  amped_status status = amped_hdf5_open_trusted(fd, path, NULL, out);
  out->owns_fd = true;
  if (status != AMPED_OK)
    amped_hdf5_close(out);
  return status;
}

amped_status amped_state_base_open(const char *path, bool trusted, amped_state_base *out) {
  amped_status status = AMPED_OK;
  memset(out, 0, sizeof *out);
  out->mode = -1;
  AMPED_GO(done, trusted ? open_trusted(path, &out->file) : amped_hdf5_open(path, &out->file));
  AMPED_GO(done, amped_state_head_get(&out->file, &out->head));
  status = check_extents(out);
done:
  if (status != AMPED_OK)
    amped_state_base_close(out);
  return status;
}

static void close_parts(amped_state_base *base) {
  for (int part = 0; part < AMPED_STATE_PARTS; part++)
    amped_hdf5_dataset_close(&base->parts[part]);
  base->mode = -1;
}

void amped_state_base_close(amped_state_base *base) {
  if (!base->file.open && !base->file.owns_fd)
    return;
  close_parts(base);
  amped_hdf5_close(&base->file);
}

/* --- reading ---------------------------------------------------------------------------------- */

static amped_status refuse_value(const amped_hdf5_dataset *d, uint64_t row, const char *what) {
  return amped_error(AMPED_BAD_INPUT, d->file->path,
                     "dataset %s has a value that is %s (row %" PRIu64 "); make the file again",
                     d->name, what, row);
}

static amped_status check_finite(const amped_hdf5_dataset *d, uint64_t first, uint64_t count,
                                 const void *values) {
  const uint64_t n = count * d->dims[1];
  for (uint64_t i = 0; i < n; i++)
    if (!isfinite(d->type.bytes == AMPED_F32 ? (double)((const float *)values)[i]
                                             : ((const double *)values)[i]))
      return refuse_value(d, first + i / d->dims[1], "not finite");
  return AMPED_OK;
}

static amped_status check_below(const amped_hdf5_dataset *d, uint64_t first, uint64_t count,
                                const uint64_t *values, uint64_t most) {
  for (uint64_t i = 0; i < count; i++)
    if (values[i] > most)
      return refuse_value(d, first + i, "too large");
  return AMPED_OK;
}

amped_status amped_state_base_read(amped_state_base *base, int mode, uint64_t first, uint64_t count,
                                   void *const parts[AMPED_STATE_PARTS]) {
  if (base->mode != mode)
    close_parts(base);
  base->mode = mode;
  for (int part = 0; part < AMPED_STATE_PARTS; part++) {
    amped_hdf5_dataset *d = &base->parts[part];
    if (parts[part] == NULL || amped_state_columns(&base->head, part) == 0)
      continue;
    if (!d->open)
      AMPED_TRY(open_part(base, mode, part, d));
    AMPED_TRY(amped_hdf5_dataset_read(d, d->type, first, count, parts[part]));
    AMPED_TRY(part == AMPED_STATE_TOUCHED
                  ? check_below(d, first, count, parts[part], base->head.batches)
                  : check_finite(d, first, count, parts[part]));
  }
  return AMPED_OK;
}

amped_status amped_state_base_sums(amped_state_base *base, int mode, double *out) {
  const uint64_t width = amped_state_sums_width(&base->head);
  amped_hdf5_dataset d = {.open = false};
  amped_status status = open_sums(base, mode, &d);
  if (status == AMPED_OK)
    status = amped_hdf5_dataset_read(&d, f64, 0, width, out);
  if (status == AMPED_OK)
    status = check_finite(&d, 0, width, out);
  amped_hdf5_dataset_close(&d);
  return status;
}

amped_status amped_state_base_labels(amped_state_base *base, int mode, amped_labels *out) {
  AMPED_TRY(amped_hdf5_labels_read(&base->file, mode, base->head.dims[mode], out));
  out->from_zero = base->head.zero_based;
  return AMPED_OK;
}

amped_status amped_state_base_entries(amped_state_base *base, amped_state_list list,
                                      amped_sptensor *out) {
  const amped_state_head *h = &base->head;
  const struct list *l = &lists[list];
  uint64_t *count = &base->entries[list];
  amped_hdf5_dataset d = {.open = false};
  amped_status status = AMPED_OK;
  if (!has_list(h, list))
    return AMPED_OK;
  AMPED_GO(done, open_list(base, l->values, f64, count, &d));
  AMPED_GO(done, amped_hdf5_dataset_read(&d, f64, 0, *count, out->values));
  AMPED_GO(done, check_finite(&d, 0, *count, out->values));
  for (int m = 0; m < h->order; m++) {
    amped_hdf5_dataset_close(&d);
    AMPED_GO(done, open_list(base, name_of(l->indices, m).name, u64, count, &d));
    AMPED_GO(done, amped_hdf5_dataset_read(&d, u64, 0, *count, out->indices[m]));
    AMPED_GO(done, check_below(&d, 0, *count, out->indices[m], h->dims[m] - 1));
  }
done:
  amped_hdf5_dataset_close(&d);
  return status;
}

/* Read a list of `count` elements into a new array; the caller frees it. */
static amped_status read_list(amped_state_base *base, const char *name, amped_hdf5_type type,
                              uint64_t count, void *out) {
  amped_hdf5_dataset d = {.open = false};
  void *list = NULL;
  amped_status status = AMPED_OK;
  AMPED_GO(done, open_list(base, name, type, &count, &d));
  AMPED_GO(done, amped_mem_check(base->file.path, "its list of batches", count * type.bytes));
  AMPED_GO(done, amped_alloc(&list, count, type.bytes, "the list of batches"));
  status = amped_hdf5_dataset_read(&d, type, 0, count, list);
done:
  amped_hdf5_dataset_close(&d);
  if (status != AMPED_OK) {
    amped_free(list);
    list = NULL;
  }
  memcpy(out, &list, sizeof list);
  return status;
}

/* Split `names` into one name per batch: each ends with a zero byte and has no other. */
static amped_status add_batches(amped_state_base *base, const uint64_t *hashes, const uint64_t *nnz,
                                const char *names, uint64_t bytes, amped_state_batches *out) {
  uint64_t at = 0;
  for (uint64_t i = 0; i < base->head.batches; i++) {
    const uint64_t length = strnlen(names + at, bytes - at);
    if (length == bytes - at)
      break;
    AMPED_TRY(amped_state_batches_add(out, hashes[i], nnz[i], names + at, length));
    at += length + 1;
  }
  return out->count == base->head.batches && at == bytes
             ? AMPED_OK
             : amped_error(AMPED_BAD_INPUT, base->file.path,
                           "dataset /batches/names is not a name for each batch; make the file "
                           "again");
}

amped_status amped_state_base_batches(amped_state_base *base, amped_state_batches *out) {
  uint64_t *hashes = NULL;
  uint64_t *nnz = NULL;
  char *names = NULL;
  uint64_t bytes = UINT64_MAX;
  amped_status status = AMPED_OK;
  AMPED_GO(done, read_list(base, "/batches/hashes", u64, base->head.batches, &hashes));
  AMPED_GO(done, read_list(base, "/batches/nnz", u64, base->head.batches, &nnz));
  AMPED_GO(done, check_list(base, "/batches/names", u8, &bytes));
  AMPED_GO(done, read_list(base, "/batches/names", u8, bytes, &names));
  status = add_batches(base, hashes, nnz, names, bytes, out);
done:
  amped_free(hashes);
  amped_free(nnz);
  amped_free(names);
  if (status != AMPED_OK)
    amped_state_batches_free(out);
  return status;
}

static amped_status entries_sealed(amped_state_base *base, amped_state_list list, bool *out) {
  bool one = true;
  *out = true;
  if (!has_list(&base->head, list))
    return AMPED_OK;
  AMPED_TRY(amped_hdf5_is_sealed(&base->file, lists[list].values, out));
  for (int m = 0; m < base->head.order; m++) {
    AMPED_TRY(amped_hdf5_is_sealed(&base->file, name_of(lists[list].indices, m).name, &one));
    *out = *out && one;
  }
  return AMPED_OK;
}

amped_status amped_state_base_sealed(amped_state_base *base, bool *out) {
  static const char *const others[] = {"/prior",         "/pull",        "/errors/counts",
                                       "/errors/sums",   "/batches/nnz", "/batches/names",
                                       "/batches/hashes"};
  bool all = true;
  bool one = false;
  for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
    AMPED_TRY(amped_hdf5_is_sealed(&base->file, others[i], &one));
    all = all && one;
  }
  for (int l = 0; l < AMPED_STATE_LISTS; l++) {
    AMPED_TRY(entries_sealed(base, (amped_state_list)l, &one));
    all = all && one;
  }
  for (int m = 0; m < base->head.order; m++) {
    AMPED_TRY(amped_hdf5_labels_sealed(&base->file, m, &one));
    all = all && one;
    AMPED_TRY(amped_hdf5_is_sealed(&base->file, name_of("/sums", m).name, &one));
    all = all && one;
    for (int part = 0; part < AMPED_STATE_PARTS; part++) {
      AMPED_TRY(amped_hdf5_is_sealed(&base->file, name_of(groups[part], m).name, &one));
      all = all && one;
    }
  }
  *out = all;
  return AMPED_OK;
}

/* --- writing ---------------------------------------------------------------------------------- */

static amped_status begin_mode(amped_state_writer *w) {
  const amped_state_head *h = &w->head;
  for (int part = 0; part < AMPED_STATE_PARTS; part++) {
    const uint64_t dims[2] = {h->dims[w->mode], amped_state_columns(h, part)};
    if (dims[1] == 0)
      continue;
    AMPED_TRY(amped_hdf5_dataset_create(&w->file, name_of(groups[part], w->mode).name,
                                        amped_state_type(h, part), ndims_of(part), dims,
                                        &w->parts[part]));
    amped_hdf5_dataset_seal(&w->parts[part]);
  }
  return AMPED_OK;
}

amped_status amped_state_writer_open(const char *path, const amped_state_head *head,
                                     amped_state_writer *w) {
  amped_status status = AMPED_OK;
  memset(w, 0, sizeof *w);
  w->head = *head;
  AMPED_TRY(amped_draft_open(path, true, &w->draft));
  AMPED_GO(fail, amped_hdf5_create(w->draft.fd, path, &w->file));
  for (int part = 0; part < AMPED_STATE_PARTS; part++) {
    const uint64_t columns = amped_state_columns(head, part);
    if (columns == 0)
      continue;
    AMPED_GO(fail, amped_hdf5_make_group(&w->file, groups[part]));
    AMPED_GO(fail, amped_alloc(&w->buffers[part], amped_hdf5_slab_rows(columns),
                               row_bytes(head, part), "a slab of a state"));
  }
  AMPED_GO(fail, begin_mode(w));
  return AMPED_OK;
fail:
  amped_state_writer_close(w);
  return status;
}

void amped_state_writer_close(amped_state_writer *w) {
  for (int part = 0; part < AMPED_STATE_PARTS; part++) {
    amped_hdf5_dataset_close(&w->parts[part]);
    amped_free(w->buffers[part]);
    w->buffers[part] = NULL;
  }
  amped_hdf5_close(&w->file);
  amped_draft_close(&w->draft);
}

/* Append rows of a part, in whole chunks. */
static amped_status append(amped_state_writer *w, int part, uint64_t count, const void *rows) {
  const uint64_t slab = amped_hdf5_slab_rows(amped_state_columns(&w->head, part));
  const uint64_t bytes = row_bytes(&w->head, part);
  const unsigned char *from = rows;
  while (count > 0) {
    const uint64_t room = slab - w->filled[part];
    const uint64_t n = count < room ? count : room;
    memcpy(w->buffers[part] + w->filled[part] * bytes, from, n * bytes);
    w->filled[part] += n;
    from += n * bytes;
    count -= n;
    if (w->filled[part] == slab) {
      AMPED_TRY(amped_hdf5_dataset_append(&w->parts[part], slab, w->buffers[part]));
      w->filled[part] = 0;
    }
  }
  return AMPED_OK;
}

static amped_status end_mode(amped_state_writer *w) {
  for (int part = 0; part < AMPED_STATE_PARTS; part++) {
    if (amped_state_columns(&w->head, part) == 0)
      continue;
    AMPED_TRY(amped_hdf5_dataset_append(&w->parts[part], w->filled[part], w->buffers[part]));
    AMPED_TRY(amped_hdf5_dataset_finish(&w->parts[part]));
    w->filled[part] = 0;
  }
  w->row = 0;
  return ++w->mode < w->head.order ? begin_mode(w) : AMPED_OK;
}

amped_status amped_state_writer_rows(amped_state_writer *w, uint64_t count,
                                     const void *const parts[AMPED_STATE_PARTS]) {
  if (w->mode == w->head.order || count > w->head.dims[w->mode] - w->row)
    return amped_error(AMPED_FAILED, w->draft.path,
                       "more rows than the state has; this is a mistake of amped_mpi, please "
                       "report it");
  for (int part = 0; part < AMPED_STATE_PARTS; part++)
    if (amped_state_columns(&w->head, part) > 0)
      AMPED_TRY(append(w, part, count, parts[part]));
  w->row += count;
  amped_heartbeat_step();
  return w->row == w->head.dims[w->mode] ? end_mode(w) : AMPED_OK;
}

static amped_status write_sums(amped_state_writer *w, const double *const *sums) {
  const uint64_t width = amped_state_sums_width(&w->head);
  const uint64_t dims[2] = {width, width};
  if (width == 0)
    return AMPED_OK;
  AMPED_TRY(amped_hdf5_make_group(&w->file, "/sums"));
  for (int m = 0; m < w->head.order; m++)
    AMPED_TRY(amped_hdf5_dataset_write(&w->file, name_of("/sums", m).name, f64, 2, dims, sums[m]));
  return AMPED_OK;
}

static amped_status write_entries(amped_state_writer *w, amped_state_list list,
                                  const amped_sptensor *t) {
  const struct list *l = &lists[list];
  if (!has_list(&w->head, list))
    return AMPED_OK;
  AMPED_TRY(amped_hdf5_make_group(&w->file, l->group));
  AMPED_TRY(amped_hdf5_make_group(&w->file, l->indices));
  for (int m = 0; m < w->head.order; m++)
    AMPED_TRY(amped_hdf5_dataset_write(&w->file, name_of(l->indices, m).name, u64, 1, &t->nnz,
                                       t->indices[m]));
  return amped_hdf5_dataset_write(&w->file, l->values, f64, 1, &t->nnz, t->values);
}

static amped_status write_batches(amped_state_writer *w, const amped_state_batches *b) {
  AMPED_TRY(amped_hdf5_make_group(&w->file, "/batches"));
  AMPED_TRY(amped_hdf5_dataset_write(&w->file, "/batches/hashes", u64, 1, &b->count, b->hashes));
  AMPED_TRY(amped_hdf5_dataset_write(&w->file, "/batches/nnz", u64, 1, &b->count, b->nnz));
  return amped_hdf5_dataset_write(&w->file, "/batches/names", u8, 1, &b->names.offsets[b->count],
                                  b->names.bytes);
}

/* Open the draft again and check it: metadata that a full disk lost is detected here. */
static amped_status read_back(amped_state_writer *w) {
  amped_state_base base = {.mode = -1};
  amped_status status = amped_hdf5_open_trusted(w->draft.fd, w->draft.path, NULL, &base.file);
  if (status == AMPED_OK)
    status = amped_state_head_get(&base.file, &base.head);
  if (status == AMPED_OK)
    status = check_extents(&base);
  amped_hdf5_close(&base.file);
  return amped_hdf5_read_back(status, w->draft.path);
}

amped_status amped_state_writer_finish(amped_state_writer *w, const amped_state_head *head,
                                       const amped_labels *labels, const double *const *sums,
                                       const amped_sptensor entries[AMPED_STATE_LISTS],
                                       const amped_state_batches *batches) {
  if (w->mode < w->head.order)
    return amped_error(AMPED_FAILED, w->draft.path,
                       "rows of the state are missing; this is a mistake of amped_mpi, please "
                       "report it");
  AMPED_TRY(amped_state_head_put(&w->file, head));
  AMPED_TRY(amped_hdf5_labels_write(&w->file, head->order, labels));
  AMPED_TRY(write_sums(w, sums));
  for (int l = 0; l < AMPED_STATE_LISTS; l++)
    AMPED_TRY(write_entries(w, (amped_state_list)l, &entries[l]));
  AMPED_TRY(write_batches(w, batches));
  AMPED_TRY(amped_hdf5_finish(&w->file));
  return read_back(w);
}

amped_status amped_state_writer_publish(amped_state_writer *w, bool previous) {
  return amped_draft_publish(&w->draft, previous);
}

uint64_t amped_state_base_bytes(const amped_state_head *head) {
  uint64_t bytes = 0;
  for (int m = 0; m < head->order; m++)
    for (int part = 0; part < AMPED_STATE_PARTS; part++)
      bytes += amped_hdf5_dataset_bytes(head->dims[m], amped_state_columns(head, part),
                                        amped_state_type(head, part).bytes);
  const uint64_t width = amped_state_sums_width(head);
  return bytes + (uint64_t)head->order * amped_hdf5_dataset_bytes(width, width, sizeof(double));
}
