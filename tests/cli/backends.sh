#!/bin/sh
# Every capability end to end on GPUs: the results of 1 and 3 ranks are those of the CPU. A backend whose
# table lacks, or mixes up, an operation is caught here, whatever its unit tests say: they make plans of
# their own. jobs/check-gpu runs it on a GPU, tests/cli/emulated.sh on the emulated one.
#
# backends.sh [PART...]: the functions below (all), AMPED_AT_ONCE of them side by side (all).
parts="sorted rules methods copies dense sampling rows completion streams benches matrices counts"
. "$(dirname "$0")/../lib/lib.sh"
folder=$(pwd)
close_results=$folder/tests/lib/close_results
cd "$scratch" || exit 99
backend=${AMPED_TEST_BACKEND:-cuda}
if test "$backend" != cuda; then
  echo "skipped: compares GPUs with CPUs; AMPED_TEST_BACKEND is $backend"
  exit 77
fi

case $# in
  0 | 1) ;;
  *) parts=$* ;;
esac
if test $# -ne 1; then
  cd "$folder" || exit 99
  export scratch srcdir
  # shellcheck disable=SC2016,SC2086 # a list; the inner shell has the variables
  printf '%s\n' $parts | xargs -P "${AMPED_AT_ONCE-0}" -I '{}' sh -c \
    'sh "$srcdir/tests/cli/backends.sh" {} >"$scratch/{}.txt" 2>&1 || echo {} >>"$scratch/failed"'
  for part in $parts; do
    sed "s/^/$part: /" "$scratch/$part.txt"
  done
  test ! -e "$scratch/failed"
  exit
fi

# Three sweeps from the same start differ in the order of sums alone: a row's sum of some hundred products
# by 1e-14, which the inverse of a well-conditioned gram enlarges by less than 100. Floats likewise.
exact=1e-12
rough=1e-5
# Steps whose length, or equations, follow from differences: digits are lost there.
steps=1e-8
run="--iters=3 --tol=0 --precision=double -q --overwrite"
# A step of lm takes as many products as there are unknowns: small tensors.
lm="--method=lm --rank=2"
test -z "${EMULATED_SMS-}" || lm="$lm --iters=1"

# On the emulated GPU: a rank takes at most the device memory that its plan tells, and gives all of it back. Boxes and
# made tensors are sorted in whatever memory is free; the plan of a stream is one of its rows. $told has the option that
# writes the plan.
told=
if test -n "${EMULATED_SMS-}"; then
  told=--json=told.json
  EMULATED_MEMORY=$scratch/taken
  EMULATED_GPU_MIB=1500 # less than bench would read
  export EMULATED_MEMORY EMULATED_GPU_MIB
fi
forget_plan() {
  rm -f told.json taken.*
}
within_plan() { # COMMAND...: after a run with $told
  test -n "$told" || return 0
  most=$(tr ',{}' '\n\n\n' <told.json | sed -n 's/^"device_bytes":\([0-9]*\).*/\1/p' | sort -n | tail -n 1)
  case "$*" in
    *--shape=* | *--load=copies* | *stream,*) most=$((1 << 30)) ;;
  esac
  for file in taken.*; do
    read -r taken left <"$file"
    if test "$taken" -le "$most" && test "$left" -eq 0; then
      pass
    else
      fail "the plan tells $most bytes of device memory, $taken were taken, $left not given back: $*"
    fi
  done
}

