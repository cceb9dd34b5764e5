#!/bin/sh
# complete --weights and --implicit: against numpy from the same start; the objective never rises; ranks
# agree; a column of a table, files in other orders; checkpoints; what is refused, and with which options
# they go.
. "$(dirname "$0")/../lib/lib.sh"
python=$(find_python)
script=$(cd "$(dirname "$0")" && pwd)/complete_reference.py
cd "$scratch" || exit 99

# relative WHAT A B TOLERANCE
relative() { close "$1" 1 "$(awk -v a="$2" -v b="$3" 'BEGIN { printf "%.17g", b != 0 ? a / b : a == b ? 1 : 2 }')" "$4"; }
# equal A.h5 B.h5 SET...: to the bit
equal() {
  one=$1 other=$2
  shift 2
  command -v h5diff >/dev/null || return
  for set in "$@"; do
    if h5diff "$one" "$other" "/$set" "/$set" >/dev/null 2>&1; then pass; else fail "other bits: $one $other $set"; fi
  done
}

# --- tensors: counts from 1 to 5; weights of the same cells, in another order --------------------------
"$amped" generate a.h5 --dims=30x20x10 --nnz=1500 --skew=0.5 --seed=1 -q || fail "generate"
"$amped" generate b.h5 --dims=12x9x8x7 --nnz=900 --skew=0.6 --seed=2 -q || fail "generate"
heavy_tensor >heavy.raw
for t in a b; do "$amped" convert $t.h5 $t.raw.tns -q || fail "convert"; done
mv heavy.raw heavy.raw.tns
# c: 40 % of the entries have one index.
awk 'BEGIN { for (k = 0; k < 2500; k++) print (k % 5 < 2 ? 7 : 1 + k % 60), 1 + k % 3, 1 + k * 7919 % 499, 1 }' |
  awk '!seen[$1, $2, $3]++' >c.raw.tns
# d: ranked by blocks of rows.
awk 'BEGIN { for (k = 0; k < 4000; k++) print 1 + k % 19, 1 + k % 3, 1 + k * k % 2099, 1 + k % 5 }' | awk '!seen[$1, $2, $3]++' >d.tns
for t in a b c heavy; do
  awk '$1 !~ /^#/ { $NF = 1 + (NR * 7) % 5; print }' $t.raw.tns >$t.tns
  awk '$1 !~ /^#/ { $NF = NR % 4; print }' $t.tns | sort -r >$t.whole.tns # 0, 1, 2, 3
  awk '$1 !~ /^#/ { $NF = NR % 9 / 4; print }' $t.tns | sort -k2 >$t.part.tns
  awk '$1 !~ /^#/ { $NF = 1; print }' $t.tns >$t.ones.tns
done
"$amped" convert heavy.part.tns heavy.part.h5 -q || fail "convert"

# --- against numpy: in double, after each of three sweeps, to 1e-9 ----------------------------------
against_numpy() { # against_numpy TENSOR RANKS R REG POWER CONTEXT HOW-OF-THE-REFERENCE OPTION...
  t=$1 n=$2 r=$3 reg=$4 power=$5 context=$6 how=$7
  shift 7
  expect 0 "" on "$n" complete $t.tns --rank="$r" --init=start-$t.h5 --reg="$reg" --reg-power="$power" \
    --context="$context" --holdout=0.1 --split-seed=5 --iters=3 --tol=0 --precision=double -o result.h5 \
    --overwrite -q "$@"
  # shellcheck disable=SC2086
  if "$python" "$script" compare $t.tns start-$t.h5 result.h5 "$reg" "$power" 3 "$context" 0.1 5 3 1e-9 $how \
    >reference.txt 2>&1; then
    pass
  else
    fail "numpy, $t on $n ranks, $how: $(tail -1 reference.txt)"
  fi
}
if test -n "$python"; then
  "$python" "$script" start start-a.h5 4 30 20 10
  "$python" "$script" start start-b.h5 3 12 9 8 7
  "$python" "$script" start start-c.h5 3 60 3 499
  "$python" "$script" start start-d.h5 3 19 3 $(awk '$3 > n { n = $3 } END { print n }' d.tns)
  against_numpy a 1 4 0.5 0.5 3 weights=a.part.tns --weights=a.part.tns
  against_numpy a 3 4 0.5 1 none repeats=a.whole.tns --weights=a.whole.tns # weight 2: an entry twice
  against_numpy b 2 3 2 0.5 none weights=b.part.tns --weights=b.part.tns --bias=none
  # Indices are split over ranks.
  against_numpy c 4 3 1 0.5 2 weights=c.part.tns --weights=c.part.tns --placement=equal
  against_numpy a 2 4 0.5 0.5 3 "weights=a.part.tns block=1" --weights=a.part.tns --method=ccd
  against_numpy c 4 3 1 0.5 2 "weights=c.part.tns block=2" --weights=c.part.tns --placement=equal --block=2
  against_numpy a 1 4 0.5 0.5 none "implicit=2.5 2" --implicit=2.5
  against_numpy a 4 4 0.5 0 3 "implicit=0.5 1" --implicit=0.5 --of=1 --placement=equal
  against_numpy b 3 3 2 1 none "implicit=1 4" --implicit=1 --of=4
  for n in 1 3; do
    against_numpy d $n 3 2 0.5 none "implicit=4 3" --implicit=4 --of=3
  done
