#!/bin/sh
# --checkpoint and --resume: a run that a signal interrupts and that is resumed gives the bits of a
# run without interruption. Damaged checkpoints; refused options.
. "$(dirname "$0")/../lib/lib.sh"
needs h5diff h5dump ps
cd "$scratch" || exit 99

"$amped" generate t.h5 --dims=300x40x500 --nnz=20k --skew=0.5 --seed=3 -q || fail "generate"
"$amped" generate other.h5 --dims=300x40x500 --nnz=20k --skew=0.5 --seed=4 -q || fail "generate"
"$amped" generate small.h5 --dims=30x40x50 --nnz=2k --seed=3 -q || fail "generate"

# same_bits WHAT A B: compares weights, fits and factors of two results.
# children PID: the processes that an mpirun started.
children() {
  ps -o pid= --ppid "$1" | tr -d ' '
}

# interrupt SIGNAL WHOM RANKS ARGUMENT...: starts the program, waits for its first sweeps, and
# signals one of its ranks or mpirun. $status has the exit status.
interrupt() {
  signal=$1
  whom=$2
  ranks=$3
  shift 3
  begin "$ranks" '"sweep": *3,' "$@"
  if test "$signal $whom" = "USR1 mpirun"; then
    stop_by USR1
    return
  elif test "$whom" = mpirun; then
    kill -s "$signal" $launcher
  else
    kill -s "$signal" "$(children $launcher | tail -n 1)"
  fi
  wait $launcher
  status=$?
}

# --- interrupted = uninterrupted ------------------------------------------------------------------
# More sweeps than the run makes: the signal comes between them.
for ranks in 1 3; do
  for precision in float double; do
    run="--rank=7 --tol=0 --deterministic --precision=$precision"
    # shellcheck disable=SC2086
    interrupt TERM rank $ranks t.h5 $run --iters=1000000 --nowrite --checkpoint=c.h5
    same "status after SIGTERM, $ranks ranks" $status 85
    grep -q "c.h5: holds the run after sweep" err.txt && pass || fail "no line: $(cat err.txt)"
    same "error lines" "$(error_lines err.txt | wc -l)" 1
    at=$(sed -n 's/.*after sweep \([0-9]*\);.*/\1/p' err.txt)
    end=$((at + 7))
    # shellcheck disable=SC2086
    expect 0 "resume: c.h5, after sweep $at," on $ranks t.h5 $run --iters=$end --checkpoint=c.h5 --resume -o resumed.h5
    # shellcheck disable=SC2086
    expect 0 "" on $ranks t.h5 $run --iters=$end -o whole.h5 -q
    same_bits "$ranks ranks, $precision" resumed.h5 whole.h5
    ls c.h5.tmp.* >/dev/null 2>&1 && fail "a temporary file was left" || pass
    rm -f c.h5 c.h5.prev
  done
done

# Where the gram matrix is singular, the next sweep keeps a part of the rows, times the weights. (More components than
# 3 x 4 products of rows.)
"$amped" generate thin.h5 --dims=3x4x50 --nnz=250 --seed=3 -q || fail "generate"
for ranks in 1 3; do
  for precision in float double; do
    run="--rank=15 --tol=0 --deterministic --precision=$precision"
    # shellcheck disable=SC2086
    expect 0 "gram matrix is singular" on $ranks thin.h5 $run --iters=4 --nowrite --checkpoint=s.h5 --checkpoint-every=2
    # shellcheck disable=SC2086
    expect 0 "resume: s.h5, after sweep [24]," on $ranks thin.h5 $run --iters=9 --checkpoint=s.h5 --resume -o resumed.h5 --overwrite
    # shellcheck disable=SC2086
    expect 0 "" on $ranks thin.h5 $run --iters=9 -o whole.h5 -q --overwrite
    same_bits "singular, $ranks ranks, $precision" resumed.h5 whole.h5
    rm -f s.h5 s.h5.prev
  done
done

interrupt USR1 mpirun 2 t.h5 --rank=7 --tol=0 --iters=1000000 --nowrite --checkpoint=u.h5 --checkpoint-every=3600s --trace=u.json
same "status after SIGUSR1 to mpirun" $status 85
grep -q '"event": *"checkpoint"' live.json && pass || fail "no JSON line about the checkpoint"

