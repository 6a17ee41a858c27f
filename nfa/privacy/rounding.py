"""Rounding that never makes a guarantee look better than it is."""

import math
from decimal import ROUND_CEILING, Context, Decimal


def up(value: float, digits: int = 6) -> str:
    """A number >= 0 to so many digits, never below what it is (as Python and JSON write it).

    Examples
    --------
    >>> up(4.43868243865), up(4.43868243865, 3), up(0.75), up(1.5e-7), up(float("inf"))
    ('4.43869', '4.44', '0.75', '1.5e-7', 'inf')
    """
    if value == 0 or math.isinf(value):
        return f"{value:g}"
    rounded = Context(prec=digits, rounding=ROUND_CEILING).plus(Decimal(repr(float(value))))
    return f"{rounded:f}" if 1e-4 <= value < 1e8 else f"{rounded:e}"
