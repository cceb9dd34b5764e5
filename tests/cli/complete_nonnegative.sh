#!/bin/sh
# complete --nonnegative: many sweeps end at the conditions of an optimum (Karush, Kuhn, Tucker).
. "$(dirname "$0")/../lib/lib.sh"
cd "$scratch" || exit 99
needs_python
cat >tensor.py <<'PY'
import numpy as np

random = np.random.default_rng(1)
dims = (25, 20, 15)
factors = [random.random((n, 4)) * (random.random((n, 4)) < 0.7) for n in dims]
values = np.einsum("ir,jr,kr->ijk", *factors) + 0.05 * random.standard_normal(dims)
with open("x.tns", "w") as f:
    for i, j, k in np.argwhere(random.random(dims) < 0.5):
        f.write(f"{i + 1} {j + 1} {k + 1} {values[i, j, k]:.17g}\n")
PY
# The state has the rows as the sweeps left them. The residual is that of backend/row_fit.h.
cat >residual.py <<'PY'
import sys
import h5py
import numpy as np

entries = np.loadtxt("x.tns")
index, values = entries[:, :3].astype(int) - 1, entries[:, 3]
with h5py.File(sys.argv[1]) as f:
    a = dict(f.attrs)
    rows = [f[f"factors/{m}"][:] for m in range(3)]
    prior, pull = f["prior"][:], f["pull"][:]
biased = int(a["biased"])
ncomps = rows[0].shape[1] - biased
values = (values - a["mean"]) / a["scale"]
bias = [r[:, ncomps] if biased else np.zeros(len(r)) for r in rows]
rows = [r[:, :ncomps] for r in rows]
parts = [r[index[:, m]] for m, r in enumerate(rows)]
off = (parts[0] * parts[1] * parts[2]).sum(axis=1) + sum(b[index[:, m]] for m, b in enumerate(bias)) - values
worst, zeros = 0.0, 0
for m, r in enumerate(rows):
    product = parts[(m + 1) % 3] * parts[(m + 2) % 3]
    at = index[:, m]
    count = np.bincount(at, minlength=len(r))
    weight = (a["reg"] * count ** a["reg_power"] * pull[m])[:, None]
    gradient, right, diagonal = np.zeros_like(r), np.zeros_like(r), np.zeros_like(r)
    np.add.at(gradient, at, product * off[:, None])
    np.add.at(right, at, product * ((product * r[at]).sum(axis=1) - off)[:, None])
    np.add.at(diagonal, at, product**2)
    gradient += weight * (r - prior[m])
    right += weight * prior[m]
    diagonal += weight
    assert (r >= 0).all()
    gradient[(r == 0) & (gradient > 0)] = 0
    share = (np.abs(gradient) / np.sqrt(diagonal)).max(axis=1) / (np.abs(right) / np.sqrt(diagonal)).max(axis=1)
    worst, zeros = max(worst, share.max()), zeros + (r == 0).sum()
print(f"residual {worst:.2e}, {zeros} zeros")
sys.exit(0 if worst < 1e-7 and zeros > 10 else 1)
PY
"$python" tensor.py || fail "no tensor"
for run in "1 --bias=none --context=none" "2 --context=none" "3 --bias=none --context=3" "2 --bias=none --context=none --method=ccd"; do
  # shellcheck disable=SC2086
  set -- $run
  ranks=$1
  shift
  rm -f s.h5*
  expect 0 "" on "$ranks" complete x.tns --rank=4 --nonnegative "$@" --holdout=0 --reg=0.1 --precision=double --iters=1500 --tol=0 \
    --patience=2000 --state=s.h5 --nowrite -q
  "$python" residual.py s.h5 >said.txt 2>&1 && pass || fail "$run: $(tail -n 1 said.txt)"
  cat said.txt
done

# Some modes alone: rows as the sweeps left them are the result's, times the lengths of columns.
cat >some.py <<'PY'
import sys
import h5py
import numpy as np

