"""What predict told, against numpy.

    predict_reference.py MODEL COORDS.csv JSON OUT.csv|- [clip LO HI]

COORDS.csv has labels, or indices from 1, and a last column stars, or none. A label that the model
lacks is an average one.
"""
import csv
import json
import sys
import numpy as np
from model_file import Model, label


def read(path):
    with open(path, newline="") as f:
        rows = list(csv.reader(f))
    return rows[0], rows[1:]


model = Model(sys.argv[1])
header, rows = read(sys.argv[2])
order = len(model.factors)
places = [{**{label(k, i): i for i in range(len(a))}, **{str(i + 1): i for i in range(len(a))}}
          for k, a in enumerate(model.factors)]
cells = [[places[k].get(row[k]) for k in range(order)] for row in rows]
values = np.array([model.value(cell) for cell in cells])
clip = [float(x) for x in sys.argv[6:8]]
told = np.clip(values, *clip) if clip else values
with open(sys.argv[3]) as f:
    record = json.loads(f.read().splitlines()[-1])
assert record["event"] == "predict" and record["cells"] == len(rows), record
cold = np.array([None in cell for cell in cells])
assert record["cold"] == cold.sum(), record


def rms(x):
    return np.sqrt(np.mean(np.square(x)))


def near(a, b):
    assert abs(a - b) <= 1e-11 * max(1, abs(b)), (a, b)


if header[order:] == ["stars"]:
    stars = np.array([float(row[order]) for row in rows])
    near(record["rmse"], rms(stars - values))
    near(record["mae"], np.mean(np.abs(stars - values)))
    if clip:
        near(record["rmse_clipped"], rms(stars - told))
    else:
        assert record["rmse_clipped"] is None
    if cold.any():
        near(record["rmse_cold"], rms((stars - values)[cold]))
else:
    assert record["rmse"] is None and record["mae"] is None
if sys.argv[4] != "-":
    out_header, out = read(sys.argv[4])
    assert out_header == header[:order] + ["value"], out_header
    assert [row[:order] for row in out] == [row[:order] for row in rows]
    for row, x in zip(out, told):
        near(float(row[order]), x)
