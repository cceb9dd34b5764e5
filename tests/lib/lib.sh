# Shared by the end-to-end tests, which source it; it is not a test itself. Every assertion prints
# one line. The script's exit status is 0 only if all assertions hold. Scratch files are in a folder
# that is removed at the end.

set -u
amped=${AMPED_MPI:-$PWD/amped_mpi}
srcdir=$(cd "${srcdir:-$(dirname "$0")/../..}" && pwd) || exit 99
data=${AMPED_DATA:-$srcdir/../shared/data}
backend=${AMPED_TEST_BACKEND:-cpu}
mpirun=${MPIRUN:-mpirun}
scratch=$(mktemp -d "${TMPDIR:-/tmp}/amped-test.XXXXXX") || exit 99
trap 'rm -rf "$scratch"' EXIT
# A killed mpirun (of Open MPI 4, or 5) leaves a folder with its process id in its name. A later mpirun
# of the same id says PMIX_ERR_EXISTS, so each test has a place of its own for these folders.
mkdir "$scratch/.mpi" || exit 99
OMPI_MCA_orte_tmpdir_base=$scratch/.mpi
PRTE_MCA_prte_tmpdir_base=$scratch/.mpi
export OMPI_MCA_orte_tmpdir_base PRTE_MCA_prte_tmpdir_base
failures=0
passes=0

# Seconds after which something hangs. No test depends on speed: a loaded machine, slow kernels or a
# sanitizer take their time.
patience=900

pass() { passes=$((passes + 1)); }
fail() {
  failures=$((failures + 1))
  echo "FAILED: $*"
}

finish() {
  echo "$passes assertions held, $failures failed"
  test "$failures" -eq 0
  exit
}

# Ends a script on GPUs. jobs/check-gpu has minutes, and each start on a GPU takes seconds: what does not
# depend on the backend is tested on CPUs only.
finish_on_gpus() {
  test "$backend" = cpu || finish
}

# enough N: on GPUs, true at the N-th call since it was true: for loops over runs, of which GPUs need few.
turns=0
enough() {
  test "$backend" != cpu || return 1
  turns=$((turns + 1))
  test "$turns" -ge "$1" || return 1
  turns=0
}

# Can `script` (Debian: bsdutils) make a terminal here? Without /dev/pts it cannot.
has_terminals() {
  script -qec true /dev/null </dev/null >/dev/null 2>&1 && return
  echo "skipped: no terminal (command script, folder /dev/pts)"
  return 1
}

# needs TOOL...: commands that the test requires.
needs() {
  for tool in "$@"; do
    command -v "$tool" >/dev/null || {
      echo "FAILED: no $tool; jobs/install-packages --tests installs what the tests need"
      exit 99
    }
  done
}

# on RANKS ARGUMENT...: the program on that number of ranks, with the backend under test. One rank needs
# no mpirun, whose start takes ten times as long as a small run.
on() {
  ranks=$1
  shift
  extra="--backend=$backend"
  test "$backend" = cuda && extra="$extra --share-gpus"
  if test "$ranks" -eq 1 && test -z "${AMPED_MPIRUN_FLAGS-}"; then
    # shellcheck disable=SC2086
    timeout -k 10 $patience "$amped" "$@" $extra
    return
  fi
  # shellcheck disable=SC2086
  timeout -k 10 $patience $mpirun ${AMPED_MPIRUN_FLAGS-} -np "$ranks" "$amped" "$@" $extra
}

# For scripts that mpirun starts: the number of this rank. (mpirun's "A : B", for programs that differ,
# crashes in the Open MPI 5.0.7 of Debian 13.)
# shellcheck disable=SC2016,SC2034
rank_here='"${OMPI_COMM_WORLD_RANK-${PMIX_RANK-$PMI_RANK}}"'

# begin RANKS PATTERN ARGUMENT...: starts the program in the background, and waits until its JSON
# lines (live.json) have the pattern. $launcher is the process of mpirun.
begin() {
  ranks=$1
  awaited=$2
  shift 2
  extra="--backend=$backend"
  test "$backend" = cuda && extra="$extra --share-gpus"
  rm -f live.json
  # shellcheck disable=SC2086
  $mpirun ${AMPED_MPIRUN_FLAGS-} -np "$ranks" "$amped" "$@" --json=live.json $extra >out.txt 2>err.txt </dev/null &
  launcher=$!
  until_true "$launcher" grep -q "$awaited" live.json && pass || fail "no '$awaited' in: $*"
}

# until_true PID COMMAND...: waits until the command succeeds, as long as that child of ours lives.
until_true() {
  watched=$1
  shift
  tries=0
  until "$@" 2>/dev/null; do
    kill -0 "$watched" 2>/dev/null && test "$tries" -lt $((10 * patience)) || break
    sleep 0.1
    tries=$((tries + 1))
  done
  "$@" 2>/dev/null
}

# stop_by SIGNAL: sends it to the mpirun of begin, and waits for its end; $status has its exit
# status. A busy mpirun may lose a signal: it is sent once more whenever the run goes on regardless.
stop_by() {
  while kill -s "$1" "$launcher" 2>/dev/null; do
    sent=$(wc -l <live.json)
    until_true "$launcher" eval "test \$(wc -l <live.json) -gt $((sent + 300))" || break
  done
  wait "$launcher"
  status=$?
}

# error_lines FILE: the program's own errors among what came through standard error. (Open MPI 5's
# mpirun ends its messages with a zero byte, which may come before a line of ours.)
error_lines() {
  tr -d '\000' <"$1" | grep -a '^amped_mpi: ' | grep -av '^amped_mpi: warning: '
}

