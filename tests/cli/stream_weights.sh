#!/bin/sh
# States of fits with weights: entries of weight 0 are neither learnt nor held out, so the state's held-out
# entries, its sample, and the counts of what was learnt before are of the other entries. numpy has the numbers.
. "$(dirname "$0")/../lib/lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
cd "$scratch" || exit 99
needs_python
cat >draw.py <<'PY'
import json
import sys
import h5py
import numpy as np

sys.path.insert(0, sys.argv[1])
from counter_random import held as is_held
from stream_reference import read

what = sys.argv[2]
if what == "draw":
    g = np.random.default_rng(int(sys.argv[3]))
    a, b = g.normal(0, 0.6, (30, 2)), g.normal(0, 0.6, (20, 2))
    cells = sorted({(int(g.integers(30)), int(g.integers(20)), int(g.integers(8))) for _ in range(1000)}, key=lambda c: (c[2], c))
    rows = [(u, i, m, 3.5 + a[u] @ b[i] + 0.3 * m + 0.2 * g.normal()) for u, i, m in cells]

    def write(name, part, weigh=None):
        with open(name, "w") as f:
            for k, r in enumerate(part):
                print("%d %d %d %.6f" % (r[0] + 1, r[1] + 1, r[2] + 1, weigh(k, r) if weigh else r[3]), file=f)

    # Late rows of months 1 to 5; months 1 to 6 without them; months 7, 8; all.
    late = [r for r in rows if r[2] < 5][::9]
    first = [r for r in rows if r[2] < 6 and r not in late]
    write("first.tns", first)
    write("parts.w.tns", first, lambda k, r: k % 4 / 2)
    write("june.w.tns", first, lambda k, r: r[2] < 5)
    write("june.tns", [r for r in rows if r[2] == 5])
    write("seven.tns", [r for r in rows if r[2] == 6])
    write("eight.tns", [r for r in rows if r[2] == 7])
    write("half.tns", [r for r in rows if r[2] == 6][::2])
    write("grown.tns", first + [r for r in rows if r[2] > 5])
    write("all.tns", rows)
    write("late.tns", late)
    print(len(late), len(first))
elif what == "held":  # STATE RESULT JSON FIRST WEIGHTS BATCH: entries held out, and the error of RESULT at them
    with h5py.File(sys.argv[3]) as f:
        seed, share = int(f.attrs["split_seed"]), float(f.attrs["holdout"])
        listed = {tuple(c) for c in np.stack([f["held/indices/%d" % m][:] for m in range(3)], 1).tolist()}
    first, x = read(sys.argv[6])
    w = {tuple(c): v for c, v in zip(*read(sys.argv[7]))}
    batch, y = read(sys.argv[8])
    held = [(tuple(c), v) for c, v in zip(first, x) if w[tuple(c)] > 0 and is_held(c, seed, share)]
    assert listed == {c for c, v in held}, "entries of the state"
    held += [(tuple(c), v) for c, v in zip(batch, y) if is_held(c, seed, share)]
    with h5py.File(sys.argv[4]) as f:
        rows = [f["factors/%d" % m][:] for m in range(3)]
        bias = [f["bias/%d" % m][:] for m in range(3)]
        weights, mean, scale = f["weights"][:], float(f.attrs["mean"]), float(f.attrs["scale"])
    c, v = np.array([c for c, v in held]), np.array([v for c, v in held])
    u, i, m = c.T
    z = mean + scale * ((rows[0][u] * rows[1][i] * rows[2][m]) @ weights + bias[0][u] + bias[1][i] + bias[2][m])
    want = {"count": len(v), "rmse": float(np.sqrt(np.mean((z - v) ** 2)))}
    line = [e for e in map(json.loads, open(sys.argv[5])) if e["event"] == "batch"][-1]["all_held_out"]
    assert line["count"] == want["count"] and abs(line["rmse"] - want["rmse"]) < 1e-5 * want["rmse"], (line, want)
PY
draw() { $python draw.py "$here" "$@"; }
fit="--rank=2 --reg=0.3 --iters=15 --precision=double --overwrite --nowrite -q"
seed=${AMPED_TEST_SEED:-$(date +%s)}
echo "AMPED_TEST_SEED=$seed"
draw draw "$seed" >numbers
read -r late first <numbers

# --- held-out entries ------------------------------------------------------------------------------------
for history in equations model; do
  for ranks in 1 3; do
    # shellcheck disable=SC2086
    expect 0 "" on $ranks complete first.tns --weights=parts.w.tns $fit --holdout=0.1 --history=$history --state=w.st
    cp w.st begun.st
    expect 0 "all held out so far" on $ranks stream w.st seven.tns -o r.h5 --json=w.json --overwrite
    if draw held begun.st r.h5 w.json first.tns parts.w.tns seven.tns 2>err; then pass; else
      fail "$history, $ranks ranks: held-out entries of a weighted fit: $(tail -n 1 err)"
    fi
  done