# agree TOLERANCE ARGUMENT...: the command with -o, on the CPU and on 1 and 3 ranks with GPUs. $gpu_only has
# options that CPUs refuse. $ranks_of: other numbers of ranks.
gpu_only=
ranks_of="1 3"
# In the gate (AMPED_TEST_FEWER), where starts on GPUs take the time, comparisons have 3 ranks and 1 rank in turn.
turn=1
take_turns() {
  numbers=$ranks_of
  if test -n "${AMPED_TEST_FEWER-}" && test "$ranks_of" = "1 3"; then
    turn=$((4 - turn))
    numbers=$turn
  fi
}
agree() {
  tolerance=$1
  shift
  take_turns
  rm -f cpu.h5
  backend=cpu
  expect 0 "" on 1 "$@" -o cpu.h5
  backend=cuda
  for ranks in $numbers; do
    rm -f gpu.h5
    # shellcheck disable=SC2086
    forget_plan
    expect 0 "" on "$ranks" "$@" $gpu_only $told -o gpu.h5
    within_plan "$ranks ranks: $* $gpu_only"
    if "$close_results" cpu.h5 gpu.h5 "$tolerance" >differences.txt 2>&1; then
      pass
    else
      fail "$ranks ranks with GPUs differ from the CPU: $* $gpu_only"
      sed 's/^/  | /' differences.txt
    fi
  done
}
# Numbers of JSON.
agree_in_json() { # NAME TOLERANCE ARGUMENT...
  name=$1
  tolerance=$2
  shift 2
  take_turns
  backend=cpu
  expect 0 "" on 1 "$@" --json=cpu.json
  ends_of "$name" cpu.json >cpu.values
  same "a value of $*" "$(test -s cpu.values && echo found)" found
  backend=cuda
  for ranks in $numbers; do
    # shellcheck disable=SC2086
    expect 0 "" on "$ranks" "$@" $gpu_only --json=gpu.json
    ends_of "$name" gpu.json >gpu.values
    same "values of $*" "$(wc -l <gpu.values)" "$(wc -l <cpu.values)"
    while read -r want && read -r got <&3; do
      close "$name of $*" "$got" "$want" "$tolerance"
    done <cpu.values 3<gpu.values
  done
}
# The number in the end of each run of a list of R; otherwise the last one.
ends_of() {
  if grep -q '"event":"end"' "$2"; then events end "$1" "$2"; else field "$1" "$2"; fi
}

# --- tensors ---------------------------------------------------------------------------------------
make_sparse() {
  "$amped" generate p.h5 --dims=14x11x9 --planted=4 --nnz=600 --seed=2 -q || fail "generate p.h5"
  "$amped" generate four.h5 --dims=9x8x7x6 --nnz=700 --skew=0.6 --seed=3 -q || fail "generate four.h5"
  "$amped" generate small.h5 --dims=6x5x4 --nnz=55 --seed=7 -q || fail "generate small.h5"
}
# Larger than any number of components, so that grams are well-conditioned.
make_wide() {
  "$amped" generate wide.h5 --dims=110x105x102 --nnz=2k --seed=4 -q || fail "generate wide.h5"
}
# A large offset beside a signal.
make_offset() {
  awk 'BEGIN { for (i = 1; i <= 10; i++) for (j = 1; j <= 9; j++) for (k = 1; k <= 8; k++)
    printf "%d %d %d %.17g\n", i, j, k, 1e6 + cos(i) * sin(j) / k + j * k / (i + j) }' >offset.tns
}
make_dense() {
  "$amped" generate d.h5 --dense --dims=13x10x9 --planted=3 --noise=0.1 --type=double --seed=5 -q || fail "generate d.h5"
  "$amped" generate cube.h5 --dense --dims=7x6x5x8 --planted=3 --noise=0.1 --seed=6 -q || fail "generate cube.h5"
  "$amped" generate small.h5 --dense --dims=6x5x4 --planted=3 --noise=0.1 --type=double --seed=7 -q || fail "generate small.h5"
  "$amped" convert d.h5 d.npy --dense -q || fail "convert d.npy"
  "$amped" convert small.h5 small.npy --dense -q || fail "convert small.npy"
}
# Observed cells of a matrix, and two batches that follow. Whole numbers, all cells.
make_matrix() {
  awk 'function random() { seed = (seed * 16807) % 2147483647; return seed / 2147483647 }
    BEGIN {
      seed = 7
      for (i = 0; i < 40; i++) { a[i] = random(); b[i] = random() }
      for (i = 0; i < 40; i++)
        for (j = 0; j < 30; j++)
          if (random() < 0.4)
            printf "%d %d %.4f\n", i + 1, j + 1, 3 + 2 * a[i] * b[j] + b[j] + 0.1 * random() \
              >(i < 36 && j < 28 ? "seen.tns" : i < 36 ? "batch1.tns" : "batch2.tns")
    }'
  awk '{ print $1, $2, 1 + int($3) % 3 }' seen.tns >counts.tns
  "$amped" generate m.h5 --dense --dims=33x21 --planted=3 --noise=0.1 --type=double --seed=5 -q || fail "generate m.h5"
}
# Observed cells, and two batches that follow, of which the second has new rows.
make_observed() {
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
}

