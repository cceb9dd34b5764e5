#!/bin/sh
# evaluate and similar: ranks, measures and cosines against numpy; ties, filters, labels in another
# order, cold cells, orders 3 and 4; outputs; errors.
. "$(dirname "$0")/../lib/lib.sh"
needs_python
here=$(cd "$(dirname "$0")" && pwd)
cd "$scratch" || exit 99
PYTHONDONTWRITEBYTECODE=1
export PYTHONDONTWRITEBYTECODE

model() { "$python" "$here/model_file.py" write "$@" || fail "model_file.py $*"; }
reference() { expect 0 "" "$python" "$here/evaluate_reference.py" "$@"; }

# Models: with biases, contexts and rows that were never learnt; a decomposition; order 4; few
# distinct rows, which tie.
model m.h5 1 150x333x5 7 biased labels
model plain.h5 2 150x333x5 3 labels plain
model four.h5 3 40x30x20x10 4 biased labels
cat >change.py <<'PY'
import h5py, numpy as np
with h5py.File("m.h5", "a") as f:
    for mode, rows in ((0, [3, 4]), (1, [7, 8, 9, 332]), (2, [4])):
        for row in rows:
            f[f"factors/{mode}"][row] = 0
            f[f"bias/{mode}"][row] = 0
with h5py.File("ties.h5", "w") as f, h5py.File("plain.h5") as g:
    for name in g:
        g.copy(name, f)
    for name, value in g.attrs.items():
        f.attrs[name] = value
    rows = f["factors/1"][:]
    f["factors/1"][...] = rows[np.arange(len(rows)) % 11]
    f["weights"][...] *= 1e-30
PY
"$python" change.py || fail "change.py"

# Cells, in the model's order of columns and in another; unknown labels.
cells() { # cells COUNT START STRIDE
  awk -v n="$1" -v s="$2" -v d="$3" 'BEGIN { print "who,what,when"
    for (i = s; i < s + n; i++) printf "a%d,b%d,c%d\n", i * d % 150, i * i * 7 % 333, i % 5 }'
}
cells 700 1 13 >test.csv
cells 3000 5 11 >known.csv
cells 300 1 13 | tail -n +2 >>known.csv
printf 'a1,b1,c9\nnobody,b2,c1\na2,nothing,c1\nnobody,nothing,c9\n' >>test.csv
awk -F, '{ print $2 "," $3 "," $1 }' test.csv >moved.csv
awk 'BEGIN { print "who,what,when,where"
  for (i = 0; i < 400; i++) printf "a%d,b%d,c%d,d%d\n", i % 40, i * 7 % 31, i * i % 20, i % 10 }' >four.csv

for m in m plain ties; do
  for of in 1 2 3; do
    expect 0 "" "$amped" evaluate $m.h5 test.csv --of=$of --json=r.json --overwrite
    reference ranks $m.h5 r.json test.csv $((of - 1))
    expect 0 "" "$amped" evaluate $m.h5 test.csv --of=$of --exclude=known.csv --cold=predict --json=r.json --overwrite
    reference ranks $m.h5 r.json test.csv $((of - 1)) exclude known.csv cold
  done
  expect 0 "cells* whose label of .*what.* is known before, because --exclude has it with that of who: left out" "$amped" evaluate $m.h5 test.csv --of=what --for=who --exclude=known.csv --at-ranks=1-5,100 --json=r.json --overwrite
  reference ranks $m.h5 r.json test.csv 1 exclude known.csv by 0
done
for of in 1 2 3 4; do
  expect 0 "" "$amped" evaluate four.h5 four.csv --of=$of --exclude=four.csv --json=r.json --overwrite
  reference ranks four.h5 r.json four.csv $((of - 1)) exclude four.csv
done
# Equal rows tie, although blocks of a matrix product may round them differently.
same "ties" "$("$amped" evaluate ties.h5 test.csv --of=what --json=- -q | tr ',' '\n' | grep -c '"tied": *70[0-9]')" 1

