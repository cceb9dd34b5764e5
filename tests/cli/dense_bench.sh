#!/bin/sh
# bench of dense tensors, read or made in memory, and --products: keys of JSON, cells that are the same
# on any ranks, and options that do not go together.
. "$(dirname "$0")/../lib/lib.sh"
cd "$scratch" || exit 99

# An array of numpy of the dimensions $2, whose cells are bytes.
array() {
  cells=$(echo "$2" | awk -F, '{ n = 1; for (i = 1; i <= NF; i++) n *= $i; print n }')
  header="{'descr': '|u1', 'fortran_order': False, 'shape': ($2), }"
  padding=$((117 - ${#header}))
  printf '\223NUMPY\001\000\166\000%s%*s\n' "$header" "$padding" "" >"$1"
  awk -v n="$cells" 'BEGIN { for (i = 0; i < n; i++) printf "%c", 33 + i * i % 90 }' >>"$1"
}
array x.npy 13,11,17

# has KEY...: the line of bench has them.
has() {
  for key in "$@"; do
    grep '"event":"bench"' run.json | grep -q "\"$key\":" && pass || fail "no $key in JSON"
  done
}

# --- files, and cells made in memory --------------------------------------------------------------
for ranks in 1 3; do
  expect 0 "a sweep: .* 1.5 passes" on $ranks bench x.npy --rank=5 --repeat=2 --json=run.json
  has dims cell_type contracts slab_mode passes_a_sweep tensor_bytes sweep_bytes_read gb_per_second sweep_ms mttkrp_ms \
    ceiling percent read_bytes_per_second multiply_adds_per_second modes contracts_ms reads_ms exchange_ms
  same "type" "$(field cell_type run.json)" uint8
  same "bytes" "$(field tensor_bytes run.json)" 2431.0
  expect 0 "tensor: 40 x 30 x 50, dense, 60000 cells of float32" on $ranks bench --dense --dims=40x30x50 --repeat=1 --rank=3
  sed -n 's/.*norm //p' "$scratch/out" >norm.$ranks
  # Slabs of the second mode.
  expect 0 "" on $ranks bench --dense --dims=5,90,4 --type=double --precision=double --rank=3 --json=run.json
  sed -n 's/.*norm //p' "$scratch/out" >flat.$ranks
  same "type" "$(field cell_type run.json)" float64
  expect 0 "half of the modes" on $ranks bench --dense --dims=9,8,10,7 --rank=16 --repeat=1 --json=run.json
  close "passes" "$(field passes_a_sweep run.json)" 2 0
done
for what in norm flat; do
  test -s $what.1 && cmp -s $what.1 $what.3 && pass || fail "$what: other cells on 3 ranks"
done

# Four modes, one contracted at a time: every mode's turn comes in a group of three sweeps.
expect 0 "" on 1 bench --dense --dims=20,20,20,20 --rank=2 --repeat=1 --json=run.json
close "passes" "$(field passes_a_sweep run.json)" 1.3333333 1e-6
same "turns" "$(grep '"event":"bench"' run.json | grep -o '_ms":null' | wc -l)" 0

# --- passes of cpd --------------------------------------------------------------------------------
expect 0 "" on 2 x.npy --rank=2 --iters=4 --tol=0 --nowrite --json=run.json
same "passes" "$(field total run.json)" 6
close "passes" "$(field a_sweep run.json)" 1.5 0
same "resident" "$(grep '"event":"plan"' run.json | grep -o '"resident_bytes":[0-9]*')" '"resident_bytes":2431'
same "products" "$(field products run.json)" exact
expect 0 "slabs: 2.37 KiB, all resident" on 1 x.npy --rank=2 --plan -v

# --- products of GPUs ------------------------------------------------------------------------------
if test "$backend" = cuda; then
  run="--rank=3 --iters=6 --tol=0 --nowrite --seed=2 -q"
  # shellcheck disable=SC2086
  expect 0 "" on 1 x.npy $run --json=exact.json
  # shellcheck disable=SC2086
  expect 0 "" on 1 x.npy $run --products=tf32 --json=tf32.json
  same "products" "$(field products tf32.json)" tf32
  same "passes for fits" "$(field of_fits tf32.json)" 1
  # Factors of rounded products have nearly the fit of exact ones; a fit of rounded products has not.
  close "fit by exact products" "$(field fit tf32.json)" "$(field fit exact.json)" 1e-4
  # shellcheck disable=SC2086
  expect 0 "fit by exact products" on 1 x.npy ${run% -q} --products=tf32
fi

# On GPUs, what follows is as on CPUs.
finish_on_gpus

# --- what makes no sense --------------------------------------------------------------------------
"$amped" generate t.h5 --dims=9x8x7 --nnz=100 -q || fail "generate"
expect 2 "needs the dimensions" on 1 bench --dense
expect 2 "two tensors" on 1 bench --dense --dims=3x4x5 x.npy
expect 2 "two tensors" on 1 bench --dense --dims=3x4x5 --shape=nell2
expect 2 "for the cells of --dense" on 1 bench x.npy --type=double
expect 2 "lower --dims" on 1 bench --dense --dims=3G,3G,3G
for option in --whole --complete --stream=10; do
  expect 2 "sparse tensors" on 1 bench --dense --dims=3x4x5 $option
  expect 2 "bench $option\|bench ${option%=*} does" on 1 bench x.npy $option
done
for option in --read=parallel --load=list --dataset=/x --keys=a --duplicates=keep; do
  expect 2 "nothing is read" on 1 bench --dense --dims=3x4x5 $option
done
for option in --placement=equal --overlap=2; do
  expect 2 "$option\|${option%=*}" on 1 bench --dense --dims=3x4x5 $option
done
expect 2 "no option --dense" on 1 cpd --dense --dims=3x4x5

# --- products -------------------------------------------------------------------------------------
for command in cpd bench; do
  expect 2 "is a sparse tensor" on 2 $command t.h5 --products=tf32
  expect 2 "sparse ones" on 1 $command --shape=nell2 --scale=0.001 --products=tf32
  expect 2 "precision=double" on 1 $command x.npy --products=tf32 --precision=double
done
expect 2 "no option --products" on 1 complete t.h5 --products=tf32
expect 2 "tf32 is for GPUs" on 2 x.npy --rank=2 --products=tf32 --nowrite

finish
