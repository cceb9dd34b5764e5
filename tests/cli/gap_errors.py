"""Gap errors by numpy.  make FOLDER: arrays.  check RESULT ARRAY [WEIGHTS]: /gap_rmse of a result.
unsure RESULT MODE: the indices whose expected error is above the training error.  means CSV: rows 5
and 6 of mode 1 in a table of factors are the mean of its others.  arrays NAME
VALUES: the arrays of a model give predict's values at all cells."""
import csv
import sys

import h5py
import numpy as np


def make():
    """Two components along 14 x 12 x 10. Of the second mode's last indices, cells of the first six of
    mode 3 are missing, and component 2 is dark in all other cells."""
    rng = np.random.default_rng(5)
    a = rng.random((14, 2)) + 0.5
    b = np.stack([np.linspace(1, 2, 12), np.linspace(0.5, 1.5, 12)], 1)
    c = np.stack([np.linspace(2, 1, 10), np.r_[rng.random(6) + 0.5, np.zeros(4)]], 1)
    x = np.einsum("ir,jr,kr->ijk", a, b, c) + 0.02 * rng.normal(size=(14, 12, 10))
    x[rng.random(x.shape) < 0.1] = np.nan
    gaps = x.copy()
    gaps[:, 9:, :6] = np.nan
    np.save("gaps.npy", gaps)
    zeros = gaps.copy()
    zeros[np.isnan(gaps)] = 0.0
    np.save("filled.npy", zeros)
    lost = x.copy()
    lost[4:6] = np.nan
    np.save("lost.npy", lost)
    np.save("weights.npy", np.where(np.isnan(gaps), np.nan, 1.0 + rng.random(x.shape)))


def expected(path, array, weights):
    """Expected errors of all indices, mode by mode."""
    x = np.load(array).astype(float)
    w = np.where(np.isnan(x), 0.0, 1.0 if weights is None else np.load(weights))
    f = h5py.File(path)
    best = int(f.attrs["best_sweep"])
    s = f["rmse/train"][best - 1] / f.attrs["scale"]
    order = x.ndim
    a = [f[f"factors/{m}"][:] * f["lengths"][:][m] for m in range(order)]
    biased = bool(f.attrs["biased"])
    inputs, rows = list(a), list(a)
    if biased:
        inputs = [np.hstack([m, np.ones((len(m), 1))]) for m in a]
        rows = [np.hstack([a[m], f[f"bias/{m}"][:][:, None]]) for m in range(order)]
    known = [w.sum(tuple(k for k in range(order) if k != m)) for m in range(order)]
    out = []
    for m in range(order):
        others = [k for k in range(order) if k != m]
        left, right = (inputs[k][known[k] > 0] for k in others)
        p = np.einsum("ir,jr->ijr", left, right).reshape(-1, left.shape[1])
        n = known[m]
        c = (rows[m] * n[:, None]).T @ rows[m] / n.sum()
        c = (c + np.diag(np.diag(c))) / 2
        cells = np.moveaxis(w, m, 0)[:, known[others[0]] > 0][:, :, known[others[1]] > 0]
        rmse = np.zeros(len(n))
        for i in np.flatnonzero(n > 0):
            v = cells[i].reshape(-1)
            h = (p * v[:, None]).T @ p
            g = p.T @ p - (h if weights is None else 0)
            count = len(p) - (n[i] if weights is None else 0)
            if count > 0:
                cov = np.linalg.inv(h / s**2 + np.linalg.inv(c))
                rmse[i] = np.sqrt(np.trace(g @ cov) / count) * f.attrs["scale"]
        out.append(rmse)
    return f, out


def means(table):
    """The rows of mode 1, biases among them."""
    rows = {}
    for component, mode, label, value in list(csv.reader(open(table)))[1:]:
        if mode == "1":
            rows.setdefault(component, {})[int(label)] = float(value)
    assert sorted(rows) == ["1", "2", "bias"], rows
    for entries in rows.values():
        others = [x for i, x in entries.items() if i not in (5, 6)]
        assert len(entries) == 14 and abs(np.mean(others)) > 0
        np.testing.assert_allclose([entries[5], entries[6]], np.mean(others), rtol=1e-12)


def arrays(name, values):
    part = lambda what: np.load(f"{name}.{what}.npy")
    model = part("mean") + np.einsum("r,ir,jr,kr->ijk", part("weights"), *(part(f"mode{m}") for m in range(3)))
    for m in range(3):
        model = model + part(f"bias{m}").reshape([-1 if k == m else 1 for k in range(3)])
    np.testing.assert_allclose(model, np.load(values), rtol=1e-9, atol=1e-9)


def main():
    what, *args = sys.argv[1:]
    if what == "make":
        make()
    elif what == "check":
        f, all_ = expected(args[0], args[1], args[2] if len(args) > 2 else None)
        for m, want in enumerate(all_):
            got = f[f"gap_rmse/{m}"][:]
            assert ((got == 0) == (want == 0)).all(), (m, got, want)
            np.testing.assert_allclose(got, want, rtol=1e-6)
    elif what == "means":
        means(args[0])
    elif what == "arrays":
        arrays(*args)
    elif what == "unsure":
        f = h5py.File(args[0])
        error = f["rmse/train"][int(f.attrs["best_sweep"]) - 1]
        print(*(np.flatnonzero(f[f"gap_rmse/{args[1]}"][:] > error) + 1))


main()
