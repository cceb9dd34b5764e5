"""Poisson CP in numpy, for tests/cli/poisson.sh: every cell is computed, and nothing is fast.

    poisson_reference.py make                              the tensors and starts of the test
    poisson_reference.py sweeps TENSOR START K RESULT TOL  RESULT is K plain sweeps from START
    poisson_reference.py result TENSOR RESULT RUN.json     deviances, violation and sums of RESULT
    poisson_reference.py independent TENSOR RESULT         cells of RESULT are products of margins
    poisson_reference.py shares TENSOR RESULT TOL          RESULT has one component: the shares of all labels
    poisson_reference.py falls RUN.json                    the deviance never rises
    poisson_reference.py degrees TENSOR RESULT             the deviance is about its degrees of freedom
    poisson_reference.py lift RESULT TOP.json              top --lift orders labels by their lift
    poisson_reference.py match PLANTED RESULT LEAST        factor match score of two models
    poisson_reference.py same RESULT RESULT TOL            two results agree
"""
import itertools
import json
import sys

import h5py
import numpy as np

LETTERS = "ijklmnop"
ZERO, RAISED = 1e-10, 0.01


def cells(weights, factors):
    left = ",".join(f"{LETTERS[n]}r" for n in range(len(factors)))
    return np.einsum(f"r,{left}->{LETTERS[:len(factors)]}", weights, *factors, optimize=True)


def tensor_of(path):
    """A text of coordinates from 1, with a header of four lines, or an array."""
    if path.endswith(".npy"):
        return np.load(path).astype(float)
    with open(path) as f:
        dims = tuple(map(int, f.read().splitlines()[2].split()))
    rows = np.loadtxt(path, ndmin=2, skiprows=4)
    x = np.zeros(dims)
    np.add.at(x, tuple(rows[:, :-1].astype(int).T - 1), rows[:, -1])
    return x


def write_tensor(path, x, order=None):
    places = np.argwhere(x)
    if order is not None:
        order.shuffle(places)
    with open(path, "w") as f:
        print(f"sptensor\n{x.ndim}\n{' '.join(map(str, x.shape))}\n{len(places)}", file=f)
        for at in places:
            print(*(at + 1), repr(float(x[tuple(at)])) if x[tuple(at)] % 1 else int(x[tuple(at)]), file=f)


def model_of(path):
    with h5py.File(path) as f:
        return f["weights"][:], [f[f"factors/{n}"][:] for n in range(len(f["factors"]))]


def write_model(path, weights, factors):
    with h5py.File(path, "w") as f:
        f["weights"] = weights
        for n, factor in enumerate(factors):
            f[f"factors/{n}"] = factor


def deviance(x, m):
    logs = np.where(x > 0, x * np.log(np.where(x > 0, x, 1) / np.where(x > 0, m, 1)), 0)
    return 2 * (logs - x + m).sum()


def independent(x):
    n, m = x.ndim, np.array(x.sum())
    for d in range(n):
        margin = x.sum(axis=tuple(k for k in range(n) if k != d)) / x.sum()
        m = np.multiply.outer(m, margin)
    return m


def growth(x, weights, factors, mode):
    """Phi of Chi and Kolda: 1 at a fixed point, less where an entry should shrink."""
    m = cells(weights, factors)
    ratio = np.divide(x, m, out=np.zeros_like(x), where=x > 0)
    others = [n for n in range(x.ndim) if n != mode]
    parts = ",".join(f"{LETTERS[n]}r" for n in others)
    return np.einsum(f"{LETTERS[:x.ndim]},{parts}->{LETTERS[mode]}r", ratio,
                     *(factors[n] for n in others), optimize=True)


def sweep(x, weights, factors):
    for mode in range(x.ndim):
        phi = growth(x, weights, factors, mode)
        b = factors[mode] * weights
        mean = b.mean(axis=0)
        b = np.where((b < ZERO * mean) & (phi > 1), RAISED * mean, b * phi)
        weights = b.sum(axis=0)
        factors[mode] = b / np.where(weights > 0, weights, 1)
    return weights, factors


def normal_form(weights, factors):
    sums = [f.sum(axis=0) for f in factors]
    factors = [f / np.where(s > 0, s, 1) for f, s in zip(factors, sums)]
    weights = weights * np.prod(sums, axis=0)
    order = np.argsort(-weights, kind="stable")
    return weights[order], [f[:, order] for f in factors]


def check(what, off, tolerance):
    if not off <= tolerance:
        sys.exit(f"{what}: off by {off:.3g}, more than {tolerance:g}")


def compare(a, b, tolerance):
    check("weights", np.abs(a[0] / b[0] - 1).max(), tolerance)
    for n, (left, right) in enumerate(zip(a[1], b[1])):
        check(f"factor {n + 1}", np.abs(left - right).max() / np.abs(right).max(), tolerance)


