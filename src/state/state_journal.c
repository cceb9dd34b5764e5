/* State journal: a header, then records with hashes, then a mark per batch. */
#include "state/state_journal.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/draft.h"
#include "base/heartbeat.h"
#include "base/mem.h"
#include "base/random.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "words are little-endian");

#define WORD sizeof(uint64_t)
#define BUFFER_BYTES (UINT64_C(1) << 20)

/* Most bytes of a batch's name; the rest is cut off. */
#define NAME_BYTES 8192

/* Header: the magic, the state's version, its id, order, ncomps, bytes of a number, history_length,
 * and a hash of these. */
#define HEADER_WORDS 8
#define HEADER_BYTES (HEADER_WORDS * WORD)

/* A record: one of these words, the length of its content in bytes, the content, a hash of all
 * these. */
#define ROWS UINT64_C(0x53574F5244504D41)   /* "AMPDROWS": mode, count, entries of rows */
#define LABELS UINT64_C(0x534C424C44504D41) /* "AMPDLBLS": mode, count, bytes, lengths, text */
#define SUMS UINT64_C(0x534D555344504D41)   /* "AMPDSUMS": mode, numbers */
#define HELD UINT64_C(0x444C454844504D41)   /* "AMPDHELD": count, indices of each mode, values */
#define SAMPLE UINT64_C(0x4C504D5344504D41) /* "AMPDSMPL": the same */
#define BATCH UINT64_C(0x4843544244504D41)  /* "AMPDBTCH": hash, nnz, bytes of name, name */
#define COMMIT UINT64_C(0x54494D4344504D41) /* "AMPDCMIT": hash chain so far, head */
#define FRAME_BYTES (3 * WORD)

static uint64_t padded(uint64_t bytes) {
  return (bytes + WORD - 1) / WORD * WORD;
}

/* Partial hash of a record: `count` words, numbered first, first + 1, ... */
static uint64_t hash_words(const void *bytes, uint64_t count, uint64_t first) {
  uint64_t sum = 0;
  for (uint64_t i = 0; i < count; i++) {
    uint64_t word = 0;
    memcpy(&word, (const unsigned char *)bytes + i * WORD, WORD);
    sum += amped_mix64(amped_mix64(word) ^ (first + i));
  }
  return sum;
}

static amped_status damaged(const amped_journal *j, uint64_t at) {
  return amped_error(
      AMPED_BAD_INPUT, j->path,
      "is damaged at byte %" PRIu64 "; restore the state and its journal from a backup", at);
}

static amped_status cannot_write(const amped_journal *j, int failed) {
  return amped_error_errno(AMPED_FAILED, failed, j->path, "cannot be written; free disk space");
}

/* --- life ------------------------------------------------------------------------------------- */

static void make_header(const amped_state_head *head, uint64_t id, uint64_t words[HEADER_WORDS]) {
  const uint64_t all[HEADER_WORDS - 1] = {
      AMPED_JOURNAL_MAGIC,   amped_state_head_version(head), id,
      (uint64_t)head->order, (uint64_t)head->ncomps,         (uint64_t)head->type,
      head->history_length};
  memcpy(words, all, sizeof all);
  words[HEADER_WORDS - 1] = amped_mix64(hash_words(all, HEADER_WORDS - 1, 0));
}

static amped_status begin(const char *path, bool writes, const amped_state_head *head,
                          amped_journal *j) {
  *j = (amped_journal){.path = path,
                       .fd = -1,
                       .writes = writes,
                       .order = head->order,
                       .head_words = (uint64_t)amped_state_head_words(head),
                       .type = head->type,
                       .factor_bytes = padded((uint64_t)head->ncomps * (uint64_t)head->type),
                       .history_bytes = padded(head->history_length * (uint64_t)head->type)};
  j->factor_numbers = (uint64_t)head->ncomps;
  j->history_numbers = head->history_length;
  j->sums_numbers = amped_state_sums_width(head) * amped_state_sums_width(head);
  j->row_bytes = 2 * WORD + j->factor_bytes + j->history_bytes;
  j->room = padded(j->row_bytes > BUFFER_BYTES ? j->row_bytes : BUFFER_BYTES);
  j->end = j->at = HEADER_BYTES;
  return amped_alloc(&j->buffer, j->room, 1, "the buffer of a journal");
}

