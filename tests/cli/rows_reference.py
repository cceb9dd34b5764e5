#!/usr/bin/env python3
"""CP decomposition with nonnegative and penalised factors in numpy, from the objective and the rules
in docs/methods.md and nothing else.

  rows_reference.py make FOLDER               write tensors: two dense ones, and a list of nonzeros
  rows_reference.py compare X START MODES RIDGE L1 JSON TOLERANCE
                                              the run's fits and objectives, and those here; MODES:
                                              nonnegative ones such as 0,2, or none
  rows_reference.py falls JSON                no objective (or residual) is above the one before
  rows_reference.py result X RESULT MODES RIDGE L1 JSON
                                              signs, zeros, conditions of an optimum of a result
  rows_reference.py tensorly X START JSON     the end of TensorLy's HALS from the same start

X is a .npy file, or text of indices and a value.
"""
import json
import sys

import h5py
import numpy as np

from accelerate_reference import LETTERS, grams, mttkrp, read, read_run

PASSES, SHARE = 50, 0.01


def make(folder):
    rng = np.random.default_rng(11)
    for name, dims in (("three", (23, 17, 29)), ("four", (11, 5, 8, 13))):
        factors = [np.maximum(rng.standard_normal((n, 4)), 0.0) for n in dims]
        x = np.einsum(",".join(m + "r" for m in LETTERS[:len(dims)]) + "->" + LETTERS[:len(dims)],
                      *factors)
        x += 0.1 * np.sqrt(np.mean(x**2)) * rng.standard_normal(dims)
        np.save("%s/%s.npy" % (folder, name), x)
    cells = rng.choice(30 * 20 * 10, 1500, replace=False)
    with open(folder + "/list.tns", "w") as f:
        for cell in np.sort(cells):
            i, j, k = np.unravel_index(cell, (30, 20, 10))
            f.write("%d %d %d %r\n" % (i + 1, j + 1, k + 1, float(rng.random() - 0.2)))


class Rule:
    def __init__(self, modes, ridge, l1):
        self.modes = set() if modes == "none" else {int(m) for m in modes.split(",")}
        self.ridge, self.l1 = float(ridge), float(l1)

    def penalises(self):
        return self.ridge > 0 or self.l1 > 0

    def lengths(self, weights, units):
        """[mode][component]: lengths with that product, of least penalty."""
        sizes = np.array([np.sum(np.abs(u), axis=0) for u in units])
        out = np.zeros(sizes.shape)
        for r, weight in enumerate(weights):
            if weight <= 0:
                continue
            low, high = -400.0, 400.0  # of the slope's logarithm
            for _ in range(200):
                middle = (low + high) / 2
                nu = np.exp(middle)
                b = self.l1 * sizes[:, r]
                t = 2 * nu / (b + np.sqrt(b**2 + 4 * self.ridge * nu))
                low, high = (middle, high) if np.sum(np.log(t)) < np.log(weight) else (low, middle)
            out[:, r] = t
        return out

    def penalty(self, weights, units):
        t = self.lengths(weights, units) if self.penalises() else np.zeros((len(units), len(weights)))
        sizes = np.array([np.sum(np.abs(u), axis=0) for u in units])
        return np.sum(self.ridge / 2 * t**2 + self.l1 * t * sizes)


def threshold(x, t, nonnegative):
    if nonnegative:
        return np.maximum(0.0, x - t)
    return np.sign(x) * np.maximum(0.0, np.abs(x) - t)


def descend(row, w, v, shrink, nonnegative):
    first = None
    for _ in range(PASSES):
        change = 0.0
        for r in range(len(row)):
            x = threshold(row[r] + (w[r] - row @ v[:, r]) / v[r, r], shrink[r] / v[r, r], nonnegative) \
                if v[r, r] > 0 else 0.0
            change += (x - row[r])**2
            row[r] = x
        if first is None:
            first = change
        elif change <= SHARE**2 * first:
            break


def penalties(rule, weights, units, mode, v):
    """V with the ridge, and the thresholds; nothing before the first update."""
    shrink = np.zeros(len(weights))
    if not rule.penalises() or not np.any(weights > 0):
        return v, shrink
    others = weights / rule.lengths(weights, units)[mode]
    return v + np.diag(rule.ridge / others**2), rule.l1 / others


def unit(a):
    lengths = np.linalg.norm(a, axis=0)
    return a / np.where(lengths > 0, lengths, 1), lengths


def sweeps_of(x, first, rule, count):
    """[(fit, objective)] of each sweep."""
    units = [first[0]] + [unit(a)[0] for a in first[1:]]
    weights = np.zeros(first[0].shape[1])
    out = []
    for _ in range(count):
        for m in range(x.ndim):
            w = mttkrp(x, units, m)
            v, shrink = penalties(rule, weights, units, m, grams(units, m))
            rows = units[m] * weights
            if m in rule.modes or rule.l1 > 0:
                for i in range(len(rows)):
                    descend(rows[i], w[i], v, shrink, m in rule.modes)
            else:
                rows = np.linalg.solve(v, w.T).T
            error = np.sum(x**2) - 2 * np.sum(w * rows) + np.sum(grams(units, m) * (rows.T @ rows))
            units[m], weights = unit(rows)
        out.append((1 - np.sqrt(max(error, 0) / np.sum(x**2)), error / 2 + rule.penalty(weights, units)))
    return out


