"""Your own data: an `.npz` file of arrays, or a `.csv` table with a column of labels. Labels are numbers or text."""

import csv
import math
import re
import unicodedata
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, takewhile
from pathlib import Path

import numpy as np

from nfa.data.content import LARGEST
from nfa.data.npz import first_line, read_examples, read_npz
from nfa.data.transforms import check_labels

LABEL = "label"  # name of the column with the labels
NO_NAMES = f"the first line must name the columns, and one column must be called {LABEL}"
NOT_UTF_8 = "the encoding of a table must be UTF-8: save the table again in UTF-8"
# Some programs write these separators in place of commas.
SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "vertical bars"}
MISSING = frozenset("na n/a <na> nan -nan null none #n/a #na ? - .".split())  # texts for a missing value
# Names of columns that identify a row, such as id, sample_id and patientID.
ROW_NAME = re.compile(r"(?i:(.*[\W_])?(id|index|level_0|row|rownames))|.*[a-z]I[dD]")
WHOLE_NUMBER = re.compile("0|-?[1-9][0-9]{0,17}")  # whole numbers as labels
FEW = 5  # a table with fewer rows may have a feature 0, 1, 2, ... by chance
MOST_CLASSES = 10**6
CHANNELS = (1, 3)  # numbers of channels of grey images and of colour images


def class_names(classes: str) -> tuple[str, ...]:
    """The classes in a declaration, in the order of the columns of the one-hot targets.

    Parameters
    ----------
    classes : names separated by commas, or a number K for the labels 0 to K - 1. A name that contains a comma needs
        quotes, as in a table

    Raises
    ------
    ValueError : if there are fewer than two or more than a million classes, if a name is empty, or if two names are
        equal

    Examples
    --------
    >>> class_names("dog, cat"), class_names("3")
    (('dog', 'cat'), ('0', '1', '2'))
    """
    names = tuple(name.strip() for name in next(csv.reader([classes], skipinitialspace=True), []))
    if len(names) == 1 and re.fullmatch("0|[1-9][0-9]{0,8}", names[0]):
        K = int(names[0])
        names = tuple(map(str, range(min(K, MOST_CLASSES + 1))))
    if not 2 <= len(names) <= MOST_CLASSES:
        raise ValueError(
            "classes must be at least two names with commas between them, or a whole number K from 2 to"
            f" {MOST_CLASSES:,} for the labels 0 to K - 1, got {classes!r}"
        )
    if "" in names or len(set(names)) < len(names):
        raise ValueError(f"classes must be different names, none of them empty, got {classes!r}")
    return names


@dataclass(frozen=True, eq=False)
class Examples:
    """Examples of a user's own file, not yet checked against a network.

    Parameters
    ----------
    x : (n, ...) array of numbers
    y : (n,) array of labels, integers or text; None without labels
    columns : names of the features of a table, in order; None for arrays
    """

    x: np.ndarray
    y: np.ndarray | None
    columns: tuple[str, ...] | None = None


def read_own(
    path: Path, classes: tuple[str, ...] | None = None
) -> tuple[dict[str, np.ndarray], bool, tuple[str, ...] | None]:
    """The arrays x_train, y_train, x_test, y_test of a file, whether the file lacks a test set, and its columns.

    A table has no test set (see `read_csv`). A file with the arrays x and y has no test set either (see
    `nfa.data.npz.read_npz`). Without a test set, all examples are in x_train and y_train. The columns are the names of
    the features of a table, and None for arrays. Images (n, H, W) become (n, 1, H, W). Raises the errors of the two
    readers.
    """
    columns = None
    if path.suffix.lower() == ".csv":
        table = read_csv(path, classes)
        arrays, columns = {"x": table.x} | ({} if table.y is None else {"y": table.y}), table.columns
    else:
        arrays = read_npz(path)
    unsplit = "x" in arrays
    if unsplit:
        arrays = {"x_train": arrays["x"], "y_train": arrays["y"], "x_test": arrays["x"][:0], "y_test": arrays["y"][:0]}
    try:
        for key in ("x_train", "x_test"):
            arrays[key] = with_channel(arrays[key], "x" if unsplit else key)
    except ValueError as refusal:
        raise ValueError(f"{path.name}: {refusal}") from None
    return arrays, unsplit, columns


