#!/bin/sh
# examples/load_result.py: the fit computed from a result by numpy, and by pyttb and TensorLy where
# they are installed ($AMPED_PYTHON names a Python that has them).
. "$(dirname "$0")/lib.sh"
python=${AMPED_PYTHON-$(find_python)}
if test -z "$python"; then
  echo "skipped: no python3 with numpy and h5py (Debian: python3-numpy python3-h5py)"
  exit 77
fi
script=$(cd "$(dirname "$0")/../examples" && pwd)/load_result.py
cd "$scratch" || exit 99

"$amped" generate a.h5 --dims=30x20x10 --nnz=1500 --planted=4 --seed=1 -q || fail "generate"
"$amped" generate b.h5 --dims=12x9x8x7 --nnz=1200 --skew=0.6 --seed=2 -q || fail "generate"
for t in a b; do
  expect 0 "" on 2 $t.h5 --rank=3 --iters=8 --tol=0 --precision=double -q
  for package in numpy pyttb tensorly; do
    "$python" "$script" $t.cpd.h5 $t.h5 $package >out 2>err
    case $? in
      0) # In double all is rounded at some 1e3 eps of the norm squared; the root of it at most.
        close "fit by $package" "$(sed 's/.*, fit \([^,]*\),.*/\1/' out)" \
          "$(sed 's/.*file //' out)" 1e-6 ;;
      77)
        test $package != numpy && cat out || fail "numpy is there" ;;
      *)
        fail "$package: $(tail -n 1 err)" ;;
    esac
  done
done
finish
