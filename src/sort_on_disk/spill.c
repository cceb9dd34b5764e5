/* Spill: fragments in a temporary file, and their merge.
 *
 * The merge reads a window of every fragment into memory. All nonzeros up to the smallest of the
 * windows' last nonzeros are then in memory, for every fragment. They are gathered in the order of
 * the fragments and sorted, stably and with all threads, like any tensor in memory. */
#include "sort_on_disk/spill.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/sort.h"

/* Elements that a thread converts and writes or reads at a time. */
#define PIECE (UINT64_C(1) << 14)

/* Fewest nonzeros in a window: smaller reads would be inefficient. */
#define LEAST_WINDOW 64

/* Fragment of the file. Its arrays follow one another; array `order` has the values. */
typedef struct fragment {
  uint64_t first; /* number of its first nonzero in the spill */
  uint64_t nnz;
  uint64_t offsets[AMPED_MAX_ORDER + 1];
  uint64_t bytes[AMPED_MAX_ORDER + 1]; /* bytes of an element of each array */
} fragment;

struct amped_spill {
  int order;
  int fd;
  char *folder;
  uint64_t nnz;
  uint64_t bytes;
  uint64_t count, capacity;
  fragment *fragments;
};

static amped_status open_file(amped_spill *s) {
  uint64_t size = strlen(s->folder) + 32;
  char *name = NULL;
  AMPED_TRY(amped_alloc(&name, size, 1, "a path"));
  (void)snprintf(name, size, "%s/amped_mpi.tmp.XXXXXX", s->folder);
  s->fd = mkostemp(name, O_CLOEXEC);
  int failed = s->fd < 0 ? errno : 0;
  if (s->fd >= 0)
    (void)unlink(name);
  amped_free(name);
  if (failed == 0)
    return AMPED_OK;
  return amped_error_errno(AMPED_FAILED, failed, s->folder,
                           "no temporary file can be made there; name another folder with "
                           "--temporary");
}

amped_status amped_spill_create(const char *folder, int order, amped_spill **out) {
  amped_spill *s = NULL;
  amped_status status = AMPED_OK;
  *out = NULL;
  AMPED_TRY(amped_calloc(&s, 1, sizeof *s, "a temporary file"));
  s->order = order;
  s->fd = -1;
  AMPED_GO(fail, amped_strdup(&s->folder, folder));
  AMPED_GO(fail, open_file(s));
  *out = s;
  return AMPED_OK;
fail:
  amped_spill_free(s);
  return status;
}

void amped_spill_free(amped_spill *s) {
  if (s == NULL)
    return;
  if (s->fd >= 0)
    (void)close(s->fd);
  amped_free(s->folder);
  amped_free(s->fragments);
  amped_free(s);
}

uint64_t amped_spill_nnz(const amped_spill *s) {
  return s->nnz;
}

uint64_t amped_spill_bytes(const amped_spill *s) {
  return s->bytes;
}

/* --- elements in and out ---------------------------------------------------------------------- */

static amped_status write_bytes(const amped_spill *s, const char *data, uint64_t bytes,
                                uint64_t offset) {
  const int failed = amped_file_write_at(s->fd, data, bytes, offset);
  if (failed == 0)
    return AMPED_OK;
  return amped_error_errno(AMPED_FAILED, failed, s->folder,
                           "a temporary file there cannot be written; free disk space or name "
                           "another folder with --temporary");
}

static amped_status read_bytes(const amped_spill *s, char *data, uint64_t bytes, uint64_t offset) {
  while (bytes > 0) {
    ssize_t n = pread(s->fd, data, bytes, (off_t)offset);
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return amped_error_errno(AMPED_FAILED, n < 0 ? errno : EIO, s->folder,
                               "a temporary file there cannot be read; check the disk");
    data += n;
    offset += (uint64_t)n;
    bytes -= (uint64_t)n;
  }
  return AMPED_OK;
}

/* Write elements from .. from+n of array m, narrowed, into the file. */
static amped_status write_piece(const amped_spill *s, const fragment *r, const amped_sptensor *t,
                                int m, uint64_t from, uint64_t n) {
  char narrow[8 * PIECE];
  for (uint64_t i = 0; i < n && m < s->order; i++)
    amped_index_put(narrow, (amped_itype)r->bytes[m], i, t->indices[m][from + i]);
  for (uint64_t i = 0; i < n && m == s->order; i++)
    amped_value_put(narrow, (amped_vtype)r->bytes[m], i, t->values[from + i]);
  return write_bytes(s, narrow, n * r->bytes[m], r->offsets[m] + from * r->bytes[m]);
}

