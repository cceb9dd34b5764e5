#!/bin/sh
# --trace: a file that can be parsed, with all ranks and phases, for cpd and bench; wrong names.
. "$(dirname "$0")/../lib/lib.sh"
cd "$scratch" || exit 99

"$amped" generate good.h5 --dims=50x60x70 --nnz=20k --seed=1 -q || fail "generate"
cp good.h5 kept.h5

check() { # check FILE RANKS PHASE...
  if python3 "$srcdir/tests/cli/trace_file.py" "$@"; then pass; else fail "trace $1"; fi
}
if ! python3 -c 'import json'; then
  fail "python3 is missing: no trace can be checked"
fi

sweep="sweep mttkrp kernel solve gram wait normalise fit report"
for ranks in 1 2; do
  expect 0 "trace: cpd.$ranks.json" on $ranks good.h5 --load=copies --rank=5 --iters=6 --tol=0 \
    --trace=cpd.$ranks.json -o out.h5
  # shellcheck disable=SC2086
  check cpd.$ranks.json $ranks start plan prepare distribute upload init $sweep write
done
check cpd.2.json 2 exchange
same "sweeps in the trace" "$(grep -c '"name":"sweep"' cpd.2.json)" 12
same "modes in the trace" "$(grep -c '"name":"mttkrp".*"mode":2' cpd.2.json)" 12
same "only rank 0 reads" "$(grep '"name":"read"' cpd.2.json | grep -c '"pid":1')" 0
expect 0 "" on 2 good.h5 --load=copies --rank=5 --iters=1 --read=parallel --nowrite --trace=parallel.json -q
check parallel.json 2 read distribute mttkrp
same "no result was written" "$(grep -c '"name":"write"' parallel.json)" 0
# Parts of split iDps are exchanged before the rows, and are read in a second walk.
for read in root parallel; do
  expect 0 "rows) split, " on 2 good.h5 --load=copies --rank=5 --iters=3 --tol=0 --placement=equal --read=$read \
    --nowrite -v --trace=split.json
  check split.json 2 distribute upload mttkrp exchange solve
  # Two in each of three sweeps, on both ranks; earlier events test links and distribute the start.
  same "exchanges of a split mode" "$(awk '/"name":"prepare"/ { counts = 0 }
    /"name":"sweep"/ { counts = 1 } counts && /"name":"exchange".*"mode":0/ { n++ }
    END { print n }' split.json)" 12
done
expect 0 "" on 2 bench --shape=patents --scale=3e-5 --rank=5 --repeat=2 --trace=bench.json
check bench.json 2 start plan make init pass wait mttkrp kernel exchange "gather ceiling"
expect 0 "" on 2 bench good.h5 --load=copies --rank=5 --repeat=2 --whole --trace=whole.json
check whole.json 2 start plan distribute init sweep mttkrp write "gather ceiling" bound
expect 0 "" on 2 good.h5 --plan --trace=plan.json
check plan.json 2 start plan

# Ranks of two nodes, whose clocks start at different times.
if unshare -T --monotonic=100000 -f true 2>/dev/null; then
  cat >on_its_clock <<END
case $rank_here in
  0) exec "\$@" ;;
  *) exec unshare -T --monotonic=100000 -f "\$@" ;;
esac
END
  # shellcheck disable=SC2086
  on_two_clocks() {
    timeout -k 10 $patience $mpirun ${AMPED_MPIRUN_FLAGS-} -np 2 sh ./on_its_clock "$amped" good.h5 --rank=5 \
      --iters=6 --tol=0 --nowrite -q --backend=cpu --trace=clock.json
  }
  expect 0 "" on_two_clocks
  check clock.json 2 mttkrp exchange
else
  echo "skipped: clocks that differ (unshare -T is not allowed here)"
fi

# --- names ----------------------------------------------------------------------------------------
expect 2 "a file's name is expected" "$amped" good.h5 --trace=-
expect 2 "has no option --trace" "$amped" convert good.h5 x.tns --trace=x.json
expect 2 "overwritten" on 2 good.h5 --nowrite --trace=good.h5
expect 2 "two outputs" on 1 good.h5 --nowrite --json=x.json --trace=x.json
expect 2 "two outputs" on 1 good.h5 -o x.h5 --trace=x.h5
expect 0 "" cmp good.h5 kept.h5
# A file that cannot be written is reported before anything is read; a failed run leaves no trace.
expect 1 "cannot be written" on 2 missing.h5.tns --nowrite --trace=nowhere/t.json
expect 2 "overwritten" on 2 good.h5 -o good.h5 --trace=failed.json
absent x.json x.tns x.h5 failed.json cpd.2.json.tmp

finish
