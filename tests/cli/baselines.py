"""Errors without components, as complete told them in JSON, against numpy.

    baselines.py JSON TRAIN.csv VALIDATE.csv TEST.csv REG_BIAS [COLUMN of weights]

The mean alone; and mean and biases: the exact minimum of sum w (y - biases)^2 + REG_BIAS sum b^2. Sweeps end when they
change the objective by less than 1e-7 of it, or after 20. On these tensors the errors are then off by less than 3.2e-5 of the scale.
"""
import csv
import json
import sys
import numpy as np

TOLERANCE = 3.2e-5
lines, train, validate, test, reg = sys.argv[1:6]


def read(path):
    with open(path, newline="") as f:
        rows = list(csv.reader(f))
    return [r[:3] for r in rows[1:]], np.array([float(r[3]) for r in rows[1:]]), rows[0], rows[1:]


cells, values, head, rows = read(train)
weights = np.array([float(r[head.index(sys.argv[6])]) for r in rows]) if len(sys.argv) > 6 else np.ones(len(values))
number = {}
for cell in cells:
    for mode, label in enumerate(cell):
        number.setdefault((mode, label), len(number))
mean = np.average(values, weights=weights)
scale = np.sqrt(np.average((values - mean) ** 2, weights=weights))
design = np.zeros((len(values), len(number)))
for i, cell in enumerate(cells):
    for place in enumerate(cell):
        design[i, number[place]] = 1
normal = design.T @ (weights[:, None] * design) + float(reg) * np.eye(len(number))
biases = np.linalg.solve(normal, design.T @ (weights * (values - mean) / scale))
learnt = {p for cell, w in zip(cells, weights) if w > 0 for p in enumerate(cell)}
average = [np.mean([biases[number[p]] for p in learnt if p[0] == m]) for m in range(3)] # of a new label
with open(lines) as f:
    end = [json.loads(line) for line in f if '"end"' in line][-1]
for name, path in (("validate", validate), ("test", test)):
    there, wanted, _, _ = read(path)
    added = np.array([sum(biases[number[p]] if p in learnt else average[p[0]] for p in enumerate(cell)) for cell in there])
    for key, model in (("mean_alone", mean), ("biases_alone", mean + scale * added)):
        told, error = end[key][name], wanted - model
        assert told["count"] == len(wanted), (key, name, told)
        assert abs(told["rmse"] - np.sqrt(np.mean(error**2))) < TOLERANCE * scale, (key, name, told, np.sqrt(np.mean(error**2)))
        assert abs(told["mae"] - np.mean(np.abs(error))) < TOLERANCE * scale, (key, name, told)
