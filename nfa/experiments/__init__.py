"""Experiments: training runs with records, and what reruns a table or a figure.

`run.run` trains once; `reproduce.reproduce` takes an `experiment.Experiment`. The papers' own are in `nfa.papers`.
"""
