#!/bin/sh
# cpd --fix: fixed factors have the model's bits, the others solve numpy's normal equations. Ranks, copies,
# dense tensors, row rules, acceleration, checkpoints; refused options.
. "$(dirname "$0")/../lib/lib.sh"
needs h5diff
needs_python
script=$(cd "$(dirname "$0")" && pwd)/fixed_reference.py
cd "$scratch" || exit 99
reference() { # reference WORD ARGUMENT...
  if "$python" "$script" "$@" >reference.txt 2>&1; then pass; else fail "$*: $(tail -n 1 reference.txt)"; fi
}
reference make .
double="--precision=double -q --overwrite"

# --- a table: new users against known items and weeks ---------------------------------------------
# new.csv has 6 users of the model and 12 new ones, and 17 of its 25 items: the others count as zeros.
expect 0 "" on 1 train.csv --value=count --rank=3 --iters=30 $double -o model.h5
for ranks in 1 2 3 4; do
  for copies in all one; do
    enough 3 && continue
    expect 0 "" on $ranks new.csv --value=count --init=model.h5 --fix=item,week --copies=$copies $double -o out.h5 --json=out.json
    reference bits model.h5 out.h5 1,2
    reference rows new.csv model.h5 out.h5 0 0 1e-9
    reference fit new.csv out.h5 1e-9
    same "sweeps on $ranks ranks" "$(field sweeps out.json)" 2
  done
done
expect 0 "fixed: mode 2 (item), 25 rows of model.h5, 8 of them not in the tensor" on 2 new.csv --value=count --init=model.h5 --fix=item,week --nowrite
expect 0 "^mode 1 (user): 12 of 18 rows are new and begin at random" on 1 new.csv --value=count --init=model.h5 --fix=item,week --nowrite
expect 0 "R = 3" on 1 new.csv --value=count --init=model.h5 --fix=2,3 --nowrite --iters=1
expect 0 "" on 2 new.csv --value=count --init=model.h5 --fix=item,week -q --overwrite -o float.h5
reference bits model.h5 float.h5 1,2
reference rows new.csv model.h5 float.h5 0 0 1e-4
expect 0 "\"fix\": *\"item,week\"" "$amped" info float.h5

# Two free modes: the fit is right in the end, on any number of ranks, and a new row has no effect that
# depends on them.
for ranks in 1 3; do
  expect 0 "" on $ranks new.csv --value=count --init=model.h5 --fix=item --iters=12 --tol=0 $double -o two$ranks.h5 --json=two$ranks.json
  reference bits model.h5 two$ranks.h5 1
  reference fit new.csv two$ranks.h5 1e-9
done
close "two free modes on 1 and 3 ranks" "$(field fit two1.json)" "$(field fit two3.json)" 1e-10
for how in linesearch momentum; do
  expect 0 "" on 2 new.csv --value=count --init=model.h5 --fix=item --iters=12 --accelerate=$how $double -o fast.h5
  reference bits model.h5 fast.h5 1
  reference fit new.csv fast.h5 1e-9
done
# The tensor of the model: the model stays where it is.
expect 0 "" on 2 train.csv --value=count --init=model.h5 --fix=user --iters=5 --tol=0 $double -o same.h5
reference bits model.h5 same.h5 0

