"""nfa timed beside other libraries and beside the machine's own limits: `make bench`, or `python -m tests.benchmarks`.

Nothing here asserts a time. `tests/benchmarks/test_benchmarks.py` holds that what is timed computes the same
directions.
"""
