#!/bin/sh
# --loss=poisson: updates, deviances and conditions of an optimum as in numpy, of orders 2 to 6 on several
# ranks; deviances that never rise; independent modes with R = 1; planted models; entries that went to 0;
# checkpoints to the bit; float; refused values and options.
. "$(dirname "$0")/../lib/lib.sh"
needs_python
needs h5diff
here=$(cd "$(dirname "$0")" && pwd)
script=$here/poisson_reference.py
cd "$scratch" || exit 99
poisson="--loss=poisson --precision=double --overwrite -q"
plain="$poisson --accelerate=none --tol=0"

reference() { if "$python" "$script" "$@" >said.txt 2>&1; then pass; else fail "$*: $(cat said.txt)"; fi; }
reference make

# --- as in numpy ----------------------------------------------------------------------------------
# update NAME RANKS SWEEPS OPTION...: sweeps from a start, and the result's numbers.
start= # of another name
update() {
  name=$1 ranks=$2 count=$3
  from=${start:-$name}
  shift 3
  # shellcheck disable=SC2086
  expect 0 "" on "$ranks" cpd "$name.tns" --init="$from.h5" --iters="$count" -o out.h5 --json=run.json $plain "$@"
  reference sweeps "$name.tns" "$from.h5" "$count" out.h5 1e-12
  reference result "$name.tns" out.h5 run.json
  reference falls run.json
}
update three 3 1
update four 2 1
update three 1 5
enough 1 || for name in matrix five six; do update $name 3 1; done
for ranks in $(few 1 4 2); do update four "$ranks" 5 --placement=equal; done

# Rows longer than a warp of a GPU.
start=wide update three 2 1

# Entries that are raised; a row of many nonzeros, which ranks share; rows in parts; tiles and streams of a GPU.
# (Sums of the model are those of the tensor only if no entry was raised.)
# shellcheck disable=SC2086
expect 0 "" on 3 cpd three.tns --init=zeros.h5 --iters=1 -o out.h5 $plain --overlap=2
reference sweeps three.tns zeros.h5 1 out.h5 1e-12
if test "$backend" = cuda; then
  update three 2 1 --residency=stream
  update three 1 1 --tiles=1K
fi
finish_on_gpus

# --- models ---------------------------------------------------------------------------------------
# With one component a sweep makes independent modes, whatever the table.
for name in matrix three six; do
  # shellcheck disable=SC2086
  expect 0 "" on 2 cpd $name.tns --rank=1 --iters=1 -o out.h5 $plain
  reference independent $name.tns out.h5
done
# So it does if one cell holds nearly all events. (A model value counted as at least 1e-12 of the mean: shares of rare
# labels were wrong, and one component explained more than 0.) What float cannot hold is said.
for precision in float double; do
  expect 0 "" on 2 cpd skewed.tns --rank=1 -o out.h5 --loss=poisson --precision=$precision --json=run.json --overwrite -q
  reference shares skewed.tns out.h5 1e-5
  same "explained, $precision" "$(sed -n '/"event":"end"/s/.*"explained":-*\([0-9.e-]*\),.*/\1/p' run.json |
    awk '{ print $1 < 1e-3 }')" 1
done
expect 0 "float has no digits for the model of rare labels.*--precision=double" on 2 cpd vast.tns --rank=1-2 \
  --starts=2 --loss=poisson --nowrite
same "warnings" "$(grep -c 'rare labels' err)" 1
expect 0 "" on 2 cpd vast.tns --rank=1 -o out.h5 $plain
grep -q "rare labels" err && fail "a warning in double" || pass
reference shares vast.tns out.h5 1e-12
# Independent modes leave nothing to explain, not even what rounding leaves: the share is 1, the result can be read.
for name in outer nearly; do
  expect 0 "note: the modes are independent of each other, up to rounding in float" on 2 cpd $name.tns --rank=2-3 \
    --starts=2 --loss=poisson -o $name.h5 --json=run.json --overwrite
  same "notes" "$(grep -c 'note: the modes' out)" 1
  for rank in 2 3; do
    expect 0 "^explained  *\(1\|0.99999\)" "$amped" info $name.r$rank.h5
    expect 0 "" "$amped" top $name.r$rank.h5
  done
  expect 0 "" "$amped" compare $name.r2.h5 $name.r3.h5
  grep -q '"deviance":-\|nan\|null,"sweeps"' run.json && fail "$name: $(grep '"end"' run.json)" || pass
done
# In double too, whatever the number of cells. (explained was -1.9e12.)
for name in products equal; do
  for ranks in 1 2; do
    expect 0 "note: the modes are independent of each other, up to rounding in double" on $ranks cpd $name.npy --rank=2 \
      --iters=1 --loss=poisson --precision=double --nowrite
  done
