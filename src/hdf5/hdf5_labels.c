/* Labels in HDF5 files: reading all or some of a mode's labels, and writing. */
#include "hdf5/hdf5_labels.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/system_memory.h"
#include "hdf5/hdf5_seal.h"

#define INDEX_BASE "index_base" /* attribute of the root */
#define INDICES "indices"       /* attributes of a mode's group */
#define PERIOD "period"
#define ARRAY "array"

static const amped_hdf5_type u8 = {AMPED_UNSIGNED, AMPED_U8};
static const amped_hdf5_type u64 = {AMPED_UNSIGNED, AMPED_U64};

/* Open datasets of a mode's labels. */
typedef struct source {
  bool exists;
  amped_hdf5_dataset bytes, offsets;
} source;

static void close_source(source *s) {
  amped_hdf5_dataset_close(&s->bytes);
  amped_hdf5_dataset_close(&s->offsets);
}

/* Open them. Call close_source afterwards, even after a failure. */
static amped_status open_source(amped_hdf5 *file, int mode, uint64_t dim, source *s) {
  char folder[AMPED_HDF5_NAME / 2];
  char name[AMPED_HDF5_NAME];
  memset(s, 0, sizeof *s);
  (void)snprintf(folder, sizeof folder, "/labels/mode_%d", mode);
  AMPED_TRY(amped_hdf5_exists(file, folder, &s->exists));
  if (!s->exists)
    return AMPED_OK;
  (void)snprintf(name, sizeof name, "%s/bytes", folder);
  AMPED_TRY(amped_hdf5_dataset_open(file, name, 1, &s->bytes));
  AMPED_TRY(amped_hdf5_dataset_expect(&s->bytes, u8, s->bytes.dims[0], 1));
  (void)snprintf(name, sizeof name, "%s/offsets", folder);
  AMPED_TRY(amped_hdf5_dataset_open(file, name, 1, &s->offsets));
  return amped_hdf5_dataset_expect(&s->offsets, u64, dim + 1, 1);
}

static amped_status wrong_offsets(const source *s) {
  return amped_error(AMPED_BAD_INPUT, s->offsets.file->path,
                     "dataset %s does not ascend from 0 to the end of the labels; make the file "
                     "again",
                     s->offsets.name);
}

/* Check offsets first .. first + count; `before` is the last offset of the previous piece. */
static amped_status check_offsets(const source *s, const uint64_t *offsets, uint64_t first,
                                  uint64_t count, uint64_t before) {
  bool fine = first > 0 || offsets[0] == 0;
  for (uint64_t i = 0; i < count; i++) {
    fine = fine && offsets[i] >= before;
    before = offsets[i];
  }
  if (first + count == s->offsets.dims[0])
    fine = fine && before == s->bytes.dims[0];
  return fine ? AMPED_OK : wrong_offsets(s);
}

/* Read a flag: true if the attribute exists and has the value `set`. */
static amped_status read_flag(amped_hdf5 *file, const char *group, const char *name, uint64_t set,
                              bool *out) {
  uint64_t number = 0;
  AMPED_TRY(amped_hdf5_has_attribute(file, group, name, out));
  if (!*out)
    return AMPED_OK;
  AMPED_TRY(amped_hdf5_get_u64(file, group, name, 1, &number));
  *out = number == set;
  return AMPED_OK;
}

static amped_status read_base(amped_hdf5 *file, amped_labels *out) {
  return read_flag(file, "/", INDEX_BASE, 0, &out->from_zero);
}

/* Read the word of a period, if the mode has one. */
static amped_status read_period(amped_hdf5 *file, const char *folder, amped_period *out) {
  char *word = NULL;
  bool exists = false;
  AMPED_TRY(amped_hdf5_has_attribute(file, folder, PERIOD, &exists));
  if (!exists)
    return AMPED_OK;
  AMPED_TRY(amped_hdf5_get_text(file, folder, PERIOD, &word));
  *out = amped_period_of_word(word);
  amped_free(word);
  return *out != AMPED_PERIOD_NONE
             ? AMPED_OK
             : amped_error(AMPED_BAD_INPUT, file->path,
                           "attribute " PERIOD " of %s is no period that this program knows; read "
                           "the file with a newer version",
                           folder);
}

static amped_status read_attributes(amped_hdf5 *file, int mode, amped_labels *out) {
  char folder[AMPED_HDF5_NAME / 2];
  bool exists = false;
  (void)snprintf(folder, sizeof folder, "/labels/mode_%d", mode);
  AMPED_TRY(read_flag(file, folder, INDICES, 1, &out->are_indices));
  AMPED_TRY(read_period(file, folder, &out->period));
  AMPED_TRY(read_flag(file, folder, ARRAY, 1, &out->of_array));
  AMPED_TRY(amped_hdf5_has_attribute(file, folder, "name", &exists));
  return exists ? amped_hdf5_get_text(file, folder, "name", &out->name) : AMPED_OK;
}

/* ---- all ------------------------------------------------------------------------------------ */

