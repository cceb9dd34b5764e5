#!/bin/sh
# stream: batch after batch against numpy, in double; histories of the first fit; ranks agree; the same bits
# twice, in one run or in several, and where a run was killed; what a batch may be; signals; refusals.
. "$(dirname "$0")/../lib/lib.sh"
python=$(find_python)
script=$(cd "$(dirname "$0")" && pwd)/stream_reference.py
cd "$scratch" || exit 99

# alone STATUS PATTERN ARGUMENT...: expect, without mpirun, which waits for seconds after a failure.
alone() {
  want=$1 pattern=$2
  shift 2
  expect "$want" "$pattern" "$amped" "$@" --backend="$backend"
}

# A model of users, items and days; users and items come as days go by. first.tns has six days, day7.tns
# ... day12.tns one each, of which 9 has entries of days before; wide.tns has a new index in no mode;
# crowd.tns a day of many entries, which ranks share.
awk 'function random() { seed = (seed * 16807) % 2147483647; return seed / 2147483647 }
  function entry(file, i, j, k) {
    if (seen[i, j, k]++) return
    x = 3 + a[i] * b[j] * (1 + 0.1 * c[k]) + 0.5 * a[i] + 0.3 * b[j]
    printf "%d %d %d %.4f\n", i, j, k, x + 0.1 * (random() - 0.5) >file
  }
  BEGIN {
    seed = 5
    for (i = 1; i <= 400; i++) { a[i] = 2 * random() - 1; b[i] = 2 * random() - 1; c[i] = 2 * random() - 1 }
    for (k = 1; k <= 12; k++)
      for (n = 0; n < 150; n++)
        entry(k <= 6 ? "first.tns" : "day" k ".tns", 1 + int((20 + 5 * k) * random()),
              1 + int((15 + 3 * k) * random()), k == 9 && n % 3 == 0 ? 1 + int(6 * random()) : k)
    for (n = 0; n < 200; n++)
      entry("wide.tns", 1 + int(50 * random()), 1 + int(30 * random()), 1 + int(6 * random()))
    for (n = 0; n < 6000; n++)
      entry("crowd.tns", 1 + int(400 * random()), 1 + int(300 * random()), 13)
  }'
days="day7.tns day8.tns day9.tns day10.tns day11.tns day12.tns"

begin_state() { # begin_state STATE OPTION...
  state=$1
  shift
  expect 0 'state: .*, for amped_mpi stream' on 1 complete first.tns --rank=3 --reg=0.5 --iters=6 --tol=0 \
    --precision=double -o first.h5 --overwrite --state="$state" "$@"
}
# fresh STATE: a copy of it, without a journal.
fresh() {
  rm -f live.state live.state.*
  cp "$1" live.state
}

# --- against numpy ------------------------------------------------------------------------------------
against_numpy() { # against_numpy STATE RANKS SWEEPS FORGET GROWING "BATCH..." OPTION...
  begun=$1 n=$2 sweeps=$3 forget=$4 growing=$5 batches=$6
  shift 6
  fresh "$begun"
  # shellcheck disable=SC2086
  expect 0 "" on "$n" stream live.state ${input:-$batches} --sweeps="$sweeps" --forget="$forget" -o r.h5 \
    --json=r.json --overwrite "$@"
  # shellcheck disable=SC2086
  if "$python" "$script" "$begun" first.tns r.json r.h5 "$sweeps" "$forget" "$growing" 1e-9 $batches \
    >reference.txt 2>&1; then
    pass
  else
    fail "numpy, $begun on $n ranks, $batches: $(tail -1 reference.txt)"
  fi
}
begin_state full.state --holdout=10% --split-seed=3
begin_state none.state --holdout=0 --bias=none --reg-power=1 --seed=7
begin_state mean.state --holdout=5% --bias=mean --context=3 --reg-power=0 --reg=2
begin_state model.state --holdout=10% --split-seed=3 --history=model
begin_state plain.state --holdout=0 --bias=none --reg-power=1 --seed=7 --history=model
begin_state published.state --holdout=8% --split-seed=3 --bias=none --history=published
if test -n "$python"; then
  for n in $(few 2 1 3 2 4); do
    against_numpy published.state $n 3 1 auto "$days"
  done
  against_numpy published.state 3 2 0.7 auto "day9.tns wide.tns day12.tns day7.tns crowd.tns"
  awk '{ $4 += 0.25; print }' first.tns >inside.tns
  against_numpy published.state 2 1 0.9 auto "inside.tns day8.tns" # of the first nothing is learnt
  same "a line that known entries are learnt" "$(grep -c 'learnt like others\|learnt twice' out err)" "out:0
