#!/bin/sh
# Faults in a stream: killed in each phase of a batch, it goes on to the bits of one run; signals end it
# after the batch in hand; a full disk leaves the batch before. (tests/unit/state/check_state_file.c: every
# write of a state.)
. "$(dirname "$0")/../lib/lib.sh"
. "$(dirname "$0")/faults_lib.sh"
cd "$scratch" || exit 99

awk 'function random() { seed = (seed * 16807) % 2147483647; return seed / 2147483647 }
  BEGIN {
    seed = 3
    for (k = 1; k <= 10; k++)
      for (n = 0; n < 120; n++) {
        i = 1 + int((20 + 3 * k) * random()); j = 1 + int((10 + k) * random())
        if (!seen[i, j, k]++) printf "%d %d %d %.4f\n", i, j, k, 3 + random() >(k <= 4 ? "first.tns" : "day" k ".tns")
      }
  }'
days="day5.tns day6.tns day7.tns day8.tns day9.tns day10.tns"
expect 0 "" "$amped" complete first.tns --rank=4 --reg=0.5 --holdout=10% --nowrite --state=first.state \
  --backend="$backend" -q
test "$(find . -name 'first.state*' | wc -l)" = 1 && pass || fail "a first state has other files"

fresh() {
  rm -f live.state live.state.*
  cp first.state live.state
}
model_of() { "$amped" convert "$1" model.csv --overwrite -q && cat model.csv; }
batches() { "$amped" info live.state | sed -n 's/^batches *\([0-9]*\),.*/\1/p'; }
# stream FAULT RANKS: all days, with that fault.
stream() {
  # shellcheck disable=SC2086
  with "$1" "$2" stream live.state $days --forget=0.9 >out 2>err </dev/null
}
# goes_on WHAT RANKS: the same command ends in the bits of one run, and nothing is left beside them.
goes_on() {
  expect 0 "" "$amped" info live.state --verify
  found=$(batches)
  # shellcheck disable=SC2086
  expect 0 "learnt $((7 - found)) batch" with none "$2" stream live.state $days --forget=0.9 -o r.h5 --overwrite
  model_of r.h5 >got.csv
  cmp -s "want$2.csv" got.csv && pass || fail "$1, going on from batch $found: other bits"
  ls live.state.tmp.* live.state.journal.tmp.* >/dev/null 2>&1 && fail "$1: half a file stays" || pass
}
for ranks in 0 2; do
  fresh
  # shellcheck disable=SC2086
  expect 0 "learnt 6 batches" with none $ranks stream live.state $days --forget=0.9 -o r.h5 --overwrite
  model_of r.h5 >want$ranks.csv
done
test -e live.state.prev && pass || fail "no new STATE was made of a journal"

# --- killed ---------------------------------------------------------------------------------------------
# count CALL NAME: such calls of a stream on one rank.
count() {
  fresh
  # shellcheck disable=SC2086
  calls "$1" "$2" 0 stream live.state $days --forget=0.9
}
# steps COUNT MOST: numbers of calls from 0: all, or as many as make check has time for, and the last.
steps() {
  stride=1
  test "${AMPED_FAULTS-}" = all || stride=$(($1 / $2 + 1))
  { seq 0 "$stride" $(($1 - 1)); echo $(($1 - 1)); } | sort -nu
}
# Reading; then anywhere (allocations are in all phases: numbering rows, plan, equations, errors); the
# journal and its flushes; the draft of a new STATE; names that change.
least=9 most=0
for phase in "read day8.tns 2" "alloc - 8" "write live.state.journal 5" "sync live.state 3" \
  "write live.state.tmp 3" "rename live.state 6"; do
  # shellcheck disable=SC2086
  set -- $phase
  n=$(count "$1" "$2")
  test "$n" -gt 0 && pass || fail "$1 $2: no such calls"
  for k in $(steps "$n" "$3"); do
    test "$1 $k" = "alloc 0" && continue # of the child that probes
    fresh
    stream "KILL $1 $2 $k 0" 0
    same "status after KILL $1 $2 $k" $? 137
    found=$(batches)
    least=$((found < least ? found : least)) most=$((found > most ? found : most))
    goes_on "KILL $1 $2 $k of $n" 0
  done
done
same "states that were found, from the first batch to the last" "$least $most" "1 7"
# One of two ranks.
for phase in "read day8.tns 0 0" "write live.state.journal 3 0" "alloc - 200 1"; do
  fresh
  stream "KILL $phase" 2
  same "status after KILL $phase" $? 137
  fired && pass || fail "KILL $phase: did not happen"
  goes_on "KILL $phase" 2
done

# --- signals ----------------------------------------------------------------------------------------------
# The batch in hand, day8.tns, is the fifth; a signal amid it ends the stream behind it.
for signal in TERM INT USR1; do
  fresh
  stream "$signal read day8.tns 0 0" 0
  same "status after $signal" $? 85
  one_line "$signal"
  same "batches after $signal" "$(batches)" 5
  goes_on "$signal" 0
done
fresh
stream "TERM read day8.tns 0 0" 2
same "status after TERM on two ranks" $? 85
same "batches after TERM on two ranks" "$(batches)" 5
goes_on "TERM on two ranks" 2

# --- full disks, names that do not change --------------------------------------------------------------------
for order in "ENOSPC write live.state.journal 0" "ENOSPC write live.state.journal 7" "EIO sync live.state 2" \
  "EIO rename live.state 0"; do
  fresh
  stream "$order 0" 0
  same "status after $order" $? 1
  fired && pass || fail "$order: did not happen"
  one_line "$order"
  goes_on "$order" 0
done
# A disk that has no place for the merge of state and journal: every batch is learnt and reported.
for np in 0 2; do
  fresh
  stream "ENOSPC write live.state.tmp 0 0" $np
  same "status without a place for the merge" $? 0
  fired && pass || fail "the merge found a place"
  grep -q 'warning: live.state: .*and its journal, which are not merged yet' err && pass || fail "no warning of the merge"
  same "batches reported" "$(grep -c '^batch ' out)" 6
  goes_on "a merge without a place" $np
done

finish
