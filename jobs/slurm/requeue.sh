#!/bin/bash
# Decomposes a tensor in as many turns as its time limit takes: two minutes before the limit the run
# writes a checkpoint and stops, and the job goes back to the queue, from where it goes on. The same
# after a lost node or preemption. Change the two lines that say so, then: sbatch requeue.sh (or
# sbatch requeue.sh TENSOR). docs/cluster.md explains the rest.
#SBATCH --ntasks-per-node=4 --gpus-per-node=4  # <- change 1: the number of GPUs, twice
#SBATCH --nodes=1
#SBATCH --cpus-per-task=8
#SBATCH --time=02:00:00
#SBATCH --requeue
#SBATCH --signal=B:USR1@120
#SBATCH --open-mode=append
#SBATCH --job-name=amped-requeue
#SBATCH --output=%x-%j.out
set -eu
: "${SLURM_JOB_ID:?is not set: start this script with sbatch}"
input=${1:-tensor.h5} # <- change 2: the tensor file

# module load openmpi-cuda   what amped_mpi was built with

# AMPED: the program. AMPED_OPTIONS: further options of it. LAUNCHER: what starts the ranks.
# --gpus-per-node lets every rank see all GPUs of its node, so that rows may go from GPU to GPU; rank k
# takes the k-th. Ranks may use all cores of the job: the program stays near its GPU by itself.
# No rank is killed because another has ended: all end with 85, but not all at once.
launcher=${LAUNCHER:-srun --mpi=pmix --cpu-bind=none --kill-on-bad-exit=0}
export OMP_NUM_THREADS=$SLURM_CPUS_PER_TASK
export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK # srun does not inherit it since Slurm 22.05

# A requeued job keeps its number, and so finds its checkpoints; another job starts anew.
checkpoint=amped-$SLURM_JOB_ID.ckpt

# shellcheck disable=SC2206 # lists of words
command=($launcher "${AMPED:-amped_mpi}" cpd "$input" --rank=32 --iters=500
  --checkpoint="$checkpoint" --checkpoint-every=600s --resume ${AMPED_OPTIONS-})
echo "+ ${command[*]}    (restart ${SLURM_RESTART_COUNT:-0})"

# The signal comes to this shell, which minds it only between commands: the program runs beside it.
signals=0
pid=
trap 'signals=$((signals + 1)); [ -z "$pid" ] || kill -USR1 "$pid" || true' USR1
"${command[@]}" &
pid=$!
# A signal cuts a wait short; then wait again, which tells how the program ended even if it has by now.
seen=-1
while [ "$seen" -ne "$signals" ]; do
  seen=$signals
  status=0
  wait "$pid" || status=$?
done

# 85: stopped on a signal after a checkpoint. Without a signal to this shell it was scancel's: no more.
if [ "$status" -eq 85 ] && [ "$signals" -gt 0 ]; then
  echo "stopped before the time limit; back to the queue"
  scontrol requeue "$SLURM_JOB_ID"
  sleep 60 # this job is ended meanwhile
fi
exit "$status"
