"""Tests of grading in two processes: the code of a submission affects no other submission, and gets no false points.

The tests of `nfa.course.exchange` have both ends of the pipe in this process. The tests of `nfa.course.confined` write
small problem sets. For all submissions that come with nfa's problem sets, the scores are those of `problem_sets.grade`,
which grades in one process.
"""

import json
import os
import shutil
import socket
import textwrap
import threading
from fractions import Fraction
from multiprocessing import Pipe

import numpy as np
import pytest

from nfa.course import cage, checking, exchange
from tests.course.test_course import NAMES, problem_set, variants
from tests.course.test_grading import COURSES, DAMAGED, SILENT, graded, grades, hand_in

pytestmark = pytest.mark.posix("resource limits, signals and pipes between processes")
COMPARED = ("ps2_dfa", "ps5_sensitivity")  # sets of the slow tests; the nightly tests use all sets


# --- values and calls


class Own(exchange.Peer):
    """The far end of the pipe, with named objects. It replaces a student's process."""

    def __init__(self, pipe, **names):
        super().__init__(pipe)
        self.names_here = names

    def get(self, name):
        return self.names_here[name]

    does = {**exchange.Peer.does, "get": get}  # noqa: RUF012


@pytest.fixture
def ends():
    """A function that makes a pipe and returns its near end. The far end has the given names."""
    threads = []

    def made(**names):
        near, far = Pipe()

        def serve():
            own = Own(far, **names)
            try:
                while True:
                    own.answer(*own.receive())
            except exchange.GoneError:
                pass

        threads.append((threading.Thread(target=serve), near))
        threads[-1][0].start()
        return exchange.Peer(near)

    yield made
    for thread, near in threads:
        near.close()
        thread.join()


def alike(one, other):
    """Whether two values have the same type and the same content."""
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and one.shape == other.shape and repr(one) == repr(other)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(alike, one, other))
    if isinstance(one, dict):
        return alike(list(one.items()), list(other.items()))
    return repr(one) == repr(other)


VALUES = [
    *(None, True, 0, -1, 2**63, -(10**40), 1.5, float("inf"), float("nan"), -0.0, 1e-320, 2 + 3j, "", "ä\ud800\0"),
    *([], (), {}, [1, (2, [None])], {1: "a", (1, 2): [], None: {}}, {3, 4}, range(5), b"\0\xff", Fraction(1, 3)),
    *(np.float32(1.1), np.int64(-3), np.bool_(True), np.array(2.0), np.zeros((0, 3)), np.arange(6).reshape(2, 3)),
    *(np.array(["a", "bc"]), np.array([[1, 2]], order="F").T, np.array([None, [1]], dtype=object), 1j * np.ones(2)),
    *(np.arange(6.0)[::-2], np.array([np.nan, -np.inf]), np.float16([1]), np.array([True]), [None, np.ones((2, 2))]),
]


def test_values_cross_as_they_are(ends):
    same = ends(same=lambda value: value).request("get", "same")
    for value in VALUES:
        assert alike(same([value])[0], value), value


def test_what_is_given_twice_is_one_thing_and_what_comes_back_is_what_was_given(ends):
    def look(a, b, deep):
        return [a is b, deep[0] is a, deep[1] is deep, a, [a, a]]

    given = np.ones(3)
    deep = [given]
    deep.append(deep)
    found = ends(look=look).request("get", "look")(given, given, deep)
    assert found[:3] == [True, True, True]
    assert found[3] is given
    assert found[4][0] is found[4][1] is given


def test_what_a_function_changes_in_place_is_changed(ends):
    def change(a, every, named, rng, kept):
        a[0] = 7
        every.append(a)
        every[0] = "new"
        named.pop("old")
        return rng.normal(size=3)

    a, every, named, rng, kept = np.zeros(2), [1, 2], {"old": 1, "kept": 2}, np.random.default_rng(5), [3]
    want = np.random.default_rng(5)
    got = ends(change=change).request("get", "change")(a, every, named, rng, kept=kept)
    assert (got == want.normal(size=3)).all()
    assert rng.random() == want.random()
    assert (a.tolist(), every[:2], every[2] is a, named, kept) == ([7, 0], ["new", 2], True, {"kept": 2}, [3])


