"""Sharing a kernel's work among the cores: pieces that depend on nothing but their arguments, a thread each."""

import ctypes
import os
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from math import prod

import numpy as np

_state: dict = {"limit": None, "pool": None}


def limit(n=None):
    """Let kernels use n threads from now on; without n as many as there are cores, or as OMP_NUM_THREADS says.

    Raises ValueError unless n is None or a whole number >= 1.
    """
    if n is not None and not (isinstance(n, int) and n >= 1):
        raise ValueError(f"the number of threads must be a whole number >= 1, got {n}")
    _state["limit"] = n


def count():
    """How many threads a kernel may use."""
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
    if _state["pool"] is None:
        _state["pool"] = ThreadPoolExecutor(os.cpu_count(), thread_name_prefix="nfa-kernel")
    others = [_state["pool"].submit(copy_context().run, work, *piece) for piece in rest]
    work(*first)
    for other in others:
        other.result()


def _forget():
    """A forked process has none of its parent's threads."""
    _state["pool"] = None


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
