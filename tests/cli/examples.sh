#!/bin/sh
# Files for and from other programs. examples/load_result.py; the fit of a result, computed by
# numpy, and by pyttb and TensorLy where they are installed; text of pyttb; .npy and text of
# convert; the reader of labels in docs; coordinate lists of the packages binsparse and sparse, and
# ours read by them. $AMPED_PYTHON names a Python with these packages:
# python3 -m venv V; V/bin/pip install h5py pyttb tensorly binsparse sparse.
. "$(dirname "$0")/../lib/lib.sh"
needs_python ${AMPED_PYTHON:+"$AMPED_PYTHON"}
script=$(cd "$(dirname "$0")/../../examples" && pwd)/load_result.py
docs=$(cd "$(dirname "$0")/../../docs" && pwd)
cd "$scratch" || exit 99

"$amped" generate a.h5 --dims=30x20x10 --nnz=1500 --planted=4 --seed=1 -q || fail "generate"
"$amped" generate b.h5 --dims=12x9x8x7 --nnz=1200 --skew=0.6 --seed=2 -q || fail "generate"
for t in a b; do
  expect 0 "" on 2 $t.h5 --rank=3 --iters=8 --tol=0 --precision=double -q
  for package in numpy pyttb tensorly; do
    "$python" "$script" $t.cpd.h5 $t.h5 $package >out 2>err
    case $? in
      0) # In double all is rounded at some 1e3 eps of the norm squared; the root of it at most.
        close "fit by $package" "$(sed 's/.*, fit \([^,]*\),.*/\1/' out)" \
          "$(sed 's/.*file //' out)" 1e-6 ;;
      77)
        test $package != numpy && cat out || fail "numpy is there" ;;
      *)
        fail "$package: $(tail -n 1 err)" ;;
    esac
  done
done

# Rows are matched by label: the table's rows come in another order, so its labels have other indices.
awk 'BEGIN { print "u,i,n"; for (k = 0; k < 60; k++) print "u" k % 9 ",i" k % 7 "," k % 5 + 1 }' >order.csv
{ head -n 1 order.csv && tail -n +2 order.csv | tac; } >other.csv
for t in order other; do expect 0 "" "$amped" convert $t.csv $t.h5 --value=n -q; done
expect 0 "" on 1 order.h5 --nonnegative --rank=2 --iters=8 --precision=double -q -o order.cpd.h5
"$python" "$script" order.cpd.h5 other.h5 >out 2>err || fail "load_result.py: $(cat err)"
close "fit by labels" "$(sed 's/.*, fit \([^,]*\),.*/\1/' out)" "$(sed 's/.*file //' out)" 1e-6
sed 's/^u3,/u99,/' other.csv >new.csv
expect 0 "" "$amped" convert new.csv new.h5 --value=n -q
"$python" "$script" order.cpd.h5 new.h5 >out 2>err && fail "labels that the result lacks" || pass
grep -q "order.cpd.h5: has no row for some labels of new.h5" err && pass || fail "$(cat err)"
expect 0 "" on 1 complete order.h5 --implicit=1 --rank=2 --iters=5 --reg=1 --holdout=0 -q -o implicit.h5
"$python" "$script" implicit.h5 order.h5 >out 2>err && fail "an error of preferences" || pass
grep -q "is a model of --implicit" err && pass || fail "$(cat err)"

# Signs. In a result pyttb's fixsigns finds nothing to change; the checkpoint of the same sweeps has
# the sweeps' own signs, and the result's once fixsigns has seen it, where none is left negative.
# --init takes any signs: the same model with others gives the same bits.
cat >signs.py <<'PY'
import sys
import h5py, numpy as np
try:
    import pyttb
except ImportError:
    print("skipped: pyttb is not installed (pip install pyttb)")
    sys.exit(77)
def read(path):
    with h5py.File(path) as f:
        return f["weights"][:], [f[f"factors/{k}"][:] for k in range(len(f["factors"]))]
