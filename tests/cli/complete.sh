#!/bin/sh
# complete: against numpy from the same start; the objective never rises; ranks agree; a planted model
# is found; entries of files, by label and by index; the choice of the penalty; refusals; signals.
. "$(dirname "$0")/../lib/lib.sh"
python=$(find_python)
script=$(cd "$(dirname "$0")" && pwd)/complete_reference.py
data=$(cd "$data" 2>/dev/null && pwd)
cd "$scratch" || exit 99

# part KEY NUMBER FILE: a number of an object in the last line. The first of that name counts.
part() {
  awk -v object="\"$1\":{" -v key="\"$2\":" '{ line = $0 } END {
    text = substr(line, index(line, object)); text = substr(text, index(text, key) + length(key))
    sub(/[,}].*/, "", text); print text }' "$3"
}
# alone STATUS PATTERN ARGUMENT...: expect, without mpirun, which waits for seconds after a failure.
alone() {
  want=$1 pattern=$2
  shift 2
  expect "$want" "$pattern" "$amped" "$@" --backend="$backend"
}
# relative WHAT A B TOLERANCE
relative() { close "$1" 1 "$(awk -v a="$2" -v b="$3" 'BEGIN { printf "%.17g", b != 0 ? a / b : 2 }')" "$4"; }

"$amped" generate a.h5 --dims=30x20x10 --nnz=1500 --skew=0.5 --seed=1 -q || fail "generate"
"$amped" generate b.h5 --dims=12x9x8x7 --nnz=900 --skew=0.6 --seed=2 -q || fail "generate"
"$amped" generate c.h5 --dims=9x8x7x6x5 --nnz=900 --seed=3 -q || fail "generate"
heavy_tensor | awk '$3 < 19999' >heavy.tns # 11432 of them
for t in a b c; do "$amped" convert $t.h5 $t.tns -q || fail "convert"; done

# --- against numpy: in double, after each of three sweeps, to 1e-9 ----------------------------------
against_numpy() { # against_numpy TENSOR RANKS R REG POWER REG_BIAS CONTEXT HOLDOUT OPTION...
  t=$1 n=$2 r=$3 reg=$4 power=$5 reg_bias=$6 context=$7 holdout=$8
  shift 8
  expect 0 "" on "$n" complete $t.tns --rank="$r" --init=start-$t.h5 --reg="$reg" --reg-power="$power" \
    --reg-bias="$reg_bias" --context="$context" --holdout="$holdout" --split-seed=5 --iters=3 --tol=0 \
    --precision=double -o result.h5 --overwrite -q "$@"
  if "$python" "$script" compare $t.tns start-$t.h5 result.h5 "$reg" "$power" "$reg_bias" "$context" \
    "$holdout" 5 3 1e-9 "block=$block" ${by:+"by=$by"} >reference.txt 2>&1; then
    pass
  else
    fail "numpy, $t on $n ranks: $(tail -1 reference.txt)"
  fi
}
block=1024
if test -n "$python"; then
  "$python" "$script" start start-a.h5 4 30 20 10
  "$python" "$script" start start-b.h5 3 12 9 8 7
  "$python" "$script" start start-c.h5 5 9 8 7 6 5
  "$python" "$script" start start-heavy.h5 3 400 3 19998
  for n in $(few 2 1 4 2); do
    against_numpy a $n 4 0.5 0.5 3 3 0.2
  done
  against_numpy b 1 3 2 1 0 none 0.1
  against_numpy b 4 3 2 1 0 none 0.1
  against_numpy a 3 4 0.1 0 1 none 0 --bias=none
  against_numpy c 2 5 1 0.5 3 3,4,5 0.05
  by=1,3 # held out as whole fibres
  against_numpy a 1 4 0.5 0.5 3 3 0.2 --holdout-by=3,1
  by=1,2,4
  against_numpy b 3 3 2 1 0 none 0.1 --holdout-by=1,2,4
  by=
  against_numpy heavy 4 3 1 0.5 3 2 0.1 # an index with many nonzeros is split over ranks
  block=1
  against_numpy a 1 4 0.5 0.5 3 3 0.2 --method=ccd
  against_numpy heavy 4 3 1 0.5 3 2 0.1 --method=ccd
  block=2 # and a rest of one column
  against_numpy b 3 3 2 1 0 none 0.1 --bias=none --block=2
  against_numpy c 2 5 1 0.5 3 3,4,5 0.05 --block=2
