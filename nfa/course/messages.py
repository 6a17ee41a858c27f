"""What a failed check says: the quantity, what is found, what is expected and a hint, in this order."""

from typing import Any

import numpy as np

from nfa.course.calls import NOTHING


class Wrong(AssertionError):
    """What a student's function does is not right; the sentence says how, and gives no answer away.

    ``why`` is "error" where the function raised one, "time" where it did not return, else "".
    """

    def __init__(self, sentence: str, why: str = "") -> None:
        super().__init__(sentence)
        self.why = why


def mismatch(name: str, found: Any, expected: Any = "", hint: str = "") -> Wrong:
    """What a check raises: the quantity that is wrong, what was found, what is expected and a hint, in this order.

    Of numbers it tells four digits, or more where these are the same. Only where ``found`` says what is expected may
    that be left out. A function that returned nothing has a hint of its own.

    Examples
    --------
    >>> str(mismatch("the rank", 3, 4.0, "draw one"))
    'the rank: found 3, expected 4; draw one'
    """
    hint = "your function returned nothing: is the return missing?" if found is NOTHING else hint
    for digits in (4, 7, 17):
        texts = [f"{v + 0:.{digits}g}" if isinstance(v, int | float | np.number) else str(v) for v in (found, expected)]
        if texts[0] != texts[1]:
            break
    return Wrong(f"{name}: found {texts[0]}{texts[1] and ', expected '}{texts[1]}{hint and '; '}{hint}")


def misfit(name: str, value: Any, expected: str) -> Wrong:
    """What a check raises for a value of another kind than is expected."""
    found = value if value is None or value is NOTHING else f"something of type {type(value).__name__}"
    return mismatch(name, found, expected)
