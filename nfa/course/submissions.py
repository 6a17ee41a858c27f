"""The submissions of students: find each submission, read it, and restore cells that its notebook lost.

A bad submission raises no error here. If it cannot be graded, `Submitted.problem` gives the reason. nbgrader gets a new
notebook, made from the cells of the released notebook and the sources of the student. So nbgrader gets no metadata,
outputs or kernel from the student's file.
"""

import hashlib
import json
import re
import shutil
import stat
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from nfa.course.problem_sets import ProblemSet

LARGEST = 200e6  # largest number of bytes of a notebook
NAMED = 3  # largest number of files or cells that a sentence names; the others are counted
JUNK = {"__MACOSX", "__pycache__"}  # names of folders that do not belong to students
ARCHIVES = {".7z", ".rar", *(end for _, ends, _ in shutil.get_unpack_formats() for end in ends)}
DEFINED = re.compile(r"^(?:(?:async +)?def|class) +(\w+)|^(\w+) *=(?!=)", re.MULTILINE)


class CannotGradeError(Exception):
    """A submission cannot be graded. The text gives the reason."""


@dataclass(frozen=True)
class Submitted:
    """The submission of one student for a problem set.

    ``problem`` is the reason why it cannot be graded, or "". ``notes`` are sentences for the teacher about a submission
    that can be graded. ``notebook`` is the restored notebook as JSON, and ``own`` contains the sources of the student's
    cells. ``digest`` changes if the submission changes. ``handed_in`` is False if there is no submission.
    """

    student: str
    problem: str = ""
    notes: tuple[str, ...] = ()
    notebook: str = ""
    own: str = ""
    digest: str = ""
    timestamp: str = ""
    handed_in: bool = True


class SubmittedCell(NamedTuple):
    """A cell of a student's notebook. ``mark`` is nbgrader's name for the cell, or ""."""

    kind: str
    source: str
    mark: str
    id: str
    meta: Mapping[str, Any]
    attachments: Mapping[str, Any]


class Place(NamedTuple):
    """A cell of the restored notebook. ``name`` is its name in the released notebook, or "" for the student's own cell.

    ``cell`` is the student's cell, or None for a cell that is restored. ``also`` are the names of missing solution
    cells with functions that this cell defines.
    """

    name: str
    cell: SubmittedCell | None
    also: frozenset[str] = frozenset()


def released(course: Path, name: str) -> dict[str, Any]:
    """The released notebook of a problem set, as plain dictionaries.

    Raises
    ------
    ValueError : if the set is not built
    """
    path = course / "release" / name / f"{name}.ipynb"
    if not path.is_file():
        raise ValueError(f"nfa can grade {name} only after you build this set: run nfa course build {name}")
    return json.loads(path.read_text(encoding="utf-8"))


def built(course: Path) -> list[str]:
    """The problem sets of a course that have a student version."""
    return sorted(path.stem for path in course.glob("release/*/*.ipynb") if path.stem == path.parent.name)


def collect(course: Path, problems: ProblemSet) -> list[Submitted]:
    """The submissions of all students with a folder in ``submitted/``, in the order of their names.

    Raises
    ------
    ValueError : if the set is not built
    """
    releases = {name: released(course, name) for name in {problems.name, *built(course)}}
    places = (place for place in _places(course) if place.is_dir() or _concerns(course, problems.name, place))
    return [_submitted(course, problems.name, place, releases) for place in places]


def mentioned(course: Path, name: str) -> bool:
    """Whether a path in ``submitted/`` contains the name of this problem set, in upper or lower case."""
    places = _places(course)
    files = (path for place in places for path in (_below(place) if place.is_dir() else [place]))
    return any((place / name).is_dir() for place in places) or any(name in _path(course, path) for path in files)


def _path(course: Path, path: Path) -> str:
    """A path in ``submitted/``, in lower case."""
    return path.relative_to(course / "submitted").as_posix().casefold()


def _places(course: Path) -> list[Path]:
    """The folders of the students, and files that may be submissions next to these folders."""
    found = sorted((course / "submitted").glob("*"))
    found = [place for place in found if not place.name.startswith(".") and place.name not in JUNK]
    folders = {place.name for place in found if place.is_dir()}
    unpacked = {place for place in found if place.name.partition(".")[0] in folders}  # such as s01.zip next to s01
    return [place for place in found if place.name in folders or (_telling(place) and place not in unpacked)]