def test_functions_call_each_other_across(ends):
    def bisect(f, low, high):
        for _ in range(40):
            middle = (low + high) / 2
            low, high = (low, middle) if f(middle) > 0 else (middle, high)
        return low, lambda x: f(x) + 1, bisect

    asked = []
    near = ends(bisect=bisect).request("get", "bisect")
    root, more, again = near(lambda x: asked.append(x) or x**2 - 2, 0.0, 2.0)
    assert abs(root - 2**0.5) < 1e-9
    assert len(asked) == 40
    assert more(3.0) == 8.0
    assert again.__name__ == near.__name__ == "bisect"


def test_iterators_and_other_kinds(ends):
    def numbers():
        at = 0
        while True:
            yield at
            at += 1

    class Odd:
        def __str__(self):
            return "an odd one"

    class Tensor:
        shape = (2,)

        def __array__(self, dtype=None, copy=None):
            return np.array([1.0, 2.0], dtype=dtype)

    near = ends(numbers=numbers, odd=Odd(), tensor=Tensor(), view={"a": 1}.keys())
    endless = near.request("get", "numbers")()
    assert [next(endless) for _ in range(200)] == list(range(200))
    odd, tensor = near.request("get", "odd"), near.request("get", "tensor")
    assert (type(odd).__name__, str(odd), hasattr(odd, "shape")) == ("Odd", "an odd one", False)
    assert np.asarray(tensor, dtype=float).tolist() == [1, 2]
    assert (np.shape(tensor), len(tensor), tensor[1]) == ((2,), 2, 2)
    assert list(near.request("get", "view")) == ["a"]


def test_errors_keep_name_text_and_place(ends):
    class OwnError(KeyError):
        pass

    def deep():
        raise OwnError("why")

    def first():
        deep()

    def unwritten():
        raise NotImplementedError

    def leave():
        raise SystemExit(3)

    near = ends(first=first, unwritten=unwritten, leave=leave)
    with pytest.raises(KeyError, match="why") as found:
        near.request("get", "first")()
    assert (type(found.value).__name__, checking.raiser(found.value)) == ("OwnError", "deep")
    for name, told in (
        ("unwritten", "unwritten is not written yet"),
        ("leave", "leave raised SystemExit: 3"),
        ("first", "first raised OwnError: 'why'"),
    ):
        with pytest.raises(checking.Wrong) as found:
            checking.call(near.request("get", name))
        assert str(found.value) == told


def test_what_is_too_large_or_too_deep_does_not_cross(ends):
    def deep():
        made = []
        for _ in range(100):
            made = [made]
        return made

    near = ends(large=lambda: np.zeros(20_000_000), many=lambda: list(range(4_000_000)), deep=deep)
    for name in ("large", "many", "deep"):
        with pytest.raises(ValueError, match="a value has more than"):
            near.request("get", name)()


@pytest.mark.parametrize(
    "value",
    [
        *(["z"], ["r", 9], ["r", -1], ["a", "|O", [1], 0, 8], ["a", "<f8", [10**9], 0, 8], ["a", "<f8", [1], 0, 10**9]),
        *(["a", "<f8", [1], -8, 8], ["own", 5], ["own", -1], ["g", "Evil", {}], {"x": 1}, ["n", "O", "00"], [], [1]),
        *(["__class__"], ["l", ["r", 99]], ["f", "x", None, 0], ["x", "n"], ["i", "z"], ["d", [["l"], 1]]),
    ],
)
def test_a_hostile_answer_is_no_message(value):
    near, far = Pipe()
    text = json.dumps(["value", value, []]).encode()
    far.send_bytes(len(text).to_bytes(4, "little") + text + b"\0" * 8)
    with pytest.raises(exchange.BrokenError):
        exchange.Peer(near).request("get", "x")


@pytest.mark.parametrize("data", [b"", b"\0", b"\xff\xff\xff\xff{}", b"\2\0\0\0{}", b"\4\0\0\0null", b"[" * 9000])
def test_a_hostile_message_is_no_message(data):
    with pytest.raises(exchange.BrokenError):
        exchange.parsed(data)


def test_a_check_that_passes_what_cannot_cross_is_told_so():
    class Checks(exchange.Peer):
        opaque = False

    with pytest.raises(TypeError, match="a value of type object, which cannot cross"):
        Checks(Pipe()[0]).request("call", 0, (object(),), {})


