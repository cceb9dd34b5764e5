#!/bin/sh
# recommend: the best of a mode against a sort in numpy; labels; what was seen; ties; outputs; errors.
. "$(dirname "$0")/../lib/lib.sh"
needs_python
here=$(cd "$(dirname "$0")" && pwd)
cd "$scratch" || exit 99
PYTHONDONTWRITEBYTECODE=1
export PYTHONDONTWRITEBYTECODE

model() { "$python" "$here/model_file.py" write "$@" || fail "model_file.py $*"; }
reference() { expect 0 "" "$python" "$here/recommend_reference.py" "$@"; }

# Several blocks of targets, several tiles, a last one that is not full; one item; all items.
model m.h5 1 150x333x5 7 biased labels
model plain.h5 2 150x333x5 3 labels plain
for m in m plain; do
  for n in 1 10 333 1000; do
    expect 0 "" "$amped" recommend $m.h5 --for=who --of=what -n $n --json=all.json -o all.csv --overwrite
    reference $m.h5 all.json all.csv 0 1 $n
  done
  expect 0 "" "$amped" recommend $m.h5 --for=2 --of=who --at=when:c3 -n 4 --json=at.json -o at.csv --overwrite
  reference $m.h5 at.json at.csv 1 0 4 at 2 3
  expect 0 "^a17$" "$amped" recommend $m.h5 --for=who:a17 --of=3 --at=2:b200 --json=one.json --overwrite
  reference $m.h5 one.json - 0 2 10 at 1 200 one 17
done
same "columns" "$(head -n 1 at.csv)" "what,rank,who,value"
expect 0 "" "$amped" recommend m.h5 --for=who --of=what --json=one.json -o one.csv --threads=1 --overwrite
expect 0 "" "$amped" recommend m.h5 --for=who --of=what --json=three.json -o three.csv --threads=3
expect 0 "" cmp one.csv three.csv
expect 0 "" "$amped" recommend m.h5 --for=who:a3 --of=what -n 3 -o -
same "a table on standard output" "$(wc -l <out)" 4

# Lines for readers: the label, then its best.
expect 0 "" "$amped" recommend m.h5 --for=who:a3 --of=what -n 2
cp out lines.txt
expect 0 "" "$amped" recommend m.h5 --for=who:a3 --of=what -n 2 --json=- -q
same "lines" "$(awk 'NR > 1 { print $3 }' lines.txt | tr '\n' ' ')" \
  "$(grep -o '"label": *"b[0-9]*"' out | tr -d '"' | sed 's/.*: *//' | tr '\n' ' ')"

# What was seen, whatever its other indices; labels that the model lacks do not count.
awk 'BEGIN {
  print "who,what,when"
  print "a1,b1,c1"; print "nobody,b1,c1"; print "a2,nothing,c9"
  for (i = 0; i < 5000; i++) printf "a%d,b%d,c%d\n", i * 7 % 150, i * i % 333, i % 5
  for (i = 0; i < 333; i++) printf "a9,b%d,c0\n", i
}' >seen.csv
expect 0 "" "$amped" recommend m.h5 --for=who --of=what --exclude=seen.csv --json=seen.json -o rest.csv
reference m.h5 seen.json rest.csv 0 1 10 seen seen.csv
same "all was seen" "$(grep -c '^a9,' rest.csv)" 0
expect 0 "1 label without a recommendation: nothing is left for it" "$amped" recommend m.h5 --for=who:a9 --of=what --exclude=seen.csv
expect 0 "" "$amped" convert seen.csv seen.h5 -q
expect 0 "" "$amped" recommend m.h5 --for=who:a5 --of=what --exclude=seen.h5 --json=list.json
reference m.h5 list.json - 0 1 10 seen seen.csv one 5

# Several tensors: what any of them has; tables beside a tensor file, to which options of tables do not apply.
sed -n '1p;2,2000p' seen.csv >part1.csv
{ head -n 1 seen.csv && sed -n '2001,$p' seen.csv; } | sed 's/$/,1/; 1s/,1$/,n/' >part2.csv
expect 0 "" "$amped" convert part1.csv part1.h5 -q
expect 0 "" "$amped" recommend m.h5 --for=who --of=what --exclude=part1.h5 --exclude=part2.csv --value=n -o parts.csv
expect 0 "" cmp parts.csv rest.csv
expect 2 "part1.csv: is named twice with --exclude; leave out one" "$amped" recommend m.h5 --for=who --of=what --exclude=part1.csv --exclude=./part1.csv
expect 2 "part1.csv: is an input of this run" "$amped" recommend m.h5 --for=who --of=what --exclude=seen.h5 --exclude=part1.csv -o part1.csv --overwrite

