#!/bin/sh
# Whole numbers in two spellings, such as 13 and 13.0 (a column of pandas with gaps) or 13 and 013: a warning counts them in
# a table, and in a batch whose new labels are known ones.
. "$(dirname "$0")/../lib/lib.sh"
cd "$scratch" || exit 99

awk 'BEGIN {
  srand(2)
  head = "user,item,stars"
  print head >"old.csv"
  for (f = 1; f <= 3; f++) print head >(f == 1 ? "new.csv" : f == 2 ? "gaps.csv" : "zeros.csv")
  for (u = 5; u < 25; u++) for (i = 0; i < 15; i++) {
    value = 1 + int(5 * rand())
    if (rand() < 0.5) print u ",film " i "," value >"old.csv"
    else if (rand() < 0.5) {
      print u ",film " i "," value >"new.csv"
      print u ".0,film " i "," value >"gaps.csv"
      printf "%03d,film %d,%d\n", u, i, value >"zeros.csv"
    }
  }
}'
for file in gaps zeros new; do
  { cat old.csv; tail -n +2 $file.csv; } >both-$file.csv
done
users=$(tail -n +2 new.csv | cut -d, -f1 | sort -u | wc -l)
spelt='a whole number that another label writes otherwise, such as'
quiet() { grep -q 'another label writes\|in another spelling' err && fail "$1: a warning" || pass; }

for file in gaps zeros; do
  expect 0 "warning: both-$file.csv: $users labels of column user are $spelt" "$amped" convert both-$file.csv b.h5 --value=stars --overwrite
  for ranks in 1 3; do
    expect 0 "both-$file.csv: $users labels" on $ranks complete both-$file.csv --value=stars --rank=1 --reg=1 --iters=2 --nowrite -q
  done
done
expect 0 "" "$amped" convert both-new.csv n.h5 --value=stars
quiet "one spelling"
# Other labels than whole numbers: versions, words, times.
for labels in "2 2.0 1.10" "2 02 two" "1.5 1.50" "-1 -1.0" "7. 7" ".0 0"; do
  { echo user,item,stars; for label in $labels; do echo "$label,a,1"; done; } >labels.csv
  expect 0 "" "$amped" convert labels.csv l.h5 --value=stars --overwrite
  quiet "$labels"
done
for labels in "0 00" "7 7.00" "10 010.0 12"; do
  { echo user,item,stars; for label in $labels; do echo "$label,a,1"; done; } >labels.csv
  expect 0 "1 label of column user is $spelt" "$amped" convert labels.csv l.h5 --value=stars --overwrite
done

# Second files: labels that INPUT or a model writes otherwise.
expect 0 "" on 1 complete old.csv --value=stars --rank=1 --reg=1 --iters=2 --holdout=0 -o m.h5 -q
other='labels of mode 1 (user) that .* does not have are its labels in another spelling, such as'
{ cat new.csv && tail -n 1 gaps.csv; } >mixed.csv
{ cat old.csv && tail -n 1 gaps.csv; } >known.csv
{ cat new.csv && echo "5.0,film 1,3" && echo 'x,film 1,3' && echo 'y,film 1,3'; } >few.csv
for file in gaps zeros; do
  expect 0 "$file.csv: $users of $users $other" "$amped" predict m.h5 $file.csv --value=stars --cold=predict
  expect 0 "mixed.csv: 1 of 1 $other" "$amped" predict m.h5 mixed.csv --value=stars --cold=predict
  expect 0 "known.csv: 1 of 1 $other" "$amped" recommend m.h5 --for=user:5 --of=item --exclude=known.csv --value=stars
  expect 0 "known.csv: 1 of 1 $other" "$amped" evaluate m.h5 new.csv --value=stars --of=item --exclude=known.csv
  for judge in test validate; do
    expect 0 "mixed.csv: 1 of 1 $other" on 2 complete old.csv --value=stars --rank=1 --reg=1 --iters=2 --holdout=0 --$judge=mixed.csv --nowrite
  done
done
expect 0 "" "$amped" predict m.h5 few.csv --value=stars --cold=predict
quiet "most unknown labels are new ones"
expect 0 "" "$amped" predict m.h5 new.csv --value=stars
quiet "one spelling in a second file"

# Batches: new labels that are known ones.
for file in old both-gaps; do
  expect 0 "" on 1 complete $file.csv --value=stars --rank=1 --reg=1 --iters=2 --nowrite --state=$file.state -q
done
for ranks in 1 3; do
  for file in gaps zeros; do
    rm -f s.state*
    cp old.state s.state
    expect 0 "warning: $file.csv: $users of $users new labels of mode 1 (user) are labels of s.state in another spelling, such as" \
      on $ranks stream s.state $file.csv --value=stars -q
  done
done
rm -f s.state*
cp old.state s.state
expect 0 "" on 1 stream s.state new.csv --value=stars -q
quiet "a batch in the same spelling"
sed 's/^\([0-9]*\),/1\1,/' new.csv >more.csv
expect 0 "" on 1 stream s.state more.csv --value=stars -q
quiet "new users"
# The other way round: the state has 13.0, the batch 13.
expect 0 "" on 1 complete gaps.csv --value=stars --rank=1 --reg=1 --iters=2 --nowrite --state=g.state -q
expect 0 "$users of .* new labels of mode 1 (user) are labels of g.state in another spelling" on 1 stream g.state old.csv --value=stars -q

# --- dates and times --------------------------------------------------------------------------------
# twice LABEL OTHER: one date in two spellings, in a table, and in a batch.
times='a date or a time that another label writes otherwise, such as'
twice() {
  { echo user,day,n; for u in 1 2 3 4 5; do for day in "$1" "$3"; do echo "u$u,$day,$u"; done; done; } >days.csv
  { cat days.csv; echo "u1,$2,3"; } >two.csv
  expect 0 "two.csv: 1 label of day is $times $1 and $2, which are two labels" "$amped" convert two.csv two.h5 --value=n --overwrite
  expect 0 "" "$amped" convert days.csv two.h5 --value=n --overwrite
  quiet "$1, $3"
  rm -f day.state*
  expect 0 "" on 1 complete days.csv --value=n --rank=1 --reg=1 --iters=2 --nowrite --state=day.state -q --holdout=0
  { echo user,day,n; for u in 1 2 3; do echo "u$u,$2,$u"; done; } >batch.csv
  expect 0 "batch.csv: 1 label of mode 2 (day) is $times $1 and $2" on 2 stream day.state batch.csv --value=n
}
twice 2024-05 2024-5 2024-06
twice Mon Monday Tue
twice 9:00 09:00 10:00
twice 1.5.2024 01.05.2024 2.5.2024
twice Sep Sept Oct
finish
