"""Tests of anchors, which mark the line of a formula in the code, and of the part of a source that `nfa eq` prints."""

import textwrap

import pytest

import nfa.ledger.lines
from nfa.ledger.lines import lines_of, runs

SOURCE = '''
    @property
    def f(self, x: int) -> int:
        """Sum a = b.

        More.
        """
        require.positive(x=x)
        # Why x is bounded.
        if x > 9:
            far = x
            raise ValueError(f"x must be at most 9, got {far}")
        for part in x:
            check_part(part)
            if part < 0:
                raise ValueError("part")
        a =  self.b  # the equation

        c = a
        if a:
            c = 2
        return c + a
'''.strip("\n")


@pytest.fixture(autouse=True)
def source(monkeypatch):
    """A method that begins at line 10 of its file."""
    monkeypatch.setattr(nfa.ledger.lines, "source_of", lambda code: ("nfa/x.py", 10, SOURCE))


def test_checks_and_docstring_are_left_out():
    lines, checked = lines_of("nfa.x:C.f")
    assert checked
    assert [line.text for line in lines] == [
        "@property",
        "def f(self, x: int) -> int:",
        "    a =  self.b  # the equation",
        "",
        "    c = a",
        "    if a:",
        "        c = 2",
        "    return c + a",
    ]
    assert [line.number for line in lines] == [10, 11, 25, 26, 27, 28, 29, 30]
    assert not any(line.marked for line in lines)


def test_whole_is_whole():
    lines, checked = lines_of("nfa.x:C.f", whole=True)
    assert not checked
    assert [line.number for line in lines] == list(range(10, 31))
    assert "\n".join(line.text for line in lines) == textwrap.dedent(SOURCE)


BRANCHES = """
class C:
    x: int

    def __post_init__(self):
        if self.x < 0:
            raise ValueError("x")

    def _check_y(self, y):
        return y > 0

    def f(self, y=None, parts=()):
        if y is not None:
            if y < 0:
                raise ValueError("y")
            z = y
        elif parts:
            # Why parts are few.
            if len(parts) > 9:
                raise ValueError("parts")
            z = 0
        else:
            raise ValueError("neither")
        for part in parts:
            _no_nan(part)
            require.positive(part=part)
        for part in parts:
            if part > z:
                raise ValueError("part")
            z += part
        if z:
            return z
        raise ValueError(
            "nothing"
        )
""".strip()
KEPT = """
class C:
    x: int

    def f(self, y=None, parts=()):
        if y is not None:
            z = y
        elif parts:
            z = 0
        for part in parts:
            z += part
        if z:
            return z
""".strip()


def test_checks_within_branches_and_loops_and_methods_that_only_check_are_left_out(monkeypatch):
    monkeypatch.setattr(nfa.ledger.lines, "source_of", lambda code: ("nfa/x.py", 1, BRANCHES))
    lines, checked = lines_of("nfa.x:C")
    assert ("\n".join(line.text for line in lines), checked) == (KEPT, True)
    lines, _ = lines_of("nfa.x:C", ['if self.x < 0 ... raise ValueError("x")'])
    assert [line.number for line in lines if line.marked] == [5, 6]


def test_what_refuses_without_a_condition_is_shown(monkeypatch):
    text = "def f(x):\n    y = x\n    raise NoGuarantee(y)"
    monkeypatch.setattr(nfa.ledger.lines, "source_of", lambda code: ("nfa/x.py", 1, text))
    assert "\n".join(line.text for line in lines_of("nfa.x:f")[0]) == text


@pytest.mark.parametrize(
    "anchors, numbers",
    [
        (["a = self.b"], [25]),  # spaces do not matter, and a = b in the docstring does not count
        (["c = a ... return c"], [27, 28, 29, 30]),
        (["a = self", "return c"], [25, 30]),
        (["require.positive"], [16]),  # `nfa eq` prints a check of arguments only if an anchor marks it
    ],
)
def test_anchors(anchors, numbers):
    lines, _ = lines_of("nfa.x:C.f", anchors)
    assert [line.number for line in lines if line.marked] == numbers


@pytest.mark.parametrize(
    "anchor, sentence",
    [
        ("Sum", "nfa.x:C.f must have exactly one line with the anchor 'Sum', but has 0"),
        ("c =", "nfa.x:C.f must have exactly one line with the anchor 'c =', but has 2"),
        ("a = self ... no such", "nfa.x:C.f must have exactly one line with the anchor 'no such', but has 0"),
        (
            "return ... a = self",
            "the anchor 'return ... a = self' is in the wrong order: "
            "in nfa.x:C.f, the line with 'a = self' comes before the line with 'return'",
        ),
    ],
)
def test_an_anchor_that_names_no_line_is_refused(anchor, sentence):
    with pytest.raises(ValueError) as refused:
        lines_of("nfa.x:C.f", [anchor])
    assert str(refused.value).startswith(sentence)


def test_what_does_nothing_but_check_is_shown(monkeypatch):
    for text in (
        "def f(x):\n    require.positive(x=x)",
        "def _check_x(x):\n    if x:\n        raise ValueError\n    y = x",
    ):
        monkeypatch.setattr(nfa.ledger.lines, "source_of", lambda code, text=text: ("nfa/x.py", 1, text))
        lines, checked = lines_of("nfa.x:f")
        assert ("\n".join(line.text for line in lines), checked) == (text, False)


def test_runs_are_marked_or_not():
    lines, _ = lines_of("nfa.x:C.f", ["a = self", "c = a"])
    pieces = [(piece[0].marked, len(piece)) for piece in runs(lines)]
    assert pieces == [(False, 2), (True, 1), (False, 1), (True, 1), (False, 3)]
