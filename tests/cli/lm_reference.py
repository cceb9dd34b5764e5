#!/usr/bin/env python3
"""Levenberg-Marquardt steps of a CP decomposition in numpy, from docs/decisions and nothing else.

  lm_reference.py check X START               gradient and J'J here against differences of the model
  lm_reference.py compare X START JSON TOLERANCE
                                              the run's sweeps, damping and refusals, and those here
  lm_reference.py exact FOLDER                a tensor that has a model of four components: exact.npy
  lm_reference.py quadratic JSON              the residual's exponent doubles at the end

X is a .npy file, or text of indices and a value.
"""
import sys

import h5py
import numpy as np

from accelerate_reference import LETTERS, grams, mttkrp, read, read_run

FIRST, GOOD, LONGER, SHORTER, SMALL, ITERATIONS, LEAST = 1e-3, 0.75, 0.2, 4.0, 1e-4, 60, 0.01


def model(factors):
    modes = LETTERS[:len(factors)]
    return np.einsum(",".join(m + "r" for m in modes) + "->" + modes, *factors)


def balanced(factors):
    """All modes share a component's length."""
    lengths = [np.linalg.norm(a, axis=0) for a in factors]
    share = np.prod(lengths, axis=0)**(1 / len(factors))
    return [a / n * share for a, n in zip(factors, lengths)]


def gradient(x, factors):
    return [a @ grams(factors, m) - mttkrp(x, factors, m) for m, a in enumerate(factors)]


def normal(factors, z):
    """J'J z."""
    out = []
    for n, a in enumerate(factors):
        mixed = np.zeros((a.shape[1],) * 2)
        for m, b in enumerate(factors):
            if m != n:
                rest = np.ones_like(mixed)
                for k, c in enumerate(factors):
                    if k not in (n, m):
                        rest *= c.T @ c
                mixed += rest * (z[m].T @ b)
        out.append(z[n] @ grams(factors, n) + a @ mixed)
    return out


def dot(a, b):
    return sum(np.sum(x * y) for x, y in zip(a, b))


def solve(factors, g, damping):
    inverses = [np.linalg.inv(grams(factors, m) + damping * np.eye(g[0].shape[1])) for m in range(len(g))]
    z = [np.zeros_like(a) for a in factors]
    rest = [-a for a in g]
    made = [a @ p for a, p in zip(rest, inverses)]
    direction, slope, size, count = made, dot(rest, made), np.sqrt(dot(g, g)), 0
    while count < ITERATIONS and slope > 0:
        product = [a + damping * b for a, b in zip(normal(factors, direction), direction)]
        by = slope / dot(direction, product)
        z = [a + by * b for a, b in zip(z, direction)]
        rest = [a - by * b for a, b in zip(rest, product)]
        count += 1
        if np.sqrt(dot(rest, rest)) <= SMALL * size:
            break
        made = [a @ p for a, p in zip(rest, inverses)]
        slope, before = dot(rest, made), slope
        direction = [a + slope / before * b for a, b in zip(made, direction)]
    return z


def half(x, factors):
    return np.sum((x - model(factors))**2) / 2


def steps(x, first, count):
    """[(fit, damping, refused)] of each sweep."""
    now = [a.copy() for a in first]
    square = np.sum(grams(now))
    scale = max(np.sum(x * model(now)) / square, LEAST * np.sqrt(np.sum(x**2) / square))
    now = balanced([now[0] * scale] + now[1:])
    damping = FIRST * max(np.max(np.diag(grams(now, m))) for m in range(x.ndim))
    out = []
    for _ in range(count):
        g = gradient(x, now)
        z = solve(now, g, damping)
        there = [a + b for a, b in zip(now, z)]
        fall = half(x, now) - half(x, there)
        foretold = -dot(g, z) - dot(z, normal(now, z)) / 2
        used, refused = damping, not fall > 0
        if refused:
            damping *= SHORTER
        else:
            now = balanced(there)
            damping *= LONGER if fall > GOOD * foretold else 1.0
        out.append((1 - np.sqrt(2 * half(x, now) / np.sum(x**2)), used, refused))
    return out


def read_start(path, order):
    with h5py.File(path) as f:
        return [f["factors/%d" % m][:] for m in range(order)]


def check(x, factors):
    rng = np.random.default_rng(1)
    factors = balanced(factors)
    z = [rng.standard_normal(a.shape) for a in factors]
    tiny = 1e-5
    ahead = model([a + tiny * b for a, b in zip(factors, z)])
    behind = model([a - tiny * b for a, b in zip(factors, z)])
    moved = (ahead - behind) / (2 * tiny)  # J z
    slope = -np.sum((x - model(factors)) * moved)
    first = abs(slope - dot(gradient(x, factors), z)) / abs(slope)
    second = abs(np.sum(moved**2) - dot(z, normal(factors, z))) / np.sum(moved**2)
    print("gradient %.1e, J'J %.1e" % (first, second))
    return first < 1e-7 and second < 1e-7


def compare(x, start, run, tolerance):
    got = read_run(run)
    want = steps(x, read_start(start, x.ndim), len(got))
    fits = max(abs(g["fit"] - w[0]) for g, w in zip(got, want))
    dampings = max(abs(g["step"]["mu"] / w[1] - 1) for g, w in zip(got, want))
    same = all(g["step"]["refused"] == w[2] for g, w in zip(got, want))
    print("%d sweeps, %d refused: fits differ by %.1e, damping by %.1e" % (
        len(got), sum(w[2] for w in want), fits, dampings))
    return same and fits <= tolerance and dampings <= 100 * tolerance


def exact(folder):
    rng = np.random.default_rng(5)
    np.save(folder + "/exact.npy", model([rng.standard_normal((n, 4)) for n in (9, 11, 8)]))


def quadratic(run):
    misses = [1 - e["fit"] for e in read_run(run) if not e["step"]["refused"]]
    pairs = [(a, b) for a, b in zip(misses, misses[1:]) if 1e-7 < a < 1e-2]
    print(" ".join("%.1e" % m for m in misses))
    return min(misses) < 1e-12 and all(b < 1e-2 * a for a, b in pairs[-2:])


def main():
    command, rest = sys.argv[1], sys.argv[2:]
    done = True
    if command == "check":
        x = read(rest[0])
        done = check(x, read_start(rest[1], x.ndim))
    elif command == "compare":
        done = compare(read(rest[0]), rest[1], rest[2], float(rest[3]))
    elif command == "exact":
        exact(rest[0])
    elif command == "quadratic":
        done = quadratic(rest[0])
    return 0 if done else 1


if __name__ == "__main__":
    sys.exit(main())