void amped_journal_close(amped_journal *j) {
  if (j->fd >= 0 && j->open)
    (void)close(j->fd);
  amped_free(j->buffer);
  memset(j, 0, sizeof *j);
  j->fd = -1;
}

/* Returns errno, or 0. *exists: the file exists. */
static int open_file(amped_journal *j, bool *exists) {
  struct stat st;
  const int flags = O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  j->fd = open(j->path, (j->writes ? O_RDWR : O_RDONLY) | flags);
  *exists = j->fd >= 0 || errno != ENOENT;
  if (j->fd < 0)
    return *exists ? errno : 0;
  j->open = true;
  if (fstat(j->fd, &st) != 0)
    return errno;
  j->bytes = (uint64_t)st.st_size;
  return S_ISREG(st.st_mode) ? 0 : EINVAL;
}

static amped_status read_at(const amped_journal *j, uint64_t at, uint64_t bytes, void *out) {
  unsigned char *to = out;
  while (bytes > 0) {
    const ssize_t n = pread(j->fd, to, bytes, (off_t)at);
    if (n == 0)
      return damaged(j, at);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return amped_error_errno(AMPED_FAILED, errno, j->path, "cannot be read; check the disk");
    to += n;
    at += (uint64_t)n;
    bytes -= (uint64_t)n;
  }
  return AMPED_OK;
}

static amped_status check_header(amped_journal *j, const amped_state_head *head) {
  uint64_t found[HEADER_WORDS] = {0};
  uint64_t like[HEADER_WORDS];
  if (j->bytes >= HEADER_BYTES)
    AMPED_TRY(read_at(j, 0, HEADER_BYTES, found));
  if (found[0] != AMPED_JOURNAL_MAGIC)
    return amped_error(AMPED_BAD_INPUT, j->path,
                       "is not the journal of a stream's state; rename that file");
  make_header(head, found[2], like);
  if (amped_mix64(hash_words(found, HEADER_WORDS - 1, 0)) != found[HEADER_WORDS - 1])
    return damaged(j, 0);
  j->fits = memcmp(found, like, sizeof like) == 0;
  j->id = found[2];
  j->chain = j->chain_at_end = found[HEADER_WORDS - 1];
  return AMPED_OK;
}

amped_status amped_journal_open(const char *path, bool writes, const amped_state_head *head,
                                amped_journal *out) {
  amped_status status = AMPED_OK;
  bool exists = false;
  AMPED_GO(done, begin(path, writes, head, out));
  const int failed = open_file(out, &exists);
  if (failed != 0)
    status = amped_error_errno(AMPED_FAILED, failed, path, "cannot be opened as a journal");
  else if (exists)
    status = check_header(out, head);
done:
  if (status != AMPED_OK || !exists)
    amped_journal_close(out);
  return status;
}

amped_status amped_journal_create(const char *path, const amped_state_head *head, uint64_t id,
                                  amped_journal *out) {
  uint64_t words[HEADER_WORDS];
  amped_draft draft;
  memset(out, 0, sizeof *out);
  out->path = path;
  AMPED_TRY(amped_draft_open(path, true, &draft));
  make_header(head, id, words);
  const int failed = amped_file_write_at(draft.fd, words, sizeof words, 0);
  if (failed != 0) {
    amped_draft_close(&draft);
    return cannot_write(out, failed);
  }
  AMPED_TRY(amped_draft_publish(&draft, false));
  AMPED_TRY(amped_journal_open(path, true, head, out));
  return out->open
             ? AMPED_OK
             : amped_error(AMPED_FAILED, path, "was removed; keep it in the folder of the state");
}