# Columns in another order, a tensor file, and standard input give the same; so does any number of threads.
expect 0 "" "$amped" evaluate m.h5 test.csv --of=what --exclude=known.csv --json=r.json --overwrite
sed 's/"input": *"[^"]*"//' r.json >first
expect 0 "" "$amped" evaluate m.h5 moved.csv --keys=who,what,when --of=what --exclude=known.csv --json=r.json --overwrite
sed 's/"input": *"[^"]*"//' r.json >second
expect 0 "" cmp first second
for threads in 1 3; do
  expect 0 "" "$amped" evaluate m.h5 test.csv --of=what --exclude=known.csv --json=r.json --threads=$threads --overwrite
  sed 's/"input": *"[^"]*"//' r.json >second
  expect 0 "" cmp first second
done
expect 0 "" "$amped" convert test.csv test.h5 --duplicates=keep -q
expect 0 "^MRR " "$amped" evaluate m.h5 test.h5 --of=what
"$amped" evaluate m.h5 - --format=csv --of=what <test.csv >out 2>&1 && grep -q "^MRR " out && pass || fail "cells on standard input"

# Several tensors to exclude: what any of them has, however often; tables beside a tensor file, to which options of
# tables do not apply. The cell's own label stays if a tensor has the cell, too.
sed -n '1,1200p' known.csv >part1.csv
{ head -n 1 known.csv && sed -n '801,$p' known.csv; } | sed 's/$/,1/; 1s/,1$/,n/' >part2.csv
expect 0 "" "$amped" convert part1.csv part1.h5 -q
for cold in "" cold; do
  # shellcheck disable=SC2086
  expect 0 "" "$amped" evaluate m.h5 test.h5 --of=what --exclude=part1.h5 --exclude=part2.csv --exclude=test.h5 --value=n ${cold:+--cold=predict} --json=parts.json --overwrite
  reference ranks m.h5 parts.json test.csv 1 exclude known.csv exclude test.csv $cold
done
expect 0 "^known.csv and other files exclude [0-9.]* labels of a cell on average" "$amped" evaluate m.h5 test.csv --of=what --exclude=known.csv --exclude=part1.csv --json=r.json --overwrite
same "files in the record" "$(grep -o '"exclude": *\[[^]]*\]' r.json | tr -d ' ')" '"exclude":["known.csv","part1.csv"]'
reference ranks m.h5 r.json test.csv 1 exclude known.csv
expect 2 "part1.csv: is named twice with --exclude; leave out one" "$amped" evaluate m.h5 test.csv --of=what --exclude=part1.csv --exclude=./part1.csv
expect 2 "both standard input" "$amped" evaluate m.h5 - --of=what --exclude=part1.csv --exclude=- --format=csv
expect 2 "part2.csv: is an input of this run" "$amped" evaluate m.h5 test.csv --of=what --exclude=known.csv --exclude=part2.csv --json=part2.csv
same "part2.csv is whole" "$(wc -l <part2.csv)" "$(($(wc -l <known.csv) - 799))"

# A state holds a sample of its cells.
expect 0 "" on 1 complete part2.csv --value=n --duplicates=mean --rank=1 --reg=1 --iters=2 --state=s.state --nowrite -q
for state in s.state s.h5; do
  test -e $state || expect 0 "" cp s.state $state
  expect 3 "$state: is the state of a stream, which keeps sums .* with an --exclude for each; the first is part2.csv" \
    "$amped" evaluate m.h5 test.csv --of=what --exclude=known.csv --exclude=$state
done

# A list of recommend, at the cell's other labels, and the ranks of its cells agree.
expect 0 "" "$amped" recommend m.h5 --for=who:a1 --of=what --at=when:c1 --exclude=known.csv --exclude=test.csv -n 10 -o list.csv
awk -F, 'NR == 1 { print "who,what,when" } NR > 1 { print $1 "," $3 ",c1" }' list.csv >listed.csv
expect 0 "" "$amped" evaluate m.h5 listed.csv --of=what --exclude=known.csv --exclude=test.csv --at-ranks=1-10 --json=r.json --overwrite
same "hit rates of a list" "$(grep -o '"hit_rate": *[0-9.]*' r.json | sed 's/.*: *//' | awk '{ printf "%.3f ", $1 }')" \
  "0.100 0.200 0.300 0.400 0.500 0.600 0.700 0.800 0.900 1.000 "

