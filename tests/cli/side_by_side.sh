#!/bin/sh
# cpd --side-by-side: each of several models is what it is by itself, with the same lines in the same order,
# for copies, one copy, streams and dense tensors, under row rules and with accelerated sweeps, on any
# number of ranks. Models that end leave the others. Checkpoints, the plan, signals,
# refused options.
. "$(dirname "$0")/../lib/lib.sh"
needs h5diff h5dump
cd "$scratch" || exit 99

"$amped" generate t.h5 --dims=120x40x50 --nnz=8k --skew=0.5 --seed=3 -q || fail "generate"
"$amped" generate q.h5 --dims=12x9x8x7 --nnz=1200 --skew=0.6 --seed=2 -q || fail "generate"
"$amped" generate d.h5 --dims=14x12x10 --dense --planted=3 --noise=0.2 --seed=2 -q || fail "generate"
"$amped" generate exact.h5 --dims=14x12x10 --dense --planted=2 --seed=4 -q || fail "generate"

# The sums of MTTKRP have another order if tiles or schedules of a GPU depend on the width. Other tests
# use the GPU's memory, too.
tolerance=0
memory=
test "$backend" = cpu || { tolerance=1e-12; memory=--device-memory=400M; }

# lines FILE: what the JSON lines say of the models, in order; on CPUs also their fits, to the bit.
lines() {
  members='"event":"[a-z]*"|"(sweep|rank|start|sweeps|best)":[0-9]*|"reason":"[a-z-]*"'
  test $tolerance = 0 && members="$members|\"fit\":[^,}]*"
  grep -E '"event":"(init|iteration|starts|end|ranks)"' "$1" | grep -oE "$members"
}

# numbers SET FILE: the numbers of a dataset, one a line, in order.
numbers() {
  h5dump -A 0 -y -w 1 -m %.17g -d "$1" "$2" | sed -n 's/^ *\([0-9.e+-]*\),\{0,1\}$/\1/p'
}

# equal WHAT A B: two results agree to the bit on CPUs; on a GPU numbers of at most about 1 to the tolerance.
equal() {
  if test $tolerance = 0; then
    same_bits "$@"
    return
  fi
  for set in fit factors/0 factors/1 factors/2; do
    numbers /$set "$2" >a.txt
    numbers /$set "$3" >b.txt
    if test -s a.txt && paste a.txt b.txt | awk -v t=$tolerance '($1 - $2) ^ 2 > t * t { bad = 1 } END { exit bad }'; then
      pass
    else
      fail "$1, $set: $(paste a.txt b.txt | awk '{ d = $1 - $2; print d < 0 ? -d : d }' | sort -g | tail -n 1)"
    fi
  done
}

# beside RANKS TENSOR ARGUMENT...: models in groups of any size against models one by one.
beside() {
  ranks=$1
  tensor=$2
  shift 2
  common="--rank=3,2,5 --starts=3 --precision=double --deterministic -q --overwrite $memory"
  # shellcheck disable=SC2086
  expect 0 "" on "$ranks" "$tensor" $common "$@" --side-by-side=off -o off.h5 --json=off.json
  for side in auto $(few 4 2 9); do
    # shellcheck disable=SC2086
    expect 0 "" on "$ranks" "$tensor" $common "$@" --side-by-side="$side" -o on.h5 --json=on.json
    for r in 3 2 5; do
      equal "R = $r of $tensor on $ranks ranks, $side: $*" on.r$r.h5 off.r$r.h5
    done
    test "$(grep -o '"largest":[0-9]*' on.json)" != '"largest":1' && pass || fail "$side: no model is beside another: $*"
    lines off.json >off.txt
    lines on.json >on.txt
    if cmp -s off.txt on.txt; then pass; else fail "lines of $side: $(diff off.txt on.txt | head -4 | cut -c1-300)"; fi
  done
}

for ranks in 1 3; do
  beside $ranks t.h5 --iters=12
