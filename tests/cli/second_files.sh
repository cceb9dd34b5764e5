#!/bin/sh
# Second files of another format than INPUT: each option for reading applies to the files of its format.
. "$(dirname "$0")/../lib/lib.sh"
cd "$scratch" || exit 99

# The same cells to test in three formats; indices count labels of in.csv in order of appearance.
awk 'BEGIN { for (u = 1; u <= 10; u++) for (i = 1; i <= 8; i++) for (w = 1; w <= 4; w++) {
  kind = (u * 31 + i * 17 + w * 7) % 5; s = 1 + (u * i + w) % 5
  if (kind < 3) print "u" u ",i" i ",w" w "," s >"in.rows"
  if (kind < 3) { if (!(u in a)) a[u] = ++na; if (!(i in b)) b[i] = ++nb; if (!(w in c)) c[w] = ++nc }
  if (kind == 3) { print "u" u "\ti" i "\tw" w "\t" s >"test.tsv"; test[++nt] = u " " i " " w " " s } }
  for (k = 1; k <= nt; k++) { split(test[k], f, " "); print a[f[1]], b[f[2]], c[f[3]], f[4] >"test.tns" } }'
{ echo user,item,week,stars && cat in.rows; } >in.csv
expect 0 "" "$amped" convert in.csv in.h5 --value=stars -q
# tested ARGUMENTS...: the line of the errors on test entries.
tested() { on 2 complete "$@" --rank=1 --reg=1 --iters=3 --nowrite 2>/dev/null | grep '^test:'; }
errors=$(tested in.h5 --test=test.tsv --no-header --value=4)
same "test entries" "$(echo "$errors" | grep -c 'on 64 entries')" 1
same "HDF5 beside a table, by its format" "$(tested in.h5 --test=test.tsv --format=tsv --no-header --value=4 --separator=tab)" "$errors"
cp test.tsv test.data
same "a table of another name" "$(tested in.h5 --test=test.data --format=tsv --no-header --value=4)" "$errors"
same "a table beside text" "$(tested in.csv --value=stars --test=test.tns)" "$errors"
same "options for text beside a table" \
  "$(tested in.csv --value=stars --test=test.tns --index-base=1 --header=none)" "$errors"
expect 0 "test.tns: mode 1 (user): by index, because test.tns has no labels" on 1 complete in.csv --value=stars \
  --test=test.tns --rank=1 --reg=1 --iters=1 --nowrite
# Indices and labels that are numbers could be either, unless every label is the number of its index.
sed 's/[uiw]//g; 1d' in.csv >numbers.csv
expect 3 "test.tns: has only indices in mode [0-9], but numbers.csv has labels that are numbers, .*; name a table" \
  on 1 complete numbers.csv --no-header --keys=1,2,3 --value=4 --test=test.tns --rank=1 --nowrite
# Options that apply to none of the files are refused.
expect 2 "in.h5: --value is for tables" "$amped" complete in.h5 --value=stars --rank=1 --nowrite
expect 2 "in.csv: --index-base is for text" "$amped" complete in.csv --value=stars --index-base=1 --test=test.tsv --rank=1 --nowrite
expect 2 "in.h5: --format is for text and tables; leave it out" "$amped" in.h5 --format=csv --rank=1 --nowrite
expect 2 "in.h5: --format is for text and tables; leave it out" "$amped" info in.h5 --format=tsv

