#!/bin/sh
# Runs of complete that cannot win any more end early (--race): where the rules in Python say, with the same bits until
# then, and with the result of a run alone. Sweeps are counted, not seconds.
. "$(dirname "$0")/../lib/lib.sh"
needs_python
needs h5diff
rules=$(cd "$(dirname "$0")" && pwd)/race_reference.py
data=$(cd "$data" 2>/dev/null && pwd)
cd "$scratch" || exit 99

"$amped" generate planted.h5 --dims=30x28x26 --planted=4 --observed=0.3 --factor-mean=1 --noise=0.1 --seed=3 -q || fail "generate"
"$amped" generate noisy.h5 --dims=60x50x40 --planted=4 --observed=0.06 --factor-mean=1 --noise=0.5 --seed=4 -q || fail "generate"
"$amped" generate plain.h5 --dims=40x30x20 --planted=3 --observed=0.25 --noise=0.2 --seed=6 -q || fail "generate"
awk 'BEGIN { srand(7); for (k = 0; k < 7500; k++) if (rand() < 0.8) print k % 25 + 1, int(k / 25) % 20 + 1, int(k / 500) + 1, rand() }' >noise.tns

# races RANKS PATIENCE auto|fixed ARGUMENT...: the rules hold; $said is what race_reference.py prints.
races() {
  ranks=$1 wait=$2 how=$3
  shift 3
  kind=
  case " $* " in *" --method=sgd "*) kind=sgd ;; esac
  for race in auto off; do
    expect 0 "" on "$ranks" complete "$@" --patience="$wait" --race=$race --threads=1 --deterministic --nowrite -q \
      --json=$race.json --overwrite
  done
  # shellcheck disable=SC2086
  if said=$("$python" "$rules" off.json auto.json "$wait" "$how" $kind 2>&1); then pass; else fail "$*: $said"; fi
}
# saves LIMIT ERROR: at most this share of the full runs' sweeps, in per cent; at most this multiple of their error.
saves() {
  echo "$said" | awk -v limit="$1" -v error="$2" '{ exit !(100 * $1 <= limit * $2 && $3 <= error) }' && pass ||
    fail "sweeps, all sweeps, error: $said; at most $1 %, $2"
}
# has REASON...: some runs ended so.
has() {
  for reason in "$@"; do
    case " $said " in *" $reason "*) pass ;; *) fail "no run is $reason: $said" ;; esac
  done
}

races 1 10 auto noisy.h5 --rank=4
saves 50 1.003
has behind
finish_on_gpus
races 3 10 auto noisy.h5 --rank=4
races 1 10 auto planted.h5 --rank=4
races 1 10 auto plain.h5 --rank=6 --bias=none
has behind vanished
saves 60 1.003
races 3 6 auto plain.h5 --rank=6 --bias=mean
races 1 10 auto noisy.h5 --rank=3 --nonnegative
races 3 10 auto noisy.h5 --rank=5 --method=ccd
races 1 10 auto noisy.h5 --rank=5 --method=sgd
races 1 10 auto noisy.h5 --rank=4 --starts=2
has behind
saves 40 1.003
races 1 10 auto noise.tns --rank=3 # no model is better than one without components
# Few held-out entries end no run: the first sweeps at 24 cells do not say which penalty is best.
"$python" - <<'PY' || fail "numpy"
import numpy as np
rng = np.random.default_rng(3)
a = np.einsum("ir,jr,kr->ijk", *[rng.random((n, 2)) for n in (12, 11, 10)])
a[rng.random(a.shape) > 0.4] = np.nan
np.save("small.npy", a)
PY
for bias in full none; do
  races 1 10 auto small.npy --rank=2 --bias=$bias
  saves 100 1
done
for iters in 2 3 8; do
  races 1 10 auto noisy.h5 --rank=4 --iters=$iters
done
races 3 5 fixed noisy.h5 --rank=6 --reg=0.3,0.001,0,20
has behind
races 1 10 fixed noisy.h5 --rank=4 --reg=0.3 --starts=4

# --- the result is that of the same penalty alone ---------------------------------------------------------
fixed="complete noisy.h5 --rank=6 --deterministic --threads=1 -q"
# shellcheck disable=SC2086
expect 0 "" on 3 $fixed --reg=20,0.01,0.0001 -o race.h5 --json=race.json
# shellcheck disable=SC2086
expect 0 "" on 3 $fixed --reg=0.01 -o alone.h5
same "the best penalty" "$(sed -n '/"event":"end"/s/.*"run":\([0-9]*\),.*/\1/p' race.json)" 2
for set in weights factors/0 factors/1 factors/2 bias/0 bias/1 bias/2 rmse/train rmse/validate; do
  if h5diff race.h5 alone.h5 /$set /$set >/dev/null 2>&1; then pass; else fail "other bits: $set"; fi