# few N ITEM...: the first N items of a loop that repeats itself; all items with AMPED_TEST_LONG=1.
few() {
  most=$1
  shift
  test "${AMPED_TEST_LONG:-0}" = 1 && most=$#
  for item in "$@"; do
    test "$most" -gt 0 || break
    echo "$item"
    most=$((most - 1))
  done
}

# expect STATUS PATTERN COMMAND...: checks the exit status and a line of the output that matches the
# pattern (empty: any). A failure must have exactly one line of the program's own.
expect() {
  want=$1
  pattern=$2
  shift 2
  "$@" >"$scratch/out" 2>"$scratch/err" </dev/null
  got=$?
  error_lines "$scratch/err" >"$scratch/lines"
  if test "$got" -ne "$want"; then
    fail "status $got, not $want: $*"
    sed 's/^/  | /' "$scratch/err" "$scratch/out" | head -20
  elif test "$want" -ne 0 && test "$(wc -l <"$scratch/lines")" -ne 1; then
    fail "$(wc -l <"$scratch/lines") error lines, not one: $*"
    sed 's/^/  | /' "$scratch/err" | head -5
  elif test -n "$pattern" && ! grep -aq -e "$pattern" "$scratch/err" "$scratch/out"; then
    fail "no '$pattern' in: $*"
    sed 's/^/  | /' "$scratch/err" "$scratch/out" | head -5
  else
    pass
  fi
}

# same WHAT A B: compares two strings.
same() {
  if test "$2" = "$3"; then pass; else fail "$1: '$2' is not '$3'"; fi
}

# absent FILE...: no file with these names exists, and no temporary file of them.
absent() {
  for f in "$@"; do
    if ls "$f" "$f".tmp.* >/dev/null 2>&1; then fail "$f was left behind"; else pass; fi
  done
}

# close WHAT A B TOLERANCE: compares two numbers. What is no number is not close to anything.
close() {
  if awk -v a="$2" -v b="$3" -v t="$4" 'BEGIN { d = a - b; exit !(a + 0 == a && b + 0 == b && d <= t && -d <= t) }'; then
    pass
  else
    fail "$1: $2 and $3 differ by more than $4"
  fi
}

# field NAME FILE: the last value of a number or string in JSON lines.
field() {
  tr ',{}' '\n\n\n' <"$2" | sed -n "s/^ *\"$1\": *\"\{0,1\}\([^\"]*\)\"\{0,1\}\$/\1/p" | tail -n 1
}

# events EVENT KEY FILE: the first value of the key in each JSON line of that event.
events() {
  awk -v event="\"event\":\"$1\"" -v key="\"$2\":" 'index($0, event) && index($0, key) {
    text = substr($0, index($0, key) + length(key)); sub(/[,}].*/, "", text); print text }' "$3"
}

# A Python that has numpy and h5py, or the empty string.
plain_python() {
  for p in python3 /usr/bin/python3; do
    if "$p" -c 'import numpy, h5py' >/dev/null 2>&1; then
      echo "$p"
      return
    fi
  done
}

# find_python [PYTHON]: the same Python (or PYTHON) with both loaded, as a command for this script alone, or
# the empty string. To load them takes longer than most of what scripts ask for.
find_python() {
  mkdir "$scratch/.python" || exit 99
  for p in ${1-python3 /usr/bin/python3}; do
    # In a folder of its own: nothing of a test is imported.
    mkfifo "$scratch/.python/ready"
    (cd "$scratch/.python" && OPENBLAS_NUM_THREADS=1 exec "$p" "$srcdir/tests/lib/warm_python.py" "$scratch/.python") \
      >"$scratch/.python/ready" 2>/dev/null &
    said=
    read -r said <"$scratch/.python/ready"
    rm "$scratch/.python/ready"
    if test "$said" = ready; then
      echo warm_python
      return
    fi
  done
}
# needs_python [PYTHON]: sets $python as find_python does, or ends the script as skipped.
needs_python() {
  python=$(find_python "$@")
  test -n "$python" || {
    echo "skipped: no python3 with numpy and h5py (Debian: python3-numpy python3-h5py)"
    exit 77
  }
}
# As python3, with "-c CODE", "-" or a script; only "-" reads standard input.
warm_python() {
  warm_call=$(mktemp -d "$scratch/.python/call.XXXXXX") && mkfifo "$warm_call/status" || exit 99
  printf '%s\0' "$PWD" "$@" >"$warm_call/arguments"
  test "$1" != - || cat >"$warm_call/in"
  echo "$warm_call" >"$scratch/.python/calls"
  read -r warm_status <"$warm_call/status"
  test ! -s "$warm_call/out" || cat "$warm_call/out"
  test ! -s "$warm_call/err" || cat "$warm_call/err" >&2
  rm -rf "$warm_call"
  return "$warm_status"
}

# 40000 nonzeros as text: index 7 of 400 has 40 % of them, and the second mode has three indices.
heavy_tensor() {
  awk 'function random() { seed = (seed * 16807) % 2147483647; return seed / 2147483647 }
    BEGIN {
      seed = 12
      for (k = 0; k < 40000; k++) {
        i = random() < 0.4 ? 7 : 1 + int(400 * random())
        printf "%d %d %d %.3f\n", i, 1 + int(3 * random()), 1 + k * 7919 % 70000, 0.1 + random()
      }
    }'
}

# same_bits WHAT A B: two results of a tensor of three modes are the same to the bit; needs h5diff
same_bits() {
  for set in weights fit factors/0 factors/1 factors/2; do
    if h5diff "$2" "$3" /$set /$set >diff.txt 2>&1; then pass; else fail "$1, $set: $(head -3 diff.txt)"; fi
  done
}
