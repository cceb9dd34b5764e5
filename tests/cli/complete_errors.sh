#!/bin/sh
# complete, predict and recommend: what they refuse or tell, one small tensor for all.
. "$(dirname "$0")/../lib/lib.sh"
cd "$scratch" || exit 99

# alone STATUS PATTERN ARGUMENT...: expect, without mpirun, which waits for seconds after a failure.
alone() {
  want=$1 pattern=$2
  shift 2
  expect "$want" "$pattern" "$amped" "$@" --backend="$backend"
}
awk 'BEGIN {
  print "user,item,week,stars"
  for (n = 0; n < 300; n++) printf "u%d,v%d,w%d,%d\n", n % 13, n * 7 % 11, n % 5, 1 + n * n % 5
}' >t.csv
"$amped" convert t.csv t.h5 --value=stars --duplicates=mean -q || fail "convert"
alone 0 "" complete t.h5 --rank=2 --reg=1 --iters=3 -o model.h5 -q

# Values whose errors have no squares.
printf '2 2 1 3\n2 1 1 1e300\n' >huge.tns
alone 3 "huge.tns: cell (2, 1, 1) has the value 1e+300" complete t.h5 --rank=2 --reg=1 --test=huge.tns --json=x.json --nowrite -q
alone 3 "huge.tns: cell (2, 1, 1) has the value 1e+300" complete t.h5 --rank=2 --reg=1 --validate=huge.tns --nowrite -q
expect 3 "huge.tns: cell 2 has the value 1e+300" "$amped" predict model.h5 huge.tns

# Checkpoints: the column of biases is no component; what differs is named.
run="complete t.h5 --rank=3 --reg=1 --tol=0 --patience=2000 --checkpoint=ck.h5 --nowrite -q"
# shellcheck disable=SC2086
alone 0 "" $run --iters=500 --checkpoint-every=1
expect 0 "^components  *3, and a column of biases$" "$amped" info ck.h5 --json=info.json
same "components" "$(field ncomps info.json)" 3
alone 3 "ck.h5: has 3 components; use --rank=3" complete t.h5 --rank=2 --reg=1 --checkpoint=ck.h5 --resume --nowrite -q
alone 3 "ck.h5: began with biases; use the same --bias or another file" complete t.h5 --rank=3 --bias=mean --reg=1 --checkpoint=ck.h5 --resume --nowrite -q
# shellcheck disable=SC2086
alone 3 "ck.h5: .*with other options: --reg-bias differs" $run --iters=500 --reg-bias=2 --resume
# A checkpoint is no start: its biases would become a component.
for start in "complete t.h5 --rank=3" "complete t.h5 --rank=4 --fix=1" "cpd t.h5 --rank=4"; do
  # shellcheck disable=SC2086
  alone 3 "ck.h5: is a checkpoint of complete, without the mean" $start --init=ck.h5 --nowrite -q
done
# Other entries to validate or to test, of the same number; the same in another order of rows.
"$amped" convert t.h5 all.tns -q || fail "convert to text"
sed 1,2d all.tns >t.tns # without its header
awk 'NR % 7 == 0 { print $1, $2, $3, $4 + 0.25 }' t.tns >v1.tns
alone 0 "" complete t.h5 --rank=2 --reg=1 --iters=1 --state=t.state --nowrite -q
alone 3 "t.state: is the state of a stream, not a result; amped_mpi stream t.state -o RESULT.h5 writes its model" \
  complete t.h5 --rank=2 --reg=1 --init=t.state --nowrite -q
# Weights of 0 change what is held out: the weights are named.
awk '{ print $1, $2, $3, NR % 3 }' t.tns >weights.tns
# shellcheck disable=SC2086
alone 3 "ck.h5: .*with other options: --weights differs" $run --iters=500 --weights=weights.tns --resume
# shellcheck disable=SC2086
alone 3 "ck.h5: .*with other options: --holdout or --holdout-by differs" $run --iters=500 --holdout=0.3 --resume
awk '{ print $1, $2, $3, $4 + 1 }' v1.tns >v2.tns
tac v1.tns >v3.tns
judged="complete fresh.h5 --rank=2 --reg=1 --tol=0 --patience=2000 --checkpoint=judged.h5 --nowrite -q"
awk 'NR % 7 != 0' t.tns >fresh.tns
expect 0 "" "$amped" convert fresh.tns fresh.h5 -q
for option in validate test; do
  rm -f judged.h5*
  # shellcheck disable=SC2086
  alone 0 "" $judged --holdout=0 --iters=20 --checkpoint-every=20 --$option=v1.tns
  # shellcheck disable=SC2086
  alone 3 "judged.h5: .*with other options: --$option differs" $judged --holdout=0 --iters=40 --$option=v2.tns --resume
  # shellcheck disable=SC2086
  alone 0 "" $judged --holdout=0 --iters=40 --$option=v3.tns --resume
done
sweeps=$(field sweeps info.json) # writing takes longer than a sweep: not all of them have a checkpoint
if test "$sweeps" -gt 1; then
  # shellcheck disable=SC2086
  alone 3 "ck.h5: holds $sweeps sweeps of a run already; use --iters=$sweeps or more" $run --iters=1 --resume
else
  echo "skipped: a checkpoint of its first sweep alone"
fi
# shellcheck disable=SC2086
alone 0 "" $run --iters=501 --resume

