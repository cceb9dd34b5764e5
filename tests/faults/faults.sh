#!/bin/sh
# Faults in a run: ranks that are killed, stopped or slow; signals; two jobs with one output; inputs
# that change; a clock that jumps. The program never hangs, and files are always the old or the new
# ones. (faults_disk.sh: disks; faults_memory.sh: memory.)
. "$(dirname "$0")/../lib/lib.sh"
needs h5diff ps
. "$(dirname "$0")/faults_lib.sh"
cd "$scratch" || exit 99

"$amped" generate t.h5 --dims=30x20x40 --nnz=3k --seed=3 -q || fail "generate"
run="t.h5 --rank=3 --iters=6 --tol=0 --deterministic -q"
# shellcheck disable=SC2086
expect 0 "" on 2 $run -o whole.h5
reads=$(calls read t.h5 2 t.h5 --rank=3 --iters=1 --nowrite -q)

# same_bits WHAT A B: compares weights and factors of two results.
same_bits() {
  for set in weights fit factors/0 factors/1 factors/2; do
    if h5diff "$2" "$3" /$set /$set >diff.txt 2>&1; then pass; else fail "$1, $set: $(head -3 diff.txt)"; fi
  done
}

# is_sampled SIGNAL PHASE: make check takes some of the pairs; AMPED_FAULTS=all takes all of them.
is_sampled() {
  test "${AMPED_FAULTS-}" = all && return
  case "$1 $2" in
    KILL* | TERM*solve* | INT*write* | "TERM read"*) return 0 ;;
    *) return 1 ;;
  esac
}

# --- a rank dies ----------------------------------------------------------------------------------
# In each phase, by each signal: mpirun returns its status for the signal at once, and old files
# stay.
for phase in "read t.h5 $((reads - 2)) 0" "send 17 1 0" "receive 17 1 1" "solve - 4 1" "write .cpd.h5.tmp 1 0"; do
  for signal in "KILL 137" "TERM 143" "INT 130"; do
    is_sampled "$signal" "$phase" || continue
    cp whole.h5 t.cpd.h5
    # shellcheck disable=SC2086
    with "${signal% *} $phase" 2 $run >out 2>err </dev/null
    same "status after ${signal% *} in $phase" $? "${signal#* }"
    fired && pass || fail "${signal% *} $phase: did not happen"
    cmp -s whole.h5 t.cpd.h5 && pass || fail "${signal% *} $phase: the file before was changed"
    test "${signal% *}" = KILL || absent t.cpd.h5.lock
    test "${signal% *}" = KILL || ! ls t.cpd.h5.tmp.* >/dev/null 2>&1 && pass || fail "$signal $phase: half a file stays"
  done
done
# Files that a killed run left do not stop the next run, which removes them.
# shellcheck disable=SC2086
with "KILL write .cpd.h5.tmp 1 0" 2 $run >out 2>err </dev/null
ls t.cpd.h5.tmp.* >/dev/null 2>&1 && pass || fail "the kill amid writing left no temporary file"
# shellcheck disable=SC2086
expect 0 "" on 2 $run
absent t.cpd.h5.lock
ls t.cpd.h5.tmp.* >/dev/null 2>&1 && fail "old temporary files stay" || pass
same_bits "after all that" t.cpd.h5 whole.h5

# complete, too; and the commands that use its model leave no half a file.
complete="complete t.h5 --rank=3 --reg=1 --iters=3 --holdout=20% --deterministic -q"
# shellcheck disable=SC2086
expect 0 "" on 2 $complete -o model.h5
cp model.h5 t.completion.h5
# shellcheck disable=SC2086
reads_of_complete=$(calls read t.h5 2 $complete --nowrite)
for phase in "write .completion.h5.tmp 1 0" "read t.h5 $((reads_of_complete - 2)) 0"; do
  # shellcheck disable=SC2086
  with "KILL $phase" 2 $complete >out 2>err </dev/null
  same "status after KILL in $phase" $? 137
  fired && pass || fail "KILL $phase: did not happen"
  cmp -s model.h5 t.completion.h5 && pass || fail "KILL $phase: the model before was changed"
