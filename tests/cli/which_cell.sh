#!/bin/sh
# Which cell of a tensor, a model or a state an entry of a second file means: --test, --validate,
# --weights, --exclude, --init, predict, stream and compare, on random tables with permuted rows,
# labels, ids with gaps, both index bases and repeated cells. A planted model tells: entries at their
# cells have an error near the noise, and at others ten times as much.
. "$(dirname "$0")/../lib/lib.sh"
cd "$scratch" || exit 99

# draw SEED: train.csv, test.csv of ids that ascend with gaps; the same with indices from 1 (.tns),
# from 0 (0.tns), with the ids as indices (id.tns, id0.tns), and with names (named-*.csv). Rows of all
# are permuted.
draw() {
  awk -v seed="$1" 'function random() { seed = (seed * 16807) % 2147483647; return seed / 2147483647 }
    function put(name, user, item, week, between) { print user between item between week between value >name }
    BEGIN {
      nu = 24 + int(8 * random()); ni = 14 + int(6 * random()); nw = 5
      for (i = 0; i < nu; i++) { id[i] = at += 1 + int(3 * random()); a[i] = 1 + random(); b[i] = 2 * random() - 1 }
      for (i = 0; i < ni; i++) { c[i] = 1 + random(); d[i] = 2 * random() - 1; place[i] = i }
      for (i = 0; i < nw; i++) { e[i] = 1 + random(); f[i] = 1 + random() }
      n = 0
      for (i = 0; i < nu; i++) for (j = 0; j < ni; j++) for (k = 0; k < nw; k++)
        if (random() < 0.7 || i == j) cells[n++] = i " " j " " k
      for (i = n - 1; i > 0; i--) { j = int((i + 1) * random()); t = cells[i]; cells[i] = cells[j]; cells[j] = t }
      print "user,item,week,stars" >"train.csv"
      print "user,item,week,stars" >"test.csv"
      print "item,user,week,stars" >"swapped.csv"
      print "user,item,week,stars" >"named-train.csv"
      print "user,item,week,stars" >"named-test.csv"
      for (i = 0; i < n; i++) {
        split(cells[i], x, " ")
        # A draw has every index in its learnt part: the first cells stay there.
        name = i % 6 == 0 && seen1[x[1]] && seen2[x[2]] && seen3[x[3]] ? "test" : "train"
        if (name == "train") seen1[x[1]] = seen2[x[2]] = seen3[x[3]] = 1
        value = sprintf("%.4f", 3 + 4 * (a[x[1]] * c[x[2]] * e[x[3]] / 4 + b[x[1]] * d[x[2]] * f[x[3]]) + 0.2 * (random() - 0.5))
        put(name ".csv", x[1] + 1, x[2] + 1, x[3] + 1, ",")
        put(name "-zero.csv.body", x[1], x[2], x[3], ",")
        put(name ".tns", x[1] + 1, x[2] + 1, x[3] + 1, " ")
        put(name "-zero.tns", x[1], x[2], x[3], " ")
        put(name "-id.tns", id[x[1]], x[2] + 1, x[3] + 1, " ")
        put(name "-id0.tns", id[x[1]] - 1, x[2], x[3], " ")
        put("named-" name ".csv", "u" id[x[1]], "i" x[2], "w" x[3], ",")
        if (name == "test") put("swapped.csv", x[2] + 1, x[1] + 1, x[3] + 1, ",")
      }
    }' || fail "awk"
  for part in train test; do
    { echo "user,item,week,stars" && cat $part-zero.csv.body; } >$part-zero.csv
  done
  cp test.tns held.tns && cat test.tns >>held.tns # every cell twice
}

fit="--rank=2 --reg=0.02 --iters=60 --holdout=0 --precision=double --seed=2"

# told LABEL: the error of the last command's line "LABEL: rmse X", or of predict's "rmse  X".
told() { sed -n "s/^$1 *rmse  *\([0-9.eE+-]*\).*/\1/p" "$scratch/out" | tail -n 1; }

# good WHAT VALUE: is the error near the noise?
good() {
  if awk -v x="${2:-nan}" 'BEGIN { exit !(x + 0 == x && x > 0.01 && x < 0.3) }'; then pass; else fail "$1: rmse $2"; fi
}