/* Bytes of memory: the labels' bytes, and eight bytes per offset. */
static uint64_t memory_of(const source *s) {
  return s->exists ? s->bytes.dims[0] + s->offsets.dims[0] * sizeof(uint64_t) : 0;
}

amped_status amped_hdf5_labels_bytes(amped_hdf5 *file, int mode, uint64_t dim, uint64_t *out) {
  source s;
  amped_status status = open_source(file, mode, dim, &s);
  *out = memory_of(&s);
  close_source(&s);
  return status;
}

static amped_status read_all(source *s, amped_labels *out) {
  const uint64_t bytes = s->bytes.dims[0];
  const uint64_t count = s->offsets.dims[0];
  char what[64];
  (void)snprintf(what, sizeof what, "%.32s and its offsets", s->bytes.name);
  AMPED_TRY(amped_mem_check(s->bytes.file->path, what, memory_of(s)));
  AMPED_TRY(amped_alloc(&out->bytes, bytes, 1, "labels"));
  AMPED_TRY(amped_hdf5_dataset_read(&s->bytes, u8, 0, bytes, out->bytes));
  AMPED_TRY(amped_alloc(&out->offsets, count, sizeof *out->offsets, "labels"));
  AMPED_TRY(amped_hdf5_dataset_read(&s->offsets, u64, 0, count, out->offsets));
  return check_offsets(s, out->offsets, 0, count, 0);
}

amped_status amped_hdf5_labels_read(amped_hdf5 *file, int mode, uint64_t dim, amped_labels *out) {
  source s;
  amped_status status = AMPED_OK;
  memset(out, 0, sizeof *out);
  AMPED_GO(done, open_source(file, mode, dim, &s));
  AMPED_GO(done, read_base(file, out));
  if (!s.exists)
    goto done;
  AMPED_GO(done, read_all(&s, out));
  AMPED_GO(done, read_attributes(file, mode, out));
  out->count = dim;
done:
  close_source(&s);
  if (status != AMPED_OK)
    amped_labels_free(out);
  return status;
}

/* ---- some ----------------------------------------------------------------------------------- */

/* Labels to pick. Label i of `out` belongs to index places[i]; its bytes start at begins[i] among
 * all labels' bytes. */
typedef struct choice {
  const uint64_t *places;
  uint64_t count;
  uint64_t *begins;
  amped_labels *out;
} choice;

/* Find starts and lengths of picked labels in a piece: offsets first .. first + count. */
static void choose(choice *c, const uint64_t *piece, uint64_t first, uint64_t count,
                   uint64_t *begun, uint64_t *ended) {
  for (; *begun < c->count && c->places[*begun] < first + count; ++*begun)
    c->begins[*begun] = piece[c->places[*begun] - first];
  for (; *ended < c->count && c->places[*ended] + 1 < first + count; ++*ended) {
    const uint64_t length = piece[c->places[*ended] + 1 - first] - c->begins[*ended];
    c->out->offsets[*ended + 1] =
        c->out->offsets[*ended] + (length < AMPED_LABEL_MOST ? length : AMPED_LABEL_MOST);
  }
}

static amped_status pick_offsets(source *s, choice *c, uint64_t *piece) {
  uint64_t begun = 0;
  uint64_t ended = 0;
  uint64_t before = 0;
  for (uint64_t first = 0; first < s->offsets.dims[0]; first += AMPED_HDF5_CHUNK) {
    const uint64_t left = s->offsets.dims[0] - first;
    const uint64_t count = left < AMPED_HDF5_CHUNK ? left : AMPED_HDF5_CHUNK;
    AMPED_TRY(amped_hdf5_dataset_read(&s->offsets, u64, first, count, piece));
    AMPED_TRY(check_offsets(s, piece, first, count, before));
    choose(c, piece, first, count, &begun, &ended);
    before = piece[count - 1];
  }
  return AMPED_OK;
}

/* Copy the parts of picked labels that lie in bytes first .. first + count. */
static void copy(const choice *c, const char *piece, uint64_t first, uint64_t count,
                 uint64_t *next) {
  const uint64_t *to = c->out->offsets;
  for (uint64_t i = *next; i < c->count && c->begins[i] < first + count; i++) {
    const uint64_t end = c->begins[i] + to[i + 1] - to[i];
    const uint64_t from = c->begins[i] > first ? c->begins[i] : first;
    const uint64_t stop = end < first + count ? end : first + count;
    if (stop > from)
      memcpy(c->out->bytes + to[i] + (from - c->begins[i]), piece + (from - first), stop - from);
    *next = end <= first + count ? i + 1 : *next;
    if (end > first + count)
      return;
  }
}

static amped_status pick_bytes(source *s, const choice *c, char *piece) {
  uint64_t next = 0;
  for (uint64_t first = 0; first < s->bytes.dims[0]; first += AMPED_HDF5_CHUNK) {
    const uint64_t left = s->bytes.dims[0] - first;
    const uint64_t count = left < AMPED_HDF5_CHUNK ? left : AMPED_HDF5_CHUNK;
    AMPED_TRY(amped_hdf5_dataset_read(&s->bytes, u8, first, count, piece));
    copy(c, piece, first, count, &next);
  }
  return AMPED_OK;
}

