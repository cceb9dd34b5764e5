#!/bin/sh
# compare: a model found again from another start, or with its rows in another order; its table, its
# JSON lines, and its errors.
. "$(dirname "$0")/../lib/lib.sh"
cd "$scratch" || exit 99

# All entries of a tensor of three components: every start finds these components and no others.
awk 'BEGIN {
  for (i = 1; i <= 8; i++) for (j = 1; j <= 7; j++) for (k = 1; k <= 6; k++) {
    x = 0
    for (r = 1; r <= 3; r++) x += (1 + sin(r * i * i)) * (1 + cos(r + j * j)) * (1 + sin(r * k + 1))
    print i, j, k, x
  }
}' >t.tns
expect 0 "" "$amped" convert t.tns t.h5 -q
for seed in 1 2; do
  expect 0 "" on 2 t.h5 --rank=3 --iters=300 --tol=0 --precision=double --seed=$seed -o s$seed.h5 -q
done
expect 0 "factor match score 1.000000" "$amped" compare s1.h5 s1.h5 --json=same.json
same "score of a result with itself" "$(field matched same.json)" 3
close "score of a result with itself" "$(field score same.json)" 1 1e-12
expect 0 "" "$amped" compare s1.h5 s2.h5 --json=starts.json
close "score of two starts" "$(field score starts.json)" 1 1e-3
same "lines" "$(grep -c '"event":"match"' starts.json)" 3

expect 0 "" on 1 t.h5 --rank=5 --iters=2 -o five.h5 -q
expect 0 "2 components of B have no partner" "$amped" compare s1.h5 five.h5
expect 0 '"components_a":5,.*"components_b":3,.*"matched":3' "$amped" compare five.h5 s1.h5 --json=-

"$amped" generate u.h5 --dims=8x7x9 --nnz=100 --seed=2 -q || fail "generate"
expect 0 "" on 1 u.h5 --rank=3 --iters=1 -o u.cpd.h5 -q
expect 3 "^amped_mpi: s1.h5, u.cpd.h5: mode 3 has 6 indices in A and 9 in B" "$amped" compare s1.h5 u.cpd.h5
expect 3 "t.h5" "$amped" compare s1.h5 t.h5
expect 3 "missing.h5" "$amped" compare missing.h5 s1.h5
expect 2 "missing" "$amped" compare s1.h5
expect 2 "overwritten" "$amped" compare s1.h5 s2.h5 --json=s2.h5

# Components have their numbers of top, although the columns of few large entries weigh less than
# others where every column has the same largest entry.
"$amped" generate skewed.h5 --dims=300x200x6 --nnz=900 --skew=1 --seed=5 -q || fail "generate"
expect 0 "" on 1 skewed.h5 --rank=8 --iters=6 --tol=0 -o skewed.cpd.h5 -q
"$amped" top skewed.cpd.h5 -n 1 | sed -n 's/^component \([0-9]*\) of 8, weight \(.*\)/\1 \2/p' >of_top
"$amped" compare skewed.cpd.h5 skewed.cpd.h5 | awk '$1 == $2 && $5 == "1.000000" { print $1, $3 }' >of_compare
same "numbers and weights" "$(cat of_compare)" "$(cat of_top)"
same "eight components" "$(wc -l <of_compare)" 8
expect 0 "no labels" "$amped" compare s1.h5 s2.h5

# The same tensor as two tables, whose rows come in other orders: labels tell which rows are meant.
awk '$1 != "#" { printf "a%s,b%s,c%s,%s\n", $1, $2, $3, $4 }' t.tns >rows.txt
{ echo who,what,when,n; cat rows.txt; } >up.csv
{ echo who,what,when,n; sort -t, -k3,3r -k1,1r -k2,2r rows.txt; } >down.csv
for t in up down; do
  expect 0 "" "$amped" convert $t.csv $t.h5 --value=n -q
  expect 0 "" on 1 $t.h5 --rank=3 --iters=300 --tol=0 --precision=double -o $t.cpd.h5 -q
done
expect 0 "mode 1 (who): by labels, 8 shared" "$amped" compare up.cpd.h5 down.cpd.h5 --json=labels.json
close "score of rows in another order" "$(field score labels.json)" 1 1e-3
same "modes by labels" "$(grep -o '"by":"labels"' labels.json | wc -l)" 3
expect 0 "mode 2 (what): by index, because B has no labels" "$amped" compare up.cpd.h5 s1.h5
expect 0 "mode 3 (when): by index, because A has no labels" "$amped" compare s1.h5 up.cpd.h5

# Labels that one of the two lacks are rows of zeros there; without a shared label there is nothing
# to compare.
grep -v '^a8,' up.csv >fewer.csv
sed 's/,b/,x/' up.csv >other.csv
for t in fewer other; do
  expect 0 "" "$amped" convert $t.csv $t.h5 --value=n -q
  expect 0 "" on 1 $t.h5 --rank=3 --iters=300 --tol=0 --precision=double -o $t.cpd.h5 -q