done

# --- what the user reads ----------------------------------------------------------------------------------
expect 0 "ended early: behind run [0-9]*, not converged" on 1 complete noisy.h5 --rank=4 --nowrite
expect 0 "ended early: behind run [0-9]*, not converged" on 1 complete noisy.h5 --rank=4 --nowrite --every=1000
expect 0 "ended early: its components vanished, not converged" on 1 complete plain.h5 --rank=6 --bias=none --nowrite
for option in "--reg=1" "--implicit=4 --reg=1" "--holdout=0 --reg=1 --starts=2"; do
  # shellcheck disable=SC2086
  expect 2 "here is one run, or no held-out error" "$amped" complete noisy.h5 --rank=2 --nowrite --race=off $option
done
expect 0 "" "$amped" complete noisy.h5 --rank=2 --nowrite -q --reg=1 --race=auto

# --- checkpoints: a race that was stopped goes on to the same bits, and to the same runs ----------------------
raced="complete noisy.h5 --rank=4 --deterministic --threads=1"
# shellcheck disable=SC2086
expect 0 "" on 2 $raced -o whole.h5 -q --json=whole.json
ends() { sed -n '/"event":"run"/p' "$1"; }
at=$(awk '/"event":"run"/ { runs++ } runs == 2 && /"event":"iteration"/ { print NR; exit }' whole.json)
(
  . "$srcdir/tests/faults/faults_lib.sh"
  # shellcheck disable=SC2086
  with "USR1 flush live.json $at 0" 2 $raced --checkpoint=ck.h5 --checkpoint-every=1 -o resumed.h5 --json=live.json
) >out.txt 2>err.txt
status=$?
test "$status" -eq 77 && echo "skipped: nothing can be preloaded" && finish
same "exit status of a signal" "$status" 85
# shellcheck disable=SC2086
expect 0 "resume: ck.h5" on 2 $raced --checkpoint=ck.h5 --resume -o resumed.h5 --json=rest.json
for set in weights factors/0 factors/1 factors/2 rmse/train rmse/validate; do
  if h5diff whole.h5 resumed.h5 /$set /$set >/dev/null 2>&1; then pass; else fail "resumed: $set"; fi
done
ends live.json >got.txt
ends rest.json >>got.txt
ends whole.json >wanted.txt
if cmp -s wanted.txt got.txt; then pass; else fail "other runs after a resume: $(diff wanted.txt got.txt | head -n 4)"; fi
# The table of several R has the sweeps that were made; a best sweep before the last one asks for no more of them.
expect 0 "" on 1 complete noise.tns --rank=3,4 --reg=0.01 --iters=25 --patience=100 --tol=0 --nowrite -q --json=table.json --overwrite
"$python" - >said 2>&1 <<'PY' && pass || fail "the table of several R: $(tail -n 1 said)"
import json
lines = [json.loads(line) for line in open("table.json")]
for row in [e for e in lines if e["event"] == "ranks"][0]["results"]:
    assert row["sweeps"] == 25 and row["best_sweep"] < 25 and row["reason"] == "iterations", row
PY
grep -q "more sweeps would improve" out err && fail "advice to sweep on" || pass
# Without validation the objective chooses the best sweep, of each run, too: the least training error comes earlier.
cat >chosen.py <<'PY'
import json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
earlier = 0
for run in [e for e in lines if e["event"] == "run"]:
    sweeps = [e for e in lines if e["event"] == "iteration" and e["run"] == run["run"]]
    best = min(sweeps, key=lambda e: e["objective"])
    assert run["sweep"] == best["sweep"] and run["rmse"] == best["rmse"], (run, best)
    earlier += min(sweeps, key=lambda e: e["rmse"])["sweep"] < run["sweep"]
assert earlier > 0, "the training error chooses alike"
PY
for ranks in 1 3; do
  expect 0 "" on $ranks complete noise.tns --rank=3 --reg=2 --starts=4 --holdout=0 --iters=40 --nowrite -q --json=chosen.json --overwrite
  if "$python" chosen.py chosen.json >said 2>&1; then pass; else fail "best sweeps of runs: $(tail -n 1 said)"; fi
done
finish
