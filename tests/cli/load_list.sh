#!/bin/sh
# Files with one coordinate list and no ordered copies. They give the same results as ordered
# copies, to the bit except for split iDps, on 1 to 4 ranks, with any readers. Repeated coordinates;
# bad lists, which all ranks refuse.
. "$(dirname "$0")/../lib/lib.sh"
script=$(cd "$(dirname "$0")" && pwd)/h5py_files.py
needs_python
cd "$scratch" || exit 99

# See run_mpi.sh.
double_tol=1e-10
float_tol=2e-5

list() { "$python" "$script" list "$@" || fail "h5py wrote no $2"; }
bare() { "$amped" convert "$1" "$2" --copies=none -q || fail "convert wrote no $2"; }

# agree RANKS A.h5 B.h5 OPTION...: a run on B gives the same bits as a run on A.
agree() {
  n=$1
  a=$2
  b=$3
  shift 3
  test -f "$a.$n.out" || expect 0 "" on "$n" "$a" --tol=0 -o "$a.$n.out" -q "$@"
  expect 0 "" on "$n" "$b" --tol=0 -o b.out -q --overwrite "$@"
  expect 0 "" "$python" "$script" equal "$a.$n.out" b.out
}

# --- the same bits, where nothing is split -------------------------------------------------------
"$amped" generate a.h5 --dims=57x1x31 --nnz=600 --skew=0.7 --seed=3 -q || fail "generate a"
"$amped" generate b.h5 --dims=40,3,200,17 --nnz=5k --skew=0,0,1.1,0.5 --seed=4 -q || fail "generate b"
"$amped" generate c.h5 --dims=70001x65600x1000x300x80000 --nnz=3k --seed=5 -q || fail "generate c"
"$amped" generate one.h5 --dims=3x3x3 --nnz=1 --seed=6 -q || fail "generate one"
for t in a b c one; do
  bare $t.h5 $t.list.h5
  list $t.h5 $t.mixed.h5 7
  expect 0 "" "$amped" convert $t.list.h5 back.h5 -q --overwrite
  expect 0 "" cmp $t.h5 back.h5
done
for ranks in $(few 2 1 3 2 4); do
  for read in root parallel; do
    agree $ranks b.h5 b.mixed.h5 --rank=5 --iters=3 --read=$read --placement=block
  done
  agree $ranks a.h5 a.mixed.h5 --rank=4 --iters=3 --precision=double --read=parallel
done
agree 4 one.h5 one.list.h5 --rank=2 --iters=2 --read=parallel

# One copy of a file that has them all, ordered in memory; a list has no copies to read.
for ranks in 1 3; do
  for read in root parallel; do
    for load in copies list; do
      expect 0 "" on $ranks b.h5 --rank=5 --iters=3 --tol=0 --read=$read --placement=block \
        --load=$load -o b.$load.out -q --overwrite
    done
    expect 0 "" "$python" "$script" equal b.copies.out b.list.out
  done
done
expect 0 "one of its copies is read" on 1 a.h5 --load=list --rank=2 --iters=1 --nowrite -v
expect 0 "" on 1 a.h5 --load=copies --rank=2 --iters=1 --nowrite -v
grep -q "one of its copies" "$scratch/out" "$scratch/err" && fail "--load=copies read one copy"
expect 2 "a.list.h5: has no ordered copies for --load=copies; amped_mpi convert makes a file" \
  on 3 a.list.h5 --load=copies
expect 2 "with --shape nothing is read; leave out --load" on 1 --shape=nell2 --load=list
agree 3 c.h5 c.mixed.h5 --rank=2 --iters=1 --read=parallel
agree 2 c.h5 c.list.h5 --rank=2 --iters=1 --read=root

# Several slabs, more than one for some readers, and counts with codes.
awk 'BEGIN { srand(1); for (k = 0; k < 2300000; k++)
  print int(900 * rand()) + 1, int(800 * rand()) + 1, int(700 * rand()) + 1, int(9 * rand()) + 1 }' \
  >big.tns
