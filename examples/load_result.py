#!/usr/bin/env python3
"""Loads a result of amped_mpi as the model of a Python package, and computes its fit anew.

    load_result.py RESULT.h5 TENSOR.h5 [numpy|pyttb|tensorly]

The fit is 1 - |tensor - model| / |tensor|. The last line tells it, and the one that the result
holds; they differ by the rounding of the run (--precision=float: about 1e-6 of the norms).
Exit status 77: the package is not installed.
"""
import importlib
import sys

import h5py
import numpy as np


def open_file(path, *names):
    """An HDF5 file that holds these."""
    try:
        f = h5py.File(path)
    except OSError as error:
        sys.exit(f"{path}: {error}")
    for name in names:
        if name not in f:
            sys.exit(f"{path}: has no /{name}; see load_result.py --help")
    return f


def read_result(path):
    with open_file(path, "weights", "factors", "fit") as f:
        factors = [f[f"factors/{k}"][:] for k in range(len(f["factors"]))]
        return f["weights"][:], factors, f["fit"][-1]


def read_tensor(path):
    """Coordinates, one row a nonzero, their values, and the dimensions."""
    with open_file(path, "indices_0", "values") as f:
        indices = [f[f"indices_{m}"][:].astype(np.int64) for m in range(int(f.attrs["order"]))]
        return np.stack(indices, axis=1), f["values"][:].astype(float), tuple(map(int, f.attrs["dims"]))


def fit_of(norm, model_norm, inner):
    return 1 - np.sqrt(max(norm**2 + model_norm**2 - 2 * inner, 0)) / norm


def with_numpy(weights, factors, subs, values, dims):
    grams = np.outer(weights, weights)
    at_nonzeros = np.tile(weights, (len(values), 1))
    for mode, factor in enumerate(factors):
        grams *= factor.T @ factor
        at_nonzeros *= factor[subs[:, mode]]
    return fit_of(np.linalg.norm(values), np.sqrt(grams.sum()), values @ at_nonzeros.sum(axis=1))


def with_pyttb(weights, factors, subs, values, dims):
    import pyttb

    model = pyttb.ktensor(factors, weights)
    tensor = pyttb.sptensor(subs, values[:, None], dims)
    return fit_of(tensor.norm(), model.norm(), tensor.innerprod(model))


def with_tensorly(weights, factors, subs, values, dims):
    from tensorly.cp_tensor import CPTensor, cp_norm

    model = CPTensor((weights, factors))
    # TensorLy's own inner products are of dense tensors; this one takes the nonzeros alone.
    at_nonzeros = np.tile(model.weights, (len(values), 1))
    for mode, factor in enumerate(model.factors):
        at_nonzeros *= factor[subs[:, mode]]
    return fit_of(np.linalg.norm(values), cp_norm(model), values @ at_nonzeros.sum(axis=1))


def main():
    if len(sys.argv) not in (3, 4) or sys.argv[3:] not in ([], ["numpy"], ["pyttb"], ["tensorly"]):
        sys.exit(__doc__)
    package = sys.argv[3] if len(sys.argv) == 4 else "numpy"
    try:
        importlib.import_module(package)
    except ImportError:
        print(f"skipped: {package} is not installed (pip install {package})")
        return 77
    weights, factors, fit = read_result(sys.argv[1])
    load = {"numpy": with_numpy, "pyttb": with_pyttb, "tensorly": with_tensorly}[package]
    subs, values, dims = read_tensor(sys.argv[2])
    if dims != tuple(len(factor) for factor in factors):
        sys.exit(f"{sys.argv[1]} is a result of another tensor than {sys.argv[2]}")
    computed = load(weights, factors, subs, values, dims)
    print(f"{package}: {len(weights)} components, fit {computed:.9f}, in the file {fit:.9f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
