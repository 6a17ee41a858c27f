"""Certificates: files that refute a statement with only Python's standard library, exactly or with outward rounding."""

import ast
import contextlib
import io
import re
import subprocess
import sys
from fractions import Fraction

import pytest

from nfa import ledger
from nfa.ledger import certificates
from tests.project.tree import ROOT, modules

FILES = sorted((ROOT / "nfa" / "papers").glob("*/certificates/*"))
NAMES = [f"{path.parent.parent.name}/{path.stem}" for path in FILES]
LINES, SECONDS = 80, 2.0
LAST = re.compile(r"refuted: claimed .+, .*at least .+")
MAY = {  # allowed imports: functions of whole numbers, fractions, and decimals, which round correctly
    "fractions": {"Fraction"},
    "decimal": {"Context", "ROUND_CEILING", "ROUND_FLOOR"},
    "math": {"ceil", "comb", "factorial", "isqrt"},
}
MARK = "# The counterexample"
WRONG = ("not refuted: ", "not a counterexample: ")

each = pytest.mark.parametrize("path", FILES, ids=NAMES)


def judged(*verdicts):
    return [item for item in ledger.items() if item.verdict in verdicts]


# --- which statements have a certificate


def test_files_and_items_name_one_another():
    named = {}
    for item in ledger.items():
        if item.certificate:
            named.setdefault(certificates.place(item), []).append(item.id)
    assert sorted(named) == [path.relative_to(ROOT).as_posix() for path in FILES]
    for place, ids in named.items():
        top = ast.get_docstring(ast.parse((ROOT / place).read_text(encoding="utf-8"))).partition("Claim")[0]
        assert sorted(re.findall(r"\w+:[\w.-]*\w", top)) == sorted(ids), place


def test_every_refutation_has_one_or_the_reason_why_not():
    """Every false or conditional statement has a certificate, or its field `uncertified` says why it has none.

    A conditional statement fails under some of its readings. No other statement has the field `uncertified`.
    """
    without = {item.id for item in judged("false", "conditional") if not item.certificate}
    reasons = {item.id: item.uncertified for item in ledger.items() if item.uncertified}
    assert without == set(reasons), "say why in the field uncertified"
    assert all("\n" not in reason for reason in reasons.values())
    assert not {item.id for item in judged("holds") if item.certificate}


def test_the_main_finding_on_each_paper_has_one():
    for name in ("lee2020:sens-total", "ohana2021:prop3-cols", "dpulr2024:thm2", "berthier2019:prop2.2"):
        assert certificates.text(ledger.find(name)).startswith('"""')


# --- what a certificate is


