"""fit_reference.py RESULT.h5 TENSOR.tns RUN.json: the fit of a result, from all cells of the tensor in
long double, against the fit that its run wrote. Equal coordinates count with their sum. Exit status 1
where they differ by more than the run's fit_noise."""
import json
import sys

import h5py
import numpy as np

wide = np.longdouble


def model(file, shape):
    weights = file["weights"][:].astype(wide)
    out = np.zeros(shape, wide)
    for r, weight in enumerate(weights):
        term = weight
        for mode in range(len(shape)):
            term = np.multiply.outer(term, file["factors/%d" % mode][:, r].astype(wide))
        out += term
    return out


def main(result, text, run):
    rows = np.loadtxt(text, dtype=str, ndmin=2)
    with h5py.File(result) as file:
        shape = tuple(file["factors/%d" % m].shape[0] for m in range(rows.shape[1] - 1))
        m = model(file, shape)
    x = np.zeros(shape, wide)
    np.add.at(x, tuple(rows[:, :-1].astype(int).T - 1), rows[:, -1].astype(float).astype(wide))
    size = np.abs(x).max()
    want = 1 - np.sqrt((((x - m) / size) ** 2).sum() / ((x / size) ** 2).sum())
    with open(run) as lines:
        last = [json.loads(line) for line in lines if '"fit_noise"' in line][-1]
    off = abs(float(want - wide(last["fit"])))
    if not off <= last["fit_noise"]:
        print("fit %.17g, not %.17g: off by %.2g, noise %.2g" % (last["fit"], want, off, last["fit_noise"]))
        sys.exit(1)


main(*sys.argv[1:])
