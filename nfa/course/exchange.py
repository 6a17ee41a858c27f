"""The exchange of values and calls between two processes. Neither process trusts the code of the other process.

A `Peer` sends requests over a pipe and answers the requests of the other side, also while it waits for an answer.
Values are sent as JSON followed by the bytes of arrays, and never as pickle. Functions, methods and iterators are not
sent. The other side gets a `RemoteFunction` or a `RemoteIterator`, and every use of this object is a request. If a call
changes an argument in place, the argument is also changed on the side of the caller. So a random generator advances on
both sides.
"""

import builtins
import dis
import inspect
import json
import struct
import sys
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from multiprocessing.connection import Connection
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any, NoReturn

import numpy as np

LARGEST_TEXT = 16_000_000  # bytes of JSON in one message
LARGEST_ARRAYS = 64_000_000  # bytes of arrays in one message
DEEPEST = 60  # largest depth of nested lists
CALLS = 40  # largest depth of nested calls between the two sides
REMEMBERED, SHORT = 5000, 10_000  # largest number of cached answers of a function; limit for the bytes of a request
CHUNK = 64  # items of an iterator in one message
IN_PLACE = (list, np.ndarray, dict, np.random.Generator, np.random.RandomState)  # values that can change in place
KINDS = "biufcSUmM"  # allowed kinds of arrays: numbers, text and times, no objects
# Operations in bytecode that change names.
CHANGES = {"STORE_GLOBAL", "DELETE_GLOBAL", "STORE_DEREF", "DELETE_DEREF", "STORE_ATTR", "IMPORT_NAME"}
NAME = 80  # largest number of characters of a name from the other side


class TooLargeError(ValueError):
    """A value cannot be sent, because it is too large or too deeply nested."""


class BrokenError(Exception):
    """The other side has sent an invalid message."""


class GoneError(BaseException):
    """The other side has ended. This is not an Exception, so that no `except Exception` catches it."""


class Opaque:
    """Replaces a value of a type that cannot be sent. Its class has the name of this type."""

    text = ""

    def __str__(self) -> str:
        return self.text


class OpaqueItems(Opaque):
    """Replaces a value that cannot be sent, but can be iterated."""

    items: list[Any]

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.items)


