"""Broken rules with their claimed mechanisms, as input of audits, and claims that nfa refuses."""

import inspect
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from nfa import ops, optim
from nfa.audit import own_rule
from nfa.audit.reports import AuditOptions
from nfa.audit.rule_games import Claim
from nfa.audit.worst_neighbours import Silent, draw_pair
from nfa.mechanism import NoGuarantee
from nfa.network import Net
from nfa.noise import Streams
from nfa.privacy.accountant import epsilon
from nfa.rules import (
    dp_dfa,
    dp_dfa_joint,
    dp_sgd,
    dp_ulr,
    dp_ulr_sound,
    noise_feedback,
    pdfa,
    pdfa_isotropic,
    shuffled_sgd,
)
from nfa.sampling import EpochPartition, Poisson
from nfa.train import train
from tests.trust import broken_joint, broken_noise, broken_rules
from tests.trust.mechanism_rules import DELTA, SEED, WHERE, cnn, dense, fed

SGD = {"C": 0.3, "m": 4, "sigma": 0.15}
DFA = {"m": 4, "sigma": 0.1, "tau_e": 0.2, "tau_h": 0.9}


def taken(function: Callable, known: dict) -> dict:
    """The known values that are arguments of a function."""
    return {name: known[name] for name in inspect.signature(function).parameters if name in known}


def claim(name: str, rule: Callable, mechanism: Callable, hyper: dict, adjacency: str, net: Net, B=()) -> Claim:
    """A broken rule with its claim, as input of `nfa.audit.own_rule`."""
    where = {"adjacency": adjacency, **WHERE}
    open_ended = any(p.kind is p.VAR_KEYWORD for p in inspect.signature(rule).parameters.values())

    remembers = "state" in inspect.signature(rule).parameters

    def noisy(net, B, x, y, rng, state):
        given = {**hyper, **({"B": B} if B else {}), **({"state": state} if remembers else {})}
        return rule(net, x, y, rng=rng, **(given if open_ended else taken(rule, given)))

    def draw(rng):
        others = int(rng.integers(hyper["m"] + 1)) if adjacency == "add-remove" else hyper["m"] - 1
        return draw_pair(net, list(B), adjacency=adjacency, others=others, rng=rng)

    return Claim(
        name=name,
        rule=noisy,
        quiet=lambda net, B, x, y, seed, state: noisy(net, B, x, y, Silent(np.random.PCG64(seed)), state),
        mechanism=lambda net, B: mechanism(**taken(mechanism, {**hyper, **where, "net": net, "B": B})),
        draw=draw,
    )


def broken() -> dict[str, Claim]:
    """{name: claim} of the broken rules that state a mechanism, for an adjacency for which the claim is false."""
    net = dense(ops.tanh, (4, 3, 2))
    deep = dense(ops.sigmoid, (3, 4, 4, 2))
    found = {}
    for rule in broken_rules.RULES:
        adjacency = "replace-one" if rule in (broken_rules.clip_after_averaging, broken_rules.centred) else "add-remove"
        found[rule.__name__] = claim(rule.__name__, rule, broken_rules.mechanism, SGD, adjacency, net)
    for mechanism in (broken_rules.stated_half, broken_rules.stated_for_another):
        name = mechanism.__name__
        found[name] = claim(name, broken_rules.sound, mechanism, SGD, "replace-one", net)
    for mechanism in (broken_rules.top_forgotten, broken_rules.expected_projection, broken_rules.biases_forgotten):
        name, B = mechanism.__name__, fed(deep)
        found[name] = claim(name, dp_dfa.dp_dfa, mechanism, DFA, "replace-one", deep, B)
    rule = broken_rules.error_unclipped
    found[rule.__name__] = claim(rule.__name__, rule, dp_dfa.mechanism, DFA, "replace-one", deep, fed(deep))
    for mechanism in (broken_rules.columns_counted_once, broken_rules.label_bound):
        name, hyper = mechanism.__name__, {"m": 4, "s": 0.2, "sigma": 0.2}
        found[name] = claim(name, pdfa_isotropic.pdfa_isotropic, mechanism, hyper, "replace-one", deep, fed(deep))
    loose = dense(ops.relu, (3, 4, 3), loss=ops.squared_error)  # errors of any size
    for rule in broken_joint.RULES:
        on = loose if rule in broken_joint.OF_THE_BATCH else net
        found[rule.__name__] = claim(rule.__name__, rule, broken_rules.mechanism, SGD, "add-remove", on, fed(on))
    mechanism = broken_joint.replacement_counted_once
    rule = dp_dfa_joint.dp_dfa_joint
    found[mechanism.__name__] = claim(mechanism.__name__, rule, mechanism, SGD, "replace-one", net, fed(net))
    return found