# --- the two processes


def made_set(folder, functions, checks):
    """A problem set with these solutions and checks by name. Each solution has one graded cell of one point."""
    from nfa.course import problem_sets

    pytest.importorskip("jupytext", reason="problem sets need jupytext: pip install -e '.[course]'")
    cells = ["# %% [markdown]\n# A set\n\n# %% start\nimport numpy as np\n"]
    for name, source in functions.items():
        cells.append(f"# %% {name} solution=true\n### BEGIN SOLUTION\n{textwrap.dedent(source)}\n### END SOLUTION\n")
        hidden = f'### BEGIN HIDDEN TESTS\nfrom nfa.course import checks\n\nchecks("ps0").{name}_right({name})\n'
        cells.append(f"# %% {name}_right points=1\n{hidden}### END HIDDEN TESTS\n")
    (folder / "ps0").mkdir(parents=True)
    (folder / "ps0" / "master.py").write_text("\n".join(cells))
    (folder / "ps0" / "set.toml").write_text('title = "A set"\nminutes = 1\nstatements = []\n')
    text = "import numpy as np\n\nfrom nfa.course.checking import *\n"
    text += "".join(
        f"\n\ndef {name}_right({name}):\n    {(checks.get(name) or checks.get(''))(name)}\n" for name in functions
    )
    (folder / "ps0" / "checks.py").write_text(text)
    return problem_sets.load(folder / "ps0")


def confined_grade(problems, **options):
    from nfa.course import confined

    limits = confined.Limits(**{"memory": 1 << 30, "cell": 60.0, "call": 1.0, **options})
    return confined.grade(problems, problems.reference, limits)


def twice(name):
    """The source of a check that tests whether a function doubles its argument."""
    return f"close(array(call({name}, np.arange(3.0)), (3,), 'it'), [0, 2, 4], 'it')"


BAD = {
    "grows": "def grows(x):\n    kept = []\n    while True:\n        kept.append(np.empty(10**7))",
    "endless": "def endless(x):\n    while True:\n        pass",
    "floods": "def floods(x):\n    import os, sys\n    for _ in range(30_000):\n"
    "        print('x' * 1000)\n        os.write(1, b'y' * 1000)\n        os.write(2, b'z' * 1000)\n    return 2 * x",
    "giant": "def giant(x):\n    return np.ones(10**7)",
    "many": "def many(x):\n    return [0] * 5_000_000",
    "deep": "def deep(x):\n    made = [1]\n    for _ in range(500):\n        made = [made]\n    return made",
    "deletes": "def deletes(x):\n    import shutil\n    shutil.rmtree({precious!r})\n    return 2 * x",
    "writes": "def writes(x):\n    open({precious!r} + '/kept', 'w').write('mine')\n    return 2 * x",
    "connects": "def connects(x):\n    import socket\n"
    "    socket.create_connection(('127.0.0.1', {port}), 2)\n    return 2 * x",
    "kills": "def kills(x):\n    import os, signal\n    os.kill({pid}, signal.SIGTERM)\n    return 2 * x",
    "disk": "def disk(x):\n    with open('large', 'wb') as file:\n        for _ in range(300):\n"
    "            file.write(bytes(1 << 20))\n    return 2 * x",
    "leaves": "def leaves(x):\n    import sys\n    sys.exit(0)",
    "wraps": "def wraps(x):\n    class Own(np.ndarray):\n        pass\n    return (2 * x).view(Own)",
    "fine": "def fine(x):\n    return 2 * x",
}
TOLD = {
    "grows": "Wrong: grows raised MemoryError: Unable to allocate 76.3 MiB",
    "endless": "Wrong: endless did not return within 1 seconds",
    "floods": "",
    "giant": "Wrong: giant raised TooLargeError: a value has more than 64 MB",
    "many": "Wrong: many raised TooLargeError: a value has more than 1600000 entries",
    "deep": "Wrong: deep raised TooLargeError: a value has more than 60 nested lists",
    "deletes": "Wrong: deletes raised PermissionError: ",
    "writes": "Wrong: writes raised PermissionError: ",
    "connects": "Wrong: connects raised ",
    "kills": "Wrong: kills raised P",  # PermissionError, or ProcessLookupError in a separate namespace
    "disk": "Wrong: disk raised OSError: [Errno 27] File too large",
    "leaves": "Wrong: leaves raised SystemExit: 0",
    "wraps": "",
    "fine": "",
}
NEEDS = {"deletes": cage.FILES, "writes": cage.FILES, "connects": cage.NETWORK, "kills": cage.PROCESSES}