grep -q '"write"' u.json && pass || fail "no trace of a stopped run"

# SIGTERM to mpirun of Open MPI 4: it passes the signal on after one time-out, kills after another,
# and exits with 1. The checkpoint is complete if a sweep and its writing take less than that, here
# fifteen seconds.
case $($mpirun --version 2>&1) in
  *"Open MPI) 4."*)
    export OMPI_MCA_odls_base_sigkill_timeout=15
    interrupt TERM mpirun 2 t.h5 --rank=7 --tol=0 --iters=1000000 --nowrite --checkpoint=m.h5 -q
    unset OMPI_MCA_odls_base_sigkill_timeout
    same "status after SIGTERM to mpirun" $status 1
    at=$(sed -n 's/.*m.h5: holds the run after sweep \([0-9]*\);.*/\1/p' err.txt)
    expect 0 "resume: m.h5, after sweep $at," on 2 t.h5 --rank=7 --tol=0 --iters=$((at + 1)) --nowrite --checkpoint=m.h5 --resume
    ;;
esac

# On GPUs, what follows is as on CPUs.
finish_on_gpus

# --- other numbers of ranks -----------------------------------------------------------------------
# Checkpoints of sweep 10 (every 5 sweeps, 2 generations), then 5 more sweeps. The number of ranks
# changes the rounding of sums of doubles over ranks by a few eps. ALS contracts near the optimum,
# so such differences do not grow. deterministic.sh has the same tolerance, 1e-10.
double="--rank=5 --tol=0 --precision=double"
# shellcheck disable=SC2086
expect 0 "" on 2 t.h5 $double --iters=10 --nowrite --checkpoint=g.h5 --checkpoint-every=5
test -f g.h5 && pass || fail "no g.h5"
for ranks in 1 2 3; do
  # shellcheck disable=SC2086
  expect 0 "after sweep" on $ranks t.h5 $double --iters=15 --json=$ranks.json --nowrite --checkpoint=g.h5 --checkpoint-every=100 --resume
done
close "fit on 1 rank" "$(field fit 1.json)" "$(field fit 2.json)" 1e-10
close "fit on 3 ranks" "$(field fit 3.json)" "$(field fit 2.json)" 1e-10

# --- a whole run in pieces, with the default tolerance ---------------------------------------------
expect 0 "starting from the beginning" on 2 t.h5 --rank=3 --deterministic --checkpoint=p.h5 --checkpoint-every=1 --iters=4 --resume -o p1.h5
expect 0 "after sweep" on 2 t.h5 --rank=3 --deterministic --checkpoint=p.h5 --checkpoint-every=1 --resume -o p2.h5
expect 0 "" on 2 t.h5 --rank=3 --deterministic -o p3.h5
same_bits "in pieces" p2.h5 p3.h5
# No sweep remains: the result is the same.
expect 0 "" on 2 t.h5 --rank=3 --deterministic --checkpoint=p.h5 --resume -o p4.h5
same_bits "converged before" p4.h5 p3.h5
# A checkpoint shows the model so far, and can be a start.
expect 0 "" "$amped" top p.h5
expect 0 "" "$amped" info p.h5
expect 0 "start: p.h5" on 2 t.h5 --rank=3 --iters=1 --init=p.h5 --nowrite

