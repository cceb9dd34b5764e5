#!/bin/sh
# generate --planted=R --observed=F: cells of a dense model of low rank, drawn at random, against numpy.
. "$(dirname "$0")/../lib/lib.sh"
cd "$scratch" || exit 99
needs_python

# check DIMS R SHARE NOISE MEAN FILE JSON: the tensor against the model beside it.
check() {
  "$python" - "$@" <<'PY' && pass || fail "$6 is not as asked for"
import json, sys
import h5py, numpy as np
dims = [int(d) for d in sys.argv[1].split('x')]
ncomps, share, noise, mean = int(sys.argv[2]), *map(float, sys.argv[3:6])
name, line = sys.argv[6], json.loads(open(sys.argv[7]).read())
order = len(dims)
with h5py.File(name) as f:
    i = np.stack([f[f'indices_{m}'][:].astype(int) for m in range(order)])
    v = f['values'][:].astype(float)
    assert f.attrs['dims'].tolist() == dims and f.attrs['duplicates'] in (b'none', 'none')
with h5py.File(name[:-3] + '.planted.h5') as f:
    weights = f['weights'][:]
    factors = [f[f'factors/{m}'][:] for m in range(order)]
cells = int(np.prod(dims))
n = round(share * cells)
flat = np.ravel_multi_index(i, dims)
assert v.size == n == line['nnz'] and np.unique(flat).size == n
assert weights.size == ncomps and [a.shape for a in factors] == [(d, ncomps) for d in dims]
# The model is dense and of full rank.
assert all((a != 0).all() for a in factors)
assert all(np.linalg.matrix_rank(a) == min(a.shape) for a in factors)
# Columns have unit length, and the weights that of products: so entries of mean and deviation 1 are
# mean / sqrt(d (1 + mean^2)) on average, by six deviations.
assert line['options']['factor_mean'] == mean
for d, a in zip(dims, factors):
    if d >= 100:
        assert abs(a.mean() * np.sqrt(d) - mean / np.sqrt(1 + mean ** 2)) <= 6 / np.sqrt(d * ncomps)
# Every index is as likely as another: six standard deviations of a count without replacement.
for m, d in enumerate(dims):
    count = np.bincount(i[m], minlength=d)
    assert (abs(count - n / d) <= 6 * np.sqrt(n / d * (1 - share)) + 1e-9).all(), m
model = np.ones((n, ncomps)) * weights
for m in range(order):
    model *= factors[m][i[m]]
size = abs(model).sum(1)
model = model.sum(1)
rms = np.sqrt(np.mean(model ** 2))
assert abs(line['noise_sd'] - noise * rms) <= 1e-9 * rms
error = v - model
if noise == 0:  # some roundings of a sum of products
    assert (abs(error) <= 1e-13 * size).all()
else:  # Gaussian: mean, variance, shares within one and two deviations, by six of their deviations
    e = error / (noise * rms)
    assert abs(e.mean()) <= 6 / np.sqrt(n) and abs(np.mean(e ** 2) - 1) <= 6 * np.sqrt(2 / n)
    for width, p in ((1, 0.6827), (2, 0.9545)):
        assert abs(np.mean(abs(e) < width) - p) <= 6 * np.sqrt(p * (1 - p) / n) + 1e-3
    # and of no index
    for m, d in enumerate(dims):
        z = np.bincount(i[m], e, d) / np.sqrt(np.maximum(np.bincount(i[m], minlength=d), 1))
        assert abs(z).max() < 7
PY
}

number=0
while read -r dims ncomps share noise mean; do
  number=$((number + 1))
  expect 0 "the planted model, $ncomps components" "$amped" generate o.$number.h5 --dims="$dims" \
    --planted="$ncomps" --observed="$share" --noise="$noise" --factor-mean="$mean" --seed=$number \
    --json=o.$number.json
  check "$dims" "$ncomps" "$share" "$noise" "$mean" o.$number.h5 o.$number.json
done <<EOF
300x200x100 5 0.01 0.01 0
300x200x100 5 0.01 0 1
30x20x10 3 1 0.1 -2
30x20x10 1 0.7 0 0
40x1x50x30 4 0.05 0.5 0.5
9x8x7x20x11 3 0.1 0 0
7x5x6x4x9x8 2 0.2 0.02 0
EOF

# The same again, whatever the number of threads; another seed draws other cells of another model.
"$amped" generate a.h5 --dims=90x80x70 --planted=4 --observed=0.1 --noise=0.1 --seed=7 -t 1 -q || fail "a"
"$amped" generate b.h5 --dims=90x80x70 --planted=4 --observed=0.1 --noise=0.1 --seed=7 -t 2 -q || fail "b"
expect 0 "" cmp a.h5 b.h5
"$amped" generate c.h5 --dims=90x80x70 --planted=4 --observed=0.1 --noise=0.1 --seed=8 -q || fail "c"
if cmp -s a.h5 c.h5; then fail "another seed gave the same"; else pass; fi
expect 0 "" "$amped" generate t.tns --dims=90x80x70 --planted=4 --observed=0.1 --seed=7 -q
same "text" "$(grep -vc "^#" t.tns)" 50400
expect 0 "factor match score 1.000000" "$amped" compare a.planted.h5 b.planted.h5

# --- refusals -------------------------------------------------------------------------------------
refuse() {
  pattern=$1
  shift
  expect 2 "$pattern" "$amped" generate x.h5 "$@"
}
refuse "give --planted too" --dims=9x9x9 --observed=0.5
refuse "leave out --nnz" --dims=9x9x9 --planted=2 --observed=0.5 --nnz=10
refuse "leave out --shape" --shape=amazon --planted=2 --observed=0.5
refuse "leave out one of them" --dims=9x9x9 --planted=2 --observed=0.5 --skew=1
refuse "a share" --dims=9x9x9 --planted=2 --observed=0
refuse "a share" --dims=9x9x9 --planted=2 --observed=1.5
refuse "a share" --dims=9x9x9 --planted=2 --observed=-1
refuse "a share" --dims=9x9x9 --planted=2 --observed=nan
refuse "is less than one" --dims=9x9x9 --planted=2 --observed=1e-6
refuse "cells are too many to draw" --dims=300x300x300x300x300x300x300x300 --planted=2 --observed=1
refuse "give --observed too" --dims=9x9x9 --planted=2 --nnz=100 --factor-mean=1
refuse "factor-mean" --dims=9x9x9 --planted=2 --observed=0.5 --factor-mean=nan
refuse "a number from 0 to 1000000" --dims=9x9x9 --planted=2 --observed=0.5 --noise=inf
refuse "1 to" --dims=9x9x9 --planted=0 --observed=0.5
expect 1 "memory" "$amped" generate x.h5 --dims=1000000x1000000x1000000 --planted=2 --observed=0.001
expect 1 "of memory" "$amped" generate x.h5 --dims=900000000000000000x3x3 --planted=2 --observed=1e-15
absent x.h5 x.planted.h5
# 6.6e19 cells, more than 2^64
expect 0 "made .*, 656 nonzeros" "$amped" generate x.h5 --dims=300x300x300x300x300x300x300x300 --planted=2 --observed=1e-17

finish
