#!/bin/sh
# --plan -v: the rows of a rank's memory add up to their sum, which --json has, for every rank that
# may need most.
. "$(dirname "$0")/../lib/lib.sh"
cd "$scratch" || exit 99

"$amped" generate s.h5 --dims=60x50x40 --nnz=9k --planted=3 --seed=7 -q || fail "generate s.h5"
"$amped" generate d.h5 --dense --dims=40x30x20 --planted=3 --noise=0.1 -q || fail "generate d.h5"

# rows_add_up NAMES OPTION...: the table has these rows, each name a pattern.
rows_add_up() {
  names=$1
  shift
  for ranks in 1 3; do
    on $ranks "$@" --rank=4 --plan -v --json=plan.json --overwrite >plan.txt 2>err.txt || fail "$*: $(cat err.txt)"
    sed -n '/^memory of rank/,/^  sum/p' plan.txt >rows.txt
    awk '/^memory of rank/ { rank = $4; next }
      $1 == "sum" { sums++; right = device == $(NF - 1) && host == $NF; next }
      { device += $(NF - 1); host += $NF }
      END { printf "%d %.0f %.0f\n", rank, device, host; exit !(sums == 1 && right && host > 0) }' rows.txt >sum.txt
    same "$*: rows on $ranks" $? 0
    read -r rank device host <sum.txt
    for word in device host; do
      eval "want=\$$word"
      same "$*: $word on $ranks" "$(grep -o "\"${word}_bytes\": *[0-9]*" plan.json | grep -o '[0-9]*$' | sed -n "$((rank + 1))p")" "$want"
    done
    for name in $names; do
      grep -q "^  $name.* [0-9]* *[0-9]*\$" rows.txt && pass || fail "$*: no row of $name on $ranks"
    done
  done
}

rows_add_up "factors copies loading result residual" s.h5
rows_add_up "factors copies solver" s.h5 --method=lm
rows_add_up "factors copies factors.of.finished.starts" s.h5 --starts=3
rows_add_up "factors copies" s.h5 --copies=one
rows_add_up "factors cells loading" d.h5
rows_add_up "row.fits factors copies solver nonzeros.per.row" complete s.h5
rows_add_up "row.fits equations.for.a.state entries.for.a.state" complete s.h5 --state=s.state

# The ranks of a node are compared with the node: what they need together stands beside what is free.
on 3 s.h5 --rank=4 --plan --json=plan.json --overwrite >plan.txt 2>&1 || fail "$(cat plan.txt)"
grep -q "^memory: at most .* a rank, .* for the 3 ranks of a node (.* free)$" plan.txt && pass || fail "$(grep memory: plan.txt)"
same "a node's ranks" "$(grep -o '"node_host_bytes": *[0-9]*' plan.json | grep -o '[0-9]*$')" \
  "$(grep -o '"host_bytes": *[0-9]*' plan.json | awk -F: '{ n += $2 } END { printf "%.0f", n }')"
grep -q '"lacking": *null' plan.json && pass || fail "lacking"

# A plan for another machine: it is printed, and a warning says what is missing here. The run is refused.
printf '1 2 3 2\n9000000000 4 5 1\n2 2 2 1\n' >w.tns
for ranks in 1 2; do
  expect 0 "warning: the plan does not fit this machine: .*w.tns: rank 0: .*of host memory" \
    on $ranks w.tns --rank=40 --plan --json=plan.json --overwrite
  expect 0 "^memory: at most .* a rank.* free)$" on $ranks w.tns --rank=40 --plan
  expect 0 '"lacking":"w.tns: rank 0: ' cat plan.json
  expect 1 "w.tns: rank .*of host memory" on $ranks w.tns --rank=40 --nowrite
done

# Lists that rank 0 holds while the tensor loads, INPUT and --weights as text, are rows; the plan covers the peak.
# Memory of the program itself is that of a small tensor.
"$amped" generate m.tns --dims=2000x1500x50 --nnz=1M --seed=3 -q || fail "generate m.tns"
"$amped" convert m.tns m.h5 -q || fail "convert m.tns"
awk '!/^[#%]/ { $4 = 1 + NR % 3 } 1' m.tns >w.tns
"$amped" convert w.tns w.h5 -q || fail "convert w.tns"
fit="--rank=4 --reg=1 --iters=2 --threads=2"
rows_add_up "weights.in.memory" complete m.h5 --weights=w.tns
rows_add_up "weights.in.memory" complete m.h5 --weights=w.h5
rows_add_up "weights.in.memory input.in.memory" complete m.tns --weights=w.tns
rows_add_up "input.in.memory" m.tns
mib() { # mib RANKS INPUT...: of rank 0: the plan's MiB, and the peak's
  # shellcheck disable=SC2086
  on "$@" $fit --plan --json=plan.json --overwrite >/dev/null 2>&1 || fail "$*: plan"
  # shellcheck disable=SC2086
  on "$@" $fit --nowrite -v >out 2>&1 || fail "$*: $(tail -n 1 out)"
  plan=$(grep -o '"host_bytes": *[0-9]*' plan.json | head -n 1 | grep -o '[0-9]*$')
  peak=$(sed -n 's/^peak host memory: \(rank 0 \)*\([0-9.]*\) MiB.*/\2/p' out | tail -n 1)
  awk -v p="$plan" -v peak="$peak" 'BEGIN { printf "%.2f %.2f\n", p / 1048576, peak }'
}
if test "$backend" = cpu && ! grep -q __asan_init "$amped"; then # sanitizers take memory of their own
  for ranks in 1 3; do
    base=$(mib $ranks complete s.h5 | awk '{ print $2 - $1 }')
    for input in "m.h5" "m.h5 --weights=w.h5" "m.h5 --weights=w.tns" "m.tns" "m.tns --weights=w.tns"; do
      # Several ranks: parts of a text are in addition, while they are sent.
      test $ranks -gt 1 && test "$input" != "${input#m.tns}" && continue
      # shellcheck disable=SC2086
      found=$(mib $ranks complete $input)
      echo "$found $base" | awk '{ exit !($2 <= $1 + $3 + 12) }' && pass || fail "$input on $ranks: plan, peak, program: $found $base MiB"
    done
  done
fi

# With -q the plan and the timings stay: they are what was asked for. In a file of --json they are not printed, too.
for run in "s.h5 --rank=4 --plan" "complete s.h5 --rank=4 --plan" "bench s.h5 --rank=4 --repeat=1"; do
  # shellcheck disable=SC2086
  on 2 $run -q >quiet.txt 2>&1 || fail "$run -q: $(cat quiet.txt)"
  grep -q "^memory: at most " quiet.txt && grep -q "^mode " quiet.txt && pass || fail "$run -q: $(cat quiet.txt)"
  grep -q "^amped_mpi \|^rank\(s\| 0: [a-z]*:\)\|^note\|^read and" quiet.txt && fail "$run -q says more: $(cat quiet.txt)" || pass
  # shellcheck disable=SC2086
  on 2 $run -q --json=quiet.json --overwrite >quiet.txt 2>&1 || fail "$run -q --json: $(cat quiet.txt)"
  test ! -s quiet.txt && pass || fail "$run -q --json: $(cat quiet.txt)"
done
expect 0 "^memory: at most " on 2 d.h5 --rank=3 --plan -q

# Without -v there is no table.
on 1 s.h5 --rank=4 --plan >plan.txt 2>/dev/null
grep -q "^memory of rank" plan.txt && fail "a table without -v" || pass

finish