expect 3 "new.csv: is not an HDF5 file; --init takes a result or a checkpoint" on 1 new.csv --value=count --init=new.csv --nowrite -q
# --- row rules, of free modes alone ---------------------------------------------------------------
expect 0 "" on 2 new.csv --value=count --init=model.h5 --fix=item,week --ridge=3 --tol=1e-12 $double -o ridge.h5
reference bits model.h5 ridge.h5 1,2
reference rows new.csv model.h5 ridge.h5 0 3 1e-8
# One free mode: the first sweep has the penalty, too.
expect 0 "" on 2 new.csv --value=count --init=model.h5 --fix=item,week --ridge=3 --iters=1 $double -o once.h5
reference rows new.csv model.h5 once.h5 0 3 1e-8
expect 0 "" on 1 new.csv --value=count --init=model.h5 --fix=item,week --l1=0.2 --iters=40 --tol=0 $double --json=l1.json --nowrite
expect 0 "" on 1 new.csv --value=count --init=model.h5 --fix=item,week --l1=0.2 --iters=1 $double --json=l1once.json --nowrite
close "the first objective of --l1" "$(field objective l1once.json)" "$(field objective l1.json)" 0.2
expect 0 "" on 1 train.csv --value=count --rank=3 --iters=30 --nonnegative $double -o whole.h5
expect 0 "" on 2 new.csv --value=count --init=whole.h5 --fix=item,week --nonnegative --iters=200 --tol=0 $double -o parts.h5
reference bits whole.h5 parts.h5 1,2
reference conditions new.csv parts.h5 0 1e-6
expect 0 "zeros in the factors: .*, fixed, fixed" on 1 new.csv --value=count --init=model.h5 --fix=item,week --l1=0.1 --iters=5 --nowrite

# --- dense arrays ---------------------------------------------------------------------------------
expect 0 "" on 1 known.npy --rank=3 $double -o known.h5
for ranks in 1 2 4; do
  expect 0 "" on $ranks fresh.npy --init=known.h5 --fix=2,3 $double -o fresh.h5
  reference bits known.h5 fresh.h5 1,2
  reference rows fresh.npy known.h5 fresh.h5 0 0 1e-9
  reference fit fresh.npy fresh.h5 1e-9
done
expect 3 "is dense and has 5 of the 7 rows" on 2 fresh.npy --init=known.h5 --fix=1,2 --nowrite
# Every set of fixed modes of a tensor of order 4, whole and resumed.
expect 0 "" on 1 four.npy --rank=3 --iters=4 $double -o four.h5
for fix in 1 2 3 4 1,2 1,4 2,3 2,4 1,2,3 1,3,4; do
  enough 4 && continue
  expect 0 "" on 2 four.npy --init=four.h5 --fix=$fix --iters=7 --tol=0 $double -o whole.h5
  reference fit four.npy whole.h5 1e-9
  rm -f c.h5 c.h5.prev
  expect 0 "" on 2 four.npy --init=four.h5 --fix=$fix --iters=3 --tol=0 $double --nowrite --checkpoint=c.h5 --checkpoint-every=1
  expect 0 "" on 2 four.npy --init=four.h5 --fix=$fix --iters=7 --tol=0 $double -o part.h5 --checkpoint=c.h5 --resume
  same_bits "resumed with --fix=$fix" whole.h5 part.h5
done

# Every set of nonnegative modes of a tensor of order 3, whose other modes are fitted first, whole and resumed.
for list in 1 2 3 1,2 1,3 2,3; do
  enough 3 && continue
  run="known.npy --rank=3 --tol=0 --nonnegative=$list --overwrite"
  rm -f c.h5 c.h5.prev
  # shellcheck disable=SC2086
  {
    expect 0 "" on 1 $run --iters=6 -o whole.h5
    expect 0 "" on 1 $run --iters=3 --nowrite --checkpoint=c.h5 --checkpoint-every=3
    expect 0 "" on 1 $run --iters=6 -o part.h5 --checkpoint=c.h5 --resume
  }
  same_bits "resumed with --nonnegative=$list" whole.h5 part.h5
done

sed 's/^u13,i5,/u13,i99,/' new.csv >label.csv
# --- complete: new users of a known model ---------------------------------------------------------
fit="--value=count --reg=0.5 --holdout=0 --tol=0 $double"
for bias in full mean none; do
  # shellcheck disable=SC2086
  expect 0 "" on 1 complete train.csv $fit --rank=3 --iters=20 --bias=$bias -o c.$bias.h5
  for ranks in 1 3; do
    enough 3 && continue
    # shellcheck disable=SC2086
    expect 0 "" on $ranks complete new.csv $fit --init=c.$bias.h5 --fix=item,week --iters=2 -o fold.h5
    reference bits c.$bias.h5 fold.h5 1,2
    reference completion new.csv c.$bias.h5 fold.h5 0 0.5 1e-9
  done
