#!/bin/sh
# The state of a stream and the source of its batches, on 1 to 4 ranks
# (tests/unit/factor/check_state_rows.c, tests/unit/load/check_batch_source.c).
. "$(dirname "$0")/../lib/lib.sh"
units=$(dirname "$amped")/tests/unit
cd "$scratch" || exit 99
for check in "$units/factor/check_state_rows" "$units/load/check_batch_source"; do
  for ranks in $(few 2 1 3 2 4); do
    # shellcheck disable=SC2086
    expect 0 "100%" timeout -k 10 $patience $mpirun ${AMPED_MPIRUN_FLAGS-} -np $ranks "$check"
  done
done
same "files left" "$(find . -name 'testing.*' | wc -l)" 0

finish
