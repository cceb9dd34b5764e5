#!/bin/sh
# Two nodes over TCP: the answers are the same as on one node, with any readers.
. "$(dirname "$0")/../lib/lib.sh"
lib=$(cd "$(dirname "$0")/../lib" && pwd)
cd "$scratch" || exit 99
. "$lib/nodes.sh"

# A command that computes.
across() {
  # shellcheck disable=SC2086
  spread "$@" $computing
}

# Tolerance of fits in double: see run_mpi.sh.
tol=1e-10
"$amped" generate a.h5 --dims=3000x200x50 --nnz=20k --skew=0.7 --seed=3 -q || fail "generate"
run="a.h5 --rank=24 --iters=4 --tol=0 --precision=double --deterministic -v"
# shellcheck disable=SC2086
expect 0 "" on 2 $run --nowrite --json=one.json $memory_given
for by in slot node; do
  for read in root parallel; do
    # shellcheck disable=SC2086
    expect 0 "exchange: .*, 2 nodes; .* of the .* that a rail reaches while all send" across $run --read=$read \
      -o $by.$read.h5 --json=two.json
    close "fit by $by, $read reads" "$(field fit two.json)" "$(field fit one.json)" $tol
    same "nodes" "$(grep '"exchange"' two.json | sed 's/.*"nodes":\([0-9]*\).*/\1/')" 2
  done
done
# A file that only the node of rank 0 has: one reader works, many readers fail.
if test -n "$hide"; then
  mv a.h5 local/a.h5
  by=slot
  run="local/a.h5 --rank=24 --iters=4 --tol=0 --precision=double"
  # shellcheck disable=SC2086
  expect 0 "" across $run --read=root --nowrite --json=local.json
  close "fit of a file on one node" "$(field fit local.json)" "$(field fit one.json)" $tol
  # shellcheck disable=SC2086
  expect 3 "local/a.h5: .*" across $run --read=parallel --nowrite
else
  echo "skipped: a file that one node alone sees, as nothing can be mounted here"
fi
# Facts that ranks find on their nodes.
by=slot
spread info --system >system 2>err || fail "info --system on two nodes: $(head -n 3 err)"
same "nodes" "$(sed -n 's/^node  *\(node[12]\): 2 ranks.*/\1/p' system | tr '\n' ' ')" "node1 node2 "
same "ranks" "$(sed -n 's/^rank \([0-3]\)  *\(node[12]\), local rank \([01]\):.*/\1 \2 \3;/p' system | tr '\n' ' ')" \
  "0 node1 0; 1 node1 1; 2 node2 0; 3 node2 1; "
# Neither the order of the ring nor the choice of readers changes a bit. (--deterministic: Open MPI 5 sums
# within nodes first.)
text() {
  rm -f f.*.txt
  "$amped" convert "$1" f.txt -q && cat f.*.txt
}
text slot.root.h5 >first.txt
expect 0 "" test -s first.txt
for f in slot.parallel node.root node.parallel; do
  text $f.h5 >other.txt
  expect 0 "" cmp first.txt other.txt
done

finish
