#!/bin/sh
# Runs that fail in a sweep: one line, status 1, no call of MPI_Abort, and no lock, draft or result is
# left. Wrong options before MPI starts: one line of all ranks.
. "$(dirname "$0")/../lib/lib.sh"
cd "$scratch" || exit 99

# ends STATUS PATTERN ARGUMENT...: on 3 ranks (AMPED_TEST_LONG=1: and on 1) the run fails, with this line.
ends() {
  want=$1
  pattern=$2
  shift 2
  for ranks in $(few 1 3 1); do
    expect "$want" "$pattern" on $ranks "$@"
    # Apart from mpirun's own message and from warnings, standard error holds that line alone.
    grep -aq MPI_ABORT "$scratch/err" && fail "MPI_Abort on $ranks ranks: $*" || pass
    same "files that $* leaves on $ranks ranks" "$(ls m.* 2>/dev/null | tr '\n' ' ')" ""
    rm -f m.*
  done
}

# --- numbers that overflow ------------------------------------------------------------------------
# Values whose norm is a number, but whose squares in a factor's gram are none in float.
awk 'BEGIN {
  for (i = 1; i <= 12; i++)
    for (j = 1; j <= 11; j++)
      for (k = 1; k <= 10; k++)
        printf "%d %d %d %.3fe70\n", i, j, k, 1 + ((i * 7 + j * 5 + k * 3) % 11) / 10
}' >vast.tns
expect 0 "" "$amped" convert vast.tns vast.npy --dense -q
# Greater than FLT_MAX / 10: sums of a few values overflow.
sed 's/e70/e37/' vast.tns >large.tns
expect 0 "" "$amped" convert large.tns large.npy --dense -q
# Which of the two comes first depends on the order of a backend's products.
overflow="the factors overflowed\|the fit is not a number"
outputs="-o m.h5 --checkpoint=m.ckpt.h5 -q"

# shellcheck disable=SC2086
for tensor in vast.npy vast.tns; do
  ends 1 "$overflow" $tensor --rank=2 $outputs
  ends 1 "$overflow" $tensor --rank=2 --method=lm $outputs
  ends 1 "$overflow" $tensor --rank=2 --accelerate=linesearch $outputs
  ends 1 "$overflow" $tensor --rank=2 --ridge=1 $outputs
  ends 1 "$overflow" $tensor --rank=2 --nonnegative $outputs
  ends 1 "$overflow" $tensor --rank=2 --l1=1 $outputs
  test "$backend" = cpu || break # lists are as on CPUs
done
# shellcheck disable=SC2086
for tensor in vast.npy large.npy; do
  ends 1 "$overflow" $tensor --rank=2 --method=rbs $outputs
done
# Rows that are held at 0 make sweeps that are numbers first: no checkpoint, which would stay.
ends 1 "$overflow" vast.npy --rank=2 --method=rbs --nonnegative -o m.h5 -q

# On GPUs, what follows is as on CPUs.
finish_on_gpus

# --- before MPI starts ----------------------------------------------------------------------------
cp vast.npy kept.npy
ends 2 "did you mean --rank" vast.tns --rnak=2
ends 2 "overwritten" kept.npy --rank=2 --nowrite --json=./kept.npy
ends 2 "has no option" vast.tns --rank=2 --dense
expect 0 "" cmp vast.npy kept.npy
# A rank that alone has a wrong option tells of it.
expect 2 "did you mean --rank" timeout -k 10 $patience $mpirun ${AMPED_MPIRUN_FLAGS-} -np 3 sh -c '
  if test '"$rank_here"' = 1; then exec "$@" --rnak=2; else exec "$@" --rank=2; fi' sh \
  "$amped" vast.tns --backend="$backend" --nowrite
# A number that a job's script inherits from its launcher does not silence a single process.
expect 2 "did you mean --rank" env SLURM_PROCID=3 "$amped" vast.tns --rnak=2

finish