else
  echo "skipped: no python3 with numpy and h5py"
fi

# --- the objective never rises, in double ------------------------------------------------------------
never_rises() { # never_rises TENSOR OPTION...
  t=$1
  shift
  expect 0 "" "$amped" complete $t.tns --rank=4 --iters=12 --tol=0 --patience=100 --precision=double --nowrite -q \
    --json=f.json "$@"
  if events iteration objective f.json | awk 'NR > 1 && $1 > last * (1 + 1e-12) { bad = 1 }
    { last = $1 } END { exit bad || NR < 12 }'; then pass; else fail "objective rises: $t $*"; fi
}
never_rises a --reg=0.5 --weights=a.part.tns
never_rises b --reg=0.1 --weights=b.part.tns --method=ccd
never_rises b --reg=0.1 --weights=b.part.tns --nonnegative --context=none
never_rises a --reg=0.5 --implicit=3
never_rises b --reg=0.1 --implicit=1 --nonnegative --reg-power=0 --context=4 --order=random

# --- weights of 1 change nothing, in float on a GPU but for rounding; ranks agree; a column is as good as a file ----------------------------
pair="--rank=5 --reg=1 --iters=3 -q"
test "$backend" = cpu || pair="$pair --precision=double"
# shellcheck disable=SC2086
expect 0 "" on 2 complete heavy.tns $pair -o plain.h5
# shellcheck disable=SC2086
expect 0 "" on 2 complete heavy.tns $pair -o ones.h5 --weights=heavy.ones.tns
equal plain.h5 ones.h5 weights factors/0 factors/1 factors/2 bias/0 rmse/validate
for how in "--weights=heavy.part.tns" "--implicit=2 --context=3"; do
  for n in 1 4; do
    # shellcheck disable=SC2086
    expect 0 "" on $n complete heavy.tns --rank=5 --reg=1 --iters=3 --precision=double --nowrite -q \
      --json=r$n.json $how
    relative "objective on $n ranks" "$(events end objective r$n.json)" "$(events end objective r1.json)" 1e-10
    key=rmse
    test "${how#--imp}" = "$how" || key=ndcg
    relative "$key on $n ranks" "$(events end $key r$n.json)" "$(events end $key r1.json)" 1e-10
  done
done
awk 'BEGIN { print "user,item,week,stars,sure"
  for (n = 0; n < 600; n++) printf "u%d,v%d,w%d,%d,%g\n", n * 7 % 23, n * 13 % 17, n % 11, 1 + n * n % 5, n % 8 / 4 }' |
  awk -F, '!seen[$1, $2, $3]++' >table.csv
cut -d, -f1-3,5 table.csv >sure.csv
{ echo item,week,user,stars; tail -n +2 sure.csv | sort -r | awk -F, -v OFS=, '{ print $2, $3, $1, $4 }'; } >turned.csv
{ echo user,item,week,stars; tail -n +2 sure.csv | sort; } >sorted.csv
# Cells of which most are not in the table.
awk -F, -v OFS=, 'NR > 1 { sub(/w/, "", $3); $3 = "w" ($3 + 1) % 11; $4 = 1 } { print }' sorted.csv >fresh.csv
keys="--keys=user,item,week --value=stars"
same_run="--rank=3 --reg=1 --iters=3 --precision=double -q --overwrite"
# shellcheck disable=SC2086
expect 0 "" on 2 complete table.csv --value=stars --weights=sure $same_run -o column.h5
# shellcheck disable=SC2086
expect 0 "" on 2 complete table.csv $keys --weights=sorted.csv $same_run -o file.h5
equal column.h5 file.h5 weights factors/0 factors/1 factors/2 bias/0 rmse/validate
# Cells that come twice: their weights add up.
{ cat sorted.csv; sed -n '3,5p' sorted.csv; } >twice.csv
awk -F, -v OFS=, 'NR >= 3 && NR <= 5 { $4 *= 2 } { print }' sorted.csv >doubled.csv
for f in twice doubled; do
  # shellcheck disable=SC2086
  expect 0 "" on 1 complete table.csv $keys --weights=$f.csv $same_run -o $f.h5
