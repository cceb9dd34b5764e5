#!/bin/sh
# Files that a run writes: what it replaces, what it refuses to replace, the room that it looks for
# first, and what remains where it is stopped by a signal or a full disk.
. "$(dirname "$0")/../lib/lib.sh"
needs perl ps
cd "$scratch" || exit 99
mkdir scratch
TMPDIR=$scratch/scratch
export TMPDIR

"$amped" generate t.h5 --dims=30x20x40 --nnz=3k --seed=3 -q || fail "generate"
"$amped" generate u.h5 --dims=30x20x40 --nnz=3k --seed=4 -q || fail "generate"
echo "my own notes" >notes
run="t.h5 --rank=3 --iters=2 --tol=0"
refused="exists and .*--overwrite"

# keeps FILE PATTERN ARGUMENT...: the program alone is refused, and FILE stays. replaces FILE
# ARGUMENT...: with --overwrite it is not, and FILE changes.
keeps() {
  kept=$1
  pattern=$2
  shift 2
  cp "$kept" before
  expect 1 "$kept: $pattern" "$amped" "$@"
  cmp -s before "$kept" && pass || fail "$kept was changed: $*"
}
replaces() {
  kept=$1
  shift
  cp "$kept" before
  expect 0 "" "$amped" "$@" --overwrite
  cmp -s before "$kept" && fail "$kept was not replaced: $*" || pass
}

# --- results --------------------------------------------------------------------------------------
# shellcheck disable=SC2086
expect 0 "result: t.cpd.h5 in the current folder" on 2 $run
# shellcheck disable=SC2086
expect 0 "t.cpd.h5: exists, and will be replaced: it is the result of the same input" on 2 $run --seed=2
keeps t.cpd.h5 "$refused" t.h5 --rank=4 --iters=2
grep -q "of the same input with 3 components, not 4" err && pass || fail "no numbers of components"
keeps t.cpd.h5 "exists and is the result of another input" u.h5 --rank=3 --iters=2 -o t.cpd.h5
expect 1 "$refused" on 2 t.h5 --rank=4 --iters=2
replaces t.cpd.h5 t.h5 --rank=4 --iters=2 -q
for file in notes u.h5; do
  cp $file x.h5
  # shellcheck disable=SC2086
  keeps x.h5 "$refused" $run -o x.h5
done
# shellcheck disable=SC2086
replaces x.h5 $run -o x.h5 -q
# Several results: one that may not be replaced stops the run before the first sweep.
"$amped" u.h5 --rank=5 --iters=1 -q -o s.r5.h5 || fail "cpd"
keeps s.r5.h5 "$refused" t.h5 --rank=3,5 --iters=1 -o s.h5
absent s.r3.h5
# shellcheck disable=SC2086
keeps notes "$refused" t.h5 --rank=3 --iters=1 --nowrite --checkpoint=notes

# --- what holds nothing is written: empty files, pipes, devices -----------------------------------
: >empty
: >j.lines
# shellcheck disable=SC2086
expect 0 "" on 1 $run -o empty --json=j.lines -q
expect 0 "result" "$amped" info empty
mkfifo pipe.h5
cat pipe.h5 >through.h5 &
# shellcheck disable=SC2086
expect 0 "" on 1 $run -o pipe.h5 -q
wait $!
test -p pipe.h5 && pass || fail "the pipe was replaced"
expect 0 "components   3" "$amped" info through.h5
cat pipe.h5 >through.h5 &
expect 0 "" "$amped" convert t.h5 pipe.h5 -q
wait $!
expect 0 "verified" "$amped" info through.h5 --verify
# shellcheck disable=SC2086
expect 0 "" on 1 $run -o /dev/null -q
test -c /dev/null && pass || fail "/dev/null was replaced"
# shellcheck disable=SC2086
expect 0 "" on 1 $run --nowrite --trace=/dev/null -q
ls scratch/amped.* >/dev/null 2>&1 && fail "left of pipes and devices: $(ls scratch)" || pass

