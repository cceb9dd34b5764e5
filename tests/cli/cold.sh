#!/bin/sh
# Cold entries: complete's errors at --validate and --test are those that predict --cold=predict reports.
. "$(dirname "$0")/../lib/lib.sh"
needs_python
here=$(cd "$(dirname "$0")" && pwd)
cd "$scratch" || exit 99

# Ratings with biases of users, items and months; the test has a new month, new users, new items, and a user
# whose entries are all held out of nothing: all its cells have weight 0.
awk 'BEGIN { srand(3); print "user,item,month,stars"
  for (k = 0; k < 900; k++) { u = int(rand() * 30); i = int(rand() * 20); m = int(rand() * 6)
    if (!seen[u, i, m]++) printf "u%d,i%d,m%d,%.3f\n", u, i, m, 3 + u % 4 / 2 - i % 3 / 2 + m / 3 + sin(u * i) / 3 + rand() / 5 } }' >rows
{ head -n 1 rows; sed 1d rows | sort -u; } >all.csv
awk -F, 'NR == 1 || ($3 != "m5" && $1 != "u7" && $2 != "i9" && NR % 11 != 3)' all.csv >train.csv
awk -F, 'NR == 1 || $3 == "m5" || $1 == "u7" || $2 == "i9" || NR % 11 == 3' all.csv >test.csv
awk -F, 'NR == 1 { print; next } { print $1 "," $2 "," $3 "," ($1 == "u3" ? 0 : 1) }' train.csv >weights.csv
awk -F, 'NR == 1 || $1 == "u3"' train.csv >three.csv

agrees() { # agrees WHAT FILE: the errors of complete at FILE are those of predict
  expect 0 "" "$amped" predict model.h5 "$2" --value=stars --cold=predict --json=told.json --overwrite
  if "$python" - >reason.txt 2>&1 <<'PY'
import json
test = [json.loads(line) for line in open("run.json")][-1]["test"]
told = json.load(open("told.json"))
pairs = [(test["rmse"], told["rmse"]), (test["mae"], told["mae"]), (test["cold"]["rmse"], told["rmse_cold"])]
assert all(abs(a - b) < 1e-9 for a, b in pairs), pairs
assert test["cold"]["count"] == told["cold"] > 0, (test, told)
PY
  then pass; else fail "$1: $(tail -n 1 reason.txt)"; fi
}
fit="--value=stars --rank=2 --reg=0.3 --iters=20 --holdout=0 --precision=double -o model.h5 --overwrite --json=run.json"
for ranks in 1 3; do
  for how in "--bias=full" "--bias=full --context=none" "--bias=mean" "--bias=none --context=month" "--method=ccd" "--nonnegative"; do
    # shellcheck disable=SC2086
    expect 0 "have a row that was never trained" on $ranks complete train.csv $fit $how --test=test.csv
    agrees "$how, $ranks ranks" test.csv
  done
done
# A row of weight 0 is in the model, and has learnt nothing.
# shellcheck disable=SC2086
expect 0 "" on 2 complete train.csv $fit --weights=weights.csv --test=three.csv
agrees "weight 0" three.csv

# --- --fix: known rows of the model that learnt nothing --------------------------------------------
# All cells of the item i3 have weight 0 in the model. New users have it: the mean of the other items stands
# for it in the fit, in errors and in predict. i9 is in the model alone.
awk -F, 'NR == 1 || $1 ~ /^u[0-9]$/' all.csv >known.csv
awk -F, 'NR == 1 { print; next } { print $1 "," $2 "," $3 "," ($2 == "i3" ? 0 : 1) }' known.csv >weights.csv
awk -F, 'NR == 1 || ($1 ~ /^u1[0-9]$/ && $2 != "i9" && NR % 7 != 2)' all.csv >new.csv
awk -F, 'NR == 1 || ($1 ~ /^u1[0-9]$/ && $2 != "i9" && NR % 7 == 2)' all.csv >test.csv
awk -F, 'NR == 1 { print; next } { print $1 "," $2 ",m99," $4 }' test.csv >month.csv
for bias in full mean none; do
  expect 0 "" on 1 complete known.csv --value=stars --weights=weights.csv --rank=2 --reg=0.1 --iters=20 --holdout=0 --bias=$bias \
    --precision=double -o known.h5 --overwrite
  for ranks in 1 3; do
    said="1 row in the tensor has learnt nothing there"
    expect 0 "fixed: mode 2 (item), 20 rows of known.h5, .*$said" on $ranks complete new.csv --value=stars --init=known.h5 --fix=item,month \
      --reg=0.3 --holdout=0 --iters=2 --precision=double -o model.h5 --overwrite --json=run.json --test=test.csv
    agrees "--fix, --bias=$bias, $ranks ranks" test.csv
    train=$("$python" -c 'import json; print([json.loads(l) for l in open("run.json")][-1]["train"])')
    expect 0 "" "$amped" predict model.h5 new.csv --value=stars --json=told.json --overwrite
    close "--fix, --bias=$bias, $ranks ranks: training error" "$train" "$(field rmse told.json)" 1e-9
    "$python" "$here/fixed_reference.py" completion new.csv known.h5 model.h5 0 0.3 1e-9 >reason.txt 2>&1 && pass ||
      fail "--fix, --bias=$bias, $ranks ranks: $(tail -n 1 reason.txt)"
    # A new month: the mean of the model's months.
    expect 0 "" on $ranks complete new.csv --value=stars --init=known.h5 --fix=item,month --reg=0.3 --holdout=0 --iters=2 --precision=double \
      -o model.h5 --overwrite --json=run.json --test=month.csv
    agrees "a new month, --fix, --bias=$bias, $ranks ranks" month.csv
  done