# --- damage ---------------------------------------------------------------------------------------
# damage FILE: changes four bytes in the middle.
damage() {
  size=$(wc -c <"$1")
  printf 'oops' | dd of="$1" bs=1 seek=$((size / 2)) conv=notrunc 2>/dev/null
}
cp p.h5 keep.h5
cp p.h5.prev keep.prev
previous=$(h5dump -d /fit -H p.h5.prev | sed -n 's/.*SIMPLE { ( \([0-9]*\) ).*/\1/p')
damage p.h5
expect 0 "warning: p.h5: .*p.h5.prev, is used" on 2 t.h5 --rank=3 --deterministic --checkpoint=p.h5 --resume -o p5.h5
grep -q "after sweep $previous," out && pass || fail "not sweep $previous: $(grep resume out)"
same_bits "after damage" p5.h5 p3.h5
head -c 1000 keep.h5 >p.h5
expect 0 "p.h5.prev, is used" on 1 t.h5 --rank=3 --checkpoint=p.h5 --resume --nowrite
: >p.h5
expect 0 "p.h5.prev, is used" on 1 t.h5 --rank=3 --checkpoint=p.h5 --resume --nowrite
rm p.h5
expect 0 "p.h5 is missing.*p.h5.prev, is used" on 1 t.h5 --rank=3 --checkpoint=p.h5 --resume --nowrite
# A new checkpoint that replaces a damaged one does not touch the whole one before it. (Where
# writing was slow, the first generations are many sweeps old, and the runs above replaced both.)
cp keep.prev p.h5.prev
head -c 1000 keep.h5 >p.h5
expect 0 "" on 2 t.h5 --rank=3 --tol=0 --iters=$((previous + 1)) --checkpoint=p.h5 --checkpoint-every=1 --resume --nowrite
cmp keep.prev p.h5.prev && pass || fail "the whole generation was lost"
# Both files are damaged; the message names the first error of rank 0.
damage p.h5
damage p.h5.prev
expect 3 "p.h5.prev" on 2 t.h5 --rank=3 --checkpoint=p.h5 --resume --nowrite

# --- refused --------------------------------------------------------------------------------------
cp keep.h5 p.h5
cp keep.prev p.h5.prev
expect 3 "another tensor of the same" on 2 other.h5 --rank=3 --checkpoint=p.h5 --resume --nowrite
expect 3 "another tensor, of 300 x 40 x 500" on 2 small.h5 --rank=3 --checkpoint=p.h5 --resume --nowrite
expect 3 "use --rank=3" on 2 t.h5 --rank=4 --checkpoint=p.h5 --resume --nowrite
expect 3 "use --precision=float" on 1 t.h5 --rank=3 --precision=double --checkpoint=p.h5 --resume --nowrite
expect 3 "use that" on 1 t.h5 --rank=3 --seed=2 --checkpoint=p.h5 --resume --nowrite
expect 3 "init=random" on 1 t.h5 --rank=3 --init=p3.h5 --checkpoint=p.h5 --resume --nowrite
expect 3 "not a checkpoint" on 1 t.h5 --rank=3 --checkpoint=p3.h5 --resume --nowrite
expect 2 "needs --checkpoint" "$amped" t.h5 --resume
expect 2 "needs --checkpoint" "$amped" t.h5 --checkpoint-every=5
expect 2 "is expected" "$amped" t.h5 --checkpoint=x.h5 --checkpoint-every=0
expect 2 "is expected" "$amped" t.h5 --checkpoint=x.h5 --checkpoint-every=5m
expect 2 "leave out" "$amped" t.h5 --checkpoint=x.h5 --plan
expect 2 "overwritten" on 1 t.h5 --checkpoint=t.h5
expect 2 "result and for another output" on 1 t.h5 --checkpoint=t.cpd.h5
expect 1 "no/such" on 2 t.h5 --rank=3 --checkpoint=no/such/c.h5
absent x.h5

# --- without --checkpoint a signal ends the run ----------------------------------------------------
interrupt USR1 rank 1 t.h5 --rank=3 --tol=0 --iters=1000000 --nowrite
if test $status -ne 85 && test $status -ne 0; then pass; else fail "status $status after SIGUSR1 without --checkpoint"; fi

# --- the file of the previous generation is not for other outputs ----------------------------------
expect 2 "t.cpd.h5.prev: is named for two outputs" on 1 t.h5 -o t.cpd.h5.prev --checkpoint=t.cpd.h5
expect 2 "k.h5.prev: is named for two outputs" on 1 t.h5 --nowrite --json=k.h5.prev --checkpoint=k.h5
expect 0 "" on 1 t.h5 --rank=7 --iters=1 -q -o k.h5.prev
cp k.h5.prev start.h5
expect 2 "k.h5.prev: is an input of this run" on 1 t.h5 --rank=7 --init=k.h5.prev --nowrite --checkpoint=k.h5
expect 0 "" cmp k.h5.prev start.h5

