"""Rounding of an epsilon for output, always to the safe side."""

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

LONGEST = 400  # number of digits; no float needs more digits with the usual numbers of decimals


def down(value: float, digits: int = 6) -> str:
    """A finite number >= 0 with this many significant digits, rounded down.

    Use it for lower bounds of an epsilon.

    Examples
    --------
    >>> down(4.43868243865), down(0)
    ('4.43868', '0')
    """
    return _written(Context(prec=digits, rounding=ROUND_FLOOR).plus(Decimal(repr(float(value)))), value)


def up(value: float, digits: int = 6, *, decimals: int | None = None) -> str:
    """A number >= 0 with this many significant digits or decimals, rounded up.

    We round the decimal form in which Python and JSON write the float.

    Examples
    --------
    >>> up(4.43868243865), up(4.43868243865, 3), up(0.75), up(1.5e-7), up(float("inf"))
    ('4.43869', '4.44', '0.75', '1.5e-7', 'inf')
    >>> up(4.43868243865, decimals=2), up(1.1, decimals=2), up(0, decimals=2)
    ('4.44', '1.10', '0.00')
    """
    exact = Decimal(repr(float(value)))
    if decimals is not None and exact.is_finite():
        return f"{Context(prec=LONGEST, rounding=ROUND_CEILING).quantize(exact, Decimal(1).scaleb(-decimals)):f}"
    return _written(Context(prec=digits, rounding=ROUND_CEILING).plus(exact), value)


def _written(rounded: Decimal, value: float) -> str:
    if value == 0 or math.isinf(value):
        return f"{value:g}"
    return f"{rounded:f}" if 1e-4 <= value < 1e8 else f"{rounded:e}"
