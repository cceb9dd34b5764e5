#!/bin/sh
# The files of a stream's state: which of them a run replaces, and which it refuses to touch.
. "$(dirname "$0")/../lib/lib.sh"
needs perl
cd "$scratch" || exit 99

# alone STATUS PATTERN ARGUMENT...: expect, without mpirun, which waits for seconds after a failure.
alone() {
  want=$1 pattern=$2
  shift 2
  expect "$want" "$pattern" "$amped" "$@" --backend="$backend"
}
# kept FILE...: each still has its bytes of before.
kept() {
  for f in "$@"; do
    if cmp -s "$f" "before/$f"; then pass; else fail "$f was changed"; fi
  done
}

awk 'BEGIN { for (i = 1; i <= 12; i++) for (j = 1; j <= 9; j++) for (k = 1; k <= 5; k++)
  print i, j, k, i + j * k % 7 >((i + j + k) % 2 ? "first.tns" : k < 3 ? "day1.tns" : "day2.tns") }'
cp first.tns other.tns
fit="--rank=2 --reg=1 --iters=2 --holdout=0"
# shellcheck disable=SC2086
alone 0 'for amped_mpi stream' complete first.tns $fit --nowrite --state=s.st
alone 0 'learnt 1 batch;' stream s.st day1.tns