# --- decompositions --------------------------------------------------------------------------------
# shellcheck disable=SC2086
sorted() {
  make_sparse
  make_wide
  for r in 5 16 32 40 100; do
    agree $exact wide.h5 $run --rank=$r
  done
  agree $rough four.h5 --iters=3 --tol=0 -q --overwrite --rank=5
  agree $exact four.h5 $run --rank=6
  # Columns are nearly parallel: rows are made by two products, in one pass (R = 3) and by cuBLAS (R = 70).
  make_offset
  for r in 3 70; do
    agree_in_json fit 1e-7 offset.tns $run --rank=$r --nowrite
  done
  gpu_only=--tiles=1K
  agree $exact p.h5 $run --rank=4
}

# shellcheck disable=SC2086
counts() {
  make_observed
  poisson="counts.tns $run --loss=poisson"
  for r in 1 5 16 40 70 140; do
    agree $exact $poisson --rank=$r
  done
  agree $rough counts.tns --iters=3 --tol=0 -q --overwrite --loss=poisson --rank=9
  agree_in_json kkt 1e-9 $poisson --rank=3 --iters=6 --nowrite
  agree_in_json deviance 1e-6 $poisson --rank=3 --iters=6 --nowrite
  # More components after fewer.
  ranks_of=3
  agree_in_json deviance 1e-6 $poisson --rank=1,5,17 --nowrite
  ranks_of="1 3"
  gpu_only=--tiles=1K
  agree $exact $poisson --rank=4
  gpu_only="--residency=stream --overlap=2"
  agree $exact $poisson --rank=4 --accelerate=none
}

# shellcheck disable=SC2086
rules() {
  make_sparse
  agree $exact p.h5 $run --rank=4 --nonnegative
  agree $exact p.h5 $run --rank=4 --ridge=0.1
  agree $exact p.h5 $run --rank=4 --l1=0.01
  agree $exact p.h5 $run --rank=4 --accelerate=momentum
  agree $exact p.h5 $run --rank=4 --accelerate=linesearch
}

