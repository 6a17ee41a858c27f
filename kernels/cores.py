"""One pool of threads shares work among the cores: whole parts of a step, or pieces of one kernel's work.

The result of a part or a piece depends only on its arguments. While a part or a piece runs, the linear algebra library
uses one thread, whatever the process has set.
"""

import ctypes
import os
import threading
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from functools import partial
from math import prod

import numpy as np
from threadpoolctl import ThreadpoolController

_state: dict = {"limit": None, "pool": None, "threads": 0, "blas": None, "holders": 0, "held": None}
_lock = threading.Lock()
_here = threading.local()  # whether this thread processes a part


def limit(n=None):
    """Let kernels use n threads. The default is the environment variable OMP_NUM_THREADS or the number of cores.

    Raises ValueError unless n is None or a whole number >= 1.
    """
    if n is not None and not (isinstance(n, int) and n >= 1):
        raise ValueError(f"the number of threads must be a whole number >= 1, got {n}")
    _state["limit"] = n


def count():
    """The number of threads that a kernel may use. Inside a part, this number is 1."""
    if getattr(_here, "in_part", False):
        return 1
    if _state["limit"]:
        return _state["limit"]
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    asked = os.environ.get("OMP_NUM_THREADS", "")
    return min(cores, int(asked)) if asked.isdigit() and int(asked) >= 1 else cores


