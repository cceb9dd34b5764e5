#!/bin/sh
# A factor of more than 2^31 elements, exchanged between ranks, written and read back.
# jobs/check-robust starts this test where there is enough memory. AMPED_LARGE_ROWS=N takes another
# number of rows: few rows as a trial, or 136000000 for more than 2^32 elements.
. "$(dirname "$0")/../lib/lib.sh"
cd "$scratch" || exit 99

rows=${AMPED_LARGE_ROWS-68000000} # times 32 components: 2176 million
# Every rank has the factor, 128 bytes a row, and its part of an MTTKRP result, with rows of the
# same length.
need_kib=$((rows / 1024 * (2 * 128 + 128) * 105 / 100))
write_kib=$((rows / 1024 * (2 * 128 + 2 * 256) * 105 / 100))
free_kib=$(awk '/^MemAvailable:/ { print $2 }' /proc/meminfo)
disk_kib=$(df -Pk . | awk 'NR == 2 { print $4 }')
if test "$free_kib" -lt "$need_kib"; then
  echo "skipped: $need_kib KiB of memory are needed, $free_kib are free"
  exit 77
fi
"$amped" generate t.h5 --dims="${rows}x7x5" --nnz=300k --seed=3 -q || fail "generate"
run="t.h5 --rank=32 --iters=2 --tol=0 -q"
# shellcheck disable=SC2086
expect 0 "" on 1 $run --nowrite --json=1.json
# shellcheck disable=SC2086
expect 0 "" on 2 $run --nowrite --json=2.json
# The tolerance of run_mpi.sh for float.
close "fit on 2 ranks against 1" "$(field fit 2.json)" "$(field fit 1.json)" 2e-5
if test "$free_kib" -lt "$write_kib" || test "$disk_kib" -lt $((rows / 1024 * 256 * 11 / 10)); then
  echo "skipped: writing the result takes $write_kib KiB of memory, and a third of that on disk"
else
  # shellcheck disable=SC2086
  expect 0 "" on 1 $run -o r.h5
  expect 0 "$rows" "$amped" info r.h5
  # The last rows are in the file: a run that starts from them begins with the fit of the first run.
  expect 0 "" on 1 t.h5 --rank=32 --iters=1 --tol=0 -q --init=r.h5 --nowrite --json=3.json
  if awk -v a="$(field fit 3.json)" -v b="$(field fit 1.json)" 'BEGIN { exit !(a >= b - 2e-5) }'; then
    pass
  else
    fail "the fit fell from $(field fit 1.json) to $(field fit 3.json)"
  fi
fi

finish
