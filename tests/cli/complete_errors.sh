#!/bin/sh
# complete, predict and recommend: what they refuse or tell, one small tensor for all.
. "$(dirname "$0")/../lib/lib.sh"
cd "$scratch" || exit 99

# alone STATUS PATTERN ARGUMENT...: expect, without mpirun, which waits for seconds after a failure.
alone() {
  want=$1 pattern=$2
  shift 2
  expect "$want" "$pattern" "$amped" "$@" --backend="$backend"
}
awk 'BEGIN {
  print "user,item,week,stars"
  for (n = 0; n < 300; n++) printf "u%d,v%d,w%d,%d\n", n % 13, n * 7 % 11, n % 5, 1 + n * n % 5
}' >t.csv
"$amped" convert t.csv t.h5 --value=stars --duplicates=mean -q || fail "convert"
alone 0 "" complete t.h5 --rank=2 --reg=1 --iters=3 -o model.h5 -q

# Values whose errors have no squares.
printf '1 1 1 3\n2 1 1 1e300\n' >huge.tns
alone 3 "huge.tns: entry 2 has the value 1e+300" complete t.h5 --rank=2 --reg=1 --test=huge.tns --json=x.json --nowrite -q
alone 3 "huge.tns: entry 2 has the value 1e+300" complete t.h5 --rank=2 --reg=1 --validate=huge.tns --nowrite -q
expect 3 "huge.tns: cell 2 has the value 1e+300" "$amped" predict model.h5 huge.tns

finish