# With --at, what was seen at these labels alone, as the known tails of a head and a relation; a line counts the rest.
expect 0 "seen.csv: [0-9]* of its 5336 entries have other labels than --at, and exclude nothing" \
  "$amped" recommend m.h5 --for=who --of=what --at=when:c1 --exclude=seen.csv --json=seen_at.json -o rest_at.csv
reference m.h5 seen_at.json rest_at.csv 0 1 10 at 2 1 seen seen.csv
expect 0 "" "$amped" recommend m.h5 --for=when --of=who --at=what:b7 -n 1000 --exclude=part2.csv --exclude=part1.h5 --value=n --json=heads.json
reference m.h5 heads.json - 2 0 1000 at 1 7 seen seen.csv
printf 'who,what,when\na1,b3,c0\nnobody,b3,c1\n' >part3.csv
expect 0 "warning: part3.csv: 1 of its 2 entries have other" "$amped" recommend m.h5 --for=who:a1 --of=what --at=when:c1 --exclude=part3.csv

# A state has a sample of its cells: the message names what to give instead, whatever the state is called.
expect 0 "" on 1 complete part2.csv --value=n --duplicates=mean --rank=1 --reg=1 --iters=2 --state=s.state --nowrite -q
expect 3 "s.state: is the state of a stream, which keeps sums .* 1 batch instead, with an --exclude for each; the first is part2.csv" \
  "$amped" recommend m.h5 --for=who --of=what --exclude=seen.h5 --exclude=s.state
expect 0 "" cp s.state s.h5
expect 3 "s.h5: is the state of a stream" "$amped" recommend m.h5 --for=who --of=what --exclude=s.h5
# convert names the way to its model, whatever the file is called.
cp s.h5 bare
for state in s.state s.h5 bare; do
  expect 3 "$state: is the state of a stream, not a tensor; amped_mpi stream $state -o RESULT.h5 writes its model" "$amped" convert $state never.csv
done
expect 3 "s.h5: is the state of a stream, not a tensor; name a tensor file" "$amped" cpd s.h5 --nowrite

# Ties: equal rows, far from each other, have equal values, and come by index.
cat >ties.py <<'PY'
import h5py, numpy as np
rng = np.random.default_rng(3)
with h5py.File("ties.h5", "w") as f:
    f["weights"] = np.ones(5)
    f["factors/0"] = rng.standard_normal((3, 5))
    f["factors/1"] = rng.standard_normal((7, 5))[np.arange(1000) % 7]
    f["factors/2"] = rng.standard_normal((2, 5))
PY
"$python" ties.py || fail "ties.py"
expect 0 "" "$amped" recommend ties.h5 --for=1:2 --of=2 -n 200 --json=ties.json
reference ties.h5 ties.json - 0 1 200 one 1

# Names of modes and labels with colons; indices where there are no labels.
printf 'a:b,c,d,n\nx:y,p:1,q,1\nz,p:2,q,5\n' >colons.csv
expect 0 "" "$amped" convert colons.csv colons.h5 --value=n -q
expect 0 "" on 1 colons.h5 --rank=1 --iters=4 -q
expect 0 "p:2" "$amped" recommend colons.cpd.h5 --for=a:b:x:y --of=c --at=d:q -n 1

# Components that are almost zero: a line says that all lists are the same.
awk 'BEGIN { srand(4); print "a,b,c,n"; for (i = 1; i <= 300; i++)
  printf "a%d,b%d,c%d,%.3f\n", rand() * 20, rand() * 15, rand() * 4, rand() }' >noise.csv
for reg in 1000 0.01; do
  expect 0 "" on 1 complete noise.csv --value=n --rank=2 --reg=$reg --iters=3 --bias=full --duplicates=mean -o $reg.h5 -q
  expect 0 "" "$amped" recommend $reg.h5 --for=a --of=b -n 1
  same "components of --reg=$reg" "$(grep -c 'components are almost zero: biases alone rank, so that all lists' err)" "$(test $reg = 1000 && echo 1 || echo 0)"
done

