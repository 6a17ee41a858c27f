"""The audit of photonic DFA on real images: what published updates, or weights, say about the records behind them.

The network, the clips and the ternarised error are those of Ohana et al. (2021), Section 4, with what their theory asks
for: every layer's input clipped, an entrywise floor, noise on every layer. One update is enough.
"""

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass

from nfa import data, require
from nfa.noise import Streams
from nfa.papers.ohana2021.span_on_repaired import RepairedAudit, repaired_audit
from nfa.papers.ohana2021.span_trials import Attacked, LabelRecovery, SpanAttack, recover_labels, span_attacks

SIGMAS = (0.01, 0.03, 0.05, 0.1, 0.2, 100.0)  # those of Table 1, and 500 times the largest
LABEL_SIGMAS = (0.01, 0.03, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 100.0)
IMAGES = 6000  # drawn from the training set


@dataclass(frozen=True, kw_only=True, eq=False)
class PhotonicAudit:
    """Everything that `photonic_audit` has found.

    Parameters
    ----------
    dataset, digest, note : which data, exactly; note is empty for a whole published data set
    m, trials, seed : as given
    attacks : list of SpanAttack, for every sigma, view and layer
    labels : list of LabelRecovery
    repaired : RepairedAudit
    """

    dataset: str
    digest: str
    note: str
    m: int
    trials: int
    seed: int
    attacks: list[SpanAttack]
    labels: list[LabelRecovery]
    repaired: RepairedAudit


def photonic_audit(
    *,
    data_dir: str | os.PathLike[str] | None = None,
    dataset: str | None = None,
    sigmas: Sequence[float] = SIGMAS,
    m: int = 256,
    trials: int = 5,
    seed: int = 1,
    feedback_scale: float = 0.05,
) -> PhotonicAudit:
    """Attack PDFA and its repair on real images.

    Source: [ohana2021:prop3-cols]

    Parameters
    ----------
    data_dir : folder to look into first, as for `nfa.data.load`
    dataset : name of a data set of 28 x 28 images; None: Fashion-MNIST if it is on this machine, else the embedded
        subset of it; nothing is downloaded then
    sigmas : noise of each projected error, floats > 0
    m : int, batch size, 2 .. 511: fewer records than the inner layers, of 512 units, read numbers
    trials : int >= 1, batches D for every sigma, and as many D' that differ in one record
    seed : int >= 0
    feedback_scale : standard deviation of the entries of B; with 0.05 most projected errors reach tau_B, below 1/23
        none do, and labels are harder to tell at the same sigma

    Returns
    -------
    audit : PhotonicAudit

    Raises
    ------
    ValueError : if a number is out of range, or the data have too few images or another size
    OSError : if the data cannot be read
    """
    for sigma in sigmas:
        require.positive(sigmas=sigma)
    if not len(sigmas):
        raise ValueError("sigmas must name at least one noise level")
    require.at_least(1, trials=trials)
    loaded, setting = prepare(data_dir=data_dir, dataset=dataset, m=m, seed=seed, feedback_scale=feedback_scale)
    return PhotonicAudit(
        dataset=loaded.name,
        digest=loaded.digest,
        note=loaded.note,
        m=m,
        trials=trials,
        seed=seed,
        attacks=span_attacks(setting, sigmas, trials),
        labels=[found for sigma in LABEL_SIGMAS for found in recover_labels(setting, sigma)],
        repaired=repaired_audit(setting, trials),
    )


def prepare(
    *, data_dir: str | os.PathLike[str] | None, dataset: str | None, m: int, seed: int, feedback_scale: float
) -> tuple[data.Dataset, Attacked]:
    """The data and the published things; arguments and errors as for `photonic_audit`."""
    if dataset is None:
        try:
            data.path("fashion-mnist", data_dir)
            dataset = "fashion-mnist"
        except data.DataUnavailable:
            dataset = "fashion-mnist-small"
    loaded = data.load(dataset, data_dir)
    size = math.prod(loaded.x_train.shape[1:])
    if size != 784 or loaded.classes != 10:
        raise ValueError(
            f"the audited network reads 784 pixels of 10 classes, {loaded.name} has {size} of {loaded.classes}"
        )
    if not 2 <= m < 512:
        raise ValueError(f"m must be between 2 and 511, fewer records than the inner layers read numbers, got {m}")
    if len(loaded.x_train) <= 3 * m:
        raise ValueError(f"the audit needs more than 3 m = {3 * m} images, {loaded.name} has {len(loaded.x_train)}")
    streams = Streams(seed)
    kept = streams("data").permutation(len(loaded.x_train))[:IMAGES]
    x, _ = data.scale_pixels(loaded.x_train[kept], loaded.x_test[:1], "standard")
    y = data.one_hot(loaded.y_train[kept], loaded.classes)
    setting = Attacked(x=x.reshape(len(x), -1), y=y, m=m, feedback_scale=feedback_scale, streams=streams)
    return loaded, setting
