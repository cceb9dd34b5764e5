#!/bin/sh
# complete and stream with values of any size and offset: predictions shift and scale along, errors
# are those of predict, and numbers are told with enough digits.
. "$(dirname "$0")/../lib/lib.sh"
needs python3
python=python3
here=$(cd "$(dirname "$0")" && pwd)
cd "$scratch" || exit 99
numbers() { expect 0 "" "$python" "$here/complete_numbers.py" "$@"; }

# make SEED OFFSET SCALE NAME
make() { numbers make $1 $2 $3 $4.train.tns $4.test.tns $4.batch.tns; }

# complete's options of a method, by its name.
method() {
  case $1 in
  als) echo "--reg=1" ;;
  none) echo "--reg=1 --bias=none" ;;
  ccd) echo "--method=ccd --reg=1" ;;
  sgd) echo "--method=sgd --reg=1" ;;
  block) echo "--block=1 --reg=1" ;;
  esac
}

# learn NAME METHOD PRECISION: a model of NAME.train.tns, NAME.h5, and its values at NAME.test.tns.
learn() {
  expect 0 "" on 1 complete $1.train.tns --rank=2 --iters=8 --holdout=0 $(method $2) \
    --precision=$3 --test=$1.test.tns --json=$1.json -o $1.h5 --overwrite
  expect 0 "" "$amped" predict $1.h5 $1.test.tns --json=$1.predict.json -o $1.csv --overwrite
}

# A stream goes on from NAME.train.tns with NAME.batch.tns.
go_on() {
  rm -f $1.state*
  expect 0 "" on 1 complete $1.train.tns --rank=2 --iters=8 --reg=1 --state=$1.state -o $1.h5 --overwrite
  expect 0 "" on 1 stream $1.state $1.batch.tns -o $1.h5 --json=$1.json --overwrite
  expect 0 "" "$amped" predict $1.h5 $1.test.tns -o $1.csv --overwrite
}

# Rounding of values is 1e-16 of the offset, of floats 1e-7, and some hundred of these in a fit.
# Clock readings, dates, sizes; then offsets and scales that are drawn, each with other cells.
make 1 0 1 base
learn base als float
for shape in "1.7e9 1" "20240115 37" "0 1e-30" "-7.25e42 1e34"; do
  set -- $shape
  make 1 $1 $2 other
  learn other als float
  numbers close base.csv other.csv $1 $2 1e-4
  numbers agree other.json other.predict.json $2