done
# In double something is left.
expect 0 "^explained 0.09" on 2 cpd nearly.tns --rank=2 --nowrite --loss=poisson --precision=double
grep -q "note: the modes" out && fail "a note in double" || pass
# Accelerated sweeps: the deviance of accepted sweeps never rises, and the optimum is one.
# shellcheck disable=SC2086
expect 0 "after [0-9]* sweeps (--kkt reached" on 2 cpd planted.tns --rank=5 --starts=5 --seed=3 --iters=3000 --tol=0 \
  --kkt=1e-4 -o out.h5 --json=run.json $poisson
reference match planted.h5 out.h5 0.99
reference result planted.tns out.h5 run.json
for name in three four; do
  # shellcheck disable=SC2086
  expect 0 "" on 3 cpd $name.tns --rank=4 --iters=60 --tol=0 -o out.h5 --json=run.json $poisson
  reference falls run.json
  reference result $name.tns out.h5 run.json
  # shellcheck disable=SC2086
  expect 0 "" on 1 cpd $name.tns --rank=4 --iters=60 --tol=0 -o one.h5 $poisson
  reference same one.h5 out.h5 1e-6
done
# shellcheck disable=SC2086
expect 0 "" on 2 cpd large.tns --rank=3 --iters=500 -o out.h5 $poisson
reference degrees large.tns out.h5
# Float: near double.
# shellcheck disable=SC2086
expect 0 "" on 2 cpd four.tns --rank=3 --init=four.h5 --iters=20 -o out.h5 $plain
expect 0 "" on 2 cpd four.tns --rank=3 --init=four.h5 --iters=20 -o float.h5 --loss=poisson --accelerate=none \
  --tol=0 -q
reference same float.h5 out.h5 1e-4

# --- results --------------------------------------------------------------------------------------
expect 0 "" "$amped" convert planted.tns planted_t.h5 -q
# shellcheck disable=SC2086
expect 0 "" on 2 cpd planted_t.h5 --rank=5 -o out.h5 $poisson
expect 0 "component 1 of 5, [0-9.]* events expected (3[0-9.]* %)" "$amped" top out.h5
expect 0 "" "$amped" top out.h5 --lift --json=top.json -q
reference lift out.h5 top.json
expect 0 "" "$amped" similar out.h5 --for=1 -n 4 --json=similar.json -q
reference similar out.h5 similar.json 0
expect 0 "^loss  *poisson" "$amped" info out.h5
expect 0 "factor match score 0.99" "$amped" compare out.h5 planted.h5
expect 0 "5 components, explained" "$python" "$srcdir/examples/load_result.py" out.h5 planted_t.h5
same "explained by the example" "$(sed 's/.*explained \([0-9.]*\),.*/\1/' out)" "$(sed 's/.*file //' out)"
# shellcheck disable=SC2086
expect 0 "" on 1 cpd planted_t.h5 --rank=1 -o one.h5 $poisson
expect 0 "the model has one component, which has all events, so that no lift is above 1" "$amped" top one.h5 --lift
on 1 cpd planted_t.h5 --rank=3 --iters=3 -o squares.h5 -q
expect 2 "has no shares of events, which --lift compares" "$amped" top squares.h5 --lift

# --- inputs ---------------------------------------------------------------------------------------
# A dense tensor is the list of its cells; values that are no counts are noted, or refused.
# shellcheck disable=SC2086
expect 0 "" on 2 cpd three.npy --rank=3 --init=three.h5 --iters=5 -o out.h5 $plain
reference sweeps three.npy three.h5 5 out.h5 1e-12
expect 3 "gaps.npy: 1 of its cells are missing" on 2 cpd gaps.npy --rank=2 --nowrite --loss=poisson
expect 0 "note: 1 of the values are not whole numbers" on 2 cpd half.tns --rank=2 --starts=2 --iters=3 --nowrite \
  --loss=poisson
expect 3 "below.tns: 1 of its values are below 0" on 2 cpd below.tns --rank=2 --nowrite --loss=poisson
expect 3 "cannot start a nonnegative model: mode 1" on 2 cpd three.tns --rank=3 --init=signed.h5 --nowrite \
  --loss=poisson
expect 0 "1 of 3 components of the start are zero and stay zero" on 2 cpd three.tns --rank=3 --init=lost.h5 --iters=2 \
  --nowrite --loss=poisson
expect 3 "gone.h5: all of its components are zero, .*without --init" on 2 cpd three.tns --rank=3 --init=gone.h5 --iters=2 \
  --loss=poisson -o gone.cpd.h5
