#!/bin/sh
# When runs of complete end: each run's last sweep, and the note about a plateau, against the rule in Python, from
# the errors after each sweep.
. "$(dirname "$0")/../lib/lib.sh"
needs_python
cd "$scratch" || exit 99
cat >rule.py <<'PY'
import json, sys

name, patience, most, auto = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4] == "auto"
TOL, HELD, WAIT = 1e-4, 10, 37
runs, end = {}, None
for line in open(name + ".json"):
    told = json.loads(line)
    if told["event"] == "iteration":
        runs.setdefault(told["run"], []).append((told["rmse"], told["train"]))
    end = told if told["event"] == "end" else end
for run, sweeps in runs.items():
    mark, stale, last = float("inf"), 0, most
    for n, (error, train) in enumerate(sweeps, 1):
        still = n > 1 and abs(train - sweeps[n - 2][1]) <= TOL * sweeps[n - 2][1]
        waits = auto and (n <= HELD or (n <= WAIT and still))
        fell = error < mark * (1 - TOL)
        mark, stale = (error if fell else mark), (0 if fell or waits else stale + 1)
        if stale >= patience:
            last = n
            break
    assert len(sweeps) == last, (name, run, len(sweeps), last)
best = runs[end["run"]]
error, train = best[end["sweep"] - 1]
plateau = (end["reason"] == "patience" and best[-1][0] <= error * 1.001 and best[-1][1] < train * (1 - TOL))
noted = "note: the error had not fallen for %d sweeps" % patience in open(name + ".txt").read()
assert noted == plateau, (name, noted, plateau)
print(max(len(s) for s in runs.values()), "plateau" if plateau else "")
PY
ends() { # ends NAME PATIENCE ITERS auto|fixed ARGUMENT...: a run ends as the rule says; $said is what rule.py prints
  name=$1 wait=$2 most=$3 how=$4
  shift 4
  test "$how" = fixed || set -- "$@" --race=off
  expect 0 "" "$amped" complete "$@" --patience="$wait" --iters="$most" --nowrite --json="$name.json" --backend="$backend"
  "$amped" complete "$@" --patience="$wait" --iters="$most" --nowrite --deterministic --backend="$backend" --json="$name.json" --overwrite >"$name.txt" 2>&1
  if said=$("$python" rule.py "$name" "$wait" "$most" "$how" 2>&1); then pass; else fail "$name: $said"; fi
}
"$amped" generate planted.h5 --dims=30x28x26 --planted=4 --observed=0.3 --factor-mean=1 --noise=0.1 --seed=3 -q || fail "generate"
awk 'BEGIN { srand(7); for (k = 0; k < 7500; k++) if (rand() < 0.12) print k % 25 + 1, int(k / 25) % 20 + 1, int(k / 500) + 1, rand() }' >noise.tns
plateaus=
for reg in 1 0.1 0.01 0.001 0.0001; do
  ends "fixed$reg" 5 150 fixed planted.h5 --rank=6 --reg=$reg
  plateaus="$plateaus$said"
done
case $plateaus in *plateau*) pass ;; *) fail "no run ended on a plateau" ;; esac
ends auto 10 100 auto planted.h5 --rank=4
ends unbiased 4 60 auto planted.h5 --rank=4 --bias=none
ends noise 10 60 auto noise.tns --rank=3
ends overfit 10 60 fixed noise.tns --rank=3 --reg=0.01
case $said in *plateau*) fail "an error that rises is no plateau" ;; *) pass ;; esac
finish
