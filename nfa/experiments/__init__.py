"""Training runs and their records, and reruns of the papers' tables and figures.

`run.run` trains one network. `reproduce.reproduce` reruns an `experiment.Experiment`. The experiments of the papers are
in `nfa.papers`.
"""
