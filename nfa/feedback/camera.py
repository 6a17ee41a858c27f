"""What a camera makes of light: readings of intensities, and a linear projection recovered from them.

An optical processing unit (`nfa.feedback.opu`) is a scattering medium R in front of such a camera. Intensities are in
any unit; `nfa.feedback.opu` takes the mean intensity that one lit mirror causes.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from nfa import require
from nfa.noise import OfExamples, normals_each


def recover(I_xa: np.ndarray, I_x: np.ndarray, I_a: np.ndarray, strength: np.ndarray | None = None) -> np.ndarray:
    r"""The part of the field R x that is in phase with the anchor's field R a, from three intensities.

    .. math:: \frac{|R(x+a)|^2 - |Rx|^2 - |Ra|^2}{2 |Ra|} = \mathrm{Re}\big(e^{-i \arg Ra} R x\big)

    Source: [ohana2021:eq5]

    Parameters
    ----------
    I_xa, I_x, I_a : arrays that broadcast, the intensities with x and a lit, with x alone, with a alone
    strength : array > 0, |Ra|^2 for the divisor where it is known better than by the measured I_a; I_a if not given

    Notes
    -----
    Guarantee: linear in x. If R is complex Gaussian and a lights no mirror that x can light, the phase of R a is
    independent of what it multiplies, and the projection's matrix is real Gaussian with independent entries.

    Examples
    --------
    Fields R x = 3 + 4i and R a = 5, so |R(x+a)|^2 = 8^2 + 4^2 = 80:

    >>> float(recover(np.array(80.0), np.array(25.0), np.array(25.0)))
    3.0
    """
    return (I_xa - I_x - I_a) / (2 * np.sqrt(I_a if strength is None else strength))


def shot_variance(
    I_xa: np.ndarray, I_x: np.ndarray, I_a: np.ndarray, photons: float, *, anchor_shot: bool = False
) -> np.ndarray:
    r"""Variance that the shot noise of the measured intensities gives to `recover`, the true intensities being given.

    .. math:: \frac{I_{x+a} + I_x \,[+\, I_a]}{4 \kappa I_a}

    Parameters
    ----------
    I_xa, I_x, I_a : arrays that broadcast, the true intensities
    photons : float > 0, kappa, mean number of photons detected per unit of intensity
    anchor_shot : whether I_a is measured too (the term in brackets) or known from a calibration

    Notes
    -----
    It depends on x and differs from pixel to pixel: the noise is neither identically distributed nor independent of the
    data. For a strong anchor it tends to the constant 1 / (4 kappa), twice that with the anchor measured.
    With kappa photons per lit mirror an `nfa.feedback.opu.OPU` has 2 scale^2 times this in its outputs: a std that
    tends to scale / sqrt(2 kappa).
    """
    return (I_xa + I_x + (I_a if anchor_shot else 0)) / (4 * photons * I_a)


def poisson(mean: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Independent Poisson numbers of these means, in their shape and dtype, whole numbers as far as that has them.

    Parameters
    ----------
    mean : float array, entries in [0, 1e18]
    rng : numpy.random.Generator; with `nfa.noise.OfExamples` a row of mean belongs to an example, whose numbers depend
        on its place in the batch and on its means alone

    Raises
    ------
    ValueError : for a mean that is not in that range

    Notes
    -----
    The kernel `nfa.kernels.shot.poisson` is its twin in law: it asks rng for a key alone and has other numbers, each a
    function of the key and its place in the batch. It takes 32 bits of chance at a time, which moves no probability by
    more than about 1e-9.

    Examples
    --------
    >>> poisson(np.array([0.0, 4.5]), np.random.default_rng(0))
    array([0., 2.])
    """
    if mean.size and not (mean.min() >= 0 and mean.max() <= 1e18):
        raise ValueError("the mean of a Poisson variable must be in [0, 1e18]")
    if not isinstance(rng, OfExamples):
        return np.asarray(rng.poisson(mean), mean.dtype)
    out = np.empty_like(mean)
    for i, own in enumerate(rng.each(len(mean))):
        out[i] = own.poisson(mean[i])
    return out


