#!/bin/sh
# --shape: tensors made in memory, timed and decomposed, on any number of ranks; the output of bench, of
# bench --whole, of bench --complete and of bench --stream; wrong options.
. "$(dirname "$0")/../lib/lib.sh"
cd "$scratch" || exit 99

"$amped" generate good.h5 --dims=10x11x12 --nnz=200 --seed=1 -q || fail "generate"

expect 2 "missing" "$amped" bench
expect 2 "two tensors" "$amped" bench good.h5 --shape=amazon
expect 2 "for --shape" "$amped" bench good.h5 --nnz=5
expect 2 "for --shape" "$amped" bench good.h5 --values=real
expect 2 "leave out --skew" "$amped" bench --shape=amazon --skew=0.5
expect 2 "leave out --skew" "$amped" bench --shape=amazon --skew=0,0,0
expect 2 "leave out --read" "$amped" bench --shape=amazon --read=parallel
expect 2 "real, counts or ratings" "$amped" bench --shape=amazon --values=int
expect 2 "amazon, patents" on 2 bench --shape=amazone
expect 2 "smaller --scale" on 1 bench --shape=twitch --scale=1000
expect 2 "for --shape" "$amped" good.h5 --values=real
expect 2 "two tensors" "$amped" good.h5 --shape=amazon
expect 2 "missing" "$amped" cpd --nnz=5
expect 2 "leave out --checkpoint" "$amped" cpd --shape=amazon --checkpoint=c.h5
expect 2 "has no option --shape" "$amped" info --shape=amazon

# The tensor does not depend on the number of ranks: its norm is exact except for one rounding a
# rank. (bench would measure the memory of every rank, which takes ten times as long.)
expect 0 "all modes" on 2 bench --shape=netflix --scale=3e-4 --rank=5 --repeat=1
for shape in "patents --scale=3e-5" "twitch --scale=1e-4" "netflix --scale=3e-4" "nell2 --nnz=30k --scale=1e-3 --skew=0"; do
  for ranks in $(few 2 1 3 2); do
    # shellcheck disable=SC2086
    expect 0 "" on $ranks cpd --shape=$shape --rank=5 --iters=1 --nowrite -q --json=s.$ranks.json
    same "$shape: norm on $ranks ranks" "$(field norm s.$ranks.json | cut -c1-14)" \
      "$(field norm s.1.json | cut -c1-14)"
  done
  enough 2 && break
done

# Decomposed: the fits agree on any number of ranks, within the rounding of doubles, and the result
# is like any other.
for ranks in $(few 2 1 3 2); do
  expect 0 "made 3 copies" on $ranks cpd --shape=nell2 --nnz=30k --scale=1e-3 --rank=4 --iters=5 \
    --tol=0 --precision=double --json=d.$ranks.json -o d.$ranks.h5
  same "fit on $ranks ranks" "$(field fit d.$ranks.json | cut -c1-11)" \
    "$(field fit d.1.json | cut -c1-11)"
done
expect 0 "" on 2 cpd --shape=nell2 --nnz=30k --scale=1e-3 --rank=4 --iters=1
expect 0 "of  *nell2" "$amped" info nell2.cpd.h5

expect 0 "bytes/nnz" on 1 bench --shape=amazon --scale=1e-4 --rank=32 --values=counts \
  --precision=double --repeat=1 --json=c.json
expect 0 "" on 1 bench --shape=amazon --scale=1e-4 --rank=32 --repeat=1 --json=r.json
if awk -v r="$(field bytes_per_nonzero r.json)" -v c="$(field bytes_per_nonzero c.json)" \
  'BEGIN { exit !(c > 0 && c < r) }'; then pass; else fail "counts do not take fewer bytes"; fi

# Values as in the paper's tensor: Netflix has ratings from 1 to 5, in memory and in a file.
expect 0 "" on 1 bench --shape=netflix --scale=1e-4 --rank=8 --repeat=1 --values=real --json=r.json
expect 0 "" on 1 bench --shape=netflix --scale=1e-4 --rank=8 --repeat=1 --json=c.json
if awk -v r="$(field bytes_per_nonzero r.json)" -v c="$(field bytes_per_nonzero c.json)" \
  'BEGIN { exit !(c > 0 && c < r) }'; then pass; else fail "ratings do not take fewer bytes"; fi
for shape in "netflix 5" "patents 256"; do
  expect 0 "" "$amped" generate "${shape% *}.tns" --shape="${shape% *}" --nnz=20k --scale=1e-3 -q
  grep -v '^#' "${shape% *}.tns" | awk -v most="${shape#* }" '{ seen[$4 + 0]++ }
    END { for (i = 1; i <= most; i++) { n += i in seen; all += seen[i] }
      exit !(all == 20000 && (most > 5 || n == 5)) }' && pass || fail "values of $shape"
