"""How a call of a student's function may end: it takes too long, by its CPU time or by the clock, or raises."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

WAIT = 20.0  # seconds by the clock, for one that sleeps; less than nbgrader gives to a cell


class Nothing:
    """Stands for the None of a function that returned nothing, so that a None inside of an answer is told apart."""

    def __str__(self) -> str:
        return "nothing"


NOTHING = Nothing()


class TimeIsUp(BaseException):
    """Interrupts a call. No Exception, so that a student's `except Exception` does not swallow it."""


@contextmanager
def limit(seconds: float) -> Iterator[None]:
    """Interrupt Python code with `TimeIsUp` that takes more CPU time than this, or longer than `WAIT`.

    CPU time, so that a busy machine costs nobody points. It needs a main thread and a system with interval timers (not
    Windows); elsewhere nbgrader's own limit is left.
    """
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: object) -> None:
        raise TimeIsUp

    timers = ((signal.SIGPROF, signal.ITIMER_PROF, seconds), (signal.SIGALRM, signal.ITIMER_REAL, WAIT))
    before = [signal.signal(number, stop) for number, _, _ in timers]
    for _, timer, length in timers:
        signal.setitimer(timer, length)
    try:
        yield
    finally:
        for (number, timer, _), handler in zip(timers, before, strict=True):
            signal.setitimer(timer, 0)
            signal.signal(number, handler)


def raiser(error: BaseException) -> str:
    """The name of the function in which an error was raised, "" if it has none."""
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    name = at.tb_frame.f_code.co_name if at is not None else "<"
    return "" if name.startswith("<") else name


def shortened(error: BaseException, length: int = 200) -> str:
    """An error's text in one line that is not too long."""
    text = " ".join(str(error).split())
    return text if len(text) <= length else text[: length - 3] + "..."
