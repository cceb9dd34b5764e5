#!/usr/bin/env python3
"""Random small tensors through the whole program, each compared with a slow CP-ALS: see jobs/soak.

Case N of a seed is a pure function of both, so one case can be repeated. The checks:

- `convert` keeps every nonzero (h5py reads them back, not the program).
- `cpd` from a given start ends with the oracle's weights, factors and fits. The oracle gives the
  bound of rounding: in each of four trials all its intermediate results get random errors, as large
  as arithmetic with u = 2^-24 or 2^-53 can make them. The bound is 32 times the largest effect.
  If it is above 0.01, or a gram matrix is nearly singular, only the next point is checked.
- The written model has the reported fit, computed by sums over the nonzeros and grams in double. Its
  columns have unit length, and its weights descend.
- With --deterministic a second run has the same bits, and so has a run that stopped at a checkpoint
  and was resumed.
"""
import argparse
import gzip
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time

import h5py
import numpy as np

from reference import mttkrp, read_model, read_tensor

UNIT = {"float": 2.0**-24, "double": 2.0**-53}
LEAST_AGREEMENT = 0.01


class Wrong(Exception):
    pass


def require(condition, what):
    if not condition:
        raise Wrong(what)


# --- a case ---------------------------------------------------------------------------------------


def draw(seed, number, backend):
    r = random.Random(f"{seed} {number}")
    order = r.choice([3, 3, 3, 4, 4, 5, 6, 7, 8])
    dims = [r.choice([1, 2, 3, r.randint(1, 12), r.randint(4, 60), r.randint(50, 3000)])
            for _ in range(order)]
    if r.random() < 0.1:
        dims[r.randrange(order)] = r.randint(65537, 300000)  # several indices an iDp
    case = {
        "dims": dims,
        "nnz": r.choice([1, r.randint(2, 50), r.randint(50, 1000), r.randint(1000, 6000)]),
        "skew": [r.choice([1, 1, 2, 5]) for _ in dims],
        "values": r.choice(["real", "signed", "counts", "ones"]),
        "rank": r.choice([1, 2, 3, 4, 5, 7, 8, 12, 16, 17, 33]),
        "ranks": r.randint(1, 4),
        "threads": r.randint(1, 2),
        "sweeps": r.randint(1, 5),
        "numbers": r.randrange(2**32),
        "gzip": r.random() < 0.2,
        "precision": r.choice(["float", "double"]),
        "copies": r.choice(["all", "all", "none"]),
        "memory": r.choice([[], [], ["--memory=1M"]]),
        "deterministic": r.random() < 0.4,
        "resume": r.random() < 0.3,
        "options": ["--placement=" + r.choice(["greedy", "greedy", "equal", "block"]),
                    "--read=" + r.choice(["root", "parallel"])],
    }
    case["options"] += [r.choice(["--overlap=auto", "--overlap=off", "--overlap=3", "--overlap=8"])]
    if backend == "cuda":
        case["options"] += [r.choice(["--residency=auto", "--residency=resident", "--residency=stream"]),
                            r.choice(["--tiles=auto", "--tiles=off", "--tiles=64K"])]
    return case


def make_tensor(case, path):
    """Nonzeros without repeats, as FROSTT text; returns them as arrays."""
    rng = np.random.default_rng(case["numbers"])
    n = case["nnz"]
    columns = [np.minimum((d * rng.random(n) ** s).astype(np.int64), d - 1)
               for d, s in zip(case["dims"], case["skew"])]
    indices = np.unique(np.stack(columns, axis=1), axis=0)
    n = len(indices)
    values = {"real": lambda: rng.uniform(0.1, 2.0, n), "signed": lambda: rng.standard_normal(n) + 1e-3,
              "counts": lambda: rng.integers(1, 9, n).astype(float), "ones": lambda: np.ones(n)}[case["values"]]()
    order = rng.permutation(n)
    with (gzip.open if case["gzip"] else open)(path, "wt") as f:
        for row in order:
            f.write(" ".join(str(i + 1) for i in indices[row]) + f" {float(values[row])!r}\n")
    return indices, values


def make_start(case, path):
    rng = np.random.default_rng(case["numbers"] + 1)
    with h5py.File(path, "w") as f:
        f["weights"] = rng.uniform(0.5, 2.0, case["rank"])
        for m, dim in enumerate(case["dims"]):
            f[f"factors/{m}"] = rng.uniform(-0.2, 1.0, (dim, case["rank"]))


# --- the oracle -----------------------------------------------------------------------------------

TRIALS = 4
SAFETY = 32


