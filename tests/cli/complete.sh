#!/bin/sh
# complete: against numpy from the same start; the objective never rises; ranks agree; planted models
# are found; entries of files; what does not work is refused; signals.
. "$(dirname "$0")/../lib/lib.sh"
python=$(find_python)
script=$(cd "$(dirname "$0")" && pwd)/complete_reference.py
data=$(cd "$data" 2>/dev/null && pwd)
cd "$scratch" || exit 99

# --- against numpy: in double, after three sweeps, to 1e-9 ------------------------------------------
"$amped" generate a.h5 --dims=30x20x10 --nnz=1500 --skew=0.5 --seed=1 -q || fail "generate"
"$amped" generate b.h5 --dims=12x9x8x7 --nnz=900 --skew=0.6 --seed=2 -q || fail "generate"
for t in a b; do
  "$amped" convert $t.h5 $t.tns -q || fail "convert"
  "$amped" generate start-$t.h5 --dims="$(test $t = a && echo 30x20x10 || echo 12x9x8x7)" --nnz=200 \
    --planted=3 --seed=7 -q || fail "generate"
done