# --- complete --state takes the place of nothing ----------------------------------------------------
# shellcheck disable=SC2086
alone 1 'is the state of a stream; .*--overwrite' complete first.tns $fit --nowrite --state=s.st
# shellcheck disable=SC2086
alone 1 'is the state of a stream; .*--overwrite' complete first.tns $fit -o s.st
# Where STATE.prev or journals are left alone, the stream can go on from them. Foreign files stay, too.
mkdir before
for left in s.st.prev s.st.journal s.st.journal.prev; do
  for what in "$left" other.tns; do
    cp "$what" "x.st${left#s.st}" 2>/dev/null || cp s.st.journal "x.st${left#s.st}"
    cp x.st.* before
    # shellcheck disable=SC2086
    alone 1 "x.st${left#s.st}: exists and .*--overwrite" complete first.tns $fit --state=x.st
    kept x.st.*
    absent x.st first.completion.h5
    rm x.st.* before/*
  done
done
cp other.tns x.st.prev
cp s.st.journal x.st.journal
# shellcheck disable=SC2086
alone 0 'for amped_mpi stream' complete first.tns $fit --nowrite --state=x.st --overwrite
absent x.st.prev x.st.journal x.st.journal.prev

# --- names that are a state's are no other output's ---------------------------------------------------
mkdir run
cp s.st s.st.journal before
for name in s.st.journal s.st.prev s.st.journal.prev; do
  for option in -o --json --trace; do
    alone 2 "$name: is a file of the state s.st.*name another" stream s.st day2.tns $option $name --overwrite
  done
done
alone 2 'the name of the other.s lock file' stream s.st day2.tns --json=s.st.journal.lock
alone 2 'is a file of the state' stream s.st --plan --json=./s.st.journal --overwrite
kept s.st s.st.journal
for option in -o --json --trace --checkpoint; do
  # shellcheck disable=SC2086
  alone 2 "y.st.journal: is a file of the state y.st" complete first.tns $fit --state=y.st $option y.st.journal
done
# shellcheck disable=SC2086
alone 2 'is named for two outputs' complete first.tns $fit --checkpoint=y.ck --state=y.ck.prev
cp first.tns y.st.prev
# shellcheck disable=SC2086
alone 2 'y.st.prev: is an input of this run' complete first.tns $fit --state=y.st --test=y.st.prev --overwrite
rm y.st.prev
cp first.tns run/first.tns
# shellcheck disable=SC2086
alone 2 'is named for the result .*--state' complete run/first.tns $fit --state=first.completion.h5
alone 2 'is an input of this run' stream s.st day2.tns --json=s.st
absent y.st y.ck first.completion.h5

# --- a place that takes no state is told before the first sweep ----------------------------------------
mkfifo pipe wait
for place in "1 no/z.st" "1 run" "2 pipe"; do
  want=${place% *} place=${place#* }
  # shellcheck disable=SC2086
  alone "$want" "$place: " complete first.tns $fit --nowrite --state=$place --overwrite
  grep -q '^sweep' out && fail "$place: swept before it was looked at" || pass
done
# Another stream has it, which waits for a batch.
"$amped" stream s.st - --backend="$backend" <wait >locked.txt 2>&1 &
holder=$!
exec 9>wait
until_true $holder test -e s.st.lock && pass || fail "no lock of a stream"
# shellcheck disable=SC2086
alone 1 's.st: is being written by another job' complete first.tns $fit --nowrite --state=s.st --overwrite
grep -q '^sweep' out && fail "swept before the lock was looked at" || pass
cat day2.tns >&9
exec 9>&-
wait $holder && pass || fail "the stream that held the lock: $(cat locked.txt)"
absent s.st.lock s.st.journal.lock

# --- options of a state without one, and a state without a penalty ---------------------------------------
# shellcheck disable=SC2086
alone 2 '--keep-validation is for a state; add --state=FILE' complete first.tns $fit --keep-validation=10
alone 0 '' complete first.tns --rank=2 --reg=0 --iters=2 --nowrite --state=none.st
alone 0 'learnt 2 batches' stream none.st day1.tns day2.tns
same "warnings of no penalty" "$(grep -c 'warning: .*no unique solution' err)" 1
awk '{ $4 += 1; print }' day1.tns >new.tns
alone 0 'learnt 1 batch;' stream s.st new.tns
same "warnings of a penalty" "$(grep -c 'unique solution' err)" 0

# --- signals reach a stream ------------------------------------------------------------------------------
# watch ARGUMENT...: the program in the background, until the file of its JSON lines has a batch. perl undoes that
# background jobs of a shell ignore SIGINT.
watch() {
  rm -f live.json
  perl -e '$SIG{INT} = "DEFAULT"; exec @ARGV' "$amped" "$@" --json=live.json --backend="$backend" >watched.txt 2>&1 <wait &
  holder=$!
  exec 9>wait
  until_true $holder grep -q '"event":"batch"' live.json && pass || fail "no batch: $(cat watched.txt)"
}
# A pipe in the folder of --follow is not opened: no signal would end that.
mkdir inc
mkfifo inc/a.csv
awk '{ $4 += 2; print }' day1.tns >inc/b.tns
watch stream s.st --follow=inc -o live.h5
# Its state is read meanwhile, and its files are not written by others.
expect 0 'the last one is' "$amped" info s.st
alone 0 'result: now.h5' stream s.st -o now.h5
expect 0 '' "$amped" info now.h5 --verify
cp s.st copy.st
cp s.st.journal copy.st.journal 2>/dev/null
alone 1 'is being written by another job' stream s.st day2.tns
alone 1 'is being written by another job' stream copy.st -o live.h5
kill -s TERM $holder
exec 9>&-
wait $holder
same "status of --follow after SIGTERM" $? 85
grep -q 'inc/a.csv: is not a regular file; it is passed over' watched.txt && pass || fail "no line about the pipe"
# A second Ctrl-C ends a stream that waits for its input, behind a batch that is safe.
awk '{ $4 += 3; print }' day1.tns >newer.tns
watch stream s.st newer.tns -
for again in 1 2 3 4; do
  kill -s INT $holder 2>/dev/null
  sleep 0.2
done
wait $holder
same "status after Ctrl-C twice" $? 130
exec 9>&-
grep -q 'ended by SIGINT (Ctrl-C); the state holds the earlier batches' watched.txt && pass ||
  fail "what is saved: $(cat watched.txt)"
alone 0 'learnt 0 batches, 1 skipped' stream s.st newer.tns
# A signal while an input is read that is cut into batches: no batch is learnt, and the model is written.
"$amped" stream s.st - --by=3 -o cut.h5 --backend="$backend" >watched.txt 2>&1 <wait &
holder=$!
exec 9>wait
until_true $holder grep -q '^memory: ' watched.txt && pass || fail "no state: $(cat watched.txt)"
sed 1q day2.tns >&9
sleep 0.5
kill -s TERM $holder
sed 1d day2.tns >&9
exec 9>&-
wait $holder
same "status of --by after SIGTERM" $? 85
grep -q '^learnt 0 batches' watched.txt && pass || fail "what was learnt: $(cat watched.txt)"
expect 0 '' "$amped" info cut.h5 --verify
# A bad batch behind a good one: the result is not written, as a warning says.
cp s.st half.st
cp s.st.journal half.st.journal 2>/dev/null
printf '1 1 1 1\n1 1 1 one\n' >bad.tns
awk '{ $4 += 5; print }' day1.tns >newest.tns
alone 3 'warning: half.h5: is not written; amped_mpi stream half.st -o half.h5 writes the model' stream half.st newest.tns bad.tns -o half.h5
absent half.h5
alone 0 'result: half.h5' stream half.st -o half.h5

# --- what is not ours stays ------------------------------------------------------------------------------
for what in text tensor; do
  # shellcheck disable=SC2086
  alone 0 '' complete day1.tns $fit --nowrite --state=other.st --overwrite
  rm -f other.st.prev
  case $what in text) echo "my notes" >other.st.prev ;; *) "$amped" convert day1.tns prev.h5 -q --overwrite && mv prev.h5 other.st.prev ;; esac
  cp other.st.prev notes
  alone 1 'other.st.prev: is not a state of amped_mpi' stream other.st day2.tns
  expect 0 '' cmp notes other.st.prev
done
rm -f other.st.prev
# A limit of file sizes is an error of a write, not the end of the program.
(ulimit -f 1 && "$amped" convert first.tns big.csv >/dev/null 2>limit.txt)
same "status under ulimit -f" $? 1
same "lines under ulimit -f" "$(grep -c '^amped_mpi: .*big.csv' limit.txt)" 1
absent big.csv

# --- cut from an input, of which files brought entries before --------------------------------------------
# shellcheck disable=SC2086
alone 0 'for amped_mpi stream' complete day1.tns $fit --nowrite --state=cut.st
cat day1.tns day2.tns >all.tns
head -50 day2.tns >some.tns
alone 0 'learnt 2 batches;' stream cut.st all.tns --by=3 --batch=2
alone 0 'learnt 0 batches, 2 skipped;' stream cut.st all.tns --by=3 --batch=2
alone 0 'learnt 1 batch;' stream cut.st some.tns
alone 0 'learnt 0 batches, 2 skipped;' stream cut.st all.tns --by=3 --batch=2
grep -q 'learnt again\|twice' err && fail "a warning, although nothing is learnt" || pass
# shellcheck disable=SC2086
alone 0 'for amped_mpi stream' complete day1.tns $fit --nowrite --state=cut.st --overwrite
alone 0 'learnt 1 batch;' stream cut.st some.tns
alone 0 'all.tns (mode 3 .*: of [0-9]* cells, .*[1-9]' stream cut.st all.tns --by=3 --batch=2

# --- slices come in the order of time, however rows are sorted; what came late is told --------------------
awk 'BEGIN {
    print "user,item,day,v"
    for (d = 1; d <= 9; d++) for (u = 1; u <= 8; u++) for (i = 1; i <= 6; i++)
      if ((u * 7 + i * 5 + d * 3) % 4 > 0) print "u" u ",i" i "," d ".5.2023," u + i * d % 5
  }' >days.csv
{ sed -n 1p days.csv && grep -E ',[1-3]\.5\.' days.csv; } >first.csv
sed 1d days.csv | sort -t, -k1,1 -k2,2r >rows.txt
{ sed -n 1p days.csv && cat rows.txt; } >by-user.csv
{ sed -n 1p days.csv && sed -n '1!G;h;$p' rows.txt; } >backwards.csv
expect 0 '' "$amped" convert by-user.csv copies.h5 --value=v -q
expect 0 '' "$amped" convert by-user.csv list.h5 --value=v --copies=none -q
expect 0 '' "$amped" convert by-user.csv sorted.h5 --value=v --label-order=sorted -q
for input in days.csv by-user.csv backwards.csv copies.h5 list.h5 sorted.h5; do
  options=
  case $input in *.csv) options=--value=v ;; esac
  # shellcheck disable=SC2086
  alone 0 '' complete first.csv --value=v --rank=2 --reg=1 --nowrite --state=days.st --overwrite
  # shellcheck disable=SC2086
  alone 0 'learnt 6 batches' stream days.st $input $options --by=day
  same "$input: batches" "$(sed -n 's/^batch .*(day \([^)]*\)).*/\1/p' out | tr '\n' ' ')" \
    "4.5.2023 5.5.2023 6.5.2023 7.5.2023 8.5.2023 9.5.2023 "
