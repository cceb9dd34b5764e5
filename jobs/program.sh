# Sourced by jobs before they change folder: sets $amped to the program, with its folder. AMPED_MPI names it; otherwise it
# is amped_mpi of the current folder or, without one, of PATH.
# shellcheck shell=sh
amped=${AMPED_MPI:-./amped_mpi}
test -n "${AMPED_MPI-}" || test -x "$amped" || amped=amped_mpi
amped=$(command -v "$amped") || {
  echo "$(basename "$0"): ${AMPED_MPI:-amped_mpi}: no such program; set AMPED_MPI" >&2
  exit 2
}
case $amped in
  /*) ;;
  *) amped=$PWD/$amped ;;
esac
