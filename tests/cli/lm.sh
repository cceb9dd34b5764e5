#!/bin/sh
# --method=lm: steps as in numpy, of dense tensors and lists, on several ranks; ends that alternating
# least squares does not reach; a quadratic end; fits that never fall; checkpoints to the bit;
# refused options.
. "$(dirname "$0")/../lib/lib.sh"
needs_python
needs h5diff
here=$(cd "$(dirname "$0")" && pwd)
script=$here/lm_reference.py
peer=$here/accelerate_reference.py
data=$(cd "$data" 2>/dev/null && pwd)
cd "$scratch" || exit 99
quiet="--tol=0 --nowrite -q --overwrite"

reference() { if "$python" "$script" "$@" >said.txt 2>&1; then pass; else fail "$*: $(cat said.txt)"; fi; }
rises() { if "$python" "$peer" rises "$1" >said.txt; then pass; else fail "fits fall: $(cat said.txt)"; fi; }
"$python" "$peer" make .
"$python" "$peer" start three.h5 4 23 17 29
"$python" "$peer" start four.h5 4 11 5 8 13
"$python" "$peer" start list.h5 3 30 20 10
reference exact .

# --- as in numpy ----------------------------------------------------------------------------------
reference check three.npy three.h5
reference check four.npy four.h5
# compare TENSOR START R RANKS: rounding grows from step to step
compare() {
  # shellcheck disable=SC2086
  expect 0 "" on "$4" "$1" --rank="$3" --init="$2" --iters=12 --precision=double --method=lm --json=run.json $quiet
  reference compare "$1" "$2" run.json 1e-7
  rises run.json
}
for ranks in $(few 2 1 3 4); do
  compare three.npy three.h5 4 $ranks
  compare list.tns list.h5 3 $ranks
done
compare four.npy four.h5 4 2

# Passes over a dense tensor: 2 a step that is accepted, of order 3; 1 that is refused.
# shellcheck disable=SC2086
expect 0 "" on 1 three.npy --rank=4 --init=three.h5 --iters=20 --precision=double --method=lm --json=run.json $quiet
accepted=$(sed -n 's/.*"event":"end".*"accepted":\([0-9]*\),.*/\1/p' run.json)
told=$(sed -n 's/.*"passes":{"total":\([0-9]*\),.*/\1/p' run.json)
last=$(sed -n 's/.*"event":"iteration".*"refused":\([a-z]*\)}.*/\1/p' run.json | tail -1)
# The last point has its first pass alone, unless a refused step began from it.
least=$((1 + accepted + 20))
if test "$told" -ge "$least" && test "$told" -le $((least + 1)); then pass; else fail "$told passes, not $least ($last)"; fi

# In float fits do not fall, either.
for tensor in three.npy list.tns; do
  # shellcheck disable=SC2086
  expect 0 "steps: [0-9]* accepted, [0-9]* refused" on 2 $tensor --rank=4 --iters=40 --tol=0 --method=lm --json=run.json \
    --nowrite --overwrite
  rises run.json
done

# --- ends -----------------------------------------------------------------------------------------
expect 0 "" on 1 exact.npy --rank=4 --method=lm --precision=double --iters=60 --tol=0 --seed=3 --json=run.json --nowrite -q --overwrite
reference quadratic run.json
# Where nothing is better the run ends by itself.
expect 0 "no step is better\|gradient is zero\|--iters" on 2 three.npy --rank=1 --method=lm --tol=0 --iters=300 --nowrite

# A component of zeros would stay zero, whatever the tensor has: in one mode or all, or by its weight.
"$python" - <<'P' || fail "starts with zeros"
import shutil
import h5py
for name, modes in (("one", [1]), ("all", [0, 1, 2]), ("weight", [])):
    shutil.copy("three.h5", "zero.%s.h5" % name)
    with h5py.File("zero.%s.h5" % name, "r+") as f:
        for m in modes:
            f["factors/%d" % m][:, 2] = 0
        if not modes:
            f["weights"][2] = 0
P
for name in one all weight; do
  for ranks in 1 2; do
    expect 3 "zero.$name.h5: component 3 is zero, and stays so in steps of --method=lm" on $ranks three.npy --rank=4 --method=lm --init=zero.$name.h5 --nowrite
  done
done

# reached NAME R FIT ITERS MEDIAN FORM [OPTION]: from five starts, in at most so many sweeps in the middle
reached() {
  if ! test -f "$data/$1.tns.gz"; then
    echo "skipped: no $1.tns.gz"
    return
  fi
  expect 0 "" "$amped" convert "$data/$1.tns.gz" "$1.$6" -q --overwrite ${7+"$7"}
  for seed in 1 2 3 4 5; do
    # shellcheck disable=SC2086
    expect 0 "" on 1 "$1.$6" --rank="$2" --iters="$4" --precision=double --threads=1 --seed=$seed --method=lm \
      --json=$seed.json $quiet
    rises $seed.json
  done
  sweeps=$("$python" "$peer" sweeps "$3" 1.json 2.json 3.json 4.json 5.json)
  echo "$1, R = $2: $sweeps sweeps to $3, at most $5"
  if awk "BEGIN { exit !($sweeps <= $5) }"; then pass; else fail "$1: $sweeps sweeps, not $5"; fi
}
# all: of the last tensor all starts reach the fit, as ALS's do not.
all() {
  for seed in 1 2 3 4 5; do
    "$python" "$peer" sweeps "$1" $seed.json
  done >sweeps.txt
  if grep -q inf sweeps.txt; then fail "not all reach $1: $(cat sweeps.txt)"; else pass; fi
}
reached amino 4 0.977 150 23 npy --dense
test -f "$data/amino.tns.gz" && all 0.977
reached kinetic 4 0.9574 200 71 npy --dense
test -f "$data/kinetic.tns.gz" && all 0.9574
reached nations 10 0.44 60 26 h5
reached kinship 10 0.20 100 37 h5

