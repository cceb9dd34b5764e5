#!/bin/sh
# --nonnegative, --ridge and --l1: fits and objectives as in numpy, of dense tensors and lists, on
# several ranks; objectives that never rise; conditions of an optimum; the ends of TensorLy's HALS;
# checkpoints to the bit; acceleration; refused options.
. "$(dirname "$0")/../lib/lib.sh"
needs_python
needs h5diff
here=$(cd "$(dirname "$0")" && pwd)
script=$here/rows_reference.py
data=$(cd "$data" 2>/dev/null && pwd)
cd "$scratch" || exit 99
quiet="--tol=0 --nowrite -q --overwrite"

reference() { if "$python" "$script" "$@" >said.txt 2>&1; then pass; else fail "$*: $(cat said.txt)"; fi; }
make_start() { "$python" "$here/accelerate_reference.py" start "$@" || fail "no start"; }
reference make .
make_start three.h5 5 23 17 29
make_start four.h5 4 11 5 8 13
make_start list.h5 3 30 20 10

# --- as in numpy ----------------------------------------------------------------------------------
# option MODES: the option of these modes, which the reference counts from 0
option() { test "$1" = none || echo "--nonnegative=$(echo "$1" | tr 0-7 1-8)"; }
# compare TENSOR START R RANKS MODES RIDGE L1
compare() {
  # shellcheck disable=SC2046,SC2086
  expect 0 "" on "$4" "$1" --rank="$3" --init="$2" --iters=25 --precision=double $(option "$5") --ridge="$6" \
    --l1="$7" --json=run.json $quiet
  reference compare "$1" "$2" "$5" "$6" "$7" run.json 1e-9
  reference falls run.json
}
for ranks in $(few 2 1 3 4); do
  compare three.npy three.h5 5 $ranks 0,1,2 0 0
  compare list.tns list.h5 3 $ranks 0,1,2 0 0
  compare list.tns list.h5 3 $ranks none 0.3 0.2
done
compare three.npy three.h5 5 2 1 0 0
compare three.npy three.h5 5 2 none 5 0
compare three.npy three.h5 5 1 none 0 3
compare three.npy three.h5 5 2 0,2 2 4
compare four.npy four.h5 4 2 0,1,2,3 0 0.5
compare four.npy four.h5 4 3 3 1 0
compare list.tns list.h5 3 2 2 0.1 0.1

# --- results --------------------------------------------------------------------------------------
# check TENSOR R RANKS MODES RIDGE L1 OPTION...
check() {
  tensor=$1 ncomps=$2 ranks=$3 modes=$4 ridge=$5 l1=$6
  shift 6
  # shellcheck disable=SC2046
  expect 0 "" on "$ranks" "$tensor" --rank="$ncomps" --iters=60 --tol=0 --precision=double $(option "$modes") \
    --ridge="$ridge" --l1="$l1" --json=run.json -o out.h5 -q --overwrite "$@"
  reference result "$tensor" out.h5 "$modes" "$ridge" "$l1" run.json
}
check three.npy 4 1 0,1,2 0 0
check three.npy 4 3 0,1,2 1 2
check list.tns 3 2 0,2 0 0.2
check list.tns 3 1 none 0.5 0.3
check four.npy 4 4 0,1,2,3 0 0
check list.tns 3 2 0,1,2 0 0 --accelerate=momentum
check three.npy 4 1 0,1,2 0 0 --accelerate=linesearch
# Components that vanish: their slopes vanish with them.
"$python" -c '
import numpy as np
g = np.random.default_rng(3)
x = np.einsum("ir,jr,kr->ijk", *[g.uniform(0.1, 1, (n, 3)) for n in (8, 9, 10)])
np.save("vanish.npy", x + 0.1 * np.linalg.norm(x) / np.sqrt(x.size) * g.normal(size=x.shape))'
for iters in 5 10 15 20; do
  expect 0 "" on 2 vanish.npy --rank=3 --iters=$iters --tol=0 --precision=double --ridge=2 --json=run.json -o out.h5 -q --overwrite
  reference result vanish.npy out.h5 none 2 0 run.json
done
test "$("$python" -c 'import json; print([json.loads(l) for l in open("run.json")][-1]["rows"]["optimality"] < 1)')" = True && pass ||
  fail "conditions of an optimum: $(tail -n 1 run.json)"
