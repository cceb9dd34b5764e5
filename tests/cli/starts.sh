#!/bin/sh
# cpd --starts, --rank=4,8 and --corcondia. Each of several decompositions has the same bits as
# alone. Scores agree with compare, the core consistency with numpy. Signals; refused options.
. "$(dirname "$0")/../lib/lib.sh"
needs h5diff h5dump
python=$(find_python)
script=$(cd "$(dirname "$0")" && pwd)/corcondia.py
cd "$scratch" || exit 99

"$amped" generate t.h5 --dims=300x40x50 --nnz=20k --skew=0.5 --seed=3 -q || fail "generate"
"$amped" generate q.h5 --dims=12x9x8x7 --nnz=1200 --skew=0.6 --seed=2 -q || fail "generate"
"$amped" generate p.h5 --dims=60x50x40 --nnz=20k --planted=3 --noise=0.1 --seed=5 -q || fail "generate"
"$amped" generate few.h5 --dims=30x20x3 --nnz=900 --skew=0.5 --seed=4 -q || fail "generate"
"$amped" generate five.h5 --dims=5x6x7x4x3 --nnz=400 --seed=1 -q || fail "generate"

# same_bits WHAT A B: compares weights, fits and factors of two results.
# numbers SET FILE: the numbers of a dataset, one a line, in order.
numbers() {
  h5dump -A 0 -y -w 1 -m %.17g -d "$1" "$2" | sed -n 's/^ *\([0-9.e+-]*\),\{0,1\}$/\1/p'
}

# --- several numbers of components, several starts: the bits of runs of their own ------------------
# --deterministic: the same part of the copies stays on a GPU that other programs use, too. Tiles and
# schedules may depend on the largest R; then results agree within rounding, as on other ranks.
run="--iters=6 --tol=0 --deterministic -q"
for ranks in 1 3; do
  # shellcheck disable=SC2086
  expect 0 "" on $ranks t.h5 --rank=5,3,16 $run -o many.h5 --json=many.json
  for r in $(few 2 16 5 3); do
    # shellcheck disable=SC2086
    expect 0 "" on $ranks t.h5 --rank=$r $run -o one.h5 --overwrite
    if test "$backend" = cpu; then
      same_bits "R = $r on $ranks ranks" many.r$r.h5 one.h5
    else
      close "fit for R = $r" "$(numbers /fit many.r$r.h5 | tail -n 1)" "$(numbers /fit one.h5 | tail -n 1)" 1e-5
    fi
  done
  absent many.h5
  # shellcheck disable=SC2086
  expect 0 "" on $ranks t.h5 --rank=4 --starts=4 --seed=7 $run -o best.h5 --json=starts.json
  for seed in 7 8 9 10; do # starts 2 and 4 are normal
    test $((seed % 2)) = 0 && init=normal || init=random
    # shellcheck disable=SC2086
    expect 0 "" on $ranks t.h5 --rank=4 --seed=$seed --init=$init $run -o seed$seed.h5
    numbers /fit seed$seed.h5 | tail -n 1
  done >fits.txt
  numbers /starts/fit best.h5 >recorded.txt
  same "fits of the starts on $ranks ranks" "$(cat recorded.txt)" "$(cat fits.txt)"
  at=$(awk '$1 > most { most = $1; at = NR } END { print at }' fits.txt)
  same "the best" "$(sed 's/.*"best":\([0-9]*\),.*/\1/' starts.json | grep -c "^$at\$")" 1
  same_bits "the best of 4 on $ranks ranks" best.h5 seed$((at + 6)).h5
  same "kinds of the starts" "$(grep '"event":"starts"' starts.json | grep -o '"init":"[a-z]*"' | tr -d '\n')" \
    '"init":"random""init":"normal""init":"random""init":"normal"'
  same "kinds in the result" "$(numbers /starts/normal best.h5 | tr '\n' ' ')" "0 1 0 1 "
  test $((at % 2)) = 0 && init=normal || init=random
  expect 0 "\"init\": *\"$init\"" "$amped" info best.h5
  same "its seed" "$(h5dump -a /seed best.h5 | sed -n 's/.*): \([0-9]*\)$/\1/p')" $((at + 6))
  # Row 2 of the scores: comparison with start 1. The factors of the runs are floats, added up in
  # double; compare differs only in the order of additions.
  expect 0 "" "$amped" compare seed8.h5 seed7.h5 --json=pair.json
  close "the match of two starts" "$(numbers /starts/match best.h5 | sed -n 5p)" "$(field score pair.json)" 1e-12
