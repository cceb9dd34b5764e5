#!/bin/sh
# Every capability end to end on GPUs: the results of 1 and 3 ranks are those of the CPU. A backend whose
# table lacks, or mixes up, an operation is caught here, whatever its unit tests say: they make plans of
# their own. `make check-gpu` runs it on a GPU, tests/cli/emulated.sh on the emulated one.
. "$(dirname "$0")/../lib/lib.sh"
folder=$(pwd)
close_results=$folder/tests/lib/close_results
python=$(find_python)
cd "$scratch" || exit 99
backend=${AMPED_TEST_BACKEND:-cuda}
if test "$backend" != cuda; then
  echo "skipped: compares GPUs with CPUs; AMPED_TEST_BACKEND is $backend"
  exit 77
fi

# Three sweeps from the same start differ in the order of sums alone: a row's sum of some hundred products
# by 1e-14, which the inverse of a well-conditioned gram enlarges by less than 100. Floats likewise.
exact=1e-12
rough=1e-5
run="--iters=3 --tol=0 --precision=double -q --overwrite"

# agree TOLERANCE ARGUMENT...: the command with -o, on the CPU and on 1 and 3 ranks with GPUs. $gpu_only has
# options that CPUs refuse. $ranks_of: other numbers of ranks.
gpu_only=
ranks_of="1 3"
agree() {
  tolerance=$1
  shift
  rm -f cpu.h5
  backend=cpu
  expect 0 "" on 1 "$@" -o cpu.h5
  backend=cuda
  for ranks in $ranks_of; do
    rm -f gpu.h5
    # shellcheck disable=SC2086
    expect 0 "" on "$ranks" "$@" $gpu_only -o gpu.h5
    if "$close_results" cpu.h5 gpu.h5 "$tolerance" >differences.txt 2>&1; then
      pass
    else
      fail "$ranks ranks with GPUs differ from the CPU: $* $gpu_only"
      sed 's/^/  | /' differences.txt
    fi
  done
}
# Two of JSON's numbers.
agree_in_json() { # NAME TOLERANCE ARGUMENT...
  name=$1
  tolerance=$2
  shift 2
  backend=cpu
  expect 0 "" on 1 "$@" --json=cpu.json
  backend=cuda
  for ranks in $ranks_of; do
    # shellcheck disable=SC2086
    expect 0 "" on "$ranks" "$@" $gpu_only --json=gpu.json
    close "$name of $*" "$(field "$name" gpu.json)" "$(field "$name" cpu.json)" "$tolerance"
  done
}

# --- tensors ---------------------------------------------------------------------------------------
"$amped" generate p.h5 --dims=14x11x9 --planted=4 --nnz=600 --seed=2 -q || fail "generate p.h5"
"$amped" generate four.h5 --dims=9x8x7x6 --nnz=700 --skew=0.6 --seed=3 -q || fail "generate four.h5"
"$amped" generate five.h5 --dims=6x5x7x3x4 --nnz=500 --seed=4 -q || fail "generate five.h5"
"$amped" convert four.h5 list.tns -q || fail "convert list.tns"
"$amped" generate d.h5 --dense --dims=13x10x9 --planted=3 --noise=0.1 --type=double --seed=5 -q || fail "generate d.h5"
"$amped" generate cube.h5 --dense --dims=7x6x5x8 --planted=3 --noise=0.1 --seed=6 -q || fail "generate cube.h5"
"$amped" convert d.h5 d.npy --dense -q || fail "convert d.npy"
# Observed cells, and two batches that follow, of which the second has new rows.
awk 'function random() { seed = (seed * 16807) % 2147483647; return seed / 2147483647 }
  BEGIN {
    seed = 7
    for (i = 0; i < 20; i++) { a[i] = random(); b[i] = random(); c[i] = random() }
    for (i = 0; i < 15; i++)
      for (j = 0; j < 12; j++)
        for (k = 0; k < 8; k++)
          if (random() < 0.3)
            printf "%d %d %d %.4f\n", i + 1, j + 1, k + 1, 3 + 2 * a[i] * b[j] + c[k] * b[j] + 0.1 * random() \
              >(k < 6 && i < 14 ? "seen.tns" : i < 14 ? "batch1.tns" : "batch2.tns")
  }'
awk '{ print $1, $2, $3, 1 + int($4) % 3 }' seen.tns >counts.tns

# --- decompositions --------------------------------------------------------------------------------
for r in 5 16 32 40 100; do
  # shellcheck disable=SC2086
  agree $exact p.h5 $run --rank=$r --seed=3
done
# shellcheck disable=SC2086
{
  agree $rough p.h5 --iters=3 --tol=0 -q --overwrite --rank=5
  agree $exact four.h5 $run --rank=6
  agree $exact five.h5 $run --rank=4
  agree $exact list.tns $run --rank=6
  agree $exact four.h5 $run --rank=6 --load=list
  agree $exact p.h5 $run --rank=5 --deterministic
  agree $exact p.h5 $run --rank=5 --placement=block --read=parallel
  agree $exact p.h5 $run --rank=5 --copies=one
  agree $rough four.h5 --iters=3 --tol=0 -q --overwrite --rank=6 --copies=one
  gpu_only=--residency=stream
  agree $exact p.h5 $run --rank=5
  agree $exact p.h5 $run --rank=5 --copies=one
  gpu_only=--tiles=1K
  agree $exact p.h5 $run --rank=5
  gpu_only=
  agree $exact p.h5 $run --rank=4 --nonnegative
  agree $exact p.h5 $run --rank=4 --nonnegative --copies=one
  agree $exact p.h5 $run --rank=4 --ridge=0.1
  agree $exact p.h5 $run --rank=4 --l1=0.01
  agree $exact p.h5 $run --rank=4 --accelerate=momentum
  agree $exact p.h5 $run --rank=4 --accelerate=linesearch
  agree 1e-9 p.h5 $run --rank=4 --method=lm
  agree $exact p.h5 $run --rank=3 --starts=2
  agree_in_json core_consistency 1e-7 p.h5 $run --rank=2 --corcondia --nowrite
}

