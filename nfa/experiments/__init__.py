"""Experiments: training runs and their records, and the reruns of tables and figures.

`run.run` trains once. `reproduce.reproduce` reruns an `experiment.Experiment`. The experiments of the papers are in
`nfa.papers`.
"""