done
# Old SSE kernels of OpenBLAS add in an order that depends on where a thread's rows lie; an OpenBLAS
# that has no others takes them at once.
sse() {
  OPENBLAS_CORETYPE=Prescott "$amped" t.h5 --iters=12 --tol=0 --deterministic -q --backend=cpu --threads=2 "$@"
}
expect 0 "" sse --rank=3,5,7,9,16 -o sse.h5
for r in 3 5 7 9; do
  expect 0 "" sse --rank=$r -o one.h5 --overwrite
  same_bits "R = $r by SSE kernels" sse.r$r.h5 one.h5
done
same "a table for all R" "$(grep -c '"event":"ranks"' many.json)" 1
same "an end for each R" "$(grep -c '"event":"end"' many.json)" 3
same "an init for each R" "$(grep -c '"event":"init"' many.json)" 3
expect 0 "starts" "$amped" info best.h5

# --- normal starts --------------------------------------------------------------------------------
# Values of a normal start are the same on any number of ranks; a normal start differs from a uniform one.
for ranks in 1 2 3; do
  expect 0 "start: normal, seed 5" on $ranks t.h5 --rank=4 --seed=5 --init=normal --iters=1 --precision=double -o normal$ranks.h5
  close "a normal start on $ranks ranks" "$(numbers /fit normal$ranks.h5)" "$(numbers /fit normal1.h5)" 1e-10
done
expect 0 "start: random, seed 5" on 1 t.h5 --rank=4 --seed=5 --init=random --iters=1 --precision=double -o random.h5
test "$(numbers /fit random.h5)" != "$(numbers /fit normal1.h5)" && pass || fail "a normal start is the uniform one"
# The table names the kind; --init makes all starts of one kind, --nonnegative without it all uniform.
expect 0 "^ *2 *normal  *2 " on 2 t.h5 --rank=2 --starts=2 --iters=2 --nowrite
expect 0 "start 2 of 2: normal, seed 2" on 1 t.h5 --rank=2 --starts=2 --iters=1 --nowrite
expect 0 "^ *1 *normal  *1 " on 1 t.h5 --rank=2 --starts=2 --iters=1 --init=normal --nowrite
expect 0 "^ *2 *random  *2 " on 1 t.h5 --rank=2 --starts=2 --iters=1 --init=random --nowrite
expect 0 "^ *2 *random  *2 " on 1 t.h5 --rank=2 --starts=2 --iters=1 --nonnegative --nowrite
expect 0 "^ *2 *random  *2 " on 1 t.h5 --rank=2 --starts=2 --iters=1 --nonnegative=1 --init=random --nowrite
expect 2 "leave out --init" "$amped" t.h5 --rank=2 --init=normal --nonnegative --nowrite
expect 2 "a file's name" "$amped" complete t.h5 --rank=2 --init=normal --nowrite
# A checkpoint of a normal start is none of a uniform one; a file of this name is named with a path.
expect 0 "" on 1 t.h5 --rank=2 --init=normal --iters=2 --tol=0 --checkpoint=n.h5 --checkpoint-every=1 --nowrite -q
expect 3 "init=normal" on 1 t.h5 --rank=2 --iters=4 --checkpoint=n.h5 --resume --nowrite
expect 3 "seed=1" on 1 t.h5 --rank=2 --init=normal --seed=2 --iters=4 --checkpoint=n.h5 --resume --nowrite
expect 0 "^resume" on 1 t.h5 --rank=2 --init=normal --iters=4 --checkpoint=n.h5 --resume --nowrite
cp normal1.h5 normal
expect 0 "start: ./normal" on 1 t.h5 --rank=4 --init=./normal --iters=1 --nowrite
expect 0 "fits of 2 starts" on 2 t.h5 --rank=2,3 --starts=2 --iters=2 --every=1
test -f t.r2.cpd.h5 && test -f t.r3.cpd.h5 && pass || fail "default names"
expect 0 "" on 1 t.h5 --rank=2,3 --iters=1 -q -o x.cpd.h5
test -f x.r2.cpd.h5 && test -f x.r3.cpd.h5 && pass || fail "names for -o x.cpd.h5"
expect 0 "   3 .* -\$" on 1 t.h5 --rank=2,3 --starts=2 --iters=1 --nowrite
expect 0 "4 models in 1 group" on 2 t.h5 --rank=2,3 --starts=2 --plan
# The saved factors of the starts count as memory.
expect 0 "" on 2 t.h5 --rank=2,3 --plan -q --json=one.json
expect 0 "" on 2 t.h5 --rank=2,3 --starts=1000 --plan -q --json=thousand.json
if awk -v a="$(field host_bytes one.json)" -v b="$(field host_bytes thousand.json)" 'BEGIN { exit !(b > a) }'; then
  pass