def pieces(n, least):
    """Divide range(n) into at most `count` pieces [(start, stop), ...] of similar size, each at least ``least``."""
    parts = n // least
    parts = min(count(), parts) if parts > 1 else 1
    return [(n * i // parts, n * (i + 1) // parts) for i in range(parts)]


def share(work, n, least, last=False):
    """Call work(start, stop) for every piece of range(n), each in its own thread. work must release Python's lock.

    A thread works in a copy of the caller's context, so the caller's `numpy.errstate` holds in the thread too. ``last``
    means that the caller does nothing after this call. At the end of `together`, all threads then share the pieces.
    """
    if last and (left := getattr(_here, "left", None)) is not None:
        left.extend(partial(work, start, min(start + least, n)) for start in range(0, n, least))
        return
    first, *rest = pieces(n, least)
    if not rest:
        work(*first)
        return
    with one_threaded():
        others = [_pool().submit(copy_context().run, work, *piece) for piece in rest]
        work(*first)
        for other in others:
            other.result()


def together(work, n, take, finish=lambda: None):
    """Call work(i) for i < n. Call take(result) in the order of i, one call at a time. At the end, call finish().

    All threads, including the caller's, make all three kinds of calls, so each thread is woken only once. A result
    waits until all earlier results are taken. The number of waiting results is at most the number of threads, so memory
    does not grow with n.

    Parameters
    ----------
    work : function of i. Kernels that it calls use only the thread of this call
    n : int >= 0
    take : function of a result of work
    finish : function without arguments, called once after the last take. If a kernel calls `share` with ``last`` in
        this function, all threads do the shared work, in any order, after the function has returned

    Raises
    ------
    The exception that work, take or finish raises. If several calls raise, it is one of these exceptions.
    """
    threads = min(count(), max(n, 1))
    with one_threaded():
        if threads == 1:
            for i in range(n):
                take(work(i))
            finish()
            return
        call = _Call(work, n, take, finish, threads)
        helpers = [_pool().submit(copy_context().run, call.help) for _ in range(threads - 1)]
        call.help()
        for one in helpers:
            one.result()
        if call.error:
            raise call.error


class _Call:
    """One call of `together`. A lock protects the indices of begun and taken results, and the remaining pieces."""

    def __init__(self, work, n, take, finish, threads):
        self.work, self.n, self.take, self.finish, self.threads = work, n, take, finish, threads
        self.changed = threading.Condition()
        self.begun = self.taken = 0
        self.answers, self.taking, self.pieces, self.error = {}, False, None, None

    def help(self):
        """Take part in the work until nothing is left."""
        _here.in_part = True
        try:
            while (i := self._next()) is not None:
                self._hand_in(i, self.work(i))
            for piece in iter(self._next_piece, None):
                piece()
        except BaseException as error:
            with self.changed:
                self.error = self.error or error
                self.changed.notify_all()
        finally:
            _here.in_part = False

    def _next(self):
        """The next i, as soon as only a few results wait; None if all calls of work have begun."""
        with self.changed:
            while self.begun < self.n and self.begun >= self.taken + self.threads and not self.error:
                self.changed.wait()
            if self.begun == self.n or self.error:
                return None
            self.begun += 1
            return self.begun - 1

    def _hand_in(self, i, answer):
        """Add a result to the waiting results. Unless another thread takes results, take the next ones in order."""
        with self.changed:
            self.answers[i] = answer
            del answer
            if self.taking:
                return
            self.taking = True
        while True:
            with self.changed:
                if self.taken not in self.answers:
                    self.taking = False
                    break
                answer = self.answers.pop(self.taken)
            self.take(answer)
            del answer  # free the memory before another call of work begins
            with self.changed:
                self.taken += 1
                self.changed.notify_all()

    def _next_piece(self):
        """The next piece that is left, after all results are taken; None if no piece is left."""
        with self.changed:
            while self.taken < self.n and not self.error:
                self.changed.wait()
            if self.error:
                return None
            if self.pieces is None:
                self.pieces = _here.left = deque()
                try:
                    self.finish()
                finally:
                    _here.left = None
            return self.pieces.popleft() if self.pieces else None


@contextmanager
def one_threaded():
    """Limit the linear algebra library to one thread.

    While our threads run, the threads of the library would wait for a core and use its time.

    The function finds the loaded library, whichever module has loaded it. When the last of several overlapping limits
    ends, the library gets its threads back.
    """
    with _lock:
        if not _state["holders"]:
            _state["blas"] = _state["blas"] or ThreadpoolController()
            _state["held"] = _state["blas"].limit(limits=1, user_api="blas")
        _state["holders"] += 1
    try:
        yield
    finally:
        with _lock:
            _state["holders"] -= 1
            if not _state["holders"]:
                _state["held"].restore_original_limits()


def _pool():
    """The only pool, with as many threads as kernels may use."""
    with _lock:
        if _state["pool"] is None or _state["threads"] != count():
            _state.update(pool=ThreadPoolExecutor(count(), thread_name_prefix="nfa-kernel"), threads=count())
        return _state["pool"]


def _forget():
    """Reset the state in a forked process, which has no threads of its parent and no held lock."""
    global _lock
    _lock = threading.Lock()
    if _state["holders"]:
        _state["held"].restore_original_limits()
    _state.update(pool=None, holders=0)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def aligned(shape, dtype=np.float32):
    """An array as from `numpy.empty`, with data that start at a multiple of 64 bytes.

    64 bytes are the size of a cache line and of the widest vector. A vector at any other address needs two cache lines.
    With such addresses in its working memory, a kernel would spend a third of its time on them.
    """
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    size = prod(shape) * np.dtype(dtype).itemsize
    room = np.empty(size + 64, np.uint8)
    first = -room.ctypes.data % 64
    return room[first : first + size].view(dtype).reshape(shape)


def aligned_each(m, shape, dtype=np.float32):
    """Memory for m arrays of a shape, (m, *shape). Each array starts at a multiple of 64 bytes, as in `aligned`."""
    size, line = prod(shape), 64 // np.dtype(dtype).itemsize
    return aligned((m, -(-size // line) * line), dtype)[:, :size].reshape(m, *shape)


def keep_memory(size=1 << 28):
    """Let the C library keep up to ``size`` bytes of freed memory, instead of returning them at once.

    A training step frees all memory that it allocated. If the C library returned this memory to the system, the system
    would clear and map every page again at the next step. This would take up to a third of the time of a step. The
    function returns whether the C library (glibc) accepted the setting.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError, TypeError):
        return False
    trim_threshold, mmap_threshold, largest = -1, -3, 1 << 25
    return bool(mallopt(trim_threshold, size) and mallopt(mmap_threshold, min(size, largest)))
