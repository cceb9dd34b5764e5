#!/bin/sh
# Weights, factors and fits compared with an independent implementation from the same start: in
# double, after 10 sweeps, to 1e-9.
. "$(dirname "$0")/../lib/lib.sh"
needs_python
script=$(cd "$(dirname "$0")" && pwd)/reference.py
data=$(cd "$data" 2>/dev/null && pwd)
cd "$scratch" || exit 99

compare() { # compare TENSOR.h5 R RANKS
  "$python" "$script" start "$1" start.h5 "$2" || fail "start for $1"
  expect 0 "" on "$3" "$1" --rank="$2" --iters=10 --tol=0 --precision=double --init=start.h5 \
    -o result.h5 -q --overwrite
  if "$python" "$script" compare "$1" start.h5 result.h5 10 1e-9; then pass; else fail "$1"; fi
}

"$amped" generate a.h5 --dims=30x20x10 --nnz=1500 --seed=1 -q || fail "generate"
"$amped" generate b.h5 --dims=12x9x8x7 --nnz=1200 --skew=0.6 --seed=2 -q || fail "generate"
"$amped" generate c.h5 --dims=8x7x6x5x4 --nnz=900 --seed=3 -q || fail "generate"
compare a.h5 4 1
compare a.h5 4 3
compare b.h5 3 2
compare c.h5 3 4
for name in nations enron-jhu; do
  if test -n "$data" && test -f "$data/$name.tns.gz"; then
    expect 0 "" "$amped" convert "$data/$name.tns.gz" $name.h5 -q
    compare $name.h5 5 2
  else
    echo "skipped: no $name.tns.gz"
  fi
done
finish
