"""Checks a trace: trace_file.py FILE RANKS PHASE...

It parses; every rank has a process row with a name, and one event "run" around all others; events
of one lane nest; all ranks ran at the same time; the phases directly below "run" cover most of it (on an
idle machine nine tenths); every PHASE is there on every rank."""
import json
import sys

path, ranks, phases = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
with open(path) as f:
    trace = json.load(f)
assert trace["otherData"]["ranks"] == ranks
assert trace["otherData"]["dropped_events"] == 0
assert 0 <= trace["otherData"]["clock_error_us"] < 1e6
events = trace["traceEvents"]
names = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
assert sorted(names) == list(range(ranks)), names
assert all(name.startswith("rank %d (" % p) for p, name in names.items()), names
spans = [e for e in events if e["ph"] == "X"]
ns = lambda us: round(us * 1000)
assert min(ns(e["ts"]) for e in spans) == 0
runs = [e for e in spans if e["name"] == "run"]
assert max(e["ts"] for e in runs) < min(e["ts"] + e["dur"] for e in runs), "clocks disagree"

for p in range(ranks):
    mine = [e for e in spans if e["pid"] == p]
    runs = [e for e in mine if e["name"] == "run"]
    assert len(runs) == 1, "rank %d: %d runs" % (p, len(runs))
    begin, end = ns(runs[0]["ts"]), ns(runs[0]["ts"]) + ns(runs[0]["dur"])
    covered = 0
    for lane in {e["tid"] for e in mine}:
        around = []  # ends of the events that are open
        last = 0
        for e in (e for e in mine if e["tid"] == lane):
            b, d = ns(e["ts"]), ns(e["dur"])
            assert d >= 0 and b >= last, "rank %d: not in order: %s" % (p, e)
            assert begin <= b and b + d <= end, "rank %d: outside of the run: %s" % (p, e)
            last = b
            while around and around[-1] <= b:
                around.pop()
            assert not around or b + d <= around[-1], "rank %d: does not nest: %s" % (p, e)
            if lane == runs[0]["tid"] and len(around) == 1:
                covered += d
            around.append(b + d)
    print("rank %d: %.1f %% covered" % (p, 100 * covered / (end - begin)))
    assert 2 * covered > end - begin
    missing = set(phases) - {e["name"] for e in mine}
    assert not missing, "rank %d lacks %s" % (p, missing)
