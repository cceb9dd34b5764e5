#!/bin/sh
# top: the components that are asked for, by their numbers.
. "$(dirname "$0")/../lib/lib.sh"
cd "$scratch" || exit 99

"$amped" generate t.h5 --dims=8x7x9 --nnz=200 --seed=2 -q || fail "generate"
expect 0 "" on 1 t.h5 --rank=6 --iters=3 -o six.h5 -q

# numbers FILE: the components that the output tells, in order.
numbers() { sed -n 's/^component \([0-9]*\) of 6,.*/\1/p' "$1" | tr '\n' ' '; }
expect 0 "" "$amped" top six.h5
same "all components" "$(numbers out)" "1 2 3 4 5 6 "
cp out all.txt
expect 0 "" "$amped" top six.h5 --components=6,1-2 --json=some.json
same "the components asked for" "$(numbers out)" "6 1 2 "
same "their weights" "$(grep '^component 6' out)" "$(grep '^component 6' all.txt)"
same "components in JSON" "$(sed -n 's/.*"component":\([0-9]*\).*/\1/p' some.json | tr '\n' ' ')" "6 1 2 "
expect 2 "has no component 7; its components are 1 to 6" "$amped" top six.h5 --components=1,5-8
expect 2 "ranges such as 1,4-6" "$amped" top six.h5 --components=0
expect 2 "ranges such as 1,4-6" "$amped" top six.h5 --components=1,1
finish
