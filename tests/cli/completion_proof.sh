#!/bin/sh
# Completion against a planted model and against another program's digits: the short part of
# jobs/check-completion.
. "$(dirname "$0")/../lib/lib.sh"
job=$srcdir/jobs/check-completion
cd "$scratch" || exit 99
export AMPED_MPI="$amped" AMPED_DATA="$data" AMPED_SEEDS=1 MPIRUN= AMPED_OPTIONS="--backend=$backend"

expect 0 "planted, 10, seed 1 .* reached" sh "$job" planted
if test -f "$data/amino.tns.gz"; then
  expect 0 "gcp, test, 1e-5 off .* reached" sh "$job" gcp
  expect 0 "amino, 3 .* reached" sh "$job" amino
  AMPED_OPTIONS="$AMPED_OPTIONS --nonnegative" sh "$job" gcp >out 2>&1 # another model
  same "status where digits differ" $? 1
  grep -q "gcp, train, 1e-5 off .* MISSED" out && pass || fail "digits that differ"
else
  echo "skipped: no amino.tns.gz"
fi
sh "$job" none >out 2>&1
same "status for a name that is not there" $? 2

finish
