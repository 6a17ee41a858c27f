"""Tests of the last section of every tutorial, and of the requirements and minutes in the syllabus."""

import re
import tomllib

import pytest

from tests.project.tree import ROOT

TUTORIALS = sorted((ROOT / "tutorials").glob("[0-9][0-9]_*.py"))
SYLLABUS = (ROOT / "tutorials" / "syllabus.md").read_text(encoding="utf-8")
ENDS = ["## Exercises", "## Three questions", "## Further reading"]


def prose(path):
    """The text of the Markdown cells of a percent script."""
    cells = path.read_text(encoding="utf-8").split("\n# %%")[1:]
    words = [cell.partition("\n")[2] for cell in cells if cell.startswith(" [markdown]")]
    return re.sub(r"(?m)^# ?", "", "\n".join(words))


def rows():
    """The rows of the syllabus' first table by number: name of the tutorial, minutes, requirements, problem sets."""
    found = re.findall(r"(?m)^\| (\d\d) \| \[[^]]+\]\((\w+)\.py\) \| (\d+) \| ([^|]+)\|[^|]+\|([^|]*)\|$", SYLLABUS)
    return {number: row for number, *row in found}


@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.stem)
def test_ends_with_exercises_questions_and_reading(path):
    text = prose(path)
    assert [line for line in text.splitlines() if line in ENDS] == ENDS
    questions = text.partition(ENDS[1])[2].partition(ENDS[2])[0]
    folds = re.findall(r"<details><summary>(\d)\. (.+?)</summary>\n\n(.+?)\n\n</details>", questions, re.DOTALL)
    assert [number for number, _, _ in folds] == ["1", "2", "3"]
    assert all(question.endswith("?") for _, question, _ in folds)
    assert questions.count("<details>") == questions.count("</details>") == 3
    reading = re.split(r"\n- ", text.partition(ENDS[2])[2])[1:]
    assert len(reading) >= 2
    # each entry has a year and, after a colon, a reason
    assert all(re.search(r"\b(19|20)\d\d\b", entry) and ": " in entry for entry in reading)


def test_the_syllabus_has_every_tutorial_after_what_it_needs():
    table = rows()
    assert [table[number][0] for number in sorted(table)] == [path.stem for path in TUTORIALS]
    for number, (_, _, needs, _) in table.items():
        assert all(needed < number for needed in re.findall(r"\b\d\d\b", needs)), f"{number} needs {needs}"


def test_the_syllabus_has_every_problem_set_with_its_minutes():
    named = re.findall(
        r"\[(\d+): [^]]+\]\(\S+/(ps\w+)/goals\.md\), (\d+)", " ".join(row[-1] for row in rows().values())
    )
    sets = [path.parent for path in sorted((ROOT / "nfa" / "course" / "sets").glob("ps*/set.toml"))]
    minutes = [tomllib.loads((path / "set.toml").read_text(encoding="utf-8"))["minutes"] for path in sets]
    want = {(path.name[2:].partition("_")[0], path.name, str(took)) for path, took in zip(sets, minutes, strict=True)}
    assert len(named) == len(want)
    assert set(named) == want
