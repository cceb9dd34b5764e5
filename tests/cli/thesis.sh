#!/bin/sh
# jobs/thesis --small: every figure's table and plot; numbers that follow from each other; figures by number, runs
# that are not repeated, wrong options. On a GPU the figures of GPUs alone.
. "$(dirname "$0")/../lib/lib.sh"
cd "$scratch" || exit 99
needs python3
AMPED_MPI=$amped
AMPED_GPU_OPTIONS=--share-gpus
export AMPED_MPI AMPED_GPU_OPTIONS
thesis() {
  sh "$srcdir/jobs/thesis" --small --sweeps=6 --threads=1,2 --out=plots --tensors=tensors \
    --mpirun="$mpirun ${AMPED_MPIRUN_FLAGS-}" "$@"
}
# values FIGURE: the rows of its table, without the header.
values() { grep -v '^#' "plots/$1.csv" | sed 1d; }
# numbers FIGURE ROWS COLUMNS: the table has so many rows, and so many columns that hold numbers above 0.
numbers() {
  same "rows of $1" "$(values "$1" | wc -l | tr -d ' ')" "$2"
  same "columns of $1" "$(values "$1" | awk -F , '
    { for (i = 2; i <= NF; i++) if ($i + 0 > 0) some[i] = 1 } END { for (i in some) n++; print n + 0 }')" "$3"
  for what in commit machine command date tensors; do
    expect 0 "^# $what: ." cat "plots/$1.csv"
  done
  if command -v gnuplot >/dev/null 2>&1; then
    expect 0 "</svg>" cat "plots/$1.svg"
  fi
}

if test "$backend" = cuda; then
  expect 0 "plots/4.12.csv" thesis --type=float 4.5
  for figure in 4.5 4.6 4.7 4.8 4.9 4.10 4.11 4.12; do
    numbers $figure 3 1
  done
  finish
fi

# Figure 3.8 takes ALS's changes from checkpoints, by a Python with h5py.
with_als=5
for p in python3 /usr/bin/python3; do
  if "$p" -c 'import h5py, numpy' >/dev/null 2>&1; then
    with_als=6 AMPED_PYTHON=$p
    export AMPED_PYTHON
    break
  fi
done
expect 0 "plots/3.12.csv" thesis --type=float,double --nodes=2
same "lines that say that Q = 1 is left out" "$(grep -c "Q = 1 of figure 3.8 is left out" out)" $((6 - with_als))
grep -q "gpus is left out: the program reaches no GPU here" out && pass || fail "nothing says that GPUs are left out"
numbers 3.3 2 4
numbers 3.4 2 7
numbers 3.7 6 2
numbers 3.8 6 $with_als
for figure in 3.9 3.11; do
  numbers $figure 2 4
done
for figure in 3.10 3.12; do
  numbers $figure 2 5
done
command -v numactl >/dev/null 2>&1 || {
  numbers 3.5 1 2
  numbers 3.6 1 2
}
# Speed-ups are quotients of the seconds.
close "3.4 of 3.3" "$(values 3.4 | sed -n 2p | cut -d , -f 3)" \
  "$(values 3.3 | awk -F , 'NR == 1 { one = $3 } NR == 2 { print one / $3 }')" 1e-4
# The changes are those of the program: here of the last epoch with Q = 4 (blocks of 40).
expect 0 "" "$amped" cpd tensors/160x160x160.r2.float.h5 --rank=2 --threads=1 --precision=float --tol=0 --nowrite -q \
  --method=rbs --sample=blocks --block=40 --epochs=6 --search=6 --polish=0 --json=run.json
close "change of factors" "$(values 3.8 | tail -n 1 | cut -d , -f 4)" "$(field moved run.json)" 1e-5
# ALS on an exact model: sweeps change the factors less and less.
if test $with_als -eq 6; then
  values 3.8 | awk -F , 'NR == 2 { second = $2 } { last = $2 } END { exit !(last > 0 && last < second) }' &&
    pass || fail "changes of ALS: $(values 3.8 | cut -d , -f 2 | tr '\n' ' ')"
fi

# Without numpy and h5py, Q = 1 is left out with a line.
AMPED_PYTHON=$scratch/nothing expect 0 "Q = 1 of figure 3.8 is left out: .*nothing has no numpy" thesis --type=float 3.8
numbers 3.8 6 5

# A figure by its number; a run that is there is not repeated; another folder for tensors is not needed.
expect 0 "plots/3.4.csv" thesis --type=float,double 3.4
grep -q '^+' err && fail "runs are repeated" || pass
expect 0 "4.5 to 4.12" thesis --help
for figure in 3.3 3.5 3.7 3.8 3.9 3.11; do
  thesis --help | grep -q " $figure\$\| $figure," && pass || fail "--help does not name figure $figure"
done

# --- refused --------------------------------------------------------------------------------------
for wrong in --type=half --sweeps=0 --repeat=x --threads=0 --threads=2,4 3.2 figure --out=; do
  thesis $wrong >out 2>err && fail "$wrong is accepted"
  same "lines for $wrong" "$(grep -c '^jobs/thesis: ' err)" 1
done
thesis 4.5 >out 2>err && fail "GPUs without a GPU"
same "no GPU" "$(grep -c 'jobs/thesis: gpus: the program reaches no GPU' err)" 1
thesis --nodes=1 3.5 >out 2>err && fail "one NUMA node"
same "one NUMA node" "$(grep -c 'jobs/thesis: numa: this machine has one NUMA node' err)" 1
# A run that fails is nan in the table, and makes the exit status 1.
AMPED_MPI=$scratch/broken
printf '#!/bin/sh\ncase "$*" in *--threads=2*) echo "amped_mpi: broken" >&2; exit 1 ;; esac\nexec "%s" "$@"\n' "$amped" >broken
chmod +x broken
thesis 3.3 >out 2>err
same "status of a failed run" $? 1
same "a failed run" "$(values 3.3 | grep -c '^2,nan,nan')" 1
finish