/* Pick labels. All pieces are read, because the content hash covers all of them. */
static amped_status pick(source *s, choice *c) {
  amped_labels *out = c->out;
  uint64_t *piece = NULL;
  amped_status status = AMPED_OK;
  AMPED_GO(done, amped_alloc(&piece, AMPED_HDF5_CHUNK, sizeof *piece, "labels"));
  AMPED_GO(done, amped_alloc(&c->begins, c->count + 1, sizeof *c->begins, "labels"));
  AMPED_GO(done, amped_calloc(&out->offsets, c->count + 1, sizeof *out->offsets, "labels"));
  AMPED_GO(done, pick_offsets(s, c, piece));
  AMPED_GO(done, amped_alloc(&out->bytes, out->offsets[c->count] + 1, 1, "labels"));
  status = pick_bytes(s, c, (char *)piece);
done:
  amped_free(c->begins);
  amped_free(piece);
  return status;
}

amped_status amped_hdf5_labels_pick(amped_hdf5 *file, int mode, uint64_t dim,
                                    const uint64_t *places, uint64_t count, amped_labels *out) {
  choice c = {.places = places, .count = count, .out = out};
  source s;
  amped_status status = AMPED_OK;
  memset(out, 0, sizeof *out);
  AMPED_GO(done, open_source(file, mode, dim, &s));
  AMPED_GO(done, read_base(file, out));
  if (!s.exists)
    goto done;
  AMPED_GO(done, pick(&s, &c));
  AMPED_GO(done, read_attributes(file, mode, out));
  out->count = count;
done:
  close_source(&s);
  if (status != AMPED_OK)
    amped_labels_free(out);
  return status;
}

amped_status amped_hdf5_labels_edges(amped_hdf5 *file, int mode, uint64_t dim, amped_labels *out) {
  const uint64_t places[2] = {0, dim - 1};
  return amped_hdf5_labels_pick(file, mode, dim, places, dim > 1 ? 2 : 1, out);
}

amped_status amped_hdf5_labels_sealed(amped_hdf5 *file, int mode, bool *out) {
  char name[AMPED_HDF5_NAME];
  (void)snprintf(name, sizeof name, "/labels/mode_%d/bytes", mode);
  AMPED_TRY(amped_hdf5_is_sealed(file, name, out));
  if (!*out)
    return AMPED_OK;
  (void)snprintf(name, sizeof name, "/labels/mode_%d/offsets", mode);
  return amped_hdf5_is_sealed(file, name, out);
}

static amped_status write_mode(amped_hdf5 *file, int mode, const amped_labels *labels) {
  char folder[AMPED_HDF5_NAME / 2];
  char name[AMPED_HDF5_NAME];
  const uint64_t count = labels->count + 1;
  const uint64_t one = 1;
  (void)snprintf(folder, sizeof folder, "/labels/mode_%d", mode);
  AMPED_TRY(amped_hdf5_make_group(file, folder));
  if (labels->name != NULL)
    AMPED_TRY(amped_hdf5_put_text(file, folder, "name", labels->name));
  if (labels->are_indices)
    AMPED_TRY(amped_hdf5_put_u64(file, folder, INDICES, 0, &one));
  if (labels->period != AMPED_PERIOD_NONE)
    AMPED_TRY(amped_hdf5_put_text(file, folder, PERIOD, amped_period_word(labels->period)));
  if (labels->of_array)
    AMPED_TRY(amped_hdf5_put_u64(file, folder, ARRAY, 0, &one));
  (void)snprintf(name, sizeof name, "%s/bytes", folder);
  AMPED_TRY(
      amped_hdf5_dataset_write(file, name, u8, 1, &labels->offsets[labels->count], labels->bytes));
  (void)snprintf(name, sizeof name, "%s/offsets", folder);
  return amped_hdf5_dataset_write(file, name, u64, 1, &count, labels->offsets);
}

amped_status amped_hdf5_labels_write(amped_hdf5 *file, int order, const amped_labels *labels) {
  const uint64_t base = 0;
  bool group_made = false;
  if (amped_labels_begin_at_zero(labels, order))
    AMPED_TRY(amped_hdf5_put_u64(file, "/", INDEX_BASE, 0, &base));
  for (int m = 0; m < order; m++) {
    if (labels[m].count == 0)
      continue;
    if (!group_made)
      AMPED_TRY(amped_hdf5_make_group(file, "/labels"));
    group_made = true;
    AMPED_TRY(write_mode(file, m, &labels[m]));
  }
  return AMPED_OK;
}

uint64_t amped_hdf5_labels_file_bytes(int order, const amped_labels *labels) {
  uint64_t bytes = 0;
  for (int m = 0; labels != NULL && m < order; m++)
    if (labels[m].count > 0)
      bytes += amped_hdf5_dataset_bytes(labels[m].count + 1, 1, sizeof *labels[m].offsets) +
               amped_hdf5_dataset_bytes(labels[m].offsets[labels[m].count], 1, 1);
  return bytes;
}
