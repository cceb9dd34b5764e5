#!/bin/bash
# Decomposes a tensor on the GPUs of several nodes, one rank each. Change the two lines that say so,
# then: sbatch multi-node.sh (or sbatch multi-node.sh TENSOR). docs/cluster.md explains the rest.
#SBATCH --nodes=2 --ntasks-per-node=4 --gpus-per-node=4  # <- change 1: nodes; GPUs of a node, twice
#SBATCH --cpus-per-task=8
#SBATCH --time=02:00:00
#SBATCH --job-name=amped-nodes
#SBATCH --output=%x-%j.out
set -eu
: "${SLURM_JOB_ID:?is not set: start this script with sbatch}"
input=${1:-tensor.h5} # <- change 2: the tensor file, on a file system that all nodes see

# module load openmpi-cuda   what amped_mpi was built with
# export UCX_NET_DEVICES=mlx5_0:1,mlx5_1:1   only where -v warns that rows move slowly

# AMPED: the program. AMPED_OPTIONS: further options of it. LAUNCHER: what starts the ranks, as in
#   LAUNCHER="mpirun --bind-to none --map-by ppr:4:node" sbatch --export=ALL multi-node.sh
# --gpus-per-node lets every rank see all GPUs of its node, so that rows may go from GPU to GPU; rank k
# of a node takes the k-th. Ranks may use all cores of the job: the program stays near its GPU by itself.
launcher=${LAUNCHER:-srun --mpi=pmix --cpu-bind=none --kill-on-bad-exit=1}
export OMP_NUM_THREADS=$SLURM_CPUS_PER_TASK
export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK # srun does not inherit it since Slurm 22.05

# Ranks read in turn, every part of the file once; -v tells how fast rows move between nodes.
# shellcheck disable=SC2206 # lists of words
command=($launcher "${AMPED:-amped_mpi}" cpd "$input" --rank=32 --read=parallel -v ${AMPED_OPTIONS-})
echo "+ ${command[*]}"
exec "${command[@]}"
