"""Tests of grading a class with damaged submissions. If a submission cannot be graded, the output gives the reason.

A submission that cannot be graded has no score. Most tests read and restore notebooks without running them.
`test_a_class_of_twenty` grades a class with nbgrader. In this class, twelve notebooks are damaged in twelve ways.
"""

import copy
import csv
import json
import os
import shutil

import pytest

from nfa.cli import main
from nfa.course import cage, submissions
from nfa.course.submissions import CannotGradeError

COURSES = "courses need nbgrader: pip install -e '.[course]'"

MASTER = """\
# %% [markdown]
# A set

# %% start
half = 0.5

# %% first solution=true
def first(x):
    ### BEGIN SOLUTION
    return x
    ### END SOLUTION

# %% first_value points=2
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps0").first_value(first)
### END HIDDEN TESTS
assert first(3) == 3

# %% second solution=true
def second(x):
    ### BEGIN SOLUTION
    return half * first(x)
    ### END SOLUTION

# %% second_value points=1
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps0").second_value(second)
### END HIDDEN TESTS

# %% second_sign points=1
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps0").second_sign(second)
### END HIDDEN TESTS
"""
CHECKS = """\
def first_value(first):
    assert first(-7) == -7


def second_value(second):
    assert abs(second(8)) == 4


def second_sign(second):
    assert second(-2) == -1
"""
NAMES = ["start", "first", "first_value", "second", "second_value", "second_sign"]


def cell(name, source):
    """A cell of a released notebook as nbgrader writes it."""
    solution, grade = name in ("first", "second"), "_" in name
    meta = {"schema_version": 3, "grade_id": name, "grade": grade, "solution": solution, "locked": not solution}
    meta |= {"checksum": name.ljust(32, "0")} | ({"points": 1} if grade else {})
    made = {"cell_type": "code", "id": name.replace("_", "-"), "metadata": {"nbgrader": meta}, "source": source}
    return made | {"outputs": [], "execution_count": None}


def notebook(cells):
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    return {"nbformat": 4, "nbformat_minor": 5, "metadata": kernel, "cells": cells}


STUB = "def {}(x):\n    # YOUR CODE HERE\n    raise NotImplementedError"
SOURCES = {
    "start": "half = 0.5",
    "first": STUB.format("first"),
    "first_value": "assert first(3) == 3",
    "second": STUB.format("second"),
    "second_value": "# value",
    "second_sign": "# sign",
}
ANSWERS = {"first": "def first(x):\n    return x", "second": "def second(x):\n    return half * first(x)"}
RELEASES = {
    "ps0": notebook([cell(name, source) for name, source in SOURCES.items()]),
    "ps1": notebook([cell(name, "def first(x): ...") for name in ("first", "third", "third_value", "third_sign")]),
}
TEXT = {"cell_type": "markdown", "id": "cell-0", "metadata": {}, "source": "# A set"}


def right():
    """A notebook with the right solutions."""
    made = copy.deepcopy(RELEASES["ps0"])
    made["cells"] = [cell(name, ANSWERS.get(name, source)) for name, source in SOURCES.items()]
    made["cells"].insert(0, copy.deepcopy(TEXT))
    return made


def at(made, name):
    return next(i for i, one in enumerate(made["cells"]) if one["id"] == name.replace("_", "-"))


def restored(made, content=None):
    """The names and sources of the cells of a restored notebook in their order, and the notes on the notebook."""
    cells = submissions.read(json.dumps(made).encode() if content is None else content)
    found, notes = submissions.restore("ps0", cells, RELEASES)
    names = [one["metadata"].get("nbgrader", {}).get("grade_id", "") for one in found["cells"]]
    return names, [one["source"] for one in found["cells"]], notes


def assert_whole(made, content=None):
    """Assert that a restored notebook has every cell once and the right answers. Return the notes on the notebook.

    Each graded cell must come after the cell that it grades.
    """
    names, sources, notes = restored(made, content)
    assert sorted(filter(None, names)) == sorted(NAMES)
    for graded, needs in (("first_value", "first"), ("second_value", "second"), ("second_sign", "second")):
        assert names.index(graded) > names.index(needs)
    for name in NAMES:
        assert sources[names.index(name)] == ANSWERS.get(name, SOURCES[name]), name
    return notes


