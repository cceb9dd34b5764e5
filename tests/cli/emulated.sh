#!/bin/sh
# tests/cli/backends.sh on the emulated GPU: cuda/ works as a whole on a machine without a GPU.
#
# Blocks are emulated one after the other, and other tests run beside this one: few multiprocessors, one
# thread a rank, and two parts at a time.
program=$(pwd)/emulated/amped_mpi
EMULATED_SMS=8 OMP_NUM_THREADS=1 AMPED_AT_ONCE=2 AMPED_MPI=$program AMPED_TEST_BACKEND=cuda
export EMULATED_SMS OMP_NUM_THREADS AMPED_AT_ONCE AMPED_MPI AMPED_TEST_BACKEND
status=0
# The published kernel: bench alone runs it, which also measures a GPU's memory for hours there.
CK_RUN_CASE=atomic_kernel_gives_the_same "$(dirname "$program")/check_backends" || status=1
sh "$(dirname "$0")/backends.sh" || status=1
exit $status