else
  echo "skipped: no python3 with numpy and h5py"
fi

# --- the objective never rises, in double ------------------------------------------------------------
never_rises() { # never_rises TENSOR OPTION...
  t=$1
  shift
  expect 0 "" on 2 complete $t.tns --rank=4 --iters=12 --tol=0 --precision=double --nowrite -q \
    --json=f.json "$@"
  if events iteration objective f.json | awk 'NR > 1 && $1 > last * (1 + 1e-12) { bad = 1 }
    { last = $1 } END { exit bad || NR < 11 }'; then pass; else fail "objective rises: $t $*"; fi
}
never_rises a --reg=0.5
never_rises b --reg=0.1 --context=none
never_rises b --reg=0.1 --bias=none --order=random
never_rises c --reg=1 --bias=mean --reg-power=1
never_rises a --reg=0.05 --nonnegative --reg-power=0
never_rises a --reg=0.3 --bias=none --nonnegative
never_rises b --reg=0.1 --method=ccd --order=random
never_rises c --reg=0 --block=3 --bias=none
never_rises a --reg=0.05 --method=ccd --nonnegative --reg-power=0

never_rises a --method=sgd --reg=0.5
never_rises b --method=sgd --reg=0.1 --bias=none --order=random --nonnegative
never_rises heavy --method=sgd --reg=2 --context=2 # an index with many nonzeros is split over ranks

# --- ranks agree; the same bits again ----------------------------------------------------------------
for n in $(few 2 1 3 2 4); do
  expect 0 "" on $n complete heavy.tns --rank=5 --reg=1,0.1 --iters=3 --precision=double -o r$n.h5 -q \
    --json=r$n.json
  relative "objective on $n ranks" "$(events end objective r$n.json)" "$(events end objective r1.json)" 1e-10
  relative "rmse on $n ranks" "$(events end rmse r$n.json)" "$(events end rmse r1.json)" 1e-10
done
expect 0 "" on 3 complete heavy.tns --rank=5 --reg=1,0.1 --iters=3 --precision=double -o again.h5 -q \
  --deterministic
if command -v h5diff >/dev/null; then
  for set in weights factors/0 factors/1 factors/2 bias/0 bias/1 bias/2 rmse/train rmse/validate; do
    if h5diff r3.h5 again.h5 /$set /$set >/dev/null 2>&1; then pass; else fail "other bits: $set"; fi
  done
fi

# --- blocks of columns: a block of all is ALS, and so is one component ---------------------------------
objectives() { # objectives RANKS OPTION...: those of each sweep
  n=$1
  shift
  expect 0 "" on "$n" complete heavy.tns --precision=double --reg=1 --iters=4 --tol=0 --nowrite -q --json=f.json "$@"
  events iteration objective f.json | tr '\n' ' '
}
same_objectives() { # same_objectives WHAT A B: to 1e-9
  if echo "$2 $3" | awk 'NF < 8 { exit 1 } { for (i = 1; i <= NF / 2; i++) { d = $i - $(i + NF / 2)
    if (d < 0) d = -d; if (d > 1e-9 * $i) exit 1 } }'; then pass; else fail "$1: $2, not $3"; fi
}
als=$(objectives 2 --rank=5)
same_objectives "a block of all columns" "$(objectives 3 --rank=5 --block=5)" "$als"
same_objectives "one component" "$(objectives 2 --rank=1 --method=ccd)" "$(objectives 2 --rank=1)"
same_objectives "blocks on other ranks" "$(objectives 4 --rank=5 --block=2)" "$(objectives 1 --rank=5 --block=2)"
if test "$(objectives 3 --rank=4 --method=ccd --deterministic)" = "$(objectives 3 --rank=4 --method=ccd --deterministic)"; then
  pass