# One nonnegative mode: starts have both signs in the others. The negative of a nonnegative tensor fits whatever mode it is;
# from starts of one sign the first update has only zeros. So does a tensor whose other modes have both signs.
"$python" -c '
import numpy as np
g = np.random.default_rng(3)
np.save("minus.npy", -np.einsum("ir,jr,kr->ijk", *[g.random((n, 2)) for n in (12, 10, 8)]))
np.save("signs.npy", np.einsum("ir,jr,kr->ijk", g.random((12, 3)), g.normal(size=(10, 3)), g.normal(size=(8, 3))))'
for mode in 1 2 3; do
  expect 0 "start: normal" on 2 minus.npy --rank=2 --nonnegative=$mode --iters=300 --nowrite --json=run.json --overwrite
  test "$(sed -n 's/.*"event":"end".*"fit":\(0.99\).*/\1/p' run.json)" = 0.99 && pass || fail "mode $mode: $(tail -n 1 run.json)"
done
# The modes of both signs are fitted first: the exact model is found from most starts, whatever the method of sweeps.
for seed in 1 2 5; do
  for how in "" --accelerate=momentum --accelerate=linesearch "--ridge=1e-6" "--l1=1e-6"; do
    # shellcheck disable=SC2086
    expect 0 "" on 2 signs.npy --rank=3 --nonnegative=1 --seed=$seed $how --iters=500 --nowrite --json=run.json --overwrite
    test "$(sed -n 's/.*"event":"end".*"fit":\(0.99\).*/\1/p' run.json)" = 0.99 && pass || fail "seed $seed, $how: $(tail -n 1 run.json)"
  done
done
expect 0 "start 1 of 4: normal" on 2 signs.npy --rank=3 --nonnegative=1 --starts=4 --iters=10 --nowrite
expect 0 "start: random" on 2 minus.npy --rank=2 --nonnegative=1,2,3 --iters=2 --nowrite
# A component that is zero in the first sweeps comes back, if there is no penalty: the end of the run tells what is zero.
"$python" - <<'END' || fail "the array of a component that comes back"
import numpy as np
cells = """
3 3 -1 0 0 0 -4 -5 2 0 0 0 -4 1 -4 -4 -2 -1 -11 -17 9 4 4 -1 -3 -2 0 -1 0 0 1 1 0 0 0 0 -1 -2 1 0 0 0 -2 1 -2
-2 -1 -1 -4 -7 5 3 2 0 -1 -1 0 0 0 0 1 0 0 0 0 0 -1 -1 0 0 0 0 -1 0 0 -1 0 -1 -3 -3 1 0 0 0 -1 0 0 0 0 0 2 1
-1 1 0 0 -2 -2 1 0 0 0 -2 0 -1 -1 -1 0 -8 -9 3 0 1 0 -2 -1 0 0 0 0
"""
np.save("back.npy", np.array([float(x) / 2 for x in cells.split()]).reshape(4, 5, 6))
END
expect 0 "" on 1 back.npy --rank=3 --nonnegative=1 --iters=500 --tol=1e-9 --precision=double --seed=7 -o back.h5 --overwrite
same "a warning of zero components" "$(cat out err | grep -c "become zero")" 0
h5dump -A 0 -y -w 1 -m %.17g -d /weights back.h5 | sed -n 's/^ *\([0-9.e+-]*\),\{0,1\}$/\1/p' >weights.txt
same "components that are not zero" "$(awk '$1 > 0.1' weights.txt | wc -l)" 3
# A result that has zeros says so, also of a run that a signal ended.
awk 'BEGIN { srand(5); for (i = 1; i <= 6; i++) for (j = 1; j <= 5; j++) for (k = 1; k <= 4; k++) print i, j, k, rand() - 0.5 }' >mixed.tns
expect 0 "[1-5] of 6 components ha.* become zero; try fewer" on 2 mixed.tns --rank=6 --nonnegative --iters=2000 --precision=double --nowrite
begin 1 '"sweep":400,' cpd mixed.tns --rank=6 --nonnegative --iters=10000000 --tol=0 --precision=double -o mixed.h5 --on-signal=result
kill -TERM "$launcher"
wait "$launcher"
expect 0 "of 6 components ha.* become zero" cat err.txt

# A penalty that leaves nothing: components become zero, the run does not fail.
expect 0 "a component has become zero" on 2 list.tns --rank=3 --l1=1000 --nonnegative --nowrite
# Under a ridge they are tiny for a long time: the same line, and no condition of an optimum is broken.
expect 0 "a component has become zero" on 2 list.tns --rank=3 --ridge=1000 --nowrite --json=run.json --overwrite
test "$("$python" -c 'import json; print([json.loads(l) for l in open("run.json")][-1]["rows"]["optimality"] < 1)')" = True && pass ||
  fail "conditions of an optimum at zero: $(tail -n 1 run.json)"
