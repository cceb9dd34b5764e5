"""Numbers for complete_numbers.sh.

    complete_numbers.py make SEED OFFSET SCALE TRAIN.tns TEST.tns BATCH.tns
    complete_numbers.py close BASE.csv OTHER.csv OFFSET SCALE TOLERANCE
    complete_numbers.py agree RUN.json PREDICT.json SCALE

make: entries of 30 users, 20 items and 4 weeks: user + item effect + noise of sd 0.1, a sd of about
1.4, times SCALE plus OFFSET. The same SEED gives the same cells.
close: predictions of OTHER are OFFSET + SCALE times those of BASE, to TOLERANCE times SCALE.
agree: a run's error on its test cells is what predict finds there.
"""
import json
import random
import sys


def make(seed, offset, scale, *paths):
    r = random.Random(int(seed))
    users = [r.gauss(0, 1) for _ in range(30)]
    items = [r.gauss(0, 1) for _ in range(20)]
    cells = r.sample([(u, i, w) for u in range(30) for i in range(20) for w in range(4)], 900)
    lines = ["%d %d %d %r\n" % (u + 1, i + 1, w + 1, float(offset) + float(scale) *
                                (users[u] + items[i] + r.gauss(0, 0.1))) for u, i, w in cells]
    for path, part in zip(paths, (lines[:700], lines[700:800], lines[800:])):
        with open(path, "w") as f:
            f.writelines(part)


def last(path):
    with open(path) as f:
        return [float(line.split(",")[-1]) for line in f.readlines()[1:]]


def close(base, other, offset, scale, tolerance):
    off = max(abs((b - float(offset)) / float(scale) - a) for a, b in zip(last(base), last(other)))
    if not off <= float(tolerance):
        sys.exit("predictions are off by %g of the scale" % off)


def events(path):
    with open(path) as f:
        return [json.loads(line) for line in f]


def agree(run, predict, scale):
    told = [e for e in events(run) if e["event"] == "end"][-1]["test"]["rmse"]
    want = events(predict)[-1]["rmse"]
    if not abs(told - want) <= 1e-5 * want + 1e-6 * float(scale):
        sys.exit("the run's error is %r, that of predict %r" % (told, want))


{"make": make, "close": close, "agree": agree}[sys.argv[1]](*sys.argv[2:])