# Labels on one side alone: names go by index where the tensor has them, and are none of its indices.
printf '1 1 1 3\n2 1 1 4\n' >bare.tns
alone 0 "warning: bare.tns: mode 2 (item): by index, because bare.tns has no labels" complete t.h5 --rank=2 --reg=1 \
  --iters=2 --test=bare.tns --nowrite -q
alone 3 "t.h5: label u0 of mode 1 (user) is not an index from 1" complete bare.tns --rank=2 --reg=1 --iters=2 \
  --validate=t.h5 --nowrite
expect 0 "bare.tns: mode 2 (item): by index, because bare.tns has no labels" "$amped" recommend model.h5 --for=user:u1 \
  --of=item -n 2 --exclude=bare.tns

# Without validation the objective chooses, not the error of training, which may rise under the penalty.
printf '1 1 1 5\n1 2 1 1\n2 1 2 3\n2 2 2 0.5\n3 2 1 2\n' >five.tns
alone 0 "" complete five.tns --rank=2 --reg=1 --holdout=0 --precision=double --nowrite -q --json=five.json
end=$(grep '"event":"end"' five.json | sed 's/.*"objective":\([^,]*\),.*/\1/')
least=$(grep '"event":"iteration"' five.json | sed 's/.*"objective":\([^,]*\),.*/\1/' | sort -g | head -n 1)
first=$(grep '"event":"iteration"' five.json | sed 's/.*"train":\([^,]*\),.*/\1/' | head -n 1)
same "the least objective" "$end" "$least"
if awk -v a="$first" -v b="$(field train five.json)" 'BEGIN { exit !(a < b) }'; then pass; else
  fail "five.tns: no case where the error of training rises"
fi

# Components that vanished have the weight 0, and are the last.
alone 0 "" complete t.h5 --rank=2 --reg=1e9 --context=none --iters=5 --precision=double -o gone.h5 -q
expect 0 "^weights  *0 ... 0$" "$amped" info gone.h5
expect 0 "component 1 of 2, weight 0$" "$amped" top gone.h5

# Cells that come twice are two entries of complete, and one nonzero of cpd.
printf '1 1 1 3\n1 1 1 5\n2 2 1 4\n2 1 2 1\n' >twice.tns
alone 0 "each is a separate entry" complete twice.tns --duplicates=keep --rank=1 --reg=1 --holdout=0 --nowrite
alone 0 "their values are added up" cpd twice.tns --duplicates=keep --rank=1 --nowrite

# Weights that are none: the cell is named.
awk -F, '{ print $0 (NR == 1 ? ",w" : NR == 7 ? ",-2" : ",1") }' t.csv >w.csv
alone 3 "w.csv: cell (u5, v2, w0) has a weight of -2; give weights from 0" complete w.csv --value=stars \
  --keys=user,item,week --weights=w --duplicates=mean --rank=1 --reg=1 --nowrite -q
printf '1 1 1 3\n2 1 2 4\n3 3 1 3\n' >small.tns
printf '2 1 2 -1\n1 1 1 3\n3 3 1 1\n' >wneg.tns
alone 3 "wneg.tns: cell (2, 1, 2) has a weight of -1" complete small.tns --weights=wneg.tns --holdout=0 --rank=1 --reg=1 \
  --nowrite -q

# Near-exact models: the training error in float is the model's, which numpy finds.
python=$(find_python)
if test -n "$python"; then
  cat >near.py <<'END'
import json, sys
import h5py, numpy as np
if sys.argv[1] == "make":
    r = np.random.default_rng(5)
    x = np.einsum("ir,jr,kr->ijk", *[r.random((n, 2)) + 0.5 for n in (20, 15, 10)])
    x += float(sys.argv[2]) * r.normal(size=x.shape)
    np.save("near.npy", np.where(r.random(x.shape) > 0.4, x, np.nan))
else:
    x = np.load("near.npy")
    with h5py.File("near.h5") as f:
        m = np.einsum("r,ir,jr,kr->ijk", f["weights"][:], *[f[f"factors/{k}"][:] for k in range(3)])
        error = np.sqrt(np.nanmean((f.attrs["mean"] + f.attrs["scale"] * m - x) ** 2))
        kept = f["rmse/train"][int(f.attrs["best_sweep"]) - 1]
    ends = [json.loads(line) for line in open("near.json")]
    told = [e["train"] for e in ends if e.get("event") == "end"][-1]
    assert abs(told / error - 1) < 0.01 and abs(kept / error - 1) < 0.01, (told, kept, error)
END
  for noise in 0 1e-4 1e-3; do
    expect 0 "" "$python" near.py make $noise
    for how in "" --method=ccd --block=1; do
      # shellcheck disable=SC2086
      alone 0 "" complete near.npy --rank=2 --bias=none --reg=1e-6 --iters=400 --tol=0 --patience=400 --holdout=0 \
        -o near.h5 --json=near.json --overwrite $how
      expect 0 "" "$python" near.py check
    done
  done
  "$python" -c 'import numpy as np; np.save("ones.npy", np.where(np.isnan(np.load("near.npy")), np.nan, 1.0))'
  alone 0 "entries, by weight (below .* float hides it; give --precision=double)" complete near.npy --weights=ones.npy \
    --rank=2 --bias=none --reg=1e-6 --iters=100 --holdout=0 --nowrite
fi

# What recommend does not find.
expect 3 "no label nobody; name one of the model's .*convert" "$amped" recommend model.h5 --for=user:nobody --of=item
expect 3 "no label w77; name one of the model's .*convert" "$amped" recommend model.h5 --for=user:u1 --of=item \
  --at=week:w77

finish