def test_each_bad_function_costs_its_own_cell_and_is_told(tmp_path):
    """A function that misuses memory, time, files, network or processes fails only its own cell."""
    lacks = cage.missing()
    precious = tmp_path / "course" / "submitted"
    precious.mkdir(parents=True)
    (precious / "kept").write_text("theirs")
    with socket.create_server(("127.0.0.1", 0)) as server:
        given = {"{precious!r}": repr(str(precious)), "{port}": str(server.getsockname()[1]), "{pid}": str(os.getpid())}
        left = {name: source for name, source in BAD.items() if cage.LACKS.get(NEEDS.get(name)) not in lacks}
        for place, value in given.items():
            left = {name: source.replace(place, value) for name, source in left.items()}
        told = confined_grade(made_set(tmp_path / "masters", left, {"": twice}), size=64 << 20, memory=1 << 29)
    for name in left:
        text = told[f"{name}_right"]
        assert text.startswith(TOLD[name]), (name, text)
        assert (text == "") == (TOLD[name] == ""), (name, text)
    assert (precious / "kept").read_text() == "theirs"


def asking(name):
    """The source of a check that passes its function f, which counts its calls, to the student's function."""
    return (
        f"seen = []\n    def f(x):\n        seen.append(x)\n        return len(seen)\n    number(call({name}, f), 'it')"
    )


@pytest.mark.slow
def test_a_loop_of_requests_ends_as_any_other(tmp_path):
    """Grading stops a student's function that calls a function of the checks in an endless loop."""
    functions = {
        "asks": "def asks(f):\n    while True:\n        f(1)",
        "once": "def once(f):\n    return f(1)",
        "often": "def often(f):\n    return [f(i) for i in range(200)][-1]",
    }
    told = confined_grade(made_set(tmp_path, functions, {"": asking}))
    assert told["asks_right"].startswith("Wrong: asks did not return within 1 seconds")
    assert told["once_right"] == told["often_right"] == ""


@pytest.mark.slow
def test_a_loop_that_goes_on_after_its_requests_are_refused_is_ended(tmp_path):
    from nfa.course import confined

    insists = (
        "def insists(f):\n    while True:\n        try:\n            f(1)\n        except Exception:\n            pass"
    )
    with pytest.raises(confined.StoppedError, match="could not be stopped"):
        confined_grade(made_set(tmp_path, {"insists": insists}, {"": asking}))


STOPPED = {
    "dead": ("import os\nos._exit(0)", "the Python process died"),
    "killed": ("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\nos.abort()", "the Python process died"),
    "forks": (
        "import os, time\nfor _ in range(60):\n    if os.fork() == 0:\n        time.sleep(60)\n        os._exit(0)\n"
        "time.sleep(60)",
        "the notebook started more than 40 processes",
    ),
    "children grow": (
        "import subprocess, sys\ncode = 'import time; x = bytes([120]) * 300_000_000; time.sleep(60)'\n"
        "every = [subprocess.Popen([sys.executable, '-c', code]) for _ in range(4)]\nevery[0].wait()",
        "the notebook used more than 0.5 GB of memory",
    ),
    "deaf": (
        "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True:\n    pass",
        "a cell ran too long and could not be stopped",
    ),
    "liar": (
        "import gc\nfrom nfa.course import exchange\n"
        "(peer,) = [one for one in gc.get_objects() if isinstance(one, exchange.Peer)]\n"
        "def fine(x):\n    peer.pipe.send_bytes(b'no message')\n    return 2 * x",
        "the notebook sent the checks a message that is not a valid answer",
    ),
}


