#!/usr/bin/env python3
"""CP-ALS in numpy, written from Kolda & Bader 2009 (figure 3.3) and nothing else.

    reference.py start TENSOR.h5 START.h5 R         a random start, as any h5py script writes one
    reference.py compare TENSOR.h5 START.h5 RESULT.h5 SWEEPS TOLERANCE

compare runs SWEEPS sweeps from START on TENSOR's coordinate list and holds weights, factors and
fits of RESULT against its own; the exit status says whether all agree within TOLERANCE. Signs are those
of docs/file-format.md.
"""
import sys

import h5py
import numpy as np


def read_tensor(path):
    with h5py.File(path) as f:
        order = int(f.attrs["order"])
        indices = [f[f"indices_{m}"][:].astype(np.int64) for m in range(order)]
        return f.attrs["dims"].astype(np.int64), indices, f["values"][:].astype(np.float64)


def read_model(path):
    with h5py.File(path) as f:
        return f["weights"][:], [f[f"factors/{m}"][:] for m in range(len(f["factors"]))]


def write_start(path, dims, rank):
    rng = np.random.default_rng(20)
    with h5py.File(path, "w") as f:
        f["weights"] = rng.uniform(0.5, 2.0, rank)
        for m, dim in enumerate(dims):
            f[f"factors/{m}"] = rng.uniform(-0.2, 1.0, (dim, rank))


def mttkrp(dims, indices, values, factors, mode):
    product = values[:, None] * np.ones(factors[0].shape[1])
    for m, index in enumerate(indices):
        if m != mode:
            product = product * factors[m][index]
    out = np.zeros((dims[mode], product.shape[1]))
    np.add.at(out, indices[mode], product)
    return out


def als(dims, indices, values, weights, factors, sweeps):
    factors = [a.copy() for a in factors]
    factors[0] *= weights
    order, norm = len(dims), np.sqrt(np.sum(values**2))
    fits = []
    for _ in range(sweeps):
        for mode in range(order):
            v = np.ones((len(weights), len(weights)))
            for m in range(order):
                if m != mode:
                    v *= factors[m].T @ factors[m]
            k = mttkrp(dims, indices, values, factors, mode)
            a = np.linalg.solve(v, k.T).T
            weights = np.linalg.norm(a, axis=0)
            factors[mode] = a / np.where(weights > 0, weights, 1)
        grams = np.outer(weights, weights)
        for a in factors:
            grams = grams * (a.T @ a)
        inner = np.sum(weights * np.sum(k * factors[-1], axis=0))
        residual = norm**2 + grams.sum() - 2 * inner
        fits.append(1 - np.sqrt(max(residual, 0)) / norm)
    order_by_weight = np.argsort(-weights, kind="stable")
    factors = [a[:, order_by_weight] for a in factors]
    set_signs(dims, factors)
    return weights[order_by_weight], factors, np.array(fits)


def set_signs(dims, factors):
    negative = np.array([a[np.argmax(np.abs(a), axis=0), np.arange(a.shape[1])] < 0 for a in factors])
    negative[np.argmax(dims), negative.sum(axis=0) % 2 == 1] ^= True
    for a, flipped in zip(factors, negative):
        a[:, flipped] *= -1


def main():
    command, tensor, start = sys.argv[1:4]
    dims, indices, values = read_tensor(tensor)
    if command == "start":
        write_start(start, dims, int(sys.argv[4]))
        return 0
    result, sweeps, tolerance = sys.argv[4], int(sys.argv[5]), float(sys.argv[6])
    weights, factors, fits = als(dims, indices, values, *read_model(start), sweeps)
    got_weights, got_factors = read_model(result)
    with h5py.File(result) as f:
        got_fits = f["fit"][:]
    errors = {"weights": np.max(np.abs(got_weights - weights) / weights),
              "fit": np.max(np.abs(got_fits - fits))}
    for m, (a, b) in enumerate(zip(got_factors, factors)):
        errors[f"factor {m}"] = np.max(np.abs(a - b))
        errors[f"unit columns {m}"] = np.max(np.abs(np.linalg.norm(a, axis=0) - 1))
    bad = {k: e for k, e in errors.items() if not e <= tolerance}
    print(f"{tensor}: largest difference {max(errors.values()):.1e}", f"too large: {bad}" if bad else "")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
