#!/bin/bash
# Decomposes a tensor on 1 to 8 GPUs of one node, one rank each. Change the two lines that say so,
# then: sbatch one-node.sh (or sbatch one-node.sh TENSOR). docs/cluster.md explains the rest.
#SBATCH --ntasks-per-node=4 --gpus-per-node=4  # <- change 1: the number of GPUs, twice
#SBATCH --nodes=1
#SBATCH --cpus-per-task=8
#SBATCH --time=02:00:00
#SBATCH --job-name=amped
#SBATCH --output=%x-%j.out
set -eu
: "${SLURM_JOB_ID:?is not set: start this script with sbatch}"
input=${1:-tensor.h5} # <- change 2: the tensor file

# module load openmpi-cuda   what amped_mpi was built with

# AMPED: the program. AMPED_OPTIONS: further options of it. LAUNCHER: what starts the ranks.
# --gpus-per-node lets every rank see all GPUs of its node, so that rows may go from GPU to GPU; rank k
# takes the k-th. Ranks may use all cores of the job: the program stays near its GPU by itself.
launcher=${LAUNCHER:-srun --mpi=pmix --cpu-bind=none --kill-on-bad-exit=1}
export OMP_NUM_THREADS=$SLURM_CPUS_PER_TASK
export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK # srun does not inherit it since Slurm 22.05

# shellcheck disable=SC2206 # lists of words
command=($launcher "${AMPED:-amped_mpi}" cpd "$input" --rank=32 ${AMPED_OPTIONS-})
echo "+ ${command[*]}"
exec "${command[@]}"