weights, factors = read("b.cpd.h5")
saved_weights, saved = read("b.ckpt.h5")
order = np.argsort(-saved_weights, kind="stable")
saved = [a[:, order] for a in saved]
assert all(np.array_equal(np.abs(a), np.abs(b)) for a, b in zip(factors, saved))
assert any(not np.array_equal(a, b) for a, b in zip(factors, saved)), "the sweeps left these signs"
def fixed(weights, factors):
    model = pyttb.ktensor([a.copy() for a in factors], weights.copy())
    return model.fixsigns()
ours = fixed(weights, factors)
assert np.array_equal(ours.weights, weights) and np.all(weights > 0)
assert all(np.array_equal(a, b) for a, b in zip(ours.factor_matrices, factors))
theirs = fixed(saved_weights[order], saved)
def negative(a):
    return a[np.argmax(np.abs(a), axis=0), np.arange(a.shape[1])] < 0
even = ~np.any([negative(a) for a in theirs.factor_matrices], axis=0)
assert even.any(), "no component to compare"
for a, b in zip(theirs.factor_matrices, factors):
    assert np.array_equal(a[:, even], b[:, even])
longest = np.argmax([len(a) for a in factors])
for k, a in enumerate(factors):
    assert np.array_equal(negative(a), ~even if k == longest else np.zeros_like(even)), k
# The same model with other signs, for --init.
with h5py.File("other.h5", "w") as f:
    f["weights"] = weights
    for k, a in enumerate(factors):
        f[f"factors/{k}"] = a * (-1 if k in (1, 2) else 1)
PY
run="--rank=6 --tol=0 --precision=double --deterministic -q"
# shellcheck disable=SC2086
expect 0 "" on 2 b.h5 $run --iters=8 --checkpoint=b.ckpt.h5 --checkpoint-every=8 --overwrite
"$python" signs.py >out 2>err
case $? in
  0)
    pass
    for start in b.cpd other; do
      # shellcheck disable=SC2086
      expect 0 "" on 2 b.h5 $run --iters=5 --init=$start.h5 -o $start.out.h5
      expect 0 "" "$amped" convert $start.out.h5 $start.txt
    done
    for part in weights mode0 mode1 mode2 mode3; do
      expect 0 "" cmp b.cpd.$part.txt other.$part.txt
    done ;;
  77) cat out ;;
  *) fail "signs.py: $(tail -n 1 err)" ;;
esac

# Text that pyttb's export_data writes: a list of nonzeros, and all values of the same tensor.
cat >export.py <<'PY'
import sys
import numpy as np
try:
    import pyttb
except ImportError:
    print("skipped: pyttb is not installed (pip install pyttb)")
    sys.exit(77)
rng = np.random.default_rng(4)
dense = rng.standard_normal((7, 5, 6, 3)) * (rng.random((7, 5, 6, 3)) < 0.3)
subs = np.argwhere(dense)
tensor = pyttb.sptensor(subs, dense[tuple(subs.T)][:, None], dense.shape)
pyttb.export_data(tensor, "list.tns")
pyttb.export_data(pyttb.tensor(dense), "dense.tns")
pyttb.export_data(pyttb.ktensor([rng.random((n, 2)) for n in dense.shape], np.ones(2)), "model.tns")
print(f"norm {tensor.norm():.10g}")
PY
"$python" export.py >out 2>err
case $? in
  0)
    expect 0 "7 x 5 x 6 x 3" "$amped" convert list.tns list.h5
    expect 0 "$(sed 's/.*\(norm .*\)/\1/' out)" "$amped" convert dense.tns dense.h5
    expect 0 "" cmp list.h5 dense.h5
    expect 3 "is a model" "$amped" convert model.tns model.h5 ;;
  77) cat out ;;
  *) fail "export.py: $(tail -n 1 err)" ;;
esac

# Coordinate lists of PyData/Sparse in binsparse files, which name their fill value; tensor files and
# lists of ours, read by these packages.
cat >lists.py <<'PY'
import sys
try:
    import numpy as np
    import sparse
    from binsparse import load_binsparse, save_binsparse
    from binsparse.conversions import from_sparse, to_sparse
