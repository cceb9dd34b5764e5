#!/bin/sh
# Two nodes with two links each, of a known rate: rows cross on both links at once by rails, and on one of
# them in a ring. Bits are the same in every way. On GPUs nothing is measured: starts take seconds.
. "$(dirname "$0")/../lib/lib.sh"
lib=$(cd "$(dirname "$0")/../lib" && pwd)
cd "$scratch" || exit 99
links=2
. "$lib/nodes.sh"

# Rank i of a node uses link i alone. What a node sends on a link is limited.
cat >bind <<'END'
#!/bin/sh
OMPI_MCA_btl_tcp_if_include=eth$OMPI_COMM_WORLD_LOCAL_RANK
export OMPI_MCA_btl_tcp_if_include
exec "$@"
END
chmod +x bind
wrapper=$scratch/bind
# A connection that was idle goes on at its rate. (Smaller bursts halve the rate of links that carry data both ways.)
limit() {
  for i in 1 2; do
    ip netns exec "amped$id.$i" sh -c 'echo 0 >/proc/sys/net/ipv4/tcp_slow_start_after_idle' 2>err || return
  done
  limit_link eth0 "$1" 1m && limit_link eth1 "$1" 1m
}
# limit_link LINK RATE BURST: of both nodes.
limit_link() {
  for i in 1 2; do
    ip netns exec "amped$id.$i" tc qdisc replace dev "$1" root tbf rate "$2" burst "$3" latency 200ms 2>err || return
  done
}

"$amped" generate a.h5 --dims=17200x200x50 --nnz=20k --skew=0.7 --seed=3 -q || fail "generate"
# told WAY: the beginning of the line that tells it. GPUs exchange through the host if MPI takes no device memory.
told() {
  case $backend.$1 in
    *.auto) told rails ;;
    cpu.allgatherv) echo "exchange: MPI_Allgatherv in place on host memory" ;;
    cpu.*) echo "exchange: $1 in place on host memory" ;;
    cuda.rails) echo "exchange: \(rails in place on device memory\|through host memory .* by rails\)" ;;
    cuda.ring) echo "exchange: \(ring in place on device memory\|through host memory .* one of which sends it\)" ;;
    cuda.allgatherv) echo "exchange: \(MPI_Allgatherv in place on device memory\|through host memory\)" ;;
  esac
}
orders="slot node"
test "$backend" = cpu || orders=slot # starts on GPUs take seconds
for way in ring rails allgatherv; do
  for by in $orders; do
    # shellcheck disable=SC2086
    expect 0 "$(told $way)" spread cpd a.h5 --rank=24 --iters=3 --tol=0 --precision=double --deterministic \
      $computing --exchange=$way -o $way.$by.h5
  done
done
text() {
  rm -f f.*.txt
  "$amped" convert "$1" f.txt -q && cat f.*.txt
}
text ring.slot.h5 >ring.txt
expect 0 "" test -s ring.txt
for way in ring rails allgatherv; do
  for by in $orders; do
    text $way.$by.h5 >other.txt
    expect 0 "" cmp ring.txt other.txt
  done
done

# Partial sums of one copy and of a dense tensor cross as well: by rails the sums of a node, so the last digits may
# differ. So do rows of completion.
"$amped" generate d.h5 --dims=40x30x20 --dense --planted=3 --noise=0.1 --seed=2 -q || fail "generate"
for run in "cpd a.h5 --copies=one" "cpd d.h5 --deterministic" "complete a.h5 --reg=1 --deterministic"; do
  for way in ring rails; do
    # shellcheck disable=SC2086
    expect 0 "$(told $way)" spread $run --rank=5 --iters=3 --precision=double --seed=1 \
      $computing --exchange=$way --nowrite --json=$way.json --overwrite
  done
  key=fit
  test "${run#complete}" = "$run" || key=rmse
  close "$run" "$(field "$key" rails.json)" "$(field "$key" ring.json)" 1e-12
done

