#!/bin/sh
# --stop-fit=F: a run ends with the first sweep whose fit is at least F, which is the sweep of the same run without
# it; by every method, for sparse and dense tensors, several starts and a resumed run. Words, JSON and the result
# record it. Refused values and options.
. "$(dirname "$0")/../lib/lib.sh"
needs h5dump
cd "$scratch" || exit 99

"$amped" generate s.h5 --dims=60x50x40 --nnz=20k --planted=3 --noise=0.1 --seed=5 -q || fail "generate s.h5"
"$amped" generate d.h5 --dense --dims=40x30x32 --planted=3 --noise=0.1 --signed --seed=3 -q || fail "generate d.h5"

# fits FILE: the fit of each sweep in JSON lines, in order.
fits() { sed -n '/"event":"iteration"/s/.*"fit":\([-+.0-9e]*\).*/\1/p' "$1"; }
# reason FILE: why the run ended.
reason() { sed -n '/"event":"end"/s/.*"reason":"\([^"]*\)".*/\1/p' "$1"; }

# ends RANKS FILE AT OPTION...: a run with --stop-fit of the fit after sweep AT of a run of 12 sweeps ends after the
# first sweep with such a fit, and has the same fits until then.
few_bytes=
test "$backend" = cpu || few_bytes=--device-memory=100M # as other programs on the GPU leave it
ends() {
  ranks=$1
  file=$2
  at=$3
  shift 3
  run="$file --rank=3 --precision=double --deterministic --tol=0 --nowrite -q $few_bytes $*"
  # shellcheck disable=SC2086
  expect 0 "" on "$ranks" $run --iters=12 --json=all.json
  goal=$(fits all.json | sed -n "${at}p")
  # shellcheck disable=SC2086
  expect 0 "at least --stop-fit=" on "$ranks" $run --iters=12 --stop-fit="$goal" --json=some.json
  fits all.json | awk -v goal="$goal" '{ print } $1 >= goal { exit }' >wanted.txt
  fits some.json >got.txt
  if cmp -s wanted.txt got.txt; then pass; else fail "other fits: $*"; fi
  same "reason of $*" "$(reason some.json)" stop-fit
}
ends 2 s.h5 5
ends 1 d.h5 3
finish_on_gpus
ends 1 s.h5 6 --nonnegative
ends 3 d.h5 4 --nonnegative
ends 1 s.h5 4 --ridge=0.01
ends 1 s.h5 6 --method=lm
ends 2 d.h5 11 --method=lm
ends 1 s.h5 7 --accelerate=momentum
ends 1 d.h5 7 --accelerate=linesearch

# A run that ends for another reason says that the fit is not reached.
short="s.h5 --rank=3 --nowrite -q"
# shellcheck disable=SC2086
expect 0 "iters reached; .*, below --stop-fit=0.99999" on 1 $short --iters=3 --tol=0 --stop-fit=0.99999
# shellcheck disable=SC2086
expect 0 " = --tol, below --stop-fit=0.99999" on 1 $short --iters=60 --tol=0.1 --stop-fit=0.99999
# shellcheck disable=SC2086
expect 0 "after 1 sweep (--iters reached, below --stop-fit=1)" on 1 $short --iters=1 --stop-fit=1

# --- the record -----------------------------------------------------------------------------------
expect 0 "" on 1 s.h5 --rank=3 --stop-fit=0.2 -o r.h5 -q
expect 0 "stopped on *stop-fit" "$amped" info r.h5
same "the option in the result" "$(h5dump -a /options r.h5 | grep -c 'stop_fit\\*":0.2')" 1
expect 0 "" on 1 s.h5 --rank=3 --iters=2 -o plain.h5 -q
same "no option in a plain result" "$(h5dump -a /options plain.h5 | grep -c 'stop_fit\\*":null')" 1

# --- a checkpoint ---------------------------------------------------------------------------------
# A resumed run goes on to the fit, and to the sweep of a run without interruption; a fit that the checkpoint has
# ends it at once.
run="s.h5 --rank=3 --precision=double --deterministic --tol=0 --nowrite -q"
# shellcheck disable=SC2086
expect 0 "" on 1 $run --iters=12 --json=all.json
goal=$(fits all.json | sed -n 7p)
first=$(fits all.json | awk -v goal="$goal" '$1 >= goal { print NR; exit }')
# shellcheck disable=SC2086
expect 0 "" on 1 $run --iters=3 --checkpoint=c.h5 --checkpoint-every=1
# shellcheck disable=SC2086
expect 0 "after $first sweeps (at least --stop-fit" on 1 $run --iters=12 --checkpoint=c.h5 --checkpoint-every=1 --resume --stop-fit="$goal"
# shellcheck disable=SC2086
expect 0 "at least --stop-fit" on 1 $run --iters=12 --checkpoint=c.h5 --resume --stop-fit=0.1 --json=some.json
same "sweeps after a checkpoint that reached the fit" "$(fits some.json | wc -l)" 0

