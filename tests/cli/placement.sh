#!/bin/sh
# Placements: split or not, in equal parts or in blocks, every placement gives the same
# decomposition on any number of ranks. Greedy leaves ranks even.
. "$(dirname "$0")/../lib/lib.sh"
script=$(cd "$(dirname "$0")" && pwd)/reference.py
python=$(find_python)
cd "$scratch" || exit 99

# See run_mpi.sh.
double_tol=1e-10
float_tol=2e-5

# Index 7 of 400 has 40 % of the nonzeros, so even two ranks divide its iDp between them. The second
# mode has three indices; iDps of the third mode have two.
heavy_tensor >heavy.tns
"$amped" convert heavy.tns heavy.h5 --dims=400x3x70000 -q || fail "convert"
# More than one slab of nonzeros, with rows that extend over several slabs.
"$amped" generate long.h5 --dims=5x1500x2500 --nnz=1300k --skew=1 --seed=8 -q || fail "generate"

run() { # run TENSOR RANKS JSON OPTION...
  tensor=$1 ranks=$2 json=$3
  shift 3
  expect 0 "" on "$ranks" "$tensor.h5" --tol=0 --nowrite -q --json="$json" "$@"
}

for precision in double float; do
  tol=$double_tol some=$(few 2 3 4 2)
  test $precision = float && tol=$float_tol some=4
  run heavy 1 one.json --rank=4 --iters=6 --precision=$precision
  for ranks in $some; do
    for placement in greedy equal block; do
      run heavy $ranks p.json --rank=4 --iters=6 --precision=$precision --placement=$placement
      close "$placement, $precision: fit on $ranks against 1 rank" "$(field fit p.json)" \
        "$(field fit one.json)" $tol
    done
  done
  run heavy 4 p.json --rank=4 --iters=6 --precision=$precision --read=parallel
  close "read in parallel, $precision: fit on 4" "$(field fit p.json)" "$(field fit one.json)" $tol
done

run long 1 one.json --rank=2 --iters=2 --precision=double
for options in "--placement=greedy" "--placement=equal" "--placement=equal --read=parallel"; do
  # shellcheck disable=SC2086
  run long 3 p.json --rank=2 --iters=2 --precision=double $options
  close "several slabs, $options" "$(field fit p.json)" "$(field fit one.json)" $double_tol
done

# If a read fails between or after parts of split rows, no rank waits for ever.
size=$(wc -c <long.h5)
for part in 3 5 8; do
  cp long.h5 damaged.h5
  printf 'damaged' | dd of=damaged.h5 bs=1 seek=$((size / 10 * part)) conv=notrunc 2>/dev/null
  expect 3 "damaged.h5" on 3 damaged.h5 --load=copies --rank=2 --iters=2 --nowrite -q --placement=equal
done

# Parts of rows end at the nonzeros that the iDp table gives: a table that counts a nonzero in the
# wrong iDp is refused.
if test -n "$python"; then
  "$amped" generate parts.h5 --dims=60000x20x10 --nnz=3k --seed=9 -q || fail "generate parts"
  "$python" - <<'PY' || fail "parts.h5 cannot be changed"
import h5py
import numpy as np
with h5py.File("parts.h5", "a") as f:
    table = f["/amped/mode_0/idp_nnz"]
    counts = table[:]
    ones = np.flatnonzero(counts == 1)
    counts[ones[0]] = 0
    counts[ones[len(ones) * 9 // 10]] = 2
    table[:] = counts
    del table.attrs["amped_hash"]  # as of a file written before
    del f.attrs["amped_seal"]
PY
  for read in root parallel; do
    expect 0 "" on 1 parts.h5 --load=copies --rank=2 --iters=1 --nowrite -q --overlap=off --read=$read
    expect 3 "parts.h5: the copy of mode 1 disagrees with its iDp table" on 1 parts.h5 --load=copies --rank=2 --iters=1 \
      --nowrite -q --overlap=3 --read=$read
  done
fi

# The plan shows the gain of splitting; it has no such line where nothing is split.
expect 0 "imbalance of nonzeros at most 0\... % (1[0-9]*\... % without splitting)" \
  on 4 heavy.h5 --plan --json=plan.json
for name in split_idps unsplit_imbalance_percent; do # of the last mode: nothing
  same "$name" "$(field $name plan.json | cut -c1-1)" 0
done
expect 0 "mode 1: 1 of 400 iDps (1 rows) split" on 4 heavy.h5 --rank=2 --iters=1 --nowrite -v
expect 0 "mode 2: 3 of 3 iDps (3 rows) split" on 4 bench heavy.h5 --rank=2 --repeat=1 -v
expect 0 "equal placement of iDps, imbalance of nonzeros at most 0.0. %$" on 4 heavy.h5 --plan \
  --placement=equal
expect 0 "block placement" on 2 bench --shape=patents --nnz=50k --scale=1e-4 --repeat=1 --rank=3 \
  --placement=block
expect 0 "without splitting" on 4 cpd --shape=patents --nnz=50k --scale=1e-4 --rank=3 --plan
expect 2 "greedy, equal or block" on 2 heavy.h5 --placement=even

# Split rows are added up in a fixed order: the same bits in every run.
for i in 1 2; do
  expect 0 "" on 4 heavy.h5 --rank=4 --iters=3 --tol=0 -o same$i.h5 -q
  expect 0 "" "$amped" convert same$i.h5 same$i.txt -q
done
for part in weights mode0 mode1 mode2; do
  if cmp same1.$part.txt same2.$part.txt; then pass; else fail "$part of two runs differ"; fi
done

# Comparison with an independent implementation, as in reference.sh.
if test -n "$python"; then
  "$python" "$script" start heavy.h5 start.h5 4 || fail "start"
  for run in "2 greedy" "3 equal" "4 greedy" "4 block"; do
    # shellcheck disable=SC2086
    set -- $run
    expect 0 "" on "$1" heavy.h5 --rank=4 --iters=6 --tol=0 --precision=double --init=start.h5 \
      --placement="$2" -o result.h5 -q
    if "$python" "$script" compare heavy.h5 start.h5 result.h5 6 1e-9; then
      pass
    else
      fail "$run against the reference"
    fi
  done
else
  echo "skipped: the reference needs python3 with numpy and h5py"
fi

finish
