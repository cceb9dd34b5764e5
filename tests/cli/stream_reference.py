#!/usr/bin/env python3
"""A stream in numpy, slowly, to compare with amped_mpi stream: rows, histories and errors.

    stream_reference.py STATE FIRST.tns LINES.json RESULT.h5 SWEEPS FORGET GROWING TOLERANCE BATCH.tns...

STATE is what complete --state wrote for FIRST.tns, without weights. Its factors are taken as they are;
its histories, where it has some, are compared with those of FIRST.tns. Then the batches are learnt, and the model is compared
with RESULT (stream -o) at all entries, in units of the scale, and the errors with those of LINES.json.
GROWING: a mode from 1, or auto. Texts count from 1.
"""
import json
import sys

import h5py
import numpy as np
from counter_random import MASK, held, mix

def uniform(seed, stream, counter):
    return (mix((counter + mix((stream + mix(seed)) & MASK)) & MASK) >> 11) * 2.0**-53


def noise(seed, mode, counter):
    u = 1.0 - uniform(seed, mode, 2 * counter)
    v = uniform(seed, mode, 2 * counter + 1)
    return 0.1 * np.sqrt(-2.0 * np.log(u)) * np.cos(2.0 * np.pi * v)


def read(tns):
    rows = np.atleast_2d(np.loadtxt(tns))
    return rows[:, :-1].astype(np.int64) - 1, rows[:, -1]