# shellcheck disable=SC2086
methods() {
  make_sparse
  agree $steps small.h5 $run $lm
  agree $exact p.h5 $run --rank=3 --starts=2
  # Models that end at different times: columns of the others move; then fewer components.
  ranks_of=3
  for gpu_only in "" --copies=one; do
    agree_in_json fit 1e-9 p.h5 --iters=30 --tol=1e-3 --precision=double -q --rank=4,2 --starts=2 --nowrite
  done
  # More components after fewer, and fewer after more: factors and parts change their sizes.
  ranks_of=3
  for gpu_only in "" --copies=one --residency=stream; do
    agree_in_json fit 1e-9 p.h5 $run --rank=5,40,3 --side-by-side=off --nowrite
  done
  gpu_only=
  "$amped" generate d.h5 --dense --dims=13x10x9 --planted=3 --noise=0.1 --type=double --seed=5 -q || fail "generate d.h5"
  "$amped" convert d.h5 d.npy --dense -q || fail "convert d.npy"
  agree_in_json fit 1e-9 d.npy $run --rank=2,6,3 --side-by-side=off --nowrite
  ranks_of="1 3"
  # Residuals of 1e-9, which the difference of norms loses, of copies, of one copy, and of cells.
  awk 'BEGIN { for (i = 1; i <= 5; i++) for (j = 1; j <= 4; j++) for (k = 1; k <= 3; k++)
    printf "%d %d %d %.17g\n", i, j, k, cos(i) * exp(j / 3) / k * (1 + 1e-9 * sin(7 * i + 5 * j * k)) }' >product.tns
  "$amped" convert product.tns product.npy --dense -q || fail "convert product.npy"
  for gpu_only in "" --copies=one; do
    agree_in_json fit 1e-11 product.tns $run --rank=1 --nowrite
  done
  gpu_only=
  agree_in_json fit 1e-11 product.npy $run --rank=1 --nowrite
  agree_in_json corcondia 1e-7 p.h5 $run --rank=2 --corcondia --nowrite
  expect 0 "^  GPU 0 " "$amped" info --system
  expect 0 ": GPU 0 .* free, UUID GPU-" on 1 p.h5 --rank=2 --iters=1 --nowrite
  # A checkpoint of GPUs is gone on from on GPUs, and gives the run without interruption.
  backend=cpu
  expect 0 "" on 1 p.h5 $run --rank=5 -o cpu.h5
  backend=cuda
  for ranks in 1 3; do
    rm -f k.h5 k.h5.prev
    expect 0 "" on $ranks p.h5 --iters=2 --tol=0 --precision=double -q --rank=5 --checkpoint=k.h5 --checkpoint-every=1 --nowrite
    expect 0 "" on $ranks p.h5 $run --rank=5 --checkpoint=k.h5 --resume -o gpu.h5
    expect 0 "" "$close_results" cpu.h5 gpu.h5 $exact
  done
}

# shellcheck disable=SC2086
copies() {
  make_sparse
  "$amped" generate five.h5 --dims=6x5x7x3x4 --nnz=500 --seed=4 -q || fail "generate five.h5"
  "$amped" convert four.h5 list.tns -q || fail "convert list.tns"
  agree $exact five.h5 $run --rank=4
  agree $exact list.tns $run --rank=6
  # One index has most nonzeros, so that ranks share it.
  "$amped" generate heavy.tns --dims=9x40x30 --nnz=2k --skew=3,0,0 --seed=5 -q || fail "generate heavy.tns"
  agree $exact heavy.tns $run --rank=4 --placement=equal
  gpu_only=--device-memory=256M
  agree $exact p.h5 $run --rank=4 --deterministic
  gpu_only=
  agree $exact p.h5 $run --rank=4 --copies=one
  agree $rough four.h5 --iters=3 --tol=0 -q --overwrite --rank=6 --copies=one
  gpu_only=--residency=stream
  agree $exact p.h5 $run --rank=4
  ranks_of=3
  agree $exact p.h5 $run --rank=4 --copies=one
  ranks_of="1 3"
  # A GPU would order the first copy of a file in memory: all are read only if the user says so.
  gpu_only=--load=copies
  agree $exact p.h5 $run --rank=4
  ranks_of=3
  agree $exact p.h5 $run --rank=4 --copies=one
  # One copy in an order that no amount of memory changes.
  gpu_only="--copies=one --deterministic --device-memory=256M"
  agree $rough p.h5 --iters=3 --tol=0 -q --overwrite --rank=4
  # Tensors made in memory.
  for gpu_only in "" --copies=one; do
    agree $exact --shape=nell2 --nnz=2k --scale=1e-3 $run --rank=4
  done
  # Ranks that share every index of a nonzero look for coordinates that repeat.
  python=$(plain_python)
  if test -n "$python"; then
    printf '1 1 1 2\n1 1 1 3\n' >pair.tns
    "$amped" convert pair.tns pair.h5 --duplicates=keep -q || fail "convert pair.h5"
    "$python" "$srcdir/tests/cli/h5py_files.py" list pair.h5 list.h5 || fail "h5py wrote no list.h5"
    expect 0 "1 nonzeros repeat a coordinate" on 3 list.h5 $run --rank=1 --placement=equal --nowrite
  fi
  ranks_of="1 3"
  # The norms of MTTKRP's results, the last mode's of which is found.
  gpu_only=
  agree_in_json result_norm 1e-9 bench p.h5 --rank=5 --precision=double --repeat=1 -q --copies=one
  gpu_only=--kernel=published
  agree_in_json result_norm 1e-9 bench p.h5 --rank=5 --precision=double --repeat=1 -q
  agree_in_json result_norm 1e-9 bench four.h5 --rank=32 --precision=double --repeat=1 -q
}

