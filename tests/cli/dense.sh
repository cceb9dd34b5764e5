#!/bin/sh
# Dense tensors: the decomposition is that of numpy, sweep by sweep, and that of the same tensor as a
# list; for any ranks, readers, types of cells and orders of modes in the file.
. "$(dirname "$0")/../lib/lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
cd "$scratch" || exit 99
needs_python
reference() { "$python" "$here/dense_reference.py" "$@"; }
reference make . || exit 99
reference start a.init.h5 4 23 17 29
reference start flat.init.h5 3 2 41 7
reference start four.init.h5 5 11 3 8 13
reference start five.init.h5 3 5 4 3 7 6

# Two runs in double that differ in the order of sums alone: run_mpi.sh.
tol=1e-10
run="--iters=7 --tol=0 --precision=double"

# agrees FILE INIT R TOLERANCE ARGUMENT...: on 1 to 4 ranks.
agrees() {
  file=$1
  init=$2
  r=$3
  t=$4
  shift 4
  for ranks in $(few 2 1 3 2 4); do
    expect 0 "" on $ranks $file --rank=$r --init=$init "$@" --json=run.json --nowrite -q
    expect 0 "" reference compare $file $init run.json "$t"
  done
}
# shellcheck disable=SC2086
{
  agrees a.npy a.init.h5 4 $tol $run
  agrees fortran.npy a.init.h5 4 $tol $run
  agrees flat.npy flat.init.h5 3 $tol $run
  agrees four.npy four.init.h5 5 $tol $run
  agrees five.npy five.init.h5 3 $tol $run
  for kind in u1 i2 i4 u8 half single swapped; do
    agrees $kind.npy a.init.h5 4 $tol $run
  done
}
# Streamed to a GPU.
if test "$backend" = cuda; then
  # shellcheck disable=SC2086
  agrees a.npy a.init.h5 4 $tol $run --residency=stream
  # shellcheck disable=SC2086
  agrees five.npy five.init.h5 3 $tol $run --residency=stream
fi

# Float: the fit's rounding is some 1e-7 times the size of terms of <X, M>, which are not much larger
# than |X|^2.
agrees a.npy a.init.h5 4 1e-5 --iters=7 --tol=0
agrees u1.npy a.init.h5 4 1e-5 --iters=7 --tol=0

# Any reader, and the HDF5 form: the same bits.
bits() {
  rm -f f.*.txt
  "$amped" convert "$1" f.txt -q && cat f.*.txt
}
for file in a.npy foreign.h5; do
  for read in root parallel auto; do
    # shellcheck disable=SC2086
    expect 0 "" on 3 $file --rank=4 $run --seed=5 --read=$read -o r.$read.h5 --overwrite -q
    bits r.$read.h5 >bits.$read
    test -f bits.first || cp bits.$read bits.first
    expect 0 "" cmp bits.first bits.$read
  done
done

# The same tensor as a list.
"$python" - <<'END'
import numpy as np
x = np.load("a.npy")
with open("a.tns", "w") as f:
    for i in np.ndindex(x.shape):
        f.write("%d %d %d %r\n" % (i[0] + 1, i[1] + 1, i[2] + 1, float(x[i])))
END
# shellcheck disable=SC2086
expect 0 "" on 2 a.tns --rank=4 $run --seed=5 --json=list.json --nowrite -q
# shellcheck disable=SC2086
expect 0 "" on 2 a.npy --rank=4 $run --seed=5 --json=dense.json --nowrite -q
close "fit of a list and of cells" "$(field fit dense.json)" "$(field fit list.json)" $tol

# Real data: amino's optimum at R = 3 (docs/real.md).
if test -f "$data/amino.tns.gz"; then
  gzip -dc "$data/amino.tns.gz" >amino.tns
  "$python" - <<'END'
import numpy as np
rows = np.loadtxt("amino.tns", comments="#")
i = rows[:, :3].astype(int) - 1
x = np.zeros(i.max(axis=0) + 1)
x[tuple(i.T)] = rows[:, 3]
np.save("amino.npy", x)
END
  expect 0 "" on 2 amino.npy --rank=3 --starts=3 --iters=500 --tol=1e-9 --precision=double --json=amino.json --nowrite -q
  close "fit of amino" "$(field fit amino.json)" 0.97495148 1e-6
fi

# Options work together: several R, starts, core consistency, plans, checkpoints to the bit.
expect 0 "tensor: 23 x 17 x 29, dense, 11339 cells of float64" on 2 a.npy --rank=3 --plan
expect 0 "slabs of mode 3, .*1.5 passes" on 4 a.npy --rank=3 --plan
expect 0 "corcondia" on 3 a.npy --rank=2,3 --starts=2 --corcondia --iters=20 -o several.h5
# shellcheck disable=SC2086
expect 0 "" on 2 a.npy --rank=4 $run --seed=5 -o whole.h5 -q
expect 0 "" on 2 a.npy --rank=4 --iters=3 --tol=0 --precision=double --seed=5 --checkpoint=c.h5 --checkpoint-every=1 -o part.h5 -q
# shellcheck disable=SC2086
expect 0 "" on 2 a.npy --rank=4 $run --seed=5 --checkpoint=c.h5 --resume -o part.h5 --overwrite -q
bits whole.h5 >bits.whole
bits part.h5 >bits.part
expect 0 "" cmp bits.whole bits.part
expect 0 "" on 2 single.npy --rank=4 --iters=3 --trace=trace.json --nowrite -q

# Bad input, and options of sparse tensors.
expect 3 "nan.npy: .*3, 4, 5" on 2 nan.npy --rank=2 --nowrite
expect 3 "zero.npy: its norm is zero" on 2 zero.npy --rank=2 --nowrite
expect 3 "complex.npy: " on 2 complex.npy --rank=2 --nowrite
expect 2 "is a matrix, .*add --nonnegative" on 2 matrix.npy --rank=2 --nowrite
expect 3 "short.npy: " on 2 short.npy --rank=2 --nowrite
expect 2 "two.h5: .*/x.*/y" on 2 two.h5 --rank=2 --nowrite
expect 0 "" on 2 two.h5 --dataset=/y --rank=2 --nowrite -q
expect 2 "two.h5: " on 2 two.h5 --dataset=/z --rank=2 --nowrite
for option in --placement=equal --overlap=2 --load=list --dims=3,3,3; do
  expect 2 "a.npy: .*leave" on 2 a.npy --rank=2 --nowrite $option
done
expect 0 "a.npy: no cell is missing" on 2 complete a.npy --rank=2 --nowrite

# A signal ends a run after a sweep; the run goes on from its checkpoint.
begin 2 '"sweep":3,' a.npy --rank=4 --iters=1000000 --tol=0 --checkpoint=s.h5 --nowrite
stop_by USR1
same "status after a signal" "$status" 85
expect 0 "" on 2 a.npy --rank=4 --iters=1 --tol=0 --checkpoint=s.h5 --resume --nowrite --json=run.json
same "passes of a run without sweeps" "$(field total run.json)" 0
for option in --tiles=16M --keys=a --duplicates=keep --index-base=1 --dataset=/x; do
  expect 2 "leave" on 1 a.npy --rank=2 --nowrite $option
done
expect 0 "" on 1 a.npy --rank=2 --nowrite --starts=2 --iters=1 --checkpoint=starts.h5
test -f starts.r2.s1.h5 && test -f starts.r2.s2.h5 && pass || fail "a start has no checkpoint"

finish
