#!/bin/sh
# A second table without a column of values: its rows count 1, which is no value of a table of ratings. It is refused
# beside values that are no counts, and a warning comes beside values that may be counts. Events have no such lines. A
# warning comes also with a batch of another unit.
. "$(dirname "$0")/../lib/lib.sh"
cd "$scratch" || exit 99

# ratings.csv has half stars, stars.csv whole ones, counts.csv has mostly 1; new.csv has other cells of each, and keys.csv
# the keys of new.csv.
awk 'BEGIN {
  srand(3)
  head = "user,item,day,v"
  print head >"ratings.csv"
  print head >"stars.csv"
  print head >"counts.csv"
  print head >"new.csv"
  print "user,item,day" >"keys.csv"
  for (u = 0; u < 20; u++) for (i = 0; i < 15; i++) for (d = 0; d < 3; d++) {
    cell = "u" u ",i" i ",d" d
    x = rand()
    if (x < 0.4) {
      v = 1 + (u + i) % 5
      print cell "," v - 0.5 >"ratings.csv"
      print cell "," v >"stars.csv"
      print cell "," (v > 3 ? v : 1) >"counts.csv"
    } else if (x < 0.45) {
      print cell "," 2.5 >"new.csv"
      print cell >"keys.csv"
    }
  }
}'
fit="--rank=1 --reg=0.3 --iters=5"
no_counts='keys.csv: every row counts 1, because no --value names a column, but .* has values that are no counts, such as'
doubt='warning: keys.csv: every row counts 1, because no --value names a column; if values of .* are no counts, name'

for table in ratings stars counts; do
  expect 0 "" "$amped" convert $table.csv $table.h5 --value=v
  expect 0 "" on 1 complete $table.h5 $fit --nowrite --state=$table.state
done

for ranks in 1 3; do
  for option in --test=keys.csv --validate=keys.csv; do
    expect 3 "$no_counts" on $ranks complete ratings.h5 $fit --nowrite $option
    expect 0 "$doubt" on $ranks complete stars.h5 $fit --nowrite $option -q
    expect 0 "" on $ranks complete ratings.h5 $fit --nowrite "${option%keys.csv}new.csv" --value=v
    grep -q 'counts 1' err && fail "$option: a table with values is told as without" || pass
  done

  # The state is as before: the same rows with their values are batch 2.
  expect 3 "$no_counts" on $ranks stream ratings.state keys.csv
  expect 0 "state: 1 batch of" on $ranks stream ratings.state --plan
  rm -f s.state* c.state*
  cp stars.state s.state
  cp counts.state c.state
  expect 0 "$doubt" on $ranks stream s.state keys.csv -q
  expect 0 "" on $ranks stream c.state keys.csv # in a log most counts are 1
  grep -q 'warning: keys.csv: every row' err && fail "a batch of a log is doubted" || pass
done

# The other ways of a batch.
mkdir in
cp keys.csv in/keys.csv
expect 3 "keys.csv: every row counts 1" on 1 stream ratings.state --follow=in
sed "s/,d[0-9]*/,d9/" keys.csv >later.csv
expect 3 "later.csv: every row counts 1" on 1 stream ratings.state later.csv --by=day
expect 0 "batch 2" on 3 stream ratings.state new.csv --value=v

# Events, and a table of which no row has a value.
expect 0 "" on 1 complete stars.h5 --implicit=1 $fit --nowrite --test=keys.csv
grep -q 'no --value names' err && fail "events are doubted" || pass
cut -d, -f1-3 counts.csv >log.csv
expect 0 "" on 1 complete log.csv $fit --nowrite --test=keys.csv --duplicates=keep
grep -q 'no --value names' err && fail "rows of a log beside a log are doubted" || pass

# Values of another unit are learnt, with a warning.
awk -F, -v OFS=, 'NR > 1 { $4 *= 100 } 1' new.csv >cents.csv
for ranks in 1 3; do
  rm -f r.state*
  cp stars.state r.state
  expect 0 'warning: cents.csv: its values are [0-9]*[0-9.]* off the model before they are learnt, and .* spread by 1' on $ranks stream r.state cents.csv \
    --value=v -q
  rm -f r.state*
  cp stars.state r.state
  expect 0 "" on $ranks stream r.state new.csv --value=v
  grep -q 'off the model' err && fail "values of the same unit are far" || pass
done

# Weights.
cut -d, -f1-3 ratings.csv >cells.csv
expect 0 'warning: cells.csv: every row weighs 1, because no --value names a column of weights' on 1 complete ratings.h5 $fit --nowrite \
  --weights=cells.csv
finish
