#!/bin/sh
# tests/cli/backends.sh on the emulated GPU: cuda/ works as a whole on a machine without a GPU.
program=$(pwd)/emulated/amped_mpi
AMPED_MPI=$program AMPED_TEST_BACKEND=cuda exec sh "$(dirname "$0")/backends.sh"