done
# Sweeps end at different numbers, so models leave one after the other.
beside 2 t.h5 --tol=3e-4 --iters=40
test "$(grep '"event":"starts"' off.json | grep -o '"sweeps":[0-9]*' | sort -u | wc -l)" -gt 2 && pass || fail "all models end together"
beside 2 q.h5 --nonnegative --iters=6
beside 1 t.h5 --ridge=0.5 --iters=5
beside 2 t.h5 --l1=0.2 --iters=5
beside 2 t.h5 --accelerate=linesearch --iters=9
beside 1 t.h5 --accelerate=momentum --iters=9
test "$backend" = cuda || beside 2 t.h5 --copies=one --iters=4 # on GPUs its sums in double have no fixed order
beside 1 d.h5 --iters=6
beside 2 d.h5 --nonnegative --iters=4
beside 1 exact.h5 --iters=30 # fits near 1: passes over the cells find them
beside 2 t.h5 --corcondia --iters=3
test "$backend" = cuda && beside 1 t.h5 --residency=stream --iters=3

# In float, fits agree as well.
expect 0 "" on 2 t.h5 --rank=4 --starts=5 --iters=10 -q -o f.h5 --side-by-side=off
expect 0 "" on 2 t.h5 --rank=4 --starts=5 --iters=10 -q -o g.h5
numbers /starts/fit f.h5 >a.txt
numbers /starts/fit g.h5 >b.txt
same "starts in float" "$(paste a.txt b.txt | awk '($1 - $2) ^ 2 <= 1e-10' | wc -l)" 5

# --- a goal: later starts of the same R leave, as if they had not begun -----------------------------
beside 2 d.h5 --stop-fit=0.7 --iters=30
grep -q '"reason":"stop-fit"' on.json && pass || fail "no start reached the goal"
expect 0 "no other start is made" on 1 d.h5 --rank=3 --starts=5 --stop-fit=0.5 --nowrite

# --- checkpoints: a file for each model --------------------------------------------------------------
# kept RANKS ARGUMENT...: 4 sweeps and a resumed run have the bits of one run; groups may change between them.
kept() {
  ranks=$1
  shift
  common="--rank=3,2 --starts=3 --precision=double --deterministic --tol=3e-4 --overwrite $memory"
  rm -f c.r*
  # shellcheck disable=SC2086
  expect 0 "" on "$ranks" t.h5 $common "$@" -q --iters=40 -o off.h5
  # shellcheck disable=SC2086
  expect 0 "" on "$ranks" t.h5 $common "$@" -q --iters=4 --checkpoint=c.h5 --checkpoint-every=3 -o on.h5
  absent c.h5
  # shellcheck disable=SC2086
  expect 0 "resume: c.r3.s2.h5, after sweep 4" on "$ranks" t.h5 $common "$@" --iters=40 --checkpoint=c.h5 --resume -o on.h5 --side-by-side=4
  equal "R = 3, resumed: $*" on.r3.h5 off.r3.h5
  equal "R = 2, resumed: $*" on.r2.h5 off.r2.h5
  # All models have ended: their results come without a sweep.
  # shellcheck disable=SC2086
  expect 0 "" on "$ranks" t.h5 $common "$@" -q --iters=40 --checkpoint=c.h5 --resume -o again.h5 --json=again.json
  equal "R = 2, from its end: $*" again.r2.h5 off.r2.h5
  same "sweeps of models that had ended: $*" "$(grep -c '"event":"iteration"' again.json)" 0
}
kept 1
kept 2 --accelerate=momentum
kept 2 --nonnegative
kept 1 --side-by-side=off
# A model's file is the checkpoint of a run of its own.
expect 0 "resume: c.r2.s2.h5, after sweep" on 1 t.h5 --rank=2 --seed=2 --init=normal --precision=double --iters=40 --nowrite --checkpoint=c.r2.s2.h5 --resume
expect 0 "" "$amped" top c.r2.s2.h5
expect 1 "c.r3.s1.h5" on 1 t.h5 --rank=3,2 --starts=3 --checkpoint=c.h5 --nowrite
expect 3 "seed=" on 1 t.h5 --rank=3,2 --starts=3 --seed=5 --precision=double --checkpoint=c.h5 --resume --nowrite
expect 2 "another with --checkpoint" "$amped" t.h5 --rank=2 --starts=2 --checkpoint=x.h5 -o x.r2.s1.h5
# A signal saves all models that had not ended.
begin 2 '"event":"iteration"' t.h5 --rank=3 --starts=4 --iters=1000000 --tol=0 --checkpoint=s.h5 -o never.h5
stop_by USR1
same "status with a checkpoint" $status 85
grep -q "names the checkpoints of 4 models" err.txt && pass || fail "no line: $(cat err.txt)"
for k in 1 2 3 4; do
  test -f s.r3.s$k.h5 && pass || fail "no checkpoint of start $k"