# --- evaluate and stream ------------------------------------------------------------------------------
expect 0 "" on 1 complete in.h5 --rank=1 --reg=1 --iters=3 --holdout=0 -o m.h5 --state=m.state -q
{ printf 'user\titem\tweek\tstars\n' && cat test.tsv; } >named.tsv
expect 0 "" "$amped" convert named.tsv test.h5 --value=stars -q
ranks() { "$amped" evaluate m.h5 "$@" --of=item 2>/dev/null | grep '^MRR'; }
same "cells in HDF5, a table to exclude" "$(ranks test.h5 --exclude=in.csv --value=stars)" "$(ranks test.h5 --exclude=in.h5)"
same "cells in a table, HDF5 to exclude" "$(ranks named.tsv --exclude=in.h5 --value=stars)" "$(ranks test.h5 --exclude=in.h5)"
same "cells in text, a table to exclude" "$(ranks test.tns --exclude=in.csv --value=stars)" "$(ranks test.h5 --exclude=in.h5)"
same "cells to rank" "$(ranks test.h5 --exclude=in.h5 | grep -c MRR)" 1
expect 2 "test.h5: --value is for tables" "$amped" evaluate m.h5 test.h5 --value=stars --of=item
expect 0 "" on 1 stream m.state test.tsv test.h5 --no-header --value=4 -q
expect 2 "in.h5: --value is for tables" on 1 stream m.state in.h5 --value=4

# --- tables without a header, read as if they had one -------------------------------------------------
# Their first row is an entry, and would be lost: it has labels that the model knows.
cut -d, -f1-3 in.rows | head -n 3 >rows.csv
lost="is taken for the header, but u1 is a label of"
expect 0 "" on 1 complete in.rows --format=csv --no-header --keys=1,2,3 --value=4 --rank=1 --reg=1 --iters=3 --holdout=0 \
  -o plain.h5 --state=plain.state -q
expect 0 "" "$amped" convert in.rows plain-in.h5 --format=csv --no-header --keys=1,2,3 --value=4 -q
for model in m plain; do
  expect 3 "rows.csv: its first row $lost $model.h5; .*--no-header" "$amped" predict $model.h5 rows.csv -o -
  expect 3 "rows.csv: its first row $lost $model.h5; .*--no-header" "$amped" evaluate $model.h5 rows.csv --of=3
  expect 3 "rows.csv: its first row $lost $model.h5; .*--no-header" "$amped" recommend $model.h5 --for=1 --of=2 --exclude=rows.csv
  expect 3 "rows.csv: its first row $lost $model.state; .*--no-header" on 2 stream $model.state rows.csv
  expect 0 "3 cells of rows.csv" "$amped" predict $model.h5 rows.csv --no-header -o -
done
for file in in plain-in; do
  expect 3 "rows.csv: its first row $lost $file.h5; .*--no-header" on 2 complete $file.h5 --test=rows.csv --rank=1 --nowrite
done
# A header of other names is one.
{ echo who,what,when && cat rows.csv; } >other.csv
expect 0 "3 cells of other.csv" "$amped" predict plain.h5 other.csv -o -
expect 0 "3 cells of other.csv" "$amped" predict m.h5 other.csv -o -
# So is one with a label as a name, if the user names the columns; a tensor file has no header.
{ echo u1,what,when,n && cat in.rows; } >named.csv
{ echo u1,what,when,n && tr '\t' , <test.tsv; } >tests.csv
expect 0 "" "$amped" convert named.csv named.h5 --keys=u1,what,when --value=n -q
keys="--keys=u1,what,when --value=n"
for file in named.csv named.h5; do
  expect 3 "named.csv: its first row $lost m.h5" "$amped" predict m.h5 named.csv --value=n -o -
  # shellcheck disable=SC2086
  expect 0 "192 cells of $file" "$amped" predict m.h5 $file $keys -o -
  # shellcheck disable=SC2086
  expect 0 "" on 2 complete in.h5 --weights=$file $keys --rank=1 --reg=1 --iters=1 --holdout=0 --nowrite
  # shellcheck disable=SC2086
  expect 0 "" on 2 stream m.state $file $keys
  keys=
done
expect 3 "tests.csv: its first row $lost in.h5" on 2 complete in.h5 --test=tests.csv --value=n --rank=1 --nowrite
expect 0 "on 64 entries" on 2 complete in.h5 --test=tests.csv --keys=u1,what,when --value=n --rank=1 --reg=1 --iters=1 --nowrite
finish
