#!/usr/bin/env python3
"""The fits of a run's sweeps, and those of pyttb's cp_als and TensorLy's parafac from its start.

  dense_peers.py make OUT.npy START.h5 R DIM...   R components and noise, and a start
  dense_peers.py compare X.npy START.h5 RUN.json TOLERANCE
"""
import json
import sys

import h5py
import numpy as np
import pyttb
import tensorly
from tensorly.decomposition import parafac


def make(out, start, ncomps, dims):
    random = np.random.default_rng(len(dims))
    letters = "ijklm"[: len(dims)]
    planted = [random.standard_normal((n, ncomps)) for n in dims]
    x = np.einsum(",".join(c + "r" for c in letters) + "->" + letters, *planted, optimize=True)
    np.save(out, x + 0.5 * random.standard_normal(dims))
    with h5py.File(start, "w") as f:
        f["weights"] = np.ones(ncomps)
        for k, n in enumerate(dims):
            f["factors/%d" % k] = random.random((n, ncomps))


def pyttb_fits(x, factors, sweeps):
    """Its result tells the last fit alone."""
    fits = []
    for n in range(1, sweeps + 1):
        start = pyttb.ktensor([np.asfortranarray(a) for a in factors])
        _, _, told = pyttb.cp_als(pyttb.tensor(x), factors[0].shape[1], stoptol=0.0, maxiters=n,
                                  init=start, printitn=0)
        fits.append(told["fit"])
    return fits


def tensorly_fits(x, factors, sweeps):
    start = tensorly.cp_tensor.CPTensor((np.ones(factors[0].shape[1]), [a.copy() for a in factors]))
    _, errors = parafac(tensorly.tensor(x), factors[0].shape[1], n_iter_max=sweeps, init=start,
                        tol=0, return_errors=True)
    return [1.0 - float(e) for e in errors]


def compare(name, start, lines, tolerance):
    x = np.load(name)
    with h5py.File(start) as f:
        factors = [f["factors/%d" % k][...] for k in range(x.ndim)]
    with open(lines) as f:
        found = [e["fit"] for e in map(json.loads, f) if e["event"] == "iteration"]
    for peer, fits in (("pyttb", pyttb_fits), ("TensorLy", tensorly_fits)):
        wanted = fits(x, factors, len(found))
        if not found or len(found) != len(wanted) or not np.allclose(found, wanted, 0, tolerance):
            sys.exit("%s: fits %s, %s has %s" % (name, found, peer, wanted))


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(sys.argv[2], sys.argv[3], int(sys.argv[4]), [int(d) for d in sys.argv[5:]])
    else:
        compare(sys.argv[2], sys.argv[3], sys.argv[4], float(sys.argv[5]))
