"""nfa timed next to other libraries and to the machine's own limits: `make bench`, or `python -m tests.benchmarks`.

Every contender has its own process (`worker`). A contender's process imports only what it needs, and sleeps while
another contender is timed. `contenders` lists the contenders, `race` runs the rounds, and `targets` has the bounds that
we compare the times with. We time what a command of nfa runs: `nfa.experiments` builds it from the settings of a run
(`own`).

Nothing here asserts a time. `tests/benchmarks/test_benchmarks.py` tests that the timed code computes the same
directions.
"""