def oracle(dims, indices, values, weights, factors, sweeps, u=0.0, rng=None):
    """ALS as in reference.py. With u > 0, every result of the arithmetic gets a random error, as
    large as rounding with unit u can make it. None where a gram matrix is nearly singular."""
    def shake(x, size, terms):
        return x + u * terms * size * rng.uniform(-1, 1, x.shape) if u > 0 else x

    order = len(dims)
    factors = [a.copy() for a in factors]
    factors[0] *= weights
    norm = np.sqrt(np.sum(values**2))
    fits = []
    for _ in range(sweeps):
        for mode in range(order):
            v = np.ones((len(weights), len(weights)))
            for m, a in enumerate(factors):
                if m != mode:
                    v *= a.T @ a
            noise = shake(v, np.abs(v), order)
            v = (noise + noise.T) / 2
            if not np.linalg.cond(v) < 1e13:
                return None
            k = mttkrp(dims, indices, values, factors, mode)
            k = shake(k, mttkrp(dims, indices, np.abs(values), [np.abs(a) for a in factors], mode), order + 1)
            a = np.linalg.solve(v, k.T).T
            a = shake(a, np.abs(a), 2)
            weights = np.linalg.norm(a, axis=0)
            factors[mode] = a / np.where(weights > 0, weights, 1)
        fits.append(fit_of(norm, weights, factors, np.sum(weights * np.sum(k * factors[-1], axis=0)))[0])
    by_weight = np.argsort(-weights, kind="stable")
    return weights[by_weight], np.array(fits), [a[:, by_weight] for a in factors]


def distances(a, b):
    """Differences of two models: weights, relative to the largest; fits; factors, with each column
    scaled by its relative weight. A component may have the other sign in an even number of modes."""
    scale = a[0] / a[0][0] if a[0][0] > 0 else a[0]
    signs = np.array([np.where(np.sum(x * y, axis=0) < 0, -1, 1) for x, y in zip(a[2], b[2])])
    signs[:, np.prod(signs, axis=0) < 0] = 1
    return np.array([np.max(np.abs(a[0] - b[0])) / max(a[0][0], 1e-300), np.max(np.abs(a[1] - b[1]))] +
                    [np.max(np.abs(x - s * y) * scale) for x, y, s in zip(a[2], b[2], signs)])


def fit_of(norm, weights, factors, inner):
    """The fit, and the sum of the sizes that cancel in it, divided by |X|^2."""
    grams = np.outer(weights, weights)
    for a in factors:
        grams = grams * (a.T @ a)
    residual = norm**2 + grams.sum() - 2 * inner
    return 1 - np.sqrt(max(residual, 0.0)) / norm, (norm**2 + np.abs(grams).sum() + 2 * abs(inner)) / norm**2


# --- checks ---------------------------------------------------------------------------------------


def check_converted(path, case, indices, values):
    dims, columns, found = read_tensor(path)
    require(list(dims) == case["dims"], f"dims {list(dims)}")
    got = np.stack(columns, axis=1)
    order = np.lexsort(got.T[::-1])
    require(np.array_equal(got[order], indices), "coordinates differ after convert")
    require(np.array_equal(found[order], values), "values differ after convert")


def check_model(path, case, indices, values):
    """The model is valid and has the fit that the file reports."""
    weights, factors = read_model(path)
    with h5py.File(path) as f:
        fits = f["fit"][:]
    require(len(fits) == case["sweeps"], f"{len(fits)} sweeps")
    for name, x in [("weights", weights), ("fit", fits)] + [(f"factor {m}", a) for m, a in enumerate(factors)]:
        require(np.all(np.isfinite(x)), f"{name} is not finite")
    require(np.all(np.diff(weights) <= 0), "weights do not descend")
    u, norm = UNIT[case["precision"]], np.sqrt(np.sum(values**2))
    for m, a in enumerate(factors):
        length = np.linalg.norm(a, axis=0)
        # Stored elements are rounded twice, after solve and after scaling.
        require(np.all((np.abs(length - 1) <= 4 * u + 1e-12) | ((length == 0) & (weights == 0))),
                f"columns of factor {m} are not of unit length: {length}")
    product = values[:, None] * weights
    for column, a in zip(indices.T, factors):
        product = product * a[column]
    true_fit, cancelled = fit_of(norm, weights, factors, product.sum())
    # Error bound of the residual's square: rounding errors of the sums that cancel in it. Each term
    # has order+2 rounded factors; the last part is for the sums in double.
    sizes = cancelled + 2 * np.abs(product).sum() / norm**2
    error = 4 * (len(case["dims"]) + 2) * u * sizes + 64 * UNIT["double"] * sizes
    gap = abs((1 - fits[-1]) ** 2 - (1 - true_fit) ** 2)
    require(gap <= error, f"reported fit {fits[-1]}, the model's {true_fit} (squares differ by {gap:.1e}, bound {error:.1e})")
    return weights, factors, fits


def check_agreement(case, start, indices, values, weights, factors, fits):
    """True where the oracle can decide."""
    problem = (np.array(case["dims"]), list(indices.T), values, *read_model(start), case["sweeps"])
    want = oracle(*problem)
    if want is None:
        return False
    bound = np.full(2 + len(case["dims"]), UNIT[case["precision"]])
    rng = np.random.default_rng(case["numbers"] + 2)
    for _ in range(TRIALS):
        other = oracle(*problem, u=UNIT[case["precision"]], rng=rng)
        if other is None:
            return False
        bound = np.maximum(bound, distances(want, other))
    bound *= SAFETY
    if not np.all(bound <= LEAST_AGREEMENT):
        return False
    gap = distances(want, (weights, fits, factors))
    require(np.all(gap <= bound), f"weights, fits, factors differ by {gap}, rounding explains {bound}")
    return True