def _telling(path: Path) -> bool:
    """Whether a file may be a submission: a notebook with any name, or an archive."""
    name = path.name.casefold()
    return ".ipynb" in name or any(name.endswith(end) for end in ARCHIVES)


def _below(folder: Path) -> Iterator[Path]:
    """The files below a folder that may be submissions. Links to folders are not followed."""
    try:
        entries = sorted(folder.iterdir())
    except OSError:
        return
    for entry in entries:
        if entry.name.startswith(".") or entry.name in JUNK:
            continue
        if entry.is_dir() and not entry.is_symlink():
            yield from _below(entry)
        elif _telling(entry):
            yield entry


def shown(name: str) -> str:
    """A name from the file system as text that can be printed and stored."""
    text = name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return "".join("\N{REPLACEMENT CHARACTER}" if unicodedata.category(char) == "Cc" else char for char in text)


def some(names: Iterable[str]) -> str:
    """Some of these names, and the number of the other names, as one text.

    Examples
    --------
    >>> some(["a", "b"]), some("abcde")
    ('a, b', 'a, b, c and 2 more')
    """
    every = list(names)
    more = f" and {len(every) - NAMED} more" if len(every) > NAMED else ""
    return ", ".join(every[:NAMED]) + more


def _submitted(course: Path, name: str, place: Path, releases: Mapping[str, dict[str, Any]]) -> Submitted:
    student = shown(place.name)
    try:
        if student != place.name:
            raise CannotGradeError("the name of the folder is not valid UTF-8: rename the folder")
        path, beside = _find(course, name, place)
        if path is None:
            return Submitted(student, f"no notebook at submitted/{student}/{name}/{name}.ipynb", handed_in=False)
        content = _bytes(course, place, path)
        timestamp = _timestamp(path.with_name("timestamp.txt"))
        cells = read(content)
        notebook, notes = restore(name, cells, releases)
    except CannotGradeError as error:
        return Submitted(student, str(error))
    except OSError as error:
        return Submitted(student, f"the folder of the student cannot be read: {error.strerror}")
    if beside:
        notes.append(f"not graded, because the name is not {path.name}: {some(beside)}")
    digest = hashlib.sha256(content + timestamp.encode()).hexdigest()
    own = "\n".join(cell.source for cell in cells)
    return Submitted(student, "", tuple(notes), json.dumps(notebook), own, digest, timestamp)


# --- find


def _find(course: Path, name: str, place: Path) -> tuple[Path | None, list[str]]:
    """The notebook of a set at its expected path or None, and the other notebooks in its folder.

    Raises CannotGradeError if there are files that may be the submission, but not at this path.
    """
    wanted = place / name / f"{name}.ipynb"
    there = {entry.name for entry in wanted.parent.iterdir()} if wanted.parent.is_dir() else set()
    # Compare the name in the folder, because some systems ignore upper and lower case.
    if place.is_dir() and wanted.name in there:
        return wanted, [path.name for path in _below(wanted.parent) if path != wanted]
    found = [path for path in _below(place) if _concerns(course, name, path)] if place.is_dir() else [place]
    if not found:
        return None, []
    paths = some(shown(path.relative_to(course).as_posix()) for path in found)
    student = shown(place.name if place.is_dir() else place.name.partition(".")[0])
    raise CannotGradeError(f"no notebook at submitted/{student}/{name}/{name}.ipynb, but found {paths}")


def _concerns(course: Path, name: str, path: Path) -> bool:
    """Whether a file may be a submission of this set: its path contains the name of this set, or of no set."""
    sets = {one.parent.name for one in course.glob("masters/*/set.toml")} | {name}
    named = {one for one in sets if one in _path(course, path)}
    return name in named or not named