# --- restored cells


def test_a_notebook_as_it_was_given_out_stays_as_it_is():
    names, _, notes = restored(right())
    assert (names, notes) == (["", *NAMES], [])


def strip(made):
    for one in made["cells"]:
        one["metadata"] = {}


def strip_all(made):
    strip(made)
    for i, one in enumerate(made["cells"]):
        one["id"] = f"x{i}"


def rewrite(made, **sources):
    for name, source in sources.items():
        made["cells"][at(made, name)]["source"] = source


def retype(made):
    made["cells"][at(made, "first")] |= {"cell_type": "markdown"}


def to_the_top(name):
    return lambda made: made["cells"].insert(0, made["cells"].pop(at(made, name)))


def drop(*names):
    return lambda made: [made["cells"].pop(at(made, name)) for name in names]


def again(name):
    def twice(made):
        made["cells"].insert(at(made, name), copy.deepcopy(made["cells"][at(made, name)]) | {"id": "copied"})

    return twice


def retyped_by_hand(made):
    """The student removed a cell, and wrote the solution into a new cell."""
    made["cells"][at(made, "second")] |= {"metadata": {}, "id": "new"}


def tampered(made):
    rewrite(made, first_value="pass", start="half = 7")
    made["cells"][at(made, "second_sign")]["metadata"]["nbgrader"]["points"] = 100


def tagged(made):
    for one in made["cells"]:
        one["metadata"]["tags"] = ["skip-execution", "raises-exception"]


REPAIRED = {
    "metadata lost": (strip, "was lost and is restored: start, first, first_value and 3 more"),
    "metadata and ids lost": (strip_all, "was lost and is restored: start, first, first_value and 3 more"),
    "a graded cell deleted": (drop("second_value"), "was missing and is restored: second_value"),
    "all graded cells deleted": (drop("first_value", "second_value", "second_sign"), "first_value, second_value, sec"),
    "a given cell deleted": (drop("start"), "a given cell was missing and is restored: start"),
    "a graded cell moved up": (to_the_top("second_sign"), "is moved: second_sign"),
    "a graded cell copied": (again("second_sign"), "occurs twice and counts once: second_sign"),
    "a solution in a new cell": (retyped_by_hand, "was lost and is restored: second"),
    "a code cell made text": (retype, "a cell had another type, and its own type is restored: first"),
    "graded cells rewritten": (tampered, None),
    "tags that skip cells": (tagged, None),
}


@pytest.mark.parametrize("how", REPAIRED)
def test_what_a_notebook_lost_is_put_back_and_said(how):
    change, told = REPAIRED[how]
    made = right()
    change(made)
    notes = assert_whole(made)
    assert len(notes) == (told is not None)
    assert (told or "") in "".join(notes)


def test_a_cell_from_another_version_is_named():
    made = right()
    made["cells"][at(made, "second_sign")]["metadata"]["nbgrader"]["checksum"] = "f" * 32
    assert assert_whole(made) == ["made from another version of ps0: second_sign"]


@pytest.mark.parametrize("into", ["first", "first_value", "start"])
def test_the_answer_counts_where_two_cells_were_merged(into):
    """The student's function stays before its checks, and no cell that raises NotImplementedError replaces it."""
    made = right()
    drop("second")(made)
    rewrite(made, **{into: f"{made['cells'][at(made, into)]['source']}\n\n{ANSWERS['second']}"})
    names, sources, notes = restored(made)
    defines = [i for i, source in enumerate(sources) if "def second" in source]
    assert [sources[i].count("raise") for i in defines] == [0]
    assert min(names.index("second_value"), names.index("second_sign")) > defines[0]
    assert sources[names.index("first_value")] == SOURCES["first_value"]
    assert len(notes) == (into != "first")


def test_an_answer_that_is_gone_counts_as_not_written_and_is_named():
    made = right()
    drop("second")(made)
    names, sources, notes = restored(made)
    assert sources[names.index("second")] == SOURCES["second"]
    assert notes == ["a cell is missing and counts as not written: second"]


