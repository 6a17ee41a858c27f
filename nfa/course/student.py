"""The process that runs the code of one student: the cells of a notebook, and functions that the checks call.

The process limits itself, starts a child, and waits for the child. The child answers the requests of the process of the
checks over a pipe (`nfa.course.exchange`), until that process ends. The process of the checks does not trust this
process.
"""

import json
import os
import signal
import sys
import tracemalloc
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

from nfa.course import cage

SAID = 100_000  # largest number of characters that are kept of a cell's output
WATCHED = ("builtins", "sys", "math", "numpy", "numpy.linalg", "nfa.course", "nfa.course.checking", "nfa.course.checks")


class Said:
    """A text stream that keeps the beginning of what is written."""

    encoding, errors, closed = "utf-8", "strict", False

    def __init__(self) -> None:
        self.text: list[str] = []
        self.left = SAID

    def write(self, text: str) -> int:
        """Keep the text, up to the limit `SAID`."""
        if self.left > 0:
            self.text.append(str(text)[: self.left])
            self.left -= len(self.text[-1])
        return len(text)

    def writelines(self, lines: Any) -> None:
        """Write each of these texts."""
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Do nothing, because there is no buffer."""

    def isatty(self) -> bool:
        """Return False, because the stream is not a terminal."""
        return False

    def fileno(self) -> int:
        """Raise OSError, because there is no file.

        Raises
        ------
        OSError : always
        """
        raise OSError("the output of a cell is no file")

    def readable(self) -> bool:
        """Return False, because the stream cannot be read."""
        return False

    def writable(self) -> bool:
        """Return True, because text can be written."""
        return True


def main(task: Mapping[str, Any]) -> None:
    """Limit this process, start a child that answers requests, and end with the exit code of the child.

    Parameters
    ----------
    task : ``pipe``, the descriptor of the pipe, and the parameters of `nfa.course.cage.enter`
    """
    pipe = Connection(task["pipe"])
    os.set_inheritable(task["pipe"], False)
    limits = {key: task[key] for key in ("memory", "processes", "size", "seconds", "files")}
    lacks = cage.enter(Path(task["folder"]), **limits)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(write)
        os.read(read, 1)  # wait until the other side has the number of this process
        os.close(read)
        if sys.platform == "linux":
            cage.die_with_parent()
        _answer(pipe, lacks)
        os._exit(0)
    pipe.send_bytes(json.dumps(child).encode())
    pipe.close()
    os.close(write)
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status):
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), os.WTERMSIG(status))
    os._exit(os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else 1)


def _answer(pipe: Connection, lacks: list[str]) -> None:
    """Answer requests until the other side ends."""
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1):
        os.dup2(null, fd)
    from nfa.course import checking, exchange  # noqa: F401 (`checking` is watched)

    student = _student(exchange, pipe)
    pipe.send_bytes(json.dumps(lacks).encode())
    os.dup2(null, 2)
    try:
        while True:
            student.answer(*student.receive())
    except exchange.GoneError:
        pass


def _student(exchange: ModuleType, pipe: Connection) -> Any:
    """The peer that runs cells and calls functions of the student."""
    import numpy as np
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    class Shell(InteractiveShell):
        """IPython without history and terminal. It stores the last traceback."""

        lines: list[str]

        def _showtraceback(self, etype: Any, evalue: Any, stb: list[str]) -> None:
            self.lines = stb

        def ask_exit(self) -> None:
            """Do nothing, so that `exit()` does not end the process."""

        def enable_gui(self, gui: Any = None) -> None:
            """Do nothing, because there are no windows."""

    config = Config()
    config.HistoryManager.enabled = False
    shell = Shell.instance(config=config)
    shell.lines = []
    known = {name: sys.modules[name] for name in WATCHED if name in sys.modules}
    before = {name: dict(vars(module)) for name, module in known.items()}
    before["sys"] = {}  # the names in sys change often, so only the module itself is watched

    peer: Any = exchange.Peer

    class Student(peer):
        """The operations of this process. A signal interrupts only code of the student."""

        running = 0

        @contextmanager
        def students(self) -> Iterator[None]:
            """Run the body as code of the student. A signal can interrupt it. Streams are restored at the end."""
            kept, self.running = (sys.stdout, sys.stderr, signal.getsignal(signal.SIGINT)), self.running + 1
            signal.signal(signal.SIGINT, self.interrupted)
            try:
                yield
            finally:
                self.running -= 1
                sys.stdout, sys.stderr = kept[:2]
                signal.signal(signal.SIGINT, kept[2])

        def interrupted(self, *_: Any) -> None:
            """Interrupt only the student's code."""
            if self.running > 0:
                raise KeyboardInterrupt

        def run(self, source: str) -> dict[str, Any]:
            """Run a cell. Return its output, and its error as [name, text, lines of the traceback] or None."""
            with self.students():
                sys.stdout, sys.stderr = out, err = Said(), Said()
                shell.lines = []
                result = shell.run_cell(source, store_history=True)
            error = result.error_before_exec or result.error_in_exec
            told = exchange.told(error) if error is not None else None
            lines = [str(line)[:2000] for line in shell.lines][-40:]
            said = {"stdout": "".join(out.text), "stderr": "".join(err.text)}
            memory = isinstance(error, MemoryError)
            return said | {"error": told and [told["type"], told["text"], lines], "memory": memory}

        def get(self, name: str) -> Any:
            """The value of a name of the notebook."""
            if name not in shell.user_ns:
                raise NameError(f"name {name!r} is not defined")
            return shell.user_ns[name]

        def call(self, handle: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            """Call a function of the notebook."""
            with self.students(), warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                sys.stdout = sys.stderr = Said()
                return self.kept(handle)(*args, **kwargs)

        def traced(self, handle: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, int]:
            """Call a function of the notebook. Return its result and the largest memory of the call."""
            tracemalloc.start()
            try:
                start = tracemalloc.get_traced_memory()[0]
                value = self.call(handle, args, kwargs)
                return value, tracemalloc.get_traced_memory()[1] - start
            finally:
                tracemalloc.stop()

        def next(self, handle: int) -> tuple[list[Any], bool]:
            """Some items of an iterator of the notebook."""
            with self.students(), warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                sys.stdout = sys.stderr = Said()
                return super().next(handle)

        def names_of(self, handle: int) -> dict[str, Any]:
            """The global names of a function."""
            return exchange.unwrapped(self.kept(handle)).__globals__

        def has(self, handle: int, name: str) -> bool:
            """Whether a function has such a global name."""
            return name in self.names_of(handle)

        def item(self, handle: int, name: str) -> Any:
            """The value of a global name."""
            return self.names_of(handle)[name]

        def put(self, handle: int, values: dict[str, Any]) -> None:
            """Set the values of global names of a function."""
            self.names_of(handle).update(values)

        def patched(self) -> list[str]:
            """The names of modules, and the names in modules, that the notebook has replaced."""
            found = [name for name, module in known.items() if sys.modules.get(name) is not module]
            for name, module in known.items():
                held = vars(module)
                found += [f"{name}.{one}" for one, value in before[name].items() if held.get(one) is not value]
            return [one for one in found if not one.endswith(("__", "builtins._"))][:20]

        does: ClassVar[dict[str, Any]] = {
            **{"call": call, "traced": traced, "next": next, "run": run, "get": get},
            **{"has": has, "item": item, "put": put, "patched": patched},
        }

    made = Student(pipe)
    signal.signal(signal.SIGINT, made.interrupted)
    return made


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