else
  fail "other bits with blocks"
fi
expect 0 "" on 2 complete heavy.tns --rank=2,5 --block=2 --reg=1 --iters=2 --nowrite -q --starts=2

# --- a planted model is found, components and all, by the defaults ------------------------------------
# 20000 cells of a dense model of rank 2, noise 1 % of the values' root mean square: learnt and tested.
awk 'function random() { seed = (seed * 16807) % 2147483647; return seed / 2147483647 }
  function normal() { return sqrt(-2 * log(random())) * cos(6.283185307179586 * random()) }
  BEGIN {
    seed = 11
    d[1] = 60; d[2] = 50; d[3] = 40
    for (m = 1; m <= 3; m++) for (i = 1; i <= d[m]; i++) for (r = 1; r <= 2; r++) a[m, i, r] = 0.2 + random()
    for (n = 0; n < 20000; n++) {
      i = 1 + int(60 * random()); j = 1 + int(50 * random()); k = 1 + int(40 * random())
      if ((i, j, k) in seen) continue
      seen[i, j, k] = 1
      x = 0
      for (r = 1; r <= 2; r++) x += a[1, i, r] * a[2, j, r] * a[3, k, r]
      printf "%d %d %d %.9g\n", i, j, k, x + 0.01 * normal() >(n % 10 == 0 ? "cells.tns" : "planted.tns")
    }
  }'
expect 0 "" on 2 complete planted.tns --rank=4 --bias=none --test=cells.tns --json=p.json -o p.h5 -q
close "rmse of cells of a planted model" "$(part test rmse p.json)" 0.01 0.001

# --- entries of files --------------------------------------------------------------------------------
awk 'BEGIN { for (n = 0; n < 600; n++) printf "u%d,v%d,w%d,%d\n", n * 7 % 23, n * 13 % 17, n % 11, 1 + n * n % 5 }' |
  sort -u -t, -k1,3 >all.csv
{ echo user,item,week,stars; cat all.csv; } >all-header.csv
awk 'BEGIN { print "user,item,week,stars" } NR % 5 > 0' all.csv >train.csv
awk 'BEGIN { print "user,item,week,stars" } NR % 5 == 0 { print } END { print "stranger,v1,w1,3" }' all.csv >later.csv
keys="--keys=user,item,week --value=stars"
# shellcheck disable=SC2086
"$amped" convert train.csv train.h5 $keys -q || fail "convert"
# shellcheck disable=SC2086
"$amped" convert later.csv later.h5 $keys -q || fail "convert"
entries=$(($(wc -l <later.csv) - 1))
# shellcheck disable=SC2086
for n in 1 3; do # by label, from a table and from a tensor file; columns are those of the file alone
  expect 0 "" on $n complete train.h5 --rank=3 --reg=1 --iters=4 --validate=later.csv --test=later.h5 $keys \
    --precision=double --context=week --clip=1:5 -o labels$n.h5 -q --json=labels.json
  same "entries that validate" "$(part validate count labels.json)" "$entries"
  relative "one file, read in two ways" "$(part validate rmse labels.json)" "$(part test rmse labels.json)" 1e-12
done
same "cold entries" "$(tail -1 labels.json | sed 's/.*"cold":{"count":\([0-9]*\).*/\1/')" 1
awk -v a="$(part validate clipped labels.json)" -v b="$(part validate rmse labels.json)" \
  'BEGIN { exit !(a <= b && a > 0) }' && pass || fail "errors of the clipped model"
if awk -v l="$entries" 'BEGIN { exit !(l > 50) }'; then pass; else fail "few entries"; fi
printf 'user,item,week,stars\nx,y,w1,3\n' >none.csv
# shellcheck disable=SC2086
alone 3 "has a label of mode 1" complete train.h5 --rank=3 --validate=none.csv $keys --reg=1 --nowrite -q

