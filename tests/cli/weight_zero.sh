#!/bin/sh
# complete --weights: an entry of weight 0 takes no part, whatever its value is: nodata values of
# rasters and tables. Errors are those that numpy finds.
. "$(dirname "$0")/../lib/lib.sh"
needs_python
here=$(cd "$(dirname "$0")" && pwd)
cd "$scratch" || exit 99
numbers() { expect 0 "" "$python" "$here/weight_zero.py" "$@"; }

# learn RANKS INPUT WEIGHTS OPTION...: model.h5 and
learn() {
  n=$1 input=$2 weights=$3
  shift 3
  expect 0 "" on "$n" complete "$input" --weights="$weights" --rank=2 --reg=0.1 --iters=30 --overwrite \
    -o model.h5 "$@"
}

# Arrays of which 30 % and 80 % are missing, as 0 and as a value of a program; the same of float32.
for share in 0.3 0.8; do
  for nodata in -9999 9.969209968386869e36 1e38 -3.4028234663852886e38; do
    numbers make $share $nodata
    for options in --bias=none --bias=full --precision=double; do
      # shellcheck disable=SC2086
      learn 1 zero.npy mask.npy $options
      cp model.h5 zero.h5
      # shellcheck disable=SC2086
      learn 1 nodata.npy mask.npy $options
      numbers same zero.h5 model.h5
    done
  done
done

# A list in HDF5, and a table with its weights in a column; several ranks; doubles.
for nodata in 1e38 -1e150; do
  numbers make 0.8 $nodata
  expect 0 "" "$amped" convert zero.csv zero.list.h5 --value=value --keys=i,j,k --overwrite
  expect 0 "" "$amped" convert nodata.csv nodata.list.h5 --value=value --keys=i,j,k --overwrite
  learn 1 zero.csv w --value=value --keys=i,j,k
  cp model.h5 zero.h5
  learn 2 nodata.csv w --value=value --keys=i,j,k
  numbers same zero.h5 model.h5
  learn 2 nodata.list.h5 weights.csv --value=w --keys=i,j,k
  numbers same zero.h5 model.h5
done

# One learnt value of this size among many, which the sample of values does not have: refused.
numbers make 0.3 1e38 learnt
expect 3 "more than a million times larger" on 1 complete nodata.npy --weights=mask.npy --rank=2 -o other.h5
finish
