#!/bin/sh
# Cells that are no events, were never observed, or are learnt and tested at once: complete, predict
# and recommend.
. "$(dirname "$0")/../lib/lib.sh"
cd "$scratch" || exit 99

# 40 users, 12 items, 3 weeks: user i of row i; gaps.tns has users 1, 6, 11, ...
awk 'function random() { seed = (seed * 16807) % 2147483647; return seed / 2147483647 }
  BEGIN {
    seed = 5
    for (i = 0; i < 40; i++) for (j = 0; j < 12; j++) for (k = 0; k < 3; k++)
      if (random() < 0.5) print i + 1, j + 1, k + 1, 5 + (1 + i / 40) * (1 + j % 5) * (1 + k / 10)
  }' >dense.tns
awk '{ print 5 * ($1 - 1) + 1, $2, $3, $4 }' dense.tns >gaps.tns
awk 'BEGIN { for (j = 1; j < 13; j++) print 999, j, 1, 0 }' >new.tns
for bias in none mean full; do
  for f in dense gaps; do
    expect 0 "" on 1 complete $f.tns --rank=2 --reg=0.1 --holdout=0 --bias=$bias --iters=5 -o $f.h5 --overwrite
    expect 0 "" "$amped" predict $f.h5 new.tns --cold=predict -o $f.csv --overwrite
    expect 0 "" "$amped" recommend $f.h5 --for=3:1 --of=2 -n 1 --json=$f.json
  done
  awk -F, 'NR == FNR { a[NR] = $4; next } FNR > 1 && (a[FNR] - $4) ^ 2 > 1e-6 { bad = 1 }
    END { exit bad }' dense.csv gaps.csv && pass || fail "a new user depends on ids, bias $bias"
  close "recommended" "$(field value gaps.json)" "$(field value dense.json)" 1e-3
done

# Tests that are learnt.
sed -n 1,60p dense.tns >in.tns
sed -n 1,400p dense.tns | awk 'NR > 100' >train.tns
sed -n 1,130p dense.tns >half.tns
expect 0 "warning: half.tns: 30 of its 130 entries are also in train.tns" on 1 complete train.tns --rank=2 \
  --reg=1 --iters=5 --validate=half.tns --json=half.json -o half.h5
sed -n 1,100p dense.tns >apart.tns
for ranks in 1 2; do
  expect 0 "to validate: 100 entries" on $ranks complete train.tns --rank=2 --reg=1 --iters=5 \
    --validate=apart.tns --json=apart.json -o apart.h5 --overwrite
  close "rmse without what is learnt" "$(events end rmse apart.json)" "$(events end rmse half.json)" 1e-5
done
expect 3 "all of its .* entries are also in train.tns" on 2 complete train.tns --rank=2 --reg=1 --holdout=0 --test=train.tns \
  -o none.h5
# What is held out is not learnt, but chooses the sweep.
for ranks in 1 3; do
  expect 0 "warning: train.tns: \([0-9]*\) of its 300 entries are held out of train.tns and choose the sweep" on $ranks \
    complete train.tns --rank=2 --reg=1 --iters=5 --holdout=20% --test=train.tns -o half.h5 --overwrite
  held=$(sed -n 's/.*held out to validate: \([0-9]*\) of 300 .*/\1/p' out)
  same "entries that are held out" "$(sed -n 's/.*train.tns: \([0-9]*\) of its 300 entries are held out of.*/\1/p' err)" "$held"
  same "the others are learnt" "$(sed -n 's/.*train.tns: \([0-9]*\) of its 300 entries are also in.*/\1/p' err)" \
    $((300 - held))
done
# What validates is no test.
sed -n 60,130p dense.tns >overlap.tns
for ranks in 1 3; do
  expect 0 "warning: overlap.tns: 41 of its 41 entries are also in apart.tns and choose the sweep" on $ranks complete train.tns \
    --rank=2 --reg=1 --iters=5 --validate=apart.tns --test=overlap.tns -o half.h5 --overwrite
  sed -n 61,64p dense.tns >four.tns
  cat in.tns four.tns >most.tns
  expect 0 "warning: four.tns: 4 of its 4 entries are also in most.tns" on $ranks complete train.tns \
    --rank=2 --reg=1 --iters=5 --validate=most.tns --test=four.tns -o half.h5 --overwrite
  expect 0 "test: rmse" on $ranks complete train.tns --rank=2 --reg=1 --iters=5 --validate=in.tns --test=four.tns -o half.h5 --overwrite
  same "warnings for other entries" "$(grep -c 'choose the sweep' err)" 0