def read_start(path, order):
    with h5py.File(path) as f:
        return [f["factors/%d" % m][:] for m in range(order)]


def compare(x, start, rule, run, tolerance):
    got = read_run(run)
    want = sweeps_of(x, read_start(start, x.ndim), rule, len(got))
    fits = max(abs(g["fit"] - w[0]) for g, w in zip(got, want))
    objectives = 0.0
    if rule.penalises():
        objectives = max(abs(g["objective"] - w[1]) / w[1] for g, w in zip(got, want))
    print("%d sweeps: fits differ by %.1e, objectives by %.1e" % (len(got), fits, objectives))
    return fits <= tolerance and objectives <= 100 * tolerance and (
        rule.penalises() or all(g["objective"] is None for g in got))


def falls(run):
    """Errors of |X - M|^2 are some 2e-14 of |X|^2, in double."""
    lines = read_run(run)
    values = [e["objective"] if e["objective"] is not None else (1 - e["fit"])**2 for e in lines]
    scale = 1.0 if lines[0]["objective"] is None else values[0] / (1 - lines[0]["fit"])**2
    rises = max(b - a for a, b in zip(values, values[1:]))
    print("%s: %d sweeps, largest rise %.1e of %.1e" % (run, len(lines), rises, scale))
    return rises <= 1e-12 * scale


def slope(g, a, shrink, nonnegative):
    """Of what is minimised, along entries that may move."""
    moved = g + shrink * np.sign(a)
    held = np.minimum(0.0, g + shrink) if nonnegative else np.sign(g) * np.maximum(0.0, np.abs(g) - shrink)
    return np.where(a != 0, moved, held)


def result(x, path, rule, run):
    with open(run) as f:
        end = [e for e in map(json.loads, f) if e["event"] == "end"][0]["rows"]
    with h5py.File(path) as f:
        weights = f["weights"][:]
        units = [f["factors/%d" % m][:] for m in range(x.ndim)]
    optimality, fine = 0.0, True
    for m, u in enumerate(units):
        w = mttkrp(x, units, m)
        v, shrink = penalties(rule, weights, units, m, grams(units, m))
        rows = u * weights
        live = weights > 0
        # Of factors with the lengths that the penalties choose.
        others = weights[live] / rule.lengths(weights, units)[m][live] if rule.penalises() else 1.0
        wrong = slope(rows @ v - w, rows, shrink, m in rule.modes)[:, live] * others
        optimality = max(optimality, np.linalg.norm(wrong) / np.linalg.norm(w[:, live] * others))
        fine = fine and (m not in rule.modes or u.min() >= 0) and abs(np.mean(u == 0) - end["zeros"][m]) < 1e-12
    print("zeros %s, optimality %.3e, told %.3e" % (end["zeros"], optimality, end["optimality"]))
    return fine and abs(optimality - end["optimality"]) <= 1e-9 + 1e-6 * optimality


def signs(path, modes):
    """No negative entry in the listed modes, from 1."""
    with h5py.File(path) as f:
        least = {m: f["factors/%d" % (int(m) - 1)][:].min() for m in modes.split(",")}
    print("least entries %s" % least)
    return min(least.values()) >= 0


def tensorly(x, start, run):
    from tensorly.cp_tensor import CPTensor
    from tensorly.decomposition import non_negative_parafac_hals
    factors = read_start(start, x.ndim)
    model = CPTensor((np.ones(factors[0].shape[1]), [a.copy() for a in factors]))
    cp = non_negative_parafac_hals(x, factors[0].shape[1], n_iter_max=200, init=model, tol=1e-12)
    made = np.einsum("r," + ",".join(m + "r" for m in LETTERS[:x.ndim]) + "->" + LETTERS[:x.ndim],
                     cp[0], *cp[1])
    fit = 1 - np.linalg.norm(x - made) / np.linalg.norm(x)
    own = read_run(run)[-1]["fit"]
    print("TensorLy's fit %.8f, ours %.8f" % (fit, own))
    return abs(fit - own) <= 1e-4


def main():
    command, rest = sys.argv[1], sys.argv[2:]
    done = True
    if command == "make":
        make(rest[0])
    elif command == "compare":
        done = compare(read(rest[0]), rest[1], Rule(*rest[2:5]), rest[5], float(rest[6]))
    elif command == "falls":
        done = falls(rest[0])
    elif command == "result":
        done = result(read(rest[0]), rest[1], Rule(*rest[2:5]), rest[5])
    elif command == "signs":
        done = signs(*rest)
    elif command == "tensorly":
        done = tensorly(read(rest[0]), rest[1], rest[2])
    return 0 if done else 1


if __name__ == "__main__":
    sys.exit(main())