# Lines for readers.
expect 0 "are ranked, each among 329 labels of mode 2 (what)" "$amped" evaluate m.h5 test.csv --of=what
grep -q "cells without a learnt entry of the label of mode 2 (what): left out" out && pass || fail "unknown labels"
grep -q "cells without a learnt entry of the label of mode 3 (when): left out (--cold=predict ranks them)" out && pass ||
  fail "cold labels"
expect 0 "cells without a learnt entry of the label of mode 3 (when): ranked with the average row" "$amped" evaluate m.h5 test.csv --of=what --cold=predict
expect 0 "known.csv excludes [0-9.]* labels of a cell on average" "$amped" evaluate m.h5 test.csv --of=what --exclude=known.csv

# A result of --implicit: an entry of 0 is no event.
awk 'BEGIN { srand(4); print "a,b,c,n"; for (i = 1; i <= 300; i++)
  printf "a%d,b%d,c%d,%d\n", rand() * 20, rand() * 15, rand() * 4, 1 + rand() * 5 }' >plays.csv
expect 0 "" on 1 complete plays.csv --value=n --implicit=10 --rank=2 --reg=1 --holdout=0 --iters=5 --duplicates=sum -o plays.h5 -q
printf 'a,b,c,n\na1,b1,c1,2\na2,b2,c2,0\n' >later.csv
expect 0 "1 of 2 cells of later.csv are ranked" "$amped" evaluate plays.h5 later.csv --value=n --of=b
grep -q "^1 cell of value 0" out && pass || fail "a count of 0"
expect 0 "2 of 2 cells" "$amped" evaluate plays.h5 later.csv --keys=a,b,c --of=b

# A model that ranks worse than popularity is told; one that ranks better is not.
awk 'BEGIN { print "who,what,when"; for (i = 0; i < 600; i++) printf "a%d,b%d,c%d\n", i % 140, int(i * i % 97 / 9), i % 5 }' >hits.csv
awk 'BEGIN { print "who,what,when"; for (i = 0; i < 400; i++) printf "a%d,b%d,c%d\n", i * 3 % 140, int(i * i * i % 89 / 9), i % 4 }' >later.csv
expect 0 "warning: m.h5: its MRR is below that of popularity, .*complete --implicit=A, and try A = 1, 10 and 40" \
  "$amped" evaluate m.h5 later.csv --of=what --exclude=hits.csv --json=r.json --overwrite
grep -q "^MRR  *[0-9.]*, by popularity [0-9.]*$" out && pass || fail "MRR of popularity"
reference ranks m.h5 r.json later.csv 1 exclude hits.csv
same "popularity of nothing" "$("$amped" evaluate m.h5 later.csv --of=what 2>&1 | grep -c popularity)" 0
same "CELLS alone" "$("$amped" evaluate m.h5 later.csv --of=what --exclude=later.csv 2>&1 | grep -c popularity)" 0
expect 0 "" "$amped" recommend m.h5 --for=who:a1 --of=what --at=when:c1 -n 3 -o best.csv
awk -F, 'NR == 1 { print "who,what,when" } NR > 1 { print $1 "," $3 ",c1" }' best.csv >best-cells.csv
expect 0 "by popularity" "$amped" evaluate m.h5 best-cells.csv --of=what --exclude=hits.csv
same "a better model" "$(grep -c 'its MRR is below' out)" 0