# --- dense tensors ---------------------------------------------------------------------------------
# shellcheck disable=SC2086
dense() {
  make_dense
  agree $exact d.npy $run --rank=4
  ranks_of=3
  agree $rough cube.h5 --iters=3 --tol=0 -q --overwrite --rank=2
  ranks_of="1 3"
  agree $exact d.npy $run --rank=3 --nonnegative
  agree $exact d.npy $run --rank=3 --accelerate=momentum
  agree $steps small.npy $run $lm
  # A run that goes on has the bits of one without interruption: contractions are made anew as they were.
  expect 0 "" on 1 d.h5 $run --iters=8 --rank=4 -o whole.h5
  for sweeps in 2 3 5; do
    rm -f k.h5 k.h5.prev
    expect 0 "" on 1 d.h5 $run --iters=$sweeps --rank=4 --checkpoint=k.h5 --checkpoint-every=1 --nowrite
    expect 0 "" on 1 d.h5 $run --iters=8 --rank=4 --checkpoint=k.h5 --resume -o gpu.h5
    expect 0 "" "$close_results" whole.h5 gpu.h5 0
  done
  gpu_only=--residency=stream
  ranks_of=3
  agree $exact d.h5 $run --rank=4
  ranks_of="1 3"
  expect 0 "sweep" on 3 bench --dense --dims=9x8x7 --rank=4 --repeat=1
}

# Samples of slabs in memory are drawn for a number of ranks, so that one rank alone compares; those of a
# file are the same.
# shellcheck disable=SC2086
sampling() {
  make_dense
  rbs="--method=rbs --epochs=3 --search=2 --tol=0 --precision=double -q --overwrite --rank=2"
  ranks_of=1
  agree $steps d.npy $rbs --sample=blocks --block=4
  agree $steps d.npy $rbs --sample=slices --block=5
  agree $steps d.npy $rbs --sample=blocks --block=4 --nonnegative
  ranks_of="1 3"
  agree $steps d.h5 $rbs --memory=8K --block=4
}

# --- completion ------------------------------------------------------------------------------------
# Kernels of all numbers of components.
# shellcheck disable=SC2086
rows() {
  make_observed
  for r in 5 16 32 40 100; do
    agree $exact $fit --rank=$r
  done
  agree $rough complete seen.tns --iters=3 --tol=0 -q --overwrite --reg=1 --rank=5
  # The error at training entries is a difference of values that are alike.
  agree 1e-3 complete seen.tns --iters=3 --tol=0 -q --overwrite --reg=20 --rank=40
}

