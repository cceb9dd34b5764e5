"""Models for tests of predict, recommend, evaluate and similar, and their values, in numpy.

    model_file.py write FILE SEED DIMS RANK [biased] [labels] [plain]

DIMS as 6x5x4. `plain` is a decomposition, else a completion model. Labels of mode k are a, b, c, ...
with the index behind them; modes are called who, what, when, where.
"""
import sys
import h5py
import numpy as np

NAMES = "who", "what", "when", "where"


def label(mode, index):
    return f"{'abcd'[mode]}{index}"


def write(path, seed, dims, rank, words):
    rng = np.random.default_rng(seed)
    with h5py.File(path, "w") as f:
        f.attrs["amped_format"] = "ktensor"
        f["weights"] = np.sort(rng.random(rank) + 0.5)[::-1]
        for k, dim in enumerate(dims):
            f[f"factors/{k}"] = rng.standard_normal((dim, rank))
            if "labels" in words:
                texts = [label(k, i).encode() for i in range(dim)]
                f[f"labels/mode_{k}/bytes"] = np.frombuffer(b"".join(texts), "u1")
                f[f"labels/mode_{k}/offsets"] = np.cumsum([0] + [len(t) for t in texts]).astype("u8")
                f[f"labels/mode_{k}"].attrs["name"] = NAMES[k]
        if "plain" in words:
            return
        f.attrs["amped_model"], f.attrs["metric"] = "completion", "rmse"
        f.attrs["mean"], f.attrs["scale"] = 3.5, 1.25
        f.attrs["context"] = np.array([k > 1 for k in range(len(dims))], "u8")
        f.attrs["biased"] = np.uint64("biased" in words)
        f.attrs["reg"], f.attrs["holdout"] = 0.75, 0.05
        f.attrs["split_seed"], f.attrs["best_sweep"] = np.uint64(7), np.uint64(2)
        f["rmse/train"], f["rmse/validate"] = np.array([0.9, 0.5, 0.3]), np.array([0.95, 0.75, 0.8])
        for k, dim in enumerate(dims if "biased" in words else []):
            f[f"bias/{k}"] = rng.standard_normal(dim)


class Model:
    def __init__(self, path):
        with h5py.File(path) as f:
            self.weights = f["weights"][:]
            self.factors = [f[f"factors/{k}"][:] for k in range(len(f["factors"]))]
            self.mean, self.scale = f.attrs.get("mean", 0.0), f.attrs.get("scale", 1.0)
            self.bias = [f[f"bias/{k}"][:] if "bias" in f else np.zeros(len(a))
                         for k, a in enumerate(self.factors)]

    def row(self, mode, index):
        """None: an average one."""
        if index is None:
            return self.factors[mode].mean(axis=0), self.bias[mode].mean()
        return self.factors[mode][index], self.bias[mode][index]

    def value(self, cell):
        y, product = 0.0, self.weights.copy()
        for mode, index in enumerate(cell):
            row, bias = self.row(mode, index)
            product, y = product * row, y + bias
        return self.mean + self.scale * (y + product.sum())


if __name__ == "__main__":
    if sys.argv[1] == "write":
        write(sys.argv[2], int(sys.argv[3]), [int(d) for d in sys.argv[4].split("x")],
              int(sys.argv[5]), sys.argv[6:])