# --- checkpoints ----------------------------------------------------------------------------------
for tensor in three.npy list.tns; do
  for precision in $(few 1 double float | sort -r); do
    run="$tensor --rank=4 --tol=0 --method=lm --precision=$precision --deterministic"
    # shellcheck disable=SC2086
    expect 0 "" on 2 $run --iters=16 -o whole.h5 -q --overwrite
    rm -f c.h5 c.h5.prev
    for last in $(few 5 1 2 3 6 7 5 8 11 | sort -n) 16; do
      # shellcheck disable=SC2086
      expect 0 "" on 2 $run --iters=$last --checkpoint=c.h5 --checkpoint-every=1 --resume -o part.h5 -q --overwrite
    done
    same_bits "$tensor, $precision" part.h5 whole.h5
  done
done
expect 3 "began with --method=lm; use that" on 1 list.tns --rank=4 --tol=0 --precision=double --nowrite --checkpoint=c.h5 --resume
rm -f c.h5 c.h5.prev
# shellcheck disable=SC2086
expect 0 "" on 1 list.tns --rank=4 --checkpoint=c.h5 --checkpoint-every=1 --iters=3 $quiet
expect 3 "began with --method=als; use that" on 1 list.tns --rank=4 --nowrite --checkpoint=c.h5 --resume --method=lm

# --- signals, traces ------------------------------------------------------------------------------
# A signal ends a run after a step, with the model so far; a run from it goes on there.
begin 2 '"sweep":5,' list.tns --rank=10 --method=lm --iters=1000000 --tol=0 --on-signal=result -o signal.h5
stop_by USR1
same "status after a signal" "$status" 85
last=$(sed -n 's/.*"event":"iteration".*"fit":\([-+.0-9e]*\),"change.*/\1/p' live.json | tail -1)
# shellcheck disable=SC2086
expect 0 "" on 2 list.tns --rank=10 --method=lm --iters=1 --init=signal.partial.h5 --json=run.json $quiet
first=$(sed -n 's/.*"event":"iteration".*"fit":\([-+.0-9e]*\),"change.*/\1/p' run.json)
if awk -v a="$last" -v b="$first" 'BEGIN { exit !(b > a - 1e-4) }'; then pass; else fail "a fit of $last, then of $first"; fi
# shellcheck disable=SC2086
expect 0 "" on 2 list.tns --rank=4 --method=lm --iters=3 --trace=trace.json $quiet
if grep -q '"name":"mttkrp"' trace.json && grep -q '"name":"solve"' trace.json; then pass; else fail "a trace without its phases"; fi

# --- with other options ---------------------------------------------------------------------------
expect 0 "start 3 of 3" on 2 three.npy --rank=2,4 --starts=3 --method=lm --corcondia --iters=10 --nowrite
expect 0 "a sweep is a damped Gauss-Newton step" on 2 list.tns --rank=4 --method=lm --nowrite
for option in --accelerate=momentum --nonnegative --ridge=1 --l1=1; do
  expect 2 "--method=lm cannot use it" on 1 list.tns --rank=4 --method=lm $option --nowrite
done
expect 2 "als, lm or rbs is expected" on 1 list.tns --rank=4 --method=newton --nowrite

# Values whose gradient has squares below the least double: no "gradient is zero" after one sweep.
awk '{ $NF = $NF "e-100"; print }' list.tns >tiny.tns
expect 1 "the values are so small (norm .*e-9[0-9]*) that squares of the gradient are 0; scale the tensor's values" \
  on 2 tiny.tns --rank=3 --method=lm --precision=double --nowrite

# Five vectors of doubles and a set of factors: 60 rows of 4.
memory() { # ARGUMENT...: bytes of a rank
  on 1 list.tns --rank=4 --precision=double --plan --json=plan.json --overwrite -q "$@" >plan.txt
  sed -n 's/.*"host_bytes":\([0-9]*\).*/\1/p' plan.json
}
more=$(($(memory --method=lm) - $(memory)))
test "$backend" = cuda || { test "$more" -ge 11520 && pass || fail "--plan: $more bytes more"; }
# Values so large that the gradient's squares overflow, in double: the run says to scale them.
"$python" -c 'import numpy as np; np.save("huge.npy", np.random.default_rng(0).random((4, 4, 4)) * 1e120)' || fail "huge.npy"
expect 1 "the values are so large (norm .*) that squares of the gradient overflow; scale the tensor's values" \
  on 1 cpd huge.npy --method=lm --rank=2 --precision=double --nowrite
finish
