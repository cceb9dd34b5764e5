/* Ranking report: best indices for one index or for many, as text, as a table and as JSON. The
 * commands recommend and similar share it.
 *
 * Text has a paragraph for each index that is served: its label, then rank, value and label of its
 * best. A table (-o) has a row for each of these. JSON has an object for each index. */
#ifndef AMPED_RANKING_REPORT_H
#define AMPED_RANKING_REPORT_H

#include "base/file_lock.h"
#include "base/json.h"
#include "cli/options.h"
#include "tensor/labels.h"
#include "tensor/ranking.h"

typedef struct amped_ranking_report {
  const amped_options *o;
  const char *list;           /* member of the JSON object that lists the best */
  const amped_labels *labels; /* [order] of the model */
  int target, of;             /* modes of the served and of the listed indices, for their labels */
  const amped_ranking *ranking;
  uint64_t first, end; /* indices to serve */
  bool known_only;     /* leave out indices that the ranking's model did not learn */
} amped_ranking_report;

/* Check the table that -o names (none, a file, or standard output), and lock a file.
 * what: such as "recommendations are", for messages. The caller releases the lock. */
amped_status amped_ranking_report_check(const amped_options *o, const char *what,
                                        amped_file_lock *lock);

/* Rank, and report. *served = indices with at least one item. json may be NULL. */
amped_status amped_ranking_report_write(const amped_ranking_report *report, amped_json *json,
                                        uint64_t *served);

/* Say how many indices of the mode have no learnt entry, and so are in no list; nothing if all have
 * one. */
void amped_ranking_report_unlearnt(const amped_predictor *p, int mode);

/* Warn, and return true, if the components of the model in the file `path` are almost zero. what:
 * "lists", "ranks" or "cosines". by_biases: they depend on the model's biases, too. */
bool amped_ranking_report_faint(const char *path, const amped_ktensor *k, const amped_completion *c,
                                const char *what, bool by_biases);

/* The name of the table for messages: its path, or "standard output". */
const char *amped_ranking_report_name(const amped_options *o);

#endif
