#!/bin/sh
# Rows that a stream has learnt, and that a later file repeats: they are counted, whatever is held out and
# however small the file is. New rows say nothing. A state whose first fit had weights says so.
. "$(dirname "$0")/../lib/lib.sh"
cd "$scratch" || exit 99
needs_python
cat >draw.py <<'PY'
import sys
import numpy as np

seed = int(sys.argv[1])
g = np.random.default_rng(seed)
users, items = 30, 20
cells = g.permutation([(u, i, d) for u in range(users) for i in range(items) for d in range(2)])[:500]
rows = ["u%d,i%d,d%d,%.2f,%d\n" % (u, i, d, g.normal(3, 1), g.integers(0, 3)) for u, i, d in cells]


def write(name, rows):
    rows = [rows[k] for k in g.permutation(len(rows))]
    with open(name, "w") as f:
        f.write("user,item,day,stars,w\n")
        f.writelines(rows)


def corrected(row):
    u, i, d, v, w = row.split(",")
    return "%s,%s,%s,%.2f,%s" % (u, i, d, float(v) + 1, w)


few = int(g.integers(8, 16))  # rows of a small file
wrong = int(g.integers(1, few // 2 - 1))  # of them corrected later
grown = int(g.integers(20, 60))
write("old.csv", rows[:300])
write("judges.csv", rows[300:330])
write("all.csv", rows[:380])  # old, those that judged, and 50 new
write("grown.csv", [corrected(rows[0])] + rows[1:300] + rows[400:400 + grown])
write("small.csv", rows[380:380 + few])
write("again.csv", [corrected(r) for r in rows[380:380 + wrong]] + rows[380 + wrong:380 + few] + rows[470:471])
write("new.csv", rows[471:])
write("known.csv", rows[:10] + [corrected(r) for r in rows[10:20]] + rows[460:495])
print(few, wrong, grown)
PY

count() {
  sed -n "s/.*warning: $1: of \([0-9]*\) cells, earlier batches had \([0-9]*\) with the same value.*/\1 \2/p" err
}

for seed in 1 2 3; do
  # shellcheck disable=SC2046
  set -- $($python draw.py $seed)
  few=$1
  wrong=$2
  grown=$3
  for ranks in 1 3; do
    begin="complete old.csv --value=stars --keys=user,item,day --rank=2 --reg=0.2 --iters=5 --nowrite --overwrite"
    stream="--value=stars --keys=user,item,day"
    rm -f st*
    # No cell is held out.
    expect 0 "" on $ranks $begin --holdout=0 --state=st0
    expect 0 "batch 2" on $ranks stream st0 grown.csv $stream
    same "seed $seed, $ranks ranks: rows of a grown table" "$(count grown.csv)" "$((300 + grown)) 299"
    # A file judges.
    expect 0 "" on $ranks $begin --validate=judges.csv --state=st1
    expect 0 "batch 2" on $ranks stream st1 all.csv $stream
    same "seed $seed, $ranks ranks: rows after --validate" "$(count all.csv)" "380 300"
    # Small files, of which few cells or none are held out.
    expect 0 "" on $ranks $begin --state=st2
    expect 0 "batch 3" on $ranks stream st2 small.csv again.csv $stream
    same "seed $seed, $ranks ranks: rows of a small file" "$(count again.csv)" "$((few + 1)) $((few - wrong))"
    # Another run finds them in the journal.
    expect 0 "batch 4" on $ranks stream st2 grown.csv $stream
    same "seed $seed, $ranks ranks: rows of another run" "$(count grown.csv)" "$((300 + grown)) 299"
  done
  # Cells that are known although most are new.
  expect 0 "known.csv: of 55 cells, 20 were known; their entries are learnt like others" on 1 stream st1 known.csv $stream
  expect 0 "batch" on 3 stream st2 new.csv $stream
  same "seed $seed: lines about new rows" "$(grep -c ' cells' err)" 0
done

# Values that were rounded anew are the same; JSON has the numbers that lines have.
awk -F, -v OFS=, 'NR > 1 { $4 = sprintf("%.2f", $4 + 0.0049) } { print }' grown.csv >rounded.csv
expect 0 "" on 1 $begin --holdout=0 --state=st0 --overwrite
expect 0 "batch 2" on 3 stream st0 rounded.csv $stream --json=r.json
same "rows that were rounded" "$(count rounded.csv)" "$((300 + grown)) 299"
same "cells in JSON" "$(grep -o '"cells":{[^}]*}' r.json)" "\"cells\":{\"compared\":$((300 + grown)),\"repeated\":300,\"same\":299}"

# An array begins at index 1 of each mode, whatever it has.
$python - <<'PY'
import numpy as np
g = np.random.default_rng(1)
x = np.einsum("ir,jr,kr->ijk", *(g.random((n, 2)) for n in (9, 8, 12)))
np.save("first.npy", x[:, :, :8])
np.save("slab.npy", x[:, :, 8:])
np.save("whole.npy", x)
PY
expect 0 "" on 1 complete first.npy --rank=2 --reg=0.01 --iters=5 --bias=none --nowrite --state=array
cp array array2
expect 0 "warning: slab.npy: of 288 cells, 288 were known with other values: an array begins at index 1" on 2 stream array slab.npy
expect 0 "whole.npy: is a snapshot; 576 of its 864 entries were learnt" on 1 stream array2 whole.npy

# A stream has no weights.
expect 0 "" on 1 complete old.csv --value=stars --keys=user,item,day --weights=w --rank=2 --reg=0.2 --iters=5 --nowrite --state=weighted
expect 0 "warning: weighted: its first fit had weights; entries of later batches have weight 1" on 1 \
  stream weighted new.csv --value=stars --keys=user,item,day
expect 0 "" on 1 stream weighted -o m.h5
same "warnings of a run that learns nothing" "$(grep -c 'had weights' err)" 0

# A big state keeps a sample of its cells, and repeated rows are a part of it.
$python - <<'PY'
import numpy as np
g = np.random.default_rng(4)
cells = g.choice(400 * 300 * 3, 100000, replace=False)
for name, part in (("big.tns", cells[:90000]), ("late.tns", np.r_[cells[:8000], cells[90000:]]), ("next.tns", cells[90000:])):
    np.savetxt(name, np.c_[part // 900 + 1, part // 3 % 300 + 1, part % 3 + 1, part % 5 + 0.5], fmt="%d %d %d %g")
PY
expect 0 "" on 2 complete big.tns --rank=2 --reg=1 --iters=2 --nowrite --state=big
expect 0 "of [0-9]* cells that are compared, a sample of all, [0-9]* were known" on 1 stream big late.tns
known=$(sed -n 's/.*of \([0-9]*\) cells that are compared, a sample of all, \([0-9]*\) were known.*/\1 \2/p' out)
$python -c 'import sys; n, k = map(int, sys.argv[1:]); sys.exit(not (0.65 < n / 18000 < 0.8 and 0.38 < k / n < 0.51))' $known ||
  fail "of cells in the sample, $known were known"
finish
