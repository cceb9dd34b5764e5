#!/usr/bin/env python3
"""Completion in numpy, slowly: sweeps from a start, to compare with amped_mpi complete. ALS, or blocks of
columns (CCD++: 1), each against residuals that are made anew.

    complete_reference.py start START.h5 R DIM...       a random start
    complete_reference.py compare TENSOR.tns START.h5 RESULT.h5 REG POWER REG_BIAS CONTEXT HOLDOUT SEED
      SWEEPS TOLERANCE [weights=WEIGHTS.tns | repeats=WEIGHTS.tns | implicit=A OF] [block=B] [by=MODES]

TENSOR.tns counts from 1. CONTEXT: modes from 1, separated by commas, or none. START and RESULT are files
of amped_mpi; RESULT tells whether there are biases. Compares the values of the model at all nonzeros, in
units of the scale, and the errors of training and of validation after each of SWEEPS sweeps. In the latter the
mean of the others stands for a row that has learnt nothing.

weights: WEIGHTS.tns has the same cells. repeats: an entry of weight n is there n times instead. implicit:
all cells of a dense tensor are visited, and held out entries ranked among all indices of mode OF. by: modes
from 1, separated by commas, whose indices decide what is held out.
"""
import sys

import h5py
import numpy as np
from counter_random import held

def solve(mode, block, factors, biases, index, y, w, o):
    """New columns of a mode's rows, and new biases. One column of several is over-relaxed: 1.6 times its step."""
    order, R = len(factors), block.stop - block.start
    p = np.ones((len(y), R))
    rest = np.ones((len(y), factors[0].shape[1]))
    t = y.copy()
    for m in range(order):
        rest *= factors[m][index[:, m]]
        if m != mode:
            p *= factors[m][index[:, m], block]
            t -= biases[m][index[:, m]]
    rest[:, block] = 0.0
    t -= rest.sum(axis=1)
    c = 1.0 if mode in o["context"] else 0.0
    overstep = 0.6 if R == 1 < factors[0].shape[1] and o["single"] else 0.0
    old, old_bias = factors[mode][:, block].copy(), biases[mode].copy()
    factors[mode][:, block] = c
    biases[mode][:] = 0.0
    at_of = np.argsort(index[:, mode], kind="stable")
    rows, begins = np.unique(index[at_of, mode], return_index=True)
    for i, at in zip(rows, np.split(at_of, begins[1:])):
        n = w[at].sum()
        if n == 0:
            continue
        lam = o["reg"] * (10.0 if c else 1.0) * n ** o["power"]
        P = p[at]
        W = w[at][:, None]
        if o["biased"]:
            Q = np.hstack([P, np.ones((len(at), 1))])
            H = Q.T @ (W * Q) + np.diag([lam] * R + [o["reg_bias"]])
            x = np.linalg.solve(H, Q.T @ (w * t)[at] + np.array([lam * c] * R + [0.0]))
            biases[mode][i] = x[R] + overstep * (x[R] - old_bias[i])
        else:
            x = np.linalg.solve(P.T @ (W * P) + lam * np.eye(R), P.T @ (w * t)[at] + lam * c)
        factors[mode][i, block] = x[:R] + overstep * (x[:R] - old[i])


def solve_dense(mode, factors, seen, weight, o):
    """New rows of a mode where every cell has a weight, and is 1 where it was seen, else 0."""
    order, R = len(factors), factors[0].shape[1]
    p = np.ones((1, R))
    for m in range(order):
        if m != mode:
            p = (p[:, None, :] * factors[m][None, :, :]).reshape(-1, R)
    seen = np.moveaxis(seen, mode, 0).reshape(factors[mode].shape[0], -1)
    weight = np.moveaxis(weight, mode, 0).reshape(factors[mode].shape[0], -1)
    c = 1.0 if mode in o["context"] else 0.0
    for i in range(factors[mode].shape[0]):
        lam = o["reg"] * (10.0 if c else 1.0) * float(seen[i].sum()) ** o["power"]
        H = p.T @ (weight[i][:, None] * p) + lam * np.eye(R)
        factors[mode][i] = np.linalg.solve(H, p.T @ (weight[i] * seen[i]) + lam * c)


