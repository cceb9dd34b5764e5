#!/bin/sh
# --trace: a file that can be parsed, with all ranks and phases, for cpd, bench and stream; wrong names.
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

# Batches of a stream, of each history. In phases of a batch are those of its sweeps; what no phase covers is little.
"$amped" generate batch1.h5 --dims=50x60x72 --nnz=2k --seed=2 -q || fail "batch1"
"$amped" generate batch2.h5 --dims=55x60x75 --nnz=2k --seed=3 -q || fail "batch2"
for history in equations model published; do
  bias=full
  test $history = published && bias=none
  expect 0 "" on 1 complete good.h5 --rank=5 --reg=1 --iters=2 --bias=$bias --nowrite --history=$history \
    --state=live.state --overwrite -q
  rm -f live.state.*
  expect 0 "trace: stream.json" on 2 stream live.state batch1.h5 batch2.h5 --sweeps=4 -o model.h5 --overwrite \
    --trace=stream.json
  phases="start init read batch load errors sweep exchange write report"
  test $history = published || phases="$phases plan prepare distribute rows absorb"
  # shellcheck disable=SC2086
  check stream.json 2 $phases
  same "batches, $history" "$(grep '"name":"batch"' stream.json | grep -o '"batch":[0-9]*' | sort | tr '\n' ' ')" \
    '"batch":2 "batch":2 "batch":3 "batch":3 '
  same "sweeps, $history" "$(grep -c '"name":"sweep".*"sweep":4' stream.json)" 4
  if python3 - <<'PY'; then pass; else fail "phases of batches, $history"; fi
import json
spans = [e for e in json.load(open('stream.json'))['traceEvents'] if e['ph'] == 'X']
for b in (e for e in spans if e['name'] == 'batch'):
    begin, end = b['ts'], b['ts'] + b['dur']
    inner = [e for e in spans if e['pid'] == b['pid'] and e['tid'] == b['tid'] and e is not b
             and begin <= e['ts'] and e['ts'] + e['dur'] <= end + 1e-3]
    assert [e['args']['sweep'] for e in inner if e['name'] == 'sweep'] == [1, 2, 3, 4], b
    assert sum(e['name'] == 'errors' for e in inner) == 6, b  # before, with new rows, of known rows, after, held out, so far
    covered, last = 0, begin
    for e in sorted(inner, key=lambda e: e['ts']):
        covered += max(0, e['ts'] + e['dur'] - max(last, e['ts']))
        last = max(last, e['ts'] + e['dur'])
    print("%.1f %% of a batch covered" % (100 * covered / b['dur']))
    assert 2 * covered > b['dur'], b
PY
done

# On GPUs, what follows is as on CPUs.
finish_on_gpus

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
