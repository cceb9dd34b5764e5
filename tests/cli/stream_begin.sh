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
write("even.csv", range(30), [2, 4, 6], 900)
write("odd.csv", range(30), [7], 100)
write("late.csv", range(30), [3], 100)
write("first.csv", range(30), [1], 100)
write("mixed.csv", range(30), [1, 5, 7], 200)
write("some.csv", range(30), [3, 4, 5], 200)
PY
$python draw.py
{ sed -n 1p old.csv && sed 1d old.csv | sort -r; } >turned.csv
# The last row is of the first month, and the month that is last comes first; months by name, and by number.
{ sed -n 1p even.csv && sed 1d even.csv | sort -t, -k3,3r; } >rows.csv
sed '1!s/2024-0//' rows.csv >numbers.csv
sed '1!s/2024-0//' odd.csv >seven.csv
cat >model.py <<'PY'
# The model of the first argument, and the places of labels in its modes.
import sys
import h5py

f = h5py.File(sys.argv[1])
places = []
for k in range(3):
    data, ends = f[f"labels/mode_{k}/bytes"][:].tobytes(), f[f"labels/mode_{k}/offsets"][:]
    places.append({data[a:b].decode(): i for i, (a, b) in enumerate(zip(ends[:-1], ends[1:]))})
mean, scale = f.attrs["mean"], f.attrs["scale"]
PY
cat >order.py <<'PY'
# order.py MODEL TABLE MONTH,...: the rmse at the table's rows if their month's row is a copy of the last MONTH before it, or of
# the first MONTH.
import csv, sys
import numpy as np
from model import f, mean, places, scale

squares = []
for row in list(csv.reader(open(sys.argv[2])))[1:]:
    months = sys.argv[3].split(",")
    month = max([m for m in months if m <= row[2]], default=months[0])
    at = [places[0][row[0]], places[1][row[1]], places[2][month]]
    product = f["weights"][:] * np.prod([f[f"factors/{k}"][i] for k, i in enumerate(at)], axis=0)
    y = mean + scale * (product.sum() + sum(f[f"bias/{k}"][i] for k, i in enumerate(at)))
    squares.append((y - float(row[3])) ** 2)
print(np.sqrt(np.mean(squares)))
PY
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
  # So are users whose ids are numbers: only the name of a mode tells that numbers are times.
  for f in old people; do sed '1!s/^u//; 1!s/^0//' $f.csv >$f-ids.csv; done
  # shellcheck disable=SC2086
  expect 0 "" on 1 complete old-ids.csv $fit -o ids.h5 --state=ids.state
  expect 0 "with a new user" on $ranks stream ids.state people-ids.csv --value=stars --json=ids.json
  same "copies of a user" "$(grep -c 'begin as copies' out)" 0
  expect 0 "" "$amped" predict ids.h5 people-ids.csv --value=stars --cold=predict --json=p.json
  close "ids, $ranks ranks: the error before is of average users" "$(before ids.json)" "$(field rmse p.json)" 0.05
  # New months follow the last one, also with new users.
  # shellcheck disable=SC2086
  expect 0 "" on 1 complete old.csv $fit --nowrite --state=old.state
  expect 0 "both.csv: new rows of .*month.* begin as copies of 2024-04" on $ranks stream old.state both.csv --value=stars
  # Also in a batch with known months.
  # shellcheck disable=SC2086
  expect 0 "" on 1 complete old.csv $fit -o old.h5 --state=old.state
  expect 0 "some.csv: new rows of .*month.* begin as copies of 2024-04" on $ranks stream old.state some.csv --value=stars --json=o.json --overwrite
  close "$ranks ranks: the forecast is of known months, and of the last" "$(before o.json)" \
    "$("$python" order.py old.h5 some.csv 2024-01,2024-02,2024-03,2024-04)" 1e-9
  # Years of time stamps are times under any name, and so are numbers under a plural.
  for f in old both; do sed '1s/month/created/; 1!s/2024-0\([0-9]\)/200\1-05-17/' $f.csv >$f-years.csv; done
  # shellcheck disable=SC2086
  expect 0 "" on 1 complete old-years.csv $fit --date=created:year --nowrite --state=years.state
  expect 0 "both-years.csv: new rows of .*created.* begin as copies of 2004" on $ranks stream years.state both-years.csv --value=stars
  for f in numbers seven; do sed '1s/month/weeks/' $f.csv >$f-weeks.csv; done
  # shellcheck disable=SC2086
  expect 0 "" on 1 complete numbers-weeks.csv $fit --nowrite --state=weeks.state
  expect 0 "seven-weeks.csv: new rows of .*weeks.* begin as copies of 6" on $ranks stream weeks.state seven-weeks.csv --value=stars
  # Months of weight 0 have learnt nothing.
  # shellcheck disable=SC2086
  expect 0 "" on 1 complete masked.csv $fit --weights=w --nowrite --state=masked.state
  expect 0 "later.csv: new rows of .*month.* begin as copies of 2024-05" on $ranks stream masked.state later.csv --value=stars
  # The month that is last by its label is copied, wherever its row is; with --by, too.
  for by in "" --by=month; do
    # shellcheck disable=SC2086
    expect 0 "" on 1 complete rows.csv $fit -o rows.h5 --state=rows.state
    # shellcheck disable=SC2086
    expect 0 "odd.csv.*: new rows of mode 3 (month) begin as copies of 2024-06" on $ranks stream rows.state odd.csv --value=stars $by --json=o.json --overwrite
    close "$ranks ranks $by: the forecast is of the last month" "$(before o.json)" "$("$python" order.py rows.h5 odd.csv 2024-06)" 1e-9
    # A month that comes late follows the one before it, not one that came after it; the first follows the first.
    for late in late:2024-02 first:2024-02; do
      table=${late%:*}.csv
      # shellcheck disable=SC2086
      expect 0 "" on 1 complete rows.csv $fit -o rows.h5 --state=rows.state
      # shellcheck disable=SC2086
      expect 0 "$table.*: new rows of mode 3 (month) begin as copies of ${late#*:}" on $ranks stream rows.state $table --value=stars $by --json=o.json --overwrite
      close "$ranks ranks $by: the forecast of a month that comes late" "$(before o.json)" "$("$python" order.py rows.h5 $table ${late#*:})" 1e-9
    done
    # shellcheck disable=SC2086
    expect 0 "" on 1 complete numbers.csv $fit -o numbers.h5 --state=numbers.state
    # shellcheck disable=SC2086
    expect 0 "seven.csv.*: new rows of mode 3 (month) begin as copies of 6" on $ranks stream numbers.state seven.csv --value=stars $by --json=o.json --overwrite
    close "$ranks ranks $by: the forecast is of the last number" "$(before o.json)" "$("$python" order.py numbers.h5 seven.csv 6)" 1e-9
  done
  # shellcheck disable=SC2086
  expect 0 "" on 1 complete rows.csv $fit -o rows.h5 --state=rows.state
  expect 0 "mixed.csv: new rows of mode 3 (month) begin as copies of the last learnt row before each" on $ranks stream rows.state mixed.csv \
    --value=stars --json=o.json --overwrite
  close "$ranks ranks: forecasts of several months" "$(before o.json)" "$("$python" order.py rows.h5 mixed.csv 2024-02,2024-04,2024-06)" 1e-9
