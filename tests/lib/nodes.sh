# Nodes of this machine, for scripts that test a network: network namespaces on a bridge, each with
# its own host name and addresses. Sourced after lib.sh, in $scratch. Needs root, ip and unshare,
# and Open MPI's remote agent; the script is skipped where these are missing.
#
# sizes, links: the number of ranks on each node, and of links of each node ("2 2" and 1, if they are
# not set before). Node i has the address $net.1i on its link eth0, $net.2i on eth1, ... After it:
#   spread ARGUMENT...   the program on all ranks, mapped by $by, by $wrapper if it is set. GPUs are those of this
#                        machine: ranks of both nodes share them, and MPI takes TCP between the nodes
#   lay_out SIZE...      other numbers of ranks, on the first nodes: no more nodes than before
sizes=${sizes-2 2} links=${links-1} by=slot
nodes=$(echo "$sizes" | wc -w)

skip() {
  echo "skipped: $1"
  exit 77
}

# Names and addresses (in the range for network tests, RFC 2544) that no other run uses.
id=$$
net=198.$((18 + id / 250 % 2)).$((id % 250))
bridge=abr$id

take_down() {
  for i in $(seq "$nodes"); do
    for k in $(seq 0 $((links - 1))); do
      ip link del "av$id.$i.$k" 2>/dev/null
    done
    ip netns del "amped$id.$i" 2>/dev/null
  done
  ip link del "$bridge" 2>/dev/null
}

# put_up_link NODE LINK: what comes from its address leaves by it, and it alone answers for it.
put_up_link() {
  address=$net.$(($2 + 1))$1
  ip link add "av$id.$1.$2" type veth peer name "eth$2" netns "amped$id.$1" &&
    ip link set "av$id.$1.$2" master "$bridge" up &&
    ip -n "amped$id.$1" addr add "$address/24" dev "eth$2" &&
    ip -n "amped$id.$1" link set "eth$2" up || return
  test "$links" -gt 1 || return 0
  ip -n "amped$id.$1" rule add from "$address" table $((100 + $2)) &&
    ip -n "amped$id.$1" route add "$net.0/24" dev "eth$2" src "$address" table $((100 + $2)) &&
    ip netns exec "amped$id.$1" sh -c 'echo 1 >/proc/sys/net/ipv4/conf/all/arp_ignore &&
      echo 2 >/proc/sys/net/ipv4/conf/all/arp_announce'
}

put_up() {
  ip link add "$bridge" type bridge && ip addr add "$net.1/24" dev "$bridge" &&
    ip link set "$bridge" up || return
  for i in $(seq "$nodes"); do
    ip netns add "amped$id.$i" && ip -n "amped$id.$i" link set lo up || return
    for k in $(seq 0 $((links - 1))); do
      put_up_link "$i" "$k" || return
    done
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
  test "\$0" = node1 || ${hide:-true} || exit 1
  exec sh -c "\$1"' "node\$i" "\$*"
END
  chmod +x agent
}

lay_out() {
  spread_ranks=0 i=0
  for size in "$@"; do
    i=$((i + 1)) spread_ranks=$((spread_ranks + size))
    echo "$net.1$i slots=$size"
  done >hosts
}

spread() {
  # shellcheck disable=SC2086
  timeout -k 10 $patience $mpirun ${AMPED_MPIRUN_FLAGS-} -np $spread_ranks --hostfile hosts --map-by "$by" \
    $remote --mca pml ob1 --mca btl tcp,$memory,self --mca btl_tcp_if_include "$net.0/24" ${wrapper-} "$amped" "$@"
}

# What a command that computes needs: spread cpd ... $computing. Ranks of another node have memory of the same GPU.
computing=--backend=$backend memory_given=
if test "$backend" = cuda; then
  memory_given=--device-memory=256M
  computing="$computing --share-gpus $memory_given"
fi
case $($mpirun --version 2>&1) in
  *"Open MPI) 4."*)
    remote="--mca plm_rsh_agent $scratch/agent --mca oob_tcp_if_include $net.0/24"
    memory=vader
    ;;
  *"Open MPI) 5."*)
    remote="--prtemca plm_ssh_agent $scratch/agent --prtemca prte_if_include $net.0/24"
    memory=sm
    test "$backend" = cpu || memory=smcuda
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
# shellcheck disable=SC2086
lay_out $sizes
# Daemons that do not come up here say nothing of the program. What mpirun says is shown.
# shellcheck disable=SC2086
if ! timeout -k 10 $patience $mpirun ${AMPED_MPIRUN_FLAGS-} -np $spread_ranks --hostfile hosts $remote \
  hostname >err 2>&1; then
  cat err
  skip "mpirun starts nothing on nodes of its own here: $(grep -v '^-*$' err | head -n 1)"
fi
