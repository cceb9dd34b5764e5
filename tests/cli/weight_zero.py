"""Entries of weight 0: make SHARE NODATA [learnt] writes arrays and tables; same A.h5 B.h5
compares two models, and B with the learnt values."""
import json
import sys

import h5py
import numpy as np


def make(share, nodata, learnt):
    r = np.random.default_rng(5)
    x = np.einsum("ir,jr,kr->ijk", *[r.random((n, 2)) + 0.5 for n in ((30, 40, 30) if learnt else (12, 10, 8))])
    x += 0.05 * r.normal(size=x.shape)
    w = np.where(r.random(x.shape) > share, 1.0, 0.0)
    kind = "f4" if abs(nodata) < 3.5e38 else "f8"
    for name, fill in (("zero", 0.0), ("nodata", nodata)):
        y = np.where(w > 0, x, fill)
        if learnt:
            y[tuple(np.argwhere(w > 0)[12345])] = nodata
        np.save(name + ".npy", y.astype(kind))
        with open(name + ".csv", "w") as f:
            print("i,j,k,value,w", file=f)
            for i, j, k in np.ndindex(x.shape):
                print(f"{i},{j},{k},{y[i, j, k]:.17g},{w[i, j, k]:g}", file=f)
    np.save("mask.npy", w)
    with open("weights.csv", "w") as f:
        print("i,j,k,w", file=f)
        for i, j, k in np.ndindex(x.shape):
            print(f"{i},{j},{k},{w[i, j, k]:g}", file=f)


def model(path):
    with h5py.File(path) as f:
        x = np.einsum("r,ir,jr,kr->ijk", f["weights"][:], *[f[f"factors/{m}"][:] for m in range(3)])
        for m in range(3):
            if "bias" in f:
                x += f[f"bias/{m}"][:].reshape([-1 if d == m else 1 for d in range(3)])
        return f.attrs["mean"] + f.attrs["scale"] * x


def same(a, b):
    x, w = np.load("zero.npy"), np.load("mask.npy")
    a, b = model(a), model(b)
    worst = np.abs(a - b).max()
    error = np.sqrt((w * (b - x) ** 2).sum() / w.sum())
    if not (worst < 1e-4 and error < 0.3):
        sys.exit(f"models differ by {worst}; error at the learnt entries {error}")


if sys.argv[1] == "make":
    make(float(sys.argv[2]), float(sys.argv[3]), "learnt" in sys.argv)
else:
    same(sys.argv[2], sys.argv[3])
