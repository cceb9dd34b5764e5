#!/bin/sh
# What a run tells: progress under mpirun, lines of sweeps, the last line, notes about cores and R.
. "$(dirname "$0")/../lib/lib.sh"
cd "$scratch" || exit 99

"$amped" generate t.h5 --dims=12x9x8 --nnz=400 --seed=1 -q || fail "generate"
"$amped" generate small.h5 --dims=3x4x5 --nnz=30 --seed=1 -q || fail "generate"
"$amped" generate few.h5 --dims=30x40x50 --nnz=9 --seed=1 -q || fail "generate"

# lines WHAT COUNT PATTERN FILE: the file has so many lines with the pattern.
lines() { same "$1" "$(grep -c -e "$3" "$4")" "$2"; }

# terminal COMMAND: its output, on a terminal.
terminal() { script -qec "$1" /dev/null </dev/null; }

# --- sweeps: in a log ever fewer lines, on a terminal all; JSON has all ------------------------------
run="t.h5 --rank=2 --tol=0 --nowrite"
for start in "on 2" "$amped"; do
  # shellcheck disable=SC2086
  $start $run --iters=250 --json=run.json >out 2>err || fail "250 sweeps"
  lines "lines of a log" 38 '^sweep ' out
  lines "the 20th sweep" 1 '^sweep  20 ' out
  lines "the 21st sweep" 0 '^sweep  21 ' out
  lines "the 200th sweep" 1 '^sweep 200 ' out
  lines "why lines are missing" 1 '^(from here on .*--every=1' out
  lines "JSON lines" 250 '"event": *"iteration"' run.json
done
on 1 $run --iters=25 --every=10 >out 2>err || fail "--every"
same "--every=10" "$(sed -n 's/^sweep *\([0-9]*\) .*/\1/p' out | tr '\n' ' ')" "1 10 20 "
on 1 $run --iters=25 --every=1 >out 2>err || fail "--every=1"
lines "--every=1" 25 '^sweep ' out
expect 2 "--every" "$amped" $run --every=0
share=
test "$backend" = cuda && share=--share-gpus
if has_terminals; then
  for start in "$mpirun ${AMPED_MPIRUN_FLAGS-} -np 2 $amped" "$amped"; do
    terminal "$start $run --iters=30 --backend=$backend $share --threads=1" >out
    lines "lines on a terminal" 30 'sweep  *[0-9]*  fit' out
    terminal "$start $run --iters=30 --backend=$backend $share --threads=1 >log"
    lines "lines of a log, started on a terminal" 21 'sweep  *[0-9]*  fit' log
  done
fi

# --- reading: under mpirun a line after some seconds, elsewhere on a terminal alone -----------------
# A pipe that rank 0 opens: its pause comes after the program has begun to read. (Standard input would
# lie in mpirun's memory by then.)
mkfifo slow.tns
# slow COMMAND...: with that input.
slow() {
  {
    echo "1 1 1 1"
    yes "2 2 2 2" | head -n 300000
    sleep 6
    yes "3 1 2 3" | head -n 300000
  } >slow.tns &
  "$@" >out 2>err || fail "slow input"
  kill $! 2>/dev/null # where nobody opened the pipe
  wait
}
slow on 2 slow.tns --rank=1 --iters=1 --nowrite
grep -q '^reading: ' err && pass || fail "no progress under mpirun: $(cat err)"
slow on 2 slow.tns --rank=1 --iters=1 --nowrite --progress=never
lines "--progress=never" 0 '^reading: ' err
slow "$amped" slow.tns --rank=1 --iters=1 --nowrite --backend="$backend"
lines "progress without mpirun" 0 '^reading: ' err

