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
# CARDS: the network card near each GPU, in the order of GPUs (nvidia-smi topo -m). Each rank then uses one card.
# Set it if -v reports a slow exchange. Without it UCX chooses.
# export CARDS="mlx5_0:1 mlx5_1:1 mlx5_2:1 mlx5_3:1"

# AMPED: the program. AMPED_OPTIONS: further options of it. LAUNCHER: what starts the ranks, as in
#   LAUNCHER="mpirun --bind-to none --map-by ppr:4:node" sbatch --export=ALL multi-node.sh
# --gpus-per-node lets every rank see all GPUs of its node, so that rows may go from GPU to GPU; rank k
# of a node takes the k-th. Ranks may use all cores of the job: the program stays near its GPU by itself.
launcher=${LAUNCHER:-srun --mpi=pmix --cpu-bind=none --kill-on-bad-exit=1}
export OMP_NUM_THREADS=$SLURM_CPUS_PER_TASK
export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK # srun does not inherit it since Slurm 22.05

# shellcheck disable=SC2016 # ranks expand it
one_card='cards=($CARDS); export UCX_NET_DEVICES=${cards[${OMPI_COMM_WORLD_LOCAL_RANK:-$SLURM_LOCALID}]}; exec "$@"'
prefix=()
if [ -n "${CARDS-}" ]; then prefix=(bash -uc "$one_card" one_card); fi

# Ranks read in turn, every part of the file once; -v prints how fast rows move between nodes.
# shellcheck disable=SC2206 # lists of words
command=($launcher ${prefix[@]+"${prefix[@]}"} "${AMPED:-amped_mpi}" cpd "$input" --rank=32 --read=parallel -v ${AMPED_OPTIONS-})
echo "+ ${command[*]}"
exec "${command[@]}"
