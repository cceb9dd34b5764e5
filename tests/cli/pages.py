"""pages.py PAGE EXAMPLES AMPED MPIRUN [PYTHON]: the shell blocks of a page run, and print what the page shows.

Blocks that begin with ```sh run one after the other in one folder (the current one), with `examples` beside it;
blocks that begin with ```python too, if PYTHON is given, which has h5py.
A ```text block that follows has the output, of both streams. There `...` on a line by itself stands for any
lines, and `…` for anything within a line; numbers may be off by 2 %. Blocks of other languages are not run.
"""

import os
import re
import shutil
import subprocess
import sys

page, examples, amped, mpirun = sys.argv[1:5]
launcher, _, flags = mpirun.partition(" ")
mpirun = f"{shutil.which(launcher) or launcher} {flags}"  # the wrapper below has the same name
python = sys.argv[5] if len(sys.argv) > 5 else ""
NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?$")


def same_word(shown, printed):
    if shown == printed:
        return True
    a, b = (re.split(r"((?<![\w.])[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?(?![\w]))", x) for x in (shown, printed))
    if len(a) != len(b):
        return False
    for x, y in zip(a, b):
        if x != y and not (NUMBER.match(x) and NUMBER.match(y) and
                           abs(float(x) - float(y)) <= 0.02 * max(abs(float(x)), abs(float(y)))):
            return False
    return True


def same_line(shown, printed):
    if "…" in shown:
        parts = [re.escape(" ".join(p.split())) for p in shown.split("…")]
        return re.fullmatch(".*".join(parts).replace(r"\ ", " *"), " ".join(printed.split())) is not None
    a, b = shown.split(), printed.split()
    return len(a) == len(b) and all(map(same_word, a, b))


def mismatch(shown, printed):
    """The first line of `shown` that `printed` does not have in its place; None if there is none."""
    if not shown:
        return None if not printed else f"more is printed: {printed[0]}"
    if shown[0].strip() == "...":
        rest = [mismatch(shown[1:], printed[k:]) for k in range(len(printed) + 1)]
        return None if None in rest else max((r for r in rest if r), key=len, default="nothing")
    if not printed or not same_line(shown[0], printed[0]):
        return f"shown: {shown[0]} | printed: {printed[0] if printed else 'nothing'}"
    return mismatch(shown[1:], printed[1:])


sys.setrecursionlimit(10000)
os.makedirs("bin", exist_ok=True)
for name, command in (("amped_mpi", f'exec "{amped}" "$@"'), ("mpirun", f'exec {mpirun} "$@"')):
    with open(f"bin/{name}", "w", encoding="utf-8") as file:
        file.write(f"#!/bin/sh\n{command}\n")
    os.chmod(f"bin/{name}", 0o755)
if not os.path.lexists("examples"):
    os.symlink(examples, "examples")
environment = dict(os.environ, PATH=os.path.abspath("bin") + ":" + os.environ["PATH"])

blocks = re.findall(r"^```(\w*)\n(.*?)^```", open(page, encoding="utf-8").read(), flags=re.S | re.M)
failed = 0
run = 0
before = ""
for k, (language, text) in enumerate(blocks):
    if language != "sh" and not (language == "python" and python):
        continue
    run += 1
    if language == "sh":
        command = ["sh", "-e", "-c", text]
    else:  # one program, block after block
        command = [python, "-c", before + 'print("-----", flush=True)\n' + text]
        before += text
    got = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                         text=True, timeout=600, check=False)
    if language == "python":
        got.stdout = got.stdout.rpartition("-----\n")[2]
    if got.returncode:
        print(f"{page}: status {got.returncode} of:\n{text}{got.stdout}")
        failed += 1
    elif k + 1 < len(blocks) and blocks[k + 1][0] == "text":
        wrong = mismatch(blocks[k + 1][1].rstrip("\n").split("\n"), got.stdout.rstrip("\n").split("\n"))
        if wrong:
            print(f"{page}: other output of:\n{text}  {wrong}\n--- all that was printed\n{got.stdout}---")
            failed += 1
print(f"{page}: {run} blocks ran, {failed} failed")
sys.exit(1 if failed else 0)