done
# Dates that may be day first or month first: a warning says how they are read.
sed 's/,\([0-9]*\)[.]5[.]2023/,0\1\/05\/2023/' first.csv >slash-first.csv
sed 's/,\([1-6]\)[.]5[.]2023/,0\1\/05\/2023/; s/,\([7-9]\)[.]5[.]2023/,05\/0\1\/2023/' days.csv >slash.csv
alone 0 '' complete slash-first.csv --value=v --rank=2 --reg=1 --nowrite --state=slash.st
alone 0 'slash.csv: the labels of mode 3 (day) do not show which number is the day' stream slash.st slash.csv --value=v --by=day
# Slices come as they were cut before, whatever --batch is now: none is learnt twice.
for cuts in "1 2" "2 1" "3 2" "2 4"; do
  alone 0 '' complete first.csv --value=v --rank=2 --reg=1 --nowrite --holdout=0 --state=cuts.st --overwrite
  alone 0 'learnt' stream cuts.st by-user.csv --value=v --by=day --batch="${cuts% *}"
  alone 0 'learnt 0 batches' stream cuts.st by-user.csv --value=v --by=day --batch="${cuts#* }"
done
# A last slice that is shorter than --batch stays, and the next one begins with new days.
grep -v ',9.5.2023,' by-user.csv >night.csv
alone 0 '' complete first.csv --value=v --rank=2 --reg=1 --nowrite --holdout=0 --state=cuts.st --overwrite
alone 0 'learnt' stream cuts.st night.csv --value=v --by=day --batch=2
cp by-user.csv night.csv
alone 0 'learnt 1 batch,' stream cuts.st night.csv --value=v --by=day --batch=2
alone 0 'holds .* of '$(($(wc -l <by-user.csv) - 1))' entries' stream cuts.st night.csv --value=v --by=day --batch=2
# Months with a point are months, not decimal numbers, and a warning says so.
sed 's/,[123][.]5[.]2023/,10.2023/; s/,[456][.]5[.]2023/,11.2023/' first.csv | sed '1!s/,10.2023/,09.2023/; 2,9s/,[0-9]*.2023/,10.2023/' >months-first.csv
{ cat months-first.csv; printf 'u1,i1,01.2024,3\nu2,i2,01.2024,4\nu1,i1,12.2023,3\nu2,i2,12.2023,4\n'; } >months.csv
alone 0 '' complete months-first.csv --value=v --rank=2 --reg=1 --nowrite --state=months.st
alone 0 'months.csv: the labels of mode 3 (day) are taken as month.year, not as numbers' stream months.st months.csv --value=v --by=day
same "order of months" "$(sed -n 's/^batch .*(day \([^)]*\)).*/\1/p' out | tail -n 2 | tr '\n' ' ')" "12.2023 01.2024 "
# A day that was learnt gains a row: learnt again, its old rows would count twice.
cp by-user.csv grows.csv
alone 0 '' complete first.csv --value=v --rank=2 --reg=1 --nowrite --state=days.st --overwrite
alone 0 'learnt 6 batches' stream days.st grows.csv --value=v --by=day
printf 'u1,i4,7.5.2023,3\nu1,i1,10.5.2023,2\n' >>grows.csv
rows=$(grep -c ',7.5.2023,' by-user.csv)
alone 0 'learnt 1 batch, 6 skipped' stream days.st grows.csv --value=v --by=day
grep -q "(day 7.5.2023) was learnt before, as batch 5, with $rows entries, and has $((rows + 1)) now" "$scratch/err" &&
  pass || fail "no warning that a day is skipped"