# Errors, each in one line.
expect 2 "--of .* is missing" "$amped" evaluate m.h5 test.csv
# Cells that were known before are left out, and counted; CELLS itself excludes none of its cells.
expect 0 "^[1-9][0-9]* cells known before, because --exclude has them: left out" "$amped" evaluate m.h5 test.csv --of=what --exclude=known.csv
same "CELLS excludes none" "$("$amped" evaluate m.h5 test.csv --of=what --exclude=./test.csv | grep -c 'known before')" 0
expect 3 "has no cell to rank: files of --exclude have all of its" "$amped" evaluate m.h5 test.csv --of=what --exclude=test.h5
sed 's/$/,1/; 1s/,1$/,n/' test.csv >stars.csv
# -q keeps what was asked for, and drops notes; not if it goes to a file.
for command in "evaluate m.h5 test.csv --of=what" "similar m.h5 --for=who:a6" "recommend m.h5 --for=who:a6 --of=what" \
  "top m.h5" "compare m.h5 m.h5" "info m.h5" "predict m.h5 stars.csv --value=n --cold=predict"; do
  # shellcheck disable=SC2086
  "$amped" $command -q >quiet.txt 2>&1
  # shellcheck disable=SC2086
  "$amped" $command >loud.txt 2>&1
  same "$command -q" "$(grep -c . quiet.txt)" "$(grep -vc '^$\|its keys are\|so they are in no list\|^note: ' loud.txt)"
  # shellcheck disable=SC2086
  same "$command -q --json" "$("$amped" $command -q --json=q.json --overwrite 2>&1)" ""
done
expect 2 "is given twice, with who:a3 and who:a5; give one" "$amped" recommend m.h5 --for=who:a3 --for=who:a5 --of=what
expect 2 "is given twice" "$amped" similar m.h5 --for=who --for=what
expect 2 "is given twice" "$amped" evaluate m.h5 test.csv --of=what --of=who
expect 2 "name a tensor with --exclude" "$amped" evaluate m.h5 test.csv --of=what --for=who
expect 2 "name one mode" "$amped" evaluate m.h5 test.csv --of=what --for=what --exclude=known.csv
expect 2 "has no mode for --of=whom; its modes are who, what, when, or 1 to 3$" "$amped" evaluate m.h5 test.csv --of=whom
expect 2 "has no mode for --for=9; its modes are" "$amped" evaluate m.h5 test.csv --of=what --for=9 --exclude=known.csv
expect 2 "at-ranks=0: a list" "$amped" evaluate m.h5 test.csv --of=what --at-ranks=0
expect 2 "both standard input" "$amped" evaluate m.h5 - --of=what --exclude=- --format=csv
expect 2 "would be overwritten" "$amped" evaluate m.h5 test.csv --of=what --exclude=known.csv --json=known.csv
expect 3 "is not a result" "$amped" evaluate test.h5 test.csv --of=what
expect 3 "No such file" "$amped" evaluate m.h5 missing.csv --of=what
printf 'who,what,when\na1,b1,c9\nnobody,b2,c1\n' >cold.csv
expect 3 "cold.csv: has no cell to rank: .* mode 2 (what) .*--cold=predict" "$amped" evaluate m.h5 cold.csv --of=what
printf 'who,what,when\na1,nothing,c1\n' >none.csv
expect 3 "none.csv" "$amped" evaluate m.h5 none.csv --of=what
printf '1 1 1 1 5\n' >four.tns
expect 3 "four.tns: has 4 modes" "$amped" evaluate m.h5 four.tns --of=what
"$python" - <<'PY' || fail "large.h5"
import h5py, numpy as np
with h5py.File("large.h5", "w") as f:
    f["weights"] = np.full(2, 1e300)
    for k in range(3):
        f[f"factors/{k}"] = np.full((4, 2), 1e10)
PY
printf '1 1 1 1\n' >one.tns
expect 1 "too large to compare" "$amped" evaluate large.h5 one.tns --of=1