/* Read elements from .. from+n of array m of a fragment into t, at nonzero `at`. */
static amped_status read_piece(const amped_spill *s, const fragment *r, int m, uint64_t from,
                               uint64_t n, amped_sptensor *t, uint64_t at) {
  char narrow[8 * PIECE];
  AMPED_TRY(read_bytes(s, narrow, n * r->bytes[m], r->offsets[m] + from * r->bytes[m]));
  for (uint64_t i = 0; i < n && m < s->order; i++)
    t->indices[m][at + i] = amped_index_get(narrow, (amped_itype)r->bytes[m], i);
  for (uint64_t i = 0; i < n && m == s->order; i++)
    t->values[at + i] = amped_value_get(narrow, (amped_vtype)r->bytes[m], i);
  return AMPED_OK;
}

/* Read all arrays of nonzeros from .. from+n of a fragment into t, at nonzero `at`, with one
 * thread. */
static amped_status read_nonzeros(const amped_spill *s, const fragment *r, uint64_t from,
                                  uint64_t n, amped_sptensor *t, uint64_t at) {
  for (int m = 0; m <= s->order; m++)
    for (uint64_t i = 0; i < n; i += PIECE)
      AMPED_TRY(read_piece(s, r, m, from + i, n - i < PIECE ? n - i : PIECE, t, at + i));
  return AMPED_OK;
}

/* --- adding and reading ----------------------------------------------------------------------- */

static void lay_out(const amped_spill *s, const amped_sptensor *t, fragment *r) {
  uint64_t offset = s->bytes;
  r->first = s->nnz;
  r->nnz = t->nnz;
  for (int m = 0; m <= s->order; m++) {
    int bits = m < s->order ? amped_sort_bits(t->indices[m], t->nnz) : 0;
    r->offsets[m] = offset;
    if (m == s->order)
      r->bytes[m] = amped_sptensor_fits_float(t) ? AMPED_F32 : AMPED_F64;
    else
      r->bytes[m] = amped_itype_for(bits < 63 ? UINT64_C(1) << bits : AMPED_MAX_DIM);
    offset += r->bytes[m] * r->nnz;
  }
}

amped_status amped_spill_add(amped_spill *s, const amped_sptensor *t) {
  const uint64_t pieces = amped_ceil_div(t->nnz, PIECE);
  int worst = AMPED_OK;
  if (t->nnz == 0)
    return AMPED_OK;
  if (s->count == s->capacity) {
    AMPED_TRY(amped_realloc(&s->fragments, 2 * s->capacity + 8, sizeof *s->fragments,
                            "the list of fragments"));
    s->capacity = 2 * s->capacity + 8;
  }
  fragment *r = &s->fragments[s->count];
  lay_out(s, t, r);
#pragma omp parallel for schedule(dynamic) collapse(2) reduction(max : worst)
  for (int m = 0; m <= s->order; m++)
    for (uint64_t p = 0; p < pieces; p++) {
      uint64_t from = p * PIECE;
      int got = (int)write_piece(s, r, t, m, from, t->nnz - from < PIECE ? t->nnz - from : PIECE);
      worst = got > worst ? got : worst;
    }
  AMPED_TRY((amped_status)worst);
  s->count++;
  s->nnz += t->nnz;
  s->bytes = r->offsets[s->order] + r->bytes[s->order] * r->nnz;
  return AMPED_OK;
}

/* Find the fragment that holds a nonzero. */
static const fragment *fragment_of(const amped_spill *s, uint64_t nonzero) {
  uint64_t low = 0;
  uint64_t high = s->count;
  while (high - low > 1) {
    uint64_t middle = low + (high - low) / 2;
    if (s->fragments[middle].first <= nonzero)
      low = middle;
    else
      high = middle;
  }
  return &s->fragments[low];
}

/* Read the nonzeros of one piece, which may cover several fragments. */
static amped_status read_across(const amped_spill *s, uint64_t first, uint64_t count,
                                amped_sptensor *t, uint64_t at) {
  while (count > 0) {
    const fragment *r = fragment_of(s, first);
    uint64_t from = first - r->first;
    uint64_t n = r->nnz - from < count ? r->nnz - from : count;
    AMPED_TRY(read_nonzeros(s, r, from, n, t, at));
    first += n;
    at += n;
    count -= n;
  }
  return AMPED_OK;
}