# With --deterministic they have the same bits on any nodes.
for run in "cpd a.h5 --copies=one" "cpd d.h5"; do
  rm -f ./*.placed.h5
  # shellcheck disable=SC2086
  expect 0 "" on 4 $run --rank=5 --iters=3 --seed=1 --deterministic $memory_given -o one.placed.h5
  text one.placed.h5 >one.txt
  expect 0 "" test -s one.txt
  for by in $orders; do
    # shellcheck disable=SC2086
    expect 0 "" spread $run --rank=5 --iters=3 --seed=1 --deterministic $computing -o $by.placed.h5
    text $by.placed.h5 >other.txt
    expect 0 "" cmp one.txt other.txt
  done
done
by=slot

# Batches of a stream, with any history: the state's rows have the same bits in every way.
awk 'function random() { seed = (seed * 16807) % 2147483647; return seed / 2147483647 }
  BEGIN {
    seed = 5
    for (day = 6; day <= 9; day++)
      for (n = 0; n < 400; n++)
        printf "%d %d %d %.3f\n", 1 + int((20 + 5 * day) * random()), 1 + int(40 * random()),
          (day > 6 ? day : 1 + int(6 * random())), 1 + random() >("day" day ".tns")
  }'
histories="equations model"
test "$backend" != cpu || histories="$histories published" # which is computed on CPUs alone
for history in $histories; do
  expect 0 "" "$amped" complete day6.tns --rank=3 --reg=0.5 --iters=4 --precision=double --holdout=0 --bias=none \
    --history=$history --nowrite --state=$history.state --backend=cpu
  for way in ring rails allgatherv; do
    rm -f live.state*
    cp $history.state live.state
    # shellcheck disable=SC2086
    expect 0 "$(told $way)" spread stream live.state day7.tns day8.tns day9.tns --forget=0.9 --deterministic $computing \
      --exchange=$way -o $way.h5 --json=$way.json --overwrite -v
    same "batches, $history, $way" "$(field learnt $way.json)" 3
    "$amped" convert $way.h5 $way.csv --overwrite -q || fail "convert"
    expect 0 "" cmp ring.csv $way.csv
  done
  expect 0 "" test -s ring.csv
done
# Sums of a published history add up inside nodes first, if their order is left open.
for way in ring rails; do
  test "$backend" = cpu || break
  rm -f live.state*
  cp published.state live.state
  # shellcheck disable=SC2086
  expect 0 "$(told $way)" spread stream live.state day7.tns day8.tns --forget=0.9 $computing --exchange=$way -o $way.h5 --overwrite -v
  "$amped" convert $way.h5 $way.csv --overwrite -q || fail "convert"
done
test "$backend" != cpu || awk -F, 'NR == FNR { a[NR] = $NF; next } FNR > 1 && (a[FNR] - $NF) ^ 2 > 1e-16 * a[FNR] ^ 2 { bad = 1 }
  END { exit bad || FNR < 10 }' ring.csv rails.csv && pass || fail "sums by rails"

finish_on_gpus
# Uneven nodes, of three ranks and of one. Rows of the one enter the other node once: in a ring most of what is there
# comes back. Partial sums of the three leave their node as one (beside as many rows twice, which cross in any way).
received() {
  cat_bytes='cat /sys/class/net/eth0/statistics/rx_bytes /sys/class/net/eth1/statistics/rx_bytes'
  ip netns exec "amped$id.$1" sh -c "$cat_bytes" | awk '{ sum += $1 } END { printf "%.0f", sum }'
}
lay_out 3 1
wrapper=
"$amped" generate two.h5 --dims=9000x9000x50 --nnz=20k --seed=3 -q || fail "generate"
# crosses NODE SHARE INPUT ARGUMENT...: NODE receives at most SHARE of what it does in a ring. A loaded machine sends some
# packets twice, so the least of three runs of a way counts if the first does not do.
crosses() {
  node=$1 share=$2
  shift 2
  rm -f ring.bytes auto.bytes
  for try in 1 2 3; do
    for way in ring auto; do
      before=$(received "$node")
      # shellcheck disable=SC2086
      expect 0 "$(told $way)" spread cpd "$@" --rank=60 --iters=4 --tol=0 --precision=double $computing --exchange=$way --nowrite \
        --json=$way.json --overwrite
      echo $(($(received "$node") - before)) >>$way.bytes
    done
    few=$(sort -n auto.bytes | head -n 1)
    many=$(sort -n ring.bytes | head -n 1)
    if awk -v ring="$many" -v rails="$few" -v share="$share" 'BEGIN { exit !(rails > 0 && rails < share * ring) }'; then
      break
    fi
    test "$try" -lt 3 || fail "uneven nodes: $few bytes, in a ring $many"
  done
  pass
  close "uneven nodes, fit" "$(field fit auto.json)" "$(field fit ring.json)" 1e-12
}
crosses 1 0.7 a.h5
crosses 2 0.92 two.h5 --copies=one
lay_out 1 1
expect 0 "network  *1 rail between nodes, [0-9.e-]* GB/s" spread info --system
lay_out 2 2
wrapper=$scratch/bind

# The short test at the start sends the rows of the largest mode, 8.3 MB, in pieces of a part: three quarters of them on one
# link of 5 MB/s in a ring, one quarter on each by rails.
by=slot
limit 40mbit || skip "rates of links cannot be limited here: $(head -n 1 err)"
for way in ring rails auto; do
  # shellcheck disable=SC2086
  expect 0 "$(told $way).*, 2 nodes; .*; 2 rails between nodes; slowest: rail [01], .* GB/s; fastest: rail [01], " spread cpd a.h5 --rank=120 --iters=1 $computing \
    --exchange=$way --nowrite -v --json=$way.json
done
rate() {
  grep '"event":"exchange"' "$1.json" | sed 's/.*"gb_per_second":\([0-9.e-]*\).*/\1/'
}
for way in rails auto; do
  awk -v ring="$(rate ring)" -v rails="$(rate $way)" 'BEGIN { exit !(ring > 0 && ring <= 0.6 * rails) }' && pass ||
    fail "$way: $(rate $way) GB/s, in a ring $(rate ring)"
done
# What the rails reach is told. One that is far below the other is named.
expect 0 "network  *2 rails between nodes; slowest: rail [01], [0-9.e-]* GB/s; fastest: rail [01], [0-9.e-]* GB/s; in order: [0-9.e-]*, [0-9.e-]*$" \
  spread info --system
# At 10 Mbit/s a message of 1 MiB takes a second, of which a burst of 64 KiB is a part: a loaded machine changes it little.
limit_link eth0 10mbit 64k && limit_link eth1 10mbit 64k || fail "limits: $(head -n 1 err)"
expect 0 "" spread info --system
same "warnings of equal rails" "$(grep -c 'warning: rail' err)" 0
for i in 1 2; do
  ip netns exec "amped$id.$i" tc qdisc del dev eth0 root
done
# shellcheck disable=SC2086
expect 0 "warning: rail 1, .*local rank 1 .*, reaches .* GB/s, rail 0 " spread cpd a.h5 --rank=120 --iters=1 $computing \
  --nowrite --json=slow.json --overwrite
expect 0 "warning: rail 1, .*local rank 1 .*, reaches .* GB/s, rail 0 " spread info --system --json=system.json --overwrite
expect 0 "" grep -q '"rails":{[^}]*"gb_per_second":\[[0-9.e-]*,[0-9.e-]*\]' system.json
same "the slowest rail" "$(grep -o '"slowest":[0-9]*' slow.json)" '"slowest":1'
finish
