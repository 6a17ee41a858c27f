"""The contenders, as data: {group: (what is timed, contenders)}. Reading them imports no library that is timed."""

import importlib.util
from typing import Any, NamedTuple

ANY = "any"  # recorded core type of a contender whose time does not depend on the core type of OpenBLAS


class Contender(NamedTuple):
    """A contender, which runs in its own process. See `worker`.

    Parameters
    ----------
    name : the contender's name in the record
    build : "module:function" of this package; ``function(folder, *, tiny, threads, **options) -> problem.Built``
    options : keyword arguments of that function
    kind : "ours", started like the command `nfa`; "peer"; or "command", which starts Python again
    cores : the core types of OpenBLAS to run with: "all", "first", or "any" if the core type makes no difference
    libraries : libraries that this contender needs; the contender is left out if one of them is missing
    extra : whether the contender takes part only if all contenders are requested
    once : whether the contender is called only once in each turn, without a warm-up call
    most_rounds : largest number of rounds; None for all rounds
    every_core : whether the contender may use every core, also if the others may not
    """

    name: str
    build: str
    options: dict[str, Any] = {}  # noqa: RUF012 - nobody writes into it
    kind: str = "ours"
    cores: str = "all"
    libraries: tuple[str, ...] = ()
    extra: bool = False
    once: bool = False
    most_rounds: int | None = None
    every_core: bool = False


def _ours(name: str, build: str = "own:step", **options: Any) -> Contender:
    return Contender(name, build, options)


def _piece(name: str, build: str, **options: Any) -> Contender:
    return _ours(name, f"pieces:{build}", **options)._replace(cores="first", most_rounds=3)


def _floor(problem: str) -> Contender:
    return _ours("floor", "floors:floors", problem=problem)


def _peer(name: str, problem: str, *libraries: str, **more: Any) -> Contender:
    return Contender(name, "peers:step", {"name": name, "problem": problem}, "peer", "any", libraries, **more)


def _peers(problem: str) -> list[Contender]:
    return [
        _peer("torch bp", problem, "torch"),
        _peer("opacus ghost", problem, "torch", "opacus"),
        _peer("jax bp", problem, "jax"),
        _peer("opacus per-sample", problem, "torch", "opacus", extra=True, most_rounds=3),
        _peer("jax vmap", problem, "jax", extra=True, most_rounds=3),
    ]


def _epochs(problem: str, rules: tuple[str, ...], rounds: int) -> list[Contender]:
    mine = [Contender(rule, "own:epoch", {"problem": problem, "rule": rule}, cores="first") for rule in rules]
    theirs = [
        Contender(name, "peers:epoch", {"name": name, "problem": problem}, "peer", "any", libraries, most_rounds=most)
        # Opacus's epochs take by far the longest. We run two of them, because the whole bench should end within six
        # minutes.
        for name, libraries, most in (("torch bp", ("torch",), None), ("opacus ghost", ("torch", "opacus"), 2))
    ]
    return [one._replace(once=True, most_rounds=min(one.most_rounds or rounds, rounds)) for one in mine + theirs]


def _growth(name: str, **more: Any) -> Contender:
    options = {"rule": name} if name in ("bp", "dfa", "dp_dfa", "dp_sgd") else {}
    build = "rules" if options else name
    return Contender(name, f"growth:{build}", options, cores="first", most_rounds=5, every_core=bool(options), **more)


def _growth_of_peer(name: str, *libraries: str) -> Contender:
    options = {"name": name}
    return Contender(name, "peers:growth", options, "peer", "any", libraries, most_rounds=5, every_core=True)


def _large(problem: str, rule: str) -> Contender:
    options = {"problem": problem, "rule": rule, "size": LARGE[problem]}
    return Contender(f"{problem} {rule}", "own:step", options, cores="first", most_rounds=1)


LARGE = {"mlp": 4096, "cnn": 2048}  # examples of a large batch
LARGE_RULES = ("bp", "dp_dfa", "dp_sgd")
MLP_RULES = ("bp", "dfa", "dp_dfa", "dp_sgd", "photonic")
CNN_RULES = ("bp", "dfa", "dp_dfa", "dp_sgd", "dp_hybrid")
GROUPS: dict[str, tuple[str, list[Contender]]] = {
    "mlp": (
        "one step of 784-512-512-10 with tanh, batch 256",
        [
            *(_ours(rule, problem="mlp", rule=rule) for rule in MLP_RULES),
            _ours("dp_dfa, plain NumPy", problem="mlp", rule="dp_dfa", kernels=False),
            _ours("dp_sgd, secure", problem="mlp", rule="dp_sgd", secure=True, pixels="unit")._replace(
                libraries=("randomgen",)
            ),
            _floor("mlp"),
            *_peers("mlp"),
        ],
    ),
    "cnn": (
        "one step of Lee & Kifer's network of two convolutions, batch 64",
        [*(_ours(rule, problem="cnn", rule=rule) for rule in CNN_RULES), _floor("cnn"), *_peers("cnn")],
    ),
    "mlp epoch": (
        "one epoch of the MLP, from data on disk to its record",
        _epochs("mlp", ("bp", "dp_dfa", "dp_sgd"), 3),
    ),
    "cnn epoch": (
        "one epoch of the CNN, from data on disk to its record",
        _epochs("cnn", ("bp", "dp_sgd", "dp_dfa"), 3),
    ),
    "ulr": (
        "ULR on 784-128-64-32-10, K = 100: a step of 500 records; an epoch of MNIST, where that is here",
        [
            _ours("ulr", problem="ulr", rule="ulr"),
            _ours("ulr, plain NumPy", problem="ulr", rule="ulr", kernels=False)._replace(most_rounds=3),
            Contender(
                "ulr epoch", "own:epoch", {"problem": "ulr", "rule": "ulr"}, cores="first", once=True, most_rounds=3
            ),
        ],
    ),
    "large": (
        "one step of a large batch: 4,096 examples of the MLP, 2,048 of the CNN",
        [_large(problem, rule) for problem in LARGE for rule in LARGE_RULES],
    ),
    "noise": (
        "noise on as many numbers as the MLP has parameters, 669,706",
        [
            _piece("seeded", "noise"),
            _piece("secure", "noise", secure=True)._replace(libraries=("randomgen",)),
            _piece("plain NumPy", "noise", kernels=False),
        ],
    ),
    "clips": (
        "clips of rows at the papers' sizes",
        [_piece("as bound", "clips"), _piece("plain NumPy", "clips", kernels=False)],
    ),
    "projections": (
        "projections of errors by matrices that are never stored, and by the same ones stored",
        [
            _piece("never stored", "never_stored"),
            _piece("stored", "never_stored", kernels=False),
        ],
    ),
    "growth": (
        "how cost grows, with one thread; width 256, depth 3, batch 128, or the MLP for other batches and threads",
        [
            *map(_growth, ("bp", "dfa", "dp_dfa", "dp_sgd", "repeats")),
            _growth_of_peer("torch bp", "torch"),
            _growth_of_peer("opacus ghost", "torch", "opacus"),
            _growth("records", once=True),
            _growth("jobs", once=True)._replace(most_rounds=4),
        ],
    ),
}


def installed(*names: str) -> bool:
    """Whether all libraries with these names can be imported."""
    return all(importlib.util.find_spec(name) for name in names)


def of(group: str, *, extra: bool = False, without: tuple[str, ...] = ()) -> list[Contender]:
    """The contenders of a group, except those in ``without`` and, unless ``extra``, the slow contenders."""
    found = [c for c in GROUPS[group][1] if installed(*c.libraries) and c.name not in without]
    return [c for c in found if extra or not c.extra]
