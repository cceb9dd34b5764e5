"""What evaluate and similar report, against sorts and cosines in numpy.

    evaluate_reference.py ranks MODEL JSON CELLS.csv OF [exclude KNOWN.csv]... [by MODE] [cold]
    evaluate_reference.py similar MODEL JSON TABLE|- MODE NUMBER [weighted] [one INDEX]

Modes are counted from 0. Tables have labels, one column per mode in the order of the header, whose
names are the model's. Rows of the model that are zero, with a bias of 0, have no learnt entry: the
average row stands for them, but a known cell is excluded by its own labels.
"""
import csv
import json
import sys
import numpy as np
from model_file import NAMES, Model, label

what, path, lines = sys.argv[1:4]
model = Model(path)
order = len(model.factors)
is_completion = "mean" in model.__dict__ and model.scale != 1.0
learnt = [np.ones(len(a), bool) if not is_completion else (a != 0).any(axis=1) | (b != 0)
          for a, b in zip(model.factors, model.bias)]
places = [{label(k, i): i for i in range(len(a))} for k, a in enumerate(model.factors)]
with open(lines) as f:
    told = [json.loads(line) for line in f]


def read(name):
    """Cells of a table: the indices, None if unknown."""
    with open(name, newline="") as f:
        head, *rows = csv.reader(f)
    columns = [head.index(NAMES[k]) for k in range(order)]
    return [[places[k].get(row[c]) for k, c in enumerate(columns)] for row in rows]


def mean_row(k):
    return model.factors[k][learnt[k]].mean(axis=0), model.bias[k][learnt[k]].mean()


def ranks():
    of, words = int(sys.argv[5]), sys.argv[6:]
    known, by, cold, before, dropped = [], None, False, [], 0
    while words:
        if words[0] == "exclude":
            known = known + read(words[1])
            before = before + (read(words[1]) if words[1] != sys.argv[4] else [])
            words = words[2:]
        elif words[0] == "by":
            by, words = int(words[1]), words[2:]
        else:
            cold, words = True, words[1:]
    keys = [k for k in range(order) if k != of] if by is None else [by]
    unknown = left = tied = removed = 0
    found, popular = [], []
    counts = np.zeros(len(learnt[of]))
    for c in {tuple(c[k] for k in keys + [of]) for c in before}:
        if None not in c:
            counts[c[-1]] += 1
    for given in read(sys.argv[4]):
        cell = [i if i is not None and learnt[k][i] else None for k, i in enumerate(given)]
        if cell[of] is None:
            unknown += 1
            continue
        if any(i is None for i in cell):
            left += 1
            if not cold:
                continue
        if any(c[of] == cell[of] and all(c[k] is not None and c[k] == given[k] for k in keys) for c in before):
            dropped += 1
            continue
        product, y = model.weights.copy(), 0.0
        for k in range(order):
            if k != of:
                row, bias = mean_row(k) if cell[k] is None else model.row(k, cell[k])
                product, y = product * row, y + bias
        values = y + model.bias[of] + model.factors[of] @ product
        # Values that differ by rounding alone are ties, as equal rows are.
        values = np.round(values / np.abs(values).max(), 9)
        out = {c[of] for c in known if c[of] is not None and all(c[k] is not None and c[k] == given[k] for k in keys)}
        out = {j for j in out if learnt[of][j]} - {cell[of]}
        others = [j for j in range(len(values)) if learnt[of][j] and j not in out and j != cell[of]]
        higher = (values[others] > values[cell[of]]).sum()
        equal = (values[others] == values[cell[of]]).sum()
        removed, tied = removed + len(out), tied + (equal > 0)
        found.append(1 + higher + equal / 2)
        popular.append(1 + (counts[others] > counts[cell[of]]).sum() + (counts[others] == counts[cell[of]]).sum() / 2)
    found, popular = np.array(found), np.array(popular)
    (record,) = told
    assert record["event"] == "evaluate" and record["mode"] == of, record
    numbers = {"known": dropped, "ranked": len(found), "unknown": unknown, "cold": left, "tied": tied, "excluded": removed,
               "candidates": learnt[of].sum()}
    for name, number in numbers.items():
        assert record[name] == number, (name, record[name], number)
    assert record["cells"] == (len(found) + dropped + unknown + (0 if cold else left)), record
    assert abs(record["mrr"] - (1 / found).mean()) < 1e-12, (record["mrr"], (1 / found).mean())
    assert abs(record["mean_rank"] - found.mean()) < 1e-9, (record["mean_rank"], found.mean())
    for row in record["at"]:
        hit = found <= row["rank"]
        assert abs(row["hit_rate"] - hit.mean()) < 1e-12, row
        assert abs(row["ndcg"] - (hit / np.log2(1 + found)).mean()) < 1e-12, row
        hit = popular <= row["rank"]
        shown = [row["popular_hit_rate"], row["popular_ndcg"]]
        want = [hit.mean(), (hit / np.log2(1 + popular)).mean()] if before else [None, None]
        assert shown == want or max(abs(a - b) for a, b in zip(shown, want)) < 1e-12, row
    shown = [record["popular_mrr"], record["popular_mean_rank"]]
    want = [(1 / popular).mean(), popular.mean()] if before else [None, None]
    assert shown == want or max(abs(a - b) for a, b in zip(shown, want)) < 1e-9, (shown, want)


def similar():
    table, mode, number, words = sys.argv[4], int(sys.argv[5]), int(sys.argv[6]), sys.argv[7:]
    columns = np.linalg.norm(model.factors[mode], axis=0)
    rows = model.factors[mode] * (model.weights if "weighted" in words else 1 / np.where(columns > 0, columns, 1))
    lengths = np.linalg.norm(rows, axis=1)
    counts = learnt[mode] & (lengths > 0)
    unit = rows / np.where(lengths > 0, lengths, 1.0)[:, None]
    wanted = [int(words[words.index("one") + 1])] if "one" in words else np.flatnonzero(counts)
    assert [r["index"] for r in told] == list(wanted), [r["index"] for r in told]
    for record in told:
        i = record["index"]
        assert record["event"] == "similar" and record["label"] == label(mode, i), record
        cosines = unit @ unit[i]
        best = sorted((j for j in np.flatnonzero(counts) if j != i), key=lambda j: (-round(cosines[j], 10), j))
        found = [item["index"] for item in record["similar"]]
        assert found == best[:number], (i, found, best[:number])
        for item in record["similar"]:
            assert abs(item["value"] - cosines[item["index"]]) < 1e-12, item
    if table != "-":
        with open(table, newline="") as f:
            head, *lines = csv.reader(f)
        assert head == [NAMES[mode], "rank", NAMES[mode] + "_2", "value"], head
        flat = [(r["label"], str(n + 1), item["label"], item["value"])
                for r in told for n, item in enumerate(r["similar"])]
        assert [(a, b, c, float(d)) for a, b, c, d in lines] == flat


{"ranks": ranks, "similar": similar}[what]()