# --- the last line: the change of fit and the tolerance; -q has it, too, and nothing else -----------
on 2 t.h5 --rank=2 --iters=500 --tol=1e-4 -o end.h5 --json=end.json >out 2>err || fail "tolerance"
pattern='fit 0\.[0-9]* after [0-9]* sweeps (fit changed by [0-9.]*e-[0-9]* < 0.0001 = --tol)'
lines "reached the tolerance" 1 "^$pattern; " out
change=$(sed -n 's/.*changed by \([^ ]*\) <.*/\1/p' out)
close "change of fit" "$change" "$(field change end.json)" 1e-6
on 2 t.h5 --rank=2 --iters=500 --tol=1e-4 -o end.h5 -q >out 2>err || fail "-q"
same "lines of -q" "$(cat out err | wc -l)" 1
lines "-q tells fit and file" 1 "^$pattern; result: end.h5\$" out
on 1 t.h5 --rank=2 --iters=3 --tol=1e-12 --nowrite -q >out 2>err || fail "-q --nowrite"
lines "--iters and --tol" 1 '^fit [0-9.]* after 3 sweeps (--iters reached; fit changed by [0-9.e-]*, --tol=1e-12)$' out
on 1 t.h5 --rank=2 --iters=1 --tol=0 --nowrite -q >out 2>err || fail "one sweep"
lines "one sweep has no change" 1 '^fit [0-9.]* after 1 sweep (--iters reached)$' out
on 2 t.h5 --rank=2,3 --starts=2 --iters=2 -o many.h5 -q >out 2>err || fail "several"
same "lines of -q for two R, with a table" "$(cat out err | wc -l)" 5
lines "the table of -q" 1 '^   2  0\.[0-9]* *2  iterations .* many.r2.h5$' out
lines "R of each" 1 '^R = 3: fit .*; result: many.r3.h5$' out
# Several runs: a line a run, unless --every asks for sweeps.
on 2 t.h5 --rank=2-4 --starts=3 --iters=5 --tol=0 --nowrite >out 2>err || fail "a line a run"
lines "sweeps" 0 '^sweep ' out
lines "runs" 9 '^R = [234], start [123] of 3: [a-z]*, seed [123]: fit 0\.[0-9]* after 5 sweeps (--iters reached; fit changed by [0-9.e-]*), [0-9.]* s$' out
lines "results" 3 '^R = [234]: fit ' out
lines "rows of the table" 3 '^   [234]  0\.[0-9]*  *5  iterations  .*  [01]\.[0-9]* ' out
lines "runs that ended early" 1 '^note: R = 2, 3, 4 reached --iters' out
on 1 t.h5 --rank=2,3 --iters=5 --tol=0 --nowrite --json=lines.json >out 2>err || fail "a line an R"
lines "runs of one start" 2 '^R = [23]: fit 0\.[0-9]* after 5 sweeps' out
lines "no agreement of one start" 2 '^   [23]  0\.[0-9]*  *5  iterations  .*  *-  ' out
same "sweeps in JSON" "$(grep -c '"event":"iteration"' lines.json)" 10
on 1 t.h5 --rank=2,3 --starts=2 --iters=5 --tol=0 --nowrite --every=1 >out 2>err || fail "--every=1 of several"
lines "sweeps with --every" 20 '^sweep ' out
on 1 t.h5 --rank=3 --starts=2 --iters=5 --tol=0 --nowrite >out 2>err || fail "starts"
lines "a line a start" 2 '^R = 3, start [12] of 2: ' out
lines "the table of starts" 1 '^start  *kind ' out
on 2 complete t.h5 --rank=2-3 --reg=1,2 --iters=3 --race=off --nowrite >out 2>err || fail "complete"
lines "sweeps of complete" 0 '^sweep ' out
lines "runs of complete" 4 '^R = [23], run [12] of 2: reg [12].*: rmse [0-9.]* in sweep [123] of 3, which ended on iterations$' out
on 1 t.h5 --rank=2 --iters=2 --nowrite -q --json=- >out 2>err || fail "JSON on standard output"
same "JSON alone on standard output" "$(grep -c -v "^{.*}\$" out)" 0
lines "the last line is on standard error" 1 '^fit ' err

# --- the quickstart's run converges ------------------------------------------------------------------
options=$(sed -n 's/^run mpirun .* amped_mpi words.h5 \(.*\) \$backend --overwrite$/\1/p' "$srcdir/jobs/quickstart")
same "options of the quickstart" "${options%% *}" "--rank=8"
if "$srcdir/jobs/licence-words" >words.csv 2>err; then
  "$amped" convert words.csv words.h5 --keys=licence,word,next --value=count -q || fail "licence words"
  # shellcheck disable=SC2086
  expect 0 '< 1e-06 = --tol' on 2 words.h5 $options --nowrite -q
else
  echo "skipped: the quickstart's run: $(tail -n 1 err)"
fi

# --- R beyond what the dimensions, or the nonzeros, leave as rank -----------------------------------
expect 0 "note: R = 13 .* 3 x 4 x 5 .* 12 components" on 1 small.h5 --rank=13 --iters=1 --nowrite
expect 0 "note: R = 13 " on 2 small.h5 --rank=2,13 --plan
expect 0 "note: R = 10 .* 9 nonzeros" on 1 few.h5 --rank=10 --iters=1 --nowrite
for tensor in "small 12" "few 9"; do
  on 1 "${tensor% *}.h5" --rank="${tensor#* }" --iters=1 --nowrite >out 2>err || fail "$tensor"
  lines "no note at the bound" 0 "note: R" out
done

# --- cores that mpirun leaves idle ------------------------------------------------------------------
bound() {
  # shellcheck disable=SC2086
  timeout -k 10 300 $mpirun ${AMPED_MPIRUN_FLAGS-} "$@"
}
if test "$backend" != cpu; then
  echo "skipped: cores left idle, which concern CPUs"
elif test "$(nproc)" -lt 2 || ! bound --bind-to core -np 1 true >out 2>&1; then
  echo "skipped: cores left idle: one core, or mpirun cannot bind here"
else
  small="t.h5 --rank=2 --iters=1 --nowrite --backend=cpu"
  # shellcheck disable=SC2086
  {
    expect 0 "note: mpirun .* to 1 of [0-9]* cores.*mpirun --bind-to none" bound --bind-to core -np 1 "$amped" $small
    bound --bind-to none -np 1 "$amped" $small >out 2>err
    lines "no note where nothing is bound" 0 "note: mpirun" out
    bound --bind-to core -np 1 "$amped" $small --threads=1 >out 2>err
    lines "no note where one thread is asked for" 0 "note: mpirun" out
    bound --bind-to core -np "$(nproc)" "$amped" $small >out 2>err
    lines "no note where all cores are in use" 0 "note: mpirun" out
    "$amped" $small >out 2>err
    lines "no note without mpirun" 0 "note: mpirun" out
    taskset -c 0 "$amped" $small >out 2>err
    lines "no note without mpirun, on one core" 0 "note: mpirun" out
  }
fi

finish