# In float.
check_float() {
  expect 0 "zeros in the factors" on 2 list.tns --rank=3 --nonnegative "$@" --iters=30 --nowrite
}
check_float
check_float --l1=0.2
check_float --ridge=0.2
check_float --accelerate=momentum

# --- real tensors ---------------------------------------------------------------------------------
# real NAME R OPTION...: 200 sweeps in which no objective rises
real() {
  name=$1 ncomps=$2
  shift 2
  if ! test -f "$data/$name.tns.gz"; then
    echo "skipped: no $name.tns.gz"
    return
  fi
  test -f "$name.h5" || expect 0 "" "$amped" convert "$data/$name.tns.gz" "$name.h5" -q
  # shellcheck disable=SC2086
  expect 0 "" on 1 "$name.h5" --rank="$ncomps" --iters=200 --precision=double --json=run.json "$@" $quiet
  reference falls run.json
}
# at_fit LEAST: of the last run
at_fit() {
  fit=$(sed -n 's/.*"event":"end".*"fit":\([0-9.]*\).*/\1/p' run.json)
  if awk "BEGIN { exit !($fit >= $1) }"; then pass; else fail "fit $fit, not $1"; fi
}
for rule in "--nonnegative" "--nonnegative=1" "--nonnegative --l1=0.3 --ridge=0.1" "--l1=0.3" "--ridge=2"; do
  for tensor in $(few 2 amino,3 nations,10 kinship,10 kinetic,4 nyc-taxi,5); do
    # shellcheck disable=SC2046,SC2086
    real $(echo "$tensor" | tr , ' ') $rule
  done
done
if test -f "$data/amino.tns.gz"; then
  real nyc-taxi 5 --nonnegative
  real amino 3 --nonnegative
  at_fit 0.974858
  expect 0 "" on 2 nyc-taxi.h5 --rank=5 --nonnegative --starts=6 --iters=300 --tol=1e-7 --json=run.json --nowrite -q --overwrite
  at_fit 0.4969
  expect 0 "a nonnegative model cannot fit" on 1 amino.h5 --rank=2 --nonnegative --iters=2 --nowrite
  # Its share of the squared norm, from copies, a list, cells; on several ranks.
  zcat "$data/amino.tns.gz" >amino.tns
  expect 0 "" "$amped" convert amino.h5 amino.npy --dense -q
  share=$(awk '!/^#/ { x = $4; s += x * x; if (x < 0) n += x * x } END { printf "%.6e", n / s }' amino.tns)
  for form in amino.h5 amino.tns amino.npy; do
    for ranks in 1 3; do
      # shellcheck disable=SC2086
      expect 0 "" on $ranks $form --rank=2 --nonnegative --iters=1 --json=run.json $quiet
      got=$(sed -n 's/.*"negative_share":\([-+0-9.e]*\).*/\1/p' run.json)
      if awk "BEGIN { d = $got - $share; exit !(d < 1e-5 * $share && d > -1e-5 * $share) }"; then
        pass
      else
        fail "$form on $ranks: $got, not $share"
      fi
    done
  done
fi

# TensorLy from the same start.
if "$python" -c "import tensorly" 2>/dev/null && test -f "$data/amino.tns.gz"; then
  peers() { # NAME R DIM...: of a start
    name=$1 ncomps=$2
    shift 2
    expect 0 "" "$amped" convert "$name.h5" "$name.npy" --dense -q --overwrite
    make_start start.h5 "$ncomps" "$@"
    # shellcheck disable=SC2086
    expect 0 "" on 1 "$name.npy" --rank="$ncomps" --init=start.h5 --iters=500 --nonnegative --precision=double \
      --json=run.json $quiet
    reference tensorly "$name.npy" start.h5 run.json
    cat said.txt
  }
  peers amino 3 5 201 61
  peers nyc-taxi 5 30 30 1464
else
  echo "skipped: no tensorly, or no data"
fi

# --- checkpoints ----------------------------------------------------------------------------------
for rule in "--nonnegative" "--nonnegative=2 --l1=0.2 --ridge=0.1" "--nonnegative --accelerate=momentum"; do
  run="list.tns --rank=4 --tol=0 --precision=double --deterministic $rule"
  # shellcheck disable=SC2086
  expect 0 "" on 2 $run --iters=12 -o whole.h5 -q --overwrite
  rm -f c.h5 c.h5.prev
  for last in 1 2 3 7 12; do
    # shellcheck disable=SC2086
    expect 0 "" on 2 $run --iters=$last --checkpoint=c.h5 --checkpoint-every=1 --resume -o part.h5 -q --overwrite
  done
  same_bits "$rule" part.h5 whole.h5