absent gone.cpd.h5
expect 3 "cannot start a nonnegative model: the weight of component 2" on 2 cpd three.tns --rank=3 --init=opposed.h5 \
  --nowrite --loss=poisson
# Squares take only the directions of a start's columns.
expect 0 "" on 2 cpd three.tns --rank=3 --init=opposed.h5 --nowrite --nonnegative --iters=2
# Passes that only a warning needs are made for the first start: two modes fewer for the second.
for starts in 1 2; do
  expect 0 "" on 1 cpd three.tns --rank=2 --starts=$starts --iters=1 --tol=0 --nowrite --loss=poisson --trace=$starts.json
done
waits() { grep -o '"name": *"wait"' "$1" | wc -l; }
same "sums over ranks of the second start" "$(($(waits 2.json) - $(waits 1.json)))" "$(($(waits 1.json) - 2))"
# The deviance needs the sum of a cell's entries. Lists of other programs are searched.
expect 0 "" "$amped" convert events.h5 kept.h5 --duplicates=keep -q
expect 0 "" "$amped" convert events.h5 kept.tns -q --duplicates=keep
# --plan refuses the file that says so, and knows nothing of a list that is not searched yet.
expect 3 "has cells with several entries, .* --loss=poisson counts a cell once" on 2 cpd kept.h5 --rank=3 --plan --loss=poisson
expect 0 "" on 2 cpd events.h5 --rank=3 --plan --loss=poisson
# A list has a density unless it is known to repeat, whoever wrote it.
expect 0 "of the cells are stored" on 1 cpd merged.h5 --rank=1 --iters=1 --nowrite
expect 0 "of the cells are stored" on 1 cpd merged.h5 --rank=1 --plan
expect 0 "their values are added up" on 1 cpd events.h5 --rank=1 --iters=1 --nowrite
grep -q "of the cells are stored" out && fail "cells of repeats: $(cat out)" || pass
for ranks in $(few 2 1 3); do
  for input in kept.h5 events.h5 "kept.tns --duplicates=keep"; do
    # shellcheck disable=SC2086
    expect 3 "has cells with several entries, .* --loss=poisson counts a cell once" on "$ranks" cpd $input --rank=3 \
      --nowrite --loss=poisson
  done
  for input in merged.h5 "kept.tns --duplicates=sum"; do
    # shellcheck disable=SC2086
    expect 0 "" on "$ranks" cpd $input --rank=3 --init=three.h5 --iters=5 -o out.h5 --json=run.json $plain
    reference result three.tns out.h5 run.json
  done
  # complete, too, knows whether such a list repeats.
  expect 3 "has cells with several entries, .* --implicit counts a cell once" on "$ranks" complete events.h5 \
    --implicit=2 --rank=1 --reg=0.1 --nowrite
  expect 0 "" on "$ranks" complete merged.h5 --implicit=2 --rank=1 --reg=0.1 --nowrite
done
# Values whose sums overflow in float end a run with a line, and nothing is written.
awk 'BEGIN { for (k = 0; k < 90; k++) print 1 + k % 5, 1 + k % 6, 1 + k % 7, 1e37 * (1 + k % 4) }' >huge.tns
for how in momentum none; do
  expect 1 "deviance is not a number after sweep .*--precision=double" on 2 cpd huge.tns --rank=2 --loss=poisson \
    --accelerate=$how -o huge.h5
  absent huge.h5
done
expect 0 "" on 2 cpd huge.tns --rank=2 --loss=poisson --precision=double --iters=5 -o huge.h5

# --- beside a dominant cell the deviance is told with its rounding ------------------------------------
printf 'x y z 4503599627370496\nx y2 z 3\np y z2 1\np y2 z 5\nq y2 z2 7\n' | tr ' ' , | { echo a,b,c,n && cat; } >dominant.csv
expect 0 "deviance [0-9.]* (of independent modes [0-9.]*), give or take [1-9].*: the rounding of the largest values; " \
  on 2 cpd dominant.csv --value=n --rank=2 --loss=poisson --precision=double --nowrite --json=dominant.json
# 866.0 is the deviance of that model, added up cell by cell.
close "the deviance, within its rounding" "$(field deviance dominant.json)" 866 "$(field deviance_noise dominant.json)"
expect 0 "deviance" on 2 cpd four.tns --rank=2 --loss=poisson --iters=5 --nowrite
grep -q "give or take" out && fail "$(cat out)" || pass

