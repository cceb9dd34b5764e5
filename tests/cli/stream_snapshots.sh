#!/bin/sh
# stream --snapshots: a later version of the whole tensor is learnt like the entries that it adds, to the same
# bits; it is found without the option, too; whatever is no snapshot is refused with both counts.
. "$(dirname "$0")/../lib/lib.sh"
cd "$scratch" || exit 99

# Three versions of a tensor: s1.tns within s2.tns within s3.tns; add2.tns and add3.tns are what they add. Their rows
# come in other orders. late.tns has a cell within the first two, with value 7.
awk 'function random() { seed = (seed * 16807) % 2147483647; return seed / 2147483647 }
  BEGIN {
    seed = 11
    for (n = 0; n < 900; n++) {
      v = 1 + int(3 * random())
      i = 1 + int((10 + 6 * v) * random()); j = 1 + int((8 + 4 * v) * random()); k = 1 + int((3 + 2 * v) * random())
      box = 1
      while (i > 10 + 6 * box || j > 8 + 4 * box || k > 3 + 2 * box) box++
      if (i == 2 && j == 2 && k == 2 || seen[i, j, k]++) continue
      line = sprintf("%d %d %d %.3f", i, j, k, 3 + i / 10 - j / 9 + k / 5 + random())
      print line >(box == 1 ? "s1.tns" : "add" box ".tns")
    }
    print "2 2 2 7" >"late.tns"
  }'
cat add2.tns s1.tns >s2.tns
cat s1.tns add2.tns add3.tns | sort -k4 >s3.tns
lines() { cat "$@" | wc -l | tr -d ' '; }
first=$(lines s1.tns) second=$(lines s2.tns) third=$(lines s3.tns)

begin_state() { # begin_state STATE INPUT OPTION...
  begun=$1 of=$2
  shift 2
  expect 0 'state: .*, for amped_mpi stream' on 1 complete "$of" --rank=2 --reg=0.5 --iters=4 --tol=0 \
    --precision=double -o first.h5 --overwrite --state="$begun" "$@"
}
fresh() {
  rm -f live.state live.state.*
  cp "$1" live.state
}
model_of() { "$amped" convert "$1" model.csv --overwrite -q && cat model.csv; }
bits() { # bits FILE RANKS BATCH...: learn, and write the model's numbers
  to=$1 n=$2
  shift 2
  expect 0 'learnt' on "$n" stream live.state "$@" -o r.h5 --overwrite --json=r.json
  model_of r.h5 >"$to"
}
same_bits() { if cmp -s want.csv got.csv; then pass; else fail "$1: other bits"; fi; }

# --- the rest of a snapshot -----------------------------------------------------------------------------
begin_state full.state s1.tns --holdout=10%
begin_state none.state s1.tns --holdout=0 --bias=none --history=model
begin_state published.state s1.tns --bias=none --history=published
for state in full none published; do
  for n in $(few 1 3 1); do
    fresh $state.state
    bits want.csv "$n" add2.tns add3.tns --forget=0.9
    fresh $state.state
    bits got.csv "$n" s2.tns s3.tns --forget=0.9 --snapshots
    same_bits "$state, snapshots on $n ranks"
    same "entries of the state" "$(grep -c "\"entries\":$third" r.json)" 1
    same "known entries" "$(grep -o '"known":[0-9]*' r.json | tr '\n' ' ')" "\"known\":$first \"known\":$second "
    fresh $state.state
    bits got.csv "$n" s2.tns s3.tns --forget=0.9
    same_bits "$state, found on $n ranks"
  done
done
fresh full.state
expect 0 "s2.tns: is a snapshot; $first of its $second entries were learnt before and are left out" on 1 \
  stream live.state s2.tns --snapshots
# Batches between, cut or not, make no difference.
fresh full.state
bits want.csv 1 add2.tns add3.tns
fresh full.state
expect 0 'learnt 1 batch' on 1 stream live.state add2.tns
bits got.csv 1 s3.tns --snapshots
same_bits "a batch, then a snapshot"
fresh full.state
expect 0 'learnt' on 1 stream live.state s2.tns --boxes=16x12x5,+6x4x2
expect 0 'learnt 0 batches, 1 skipped' on 1 stream live.state s2.tns --snapshots
fresh full.state
mkdir incoming
cp s2.tns incoming/
begin 1 '"batch":2,' stream live.state --follow=incoming --snapshots
stop_by USR1
same "exit status after a signal" "$status" 85
same "known entries, followed" "$(grep -c "\"known\":$first," live.json)" 1

# --- again ----------------------------------------------------------------------------------------------
# Snapshots that were learnt are skipped, also older ones, so that a killed stream goes on with the same command.
fresh full.state
bits want.csv 1 s2.tns s3.tns --snapshots
fresh full.state
expect 0 'learnt 1 batch' on 1 stream live.state s1.tns s2.tns --snapshots
expect 0 's2.tns has the entries of batches 1 to 2, which were learnt; it is skipped' on 2 stream live.state \
  s1.tns s2.tns s3.tns --snapshots -o r.h5 --overwrite