def read_test_set(path: Path, arrays: dict[str, np.ndarray], columns: tuple[str, ...] | None) -> dict[str, np.ndarray]:
    """The arrays of a file without a test set, with x_test and y_test from another file.

    Parameters
    ----------
    path : path of the test set, as for `read_to_predict`, with labels
    arrays, columns : from `read_own`

    Returns
    -------
    dict of the four arrays. Labels are text, or integers if those of y_train are integers. If one of two tables
    contains only whole numbers in 0 .. 255 and the other table does not, the values of the two tables become float64

    Raises
    ------
    ValueError : as `read_to_predict`, or if there are no labels. ValueError also if the columns of a table or their
        order differ from the training data, or if y_train has integers and a label is not an integer. The message
        contains no value of the training data
    OSError : if the file cannot be read
    """
    found = read_to_predict(path)
    x_train, x, y = arrays["x_train"], found.x, found.y
    if y is None:
        raise ValueError(f"{path.name}: a test set must have labels: add a column {LABEL}, or an array y")
    if columns is not None and found.columns is not None:
        if columns != found.columns:
            other = [name for name, expected in zip(found.columns, columns, strict=False) if name != expected]
            where = f", but column {printable(other[0])} is at the place of another column" if other else ""
            raise ValueError(f"{path.name}: a test set must have the columns of the training data, in order{where}")
        if x.dtype != x_train.dtype:
            x, x_train = x.astype(np.float64), x_train.astype(np.float64)
    if y.dtype.kind == "U" and arrays["y_train"].dtype.kind in "ui":
        for label in y.tolist():
            if not WHOLE_NUMBER.fullmatch(label):
                raise ValueError(
                    f"{path.name}: each label of a test set must occur in the training data, but"
                    f" the label {printable(label)} does not occur"
                )
        y = np.array([int(label) for label in y.tolist()])
    elif arrays["y_train"].dtype.kind == "U" and y.dtype.kind in "ui":
        y = y.astype(str)
    return arrays | {"x_train": x_train, "x_test": x, "y_test": y}


def read_to_predict(path: Path) -> Examples:
    """The examples of a file, with or without labels: the rows of a table, the array x, or the array x_test.

    Labels of a table are text. Raises the errors of `read_csv` and `nfa.data.npz.read_examples`.
    """
    if path.suffix.lower() == ".csv":
        return read_csv(path, optional=True)
    x, y = read_examples(path)
    try:
        return Examples(with_channel(x), y)
    except ValueError as refusal:
        raise ValueError(f"{path.name}: {refusal}") from None


def with_channel(x: np.ndarray, key: str = "x") -> np.ndarray:
    """Images (n, H, W) as images with one channel, (n, 1, H, W). Other arrays are returned unchanged.

    Raises ValueError, with the name of the array, for more than four dimensions, and for images with the channels last,
    as other libraries write them. The function recognises the channels at the end in two cases. In the first case, the
    last size is 1 or 3, and the second size is neither. In the second case, the images are square with more rows than
    channels.

    Examples
    --------
    >>> with_channel(np.zeros((5, 28, 28))).shape
    (5, 1, 28, 28)
    """
    if x.ndim > 4:
        raise ValueError(f"{key} must be (n, features), (n, H, W) or (n, channels, H, W), got shape {x.shape}")
    if x.ndim == 4:
        first, second, last = x.shape[1:]
        square = first == second > last
        if first not in CHANNELS and second != last and (last in CHANNELS or square):
            raise ValueError(
                f"{key} must be (n, channels, H, W), got shape {x.shape} with the channels last: use"
                f" {key}.transpose(0, 3, 1, 2)"
            )
    return x[:, None] if x.ndim == 3 else x