done
# shellcheck disable=SC2086
expect 0 "" on 2 $complete
absent t.completion.h5.lock
ls t.completion.h5.tmp.* >/dev/null 2>&1 && fail "old temporary files stay" || pass
for set in weights factors/0 factors/2 bias/1 rmse/validate; do
  if h5diff model.h5 t.completion.h5 /$set /$set >diff.txt 2>&1; then pass; else fail "a model: $set: $(head -3 diff.txt)"; fi
done
for command in "predict model.h5 t.h5" "recommend model.h5 --for=1 --of=2"; do
  echo before >p.csv
  for signal in "KILL 137" "TERM 143"; do
    # shellcheck disable=SC2086
    with "${signal% *} write p.csv.tmp 0 0" 0 $command -o p.csv -q --overwrite >out 2>err </dev/null
    same "status after ${signal% *}: $command" $? "${signal#* }"
    fired && pass || fail "${signal% *}: did not happen: $command"
    same "the file before: $command" "$(cat p.csv)" before
  done
  # shellcheck disable=SC2086
  expect 0 "" "$amped" $command -o p.csv -q --overwrite
  ls p.csv.tmp.* p.csv.lock >/dev/null 2>&1 && fail "temporary files stay: $command" || pass
done

# --- the launcher is told to end ------------------------------------------------------------------
for signal in TERM INT; do
  for phase in "read t.h5 $((reads - 2)) 0" "solve - 4 1" "write .cpd.h5.tmp 1 0"; do
    rm -f "$mark"
    is_sampled "$signal" "$phase" || continue
    # Background jobs of a shell ignore SIGINT; perl restores it for mpirun.
    # shellcheck disable=SC2086
    perl -e '$SIG{INT} = "DEFAULT"; exec @ARGV' timeout --foreground -k 5 $patience $mpirun \
      ${AMPED_MPIRUN_FLAGS-} -np 2 env LD_PRELOAD="$shim${LD_PRELOAD:+:$LD_PRELOAD}" AMPED_FAULT="PAUSE $phase" \
      AMPED_FAULT_MARK="$mark" "$amped" $run --backend="$backend" >out 2>err </dev/null &
    job=$!
    await "$mark" && pass || fail "$signal to mpirun in $phase: not reached"
    kill -s $signal "$(ps -o pid= --ppid $job | head -n 1 | tr -d ' ')"
    wait $job
    status=$?
    test $status -ne 0 && test $status -ne 124 && pass || fail "$signal to mpirun in $phase: status $status"
    cmp -s whole.h5 t.cpd.h5 && pass || fail "$signal to mpirun in $phase: the file before was changed"
  done
done

# --- the child that looks at a file first dies ----------------------------------------------------
# A second child looks, and finds the file sound: as where the system kills for want of memory.
for command in "info t.h5 --verify" "convert t.h5 x.tns"; do
  # shellcheck disable=SC2086
  expect 1 "t.h5: out of memory: opening it crashes (signal 9) the HDF5 library" with "KILL alloc - 0 -1" 0 $command
done
absent x.tns

# --- a slow rank, and one that hangs --------------------------------------------------------------
# stopped_at FAULT SECONDS ARGUMENT...: a rank stops itself there, and continues after these
# seconds.
stopped_at() {
  rm -f "$mark"
  sleeps=$2
  # shellcheck disable=SC2086
  with "$1" 2 $run -o slow.h5 --hang-timeout=$patience >out 2>err </dev/null &
  job=$!
  await "$mark" && pass || fail "$1: not reached"
  sleep "$sleeps"
  for p in $(ps -eo pid=,stat=,args= | awk -v a="$amped" '$2 ~ /^T/ && $3 == a { print $1 }'); do
    kill -s CONT "$p"
  done
  wait $job
  same "status with a slow rank, $1" $? 0
  same_bits "a slow rank, $1" slow.h5 whole.h5
}
stopped_at "STOP solve - 4 1" 2
stopped_at "STOP receive 17 1 1" 2