def _bytes(course: Path, place: Path, path: Path) -> bytes:
    """The content of a notebook in the student's own folder.

    Raises
    ------
    CannotGradeError : if it is not a file that can be read, or if it is a link out of the folder
    """
    name = path.relative_to(course).as_posix()
    try:
        real, home, root = path.resolve(strict=True), place.resolve(), course.resolve()
        elsewhere = place.is_symlink() and (home.is_relative_to(root) or root.is_relative_to(home))
        if elsewhere or not real.is_relative_to(home):
            raise CannotGradeError(f"{name} is a link to a file outside the student's folder")
        about = path.stat()
        if not stat.S_ISREG(about.st_mode):
            raise CannotGradeError(f"{name} is not a file")
        if about.st_size > LARGEST:
            raise CannotGradeError(f"{name} has {about.st_size / 1e6:.0f} MB, more than {LARGEST / 1e6:.0f} MB")
        return path.read_bytes()
    except (OSError, RuntimeError) as error:  # RuntimeError for a link to itself
        why = error.strerror if isinstance(error, OSError) and error.strerror else "a link that leads nowhere"
        raise CannotGradeError(f"{name} cannot be read: {why}") from None


def _timestamp(path: Path) -> str:
    """The time of a submission, from the file that nbgrader writes next to the notebook; "" if there is no such file.

    Raises
    ------
    CannotGradeError : if the text is not a time
    """
    if not path.is_file() or path.is_symlink():
        return ""
    from nbgrader.utils import parse_utc

    try:
        text = path.read_text(encoding="utf-8").strip()
        if text:
            parse_utc(text)
    except (ValueError, OverflowError, OSError):
        raise CannotGradeError("timestamp.txt must contain a time, but contains other text") from None
    return text


# --- read


def read(content: bytes) -> list[SubmittedCell]:
    """The cells of a notebook file in any format of Jupyter and any encoding of Unicode, with line ends of one kind.

    Raises
    ------
    CannotGradeError : if the content is not a notebook
    """
    if not content.strip():
        raise CannotGradeError("the notebook is empty")
    try:
        made = json.loads(content)
    except UnicodeDecodeError:
        raise CannotGradeError("the notebook cannot be read: the text is not in UTF-8") from None
    except json.JSONDecodeError as error:
        cut = error.pos >= len(error.doc.rstrip()) - 1 or error.msg.startswith("Unterminated")
        why = "the file is cut short" if cut else f"the file is not JSON, see line {error.lineno}"
        raise CannotGradeError(f"the notebook cannot be read: {why}") from None
    except (ValueError, RecursionError):
        raise CannotGradeError("the notebook cannot be read: the file is not JSON") from None
    if not isinstance(made, dict) or not isinstance(made.get("nbformat"), int):
        raise CannotGradeError("the file is not a notebook")
    if made["nbformat"] != 4:
        made = _upgraded(made)
    if not isinstance(made.get("cells"), list):
        raise CannotGradeError("the notebook has no cells")
    return [_cell(at, cell) for at, cell in enumerate(made["cells"], 1)]


def _upgraded(made: dict[str, Any]) -> dict[str, Any]:
    import nbformat

    try:
        return nbformat.convert(nbformat.from_dict(made), 4)
    except Exception as error:  # nbformat raises errors of many types
        raise CannotGradeError(f"the notebook has the format {made['nbformat']}, which nbformat cannot read") from error


def _cell(at: int, cell: Any) -> SubmittedCell:
    source = cell.get("source") if isinstance(cell, dict) else None
    if isinstance(source, list) and all(isinstance(line, str) for line in source):
        source = "".join(source)
    if not isinstance(source, str) or cell.get("cell_type") not in ("code", "markdown", "raw"):
        raise CannotGradeError(f"the notebook cannot be read: cell {at} is not a valid cell")
    if any("\ud800" <= char <= "\udfff" for char in source):
        raise CannotGradeError(f"the notebook cannot be read: cell {at} has a character that UTF-8 cannot encode")
    source = source.replace("\r\n", "\n").replace("\r", "\n")
    metadata = cell.get("metadata")
    meta = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    meta = meta if isinstance(meta, dict) else {}
    mark, name = meta.get("grade_id"), cell.get("id")
    given = cell.get("attachments")
    valid = isinstance(given, dict) and all(
        isinstance(of, dict) and all(isinstance(data, str) for data in of.values()) for of in given.values()
    )
    return SubmittedCell(
        cell["cell_type"],
        source,
        mark if isinstance(mark, str) else "",
        name if isinstance(name, str) else "",
        meta,
        given if valid and cell["cell_type"] != "code" else {},
    )


# --- restore