def in_declared_classes(labels: np.ndarray, names: tuple[str, ...], key: str) -> np.ndarray:
    """The labels as 0 .. classes - 1, the positions of their names in a declaration.

    The number of a label depends only on the label itself and on the declaration.

    Parameters
    ----------
    labels : (n,) array, of integers or of text. An integer is compared in its written form, without leading zeros
    names : the declared classes, from `class_names`. Some of them may not occur among the labels
    key : name of the array, for messages

    Raises
    ------
    ValueError : if the labels have another form, or if a label is not a declared class. The message does not show the
        label

    Examples
    --------
    >>> in_declared_classes(np.array(["cat", "dog", "cat"]), ("dog", "cat", "emu"), "y_train").tolist()
    [1, 0, 1]
    """
    check_row(labels, key)
    places = {name: k for k, name in enumerate(names)}
    found = np.array([places.get(label, -1) for label in labels.astype(str).tolist()], np.int64)
    if (found < 0).any():
        number = int(np.argmin(found)) + 1
        raise ValueError(
            f"each label of {key} must be one of the {len(names)} declared classes, but the label of example {number}"
            " is no declared class"
        )
    return found


def check_row(labels: np.ndarray, key: str) -> None:
    """Raise ValueError, with the name of the array and advice, unless the labels are (n,) integers or text."""
    row = labels.ndim == 1
    if row and labels.dtype.kind in "uiU":
        return
    take = ""
    if labels.ndim == 2:  # an array with one column, or a one-hot array with a column for each class
        take = "ravel()" if labels.shape[1] == 1 else "argmax(axis=1)"
    elif row and labels.dtype.kind == "f":
        take = "astype(int)"
    got = labels.dtype if row else f"{labels.ndim} dimensions"
    raise ValueError(
        f"{key} must be a one-dimensional array of integers or text, got {got}{take and f': use {key}.{take}'}"
    )


def in_classes(
    y_train: np.ndarray, y_test: np.ndarray, unsplit: bool
) -> tuple[np.ndarray, np.ndarray, tuple[str, ...]]:
    """The labels as 0 .. classes - 1, and their meanings, if the classes are not declared.

    The classes are then the distinct labels of y_train, sorted. So one record with a new label can change the numbers
    of other labels.

    Parameters
    ----------
    y_train, y_test : (n,) arrays, of integers or of text
    unsplit : whether integers are also treated as names and sorted. In a file with a test set, integers must already be
        0 .. classes - 1

    Raises
    ------
    ValueError : if the labels have another form, if y_test has a label that y_train does not have, or if there is only
        one class. ValueError also if integers must be 0 .. classes - 1 and one of these numbers does not occur in
        y_train
    """
    check_row(y_train, "y" if unsplit else "y_train")
    check_row(y_test, "y_test")
    if (y_test.dtype.kind == "U") != (y_train.dtype.kind == "U"):
        raise ValueError(f"y_test must have labels of the same type as y_train, got {y_test.dtype} and {y_train.dtype}")
    if unsplit or y_train.dtype.kind == "U":
        names = _classes(y_train)
        y_train, y_test = np.searchsorted(names, y_train), _among(names, y_test)
    else:
        remedy = "number the classes from 0, or save their names"
        for key, labels in (("y_train", y_train), ("y_test", y_test)):
            if (labels < 0).any():
                raise ValueError(f"no label of {key} may be negative: {remedy}")
            check_labels(labels, 2**31, key)
        names = np.unique(y_train)
        _check_two(names)
        if len(absent := np.flatnonzero(names != np.arange(len(names)))):
            raise ValueError(
                f"every class from 0 to the largest label must occur in y_train, but class {absent[0]} does not occur:"
                f" {remedy}"
            )
    return y_train.astype(np.int64), y_test.astype(np.int64), tuple(map(str, names))