def ndcg(factors, index, out, of):
    """Normalised discounted cumulative gain at 10 of held out entries."""
    learnt = {}
    for i in index[~out]:
        learnt.setdefault(tuple(np.delete(i, of)), set()).add(int(i[of]))
    gain = 0.0
    for i in index[out]:
        p = np.ones(factors[0].shape[1])
        for m, f in enumerate(factors):
            if m != of:
                p = p * f[i[m]]
        s = factors[of] @ p
        own = int(i[of])
        rank = sum(1 for j in range(len(s)) if j != own and s[j] >= s[own]
                   and j not in learnt.get(tuple(np.delete(i, of)), ()))
        gain += 1.0 / np.log2(rank + 2.0) if rank < 10 else 0.0
    return gain / max(1, int(out.sum()))


def predict(factors, biases, index):
    p = np.ones((len(index), factors[0].shape[1]))
    b = np.zeros(len(index))
    for m, f in enumerate(factors):
        p *= f[index[:, m]]
        b += biases[m][index[:, m]]
    return b + p.sum(axis=1)


def write_start(path, R, dims):
    rng = np.random.default_rng(20)
    with h5py.File(path, "w") as f:
        f["weights"] = rng.uniform(0.5, 2.0, R)
        for m, dim in enumerate(dims):
            f[f"factors/{m}"] = rng.uniform(-0.2, 1.0, (dim, R))


def read_weights(tns, index):
    rows = np.loadtxt(tns)
    of = {tuple(r[:-1].astype(np.int64) - 1): r[-1] for r in rows}
    return np.array([of[tuple(i)] for i in index])


def compare_implicit(index, values, factors, factors2, file, out, o, a, of, sweeps, tolerance):
    dims = [f.shape[0] for f in factors]
    seen, weight = np.zeros(dims), np.ones(dims)
    for i, v in zip(index[~out], values[~out]):
        seen[tuple(i)] = 1.0
        weight[tuple(i)] = 1.0 + a * v
    models, gains = [], []
    for _ in range(int(sweeps)):
        for m in range(len(dims)):
            solve_dense(m, factors, seen, weight, o)
        models.append(predict(factors, [np.zeros(d) for d in dims], index))
        gains.append(ndcg(factors, index, out, of))
    with h5py.File(file) as f:
        best = int(f.attrs["best_sweep"])
        gains2 = f["ndcg/validate"][:]
        assert f.attrs["implicit"] == a and f.attrs["metric"] in (b"ndcg", "ndcg")
    model2 = predict(factors2, [np.zeros(d) for d in dims], index)
    worst = [np.abs(models[best - 1] - model2).max(), np.abs(gains2 - np.array(gains)).max()]
    print("values %.2e, ndcg %.2e; best sweep %d" % (*worst, best))
    return max(worst) <= float(tolerance) and best == 1 + int(np.argmax(gains))


def spread(factors, weights, context):
    """Give each component's weight to its columns: equal lengths, and of context modes the mean 1."""
    for r, w in enumerate(weights):
        w, even = float(w), []
        for m, f in enumerate(factors):
            mean, size = f[:, r].mean(), np.sqrt((f[:, r] ** 2).mean())
            if m in context and abs(mean) > 0.5 * size:
                f[:, r] /= mean
                w *= mean
            else:
                even.append(m)
        lengths = [np.linalg.norm(factors[m][:, r]) for m in even]
        for m, length in zip(even, lengths):
            factors[m][:, r] *= (abs(w) * np.prod(lengths)) ** (1.0 / len(even)) / length
        factors[even[0] if even else 0][:, r] *= np.sign(w) if even else w