# hangs FAULT PATTERN [RANKS]: the other ranks wait for that rank; then the job ends.
hangs() {
  # shellcheck disable=SC2086
  expect 1 "$2" with "$1" "${3-3}" $run --nowrite --hang-timeout=10
}
hangs "STOP solve - 4 1" "nothing happened for 10 s in .*; rank 1 does not answer (stopped or dead), last in solve (mode 2)"
hangs "PAUSE solve - 4 2" "nothing happened for 10 s in .*; rank 2 is still in solve (mode 2)"
hangs "STOP send 17 1 0" "; rank 0 does not answer (stopped or dead), last in distribute (mode 1)"
# MPI's start and end: no rank knows which rank is missing, nor that another speaks.
hangs "STOP init - 0 1" "rank 0: nothing happened for 10 s while MPI started: a rank does not answer" 2
hangs "STOP init - 0 0" "rank 1: nothing happened for 10 s while MPI started: a rank does not answer" 2
hangs "STOP finalize - 0 1" "rank 0: nothing happened for 10 s while MPI ended: a rank does not answer" 2
hangs "STOP finalize - 0 0" "rank 1: nothing happened for 10 s while MPI ended: .*; the files that it wrote are complete" 2
# A rank that writes for a long time is alive: here 61 MiB, two seconds for every eight.
"$amped" generate wide.h5 --dims=1000000x5x4 --nnz=2k --seed=3 -q || fail "generate"
expect 0 "" with "SLOW write - 0 0" 2 wide.h5 --rank=8 --iters=3 --tol=0 -o wide.cpd.h5 -q --hang-timeout=10
expect 0 "" on 2 bench t.h5 --repeat=1 --hang-timeout=$patience
expect 2 "is expected" "$amped" t.h5 --hang-timeout=0
expect 2 "is expected" "$amped" t.h5 --hang-timeout=soon

# --- two jobs, one output -------------------------------------------------------------------------
# busy OUT FAULT RANKS ARGUMENT...: while that run is paused, other jobs cannot write OUT; then the
# run ends well.
busy() {
  out=$1
  shift
  rm -f "$mark"
  with "$@" >out.1 2>err.1 </dev/null &
  job=$!
  await "$mark" && pass || fail "$*: not reached"
}
# shellcheck disable=SC2086
busy t.cpd.h5 "PAUSE solve - 4 1" 2 $run
expect 1 "t.cpd.h5: is being written by another job (process [0-9]* on " on 2 t.h5 --iters=1
expect 1 "t.cpd.h5: is being written by another job" "$amped" convert t.h5 t.cpd.h5 --overwrite
expect 0 "" on 2 t.h5 --rank=3 --iters=1 --nowrite -q
rm -f "$mark"
wait $job
same "status of the first job" $? 0
absent t.cpd.h5.lock
# shellcheck disable=SC2086
busy c.h5 "PAUSE solve - 4 1" 2 $run --nowrite --checkpoint=c.h5
expect 1 "c.h5: is being written by another job" on 1 t.h5 --nowrite --checkpoint=c.h5
rm -f "$mark"
wait $job
same "status of the first job with a checkpoint" $? 0
busy n.h5 "PAUSE write n.h5.tmp 1 0" 0 convert t.h5 n.h5 -q
expect 1 "n.h5: is being written" "$amped" generate n.h5 --dims=3x4x5 --nnz=9
rm -f "$mark"
wait $job
same "status of the first convert" $? 0
expect 0 "verified" "$amped" info n.h5 --verify
# Until it is published nobody else may read a draft; the umask decides afterwards.
busy n.h5 "PAUSE write n.h5.tmp 1 0" 0 convert t.h5 n.h5 -q --overwrite
same "mode of a draft" "$(perl -e 'printf "%o", (stat $ARGV[0])[2] & 07777' n.h5.tmp.*)" 600
rm -f "$mark"
wait $job
# A file system without locks: nothing is refused, and no lock is left.
for command in "convert t.h5 n.h5 -q" "$run -o n.h5"; do
  # shellcheck disable=SC2086
  expect 0 "" with "ENOLCK lock - 0 -1" 0 $command --overwrite
  fired && pass || fail "$command: no lock was asked for"
  absent n.h5.lock