# --- the choice --------------------------------------------------------------------------------------
expect 0 "" on 2 complete train.h5 --rank=3 --reg=0.01,1,100 --holdout=20% --iters=15 --nowrite -q \
  --json=choice.json
least=$(events iteration rmse choice.json | sort -g | head -1)
same "the best of all sweeps is kept" "$(events end rmse choice.json)" "$least"
same "three runs" "$(grep -c '"event":"init"' choice.json)" 3
expect 0 "" on 1 complete train.h5 --rank=3 --holdout=20% --nowrite -q --starts=2 --iters=12 --race=off \
  --json=auto.json
same "eight penalties from two starts" "$(grep -c '"event":"init"' auto.json)" 16
same "the penalty falls after ten sweeps" \
  "$(sed -n '/"run":1,/s/.*"sweep":12,.*"reg":\([0-9.e-]*\),.*/\1/p' auto.json)" 1.8049999999999999
expect 0 "stopped\|ended on time" on 2 complete heavy.tns --rank=8 --reg=1 --iters=100000 --tol=0 \
  --patience=100000 --time=0.2 --nowrite

# --- several numbers of components, and what follows --------------------------------------------------
expect 0 "" on 2 complete train.h5 --rank=2,4 --reg=1 --iters=3 -o several.h5 -q
expect 0 "rmse" "$amped" info several.r2.h5
expect 0 "component" "$amped" top several.r4.h5 -n 3
expect 0 "memory: at most" on 2 complete train.h5 --rank=3 --plan
absent train.completion.h5
expect 0 "" on 2 complete train.h5 --rank=3 --reg=1 --iters=2 --trace=trace.json -q
expect 0 "rmse" "$amped" info train.completion.h5
expect 0 "" on 1 complete train.h5 --rank=3 --reg=1 --iters=2 --init=train.completion.h5 --nowrite -q

# --- what is refused -----------------------------------------------------------------------------------
refuse() { # refuse STATUS PATTERN OPTION...
  want=$1 pattern=$2
  shift 2
  alone "$want" "$pattern" complete train.h5 --rank=3 --nowrite -q "$@"
}
refuse 2 "no entries to validate on" --holdout=0
refuse 2 "no entries to validate on" --holdout=0 --reg=1,2
refuse 2 "leave out one" --holdout=5% --validate=later.h5
refuse 2 "--reg" --reg=-1
refuse 2 "--reg" --reg=nan
refuse 2 "--holdout" --holdout=100%
refuse 2 "--clip" --clip=5:1
refuse 2 "no mode 4" --context=4
refuse 2 "no mode month; its modes are user, item, week, or 1 to 3" --context=month
expect 2 "is an input of this run" "$amped" complete train.h5 --rank=3 --test=later.h5 -o later.h5 -q
refuse 2 "would be overwritten" --test=later.h5 --json=later.h5
refuse 2 "at most 1023" --rank=1024
refuse 2 "a zero in every other" --method=sgd --implicit=1
refuse 2 "same weight" --method=sgd --weights=later.h5
refuse 2 "--block" --block=0
refuse 2 "--method" --method=ccd++
refuse 3 "held out to validate" --holdout=0.0000001
refuse 3 "order 4, the tensor 3" --validate=b.tns
refuse 3 "missing.tns" --test=missing.tns
refuse 2 "is one start with one R" --init=several.r2.h5 --rank=2,3
refuse 3 "has 4 components" --init=several.r4.h5 --reg=1
refuse 2 "needs --checkpoint" --resume
refuse 2 "holds one decomposition" --checkpoint=x --rank=2,3
refuse 2 "holds one decomposition" --checkpoint=x --starts=2

# --- signals: the best so far is written ---------------------------------------------------------------
begin 2 '"sweep":3,' complete heavy.tns --rank=16 --reg=1 --iters=100000 --tol=0 --patience=100000 -o part.h5
stop_by USR1
same "exit status of a signal without a checkpoint" "$status" 85
expect 0 "rmse" "$amped" info part.h5

