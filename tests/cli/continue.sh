#!/bin/sh
# complete --init=RESULT goes on where the result ends: the first sweep's objective is not above that of the
# result's last, since the lengths of columns are in the file. Without them weights are spread evenly.
. "$(dirname "$0")/../lib/lib.sh"
python=$(find_python)
cd "$scratch" || exit 99

heavy_tensor | awk '$3 < 20000 { $4 = $4 + $1 % 7 * ($3 % 5); print }' >heavy.tns
"$amped" convert heavy.tns heavy.h5 -q || fail "convert"

# objective SWEEP FILE: of that sweep; of the last: an empty SWEEP.
objective() {
  grep '"event":"iteration"' "$2" | grep "\"sweep\":$1" | tail -n 1 | sed 's/.*"objective":\([^,]*\),.*/\1/'
}
# not_above WHAT A B SHARE: A is at most B, but for that share.
not_above() {
  if awk -v a="$2" -v b="$3" -v t="$4" 'BEGIN { exit !(a > 0 && a <= b * (1 + t)) }'; then pass; else
    fail "$1: $2 is above $3"
  fi
}
goes_on() { # goes_on SHARE OPTION...
  share=$1
  shift
  expect 0 "" on 2 complete heavy.h5 --rank=4 --reg=0.3 --tol=0 --patience=100 --holdout=0 --iters=20 -o first.h5 \
    --overwrite -q --precision=double --json=first.json "$@"
  expect 0 "" on 1 complete heavy.h5 --rank=4 --reg=0.3 --tol=0 --holdout=0 --iters=1 --init=first.h5 --nowrite -q \
    --precision=double --json=next.json "$@"
  not_above "$*" "$(objective 1, next.json)" "$(objective "" first.json)" "$share"
}
goes_on 1e-9
goes_on 1e-9 --bias=none
goes_on 1e-9 --bias=none --context=3
goes_on 1e-9 --method=ccd
goes_on 0.01 --method=sgd --bias=none # its step is 1 again
expect 0 "" "$amped" info first.h5 --verify

# A result of cpd, or of an earlier build, has no lengths: components live on.
if test -n "$python"; then
  expect 0 "" on 1 complete heavy.h5 --rank=4 --reg=0.3 --tol=0 --holdout=0 --iters=20 -o old.h5 -q --bias=none \
    --context=3 --json=first.json
  "$python" -c 'import h5py
a, b = h5py.File("old.h5"), h5py.File("plain.h5", "w")
assert a["lengths"].shape == (3, 4)
for name in "weights", "factors/0", "factors/1", "factors/2": b[name] = a[name][:]'
  expect 0 "" on 1 complete heavy.h5 --rank=4 --reg=0.3 --holdout=0 --iters=1 --init=plain.h5 --nowrite -q \
    --bias=none --context=3 --json=next.json
  not_above "without lengths" "$(objective 1, next.json)" "$(objective "" first.json)" 0.2
  "$python" -c 'import h5py; f = h5py.File("first.h5", "a"); f["lengths"][0, 0] = -1'
  expect 3 "is no length\|checksum\|disagrees" "$amped" complete heavy.h5 --rank=4 --reg=1 --init=first.h5 --bias=none \
    --nowrite -q
else
  echo "skipped: no python3 with numpy and h5py"
fi
finish
