#!/usr/bin/env python3
"""Randomised block sampling in numpy, for tests/cli/rbs.sh: the same samples, steps and fits.

  rbs_reference.py make FOLDER
      write the tensors
  rbs_reference.py compare X START JSON TOLERANCE SEED [nonnegative]
      the fits of the run's epochs and sweeps, and of as many here; JSON tells the run's sizes
"""
import json
import sys

import numpy as np

LEAST = 1e-6
MOST_ORDER = 8


# --- the program's random numbers: src/base/random.h

def mix(x):
    with np.errstate(over="ignore"):
        x = np.asarray(x, dtype=np.uint64) + np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return x ^ (x >> np.uint64(31))


def random_u64(seed, stream, counters):
    with np.errstate(over="ignore"):
        inner = mix(np.uint64(stream) + mix(np.uint64(seed)))
        return mix(np.asarray(counters, dtype=np.uint64) + inner)


def shuffled(seed, epoch, mode, first, count):
    numbers = random_u64(seed, (epoch + 1) * MOST_ORDER + mode, first + np.arange(count))
    to = [0] * count
    for i in range(count):
        j = int(numbers[i]) % (i + 1)
        to[i] = to[j]
        to[j] = first + i
    return np.array(to, dtype=int)


def sampled_cells(x, seed, count):
    i = np.arange(count)
    index = tuple(
        (random_u64(seed, (1 << 64) - 1 - m, i) % np.uint64(n)).astype(int)
        for m, n in enumerate(x.shape))
    return index, x[index]


# --- samples: src/solver/cpd/rbs_sample.h