class OpaqueArray(Opaque):
    """Replaces a value that cannot be sent, but consists of numbers, such as a tensor."""

    values: np.ndarray

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.array(self.values, dtype=dtype)

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, at: Any) -> Any:
        return self.values[at]

    def __float__(self) -> float:
        return float(self.values)

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the axes."""
        return self.values.shape


class Remote:
    """An object of the other side, identified by a number."""

    def __init__(self, peer: "Peer", handle: int) -> None:
        self._peer, self._handle = peer, handle

    def __deepcopy__(self, memo: Any) -> "Remote":
        return self

    def __copy__(self) -> "Remote":
        return self


class RemoteFunction(Remote):
    """A function of the other side. A call is a request. The answers of a ``pure`` function are cached."""

    def __init__(self, peer: "Peer", handle: int, name: str | None, named: bool, pure: bool) -> None:
        super().__init__(peer, handle)
        self._memory: dict[bytes, Any] | None = {} if pure else None
        if name is not None:
            self.__name__ = self.__qualname__ = name
        if named:
            self.__globals__ = RemoteNames(peer, handle)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._peer.request("call", self._handle, args, kwargs, memory=self._memory)


class RemoteNames:
    """The global names of a function of the other side, with the methods that `nfa.course.checking.fair` needs."""

    def __init__(self, peer: "Peer", handle: int) -> None:
        self._peer, self._handle = peer, handle

    def __contains__(self, name: object) -> bool:
        return self._peer.request("has", self._handle, name)

    def __getitem__(self, name: str) -> Any:
        if name not in self:
            raise KeyError(name)
        return self._peer.request("item", self._handle, name)

    def get(self, name: str, default: Any = None) -> Any:
        """The value of a name, or the default."""
        return self[name] if name in self else default

    def update(self, values: Mapping[str, Any]) -> None:
        """Set the values of names."""
        self._peer.request("put", self._handle, dict(values))


class RemoteIterator(Remote):
    """An iterator of the other side. Each message contains several items."""

    def __init__(self, peer: "Peer", handle: int) -> None:
        super().__init__(peer, handle)
        self._ready: list[Any] = []
        self._ended = False

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if not self._ready and not self._ended:
            items, self._ended = self._peer.request("next", self._handle)
            self._ready = list(items)[::-1]
        if not self._ready:
            raise StopIteration
        return self._ready.pop()


# --- values


class Writer:
    """Makes one message. ``objects`` are the values that can change in place, in order of occurrence."""

    def __init__(self, peer: "Peer", known: list[Any]) -> None:
        self.peer = peer
        self.objects = list(known)
        self.numbers = {id(value): number for number, value in enumerate(known)}
        self.parts: list[bytes] = []
        self.bytes = self.items = 0

    def put(self, value: Any, depth: int = 0) -> Any:
        """The value as JSON."""
        kind = type(value)
        if value is None or kind is bool or kind is float:
            self._count(1)
            return value
        if kind is str:
            self._count(1 + len(value) // 10)
            return value
        if kind is int:
            self._count(1 + value.bit_length() // 32)
            return value if -(2**63) <= value < 2**63 else ["i", hex(value)]
        if depth > DEEPEST:
            raise TooLargeError(f"a value has more than {DEEPEST} nested lists")
        if (number := self.numbers.get(id(value))) is not None:
            return ["r", number]
        if isinstance(value, IN_PLACE):
            self.numbers[id(value)] = len(self.objects)
            self.objects.append(value)
        return self.body(value, depth)

    def body(self, value: Any, depth: int = 0) -> Any:
        """The content of a value as JSON, also for a value that occurred earlier in the message."""
        self._count(1)
        below = depth + 1
        if isinstance(value, np.ndarray):
            return self._array(value, below)
        if isinstance(value, np.generic) and value.dtype.kind in KINDS:
            return ["n", value.dtype.str, value.tobytes().hex()]
        if isinstance(value, list):
            return ["l", *(self.put(item, below) for item in value)]
        if isinstance(value, tuple):
            return ["t", *(self.put(item, below) for item in value)]
        if isinstance(value, dict):
            return ["d", *([self.put(key, below), self.put(item, below)] for key, item in value.items())]
        if isinstance(value, set | frozenset):
            return ["s", *(self.put(item, below) for item in value)]
        if isinstance(value, bool | int | float | str):  # subclasses of these types
            base = next(base for base in (bool, int, float, str) if isinstance(value, base))
            return self.put(base(value), depth)
        if isinstance(value, complex):
            return ["c", value.real, value.imag]
        if isinstance(value, range):
            return ["range", *(self.put(part) for part in (value.start, value.stop, value.step))]
        if isinstance(value, bytes | bytearray):
            return ["b", *self._bytes(bytes(value))]
        if isinstance(value, Fraction):
            return ["q", self.put(value.numerator), self.put(value.denominator)]
        if isinstance(value, np.random.Generator):
            return ["g", type(value.bit_generator).__name__, self.put(dict(value.bit_generator.state), below)]
        if isinstance(value, np.random.RandomState):
            return ["G", self.put(dict(value.get_state(legacy=False)), below)]
        if isinstance(value, Remote) and value._peer is self.peer:
            return ["own", value._handle]
        if callable(value):
            name = getattr(value, "__name__", None)
            named = self.peer.names and hasattr(unwrapped(value), "__globals__")
            pure = self.peer.pure(value)
            return ["f", self.peer.keep(value), name if isinstance(name, str) else None, named, pure]
        if hasattr(value, "__next__"):
            return ["it", self.peer.keep(value)]
        return self._other(value, below)

    def _array(self, value: np.ndarray, depth: int) -> Any:
        if value.dtype.hasobject:
            items = (self.put(item, depth) for item in value.ravel().tolist())
            return ["o", list(value.shape), *items]
        if value.dtype.kind not in KINDS:
            return ["l", *(self.put(item, depth) for item in value.tolist())]
        self._fits(value.nbytes)
        return ["a", value.dtype.str, list(value.shape), *self._bytes(value.tobytes())]

    def _other(self, value: Any, depth: int) -> Any:
        """A value of another type. If `Peer.opaque` is true, its name, text, numbers and items are sent."""
        name = type(value).__name__
        if not self.peer.opaque:
            raise TypeError(f"a check passes a value of type {name}, which cannot cross to the student's process")
        try:
            text = str(value)[:200]
        except Exception:
            text = name
        try:
            plain = value.detach() if hasattr(value, "detach") else value
            self._fits(8 * int(np.prod(getattr(plain, "shape", ()) or (1,))))
            numbers = np.asarray(plain, dtype=float)
            return ["x", name, text, self._array(numbers, depth), None]
        except TooLargeError:
            raise
        except Exception:
            pass
        try:
            items = [self.put(item, depth) for _, item in zip(range(len(value)), value, strict=False)]
        except TypeError:
            return ["x", name, text, None, None]
        return ["x", name, text, None, items]

    def _bytes(self, data: bytes) -> tuple[int, int]:
        self._fits(len(data))
        self.parts.append(data)
        self.bytes += len(data)
        return self.bytes - len(data), len(data)

    def _fits(self, more: int) -> None:
        if self.bytes + more > LARGEST_ARRAYS:
            raise TooLargeError(f"a value has more than {LARGEST_ARRAYS / 1e6:.0f} MB")

    def _count(self, more: int) -> None:
        self.items += more
        if self.items > LARGEST_TEXT // 10:
            raise TooLargeError(f"a value has more than {LARGEST_TEXT // 10} entries")

    def message(self, value: list[Any]) -> bytes:
        """The bytes of the message."""
        text = json.dumps(value).encode()
        if len(text) > LARGEST_TEXT:
            raise TooLargeError(f"a value has more than {LARGEST_TEXT / 1e6:.0f} MB as text")
        return b"".join([struct.pack("<I", len(text)), text, *self.parts])


class Reader:
    """Reads one message from a `Writer`. For any content, it makes only plain values."""

    def __init__(self, peer: "Peer", known: list[Any], raw: bytes) -> None:
        self.peer = peer
        self.objects = list(known)
        self.raw = raw

    def get(self, found: Any, register: bool = True) -> Any:
        """The value of a piece of JSON."""
        if not isinstance(found, list):
            if isinstance(found, dict):
                raise BrokenError("a value of an unknown kind")
            return found
        kind, *rest = found
        return getattr(self, f"_get_{kind}")(rest, register)

    def _new(self, value: Any, register: bool) -> Any:
        if register:
            self.objects.append(value)
        return value

    def _get_i(self, rest: list[Any], _: bool) -> int:
        return int(rest[0], 16)

    def _get_r(self, rest: list[Any], _: bool) -> Any:
        if rest[0] < 0:
            raise BrokenError("a reference to nothing")
        return self.objects[rest[0]]

    def _get_n(self, rest: list[Any], _: bool) -> Any:
        return np.frombuffer(bytes.fromhex(rest[1]), dtype=_dtype(rest[0]))[0]

    def _get_l(self, rest: list[Any], register: bool) -> list[Any]:
        made = self._new([], register)
        made.extend(self.get(item) for item in rest)
        return made

    def _get_t(self, rest: list[Any], _: bool) -> tuple[Any, ...]:
        return tuple(self.get(item) for item in rest)

    def _get_d(self, rest: list[Any], register: bool) -> dict[Any, Any]:
        made = self._new({}, register)
        for key, item in rest:
            made[self.get(key)] = self.get(item)
        return made

    def _get_s(self, rest: list[Any], _: bool) -> set[Any]:
        return {self.get(item) for item in rest}

    def _get_c(self, rest: list[Any], _: bool) -> complex:
        return complex(*rest)

    def _get_range(self, rest: list[Any], _: bool) -> range:
        return range(*(self.get(part) for part in rest))

    def _get_b(self, rest: list[Any], _: bool) -> bytes:
        return self._cut(*rest)

    def _get_q(self, rest: list[Any], _: bool) -> Fraction:
        return Fraction(self.get(rest[0]), self.get(rest[1]))

    def _get_a(self, rest: list[Any], register: bool) -> np.ndarray:
        dtype, shape, start, length = rest
        made = np.frombuffer(self._cut(start, length), dtype=_dtype(dtype)).reshape(shape).copy()
        return self._new(made, register)

    def _get_o(self, rest: list[Any], register: bool) -> np.ndarray:
        shape, *items = rest
        made = self._new(np.empty(len(items), dtype=object), register)
        for at, item in enumerate(items):
            made[at] = self.get(item)
        made.shape = tuple(shape)
        return made

    def _get_g(self, rest: list[Any], register: bool) -> np.random.Generator:
        name, state = rest
        if name not in ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64"):
            raise BrokenError("a random generator of an unknown kind")
        made = self._new(np.random.Generator(getattr(np.random, name)(0)), register)
        made.bit_generator.state = self.get(state)
        return made

    def _get_G(self, rest: list[Any], register: bool) -> np.random.RandomState:
        made = self._new(np.random.RandomState(0), register)
        made.set_state(self.get(rest[0]))
        return made

    def _get_own(self, rest: list[Any], _: bool) -> Any:
        return self.peer.kept(rest[0])

    def _get_f(self, rest: list[Any], _: bool) -> RemoteFunction:
        handle, name, named, pure = rest
        name = None if name is None else _line(name, NAME)
        return self.peer.function(self.peer, int(handle), name, bool(named), bool(pure))

    def _get_it(self, rest: list[Any], _: bool) -> RemoteIterator:
        return RemoteIterator(self.peer, int(rest[0]))

    def _get_x(self, rest: list[Any], _: bool) -> Opaque:
        name, text, values, items = rest
        base = Opaque if values is None and items is None else OpaqueItems if values is None else OpaqueArray
        made = type(_line(name, NAME), (base,), {"text": str(text)})()
        if isinstance(made, OpaqueArray):
            made.values = self.get(values, register=False)
        elif isinstance(made, OpaqueItems):
            made.items = [self.get(item) for item in items]
        return made

    def _cut(self, start: int, length: int) -> bytes:
        if start < 0 or length < 0 or start + length > len(self.raw):
            raise BrokenError("an array beyond its message")
        return self.raw[start : start + length]


def _dtype(text: Any) -> np.dtype:
    made = np.dtype(str(text))
    if made.kind not in KINDS or made.hasobject:
        raise BrokenError("an array of an unknown kind")
    return made


def _line(text: Any, length: int) -> str:
    """A text from the other side in one line of limited length."""
    return " ".join(str(text).split())[:length]


def pure(function: Any, seen: frozenset[int] = frozenset()) -> bool:
    """Whether a Python function certainly has no state. All values to which it refers must be constant.

    Examples
    --------
    >>> kept = []
    >>> pure(lambda x: x + 1), pure(lambda x: kept.append(x))
    (True, False)
    """
    if not isinstance(function, FunctionType) or hasattr(function, "__wrapped__") or function.__dict__:
        return False
    if id(function) in seen:
        return True
    seen |= {id(function)}
    codes = [function.__code__]
    for code in codes:  # and the codes of functions inside it
        codes += [const for const in code.co_consts if isinstance(const, CodeType)]
    if any(code.co_flags & inspect.CO_GENERATOR for code in codes[:1]):
        return False
    if any(step.opname in CHANGES for code in codes for step in dis.get_instructions(code)):
        return False
    names = {name for code in codes for name in code.co_names}
    held = [function.__globals__[name] for name in names if name in function.__globals__]
    held += [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
    try:
        held += [cell.cell_contents for cell in function.__closure__ or ()]
    except ValueError:  # a cell that is still empty
        return False
    fixed = bool | int | float | complex | str | None | tuple | ModuleType | type | np.generic | np.ndarray | np.ufunc
    return all(
        isinstance(value, fixed)
        or (isinstance(value, BuiltinFunctionType) and getattr(value, "__self__", None).__class__ is ModuleType)
        or pure(value, seen)
        for value in held
    )


def unwrapped(function: Any) -> Any:
    """The function inside wrappers such as the wrappers of `functools`."""
    try:
        return inspect.unwrap(function)
    except Exception:
        return function


# --- errors


def told(error: BaseException) -> dict[str, Any]:
    """An error as JSON values for the other side."""
    known = next(base for base in type(error).__mro__ if getattr(builtins, base.__name__, None) is base)
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    try:
        text = str(error)[:2000]
    except BaseException:
        text = ""
    where = at.tb_frame.f_code.co_name if at is not None else ""
    return {"type": type(error).__name__, "base": known.__name__, "text": text, "bare": not error.args, "at": where}


def raise_told(about: Mapping[str, Any]) -> NoReturn:
    """Raise an error of the other side with its name, its text, and the name of the function that raised it."""
    base = getattr(builtins, str(about["base"]), Exception)
    if not (isinstance(base, type) and issubclass(base, Exception)) or issubclass(base, BaseExceptionGroup):
        base = Exception  # errors such as SystemExit must not end this process
    text = str(about["text"])
    made = type(_line(about["type"], NAME), (base,), {"__init__": lambda self: None, "__str__": lambda self: text})
    error = made()
    error.args = () if about["bare"] else (text,)

    def raiser() -> NoReturn:
        raise error from None

    name = _line(about["at"], NAME)
    raiser.__code__ = raiser.__code__.replace(co_name=name or "<unknown>")
    raiser()
    raise AssertionError  # not reached


# --- requests


class Peer:
    """One end of a pipe.

    If ``names`` is true, the other side may ask for the global names of functions. If ``opaque`` is true, values of
    other types may be sent as `Opaque` values.
    """

    names = True
    opaque = True
    function = RemoteFunction

    def __init__(self, pipe: Connection) -> None:
        self.pipe = pipe
        self.mine: list[Any] = []
        self.handles: dict[int, int] = {}
        self.depth = 0

    def keep(self, value: Any) -> int:
        """The number with which the other side can refer to a value of this side."""
        if id(value) not in self.handles:
            self.handles[id(value)] = len(self.mine)
            self.mine.append(value)
        return self.handles[id(value)]

    def kept(self, handle: int) -> Any:
        """The value of this side that has this number."""
        if not 0 <= handle < len(self.mine):
            raise BrokenError("a number of nothing")
        return self.mine[handle]

    def pure(self, function: Any) -> bool:
        """Whether the other side may cache the answers of a function of this side."""
        return False

    def request(self, do: str, *args: Any, memory: dict[bytes, Any] | None = None) -> Any:
        """The answer of the other side. An error of the other side is raised here.

        Parameters
        ----------
        do : name of the operation, from `does` of the other side
        args : arguments of the operation
        memory : cache of answers to earlier requests; None to send each request

        Raises
        ------
        TooLargeError : if the arguments are too large to be sent
        GoneError : if the other side has ended
        BrokenError : if the answer is not a valid message
        """
        writer = Writer(self, [])
        message = writer.message(["ask", do, writer.put(list(args))])
        if memory is not None and message in memory:
            found, raw = memory[message]
        else:
            self.send(message)
            while True:
                found, raw = self.receive()
                if found[0] != "ask":
                    break
                self.answer(found, raw)
            if memory is not None and found[0] == "value" and len(memory) < REMEMBERED and len(message) < SHORT:
                memory[message] = found, raw
        if found[0] == "error":
            raise_told(found[1])
        reader = Reader(self, writer.objects, raw)
        try:
            value = reader.get(found[1])
            for number, content in found[2]:
                _change(reader.objects[number], reader.get(content, register=False))
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            raise BrokenError("no value") from error
        return value

    def answer(self, found: list[Any], raw: bytes) -> None:
        """Do the operation that the other side requests, and send the result."""
        try:
            if self.depth >= CALLS:
                raise RecursionError("functions call each other too often")
            reader = Reader(self, [], raw)
            do = self.does[found[1]]
            args = reader.get(found[2])
            before = [_content(value) for value in reader.objects]
            self.depth += 1
            try:
                value = do(self, *args)
            finally:
                self.depth -= 1
            writer = Writer(self, reader.objects)
            message = ["value", writer.put(value), []]
            for number, (known, old) in enumerate(zip(reader.objects, before, strict=True)):
                if not _same(_content(known), old):
                    message[2].append([number, writer.body(known)])
            made = writer.message(message)
        except (GoneError, BrokenError):
            raise
        except BaseException as error:
            made = Writer(self, []).message(["error", told(error)])
            self.failed(error)
        self.send(made)

    def failed(self, error: BaseException) -> None:
        """Called after a request of the other side has raised an error here."""

    def send(self, message: bytes) -> None:
        """Send a message."""
        try:
            self.pipe.send_bytes(message)
        except OSError:
            raise GoneError from None

    def receive(self) -> tuple[list[Any], bytes]:
        """The next message: its JSON, and the bytes of its arrays."""
        try:
            data = self.pipe.recv_bytes(4 + LARGEST_TEXT + LARGEST_ARRAYS)
        except (OSError, EOFError):
            raise GoneError from None
        return parsed(data)

    # operations that the other side can request

    def call(self, handle: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a function of this side."""
        return self.kept(handle)(*args, **kwargs)

    def next(self, handle: int) -> tuple[list[Any], bool]:
        """Some items of an iterator of this side, and whether these are the last items."""
        items = [item for _, item in zip(range(CHUNK), self.kept(handle), strict=False)]
        return items, len(items) < CHUNK

    does: Mapping[str, Callable[..., Any]] = {"call": call, "next": next}