ENCODINGS = ["utf-8", "utf-8-sig", "utf-16", "utf-32"]


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_every_encoding_of_unicode_and_both_line_ends_are_read(encoding, ends):
    made = right()
    made["cells"][0]["source"] = "äöü"
    for one in made["cells"]:
        one["source"] = one["source"].replace("\n", ends).splitlines(keepends=True)
    assert assert_whole(made, json.dumps(made, ensure_ascii=False, indent=1).replace("\n", ends).encode(encoding)) == []


def test_the_format_of_2013_is_read():
    pytest.importorskip("nbformat", reason=COURSES)
    cells = [{**one, "language": "python", "input": one["source"]} for one in right()["cells"][1:]]
    made = {"nbformat": 3, "nbformat_minor": 0, "metadata": {"name": ""}, "worksheets": [{"cells": cells}]}
    assert assert_whole(made) == []


# --- submissions that cannot be graded


def broken(**change):
    made = right()
    made["cells"][1] |= change
    return json.dumps(made).encode()


def changed(change):
    made = right()
    change(made)
    return json.dumps(made).encode()


REFUSED = {
    "empty": (b"", "is empty"),
    "blanks": (b" \n ", "is empty"),
    "cut short": (json.dumps(right()).encode()[:900], "cut short"),
    "a page": (b"<html></html>", "not JSON"),
    "Latin-1": (json.dumps(right(), ensure_ascii=False).replace("A set", "Übung").encode("latin-1"), "UTF-8"),
    "deep": (b"[" * 100_000, "not JSON|cut short"),
    "a list": (b"[]", "not a notebook"),
    "other JSON": (b"{}", "not a notebook"),
    "no cells": (b'{"nbformat": 4, "cells": {}}', "no cells"),
    "a later format": (b'{"nbformat": 9, "cells": []}', "format 9"),
    "a broken old format": (b'{"nbformat": 3, "worksheets": 7}', "format 3"),
    "a number for a source": (broken(source=7), "cell 2 is not a valid cell"),
    "half a character": (broken(source="\ud800"), "cell 2 has a character that"),
    "nothing in it": (changed(lambda made: made["cells"].clear()), "the notebook has none of the 3 graded cells of"
    " ps0"),
    "no solution": (changed(drop("first", "second")), "the notebook has none of the 2 solution cells"),
    "a solution copied": (changed(again("first")), "each cell of the assignment must occur once, but these cells"
    " occur twice: first"),
    "another set": (json.dumps(RELEASES["ps1"]).encode(), "the cells of the notebook are from ps1"),
    "another version": (
        changed(lambda made: made["cells"][at(made, "second")]["metadata"]["nbgrader"].update(grade_id="zweite")
                or rewrite(made, second="def zweite(x): ...")),
        "another version of ps0 and lacks the cell second",
    ),
}  # fmt: skip


@pytest.mark.parametrize("how", REFUSED)
def test_what_cannot_be_graded_says_why(how):
    content, told = REFUSED[how]
    if how in ("a later format", "a broken old format"):
        # nfa needs nbformat to read notebooks in formats before the fourth
        pytest.importorskip("nbformat", reason=COURSES)
    with pytest.raises(CannotGradeError, match=told):
        restored(None, content)


# --- places of submitted files


@pytest.fixture
def handed_in(tmp_path):
    """A function that writes files into ``submitted/`` of a course with released sets, and collects them."""
    for name, made in RELEASES.items():
        (tmp_path / "release" / name).mkdir(parents=True)
        (tmp_path / "release" / name / f"{name}.ipynb").write_text(json.dumps(made))
        (tmp_path / "masters" / name).mkdir(parents=True)
        (tmp_path / "masters" / name / "set.toml").touch()

    class Set:
        name = "ps0"

    def put(path, content=None):
        (tmp_path / "submitted" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "submitted" / path).write_bytes(json.dumps(right()).encode() if content is None else content)

    put.collect = lambda: {one.student: one for one in submissions.collect(tmp_path, Set)}
    put.course = tmp_path
    return put


