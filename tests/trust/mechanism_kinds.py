"""Networks, neighbours and clips for the search, for each rule that states a mechanism."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from nfa import ops
from nfa.audit.worst_neighbours import Silent, draw_pair, no_noise
from nfa.mechanism import NoGuarantee
from nfa.network import Net
from nfa.network.pooling import AvgPool
from tests.oracles.rule_settings import values
from tests.trust.mechanism_rules import (
    SEARCHED,
    by_light,
    cnn,
    coupled,
    dense,
    fed,
    media,
    overlapping,
    released,
    residual,
    says,
)

RECORDS = ("replace-one", "add-remove", "replace-label")
BETA = 4.0  # spectral norm of the feedback, so large that sigmoid layers change as much as the top layer


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One rule with its hyper-parameters on one kind of network.

    Parameters
    ----------
    rule : name in nfa.rules
    about : str
    adjacency : str
    attained : whether the docstring of the sensitivity states that such a network attains it
    answer, stated : as for `nfa.audit.worst_neighbours.search`
    draw : function rng -> NeighbourPair
    """

    rule: str
    about: str
    adjacency: str
    attained: bool
    answer: Callable
    stated: Callable
    draw: Callable


SIZES = ("C", "L", "m", "tau", "tau_e", "tau_h", "tau_B", "tau_h_max", "tau_h_min", "beta_top", "norm", "sigma")


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A rule on a kind of network, with its hyper-parameters. `Setting` explains the other attributes.

    ``norm`` is the spectral norm of the feedback. This norm is fixed, so the ascent cannot reduce the feedback to 0.
    """

    rule: str
    about: str
    net: Net
    adjacency: str
    hyper: dict
    others: int = 1
    B: tuple = ()
    attained: bool = True

    def held(self, B: list) -> list:
        """The feedback, scaled to the spectral norm ``norm`` if it is set."""
        norm = self.hyper.get("norm")
        return [M if M is None or norm is None else norm * M / np.linalg.norm(M, 2) for M in B]

    def setting(self) -> Setting:
        quiet = {"weigh": coupled} if self.rule == "dp_ulr_sound" else {}
        known = {**self.hyper, **quiet, "add_normal": no_noise}
        return Setting(
            rule=self.rule,
            about=self.about,
            adjacency=self.adjacency,
            attained=self.attained,
            answer=lambda net, B, x, y: released(
                self.rule, net, self.held(B), x, y, known, 1.0, Silent(np.random.PCG64(0))
            ),
            stated=lambda net, B: says(self.rule, net, self.held(B), self.hyper, 1.0, self.adjacency).sensitivity,
            draw=lambda rng: draw_pair(self.net, list(self.B), adjacency=self.adjacency, others=self.others, rng=rng),
        )

    def other(self, rng: np.random.Generator, dtype: type) -> "Kind":
        """This kind in another dtype, with each hyper-parameter multiplied by a random factor.

        A factor is 10^u, with u uniform in [-3, 3]. A lower clip stays below the upper clip.
        """
        hyper = dict(self.hyper)
        for name in SIZES:
            if name in hyper and name != "tau_h_min":
                factor = 10 ** rng.uniform(-3, 3)
                for each in (name, "tau_h_min") if name == "tau_h_max" and "tau_h_min" in hyper else (name,):
                    value = hyper[each]
                    hyper[each] = [factor * v for v in value] if isinstance(value, list) else factor * value
        net = self.net.copy()
        net.W, net.b = ([None, *(a.astype(dtype) for a in arrays[1:])] for arrays in (net.W, net.b))
        B = tuple(M if M is None else M.astype(dtype) for M in self.B)
        return replace(self, net=net, B=B, hyper=hyper, attained=False, about=f"{self.about}, {np.dtype(dtype)}")


def kinds() -> list[Kind]:
    """All kinds that the search uses."""
    found = []

    def setting(rule, about, net, adjacency, *, others=1, B=(), attained=True, **hyper):
        return Kind(
            rule=rule, about=about, net=net, adjacency=adjacency, hyper=hyper, others=others, B=tuple(B),
            attained=attained,
        )  # fmt: skip

    for adjacency in RECORDS:
        for clip in ("joint", "layer"):
            for about, net in {
                "3-4-2 tanh": dense(ops.tanh),
                "3-3-3-2 gelu, residual": residual(ops.gelu),
                "2-3-1 relu, logistic": dense(ops.relu, (2, 3, 1), loss=ops.logistic),
                "3-2-2 sigmoid, squared error": dense(ops.sigmoid, (3, 2, 2), loss=ops.squared_error),
                "convolution, max pooling": cnn(),
            }.items():
                found.append(setting("dp_sgd", f"{about}, {clip} clip", net, adjacency, C=0.3, m=3, clip=clip))
        for about, net, hyper in (
            ("3-4-2 sigmoid", dense(ops.sigmoid), {"tau_h": 0.9}),
            ("3-4-4-2 sigmoid", dense(ops.sigmoid, (3, 4, 4, 2)), {"tau_h": 0.9}),
            ("3-4-2 sigmoid, slope", dense(ops.sigmoid), {"tau_h": 0.9, "top": "derivative", "beta_top": 0.8}),
            ("3-4-2 tanh", dense(ops.tanh), {"tau_h": 0.05}),
            ("3-3-3-2 relu, residual", residual(ops.relu), {"tau_h": 2.0}),
            ("2-3-3 gelu, squared error", dense(ops.gelu, (2, 3, 3), loss=ops.squared_error), {"tau_h": 1.0}),
        ):
            found.append(setting("dp_dfa", about, net, adjacency, B=fed(net), norm=BETA, tau_e=0.2, m=3, **hyper))
        for about, net, at in (
            ("convolution, max pooling, at h", cnn(), "h"),
            ("convolution, max pooling, at z", cnn(), "z"),
            ("convolution, average pooling, at h", cnn(pool=AvgPool), "h"),
            ("convolution with a stride, overlapping pooling, at h", overlapping(), "h"),
        ):
            found.append(
                setting(
                    "dp_dfa",
                    about,
                    net,
                    adjacency,
                    B=fed(net, at=at),
                    at=at,
                    norm=BETA,
                    tau_e=0.2,
                    tau_h=0.5,
                    m=2,
                    attained=False,
                )
            )
        for about, net, hyper in (
            ("convolution, max pooling", cnn(), {"tau": 0.01, "tau_h": [0.3, 0.8]}),
            ("convolution, average pooling", cnn(pool=AvgPool), {"tau": 0.01, "tau_h": 0.3}),
            ("3-4-4-2 sigmoid, ell = 1", dense(ops.sigmoid, (3, 4, 4, 2)), {"tau": 0.01, "tau_h": 0.9, "ell": 1}),
            ("3-3-3-2 relu, residual, ell = 2", residual(ops.relu), {"tau": 0.1, "tau_h": 2.0, "ell": 2}),
        ):
            found.append(setting("dp_hybrid", about, net, adjacency, B=fed(net), norm=BETA, tau_e=0.2, m=3, **hyper))
        for about, net, hyper in (
            ("3-4-2 gelu, K = 1", dense(ops.gelu), {"K": 1}),
            ("3-4-2 step, K = 4, antithetic", dense(ops.step), {"K": 4, "antithetic": True}),
            ("convolution, K = 2, no baseline", cnn(), {"K": 2, "baseline": False}),
        ):
            found.append(setting("dp_ulr_sound", about, net, adjacency, sigma=0.5, C=0.2, m=3, **hyper))
        for about, net, hyper in (
            ("3-4-2 tanh", dense(ops.tanh), {}),
            ("2-1 logistic, ridge inside the clip", dense(ops.tanh, (2, 1), loss=ops.logistic), {"ridge": 0.5}),
            (
                "2-1 logistic, ridge outside",
                dense(ops.tanh, (2, 1), loss=ops.logistic),
                {"ridge": 0.5, "ridge_clipped": False},
            ),
        ):
            if adjacency == "add-remove" and "ridge_clipped" in hyper:
                continue  # for an empty batch, the rule also omits the ridge term
            found.append(setting("shuffled_sgd", about, net, adjacency, others=0, L=0.3, **hyper))
    for adjacency in ("replace-one", "add-remove"):
        for about, net, hyper in (
            ("3-4-2 relu", dense(ops.relu), {"tau_h_max": 2.0}),
            ("3-4-4-2 sigmoid", dense(ops.sigmoid, (3, 4, 4, 2)), {"tau_h_max": 0.8, "bias": "clipped"}),
            ("3-4-2 tanh, offset", dense(ops.tanh), {"tau_h_max": 0.2, "tau_h_min": 0.1, "floor": "signed"}),
            ("3-4-2 relu, ternarised", dense(ops.relu), {"t": 0.1}),
            ("3-3-3-2 gelu, residual", residual(ops.gelu), {}),
        ):
            found.append(setting("pdfa_isotropic", about, net, adjacency, B=fed(net), tau_B=0.5, m=3, **hyper))
    for about, net, hyper in (
        ("3-4-2 tanh", dense(ops.tanh), {}),
        ("3-4-4-2 relu", dense(ops.relu, (3, 4, 4, 2)), {"tau_B": 0.3}),
        ("3-4-2 sigmoid, ternarised, squared error", dense(ops.sigmoid, loss=ops.squared_error), {"t": 0.2}),
        ("convolution, max pooling", cnn(), {"tau_B": 2.0}),
    ):
        found.append(setting("pdfa_label", about, net, "replace-label", B=fed(net), others=0, **hyper))
    for adjacency in RECORDS:
        for about, net, hyper in joint():
            B = media(net) if "project" in hyper else fed(net, at=hyper.get("at", "h"))
            found.append(setting("dp_dfa_joint", about, net, adjacency, B=B, C=0.3, m=3, **hyper))
        for about, net, hyper in (
            ("convolution, max pooling", cnn(), {}),
            ("3-4-4-2 sigmoid, ell = 1", dense(ops.sigmoid, (3, 4, 4, 2)), {"ell": 1}),
            ("3-3-3-2 relu, residual, ell = 2", residual(ops.relu), {"ell": 2}),
        ):
            found.append(setting("dp_hybrid_joint", about, net, adjacency, B=fed(net), C=0.3, m=3, **hyper))
    for rule in sorted(SEARCHED.keys() - {kind.rule for kind in found}):
        found += [kind for adjacency in RECORDS for kind in plain(rule, adjacency)]
    return found


def plain(rule: str, adjacency: str) -> list[Kind]:
    """Kinds for a rule without an entry in `kinds`: fully connected networks, settings by name or meaning."""
    spec, found = SEARCHED[rule], []
    for about, net in {"3-4-2 tanh": dense(ops.tanh), "3-3-3-2 gelu, residual": residual(ops.gelu)}.items():
        B = fed(net) if "B" in spec.given else []
        hyper = values(spec, {"m": 3, spec.noise: 1.0}, bound=0.3, positive=1.0, noise=1.0, count=2)
        try:
            says(rule, net, B, hyper, 1.0, adjacency)
        except (NoGuarantee, ValueError):  # under this adjacency, the rule states no sensitivity
            continue
        kind = Kind(rule=rule, about=about, net=net, adjacency=adjacency, hyper=hyper, B=tuple(B), attained=False)
        found.append(kind)
    return found


def joint() -> list[tuple[str, Net, dict]]:
    """Kinds of `dp_dfa_joint`: all signals, with feedback by matrices of any norm or by OPUs with any medium."""
    ternary, label = {"carries": "ternary"}, {"carries": "label"}
    light = {"project": by_light}
    return [
        ("3-4-2 tanh", dense(ops.tanh), {}),
        ("3-4-2 tanh, ternary", dense(ops.tanh), ternary),
        ("3-4-2 tanh, label", dense(ops.tanh), label),
        ("3-3-3-2 gelu, residual", residual(ops.gelu), {}),
        ("3-3-3-2 relu, residual, ternary", residual(ops.relu), ternary | {"t": 0.9}),
        ("2-3-1 relu, logistic", dense(ops.relu, (2, 3, 1), loss=ops.logistic), {}),
        ("2-3-3 gelu, squared error, ternary", dense(ops.gelu, (2, 3, 3), loss=ops.squared_error), ternary),
        ("convolution, max pooling, at h", cnn(), {}),
        ("convolution, max pooling, at z, ternary", cnn(), ternary | {"at": "z"}),
        ("convolution, average pooling, label", cnn(pool=AvgPool), label),
        ("3-4-2 tanh, ternary by OPU", dense(ops.tanh), ternary | light),
        ("3-3-3-2 relu, residual, label by OPU", residual(ops.relu), label | light),
    ]
