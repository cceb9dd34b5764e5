# Shared by tests/faults/faults*.sh, after lib.sh: runs with faults on request
# (tests/faults/fault.c).

shim=$(dirname "$amped")/tests/faults/fault.so
report=$scratch/report
mark=$scratch/mark

test -e "$shim" || fail "there is no $shim: make tests/faults/fault.so"

# gcc's AddressSanitizer wants to be the first library; fault.c calls its allocator. The report tells of
# the program's leaks; where allocations fail, libraries have their own. A crash keeps its status.
ASAN_OPTIONS=${ASAN_OPTIONS-allocator_may_return_null=1}:verify_asan_link_order=0:detect_leaks=0
ASAN_OPTIONS=$ASAN_OPTIONS:handle_segv=0
export ASAN_OPTIONS

# Preloading works where the C library is GNU's.
if ! LD_PRELOAD=$shim "$amped" --version 2>&1 | grep -q '^amped_mpi ' ||
  LD_PRELOAD=$shim "$amped" --version 2>&1 | grep -q 'ERROR: ld.so\|ASan'; then
  echo "skipped: $shim cannot be preloaded"
  exit 77
fi

# with FAULT RANKS ARGUMENT...: the program on RANKS ranks (0: alone, without MPI) with that fault,
# until it hangs. The report of fault.c is new.
with() {
  fault=$1
  ranks=$2
  shift 2
  rm -f "$report" "$mark"
  launch="timeout -k 5 $patience"
  test "$ranks" -gt 0 && launch="$launch $mpirun ${AMPED_MPIRUN_FLAGS-} -np $ranks"
  extra=
  test "$ranks" -gt 0 && extra="--backend=$backend"
  # shellcheck disable=SC2086
  $launch env LD_PRELOAD="$shim${LD_PRELOAD:+:$LD_PRELOAD}" AMPED_FAULT="$fault" AMPED_FAULT_REPORT="$report" \
    AMPED_FAULT_MARK="$mark" "$amped" "$@" $extra
  launched=$?
  # An mpirun that still writes to a rank that ended is ended by SIGPIPE, now and then.
  test "$ranks" -eq 0 || test $launched -ne 141 || launched=1
  return $launched
}

# fired: did the fault of the last run happen?
fired() {
  test -e "$mark"
}

# calls CALL NAME RANKS ARGUMENT...: the number of such calls of rank 0 in a run without faults.
calls() {
  call=$1
  name=$2
  shift 2
  with "ENOMEM $call $name 1000000 0" "$@" >/dev/null 2>&1
  awk '$2 == 0 && $6 > most { most = $6 } END { print most + 0 }' "$report" # of all processes of the rank
}

# await FILE: waits until the file exists, as long as $job runs.
await() {
  until_true "$job" test -e "$1"
}

# one_line WHAT: the last run, whose standard error is ./err, reported exactly one error.
one_line() {
  same "$1: error lines" "$(error_lines err | wc -l)" 1
}