done
rm -f n.h5
busy n.h5 "KILL write n.h5.tmp 1 0" 0 convert t.h5 n.h5 -q
wait $job
cp n.h5.lock kept
expect 0 "" with "ENOLCK lock - 0 -1" 0 convert t.h5 n.h5 -q
cmp -s n.h5.lock kept && pass || fail "without locks another job's lock was touched"
rm -f n.h5*
# A killed job holds no lock.
busy n.h5 "KILL write n.h5.tmp 1 0" 0 convert t.h5 n.h5 -q
wait $job
test -e n.h5.lock && pass || fail "a killed job removed its lock"
expect 0 "" "$amped" convert t.h5 n.h5 -q
absent n.h5.lock n.h5.tmp.0
ls n.h5.tmp.* >/dev/null 2>&1 && fail "a killed job's temporary file stays" || pass

# --- inputs that change ---------------------------------------------------------------------------
"$amped" convert t.h5 t.tns -q || fail "convert"
gzip -k t.tns
# changes FILE CHANGE STATUS PATTERN RANKS ARGUMENT...: changes the file while it is being read.
changes() {
  file=$1
  change=$2
  want=$3
  pattern=$4
  shift 4
  cp "$file" saved
  last=$(calls read "$file" "$@" --overwrite)
  rm -f "$mark"
  with "PAUSE read $file $((last - 2)) 0" "$@" --overwrite >out 2>err </dev/null &
  job=$!
  await "$mark" && pass || fail "$*: not reached"
  sleep 0.1
  eval "$change"
  rm -f "$mark"
  wait $job
  same "status where $file changes ($change): $*" $? "$want"
  test -z "$pattern" || grep -q "$pattern" err && pass || fail "no '$pattern': $(cat err)"
  cp saved "$file"
  sleep 0.1
}
for ranks in 1 2; do
  changes t.h5 "printf x >>t.h5" 3 "t.h5: was changed while it was being read" $ranks t.h5 --rank=2 --iters=1 -o x.h5
done
absent x.h5
changes t.h5 "printf x >>t.h5" 3 "was changed" 0 convert t.h5 x.tns
changes t.h5 "cp t.h5 u.h5; mv u.h5 t.h5" 0 "" 2 t.h5 --rank=2 --iters=1 --nowrite
changes t.tns "echo 1 1 1 5 >>t.tns" 3 "was changed" 0 convert t.tns x.h5
"$amped" convert t.h5 d.npy --dense -q || fail "convert"
changes d.npy "printf x >>d.npy" 3 "was changed" 0 convert d.npy x.h5 --dense
changes d.npy "touch d.npy" 3 "was changed" 0 convert d.npy x.tns --sparse
absent x.h5 x.tns
changes t.tns.gz "touch t.tns.gz" 3 "was changed" 0 convert t.tns.gz x.h5
changes t.tns "cp t.tns u.tns; mv u.tns t.tns" 0 "" 0 convert t.tns x.h5