done
equal twice.h5 doubled.h5 factors/0 bias/1
grep -q 'duplicates=mean' err && fail "advice that --weights does not heed" || pass
# Weights of one a cell are well defined, whatever happened to repeated cells of INPUT; before, too.
{ cut -d, -f1-4 table.csv; sed -n '3,5p' table.csv | cut -d, -f1-4; } >again.csv
for how in mean last sum; do
  expect 0 "" "$amped" convert again.csv merged.h5 $keys --duplicates=$how -q --overwrite
  # shellcheck disable=SC2086
  expect 0 "" on 2 complete merged.h5 $keys --weights=sorted.csv $same_run -o merged.c.h5
  # shellcheck disable=SC2086
  expect 0 "" on 2 complete again.csv $keys --weights=sorted.csv --duplicates=$how $same_run -o again.c.h5
  equal merged.c.h5 again.c.h5 weights factors/0 bias/1
  # shellcheck disable=SC2086
  expect 3 "twice.csv: has several weights of a cell" on 2 complete merged.h5 $keys --weights=twice.csv $same_run -o again.c.h5
done
# If values come twice as well, which weight belongs to which value is not known.
{ cut -d, -f1-4 table.csv; sed -n '3,5p' table.csv | cut -d, -f1-4; } >again.csv
for how in mean last sum; do
  # shellcheck disable=SC2086
  expect 3 "twice.csv: has several weights of a cell" on 2 complete again.csv $keys --weights=twice.csv --duplicates=$how $same_run -o again.h5
done

# --- entries of weight 0 are as if they were not there, whatever their values are ----------------------------
$python - <<'PY'
import numpy as np

g = np.random.default_rng(8)
a, b, c = (g.normal(size=(n, 2)) for n in (14, 12, 9))
x = np.einsum("ir,jr,kr->ijk", a, b, c) + 0.05 * g.normal(size=(14, 12, 9))
gone = g.random(x.shape) < 0.3
np.save("gaps.npy", np.where(gone, np.nan, x))
np.save("masked.npy", np.where(gone, -999, x))
np.save("mask.npy", np.where(gone, 0.0, 1.0))
cells = [(i, j, k, float("%.9g" % x[i, j, k]), not gone[i, j, k]) for i, j, k in np.ndindex(x.shape)]
g.shuffle(cells)
for name, keep in ("gaps.csv", False), ("masked.csv", True):
    with open(name, "w") as f:
        print("a,b,c,v,w", file=f)
        for i, j, k, v, w in cells:
            if w or keep:
                print("a%d,b%d,c%d,%.9g,%d" % (i, j, k, v if w else 77, w), file=f)
PY
zeros=$($python -c 'import numpy; print(int((numpy.load("mask.npy") == 0).sum()))')
masked_run="--rank=2 --bias=none --reg=0.01 --iters=30 --precision=double --overwrite"
for n in 1 3; do
  for kind in npy csv; do
    value=$(test $kind = csv && echo --value=v)
    weights=$(test $kind = csv && echo w || echo mask.npy)
    # shellcheck disable=SC2086
    expect 0 "" on $n complete gaps.$kind $value $(test $kind = csv && echo --keys=a,b,c) $masked_run -o gaps.h5 --json=gaps.json
    # shellcheck disable=SC2086
    expect 0 "weights: $weights, [0-9]* in all for the [0-9]* entries that are learnt; $zeros entries of weight 0 are neither" \
      on $n complete masked.$kind $value --weights=$weights $masked_run -o masked.h5 --json=masked.json
    same "advice to fit masked cells" "$(grep -c 'no cell is missing' err)" 0
    same "$kind: entries that validate" "$(events completion validate masked.json)" "$(events completion validate gaps.json)"
    same "$kind: entries that are learnt" "$(events completion train masked.json)" "$(events completion train gaps.json)"
    # Labels of a table are numbered as they come, so that the starts differ.
    test $kind = csv || close "rmse" "$(events end rmse masked.json)" "$(events end rmse gaps.json)" 1e-7
  done