else
  fail "starts take no memory"
fi
# A table can be the input of cpd: every result has labels.
printf 'a,b,c\nx,y,z\nx,v,w\nq,y,w\n' >named.csv
expect 0 "" on 2 named.csv --rank=2,1 --starts=2 --iters=2 -q
expect 0 " x" "$amped" top named.r2.cpd.h5
expect 0 " x" "$amped" top named.r1.cpd.h5

# --- core consistency -----------------------------------------------------------------------------
consistent() { # consistent TENSOR.h5 RANKS LIST PRECISION
  expect 0 "cor[ec]" on "$2" "$1" --rank="$3" --corcondia --iters=12 --tol=0 --precision="$4" -o core.h5 --json=core.json
  for f in core.h5 core.r*.h5; do
    test -f "$f" || continue
    if test -z "$python"; then
      echo "skipped: no python3 with numpy and h5py"
    elif "$python" "$script" "$1" "$f" "$4" >core.txt; then
      pass
    else
      fail "$1, $f, $4 on $2 ranks: $(cat core.txt)"
    fi
  done
  rm -f core.h5 core.r*.h5
}
for precision in float double; do
  consistent p.h5 1 2,3,5 $precision
  consistent t.h5 3 4,1 $precision
  consistent q.h5 2 3 $precision
  consistent five.h5 2 2,3 $precision
  consistent few.h5 2 4,6 $precision # more components than a mode has indices
done
# Computing the core consistency changes no factor.
# shellcheck disable=SC2086
expect 0 "" on 2 t.h5 --rank=5 $run -o plain.h5
# shellcheck disable=SC2086
expect 0 "" on 2 t.h5 --rank=5 $run --corcondia -o with.h5
same_bits "with --corcondia" with.h5 plain.h5
expect 0 "core cons" "$amped" info with.h5
# What is far below 0 is told as that, and kept as it is.
"$amped" generate noise.h5 --dims=40x30x20 --nnz=3000 --seed=1 -q || fail "generate"
expect 0 "^core consistency < -100 %" on 1 noise.h5 --rank=12 --corcondia --iters=20 --tol=0 -o noise.cpd.h5 --json=noise.json
expect 0 "^core cons. *< -100 %" "$amped" info noise.cpd.h5
if awk -v c="$(field corcondia noise.json)" 'BEGIN { exit !(c < -100) }'; then pass; else fail "no number in JSON"; fi
expect 0 "^  12  .* < -100 %  " on 1 noise.h5 --rank=12,2 --corcondia --iters=20 --tol=0 --nowrite
# Three true components, and one surplus component.
expect 0 "" on 2 p.h5 --rank=3,4 --starts=3 --corcondia --precision=double -q -o p.h5out.h5 --json=p.json
good=$(sed -n 's/.*"event":"end","rank":3,.*"corcondia":\([^,]*\),.*/\1/p' p.json)
bad=$(sed -n 's/.*"event":"end","rank":4,.*"corcondia":\([^,]*\),.*/\1/p' p.json)
if awk -v g="$good" -v b="$bad" 'BEGIN { exit !(g > 90 && b < 50) }'; then pass; else fail "R = 3: $good %, R = 4: $bad %"; fi

