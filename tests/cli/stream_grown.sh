#!/bin/sh
# Files that grow: a file that begins with earlier batches, the first fit among them, gives only its other
# entries; the model is that of these entries alone. A followed folder reads a file that is moved to a name
# that came before: it learns what is new, and passes over a file whose old rows changed places, with a line.
. "$(dirname "$0")/../lib/lib.sh"
cd "$scratch" || exit 99
needs_python
cat >draw.py <<'PY'
import sys
import numpy as np

g = np.random.default_rng(int(sys.argv[1]))
cells = g.permutation([(u, i, m) for u in range(25) for i in range(20) for m in range(4)])[:900]
rows = ["u%d,i%d,2024-%02d,%.2f\n" % (u, i, m + 1, g.normal(3, 1)) for u, i, m in cells]
cut = [0, 500] + sorted(500 + g.choice(np.arange(10, 390, 10), 3, replace=False)) + [900]


def write(name, rows):
    with open(name, "w") as f:
        f.write("user,item,month,stars\n")
        f.writelines(rows)


part = [rows[a:b] for a, b in zip(cut, cut[1:])]
for k, p in enumerate(part):
    write("part%d.csv" % k, p)
write("log1.csv", part[1])
write("log2.csv", part[1] + part[2])
write("log3.csv", part[1] + part[2] + part[3])
write("all.csv", part[0] + part[1] + part[2] + part[3] + part[4])
old = part[1] + part[2]
write("turned.csv", [old[k] for k in g.permutation(len(old))] + part[4][:3])
write("pair.csv", part[4][:2])
write("again.csv", part[4][:2] + part[3][:5])
print(*[len(p) for p in part])
PY
seed=${AMPED_TEST_SEED:-$(date +%s)}
echo "AMPED_TEST_SEED=$seed"
# shellcheck disable=SC2046
set -- $($python draw.py "$seed")
first="complete part0.csv --value=stars --rank=2 --reg=0.3 --iters=5 --precision=double --nowrite --overwrite -q"
entries() { "$amped" info "$1" | sed -n 's/^batches *[0-9]*, \([0-9]*\) .*/\1/p'; }
model() { "$amped" predict "$1" all.csv --value=stars -o "$1.csv" --overwrite -q && cat "$1.csv"; }

for history in equations model; do
  for ranks in 1 3; do
    rm -f ./*.st*
    for f in grown parts; do
      # shellcheck disable=SC2086
      expect 0 "" on 1 $first --history=$history --state=$f.st
    done
    expect 0 "learnt 4 batches" on $ranks stream parts.st part1.csv part2.csv part3.csv part4.csv --value=stars -o parts.h5 --overwrite
    # A log of each day has the days before; then comes the whole table, which is a snapshot of other rows.
    expect 0 "log2.csv: begins with earlier batches; $2 of its $(($2 + $3)) entries were learnt before" on $ranks \
      stream grown.st log1.csv log2.csv --value=stars
    expect 0 "log3.csv: begins with earlier batches; $(($2 + $3)) of its" on $ranks stream grown.st log3.csv --value=stars --json=g.json --overwrite
    same "known entries in JSON" "$(field known g.json)" "$(($2 + $3))"
    expect 0 "log2.csv has the entries of earlier batches, of which 3 is the last; it is skipped" on 1 stream grown.st log2.csv --value=stars
    expect 0 "all.csv: begins with earlier batches; $(($1 + $2 + $3 + $4)) of its 900 entries" on $ranks \
      stream grown.st all.csv --value=stars -o grown.h5 --overwrite
    same "entries of a log" "$(entries grown.st)" 900
    model grown.h5 >got.csv
    model parts.h5 >want.csv
    expect 0 "" cmp got.csv want.csv
    # Rows in another order are learnt again, with a warning.
    expect 0 "warning: turned.csv: of [0-9]* cells, earlier batches had [0-9]* with the same value" on $ranks \
      stream grown.st turned.csv --value=stars
  done
done

# Two entries may have come again; a snapshot is asked for.
rm -f few.st*
# shellcheck disable=SC2086
expect 0 "" on 1 $first --state=few.st
expect 0 "again.csv: 7 entries" on 1 stream few.st pair.csv again.csv --value=stars
expect 3 "log3.csv: is no snapshot" on 1 stream few.st log3.csv --value=stars --snapshots

# A followed folder.
for ranks in 1 2; do
  rm -rf in f.st*
  mkdir in
  # shellcheck disable=SC2086
  expect 0 "" on 1 $first --state=f.st
  move() { cp "$1" in/.new && mv in/.new "in/$2"; }
  seen() { until_true "$launcher" grep -q "$1" "$2" && pass || fail "$ranks ranks: $3"; }
  move log1.csv log.csv
  begin $ranks '"batch":2,' stream f.st --follow=in --value=stars
  move log2.csv log.csv
  seen '"batch":3,' live.json "a file that grew"
  move turned.csv log.csv
  seen 'log.csv was learnt before, as batch 3, with .* entries, and has .* now; it is skipped' err.txt "a file whose rows changed places"
  move part4.csv log.csv
  seen '"batch":4,' live.json "new rows under an old name"
  sed -n 2,9p part3.csv >>in/log.csv
  seen 'log.csv was read and has changed since, in place; it is not read again' err.txt "a file that grows in place"
  move part3.csv other.csv
  seen '"batch":5,' live.json "another file"
  stop_by USR1
  same "$ranks ranks: status" "$status" 85
  same "$ranks ranks: entries" "$(entries f.st)" 900
  same "$ranks ranks: warnings of a file in place" "$(grep -c 'in place' err.txt)" 1
  # Another run reads the folder again, and learns nothing twice.
  move log3.csv log.csv
  begin $ranks '"event":"skipped"' stream f.st --follow=in --value=stars
  seen '"name":"in/other.csv"' live.json "the folder of another run"
  stop_by USR1
  same "$ranks ranks: entries after another run" "$(entries f.st)" 900
done
finish
