#!/bin/sh
# tests/cli/rails.sh on emulated GPUs: rows of GPUs cross from node to node in every way, to the same bits.
EMULATED_SMS=8 OMP_NUM_THREADS=1 AMPED_MPI=$(pwd)/emulated/amped_mpi AMPED_TEST_BACKEND=cuda
export EMULATED_SMS OMP_NUM_THREADS AMPED_MPI AMPED_TEST_BACKEND
exec sh "$(dirname "$0")/rails.sh"