# So it does if the table lies in another folder, or has another name, and other days as they were.
mkdir other
for table in other/grows.csv ./grows.csv "$PWD/grows.csv" other/next-night.csv; do
  { cat by-user.csv && printf 'u1,i4,7.5.2023,3\nu1,i1,10.5.2023,2\nu2,i2,9.5.2023,4\n'; } >table.csv
  mv table.csv "$table"
  alone 0 'learnt 0 batches, 7 skipped' stream days.st "$table" --value=v --by=day
  same "warnings of $table" "$(grep -c 'was learnt before, as batch' "$scratch/err")" 2
done
# The order of rows does not matter to forecasts, if a slice has several days: new days are numbered by time.
{ sed -n 1p by-user.csv && sed 1d by-user.csv | sort -t , -k 3,3r -k 4,4; } >turned.csv
for table in by-user turned; do
  alone 0 '' complete first.csv --value=v --rank=2 --reg=1 --precision=double --nowrite --state=$table.st --overwrite
  alone 0 'learnt 3 batches' stream $table.st $table.csv --value=v --by=day --batch=2 --json=$table.json
  sed -n 's/.*"before":{"count":[0-9]*,"rmse":\([0-9.]\{8\}\).*,"after".*"held_out".*/\1/p' $table.json >$table.before