done
# So does a cell with a label or an index that INPUT does not have; other such cells are other cells.
{ echo user,item,week,v && awk -v OFS=, '{ print "u" $1, "i" $2, "w" $3, $4 }' train.tns; } >train.csv
u=u$(awk 'NR == 1 { print $1 }' train.tns)
printf 'user,item,week,v\nnew,i1,w1,2\nnew,i2,w1,3\n%s,other,w2,4\n' "$u" >cold1.csv
printf 'user,item,week,v\nnewer,i1,w1,2\nnew,i2,w1,3\n%s,other,w2,4\n%s,another,w2,4\n' "$u" "$u" >cold2.csv
printf '900 1 1 2\n900 2 1 3\n1 800 2 4\n' >cold1.tns
printf '901 1 1 2\n900 2 1 3\n1 800 2 4\n2 800 2 4\n' >cold2.tns
for ranks in 1 3; do
  expect 0 "warning: cold2.csv: 2 of its 4 entries are also in cold1.csv" on $ranks complete train.csv --value=v --rank=2 --reg=1 \
    --iters=5 --validate=cold1.csv --test=cold2.csv -o half.h5 --overwrite
  expect 0 "warning: cold2.tns: 2 of its 4 entries are also in cold1.tns" on $ranks complete train.tns --rank=2 --reg=1 \
    --iters=5 --validate=cold1.tns --test=cold2.tns -o half.h5 --overwrite
done
expect 0 "" on 1 complete train.csv --value=v --rank=2 --reg=1 --iters=3 --tol=0 --patience=99 --validate=cold1.csv --checkpoint=cold.ck --checkpoint-every=1 --nowrite
sed 's/^new,/newest,/' cold1.csv >cold3.csv
expect 3 "with other options: --validate differs" on 1 complete train.csv --value=v --rank=2 --reg=1 --iters=5 --tol=0 --patience=99 --validate=cold3.csv --checkpoint=cold.ck --resume --nowrite
# Nonnegative rows that are 0 and trained are not cold.
awk 'BEGIN { srand(4); for (u = 1; u <= 20; u++) for (i = 1; i <= 8; i++) if (rand() < 0.5)
  print u, i, 1 + int(rand() * 3), 3 + sin(1.7 * u) * (i < 5 ? 1 : -1) + rand() }' >signs.tns
sed -n '1~9p' signs.tns | awk '{ $4 += 0.5; print }' >signs.test.tns
awk '{ key = $1 " " $2 " " $3 } NR == FNR { test[key]; next } !(key in test)' signs.test.tns signs.tns >signs.train.tns
expect 0 "test: rmse" on 2 complete signs.train.tns --rank=1 --reg=0.3 --nonnegative --bias=mean --holdout=0 --test=signs.test.tns \
  -o signs.h5
same "cold entries of trained rows" "$(grep -c 'never trained' out)" 0
# Repeated cells of a test are judged as they are.
(cat apart.tns && cat apart.tns) >twice.tns
expect 0 "to test: 200 entries" on 1 complete train.tns --rank=2 --reg=1 --iters=5 --test=twice.tns -o twice.h5

# Indices between others, of which no entry exists, are as unknown as those beyond the dimensions.
awk 'BEGIN { srand(1); for (u = 1; u <= 20; u++) for (i = 1; i <= 15; i++) for (w = 1; w <= 3; w++)
  if (rand() < 0.4) print u, 3 * i, w, 3 + sin(u * i) + rand() }' >thirds.tns