def make():
    rng = np.random.default_rng(50)
    shapes = {"three": (23, 17, 29), "four": (11, 5, 8, 13), "five": (7, 5, 6, 4, 9), "six": (3, 5, 4, 6, 2, 5),
              "matrix": (31, 19)}
    for name, dims in shapes.items():
        factors = [rng.gamma(0.5, size=(i, 4)) for i in dims]
        m = cells(rng.uniform(1, 3, 4), factors)
        x = rng.poisson(m * 3000 / m.sum()).astype(float)
        x[2] = 0  # a row without nonzeros
        x[1] = rng.poisson(2.5, size=dims[1:])  # a row of many nonzeros
        write_tensor(f"{name}.tns", x, rng)
        write_model(f"{name}.h5", rng.uniform(1, 5, 3), [rng.uniform(0.1, 1, (i, 3)) for i in dims])
    x = tensor_of("three.tns")
    write_model("wide.h5", rng.uniform(1, 5, 70), [rng.uniform(0.1, 1, (i, 70)) for i in x.shape])
    np.save("three.npy", x)
    gaps = x.copy()
    gaps[1, 2, 3] = np.nan
    np.save("gaps.npy", gaps)
    x[4, 4, 4] = 0.5
    write_tensor("half.tns", x)
    x[5, 6, 7] = -2
    write_tensor("below.tns", x)
    weights, factors = model_of("three.h5")
    factors[0][3, 1] = factors[1][5, 2] = factors[2][6, 0] = 0  # zeros that should not be
    write_model("zeros.h5", weights, factors)
    factors[0][3, 1] = -1
    write_model("signed.h5", weights, factors)
    planted = [rng.dirichlet(np.full(i, 0.3), 5).T for i in (30, 25, 20)]
    weights = np.array([90e3, 70e3, 50e3, 40e3, 30e3])
    write_tensor("planted.tns", rng.poisson(cells(weights, planted)).astype(float))
    write_model("planted.h5", weights, planted)
    # One cell holds nearly all events: models of the others are products of tiny shares.
    x = rng.poisson(0.3, size=(12, 7, 24, 5)).astype(float)
    x[0, 0, 0, 0] = 1e7
    write_tensor("skewed.tns", x)
    x[0, 0, 0, 0] = 1e16
    write_tensor("vast.tns", x)
    # Independent modes: exactly; but for one cell, of which float sees nothing.
    x = np.einsum("i,j,k->ijk", [10.0, 20, 30], [1.0, 2, 3, 4], [5.0, 1]) * 100000
    write_tensor("outer.tns", x)
    x[0, 0, 0] += 300
    write_tensor("nearly.tns", x)
    # So many cells that rounding of their sums grows: plain sums of a million terms.
    x = [rng.integers(1, 1000, i).astype(float) for i in (200, 100, 50)]
    np.save("products.npy", np.einsum("i,j,k->ijk", *x))
    np.save("equal.npy", np.full((100, 100, 100), 1.0))
    # Every event by itself, as other programs write them.
    x = tensor_of("three.tns")
    places, counts = np.argwhere(x), x[x > 0]
    events = np.repeat(places, counts.astype(int), axis=0)
    for name, places, values in (("events", events, np.ones(len(events))), ("merged", places, counts)):
        level = {"level_desc": "sparse", "rank": 3, "level": {"level_desc": "element"}}
        with h5py.File(f"{name}.h5", "w") as f:
            for m in range(3):
                f[f"indices_{m}"] = places[:, m]
            f["values"] = values
            f.attrs["binsparse"] = json.dumps({"version": "0.1.0", "format": "custom", "shape": x.shape,
                                               "number_of_stored_values": len(values), "custom": {"level": level}})
    weights, factors = model_of("three.h5")
    write_model("opposed.h5", weights * np.array([1, -1, 1]), factors)
    write_model("lost.h5", weights * np.array([1, 0, 1]), factors)
    write_model("gone.h5", weights * 0, factors)
    # All cells are expected above 50, and deviance is then about its degrees of freedom.
    factors = [rng.uniform(1, 2, (i, 3)) for i in (70, 60, 60)]
    factors = [f / f.sum(axis=0) for f in factors]
    write_tensor("large.tns", rng.poisson(cells(np.array([3e7, 2e7, 1e7]), factors)).astype(float))


def sweeps(tensor, start, count, result, tolerance):
    x = tensor_of(tensor)
    weights, factors = normal_form(*model_of(start))
    weights = weights * x.sum() / weights.sum()
    for _ in range(int(count)):
        weights, factors = sweep(x, weights, factors)
    compare(normal_form(*model_of(result)), normal_form(weights, factors), float(tolerance))


