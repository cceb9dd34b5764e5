#!/usr/bin/env python3
"""Accelerated CP-ALS in numpy, from the formulas in docs/methods.md and nothing else.

  accelerate_reference.py make FOLDER         write tensors: two dense ones, and a list of nonzeros
  accelerate_reference.py start OUT R DIM...  a start: factors in an HDF5 file
  accelerate_reference.py compare X START HOW JSON TOLERANCE
                                              the run's sweeps, steps and refusals, and those here
  accelerate_reference.py rises JSON          no fit is below the one before, but for the noise
                                              that the run tells of them
  accelerate_reference.py sweeps FIT JSON...  the median of the sweeps to that fit; a run that does
                                              not reach it counts as endless

X is a .npy file, or text of indices and a value.
"""
import json
import sys

import h5py
import numpy as np

LETTERS = "abcdefgh"


def make(folder):
    rng = np.random.default_rng(7)
    for name, dims, noise in (("three", (23, 17, 29), 0.3), ("four", (11, 5, 8, 13), 0.1)):
        bent = rng.random((4, 4)) + 3.0  # nearly collinear columns
        factors = [rng.standard_normal((n, 4)) @ bent for n in dims]
        x = np.einsum(",".join(m + "r" for m in LETTERS[:len(dims)]) + "->" + LETTERS[:len(dims)],
                      *factors)
        x += noise * np.sqrt(np.mean(x**2)) * rng.standard_normal(dims)
        np.save("%s/%s.npy" % (folder, name), x)
    cells = rng.choice(30 * 20 * 10, 1500, replace=False)
    with open(folder + "/list.tns", "w") as f:
        for cell in np.sort(cells):
            i, j, k = np.unravel_index(cell, (30, 20, 10))
            f.write("%d %d %d %r\n" % (i + 1, j + 1, k + 1, float(rng.random() + 0.5)))


def read(path):
    if path.endswith(".npy"):
        return np.load(path)
    rows = np.loadtxt(path)
    indices = rows[:, :-1].astype(int) - 1
    x = np.zeros(indices.max(axis=0) + 1)
    x[tuple(indices.T)] = rows[:, -1]
    return x


def start(out, ncomps, dims):
    with h5py.File(out, "w") as f:
        f["weights"] = np.ones(ncomps)
        for k, dim in enumerate(dims):
            f["factors/%d" % k] = np.random.default_rng(k).random((dim, ncomps))


def mttkrp(x, factors, mode):
    modes = LETTERS[:x.ndim]
    others = [m for m in range(x.ndim) if m != mode]
    terms = [modes] + [modes[m] + "r" for m in others]
    return np.einsum(",".join(terms) + "->" + modes[mode] + "r", x, *(factors[m] for m in others),
                     optimize=True)


def grams(factors, mode=-1):
    out = 1.0
    for m, a in enumerate(factors):
        if m != mode:
            out = out * (a.T @ a)
    return out


def in_first(factors):
    """Unit columns, the power in mode 0."""
    factors = [a.copy() for a in factors]
    for a in factors[1:]:
        lengths = np.linalg.norm(a, axis=0)
        a /= lengths
        factors[0] = factors[0] * lengths
    return factors


def error_of(x, factors, product, mode):
    return np.sum(x**2) - 2 * np.sum(product * factors[mode]) + np.sum(grams(factors))


def sweep_from(x, factors):
    factors = [a.copy() for a in factors]
    for m in range(x.ndim):
        product = mttkrp(x, factors, m)
        factors[m] = np.linalg.solve(grams(factors, m), product.T).T
        error = error_of(x, factors, product, m)
        if m < x.ndim - 1:
            factors[m] = factors[m] / np.linalg.norm(factors[m], axis=0)
    return in_first(factors), error


def distance(a, b):
    return np.sqrt(sum(np.sum((x - y)**2) for x, y in zip(a, b)))


def accelerated(x, factors, how, sweeps):
    """[(fit, beta, refused)] of each sweep."""
    now, past, least, before, out = in_first(factors), None, None, 0.0, []
    for number in range(1, sweeps + 1):
        beta, refused = 0.0, False
        length = distance(now, past) if number > 2 else 0.0
        if length > 0.0:
            beta = np.cbrt(number) - 1 if how == "linesearch" else (
                min(1.0, length / before) if before > 0.0 else 1.0)
            before = length
        y = in_first([a + beta * (a - b) for a, b in zip(now, past)]) if beta > 0.0 else now
        if beta > 0.0 and how == "linesearch":
            refused = not error_of(x, y, mttkrp(x, y, 0), 0) <= least
        made, error = sweep_from(x, now if refused else y)
        past = now
        if beta > 0.0 and not refused and error > least:
            refused = True
        else:
            now, least = made, error
        out.append((1 - np.sqrt(max(least, 0.0) / np.sum(x**2)), beta, refused))
    return out


def read_run(path):
    with open(path) as f:
        return [e for e in map(json.loads, f) if e["event"] == "iteration"]


def compare(x, first, how, run, tolerance):
    with h5py.File(first) as f:
        factors = [f["factors/%d" % m][:] for m in range(x.ndim)]
    got = read_run(run)
    want = accelerated(x, factors, how, len(got))
    refusals = sum(w[2] for w in want)
    worst = max(abs(g["fit"] - w[0]) for g, w in zip(got, want))
    steps = max(abs(g["step"]["beta"] - w[1]) for g, w in zip(got, want))
    same = all(g["step"]["refused"] == w[2] for g, w in zip(got, want))
    print("%d sweeps, %d refusals: fits differ by %.1e, steps by %.1e" % (len(got), refusals, worst, steps))
    return same and worst <= tolerance and steps <= 1e4 * tolerance


def rises(run):
    lines = read_run(run)
    falls = [(a["fit"] - b["fit"], a["fit_noise"] + b["fit_noise"]) for a, b in zip(lines, lines[1:])]
    print("%s: %d sweeps, largest fall %.1e" % (run, len(lines), max(f for f, _ in falls)))
    return all(fall <= noise for fall, noise in falls)


def sweeps_to(fit, runs):
    counts = []
    for run in runs:
        there = [e["sweep"] for e in read_run(run) if e["fit"] >= fit]
        counts.append(there[0] if there else np.inf)
    print("%g" % np.median(counts))
    return True


def main():
    command, rest = sys.argv[1], sys.argv[2:]
    done = True
    if command == "make":
        make(rest[0])
    elif command == "start":
        start(rest[0], int(rest[1]), [int(n) for n in rest[2:]])
    elif command == "compare":
        done = compare(read(rest[0]), rest[1], rest[2], rest[3], float(rest[4]))
    elif command == "rises":
        done = rises(rest[0])
    elif command == "sweeps":
        done = sweeps_to(float(rest[0]), rest[1:])
    return 0 if done else 1


if __name__ == "__main__":
    sys.exit(main())