done

# --- entries that are held out by hash -------------------------------------------------------------
# A line counts those with a label that has learnt nothing. All entries of such a label are held out.
counts() { # counts WHAT RESULT MODES: the run's numbers are those of the labels without a learnt entry, in these modes
  if "$python" - "$2" "$3" >reason.txt 2>&1 <<'PY'
import json, re, sys
import h5py
lost = []
with h5py.File(sys.argv[1]) as f:
    for m in range(3):
        raw, offsets = f["labels/mode_%d/bytes" % m][:].tobytes(), f["labels/mode_%d/offsets" % m][:]
        names = [raw[offsets[i]:offsets[i + 1]].decode() for i in range(len(offsets) - 1)]
        lost.append({n for n, seen in zip(names, f["observed/%d" % m][:]) if not seen} if str(m) in sys.argv[2] else set())
rows = [line.split(",") for line in open("few.csv").read().split()[1:]]
of = [sum(r[m] in lost[m] for r in rows) for m in range(3)]
want = sum(any(r[m] in lost[m] for m in range(3)) for r in rows)
problem = [json.loads(line) for line in open("run.json") if '"completion"' in line][0]
assert problem["unlearnt"] == want > 0, (problem["unlearnt"], want)
names = ", ".join("%d %s" % (n, name) for n, name in zip(of, ("user", "item", "month")) if n)
line = "%d of them have a label without a learnt entry (%s): " % (want, names)
assert line in open("out").read(), (line, open("out").read())
PY
  then pass; else fail "$1: $(tail -n 1 reason.txt)"; fi
}
awk -F, 'NR == 1 || NR % 9 == 1 || $1 == "u5"' all.csv >few.csv
fit="--value=stars --rank=2 --reg=0.3 --iters=5 --holdout=0.6 --overwrite --json=run.json"
for ranks in 1 3; do
  for how in "--bias=full" "--bias=none --block=1"; do
    # shellcheck disable=SC2086
    expect 0 "of them have a label without a learnt entry" on $ranks complete few.csv $fit $how -o model.h5
    counts "$how, $ranks ranks" model.h5 012
  done
  # Rows of fixed modes are known, or means.
  expect 0 "" on 1 complete all.csv --value=stars --rank=2 --reg=0.1 --iters=5 --holdout=0 -o known.h5 --overwrite -q
  # shellcheck disable=SC2086
  expect 0 "" on $ranks complete few.csv $fit --init=known.h5 --fix=item,month -o model.h5
  counts "--fix, $ranks ranks" model.h5 0
  # All labels learn something: no line. Nor in a fit of events, where predict takes rows as they are.
  for how in "--holdout=0.05" "--holdout=0" "--implicit=2"; do
    # shellcheck disable=SC2086
    expect 0 "" on $ranks complete all.csv $fit $how --reg=1 -o model.h5
    grep -q "without a learnt entry" out && fail "a line of labels without a learnt entry: $how" || pass
  done
done

# The error of held-out entries is that of predict at them, which takes the mean for rows that have learnt nothing.
awk -F, 'NR > 1 { print substr($1, 2) + 1, substr($2, 2) + 1, substr($3, 2) + 1, $4 }' few.csv >few.tns
cat >split.py <<'PY'
import sys
sys.path.insert(0, sys.argv[1])
from counter_random import held
lines = open("few.tns").read().splitlines()
rows = [[int(x) - 1 for x in line.split()[:3]] for line in lines]
out = [held(r, 7, 0.6) for r in rows]
open("out.tns", "w").write("".join(l + "\n" for l, o in zip(lines, out) if o))
learnt = [{r[m] for r, o in zip(rows, out) if not o} for m in range(3)]
assert any(o and any(r[m] not in learnt[m] for m in range(3)) for r, o in zip(rows, out))
PY
"$python" split.py "$here" || fail "split.py"
for ranks in 1 2 3; do
  for how in "--bias=full" "--bias=none" "--bias=mean" "--block=1" "--method=sgd" "--context=none"; do
    for precision in double float; do
      test $precision = float && test $ranks -gt 1 && continue
      # shellcheck disable=SC2086
      expect 0 "of them have a label without a learnt entry" on $ranks complete few.tns --rank=2 --reg=0.3 --iters=6 --holdout=0.6 --split-seed=7 $how \
        --precision=$precision -o model.h5 --overwrite --json=run.json
      expect 0 "" "$amped" predict model.h5 out.tns --json=told.json --overwrite --cold=predict
      tolerance=$(test $precision = double && echo 1e-10 || echo 1e-5)
      for key in rmse mae; do
        found=$("$python" -c 'import json, sys; print([json.loads(l) for l in open("run.json")][-1]["validate"][sys.argv[1]])' $key)
        close "$key of held-out entries, $how, $precision, $ranks ranks" "$found" "$(field $key told.json)" $tolerance
      done
    done
  done
done
finish
