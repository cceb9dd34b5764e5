/* State journal: what batches changed in a stream's state, appended to a plain binary file
 * (docs/file-format.md).
 *
 * A batch is a sequence of records, which are flushed, then a mark, which is flushed as well. A
 * record has a length and a hash; the mark has a hash over all earlier records. So a reader finds
 * the end of the last whole batch. Bytes after it were left by a killed stream and do not count. A
 * wrong hash before a mark is damage (AMPED_BAD_INPUT).
 *
 * All words are little-endian and have 8 bytes; parts of a record are padded to words with zeros.
 * Host memory; not collective; one thread. */
#ifndef AMPED_STATE_JOURNAL_H
#define AMPED_STATE_JOURNAL_H

#include "state/state_head.h"
#include "tensor/sptensor.h"

/* First word of a journal, as a number and as its bytes. */
#define AMPED_JOURNAL_MAGIC UINT64_C(0x4C4E4A4445504D41)
#define AMPED_JOURNAL_MARK "AMPEDJNL"

typedef struct amped_journal {
  const char *path; /* file name; borrowed */
  bool open;
  int fd;
  bool writes;
  bool fits;   /* its state has the shape of the head given to open */
  uint64_t id; /* id of the state that the journal's first batch follows */
  int order;
  uint64_t head_words; /* words of the head in a commit */
  amped_vtype type;
  uint64_t factor_numbers, history_numbers; /* numbers per row */
  uint64_t factor_bytes, history_bytes;     /* bytes per row, padded to words */
  uint64_t sums_numbers;                    /* numbers in a mode's sums */
  uint64_t row_bytes;                       /* bytes of a row's entry, with its index and batch */
  uint64_t bytes;                           /* file size when it was opened */
  uint64_t end;                             /* offset of the end of the last whole batch */
  uint64_t chain, chain_at_end; /* hash of all records so far; of the records up to `end` */
  uint64_t at;                  /* offset of the next byte to read, or at which buffer is written */
  unsigned char *buffer;        /* bytes read ahead, or not written yet */
  uint64_t filled, room;
  uint64_t sum, word; /* current record: its hash so far, the number of its next word */
} amped_journal;

/* Make an empty journal of a state, replacing an old one, and open it for writing. id: of the state
 * that it follows. */
amped_status amped_journal_create(const char *path, const amped_state_head *head, uint64_t id,
                                  amped_journal *out);

/* Open a journal; *out stays closed if there is no such file. AMPED_BAD_INPUT if the file is not a
 * journal. Call the other functions only if out->fits. */
amped_status amped_journal_open(const char *path, bool writes, const amped_state_head *head,
                                amped_journal *out);
void amped_journal_close(amped_journal *journal);

/* Callbacks for records, in the order of the file. place: the record's byte offset in the file. */
typedef struct amped_journal_visit {
  amped_status (*row)(void *context, int mode, uint64_t index, uint64_t touched, uint64_t place);
  amped_status (*sums)(void *context, int mode, uint64_t place);
  amped_status (*labels)(void *context, int mode, uint64_t count, uint64_t place);
  amped_status (*entries)(void *context, amped_state_list list, uint64_t count, uint64_t place);
  amped_status (*batch)(void *context, uint64_t hash, uint64_t nnz, const char *name);
  /* Called at a commit record: the batch before it is complete. */
  amped_status (*commit)(void *context, const amped_state_head *head);
  /* Called at the end: discard everything since the last commit. */
  void (*drop)(void *context);
  void *context;
} amped_journal_visit;

/* Read all records after the header and set `end`. *dropped: bytes after `end`. */
amped_status amped_journal_scan(amped_journal *journal, const amped_journal_visit *visit,
                                uint64_t *dropped);

/* Read records at offsets returned by a scan or by writing. Rows: `count` entries that follow one
 * another in the file, row_bytes each; amped_journal_row copies the numbers of an entry (NULL: not
 * wanted). Labels: appended to `out`, whose arrays must be large enough. Entries of a list: `out`
 * has arrays of `count`. */
amped_status amped_journal_rows(const amped_journal *journal, uint64_t place, uint64_t count,
                                unsigned char *entries);
void amped_journal_row(const amped_journal *journal, const unsigned char *entry, void *factor,
                       void *history, uint64_t *touched);
amped_status amped_journal_sums(const amped_journal *journal, uint64_t place, double *out);
amped_status amped_journal_label_bytes(const amped_journal *journal, uint64_t place,
                                       uint64_t *bytes);
amped_status amped_journal_labels(const amped_journal *journal, uint64_t place, uint64_t count,
                                  amped_labels *out);
amped_status amped_journal_entries(const amped_journal *journal, uint64_t place, uint64_t count,
                                   amped_sptensor *out);

/* Truncate the file after the last whole batch, and append there from now on. */
amped_status amped_journal_cut(amped_journal *journal);

/* Append records. *place is the offset of the first row, and further rows follow every row_bytes;
 * for other records it is the offset that a scan reports. */
amped_status amped_journal_put_rows(amped_journal *journal, int mode, uint64_t count,
                                    const uint64_t *indices, const void *factor,
                                    const void *history, const uint64_t *touched, uint64_t *place);
amped_status amped_journal_put_sums(amped_journal *journal, int mode, const double *sums,
                                    uint64_t *place);
amped_status amped_journal_put_labels(amped_journal *journal, int mode, const amped_labels *labels,
                                      uint64_t *place);
amped_status amped_journal_put_entries(amped_journal *journal, amped_state_list list,
                                       const amped_sptensor *entries, uint64_t *place);
amped_status amped_journal_put_batch(amped_journal *journal, const amped_state_batch *batch);

/* Flush the records, then write and flush the mark. */
amped_status amped_journal_commit(amped_journal *journal, const amped_state_head *head);

#endif