/* --- reading ---------------------------------------------------------------------------------- */

/* Traversal of the file. The first `used` bytes of the buffer are already read. */
typedef struct scan {
  amped_journal *j;
  const amped_journal_visit *visit;
  uint64_t used;
  uint64_t left; /* bytes of the file not yet in the buffer */
  amped_status status;
  bool is_strange; /* a number that is not finite was read since the last mark */
} scan;

static void seek(scan *s, uint64_t at) {
  s->j->at = at;
  s->j->filled = s->used = 0;
  s->left = s->j->bytes - at;
}

/* Returns the next n bytes without consuming them; n is at most the buffer's size. NULL if the file
 * ends earlier or a read fails. */
static const unsigned char *peek(scan *s, uint64_t n) {
  amped_journal *j = s->j;
  if (j->filled - s->used >= n)
    return j->buffer + s->used;
  if (j->filled - s->used + s->left < n)
    return NULL;
  memmove(j->buffer, j->buffer + s->used, j->filled - s->used);
  j->filled -= s->used;
  s->used = 0;
  const uint64_t room = j->room - j->filled;
  const uint64_t more = s->left < room ? s->left : room;
  s->status = read_at(j, j->at + j->filled, more, j->buffer + j->filled);
  if (s->status != AMPED_OK)
    return NULL;
  j->filled += more;
  s->left -= more;
  amped_heartbeat_step();
  return j->buffer;
}

/* Consume n bytes and add them to the record's hash. */
static const unsigned char *take(scan *s, uint64_t n) {
  const unsigned char *bytes = peek(s, n);
  if (bytes == NULL)
    return NULL;
  s->j->sum += hash_words(bytes, n / WORD, s->j->word);
  s->j->word += n / WORD;
  s->used += n;
  s->j->at += n;
  return bytes;
}

static bool take_words(scan *s, uint64_t count, uint64_t *out) {
  const unsigned char *bytes = take(s, count * WORD);
  if (bytes != NULL)
    memcpy(out, bytes, count * WORD);
  return bytes != NULL;
}

static bool skip(scan *s, uint64_t bytes) {
  while (bytes > 0) {
    const uint64_t n = bytes < s->j->room ? bytes : s->j->room;
    if (take(s, n) == NULL)
      return false;
    bytes -= n;
  }
  return true;
}

/* Padding is zero, and therefore finite. */
static bool are_finite(amped_vtype type, const unsigned char *bytes, uint64_t count) {
  bool fine = true;
  for (uint64_t i = 0; i < count; i += (uint64_t)type) {
    float f = 0.0F;
    double d = 0.0;
    if (type == AMPED_F32)
      memcpy(&f, bytes + i, sizeof f);
    else
      memcpy(&d, bytes + i, sizeof d);
    fine = fine && isfinite(f) && isfinite(d);
  }
  return fine;
}

/* Scans of record contents. Each returns false if the content has a wrong form, or if the visit
 * failed. */

static bool scan_rows(scan *s, uint64_t bytes) {
  const amped_journal *j = s->j;
  uint64_t words[2];
  if (bytes < sizeof words || !take_words(s, 2, words) || words[0] >= (uint64_t)j->order ||
      (bytes - sizeof words) % j->row_bytes != 0 ||
      words[1] != (bytes - sizeof words) / j->row_bytes)
    return false;
  for (uint64_t i = 0; i < words[1]; i++) {
    const uint64_t place = j->at;
    uint64_t row[2];
    const unsigned char *entry = take(s, j->row_bytes);
    if (entry == NULL)
      return false;
    memcpy(row, entry, sizeof row);
    s->is_strange = s->is_strange ||
                    !are_finite(j->type, entry + sizeof row, j->factor_bytes + j->history_bytes);
    s->status = s->visit->row(s->visit->context, (int)words[0], row[0], row[1], place);
    if (s->status != AMPED_OK)
      return false;
  }
  return true;
}