done
expect 0 "mode 1 (who): by labels, 7 shared, 1 only in A" "$amped" compare up.cpd.h5 fewer.cpd.h5 --json=less.json
same "a score" "$(awk -v s="$(field score less.json)" 'BEGIN { print (s > 0.5 && s < 1) }')" 1
# A model and its negative have the same score; a warning names the signs. Two columns turned are the same model.
expect 0 "" "$amped" compare up.cpd.h5 up.cpd.h5
same "warnings" "$(grep -c 'opposite signs' err)" 0
awk -F, -v OFS=, 'NR > 1 { $NF = -$NF } { print }' up.csv >minus.csv
expect 0 "" "$amped" convert minus.csv minus.h5 --value=n -q
expect 0 "" on 1 minus.h5 --rank=3 --iters=300 --tol=0 --precision=double -o minus.cpd.h5 -q
expect 0 "warning: 3 of 3 pairs have opposite signs" "$amped" compare up.cpd.h5 minus.cpd.h5
expect 3 "^amped_mpi: up.cpd.h5, other.cpd.h5: mode 2 (what): A and B share none of their labels" "$amped" compare up.cpd.h5 other.cpd.h5
# Weights of completion models are in the units of the values: a planted model is found, and twenty times the values are no equal model.
expect 0 "" "$amped" generate seen.h5 --dims=20x18x15 --planted=2 --observed=0.4 --factor-mean=1 --seed=3 -q
expect 0 "" "$amped" complete seen.h5 --rank=2 --bias=none --reg=1e-6 --iters=500 --precision=double -q -o seen.completion.h5
expect 0 "" "$amped" compare seen.completion.h5 seen.planted.h5
awk -v x="$(sed -n 's/^factor match score \([0-9.]*\).*/\1/p' "$scratch/out")" 'BEGIN { exit !(x > 0.99999) }' && pass || fail "a completion and its planted model"
"$amped" convert seen.h5 seen.tns -q
awk '/^#/ { print; next } { $4 *= 20; print }' seen.tns >twenty.tns
expect 0 "" "$amped" complete twenty.tns --rank=2 --bias=none --reg=1e-6 --iters=500 --precision=double -q -o twenty.completion.h5
expect 0 "" "$amped" compare seen.completion.h5 twenty.completion.h5
close "20 times the values" "$(sed -n 's/^factor match score \([0-9.]*\).*/\1/p' "$scratch/out")" 0.05 1e-5
# top, info and convert report these weights, too.
weight=$("$amped" convert seen.completion.h5 seen.csv -q && sed -n 's/^1,//p' seen.weights.csv)
for command in top info; do
  expect 0 "$(printf '%.6s' "$weight")" "$amped" $command seen.completion.h5
done
expect 0 "" "$amped" complete seen.h5 --rank=2 --reg=1 --iters=5 -q -o biased.h5
expect 0 "note: the score is about components; means and biases are not compared" "$amped" compare biased.h5 seen.planted.h5
# Components that are zero in both models say nothing of the others: models without a cell in common have score 0.
for part in 0 3; do
  awk -v part=$part 'BEGIN { for (i = 1; i <= 3; i++) for (j = 1; j <= 3; j++) for (k = 1; k <= 3; k++) print i + part, j + part, k + part, i + j * k }' >part$part.tns
  expect 0 "" "$amped" cpd part$part.tns --dims=6x6x6 --rank=4 --nonnegative --l1=0.5 --iters=100 -o part$part.h5 -q
done
expect 0 "factor match score 0.000000 (0.000000 without weights)" "$amped" compare part0.h5 part3.h5
grep -q "pairs* of zero components takes* no part in the score" out && pass || fail "no line of zero components"
# Models that are zero say nothing at all.
expect 0 "" "$amped" generate zeros.h5 --dims=8x7x6 --nnz=60 --seed=3 -q
expect 0 "has become zero" "$amped" cpd zeros.h5 --rank=3 --l1=50 --iters=5 -o zeros.cpd.h5
expect 0 "no factor match score: all components are zero" "$amped" compare zeros.cpd.h5 zeros.cpd.h5 --json=zeros.json
same "score in JSON" "$(grep -o '"score":null' zeros.json | head -n 1)" '"score":null'
expect 0 "factor match score of two starts: none, because all components are zero" "$amped" cpd zeros.h5 --rank=3 --l1=50 --starts=2 --iters=5 --nowrite
expect 0 "its components are zero, so that its lists mean nothing; decompose with a smaller penalty" "$amped" recommend zeros.cpd.h5 --for=1:1 --of=2
finish