# stopped_at LINE ARGUMENT...: a run on two ranks, whose rank 0 gets SIGUSR1 as it writes that line of live.json,
# so that the run's speed does not matter; $status has the exit status. In a shell of its own: what faults want of
# sanitizers holds for this run alone, and where nothing can be preloaded the status says so.
stopped_at() {
  line=$1
  shift
  test "$backend" = cuda && set -- "$@" --share-gpus
  (
    . "$srcdir/tests/faults/faults_lib.sh"
    with "USR1 flush live.json $line 0" 2 "$@" --json=live.json --overwrite
  ) >out.txt 2>err.txt
  status=$?
  test -e "$scratch/mark" && pass || fail "no line $line in: $*"
}

# --- checkpoints: a run that was stopped goes on to the same bits ----------------------------------------
three="complete heavy.tns --rank=6 --reg=3,1,0.3 --iters=40 --tol=0 --patience=40 --race=off --deterministic --test=heavy.tns"
# shellcheck disable=SC2086
expect 0 "" on 2 $three -o whole.h5 -q
# shellcheck disable=SC2086
stopped_at 46 $three --checkpoint=ck.h5 --checkpoint-every=1 -o resumed.h5 # a sweep of the second penalty
same "exit status of a signal with one" "$status" 85
# shellcheck disable=SC2086
expect 3 "other options: --clip differs" on 1 $three --clip=0:1 --checkpoint=ck.h5 --resume --nowrite -q
# shellcheck disable=SC2086
expect 0 "resume: ck.h5" on 2 $three --checkpoint=ck.h5 --resume -o resumed.h5
if command -v h5diff >/dev/null; then
  for set in weights factors/0 factors/1 factors/2 bias/0 bias/2 rmse/train rmse/validate rmse/test; do
    if h5diff whole.h5 resumed.h5 /$set /$set >/dev/null 2>&1; then pass; else fail "resumed: $set"; fi
  done
fi
expect 0 "" "$amped" info ck.h5 --verify
for command in "predict ck.h5 heavy.tns" "recommend ck.h5 --for=1 --of=2" "top ck.h5" "compare ck.h5 whole.h5" \
  "convert ck.h5 ck.csv"; do
  # shellcheck disable=SC2086
  expect 3 "ck.h5: is a checkpoint of complete" "$amped" $command
done
columns="complete heavy.tns --rank=4 --method=ccd --reg=1,0.5 --iters=40 --tol=0 --patience=40 --race=off --deterministic"
# shellcheck disable=SC2086
expect 0 "" on 2 $columns -o whole.h5 -q --overwrite
# shellcheck disable=SC2086
stopped_at 46 $columns --checkpoint=columns.h5 --checkpoint-every=1 -o resumed.h5
same "exit status of a signal to ccd" "$status" 85
# shellcheck disable=SC2086
expect 3 "a run with other options" on 1 $columns --block=2 --checkpoint=columns.h5 --resume --nowrite -q
# shellcheck disable=SC2086
expect 0 "resume: columns.h5" on 2 $columns --checkpoint=columns.h5 --resume -o resumed.h5 --overwrite
if command -v h5diff >/dev/null; then
  for set in factors/0 factors/2 bias/1 rmse/train; do
    if h5diff whole.h5 resumed.h5 /$set /$set >/dev/null 2>&1; then pass; else fail "resumed columns: $set"; fi
  done
fi
sgd="--method=sgd --rank=6 --reg=4,1,0.25 --iters=30 --tol=0 --patience=30 --race=off --deterministic --precision=double --order=random"
# shellcheck disable=SC2086
expect 0 "" on 2 complete heavy.tns $sgd -o steps.h5 -q --json=steps.json
# shellcheck disable=SC2086
stopped_at 40 complete heavy.tns $sgd --checkpoint=steps-ck.h5 --checkpoint-every=1 -o again-steps.h5
same "exit status of a signal to sgd" "$status" 85
# shellcheck disable=SC2086
expect 0 "resume: steps-ck.h5" on 2 complete heavy.tns $sgd --checkpoint=steps-ck.h5 --resume -o again-steps.h5
if command -v h5diff >/dev/null; then
  for set in factors/0 factors/1 factors/2 bias/0 rmse/train rmse/validate; do
    if h5diff steps.h5 again-steps.h5 /$set /$set >/dev/null 2>&1; then pass; else fail "steps: $set"; fi
  done