# shellcheck disable=SC2086
completion() {
  make_observed
  agree $exact $fit --rank=6 --block=2
  agree $exact $fit --rank=4 --method=ccd
  agree $exact $fit --rank=4 --method=sgd
  ranks_of=3
  agree_in_json objective 1e-8 $fit --rank=1,5,17 --method=sgd --nowrite
  ranks_of="1 3"
  # A small penalty, so that no component vanishes: its unit columns would be rounding.
  agree $exact complete seen.tns --iters=3 --tol=0 --precision=double -q --overwrite --reg=0.01 --rank=3 --nonnegative
  agree $exact $fit --rank=4 --bias=none
  agree $exact $fit --rank=4 --context=none
  agree $exact $fit --rank=4 --holdout=0 --weights=counts.tns
  agree $exact $fit --rank=4 --holdout=0 --weights=counts.tns --method=ccd
  agree $exact complete seen.tns --iters=3 --tol=0 --precision=double -q --overwrite --reg=0.01 --rank=3 --nonnegative \
    --holdout=0 --weights=counts.tns --method=ccd
  agree $exact complete seen.tns --iters=2 --tol=0 --precision=double -q --overwrite --reg=0.01 --rank=3 --nonnegative \
    --bias=none --method=ccd
  # Without a penalty, sums of floats hide which rows are unique.
  agree_in_json objective 1e-4 complete seen.tns --iters=3 --tol=0 -q --reg=0 --reg-bias=0 --rank=3 --holdout=0 --method=ccd --nowrite
  agree_in_json objective 1e-4 complete seen.tns --iters=3 --tol=0 -q --reg=0 --reg-bias=0 --rank=3 --holdout=0 --method=ccd \
    --weights=counts.tns --nowrite
  agree $rough $float --rank=20 --holdout=0 --weights=counts.tns --method=ccd
  agree $exact complete counts.tns --implicit=10 --iters=3 --tol=0 --precision=double -q --overwrite --reg=1 --rank=4
  # Ranks share the rows of an index with most entries.
  "$amped" generate heavy.tns --dims=9x20x15 --nnz=600 --skew=3,0,0 --seed=5 -q || fail "generate heavy.tns"
  shared="complete heavy.tns --placement=equal --iters=3 --tol=0 --precision=double -q --overwrite --reg=1 --rank=4"
  ranks_of=3
  agree $exact $shared
  agree $exact $shared --block=2
  agree $exact $shared --method=ccd
  awk '!/^#/ { $4 = 1 + NR % 3; print }' heavy.tns >heavy.weights.tns
  agree $exact $shared --method=ccd --weights=heavy.weights.tns
  agree $exact $shared --method=sgd
  ranks_of="1 3"
  gpu_only=--residency=stream
  agree $exact $fit --rank=4
}

# --- streams ---------------------------------------------------------------------------------------
# after_batches RANKS HISTORY: a first fit and two batches, on the backend.
rank=4
after_batches() {
  rm -f s.state*
  expect 0 "" on "$1" complete seen.tns --iters=3 --tol=0 --precision=double -q --reg=1 --rank=$rank --history="$2" --bias=none --state=s.state --nowrite
  forget_plan
  # shellcheck disable=SC2086
  expect 0 "" on "$1" stream s.state batch1.tns batch2.tns --forget=0.9 -q -o "$backend.h5" --overwrite $told
  test $backend = cpu || within_plan "$1 ranks: stream, history of $2"
}
# Every history: batches on GPUs, of 1 and 3 ranks, beside the CPU.
same_batches() {
  for history in equations model published; do
    backend=cpu
    after_batches 1 $history
    backend=cuda
    for ranks in 1 3; do
      after_batches $ranks $history
      if "$close_results" cpu.h5 cuda.h5 $steps >differences.txt 2>&1; then
        pass
      else
        fail "history of $history: batches on $ranks ranks with GPUs differ from the CPU"
        sed 's/^/  | /' differences.txt
      fi
    done
  done
}
streams() {
  make_observed
  same_batches
  for history in equations model published; do
    backend=cuda
    after_batches 3 $history
    # The same bits twice.
    mv cuda.h5 again.h5
    after_batches 3 $history
    expect 0 "" "$close_results" again.h5 cuda.h5 0
  done
  # A state goes from CPUs to GPUs and back.
  backend=cpu
  after_batches 1 equations
  rm -f s.state*
  expect 0 "" on 1 complete seen.tns --iters=3 --tol=0 --precision=double -q --reg=1 --rank=4 --bias=none --state=s.state --nowrite
  backend=cuda
  expect 0 'learnt 1 batch;' on 3 stream s.state batch1.tns --forget=0.9
  backend=cpu
  cp s.state back.state
  cp s.state.journal back.state.journal 2>/dev/null || true
  expect 0 'learnt 1 batch;' on 1 stream back.state batch2.tns --forget=0.9 -o back.h5
  expect 0 "" "$close_results" cpu.h5 back.h5 $steps
  backend=cuda
  expect 0 'rows a rank at most, on its GPU' on 1 stream s.state batch2.tns --forget=0.9 -o cuda.h5 --overwrite
  expect 0 "" "$close_results" cpu.h5 cuda.h5 $steps
  # Histories that a GPU does not hold.
  expect 1 'needs .* of GPU memory for its rows' "$amped" stream s.state batch1.tns --backend=cuda --device-memory=1M
}