static bool scan_labels(scan *s, uint64_t bytes) {
  const uint64_t place = s->j->at;
  uint64_t words[3];
  if (bytes < sizeof words || !take_words(s, 3, words) || words[0] >= (uint64_t)s->j->order)
    return false;
  const uint64_t rest = bytes - sizeof words;
  if (words[1] > rest / WORD || words[2] > rest - words[1] * WORD ||
      padded(words[2]) != rest - words[1] * WORD)
    return false;
  uint64_t sum = 0;
  for (uint64_t i = 0; i < words[1]; i++) {
    uint64_t length = 0;
    if (!take_words(s, 1, &length) || length > words[2] - sum)
      return false;
    sum += length;
  }
  if (sum != words[2] || !skip(s, padded(words[2])))
    return false;
  s->status = s->visit->labels(s->visit->context, (int)words[0], words[1], place);
  return s->status == AMPED_OK;
}

static void look_at(scan *s, const unsigned char *value) {
  s->is_strange = s->is_strange || !are_finite(AMPED_F64, value, WORD);
}

static bool scan_sums(scan *s, uint64_t bytes) {
  const uint64_t place = s->j->at + WORD;
  uint64_t mode = 0;
  if (s->j->sums_numbers == 0 || bytes != (1 + s->j->sums_numbers) * WORD ||
      !take_words(s, 1, &mode) || mode >= (uint64_t)s->j->order)
    return false;
  for (uint64_t i = 0; i < s->j->sums_numbers; i++) {
    const unsigned char *value = take(s, WORD);
    if (value == NULL)
      return false;
    look_at(s, value);
  }
  s->status = s->visit->sums(s->visit->context, (int)mode, place);
  return s->status == AMPED_OK;
}

static bool scan_entries(scan *s, amped_state_list list, uint64_t bytes) {
  const uint64_t entry = ((uint64_t)s->j->order + 1) * WORD;
  const uint64_t place = s->j->at;
  uint64_t count = 0;
  if (bytes < WORD || !take_words(s, 1, &count) || (bytes - WORD) % entry != 0 ||
      count != (bytes - WORD) / entry || !skip(s, count * (uint64_t)s->j->order * WORD))
    return false;
  for (uint64_t i = 0; i < count; i++) {
    const unsigned char *value = take(s, WORD);
    if (value == NULL)
      return false;
    look_at(s, value);
  }
  s->status = s->visit->entries(s->visit->context, list, count, place);
  return s->status == AMPED_OK;
}

static bool scan_batch(scan *s, uint64_t bytes) {
  char name[NAME_BYTES + 1];
  uint64_t words[3];
  if (bytes < sizeof words || !take_words(s, 3, words) || words[2] > NAME_BYTES ||
      padded(words[2]) != bytes - sizeof words)
    return false;
  const unsigned char *text = take(s, padded(words[2]));
  if (text == NULL)
    return false;
  memcpy(name, text, words[2]);
  name[words[2]] = '\0';
  s->status = s->visit->batch(s->visit->context, words[0], words[1], name);
  return s->status == AMPED_OK;
}

/* Compare the hash that follows a record's content. */
static bool ends_well(scan *s) {
  const uint64_t hash = amped_mix64(s->j->sum);
  const unsigned char *bytes = peek(s, WORD);
  uint64_t found = 0;
  if (bytes == NULL)
    return false;
  memcpy(&found, bytes, WORD);
  s->used += WORD;
  s->j->at += WORD;
  s->j->chain = amped_mix64(s->j->chain ^ hash);
  return found == hash;
}