done

expect 0 "" on 1 bench --shape=amazon --scale=1e-4 --rank=8 --repeat=1 --values=ratings --json=c.json
if awk -v r="$(field bytes_per_nonzero r.json)" -v c="$(field bytes_per_nonzero c.json)" \
  'BEGIN { exit !(c > 0 && c < r) }'; then pass; else fail "ratings do not take fewer bytes"; fi

# bench gives the same output for a file.
expect 0 "of the gather ceiling" on 2 bench good.h5 --rank=8 --repeat=1 --json=f.json
for name in gnnz_per_second gathered_gb_per_second bytes_per_nonzero ceiling_percent \
  bandwidth_percent read_bytes_per_second rows_per_second all_modes_ceiling_percent; do
  if awk -v x="$(field $name f.json)" 'BEGIN { exit !(x > 0) }'; then pass; else fail "no $name"; fi
done

# The atomic kernel (AMPED Algorithm 2) reads plain nonzeros: row, two inputs and value, 4 bytes
# each.
if test "$backend" = cuda; then
  expect 0 "" on 1 bench good.h5 --rank=8 --repeat=1 --kernel=published --json=p.json
  if awk -v x="$(field bytes_per_nonzero p.json)" 'BEGIN { exit !(x == 16) }'; then pass; else
    fail "published: $(field bytes_per_nonzero p.json) bytes a nonzero, not 16"
  fi
else
  expect 2 "does not run with --backend=cpu" on 1 bench good.h5 --kernel=published
fi

# --- a whole run ----------------------------------------------------------------------------------
# part NAME KEY FILE: a number of a part of the last run in that file.
part() {
  tr '{}' '\n\n' <"$3" | grep "\"part\":\"$1\"" | tr ',' '\n' | sed -n "s/^\"$2\"://p" | tail -n 1
}

# known FILE KEY NAME...: these parts have a number above 0 there. unknown: they have none.
known() {
  of=$1
  key=$2
  shift 2
  for name in "$@"; do
    if awk -v x="$(part "$name" "$key" "$of")" 'BEGIN { exit !(x > 0) }'; then pass; else
      fail "$of: no $key of $name: '$(part "$name" "$key" "$of")'"
    fi
  done
}
unknown() {
  of=$1
  key=$2
  shift 2
  for name in "$@"; do
    same "$of: $key of $name" "$(part "$name" "$key" "$of")" null
  done
}

"$amped" convert good.h5 good.list.h5 --copies=none -q || fail "list"
"$amped" convert good.h5 good.tns -q || fail "text"
{
  echo "from,to,at,count"
  awk 'NF == 4 { print "a" $1 ",b" $2 ",c" $3 "," $4 }' good.tns
} >good.csv
mkdir place other
cd place || exit 99
for name in good good.list; do
  echo "the user's own" >$name.cpd.h5
done
cp good.cpd.h5 kept
whole="--whole --repeat=3 --rank=4 --json=w.json"

# Any input on any number of ranks: the result is as large as that of cpd, and nothing remains of it.
for run in "1 good.h5" "2 good.h5 --read=parallel" "3 good.h5 --precision=double" \
  "1 good.list.h5" "3 good.list.h5" "2 good.tns" "1 good.csv --value=count"; do
  # shellcheck disable=SC2086
  set -- $run
  ranks=$1
  file=$2
  shift 2
  # shellcheck disable=SC2086
  expect 0 "^whole  *[0-9.]*  " on "$ranks" bench ../$file $whole "$@"
  expect 0 "" on 1 ../$file --rank=4 --iters=3 --tol=0 -o ../other/r.h5 --overwrite -q "$@"
  same "$run: sweeps" "$(field sweeps w.json)" 3
  same "$run: lines of sweeps" "$(grep -c '"event":"iteration"' w.json)" 3
  known w.json seconds start load "random start" sweeps mttkrp "all else" result whole
  known w.json bound_seconds load "input file" "random start" sweeps mttkrp "all else" result
  known w.json times_bound load "random start" sweeps mttkrp "all else" result
  same "$run: bytes read" "$(part load bytes w.json)" "$(wc -c <../$file).0"
  same "$run: bytes written" "$(part result bytes w.json)" "$(wc -c <../other/r.h5).0"
  if test "$backend" = cuda; then
    known w.json bound_seconds "link to device"
  else
    unknown w.json bytes "link to device"
  fi
  unknown w.json bound_seconds start whole
  close "$run: parts of sweeps" "$(part sweeps seconds w.json)" \
    "$(echo "$(part mttkrp seconds w.json)" "$(part "all else" seconds w.json)" | awk '{ print $1 + $2 }')" 1e-4
  enough 2 && break