def parsed(data: bytes) -> tuple[list[Any], bytes]:
    """The JSON of a message, and the bytes of its arrays.

    Raises
    ------
    BrokenError : if the data are not a valid message
    """
    try:
        (length,) = struct.unpack_from("<I", data)
        found = json.loads(data[4 : 4 + length])
        if not isinstance(found, list) or len(found) < 2:
            raise BrokenError("no message")
        return found, data[4 + length :]
    except (struct.error, ValueError, RecursionError):
        raise BrokenError("no message") from None


def _content(value: Any) -> Any:
    """The content of a value, to find out later whether the value has changed in place."""
    if isinstance(value, np.ndarray):
        return value.shape, value.dtype.str, value.tolist() if value.dtype.hasobject else value.tobytes()
    if isinstance(value, list):
        return list(value)
    if isinstance(value, dict):
        return list(value.items())
    if isinstance(value, np.random.Generator):
        return repr(value.bit_generator.state)
    return repr(value.get_state(legacy=False))


def _same(one: Any, other: Any) -> bool:
    """Whether two contents are the same. Entries of lists and dictionaries are compared by identity."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(
            a is b or (isinstance(a, tuple) and isinstance(b, tuple) and len(a) == len(b) and all(map(_is, a, b)))
            for a, b in zip(one, other, strict=True)
        )
    return type(one) is type(other) and one == other


def _is(one: Any, other: Any) -> bool:
    return one is other


def _change(value: Any, new: Any) -> None:
    """Change a value in place to the content of the copy on the other side."""
    if isinstance(value, np.ndarray) and isinstance(new, np.ndarray):
        if value.shape == new.shape and value.flags.writeable:
            value[...] = new
    elif isinstance(value, list) and isinstance(new, list):
        value[:] = new
    elif isinstance(value, dict) and isinstance(new, dict):
        value.clear()
        value.update(new)
    elif isinstance(value, np.random.Generator) and isinstance(new, np.random.Generator):
        value.bit_generator.state = new.bit_generator.state
    elif isinstance(value, np.random.RandomState) and isinstance(new, np.random.RandomState):
        value.set_state(new.get_state(legacy=False))
    else:
        raise BrokenError("a change of another kind")


sys.setrecursionlimit(max(sys.getrecursionlimit(), 3000))  # for deeply nested values and calls
