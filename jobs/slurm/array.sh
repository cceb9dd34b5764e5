#!/bin/bash
# Decomposes a tensor once for every number of components R and every seed, as a job array on one node
# each. Change the two lines that say so; --array counts R x seeds from 0. Then:
#   job=$(sbatch --parsable array.sh) && sbatch --dependency=afterany:$job pick-best.sh tensor
#SBATCH --array=0-8 --ntasks-per-node=4 --gpus-per-node=4  # <- change 1: jobs; GPUs of each, twice
#SBATCH --nodes=1
#SBATCH --cpus-per-task=8
#SBATCH --time=02:00:00
#SBATCH --job-name=amped-array
#SBATCH --output=%x-%A_%a.out
set -eu
: "${SLURM_JOB_ID:?is not set: start this script with sbatch}"
input=${1:-tensor.h5} components=${2:-"8 16 32"} seeds=${3:-"1 2 3"} # <- change 2

# module load openmpi-cuda   what amped_mpi was built with

read -ra components <<<"$components"
read -ra seeds <<<"$seeds"
jobs=$((${#components[@]} * ${#seeds[@]}))
if [ "$SLURM_ARRAY_TASK_COUNT" -ne "$jobs" ] || [ "$SLURM_ARRAY_TASK_ID" -ge "$jobs" ]; then
  echo "array.sh: ${#components[@]} values of R and ${#seeds[@]} seeds need --array=0-$((jobs - 1))" >&2
  exit 2
fi
R=${components[$((SLURM_ARRAY_TASK_ID / ${#seeds[@]}))]}
seed=${seeds[$((SLURM_ARRAY_TASK_ID % ${#seeds[@]}))]}
stem=$(basename "$input")
stem=${stem%.h5}.r$R.s$seed

# AMPED: the program. AMPED_OPTIONS: further options of it. LAUNCHER: what starts the ranks.
# --gpus-per-node lets every rank see all GPUs of its node, so that rows may go from GPU to GPU; rank k
# takes the k-th. Ranks may use all cores of the job: the program stays near its GPU by itself.
launcher=${LAUNCHER:-srun --mpi=pmix --cpu-bind=none --kill-on-bad-exit=1}
export OMP_NUM_THREADS=$SLURM_CPUS_PER_TASK
export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK # srun does not inherit it since Slurm 22.05

# shellcheck disable=SC2206 # lists of words
command=($launcher "${AMPED:-amped_mpi}" cpd "$input" --rank="$R" --seed="$seed"
  --output="$stem.cpd.h5" --json="$stem.json" ${AMPED_OPTIONS-})
echo "+ ${command[*]}"
exec "${command[@]}"
