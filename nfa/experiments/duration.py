"""Write a span of time in words, for plans, progress and reports."""


def duration(seconds: float) -> str:
    """A span of time in words.

    Examples
    --------
    >>> duration(8.2), duration(700), duration(9000), duration(1e6)
    ('8 s', '12 min', '2.5 h', '11.6 days')
    """
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 172_800 else f"{seconds / 86_400:.1f} days"
