/* Entry checks: comparisons with training entries, and counts of new labels. */
#include "session/entry_checks.h"

#include <stdio.h>

#include "base/log.h"
#include "solver/complete/learnt_entries.h"
#include "tensor/format.h"

amped_status amped_entry_checks_drop(const amped_session *session, const char *option,
                                     const char *path, amped_entry_set *set) {
  const amped_context context = amped_session_context(session);
  const char *input = session->options->input;
  const uint64_t all = set->total;
  uint64_t dropped = 0;
  uint64_t held_out = 0;
  AMPED_TRY(amped_learnt_entries_drop(&context, set, &dropped, &held_out));
  if (dropped > 0 && dropped == all)
    return amped_comm_agree(
        context.comm,
        amped_error(AMPED_BAD_INPUT, path,
                    "all of its %" PRIu64
                    " entries are also in %s and are learnt, so that their error means nothing; "
                    "name other entries with %s, or remove these from INPUT",
                    all, input, option));
  if (dropped > 0 && context.comm->rank == 0)
    amped_warn("%s: %" PRIu64 " of its %" PRIu64
               " entries are also in %s and are learnt: they are left out of the error",
               path, dropped, all, input);
  if (held_out > 0 && context.comm->rank == 0)
    amped_warn(
        "%s: %" PRIu64 " of its %" PRIu64
        " entries are held out of %s and choose the sweep and the penalty: their error may be "
        "a little too low; name entries that are not in INPUT",
        path, held_out, all, input);
  return AMPED_OK;
}

amped_status amped_entry_checks_common(const amped_session *session, const char *path,
                                       const amped_entry_set *set, const char *validate,
                                       const amped_entry_set *validating) {
  const amped_context context = amped_session_context(session);
  uint64_t common = 0;
  AMPED_TRY(amped_entries_in_common(&context, set, validating, &common));
  if (common > 0 && context.comm->rank == 0)
    amped_warn("%s: %" PRIu64 " of its %" PRIu64
               " entries are also in %s and choose the sweep and the penalty: their error may be a "
               "little too low; name other entries with --test",
               path, common, set->total, validate);
  return AMPED_OK;
}

amped_status amped_entry_checks_events(const amped_session *session, const char *path,
                                       const amped_entry_set *set) {
  uint64_t zeros = 0;
  for (uint64_t i = 0; i < set->count; i++)
    zeros += !(set->values[i] > 0.0);
  amped_comm_sum_u64(&session->comm, &zeros, 1);
  if (zeros == 0)
    return AMPED_OK;
  return amped_comm_agree(
      &session->comm,
      amped_error(AMPED_BAD_INPUT, path,
                  "has %" PRIu64
                  " entries with a value of 0 or less, which mean that nothing happened; "
                  "--implicit ranks only what happened: remove these entries",
                  zeros));
}

/* The mode of which no entry has a label of the tensor; -1: there is none. */
static int cold_mode(const amped_entry_set *set, uint64_t given) {
  int cold = -1;
  for (int m = 0; m < set->order; m++)
    cold = set->unknown[m] == given && given > 0 ? m : cold;
  return cold;
}

void amped_entry_checks_new(const amped_session *session, const amped_labels *labels,
                            const char *path, const amped_entry_set *set, const double *prior) {
  static const amped_count_words words = {
      .first = " have a new", .next = " a new", .unnamed = " index of"};
  const uint64_t given = set->given;
  const int cold = cold_mode(set, given);
  char counts[AMPED_COUNTS_TEXT];
  char name[128];
  char option[128];
  if (session->comm.rank != 0)
    return;
  (void)amped_format_counts(counts, set->order, labels, set->unknown, &words);
  if (cold < 0) {
    if (*counts != '\0')
      amped_say("%s: of its %" PRIu64 " entries %s", path, given, counts);
    return;
  }
  (void)amped_format_mode(name, sizeof name, cold, &labels[cold]);
  (void)snprintf(option, sizeof option, "%d", cold + 1);
  if (labels[cold].name != NULL)
    (void)amped_format_name(option, sizeof option, &labels[cold]);
  if (prior == NULL || prior[cold] != 0.0)
    amped_warn("%s: of its %" PRIu64 " entries %s: in %s none is known, and a new one predicts "
               "like an average one",
               path, given, counts, name);
  else
    amped_warn("%s: of its %" PRIu64
               " entries %s: in %s none is known, and the components of a new "
               "one are 0, so that these entries judge no component; --context=%s makes a new one "
               "predict like an average one",
               path, given, counts, name, option);
}
