# Sourced by jobs/check-gpu and jobs/check-gpu-memory, which set $top, the source folder.

# unit_path PROGRAM: tests/unit/FOLDER/PROGRAM, of its name alone, or as it is.
unit_path() {
  case $1 in
    */*) echo "$1" ;;
    *) (cd "$top" && ls tests/unit/*/"$1".c*) | sed 's/\.cu*$//' ;;
  esac
}

# unit_cases PATH...: a line "PATH CASE" for each case; the last lines of a program name them.
unit_cases() {
  for program in "$@"; do
    for name in $(sed -n '/^TESTING_MAIN(/,/)/p' "$top/$program".c* | tr -d ' \n)' | cut -d, -f2- | tr , ' '); do
      echo "$program $name"
    done
  done
}

# The GPUs that tests take in turn, as a list with blanks.
gpu_list() {
  devices=${CUDA_VISIBLE_DEVICES-$(nvidia-smi --query-gpu=index --format=csv,noheader)}
  echo "$devices" | tr ',\n' '  '
}
