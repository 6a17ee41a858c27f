"""Experiments: training runs with records, and the papers' tables and figures, each rerun by one call.

`nfa.experiments.runs.run` trains once; `reproduce` reruns an item of a paper and holds it against the paper's numbers.
"""

from nfa.experiments.engine import EXPERIMENTS, default_folder, find, reproduce
from nfa.experiments.experiment import SCALES, Result

__all__ = ["EXPERIMENTS", "SCALES", "Result", "default_folder", "find", "reproduce"]