err:0"
  for n in $(few 2 1 3 2 4); do
    against_numpy full.state $n 3 1 auto "$days"
    against_numpy model.state $n 3 1 auto "$days"
  done
  against_numpy model.state 2 2 0.8 auto "day9.tns wide.tns day12.tns day7.tns"
  against_numpy model.state 4 3 0.8 auto "crowd.tns day7.tns"
  against_numpy plain.state 3 3 0.5 auto "$days"
  against_numpy plain.state 1 1 1 auto "wide.tns crowd.tns"
  against_numpy full.state 1 1 0.6 auto "day7.tns day8.tns day9.tns"
  against_numpy full.state 2 2 0.9 auto "day9.tns wide.tns day12.tns day7.tns" # late, and within the old box
  against_numpy none.state 3 3 0.5 auto "$days"
  against_numpy mean.state 2 3 1 auto "day8.tns wide.tns day7.tns"
  against_numpy full.state 4 3 0.8 auto "crowd.tns day7.tns"
  # Modes in a random order, of which the JSON lines tell; it is another one in each sweep.
  for begun in full.state published.state model.state; do
    against_numpy $begun 2 3 0.9 auto "day7.tns day8.tns day9.tns" --order=random
    orders=$("$python" -c 'import json
lines = [json.loads(x) for x in open("r.json")]
orders = [o for x in lines if x["event"] == "batch" for o in x["orders"]]
print(len(orders), len(set(map(tuple, orders))) > 2, all(sorted(o) == [0, 1, 2] for o in orders))')
    same "orders of $begun" "$orders" "9 True True"
    cp r.json orders.json
    against_numpy $begun 1 3 0.9 auto "day7.tns day8.tns day9.tns" --order=random
    same "orders on one rank" "$(grep -o '"orders":[^}]*]]' r.json)" "$(grep -o '"orders":[^}]*]]' orders.json)"
  done
  # Cut from one input: along days, two at a time; by boxes, of which the second has no new day.
  cat first.tns day7.tns day8.tns day10.tns >all.tns
  cat day7.tns day8.tns >two.tns
  input="all.tns --by=3 --batch=2"
  against_numpy full.state 2 3 1 3 "two.tns day10.tns"
  input="all.tns --by=3"
  against_numpy full.state 1 3 0.9 3 "day7.tns day8.tns day10.tns"
  for box in 1 2 3; do
    awk -v box=$box -v i="$(awk '$1 > n { n = $1 } END { print n }' first.tns)" \
      -v j="$(awk '$2 > n { n = $2 } END { print n }' first.tns)" '{
        of = 0
        while ($1 > i + of * 10 || $2 > j + of * 5 || $3 > 6 + of * 2) of++
        if (of == box) print
      }' all.tns >box$box.tns
  done
  input="all.tns --boxes=$(awk '$1 > i { i = $1 } $2 > j { j = $2 } END { print i "x" j }' \
    first.tns)x6,+10x5x2"
  boxes=
  for box in 1 2 3; do
    test -s box$box.tns && boxes="$boxes box$box.tns"
  done
  against_numpy full.state 3 3 1 auto "$boxes"
  input=
else
  echo "skipped: no python3 with numpy and h5py"
fi