ELSEWHERE = [
    ("s01/ps0/ps0.IPYNB", "s01"),
    ("s01/ps0/PS0.ipynb", "s01"),
    ("s01/ps0/ps0 (1).ipynb", "s01"),
    ("s01/ps0/ps0.ipynb.txt", "s01"),
    ("s01/ps0/loesung.ipynb", "s01"),
    ("s01/ps0.ipynb", "s01"),
    ("s01/notebook.ipynb", "s01"),
    ("s01/ps0/ps0/ps0.ipynb", "s01"),
    ("s01/ps0/ps0.zip", "s01"),
    ("s01/ps0.tar.gz", "s01"),
    ("s01.zip", "s01.zip"),
    ("s01.ipynb", "s01.ipynb"),
    ("all/s01/ps0/ps0.ipynb", "all"),
]


@pytest.mark.parametrize("path, student", ELSEWHERE)
def test_what_lies_elsewhere_is_named_with_the_place_where_it_is_expected(handed_in, path, student):
    handed_in(path)
    handed_in("s02/ps0/ps0.ipynb")
    found = handed_in.collect()
    assert list(found) == [student, "s02"]
    place = student.partition(".")[0]
    assert found[student].problem == f"no notebook at submitted/{place}/ps0/ps0.ipynb, but found submitted/{path}"
    assert found[student].handed_in
    assert found["s02"].problem == ""
    assert submissions.mentioned(handed_in.course, "ps0")


def test_what_belongs_to_another_set_or_to_nobody_is_left_out(handed_in):
    for path in ("s01/ps1/ps1.ipynb", "s02/ps1.ipynb", "ps1.zip", ".DS_Store", "__MACOSX/x.ipynb", "s01.zip"):
        handed_in(path)
    found = handed_in.collect()
    assert list(found) == ["s01", "s02"]
    for student, one in found.items():
        assert (one.handed_in, one.problem) == (False, f"no notebook at submitted/{student}/ps0/ps0.ipynb")
    assert not submissions.mentioned(handed_in.course, "ps0")
    assert submissions.mentioned(handed_in.course, "ps1")


def test_another_notebook_beside_it_is_named(handed_in):
    handed_in("s01/ps0/ps0.ipynb")
    handed_in("s01/ps0/ps0-Copy1.ipynb")
    handed_in("s01/ps0/.ipynb_checkpoints/ps0-checkpoint.ipynb")
    (one,) = handed_in.collect().values()
    assert (one.problem, one.notes) == ("", ("not graded, because the name is not ps0.ipynb: ps0-Copy1.ipynb",))


@pytest.mark.parametrize("name", ["Jörg Müller", "o'brien [late]", "*", "Doe, Jane", "12345", " s01 ", "a+b", "{x}"])
def test_every_name_is_a_students(handed_in, name):
    handed_in(f"{name}/ps0/ps0.ipynb")
    (one,) = handed_in.collect().values()
    assert (one.student, one.problem) == (name, "")


@pytest.mark.posix("names of files that are no text, links, pipes and rights of files")
def test_links_pipes_and_names_that_are_no_text_are_refused(handed_in):
    handed_in("s01/ps0/ps0.ipynb")
    submitted = handed_in.course / "submitted"
    targets = {"s02": submitted / "s01/ps0/ps0.ipynb", "s03": "nowhere", "s04": "ps0.ipynb"}
    for student, target in targets.items():
        (submitted / student / "ps0").mkdir(parents=True)
        (submitted / student / "ps0" / "ps0.ipynb").symlink_to(target)
    (submitted / "s05").symlink_to(submitted / "s01")
    (submitted / "s06" / "ps0").mkdir(parents=True)
    os.mkfifo(submitted / "s06" / "ps0" / "ps0.ipynb")
    (submitted / "s07" / "ps0" / "ps0.ipynb").mkdir(parents=True)
    handed_in("s08/ps0/real.ipynb")
    (submitted / "s08" / "ps0" / "ps0.ipynb").symlink_to("real.ipynb")
    handed_in("s09\n/ps0/ps0.ipynb")
    (submitted / os.fsdecode(b"s10\xff") / "ps0").mkdir(parents=True)
    problems = {student: one.problem for student, one in handed_in.collect().items()}
    assert all(student.encode() for student in problems)
    linked = "is a link to a file outside the student's folder"
    told = {"s02": linked, "s03": "cannot be read", "s04": "cannot be read", "s05": linked}
    told |= {
        "s06": "is not a file",
        "s07": "is not a file",
        "s09\ufffd": "rename the folder",
        "s10\ufffd": "rename the folder",
    }
    assert {student for student, problem in problems.items() if problem} == set(told)
    for student, part in told.items():
        assert part in problems[student], student