# Cells that the model has learnt: a warning.
awk -F, '!seen[$1, $2, $3]++' plays.csv >once.csv
expect 0 "" on 2 complete once.csv --value=n --rank=1 --reg=1 --iters=2 -o own.h5 -q --overwrite
expect 0 "warning: once.csv: is what own.h5 has learnt, so that ranks are too good" "$amped" evaluate own.h5 once.csv --value=n --of=b
{ sed -n 1p once.csv && sed 1d once.csv | sort -r; } >turned.csv
expect 0 "warning: turned.csv: is what own.h5 has learnt" "$amped" evaluate own.h5 turned.csv --value=n --of=b
head -n 9 once.csv >part.csv
expect 0 "" "$amped" evaluate own.h5 part.csv --value=n --of=b
grep -q "is what own.h5 has learnt" err && fail "other cells" || pass
# similar.
for m in m plain; do
  for n in 1 10 1000; do
    expect 0 "" "$amped" similar $m.h5 --for=what -n $n --json=all.json -o all.csv --overwrite
    reference similar $m.h5 all.json all.csv 1 $n
    expect 0 "" "$amped" similar $m.h5 --for=1 -n $n --weighted --json=all.json -o all.csv --overwrite
    reference similar $m.h5 all.json all.csv 0 $n weighted
  done
  expect 0 "^b17$" "$amped" similar $m.h5 --for=what:b17 --json=one.json --overwrite
  reference similar $m.h5 one.json - 1 10 one 17
done
expect 0 "" "$amped" similar ties.h5 --for=what:b20 -n 40 --weighted --json=one.json --overwrite
reference similar ties.h5 one.json - 1 40 weighted one 20
expect 0 "4 of 333 indices have no learnt entry, so they are in no list" "$amped" similar m.h5 --for=what -n 1 -o rest.csv
grep -q "wrote what is similar to 329 labels to rest.csv" out || fail "number of labels"
same "b7 is in no list" "$(grep -c 'b7,' rest.csv)" 0
# Components that have nearly vanished count as much as the others, which is said; not with --weighted.
for m in m plain; do
  cp $m.h5 faint.h5
  "$python" -c "import h5py
with h5py.File('faint.h5', 'a') as f:
    f['weights'][1:3] *= 1e-9
    for name in ('amped_seal',):
        f.attrs.pop(name, None)
    f['weights'].attrs.pop('amped_hash', None)" || fail "faint.h5"
  expect 0 "2 of its [37] components have less than 0.001 of the largest weight" "$amped" similar faint.h5 --for=what:b17
  expect 0 "" "$amped" similar faint.h5 --for=what:b17 --weighted
  grep -q warning err && fail "a warning with --weighted: $(cat err)" || pass
  expect 0 "" "$amped" similar $m.h5 --for=what:b17
  grep -q warning err && fail "a warning: $(cat err)" || pass
done
"$python" -c "import h5py
with h5py.File('m.h5') as f, h5py.File('faint.h5', 'w') as g:
    for name in f:
        f.copy(name, g)
    for name, value in f.attrs.items():
        if name != 'amped_seal':
            g.attrs[name] = value
    g['weights'][...] *= 1e-12
    g['weights'].attrs.pop('amped_hash', None)" || fail "faint.h5"
expect 0 "its components are almost zero, so that its cosines mean little" "$amped" similar faint.h5 --for=what:b17 --weighted
expect 0 "" "$amped" similar m.h5 --for=what -n 3 -o -
same "a table on standard output" "$(wc -l <out)" 988
expect 0 "" "$amped" similar m.h5 --for=when:c1 -n 10
same "no label is similar to itself" "$(grep -c '^  ' out)" 3
expect 2 "--for .* is missing" "$amped" similar m.h5
expect 2 "has no mode for --for=whom; its modes are" "$amped" similar m.h5 --for=whom
expect 3 "mode 1 (who) has no label a150" "$amped" similar m.h5 --for=who:a150
expect 3 "b7 of mode 2 (what) has no learnt entry" "$amped" similar m.h5 --for=what:b7
expect 2 "similar labels are written as a table; name OUT.csv" "$amped" similar m.h5 --for=who -o never.h5
expect 2 "would mix" "$amped" similar m.h5 --for=who -o - --json=-
expect 1 "exists" "$amped" similar m.h5 --for=who -o known.csv
expect 3 "is not a result" "$amped" similar test.h5 --for=who
absent never.h5
# Rows of zeros of a decomposition have no direction.
"$python" - <<'PY' || fail "zero row"
import h5py
with h5py.File("plain.h5", "a") as f:
    f["factors/0"][5] = 0