# --- bits ---------------------------------------------------------------------------------------------
# What a result holds, but for names and times of the run.
model_of() { "$amped" convert "$1" model.csv --overwrite -q && cat model.csv; }
same_bits() { # same_bits WHAT
  if cmp -s want.csv got.csv; then pass; else fail "$1: other bits"; fi
}
bits_of() { # bits_of STATE RANKS OPTION...: in one run, twice, and in six
  begun=$1 n=$2
  shift 2
  fresh "$begun"
  # shellcheck disable=SC2086
  expect 0 'learnt 6 batches' on $n stream live.state $days --forget=0.9 "$@" -o r.h5 --overwrite
  model_of r.h5 >want.csv
  fresh "$begun"
  # shellcheck disable=SC2086
  expect 0 'learnt 6 batches' on $n stream live.state $days --forget=0.9 "$@" -o r.h5 --overwrite
  model_of r.h5 >got.csv
  same_bits "$begun twice on $n ranks"
  fresh "$begun"
  for day in $days; do
    expect 0 'learnt 1 batch;' on $n stream live.state "$day" --forget=0.9 "$@" --json=one.json --overwrite
  done
  expect 0 'learnt 0 batches' on $n stream live.state -o r.h5 --overwrite
  model_of r.h5 >got.csv
  same_bits "$begun, six runs on $n ranks"
}
bits_of full.state 2 --order=random
for n in 1 3; do
  bits_of full.state $n
  bits_of published.state $n
  bits_of model.state $n
done

# A published history has the same bits on any number of threads; its cores share rows and entries.
for threads in 1 2 5; do
  fresh published.state
  # shellcheck disable=SC2086
  alone 0 'learnt 7 batches' stream live.state $days crowd.tns --threads=$threads -o r.h5 --overwrite
  model_of r.h5 >got.csv
  test $threads = 1 && cp got.csv want.csv
  same_bits "published, $threads threads"
done

# --- killed, and stopped ------------------------------------------------------------------------------
# Batches enough that the stream is killed among them; if it is not, nothing is lost but the test.
many=
for copy in 1 2 3 4 5 6 7 8; do
  for day in $days; do
    awk -v n="$copy" '{ $4 += n / 100; print }' "$day" >"$copy$day"
    many="$many $copy$day"
  done
done
killed() { # killed STATE BATCH: a stream of many batches behind this one; it goes on to the bits of want.csv
  fresh "$1"
  rm -f live.json
  # shellcheck disable=SC2086
  "$amped" stream live.state $many --forget=0.9 --json=live.json --backend="$backend" >out.txt 2>&1 &
  until_true $! grep -q "\"batch\":$2," live.json && kill -9 $! 2>/dev/null
  wait $! 2>/dev/null
  resume "$1, killed behind batch $2"
}
fresh full.state
# shellcheck disable=SC2086
alone 0 'learnt 48 batches' stream live.state $many --forget=0.9 -o r.h5 --overwrite
model_of r.h5 >want.csv
resume() { # resume WHAT
  # shellcheck disable=SC2086
  alone 0 'was learnt before' stream live.state $many --forget=0.9 -o r.h5 --overwrite
  model_of r.h5 >got.csv
  same_bits "$1"
}
for n in 2 9 30; do
  killed full.state $n
done
fresh full.state
# shellcheck disable=SC2086
begin 1 '"batch":4,' stream live.state $many --forget=0.9 --overwrite
stop_by USR1
same "exit status after a signal" "$status" 85
resume "stopped by a signal"
fresh published.state
# shellcheck disable=SC2086
alone 0 'learnt 48 batches' stream live.state $many --forget=0.9 -o r.h5 --overwrite
model_of r.h5 >want.csv
killed published.state 9
fresh model.state
# shellcheck disable=SC2086
alone 0 'learnt 48 batches' stream live.state $many --forget=0.9 -o r.h5 --overwrite
model_of r.h5 >want.csv
killed model.state 9

# --- a published history --------------------------------------------------------------------------------
fresh published.state
expect 0 'history      published, 0 numbers a row' "$amped" info live.state
alone 0 'wide.tns: [0-9]* entries within the old dimensions are dropped' stream live.state day12.tns wide.tns
expect 0 '' "$amped" info live.state --verify

# --- a model history ------------------------------------------------------------------------------------
fresh model.state
expect 0 'history      model, 1 number a row' "$amped" info live.state
alone 0 'learnt 2 batches' stream live.state day12.tns wide.tns
expect 0 '' "$amped" info live.state --verify
awk '{ $4 = 2; print }' first.tns >twos.tns
begin_state twice.state --holdout=0 --history=model --weights=twos.tns
if test -n "$python"; then
  expect 0 "" "$python" -c "import h5py
