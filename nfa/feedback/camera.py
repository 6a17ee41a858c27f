"""A camera turns intensities of light into readings. A linear projection can be computed from three readings.

An optical processing unit (`nfa.feedback.opu`) is a scattering medium R in front of such a camera. Intensities can have
any unit. In `nfa.feedback.opu` the unit is the mean intensity from one lit mirror.
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
    I_xa, I_x, I_a : arrays that broadcast: the intensities if x and a are lit, if only x is lit, and if only a is lit
    strength : array > 0, |Ra|^2 for the divisor, if you know it more exactly than the measured I_a; None for I_a

    Notes
    -----
    Guarantee: the result is linear in x. Suppose R is complex Gaussian and a lights no mirror that x can light. Then
    the phase of R a is independent of R x. So the matrix of the projection is real Gaussian with independent entries.

    Examples
    --------
    Let R x = 3 + 4i and R a = 5. Then |R(x+a)|^2 = 8^2 + 4^2 = 80.

    >>> float(recover(np.array(80.0), np.array(25.0), np.array(25.0)))
    3.0
    """
    return (I_xa - I_x - I_a) / (2 * np.sqrt(I_a if strength is None else strength))


def shot_variance(
    I_xa: np.ndarray, I_x: np.ndarray, I_a: np.ndarray, photons: float, *, anchor_shot: bool = False
) -> np.ndarray:
    r"""Variance of `recover` from the shot noise of the measured intensities, given the true intensities.

    .. math:: \frac{I_{x+a} + I_x \,[+\, I_a]}{4 \kappa I_a}

    Parameters
    ----------
    I_xa, I_x, I_a : arrays that broadcast, the true intensities
    photons : float > 0, kappa, mean number of detected photons per unit of intensity
    anchor_shot : True if I_a is measured too, which adds the term in brackets; False if I_a is known from a calibration

    Notes
    -----
    The variance depends on x and differs from pixel to pixel. So the noise depends on the data, and its law differs
    between pixels. For a strong anchor, the variance tends to the constant 1 / (4 kappa). If the anchor is measured, it
    tends to twice this constant. With kappa photons per lit mirror, the outputs of an `nfa.feedback.opu.OPU` have 2
    scale^2 times this variance. Their standard deviation tends to scale / sqrt(2 kappa).
    """
    return (I_xa + I_x + (I_a if anchor_shot else 0)) / (4 * photons * I_a)


def poisson(mean: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Independent Poisson samples with these means, in the shape and dtype of the means.

    Parameters
    ----------
    mean : float array, entries in [0, 1e18]
    rng : numpy.random.Generator; with `nfa.noise.OfExamples`, each row of mean belongs to an example. The samples of a
        row depend only on the example's place in the batch and on the means of the row

    Raises
    ------
    ValueError : if a mean is outside [0, 1e18]

    Notes
    -----
    The samples of the kernel `nfa.kernels.shot.poisson` have other values, but nearly the same law. The kernel takes
    only a key from rng. Each of its samples is a function of the key and of the sample's place in the batch. The kernel
    uses 32 random bits at a time, which changes no probability by more than about 1e-9. A sample is a whole number as
    far as the dtype can represent it.

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
    """A camera that turns intensities into readings. An effect is off if its parameter is None.

    Parameters
    ----------
    photons : float, 0 < photons <= 1e12, the photon budget. It is the mean number of photons that one pixel detects per
        unit of intensity in one exposure. With a photon budget, the camera has photon shot noise: the detected number
        of photons is Poisson.
    dark_std : float >= 0, std of the Gaussian noise of a pixel without any light, in units of intensity. This noise
        comes from the electronics and the dark current
    saturation : float > 0, the largest intensity that a pixel can report; readings are clipped to [0, saturation]
    bits : int in 1..24; readings are rounded to 2^bits levels from 0 to ``saturation``, so ``saturation`` must also be
        given
    count : function like `poisson`, which draws the counted photons

    Raises
    ------
    ValueError : for a parameter outside its range

    Notes
    -----
    Photon shot noise grows with the light and does not depend on temperature. The shot noise of the dark current does
    not depend on the light, but it depends on temperature, so temperature changes ``dark_std``. Both kinds of noise are
    added to intensities, before the projection is computed. Rounding and saturation are deterministic functions of the
    intensity, not Gaussian noise. Rounding has jumps, as the derivative of ReLU and a ternary error have. Two inputs
    that differ only by the rounding of floats can have readings that differ by a whole level, saturation / (2^bits -
    1). The Notes of `nfa.mechanism.Mechanism` explain the effect on privacy. If the intensities of pixels are
    exponential with mean k, a share exp(-saturation / k) of the pixels saturates.
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
        """Whether a reading has noise, so that equal intensities can have different readings."""
        return self.photons is not None or bool(self.dark_std)

    def read(self, intensity: np.ndarray, *, rng: np.random.Generator | None = None) -> np.ndarray:
        """One exposure: the readings for an array of true intensities, in its unit, shape and dtype.

        With ``photons``, the camera draws one Poisson sample for each pixel. With ``dark_std``, it then draws one
        normal for each pixel. Without both parameters, it draws nothing. Raises ValueError if the camera has noise and
        there is no rng.

        Examples
        --------
        With two bits and a saturation of 3.0, the levels are 0, 1, 2 and 3.

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
    """Return rng. Raises ValueError if it is None. The text ``what`` names the part that needs a generator."""
    if rng is None:
        raise ValueError(f"{what} needs a random generator rng, got None")
    return rng


def check_std(name: str, std: float | None) -> None:
    """Raise ValueError unless std is None or a finite number >= 0."""
    if std is not None and not 0 <= std < math.inf:
        raise ValueError(f"{name} must be finite and not negative, got {std}")
