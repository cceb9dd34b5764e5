#!/usr/bin/env python3
"""Core consistency in numpy, on the dense tensor, from Bro & Kiers 2003 and nothing else.

    corcondia.py TENSOR.h5 RESULT.h5 float|double

Holds the attribute corcondia of RESULT against it; the exit status says whether they agree within
what rounding explains.
"""
import sys

import h5py
import numpy as np


def read_dense(path):
    with h5py.File(path) as f:
        x = np.zeros(f.attrs["dims"].astype(int))
        indices = [f[f"indices_{m}"][:].astype(int) for m in range(x.ndim)]
        np.add.at(x, tuple(indices), f["values"][:].astype(float))
    return x


def condition(factor):
    """Of what a pseudo-inverse keeps: columns may be dependent."""
    s = np.linalg.svd(factor, compute_uv=False)
    return s[0] / s[s > 1e-12 * s[0]][-1]


def main():
    x = read_dense(sys.argv[1])
    with h5py.File(sys.argv[2]) as f:
        weights = f["weights"][:]
        factors = [f[f"factors/{m}"][:] * weights ** (1 / x.ndim) for m in range(x.ndim)]
        got = float(f.attrs["corcondia"])
    rank = len(weights)
    inverses = [np.linalg.pinv(a) for a in factors]
    core = x
    for inverse in inverses:  # the first axis each time; the new one goes last
        core = np.tensordot(core, inverse, axes=(0, 1))
    ideal = np.zeros((rank,) * x.ndim)
    ideal[(np.arange(rank),) * x.ndim] = 1
    distance = np.linalg.norm(core - ideal)
    want = 100 * (1 - distance**2 / rank)
    # An element of the core is a sum over the tensor of products of N columns of the inverses: by
    # Cauchy and Schwarz its rounding stays below (N + 2) eps |X| prod |A+|. Inverses made through
    # grams carry cond^2 eps of double each.
    eps = np.finfo(np.float32 if sys.argv[3] == "float" else np.float64).eps
    cond = sum(condition(f) ** 2 for f in factors)
    size = np.linalg.norm(x) * np.prod([np.linalg.norm(i, 2) for i in inverses])
    error = rank ** (x.ndim / 2) * size * ((x.ndim + 2) * eps + 4 * rank * cond * np.finfo(float).eps)
    tolerance = 100 / rank * (2 * distance * error + error**2)
    print(f"core consistency {want:.9g}, in the file {got:.9g}, tolerance {tolerance:.1e}")
    return not abs(got - want) <= tolerance


if __name__ == "__main__":
    sys.exit(main())
