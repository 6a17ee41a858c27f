"""Runs that take milliseconds, and ways to end them early, for the tests of runs and experiments."""

import numpy as np

from nfa.data import is_own
from nfa.experiments import prepare
from nfa.experiments.settings import Settings

# the settings of a private secure run on the data of `write_data`
PRIVATE = {
    "rule": "dp_sgd",
    "rule_settings": {"C": 1.0, "sigma": 3.0},
    "adjacency": "replace-one",
    "delta": 1e-3,
    "pixels": "as-is",
    "secure": True,
}


def write_data(path):
    """Write a data set with 3 classes, 6 features, and 40 + 20 examples, and return its path."""
    rng = np.random.default_rng(5)
    y = np.arange(60) % 3
    x = rng.standard_normal((60, 6)) + 1.5 * np.eye(3, 6)[y]
    np.savez(path, x_train=x[:40], y_train=y[:40], x_test=x[40:], y_test=y[40:])
    return path


def tiny_settings(path, **more):
    """The settings of a run of 3 epochs with 4 steps each."""
    given = {"architecture": "6-5-4-3", "batch": 10, "epochs": 3, "feedback_scale": 0.5, "lr": 0.1}
    if is_own(path):
        given |= {"classes": "3", "records": 40}
    return Settings(dataset=str(path), **(given | more))


def untimed(record):
    """The record without its timing, which may differ between equal runs."""
    return {name: value for name, value in record.items() if name != "timing"}


class Killed(BaseException):
    """Raised to end a run like a killed process. nfa does not catch this exception."""


def stop_after(monkeypatch, k):
    """Stop training after k complete steps, before the next step."""
    whole = prepare.train

    def stopping(*args, start, **kwargs):
        if start >= k:
            raise Killed
        for t in whole(*args, start=start, **kwargs):
            yield t
            if t >= k:
                raise Killed

    monkeypatch.setattr(prepare, "train", stopping)