done
cmp -s good.cpd.h5 kept && pass || fail "good.cpd.h5 was changed"
same "left behind" "$(echo *)" "good.cpd.h5 good.list.cpd.h5 kept w.json"

# One rank goes from part to part. (awk prints six digits.)
expect 0 "a sweep: .* ms, mttkrp" on 1 bench ../good.h5 --whole --repeat=1 --json=w.json -o ../other/x.h5
sum=0
for name in start load "random start" sweeps result; do
  sum=$(echo "$sum $(part "$name" seconds w.json)" | awk '{ printf "%.9f", $1 + $2 }')
done
close "parts and the whole" "$sum" "$(part whole seconds w.json)" 1e-6
same "beside -o" "$(ls -A ../other)" r.h5

# Nothing is read for a shape; what came through a pipe cannot be read again.
# shellcheck disable=SC2086
expect 0 "" on 2 bench --shape=nell2 --nnz=30k --scale=1e-3 $whole
known w.json seconds start load "random start" sweeps result whole
unknown w.json bound_seconds load "input file" "link to device"
# shellcheck disable=SC2086
piped() { cat ../good.tns | on 1 bench - --format=tns $whole; }
expect 0 "" piped
known w.json seconds load
unknown w.json bytes load "input file"

# --- sweeps of completion --------------------------------------------------------------------------
# A sweep of every kind has numbers, of each mode and of all: its own, those of MTTKRP, and bounds.
# A GPU may not tell assembling and solving apart.
numbers="all_ms rows_ms exchange_ms mttkrp_ms gnnz_per_second gather_bound_ms multiply_bound_ms times_bound"
test "$backend" = cuda ||
  numbers="$numbers assembly_ms solve_ms assembly_over_mttkrp solved_rows_per_second"
for run in "1 ../good.h5" "2 ../good.h5 --bias=none" "3 ../good.list.h5 --bias=mean --precision=double" \
  "2 ../good.tns --nonnegative" "3 --shape=netflix --scale=3e-4 --method=als" \
  "2 --shape=twitch --scale=1e-4 --values=ratings"; do
  # shellcheck disable=SC2086
  set -- $run
  ranks=$1
  shift
  expect 0 "an epoch of als with 5 components" on "$ranks" bench --complete "$@" --rank=5 --repeat=2 \
    --json=e.json
  # {"key":{"min":..}} and {"key":..}: the first number behind a key
  tail -n 1 e.json | awk -v keys="epoch_ms multiply_adds_per_second $numbers" '{
    n = split(keys, key, " ")
    for (i = 1; i <= n; i++) {
      parts = split($0, part, "\"" key[i] "\":")
      for (p = 2; p <= parts; p++) {
        sub(/^[{]"min":/, "", part[p])
        least = key[i] == "exchange_ms" ? -1e-300 : 0
        if (part[p] + 0 <= least) { print key[i]; exit 1 }
      }
      modes = key[i] ~ /epoch|adds/ ? 0 : /twitch/ ? 5 : 3
      if (parts != 2 + modes) { print key[i], parts; exit 1 }
    }
  }' && pass || fail "numbers of $run"
  enough 2 && break
done
same "passes" "$(field passes e.json)" 2

expect 0 "an epoch of blocks" on 2 bench ../good.h5 --complete --method=ccd --rank=4 --repeat=1
expect 0 "an epoch of sgd" on 2 bench ../good.h5 --complete --method=sgd --rank=4 --repeat=1
expect 2 "whole rows" "$amped" bench ../good.h5 --complete --method=sgd --block=2
expect 2 "for bench --complete" "$amped" bench ../good.h5 --block=2
expect 2 "leave out all but one" "$amped" bench ../good.h5 --whole --complete
expect 2 "for bench --complete" "$amped" bench ../good.h5 --bias=none
expect 2 "for bench --complete" "$amped" bench ../good.h5 --nonnegative --whole
expect 2 "takes one --rank" "$amped" bench ../good.h5 --complete --rank=2,3
expect 2 "at most 1023" "$amped" bench ../good.h5 --complete --rank=1024
expect 2 "only with --whole" "$amped" bench ../good.h5 --complete -o x.h5
expect 3 "missing.h5" "$amped" bench missing.h5 --complete
test "$backend" = cuda && expect 2 "cannot fit rows" on 1 bench ../good.h5 --complete --kernel=published