# --- tensors and text -----------------------------------------------------------------------------
expect 0 "" "$amped" convert t.h5 t.tns -q
keeps t.tns "$refused" convert u.h5 t.tns
expect 0 "" "$amped" convert t.tns n.h5 -q
expect 0 "n.h5: exists, and will be replaced: it is the tensor of the same input" "$amped" convert t.tns n.h5
keeps n.h5 "exists and is the tensor of another input" convert u.h5 n.h5
keeps n.h5 "exists and is the tensor of another input" convert u.h5 n.h5 --memory=1M
keeps n.h5 "$refused" generate n.h5 --dims=3x4x5 --nnz=9
cp notes notes.txt
keeps notes.txt "$refused" convert t.h5 notes.txt
cp notes m.h5
keeps m.h5 "$refused" convert t.h5 m.h5
replaces m.h5 convert t.h5 m.h5
replaces n.h5 convert u.h5 n.h5
expect 0 "" "$amped" convert through.h5 again.tns -q
cp notes p.planted.h5
keeps p.planted.h5 "$refused" generate p.h5 --dims=9x8x7 --nnz=99 --planted=2
absent p.h5
expect 0 "" "$amped" convert t.cpd.h5 f.npy -q
keeps f.weights.npy "$refused" convert t.cpd.h5 f.npy
expect 0 "" "$amped" convert t.cpd.h5 f.npy --overwrite

# --- JSON lines and traces ------------------------------------------------------------------------
for command in "t.h5 --rank=3 --iters=1 --nowrite" "convert t.h5 l.h5" \
  "generate g.h5 --dims=3x4x5 --nnz=9" "info t.h5" "info --system" "top t.cpd.h5" \
  "compare t.cpd.h5 t.cpd.h5" "bench t.h5 --rank=3 --repeat=1"; do
  # shellcheck disable=SC2086
  keeps notes "$refused" $command --json=notes
  # Its own lines, those of the command before, are replaced.
  # shellcheck disable=SC2086
  expect 0 "" "$amped" $command --json=j.lines
done
# The name of another output is refused before a file is made, and before one is replaced.
for command in "convert t.h5 twice.h5" "convert t.cpd.h5 twice.h5" "generate twice.h5 --dims=3x4x5 --nnz=9" "plot t.cpd.h5 -o twice.h5" \
  "predict t.cpd.h5 t.h5 -o twice.h5"; do
  # shellcheck disable=SC2086
  expect 2 "two outputs\|an input of this run" "$amped" $command --json=./twice.h5
  absent twice.h5
done
# shellcheck disable=SC2086
keeps notes "$refused" $run --nowrite --trace=notes
for again in 1 2; do
  # shellcheck disable=SC2086
  expect 0 "" on 2 $run --nowrite --trace=trace
done
cp notes both
# shellcheck disable=SC2086
replaces both $run --nowrite --trace=both -q

# --- checkpoints ----------------------------------------------------------------------------------
long="t.h5 --rank=3 --tol=0 --nowrite --checkpoint=c.h5 --checkpoint-every=1"
# shellcheck disable=SC2086
expect 0 "" on 2 $long --iters=1
# shellcheck disable=SC2086
keeps c.h5 "exists and is the checkpoint of a run, which --resume continues" $run --nowrite --checkpoint=c.h5
# shellcheck disable=SC2086
expect 0 "after sweep 1" on 2 $long --iters=2 --resume
mv c.h5 moved.h5
# shellcheck disable=SC2086
keeps c.h5.prev "$refused" $run --nowrite --checkpoint=c.h5
# shellcheck disable=SC2086
expect 0 "" on 2 $long --iters=1 --overwrite
expect 0 "fit .* after 1 sweeps" "$amped" info c.h5

# --- plots ----------------------------------------------------------------------------------------
if command -v gnuplot >/dev/null; then
  for file in four.svg four.svg four.png four.png four.gp four.gp; do
    expect 0 "four" "$amped" plot t.cpd.h5 -o $file
  done
  cp notes four.svg
  keeps four.svg "$refused" plot t.cpd.h5 -o four.svg
  replaces four.svg plot t.cpd.h5 -o four.svg