except ImportError as missing:
    print("skipped: %s (pip install binsparse sparse)" % missing)
    sys.exit(77)
shapes = {"float64": (7, 5, 6), "float32": (300, 70000, 4, 3), "int16": (4, 3, 2, 5, 6), "uint8": (9, 8, 7)}
def tensor(kind):
    shape, nnz = shapes[kind], 60
    at = np.unravel_index(np.random.default_rng(6).choice(int(np.prod(shape)), nnz, replace=False), shape)
    values = np.random.default_rng(7).integers(1, 100, nnz).astype(kind)
    return sparse.COO(np.stack(at), values / np.asarray(4, kind) if "float" in kind else values, shape=shape)
if sys.argv[1] == "write":
    for kind in shapes:
        save_binsparse(from_sparse(tensor(kind)), kind + ".h5")
    filled = tensor("float64")
    save_binsparse(from_sparse(sparse.COO(filled.coords, filled.data, shape=filled.shape, fill_value=2.0)), "filled.h5")
    print(*shapes)
else:
    found, wanted = to_sparse(load_binsparse(sys.argv[2])), tensor(sys.argv[3])
    assert found.shape == wanted.shape and found.nnz == wanted.nnz
    assert np.array_equal(found.coords, wanted.coords)
    assert np.array_equal(found.data.astype(np.float64), wanted.data.astype(np.float64))
PY
"$python" lists.py write >out 2>err
case $? in
  0)
    for kind in $(cat out); do
      expect 0 "60 nonzeros" "$amped" convert $kind.h5 ours.h5 --overwrite
      expect 0 "verified" "$amped" info ours.h5 --verify
      expect 0 "" "$python" lists.py compare ours.h5 $kind
      expect 0 "" "$amped" convert $kind.h5 list.h5 --overwrite --copies=none -q
      expect 0 "" "$python" lists.py compare list.h5 $kind
      expect 0 "ordered in memory\|ordering it in memory" on 2 $kind.h5 --rank=2 --iters=2 --nowrite
    done
    expect 3 "/fill_value is 2; store a tensor" "$amped" convert filled.h5 never.h5
    absent never.h5 ;;
  77) cat out ;;
  *) fail "lists.py: $(tail -n 1 err)" ;;
esac

# A result converted by convert, read by numpy.
expect 0 "" "$amped" convert a.cpd.h5 a.npy
expect 0 "" "$amped" convert a.cpd.h5 a.txt
cat >import.py <<'PY'
import h5py, numpy as np
with h5py.File("a.cpd.h5") as f:
    names = {"weights": "weights", **{f"mode{k}": f"factors/{k}" for k in range(3)}}
    for name, path in names.items():
        assert np.array_equal(np.load(f"a.{name}.npy"), f[path][:]), name
        assert np.array_equal(np.loadtxt(f"a.{name}.txt", ndmin=f[path].ndim), f[path][:]), name
PY
expect 0 "" "$python" import.py

# The reader of labels in docs/file-format.md.
awk '/^```python/ { block = ""; inside = 1; next }
  /^```/ { if (inside && block ~ /def read_labels/) printf "%s", block; inside = 0 }
  inside { block = block $0 "\n" }' "$docs/file-format.md" >labels.py
same "lines of the reader" "$(grep -c '' labels.py)" 5
cat >>labels.py <<'PY'
for name in "named.h5", "named.cpd.h5":
    with h5py.File(name) as f:
        assert read_labels(f, 0) == ["ann", "b,ö b"], name
        assert read_labels(f, 1) == ["tea"] and read_labels(f, 2) == ["mon", "tue"], name
PY
printf 'who,what,when\nann,tea,mon\n"b,ö b",tea,tue\n' >named.csv
expect 0 "" "$amped" convert named.csv named.h5 -q
expect 0 "" on 1 named.h5 --rank=1 --iters=2 -q
expect 0 "" "$python" labels.py
finish