def unseen_in_means() -> dict[str, Claim]:
    """The rules of broken_noise.py by name. Without noise, their results differ by at most the stated sensitivity.

    The exceptions are the rules for outliers.
    """
    net = dense(ops.tanh, (4, 3, 2))
    return {
        rule.__name__: claim(rule.__name__, rule, broken_rules.mechanism, SGD, adjacency, net)
        for rule, adjacency in broken_noise.RULES.items()
    }


def refused() -> dict[str, Callable]:
    """Claims that nfa refuses, by name."""
    net = dense(ops.tanh)
    x, y = np.zeros((8, 3)), np.eye(2)[np.zeros(8, int)]
    streams = Streams(SEED)
    poisson = {"adjacency": "add-remove", "sampling": "poisson", "sampling_rate": 0.25}
    said = dp_sgd.mechanism(C=1.0, m=2, sigma=1.0, **poisson)
    step = partial(dp_sgd.dp_sgd, C=1.0, m=2, sigma=1.0)

    def stepped(batches, mechanism):
        return next(train(net.copy(), step, batches, optim.SGD(0.1), streams, mechanism=mechanism))

    where = {"adjacency": "replace-one", **WHERE}
    photonic = {"net": net, "sigma": 1.0}
    small = dense(ops.tanh, dtype=np.float32)
    return {
        "shuffled batches under a mechanism of Poisson ones": lambda: stepped(EpochPartition(x, y, 2, streams), said),
        "Poisson batches at another rate": lambda: stepped(Poisson(x, y, 0.5, streams), said),
        "a shuffled epoch under a Poisson theorem": lambda: epsilon(
            [(replace(said, sampling="epoch-partition"), 4)], delta=DELTA, bound="lee2020:fn1", steps_per_epoch=4
        ),
        "no noise": lambda: dp_sgd.mechanism(C=1.0, m=2, sigma=0.0, **poisson),
        "DP-DFA with the printed sensitivity": lambda: dp_dfa.mechanism(
            net=net, B=fed(net), m=2, sigma=1.0, tau_h=1.0, sensitivity="printed", **where
        ),
        "DP-ULR as printed": lambda: dp_ulr.mechanism(**where),
        "DP-ULR on batches drawn with rejection": lambda: dp_ulr_sound.mechanism(
            sigma_0=1.0, C=1.0, m=2, adjacency="add-remove", sampling="poisson-rejection", sampling_rate=0.25
        ),
        "photonic DFA's own noise for records": lambda: pdfa.mechanism(**photonic, **WHERE),
        "labels' noise for records": lambda: pdfa.mechanism(**photonic, **where),
        "labels, the output layer without noise": lambda: pdfa.mechanism(
            **photonic, top="raw", adjacency="replace-label", **WHERE
        ),
        "isotropic photonic DFA on a convolution": lambda: pdfa_isotropic.mechanism(net=cnn(), m=2, s=1.0, **where),
        "noise that is taken back at the next step": lambda: noise_feedback.mechanism(**where),
        "shuffled SGD without its clip": lambda: shuffled_sgd.mechanism(L=None, sigma=1.0, **where),
        "a clip whose square float32 does not hold": lambda: dp_sgd.dp_sgd(
            small, x.astype(np.float32), y.astype(np.float32), C=1e-30, m=2, sigma=1.0, rng=np.random.default_rng(0)
        ),
    }  # fmt: skip


def caught(one: Claim, *, seed: int = SEED, trials: int = 500, draws=60, climbs=1, evaluations=200) -> dict:
    """Results of the three methods that can refute a broken rule.

    The methods are the search, the noise of each coordinate, and the game on the pair of the search.
    """
    report = own_rule.audit(
        one, AuditOptions(seed=seed, trials=trials, delta=DELTA), draws=draws, climbs=climbs, evaluations=evaluations
    )
    told = report.details
    bounds = [game["lower_bound_one_step"] for game in told["games"]]
    return {
        "moved_of_stated": told["sensitivity"]["moved"] / told["sensitivity"]["stated"],
        "noise_of_stated": told["noise"]["least"] / told["noise"]["stated"],
        "claimed_epsilon": report.claimed_epsilon,
        "lower_bound": max(bounds),
        "search": told["sensitivity"]["exceeded"],
        "noise": told["noise"]["too_little"],
        "game": max(bounds) > report.claimed_epsilon,
        "refuted": report.refuted,
    }


def refusal(call: Callable) -> str:
    """The message of the refusal, or "" if the claim is not refused."""
    try:
        call()
    except (NoGuarantee, ValueError) as refused:
        return f"{type(refused).__name__}: {refused}"
    return ""