done
same "forecasts of days in another order" "$(cat turned.before)" "$(cat by-user.before)"
# The first fit lacks ten of its days' rows.
{ sed -n 1p first.csv && sed 1d first.csv | sed 1,10d; } >early.csv
alone 0 '' complete early.csv --value=v --rank=2 --reg=1 --nowrite --state=days.st --overwrite
alone 0 'at least 10 of them are never learnt' stream days.st by-user.csv --value=v --by=day
sed 's/\([1-9]\)\.5\.2023/day \1/' days.csv >named.csv
sed 's/\([1-9]\)\.5\.2023/day \1/' first.csv >named-first.csv
alone 0 '' complete named-first.csv --value=v --rank=2 --reg=1 --nowrite --state=days.st --overwrite
alone 0 'are not numbers, dates or times' stream days.st named.csv --value=v --by=day

# --- a table that repeats what was learnt ------------------------------------------------------------------
awk 'BEGIN { srand(9); print "user,item,day,v"; for (d = 1; d <= 3; d++) for (n = 0; n < 600; n++)
  printf "u%d,i%d,2024-01-0%d,%.3f\n", rand() * 30, rand() * 40, d, rand() * 5 }' >log.csv
begin='complete one.csv --value=v --duplicates=mean --rank=2 --reg=1 --iters=3 --nowrite --state=sum.st --overwrite'
{ sed -n 1p log.csv && grep 01-01, log.csv; } >one.csv
{ sed -n 1p log.csv && grep 01-02, log.csv; } >two.csv
{ sed -n 1p log.csv && grep 01-01, log.csv; sed -n 1,180p two.csv | sed 1d; } >both.csv
sed 2d both.csv >most.csv
for ranks in 1 3; do
  # shellcheck disable=SC2086
  expect 0 '' on $ranks $begin
  # All rows so far are a snapshot. Without one of the old rows they are not: half of their cells were learnt.
  expect 0 'both.csv: is a snapshot; [0-9]* of its [0-9]* entries were learnt before' on $ranks stream sum.st both.csv --value=v
  same "warnings of a snapshot" "$(grep -c "cells, earlier" err)" 0
  expect 0 'warning: most.csv: of [0-9]* cells, earlier batches had' on $ranks stream sum.st most.csv --value=v
  # The next days are new; the whole log is not, although a third of it is.
  { sed -n 1p log.csv && grep 01-03, log.csv; } >three.csv
  expect 0 'learnt 1 batch' on $ranks stream sum.st three.csv --value=v
  same "warnings for new rows" "$(grep -c "cells, earlier" err)" 0
  expect 0 'warning: log.csv: of [0-9]* cells, earlier' on $ranks stream sum.st log.csv --value=v
done
# Two batches of one run, of which the second repeats the first.
# shellcheck disable=SC2086
expect 0 '' on 1 $begin
expect 0 'warning: both.csv: of [0-9]* cells, earlier' on 2 stream sum.st two.csv both.csv --value=v
same "batches with a warning" "$(grep -c "cells, earlier" err)" 1

# --- a state is no result ----------------------------------------------------------------------------------
for command in "predict s.st day1.tns" "recommend s.st --for=1 --of=2" "top s.st"; do
  # shellcheck disable=SC2086
  expect 3 "s.st: is the state of a stream, not a result; amped_mpi stream s.st -o RESULT.h5" "$amped" $command
done

# --- an index that makes too many rows -------------------------------------------------------------------
for index in 90000000000000 9223372036854775807; do
  echo "1 2 $index 5" >far.tns
  alone 3 "far.tns: line 1: index $index of mode 3, which has 5 rows in s.st" stream s.st far.tns