@pytest.mark.parametrize("how", STOPPED)
def test_a_submission_that_cannot_be_graded_names_the_reason(how, tmp_path):
    from nfa.course import confined

    source, told = STOPPED[how]
    problems = made_set(tmp_path, {"first": f"{source}\nfirst = 1", "fine": BAD["fine"]}, {"": twice})
    if how == "liar":
        problems = made_set(tmp_path / "liar", {"fine": source}, {"": twice})
    with pytest.raises(confined.StoppedError, match=told):
        confined_grade(problems, processes=40, memory=1 << 29, cell=4.0 if how == "deaf" else 60.0)


ZEROS = "def zeros(x):\n    return 0 * x\n"
PATCHES = {
    "checks": """
        import builtins, nfa.course, nfa.course.checking as checking, sys, types

        class Anything:
            def __getattr__(self, name):
                return lambda *args, **kwargs: None

        nfa.course.checks = lambda name: Anything()
        nfa.course._read = lambda *args: Anything()
        for name in ("call", "close", "array", "fair", "mismatch"):
            setattr(checking, name, lambda *args, **kwargs: None)
        checking.Wrong.__init__ = lambda *args: None
        sys.modules["nfa.course.checking"] = sys.modules["checks of ps0"] = Anything()
        builtins.AssertionError = type("Nothing", (BaseException,), {})
        builtins.abs = builtins.max = lambda *args: 0
    """,
    "numpy": """
        import numpy, math
        numpy.allclose = numpy.isclose = lambda *args, **kwargs: True
        numpy.abs = lambda a: numpy.zeros(1)
        numpy.asarray = lambda *args, **kwargs: numpy.array([0.0, 2.0, 4.0])
        math.fsum = lambda *args: 0.0
    """,
    "environment": """
        import atexit, os, sys
        os.environ["NFA_COURSE_MASTERS"] = os.getcwd()
        os.makedirs("ps0", exist_ok=True)
        open("ps0/checks.py", "w").write("def zeros_right(f): pass\\ndef judged_right(f): pass")
        open("numpy.py", "w").write("allclose = lambda *args: True")
        open("sitecustomize.py", "w").write("raise SystemExit(0)")
        atexit.register(lambda: print('{"cells": [], "problem": ""}', flush=True))
        sys.excepthook = sys.settrace = sys.exit = lambda *args: None
    """,
    "frames": """
        import sys

        class zeros_type:
            __name__ = "zeros"
            __globals__ = {}

            def __call__(self, x):
                frame = sys._getframe()
                while frame is not None:
                    frame.f_globals.update(close=lambda *args: None, TOLERANCE=1e9)
                    frame = frame.f_back
                return 0 * x

            def __eq__(self, other):
                return True
    """,
    "answers": """
        class Right(float):
            __eq__ = __le__ = __ge__ = lambda *args: True
            __sub__ = __rsub__ = lambda *args: 0.0
            __array__ = lambda *args, **kwargs: (_ for _ in ()).throw(KeyError)

        class Array:
            shape, dtype = (3,), float
            def __array__(self, dtype=None, copy=None):
                import inspect
                return __import__("numpy").zeros(3)
            def __array_ufunc__(self, *args, **kwargs):
                return Right(0)
    """,
}


@pytest.mark.parametrize("how", PATCHES)
def test_a_patched_checker_gets_no_point_that_is_not_earned(how, tmp_path):
    patch = textwrap.dedent(PATCHES[how])
    zeros = {"frames": f"{patch}\nzeros = zeros_type()", "answers": f"{patch}\ndef zeros(x):\n    return Array()"}
    functions = {
        "zeros": zeros.get(how, f"{patch}\n{ZEROS}"),
        "judged": "def judged(x):\n    return [0, 0, 0]",
        "fine": BAD["fine"],
    }
    told = confined_grade(made_set(tmp_path, functions, {"": twice}))
    wrong = "Wrong: it at [2]: found 0, expected 4"
    assert (told["zeros_right"], told["judged_right"]) == (wrong, wrong)
    # these two patches also break the student's own code
    assert (told["fine_right"] == "") or how in ("checks", "numpy"), told


