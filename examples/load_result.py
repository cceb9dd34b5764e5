#!/usr/bin/env python3
"""Loads a result of amped_mpi as the model of a Python package, and computes its fit anew.

    load_result.py RESULT.h5 TENSOR.h5 [numpy|pyttb|tensorly]

The fit is 1 - |tensor - model| / |tensor|. The last line tells it, and the one that the result
holds; they differ by the rounding of the run (--precision=float: about 1e-6 of the norms).

A result of --loss=poisson has columns that sum to 1, and weights that are expected numbers of events.
The share of the deviance that it explains takes the place of the fit.

A completion model of R components and N modes is loaded as R + N + 1 components, whose other columns
are ones: the biases of each mode, and the mean. (Without biases: R + 1.) Of such a model the root
mean square error at the tensor's entries is told. A model of --implicit is refused: it predicts
preferences of 0 to 1, and an error against counts would mean nothing.

Rows are matched by label if both files have labels.
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


def text_of(attribute):
    """h5py gives texts of fixed length as bytes."""
    return attribute.decode() if isinstance(attribute, bytes) else attribute


def read_result(path):
    """Weights, factors, the metric's name and value; None of a completion model."""
    with open_file(path, "weights", "factors") as f:
        factors = [f[f"factors/{k}"][:] for k in range(len(f["factors"]))]
        weights = f["weights"][:]
        if "implicit" in f.attrs:
            sys.exit(f"{path}: is a model of --implicit, which has no error against counts; "
                     "see amped_mpi evaluate")
        if text_of(f.attrs.get("amped_model", "")) == "completion":
            return *plain_model(f, weights, factors), None, None
        metric = "explained" if text_of(f.attrs.get("loss", "")) == "poisson" else "fit"
        if metric not in f:
            sys.exit(f"{path}: has no /{metric}; see load_result.py --help")
        return weights, factors, metric, f[metric][-1]


def is_float(path):
    """Were factors of 32 bits in memory?"""
    with open_file(path, "weights") as f:
        return '"float32"' in text_of(f.attrs.get("options", ""))


def plain_model(f, weights, factors):
    """A completion model as a plain CP: constant columns carry the mean and the biases."""
    scale, biased = f.attrs["scale"], "bias" in f
    extra = len(factors) * biased + 1
    weights = np.concatenate([scale * weights, np.full(extra - 1, scale), [f.attrs["mean"]]])
    factors = [np.hstack([a, np.ones((len(a), extra))]) for a in factors]
    for k in range(extra - 1):
        factors[k][:, k - extra] = f[f"bias/{k}"][:]
    return weights, factors


def read_labels(f, mode):
    """The labels of a mode, a list of bytes; None if it has none."""
    if f"labels/mode_{mode}" not in f:
        return None
    text = f[f"labels/mode_{mode}/bytes"][:].tobytes()
    offsets = f[f"labels/mode_{mode}/offsets"][:].tolist()
    return [text[a:b] for a, b in zip(offsets, offsets[1:])]


def match_rows(result, tensor, subs):
    """The coordinates of the tensor's entries as rows of the result."""
    subs = subs.copy()
    with open_file(result) as r, open_file(tensor) as t:
        for mode in range(subs.shape[1]):
            theirs, ours = read_labels(r, mode), read_labels(t, mode)
            if theirs is None or ours is None or theirs == ours:
                continue
            row_of = {label: row for row, label in enumerate(theirs)}
            rows = np.array([row_of.get(label, -1) for label in ours])
            subs[:, mode] = rows[subs[:, mode]]
    if np.any(subs < 0):
        sys.exit(f"{result}: has no row for some labels of {tensor}")
    return subs


def read_tensor(path):
    """Coordinates, one row a nonzero, their values, and the dimensions."""
    with open_file(path, "indices_0", "values") as f:
        indices = [f[f"indices_{m}"][:].astype(np.int64) for m in range(int(f.attrs["order"]))]
        return np.stack(indices, axis=1), f["values"][:].astype(float), tuple(map(int, f.attrs["dims"]))


def fit_of(norm, model_norm, inner):
    return 1 - np.sqrt(max(norm**2 + model_norm**2 - 2 * inner, 0)) / norm


def added_up(subs, values):
    """Values at a repeated coordinate count as their sum, as in cpd."""
    cells, cell_of = np.unique(subs, axis=0, return_inverse=True)
    return cells, np.bincount(cell_of.ravel(), values)


def explained_of(weights, factors, subs, values, at_nonzeros, rounding):
    """1 - D / D0, of the deviances of the model and of independent modes. D0 is the sum of the values if
    independent modes fit up to rounding, a share of that sum."""
    subs, at_nonzeros, values = subs[values > 0], at_nonzeros[values > 0], values[values > 0]
    total, independent = values.sum(), 1
    for mode, factor in enumerate(factors):
        independent = independent * np.bincount(subs[:, mode], values, len(factor))[subs[:, mode]] / total
    expected = (weights * np.prod([factor.sum(axis=0) for factor in factors], axis=0)).sum()
    deviance = 2 * (values @ np.log(values / at_nonzeros) - total + expected)
    whole = 2 * (values @ np.log(values / (total * independent)))
    return 1 - max(deviance, 0) / (whole if whole >= rounding * total else total)


def values_numpy(weights, factors, subs):
    at_entries = np.tile(weights, (len(subs), 1))
    for mode, factor in enumerate(factors):
        at_entries *= factor[subs[:, mode]]
    return at_entries.sum(axis=1)


def values_pyttb(weights, factors, subs):
    import pyttb

    model = pyttb.ktensor(factors, weights)
    return values_numpy(model.weights, model.factor_matrices, subs)


def values_tensorly(weights, factors, subs):
    from tensorly.cp_tensor import CPTensor

    model = CPTensor((weights, factors))
    return values_numpy(model.weights, model.factors, subs)


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
    weights, factors, metric, found = read_result(sys.argv[1])
    subs, values, dims = read_tensor(sys.argv[2])
    if dims != tuple(len(factor) for factor in factors):
        sys.exit(f"{sys.argv[1]} is a result of another tensor than {sys.argv[2]}")
    subs = match_rows(sys.argv[1], sys.argv[2], subs)
    at_entries = {"numpy": values_numpy, "pyttb": values_pyttb, "tensorly": values_tensorly}[package]
    if metric is None:
        rmse = np.sqrt(np.mean((values - at_entries(weights, factors, subs)) ** 2))
        print(f"{package}: {len(weights)} components, rmse {rmse:.9f} at {len(values)} entries")
        return 0
    subs, values = added_up(subs, values)
    load = {"numpy": with_numpy, "pyttb": with_pyttb, "tensorly": with_tensorly}[package]
    if metric == "explained":
        rounding = 2**-21 if is_float(sys.argv[1]) else 2**-46
        computed = explained_of(weights, factors, subs, values, at_entries(weights, factors, subs), rounding)
    else:
        computed = load(weights, factors, subs, values, dims)
    print(f"{package}: {len(weights)} components, {metric} {computed:.9f}, in the file {found:.9f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