# --- agreement of starts: as compare has it of their results ----------------------------------------
# One component is the product of the marginal sums, whatever the start.
for ranks in $(few 1 3 1); do
  expect 0 "" on "$ranks" cpd four.tns --rank=1 --starts=2 --loss=poisson --nowrite --json=starts.json --overwrite
  close "agreement of R = 1" "$(events starts match_mean starts.json)" 1 1e-6
done
for seed in 1 2; do
  expect 0 "" on 1 cpd four.tns --rank=3 --seed=$seed --iters=9 --tol=0 --precision=double --loss=poisson -o seed$seed.h5 --overwrite
done
expect 0 "" on 2 cpd four.tns --rank=3 --starts=2 --iters=9 --tol=0 --precision=double --loss=poisson --nowrite --json=starts.json --overwrite
expect 0 "" "$amped" compare seed1.h5 seed2.h5 --json=pair.json --overwrite
close "agreement of two starts" "$(events starts match_mean starts.json)" \
  "$(field score pair.json)" 1e-9

# --- runs that go on, and runs that end -----------------------------------------------------------
for how in momentum none; do
  on 2 cpd four.tns --rank=3 --iters=25 --tol=0 --loss=poisson --accelerate=$how -o whole.h5 -q --overwrite
  rm -f state.h5*
  on 2 cpd four.tns --rank=3 --iters=11 --tol=0 --loss=poisson --accelerate=$how --checkpoint=state.h5 --nowrite -q
  expect 0 "" on 2 cpd four.tns --rank=3 --iters=25 --tol=0 --loss=poisson --accelerate=$how --checkpoint=state.h5 \
    --resume -o parts.h5 -q --overwrite
  for k in weights factors/0 factors/3 explained; do
    expect 0 "" h5diff whole.h5 parts.h5 "/$k"
  done
done
# A run that goes on measures the violation again, and one that --kkt ended has the same end.
kkt="cpd planted.tns --rank=5 --starts=1 --seed=3 --iters=3000 --tol=0 --kkt=1e-3 --deterministic $poisson"
# shellcheck disable=SC2086
{
  expect 0 "" on 1 $kkt -o whole.h5
  rm -f state.h5*
  expect 0 "" on 1 $kkt --iters=8 --checkpoint=state.h5 --checkpoint-every=1 --nowrite
  expect 0 "" on 1 $kkt --checkpoint=state.h5 --resume -o parts.h5
  for k in weights factors/0 explained; do
    expect 0 "" h5diff whole.h5 parts.h5 "/$k"
  done
  expect 0 "(--kkt reached" on 1 $kkt --checkpoint=state.h5 --resume -o again.h5
  expect 0 "" h5diff parts.h5 again.h5 /explained
}
rm -f state.h5*
on 2 cpd four.tns --rank=3 --iters=11 --tol=0 --loss=poisson --accelerate=none --checkpoint=state.h5 --nowrite -q
expect 3 "began with --loss=poisson; use that" on 2 cpd four.tns --rank=3 --accelerate=none --checkpoint=state.h5 \
  --resume --nowrite -q
expect 0 "after [0-9]* sweeps* (--time is over" on 2 cpd four.tns --rank=3 --iters=1000000 --tol=0 --time=0.2 \
  --nowrite --loss=poisson
expect 0 "after [0-9]* sweeps* (--time is over" on 2 cpd four.tns --rank=3 --iters=1000000 --tol=0 --time=0.2 --nowrite

# A dominant cell beside rare ones: in float the model is 0 at some nonzeros, which is said whatever the values' unit.
# The optimum of R = 1 is the model of independent modes, as double finds.
for unit in 1 1e-2 1e-6 1e-12; do
  awk -v unit="$unit" '{ $6 = sprintf("%.17g", $6 * unit); print }' >dominant.tns <<'END'
1 2 3 1 2 3e8
2 1 2 1 1 1
2 4 1 2 4 1
3 1 2 1 2 1
4 3 1 2 2 1
4 3 3 1 1 1
5 1 2 1 3 1
5 3 1 2 1 1
END
  expect 0 "float has no digits for the model of rare labels" on 1 cpd dominant.tns --loss=poisson --rank=1 --nowrite --json=dominant.json
  cp err told.err
  expect 0 "at [1-7] nonzeros the model is below the least number that float holds.*--precision=double" cat told.err
  same "JSON of $unit" "$(grep -c '"event":"end".*"low":[1-7],' dominant.json)" 1
  expect 0 "" on 1 cpd dominant.tns --loss=poisson --rank=1 --precision=double --nowrite --json=dominant.json
  same "lines of double, $unit" "$(grep -c 'nonzeros the model\|no digits' err)" 0
  same "JSON of double, $unit" "$(grep -c '"event":"end".*"low":0,' dominant.json)" 1
done
finish