# --- several starts: the first that reaches the fit is the last that is made ---------------------------
starts="--rank=3 --iters=30 --tol=0 --precision=double -q"
# shellcheck disable=SC2086
expect 0 "" on 2 s.h5 $starts --starts=4 --json=starts.json --stop-fit=0.2 -o one.h5
same "starts until the fit" "$(grep -o '"seed":[0-9]*' starts.json | sort -u | wc -l)" 1
same "starts in the result" "$(h5dump -H -d /starts/seed one.h5 | grep -c 'SIMPLE *{ ( 1 )')" 1
# shellcheck disable=SC2086
expect 0 "start 1 of 4 reached --stop-fit" on 1 s.h5 --rank=3 --iters=30 --starts=4 --nowrite --stop-fit=0.2
# shellcheck disable=SC2086
expect 0 "" on 1 s.h5 $starts --starts=3 --iters=2 --json=starts.json --stop-fit=0.99999 --nowrite
same "starts that do not reach it" "$(grep -c '"event":"init"' starts.json)" 3
expect 0 "" on 1 s.h5 --rank=2,3 --nowrite -q --stop-fit=0.05 --json=ranks.json
same "each R ends for itself" "$(reason ranks.json | grep -c stop-fit)" 2

# --- block sampling -------------------------------------------------------------------------------
# Epochs end by the fit of sampled cells, sweeps over all cells by the exact fit. The result's fit is exact.
rbs="d.h5 --method=rbs --rank=3 --seed=2 --block=10 --precision=double --tol=0 --epochs=40 --nowrite -q"
# shellcheck disable=SC2086
expect 0 "" on 1 $rbs --polish=0 --json=all.json
goal=$(fits all.json | sed -n 20p)
# shellcheck disable=SC2086
expect 0 "(stop-fit of sampled cells; .*, below --stop-fit=\|at least --stop-fit" on 1 $rbs --polish=0 --stop-fit="$goal" --json=some.json
fits all.json | awk -v goal="$goal" '{ print } $1 >= goal { exit }' >wanted.txt
fits some.json >got.txt
if cmp -s wanted.txt got.txt; then pass; else fail "epochs until the fit"; fi
epochs=$(wc -l <wanted.txt)
for ranks in 1 2; do
  # shellcheck disable=SC2086
  expect 0 "at least --stop-fit" on $ranks $rbs --polish=9 --stop-fit=0.85 --json=some.json
  fits some.json >got.txt
  same "sweeps after the first exact fit that is enough" "$(reason some.json)" stop-fit
  last=$(tail -n 1 got.txt)
  if awk -v x="$last" 'BEGIN { exit !(x >= 0.85) }'; then pass; else fail "ends at a fit of $last"; fi
  test "$(wc -l <got.txt)" -le 41 && pass || fail "$(wc -l <got.txt) sweeps: the first exact fit was enough"
done
# Passes count the sweeps that were made.
epochs=$(($(wc -l <got.txt) - 1))
# shellcheck disable=SC2086
expect 0 "" on 1 $rbs --polish=9 --stop-fit=0.85 --json=some.json
total=$(field total some.json)
each=$(field an_epoch some.json)
close "passes" "$total" "$(awk -v n="$(($(fits some.json | wc -l) - 1))" -v e="$each" 'BEGIN { print n * e + 2 }')" 1e-4
# The sampled fit of some seed is above every exact fit: epochs end, and the run says that all cells have less.
long="$rbs --block=15 --epochs=200 --polish=1"
for seed in 1 2 3 4 5 6 7 8 9; do
  # shellcheck disable=SC2086
  expect 0 "" on 1 $long --seed=$seed --json=all.json
  exact=$(fits all.json | tail -n 1)
  goal=$(fits all.json | sed '$d' | sort -g | tail -n 1)
  awk -v a="$goal" -v b="$exact" 'BEGIN { exit !(a > b + 1e-4) }' && break
done
# shellcheck disable=SC2086
expect 0 "(stop-fit of sampled cells; .*, below --stop-fit=" on 1 $long --seed=$seed --stop-fit="$goal" --json=some.json
same "reason by sampled cells" "$(reason some.json)" "stop-fit of sampled cells"
# Cells that stay in their file.
for polish in 0 9; do
  expect 0 "at least --stop-fit" on 2 d.h5 --method=rbs --rank=3 --sample=slices --memory=10k --epochs=20 --polish=$polish \
    --nowrite -q --stop-fit=0.85
done
# Resumed in the sweeps over all cells: the checkpoint's epochs do not count as exact fits.
# The fits of the epochs are worse than those of the sweeps after them.
# shellcheck disable=SC2086
expect 0 "" on 1 $rbs --epochs=4 --polish=4 --json=all.json
goal=$(fits all.json | sed -n 7p)
# shellcheck disable=SC2086
expect 0 "" on 1 $rbs --epochs=4 --polish=1 --checkpoint=b.h5 --checkpoint-every=1
# shellcheck disable=SC2086
expect 0 "after 7 sweeps (at least --stop-fit" on 1 $rbs --epochs=4 --polish=4 --checkpoint=b.h5 --resume \
  --stop-fit="$goal"

# --- refused --------------------------------------------------------------------------------------
for wrong in 0 1.5 -0.2 nan x; do
  expect 2 "stop-fit" "$amped" cpd s.h5 --stop-fit=$wrong
done
expect 2 "leave out --stop-fit" "$amped" cpd --shape=nell2 --scale=1e-4 --stop-fit=0.5
expect 2 "products=tf32 rounds the fit" "$amped" cpd d.h5 --products=tf32 --stop-fit=0.5
expect 2 "has no option --stop-fit" "$amped" complete s.h5 --stop-fit=0.5
finish
