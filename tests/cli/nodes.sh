#!/bin/sh
# Two nodes over TCP: network namespaces of this machine, each with its own host name and address,
# on a bridge. The answers are the same as on one node, with any readers. Needs root, ip and
# unshare, and Open MPI's remote agent; skipped where these are missing.
. "$(dirname "$0")/../lib/lib.sh"
cd "$scratch" || exit 99

skip() {
  echo "skipped: $1"
  exit 77
}

# Names and addresses (in the range for network tests, RFC 2544) that no other run uses.
id=$$
net=198.18.$((id % 250))
bridge=abr$id

take_down() {
  for i in 1 2; do
    ip link del "av$id.$i" 2>/dev/null
    ip netns del "amped$id.$i" 2>/dev/null
  done
  ip link del "$bridge" 2>/dev/null
}

put_up() {
  ip link add "$bridge" type bridge && ip addr add "$net.1/24" dev "$bridge" &&
    ip link set "$bridge" up || return
  for i in 1 2; do
    ip netns add "amped$id.$i" &&
      ip link add "av$id.$i" type veth peer name eth0 netns "amped$id.$i" &&
      ip link set "av$id.$i" master "$bridge" up &&
      ip -n "amped$id.$i" addr add "$net.1$i/24" dev eth0 &&
      ip -n "amped$id.$i" link set eth0 up &&
      ip -n "amped$id.$i" link set lo up || return
  done
}

# The agent that mpirun calls in place of ssh. Open MPI takes two daemons with one host name for one
# node, so each has its own name. On node 2 the folder "local" is another, empty folder.
make_agent() {
  cat >agent <<END
#!/bin/sh
while test "\${1#-}" != "\$1"; do shift; done
i=\${1##*.1}
shift
exec ip netns exec "amped$id.\$i" unshare --uts --mount sh -c 'hostname "\$0"
  test "\$0" = node1 || $hide || exit 1
  exec sh -c "\$1"' "node\$i" "\$*"
END
  chmod +x agent
  printf '%s\n%s\n' "$net.11 slots=2" "$net.12 slots=2" >hosts
}

# spread ARGUMENT...: the program on four ranks, two on each node. across: a command that computes.
spread() {
  # shellcheck disable=SC2086
  timeout -k 10 $patience $mpirun ${AMPED_MPIRUN_FLAGS-} -np 4 --hostfile hosts --map-by "$by" \
    $remote --mca btl tcp,$memory,self --mca btl_tcp_if_include "$net.0/24" "$amped" "$@"
}
across() {
  spread "$@" --backend=cpu
}

test "$backend" = cpu || skip "this is about networks, not about GPUs"
case $($mpirun --version 2>&1) in
  *"Open MPI) 4."*)
    remote="--mca plm_rsh_agent $scratch/agent --mca oob_tcp_if_include $net.0/24"
    memory=vader
    ;;
  *"Open MPI) 5."*)
    remote="--prtemca plm_ssh_agent $scratch/agent --prtemca prte_if_include $net.0/24"
    memory=sm
    ;;
  *) skip "neither Open MPI 4 nor 5, whose options it uses" ;;
esac
test "$(id -u)" -eq 0 || skip "not root"
for tool in ip unshare; do
  command -v $tool >/dev/null || skip "no $tool"
done
trap 'take_down; rm -rf "$scratch"' EXIT
put_up 2>err || skip "no network namespaces here: $(head -n 1 err)"
unshare --uts true 2>err || skip "no host names of one's own here: $(head -n 1 err)"
mkdir local
hide="mount -t tmpfs none $scratch/local"
unshare --mount $hide 2>err || hide=
make_agent
# Daemons that do not come up here say nothing of the program. What mpirun says is shown.
# shellcheck disable=SC2086
if ! timeout -k 10 $patience $mpirun ${AMPED_MPIRUN_FLAGS-} -np 4 --hostfile hosts $remote \
  hostname >err 2>&1; then
  cat err
  skip "mpirun starts nothing on nodes of its own here: $(grep -v '^-*$' err | head -n 1)"
fi

# Tolerance of fits in double: see run_mpi.sh.
tol=1e-10
"$amped" generate a.h5 --dims=3000x200x50 --nnz=20k --skew=0.7 --seed=3 -q || fail "generate"
run="a.h5 --rank=24 --iters=4 --tol=0 --precision=double --deterministic -v"
expect 0 "" on 2 $run --nowrite --json=one.json
for by in slot node; do
  for read in root parallel; do
    # shellcheck disable=SC2086
    expect 0 "exchange: .*, 2 nodes; .* of the .* that neighbours" across $run --read=$read \
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