def test_the_checks_ask_for_what_they_need(tmp_path):
    """The checks can use everything that they need in a student's process.

    They can replace earlier functions by right versions, pass functions, receive generators, read hidden names, and
    measure memory.
    """
    functions = {
        "halves": "def halves(x):\n    return x / 3",
        "uses": "def uses(x):\n    return 4 * halves(x)",
        "applies": "def applies(f, x):\n    return [f(one) for one in x]",
        "draws": "def draws(rng, n):\n    return rng.normal(size=n)",
        "holds": "def holds(n):\n    return float(np.ones((n, n)).sum())",
        "lists": "def lists(n):\n    yield from range(n)",
        "changes": "def changes(x):\n    x[0] = 9\n    return x",
        "unwritten": "def unwritten(x):\n    raise NotImplementedError",
        "number": "number = 42",
    }
    checks = {
        "halves": lambda name: "close(call(halves, np.ones(2)), [0.5, 0.5], 'it')",
        "uses": lambda name: (
            "fair(lambda: close(call(uses, np.ones(2)), [2, 2], 'it'), uses, halves=lambda x: np.asarray(x) / 2)"
        ),
        "applies": lambda name: (
            "asked = []\n    assert call(applies, lambda v: asked.append(v) or v**2, [1, 2]) == [1, 4]\n"
            "    assert asked == [1, 2]"
        ),
        "draws": lambda name: (
            "rng = np.random.default_rng(3)\n    first, second = (call(draws, rng, 2, copies=False) for _ in 'ab')\n"
            "    close(np.concatenate([first, second]), np.random.default_rng(3).normal(size=4), 'it')"
        ),
        "holds": lambda name: (
            "import tracemalloc\n    tracemalloc.start()\n    tracemalloc.reset_peak()\n    call(holds, 1000)\n"
            "    most = tracemalloc.get_traced_memory()[1]\n    tracemalloc.stop()\n    assert 8e6 < most < 1e7, most"
        ),
        "lists": lambda name: "assert list(call(lists, 150)) == list(range(150))",
        "changes": lambda name: (
            "given = np.zeros(2)\n    call(changes, given)\n    assert given[0] == 0\n"
            "    call(changes, given, copies=False)\n    assert given[0] == 9"
        ),
        "unwritten": twice,
        "number": lambda name: "assert number == 42",
    }
    told = confined_grade(made_set(tmp_path, functions, checks))
    told = {name.removesuffix("_right"): text for name, text in told.items()}
    assert told.pop("halves") == "Wrong: it: found 0.6667 times what is expected"
    assert told.pop("unwritten") == "Wrong: unwritten is not written yet"
    assert not any(told.values()), told


def test_hidden_tests_see_the_notebook_and_visible_ones_run_there():
    pytest.importorskip("nbgrader", reason=COURSES)
    from nfa.course import confined

    test = "seen = [f(v) for v in (1, given)]\nassert sum(seen) == {}, seen"
    hidden = f"### BEGIN HIDDEN TESTS\n{test}\n### END HIDDEN TESTS\n"
    cells = [
        confined.CodeCell("given = 2\n%time 1\nprint('said')\nimport sys; print('loud', file=sys.stderr)\n1 + 1"),
        confined.CodeCell("def f(x):\n    return 2 * x"),
        confined.CodeCell(f"# a comment\n{hidden.format(6)}assert f(3) == 6\nlater = 1", True),
        confined.CodeCell(f"{hidden.format(7)}assert later", True),
        confined.CodeCell(f"{hidden.format(6)}assert f(3) == 7, 'no'", True),
        confined.CodeCell("f(", False),
        confined.CodeCell("### BEGIN HIDDEN TESTS\nnowhere\n### END HIDDEN TESTS", True),
    ]
    verdict = confined.judge(cells, confined.Path("."))
    assert (verdict["problem"], verdict["notes"]) == ("", [])
    first, _, right, wrong, visible, broken, unknown = verdict["cells"]
    assert "said" in first["stdout"]
    assert first["stderr"] == "loud\n"
    assert right["error"] is None
    assert wrong["error"][:2] == ["AssertionError", "[2, 4]"]
    assert visible["error"][:2] == ["AssertionError", "no"]
    assert broken["error"][0] == "SyntaxError"
    assert unknown["error"][:2] == ["NameError", "name 'nowhere' is not defined"]