# --- a disk that fills during the run: the checkpoint is lost, the result is not ---------------------
mkdir small
if test "$(id -u)" = 0 && mount -t tmpfs -o size=1m none small 2>/dev/null; then
  # filled PATTERN ARGUMENT...: the disk of the checkpoint is full when a signal comes.
  filled() {
    begin 2 '"sweep": *3,' "$@" --tol=0 --checkpoint=small/c.h5 --checkpoint-every=1000000
    dd if=/dev/zero of=small/fill bs=1k count=1100 2>/dev/null
    stop_by USR1
    same "status of a lost checkpoint" $status 1
    expect 0 "small/c.h5: .* cannot be written" cat err.txt
    rm -f small/*
  }
  filled small.h5 --rank=3 --iters=1000000 --on-signal=result -o lost.h5
  expect 0 "stopped on *lost checkpoint" "$amped" info lost.partial.h5
  filled complete small.h5 --rank=3 --reg=1 --iters=1000000 --patience=1000000 -o best.h5
  expect 0 "stopped on *lost checkpoint" "$amped" info best.h5
  umount small
else
  echo "skipped: a disk that fills (needs root and the right to mount)"
fi

# --- what a resumed run draws, and how it began ----------------------------------------------------
"$amped" generate cube.h5 --dense --dims=30x25x20 --planted=3 --signed --noise=0.1 -q || fail "generate"
expect 0 "" on 1 cube.h5 --rank=3 --iters=1 -q -o cube.start.h5
expect 0 "" on 1 cube.h5 --rank=3 --method=rbs --sample=blocks --init=cube.start.h5 --search=3 --epochs=6 --tol=0 --polish=0 \
  --seed=1 --checkpoint=drawn.h5 --checkpoint-every=1 --nowrite -q
expect 3 "drawn.h5: began from --seed=1" on 1 cube.h5 --rank=3 --method=rbs --sample=blocks --init=cube.start.h5 --search=3 \
  --epochs=9 --tol=0 --polish=0 --seed=2 --checkpoint=drawn.h5 --resume --nowrite -q
# A model's file alone, where the default start is normal because one mode is nonnegative.
expect 0 "" on 1 small.h5 --rank=4,3 --nonnegative=1 --starts=2 --iters=11 --tol=0 --checkpoint=nn --nowrite -q
expect 0 "resume: nn.r4.s1, after sweep" on 1 small.h5 --rank=4 --nonnegative=1 --iters=15 --tol=0 --checkpoint=nn.r4.s1 \
  --resume --nowrite

# --- names of models' checkpoints are apart from other files -----------------------------------------
cp small.h5 run.r2.s1.h5
expect 2 "run.r2.s1.h5: is an input of this run" on 1 run.r2.s1.h5 --rank=2,3 -o models.h5 --checkpoint=run.h5 --overwrite
for other in --json=run.r2.s1.h5 --json=run.r3.s1.h5.prev --trace=run.r3.s1.h5; do
  expect 2 "is named for two outputs" on 1 small.h5 --rank=2,3 -o models.h5 --checkpoint=run.h5 $other
done
expect 0 "" cmp small.h5 run.r2.s1.h5
# Nor do two jobs write one of them at once.
begin 1 '"sweep": *3,' small.h5 --rank=2,3 --iters=1000000 --tol=0 --nowrite --checkpoint=L.h5 --side-by-side=2
expect 1 "L.r2.s1.h5: is being written by another job" on 1 small.h5 --rank=2 --iters=12 --nowrite --overwrite --checkpoint=L.r2.s1.h5
stop_by USR1
same "status of the first job" $status 85

# --- files that cannot be checkpoints ----------------------------------------------------------------
mkfifo pipe.h5
mkdir folder.h5.prev
for name in pipe.h5 /dev/null; do
  expect 2 "$name: cannot hold a checkpoint" on 1 small.h5 --rank=2 --iters=2 --nowrite --checkpoint=$name
done
for resume in "" --resume; do
  expect 1 "folder.h5.prev: is a directory" on 1 small.h5 --rank=2 --iters=2 --nowrite --checkpoint=folder.h5 $resume
done

finish