model_of r.h5 >got.csv
same_bits "a stream that goes on"
expect 0 'learnt 0 batches, 3 skipped' on 1 stream live.state s1.tns s2.tns s3.tns --snapshots
expect 0 'learnt 0 batches, 3 skipped' on 1 stream live.state s1.tns s2.tns s3.tns

# --- what is no snapshot ----------------------------------------------------------------------------------
refused() { # refused PATTERN FILE OPTION...: and the state stays
  pattern=$1
  shift
  fresh full.state
  expect 3 "$pattern" on 2 stream live.state "$@" --snapshots
  if cmp -s full.state live.state && test ! -s live.state.journal; then pass; else fail "$1 changed the state"; fi
}
refused "add2.tns: is no snapshot .* it has 0 entries within the dimensions of live.state, which learnt $first;" add2.tns
cat s2.tns late.tns >s2late.tns
refused "it has $((first + 1)) entries within .*, which learnt $first; give new entries only" s2late.tns
awk 'NR > 1' s1.tns | cat - add2.tns >s2less.tns
refused "it has $((first - 1)) entries within" s2less.tns
awk 'NR == 3 { $4 += 1 } { print }' s1.tns | cat - add2.tns >s2value.tns
refused "learnt $first, of other cells or with other values; give" s2value.tns
{ awk 'NR > 1' s1.tns && cat late.tns add2.tns; } >s2cell.tns
refused "learnt $first, of other cells or with other values; give" s2cell.tns
# Two errors that cancel in the number of entries, and a repeated cell that is merged: no cell is left out.
cat s2.tns >s2twice.tns
head -1 s1.tns >>s2twice.tns
refused "with other values" s2twice.tns --duplicates=sum
fresh full.state
expect 0 '"known":0,' on 1 stream live.state s2late.tns --json=- # without the option: events
# A stream of snapshots ends at the one that is wrong; the others are kept.
fresh full.state
expect 3 'is no snapshot' on 1 stream live.state s2.tns s2late.tns --snapshots
expect 0 "state: 2 batches of $second entries" on 1 stream live.state -o r.h5 --overwrite
expect 2 'by and --boxes cut one INPUT' "$amped" stream full.state s2.tns --by=3 --snapshots
expect 2 'snapshots is about batches' "$amped" stream full.state -o r.h5 --snapshots

# --- a stream of events that recur ------------------------------------------------------------------------
# Known cells are learnt as entries like others; a line has their number as far as the state knows it.
begin_state half.state s1.tns --holdout=50%
cat add2.tns >recur.tns
head -20 s1.tns | awk '{ $4 += 1; print }' >>recur.tns
fresh half.state
expect 0 'recur.tns: of [0-9]* cells, [1-9][0-9]* were known' on 1 \
  stream live.state recur.tns
fresh half.state
"$amped" stream live.state add2.tns --backend="$backend" >out.txt 2>&1
if grep -q "were known" out.txt; then fail "no cell of add2.tns was known"; else pass; fi

# --- labels, bases, zeros, files -------------------------------------------------------------------------
for s in s1 s2 s3; do
  awk 'BEGIN { print "user,item,day,stars" } { printf "u%d,i%d,2024-%02d,%s\n", $1 * 7 % 97, $2 * 5 % 89, $3, $4 }' \
    $s.tns >$s.csv
  awk '{ print $1 - 1, $2 - 1, $3 - 1, (NR % 9 == 0 && $1 > 30 ? 0 : $4) }' $s.tns >$s-zero.tns
  expect 0 '' "$amped" convert $s.csv $s.h5 --value=stars -q
done
begin_state csv.state s1.csv --value=stars
fresh csv.state
bits got.csv 2 s2.csv s3.csv --value=stars --snapshots
same "known entries of tables" "$(grep -o '"known":[0-9]*' r.json | tr '\n' ' ')" "\"known\":$first \"known\":$second "
fresh csv.state
bits got.csv 1 s2.h5 --snapshots
same "known entries of a tensor" "$(grep -c "\"known\":$first" r.json)" 1
begin_state zero.state s1-zero.tns --index-base=0
fresh zero.state
bits got.csv 1 s2-zero.tns --snapshots
same "known entries from 0" "$(grep -c "\"known\":$first" r.json)" 1
begin_state h5.state s1.h5
fresh h5.state
bits got.csv 1 s2.csv s3.h5 --value=stars --snapshots
same "known entries of a table after a tensor" "$(grep -c "\"known\":$second" r.json)" 1

# Repeated cells: as the first fit treated them; sums and means alike.
cat s1.tns late.tns late.tns >d1.tns
cat d1.tns add2.tns >d2.tns
for how in sum mean keep; do
  rm -f dup.state*
  begin_state dup.state d1.tns --duplicates=$how
  fresh dup.state
  bits got.csv 1 d2.tns --snapshots
  same "known entries, $how" "$(grep -o '"known":[0-9]*' r.json)" \
    "\"known\":$(test $how = keep && echo $((first + 2)) || echo $((first + 1)))"
done
finish