done
expect 2 "--clip=data: the range of the data would be that of the $zeros entries of weight 0" "$amped" complete masked.csv --value=v --weights=w \
  --rank=2 --clip=data --nowrite
# An array that has values in masked cells: predict keeps them as observed, and says so.
# shellcheck disable=SC2086
expect 0 "" on 1 complete masked.npy --weights=mask.npy $masked_run -o masked.h5
expect 0 "warning: masked.npy: $zeros of its cells are kept as observed, .* unknown to the model, .*--weights=mask.npy" \
  "$amped" predict masked.h5 -o full.npy --observed=masked.npy
expect 0 " $zeros predicted" "$amped" predict masked.h5 -o full.npy --observed=gaps.npy --overwrite
grep -q "kept as observed" err && fail "a warning of an array without the masked cells" || pass
# Nor does a state keep them.
expect 0 "" on 2 complete masked.csv --value=v --weights=w --rank=2 --bias=none --reg=0.01 --iters=5 --nowrite --state=masked.state
same "held-out entries of the state" "$($python -c 'import h5py; print(h5py.File("masked.state")["held/values"].size)')" \
  "$(events completion validate masked.json)"

# Values that are weights, too: a warning, for the file itself and for a copy; not for weights of 1 beside values of 1.
own="--rank=2 --reg=1 --iters=2 --nowrite"
cp table.csv copy.csv
for weights in table.csv copy.csv; do
  # shellcheck disable=SC2086
  expect 0 "warning: $weights: its weights are the values of the entries themselves" on 2 complete table.csv $keys \
    --weights=$weights $own
done
for weights in sure sorted.csv; do
  # shellcheck disable=SC2086
  expect 0 "" on 2 complete table.csv $keys --weights=$weights $own
  grep -q "weights are the values" err && fail "a warning of other weights: $weights" || pass
done
printf 'a,b,r\nx,y,1\nx,z,1\nt,y,1\n' >ones.csv
expect 0 "training values are 1" on 1 complete ones.csv --value=r --weights=ones.csv --rank=1 --reg=1 --holdout=0 --nowrite
grep -q "weights are the values" err && fail "a warning of weights of 1" || pass

# --- what is told ---------------------------------------------------------------------------------------
expect 0 "weights: sure, [0-9.]* in all for the [0-9]* entries" "$amped" complete table.csv --value=stars --weights=sure --rank=2 \
  --reg=1 --iters=2 --nowrite --json=told.json
same "weights in JSON" "$(events completion weights told.json)" '"sure"'
expect 0 "ndcg [0-9.]* \*  train [0-9.]*  hits [0-9.]*  test [0-9.]*" "$amped" complete a.tns --implicit=2 --of=1 --rank=3 --reg=1 \
  --iters=2 --test=a.ones.tns -o told.h5 --json=told.json
same "implicit in JSON" "$(events completion implicit told.json)" 2.0
same "the mode in JSON" "$(events completion of told.json)" 1
awk '/"event":"end"/ && /"ndcg":/ && /"hit_rate":/ && /"test":{"count":[1-9]/ { found = 1 } END { exit !found }' told.json &&
  pass || fail "ranks in JSON"