done
expect 0 '' "$amped" info s.st --verify
# The limit is 2 x (rows + entries) of a mode: batches of any size and mode, at the limit and beyond it.
mkdir grown
for round in $(few 6 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20); do
  dims=$("$amped" info s.st | sed -n 's/^dimensions *\([0-9]*\) x \([0-9]*\) x \([0-9]*\).*/\1 \2 \3/p')
  awk -v dims="$dims" -v seed="$round" 'BEGIN {
    srand(seed); split(dims, dim, " ")
    mode = 1 + int(3 * rand()); entries = 1 + int(20 * rand())
    limit = 2 * (dim[mode] + entries)
    for (beyond = 0; beyond < 2; beyond++) {
      file = beyond ? "beyond.tns" : "limit.tns"
      for (n = 1; n <= entries; n++) {
        for (m = 1; m <= 3; m++)
          printf "%d ", n == entries && m == mode ? limit + beyond * (1 + int(1e9 * rand() ^ 4)) : 1 + int(dim[m] * rand()) >file
        print 1 + rand() >file
      }
      close(file)
    }
    print mode, limit }' >drawn.txt
  read -r mode limit <drawn.txt
  rm -f grown/*
  cp s.st* grown
  alone 3 "beyond.tns: line [0-9]*: index [0-9]* of mode $mode, .*may grow it to $limit," stream grown/s.st beyond.tns
  for file in s.st*; do
    expect 0 '' cmp "$file" "grown/$file"
  done
  alone 0 'learnt 1 batch;' stream grown/s.st limit.tns --duplicates=last
done


# --same-labels: a label has one index in both modes, whichever mode brings it.
awk 'BEGIN { print "head,relation,tail,value"
  for (i = 0; i < 60; i++) print "e" i % 7 ",r" i % 3 ",e" int(i / 7) % 7 "," i % 5 }' >graph.csv
printf 'head,relation,tail,value\ne1,r1,e8,2\n' >tail.csv
printf 'head,relation,tail,value\ne9,r1,e9,1\ne7,r0,e2,3\n' >both.csv
set="--same-labels=head,tail --value=value --duplicates=mean"
expect 0 "" "$amped" complete graph.csv $set --rank=2 --reg=0.1 --iters=5 --state=graph.state --nowrite
expect 0 "; new rows: 1 head, 1 tail; " "$amped" stream graph.state tail.csv $set
expect 0 "; new rows: 2 head, 2 tail; " "$amped" stream graph.state both.csv $set -o graph.h5
for part in offsets bytes; do
  same "$part of labels" "$(h5dump -d /labels/mode_0/$part graph.h5 | sed 1,2d)" "$(h5dump -d /labels/mode_2/$part graph.h5 | sed 1,2d)"
done
# --- slices whose labels look alike -------------------------------------------------------------------
# Labels that are equal in the text of names, or read like several slices: none is taken for another.
long=$(printf '%090d' 0)
zero=$(printf 'p\342\200\213q')
awk -v long="$long" -v zero="$zero" 'BEGIN { srand(5)
  n = split("a|b|c|" long "1|" long "2|" long "3|" zero "|p\\u200bq|Jan to Mar|Jan|Feb|Mar", label, "|")
  for (i = 1; i <= 600; i++) {
    m = i % n + 1
    print "u" int(rand() * 20) ",i" int(rand() * 15) "," label[m] "," int(rand() * 5) + 1 >(m <= 3 ? "first.rows" : "later.rows") } }'
for f in first later; do { echo user,item,month,stars && cat $f.rows; } >$f.csv; done
expect 0 "" on 1 complete first.csv --value=stars --duplicates=mean --rank=2 --reg=0.1 --holdout=0 --nowrite --state=alike.state --overwrite -q
for once in 1 2; do
  expect 0 "" on 2 stream alike.state later.csv --value=stars --duplicates=mean --by=month --json=alike.json --overwrite
  same "batches, time $once" "$(grep -c '"event":"batch"' alike.json)" $((once == 1 ? 9 : 0))
  same "entries, time $once" "$(sed -n 's/.*"event":"batch".*"learnt":\([0-9]*\).*/\1/p' alike.json | awk '{ s += $1 } END { print s + 0 }')" \
    "$(test $once = 1 && sed 1d later.csv | cut -d, -f1-3 | sort -u | wc -l | tr -d ' ' || echo 0)"
done
# A slice that has more entries now is known by its name, also if another label prints alike.
{ cat later.csv && printf 'u1,i1x,p\\u200bq,3\nu1,i1x,%s2,3\nu1,i1x,Jan to Mar,3\n' "$long"; } >more.csv && mv more.csv later.csv
expect 0 "later.csv (month p.u200bq) was learnt before.*it is skipped" on 2 stream alike.state later.csv --value=stars --duplicates=mean --by=month --json=alike.json --overwrite
same "slices that have more entries" "$(cat out err | grep -c 'was learnt before, as batch .* entries, and has .* now')$(grep -c '"event":"batch"' alike.json)" 30
# Cut along another mode afterwards: all entries are learnt, and nothing else is said.
expect 0 "" on 2 stream alike.state later.csv --value=stars --duplicates=mean --by=item
grep -q "never learnt" err out && fail "a cut along another mode: never learnt" || pass
finish
