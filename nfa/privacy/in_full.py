"""The theorems that do not use the sampling, so that every use of a record counts in full.

These theorems hold for batches of all records, for shuffled epochs, and for random batches if the `Coverage` of the
scheme declares it. The reason is that e^{(alpha - 1) D_alpha} is jointly convex. Given the batches, the laws of the
release on two neighbours are equal, or they are the laws of a release on neighbouring batches.
"""

from nfa.mechanism import ADJACENCIES
from nfa.privacy.coverage import Bound, Coverage, unsampled_curve
from nfa.sampling import SCHEMES, EpochPartition, Full

SAYS = "each use of a record counts without amplification by sampling"
IN_FULL = (
    Bound(
        id="lee2020:lem1",
        samplings=SCHEMES,
        laws=("gaussian",),
        integers=False,
        says=f"Gaussian noise, {SAYS}",
        curve=unsampled_curve,
        formula=("ε(α) = α / (2 z²)",),
    ),
    Bound(
        id="berthier2019:prop2.1",
        samplings=SCHEMES,
        laws=("laplace",),
        integers=False,
        says=f"Laplace noise, {SAYS}",
        curve=unsampled_curve,
        formula=(
            "ε(α) = log(a e^((α-1) / λ) + (1 - a) e^(-α / λ)) / (α - 1)",
            "with a = α / (2 α - 1) and λ = z / √2, scale / sensitivity",
        ),
    ),
)
# Source: [ours:zero-out]
COVERAGE = (
    Coverage(sampling=Full.scheme, in_full=ADJACENCIES, refused={}, attained=ADJACENCIES),
    # Adding a record changes n. If the batches have a fixed size, n affects every batch.
    Coverage(
        sampling=EpochPartition.scheme,
        in_full=("replace-one", "zero-out", "replace-label"),
        refused={
            "add-remove": (
                "dpulr2024:L249",
                "no theorem covers an added or removed record with shuffled batches of a fixed size. Use "
                "replace-one or zero-out, with the sensitivity for that adjacency, or draw Poisson batches",
            )
        },
    ),
)