done
seed=11
for m in als ccd sgd block; do
  set -- $("$python" -c 'import random, sys
r = random.Random(int(sys.argv[1]))
scale = 10 ** r.uniform(-20, 20)
print(repr(r.uniform(-1, 1) * scale * 10 ** r.uniform(0, 9)), repr(scale))' $seed)
  make $seed 0 1 base
  make $seed $1 $2 other
  learn base $m float
  learn other $m float
  numbers close base.csv other.csv $1 $2 1e-4
  numbers agree other.json other.predict.json $2
  learn other $m double
  numbers close base.csv other.csv $1 $2 1e-3 # of float and double
  seed=$((seed + 1))
done
go_on base
go_on other
numbers close base.csv other.csv $1 $2 1e-4

# The files' ways: HDF5 with ordered copies, several ranks.
learn other als float
cp other.csv one.csv
tolerance=$(awk "BEGIN { print 1e-4 * $2 }")
expect 0 "" "$amped" convert other.train.tns copies.h5 -q
for from in other.train.tns copies.h5; do
  expect 0 "" on 2 complete $from --rank=2 --iters=8 --holdout=0 --reg=1 -o two.h5 --overwrite
  expect 0 "" "$amped" predict two.h5 other.test.tns -o two.csv --overwrite
  numbers close one.csv two.csv 0 1 $tolerance
done

# Without a mean values scale along, and do not shift. Lines have digits at any size.
make 1 0 1 base
make 1 0 1e-30 other
learn base none float
learn other none float
numbers close base.csv other.csv 0 1e-30 1e-4
expect 0 "^train: rmse [1-9][.0-9]*e-3[0-9] on" on 1 complete other.train.tns --rank=2 --reg=1 -o tiny.h5
make 1 0 1e30 other
expect 0 "^train: rmse [1-9][.0-9]*e+[0-9]* on" on 1 complete other.train.tns --rank=2 --reg=1 -o huge.h5

# Near the ends of the doubles, where squares still have all digits: the same models, chosen by the same held-out
# errors. Beyond, all methods refuse.
make 1 0 1 base
for m in als ccd sgd block; do
  for precision in float double; do
    run="--rank=2 --iters=8 --holdout=0.2 $(method $m) --precision=$precision --overwrite -q"
    # shellcheck disable=SC2086
    expect 0 "" on 1 complete base.train.tns $run -o base.h5
    expect 0 "" "$amped" predict base.h5 base.test.tns -o base.csv --overwrite
    for scale in 1e-144 1e149; do
      make 1 0 $scale other
      # shellcheck disable=SC2086
      expect 0 "" on 1 complete other.train.tns $run -o other.h5
      expect 0 "" "$amped" predict other.h5 other.test.tns -o other.csv --overwrite
      numbers close base.csv other.csv 0 $scale 1e-4
    done
    make 1 0 1e-160 other
    # shellcheck disable=SC2086
    expect 3 "other.train.tns: values of about .*e-160 are so small that squares of errors lose" on 1 complete other.train.tns $run -o other.h5
    make 1 0 1e160 other
    # shellcheck disable=SC2086
    expect 3 "other.train.tns: its norm is not finite" on 1 complete other.train.tns $run -o other.h5
  done
done
make 1 0 1e-160 other
expect 3 "are so small that squares of errors lose" on 2 complete other.train.tns --rank=2 --reg=1 --nowrite

# A mean so far from 0 that a result cannot hold it: a warning.
for far in 1e9:0 1e14:1; do
  awk -v far=${far%:*} '/#/ || NF == 0 { print; next } { $NF = sprintf("%.0f", far + 10 * $NF); print }' base.train.tns >far.tns
  expect 0 "" on 1 complete far.tns --rank=1 --reg=1 --iters=1 --nowrite
  same "$far: a warning of the mean" "$(grep -c 'times their spread, so that a result holds it to' err)" ${far#*:}
done

# Equal values teach nothing.
sed 's/[^ ]*$/1/' base.train.tns >ones.tns
expect 0 "warning: .*ones.tns: all .* training values are 1, .*--implicit" on 1 complete ones.tns \
  --rank=2 --reg=1 -o ones.h5
sed 's/[^ ]*$/1.7e9/' base.train.tns >ones.tns
expect 0 "warning: .*ones.tns: all .* training values are 1.7e+09" on 1 complete ones.tns \
  --rank=2 --reg=1 --bias=none -o ones.h5 --overwrite
# They have no spread, of which an error of gaps could be expected.
printf 'u,i,r\na,x,3\na,y,3\nb,x,3\nb,z,3\nc,y,3\nc,z,3\n' >equal.csv
expect 0 "warning: equal.csv: all 6 training values are 3" on 1 complete equal.csv --value=r --rank=1 --holdout=0 --reg=1 \
  -o equal.h5
same "warnings of equal values" "$(grep -c 'expect rmse' err)" 0
expect 0 "" "$amped" predict equal.h5 -o equal.npy
same "warnings of predict" "$(grep -c 'expect rmse' err)" 0

# SGD keeps its components: it ends where ALS does. Steps from small random rows shrank components to zeros.
cat >planted.py <<'END'
import random, sys
r = random.Random(int(sys.argv[1]))
dims, ncomps = (60, 50, 12), 4
rows = [[[r.gauss(0, 1) for _ in range(ncomps)] for _ in range(n)] for n in dims]
for i in range(60):
    for j in range(50):
        for k in range(12):
            if r.random() < 0.15:
                x = sum(rows[0][i][c] * rows[1][j][c] * rows[2][k][c] for c in range(ncomps))
                print(i + 1, j + 1, k + 1, "%.6f" % (x + 0.2 * r.gauss(0, 1)))
END
# least METHOD BIAS: the objective at the end
least() {
  on 1 complete planted.tns --rank=4 --method="$1" --bias="$2" --context=none --reg=0.3 --holdout=0 --iters=300 \
    --nowrite -q --json=end.json --overwrite >said.txt 2>&1 || fail "$1: $(cat said.txt)"
  field objective end.json
}
for seed in $(few 1 2 3 4); do
  "$python" planted.py $seed >planted.tns
  for bias in none mean; do
    of_als=$(least als $bias)
    of_sgd=$(least sgd $bias)
    if awk "BEGIN { exit !($of_sgd < 1.02 * $of_als) }"; then pass; else fail "--bias=$bias, seed $seed: sgd $of_sgd, als $of_als"; fi
  done
done
finish
