#!/bin/sh
# Files from and for h5py: every binsparse nesting, a start for --init, and our files read by h5py.
. "$(dirname "$0")/../lib/lib.sh"
needs_python
script=$(cd "$(dirname "$0")" && pwd)/h5py_files.py
cd "$scratch" || exit 99

for nesting in both flat nested; do
  "$python" "$script" coo $nesting $nesting.h5 || fail "h5py wrote no $nesting.h5"
  expect 0 "$nesting.h5" "$amped" info $nesting.h5
  expect 0 "" "$amped" convert $nesting.h5 ours.$nesting.h5 -q
  expect 0 "verified" "$amped" info ours.$nesting.h5 --verify
  expect 0 "" "$python" "$script" tensor ours.$nesting.h5
  expect 0 "ordered in memory\|ordering it in memory" on 2 $nesting.h5 --rank=2 --iters=2 --nowrite
done

"$amped" generate t.h5 --dims=9x8x7 --nnz=150 -q || fail "generate"
"$python" "$script" init start.h5 3 9 8 7 || fail "h5py wrote no start.h5"
expect 0 "start: start.h5" on 2 t.h5 --rank=3 --iters=4 --init=start.h5 -o r.h5
expect 0 "" "$python" "$script" result r.h5
expect 3 "" on 2 t.h5 --rank=4 --iters=4 --init=start.h5 -o never.h5
absent never.h5

# A file may claim more indices for an iDp than there are: the excess is neither summed nor counted.
"$amped" generate plain.h5 --dims=300x20x10 --nnz=4k -q || fail "generate"
expect 0 "" on 2 plain.h5 --rank=4 --iters=3 --tol=0 --nowrite -q --json=plain.json
for width in 300 576460752303423488 576460752303423489 18446744073709551615; do
  "$python" "$script" wide plain.h5 wide.h5 0 $width || fail "h5py wrote no wide.h5"
  expect 0 "verified" "$amped" info wide.h5 --verify
  expect 0 "" on 2 wide.h5 --rank=4 --iters=3 --tol=0 --nowrite -q --json=wide.json
  close "fit with iDps of width $width" "$(field fit wide.json)" "$(field fit plain.json)" 1e-6
done

# Wrong labels are detected before the first sweep.
printf 'a,b,c\nx,p,u\ny,q,v\nz,r,w\n' >names.csv
expect 0 "" "$amped" convert names.csv names.h5 -q
"$python" "$script" labels names.h5 bad.h5 || fail "h5py wrote no bad.h5"
expect 3 "labels" on 2 bad.h5 --rank=2 --iters=3 -o bad.cpd.h5 --json=bad.json
same "sweeps with wrong labels" "$(grep -c '"event":"iteration"' bad.json)" 0
expect 0 "" on 2 bad.h5 --rank=2 --iters=3 --nowrite
finish
