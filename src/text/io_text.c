/* Text in chunks: a reading thread fills two buffers in turn; chunks are split into pieces. */
#include "text/io_text.h"

#include <omp.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "text/io_format.h"
#include "base/magic.h"
#include "text/io_stream.h"
#include "base/log.h"
#include "base/mem.h"

/* Sizes of chunks. The first chunk is small, so that small files take little memory. Each next
 * chunk is twice as long, up to a MiB per thread: a thread's piece then stays in its cache. */
#define FIRST_CHUNK_BYTES AMPED_TEXT_ROW_BYTES
#define LEAST_CHUNK_BYTES (UINT64_C(8) << 20)
#define MOST_CHUNK_BYTES (UINT64_C(64) << 20)
/* Share of bounded memory that a chunk may take: 1/64. The nonzeros of a chunk take at most seven
 * times the bytes of its text. */
#define MEMORY_PER_CHUNK 64
/* Pieces per thread, so that a slow core does not delay the others; fewest bytes of a piece. */
#define PIECES_PER_THREAD 4
#define LEAST_PIECE_BYTES (UINT64_C(16) << 10)

/* Slot for one of the two chunks: filled by the reading thread, emptied by the caller. */
typedef struct slot {
  char *data;
  uint64_t capacity;
  uint64_t used; /* bytes read; bytes after `rows` begin the next chunk */
  uint64_t rows; /* bytes of whole rows */
  uint64_t lines;
  uint64_t done;  /* compressed bytes read so far, for progress */
  uint64_t total; /* compressed bytes of the whole input; 0: unknown */
  bool full, cut, last;
  amped_status status;
} slot;

struct amped_text {
  amped_stream *stream;
  bool quoted;
  uint64_t chunk_bytes, most_bytes;
  uint64_t line;
  slot slots[2];
  int current; /* slot that the caller gets next */
  bool holding, ended;
  bool threaded, stop;
  int readers; /* threads that fill chunks, in addition to the parsing threads */
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t changed;
};

uint64_t amped_text_count(const char *begin, const char *end, char c) {
  uint64_t count = 0;
  /* Count 64 characters at a time in a one-byte counter: compilers vectorise the inner loop. */
  for (; end - begin >= 64; begin += 64) {
    unsigned char n = 0;
    for (int i = 0; i < 64; i++)
      n = (unsigned char)(n + (begin[i] == c));
    count += n;
  }
  for (; begin < end; begin++)
    count += *begin == c;
  return count;
}

/* Bytes of a long text in which a thread counts lines at a time. */
#define COUNT_BYTES (INT64_C(1) << 20)

static uint64_t count_lines(const char *begin, const char *end) {
  uint64_t count = 0;
#pragma omp parallel for schedule(static) reduction(+ : count) if (end - begin > COUNT_BYTES)
  for (int64_t at = 0; at < end - begin; at += COUNT_BYTES)
    count += amped_text_count(
        begin + at, end - begin - at < COUNT_BYTES ? end : begin + at + COUNT_BYTES, '\n');
  return count;
}

/* Threads that read: a quarter of all, because reading a chunk takes a quarter of the time of
 * parsing it. */
static int reader_threads(int threads) {
  return threads > 4 ? threads / 4 : 1;
}

/* ---- the reading thread ---- */

/* Bytes of data[0 .. used) up to the end of the last whole row. */
static uint64_t whole_rows(const amped_text *text, const char *data, uint64_t used) {
  if (!text->quoted) {
    const char *last = memrchr(data, '\n', used);
    return last != NULL ? (uint64_t)(last - data) + 1 : 0;
  }
  bool inside = amped_text_count(data, data + used, '"') % 2 != 0;
  for (uint64_t i = used; i > 0; i--) {
    if (data[i - 1] == '"')
      inside = !inside;
    else if (data[i - 1] == '\n' && !inside)
      return i;
  }
  return 0;
}

/* Fill s with the bytes that `before` did not use, and with new bytes. */
static amped_status fill(amped_text *text, slot *s, const slot *before) {
  uint64_t carry = before->used - before->rows;
  uint64_t want = carry + text->chunk_bytes;
  bool ended = false;
  if (s->capacity < want) {
    amped_free(s->data);
    s->capacity = 0;
    AMPED_TRY(amped_alloc(&s->data, want + 2, 1, "text")); /* plus a line end and a null */
    s->capacity = want;
  }
  if (carry > 0)
    memcpy(s->data, before->data + before->rows, carry);
  s->used = carry;
  while (s->used < want && !ended) {
    uint64_t got = 0;
    AMPED_TRY(amped_stream_read(text->stream, s->data + s->used, want - s->used, &got));
    s->used += got;
    ended = got == 0;
  }
  amped_stream_progress(text->stream, &s->done, &s->total);
  s->cut = false;
  if (ended) {
    if (s->used > 0 && s->data[s->used - 1] != '\n')
      s->data[s->used++] = '\n';
    s->rows = s->used; /* if quotes are open, the parser reports it */
  } else {
    s->rows = whole_rows(text, s->data, s->used);
    s->cut = s->rows == 0;
  }
  if (s->cut)
    s->rows = s->used;
  s->data[s->used] = '\0';
  s->last = ended || s->cut;
  s->lines = count_lines(s->data, s->data + s->rows);
  if (text->chunk_bytes < text->most_bytes)
    text->chunk_bytes *= 2;
  return AMPED_OK;
}

