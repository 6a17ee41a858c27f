"""nfa timed beside other libraries and beside the machine's own limits: `make bench`, or `python -m tests.benchmarks`.

Every contender lives in a process of its own (`worker`), which imports what it needs and no more, and sleeps while
another is timed. `contenders` says who takes part, `race` holds the rounds, `targets` what the times are held against.
What of ours is timed is what a command runs: `nfa.experiments` builds it from the settings of a run (`own`).

Nothing here asserts a time. `tests/benchmarks/test_benchmarks.py` holds that what is timed computes the same
directions.
"""