f = h5py.File('twice.state')
assert all(f[f'history/{m}'][:].sum() == f[f'sums/{m}'][-1, -1] == 2 * f.attrs['nnz'] for m in range(3))"
fi
begin_state positive.state --holdout=0 --bias=none --nonnegative --history=model
fresh positive.state
# shellcheck disable=SC2086
alone 0 "learnt 6 batches" stream live.state $days -o r.h5 --overwrite
same "negative numbers" "$(model_of r.h5 | awk -F, '$1 ~ /^[0-9]+$/ && $NF < 0' | wc -l)" 0

# --- rows that the state has, and that have learnt nothing, learn -------------------------------------------

box() { # box FIRST LAST: the cells of a model of one component
  awk -v a="$1" -v z="$2" 'BEGIN { for (i = a; i <= z; i++) for (j = a; j <= z; j++) for (k = a; k <= z; k++)
    if ((i + j + k) % 2 == 0) print i, j, k, (1 + i % 3) * (2 - j % 2) * (1 + k % 4) }'
}
{ box 1 8 && echo "20 20 20 4"; } > corner.tns
{ box 10 17 && echo "20 20 20 4"; } > middle.tns
alone 0 'sweep' complete corner.tns --rank=2 --bias=none --reg=0.1 --state=corner.state --nowrite
alone 0 'learnt 1 batch;' stream corner.state middle.tns --json=r.json --sweeps=9 --overwrite
if test -n "$python"; then
  "$python" - <<'PY' || fail "rows at their prior did not learn"
import json, sys
batch = [e for e in map(json.loads, open("r.json")) if e["event"] == "batch"][0]
sys.exit(not batch["after"]["rmse"] < 0.1 * batch["before"]["rmse"])
PY
fi

# --- what changes is forgotten: users whose taste turns are forecast better -----------------------------
awk 'function random() { seed = (seed * 16807) % 2147483647; return seed / 2147483647 }
  BEGIN {
    seed = 11
    for (i = 1; i <= 30; i++) { a[i] = 6.28 * random(); b[i] = 6.28 * random() }
    for (k = 1; k <= 24; k++)
      for (n = 0; n < 400; n++) {
        i = 1 + int(30 * random()); j = 1 + int(30 * random())
        if (!seen[i, j, k]++)
          printf "%d %d %d %.4f\n", i, j, k, cos(a[i] + 0.15 * k - b[j]) >(k <= 6 ? "still.tns" : "turning.tns")
      }
  }'
cat still.tns turning.tns >turn.tns
alone 0 '' complete still.tns --rank=2 --bias=none --context=none --reg=0.5 --reg-power=0 --holdout=0 \
  --state=still.state --nowrite
for forget in 1 0.5; do
  fresh still.state
  alone 0 'learnt 18 batches' stream live.state turn.tns --by=3 --forget=$forget --json=$forget.json
done
# Its last line but one: the last batch.
forecast() { tail -2 "$1" | head -1 | sed 's/.*"before":{"count":[0-9]*,"rmse":\([^,]*\),.*/\1/' | head -1; }
if awk -v a="$(forecast 1.json)" -v b="$(forecast 0.5.json)" 'BEGIN { exit !(b > 0 && b < 0.7 * a) }'; then
  pass
else
  fail "forecasts: $(forecast 1.json) without forgetting, $(forecast 0.5.json) with"
fi


# --- a batch comes once -------------------------------------------------------------------------------
fresh full.state
expect 0 'day7.tns was learnt before, as batch 2' on 2 stream live.state day7.tns day7.tns --json=r.json
same "batches skipped" "$(field skipped r.json)" 1
if awk -v sweep="$(sed -n 's/.*"sweep_seconds":\([^,]*\),.*/\1/p' r.json)" \
  -v all="$(sed -n 's/.*"seconds":\([^,]*\),"seconds_of.*/\1/p' r.json)" 'BEGIN { exit !(sweep > 0 && 3 * sweep <= all) }'; then
  pass
else
  fail "seconds of a sweep"
fi
cp day7.tns other.tns
alone 0 'other.tns was learnt before, as batch 2 (day7.tns)' stream live.state other.tns