done

# Forecasts at known users and items, and at new ones, against numpy; the new month is new for both.
cat >split.py <<'PY'
# split.py MODEL TABLE MONTH: count and rmse at rows whose user and item the model has, and at others. Unknown
# users and items have rows of zeros and a bias of 0; the month's row is a copy of MONTH's.
import csv, sys
import numpy as np
from model import f, mean, places, scale

squares = [[], []]
for row in list(csv.reader(open(sys.argv[2])))[1:]:
    at = [places[0].get(row[0]), places[1].get(row[1]), places[2][sys.argv[3] or row[2]]]
    y = mean + scale * sum(f[f"bias/{k}"][i] for k, i in enumerate(at) if i is not None)
    if None not in at:
        y += scale * (f["weights"][:] * np.prod([f[f"factors/{k}"][i] for k, i in enumerate(at)], axis=0)).sum()
    squares[None in at].append((y - float(row[3])) ** 2)
for part in squares:
    print(len(part), "%.12g" % np.sqrt(np.mean(part)) if part else "none")
PY
{ cat both.csv && sed 1d odd.csv | sed 's/2024-07/2024-05/'; } >mixed.csv
{ cat people.csv && sed 1d old.csv | head -n 60 | sed 's/,[-0-9.]*$/,3.5/'; } >old-months.csv
told() { # told KEY: count and rmse
  "$python" -c 'import json, sys
for line in open("s.json"):
    e = json.loads(line)
    if e["event"] == "batch":
        e = e[sys.argv[1]]
        print(*(["0", "none"] if e is None else [e["count"], "%.12g" % e["rmse"]]))' "$1"
}
for ranks in 1 3; do
  for what in "mixed.csv 2024-04" "both.csv 2024-04" "old-months.csv"; do
    file=${what% *}
    month=${what#"$file"}
    # shellcheck disable=SC2086
    expect 0 "" on 1 complete old.csv $fit -o old.h5 --state=old.state
    case $file in both*) line="; before: [0-9.]* at 64 with a new user " ;; *) line="; before: [0-9.]* at [0-9]* entries of known rows, [0-9.]* at [0-9]* with a new user " ;; esac
    expect 0 "$line" on $ranks stream old.state "$file" --value=stars --json=s.json --overwrite
    "$python" split.py old.h5 "$file" "${month# }" >want
    { told before_known && told before_new; } >got
    "$python" -c 'import sys
a, b = [[line.split() for line in open(name)] for name in ("got", "want")]
assert len(a) == len(b) == 2, (a, b)
for x, y in zip(a, b):
    assert x == y or x[0] == y[0] and abs(float(x[1]) - float(y[1])) < 1e-9, (a, b)' >reason 2>&1 && pass ||
      fail "$file, $ranks ranks: $(tail -n 1 reason)"
  done
done
# A new row whose only entry is held out learns nothing, and begins as a copy of none.
# shellcheck disable=SC2086
expect 0 "" on 1 complete old.csv $fit --holdout=0.5 --nowrite --state=half.state
held=0
for i in 0 1 2 3 4 5 6 7; do
  cp half.state one.state
  rm -f one.state.*
  printf 'user,item,month,stars\nu07,i%d,2024-05,3\n' $i >one.csv
  expect 0 "batch 2" on 1 stream one.state one.csv --value=stars
  copies=$(grep -c 'begin as copies of 2024-04' out)
  case $(grep "^batch 2" out) in
    *" after, held out "*)
      held=$((held + 1))
      same "copies of a held-out row" "$copies" 0
      ;;
    *) same "copies of a learnt row" "$copies" 1 ;;
  esac
done
test $held -gt 0 && test $held -lt 8 && pass || fail "$held of 8 entries are held out"
finish