# judged NAME TRAIN TEST OPTIONS...: complete --test, --validate and predict tell the same small error.
judged() {
  name=$1 train=$2 test=$3
  shift 3
  rm -f m.h5
  # shellcheck disable=SC2086 # a list of options
  expect 0 "" "$amped" complete "$train" $fit "$@" --test="$test" -o m.h5
  error=$(told "test:")
  good "$name: --test" "$error"
  # shellcheck disable=SC2086
  expect 0 "" "$amped" complete "$train" $fit "$@" --validate="$test" --nowrite
  good "$name: --validate" "$(told "validate:")"
  # shellcheck disable=SC2086
  expect 0 "" "$amped" predict m.h5 "$test" $value
  close "$name: predict" "$(told "")" "$error" 1e-5
  # The table of predictions names cells as the model does, which finds them again.
  # shellcheck disable=SC2086
  expect 0 "" "$amped" predict m.h5 "$test" $value -o back.csv --overwrite
  expect 0 "" "$amped" predict m.h5 back.csv --value=value
  close "$name: its own table" "$(told "")" 0 1e-4
}

# excluded NAME TRAIN: what a user has rated is not recommended.
excluded() {
  # shellcheck disable=SC2086
  expect 0 "" "$amped" recommend m.h5 --for=1 --of=2 -n 3 --exclude="$2" $value -o best.csv --overwrite
  expect 0 "" "$amped" recommend m.h5 --for=1 --of=2 -n 3 -o any.csv --overwrite
  if cmp -s best.csv any.csv; then fail "$1: --exclude leaves nothing out"; else pass; fi
}

# refused WHAT COMMAND...: with status 3.
refused() {
  what=$1
  shift
  expect 3 "$what" "$amped" "$@"
}

