#!/usr/bin/env python3
"""Fixed modes: inputs, and results of cpd --fix and complete --fix against numpy's least squares.

  fixed_reference.py make FOLDER              tables train.csv, new.csv (new users, some items only) and
                                              ratings; dense arrays known.npy, fresh.npy, four.npy
  fixed_reference.py bits MODEL RESULT MODES  fixed factors have the model's bits, rows and labels; MODES:
                                              from 0, such as 1,2
  fixed_reference.py fit X RESULT TOLERANCE
                                              the fit that the result states is that of its model
  fixed_reference.py rows X MODEL RESULT FREE RIDGE TOLERANCE
                                              the only free factor solves the normal equations
  fixed_reference.py conditions X RESULT FREE TOLERANCE
                                              it meets the conditions of nonnegative least squares
  fixed_reference.py completion CELLS MODEL RESULT FREE REG TOLERANCE
                                              mean, scale and biases are the model's; the rows and biases of
                                              the only free mode solve the ridge regression of
                                              docs/completion.md (--reg-power=0.5, --reg-bias=3)
  fixed_reference.py implicit CELLS MODEL RESULT FREE REG A TOLERANCE
                                              the same for --implicit=A: all other cells of the model's
                                              labels are zeros

X is a table with labels, whose last column is the value, or a .npy file. Cells that X lacks are 0.
"""
import csv
import sys

import h5py
import numpy as np

LETTERS = "abcdefgh"


def make(folder):
    rng = np.random.default_rng(48)
    users, items, weeks = rng.gamma(0.7, size=(30, 3)), rng.gamma(0.7, size=(25, 3)), rng.gamma(2, size=(8, 3))
    for name, first in (("train", 0), ("new", 12)):
        with open("%s/%s.csv" % (folder, name), "w") as f:
            f.write("user,item,week,count\n")
            for u in range(first, first + 18):
                for i in range(25) if name == "train" else range(3, 20):
                    for w in range(8):
                        n = rng.poisson(0.5 * (users[u] * items[i] * weeks[w]).sum())
                        if n > 0 or (name == "train" and (i + w) % 24 == 0):
                            f.write("u%d,i%d,w%d,%d\n" % (u, i, w, max(n, 1)))
    a, b, c = (rng.standard_normal((n, 3)) for n in (7, 9, 11))
    np.save(folder + "/known.npy", np.einsum("ar,br,cr->abc", a, b, c) + 0.1 * rng.standard_normal((7, 9, 11)))
    d = rng.standard_normal((5, 3))
    np.save(folder + "/fresh.npy", np.einsum("ar,br,cr->abc", d, b, c) + 0.1 * rng.standard_normal((5, 9, 11)))
    e = [rng.standard_normal((n, 3)) for n in (5, 6, 4, 7)]
    np.save(folder + "/four.npy", np.einsum("ar,br,cr,dr->abcd", *e) + 0.1 * rng.standard_normal((5, 6, 4, 7)))


def read_model(path):
    with h5py.File(path) as f:
        factors = [f["factors/%d" % m][:] for m in range(len(f["factors"]))]
        labels = []
        for m, a in enumerate(factors):
            group = f.get("labels/mode_%d" % m)
            if group is None or "offsets" not in group:
                labels.append([str(i) for i in range(len(a))])
                continue
            raw, offsets = group["bytes"][:].tobytes(), group["offsets"][:]
            labels.append([raw[offsets[i]:offsets[i + 1]].decode() for i in range(len(a))])
        return f["weights"][:], factors, labels, f["fit"][-1] if "fit" in f else None


def read_tensor(path, labels):
    """X over all rows of a model, by its labels."""
    if path.endswith(".npy"):
        return np.load(path)
    x = np.zeros([len(names) for names in labels])
    places = [{name: i for i, name in enumerate(names)} for names in labels]
    with open(path) as f:
        for row in list(csv.reader(f))[1:]:
            x[tuple(p[name] for p, name in zip(places, row))] += float(row[-1])
    return x


def value(weights, factors):
    letters = LETTERS[:len(factors)]
    return np.einsum("r," + ",".join(m + "r" for m in letters) + "->" + letters, weights, *factors)


def columns(factors, free):
    """Khatri-Rao product of all factors except one."""
    out = np.ones((1, factors[0].shape[1]))
    for m, a in enumerate(factors):
        if m != free:
            out = (out[:, None, :] * a[None, :, :]).reshape(-1, a.shape[1])
    return out


def check(what, got, most):
    if not got <= most:
        sys.exit("%s: %g is above %g" % (what, got, most))


def bits(model, result, modes):
    _, ours, names, _ = read_model(model)
    _, theirs, their_names, _ = read_model(result)
    for m in map(int, modes.split(",")):
        if ours[m].tobytes() != theirs[m].tobytes():
            sys.exit("mode %d has other bits" % m)
        if names[m] != their_names[m]:
            sys.exit("mode %d has other labels" % m)


def fit(path, result, tolerance):
    weights, factors, labels, stated = read_model(result)
    x = read_tensor(path, labels)
    found = 1 - np.linalg.norm(x - value(weights, factors)) / np.linalg.norm(x)
    check("fit %.9f, stated %.9f" % (found, stated), abs(found - stated), float(tolerance))