def same_bits(a, b):
    with h5py.File(a) as f, h5py.File(b) as g:
        for name in ["weights", "fit"] + [f"factors/{m}" for m in range(len(f["factors"]))]:
            require(np.array_equal(f[name][:], g[name][:]), f"{name} has other bits in {b}")


class Runner:
    def __init__(self, backend):
        self.amped = os.path.abspath(os.environ.get("AMPED_MPI", "./amped_mpi"))
        self.mpirun = os.environ.get("MPIRUN", "mpirun").split()
        self.backend = backend
        require(os.access(self.amped, os.X_OK), f"{self.amped} is not there; build it, or set AMPED_MPI")

    def run(self, command, status=0):
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, timeout=300)
        require(done.returncode == status, f"status {done.returncode}: {' '.join(command)}\n{done.stdout[-2000:]}")

    def cpd(self, case, *options):
        command = self.mpirun + ["-np", str(case["ranks"]), self.amped, "cpd", "t.h5", "--init=start.h5",
                                 f"--rank={case['rank']}", f"--threads={case['threads']}", "--tol=0", "-q",
                                 f"--precision={case['precision']}", f"--backend={self.backend}"]
        if self.backend == "cuda":
            command.append("--share-gpus")
        if case["deterministic"] or case["resume"]:
            command.append("--deterministic")
        self.run(command + case["options"] + list(options))

    def case(self, case):
        text = "t.tns.gz" if case["gzip"] else "t.tns"
        indices, values = make_tensor(case, text)
        make_start(case, "start.h5")
        self.run([self.amped, "convert", text, "t.h5", "-q", "--dims=" + "x".join(map(str, case["dims"])),
                  f"--copies={case['copies']}"] + case["memory"])
        check_converted("t.h5", case, indices, values)
        self.run([self.amped, "info", "t.h5", "--verify", "-q"])
        sweeps = f"--iters={case['sweeps']}"
        self.cpd(case, sweeps, "-o", "r.h5")
        model = check_model("r.h5", case, indices, values)
        if case["deterministic"]:
            self.cpd(case, sweeps, "-o", "again.h5")
            same_bits("r.h5", "again.h5")
        if case["resume"] and case["sweeps"] > 1:
            saved = ["--checkpoint=c.h5", "--checkpoint-every=1"]
            self.cpd(case, "--iters=1", "--nowrite", *saved)
            self.cpd(case, sweeps, "-o", "resumed.h5", "--resume", *saved)
            same_bits("r.h5", "resumed.h5")
        return check_agreement(case, "start.h5", indices, values, *model)


# --- all of them ----------------------------------------------------------------------------------


def one(runner, seed, number, keep):
    """True: the result agrees with the oracle. False: only the model's own fit could be checked."""
    home = os.getcwd()
    folder = tempfile.mkdtemp(prefix="amped-soak.")
    case = draw(seed, number, runner.backend)
    os.chdir(folder)
    try:
        return runner.case(case)
    except (Wrong, subprocess.TimeoutExpired, OSError, ValueError, np.linalg.LinAlgError) as error:
        print(f"FAILED: case {number}: {error}\n  {case}")
        print(f"  repeat: {os.environ.get('AMPED_SOAK', 'jobs/soak')} --seed={seed} --first={number} --cases=1 "
              f"--backend={runner.backend}", flush=True)
        return None
    finally:
        os.chdir(home)
        if keep:
            print(f"  files: {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)


def main():
    p = argparse.ArgumentParser(prog="soak", description="Random small tensors against a slow CP-ALS.")
    p.add_argument("--minutes", type=float, default=60, help="stop after so many [60]")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--backend", choices=["cpu", "cuda"], default="cpu")
    p.add_argument("--first", type=int, default=0, help="the first case's number [0]")
    p.add_argument("--cases", type=int, default=2**62, help="stop after so many")
    p.add_argument("--keep", action="store_true", help="leave every case's files")
    o = p.parse_args()
    try:
        runner = Runner(o.backend)
    except Wrong as error:
        print(f"soak: {error}", file=sys.stderr)
        return 2
    end = time.monotonic() + 60 * o.minutes
    done = agreed = failed = 0
    while done < o.cases and time.monotonic() < end:
        result = one(runner, o.seed, o.first + done, o.keep)
        done += 1
        agreed += result is True
        failed += result is None
        if done % 50 == 0:
            print(f"{done} cases, {agreed} held against the oracle, {failed} failed", flush=True)
    print(f"soak, seed {o.seed}, {o.backend}: {done} cases, {agreed} held against the oracle, "
          f"{done - agreed - failed} too ill-conditioned for that (their own fit was checked), {failed} failed")
    return 1 if failed or done == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