for seed in ${AMPED_SEEDS:-11 22 33}; do
  draw "$seed"
  for t in train test; do
    rm -f $t.h5 $t-0.h5 $t-id.h5 $t-id0.h5
    expect 0 "" "$amped" convert $t.tns $t.h5 -q
    expect 0 "" "$amped" convert $t-zero.tns $t-0.h5 --index-base=0 -q
    expect 0 "" "$amped" convert $t-id.tns $t-id.h5 --compact -q
    expect 0 "" "$amped" convert $t-id0.tns $t-id0.h5 --compact --index-base=0 -q
  done

  # The same cells, by every name that they have.
  value=
  judged "indices" train.tns test.tns
  judged "indices, tensor files" train.h5 test.h5
  judged "indices from 0" train-zero.tns test-zero.tns --index-base=0
  judged "indices from 0, remembered" train-0.h5 test-zero.tns
  judged "indices from 0 and 1, tensor files" train-0.h5 test.h5
  judged "ids" train-id.h5 test-id.tns
  excluded "ids" train-id.tns
  judged "ids, tensor files" train-id.h5 test-id.h5
  judged "ids from 0, remembered" train-id0.h5 test-id0.tns
  # A header or a file's own base says what an id is, on either side; a text of convert says it as well.
  { echo "# base: 1" && cat test-id.tns; } >says1.tns
  { echo "# base: 0" && cat test-id0.tns; } >says0.tns
  { printf '%%%%MatrixMarket tensor coordinate real general\n' && awk '
      { for (m = 1; m < 4; m++) if ($m > d[m]) d[m] = $m; line[NR] = $0 }
      END { print d[1], d[2], d[3], NR; for (k = 1; k <= NR; k++) print line[k] }' test-id.tns; } >market.tns
  expect 0 "" "$amped" convert test-0.h5 said.tns --overwrite -q
  judged "indices from 0, a text of convert" train-0.h5 said.tns
  for cells in says1.tns market.tns test-id.h5; do
    judged "ids from 0, $cells from 1" train-id0.h5 $cells
  done
  for cells in says0.tns test-id0.h5; do
    judged "ids from 1, $cells from 0" train-id.h5 $cells
  done
  expect 0 "" "$amped" convert train-id0.tns plain-id0.h5 --index-base=0 --overwrite -q
  judged "indices from 0, ids from 1" plain-id0.h5 test-id.h5
  judged "indices from 1, ids from 0" train-id.tns test-id0.h5
  # shellcheck disable=SC2086
  for base in "" 0; do expect 0 "" "$amped" complete train-id$base.h5 $fit -o id$base.h5 --overwrite; done
  expect 0 "factor match score 1.0000" "$amped" compare id.h5 id0.h5
  for cells in says1.tns says0.tns; do
    expect 0 "" "$amped" recommend id0.h5 --for=1 --of=2 -n 5 --exclude=$cells -o $cells.csv --overwrite
  done
  cmp -s says1.tns.csv says0.tns.csv && pass || fail "--exclude in two index bases"
  value=--value=stars
  judged "names" named-train.csv named-test.csv $value
  excluded "names" named-train.csv
  judged "numbers as names" train.csv test.csv $value
  judged "numbers as indices" train.h5 test.csv $value
  excluded "numbers as indices" train.csv
  judged "numbers as indices from 0, remembered" train-0.h5 test-zero.csv $value
  value=

  # Entries of one cell are judged one by one.
  expect 0 "" "$amped" complete train.tns $fit --test=held.tns --nowrite
  good "repeated cells" "$(told "test:")"
  same "repeated cells" "$(sed -n 's/^test:.* on \([0-9]*\) entries.*/\1/p' "$scratch/out")" $(($(wc -l <test.tns) * 2))

  # What tells no cell is refused.
  value=--value=stars
  expect 0 "" "$amped" convert train.csv numbered.h5 $value --overwrite -q
  refused "mode 1 is called item" complete train.csv $fit $value --test=swapped.csv --nowrite
  refused "mode 1 is called item" complete train.csv $fit $value --validate=swapped.csv --nowrite
  refused "mode 1 is called item" complete train.csv $fit $value --weights=swapped.csv --nowrite
  refused "has only indices" complete numbered.h5 $fit --test=test.tns --nowrite
  refused "not an index from 1" complete train.h5 $fit --test=named-test.csv $value --nowrite
  expect 0 "" "$amped" complete train.csv $fit $value -o n.h5 --overwrite
  refused "has only indices" predict n.h5 test.tns
  refused "has only indices" recommend n.h5 --for=1 --of=2 --exclude=test.tns
  # A label is a number in any spelling.
  for as in '%d.0' '%03d' '%de0'; do
    head -n 1 train.csv >spelt.csv
    awk -F , -v as="$as" 'NR > 1 { printf as "," as "," as ",%s\n", $1, $2, $3, $4 }' train.csv >>spelt.csv
    expect 0 "" "$amped" complete spelt.csv $fit $value -o spelt.h5 --overwrite
    refused "has only indices" predict spelt.h5 test.tns
    expect 0 "" "$amped" convert spelt.csv spelt-list.h5 $value --overwrite -q
    refused "has only indices" complete spelt-list.h5 $fit --test=test.tns --nowrite
    refused "has only indices" recommend spelt.h5 --for=1 --of=2 --exclude=test.tns
    expect 0 "" "$amped" complete train.tns $fit -o plain.h5 --overwrite
    refused "not an index from 1" compare spelt.h5 plain.h5
  done
  expect 0 "" "$amped" complete named-train.csv $fit $value -o m.h5 --overwrite
  expect 0 "by index" "$amped" predict m.h5 test.tns
  refused "mode 1 is called item" predict m.h5 swapped.csv $value
  refused "mode 1 is called item" recommend m.h5 --for=1 --of=2 --exclude=swapped.csv $value
  # Other names say nothing about the modes: a warning names each.
  sed '1s/.*/client,product,when,stars/' named-test.csv >other.csv
  for command in "complete named-train.csv $fit --test=other.csv --nowrite" "predict m.h5 other.csv" \
    "recommend m.h5 --for=1 --of=2 --exclude=other.csv"; do
    expect 0 "warning: other.csv: client is taken for user of .*, by its place" "$amped" $command $value
    same "columns in warnings: $command" "$(grep -c 'warning: other.csv: .* by its place' err)" 3
  done
  sed '1!s/,/.0,/' named-train.csv >floats.csv
  refused "none of its" recommend m.h5 --for=1 --of=2 --exclude=floats.csv $value
  sed '1!s/,/.0,/g' named-train.csv >floats.csv
  refused "none of its" complete named-train.csv $fit $value --test=floats.csv --nowrite

  # --init goes by label: no sweep is needed where the model is the run's own.
  sed -n 1p named-train.csv >turned.csv
  sed 1d named-train.csv | sort >>turned.csv
  expect 0 "" "$amped" complete turned.csv --rank=2 --reg=0.02 --iters=1 --holdout=0 --precision=double $value --init=m.h5 -o w.h5 --overwrite
  good "--init" "$(told "train:")"
  expect 0 "" "$amped" cpd named-train.csv $value --rank=2 --iters=50 --precision=double -o a.h5 --overwrite
  expect 0 "" "$amped" cpd turned.csv $value --rank=2 --iters=1 --precision=double --init=a.h5 -o b.h5 --overwrite
  expect 0 "by labels" "$amped" compare a.h5 b.h5
  awk -v x="$(sed -n 's/^factor match score \([0-9.]*\).*/\1/p' "$scratch/out")" 'BEGIN { exit !(x > 0.98) }' && pass || fail "cpd --init"
  expect 0 "" "$amped" cpd swapped.csv $value --rank=2 --iters=2 -o c.h5 --overwrite
  expect 0 "" "$amped" cpd test.csv $value --rank=2 --iters=2 -o d.h5 --overwrite
  refused "is called item" compare d.h5 c.h5
  refused "lacks .* rows of mode" cpd turned.csv $value --rank=2 --init=d.h5 --nowrite

  # A stream: the same batch, whatever it is called.
  for way in "train.tns test.tns" "train-0.h5 test-zero.tns" "train-id.h5 test-id.tns" "train-id0.h5 test-id0.tns" \
    "named-train.csv named-test.csv" "train-0.h5 test-zero.csv"; do
    train=${way% *} test=${way#* }
    with=
    case $way in *csv) with=$value ;; esac
    train_with=
    case $train in *csv) train_with=$value ;; esac
    rm -f s.state s.state.*
    expect 0 "" "$amped" complete "$train" $fit $train_with --state=s.state --nowrite
    expect 0 "" "$amped" stream s.state "$test" $with
    good "stream $way" "$(sed -n 's/.*before[^0-9]*\([0-9.]*\).*/\1/p' "$scratch/out" | tail -n 1)"
  done
  expect 0 "" "$amped" complete named-train.csv $fit $value --state=s.state --nowrite --overwrite
  refused "no labels in mode 1" stream s.state test.tns
  refused "mode 1 is called item" stream s.state swapped.csv $value
  expect 0 "warning: other.csv: client is taken for user of s.state, by its place" "$amped" stream s.state other.csv $value