expect 0 "implicit     entries are ones of weight 1 + 2" "$amped" info told.h5
expect 0 '"implicit": *2.0' "$amped" info told.h5 --json=-
# Test entries with a row that was never trained are counted apart, as those of ratings are.
awk 'BEGIN { srand(2); print "user,song,plays"
  for (n = 0; n < 900; n++) { u = int(rand() * 60); s = (u % 3) * 10 + int(rand() * 12); if (!seen[u, s]++) print "u" u ",s" s ",d" n % 2 "," 1 + int(rand() * 5) } }' |
  sed '1s/.*/user,song,day,plays/' >plays.csv
{ sed -n 1p plays.csv && sed 1d plays.csv | awk 'NR % 10 == 0'; } >known.csv
awk 'NR == 1 || (NR - 1) % 10' plays.csv >learnt.csv
{ cat known.csv && sed 1d known.csv | sed 's/^u/stranger/'; } >half.csv
rank_run="--value=plays --keys=user,song,day --implicit=5 --of=song --rank=3 --reg=1 --iters=8 --overwrite"
for n in 1 3; do
  # shellcheck disable=SC2086
  expect 0 "^these ranks leave out labels that are learnt" on $n complete learnt.csv $rank_run --validate=known.csv --test=known.csv -o known.h5 --json=known.json
  same "cold entries of known rows" "$(grep -c 'never trained' out)" 0
  # shellcheck disable=SC2086
  expect 0 "test: ndcg [0-9.]*, hit rate [0-9.]* at 10 on $((2 * $(sed 1d known.csv | wc -l))) entries; $(sed 1d known.csv | wc -l) of them have a row that was never trained: ndcg" \
    on $n complete learnt.csv $rank_run --validate=known.csv --test=half.csv -o half.h5 --json=half.json
  $python - <<'PY' || fail "numbers of cold entries"
import json
last = lambda p: [json.loads(line) for line in open(p) if '"event":"end"' in line][-1]["test"]
a, b = last("known.json"), last("half.json")
cold = b["cold"]
assert a["cold"]["count"] == 0 and cold["count"] == a["count"] and b["count"] == 2 * a["count"], (a, b)
assert abs(b["ndcg"] - (a["ndcg"] + cold["ndcg"]) / 2) < 1e-12, (a, b)
assert abs(b["hit_rate"] - (a["hit_rate"] + cold["hit_rate"]) / 2) < 1e-12, (a, b)
PY
done

# Many held out entries: a sample of about 4096 of them, the same on any number of ranks.
for n in 1 3; do
  expect 0 "ranked: a sample of 4[01][0-9]* of the [0-9]* entries" on $n complete heavy.tns --implicit=1 --of=1 \
    --rank=3 --reg=1 --iters=1 --holdout=30% --nowrite --json=sample$n.json
done
same "the sample" "$(events completion ranked sample1.json)" "$(events completion ranked sample3.json)"

# --- checkpoints: on to the same bits; other weights, and another weight of what happened, are refused -----
run="$amped complete heavy.tns --rank=4 --reg=1 --tol=0 --patience=9 --deterministic -q"
i=0
for how in "--weights=heavy.part.tns" "--implicit=2"; do
  i=$((i + 1))
  # shellcheck disable=SC2086
  expect 0 "" $run $how --iters=4 -o whole$i.h5
  # shellcheck disable=SC2086
  expect 0 "" $run $how --iters=2 --checkpoint=ck$i.h5 --checkpoint-every=1 --nowrite
  # shellcheck disable=SC2086
  expect 0 "resume: ck$i.h5" $run $how --iters=4 --checkpoint=ck$i.h5 --resume -o resumed$i.h5 -v
  equal whole$i.h5 resumed$i.h5 factors/0 factors/1 factors/2
done
other() { # other NUMBER OPTION...: refused
  number=$1
  shift
  # shellcheck disable=SC2086
  expect 3 "a run with other options" $run --iters=4 --checkpoint=ck"$number".h5 --resume --nowrite "$@"
}
other 1
other 1 --weights=heavy.whole.tns
other 2 --implicit=3
other 2 --implicit=2 --of=2

