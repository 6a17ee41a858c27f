"""Tests that an interrupted run counts at least the uses of each record, for every possible draw of the samplers.

Each session draws with its own key, so the largest number of uses of a record is a sum over the sessions. For each
session, we enumerate the draws of the real sampler. We count the uses of only one record, because all records are
equivalent.
"""

import itertools
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest

from nfa import sampling
from nfa.experiments.checkpoint import Session
from nfa.experiments.privacy_statement import Statement
from nfa.experiments.settings import Settings
from nfa.mechanism import ADJACENCIES, Mechanism, NoGuarantee
from nfa.noise import Streams
from nfa.privacy import accountant
from nfa.privacy.accountant import in_fresh_epochs
from nfa.privacy.gaussians import hockey_stick_gaussian
from nfa.privacy.theorems import COVERAGE
from nfa.sampling import ALL_RECORDS, SAMPLERS, SCHEMES

DELTA = 1e-5
TOTAL, INTERRUPTIONS = 10, 3  # the largest number of steps and the largest number of interruptions

# Steps per epoch -> n records in batches of m. The last batch of an epoch is smaller if m does not divide n.
EPOCHS = {1: (2, 2), 2: (3, 2), 3: (5, 2), 4: (4, 1)}
PARTITIONS = {
    **{f"{E} steps an epoch": (E, n, lambda x, streams, m=m: sampling.EpochPartition(x, x, m, streams))
       for E, (n, m) in EPOCHS.items()},
    "tau = 1": (4, 4, lambda x, streams: sampling.PartialPasses(x, x, 1, streams)),
    **{f"{scheme}, two steps an epoch": (2, 4, lambda x, streams, scheme=scheme: SAMPLERS[scheme].of_run(
        x, x, streams, batch=2, epochs=1)) for scheme in SCHEMES if SAMPLERS[scheme].once_an_epoch},
}  # fmt: skip
AFRESH = {
    **{scheme: lambda x, streams, scheme=scheme: SAMPLERS[scheme].of_run(x, x, streams, batch=2, epochs=1)
       for scheme in SCHEMES if not SAMPLERS[scheme].once_an_epoch},
    "tau = 1/n": lambda x, streams: sampling.PartialPasses(x, x, 1 / len(x), streams),
}  # fmt: skip


def schedules(total, interruptions, lossy, done=0):
    """Every list of sessions that takes the steps after `done`. A session is (first step, number of spent steps).

    A session continues after the last step of the previous session. If ``lossy``, it may continue from an earlier
    checkpoint and repeat steps.
    """
    yield [(done + 1, total - done)]
    for spent in range(done + 1, total + 1) if interruptions else ():
        for saved in range(done if lossy else spent, min(spent, total - 1) + 1):
            for rest in schedules(total, interruptions - 1, lossy, saved):
                yield [(done + 1, spent - done), *rest]


def most_uses_in_a_session(name, first, steps):
    """The largest number of uses of record 0 over the draws of the sampler.

    Instead of all shuffles, we use rotations, which move record 0 to each place.
    """
    E, n, make = PARTITIONS[name]
    epochs = range((first - 1) // E, (first + steps - 2) // E + 1)
    most = 0
    for turns in itertools.product(range(n), repeat=len(epochs)):
        shuffles = {epoch: np.roll(np.arange(n), turn) for epoch, turn in zip(epochs, turns, strict=True)}

        def streams(purpose, epoch, shuffles=shuffles):
            return SimpleNamespace(permutation=lambda n: shuffles[epoch])

        batches = make(np.zeros((n, 1)), streams)
        most = max(most, sum(0 in batches.indices(t) for t in range(first, first + steps)))
    return most


def statement(name):
    E, n, make = PARTITIONS[name]
    batches = make(np.zeros((n, 1)), Streams(0))
    assert batches.steps_per_epoch == E
    return Statement(
        known={}, stated_by=None, mechanism=mechanism(batches), delta=DELTA, steps_per_epoch=E, secure=True
    )


def mechanism(batches, **other):
    given = {"law": "gaussian", "sensitivity": 1.0, "adjacency": "replace-one", "noise_std": 0.2}
    return Mechanism(**given | {"sampling": batches.scheme, "sampling_rate": batches.rate} | other)


def epsilon_of_uses(uses, conversion=None):
    """The epsilon of ``uses`` releases of all the data, because each use of a record counts as a release."""
    release = mechanism(sampling.Full(np.zeros((1, 1)), np.zeros((1, 1))))
    return accountant.epsilon([(release, uses)], delta=DELTA, conversion=conversion).epsilon


def account(said, schedule):
    """The entry "privacy" of the record after the last of these sessions."""
    spent = []
    for first, steps in schedule:
        parts = SimpleNamespace(privacy=said, align_every=None, settings=Settings(), net=None)
        session = Session(parts=parts, identity={}, checkpoint=None, start=first - 1, spent_before=spent)
        spent = session.counted(first - 1 + steps)
    return said.account(spent)


@pytest.mark.verifies("ours:fresh-epochs")
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (PARTITIONS[name][0] != 2)) for name in PARTITIONS]
)
def test_every_schedule_is_counted_by_the_most_uses_of_a_record(name):
    """For every schedule, epsilon is that of the largest number of uses of a record over all draws."""
    most, right, said = cache(most_uses_in_a_session), cache(epsilon_of_uses), statement(name)
    seen = 0
    for total in range(1, TOTAL + 1):
        for schedule in schedules(total, INTERRUPTIONS, lossy=False):
            uses = sum(most(name, *session) for session in schedule)
            found = account(said, schedule)["guarantee"]["epsilon"]
            # differs only by the rounding of a sum of curves
            assert abs(found / right(uses) - 1) < 1e-12, (schedule, uses)
            seen += 1
    assert seen == 385  # sum over all totals of the number of sets of at most three of the total - 1 possible stops