done
finish_on_gpus
# A model without labels, and a table whose ids are numbers: these are the model's indices, in whatever order the table
# has them, and however many of them. They count from 0 if the model's tensor did.
for base in 1 0; do
  awk -v base=$base 'BEGIN { for (a = 1; a <= 6; a++) for (b = 1; b <= 5; b++) for (c = 1; c <= 4; c++)
    printf "%d %d %d %.6f\n", a - 1 + base, b - 1 + base, c - 1 + base, 2 + sin(a * b) + c * cos(a) + 0.1 * sin(7 * a + 5 * b + 3 * c) }' >whole.tns
  expect 0 "" on 1 whole.tns --rank=2 --iters=20 $double --index-base=$base -o numbered.h5
  expect 0 "" on 1 complete whole.tns --rank=2 --reg=0.1 --holdout=0 --iters=5 $double --index-base=$base -o numbered.c.h5
  for kept in 1 '$2 < '$((4 + base)) '$3 < '$((3 + base)); do
    awk "$kept"' { print }' whole.tns >few.tns
    { echo a,b,c,v && tac few.tns | sort -k4 | tr ' ' ,; } >few.csv
    expect 0 "" on 2 few.tns --init=numbered.h5 --fix=2,3 $double --dims=6x5x4 --index-base=$base -o by-index.h5 --json=index.json
    expect 0 "" on 2 few.csv --value=v --init=numbered.h5 --fix=b,c $double -o by-label.h5 --json=label.json
    close "$kept, from $base: fit by label" "$(field fit label.json)" "$(field fit index.json)" 1e-9
    expect 0 "" on 2 complete few.csv --value=v --init=numbered.c.h5 --fix=b,c --reg=0.1 --holdout=0 --iters=3 $double -o by-label.c.h5 --json=label.json
    expect 0 "" "$amped" predict by-label.c.h5 few.csv --value=v --json=p.json --overwrite
    close "$kept, from $base: error of predict" "$(field rmse p.json)" "$(sed -n 's/.*"train":\([0-9.e-]*\).*/\1/p' label.json | tail -n 1)" 1e-6
  done
done
# Entries to test that the fixed model has learnt: a warning says so, whether they are held out, or in a file.
{ head -n 1 new.csv && tail -n 9 new.csv; } >again.csv
head -n -9 new.csv >rest.csv
for judge in --holdout=0.3 "--holdout=0 --test=again.csv" "--holdout=0 --validate=again.csv"; do
  # shellcheck disable=SC2086
  expect 0 "warning: c.full.h5: its model may have learnt entries that are held out here" on 2 complete rest.csv \
    --value=count --reg=0.5 --init=c.full.h5 --fix=item,week --nowrite $judge
  same "warnings of $judge" "$(grep -c 'may have learnt entries' err)" 1
done
# Blocks of columns reach the same rows by sweeps.
# shellcheck disable=SC2086
expect 0 "" on 2 complete new.csv $fit --init=c.full.h5 --fix=item,week --block=1 --iters=200 -o fold.h5
reference bits c.full.h5 fold.h5 1,2
reference completion new.csv c.full.h5 fold.h5 0 0.5 1e-6
# Users without items of their own get recommendations of all items of the model.
expect 0 "" "$amped" recommend fold.h5 --for=user -o list.csv -n 25 --of=item --at=week:w1
same "items for every new user" "$(awk -F, '$1 == "u20"' list.csv | wc -l)" 25
# Two free modes; a search of the penalty on held-out entries; a random order of modes.
expect 0 "" on 2 complete new.csv --value=count --init=c.full.h5 --fix=item --iters=8 --order=random $double -o two.c.h5
reference bits c.full.h5 two.c.h5 1
# Events: the items outside the tensor are zeros, too.
for ranks in 1 2; do
  expect 0 "" on $ranks complete train.csv --value=count --implicit=2 --reg=0.5 --holdout=0 --rank=3 --iters=20 $double -o events.h5
  expect 0 "" on $ranks complete new.csv --value=count --implicit=2 --reg=0.5 --holdout=0 --tol=0 --init=events.h5 --fix=item,week --iters=2 $double -o fold.h5
  reference bits events.h5 fold.h5 1,2
  reference implicit new.csv events.h5 fold.h5 0 0.5 2 1e-9