amped_status amped_spill_read(const amped_spill *s, uint64_t first, uint64_t count,
                              amped_sptensor *t) {
  const uint64_t pieces = amped_ceil_div(count, PIECE);
  int worst = AMPED_OK;
#pragma omp parallel for schedule(dynamic) reduction(max : worst)
  for (uint64_t p = 0; p < pieces; p++) {
    uint64_t from = p * PIECE;
    uint64_t n = count - from < PIECE ? count - from : PIECE;
    int got = (int)read_across(s, first + from, n, t, from);
    worst = got > worst ? got : worst;
  }
  t->nnz = count;
  return (amped_status)worst;
}

/* --- merging ---------------------------------------------------------------------------------- */

typedef struct window {
  uint64_t base; /* start of the window in merge.windows */
  uint64_t begin, end;
  uint64_t next; /* first nonzero of the fragment that is not yet in memory */
} window;

typedef struct merge {
  const amped_spill *s;
  const int *modes;
  int nmodes;
  uint64_t room; /* nonzeros per window */
  window *window;
  uint64_t *counts;       /* nonzeros to take from each window */
  amped_sptensor windows; /* nonzeros of all windows */
  amped_sptensor batch;   /* next piece for the sink */
} merge;

/* Bytes per nonzero of the windows: the nonzero itself, its copy in the batch, and scratch memory
 * for sorting. */
static uint64_t merge_bytes(int order) {
  return 2 * 8 * ((uint64_t)order + 1) + AMPED_SORT_SCRATCH;
}

uint64_t amped_spill_merge_memory(int order, uint64_t fragments) {
  return fragments * LEAST_WINDOW * merge_bytes(order);
}

/* Ask the system to read the next window while this window is sorted. */
static void read_ahead(const merge *g, const fragment *r, uint64_t from) {
  uint64_t n = r->nnz - from < g->room ? r->nnz - from : g->room;
  for (int m = 0; m <= g->s->order && n > 0; m++)
    amped_file_ask(g->s->fd, r->offsets[m] + from * r->bytes[m], n * r->bytes[m]);
}

/* Fill a window that is at least half empty. */
static amped_status refill(merge *g, uint64_t i) {
  window *w = &g->window[i];
  const fragment *r = &g->s->fragments[i];
  uint64_t held = w->end - w->begin;
  if (w->next == r->nnz || held > g->room / 2)
    return AMPED_OK;
  for (int m = 0; m < g->s->order; m++)
    memmove(g->windows.indices[m] + w->base, g->windows.indices[m] + w->begin,
            held * sizeof(uint64_t));
  memmove(g->windows.values + w->base, g->windows.values + w->begin, held * sizeof(double));
  w->begin = w->base;
  w->end = w->base + held;
  uint64_t n = r->nnz - w->next < g->room - held ? r->nnz - w->next : g->room - held;
  AMPED_TRY(read_nonzeros(g->s, r, w->next, n, &g->windows, w->end));
  w->end += n;
  w->next += n;
  read_ahead(g, r, w->next);
  return AMPED_OK;
}

static amped_status refill_all(merge *g) {
  int worst = AMPED_OK;
#pragma omp parallel for schedule(dynamic) reduction(max : worst)
  for (uint64_t i = 0; i < g->s->count; i++) {
    int got = (int)refill(g, i);
    worst = got > worst ? got : worst;
  }
  return (amped_status)worst;
}

/* Compare nonzeros a and b of the windows: -1, 0 or 1. */
static int compare(const merge *g, uint64_t a, uint64_t b) {
  for (int i = 0; i < g->nmodes; i++) {
    const uint64_t *index = g->windows.indices[g->modes[i]];
    if (index[a] != index[b])
      return index[a] < index[b] ? -1 : 1;
  }
  return 0;
}

/* Find the fragment whose window ends with the lowest nonzero; the first if several do. Only
 * fragments with nonzeros still on disk count. Returns the number of fragments if there is none. */
static uint64_t lowest_end(const merge *g) {
  uint64_t lowest = g->s->count;
  for (uint64_t i = 0; i < g->s->count; i++)
    if (g->window[i].next < g->s->fragments[i].nnz &&
        (lowest == g->s->count || compare(g, g->window[i].end - 1, g->window[lowest].end - 1) < 0))
      lowest = i;
  return lowest;
}

/* Count the nonzeros of window i below nonzero `pivot`; with `equal`, also the nonzeros equal to
 * it. */