# --- repeated cells of a batch: as the first fit had them ------------------------------------------------
{ cat first.tns; head -1 first.tns; } >repeated.tns
{ cat day7.tns; awk 'NR <= 5 { $4 += 1; print }' day7.tns; } >twice.tns
awk 'NR <= 5 { $4 += 0.5 } { print }' day7.tns >averaged.tns
awk 'NR <= 5 { $4 += 1 } { print }' day7.tns >replaced.tns
expect 0 '' "$amped" convert repeated.tns repeated.h5 --duplicates=mean --overwrite
# rule STATE WANT BATCH OPTION...: after this batch the model is that after the batch WANT.
rule() {
  begun=$1 want=$2 given=$3
  shift 3
  fresh "$begun"
  alone 0 'learnt 1 batch;' stream live.state "$want" -o r.h5 --overwrite
  model_of r.h5 >want.csv
  fresh "$begun"
  # shellcheck disable=SC2086
  alone 0 'learnt 1 batch;' stream live.state $given -o r.h5 --overwrite "$@"
  model_of r.h5 >got.csv
  same_bits "$begun, $given $*"
}
for input in repeated.tns repeated.h5; do
  option=
  test $input = repeated.tns && option=--duplicates=mean
  # shellcheck disable=SC2086
  alone 0 '' complete $input --rank=2 --reg=0.5 --holdout=0 --iters=2 --nowrite --state=mean2.state --overwrite \
    --precision=double $option
  expect 0 'duplicates   mean' "$amped" info mean2.state
  rule mean2.state averaged.tns twice.tns
  rule mean2.state replaced.tns twice.tns --duplicates=last
done
fresh mean2.state
alone 0 'duplicates=last applies to the batches of this run; the first fit had mean' stream live.state day8.tns \
  --duplicates=last

# --- a batch without entries is passed over, as text, table or HDF5 ---------------------------------------
echo "# nothing" >empty.tns
echo "user,film,month,stars" >empty.csv
empty="empty.tns empty.csv"
if test -n "$python"; then
  "$python" - <<'PY'
import json

import h5py
import numpy

with h5py.File("empty.h5", "w") as f:
    for m in range(3):
        f["indices_%d" % m] = numpy.zeros(0, "uint64")
    f["values"] = numpy.zeros(0, "float32")
    level = {"level_desc": "sparse", "rank": 3, "level": {"level_desc": "element"}}
    types = {"indices_0": "uint64", "indices_1": "uint64", "indices_2": "uint64", "values": "float32"}
    f.attrs["binsparse"] = json.dumps({"binsparse": {
        "version": "0.1", "format": "custom", "shape": [4, 4, 4], "number_of_stored_values": 0,
        "custom": {"level": level}, "data_types": types}})
PY
  empty="$empty empty.h5"
  alone 3 'empty.h5: has no nonzeros' complete empty.h5 --rank=2 --nowrite
fi
for file in $empty; do
  fresh full.state
  expect 0 "$file: has no entries; it is passed over" on 2 stream live.state $file day7.tns
  same "batches after $file" "$("$amped" info live.state | sed -n 's/^batches *\([0-9]*\),.*/\1/p')" 2
done

# --- labels -------------------------------------------------------------------------------------------
awk 'BEGIN { print "user,film,month,stars" } { print "u" $1 ",f" $2 ",2024-" $3 + 10 "," $4 }' first.tns >first.csv
for day in 7 8; do
  awk 'BEGIN { print "user,film,month,stars" } { print "u" $1 ",f" $2 ",2024-" $3 + 10 "," $4 }' day$day.tns \
    >day$day.csv
done
cat first.csv >all.csv
tail -n +2 day7.csv >>all.csv
tail -n +2 day8.csv >>all.csv
expect 0 '' "$amped" complete first.csv --value=stars --rank=3 --reg=0.5 --holdout=0 --nowrite \
  --state=labels.state --backend="$backend"
fresh labels.state
expect 0 'learnt 2 batches' on 2 stream live.state day7.csv day8.csv --value=stars -o r.h5 --overwrite
expect 0 'rmse' "$amped" predict r.h5 day8.csv --value=stars
expect 0 '2024-18' "$amped" top r.h5 -n 10
same "labels of the model" "$("$amped" convert r.h5 model.csv --overwrite -q && grep -c '^1,month,' model.csv)" 8
model_of r.h5 | sort >want.csv
fresh labels.state
expect 0 'learnt 2 batches' on 2 stream live.state all.csv --value=stars --by=month -o r.h5 --overwrite
expect 0 'learnt 0 batches, 2 skipped' on 2 stream live.state all.csv --value=stars --by=month
expect 0 '2024-18' "$amped" top r.h5 -n 10
alone 3 '' stream live.state day9.tns             # indices, where the state has labels
alone 3 '' stream live.state first.h5             # no tensor
alone 2 '' stream live.state all.csv --value=stars --by=year
awk '{ print $1, $2, $3, 1, $4 }' day9.tns >order.tns
fresh full.state
alone 3 '' stream live.state order.tns            # of another order