# What bench times: it runs, and finds its bounds.
# shellcheck disable=SC2086
benches() {
  make_sparse
  make_observed
  "$amped" convert seen.tns seen.h5 -q || fail "convert seen.h5"
  "$amped" convert counts.tns counts.h5 -q || fail "convert counts.h5"
  bench="--rank=4 --precision=double --repeat=1"
  for ranks in 1 3; do
    expect 0 "bound" on $ranks bench p.h5 $bench --whole
    expect 0 "" on $ranks bench seen.h5 $bench --complete
    expect 0 "" on $ranks bench seen.h5 $bench --stream=20
  done
  expect 0 "" on 1 bench counts.h5 $bench --loss=poisson
  for method in --method=ccd --method=sgd "--block=2 --nonnegative"; do
    expect 0 "" on 1 bench seen.h5 $bench --complete $method
  done
}

# --- matrices --------------------------------------------------------------------------------------
# shellcheck disable=SC2086
matrices() {
  make_matrix
  "$amped" generate wide.h5 --dims=110x105 --nnz=2k --seed=4 -q || fail "generate wide.h5"
  for r in 5 33 100; do
    agree $exact wide.h5 $run --rank=$r --nonnegative
  done
  agree $rough counts.tns --iters=3 --tol=0 -q --overwrite --rank=5 --nonnegative
  agree $exact counts.tns $run --rank=4 --nonnegative --copies=one
  agree $exact m.h5 $run --rank=4 --nonnegative
  rbs="--method=rbs --epochs=3 --search=2 --tol=0 --precision=double -q --overwrite --rank=2 --nonnegative"
  ranks_of=1
  agree $steps m.h5 $rbs --sample=blocks --block=6
  agree $steps m.h5 $rbs --sample=slices --block=5
  ranks_of="1 3"
  agree $steps m.h5 $rbs --memory=8K --block=5
  for method in als ccd sgd; do
    agree $exact $fit --rank=4 --method=$method
    agree $rough $float --rank=20 --method=$method
  done
  agree $exact $fit --rank=4 --bias=none
  agree $exact $fit --rank=4 --block=2
  agree $rough complete wide.h5 --iters=3 --tol=0 -q --overwrite --reg=1 --rank=40
  agree $rough complete wide.h5 --iters=3 --tol=0 -q --overwrite --reg=1 --rank=90
  agree $exact $fit --rank=4 --holdout=0 --weights=counts.tns
  agree $exact complete counts.tns --implicit=10 --iters=3 --tol=0 --precision=double -q --overwrite --reg=1 --rank=4
  rank=2
  same_batches
  gpu_only=--tiles=1K
  agree $exact counts.tns $run --rank=4 --nonnegative
  gpu_only=--residency=stream
  agree $exact $fit --rank=4
}

float="complete seen.tns --iters=3 --tol=0 -q --overwrite --reg=1"
fit="complete seen.tns --iters=3 --tol=0 --precision=double -q --overwrite --reg=1"
"$1"
finish