@dataclass(frozen=True, kw_only=True)
class Camera:
    """What turns intensities into readings. Every effect is off when its parameter is None.

    Parameters
    ----------
    photons : float, 0 < photons <= 1e12: the photon budget, how many photons one pixel detects on average per unit of
        intensity in one exposure. Turns on photon shot noise: the number detected is Poisson.
    dark_std : float >= 0, std in units of intensity of the Gaussian noise that a pixel has without any light, from its
        electronics and its dark current
    saturation : float > 0, the largest intensity a pixel can report; what is below 0 or above it is cut off
    bits : int in 1..24, readings are rounded to 2^bits levels from 0 to ``saturation``, which is then needed
    count : function as `poisson`, which draws the photons that are counted

    Raises
    ------
    ValueError : for a parameter outside its range

    Notes
    -----
    Photon shot noise grows with the light and does not depend on temperature; the shot noise of the dark current does
    not depend on the light and does depend on temperature, which so changes ``dark_std``. Both act on intensities,
    before a projection is recovered. Rounding and saturation are functions of the reading, and no Gaussian noise.
    Rounding jumps, as a derivative of ReLU and a ternary error do: readings that differ by the rounding of floats can
    be a whole level, saturation / (2^bits - 1), apart (`nfa.mechanism.Mechanism`, Notes).
    Of pixels whose intensities are spread exponentially about the mean k, a share exp(-saturation / k) is cut off.
    """

    photons: float | None = None
    dark_std: float | None = None
    saturation: float | None = None
    bits: int | None = None
    count: Callable = poisson

    def __post_init__(self) -> None:
        if self.photons is not None and not 0 < self.photons <= 1e12:
            raise ValueError(f"the photon budget must be positive and at most 1e12, got {self.photons}")
        check_std("dark_std", self.dark_std)
        if self.saturation is not None:
            require.positive(**{"the saturation of a camera": self.saturation})
        if self.bits is not None and (not isinstance(self.bits, (int, np.integer)) or not 1 <= self.bits <= 24):
            raise ValueError(f"the bits of a camera must be a whole number in 1..24, got {self.bits}")
        if self.bits is not None and self.saturation is None:
            raise ValueError(
                f"a camera of {self.bits} bits needs the setting `saturation`, the intensity of the highest level"
            )

    @property
    def draws(self) -> bool:
        """Whether a reading has noise, so that equal intensities are read differently."""
        return self.photons is not None or bool(self.dark_std)

    def read(self, intensity: np.ndarray, *, rng: np.random.Generator | None = None) -> np.ndarray:
        """One exposure: the readings for an array of true intensities, in its unit, shape and dtype.

        Draws one Poisson number a pixel with ``photons``, then one normal a pixel with ``dark_std``; else nothing.
        Raises ValueError if a noise is on and there is no rng.

        Examples
        --------
        Two bits up to 3.0 are the levels 0, 1, 2, 3:

        >>> Camera(bits=2, saturation=3.0).read(np.array([0.2, 1.4, 2.6, 7.0])).tolist()
        [0.0, 1.0, 3.0, 3.0]
        """
        reading = intensity
        if self.photons is not None:
            reading = self.count(float(self.photons) * reading, needed(rng, "shot noise")) / float(self.photons)
        if self.dark_std:
            reading = reading + self.dark_std * normals_each(needed(rng, "dark noise"), intensity.shape)
        if self.saturation is not None:
            reading = np.clip(reading, 0, float(self.saturation))
            if self.bits is not None:
                step = float(self.saturation) / (2**self.bits - 1)
                reading = np.rint(reading / step) * step
        return reading.astype(intensity.dtype, copy=False)


def needed(rng: np.random.Generator | None, what: str) -> np.random.Generator:
    """The rng, or ValueError saying what needs it."""
    if rng is None:
        raise ValueError(f"{what} needs an rng, got None")
    return rng


def check_std(name: str, std: float | None) -> None:
    """ValueError unless std is None or a finite number >= 0."""
    if std is not None and not 0 <= std < math.inf:
        raise ValueError(f"{name} must be finite and not negative, got {std}")
