#!/bin/bash
# Decomposes a tensor on CPU cores, one rank for each socket or NUMA node. Change the two lines that
# say so, then: sbatch cpu.sh (or sbatch cpu.sh TENSOR). docs/cluster.md explains the rest.
#SBATCH --partition=cpu --ntasks-per-node=2 --cpus-per-task=16  # <- change 1: sockets, cores of each
#SBATCH --nodes=1
#SBATCH --time=02:00:00
#SBATCH --job-name=amped-cpu
#SBATCH --output=%x-%j.out
set -eu
: "${SLURM_JOB_ID:?is not set: start this script with sbatch}"
input=${1:-tensor.h5} # <- change 2: the tensor file

# module load openmpi   what amped_mpi was built with

# AMPED: the program. AMPED_OPTIONS: further options of it. LAUNCHER: what starts the ranks.
# Every rank has cores of its own, a thread stays on its core, and memory is where it is touched first.
launcher=${LAUNCHER:-srun --mpi=pmix --cpu-bind=cores --kill-on-bad-exit=1}
export OMP_NUM_THREADS=$SLURM_CPUS_PER_TASK OMP_PLACES=cores OMP_PROC_BIND=close
export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK # srun does not inherit it since Slurm 22.05

# shellcheck disable=SC2206 # lists of words
command=($launcher "${AMPED:-amped_mpi}" cpd "$input" --rank=32 --backend=cpu ${AMPED_OPTIONS-})
echo "+ ${command[*]}"
exec "${command[@]}"