# --- a folder -----------------------------------------------------------------------------------------
mkdir in
fresh full.state
# shellcheck disable=SC2086
expect 0 'learnt 3 batches' on 1 stream live.state day7.tns day8.tns day9.tns -o r.h5 --overwrite
model_of r.h5 >want.csv
fresh full.state
cp day7.tns in/1.tns
cp day8.tns in/2.tns.part
begin 1 '"batch":2,' stream live.state --follow=in -o r.h5 --overwrite
mv in/2.tns.part in/2.tns
until_true "$launcher" grep -q '"batch":3,' live.json && pass || fail "the second file of the folder"
cp day9.tns in/.3.tns
mv in/.3.tns in/3.tns
until_true "$launcher" grep -q '"batch":4,' live.json && pass || fail "the third file of the folder"
stop_by USR1
same "exit status of --follow" "$status" 85
model_of r.h5 >got.csv
same_bits "a folder"

# --- a batch that fails leaves the state of the one before ---------------------------------------------
expect 0 '' "$amped" complete first.tns --rank=3 --reg=0.5 --holdout=0 --nowrite --state=float.state \
  --backend="$backend"
fresh float.state
awk 'NR == 3 { $4 = "1e30" } { print }' day7.tns >huge.tns
for n in 1 2; do
  expect 1 'overflow in float; look for values' on $n stream live.state huge.tns day8.tns
  expect 3 '' on $n stream live.state no.tns day8.tns
done
alone 0 'learnt 1 batch;' stream live.state day7.tns -o r.h5 --overwrite
model_of r.h5 >got.csv
fresh float.state
alone 0 'learnt 1 batch;' stream live.state day7.tns -o r.h5 --overwrite
model_of r.h5 >want.csv
same_bits "after a batch that failed"

# --- the model, the plan, refusals ---------------------------------------------------------------------
fresh full.state
alone 0 'memory: .* of rows a rank at most' stream live.state --plan --json=r.json
same "batches of the state" "$(field batches r.json)" 1
alone 0 'result: r.h5' stream live.state -o r.h5 --overwrite
expect 0 'rmse' "$amped" predict r.h5 first.tns
alone 0 'clipped' stream live.state day7.tns --clip=2:4 --json=-
# Sums of errors are of one range: with another, that of clipped ones is unknown.
fresh full.state
alone 0 'rmse .* before (.* clipped)' stream live.state day7.tns --clip=2:4
expect 0 "clipped to 2 ... 4" "$amped" info live.state --json=clip.json --overwrite
grep -q '"clipped_rmse":[0-9]' clip.json && pass || fail "no clipped error"
alone 0 'before (.* clipped)' stream live.state day8.tns --clip=1:5
expect 0 "" "$amped" info live.state --json=clip.json --overwrite
same "sums of two ranges" "$(grep -o '"clipped_rmse":[^,}]*' clip.json | sort -u)" '"clipped_rmse":null'
alone 2 'a batch is missing' stream live.state
alone 2 'two ways to cut INPUT' stream live.state day8.tns --by=3 --boxes=1x1x1,+1x1x1
alone 2 'cut one INPUT' stream live.state day8.tns day9.tns --by=3
alone 2 '--batch counts indices of --by' stream live.state day8.tns --batch=2
alone 2 '--follow takes batches from its folder' stream live.state day8.tns --follow=.
alone 2 'a number from 1e-06 to 1' stream live.state day8.tns --forget=0
alone 2 'the range of later batches is unknown' stream live.state day8.tns --clip=data
alone 2 'has --forget=1 since its first batch' stream live.state day8.tns --forget=0.5
alone 2 'is an input of this run' stream live.state day8.tns --json=live.state
alone 3 'cannot be opened' stream no.state day8.tns
alone 3 '' stream first.h5 day8.tns
alone 2 '--state holds one model' complete first.tns --rank=2,3 --state=x.state
alone 2 'has no biases; add --bias=none' complete first.tns --state=x.state --history=published
alone 2 'leave out --nonnegative' complete first.tns --state=x.state --history=published --bias=none \
  --nonnegative
