#!/bin/sh
# Fuzz targets: the corpus, then some mutations of it, always the same. AMPED_FUZZ_COUNT=N in the
# environment sets the number of mutations.
. "$(dirname "$0")/../lib/lib.sh"
corpus=$(cd "$(dirname "$0")" && pwd)/corpus
targets=$(cd "$(dirname "$amped")" && pwd)/tests/fuzz
OMP_NUM_THREADS=1
export OMP_NUM_THREADS
cd "$scratch" || exit 99
for target in number binsparse tns table npy hdf5; do
  count=${AMPED_FUZZ_COUNT-2000}
  # Each execution forks one or two processes.
  test $target = hdf5 && count=$((count / 20))
  expect 0 "executions" "$targets/fuzz_$target" "$corpus/$target" $count
  echo "$target: $(cat out)"
done
# An input that fuzzing found: in the group "starts", which the probe did not open then, HDF5
# divides by zero.
expect 3 "starts-broken.h5" "$amped" info "$corpus/hdf5/starts-broken.h5"
# Written before the release of 0.1.0: /amped/mode_k/heavy_rows is skipped.
expect 0 "verified" "$amped" info "$corpus/hdf5/tensor-early.h5" --verify
finish
