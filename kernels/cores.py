"""Sharing work among the cores, by one pool of threads: whole parts of a step, or pieces of one kernel's work.

What a part or a piece computes depends on nothing but its arguments. While one is at work, the linear algebra library
has one thread, whatever else this process has set.
"""

import ctypes
import os
import threading
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from math import prod

import numpy as np
from threadpoolctl import ThreadpoolController

_state: dict = {"limit": None, "pool": None, "threads": 0, "blas": None, "holders": 0, "held": None}
_lock = threading.Lock()
_here = threading.local()  # whether this thread is at work on a part


def limit(n=None):
    """Let kernels use n threads from now on; without n as many as there are cores, or as OMP_NUM_THREADS says.

    Raises ValueError unless n is None or a whole number >= 1.
    """
    if n is not None and not (isinstance(n, int) and n >= 1):
        raise ValueError(f"the number of threads must be a whole number >= 1, got {n}")
    _state["limit"] = n


def count():
    """How many threads a kernel may use: one inside a part."""
    if getattr(_here, "in_part", False):
        return 1
    if _state["limit"]:
        return _state["limit"]
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    asked = os.environ.get("OMP_NUM_THREADS", "")
    return min(cores, int(asked)) if asked.isdigit() and int(asked) >= 1 else cores


def pieces(n, least):
    """Cut range(n) into at most `count` pieces [(start, stop), ...] of about the same length, at least ``least``."""
    parts = n // least
    parts = min(count(), parts) if parts > 1 else 1
    return [(n * i // parts, n * (i + 1) // parts) for i in range(parts)]


def share(work, n, least):
    """Call work(start, stop) for every piece of range(n), each in a thread of its own; work must let go of the lock.

    A thread works in a copy of the caller's context: what NumPy is to warn of (`numpy.errstate`) is the same there.
    """
    first, *rest = pieces(n, least)
    if not rest:
        work(*first)
        return
    with one_threaded():
        others = [_pool().submit(copy_context().run, work, *piece) for piece in rest]
        work(*first)
        for other in others:
            other.result()


def in_order(work, items):
    """Call work on each item, a thread each, and give the answers in the order of the items: `map` on all cores.

    As many items are under way as there are threads. The next one is begun when an answer has been dealt with, so that
    no more answers than that are in memory.
    """
    items = deque(items)
    threads = min(count(), len(items))
    with one_threaded():
        if threads <= 1:
            yield from map(work, items)
            return

        def begin():
            return _pool().submit(copy_context().run, _part, work, items.popleft())

        under_way = deque(begin() for _ in range(threads))
        while under_way:
            yield under_way.popleft().result()
            if items:
                under_way.append(begin())


def _part(work, item):
    """Call work on an item; kernels in it have this thread alone."""
    _here.in_part = True
    try:
        return work(item)
    finally:
        _here.in_part = False


@contextmanager
def one_threaded():
    """Hold the linear algebra library to one thread: beside ours, its own would wait busily for a core.

    It is found where it is loaded, whoever has imported it; once nobody holds it, it has its threads again.
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
    """The one pool, of as many threads as kernels may use."""
    with _lock:
        if _state["pool"] is None or _state["threads"] != count():
            _state.update(pool=ThreadPoolExecutor(count(), thread_name_prefix="nfa-kernel"), threads=count())
        return _state["pool"]


def _forget():
    """A forked process has none of its parent's threads, and nobody holds a lock in it."""
    global _lock
    _lock = threading.Lock()
    if _state["holders"]:
        _state["held"].restore_original_limits()
    _state.update(pool=None, holders=0)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def aligned(shape, dtype=np.float32):
    """An array as `numpy.empty` gives it, whose data start at a multiple of 64 bytes.

    That is a line of the cache and the widest vector: loads and stores of vectors from elsewhere touch two lines, which
    costs a kernel that works in its own scratch a third of its time.
    """
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    size = prod(shape) * np.dtype(dtype).itemsize
    room = np.empty(size + 64, np.uint8)
    first = -room.ctypes.data % 64
    return room[first : first + size].view(dtype).reshape(shape)


def aligned_each(m, shape, dtype=np.float32):
    """Room for m arrays of a shape, (m, *shape), each of which starts as `aligned` lets one start."""
    size, line = prod(shape), 64 // np.dtype(dtype).itemsize
    return aligned((m, -(-size // line) * line), dtype)[:, :size].reshape(m, *shape)


def keep_memory(size=1 << 28):
    """Let the C library keep up to ``size`` bytes that were freed, instead of handing them back at once.

    A training step frees all it allocated. Handed back and asked for again a step later, every page is cleared and
    mapped anew, which costs as much as a third of the step. Returns whether the C library (glibc) took it.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError, TypeError):
        return False
    trim_threshold, mmap_threshold, largest = -1, -3, 1 << 25
    return bool(mallopt(trim_threshold, size) and mallopt(mmap_threshold, min(size, largest)))
