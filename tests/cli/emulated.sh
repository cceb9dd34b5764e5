#!/bin/sh
# tests/cli/backends.sh on the emulated GPU: cuda/ works as a whole on a machine without a GPU.
#
# Blocks are emulated one after the other, and other tests run beside this one: few multiprocessors, one
# thread a rank, and two parts at a time.
program=$(pwd)/emulated/amped_mpi
EMULATED_SMS=8 OMP_NUM_THREADS=1 AMPED_AT_ONCE=2 AMPED_MPI=$program AMPED_TEST_BACKEND=cuda
export EMULATED_SMS OMP_NUM_THREADS AMPED_AT_ONCE AMPED_MPI AMPED_TEST_BACKEND
exec sh "$(dirname "$0")/backends.sh"