/* Main function of the reading thread, which reads from the second chunk on. */
static void *read_chunks(void *argument) {
  amped_text *text = argument;
  omp_set_num_threads(text->readers);
  for (int i = 1;; i = 1 - i) {
    slot *s = &text->slots[i];
    (void)pthread_mutex_lock(&text->lock);
    while (s->full && !text->stop)
      (void)pthread_cond_wait(&text->changed, &text->lock);
    bool stop = text->stop;
    (void)pthread_mutex_unlock(&text->lock);
    if (stop)
      return NULL;
    /* Reading from both slots is safe: the caller only reads as well. */
    amped_status status = fill(text, s, &text->slots[1 - i]);
    (void)pthread_mutex_lock(&text->lock);
    s->status = status;
    s->full = true;
    stop = status != AMPED_OK || s->last;
    (void)pthread_cond_broadcast(&text->changed);
    (void)pthread_mutex_unlock(&text->lock);
    if (stop)
      return NULL;
  }
}

/* ---- chunks ---- */

/* Most bytes in a chunk. */
static uint64_t most_bytes(const amped_overflow *overflow) {
  uint64_t most = (uint64_t)omp_get_max_threads() << 20;
  most = most < LEAST_CHUNK_BYTES ? LEAST_CHUNK_BYTES : most;
  most = most > MOST_CHUNK_BYTES ? MOST_CHUNK_BYTES : most;
  if (overflow != NULL && most > overflow->memory / MEMORY_PER_CHUNK)
    most = overflow->memory / MEMORY_PER_CHUNK;
  return most > FIRST_CHUNK_BYTES ? most : FIRST_CHUNK_BYTES;
}

/* Read the first chunk in this thread; a file of one chunk needs no other. amped_text_next reports
 * a failure. */
static amped_status start_reading(amped_text *text, const char *path) {
  slot *first = &text->slots[0];
  first->status = fill(text, first, &text->slots[1]);
  if (first->status == AMPED_OK)
    first->status = amped_magic_check(amped_io_name(path), first->data, first->used);
  first->full = true;
  if (first->status != AMPED_OK || first->last)
    return AMPED_OK;
  int code = pthread_create(&text->thread, NULL, read_chunks, text);
  if (code != 0)
    return amped_error_errno(AMPED_FAILED, code, path,
                             "no thread to read it with; allow more threads (ulimit -u)");
  text->threaded = true;
  return AMPED_OK;
}

amped_status amped_text_open(const char *path, bool quoted, const amped_overflow *overflow,
                             amped_text **out) {
  amped_text *text = NULL;
  uint64_t done = 0;
  uint64_t total = 0;
  amped_status status = AMPED_OK;
  *out = NULL;
  AMPED_TRY(amped_calloc(&text, 1, sizeof *text, "a text file"));
  (void)pthread_mutex_init(&text->lock, NULL);
  (void)pthread_cond_init(&text->changed, NULL);
  text->most_bytes = most_bytes(overflow);
  text->chunk_bytes = FIRST_CHUNK_BYTES;
  text->quoted = quoted;
  text->readers = reader_threads(omp_get_max_threads());
  text->line = 1;
  AMPED_GO(fail, amped_stream_open(path, &text->stream));
  amped_stream_progress(text->stream, &done, &total);
  amped_progress_begin("reading", total, "B");
  AMPED_GO(fail, start_reading(text, path));
  *out = text;
  return AMPED_OK;
fail:
  amped_text_close(text);
  return status;
}

/* Return the caller's slot to the reading thread. */
static void release(amped_text *text) {
  slot *s = &text->slots[text->current];
  (void)pthread_mutex_lock(&text->lock);
  s->full = false;
  (void)pthread_cond_broadcast(&text->changed);
  (void)pthread_mutex_unlock(&text->lock);
  text->holding = false;
  text->current = 1 - text->current;
}