static uint64_t count_below(const merge *g, uint64_t i, uint64_t pivot, bool equal) {
  uint64_t low = g->window[i].begin;
  uint64_t high = g->window[i].end;
  while (low < high) {
    uint64_t middle = low + (high - low) / 2;
    if (compare(g, middle, pivot) < (equal ? 1 : 0))
      low = middle + 1;
    else
      high = middle;
  }
  return low - g->window[i].begin;
}

static void gather_array(merge *g, int m) {
  const bool values = m == g->s->order;
  char *to = values ? (void *)g->batch.values : (void *)g->batch.indices[m];
  const char *from = values ? (void *)g->windows.values : (void *)g->windows.indices[m];
  to += 8 * g->batch.nnz;
  for (uint64_t i = 0; i < g->s->count; i++) {
    memcpy(to, from + 8 * g->window[i].begin, 8 * g->counts[i]);
    to += 8 * g->counts[i];
  }
}

/* Move all nonzeros up to the lowest end into the batch. In later fragments, nonzeros equal to the
 * lowest end must wait: the fragment with the lowest end may have more of them on disk. */
static void gather(merge *g, uint64_t lowest) {
  for (uint64_t i = 0; i < g->s->count; i++) {
    const window *w = &g->window[i];
    g->counts[i] = lowest == g->s->count
                       ? w->end - w->begin
                       : count_below(g, i, g->window[lowest].end - 1, i <= lowest);
  }
#pragma omp parallel for schedule(dynamic, 1)
  for (int m = 0; m <= g->s->order; m++)
    gather_array(g, m);
  for (uint64_t i = 0; i < g->s->count; i++) {
    g->window[i].begin += g->counts[i];
    g->batch.nnz += g->counts[i];
  }
}

static amped_status sort_batch(merge *g) {
  amped_sort_field fields[AMPED_MAX_ORDER];
  void *arrays[AMPED_MAX_ORDER + 1];
  amped_sptensor *b = &g->batch;
  for (int i = 0; i < g->nmodes; i++) {
    const uint64_t *index = b->indices[g->modes[i]];
    fields[i] = (amped_sort_field){index, amped_sort_bits(index, b->nnz)};
  }
  for (int m = 0; m < b->order; m++)
    arrays[m] = b->indices[m];
  arrays[b->order] = b->values;
  return amped_sort(b->nnz, fields, g->nmodes, 0, arrays, b->order + 1);
}

static amped_status merge_all(merge *g, amped_spill_sink sink, void *context) {
  bool last = false;
  while (!last) {
    AMPED_TRY(refill_all(g));
    uint64_t lowest = lowest_end(g);
    last = lowest == g->s->count;
    gather(g, lowest);
    AMPED_TRY(sort_batch(g));
    AMPED_TRY(sink(context, &g->batch, last));
  }
  return AMPED_OK;
}

static amped_status open_windows(merge *g, uint64_t memory) {
  const uint64_t count = g->s->count;
  const uint64_t bytes = merge_bytes(g->s->order);
  g->room = memory / bytes / count;
  if (g->room < LEAST_WINDOW) {
    char least[32];
    return amped_error(
        AMPED_USAGE, NULL,
        "%" PRIu64 " fragments on disk need %s to be merged; give more with --memory", count,
        amped_format_bytes(least, amped_spill_merge_memory(g->s->order, count)));
  }
  AMPED_TRY(amped_calloc(&g->window, count, sizeof *g->window, "the fragments on disk"));
  AMPED_TRY(amped_calloc(&g->counts, count, sizeof *g->counts, "the fragments on disk"));
  AMPED_TRY(amped_sptensor_create(&g->windows, g->s->order, g->room * count));
  AMPED_TRY(amped_sptensor_create(&g->batch, g->s->order, g->room * count + 1));
  g->batch.nnz = 0;
  for (uint64_t i = 0; i < count; i++)
    g->window[i].base = g->window[i].begin = g->window[i].end = i * g->room;
  return AMPED_OK;
}

amped_status amped_spill_merge(const amped_spill *s, const int *modes, int nmodes, uint64_t memory,
                               amped_spill_sink sink, void *context) {
  merge g = {.s = s, .modes = modes, .nmodes = nmodes};
  amped_status status = AMPED_OK;
  if (s->count == 0)
    return AMPED_OK;
  AMPED_GO(done, open_windows(&g, memory));
  status = merge_all(&g, sink, context);
done:
  amped_sptensor_free(&g.batch);
  amped_sptensor_free(&g.windows);
  amped_free(g.counts);
  amped_free(g.window);
  return status;
}
