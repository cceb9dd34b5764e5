"""warm_python.py FOLDER: a Python that has numpy and h5py loaded runs what warm_python of lib.sh asks for.

Loading both takes a second; a fork takes 10 ms. Each line of the pipe FOLDER/calls names a folder of
one call, in which `arguments` holds the working folder and the arguments of python3, each with a zero
byte after it, and `in` the script of `-`. The call's output goes to `out` and `err` there, and its exit
status to the pipe `status`. The process ends when FOLDER is gone."""

import os
import runpy
import select
import signal
import sys
import traceback

import h5py  # noqa: F401
import numpy  # noqa: F401


def run(call):
    """What python3 does with the arguments; returns its exit status."""
    with open(os.path.join(call, "arguments"), "rb") as file:
        words = [os.fsdecode(word) for word in file.read().split(b"\0")[:-1]]
    folder, script = words[:2]
    os.chdir(folder)
    for name, number, flags in (("in", 0, os.O_RDONLY), ("out", 1, os.O_WRONLY | os.O_CREAT),
                                ("err", 2, os.O_WRONLY | os.O_CREAT)):
        path = os.path.join(call, name)
        os.dup2(os.open(path if name != "in" or script == "-" else os.devnull, flags, 0o600), number)
    try:
        if script == "-c":
            sys.argv = ["-c", *words[3:]]
            code = words[2]
        elif script == "-":
            sys.argv = ["-", *words[2:]]
            code = sys.stdin.read()
        else:
            sys.argv = words[1:]
            sys.path[0] = os.path.dirname(os.path.abspath(script))
            runpy.run_path(script, run_name="__main__")
            return 0
        sys.path[0] = ""
        exec(compile(code, "<string>", "exec"), {"__name__": "__main__"})
        return 0
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return (end.code or 0) & 255
        print(end.code, file=sys.stderr)
        return 1
    except BaseException:
        traceback.print_exc()
        return 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()


def serve(call):
    """Runs the call in a process of its own, which may crash, and tells its status."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    child = os.fork()
    if child == 0:
        os._exit(run(call))
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    with open(os.path.join(call, "status"), "w", encoding="ascii") as pipe:
        pipe.write(f"{status if status >= 0 else 128 - status}\n")


def main(folder):
    calls = os.path.join(folder, "calls")
    os.mkfifo(calls)
    pipe = os.open(calls, os.O_RDWR | os.O_NONBLOCK)
    print("ready", flush=True)
    devnull = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(devnull, number)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while os.path.exists(calls):
        if not select.select([pipe], [], [], 2)[0]:
            continue
        for call in os.read(pipe, 65536).decode().split():
            if os.fork() == 0:
                serve(call)
                os._exit(0)


main(sys.argv[1])