done
rm -f c.h5 c.h5.prev
run="list.tns --rank=4 --tol=0 --iters=3 --nowrite --checkpoint=c.h5 --checkpoint-every=1"
# shellcheck disable=SC2086
expect 0 "" on 1 $run --nonnegative=3,1 --l1=0.5
# shellcheck disable=SC2086
expect 0 "resume: c.h5, after sweep" on 1 $run --nonnegative=1,3 --l1=0.5 --resume
# shellcheck disable=SC2086
expect 3 "began with rows that are nonnegative=1,3 l1=0.5, not plain" on 1 $run --resume
# shellcheck disable=SC2086
expect 3 "not nonnegative=1,2,3" on 1 $run --nonnegative --resume

# --- texts and refusals ---------------------------------------------------------------------------
expect 0 "minimises |X - M|^2 / 2 + 0.5 / 2 \* (sum of the factors' squares)" on 1 list.tns --rank=2 --ridge=0.5 --nowrite
expect 0 "no negative entries in the factors of modes 1 and 3" on 2 list.tns --rank=2 --nonnegative=1,3 --nowrite
for wrong in 0 4 1, -1 x 99999999999; do
  expect 2 "has no mode .*; name modes, or number them from 1 to 3" on 1 list.tns --rank=2 --nonnegative=$wrong --nowrite
done
expect 2 "mode 1 is named twice" on 1 list.tns --rank=2 --nonnegative=1,1 --nowrite
for wrong in --nonnegative= --l1=-1 --ridge=x; do
  expect 2 "is expected" on 1 list.tns --rank=2 $wrong --nowrite
done
# Modes by name, and told from 1.
printf 'user,item,week,n\na,x,1,3\nb,x,1,2\na,y,2,4\nb,y,2,1\na,z,3,2\n' >named.csv
expect 0 "modes 1 and 3" on 2 named.csv --value=n --rank=1 --nonnegative=week,user --nowrite --json=run.json --overwrite
grep -q '"nonnegative":\[1,3\]' run.json && pass || fail "JSON: $(grep objective run.json)"
# A name comes before a number, also if it is one: columns of a table without a header.
sed 1d named.csv | awk -F , '{ print $1 "," $2 "," $3 "," $4 - 2.5 }' >bare.csv
expect 0 "modes 2" on 2 bare.csv --no-header --keys=3,1,2 --value=4 --rank=1 --nonnegative=1 --nowrite --overwrite
expect 0 "" "$amped" convert bare.csv bare.h5 --no-header --keys=3,1,2 --value=4 -q
expect 0 "modes 1 and 2" on 1 bare.h5 --rank=1 --nonnegative=3,1 --nowrite
expect 0 "modes 2" on 1 named.csv --value=n --rank=1 --nonnegative=item -o named.h5
expect 2 "has no mode month; its modes are .*, or 1 to 3" on 2 named.csv --value=n --rank=1 --nonnegative=month --nowrite
expect 2 "has no mode week" on 1 list.tns --rank=2 --nonnegative=week --nowrite
# Signs move to no mode that is nonnegative: for all lists of modes and methods, cells and lists.
for modes in $(few 3 2 1,3 1,2,3 1 3 1,2 2,3); do
  for way in "list.tns" "three.npy" "three.npy --method=rbs"; do
    for ranks in 1 3; do
      # shellcheck disable=SC2086
      expect 0 "" on $ranks $way --rank=5 --seed=$ranks --nonnegative=$modes -o sign.h5 -q --overwrite
      reference signs sign.h5 "$modes"
    done
  done
done
expect 2 "leave out one of the two" on 1 list.tns --rank=2 --l1=1 --accelerate=momentum --nowrite
expect 0 "" on 1 list.tns --rank=3 --iters=3 -o signed.h5 -q --overwrite
expect 3 "cannot start a nonnegative model: mode" on 2 list.tns --rank=3 --nonnegative --init=signed.h5 --nowrite
expect 0 "" on 1 list.tns --rank=3 --iters=3 --nonnegative -o some.h5 -q --overwrite
expect 0 "start: some.h5" on 2 list.tns --rank=3 --nonnegative --init=some.h5 --nowrite
finish