done
# A plain decomposition has neither mean nor biases.
expect 0 "" on 2 complete new.csv --value=count --reg=0.5 --holdout=0 --init=model.h5 --fix=item,week --iters=2 $double -o plain.h5
reference bits model.h5 plain.h5 1,2
# A checkpoint.
# shellcheck disable=SC2086
expect 0 "" on 2 complete new.csv $fit --init=c.full.h5 --fix=item --iters=9 -o whole.h5
# shellcheck disable=SC2086
expect 0 "" on 2 complete new.csv $fit --init=c.full.h5 --fix=item --iters=4 --nowrite --checkpoint=e.h5 --checkpoint-every=1
# shellcheck disable=SC2086
expect 3 "other fixed modes or factors" on 2 complete new.csv $fit --init=c.full.h5 --fix=week --iters=9 --nowrite --checkpoint=e.h5 --resume
# shellcheck disable=SC2086
expect 0 "" on 2 complete new.csv $fit --init=c.full.h5 --fix=item --iters=9 -o part.h5 --checkpoint=e.h5 --resume
for set in weights rmse/train factors/0 factors/1 factors/2 bias/0; do
  h5diff whole.h5 part.h5 /$set /$set >diff.txt 2>&1 && pass || fail "resumed, $set: $(head -3 diff.txt)"
done
# cpd knows neither means nor biases: as a start the components remain, with a warning; --fix refuses them.
for bias in full:"a mean and biases" mean:"a mean"; do
  expect 0 "warning: c.${bias%%:*}.h5: is a completion model with ${bias#*:}, which a decomposition" on 2 train.csv --value=count --init=c.${bias%%:*}.h5 --nowrite --iters=2 -q
  expect 3 "c.${bias%%:*}.h5: is a completion model with ${bias#*:}, which cpd cannot keep" on 2 new.csv --value=count --init=c.${bias%%:*}.h5 --fix=item --nowrite
done
"$amped" train.csv --value=count --init=c.none.h5 --nowrite --iters=2 -q >said.txt 2>&1 || fail "$(cat said.txt)"
grep -q "completion model" said.txt && fail "$(cat said.txt)" || pass
expect 0 "" on 2 new.csv --value=count --init=c.none.h5 --fix=item --nowrite --iters=2 -q
# What the model does not have is refused.
expect 3 "with --bias=full, which --fix keeps" on 2 complete new.csv --value=count --init=c.full.h5 --fix=item --bias=none --nowrite
expect 3 "is no model of --implicit" on 1 complete new.csv --value=count --init=c.none.h5 --fix=item --implicit=2 --nowrite
expect 3 "is a model of --implicit" on 2 complete new.csv --value=count --init=events.h5 --fix=item --nowrite
expect 2 "goes on learning all modes" "$amped" complete new.csv --value=count --init=c.full.h5 --fix=item --method=sgd --nowrite
expect 2 "goes on learning all modes" "$amped" complete new.csv --value=count --init=c.full.h5 --fix=item --state=s.h5
expect 2 "leaves nothing to fit" on 1 complete new.csv --value=count --init=c.full.h5 --fix=1,2,3 --nowrite
expect 3 "has label i99 in mode 2 (item)" on 1 complete label.csv --value=count --init=c.full.h5 --fix=item --nowrite

# A model of all cells except rows outside the tensor: the fit is 1.
"$python" - <<'P' && pass || fail "an exact model"
import h5py, numpy as np
rng = np.random.default_rng(3)
a, b, c = (np.round(8 * rng.random((n, 2))) + 1 for n in (6, 7, 5))
b[4:] = 0
with h5py.File("exact.h5", "w") as f:
    f["weights"] = np.ones(2)
    for m, x in enumerate((a[:4], b, c)):
        f["factors/%d" % m] = x
with open("exact.tns", "w") as f:
    for i, j, k in np.ndindex(6, 4, 5):
        f.write("%d %d %d %r\n" % (i + 1, j + 1, k + 1, float((a[i] * b[j] * c[k]).sum())))
