#!/bin/sh
# Held-out entries: a function of the cell, by its labels or indices, in any order of the rows of the file, of
# its labels, and of batches; on any number of ranks.
. "$(dirname "$0")/../lib/lib.sh"
cd "$scratch" || exit 99

# draw SEED: base.csv and batch.csv of labels, of which batch.csv has the cells of base.csv and new ones;
# ids.tns of indices with gaps.
draw() {
  awk -v seed="$1" 'function random() { seed = (seed * 16807) % 2147483647; return seed / 2147483647 }
    BEGIN {
      print "user,item,week,v" >"base.csv"
      print "user,item,week,v" >"batch.csv"
      for (i = 0; i < 22; i++) for (j = 0; j < 9; j++) for (k = 0; k < 4; k++) {
        if (random() < 0.5) continue
        cell = 3 * i + 2 ",item " (7 * j) % 9 "," k
        known = i < 18 && j < 8
        if (known) print cell "," 3 + random() >"base.csv"
        print cell "," 3 + random() >"batch.csv"
        if (known) print 3 * i + 2, 5 * j + 1, k + 1, 3 + random() >"ids.tns"
      }
    }' || fail "awk"
}
# turned FILE: its rows from the last to the first; a table keeps its header.
turned() {
  case $1 in
    *.csv) head -n 1 "$1" && tail -n +2 "$1" | tac ;;
    *) tac "$1" ;;
  esac
}
by_item() { head -n 1 "$1" && tail -n +2 "$1" | LC_ALL=C sort -t, -k2,2 -k1,1; }

# value_of EVENT FIELD FILE: a number of the last JSON line of that event.
value_of() {
  grep "\"event\": *\"$1\"" "$3" | tail -n 1 >line.json
  field "$2" line.json
}

fit="--rank=2 --reg=1 --iters=2 --tol=0 --holdout=20% --nowrite -q --precision=double --overwrite"
# same_split NAME RANKS INPUT OPTIONS...: as many entries are learnt as before, and their mean is the same.
same_split() {
  name=$1 ranks=$2
  shift 2
  # shellcheck disable=SC2086
  expect 0 "" on "$ranks" complete "$@" $fit --json=run.json
  same "$name: learnt entries" "$(value_of completion train run.json)" "$(value_of completion train first.json)"
  close "$name: mean of learnt entries" "$(value_of completion mean run.json)" "$(value_of completion mean first.json)" 1e-12
}

for seed in $(few 2 7 8 9 10 11); do
  rm -f ./*.h5 ./*.csv ./*.tns
  draw "$seed"
  turned base.csv >turned.csv
  by_item base.csv >sorted.csv
  turned batch.csv >turned-batch.csv
  turned ids.tns >turned.tns
  awk '{ print $1 - 1, $2 - 1, $3 - 1, $4 }' ids.tns >zero.tns

  # shellcheck disable=SC2086
  expect 0 "" on 1 complete base.csv --value=v $fit --json=first.json
  same_split "rows turned" 1 turned.csv --value=v
  same_split "rows by item, 3 ranks" 3 sorted.csv --value=v
  expect 0 "" "$amped" convert sorted.csv labels.h5 --value=v --label-order=sorted -q
  same_split "labels sorted" 1 labels.h5

  # shellcheck disable=SC2086
  expect 0 "" on 1 complete ids.tns $fit --json=first.json
  same_split "lines turned" 3 turned.tns
  same_split "indices from 0" 1 zero.tns --index-base=0
  expect 0 "" "$amped" convert ids.tns compact.h5 --compact -q
  same_split "used indices alone" 1 compact.h5
  expect 0 "" "$amped" convert zero.tns compact0.h5 --compact --index-base=0 -q
  same_split "used indices alone, from 0" 3 compact0.h5

  # A batch holds out again what the first fit held out, and the same in any order.
  for order in base,batch,1 turned,batch,3 base,turned-batch,1; do
    first=${order%%,*} rest=${order#*,}
    batch=${rest%,*} ranks=${rest#*,}
    rm -f s.state*
    # shellcheck disable=SC2086
    expect 0 "" on "$ranks" complete $first.csv --value=v $fit --state=s.state --json=first.json
    held=$(($(tail -n +2 base.csv | wc -l) - $(value_of completion train first.json)))
    awk -F, -v OFS=, 'NR > 1 { $4 += 0.5 } 1' $first.csv >again.csv
    expect 0 "" on "$ranks" stream s.state again.csv --value=v --json=again.json --overwrite -q
    same "seed $seed, $order: entries that are held out again" "$(value_of batch held again.json)" "$held"
    expect 0 "" on "$ranks" stream s.state $batch.csv --value=v --json=batch.json --overwrite -q
    test "$order" = base,batch,1 && wanted=$(value_of batch held batch.json)
    same "seed $seed, $order: entries of the batch that are held out" "$(value_of batch held batch.json)" "$wanted"
  done
done
finish