PY
expect 3 "a5 of mode 1 (who) has a row of zeros" "$amped" similar plain.h5 --for=who:a5
expect 0 "1 of 150 indices have a row of zeros, so they are in no list" "$amped" similar plain.h5 --for=who -o all.csv --overwrite
expect 0 "" on 1 test.h5 --rank=1 --iters=2 -o r1.h5 -q
expect 0 "has one component" "$amped" similar r1.h5 --for=who:a1 -n 1
# Values of cells do not count. A warning counts the cells that a model of ratings should rank low.
awk 'BEGIN {
  srand(11)
  head = "user,item,stars"
  print head >"rated.csv"
  print head >"later.csv"
  for (u = 0; u < 30; u++) for (i = 0; i < 20; i++) {
    if (rand() < 0.5) continue
    print "u" u ",i" i "," 1 + (u * i + int(2 * rand())) % 5 >(rand() < 0.8 ? "rated.csv" : "later.csv")
  }
}'
expect 0 "" on 1 complete rated.csv --value=stars --rank=2 --reg=1 --iters=3 -q -o rated.h5
mean=$("$python" -c 'import h5py; print(repr(float(h5py.File("rated.h5").attrs["mean"])))')
low=$(awk -F, -v mean="$mean" 'NR > 1 && $3 < mean' later.csv | wc -l)
test "$low" -gt 20 && pass || fail "no low ratings"
expect 0 "warning: later.csv: $low of its cells have values below" "$amped" evaluate rated.h5 later.csv --value=stars --of=item \
  --exclude=rated.csv --json=low.json
grep -q "\"low\":$low," low.json && pass || fail "low in JSON"
awk -F, 'NR == 1 || $3 >= 4' later.csv >liked.csv
expect 0 "" "$amped" evaluate rated.h5 liked.csv --value=stars --of=item --exclude=rated.csv
grep -q "have values below" err && fail "liked cells: a warning" || pass
# Cells that were known before are not ranked, whatever their values.
{ cat rated.csv && tail -n +2 liked.csv; } >both.csv
expect 0 "" "$amped" evaluate rated.h5 both.csv --value=stars --of=item --exclude=rated.csv --json=low.json --overwrite
grep -q "have values below" err && fail "cells that are left out: a warning" || pass
same "low in JSON" "$(field low low.json)" 0
expect 0 "" "$amped" evaluate rated.h5 later.csv --keys=user,item --of=item
grep -q "have values below" err && fail "cells without values: a warning" || pass
expect 0 "" on 1 complete rated.csv --value=stars --implicit=1 --rank=2 --reg=1 --iters=3 -q -o events.h5
expect 0 "" "$amped" evaluate events.h5 later.csv --value=stars --of=item
grep -q "have values below" err && fail "events: a warning" || pass
expect 0 "" on 1 cpd rated.csv --value=stars --rank=2 --nonnegative -q -o rated.cpd.h5
expect 0 "" "$amped" evaluate rated.cpd.h5 later.csv --value=stars --of=item
grep -q "have values below" err && fail "a decomposition: a warning" || pass
# A model that is its mean alone: what is left of its components is in no value, and orders nothing.
"$python" -c 'print("who,what,when"); [print(f"a{i % 20},b{i % 17},c{i % 5}") for i in range(60)]' >faint.csv
for weight in 0 1e-20 1e-90; do
  model faint.h5 5 20x17x5 2 labels
  "$python" -c 'import h5py, sys; h5py.File("faint.h5", "a")["weights"][:] = float(sys.argv[1])' $weight
  expect 0 "warning: faint.h5: its components are almost zero, so that its ranks mean little" \
    "$amped" evaluate faint.h5 faint.csv --of=what --json=faint.json --overwrite
  same "weight $weight: cells that tie" "$(field tied faint.json)" 60
  same "weight $weight: MRR, of the middle rank" "$(sed -n 's/.*"mrr":\([0-9.]*\).*/\1/p' faint.json | cut -c 1-8)" 0.111111
done
finish