# --- inputs that are exchanged behind the look at them --------------------------------------------
# The child has looked; before this process reads a byte another file has the name, or other bytes
# are in the file. What was looked at is read, or the line says so.
"$amped" generate other.h5 --dims=30x20x40 --nnz=3k --seed=9 -q || fail "generate"
perl -e 'local $/; open F, "t.h5"; $b = <F>; substr($b, 40, 3000) = "\377" x 3000; print $b' >evil.h5
# behind CHANGE STATUS PATTERN FAULT RANKS ARGUMENT...: the fault pauses the run there.
behind() {
  change=$1
  want=$2
  pattern=$3
  shift 3
  cp -p t.h5 saved
  rm -f "$mark"
  with "$@" >out 2>err </dev/null &
  job=$!
  await "$mark" && pass || fail "$*: not reached"
  eval "$change"
  rm -f "$mark"
  wait $job
  same "status behind the look ($change): $*" $? "$want"
  grep -q "$pattern" out err && pass || fail "no '$pattern' ($change): $*: $(cat err)"
  test "$want" -eq 0 || one_line "$change: $*"
  mv saved t.h5
}
exchange="cp evil.h5 new; mv new t.h5"
for command in "info t.h5 --verify" "convert t.h5 y.tns --overwrite"; do
  # shellcheck disable=SC2086
  behind "$exchange" 3 "t.h5: was changed while it was being read" "PAUSE read t.h5 0 0" 0 $command
  # shellcheck disable=SC2086
  behind "cat evil.h5 >t.h5" 3 "t.h5: was changed while it was being read" "PAUSE read t.h5 0 0" 0 $command
done
for ranks in 1 2; do
  for change in "$exchange" "cp other.h5 new; mv new t.h5" "cat evil.h5 >t.h5"; do
    behind "$change" 3 "t.h5: was changed while it was being read" "PAUSE init - 0 0" $ranks t.h5 --rank=2 --iters=1 --nowrite -q
  done
done
behind "cp other.h5 new; mv new t.h5" 3 "t.h5: was changed" "PAUSE init - 0 1" 2 t.h5 --rank=2 --iters=1 --nowrite --read=parallel -q
# Exchanged all the time: whatever is met, no crash, no hang, one line.
perl -e '$SIG{TERM} = sub { exit }; while (1) { for ("t.h5", "other.h5", "evil.h5") { system("cp", $_, "new") == 0 && rename("new", "busy.h5"); system("cp", $_, "busy.h5") } }' &
exchanger=$!
until_true "$exchanger" test -e busy.h5
times=10
test "${AMPED_FAULTS-}" = all && times=400
while test $times -gt 0; do
  times=$((times - 1))
  for command in "info busy.h5 --verify" "convert busy.h5 y.h5 --overwrite"; do
    # shellcheck disable=SC2086
    timeout -k 5 $patience "$amped" $command >out 2>err </dev/null
    status=$?
    test $status -eq 0 -o $status -eq 3 && pass || fail "a file that is exchanged: status $status: $(cat err)"
    test $status -eq 0 || one_line "a file that is exchanged: $command"
  done
done
kill $exchanger
wait $exchanger 2>/dev/null

# --- clocks that jump -----------------------------------------------------------------------------
# shellcheck disable=SC2086
expect 0 "" with clock 2 $run -o jump.h5 --json=jump.json --checkpoint=j.h5 --checkpoint-every=1800s --hang-timeout=1800
same_bits "jumps of the clock" jump.h5 whole.h5
if awk -v s="$(field seconds jump.json)" 'BEGIN { exit !(s >= 0 && s < 1800) }'; then pass; else fail "seconds $(field seconds jump.json)"; fi
grep -q '"event": *"checkpoint"' jump.json && fail "a checkpoint before its time" || pass
# The time of day may affect the age of a file and a seed, but nothing else.
same "who looks at the time of day" \
  "$(cd "$srcdir" && grep -lE 'CLOCK_REALTIME|gettimeofday|[^_a-z]time\(|MPI_Wtime' src/*/*.c src/*/*/*.c cuda/*.cu cuda/*/*.cu | tr '\n' ' ')" \
  "src/hdf5/hdf5_probe.c src/text/intern.c "

finish