def compare(tns, start, result, reg, power, reg_bias, context, share, seed, sweeps, tolerance, *how):
    rows = np.loadtxt(tns)
    index = rows[:, :-1].astype(np.int64) - 1
    values = rows[:, -1]
    with h5py.File(result) as f:
        order = index.shape[1]
        biased = "bias" in f
        factors2 = [f[f"factors/{m}"][:] for m in range(order)]
        weights2 = f["weights"][:]
        dims = [x.shape[0] for x in factors2]
        biases2 = [f[f"bias/{m}"][:] if biased else np.zeros(dims[m]) for m in range(order)]
        mean2, scale2 = float(f.attrs["mean"]), float(f.attrs["scale"])
        best = int(f.attrs["best_sweep"])
        train2 = f["rmse/train"][:] if "rmse" in f else None
        validate2 = f["rmse/validate"][:] if "rmse" in f and "validate" in f["rmse"] else None
    with h5py.File(start) as f:
        factors = [f[f"factors/{m}"][:].astype(float) for m in range(order)]
        spread(factors, f["weights"][:], [] if context == "none" else [int(m) - 1 for m in context.split(",")])
    biases = [np.zeros(d) for d in dims]
    by = next((h[3:].split(",") for h in how if h.startswith("by=")), range(1, order + 1))
    how = [h for h in how if not h.startswith("by=")]
    fibre = index * np.isin(np.arange(1, order + 1), [int(m) for m in by])
    out = np.array([held(i, int(seed), float(share)) for i in fibre])
    o = {"reg": float(reg), "power": float(power), "reg_bias": float(reg_bias), "biased": biased,
         "context": [] if context == "none" else [int(m) - 1 for m in context.split(",")]}
    width = next((int(h[6:]) for h in how if h.startswith("block=")), 1 << 20)
    o["single"] = width == 1
    how = [h for h in how if not h.startswith("block=")]
    kind, _, what = how[0].partition("=") if how else ("", "", "")
    if kind == "implicit":
        factors2[0] = factors2[0] * weights2
        return compare_implicit(index, values, factors, factors2, result, out, o, float(what),
                                int(how[1]) - 1, sweeps, tolerance)
    w = read_weights(what, index) if kind else np.ones(len(values))
    out &= w > 0
    at = np.flatnonzero(~out)
    if kind == "repeats":
        at, w = np.repeat(at, w[at].astype(int)), np.ones(len(values))
    x = values[at]
    mean = np.average(x, weights=w[at]) if biased else 0.0
    scale = np.sqrt(np.average(x**2, weights=w[at]) - mean**2)
    y = (values - mean) / scale
    errors = []
    models = []
    for _ in range(int(sweeps)):
        for first in range(0, factors[0].shape[1], width):
            block = slice(first, min(first + width, factors[0].shape[1]))
            for m in range(order):
                solve(m, block, factors, biases, index[at], y[at], w[at], o)
        model = predict(factors, biases, index)
        models.append(mean + scale * model)
        e = (values - models[-1]) ** 2
        # Held-out entries take the mean of the others for a row that has learnt nothing.
        rows_of, biases_of = [x.copy() for x in factors], [x.copy() for x in biases]
        for m in range(order):
            known = np.isin(np.arange(dims[m]), index[at[w[at] > 0], m])
            rows_of[m][~known], biases_of[m][~known] = factors[m][known].mean(0), biases[m][known].mean()
        e[out] = (values - mean - scale * predict(rows_of, biases_of, index))[out] ** 2
        errors.append((np.sqrt(np.average(e[at], weights=w[at])), np.sqrt(e[out].mean()) if out.any() else 0.0))
    factors2[0] = factors2[0] * weights2
    model2 = mean2 + scale2 * predict(factors2, biases2, index)
    errors = np.array(errors)
    worst = [np.abs(models[best - 1] - model2).max() / scale, np.abs(train2 - errors[:, 0]).max(),
             np.abs(validate2 - errors[:, 1]).max() if validate2 is not None else 0.0]
    print("values %.2e, train %.2e, validate %.2e; best sweep %d" % (*worst, best))
    return max(worst) <= float(tolerance)


if sys.argv[1] == "start":
    write_start(sys.argv[2], int(sys.argv[3]), [int(d) for d in sys.argv[4:]])
else:
    sys.exit(0 if compare(*sys.argv[2:]) else 1)
