#!/bin/sh
# Repeated rows of a second table: each row of --test and --validate counts as it is, events without values are counted. complete,
# predict and stream warn if cells of INPUT were added up, and the others were not.
. "$(dirname "$0")/../lib/lib.sh"
cd "$scratch" || exit 99

# sales.csv and new.csv: amounts, of which a cell has up to four; events.csv and later.csv: their keys. once.csv has one
# amount a cell. total.csv has the sums of new.csv, mean.csv the means and last.csv the last ones.
awk 'BEGIN {
  srand(5)
  head = "customer,item,amount"
  print head >"sales.csv"
  print head >"new.csv"
  print head >"once.csv"
  for (c = 0; c < 30; c++) for (i = 0; i < 20; i++) {
    if (rand() < 0.4) continue
    file = rand() < 0.8 ? "sales.csv" : "new.csv"
    for (n = 1 + int(4 * rand()); n > 0; n--) {
      cell = "c" c ",i" i "," 1 + int(200 * rand()) / 100
      print cell >file
    }
    if (file == "sales.csv") print cell >"once.csv"
  }
}'
for file in sales:events new:later; do
  cut -d, -f1,2 ${file%:*}.csv >${file#*:}.csv
done
awk -F, -v OFS=, 'NR == 1 { print >"total.csv"; print >"mean.csv"; print >"last.csv"; next }
  { k = $1 OFS $2; if (!(k in n)) order[++cells] = k; n[k]++; s[k] += $3; l[k] = $3 }
  END { for (i = 1; i <= cells; i++) { k = order[i]
    print k, s[k] >"total.csv"; printf "%s,%.17g\n", k, s[k] / n[k] >"mean.csv"; print k, l[k] >"last.csv" } }' new.csv
awk -F, -v OFS=, 'NR == 1 { print $1, $2, "amount"; next } { n[$1 OFS $2]++ } END { for (k in n) print k, n[k] }' \
  later.csv >counts.csv
cells=$(($(wc -l <total.csv) - 1))
rows=$(($(wc -l <new.csv) - 1))
test "$cells" -gt 50 && test "$rows" -gt $((cells + 50)) && pass || fail "tables"

fit="--rank=1 --reg=1 --iters=4 --every=1000 --nowrite --threads=1"
# error SET FILE: its rmse and number of entries in the last report.
error() { sed -n "s/^$1: rmse \([0-9.]*\).* on \([0-9]*\) entries.*/\1 \2/p" "$2"; }
# alike SET: two reports have the same error of it, at $cells entries.
alike() {
  same "$1: $2" "$(error "$1" one.out)" "$(error "$1" two.out)"
  same "$1: entries of $2" "$(error "$1" one.out | cut -d' ' -f2)" "$cells"
}

# The rmse of a model of one component, and what the file says of its rows.
for ranks in 1 3; do
  # Each row counts, and a warning says so. A file whose cells were made one is compared with INPUT's: sums, means, last ones.
  for how in : sum:total mean:mean last:last; do
    option=${how%:*}
    rule=${option:-sum}
    option=${option:+--duplicates=$option}
    single=${how#*:}
    single=${single:-total}.csv
    expect 0 "warning: new.csv: cells come several times.*convert new.csv FILE.h5 --duplicates=$rule" on $ranks complete sales.csv \
      --value=amount $fit $option --test=new.csv
    same "$ranks ranks, rows of new.csv" "$(error test out | cut -d' ' -f2)" "$rows"
    "$amped" convert new.csv one.h5 --value=amount --duplicates=$rule -q --overwrite || fail "convert"
    expect 0 "" on $ranks complete sales.csv --value=amount $fit $option --test=one.h5
    if grep -q "come several times" err; then fail "a warning of one.h5"; else pass; fi
    cp out one.out
    expect 0 "" on $ranks complete sales.csv --value=amount $fit $option --test=$single
    cp out two.out
    alike test "$ranks ranks, $single"
  done
  # Events: the count of a cell, also if no row of INPUT is repeated.
  expect 0 "later.csv: .* rows repeat earlier rows and are added to their counts" on $ranks complete events.csv $fit \
    --test=later.csv
  cp out one.out
  awk -F, -v OFS=, 'NR == 1 { print $1, $2, "amount"; next } { n[$1 OFS $2]++; if (n[$1 OFS $2] == 1) o[++c] = $1 OFS $2 }
    END { for (i = 1; i <= c; i++) print o[i], n[o[i]] }' events.csv >summed.csv
  expect 0 "" on $ranks complete summed.csv --value=amount $fit --test=counts.csv
  cp out two.out
  alike test "$ranks ranks, events"
done

# A tensor file has its rule. Nothing is said if no cell of INPUT is repeated.
for rule in sum mean; do
  "$amped" convert sales.csv $rule.h5 --value=amount --duplicates=$rule -q || fail "convert"
  expect 0 "FILE.h5 --duplicates=$rule" on 1 complete $rule.h5 $fit --test=new.csv --value=amount
done
expect 0 "all were kept" on 1 complete once.csv --value=amount $fit --test=new.csv
same "kept rows" "$(error test out | cut -d' ' -f2)" "$rows"
if grep -q "come several times" err; then fail "a warning beside single cells"; else pass; fi

# --implicit ranks a cell once.
expect 0 "" on 1 complete events.csv --implicit=1 --rank=2 --reg=1 --iters=3 --nowrite --test=later.csv
grep -q "^test: ndcg .* on $cells entries" out && pass || fail "implicit: $(grep ^test: out)"

# predict takes each row by itself, and warns if the model is one of sums.
fit="--rank=1 --reg=1 --iters=4 --threads=1 -q"
parts="of $rows cells of new.csv repeat an earlier cell: .* was fitted to sums"
expect 0 "" on 1 complete sales.csv --value=amount $fit -o sums.h5
expect 0 "$parts" "$amped" predict sums.h5 new.csv --value=amount
expect 0 "$parts" "$amped" predict sums.h5 new.csv --value=amount --by=customer
expect 0 "" "$amped" predict sums.h5 total.csv --value=amount
quiet() { grep -q "fitted to sums" err && fail "$1: a warning of sums" || pass; }
quiet "single cells"
expect 0 "" "$amped" predict sums.h5 later.csv -o values.csv --overwrite
quiet "no values"
expect 0 "" on 1 complete sales.csv --value=amount --duplicates=mean $fit -o means.h5
expect 0 "" "$amped" predict means.h5 new.csv --value=amount
quiet "means"
expect 0 "" on 1 complete once.csv --value=amount $fit -o once.h5
expect 0 "" "$amped" predict once.h5 new.csv --value=amount
quiet "no repeats"
expect 0 "" on 1 cpd sales.csv --value=amount --rank=1 --nonnegative -q -o sales.cpd.h5
expect 0 "$parts" "$amped" predict sales.cpd.h5 new.csv --value=amount

# stream does not add a batch to what was learnt, and warns if a cell's value was a sum.
more='warning: more.csv: of .* cells, .* were known, and values that are added up'
awk -F, 'NR == 1 || NR % 3 == 0' sales.csv >more.csv
for ranks in 1 3; do
  expect 0 "" on 1 complete sales.csv --value=amount $fit --nowrite --state=s.state --overwrite
  expect 0 "$more" on $ranks stream s.state more.csv --value=amount -q
done
expect 0 "" on 1 complete sales.csv --value=amount --duplicates=mean $fit --nowrite --state=m.state
expect 0 "" on 1 stream m.state more.csv --value=amount -q
grep -q "added up" err && fail "a stream of means warns" || pass
cut -d, -f1,2 more.csv >again.csv
expect 0 "" on 1 complete events.csv $fit --nowrite --state=e.state
expect 0 "warning: again.csv: of .* cells, .* were known, and values that are added up" on 1 stream e.state again.csv -q

finish