else
  echo "skipped: plots (no gnuplot)"
fi

# --- signals --------------------------------------------------------------------------------------
# stop SIGNAL RANKS WHOM ARGUMENT...: the run (RANKS 0: without mpirun) is signalled after its first
# sweeps. perl undoes that background jobs of a shell ignore SIGINT, and those of nohup SIGHUP. $status has the exit status.
endless="--rank=3 --iters=10000000 --tol=0 -q --backend=$backend"
stop() {
  signal=$1
  ranks=$2
  whom=$3
  shift 3
  launch=
  # Open MPI kills ranks so many seconds after it has passed a signal on.
  OMPI_MCA_odls_base_sigkill_timeout=4
  export OMPI_MCA_odls_base_sigkill_timeout
  test "$ranks" -gt 0 && launch="$mpirun ${AMPED_MPIRUN_FLAGS-} -np $ranks"
  rm -f live.json
  # shellcheck disable=SC2086
  perl -e '$SIG{$_} = "DEFAULT" for qw(INT HUP TERM); exec @ARGV' $launch "$amped" t.h5 $endless --json=live.json "$@" >out 2>err </dev/null &
  job=$!
  tries=0
  while test "$tries" -lt 600 && ! grep -q '"sweep": *3,' live.json 2>/dev/null; do
    sleep 0.1
    tries=$((tries + 1))
  done
  test "$whom" = job && kill -s "$signal" $job
  test "$whom" = rank && kill -s "$signal" "$(ps -o pid= --ppid $job | tail -n 1 | tr -d ' ')"
  wait $job
  status=$?
  unset OMPI_MCA_odls_base_sigkill_timeout
  ls ./*.lock ./*.tmp.* >/dev/null 2>&1 && fail "$*: a lock or half a file stays: $(ls)" || pass
}
# one_line PATTERN: standard error has one line of the program.
one_line() {
  same "lines of the program" "$(error_lines err | wc -l)" 1
  error_lines err | grep -q "$1" && pass || fail "no '$1': $(cat err)"
}
# line_through_mpirun RANKS WHOM PATTERN: mpirun may drop what ranks say once it was told to end.
line_through_mpirun() {
  if test "$1" -gt 0 && test "$2" = job && test "$(error_lines err | wc -l)" -eq 0; then
    echo "skipped: mpirun dropped the line"
  else
    one_line "$3"
  fi
}
rm -f ./*.cpd.h5
for case in "INT 130 0 job" "TERM 143 0 job" "HUP 129 0 job" "INT 1 2 job" "TERM 143 2 rank"; do
  # shellcheck disable=SC2086
  set -- $case
  stop "$1" "$3" "$4"
  case $($mpirun --version 2>&1) in
    *"Open MPI) 4."*) same "status after $case" $status "$2" ;;
    *) test $status -ne 0 && pass || fail "status 0 after $case" ;;
  esac
  line_through_mpirun "$3" "$4" "ended by SIG.*nothing was saved (--checkpoint=FILE or --on-signal=result would"
  absent t.cpd.h5 t.partial.cpd.h5
done
for case in "INT 0 job" "TERM 0 job" "TERM 2 rank" "USR1 3 job"; do
  # shellcheck disable=SC2086
  set -- $case
  rm -f t.partial.cpd.h5
  stop "$1" "$2" "$3" --on-signal=result
  same "status after $case with --on-signal=result" $status 85
  one_line "t.partial.cpd.h5: holds the result after sweep [0-9]*; a signal stopped the run"
  at=$(sed -n 's/.*after sweep \([0-9]*\);.*/\1/p' err)
  expect 0 "fit .* after $at sweeps" "$amped" info t.partial.cpd.h5
  absent t.cpd.h5
done
# It is what a run of so many sweeps gives, and a start.
stop TERM 1 rank --on-signal=result --deterministic
at=$(sed -n 's/.*after sweep \([0-9]*\);.*/\1/p' err)
expect 0 "" on 1 t.h5 --rank=3 --tol=0 --iters="$at" --deterministic -q -o whole.h5
expect 0 "factor match score 1.000000" "$amped" compare whole.h5 t.partial.cpd.h5
expect 0 "start: t.partial.cpd.h5" on 1 t.h5 --rank=3 --iters=1 --init=t.partial.cpd.h5 --nowrite
# With a checkpoint both are saved.
stop USR1 2 job --on-signal=result --checkpoint=k.h5
same "status with both" $status 85
one_line "k.h5: holds the run after sweep"
expect 0 "" "$amped" info t.partial.cpd.h5
# A signal before any of the votes of a sweep, of which one is the checkpoint's.
if test "$backend" = cpu; then
  for vote in 100 101 102 103 104 105 106 107 108 109; do
    rm -f k.h5 k.h5.prev t.partial.cpd.h5
    (
      . "$srcdir/tests/faults/faults_lib.sh"
      # shellcheck disable=SC2086
      with "USR1 reduce - $vote 0" 0 t.h5 $endless --on-signal=result --checkpoint=k.h5
    ) >out 2>err </dev/null
    status=$?
    test $status -ne 77 || break # nothing can be preloaded
    same "status of a signal before vote $vote" $status 85
    one_line "k.h5: holds the run after sweep"
    expect 0 "" "$amped" info k.h5
  done
fi
# While the tensor is read there is nothing to save.
cat t.tns >big.tns
mkfifo slow.tns
for ranks in 0 2; do
  launch=
  test $ranks -gt 0 && launch="$mpirun ${AMPED_MPIRUN_FLAGS-} -np $ranks"
  # shellcheck disable=SC2086
  perl -e '$SIG{$_} = "DEFAULT" for qw(INT HUP TERM); exec @ARGV' $launch "$amped" slow.tns $endless --on-signal=result -o w.h5 >out 2>err </dev/null &
  job=$!
  exec 9>slow.tns
  tries=0
  while test "$tries" -lt 100 && ! test -e w.h5.lock; do
    sleep 0.1
    tries=$((tries + 1))
  done
  test -e w.h5.lock && pass || fail "no lock while reading"
  kill -s INT $job
  wait $job && fail "status 0 after SIGINT while reading" || pass
  exec 9>&-
  line_through_mpirun $ranks job "ended by SIG.*nothing was saved"
  absent w.h5 w.h5.lock w.partial.h5 w.partial.h5.lock
done
perl -e '$SIG{$_} = "DEFAULT" for qw(INT HUP TERM); exec @ARGV' "$amped" convert slow.tns w.h5 >out 2>err </dev/null &
job=$!
exec 9>slow.tns
tries=0
while test "$tries" -lt 100 && ! test -e w.h5.lock; do
  sleep 0.1
  tries=$((tries + 1))
done
kill -s TERM $job
wait $job
same "status of convert after SIGTERM" $? 143
exec 9>&-
one_line "ended by SIGTERM; nothing was saved"
absent w.h5 w.h5.lock
expect 2 "leave out --on-signal" "$amped" t.h5 --rank=2,3 --on-signal=result
expect 2 "leave out --on-signal" "$amped" t.h5 --starts=2 --on-signal=result
expect 2 "leave out --on-signal" "$amped" t.h5 --nowrite --on-signal=result
expect 2 "nothing or result" "$amped" t.h5 --on-signal=all

# --- disks that are too small ---------------------------------------------------------------------
mkdir small
"$amped" generate wide.h5 --dims=30000x20x40 --nnz=3k -q || fail "generate"
if test "$(id -u)" = 0 && mount -t tmpfs -o size=1m none small 2>/dev/null; then
  wide="wide.h5 --rank=8 --iters=3 --tol=0"
  for file in "-o small/r.h5" "--nowrite --checkpoint=small/r.h5" "--nowrite --trace=small/r.h5"; do
    # shellcheck disable=SC2086
    expect 1 "small/r.h5: there is no room for it: it takes up to .* is free" on 2 $wide $file
    grep -q '^sweep' out && fail "$file: swept before the disk was looked at" || pass
  done
  # shellcheck disable=SC2086
  expect 1 "small/s.st: there is no room for it: it takes up to .* is free" on 2 complete wide.h5 --rank=8 --reg=1 --iters=1 --nowrite --state=small/s.st
  grep -q '^sweep' out && fail "swept before the disk was looked at" || pass
  # Each would fit alone.
  # shellcheck disable=SC2086
  expect 1 "with other files of this run" on 2 wide.h5 --rank=2,3 --iters=1 --tol=0 -o small/r.h5
  same "left on the small disk" "$(ls -A small)" ""
  umount small
else
  echo "skipped: a small disk (needs root and the right to mount)"
fi

# --- the same nonzeros are not the same tensor --------------------------------------------------------
printf 'n,t,v\nana,2023-01,1\nbob,2023-02,2\n' >y23.csv
printf 'n,t,v\nzoe,2024-01,1\nyan,2024-02,2\n' >y24.csv
expect 0 "" "$amped" convert y23.csv year.h5 --value=v -q
expect 1 "year.h5: exists and is a tensor of other labels" "$amped" convert y24.csv year.h5 --value=v -q
expect 0 "will be replaced" "$amped" convert y23.csv year.h5 --value=v
printf '1 1 1 2\n1 2 2 3\n' >cells.tns
expect 0 "" "$amped" convert cells.tns cells.h5 --dims=9x9x9 -q
expect 1 "cells.h5: exists and is a tensor of other dimensions" "$amped" convert cells.tns cells.h5 -q
# The same for arrays, between lists and arrays, for predicted arrays, and for the dimensions of results.
printf '1 1 1 1\n3 3 3 2\n' >small.tns
printf '1 1 1 1\n3 3 3 2\n1 1 4 0\n' >large.tns
for which in small large; do
  expect 0 "" "$amped" convert $which.tns $which.dense.h5 --dense -q
  expect 0 "" "$amped" convert $which.dense.h5 $which.npy --dense -q
done
expect 0 "" "$amped" convert small.npy array.h5 --dense -q
expect 0 "will be replaced" "$amped" convert small.npy array.h5 --dense
expect 1 "array.h5: exists and is a tensor of other dimensions" "$amped" convert large.npy array.h5 --dense -q
expect 0 "" "$amped" convert small.npy array.h5 --dense --axis=1:300:350 -q --overwrite
expect 0 "will be replaced" "$amped" convert small.npy array.h5 --dense --axis=1:300:350
for form in --dense --sparse; do
  expect 1 "array.h5: exists and is a tensor of other labels" "$amped" convert small.npy array.h5 $form -q
done
expect 0 "" on 1 small.npy --rank=1 --axis=1:300:350 -o labels.h5 -q
expect 0 "" on 1 small.npy --rank=1 -o none.h5 -q
expect 0 "" "$amped" predict labels.h5 -o values.h5 -q
expect 1 "values.h5: exists and is a tensor of other labels" "$amped" predict none.h5 -o values.h5 -q
expect 0 "will be replaced" "$amped" predict labels.h5 -o values.h5
expect 1 "none.h5: exists and is the result of an input of other dimensions" on 1 large.npy --rank=1 -o none.h5 -q
expect 0 "will be replaced" on 2 small.npy --rank=1 -o none.h5
# A rule for repeated coordinates cannot undo another.
printf '1 1 1 2\n1 1 1 4\n1 2 2 3\n' >twice.tns
expect 0 "" "$amped" convert twice.tns summed.h5 -q
expect 3 "summed.h5: its repeated coordinates are one already, by --duplicates=sum" "$amped" convert summed.h5 means.h5 --duplicates=mean
expect 0 "" "$amped" convert summed.h5 again.h5 --duplicates=sum -q

finish