entries = np.loadtxt("x.tns")
index, values = entries[:, :3].astype(int) - 1, entries[:, 3]
kept = [int(m) for m in sys.argv[1].split(",")]
with h5py.File("s.h5") as f:
    values = (values - f.attrs["mean"]) / f.attrs["scale"]
    bias = [f[f"bias/{m}"][:] if "bias" in f else np.zeros(f[f"factors/{m}"].shape[0]) for m in range(3)]
    weights = f["weights"][:] * (1 if "lengths" in f else 0)
    lengths = f["lengths"][:]
    rows = [f[f"factors/{m}"][:] * lengths[m] for m in range(3)]
assert np.allclose(np.prod(lengths, axis=0), weights)
parts = [r[index[:, m]] for m, r in enumerate(rows)]
off = np.prod(parts, axis=0).sum(axis=1) + sum(b[index[:, m]] for m, b in enumerate(bias)) - values
worst, negative = 0.0, 0
for m, r in enumerate(rows):
    product, at = parts[(m + 1) % 3] * parts[(m + 2) % 3], index[:, m]
    gradient, diagonal = 0.1 * r, np.full_like(r, 0.1)
    np.add.at(gradient, at, product * off[:, None])
    np.add.at(diagonal, at, product**2)
    right = gradient - diagonal * r
    if m in kept:
        assert (r >= 0).all() and (r == 0).sum() > 5, m
        gradient[(r == 0) & (gradient > 0)] = 0
    else:
        negative += (r < 0).sum()
    share = (np.abs(gradient) / np.sqrt(diagonal)).max(axis=1) / (np.abs(right) / np.sqrt(diagonal)).max(axis=1)
    worst = max(worst, share.max())
print(f"residual {worst:.2e}, {negative} negative entries")
sys.exit(0 if worst < 1e-6 and negative > 10 else 1)
PY
{ echo a,b,c,v; sed 's/^\([0-9]*\) \([0-9]*\) \([0-9]*\) /\1,\2,\3,/' x.tns; } >x.csv
for run in "1 2,3 1,2" "3 2,3 1,2" "2 1 0 --context=none" "1 2,3 1,2 --method=ccd" "1 b,c 1,2"; do
  # shellcheck disable=SC2086
  set -- $run
  ranks=$1
  some=$2
  modes=$3
  shift 3
  case $some in b*) input="x.csv --value=v" ;; *) input=x.tns ;; esac
  # shellcheck disable=SC2086
  expect 0 "" on "$ranks" complete $input --rank=4 --nonnegative=$some --bias=none "$@" --holdout=0 --reg=0.1 --reg-power=0 \
    --precision=double --iters=3000 --tol=0 --patience=4000 -o s.h5 --overwrite -q
  case $some in b*) pass; continue ;; esac # rows of a table come in another order
  "$python" some.py "$modes" >said.txt 2>&1 && pass || fail "$run: $(tail -n 1 said.txt)"
  cat said.txt
done
short="--rank=2 --reg=1 --iters=2 --nowrite"
# shellcheck disable=SC2086
{
  expect 2 "no mode 4" on 1 complete x.tns $short --nonnegative=4
  expect 2 "no mode shop; .*a, b, c" on 1 complete x.csv --value=v $short --nonnegative=a,shop
  expect 2 "--nonnegative=1,2: --method=sgd moves all modes at once" on 1 complete x.tns $short --nonnegative=1,2 --method=sgd
  expect 2 "--nonnegative=1,2: a state keeps all modes nonnegative or none" on 1 complete x.tns $short --nonnegative=1,2 --state=never.state
  expect 0 "" on 1 complete x.csv --value=v $short --nonnegative=c,b,a --method=sgd
  expect 2 "--nonnegative=1,2: bench keeps all modes nonnegative" on 1 bench x.tns --complete --rank=2 --nonnegative=1,2
}
absent never.state
# A run that continues must keep the same modes.
# shellcheck disable=SC2086
expect 0 "" on 1 complete x.tns $short --nonnegative=1,2 --checkpoint=c.h5 --checkpoint-every=1
# shellcheck disable=SC2086
expect 3 "nonnegative differs" on 1 complete x.tns $short --nonnegative=1 --checkpoint=c.h5 --resume --iters=4
# shellcheck disable=SC2086
expect 0 "" on 1 complete x.tns $short --nonnegative=2,1 --checkpoint=c.h5 --resume --iters=4
finish