def compared():
    """(problem set, submission).

    The quick and slow tests use two problem sets, and the nightly tests use all of them.
    """
    for name in NAMES:
        every = ["reference", "blank", *variants(name, "solutions.py"), *variants(name, "wrong.py")]
        for submission in every:
            tier = pytest.mark.slow if name in COMPARED else pytest.mark.nightly
            quick = name in COMPARED and submission in ("reference", "tampered")
            yield pytest.param(name, submission, marks=[] if quick else [tier])


@pytest.mark.parametrize("name, submission", list(compared()))
def test_two_processes_grade_as_one_does(name, submission, monkeypatch):
    from nfa.course import confined, problem_sets

    problems = problem_set(name)
    handed_in = problems.submissions[submission]
    seconds = 0.3 if "infinite" in submission else 30.0  # enough for a student's code, also on a busy machine
    monkeypatch.setattr(checking, "SECONDS", seconds)
    monkeypatch.setattr(checking, "WAIT", 200.0)
    want = problem_sets.grade(problems, handed_in)
    assert confined.grade(problems, handed_in, confined.Limits(call=seconds, wait=200.0, cell=300.0)) == want


# --- a class


GROWS = "kept = []\nwhile True:\n    kept.append(bytearray(10**8))"
CHEAT = """
import nfa.course
nfa.course.checks = lambda name: type("All", (), {"__getattr__": lambda *_: lambda *_: None})()


def second(x):
    return 0
"""


def small_course(folder_of):
    from nfa.course import folder
    from tests.course.test_grading import CHECKS, MASTER

    course = folder_of / "course"
    folder.new(course, ["ps1_by_hand"])
    shutil.rmtree(course / "masters" / "ps1_by_hand")
    config = course / "nbgrader_config.py"
    more = "\nc.Execute.timeout = 5\nc.Confined.memory = 0.5\n"
    config.write_text(config.read_text(encoding="utf-8") + more, encoding="utf-8")
    masters = course / "masters" / "ps0"
    masters.mkdir()
    (masters / "master.py").write_text(MASTER)
    (masters / "checks.py").write_text(CHECKS)
    (masters / "set.toml").write_text('title = "A set"\nminutes = 1\nstatements = []\n')
    folder.build(course, *folder.sets_of(course))
    return course


def changed(course, student, change):
    path = course / "submitted" / student / "ps0" / "ps0.ipynb"
    made = json.loads(path.read_text())
    change(made)
    path.write_text(json.dumps(made))


@pytest.mark.parametrize("others", [1, pytest.param(17, marks=pytest.mark.nightly)])
def test_a_class_with_a_patched_checker_a_growing_memory_and_a_dead_kernel(others, tmp_path, capsys):
    """The output names three bad submissions.

    All other students get full marks. After the students have corrected the bad submissions, these are graded again.
    """
    pytest.importorskip("nbgrader", reason=COURSES)
    from tests.course.test_grading import own

    course = small_course(tmp_path)
    fine = [f"s{i:02}" for i in range(others)]
    hand_in(course, *fine, "grows", "dead")
    hand_in(course, "patched", second=CHEAT)
    changed(course, "grows", own(GROWS))
    changed(course, "dead", DAMAGED["dead"][0])
    code, rows, _ = graded(course, capsys)
    scores = dict.fromkeys(fine, 4) | {"patched": 2, "grows": 4, "dead": None}
    assert (code, {student: row["score"] for student, row in rows.items()}) == (1, scores)
    named = {student: row["reason"] or "; ".join(row["notes"]) for student, row in rows.items()}
    assert {student for student, text in named.items() if text} == {"patched", "grows", "dead"}
    assert named["patched"] == "the notebook changes nfa.course.checks, which the checks do not use"
    assert named["grows"] == "the notebook needed more than 0.5 GB of memory"
    assert "the Python process died" in named["dead"]
    table = grades(course)
    assert {student: table[student]["note"] for student in named} == named

    hand_in(course, "dead", "patched")
    hand_in(course, "s00", second=SILENT)
    (course / "submitted" / "grows" / "ps0" / "ps0.ipynb").write_bytes(b"")
    code, rows, _ = graded(course, capsys)
    scores |= {"patched": 4, "dead": 4, "s00": 3, "grows": None}
    assert (code, {student: row["score"] for student, row in rows.items()}) == (1, scores)
    assert "is empty" in rows["grows"]["reason"]
    assert [row["notes"] for row in rows.values()] == [[]] * len(rows)
