#!/bin/sh
# compare: a model found again from another start; its table, its JSON lines, and its errors.
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
expect 0 '"components_a":5,"components_b":3,"matched":3' "$amped" compare five.h5 s1.h5 --json=-

"$amped" generate u.h5 --dims=8x7x9 --nnz=100 --seed=2 -q || fail "generate"
expect 0 "" on 1 u.h5 --rank=3 --iters=1 -o u.cpd.h5 -q
expect 3 "mode 2 has 6 indices" "$amped" compare s1.h5 u.cpd.h5
expect 3 "t.h5" "$amped" compare s1.h5 t.h5
expect 3 "missing.h5" "$amped" compare missing.h5 s1.h5
expect 2 "missing" "$amped" compare s1.h5
expect 2 "overwritten" "$amped" compare s1.h5 s2.h5 --json=s2.h5
finish