P
expect 0 "mode 2, 7 rows of exact.h5, 3 of them not in the tensor" on 2 exact.tns --init=exact.h5 --fix=2,3 --precision=double -o exact.cpd.h5 --json=exact.json
reference bits exact.h5 exact.cpd.h5 1,2
close "the fit of an exact model" "$(field fit exact.json)" 1 1e-12

# --- checkpoints ----------------------------------------------------------------------------------
run="new.csv --value=count --init=model.h5 --tol=0 $double"
# shellcheck disable=SC2086
expect 0 "" on 2 $run --fix=item --iters=9 -o whole.h5
# shellcheck disable=SC2086
expect 0 "" on 2 $run --fix=item --iters=4 --nowrite --checkpoint=d.h5 --checkpoint-every=1
# shellcheck disable=SC2086
expect 3 "other fixed modes or factors" on 2 $run --fix=week --iters=9 --nowrite --checkpoint=d.h5 --resume
# shellcheck disable=SC2086
expect 3 "other fixed modes or factors" on 2 $run --fix=item,week --iters=9 --nowrite --checkpoint=d.h5 --resume
# shellcheck disable=SC2086
expect 0 "" on 2 $run --fix=item --iters=9 -o part.h5 --checkpoint=d.h5 --resume
same_bits "resumed" whole.h5 part.h5

# --- refused --------------------------------------------------------------------------------------
expect 3 "label.csv: has label i99 in mode 2 (item)" on 2 label.csv --value=count --init=model.h5 --fix=item,week --nowrite
expect 0 "" on 1 label.csv --value=count --init=model.h5 --fix=week --iters=2 --nowrite -q
expect 2 "leaves nothing to fit" on 1 new.csv --value=count --init=model.h5 --fix=user,item,week --nowrite
expect 2 "no mode" on 1 new.csv --value=count --init=model.h5 --fix=shop --nowrite
expect 2 "name it with --init" "$amped" new.csv --value=count --fix=item --nowrite
expect 2 "name it with --init" "$amped" new.csv --value=count --fix=item --init=normal --nowrite
expect 2 "method" "$amped" new.csv --value=count --init=model.h5 --fix=item --method=lm --nowrite
expect 2 "method" "$amped" known.npy --init=known.h5 --fix=2 --method=rbs --nowrite
expect 2 "leave out one" "$amped" new.csv --value=count --init=model.h5 --fix=item --starts=2 --nowrite
expect 2 "corcondia" "$amped" new.csv --value=count --init=model.h5 --fix=item --corcondia --nowrite
expect 3 "begin with a nonnegative model" on 1 new.csv --value=count --init=model.h5 --fix=item --nonnegative --nowrite
expect 2 "name the same mode" on 1 new.csv --value=count --init=model.h5 --fix=item --nonnegative=item --nowrite
expect 3 "has 3 components, the run has 4" on 1 new.csv --value=count --init=model.h5 --fix=item --rank=4 --nowrite
# A start whose weights another program changed: R and the model's parts come from it, and --force-init takes it.
"$python" -c 'print("a,b,c,v"); [print(i, j, k, 1 + i + 2 * j + k, sep=",") for i in range(6) for j in range(5) for k in range(4)]' >changed.csv
expect 0 "" "$amped" complete changed.csv --value=v --rank=2 --reg=0.1 --holdout=0 --iters=4 -o changed.h5 -q
expect 0 "" "$python" -c 'import h5py; h5py.File("changed.h5", "r+")["weights"][0] *= 1.5'
for way in "" --fix=a; do
  # shellcheck disable=SC2086
  expect 3 "changed.h5: dataset /weights disagrees.*--force-init" "$amped" complete changed.csv --value=v --reg=0.1 --holdout=0 --init=changed.h5 $way --nowrite
  # shellcheck disable=SC2086
  expect 0 "warning: changed.h5: dataset /weights disagrees" "$amped" complete changed.csv --value=v --reg=0.1 --holdout=0 --init=changed.h5 $way --force-init --nowrite
done

finish