for bias in full none; do
  expect 0 "" on 2 complete thirds.tns --rank=2 --reg=0.5 --bias=$bias --iters=5 -o thirds.h5 --overwrite -q
  expect 0 "" "$amped" recommend thirds.h5 --for=1 --of=2 -n 45 -o thirds.csv --overwrite
  same "recommended without an entry" "$(awk -F, 'NR > 1 && $3 % 3 { n++ } END { print n + 0 }' thirds.csv)" 0
  same "recommended" "$(awk -F, 'NR > 1' thirds.csv | wc -l)" $((20 * 15))
  echo "2 4 1 0" >unknown.tns
  expect 0 "1 of these cells have an index that the model does not know" "$amped" predict thirds.h5 unknown.tns
  echo "2 99 1 0" >>unknown.tns
  expect 0 "2 of these cells have an index that the model does not know" "$amped" predict thirds.h5 unknown.tns --cold=predict -o unknown.csv --overwrite
  same "values without an entry" "$(awk -F, 'NR == 2 { a = $4 } NR == 3 { print $4 == a }' unknown.csv)" 1
done
# A warning says that components are zero, or almost; components that vanish beside biases are named, too.
awk 'BEGIN { srand(3); for (n = 0; n < 500; n++) print 1 + int(rand() * 40), 1 + int(60 ^ rand()), 1 + int(rand() * 4), 1 }' >log.tns
expect 0 "warning: the components are almost zero: the model is zero everywhere" on 2 complete log.tns --implicit=1 --rank=2 --reg=1e6 --of=2 -o zero.h5

expect 0 "warning: zero.h5: its components are almost zero, so that its lists mean little" "$amped" recommend zero.h5 --for=1:1 --of=2 -n 1
expect 0 "warning: the components are almost zero: the model is mean and biases alone" on 1 complete train.tns --rank=2 --reg=1e6 -o zero.h5 --overwrite

# A cell counts once for --implicit and for --weights.
(cat log.tns && head -n 40 log.tns) >again.tns
expect 3 "again.tns: has cells with several entries, which were all kept, and --implicit counts a cell once" on 2 complete again.tns --implicit=1 \
  --rank=2 --reg=1 --duplicates=keep -o none.h5
expect 0 "" "$amped" convert again.tns kept.h5 --duplicates=keep -q
expect 3 "kept.h5: has cells with several entries" on 1 complete kept.h5 --implicit=1 --rank=2 --reg=1 -o none.h5
expect 0 "" on 2 complete again.tns --implicit=1 --rank=2 --reg=1 --iters=2 --duplicates=sum -o sum.h5 -q
awk 'BEGIN { print "a,b,c,v,w" } { print "a" $1 ",b" $2 ",c" $3 "," $4 ",1" }' dense.tns >once.csv
(cat once.csv && sed -n '2,9s/,[^,]*,1$/,100,0/p' once.csv) >weighed.csv
for rule in sum mean last; do
  expect 3 "weighed.csv: has several weights of a cell, of which it has several rows" on 2 complete weighed.csv --value=v --weights=w --rank=1 --reg=1 \
    --duplicates=$rule -o none.h5
done
expect 0 "" on 2 complete once.csv --value=v --weights=w --rank=1 --reg=1 --iters=2 -o once.h5 -q
absent none.h5

# Counts.
awk '{ print $1, $2, $3, NR % 3 }' dense.tns >zeros.tns
awk '$4 > 0' zeros.tns >counts.tns
expect 3 "entries with the value 0, .*remove these entries" on 1 complete zeros.tns --rank=2 --implicit=10 -o i.h5
expect 3 "zeros.tns: .* with a value of 0 or less" on 1 complete counts.tns --rank=2 --implicit=10 --holdout=0 --validate=zeros.tns -o i.h5
expect 0 "" on 1 complete counts.tns --rank=2 --implicit=10 --iters=5 -o i.h5
expect 3 "i.h5: is a model of --implicit, which no stream continues: .*complete --implicit=A" "$amped" stream i.h5 counts.tns
expect 0 "no error is reported against the counts" "$amped" predict i.h5 counts.tns --json=i.json
same "no rmse" "$(grep -c '"rmse": *null' i.json)" 1
expect 0 "entries have the value 0, which means that nothing happened" "$amped" recommend i.h5 --for=1:1 --of=2 -n 12 \
  --exclude=zeros.tns -o a.csv
expect 0 "" "$amped" recommend i.h5 --for=1:1 --of=2 -n 12 --exclude=counts.tns -o b.csv
expect 0 "" cmp a.csv b.csv
finish
