#!/bin/sh
# Rows with which new labels of a stream begin: copies of the last learnt row in a mode that has an order,
# and average rows in others; a line says which row is copied.
. "$(dirname "$0")/../lib/lib.sh"
cd "$scratch" || exit 99
needs_python
cat >draw.py <<'PY'
import numpy as np

g = np.random.default_rng(11)
u, i = g.normal(size=40), g.normal(size=12)


def write(name, rows, months, count, first=0, weights=False):
    cells = {(int(g.choice(rows)), int(g.integers(12)), int(g.choice(months))) for _ in range(count)}
    with open(name, "w") as f:
        print("user,item,month,stars" + (",w" if weights else ""), file=f)
        for a, b, m in sorted(cells, key=lambda c: (c[2], c[1], c[0])):
            value = 3 + u[a % 40] * i[b] + 0.3 * m + (3 if a == 29 else 0) + 0.2 * g.normal()
            w = ",%d" % (m < 6) if weights else ""
            print("u%02d,i%d,2024-%02d,%.3f%s" % (a, b, m, value, w), file=f)


write("old.csv", range(30), [1, 2, 3, 4], 900)
write("people.csv", range(30, 40), [1, 2, 3, 4], 150)
write("both.csv", range(30, 40), [5], 100)
write("masked.csv", range(30), [3, 4, 5, 6, 7], 900, weights=True)
write("later.csv", range(30), [8], 100)
PY
$python draw.py
{ sed -n 1p old.csv && sed 1d old.csv | sort -r; } >turned.csv
fit="--value=stars --rank=1 --reg=0.3 --iters=20 --precision=double --overwrite"
before() { sed -n 's/.*"before":{"count":[0-9]*,"rmse":\([0-9.e-]*\).*/\1/p' "$1"; }
for ranks in 1 3; do
  # New users are average ones, whichever user came last; one of them is unlike all others.
  for f in old turned; do
    # shellcheck disable=SC2086
    expect 0 "" on 1 complete $f.csv $fit -o $f.h5 --state=$f.state
    expect 0 "batch 2" on $ranks stream $f.state people.csv --value=stars --json=$f.json
    same "copies of a user" "$(grep -c 'begin as copies' out)" 0
    expect 0 "" "$amped" predict $f.h5 people.csv --value=stars --cold=predict --json=p.json
    close "$f, $ranks ranks: the error before is of average users" "$(before $f.json)" "$(field rmse p.json)" 0.05
  done
  # New months follow the last one, also with new users.
  # shellcheck disable=SC2086
  expect 0 "" on 1 complete old.csv $fit --nowrite --state=old.state
  expect 0 "both.csv: new rows of .*month.* begin as copies of 2024-04" on $ranks stream old.state both.csv --value=stars
  # Months of weight 0 have learnt nothing.
  # shellcheck disable=SC2086
  expect 0 "" on 1 complete masked.csv $fit --weights=w --nowrite --state=masked.state
  expect 0 "later.csv: new rows of .*month.* begin as copies of 2024-05" on $ranks stream masked.state later.csv --value=stars
done
finish