alone 2 'leave out --context' complete first.tns --state=x.state --history=published --bias=none --context=3
alone 2 'add --state=FILE' complete first.tns --history=published --bias=none
# Entries in new rows of every mode: a published update would make these rows zero.
printf 'u,i,w,v\na,x,1,3\na,y,2,4\nb,x,2,2\nb,y,1,5\nc,x,1,3\n' >old.csv
printf 'u,i,w,v\nd,z,3,3\ne,z,4,4\n' >apart.csv
printf 'u,i,w,v\nd,z,3,3\na,z,4,4\n' >joined.csv
alone 0 '' complete old.csv --value=v --rank=1 --reg=0.1 --holdout=0 --bias=none --history=published --state=old.state --nowrite -q
alone 3 'apart.csv: none of its entries has a label or an index that the model has learnt' stream old.state apart.csv --value=v -q
expect 3 'none of its entries has a label' on 2 stream old.state apart.csv --value=v -q
alone 0 '' stream old.state joined.csv --value=v -q
alone 2 'a batch cannot say which cells have none' complete first.tns --implicit=2 --state=x.state
alone 2 'is named for two outputs' complete first.tns --state=x.h5 -o x.h5
alone 2 'is named for two outputs' stream x.state first.tns -o x.h5 --json=./x.h5
alone 2 'is an input of this run' complete first.tns --state=first.tns
alone 1 '--overwrite' complete first.tns --reg=1 --rank=2 --iters=1 --nowrite --state=full.state
absent x.state x.h5

# A row that only a header declares is none that new rows copy, whatever the history.
{ echo "# dims: 4 4 5" && awk 'BEGIN { for (i = 1; i <= 4; i++) for (j = 1; j <= 4; j++) for (k = 1; k <= 4; k++) print i, j, k, i + j * k }'; } >declared.tns
awk 'BEGIN { for (i = 1; i <= 4; i++) for (j = 1; j <= 4; j++) print i, j, 6, i + j * 6 }' >sixth.tns
awk 'BEGIN { for (i = 1; i <= 4; i++) for (j = 1; j <= 4; j++) print i, j, 5, i + j * 5 }' >fifth.tns
for history in equations published; do
  expect 0 "" on 1 complete declared.tns --rank=2 --reg=0.1 --bias=none --history=$history --state=declared.$history --nowrite -q
  cp declared.$history other.$history
  expect 0 "new rows of mode 3 begin as copies of 4" on 2 stream declared.$history sixth.tns
  expect 0 "" on 2 stream other.$history fifth.tns sixth.tns --json=other.json
done
expect 0 "" cat other.json
# One entry of 1e9 with a new index does not hide the error at entries of known rows: these are summed alone.
awk 'BEGIN { srand(5); for (i = 1; i <= 9; i++) for (j = 1; j <= 7; j++) for (k = 1; k <= 5; k++) if (rand() < 0.6)
  print i, j, k, sprintf("%.3f", (1 + i / 9) * (2 - j / 7) * (1 + k * k / 25)) >(k < 5 ? "early.tns" : "late.tns") }'
sed '$a 10 1 5 1e9' late.tns >mixed.tns
for history in equations published; do
  expect 0 "" on 1 complete early.tns --rank=2 --reg=0.1 --bias=none --history=$history --state=known.$history --nowrite -q
  for batch in late mixed; do
    cp known.$history one.state
    rm -f one.state.*
    expect 0 "" "$amped" stream one.state $batch.tns --json=$batch.json -q
  done
  known=$(sed -n 's/.*"before_known":{"count":[0-9]*,"rmse":\([^,]*\),.*/\1/p' mixed.json)
  close "known rows beside an outlier, $history" "$known" "$(sed -n 's/.*"before":{"count":[0-9]*,"rmse":\([^,]*\),.*/\1/p' late.json)" 1e-6
done
finish