def rows(path, model, result, free, ridge, tolerance):
    weights, factors, labels, _ = read_model(result)
    _, fixed, _, _ = read_model(model)
    free, ridge = int(free), float(ridge)
    for m in range(len(factors)):
        if m != free:
            factors[m] = fixed[m]
    x = read_tensor(path, labels)
    k = columns(factors, free)
    unfolded = np.moveaxis(x, free, 0).reshape(x.shape[free], -1)
    want = np.linalg.solve(k.T @ k + ridge * np.eye(k.shape[1]), k.T @ unfolded.T).T
    got = factors[free] * weights
    check("rows", np.abs(got - want).max(), float(tolerance) * np.abs(want).max())


def conditions(path, result, free, tolerance):
    weights, factors, labels, _ = read_model(result)
    free = int(free)
    x = read_tensor(path, labels)
    k = columns(factors, free)
    a = factors[free] * weights
    unfolded = np.moveaxis(x, free, 0).reshape(x.shape[free], -1)
    slope = a @ (k.T @ k) - unfolded @ k
    check("negative entries", -a.min(), 0)
    wrong = np.where(a > 0, np.abs(slope), np.maximum(-slope, 0)).max()
    check("conditions", wrong, float(tolerance) * np.abs(unfolded @ k).max())


def read_completion(path):
    weights, factors, labels, _ = read_model(path)
    with h5py.File(path) as f:
        lengths = f["lengths"][:]
        bias = [f["bias/%d" % m][:] if "bias" in f else np.zeros(len(a)) for m, a in enumerate(factors)]
        observed = [f["observed/%d" % m][:] for m in range(len(factors))]
        numbers = [float(f.attrs[name]) for name in ("mean", "scale")]
    if not np.allclose(weights, np.prod(lengths, axis=0), rtol=1e-12):
        sys.exit("weights are not the products of lengths")
    return [a * lengths[m] for m, a in enumerate(factors)], bias, labels, numbers, observed


def read_cells(path, labels):
    places = [{name: i for i, name in enumerate(names)} for names in labels]
    with open(path) as f:
        rows = list(csv.reader(f))[1:]
    return (np.array([[p[name] for p, name in zip(places, row)] for row in rows]),
            np.array([float(row[-1]) for row in rows]))


def inputs(factors, index, free):
    out = np.ones((len(index), factors[0].shape[1]))
    for m, a in enumerate(factors):
        if m != free:
            out *= a[index[:, m]]
    return out


def completion(cells, model, result, free, reg, tolerance):
    free, reg = int(free), float(reg)
    _, known_bias, known_labels, known, known_observed = read_completion(model)
    factors, bias, labels, numbers, observed = read_completion(result)
    if known != numbers:
        sys.exit("mean and scale are %s, not %s" % (numbers, known))
    for m in range(len(factors)):
        if m != free and (bias[m].tobytes() != known_bias[m].tobytes() or (observed[m] != known_observed[m]).any()):
            sys.exit("mode %d has other biases or observed rows" % m)
    for m in range(len(factors)):  # the mean of others stands for a fixed row that has learnt nothing
        lost = known_observed[m] == 0
        if m != free and lost.any():
            factors[m][lost] = factors[m][~lost].mean(axis=0)
            bias[m][lost] = bias[m][~lost].mean()
    index, values = read_cells(cells, labels)
    y = (values - numbers[0]) / numbers[1] - sum(
        bias[m][index[:, m]] for m in range(len(factors)) if m != free)
    p = inputs(factors, index, free)
    biased = any(b.any() for b in bias)
    for row in range(len(labels[free])):
        at = index[:, free] == row
        q = np.hstack([p[at], np.ones((at.sum(), 1))]) if biased else p[at]
        penalty = np.full(q.shape[1], reg * np.sqrt(at.sum()))
        penalty[p.shape[1]:] = 3
        want = np.linalg.solve(q.T @ q + np.diag(penalty), q.T @ y[at])
        got = np.append(factors[free][row], bias[free][row])[:len(want)]
        check("row %s" % labels[free][row], np.abs(got - want).max(), float(tolerance))


def implicit(cells, model, result, free, reg, a, tolerance):
    free, reg, a = int(free), float(reg), float(a)
    factors, _, labels, _, _ = read_completion(result)
    index, values = read_cells(cells, labels)
    p = inputs(factors, index, free)
    base = np.ones((p.shape[1], p.shape[1]))
    for m, f in enumerate(factors):
        if m != free:
            base *= f.T @ f
    for row in range(len(labels[free])):
        at = index[:, free] == row
        left = base + (p[at] * (a * values[at])[:, None]).T @ p[at] + reg * np.sqrt(at.sum()) * np.eye(p.shape[1])
        want = np.linalg.solve(left, ((1 + a * values[at])[:, None] * p[at]).sum(axis=0))
        check("row %s" % labels[free][row], np.abs(factors[free][row] - want).max(), float(tolerance))


def main(args):
    word, rest = args[0], args[1:]
    if word == "make":
        make(*rest)
    elif word == "bits":
        bits(*rest)
    elif word == "fit":
        fit(*rest)
    elif word == "rows":
        rows(*rest)
    elif word == "conditions":
        conditions(*rest)
    elif word == "completion":
        completion(*rest)
    elif word == "implicit":
        implicit(*rest)
    else:
        sys.exit(__doc__)


main(sys.argv[1:])
