#!/bin/sh
# top: the components that are asked for, by their numbers; width of lines; a pager on terminals.
. "$(dirname "$0")/../lib/lib.sh"
cd "$scratch" || exit 99

"$amped" generate t.h5 --dims=8x7x9 --nnz=200 --seed=2 -q || fail "generate"
expect 0 "" on 1 t.h5 --rank=6 --iters=3 -o six.h5 -q

# numbers FILE: the components that the output tells, in order.
numbers() { sed -n 's/^component \([0-9]*\) of 6,.*/\1/p' "$1" | tr '\n' ' '; }
expect 0 "" "$amped" top six.h5
same "all components" "$(numbers out)" "1 2 3 4 5 6 "
cp out all.txt
expect 0 "" "$amped" top six.h5 --components=6,1-2 --json=some.json
same "the components asked for" "$(numbers out)" "6 1 2 "
same "their weights" "$(grep '^component 6' out)" "$(grep '^component 6' all.txt)"
same "components in JSON" "$(sed -n 's/.*"component":\([0-9]*\).*/\1/p' some.json | tr '\n' ' ')" "6 1 2 "
expect 2 "has no component 7; its components are 1 to 6" "$amped" top six.h5 --components=1,5-8
expect 2 "ranges such as 1,4-6" "$amped" top six.h5 --components=0
expect 2 "ranges such as 1,4-6" "$amped" top six.h5 --components=1,1

# A tensor is no result: the line tells how to get one.
printf '1 1 1 5\n2 2 2 3\n' >five.tns
cp five.tns five.tns.gz # the name decides
for command in top plot; do
  expect 3 "five.tns: is not a result; $command needs a result of cpd or complete; amped_mpi five.tns makes one: five.cpd.h5" "$amped" $command five.tns
  expect 3 "t.h5: is not a result.*makes one: t.cpd.h5" "$amped" $command "$PWD/t.h5"
done
expect 3 "five.tns.gz: is not a result.* five.cpd.h5" "$amped" compare six.h5 five.tns.gz
expect 3 "cannot be read" "$amped" top missing.tns

# Width: modes come below others where a line is too short; labels are cut where that saves lines.
awk 'BEGIN {
  print "first,second,third,n"
  for (i = 0; i < 12; i++) printf "label %d of the first mode,l\303\244bel %d of the second,%d,%d\n", i, i, i % 3, i + 1
}' >wide.csv
expect 0 "" "$amped" convert wide.csv wide.h5 --value=n -q
expect 0 "" on 1 wide.h5 --rank=2 --iters=5 -q
# longest: characters of the longest line of the components.
longest() { sed '1,2d' out | LC_ALL=C tr -d '\200-\277' | LC_ALL=C awk '{ if (length($0) > n) n = length($0) } END { print n + 0 }'; }
expect 0 "label 11 of the first mode " "$amped" top wide.cpd.h5
same "a line without a limit" "$(grep -c 'mode 1: first .*mode 2: second .*mode 3: third' out)" 2
whole=$(longest)
for width in 40 60 80 200; do
  expect 0 "" "$amped" top wide.cpd.h5 --width=$width
  same "lines of $width" "$(test "$(longest)" -le $width && echo fit)" fit
  same "modes in lines of $width" "$(grep -o 'mode [0-9]: ' out | sort | uniq -c | tr -s ' \n' ' ')" \
    " 2 mode 1: 2 mode 2: 2 mode 3: "
done
same "lines of 200" "$(longest)" "$whole"
same "no line of 80 was long enough" "$(test "$whole" -gt 80 && echo so)" so
expect 0 "label [0-9]* of .*\.\.\.  *[0-9]" "$amped" top wide.cpd.h5 --width=80
same "one line of 80" "$(grep -c 'mode 1: first .*mode 2: second .*mode 3: third' out)" 2
expect 2 "from 40" "$amped" top wide.cpd.h5 --width=39
# Rows that a header alone declares count in no length: weights are those of the same model without them.
awk 'BEGIN { for (k = 0; k < 1200; k++) print 1 + k % 15, 1 + k % 11, 1 + k % 8, 3 + (k % 15) * (k % 11) / 50 + k % 8 }' \
  >cells.tns
for months in 8 300; do
  (echo "# dims: 15 11 $months"; cat cells.tns) >months.tns
  expect 0 "" "$amped" complete months.tns --rank=2 --reg=0.05 --context=3 --holdout=0 --iters=20 --precision=double \
    -o months$months.h5
  "$amped" top months$months.h5 | sed -n 's/^component.*weight //p' >weights$months
  "$amped" similar months$months.h5 --for=1:1 --weighted --json=- | tr ',' '\n' | sed -n 's/.*"similarity"://p' |
    cut -c1-12 >similar$months
done
expect 0 "" cmp weights8 weights300
same "two weights" "$(grep -c . weights300)" 2
expect 0 "" cmp similar8 similar300
"$amped" compare months300.h5 months300.h5 | awk '$1 == $2 && NF > 6 { print $3 }' >weights
expect 0 "" cmp weights weights300

# A terminal has a pager, and its width; a pipe has neither.
if has_terminals; then
  cat >terminal.sh <<SH
stty cols 60 rows 20
TERM=xterm
export TERM
PAGER='cat >paged.txt' "$amped" top wide.cpd.h5
PAGER='head -n 1 >early.txt' "$amped" top wide.cpd.h5 -n 1000 && echo left early >status.txt
PAGER='cat >json.txt' "$amped" top wide.cpd.h5 --json=-
TERM=dumb PAGER='cat >dumb.txt' "$amped" top wide.cpd.h5
SH
  "$amped" top wide.cpd.h5 --width=60 >piped.txt
  script -qec "sh terminal.sh" /dev/null >/dev/null </dev/null
  expect 0 "" cmp paged.txt piped.txt
  same "a pager that is left early" "$(cat status.txt) $(grep -c '' early.txt)" "left early 1"
  absent json.txt dumb.txt
fi
PAGER='cat >never.txt' "$amped" top wide.cpd.h5 >all.txt
absent never.txt
# --- indices that have no learnt entry, declared alone, change neither cosines nor shares ----------------
for months in 6 600; do
  awk -v months=$months 'BEGIN { srand(3); print "# dims: 10 20 " months
    split("1 1 1 1 1 1.2", p); split("0.2 3 0.3 0.1 2.5 0.2", q)
    for (i = 1; i <= 10; i++) for (j = 1; j <= 20; j++) for (k = 1; k <= 6; k++)
      if (rand() < 0.8) print i, j, k, (1 + j % 3) * p[k] + (i < 3 ? 2 : 0) * (1 + j % 5) * q[k] }' >declared.tns
  expect 0 "" "$amped" complete declared.tns --rank=2 --bias=none --context=3 --reg=0.01 --holdout=0 --precision=double -o declared.h5 -q --overwrite
  "$amped" similar declared.h5 --for=3:1 >similar.$months.txt 2>&1 || fail "similar: $months months"
  "$amped" plot declared.h5 -o declared.gp -q --overwrite || fail "plot: $months months"
  grep -o "component [12]: weight.*%" declared.gp >shares.$months.txt
done
same "cosines beside months that were not learnt" "$(sed '/no learnt entry/d' similar.600.txt)" "$(cat similar.6.txt)"
same "shares beside months that were not learnt" "$(cat shares.600.txt)" "$(cat shares.6.txt)"
same "components with a share" "$(grep -c share shares.6.txt)" 2
finish