# Errors, each in one line.
expect 2 "--for .* or --of .* is missing" "$amped" recommend m.h5
expect 2 "--for .* or --of .* is missing" "$amped" recommend m.h5 --for=who
expect 2 "has no mode for --for=whom; its modes are who, what, when, or 1 to 3$" "$amped" recommend m.h5 --for=whom --of=what
expect 2 "has no mode for --of=4" "$amped" recommend m.h5 --for=who --of=4
expect 2 "name one mode" "$amped" recommend m.h5 --for=who --of=1
expect 2 "named twice" "$amped" recommend m.h5 --for=who --of=what --at=what:b1
expect 2 "named twice" "$amped" recommend m.h5 --for=who --of=what --at=when:c1 --at=3:c2
expect 2 "MODE:LABEL" "$amped" recommend m.h5 --for=who --of=what --at=when
expect 2 "has no mode for --at" "$amped" recommend m.h5 --for=who --of=what --at=whence:c1
expect 3 "m.h5: --for: mode 1 (who) has no label a150" "$amped" recommend m.h5 --for=who:a150 --of=what
expect 3 "m.h5: --at: mode 3 (when) has no label c9" "$amped" recommend m.h5 --for=who:a1 --of=what --at=when:c9
expect 3 "ties.h5: --for: mode 1 has no index 4; its indices are 1 to 3" "$amped" recommend ties.h5 --for=1:4 --of=2
for count in 0 1000000000; do
  expect 2 "a whole number from 1 to 1000000 is expected" "$amped" recommend m.h5 --for=who --of=what -n $count
done
expect 2 "for=: a mode, or MODE:LABEL, is expected" "$amped" recommend m.h5 --for= --of=what
expect 2 "of=: a mode's name or number is expected" "$amped" recommend m.h5 --for=who --of=
expect 2 "options for reading" "$amped" recommend m.h5 --for=who --of=what --value=n
expect 2 "name OUT.csv" "$amped" recommend m.h5 --for=who --of=what -o never.h5
expect 2 "would mix" "$amped" recommend m.h5 --for=who --of=what -o - --json=-
expect 2 "would be overwritten" "$amped" recommend m.h5 --for=who --of=what --exclude=seen.csv -o seen.csv --overwrite
expect 1 "exists" "$amped" recommend m.h5 --for=who --of=what -o rest.csv
expect 3 "is not a result" "$amped" recommend seen.h5 --for=who --of=what
expect 3 "No such file" "$amped" recommend m.h5 --for=who --of=what --exclude=missing.csv
printf '1 1 1 1 5\n' >four.tns
# --exclude-any: what is excluded whatever the month; the list is that of the same values without what the tensor
# has for the label in any month.
awk -F, '{ print $1 "," $2 "," $3 }' seen.csv >pairs.csv
for what in "--exclude-any=when" "--exclude-any=3"; do
  expect 0 "" "$amped" recommend m.h5 --for=who --of=what --at=when:c1 --exclude=seen.csv $what -n 1000 -o any.csv --overwrite
  same "$what: nothing that was seen in any month" "$(awk -F, 'NR == FNR { seen[$1 "," $2] = 1; next } FNR > 1 && ($1 "," $3) in seen' pairs.csv any.csv | wc -l)" 0
done
expect 0 "" "$amped" recommend m.h5 --for=who --of=what --at=when:c1 -n 1000 -o all.csv --overwrite
awk -F, 'NR == FNR { seen[$1 "," $2] = 1; next } FNR == 1 { next } !(($1 "," $3) in seen) { print $1 "," $3 "," $4 }' pairs.csv all.csv >want.txt
awk -F, 'NR > 1 { print $1 "," $3 "," $4 }' any.csv >got.txt
expect 0 "" cmp want.txt got.txt
expect 2 "no --at fixes a label of mode 3 (when)" "$amped" recommend m.h5 --for=who --of=what --exclude=seen.csv --exclude-any=when
expect 2 "no mode month" "$amped" recommend m.h5 --for=who --of=what --at=when:c1 --exclude=seen.csv --exclude-any=month
expect 2 "is about the tensors of --exclude" "$amped" recommend m.h5 --for=who --of=what --at=when:c1 --exclude-any=when

# A table with a column too many, which has an empty cell: the columns are to be named, not rows to be left out.
{ echo who,what,when,stars; echo a1,b1,c1,4; echo a2,b2,c1,; } >gap.csv
expect 3 'gap.csv: line 3: column "stars": the key is empty; the table has 4 keys, but the other file has 3 modes: .* --keys' \
  "$amped" recommend m.h5 --for=who --of=what --exclude=gap.csv
expect 0 "" "$amped" recommend m.h5 --for=who:a1 --of=what --exclude=gap.csv --keys=who,what,when
{ echo who,what,when; echo a1,b1,c1; echo a2,,c1; } >gap.csv
expect 3 'column "what": the key is empty; fill it in' "$amped" recommend m.h5 --for=who --of=what --exclude=gap.csv
expect 3 "four.tns: has 4 modes" "$amped" recommend m.h5 --for=who --of=what --exclude=four.tns
absent never.h5
# As text, a blank line parts two labels, and nothing else.
printf 'user,item,week,stars\nU1,a,1,5\nU1,b,1,3\nU2,a,1,1\nU2,b,2,4\nU3,a,2,2\n' >lists.csv
expect 0 "" "$amped" complete lists.csv --value=stars --rank=1 --reg=1 --holdout=0 --iters=5 -o lists.h5 -q
expect 0 "" "$amped" recommend lists.h5 --for=user --of=item -n 1 -q
same "labels of a text" "$("$amped" recommend lists.h5 --for=user --of=item -n 1 | grep -v '^ ' | tr '\n' '|')" "U1||U2||U3|"
# Labels of which all is excluded are counted.
expect 0 "for 1 label to left.csv" "$amped" recommend lists.h5 --for=user --of=item --exclude=lists.csv --value=stars -o left.csv
expect 0 "2 labels without a recommendation" "$amped" recommend lists.h5 --for=user --of=item --exclude=lists.csv --value=stars -o left.csv --overwrite

