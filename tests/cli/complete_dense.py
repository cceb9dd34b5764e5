#!/usr/bin/env python3
"""Arrays with missing cells for tests/cli/complete_dense.sh, and what numpy makes of models.

  complete_dense.py make FOLDER        x.npy and others with the same observed cells, and list.tns
  complete_dense.py large FOLDER       an array of more cells than the program computes together
  complete_dense.py same A B           are models, biases, errors of two results the same to the bit?
  complete_dense.py array RESULT FULL TYPE [OBSERVED [LO HI]]
                                       is FULL the model's value at every cell, or the observed one?
  complete_dense.py list TENSOR X      are the entries of a tensor file those cells of X.npy?
"""
import sys

import h5py
import numpy as np

FILL = -9999


def make(folder):
    """13 x 9 x 6 whole numbers; a third is missing, a quarter of the others are 0. No index of mode
    1 beyond 11 is observed, and the last one of mode 3 is not."""
    rng = np.random.default_rng(7)
    parts = [rng.integers(0, 4, (d, 2)) for d in (13, 9, 6)]
    x = np.einsum("ir,jr,kr->ijk", *parts).astype("f8")
    x[rng.random(x.shape) < 0.2] = 0.0
    gone = rng.random(x.shape) < 0.35
    gone[11:], gone[:, :, 5] = True, True
    truth = x.copy()
    x[gone] = np.nan
    np.save(folder + "/truth.npy", truth)
    np.save(folder + "/held.npy", np.where(gone & (rng.random(x.shape) < 0.3), truth, np.nan))
    for kind in ("<f8", ">f8", "<f4", "<f2", ">f4"):
        np.save(folder + "/x%s.npy" % kind.replace("<", "l").replace(">", "b"), x.astype(kind))
    np.save(folder + "/fortran.npy", np.asfortranarray(x))
    with h5py.File(folder + "/nan.h5", "w") as f:
        f["x"] = x.astype("f4")
    with h5py.File(folder + "/two.h5", "w") as f:
        f["a"], f["b"] = truth, x
    whole = np.where(gone, FILL, truth)
    for kind in ("i2", ">i4", "f4", "i8"):
        with h5py.File(folder + "/fill_%s.h5" % kind.replace(">", "b"), "w") as f:
            f["x"] = whole.astype(kind)
            f["x"].attrs["_FillValue"] = np.array(FILL, kind)
    with h5py.File(folder + "/range.h5", "w") as f:
        f["x"] = whole.astype("i4")
        f["x"].attrs["valid_range"] = np.array([0, 1000], "i4")
    np.save(folder + "/whole.npy", truth.astype("i4"))
    with open(folder + "/list.tns", "w") as f:
        for at in np.argwhere(~gone):
            f.write("%d %d %d %.17g\n" % (*(at + 1), truth[tuple(at)]))
    with open(folder + "/gaps.tns", "w") as f:
        for at in np.argwhere(gone):
            f.write("%d %d %d 0\n" % tuple(at + 1))
    y = x.copy()
    y[2, 3, 4] = np.inf
    np.save(folder + "/infinite.npy", y)
    np.save(folder + "/line.npy", x[:, 0, 0])
    np.save(folder + "/nothing.npy", np.full((3, 4, 5), np.nan))
    np.save(folder + "/small.npy", x[:12])
    big = np.where(gone, 1, 2**53 + 2).astype("i8")
    with h5py.File(folder + "/big.h5", "w") as f:
        f["x"] = big
        f["x"].attrs["_FillValue"] = np.int64(1)


def large(folder):
    rng = np.random.default_rng(8)
    x = rng.random((60, 190, 100)).astype("f4")
    x[rng.random(x.shape) < 0.5] = np.nan
    np.save(folder + "/large.npy", x)
    np.save(folder + "/large.fortran.npy", np.asfortranarray(x))


def arrays(path):
    found = {}

    def take(name, item):
        if isinstance(item, h5py.Dataset):
            found[name] = item[()]

    with h5py.File(path) as f:
        f.visititems(take)
    return found


def same(a, b):
    a, b = arrays(a), arrays(b)
    assert a.keys() == b.keys(), (a.keys(), b.keys())
    assert {"factors/0", "weights", "rmse/train"} <= a.keys(), a.keys()
    for name, x in a.items():
        assert x.dtype == b[name].dtype and x.tobytes() == b[name].tobytes(), name


def load(path):
    if not path.endswith(".h5"):
        return np.load(path)
    with h5py.File(path) as f:
        return f["dense" if "dense" in f else "x"][...]


def model(path):
    """The value at every cell. An index without a learnt entry has the mean of the others' rows."""
    with h5py.File(path) as f:
        weights = f["weights"][:]
        rows, biases = [], []
        for m in range(len(f["factors"])):
            row = f["factors/%d" % m][:]
            bias = f["bias/%d" % m][:] if "bias/%d" % m in f else np.zeros(len(row))
            if "observed/%d" % m in f:
                known = f["observed/%d" % m][:] != 0
                row[~known], bias[~known] = row[known].mean(axis=0), bias[known].mean()
            rows.append(row)
            biases.append(bias)
        mean, scale = f.attrs.get("mean", 0.0), f.attrs.get("scale", 1.0)
    y = np.einsum("r,ir,jr,kr->ijk", weights, *rows)
    y = y + biases[0][:, None, None] + biases[1][:, None] + biases[2]
    return mean + scale * y


def array(result, full, kind, observed=None, *limits):
    want, got = model(result), load(full)
    assert got.dtype == np.dtype(kind) and got.shape == want.shape, (got.dtype, got.shape)
    tolerance = 1e-12 if kind == "f8" else 2e-7
    if limits:
        want = np.clip(want, float(limits[0]), float(limits[1]))
    missing = np.ones(want.shape, bool)
    if observed:
        x = load(observed)
        missing = np.isnan(x) if x.dtype.kind == "f" else x == FILL
        if x.dtype.kind == "f":
            missing |= x == FILL
        assert got[~missing].tobytes() == x[~missing].astype(kind).tobytes()
        assert (x[~missing].astype("f8") == got[~missing].astype("f8")).all()
    assert np.isfinite(got).all()
    size = np.abs(want).max()
    assert np.abs(got - want)[missing].max() <= tolerance * size, np.abs(got - want)[missing].max()
    print("%d cells, %d missing" % (got.size, missing.sum()))


def list_(tensor, x):
    x = np.load(x)
    at = np.argwhere(~np.isnan(x))
    want = {(*map(int, i), float(x[tuple(i)])) for i in at}
    got = {(*(int(w) - 1 for w in words[:3]), float(words[3]))
           for words in (line.split() for line in open(tensor) if not line.startswith("#"))}
    assert got == want, (len(got), len(want))


if __name__ == "__main__":
    {"make": make, "large": large, "same": same, "array": array, "list": list_}[sys.argv[1]](*sys.argv[2:])
