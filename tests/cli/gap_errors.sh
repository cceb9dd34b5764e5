#!/bin/sh
# The errors that complete expects in gaps: in the result, against numpy; as warnings of complete and
# predict; in JSON. Held-out errors do not cover such gaps.
. "$(dirname "$0")/../lib/lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
cd "$scratch" || exit 99
needs_python
reference() { "$python" "$here/gap_errors.py" "$@"; }
reference make || exit 99
fit="--rank=2 --reg=0.01 --iters=60 --holdout=0 --precision=double --seed=3 -q"

# Each index's expected error is numpy's, on one rank and on three, with biases and with weights.
for ranks in 1 3; do
  # shellcheck disable=SC2086
  {
    expect 0 "" on $ranks complete gaps.npy --bias=none $fit -o plain$ranks.h5
    expect 0 "" reference check plain$ranks.h5 gaps.npy
    expect 0 "" on $ranks complete lost.npy --bias=full $fit -o biased$ranks.h5
    expect 0 "" reference check biased$ranks.h5 lost.npy
  }
done
# shellcheck disable=SC2086
{
  expect 0 "" on 1 complete gaps.npy --weights=weights.npy --bias=none $fit -o weighted.h5
  expect 0 "" reference check weighted.h5 gaps.npy weights.npy
}

# The indices of the made-up gaps are named, by complete and by predict, and no others.
same "indices of mode 2" "10 11 12" "$(reference unsure plain1.h5 1)"
same "indices of mode 1" "" "$(reference unsure plain1.h5 0)"
same "indices of mode 3" "" "$(reference unsure plain1.h5 2)"
# shellcheck disable=SC2086
expect 0 "known cells of 3 of 12 indices of mode 2 (b) do not determine their gaps: expect rmse" \
  on 1 complete gaps.npy --modes=a,b,c --bias=none $fit -o named.h5 --json=gaps.json
expect 0 '"mode":1,"lost":0,"unsure":3' cat gaps.json
expect 0 '"mode":0,"lost":0,"unsure":0,"rmse":null' cat gaps.json
expect 0 "training error does not cover such gaps" on 1 complete gaps.npy --bias=none --rank=2 \
  --reg=0.01 --iters=60 --holdout=0 --seed=3 --nowrite
expect 0 "held-out error does not cover such gaps" on 1 complete gaps.npy --bias=none --rank=2 \
  --reg=0.01 --iters=60 --holdout-by=2,3 --seed=3 --nowrite
expect 0 "known cells of 3 of 12 indices of mode 2 (b) do not determine their gaps: expect rmse" \
  "$amped" predict named.h5 -o full.npy --observed=gaps.npy --json=array.json
expect 0 '"mode":1,"unsure":3' cat array.json
printf 'a,b,c\n1,1,1\n1,12,1\n2,11,2\n' >cells.csv
expect 0 "2 of 3 cells have an index whose known cells do not determine its gaps; mode 2 (b)" \
  "$amped" predict named.h5 cells.csv -o values.csv --json=cells.json
same "unsure cells" 2 "$(field unsure cells.json)"
finish_on_gpus

# A higher penalty does not make them known; cells there do.
expect 0 "known cells of 3 of 12 indices of mode 2 do not" on 1 complete gaps.npy --bias=none \
  --rank=2 --reg=0.02 --iters=60 --holdout=0 --seed=3 --nowrite
silent() {
  expect 0 "" "$@"
  if grep -q "determine" out err; then fail "an unsure gap: $*"; else pass; fi
}
silent on 1 complete lost.npy --bias=none --rank=2 --reg=0.01 --iters=60 --holdout=0 --seed=3 --nowrite

# Indices without a known cell: a line names them, and the way to measure their error.
expect 0 "2 of 14 indices of mode 1 have no known cell (the first: 5) and count as the mean" \
  on 1 complete lost.npy --bias=none --rank=2 --reg=0.01 --iters=9 --nowrite --json=lost.json
expect 0 '"mode":0,"lost":2,"unsure":0' cat lost.json
expect 0 "and give these with --test=FILE" on 1 complete lost.npy --rank=2 --iters=9 --nowrite

"$python" -c 'import numpy as np; w = np.where(np.isnan(np.load("gaps.npy")), np.nan, 1.0); w[3] *= 0; np.save("without.npy", w)'
expect 0 "1 of 14 indices of mode 1 have no known cell of a weight above 0 (the first: 4)" \
  on 1 complete gaps.npy --weights=without.npy --rank=2 --reg=1 --holdout=0 --iters=9 --nowrite
expect 2 "give their cells with --test=FILE" on 1 complete lost.npy --holdout-by=1 --nowrite

# The error covers indices whose entries are all held out, or that --validate has: the warning leaves them out.
awk 'BEGIN { print "user,item,r"; for (u = 0; u < 60; u++) print "u" u ",i" u % 5 "," u % 5 + 1 }' >single.csv
printf '5 1 1 2\n5 2 1 1\n1 1 1 1\n' >lost.tns
single="--value=r --rank=1 --reg=1 --iters=9 --nowrite"
for ranks in 1 3; do
  # shellcheck disable=SC2086
  {
    expect 0 "15 of them have a label without a learnt entry (15 user)" on $ranks complete single.csv $single --holdout=30% --json=held.json --overwrite
    grep -q "no known cell" out err && fail "a warning of held-out users" || pass
    expect 0 '"mode":0,"lost":15' cat held.json
    expect 0 "1 of 14 indices of mode 1 have no known cell (the first: 6)" on $ranks complete lost.npy --rank=2 --iters=9 --nowrite --validate=lost.tns
    expect 0 "2 of 14 indices of mode 1 .* training error does not cover them; the test error covers 1 of them" \
      on $ranks complete lost.npy --rank=2 --iters=9 --reg=1 --nowrite --holdout=0 --test=lost.tns
  }