# --- what is refused -----------------------------------------------------------------------------------
refuse() { # refuse STATUS PATTERN OPTION...
  want=$1 pattern=$2
  shift 2
  # shellcheck disable=SC2086
  expect "$want" "$pattern" "$amped" complete table.csv $keys --rank=2 --reg=1 --iters=2 --nowrite -q "$@"
}
head -300 sorted.csv >short.csv
{ cat sorted.csv; echo u1,v1,w1,1; } >more.csv
{ cat sorted.csv; echo stranger,v1,w1,1; } >strange.csv
sed '9s/[^,]*$/-0.5/' sorted.csv >negative.csv
sed '9s/[^,]*$/1e300/' sorted.csv >huge.csv
sed '9s/[^,]*$/nan/' sorted.csv >nan.csv
sed 's/,[^,]*$/,0/; 1s/0$/stars/' sorted.csv >zeros.csv
refuse 3 "short.csv: lacks weights of some of the" --weights=short.csv
refuse 3 "more.csv: has 601 weights, but 1 of their cells" --weights=more.csv
refuse 3 "strange.csv: has a weight whose index in mode 1" --weights=strange.csv
refuse 3 "a weight of -0.5" --weights=negative.csv
refuse 3 "a weight of 1e+300" --weights=huge.csv
refuse 3 "nan.csv" --weights=nan.csv
refuse 3 "zeros.csv gives weight 0 to all or most" --weights=zeros.csv
refuse 3 "order 4, the tensor 3" --weights=b.h5
refuse 3 "missing.csv" --weights=missing.csv
refuse 3 'no column "nothing"; --weights takes some of' --weights=nothing
refuse 2 "would be overwritten" --weights=sorted.csv --json=sorted.csv
refuse 2 "duplicates=keep" --weights=sure --duplicates=keep
refuse 2 "leave out --block" --implicit=1 --method=ccd
refuse 2 "leave out --block" --implicit=1 --block=2
refuse 2 "--implicit" --implicit=0
refuse 2 "--implicit" --implicit=nan
refuse 2 "no mode month; its modes are user, item, week, or 1 to 3" --implicit=1 --of=month
refuse 2 "no mode 4" --implicit=1 --of=4
refuse 2 "--of names the mode" --of=2
expect 2 "is an input of this run" "$amped" complete heavy.tns --weights=heavy.part.h5 --rank=2 -q \
  -o heavy.part.h5
expect 2 "standard input cannot be read again" "$amped" complete - --format=csv --value=stars --weights=sure --rank=2 -q
sed 's/ [0-9]*$/ -1/; q' a.tns >negative.tns
sed 1d a.tns >>negative.tns
expect 3 "has a negative value" "$amped" complete negative.tns --implicit=1 --rank=2 --reg=1 --nowrite -q

# --- pairs of options: status with --weights, status with --implicit, option ------------------------------
while read -r with_weights with_implicit option; do
  # shellcheck disable=SC2086
  expect "$with_weights" "" "$amped" complete table.csv $keys --rank=2 --reg=1 --iters=2 --nowrite -q --weights=sure $option
  # shellcheck disable=SC2086
  expect "$with_implicit" "" "$amped" complete table.csv --keys=user,item,week --value=stars --rank=2 --reg=1 --iters=2 \
    --nowrite -q --implicit=2 $option
done <<EOF
0 0 --nonnegative
0 0 --context=week --order=random
0 0 --reg=auto --starts=2
0 0 --reg=1,0 --reg-power=0
0 0 --validate=fresh.csv --test=fresh.csv
0 0 --rank=2,3 --trace=t.json
0 0 --checkpoint=pair-ck.h5 --overwrite
0 0 --plan
0 0 --holdout=0 --deterministic --time=9
0 0 --bias=none
0 2 --bias=full
0 2 --bias=mean
0 2 --method=ccd
0 2 --method=ccd --nonnegative --order=random
0 2 --block=2 --reg=1,0
2 2 --method=sgd
2 2 --method=sgd --block=2
0 2 --clip=1:5
2 2 --implicit=1 --weights=sure
2 2 --holdout=0 --reg=auto
EOF

# Weights so far apart that sums in float have no digits for the small ones are said; weights of 0 do not count.
for most in 1e4 1e8; do
  awk -v most=$most 'BEGIN { print "u,i,v,w"
    for (k = 0; k < 300; k++) printf "u%d,i%d,%d,%g\n", k % 20, int(k / 20), (k * k) % 7, k % 7 == 0 ? most : k % 11 == 0 ? 0 : 1 }' >apart.csv
  for precision in float double; do
    expect 0 "" on 2 complete apart.csv --value=v --weights=w --rank=2 --reg=1 --iters=3 --nowrite --precision=$precision
    same "weights up to $most, $precision" "$(grep -c 'weights from 1 to 1e+08: .*--precision=double' err)" \
      "$(test $most$precision = 1e8float && echo 1 || echo 0)"
  done
done
# Weights of cells that the tensor does not have are refused, without a word on their spread.
printf 'u,i,v\nu0,i0,1\nu1,i1,2\nu2,i2,3\nu0,i1,4\n' >few.csv
printf 'u,i,v\nu0,i0,1\nu1,i1,1e8\nu2,i2,1\nu1,i0,1\n' >other.csv
expect 3 "1 of their cells are not entries of few.csv" on 2 complete few.csv --value=v --weights=other.csv --rank=1 --reg=1 \
  --holdout=0 --iters=2 --nowrite
grep -q "weights from" err && fail "a warning before an error: $(cat err)" || pass
finish
