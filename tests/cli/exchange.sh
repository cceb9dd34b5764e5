#!/bin/sh
# The exchange of rows between 1 to 4 ranks, in each of its ways
# (tests/unit/factor/check_exchange.c); sums of parts of rows (check_row_scatter.c); a format of one copy (tests/unit/backend/check_formats.c); and
# the facts that a run reports about the exchange.
. "$(dirname "$0")/../lib/lib.sh"
check=$(dirname "$amped")/tests/unit/factor/check_exchange
scatter=$(dirname "$amped")/tests/unit/factor/check_row_scatter

unset SLURM_STEP_NUM_NODES
for ranks in $(few 3 1 3 4 2); do
  # shellcheck disable=SC2086
  expect 0 "100%" timeout -k 10 $patience $mpirun ${AMPED_MPIRUN_FLAGS-} -np $ranks "$check"
  # shellcheck disable=SC2086
  expect 0 "100%" timeout -k 10 $patience $mpirun ${AMPED_MPIRUN_FLAGS-} -np $ranks "$scatter"
done
# shellcheck disable=SC2086
test "$backend" = cpu || expect 0 "100%" env UCX_RNDV_SCHEME=auto timeout -k 10 $patience $mpirun ${AMPED_MPIRUN_FLAGS-} -np 2 "$check"
formats=$(dirname "$amped")/tests/unit/backend/check_formats
cd "$scratch" || exit 99
# shellcheck disable=SC2086
expect 0 "100%" timeout -k 10 $patience $mpirun ${AMPED_MPIRUN_FLAGS-} -np 1 "$formats"

"$amped" generate a.h5 --dims=300x200x100 --nnz=2k --seed=3 -q || fail "generate"
expect 0 "exchange: none" on 1 a.h5 --iters=1 --nowrite -v
expect 0 "exchange: .*; .*, 1 node; .* GB/s a rank" on 2 a.h5 --iters=1 --nowrite -v --json=a.json
same "nodes" "$(grep '"exchange"' a.json | sed 's/.*"nodes":\([0-9]*\).*/\1/')" 1
expect 0 "a rank receives" on 2 bench a.h5 --repeat=1 --json=b.json
for name in exchange_bytes exchange_gb_per_second; do
  if awk -v x="$(field $name b.json)" 'BEGIN { exit !(x > 0) }'; then pass; else fail "no $name"; fi
done
# The last mode: 100 rows of 32 floats; the other rank has half of them.
same "bytes received" "$(field exchange_bytes b.json)" 6400
# The user's choice of an MPI algorithm is used and reported.
OMPI_MCA_coll_tuned_allgatherv_algorithm=3
export OMPI_MCA_coll_tuned_allgatherv_algorithm
expect 0 "as chosen by OMPI_MCA_coll_tuned_allgatherv_algorithm" on 2 a.h5 --iters=1 --nowrite -v
# --exchange wins, and the line names it.
if test "$backend" = cpu; then
  expect 0 "exchange: ring in place on host memory by --exchange" on 2 a.h5 --iters=1 --nowrite -v --exchange=ring --json=w.json
  same "who chose" "$(grep -o '"chosen_by":"[^"]*"' w.json)" '"chosen_by":"--exchange"'
fi
unset OMPI_MCA_coll_tuned_allgatherv_algorithm
expect 0 "warning: --exchange=rails has no effect: there is one rank" on 1 a.h5 --iters=1 --nowrite --exchange=rails
expect 0 "warning: --exchange=rails has no effect: all ranks are on one node" on 2 a.h5 --iters=1 --nowrite --exchange=rails
expect 2 "auto, rails, ring" "$amped" cpd a.h5 --exchange=tree

finish
