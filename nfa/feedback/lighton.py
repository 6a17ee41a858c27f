"""LightOn's optical processing unit (OPU), simulated by its own library or as hardware, with our `OPU`'s methods."""

import math
import warnings

import numpy as np

from nfa.feedback.camera import needed
from nfa.feedback.mirrors import binary_images, check_opu, noisy, two_images


class NoDevice(OSError):
    """Raised if the software or the hardware of an OPU is missing. The message is one sentence."""


class LightOnOPU:
    """LightOn's OPU, driven by the library lightonml: the simulated device or, with the same calls, the hardware.

    Parameters
    ----------
    n_in, n_out : int >= 1
    rng : numpy.random.Generator that draws the seed of the simulated device. Without a seed, lightonml gives every
        device the same matrix. The hardware needs no rng
    scale : float > 0, std of the entries of B
    noise_std : float >= 0 or None, as in `nfa.feedback.opu.OPU`. The noise is added to the results of the device. The
        simulated device has no noise, and the paper also adds its noise numerically.
    simulated : True for the simulated device, False for the OPU attached to this computer

    Attributes
    ----------
    B : (n_out, n_in) float32 array, the simulated device's matrix. With the hardware it is None, because its matrix is
        not known

    Raises
    ------
    NoDevice : if lightonml is not installed, or if no OPU is attached
    ValueError : for sizes below 1, a scale that is not positive and finite, a negative noise_std, or a simulated device
        without an rng

    Notes
    -----
    lightonml computes in float32. If the dtype of the input is a float, results have this dtype. In the linear mode,
    the simulated device computes Re(R x) directly, not from intensities. With the hardware, the scale is that of the
    "variance" rescaling in lightonml's documentation. We have not compared this scale with a device.
    """

    def __init__(
        self,
        n_in: int,
        n_out: int,
        *,
        rng: np.random.Generator | None = None,
        scale: float = 1.0,
        noise_std: float | None = None,
        simulated: bool = True,
    ) -> None:
        check_opu(n_in=n_in, n_out=n_out, scale=scale, noise_std=noise_std)
        self.n_in, self.n_out, self.noise_std = n_in, n_out, noise_std
        try:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message="pkg_resources is deprecated", category=UserWarning)
                import lightonml
        except ImportError as missing:
            raise NoDevice(
                f"lightonml cannot be imported ({missing}): install it with "
                "`pip install 'setuptools<81' attrs requests numexpr` and `pip install --no-deps lightonml==1.4.3`"
            ) from missing
        try:
            self.driver = lightonml.OPU(n_components=n_out, max_n_features=n_in, simulated=simulated)
        except (ImportError, RuntimeError) as missing:
            why = str(missing).partition("\n")[0]
            raise NoDevice(
                f"lightonml finds no OPU on this computer ({why}). Use simulated=True, which needs no OPU"
            ) from missing
        self.B: np.ndarray | None = None
        # lightonml divides by sqrt(n_in), and its simulated matrix also has entries of std 1 / sqrt(n_in).
        self._unit = float(scale) * math.sqrt(n_in)
        self._intensity_unit = 1.0
        if simulated:
            seed = int(needed(rng, "the seed of a simulated device").integers(2**32))
            self.driver.device.build_random_matrix(n_in, n_out, seed=seed)
            self.B = self.driver.device.random_matrix.real.T * np.float32(self._unit)
            self._unit *= math.sqrt(n_in)
            self._intensity_unit = n_in / 2
        self.driver.fit1d(n_features=n_in)

    def intensity(self, x: np.ndarray, *, rng: np.random.Generator | None = None) -> np.ndarray:
        """|R x|^2 for a binary x, (m, n_out).

        The simulated device returns |R x|^2 without noise, in units of the mean intensity from one lit mirror. The
        hardware returns counts of its camera. The method draws nothing. Raises ValueError if x is not binary.
        """
        return self._ask(self.driver.transform, binary_images(x, self.n_in), self._intensity_unit)

    def linear(self, x: np.ndarray, *, rng: np.random.Generator | None = None) -> np.ndarray:
        """B x for a binary x, (m, n_out), plus the normals of ``noise_std``.

        Source: [ohana2021:eq5] [ohana2021:eq10]

        Raises ValueError if x is not binary, or if noise needs an rng and there is none.
        """
        p = self._ask(self.driver.linear_transform, binary_images(x, self.n_in), self._unit)
        return noisy(p, self.noise_std, rng)

    def project(self, e: np.ndarray, *, rng: np.random.Generator | None = None) -> np.ndarray:
        """B e for a ternary e, as B e_+ - B e_- from two linear projections.

        Source: [ohana2021:exp-twoproj]

        Raises ValueError if e is not ternary, or if noise needs an rng and there is none.
        """
        plus, minus = two_images(e)
        return self.linear(plus, rng=rng) - self.linear(minus, rng=rng)

    def _ask(self, transform, x, unit):
        answer = transform(x.astype(np.uint8)) if len(x) else np.empty(0)  # lightonml rejects an empty batch
        return np.asarray(answer, dtype=x.dtype).reshape(len(x), self.n_out) * unit
