#!/usr/bin/env python3
"""Arrays with whole gaps, and the error of a model there.

    holdout_by.py make         pixels.npy: a smooth array without half of its pixels; whole.npy: all of
                               it; points.npy: without half of its cells; frames.npy: without two
                               frames; mask.tns, cells.tns: the whole array, and weights of 0 in its
                               gaps; video.npy: order 4
    holdout_by.py error ARRAY  the error of ARRAY in the gaps of pixels.npy
"""
import sys

import numpy as np


def waves(rng, n, count):
    return np.stack([np.cos(np.arange(n) * np.pi * j / n / 1.7 + 6 * rng.random()) for j in range(count)], 1)


def make():
    rng = np.random.default_rng(2)
    down, across, band = waves(rng, 24, 9), waves(rng, 26, 9), waves(rng, 30, 6)
    core = rng.normal(size=(9, 9, 6)) / (1 + sum(np.ogrid[0:9, 0:9, 0:6]))
    whole = np.einsum("abc,ia,jb,kc->ijk", core, down, across, band) + rng.normal(0, 0.02, (24, 26, 30))
    np.save("whole.npy", whole)
    pixels, points = whole.copy(), whole.copy()
    pixels[rng.random((24, 26)) < 0.5] = np.nan
    points[rng.random(whole.shape) < 0.5] = np.nan
    np.save("pixels.npy", pixels)
    np.save("points.npy", points)
    frames = whole.copy()
    frames[[3, 7]] = np.nan
    np.save("frames.npy", frames)
    index = np.argwhere(np.ones(whole.shape, bool)) + 1
    np.savetxt("cells.tns", np.column_stack([index, whole.ravel()]), fmt="%d %d %d %.9g")
    np.savetxt("mask.tns", np.column_stack([index, ~np.isnan(pixels).ravel()]), fmt="%d")
    video = rng.normal(size=(8, 9, 5, 3))
    video[rng.random((8, 9)) < 0.4] = np.nan # the same pixels in all frames and colours
    np.save("video.npy", video)


def error(path):
    gaps = np.isnan(np.load("pixels.npy"))
    print(np.sqrt(np.mean((np.load(path) - np.load("whole.npy"))[gaps] ** 2)))


if __name__ == "__main__":
    make() if sys.argv[1] == "make" else error(sys.argv[2])