# --- batches of a stream ---------------------------------------------------------------------------
# Phases have times, whose sum is that of a batch but for what lies between them; rows touched are those of that
# many draws; the state is nowhere.
mkdir batches && cd batches || exit 99
numbers_of_batches() { # numbers_of_batches ENTRIES KNOWN RANKS
  python3 - "$@" <<'PY' && pass || fail "numbers of bench --stream"
import json, sys
entries, known, ranks = map(int, sys.argv[1:])
line = json.loads(open('b.json').read().splitlines()[-1])
assert line['event'] == 'batches' and line['entries'] == entries and line['known_entries'] == known, line
ms = {p['phase']: p['ms'] for p in line['phases']}
assert len(ms) == 15 and all(0 <= s['min'] <= s['mean'] <= s['max'] for s in ms.values()), ms
assert all(ms[p]['min'] > 0 for p in ('load', 'plan', 'copies', 'rows', 'a sweep', 'errors', 'all')), ms
assert line['batch_ms'] == ms['all']['max'] and line['sweep_ms'] == ms['a sweep']['max']
parts = ('entries', 'their rows', 'plan', 'memory', 'copies', 'fits', 'new rows')
if ranks == 1 and line['passes'] == 1:  # medians of one batch add up; phases cover most of it
    assert sum(ms[p]['max'] for p in parts) <= 1.001 * ms['load']['max'], ms
    whole = sum(ms[p]['max'] for p in ('load', 'rows', 'exchange', 'moves of rows', 'errors', 'end'))
    assert 0.5 * ms['all']['max'] <= whole <= 1.001 * ms['all']['max'], ms
    assert line['sweeps'] * ms['a sweep']['max'] <= 1.001 * (ms['rows']['max'] + ms['exchange']['max'] + 1), ms
assert all(0 < t <= min(d, entries) for t, d in zip(line['touched'], line['dims'])), line
PY
}
for run in "1 1 --history=equations" "2 3 --history=model" "3 2 --bias=none --precision=double --sweeps=2" \
  "2 1 --nonnegative --forget=0.9 --history=model"; do
  # shellcheck disable=SC2086
  set -- $run
  ranks=$1 repeat=$2
  shift 2
  expect 0 "a batch of 300 entries touches .* rows" on "$ranks" bench --shape=netflix --scale=2e-4 --nnz=5k \
    --stream=300 --repeat="$repeat" --rank=5 --json=b.json --overwrite "$@"
  numbers_of_batches 300 5000 "$ranks"
  enough 2 && break
done
same "history" "$(field history b.json)" model
expect 0 "known before: 160 entries of" on 2 bench ../../good.h5 --stream=10 --repeat=3 --rank=4 --json=b.json \
  --overwrite --trace=t.json
numbers_of_batches 10 160 2
same "batches in the trace" "$(grep -c '"name":"batch"' t.json)" 10
expect 0 "known before: 170 entries" on 1 bench ../../good.tns --stream=10 --repeat=2 --rank=4
same "left behind" "$(ls | tr '\n' ' ')" "b.json t.json "
cd ..

expect 2 "too few for 3 batches of 7000" "$amped" bench ../good.h5 --stream=7k --repeat=2
expect 2 "leave out all but one" "$amped" bench ../good.h5 --stream=10 --complete
expect 2 "learns only new indices" "$amped" bench ../good.h5 --stream=10 --history=published
expect 2 "do not apply to --stream" "$amped" bench ../good.h5 --stream=10 --read=parallel
expect 2 "do not apply to --stream" "$amped" bench ../good.h5 --stream=10 --overlap=off
expect 2 "for bench --stream" "$amped" bench ../good.h5 --sweeps=2
expect 2 "for bench --stream" "$amped" bench ../good.h5 --complete --history=model
expect 2 "for bench --complete" "$amped" bench ../good.h5 --stream=10 --method=sgd
expect 2 "at most 1023" "$amped" bench ../good.h5 --stream=10 --rank=1024
expect 2 "" "$amped" bench ../good.h5 --stream=0
expect 3 "missing.h5" "$amped" bench missing.h5 --stream=10
test "$backend" = cuda && expect 2 "bench --stream does not run" on 1 bench ../good.h5 --stream=10 --kernel=published

expect 2 "only with --whole" "$amped" bench ../good.h5 -o x.h5
expect 2 "takes one --rank" "$amped" bench ../good.h5 --whole --rank=2,3
expect 2 "has no option --whole" "$amped" cpd ../good.h5 --whole
expect 2 "two outputs" "$amped" bench ../good.h5 --whole -o x.h5 --trace=x.h5
expect 2 "/dev/null: cannot hold a result" on 2 bench ../good.h5 --whole -o /dev/null
expect 1 "nowhere" on 2 bench ../good.h5 --whole -o nowhere/x.h5
expect 3 "missing.h5" on 2 bench missing.h5 --whole

finish