done

# convert and plot show the mean of the other rows for such an index, with its bias.
expect 0 "mode 1: 2 of 14 indices have no learnt entry; their rows are the mean of the others" \
  "$amped" convert biased1.h5 rows.csv
expect 0 "" reference means rows.csv
expect 0 "" "$amped" convert biased1.h5 rows.npy
expect 0 "" "$amped" predict biased1.h5 -o values.npy --type=double
expect 0 "" reference arrays rows values.npy
if command -v gnuplot >/dev/null; then
  expect 0 "mode 1: 2 of 14 indices have no learnt entry" "$amped" plot biased1.h5 -o rows.svg
fi

# Whole arrays, sparse tensors and --implicit have no gaps to measure.
expect 0 "" on 1 complete filled.npy --rank=2 --iters=3 -o filled.h5 --json=filled.json
expect 0 '"gaps":null' cat filled.json
printf '1 1 1 2\n2 3 4 1\n9 9 9 3\n5 6 7 1\n2 2 2 5\n' >sparse.tns
expect 0 "" on 1 complete sparse.tns --rank=1 --reg=1 --iters=3 --holdout=0 --nowrite --json=sparse.json
expect 0 '"gaps":null' cat sparse.json
printf '1 1 1 2\n1 2 1 1\n2 1 2 3\n2 2 1 1\n' >events.tns
expect 0 "" on 1 complete events.tns --rank=1 --reg=1 --iters=3 --holdout=0 --implicit=1 --nowrite --json=events.json
expect 0 '"gaps":null' cat events.json

# The table of several R has no columns that complete never fills.
expect 0 "R        rmse  sweeps  stopped on    seconds  file" on 1 complete gaps.npy --rank=1,2 --iters=3 \
  --nowrite -q
# Held-out entries at rows that nothing was learnt of, on ranks whose rows are not shared out evenly: a mode has more
# positions than indices. Counts by position wrote behind their array.
cat >uneven.tns <<'T'
3 1 10 -0.54
3 3 2 -0.26
1 4 2 1.00
2 5 11 -0.60
2 3 9 1.46
2 3 1 -0.02
2 1 12 3.31
1 3 2 -0.14
3 4 5 -0.81
3 1 1 2.12
2 1 5 0.30
1 1 8 0.18
3 3 10 -1.50
2 1 10 0.88
2 3 6 -0.25
3 2 5 0.28
1 2 4 -0.87
3 4 11 -0.34
2 3 4 0.11
T
head -n 12 uneven.tns >learnt.tns
tail -n 7 uneven.tns >judged.tns
lost() { grep -o '[0-9]* of [0-9]* indices of mode [0-9] have no known cell (the first: [0-9]*)' err; }
for judge in "uneven.tns --holdout=20%" "uneven.tns --holdout=40%" "learnt.tns --holdout=0 --validate=judged.tns" \
  "learnt.tns --holdout=0 --test=judged.tns"; do
  run="complete $judge --dims=3x5x13 --rank=3 --reg=1 --iters=5 --nowrite -q"
  # shellcheck disable=SC2086
  expect 0 "" on 1 $run
  alone=$(lost)
  for ranks in 2 3 4 2 3 4; do
    for placement in block greedy; do
      # shellcheck disable=SC2086
      expect 0 "" on $ranks $run --placement=$placement
      same "$judge, $ranks ranks, $placement: indices without a known cell" "$(lost)" "$alone"
    done
  done
done
# Cells of weight 0 are gaps, also in a whole array. Held-out cells, and cells of small weights, are none.
awk 'BEGIN { srand(3); for (i = 1; i <= 12; i++) for (j = 1; j <= 9; j++) for (k = 1; k <= 5; k++)
  print i, j, k, sprintf("%.4f", sin(i) * cos(2 * j) + cos(i * i) * sin(j + k) * k + 0.01 * rand()) }' >whole.tns
awk '{ print $1, $2, $3, $1 == 7 || ($1 == 4 && $2 > 1) ? 0 : ($1 == 2 ? 0.001 : 1) }' whole.tns >mask.tns
awk 'NR == FNR { w[FNR] = $4; next } w[FNR] > 0' mask.tns whole.tns >holes.tns
run="--dims=12x9x5 --rank=2 --bias=none --reg=0.001 --iters=10 --holdout=0 --nowrite -q --precision=double"
# shellcheck disable=SC2086
expect 0 "" on 1 complete holes.tns $run --json=holes.json
# shellcheck disable=SC2086
expect 0 "" on 2 complete whole.tns --weights=mask.tns $run --json=masked.json
same "lost indices of a mask" "$(sed -n 's/.*"gaps":\(.*\)/\1/p' masked.json | grep -o '"lost":[0-9]*' | tr '\n' ' ')" '"lost":1 "lost":0 "lost":0 '
grep -q 'rmse [^ ]* at 2 ' err && fail "a row of small weights has a gap" || pass
sed 1d whole.tns >one_less.tns
expect 0 "" on 2 complete one_less.tns --dims=12x9x5 --rank=4 --bias=none --reg=0.001 --iters=10 --holdout=20% -o less.h5 --overwrite -q
same "rows with a gap" "$("$python" -c 'import h5py; print(int((h5py.File("less.h5")["gap_rmse/0"][1:] > 0).sum()))' 2>/dev/null || echo 0)" 0
finish