# A label that the user names, and of which nothing was learnt: the list is of an average one, as a line says.
awk 'BEGIN { print "user,item,day,v"; for (u = 1; u < 9; u++) for (i = 1; i < 7; i++) print "u" u ",i" i ",d" (u + i) % 3 "," u * i % 5 "," 1
  print "stranger,i1,d1,3,0"; print "u1,i1,late,3,0" }' | sed '1s/$/,w/' >weighted.csv
expect 0 "" on 1 complete weighted.csv --value=v --weights=w --rank=1 --reg=1 --iters=3 --holdout=0 -o weighted.h5
expect 0 "warning: weighted.h5: stranger of mode 1 (user) has no learnt entry; the list is that of an average one" \
  "$amped" recommend weighted.h5 --for=user:stranger --of=item
expect 0 "warning: weighted.h5: late of mode 3 (day) has no learnt entry" "$amped" recommend weighted.h5 --for=user:u2 --of=item --at=day:late
expect 0 "warning: weighted.h5: 1 of 9 labels of mode 1 (user) have no learnt entry; their lists are that of an average one" \
  "$amped" recommend weighted.h5 --for=user --of=item
expect 0 "u2" "$amped" recommend weighted.h5 --for=user:u2 --of=item --at=day:d1
same "warnings of learnt labels" "$(grep -c 'no learnt entry;' err)" 0

# In a model of --implicit, too: u7's only entry is held out. Its list is the average one, not the first items with a value of 0.
{ echo user,item,plays; for u in 1 2 3 4 5 6; do echo "u$u,i1,3"; echo "u$u,i2,2"; done; echo u7,i3,5; echo u1,i3,1; echo u2,i3,1; } >plays.csv
expect 0 "" "$amped" complete plays.csv --value=plays --implicit=1 --rank=2 --reg=0.1 --holdout=0.3 -o plays.h5 --json=plays.json
cp out plays.out
if h5dump -d /observed/0 plays.h5 2>/dev/null | grep -q '1, 1, 1, 1, 1, 1, 0'; then
  expect 0 "1 of them have a label without a learnt entry (1 user): the ndcg has the prior in its row" cat plays.out
  same "unlearnt entries" "$(grep -c '"unlearnt":1,' plays.json)" 1
  expect 0 "warning: plays.h5: u7 of mode 1 (user) has no learnt entry; the list is that of an average one" \
    "$amped" recommend plays.h5 --for=user:u7 --of=item -n 1 -o play1.csv
  printf 'user,item\nnobody,i1\nu7,i1\nu7,i2\n' >strangers.csv
  expect 0 "3 of these cells have an index that the model does not know" "$amped" predict plays.h5 strangers.csv --cold=predict -o values.csv
  same "values of two strangers" "$(sed -n 's/^nobody,i1,//p' values.csv)" "$(sed -n 's/^u7,i1,//p' values.csv)"
  "$amped" recommend plays.h5 --for=user --of=item -n 2 -o play2.csv -q || fail "recommend"
  same "list of a stranger" "$(sed -n 's/^u7,1,\(.*\),.*/\1/p' play2.csv)" "$(awk -F, '$1 == "u7" && $3 > most { most = $3; best = $2 } END { print best }' values.csv)"
  printf 'user,item\nu7,i1\nu1,i3\n' >cells.csv
  expect 0 "1 of 2 cells of cells.csv are ranked" "$amped" evaluate plays.h5 cells.csv --of=item
fi

# A model whose values are not finite has no list.
"$python" - <<'END' || fail "beyond.h5"
import h5py, numpy as np
with h5py.File('beyond.h5', 'w') as f:
    f['weights'] = np.ones(2)
    f['factors/0'] = np.array([[1e200, 1e200]])
    f['factors/1'] = np.array([[1e200, 1e200], [1e200, -1e200], [1.0, 1.0]])
END
expect 1 "beyond.h5: a value of the model is not finite; its factors are too large" "$amped" recommend beyond.h5 --for=1 --of=2 -o beyond.csv
absent beyond.csv
finish
