#!/bin/sh
# The fit of every sweep is that of pyttb and of TensorLy, from one start. $AMPED_PYTHON names a Python
# with these packages (examples.sh).
. "$(dirname "$0")/../lib/lib.sh"
python=$(find_python ${AMPED_PYTHON:+"$AMPED_PYTHON"})
if test -z "$python" || ! "$python" -c 'import h5py, pyttb, tensorly' >/dev/null 2>&1; then
  echo "skipped: no python3 with h5py, pyttb and tensorly"
  exit 77
fi
script=$(cd "$(dirname "$0")" && pwd)/dense_peers.py
cd "$scratch" || exit 99

# same NAME R DIM...: their fits come from |X|^2 + |M|^2 - 2 <X, M> in double, ours too.
same() {
  name=$1
  r=$2
  shift 2
  "$python" "$script" make $name.npy $name.h5 "$r" "$@" || fail "making $name"
  for ranks in 1 3; do
    expect 0 "" on $ranks $name.npy --rank="$r" --init=$name.h5 --iters=8 --tol=0 --precision=double \
      --json=run.json --nowrite -q
    expect 0 "" "$python" "$script" compare $name.npy $name.h5 run.json 1e-10
  done
}
same cube 5 60 60 60
same four 4 20 20 20 20

finish
