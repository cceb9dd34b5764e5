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

# data_folder: the folder of NAME.tns.gz, AMPED_DATA or shared/data beside the source.
data_folder() {
  folder=${AMPED_DATA:-$(dirname "$0")/../../shared/data}
  (cd "$folder" 2>/dev/null && pwd) || {
    echo "$(basename "$0"): $folder: no such folder; name the folder of NAME.tns.gz with AMPED_DATA" >&2
    exit 2
  }
}

# count_in NAME DEFAULT: the value of that variable of the environment, a whole number from 1.
count_in() {
  eval "count=\${$1:-$2}"
  case $count in
    *[!0-9]* | 0*)
      echo "$(basename "$0"): $1=$count: a whole number from 1 is expected" >&2
      exit 2
      ;;
  esac
  echo "$count"
}