class Model:
    def __init__(self, path):
        with h5py.File(path) as f:
            a = dict(f.attrs)
            self.order = int(a["order"])
            self.biased = bool(a["biased"])
            self.R = int(a["ncomps"]) - self.biased
            rows = [f[f"factors/{m}"][:].astype(float) for m in range(self.order)]
            self.prior, self.pull = f["prior"][:], f["pull"][:]
            self.published = int(a["history"]) == 2
            self.modelled = int(a["history"]) == 1
            assert not (self.published and "history" in f) and self.modelled == ("sums" in f)
            self.sums = [f[f"sums/{m}"][:] for m in range(self.order)] if self.modelled else []
            self.kept = [] if self.published else [f[f"history/{m}"][:] for m in range(self.order)]
            self.kept_touched = [f[f"touched/{m}"][:] for m in range(self.order)]
        self.reg, self.power, self.reg_bias = float(a["reg"]), float(a["reg_power"]), float(a["reg_bias"])
        self.mean, self.scale = float(a["mean"]), float(a["scale"])
        self.seed, self.split, self.share = int(a["seed"]), int(a["split_seed"]), float(a["holdout"])
        self.rows = [r if self.biased else np.hstack([r, np.zeros((len(r), 1))]) for r in rows]
        self.history = [{} for _ in rows]  # of a row: H with the bias as last unknown, g, sum of squares
        self.touched = [{} for _ in rows]
        self.held = {}
        self.n = [np.zeros(len(r)) for r in rows]  # of a model history

    def predict(self, index):
        p = np.ones((len(index), self.R))
        b = np.zeros(len(index))
        for m in range(self.order):
            p *= self.rows[m][index[:, m], :-1]
            b += self.rows[m][index[:, m], -1]
        return self.mean + self.scale * (b + p.sum(axis=1))

    def equations(self, mode, index, y):
        p = np.ones((len(index), self.R))
        t = y.copy()
        for m in range(self.order):
            if m != mode:
                p *= self.rows[m][index[:, m], :-1]
                t -= self.rows[m][index[:, m], -1]
        q = np.hstack([p, np.ones((len(index), 1))])
        return {i: (q[at].T @ q[at], q[at].T @ t[at], (t[at] ** 2).sum())
                for i in np.unique(index[:, mode]) for at in [np.flatnonzero(index[:, mode] == i)]}

    def imagine(self, mode):
        """A model history: all cells of the other modes, with their chances; what a cell is now, and was before."""
        others = [m for m in range(self.order) if m != mode]
        cells = [c.ravel() for c in np.meshgrid(*[np.arange(len(self.n[m])) for m in others], indexing="ij")]
        each = lambda of: [of(m)[c] for m, c in zip(others, cells)]
        bias = lambda rows: np.sum([r[:, -1] for r in each(lambda m: rows[m])], axis=0)
        product = lambda rows: np.prod([r[:, :-1] for r in each(lambda m: rows[m])], axis=0)
        chance = np.prod(each(lambda m: self.n[m] / self.n[m].sum()), axis=0)
        q = np.hstack([product(self.rows), np.ones((len(chance), 1))])
        self.imagined = chance, q, product(self.before), bias(self.before) - bias(self.rows)

    def past(self, mode, i):
        """Equations of n entries of the model before the batch, in cells drawn by their chances, which
        the row as it was solves with its penalties."""
        chance, q, product, bias = self.imagined
        n, was = self.n[mode][i], self.before[mode][i]
        t = product @ was[:-1] + was[-1] + bias
        taken = self.reg * self.pull[mode] * n**self.power * (was[:-1] - self.prior[mode])
        right = n * (q.T * chance) @ t + np.append(taken, self.reg_bias * was[-1])
        return n * (q.T * chance) @ q, right, 0.0

    def with_history(self, mode, i, e, forget, batch):
        if self.modelled:
            return tuple(a + b for a, b in zip(e, self.past(mode, i))) if self.n[mode][i] > 0 else e
        if i not in self.history[mode]:
            return e
        w = forget ** (batch - self.touched[mode][i])
        return tuple(a + w * b for a, b in zip(e, self.history[mode][i]))

    def solve(self, mode, i, H, g):
        n = H[-1, -1]
        lam = self.reg * self.pull[mode] * n**self.power
        M = H + np.diag([lam] * self.R + [self.reg_bias])
        right = g + np.array([lam * self.prior[mode]] * self.R + [0.0])
        if not self.biased:
            M, right = M[:-1, :-1], right[:-1]
        self.rows[mode][i, : len(right)] = np.linalg.solve(M, right)

    def recur(self, index, y, old, forget, orders):
        """The recursion of the paper (cuSTC, Algorithm 1), on dense arrays, of entries outside the old box."""
        others = lambda mode, of: np.prod([of(l) for l in range(self.order) if l != mode], axis=0)
        past = [r[:n, :-1].copy() for r, n in zip(self.rows, old)]
        now = lambda l: self.rows[l][:, :-1]
        for order in orders:
            for m in order:
                p = y[:, None] * others(m, lambda l: now(l)[index[:, l]])
                right = np.zeros_like(now(m))
                np.add.at(right, index[:, m], p)
                full = others(m, lambda l: now(l).T @ now(l))
                kept = others(m, lambda l: now(l)[: old[l]].T @ now(l)[: old[l]])
                right[: old[m]] += forget * past[m] @ others(m, lambda l: past[l].T @ now(l)[: old[l]])
                new = np.linalg.solve(full, right.T).T
                new[: old[m]] = np.linalg.solve(full - (1 - forget) * kept, right[: old[m]].T).T
                self.rows[m][:, :-1] = new

    def learn(self, index, values, batch, sweeps, forget, growing, orders):
        out = np.array([held(i, self.split, self.share) for i in index], dtype=bool)
        for i, v in zip(index[out], values[out]):
            self.held[tuple(i)] = v
        old = [len(r) for r in self.rows]
        inside = (index < old).all(axis=1) & ~out & self.published
        learns = (~out & ~inside).any()
        if growing == "auto":
            news = [m for m in range(self.order) if all(i >= old[m] or self.is_bare(m, i) for i in index[:, m])]
            first = news[0] if news else -1
        else:
            first = int(growing) - 1
        for m in range(self.order):
            more = max(0, index[:, m].max() + 1 - old[m])
            prior = np.array([[self.prior[m]] * self.R + [0.0]] * more).reshape(more, self.R + 1)
            self.rows[m] = np.vstack([self.rows[m], prior])
            for i in range(old[m], len(self.rows[m])) if learns and self.published else set(index[~out, m]):
                if m == first and (i >= old[m] or self.is_bare(m, i)):
                    known = [k for k in range(old[m]) if not self.is_bare(m, k)]
                    self.rows[m][i] = self.rows[m][max([k for k in known if k < i], default=known[0])]
        if self.published and learns:
            self.start(lambda m: range(old[m], len(self.rows[m])) if m != first else [])
        told = {"before": (values - self.predict(index)) ** 2}
        if not self.published:
            self.start(lambda m: [i for i in set(index[~out, m]) if self.is_at_prior(m, i)])
        if self.modelled:
            self.before = [r.copy() for r in self.rows]
            self.n = [forget * np.append(n, np.zeros(len(r) - len(n))) for n, r in zip(self.n, self.rows)]
        told["dropped"] = int(inside.sum())
        y = (values[~out & ~inside] - self.mean) / self.scale
        order = [m for m in range(self.order) if m != first]
        orders = orders or [order if first < 0 else [first] + order] * sweeps
        if learns and self.published:
            self.recur(index[~out & ~inside], y, old, forget, orders)
        for order in orders if learns and not self.published else []:
            for m in order:
                if self.modelled:
                    self.imagine(m)
                for i, e in self.equations(m, index[~out], y).items():
                    e = self.with_history(m, i, e, forget, batch)
                    self.solve(m, i, e[0], e[1])
        if not self.published:
            self.absorb(index[~out], y, forget, batch)
        told["after"] = (values - self.predict(index)) ** 2
        told["held_out"] = told["after"][out]
        cells = np.array(list(self.held), dtype=np.int64).reshape(-1, self.order)
        told["all_held_out"] = (np.array(list(self.held.values())) - self.predict(cells)) ** 2
        return told

    def is_bare(self, m, i):
        """A row within the state's dims that has learnt nothing."""
        return not self.published and i not in self.touched[m]

    def is_at_prior(self, m, i):
        return (self.rows[m][i, :-1] == self.prior[m]).all() and self.rows[m][i, -1] == 0

    def start(self, rows_of):
        for m in range(self.order):
            for i in rows_of(m):
                self.rows[m][i, :-1] += [noise(self.seed, m, int(i) * self.R + c) for c in range(self.R)]

    def absorb(self, index, y, forget, batch):
        for m in range(self.order):
            if self.modelled:
                np.add.at(self.n[m], index[:, m], 1.0)
                self.touched[m].update((i, batch) for i in index[:, m])
                continue
            for i, e in self.equations(m, index, y).items() if len(y) > 0 else ():
                self.history[m][i] = self.with_history(m, i, e, forget, batch)
                self.touched[m][i] = batch

    def check_state(self, tolerance):
        low = np.tril_indices(self.R)
        worst = 0.0
        for m in range(len(self.sums)):
            e = np.hstack([self.rows[m] if self.biased else self.rows[m][:, :-1], np.ones((len(self.rows[m]), 1))])
            want = (e.T * self.n[m]) @ e
            worst = max(worst, np.abs(want - self.sums[m]).max() / np.abs(want).max())
        for m in range(len(self.kept)):
            for i, kept in enumerate(self.kept[m]):
                assert self.kept_touched[m][i] == self.touched[m].get(i, 0), (m, i)
                if self.modelled:
                    assert kept[0] == self.n[m][i], (m, i)
                    continue
                H, g, tt = self.history[m].get(i, (np.zeros((self.R + 1,) * 2), np.zeros(self.R + 1), 0.0))
                h = H[:-1, -1] if self.biased else []
                right = g if self.biased else g[:-1]
                want = np.concatenate([H[:-1, :-1][low], h, [H[-1, -1]], right, [tt]])
                worst = max(worst, np.abs(want - kept).max() / max(1.0, np.abs(want).max()))
        print("histories of the first fit: %.2e" % worst)
        return worst <= tolerance