expect 0 "" "$amped" convert big.tns big.h5 --dims=900x800x700 -q
rm big.tns
list big.h5 big.mixed.h5 8
agree 2 big.h5 big.mixed.h5 --rank=2 --iters=1 --read=parallel
agree 2 big.h5 big.mixed.h5 --rank=2 --iters=1 --read=root
rm big.h5

# --- split iDps -----------------------------------------------------------------------------------
# As in placement.sh, index 7 of 400 has 40 % of the nonzeros, and the second mode has three
# indices. In a shuffled list, ranks get other parts of split iDps than with ordered copies; in the
# order of the copies, the same parts.
heavy_tensor >heavy.tns
expect 0 "" "$amped" convert heavy.tns heavy.h5 --dims=400x3x70000 -q
bare heavy.h5 heavy.list.h5
list heavy.h5 heavy.mixed.h5 9
run() { # run TENSOR RANKS JSON OPTION...
  tensor=$1 ranks=$2 json=$3
  shift 3
  expect 0 "" on "$ranks" "$tensor.h5" --rank=4 --iters=6 --tol=0 --nowrite -q --json="$json" "$@"
}
for ranks in $(few 1 3 2 4); do
  for placement in greedy equal; do
    run heavy $ranks copies.json --precision=double --placement=$placement
    for read in root parallel; do
      run heavy.mixed $ranks list.json --precision=double --placement=$placement --read=$read
      close "$placement, split, read by $read: fit of a list on $ranks" "$(field fit list.json)" \
        "$(field fit copies.json)" $double_tol
    done
  done
  agree $ranks heavy.h5 heavy.list.h5 --rank=4 --iters=3 --read=parallel
done
run heavy 4 copies.json
run heavy.mixed 4 list.json --read=parallel
close "split, float: fit of a list on 4" "$(field fit list.json)" "$(field fit copies.json)" $float_tol

# --- repeated coordinates -------------------------------------------------------------------------
printf '1 1 1 2\n1 2 1 3\n2 3 4 5\n1 1 1 4\n2 3 4 -1\n1 1 1 -7\n' >twice.tns
expect 0 "" "$amped" convert twice.tns twice.h5 --duplicates=keep -q
list twice.h5 twice.list.h5
for ranks in 1 3; do
  # Their norm is not known before they are added up; the result's is.
  expect 0 "3 nonzeros repeat a coordinate" on $ranks twice.list.h5 --rank=2 --iters=1 -o twice.r.h5 --overwrite
  grep -q '^tensor: .* nonzeros$' out && pass || fail "a norm of parts: $(grep '^tensor:' out)"
  same "norm of sums" "$(h5dump -a /input_norm twice.r.h5 | sed -n 's/.*(0): //p' | cut -c1-7)" 5.09902
  agree $ranks twice.h5 twice.list.h5 --rank=2 --iters=3 --read=parallel
done
# The norm that a list stores is trusted.
expect 0 "" "$amped" convert twice.h5 bare.h5 --copies=none --duplicates=keep -q
agree 3 twice.h5 bare.h5 --rank=2 --iters=3
# Two nonzeros at one coordinate: every split gives one to each rank.
printf '1 1 1 2\n1 1 1 3\n' >pair.tns
expect 0 "" "$amped" convert pair.tns pair.h5 --duplicates=keep -q
list pair.h5 pair.list.h5
for read in root parallel; do
  expect 0 "1 nonzeros repeat a coordinate" on 2 pair.list.h5 --rank=1 --iters=1 --nowrite \
    --precision=double --placement=equal --read=$read --json=pair.json
  close "fit of one coordinate" "$(field fit pair.json)" 1 1e-7 # a root of roundings
done
printf '1 1 1 2\n2 2 2 0\n1 1 1 -2\n' >zero.tns
expect 0 "" "$amped" convert zero.tns zero.h5 --duplicates=keep -q
list zero.h5 zero.list.h5
expect 3 "norm is zero" on 2 zero.list.h5 --rank=2 --nowrite --read=parallel

