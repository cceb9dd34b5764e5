#!/bin/sh
# --deterministic: the same bits in every run on the same number of ranks.
. "$(dirname "$0")/../lib/lib.sh"
needs h5diff
cd "$scratch" || exit 99

"$amped" generate d.h5 --dims=500x30x2000 --nnz=50k --skew=0.7 --seed=5 -q || fail "generate"
for ranks in $(few 2 1 3 2 4); do
  for i in 1 2; do
    expect 0 "" on $ranks d.h5 --rank=9 --iters=5 --tol=0 --deterministic -o r$i.h5
  done
  for set in weights fit factors/0 factors/1 factors/2; do
    if h5diff r1.h5 r2.h5 /$set /$set >diff.txt 2>&1; then pass; else fail "$ranks ranks, $set: $(cat diff.txt)"; fi
  done
  expect 0 "" on $ranks d.h5 --rank=9 --iters=5 --tol=0 --precision=double --json=$ranks.json --nowrite
  expect 0 "" on $ranks d.h5 --rank=9 --iters=5 --tol=0 --precision=double --deterministic --json=o$ranks.json --nowrite
  close "fit on $ranks ranks" "$(field fit o$ranks.json)" "$(field fit $ranks.json)" 1e-10
done
expect 2 "leave out one" "$amped" bench d.h5 --deterministic --kernel=published

finish