done

# Columns of a table without a header are called by their places, which tell the same columns in another
# order. Columns that stand in the model's order are named so by --keys.
sed 1d named-train.csv >bare-train.csv
sed 1d named-test.csv >bare-test.csv
bare="--no-header --value=4"
expect 0 "" "$amped" complete bare-train.csv $fit $bare --keys=3,1,2 -o bare.h5 --state=bare.state --overwrite
for command in "predict bare.h5 bare-test.csv $bare" "stream bare.state bare-test.csv $bare" \
  "recommend bare.h5 --for=1 --of=2 --exclude=bare-test.csv $bare" \
  "complete bare-train.csv $fit $bare --keys=3,1,2 --test=bare-test.csv --nowrite"; do
  case $command in
    *--keys*) expect 0 "test: rmse" "$amped" $command ;;
    *) refused "mode 1 is called 1, but that is mode 2 of bare" $command ;;
  esac
done
awk -F, '{ print $3 "," $1 "," $2 "," $4 }' bare-test.csv >turned.csv
expect 0 "rmse" "$amped" predict bare.h5 bare-test.csv $bare --keys=3,1,2
sed -n 's/^rmse *//p' out >named.rmse
expect 0 "rmse" "$amped" predict bare.h5 turned.csv $bare --keys=1,2,3
same "rmse of columns in the model's order" "$(sed -n 's/^rmse *//p' out)" "$(cat named.rmse)"
expect 0 "" "$amped" convert turned.csv turned.h5 $bare --overwrite
expect 0 "warning: turned.h5: mode 1 is taken for column 3 of bare.h5, by its place" "$amped" predict bare.h5 turned.h5
finish
