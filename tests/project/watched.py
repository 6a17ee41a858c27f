"""Runs nfa with an audit hook that stops requests to other machines, and writing outside the named folders.

``python tests/project/watched.py modules`` imports every module. ``python tests/project/watched.py commands OUT`` runs
a command of each kind, and ``extras OUT`` runs commands that need an extra. The commands may write in OUT, the user's
cache, the folder of the user's key, the temporary folder and matplotlib's folder of settings. The hook prints each
stopped attempt on standard output, and the exit code is then 3. The hook gets all events of Python. It also stops any
program that nfa starts, but it gets no event if a compiled library writes a file.
"""

import contextlib
import importlib
import io
import os
import sys
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2]))  # at the end of the path, so that Python imports the tested nfa first
from tests.project.tree import modules

# Audit events of CPython, with the positions of the paths among the event's arguments.
REACHES = ("socket.connect", "socket.bind", "socket.sendto", "socket.sendmsg", "socket.getaddrinfo")
REACHES += ("socket.gethostbyname", "socket.gethostbyaddr")
STARTS = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn")
CHANGES = {"os.mkdir": 1, "os.remove": 1, "os.rmdir": 1, "os.truncate": 1, "os.chmod": 1, "os.chown": 1, "os.utime": 1}
CHANGES |= {"os.rename": 2, "os.link": 2, "os.symlink": 2, "sqlite3.connect": 1}
# These programs are allowed: matplotlib lists fonts, older joblib counts cores, older threadpoolctl finds the C
# library.
HARMLESS = {"fc-list", "system_profiler", "lscpu", "ldconfig", "gcc", "ld"}


class Watch:
    """An audit hook. `stopped` lists each stopped attempt in a line, also if the caller caught the error."""

    def __init__(self, may_write):
        self.may_write = [Path(folder).resolve() for folder in may_write]
        self.stopped = []
        sys.addaudithook(self)

    def __call__(self, event, args):
        if event in REACHES:
            self.stop(f"{event} {args!r}")
        elif event in STARTS and os.path.basename(str(args[0])) not in HARMLESS:
            self.stop(f"{event} {args[0]!r}")
        elif event == "open" and writes(args[1], args[2]):
            self.check(event, args[:1])
        elif event in CHANGES:
            self.check(event, args[: CHANGES[event]], *args[CHANGES[event] :][-1:])

    def check(self, event, paths, at=-1):
        """Stop an event that would change a path outside the folders; `at` is the open folder of a relative path."""
        for path in paths:
            if isinstance(path, int):  # the number of an open file, which the hook checked when it was opened
                continue
            start = f"/proc/self/fd/{at}" if isinstance(at, int) and at >= 0 else os.getcwd()
            place = Path(os.path.join(start, os.fsdecode(path))).resolve()
            if place != Path(os.devnull) and not any(place.is_relative_to(folder) for folder in self.may_write):
                self.stop(f"{event} {place}")

    def stop(self, line):
        self.stopped.append(line)
        raise PermissionError(f"the watch does not allow {line}")


def writes(mode, flags):
    """Whether the audit event `open` is for writing.

    `mode` is the mode of open(). For os.open(), `mode` is None, and `flags` has its flags.
    """
    return bool(flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)) if mode is None else bool(set(mode) & set("wax+"))


TINY = ["train", "--net", "784-16-10", "--epochs", "1", "--train-examples", "600"]
PRIVATE = "--rule dp_sgd --set C=1 --set sigma=0.1 --set m=60 --batch 60 --sampling poisson".split()
PRIVATE += "--adjacency add-remove --delta 1e-5".split()
POISSON = "--sampling poisson --adjacency add-remove --q 0.01 --steps 100 --delta 1e-5 --noise-multiplier 1.1".split()


def commands(out):
    """A command of each kind, with arguments that make it short."""
    return [
        ["--version"],
        ["eq", "lee2020:eq5"],
        ["errata", "berthier2019"],
        ["epsilon", *POISSON],
        ["data", "list"],
        [*TINY, "--out", f"{out}/bp"],
        [*TINY, *PRIVATE, "--out", f"{out}/private"],
        ["reproduce", "lee2020:epsilons", "--out", f"{out}/epsilons"],
        ["audit", "dp_sgd", "--trials", "100"],
        ["course", "stub", "lee2020:eq5", "--out", f"{out}/mine.py"],
        ["course", "ladder", "lee2020", "--out", f"{out}/ladder"],
    ]


def extras(out):
    """Commands that need an extra (`secure`, `course`), and `epsilon --explain`."""
    return [
        [
            "train",
            "--net",
            "784-16-10",
            "--epochs",
            "1",
            *PRIVATE,
            "--pixels",
            "unit",
            "--secure",
            "--out",
            f"{out}/secure",
        ],
        ["epsilon", *POISSON, "--explain"],
        ["course", "new", f"{out}/course"],
    ]


def run(words):
    """Run one command in this process and return its output; raise RuntimeError unless it succeeds."""
    from nfa.cli import main as cli

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = cli.main(words)
    if code or not out.getvalue():
        raise RuntimeError(f"nfa {' '.join(words)} ended with {code}: {err.getvalue() or 'no output'}")
    return out.getvalue()


def main(what, out=None):
    sys.dont_write_bytecode = True  # otherwise Python writes compiled files next to the modules
    if what == "modules":
        watch = Watch([])
        for name in modules():
            importlib.import_module(name)
    else:
        import matplotlib
        import pooch

        from nfa.data.keyed_digest import key_file

        own = [
            pooch.os_cache("nfa"),
            key_file().parent,
            matplotlib.get_cachedir(),
            matplotlib.get_configdir(),
            tempfile.gettempdir(),
        ]
        key_file().parent.parent.mkdir(parents=True, exist_ok=True)  # a new home does not have the folder of the key
        watch = Watch([out, *own])
        for words in {"commands": commands, "extras": extras}[what](out):
            run(words)
            print("nfa", *words)
    print(*(f"stopped: {line}" for line in watch.stopped), sep="\n", end="")
    return 3 if watch.stopped else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
