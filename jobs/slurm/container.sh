#!/bin/bash
# Decomposes a tensor on GPUs with amped_mpi from an Apptainer image. Change the two lines that say
# so, then: sbatch container.sh (or sbatch container.sh TENSOR IMAGE). docs/cluster.md explains the
# rest. The image holds amped_mpi and an Open MPI whose PMIx the launcher's can talk to.
#SBATCH --ntasks-per-node=4 --gpus-per-node=4  # <- change 1: the number of GPUs, twice
#SBATCH --nodes=1
#SBATCH --cpus-per-task=8
#SBATCH --time=02:00:00
#SBATCH --job-name=amped-container
#SBATCH --output=%x-%j.out
set -eu
: "${SLURM_JOB_ID:?is not set: start this script with sbatch}"
input=${1:-tensor.h5} image=${2:-amped.sif} # <- change 2: the tensor file and the image

# module load apptainer

# AMPED: the program in the image. AMPED_OPTIONS: further options of it. LAUNCHER: what starts the ranks.
# --nv brings the node's NVIDIA driver into the container. --gpus-per-node lets every rank see all GPUs
# of its node. Ranks in containers of their own may not copy from one another's memory by the kernel.
launcher=${LAUNCHER:-srun --mpi=pmix --cpu-bind=none --kill-on-bad-exit=1}
export OMPI_MCA_btl_vader_single_copy_mechanism=none OMPI_MCA_smsc=^cma # Open MPI 4, and 5
export OMP_NUM_THREADS=$SLURM_CPUS_PER_TASK
export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK # srun does not inherit it since Slurm 22.05

# The folder of the tensor, and the one the job was submitted from, where the result goes.
folder=$(cd "$(dirname "$input")" && pwd)
input=$folder/$(basename "$input")
# shellcheck disable=SC2206 # lists of words
command=($launcher apptainer exec --nv --bind "$folder,$PWD" --pwd "$PWD" "$image"
  "${AMPED:-amped_mpi}" cpd "$input" --rank=32 ${AMPED_OPTIONS-})
echo "+ ${command[*]}"
exec "${command[@]}"