def result(tensor, path, run):
    x = tensor_of(tensor)
    weights, factors = model_of(path)
    with h5py.File(path) as f:
        texts = [f.attrs[name] for name in ("loss", "normalisation")]
        explained = f["explained"][-1]
    texts = [text.decode() if isinstance(text, bytes) else text for text in texts]
    if texts != ["poisson", "sum"]:
        sys.exit(f"attributes {texts}")
    end = [json.loads(line) for line in open(run)]
    end = [line for line in end if line["event"] == "end"][-1]
    d, d0 = deviance(x, cells(weights, factors)), deviance(x, independent(x))
    violation = max(np.abs(np.minimum(factors[n] * weights, 1 - growth(x, weights, factors, n))).max()
                    for n in range(x.ndim))
    tolerance = 1e-9 * x.sum()
    check("deviance", abs(end["deviance"] - d), tolerance)
    check("independent modes", abs(end["independent_deviance"] - d0), tolerance)
    check("explained", abs(explained - (1 - d / d0)), 1e-9)
    check("violation", abs(end["kkt"] - violation), 1e-7)
    check("sum of the model", abs(weights.sum() / x.sum() - 1), 1e-10)
    for n, factor in enumerate(factors):
        check(f"columns of factor {n + 1}", np.abs(factor.sum(axis=0) - 1).max(), 1e-12)
        if factor.min() < 0:
            sys.exit(f"factor {n + 1} has negative entries")


def margins(tensor, path):
    x = tensor_of(tensor)
    m = independent(x)
    check("cells", np.abs(cells(*model_of(path)) - m).max() / m.max(), 1e-12)
    with h5py.File(path) as f:
        check("explained", abs(f["explained"][-1]), 1e-12)


def shares(tensor, path, tolerance):
    x = tensor_of(tensor)
    for n, factor in enumerate(model_of(path)[1]):
        share = x.sum(axis=tuple(k for k in range(x.ndim) if k != n)) / x.sum()
        check(f"shares of mode {n + 1}", np.abs(factor[share > 0, 0] / share[share > 0] - 1).max(), float(tolerance))


def falls(run):
    values = [json.loads(line) for line in open(run)]
    values = [line["step"]["deviance"] for line in values if line["event"] == "iteration"]
    rises = max((b - a) / a for a, b in zip(values, values[1:])) if len(values) > 1 else 0
    check("deviance rises", rises, 1e-12)


def match(planted, path, least):
    models = [normal_form(*model_of(name)) for name in (planted, path)]
    cosines = np.ones((len(models[0][0]), len(models[1][0])))
    for a, b in zip(*(m[1] for m in models)):
        a, b = a / np.linalg.norm(a, axis=0), b / np.linalg.norm(b, axis=0)
        cosines *= a.T @ b
    score = max(np.mean([cosines[r, p[r]] for r in range(len(p))])
                for p in itertools.permutations(range(len(cosines))))
    check("1 - match", 1 - score, 1 - float(least))


def degrees(tensor, path):
    x, (weights, factors) = tensor_of(tensor), model_of(path)
    m = cells(weights, factors)
    df = x.size - len(weights) * (sum(x.shape) - x.ndim + 1)
    if m.min() < 50 or np.sqrt(2 / df) > 0.003:
        sys.exit(f"the test says nothing: least cell {m.min():.1f}, {df} degrees of freedom")
    check("deviance over degrees of freedom", abs(deviance(x, m) / df - 1), 0.01)


def lift(path, top):
    weights, factors = model_of(path)
    for line in map(json.loads, open(top)):
        r = line["component"] - 1
        check("weight", abs(line["weight"] - weights[r]), 0)
        for mode in line["modes"]:
            factor = factors[mode["mode"]]
            whole = factor @ weights / weights.sum()
            lifts = factor[:, r] * np.log(np.where(factor[:, r] > 0, factor[:, r], 1) / np.where(whole > 0, whole, 1))
            order = [i for i in np.argsort(-lifts, kind="stable") if lifts[i] > 0][:10]
            if [leading["index"] for leading in mode["leading"]] != order:
                sys.exit(f"component {r + 1}, mode {mode['mode']}: {mode['leading']}, not {order}")
            for leading in mode["leading"]:
                check("lift", abs(leading["lift"] - lifts[leading["index"]]), 1e-12)
                check("share", abs(leading["entry"] - factor[leading["index"], r]), 1e-15)


def similar(path, lists, mode):
    """Cosines of rows, whose columns have unit length."""
    weights, factors = model_of(path)
    rows = factors[int(mode)] / np.linalg.norm(factors[int(mode)], axis=0)
    rows = rows / np.maximum(np.linalg.norm(rows, axis=1), 1e-300)[:, None]
    for line in map(json.loads, open(lists)):
        cosines = rows @ rows[line["index"]]
        cosines[line["index"]] = -2
        for found, value in zip(line["similar"], np.sort(cosines)[::-1]):
            check("cosine", abs(found["value"] - value), 1e-12)
            check("cosine of the label", abs(found["value"] - cosines[found["index"]]), 1e-12)


def same(a, b, tolerance):
    compare(normal_form(*model_of(a)), normal_form(*model_of(b)), float(tolerance))


if __name__ == "__main__":
    tasks = {"make": make, "sweeps": sweeps, "result": result, "independent": margins, "falls": falls,
             "shares": shares, "match": match, "degrees": degrees, "lift": lift, "similar": similar, "same": same}
    tasks[sys.argv[1]](*sys.argv[2:])