fi
expect 3 "a run with other options" on 2 complete heavy.tns --method=als --rank=6 --iters=30 --tol=0 \
  --order=random --precision=double --checkpoint=steps-ck.h5 --resume --nowrite -q
for n in 1 4; do # as good a model on any number of ranks
  # shellcheck disable=SC2086
  expect 0 "" on $n complete heavy.tns $sgd --nowrite -q --json=steps$n.json
  relative "rmse of sgd on $n ranks" "$(events end rmse steps$n.json)" "$(events end rmse steps.json)" 0.05
done

# A longer --iters makes no run longer that has ended: a warning says so if it is the best one. The checkpoint
# that was written last is of run 2 or 3.
limited="complete heavy.tns --rank=48 --reg=1,50,100 --race=off --checkpoint=limited.h5 --checkpoint-every=1 --nowrite -q"
for ranks in 1 3; do
  # shellcheck disable=SC2086
  expect 0 "in sweep [123] of run 1 .*ended on iterations" on $ranks $limited --iters=3 --overwrite
  # shellcheck disable=SC2086
  expect 0 "in sweep [123] of run 1 .*ended on iterations" on $ranks $limited --iters=3 --resume
  grep -q 'stays so' err && fail "the same --iters is told as longer" || pass
  # shellcheck disable=SC2086
  expect 0 "warning: limited.h5: run 1, the best so far, ended on --iters=3 and stays so: only run [23] and later ones go on" on $ranks $limited \
    --iters=30 --resume
done
alone 3 "a run with other options" complete heavy.tns --rank=6 --reg=3,1 --iters=40 --tol=0 --patience=6 \
  --test=heavy.tns --checkpoint=ck.h5 --resume --nowrite -q
alone 3 "metric rmse" cpd heavy.tns --rank=7 --checkpoint=ck.h5 --resume --nowrite -q

# --- real ratings ----------------------------------------------------------------------------------------
if test -n "$data" && test -f "$data/ml-small.tns.gz"; then
  gzip -dc "$data/ml-small.tns.gz" | awk '{
      h = ((NR - 1) * 2654435761 % 4294967296) / 4294967296
      print >(h < 0.1 ? "ml.test.tns" : h < 0.2 ? "ml.validate.tns" : "ml.train.tns")
    }'
  expect 0 "" on 2 complete ml.train.tns --rank=8 --reg=2 --iters=12 --validate=ml.validate.tns \
    --test=ml.test.tns --json=ml.json --nowrite -q
  awk -v x="$(part test rmse ml.json)" 'BEGIN { exit !(x < 0.862) }' && pass ||
    fail "ml-small: $(part test rmse ml.json)" # biases alone: 0.867
else
  echo "skipped: no ml-small.tns.gz"
fi
# What was added up is told; what was averaged is not.
printf '1 1 1 4\n1 2 1 3\n2 1 2 5\n1 1 1 5\n2 2 2 1\n' >again.tns
expect 0 "" "$amped" convert again.tns summed.h5 -q
expect 0 "" "$amped" convert again.tns averaged.h5 -q --duplicates=mean
expect 0 "warning: summed.h5: values at repeated coordinates were added up" \
  on 2 complete summed.h5 --rank=1 --reg=1 --iters=2 --holdout=0 --nowrite
expect 0 "" on 2 complete averaged.h5 --rank=1 --reg=1 --iters=2 --holdout=0 --nowrite
grep -q "added up" err && fail "an average is told as a sum" || pass

finish