def cut(things, parts, shift=0):
    n = len(things)
    ends = [n // parts * i + (n % parts * i + shift) // parts for i in range(parts + 1)]
    return [np.sort(things[a:b]) for a, b in zip(ends, ends[1:])]


def own_parts(seed, epoch, mode, rows, parts, shifts):
    """Of each rank, its own indices in so many parts."""
    first = np.cumsum([0] + rows)
    return [cut(shuffled(seed, epoch, mode, int(a), n), int(q), s)
            for a, n, q, s in zip(first, rows, parts, shifts)]


def blocks_of(dims, seed, epoch, count, mode, rows):
    """A list of blocks, each a list of sets."""
    ranks = len(rows)
    firsts = [count // ranks * p + count % ranks * p // ranks for p in range(ranks + 1)]
    sets = []
    for m, n in enumerate(dims):
        if m == mode:
            parts = own_parts(seed, epoch, m, rows, np.diff(firsts), [0] * ranks)
            sets.append([s for own in parts for s in own])
        else:
            sets.append(cut(shuffled(seed, epoch, m, 0, n), count))
    return [[s[b] for s in sets] for b in range(count)]


def groups_of(seed, epoch, count, mode, rows, outside):
    if outside:
        return cut(shuffled(seed, epoch, mode, 0, sum(rows)), count)
    ranks = len(rows)
    shifts = [count // ranks * p + count % ranks * p // ranks for p in range(ranks)]
    parts = own_parts(seed, epoch, mode, rows, [count] * ranks, shifts)
    return [np.concatenate([own[g] for own in parts]) for g in range(count)]


# --- least squares

def mttkrp(x, factors, mode):
    letters = "ijklm"[: x.ndim]
    terms = [letters[m] + "r" for m in range(x.ndim) if m != mode]
    others = [factors[m] for m in range(x.ndim) if m != mode]
    return np.einsum("%s,%s->%sr" % (letters, ",".join(terms), letters[mode]), x, *others,
                     optimize=True)


def descend(w, v, rows):
    """Row descent: src/backend/row_descent.h."""
    for i in range(len(rows)):
        row = rows[i]
        first = None
        for _ in range(50):
            change = 0.0
            for r in range(len(row)):
                new = max(0.0, row[r] + (w[i, r] - row @ v[:, r]) / v[r, r]) if v[r, r] > 0 else 0.0
                change += (new - row[r]) ** 2
                row[r] = new
            if first is None:
                first = change
            elif change <= 1e-4 * first:
                break
    return rows


def update(x, factors, mode, lam, nonnegative):
    """The sums of squares of what moved, and of the old rows."""
    old = factors[mode]
    v = np.ones((old.shape[1],) * 2)
    for m, a in enumerate(factors):
        if m != mode:
            v = v * (a.T @ a)
    weight = lam * np.trace(v) / len(v)
    v = v + weight * np.eye(len(v))
    w = mttkrp(x, factors, mode) + weight * old
    new = descend(w, v, old.copy()) if nonnegative else np.linalg.solve(v, w.T).T
    factors[mode] = new
    return np.array([((new - old) ** 2).sum(), (old ** 2).sum()])


def make_unit(factors):
    lengths = [np.linalg.norm(a, axis=0) for a in factors]
    return [a / n for a, n in zip(factors, lengths)], np.prod(lengths, axis=0)


def step(x, factors, sets, order, lams, moved, nonnegative):
    """One sweep of a block, in place."""
    block = x[np.ix_(*sets)]
    rows = [a[s] for a, s in zip(factors, sets)]
    for m in order:
        moved[m] += update(block, rows, m, lams[m], nonnegative)
        factors[m][sets[m]] = rows[m]


def restricted(run, epoch, i):
    steps = run["count"] if run["sample"] == "slices" else 1
    if epoch == 0 and run["sample"] == "blocks":
        return LEAST
    if epoch < run["search"]:
        return max(LEAST, 0.6 ** (epoch * steps + i))
    return min(100.0, 0.01 * 1.12 ** ((epoch - run["search"]) * steps + i))


def run_epoch(x, factors, run, epoch):
    """The rows' change, relative to their size, of the mode where it is largest."""
    mode = run["mode"]
    moved = np.zeros((x.ndim, 2))
    if run["sample"] == "blocks":
        lam = restricted(run, epoch, 0)
        for sets in blocks_of(x.shape, run["seed"], epoch, run["count"], mode, run["rows"]):
            step(x, factors, sets, range(x.ndim), [lam] * x.ndim, moved, run["nonnegative"])
    else:
        order = [mode] + [m for m in range(x.ndim) if m != mode]
        for i, group in enumerate(groups_of(run["seed"], epoch, run["count"], mode, run["rows"],
                                            run["outside"])):
            sets = [group if m == mode else np.arange(n) for m, n in enumerate(x.shape)]
            lams = [LEAST if m == mode else restricted(run, epoch, i) for m in range(x.ndim)]
            step(x, factors, sets, order, lams, moved, run["nonnegative"])
    return np.sqrt(moved[:, 0] / moved[:, 1]).max()


def model_of(factors, weights, index=None):
    if index is None:
        letters = "ijklm"[: len(factors)]
        return np.einsum("r," + ",".join(c + "r" for c in letters) + "->" + letters, weights,
                         *factors, optimize=True)
    product = weights
    for a, i in zip(factors, index):
        product = product * a[i]
    return product.sum(axis=1)


def epochs_of(x, factors, run):
    """Of each epoch: factors, weights, the sample's fit, and what moved."""
    index, cells = sampled_cells(x, run["seed"], run["fit_cells"])
    factors, weights = make_unit(factors)
    weights = weights * (np.linalg.norm(x) / np.linalg.norm(model_of(factors, weights)))
    for epoch in range(run["epochs"]):
        factors = [a * weights ** (1 / x.ndim) for a in factors]
        moved = run_epoch(x, factors, run, epoch)
        factors, weights = make_unit(factors)
        missed = cells - model_of(factors, weights, index)
        yield factors, weights, 1 - np.linalg.norm(missed) / np.linalg.norm(cells), moved


def polish(x, factors, weights, nonnegative):
    for m in range(x.ndim):
        if nonnegative:
            factors[m] = factors[m] * weights
        update(x, factors, m, 0.0, nonnegative)
        weights = np.linalg.norm(factors[m], axis=0)
        factors[m] = factors[m] / weights
    return weights, 1 - np.linalg.norm(x - model_of(factors, weights)) / np.linalg.norm(x)


def polish_outside(x, factors, weights, own, nonnegative):
    """A sweep that begins with slices' own mode, which has the weights."""
    factors[own] = factors[own] * weights
    for m in [own] + [k for k in range(x.ndim) if k != own]:
        update(x, factors, m, 0.0, nonnegative)
    factors[:], weights = make_unit(factors)
    return weights, 1 - np.linalg.norm(x - model_of(factors, weights)) / np.linalg.norm(x)


# --- commands

def noise(shape, seed):
    return np.random.default_rng(seed).standard_normal(shape)


def planted(dims, ncomps, share, seed=0):
    letters = "ijklm"[: len(dims)]
    factors = [noise((n, ncomps), seed + 10 * k + n) for k, n in enumerate(dims)]
    x = np.einsum(",".join(c + "r" for c in letters) + "->" + letters, *factors, optimize=True)
    return x + share * np.sqrt((x ** 2).mean()) * noise(dims, seed + 1)


def make(folder):
    """Odd sizes, orders 3 to 5, both orders of modes; four blocks have 2 R indices of each mode."""
    a = planted((25, 31, 29), 3, 0.1)
    np.save(folder + "/a.npy", a)
    np.save(folder + "/fortran.npy", np.asfortranarray(a))
    np.save(folder + "/counts.npy", np.round(20 * np.abs(a)).astype("u1"))
    np.save(folder + "/flat.npy", planted((17, 101, 18), 2, 0.1))
    np.save(folder + "/four.npy", planted((16, 19, 17, 18), 2, 0.1))
    np.save(folder + "/five.npy", planted((8, 9, 11, 8, 10), 1, 0.1))
    np.save(folder + "/zero.npy", np.pad(np.ones((1, 1, 1)), ((0, 99),) * 3))


def run_of(lines, seed):
    events = [json.loads(line) for line in open(lines)]
    run = dict(next(e for e in events if e["event"] == "sampling"))
    plan = next(e for e in events if e["event"] == "plan")
    run["mode"] = plan["dense"]["slab_mode"]
    run["outside"] = plan["dense"]["outside"]
    run["rows"] = plan["modes"][run["mode"]]["rank_rows"]
    run["seed"] = seed
    return run, [e for e in events if e["event"] == "iteration"]


def compare(name, init, lines, tolerance, seed, nonnegative):
    import h5py
    x = np.load(name).astype(float)
    with h5py.File(init) as f:
        factors = [f["factors/%d" % k][...] for k in range(x.ndim)]
    run, found = run_of(lines, seed)
    run["nonnegative"] = nonnegative
    worst = 0.0
    epochs = [e for e in found if e.get("sampling") is not None]
    run["epochs"] = len(epochs)
    for e, (factors, weights, fit, moved) in zip(epochs, epochs_of(x, factors, run)):
        worst = max(worst, abs(e["fit"] - fit), abs(e["sampling"]["moved"] - moved) / (1 + moved))
    for e in found[len(epochs):]:
        if run["outside"]:
            weights, fit = polish_outside(x, factors, weights, run["mode"], nonnegative)
        else:
            weights, fit = polish(x, factors, weights, nonnegative)
        worst = max(worst, abs(e["fit"] - fit))
    if not epochs or len(found) != len(epochs) + run["polish"] or not worst <= tolerance:
        sys.exit("%s: off by %g in %d epochs and %d sweeps" % (name, worst, len(epochs),
                                                              len(found) - len(epochs)))


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(sys.argv[2])
    else:
        compare(sys.argv[2], sys.argv[3], sys.argv[4], float(sys.argv[5]),
                int(sys.argv[6]), "nonnegative" in sys.argv[7:])