static bool scan_commit(scan *s, uint64_t bytes) {
  const uint64_t chain = s->j->chain;
  const uint64_t count = 1 + s->j->head_words;
  uint64_t words[1 + AMPED_STATE_WORDS];
  amped_state_head head;
  if (bytes != count * WORD || !take_words(s, count, words) || words[0] != chain || !ends_well(s))
    return false;
  if (s->is_strange)
    s->status = amped_error(AMPED_BAD_INPUT, s->j->path,
                            "has a number that is not finite before byte %" PRIu64
                            "; restore the state and its journal from a backup",
                            s->j->at);
  else
    s->status = amped_state_head_unpack(words + 1, count - 1, s->j->path, &head);
  if (s->status == AMPED_OK)
    s->status = s->visit->commit(s->visit->context, &head);
  s->j->end = s->j->at;
  s->j->chain_at_end = s->j->chain;
  return s->status == AMPED_OK;
}

/* Scan the next record. Returns false at the end, at a wrong record, or on a failure. */
static bool scan_record(scan *s) {
  uint64_t frame[2];
  s->j->sum = s->j->word = 0;
  if (!take_words(s, 2, frame) || frame[1] % WORD != 0 || frame[1] > s->j->bytes - s->j->at)
    return false;
  switch (frame[0]) {
  case ROWS:
    return scan_rows(s, frame[1]) && ends_well(s);
  case LABELS:
    return scan_labels(s, frame[1]) && ends_well(s);
  case SUMS:
    return scan_sums(s, frame[1]) && ends_well(s);
  case HELD:
    return scan_entries(s, AMPED_STATE_HELD_OUT, frame[1]) && ends_well(s);
  case SAMPLE:
    return scan_entries(s, AMPED_STATE_SAMPLE, frame[1]) && ends_well(s);
  case BATCH:
    return scan_batch(s, frame[1]) && ends_well(s);
  case COMMIT:
    return scan_commit(s, frame[1]);
  default:
    return false;
  }
}

/* Is there a mark after the last whole batch? If so, a whole batch after it was damaged. */
static bool has_mark(scan *s) {
  const uint64_t content = 1 + s->j->head_words;
  seek(s, s->j->end);
  for (;;) {
    const unsigned char *bytes = peek(s, FRAME_BYTES + content * WORD);
    uint64_t words[3 + 1 + AMPED_STATE_WORDS];
    if (bytes == NULL)
      return false;
    memcpy(words, bytes, FRAME_BYTES + content * WORD);
    if (words[0] == COMMIT && words[1] == content * WORD &&
        amped_mix64(hash_words(words, 2 + content, 0)) == words[2 + content])
      return true;
    s->used += WORD;
    s->j->at += WORD;
  }
}

amped_status amped_journal_scan(amped_journal *j, const amped_journal_visit *visit,
                                uint64_t *dropped) {
  scan s = {.j = j, .visit = visit};
  seek(&s, HEADER_BYTES);
  while (scan_record(&s))
    ;
  if (s.status != AMPED_OK)
    return s.status;
  visit->drop(visit->context);
  const bool is_damaged = has_mark(&s);
  AMPED_TRY(s.status);
  j->chain = j->chain_at_end;
  j->at = j->end;
  j->filled = 0;
  *dropped = j->bytes - j->end;
  return is_damaged ? damaged(j, j->end) : AMPED_OK;
}

amped_status amped_journal_rows(const amped_journal *j, uint64_t place, uint64_t count,
                                unsigned char *entries) {
  return read_at(j, place, count * j->row_bytes, entries);
}

void amped_journal_row(const amped_journal *j, const unsigned char *entry, void *factor,
                       void *history, uint64_t *touched) {
  const unsigned char *numbers = entry + 2 * WORD;
  if (touched != NULL)
    memcpy(touched, entry + WORD, WORD);
  if (factor != NULL)
    memcpy(factor, numbers, j->factor_numbers * (uint64_t)j->type);
  if (history != NULL)
    memcpy(history, numbers + j->factor_bytes, j->history_numbers * (uint64_t)j->type);
}

