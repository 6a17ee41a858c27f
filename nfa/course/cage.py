"""Limits that a process puts on itself before it runs the code of a student: memory, processes, files, network.

`enter` uses the limits that the system has, and returns the names of the missing limits. Every system except Windows
has resource limits. Linux also has namespaces, which hide the network and other processes, and Landlock, which allows
writing to only one folder. None of these limits needs special rights. `python -m nfa.course.cage` prints the limits
that are missing on this system.
"""

import ctypes
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

NEWUSER, NEWPID, NEWNET, NEWIPC = 0x10000000, 0x20000000, 0x40000000, 0x08000000  # of unshare(2)
PDEATHSIG, NO_NEW_PRIVS = 1, 38  # of prctl(2)
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446  # system calls of Landlock, the same on every processor
READ, ALL = 0b1101, (1 << 13) - 1  # rights of Landlock: execute, read and list; all rights of its first version
SYSTEM = ("/usr", "/lib", "/lib32", "/lib64", "/bin", "/sbin", "/etc", "/opt", "/nix", "/gnu", "/proc", "/sys", "/dev")
WRITE = ("/dev/null", "/dev/zero", "/dev/full")
FILES, NETWORK, PROCESSES = "files", "network", "processes"
LACKS = {
    FILES: "code of students can read and change your files",
    NETWORK: "code of students can use the network",
    PROCESSES: "code of students can see and end your processes",
}


class _Ruleset(ctypes.Structure):
    _fields_ = [("fs", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scoped", ctypes.c_uint64)]


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("allowed", ctypes.c_uint64), ("fd", ctypes.c_int32)]


def enter(folder: Path, memory: int, processes: int, size: int, seconds: int, files: bool = True) -> list[str]:
    """Limit this process and all processes that it starts. Return the names of the missing limits.

    The limits cannot be removed. The process must have one thread. A process namespace applies only to the children of
    this process.

    Parameters
    ----------
    folder : the only folder in which files can be written
    memory : largest number of bytes of a process
    processes : largest number of processes and threads at the same time
    size : largest number of bytes of a file
    seconds : CPU time of a process
    files : whether to limit the files that can be read and written
    """
    import resource

    wanted = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: size,
        resource.RLIMIT_CPU: seconds,
        resource.RLIMIT_DATA: memory,
    }
    lacks = []
    if sys.platform == "linux":
        libc = ctypes.CDLL(None, use_errno=True)
        die_with_parent()
        alone = _unshare(libc)
        if alone:
            wanted[resource.RLIMIT_NPROC] = processes  # this limit counts only the processes in the namespace
        libc.prctl(NO_NEW_PRIVS, 1, 0, 0, 0)
        version = _landlock(libc, folder, files)
        lacks += [] if files and version else [FILES]
        lacks += [] if alone or version >= 4 or not _connected() else [NETWORK]
        lacks += [] if alone or version >= 6 else [PROCESSES]
    else:
        lacks = [FILES, NETWORK, PROCESSES]
    for limit, value in wanted.items():
        hard = resource.getrlimit(limit)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        try:
            resource.setrlimit(limit, (value, value))
        except (ValueError, OSError):  # some systems have a limit but cannot set it
            pass
    return lacks


def die_with_parent() -> None:
    """Let Linux end this process when its parent ends."""
    ctypes.CDLL(None).prctl(PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def _unshare(libc: ctypes.CDLL) -> bool:
    """Move to new namespaces of users, processes and networks. Return whether this worked."""
    user, group = os.geteuid(), os.getegid()
    if libc.unshare(NEWUSER | NEWPID | NEWNET | NEWIPC) != 0:
        return False
    try:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    except OSError:
        pass  # then this process has the user nobody, which is also safe
    return True


def _landlock(libc: ctypes.CDLL, folder: Path, files: bool) -> int:
    """Allow writing to one folder only, and no connections. Return the version of Landlock, or 0 without Landlock."""
    version = libc.syscall(CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(1))
    if version <= 0:
        return 0
    every = ALL | (1 << 13 if version >= 2 else 0) | (1 << 14 if version >= 3 else 0)
    rules = _Ruleset(every if files else 0, 0b11 if version >= 4 else 0, 0b11 if version >= 6 else 0)
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    if not files and version < 4:
        return 0
    ruleset = libc.syscall(CREATE_RULESET, ctypes.byref(rules), ctypes.c_size_t(size), ctypes.c_uint32(0))
    if ruleset < 0:
        return 0
    if files:
        for path in _readable():
            _allow(libc, ruleset, path, READ)
        for path in WRITE:
            _allow(libc, ruleset, path, every)
        _allow(libc, ruleset, str(folder), every)
    done = libc.syscall(RESTRICT_SELF, ruleset, ctypes.c_uint32(0))
    os.close(ruleset)
    return version if done == 0 else 0


def _allow(libc: ctypes.CDLL, ruleset: int, path: str, rights: int) -> None:
    try:
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    if not os.path.isdir(path):
        rights &= 0b111 | 1 << 14  # the rights that apply to files: execute, write, read, truncate
    rule = _Beneath(rights, fd)
    libc.syscall(ADD_RULE, ruleset, ctypes.c_int(1), ctypes.byref(rule), ctypes.c_uint32(0))
    os.close(fd)


def _readable() -> Iterable[str]:
    """The folders of the system, of Python and of its packages."""
    package = Path(__file__).resolve().parents[1]
    own = [sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix, str(package), *map(str, _packages())]
    return [*SYSTEM, *(os.path.realpath(path) for path in (*own, *sys.path) if path and os.path.isabs(path))]


def _packages() -> Iterable[Path]:
    """The folders of the parts of nfa, which need not be in one folder."""
    from importlib.util import find_spec

    for name in ("nfa", "nfa.kernels", "nfa.data"):
        spec = find_spec(name)
        yield from map(Path, spec.submodule_search_locations or [] if spec else [])


def _connected() -> bool:
    """Whether there is a network interface other than the loopback."""
    try:
        names = os.listdir("/sys/class/net")
    except OSError:
        return True
    return any(name != "lo" for name in names)


def missing() -> list[str]:
    """The consequences of the missing limits on this system, as clauses; [] if no limit is missing."""
    if os.name != "posix":
        return [*LACKS.values(), "the checks run in the process of the code that they grade"]
    with tempfile.TemporaryDirectory(prefix="nfa-course-") as folder:
        command = [sys.executable, "-m", "nfa.course.cage", folder]
        done = subprocess.run(command, capture_output=True, text=True)
    return [LACKS[name] for name in json.loads(done.stdout or json.dumps(list(LACKS)))]


if __name__ == "__main__":
    print(json.dumps(enter(Path(sys.argv[1]), 4 << 30, 128, 1 << 28, 60)))