@pytest.mark.slow
@pytest.mark.verifies("ours:fresh-epochs")
@pytest.mark.parametrize("name", PARTITIONS)
def test_steps_that_were_lost_are_counted_too(name):
    most, E = cache(most_uses_in_a_session), PARTITIONS[name][0]
    for schedule in (one for total in range(1, TOTAL + 1) for one in schedules(total, INTERRUPTIONS, lossy=True)):
        uses = sum(most(name, *session) for session in schedule)
        assert sum(-(-part // E) for part in in_fresh_epochs(schedule, E)) == uses, schedule


@pytest.mark.verifies("ours:fresh-epochs")
@pytest.mark.parametrize(
    "E, lengths, uses", [(2, (1, 2, 2, 1), 6), (4, (5, 4, 3), 5), (4, (4, 4, 4), 3), (3, (10,), 4), (1, (3, 2), 5)]
)
def test_schedules_by_hand(E, lengths, uses):
    firsts = [1 + sum(lengths[:i]) for i in range(len(lengths))]
    said = account(statement(f"{E} steps an epoch"), zip(firsts, lengths, strict=True))
    assert said["guarantee"]["epsilon"] == pytest.approx(epsilon_of_uses(uses), rel=1e-12)
    assert said["guarantee"]["steps"] == sum(lengths)


def test_the_true_delta_of_six_uses_is_within_what_is_said():
    """The true delta of six uses is at most the stated delta: sessions of 1, 2, 2 and 1 steps, noise multiplier 0.2.

    The run has two steps per epoch. Four uses would give epsilon 97.99 at delta 1e-5. At this epsilon, the delta of six
    uses is above 1.9e-4.
    """
    said = account(statement("2 steps an epoch"), [(1, 1), (2, 2), (4, 2), (6, 1)])["guarantee"]["epsilon"]
    one_of_six = 0.2 / 6**0.5  # noise multiplier of the single Gaussian release that is equivalent to six uses
    assert hockey_stick_gaussian(epsilon=said, noise_multiplier=one_of_six) <= DELTA
    four = epsilon_of_uses(4, "mironov2017")
    assert four == pytest.approx(97.99, abs=0.01)
    assert hockey_stick_gaussian(epsilon=four, noise_multiplier=one_of_six) > 1.9e-4


# --- schemes that count steps


@pytest.mark.parametrize("name", AFRESH)
def test_steps_counted_one_by_one_are_drawn_one_by_one(name):
    """If a scheme counts single steps, each step draws its own batch, so the steps of all sessions count.

    Each step draws from a stream that no other step uses, for any first step of the session.
    """
    x, asked = np.zeros((8, 1)), []

    def streams(purpose, t):
        asked.append((purpose, t))
        return Streams(0)(purpose, t)

    batches = AFRESH[name](x, streams)
    for t in range(4, 12):
        batches.at(t)
    assert len(set(asked)) == len(asked) == (0 if name in ALL_RECORDS else 8)
    adjacency = next(name for name in ADJACENCIES if name not in COVERAGE[batches.scheme].refused)
    release = mechanism(batches, adjacency=adjacency, noise_std=3.0)
    said = Statement(
        known={}, stated_by=None, mechanism=release, delta=DELTA, steps_per_epoch=batches.steps_per_epoch, secure=True
    )
    found = account(said, [(1, 5), (4, 2), (6, 4)])["guarantee"]
    assert found["steps"] == 11
    assert found["epsilon"] == pytest.approx(accountant.epsilon([(said.mechanism, 11)], delta=DELTA).epsilon, rel=1e-12)


def test_no_other_scheme_is_counted():
    x = np.zeros((4, 1))
    schemes = {make(x, Streams(0)).scheme for make in AFRESH.values()} | {
        make(np.zeros((n, 1)), Streams(0)).scheme for _, n, make in PARTITIONS.values()
    }
    assert schemes == set(SCHEMES)
    others = [sampling.PartialPasses(x, x, 0.5, Streams(0)), sampling.PoissonRejection(x, x, 0.5, 1, Streams(0))]
    assert {batches.scheme for batches in others} <= set(SAMPLERS) - schemes
    for batches in others:
        with pytest.raises(NoGuarantee):
            mechanism(batches)