def _classes(labels: np.ndarray) -> np.ndarray:
    """The labels that occur, sorted."""
    names = np.unique(labels)
    if names.dtype.kind == "U" and any(not name.strip() for name in names):
        raise ValueError("a label must not be empty")
    _check_two(names)
    if len(names) == len(labels) >= FEW:
        raise ValueError(
            f"each label must be the name of a class, but the {len(labels)} examples all have different labels"
        )
    if names.dtype.kind == "U":
        refuse_alike(names)
    return names


def refuse_alike(names: Iterable[str]) -> None:
    """Raise ValueError for two different labels that look equal, because they differ only in invisible characters."""
    seen: dict[str, str] = {}
    for name in names:
        visible = "".join(c for c in unicodedata.normalize("NFC", name) if unicodedata.category(c) != "Cf")
        visible = "".join(" " if unicodedata.category(c) == "Zs" else c for c in visible).strip()
        if (other := seen.setdefault(visible, name)) is not name:
            raise ValueError(
                f"two labels look the same, {str(other)!a} and {str(name)!a}: write both labels in the same way"
            )


def _check_two(names: np.ndarray) -> None:
    if len(names) < 2:
        raise ValueError(f"there must be at least two classes, got {len(names)}")


def _among(names: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The position of each label among the names."""
    if len(unknown := labels[~np.isin(labels, names)]):
        raise ValueError(
            f"each label of y_test must occur in y_train, but the label {printable(str(unknown[0]))} does not occur"
        )
    return np.searchsorted(names, labels)


def printable(text: str) -> str:
    r"""The text with visible codes in place of control characters, such as those that move a terminal's cursor.

    Examples
    --------
    >>> printable("caf\u00e9 \x1b[2J")
    'café \\x1b[2J'
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def read_csv(path: Path, classes: tuple[str, ...] | None = None, *, optional: bool = False) -> Examples:
    """Read a table with a line of column names, one of which is ``label``, and a line of numbers for each example.

    Parameters
    ----------
    path : path of the table
    classes : the declared classes, or None if the classes are not declared. With declared classes, labels stay text,
        each label must be a declared class, and no message shows the content of an example
    optional : whether the table may lack the column ``label``. Labels then stay text

    Returns
    -------
    Examples. x : (n, d) array in the order of the columns, uint8 if every value is a whole number in 0 .. 255,
        otherwise float64. y : (n,) array, int64 if every label is a whole number and labels need not stay text,
        otherwise text. y is None without a column ``label``

    Raises
    ------
    ValueError : if the file is not such a table. The message is one sentence with the file, the line and the column. If
        labels may become integers, ValueError also for a column that numbers the rows, and for a missing label among
        numbers
    OSError : if the file cannot be read
    """
    if path.stat().st_size > LARGEST:
        raise ValueError(
            f"{path.name}: a table must have at most {LARGEST:,} bytes: save the data as the arrays of an .npz file"
        )
    declared = classes is not None
    allowed = None if classes is None else frozenset(classes)
    labels: list[str] = []
    values, lines = array("d"), array("q")
    above = 0  # number of lines above the row
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            first = file.readline()
            _refuse_separators(first)
            reader = csv.reader(chain([first], file), skipinitialspace=True, strict=True)
            names = _column_names([name.strip() for name in next(reader, [])], optional, declared)
            at, above = names.index(LABEL) if LABEL in names else None, reader.line_num
            for row in reader:
                line, above = above + 1, reader.line_num  # number of the row's first line, counted from 1
                if len(row) > 1 or "".join(row).strip():  # skip blank lines
                    _take(row, names, at, labels, values, f"line {line}", allowed)
                    lines.append(line)
        if not lines:
            raise ValueError("there is no example below the names of the columns")
        columns = tuple(name for name in names if name != LABEL)
        x = np.array(values).reshape(-1, len(columns))
        if not (declared or optional):  # with declared classes, a refusal must not depend on several records
            _refuse_row_numbers(x, columns)
            _refuse_missing(labels, lines)
    except UnicodeDecodeError as error:
        shown = "" if declared else f" ({first_line(error)})"
        raise ValueError(f"{path.name}: {NOT_UTF_8}{shown}") from None
    except ValueError as error:
        raise ValueError(f"{path.name}: {error}") from None
    except csv.Error as error:
        where = f"the row that begins on line {above + 1} cannot be split into columns"
        raise ValueError(f"{path.name}: {where}, perhaps because a quote is not closed ({error})") from None
    if ((x >= 0) & (x <= 255) & (x == np.floor(x))).all():
        x = x.astype(np.uint8)
    if at is None:
        return Examples(x, None, columns)
    if not (declared or optional) and all(map(WHOLE_NUMBER.fullmatch, labels)):
        return Examples(x, np.array([int(text) for text in labels]), columns)
    return Examples(x, np.array(labels), columns)


def _refuse_separators(line: str) -> None:
    """Raise ValueError if the first line separates the names of columns by a character other than a comma."""
    if line.lower().startswith("sep="):
        raise ValueError(
            "the first line must name the columns, but it sets the separator for a spreadsheet: delete this line"
        )

    def split(character: str) -> list[str]:
        return [name.strip() for name in next(csv.reader([line], delimiter=character, skipinitialspace=True), [])]

    names = split(",")
    for character, called in SEPARATORS.items():
        others = split(character)
        if len(others) > 1 and LABEL not in names and (len(names) == 1 or LABEL in others):
            raise ValueError(
                f"the columns must have commas between them, but the first line has {called}: save the table with"
                " commas between columns and with points in decimal numbers"
            )


def _column_names(names: list[str], optional: bool, hidden: bool) -> list[str]:
    """The names of the columns. Raises a ValueError with the fault of a name and advice.

    If examples are hidden, no message shows the names, because a table without a line of names begins with an example.
    """
    if any("\0" in name for name in names):
        raise ValueError(NOT_UTF_8)
    shown = "" if hidden or not any(names) else f", got {', '.join(map(printable, names[:8]))}"
    if LABEL not in names and not optional:
        raise ValueError(NO_NAMES + shown)
    if LABEL not in names and (not any(names) or (_numbers(names) and names != [*map(str, range(len(names)))])):
        raise ValueError(f"the first line must name the columns{shown}")
    if names == [LABEL]:
        raise ValueError(f"there must be at least one column of features next to the column {LABEL}")
    refuse_names(names)
    return names


def refuse_names(names: Sequence[str]) -> None:
    """Raise ValueError with advice if a column has no name or a name that pandas made, or if two names are equal."""
    # Number of columns without the unnamed columns at the end.
    named = len(names) - len([*takewhile(lambda name: not name, reversed(names))])
    if named < len(names) and "" not in names[:named]:
        raise ValueError(f"column {named + 1} has no name: delete this column and the comma at the end of each line")
    without = re.compile(r"|Unnamed: \d+(_level_\d+)?(\.\d+)?")
    for number, name in enumerate(names, 1):
        if without.fullmatch(name):
            called = f" (pandas called it {name})" if name else ""
            raise ValueError(
                f"column {number} has no name{called}: if this column numbers the rows, leave out the column, in"
                " pandas with to_csv(..., index=False)"
            )
    if seconds := [name for name in names if re.fullmatch(rf"{LABEL}\.\d+", name)]:
        raise ValueError(f"column {seconds[0]} is a second column of labels: leave out or rename this column")
    if twice := [name for name in names if names.count(name) > 1]:
        raise ValueError(f"two columns are called {printable(twice[0])}: leave out or rename one of the two columns")


def _refuse_row_numbers(x: np.ndarray, columns: tuple[str, ...]) -> None:
    """Raise ValueError for a feature that numbers the rows or identifies them.

    Such a feature is 0, 1, 2, ... or 1, 2, 3, ... If the name of a feature matches `ROW_NAME`, the function refuses two
    more cases. In the first case, the numbers start again from the first number. In the second case, all values are
    different whole numbers. A table with one feature or few rows is not checked.
    """
    n, d = x.shape
    if n < FEW or d < 2:
        return
    for column, name in zip(x.T, columns, strict=True):
        named = ROW_NAME.fullmatch(name) is not None
        again = named & (column[1:] == column[0])
        counts = column[0] in (0, 1) and ((np.diff(column) == 1) | again).all()
        if counts or (named and (column == np.floor(column)).all() and len(np.unique(column)) == n):
            raise ValueError(
                f"column {printable(name)} {'numbers' if counts else 'identifies'} the rows: leave out this column or,"
                " if the column is a feature, save the arrays x and y as .npz"
            )


def _refuse_missing(labels: list[str], lines: array) -> None:
    """Raise ValueError for a label such as NA if all other labels are numbers, because NA is then not a class."""
    missing = [i for i, label in enumerate(labels) if label.casefold() in MISSING]
    others = {label for label in labels if label.casefold() not in MISSING}
    if missing and others and _numbers(others) is not None:
        i = missing[0]
        raise ValueError(
            f"line {lines[i]} must have a label, but in a column of numbers {labels[i]!r} means a missing value: leave"
            " out the line"
        )


def _numbers(texts: Iterable[str]) -> list[float] | None:
    """The texts as finite numbers; None if a text is not a number, or is a number only in Python, such as 1_0."""
    texts = list(texts)
    plain = "".join(texts)
    if not plain.isascii() or "_" in plain:
        return None
    try:
        numbers = list(map(float, texts))
    except ValueError:
        return None
    return numbers if all(map(math.isfinite, numbers)) else None


def _take(
    row: list[str],
    names: list[str],
    at: int | None,
    labels: list[str],
    values: array,
    where: str,
    allowed: frozenset[str] | None,
) -> None:
    """Add the label and the features of a row. Raises ValueError if the row does not fit the first line.

    Without a position ``at``, there is no label. If ``allowed`` has the declared classes, no message shows the content
    of the row.
    """
    if len(row) != len(names):
        more = ": write 1.5 instead of 1,5, put text that has a comma in quotes, and end no line with a comma"
        raise ValueError(
            f"{where} must have the {len(names)} columns that the first line names, got"
            f" {len(row)}{more if len(row) > len(names) else ''}"
        )
    if at is not None:
        label = row.pop(at).strip()
        if not label:
            raise ValueError(f"{where} must have a label in column {LABEL}: add a label, or leave out the line")
        if "\0" in label:  # NumPy removes NUL from the end of a text, so two different labels could become equal
            raise ValueError(f"{where} must have a label without the character NUL")
        if allowed is not None and label not in allowed:
            raise ValueError(f"{where} must have one of the {len(allowed)} declared classes as its label")
        if len(label.splitlines()) > 1 and _swallowed([*row[:at], label, *row[at:]], at):
            raise ValueError(f"{where} begins a label in quotes that holds whole lines of the table: close the quotes")
        labels.append(label)
    numbers = _numbers(row)
    if numbers is None:
        column = next(j for j, text in enumerate(row) if _numbers([text]) is None)
        features = [name for name in names if name != LABEL]
        shown = "" if allowed is not None else f", got {row[column]!r}: {_instead(row[column])}"
        raise ValueError(f"{where} must have a number in column {printable(features[column])}{shown}")
    values.extend(numbers)


def _swallowed(row: list[str], at: int) -> bool:
    """Whether a row becomes several rows if it is read without quotes.

    If so, the quote of its label is closed too late.
    """
    lines = [*csv.reader(",".join(row).splitlines())]
    features = [line[:at] + line[at + 1 :] for line in lines]
    return all(
        len(line) == len(row) and _numbers(others) is not None for line, others in zip(lines, features, strict=True)
    )


def _instead(text: str) -> str:
    """Advice for a value of a feature that is not a number."""
    if not text.strip() or text.strip().casefold() in MISSING:
        return "fill in the value, or leave the line out"
    if re.fullmatch(r"\s*[+-]?[\d.]+,\d+\s*", text):
        return "write a decimal number with a point, not with a comma"
    if text.strip().casefold() in ("true", "false"):
        return "write 1 for true and 0 for false"
    return "write a number such as -1.5e3, or leave the column out"
