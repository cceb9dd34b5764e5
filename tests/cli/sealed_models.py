"""sealed_models.py FILE AMPED: damages each dataset of FILE, one at a time, and runs each command that may read it.

A command ends with status 3, or does what it did with the whole file, because it does not read the dataset.
At least one command has to refuse: `info --verify` reads all datasets.
"""

import glob
import os
import shutil
import subprocess
import sys

import h5py
import numpy as np

source, amped = sys.argv[1:3]
COPY = "copy.state" if source.endswith("state") else "copy.h5"
COMMANDS = {
    "result.h5": ["info FILE", "info FILE --verify", "top FILE", "convert FILE out.csv", "convert FILE out.npy",
                  "compare result.h5 FILE", "predict FILE ratings.csv --keys=user,item,week -o out.csv",
                  "recommend FILE --for=user --of=item -n 3 -o out.csv", "similar FILE --for=user -n 3 -o out.csv",
                  "t.h5 --rank=2 --iters=2 --tol=0 --init=FILE -o out.h5"],
    "model.h5": ["info FILE", "info FILE --verify", "top FILE", "convert FILE out.csv", "compare model.h5 FILE",
                 "predict FILE more.csv --value=stars --cold=predict -o out.csv",
                 "recommend FILE --for=user --of=item -n 3 -o out.csv",
                 "complete t.h5 --rank=2 --reg=0.3 --iters=2 --tol=0 --init=FILE -o out.h5"],
    "cpd.ckpt": ["info FILE --verify", "top FILE", "convert FILE out.csv",
                 "t.h5 --rank=2 --iters=6 --tol=0 --checkpoint=FILE --resume -o out.h5"],
    "fast.ckpt": ["info FILE --verify", "t.h5 --rank=2 --iters=6 --tol=0 --accelerate=momentum --checkpoint=FILE "
                  "--resume -o out.h5"],
    "search.ckpt": ["info FILE --verify", "complete t.h5 --rank=2 --reg=0.3 --iters=6 --tol=0 --checkpoint=FILE "
                    "--resume -o out.h5"],
    "s.state": ["info FILE --verify", "stream FILE -o out.h5", "stream FILE more.csv --value=stars --duplicates=mean"],
}


def outcome(command, file):
    """Exit status, error lines, and what was written, as bytes or numbers."""
    for path in glob.glob("out.*"):
        os.remove(path)
    words = command.replace("FILE", file).split()
    backend = ["--backend=cpu"] if words[0] in ("t.h5", "complete", "stream") else []
    run = subprocess.run([amped, *words, *backend, "-q"], capture_output=True, text=True, timeout=600, check=False)
    written = {}
    for path in sorted(glob.glob("out.*")):
        if path.endswith(".h5"):
            with h5py.File(path) as f:
                names = [n for n in list_of_datasets(f) if not n.startswith("fit")]
                written[path] = [(n, f[n][...].tobytes()) for n in names]
        else:
            written[path] = open(path, "rb").read()
    return run.returncode, run.stdout.replace(file, "FILE"), written, run.stderr


def list_of_datasets(f):
    names = []
    f.visititems(lambda name, item: names.append(name) if isinstance(item, h5py.Dataset) else None)
    return sorted(names)


def damage(path, name):
    with h5py.File(path, "r+") as f:
        d = f[name]
        if d.size == 0 or "amped_hash" not in d.attrs:
            return False
        values = d[...]
        flat = values.reshape(-1)
        # A value that is plausible: another count, a slightly other number, another letter.
        flat[0] = flat[0] * 1.25 + 0.5 if values.dtype.kind == "f" else flat[0] ^ values.dtype.type(1)
        d[...] = values
    return True


def prepare(name=None):
    """A fresh copy, with its journal; damaged if a dataset is named."""
    for path in glob.glob("copy*"):
        os.remove(path)
    for path in glob.glob(source + "*"):
        if not path.endswith(".lock"):
            shutil.copy(path, path.replace(source, COPY, 1))
    return name is None or damage(COPY, name)


failed = 0
whole = {}
for command in COMMANDS[source]:
    prepare()
    whole[command] = outcome(command, COPY)
    if whole[command][0] != 0:
        print(f"FAILED: {command} of the whole {source}: {whole[command][3]}")
        failed += 1
with h5py.File(source) as f:
    datasets = list_of_datasets(f)
refusals = 0
for name in datasets:
    refused = []
    for command in COMMANDS[source]:
        if not prepare(name):
            print(f"{source}: /{name} has no hash")
            failed += 1
            break
        got = outcome(command, COPY)
        if got[0] == 3:
            refused.append(command)
        elif got[0] != 0 or got[1:3] != whole[command][1:3]:
            print(f"FAILED: /{name} of {source} is damaged, and {command} ends with {got[0]} and another answer "
                  f"{got[3].strip()}")
            failed += 1
    else:
        if not any("--verify" in c for c in refused):
            print(f"FAILED: info --verify does not see that /{name} of {source} is damaged")
            failed += 1
        refusals += len(refused)
print(f"{source}: {len(datasets)} datasets, {refusals} refusals, {failed} failures")
sys.exit(1 if failed else 0)
