"""A seeded search for faults of the accountant in random settings at its limits. It writes the results as JSON.

``python -m tests.trust.accountant_edges`` writes results/trust-accountants/edges.json in some minutes.
tests/privacy/test_accountant_edges.py tests some or all of these settings.
"""

import argparse
import json
import math
import time
import warnings
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import mpmath as mp
import numpy as np

from nfa.mechanism import ADJACENCIES, LAWS, Classic, Mechanism, NoGuarantee
from nfa.papers.berthier2019.mechanisms.randomised_response import (
    randomised_response_curve,
    randomised_response_epsilon,
)
from nfa.privacy import rdp
from nfa.privacy.accountant import epsilon
from nfa.privacy.theorems import BOUNDS, COVERAGE, base_bound, choose
from nfa.sampling import SCHEMES
from tests.oracles import accountant as oracles

SEED = 2024
# largest tested orders of these theorems; 10^4 for all others
HIGHEST = {"wbk2019:thm27": 256, "ours:zero-out-drawn": 256}
WITHOUT_SAMPLING = ("lee2020:lem1", "berthier2019:prop2.1", "berthier2019:rr")
BELOW = 1e-12  # allowed relative difference if epsilon is below the theorem's value
AGREE = 1e-7  # allowed relative difference from dp-accounting
# for this theorem, we test only integer orders; test_smallest_epsilon.py has integrals for other orders
WHOLE = ("mironov2019:sec3.3",)


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One call of the accountant.

    The sampling rate is q = m / n. `noise` is the noise multiplier. For randomised response, `noise` is the probability
    of a true answer.
    """

    sampling: str
    adjacency: str
    law: str
    bound: str | None
    conversion: str
    m: int
    n: int
    noise: float
    steps: int
    delta: float
    orders: tuple[float, ...] | None

    @property
    def q(self) -> float:
        return self.m / self.n if self.sampling != "none" else 1.0

    def release(self):
        where = {"adjacency": self.adjacency, "sampling": self.sampling, "sampling_rate": self.q}
        if self.law != "classic":
            return Mechanism(law=self.law, sensitivity=1.0, noise_std=self.noise, **where)
        return Classic(
            id="berthier2019:rr",
            curve=lambda a: randomised_response_curve(a, truth=self.noise),
            epsilon_infinity=randomised_response_epsilon(truth=self.noise),
            **where,
        )

    def spend(self):
        """The accountant's result. Any warning is an error, except the warning about the end of the grid."""
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", rdp.OrderAtGridEnd)
            return epsilon(
                [(self.release(), self.steps)],
                delta=self.delta,
                bound=self.bound,
                conversion=self.conversion,
                orders=rdp.INTEGER_ORDERS if self.orders is None and self.bound in WHOLE else self.orders,
            )

    def uses(self) -> int:
        """The number of uses of a record, from the whole numbers n and m."""
        return -(-self.steps // (self.n // self.m)) if self.sampling == "epoch-partition" else self.steps


def covered():
    """Every combination (sampling, adjacency, law, bound) that has a theorem."""
    found = []
    for sampling in SCHEMES:
        if sampling not in oracles.SCHEMES or any(b.id not in oracles.KNOWN for b in COVERAGE[sampling].bounds):
            continue
        for adjacency in ADJACENCIES:
            for law in (*LAWS, "classic"):
                some = Setting(
                    sampling=sampling,
                    adjacency=adjacency,
                    law=law,
                    bound=None,
                    conversion="mironov2017",
                    m=1,
                    n=10,
                    noise=0.5,
                    steps=1,
                    delta=0.1,
                    orders=(2,),
                ).release()
                for bound in (None, *(b.id for b in BOUNDS), base_bound(some).id):
                    try:
                        choose(some, bound)
                    except NoGuarantee:
                        continue
                    if (sampling, adjacency, law, bound) not in found:
                        found.append((sampling, adjacency, law, bound))
    return found


COVERED = covered()
AMPLIFIED = [c for c in COVERED if c[0] in ("poisson", "without-replacement") and c[3] not in WITHOUT_SAMPLING]


def draw(seed: int, i: int) -> Setting:
    """The i-th setting of a seed."""
    rng = np.random.default_rng([seed, i])

    def size(low, high):
        return float(10 ** rng.uniform(low, high))

    pool = AMPLIFIED if rng.random() < 0.75 else COVERED
    sampling, adjacency, law, bound = pool[rng.integers(len(pool))]
    m = int(size(0, 3))
    n = m if rng.random() < 0.05 else max(m, round(m / size(-9, 0)))
    noise = size(-3, 6)
    if bound == "mironov2019:thm11":  # mostly settings that satisfy the conditions of the theorem
        n, noise = max(n, 5 * m), size(math.log10(4), 6)
    if law == "classic":
        noise = math.tanh(size(-6, 1.2) / 2)
    chosen = choose(Setting(**_some(sampling, adjacency, law, m, n, noise)).release(), bound)
    orders: tuple[float, ...] | None = None
    if rng.random() < 0.9:
        top = math.log10(HIGHEST.get(chosen.id, 10**4))
        drawn = [size(math.log10(2), top) for _ in range(rng.integers(1, 5))]
        if not (chosen.integers or chosen.id in WHOLE) and rng.random() < 0.7:
            drawn = [1 + size(-3, 4) for _ in drawn]
        else:
            drawn = [float(round(a)) for a in drawn]
        orders = tuple(sorted(set(drawn)))
        if law == "gaussian" and m < n and rng.random() < 0.3 and bound != "mironov2019:thm11":
            # For this z, the last term q^alpha e^{alpha (alpha - 1) / 2 z^2} of a sum is about 1, so its logarithm
            # loses digits.
            alpha = orders[-1]
            noise = math.sqrt(alpha * (alpha - 1) / 2 / max(alpha * math.log(n / m) + rng.uniform(-5, 5), 0.1))
    return Setting(
        sampling=sampling,
        adjacency=adjacency,
        law=law,
        bound=bound,
        conversion=str(rng.choice(list(rdp.CONVERSIONS))),
        m=m,
        n=n,
        noise=noise,
        steps=int(size(0, 9)),
        delta=size(-300, -12) if rng.random() < 0.5 else size(-12, -0.01),
        orders=orders,
    )


def _some(sampling, adjacency, law, m, n, noise):
    rest = {"bound": None, "conversion": "mironov2017", "steps": 1, "delta": 0.1, "orders": None}
    return {"sampling": sampling, "adjacency": adjacency, "law": law, "m": m, "n": n, "noise": noise} | rest


# --- one setting


def look(setting: Setting, *, peers: bool = True) -> dict:
    """Compare a setting's result with the theorem at 80 digits, dp-accounting and settings with larger epsilons."""
    found: dict = {"faults": [], "below": 0.0, "above": 0.0, "epsilon": None, "peer": None}
    try:
        g = setting.spend()
    except NoGuarantee as refused:
        thm11 = refused.id == "mironov2019:thm11" and (setting.q > 0.2 or setting.noise < 4)
        return found if thm11 else found | {"faults": [f"refused: {refused}"]}
    except (Warning, ValueError, ArithmeticError) as error:
        return found | {"faults": [f"{type(error).__name__}: {error}"]}
    found["epsilon"], found["bound"] = g.epsilon, g.bound
    if np.isnan(g.rdp).any() or not g.epsilon >= 0:
        found["faults"].append("nan")
    with mp.workdps(oracles.DIGITS):
        exact = compare(setting, g, found)
    if found["below"] > BELOW:
        found["faults"].append(f"below the theorem by {found['below']:.2g}")
    found["faults"] += [f"not monotone in {name}" for name in falls(setting, g.epsilon)]
    if peers:
        found["peer"] = beside_dp_accounting(setting, g, exact)
    return found


def compare(setting: Setting, g, found: dict) -> dict:
    """Store in `found` the largest relative differences below and above the theorem.

    Return the exact curve at the tested orders.
    """
    law = {
        "gaussian": oracles.gaussian,
        "laplace": oracles.laplace,
        "classic": oracles.randomised_response,
    }[setting.law](setting.noise)
    places = range(len(g.orders))
    if setting.orders is None:  # of a whole grid, we test the ends, the middle, and the chosen order
        places = {0, len(g.orders) // 2, len(g.orders) - 1, int(np.argmin(np.abs(g.orders - (g.order or 2))))}
    exact = {}
    for k in sorted(places):
        alpha = float(g.orders[k])
        step = oracles.one_step(
            g.bound, int(alpha) if alpha == int(alpha) else alpha, law, q=setting.q, z=setting.noise
        )
        exact[alpha] = setting.uses() * step
        pairs = [(float(g.rdp[k]), exact[alpha])]
        if g.order == alpha:
            pairs.append((g.epsilon, oracles.converted(setting.conversion, alpha, exact[alpha], setting.delta)))
        for ours, theorem in pairs:
            if theorem == 0 or math.isinf(ours):
                continue
            gap = float((theorem - mp.mpf(ours)) / theorem)
            found["below"], found["above"] = max(found["below"], gap), max(found["above"], -gap)
    return exact


def falls(setting: Setting, reached: float) -> list[str]:
    """Return the variables whose increase lowers the computed epsilon. Such a decrease is a fault.

    We increase the steps, 1 / delta, q, and 1 / noise (or the probability of a true answer). By every theorem, epsilon
    increases in all four variables. Steps multiply a curve, and 1 / delta enters by its logarithm. Every term of the
    sums without replacement increases in q and in the moments. The sums over Poisson batches are expectations over a
    binomial number l. The expectation is of e^{(l-1) epsilon(l)}, or of three times this value. The value increases in
    l, and l increases in q. Moments increase as the noise decreases, because the likelihood ratio of two laws further
    apart is larger in convex order. The closed form is 2 q^2 alpha / z^2. If its two conditions on alpha can hold, each
    of them becomes stricter as q increases or z decreases.
    """
    dearer = {"steps": replace(setting, steps=2 * setting.steps + 1)}
    dearer["1/delta"] = replace(setting, delta=max(setting.delta * 0.7, 1e-300))
    if setting.law == "classic":
        dearer["truth"] = replace(setting, noise=setting.noise + (1 - setting.noise) / 8)
    else:
        dearer["1/noise"] = replace(setting, noise=setting.noise / 1.02)
    if setting.n > setting.m:
        dearer["q"] = replace(setting, n=max(setting.m, int(setting.n / 1.02) if setting.n > 99 else setting.n - 1))
    found = []
    for name, other in dearer.items():
        try:
            if not other.spend().epsilon >= reached * (1 - BELOW):
                found.append(name)
        except NoGuarantee:  # outside its conditions, the closed form counts as inf
            pass
    return found


def beside_dp_accounting(setting: Setting, g, exact: dict) -> dict | None:
    """The common theorem, the difference of nfa's and dp-accounting's results, and their errors by eighty digits."""
    try:
        theirs = dp_accounting(setting, tuple(exact), g.bound)
    except OverflowError:  # dp-accounting raises this error
        theirs = [math.nan] * len(exact)
    if theirs is None:
        return None
    ours = dict(zip(g.orders.tolist(), g.rdp.tolist(), strict=True))
    with mp.workdps(oracles.DIGITS):
        away = [
            abs(mp.mpf(t) / e - 1) if math.isfinite(t) else mp.inf for t, e in zip(theirs, exact.values(), strict=True)
        ]
        mine = [abs(mp.mpf(ours[a]) / e - 1) for a, e in exact.items()]
    off = [a > AGREE for a in away]
    agreeing = [abs(t / ours[a] - 1) for t, a, wrong in zip(theirs, exact, off, strict=True) if not wrong]
    return {
        "theorem": g.bound,
        "values": len(off),
        "off": sum(off),
        "off_worst": float(max(away)),
        "ours_there": float(max((m for m, wrong in zip(mine, off, strict=True) if wrong), default=0)),
        "apart": float(max([*agreeing, *conversion_apart(setting, g, theirs)], default=0)),
    }


def conversion_apart(setting: Setting, g, theirs: list[float]) -> list[float]:
    """The difference of dp-accounting's epsilon from ours, with the conversion of canonne2020.

    dp-accounting returns 0 if another theorem gives 0 for a small curve, and returns no epsilon for orders up to 1.01.
    """
    from dp_accounting.rdp.rdp_privacy_accountant import compute_epsilon

    if setting.conversion != "canonne2020" or setting.orders is None or setting.orders[0] <= 1.01:
        return []
    if not all(abs(t / r - 1) <= AGREE for t, r in zip(theirs, g.rdp, strict=True)):  # dp-accounting's curve differs
        return []
    if any(setting.delta**2 + math.expm1(-t) > 0 for t in theirs):
        return []
    found = compute_epsilon(setting.orders, theirs, setting.delta)[0]
    return [abs(found - g.epsilon) / max(g.epsilon, float(g.rdp[g.orders == g.order][0]))]


def dp_accounting(setting: Setting, orders, bound: str) -> list[float] | None:
    """The Rényi curve of all steps in dp-accounting; None if it has no such theorem."""
    from dp_accounting import NeighboringRelation, dp_event
    from dp_accounting.rdp import RdpAccountant

    relation = NeighboringRelation.REPLACE_ONE
    whole: dp_event.DpEvent = (
        dp_event.GaussianDpEvent(setting.noise)
        if setting.law == "gaussian"
        else dp_event.LaplaceDpEvent(setting.noise / math.sqrt(2))
        if setting.law == "laplace"
        else dp_event.RandomizedResponseDpEvent(1 - setting.noise, 2)
    )
    event = whole
    if bound == "wbk2019:thm27":
        event = dp_event.SampledWithoutReplacementDpEvent(setting.n, setting.m, whole)
    elif bound in ("lee2020:fn1", "mironov2019:sec3.3"):
        event, relation = dp_event.PoissonSampledDpEvent(setting.q, whole), NeighboringRelation.ADD_OR_REMOVE_ONE
    elif bound not in WITHOUT_SAMPLING:
        return None

    def curve(one):
        accountant = RdpAccountant(orders, relation)
        accountant.compose(one, setting.uses())
        return np.asarray(accountant._rdp, float)

    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # like nfa, dp-accounting uses the smaller of the two curves
        return np.minimum(curve(event), curve(whole)).tolist()


# --- many settings


def search(count: int, *, seed: int = SEED, peers: bool = True) -> dict:
    """Test `count` settings.

    Return their number, the largest differences, every fault, and the comparison of programs.
    """
    start = time.monotonic()
    worst = {"below": (0.0, None), "above": (0.0, None)}
    faults, infinite, refused, kinds = [], 0, 0, set()
    theirs: dict[str, dict] = {}
    for i in range(count):
        setting = draw(seed, i)
        found = look(setting, peers=peers)
        kinds.add((setting.sampling, setting.adjacency, setting.law, setting.bound))
        faults += [{"setting": i, "fault": fault} | asdict(setting) for fault in found["faults"]]
        refused += found["epsilon"] is None
        infinite += found["epsilon"] == math.inf
        for side in worst:
            worst[side] = max(worst[side], (found[side], i), key=lambda pair: pair[0])
        if found["peer"]:
            one = found["peer"]
            total = theirs.setdefault(
                one["theorem"], {"values": 0, "theirs_off": 0, "theirs_worst": 0.0, "ours_there": 0.0, "apart": 0.0}
            )
            total["values"] += one["values"]
            total["theirs_off"] += one["off"]
            total["theirs_worst"] = max(total["theirs_worst"], one["off_worst"])
            total["ours_there"] = max(total["ours_there"], one["ours_there"])
            total["apart"] = max(total["apart"], one["apart"])
    return {
        "settings": count,
        "seed": seed,
        "kinds": f"{len(kinds)} of {len(COVERED)}",
        "faults": faults,
        "refused": refused,
        "infinite": infinite,
        "worst_relative_gap": {side: {"gap": gap, "setting": i} for side, (gap, i) in worst.items()},
        "dp_accounting": theirs,
        "seconds": round(time.monotonic() - start),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--settings", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--out", default="results/trust-accountants", help="folder for edges.json")
    asked = parser.parse_args()
    told = search(asked.settings, seed=asked.seed)
    Path(asked.out).mkdir(parents=True, exist_ok=True)
    Path(asked.out, "edges.json").write_text(json.dumps(told, indent=1) + "\n")
    print(json.dumps(told, indent=1))