amped_status amped_journal_sums(const amped_journal *j, uint64_t place, double *out) {
  return read_at(j, place, j->sums_numbers * WORD, out);
}

amped_status amped_journal_label_bytes(const amped_journal *j, uint64_t place, uint64_t *bytes) {
  return read_at(j, place + 2 * WORD, WORD, bytes);
}

amped_status amped_journal_labels(const amped_journal *j, uint64_t place, uint64_t count,
                                  amped_labels *out) {
  const uint64_t lengths = place + 3 * WORD;
  uint64_t *to = out->offsets + out->count;
  const uint64_t first = *to;
  AMPED_TRY(read_at(j, lengths, count * WORD, to + 1));
  for (uint64_t i = 1; i <= count; i++)
    to[i] += to[i - 1];
  AMPED_TRY(read_at(j, lengths + count * WORD, to[count] - first, out->bytes + first));
  out->count += count;
  return AMPED_OK;
}

amped_status amped_journal_entries(const amped_journal *j, uint64_t place, uint64_t count,
                                   amped_sptensor *out) {
  place += WORD;
  for (int m = 0; m < j->order; m++, place += count * WORD)
    AMPED_TRY(read_at(j, place, count * WORD, out->indices[m]));
  return read_at(j, place, count * WORD, out->values);
}

/* --- writing ---------------------------------------------------------------------------------- */

/* While a journal is written, `at` is the file offset of the buffer's first byte. */

static amped_status write_out(amped_journal *j) {
  const int failed = amped_file_write_at(j->fd, j->buffer, j->filled, j->at);
  if (failed != 0)
    return cannot_write(j, failed);
  j->at += j->filled;
  j->filled = 0;
  amped_heartbeat_step();
  return AMPED_OK;
}

/* Append bytes, padded to words, to the file and to the record's hash. */
static amped_status put(amped_journal *j, const void *from, uint64_t bytes) {
  const unsigned char *bytes_left = from;
  while (bytes > 0) {
    if (j->filled == j->room)
      AMPED_TRY(write_out(j));
    const uint64_t room = j->room - j->filled;
    const uint64_t n = bytes < room ? bytes : room;
    unsigned char *to = j->buffer + j->filled;
    memcpy(to, bytes_left, n);
    memset(to + n, 0, padded(n) - n);
    j->sum += hash_words(to, padded(n) / WORD, j->word);
    j->word += padded(n) / WORD;
    j->filled += padded(n);
    bytes_left += n;
    bytes -= n;
  }
  return AMPED_OK;
}

static amped_status put_words(amped_journal *j, uint64_t count, const uint64_t *words) {
  return put(j, words, count * WORD);
}

static amped_status begin_record(amped_journal *j, uint64_t kind, uint64_t bytes) {
  const uint64_t frame[2] = {kind, bytes};
  j->sum = j->word = 0;
  return put_words(j, 2, frame);
}

static amped_status end_record(amped_journal *j) {
  const uint64_t hash = amped_mix64(j->sum);
  j->chain = amped_mix64(j->chain ^ hash);
  return put_words(j, 1, &hash);
}

/* Offset of the next byte in the file. */
static uint64_t place_of(const amped_journal *j) {
  return j->at + j->filled;
}

amped_status amped_journal_cut(amped_journal *j) {
  j->chain = j->chain_at_end;
  j->at = j->end;
  j->filled = 0;
  if (ftruncate(j->fd, (off_t)j->end) != 0)
    return cannot_write(j, errno);
  return AMPED_OK;
}