@each
@pytest.mark.posix("counts the time of processors that a process took")
def test_it_refutes_without_anything_else(path, tmp_path):
    """A certificate refutes its statement with Python alone.

    We run Python in isolated mode, without site-packages and in an empty folder. So the certificate can import the
    standard library, but not nfa.
    """
    import resource

    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([sys.executable, "-I", "-S", path], cwd=tmp_path, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert (done.returncode, done.stderr) == (0, "")
    assert LAST.fullmatch(done.stdout.splitlines()[-1]), done.stdout
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < SECONDS


@each
def test_it_is_short_and_exact(path):
    """A certificate has at most 80 lines, and it uses floating-point numbers only to print them.

    The functions that it imports are exact or round correctly.
    """
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    assert len(source.splitlines()) <= LINES
    assert {"Claim", "Counterexample", "Arithmetic"} <= set(re.findall(r"\w+", ast.get_docstring(tree)))
    shown = {id(node) for part in ast.walk(tree) if isinstance(part, ast.JoinedStr) for node in ast.walk(part)}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            assert {alias.name for alias in node.names} <= MAY[node.module]
        assert not isinstance(node, ast.Import)
        assert not (isinstance(node, ast.Constant) and isinstance(node.value, float))
        assert not (isinstance(node, ast.Name) and node.id == "float" and id(node) not in shown)


def test_none_is_a_module_of_nfa():
    assert not [name for name in modules() if "certificates" in name.split(".")[2:-1]]


# --- a wrong counterexample


def outcome(tree):
    """Run a certificate in this process, and return its error ("" if it succeeds) and its output."""
    out = io.StringIO()
    try:
        with contextlib.redirect_stdout(out):
            exec(compile(tree, "certificate", "exec"), {"__name__": "__main__"})
    except SystemExit as end:
        return str(end.code or ""), out.getvalue()
    return "", out.getvalue()


def block(source):
    """Line numbers of the counterexample, from the line after the mark to the next empty line."""
    lines = source.splitlines()
    (mark,) = (number for number, line in enumerate(lines, start=1) if line.startswith(MARK))
    return range(mark + 1, lines.index("", mark) + 1)


def numbers(source):
    """The positions of the numbers in the counterexample."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and node.lineno in block(source) and numeric(node.value):
            yield place(node)


def place(node):
    """Line and column of a syntax node, or None if the node is not a constant."""
    return (node.lineno, node.col_offset) if isinstance(node, ast.Constant) else None


def numeric(value):
    return type(value) is int or (isinstance(value, str) and bool(re.fullmatch(r"-?[\d.]+", value)))


def altered(value):
    """Other numbers that can replace this value. Large changes come first."""
    one = Fraction(value)
    others = [10 * one, one / 10, 2 * one, one / 2, one + 1, one - 1, -one, Fraction(0)]
    if isinstance(value, int):
        others = [Fraction(round(other)) for other in others]
    return [int(o) if isinstance(value, int) else str(o) for o in dict.fromkeys(others) if o != one]


def with_changes(source, at):
    """Replace the number at a position, and yield each valid new number with the changed certificate's syntax tree."""
    (value,) = (node.value for node in ast.walk(ast.parse(source)) if place(node) == at)
    for other in altered(value):
        tree = ast.parse(source)
        for node in ast.walk(tree):
            if place(node) == at:
                node.value = other
        alone = [n for n in tree.body if isinstance(n, ast.ImportFrom) or n.lineno in block(source)]
        try:
            exec(compile(ast.Module(alone, []), "counterexample", "exec"), {})
        except ZeroDivisionError:
            continue
        yield other, tree


def check(path, at, value, tree):
    """Return the error of an altered certificate, or "" if it still refutes its statement.

    Any other result fails the test.
    """
    sentence, printed = outcome(tree)
    what = f"{path.stem}, line {at[0]}, {value}: {sentence or printed}"
    if sentence:
        assert sentence.startswith(WRONG), what
        assert "\n" not in sentence, what
        assert not printed, what
    else:
        assert LAST.fullmatch(printed.splitlines()[-1]), what
    return sentence


@each
def test_a_wrong_counterexample_fails(path):
    """At least one change of the first number of a counterexample makes the certificate fail with a sentence."""
    source = path.read_text(encoding="utf-8")
    at = next(numbers(source))
    assert any(check(path, at, *change) for change in with_changes(source, at))


@pytest.mark.slow
@each
def test_every_wrong_number_fails(path):
    """For every number, at least one change makes the certificate fail with a sentence.

    With the other changes, the certificate may still refute its statement.
    """
    source = path.read_text(encoding="utf-8")
    found = [[check(path, at, *change) for change in with_changes(source, at)] for at in numbers(source)]
    assert all(map(any, found))
    assert any(sentence.startswith(WRONG[1]) for sentences in found for sentence in sentences)
    assert all(kind in source for kind in WRONG)


def test_an_altered_number_by_hand():
    """If we alter a number of a certificate by hand, the certificate fails with the expected sentence.

    We test three changes: less noise than the proposition requires, enough noise for the claimed delta, and an event
    that does not contradict this delta.
    """
    path = next(path for path in FILES if path.stem == "prop2_2")
    source = path.read_text(encoding="utf-8")
    for right, wrong, sentence in (
        ("EPSILON, DELTA = 10,", "EPSILON, DELTA = 1,", "not a counterexample: c² must be above 2 log(1.25/delta)"),
        ('"0.4845"', '"0.48"', "not a counterexample: c² must be above 2 log(1.25/delta)"),
        (
            '"0.4845"',
            '"0.6"',
            "not refuted: the smallest delta that this event allows is at most the claimed delta 1e-05",
        ),
        ('"2.847"', '"2"', "not refuted: the smallest delta that this event allows is at most the claimed delta 1e-05"),
    ):
        assert source.count(right) == 1
        assert outcome(ast.parse(source.replace(right, wrong))) == (sentence, "")
