"""What recommend told, against a sort of all values in numpy.

    recommend_reference.py MODEL JSON TABLE|- FOR OF NUMBER [at MODE INDEX]... [seen EXCLUDED.csv] [one INDEX]

Modes are counted from 0. EXCLUDED.csv has labels; with `at`, which comes first, only its rows at these indices count.
"""
import csv
import json
import sys
import numpy as np
from model_file import Model, label

path, lines, table, target, of, number = sys.argv[1:7]
target, of, number = int(target), int(of), int(number)
words = sys.argv[7:]
model = Model(path)
order = len(model.factors)
places = [{label(k, i): i for i in range(len(a))} for k, a in enumerate(model.factors)]
at, seen, targets = {}, set(), range(len(model.factors[target]))
while words:
    if words[0] == "at":
        at[int(words[1])], words = int(words[2]), words[3:]
    elif words[0] == "one":
        targets, words = [int(words[1])], words[2:]
    else:
        with open(words[1], newline="") as f:
            for row in list(csv.reader(f))[1:]:
                if all(places[k].get(row[k]) == i for k, i in at.items()):
                    seen.add((places[target].get(row[target]), places[of].get(row[of])))
        words = words[2:]
wanted = []
for i in targets:
    product, y = model.weights.copy(), 0.0
    for k in range(order):
        if k != of:
            row, bias = model.row(k, i if k == target else at.get(k))
            product, y = product * row, y + bias
    values = model.mean + model.scale * (y + model.bias[of] + model.factors[of] @ product)
    allowed = [j for j in range(len(values)) if (i, j) not in seen]
    # Values that differ by rounding alone are ties, as equal rows are.
    wanted.append((i, sorted(allowed, key=lambda j: (-round(values[j], 10), j))[:number], values))
with open(lines) as f:
    told = [json.loads(line) for line in f]
assert len(told) == len(wanted), (len(told), len(wanted))
for record, (i, best, values) in zip(told, wanted):
    assert record["event"] == "recommend" and record["index"] == i, record
    found = [item["index"] for item in record["recommended"]]
    assert found == best, (i, found, best, values[best])
    for item in record["recommended"]:
        assert abs(item["value"] - values[item["index"]]) <= 1e-11 * max(1, abs(item["value"]))
if table != "-":
    with open(table, newline="") as f:
        rows = list(csv.reader(f))[1:]
    flat = [(record["label"] or str(record["index"] + 1), str(n + 1),
             item["label"] or str(item["index"] + 1), item["value"])
            for record in told for n, item in enumerate(record["recommended"])]
    assert [(a, b, c, float(d)) for a, b, c, d in rows] == flat