# A checkpoint of a GPU is gone on from on a GPU, and gives the run without interruption.
# shellcheck disable=SC2086
for ranks in 1 3; do
  rm -f k.h5 k.h5.prev
  expect 0 "" on $ranks p.h5 --iters=2 --tol=0 --precision=double -q --rank=5 --checkpoint=k.h5 --checkpoint-every=1 -o half.h5 --overwrite
  ranks_of=$ranks
  backend=cpu
  expect 0 "" on 1 p.h5 $run --rank=5 -o cpu.h5
  backend=cuda
  expect 0 "" on $ranks p.h5 $run --rank=5 --checkpoint=k.h5 --resume -o gpu.h5
  expect 0 "" "$close_results" cpu.h5 gpu.h5 $exact
done
ranks_of="1 3"

# --- dense tensors ---------------------------------------------------------------------------------
# shellcheck disable=SC2086
{
  agree $exact d.npy $run --rank=5
  agree $exact d.h5 $run --rank=16
  agree $rough cube.h5 --iters=3 --tol=0 -q --overwrite --rank=4
  agree $exact cube.h5 $run --rank=40
  agree $exact d.npy $run --rank=4 --nonnegative
  agree $exact d.npy $run --rank=4 --accelerate=momentum
  agree 1e-9 d.npy $run --rank=3 --method=lm
  gpu_only=--residency=stream
  agree $exact d.h5 $run --rank=5
  gpu_only=
}
# Blocks are drawn for a number of ranks, so that one rank alone compares.
rbs="--method=rbs --epochs=3 --search=2 --tol=0 --precision=double -q --overwrite --rank=3"
ranks_of=1
# shellcheck disable=SC2086
{
  agree 1e-9 d.npy $rbs --sample=blocks --block=6
  agree 1e-9 d.npy $rbs --sample=slices --block=5
  agree 1e-9 d.h5 $rbs --memory=8K --block=4
}
ranks_of=3
# shellcheck disable=SC2086
agree 1e-9 d.npy $rbs --sample=slices --block=5
ranks_of="1 3"

# --- completion ------------------------------------------------------------------------------------
fit="complete seen.tns --iters=3 --tol=0 --precision=double -q --overwrite --reg=1"
for r in 5 16 32 40 100; do
  # shellcheck disable=SC2086
  agree $exact $fit --rank=$r
done
# shellcheck disable=SC2086
{
  agree $rough complete seen.tns --iters=3 --tol=0 -q --overwrite --reg=1 --rank=5
  agree $rough complete seen.tns --iters=3 --tol=0 -q --overwrite --reg=1 --rank=40
  agree $exact $fit --rank=6 --block=2
  agree $exact $fit --rank=4 --method=ccd
  agree $exact $fit --rank=4 --method=sgd
  agree $exact $fit --rank=4 --nonnegative
  agree $exact $fit --rank=4 --bias=none
  agree $exact $fit --rank=4 --context=none
  agree $exact $fit --rank=4 --holdout=0 --weights=counts.tns
  agree $exact complete counts.tns --implicit=10 --iters=3 --tol=0 --precision=double -q --overwrite --reg=1 --rank=4
  gpu_only=--residency=stream
  agree $exact $fit --rank=4
  gpu_only=
}

# --- streams ---------------------------------------------------------------------------------------
# on_batches HISTORY: a first fit and two batches on that backend.
on_batches() {
  rm -f s.state*
  expect 0 "" on "$1" complete seen.tns --iters=3 --tol=0 --precision=double -q --reg=1 --rank=4 --history="$2" --state=s.state --nowrite
  expect 0 "" on "$1" stream s.state batch1.tns batch2.tns -q -o "$backend.h5" --overwrite
}
for history in equations model published; do
  backend=cpu
  on_batches 1 $history
  backend=cuda
  for ranks in 1 3; do
    on_batches $ranks $history
    expect 0 "" "$close_results" cpu.h5 cuda.h5 1e-10
  done
done

# --- MTTKRP alone ----------------------------------------------------------------------------------
# bench tells the norm of its last mode's result last.
agree_in_json norm 1e-9 bench p.h5 --rank=5 --precision=double --repeat=1 -q
agree_in_json norm 1e-9 bench p.h5 --rank=5 --precision=double --repeat=1 -q --copies=one
gpu_only=--kernel=published
agree_in_json norm 1e-9 bench p.h5 --rank=5 --precision=double --repeat=1 -q
agree_in_json norm 1e-9 bench four.h5 --rank=32 --precision=double --repeat=1 -q
gpu_only=
expect 0 "sweep" on 1 bench --dense --dims=9x8x7 --rank=4 --repeat=1
finish