amped_status amped_text_next(amped_text *text, amped_text_chunk *chunk) {
  static const char nothing[1] = "";
  *chunk = (amped_text_chunk){
      .begin = nothing, .end = nothing, .line = text->line, .cut = false, .fraction = 0.0};
  if (text->holding)
    release(text);
  if (text->ended)
    return AMPED_OK;
  slot *s = &text->slots[text->current];
  (void)pthread_mutex_lock(&text->lock);
  while (!s->full)
    (void)pthread_cond_wait(&text->changed, &text->lock);
  (void)pthread_mutex_unlock(&text->lock);
  text->ended = s->last || s->status != AMPED_OK;
  AMPED_TRY(s->status);
  text->holding = true;
  chunk->begin = s->data;
  chunk->end = s->data + s->rows;
  chunk->cut = s->cut;
  chunk->fraction = s->total > 0 ? (double)s->done / (double)s->total : 0.0;
  if (text->line == 1)
    chunk->begin = amped_text_skip_marks(chunk->begin);
  text->line += s->lines;
  amped_progress_update(s->done);
  return AMPED_OK;
}

void amped_text_close(amped_text *text) {
  if (text == NULL)
    return;
  if (text->threaded) {
    (void)pthread_mutex_lock(&text->lock);
    text->stop = true;
    amped_stream_stop(text->stream);
    (void)pthread_cond_broadcast(&text->changed);
    (void)pthread_mutex_unlock(&text->lock);
    (void)pthread_join(text->thread, NULL);
  }
  if (text->stream != NULL)
    amped_progress_end();
  amped_stream_close(text->stream);
  (void)pthread_cond_destroy(&text->changed);
  (void)pthread_mutex_destroy(&text->lock);
  amped_free(text->slots[0].data);
  amped_free(text->slots[1].data);
  amped_free(text);
}

/* ---- pieces ---- */

/* Returns the start of the next row after the first row end at or after `from`; `inside`: `from` is
 * inside quotes. */
static const char *next_row(const char *from, const char *end, bool quoted, bool inside) {
  if (!quoted) {
    const char *last = memchr(from, '\n', (size_t)(end - from));
    return last != NULL ? last + 1 : end;
  }
  for (; from < end; from++) {
    if (*from == '"')
      inside = !inside;
    else if (*from == '\n' && !inside)
      return from + 1;
  }
  return end;
}

int amped_text_split(const amped_text_chunk *chunk, bool quoted, amped_piece *pieces) {
  uint64_t bytes = (uint64_t)(chunk->end - chunk->begin);
  uint64_t want = (uint64_t)omp_get_max_threads() * PIECES_PER_THREAD;
  uint64_t quotes[AMPED_MAX_PIECES] = {0};
  int count = 0;
  if (want > AMPED_MAX_PIECES)
    want = AMPED_MAX_PIECES;
  if (want > bytes / LEAST_PIECE_BYTES)
    want = bytes / LEAST_PIECE_BYTES + 1;
  uint64_t even = bytes / want;
  if (quoted) {
#pragma omp parallel for schedule(static)
    for (uint64_t i = 0; i < want; i++)
      quotes[i] = amped_text_count(chunk->begin + i * even, chunk->begin + (i + 1) * even, '"');
  }
  const char *begin = chunk->begin;
  bool inside = false;
  for (uint64_t i = 0; i < want && begin < chunk->end; i++) {
    inside ^= quotes[i] % 2 != 0;
    const char *from = chunk->begin + (i + 1) * even;
    /* The newline before `from` may already end the row. */
    if (from <= begin && i + 1 < want)
      continue;
    const char *end = i + 1 == want ? chunk->end : next_row(from, chunk->end, quoted, inside);
    pieces[count] = (amped_piece){.begin = begin, .end = end};
    count++;
    begin = end;
  }
#pragma omp parallel for schedule(static)
  for (int i = 0; i < count; i++)
    pieces[i].lines = amped_text_count(pieces[i].begin, pieces[i].end, '\n');
  return count;
}

void amped_piece_fail(amped_piece *piece, const char *at, const char *format, ...) {
  va_list args;
  if (piece->status != AMPED_OK)
    return;
  piece->status = AMPED_BAD_INPUT;
  piece->error_at = at;
  va_start(args, format);
  (void)vsnprintf(piece->error, sizeof piece->error, format, args);
  va_end(args);
}

amped_status amped_text_check(const char *path, const amped_text_chunk *chunk,
                              const amped_piece *pieces, int count) {
  uint64_t line = chunk->line;
  for (int i = 0; i < count; i++) {
    const amped_piece *piece = &pieces[i];
    if (piece->status != AMPED_OK && piece->error_at != NULL)
      return amped_text_error(path, line + amped_text_count(piece->begin, piece->error_at, '\n'),
                              "%s", piece->error);
    AMPED_TRY(piece->status);
    line += piece->lines;
  }
  return AMPED_OK;
}

amped_status amped_text_error(const char *path, uint64_t line, const char *format, ...) {
  char message[1280];
  va_list args;
  va_start(args, format);
  (void)vsnprintf(message, sizeof message, format, args);
  va_end(args);
  return amped_error(AMPED_BAD_INPUT, strcmp(path, "-") == 0 ? "standard input" : path,
                     "line %" PRIu64 ": %s", line, message);
}
