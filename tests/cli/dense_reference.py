#!/usr/bin/env python3
"""Dense tensors for tests/cli/dense.sh, and plain ALS of them in numpy.

  dense_reference.py make FOLDER      write the tensors
  dense_reference.py start OUT R DIM...   a start: factors in an HDF5 file
  dense_reference.py compare X START JSON TOLERANCE
                                      the fits of the run's sweeps, and of as many in numpy
"""
import json
import sys

import h5py
import numpy as np


def noise(shape, seed):
    return np.random.default_rng(seed).standard_normal(shape)


def make(folder):
    """Odd sizes, all kinds of cells, both orders of modes, orders 3 to 5."""
    planted = np.einsum("ir,jr,kr->ijk", *(noise((n, 3), n) for n in (23, 17, 29)))
    a = planted + 0.3 * noise(planted.shape, 1)
    np.save(folder + "/a.npy", a)
    np.save(folder + "/fortran.npy", np.asfortranarray(a))
    np.save(folder + "/single.npy", a.astype("<f4"))
    np.save(folder + "/swapped.npy", a.astype(">f4"))
    np.save(folder + "/half.npy", a.astype("<f2"))
    counts = np.round(20 * np.abs(a))
    for kind in ("u1", "i2", ">i4", "u8"):
        np.save(folder + "/" + kind.strip(">") + ".npy", counts.astype(kind))
    np.save(folder + "/flat.npy", noise((2, 41, 7), 2))
    np.save(folder + "/four.npy", noise((11, 3, 8, 13), 3))
    np.save(folder + "/five.npy", np.asfortranarray(noise((5, 4, 3, 7, 6), 4)))
    bad = a.copy()
    bad[2, 3, 4] = np.nan
    np.save(folder + "/nan.npy", bad)
    np.save(folder + "/zero.npy", np.zeros((3, 4, 5)))
    np.save(folder + "/complex.npy", a.astype(complex))
    np.save(folder + "/matrix.npy", a[0])
    with open(folder + "/a.npy", "rb") as f:
        whole = f.read()
    with open(folder + "/short.npy", "wb") as f:
        f.write(whole[:-8])
    with h5py.File(folder + "/foreign.h5", "w") as f:
        f["group/x"] = a
        f["vector"] = np.arange(3.0)
    with h5py.File(folder + "/two.h5", "w") as f:
        f["x"] = a
        f["y"] = a + 1.0


def start(out, ncomps, dims):
    with h5py.File(out, "w") as f:
        f["weights"] = np.ones(ncomps)
        for k, dim in enumerate(dims):
            f["factors/%d" % k] = np.random.default_rng(k).random((dim, ncomps))


def unfold_times(x, factors, mode):
    """MTTKRP, by the definition."""
    letters = "ijklm"[: x.ndim]
    terms = [letters[m] + "r" for m in range(x.ndim) if m != mode]
    others = [factors[m] for m in range(x.ndim) if m != mode]
    return np.einsum("%s,%s->%sr" % (letters, ",".join(terms), letters[mode]), x, *others,
                     optimize=True)


def als(x, factors, sweeps):
    fits = []
    norm = np.linalg.norm(x)
    for _ in range(sweeps):
        for mode in range(x.ndim):
            v = np.ones((factors[0].shape[1],) * 2)
            for m in range(x.ndim):
                if m != mode:
                    v *= factors[m].T @ factors[m]
            factors[mode] = np.linalg.solve(v, unfold_times(x, factors, mode).T).T
            weights = np.linalg.norm(factors[mode], axis=0)
            factors[mode] /= weights
        letters = "ijklm"[: x.ndim]
        model = np.einsum("r," + ",".join(c + "r" for c in letters) + "->" + letters, weights,
                          *factors, optimize=True)
        fits.append(1.0 - np.linalg.norm(x - model) / norm)
    return fits


def compare(name, init, lines, tolerance):
    x = np.load(name).astype(float)
    with h5py.File(init) as f:
        factors = [f["factors/%d" % k][...] for k in range(x.ndim)]
    factors = [a / np.linalg.norm(a, axis=0) for a in factors]
    with open(lines) as f:
        found = [e["fit"] for e in map(json.loads, f) if e["event"] == "iteration"]
    wanted = als(x, factors, len(found))
    worst = max(abs(a - b) for a, b in zip(found, wanted))
    if not found or worst > tolerance:
        sys.exit("%s: fits %s, numpy has %s" % (name, found, wanted))


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(sys.argv[2])
    elif sys.argv[1] == "start":
        start(sys.argv[2], int(sys.argv[3]), [int(d) for d in sys.argv[4:]])
    else:
        compare(sys.argv[2], sys.argv[3], sys.argv[4], float(sys.argv[5]))