done
# --- entries that a cut passes over ----------------------------------------------------------------------
# The late rows are counted, whatever came in files of their own, and had weight 0.
# shellcheck disable=SC2086
expect 0 "" on 1 complete first.tns $fit --state=first.st
# shellcheck disable=SC2086
expect 0 "" on 1 complete first.tns --weights=june.w.tns $fit --state=june.st
fresh() {
  rm -f s.st*
  cp "$1" s.st
}
never="at least $late of them are never learnt"
for cut in --by=3 --boxes=30x20x6,+1x1x1; do
  for files in "" "seven.tns" "seven.tns eight.tns" "half.tns eight.tns"; do
    fresh first.st
    # shellcheck disable=SC2086
    test -z "$files" || expect 0 "" on 1 stream s.st $files -q
    expect 0 "$never" on 2 stream s.st all.tns $cut
  done
  # Late rows that came as a file are learnt.
  fresh first.st
  expect 0 "" on 1 stream s.st late.tns eight.tns -q
  expect 0 "all.tns: [0-9]* entries .* of s.st are skipped; it has learnt their cells" on 1 stream s.st all.tns $cut
  grep -q "never learnt" err && fail "$cut: late rows of a file are told as not learnt" || pass
done
# A month of weight 0 is learnt as a slice, and hides no late row.
fresh june.st
expect 0 "$never" on 1 stream s.st all.tns --by=3

# --- a table that grew -----------------------------------------------------------------------------------
# Its entries of weight 0 are learnt, once, whether it is a snapshot or begins with the first fit.
grep -c . june.tns >count
read -r masked <count
for file in grown.tns late-grown.tns; do
  for ranks in 1 2; do
    fresh june.st
    cat first.tns late.tns seven.tns eight.tns >late-grown.tns
    kind="is a snapshot"
    test $file = grown.tns || kind="begins with earlier batches"
    expect 0 "$file: $kind; $((first - masked)) of its $(grep -c . $file) entries were learnt before and are left out; $masked had weight 0 in the first fit and are learnt now" \
      on $ranks stream s.st $file --json=s.json -o r.h5 --overwrite
    same "$file: entries of the state" "$("$amped" info s.st | sed -n 's/^batches *[0-9]*, \([0-9]*\) .*/\1/p')" "$(grep -c . $file)"
    same "$file: June is learnt" "$($python -c 'import h5py; print(h5py.File("r.h5")["observed/2"][5])')" 1
    expect 0 "learnt 0 batches, 1 skipped" on $ranks stream s.st $file
    grep -q "weight 0 in" err out && fail "$file: learnt, but not counted" || pass
  done
done
# If the state keeps only a sample of its cells, it is not known which entries had weight 0.
awk 'BEGIN { for (m = 1; m < 9; m++) for (u = 1; u < 101; u++) for (i = 1; i < 101; i++) print u, i, m, u * i % 7 + m }' >many.tns
awk '{ $4 = NR % 10 > 0; print }' many.tns >many.w.tns
{ cat many.tns && awk '$3 == 1 { $3 = 9; print }' many.tns; } >more.tns
expect 0 "" on 2 complete many.tns --weights=many.w.tns --rank=1 --reg=1 --iters=2 --nowrite -q --state=many.st
expect 0 "more.tns: is a snapshot; 80000 of its 90000 entries were learnt before, or had weight 0 in the first fit, and are left out" \
  on 2 stream many.st more.tns
# The file of the first fit is skipped, which says what it does not learn.
fresh june.st
expect 0 "warning: first.tns: $masked of its entries had weight 0 in the first fit and are not learnt" on 2 stream s.st first.tns
# The batch is learnt as if the first fit had not had June.
awk '$3 < 6' first.tns >five.tns
awk '$3 < 6' june.w.tns >five.w.tns
# shellcheck disable=SC2086
expect 0 "" on 1 complete five.tns --weights=five.w.tns $fit --state=five.st
fresh five.st
expect 0 "is a snapshot" on 1 stream s.st grown.tns --json=five.json --overwrite
fresh june.st
expect 0 "is a snapshot" on 1 stream s.st grown.tns --json=june.json --overwrite
after() { sed -n 's/.*"after":{"count":\([0-9]*\),"rmse":\([0-9.e-]*\).*/\1 \2/p' "$1"; }
same "entries of the batch" "$(after june.json | cut -d' ' -f1)" "$(after five.json | cut -d' ' -f1)"
close "error after the batch" "$(after june.json | cut -d' ' -f2)" "$(after five.json | cut -d' ' -f2)" 0.05
expect 0 "learnt 3 batches" on 1 stream june.st all.tns --by=3
finish