def restore(
    name: str, cells: list[SubmittedCell], releases: Mapping[str, dict[str, Any]]
) -> tuple[dict[str, Any], list[str]]:
    """A notebook that nbgrader can grade: the released cells with the student's solutions, in the student's order.

    Cells are recognised by nbgrader's names, otherwise by their ids, otherwise by their text or by the functions that
    they define. Missing cells are restored after the cells that come before them in the released notebook. A graded
    cell that is too early is moved behind these cells.

    Parameters
    ----------
    name : the problem set
    cells : the cells of the submission
    releases : the released notebook of every problem set, as plain dictionaries

    Returns
    -------
    notebook : as plain dictionaries
    notes : sentences for the teacher about restored cells and other facts

    Raises
    ------
    CannotGradeError : if it is another notebook, if a cell with a solution occurs twice, or if all solution cells are
        missing
    """
    release = releases[name]
    ours = _marked(release)
    _refuse_another(name, cells, releases)
    at, notes = _recognised(cells, ours)
    solutions = [one for one in ours if ours[one]["metadata"]["nbgrader"]["solution"]]
    graded = [one for one in ours if ours[one]["metadata"]["nbgrader"]["grade"]]
    if twice := [one for one in solutions if len(at.get(one, [])) > 1]:
        raise CannotGradeError(
            f"each cell of the assignment must occur once, but these cells occur twice: {some(twice)}"
        )
    elsewhere = _elsewhere([one for one in solutions if one not in at], cells, at, ours)
    if not any(one in at or one in elsewhere for one in solutions):
        lost = f"the notebook has none of the {len(solutions)} solution cells"
        if not any(one in at for one in graded):
            lost = f"the notebook has none of the {len(graded)} graded cells of {name}"
        raise CannotGradeError(lost)
    strangers = [cell for cell in cells if cell.mark and cell.mark not in ours]
    gone = [one for one in solutions if one not in at and one not in elsewhere]
    if gone and any(cell.meta.get("solution") for cell in strangers):
        raise CannotGradeError(f"the notebook is from another version of {name} and lacks the cell {some(gone)}")
    notes += (
        [f"cells that are not from {name} and run without points: {some(cell.mark for cell in strangers)}"]
        if strangers
        else []
    )
    if again := [one for one in ours if one not in solutions and len(at.get(one, [])) > 1]:
        notes.append(f"a cell occurs twice and counts once: {some(again)}")
    if older := [
        one
        for one, places in at.items()
        if len(checksum := str(cells[places[-1]].meta.get("checksum", ""))) == 32
        and checksum != ours[one]["metadata"]["nbgrader"].get("checksum", checksum)
    ]:
        notes.append(f"made from another version of {name}: {some(older)}")
    if retyped := [one for one, places in at.items() if cells[places[-1]].kind != ours[one]["cell_type"]]:
        notes.append(f"a cell had another type, and its own type is restored: {some(retyped)}")
    names = {places[-1]: one for one, places in at.items()}
    also = {i: {one for one in elsewhere if elsewhere[one] == i} for i in elsewhere.values()}
    order = [Place(names.get(i, ""), cell, frozenset(also.get(i, ()))) for i, cell in enumerate(cells)]
    lacking, moved = _put_back(order, ours)
    for told, which in (
        ("a graded cell was missing and is restored", [one for one in lacking if one in graded]),
        ("a given cell was missing and is restored", [one for one in lacking if one not in graded and one not in gone]),
        ("a cell is missing and counts as not written", gone),
        ("a graded cell stood before the cell that it grades, and is moved", moved),
    ):
        notes += [f"{told}: {some(which)}"] if which else []
    made = [_made(i, place, ours) for i, place in enumerate(order)]
    metadata = {"kernelspec": release["metadata"]["kernelspec"], "language_info": {"name": "python"}}
    return {"nbformat": 4, "nbformat_minor": 5, "metadata": metadata, "cells": made}, notes


def _marked(release: Mapping[str, Any]) -> dict[str, Any]:
    """The cells of a released notebook with nbgrader's marks, by name and in order."""
    found = ((cell["metadata"].get("nbgrader", {}).get("grade_id"), cell) for cell in release["cells"])
    return {name: cell for name, cell in found if name}


def _source(cell: Mapping[str, Any]) -> str:
    return "".join(cell["source"])


def _plain(source: str) -> str:
    """A source without spaces at the ends of lines and without blank lines at both ends, which programs can change."""
    return "\n".join(line.rstrip() for line in source.splitlines()).strip("\n")