def test_a_time_that_is_none_is_named(handed_in):
    pytest.importorskip("nbgrader", reason=COURSES)
    for student, text in (("s01", "2026-01-31 12:00:00 UTC"), ("s02", "soon"), ("s03", "")):
        handed_in(f"{student}/ps0/ps0.ipynb")
        handed_in(f"{student}/ps0/timestamp.txt", text.encode())
    found = handed_in.collect()
    assert [one.problem for one in found.values()] == [
        "",
        "timestamp.txt must contain a time, but contains other text",
        "",
    ]
    assert found["s01"].timestamp == "2026-01-31 12:00:00 UTC"
    assert found["s01"].digest != found["s03"].digest


# --- a class


BUSY = """
import time
while True:
    try:
        time.sleep(0.1)
    except BaseException:
        pass
"""
NEAR = "import os, shutil\nshutil.rmtree('..')\nos.remove('../../nothing') if os.path.exists('../../nothing') else 0"
PATCHED = """
import sys, warnings
import numpy
numpy.allclose = numpy.sum = None
sys.exit(0)
"""
LOUD = """
def first(x):
    import sys, warnings
    warnings.warn("careful")
    print("x", file=sys.stderr)
    return x


first(int(input("a number")))
"""


SILENT = """
import IPython.core.interactiveshell
IPython.core.interactiveshell.InteractiveShell.showtraceback = lambda *args, **kwargs: None


def second(x):
    return abs(x) / 2
"""


KERNEL = {"name": "my-own-environment", "display_name": "R", "language": "R"}


def own(source):
    """A change that puts a new cell of the student at the beginning of a notebook."""
    return lambda made: made["cells"].insert(0, {**copy.deepcopy(TEXT), "id": "own", "cell_type": "code",
                                                 "outputs": [], "execution_count": None, "source": source})  # fmt: skip


DAMAGED = {
    "copied": (again("first"), None),
    "cut": (lambda path: path.write_bytes(path.read_bytes()[:900]), None),
    "renamed": (lambda path: path.rename(path.with_suffix(".IPYNB")), None),
    "too high": (lambda path: path.rename(path.parent.parent / path.name), None),
    "dead": (own("import os\nos._exit(1)"), None),
    "busy": (own(BUSY), None),
    "stripped": (lambda made: (strip_all(made), made.update(metadata={})), 4),
    "deleted": (drop("first_value", "second_sign"), 4),
    "removes files": (own(NEAR), 4),
    "prints for ever": (own("import time\n\nwhile True:\n    print('x' * 1000)\n    time.sleep(1e-3)"), 4),
    "Jörg, patched [late]": (own(PATCHED), 4),
    "loud": (lambda made: (rewrite(made, first=LOUD), made["metadata"].update(kernelspec=KERNEL)), 4),
}
FINE = [f"s{i:02}" for i in range(8)]


def grades(course):
    with (course / "grades.csv").open(encoding="utf-8", newline="") as file:
        return {row["student_id"]: row for row in csv.DictReader(file)}