amped_status amped_journal_put_rows(amped_journal *j, int mode, uint64_t count,
                                    const uint64_t *indices, const void *factor,
                                    const void *history, const uint64_t *touched, uint64_t *place) {
  const uint64_t words[2] = {(uint64_t)mode, count};
  const uint64_t f = j->factor_numbers * (uint64_t)j->type;
  const uint64_t h = j->history_numbers * (uint64_t)j->type;
  AMPED_TRY(begin_record(j, ROWS, sizeof words + count * j->row_bytes));
  AMPED_TRY(put_words(j, 2, words));
  *place = place_of(j);
  for (uint64_t i = 0; i < count; i++) {
    const uint64_t row[2] = {indices[i], touched[i]};
    AMPED_TRY(put_words(j, 2, row));
    AMPED_TRY(put(j, (const unsigned char *)factor + i * f, f));
    if (h > 0)
      AMPED_TRY(put(j, (const unsigned char *)history + i * h, h));
  }
  return end_record(j);
}

amped_status amped_journal_put_sums(amped_journal *j, int mode, const double *sums,
                                    uint64_t *place) {
  const uint64_t word = (uint64_t)mode;
  AMPED_TRY(begin_record(j, SUMS, (1 + j->sums_numbers) * WORD));
  AMPED_TRY(put_words(j, 1, &word));
  *place = place_of(j);
  AMPED_TRY(put(j, sums, j->sums_numbers * WORD));
  return end_record(j);
}

amped_status amped_journal_put_labels(amped_journal *j, int mode, const amped_labels *labels,
                                      uint64_t *place) {
  const uint64_t bytes = labels->offsets[labels->count] - labels->offsets[0];
  const uint64_t words[3] = {(uint64_t)mode, labels->count, bytes};
  AMPED_TRY(begin_record(j, LABELS, sizeof words + labels->count * WORD + padded(bytes)));
  *place = place_of(j);
  AMPED_TRY(put_words(j, 3, words));
  for (uint64_t i = 0; i < labels->count; i++) {
    const uint64_t length = labels->offsets[i + 1] - labels->offsets[i];
    AMPED_TRY(put_words(j, 1, &length));
  }
  AMPED_TRY(put(j, labels->bytes + labels->offsets[0], bytes));
  return end_record(j);
}

amped_status amped_journal_put_entries(amped_journal *j, amped_state_list list,
                                       const amped_sptensor *entries, uint64_t *place) {
  const uint64_t n = entries->nnz;
  const uint64_t kind = list == AMPED_STATE_SAMPLE ? SAMPLE : HELD;
  AMPED_TRY(begin_record(j, kind, WORD + n * ((uint64_t)j->order + 1) * WORD));
  *place = place_of(j);
  AMPED_TRY(put_words(j, 1, &n));
  for (int m = 0; m < j->order; m++)
    AMPED_TRY(put_words(j, n, entries->indices[m]));
  AMPED_TRY(put(j, entries->values, n * WORD));
  return end_record(j);
}

amped_status amped_journal_put_batch(amped_journal *j, const amped_state_batch *batch) {
  const uint64_t length = strnlen(batch->name, NAME_BYTES);
  const uint64_t words[3] = {batch->hash, batch->nnz, length};
  AMPED_TRY(begin_record(j, BATCH, sizeof words + padded(length)));
  AMPED_TRY(put_words(j, 3, words));
  AMPED_TRY(put(j, batch->name, length));
  return end_record(j);
}

static amped_status flush(amped_journal *j) {
  AMPED_TRY(write_out(j));
  return fsync(j->fd) == 0 ? AMPED_OK : cannot_write(j, errno);
}

amped_status amped_journal_commit(amped_journal *j, const amped_state_head *head) {
  uint64_t words[1 + AMPED_STATE_WORDS] = {j->chain};
  const uint64_t count = 1 + j->head_words;
  AMPED_TRY(flush(j));
  amped_state_head_pack(head, words + 1);
  AMPED_TRY(begin_record(j, COMMIT, count * WORD));
  AMPED_TRY(put_words(j, count, words));
  AMPED_TRY(end_record(j));
  AMPED_TRY(flush(j));
  j->end = j->at;
  j->chain_at_end = j->chain;
  return AMPED_OK;
}