def values_of(path, index):
    with h5py.File(path) as f:
        order = index.shape[1]
        p = np.tile(f["weights"][:], (len(index), 1))
        b = np.zeros(len(index))
        for m in range(order):
            p *= f[f"factors/{m}"][:][index[:, m]]
            b += f[f"bias/{m}"][:][index[:, m]] if "bias" in f else 0.0
        return float(f.attrs["mean"]) + float(f.attrs["scale"]) * (b + p.sum(axis=1))


def main(state, first, lines, result, sweeps, forget, growing, tolerance, *batches):
    model = Model(state)
    tolerance = float(tolerance)
    index, values = read(first)
    out = np.array([held(i, model.split, model.share) for i in index], dtype=bool)
    model.held = {tuple(i): v for i, v in zip(index[out], values[out])}
    model.absorb(index[~out], (values[~out] - model.mean) / model.scale, 1.0, 1)
    right = model.check_state(tolerance)
    told = [json.loads(x) for x in open(lines)]
    told = [x for x in told if x["event"] == "batch"]
    assert len(told) == len(batches), (len(told), len(batches))
    cells = [index]
    squares_of_all = (values**2).sum()
    worst = 0.0
    for k, batch in enumerate(batches):
        index, values = read(batch)
        cells.append(index)
        squares_of_all += (values**2).sum()
        errors = model.learn(index, values, k + 2, int(sweeps), float(forget), growing, told[k].get("orders"))
        assert told[k]["dropped"] == errors.pop("dropped"), told[k]["dropped"]
        for name, squares in errors.items():
            if len(squares) == 0:
                assert told[k][name] is None
                continue
            assert told[k][name]["count"] == len(squares), (name, told[k][name], len(squares))
            worst = max(worst, abs(np.sqrt(squares.mean()) - told[k][name]["rmse"]) / model.scale)
        assert told[k]["dims"] == [len(r) for r in model.rows]
    cells = np.vstack(cells)
    off = np.abs(model.predict(cells) - values_of(result, cells)).max() / model.scale
    with h5py.File(result) as f:
        norm = float(f.attrs["input_norm"])
    assert abs(norm - np.sqrt(squares_of_all)) <= 1e-12 * norm, (norm, np.sqrt(squares_of_all))
    print("values %.2e, errors %.2e" % (off, worst))
    return right and max(off, worst) <= tolerance


if __name__ == "__main__":
    sys.exit(0 if main(*sys.argv[1:]) else 1)
