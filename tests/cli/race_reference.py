"""Runs of complete that end early, against the rules in Python.

    race_reference.py FULL.json RACE.json PATIENCE auto|fixed [sgd]

FULL.json: lines of --race=off. RACE.json: lines of the same command without it. Each run of the race must make the
same sweeps as in full, to the bit, and end where the rules say; the best of these sweeps must be the result. Prints
the sweeps of the race and of the full runs, the result's error divided by that of the full runs, and the reasons.
"""
import json
import sys

full_path, race_path, patience, auto = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4] == "auto"
steps = "sgd" in sys.argv[5:]
TOL, LIVE = 1e-4, 1e-3


def read(path):
    sweeps, ends, last = {}, {}, None
    for line in open(path):
        told = json.loads(line)
        if told["event"] == "iteration":
            sweeps.setdefault(told["run"], []).append((told["rmse"], told["train"]))
        elif told["event"] == "run":
            ends[told["run"]] = told
        elif told["event"] == "end":
            last = told
    return sweeps, ends, last


full, full_ends, full_end = read(full_path)
race, race_ends, race_end = read(race_path)
count = full_ends[1]["runs"]
alone = full_end["biases_alone"] if "biases_alone" in full_end else full_end["mean_alone"]
zero = alone["validate"]["rmse"]
live = zero * (1 - LIVE)
few = full_end["validate"]["count"] < 256  # held-out entries: they end no run
first = {run: end["reg"] for run, end in full_ends.items()}
assert sorted(full_ends) == sorted(race_ends) == list(range(1, count + 1)), (sorted(full_ends), sorted(race_ends))
assert all(end["reason"] in ("patience", "iterations") for end in full_ends.values())


def short(errors, best):
    """Will these errors not reach the best one, at their present gain?"""
    low = min(errors)
    gain = min(errors[:-1]) - low
    return low - gain * max(patience, best["sweep"] - len(errors)) >= best["error"]


def ends_at(run, best):
    """Number of sweeps of a run, and why it ends."""
    sweeps = full[run]
    neighbour = auto and any(0.5 * first[run] <= other < first[run] for other in first.values())
    for n in range(2, 2 if few else len(sweeps)):
        errors = [error for error, _ in sweeps[:n]]
        train = [error for _, error in sweeps[:n]]
        low = min(errors)
        if steps and train[-1] == train[-2]:
            continue
        if best is not None and best["error"] < live and low >= best["error"]:
            rival = full[best["run"]]
            early = n < best["sweep"] and short([e for e, _ in rival[:n]], best) and train[-1] >= 0.99 * rival[n - 1][1]
            if short(errors, best) and not early:
                return n, "behind"
        still = abs(train[-1] - train[-2]) <= TOL * train[-2]
        if neighbour and low >= live and still:
            return n, "vanished"
    return len(sweeps), full_ends[run]["reason"]


best = None
for run in range(1, count + 1):
    number, reason = ends_at(run, best)
    assert race[run] == full[run][:number], (run, len(race[run]), number, reason)
    assert race_ends[run]["reason"] == reason and race_ends[run]["sweeps"] == number, (run, race_ends[run], reason)
    error = min(error for error, _ in race[run])
    sweep = 1 + [value for value, _ in race[run]].index(error)
    assert (race_ends[run]["rmse"], race_ends[run]["sweep"]) == (error, sweep), (run, race_ends[run], error, sweep)
    if best is None or error < best["error"]:
        best = {"run": run, "error": error, "sweep": sweep, "reason": reason}
for key, value in (("run", best["run"]), ("sweep", best["sweep"]), ("rmse", best["error"]), ("reason", best["reason"])):
    assert race_end[key] == value, (key, race_end[key], value)
made, all_made = (sum(map(len, runs.values())) for runs in (race, full))
print(made, all_made, "%.6f" % (race_end["rmse"] / full_end["rmse"]),
      *sorted({end["reason"] for end in race_ends.values()}))
