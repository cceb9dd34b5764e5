/* State journal: what batches changed in a stream's state, appended to a plain file
 * (docs/file-format.md).
 *
 * A batch is some records and, when they are flushed, a mark, which is flushed, too. A record has
 * its length and a hash; the mark has a hash over all records before it. So a reader knows where
 * the last whole batch ends. What lies behind it is of a killed stream, and does not count. A wrong
 * hash before a mark is damage (AMPED_BAD_INPUT).
 *
 * All words are little-endian, of 8 bytes; parts of a record are padded to words with zeros. Host
 * memory; not collective; one thread. */
#ifndef AMPED_STATE_JOURNAL_H
#define AMPED_STATE_JOURNAL_H

#include "hdf5/state_head.h"
#include "tensor/sptensor.h"

/* The first word of a journal, and its bytes. */
#define AMPED_JOURNAL_MAGIC UINT64_C(0x4C4E4A4445504D41)
#define AMPED_JOURNAL_MARK "AMPEDJNL"

typedef struct amped_journal {
  const char *path; /* of the file; borrowed */
  bool open;
  int fd;
  bool writes;
  bool fits;   /* it is of a state of the shape that open was given */
  uint64_t id; /* of the state that the first batch was learnt by */
  int order;
  amped_vtype type;
  uint64_t factor_numbers, history_numbers; /* of a row */
  uint64_t factor_bytes, history_bytes;     /* the same, padded */
  uint64_t sums_numbers;                    /* of a mode's sums */
  uint64_t row_bytes;                       /* of a row's entry, with its index and batch */
  uint64_t bytes;                           /* of the file, when it was opened */
  uint64_t end;                             /* where the last whole batch ends */
  uint64_t chain, chain_at_end; /* hash of all records so far, and of those that count */
  uint64_t at;                  /* where the next bytes go */
  unsigned char *buffer;        /* bytes that are not written yet, or read ahead */
  uint64_t filled, room;
  uint64_t sum, word; /* of the record in hand: its hash so far, the number of its next word */
} amped_journal;

/* Make an empty journal of a state, in the place of an old one, and open it to write. */
amped_status amped_journal_create(const char *path, const amped_state_head *head, uint64_t id,
                                  amped_journal *out);

/* Open one; *out stays closed where there is no such file. AMPED_BAD_INPUT: it is no journal. Only
 * where it fits the other functions may be called. */
amped_status amped_journal_open(const char *path, bool writes, const amped_state_head *head,
                                amped_journal *out);
void amped_journal_close(amped_journal *journal);

/* What a reader does with records, in order; a place is a byte of the file. */
typedef struct amped_journal_visit {
  amped_status (*row)(void *context, int mode, uint64_t index, uint64_t touched, uint64_t place);
  amped_status (*sums)(void *context, int mode, uint64_t place);
  amped_status (*labels)(void *context, int mode, uint64_t count, uint64_t place);
  amped_status (*held)(void *context, uint64_t count, uint64_t place);
  amped_status (*batch)(void *context, uint64_t hash, uint64_t nnz, const char *name);
  /* The batch is whole. */
  amped_status (*commit)(void *context, const amped_state_head *head);
  /* What came since the last commit does not count. */
  void (*drop)(void *context);
  void *context;
} amped_journal_visit;

/* Read all, from the header on; sets `end`. *dropped: bytes behind it. */
amped_status amped_journal_scan(amped_journal *journal, const amped_journal_visit *visit,
                                uint64_t *dropped);

/* Records at places that a scan, or writing, has told. A row: its numbers. Labels: appended to
 * `out`, whose arrays have room. Held entries: `out` has arrays of `count`. */
amped_status amped_journal_row(const amped_journal *journal, uint64_t place, void *factor,
                               void *history, uint64_t *touched);
amped_status amped_journal_sums(const amped_journal *journal, uint64_t place, double *out);
amped_status amped_journal_label_bytes(const amped_journal *journal, uint64_t place,
                                       uint64_t *bytes);
amped_status amped_journal_labels(const amped_journal *journal, uint64_t place, uint64_t count,
                                  amped_labels *out);
amped_status amped_journal_held(const amped_journal *journal, uint64_t place, uint64_t count,
                                amped_sptensor *out);

/* Cut the file behind the last whole batch, and write there from now on. */
amped_status amped_journal_cut(amped_journal *journal);

/* Append records. *place: of the first row; its successors follow at row_bytes. Of the others: as a
 * scan tells it. */
amped_status amped_journal_put_rows(amped_journal *journal, int mode, uint64_t count,
                                    const uint64_t *indices, const void *factor,
                                    const void *history, const uint64_t *touched, uint64_t *place);
amped_status amped_journal_put_sums(amped_journal *journal, int mode, const double *sums,
                                    uint64_t *place);
amped_status amped_journal_put_labels(amped_journal *journal, int mode, const amped_labels *labels,
                                      uint64_t *place);
amped_status amped_journal_put_held(amped_journal *journal, const amped_sptensor *held,
                                    uint64_t *place);
amped_status amped_journal_put_batch(amped_journal *journal, const amped_state_batch *batch);

/* Flush them, then the mark. */
amped_status amped_journal_commit(amped_journal *journal, const amped_state_head *head);

#endif
