"""Times of nfa, of other libraries and of the machine's own limits: `make bench`, or `python -m tests.benchmarks`.

Each contender (a piece of code that we time) has its own process (`worker`). This process imports only the modules that
the contender needs. It sleeps while another contender is timed. `contenders` lists the contenders, and `race` runs the
rounds. `targets` has the bounds that we compare the times with. We time the code that a command of nfa runs:
`nfa.experiments` builds this code from the settings of a run (`own`).

No module of this package asserts a time. `tests/benchmarks/test_benchmarks.py` tests that the timed code computes the
same directions.
"""