done
absent never.h5 s.h5.lock
sweeps=$("$amped" info s.r3.s1.h5 --json=- -q | grep -o '"sweeps":[0-9]*' | head -n 1 | tr -dc 0-9)
expect 0 "resume: s.r3.s4.h5, after sweep" on 1 t.h5 --rank=3 --starts=4 --iters=$((sweeps + 2)) --tol=0 --checkpoint=s.h5 --resume -o ended.h5

# --- the plan ---------------------------------------------------------------------------------------
expect 0 "6 models in 1 group: at most 6 side by side, in 30 columns; predicted: [0-9.]* times less time" on 1 t.h5 --rank=5 --starts=6 --plan
expect 0 "6 models in 3 groups: at most 2 side by side, in 10 columns" on 2 t.h5 --rank=5 --starts=6 --plan --side-by-side=2
expect 0 "6 models one by one" on 1 t.h5 --rank=5 --starts=6 --plan --side-by-side=off
expect 0 "6 models one by one" on 1 t.h5 --rank=5 --starts=6 --plan --method=lm
expect 0 "4 models one by one" on 1 t.h5 --rank=600 --starts=4 --plan --side-by-side=2
expect 0 "memory is planned for R = 9, the largest" on 1 t.h5 --rank=4,9 --plan --side-by-side=off
expect 0 "" on 1 t.h5 --rank=4 --plan -q --json=plan.json
grep -q '"side_by_side":null' plan.json && pass || fail "one model has groups"
# The expected time: of all models, for all sweeps. A wider model takes longer. Refused plans, and runs, expect none.
expect 0 "^time: about [0-9.e-]* s a sweep, [0-9.e-]* s for 50 sweeps;" on 1 t.h5 --rank=4 --plan
expect 0 "^time: about [0-9.e-]* s a sweep of all 6 models, [0-9.e-]* s for 7 sweeps;" on 2 t.h5 --rank=5 --starts=6 --iters=7 --plan
expect 0 "^time: about [0-9.e-]* s a sweep of all 2 models" on 1 t.h5 --rank=4,5 --plan --loss=poisson
expect 0 "^time: about [0-9.e-]* s a sweep of all 3 models" on 2 d.h5 --rank=4 --starts=3 --plan
for run in "--rank=4 --starts=2 --method=lm --plan" "--rank=4 --nowrite --iters=1" "--rank=4 --plan --device-memory=1M --residency=device"; do
  test "$backend" = cuda || test "${run%device}" = "$run" || continue
  "$amped" t.h5 $run -q --json=plan.json --overwrite >out.txt 2>&1
  grep '"event":"plan"' plan.json | grep -q '"expected":null' && pass || fail "$run expects a time"
done
expect 0 "" on 1 t.h5 --rank=4 --plan -q --json=plan.json --overwrite
awk -v a="$(field sweep_sec plan.json)" 'BEGIN { exit !(a > 0) }' && pass || fail "no time is expected"

# On a GPU, groups are smaller if the tensor would leave the device.
if test "$backend" = cuda; then
  "$amped" generate rows.h5 --dims=300000x200000x1000 --nnz=400k --seed=1 -q || fail "generate"
  for memory in 200M 400M; do
    expect 0 "side by side" on 1 rows.h5 --rank=4 --starts=12 --plan --device-memory=$memory --json=$memory.json
    same "bytes that are streamed within $memory" "$(grep -o '"streamed_bytes":[0-9]*' $memory.json | head -n 1)" '"streamed_bytes":0'
  done
  if test "$(field columns 200M.json)" -lt "$(field columns 400M.json)"; then pass; else fail "groups ignore the memory"; fi
fi

# --- refused ----------------------------------------------------------------------------------------
expect 2 "is for several models" "$amped" t.h5 --rank=4 --side-by-side=2
expect 2 "one model at a time" "$amped" t.h5 --rank=4,5 --side-by-side=2 --method=lm
expect 2 "is expected" "$amped" t.h5 --rank=4,5 --side-by-side=1
expect 2 "is expected" "$amped" t.h5 --rank=4,5 --side-by-side=1025

# --- signals: models that have ended are results -----------------------------------------------------
begin 2 '"event":"iteration"' t.h5 --rank=3 --starts=4 --iters=1000000 --tol=0 -o never.h5
stop_by USR1
same "status" $status 85
grep -q "before a start was finished" err.txt && pass || fail "no line: $(cat err.txt)"
absent never.h5
finish