# --- bad lists ------------------------------------------------------------------------------------
# The last nonzero is bad: it is in the last of three slabs, so the last reader finds it.
for what in index nan byte; do
  cp big.mixed.h5 bad.h5
  "$python" "$script" spoil bad.h5 $what || fail "spoil $what"
  for ranks in 1 3; do
    expect 3 "bad.h5" on $ranks bad.h5 --rank=2 -o never.h5 --read=parallel
    expect 3 "bad.h5" on $ranks bad.h5 --rank=2 -o never.h5
  done
done
rm bad.h5
bare b.h5 bad.h5
"$python" "$script" spoil bad.h5 value || fail "spoil value"
for ranks in 1 3; do
  for read in root parallel; do
    expect 3 "disagree with the tensor's hash" on $ranks bad.h5 --rank=2 -o never.h5 --read=$read
  done
done
absent never.h5

# --- on three ranks: who gets what, and failures of one of them ------------------------------------
redistribute=$(dirname "$amped")/tests/unit/load/check_redistribute
if test -x "$redistribute"; then
  # shellcheck disable=SC2086
  expect 0 "100%" timeout -k 10 $patience $mpirun ${AMPED_MPIRUN_FLAGS-} -np 3 "$redistribute"
fi


# --- other commands -------------------------------------------------------------------------------
expect 0 "imbalance" on 3 b.mixed.h5 --rank=5 --plan
expect 0 "ordered in memory" on 2 b.mixed.h5 --rank=2 --iters=1 --nowrite
expect 0 "all modes" on 3 bench b.mixed.h5 --rank=5 --repeat=1 --read=parallel
expect 0 "" on 2 b.mixed.h5 --rank=5 --plan -q --json=list.json
expect 0 "" on 2 b.h5 --rank=5 --plan -q --json=copies.json
side=host_bytes
test "$backend" = cuda && side=device_bytes
if awk -v l="$(field $side list.json)" -v c="$(field $side copies.json)" \
  'BEGIN { exit !(l > c) }'; then pass; else fail "the plan of a list takes no more memory"; fi
expect 2 "needs an HDF5 file" on 2 twice.tns --rank=2 --nowrite --read=parallel

# --- ranks that see different files --------------------------------------------------------------
# The files have the same shape and types; our list stores its hash, h5py's list does not.
mkdir x y
"$amped" generate x/o.h5 --dims=30x20x10 --nnz=500 --seed=1 -q || fail "generate x"
"$amped" generate y/o.h5 --dims=30x20x10 --nnz=500 --seed=2 -q || fail "generate y"
for folder in x y; do
  bare $folder/o.h5 $folder/ours.h5
  list $folder/o.h5 $folder/theirs.h5 3
done
# in_folders FOLDER FOLDER FILE: two ranks, each in its folder.
in_folders() {
  cat >in_folder <<END
case $rank_here in
  0) cd $1 ;;
  *) cd $2 ;;
esac
exec "\$@"
END
  extra="--backend=$backend"
  test "$backend" = cuda && extra="$extra --share-gpus"
  # shellcheck disable=SC2086
  timeout -k 10 $patience $mpirun ${AMPED_MPIRUN_FLAGS-} -np 2 sh ./in_folder "$amped" cpd "$3" \
    --read=parallel --load="$4" --rank=2 --iters=2 --nowrite -q $extra
}
# Ordered copies whose iDp tables differ: ranks would expect other messages than are sent.
"$amped" generate x/tables.h5 --dims=70000x20x10 --nnz=5k --seed=1 -q || fail "generate tables"
cp x/tables.h5 y/tables.h5
"$python" - y/tables.h5 <<'PY'
import h5py, sys
with h5py.File(sys.argv[1], 'r+') as f:
    table = f['/amped/mode_0/idp_nnz']
    n = table[:]
    i = (n[:-1] > 0).nonzero()[0][0]
    n[i], n[i + 1] = n[i] - 1, n[i + 1] + 1
    table[:] = n
    del table.attrs['amped_hash'] # as of a file written before
    del f.attrs['amped_seal']
PY
for file in ours theirs tables; do
  expect 0 "" in_folders x x $file.h5 auto
  load=auto
  test $file = tables && load=copies
  expect 3 "rank 1 sees another file than rank 0" in_folders x y $file.h5 $load
done

finish