def _defines(source: str) -> set[str]:
    """The names that a source defines at its top level."""
    return {a or b for a, b in DEFINED.findall(source)}


def _refuse_another(name: str, cells: list[SubmittedCell], releases: Mapping[str, dict[str, Any]]) -> None:
    """Raise CannotGradeError if more cells belong to another problem set than to this set."""
    marks = {cell.mark for cell in cells if cell.mark} or {cell.id for cell in cells}
    counts = {}
    for other, release in releases.items():
        ours = _marked(release)
        counts[other] = len(marks & (set(ours) | {cell.get("id") for cell in ours.values()}))
    nearest = max(counts, key=lambda other: (counts[other], other == name))
    if nearest != name:
        raise CannotGradeError(f"the cells of the notebook are from {nearest}")


def _recognised(cells: list[SubmittedCell], ours: Mapping[str, Any]) -> tuple[dict[str, list[int]], list[str]]:
    """The positions of each named cell in the notebook, and a note if names are restored."""
    at: dict[str, list[int]] = {}
    for i, cell in enumerate(cells):
        if cell.mark in ours:
            at.setdefault(cell.mark, []).append(i)
    marked, taken = set(at), {i for places in at.values() for i in places}

    def free(one: str, fits: Any) -> None:
        if one in at:
            return
        if places := [i for i, cell in enumerate(cells) if i not in taken and not cell.mark and fits(cell)]:
            at[one] = places
            taken.update(places)

    for one, released_cell in ours.items():
        free(one, lambda cell, known=released_cell: bool(cell.id) and cell.id == known.get("id"))
    for one, released_cell in ours.items():
        text, words = _plain(_source(released_cell)), _defines(_source(released_cell))
        if not released_cell["metadata"]["nbgrader"]["solution"]:
            free(one, lambda cell, text=text: _plain(cell.source) == text)
        elif words and sum(words <= _defines(cell.source) for cell in cells) == 1:
            free(one, lambda cell, words=words: cell.kind == "code" and words <= _defines(cell.source))
    back = [one for one in ours if one in at and one not in marked]
    return at, [f"the mark of a cell was lost and is restored: {some(back)}"] if back else []


def _elsewhere(
    gone: list[str], cells: list[SubmittedCell], at: dict[str, list[int]], ours: Mapping[str, Any]
) -> dict[str, int]:
    """The positions of other cells that define the functions of missing solution cells, such as merged cells.

    If a student defined such a function in a given or graded cell, this cell becomes the student's own cell, because
    the released cell replaces it.
    """
    found = {}
    for one in gone:
        words = _defines(_source(ours[one]))
        if places := [i for i, cell in enumerate(cells) if cell.kind == "code" and words & _defines(cell.source)]:
            found[one] = places[-1]
            for other, taken in list(at.items()):
                if not ours[other]["metadata"]["nbgrader"]["solution"] and set(taken) & set(places):
                    del at[other]
    return found


def _put_back(order: list[Place], ours: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """Insert missing cells, and move graded cells behind the cells that they grade. Return the names of both."""
    lacking, moved = [], []
    before: list[str] = []
    for one, cell in ours.items():
        places = {name: i for i, place in enumerate(order) for name in (place.name, *place.also)}
        graded = cell["metadata"]["nbgrader"]["grade"]
        spots = [places[name] for name in before]
        earliest = 1 + ((max(spots) if graded else spots[-1]) if spots else -1)
        if one not in places:
            order.insert(earliest, Place(one, None))
            lacking.append(one)
        elif graded and places[one] < earliest:
            order.insert(earliest - 1, order.pop(places[one]))
            moved.append(one)
        before.append(one)
    return lacking, moved


def _made(i: int, place: Place, ours: Mapping[str, Any]) -> dict[str, Any]:
    """A cell of the restored notebook: the released cell with the student's solution, or the student's own cell."""
    cell = place.cell
    if place.name:
        made = {**ours[place.name]}
        if cell is not None and made["metadata"]["nbgrader"]["solution"]:
            made["source"] = cell.source
        return made
    assert cell is not None  # only released cells are inserted
    made = {"id": f"own-{i}", "cell_type": cell.kind, "metadata": {}, "source": cell.source}
    if cell.kind == "code":
        return made | {"outputs": [], "execution_count": None}
    return made | ({"attachments": cell.attachments} if cell.attachments else {})