def graded(course, capsys, *options):
    """The exit code, {student: row of the JSON document}, and the text on standard error."""
    capsys.readouterr()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cage, "missing", list)  # otherwise standard error would name protections that this system lacks
        code = main.main(["course", "grade", "ps0", "--course", str(course), "--json", *options])
    out, err = capsys.readouterr()
    return code, {row["student"]: row for row in json.loads(out)}, err


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A class of twenty students who have submitted a small problem set. The time limit of a cell is three seconds."""
    pytest.importorskip("nbgrader", reason=COURSES)
    from nfa.course import folder

    course = tmp_path_factory.mktemp("courses") / "a small cöurse"
    folder.new(course, ["ps1_by_hand"])
    shutil.rmtree(course / "masters" / "ps1_by_hand")
    config = course / "nbgrader_config.py"
    config.write_text(config.read_text(encoding="utf-8") + "\nc.Execute.timeout = 3\n", encoding="utf-8")
    masters = course / "masters" / "ps0"
    masters.mkdir()
    (masters / "master.py").write_text(MASTER)
    (masters / "checks.py").write_text(CHECKS)
    (masters / "set.toml").write_text('title = "A set"\nminutes = 1\nstatements = []\n')
    (problems,) = folder.sets_of(course)
    folder.build(course, problems)
    hand_in(course, *FINE, *DAMAGED)
    for student, (change, _) in DAMAGED.items():
        path = course / "submitted" / student / "ps0" / "ps0.ipynb"
        if getattr(change, "__code__", None) and change.__code__.co_varnames[:1] == ("path",):
            change(path)
        else:
            made = json.loads(path.read_text())
            change(made)
            path.write_text(json.dumps(made))
    return course


def hand_in(course, *students, **sources):
    """Submit the released notebook as a student, with the right solutions or with the given sources."""
    made = json.loads((course / "release" / "ps0" / "ps0.ipynb").read_text(encoding="utf-8"))
    for one in made["cells"]:
        one["source"] = {**ANSWERS, **sources}.get(one["id"], one["source"])
    for student in students:
        path = course / "submitted" / student / "ps0" / "ps0.ipynb"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(made))


@pytest.mark.nightly
def test_a_class_of_twenty(course, capsys):
    """We grade a class with twelve damaged notebooks, and again after some students have submitted new notebooks."""
    code, rows, err = graded(course, capsys, "--jobs", "2")
    stated = {student: score for student, (_, score) in DAMAGED.items()} | dict.fromkeys(FINE, 4)
    assert {student: row["score"] for student, row in rows.items()} == stated, rows
    assert code == 1
    missing = sorted(student for student, score in stated.items() if score is None)
    assert err == f"nfa: 6 of 20 submissions not graded: {', '.join(missing)}\n"
    table = grades(course)
    assert sorted(table) == sorted(stated)
    for student, row in rows.items():
        page = course / "feedback" / student / "ps0" / "ps0.html"
        if row["score"] is None:
            assert (row["status"], table[student]["score"]) == ("not graded", "not graded")
            assert len(row["reason"]) > 10
            assert table[student]["note"] == row["reason"]
            assert not page.exists()
            assert not (course / "autograded" / student).exists()
        else:
            assert (row["status"], row["reason"], float(table[student]["score"])) == ("graded", "", 4)
            assert "HIDDEN" not in page.read_text(encoding="utf-8")
    assert "Python process died" in rows["dead"]["reason"]
    assert "could not be stopped" in rows["busy"]["reason"]

    kept = (course / "feedback" / "s02" / "ps0" / "ps0.html").read_bytes()
    hand_in(course, "dead", "busy", "copied", "cut", "renamed", "too high", "removes files")
    hand_in(course, "s00", second=SILENT)
    (course / "submitted" / "s01" / "ps0" / "ps0.ipynb").write_bytes(b"")
    shutil.rmtree(course / "submitted" / "s02")
    shutil.rmtree(course / "submitted" / "s03" / "ps0")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "80")
        code, rows, err = graded(course, capsys)
    assert (code, err) == (1, "nfa: 1 of 20 submissions not graded: s01\n")
    assert {student: row["score"] for student, row in rows.items()} == {
        **dict.fromkeys([*DAMAGED, *FINE], 4),
        "s00": 3,
        "s01": None,
    }
    assert "is empty" in rows["s01"]["reason"]
    assert not (course / "feedback" / "s01" / "ps0" / "ps0.html").exists()
    assert (course / "feedback" / "s02" / "ps0" / "ps0.html").read_bytes() == kept
    assert (course / "feedback" / "s00" / "ps0" / "ps0.html").read_text(encoding="utf-8").count("AssertionError") == 1
    assert ["earlier grading" in "".join(rows[student]["notes"]) for student in ("s02", "s03", "s04")] == [1, 1, 0]
    assert [grades(course)[student]["score"] for student in ("s00", "s01", "s02")] == ["3.0", "not graded", "4.0"]