# A component that has nearly vanished is zero for the core, as in any pseudo-inverse, and a warning comes. Its weight is
# 1e-17 of the others'. One sweep later it is gone.
if test -n "$python"; then
  "$amped" generate two.h5 --dims=12x9x8 --nnz=400 --planted=2 --seed=3 -q || fail "generate"
  for ranks in 1 3; do
    expect 0 "warning: R = 3: the columns of mode 1's factor .* are not independent" on $ranks two.h5 --rank=3 --ridge=1 --corcondia \
      --iters=5 --tol=0 --precision=double -o tiny.cpd.h5
    h5dump -d /weights tiny.cpd.h5 | grep -q '[1-9]e-[1-9][0-9]' && pass || fail "no component has nearly vanished"
    "$python" "$script" two.h5 tiny.cpd.h5 double >core.txt && pass || fail "a vanished component: $(cat core.txt)"
    rm -f tiny.cpd.h5
  done
fi

# --- refused --------------------------------------------------------------------------------------
expect 2 "11 there are more" on 2 five.h5 --rank=11 --corcondia --nowrite
expect 0 "R = 11: no core consistency" on 2 five.h5 --rank=11,2 --corcondia --iters=1 --nowrite
expect 2 "is expected" "$amped" t.h5 --rank=4,4
expect 2 "is expected" "$amped" t.h5 --rank=4,
expect 2 "is expected" "$amped" t.h5 --rank=2-4,3
expect 2 "is expected" "$amped" t.h5 --rank=4-2
expect 2 "is expected" "$amped" t.h5 --rank=1-100
expect 0 "R = 2, 3, 4, 8," on 1 t.h5 --rank=2-4,8 --plan
expect 2 "is expected" "$amped" t.h5 --rank=4,0
expect 2 "is expected" "$amped" t.h5 --starts=0
expect 2 "one --rank" "$amped" bench t.h5 --rank=4,8
expect 2 "has no option" "$amped" bench t.h5 --starts=4
expect 2 "leave out one" "$amped" t.h5 --rank=4,8 --init=best.h5
expect 2 "leave out one" "$amped" t.h5 --rank=4 --starts=2 --init=best.h5
expect 2 "a job for each" "$amped" complete t.h5 --starts=2 --checkpoint=c.h5 --resume
expect 2 "overwritten" on 2 many.r3.h5 --rank=3,5 -o many.h5
# A result and another output in one file are refused; the old file stays.
cp many.r3.h5 OUT.r3.h5
for option in --trace --json; do
  expect 2 "another file with $option" on 2 t.h5 --rank=3,5 $option=OUT.r3.h5 -o OUT.h5
done
expect 2 "another file with --json" "$amped" cpd t.h5 --json=t.cpd.h5
same "a result that was there" "$(cksum <OUT.r3.h5)" "$(cksum <many.r3.h5)"
mkdir dir.r8.h5
expect 1 "dir.r8.h5" on 2 t.h5 --rank=4,8 -o dir.h5
absent dir.r4.h5 c.h5

# --- signals --------------------------------------------------------------------------------------
# interrupt START R ARGUMENT...: sends SIGUSR1 to mpirun when that start has begun.
interrupt() {
  start=$1
  r=$2
  shift 2
  begin 2 "\"event\":\"init\",\"rank\":$r,\"start\":$start," "$@"
  stop_by USR1
}

# This number of starts with R = 400 takes long enough, also on a fast machine.
interrupt 2 400 t.h5 --rank=2,400 --starts=60 --iters=20 --tol=0 -o signal.h5
same "status after SIGUSR1 amid starts" $status 85
same "error lines" "$(error_lines err.txt | wc -l)" 1
grep -q "at R = 400 after [0-9]* of 60 starts" err.txt && pass || fail "no line: $(cat err.txt)"
done=$(sed -n 's/.*after \([0-9]*\) of 60 .*/\1/p' err.txt)
same "starts of R = 2" "$(numbers /starts/fit signal.r2.h5 | wc -l)" 60
same "starts of R = 400" "$(numbers /starts/fit signal.r400.h5 | wc -l)" "$done"
same "a table" "$(grep -c '"event":"ranks"' live.json)" 1
interrupt 1 8 t.h5 --rank=8,3 --iters=1000000 --tol=0 -o first.h5
same "status before any start is done" $status 85
grep -q "0 of 2 values of --rank are done" err.txt && pass || fail "no line: $(cat err.txt)"
absent first.r8.h5 first.r3.h5
finish
